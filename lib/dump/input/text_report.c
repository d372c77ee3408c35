/* Finds where a text report begins and ends. */
#include "dump/input/text_report.h"

#include <string.h>

#include "dump/input/report_formats.h"
#include "dump/reports/report_format_private.h"
#include "dump/reports/report_perf_private.h"
#include "dump/reports/report_span_private.h"

static bool line_starts(struct span line, const char *head) {
    size_t n = strlen(head);
    return (size_t)(line.end - line.p) >= n && memcmp(line.p, head, n) == 0;
}

static bool is_blank_line(struct span line) {
    while (line.p < line.end && (*line.p == ' ' || *line.p == '\t' || *line.p == '\r')) {
        line.p++;
    }
    return line.p == line.end;
}

/* ---- the beginning of a report ---- */

/* Recognises the format of a text whose lines have to be mended. First only a short part is mended;
 * if that is not enough for an answer, the first REPORT_LOOK_MAX bytes are. */
static const struct report_format *begins_mended(struct span text, struct text_mend mend,
                                                 struct strbuf *room, bool *more) {
    enum { SHORT_LOOK = 512 };
    for (size_t most = SHORT_LOOK;; most = REPORT_LOOK_MAX) {
        bool unsure = false;
        text_mend_head(mend, text, most, room);
        const struct report_format *format =
            report_text_format_of(strbuf_cstr(room), room->len, &unsure);
        if (format || !unsure || most == REPORT_LOOK_MAX) {
            *more = *more || (unsure && !format);
            return format;
        }
    }
}

const struct report_format *text_report_begins(struct span text, bool whole, struct strbuf *room,
                                               struct text_mend *mend, bool *more, bool *soon) {
    const char *feed = text.p < text.end ? memchr(text.p, '\n', (size_t)(text.end - text.p)) : NULL;
    const struct span line = {text.p, feed ? feed : text.end};
    *mend = (struct text_mend){0};
    if (text_begins_json(line)) {
        return NULL;
    }
    bool unsure = false, doubled = false, prefixed = false;
    const struct report_format *format =
        report_text_format_of(text.p, (size_t)(text.end - text.p), &unsure);
    *mend = text_mend_of(text, whole, &doubled, &prefixed);
    if (format) {
        /* The format was recognised while the prefix was still in the lines. */
        mend->prefix.len = 0;
    } else if (text_mend_is_needed(mend, text)) {
        format = begins_mended(text, *mend, room, more);
    }
    const bool tab = text.p < text.end && *text.p == '\t'; /* these formats write none there */
    if (format && !mend->listed && !tab && (format == &report_perf_format || format->in_log)) {
        mend->indent = 0; /* in these formats the indent is part of the report */
    }
    *more = *more || (format ? doubled : unsure);
    *soon = *soon || (!format && prefixed);
    return format;
}

/* ---- the end of a report ---- */

/* May a report that was pasted without its beginning start with this line? */
static bool begins_pasted(struct span line) {
    static const char *const words[] = {"Exception Type:", "Thread 0", "Last Exception Backtrace:"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (line_starts(line, words[i])) {
            return true;
        }
    }
    return false;
}

/* Is the line the first one of a sample of perf script(1), and does it have a time? Such a line
 * alone shows that another report begins. */
static bool begins_perf(struct span line) {
    struct perf_sample_line sample;
    return perf_sample_line(line, &sample) && sample.timed;
}

/* Returns the line, which may not be mended yet, without marks and blanks in front. */
static struct span bare_line(struct span line) {
    while (line.p < line.end && (*line.p == '>' || line_is_blank_at(line.p))) {
        line.p++;
    }
    return line;
}

bool text_report_looks_ahead(const struct text_report *t, struct span line) {
    return t->body && t->sampled && !t->format->ends && line_starts(bare_line(line), "Process:");
}

/* Do these lines, up to the first thread, have a header that a .crash has, but the section of a
 * process in a spindump has not? */
static bool is_crash_head(struct span lines) {
    static const char *const ends[] = {"Thread ", "Binary Images", "Process:", "Load Address:"};
    enum { HEADERS_MAX = 24 };
    struct span line;
    for (size_t n = 0; n < HEADERS_MAX && line_take(&lines, &line, NULL); n++) {
        line = bare_line(line);
        if (line_starts(line, "Code Type:") || line_starts(line, "Parent Process:")) {
            return true;
        }
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            if (line_starts(line, ends[i])) {
                return false;
            }
        }
    }
    return false;
}

/* Does the line end a report of sampled stacks? The report has headers for each of its processes,
 * so that only some headers end it. */
static bool ends_sampled(const struct text_report *t, const struct report_format *other,
                         struct span line, struct span ahead) {
    if (!t->body) {
        return false;
    }
    if (text_report_looks_ahead(t, line)) {
        return is_crash_head(ahead);
    }
    /* the section of a process may have these headers, too */
    bool own = line_starts(line, "Beta Identifier:") || line_starts(line, "Distributor ID:");
    bool dated = line_starts(line, "Date/Time:");
    return dated ? !t->tool : other && !own;
}

bool text_report_ends(const struct text_report *t, struct span report, struct span line,
                      struct span ahead) {
    size_t len = (size_t)(line.end - line.p);
    bool more;
    if (len > 0 && *line.p == '{') {
        bool object = len == 1 || line.p[1] == '"' || line.p[1] == '}' ||
                      is_blank_line((struct span){line.p + 1, line.end});
        return object && !t->original && !t->label;
    }
    if (t->body && t->format != &report_perf_format && begins_perf(line)) {
        return true;
    }
    const struct report_format *other = report_text_format_of(line.p, len, &more);
    if (!t->format->ends && t->sampled) {
        return ends_sampled(t, other, line, ahead);
    }
    if (!t->format->ends) {
        return (t->body && (other || line_starts(line, "Process: "))) ||
               (t->images && begins_pasted(line));
    }
    bool begins = other && other != t->format && (other != &report_text_format || t->body);
    return begins || t->format->ends(report, line);
}

void text_report_note(struct text_report *t, struct span line) {
    static const char *const bodies[] = {"Thread ", "Binary Images",
                                         "Call graph:", "DALVIK THREADS"};
    bool section =
        line_starts(line, "Powerstats for:") || (t->sampled && line_starts(line, "Process:"));
    bool body = section;
    if (is_blank_line(line)) {
        return;
    }
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        body = body || line_starts(line, bodies[i]);
    }
    t->sampled = t->sampled || section || report_counts_samples(line);
    while (is_blank_line((struct span){line.end - 1, line.end})) {
        line.end--;
    }
    t->body = t->body || body;
    t->tool = (t->tool && !section && !line_starts(line, "Date/Time:")) ||
              (t->sampled && line_starts(line, "Load Address:"));
    t->images = t->images || line_starts(line, "Binary Images");
    t->original = t->original || line_starts(line, "Full Report");
    t->label = !body && line.end[-1] == ':';
}
