/* A thread of another process: its state, its processor time, its stack. */
#ifndef STALLREC_REMOTE_THREAD_H
#define STALLREC_REMOTE_THREAD_H

#include "attach/remote_images.h"
#include "core/capture.h"
#include "linux/proc_linux.h"
#include "linux/python_linux.h"
#include "unwind/unwind.h"

enum { REMOTE_STACK_MAX = 256 * 1024 }; /* the most bytes of a stack that are copied */

/* State for unwinding the threads of a process, one thread at a time. */
struct remote_unwinder {
    const struct remote_process *process; /* borrowed */
    struct remote_images *images;
    struct unwinder *unwinder;
    struct unwind_frame *frames; /* [max_frames] frames of one stack */
    uint32_t max_frames;
    uint8_t *stack; /* [REMOTE_STACK_MAX] the last copied stack */
    struct python_linux *python;
    bool same_ids; /* the process has the same id in its own pid namespace as here */
};

/* Initialises an unwinder; `process` is borrowed until remote_unwinder_release. False: out of
 * memory. */
bool remote_unwinder_init(struct remote_unwinder *u, const struct remote_process *process,
                          uint32_t max_frames);
void remote_unwinder_release(struct remote_unwinder *u);

/* Unwinds a stack of the thread `own_tid` (struct remote_thread) into out; out->frames, starts
 * (NULL: not wanted) and cap are the caller's. */
void remote_unwind(struct remote_unwinder *u, pid_t own_tid, const struct cfi_registers *regs,
                   const struct cfi_stack *stack, struct rec_stack *out);
/* A caller on a stack. */
struct remote_call {
    uint64_t address; /* the caller's return address */
    uint64_t sp;      /* the stack pointer at `address` */
    uint64_t entry;   /* the stack pointer before the call of that caller itself; `sp`: not known */
    uint64_t function; /* the function that it called: its first byte or, where that is not known,
                          an address within it */
};

/* Finds the caller of the function that `regs` are in. beyond: that function is one of the C
 * library, and of its next seven callers the first one in another image is found, or else the
 * direct caller. False: the caller cannot be found. */
bool remote_caller(struct remote_unwinder *u, const struct cfi_registers *regs,
                   const struct cfi_stack *stack, bool beyond, struct remote_call *out);

struct remote_thread {
    const struct remote_process *process; /* borrowed */
    pid_t tid,
        own_tid; /* the thread's id in this process's namespace, and in that of its own process */
    int syscall_fd, schedstat_fd, stat_fd, comm_fd, status_fd; /* -1: the file cannot be read */
};

/* Returns the thread's id in the innermost pid namespace that it is in; tid if that is not
 * known. */
pid_t remote_own_tid(const struct remote_process *process, pid_t tid);

/* Opens the thread's files of /proc. False: the thread is gone, or /proc does not show it
 * (errno). */
bool remote_thread_open(struct remote_thread *t, const struct remote_process *process, pid_t tid);
void remote_thread_close(struct remote_thread *t);

/* Reads the system call in which the thread is blocked. False: the thread runs, or cannot be
 * read. */
bool remote_thread_call(const struct remote_thread *t, struct proc_syscall *call);
/* Returns the thread's processor time in ns; UINT64_MAX: it is not known. The kernel updates it at
 * each tick while the thread runs, and when the thread stops running. */
uint64_t remote_thread_cpu_ns(const struct remote_thread *t);
/* Returns how often the thread went to sleep; UINT64_MAX: it is not known. */
uint64_t remote_thread_sleeps(const struct remote_thread *t);
/* Returns a number that usually changes when the thread's process runs another program; 0: it is
 * not known. */
uint64_t remote_thread_program(const struct remote_thread *t);
/* Is the thread stopped, by a signal or by a debugger? */
bool remote_thread_stopped(const struct remote_thread *t);
/* Has the thread ended? */
bool remote_thread_ended(const struct remote_thread *t);
/* Fills in id, main, name, state and processor time, and sets waits_for to no object; out->stack is
 * not changed. */
void remote_thread_describe(const struct remote_thread *t, struct rec_thread *out);

/* Copies the stack of a blocked thread into u->stack without disturbing the thread. `sleep` has
 * the registers with which the thread last went to sleep (NULL: not known); they are used if they
 * belong to the call in which it is blocked, which *call becomes. False: the thread runs, ran
 * during the copy, or cannot be read; *call is then not set. */
bool remote_thread_blocked(struct remote_unwinder *u, const struct remote_thread *t,
                           const struct cfi_registers *sleep, struct proc_syscall *call,
                           struct cfi_registers *regs, struct cfi_stack *stack);

#endif
