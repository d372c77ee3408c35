/* Draws the legend: squares below the graph, each with a text after it, for the caller's colours or
 * for the modules that weigh most. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "flame/stacks/folded.h"
#include "flame/svg/svg_private.h"
#include "base/search.h"
#include "base/escape.h"

enum {
    MODULES_MAX = 8,
    TEXT_CELLS = 32, /* maximum width of a key's text, in cells; wide characters take two */
    CELL = 7,        /* average width of a cell, in pixels */
    SQUARE = 12,
    GAP = 14 /* pixels between two keys */
};

/* Adds a key, unless the row has no room for it. */
static void add_key(struct svg_run *r, const char *colour, const char *text, size_t len) {
    struct strbuf *b = &r->keys;
    size_t cells = xml_text_cells(text, len);
    cells = cells > TEXT_CELLS ? TEXT_CELLS : cells;
    uint32_t end = r->keys_end + SQUARE + 5 + (uint32_t)cells * CELL;
    if (end > r->width) {
        return;
    }
    uint32_t x = SVG_MARGIN + r->keys_end;
    strbuf_addf(b, "<rect class=\"key %s\" x=\"%u\" y=\"0\" width=\"%d\" height=\"%d\"/>", colour,
                x, SQUARE, SQUARE);
    strbuf_addf(b, "<text class=\"note\" x=\"%u\" y=\"10\">", x + SQUARE + 5);
    xml_text_add_short(b, text, len, TEXT_CELLS, 1);
    strbuf_addstr(b, "</text>\n");
    r->keys_end = end + GAP;
}

struct module_weight {
    const char *name;
    size_t len, first; /* first: position of the module in the order in which modules appear in the
                          layout; orders equal weights */
    uint64_t weight;
};

static int heaviest_first(const void *a, const void *b) {
    const struct module_weight *x = a, *y = b;
    int order = COMPARE(y->weight, x->weight);
    return order ? order : COMPARE(x->first, y->first);
}

/* Adds up the self weights of each module's frames in the layout. False: out of memory. */
static bool weigh_modules(struct svg_run *r, struct map *modules, uint64_t *weights) {
    for (size_t i = 0; i < r->layout.frames.len; i++) {
        const struct layout_frame *f = &r->layout.frames.data[i];
        if (f->kind != LAYOUT_FRAME) {
            continue;
        }
        strbuf_clear(&r->name);
        folded_unescape(&r->name, f->text, f->len);
        struct frame_name name = frame_name_split(strbuf_cstr(&r->name), r->name.len);
        if (name.module) {
            struct map_entry *m =
                map_put(modules, name.module, name.module_len, modules->count, NULL);
            if (!m) {
                return false;
            }
            weights[m->value] += f->self;
        }
    }
    return !r->name.failed;
}

/* Adds to r->keys the modules that weigh most: at most MODULES_MAX, none that weighs 0. */
static void choose_modules(struct svg_run *r, const struct map *modules, const uint64_t *weights,
                           struct module_weight *order) {
    size_t n = modules->count;
    for (size_t i = 0; i < n; i++) {
        const struct map_entry *m = &modules->entries[i];
        order[i] = (struct module_weight){m->key, m->len, i, weights[m->value]};
    }
    qsort(order, n, sizeof *order, heaviest_first);
    for (size_t i = 0; i < n && i < MODULES_MAX && order[i].weight > 0; i++) {
        struct frame_name name = {.module = order[i].name, .module_len = order[i].len, .name = ""};
        char colour[PALETTE_COLOUR_SIZE];
        palette_colour(&r->options->palette, &name, colour);
        colour[1] = '1';
        add_key(r, colour, order[i].name, order[i].len);
    }
}

static enum st add_modules(struct svg_run *r, struct err *e) {
    struct map modules = {0};
    size_t n = r->layout.frames.len;
    uint64_t *weights = calloc(n + 1, sizeof *weights);
    struct module_weight *order = calloc(n + 1, sizeof *order);
    enum st st = weights && order && weigh_modules(r, &modules, weights) ? ST_OK : err_nomem(e);
    if (st == ST_OK) {
        choose_modules(r, &modules, weights, order);
    }
    map_release(&modules);
    free(weights);
    free(order);
    return st;
}

enum st svg_make_keys(struct svg_run *r, struct err *e) {
    const struct svg_marks *marks = r->options->marks;
    for (size_t i = 0; marks && i < marks->key_count; i++) {
        add_key(r, marks->keys[i].colour, marks->keys[i].text, strlen(marks->keys[i].text));
    }
    return !marks && r->options->palette.kind == PALETTE_MODULE ? add_modules(r, e) : ST_OK;
}
