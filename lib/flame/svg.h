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
#include "flame/stack_tree.h"

/* Zero-initialised = defaults. Strings are borrowed; they may hold anything. */
struct svg_options {
    const char *title;    /* NULL = "Flame graph" */
    const char *subtitle; /* NULL = none */
    const char *unit;     /* what weights count, "ms"; NULL = "samples" */
    uint32_t width;       /* pixels, 0 = 1200; SVG_WIDTH_MIN … SVG_WIDTH_MAX */
    uint32_t min_width;   /* narrowest frame drawn, in 1/100 pixel; narrower ones are merged */
    uint32_t max_depth;   /* deepest frame drawn, 0 = 2000 */
    bool inverted;        /* outermost frame on top (icicle) */
};
enum { SVG_WIDTH_MIN = 200, SVG_WIDTH_MAX = 20000, SVG_DEPTH_DEFAULT = 2000 };

/* Equal trees and options give equal bytes. An empty tree gives a picture that says so. Write
 * errors stick to the sink; ST_ERR only for ERR_NOMEM. */
enum st svg_write(const struct stack_tree *t, const struct svg_options *o, struct sink *out,
                  struct err *e) BASE_MUST_USE;

/* Appends a weight with its thousands grouped, "12,345.5". */
void svg_count(struct strbuf *out, uint64_t weight, unsigned decimals);

#endif
