/* Apple's text reports (.crash; Technical Note TN2151), also as KSCrash and PLCrashReporter write
 * them:
 *
 *     Incident Identifier: …                         headers: "Key: value"
 *     Thread 0 name:  Dispatch queue: com.apple.main-thread
 *     Thread 0 Crashed:
 *     0   Shop     0x0000000100125780 0x100070000 + 743296              not symbolicated
 *     1   Shop     0x0000000100128ed0 -[Cart add:] (Cart.m:12)          by Xcode
 *     2   UIKit    0x0000000186dbd200 UIApplicationMain + 208           by the device
 *     3   UIKit    0x3160c800 0x315e0000 + 182272 (UIApplicationMain + 664)   by KSCrash
 *     Binary Images:
 *     0x100070000 - 0x101607fff +Shop arm64  <42fd…8dfb> /var/…/Shop.app/Shop
 */
#include "dump/reports/report_private.h"

#include <string.h>

#include "dump/dump.h"

/* One text, line by line. */
struct reading {
    struct report *r;
    struct report_lines lines;
    const char *line; /* the current one */
    struct report_thread thread;
    bool in_thread, in_images;
    bool named; /* "Thread N name:" was read, and "Thread N:" was not */
    const char *termination;
    const char *version, *os, *exception, *form; /* values of headers; NULL = not there yet */
};

/* ---- headers ---- */

static void read_process(struct report *r, const char *value) {
    const char *pid = strrchr(value, '[');
    size_t len = pid ? (size_t)(pid - value) : strlen(value);
    while (len > 0 && value[len - 1] == ' ') {
        len--;
    }
    r->process = r->process ? r->process : report_text(r, value, len);
}

static void crash_read_header(struct reading *t) {
    struct report *r = t->r;
    const struct {
        const char *key;
        const char **to;
    } texts[] = {{"Incident Identifier", &r->id},
                 {"CrashReporter Key", &r->user},
                 {"Hardware Model", &r->model},
                 {"Identifier", &r->app_id}};
    const char *value;
    report_own_lock(r, t->line);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        value = report_line_value(t->line, texts[i].key);
        if (value) {
            *texts[i].to = value;
            return;
        }
    }
    if ((value = report_line_value(t->line, "Process")) != NULL) {
        read_process(r, value);
    } else if ((value = report_line_value(t->line, "Path")) != NULL) {
        report_executable(r, value);
    } else if ((value = report_line_value(t->line, "Version")) != NULL) {
        t->version = value;
    } else if ((value = report_line_value(t->line, "Code Type")) != NULL) {
        r->arch = report_code_type(value);
    } else if ((value = report_line_value(t->line, "OS Version")) != NULL) {
        t->os = value;
        report_os(r, value);
    } else if ((value = report_line_value(t->line, "Report Version")) != NULL) {
        t->form = value;
    } else if ((value = report_line_value(t->line, "Date/Time")) != NULL) {
        r->time = report_time(r, value);
        r->activity = value; /* start time for Launch Time; the event replaces it */
    } else if ((value = report_line_value(t->line, "Launch Time")) != NULL) {
        r->since_launch_ms = report_time_between(value, r->activity);
    } else if ((value = report_line_value(t->line, "Role")) != NULL) {
        r->app_state = report_role(value);
    } else if ((value = report_line_value(t->line, "Exception Type")) != NULL) {
        t->exception = value;
        r->reason = r->reason ? r->reason : value;
    } else if ((value = report_line_value(t->line, "Exception Codes")) != NULL ||
               (value = report_line_value(t->line, "Termination Reason")) != NULL ||
               (value = report_line_value(t->line, "Termination Description")) != NULL) {
        t->termination = report_join(r, t->termination, " | ", value);
    } else if (strcmp(t->line, "Application main thread deadlocked") == 0) {
        r->kind = "hang"; /* KSCrash's deadlock detector */
        r->reason = t->line;
    } else if (t->termination && !report_line_value(t->line, "Triggered by Thread") && *t->line &&
               (*t->line == '<' || *t->line == '"' || strncmp(t->line, "Process", 7) == 0 ||
                strncmp(t->line, "Watchdog", 8) == 0 || strncmp(t->line, "Thermal", 7) == 0 ||
                strstr(t->line, "allowance"))) {
        t->termination = report_join(r, t->termination, " | ", t->line); /* it goes on */
    }
}

/* In "Version: A (B)", is A the build? KSCrash always writes it so. Apple does on iOS up to 14,
 * whose text was written on the device; the texts of later systems, made from the .ips, and those
 * of macOS have the version first, as PLCrashReporter's, which names a signal as the exception. */
