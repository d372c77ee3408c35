/* Live debug info as a source of answers: units are read as addresses need them; where DWARF is
 * silent the symbol table answers. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "index/live_private.h"
#include "index/live_unit.h"
#include "index/lookup.h"
#include "index/own_symbols.h"
#include "index/unit_cache.h"

/* Paths in answers outlive the unit they came from. They are spread over several maps, so that
 * threads seldom meet. */
enum { STRIPES = 16 };
struct stripe {
    pthread_mutex_t lock;
    struct map paths;
};

struct live {
    struct lookup_source source;
    struct unit_cache *units; /* NULL = there is no DWARF */
    struct own_symbols symbols;
    struct stripe stripes[STRIPES];
};

void live_limit_memory(struct lookup_source *source, size_t bytes) {
    const struct live *l = (struct live *)source;
    if (l->units) {
        unit_cache_limit(l->units, bytes);
    }
}

uint64_t live_bytes(const struct lookup_source *source) {
    const struct live *l = (const struct live *)source;
    return l->units ? unit_cache_bytes(l->units) : 0;
}

uint64_t live_bytes_read(const struct lookup_source *source) {
    const struct live *l = (const struct live *)source;
    return l->units ? unit_cache_bytes_read(l->units) : 0;
}

size_t live_units_held(const struct lookup_source *source) {
    const struct live *l = (const struct live *)source;
    return l->units ? unit_cache_held(l->units) : 0;
}

/* ---- one answer ---- */

static enum st keep_path(struct live *l, const char *path, const char **out, struct err *e) {
    *out = NULL;
    if (!path) {
        return ST_OK;
    }
    size_t len = strlen(path), middle = (unsigned char)path[len - len / 3]; /* near the name */
    struct stripe *stripe = &l->stripes[(len + middle) % STRIPES];
    pthread_mutex_lock(&stripe->lock);
    size_t index = map_intern(&stripe->paths, path, len);
    *out = index == SIZE_MAX ? NULL : map_string(&stripe->paths, index);
    pthread_mutex_unlock(&stripe->lock);
    return *out ? ST_OK : err_nomem(e);
}

/* Line 0 or no file: print none, invent none (stallkit-design(7), ADDRESS RULES, 5). */
static enum st place(struct live *l, struct lookup_frame *f, const char *path, uint32_t line,
                     uint32_t column, uint32_t discriminator, struct err *e) {
    if (!path || line == 0) {
        return ST_OK;
    }
    f->line = line;
    f->column = column;
    f->discriminator = discriminator;
    return keep_path(l, path, &f->file, e);
}

static enum st place_at_row(struct live *l, const struct live_unit *u, uint64_t address,
                            struct lookup_frame *f, struct err *e) {
    const struct debug_row *row = live_unit_row(u, address);
    return row ? place(l, f, live_unit_file(u, row->file), row->line, row->column,
                       row->discriminator, e)
               : ST_OK;
}

/* The frame of a function or inlined call; `inner` is the call inlined into it, whose call site is
 * this frame's line. NULL = innermost: the line table tells. */
static enum st fill_frame(struct live *l, const struct live_unit *u, const struct debug_function *f,
                          const struct debug_function *inner, uint64_t address,
                          struct lookup_frame *out, struct err *e) {
    *out = (struct lookup_frame){.start_line = f->decl_line, .low_pc = f->low_pc};
    inline_name(f, &out->function, &out->linkage);
    if (keep_path(l, live_unit_decl_file(u, f), &out->start_file, e) != ST_OK) {
        return ST_ERR;
    }
    if (inner) {
        return place(l, out, live_unit_file(u, inner->call_file), inner->call_line,
                     inner->call_column, inner->call_discriminator, e);
    }
    return place_at_row(l, u, address, out, e);
}

static enum st fill_hit(struct live *l, const struct live_unit *u,
                        const struct debug_function *function, uint64_t address,
                        struct lookup_hit *hit, struct err *e) {
    const struct debug_function *chain[LOOKUP_INLINE_MAX];
    size_t n = live_unit_chain(function, address, chain, LOOKUP_INLINE_MAX);
    hit->quality = LOOKUP_DWARF;
    hit->frame_count = n;
    for (size_t i = 0; i < n; i++) {
        const struct debug_function *inner = i == 0 ? NULL : chain[n - i];
        struct lookup_frame *frame = &hit->frames[i];
        if (fill_frame(l, u, chain[n - 1 - i], inner, address, frame, e) != ST_OK) {
            return ST_ERR;
        }
        frame->start = function->entry;
    }
    struct lookup_frame *real = &hit->frames[n - 1];
    size_t near = 0;
    own_symbols_name(&l->symbols, function, &near, &real->function, &real->linkage);
    return ST_OK;
}

