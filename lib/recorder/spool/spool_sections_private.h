/* Declares the sections of a slot's body for their writer and their reader. */
#ifndef STALLREC_SPOOL_SECTIONS_PRIVATE_H
#define STALLREC_SPOOL_SECTIONS_PRIVATE_H

#include "spool/spool_format.h"

enum { REC_LOOP_AT_MAX = 256 };

/* Tags of sections. A section is u8 tag, u32 length, content; of two sections with one tag the
 * later one counts. */
enum rec_section {
    REC_SECTION_DUMP = 1, /* the first section, which occurs once */
    REC_SECTION_SAMPLES,
    REC_SECTION_IMAGES,
    REC_SECTION_THREADS,
    REC_SECTION_NAMES
};

#endif
