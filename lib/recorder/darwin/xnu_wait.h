/* What a thread that is blocked in a system call of XNU waits for: a lock, and who holds it.
 *
 * A blocked thread's saved registers are those with which it entered the kernel, so they hold the
 * call's number and arguments. Neither is a contract, so an answer counts only if the owner that it
 * names is a thread of the process (the caller of this checks), and everything that does not look
 * as expected is no answer. Sources: XNU's bsd/kern/syscalls.master, bsd/sys/ulock.h and
 * bsd/kern/sys_ulock.c; libplatform's os/lock_private.h; libpthread's pthread_mutex.c and
 * pthread_cancelable.c. */
#ifndef STALLREC_XNU_WAIT_H
#define STALLREC_XNU_WAIT_H

#include "core/capture.h"
#include "darwin/memory_read.h"

struct xnu_call {
    uint64_t number;  /* arm64: x16; x86-64: rax */
    uint64_t args[4]; /* x0 … x3; rdi, rsi, rdx, r10 */
};

struct xnu_wait {
    enum rec_wait_kind kind; /* REC_WAIT_NONE: for nothing that has an owner */
    uint64_t address;        /* of the lock */
    uint32_t owner_port;     /* the owner's name as a Mach port of this process; 0 = not by port */
    uint64_t owner_id;       /* the owner's system-wide thread id; 0 = not by id */
};

/* os_unfair_lock and what is built on it, by the port that the lock holds now: among that
 * the wait for a thread's end, and pthread mutexes where the system makes them so; other pthread
 * mutexes, by the id that the waiter gave to the kernel. */
struct xnu_wait xnu_wait_async(const struct memory *memory, const struct xnu_call *call);

#endif
