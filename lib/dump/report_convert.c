/* What kind of report a document is, and the way to its reader. */
#include "dump/report.h"

#include <string.h>

#include "dump/document.h"
#include "dump/dump.h"
#include "dump/dump_scan_private.h"
#include "dump/report_private.h"

void dump_library_init(void) {
    json_object_seed(0);
}

/* ---- text ---- */

/* How text reports begin. */
static const char *const text_heads[] = {
    "Incident Identifier:", "CrashReporter Key:", "Hardware Model:",
    "Beta Identifier:",     "Distributor ID:",    "Process:  ",
    "Process:\t",           "Translated Report",  "-------------------------------------",
    "Date/Time:  ",
};

static size_t skip_to_text(const char *p, size_t len) {
    size_t i = len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < len && (p[i] == ' ' || p[i] == '\t' || p[i] == '\r' || p[i] == '\n')) {
        i++;
    }
    return i;
}

bool report_is_text(const char *bytes, size_t len, bool *more) {
    size_t skip = skip_to_text(bytes, len);
    const char *p = bytes + skip;
    size_t left = len - skip;
    *more = left == 0;
    for (size_t i = 0; i < sizeof text_heads / sizeof *text_heads; i++) {
        size_t n = strlen(text_heads[i]);
        if (left >= n && memcmp(p, text_heads[i], n) == 0) {
            return true;
        }
        *more = *more || (left < n && memcmp(p, text_heads[i], left) == 0);
    }
    return false;
}

bool report_begins_text(const char *line, size_t len) {
    bool more;
    return report_is_text(line, len, &more);
}

/* ---- JSON ---- */

/* Members that tell what an object is. */
enum mark {
    MARK_REPORT = 1 << 0,
    MARK_CRASH = 1 << 1,
    MARK_IMAGES = 1 << 2,
    MARK_STACKS = 1 << 3, /* Matrix's */
    MARK_DIAGNOSTIC = 1 << 4,
    MARK_USED_IMAGES = 1 << 5,
    MARK_THREADS = 1 << 6,
    MARK_BUG_TYPE = 1 << 7,
    MARK_FORMAT = 1 << 8,
    MARK_PROCESSES = 1 << 9 /* a stackshot's */
};

static unsigned mark_of(struct span key) {
    static const struct {
        const char *name;
        unsigned mark;
    } marks[] = {
        {"format", MARK_FORMAT},
        {"report", MARK_REPORT},
        {"crash", MARK_CRASH},
        {"recrash_report", MARK_CRASH},
        {"binary_images", MARK_IMAGES},
        {"stack_string", MARK_STACKS},
        {"threads_profile", MARK_STACKS},
        {"frame_stack", MARK_STACKS},
        {"callStackTree", MARK_DIAGNOSTIC},
        {"callStacks", MARK_DIAGNOSTIC},
        {"hangDiagnostics", MARK_DIAGNOSTIC},
        {"cpuExceptionDiagnostics", MARK_DIAGNOSTIC},
        {"diskWriteExceptionDiagnostics", MARK_DIAGNOSTIC},
        {"appLaunchDiagnostics", MARK_DIAGNOSTIC},
        {"crashDiagnostics", MARK_DIAGNOSTIC},
        {"usedImages", MARK_USED_IMAGES},
        {"threads", MARK_THREADS},
        {"bug_type", MARK_BUG_TYPE},
        {"processByPid", MARK_PROCESSES},
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (span_is(key, marks[i].name)) {
            return marks[i].mark;
        }
    }
    return 0;
}

/* All marks of an object; a dump's "format" ends the search, so that dumps cost nothing. */
static unsigned marks_of(struct span object) {
    struct span key, value;
    unsigned marks = 0;
    while (!(marks & MARK_FORMAT) && span_next(&object, &key, &value)) {
        marks |= mark_of(key);
    }
    return marks;
}

static enum report_format format_of(unsigned marks) {
    if (marks & MARK_FORMAT) {
        return REPORT_NONE;
    }
    if (marks & MARK_DIAGNOSTIC) {
        return REPORT_METRICKIT;
    }
    if ((marks & MARK_USED_IMAGES && marks & MARK_THREADS) ||
        marks & (MARK_BUG_TYPE | MARK_PROCESSES)) {
        return REPORT_IPS;
    }
    if (marks & (MARK_CRASH | MARK_STACKS) && marks & (MARK_REPORT | MARK_IMAGES | MARK_STACKS)) {
        return REPORT_KSCRASH;
    }
    return REPORT_NONE;
}

enum report_format report_recognise(const char *text, size_t len) {
    size_t skip = skip_to_text(text, len);
    struct span document = {text + skip, text + len}, value;
    if (skip == len) {
        return REPORT_NONE;
    }
    if (*document.p == '[') {
        struct span rest = document;
        return span_next(&rest, NULL, &value) && value.p < value.end && *value.p == '{' &&
                       report_recognise(value.p, (size_t)(value.end - value.p)) != REPORT_NONE
                   ? REPORT_LIST
                   : REPORT_NONE;
    }
    if (*document.p == '{') {
        return format_of(marks_of(document));
    }
    return report_begins_text(document.p, (size_t)(document.end - document.p)) ? REPORT_CRASH
                                                                               : REPORT_NONE;
}

bool report_is_ips_header(const char *text, size_t len) {
    static const char mark[] = "\"bug_type\"";
    enum { HEADER_MAX = 64 * 1024 };
    const char *p = text, *end = text + len;
    if (len > HEADER_MAX) {
        return false;
    }
    while ((size_t)(end - p) >= sizeof mark - 1 &&
           (p = memchr(p, '"', (size_t)(end - p) - (sizeof mark - 2))) != NULL) {
        if (memcmp(p, mark, sizeof mark - 1) == 0) {
            unsigned marks = marks_of((struct span){text, end});
            return marks & MARK_BUG_TYPE &&
                   !(marks & (MARK_THREADS | MARK_USED_IMAGES | MARK_PROCESSES | MARK_FORMAT));
        }
        p++;
    }
    return false;
}

