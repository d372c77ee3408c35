/* Recognises the format of a report, and calls its reader. */
#include "dump/input/report_formats.h"

#include <jansson.h>
#include <string.h>

#include "dump/dump.h"
#include "dump/input/envelope.h"
#include "dump/input/text_mend.h"
#include "dump/json/scan_private.h"
#include "dump/maps/map_private.h"
#include "dump/reports/report_format_private.h"

/* The report formats; a document that fits several of them is read by the first. */
static const struct report_format *const report_formats[] = {
    &report_metrickit_format, &report_metrics_format, &report_ips_format,
    &report_kscrash_format,   &report_text_format,    &report_android_format,
    &report_sample_format,    &report_perf_format,    &report_seastar_format};

enum { FORMATS = sizeof report_formats / sizeof *report_formats };

void dump_library_init(void) {
    json_object_seed(0);
}

/* ---- recognition ---- */

/* Skips a byte order mark and white space at the start of a document. */
static struct span skip_to_text(const char *p, size_t len) {
    size_t mark = len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    struct span text = {p + mark, p + len};
    span_skip_space(&text);
    return text;
}

/* Does the text begin with one of the heads? *more is set if it ends within one, so that further
 * bytes would decide. */
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

/* Is the text a report in this text format? *more is set if the answer needs further bytes. */
static bool is_text_of(const struct report_format *f, struct span text, bool *more) {
    return (f->heads && begins_so(text, f->heads, more)) || (f->begins && f->begins(text, more));
}

static const struct report_format *format_of_text(struct span text, bool *more) {
    enum { TEXT_SEEN = 256 /* a file that is not text usually has a NUL in so many bytes */ };
    size_t seen = (size_t)(text.end - text.p);
    *more = text.p == text.end;
    if (seen && memchr(text.p, '\0', seen < TEXT_SEEN ? seen : TEXT_SEEN)) {
        return NULL;
    }
    for (size_t i = 0; i < FORMATS; i++) {
        if (is_text_of(report_formats[i], text, more)) {
            return report_formats[i];
        }
    }
    return NULL;
}

const struct report_format *report_text_format_of(const char *bytes, size_t len, bool *more) {
    return format_of_text(skip_to_text(bytes, len), more);
}

static bool is_object_of(const struct report_format *f, struct span object) {
    return f->members && f->recognise(report_members(object, f->members));
}

/* The reader of a document: either a built-in format or a map. */
struct report_reader {
    const struct report_format *format;
    const struct report_map *map;
};

static bool reader_is(const struct report_reader *r) {
    return r->format || r->map;
}

static enum st reader_read(const struct report_reader *r, const struct report_document *d,
                           struct err *e) {
    return r->map ? report_map_read(r->map, d, e) : r->format->read(d, e);
}

/* Chooses the reader of a JSON object: a user's map first, which thus overrides formats; then the
 * formats, which check few names; then the built-in maps. */
static struct report_reader reader_of_object(struct span object, const struct report_maps *maps) {
    struct report_reader r = {.map = report_maps_find(maps, MAP_OF_USER, object)};
    for (size_t i = 0; i < FORMATS && !reader_is(&r); i++) {
        r.format = is_object_of(report_formats[i], object) ? report_formats[i] : NULL;
    }
    if (!reader_is(&r)) {
        r.map = report_maps_find(maps, MAP_BUILTIN, object);
    }
    return r;
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
        const struct report_document element = {value,   d->take,    d->ctx,
                                                d->maps, d->process, d->number};
        struct report_reader reader = {0};
        if (value.p < value.end && *value.p == '{') {
            reader = reader_of_object(value, d->maps);
        }
        enum st one = reader_is(&reader) ? reader_read(&reader, &element, &why) : ST_NONE;
        if (one == ST_NONE) {
            one = err_set(&why, ERR_FORMAT, "not a report");
        }
        if (one != ST_OK) {
            (void)err_context(&why, "element %zu", i);
            st = err_copy(e, &why);
        }
    }
    return st;
}

/* The reader of a JSON array whose first element is a report. */
static const struct report_format report_list_format = {.read = report_list_read};

