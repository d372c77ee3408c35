/* Capturing a thread's stack with as little disturbance as can be:
 *
 *   1. its CPU clock has not moved since the last sample: it has not run, and its stack is the
 * same;
 *   2. the clock does not move now, and it is blocked in a system call: /proc tells sp and pc, the
 * stack is copied from the outside, and reading both again shows whether it ran meanwhile. No
 * signal, so no EINTR for a poll, epoll_wait, select or nanosleep, which SA_RESTART does not
 * restart (signal(7));
 *   3. it runs: a signal handler copies registers and stack (signal_linux.h).
 *
 * The copy is unwound here, on the monitor's own time. */
#include "linux/capture_linux.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "linux/copy_linux.h"
#include "linux/images_linux.h"
#include "linux/jit_names_linux.h"
#include "linux/lockowner_linux.h"
#include "loop/loop.h"
#include "linux/modules_linux.h"
#include "linux/threads_linux.h"
#include "support/wall_clock.h"

enum {
    CACHE_ENTRIES = 4096,
    RETRIES = 2,
    OWN_STACK_MAX = 1 << 30,
    ANSWER_MS = 20,   /* for a thread that runs */
    STARVED_MS = 250, /* longer wait for a thread that would run if it had a processor */
};

struct capture_linux {
    struct copy_source source; /* the watched thread */
    struct proc_file stat_file, comm_file;
    const struct stallrec_loop *loop;
    struct copy_unwinder unwinder;
    struct threads_linux *others;
    struct jit_names *jit;
    uid_t owner; /* of files that the process writes */
    struct lock_layout locks;
    struct copy copy;        /* the last that was made */
    uint64_t cpu_ns;         /* the thread's CPU time a moment ago; UINT64_MAX = not known */
    uint64_t sampled_cpu_ns; /* at the last good sample */
    bool have_sample;
    struct capture_counts counts;
};

/* A thread alternates between running and waiting, so after one way of copying fails the other is
 * worth a try. */
static bool capture_take_async(void *arg, bool held, struct copy *copy) {
    struct capture_linux *c = arg;
    struct proc_syscall call;
    uint32_t answer = held ? COPY_HELD_ANSWER_MS : ANSWER_MS, starved = held ? 0 : STARVED_MS;
    bool runs = copy_is_running_async(&c->source, c->cpu_ns);
    c->cpu_ns = UINT64_MAX;
    for (unsigned i = 0; i < RETRIES; i++) {
        if (!(i == 0 && runs) && copy_blocked_async(&c->source, copy, &call)) {
            c->counts.blocked++;
            return true;
        }
        if (i == 0 && copy_running_async(&c->source, runs, answer, starved, copy)) {
            c->counts.signalled++;
            return true;
        }
    }
    return false;
}

/* ---- rec_capture ---- */

static enum rec_sample sample_async(void *ctx, bool may_repeat, struct rec_stack *out) {
    struct capture_linux *c = ctx;
    uint64_t cpu = copy_cpu_ns_async(c->source.clock);
    if (may_repeat && c->have_sample && cpu != UINT64_MAX && cpu == c->sampled_cpu_ns) {
        c->counts.reused++;
        return REC_SAMPLE_SAME;
    }
    c->cpu_ns = cpu;
    c->sampled_cpu_ns = cpu;
    c->have_sample = out->cap > 0 && copy_stack_async(&c->unwinder, c->source.target.tid,
                                                      capture_take_async, c, &c->copy, out);
    if (c->have_sample) {
        return REC_SAMPLE_OK;
    }
    c->counts.unavailable++;
    proc_file_check_async(&c->source.syscall_file);
    proc_file_check_async(&c->source.status_file);
    proc_file_check_async(&c->stat_file);
    proc_file_check_async(&c->comm_file);
    return REC_SAMPLE_NONE;
}

static bool still_busy_async(void *ctx, uint64_t since_ns) {
    const struct capture_linux *c = ctx;
    return rec_loop_still_busy(c->loop, since_ns);
}

static uint32_t transitions_async(void *ctx, struct rec_transition out[REC_TRANSITIONS]) {
    const struct capture_linux *c = ctx;
    return rec_loop_transitions(c->loop, out);
}

