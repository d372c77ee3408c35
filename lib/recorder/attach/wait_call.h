/* The system calls in which an event loop waits, or its thread sleeps. Pure. */
#ifndef STALLREC_WAIT_CALL_H
#define STALLREC_WAIT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wait_on {
    WAIT_ON_EPOLL,     /* an epoll instance */
    WAIT_ON_POLL,      /* an array of struct pollfd */
    WAIT_ON_SELECT,    /* sets of descriptors */
    WAIT_ON_CONDITION, /* a condition variable or semaphore, by its futex */
    WAIT_ON_SIGNALS,
    WAIT_ON_SLEEP
};

enum wait_timeout {
    WAIT_TIMEOUT_MS,    /* the argument is the time in ms, as an int */
    WAIT_TIMEOUT_STRUCT /* the argument points to a struct timespec or timeval; NULL = for ever */
};

/* A row of the table of waiting system calls. */
struct wait_call {
    const char *name; /* name of the call, without "sys_" */
    int64_t number;   /* number of the call on this processor */
    enum wait_on on;
    enum wait_timeout timeout;
    unsigned timeout_arg; /* index of the argument with the timeout */
};

enum { WAIT_CALLS_MAX = 10 };

/* Returns the i-th row of the table; NULL after the last. */
const struct wait_call *wait_call_at(size_t i);
/* Finds the row of a system call by its number; NULL: the call is no wait. */
const struct wait_call *wait_call_numbered(int64_t number);

/* Reads memory of the waiting thread; false: it cannot be read. */
typedef bool wait_read_fn(void *arg, uint64_t address, void *to, size_t size);

/* Does a call with these arguments wait at all? False if its timeout is 0. A timeout that cannot be
 * read counts as not 0. */
bool wait_call_blocks(const struct wait_call *call, const uint64_t args[6], wait_read_fn *read,
                      void *arg);
/* Has the call no timeout? */
bool wait_call_is_endless(const struct wait_call *call, const uint64_t args[6]);
/* Returns the filter of the tracepoint sys_enter_futex that passes only the calls for which
 * wait_call_is_other is false; NULL for any other call than futex(2), which gets no filter. */
const char *wait_call_filter(const struct wait_call *call);
/* Is the call a use of a futex that waits for no condition variable or semaphore? */
bool wait_call_is_other(const struct wait_call *call, const uint64_t args[6]);
/* Does the call wait for nothing but time or a signal: is it a sleep, or a poll or select to which
 * no array or set is given? One whose array or sets hold no descriptor may be that of a loop which
 * has none for now. */
bool wait_call_is_sleep(const struct wait_call *call, const uint64_t args[6]);
/* Is the call, by its number and arguments, a wait for descriptors, as a loop's is? */
bool wait_call_is_loops(int64_t number, const uint64_t args[6]);

/* Reads the arguments of a call from the record of its tracepoint, syscalls:sys_enter_NAME: a
 * header of 8 bytes, the call's number, then up to six words. Missing words become 0. */
void wait_call_arguments(const uint8_t *trace, size_t size, uint64_t args[6]);

#endif
