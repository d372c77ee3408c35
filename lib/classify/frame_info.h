/* The keyer's memory: what is known of each distinct (image, function), and how it is found for a
 * dump's frame. */
#ifndef STALLKIT_CLASSIFY_FRAME_INFO_H
#define STALLKIT_CLASSIFY_FRAME_INFO_H

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/key.h"

struct frame_table {
    const struct rules *rules; /* NULL = raw */
    struct map by_raw;         /* what the dump says -> index into infos */
    struct map by_key;         /* image and function of the key -> index of the canonical info */
    VEC(struct frame_info *) infos;
    struct arena arena;
    struct strbuf raw, image, function; /* scratch */
};

void frame_table_release(struct frame_table *t);
/* The info of a symbolicated location; NULL = out of memory. */
struct frame_info *frame_of_location(struct frame_table *t, const struct dump *d,
                                     const struct dump_location *l);
/* The info of frame i of a stack that has no locations. */
struct frame_info *frame_of_address(struct frame_table *t, const struct dump *d,
                                    const struct dump_stack *s, size_t i);

#endif
