/* Which thread holds the lock that a blocked thread waits for. */
#ifndef STALLREC_LOCKOWNER_LINUX_H
#define STALLREC_LOCKOWNER_LINUX_H

#include <sys/types.h>

#include "core/capture.h"
#include "linux/proc_linux.h"

/* The layouts of the C library's private structs that were confirmed by a trial, since they are no
 * contract. All false: only what the kernel defines (priority inheritance) is reported. */
struct lock_layout {
    bool mutex;          /* pthread_mutex_t says who holds it */
    bool rwlock;         /* pthread_rwlock_t says which writer holds it */
    bool self;           /* a thread's descriptor holds its own address */
    bool join;           /* it holds the thread's id … */
    uint32_t tid_offset; /* … here */
};

/* Locks a mutex and a rwlock of its own and looks for the caller's id in them. */
void lock_layout_probe(struct lock_layout *out);

/* What the thread `waiter` of process `pid`, ours, waits for while it is blocked in `call`:
 *
 *     mutex     with its owner: normal, recursive, error-checking, adaptive, robust, PI
 *     rwlock    with the writer that holds it
 *     thread    that it joins
 *
 * and kind REC_WAIT_NONE, owner -1 for anything else, such as a condition variable, a semaphore, a
 * rwlock that readers hold, or a lock whose owner is gone. The answer is of the moment. Any thread.
 */
struct rec_wait lock_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                const struct proc_syscall *call);

#endif
