/* Reading back what an earlier stallsym added: the string table, the locations, and the indexes of
 * every stack. Each index is checked here, so that nobody has to later. */
#include "dump/dump_private.h"

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

/* [function, linkage, file, line, column]; members that a later version may append are ignored. */
static bool build_line(const json_t *array, const struct strings *strings, struct dump_line *line) {
    const char **texts[] = {&line->function, &line->linkage, &line->file};
    uint32_t *numbers[] = {&line->line, &line->column};
    if (json_array_size(array) < 5) {
        return false;
    }
    for (size_t i = 0; i < 3; i++) {
        int64_t index;
        if (!build_index(json_array_get(array, i), (int64_t)strings->count - 1, &index)) {
            return false;
        }
        *texts[i] = index < 0 ? NULL : strings->texts[index];
    }
    for (size_t i = 0; i < 2; i++) {
        uint64_t v;
        if (!build_u64(json_array_get(array, 3 + i), &v) || v > UINT32_MAX) {
            return false;
        }
        *numbers[i] = (uint32_t)v;
    }
    return true;
}

static enum st build_location(struct build *b, const json_t *object, const struct strings *strings,
                              struct dump_location *location, size_t index) {
    const json_t *lines = json_object_get(object, "lines");
    const json_t *start = json_object_get(object, "start");
    const json_t *source = json_object_get(object, "source");
    int64_t image;
    if (!build_index(json_object_get(object, "image"), (int64_t)b->d->image_count - 1, &image) ||
        !build_u64(json_object_get(object, "offset"), &location->offset) ||
        (lines && !json_is_array(lines))) {
        return err_set(b->e, ERR_FORMAT, "location %zu is malformed", index);
    }
    location->image = (int32_t)image;
    if (!build_u64(start, &location->start)) {
        location->start = location->offset;
    }
    if (json_is_string(source)) {
        (void)dump_source_parse(json_string_value(source), json_string_length(source),
                                &location->source);
    }
    location->line_count = json_array_size(lines);
    location->lines = build_array(b, location->line_count, sizeof *location->lines);
    if (!location->lines) {
        return ST_ERR;
    }
    for (size_t i = 0; i < location->line_count; i++) {
        if (!build_line(json_array_get(lines, i), strings, &location->lines[i])) {
            return err_set(b->e, ERR_FORMAT, "location %zu: line %zu is malformed", index, i);
        }
    }
    return ST_OK;
}

enum st build_locations(struct build *b, const json_t *root) {
    struct dump *d = b->d;
    const json_t *array = json_object_get(root, "locations");
    struct strings strings;
    if (!array) {
        return ST_OK;
    }
    if (!json_is_array(array)) {
        return err_set(b->e, ERR_FORMAT, "\"locations\" is not an array");
    }
    if (build_strings(b, root, &strings) != ST_OK) {
        return ST_ERR;
    }
    d->location_count = json_array_size(array);
    d->locations = build_array(b, d->location_count, sizeof *d->locations);
    if (!d->locations) {
        return ST_ERR;
    }
    for (size_t i = 0; i < d->location_count; i++) {
        if (build_location(b, json_array_get(array, i), &strings, &d->locations[i], i) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

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
