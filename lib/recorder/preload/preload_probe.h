/* What a filter of system calls (seccomp(2)) does to the recorder: its calls, tried in a child,
 * which a filter may end. */
#ifndef STALLREC_PRELOAD_PROBE_H
#define STALLREC_PRELOAD_PROBE_H

#include <stdbool.h>

/* The system call that puts a filter up: prctl or seccomp. */
struct probe_filter {
    long number;
    unsigned long arg[5];
};

/* Names of the first call that was killed; NULL: none was. */
struct probe_verdict {
    const char *hook; /* of the calls that the watched thread makes while the recorder runs */
    const char *any;  /* of all that a recorder makes, from its start to its end */
};

/* Tries the calls that the recorder makes, with the filter put up before them in the child; NULL:
 * under those that the calling thread has. A signal of the kernel's that ends the child, or of the
 * program's own handler of SIGSYS, counts as a kill; an error does not. The child is no child to
 * the program: no SIGCHLD, no wait(2) finds it. It runs none of the program's fork handlers. False:
 * the kernel refuses the filter, or no child could be made: nothing is known. errno is kept. Any
 * thread; no lock, no malloc. Of the watched thread only, whose verdict is kept. */
bool preload_probe(const struct probe_filter *filter, struct probe_verdict *out);

/* The name of a system call of the recorder's that a filter of the watched thread kills, tried now
 * if it has not been; NULL: none does. On that thread, before the recorder starts. */
const char *preload_killed_call(void);
/* May the watched thread make all calls of the recorder's, as far as was tried? */
bool preload_may_end(void);

#endif
