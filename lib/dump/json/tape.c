/* Checks a text and takes it apart in one pass. */
#include "dump/json/tape_private.h"

#include <string.h>

#include "dump/json/scan_private.h"
#include "dump/json/span_private.h"

_Static_assert(2 * SCAN_VALUES_MAX < 1 << 24, "with a name each, values fit an extent");
_Static_assert(DUMP_TEXT_MAX <= UINT32_MAX, "every byte of a text has a place");

/* ---- reading ---- */

/* The containers around the value that comes next, outermost first. */
struct tape_open {
    uint32_t index[DUMP_DEPTH_MAX];
    size_t depth;
};

static inline struct tape_value *tape_push(struct tape *t, const struct token *token) {
    if (t->values.len == t->values.cap && !VEC_RESERVE(&t->values, 1)) {
        return NULL;
    }
    struct tape_value *v = &t->values.data[t->values.len++];
    v->at = (uint32_t)(token->text - t->text);
    v->kind = (uint32_t)token->kind & 0xff;
    v->extent = 1;
    if (token->kind == VALUE_INTEGER) {
        v->integer = token->integer;
    } else {
        v->len = token->len;
    }
    return v;
}

/* Adds a value, which may be a container that begins. */
static inline bool tape_add(struct tape *t, struct tape_open *open, const struct token *token,
                            bool container) {
    if (open->depth > 0) {
        t->values.data[open->index[open->depth - 1]].count++;
    }
    struct tape_value *v = tape_push(t, token);
    if (v && container) {
        v->count = 0;
        open->index[open->depth++] = (uint32_t)(t->values.len - 1);
    }
    return v != NULL;
}

static inline void tape_close(struct tape *t, struct tape_open *open) {
    uint32_t index = open->index[--open->depth];
    t->values.data[index].extent = (uint32_t)(t->values.len - index) & 0xffffff;
}

static enum st tape_take(struct tape *t, const char *text, size_t len, struct err *e) {
    struct scan scan = {0};
    struct tape_open open;
    struct token token = {0};
    const char *at = text;
    enum scan_event event;
    bool room = true;
    open.depth = 0;
    while (room && (event = scan_next(&scan, &at, text + len, &token)) > SCAN_MANY) {
        if (event == SCAN_CLOSE) {
            tape_close(t, &open);
        } else if (event == SCAN_KEY) {
            room = tape_push(t, &token) != NULL;
        } else {
            room = tape_add(t, &open, &token, event == SCAN_OPEN);
        }
    }
    t->replaced = token.repairs;
    return room ? scan_end(event, at, text, len, e) : err_nomem(e);
}

enum st tape_read(struct tape *t, const char *text, size_t len, struct err *e) {
    enum { BYTES_A_VALUE = 6 }; /* for dumps with symbols; those without have longer numbers */
    *t = (struct tape){.text = text};
    enum st st = scan_begin(text, len, e);
    if (st != ST_OK) {
        return st;
    }
    if (!VEC_RESERVE(&t->values, len / BYTES_A_VALUE)) {
        return err_nomem(e);
    }
    st = tape_take(t, text, len, e);
    if (st != ST_OK) {
        tape_release(t);
    }
    return st;
}

void tape_release(struct tape *t) {
    VEC_RELEASE(&t->values);
    *t = (struct tape){0};
}

/* ---- look-ups ---- */

const struct tape_value *tape_element(const struct tape_value *array, size_t index) {
    if (!tape_is(array, VALUE_ARRAY) || index >= array->count) {
        return NULL;
    }
    const struct tape_value *v = tape_first(array);
    while (index-- > 0) {
        v = tape_next(v);
    }
    return v;
}

static bool is_name(const struct tape *t, const struct tape_value *key,
                    const struct tape_name *name) {
    const char *text = t->text + key->at;
    if (key->kind == VALUE_STRING) {
        return key->len == name->len && memcmp(text, name->text, name->len) == 0;
    }
    return span_is((struct span){text - 1, text + key->len + 1}, name->text);
}

void tape_members(const struct tape *t, const struct tape_value *object,
                  const struct tape_name *names, size_t count, const struct tape_value **values) {
    size_t likely = 0; /* the name behind the last one that was found */
    for (size_t i = 0; i < count; i++) {
        values[i] = NULL;
    }
    if (!tape_is(object, VALUE_OBJECT)) {
        return;
    }
    const struct tape_value *end = tape_end(object);
    for (const struct tape_value *key = tape_first(object); key < end; key = tape_next(key + 1)) {
        size_t tried = 0, i = likely;
        while (tried < count && !is_name(t, key, &names[i])) {
            i = i + 1 < count ? i + 1 : 0;
            tried++;
        }
        if (tried < count) {
            values[i] = key + 1;
            likely = i + 1 < count ? i + 1 : 0;
        }
    }
}

const struct tape_value *tape_member(const struct tape *t, const struct tape_value *object,
                                     const char *name) {
    const struct tape_name one = {name, strlen(name)};
    const struct tape_value *value;
    tape_members(t, object, &one, 1, &value);
    return value;
}

/* ---- text ---- */

char *tape_string(const struct tape *t, const struct tape_value *string, struct arena *arena,
                  size_t *len) {
    const char *text = t->text + string->at;
    if (string->kind != VALUE_ESCAPED) {
        *len = string->len;
        return arena_strdup(arena, text, string->len);
    }
    char *copy = arena_array(arena, (size_t)string->len + 1, 3);
    *len = copy ? token_decode(text, string->len, copy) : 0;
    return copy;
}