/* ST_NONE: no function of the unit owns it. */
static enum st lookup_in_unit(struct live *l, size_t index, uint64_t address,
                              struct lookup_hit *hit, struct err *e) {
    struct live_unit *u;
    struct debug_range range;
    enum st st = unit_cache_get(l->units, index, &u, e);
    if (st != ST_OK) {
        return st;
    }
    const struct debug_function *f = live_unit_function(u, address, &range);
    if (f) {
        hit->start = range.low;
        hit->end = range.high;
        st = fill_hit(l, u, f, address, hit, e);
    } else {
        st = ST_NONE;
    }
    unit_cache_put(l->units, u);
    return st;
}

/* The symbol table's answer. Assembler units have lines, but no functions: their row still counts.
 */
static enum st lookup_symbol(struct live *l, const size_t *units, size_t unit_count,
                             uint64_t address, struct lookup_hit *hit, struct err *e) {
    const struct object_symbol *s = own_symbols_find(&l->symbols, address);
    if (!s) {
        return ST_NONE;
    }
    hit->quality = LOOKUP_SYMTAB;
    hit->start = s->address;
    hit->end = s->address + s->size;
    hit->frame_count = 1;
    hit->frames[0] =
        (struct lookup_frame){.function = s->name, .linkage = s->name, .start = s->address};
    for (size_t i = 0; i < unit_count && !hit->frames[0].file; i++) {
        struct live_unit *u;
        enum st st = unit_cache_get(l->units, units[i], &u, e);
        if (st == ST_OK) {
            st = place_at_row(l, u, address, &hit->frames[0], e);
            unit_cache_put(l->units, u);
        }
        if (st == ST_ERR) {
            return st;
        }
    }
    return ST_OK;
}

static enum st live_lookup(struct lookup_source *source, uint64_t address, struct lookup_hit *hit,
                           struct err *e) {
    struct live *l = (struct live *)source;
    size_t units[LIVE_CLAIMS_MAX], count = 0;
    if (l->units &&
        unit_cache_find(l->units, address, units, LIVE_CLAIMS_MAX, &count, e) == ST_ERR) {
        return ST_ERR;
    }
    for (size_t i = 0; i < count; i++) {
        enum st st = lookup_in_unit(l, units[i], address, hit, e);
        if (st != ST_NONE) {
            return st;
        }
    }
    return lookup_symbol(l, units, count, address, hit, e);
}

/* ---- open, close ---- */

static void live_close(struct lookup_source *source) {
    struct live *l = (struct live *)source;
    unit_cache_close(l->units);
    for (size_t i = 0; i < STRIPES; i++) {
        pthread_mutex_destroy(&l->stripes[i].lock);
        map_release(&l->stripes[i].paths);
    }
    free(l);
}

static const struct lookup_ops live_ops = {.lookup = live_lookup, .close = live_close};

/* DWARF, symbols, or both. Damage of the DWARF is a complaint if symbols serve in its place, else
 * the error: it is not absence. */
static enum st open_parts(struct live *l, const struct object_slice *s,
                          const struct object_slice *paired, const struct object_slice *alt,
                          lookup_complain complain, void *ctx, struct err *e) {
    struct err why = {0};
    enum st dwarf = unit_cache_open(&l->units, s, alt, &l->symbols, complain, ctx, &why);
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    dwarf = dwarf == ST_OK ? unit_cache_check(l->units, &why) : dwarf;
    if (dwarf != ST_OK) {
        unit_cache_close(l->units);
        l->units = NULL;
    }
    enum st symbols = own_symbols_open(&l->symbols, s, paired, complain, ctx, e);
    if (symbols == ST_NONE && dwarf == ST_ERR) {
        return err_set(e, why.code, "%s", why.text);
    }
    if (symbols == ST_OK && dwarf == ST_ERR && complain) {
        complain(ctx, object_slice_path(s), LOOKUP_NO_UNIT, &why);
    }
    return symbols == ST_NONE ? dwarf : symbols;
}

enum st lookup_open_live(struct lookup_source **out, const struct object_slice *s,
                         const struct object_slice *paired, const struct object_slice *alt,
                         lookup_complain complain, void *ctx, struct err *e) {
    struct live *l = calloc(1, sizeof *l);
    if (!l) {
        return err_nomem(e);
    }
    l->source = (struct lookup_source){.ops = &live_ops, .concurrent = true};
    for (size_t i = 0; i < STRIPES; i++) {
        pthread_mutex_init(&l->stripes[i].lock, NULL);
    }
    enum st st = open_parts(l, s, paired, alt, complain, ctx, e);
    if (st != ST_OK) {
        live_close(&l->source);
        return st;
    }
    l->source.content = !l->units                       ? LOOKUP_HAS_SYMBOLS
                        : unit_cache_is_split(l->units) ? LOOKUP_HAS_SPLIT_DWARF
                                                        : LOOKUP_HAS_DWARF;
    l->source.lineless = l->units && unit_cache_is_lineless(l->units);
    *out = &l->source;
    return ST_OK;
}
