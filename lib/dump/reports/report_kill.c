/* Reads the text that the system writes when it ends a process: the cause, and how long it had
 * waited. */
#include "dump/reports/report_private.h"

#include <stdio.h>
#include <string.h>

#include "base/parse.h"

/* ---- words ---- */

/* Returns the text after these words, without leading spaces; NULL: the words do not occur. Case is
 * ignored. */
static const char *text_behind(const char *text, const char *words) {
    size_t len = strlen(words);
    for (; *text; text++) {
        size_t i = 0;
        while (i < len && text[i] && report_lower(text[i]) == report_lower(words[i])) {
            i++;
        }
        if (i == len) {
            text += len;
            while (*text == ' ') {
                text++;
            }
            return text;
        }
    }
    return NULL;
}

static bool says_any(const char *text, const char *const *words) {
    for (; *words; words++) {
        if (text_behind(text, *words)) {
            return true;
        }
    }
    return false;
}

/* Returns the word at s, of letters and '-', in lower case, at most 64 bytes of it; NULL: s is
 * NULL, no word is there, or memory ran out. */
static const char *word_at(struct report *r, const char *s) {
    char word[64];
    size_t len = 0;
    while (s && len < sizeof word) {
        char c = report_lower(s[len]);
        if (!(c >= 'a' && c <= 'z') && c != '-') {
            break;
        }
        word[len++] = c;
    }
    return report_text(r, word, len);
}

/* ---- the cause ---- */

static const char watchdog_kind[] = "watchdog", task_kind[] = "background-task",
                  suspension_kind[] = "suspension";

/* Codes with which the system ends a process that took too long (Apple, "EXC_CRASH (SIGKILL)";
 * 0xbada5e47 means too many background tasks). The other codes are for reasons other than time. */
static const struct kill_code {
    uint64_t code;
    const char *kind;
} kill_codes[] = {
    {0x8badf00d, watchdog_kind}, {0xdead10cc, suspension_kind}, {0xbada5e47, task_kind},
    {0x2182bad2, task_kind},     {0x2182bad3, task_kind},       {0x2182bad4, task_kind},
    {0xc51bad01, task_kind},     {0xc51bad02, task_kind},       {0xc51bad03, task_kind},
};

static const char *kind_of_code(uint64_t code) {
    for (size_t i = 0; i < sizeof kill_codes / sizeof *kill_codes; i++) {
        if (kill_codes[i].code == code) {
            return kill_codes[i].kind;
        }
    }
    return NULL;
}

/* Returns the kind of the first known code in the text, which may be hex or decimal; NULL =
 * none. */
static const char *kind_of_codes(const char *text) {
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *kind = NULL;
    while (!kind && *(text += strcspn(text, digits)) != 0) {
        size_t len = strspn(text, digits), zeros = strspn(text, "0");
        zeros = zeros < len ? zeros : len - 1;
        uint64_t code;
        if (parse_hex(text + zeros, len - zeros, &code)) {
            kind = kind_of_code(code);
        }
        if (!kind && parse_u64(text, len, UINT64_MAX, &code)) {
            kind = kind_of_code(code);
        }
        text += len;
    }
    return kind;
}

bool report_says_watchdog(const char *text) {
    return text && text_behind(text, " watchdog transgression") != NULL;
}

/* Returns the kind of stall by the termination code and by the process that ended this one; NULL =
 * the text tells of no stall. assertiond (number 15 of xnu's namespaces), which limits background
 * tasks, first used the watchdog's code; the watchdog of watches (Carousel) writes no code. */
static const char *kind_of_kill(const char *text) {
    static const char *const of_watchdog[] = {"watchdog transgression", "terminate gracefully",
                                              NULL};
    static const char *const of_tasks[] = {"ASSERTIOND",
                                           "RUNNINGBOARD",
                                           "Namespace <0xF>",
                                           "domain:15",
                                           "active assertions beyond permitted time",
                                           NULL};
    static const char *const of_watch[] = {"CAROUSEL", NULL};
    const char *kind = kind_of_codes(text);
    if (says_any(text, of_watch) && says_any(text, of_watchdog)) {
        return task_kind;
    }
    if (!kind && report_says_watchdog(text)) {
        return watchdog_kind; /* the line with the code is missing, as people often leave it out */
    }
    bool by_watchdog = kind == watchdog_kind && says_any(text, of_watchdog);
    return kind == watchdog_kind && !by_watchdog && says_any(text, of_tasks) ? task_kind : kind;
}

/* ---- the event, and how long it took ---- */

/* The watchdog's events: the words for each event, and its time limit in ms, for texts that do not
 * give the limit (Technical Q&A QA1693, "Synchronous networking on the main thread"; for exiting,
 * the limit that such texts usually give). */
static const struct kill_event {
    const char *words, *activity;
    int64_t ms;
} kill_events[] = {
    {"scene-create", "scene-create", 20000},
    {"process-launch", "process-launch", 20000},
    {"launch", "process-launch", 20000},
    {"scene-update", "scene-update", 10000},
    {"resume", "resume", 10000},
    {"suspend", "suspend", 10000},
    {"process-exit", "process-exit", 5000},
    {"terminate", "process-exit", 5000},
};

static bool names_event(const char *text, const char *event) {
    static const char *const forms[] = {"failed to %s", "WatchdogEvent: %s", "%s watchdog"};
    char words[64];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *at = strchr(forms[i], '%');
        (void)snprintf(words, sizeof words, "%.*s%s%s", (int)(at - forms[i]), forms[i], event,
                       at + 2);
        if (text_behind(text, words)) {
            return true;
        }
    }
    return false;
}

