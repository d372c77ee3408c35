/* A file by its own DWARF or by its debug map. An object file of a map is a unit of the linked
 * file: its functions and line rows at the addresses that the linker gave them, symbol by symbol,
 * as dsymutil(1) does. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "debug/debug_private.h"
#include "debug/link_spans.h"

struct linker {
    struct debug *d;
    const struct map_object *object;
    const struct object_slice *slice;
    struct link_spans spans;
    struct debug_unit *out;
    VEC(struct debug_function) functions; /* of all units of the file: real ones */
    VEC(const char *) files;
    VEC(struct debug_row) rows;
    VEC(struct debug_sequence) sequences;
};

/* ---- functions ---- */

/* In an object file a function may begin at 0, which elsewhere means that DWARF says no low_pc; it
 * says one for all functions in one piece. */
static uint64_t link_low_pc(const struct linker *l, const struct debug_function *f) {
    uint64_t low = 0;
    bool said = f->low_pc != 0 || (f->range_count == 1 && f->ranges[0].low == 0);
    return said && link_spans_address(&l->spans, f->low_pc, &low) ? low : 0;
}

static uint32_t link_file(uint32_t file, size_t count, size_t base) {
    return file < count ? (uint32_t)(base + file) : DEBUG_NO_FILE;
}

/* Moves a function; its ranges may be none then. `ranges` is memory to work in. */
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

/* By lowest address, equal ones in the order of the file. Each has a range. */
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

/* Drops those that have no code here. */
static size_t keep_linked(struct debug_function *f, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (f[i].range_count > 0) {
            f[kept++] = f[i];
        }
    }
    return kept;
}

