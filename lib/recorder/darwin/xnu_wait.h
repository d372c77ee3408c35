/* Finds the lock for which a thread is blocked in a system call of XNU, and the lock's owner.
 *
 * The saved registers of a blocked thread are those with which it entered the kernel, so they hold
 * the call's number and arguments. Neither is guaranteed, so an owner counts only if it is a thread
 * of the process, which the caller checks, and anything unexpected gives no answer. Sources: XNU's
 * bsd/kern/syscalls.master, bsd/sys/ulock.h and bsd/kern/sys_ulock.c; libplatform's
 * os/lock_private.h; libpthread's pthread_mutex.c and pthread_cancelable.c. */
#ifndef STALLREC_XNU_WAIT_H
#define STALLREC_XNU_WAIT_H

#include "core/capture.h"
#include "darwin/memory_read.h"

struct xnu_call {
    uint64_t number;  /* system call number: arm64: x16; x86-64: rax */
    uint64_t args[4]; /* arguments: arm64: x0 … x3; x86-64: rdi, rsi, rdx, r10 */
};

struct xnu_wait {
    enum rec_wait_kind kind; /* REC_WAIT_NONE: no wait for a lock or a thread was recognised */
    uint64_t address;        /* the lock's address; 0 for REC_WAIT_THREAD */
    uint32_t
        owner_port; /* name of the owner's Mach port in this process; 0 = it is not known by port */
    uint64_t owner_id; /* system-wide thread id of the owner; 0 = it is not known by id */
};

/* Returns the lock for which a call waits, and its owner. The owner of an os_unfair_lock, and of
 * the waits that are built on it (for a thread's end, and on some systems for pthread mutexes), is
 * known by the port that the lock holds now; the owner of other pthread mutexes by the id that the
 * waiter gave to the kernel. */
struct xnu_wait xnu_wait_async(const struct memory *memory, const struct xnu_call *call);

#endif