/* Returns the watchdog event that the text names; NULL = none. */
static const struct kill_event *find_event(const char *text) {
    for (size_t i = 0; i < sizeof kill_events / sizeof *kill_events; i++) {
        if (names_event(text, kill_events[i].words)) {
            return &kill_events[i];
        }
    }
    return NULL;
}

/* Returns 5000 ms for "Failed to terminate gracefully after 5.0s"; -1 = the text has no such
 * words. */
static int64_t failed_after_ms(const char *text) {
    const char *failed = text_behind(text, "failed to ");
    const char *after = failed ? text_behind(failed, " after ") : NULL;
    return after && after[strspn(after, "0123456789.")] == 's' ? report_seconds(after) : -1;
}

/* Returns how many ms of wall-clock time the process was allowed; -1 = not known. */
static int64_t allowance_ms(const char *text, const struct kill_event *event) {
    static const char *const words[] = {"(wall clock) time allowance of", "wall time allowance of",
                                        "total time limit",
                                        "permittedBackgroundDuration:", "(finishTask:"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *told = text_behind(text, words[i]);
        if (told) {
            return report_seconds(told);
        }
    }
    int64_t ms = failed_after_ms(text);
    if (ms >= 0 || text_behind(text, "CPU time allowance of")) {
        return ms;
    }
    return event ? event->ms : -1;
}

/* Reads the app's CPU time, visibility and thermal state when it was ended. */
static void read_circumstances(struct report *r, const char *text) {
    const char *cpu = text_behind(text, "Elapsed application CPU time (seconds):");
    if (cpu) {
        r->cpu_ms = report_seconds(cpu);
    }
    const char *visibility = word_at(r, text_behind(text, "ProcessVisibility:"));
    if (visibility &&
        (strcmp(visibility, "foreground") == 0 || strcmp(visibility, "background") == 0)) {
        r->visibility = r->app_state = visibility;
    }
    const char *thermal = word_at(r, text_behind(text, "Thermal State:"));
    r->thermal = thermal ? thermal : r->thermal;
}

bool report_kill(struct report *r, const char *text) {
    const char *kind = text ? kind_of_kill(text) : NULL;
    if (!kind) {
        return false;
    }
    bool by_watchdog = kind == watchdog_kind;
    const struct kill_event *event = by_watchdog ? find_event(text) : NULL;
    int64_t limit = allowance_ms(text, event);
    r->kind = kind;
    r->fatal = true;
    r->detector = by_watchdog ? watchdog_kind : r->detector;
    if (limit >= 0) {
        r->threshold_ms = limit;
        r->duration_ms = r->duration_ms > limit ? r->duration_ms : limit;
    }
    read_circumstances(r, text);
    const char *told = word_at(r, text_behind(text, "WatchdogEvent:"));
    if (told || event) {
        r->activity = told ? told : event->activity;
    }
    if (!by_watchdog && !r->app_state) {
        /* only an app in the background is suspended or has background tasks */
        r->app_state = "background";
    }
    return true;
}

bool report_kill_by(struct report *r, const char *who, int64_t code, const char *text) {
    char number[24];
    (void)snprintf(number, sizeof number, "0x%llx", (unsigned long long)code);
    const char *ended = report_join(r, who, " ", code >= 0 ? number : NULL);
    bool known = report_kill(r, report_join(r, ended, " | ", text));
    r->reason = known && !text ? ended : r->reason;
    return known;
}

/* ---- resources ---- */

/* Returns the milliseconds in "… over 180 secs"; -1: none. */
static int64_t observed_over_ms(const char *message) {
    const char *over = text_behind(message, " over ");
    return over && text_behind(over, "sec") ? report_seconds(over) : -1;
}

bool report_resource(struct report *r, const char *subtype, const char *message) {
    static const struct {
        const char *word, *kind;
    } resources[] = {{"CPU", "cpu"}, {"WAKEUPS", "cpu"}, {"IO", "disk-write"}};
    const char *kind = NULL;
    size_t len = subtype ? strspn(subtype, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        kind = subtype && parse_is(subtype, len, resources[i].word) ? resources[i].kind : kind;
    }
    if (!kind) {
        return false;
    }
    const char *observed = message ? text_behind(message, "Observed ") : NULL;
    uint64_t percent;
    r->kind = kind;
    r->reason = report_join(r, subtype, " ", message);
    r->fatal = strstr(subtype, "FATAL") != NULL;
    r->duration_ms = observed ? observed_over_ms(observed) : -1;
    if (observed && r->duration_ms > 0 && report_take_decimal(&observed, &percent) &&
        *observed == '%' && percent <= INT32_MAX) {
        r->cpu_ms = r->duration_ms / 100 * (int64_t)percent;
    }
    return true;
}

/* ---- locks that their own holder waited for ---- */

void report_own_lock(struct report *r, const char *text) {
    static const struct {
        const char *words, *kind;
    } ends[] = {{"called on queue already owned by current thread", "queue"},
                {"Trying to recursively lock an os_unfair_lock", "unfair lock"},
                {"trying to lock recursively", "lock"}};
    for (size_t i = 0; text && !r->own_lock && i < sizeof ends / sizeof *ends; i++) {
        r->own_lock = strstr(text, ends[i].words) ? ends[i].kind : NULL;
    }
}
