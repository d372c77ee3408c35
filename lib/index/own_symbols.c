/* Finds the names and bounds of functions that have no DWARF: in the slice's own symbol table, in
 * .eh_frame and in LC_FUNCTION_STARTS. */
#include "index/own_symbols.h"

#include <string.h>

#include "base/search.h"

enum st tolerate_damage(enum st st, const struct err *why, const char *file,
                        lookup_complain complain, void *ctx, struct err *e) {
    if (st != ST_ERR) {
        return st;
    }
    if (why->code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (complain) {
        complain(ctx, file, LOOKUP_NO_UNIT, why);
    }
    return ST_NONE;
}

static enum st take_symbols(struct own_symbols *out, const struct object_slice *s, struct err *e) {
    enum st st = object_symbols(s, &out->symbols, &out->symbol_count, e);
    out->hidden = st == ST_OK && object_hidden_symbols(s) > 0;
    out->names_cut = out->hidden && object_bcsymbolmap(s);
    if (st == ST_OK && object_aliases(s, &out->aliases, &out->alias_count, e) == ST_ERR) {
        return ST_ERR;
    }
    return st;
}

/* Reads the extents of functions from the slice, else from its paired binary: in a separate debug
 * file the tables are often empty. */
static enum st read_functions(struct own_symbols *out, const struct object_slice *s,
                              const struct object_slice *paired, struct err *e) {
    enum st st = object_function_extents(s, &out->functions, &out->function_count, e);
    if (st == ST_NONE && paired) {
        st = object_function_extents(paired, &out->functions, &out->function_count, e);
    }
    return st;
}

enum st own_symbols_open(struct own_symbols *out, const struct object_slice *s,
                         const struct object_slice *paired, lookup_complain complain, void *ctx,
                         struct err *e) {
    struct err why = {0};
    *out = (struct own_symbols){0};
    enum st st = take_symbols(out, s, &why);
    st = tolerate_damage(st, &why, object_slice_path(s), complain, ctx, e);
    if (st == ST_NONE && paired) {
        err_clear(&why);
        st = take_symbols(out, paired, &why);
        st = tolerate_damage(st, &why, object_slice_path(paired), complain, ctx, e);
    }
    if (st == ST_OK && paired) {
        err_clear(&why);
        enum st starts = object_function_starts(paired, &out->starts, &out->start_count, &why);
        if (tolerate_damage(starts, &why, object_slice_path(paired), complain, ctx, e) == ST_ERR) {
            return ST_ERR;
        }
    }
    return st == ST_ERR || read_functions(out, s, paired, e) == ST_ERR ? ST_ERR : st;
}

size_t own_symbols_below(const struct own_symbols *own, uint64_t address) {
    return SEARCH_ABOVE(own->symbols, own->symbol_count, address, address);
}

/* Returns the first function start above the address; UINT64_MAX: none. */
static uint64_t next_start(const struct own_symbols *own, uint64_t address) {
    size_t i = search_above(own->starts, own->start_count, sizeof *own->starts, address);
    return i < own->start_count ? own->starts[i] : UINT64_MAX;
}

uint64_t own_symbols_end(const struct own_symbols *own, size_t i) {
    const struct object_symbol *s = &own->symbols[i];
    uint64_t end = s->size > UINT64_MAX - s->address ? UINT64_MAX : s->address + s->size;
    if (i + 1 < own->symbol_count && s[1].address < end) {
        end = s[1].address;
    }
    uint64_t start = next_start(own, s->address);
    return start < end ? start : end;
}

const struct object_symbol *own_symbols_find(const struct own_symbols *own, uint64_t address) {
    size_t below = own_symbols_below(own, address);
    return below > 0 && address < own_symbols_end(own, below - 1) ? &own->symbols[below - 1] : NULL;
}

size_t own_symbols_function_from(const struct own_symbols *own, uint64_t address) {
    return SEARCH_ABOVE(own->functions, own->function_count, high, address);
}

/* Returns the symbol that begins at the address, or NULL. */
static const struct object_symbol *symbol_at(const struct own_symbols *own, uint64_t address) {
    size_t below = own_symbols_below(own, address);
    const struct object_symbol *s = below > 0 ? &own->symbols[below - 1] : NULL;
    return s && s->address == address ? s : NULL;
}

/* Bytes of a name that cost as much as comparing one symbol: hostile symbols may all share a long
 * name except for its end. */
enum { NAME_BYTES_AT_ONCE = 16 };

/* Returns the address of the symbol with this name in the range; UINT64_MAX: none, or *work is used
 * up. cost: work per symbol that is compared. */
static uint64_t address_of(const struct own_symbols *own, const char *name,
                           const struct debug_range *range, uint64_t cost, uint64_t *work) {
    size_t i = range->low > 0 ? own_symbols_below(own, range->low - 1) : 0;
    for (; i < own->symbol_count && own->symbols[i].address < range->high; i++) {
        if (*work < cost) {
            break;
        }
        *work -= cost;
        if (strcmp(own->symbols[i].name, name) == 0) {
            return own->symbols[i].address;
        }
    }
    return UINT64_MAX;
}

void own_symbols_enter(const struct own_symbols *own, struct debug_function *f, uint64_t *work) {
    const char *name = f->linkage ? f->linkage : f->name;
    const struct object_symbol *s = symbol_at(own, f->entry);
    if (!name || (s && strcmp(s->name, name) == 0)) {
        return;
    }
    uint64_t entry = UINT64_MAX, cost = 1 + strlen(name) / NAME_BYTES_AT_ONCE;
    for (size_t i = 0; i < f->range_count && entry == UINT64_MAX; i++) {
        entry = address_of(own, name, &f->ranges[i], cost, work);
    }
    f->entry = entry == UINT64_MAX ? f->entry : entry;
}

/* Is the name an alias of the symbol at the address? */
static bool is_alias(const struct own_symbols *own, uint64_t address, const char *name) {
    size_t low = 0, high = own->alias_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct object_alias *a = &own->aliases[middle];
        int order = COMPARE(a->address, address);
        order = order ? order : strcmp(a->name, name);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

void inline_name(const struct debug_function *f, const char **function, const char **linkage) {
    *function = f->name ? f->name : f->linkage;
    *linkage = f->linkage ? f->linkage : f->name;
}

void own_symbols_name(const struct own_symbols *own, const struct debug_function *f,
                      const char **function, const char **linkage) {
    inline_name(f, function, linkage);
    if (f->linkage && !bcsymbolmap_is_hidden(f->linkage)) {
        return;
    }
    const struct object_symbol *s = symbol_at(own, f->entry);
    if (!s || bcsymbolmap_is_hidden(s->name)) {
        return;
    }
    bool named = f->name && !bcsymbolmap_is_hidden(f->name);
    *linkage = named && is_alias(own, f->entry, f->name) ? f->name : s->name;
    *function = named ? f->name : s->name;
}
