/* Reads one unit whole: its line table, and its functions with their inlined calls. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "debug/debug_private.h"

enum { BYTES_PER_NODE = 64, NODES_MAX = INT32_MAX };

/* Nodes (functions and inlined calls) are numbered from 1 on in the order of the file; 0 = none. */

/* A node while the tree is built, beside its struct debug_function. */
struct unit_node {
    size_t first_range;
    uint32_t parent; /* number of the parent node; 0 = a function that is not inlined */
    unsigned depth;  /* depth of the node's DIE */
};

/* A function or call around the current DIE, and its node (0 = a function without code, which is
 * left out). */
struct scope {
    uint32_t node;
    unsigned depth;
};

struct unit_build {
    struct debug *d;
    struct unit_entry *u;
    struct debug_file *file; /* file that the DIEs of the unit's functions are in */
    struct unit_entry *dies; /* the unit that is read: u itself, or u's split unit */
    struct debug_unit *out;
    struct line_files files;
    struct range_base base;
    VEC(struct debug_function) functions; /* parallel to nodes */
    struct unit_nodes nodes;
    struct range_vec ranges;
    struct line_rows rows;
    struct line_order sequences;
    struct scope *scopes; /* functions and calls around the current DIE, the innermost last;
                             DIE_DEPTH_MAX elements */
    size_t scope_count;
    uint64_t name_budget; /* bytes of names and of other units' paths that the unit may still use */
};

/* ---- line table ---- */

/* Limit on debug.line_work, for all units together, in sizes of .debug_line: units hardly ever
 * share a table. */
enum { LINE_WORK_FACTOR = 16 };

static enum st check_line_work(const struct debug *d, struct err *e) {
    uint64_t limit = LINE_WORK_FACTOR * (uint64_t)d->main.sections.of[SECTION_LINE].len;
    return d->line_work <= limit ? ST_OK
                                 : err_set(e, ERR_LIMIT, "too many units share a line table");
}

/* Reads a line table's header and charges its folders, files and program bytes to line_work, before
 * the program is run and only once for each unit. ERR_LIMIT: line_work is above its limit. Other
 * errors are those of line_header_read. */
