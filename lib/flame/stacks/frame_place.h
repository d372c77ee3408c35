/* Where a function is in its source, as frames of folded stacks say it: "parse (json.c:120)". */
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

/* Does a name of *len bytes end in a place? Then *len is what stands before it. */
bool frame_place_split(const char *name, size_t *len, struct frame_place *out);
/* Appends NAME (FILE:LINE), of FILE what is behind its last '/'; NAME only without file or line. */
void frame_place_join(struct strbuf *out, const char *name, const char *file, uint32_t line);

#endif
