/* Finding the spans, and moving addresses by them. */
#include "debug/link_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/map.h"
#include "base/search.h"

enum { WORK_FREE = 1 << 16, WORK_PER_ITEM = 32 };

/* The addresses of the object file's symbols; a name that two addresses have is of neither. */
struct symbol_addresses {
    struct map names; /* name -> index into addresses, SIZE_MAX = of several */
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

/* Of spans that begin at one address the longest counts; each ends where the next one begins. */
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

enum st link_spans_read(struct link_spans *out, const struct map_function *functions, size_t count,
                        const struct object_slice *object, struct err *e) {
    struct symbol_addresses a = {0};
    *out = (struct link_spans){.data = calloc(count, sizeof *out->data), .work = WORK_FREE};
    enum st st = out->data ? read_symbol_addresses(&a, object, e) : err_nomem(e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        const struct map_function *f = &functions[i];
        const struct map_entry *entry = map_get(&a.names, f->name, strlen(f->name));
        struct link_span s = {.to = f->address};
        if (entry && entry->value != SIZE_MAX) {
            s.low = a.addresses.data[entry->value];
            if (checked_add_u64(s.low, f->size, &s.high)) {
                out->data[out->len++] = s;
            }
        }
    }
    map_release(&a.names);
    VEC_RELEASE(&a.addresses);
    part_spans(out);
    link_spans_allow(out, out->len);
    if (st != ST_ERR && out->len == 0) {
        st = err_set(e, ERR_FORMAT,
                     "the object file has none of the functions that the debug map says it has");
    }
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