static struct report_reader reader_of_list(struct span array, const struct report_maps *maps) {
    struct report_reader r = {0};
    struct span value;
    if (span_next(&array, NULL, &value) && value.p < value.end && *value.p == '{') {
        r = reader_of_object(value, maps);
    }
    return reader_is(&r) ? (struct report_reader){.format = &report_list_format} : r;
}

/* ---- envelopes ---- */

/* Chooses the reader of an envelope item's payload, JSON or text; an empty one: the payload is no
 * report. */
static struct report_reader reader_of_item(struct span payload, const struct report_maps *maps) {
    struct report_reader r = {0};
    bool more;
    if (payload.p < payload.end && *payload.p == '{') {
        r = reader_of_object(payload, maps);
    } else {
        r.format = format_of_text(payload, &more);
    }
    return r;
}

static enum st envelope_read(const struct report_document *d, struct err *e) {
    struct span items = envelope_items(d->text), payload;
    enum st result = ST_NONE, st;
    for (size_t i = 0; (st = envelope_next(&items, &payload, e)) == ST_OK; i++) {
        struct err why = {0};
        const struct report_document item = {payload, d->take,    d->ctx,
                                             d->maps, d->process, d->number};
        struct report_reader r = reader_of_item(payload, d->maps);
        enum st one = reader_is(&r) ? reader_read(&r, &item, &why) : ST_NONE;
        if (one == ST_ERR) {
            (void)err_context(&why, "item %zu", i);
            result = err_copy(e, &why);
        } else if (one == ST_OK && result == ST_NONE) {
            result = ST_OK;
        }
    }
    if (st == ST_ERR) {
        return ST_ERR;
    }
    return result == ST_NONE
               ? err_set(e, ERR_UNSUPPORTED, "an envelope without an event that has a stack")
               : result;
}

/* The reader of Sentry's envelopes, which reads the reports among the items. */
static const struct report_format envelope_format = {.read = envelope_read};

/* ---- all formats ---- */

/* Is the document JSON? If not, it may be the text of a logger that writes brackets. */
static bool is_json(struct span document) {
    return text_begins_json(document) || text_is_wrapped(document);
}

static struct report_reader report_recognise(struct span document, const struct report_maps *maps) {
    struct report_reader r = {0};
    bool more;
    if (document.p == document.end) {
        return r;
    }
    if (!is_json(document)) {
        r.format = format_of_text(document, &more);
    } else if (*document.p == '[') {
        r = reader_of_list(document, maps);
    } else if (envelope_is(document)) {
        r.format = &envelope_format;
    } else {
        r = reader_of_object(document, maps);
    }
    return r;
}

const struct report_format *report_format_at(size_t i) {
    return i < FORMATS ? report_formats[i] : NULL;
}

bool report_format_describe(size_t i, struct report_format_words *out) {
    const struct report_format *f = report_format_at(i);
    if (f) {
        *out = (struct report_format_words){f->name, f->source, f->since};
    }
    return f != NULL;
}

bool report_format_claims(const struct report_format *f, const char *text, size_t len) {
    struct span document = skip_to_text(text, len);
    bool more = false;
    if (document.p == document.end) {
        return false;
    }
    return *document.p == '{' ? is_object_of(f, document) : is_text_of(f, document, &more);
}

bool report_is_recognised(const char *text, size_t len, const struct report_maps *maps) {
    const struct report_reader r = report_recognise(skip_to_text(text, len), maps);
    return reader_is(&r);
}

enum st report_convert(const char *text, size_t len, const struct report_maps *maps,
                       report_take take, void *ctx, struct err *e) {
    return report_convert_chosen(text, len, maps, &(struct report_choice){0}, take, ctx, e);
}

enum st report_convert_chosen(const char *text, size_t len, const struct report_maps *maps,
                              const struct report_choice *choice, report_take take, void *ctx,
                              struct err *e) {
    struct report_document d = {skip_to_text(text, len), take,          ctx, maps,
                                choice->process,         choice->number};
    struct report_reader r = report_recognise(d.text, maps);
    if (!reader_is(&r)) {
        return ST_NONE;
    }
    if (len > DUMP_TEXT_MAX) {
        return err_set(e, ERR_LIMIT, "a document of more than %d bytes", DUMP_TEXT_MAX);
    }
    if (!is_json(d.text)) {
        d.text.p = text; /* a text report keeps its byte order mark and blank lines */
    }
    return reader_read(&r, &d, e);
}
