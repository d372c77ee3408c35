/* Prints the picture: title, legend and text around the frames, the style and the script. */
#include "flame/svg/svg.h"

#include <stdio.h>
#include <string.h>

#include "flame/svg/svg_private.h"
#include "flame/stacks/weigh.h"
#include "base/escape.h"

/* The Makefile turns the scripts and styles into these arrays. */
extern const unsigned char embed_flame_model_js[], embed_flame_view_js[], embed_flame_search_js[],
    embed_flame_ui_js[];
extern const size_t embed_flame_model_js_len, embed_flame_view_js_len, embed_flame_search_js_len,
    embed_flame_ui_js_len;
extern const unsigned char embed_flame_css[], embed_flame_colours_css[], embed_flame_live_css[];
extern const size_t embed_flame_css_len, embed_flame_colours_css_len, embed_flame_live_css_len;
extern const unsigned char embed_flame_dark_css[], embed_flame_dark_colours_css[];
extern const size_t embed_flame_dark_css_len, embed_flame_dark_colours_css_len;

enum {
    WIDTH_DEFAULT = 1200,
    ROW_DEFAULT = 18,    /* height of a row in pixels, one of them the gap */
    FONT_DEFAULT = 1150, /* font size in 1/100 pixel for the default row */
    FOOT = 36,           /* height below the frames in pixels, with one line of text */
    FOOT_LINE = 18,      /* height of each further line in pixels */
    NOTE_CELL = 7        /* average width of a character of the text around the frames, in pixels */
};

/* ---- text around the frames ---- */

static void svg_print_text(struct svg_run *r, const char *attributes, const char *text,
                           size_t cells) {
    strbuf_clear(&r->line);
    strbuf_addf(&r->line, "<text %s>", attributes);
    xml_text_add_short(&r->line, text, strlen(text), cells, 1);
    strbuf_addstr(&r->line, "</text>\n");
    sink_write(r->out, strbuf_cstr(&r->line), r->line.len);
}

static void add_attribute(struct strbuf *b, const char *name, const char *value) {
    strbuf_addf(b, " %s=\"", name);
    xml_text_add(b, value, strlen(value));
    strbuf_addc(b, '"');
}

static void svg_print_root(struct svg_run *r) {
    const struct svg_options *o = r->options;
    struct strbuf *b = &r->line;
    uint32_t width = r->width + 2 * SVG_MARGIN;
    strbuf_clear(b);
    strbuf_addstr(
        b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"");
    strbuf_addf(b, " width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\"", width, r->height, width,
                r->height);
    strbuf_addf(b, " class=\"%s%s\"", o->inverted ? "icicle" : "flame",
                o->dark ? " always-dark" : "");
    strbuf_addf(b, " data-row=\"%u\" data-head=\"%d\" data-foot=\"%u\" data-margin=\"%d\"", r->row,
                SVG_HEAD, r->foot, SVG_MARGIN);
    if (o->width) {
        strbuf_addstr(b, " data-fixed=\"\"");
    }
    strbuf_addf(b, " data-depth=\"%u\" data-decimals=\"%u\"", r->layout.depth, r->tree->decimals);
    add_attribute(b, "data-unit", r->unit);
    if (o->search) {
        add_attribute(b, "data-search", o->search);
    }
    strbuf_addstr(b, ">\n");
    sink_write(r->out, strbuf_cstr(b), b->len);
}

static void svg_print_style(struct svg_run *r) {
    sink_str(r->out, "<style>\n");
    sink_write(r->out, embed_flame_css, embed_flame_css_len);
    sink_write(r->out, embed_flame_colours_css, embed_flame_colours_css_len);
    sink_write(r->out, embed_flame_live_css, embed_flame_live_css_len);
    sink_str(r->out,
             r->options->dark ? "@media all {\n" : "@media (prefers-color-scheme: dark) {\n");
    sink_write(r->out, embed_flame_dark_css, embed_flame_dark_css_len);
    sink_write(r->out, embed_flame_dark_colours_css, embed_flame_dark_colours_css_len);
    sink_str(r->out, "}\n</style>\n");
}

