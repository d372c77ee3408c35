/* Live debug info as a source of answers: units are read as addresses need them and the least
 * recently used are given up when they hold too much memory; where DWARF is silent the symbol table
 * answers. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "index/live_private.h"
#include "index/live_unit.h"
#include "index/lookup.h"
#include "index/own_symbols.h"

/* Memory that units may hold together; the one in use is kept, whatever its size. */
enum { LIVE_UNIT_BYTES = 192 << 20 };

_Static_assert(LOOKUP_NO_UNIT == DEBUG_NO_UNIT, "complaints are handed on as they are");

struct live {
    struct lookup_source source;
    struct debug *debug;      /* NULL = there is no DWARF */
    struct live_unit **units; /* by index; NULL = not read */
    bool *unreadable;         /* by index */
    size_t unit_count, bytes, byte_limit;
    uint64_t read; /* bytes of debug info, so far */
    struct live_unit *newest, *oldest;
    struct own_symbols symbols;
    struct map paths; /* of answers: they outlive the unit they came from */
};

/* ---- units in memory ---- */

static void unlink_unit(struct live *l, struct live_unit *u) {
    *(u->newer ? &u->newer->older : &l->newest) = u->older;
    *(u->older ? &u->older->newer : &l->oldest) = u->newer;
    u->newer = u->older = NULL;
}

static void link_newest(struct live *l, struct live_unit *u) {
    u->older = l->newest;
    *(l->newest ? &l->newest->newer : &l->oldest) = u;
    l->newest = u;
}

static void drop_old_units(struct live *l) {
    while (l->bytes > l->byte_limit && l->oldest != l->newest) {
        struct live_unit *u = l->oldest;
        unlink_unit(l, u);
        l->bytes -= u->bytes;
        l->units[u->index] = NULL;
        live_unit_free(u);
    }
}

/* ST_NONE: the unit is damaged, and complain was told. */
static enum st get_unit(struct live *l, size_t index, struct live_unit **out, struct err *e) {
    struct live_unit *u = l->units[index];
    struct err why = {0};
    if (l->unreadable[index]) {
        return ST_NONE;
    }
    if (!u) {
        l->read += debug_unit_size(l->debug, index);
    }
    if (u) {
        unlink_unit(l, u);
    } else if (live_unit_open(&u, l->debug, index, &why) != ST_OK) {
        if (why.code == ERR_NOMEM) {
            return err_nomem(e);
        }
        l->unreadable[index] = true;
        return ST_NONE;
    } else {
        l->units[index] = u;
        l->bytes += u->bytes;
    }
    link_newest(l, u);
    drop_old_units(l);
    *out = u;
    return ST_OK;
}

void live_limit_memory(struct lookup_source *source, size_t bytes) {
    struct live *l = (struct live *)source;
    l->byte_limit = bytes;
    drop_old_units(l);
}

uint64_t live_bytes(const struct lookup_source *source) {
    const struct live *l = (const struct live *)source;
    uint64_t bytes = 0;
    for (size_t i = 0; i < l->unit_count; i++) {
        bytes += debug_unit_size(l->debug, i);
    }
    return bytes;
}

uint64_t live_bytes_read(const struct lookup_source *source) {
    return ((const struct live *)source)->read;
}

size_t live_units_held(const struct lookup_source *source) {
    size_t held = 0;
    for (const struct live_unit *u = ((const struct live *)source)->newest; u; u = u->older) {
        held++;
    }
    return held;
}

/* ---- one answer ---- */

static enum st keep_path(struct live *l, const char *path, const char **out, struct err *e) {
    *out = NULL;
    if (!path) {
        return ST_OK;
    }
    size_t index = map_intern(&l->paths, path, strlen(path));
    if (index == SIZE_MAX) {
        return err_nomem(e);
    }
    *out = map_string(&l->paths, index);
    return ST_OK;
}

/* Line 0 or no file: print none, invent none (DESIGN address rule 5). */
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
    if (keep_path(l, f->decl_file, &out->start_file, e) != ST_OK) {
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
    own_symbols_name(&l->symbols, function, &real->function, &real->linkage);
    return ST_OK;
}

/* ST_NONE: no function of the unit owns it. */
static enum st lookup_in_unit(struct live *l, size_t index, uint64_t address,
                              struct lookup_hit *hit, struct err *e) {
    struct live_unit *u;
    struct debug_range range;
    enum st st = get_unit(l, index, &u, e);
    if (st != ST_OK) {
        return st;
    }
    const struct debug_function *f = live_unit_function(u, address, &range);
    if (!f) {
        return ST_NONE;
    }
    hit->start = range.low;
    hit->end = range.high;
    return fill_hit(l, u, f, address, hit, e);
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
        enum st st = get_unit(l, units[i], &u, e);
        if (st == ST_OK) {
            st = place_at_row(l, u, address, &hit->frames[0], e);
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
    if (l->debug &&
        debug_find_units(l->debug, address, units, LIVE_CLAIMS_MAX, &count, e) == ST_ERR) {
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
    while (l->newest) {
        struct live_unit *u = l->newest;
        unlink_unit(l, u);
        live_unit_free(u);
    }
    debug_close(l->debug);
    map_release(&l->paths);
    free(l->units);
    free(l->unreadable);
    free(l);
}

static const struct lookup_ops live_ops = {.lookup = live_lookup, .close = live_close};

static enum st open_debug(struct live *l, const struct object_slice *s,
                          const struct object_slice *alt, lookup_complain complain, void *ctx,
                          struct err *e) {
    enum st st = debug_open(&l->debug, s, alt, complain, ctx, e);
    if (st != ST_OK) {
        return st;
    }
    l->unit_count = debug_unit_count(l->debug);
    l->units = calloc(l->unit_count + 1, sizeof(struct live_unit *));
    l->unreadable = calloc(l->unit_count + 1, sizeof(bool));
    return l->units && l->unreadable ? ST_OK : err_nomem(e);
}

enum st lookup_open_live(struct lookup_source **out, const struct object_slice *s,
                         const struct object_slice *paired, const struct object_slice *alt,
                         lookup_complain complain, void *ctx, struct err *e) {
    struct live *l = calloc(1, sizeof *l);
    if (!l) {
        return err_nomem(e);
    }
    l->source.ops = &live_ops;
    l->byte_limit = LIVE_UNIT_BYTES;
    struct err why = {0};
    enum st dwarf = open_debug(l, s, alt, complain, ctx, &why);
    dwarf = tolerate_damage(dwarf, &why, object_slice_path(s), complain, ctx, e);
    enum st st =
        dwarf == ST_ERR ? ST_ERR : own_symbols_open(&l->symbols, s, paired, complain, ctx, e);
    if (st == ST_NONE && dwarf == ST_OK) {
        st = ST_OK;
    } else if (st == ST_NONE && err_is(&why)) {
        st = err_set(e, why.code, "%s", why.text); /* damage is not absence */
    }
    if (st != ST_OK) {
        live_close(&l->source);
        return st;
    }
    *out = &l->source;
    return ST_OK;
}
