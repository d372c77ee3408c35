/* Reading one unit whole: its line table, and its functions with what was inlined into them. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "debug/debug_private.h"

enum { NO_NODE = -1, BYTES_PER_NODE = 64 };

/* A function while the tree grows; children are known by their parent only. */
struct node {
    struct debug_function f;
    size_t first_range;
    ptrdiff_t parent; /* NO_NODE: a real function */
    unsigned depth;   /* of its DIE */
};

/* A function or call that is open, and its node (NO_NODE: it has no code). */
struct scope {
    ptrdiff_t node;
    unsigned depth;
};

struct build {
    struct debug *d;
    struct unit_entry *u;
    struct debug_unit *out;
    struct line_files files;
    struct range_base base;
    VEC(struct node) nodes; /* in the order of the file */
    struct range_vec ranges;
    struct scope *scopes; /* functions and calls around, the innermost last; DIE_DEPTH_MAX */
    size_t scope_count;
    uint64_t name_budget;                /* bytes of names that the unit may still have */
    const char *other_path, *other_copy; /* the last path of another unit, and ours of it */
};

/* ---- line table ---- */

/* All units together may read the section this many times over: they hardly ever share a table. */
enum { LINE_WORK_FACTOR = 16 };

static enum st charge_lines(struct build *b, const struct line_header *h, struct err *e) {
    struct debug *d = b->d;
    uint64_t limit = LINE_WORK_FACTOR * (uint64_t)d->main.sections.of[SECTION_LINE].len;
    if (!b->u->charged) {
        b->u->charged = true;
        d->line_work += reader_left(&h->program);
    }
    return d->line_work <= limit ? ST_OK
                                 : err_set(e, ERR_LIMIT, "too many units share a line table");
}

static enum st read_lines(struct build *b, struct err *e) {
    struct line_source source = {.sections = &b->d->main.sections,
                                 .offset = b->u->stmt_list,
                                 .address_size = b->u->head.address_size,
                                 .comp_dir = b->u->comp_dir};
    struct line_header header;
    struct line_rows rows = {0};
    if (!b->u->has_stmt_list || b->d->main.sections.of[SECTION_LINE].len == 0) {
        return ST_OK;
    }
    enum st st = line_header_read(&source, &b->out->arena, &header, &b->files, e);
    b->out->files = b->files.paths;
    b->out->file_count = b->files.count;
    if (st == ST_OK) {
        st = charge_lines(b, &header, e);
    }
    if (st == ST_OK) {
        st = line_program_run(&header, &rows, e);
        enum st ordered = line_rows_order(&rows, debug_is_code, b->d, e);
        st = st == ST_OK ? ordered : st;
        b->out->rows = rows.data;
        b->out->row_count = rows.len;
    }
    return st;
}

/* ---- one DIE ---- */

