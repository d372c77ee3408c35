/* Finds the spans of an object file, and moves addresses by them. */
#include "debug/link_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/map.h"
#include "base/search.h"

enum { WORK_FREE = 1 << 16, WORK_PER_ITEM = 32 };

/* The addresses of the object file's symbols by their names. */
struct symbol_addresses {
    struct map names; /* name -> index in addresses; SIZE_MAX = the name has several addresses */
    VEC(uint64_t) addresses;
};

static bool add_symbol_name(struct symbol_addresses *a, const char *name, uint64_t address) {
    bool added = false;
    struct map_entry *entry = map_put(&a->names, name, strlen(name), a->addresses.len, &added);
    if (!entry) {
        return false;
    }
    if (!added && entry->value != SIZE_MAX && a->addresses.data[entry->value] != address) {
        entry->value = SIZE_MAX;
    }
    return !added || VEC_PUSH(&a->addresses, address);
}

static enum st read_symbol_addresses(struct symbol_addresses *a, const struct object_slice *s,
                                     struct err *e) {
    const struct object_symbol *symbols;
    const struct object_alias *aliases;
    size_t count, alias_count;
    enum st st = object_symbols(s, &symbols, &count, e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        st = add_symbol_name(a, symbols[i].name, symbols[i].address) ? ST_OK : err_nomem(e);
    }
    if (st != ST_OK) {
        return st;
    }
    st = object_aliases(s, &aliases, &alias_count, e);
    for (size_t i = 0; st == ST_OK && i < alias_count; i++) {
        st = add_symbol_name(a, aliases[i].name, aliases[i].address) ? ST_OK : err_nomem(e);
    }
    return st == ST_NONE ? ST_OK : st;
}

static int by_low(const void *a, const void *b) {
    const struct link_span *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    order = order ? order : COMPARE(y->high, x->high);
    return order ? order : COMPARE(x->to, y->to);
}

/* Makes the spans disjoint and ascending: of those that begin at one address the longest is kept,
 * and one that reaches into the next is cut where the next begins. */
static void part_spans(struct link_spans *l) {
    size_t kept = 0;
    if (l->len > 1) {
        qsort(l->data, l->len, sizeof *l->data, by_low);
    }
    for (size_t i = 0; i < l->len; i++) {
        struct link_span s = l->data[i];
        if (kept > 0 && l->data[kept - 1].low == s.low) {
            continue;
        }
        if (kept > 0 && l->data[kept - 1].high > s.low) {
            l->data[kept - 1].high = s.low;
        }
        l->data[kept++] = s;
    }
    l->len = kept;
}

/* The parts of a debug map and of an object file that are compared. */
struct comparison {
    struct symbol_addresses symbols;
    uint64_t *bounds; /* addresses at which the linker may part the file's code; malloc'ed */
    size_t bound_count;
    uint64_t padding; /* bytes between a function's end and the next bound, at most */
};

enum { X86_PADDING = 15 }; /* functions mostly have multiples of 16 as addresses */

static enum st begin_comparison(struct comparison *c, const struct object_slice *object,
                                struct err *e) {
    const char *arch = object_slice_arch(object);
    bool x86 = strncmp(arch, "x86_64", 6) == 0 || strcmp(arch, "i386") == 0;
    *c = (struct comparison){.padding = x86 ? X86_PADDING : 0};
    enum st st = read_symbol_addresses(&c->symbols, object, e);
    return st == ST_OK ? object_code_bounds(object, &c->bounds, &c->bound_count, e) : st;
}

static void end_comparison(struct comparison *c) {
    map_release(&c->symbols.names);
    VEC_RELEASE(&c->symbols.addresses);
    free(c->bounds);
}

/* Can a function at this address of the object file have this size in the linked file? The linker
 * copies the code up to the next bound, with or without the padding at its end. */
