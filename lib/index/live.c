/* Answers look-ups from live debug info: units are read as addresses need them; where DWARF has no
 * function the symbol table answers. */
#include <stdlib.h>

#include "index/flat_unit.h"
#include "index/live_private.h"
#include "index/lookup.h"
#include "index/own_symbols.h"
#include "index/unit_cache.h"

struct live {
    struct lookup_source source;
    struct unit_cache *units; /* NULL = there is no DWARF */
    struct own_symbols symbols;
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

static void set_place(const struct flat_unit *u, struct flat_place place, struct lookup_frame *f) {
    if (place.file != 0) {
        f->file = u->unit.files[place.file - 1];
        f->line = place.line;
        f->column = place.column;
        f->discriminator = place.discriminator;
    }
}

static void add_frame(const struct flat_unit *u, const struct debug_function *f,
                      struct flat_place place, uint64_t start, struct lookup_hit *hit) {
    struct lookup_frame *out = &hit->frames[hit->frame_count++];
    *out = (struct lookup_frame){.start = start,
                                 .low_pc = f->low_pc,
                                 .start_file = flat_unit_decl_file(u, f),
                                 .start_line = f->decl_line};
    inline_name(f, &out->function, &out->linkage);
    set_place(u, place, out);
}

/* Fills *hit with the frames at an address in a function's range. The line table gives the
 * innermost frame's place, and each call's place that of the frame around it. */
static void fill_hit(const struct live *l, const struct flat_unit *u, const struct code_span *range,
                     uint64_t address, struct lookup_hit *hit) {
    const struct debug_function *function = flat_unit_function(u, range);
    struct flat_place place = flat_unit_place(u, address, flat_unit_first_row(u, range->low));
    const struct debug_function *calls[LOOKUP_INLINE_MAX];
    hit->quality = LOOKUP_DWARF;
    hit->start = range->low;
    hit->end = range->high;
    hit->frame_count = 0;
    for (size_t i = flat_calls_at(function, address, calls); i > 0; i--) {
        add_frame(u, calls[i - 1], place, function->entry, hit);
        place = flat_call_place(u, calls[i - 1]);
    }
    add_frame(u, function, place, function->entry, hit);
    struct lookup_frame *real = &hit->frames[hit->frame_count - 1];
    own_symbols_name(&l->symbols, function, &real->function, &real->linkage);
}

/* Looks the address up in one unit. ST_NONE: no function of the unit owns it. */
static enum st lookup_in_unit(struct live *l, size_t index, uint64_t address,
                              struct lookup_hit *hit, struct err *e) {
    struct flat_unit *u;
    enum st st = unit_cache_get(l->units, index, &u, e);
    if (st != ST_OK) {
        return st;
    }
    const struct code_span *range = flat_unit_range(u, address);
    if (range) {
        fill_hit(l, u, range, address, hit);
    }
    unit_cache_put(l->units, u);
    return range ? ST_OK : ST_NONE;
}

/* Looks up the range of a function without a name. ST_NONE: none is around the address. */
static enum st lookup_nameless(const struct live *l, uint64_t address, struct lookup_hit *hit) {
    const struct own_symbols *own = &l->symbols;
    size_t i = own_symbols_function_from(own, address);
    if (i == own->function_count || own->functions[i].low > address) {
        return ST_NONE;
    }
    hit->quality = LOOKUP_NAMELESS;
    hit->start = own->functions[i].low;
    hit->end = own->functions[i].high;
    hit->frame_count = 0;
    return ST_OK;
}

/* Answers from the symbol table. Without a symbol, or if the symbol's name is longer than
 * OBJECT_NAME_MAX, the answer is the range of a function without a name (ST_NONE: there is none).
 * The frame has the line of the first of `units` that has one for the address, because units of
 * assembler have lines but no functions. */
static enum st lookup_symbol(struct live *l, const size_t *units, size_t unit_count,
                             uint64_t address, struct lookup_hit *hit, struct err *e) {
    const struct object_symbol *s = own_symbols_find(&l->symbols, address);
    if (!s || strnlen(s->name, OBJECT_NAME_MAX + 1) > OBJECT_NAME_MAX) {
        return lookup_nameless(l, address, hit);
    }
    hit->quality = LOOKUP_SYMTAB;
    hit->start = s->address;
    hit->end = s->address + s->size;
    hit->frame_count = 1;
    hit->frames[0] =
        (struct lookup_frame){.function = s->name, .linkage = s->name, .start = s->address};
    for (size_t i = 0; i < unit_count && !hit->frames[0].file; i++) {
        struct flat_unit *u;
        enum st st = unit_cache_get(l->units, units[i], &u, e);
        if (st == ST_OK) {
            set_place(u, flat_unit_place(u, address, flat_unit_first_row(u, s->address)),
                      &hit->frames[0]);
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
    free(l);
}

static const struct lookup_ops live_ops = {.lookup = live_lookup, .close = live_close};

/* Opens DWARF, symbols, or both. Damage in the DWARF is reported to `complain` if there are
 * symbols; without symbols it is returned as the error, so that damaged DWARF is not taken for
 * absent DWARF. */
static enum st open_parts(struct live *l, const struct object_slice *s,
                          const struct object_slice *paired, const struct debug_others *others,
                          lookup_complain complain, void *ctx, struct err *e) {
    struct err why = {0};
    enum st dwarf = unit_cache_open(&l->units, s, others, &l->symbols, complain, ctx, &why);
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (dwarf == ST_OK) {
        l->source.incomplete = unit_cache_is_split(l->units);
        l->source.map = unit_cache_map(l->units);
        l->source.is_map = l->source.map.named > 0;
        l->source.untimed = l->source.map.untimed > 0;
        dwarf = debug_map_is_lost(&l->source.map) ? ST_NONE : unit_cache_check(l->units, &why);
    }
    if (dwarf != ST_OK) {
        unit_cache_close(l->units);
        l->units = NULL;
    }
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    enum st symbols = own_symbols_open(&l->symbols, s, paired, complain, ctx, e);
    if (symbols == ST_ERR) {
        return ST_ERR;
    }
    if (symbols == ST_NONE && dwarf == ST_ERR) {
        return err_copy(e, &why);
    }
    if (symbols == ST_OK && dwarf == ST_ERR && complain) {
        complain(ctx, object_slice_path(s), LOOKUP_NO_UNIT, &why);
    }
    return symbols == ST_NONE && l->symbols.function_count == 0 ? dwarf : ST_OK;
}

enum st lookup_open_live(struct lookup_source **out, const struct object_slice *s,
                         const struct object_slice *paired, const struct debug_others *others,
                         lookup_complain complain, void *ctx, struct err *e) {
    struct live *l = calloc(1, sizeof *l);
    if (!l) {
        return err_nomem(e);
    }
    l->source = (struct lookup_source){.ops = &live_ops, .concurrent = true};
    enum st st = open_parts(l, s, paired, others, complain, ctx, e);
    if (st != ST_OK) {
        live_close(&l->source);
        return st;
    }
    l->source.hidden = l->symbols.hidden;
    l->source.names_cut = l->symbols.names_cut;
    l->source.content = l->symbols.symbol_count > 0 ? LOOKUP_HAS_SYMBOLS : LOOKUP_HAS_RANGES;
    if (l->units) {
        l->source.content = l->source.incomplete ? LOOKUP_HAS_SPLIT_DWARF : LOOKUP_HAS_DWARF;
        l->source.lineless = unit_cache_is_lineless(l->units);
        l->source.dieless = unit_cache_is_dieless(l->units);
    }
    *out = &l->source;
    return ST_OK;
}
