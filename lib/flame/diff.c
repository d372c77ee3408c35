/* Presents the changes between two sets of stacks as colours and as text. */
#include "flame/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "flame/stacks/folded.h"
#include "flame/stacks/frame_name.h"

/* ---- one change ---- */

/* Returns a change in thousandths of the base weight, rounded, at most 999999; 999999 for a base
 * of 0. */
static uint64_t permille_of(uint64_t delta, uint64_t base) {
    const uint64_t most = 999999;
    unsigned __int128 v = base ? ((unsigned __int128)delta * 1000 + base / 2) / base : most;
    return v < most ? (uint64_t)v : most;
}

static void add_sign(struct strbuf *out, bool more) {
    strbuf_addstr(out, more ? "+" : "\xe2\x88\x92"); /* a minus sign */
}

/* Appends the relative change: "+50 %", "−3.4 %", "× 12" (from +1000 % on), "new", "gone", "the
 * same". */
static void diff_add_relative(struct strbuf *out, const uint64_t sides[STACK_SIDES]) {
    uint64_t base = sides[STACK_BASE], now = sides[STACK_NEW];
    if (base == now) {
        strbuf_addstr(out, "the same");
        return;
    }
    if (base == 0 || now == 0) {
        strbuf_addstr(out, base == 0 ? "new" : "gone");
        return;
    }
    uint64_t v = permille_of(now > base ? now - base : base - now, base);
    if (v >= 10000) {
        strbuf_addf(out, "\xc3\x97 %llu",
                    (unsigned long long)(v / 1000 + 1)); /* a multiplication sign */
        return;
    }
    add_sign(out, now > base);
    strbuf_addu64(out, v / 10);
    if (v < 100 && v % 10) {
        strbuf_addf(out, ".%u", (unsigned)(v % 10));
    }
    strbuf_addstr(out, " %");
}

static void diff_add_delta(struct strbuf *out, const uint64_t sides[STACK_SIDES],
                           unsigned decimals) {
    uint64_t base = sides[STACK_BASE], now = sides[STACK_NEW];
    if (base != now) {
        add_sign(out, now > base);
    }
    svg_count(out, now > base ? now - base : base - now, decimals);
}

void diff_change(struct strbuf *out, const uint64_t sides[STACK_SIDES], unsigned decimals,
                 const char *unit) {
    svg_count(out, sides[STACK_BASE], decimals);
    strbuf_addf(out, " %s \xe2\x86\x92 ", unit); /* an arrow */
    svg_count(out, sides[STACK_NEW], decimals);
    strbuf_addf(out, " %s, ", unit);
    diff_add_relative(out, sides);
}

/* ---- the picture ---- */

/* Sets the frame's colour, a class of flame_colours.css: red if its weight grew, blue if it shrank,
 * in four shades each; other colours if it changed little, is new or is gone. */
static void diff_colour(const uint64_t sides[STACK_SIDES], char colour[PALETTE_COLOUR_SIZE]) {
    enum { LITTLE = 20, SOME = 100, MUCH = 300, HALF = 500 }; /* thousandths */
    uint64_t base = sides[STACK_BASE], now = sides[STACK_NEW];
    bool more = now > base;
    uint64_t v = permille_of(more ? now - base : base - now, base > now ? base : now);
    if (base == 0 || now == 0) {
        memcpy(colour, base == 0 ? "n0" : "v0", PALETTE_COLOUR_SIZE);
    } else if (v < LITTLE) {
        memcpy(colour, "x1", PALETTE_COLOUR_SIZE);
    } else {
        colour[0] = more ? 'r' : 's';
        colour[1] = (char)('0' + (v >= SOME) + (v >= MUCH) + (v >= HALF));
    }
}