void svg_write_style(struct sink *out) {
    sink_str(out, ".flame-graph svg { width: 100%; font: 11px ui-monospace, SFMono-Regular, Menlo, "
                  "Consolas, \"DejaVu Sans Mono\", monospace }\n"
                  ".flame-graph text { pointer-events: none; white-space: pre; fill: #16181b }\n"
                  ".flame-graph {\n");
    sink_write(out, embed_flame_colours_css, embed_flame_colours_css_len);
    sink_str(out, "}\n@media (prefers-color-scheme: dark) {\n.flame-graph text { fill: #f1f1ee }\n"
                  ".flame-graph {\n");
    sink_write(out, embed_flame_dark_colours_css, embed_flame_dark_colours_css_len);
    sink_str(out, "}\n}\n");
}

/* Appends a font family of ASCII letters, digits, '-', blanks and commas; other characters are left
 * out, since a quote could end the attribute. */
static void add_font(struct strbuf *b, const char *font) {
    strbuf_addstr(b, "font-family:");
    for (; *font; font++) {
        bool word = (*font >= '0' && *font <= '9') || (*font >= 'a' && *font <= 'z') ||
                    (*font >= 'A' && *font <= 'Z') || *font == '-' || *font == ' ' || *font == ',';
        if (word) {
            strbuf_addc(b, *font);
        }
    }
}

static void svg_print_head(struct svg_run *r) {
    const struct svg_options *o = r->options;
    const char *title = o->title ? o->title : "Flame graph";
    struct strbuf *b = &r->line;
    strbuf_clear(b);
    strbuf_addstr(b, "<title>");
    xml_text_add(b, title, strlen(title));
    strbuf_addstr(b, "</title>\n");
    sink_write(r->out, strbuf_cstr(b), b->len);
    svg_print_style(r);
    sink_str(r->out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n<g id=\"head\">\n");
    svg_print_text(r, "class=\"title\" x=\"16\" y=\"30\"", title, r->width / 11);
    if (o->subtitle && *o->subtitle) {
        svg_print_text(r, "class=\"subtitle\" x=\"16\" y=\"51\"", o->subtitle,
                       r->width / NOTE_CELL);
    }
    strbuf_clear(b);
    strbuf_addstr(b, "</g>\n<g id=\"frames\"");
    if (o->font || r->row != ROW_DEFAULT) {
        strbuf_addstr(b, " style=\"font-size:");
        svg_add_px(b, r->font);
        strbuf_addstr(b, "px");
        if (o->font) {
            strbuf_addc(b, ';');
            add_font(b, o->font);
        }
        strbuf_addc(b, '"');
    }
    strbuf_addstr(b, ">\n");
    sink_write(r->out, strbuf_cstr(b), b->len);
}

/* ---- below the frames ---- */

static bool has_notes(const struct svg_options *o) {
    return o->notes && *o->notes;
}

static void svg_print_note(struct svg_run *r, const char *attributes, const char *text,
                           uint32_t y) {
    char at[96];
    snprintf(at, sizeof at, "%s x=\"%d\" y=\"%u\"", attributes, SVG_MARGIN, y);
    svg_print_text(r, at, text, r->width / NOTE_CELL);
}

static void add_merged(const struct svg_run *r, struct strbuf *note) {
    const struct layout *l = &r->layout;
    const struct svg_options *o = r->options;
    if (l->frames.len == 0) {
        strbuf_addstr(note, "No stacks: nothing to draw.");
    } else if (l->narrow_count > 0) {
        strbuf_addstr(note, "Frames narrower than ");
        svg_add_px(note, o->min_width);
        strbuf_addstr(note, o->min_is_share ? " %" : " px");
        strbuf_addstr(note, " are merged into \xe2\x80\xa6: ");
        svg_count(note, l->narrow_count, 0);
        strbuf_addstr(note, l->narrow_count > 1 ? " frames, " : " frame, ");
        svg_add_percent(note, l->narrow_weight, r->total);
        strbuf_addstr(note, " of the width.");
    }
}

static void svg_print_foot(struct svg_run *r) {
    sink_str(r->out, "</g>\n<g id=\"foot\">\n");
    uint32_t y = r->height - r->foot + FOOT - 13;
    if (r->keys.len > 0) {
        sink_printf(r->out, "<g transform=\"translate(0,%u)\">\n", y - 10);
        sink_write(r->out, strbuf_cstr(&r->keys), r->keys.len);
        sink_str(r->out, "</g>\n");
        y += FOOT_LINE + 4;
    }
    if (has_notes(r->options)) {
        svg_print_note(r, "class=\"note\"", r->options->notes, y);
        y += FOOT_LINE;
    }
    struct strbuf note = {0};
    add_merged(r, &note);
    svg_print_note(r, "class=\"note\" id=\"note\"", strbuf_cstr(&note), y);
    r->line.failed |= note.failed;
    strbuf_release(&note);
    sink_str(r->out, "</g>\n");
}

