/* The file that a program with a compiler of its own writes for perf inject(1), with the code and
 * its lines: jit-PID.dump. Source: Linux, tools/perf/Documentation/jitdump-specification.txt,
 * version 1. Anybody may have written anything. */
#ifndef STALLREC_JITDUMP_H
#define STALLREC_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/code_text.h"

/* Reads up to `size` bytes at `offset`; returns how many, 0 at the end and on failure. */
typedef size_t jitdump_read_fn(void *arg, uint64_t offset, void *to, size_t size);

/* Fills in the names, sorted by address, that the file's functions hold. Code that was moved is
 * where it was moved to. Of several functions at one place the last counts. Reads each record's
 * head and names once, and at most `records` of them. False: it is no such file of this processor's
 * byte order. */
bool jitdump_name_async(jitdump_read_fn *read_async, void *arg, uint64_t records,
                        struct rec_code_name *names, uint32_t count, struct code_text *text);

#endif
