/* Finds the names of functions: a DIE's own, or those of the DIEs that it refers to
 * (DW_AT_abstract_origin, DW_AT_specification), which may lie in another unit or in dwz's
 * supplementary file. */
#include <string.h>

#include "debug/debug_private.h"

/* Real chains of references are two or three long: inlined instance, out-of-class definition,
 * declaration. A DIE that is referred to has only its own names if its chain is circular or longer
 * than ORIGIN_DEPTH_MAX, so that its names do not depend on which DIE was asked for first. */
enum { ORIGIN_DEPTH_MAX = 16, ORIGIN_TOO_DEEP };

/* Initial capacity of debug.origins, which doubles as needed. */
enum { ORIGINS_FIRST = 1024 };

static enum st resolve_origin(struct debug *d, struct debug_file *f, struct unit_entry *u,
                              const struct die_attrs *a, unsigned depth, struct origin *out,
                              struct err *e);

/* Copies the members that `out` lacks from `from`, the DIE to which out's DIE refers. */
static void inherit_names(struct origin *out, const struct origin *from) {
    if (!out->name) {
        out->name = from->name;
    }
    if (!out->linkage) {
        out->linkage = from->linkage;
    }
    if (!out->decl_unit) {
        out->decl_unit = from->decl_unit;
        out->decl_in = from->decl_in;
        out->decl_file = from->decl_file;
    }
    /* A definition outside its class often has the line only; the file is the declaration's. */
    if (out->decl_line == 0) {
        out->decl_line = from->decl_line;
    }
}

/* Bits for the file's number in a key: offsets in one file are below 2^40 (a terabyte of one
 * section), files fewer than 2^24. */
enum { KEY_FILE_BITS = 24 };
static uint64_t key_of(const struct debug_file *f, uint64_t offset) {
    return offset << KEY_FILE_BITS | f->number;
}

static enum st keep_origin(struct debug *d, uint64_t key, struct origin *o, struct err *e) {
    size_t more = d->origins.len > ORIGINS_FIRST ? d->origins.len : ORIGINS_FIRST, index;
    bool added;
    if (d->origins.len == d->origins.cap && !VEC_RESERVE_LARGE(&d->origins, more)) {
        return err_nomem(e);
    }
    if (!number_map_put(&d->origin_index, key, d->origins.len, &index, &added)) {
        return err_nomem(e);
    }
    o->number = index < UINT32_MAX ? (uint32_t)index + 1 : 0;
    d->origins.data[d->origins.len++] = *o;
    return ST_OK;
}

/* Gives the names of the DIE at a reference, from the cache if they are there. depth: number of
 * references that led here. A chain that is too deep is cached only if depth is 0: for a larger
 * depth, the chain may be too deep only because of the references that led here. Where no DIE is,
 * *out has no names. ST_ERR: a DIE is damaged, or out of memory. */
static enum st follow_origin(struct debug *d, struct debug_file *f, struct die_ref ref,
                             unsigned depth, struct origin *out, struct err *e) {
    f = ref.alt ? &d->alt : f;
    size_t index;
    *out = (struct origin){0};
    if (!f->present || ref.offset >= f->sections.of[SECTION_INFO].len) {
        return ST_OK; /* an empty answer: the DIE has no names */
    }
    uint64_t key = key_of(f, ref.offset);
    if (number_map_get(&d->origin_index, key, &index)) {
        *out = d->origins.data[index];
        return ST_OK;
    }
    struct unit_entry *u = debug_unit_at(f, ref.offset);
    if (!u) {
        return ST_OK;
    }
    if (depth > ORIGIN_DEPTH_MAX) {
        out->depth = ORIGIN_TOO_DEEP;
        return ST_OK;
    }
    struct die_attrs attrs;
    enum st st = die_attrs_at(&f->reader, &u->head, ref.offset, &attrs, e);
    if (st == ST_OK) {
        st = resolve_origin(d, f, u, &attrs, depth + 1, out, e);
    }
    if ((st == ST_ERR && e->code == ERR_NOMEM) || (out->depth == ORIGIN_TOO_DEEP && depth > 0)) {
        return st;
    }
    if (keep_origin(d, key, out, e) != ST_OK) {
        return ST_ERR;
    }
    return st == ST_NONE ? ST_OK : st;
}

/* Adds the names of the DIE at a reference to *out. If depth > 0 and the chain is too deep, adds
 * nothing and sets out->depth to ORIGIN_TOO_DEEP. ST_ERR as for follow_origin. */
static enum st add_reference(struct debug *d, struct debug_file *f, struct die_ref ref,
                             unsigned depth, struct origin *out, struct err *e) {
    struct origin from;
    enum st st = follow_origin(d, f, ref, depth, &from, e);
    if (depth > 0 && from.depth >= ORIGIN_DEPTH_MAX) {
        out->depth = ORIGIN_TOO_DEEP;
        return st;
    }
    if (from.depth >= out->depth) {
        out->depth = from.depth + 1;
    }
    inherit_names(out, &from);
    return st;
}

/* Finds the names of a DIE. depth: number of references that led to it; 0 = the caller asked for
 * it. ST_ERR as for follow_origin; *out then has what was found before. */
