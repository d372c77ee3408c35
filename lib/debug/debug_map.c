/* Reads the debug map of a linked Mach-O file. */
#include "debug/debug_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/map.h"
#include "base/path.h"
#include "base/search.h"
#include "base/strbuf.h"

enum { NO_SECTION = 0 };
#define NO_OBJECT UINT32_MAX

const char *debug_object_base(const char *path) {
    size_t len = strlen(path);
    const char *member = len > 0 && path[len - 1] == ')' ? strrchr(path, '(') : NULL;
    const char *base = member ? member : path + len;
    while (base > path && base[-1] != '/') {
        base--;
    }
    return base;
}

/* ---- reading ---- */

struct map_reader {
    struct debug_map *map;
    struct map known; /* path and time -> index of the object */
    uint32_t object;  /* object that the current stabs belong to, or NO_OBJECT */
    bool in_function; /* the stab before this one began a function */
    bool arm32;
    struct map_function function;
};

static bool begin_object(struct map_reader *r, const struct object_stab *stab) {
    struct strbuf key = {0};
    bool added = false;
    r->object = NO_OBJECT;
    if (stab->name[0] == '\0' || r->map->objects.len >= NO_OBJECT) {
        return true;
    }
    strbuf_addu64(&key, stab->value);
    strbuf_addf(&key, " %s", stab->name);
    const struct map_entry *entry =
        key.failed ? NULL : map_put(&r->known, key.data, key.len, r->map->objects.len, &added);
    strbuf_release(&key);
    struct map_object o = {.name = {.path = stab->name, .time = stab->value}};
    if (!entry || (added && !VEC_PUSH(&r->map->objects, o))) {
        return false;
    }
    r->object = (uint32_t)entry->value;
    return true;
}

static bool end_function(struct map_reader *r, uint64_t size) {
    uint64_t end;
    r->function.size = size;
    if (size == 0 || !checked_add_u64(r->function.address, size, &end)) {
        return true;
    }
    return VEC_PUSH(&r->map->functions, r->function);
}

/* Takes one stab. A function is two stabs: one with its name, section and address, then one with an
 * empty name, no section and its size. False: out of memory. */
static bool take_stab(void *ctx, const struct object_stab *stab) {
    struct map_reader *r = ctx;
    bool in_function = r->in_function;
    r->in_function = false;
    if (stab->type == STAB_OBJECT_FILE) {
        return begin_object(r, stab);
    }
    if (stab->type != STAB_FUNCTION || r->object == NO_OBJECT) {
        return true;
    }
    if (stab->section == NO_SECTION) {
        return !in_function || end_function(r, stab->value);
    }
    r->in_function = true;
    r->function =
        (struct map_function){.name = stab->name[0] == '_' ? stab->name + 1 : stab->name,
                              .address = r->arm32 ? stab->value & ~UINT64_C(1) : stab->value,
                              .object = r->object};
    return true;
}

/* ---- order ---- */

static int by_object(const void *a, const void *b) {
    const struct map_function *x = a, *y = b;
    int order = COMPARE(x->object, y->object);
    order = order ? order : COMPARE(x->address, y->address);
    order = order ? order : COMPARE(x->size, y->size);
    return order ? order : strcmp(x->name, y->name);
}

/* Sorts the functions by object, gives each object its part of them and adds their sizes to its
 * code_bytes, and drops objects without functions. */
static void share_functions(struct debug_map *map) {
    struct map_function *f = map->functions.data;
    size_t kept = 0, at = 0;
    if (map->functions.len > 0) {
        qsort(f, map->functions.len, sizeof *f, by_object);
    }
    for (size_t i = 0; i < map->objects.len; i++) {
        struct map_object o = map->objects.data[i];
        o.first = at;
        for (; at < map->functions.len && f[at].object == i; at++) {
            f[at].object = (uint32_t)kept;
            (void)checked_add_u64(o.code_bytes, f[at].size, &o.code_bytes);
        }
        o.count = at - o.first;
        if (o.count > 0) {
            map->objects.data[kept++] = o;
        }
    }
    map->objects.len = kept;
}

/* Sets name.unique of the objects whose base name no other has. ST_ERR: out of memory. */
static enum st mark_unique(struct debug_map *map, struct err *e) {
    struct map bases = {0};
    enum st st = ST_OK;
    for (size_t i = 0; i < map->objects.len && st == ST_OK; i++) {
        const char *base = debug_object_base(map->objects.data[i].name.path);
        bool added = false;
        const struct map_entry *entry = map_put(&bases, base, strlen(base), i, &added);
        if (!entry) {
            st = err_nomem(e);
            break;
        }
        map->objects.data[i].name.unique = added;
        if (!added) {
            map->objects.data[entry->value].name.unique = false;
        }
    }
    map_release(&bases);
    return st;
}

enum st debug_map_read(struct debug_map *out, const struct object_slice *s, struct err *e) {
    struct map_reader r = {.map = out, .object = NO_OBJECT, .arm32 = object_slice_is_arm32(s)};
    *out = (struct debug_map){0};
    enum st st = object_stabs(s, take_stab, &r, e);
    map_release(&r.known);
    if (st == ST_OK) {
        share_functions(out);
        st = out->objects.len > 0 ? mark_unique(out, e) : ST_NONE;
    }
    if (st != ST_OK) {
        debug_map_release(out);
    }
    return st;
}

enum st debug_map_copy(struct debug_map *out, const struct debug_map *map, struct err *e) {
    *out = (struct debug_map){0};
    if (!VEC_RESERVE(&out->objects, map->objects.len) ||
        !VEC_RESERVE(&out->functions, map->functions.len)) {
        debug_map_release(out);
        return err_nomem(e);
    }
    for (size_t i = 0; i < map->objects.len; i++) {
        out->objects.data[out->objects.len++] = map->objects.data[i];
    }
    for (size_t i = 0; i < map->functions.len; i++) {
        out->functions.data[out->functions.len++] = map->functions.data[i];
    }
    return ST_OK;
}

void debug_map_release(struct debug_map *map) {
    VEC_RELEASE(&map->objects);
    VEC_RELEASE(&map->functions);
}
