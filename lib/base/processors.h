/* Processors that a thread may run on: Linux's sched_getaffinity(2) and sched_setaffinity(2), which
 * glibc hides behind _GNU_SOURCE. Elsewhere nothing is known of them. */
#ifndef STALLKIT_BASE_PROCESSORS_H
#define STALLKIT_BASE_PROCESSORS_H

#include <stdbool.h>
#include <stddef.h>

enum { PROCESSORS_MAX = 4096 };

/* A set of them, by their numbers. */
struct processors {
    size_t bytes; /* of the mask; 0 = unknown */
    unsigned long mask[PROCESSORS_MAX / (8 * sizeof(unsigned long))];
};

/* Those that the calling thread may use: unlike sysconf(3) this respects taskset and the limits of
 * containers. */
struct processors processors_allowed(void);
unsigned processors_count(const struct processors *set);
/* The one that the calling thread runs on; PROCESSORS_MAX: unknown. */
unsigned processors_here(void);
/* Takes one out. False: it is not there, or the only one; nothing is changed. */
bool processors_remove(struct processors *set, unsigned processor);
/* Confines the calling thread to them. False: the system refuses. */
bool processors_use(const struct processors *set);

#endif
