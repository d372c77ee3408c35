/* Reads the members that an earlier run of stallsym added to a dump: the string table, the
 * locations, and each stack's indexes into them. Every index is checked here, so that later code
 * need not. */
#include "dump/dump_locations_private.h"

#include <string.h>

/* The dump's string table, as NUL-terminated texts. */
struct strings {
    const char **texts;
    size_t count;
};

/* Copies the JSON text of the whole table at once; the byte after each string is overwritten by its
 * NUL. A string with escapes is decoded into a text of its own. */
static enum st copy_strings(struct dump_build *b, const struct tape_value *array,
                            const struct tape_value *last, struct strings *strings) {
    const char *from = b->tape.text + array->at;
    size_t size = last->at - array->at + last->len + 1;
    char *copy = build_array(b, size, 1);
    if (!copy) {
        return ST_ERR;
    }
    memcpy(copy, from, size);
    const struct tape_value *value = tape_first(array);
    for (size_t i = 0; i < strings->count; i++, value = tape_next(value)) {
        if (tape_is(value, VALUE_ESCAPED)) {
            strings->texts[i] = build_string(b, value);
        } else {
            strings->texts[i] = copy + (value->at - array->at);
            copy[value->at - array->at + value->len] = '\0';
        }
        if (!strings->texts[i]) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st build_strings(struct dump_build *b, const struct tape_value *array,
                             struct strings *strings) {
    /* If "strings" is not an array, the table is empty, so that every index into it is refused. */
    strings->count = tape_is(array, VALUE_ARRAY) ? array->count : 0;
    strings->texts = build_array(b, strings->count, sizeof *strings->texts);
    if (!strings->texts) {
        return ST_ERR;
    }
    const struct tape_value *value = tape_first(array), *last = value;
    for (size_t i = 0; i < strings->count; i++, value = tape_next(value)) {
        if (!tape_is_string(value)) {
            return err_set(b->e, ERR_FORMAT, "\"strings\"[%zu] is not a string", i);
        }
        last = value;
    }
    return strings->count > 0 ? copy_strings(b, array, last, strings) : ST_OK;
}

static enum st location_malformed(struct dump_build *b, size_t index) {
    return err_set(b->e, ERR_FORMAT, "location %zu is malformed", index);
}

static enum st line_malformed(struct dump_build *b, size_t index, size_t line) {
    return err_set(b->e, ERR_FORMAT, "location %zu: line %zu is malformed", index, line);
}

enum { LINE_NAMES = WRITTEN_NAMES, LINE_MEMBERS = 5 };

/* Reads [function, linkage, file, line, column]; further elements, which a later version may
 * append, are ignored. False: an element is missing, of the wrong type or past 32 bits, or an index
 * is outside of the string table. */
static bool build_line(struct dump_build *b, const struct tape_value *array,
                       const struct strings *strings, struct dump_line *line) {
    const char **texts[LINE_NAMES] = {&line->function, &line->linkage, &line->file};
    uint32_t *numbers[LINE_MEMBERS - LINE_NAMES] = {&line->line, &line->column};
    if (!tape_is(array, VALUE_ARRAY) || array->count < LINE_MEMBERS) {
        return false;
    }
    const struct tape_value *value = tape_first(array);
    for (size_t i = 0; i < LINE_NAMES; i++, value = tape_next(value)) {
        int64_t index;
        if (!build_index(value, (int64_t)strings->count - 1, &index)) {
            return false;
        }
        *texts[i] = index < 0 ? NULL : strings->texts[index];
    }
    for (size_t i = 0; i < LINE_MEMBERS - LINE_NAMES; i++, value = tape_next(value)) {
        uint64_t v;
        if (!build_u64(b, value, &v) || v > UINT32_MAX) {
            return false;
        }
        *numbers[i] = (uint32_t)v;
    }
    return true;
}

static enum st build_lines(struct dump_build *b, const struct tape_value *lines,
                           const struct strings *strings, struct dump_location *location,
                           size_t index) {
    location->line_count = lines ? lines->count : 0;
    location->lines = build_array(b, location->line_count, sizeof *location->lines);
    if (!location->lines) {
        return ST_ERR;
    }
    const struct tape_value *line = tape_first(lines);
    for (size_t i = 0; i < location->line_count; i++, line = tape_next(line)) {
        if (!build_line(b, line, strings, &location->lines[i])) {
            return line_malformed(b, index, i);
        }
    }
    return ST_OK;
}

/* The "source" of the last location that was read, kept because most locations have the same. */
struct last_source {
    const char *text; /* NULL = none */
    size_t len;
    enum dump_source source;
};

static enum dump_source source_of(struct dump_build *b, const struct tape_value *value,
                                  struct last_source *last) {
    const char *text;
    size_t len;
    if (!build_text(b, value, &text, &len)) {
        return DUMP_SOURCE_NONE;
    }
    if (!last->text || len != last->len || memcmp(text, last->text, len) != 0) {
        *last = (struct last_source){text, len, DUMP_SOURCE_NONE};
        (void)dump_source_parse(text, len, &last->source);
    }
    return last->source;
}

static enum st build_location(struct dump_build *b, const struct tape_value *object,
                              const struct strings *strings, struct last_source *last,
                              struct dump_location *location, size_t index) {
    enum { IMAGE, OFFSET, START, LINES, SOURCE, IN_APP, MEMBERS };
    static const struct tape_name names[MEMBERS] = {
        [IMAGE] = TAPE_NAME("image"),   [OFFSET] = TAPE_NAME("offset"),
        [START] = TAPE_NAME("start"),   [LINES] = TAPE_NAME("lines"),
        [SOURCE] = TAPE_NAME("source"), [IN_APP] = TAPE_NAME("in_app"),
    };
    const struct tape_value *m[MEMBERS];
    int64_t image;
    tape_members(&b->tape, object, names, MEMBERS, m);
    if (!build_index(m[IMAGE], (int64_t)b->d->image_count - 1, &image) ||
        !build_u64(b, m[OFFSET], &location->offset) ||
        (m[LINES] && !tape_is(m[LINES], VALUE_ARRAY))) {
        return location_malformed(b, index);
    }
    location->image = (int32_t)image;
    if (!build_u64(b, m[START], &location->start)) {
        location->start = location->offset;
    }
    location->source = source_of(b, m[SOURCE], last);
    location->in_app = image < 0 && tape_is(m[IN_APP], VALUE_TRUE);
    return build_lines(b, m[LINES], strings, location, index);
}

/* Sets a line from the record of it. False: an index is outside of the string
 * table. */
static bool build_written_line(const struct written_line *from, const struct strings *strings,
                               struct dump_line *line) {
    const char **texts[WRITTEN_NAMES] = {&line->function, &line->linkage, &line->file};
    for (size_t i = 0; i < WRITTEN_NAMES; i++) {
        if (from->names[i] >= 0 && (size_t)from->names[i] >= strings->count) {
            return false;
        }
        *texts[i] = from->names[i] < 0 ? NULL : strings->texts[from->names[i]];
    }
    line->line = from->line;
    line->column = from->column;
    return true;
}

/* Builds the locations from what written_read has read. */
static enum st build_written(struct dump_build *b, const struct strings *strings) {
    struct dump *d = b->d;
    const struct written_locations *w = b->written;
    d->locations = build_array(b, w->locations.len, sizeof *d->locations);
    struct dump_line *lines = build_array(b, w->lines.len, sizeof *lines);
    if (!d->locations || !lines) {
        return ST_ERR;
    }
    d->location_count = w->locations.len;
    const struct written_line *from = w->lines.data;
    for (size_t i = 0; i < w->locations.len; i++) {
        const struct written_location *l = &w->locations.data[i];
        if (l->image >= 0 && (size_t)l->image >= d->image_count) {
            return location_malformed(b, i);
        }
        d->locations[i] = (struct dump_location){.image = l->image,
                                                 .offset = l->offset,
                                                 .start = l->start,
                                                 .lines = lines,
                                                 .line_count = l->line_count,
                                                 .source = l->source,
                                                 .in_app = l->image < 0 && l->in_app};
        for (size_t n = 0; n < l->line_count; n++) {
            if (!build_written_line(from++, strings, lines++)) {
                return line_malformed(b, i, n);
            }
        }
    }
    return ST_OK;
}

enum st build_locations(struct dump_build *b, const struct tape_value *strings_value,
                        const struct tape_value *locations) {
    struct dump *d = b->d;
    struct strings strings;
    struct last_source last = {0};
    if (!locations) {
        return ST_OK;
    }
    if (!tape_is(locations, VALUE_ARRAY)) {
        return err_set(b->e, ERR_FORMAT, "\"locations\" is not an array");
    }
    if (build_strings(b, strings_value, &strings) != ST_OK) {
        return ST_ERR;
    }
    if (b->written->text == b->tape.text + locations->at) {
        return build_written(b, &strings);
    }
    d->locations = build_array(b, locations->count, sizeof *d->locations);
    if (!d->locations) {
        return ST_ERR;
    }
    d->location_count = locations->count;
    const struct tape_value *object = tape_first(locations);
    for (size_t i = 0; i < d->location_count; i++, object = tape_next(object)) {
        if (build_location(b, object, &strings, &last, &d->locations[i], i) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- the stacks' indexes into the locations ---- */

enum st build_stack_locations(struct dump_build *b, const struct tape_value *locations,
                              struct dump_stack *stack, const char *what, size_t index) {
    if (!locations) {
        return ST_OK;
    }
    if (!tape_is(locations, VALUE_ARRAY) || locations->count != stack->frame_count) {
        return err_set(b->e, ERR_FORMAT, "%s %zu: \"locations\" does not match its frames", what,
                       index);
    }
    uint32_t *indexes = build_array(b, stack->frame_count, sizeof *indexes);
    if (!indexes) {
        return ST_ERR;
    }
    const struct tape_value *element = tape_first(locations);
    for (size_t i = 0; i < stack->frame_count; i++, element = tape_next(element)) {
        int64_t v;
        if (!build_index(element, (int64_t)b->d->location_count - 1, &v) || v < 0) {
            return err_set(b->e, ERR_FORMAT, "%s %zu: there is no location for frame %zu", what,
                           index, i);
        }
        indexes[i] = (uint32_t)v;
    }
    stack->locations = indexes;
    return ST_OK;
}
