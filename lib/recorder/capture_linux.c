/* Capturing a thread's stack with as little disturbance as can be:
 *
 *   1. its CPU clock has not moved since the last sample: it has not run, and its stack is the
 * same;
 *   2. it is blocked in a system call: /proc tells sp and pc, the stack is copied from the outside,
 *      and reading both again shows whether it ran meanwhile. No signal, so no EINTR for a poll,
 *      epoll_wait, select or nanosleep, which SA_RESTART does not restart (signal(7));
 *   3. it runs: a signal handler copies registers and stack (signal_linux.h).
 *
 * The copy is unwound here, on the monitor's own time. */
#include "capture_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "images_linux.h"
#include "loop.h"
#include "modules_linux.h"
#include "proc_linux.h"
#include "signal_linux.h"

enum {
    CACHE_ENTRIES = 4096,
    RED_ZONE = 128,
    RETRIES = 2,
    ANSWER_MS = 20,   /* for a thread that runs */
    STARVED_MS = 250, /* for one that would, if it had a processor */
    STATUS_SIZE = 4096
};

struct capture_linux {
    struct signal_target target;
    pid_t pid;
    clockid_t clock; /* CPU time of the watched thread */
    int signal_number;
    struct proc_file syscall_file, stat_file, status_file, comm_file;
    const struct stallrec_loop *loop;
    struct unwinder *unwinder;
    struct images *images;
    uint64_t sampled_cpu_ns; /* the thread's CPU time at the last good sample */
    bool have_sample;
    struct capture_counts counts;
    struct unwind_frame *frames;
    uint32_t max_frames;
};

