/* Builds the symbols and function starts of a slice at first use, for all formats, and keeps them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/search.h"
#include "base/sort.h"
#include "object/object.h"
#include "object/object_private.h"

/* Orders symbols by address. Of those at one address the first is kept: the largest, then a global
 * one, then the later in the file. llvm-symbolizer chooses in the same way; so `malloc` is
 * preferred to `__libc_malloc`. */
static int compare_symbols(const void *a, const void *b) {
    const struct raw_symbol *x = a, *y = b;
    int order = COMPARE(x->address, y->address);
    order = order ? order : COMPARE(y->size, x->size);
    order = order ? order : COMPARE(y->global, x->global);
    return order ? order : COMPARE(y->order, x->order);
}

static int by_alias(const void *a, const void *b) {
    const struct object_alias *x = a, *y = b;
    int order = COMPARE(x->address, y->address);
    return order ? order : strcmp(x->name, y->name);
}

/* The names of all aliases that are kept have about ALIASES_RATIO times the slice's bytes, plus
 * ALIASES_FREE, at most. */
enum { ALIASES_RATIO = 4, ALIASES_FREE = 4 << 20 };

/* Copies each symbol at the address of the symbol before it to cache->aliases, sorted by by_alias.
 * Names of more than OBJECT_NAME_MAX bytes are left out, and so are all symbols once the names have
 * as many bytes as ALIASES_RATIO and ALIASES_FREE allow. raw is sorted by compare_symbols. */
static enum st keep_aliases(const raw_symbols *raw, size_t slice_size, struct slice_cache *cache,
                            struct err *e) {
    VEC(struct object_alias) aliases = {0};
    uint64_t left = (uint64_t)slice_size * ALIASES_RATIO + ALIASES_FREE;
    for (size_t i = 1; i < raw->len; i++) {
        struct object_alias alias = {raw->data[i].address, raw->data[i].name};
        if (raw->data[i - 1].address != alias.address || left == 0) {
            continue;
        }
        size_t len = strnlen(alias.name, OBJECT_NAME_MAX + 1);
        left -= len < left ? len : left;
        if (len <= OBJECT_NAME_MAX && !VEC_PUSH(&aliases, alias)) {
            VEC_RELEASE(&aliases);
            return err_nomem(e);
        }
    }
    if (aliases.len > 1) {
        qsort(aliases.data, aliases.len, sizeof *aliases.data, by_alias);
    }
    cache->aliases = aliases.data;
    cache->alias_count = aliases.len;
    return ST_OK;
}

/* Drops aliases, and labels without type and size that lie inside a function of known size (GDB and
 * elfutils do so too; llvm-symbolizer does not). raw is sorted by compare_symbols. */
static void drop_hidden(raw_symbols *raw) {
    size_t kept = 0;
    uint64_t covered = 0; /* end of the sized functions so far */
    for (size_t i = 0; i < raw->len; i++) {
        const struct raw_symbol s = raw->data[i];
        bool alias = kept > 0 && raw->data[kept - 1].address == s.address;
        bool label = !s.typed && s.size == 0 && s.address < covered;
        if (alias || label) {
            continue;
        }
        uint64_t end;
        if (s.size > 0 && checked_add_u64(s.address, s.size, &end) && end > covered) {
            covered = end < s.limit ? end : s.limit;
        }
        raw->data[kept++] = s;
    }
    raw->len = kept;
}

static uint64_t extent_end(const struct raw_symbol *s, const struct raw_symbol *next,
                           const uint64_t *start, const uint64_t *starts_end) {
    uint64_t end = s->limit, sized;
    if (s->size > 0) {
        return checked_add_u64(s->address, s->size, &sized) && sized < end ? sized : end;
    }
    if (next && next->address < end) {
        end = next->address;
    }
    if (start < starts_end && *start < end) {
        end = *start;
    }
    return end;
}

/* Sorts raw symbols, keeps the aliases among them in the slice's cache, drops what drop_hidden
 * drops, and computes the sizes of the others. *out is malloc'ed. ST_NONE: raw is empty. */
static enum st symbols_finish(raw_symbols *raw, const struct object_slice *s,
                              struct object_symbol **out, size_t *count, struct err *e) {
    struct slice_cache *cache = s->cache;
    if (raw->len == 0) {
        return ST_NONE;
    }
    const uint64_t *starts = cache->starts.data;
    size_t start_count = cache->starts.count;
    sort_unless_sorted(raw->data, raw->len, sizeof *raw->data, compare_symbols);
    if (keep_aliases(raw, s->size, cache, e) != ST_OK) {
        return ST_ERR;
    }
    drop_hidden(raw);
    VEC(struct object_symbol) kept = {0};
    if (!VEC_RESERVE_LARGE(&kept, raw->len)) {
        free(cache->aliases);
        cache->aliases = NULL;
        return err_nomem(e);
    }
    struct object_symbol *symbols = kept.data;
    const uint64_t *start = starts, *starts_end = starts ? starts + start_count : NULL;
    for (size_t i = 0; i < raw->len; i++) {
        const struct raw_symbol *from = &raw->data[i];
        while (start < starts_end && *start <= from->address) {
            start++;
        }
        const struct raw_symbol *next = i + 1 < raw->len ? from + 1 : NULL;
        symbols[i] = (struct object_symbol){
            .address = from->address,
            .size = extent_end(from, next, start, starts_end) - from->address,
            .name = from->name,
        };
    }
    *out = symbols;
    *count = raw->len;
    return ST_OK;
}

