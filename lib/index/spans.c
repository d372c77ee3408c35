/* Flattens overlapping intervals. Undamaged debug info nests them: one sweep with a stack does.
 * Other intervals are painted from the last to the first, each where nothing is painted yet; a
 * union-find forest over painted cells keeps this nearly linear (Tarjan, with path halving). */
#include "index/spans.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/vec.h"

/* Appends [low, high) to *out, which must have room, as a span of `owner`; nothing if it is empty.
 * If the last span, at index `first` or above, ends at `low` and has this owner, it is extended. */
static inline void append_span(struct span_vec *out, size_t first, uint64_t low, uint64_t high,
                               size_t owner) {
    struct code_span *last = out->len > first ? &out->data[out->len - 1] : NULL;
    if (low >= high) {
        return;
    }
    if (last && last->high == low && last->owner == owner) {
        last->high = high;
    } else {
        out->data[out->len++] = (struct code_span){low, high, owner};
    }
}

/* ---- spans that follow each other ---- */

static bool are_disjoint(const struct code_span *in, size_t n) {
    size_t i = 1;
    while (i < n && in[i - 1].high <= in[i].low) {
        i++;
    }
    return i >= n;
}

static enum st append_all(const struct code_span *in, size_t n, struct span_vec *out,
                          struct err *e) {
    size_t first = out->len;
    if (!VEC_RESERVE(out, n)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < n; i++) {
        append_span(out, first, in[i].low, in[i].high, in[i].owner);
    }
    return ST_OK;
}

/* ---- spans that nest ---- */

/* MOVES_PER_SPAN: limit on the moves of the insertion sort, for each span, beyond which qsort
 * sorts. SPANS_FEW: number of spans up to which sorting allocates no memory. */
enum { MOVES_PER_SPAN = 16, SPANS_FEW = 64 };

static int by_low_and_place(const void *a, const void *b) {
    const struct code_span *x = *(const struct code_span *const *)a;
    const struct code_span *y = *(const struct code_span *const *)b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(x, y);
}

/* Sorts pointers to the spans into `order` by lowest address, equal ones in the order of `in`.
 * Insertion sort is tried first, because most inputs are in order, or nearly. */
static void sort_by_low(const struct code_span *in, size_t n, const struct code_span **order) {
    size_t moves = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && order[at - 1]->low > in[i].low; at--) {
            order[at] = order[at - 1];
        }
        order[at] = &in[i];
        moves += i - at;
        if (moves > MOVES_PER_SPAN * n) {
            for (i++; i < n; i++) {
                order[i] = &in[i];
            }
            qsort(order, n, sizeof *order, by_low_and_place);
        }
    }
}

/* The spans around the sweep's position, the innermost last: each is inside of the one before it,
 * and takes precedence over it. */
struct span_nest {
    const struct code_span **open;
    size_t depth;
    uint64_t at; /* the address up to which spans were appended */
    struct span_vec *out;
    size_t first;
};

/* Appends the remainders of the open spans that end at or below the address, and closes them. */
static inline void leave_nest(struct span_nest *n, uint64_t address) {
    while (n->depth > 0 && n->open[n->depth - 1]->high <= address) {
        const struct code_span *s = n->open[--n->depth];
        append_span(n->out, n->first, n->at, s->high, s->owner);
        n->at = s->high;
    }
}

/* Flattens spans that nest. Each span makes at most two appends: the part of the span around it
 * that lies in front of it, and its own remainder. ST_NONE: the spans do not nest, or a span
 * precedes, in the input, the one around it; nothing is appended then. */
static enum st sweep_nest(struct span_nest n, const struct code_span *const *order, size_t count,
                          struct err *e) {
    if (!VEC_RESERVE(n.out, 2 * count)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < count; i++) {
        const struct code_span *s = order[i];
        leave_nest(&n, s->low);
        if (n.depth > 0) {
            const struct code_span *around = n.open[n.depth - 1];
            if (s->high > around->high || s < around) {
                n.out->len = n.first;
                return ST_NONE;
            }
            append_span(n.out, n.first, n.at, s->low, around->owner);
        }
        n.at = s->low;
        n.open[n.depth++] = s;
    }
    leave_nest(&n, UINT64_MAX);
    return ST_OK;
}

/* ---- any spans ---- */

static int by_cell_end(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return COMPARE(x, y);
}

/* Collects the starts and ends of all spans, ascending, each once; returns how many. */
static size_t collect_ends(const struct code_span *in, size_t n, uint64_t *ends) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        ends[2 * i] = in[i].low;
        ends[2 * i + 1] = in[i].high;
    }
    qsort(ends, 2 * n, sizeof *ends, by_cell_end);
    for (size_t i = 0; i < 2 * n; i++) {
        if (kept == 0 || ends[kept - 1] != ends[i]) {
            ends[kept++] = ends[i];
        }
    }
    return kept;
}

/* Returns the index of an address in `ends`, which must have it. */
static size_t cell_of(const uint64_t *ends, size_t n, uint64_t address) {
    return search_above(ends, n, sizeof *ends, address) - 1;
}

/* Returns the first unpainted cell at or after cell i. */
static size_t unpainted(size_t *skip, size_t i) {
    while (skip[i] != i) {
        skip[i] = skip[skip[i]];
        i = skip[i];
    }
    return i;
}

/* Sets owner[cell] to 1 + the index of the span that counts in the cell; 0 = none. */
static void paint_cells(const struct code_span *in, size_t n, const uint64_t *ends, size_t cells,
                        size_t *skip, size_t *owner) {
    for (size_t i = 0; i <= cells; i++) {
        skip[i] = i;
        owner[i] = 0;
    }
    for (size_t i = n; i > 0; i--) {
        size_t end = cell_of(ends, cells, in[i - 1].high);
        size_t at = unpainted(skip, cell_of(ends, cells, in[i - 1].low));
        while (at < end) {
            owner[at] = i;
            skip[at] = at + 1;
            at = unpainted(skip, at);
        }
    }
}

static enum st paint_all(const struct code_span *in, size_t n, struct span_vec *out,
                         struct err *e) {
    size_t first = out->len;
    enum st st = ST_OK;
    uint64_t *ends = calloc(n, 2 * sizeof *ends);
    size_t *skip = calloc(2 * n + 1, sizeof *skip), *owner = calloc(2 * n + 1, sizeof *owner);
    if (!ends || !skip || !owner) {
        st = err_nomem(e);
        goto out;
    }
    size_t cells = collect_ends(in, n, ends);
    if (!VEC_RESERVE(out, cells)) {
        st = err_nomem(e);
        goto out;
    }
    paint_cells(in, n, ends, cells, skip, owner);
    for (size_t i = 0; i + 1 < cells; i++) {
        if (owner[i]) {
            append_span(out, first, ends[i], ends[i + 1], in[owner[i] - 1].owner);
        }
    }
out:
    free(ends);
    free(skip);
    free(owner);
    return st;
}

enum st spans_flatten(const struct code_span *in, size_t n, struct span_vec *out, struct err *e) {
    const struct code_span *few[2 * SPANS_FEW];
    if (are_disjoint(in, n)) {
        return append_all(in, n, out, e);
    }
    const struct code_span **order = n <= SPANS_FEW ? few : calloc(n, 2 * sizeof *order);
    if (!order) {
        return err_nomem(e);
    }
    sort_by_low(in, n, order);
    struct span_nest nest = {.open = order + n, .out = out, .first = out->len};
    enum st st = sweep_nest(nest, order, n, e);
    if (order != few) {
        free(order);
    }
    return st == ST_NONE ? paint_all(in, n, out, e) : st;
}