static bool crash_build_first(const struct reading *t) {
    static const struct {
        const char *system;
        uint64_t since; /* the first one with the version first */
    } systems[] = {
        {"iPhone OS ", 15},
        {"Watch OS ", 8},
        {"Apple TVOS ", 15},
        /* Apple's name in iOS 8 and 9, KSCrash's since; then KSCrash's own. */
        {"iOS ", UINT64_MAX},
        {"tvOS ", UINT64_MAX},
        {"watchOS ", UINT64_MAX},
        {"visionOS ", UINT64_MAX},
    };
    if (!t->os || (t->exception && strncmp(t->exception, "SIG", 3) == 0)) {
        return false;
    }
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        size_t len = strlen(systems[i].system);
        const char *number = t->os + len;
        uint64_t major;
        if (strncmp(t->os, systems[i].system, len) == 0) {
            return report_take_decimal(&number, &major) && major < systems[i].since;
        }
    }
    /* KSCrash gives the form of iOS to reports from every system. */
    return strncmp(t->os, "macOS ", 6) == 0 && t->form && strcmp(t->form, "104") == 0;
}

/* ---- threads ---- */

static enum st crash_end_thread(struct reading *t) {
    if (!t->in_thread) {
        return ST_OK;
    }
    t->in_thread = false;
    report_end_stack(t->r, &t->thread.stack);
    return report_add_thread(t->r, &t->thread);
}

/* The name in "Dispatch queue: com.apple.main-thread". */
static const char *queue_name(const char *s) {
    static const char prefix[] = "Dispatch queue:";
    s = report_skip_blanks(s);
    s = strncmp(s, prefix, sizeof prefix - 1) == 0 ? report_skip_blanks(s + sizeof prefix - 1) : s;
    return *s ? s : NULL;
}

/* "Thread 3:", "Thread 3 Crashed:", "Thread 3 name: …", "Thread 3:: Dispatch queue: …". Lines such
 * as "Thread 0 crashed with ARM Thread State" are none of them. */
static enum st take_thread_line(struct reading *t, bool *taken) {
    const char *s = t->line;
    uint64_t id;
    *taken = false;
    if (strncmp(s, "Thread ", 7) != 0) {
        return ST_OK;
    }
    s += 7;
    if (!report_take_decimal(&s, &id) || id > INT32_MAX) {
        return ST_OK;
    }
    bool crashed = strncmp(s, " Crashed:", 9) == 0, name = strncmp(s, " name:", 6) == 0;
    if (!crashed && !name && *s != ':') {
        return ST_OK;
    }
    *taken = true;
    if (!(t->named && t->thread.id == (int64_t)id)) {
        if (crash_end_thread(t) != ST_OK) {
            return ST_ERR;
        }
        t->thread = (struct report_thread){.id = (int64_t)id, .main = id == 0};
    }
    if (name) {
        t->thread.name = queue_name(s + 6);
        t->named = true;
        return ST_OK;
    }
    s += crashed ? 9 : 1;
    if (*s == ':') { /* macOS: the name follows */
        t->thread.name = queue_name(s + 1);
    }
    t->named = false;
    t->thread.crashed = crashed;
    t->thread.stack = report_begin_stack(t->r);
    t->in_thread = true;
    return ST_OK;
}

/* Steps over the blanks-delimited address at *s. Address 0 has no "0x": printf's # adds none to a
 * zero. */
static bool take_address_word(const char **s, uint64_t *out) {
    enum { ZEROS_MIN = 8 };
    const char *end = *s;
    size_t zeros = strspn(end, "0");
    if (zeros >= ZEROS_MIN) {
        *out = 0;
        end += zeros;
    } else if (!report_take_hex(&end, out)) {
        return false;
    }
    if (*end != ' ' && *end != '\t' && *end != 0) {
        return false;
    }
    *s = end;
    return true;
}

/* The address in the words behind a frame's index, and what follows it in *rest. The image's name
 * may hold blanks: the address is the first word that is one. */
static bool find_address(const char *s, uint64_t *out, const char **rest) {
    while (*(s = report_skip_blanks(s)) != 0) {
        if (take_address_word(&s, out)) {
            *rest = report_skip_blanks(s);
            return true;
        }
        s += strcspn(s, " \t");
    }
    return false;
}

/* The symbol in what follows a frame's address, NULL for none: "SYMBOL + 24" or "BASE + 24", or
 * KSCrash's "BASE + 24 (SYMBOL + 24)". A frame in no image has the base 0. */
