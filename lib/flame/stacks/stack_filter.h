/* Makes one tree of stacks from another. */
#ifndef STALLKIT_FLAME_STACK_FILTER_H
#define STALLKIT_FLAME_STACK_FILTER_H

#include <stdbool.h>

#include "base/err.h"
#include "flame/stacks/stack_tree.h"

/* Zero-initialised = change nothing. */
struct stack_filter {
    const char *base; /* stacks begin at the outermost frame of this name; a stack without one is
                         kept whole. NULL = stacks stay whole */
    bool reverse;     /* the innermost frame first */
};

/* Adds the stacks of `in` to `out`, each changed as the filter says. A name is that of a frame if
 * it is its text, or what that is without module and mark (frame_name.h). Errors as
 * stack_tree_add. */
enum st stack_filter_add(struct stack_tree *out, const struct stack_tree *in,
                         const struct stack_filter *filter, struct err *e) BASE_MUST_USE;

#endif
