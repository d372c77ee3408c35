/* Flattening of a unit. It follows live_unit.c address by address: the span that begins last
 * counts, of siblings the last one. */
#include "index/flat_unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct flattening {
    struct flat_unit *out;
    const struct own_symbols *own;
    struct flat_scratch *scratch;
    uint64_t work; /* steps that inlined calls may still take */
};

/* Each range of a function looks at all calls in it: more than two of either kind hardly ever meet,
 * but hostile ones would all. */
enum { WORK_FREE = 1 << 18, WORK_PER_BYTE = 4 /* in memory; a call takes some 100 */ };

/* ---- lines ---- */

static struct flat_place place_of(const struct live_unit *u, const struct debug_row *row) {
    struct flat_place none = {0};
    if (row->line == 0 || !live_unit_file(u, row->file)) {
        return none;
    }
    return (struct flat_place){row->file, row->line, row->column, row->discriminator};
}

static bool same_place(const struct flat_place *a, const struct flat_place *b) {
    return a->line == b->line && a->column == b->column && a->file == b->file &&
           a->discriminator == b->discriminator;
}

/* Appends a change unless it changes nothing; of several at one address the last one stays. */
static bool push_line(struct flattening *f, uint64_t at, struct flat_place place) {
    if (f->scratch->lines.len > 0 && f->scratch->lines.data[f->scratch->lines.len - 1].at == at) {
        f->scratch->lines.len--;
    }
    if (f->scratch->lines.len > 0 &&
        same_place(&f->scratch->lines.data[f->scratch->lines.len - 1].place, &place)) {
        return true;
    }
    struct line_change change = {at, place};
    return VEC_PUSH(&f->scratch->lines, change);
}

/* The lines of a sequence in [low, high), which lies inside it. */
static bool push_sequence(struct flattening *f, const struct live_span *sequence, uint64_t low,
                          uint64_t high) {
    const struct live_unit *u = f->out->unit;
    const struct debug_row *rows = u->unit.rows;
    size_t i = sequence->index, end = sequence->end;
    while (i < end) {
        size_t middle = i + (end - i) / 2;
        if (rows[middle].address <= low) {
            i = middle + 1;
        } else {
            end = middle;
        }
    }
    struct flat_place none = {0};
    bool pushed = i > sequence->index ? push_line(f, low, place_of(u, &rows[i - 1]))
                                      : push_line(f, low, none);
    for (; pushed && i < sequence->end && rows[i].address < high; i++) {
        pushed = push_line(f, rows[i].address, place_of(u, &rows[i]));
    }
    return pushed;
}

/* Fills f->scratch->lines for [low, high): the first change is at low. */
static enum st collect_lines(struct flattening *f, uint64_t low, uint64_t high, struct err *e) {
    struct flat_place none = {0};
    uint64_t at = low;
    bool pushed = true;
    f->scratch->lines.len = 0;
    for (size_t i = spans_from(&f->scratch->sequences, low); pushed && at < high; i++) {
        const struct span *s =
            i < f->scratch->sequences.len ? &f->scratch->sequences.data[i] : NULL;
        if (!s || s->low >= high) {
            pushed = push_line(f, at, none);
            break;
        }
        if (s->low > at) {
            pushed = push_line(f, at, none);
            at = s->low;
        }
        uint64_t end = s->high < high ? s->high : high;
        pushed = pushed && push_sequence(f, &f->out->unit->sequences.data[s->owner], at, end);
        at = end;
    }
    return pushed ? ST_OK : err_nomem(e);
}

/* ---- inlined calls ---- */

