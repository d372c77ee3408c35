/* Makes the names of a symbol index while it is built: the sections STRS, FILE and NAME, with each
 * string, path and name once (of strings whose hashes collide on purpose, some are there twice). */
#ifndef STALLKIT_INDEX_NAME_TABLE_H
#define STALLKIT_INDEX_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/number_map.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* A hash table of strings in one buffer, known by their offsets in it; none of them may begin with
 * another. Zero-initialised = empty. */
struct interned {
    struct interned_slot *slots;
    size_t count, cap; /* cap: a power of two, or 0 */
};

/* A name in the chain of names with one linkage name. */
struct name_link {
    uint32_t at;     /* offset of the name in name_table.names */
    uint32_t before; /* 1 + the index of the link before this one in the chain; 0 = none */
};

/* The tables of names: zero-initialised, then names_begin. A function that fails returns 0;
 * names_check tells. */
struct name_table {
    struct strbuf names, strings;
    VEC(uint32_t) files; /* offsets in strings */
    VEC(struct name_link) links;
    struct interned string_at,
        name_at;               /* name_at: names whose linkage name is absent or has no slot */
    struct number_map file_at; /* key: offset of a path in strings; value: its number */
    uint64_t room; /* maximum number of bytes of all strings; 0: only the size of an offset limits
                      them */
    uint64_t looked_at; /* bytes of strings that were looked up */
    bool excess; /* the strings, or the look-ups of strings, had more bytes than `room` allows */
    bool failed;
};

/* The names of a function or an inlined call, and its declaration. Strings may be NULL. */
struct function_names {
    const char *function, *linkage;
    const char *file;
    uint32_t *file_known; /* argument `known` of names_file_once; may be NULL if file is */
    uint32_t line;
};

/* Begins the tables; expected: approximate number of names; size: bytes of the file and of the
 * debug info that the names are from, together; 0, or UINT32_MAX and more: no limit. The size
 * limits the bytes of the names: several names may share bytes of the file, so that a small file
 * could otherwise make a huge index. */
void names_begin(struct name_table *t, size_t expected, uint64_t size);
void names_release(struct name_table *t);
/* Returns ST_ERR if a call failed: out of memory, or the names have more bytes than a 32-bit offset
 * or the limit allows (ERR_UNSUPPORTED). */
enum st names_check(const struct name_table *t, struct err *e) BASE_MUST_USE;

/* Returns the offset of a string in STRS; 0 for NULL and "". */
uint32_t names_string(struct name_table *t, const char *s);
/* Returns the number of a path in FILE, which is added if it is new. */
uint32_t names_file(struct name_table *t, const char *path);
/* Returns the number of a path in FILE; *known, 0 before the first call, caches 1 + the number. */
static inline uint32_t names_file_once(struct name_table *t, const char *path, uint32_t *known) {
    if (*known == 0) {
        *known = names_file(t, path) + 1;
    }
    return *known - 1;
}
/* Return the number of a name's row in NAME, which is added if it is new. */
uint32_t names_function(struct name_table *t, const struct function_names *f);
uint32_t names_symbol(struct name_table *t, const char *name);

#endif
