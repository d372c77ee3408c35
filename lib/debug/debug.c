/* Opens, clones and closes the debug information of a slice. */
#include "debug/debug_private.h"

#include <dwarf.h>
#include <stdlib.h>

size_t debug_split_units(const struct debug *d) {
    return d->split_units;
}

struct debug_map_files debug_map_files(const struct debug *d) {
    return d->map_files;
}

size_t debug_dieless_units(const struct debug *d) {
    return d->dieless_units;
}

bool debug_is_lineless(const struct debug *d) {
    const struct section_bytes *lines = &d->main.sections.of[SECTION_LINE];
    bool referred = false;
    for (size_t i = 0; i < d->code_units.len && !referred; i++) {
        referred = d->main.units[d->code_units.data[i]].has_stmt_list;
    }
    return referred && lines->len == 0 && !lines->damaged;
}

static struct debug_range largest_code(const struct range_vec *code, uint64_t tombstones) {
    struct debug_range largest = {0};
    for (size_t i = 0; i < code->len; i++) {
        struct debug_range r = code->data[i];
        r.high = r.high < tombstones ? r.high : tombstones;
        if (r.low < r.high && r.high - r.low > largest.high - largest.low) {
            largest = r;
        }
    }
    return largest;
}

enum st debug_open_sections(struct debug **out, const struct debug_setup *setup, struct err *e) {
    struct debug *d = calloc(1, sizeof *d);
    if (!d) {
        return err_nomem(e);
    }
    d->path = setup->sections->file;
    d->slice = setup->slice;
    d->alt.number = 1;
    d->address_size = setup->sections->address_size;
    d->arm32 = setup->arm32;
    d->complain = setup->complain;
    d->complain_ctx = setup->complain_ctx;
    enum st st = ST_OK;
    for (size_t i = 0; i < setup->code_count && st == ST_OK; i++) {
        st = VEC_PUSH(&d->code, setup->code[i]) ? ST_OK : err_nomem(e);
    }
    ranges_normalise(&d->code, 0);
    d->main_code = largest_code(&d->code, debug_tombstones(d));
    if (st == ST_OK && setup->alt) {
        debug_begin_file(d, &d->alt, setup->alt, setup->planless);
        st = units_read(d, &d->alt, e);
    }
    if (st == ST_OK) {
        debug_begin_file(d, &d->main, setup->sections, setup->planless);
        st = units_read(d, &d->main, e);
    }
    if (st == ST_OK) {
        st = split_find_all(d, setup->split, e);
    }
    if (st == ST_OK) {
        st = units_read_aranges(d, e);
    }
    if (st != ST_OK) {
        debug_close(d);
        return st;
    }
    units_sort_ranges(d);
    *out = d;
    return ST_OK;
}

/* Appends the extents of sections with instructions; none if the file has no sections. ST_ERR: out
 * of memory. */
static enum st code_extents(const struct object_slice *s, struct range_vec *out, struct err *e) {
    for (size_t i = 0; i < object_section_count(s); i++) {
        struct object_section_info info;
        if (!object_section_info(s, i, &info) || !info.code || info.size == 0) {
            continue;
        }
        struct debug_range r = {.low = info.address, .high = info.address + info.size};
        if (r.high > r.low && !VEC_PUSH(out, r)) {
            return err_nomem(e);
        }
    }
    return ST_OK;
}

enum st debug_open_dwarf(struct debug **out, const struct object_slice *s,
                         const struct debug_others *others, debug_complain complain, void *ctx,
                         struct err *e) {
    const struct object_slice *alt = others ? others->alt : NULL;
    struct sections main_sections, alt_sections;
    struct range_vec code = {0};
    struct err damage = {0};
    const char *path = object_slice_path(s);
    enum st st = sections_load(&main_sections, s, path, &damage, e);
    if (st != ST_OK) {
        return st;
    }
    bool has_alt =
        alt && sections_load(&alt_sections, alt, object_slice_path(alt), &damage, &damage) == ST_OK;
    if (err_is(&damage) && complain) {
        complain(ctx, path, DEBUG_NO_UNIT, &damage);
    }
    st = code_extents(s, &code, e);
    if (st == ST_OK) {
        struct debug_setup setup = {.sections = &main_sections,
                                    .alt = has_alt ? &alt_sections : NULL,
                                    .slice = s,
                                    .split = others ? others->split : NULL,
                                    .code = code.data,
                                    .code_count = code.len,
                                    .arm32 = object_slice_is_arm32(s),
                                    .complain = complain,
                                    .complain_ctx = ctx};
        st = debug_open_sections(out, &setup, e);
    }
    VEC_RELEASE(&code);
    return st;
}

