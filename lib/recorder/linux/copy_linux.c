/* Copies a thread's stack: of a blocked thread through /proc, of a running one by a signal. */
#include "linux/copy_linux.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/images_linux.h"
#include "linux/modules_linux.h"

enum {
    STATUS_SIZE = 4096,
    ATTEMPTS = 6,
    BLOCKED_PAUSE_NS = 1000000 /* 1 ms between two checks of a thread that blocks the signal */
};

/* Returns the id of the thread's CPU clock as the kernel encodes it (include/linux/posix-timers.h:
 * inverted id, CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED). pthread_getcpuclockid returns the same, but
 * must not be called once the thread is gone. */
clockid_t copy_thread_clock_async(pid_t tid) {
    return (clockid_t)(~(unsigned)tid << 3 | 6);
}

uint64_t copy_cpu_ns_async(clockid_t clock) {
    struct timespec ts;
    if (clock_gettime(clock, &ts) != 0) {
        return UINT64_MAX;
    }
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

bool copy_read_call_async(const struct copy_source *s, struct proc_syscall *call) {
    char text[256];
    size_t size = proc_file_read_async(&s->syscall_file, text, sizeof text);
    return proc_parse_syscall_async(text, size, call);
}

/* Copies the stack from `from` on; returns the number of bytes, 0 on failure. The main thread's
 * stack stays mapped as long as the process lives; another thread's may be unmapped when it ends,
 * and a coroutine's or a signal handler's at any time. */
static uint64_t copy_outside_async(const struct copy_source *s, uint8_t *to, uint64_t sp,
                                   uint64_t from, uint64_t room) {
    if (!stack_is_own_async(&s->target, sp)) {
        return sp > ARCH_RED_ZONE + 8 ? stack_copy_mapped_async(s->pid, to, from, room) : 0;
    }
    uint64_t size = s->target.hi - from;
    size = size < room ? size : room;
    if (s->target.tid == s->pid) {
        stack_copy_async(to, from, size);
        return size;
    }
    return stack_copy_mapped_async(s->pid, to, from, size);
}

bool copy_blocked_async(const struct copy_source *s, struct copy *copy, struct proc_syscall *call) {
    struct proc_syscall before, after;
    size_t room = 0;
    uint8_t *buffer = signal_linux_buffer_async(&room);
    uint64_t cpu = copy_cpu_ns_async(s->clock);
    if (!buffer || cpu == UINT64_MAX || !copy_read_call_async(s, &before)) {
        return false;
    }
    uint64_t lo = (before.sp - ARCH_RED_ZONE) & ~UINT64_C(7);
    uint64_t size = copy_outside_async(s, buffer, before.sp, lo, room);
    if (size <= ARCH_RED_ZONE || !copy_read_call_async(s, &after) ||
        !proc_same_call_async(&before, &after) || copy_cpu_ns_async(s->clock) != cpu) {
        return false;
    }
    copy->regs = (struct cfi_registers){.known = 0};
    cfi_set_async(&copy->regs, CFI_PC, before.pc);
    cfi_set_async(&copy->regs, CFI_SP, before.sp);
    copy->stack = (struct cfi_stack){buffer, lo, lo + size};
    copy->pause_ns = 0;
    *call = before;
    return true;
}

/* Compares two readings of the thread's CPU clock. This is as reliable as the state in /proc,
 * which may also be out of date when the signal is sent, at a tenth of its cost. */
bool copy_is_running_async(const struct copy_source *s, uint64_t cpu_ns) {
    uint64_t now = copy_cpu_ns_async(s->clock);
    return cpu_ns != UINT64_MAX && now != UINT64_MAX && now != cpu_ns;
}

static bool takes_no_signal_async(const struct copy_source *s) {
    char text[STATUS_SIZE];
    size_t size = proc_file_read_async(&s->status_file, text, sizeof text);
    return proc_parse_blocked_async(text, size, s->signal_number);
}

/* Waits for at most `ms` until the thread does not block the signal, as libc blocks all signals
 * for a moment while it makes a thread. False: the thread blocked it at each look, or its status
 * cannot be read; a signal sent to it would stay pending until sigwait(3) or signalfd(2) gives it
 * to the program. */
static bool await_unblocked_async(const struct copy_source *s, uint32_t ms) {
    /* The pause is a futex wait, as a seccomp filter that lets the monitor sleep allows futexes. */
    const struct timespec pause = {.tv_nsec = BLOCKED_PAUSE_NS};
    uint32_t word = 0;
    for (uint32_t pauses = 0; takes_no_signal_async(s); pauses++) {
        if (pauses == ms) {
            return false;
        }
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word, &pause, NULL, 0);
    }
    return true;
}

/* Is the thread in sigwait(3), which unblocks the signals for which it waits? */
static bool waits_for_signals_async(const struct copy_source *s) {
    struct proc_syscall call;
    return copy_read_call_async(s, &call) && call.number == SYS_rt_sigtimedwait;
}