static enum st resolve_origin(struct debug *d, struct debug_file *f, struct unit_entry *u,
                              const struct die_attrs *a, unsigned depth, struct origin *out,
                              struct err *e) {
    *out = (struct origin){
        .name = a->name, .linkage = a->linkage, .decl_line = (uint32_t)a->decl_line};
    if (a->has & DIE_DECL_FILE) {
        out->decl_unit = u;
        out->decl_in = f;
        out->decl_file = a->decl_file;
    }
    struct origin own = *out;
    enum st st = ST_OK;
    bool silent = !a->name && !a->linkage && !out->decl_unit && a->decl_line == 0;
    if (depth == 0 && silent && (a->has & (DIE_ORIGIN | DIE_SPECIFICATION)) == DIE_ORIGIN) {
        /* the DIE gets the same number in the cache as its origin */
        return follow_origin(d, f, a->origin, depth, out, e);
    }
    if (a->has & DIE_ORIGIN) {
        st = add_reference(d, f, a->origin, depth, out, e);
    }
    if (st == ST_OK && a->has & DIE_SPECIFICATION) {
        st = add_reference(d, f, a->specification, depth, out, e);
    }
    if (out->depth == ORIGIN_TOO_DEEP) {
        *out = own;
        out->depth = ORIGIN_TOO_DEEP;
    }
    return st;
}

enum st origin_resolve(struct debug *d, struct debug_file *f, struct unit_entry *u,
                       const struct die_attrs *a, struct origin *out, struct err *e) {
    return resolve_origin(d, f, u, a, 0, out, e);
}

/* ---- files ---- */

/* Limit on the folders and files listed for references, per byte of .debug_line of the main and the
 * supplementary file: each takes some 50 bytes of memory as long as the struct debug is open, and a
 * real one takes more than five bytes of .debug_line. Tables hardly overlap, and few belong to
 * units of several folders. */
enum { TABLE_WORK_FACTOR = 4 };

static enum st list_table_files(struct debug *d, const struct debug_file *f,
                                const struct unit_entry *u, struct line_files *files,
                                struct err *e) {
    struct line_source source = {.sections = &f->sections,
                                 .offset = u->stmt_list,
                                 .address_size = u->head.address_size,
                                 .comp_dir = u->comp_dir};
    struct line_header header;
    uint64_t limit = TABLE_WORK_FACTOR * ((uint64_t)d->main.sections.of[SECTION_LINE].len +
                                          d->alt.sections.of[SECTION_LINE].len);
    if (d->table_work > limit) {
        return err_set(e, ERR_LIMIT, "too many units share a line table");
    }
    enum st st = line_header_read(&source, &header, files, e);
    d->table_work += files->folders.len + files->files.len;
    return st;
}

/* Makes an other_table of the unit's line table. Damage in the line table is reported and costs
 * only paths. ST_ERR: out of memory. */
static enum st add_other_table(struct debug *d, const struct debug_file *f, struct unit_entry *u,
                               struct err *e) {
    struct other_table *t = arena_alloc(&d->arena, sizeof *t);
    if (!t || !VEC_PUSH(&d->tables, t)) {
        return err_nomem(e);
    }
    if (list_table_files(d, f, u, &t->files, e) != ST_OK) {
        if (e->code == ERR_NOMEM) {
            return ST_ERR;
        }
        debug_blame(d, u, e);
        err_clear(e);
    }
    t->known = arena_array(&d->arena, t->files.files.len, sizeof *t->known);
    if (!t->known) {
        return err_nomem(e);
    }
    u->others = t;
    return ST_OK;
}

static bool is_same_folder(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static enum st find_other_table(struct debug *d, const struct debug_file *f, struct unit_entry *u,
                                struct err *e) {
    uint64_t key = key_of(f, u->stmt_list);
    size_t index;
    bool inside = u->stmt_list < f->sections.of[SECTION_LINE].len, added;
    bool known = inside && number_map_get(&d->table_at, key, &index);
    if (known && is_same_folder(d->tables.data[index]->files.comp_dir, u->comp_dir)) {
        u->others = d->tables.data[index];
        return ST_OK;
    }
    if (add_other_table(d, f, u, e) != ST_OK) {
        return ST_ERR;
    }
    if (inside && !known && !number_map_put(&d->table_at, key, d->tables.len - 1, &index, &added)) {
        return err_nomem(e);
    }
    return ST_OK;
}

enum st origin_file(struct debug *d, const struct origin *o, struct other_file **file,
                    const char **path, struct err *e) {
    struct unit_entry *u = o->decl_unit;
    if (!u->has_stmt_list) {
        return ST_NONE;
    }
    if (!u->others && find_other_table(d, o->decl_in, u, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = line_files_path(&u->others->files, &d->arena, o->decl_file, path, e);
    if (st == ST_ERR && e->code != ERR_NOMEM) {
        debug_blame(d, u, e);
        err_clear(e);
        st = ST_NONE;
    }
    *file = st == ST_OK ? &u->others->known[o->decl_file] : NULL;
    return st;
}
