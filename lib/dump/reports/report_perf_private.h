/* Parses the lines of perf script(1). */
#ifndef STALLKIT_DUMP_REPORT_PERF_PRIVATE_H
#define STALLKIT_DUMP_REPORT_PERF_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/json/span_private.h"

/* A sample's first line; its texts point into the line. */
struct perf_sample_line {
    const char *comm, *event;
    size_t comm_len, event_len;
    int64_t pid, tid;  /* pid -1 = not given */
    bool timed;        /* the line gives a time */
    uint64_t time_ns;  /* that time, in nanoseconds */
    struct span frame; /* text behind the event: the only frame of a sample without a stack, or a
                          tracepoint's fields; empty = none */
};
/* Parses a sample's first line; false: it is another line. */
bool perf_sample_line(struct span line, struct perf_sample_line *out);

/* A frame; its texts point into its line. */
struct perf_frame_line {
    uint64_t ip;
    const char *symbol,
        *file; /* symbol_len or file_len is 0 if perf does not know the symbol or file */
    size_t symbol_len, file_len;
    bool inlined; /* the function is inlined into the next frame's, so that its address is not known
                   */
};
/* Parses a frame's line, which may be folded; false: it is another line. */
bool perf_frame_line(struct span line, struct perf_frame_line *out);

/* Is the line only the file of a frame, "(/usr/lib/libc.so.6)"? Mail may fold a frame so. */
bool perf_is_file(struct span line);
/* Is the line a part of a frame? It is if it begins with an address of at least 5 digits, or if it
 * is indented and ends as a frame does. */
bool perf_is_frame_part(struct span line);
/* Does the frame's line, which lost its line feed, hold another frame? */
bool perf_is_joined(const struct perf_frame_line *f);

/* The functions `begins` and `ends` of struct report_format. */
bool perf_begins(struct span text, bool *more);
bool perf_ends(struct span report, struct span line);

#endif
