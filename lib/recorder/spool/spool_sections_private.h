/* The sections of a slot's body, for the writer and the reader of them. */
#ifndef STALLREC_SPOOL_SECTIONS_PRIVATE_H
#define STALLREC_SPOOL_SECTIONS_PRIVATE_H

#include "spool/spool_format.h"

enum { REC_LOOP_AT_MAX = 256 };

/* u8 tag, u32 length, content. Of two with one tag the later one counts. */
enum rec_section {
    REC_SECTION_DUMP = 1, /* first, once */
    REC_SECTION_SAMPLES,
    REC_SECTION_IMAGES,
    REC_SECTION_THREADS,
    REC_SECTION_NAMES
};

#endif
