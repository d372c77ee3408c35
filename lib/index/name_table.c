/* Interns strings, paths and names. */
#include "index/name_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"
#include "index/format/format.h"

/* Average number of bytes of a string, paths included; for C++, whose strings are longer, the table
 * has to grow once. */
enum { STRING_BYTES = 48 };

/* Limits on strings: together they may have STRINGS_RATIO times the `size` of names_begin, plus
 * STRINGS_FREE; the strings that are looked up, repeats included, may have LOOKED_AT_RATIO times as
 * many bytes. */
enum { STRINGS_RATIO = 8, STRINGS_FREE = 16 << 20, LOOKED_AT_RATIO = 16 };

/* ---- entries of a buffer ---- */

/* Limit on the slots that a search visits, because a hostile file may make strings collide. At most
 * half of the slots are in use, and few searches among genuine strings visit ten. */
enum { SLOTS_FIRST = 256, PROBES_MAX = 256 };

/* A slot of the hash table. All bits of a free one are set, as in number_map.c, for the same
 * reason. `last`, for a string: 1 + the index of the last link with this linkage name, 0 = none. */
struct interned_slot {
    uint32_t hash, at; /* at: offset in the buffer; NOWHERE = free */
    uint32_t last;
};
#define NOWHERE UINT32_MAX

static bool grow_slots_to(struct interned *t, size_t cap) {
    size_t bytes;
    struct interned_slot *slots =
        checked_mul_size(cap, sizeof *slots, &bytes) ? malloc(bytes) : NULL;
    if (!slots) {
        return false;
    }
    memset(slots, 0xff, bytes);
    for (size_t i = 0; i < t->cap; i++) {
        if (t->slots[i].at != NOWHERE) {
            size_t k = t->slots[i].hash & (cap - 1);
            while (slots[k].at != NOWHERE) {
                k = (k + 1) & (cap - 1);
            }
            slots[k] = t->slots[i];
        }
    }
    free(t->slots);
    t->slots = slots;
    t->cap = cap;
    return true;
}

/* Reserves memory for `count` entries; does nothing if memory is short. */
static void expect_strings(struct interned *t, size_t count) {
    size_t cap = SLOTS_FIRST;
    while (cap / 2 < count && cap <= SIZE_MAX / 2) {
        cap *= 2;
    }
    (void)grow_slots_to(t, cap);
}

/* Makes room for `count` more entries. False: out of memory. */
static bool make_room(struct interned *t, size_t count) {
    return 2 * (t->count + count) <= t->cap ||
           grow_slots_to(t, t->cap > 0 ? 2 * t->cap : SLOTS_FIRST);
}

/* Returns the offset of these bytes in buffer `in`; they are appended if they are not found within
 * PROBES_MAX slots. 0: out of memory, or the buffer is larger than an offset can express. *slot:
 * the slot of the bytes, valid until the table grows, or NULL. */
static uint32_t intern_at(struct interned *t, struct strbuf *in, const char *bytes, size_t len,
                          struct interned_slot **slot) {
    *slot = NULL;
    uint32_t hash = (uint32_t)hash_quick(bytes, len);
    if (!make_room(t, 1)) {
        return 0;
    }
    size_t i = hash & (t->cap - 1), probes = 0;
    for (; t->slots[i].at != NOWHERE && probes < PROBES_MAX; i = (i + 1) & (t->cap - 1), probes++) {
        uint32_t at = t->slots[i].at;
        if (t->slots[i].hash == hash && in->len - at >= len &&
            memcmp(in->data + at, bytes, len) == 0) {
            *slot = &t->slots[i];
            return at;
        }
    }
    if (in->failed || in->len >= NOWHERE) {
        return 0;
    }
    uint32_t at = (uint32_t)in->len;
    strbuf_add(in, bytes, len);
    if (t->slots[i].at == NOWHERE) {
        t->slots[i] = (struct interned_slot){hash, at, 0};
        t->count++;
        *slot = &t->slots[i];
    }
    return at;
}

static void interned_release(struct interned *t) {
    free(t->slots);
    *t = (struct interned){0};
}

/* ---- begin and end ---- */

enum { NAME_NUMBERS = 4 };

static void pack_name(char out[INDEX_NAME_ROW], const uint32_t numbers[NAME_NUMBERS]) {
    for (size_t i = 0; i < INDEX_NAME_ROW; i++) {
        out[i] = (char)(unsigned char)(numbers[i / 4] >> i % 4 * 8);
    }
}

