/* Finds out whether a filter (seccomp(2)) kills one of the recorder's system calls, by trying them
 * in a child process. */
#ifndef STALLREC_PRELOAD_PROBE_H
#define STALLREC_PRELOAD_PROBE_H

#include <stdbool.h>

/* The system call, prctl or seccomp, that installs a filter, and its arguments. */
struct probe_filter {
    long number;
    unsigned long arg[5];
};

/* Names of the first system call that the filter killed in each of two sets of calls; NULL: it
 * killed none of the set. */
struct probe_verdict {
    const char *hook; /* first killed call of the watched thread while the recorder runs */
    const char *any;  /* first killed call of a recorder, from its start to its end */
};

/* Tries the recorder's system calls in a child in which *filter is installed; NULL: under the
 * filters that the calling thread has already. A call at which the kernel, or the program's own
 * handler of SIGSYS, ends the child counts as killed; a call that fails does not. The program does
 * not notice the child: there is no SIGCHLD, no wait(2) finds it, no fork handler runs. False:
 * nothing is known, because the kernel refuses the filter, or no child or no memory could be had.
 * errno is kept. It may be called on any thread, and takes no lock and no malloc. `any` of the
 * first verdict that has one is stored for the whole process. */
bool preload_probe(const struct probe_filter *filter, struct probe_verdict *out);

/* Returns the name of a system call of the recorder that a filter kills, as stored by
 * preload_probe(); NULL: none is known. The filter may be one of another thread, or one that was
 * tried but not installed. The first call tries the calls, if preload_probe() has not tried any
 * before and the calling thread is under a filter. It is called before the recorder starts, and
 * before each further thread is watched. errno is not kept. */
const char *preload_killed_call(void);
/* Is no system call of the recorder known to be killed by a filter? */
bool preload_may_end(void);

#endif
