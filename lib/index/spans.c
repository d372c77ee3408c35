/* Flattening of overlapping intervals: they are painted from the last to the first, each where
 * nothing is painted yet; a forest of skips over painted cells keeps that near linear (Tarjan's
 * union-find with path halving). */
#include "index/spans.h"

#include <stdlib.h>

#include "base/vec.h"

static bool ascend(const struct span *in, size_t n) {
    for (size_t i = 1; i < n; i++) {
        if (in[i].low < in[i - 1].high) {
            return false;
        }
    }
    return true;
}

static enum st append(struct span_vec *out, struct span s, size_t first, bool join, struct err *e) {
    struct span *last = out->len > first ? &out->data[out->len - 1] : NULL;
    if (join && last && last->high == s.low && last->owner == s.owner) {
        last->high = s.high;
        return ST_OK;
    }
    return VEC_PUSH(out, s) ? ST_OK : err_nomem(e);
}

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

enum st spans_flatten(const struct span *in, size_t n, bool join, struct span_vec *out,
                      struct err *e) {
    size_t first = out->len;
    enum st st = ST_OK;
    if (ascend(in, n)) {
        for (size_t i = 0; i < n && st == ST_OK; i++) {
            st = append(out, in[i], first, join, e);
        }
        return st;
    }
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
            struct span s = {ends[i], ends[i + 1], in[owner[i] - 1].owner};
            st = append(out, s, first, join, e);
        }
    }
out:
    free(ends);
    free(skip);
    free(owner);
    return st;
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
