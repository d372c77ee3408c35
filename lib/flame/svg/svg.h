/* Draws a tree as an interactive picture: one SVG file that contains everything. Without scripts it
 * is still readable, with the name (its first 4,096 cells) and weight of every frame that is drawn
 * as its <title>. The scripts (flame_*.js) add zoom, search, keyboard control and state in the URL
 * fragment, and fit the picture to the window. */
#ifndef STALLKIT_FLAME_SVG_H
#define STALLKIT_FLAME_SVG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "base/strbuf.h"
#include "flame/svg/layout.h"
#include "flame/svg/palette.h"
#include "flame/stacks/stack_tree.h"

/* The colours and notes that the caller adds to frames, such as their changes, which the tree does
 * not have. */
struct svg_marks {
    /* NULL = not called. Called once for each frame that is drawn, in the layout's order, with the
     * parts of its name. It may change the colour, and add lines of plain text, '\n' between them,
     * to `note` for the frame's <title>. */
    void (*mark)(void *ctx, const struct layout_frame *f, const struct frame_name *name,
                 char colour[PALETTE_COLOUR_SIZE], struct strbuf *note);
    void *ctx;
    const struct svg_key
        *keys; /* meanings of the colours, shown below the graph as far as the row has room */
    size_t key_count;
};
struct svg_key {
    const char *colour; /* a class of flame_colours.css */
    const char *text;
};

/* The options of a picture. Strings are borrowed and may have any content. Zero-initialised = the
 * defaults. */
struct svg_options {
    const char *title;    /* NULL = "Flame graph" */
    const char *subtitle; /* NULL = none */
    const char *notes;    /* a line of text below the graph; NULL = none */
    const char *unit;     /* unit of the weights, "ms"; NULL = "samples" */
    const char *font;     /* CSS font family for the names in frames; NULL = a monospaced one */
    const char *search;   /* expression searched for when the file is opened; NULL = none */
    uint32_t width; /* width in pixels with the margins, clamped to SVG_WIDTH_MIN … SVG_WIDTH_MAX; 0
                       = 1200 */
    uint32_t row;   /* height of a frame's row in pixels with the gap, clamped to SVG_ROW_MIN …
                       SVG_ROW_MAX; 0 = 18 */
    uint32_t min_width; /* width of the narrowest frame drawn, in 1/100 pixel; narrower ones are
                           merged */
    bool min_is_share;  /* min_width is in 1/100 % of the root frame's width instead */
    uint32_t max_depth; /* depth of the deepest frames drawn singly (root: 0); the deeper frames of
                           a branch are drawn as one; 0 = 2000 */
    bool inverted;      /* the outermost frame is drawn on top (icicle graph) */
    bool dark;    /* always use dark colours, even if the reader's system prefers light ones */
    bool element; /* write only the frames, without the root frame, as an SVG element for a page
                     that has svg_write_style: no head, foot, script or ids; title is the element's
                     label */
    struct palette palette;
    const struct svg_marks *marks; /* colours and notes of frames; NULL = none */
};
enum {
    SVG_WIDTH_MIN = 200,
    SVG_WIDTH_MAX = 20000,
    SVG_ROW_MIN = 8,
    SVG_ROW_MAX = 60,
    SVG_DEPTH_DEFAULT = 2000
};

/* Writes the picture. Equal trees and options give equal bytes; the picture of an empty tree says
 * that it is empty, unless it is an `element`. Write errors stick to the sink; ST_ERR: ERR_NOMEM.
 */
enum st svg_write(const struct stack_tree *t, const struct svg_options *o, struct sink *out,
                  struct err *e) BASE_MUST_USE;

/* Writes the style for pictures made with `element`, which must be in an element of class
 * "flame-graph". */
void svg_write_style(struct sink *out);

/* Appends a weight, in units of 10^-decimals, with its thousands grouped and rounded to at most
 * three decimal places, without zeros at the end: "12,345.5". */
void svg_count(struct strbuf *out, uint64_t weight, unsigned decimals);

#endif
