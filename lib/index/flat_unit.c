/* Flattens one unit: functions' ranges, line sequences, and the lines of a stretch of code. */
#include "index/flat_unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sort.h"
#include "base/vec.h"

/* ---- overlapping spans ---- */

/* Orders spans so that of those around an address the last one counts: the narrower one comes
 * later. */
static int by_span(const void *a, const void *b) {
    const struct code_span *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    order = order ? order : COMPARE(y->high, x->high);
    return order ? order : COMPARE(x->owner, y->owner);
}

static void sort_spans(struct span_vec *v) {
    sort_unless_sorted(v->data, v->len, sizeof *v->data, by_span);
}

/* ---- functions ---- */

/* Limit on the work of own_symbols_enter for all functions of a unit: WORK_FREE, plus WORK_PER_BYTE
 * for each byte of the unit's debug info. */
enum { WORK_FREE = 4096, WORK_PER_BYTE = 16 };

/* Sets the entries of functions by their symbols, except of a function with one range whose entry
 * is the start of that range. */
static void settle_entries(struct flat_unit *u, const struct own_symbols *own, uint64_t bytes) {
    uint64_t work = WORK_FREE + bytes * WORK_PER_BYTE;
    for (size_t i = 0; i < u->unit.function_count; i++) {
        struct debug_function *f = &u->unit.functions[i];
        if (f->range_count > 1 || f->entry != f->ranges->low) {
            own_symbols_enter(own, f, &work);
        }
    }
}

static enum st flatten_functions(struct flat_unit *u, struct err *e) {
    struct span_vec all = {0};
    size_t count = 0;
    for (size_t i = 0; i < u->unit.function_count; i++) {
        count += u->unit.functions[i].range_count;
    }
    if (!VEC_RESERVE(&u->ranges, count) || !VEC_RESERVE(&all, count)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < u->unit.function_count; i++) {
        const struct debug_function *f = &u->unit.functions[i];
        for (size_t k = 0; k < f->range_count; k++) {
            u->ranges.data[u->ranges.len++] =
                (struct code_span){f->ranges[k].low, f->ranges[k].high, i};
        }
    }
    sort_spans(&u->ranges);
    for (size_t i = 0; i < u->ranges.len; i++) {
        all.data[all.len++] = (struct code_span){u->ranges.data[i].low, u->ranges.data[i].high, i};
    }
    enum st st = spans_flatten(all.data, all.len, &u->owned, e);
    VEC_RELEASE(&all);
    return st;
}

const struct code_span *flat_unit_range(const struct flat_unit *u, uint64_t address) {
    const struct code_span *s = spans_find(&u->owned, address);
    return s ? &u->ranges.data[s->owner] : NULL;
}

/* ---- line sequences ---- */

/* Returns the distance in lines from the function's declaration to the first row of the sequence
 * that is in the declaration's file, at the declaration's line or a later one: rows before that one
 * are skipped, because a cold part may begin with inlined code. UINT32_MAX: there is no such
 * row. */
static uint32_t distance_to_declaration(const struct flat_unit *u, const struct code_span *sequence,
                                        const struct debug_function *f, const char *decl_file) {
    const struct debug_sequence *s = &u->unit.sequences[sequence->owner];
    for (size_t i = s->first; i < s->last; i++) {
        const struct debug_row *row = &u->unit.rows[i];
        if (row->line != 0 && row->line >= f->decl_line) {
            const char *path = flat_unit_file(u, row->file);
            if (path && strcmp(path, decl_file) == 0) {
                return row->line - f->decl_line;
            }
        }
    }
    return UINT32_MAX;
}

/* Chooses among sequences at the same addresses, which remain when linkers fold equal functions
 * into one (lld, mold, gold: --icf). Of such sequences the last one counts, so the chosen one
 * changes places with the last one. Chosen is the sequence with the least distance_to_declaration
 * for the function that owns the code, or, if no distance is known, the first one, whose code the
 * linker mostly keeps. */
static void settle_folded(const struct flat_unit *u, struct span_vec *v) {
    for (size_t first = 0, end; first < v->len; first = end) {
        const struct code_span *one = &v->data[first];
        for (end = first + 1;
             end < v->len && v->data[end].low == one->low && v->data[end].high == one->high;) {
            end++;
        }
        if (end - first == 1) {
            continue;
        }
        const struct code_span *range = flat_unit_range(u, one->low);
        const struct debug_function *f = range ? flat_unit_function(u, range) : NULL;
        const char *decl_file = f ? flat_unit_decl_file(u, f) : NULL;
        size_t best = first;
        uint32_t nearest = UINT32_MAX;
        for (size_t i = first; decl_file && i < end; i++) {
            uint32_t distance = distance_to_declaration(u, &v->data[i], f, decl_file);
            if (distance < nearest) {
                best = i;
                nearest = distance;
            }
        }
        struct code_span chosen = v->data[best];
        v->data[best] = v->data[end - 1];
        v->data[end - 1] = chosen;
    }
}

static enum st flatten_sequences(struct flat_unit *u, struct err *e) {
    struct span_vec all = {0};
    if (!VEC_RESERVE(&all, u->unit.sequence_count)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < u->unit.sequence_count; i++) {
        const struct debug_sequence *s = &u->unit.sequences[i];
        all.data[all.len++] = (struct code_span){s->low, s->high, i};
    }
    sort_spans(&all);
    settle_folded(u, &all);
    enum st st = spans_flatten(all.data, all.len, &u->sequences, e);
    VEC_RELEASE(&all);
    return st;
}