void names_begin(struct name_table *t, size_t expected, uint64_t size) {
    t->room = size > 0 && size < UINT32_MAX ? size * STRINGS_RATIO + STRINGS_FREE : 0;
    expect_strings(&t->string_at, expected);
    strbuf_room_large(&t->strings, expected * STRING_BYTES + 1);
    strbuf_addc(&t->strings, 0);
    char none[INDEX_NAME_ROW] = {0};
    strbuf_add(&t->names, none, sizeof none); /* row 0 stays unused: it means no name */
}

void names_release(struct name_table *t) {
    strbuf_release(&t->names);
    strbuf_release(&t->strings);
    VEC_RELEASE(&t->files);
    VEC_RELEASE(&t->links);
    interned_release(&t->string_at);
    interned_release(&t->name_at);
    number_map_release(&t->file_at);
    *t = (struct name_table){0};
}

enum st names_check(const struct name_table *t, struct err *e) {
    if (t->names.len > UINT32_MAX || t->strings.len > UINT32_MAX) {
        return err_set(e, ERR_UNSUPPORTED, "too large for a symbol index");
    }
    if (t->excess) {
        return err_set(e, ERR_UNSUPPORTED, "more bytes of names than the file's size allows");
    }
    if (t->failed || t->names.failed || t->strings.failed) {
        return err_nomem(e);
    }
    return ST_OK;
}

/* ---- strings and paths ---- */

static uint32_t string_slot(struct name_table *t, const char *s, struct interned_slot **slot) {
    *slot = NULL;
    if (!s || !*s || t->excess) {
        return 0;
    }
    size_t len = t->room > 0 ? strnlen(s, t->room) : strlen(s);
    t->looked_at += len;
    if (t->room > 0 && (len >= t->room || t->strings.len > t->room - len ||
                        t->looked_at / LOOKED_AT_RATIO > t->room)) {
        t->excess = true;
        return 0;
    }
    uint32_t at = intern_at(&t->string_at, &t->strings, s, len + 1, slot);
    t->failed |= at == 0;
    return at;
}

uint32_t names_string(struct name_table *t, const char *s) {
    struct interned_slot *slot;
    return string_slot(t, s, &slot);
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

/* ---- names ---- */

/* Returns the offset of the name with this linkage name; it is appended if it is not among the last
 * PROBES_MAX names with that linkage name, of which there are rarely two. The slot of the linkage
 * name was read just before, so this search avoids the cache miss that reading a slot of the table
 * of names would cost. 0: failed. */
static uint32_t intern_linked(struct name_table *t, struct interned_slot *linkage,
                              const char *bytes, size_t len) {
    size_t steps = 0;
    for (uint32_t i = linkage->last; i > 0 && steps < PROBES_MAX; steps++) {
        const struct name_link *link = &t->links.data[i - 1];
        if (t->names.len - link->at >= len && memcmp(t->names.data + link->at, bytes, len) == 0) {
            return link->at;
        }
        i = link->before;
    }
    if (t->names.failed || t->names.len >= NOWHERE || t->links.len >= NOWHERE) {
        return 0;
    }
    struct name_link link = {(uint32_t)t->names.len, linkage->last};
    if (!VEC_PUSH(&t->links, link)) {
        return 0;
    }
    strbuf_add(&t->names, bytes, len);
    linkage->last = (uint32_t)t->links.len;
    return link.at;
}

/* Returns the number of a name, which is added if it is new. function, linkage: offsets of strings;
 * slot: the linkage name's, or NULL; file: 0 = none, else 1 + its number. */
static uint32_t intern_name(struct name_table *t, uint32_t function, uint32_t linkage,
                            struct interned_slot *slot, uint32_t file, uint32_t line) {
    char bytes[INDEX_NAME_ROW];
    pack_name(bytes, (uint32_t[NAME_NUMBERS]){function, linkage, file, line});
    size_t len = sizeof bytes;
    uint32_t at = slot ? intern_linked(t, slot, bytes, len)
                       : intern_at(&t->name_at, &t->names, bytes, len, &slot);
    t->failed |= at == 0;
    return at / INDEX_NAME_ROW;
}

uint32_t names_symbol(struct name_table *t, const char *name) {
    struct interned_slot *slot;
    uint32_t string = string_slot(t, name, &slot);
    return intern_name(t, string, string, slot, 0, 0);
}

uint32_t names_function(struct name_table *t, const struct function_names *f) {
    if (!make_room(&t->string_at, 3)) { /* reserved now, so that the slot stays valid while the
                                           path is added */
        t->failed = true;
        return 0;
    }
    struct interned_slot *slot;
    uint32_t function = string_slot(t, f->function, &slot);
    uint32_t linkage = function;
    if (f->linkage != f->function) {
        linkage = string_slot(t, f->linkage, &slot);
    }
    uint32_t file = f->file ? names_file_once(t, f->file, f->file_known) + 1 : 0;
    return intern_name(t, function, linkage, slot, file, f->line);
}
