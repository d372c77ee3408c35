/* Recognises the text of perf script(1), and parses its lines. */
#include <string.h>

#include "base/parse.h"
#include "dump/reports/report_format_private.h"
#include "dump/reports/report_perf_private.h"

/* Is the character a blank between words? A line feed counts, because mail folds lines at a
 * blank. */
static bool is_gap(char c) {
    return c == ' ' || c == '\t' || c == '\n';
}

/* Takes the word at the start and the blanks around it. At the end of the line the result is
 * empty. */
static struct span perf_word(struct span *s) {
    while (s->p < s->end && is_gap(*s->p)) {
        s->p++;
    }
    struct span word = {s->p, s->p};
    while (word.end < s->end && !is_gap(*word.end)) {
        word.end++;
    }
    s->p = word.end;
    while (s->p < s->end && is_gap(*s->p)) {
        s->p++;
    }
    return word;
}

static size_t perf_word_len(struct span w) {
    return (size_t)(w.end - w.p);
}

static bool perf_word_number(struct span w, int64_t *out) {
    uint64_t value;
    if (!parse_u64(w.p, perf_word_len(w), INT32_MAX, &value)) {
        return false;
    }
    *out = (int64_t)value;
    return true;
}

/* Reads the thread's id, or process and thread: "4250" or "4242/4250". */
static bool word_ids(struct span w, int64_t *pid, int64_t *tid) {
    const char *slash = w.p < w.end ? memchr(w.p, '/', perf_word_len(w)) : NULL;
    *pid = -1;
    if (!slash) {
        return perf_word_number(w, tid);
    }
    return perf_word_number((struct span){w.p, slash}, pid) &&
           perf_word_number((struct span){slash + 1, w.end}, tid);
}

/* Is the word a processor's number, such as "[001]"? */
static bool is_processor(struct span w) {
    int64_t n;
    return perf_word_len(w) > 2 && *w.p == '[' && w.end[-1] == ']' &&
           perf_word_number((struct span){w.p + 1, w.end - 1}, &n);
}

/* Reads a time in seconds, such as "1234.567890:", as nanoseconds. */
static bool word_time(struct span w, uint64_t *ns) {
    enum { DIGITS = 9 /* of a fraction in nanoseconds */, SECOND = 1000 * 1000 * 1000 };
    const char *dot = w.p < w.end ? memchr(w.p, '.', perf_word_len(w)) : NULL;
    uint64_t seconds, fraction;
    if (!dot || w.end[-1] != ':' ||
        !parse_u64(w.p, (size_t)(dot - w.p), UINT64_MAX / SECOND - 1, &seconds) ||
        !parse_u64(dot + 1, (size_t)(w.end - 1 - dot - 1), SECOND - 1, &fraction)) {
        return false;
    }
    for (ptrdiff_t digits = w.end - 1 - dot - 1; digits < DIGITS; digits++) {
        fraction *= 10;
    }
    *ns = seconds * SECOND + fraction;
    return true;
}

/* Reads the text after the ids: a processor, a time and a period, each of which may be missing, and
 * the event with a colon. After the event, a tracepoint has its fields, and a sample without a
 * stack has its only frame. If there is no time, which the option -F may leave out, the event has
 * to end the line. */
static bool take_tail(struct span s, struct perf_sample_line *out) {
    struct span word = perf_word(&s);
    uint64_t period;
    word = is_processor(word) ? perf_word(&s) : word;
    bool timed = word_time(word, &out->time_ns);
    word = timed ? perf_word(&s) : word;
    if (parse_u64(word.p, perf_word_len(word), UINT64_MAX, &period)) {
        word = perf_word(&s);
    }
    if (perf_word_len(word) < 2 || word.end[-1] != ':' || (!timed && s.p < s.end)) {
        return false;
    }
    out->timed = timed;
    out->event = word.p;
    out->event_len = perf_word_len(word) - 1;
    out->frame = s;
    return true;
}

