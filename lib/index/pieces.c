/* Cuts code into pieces. */
#include "index/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sort.h"
#include "base/vec.h"
#include "index/live_private.h"

struct cutting {
    struct piece_vec *out;
    struct encoder *c;
    const struct unit_code *units;
    size_t claimants[LIVE_CLAIMS_MAX]; /* units that claim the current stretch, in their order */
    size_t claimant_count;
    /* The last piece: `end` of the piece, `reach` = end of the code of its record, and its
     * owner. */
    uint64_t end, reach;
    uint32_t record;                      /* offset of the record of a function; 0 = none */
    const struct object_symbol *symbol;   /* symbol without a line; NULL = none */
    const struct object_extent *nameless; /* function without a name; NULL = none */
    bool failed;
};

/* ---- pieces ---- */

static void push_piece(struct cutting *k, uint64_t at, uint32_t record) {
    struct code_piece p = {at, record};
    if (!VEC_PUSH(k->out, p)) {
        k->failed = true;
    }
}

/* Adds a piece without a record at the end of the last piece, if `next` is above that end and the
 * code of the last piece's record goes on there, to which the gap would otherwise be counted. */
static void close_gap(struct cutting *k, uint64_t next) {
    if (k->out->len > 0 && k->reach > k->end && next > k->end) {
        push_piece(k, k->end, 0);
    }
}

static void put_owned(struct cutting *k, uint64_t low, uint64_t high, const struct owned_code *o) {
    if (k->record == o->record && k->end == low && k->out->len > 0) {
        k->end = high; /* the last piece continues */
        return;
    }
    close_gap(k, low);
    push_piece(k, low,
               low == o->record_low ? o->record
                                    : encode_part(k->c, low - o->record_low, o->record));
    k->end = high;
    k->reach = o->record_high;
    k->record = o->record;
    k->symbol = NULL;
    k->nameless = NULL;
}

static void put_symbol(struct cutting *k, uint64_t low, uint64_t high,
                       const struct object_symbol *s, const struct flat_place *place) {
    if (k->symbol == s && !place && k->end == low) {
        k->end = high;
        return;
    }
    close_gap(k, low);
    push_piece(k, low, encode_symbol(k->c, s, low - s->address, place));
    k->end = high;
    k->reach = s->address + s->size;
    k->record = 0;
    k->symbol = place ? NULL : s;
    k->nameless = NULL;
}

static void put_nameless(struct cutting *k, uint64_t low, uint64_t high,
                         const struct object_extent *x) {
    if (k->nameless == x && k->end == low) {
        k->end = high;
        return;
    }
    close_gap(k, low);
    push_piece(k, low, encode_nameless(k->c, x, low - x->low));
    k->end = high;
    k->reach = x->high;
    k->record = 0;
    k->symbol = NULL;
    k->nameless = x;
}

/* ---- the record that answers for a stretch of code ---- */

/* Assigns [low, high) to the symbol, each part with the line of the first claimant, from `rank` on,
 * that has one. */
static void cut_lines(struct cutting *k, uint64_t low, uint64_t high, const struct object_symbol *s,
                      size_t rank) {
    if (rank == k->claimant_count) {
        put_symbol(k, low, high, s, NULL);
        return;
    }
    const struct unit_code *u = &k->units[k->claimants[rank]];
    size_t i = SEARCH_ABOVE(u->rows, u->row_count, high, low);
    for (; i < u->row_count && u->rows[i].low < high; i++) {
        const struct flat_row *r = &u->rows[i];
        uint64_t from = r->low > low ? r->low : low, to = r->high < high ? r->high : high;
        if (from > low) {
            cut_lines(k, low, from, s, rank + 1);
        }
        put_symbol(k, from, to, s, &r->place);
        low = to;
    }
    if (low < high) {
        cut_lines(k, low, high, s, rank + 1);
    }
}

/* Assigns code that no symbol has to functions without a name. */
static void cut_nameless(struct cutting *k, uint64_t low, uint64_t high) {
    const struct own_symbols *own = k->c->own;
    size_t i = own_symbols_function_from(own, low);
    for (; i < own->function_count && own->functions[i].low < high && !k->failed; i++) {
        const struct object_extent *x = &own->functions[i];
        put_nameless(k, x->low > low ? x->low : low, x->high < high ? x->high : high, x);
    }
}

static void cut_symbols(struct cutting *k, uint64_t low, uint64_t high) {
    const struct own_symbols *own = k->c->own;
    size_t i = own_symbols_below(own, low);
    for (i -= i > 0; i < own->symbol_count && own->symbols[i].address < high && !k->failed; i++) {
        uint64_t from = own->symbols[i].address, to = own_symbols_end(own, i);
        from = from > low ? from : low;
        to = to < high ? to : high;
        if (from < to) {
            cut_nameless(k, low, from);
            cut_lines(k, from, to, &own->symbols[i], 0);
            low = to;
        }
    }
    cut_nameless(k, low, high);
}

