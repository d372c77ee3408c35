/* Records processes from outside: one, and with --follow all of its descendants. It runs on one
 * thread. */
#ifndef STALLKIT_CMD_ATTACHED_FAMILY_H
#define STALLKIT_CMD_ATTACHED_FAMILY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct attach;
struct attach_options;
struct attach_problem;
struct attach_totals;
/* Processes of which little was watched. */
struct family_gaps {
    uint32_t loopless; /* number of processes in which no loop was seen */
    uint64_t ms;       /* number of ms for which these processes were recorded, in all */
    uint32_t partly;   /* number of processes with a loop of whose time (looped_ms of struct
                          attach_totals) less than 90 % was watched */
};

struct attached_family;

enum { FAMILY_MAX = 64 }; /* maximum number of processes at a time */

/* Attaches to options->pid. Options are copied; what they point to is borrowed until family_close.
 * False: *problem becomes the reason. */
bool family_open(struct attached_family **out, const struct attach_options *options, bool follows,
                 struct attach_problem *problem);
/* Returns the recording of the process that options->pid named; valid until family_close. */
struct attach *family_first(const struct attached_family *f);
/* Steps all processes and, if the family follows children, searches for them every 100 ms; other
 * processes than the first that have ended are removed, and their totals kept. Returns the time of
 * stallrec_clock_ns by which the next call is due. */
uint64_t family_step(struct attached_family *f);
/* Sets fds to descriptors, one for each living process, that become readable when that process
 * ends, and returns their number. */
uint32_t family_ends(const struct attached_family *f, struct pollfd fds[FAMILY_MAX]);
/* Returns the number of living processes, without the first. */
uint32_t family_living(const struct attached_family *f);
/* Ends the recording of the first process and, if the family follows children, searches for them
 * once more. killed: 1 = a signal ended it, 0 = none did, -1 = unknown. */
void family_finish_first(struct attached_family *f, int killed);
/* Ends the recording of the other processes. It must be called after family_finish_first. */
void family_finish(struct attached_family *f);

/* Adds up the totals of all processes into *out; loop_at is that of the first process with a loop,
 * program that of the first process. *processes: number of recorded processes; *gaps: those of
 * which little was watched. */
void family_totals(const struct attached_family *f, struct attach_totals *out, uint32_t *processes,
                   struct family_gaps *gaps);
/* Returns how many processes could not be recorded; *why becomes the reason for the latest. */
uint32_t family_refused(const struct attached_family *f, struct attach_problem *why);
/* Frees f, which may be NULL. */
void family_close(struct attached_family *f);

#endif
