/* Declares the units of values in other profilers' files, and how these are added to a tree. */
#ifndef STALLKIT_FLAME_VALUE_UNIT_H
#define STALLKIT_FLAME_VALUE_UNIT_H

#include <stddef.h>

/* A unit: a value v is added to a tree as v * factor with this many decimal places; times as
 * milliseconds. */
struct value_unit {
    const char *name;
    unsigned decimals;
    unsigned factor;
    const char *counts; /* unit in the tree: "ms" for times, "samples" or "bytes" */
};

/* Returns the unit of this name in pprof or speedscope ("ns" as well as "nanoseconds"; len bytes,
 * no NUL needed); NULL: the unit is not known. The result is static. */
const struct value_unit *value_unit_find(const char *name, size_t len);

#endif
