/* Reads the text of macOS' sample(1) and of Activity Monitor's "Sample Process":
 *
 *     Analysis of sampling Shop (pid 4242) every 1 millisecond
 *     Process:         Shop [4242]
 *     Call graph:
 *         2716 Thread_12345   DispatchQueue_1: com.apple.main-thread  (serial)
 *         + 2716 start  (in dyld) + 2432  [0x1a2b3c4d5]
 *         +   2000 -[DB write:]  (in Shop) + 24  [0x104981234]  DB.m:46
 *         +   ! 716 ???  (in Shop)  load address 0x104980000 + 0x1234  [0x104981234]
 *         2716 Thread_12346: com.apple.NSEventThread
 *     Total number in stack (recursive counted multiple, when >=5):
 *     Binary Images:
 *            0x104980000 -        0x104a2bfff +com.example.shop (5.3.1 - 1234) <UUID> /…/Shop
 */
#include "dump/reports/report_private.h"

#include <string.h>

#include "base/parse.h"
#include "dump/dump.h"
#include "dump/reports/report_crash_private.h"
#include "dump/reports/report_span_private.h"

enum sample_place { SAMPLE_HEAD, SAMPLE_GRAPH, SAMPLE_SUMS, SAMPLE_IMAGES };

struct sample_text {
    struct report *r;
    struct report_lines lines;
    const char *line;
    enum sample_place place;
    struct report_outline outline; /* call trees of the threads */
    bool blank;                    /* the line before was empty */
    const char *path;              /* path of the executable */
    uint64_t unread; /* lines of the graph that are no node, or in which a second node follows */
    struct crash_images named; /* images that the nodes name */
    struct report_image_lines images;
};

