/* Prints the frames of the picture. Positions are computed in hundredths of a pixel from the exact
 * left and right ends of each frame, so the printed widths of a frame's children and its self part
 * add up too. */
#include <inttypes.h>
#include <string.h>

#include "flame/stacks/folded.h"
#include "flame/svg/label.h"
#include "flame/svg/svg_private.h"
#include "flame/stacks/weigh.h"
#include "base/escape.h"

enum {
    TEXT_LEFT = 5,     /* margin left and right of a frame's text, in pixels */
    NAME_CELLS = 4096, /* maximum width of a name in a <title>, in character cells */
    THIN = 200,     /* in 1/100 pixel: frames at least as wide have a stroke, class o, except in an
                       `element` */
    CELLS_LEAST = 2 /* least width, in character cells, in which a name is drawn */
};

/* ---- numbers ---- */

void svg_count(struct strbuf *out, uint64_t weight, unsigned decimals) {
    size_t start = out->len;
    struct strbuf plain = {0};
    for (; decimals > 3; decimals--) {
        weight = weight / 10 + (weight % 10 >= 5);
    }
    folded_weight(&plain, weight, decimals);
    const char *text = strbuf_cstr(&plain);
    size_t whole = strcspn(text, ".");
    for (size_t i = 0; i < plain.len; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0) {
            strbuf_addc(out, ',');
        }
        strbuf_addc(out, text[i]);
    }
    if (plain.failed) {
        strbuf_truncate(out, start);
        out->failed = true;
    }
    strbuf_release(&plain);
}

void svg_add_percent(struct strbuf *out, uint64_t part, uint64_t total) {
    uint64_t remainder;
    uint64_t v = weigh_muldiv(part, 10000, total, &remainder);
    v += remainder > (total - 1) / 2;
    if (v == 0 && part > 0) {
        strbuf_addstr(out, "under 0.01 %");
    } else {
        strbuf_addf(out, "%" PRIu64 ".%02u %%", v / 100, (unsigned)(v % 100));
    }
}

void svg_add_px(struct strbuf *out, uint64_t hundredths) {
    unsigned rest = (unsigned)(hundredths % 100);
    strbuf_addu64(out, hundredths / 100);
    if (rest % 10) {
        strbuf_addf(out, ".%02u", rest);
    } else if (rest) {
        strbuf_addf(out, ".%u", rest / 10);
    }
}

/* ---- the texts of a frame ---- */

/* Puts the name to draw in a frame into r->name, and returns its parts. */
static struct frame_name frame_text(struct svg_run *r, const struct layout_frame *f) {
    strbuf_clear(&r->name);
    switch (f->kind) {
    case LAYOUT_ROOT:
        strbuf_addstr(&r->name, "all");
        break;
    case LAYOUT_NARROW:
        strbuf_addf(&r->name, "%u narrow frame%s", f->merged, f->merged > 1 ? "s" : "");
        break;
    case LAYOUT_DEEPER:
        strbuf_addstr(&r->name, "deeper frames, not drawn");
        break;
    case LAYOUT_FRAME:
        folded_unescape(&r->name, f->text, f->len);
        return frame_name_split(strbuf_cstr(&r->name), r->name.len);
    }
    return (struct frame_name){.name = strbuf_cstr(&r->name), .name_len = r->name.len};
}

/* Appends the second line of the <title>: the module and the mark's meaning, as far as there are
 * any. */
static void add_mark(struct strbuf *b, const struct frame_name *f) {
    if (f->module) {
        strbuf_addstr(b, "\nin ");
        xml_text_add_short(b, f->module, f->module_len, NAME_CELLS, 0);
    }
    const char *mark = NULL;
    switch (f->mark) {
    case 'i':
        mark = "inlined";
        break;
    case 'k':
        mark = "kernel";
        break;
    case 'j':
        mark = "JIT-compiled";
        break;
    default:
        return;
    }
    strbuf_addf(b, "%s%s", f->module ? " · " : "\n", mark);
}

static void add_amount(struct svg_run *r, const struct layout_frame *f) {
    struct strbuf *b = &r->line;
    strbuf_addc(b, '\n');
    svg_count(b, f->w, r->tree->decimals);
    strbuf_addc(b, ' ');
    xml_text_add(b, r->unit, strlen(r->unit));
    strbuf_addstr(b, " · ");
    svg_add_percent(b, f->w, r->total);
    if (f->self > 0 && f->self < f->w) {
        strbuf_addstr(b, " · self ");
        svg_count(b, f->self, r->tree->decimals);
    }
}

