/* One unit of live debug info, prepared for looking up addresses. */
#include "index/live_unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/vec.h"

/* ---- spans ---- */

static int by_low(const void *a, const void *b) {
    const struct live_span *x = a, *y = b;
    if (x->low != y->low) {
        return x->low < y->low ? -1 : 1;
    }
    if (x->high != y->high) {
        return x->high > y->high ? -1 : 1; /* the narrower one behind: a search meets it first */
    }
    return (x->index > y->index) - (x->index < y->index);
}

static void sort_spans(struct live_spans *s) {
    uint64_t reach = 0;
    sort_unless_sorted(s->data, s->len, sizeof *s->data, by_low);
    for (size_t i = 0; i < s->len; i++) {
        reach = s->data[i].high > reach ? s->data[i].high : reach;
        s->data[i].reach = reach;
    }
}

/* The narrowest span around the address, about: the one that begins last. */
static const struct live_span *find_span(const struct live_spans *s, uint64_t address) {
    size_t low = 0, high = s->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->data[middle].low <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low > 0 && s->data[low - 1].reach > address) {
        low--;
        if (address < s->data[low].high) {
            return &s->data[low];
        }
    }
    return NULL;
}

static enum st index_functions(struct live_unit *u, struct err *e) {
    for (size_t i = 0; i < u->unit.function_count; i++) {
        const struct debug_function *f = &u->unit.functions[i];
        for (size_t k = 0; k < f->range_count; k++) {
            struct live_span s = {.low = f->ranges[k].low, .high = f->ranges[k].high, .index = i};
            if (!VEC_PUSH(&u->functions, s)) {
                return err_nomem(e);
            }
        }
    }
    sort_spans(&u->functions);
    return ST_OK;
}

/* How many lines below where the function is declared the sequence begins, as far as it tells: a
 * part that was split off may begin with what was inlined into it. */
static uint32_t distance(const struct live_unit *u, const struct live_span *sequence,
                         const struct debug_function *f, const char *decl_file) {
    for (size_t i = sequence->index; i < sequence->end; i++) {
        const struct debug_row *row = &u->unit.rows[i];
        if (row->line != 0 && row->line >= f->decl_line) {
            const char *path = live_unit_file(u, row->file);
            if (path && strcmp(path, decl_file) == 0) {
                return row->line - f->decl_line;
            }
        }
    }
    return UINT32_MAX;
}

/* Linkers that fold equal functions into one (lld, mold, gold: --icf) keep the lines of each of
 * them, at the same addresses. Those of the function that answers for the code are put last, where
 * a search looks first: the ones that begin nearest to its declaration, else the first ones, whose
 * code it mostly is that was kept. */
static void settle_folded(struct live_unit *u) {
    struct live_spans *s = &u->sequences;
    for (size_t first = 0, end; first < s->len; first = end) {
        const struct live_span *one = &s->data[first];
        for (end = first + 1;
             end < s->len && s->data[end].low == one->low && s->data[end].high == one->high;) {
            end++;
        }
        if (end - first == 1) {
            continue;
        }
        const struct live_span *owner = find_span(&u->functions, one->low);
        const struct debug_function *f = owner ? &u->unit.functions[owner->index] : NULL;
        const char *decl_file = f ? live_unit_decl_file(u, f) : NULL;
        size_t best = first;
        uint32_t nearest = UINT32_MAX;
        for (size_t i = first; decl_file && i < end; i++) {
            uint32_t d = distance(u, &s->data[i], f, decl_file);
            best = d < nearest ? i : best;
            nearest = d < nearest ? d : nearest;
        }
        struct live_span chosen = s->data[best];
        s->data[best] = s->data[end - 1];
        s->data[end - 1] = chosen;
    }
}

static enum st index_sequences(struct live_unit *u, struct err *e) {
    const struct debug_unit *d = &u->unit;
    if (!VEC_RESERVE(&u->sequences, d->sequence_count)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < d->sequence_count; i++) {
        const struct debug_sequence *s = &d->sequences[i];
        u->sequences.data[u->sequences.len++] =
            (struct live_span){.low = s->low, .high = s->high, .index = s->first, .end = s->last};
    }
    sort_spans(&u->sequences);
    settle_folded(u);
    return ST_OK;
}

/* ---- entries ---- */

/* Symbols that one unit may look at to find its functions' own. */
enum { WORK_FREE = 4096, WORK_PER_BYTE = 16 };

