/* Flattening of a unit. It follows live_unit.c address by address: the span that begins last
 * counts, of siblings the last one. */
#include "index/flat_unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Each range of a function looks at all calls in it: more than two of either kind hardly ever meet,
 * but hostile ones would all. */
enum { WORK_FREE = 1 << 18, WORK_PER_BYTE = 4 /* in memory; a call takes some 100 */ };

enum { STEPS_FIRST = 1024 };

/* ---- lines ---- */

static inline struct flat_place place_of(const struct live_unit *u, const struct debug_row *row) {
    struct flat_place none = {0};
    if (row->line == 0 || !live_unit_file(u, row->file)) {
        return none;
    }
    return (struct flat_place){row->file, row->line, row->column, row->discriminator};
}

/* Member by member, which lets the compiler keep them in registers: read wider than they were
 * written they would have to wait for memory. The line differs most often. */
static inline bool same_place(struct flat_place a, struct flat_place b) {
    return a.line == b.line && a.column == b.column && a.file == b.file &&
           a.discriminator == b.discriminator;
}

typedef bool (*line_taker)(void *ctx, uint64_t at, struct flat_place place);

/* The first row of a sequence above the address. */
static size_t row_above(const struct debug_row *rows, const struct live_span *sequence,
                        uint64_t address) {
    size_t i = sequence->index, end = sequence->end;
    while (i < end) {
        size_t middle = i + (end - i) / 2;
        if (rows[middle].address <= address) {
            i = middle + 1;
        } else {
            end = middle;
        }
    }
    return i;
}

/* The lines of a sequence in [low, high), which lies inside it. */
static inline bool walk_sequence(const struct live_unit *u, const struct live_span *sequence,
                                 uint64_t low, uint64_t high, line_taker take, void *ctx) {
    const struct debug_row *rows = u->unit.rows, *end = rows + sequence->end;
    const struct debug_row *row = rows + row_above(rows, sequence, low);
    struct flat_place place = {0};
    if (row > rows + sequence->index) {
        place = place_of(u, row - 1);
    }
    if (!take(ctx, low, place)) {
        return false;
    }
    while (row < end) {
        uint64_t at = row->address;
        if (at >= high) {
            break;
        }
        const struct debug_row *last = row++; /* of several at one address the last one counts */
        while (row < end && row->address == at) {
            last = row++;
        }
        if (!take(ctx, at, place_of(u, last))) {
            return false;
        }
    }
    return true;
}

/* Hands on what holds from where on in [low, high), addresses ascending, the first at low. False:
 * so said `take`. */
static inline bool walk_lines(const struct live_unit *u, const struct span_vec *sequences,
                              uint64_t low, uint64_t high, line_taker take, void *ctx) {
    struct flat_place none = {0};
    uint64_t at = low;
    bool taken = true;
    for (size_t i = spans_from(sequences, low); taken && at < high; i++) {
        const struct span *s = i < sequences->len ? &sequences->data[i] : NULL;
        if (!s || s->low >= high) {
            return take(ctx, at, none);
        }
        if (s->low > at) {
            taken = take(ctx, at, none);
            at = s->low;
        }
        uint64_t end = s->high < high ? s->high : high;
        taken = taken && walk_sequence(u, &u->sequences.data[s->owner], at, end, take, ctx);
        at = end;
    }
    return taken;
}

/* ---- inlined calls ---- */

static enum st spend(struct flat_unit *f, uint64_t work, struct err *e) {
    if (work > f->work) {
        return err_set(e, ERR_LIMIT,
                       "inlined calls cost more work than the size of their unit allows");
    }
    f->work -= work;
    return ST_OK;
}

/* Appends what of the ranges lies in the `count` spans from `first` on, for the owner. */
static bool clip(struct span_vec *v, size_t first, size_t count, const struct debug_function *call,
                 size_t owner) {
    size_t i = first, end = first + count;
    for (size_t k = 0; k < call->range_count; k++) {
        const struct debug_range *r = &call->ranges[k];
        size_t low = i, high = end;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (v->data[middle].high <= r->low) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        for (i = low; i < end && v->data[i].low < r->high; i++) {
            struct span s = v->data[i];
            s.low = s.low < r->low ? r->low : s.low;
            s.high = s.high > r->high ? r->high : s.high;
            s.owner = owner;
            if (!VEC_PUSH(v, s)) {
                return false;
            }
            if (v->data[i].high >= r->high) {
                break; /* the next range may reach into this span, too */
            }
        }
    }
    return true;
}

