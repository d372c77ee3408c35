/* A JSON text as one array of its values, in the order of the text: what a tree of them would hold,
 * without a pointer, a copy or an allocation for each. Of two members with one name the last one
 * counts.
 *
 *     {"a":[1,{}],"b":""}   kind    object string array integer object string string
 *                           extent     7      1     3      1       1      1      1       */
#ifndef STALLKIT_DUMP_TAPE_H
#define STALLKIT_DUMP_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "dump/json/value_kind.h"

/* In an object a member is two values: its name, a string, and what it holds. */
struct tape_value {
    uint32_t at; /* its first byte in the text: of a string the one behind its quote */
    uint32_t kind : 8;
    uint32_t extent : 24; /* this value and all inside it, in values: where the next one is */
    union {
        int64_t integer;
        uint32_t len;   /* of a string, in bytes of the text */
        uint32_t count; /* of elements or members */
    };
};

/* Zero-initialised = empty. */
struct tape {
    const char *text; /* borrowed */
    VEC(struct tape_value) values;
    uint64_t replaced;  /* numbers, escapes and bytes that were repaired */
    unsigned depth_max; /* of nesting, set before a text is read; 0 = DUMP_DEPTH_MAX, the most */
};

/* Reads a text that is one object or array; its value is values.data[0]. ST_NONE: it is a number,
 * string or word by itself. ST_ERR: ERR_FORMAT not JSON, ERR_TRUNCATED ends too early, ERR_LIMIT
 * nested too deep or too many values, ERR_NOMEM. t is zeroed, or was read before: then its memory
 * is used again. It holds nothing on anything but ST_OK. Thread safe. */
enum st tape_read(struct tape *t, const char *text, size_t len, struct err *e) BASE_MUST_USE;
void tape_release(struct tape *t);

/* Are in no object two names alike? False, too, where that is not clear at once: an object has very
 * many members, or a name has an escape. */
bool tape_names_differ(const struct tape *t);

static inline bool tape_is(const struct tape_value *v, enum value_kind kind) {
    return v && v->kind == (uint32_t)kind;
}

static inline bool tape_is_string(const struct tape_value *v) {
    return v && v->kind >= VALUE_STRING && v->kind <= VALUE_ESCAPED;
}

/* A walk over an array's elements, or an object's names and values in turn:
 *     for (v = tape_first(x); v < tape_end(x); v = tape_next(v))
 * Any other value, and NULL, is empty. */
static inline const struct tape_value *tape_first(const struct tape_value *container) {
    return container ? container + 1 : NULL;
}
static inline const struct tape_value *tape_end(const struct tape_value *container) {
    return container ? container + container->extent : NULL;
}
static inline const struct tape_value *tape_next(const struct tape_value *v) {
    return v + v->extent;
}

/* An element of an array; NULL: it is no array, or too short. */
const struct tape_value *tape_element(const struct tape_value *array, size_t index);

/* A member's name: ASCII, and its length, which tells most names apart. */
struct tape_name {
    const char *text;
    size_t len;
};
#define TAPE_NAME(literal)                                                                         \
    { (literal), sizeof(literal) - 1 }

/* Which of these names a member has: a row's number, `count` if it is none. Each row begins with a
 * struct tape_name and has row_size bytes; the search begins with the row `likely`. */
size_t tape_which(const struct tape *t, const struct tape_value *key, const void *rows,
                  size_t count, size_t row_size, size_t likely);
/* The values of these members of an object, NULL for one that is absent; all are absent from any
 * other value and NULL. Fastest if the names come in the order of the text. */
void tape_members(const struct tape *t, const struct tape_value *object,
                  const struct tape_name *names, size_t count, const struct tape_value **values);
/* One member's value, or NULL. */
const struct tape_value *tape_member(const struct tape *t, const struct tape_value *object,
                                     const char *name);

/* A string's text, NUL-terminated, in the arena; NULL when memory runs out. */
char *tape_string(const struct tape *t, const struct tape_value *string, struct arena *arena,
                  size_t *len);

#endif
