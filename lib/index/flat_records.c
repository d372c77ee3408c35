/* Makes records of a flat unit. */
#include "index/flat_records.h"

#include <stdlib.h>

#include "base/vec.h"

/* Limit on the work of flat_calls_read for all ranges of a unit, WORK_FREE plus WORK_PER_BYTE for
 * each byte of the unit in memory, of which a call takes some 100: in undamaged files few ranges of
 * functions overlap, in hostile files all ranges could. */
enum { WORK_FREE = 1 << 18, WORK_PER_BYTE = 4 };

/* ---- steps ---- */

/* Appends the nodes of the record's calls. */
static enum st add_nodes(struct flat_records *out, const struct flat_calls *calls,
                         struct flat_record *r, struct err *e) {
    r->first_node = out->node_count;
    r->node_count = calls->node_count;
    if (!vec_reserve((void **)&out->nodes, out->node_count, &out->node_cap, calls->node_count,
                     sizeof *out->nodes)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < calls->node_count; i++) {
        out->nodes[out->node_count++] = calls->nodes[i];
    }
    return ST_OK;
}

/* Appends the record's steps: one at each change of the inlined call or of the place. */
static enum st add_steps(struct flat_records *out, const struct flat_scratch *scratch,
                         struct flat_record *r, struct err *e) {
    const struct span_vec *calls = &scratch->calls.spans;
    const struct flat_line *line = scratch->lines.data, *end = line + scratch->lines.len;
    r->first_step = out->step_count;
    if (!vec_reserve((void **)&out->steps, out->step_count, &out->step_cap,
                     calls->len + scratch->lines.len, sizeof *out->steps)) {
        return err_nomem(e);
    }
    struct flat_step *step = out->steps + out->step_count;
    struct flat_step now = {0};
    for (size_t i = 0; i < calls->len; i++) {
        const struct code_span *call = &calls->data[i];
        struct flat_step next = {(uint32_t)(call->low - r->low), (uint32_t)call->owner, now.place};
        if (line < end && line->at == call->low) {
            next.place = line++->place;
        }
        if (next.node != now.node || !flat_places_equal(next.place, now.place)) {
            r->all_at |= next.at;
            *step++ = next;
        }
        for (; line < end && line->at < call->high; line++) {
            next.at = (uint32_t)(line->at - r->low);
            next.place = line->place;
            r->all_at |= next.at;
            *step++ = next;
        }
        now = next;
    }
    out->step_count = (size_t)(step - out->steps);
    r->step_count = out->step_count - r->first_step;
    return ST_OK;
}

static enum st add_record(struct flat_records *out, const struct code_span *range,
                          struct flat_scratch *scratch, struct err *e) {
    struct flat_record r = {
        .function = flat_unit_function(out->unit, range), .low = range->low, .high = range->high};
    if (r.high - r.low > UINT32_MAX) {
        return err_set(e, ERR_UNSUPPORTED, "a function spans more than 4 GiB");
    }
    uint64_t from = flat_unit_first_row(out->unit, r.low);
    if (flat_calls_read(&scratch->calls, r.function, r.low, r.high, &out->work, e) != ST_OK ||
        flat_unit_lines(out->unit, r.low, r.high, from, &scratch->lines, e) != ST_OK ||
        add_nodes(out, &scratch->calls, &r, e) != ST_OK ||
        add_steps(out, scratch, &r, e) != ST_OK) {
        return ST_ERR;
    }
    out->records[out->record_count++] = r;
    return ST_OK;
}

/* ---- lines that are no function's ---- */

