/* The names of a symbol index while it is built: the sections STRS, FILE and NAME, each string,
 * path and name once. A string is hashed once for each place where it lies, and a name once for
 * each unit; whoever comes again is known by his pointers. */
#ifndef STALLKIT_INDEX_NAME_TABLE_H
#define STALLKIT_INDEX_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/number_map.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Four numbers that stand for one. */
struct known_four {
    uint64_t key[4];
    uint32_t value;
};
struct four_map {
    struct number_map at; /* hash of the key -> index */
    VEC(struct known_four) all;
};

/* Zero-initialised, then names_begin. A lack of memory marks it failed. */
struct name_table {
    struct strbuf names, strings;
    VEC(uint32_t) files; /* offsets in strings */
    struct map string_at;
    struct number_map pointer_at; /* a string by its pointer -> offset in strings */
    struct number_map file_at;    /* offset of a path in strings -> its number */
    struct four_map name_at;      /* struct name_key -> offset in names */
    /* Of one unit: pointers of names and path -> offset in names; of a path -> its number. */
    struct four_map unit_names;
    struct number_map unit_paths;
    bool failed;
};

/* What a function or an inlined call is called. Strings may be NULL. */
struct function_names {
    const char *function, *linkage; /* stay where they are as long as the table */
    const char *file;               /* stays as long as the unit */
    uint32_t line;
};

/* expected: how many names there will be, about. */
void names_begin(struct name_table *t, size_t expected);
void names_release(struct name_table *t);
/* ST_OK or out of memory, or more than 32-bit offsets reach (ERR_UNSUPPORTED). */
enum st names_check(const struct name_table *t, struct err *e) BASE_MUST_USE;

/* Whatever paths were named before may be gone. */
void names_begin_unit(struct name_table *t);
/* Offset in STRS; 0 for NULL and "". */
uint32_t names_string(struct name_table *t, const char *s);
/* The number of a path in FILE. */
uint32_t names_file(struct name_table *t, const char *path);
/* Offsets in NAME. A symbol's name stays where it is as long as the table. */
uint32_t names_function(struct name_table *t, const struct function_names *f);
uint32_t names_symbol(struct name_table *t, const char *name);

#endif