static const char *mode_async(void *ctx) {
    const struct capture_linux *c = ctx;
    return rec_loop_mode(c->loop);
}

/* ---- for the reader of Python's frames ---- */

static bool read_this_process_async(void *arg, uint64_t address, void *to, size_t size) {
    const struct capture_linux *c = arg;
    return proc_read_memory_async(c->source.pid, address, to, size);
}

static bool find_symbols_async(void *arg, struct dynamic_symbol *symbols, unsigned count) {
    (void)arg;
    return place_symbols_async(symbols, count);
}

static bool find_image_async(void *arg, uint64_t address, struct rec_image *out) {
    const struct capture_linux *c = arg;
    return images_find_async(c->unwinder.images, address, out);
}

/* ---- what is asked ---- */

static bool image_at_async(void *ctx, uint64_t address, struct rec_image *out) {
    const struct capture_linux *c = ctx;
    if (!images_find_async(c->unwinder.images, address, out)) {
        return false;
    }
    out->in_app = out->in_app && !python_linux_is_in_async(c->unwinder.python, out);
    return true;
}

static void name_code_async(void *ctx, struct rec_code_name *names, uint32_t count) {
    const struct capture_linux *c = ctx;
    python_linux_name_async(c->unwinder.python, names, count);
    jit_names_fill_async(c->jit, "", c->source.pid, "/proc/self/maps", c->owner, names, count);
}

static const char *lack_async(void *ctx) {
    const struct capture_linux *c = ctx;
    return python_linux_lack_async(c->unwinder.python);
}

static struct rec_wait main_wait_async(const struct capture_linux *c) {
    struct proc_syscall call = {.number = -1};
    copy_read_call_async(&c->source, &call);
    return lock_wait_async(&c->locks, c->source.pid, c->source.target.tid, &call);
}

static bool main_thread_async(void *ctx, struct rec_thread *out) {
    struct capture_linux *c = ctx;
    char stat[256];
    size_t size = proc_file_read_async(&c->stat_file, stat, sizeof stat);
    c->counts.gone |= proc_parse_dead_async(stat, size);
    out->id = c->source.target.tid;
    out->main = true;
    out->cpu_ns = copy_cpu_ns_async(c->source.clock);
    out->cpu_permille = threads_linux_share_async(c->others, c->source.target.tid);
    out->state = proc_parse_state_async(stat, size);
    size_t n = proc_file_read_async(&c->comm_file, out->name, sizeof out->name - 1);
    out->name[n > 0 && out->name[n - 1] == '\n' ? n - 1 : n] = '\0';
    out->waits_for = main_wait_async(c);
    return true;
}

static uint32_t threads_async(void *ctx, struct rec_thread *out, uint32_t max, uint32_t *left_out) {
    struct capture_linux *c = ctx;
    return threads_linux_capture_async(c->others, main_wait_async(c).owner, out, max, left_out);
}

static bool top_thread_async(void *ctx, struct rec_thread *out) {
    struct capture_linux *c = ctx;
    return threads_linux_top_async(c->others, out);
}

static void cpu_async(void *ctx, struct rec_cpu *out) {
    const struct capture_linux *c = ctx;
    out->process_ns = copy_cpu_ns_async(CLOCK_PROCESS_CPUTIME_ID);
    out->main_ns = copy_cpu_ns_async(c->source.clock);
    out->monitor_ns = copy_cpu_ns_async(CLOCK_THREAD_CPUTIME_ID);
}

/* Ids must differ, not be secret: a system without entropy yet derives them from clocks. */
static void random_async(void *ctx, uint8_t *out, size_t size) {
    const struct capture_linux *c = ctx;
    if (getrandom(out, size, GRND_NONBLOCK) == (ssize_t)size) {
        return;
    }
    uint64_t x = stallrec_clock_ns() ^ (uint64_t)rec_wall_ms_async(NULL) << 20 ^
                 (uint64_t)c->source.pid << 48;
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
        .transitions = transitions_async,
        .mode = mode_async,
        .image_at = image_at_async,
        .name_code = name_code_async,
        .lack = lack_async,
        .main_thread = main_thread_async,
        .threads = threads_async,
        .cpu = cpu_async,
        .top_thread = top_thread_async,
        .wall_ms = rec_wall_ms_async,
        .random = random_async,
    };
}

