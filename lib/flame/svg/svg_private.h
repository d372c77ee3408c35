/* Declares the state and the functions that the files drawing the picture share. */
#ifndef STALLKIT_FLAME_SVG_PRIVATE_H
#define STALLKIT_FLAME_SVG_PRIVATE_H

#include "flame/svg/svg.h"

enum {
    SVG_MARGIN = 16, /* pixels left and right of the frames */
    SVG_HEAD = 68    /* pixels above the frames, for title and subtitle */
};

struct svg_run {
    const struct stack_tree *tree;
    const struct svg_options *options;
    struct layout layout;
    struct sink *out;
    struct strbuf line, name, note; /* scratch */
    struct strbuf keys;             /* the legend; empty = there is none */
    uint32_t keys_end;              /* pixels that the legend takes, with a gap after it */
    const char *unit;
    uint64_t total;
    uint32_t width;  /* width of the frames in pixels */
    uint32_t height; /* height of the picture in pixels */
    uint32_t row;    /* height of a frame with the gap below it, in pixels */
    uint32_t font;   /* font size of the names, in 1/100 pixel */
    uint32_t foot;   /* height below the frames, in pixels */
};

/* Appends a share of a total, rounded: "12.34 %", or "under 0.01 %" for a share above 0 that rounds
 * to 0. part <= total, total > 0. */
void svg_add_percent(struct strbuf *out, uint64_t part, uint64_t total);
/* Appends a number of hundredths as "16", "16.5" or "16.25". */
void svg_add_px(struct strbuf *out, uint64_t hundredths);
/* Fills r->keys with the legend. ST_ERR: ERR_NOMEM. */
enum st svg_make_keys(struct svg_run *r, struct err *e) BASE_MUST_USE;
/* Prints one frame with its <title> and the name in it. */
void svg_print_frame(struct svg_run *r, const struct layout_frame *f);

#endif
