/* What stallrec says at the end of a program that it recorded. */
#ifndef STALLKIT_CMD_RECORDER_SUMMARY_H
#define STALLKIT_CMD_RECORDER_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/preload/preload.h"

/* Counts over all processes that were recorded; times in ms. */
struct recorder_sums {
    uint64_t stalls, dumps, lost;
    uint64_t wall_ms, watched_ms;
    uint64_t unwatched_ms[PRELOAD_UNWATCHED];
    uint32_t loops;                      /* processes in which an event loop was found */
    uint32_t loopless;                   /* the others */
    const struct preload_process *first; /* with a loop; NULL: none has */
    const struct preload_process *main;  /* the program itself; NULL: it never waited */
};

/* How the program ended. */
struct recorder_ending {
    bool ran;
    bool killed; /* by a signal */
    int pid;
    int64_t began_ms;            /* Unix time */
    uint64_t began_ns, ended_ns; /* of CLOCK_MONOTONIC */
};

/* Adds up what the processes told. One that died told it some time before: the program's own end is
 * known. The report is borrowed. */
void recorder_sum(const struct preload_report *report, const struct recorder_ending *end,
                  struct recorder_sums *out);

/* Says it in one line. name: of the program; directory: of the dumps; stall_ms: of the shortest
 * stall that is looked for, 0 = none is. quiet: only that nothing could be found. */
void recorder_say(const struct recorder_sums *sums, const char *name, const char *directory,
                  uint64_t stall_ms, bool quiet);

#endif