/* ---- conversion ---- */

enum st report_load(const char *text, size_t len, json_t **root, struct err *e) {
    static const struct document_options options = {.depth_max = REPORT_DEPTH_MAX};
    return document_load(root, text, len, &options, e);
}

typedef enum st (*read_json)(const struct report_document *d, struct err *e);

static enum st convert_json(struct span text, read_json reader, report_take take, void *ctx,
                            struct err *e) {
    json_t *root;
    enum st st = report_load(text.p, (size_t)(text.end - text.p), &root, e);
    if (st == ST_OK) {
        struct report_document d = {text, root, take, ctx};
        st = reader(&d, e);
    }
    json_decref(root);
    return st;
}

/* Behind the first line of an .ips. */
static enum st convert_body(struct span header_text, const json_t *header, struct span body,
                            report_take take, void *ctx, struct err *e) {
    struct report_document d = {body, NULL, take, ctx};
    json_t *root = NULL;
    enum st st = ST_OK;
    if (*body.p == '{') {
        st = report_load(body.p, (size_t)(body.end - body.p), &root, e);
        d.root = root;
    }
    st = st == ST_OK ? report_read_ips(&d, header_text, header, body, e) : st;
    json_decref(root);
    return st;
}

static enum st convert_ips(struct span text, report_take take, void *ctx, struct err *e) {
    struct span rest = text;
    struct span first = span_value(&rest);
    span_skip_space(&rest);
    json_t *root = NULL;
    enum st st;
    if (!report_is_ips_header(first.p, (size_t)(first.end - first.p))) {
        st = report_load(text.p, (size_t)(text.end - text.p), &root, e); /* a body by itself */
        struct report_document d = {text, root, take, ctx};
        st = st == ST_OK ? report_read_ips(&d, text, NULL, text, e) : st;
        json_decref(root);
        return st;
    }
    if (rest.p == rest.end) {
        return err_set(e, ERR_TRUNCATED, "an .ips that ends behind its first line, at byte %zu",
                       (size_t)(first.end - text.p));
    }
    st = report_load(first.p, (size_t)(first.end - first.p), &root, e);
    st = st == ST_OK ? convert_body(first, root, rest, take, ctx, e) : st;
    json_decref(root);
    return st;
}

/* Where the .ips that a text was made from begins, below a line "Full Report"; NULL: there is none.
 * The line may have blanks or a CR at its end. */
static const char *find_original(struct span text) {
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
            return memchr(rest, '{', (size_t)(text.end - rest));
        }
    }
    return NULL;
}

/* A text report; the console of macOS puts the .ips that it was made from behind it. */
static enum st convert_text(struct span text, report_take take, void *ctx, struct err *e) {
    const char *original = find_original(text);
    if (original) {
        return convert_ips((struct span){original, text.end}, take, ctx, e);
    }
    struct report r;
    bool sampled = report_is_sampled(text);
    report_init(&r, sampled ? "spindump" : "crash", 0, e);
    report_keep(&r, "text", text, true);
    enum st st = sampled ? report_fill_sampled(&r, text) : report_fill_crash(&r, text);
    st = st == ST_OK ? report_finish(&r, take, ctx) : st;
    report_release(&r);
    return st;
}

static enum st convert_list(struct span text, report_take take, void *ctx, struct err *e) {
    struct span rest = text, value;
    enum st st = scan_check(text.p, (size_t)(text.end - text.p), e);
    if (st != ST_OK) {
        return st;
    }
    for (size_t i = 0; span_next(&rest, NULL, &value); i++) {
        struct err why = {0};
        size_t len = (size_t)(value.end - value.p);
        enum report_format format = report_recognise(value.p, len);
        enum st one = ST_NONE;
        if (format != REPORT_LIST && format != REPORT_CRASH && format != REPORT_NONE) {
            one = report_convert_as(format, value.p, len, take, ctx, &why);
        }
        if (one == ST_NONE) {
            one = err_set(&why, ERR_FORMAT, "not a report");
        }
        if (one != ST_OK) {
            (void)err_context(&why, "element %zu", i);
            st = err_set(e, why.code, "%s", why.text);
        }
    }
    return st;
}

enum st report_convert_as(enum report_format format, const char *text, size_t len, report_take take,
                          void *ctx, struct err *e) {
    size_t skip = format == REPORT_CRASH ? 0 : skip_to_text(text, len);
    struct span document = {text + skip, text + len};
    if (document.p == document.end) {
        return ST_NONE;
    }
    if (len > DUMP_TEXT_MAX) {
        return err_set(e, ERR_LIMIT, "a document of more than %d bytes", DUMP_TEXT_MAX);
    }
    switch (format) {
    case REPORT_KSCRASH:
        return convert_json(document, report_read_kscrash, take, ctx, e);
    case REPORT_METRICKIT:
        return convert_json(document, report_read_metrickit, take, ctx, e);
    case REPORT_IPS:
        return convert_ips(document, take, ctx, e);
    case REPORT_CRASH:
        return convert_text(document, take, ctx, e);
    case REPORT_LIST:
        return convert_list(document, take, ctx, e);
    case REPORT_NONE:
        break;
    }
    return ST_NONE;
}

enum st report_convert(const char *text, size_t len, report_take take, void *ctx, struct err *e) {
    return report_convert_as(report_recognise(text, len), text, len, take, ctx, e);
}
