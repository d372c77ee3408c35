/* Interning of strings, paths and names. */
#include "index/name_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/leb128.h"

enum { NAME_BYTES_MAX = 4 * 5 /* 33 bits of the linkage name take 5, too */ };
enum { STRING_BYTES = 48 /* names with paths; C++ has more, and then the table grows once */ };

/* ---- what lies in a buffer ---- */

/* Strings may be made to collide, so searches are bounded: at most half of the slots are taken, and
 * few real searches pass ten. */
enum { SLOTS_FIRST = 256, PROBES_MAX = 256 };

/* All bits of a free slot are set, as in number_map.c, for the same reason. `last`: of a string,
 * the last name whose linkage name it is, as name_link.before. */
struct interned_slot {
    uint32_t hash, at; /* at NOWHERE: free */
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

/* Reserves memory for `count` entries, as far as there is any. */
static void expect_strings(struct interned *t, size_t count) {
    size_t cap = SLOTS_FIRST;
    while (cap / 2 < count && cap <= SIZE_MAX / 2) {
        cap *= 2;
    }
    (void)grow_slots_to(t, cap);
}

/* Makes room for `count` more entries. */
static bool make_room(struct interned *t, size_t count) {
    return 2 * (t->count + count) <= t->cap ||
           grow_slots_to(t, t->cap > 0 ? 2 * t->cap : SLOTS_FIRST);
}

/* Returns the offset of these bytes, appending them if they are not found (in time); 0: no memory,
 * or `in` exceeds what an offset can address. *slot: theirs until the table grows, or NULL. */
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

void names_begin(struct name_table *t, size_t expected) {
    expect_strings(&t->string_at, expected);
    strbuf_room_large(&t->strings, expected * STRING_BYTES + 1);
    strbuf_addc(&t->strings, 0);
    strbuf_addc(&t->names, 0); /* a name's offset is not 0 */
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
    if (t->failed || t->names.failed || t->strings.failed) {
        return err_nomem(e);
    }
    return ST_OK;
}

/* ---- strings and paths ---- */

static uint32_t string_slot(struct name_table *t, const char *s, struct interned_slot **slot) {
    *slot = NULL;
    if (!s || !*s) {
        return 0;
    }
    uint32_t at = intern_at(&t->string_at, &t->strings, s, strlen(s) + 1, slot);
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

/* Finds a name among those of one linkage name, or appends it; few linkage names have two. Asking
 * the slot that was read for the linkage name saves reading one of the table of names, each of
 * which waits for memory. */
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

/* function, linkage: strings; slot: the latter's, or NULL; file: 0 = none, else 1 + its number. */
static uint32_t intern_name(struct name_table *t, uint32_t function, uint32_t linkage,
                            struct interned_slot *slot, uint64_t file, uint32_t line) {
    uint64_t linkage_code = (uint64_t)linkage + 1;
    if (linkage == 0) {
        linkage_code = 0;
    } else if (linkage == function) {
        linkage_code = 1;
    }
    char bytes[NAME_BYTES_MAX], *end = leb128_put(bytes, function);
    end = leb128_put(end, linkage_code);
    end = leb128_put(end, file);
    end = leb128_put(end, line);
    size_t len = (size_t)(end - bytes);
    uint32_t at = slot ? intern_linked(t, slot, bytes, len)
                       : intern_at(&t->name_at, &t->names, bytes, len, &slot);
    t->failed |= at == 0;
    return at;
}

uint32_t names_symbol(struct name_table *t, const char *name) {
    struct interned_slot *slot;
    uint32_t string = string_slot(t, name, &slot);
    return intern_name(t, string, string, slot, 0, 0);
}

uint32_t names_function(struct name_table *t, const struct function_names *f) {
    if (!make_room(&t->string_at, 3)) { /* a slot stays where it is while the path is added */
        t->failed = true;
        return 0;
    }
    struct interned_slot *slot;
    uint32_t function = string_slot(t, f->function, &slot);
    uint32_t linkage = function;
    if (f->linkage != f->function) {
        linkage = string_slot(t, f->linkage, &slot);
    }
    uint64_t file = f->file ? (uint64_t)names_file_once(t, f->file, f->file_known) + 1 : 0;
    return intern_name(t, function, linkage, slot, file, f->line);
}
