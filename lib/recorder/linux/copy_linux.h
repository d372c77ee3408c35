/* Registers and stack of one thread of this process, copied with as little disturbance as possible,
 * as capture_linux.c describes. All of this runs on the monitor thread only, because there is one
 * buffer, that of the signal handler. */
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
    clockid_t clock;   /* copy_thread_clock_async of the thread */
    int signal_number; /* 0 = none may be sent */
    struct proc_file syscall_file, status_file;
};

struct copy {
    struct cfi_registers regs;
    struct cfi_stack stack; /* valid until the next copy of any thread */
    uint64_t pause_ns;      /* ns for which the thread was held up */
};

/* Returns the CPU-time clock of a thread, by its id; the clock may be read after the thread has
 * ended. */
clockid_t copy_thread_clock_async(pid_t tid);
/* Returns the CPU time in ns of a thread's clock; UINT64_MAX if the thread is gone. */
uint64_t copy_cpu_ns_async(clockid_t clock);

/* Reads the system call in which the thread is blocked. False: the thread runs, or /proc cannot be
 * read. */
bool copy_read_call_async(const struct copy_source *s, struct proc_syscall *call);

/* Copies a blocked thread from outside; *call becomes the system call in which it is blocked.
 * False: the thread is gone, runs or ran meanwhile, /proc or the stack cannot be read, or a handler
 * that hangs has the buffer. */
bool copy_blocked_async(const struct copy_source *s, struct copy *copy, struct proc_syscall *call);

/* Does the thread run on a processor? True if its CPU clock has moved since an earlier reading,
 * cpu_ns. False if not, if cpu_ns is UINT64_MAX (there is none), or if the thread is gone. */
bool copy_is_running_async(const struct copy_source *s, uint64_t cpu_ns);

/* Copies a running thread by a signal. runs: the result of copy_is_running_async. Waits at most
 * answer_ms until the thread accepts the signal, then answer_ms for the signal handler, and
 * starved_ms more if the thread accepts the signal but has no processor. False: the handler did not
 * answer, is no longer the recorder's, or could not read the stack; no signal may be sent; the
 * thread is not known to run and may be blocked in a call; or it is gone, is guarded
 * (enum guard_state), blocks the signal, waits for signals, or may be in a handler on an alternate
 * stack without room for another one. */
bool copy_running_async(const struct copy_source *s, bool runs, uint32_t answer_ms,
                        uint32_t starved_ms, struct copy *copy);

/* Sets *out to the n frames of a stack walk that ended by `end`. out's arrays are the caller's,
 * with room for n. */
void copy_fill_async(const struct unwind_frame *frames, size_t n, enum unwind_end end,
                     struct rec_stack *out);

struct copy_unwinder {
    struct unwinder *unwinder;
    struct images *images;
    struct own_code own;
    struct python_linux *python; /* NULL: Python's frames are not read */
    struct unwind_frame *frames; /* [max_frames] */
    uint32_t max_frames;
};

/* Copies the thread that `arg` identifies; false: it cannot be copied. held: module loading is
 * blocked during the call, and the thread may be one that waits for it. */
typedef bool copy_take_fn(void *arg, bool held, struct copy *copy);

enum {
    COPY_HELD_ANSWER_MS = 5
}; /* ms that copy_running_async waits for an answer while module loading is blocked */

/* Copies the thread `tid` into *copy and unwinds the copy, by the modules that were loaded when it
 * was made. False: the thread could not be copied, or modules came or went during each of six
 * attempts. out->frames, starts (NULL = not wanted) and cap are the caller's; the other members of
 * *out are written on true only. */
bool copy_stack_async(const struct copy_unwinder *u, pid_t tid, copy_take_fn *take_async, void *arg,
                      struct copy *copy, struct rec_stack *out);

#endif
