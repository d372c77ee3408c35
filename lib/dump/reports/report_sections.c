/* Chooses the process to read from a report of samples, in which each process has a section; a
 * report on the whole system has hundreds.
 *
 *     Process:          Shop [301] [unique pid 301]
 *     Path:             /private/var/containers/Bundle/Application/…/Shop.app/Shop
 *     Note:             Unresponsive for 10 seconds before sampling
 *       Thread 0x103    DispatchQueue "com.apple.main-thread"(1)    49 samples (1-49)  …
 *       <process frontmost, thread QoS user interactive> …
 *         *49  psynch_mtxcontinue + 0 (pthread + 11285) [0x…] (blocked by turnstile …)
 */
#include "dump/reports/report_sections_private.h"

#include <string.h>

#include "base/parse.h"
#include "base/search.h"

/* ---- lines ---- */

/* Takes the next line of the text, without its line feed; false: there is none. */
static bool next_section_line(struct span *text, struct span *line) {
    size_t left = (size_t)(text->end - text->p);
    if (left == 0) {
        return false;
    }
    const char *feed = memchr(text->p, '\n', left);
    *line = (struct span){text->p, feed ? feed : text->end};
    text->p = feed ? feed + 1 : text->end;
    return true;
}

static const char *find_words(struct span s, const char *words) {
    size_t len = strlen(words);
    for (; (size_t)(s.end - s.p) >= len; s.p++) {
        s.p = memchr(s.p, words[0], (size_t)(s.end - s.p) - len + 1);
        if (!s.p) {
            return NULL;
        }
        if (memcmp(s.p, words, len) == 0) {
            return s.p;
        }
    }
    return NULL;
}

static bool line_begins(struct span s, const char *words) {
    size_t len = strlen(words);
    return (size_t)(s.end - s.p) >= len && memcmp(s.p, words, len) == 0;
}

static struct span without_blanks(struct span s) {
    while (s.p < s.end && (*s.p == ' ' || *s.p == '\t')) {
        s.p++;
    }
    while (s.p < s.end && (s.end[-1] == ' ' || s.end[-1] == '\t' || s.end[-1] == '\r')) {
        s.end--;
    }
    return s;
}

/* Returns the value after "KEY:"; empty if the line does not begin so. */
static struct span line_value(struct span line, const char *key) {
    size_t len = strlen(key);
    if (!line_begins(line, key) || (size_t)(line.end - line.p) == len || line.p[len] != ':') {
        return (struct span){line.end, line.end};
    }
    line.p += len + 1;
    return without_blanks(line);
}

static uint64_t number_in(struct span s) {
    uint64_t number = 0;
    size_t len = 0;
    while (s.p + len < s.end && s.p[len] >= '0' && s.p[len] <= '9') {
        len++;
    }
    return parse_u64(s.p, len, UINT32_MAX, &number) ? number : 0;
}

/* Returns "1.234s (…)" in milliseconds. */
static uint64_t milliseconds_in(struct span s) {
    uint64_t ms = number_in(s) * 1000, scale = 100;
    const char *point = memchr(s.p, '.', (size_t)(s.end - s.p));
    for (const char *p = point ? point + 1 : s.end; p < s.end && *p >= '0' && *p <= '9'; p++) {
        ms += (uint64_t)(*p - '0') * scale;
        scale /= 10;
    }
    return ms;
}

/* ---- names ---- */

/* Splits "Shop (My Shop) [301] [unique pid 7]" into the process's name and its id. */
static void split_name(struct span value, struct span *name, struct span *pid) {
    const char *open = find_words(value, " [");
    *name = (struct span){value.p, open ? open : value.end};
    *pid = (struct span){value.end, value.end};
    if (open) {
        size_t left = (size_t)(value.end - open) - 2;
        const char *close = memchr(open + 2, ']', left);
        *pid = (struct span){open + 2, close ? close : value.end};
    }
}

static bool is_text(struct span s, const char *text) {
    return text && parse_is(s.p, (size_t)(s.end - s.p), text);
}

/* ---- sections ---- */

/* Should section a be read rather than section b, which stands before a in the report? */
static bool is_more_blocked(const struct report_section *a, const struct report_section *b) {
    bool ran[2] = {a->app && !a->suspended, b->app && !b->suspended};
    if (ran[0] != ran[1] || a->app != b->app) {
        return ran[0] != ran[1] ? ran[0] : a->app;
    }
    if (a->unresponsive_s != b->unresponsive_s) {
        return a->unresponsive_s > b->unresponsive_s;
    }
    if (a->blocked != b->blocked) {
        return a->blocked > b->blocked;
    }
    if (a->front != b->front) {
        return a->front;
    }
    return a->cpu_ms != b->cpu_ms ? a->cpu_ms > b->cpu_ms : a->samples > b->samples;
}