/* Parses a sample's first line. The command's name may hold blanks: the ids are the first word
 * after which the rest of the line fits. */
bool perf_sample_line(struct span line, struct perf_sample_line *out) {
    struct span s = line;
    while (line.end > line.p && (is_gap(line.end[-1]) || line.end[-1] == '\r')) {
        line.end--;
    }
    s.end = line.end;
    if (s.p == s.end || is_gap(*s.p) || *s.p == '#') {
        while (s.p < s.end && *s.p == ' ') {
            s.p++; /* perf pads names with blanks on the left */
        }
        if (s.p == s.end || *s.p == '\t' || *s.p == '#') {
            return false;
        }
    }
    out->comm = s.p;
    (void)perf_word(&s);
    while (s.p < s.end) {
        const char *before = s.p;
        struct span ids = perf_word(&s);
        if (word_ids(ids, &out->pid, &out->tid) && take_tail(s, out)) {
            out->comm_len = (size_t)(before - out->comm);
            while (out->comm_len > 0 && is_gap(out->comm[out->comm_len - 1])) {
                out->comm_len--;
            }
            return true;
        }
    }
    return false;
}

/* Parses "7f1b2c3d4e5f __read+0xf (/usr/lib/libc.so.6)". The file is in the last parentheses with a
 * blank before them. */
bool perf_frame_line(struct span line, struct perf_frame_line *out) {
    *out = (struct perf_frame_line){0};
    while (line.end > line.p && (is_gap(line.end[-1]) || line.end[-1] == '\r')) {
        line.end--;
    }
    struct span word = perf_word(&line);
    if (perf_word_len(word) < 1 || !parse_hex(word.p, perf_word_len(word), &out->ip) ||
        line.p == line.end || line.end[-1] != ')') {
        return false;
    }
    const char *open = line.end - 1;
    while (open > line.p && !(*open == '(' && is_gap(open[-1]))) {
        open--;
    }
    if (*open != '(') {
        return false;
    }
    out->symbol = line.p;
    out->symbol_len = (size_t)(open - line.p);
    while (out->symbol_len > 0 && is_gap(line.p[out->symbol_len - 1])) {
        out->symbol_len--;
    }
    if (parse_is(out->symbol, out->symbol_len, "[unknown]")) {
        out->symbol_len = 0;
    }
    out->file = open + 1;
    out->file_len = (size_t)(line.end - 1 - out->file);
    out->inlined = parse_is(out->file, out->file_len, "inlined");
    if (out->inlined || parse_is(out->file, out->file_len, "[unknown]")) {
        out->file_len = 0;
    }
    return true;
}

bool perf_is_file(struct span line) {
    while (line.end > line.p && (is_gap(line.end[-1]) || line.end[-1] == '\r')) {
        line.end--;
    }
    return line.end - line.p > 2 && *line.p == '(' && line.end[-1] == ')';
}

static bool is_ip(struct span word) {
    enum { DIGITS_MIN = 5 };
    uint64_t ip;
    return perf_word_len(word) >= DIGITS_MIN && parse_hex(word.p, perf_word_len(word), &ip);
}

bool perf_is_frame_part(struct span line) {
    const struct span whole = line;
    struct span word = perf_word(&line);
    const char *end = whole.end;
    while (end > whole.p && (is_gap(end[-1]) || end[-1] == '\r')) {
        end--;
    }
    return is_ip(word) || (end > whole.p && end[-1] == ')' && is_gap(*whole.p));
}

bool perf_is_joined(const struct perf_frame_line *f) {
    struct span rest = {f->symbol, f->symbol + f->symbol_len}, word = perf_word(&rest);
    bool found = false;
    while (word.p < word.end && !found) {
        bool closed = word.end[-1] == ')';
        word = perf_word(&rest);
        found = closed && is_ip(word);
    }
    return found;
}

/* ---- recognition ---- */