static const char *frame_symbol(struct report *r, const char *s) {
    const char *rest = s;
    uint64_t base, offset;
    bool based = report_take_hex(&rest, &base) || (*rest == '0' && *++rest == ' ');
    if (!based || strncmp(rest, " + ", 3) != 0) {
        return *s ? s : NULL;
    }
    rest += 3;
    s = report_take_decimal(&rest, &offset) ? report_skip_blanks(rest) : "";
    size_t len = strlen(s);
    if (len > 2 && s[0] == '(' && s[len - 1] == ')') {
        s = report_text(r, s + 1, len - 2);
    }
    return s && *s ? s : NULL;
}

/* A frame's line; *taken = false: it is not one. One without an address keeps its place. */
static enum st take_frame(struct reading *t, bool *taken) {
    const char *s = report_skip_blanks(t->line), *rest;
    uint64_t index, address = 0;
    *taken = false;
    if (!report_take_decimal(&s, &index) || (*s != ' ' && *s != '\t')) {
        return ST_OK;
    }
    *taken = true;
    if (find_address(s, &address, &rest)) {
        const char *symbol = frame_symbol(t->r, rest);
        if (symbol) {
            report_symbol(t->r, address, symbol);
        }
    } else {
        t->r->frames_unread++;
    }
    if (t->r->frames.len - t->thread.stack.first >= DUMP_FRAMES_MAX) {
        return ST_OK; /* the rest is in the report */
    }
    return report_frame(t->r, address);
}

/* "Last Exception Backtrace:", whose frames follow, or stand in one line: "(0x1 0x2 …)". */
static enum st begin_last_exception(struct reading *t) {
    if (crash_end_thread(t) != ST_OK) {
        return ST_ERR;
    }
    t->thread = (struct report_thread){.id = -1, .name = "Last Exception Backtrace"};
    t->thread.stack = report_begin_stack(t->r);
    t->thread.stack.returns = true;
    t->in_thread = true;
    return ST_OK;
}

static enum st take_addresses(struct reading *t) {
    const char *s = t->line + 1;
    uint64_t address;
    while (report_take_hex(&s, &address)) {
        if (t->r->frames.len - t->thread.stack.first < DUMP_FRAMES_MAX &&
            report_frame(t->r, address) != ST_OK) {
            return ST_ERR;
        }
        s = report_skip_blanks(s);
    }
    return ST_OK;
}

/* ---- the whole ---- */

static enum st crash_take_line(struct reading *t) {
    bool taken = false;
    if (strncmp(t->line, "Binary Images:", 14) == 0) {
        t->in_images = true;
        return crash_end_thread(t);
    }
    if (t->in_images) {
        report_text_image(t->r, t->line);
        return ST_OK;
    }
    if (strncmp(t->line, "Last Exception Backtrace:", 25) == 0) {
        return begin_last_exception(t);
    }
    if (take_thread_line(t, &taken) != ST_OK || taken) {
        return taken && err_is(t->r->e) ? ST_ERR : ST_OK;
    }
    if (t->in_thread) {
        if (t->line[0] == '(' && t->thread.stack.returns) {
            return take_addresses(t);
        }
        if (take_frame(t, &taken) != ST_OK) {
            return ST_ERR;
        }
        /* Text that was broken into lines goes on; an empty line ends a thread. */
        return taken || *t->line ? ST_OK : crash_end_thread(t);
    }
    if (t->r->threads.len == 0) {
        crash_read_header(t);
    }
    return ST_OK;
}

/* The thread without a number in its header: on macOS the crashed one always has a number; a header
 * of a name alone is none. */
enum st report_fill_crash(struct report *r, struct span text) {
    struct reading t = {.r = r, .lines = {.at = text.p, .end = text.end}};
    r->kind = "crash";
    r->detector = "apple";
    r->fatal = true;
    while ((t.line = report_next_line(r, &t.lines)) != NULL) {
        if (crash_take_line(&t) != ST_OK) {
            return err_context(r->e, "line %zu", t.lines.number);
        }
    }
    if (r->no_memory) {
        return err_nomem(r->e);
    }
    if (crash_end_thread(&t) != ST_OK) {
        return ST_ERR;
    }
    r->activity = NULL;
    if (t.version) {
        report_version(r, t.version, crash_build_first(&t));
    }
    (void)report_watchdog(r, t.termination);
    if (r->threads.len == 0) {
        return err_set(r->e, ERR_FORMAT, "a text report without a thread");
    }
    if (!t.in_images) {
        return err_set(r->e, ERR_TRUNCATED,
                       "a text report that is cut short: no \"Binary Images\" at byte %zu",
                       (size_t)(text.end - text.p));
    }
    return ST_OK;
}
