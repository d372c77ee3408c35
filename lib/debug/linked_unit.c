/* Reads a file by its own DWARF or by its debug map. An object file of a map is a unit of the
 * linked file: its functions and line rows get the addresses that the linker gave them, symbol by
 * symbol, as dsymutil(1) does. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sort.h"
#include "debug/debug_private.h"
#include "debug/link_spans.h"

struct linker {
    struct debug *d;
    const struct map_object *object;
    const struct object_slice *slice;
    struct link_spans spans;
    struct debug_unit *out;
    /* functions of all units of the object file, without inlined calls */
    VEC(struct debug_function) functions;
    VEC(const char *) files;
    VEC(struct debug_row) rows;
    VEC(struct debug_sequence) sequences;
};

/* ---- functions ---- */

/* Returns a function's low_pc in the linked file, 0 = none. In an object file low_pc may be 0,
 * which elsewhere means that there is none; a function of one range always has a low_pc. */
static uint64_t link_low_pc(const struct linker *l, const struct debug_function *f) {
    uint64_t low = 0;
    bool said = f->low_pc != 0 || (f->range_count == 1 && f->ranges[0].low == 0);
    return said && link_spans_address(&l->spans, f->low_pc, &low) ? low : 0;
}

static uint32_t link_file(uint32_t file, size_t count, size_t base) {
    return file < count ? (uint32_t)(base + file) : DEBUG_NO_FILE;
}

/* Moves a function to its addresses in the linked file; a function of which nothing was linked then
 * has no ranges. `ranges` is scratch memory. ST_ERR: no visits of spans are left (ERR_LIMIT), or
 * out of memory. */
static enum st link_function(struct linker *l, const struct debug_unit *part, size_t file_base,
                             struct range_vec *ranges, struct debug_function *f, struct err *e) {
    struct debug_function was = *f;
    ranges->len = 0;
    for (size_t i = 0; i < was.range_count; i++) {
        if (link_spans_range(&l->spans, was.ranges[i], ranges, e) != ST_OK) {
            return ST_ERR;
        }
    }
    ranges_normalise(ranges, 0);
    struct debug_range *kept = arena_array(&l->out->arena, ranges->len, sizeof *kept);
    if (!kept) {
        return err_nomem(e);
    }
    if (ranges->len > 0) {
        memcpy(kept, ranges->data, ranges->len * sizeof *kept);
    }
    f->low_pc = link_low_pc(l, &was);
    if (!link_spans_address(&l->spans, was.entry, &f->entry)) {
        f->entry = ranges->len > 0 ? kept[0].low : 0;
    }
    f->ranges = kept;
    f->range_count = ranges->len;
    f->origin = 0;
    f->decl_file = link_file(f->decl_file, part->path_count, file_base);
    f->call_file = link_file(f->call_file, part->file_count, file_base);
    return ST_OK;
}

struct function_place {
    uint64_t low;
    size_t index;
};

static int by_function_place(const void *a, const void *b) {
    const struct function_place *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(x->index, y->index);
}

/* Sorts functions, which all have a range, by lowest address; equal ones stay in the order of the
 * file. ST_ERR: out of memory. */
static enum st sort_functions(struct debug_function *f, size_t count, struct err *e) {
    size_t i = 1;
    while (i < count && f[i - 1].ranges->low <= f[i].ranges->low) {
        i++;
    }
    if (i >= count) {
        return ST_OK;
    }
    struct function_place *places = calloc(count, sizeof *places);
    struct debug_function *copy = calloc(count, sizeof *copy);
    if (!places || !copy) {
        free(places);
        free(copy);
        return err_nomem(e);
    }
    memcpy(copy, f, count * sizeof *copy);
    for (i = 0; i < count; i++) {
        places[i] = (struct function_place){f[i].ranges->low, i};
    }
    qsort(places, count, sizeof *places, by_function_place);
    for (i = 0; i < count; i++) {
        f[i] = copy[places[i].index];
    }
    free(places);
    free(copy);
    return ST_OK;
}

/* Drops functions that have no code in the linked file; returns how many are left. */
static size_t keep_linked(struct debug_function *f, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (f[i].range_count > 0) {
            f[kept++] = f[i];
        }
    }
    return kept;
}

/* Sorts the inlined calls below the functions and drops those without code; a group is sorted after
 * its parent has its final place. Counts the functions and calls that are left in
 * l->out->node_count. ST_ERR: out of memory. */
