/* Finds the owner of the lock for which a thread is blocked. */
#ifndef STALLREC_LOCKOWNER_LINUX_H
#define STALLREC_LOCKOWNER_LINUX_H

#include <sys/types.h>

#include "core/capture.h"
#include "linux/proc_linux.h"

/* The layouts of the C library's private structs that a trial confirmed, since they are not
 * guaranteed. All false: only owners of mutexes with priority inheritance, whose layout the kernel
 * defines, are reported. */
struct lock_layout {
    bool mutex;          /* pthread_mutex_t contains its owner */
    bool rwlock;         /* pthread_rwlock_t holds the id of the writer that owns it */
    bool self;           /* a thread's descriptor holds the descriptor's address */
    bool join;           /* the descriptor holds the thread's id, at tid_offset */
    uint32_t tid_offset; /* offset of the id in the descriptor, in bytes */
};

/* Sets *out by a trial: locks a mutex and a rwlock of its own, and looks for the caller's thread id
 * in them and in the caller's thread descriptor, the C library's struct at pthread_self(). */
void lock_layout_probe(struct lock_layout *out);

/* Returns what the thread `waiter` of the process `pid` waits for while it is blocked in `call`:
 *
 *     mutex     with its owner: normal, recursive, error-checking, adaptive, robust, PI
 *     rwlock    with the writer that holds it
 *     thread    that it joins
 *
 * and kind REC_WAIT_NONE, owner -1 for anything else, such as a condition variable, a semaphore, a
 * rwlock that readers hold, or a lock whose owner is gone. The answer is that of the moment. It may
 * be called on any thread. */
struct rec_wait lock_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                const struct proc_syscall *call);

#endif
