/* Flattening of overlapping intervals. Sound debug info nests them: one sweep with a stack does.
 * Any others are painted from the last to the first, each where nothing is painted yet; a forest of
 * skips over painted cells keeps that near linear (Tarjan's union-find with path halving). */
#include "index/spans.h"

#include <stdlib.h>

#include "base/vec.h"

/* Appends [low, high), for which there is room, unless it is empty. */
static inline void append(struct span_vec *out, size_t first, uint64_t low, uint64_t high,
                          size_t owner) {
    struct span *last = out->len > first ? &out->data[out->len - 1] : NULL;
    if (low >= high) {
        return;
    }
    if (last && last->high == low && last->owner == owner) {
        last->high = high;
    } else {
        out->data[out->len++] = (struct span){low, high, owner};
    }
}

/* ---- spans that follow each other ---- */

static bool are_disjoint(const struct span *in, size_t n) {
    size_t i = 1;
    while (i < n && in[i - 1].high <= in[i].low) {
        i++;
    }
    return i >= n;
}

static enum st append_all(const struct span *in, size_t n, struct span_vec *out, struct err *e) {
    size_t first = out->len;
    if (!VEC_RESERVE(out, n)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < n; i++) {
        append(out, first, in[i].low, in[i].high, in[i].owner);
    }
    return ST_OK;
}

/* ---- spans that nest ---- */

enum { MOVES_PER_SPAN = 4, SPANS_FEW = 64 /* that need no memory */ };

/* The end of the ascending run of indexes that begins at i. */
static size_t run_end(const struct span *in, const size_t *order, size_t i, size_t n) {
    for (i++; i < n && in[order[i - 1]].low <= in[order[i]].low; i++) {
    }
    return i;
}

/* Merges runs pairwise, pass by pass, from one array to the other and back; returns the array that
 * holds the sorted indexes. */
static size_t *merge_runs(const struct span *in, size_t n, size_t *from, size_t *to) {
    while (run_end(in, from, 0, n) < n) {
        for (size_t i = 0; i < n;) {
            size_t a = i, a_end = run_end(in, from, a, n), b = a_end;
            size_t b_end = b < n ? run_end(in, from, b, n) : n;
            for (; i < b_end; i++) {
                bool first = b == b_end || (a < a_end && in[from[a]].low <= in[from[b]].low);
                to[i] = from[first ? a++ : b++];
            }
        }
        size_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* Sorts indexes by lowest address, equal ones in their order, into one of two arrays of n, and
 * returns which; the other one is free again. Most input is nearly in order. */
static size_t *sort_indexes(const struct span *in, size_t n, size_t *order, size_t *spare) {
    size_t moves = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && in[order[at - 1]].low > in[i].low; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
        moves += i - at;
        if (moves > MOVES_PER_SPAN * n) {
            for (i++; i < n; i++) {
                order[i] = i;
            }
            return merge_runs(in, n, order, spare);
        }
    }
    return order;
}

/* The spans around the sweep's position, the innermost last: each lies in the one before, and
 * counts before it. */
struct nest {
    const struct span *in;
    size_t *open, depth; /* indexes */
    uint64_t at;         /* up to here all is appended */
    struct span_vec *out;
    size_t first;
};

/* Appends the remainders of the spans that end up to an address. */
static inline void leave(struct nest *n, uint64_t address) {
    while (n->depth > 0 && n->in[n->open[n->depth - 1]].high <= address) {
        const struct span *s = &n->in[n->open[--n->depth]];
        append(n->out, n->first, n->at, s->high, s->owner);
        n->at = s->high;
    }
}

/* Each span appends at most twice: its part in front of an inner one, and its remainder. ST_NONE:
 * the spans do not nest; what was appended is taken back. */
static enum st sweep(struct nest n, const size_t *order, size_t count, struct err *e) {
    if (!VEC_RESERVE(n.out, 2 * count)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < count; i++) {
        const struct span *s = &n.in[order[i]];
        leave(&n, s->low);
        if (n.depth > 0) {
            const struct span *around = &n.in[n.open[n.depth - 1]];
            if (s->high > around->high || s < around) {
                n.out->len = n.first;
                return ST_NONE;
            }
            append(n.out, n.first, n.at, s->low, around->owner);
        }
        n.at = s->low;
        n.open[n.depth++] = order[i];
    }
    leave(&n, UINT64_MAX);
    return ST_OK;
}

/* ---- any spans ---- */

static int by_value(const void *a, const void *b) {
    uint64_t x, y;
    x = *(const uint64_t *)a;
    y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Collects all ends, ascending, each once. */
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

/* Sets owner[cell] to 1 + the span that counts there; 0 = none. */
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
    if (!VEC_RESERVE(out, cells)) {
        st = err_nomem(e);
        goto out;
    }
    paint(in, n, ends, cells, skip, owner);
    for (size_t i = 0; i + 1 < cells; i++) {
        if (owner[i]) {
            append(out, first, ends[i], ends[i + 1], in[owner[i] - 1].owner);
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
    if (are_disjoint(in, n)) {
        return append_all(in, n, out, e);
    }
    size_t *order = n <= SPANS_FEW ? few : calloc(n, 2 * sizeof *order);
    if (!order) {
        return err_nomem(e);
    }
    const size_t *sorted = sort_indexes(in, n, order, order + n);
    struct nest nest = {
        .in = in, .open = sorted == order ? order + n : order, .out = out, .first = out->len};
    enum st st = sweep(nest, sorted, n, e);
    if (order != few) {
        free(order);
    }
    return st == ST_NONE ? paint_all(in, n, out, e) : st;
}