static void diff_mark_frame(void *ctx, const struct layout_frame *f, const struct frame_name *name,
                            char colour[PALETTE_COLOUR_SIZE], struct strbuf *note) {
    const struct diff_marks *m = ctx;
    (void)name;
    if (f->kind != LAYOUT_FRAME && f->kind != LAYOUT_ROOT) {
        return; /* a merged frame has changes of all kinds, so it keeps its colour */
    }
    const struct stack_sides *sides = &m->pair->nodes[f->node];
    if (f->kind == LAYOUT_FRAME) {
        diff_colour(sides->total, colour);
    }
    diff_change(note, sides->total, m->pair->tree.decimals, m->unit);
    if (f->self > 0 && f->self < f->w) {
        strbuf_addstr(note, "\nself ");
        diff_change(note, sides->self, m->pair->tree.decimals, m->unit);
    }
}

void diff_marks_init(struct diff_marks *m, const struct stack_pair *pair, const char *unit) {
    static const struct svg_key keys[] = {
        {"n0", "new"}, {"r3", "grew"}, {"x1", "the same"}, {"s3", "shrank"}, {"v0", "gone"}};
    *m = (struct diff_marks){.pair = pair, .unit = unit};
    m->marks = (struct svg_marks){
        .mark = diff_mark_frame, .ctx = m, .keys = keys, .key_count = sizeof keys / sizeof *keys};
}

/* ---- stacks ---- */

struct folding {
    const struct stack_pair *pair;
    struct sink *out;
    struct strbuf line;
};

static enum st diff_fold_stack(void *ctx, const char *text, size_t len, uint64_t weight,
                               struct err *e) {
    struct folding *f = ctx;
    (void)weight;
    strbuf_clear(&f->line);
    strbuf_add(&f->line, text, len);
    for (int side = 0; side < STACK_SIDES; side++) {
        strbuf_addc(&f->line, ' ');
        folded_weight(&f->line, stack_pair_sides(f->pair, text, len)->self[side],
                      f->pair->tree.decimals);
    }
    strbuf_addc(&f->line, '\n');
    sink_write(f->out, strbuf_cstr(&f->line), f->line.len);
    return strbuf_check(&f->line, e);
}

enum st diff_folded(const struct stack_pair *pair, struct sink *out, struct err *e) {
    struct folding f = {.pair = pair, .out = out};
    enum st st = stack_tree_each(&pair->tree, diff_fold_stack, &f, e);
    strbuf_release(&f.line);
    return st;
}

/* ---- functions ---- */

struct diff_function {
    const char *text; /* name, borrowed from counting.names */
    size_t len;
    /* weights; total counts each stack once, however often the function is in it */
    struct stack_sides sides;
    uint64_t last_stack;
};

struct counting {
    const struct stack_pair *pair;
    struct map names;
    VEC(struct diff_function) functions;
    uint64_t stacks;
};

/* Returns the entry of a frame's function, added if it is new; NULL = out of memory. */
static struct diff_function *diff_function_at(struct counting *c, const char *frame, size_t len) {
    bool added;
    if (frame_is_inlined(frame, len)) {
        len -= FRAME_MARK_LEN;
    }
    struct map_entry *m = map_put(&c->names, frame, len, c->functions.len, &added);
    if (!m ||
        (added && !VEC_PUSH(&c->functions, (struct diff_function){m->key, len, {{0}, {0}}, 0}))) {
        return NULL;
    }
    return &c->functions.data[m->value];
}

static enum st diff_count_stack(void *ctx, const char *text, size_t len, uint64_t weight,
                                struct err *e) {
    struct counting *c = ctx;
    const struct stack_sides *sides = stack_pair_sides(c->pair, text, len);
    (void)weight;
    c->stacks++;
    for (size_t at = 0; at <= len;) {
        size_t stop = at + stack_frame_len(text + at, len - at);
        struct diff_function *f = diff_function_at(c, text + at, stop - at);
        if (!f) {
            return err_nomem(e);
        }
        for (int side = 0; side < STACK_SIDES; side++) {
            f->sides.total[side] += f->last_stack != c->stacks ? sides->self[side] : 0;
            f->sides.self[side] += stop == len ? sides->self[side] : 0;
        }
        f->last_stack = c->stacks;
        at = stop + 1;
    }
    return ST_OK;
}

static uint64_t change_of(const uint64_t sides[STACK_SIDES]) {
    return sides[0] > sides[1] ? sides[0] - sides[1] : sides[1] - sides[0];
}