static enum st read_line_header(struct unit_build *b, struct line_header *header, struct err *e) {
    struct line_source source = {.sections = &b->d->main.sections,
                                 .offset = b->u->stmt_list,
                                 .address_size = b->u->head.address_size,
                                 .comp_dir = b->u->comp_dir};
    if (check_line_work(b->d, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = line_header_read(&source, header, &b->files, e);
    if (!b->u->charged) {
        b->u->charged = true;
        b->d->line_work += b->files.folders.len + b->files.files.len;
        b->d->line_work += st == ST_OK ? reader_left(&header->program) : 0;
    }
    return st == ST_OK ? check_line_work(b->d, e) : st;
}

static enum st read_lines(struct unit_build *b, struct err *e) {
    struct unit_scratch *scratch = &b->d->scratch;
    struct line_header header;
    if (!b->u->has_stmt_list || b->d->main.sections.of[SECTION_LINE].len == 0) {
        return ST_OK;
    }
    enum st st = read_line_header(b, &header, e);
    if (st == ST_OK) {
        scratch->sequences.len = 0;
        st = line_program_run(&header, &b->files, &b->rows, &scratch->sequences, e);
        enum st ordered =
            line_sequences_order(&scratch->sequences, debug_is_code, b->d, &b->sequences, e);
        if (st == ST_OK) {
            st = ordered;
        }
    }
    return st;
}

/* ---- limits on the cost of names ---- */

/* Limit on the bytes of names: NAME_BYTES_FREE + NAME_BYTES_PER_BYTE for each byte of a unit. All
 * its functions may share one long name, which callers read again for each, and all files of
 * another unit a long path, which is copied for each. */
enum { NAME_BYTES_FREE = 1 << 20, NAME_BYTES_PER_BYTE = 64 };

static enum st charge_unit(struct unit_build *b, size_t bytes, struct err *e) {
    if (bytes > b->name_budget) {
        return err_at(e, ERR_LIMIT, section_name(SECTION_INFO), b->u->head.offset,
                      "unit costs more work than its size allows");
    }
    b->name_budget -= bytes;
    return ST_OK;
}

/* ---- files ---- */

/* Sets *number to the number of another unit's path, which is appended once after this unit's
 * paths; leaves *number unchanged if there is no such path. ST_ERR: the unit's paths and names take
 * too many bytes (ERR_LIMIT), or out of memory. */
static enum st find_other_file(struct unit_build *b, const struct origin *o, uint32_t *number,
                               struct err *e) {
    const struct other_table *t = o->decl_unit->others;
    uint64_t reading = b->d->readings;
    if (t && o->decl_file < t->files.files.len && t->known[o->decl_file].reading == reading) {
        *number = t->known[o->decl_file].number;
        return ST_OK;
    }
    struct other_file *file;
    const char *path;
    enum st st = origin_file(b->d, o, &file, &path, e);
    if (st != ST_OK) {
        return st == ST_NONE ? ST_OK : st;
    }
    size_t len = strlen(path);
    if (charge_unit(b, len, e) != ST_OK) {
        return ST_ERR;
    }
    const char *copy = arena_strdup(&b->out->arena, path, len);
    if (!copy || b->files.paths.len >= DEBUG_NO_FILE || !VEC_PUSH(&b->files.paths, copy)) {
        return err_nomem(e);
    }
    *number = (uint32_t)(b->files.paths.len - 1);
    *file = (struct other_file){reading, *number};
    return ST_OK;
}

static enum st find_decl_file(struct unit_build *b, const struct origin *o, uint32_t *number,
                              struct err *e) {
    *number = DEBUG_NO_FILE;
    if (o->decl_unit && o->decl_unit != b->dies) {
        return find_other_file(b, o, number, e);
    }
    if (o->decl_unit && o->decl_file < b->files.files.len && o->decl_file < DEBUG_NO_FILE) {
        *number = (uint32_t)o->decl_file;
        line_files_use(&b->files, *number);
    }
    return ST_OK;
}

/* ---- one DIE ---- */

static enum st charge_names(struct unit_build *b, const struct die_attrs *a, struct err *e) {
    return charge_unit(b, (a->name ? strlen(a->name) : 0) + (a->linkage ? strlen(a->linkage) : 0),
                       e);
}

/* Sets all members of *f but `ranges`, the children and `reach`, which stay empty until the tree is
 * laid out. Names that cannot be found are reported and left out. ST_ERR as for find_other_file. */
static enum st describe_function(struct unit_build *b, const struct die_attrs *a, uint64_t entry,
                                 size_t range_count, struct debug_function *f, struct err *e) {
    struct origin o;
    if (origin_resolve(b->d, b->file, b->dies, a, &o, e) != ST_OK) {
        if (e->code == ERR_NOMEM) {
            return ST_ERR;
        }
        debug_blame(b->d, b->u, e); /* only the name is lost */
        err_clear(e);
    }
    if (charge_names(b, a, e) != ST_OK) {
        return ST_ERR;
    }
    uint32_t decl_file;
    if (find_decl_file(b, &o, &decl_file, e) != ST_OK) {
        return ST_ERR;
    }
    uint32_t call_file = DEBUG_NO_FILE;
    if (a->has & DIE_CALL_FILE && a->call_file < DEBUG_NO_FILE) {
        call_file = (uint32_t)a->call_file;
        line_files_use(&b->files, call_file);
    }
    *f = (struct debug_function){.name = o.name,
                                 .linkage = o.linkage,
                                 .decl_file = decl_file,
                                 .decl_line = o.decl_line,
                                 .origin = o.number,
                                 .call_file = call_file,
                                 .call_line = (uint32_t)a->call_line,
                                 .call_column = (uint32_t)a->call_column,
                                 .call_discriminator = (uint32_t)a->call_discriminator,
                                 .entry = entry,
                                 .low_pc = a->has & DIE_LOW ? a->low : 0,
                                 .ranges = NULL,
                                 .range_count = range_count,
                                 .children = NULL,
                                 .child_count = 0};
    return ST_OK;
}

/* Adds a function, or an inlined call below node `parent`. *node is its number; 0: a function
 * without code, which is left out. A call without code is kept. ST_ERR as for find_other_file. */
static enum st add_function(struct unit_build *b, const struct die_attrs *a, uint32_t parent,
                            unsigned depth, uint32_t *node, struct err *e) {
    *node = 0;
    if (a->damaged) {
        debug_blame(b->d, b->u, e);
        err_clear(e);
    }
    struct unit_node n = {.first_range = b->ranges.len, .parent = parent, .depth = depth};
    if (b->nodes.len >= NODES_MAX ||
        (b->functions.len == b->functions.cap && !VEC_RESERVE(&b->functions, 1))) {
        return err_nomem(e);
    }
    uint64_t entry = 0;
    if (die_ranges(b->d, &b->base, a, &b->ranges, &entry, e) == ST_ERR) {
        if (e->code == ERR_NOMEM) {
            return ST_ERR;
        }
        debug_blame(b->d, b->u, e);
        err_clear(e);
    }
    size_t range_count = b->ranges.len - n.first_range;
    if (range_count == 0 && parent == 0) {
        return ST_OK; /* the DIE is a declaration, or its code was stripped */
    }
    struct debug_function *f = &b->functions.data[b->functions.len];
    if (describe_function(b, a, entry, range_count, f, e) != ST_OK) {
        return ST_ERR;
    }
    if (!VEC_PUSH(&b->nodes, n)) {
        return err_nomem(e);
    }
    b->functions.len++;
    *node = (uint32_t)b->nodes.len;
    return ST_OK;
}

static enum st visit_die(struct unit_build *b, const struct die_entry *entry,
                         const struct die_attrs *a, struct err *e) {
    while (b->scope_count > 0 && b->scopes[b->scope_count - 1].depth >= entry->ends_at) {
        b->scope_count--;
    }
    uint32_t node = 0, around = b->scope_count > 0 ? b->scopes[b->scope_count - 1].node : 0;
    bool inlined = entry->tag == DW_TAG_inlined_subroutine;
    if (inlined && around == 0) {
        return ST_OK; /* the call is in a function without code, or in no function */
    }
    /* A nested function becomes a function without a parent (0); only inlined calls have one. */
    enum st st = add_function(b, a, inlined ? around : 0, entry->depth, &node, e);
    b->scopes[b->scope_count++] = (struct scope){node, entry->depth};
    return st;
}

static enum st walk_dies(struct unit_build *b, struct err *e) {
    struct die_reader *reader = &b->file->reader;
    struct die_walk w;
    struct die_entry entry;
    struct die_attrs attrs;
    uint64_t work = reader->abbrevs.work;
    /* A larger estimate reserves memory that is never touched, a smaller one causes reallocations.
     */
    size_t expected = (b->dies->head.end - b->dies->head.offset) / BYTES_PER_NODE;
    if (!VEC_RESERVE_LARGE(&b->functions, expected) || !VEC_RESERVE_LARGE(&b->nodes, expected) ||
        !VEC_RESERVE_LARGE(&b->ranges, expected)) {
        return err_nomem(e);
    }
    enum st st = die_walk_open(&w, reader, &b->dies->head, false, e);
    if (st != ST_OK) {
        return st;
    }
    while ((st = die_walk_next(&w, &entry, &attrs, e)) == ST_OK) {
        if (visit_die(b, &entry, &attrs, e) != ST_OK) {
            st = ST_ERR;
            break;
        }
    }
    die_walk_close(&w);
    if (b->dies->walked) {
        reader->abbrevs.work =
            work; /* reading a unit a second time is the caller's decision, and is not charged */
    }
    b->dies->walked = true;
    return st == ST_NONE ? ST_OK : st;
}

/* ---- from nodes to trees ---- */

/* Adds the ranges of a node's children to its own; a node that had none gets the lowest start as
 * its entry. An inlined call without code may contain one with code: GCC gives the outer call an
 * empty range. The outer call stays between its caller and its callee. In DWARF 2, which has no
 * DW_AT_ranges, GCC writes only the first range of a call or function, and what was inlined into
 * the other ranges lies outside. ST_ERR: out of memory. */
static enum st adopt_ranges(struct unit_build *b, size_t parent, struct err *e) {
    struct unit_node *p = &b->nodes.data[parent];
    struct debug_function *f = &b->functions.data[parent];
    size_t first = b->ranges.len;
    bool had_some = f->range_count > 0;
    for (size_t k = 0; k < f->range_count; k++) {
        struct debug_range r = b->ranges.data[p->first_range + k];
        if (!VEC_PUSH(&b->ranges, r)) {
            return err_nomem(e);
        }
    }
    for (size_t i = parent + 1; i < b->nodes.len && b->nodes.data[i].depth > p->depth; i++) {
        const struct unit_node *child = &b->nodes.data[i];
        if (child->parent != parent + 1) {
            continue;
        }
        for (size_t k = 0; k < b->functions.data[i].range_count; k++) {
            struct debug_range r = b->ranges.data[child->first_range + k];
            if (!VEC_PUSH(&b->ranges, r)) {
                return err_nomem(e);
            }
        }
    }
    ranges_normalise(&b->ranges, first);
    p->first_range = first;
    f->range_count = b->ranges.len - first;
    if (!had_some) {
        f->entry = f->range_count > 0 ? b->ranges.data[first].low : 0;
    }
    return ST_OK;
}

/* Gives nodes without ranges (in DWARF 2 all nodes) the ranges of their children, from the
 * innermost node outwards; nodes that still have none are left out of the tree. ST_ERR: out of
 * memory. */
static enum st fill_empty_nodes(struct unit_build *b, struct err *e) {
    bool all = b->dies->head.version < 3;
    for (size_t i = b->nodes.len; i > 0; i--) {
        if ((all || b->functions.data[i - 1].range_count == 0) &&
            adopt_ranges(b, i - 1, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static uint64_t low_of(const struct unit_build *b, uint32_t i) {
    return b->ranges.data[b->nodes.data[i].first_range].low;
}

/* Fills order with the indexes of all nodes: those with ranges first, all children of one parent
 * side by side in the order of the file. ends has nodes.len + 1 elements, 0 on entry; ends[p]
 * becomes the end of the children of parent p in order. */
static void order_by_parent(const struct unit_build *b, uint32_t *order, uint32_t *ends) {
    uint32_t n = (uint32_t)b->nodes.len, kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        ends[b->nodes.data[i].parent] += b->functions.data[i].range_count > 0;
    }
    for (uint32_t p = 0; p <= n; p++) {
        uint32_t count = ends[p];
        ends[p] = kept;
        kept += count;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool has_code = b->functions.data[i].range_count > 0;
        order[has_code ? ends[b->nodes.data[i].parent]++ : kept++] = i;
    }
}

struct sibling_place {
    uint64_t low;
    uint32_t node;
};

static int by_place(const void *a, const void *b) {
    const struct sibling_place *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(x->node, y->node);
}

/* Sorts the children of one parent by lowest address, equal ones in the order of the file. Most
 * producers write them in this order. ST_ERR: out of memory. */
static enum st sort_siblings(const struct unit_build *b, uint32_t *order, size_t count,
                             struct err *e) {
    size_t i = 1;
    while (i < count && low_of(b, order[i - 1]) <= low_of(b, order[i])) {
        i++;
    }
    if (i >= count) {
        return ST_OK;
    }
    struct sibling_place *places = calloc(count, sizeof *places);
    if (!places) {
        return err_nomem(e);
    }
    for (i = 0; i < count; i++) {
        places[i] = (struct sibling_place){low_of(b, order[i]), order[i]};
    }
    qsort(places, count, sizeof *places, by_place);
    for (i = 0; i < count; i++) {
        order[i] = places[i].node;
    }
    free(places);
    return ST_OK;
}

/* Moves all functions to their places, along the cycles of the permutation `order`, which becomes
 * 0, 1, 2 and so on. */
static void arrange_functions(struct debug_function *all, uint32_t *order, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (order[i] == i) {
            continue;
        }
        struct debug_function first = all[i];
        uint32_t at = i;
        while (order[at] != i) {
            uint32_t from = order[at];
            all[at] = all[from];
            order[at] = at;
            at = from;
        }
        all[at] = first;
        order[at] = at;
    }
}

void debug_set_reach(struct debug_function *siblings, size_t count) {
    uint64_t reach = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = siblings[i].ranges[siblings[i].range_count - 1].high;
        reach = end > reach ? end : reach;
        siblings[i].reach = reach;
    }
}

static enum st link_nodes(struct unit_build *b, uint32_t *order, uint32_t *ends, struct err *e) {
    struct debug_function *all = b->functions.data;
    uint32_t n = (uint32_t)b->nodes.len, start = 0;
    order_by_parent(b, order, ends);
    for (uint32_t p = 0; p <= n; p++) {
        uint32_t count = ends[p] - start;
        if (count > 1 && sort_siblings(b, order + start, count, e) != ST_OK) {
            return ST_ERR;
        }
        if (p == 0) {
            b->out->function_count = count;
        } else if (count > 0) {
            all[p - 1].children = all + start;
            all[p - 1].child_count = count;
        }
        start = ends[p];
    }
    for (uint32_t i = 0; i < n; i++) {
        all[i].ranges = b->ranges.data + b->nodes.data[i].first_range;
    }
    arrange_functions(all, order, n);
    for (uint32_t i = 0; i < n; i++) {
        debug_set_reach(all[i].children, all[i].child_count);
    }
    return ST_OK;
}

static enum st build_trees(struct unit_build *b, struct err *e) {
    struct unit_scratch *scratch = &b->d->scratch;
    if (fill_empty_nodes(b, e) != ST_OK) {
        return ST_ERR;
    }
    size_t n = b->nodes.len;
    scratch->order.len = 0;
    if (!VEC_RESERVE(&scratch->order, 2 * n + 1)) {
        return err_nomem(e);
    }
    uint32_t *order = scratch->order.data, *ends = order + n;
    memset(ends, 0, (n + 1) * sizeof *ends);
    return link_nodes(b, order, ends, e);
}

/* ---- the unit ---- */

/* Begins a unit: b takes the memory of b->out and of the scratch until end_unit. */
static void begin_unit(struct unit_build *b) {
    struct debug_unit *out = b->out, was = *out;
    const struct unit_entry *u = b->u;
    b->functions.data = was.functions;
    b->functions.cap = was.function_cap;
    b->ranges = (struct range_vec){.data = was.ranges, .cap = was.range_cap};
    b->rows = (struct line_rows){.data = was.rows, .cap = was.row_cap};
    b->sequences = (struct line_order){.data = was.sequences, .cap = was.sequence_cap};
    b->files = b->d->scratch.files;
    b->files.paths.data = was.files;
    b->files.paths.cap = was.path_cap;
    b->files.paths.len = b->files.folders.len = b->files.files.len = 0;
    b->nodes = b->d->scratch.nodes;
    b->nodes.len = 0;
    *out = (struct debug_unit){.offset = u->head.offset,
                               .version = u->head.version,
                               .name = u->name,
                               .comp_dir = u->comp_dir,
                               .language = u->language,
                               .arena = was.arena};
    arena_clear(&out->arena);
}

static void end_unit(struct unit_build *b) {
    struct debug_unit *out = b->out;
    b->d->scratch.nodes = b->nodes;
    out->files = b->files.paths.data;
    out->file_count = b->files.files.len;
    out->path_count = b->files.paths.len;
    out->path_cap = b->files.paths.cap;
    b->files.paths.data = NULL;
    b->files.paths.len = b->files.paths.cap = 0;
    b->d->scratch.files = b->files;
    out->functions = b->functions.data;
    out->function_cap = b->functions.cap;
    out->node_count = b->functions.len;
    out->ranges = b->ranges.data;
    out->range_count = b->ranges.len;
    out->range_cap = b->ranges.cap;
    out->rows = b->rows.data;
    out->row_count = b->rows.len;
    out->row_cap = b->rows.cap;
    out->sequences = b->sequences.data;
    out->sequence_count = b->sequences.len;
    out->sequence_cap = b->sequences.cap;
}

/* Reports damage and returns ST_OK: only what could not be read (the split unit, rows, paths, or
 * the DIEs after the damage) is lost. ST_ERR: out of memory. */
static enum st survive_damage(struct unit_build *b, enum st st, struct err *why) {
    if (st == ST_ERR && why->code != ERR_NOMEM) {
        debug_blame(b->d, b->u, why);
        err_clear(why);
        return ST_OK;
    }
    return st;
}

/* Finds the unit whose DIEs are walked: the unit itself, or its split unit. Sets b->base and
 * b->name_budget for that unit. ST_ERR: the split unit's file cannot be opened, and the unit itself
 * is set. */
static enum st find_dies(struct unit_build *b, struct err *e) {
    b->file = &b->d->main;
    b->dies = b->u;
    enum st st = split_read(b->d, b->u, &b->file, &b->dies, e);
    b->base = units_range_base(b->file, b->dies);
    b->name_budget =
        NAME_BYTES_FREE + NAME_BYTES_PER_BYTE * (b->dies->head.end - b->dies->head.offset);
    return st == ST_NONE ? ST_OK : st;
}

enum st debug_read_dwarf(struct debug *d, size_t unit, struct debug_unit *out, struct err *e) {
    struct scope scopes[DIE_DEPTH_MAX]; /* not cleared for each unit: most are never used */
    struct unit_build b = {.d = d, .u = debug_code_unit(d, unit), .out = out, .scopes = scopes};
    struct err why = {0};
    d->readings++;
    begin_unit(&b);
    enum st st = survive_damage(&b, find_dies(&b, &why), &why);
    if (st == ST_OK) {
        st = survive_damage(&b, read_lines(&b, &why), &why);
    }
    bool damaged = false;
    if (st == ST_OK) {
        st = walk_dies(&b, &why);
        damaged = st == ST_ERR;
        st = survive_damage(&b, st, &why);
    }
    if (st == ST_OK) {
        st = survive_damage(&b, line_files_compose(&b.files, &out->arena, &why), &why);
    }
    if (st == ST_OK) {
        st = build_trees(&b, &why);
    }
    end_unit(&b);
    if (st == ST_OK && damaged && out->function_count == 0 && out->sequence_count == 0) {
        st = err_at(&why, ERR_FORMAT, d->path, out->offset, "nothing of the unit can be read");
    }
    if (st != ST_OK) {
        debug_unit_release(out);
        return err_copy(e, &why);
    }
    return ST_OK;
}

void debug_unit_release(struct debug_unit *u) {
    free(u->rows);
    free(u->sequences);
    free(u->functions);
    free(u->ranges);
    free(u->files);
    arena_release(&u->arena);
    *u = (struct debug_unit){0};
}
