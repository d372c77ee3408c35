/* Registers and stack of one thread of this process, copied with as little disturbance as can be;
 * capture_linux.c says how. Monitor thread only: there is one buffer, the signal's. */
#ifndef STALLREC_COPY_LINUX_H
#define STALLREC_COPY_LINUX_H

#include <time.h>

#include "core/capture.h"
#include "linux/own_code_linux.h"
#include "linux/proc_linux.h"
#include "linux/python_linux.h"
#include "linux/signal_linux.h"
#include "unwind/unwind.h"

struct copy_source {
    struct signal_target target;
    pid_t pid;
    clockid_t clock; /* copy_thread_clock_async of the thread */
    int signal_number;
    struct proc_file syscall_file, status_file;
};

struct copy {
    struct cfi_registers regs;
    struct cfi_stack stack; /* valid until the next copy of any thread */
    uint64_t pause_ns;      /* how long the thread was held up */
};

/* The CPU-time clock of a thread, by its id; it may be read after the thread has ended. */
clockid_t copy_thread_clock_async(pid_t tid);
/* Reads a thread's clock of processor time in ns; UINT64_MAX if the thread is gone. */
uint64_t copy_cpu_ns_async(clockid_t clock);

/* The system call that the thread is blocked in. False if it runs, or /proc does not tell. */
bool copy_read_call_async(const struct copy_source *s, struct proc_syscall *call);

/* Copies a blocked thread from outside; *call is the system call that it is blocked in. False if it
 * runs or did meanwhile, or /proc does not tell. */
bool copy_blocked_async(const struct copy_source *s, struct copy *copy, struct proc_syscall *call);

/* Is the thread on a processor, by its clock, which read cpu_ns a moment ago? False: it may be. */
bool copy_is_running_async(const struct copy_source *s, uint64_t cpu_ns);

/* Copies a running thread by a signal; runs: the result of copy_is_running_async. Waits answer_ms
 * for it, and starved_ms more if it would answer and has no processor. False if it did not answer,
 * is gone, blocks the signal, or may be in a handler on an alternate stack without room for ours.
 */
bool copy_running_async(const struct copy_source *s, bool runs, uint32_t answer_ms,
                        uint32_t starved_ms, struct copy *copy);

/* What a walk of n frames says of a stack. out's arrays are the caller's, with room for n. */
void copy_fill_async(const struct unwind_frame *frames, size_t n, enum unwind_end end,
                     struct rec_stack *out);

struct copy_unwinder {
    struct unwinder *unwinder;
    struct images *images;
    struct own_code own;
    struct python_linux *python; /* NULL: Python's frames are not looked for */
    struct unwind_frame *frames; /* [max_frames] */
    uint32_t max_frames;
};

/* Copies the thread that arg names; false if it cannot be copied. held: module loading is blocked
 * meanwhile, and the thread may be the one that waits for it. */
typedef bool copy_take_fn(void *arg, bool held, struct copy *copy);

enum {
    COPY_HELD_ANSWER_MS = 5
}; /* the time limit for copy_running_async while loading is blocked */

/* The stack of a copy of the thread `tid`, *copy, by the modules that were there when it was made,
 * which are those of the images then. False: there is none. out->frames, starts (NULL: not wanted)
 * and cap are the caller's; the rest is written on true only. */
bool copy_stack_async(const struct copy_unwinder *u, pid_t tid, copy_take_fn *take_async, void *arg,
                      struct copy *copy, struct rec_stack *out);

#endif