/* Prints the scripts as one function, so that their names do not clash with those of a page around
 * the picture. */
static void svg_print_script(struct sink *out) {
    sink_str(out, "<script><![CDATA[\n(function () {\n'use strict';\n");
    sink_write(out, embed_flame_model_js, embed_flame_model_js_len);
    sink_write(out, embed_flame_view_js, embed_flame_view_js_len);
    sink_write(out, embed_flame_search_js, embed_flame_search_js_len);
    sink_write(out, embed_flame_ui_js, embed_flame_ui_js_len);
    sink_str(out, "}());\n]]></script>\n</svg>\n");
}

/* Prints the frames as an element of a page, without the root frame, which the page describes in
 * words. */
static void svg_print_element(struct svg_run *r) {
    struct strbuf *b = &r->line;
    uint32_t width = r->width + 2 * SVG_MARGIN, height = r->layout.depth * r->row;
    uint32_t top = SVG_HEAD + (r->options->inverted ? r->row : 0);
    strbuf_clear(b);
    strbuf_addf(b, "<svg role=\"img\" viewBox=\"0 %u %u %u\"", top, width, height);
    add_attribute(b, "aria-label", r->options->title ? r->options->title : "Flame graph");
    strbuf_addstr(b, ">\n");
    sink_write(r->out, strbuf_cstr(b), b->len);
    for (size_t i = 0; i < r->layout.frames.len; i++) {
        if (r->layout.frames.data[i].kind != LAYOUT_ROOT) {
            svg_print_frame(r, &r->layout.frames.data[i]);
        }
    }
    sink_str(r->out, "</svg>\n");
}

static void svg_print_all(struct svg_run *r) {
    if (r->options->element) {
        svg_print_element(r);
        return;
    }
    svg_print_root(r);
    svg_print_head(r);
    for (size_t i = 0; i < r->layout.frames.len; i++) {
        svg_print_frame(r, &r->layout.frames.data[i]);
    }
    svg_print_foot(r);
    svg_print_script(r->out);
}

/* ---- sizes ---- */

static uint32_t clamp(uint32_t v, uint32_t fallback, uint32_t least, uint32_t most) {
    v = v ? v : fallback;
    if (v < least) {
        return least;
    }
    return v < most ? v : most;
}

/* Returns the least weight with which a frame is at least min_width wide. */
static uint64_t lightest(const struct svg_run *r) {
    uint64_t remainder = 0;
    uint64_t full = r->options->min_is_share ? 10000 : (uint64_t)r->width * 100;
    uint64_t least = r->options->min_width > full ? full : r->options->min_width;
    return weigh_muldiv(r->total, least, full, &remainder) + (remainder > 0);
}

enum st svg_write(const struct stack_tree *t, const struct svg_options *o, struct sink *out,
                  struct err *e) {
    uint32_t width = clamp(o->width, WIDTH_DEFAULT, SVG_WIDTH_MIN, SVG_WIDTH_MAX);
    struct svg_run r = {.tree = t,
                        .options = o,
                        .out = out,
                        .unit = o->unit ? o->unit : "samples",
                        .total = stack_tree_total(t),
                        .width = width - 2 * SVG_MARGIN,
                        .row = clamp(o->row, ROW_DEFAULT, SVG_ROW_MIN, SVG_ROW_MAX),
                        .foot = FOOT};
    r.font = FONT_DEFAULT * r.row / ROW_DEFAULT;
    enum st st =
        layout_make(&r.layout, t, lightest(&r), o->max_depth ? o->max_depth : SVG_DEPTH_DEFAULT, e);
    if (st != ST_OK) {
        return st;
    }
    st = svg_make_keys(&r, e);
    r.foot += (r.keys.len > 0 ? FOOT_LINE + 4u : 0) + (has_notes(o) ? FOOT_LINE : 0u);
    r.height = SVG_HEAD + (r.layout.depth + 1) * r.row + r.foot;
    if (st == ST_OK) {
        svg_print_all(&r);
        bool failed = r.line.failed || r.name.failed || r.note.failed || r.keys.failed;
        st = failed ? err_nomem(e) : ST_OK;
    }
    layout_release(&r.layout);
    strbuf_release(&r.line);
    strbuf_release(&r.name);
    strbuf_release(&r.note);
    strbuf_release(&r.keys);
    return st;
}