static int largest_first(const void *a, const void *b) {
    const struct diff_function *x = a, *y = b;
    uint64_t m = change_of(x->sides.self), n = change_of(y->sides.self);
    int order = COMPARE(n, m);
    order = order ? order : memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
    return order ? order : COMPARE(x->len, y->len);
}

/* ---- Markdown ---- */

/* Appends a name as code in a table cell. The fence has one backtick more than the longest run of
 * them in the name, and '|' is escaped, as it ends a cell even in code. */
static void add_code(struct strbuf *out, const char *text, size_t len) {
    size_t run = 0, longest = 0;
    for (size_t i = 0; i < len; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++) {
        strbuf_addc(out, '`');
    }
    bool padded = longest > 0 || len == 0;
    strbuf_addstr(out, padded ? " " : "");
    for (size_t i = 0; i < len; i++) {
        strbuf_addstr(out, text[i] == '|' ? "\\" : "");
        strbuf_addc(out, text[i]);
    }
    strbuf_addstr(out, padded ? " " : "");
    for (size_t i = 0; i <= longest; i++) {
        strbuf_addc(out, '`');
    }
}

static void diff_add_row(struct strbuf *out, const struct diff_function *f, unsigned decimals) {
    struct strbuf whole = {0}, name = {0};
    folded_unescape(&whole, f->text, f->len);
    text_add_shown(&name, strbuf_cstr(&whole), whole.len);
    strbuf_addstr(out, "| **");
    diff_add_delta(out, f->sides.self, decimals);
    strbuf_addstr(out, "** | ");
    diff_add_relative(out, f->sides.self);
    strbuf_addstr(out, " | ");
    add_code(out, strbuf_cstr(&name), name.len);
    for (int side = 0; side < STACK_SIDES; side++) {
        strbuf_addstr(out, " | ");
        svg_count(out, f->sides.self[side], decimals);
    }
    for (int side = 0; side < STACK_SIDES; side++) {
        strbuf_addstr(out, " | ");
        svg_count(out, f->sides.total[side], decimals);
    }
    strbuf_addstr(out, " |\n");
    out->failed |= whole.failed || name.failed;
    strbuf_release(&whole);
    strbuf_release(&name);
}

static void diff_add_table(struct strbuf *out, const struct counting *c,
                           const struct diff_text *o) {
    const uint64_t none[STACK_SIDES] = {0};
    const uint64_t *total = c->pair->tree.node_count ? c->pair->nodes[0].total : none;
    unsigned decimals = c->pair->tree.decimals;
    size_t rows = 0;
    while (rows < c->functions.len && rows < o->most &&
           change_of(c->functions.data[rows].sides.self) > 0) {
        rows++;
    }
    strbuf_addf(out, "### %s: ", o->title ? o->title : "Flame graph");
    diff_change(out, total, decimals, o->unit);
    strbuf_addstr(out, o->normalised ? " (the first side scaled to the second)\n\n" : "\n\n");
    if (rows == 0) {
        strbuf_addstr(out, "No function changed.\n");
        return;
    }
    strbuf_addf(out,
                "| %s | change | function | self before | after | with callees before | after |\n"
                "| ---: | ---: | :--- | ---: | ---: | ---: | ---: |\n",
                o->unit);
    for (size_t i = 0; i < rows; i++) {
        diff_add_row(out, &c->functions.data[i], decimals);
    }
}

enum st diff_markdown(const struct stack_pair *pair, const struct diff_text *o, struct sink *out,
                      struct err *e) {
    struct counting c = {.pair = pair};
    struct strbuf text = {0};
    enum st st = stack_tree_each(&pair->tree, diff_count_stack, &c, e);
    if (st == ST_OK) {
        if (c.functions.len > 1) {
            qsort(c.functions.data, c.functions.len, sizeof *c.functions.data, largest_first);
        }
        diff_add_table(&text, &c, o);
        st = strbuf_check(&text, e);
        sink_write(out, strbuf_cstr(&text), st == ST_OK ? text.len : 0);
    }
    strbuf_release(&text);
    VEC_RELEASE(&c.functions);
    map_release(&c.names);
    return st;
}
