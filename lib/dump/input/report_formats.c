/* Recognises the format of a report, and calls its reader. */
#include "dump/input/report_formats.h"

#include <jansson.h>
#include <string.h>

#include "dump/dump.h"
#include "dump/json/scan_private.h"
#include "dump/reports/report_format_private.h"

/* The formats; what could be several of them is the first. */
static const struct report_format *const report_formats[] = {
    &report_metrickit_format, &report_ips_format, &report_kscrash_format, &report_text_format};

enum { FORMATS = sizeof report_formats / sizeof *report_formats };

void dump_library_init(void) {
    json_object_seed(0);
}

/* ---- recognition ---- */

/* The document without a byte order mark and what is blank before it. */
static struct span skip_to_text(const char *p, size_t len) {
    size_t mark = len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    struct span text = {p + mark, p + len};
    span_skip_space(&text);
    return text;
}

/* Does the text begin with one of the heads? *more: it is the beginning of one, so that the bytes
 * behind it decide. */
static bool begins_so(struct span text, const char *const *heads, bool *more) {
    size_t left = (size_t)(text.end - text.p);
    for (; *heads; heads++) {
        size_t n = strlen(*heads);
        if (left >= n && memcmp(text.p, *heads, n) == 0) {
            return true;
        }
        *more = *more || (left < n && memcmp(text.p, *heads, left) == 0);
    }
    return false;
}

static const struct report_format *format_of_text(struct span text, bool *more) {
    *more = text.p == text.end;
    for (size_t i = 0; i < FORMATS; i++) {
        if (report_formats[i]->heads && begins_so(text, report_formats[i]->heads, more)) {
            return report_formats[i];
        }
    }
    return NULL;
}

bool report_is_text(const char *bytes, size_t len, bool *more) {
    return format_of_text(skip_to_text(bytes, len), more) != NULL;
}

static const struct report_format *format_of_object(struct span object) {
    for (size_t i = 0; i < FORMATS; i++) {
        const struct report_format *f = report_formats[i];
        if (f->members && f->recognise(report_members(object, f->members))) {
            return f;
        }
    }
    return NULL;
}

/* ---- lists of reports ---- */

static enum st report_list_read(const struct report_document *d, struct err *e) {
    struct span rest = d->text, value;
    enum st st = scan_check(rest.p, (size_t)(rest.end - rest.p), 0, e);
    if (st != ST_OK) {
        return st;
    }
    for (size_t i = 0; span_next(&rest, NULL, &value); i++) {
        struct err why = {0};
        const struct report_document element = {value, d->take, d->ctx};
        const struct report_format *format =
            value.p < value.end && *value.p == '{' ? format_of_object(value) : NULL;
        enum st one = format ? format->read(&element, &why) : ST_NONE;
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

/* A JSON array whose first element is a report. */
static const struct report_format report_list_format = {.read = report_list_read};

static const struct report_format *format_of_list(struct span array) {
    struct span value;
    if (!span_next(&array, NULL, &value) || value.p == value.end || *value.p != '{') {
        return NULL;
    }
    return format_of_object(value) ? &report_list_format : NULL;
}

/* ---- all of them ---- */

static const struct report_format *report_recognise(struct span document) {
    bool more;
    if (document.p == document.end) {
        return NULL;
    }
    switch (*document.p) {
    case '[':
        return format_of_list(document);
    case '{':
        return format_of_object(document);
    default:
        return format_of_text(document, &more);
    }
}

enum st report_convert(const char *text, size_t len, report_take take, void *ctx, struct err *e) {
    struct report_document d = {skip_to_text(text, len), take, ctx};
    const struct report_format *format = report_recognise(d.text);
    if (!format) {
        return ST_NONE;
    }
    if (len > DUMP_TEXT_MAX) {
        return err_set(e, ERR_LIMIT, "a document of more than %d bytes", DUMP_TEXT_MAX);
    }
    if (format->heads) {
        d.text.p = text; /* text is kept as it is */
    }
    return format->read(&d, e);
}