static enum st spend(struct flattening *f, uint64_t work, struct err *e) {
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

/* Adds the calls inlined into f, whose own spans are `count` of f->scratch->paint from `first` on.
 * A call stands behind the one that it is in, and behind its elder siblings. */
static enum st add_calls(struct flattening *f, const struct debug_function *function,
                         uint32_t parent, size_t base, size_t first, size_t count, unsigned depth,
                         struct err *e) {
    for (size_t i = 0; i < function->child_count && depth < LOOKUP_INLINE_MAX; i++) {
        const struct debug_function *call = &function->children[i];
        size_t before = f->scratch->paint.len;
        struct flat_node node = {call, parent};
        uint32_t number = (uint32_t)(f->out->node_count - base) + 1;
        if (!clip(&f->scratch->paint, first, count, call, number)) {
            return err_nomem(e);
        }
        if (spend(f, call->range_count + f->scratch->paint.len - before, e) != ST_OK) {
            return ST_ERR;
        }
        if (f->scratch->paint.len == before) {
            continue;
        }
        if (!vec_reserve((void **)&f->out->nodes, f->out->node_count, &f->out->node_cap, 1,
                         sizeof node)) {
            return err_nomem(e);
        }
        f->out->nodes[f->out->node_count++] = node;
        if (add_calls(f, call, number, base, before, f->scratch->paint.len - before, depth + 1,
                      e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Fills f->scratch->calls, which then covers all of the record. */
static enum st collect_calls(struct flattening *f, struct flat_record *r, struct err *e) {
    struct span all = {r->low, r->high, 0};
    f->scratch->paint.len = f->scratch->calls.len = 0;
    r->first_node = f->out->node_count;
    if (!VEC_PUSH(&f->scratch->paint, all)) {
        return err_nomem(e);
    }
    if (add_calls(f, r->function, 0, r->first_node, 0, 1, 1, e) != ST_OK) {
        return ST_ERR;
    }
    r->node_count = f->out->node_count - r->first_node;
    return spans_flatten(f->scratch->paint.data, f->scratch->paint.len, &f->scratch->calls, e);
}

/* ---- records ---- */

static inline enum st push_step(struct flat_unit *out, struct flat_step step, struct err *e) {
    if (out->step_count == out->step_cap &&
        !vec_reserve((void **)&out->steps, out->step_count, &out->step_cap, 1, sizeof step)) {
        return err_nomem(e);
    }
    out->steps[out->step_count++] = step;
    return ST_OK;
}

/* Merges both kinds of changes. */
static enum st add_steps(struct flattening *f, struct flat_record *r, struct err *e) {
    struct flat_step now = {0};
    size_t line = 0, call = 0;
    enum st st = ST_OK;
    r->first_step = f->out->step_count;
    while ((line < f->scratch->lines.len || call < f->scratch->calls.len) && st == ST_OK) {
        uint64_t next_line =
            line < f->scratch->lines.len ? f->scratch->lines.data[line].at : UINT64_MAX;
        uint64_t next_call =
            call < f->scratch->calls.len ? f->scratch->calls.data[call].low : UINT64_MAX;
        uint64_t at = next_line < next_call ? next_line : next_call;
        struct flat_step before = now;
        if (next_line == at) {
            now.place = f->scratch->lines.data[line++].place;
        }
        if (next_call == at) {
            now.node = (uint32_t)f->scratch->calls.data[call++].owner;
        }
        now.at = (uint32_t)(at - r->low);
        if (now.node != before.node || !same_place(&now.place, &before.place)) {
            st = push_step(f->out, now, e);
        }
    }
    r->step_count = f->out->step_count - r->first_step;
    return st;
}

static enum st add_record(struct flattening *f, const struct live_span *s, struct err *e) {
    struct flat_unit *out = f->out;
    struct flat_record r = {
        .function = &out->unit->unit.functions[s->index], .low = s->low, .high = s->high};
    if (s->high - s->low > UINT32_MAX) {
        return err_set(e, ERR_UNSUPPORTED, "a function spans more than 4 GiB");
    }
    if (collect_lines(f, r.low, r.high, e) != ST_OK || collect_calls(f, &r, e) != ST_OK ||
        add_steps(f, &r, e) != ST_OK) {
        return ST_ERR;
    }
    if (!vec_reserve((void **)&out->records, out->record_count, &out->record_cap, 1, sizeof r)) {
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

static enum st add_rows(struct flattening *f, uint64_t low, uint64_t high, struct err *e) {
    struct flat_unit *out = f->out;
    if (low >= high || !symbol_touches(f->own, low, high)) {
        return ST_OK;
    }
    if (collect_lines(f, low, high, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < f->scratch->lines.len; i++) {
        const struct line_change *c = &f->scratch->lines.data[i];
        struct flat_row row = {c->at, i + 1 < f->scratch->lines.len ? c[1].at : high, c->place};
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

/* The parts of each sequence that no function owns. */
static enum st add_lone_rows(struct flattening *f, struct err *e) {
    const struct span_vec *owned = &f->out->owned;
    for (size_t i = 0; i < f->scratch->sequences.len; i++) {
        const struct span *s = &f->scratch->sequences.data[i];
        uint64_t at = s->low;
        for (size_t k = spans_from(owned, at); k < owned->len && owned->data[k].low < s->high;
             k++) {
            if (add_rows(f, at, owned->data[k].low, e) != ST_OK) {
                return ST_ERR;
            }
            at = owned->data[k].high;
        }
        if (add_rows(f, at, s->high, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- the unit ---- */

static enum st flatten_spans(const struct live_spans *spans, struct span_vec *out, struct err *e) {
    struct span *all = calloc(spans->len + 1, sizeof *all);
    if (!all) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < spans->len; i++) {
        all[i] = (struct span){spans->data[i].low, spans->data[i].high, i};
    }
    size_t kept = 0;
    for (size_t i = 0; i < spans->len; i++) {
        if (all[i].low < all[i].high) {
            all[kept++] = all[i];
        }
    }
    enum st st = spans_flatten(all, kept, out, e);
    free(all);
    return st;
}

enum st flat_unit_read(struct flat_unit *out, struct debug *d, size_t index,
                       const struct own_symbols *own, struct flat_scratch *scratch, struct err *e) {
    struct flattening f = {.out = out, .own = own, .scratch = scratch};
    scratch->sequences.len = 0;
    enum st st = live_unit_open(&out->unit, d, index, e);
    if (st == ST_OK) {
        f.work = WORK_FREE + WORK_PER_BYTE * (uint64_t)out->unit->bytes;
        st = flatten_spans(&out->unit->sequences, &scratch->sequences, e);
    }
    if (st == ST_OK) {
        st = flatten_spans(&out->unit->functions, &out->owned, e);
    }
    /* Nearly each row becomes a step: what had to grow would be copied. */
    if (st == ST_OK && !vec_reserve((void **)&out->steps, 0, &out->step_cap,
                                    out->unit->unit.row_count, sizeof *out->steps)) {
        st = err_nomem(e);
    }
    for (size_t i = 0; st == ST_OK && i < out->unit->functions.len; i++) {
        st = add_record(&f, &out->unit->functions.data[i], e);
    }
    if (st == ST_OK) {
        st = add_lone_rows(&f, e);
    }
    if (st != ST_OK) {
        flat_unit_clear(out);
    }
    return st;
}

void flat_unit_clear(struct flat_unit *f) {
    live_unit_free(f->unit);
    f->unit = NULL;
    f->record_count = f->node_count = f->step_count = f->row_count = f->owned.len = 0;
}

void flat_unit_release(struct flat_unit *f) {
    flat_unit_clear(f);
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
}