static enum st settle_children(struct linker *l, struct debug_function *roots, size_t count,
                               struct err *e) {
    VEC(struct debug_function *) open = {0}; /* functions whose children are still to be sorted */
    enum st st = ST_OK;
    for (size_t i = 0; i < count && st == ST_OK; i++) {
        st = VEC_PUSH(&open, &roots[i]) ? ST_OK : err_nomem(e);
        while (open.len > 0 && st == ST_OK) {
            struct debug_function *f = open.data[--open.len];
            f->child_count = keep_linked(f->children, f->child_count);
            st = sort_functions(f->children, f->child_count, e);
            debug_set_reach(f->children, f->child_count);
            for (size_t k = 0; k < f->child_count && st == ST_OK; k++) {
                st = VEC_PUSH(&open, &f->children[k]) ? ST_OK : err_nomem(e);
            }
            l->out->node_count++;
        }
    }
    VEC_RELEASE(&open);
    return st;
}

static enum st link_functions(struct linker *l, const struct debug_unit *part, size_t file_base,
                              struct err *e) {
    struct range_vec ranges = {0};
    size_t count = part->node_count;
    struct debug_function *all = arena_array(&l->out->arena, count, sizeof *all);
    enum st st = all ? ST_OK : err_nomem(e);
    for (size_t i = 0; i < count && st == ST_OK; i++) {
        all[i] = part->functions[i];
        if (all[i].child_count > 0) {
            all[i].children = all + (all[i].children - part->functions);
        }
        st = link_function(l, part, file_base, &ranges, &all[i], e);
    }
    VEC_RELEASE(&ranges);
    if (st == ST_OK) {
        size_t roots = keep_linked(all, part->function_count);
        st = settle_children(l, all, roots, e);
        for (size_t i = 0; i < roots && st == ST_OK; i++) {
            st = VEC_PUSH(&l->functions, all[i]) ? ST_OK : err_nomem(e);
        }
    }
    return st;
}

/* ---- lines ---- */

/* Appends the rows of a sequence that hold for addresses in a span, and an end-of-sequence row.
 * Rows with an address below `from` are left out. Appends nothing if the sequence and the span do
 * not meet. ST_ERR: no visits are left (ERR_LIMIT), or out of memory. */
static enum st link_sequence(struct linker *l, const struct debug_unit *part, size_t file_base,
                             const struct debug_sequence *s, const struct link_span *span,
                             uint64_t from, struct err *e) {
    uint64_t low = s->low > span->low ? s->low : span->low;
    uint64_t high = s->high < span->high ? s->high : span->high;
    if (low >= high) {
        return ST_OK;
    }
    const struct debug_row *rows = part->rows;
    size_t count = s->last - s->first;
    size_t i = s->first + SEARCH_ABOVE(rows + s->first, count, address, low);
    /* The first row is the one that holds at `low`, or the first of several rows at `low`. */
    i -= i > s->first;
    while (i > s->first && rows[i].address == low && rows[i - 1].address == low) {
        i--;
    }
    struct debug_sequence linked = {.low = span->to + (low - span->low),
                                    .high = span->to + (high - span->low),
                                    .first = l->rows.len};
    for (; i < s->last && rows[i].address < high; i++) {
        struct debug_row row = rows[i];
        if (row.address < from) {
            continue;
        }
        uint64_t at = row.address > low ? row.address : low;
        row.address = span->to + (at - span->low);
        row.file = link_file(row.file, part->file_count, file_base);
        if (link_spans_charge(&l->spans, e) != ST_OK) {
            return ST_ERR;
        }
        if (!VEC_PUSH(&l->rows, row)) {
            return err_nomem(e);
        }
    }
    linked.last = l->rows.len;
    struct debug_row end = {.address = linked.high, .file = DEBUG_NO_FILE, .end_sequence = 1};
    return VEC_PUSH(&l->rows, end) && VEC_PUSH(&l->sequences, linked) ? ST_OK : err_nomem(e);
}

/* The code of a unit's functions in the object file. Zero-initialised = none. */
struct functions_code {
    struct range_vec code; /* the functions' ranges, normalised */
    VEC(uint64_t) starts;  /* addresses at which the ranges of `code` begin, ascending */
};

static int by_address(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return COMPARE(*x, *y);
}

/* Fills *out with the ranges of the unit's functions, joined, and their starts. *out needs
 * release_code in any case. ST_ERR: out of memory. */
