/* A thread of another process: its state, its processor time, its stack. */
#ifndef STALLREC_REMOTE_THREAD_H
#define STALLREC_REMOTE_THREAD_H

#include "attach/remote_images.h"
#include "core/capture.h"
#include "linux/proc_linux.h"
#include "linux/python_linux.h"
#include "unwind/unwind.h"

enum { REMOTE_STACK_MAX = 256 * 1024 }; /* bytes of a stack that are looked at */

/* What unwinding the threads of a process takes; one thread at a time. */
struct remote_unwinder {
    const struct remote_process *process; /* borrowed */
    struct remote_images *images;
    struct unwinder *unwinder;
    struct unwind_frame *frames; /* [max_frames] */
    uint32_t max_frames;
    uint8_t *stack; /* [REMOTE_STACK_MAX], the last copy */
    struct python_linux *python;
    bool same_ids; /* the process numbers its threads as we do */
};

/* False: no memory. `process` is borrowed until the release. */
bool remote_unwinder_init(struct remote_unwinder *u, const struct remote_process *process,
                          uint32_t max_frames);
void remote_unwinder_release(struct remote_unwinder *u);

/* Walks a stack of the thread `own_tid` (struct remote_thread). out->frames, starts (NULL: not
 * wanted) and cap are the caller's. */
void remote_unwind(struct remote_unwinder *u, pid_t own_tid, const struct cfi_registers *regs,
                   const struct cfi_stack *stack, struct rec_stack *out);
/* The caller of the function that `regs` are in: the return address, and how deep the stack is
 * there. beyond: the first caller in another image than that, which is the C library, if there is
 * one. False: it cannot be told. */
bool remote_caller(struct remote_unwinder *u, const struct cfi_registers *regs,
                   const struct cfi_stack *stack, bool beyond, uint64_t *address, uint64_t *depth);

struct remote_thread {
    const struct remote_process *process; /* borrowed */
    pid_t tid, own_tid;                   /* as we and as the process itself number it */
    int syscall_fd, schedstat_fd, stat_fd, comm_fd, status_fd; /* -1: cannot be read */
};

/* The thread's id as the innermost namespace that it is in numbers it. */
pid_t remote_own_tid(const struct remote_process *process, pid_t tid);

/* False: it is gone, or /proc does not show it (errno). */
bool remote_thread_open(struct remote_thread *t, const struct remote_process *process, pid_t tid);
void remote_thread_close(struct remote_thread *t);

/* The system call that it is blocked in. False: it runs, or cannot be read. */
bool remote_thread_call(const struct remote_thread *t, struct proc_syscall *call);
/* Its processor time; UINT64_MAX: not known. The kernel brings it up to date at each tick. */
uint64_t remote_thread_cpu_ns(const struct remote_thread *t);
/* How often it went to sleep; UINT64_MAX: not known. */
uint64_t remote_thread_sleeps(const struct remote_thread *t);
/* A number that is another one once its process runs another program, as a rule; 0: not known. */
uint64_t remote_thread_program(const struct remote_thread *t);
/* Has it ended? */
bool remote_thread_ended(const struct remote_thread *t);
/* Name, state and processor time; out->stack is left alone. */
void remote_thread_describe(const struct remote_thread *t, struct rec_thread *out);

/* Copies the stack of a blocked thread, into u->stack, without disturbing it. `sleep`: the
 * registers with which it went to sleep last, if they are known (NULL: not); they count if they are
 * of the call that it is in. *call is that call. False: it runs, or did meanwhile. */
bool remote_thread_blocked(struct remote_unwinder *u, const struct remote_thread *t,
                           const struct cfi_registers *sleep, struct proc_syscall *call,
                           struct cfi_registers *regs, struct cfi_stack *stack);

#endif