/* ---- lines ---- */

/* Returns the index of the first row of a sequence whose address is above `address`; s->last:
 * none. */
static size_t row_above(const struct flat_unit *u, const struct debug_sequence *s,
                        uint64_t address) {
    const struct debug_row *rows = u->unit.rows + s->first;
    return s->first + SEARCH_ABOVE(rows, s->last - s->first, address, address);
}

/* Returns the place that holds before a row of a sequence: of several rows at one address the last
 * one counts. If that row begins below `from`, there is no place. */
static struct flat_place place_before(const struct flat_unit *u, const struct debug_sequence *s,
                                      size_t row, uint64_t from) {
    const struct debug_row *rows = u->unit.rows;
    return row > s->first && rows[row - 1].address >= from ? flat_row_place(u, &rows[row - 1])
                                                           : (struct flat_place){0};
}

struct flat_place flat_unit_place(const struct flat_unit *u, uint64_t address, uint64_t from) {
    const struct code_span *span = spans_find(&u->sequences, address);
    if (!span) {
        return (struct flat_place){0};
    }
    const struct debug_sequence *s = &u->unit.sequences[span->owner];
    return place_before(u, s, row_above(u, s, address), from);
}

/* Appends a line unless it has the place of the line before; v must have room. */
static inline void add_line(struct flat_lines *v, uint64_t at, struct flat_place place) {
    if (v->len == 0 || !flat_places_equal(place, v->data[v->len - 1].place)) {
        v->data[v->len++] = (struct flat_line){at, place};
    }
}

/* Appends the lines of [low, high), which lies inside the sequence. False: out of memory. */
static bool add_sequence(const struct flat_unit *u, const struct debug_sequence *s, uint64_t low,
                         uint64_t high, uint64_t from, struct flat_lines *out) {
    const struct debug_row *rows = u->unit.rows;
    size_t first = row_above(u, s, low), i = first, end = row_above(u, s, high - 1);
    if (!VEC_RESERVE(out, end - first + 1)) {
        return false;
    }
    add_line(out, low, place_before(u, s, first, from));
    while (i < end) {
        uint64_t at = rows[i].address;
        for (i++; i < end && rows[i].address == at;) {
            i++;
        }
        add_line(out, at, place_before(u, s, i, from));
    }
    return true;
}

enum st flat_unit_lines(const struct flat_unit *u, uint64_t low, uint64_t high, uint64_t from,
                        struct flat_lines *out, struct err *e) {
    const struct span_vec *v = &u->sequences;
    struct flat_place none = {0};
    uint64_t at = low;
    out->len = 0;
    for (size_t i = spans_from(v, low); i < v->len && v->data[i].low < high; i++) {
        const struct code_span *span = &v->data[i];
        if (!VEC_RESERVE(out, 1)) {
            return err_nomem(e);
        }
        if (span->low > at) {
            add_line(out, at, none);
            at = span->low;
        }
        uint64_t end = span->high < high ? span->high : high;
        if (!add_sequence(u, &u->unit.sequences[span->owner], at, end, from, out)) {
            return err_nomem(e);
        }
        at = end;
    }
    if (at < high) {
        if (!VEC_RESERVE(out, 1)) {
            return err_nomem(e);
        }
        add_line(out, at, none);
    }
    return ST_OK;
}

/* ---- open, free ---- */

/* Returns the approximate number of bytes of memory that the unit takes. */
static size_t count_bytes(const struct flat_unit *u) {
    const struct debug_unit *d = &u->unit;
    return sizeof *u + d->arena.used + d->path_count * sizeof *d->files +
           d->row_count * sizeof *d->rows + d->sequence_count * sizeof *d->sequences +
           d->node_count * sizeof *d->functions + d->range_count * sizeof *d->ranges +
           (u->ranges.cap + u->owned.cap + u->sequences.cap) * sizeof(struct code_span);
}

static enum st read_and_flatten(struct flat_unit *u, struct debug *d, const struct own_symbols *own,
                                struct err *e) {
    enum st st = debug_read_unit(d, u->index, &u->unit, e);
    if (st != ST_OK) {
        return st;
    }
    settle_entries(u, own, debug_unit_size(d, u->index));
    st = flatten_functions(u, e);
    if (st != ST_OK) {
        return st;
    }
    return flatten_sequences(u, e);
}

enum st flat_unit_open(struct flat_unit **out, struct debug *d, const struct own_symbols *own,
                       size_t index, struct err *e) {
    struct flat_unit *u = *out ? *out : calloc(1, sizeof *u);
    *out = NULL;
    if (!u) {
        return err_nomem(e);
    }
    u->index = index;
    u->ranges.len = u->owned.len = u->sequences.len = 0;
    enum st st = read_and_flatten(u, d, own, e);
    if (st != ST_OK) {
        flat_unit_free(u);
        return st;
    }
    u->bytes = count_bytes(u);
    *out = u;
    return ST_OK;
}

void flat_unit_free(struct flat_unit *u) {
    if (u) {
        debug_unit_release(&u->unit);
        VEC_RELEASE(&u->ranges);
        VEC_RELEASE(&u->owned);
        VEC_RELEASE(&u->sequences);
        free(u);
    }
}