/* Puts the calls below the functions in order, each group when its parent has its place. */
static enum st settle_children(struct linker *l, struct debug_function *roots, size_t count,
                               struct err *e) {
    VEC(struct debug_function *) open = {0}; /* functions with children */
    enum st st = ST_OK;
    for (size_t i = 0; i < count && st == ST_OK; i++) {
        st = VEC_PUSH(&open, &roots[i]) ? ST_OK : err_nomem(e);
        while (open.len > 0 && st == ST_OK) {
            struct debug_function *f = open.data[--open.len];
            f->child_count = keep_linked(f->children, f->child_count);
            st = sort_functions(f->children, f->child_count, e);
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

/* Appends the rows of a sequence that lie in a span, and their end. */
static enum st link_sequence(struct linker *l, const struct debug_unit *part, size_t file_base,
                             const struct debug_sequence *s, const struct link_span *span,
                             struct err *e) {
    uint64_t low = s->low > span->low ? s->low : span->low;
    uint64_t high = s->high < span->high ? s->high : span->high;
    if (low >= high) {
        return ST_OK;
    }
    const struct debug_row *rows = part->rows;
    size_t count = s->last - s->first;
    size_t i = s->first + SEARCH_ABOVE(rows + s->first, count, address, low);
    /* The row that counts at `low`, and all others there. */
    i -= i > s->first;
    while (i > s->first && rows[i].address == low && rows[i - 1].address == low) {
        i--;
    }
    struct debug_sequence linked = {.low = span->to + (low - span->low),
                                    .high = span->to + (high - span->low),
                                    .first = l->rows.len};
    for (; i < s->last && rows[i].address < high; i++) {
        struct debug_row row = rows[i];
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

/* The ranges of the unit's functions in the object file, normalised. */
static enum st functions_code(const struct debug_unit *part, struct range_vec *out, struct err *e) {
    for (size_t i = 0; i < part->function_count; i++) {
        const struct debug_function *f = &part->functions[i];
        for (size_t k = 0; k < f->range_count; k++) {
            if (!VEC_PUSH(out, f->ranges[k])) {
                return err_nomem(e);
            }
        }
    }
    ranges_normalise(out, 0);
    return ST_OK;
}

/* A sequence of an object file runs on through the padding between functions. It is cut where a
 * function ends; a symbol that is no function of the unit, as an assembler's, has all its lines. */
static enum st link_span_lines(struct linker *l, const struct debug_unit *part, size_t file_base,
                               const struct debug_sequence *s, const struct link_span *span,
                               const struct range_vec *code, struct err *e) {
    size_t i = SEARCH_ABOVE(code->data, code->len, high, span->low);
    if (i == code->len || code->data[i].low >= span->high) {
        return link_sequence(l, part, file_base, s, span, e);
    }
    for (; i < code->len && code->data[i].low < span->high; i++) {
        struct debug_range r = code->data[i];
        struct link_span piece = *span;
        piece.low = r.low > span->low ? r.low : span->low;
        piece.high = r.high < span->high ? r.high : span->high;
        piece.to += piece.low - span->low;
        if (link_spans_charge(&l->spans, e) != ST_OK ||
            link_sequence(l, part, file_base, s, &piece, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st link_lines(struct linker *l, const struct debug_unit *part, size_t file_base,
                          struct err *e) {
    struct range_vec code = {0};
    enum st st = functions_code(part, &code, e);
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
    VEC_RELEASE(&code);
    return st;
}

static int by_sequence(const void *a, const void *b) {
    const struct debug_sequence *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(x->first, y->first);
}

/* ---- the unit ---- */

/* The paths of all units of the file behind each other. */
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

/* Reads all units of the object file. One that cannot be read costs its own functions: complain was
 * told. */
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
    enum st st = ST_NONE;
    if (l.object->state == DEBUG_OBJECT_FOUND) {
        st = d->finder->object(d->finder->ctx, d->slice, &l.object->name, &l.slice, &why);
    }
    if (st == ST_OK) {
        path = object_slice_path(l.slice);
        st = link_object(&l, &why);
    } else if (st == ST_NONE) {
        st = err_set(&why, ERR_IO, "the object file cannot be read any more");
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
    return err_set(e, why.code, "%s", why.text);
}

/* ---- the file ---- */

/* What the map says of the units' code: nothing is opened for it. */
static enum st add_unit_ranges(struct debug *d, size_t unit, struct range_vec *ranges,
                               struct err *e) {
    const struct map_object *o = &d->map.objects.data[unit];
    ranges->len = 0;
    for (size_t i = 0; i < o->count; i++) {
        const struct map_function *f = &d->map.functions.data[o->first + i];
        struct debug_range r = {f->address, f->address + f->size};
        if (!VEC_PUSH(ranges, r)) {
            return err_nomem(e);
        }
    }
    ranges_normalise(ranges, 0);
    for (size_t i = 0; i < ranges->len; i++) {
        if (units_add_range(d, unit, ranges->data[i], e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static void note_state(struct debug *d, const struct map_object *o) {
    struct debug_map_files *files = &d->map_files;
    files->missing += o->state == DEBUG_OBJECT_MISSING;
    files->changed += o->state == DEBUG_OBJECT_CHANGED;
    if (o->state != DEBUG_OBJECT_FOUND && !files->first) {
        files->first = o->name.path;
    }
}

static enum st open_map(struct debug **out, const struct object_slice *s,
                        const struct debug_split_finder *finder, debug_complain complain, void *ctx,
                        struct err *e) {
    struct range_vec ranges = {0};
    struct debug *d = calloc(1, sizeof *d);
    if (!d) {
        return err_nomem(e);
    }
    d->slice = s;
    d->path = object_slice_path(s);
    d->finder = finder;
    d->complain = complain;
    d->complain_ctx = ctx;
    enum st st = debug_map_read(&d->map, s, e);
    d->map_files.named = d->map.objects.len;
    for (size_t i = 0; i < d->map.objects.len && st == ST_OK; i++) {
        struct map_object *o = &d->map.objects.data[i];
        o->state = finder->object_state(finder->ctx, s, &o->name);
        note_state(d, o);
        if (o->state == DEBUG_OBJECT_FOUND) {
            st = add_unit_ranges(d, i, &ranges, e);
        }
    }
    VEC_RELEASE(&ranges);
    if (st != ST_OK) {
        debug_close(d);
        return st;
    }
    d->split_units = d->map_files.missing + d->map_files.changed;
    units_sort_ranges(d);
    *out = d;
    return ST_OK;
}

/* ---- either kind of file ---- */

enum st debug_open(struct debug **out, const struct object_slice *s,
                   const struct debug_others *others, debug_complain complain, void *ctx,
                   struct err *e) {
    enum st st = debug_open_dwarf(out, s, others, complain, ctx, e);
    if (st == ST_NONE && others && others->split && others->split->object) {
        return open_map(out, s, others->split, complain, ctx, e);
    }
    return st;
}

enum st debug_read_unit(struct debug *d, size_t unit, struct debug_unit *out, struct err *e) {
    return d->map.objects.len > 0 ? read_linked_unit(d, unit, out, e)
                                  : debug_read_dwarf(d, unit, out, e);
}
