/* Finds processes that a recorded program started and in which the preloaded library does not
 * watch. */
#ifndef STALLKIT_CMD_UNWATCHED_PROCESSES_H
#define STALLKIT_CMD_UNWATCHED_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct preload_report;

/* Maximum number of processes that are kept; size of a process's name. */
enum { UNWATCHED_MAX = 1024, UNWATCHED_NAME = 32 };

struct unwatched_process {
    pid_t pid;
    /* Times of the first and the latest look that saw the process without a watching library;
     * since_ns 0: no look did, or the library began to watch in time. */
    uint64_t since_ns, seen_ns;
    bool lives;
    char name[UNWATCHED_NAME];
};

/* A program and its descendants. Zeroed at first. */
struct unwatched_processes {
    struct unwatched_process process[UNWATCHED_MAX];
    uint32_t count;
    uint32_t left_out; /* the largest number of processes for which there was no room at a look */
    uint64_t due_ns;   /* time by which the next look is due */
};

/* Looks at the program `root` and all its descendants at now_ns (ns of a monotonic clock), those
 * included whose parents have ended since an earlier look. Looks take at most a hundredth of the
 * time: each sets due_ns by the processor time that the look took. */
void unwatched_look(struct unwatched_processes *u, const struct preload_report *report, pid_t root,
                    uint64_t now_ns);
/* Returns the number of processes that were without a watching library for at least a second,
 * longer than a program that starts needs to load its libraries, and sets *ms to the sum of these
 * times. */
uint32_t unwatched_count(const struct unwatched_processes *u, uint64_t *ms);
/* Returns the number of living processes in which the library watches and no recorder was started,
 * as no wait was seen that starts one. A process whose recorder failed to start does not count.
 * mark: the entry "NAME=VALUE" of their environment that tells this run's from others. A process
 * whose environment cannot be read is left out. 0 if there were more recorders, or failures, than
 * the report has entries for, as it is then not known of which process they were. */
uint32_t unwatched_left(const struct preload_report *report, const char *mark);
/* Prints how many processes unwatched_count returns, their time and the names of the first four in
 * a line that begins with the tool's name, and the number `left_out` in another line; a line is
 * left out if its number is 0. */
void unwatched_say(const struct unwatched_processes *u, const char *tool);

#endif
