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

/* All bits of a free slot are set, as in number_map.c, for the same reason. */
struct interned_slot {
    uint32_t hash, at; /* at NOWHERE: free */
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

/* Returns the offset of these bytes, appending them if they are not found (in time); 0: no memory,
 * or `in` exceeds what an offset can address. */
static uint32_t intern_bytes(struct interned *t, struct strbuf *in, const char *bytes, size_t len) {
    uint32_t hash = (uint32_t)hash_quick(bytes, len);
    if (2 * (t->count + 1) > t->cap && !grow_slots_to(t, t->cap ? 2 * t->cap : SLOTS_FIRST)) {
        return 0;
    }
    size_t i = hash & (t->cap - 1), probes = 0;
    for (; t->slots[i].at != NOWHERE && probes < PROBES_MAX; i = (i + 1) & (t->cap - 1), probes++) {
        uint32_t at = t->slots[i].at;
        if (t->slots[i].hash == hash && in->len - at >= len &&
            memcmp(in->data + at, bytes, len) == 0) {
            return at;
        }
    }
    if (in->failed || in->len >= NOWHERE) {
        return 0;
    }
    uint32_t at = (uint32_t)in->len;
    strbuf_add(in, bytes, len);
    if (t->slots[i].at == NOWHERE) {
        t->slots[i] = (struct interned_slot){hash, at};
        t->count++;
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
    expect_strings(&t->name_at, expected);
    strbuf_room_large(&t->strings, expected * STRING_BYTES + 1);
    strbuf_addc(&t->strings, 0);
    strbuf_addc(&t->names, 0); /* a name's offset is not 0 */
}

void names_release(struct name_table *t) {
    strbuf_release(&t->names);
    strbuf_release(&t->strings);
    VEC_RELEASE(&t->files);
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

uint32_t names_string(struct name_table *t, const char *s) {
    if (!s || !*s) {
        return 0;
    }
    size_t len = strlen(s) + 1; /* with its NUL */
    uint32_t at = intern_bytes(&t->string_at, &t->strings, s, len);
    t->failed |= at == 0;
    return at;
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

/* function, linkage: strings; file: 0 = none, else 1 + its number. */
static uint32_t intern_name(struct name_table *t, uint32_t function, uint32_t linkage,
                            uint64_t file, uint32_t line) {
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
    uint32_t at = intern_bytes(&t->name_at, &t->names, bytes, (size_t)(end - bytes));
    t->failed |= at == 0;
    return at;
}

uint32_t names_symbol(struct name_table *t, const char *name) {
    uint32_t string = names_string(t, name);
    return intern_name(t, string, string, 0, 0);
}

uint32_t names_function(struct name_table *t, const struct function_names *f) {
    uint32_t function = names_string(t, f->function);
    uint32_t linkage = f->linkage == f->function ? function : names_string(t, f->linkage);
    uint64_t file = f->file ? (uint64_t)names_file_once(t, f->file, f->file_known) + 1 : 0;
    return intern_name(t, function, linkage, file, f->line);
}
