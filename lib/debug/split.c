/* Finds the units of split DWARF (DWARF5 §7.3.2, and GNU's of DWARF 4): a skeleton unit has the
 * lines and the addresses, and a unit of another file, with an equal id, has the functions. */
#include <dwarf.h>
#include <stdlib.h>

#include "debug/debug_private.h"

enum { FILE_NUMBER_FIRST = 2, FILES_MAX = 1 << 23 };

/* ---- the sections ---- */

/* Sections of a split unit's own file. The addresses, DWARF 4's range lists and the lines are in
 * the skeleton's file. */
static const struct {
    const char *name;
    enum section_id id;
    bool needed, shared; /* shared: all units of a package have one section together */
} split_sections[] = {
    {"debug_info.dwo", SECTION_INFO, true, false},
    {"debug_abbrev.dwo", SECTION_ABBREV, true, false},
    {"debug_str.dwo", SECTION_STR, false, true},
    {"debug_str_offsets.dwo", SECTION_STR_OFFSETS, false, false},
    {"debug_rnglists.dwo", SECTION_RNGLISTS, false, false},
};
enum { SPLIT_SECTIONS = sizeof split_sections / sizeof split_sections[0] };

static enum st cut_part(struct section_bytes *b, const struct split_part *part, const char *name,
                        const struct object_slice *s, struct err *e) {
    if (part->offset > b->len || part->len > b->len - part->offset) {
        return err_at(e, ERR_FORMAT, object_slice_path(s), part->offset,
                      "package index points past the end of %s", name);
    }
    *b = (struct section_bytes){.data = part->len > 0 ? b->data + part->offset : NULL,
                                .len = (size_t)part->len};
    return ST_OK;
}

static enum st load_split_sections(const struct debug *d, const struct debug_split *s,
                                   struct sections *out, struct err *e) {
    *out = d->main.sections;
    out->file = object_slice_path(s->slice);
    if (object_slice_big_endian(s->slice) != out->big_endian ||
        object_slice_address_size(s->slice) != out->address_size) {
        return err_set(e, ERR_FORMAT, "'%s' is of another architecture", out->file);
    }
    for (size_t i = 0; i < SPLIT_SECTIONS; i++) {
        struct section_bytes b = {0};
        enum section_id id = split_sections[i].id;
        enum st st = object_section(s->slice, split_sections[i].name, &b.data, &b.len, NULL, e);
        if (st == ST_ERR && (e->code == ERR_NOMEM || split_sections[i].needed)) {
            return ST_ERR;
        }
        if (st == ST_ERR) { /* only names or ranges are lost */
            err_clear(e);
            b = (struct section_bytes){.damaged = true};
        }
        if (s->packed && !split_sections[i].shared && !b.damaged &&
            cut_part(&b, &s->row.of[id], split_sections[i].name, s->slice, e) != ST_OK) {
            return ST_ERR;
        }
        out->of[id] = b;
    }
    return out->of[SECTION_INFO].len > 0 && out->of[SECTION_ABBREV].len > 0
               ? ST_OK
               : err_set(e, ERR_FORMAT, "'%s' has no split DWARF", out->file);
}

/* ---- the files ---- */

static enum st index_split_units(struct debug_file *f, struct err *e) {
    for (size_t i = 0; i < f->unit_count; i++) {
        const struct unit_entry *u = &f->units[i];
        size_t at;
        bool added;
        if (u->head.tag == DW_TAG_compile_unit && u->split_id != UINT64_MAX &&
            !number_map_put(&f->by_split_id, u->split_id, i, &at, &added)) {
            return err_nomem(e);
        }
    }
    return ST_OK;
}

/* Opens a file with split units and adds it to d->split_files, where it stays even if its units
 * cannot all be read. ST_ERR: the file has no split DWARF for this processor, is damaged, or is one
 * of too many; or out of memory. */