/* Adds the calls inlined into a function, whose own spans are `count` of scratch->paint from
 * `first` on. A call stands behind the one that it is in, and behind its elder siblings. */
static enum st add_calls(struct flat_unit *out, struct flat_scratch *scratch,
                         const struct debug_function *function, uint32_t parent, size_t base,
                         size_t first, size_t count, unsigned depth, struct err *e) {
    for (size_t i = 0; i < function->child_count && depth < LOOKUP_INLINE_MAX; i++) {
        const struct debug_function *call = &function->children[i];
        size_t before = scratch->paint.len;
        struct flat_node node = {call, parent};
        uint32_t number = (uint32_t)(out->node_count - base) + 1;
        if (!clip(&scratch->paint, first, count, call, number)) {
            return err_nomem(e);
        }
        if (spend(out, call->range_count + scratch->paint.len - before, e) != ST_OK) {
            return ST_ERR;
        }
        if (scratch->paint.len == before) {
            continue;
        }
        if (out->node_count == out->node_cap &&
            !vec_reserve((void **)&out->nodes, out->node_count, &out->node_cap, 1, sizeof node)) {
            return err_nomem(e);
        }
        out->nodes[out->node_count++] = node;
        if (add_calls(out, scratch, call, number, base, before, scratch->paint.len - before,
                      depth + 1, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Fills scratch->calls, which then covers all of the record. */
static enum st collect_calls(struct flat_unit *out, struct flat_scratch *scratch,
                             struct flat_record *r, struct err *e) {
    struct span all = {r->low, r->high, 0};
    scratch->paint.len = scratch->calls.len = 0;
    r->first_node = out->node_count;
    if (!VEC_PUSH(&scratch->paint, all)) {
        return err_nomem(e);
    }
    if (add_calls(out, scratch, r->function, 0, r->first_node, 0, 1, 1, e) != ST_OK) {
        return ST_ERR;
    }
    r->node_count = out->node_count - r->first_node;
    return spans_flatten(scratch->paint.data, scratch->paint.len, &scratch->calls, e);
}

/* ---- records ---- */

/* On the way through a record: both kinds of changes become steps. */
struct stepping {
    struct flat_unit *out;
    const struct span *call, *calls_end; /* those still ahead */
    uint64_t next_call;                  /* where the first of them begins; UINT64_MAX: none does */
    struct flat_record *record;
    uint32_t node; /* what holds now */
    struct flat_place place;
};

static bool more_steps(struct flat_unit *out) {
    size_t more = out->step_count > STEPS_FIRST ? out->step_count : STEPS_FIRST;
    return vec_reserve_large((void **)&out->steps, out->step_count, &out->step_cap, more,
                             sizeof *out->steps);
}

static inline bool step_to(struct stepping *s, uint64_t at, uint32_t node,
                           struct flat_place place) {
    struct flat_unit *out = s->out;
    if (node == s->node && same_place(place, s->place)) {
        return true;
    }
    if (out->step_count == out->step_cap && !more_steps(out)) {
        return false;
    }
    uint32_t from_low = (uint32_t)(at - s->record->low);
    s->record->all_at |= from_low;
    s->node = node;
    s->place = place;
    out->steps[out->step_count++] = (struct flat_step){from_low, node, place};
    return true;
}

/* The next change of call; its node is returned. */
static uint32_t take_call(struct stepping *s) {
    uint32_t node = (uint32_t)s->call++->owner;
    s->next_call = s->call < s->calls_end ? s->call->low : UINT64_MAX;
    return node;
}

/* The calls that change below an address. */
static bool step_calls(struct stepping *s, uint64_t address) {
    bool taken = true;
    while (taken && s->next_call < address) {
        uint64_t at = s->next_call;
        taken = step_to(s, at, take_call(s), s->place);
    }
    return taken;
}

static inline bool step_line(void *ctx, uint64_t at, struct flat_place place) {
    struct stepping *s = ctx;
    uint32_t node = s->node;
    if (s->next_call <= at) { /* seldom */
        if (!step_calls(s, at)) {
            return false;
        }
        node = s->next_call == at ? take_call(s) : s->node;
    }
    return step_to(s, at, node, place);
}

static enum st add_steps(struct flat_unit *out, const struct flat_scratch *scratch,
                         struct flat_record *r, struct err *e) {
    struct stepping s = {.out = out,
                         .call = scratch->calls.data,
                         .calls_end = scratch->calls.data + scratch->calls.len,
                         .next_call =
                             scratch->calls.len > 0 ? scratch->calls.data->low : UINT64_MAX,
                         .record = r};
    r->first_step = out->step_count;
    if (!walk_lines(out->unit, &scratch->sequences, r->low, r->high, step_line, &s) ||
        !step_calls(&s, r->high)) {
        return err_nomem(e);
    }
    r->step_count = out->step_count - r->first_step;
    return ST_OK;
}

enum st flat_unit_add(struct flat_unit *out, size_t i, struct flat_scratch *scratch,
                      struct err *e) {
    const struct live_span *s = &out->unit->functions.data[i];
    struct flat_record r = {.function = flat_unit_function(out, i), .low = s->low, .high = s->high};
    if (s->high - s->low > UINT32_MAX) {
        return err_set(e, ERR_UNSUPPORTED, "a function spans more than 4 GiB");
    }
    if (collect_calls(out, scratch, &r, e) != ST_OK || add_steps(out, scratch, &r, e) != ST_OK) {
        return ST_ERR;
    }
    if (out->record_count == out->record_cap &&
        !vec_reserve((void **)&out->records, out->record_count, &out->record_cap, 1, sizeof r)) {
        return err_nomem(e);
    }
    out->records[out->record_count++] = r;
    return ST_OK;
}

/* ---- lines that are no function's ---- */

static bool symbol_touches(const struct own_symbols *own, uint64_t low, uint64_t high) {
    size_t below = own_symbols_below(own, low);
    return (below > 0 && own_symbols_end(own, below - 1) > low) ||
           (below < own->symbol_count && own->symbols[below].address < high);
}

static bool keep_line(void *ctx, uint64_t at, struct flat_place place) {
    struct flat_scratch *scratch = ctx;
    struct line_change change = {at, place};
    return VEC_PUSH(&scratch->lines, change);
}

static enum st add_rows(struct flat_unit *out, const struct own_symbols *own,
                        struct flat_scratch *scratch, uint64_t low, uint64_t high, struct err *e) {
    if (low >= high || !symbol_touches(own, low, high)) {
        return ST_OK;
    }
    scratch->lines.len = 0;
    if (!walk_lines(out->unit, &scratch->sequences, low, high, keep_line, scratch)) {
        return err_nomem(e);
    }
    for (size_t i = 0, next; i < scratch->lines.len; i = next) {
        const struct line_change *c = &scratch->lines.data[i];
        next = i + 1;
        while (next < scratch->lines.len && same_place(scratch->lines.data[next].place, c->place)) {
            next++;
        }
        struct flat_row row = {
            c->at, next < scratch->lines.len ? scratch->lines.data[next].at : high, c->place};
        if (row.place.line == 0) {
            continue;
        }
        if (!vec_reserve((void **)&out->rows, out->row_count, &out->row_cap, 1, sizeof row)) {
            return err_nomem(e);
        }
        out->rows[out->row_count++] = row;
    }
    return ST_OK;
}

enum st flat_unit_add_rows(struct flat_unit *out, const struct own_symbols *own,
                           struct flat_scratch *scratch, struct err *e) {
    const struct span_vec *owned = &out->owned;
    for (size_t i = 0; i < scratch->sequences.len; i++) {
        const struct span *s = &scratch->sequences.data[i];
        uint64_t at = s->low;
        for (size_t k = spans_from(owned, at); k < owned->len && owned->data[k].low < s->high;
             k++) {
            if (add_rows(out, own, scratch, at, owned->data[k].low, e) != ST_OK) {
                return ST_ERR;
            }
            at = owned->data[k].high;
        }
        if (add_rows(out, own, scratch, at, s->high, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- the unit ---- */

/* Makes them disjoint. */
static enum st flatten_spans(const struct live_spans *spans, struct span_vec *all,
                             struct span_vec *out, struct err *e) {
    all->len = 0;
    if (!VEC_RESERVE(all, spans->len)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < spans->len; i++) {
        if (spans->data[i].low < spans->data[i].high) {
            all->data[all->len++] = (struct span){spans->data[i].low, spans->data[i].high, i};
        }
    }
    return spans_flatten(all->data, all->len, out, e);
}

enum st flat_unit_open(struct flat_unit *out, struct debug *d, size_t index,
                       const struct own_symbols *own, struct flat_scratch *scratch, struct err *e) {
    scratch->sequences.len = 0;
    out->unit = out->spare;
    out->spare = NULL;
    enum st st = live_unit_open(&out->unit, d, own, index, e);
    if (st == ST_OK) {
        out->work = WORK_FREE + WORK_PER_BYTE * (uint64_t)out->unit->bytes;
        st = flatten_spans(&out->unit->sequences, &scratch->all, &scratch->sequences, e);
    }
    return st == ST_OK ? flatten_spans(&out->unit->functions, &scratch->all, &out->owned, e) : st;
}

/* Nearly each of them becomes a step: what had to grow would be copied. */
static size_t rows_of_code(const struct debug_unit *u) {
    size_t count = 0;
    for (size_t i = 0; i < u->sequence_count; i++) {
        count += u->sequences[i].last - u->sequences[i].first + 1;
    }
    return count;
}

static enum st flatten(struct flat_unit *out, struct debug *d, size_t index,
                       const struct own_symbols *own, struct flat_scratch *scratch, struct err *e) {
    enum st st = flat_unit_open(out, d, index, own, scratch, e);
    if (st == ST_OK && !vec_reserve_large((void **)&out->steps, 0, &out->step_cap,
                                          rows_of_code(&out->unit->unit), sizeof *out->steps)) {
        st = err_nomem(e);
    }
    for (size_t i = 0; st == ST_OK && i < out->unit->functions.len; i++) {
        st = flat_unit_add(out, i, scratch, e);
    }
    return st == ST_OK ? flat_unit_add_rows(out, own, scratch, e) : st;
}

static bool need_unit(struct live_unit **u) {
    *u = *u ? *u : calloc(1, sizeof **u);
    return *u != NULL;
}

enum st flat_unit_read(struct flat_unit *out, struct debug *d, size_t index,
                       const struct own_symbols *own, struct flat_scratch *scratch, struct err *e) {
    if (!need_unit(&out->spare) || !need_unit(&scratch->bench)) {
        return err_nomem(e);
    }
    live_unit_exchange(out->spare, scratch->bench);
    enum st st = flatten(out, d, index, own, scratch, e);
    if (out->unit) {
        live_unit_exchange(out->unit, scratch->bench);
    }
    if (st != ST_OK) {
        flat_unit_clear(out);
    }
    return st;
}

void flat_unit_forget_steps(struct flat_unit *f) {
    f->node_count = f->step_count = 0;
}

void flat_unit_clear(struct flat_unit *f) {
    if (f->unit) {
        live_unit_free(f->spare);
        f->spare = f->unit;
        f->unit = NULL;
    }
    f->record_count = f->node_count = f->step_count = f->row_count = f->owned.len = 0;
}

void flat_unit_release(struct flat_unit *f) {
    flat_unit_clear(f);
    live_unit_free(f->spare);
    free(f->records);
    free(f->nodes);
    free(f->steps);
    free(f->rows);
    VEC_RELEASE(&f->owned);
    *f = (struct flat_unit){0};
}

void flat_scratch_release(struct flat_scratch *s) {
    VEC_RELEASE(&s->sequences);
    VEC_RELEASE(&s->paint);
    VEC_RELEASE(&s->calls);
    VEC_RELEASE(&s->lines);
    VEC_RELEASE(&s->all);
    live_unit_free(s->bench);
    s->bench = NULL;
}
