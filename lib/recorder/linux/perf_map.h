/* Reads /tmp/perf-PID.map, the text in which a JIT compiler names its code for perf(1): a line
 * "START SIZE NAME" for each function, START and SIZE in hexadecimal. Source: Linux,
 * tools/perf/Documentation/jit-interface.txt. The text is untrusted. */
#ifndef STALLREC_PERF_MAP_H
#define STALLREC_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "linux/code_text.h"

enum { PERF_MAP_LINE = 2048 /* a longer line is cut */ };

struct perf_map {
    struct rec_code_name *names; /* sorted by address */
    uint32_t count;
    struct code_text *text;
    size_t held; /* number of bytes in `line`, which is not complete yet */
    char line[PERF_MAP_LINE];
};

/* Begins to read a map for names[0 .. count), which is sorted by address. names and text are
 * borrowed. */
void perf_map_begin_async(struct perf_map *map, struct rec_code_name *names, uint32_t count,
                          struct code_text *text);
/* Reads the map's next bytes, and names the addresses that its lines cover. Of several functions
 * at one address the last counts, as code is replaced. */
void perf_map_feed_async(struct perf_map *map, const char *bytes, size_t size);
/* Ends the map, and reads its last line, which may lack its newline. */
void perf_map_end_async(struct perf_map *map);

/* Returns the index of the first of names[] at or above `address`; count if there is none. A
 * return address counts as the address before it. */
uint32_t perf_map_first_async(const struct rec_code_name *names, uint32_t count, uint64_t address);

#endif
