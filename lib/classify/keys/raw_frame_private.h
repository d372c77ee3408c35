/* The interface between finding a frame and finding out about it. */
#ifndef STALLKIT_CLASSIFY_RAW_FRAME_PRIVATE_H
#define STALLKIT_CLASSIFY_RAW_FRAME_PRIVATE_H

#include "classify/keys/frame_info.h"

/* A frame as the dump has it. */
struct raw_frame {
    const struct image_facts *facts; /* of its image; NULL: it is in none of the dump's */
    const char *image;               /* NULL = none */
    const struct image_id *id;
    enum rule_side side;
    enum rule_os os;
    const struct rule *image_rule; /* the rule that decided on the image as a whole */
    const char *function;          /* NULL = unresolved */
    const char *linkage;           /* its mangled name; NULL = unknown */
    uint64_t offset;               /* of the function, for unresolved ones */
};

/* frame_info.c. Makes the info of a frame that was not met before, the last one of t->infos. NULL:
 * out of memory. */
struct frame_info *raw_frame_info(struct frame_table *t, const struct raw_frame *f);

#endif
