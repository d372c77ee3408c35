/* Prints the picture. Positions are computed in hundredths of a pixel from the exact left and right
 * ends of each frame, so the printed widths of a frame's children and its self part add up too. */
#include "flame/svg.h"

#include <string.h>

#include "flame/folded.h"
#include "flame/frame_name.h"
#include "flame/layout.h"
#include "flame/weigh.h"
#include "flame/xml_text.h"

/* flame.js and flame.css, made into arrays by the Makefile. */
extern const unsigned char embed_flame_js[];
extern const size_t embed_flame_js_len;
extern const unsigned char embed_flame_css[];
extern const size_t embed_flame_css_len;

enum {
    WIDTH_DEFAULT = 1200,
    MARGIN = 16,       /* left and right of the frames */
    HEAD = 68,         /* above the frames: title and subtitle */
    FOOT = 36,         /* below */
    ROW = 18,          /* one row of frames, a pixel of it the gap */
    TEXT_LEFT = 5,     /* of a frame's text, inside the frame */
    TEXT_BASE = 13,    /* of its base line, below the frame's top */
    NAME_CELLS = 4096, /* most characters of a name in a <title> */
    CELL = 700,     /* hundredths of a pixel: a character of any common monospaced font at 11.5px */
    THIN = 200,     /* hundredths of a pixel: narrower frames have no stroke */
    CELLS_LEAST = 2 /* shorter stubs of names are noise */
};

struct svg_run {
    const struct stack_tree *tree;
    const struct svg_options *options;
    struct layout layout;
    struct sink *out;
    struct strbuf line, name; /* scratch */
    const char *unit;
    uint64_t total;
    uint32_t width; /* of the frames, in pixels */
    uint32_t height;
};

/* ---- numbers ---- */