struct capture_counts capture_linux_counts(const struct capture_linux *c) {
    return c->counts;
}

const struct copy *capture_linux_copy(const struct capture_linux *c) {
    return &c->copy;
}

/* ---- start and end ---- */

/* The calling thread's. Of the main thread's, glibc knows no more than /proc/self/maps and the
 * limit tell: without /proc or a free descriptor nothing, and the bounds stay 0; without a limit,
 * all the space below up to the next mapping, where there may be a heap and a coroutine's stack in
 * it by tomorrow. */
static void capture_find_stack(struct signal_target *target) {
    pthread_attr_t attr;
    void *base = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) != 0) {
        return;
    }
    if (pthread_attr_getstack(&attr, &base, &size) == 0 && size > 0) {
        target->hi = (uint64_t)(uintptr_t)base + size;
        target->lo = target->hi - (size < OWN_STACK_MAX ? size : OWN_STACK_MAX);
    }
    pthread_attr_destroy(&attr);
}

void capture_linux_look_at_alternate(void) {
    stack_t stack;
    uint64_t size = SIGNAL_STACK_UNKNOWN;
    if (sigaltstack(NULL, &stack) == 0) {
        size = (stack.ss_flags & SS_DISABLE) != 0 ? 0 : stack.ss_size;
    }
    signal_linux_set_alternate_async(size);
}

enum stallrec_error capture_linux_new(struct capture_linux **out, int signal_number,
                                      uint32_t max_frames, const struct stallrec_loop *loop) {
    struct capture_linux *c = calloc(1, sizeof *c);
    if (!c) {
        return STALLREC_ERR_MEMORY;
    }
    enum stallrec_error st = STALLREC_ERR_MEMORY;
    struct unwind_modules modules = modules_linux();
    struct copy_source *source = &c->source;
    source->target.tid = gettid();
    source->target.watched = true;
    source->pid = getpid();
    source->clock = copy_thread_clock_async(source->target.tid);
    source->signal_number = signal_number ? signal_number : signal_linux_choose();
    c->loop = loop;
    proc_file_open_async(&source->syscall_file, source->target.tid, "syscall");
    proc_file_open_async(&source->status_file, source->target.tid, "status");
    proc_file_open_async(&c->stat_file, source->target.tid, "stat");
    proc_file_open_async(&c->comm_file, source->target.tid, "comm");
    lock_layout_probe(&c->locks);
    c->unwinder.max_frames = max_frames;
    c->unwinder.frames = calloc(max_frames, sizeof *c->unwinder.frames);
    c->unwinder.unwinder = unwinder_new(&modules, CACHE_ENTRIES);
    c->others = threads_linux_new(source, &c->locks, &c->unwinder);
    c->unwinder.images = images_new();
    c->owner = geteuid();
    c->jit = jit_names_new();
    struct python_host host = {c, read_this_process_async, find_symbols_async, find_image_async};
    c->unwinder.python =
        python_linux_new(&host, source->target.tid, (uint64_t)(uintptr_t)pthread_self());
    if (!c->unwinder.frames || !c->unwinder.unwinder || !c->others || !c->unwinder.images ||
        !c->jit || !c->unwinder.python) {
        goto out;
    }
    own_code_find(&c->unwinder.own, c->unwinder.images);
    st = STALLREC_ERR_UNSUPPORTED;
    capture_find_stack(&source->target);
    capture_linux_look_at_alternate();
    if (!signal_linux_install(source->signal_number)) {
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
    proc_file_close_async(&c->source.syscall_file);
    proc_file_close_async(&c->source.status_file);
    proc_file_close_async(&c->stat_file);
    proc_file_close_async(&c->comm_file);
    images_free(c->unwinder.images);
    threads_linux_free(c->others);
    jit_names_free(c->jit);
    python_linux_free(c->unwinder.python);
    unwinder_free(c->unwinder.unwinder);
    free(c->unwinder.frames);
    free(c);
}
