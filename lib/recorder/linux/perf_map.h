/* The text that a program with a compiler of its own writes for perf(1): /tmp/perf-PID.map, a line
 * "START SIZE NAME" for each function, START and SIZE in hexadecimal. Source: Linux,
 * tools/perf/Documentation/jit-interface.txt. Anybody may have written anything. */
#ifndef STALLREC_PERF_MAP_H
#define STALLREC_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "linux/code_text.h"

enum { PERF_MAP_LINE = 2048 /* longer lines lose their end */ };

struct perf_map {
    struct rec_code_name *names; /* by address */
    uint32_t count;
    struct code_text *text;
    size_t held; /* bytes of a line that is not complete */
    char line[PERF_MAP_LINE];
};

/* Begins a text, for these names, which are sorted by address. Both are borrowed. */
void perf_map_begin_async(struct perf_map *map, struct rec_code_name *names, uint32_t count,
                          struct code_text *text);
/* The next bytes. Of several functions at one place the last counts: code is replaced. */
void perf_map_feed_async(struct perf_map *map, const char *bytes, size_t size);
/* The text is over, with or without an end of line. */
void perf_map_end_async(struct perf_map *map);

/* The first of the names that lies at or behind `address`; count if none does. A return address
 * lies one byte before itself. */
uint32_t perf_map_first_async(const struct rec_code_name *names, uint32_t count, uint64_t address);

#endif