static void cut_owned(struct cutting *k, uint64_t low, uint64_t high, size_t rank) {
    if (rank == k->claimant_count) {
        cut_symbols(k, low, high);
        return;
    }
    const struct unit_code *u = &k->units[k->claimants[rank]];
    size_t i = SEARCH_ABOVE(u->owned, u->owned_count, high, low);
    for (; i < u->owned_count && u->owned[i].low < high && !k->failed; i++) {
        const struct owned_code *o = &u->owned[i];
        uint64_t from = o->low > low ? o->low : low, to = o->high < high ? o->high : high;
        if (from > low) {
            cut_owned(k, low, from, rank + 1);
        }
        put_owned(k, from, to, o);
        low = to;
    }
    if (low < high) {
        cut_owned(k, low, high, rank + 1);
    }
}

/* ---- stretches of equal claims ---- */

static int by_end(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return COMPARE(x, y);
}

/* Returns the addresses at which the set of claims may change, ascending, each once; NULL: out of
 * memory. */
static uint64_t *sorted_ends(const struct debug_claim *claims, size_t n, size_t *count) {
    uint64_t *ends = calloc(n + 1, 2 * sizeof *ends);
    size_t kept = 0;
    if (!ends) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        ends[2 * i] = claims[i].range.low;
        ends[2 * i + 1] = claims[i].range.high;
    }
    sort_unless_sorted(ends, 2 * n, sizeof *ends, by_end);
    for (size_t i = 0; i < 2 * n; i++) {
        if (kept == 0 || ends[kept - 1] != ends[i]) {
            ends[kept++] = ends[i];
        }
    }
    *count = kept;
    return ends;
}

/* The claims around an address as a linked list, latest first. head and next[claim] are 1 + the
 * number of a claim; 0 = the end. */
struct active {
    size_t head, *next;
};

/* Writes the units of the first LIVE_CLAIMS_MAX claims in the list that hold the address, because
 * live look-ups try no more, and returns the number of units; claims that end at or before the
 * address are unlinked. A unit that claims twice counts once. */
static size_t claimants_at(struct active *a, const struct debug_claim *claims, uint64_t at,
                           size_t *units) {
    size_t taken = 0, count = 0;
    for (size_t *link = &a->head; *link && taken < LIVE_CLAIMS_MAX;) {
        const struct debug_claim *c = &claims[*link - 1];
        if (c->range.high <= at) {
            *link = a->next[*link - 1];
            continue;
        }
        bool known = false;
        for (size_t i = 0; i < count; i++) {
            known = known || units[i] == c->unit;
        }
        if (!known) {
            units[count++] = c->unit;
        }
        taken++;
        link = &a->next[*link - 1];
    }
    return count;
}

/* A stretch of code, and the units that claim all of it. */
struct stretch {
    uint64_t low, high;
    size_t units[LIVE_CLAIMS_MAX], count;
};

static void fill_stretch(struct cutting *k, const struct stretch *s) {
    if (s->low < s->high) {
        memcpy(k->claimants, s->units, sizeof k->claimants);
        k->claimant_count = s->count;
        cut_owned(k, s->low, s->high, 0);
    }
}

static bool same_claimants(const struct stretch *a, const struct stretch *b) {
    return a->count == b->count && memcmp(a->units, b->units, a->count * sizeof *a->units) == 0;
}

static void sweep_claims(struct cutting *k, const struct debug_claim *claims, size_t n,
                         const uint64_t *ends, size_t end_count, size_t *next) {
    struct active active = {.next = next};
    struct stretch last = {0}; /* from address 0 to the first claim no unit claims anything */
    size_t i = 0;
    for (size_t at = 0; at < end_count && !k->failed; at++) {
        for (; i < n && claims[i].range.low == ends[at]; i++) {
            next[i] = active.head;
            active.head = i + 1;
        }
        struct stretch now = {.low = ends[at]};
        now.count = claimants_at(&active, claims, now.low, now.units);
        if (!same_claimants(&now, &last)) {
            last.high = now.low;
            fill_stretch(k, &last);
            last = now;
        }
    }
    last.high = UINT64_MAX;
    fill_stretch(k, &last);
    close_gap(k, UINT64_MAX);
}

enum st pieces_cut(struct piece_vec *out, struct encoder *c, const struct unit_code *units,
                   const struct debug_claim *claims, size_t claim_count, struct err *e) {
    struct cutting k = {.out = out, .c = c, .units = units};
    size_t end_count = 0;
    uint64_t *ends = sorted_ends(claims, claim_count, &end_count);
    size_t *next = calloc(claim_count + 1, sizeof *next);
    if (ends && next) {
        sweep_claims(&k, claims, claim_count, ends, end_count, next);
    } else {
        k.failed = true;
    }
    free(ends);
    free(next);
    return k.failed ? err_nomem(e) : ST_OK;
}
