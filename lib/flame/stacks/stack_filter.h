/* Copies a tree of stacks, with the stacks cut at a frame or reversed. */
#ifndef STALLKIT_FLAME_STACK_FILTER_H
#define STALLKIT_FLAME_STACK_FILTER_H

#include <stdbool.h>

#include "base/err.h"
#include "flame/stacks/stack_tree.h"

/* The changes of stacks. Zero-initialised = none. */
struct stack_filter {
    const char *base; /* stacks are cut to begin with the outermost frame of this name; those
                         without it stay whole. NULL = nothing is cut */
    bool reverse;     /* the innermost frame comes first */
};

/* Adds the stacks of `in` to `out`, each with the changes of the filter. A frame has a name if it
 * is the frame's text, or that text without module and mark (frame_name.h). Errors are those of
 * stack_tree_add. */
enum st stack_filter_add(struct stack_tree *out, const struct stack_tree *in,
                         const struct stack_filter *filter, struct err *e) BASE_MUST_USE;

#endif
