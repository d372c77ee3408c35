/* A JSON text as one array of its values, in the order of the text. The array holds the same as a
 * tree, without a pointer, a copy or an allocation for each value. Of two members with one name the
 * last one counts.
 *
 *     {"a":[1,{}],"b":""}   kind    object string array integer object string string
 *                           extent     7      1     3      1       1      1      1  */
#ifndef STALLKIT_DUMP_TAPE_H
#define STALLKIT_DUMP_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "dump/json/value_kind.h"

/* A value of the document. A member of an object is two values: its name, a string, and its
 * value. */
struct tape_value {
    /* offset of the value's first byte in the text; for a string, of the byte after its opening
     * quote */
    uint32_t at;
    uint32_t kind : 8;
    /* number of values in this one, itself included; the next value is that many elements later */
    uint32_t extent : 24;
    union {
        int64_t integer;
        uint32_t len;   /* length of a string, in bytes of the text */
        uint32_t count; /* number of elements or members */
    };
};

/* Reads the value of one member of a root that is an object in place of the tape, which then has it
 * as an array without elements. */
struct tape_reader {
    const char *name; /* name of the member, in ASCII, without escapes in the text */
    /* Reads the object or array whose bracket is at p, within the limit on nesting. The byte before
     * `end` is a bracket. Returns the value's end and adds the number of the values in it to
     * *values. NULL: the tape has to read it. */
    const char *(*read)(void *ctx, const char *p, const char *end, uint32_t *values);
    void *ctx;
};

/* A document's values and the text that they point into. Zero-initialised = empty. */
struct tape {
    const char *text; /* borrowed */
    VEC(struct tape_value) values;
    uint64_t replaced; /* numbers, escapes and bytes that were repaired */
    bool spaced;       /* white space stands between tokens, not only around the whole */
    /* deepest nesting that is accepted, set before a text is read; 0 = DUMP_DEPTH_MAX, the largest
     * allowed */
    unsigned depth_max;
    const struct tape_reader *reader; /* borrowed; set before a text is read; NULL = none */
};

/* Reads a text that is one object or array, which becomes values.data[0]; len is at most
 * UINT32_MAX. t is zeroed, or was read before, and then its memory is used again. ST_NONE: the text
 * is a number, string or word by itself. ST_ERR: ERR_FORMAT if it is not JSON, ERR_TRUNCATED if it
 * ends too early, ERR_LIMIT if it is nested too deep or has too many values, ERR_NOMEM. t is empty
 * on anything but ST_OK. Thread safe. */
enum st tape_read(struct tape *t, const char *text, size_t len, struct err *e) BASE_MUST_USE;
void tape_release(struct tape *t);

/* Are the names in each object distinct? False also means "not known": an object has more than 64
 * members, whose comparison would be slow, or a name has an escape. */
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

/* Returns an element of an array; NULL: the value is no array, or too short. */
const struct tape_value *tape_element(const struct tape_value *array, size_t index);

/* A member's name, in ASCII. Its length is stored because names are compared by length first, and
 * most differ in it. */
struct tape_name {
    const char *text;
    size_t len;
};
#define TAPE_NAME(literal)                                                                         \
    { (literal), sizeof(literal) - 1 }

/* Finds a member's name in a table and returns the number of its row, or `count` if the table does
 * not have the name. Each row has row_size bytes and begins with a struct tape_name; the search
 * begins with the row `likely`. */
size_t tape_which(const struct tape *t, const struct tape_value *key, const void *rows,
                  size_t count, size_t row_size, size_t likely);
/* Finds the values of these members of an object; values[i] is NULL for an absent one. NULL, and
 * any value but an object, has no members. Fastest if the names come in the order of the text. */
void tape_members(const struct tape *t, const struct tape_value *object,
                  const struct tape_name *names, size_t count, const struct tape_value **values);
/* Returns one member's value; NULL: it is absent. */
const struct tape_value *tape_member(const struct tape *t, const struct tape_value *object,
                                     const char *name);

/* Copies a string's decoded text into the arena, NUL-terminated; NULL: out of memory. */
char *tape_string(const struct tape *t, const struct tape_value *string, struct arena *arena,
                  size_t *len);

#endif