/* Appends those lines of [low, high), code of symbol s, that have a file. */
static enum st add_symbol_rows(struct flat_records *out, const struct object_symbol *s,
                               struct flat_lines *lines, uint64_t low, uint64_t high,
                               struct err *e) {
    uint64_t from = flat_unit_first_row(out->unit, s->address);
    if (flat_unit_lines(out->unit, low, high, from, lines, e) != ST_OK) {
        return ST_ERR;
    }
    if (!vec_reserve((void **)&out->rows, out->row_count, &out->row_cap, lines->len,
                     sizeof *out->rows)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < lines->len; i++) {
        const struct flat_line *line = &lines->data[i];
        uint64_t end = i + 1 < lines->len ? line[1].at : high;
        if (line->place.file != 0) {
            out->rows[out->row_count++] = (struct flat_row){line->at, end, line->place};
        }
    }
    return ST_OK;
}

/* Appends the lines of the symbols in [low, high), code that belongs to no function of the unit. */
static enum st add_rows(struct flat_records *out, const struct own_symbols *own,
                        struct flat_lines *lines, uint64_t low, uint64_t high, struct err *e) {
    size_t i = low < high ? own_symbols_below(own, low) : own->symbol_count;
    for (i -= i > 0 && low < high; i < own->symbol_count && own->symbols[i].address < high; i++) {
        uint64_t from = own->symbols[i].address, to = own_symbols_end(own, i);
        from = from > low ? from : low;
        to = to < high ? to : high;
        if (from < to && add_symbol_rows(out, &own->symbols[i], lines, from, to, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st add_all_rows(struct flat_records *out, const struct own_symbols *own,
                            struct flat_lines *lines, struct err *e) {
    const struct span_vec *owned = &out->unit->owned, *sequences = &out->unit->sequences;
    for (size_t i = 0; i < sequences->len; i++) {
        const struct code_span *s = &sequences->data[i];
        uint64_t at = s->low;
        for (size_t k = spans_from(owned, at); k < owned->len && owned->data[k].low < s->high;
             k++) {
            if (add_rows(out, own, lines, at, owned->data[k].low, e) != ST_OK) {
                return ST_ERR;
            }
            at = owned->data[k].high;
        }
        if (add_rows(out, own, lines, at, s->high, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- the unit ---- */

/* Returns the number of rows in the unit's sequences, the end-of-sequence rows included: memory for
 * so many steps is reserved at first, because growing the array would copy it. */
static size_t rows_of_code(const struct debug_unit *u) {
    size_t count = 0;
    for (size_t i = 0; i < u->sequence_count; i++) {
        count += u->sequences[i].last - u->sequences[i].first + 1;
    }
    return count;
}

static enum st read_records(struct flat_records *out, struct debug *d, size_t index,
                            const struct own_symbols *own, struct flat_scratch *scratch,
                            struct err *e) {
    if (flat_unit_open(&out->unit, d, own, index, e) != ST_OK) {
        return ST_ERR;
    }
    const struct span_vec *ranges = &out->unit->ranges;
    size_t rows = rows_of_code(&out->unit->unit);
    out->work = WORK_FREE + WORK_PER_BYTE * (uint64_t)out->unit->bytes;
    if (!vec_reserve((void **)&out->records, 0, &out->record_cap, ranges->len,
                     sizeof *out->records) ||
        !vec_reserve_large((void **)&out->steps, 0, &out->step_cap, rows, sizeof *out->steps)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < ranges->len; i++) {
        if (add_record(out, &ranges->data[i], scratch, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return add_all_rows(out, own, &scratch->lines, e);
}

enum st flat_records_read(struct flat_records *out, struct debug *d, size_t index,
                          const struct own_symbols *own, struct flat_scratch *scratch,
                          struct err *e) {
    enum st st = read_records(out, d, index, own, scratch, e);
    if (st != ST_OK) {
        flat_records_release(out);
    }
    return st;
}

void flat_records_clear(struct flat_records *f) {
    f->record_count = f->node_count = f->step_count = f->row_count = 0;
}

void flat_records_release(struct flat_records *f) {
    flat_unit_free(f->unit);
    free(f->records);
    free(f->nodes);
    free(f->steps);
    free(f->rows);
    *f = (struct flat_records){0};
}

void flat_scratch_release(struct flat_scratch *s) {
    flat_calls_release(&s->calls);
    VEC_RELEASE(&s->lines);
}