static uint64_t cpu_ns_async(clockid_t clock) {
    struct timespec ts;
    if (clock_gettime(clock, &ts) != 0) {
        return UINT64_MAX;
    }
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The CPU-time clock of a thread by its id, as the kernel encodes it (include/linux/posix-timers.h:
 * inverted id, CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED). pthread_getcpuclockid gives the same, but must
 * not be called once the thread is gone. */
static clockid_t thread_clock(pid_t tid) {
    return (clockid_t)(~(unsigned)tid << 3 | 6);
}

/* --- copies -------------------------------------------------------------------------------------
 */

struct copy {
    struct cfi_registers regs;
    struct cfi_stack stack;
    uint64_t pause_ns;
};

static bool read_syscall_async(const struct capture_linux *c, struct proc_syscall *call) {
    char text[256];
    size_t size = proc_file_read_async(&c->syscall_file, text, sizeof text);
    return proc_parse_syscall_async(text, size, call);
}

/* The main thread's stack is there as long as the process is; another's may go with its thread. */
static bool copy_outside_async(const struct capture_linux *c, uint8_t *to, uint64_t from,
                               uint64_t size) {
    if (c->target.tid == c->pid) {
        stack_copy_async(to, from, size);
        return true;
    }
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
    return process_vm_readv(c->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static bool same_call_async(const struct proc_syscall *a, const struct proc_syscall *b) {
    return a->number == b->number && a->sp == b->sp && a->pc == b->pc &&
           memcmp(a->args, b->args, sizeof a->args) == 0;
}

/* A blocked thread, from the outside. False if it runs or did meanwhile, or /proc does not tell. */
static bool copy_blocked_async(struct capture_linux *c, struct copy *copy) {
    struct proc_syscall before, after;
    size_t room = 0;
    uint8_t *buffer = signal_linux_buffer_async(&room);
    uint64_t cpu = cpu_ns_async(c->clock);
    if (!buffer || cpu == UINT64_MAX || !read_syscall_async(c, &before) ||
        before.sp < c->target.lo + RED_ZONE + 8 || before.sp >= c->target.hi) {
        return false;
    }
    uint64_t lo = (before.sp - RED_ZONE) & ~UINT64_C(7), size = c->target.hi - lo;
    size = size < room ? size : room;
    if (!copy_outside_async(c, buffer, lo, size) || !read_syscall_async(c, &after) ||
        !same_call_async(&before, &after) || cpu_ns_async(c->clock) != cpu) {
        return false;
    }
    copy->regs = (struct cfi_registers){.known = 1u << CFI_PC | 1u << CFI_RSP};
    copy->regs.value[CFI_PC] = before.pc;
    copy->regs.value[CFI_RSP] = before.sp;
    copy->stack = (struct cfi_stack){buffer, lo, lo + size};
    copy->pause_ns = 0;
    return true;
}

static bool takes_no_signal_async(const struct capture_linux *c) {
    char text[STATUS_SIZE];
    size_t size = proc_file_read_async(&c->status_file, text, sizeof text);
    return proc_parse_blocked_async(text, size, c->signal_number);
}

static bool copy_running_async(struct capture_linux *c, struct copy *copy) {
    struct signal_copy from;
    if (!signal_linux_send_async(&c->target)) {
        return false;
    }
    if (!signal_linux_await_async(ANSWER_MS) && !takes_no_signal_async(c)) {
        signal_linux_await_async(STARVED_MS);
    }
    if (!signal_linux_finish_async(&from) || from.stack.hi == from.stack.lo) {
        return false;
    }
    copy->regs = from.regs;
    copy->stack = from.stack;
    copy->pause_ns = from.pause_ns;
    return true;
}

/* A thread goes back and forth between running and waiting, so a way that fails makes the other one
 * worth another try. */
static bool copy_thread_async(struct capture_linux *c, struct copy *copy) {
    for (unsigned i = 0; i < RETRIES; i++) {
        if (copy_blocked_async(c, copy)) {
            c->counts.blocked++;
            return true;
        }
        if (i == 0 && copy_running_async(c, copy)) {
            c->counts.signalled++;
            return true;
        }
    }
    c->counts.unavailable++;
    proc_file_check_async(&c->syscall_file);
    return false;
}

/* --- rec_capture --------------------------------------------------------------------------------
 */

static void fill_stack_async(struct capture_linux *c, const struct copy *copy,
                             struct rec_stack *out) {
    uint32_t max = out->cap < c->max_frames ? out->cap : c->max_frames;
    enum unwind_end end;
    size_t n = unwind_async(c->unwinder, &copy->regs, &copy->stack, c->frames, max, &end);
    out->count = (uint32_t)n;
    out->exact_count = 0;
    for (uint32_t i = 0; i < n; i++) {
        out->frames[i] = c->frames[i].pc;
        out->starts[i] = c->frames[i].function;
        if (c->frames[i].exact && out->exact_count < REC_EXACT_MAX) {
            out->exact[out->exact_count++] = i;
        }
    }
    if (out->exact_count == 1) {
        out->exact_count = 0; /* only frame 0, which is what none means */
    }
    out->truncated = end != UNWIND_OUTERMOST;
    out->idle = false;
    out->pause_ns = copy->pause_ns < UINT32_MAX ? (uint32_t)copy->pause_ns : UINT32_MAX;
}

static enum rec_sample sample_async(void *ctx, bool may_repeat, struct rec_stack *out) {
    struct capture_linux *c = ctx;
    uint64_t cpu = cpu_ns_async(c->clock);
    if (may_repeat && c->have_sample && cpu != UINT64_MAX && cpu == c->sampled_cpu_ns) {
        c->counts.reused++;
        return REC_SAMPLE_SAME;
    }
    struct copy copy;
    if (out->cap == 0 || !copy_thread_async(c, &copy)) {
        c->have_sample = false;
        return REC_SAMPLE_NONE;
    }
    fill_stack_async(c, &copy, out);
    images_refresh_async(c->images); /* while the images of its frames are surely loaded */
    c->sampled_cpu_ns = cpu;
    c->have_sample = true;
    return REC_SAMPLE_OK;
}

static bool still_busy_async(void *ctx, uint64_t since_ns) {
    const struct capture_linux *c = ctx;
    return rec_loop_still_busy(c->loop, since_ns);
}

static bool image_at_async(void *ctx, uint64_t address, struct rec_image *out) {
    const struct capture_linux *c = ctx;
    return images_find_async(c->images, address, out);
}

static bool main_thread_async(void *ctx, struct rec_thread *out) {
    const struct capture_linux *c = ctx;
    char stat[256];
    out->id = c->target.tid;
    out->main = true;
    out->cpu_ns = cpu_ns_async(c->clock);
    out->state =
        proc_parse_state_async(stat, proc_file_read_async(&c->stat_file, stat, sizeof stat));
    size_t n = proc_file_read_async(&c->comm_file, out->name, sizeof out->name - 1);
    out->name[n > 0 && out->name[n - 1] == '\n' ? n - 1 : n] = '\0';
    out->waits_for = (struct rec_wait){.owner = -1};
    return true;
}

static void cpu_async(void *ctx, struct rec_cpu *out) {
    const struct capture_linux *c = ctx;
    out->process_ns = cpu_ns_async(CLOCK_PROCESS_CPUTIME_ID);
    out->main_ns = cpu_ns_async(c->clock);
    out->monitor_ns = cpu_ns_async(CLOCK_THREAD_CPUTIME_ID);
}

static int64_t wall_ms_async(void *ctx) {
    struct timespec ts = {0};
    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Ids need to differ, not to be secret: a system whose entropy is not ready gets them from clocks.
 */
static void random_async(void *ctx, uint8_t *out, size_t size) {
    const struct capture_linux *c = ctx;
    if (getrandom(out, size, GRND_NONBLOCK) == (ssize_t)size) {
        return;
    }
    uint64_t x = stallrec_clock_ns() ^ (uint64_t)wall_ms_async(NULL) << 20 ^ (uint64_t)c->pid << 48;
    for (size_t i = 0; i < size; i++) { /* splitmix64 */
        uint64_t z = x += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        out[i] = (uint8_t)(z >> 56);
    }
}

struct rec_capture capture_linux_table(struct capture_linux *c) {
    return (struct rec_capture){
        .ctx = c,
        .sample = sample_async,
        .still_busy = still_busy_async,
        .image_at = image_at_async,
        .main_thread = main_thread_async,
        .cpu = cpu_async,
        .wall_ms = wall_ms_async,
        .random = random_async,
    };
}

struct capture_counts capture_linux_counts(const struct capture_linux *c) {
    return c->counts;
}

/* --- start and end ------------------------------------------------------------------------------
 */

static bool find_stack(struct signal_target *target) {
    pthread_attr_t attr;
    void *base = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) != 0) {
        return false;
    }
    bool ok = pthread_attr_getstack(&attr, &base, &size) == 0;
    pthread_attr_destroy(&attr);
    target->lo = (uint64_t)(uintptr_t)base;
    target->hi = target->lo + size;
    return ok;
}

enum stallrec_error capture_linux_new(struct capture_linux **out, int signal_number,
                                      uint32_t max_frames, const struct stallrec_loop *loop) {
    struct capture_linux *c = calloc(1, sizeof *c);
    if (!c) {
        return STALLREC_ERR_MEMORY;
    }
    enum stallrec_error st = STALLREC_ERR_MEMORY;
    struct unwind_modules modules = modules_linux();
    c->target.tid = gettid();
    c->pid = getpid();
    c->clock = thread_clock(c->target.tid);
    c->signal_number = signal_number ? signal_number : SIGURG;
    c->loop = loop;
    c->max_frames = max_frames;
    proc_file_open(&c->syscall_file, c->target.tid, "syscall");
    proc_file_open(&c->stat_file, c->target.tid, "stat");
    proc_file_open(&c->status_file, c->target.tid, "status");
    proc_file_open(&c->comm_file, c->target.tid, "comm");
    c->frames = calloc(max_frames, sizeof *c->frames);
    c->unwinder = unwinder_new(&modules, CACHE_ENTRIES);
    c->images = images_new();
    if (!c->frames || !c->unwinder || !c->images) {
        goto out;
    }
    st = STALLREC_ERR_UNSUPPORTED;
    if (!find_stack(&c->target) || !signal_linux_install(c->signal_number)) {
        goto out;
    }
    *out = c;
    st = STALLREC_OK;
out:
    if (st != STALLREC_OK) {
        capture_linux_free(c);
    }
    return st;
}

void capture_linux_free(struct capture_linux *c) {
    if (!c) {
        return;
    }
    proc_file_close(&c->syscall_file);
    proc_file_close(&c->stat_file);
    proc_file_close(&c->status_file);
    proc_file_close(&c->comm_file);
    images_free(c->images);
    unwinder_free(c->unwinder);
    free(c->frames);
    free(c);
}
