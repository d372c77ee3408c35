/* Reading back what an earlier stallsym added: the string table, the locations, and the indexes of
 * every stack. Each index is checked here, so that nobody has to later. */
#include <string.h>

#include "base/parse.h"
#include "base/vec.h"
#include "dump/dump_private.h"
#include "dump/dump_scan_private.h"

/* The string table: NUL-terminated copies. */
struct strings {
    const char **texts;
    size_t count;
};

static enum st build_strings(struct build *b, const json_t *root, struct strings *strings) {
    const json_t *array = json_object_get(root, "strings");
    strings->count = json_array_size(array); /* 0 if it is no array: then every index is wrong */
    strings->texts = build_array(b, strings->count, sizeof *strings->texts);
    if (!strings->texts) {
        return ST_ERR;
    }
    for (size_t i = 0; i < strings->count; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_string(value)) {
            return err_set(b->e, ERR_FORMAT, "\"strings\"[%zu] is not a string", i);
        }
        strings->texts[i] = build_string(b, value);
        if (!strings->texts[i]) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- the array of locations, from its text ---- */

enum st build_cut_locations(struct build *b, const char *text, size_t len, struct strbuf *rest) {
    struct span document = {text, text + len}, key, value, found = {NULL, NULL};
    while (span_next(&document, &key, &value)) {
        if (span_is(key, "locations")) {
            found = value; /* of two, the last one counts */
        }
    }
    if (!found.p || *found.p != '[') {
        return ST_NONE;
    }
    strbuf_add(rest, text, (size_t)(found.p - text));
    strbuf_addstr(rest, "[]");
    strbuf_add(rest, found.end, (size_t)(text + len - found.end));
    b->locations = found.p;
    b->locations_end = found.end;
    return strbuf_check(rest, b->e);
}

/* As build_u64: the pre-pass has put quotes around long ones. */
static bool span_u64(struct span v, uint64_t *out) {
    if (v.end - v.p >= 2 && *v.p == '"') {
        v.p++;
        v.end--;
    }
    return parse_u64(v.p, (size_t)(v.end - v.p), UINT64_MAX, out);
}

/* As build_index. */
static bool span_index(struct span v, int64_t max, int64_t *out) {
    return parse_i64(v.p, (size_t)(v.end - v.p), out) && *out >= -1 && *out <= max;
}

static size_t count_elements(struct span array) {
    struct span value;
    size_t n = 0;
    while (span_next(&array, NULL, &value)) {
        n++;
    }
    return n;
}

/* [function, linkage, file, line, column]; members that a later version may append are ignored. */
static bool build_line(struct span array, const struct strings *strings, struct dump_line *line) {
    const char **texts[] = {&line->function, &line->linkage, &line->file};
    uint32_t *numbers[] = {&line->line, &line->column};
    struct span value;
    if (array.p == array.end || *array.p != '[') {
        return false;
    }
    for (size_t i = 0; i < 3; i++) {
        int64_t index;
        if (!span_next(&array, NULL, &value) ||
            !span_index(value, (int64_t)strings->count - 1, &index)) {
            return false;
        }
        *texts[i] = index < 0 ? NULL : strings->texts[index];
    }
    for (size_t i = 0; i < 2; i++) {
        uint64_t v;
        if (!span_next(&array, NULL, &value) || !span_u64(value, &v) || v > UINT32_MAX) {
            return false;
        }
        *numbers[i] = (uint32_t)v;
    }
    return true;
}

static enum st build_lines(struct build *b, struct span lines, const struct strings *strings,
                           struct dump_location *location, size_t index) {
    struct span value;
    location->line_count = lines.p ? count_elements(lines) : 0;
    location->lines = build_array(b, location->line_count, sizeof *location->lines);
    if (!location->lines) {
        return ST_ERR;
    }
    for (size_t i = 0; i < location->line_count; i++) {
        if (!span_next(&lines, NULL, &value) || !build_line(value, strings, &location->lines[i])) {
            return err_set(b->e, ERR_FORMAT, "location %zu: line %zu is malformed", index, i);
        }
    }
    return ST_OK;
}

static enum dump_source source_of(struct span text) {
    for (int s = DUMP_SOURCE_NONE; s <= DUMP_SOURCE_REPORT; s++) {
        if (text.p && *text.p == '"' && span_is(text, dump_source_text((enum dump_source)s))) {
            return (enum dump_source)s;
        }
    }
    return DUMP_SOURCE_NONE;
}

static enum st build_location(struct build *b, struct span object, const struct strings *strings,
                              struct dump_location *location, size_t index) {
    struct span key, value, lines = {NULL, NULL}, start = {NULL, NULL}, source = {NULL, NULL};
    bool has_image = false, has_offset = false;
    bool is_object = object.p < object.end && *object.p == '{';
    int64_t image = -1;
    while (is_object && span_next(&object, &key, &value)) {
        if (span_is(key, "image")) {
            has_image = span_index(value, (int64_t)b->d->image_count - 1, &image);
        } else if (span_is(key, "offset")) {
            has_offset = span_u64(value, &location->offset);
        } else if (span_is(key, "start")) {
            start = value;
        } else if (span_is(key, "lines")) {
            lines = value;
        } else if (span_is(key, "source")) {
            source = value;
        }
    }
    if (!has_image || !has_offset || (lines.p && *lines.p != '[')) {
        return err_set(b->e, ERR_FORMAT, "location %zu is malformed", index);
    }
    location->image = (int32_t)image;
    if (!start.p || !span_u64(start, &location->start)) {
        location->start = location->offset;
    }
    location->source = source_of(source);
    return build_lines(b, lines, strings, location, index);
}

enum st build_locations(struct build *b, const json_t *root) {
    struct dump *d = b->d;
    struct span array = {b->locations, b->locations_end}, value;
    struct strings strings;
    if (!b->locations) {
        return json_object_get(root, "locations")
                   ? err_set(b->e, ERR_FORMAT, "\"locations\" is not an array")
                   : ST_OK;
    }
    if (build_strings(b, root, &strings) != ST_OK) {
        return ST_ERR;
    }
    VEC(struct dump_location) found = {0};
    enum st st = ST_OK;
    while (st == ST_OK && span_next(&array, NULL, &value)) {
        struct dump_location location = {0};
        st = build_location(b, value, &strings, &location, found.len);
        if (st == ST_OK && !VEC_PUSH(&found, location)) {
            st = err_nomem(b->e);
        }
    }
    d->locations = st == ST_OK ? build_array(b, found.len, sizeof *d->locations) : NULL;
    if (d->locations && found.len) {
        memcpy(d->locations, found.data, found.len * sizeof *d->locations);
        d->location_count = found.len;
    }
    st = st == ST_OK && !d->locations ? ST_ERR : st;
    VEC_RELEASE(&found);
    return st;
}

/* ---- the stacks' indexes ---- */

enum st build_stack_locations(struct build *b, const json_t *object, struct dump_stack *stack,
                              const char *what, size_t index) {
    const json_t *array = json_object_get(object, "locations");
    if (!array) {
        return ST_OK;
    }
    if (!json_is_array(array) || json_array_size(array) != stack->frame_count) {
        return err_set(b->e, ERR_FORMAT, "%s %zu: \"locations\" does not match its frames", what,
                       index);
    }
    uint32_t *indexes = build_array(b, stack->frame_count, sizeof *indexes);
    if (!indexes) {
        return ST_ERR;
    }
    for (size_t i = 0; i < stack->frame_count; i++) {
        int64_t v;
        if (!build_index(json_array_get(array, i), (int64_t)b->d->location_count - 1, &v) ||
            v < 0) {
            return err_set(b->e, ERR_FORMAT, "%s %zu: there is no location for frame %zu", what,
                           index, i);
        }
        indexes[i] = (uint32_t)v;
    }
    stack->locations = indexes;
    return ST_OK;
}