static bool sample_begins(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

/* ---- headers ---- */

/* Returns N from "… every N millisecond" or "… with N millisecond of run time between samples"; -1:
 * none. */
static int64_t sample_interval(const char *line) {
    const char *word = strstr(line, " every ");
    word = word ? word + 7 : strstr(line, " with ");
    word = word && *word == ' ' ? word + 6 : word;
    uint64_t ms;
    return word && report_take_decimal(&word, &ms) && sample_begins(word, " millisecond") &&
                   ms <= INT32_MAX
               ? (int64_t)ms
               : -1;
}

static void sample_read_header(struct sample_text *t) {
    struct report *r = t->r;
    const char *value;
    if (sample_begins(t->line, "Analysis of sampling ") ||
        sample_begins(t->line, "Sampling process ")) {
        r->sample_interval_ms = sample_interval(t->line);
    } else if ((value = report_line_value(t->line, "Process")) != NULL) {
        const char *pid = strstr(value, " [");
        r->process = report_text(r, value, pid ? (size_t)(pid - value) : strlen(value));
    } else if ((value = report_line_value(t->line, "Path")) != NULL) {
        t->path = value;
    } else if ((value = report_line_value(t->line, "Identifier")) != NULL) {
        r->app_id = value;
    } else if ((value = report_line_value(t->line, "Version")) != NULL) {
        report_version(r, value, false);
    } else if ((value = report_line_value(t->line, "Code Type")) != NULL) {
        r->arch = report_code_type(value);
    } else if ((value = report_line_value(t->line, "OS Version")) != NULL) {
        report_os(r, value);
    } else if ((value = report_line_value(t->line, "Date/Time")) != NULL) {
        r->time = report_time(r, value);
    }
}

/* ---- the call graph ---- */

/* Begins a thread: "Thread_12345 DispatchQueue_1: com.apple.main-thread (serial)" or "Thread_12346:
 * NAME". */
static enum st sample_begin_thread(struct sample_text *t, const char *s, uint64_t count) {
    struct report_outline_thread fresh = {.thread = {.id = -1}, .announced = count};
    uint64_t id;
    s += sizeof "Thread_" - 1;
    if (report_take_decimal(&s, &id) && id <= INT32_MAX) {
        fresh.thread.id = (int64_t)id;
    }
    t->unread += strstr(s, " [0x") != NULL; /* another node was joined to the line */
    const char *colon = strchr(s, ':');
    const char *name = colon ? report_skip_blanks(colon + 1) : "";
    const char *behind = strstr(name, "  "); /* "  (serial)", "   DispatchQueue_<multiple>" */
    fresh.thread.name = report_text(t->r, name, behind ? (size_t)(behind - name) : strlen(name));
    fresh.main_queue = strstr(s, "com.apple.main-thread") || sample_begins(name, "Main Thread");
    return report_outline_begin(t->r, &t->outline, &fresh);
}

/* Adds the symbol in front of "  (in IMAGE)", with its offset and source line, and returns its
 * number; 0: there is none. */
static uint64_t sample_name(struct report *r, uint64_t address, const char *s, const char *in) {
    struct report_name name = {.address = address};
    const char *plus = strstr(in, ") + ");
    if (strncmp(s, "???", 3) == 0 || in == s) {
        return 0;
    }
    name.symbol = report_text(r, s, (size_t)(in - s));
    if (plus) {
        plus += 4; /* for several addresses several offsets follow; the first one counts */
        (void)report_take_decimal(&plus, &name.offset);
    }
    const char *file = strstr(in, "]  ");
    const char *colon = file ? strrchr(file, ':') : NULL;
    uint64_t line;
    if (colon && parse_u64(colon + 1, strlen(colon + 1), UINT32_MAX, &line) && line > 0) {
        name.file = report_text(r, file + 3, (size_t)(colon - file - 3));
        name.line = (uint32_t)line;
    }
    return report_name(r, &name);
}

/* Places a node without an address in brackets: "-[DB write:] (in Shop) + 24", "??? (in Shop) load
 * address 0x104980000 + 0x1234", or a name alone, as up to Mac OS X 10.6; false: no address can be
 * found. in: the text after the name, or the end of the line. */
static bool place_bare_node(struct report *r, const char *in, struct report_outline_node *node) {
    static const char word[] = "load address ";
    const char *load = strstr(in, word);
    uint64_t base, offset;
    if (load) {
        load += sizeof word - 1;
        bool placed = report_take_hex(&load, &base) && sample_begins(load, " + ") &&
                      (load += 3, report_take_hex(&load, &offset)) && offset <= UINT64_MAX - base;
        node->address = placed ? base + offset : 0;
        return placed;
    }
    if (in == node->symbol || sample_begins(node->symbol, "???")) {
        return false;
    }
    const struct report_name name = {.symbol =
                                         report_text(r, node->symbol, (size_t)(in - node->symbol))};
    node->address = report_name_unplaced(r, &name, &node->name);
    return true;
}

/* Notes the image of a node from "  (in Shop)  load address 0x104980000 + 0x1234", of which the
 * load address may be missing; in: the text from there on, or the line's end. */
static void note_image(struct sample_text *t, const char *in, uint64_t address) {
    static const char word[] = "load address ";
    struct crash_frame frame = {.address = address, .has_address = true};
    const char *close = *in ? strchr(in, ')') : NULL, *load = strstr(in, word);
    if (!close) {
        return;
    }
    in += sizeof "  (in " - 1;
    frame.image = report_text(t->r, in, (size_t)(close - in));
    if (load) {
        load += sizeof word - 1;
        frame.has_base = report_take_hex(&load, &frame.base) && frame.base <= address;
    }
    crash_images_note(&t->named, t->r, &frame);
}

/* Takes a node "2000 -[DB write:] (in Shop) + 24 [0x104981234]" after the characters that draw the
 * tree. Of several addresses, "[0x104981234,0x104981240,…]", the first one is used. */
static enum st sample_take_node(struct sample_text *t) {
    size_t column = strspn(t->line, " +!:|");
    const char *s = t->line + column, *in, *at;
    uint64_t count, address;
    bool joined;
    if (column == 0 || !report_take_decimal(&s, &count) || *s != ' ' || count > DUMP_COUNT_MAX) {
        t->unread +=
            *s != 0 && !report_is_prose(t->line, t->blank) && report_outline_now(&t->outline);
        return ST_OK;
    }
    s = report_skip_blanks(s);
    if (sample_begins(s, "Thread_")) {
        return sample_begin_thread(t, s, count);
    }
    at = report_node_address(s, &joined);
    t->unread += joined;
    const char *digits = at ? at + 1 : s; /* up to Mac OS X 10.6 the address stands alone:
                                             "0x104981234" */
    if (!report_outline_now(&t->outline)) {
        return ST_OK;
    }
    struct report_outline_node node = {.column = column, .count = count, .symbol = s};
    in = strstr(s, "  (in ");
    in = in ? in : s + strlen(s);
    if (!report_take_hex(&digits, &address) || (!at && *digits)) {
        t->r->frames_unread += at || !place_bare_node(t->r, in, &node);
        if (node.name == 0) {
            note_image(t, in, node.address);
        }
        return report_outline_add(t->r, &t->outline, &node);
    }
    node.address = address;
    note_image(t, in, address);
    if (at && *in) {
        node.name = sample_name(t->r, address, s, in);
    } else if (at && strncmp(s, "???", 3) != 0) { /* a row that atos wrote */
        const char *text = report_text(t->r, s, (size_t)(at - s));
        node.name = text ? report_symbol(t->r, address, text) : 0;
    }
    return report_outline_add(t->r, &t->outline, &node);
}

static enum st sample_take_line(struct sample_text *t) {
    if (sample_begins(t->line, "Call graph:")) {
        t->place = SAMPLE_GRAPH;
    } else if (sample_begins(t->line, "Total number in stack")) {
        t->place = SAMPLE_SUMS;
        return report_outline_end(t->r, &t->outline, false, 0);
    } else if (sample_begins(t->line, "Binary Images:")) {
        t->place = SAMPLE_IMAGES;
        return report_outline_end(t->r, &t->outline, false, 0);
    } else if (t->place == SAMPLE_HEAD) {
        sample_read_header(t);
    } else if (t->place == SAMPLE_GRAPH) {
        return sample_take_node(t);
    } else if (t->place == SAMPLE_IMAGES && t->r->images.len < DUMP_IMAGES_MAX) {
        report_image_line(t->r, &t->images, t->line);
    }
    return ST_OK;
}

static enum st sample_fill(struct sample_text *t) {
    struct report *r = t->r;
    r->kind = "hang";
    r->detector = "apple";
    while ((t->line = report_next_line(r, &t->lines)) != NULL) {
        if (sample_take_line(t) != ST_OK) {
            return err_context(r->e, "line %zu", t->lines.number);
        }
        t->blank = !*t->line;
    }
    report_end_image_lines(r, &t->images);
    if (r->no_memory) {
        return err_nomem(r->e);
    }
    if (t->path) {
        report_executable(r, t->path);
    }
    report_lack_count(r, t->unread, "line within its call trees that could not be read",
                      "lines within its call trees that could not be read");
    if (t->place < SAMPLE_IMAGES) {
        (void)crash_images_add(&t->named, r, false);
    }
    if (t->place < SAMPLE_SUMS) { /* issue trackers cut long texts */
        if (report_outline_end(r, &t->outline, false, 0) != ST_OK) {
            return ST_ERR;
        }
        report_lack(r, "what follows: the text ends within its call graph");
    } else if (t->place < SAMPLE_IMAGES) {
        report_lack(r, "the text ends without \"Binary Images\", so images have no UUID");
    }
    return r->threads.len > 0 ? ST_OK
                              : err_set(r->e, ERR_FORMAT, "a report of samples without a stack");
}

static enum st sample_read(const struct report_document *d, struct err *e) {
    struct report r;
    struct sample_text t = {.r = &r, .lines = {.at = d->text.p, .end = d->text.end}};
    report_init(&r, report_sample_format.name, 0, e);
    report_keep(&r, "text", d->text, true);
    report_lack_end(&r, d->text);
    enum st st = sample_fill(&t);
    if (st == ST_OK) {
        st = report_finish(&r, d);
    }
    report_outline_release(&t.outline);
    crash_images_release(&t.named);
    report_release(&r);
    return st;
}

static bool is_sample_head(struct span line) {
    static const char *const heads[] = {"Analysis of sampling ", "Sampling process "};
    const size_t len = (size_t)(line.end - line.p);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (len >= strlen(heads[i]) && memcmp(line.p, heads[i], strlen(heads[i])) == 0) {
            return true;
        }
    }
    return false;
}

