/* Flattening of overlapping intervals. Sound debug info nests them: one sweep with a stack does.
 * Any others are painted from the last to the first, each where nothing is painted yet; a forest of
 * skips over painted cells keeps that near linear (Tarjan's union-find with path halving). */
#include "index/spans.h"

#include <stdlib.h>

#include "base/vec.h"

/* Appends [low, high) unless it is empty. */
static enum st append(struct span_vec *out, size_t first, uint64_t low, uint64_t high, size_t owner,
                      struct err *e) {
    struct span *last = out->len > first ? &out->data[out->len - 1] : NULL;
    struct span s = {low, high, owner};
    if (low >= high) {
        return ST_OK;
    }
    if (last && last->high == low && last->owner == owner) {
        last->high = high;
        return ST_OK;
    }
    return VEC_PUSH(out, s) ? ST_OK : err_nomem(e);
}

/* ---- spans that nest ---- */

enum { MOVES_PER_SPAN = 16, SPANS_FEW = 64 /* that need no memory */ };

/* Fills order with indexes by lowest address, equal ones as they stand. False: they are too far
 * from it for so simple a way. */
static bool sort_almost_sorted(const struct span *in, size_t n, size_t *order) {
    size_t moves = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && in[order[at - 1]].low > in[i].low; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
        moves += i - at;
        if (moves > MOVES_PER_SPAN * n) {
            return false;
        }
    }
    return true;
}

/* Spans around the place of the sweep, the innermost last: each lies in the one before, and counts
 * before it. */
struct nest {
    const struct span *in;
    size_t *open, depth; /* indexes */
    uint64_t at;         /* up to here all is appended */
    struct span_vec *out;
    size_t first;
};

/* Appends what is left of the spans that end up to an address. */
static enum st leave(struct nest *n, uint64_t address, struct err *e) {
    enum st st = ST_OK;
    while (st == ST_OK && n->depth > 0 && n->in[n->open[n->depth - 1]].high <= address) {
        const struct span *s = &n->in[n->open[--n->depth]];
        st = append(n->out, n->first, n->at, s->high, s->owner, e);
        n->at = s->high;
    }
    return st;
}

/* ST_NONE: they do not nest; what was appended is taken back. */
static enum st sweep(struct nest *n, const size_t *order, size_t count, struct err *e) {
    for (size_t i = 0; i < count; i++) {
        const struct span *s = &n->in[order[i]];
        if (leave(n, s->low, e) != ST_OK) {
            return ST_ERR;
        }
        if (n->depth > 0) {
            const struct span *around = &n->in[n->open[n->depth - 1]];
            if (s->high > around->high || s < around) {
                n->out->len = n->first;
                return ST_NONE;
            }
            if (append(n->out, n->first, n->at, s->low, around->owner, e) != ST_OK) {
                return ST_ERR;
            }
        }
        n->at = s->low;
        n->open[n->depth++] = order[i];
    }
    return leave(n, UINT64_MAX, e);
}

/* ---- any spans ---- */

static int by_value(const void *a, const void *b) {
    uint64_t x, y;
    x = *(const uint64_t *)a;
    y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* All ends, ascending, each once. */
static size_t collect_ends(const struct span *in, size_t n, uint64_t *ends) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        ends[2 * i] = in[i].low;
        ends[2 * i + 1] = in[i].high;
    }
    qsort(ends, 2 * n, sizeof *ends, by_value);
    for (size_t i = 0; i < 2 * n; i++) {
        if (kept == 0 || ends[kept - 1] != ends[i]) {
            ends[kept++] = ends[i];
        }
    }
    return kept;
}

static size_t cell_of(const uint64_t *ends, size_t n, uint64_t address) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ends[middle] < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The first unpainted cell at or behind i. */
static size_t unpainted(size_t *skip, size_t i) {
    while (skip[i] != i) {
        skip[i] = skip[skip[i]];
        i = skip[i];
    }
    return i;
}

/* owner[cell] becomes 1 + the span that counts there; 0 = none. */
static void paint(const struct span *in, size_t n, const uint64_t *ends, size_t cells, size_t *skip,
                  size_t *owner) {
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

static enum st paint_all(const struct span *in, size_t n, struct span_vec *out, struct err *e) {
    size_t first = out->len;
    enum st st = ST_OK;
    uint64_t *ends = calloc(n, 2 * sizeof *ends);
    size_t *skip = calloc(2 * n + 1, sizeof *skip), *owner = calloc(2 * n + 1, sizeof *owner);
    if (!ends || !skip || !owner) {
        st = err_nomem(e);
        goto out;
    }
    size_t cells = collect_ends(in, n, ends);
    paint(in, n, ends, cells, skip, owner);
    for (size_t i = 0; i + 1 < cells && st == ST_OK; i++) {
        if (owner[i]) {
            st = append(out, first, ends[i], ends[i + 1], in[owner[i] - 1].owner, e);
        }
    }
out:
    free(ends);
    free(skip);
    free(owner);
    return st;
}

enum st spans_flatten(const struct span *in, size_t n, struct span_vec *out, struct err *e) {
    size_t few[2 * SPANS_FEW];
    if (n <= 1) {
        return n == 0 ? ST_OK : append(out, out->len, in->low, in->high, in->owner, e);
    }
    size_t *order = n <= SPANS_FEW ? few : calloc(n, 2 * sizeof *order);
    if (!order) {
        return err_nomem(e);
    }
    struct nest nest = {.in = in, .open = order + n, .out = out, .first = out->len};
    enum st st = sort_almost_sorted(in, n, order) ? sweep(&nest, order, n, e) : ST_NONE;
    if (order != few) {
        free(order);
    }
    return st == ST_NONE ? paint_all(in, n, out, e) : st;
}

size_t spans_from(const struct span_vec *v, uint64_t address) {
    size_t low = 0, high = v->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->data[middle].high <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
