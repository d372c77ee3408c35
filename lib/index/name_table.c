/* Interning of strings, paths and names. */
#include "index/name_table.h"

#include <string.h>

#include "base/hash.h"
#include "index/leb128.h"

enum { NAME_BYTES_MAX = 4 * 5 }; /* 33 bits of the linkage name take 5, too */

void names_begin(struct name_table *t, size_t expected) {
    number_map_expect(&t->pointer_at, expected);
    number_map_expect(&t->name_at.at, expected);
    strbuf_addc(&t->strings, 0);
    strbuf_addc(&t->names, 0); /* a name's offset is not 0 */
}

static void four_map_release(struct four_map *m) {
    number_map_release(&m->at);
    VEC_RELEASE(&m->all);
}

void names_release(struct name_table *t) {
    strbuf_release(&t->names);
    strbuf_release(&t->strings);
    VEC_RELEASE(&t->files);
    map_release(&t->string_at);
    number_map_release(&t->pointer_at);
    number_map_release(&t->file_at);
    number_map_release(&t->unit_paths);
    four_map_release(&t->name_at);
    four_map_release(&t->unit_names);
    *t = (struct name_table){0};
}

enum st names_check(const struct name_table *t, struct err *e) {
    if (t->failed || t->names.failed || t->strings.failed) {
        return err_nomem(e);
    }
    if (t->names.len > UINT32_MAX || t->strings.len > UINT32_MAX) {
        return err_set(e, ERR_UNSUPPORTED, "too large for a symbol index");
    }
    return ST_OK;
}

void names_begin_unit(struct name_table *t) {
    number_map_clear(&t->unit_paths);
    number_map_clear(&t->unit_names.at);
    t->unit_names.all.len = 0;
}

/* ---- strings and paths ---- */

uint32_t names_string(struct name_table *t, const char *s) {
    bool added;
    if (!s || !*s) {
        return 0;
    }
    size_t len = strlen(s);
    struct map_entry *entry = map_put(&t->string_at, s, len, t->strings.len, &added);
    if (!entry) {
        t->failed = true;
        return 0;
    }
    if (added) {
        strbuf_add(&t->strings, s, len + 1);
    }
    return (uint32_t)entry->value;
}

/* A string that stays where it is. */
static uint32_t pinned_string(struct name_table *t, const char *s) {
    size_t at;
    bool added;
    if (!s || number_map_get(&t->pointer_at, (uintptr_t)s, &at)) {
        return s ? (uint32_t)at : 0;
    }
    at = names_string(t, s);
    if (!number_map_put(&t->pointer_at, (uintptr_t)s, at, &at, &added)) {
        t->failed = true;
    }
    return (uint32_t)at;
}

uint32_t names_file(struct name_table *t, const char *path) {
    size_t number, string = names_string(t, path);
    bool added;
    if (!number_map_put(&t->file_at, string, t->files.len, &number, &added) ||
        (added && !VEC_PUSH(&t->files, (uint32_t)string))) {
        t->failed = true;
        return 0;
    }
    return (uint32_t)number;
}

static uint32_t unit_path(struct name_table *t, const char *path) {
    size_t number;
    bool added;
    if (number_map_get(&t->unit_paths, (uintptr_t)path, &number)) {
        return (uint32_t)number;
    }
    number = names_file(t, path);
    if (!number_map_put(&t->unit_paths, (uintptr_t)path, number, &number, &added)) {
        t->failed = true;
    }
    return (uint32_t)number;
}

/* ---- names ---- */

/* *out: the value of the key, 0 as long as it has none. Of two keys with equal hashes the second
 * one never has any: then *out is `unkept`. False: no memory. */
static bool four_find(struct four_map *m, const uint64_t key[4], uint32_t *unkept, uint32_t **out) {
    uint64_t hash = 0;
    size_t i;
    bool added;
    for (size_t k = 0; k < 4; k++) {
        hash = hash_u64(hash ^ key[k]);
    }
    if (!VEC_RESERVE(&m->all, 1) || !number_map_put(&m->at, hash >> 1, m->all.len, &i, &added)) {
        return false;
    }
    if (added) {
        m->all.data[m->all.len++] = (struct known_four){{key[0], key[1], key[2], key[3]}, 0};
    }
    struct known_four *known = &m->all.data[i];
    *out = memcmp(known->key, key, sizeof known->key) == 0 ? &known->value : unkept;
    return true;
}

/* function, linkage: strings; file: 0 = none, else 1 + its number. */
static uint32_t name_at(struct name_table *t, uint32_t function, uint32_t linkage, uint64_t file,
                        uint32_t line) {
    uint64_t key[4] = {function, linkage, file, line};
    uint32_t unkept = 0, *known;
    char *begin = strbuf_room(&t->names, NAME_BYTES_MAX), *end = begin;
    if (!begin || !four_find(&t->name_at, key, &unkept, &known)) {
        t->failed = true;
        return 0;
    }
    if (*known == 0) {
        *known = (uint32_t)t->names.len;
        end = leb128_put(end, function);
        end = leb128_put(end, linkage == 0 ? 0 : linkage == function ? 1 : (uint64_t)linkage + 1);
        end = leb128_put(end, file);
        end = leb128_put(end, line);
        strbuf_took(&t->names, (size_t)(end - begin));
    }
    return *known;
}

uint32_t names_symbol(struct name_table *t, const char *name) {
    uint32_t string = pinned_string(t, name);
    return name_at(t, string, string, 0, 0);
}

uint32_t names_function(struct name_table *t, const struct function_names *f) {
    uint64_t key[4] = {(uintptr_t)f->function, (uintptr_t)f->linkage, (uintptr_t)f->file, f->line};
    uint32_t unkept = 0, *known;
    if (!four_find(&t->unit_names, key, &unkept, &known)) {
        t->failed = true;
        return 0;
    }
    if (*known == 0) {
        uint32_t function = pinned_string(t, f->function), linkage = pinned_string(t, f->linkage);
        uint64_t file = f->file ? (uint64_t)unit_path(t, f->file) + 1 : 0;
        *known = name_at(t, function, linkage, file, f->line);
    }
    return *known;
}
