/* Limits of one JSON document. A document that exceeds one of them is refused with ERR_LIMIT. */
#ifndef STALLKIT_DUMP_TEXT_LIMITS_H
#define STALLKIT_DUMP_TEXT_LIMITS_H

enum {
    DUMP_TEXT_MAX = 64 * 1024 * 1024, /* bytes of text */
    DUMP_DEPTH_MAX = 2000 /* levels of nesting: a call tree has two levels for each frame */
};

#endif
