/* Computes the places of a tree's frames in a picture: nested intervals, in units of the tree's
 * weights. A frame spans [x, x + w). Its children stand at its left end without gaps, in
 * stack_node_order; the space at its right end is its self weight. Children that are too narrow to
 * draw are merged into one frame, called a rest, behind the other children, so that the widths of
 * the children and the self weight always add up to w. In an ordered tree children stand at their
 * times, and the self weight is in the gaps between them. There each run of neighbours that are too
 * narrow to draw becomes a rest; gaps inside the run that are as narrow are moved to the end of the
 * rest. */
#ifndef STALLKIT_FLAME_LAYOUT_H
#define STALLKIT_FLAME_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "flame/stacks/stack_tree.h"

enum layout_kind {
    LAYOUT_ROOT, /* the whole picture; has no text */
    LAYOUT_FRAME,
    LAYOUT_NARROW, /* a rest: `merged` siblings narrower than min_weight */
    LAYOUT_DEEPER  /* all that is above one branch at the depth limit; `merged` is how many more
                      frames the stacks of the branch have in common */
};

struct layout_frame {
    const char *text; /* canonical text of one frame, borrowed from the tree */
    uint32_t len;
    uint32_t depth; /* 0 = root */
    enum layout_kind kind;
    uint32_t node; /* tree node that the text belongs to; 0 = the root, or a rest */
    uint32_t merged;
    uint64_t x, w;
    uint64_t self; /* part of w in no child; all of w for LAYOUT_NARROW and LAYOUT_DEEPER */
};

struct layout {
    VEC(struct layout_frame) frames; /* in pre-order: a frame, then all frames above it */
    uint32_t depth;                  /* depth of the deepest frame */
    uint64_t narrow_count;           /* siblings merged into rests */
    uint64_t narrow_weight; /* weight of the siblings merged into rests, each part counted once */
};

/* Lays out a tree. Frames lighter than min_weight are merged (0: none), and what is deeper than
 * max_depth (0 means 1) becomes one LAYOUT_DEEPER on each branch. The layout borrows the tree's
 * texts; an empty tree gives no frames. ST_ERR: ERR_NOMEM. */
enum st layout_make(struct layout *l, const struct stack_tree *t, uint64_t min_weight,
                    uint32_t max_depth, struct err *e) BASE_MUST_USE;
void layout_release(struct layout *l);

#endif