void debug_open_ahead(const struct object_slice *s) {
    sections_inflate_small(s);
}

static enum st clone_file(struct debug *d, struct debug_file *f, const struct debug_file *of,
                          struct err *e) {
    if (!of->present) {
        return ST_OK;
    }
    debug_begin_file(d, f, &of->sections, of->reader.abbrevs.planless);
    f->units = malloc((of->unit_count + 1) * sizeof *f->units);
    if (!f->units) {
        return err_nomem(e);
    }
    f->unit_count = f->unit_cap = of->unit_count;
    for (size_t i = 0; i < of->unit_count; i++) {
        struct unit_entry *u = &f->units[i];
        *u = of->units[i];
        /* The clone counts its own work, and has its own tables of other units' files. */
        u->walked = u->charged = false;
        u->others = NULL;
    }
    return ST_OK;
}

enum st debug_clone(struct debug **out, const struct debug *d, debug_complain complain, void *ctx,
                    struct err *e) {
    struct debug *c = calloc(1, sizeof *c);
    if (!c) {
        return err_nomem(e);
    }
    *c = (struct debug){.path = d->path,
                        .slice = d->slice,
                        .address_size = d->address_size,
                        .arm32 = d->arm32,
                        .main_code = d->main_code,
                        .complain = complain,
                        .complain_ctx = ctx,
                        .split_units = d->split_units,
                        .map_files = d->map_files,
                        .finder = d->finder};
    c->alt.number = 1;
    enum st st = debug_map_copy(&c->map, &d->map, e);
    if (st == ST_OK) {
        st = clone_file(c, &c->alt, &d->alt, e);
    }
    if (st == ST_OK) {
        st = clone_file(c, &c->main, &d->main, e);
    }
    if (st == ST_OK) {
        st = split_clone(c, d, e);
    }
    if (st == ST_OK &&
        (!VEC_RESERVE(&c->code, d->code.len) || !VEC_RESERVE(&c->code_units, d->code_units.len))) {
        st = err_nomem(e);
    }
    for (size_t i = 0; st == ST_OK && i < d->code.len; i++) {
        c->code.data[c->code.len++] = d->code.data[i];
    }
    for (size_t i = 0; st == ST_OK && i < d->code_units.len; i++) {
        c->code_units.data[c->code_units.len++] = d->code_units.data[i];
    }
    if (st != ST_OK) {
        debug_close(c);
        return st;
    }
    *out = c;
    return ST_OK;
}

bool debug_is_assembler(const struct debug_unit *u) {
    enum { ASSEMBLY = 0x31 }; /* DW_LANG_Assembly, which libdwarf's header may lack */
    return u->language == DW_LANG_Mips_Assembler || u->language == ASSEMBLY;
}

void debug_close(struct debug *d) {
    if (!d) {
        return;
    }
    die_reader_release(&d->main.reader);
    die_reader_release(&d->alt.reader);
    free(d->main.units);
    free(d->alt.units);
    split_release(d);
    debug_map_release(&d->map);
    VEC_RELEASE(&d->code);
    VEC_RELEASE(&d->code_units);
    free(d->ranges);
    number_map_release(&d->origin_index);
    VEC_RELEASE(&d->origins);
    for (size_t i = 0; i < d->tables.len; i++) {
        line_files_release(&d->tables.data[i]->files);
    }
    VEC_RELEASE(&d->tables);
    number_map_release(&d->table_at);
    VEC_RELEASE(&d->scratch.nodes);
    VEC_RELEASE(&d->scratch.order);
    VEC_RELEASE(&d->scratch.sequences);
    line_files_release(&d->scratch.files);
    arena_release(&d->arena);
    free(d);
}