/* Of a function in one piece the entry is where it begins. */
static void settle_entries(struct live_unit *u, const struct own_symbols *own, uint64_t bytes) {
    uint64_t work = WORK_FREE + bytes * WORK_PER_BYTE;
    for (size_t i = 0; i < u->unit.function_count; i++) {
        struct debug_function *f = &u->unit.functions[i];
        if (f->range_count > 1 || f->entry != f->ranges->low) {
            own_symbols_enter(own, f, &work);
        }
    }
}

/* ---- open, free ---- */

enum st live_unit_open(struct live_unit **out, struct debug *d, const struct own_symbols *own,
                       size_t index, struct err *e) {
    struct live_unit *u = *out ? *out : calloc(1, sizeof *u);
    *out = NULL;
    if (!u) {
        return err_nomem(e);
    }
    u->index = index;
    u->functions.len = u->sequences.len = 0;
    enum st st = debug_read_unit(d, index, &u->unit, e);
    if (st == ST_OK) {
        settle_entries(u, own, debug_unit_size(d, index));
        st = index_functions(u, e);
    }
    if (st == ST_OK) {
        st = index_sequences(u, e);
    }
    if (st != ST_OK) {
        live_unit_free(u);
        return st;
    }
    u->bytes = sizeof *u + u->unit.arena.used + u->unit.path_count * sizeof *u->unit.files +
               u->unit.row_count * sizeof *u->unit.rows +
               u->unit.sequence_count * sizeof *u->unit.sequences +
               u->unit.node_count * sizeof *u->unit.functions +
               u->unit.range_count * sizeof *u->unit.ranges +
               (u->functions.cap + u->sequences.cap) * sizeof *u->functions.data;
    *out = u;
    return ST_OK;
}

void live_unit_free(struct live_unit *u) {
    if (u) {
        debug_unit_release(&u->unit);
        VEC_RELEASE(&u->functions);
        VEC_RELEASE(&u->sequences);
        free(u);
    }
}

/* Of the debug unit; without what is in it. */
static struct debug_unit lines_of(const struct debug_unit *u) {
    return (struct debug_unit){.rows = u->rows,
                               .row_cap = u->row_cap,
                               .sequences = u->sequences,
                               .sequence_cap = u->sequence_cap,
                               .ranges = u->ranges,
                               .range_cap = u->range_cap};
}

static void take_lines(struct debug_unit *u, const struct debug_unit *from) {
    u->rows = from->rows;
    u->row_cap = from->row_cap;
    u->sequences = from->sequences;
    u->sequence_cap = from->sequence_cap;
    u->ranges = from->ranges;
    u->range_cap = from->range_cap;
    u->row_count = u->sequence_count = u->range_count = 0;
}

void live_unit_exchange(struct live_unit *a, struct live_unit *b) {
    struct debug_unit lines = lines_of(&a->unit), other = lines_of(&b->unit);
    struct live_spans functions = a->functions, sequences = a->sequences;
    take_lines(&a->unit, &other);
    take_lines(&b->unit, &lines);
    a->functions = b->functions;
    a->sequences = b->sequences;
    b->functions = functions;
    b->sequences = sequences;
}

/* ---- looking up ---- */

const struct debug_function *live_unit_function(const struct live_unit *u, uint64_t address,
                                                struct debug_range *range) {
    const struct live_span *s = find_span(&u->functions, address);
    if (!s) {
        return NULL;
    }
    *range = (struct debug_range){.low = s->low, .high = s->high};
    return &u->unit.functions[s->index];
}

static bool holds(const struct debug_function *f, uint64_t address) {
    for (size_t i = 0; i < f->range_count && f->ranges[i].low <= address; i++) {
        if (address < f->ranges[i].high) {
            return true;
        }
    }
    return false;
}

/* Siblings do not overlap in sound debug info; where they do, the last one that begins before the
 * address wins, as in LLVM. */
static const struct debug_function *child_at(const struct debug_function *f, uint64_t address) {
    const struct debug_function *found = NULL;
    for (size_t i = 0; i < f->child_count && f->children[i].ranges[0].low <= address; i++) {
        if (holds(&f->children[i], address)) {
            found = &f->children[i];
        }
    }
    return found;
}

size_t live_unit_chain(const struct debug_function *function, uint64_t address,
                       const struct debug_function **chain, size_t max) {
    size_t n = 0;
    while (function && n < max) {
        chain[n++] = function;
        function = child_at(function, address);
    }
    return n;
}

const struct debug_row *live_unit_row(const struct live_unit *u, uint64_t address) {
    const struct live_span *s = find_span(&u->sequences, address);
    if (!s) {
        return NULL;
    }
    /* The last row at or below the address; the end row lies above it. */
    const struct debug_row *rows = u->unit.rows;
    size_t low = s->index, high = s->end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > s->index ? &rows[low - 1] : NULL;
}