static bool has_size(const struct comparison *c, uint64_t address, uint64_t size) {
    size_t next = search_above(c->bounds, c->bound_count, sizeof *c->bounds, address);
    uint64_t room = next < c->bound_count ? c->bounds[next] - address : 0;
    return size <= room && room - size <= c->padding;
}

/* Appends the span of a function; none, with ST_OK, if its name has several addresses. ST_NONE: the
 * object file lacks the function, or has it with another size. */
static enum st compare_function(const struct comparison *c, const struct map_function *f,
                                struct link_spans *out) {
    const struct map_entry *entry = map_get(&c->symbols.names, f->name, strlen(f->name));
    struct link_span s = {.to = f->address};
    if (!entry || entry->value == SIZE_MAX) {
        return entry ? ST_OK : ST_NONE;
    }
    s.low = c->symbols.addresses.data[entry->value];
    if (!has_size(c, s.low, f->size) || !checked_add_u64(s.low, f->size, &s.high)) {
        return ST_NONE;
    }
    out->data[out->len++] = s;
    return ST_OK;
}

/* Appends the spans of functions at one address of the linked file, which are one function. A name
 * that the object file lacks may be an alias that the linker was told to make (-alias). ST_NONE:
 * the object file lacks all their names, or has one of them with another size. */
static enum st compare_aliases(const struct comparison *c, const struct map_function *f,
                               size_t count, struct link_spans *out) {
    bool one = false;
    for (size_t i = 0; i < count; i++) {
        bool known = map_get(&c->symbols.names, f[i].name, strlen(f[i].name)) != NULL;
        if (known && compare_function(c, &f[i], out) != ST_OK) {
            return ST_NONE;
        }
        one = one || known;
    }
    return one ? ST_OK : ST_NONE;
}

enum st link_spans_read(struct link_spans *out, const struct map_function *functions, size_t count,
                        const struct object_slice *object, struct err *e) {
    struct comparison c = {0};
    *out = (struct link_spans){.data = calloc(count, sizeof *out->data), .work = WORK_FREE};
    enum st st = out->data ? begin_comparison(&c, object, e) : err_nomem(e);
    for (size_t i = 0, next; st == ST_OK && i < count; i = next) {
        for (next = i + 1; next < count && functions[next].address == functions[i].address;) {
            next++;
        }
        st = compare_aliases(&c, &functions[i], next - i, out);
    }
    end_comparison(&c);
    part_spans(out);
    link_spans_allow(out, out->len);
    return st;
}

void link_spans_release(struct link_spans *s) {
    free(s->data);
    *s = (struct link_spans){0};
}

size_t link_spans_above(const struct link_spans *s, uint64_t address) {
    return SEARCH_ABOVE(s->data, s->len, high, address);
}

enum st link_spans_charge(struct link_spans *s, struct err *e) {
    if (s->work == 0) {
        return err_set(e, ERR_LIMIT, "the object file costs more work than its size allows");
    }
    s->work--;
    return ST_OK;
}

void link_spans_allow(struct link_spans *s, size_t items) {
    s->work += WORK_PER_ITEM * (uint64_t)items;
}

bool link_spans_address(const struct link_spans *s, uint64_t address, uint64_t *out) {
    size_t i = link_spans_above(s, address);
    if (i == s->len || s->data[i].low > address) {
        return false;
    }
    *out = s->data[i].to + (address - s->data[i].low);
    return true;
}

enum st link_spans_range(struct link_spans *s, struct debug_range r, struct range_vec *out,
                         struct err *e) {
    for (size_t i = link_spans_above(s, r.low); i < s->len && s->data[i].low < r.high; i++) {
        const struct link_span *span = &s->data[i];
        uint64_t low = r.low > span->low ? r.low : span->low;
        uint64_t high = r.high < span->high ? r.high : span->high;
        struct debug_range piece = {span->to + (low - span->low), span->to + (high - span->low)};
        if (link_spans_charge(s, e) != ST_OK) {
            return ST_ERR;
        }
        if (!VEC_PUSH(out, piece)) {
            return err_nomem(e);
        }
    }
    return ST_OK;
}
