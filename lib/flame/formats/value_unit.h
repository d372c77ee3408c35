/* The units in which other profilers' files count, and how their values are added to a tree. */
#ifndef STALLKIT_FLAME_VALUE_UNIT_H
#define STALLKIT_FLAME_VALUE_UNIT_H

#include <stddef.h>

/* A value v is added as v * factor with so many decimal places: times as milliseconds. */
struct value_unit {
    const char *name;
    unsigned decimals;
    unsigned factor;
    const char *counts; /* "ms" of any time, "samples" or "bytes" */
};

/* The unit of this name (of pprof or speedscope, "ns" as well as "nanoseconds"; len bytes, no NUL
 * needed); NULL if it is not known. Static. */
const struct value_unit *value_unit_find(const char *name, size_t len);

#endif
