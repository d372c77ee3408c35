/* The names of a symbol index while it is built: the sections STRS, FILE and NAME, each string,
 * path and name once (of those that are made to collide some twice). */
#ifndef STALLKIT_INDEX_NAME_TABLE_H
#define STALLKIT_INDEX_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/number_map.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Strings in one buffer, identified by their offsets in it; none of them may begin with another.
 * Zero-initialised = empty. */
struct interned {
    struct interned_slot *slots;
    size_t count, cap; /* cap: a power of two, or 0 */
};

/* One of the names that have a linkage name. */
struct name_link {
    uint32_t at; /* its offset in names */
    uint32_t
        before; /* 1 + the index of the link of the one before with this linkage name; 0: none */
};

/* Zero-initialised, then names_begin. Running out of memory marks it failed. */
struct name_table {
    struct strbuf names, strings;
    VEC(uint32_t) files; /* offsets in strings */
    VEC(struct name_link) links;
    struct interned string_at, name_at; /* name_at: of names without a linkage name */
    struct number_map file_at;          /* offset of a path in strings -> its number */
    bool failed;
};

/* What a function or an inlined call is called. Strings may be NULL. */
struct function_names {
    const char *function, *linkage;
    const char *file;
    uint32_t *file_known; /* as names_file_once; may be NULL if file is */
    uint32_t line;
};

/* expected: how many names there will be, about. */
void names_begin(struct name_table *t, size_t expected);
void names_release(struct name_table *t);
/* ST_OK or out of memory, or more than 32-bit offsets reach (ERR_UNSUPPORTED). */
enum st names_check(const struct name_table *t, struct err *e) BASE_MUST_USE;

/* Offset in STRS; 0 for NULL and "". */
uint32_t names_string(struct name_table *t, const char *s);
/* The number of a path in FILE. */
uint32_t names_file(struct name_table *t, const char *path);
/* The same; *known is 0 the first time, and caches the offset then. */
static inline uint32_t names_file_once(struct name_table *t, const char *path, uint32_t *known) {
    if (*known == 0) {
        *known = names_file(t, path) + 1;
    }
    return *known - 1;
}
/* Offsets in NAME. */
uint32_t names_function(struct name_table *t, const struct function_names *f);
uint32_t names_symbol(struct name_table *t, const char *name);

#endif
