/* Finds out which of the recorder's system calls a filter (seccomp(2)) kills, by trying them in a
 * child. */
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
 * nothing is known, because the kernel refuses the filter or no child could be made. errno is
 * kept. It may be called on any thread, and takes no lock and no malloc. The verdict is stored as
 * the watched thread's, so the filter must be one of that thread's. */
bool preload_probe(const struct probe_filter *filter, struct probe_verdict *out);

/* Returns the name of a system call of the recorder that a filter of the watched thread kills,
 * which is tried now unless it was before; NULL: none is killed. It is called on that thread,
 * before the recorder starts. */
const char *preload_killed_call(void);
/* May the watched thread make all system calls of the recorder, as far as they were tried? */
bool preload_may_end(void);

#endif