static enum st add_split_file(struct debug *d, const struct debug_split *s, struct debug_file **out,
                              struct err *e) {
    struct sections sections;
    if (load_split_sections(d, s, &sections, e) != ST_OK) {
        return ST_ERR;
    }
    if (d->split_files.len >= FILES_MAX) {
        return err_set(e, ERR_LIMIT, "too many files of split DWARF");
    }
    struct debug_file *f = arena_alloc(&d->arena, sizeof *f);
    if (!f || !VEC_PUSH(&d->split_files, f)) {
        return err_nomem(e);
    }
    f->number = FILE_NUMBER_FIRST + (uint32_t)(d->split_files.len - 1);
    debug_begin_file(d, f, &sections, d->main.reader.abbrevs.planless);
    *out = f;
    enum st st = units_read(d, f, e);
    return st == ST_OK ? index_split_units(f, e) : st;
}

/* Opens the file of a split unit as s->file: a .dwo is opened once for all its units; each unit of
 * a package counts as a file of its own. ST_ERR as for add_split_file. */
static enum st open_split_file(struct debug *d, struct debug_split *s, struct err *e) {
    uint64_t key = (uint64_t)(uintptr_t)s->slice;
    size_t index;
    bool added;
    if (!s->packed && number_map_get(&d->split_at, key, &index)) {
        s->file = d->split_files.data[index];
        return ST_OK;
    }
    enum st st = add_split_file(d, s, &s->file, e);
    if (st == ST_OK && !s->packed &&
        !number_map_put(&d->split_at, key, d->split_files.len - 1, &index, &added)) {
        st = err_nomem(e);
    }
    return st;
}

/* Finds the unit that a skeleton stands for. ST_NONE: the file has no unit with the skeleton's id,
 * or could not be opened before. ST_ERR as for add_split_file. */
static enum st find_split_unit(struct debug *d, const struct unit_entry *skeleton,
                               struct debug_split *s, struct unit_entry **out, struct err *e) {
    size_t at;
    if (!s->tried) {
        s->tried = true;
        if (open_split_file(d, s, e) != ST_OK) {
            s->file = NULL;
            return ST_ERR;
        }
    }
    if (!s->file || !number_map_get(&s->file->by_split_id, skeleton->split_id, &at)) {
        return ST_NONE;
    }
    *out = &s->file->units[at];
    return ST_OK;
}

enum st split_read(struct debug *d, struct unit_entry *skeleton, struct debug_file **file,
                   struct unit_entry **unit, struct err *e) {
    struct debug_split *s = skeleton->split > 0 ? &d->splits.data[skeleton->split - 1] : NULL;
    struct unit_entry *u;
    if (!s || !s->slice) {
        return ST_NONE;
    }
    enum st st = find_split_unit(d, skeleton, s, &u, e);
    if (st != ST_OK) {
        return st;
    }
    /* The skeleton has these attributes for both units (DWARF5 §3.1.3). */
    u->low = skeleton->low;
    u->addr_base = u->head.addr_base = skeleton->addr_base;
    u->has_addr_base = u->head.has_addr_base = skeleton->has_addr_base;
    u->ranges_base = skeleton->split_ranges_base;
    *file = s->file;
    *unit = u;
    return ST_OK;
}

/* ---- finding split units ---- */

/* Makes a reader over the package's index of units. ST_NONE: there is no package, or its index is
 * absent or cannot be read. ST_ERR: out of memory. */
static enum st package_index(const struct debug *d, const struct object_slice *package,
                             struct reader *out, struct err *e) {
    const uint8_t *bytes;
    size_t len;
    struct err why = {0};
    if (!package || object_section(package, "debug_cu_index", &bytes, &len, NULL, &why) != ST_OK) {
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
    }
    *out = reader_init(".debug_cu_index", bytes, len);
    out->big_endian = d->main.sections.big_endian;
    return ST_OK;
}

struct split_search {
    struct debug *d;
    const struct debug_split_finder *finder;
    const struct object_slice *package; /* NULL: none */
    struct reader index;                /* index of units of the package */
};