/* The state of a search through a report's sections. */
struct section_choice {
    const struct report_wanted *wanted;
    struct report_section at, best;
    bool matched;     /* `best` has the name or id that was asked for */
    bool matched_pid; /* `best` has the id that was asked for */
    bool states;      /* the section is of "Powerstats", whose "Num samples:" is read */
    bool images;      /* a section lists images: then every section does */
    size_t threads;   /* threads of the section so far */
    bool in_main;
};

static void end_choice(struct section_choice *s) {
    const struct report_wanted *w = s->wanted;
    struct span name, pid;
    if (s->at.number == 0) {
        return;
    }
    s->images = s->images || s->at.images;
    split_name(s->at.value, &name, &pid);
    const char *shown = find_words(name, " (");
    bool named =
        is_text(name, w->name) || (shown && is_text((struct span){name.p, shown}, w->name));
    bool numbered = is_text(pid, w->pid);
    if (w->name || w->pid) {
        bool fits = w->either ? named || numbered : w->name ? named : numbered;
        if (fits && (!s->matched || (numbered && !s->matched_pid))) {
            s->best = s->at;
            s->matched = true;
            s->matched_pid = numbered;
        }
    } else if (s->best.number == 0 || is_more_blocked(&s->at, &s->best)) {
        s->best = s->at;
    }
}

static void note_section_thread(struct section_choice *s, struct span line) {
    s->threads++;
    s->in_main = s->threads == 1 || find_words(line, "\"com.apple.main-thread\"");
}

static void note_section_line(struct section_choice *s, struct span line) {
    static const char note[] = "Unresponsive for ";
    struct span path = line_value(line, "Path"), bare = without_blanks(line);
    const char *at;
    s->at.stack = s->at.stack || (bare.p < bare.end && strchr("*0123456789", *bare.p));
    if (path.p < path.end) {
        s->at.app = find_words(path, ".app/") && !find_words(path, ".appex/") &&
                    !line_begins(path, "/System/");
    } else if (line_begins(line, "Note:") && find_words(line, "Suspended for ")) {
        s->at.suspended = true;
    } else if (line_begins(line, "CPU Time:")) {
        s->at.cpu_ms = milliseconds_in(line_value(line, "CPU Time"));
    } else if (s->states && line_begins(line, "Num samples:")) {
        s->at.samples = number_in(line_value(line, "Num samples"));
    } else if (line_begins(bare, "Binary Images")) {
        s->at.images = true;
    } else if (line_begins(line, "Note:") && (at = find_words(line, note)) != NULL) {
        s->at.unresponsive_s = number_in((struct span){at + sizeof note - 1, line.end});
    } else if (line_begins(bare, "Thread 0x")) {
        note_section_thread(s, bare);
    } else if (line_begins(bare, "<process frontmost")) {
        s->at.front = true;
    } else if (s->in_main && line_begins(bare, "*") && find_words(bare, "(blocked by ")) {
        s->at.blocked += number_in((struct span){bare.p + 1, bare.end});
    }
}

bool report_choose_section(struct span text, const struct report_wanted *wanted,
                           struct report_section *out) {
    struct section_choice s = {.wanted = wanted};
    struct span line;
    size_t count = 0;
    while (next_section_line(&text, &line)) {
        struct span value = line_value(line, "Process");
        const bool states = value.p == value.end;
        value = states ? line_value(line, "Powerstats for") : value;
        if (value.p < value.end) {
            end_choice(&s);
            s.states = states;
            s.at = (struct report_section){.number = ++count, .value = value};
            s.threads = 0;
            s.in_main = false;
        } else if (s.at.number > 0) {
            note_section_line(&s, line);
        }
    }
    end_choice(&s);
    *out = s.best;
    out->count = count;
    out->cut = s.at.number > 0 && s.at.number != s.best.number && s.images && !s.at.images;
    return s.best.number > 0;
}

const char *report_section_why(const struct report_section *s) {
    const struct {
        bool so;
        const char *app, *process;
    } reasons[] = {
        {s->unresponsive_s > 0, "the app that did not respond", "the process that did not respond"},
        {s->blocked > 0, "the app with most blocked samples",
         "the process with most blocked samples"},
        {s->front, "the app in front", "the process in front"},
        {s->cpu_ms > 0, "the app that ran most, none was blocked", "the process that ran most"},
        {s->samples > 0, "the app with most samples, none was blocked",
         "the process with most samples"},
        {true, "the first app, none was blocked", "the first process, no app is in it"}};
    size_t i = 0;
    while (!reasons[i].so) {
        i++;
    }
    return s->app ? reasons[i].app : reasons[i].process;
}