/* ---- built once; the object's lock is held ---- */

static void build_starts(const struct object_slice *s, struct lazy_table *t) {
    uint64_t *starts = NULL;
    t->st = s->format == OBJECT_MACHO ? macho_read_starts(s, &starts, &t->count, &t->err) : ST_NONE;
    t->data = starts;
}

static enum st lazy_result(struct lazy_table *t, struct err *e) {
    if (t->st != ST_ERR) {
        return t->st;
    }
    err_copy(e, &t->err);
    if (t->err.code == ERR_NOMEM) {
        *t = (struct lazy_table){0}; /* the next try may find memory */
    }
    return ST_ERR;
}

static enum st starts_locked(const struct object_slice *s, struct err *e) {
    struct lazy_table *t = &s->cache->starts;
    if (!t->built) {
        t->built = true;
        build_starts(s, t);
    }
    return lazy_result(t, e);
}

static void build_symbols(const struct object_slice *s, struct lazy_table *t) {
    /* Damaged function starts cost only the exact ends of symbols. */
    struct err why = {0};
    enum st st = starts_locked(s, &why);
    if (st == ST_ERR && why.code == ERR_NOMEM) {
        t->st = err_nomem(&t->err);
        return;
    }
    raw_symbols raw = {0};
    t->st = s->format == OBJECT_MACHO ? macho_read_symbols(s, &raw, &t->err)
                                      : elffile_read_symbols(s, &raw, &t->err);
    if (t->st == ST_OK) {
        struct object_symbol *symbols = NULL;
        t->st = symbols_finish(&raw, s, &symbols, &t->count, &t->err);
        t->data = symbols;
    }
    VEC_RELEASE(&raw);
}

static enum st symbols_locked(const struct object_slice *s, struct err *e) {
    struct lazy_table *t = &s->cache->symbols;
    if (!t->built) {
        t->built = true;
        build_symbols(s, t);
    }
    return lazy_result(t, e);
}

enum st object_symbols(const struct object_slice *s, const struct object_symbol **out,
                       size_t *count, struct err *e) {
    pthread_mutex_lock(&s->object->lock);
    enum st st = symbols_locked(s, e);
    if (st == ST_OK) {
        *out = s->cache->symbols.data;
        *count = s->cache->symbols.count;
    }
    pthread_mutex_unlock(&s->object->lock);
    return st;
}

enum st object_aliases(const struct object_slice *s, const struct object_alias **out, size_t *count,
                       struct err *e) {
    pthread_mutex_lock(&s->object->lock);
    enum st st = symbols_locked(s, e);
    if (st == ST_OK && s->cache->alias_count == 0) {
        st = ST_NONE;
    } else if (st == ST_OK) {
        *out = s->cache->aliases;
        *count = s->cache->alias_count;
    }
    pthread_mutex_unlock(&s->object->lock);
    return st;
}

enum st object_function_starts(const struct object_slice *s, const uint64_t **out, size_t *count,
                               struct err *e) {
    pthread_mutex_lock(&s->object->lock);
    enum st st = starts_locked(s, e);
    if (st == ST_OK) {
        *out = s->cache->starts.data;
        *count = s->cache->starts.count;
    }
    pthread_mutex_unlock(&s->object->lock);
    return st;
}

bool object_has_symbols(const struct object_slice *s) {
    return s->has_symbols;
}

enum st object_hides_names(const struct object_slice *s, struct err *e) {
    return s->format == OBJECT_MACHO ? macho_hides_names(s, e) : ST_NONE;
}

void object_use_bcsymbolmap(const struct object_slice *s, struct bcsymbolmap *map) {
    pthread_mutex_lock(&s->object->lock);
    if (!s->cache->names) {
        s->cache->names = map;
        map = NULL;
    }
    pthread_mutex_unlock(&s->object->lock);
    bcsymbolmap_close(map);
}

const struct bcsymbolmap *object_bcsymbolmap(const struct object_slice *s) {
    return s->cache->names;
}

size_t object_hidden_symbols(const struct object_slice *s) {
    return s->cache->hidden;
}
