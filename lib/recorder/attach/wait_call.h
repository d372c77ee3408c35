/* The system calls in which an event loop waits. Pure. */
#ifndef STALLREC_WAIT_CALL_H
#define STALLREC_WAIT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wait_on {
    WAIT_ON_EPOLL,     /* an epoll instance */
    WAIT_ON_POLL,      /* an array of struct pollfd */
    WAIT_ON_SELECT,    /* sets of descriptors */
    WAIT_ON_CONDITION, /* a condition variable, by its futex */
    WAIT_ON_SIGNALS
};

enum wait_timeout {
    WAIT_TIMEOUT_MS,    /* the argument is the time in ms, as an int */
    WAIT_TIMEOUT_STRUCT /* it points to a struct timespec or timeval; NULL = for ever */
};

/* A row of the table. */
struct wait_call {
    const char *name; /* without "sys_" */
    int64_t number;   /* on this processor; -1: it has no such call */
    enum wait_on on;
    enum wait_timeout timeout;
    unsigned timeout_arg; /* index of the argument */
    unsigned count_arg;   /* of the count of descriptors; WAIT_NO_ARG: there is none */
};

enum { WAIT_NO_ARG = 6, WAIT_CALLS_MAX = 9 };

/* The i-th row; NULL behind the last. */
const struct wait_call *wait_call_at(size_t i);
/* Finds a system call by its number; NULL: it does not wait. */
const struct wait_call *wait_call_numbered(int64_t number);

/* Reads memory of the thread that waits; false: it cannot be read. */
typedef bool wait_read_fn(void *arg, uint64_t address, void *to, size_t size);

/* Does a call with these arguments wait at all? False with a timeout of 0; a timeout that cannot be
 * read is taken for another one. */
bool wait_call_blocks(const struct wait_call *call, const uint64_t args[6], wait_read_fn *read,
                      void *arg);
/* The filter of the tracepoint sys_enter_NAME that passes what wait_call_is_other does not; NULL:
 * it passes all. */
const char *wait_call_filter(const struct wait_call *call);
/* Is it no wait of a loop: a sleep, for no descriptor, or another use of a futex than a wait for a
 * condition? */
bool wait_call_is_other(const struct wait_call *call, const uint64_t args[6]);

/* The arguments of a call from the record of its tracepoint, syscalls:sys_enter_NAME: a header of 8
 * bytes, the number, then six words, or fewer. Those that are not there are 0. */
void wait_call_arguments(const uint8_t *trace, size_t size, uint64_t args[6]);

#endif
