/* Declares the interface between frame_lookup.c, which looks frames up in the cache, and
 * frame_info.c, which makes the infos of new frames. */
#ifndef STALLKIT_CLASSIFY_RAW_FRAME_PRIVATE_H
#define STALLKIT_CLASSIFY_RAW_FRAME_PRIVATE_H

#include "classify/keys/frame_info.h"

/* A frame as the dump has it, before rules are applied. */
struct raw_frame {
    /* Facts about the frame's image; NULL: the frame is in none of the dump's images. */
    const struct image_facts *facts;
    const char *head; /* text that identifies the frames of the image, or, with a package, of the
                         package in the image; NULL if facts is NULL */
    size_t head_len;
    /* Library whose source file the function is in, see names_package; NULL = unknown. It is kept
     * as long as the table if facts is not NULL, else as long as the dump. */
    const char *package;
    size_t package_len;
    const char *image; /* name of the image, or of the source file of code in no image; NULL =
                          unknown */
    const struct image_id *id;
    enum rule_side side;
    enum rule_os os;
    const struct rule *image_rule; /* rule that decided whose code the whole image is */
    const char *function;          /* name of the function; NULL = unresolved */
    const char *linkage;           /* mangled name; NULL = unknown */
    uint64_t offset;               /* offset of an unresolved function in its image */
};

/* Returns the number of the frame's image, with its id or without, which identifies frames in it
 * that have no names. The frame is in an image. */
static inline size_t raw_frame_code(const struct raw_frame *f) {
    return 2 * f->facts->code + (f->id != NULL);
}

/* frame_info.c. Makes the info of a frame that was not met before and appends it to t->infos.
 * NULL: out of memory. */
struct frame_info *raw_frame_info(struct frame_table *t, const struct raw_frame *f);

#endif
