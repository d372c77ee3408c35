/* Reads jit-PID.dump, the file in which a JIT compiler writes its code and lines for perf
 * inject(1). Source: Linux, tools/perf/Documentation/jitdump-specification.txt, version 1. The
 * file's content is untrusted. */
#ifndef STALLREC_JITDUMP_H
#define STALLREC_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/code_text.h"

/* Reads up to `size` bytes at `offset` of the file; returns the number of bytes, 0 at the end and
 * on failure. */
typedef size_t jitdump_read_fn(void *arg, uint64_t offset, void *to, size_t size);

/* Sets the names in names[], which is sorted by address, from the file's functions. Moved code
 * counts at its new address, and of several functions at one address the last counts. Reads the
 * head and the names of each record once, of at most `records` records. False: the file is no
 * jitdump file of version 1 in this processor's byte order. */
bool jitdump_name_async(jitdump_read_fn *read_async, void *arg, uint64_t records,
                        struct rec_code_name *names, uint32_t count, struct code_text *text);

#endif
