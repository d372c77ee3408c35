/* Shortens a name to the width of its frame. */
#ifndef STALLKIT_FLAME_LABEL_H
#define STALLKIT_FLAME_LABEL_H

#include <stddef.h>

#include "base/strbuf.h"

/* Appends a name as XML text (escape.h), at most `cells` character cells wide; nothing if `cells`
 * is 0 or less than `least`. The most specific part of a name is at its end, so that a name which
 * is too long loses other parts, in this order, and an ellipsis stands for the lost part:
 *
 *  std::vector<int>::push_back(int const&)  whole
 *  …::push_back(int const&)      scopes, from the left
 *  …push_back(…)         what is between its parentheses
 *  …push_back
 *  push_…ck          the middle of its last part
 *
 * The picture's script does the same when it is zoomed or resized. */
void label_add(struct strbuf *out, const char *name, size_t len, size_t cells, size_t least);

#endif
