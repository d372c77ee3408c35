/* The oracle of the tape, for its tests and its fuzzer: Jansson, behind the pre-pass, reads the
 * same document. */
#ifndef STALLKIT_DUMP_TAPE_SUPPORT_TEST_H
#define STALLKIT_DUMP_TAPE_SUPPORT_TEST_H

#include <jansson.h>
#include <string.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "dump/dump_prepass_private.h"
#include "dump/dump_tape_private.h"

/* Objects with more members than this are not asked for each of them by name. */
enum { ASKED_MEMBERS_MAX = 64 };

static inline const char *value_difference(const struct tape *t, const struct tape_value *v,
                                           const json_t *want);

static inline const char *string_difference(const struct tape *t, const struct tape_value *v,
                                            const json_t *want) {
    struct arena arena = {0};
    size_t len;
    const char *text = tape_string(t, v, &arena, &len);
    bool same = text && len == json_string_length(want) && text[len] == 0 &&
                memcmp(text, json_string_value(want), len) == 0;
    arena_release(&arena);
    return same ? NULL : "a string";
}

static inline const char *array_difference(const struct tape *t, const struct tape_value *v,
                                           const json_t *want) {
    const struct tape_value *element = tape_first(v);
    const char *difference = v->count == json_array_size(want) ? NULL : "an array's length";
    for (size_t i = 0; !difference && i < v->count; i++, element = tape_next(element)) {
        difference = i < ASKED_MEMBERS_MAX && tape_element(v, i) != element
                         ? "an element by its number"
                         : value_difference(t, element, json_array_get(want, i));
    }
    return difference ? difference : element == tape_end(v) ? NULL : "an array's end";
}

static inline bool is_ascii(const char *s) {
    while (*s > 0) {
        s++;
    }
    return *s == 0;
}

/* Of a name that is there twice the last value counts. */
static inline const char *object_difference(const struct tape *t, const struct tape_value *v,
                                            const json_t *want) {
    struct map last = {0};
    size_t count = 0;
    const struct tape_value *key = tape_first(v);
    for (; key < tape_end(v); key = tape_next(key + 1), count++) {
        size_t len;
        const char *name = tape_string(t, key, &last.arena, &len);
        struct map_entry *entry = name ? map_put(&last, name, len, 0, NULL) : NULL;
        if (!entry) {
            map_release(&last);
            return "memory";
        }
        entry->value = (size_t)(key + 1 - v);
    }
    const char *difference = key != tape_end(v)                     ? "an object's end"
                             : count != v->count                    ? "an object's count"
                             : last.count != json_object_size(want) ? "an object's size"
                                                                    : NULL;
    for (size_t i = 0; !difference && i < last.count; i++) {
        const char *name = last.entries[i].key;
        const struct tape_value *value = v + last.entries[i].value;
        difference =
            count <= ASKED_MEMBERS_MAX && is_ascii(name) && tape_member(t, v, name) != value
                ? "a member by its name"
                : value_difference(t, value, json_object_get(want, name));
    }
    map_release(&last);
    return difference;
}

static inline const char *value_difference(const struct tape *t, const struct tape_value *v,
                                           const json_t *want) {
    static const enum tape_kind kinds[] = {
        [JSON_OBJECT] = TAPE_OBJECT,   [JSON_ARRAY] = TAPE_ARRAY, [JSON_STRING] = TAPE_STRING,
        [JSON_INTEGER] = TAPE_INTEGER, [JSON_REAL] = TAPE_REAL,   [JSON_TRUE] = TAPE_TRUE,
        [JSON_FALSE] = TAPE_FALSE,     [JSON_NULL] = TAPE_NULL,
    };
    enum tape_kind kind = tape_is_string(v) ? TAPE_STRING : (enum tape_kind)v->kind;
    if (!want || kind != kinds[json_typeof(want)]) {
        return "a kind";
    }
    switch (json_typeof(want)) {
    case JSON_OBJECT:
        return object_difference(t, v, want);
    case JSON_ARRAY:
        return array_difference(t, v, want);
    case JSON_STRING:
        return string_difference(t, v, want);
    case JSON_INTEGER:
        return v->integer == json_integer_value(want) ? NULL : "an integer";
    default:
        return NULL;
    }
}

/* Reads a text in both ways: NULL if they agree, else in what they do not. *taken: it is an object.
 */
static inline const char *tape_difference(const char *text, size_t len, bool *taken) {
    struct tape t;
    struct strbuf repaired = {0};
    uint64_t count;
    unsigned deepest;
    enum st got = tape_read(&t, text, len, NULL);
    enum st st = prepass(text, len, &repaired, &count, &deepest, NULL);
    json_t *root = st != ST_OK    ? NULL
                   : repaired.len ? json_loadb(repaired.data, repaired.len, 0, NULL)
                                  : json_loadb(text, len, 0, NULL);
    *taken = got == ST_OK;
    const char *difference = NULL;
    if (got == ST_ERR || (st == ST_OK && !root)) {
        difference = "memory";
    } else if (*taken != json_is_object(root)) {
        difference = *taken ? "taken, and is no object" : "an object, and not taken";
    } else if (*taken && t.replaced != count) {
        difference = "the number of repairs";
    } else if (*taken) {
        difference = value_difference(&t, t.values.data, root);
    }
    json_decref(root);
    strbuf_release(&repaired);
    tape_release(&t);
    return difference;
}

#endif
