/* A tree as an interactive picture: one SVG file with everything in it.
 *
 * It is a picture first: without scripts it can be read, and every frame's full name and weight is
 * its <title>. The script (flame.js) adds zoom, search, keyboard, state in the URL fragment, and
 * fits the picture to the window. */
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

/* What the caller knows of frames and the tree does not say, such as how they have changed. */
struct svg_marks {
    /* Called once for each frame, in the order of the layout; name: the parts of its text. May
     * write another colour, and to `note` lines of plain text for the frame's <title>, with '\n'
     * between them. */
    void (*mark)(void *ctx, const struct layout_frame *f, const struct frame_name *name,
                 char colour[PALETTE_COLOUR_SIZE], struct strbuf *note);
    void *ctx;
    const struct svg_key *keys; /* what the colours mean, shown below the graph */
    size_t key_count;
};
struct svg_key {
    const char *colour; /* a class of flame.css */
    const char *text;
};

/* Zero-initialised = defaults. Strings are borrowed; they may hold anything. */
struct svg_options {
    const char *title;    /* NULL = "Flame graph" */
    const char *subtitle; /* NULL = none */
    const char *notes;    /* below the graph; NULL = none */
    const char *unit;     /* what weights count, "ms"; NULL = "samples" */
    const char *font;     /* a CSS font family for the names in frames; NULL = a monospaced one */
    const char *search;   /* what is searched for when the file is opened; NULL = nothing */
    uint32_t width;       /* pixels, 0 = 1200; SVG_WIDTH_MIN … SVG_WIDTH_MAX */
    uint32_t row;         /* of a frame's height, pixels, 0 = 18; SVG_ROW_MIN … SVG_ROW_MAX */
    uint32_t min_width;   /* narrowest frame drawn, in 1/100 pixel; narrower ones are merged */
    bool min_is_share;    /* min_width is in 1/100 % of the whole instead */
    uint32_t max_depth;   /* deepest frame drawn, 0 = 2000 */
    bool inverted;        /* the outermost frame is drawn on top (icicle graph) */
    bool dark;            /* whatever the reader prefers */
    struct palette palette;
    const struct svg_marks *marks; /* NULL = none */
};
enum {
    SVG_WIDTH_MIN = 200,
    SVG_WIDTH_MAX = 20000,
    SVG_ROW_MIN = 8,
    SVG_ROW_MAX = 60,
    SVG_DEPTH_DEFAULT = 2000
};

/* Equal trees and options give equal bytes. An empty tree gives a picture that says so. Write
 * errors stick to the sink; ST_ERR only for ERR_NOMEM. */
enum st svg_write(const struct stack_tree *t, const struct svg_options *o, struct sink *out,
                  struct err *e) BASE_MUST_USE;

/* Appends a weight with its thousands grouped, "12,345.5", to at most three decimal places. */
void svg_count(struct strbuf *out, uint64_t weight, unsigned decimals);

#endif