static enum st read_code(const struct debug_unit *part, struct functions_code *out, struct err *e) {
    for (size_t i = 0; i < part->function_count; i++) {
        const struct debug_function *f = &part->functions[i];
        for (size_t k = 0; k < f->range_count; k++) {
            if (!VEC_PUSH(&out->code, f->ranges[k]) || !VEC_PUSH(&out->starts, f->ranges[k].low)) {
                return err_nomem(e);
            }
        }
    }
    ranges_normalise(&out->code, 0);
    sort_unless_sorted(out->starts.data, out->starts.len, sizeof *out->starts.data, by_address);
    return ST_OK;
}

static void release_code(struct functions_code *c) {
    VEC_RELEASE(&c->code);
    VEC_RELEASE(&c->starts);
}

/* Appends the part of a sequence that lies in a span, cut where functions end: a sequence of an
 * object file runs on through the padding between functions. A symbol that is no function of the
 * unit, such as one in assembler, keeps its lines. A row that begins in another function is left
 * out, unless the unit is in assembler, by the rule of lib/index (flat_unit_first_row). ST_ERR as
 * for link_sequence. */
static enum st link_span_lines(struct linker *l, const struct debug_unit *part, size_t file_base,
                               const struct debug_sequence *s, const struct link_span *span,
                               const struct functions_code *c, struct err *e) {
    const struct range_vec *code = &c->code;
    bool any_row = debug_is_assembler(part);
    size_t i = SEARCH_ABOVE(code->data, code->len, high, span->low);
    if (i == code->len || code->data[i].low >= span->high) {
        return link_sequence(l, part, file_base, s, span, any_row ? 0 : span->low, e);
    }
    for (; i < code->len && code->data[i].low < span->high; i++) {
        struct debug_range r = code->data[i];
        struct link_span piece = *span;
        piece.low = r.low > span->low ? r.low : span->low;
        piece.high = r.high < span->high ? r.high : span->high;
        piece.to += piece.low - span->low;
        size_t after =
            search_above(c->starts.data, c->starts.len, sizeof *c->starts.data, piece.low);
        uint64_t from = after > 0 && !any_row ? c->starts.data[after - 1] : 0;
        if (link_spans_charge(&l->spans, e) != ST_OK ||
            link_sequence(l, part, file_base, s, &piece, from, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st link_lines(struct linker *l, const struct debug_unit *part, size_t file_base,
                          struct err *e) {
    struct functions_code code = {0};
    enum st st = read_code(part, &code, e);
    for (size_t i = 0; i < part->sequence_count && st == ST_OK; i++) {
        const struct debug_sequence *s = &part->sequences[i];
        size_t k = link_spans_above(&l->spans, s->low);
        for (; k < l->spans.len && l->spans.data[k].low < s->high && st == ST_OK; k++) {
            st = link_spans_charge(&l->spans, e);
            if (st == ST_OK) {
                st = link_span_lines(l, part, file_base, s, &l->spans.data[k], &code, e);
            }
        }
    }
    release_code(&code);
    return st;
}

static int by_sequence(const void *a, const void *b) {
    const struct debug_sequence *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(x->first, y->first);
}

/* ---- the unit ---- */

/* Appends copies of the paths of a unit of the object file to l->files. ST_ERR: out of memory, or
 * 2^32 paths. */
static enum st copy_files(struct linker *l, const struct debug_unit *part, struct err *e) {
    if (l->files.len + part->path_count >= DEBUG_NO_FILE ||
        !VEC_RESERVE(&l->files, part->path_count)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < part->path_count; i++) {
        const char *path = part->files[i];
        const char *copy = path ? arena_strdup(&l->out->arena, path, strlen(path)) : NULL;
        if (path && !copy) {
            return err_nomem(e);
        }
        l->files.data[l->files.len++] = copy;
    }
    return ST_OK;
}

static enum st link_part(struct linker *l, const struct debug_unit *part, struct err *e) {
    size_t file_base = l->files.len;
    link_spans_allow(&l->spans, part->range_count + part->row_count);
    enum st st = copy_files(l, part, e);
    if (st == ST_OK) {
        st = link_functions(l, part, file_base, e);
    }
    return st == ST_OK ? link_lines(l, part, file_base, e) : st;
}

/* Reads all units of the object file. A unit that cannot be read is left out; complain was called
 * for that unit. The first unit gives l->out its name, folder, version and language. ST_ERR as for
 * link_sequence. */
static enum st link_parts(struct linker *l, struct debug *object, struct err *e) {
    struct debug_unit part = {0}, *out = l->out;
    enum st st = ST_OK;
    for (size_t i = 0; i < debug_unit_count(object) && st == ST_OK; i++) {
        struct err why = {0};
        st = debug_read_dwarf(object, i, &part, &why);
        if (st == ST_ERR && why.code != ERR_NOMEM) {
            st = ST_OK;
            continue;
        }
        if (i == 0) {
            out->offset = part.offset;
            out->version = part.version;
            out->name = part.name;
            out->comp_dir = part.comp_dir;
            out->language = part.language;
        }
        st = st == ST_OK ? link_part(l, &part, e) : err_nomem(e);
    }
    debug_unit_release(&part);
    return st;
}

static void end_linked_unit(struct linker *l) {
    struct debug_unit *out = l->out;
    out->files = l->files.data;
    out->file_count = out->path_count = l->files.len;
    out->path_cap = l->files.cap;
    out->functions = l->functions.data;
    out->function_count = l->functions.len;
    out->function_cap = l->functions.cap;
    out->rows = l->rows.data;
    out->row_count = l->rows.len;
    out->row_cap = l->rows.cap;
    out->sequences = l->sequences.data;
    out->sequence_count = l->sequences.len;
    out->sequence_cap = l->sequences.cap;
}

static enum st link_object(struct linker *l, struct err *e) {
    struct debug *object = NULL;
    const struct map_function *functions = l->d->map.functions.data + l->object->first;
    enum st st = link_spans_read(&l->spans, functions, l->object->count, l->slice, e);
    if (st == ST_NONE) {
        return err_set(e, ERR_FORMAT,
                       "the object file is of another build: its functions are not those of the "
                       "debug map");
    }
    if (st == ST_OK) {
        st = debug_open_dwarf(&object, l->slice, NULL, l->d->complain, l->d->complain_ctx, e);
    }
    if (st == ST_NONE) {
        st = err_set(e, ERR_FORMAT, "the object file has no debug info");
    }
    if (st == ST_OK) {
        st = link_parts(l, object, e);
    }
    debug_close(object);
    if (st == ST_OK) {
        st = sort_functions(l->functions.data, l->functions.len, e);
    }
    if (l->sequences.len > 1) {
        qsort(l->sequences.data, l->sequences.len, sizeof *l->sequences.data, by_sequence);
    }
    return st;
}

static enum st read_linked_unit(struct debug *d, size_t unit, struct debug_unit *out,
                                struct err *e) {
    struct linker l = {.d = d, .object = &d->map.objects.data[unit], .out = out};
    const char *path = l.object->name.path;
    struct err why = {0};
    debug_unit_release(out);
    if (l.object->state != DEBUG_OBJECT_FOUND) {
        return ST_OK; /* d->map_files counts the object file */
    }
    enum st st = d->finder->object(d->finder->ctx, d->slice, &l.object->name, &l.slice, &why);
    if (st == ST_OK) {
        path = object_slice_path(l.slice);
        st = link_object(&l, &why);
    } else if (st == ST_NONE) {
        st = err_set(&why, ERR_IO, "there is no object file for %s", object_slice_arch(d->slice));
    }
    end_linked_unit(&l);
    link_spans_release(&l.spans);
    if (st == ST_OK) {
        return ST_OK;
    }
    debug_unit_release(out);
    if (why.code != ERR_NOMEM && d->complain) {
        d->complain(d->complain_ctx, path, DEBUG_NO_UNIT, &why);
    }
    return err_copy(e, &why);
}

/* ---- either kind of file ---- */

enum st debug_open(struct debug **out, const struct object_slice *s,
                   const struct debug_others *others, debug_complain complain, void *ctx,
                   struct err *e) {
    enum st st = debug_open_dwarf(out, s, others, complain, ctx, e);
    if (st == ST_NONE && others && others->split && others->split->object) {
        return debug_open_map(out, s, others->split, complain, ctx, e);
    }
    return st;
}

enum st debug_read_unit(struct debug *d, size_t unit, struct debug_unit *out, struct err *e) {
    return d->map.objects.len > 0 ? read_linked_unit(d, unit, out, e)
                                  : debug_read_dwarf(d, unit, out, e);
}