/* Finds the unit that a skeleton stands for: in the package if its index has the id, as LLVM and
 * GDB do, else in the file that the skeleton names, which must have a unit of that id. ST_NONE:
 * there is no such file. s->slice is set only if ST_OK. ST_ERR: the package's index or the file is
 * damaged, the file is of another build, or out of memory. */
static enum st find_split(const struct split_search *search, struct unit_entry *u,
                          struct debug_split *s, struct err *e) {
    struct debug *d = search->d;
    struct unit_entry *unit;
    if (search->package) {
        enum st st = split_index_find(search->index, u->split_id, &s->row, e);
        if (st != ST_NONE) {
            s->packed = st == ST_OK;
            s->slice = s->packed ? search->package : NULL;
            return st;
        }
    }
    enum st st = search->finder->file(search->finder->ctx, d->slice, u->split_name, u->comp_dir,
                                      &s->slice, e);
    if (st != ST_OK) {
        s->slice = NULL;
        return st;
    }
    st = find_split_unit(d, u, s, &unit, e);
    if (st == ST_NONE) {
        st = err_set(e, ERR_FORMAT, "'%s' is of another build", object_slice_path(s->slice));
    }
    if (st != ST_OK) {
        s->slice = NULL;
    }
    return st;
}

/* Opens the package of the slice. A file of its name that is no package is reported, and the files
 * of single units are searched for instead. ST_ERR: out of memory. */
static enum st open_package(struct split_search *search, struct err *e) {
    struct debug *d = search->d;
    struct err why = {0};
    enum st st = search->finder->package(search->finder->ctx, d->slice, &search->package, &why);
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (st == ST_ERR && d->complain) {
        d->complain(d->complain_ctx, d->path, DEBUG_NO_UNIT, &why);
    }
    if (st != ST_OK) {
        search->package = NULL;
        return ST_OK;
    }
    st = package_index(d, search->package, &search->index, e);
    if (st != ST_OK) {
        search->package = NULL;
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

enum st split_find_all(struct debug *d, const struct debug_split_finder *finder, struct err *e) {
    struct split_search search = {.d = d, .finder = finder};
    bool asked = false;
    for (size_t i = 0; i < d->main.unit_count; i++) {
        struct unit_entry *u = &d->main.units[i];
        struct debug_split s = {0};
        struct err why = {0};
        enum st st = ST_NONE;
        if (!u->split_name || !(u->has_stmt_list || u->ranged)) {
            continue; /* a skeleton of a clang module has neither lines nor code */
        }
        if (finder && !asked) {
            asked = true;
            if (open_package(&search, e) != ST_OK) {
                return ST_ERR;
            }
        }
        if (finder) {
            st = find_split(&search, u, &s, &why);
        }
        if (why.code == ERR_NOMEM || d->splits.len >= UINT32_MAX || !VEC_PUSH(&d->splits, s)) {
            return err_nomem(e);
        }
        if (st == ST_ERR) {
            debug_blame(d, u, &why);
        }
        u->split = (uint32_t)d->splits.len;
        d->split_units += s.slice == NULL;
    }
    return ST_OK;
}

enum st split_clone(struct debug *c, const struct debug *d, struct err *e) {
    if (d->splits.len > 0 && !VEC_RESERVE(&c->splits, d->splits.len)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < d->splits.len; i++) {
        const struct debug_split *s = &d->splits.data[i];
        c->splits.data[c->splits.len++] =
            (struct debug_split){.slice = s->slice, .packed = s->packed, .row = s->row};
    }
    return ST_OK;
}

void split_release(struct debug *d) {
    for (size_t i = 0; i < d->split_files.len; i++) {
        struct debug_file *f = d->split_files.data[i];
        die_reader_release(&f->reader);
        number_map_release(&f->by_split_id);
        free(f->units);
    }
    VEC_RELEASE(&d->split_files);
    VEC_RELEASE(&d->splits);
    number_map_release(&d->split_at);
}