void svg_count(struct strbuf *out, uint64_t weight, unsigned decimals) {
    size_t start = out->len;
    struct strbuf plain = {0};
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

/* "12.34 %" of a total, rounded; what rounds to nothing is "under 0.01 %". part <= total. */
static void add_percent(struct strbuf *out, uint64_t part, uint64_t total) {
    uint64_t remainder;
    uint64_t v = weigh_muldiv(part, 10000, total, &remainder);
    v += remainder > (total - 1) / 2;
    if (v == 0 && part > 0) {
        strbuf_addstr(out, "under 0.01 %");
    } else {
        strbuf_addu64(out, v / 100);
        strbuf_addf(out, ".%02u %%", (unsigned)(v % 100));
    }
}

/* A number of hundredths, "16", "16.5", "16.25". */
static void add_px(struct strbuf *out, uint64_t hundredths) {
    strbuf_addu64(out, hundredths / 100);
    unsigned rest = (unsigned)(hundredths % 100);
    if (rest) {
        strbuf_addc(out, '.');
        strbuf_addc(out, (char)('0' + rest / 10));
        if (rest % 10) {
            strbuf_addc(out, (char)('0' + rest % 10));
        }
    }
}

/* ---- one frame ---- */

/* The label in the frame, the first line of the <title>, and its second. */
static void add_mark(struct strbuf *b, const struct frame_name *f) {
    if (f->module) {
        strbuf_addstr(b, "\nin ");
        xml_text_add_short(b, f->module, f->module_len, NAME_CELLS, 0);
    }
    const char *mark = f->mark == 'i'   ? "inlined"
                       : f->mark == 'k' ? "kernel"
                       : f->mark == 'j' ? "JIT-compiled"
                                        : NULL;
    if (mark) {
        strbuf_addstr(b, f->module ? " · " : "\n");
        strbuf_addstr(b, mark);
    }
}

static void add_amount(struct svg_run *r, const struct layout_frame *f) {
    struct strbuf *b = &r->line;
    strbuf_addc(b, '\n');
    svg_count(b, f->w, r->tree->decimals);
    strbuf_addc(b, ' ');
    xml_text_add(b, r->unit, strlen(r->unit));
    strbuf_addstr(b, " · ");
    add_percent(b, f->w, r->total);
    if (f->self > 0 && f->self < f->w) {
        strbuf_addstr(b, " · self ");
        svg_count(b, f->self, r->tree->decimals);
    }
}

/* As much of a label as fits a frame of that width. */
static void add_label(struct svg_run *r, const char *label, size_t len, uint64_t width) {
    uint64_t margins = 2 * TEXT_LEFT * 100;
    uint64_t cells = width > margins ? (width - margins) / CELL : 0;
    xml_text_add_short(&r->line, label, len, (size_t)cells, CELLS_LEAST);
}

/* Fills r->name with what is drawn in a frame, and returns its parts. */
static struct frame_name name_frame(struct svg_run *r, const struct layout_frame *f) {
    strbuf_clear(&r->name);
    switch (f->kind) {
    case LAYOUT_ROOT:
        strbuf_addstr(&r->name, "all");
        break;
    case LAYOUT_NARROW:
        strbuf_addf(&r->name, "%u frame%s too narrow to draw", f->merged, f->merged > 1 ? "s" : "");
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

static void print_frame(struct svg_run *r, const struct layout_frame *f) {
    struct strbuf *b = &r->line;
    uint64_t full = (uint64_t)r->width * 100;
    uint64_t left = weigh_muldiv(f->x, full, r->total, NULL);
    uint64_t width = weigh_muldiv(f->x + f->w, full, r->total, NULL) - left;
    uint32_t row = r->options->inverted ? f->depth : r->layout.depth - f->depth;
    uint32_t top = HEAD + row * ROW;
    struct frame_name name = name_frame(r, f);
    char colour[FRAME_COLOUR_SIZE] = "x1";
    if (f->kind == LAYOUT_FRAME) {
        frame_name_colour(&name, colour);
    } else if (f->kind == LAYOUT_ROOT) {
        memcpy(colour, "x2", sizeof "x2");
    }
    strbuf_clear(b);
    const char *more = name.mark == 'i' ? " i" : f->merged > 0 ? " rest" : "";
    const char *thin = width < THIN ? " t" : "";
    strbuf_addf(b, "<g class=\"%s%s%s\" data-w=\"", colour, more, thin);
    strbuf_addu64(b, f->w);
    strbuf_addstr(b, "\"><title>");
    if (name.name_len == 0) {
        strbuf_addstr(b, "(no name)");
    }
    xml_text_add_short(b, name.name, name.name_len, NAME_CELLS, 0);
    add_mark(b, &name);
    add_amount(r, f);
    strbuf_addstr(b, "</title><rect x=\"");
    add_px(b, left + MARGIN * 100);
    strbuf_addf(b, "\" y=\"%u\" width=\"", top);
    add_px(b, width);
    strbuf_addf(b, "\" height=\"%d\"/>", ROW - 1);
    size_t text_at = b->len;
    strbuf_addstr(b, "<text x=\"");
    add_px(b, left + (MARGIN + TEXT_LEFT) * 100);
    strbuf_addf(b, "\" y=\"%u\">", top + TEXT_BASE);
    size_t label_at = b->len;
    if (f->kind == LAYOUT_NARROW) {
        add_label(r, "\xe2\x80\xa6", 3, width);
    } else {
        add_label(r, name.name, name.name_len, width);
    }
    if (b->len == label_at) {
        strbuf_truncate(b, text_at);
    } else {
        strbuf_addstr(b, "</text>");
    }
    strbuf_addstr(b, "</g>\n");
    sink_write(r->out, strbuf_cstr(b), b->len);
}

/* ---- around the frames ---- */

static void print_text(struct svg_run *r, const char *attributes, const char *text, size_t cells) {
    strbuf_clear(&r->line);
    strbuf_addf(&r->line, "<text %s>", attributes);
    xml_text_add_short(&r->line, text, strlen(text), cells, 1);
    strbuf_addstr(&r->line, "</text>\n");
    sink_write(r->out, strbuf_cstr(&r->line), r->line.len);
}

static void print_head(struct svg_run *r) {
    const struct svg_options *o = r->options;
    const char *title = o->title ? o->title : "Flame graph";
    uint32_t width = r->width + 2 * MARGIN;
    struct strbuf *b = &r->line;
    strbuf_clear(b);
    strbuf_addstr(
        b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"");
    strbuf_addf(b, " width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\"", width, r->height, width,
                r->height);
    strbuf_addf(
        b, " class=\"%s\" data-row=\"%d\" data-head=\"%d\" data-foot=\"%d\" data-margin=\"%d\"",
        o->inverted ? "icicle" : "flame", ROW, HEAD, FOOT, MARGIN);
    if (o->width) {
        strbuf_addstr(b, " data-fixed=\"\"");
    }
    strbuf_addf(b, " data-depth=\"%u\" data-decimals=\"%u\" data-unit=\"", r->layout.depth,
                r->tree->decimals);
    xml_text_add(b, r->unit, strlen(r->unit));
    strbuf_addstr(b, "\">\n<title>");
    xml_text_add(b, title, strlen(title));
    strbuf_addstr(b, "</title>\n<style>\n");
    sink_write(r->out, strbuf_cstr(b), b->len);
    sink_write(r->out, embed_flame_css, embed_flame_css_len);
    sink_str(r->out, "</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    sink_str(r->out, "<g id=\"head\">\n");
    print_text(r, "class=\"title\" x=\"16\" y=\"30\"", title, (width - 2 * MARGIN) / 11);
    if (o->subtitle && *o->subtitle) {
        print_text(r, "class=\"subtitle\" x=\"16\" y=\"51\"", o->subtitle,
                   (width - 2 * MARGIN) / 7);
    }
    sink_str(r->out, "</g>\n<g id=\"frames\">\n");
}

static void print_foot(struct svg_run *r) {
    const struct layout *l = &r->layout;
    sink_str(r->out, "</g>\n<g id=\"foot\">\n");
    struct strbuf note = {0};
    if (l->frames.len == 0) {
        strbuf_addstr(&note, "No stacks: nothing to draw.");
    } else if (l->narrow_count > 0) {
        strbuf_addstr(&note, "Frames narrower than ");
        add_px(&note, r->options->min_width);
        strbuf_addstr(&note, " px are merged into \xe2\x80\xa6: ");
        svg_count(&note, l->narrow_count, 0);
        strbuf_addstr(&note, l->narrow_count > 1 ? " frames, " : " frame, ");
        add_percent(&note, l->narrow_weight, r->total);
        strbuf_addstr(&note, " of the width.");
    }
    char at[64];
    snprintf(at, sizeof at, "class=\"note\" x=\"%d\" y=\"%u\"", MARGIN, r->height - 13);
    print_text(r, at, strbuf_cstr(&note), r->width / 7);
    r->line.failed |= note.failed;
    strbuf_release(&note);
    sink_str(r->out, "</g>\n<script><![CDATA[\n");
    sink_write(r->out, embed_flame_js, embed_flame_js_len);
    sink_str(r->out, "]]></script>\n</svg>\n");
}

enum st svg_write(const struct stack_tree *t, const struct svg_options *o, struct sink *out,
                  struct err *e) {
    uint32_t width = o->width ? o->width : WIDTH_DEFAULT;
    width = width < SVG_WIDTH_MIN ? SVG_WIDTH_MIN : width > SVG_WIDTH_MAX ? SVG_WIDTH_MAX : width;
    struct svg_run r = {.tree = t,
                        .options = o,
                        .out = out,
                        .unit = o->unit ? o->unit : "samples",
                        .total = stack_tree_total(t),
                        .width = width - 2 * MARGIN};
    /* The lightest frame that is at least min_width wide. */
    uint64_t remainder = 0;
    uint64_t full = (uint64_t)r.width * 100;
    uint64_t least = o->min_width > full ? full : o->min_width;
    uint64_t min_weight = weigh_muldiv(r.total, least, full, &remainder) + (remainder > 0);
    enum st st =
        layout_make(&r.layout, t, min_weight, o->max_depth ? o->max_depth : SVG_DEPTH_DEFAULT, e);
    if (st != ST_OK) {
        return st;
    }
    r.height = HEAD + (r.layout.depth + 1) * ROW + FOOT;
    print_head(&r);
    for (size_t i = 0; i < r.layout.frames.len; i++) {
        print_frame(&r, &r.layout.frames.data[i]);
    }
    print_foot(&r);
    bool failed = r.line.failed || r.name.failed;
    layout_release(&r.layout);
    strbuf_release(&r.line);
    strbuf_release(&r.name);
    return failed ? err_nomem(e) : ST_OK;
}
