/* What svg.c and svg_frame.c share. */
#ifndef STALLKIT_FLAME_SVG_PRIVATE_H
#define STALLKIT_FLAME_SVG_PRIVATE_H

#include "flame/svg/svg.h"

enum {
    SVG_MARGIN = 16, /* left and right of the frames */
    SVG_HEAD = 68    /* above the frames: title and subtitle */
};

struct svg_run {
    const struct stack_tree *tree;
    const struct svg_options *options;
    struct layout layout;
    struct sink *out;
    struct strbuf line, name, note; /* scratch */
    struct strbuf keys;             /* what the colours mean; empty = nothing to say */
    uint32_t keys_end;              /* pixels that they take, with a gap behind */
    const char *unit;
    uint64_t total;
    uint32_t width;  /* of the frames, in pixels */
    uint32_t height; /* of everything */
    uint32_t row;    /* of a frame and the gap above it */
    uint32_t font;   /* of the names, in 1/100 pixel */
    uint32_t foot;   /* below the frames */
};

/* "12.34 %" of a total, rounded; what rounds to nothing is "under 0.01 %". part <= total. */
void svg_add_percent(struct strbuf *out, uint64_t part, uint64_t total);
/* A number of hundredths, "16", "16.5", "16.25". */
void svg_add_px(struct strbuf *out, uint64_t hundredths);
/* Fills r->keys. */
enum st svg_make_keys(struct svg_run *r, struct err *e) BASE_MUST_USE;
/* One frame, with all that a reader without scripts sees of it. */
void svg_print_frame(struct svg_run *r, const struct layout_frame *f);

#endif
