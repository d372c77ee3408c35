/* Splits and joins a function's source place, as frames of folded stacks have it: "parse
 * (json.c:120)". */
#ifndef STALLKIT_FLAME_FRAME_PLACE_H
#define STALLKIT_FLAME_FRAME_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct frame_place {
    const char *file; /* borrowed from the name */
    size_t file_len;
    uint32_t line; /* at least 1 */
};

/* Does a name of *len bytes end with a source place? Then *out is the place, and *len becomes the
 * length of the text before the blank in front of the place. */
bool frame_place_split(const char *name, size_t *len, struct frame_place *out);
/* Appends NAME (FILE:LINE), with FILE cut to the part after its last '/'; only NAME if file or line
 * is missing. */
void frame_place_join(struct strbuf *out, const char *name, const char *file, uint32_t line);

#endif