static const char graph_head[] = "Call graph:";

/* Does the text begin with the graph, as people paste it: after its heading a line "2716
 * Thread_12345"? *more is set if further bytes would decide. */
static bool begins_with_graph(struct span text, bool *more) {
    struct span line;
    bool ended = false;
    (void)line_take(&text, &line, &ended);
    if (!line_has_head(line, graph_head)) {
        return false;
    }
    if (!ended || !line_take(&text, &line, &ended) || !ended) {
        *more = true;
        return false;
    }
    line = line_trim(line);
    const char *digits = line.p;
    while (line.p < line.end && *line.p >= '0' && *line.p <= '9') {
        line.p++;
    }
    return line.p > digits && line_has_head(line_trim(line), "Thread_");
}

/* Does the text begin with the headers below the first line, and does it have a graph? The graph is
 * needed, because other tools write such headers, too. *more is set if further bytes would
 * decide. */
static bool begins_with_headers(struct span text, bool *more) {
    const bool all = line_len(text) > REPORT_LOOK_MAX;
    struct span line, rest = {text.p, all ? text.p + REPORT_LOOK_MAX : text.end};
    if (!line_has_head(text, "Process:")) {
        return false;
    }
    while (line_take(&rest, &line, NULL)) {
        if (line_has_head(line, graph_head)) {
            return begins_with_graph((struct span){line.p, text.end}, more);
        }
        if (line_has_head(line, "Thread ") || line_has_head(line, "Binary Images:")) {
            return false;
        }
    }
    *more = *more || !all;
    return false;
}