static bool perf_take_line(struct span *text, struct span *line) {
    const char *feed =
        text->p < text->end ? memchr(text->p, '\n', (size_t)(text->end - text->p)) : NULL;
    *line = (struct span){text->p, feed ? feed : text->end};
    text->p = feed ? feed + 1 : text->end;
    return feed != NULL;
}

/* Is the frame's file a mapped file, such as "/usr/lib/libc.so.6" or "[vdso]", or not known? */
static bool is_mapped(const struct perf_frame_line *f) {
    return f->file_len == 0 || *f->file == '/' || *f->file == '[';
}

/* Does the text begin with a sample's line and a frame, perhaps after the comments of perf script
 * --header? *more is set if further bytes would decide. */
bool perf_begins(struct span text, bool *more) {
    struct perf_sample_line sample;
    struct perf_frame_line frame;
    struct span line;
    bool whole;
    if ((size_t)(text.end - text.p) > REPORT_LOOK_MAX) {
        text.end = text.p + REPORT_LOOK_MAX;
    }
    do {
        whole = perf_take_line(&text, &line);
    } while (whole && (line.p == line.end || *line.p == '#'));
    if (!perf_sample_line(line, &sample)) {
        *more = *more || (!whole && line.p < line.end && *line.p == '#');
        return false;
    }
    if (sample.frame.p < sample.frame.end && perf_frame_line(sample.frame, &frame)) {
        return true;
    }
    bool timed = sample.timed;
    whole = perf_take_line(&text, &line);
    if (line.p < line.end && perf_frame_line(line, &frame) &&
        ((timed && is_gap(*line.p)) || is_mapped(&frame))) {
        return true;
    }
    if (timed && whole && perf_is_frame_part(line)) { /* mail may have folded the frame */
        whole = perf_take_line(&text, &line);
        if (perf_is_file(line)) {
            return true;
        }
    }
    *more = *more || !whole;
    return false;
}

enum {
    SAMPLE_LOOK_MAX = 64 * 1024 /* bytes searched for a sample's first line */
};

/* Returns the time of the last sample in the last SAMPLE_LOOK_MAX bytes of the report, in ns; 0:
 * there is no sample, or it has no time. */
static uint64_t last_time(struct span report) {
    struct perf_sample_line sample;
    const char *begin =
        report.end - report.p > SAMPLE_LOOK_MAX ? report.end - SAMPLE_LOOK_MAX : report.p;
    for (const char *end = report.end; end > begin;) {
        const char *p = end - 1; /* the line feed */
        while (p > begin && p[-1] != '\n') {
            p--;
        }
        if (perf_sample_line((struct span){p, end}, &sample)) {
            return sample.timed ? sample.time_ns : 0;
        }
        end = p;
    }
    return 0;
}

/* Is the sample the first one of another recording? perf sorts samples by time. So after samples
 * with later times, a sample that is not later than the report's first one belongs to another
 * recording. */
static bool begins_anew(struct span report, const struct perf_sample_line *sample) {
    struct perf_sample_line first = {0};
    struct span line;
    bool found = false;
    struct span head = report;
    if (head.end - head.p > SAMPLE_LOOK_MAX) {
        head.end = head.p + SAMPLE_LOOK_MAX;
    }
    while (sample->timed && !found && perf_take_line(&head, &line)) {
        found = perf_sample_line(line, &first);
    }
    return found && first.timed && sample->time_ns <= first.time_ns &&
           last_time(report) > first.time_ns;
}

/* Does the line end the recording? It does if it is not indented, unless it is blank, a comment, a
 * frame, the end of a folded frame or a sample's first line. The first sample of another recording
 * ends it, too. */
bool perf_ends(struct span report, struct span line) {
    struct perf_sample_line sample;
    struct perf_frame_line frame;
    if (perf_sample_line(line, &sample)) {
        return begins_anew(report, &sample);
    }
    return line.p < line.end && !is_gap(*line.p) && *line.p != '#' && *line.p != '\r' &&
           !(perf_frame_line(line, &frame) && is_mapped(&frame)) && !perf_is_file(line);
}