/* May the thread be blocked in a system call? Only /proc can exclude it. */
static bool may_wait_async(const struct copy_source *s) {
    char text[256];
    struct proc_syscall call;
    size_t size = proc_file_read_async(&s->syscall_file, text, sizeof text);
    return size == 0 || proc_parse_syscall_async(text, size, &call);
}

bool copy_running_async(const struct copy_source *s, bool runs, uint32_t answer_ms,
                        uint32_t starved_ms, struct copy *copy) {
    struct signal_copy from;
    struct signal_target target = s->target;
    char text[STATUS_SIZE];
    if (s->signal_number == 0) {
        return false; /* no thread may be asked */
    }
    if (!runs && may_wait_async(s)) {
        return false; /* a signal would end some calls early */
    }
    size_t size = proc_file_read_async(&s->status_file, text, sizeof text);
    if (!signal_linux_has_room_async(&s->target) && proc_parse_handling_async(text, size)) {
        return false;
    }
    bool blocks = size > 0 && proc_parse_blocked_async(text, size, s->signal_number);
    if ((blocks && !await_unblocked_async(s, answer_ms)) || waits_for_signals_async(s)) {
        return false;
    }
    target.filtered =
        proc_parse_filtered_async(text, size); /* a seccomp filter may be installed at any time */
    if (!signal_linux_send_async(&target)) {
        return false;
    }
    if (!signal_linux_await_async(runs, answer_ms) && starved_ms > 0 && !takes_no_signal_async(s)) {
        signal_linux_await_async(false, starved_ms);
    }
    if (!signal_linux_finish_async(&from) || from.stack.hi == from.stack.lo) {
        return false;
    }
    copy->regs = from.regs;
    copy->stack = from.stack;
    copy->pause_ns = from.pause_ns;
    return true;
}

void copy_fill_async(const struct unwind_frame *frames, size_t n, enum unwind_end end,
                     struct rec_stack *out) {
    out->count = (uint32_t)n;
    out->exact_count = 0;
    for (uint32_t i = 0; i < n; i++) {
        out->frames[i] = frames[i].pc;
        if (out->starts) {
            out->starts[i] = frames[i].function;
        }
        if (frames[i].exact && out->exact_count < REC_EXACT_MAX) {
            out->exact[out->exact_count++] = i;
        }
    }
    if (out->exact_count == 1) {
        out->exact_count = 0; /* 0 already means that only frame 0 is exact */
    }
    out->truncated = end == UNWIND_FULL || end == UNWIND_CUT;
    out->incomplete = end != UNWIND_OUTERMOST;
    out->idle = false;
    out->rest = REC_REST_NONE;
}

struct attempt {
    const struct copy_unwinder *unwinder;
    pid_t tid;
    copy_take_fn *take_async;
    void *arg;
    struct copy *copy;
    struct rec_stack *out;
    uint64_t pause_ns; /* sum of the pauses of all attempts */
    bool held, had;    /* held: module loading is blocked; had: a copy was made */
    bool good;         /* *out has the copy's stack */
};

static void attempt_async(void *arg) {
    struct attempt *a = arg;
    const struct copy_unwinder *u = a->unwinder;
    uint32_t max = a->out->cap < u->max_frames ? a->out->cap : u->max_frames;
    enum unwind_end end;
    uint64_t generation = images_refresh_async(u->images);
    a->had = a->take_async(a->arg, a->held, a->copy);
    if (!a->had) {
        return;
    }
    a->pause_ns += a->copy->pause_ns;
    size_t n = unwind_async(u->unwinder, &a->copy->regs, &a->copy->stack, u->frames, max, &end);
    if (u->python) {
        n = python_linux_merge_async(u->python, generation, a->tid, &a->copy->stack, u->frames, n,
                                     max, &end);
    }
    a->good = modules_generation_async() == generation;
    if (a->good) {
        n = own_code_drop_async(&u->own, u->frames, n);
        copy_fill_async(u->frames, n, end, a->out);
        a->out->pause_ns = a->pause_ns < UINT32_MAX ? (uint32_t)a->pause_ns : UINT32_MAX;
    }
}

/* A copy counts only if no module came or went while it was unwound, since the thread runs on
 * meanwhile, and may have replaced the library of one of its frames, whose unwind rules are then
 * those of other code. At most ATTEMPTS copies are made; every second one blocks loading, for a
 * thread that keeps loading modules. */
bool copy_stack_async(const struct copy_unwinder *u, pid_t tid, copy_take_fn *take_async, void *arg,
                      struct copy *copy, struct rec_stack *out) {
    struct attempt a = {
        .unwinder = u, .tid = tid, .take_async = take_async, .arg = arg, .copy = copy, .out = out};
    for (unsigned i = 0; i < ATTEMPTS && !a.good; i++) {
        a.held = i % 2 == 1;
        if (a.held) {
            modules_hold_async(attempt_async, &a);
        } else {
            attempt_async(&a);
            if (!a.had) {
                break;
            }
        }
    }
    return a.good;
}