/* Does the text begin with sample(1)'s first line, the headers or the graph? The first words of
 * that line may also occur in prose, so that it must name an interval in milliseconds. *more is set
 * if further bytes would decide. */
static bool sample_recognise(struct span text, bool *more) {
    static const char word[] = "millisecond";
    const char *feed = memchr(text.p, '\n', (size_t)(text.end - text.p));
    struct span line = {text.p, feed ? feed : text.end};
    if (!is_sample_head(line)) {
        return begins_with_graph(text, more) || begins_with_headers(text, more);
    }
    for (const char *p = line.p; (size_t)(line.end - p) >= sizeof word - 1; p++) {
        if (memcmp(p, word, sizeof word - 1) == 0) {
            return true;
        }
    }
    *more = *more || (!feed && line.end - line.p < 512);
    return false;
}

static bool has_graph(struct span report) {
    struct span line;
    while (line_take(&report, &line, NULL)) {
        if (line_has_head(line, graph_head)) {
            return true;
        }
    }
    return false;
}

/* Does the line, the first line of a report or the heading of a graph, begin another report? Only
 * if this report already has a graph, because sample(1) writes two first lines to a terminal:
 * "Sampling process 4242 …" and "Analysis of sampling …". "Process:" and other headers never begin
 * a report, because sample(1) writes them itself. */
static bool sample_ends(struct span report, struct span line) {
    bool begins = is_sample_head(line) || line_has_head(line, graph_head);
    return begins && has_graph(report);
}

const struct report_format report_sample_format = {.name = "sample",
                                                   .source = "macOS sample(1), Activity Monitor",
                                                   .since = "0.1.0",
                                                   .begins = sample_recognise,
                                                   .ends = sample_ends,
                                                   .read = sample_read};
