/* Reads Apple's text reports, and text reports of tools that write the same form. */
#include <string.h>

#include "dump/json/scan_private.h"
#include "dump/reports/report_crash_private.h"
#include "dump/reports/report_private.h"

static const char *const text_heads[] = {
    "Incident Identifier:", "CrashReporter Key:", "Hardware Model:", "Beta Identifier:",
    "Distributor ID:",      "Translated Report",  "Date/Time:  ",    NULL};

/* ---- pasted texts, which may lack their beginning or have changed blanks ---- */

/* Takes the next line without its leading blanks; false: no line is complete. */
static bool take_pasted_line(struct span *text, struct span *line) {
    const char *feed = memchr(text->p, '\n', (size_t)(text->end - text->p));
    if (!feed) {
        return false;
    }
    *line = (struct span){text->p, feed};
    while (line->p < feed && (*line->p == ' ' || *line->p == '\t')) {
        line->p++;
    }
    text->p = feed + 1;
    return true;
}

/* Does the line begin with one of these words? */
static bool begins_with_any(struct span line, const char *const *words) {
    for (; *words; words++) {
        size_t len = strlen(*words);
        if ((size_t)(line.end - line.p) >= len && memcmp(line.p, *words, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Is the line a frame: a number, blanks, a name and an address, as in "0 libfoo.dylib
 * 0x00000001a6896634 …"? */
static bool is_frame_line(struct span line) {
    const char *p = line.p;
    while (p < line.end && *p >= '0' && *p <= '9') {
        p++;
    }
    const bool number = p > line.p;
    p += number && p < line.end && *p == ':'; /* as ipsw(1) writes it */
    if (!number || p == line.end || (*p != ' ' && *p != '\t')) {
        return false;
    }
    for (; line.end - p > 3; p++) {
        bool address = (p[0] == ' ' || p[0] == '\t') && p[1] == '0' && p[2] == 'x';
        if (address) {
            return true;
        }
    }
    return false;
}

/* Looks at those first lines of a text that are not empty. Does line n, counted from 0, begin with
 * `head`? *more is set if the text does not reach to that line. */
static bool line_begins_at(struct span text, size_t n, const char *head, bool *more) {
    const char *const heads[] = {head, NULL};
    struct span line = {text.p, text.p};
    for (size_t i = 0; i <= n; i++) {
        do {
            if (!take_pasted_line(&text, &line)) {
                *more = true;
                return false;
            }
        } while (line.p == line.end || *line.p == '\r');
    }
    return begins_with_any(line, heads);
}

/* Does the text begin with the headers of sample(1), heap(1) and others, which tell in their third
 * line where the executable is? */
static bool is_of_tool(struct span text, bool *more) {
    static const char *const head[] = {"Process:", NULL};
    return begins_with_any(text, head) && line_begins_at(text, 2, "Load Address:", more);
}

/* Does the text begin with the heaviest stack of a spindump, as people paste it, and with at least
 * its first row? *more is set if further bytes would decide. */
static bool begins_with_heaviest(struct span text, bool *more) {
    static const char *const head[] = {SAMPLED_HEAVIEST, NULL};
    struct span line, rest = text;
    if (!begins_with_any(text, head) || !take_pasted_line(&rest, &line)) {
        *more = *more || begins_with_any(text, head);
        return false;
    }
    do {
        if (!take_pasted_line(&rest, &line)) {
            *more = true;
            return false;
        }
    } while (line.p == line.end || *line.p == '\r');
    return *line.p >= '1' && *line.p <= '9' && memchr(line.p, '[', (size_t)(line.end - line.p));
}

/* Does the text begin with words with which only reports begin? *more is set if further bytes would
 * decide. */
static bool begins_surely(struct span text, bool *more) {
    static const char *const process[] = {"Process:  ", "Process:\t", NULL};
    static const char *const dashes[] = {"-------------------------------------", NULL};
    return begins_with_any(text, process) || begins_with_heaviest(text, more) ||
           (begins_with_any(text, dashes) && line_begins_at(text, 1, "Translated Report", more));
}

/* Is the text a report that begins with any of the headers or with a thread, as pasted reports may?
 * It must have a thread with a frame within REPORT_LOOK_MAX bytes. *more is set if further bytes
 * may show that: a thread has begun, two headers were seen, or fewer than two lines are there. */
static bool begins_as_pasted(struct span text, bool *more) {
    static const char *const headers[] = {"Process:",
                                          "Path:",
                                          "Identifier:",
                                          "Version:",
                                          "Code Type:",
                                          "Parent Process:",
                                          "Date/Time:",
                                          "OS Version:",
                                          "Report Version:",
                                          "Exception Type:",
                                          "Exception Codes:",
                                          "Termination Reason:",
                                          "Triggered by",
                                          "Crashed Thread:",
                                          "Hardware Model:",
                                          "Incident Identifier:",
                                          "Command:",
                                          "Event:",
                                          "Steps:",
                                          "Role:",
                                          "Exception Note:",
                                          "Launch Time:",
                                          "Date:",
                                          "Bundle id:",
                                          NULL};
    enum { HEADERS_MIN = 2, LINES_MIN = 2 };
    static const char *const fences[] = {"```", "~~~", NULL};
    struct span rest = text, line;
    struct crash_heading heading;
    size_t lines = 0, known = 0;
    bool thread = false;
    if (begins_with_any(rest, fences) && !take_pasted_line(&rest, &line)) {
        *more = true;
        return false;
    }
    if ((size_t)(rest.end - rest.p) > REPORT_LOOK_MAX) {
        rest.end = rest.p + REPORT_LOOK_MAX;
    }
    for (; take_pasted_line(&rest, &line); lines++) {
        known += begins_with_any(line, headers);
        thread = thread || (crash_heading(line, &heading) && (!heading.unnumbered || known > 0));
        if (lines == 0 && known == 0 && !thread) {
            return false;
        }
        if (thread && is_frame_line(line)) {
            return true;
        }
    }
    bool whole = (size_t)(text.end - text.p) > REPORT_LOOK_MAX;
    *more = *more || (!whole && (thread || known >= HEADERS_MIN || lines < LINES_MIN));
    return false;
}

static bool text_begins(struct span text, bool *more) {
    return !is_of_tool(text, more) && (begins_surely(text, more) || begins_as_pasted(text, more));
}

/* Returns where the original .ips begins, below a line "Full Report" that may end with blanks or a
 * CR, and sets *translation to the text above that line; NULL: there is none. */
static const char *text_original(struct span text, struct span *translation) {
    static const char mark[] = "\nFull Report";
    const size_t size = sizeof mark - 1;
    for (const char *p = text.p; (size_t)(text.end - p) > size; p++) {
        p = memchr(p, '\n', (size_t)(text.end - p) - size);
        if (!p) {
            return NULL;
        }
        const char *rest = p + size;
        while (rest < text.end && (*rest == ' ' || *rest == '\t' || *rest == '\r')) {
            rest++;
        }
        if (memcmp(p, mark, size) == 0 && rest < text.end && *rest == '\n') {
            *translation = (struct span){text.p, p + 1};
            return memchr(rest, '{', (size_t)(text.end - rest));
        }
    }
    return NULL;
}

/* Returns the .ips that begins at p: its two JSON texts. The window of macOS that shows a report
 * appends lines about the machine, which belong to neither. */
static struct span original_ips(const char *p, const char *end) {
    struct span ips = {p, end}, rest = ips;
    (void)span_value(&rest);
    span_skip_space(&rest);
    if (rest.p < end && *rest.p == '{') {
        struct span body = span_value(&rest);
        ips.end = body.end > body.p && body.end[-1] == '}' ? body.end : end;
    }
    return ips;
}

/* Are the two JSON texts of an .ips whole? */
static bool is_whole_ips(struct span ips) {
    for (size_t i = 0; i < 2; i++) {
        span_skip_space(&ips);
        struct span json = span_value(&ips);
        if (json.p == json.end ||
            scan_check(json.p, (size_t)(json.end - json.p), REPORT_DEPTH_MAX, NULL) != ST_OK) {
            return false;
        }
    }
    return true;
}

/* Returns a spindump without what sysdiagnose appends: the output of other tools, whose headers
 * look like those of a process. */
static struct span without_tools(struct span text) {
    static const char mark[] = "\nCustom Output:";
    for (const char *p = text.p; (size_t)(text.end - p) >= sizeof mark; p++) {
        p = memchr(p, '\n', (size_t)(text.end - p) - sizeof mark + 1);
        if (!p) {
            break;
        }
        if (memcmp(p, mark, sizeof mark - 1) == 0) {
            return (struct span){text.p, p + 1};
        }
    }
    return text;
}

/* Does the beginning of the line, up to its first colon, occur in the line again, after a blank? */
static bool has_key_twice(struct span line) {
    const char *colon = memchr(line.p, ':', (size_t)(line.end - line.p));
    size_t len = colon ? (size_t)(colon - line.p) + 1 : 0;
    for (const char *p = line.p + len; len > 1 && (size_t)(line.end - p) > len; p++) {
        if ((*p == ' ' || *p == '\t') && memcmp(p + 1, line.p, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Is the text two reports side by side, as "diff -y" writes them? It is taken for that if at least
 * 3 of its first 40 lines have their key twice. */
static bool is_side_by_side(struct span text) {
    enum { LINES_MAX = 40, TWICE_MIN = 3 };
    struct span line;
    size_t twice = 0;
    for (size_t i = 0; i < LINES_MAX && take_pasted_line(&text, &line); i++) {
        twice += has_key_twice(line);
    }
    return twice >= TWICE_MIN;
}

/* Reads a text report from its lines. translated: the text was made from an original that is cut
 * short. */
static enum st read_text_lines(const struct report_document *d, struct span lines, bool translated,
                               struct err *e) {
    struct report r;
    bool sampled = report_is_sampled(lines);
    if (is_side_by_side(lines)) {
        return err_set(e, ERR_UNSUPPORTED, "two reports side by side");
    }
    report_init(&r, sampled ? "spindump" : "crash", 0, e);
    report_keep(&r, "text", d->text, true);
    report_lack_end(&r, lines);
    r.wanted = d->process;
    enum st st =
        sampled ? report_fill_sampled(&r, without_tools(lines)) : report_fill_crash(&r, lines);
    if (translated) {
        report_lack(&r, "the full report: its JSON is cut short, and its translation was read");
    }
    if (st == ST_OK) {
        st = report_finish(&r, d);
    }
    report_release(&r);
    return st;
}

/* Reads a text report. The macOS console appends the original .ips to the text; the .ips is then
 * read in place of the text, unless the .ips is cut short. */
static enum st report_text_read(const struct report_document *d, struct err *e) {
    struct report_document ips = *d;
    struct span translation = d->text;
    const char *original = text_original(d->text, &translation);
    if (!original) {
        return read_text_lines(d, d->text, false, e);
    }
    ips.text = original_ips(original, d->text.end);
    enum st st = report_read_ips(&ips, e);
    if (st == ST_ERR && !is_whole_ips(ips.text)) {
        err_clear(e);
        st = read_text_lines(d, translation, true, e);
    }
    return st;
}

const struct report_format report_text_format = {
    .name = "crash, spindump",
    .source = "Apple .crash, KSCrash and PLCrashReporter as text; spindump, .diag",
    .since = "0.1.0",
    .heads = text_heads,
    .begins = text_begins,
    .read = report_text_read};