static uint32_t narrow(uint64_t v) {
    return v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* All functions may share one long name, which whoever keeps names would read again for each. */
enum { NAME_BYTES_FREE = 1 << 20, NAME_BYTES_PER_BYTE = 64 };

static enum st charge_names(struct build *b, const struct die_attrs *a, struct err *e) {
    size_t bytes = (a->name ? strlen(a->name) : 0) + (a->linkage ? strlen(a->linkage) : 0);
    if (bytes > b->name_budget) {
        return err_at(e, ERR_LIMIT, section_name(SECTION_INFO), b->u->head.offset,
                      "unit costs more work than its size allows");
    }
    b->name_budget -= bytes;
    return ST_OK;
}

/* A copy of a path that is another unit's. Functions of one file follow each other. NULL: no
 * memory.
 */
static const char *keep_path(struct build *b, const char *path) {
    if (path != b->other_path) {
        b->other_path = path;
        b->other_copy = arena_strdup(&b->out->arena, path, strlen(path));
    }
    return b->other_copy;
}

static enum st describe(struct build *b, const struct die_attrs *a, struct debug_function *f,
                        struct err *e) {
    struct origin o;
    if (origin_resolve(b->d, false, b->u, a, &o, e) != ST_OK) {
        if (e->code == ERR_NOMEM) {
            return ST_ERR;
        }
        debug_blame(b->d, b->u, e); /* costs the name */
        err_clear(e);
    }
    f->name = o.name;
    f->linkage = o.linkage;
    f->origin = o.number;
    if (charge_names(b, a, e) != ST_OK) {
        return ST_ERR;
    }
    f->decl_line = o.decl_line;
    f->decl_file = origin_file(b->d, &o, b->u, &b->files);
    if (f->decl_file && o.decl_unit != b->u) {
        f->decl_file = keep_path(b, f->decl_file);
        if (!f->decl_file) {
            return err_nomem(e);
        }
    }
    f->call_file = a->has & DIE_CALL_FILE ? narrow(a->call_file) : 0;
    f->call_line = a->call_line;
    f->call_column = a->call_column;
    f->call_discriminator = a->call_discriminator;
    f->low_pc = a->has & DIE_LOW ? a->low : 0;
    return ST_OK;
}

/* A subprogram, or an inlined subroutine below `parent`. *node = its number, NO_NODE: no code. */
static enum st add_function(struct build *b, const struct die_attrs *a, ptrdiff_t parent,
                            unsigned depth, ptrdiff_t *node, struct err *e) {
    *node = NO_NODE;
    if (a->damaged) {
        debug_blame(b->d, b->u, e);
        err_clear(e);
    }
    struct node n = {.first_range = b->ranges.len, .parent = parent, .depth = depth};
    if (die_ranges(b->d, &b->base, a, &b->ranges, &n.f.entry, e) == ST_ERR) {
        if (e->code == ERR_NOMEM) {
            return ST_ERR;
        }
        debug_blame(b->d, b->u, e);
        err_clear(e);
    }
    n.f.range_count = b->ranges.len - n.first_range;
    if (n.f.range_count == 0 && parent == NO_NODE) {
        return ST_OK; /* a declaration, or code that was stripped */
    }
    if (describe(b, a, &n.f, e) != ST_OK) {
        return ST_ERR;
    }
    if (!VEC_PUSH(&b->nodes, n)) {
        return err_nomem(e);
    }
    *node = (ptrdiff_t)b->nodes.len - 1;
    return ST_OK;
}

static enum st visit(struct build *b, const struct die_entry *entry, const struct die_attrs *a,
                     struct err *e) {
    while (b->scope_count > 0 && b->scopes[b->scope_count - 1].depth >= entry->ends_at) {
        b->scope_count--;
    }
    ptrdiff_t node = NO_NODE,
              around = b->scope_count > 0 ? b->scopes[b->scope_count - 1].node : NO_NODE;
    bool inlined = entry->tag == DW_TAG_inlined_subroutine;
    if (inlined && around == NO_NODE) {
        return ST_OK; /* below what has no code */
    }
    enum st st = ST_OK;
    if (!entry->bare) {
        /* A nested function is a function of its own. */
        st = add_function(b, a, inlined ? around : NO_NODE, entry->depth, &node, e);
    }
    b->scopes[b->scope_count++] = (struct scope){node, entry->depth};
    return st;
}

static enum st walk(struct build *b, struct err *e) {
    struct die_reader *reader = &b->d->main.reader;
    struct die_walk w;
    struct die_entry entry;
    struct die_attrs attrs;
    uint64_t work = reader->abbrevs.work;
    /* More or less: some make one realloc more, some take memory that they never touch. */
    if (!VEC_RESERVE(&b->nodes, (b->u->head.end - b->u->head.offset) / BYTES_PER_NODE)) {
        return err_nomem(e);
    }
    enum st st = die_walk_open(&w, reader, &b->u->head, false, e);
    if (st != ST_OK) {
        return st;
    }
    while ((st = die_walk_next(&w, &entry, &attrs, e)) == ST_OK) {
        if (visit(b, &entry, &attrs, e) != ST_OK) {
            st = ST_ERR;
            break;
        }
    }
    die_walk_close(&w);
    if (b->u->walked) {
        reader->abbrevs.work = work; /* whoever reads a unit again does so for his own reasons */
    }
    b->u->walked = true;
    return st == ST_NONE ? ST_OK : st;
}

/* ---- from nodes to trees ---- */

/* An inlined call may be left with no address of its own but hold one that has some: GCC gives it
 * an empty range. It keeps its place between caller and callee, and its callees' addresses are its
 * own. */
static enum st adopt_ranges(struct build *b, size_t parent, struct err *e) {
    struct node *p = &b->nodes.data[parent];
    size_t first = b->ranges.len;
    for (size_t i = parent + 1; i < b->nodes.len && b->nodes.data[i].depth > p->depth; i++) {
        const struct node *child = &b->nodes.data[i];
        if (child->parent != (ptrdiff_t)parent) {
            continue;
        }
        for (size_t k = 0; k < child->f.range_count; k++) {
            struct debug_range r = b->ranges.data[child->first_range + k];
            if (!VEC_PUSH(&b->ranges, r)) {
                return err_nomem(e);
            }
        }
    }
    ranges_normalise(&b->ranges, first);
    p->first_range = first;
    p->f.range_count = b->ranges.len - first;
    p->f.entry = p->f.range_count > 0 ? b->ranges.data[first].low : 0;
    return ST_OK;
}

/* Innermost first; those that stay without addresses are dropped with the tree. */
static enum st fill_empty_nodes(struct build *b, struct err *e) {
    for (size_t i = b->nodes.len; i > 0; i--) {
        if (b->nodes.data[i - 1].f.range_count == 0 && adopt_ranges(b, i - 1, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Where a node goes: all children of one parent side by side, by address. */
struct place {
    ptrdiff_t parent;
    uint64_t low;
    size_t node;
};

static int by_place(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->parent != y->parent) {
        return x->parent < y->parent ? -1 : 1;
    }
    if (x->low != y->low) {
        return x->low < y->low ? -1 : 1;
    }
    return (x->node > y->node) - (x->node < y->node);
}

/* Fills places with all nodes that have addresses, those of one parent side by side, in the order
 * of the file. starts[p + 1] is where those of parent p begin: nodes.len + 2 entries, all 0. */
static size_t place_by_parent(const struct build *b, struct place *places, size_t *starts) {
    size_t n = b->nodes.len, kept = 0;
    for (size_t i = 0; i < n; i++) {
        const struct node *node = &b->nodes.data[i];
        starts[node->parent + 1] += node->f.range_count > 0;
    }
    for (size_t p = 0; p <= n; p++) {
        size_t count = starts[p];
        starts[p] = kept;
        kept += count;
    }
    for (size_t i = 0; i < n; i++) {
        const struct node *node = &b->nodes.data[i];
        if (node->f.range_count > 0) {
            places[starts[node->parent + 1]++] = (struct place){
                .parent = node->parent, .low = b->ranges.data[node->first_range].low, .node = i};
        }
    }
    return kept;
}

/* All nodes that have addresses; *count of them. NULL: no memory. */
static struct place *sorted_places(const struct build *b, size_t *count) {
    size_t n = b->nodes.len;
    struct place *places = calloc(n + 1, sizeof *places);
    size_t *starts = calloc(n + 2, sizeof *starts);
    if (!places || !starts) {
        free(places);
        free(starts);
        return NULL;
    }
    *count = place_by_parent(b, places, starts);
    /* Producers write siblings by address, mostly. */
    for (size_t i = 0, next; i < *count; i = next) {
        next = i + 1;
        while (next < *count && places[next].parent == places[i].parent) {
            next++;
        }
        sort_unless_sorted(places + i, next - i, sizeof *places, by_place);
    }
    free(starts);
    return places;
}

/* `at` becomes: node -> its place. */
static void link_children(struct debug_unit *out, const struct place *places, size_t n,
                          struct debug_function *all, size_t *at) {
    for (size_t i = 0; i < n; i++) {
        at[places[i].node] = i;
    }
    for (size_t i = 0, next; i < n; i = next) {
        next = i + 1;
        while (next < n && places[next].parent == places[i].parent) {
            next++;
        }
        if (places[i].parent == NO_NODE) {
            out->functions = all;
            out->function_count = next;
        } else {
            struct debug_function *parent = &all[at[places[i].parent]];
            parent->children = &all[i];
            parent->child_count = next - i;
        }
    }
}

static enum st finish(struct build *b, struct err *e) {
    size_t n = 0;
    struct place *places = NULL;
    size_t *at = NULL;
    enum st st = fill_empty_nodes(b, e);
    if (st != ST_OK) {
        return st;
    }
    places = sorted_places(b, &n);
    at = calloc(b->nodes.len + 1, sizeof *at);
    struct debug_function *all = arena_array(&b->out->arena, n, sizeof *all);
    struct debug_range *ranges = arena_array(&b->out->arena, b->ranges.len, sizeof *ranges);
    if (!places || !at || !all || !ranges) {
        st = err_nomem(e);
        goto out;
    }
    if (b->ranges.len > 0) {
        memcpy(ranges, b->ranges.data, b->ranges.len * sizeof *ranges);
    }
    for (size_t i = 0; i < n; i++) {
        const struct node *node = &b->nodes.data[places[i].node];
        all[i] = node->f;
        all[i].ranges = ranges + node->first_range;
    }
    link_children(b->out, places, n, all, at);
out:
    free(places);
    free(at);
    return st;
}

/* ---- the unit ---- */

static void describe_unit(struct debug_unit *out, const struct unit_entry *u) {
    *out = (struct debug_unit){.offset = u->head.offset,
                               .version = u->head.version,
                               .name = u->name,
                               .comp_dir = u->comp_dir,
                               .language = u->language};
}

/* Damage costs what lies behind it; a lack of memory costs the unit. */
static enum st survive(struct build *b, enum st st, struct err *why) {
    if (st == ST_ERR && why->code != ERR_NOMEM) {
        debug_blame(b->d, b->u, why);
        err_clear(why);
        return ST_OK;
    }
    return st;
}

enum st debug_read_unit(struct debug *d, size_t unit, struct debug_unit *out, struct err *e) {
    struct scope scopes[DIE_DEPTH_MAX]; /* not cleared for each unit: most are never used */
    struct build b = {.d = d, .u = debug_code_unit(d, unit), .out = out, .scopes = scopes};
    struct err why = {0};
    describe_unit(out, b.u);
    b.base = units_range_base(&d->main, b.u);
    b.name_budget = NAME_BYTES_FREE + NAME_BYTES_PER_BYTE * (b.u->head.end - b.u->head.offset);
    enum st st = survive(&b, read_lines(&b, &why), &why);
    bool damaged = false;
    if (st == ST_OK) {
        st = walk(&b, &why);
        damaged = st == ST_ERR;
        st = survive(&b, st, &why);
    }
    if (st == ST_OK) {
        st = finish(&b, &why);
    }
    if (st == ST_OK && damaged && out->function_count == 0 && out->row_count == 0) {
        st = err_at(&why, ERR_FORMAT, d->path, out->offset, "nothing of the unit can be read");
    }
    VEC_RELEASE(&b.nodes);
    VEC_RELEASE(&b.ranges);
    if (st != ST_OK) {
        debug_unit_release(out);
        return err_set(e, why.code, "%s", why.text);
    }
    return ST_OK;
}

void debug_unit_release(struct debug_unit *u) {
    free(u->rows);
    arena_release(&u->arena);
    *u = (struct debug_unit){0};
}