/* Appends the caller's note to the <title>, after the weight. */
static void add_note(struct svg_run *r) {
    const char *at = strbuf_cstr(&r->note);
    while (*at) {
        size_t len = strcspn(at, "\n");
        strbuf_addc(&r->line, '\n');
        xml_text_add_short(&r->line, at, len, NAME_CELLS, 0);
        at += len + (at[len] == '\n');
    }
}

static void add_title(struct svg_run *r, const struct layout_frame *f,
                      const struct frame_name *name) {
    struct strbuf *b = &r->line;
    strbuf_addstr(b, "<title>");
    if (name->name_len == 0) {
        strbuf_addstr(b, "(no name)");
    }
    xml_text_add_short(b, name->name, name->name_len, NAME_CELLS, 0);
    add_mark(b, name);
    add_amount(r, f);
    add_note(r);
    strbuf_addstr(b, "</title>");
}

/* ---- drawing ---- */

/* Appends as much of a name as fits a frame of this width, in 1/100 pixel. A character of any
 * common monospaced font is at most 0.61 times as wide as the font's size. A rest of narrow
 * siblings gets "…". */
static void add_label(struct svg_run *r, const struct layout_frame *f,
                      const struct frame_name *name, uint64_t width) {
    uint64_t margins = 2 * TEXT_LEFT * 100;
    size_t cells = width > margins ? (size_t)((width - margins) * 100 / (r->font * 61)) : 0;
    if (f->kind == LAYOUT_NARROW) {
        xml_text_add_short(&r->line, "\xe2\x80\xa6", 3, cells, 1);
    } else {
        label_add(&r->line, name->name, name->name_len, cells, CELLS_LEAST);
    }
}

static void choose_colour(struct svg_run *r, const struct layout_frame *f,
                          const struct frame_name *name, char colour[PALETTE_COLOUR_SIZE]) {
    memcpy(colour, f->kind == LAYOUT_ROOT ? "x2" : "x1", PALETTE_COLOUR_SIZE);
    if (f->kind == LAYOUT_FRAME) {
        palette_colour(&r->options->palette, name, colour);
    }
    strbuf_clear(&r->note);
    const struct svg_marks *marks = r->options->marks;
    if (marks && marks->mark) {
        marks->mark(marks->ctx, f, name, colour, &r->note);
        r->line.failed |= r->note.failed;
    }
}

/* Appends class o if the frame is wide, and the attributes that the script reads: the frame's
 * weight and, in an ordered tree, its time. */
static void add_weights(struct svg_run *r, const struct layout_frame *f, uint64_t width) {
    strbuf_addf(&r->line, "%s\" data-w=\"%" PRIu64, width < THIN ? "" : " o", f->w);
    if (r->tree->ordered) {
        strbuf_addf(&r->line, "\" data-x=\"%" PRIu64, f->x);
    }
}

void svg_print_frame(struct svg_run *r, const struct layout_frame *f) {
    struct strbuf *b = &r->line;
    uint64_t full = (uint64_t)r->width * 100;
    uint64_t left = weigh_muldiv(f->x, full, r->total, NULL);
    uint64_t width = weigh_muldiv(f->x + f->w, full, r->total, NULL) - left;
    uint32_t row = r->options->inverted ? f->depth : r->layout.depth - f->depth;
    uint32_t top = SVG_HEAD + row * r->row;
    struct frame_name name = frame_text(r, f);
    char colour[PALETTE_COLOUR_SIZE];
    const char *class = f->merged > 0 ? " rest" : "";
    if (name.mark == 'i') {
        class = " i";
    }
    strbuf_clear(b);
    choose_colour(r, f, &name, colour);
    strbuf_addf(b, "<g class=\"%s%s", colour, class);
    if (!r->options->element) {
        add_weights(r, f, width);
    }
    strbuf_addstr(b, "\">");
    add_title(r, f, &name);
    strbuf_addstr(b, "<rect x=\"");
    svg_add_px(b, left + SVG_MARGIN * 100);
    strbuf_addf(b, "\" y=\"%u\" width=\"", top);
    svg_add_px(b, width);
    strbuf_addf(b, "\" height=\"%u\"/>", r->row - 1);
    size_t text_at = b->len;
    strbuf_addstr(b, "<text x=\"");
    svg_add_px(b, left + (SVG_MARGIN + TEXT_LEFT) * 100);
    strbuf_addf(b, "\" y=\"%u\">", top + r->row * 13 / 18);
    size_t label_at = b->len;
    add_label(r, f, &name, width);
    if (b->len == label_at) {
        strbuf_truncate(b, text_at);
    } else {
        strbuf_addstr(b, "</text>");
    }
    strbuf_addstr(b, "</g>\n");
    sink_write(r->out, strbuf_cstr(b), b->len);
}
