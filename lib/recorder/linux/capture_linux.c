/* Captures a thread's stack with as little disturbance as possible:
 *
 *   1. If the thread's CPU clock has not moved since the last sample, its stack is still the same.
 *   2. If the clock does not move now, and the thread is blocked in a system call, sp and pc are
 *      read from /proc, the stack is copied from outside, and reading /proc and the clock again
 *      shows whether the thread ran meanwhile. This sends no signal, so no poll, epoll_wait, select
 *      or nanosleep fails with EINTR, which SA_RESTART does not prevent (signal(7)).
 *   3. If the thread runs, a signal handler copies registers and stack (signal_linux.h). A thread
 *      under stallrec(1) may begin to wait before the signal is sent, and is not signalled then
 *      (enum guard_state).
 *
 * The copy is unwound on the monitor thread. */
#include "linux/capture_linux.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "linux/copy_linux.h"
#include "linux/images_linux.h"
#include "linux/jit_names_linux.h"
#include "linux/lockowner_linux.h"
#include "linux/thread_wait_linux.h"
#include "loop/guard.h"
#include "loop/loop.h"
#include "linux/modules_linux.h"
#include "linux/threads_linux.h"
#include "support/wall_clock.h"

enum {
    CACHE_ENTRIES = 4096,
    RETRIES = 2,
    OWN_STACK_MAX = 1 << 30,
    STACK_KNOWN = 8 << 20, /* bytes of a main thread's stack whose limit is not known */
    ANSWER_MS = 20,        /* longest wait for the signal handler of a running thread */
    INNER_PLACES = 8,
    STARVED_MS = 250, /* longest further wait for a runnable thread without a processor */
};

/* State about the process that the captures of all its watched threads share. */
struct capture_process {
    struct copy_unwinder unwinder;
    struct jit_names *jit;
    uid_t owner; /* user who owns the files that the process writes */
    struct lock_layout locks;
};

/* The smallest number of the interpreter's frames in samples of waits at a place that the finder
 * sees. */
struct inner_place {
    uint64_t place; /* 0: the entry is not used */
    uint32_t inner;
};

struct capture_linux {
    struct copy_source source; /* the watched thread */
    struct proc_file stat_file, comm_file;
    char name[REC_NAME_MAX];
    const struct stallrec_loop *loop;
    struct rec_loop_latest *latest;         /* NULL: the loop is not found while it runs */
    bool asleep;                            /* the last sample showed that sleep */
    struct inner_place inner[INNER_PLACES]; /* by a hash of the place */
    struct capture_process *process;        /* &own, or the first capture's */
    struct capture_process own;
    _Atomic uint64_t
        alternate; /* size of the thread's alternate signal stack; not used in the first capture */
    struct threads_linux *others;
    struct copy copy;         /* the last copy of the thread */
    struct proc_syscall call; /* the system call in which the thread was blocked during the last
                                 copy; number -1: none */
    uint64_t cpu_ns;         /* the thread's CPU time at the last reading; UINT64_MAX = not known */
    uint64_t sampled_cpu_ns; /* the thread's CPU time when it was last sampled */
    bool have_sample;
    struct capture_counts counts;
};

/* Copies the thread: from outside if it is blocked, by a signal if it runs. A thread may block or
 * wake up meanwhile, so after one way fails the other is tried. held: module loading is blocked, so
 * the waits are shorter. */
static bool capture_take_async(void *arg, bool held, struct copy *copy) {
    struct capture_linux *c = arg;
    uint32_t answer = held ? COPY_HELD_ANSWER_MS : ANSWER_MS, starved = held ? 0 : STARVED_MS;
    bool runs = copy_is_running_async(&c->source, c->cpu_ns);
    c->cpu_ns = UINT64_MAX;
    c->call.number = -1;
    for (unsigned i = 0; i < RETRIES; i++) {
        if (!(i == 0 && runs) && copy_blocked_async(&c->source, copy, &c->call)) {
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

/* Sets *out to the place of the call in which the thread is blocked, as the finder knows places:
 * that of the caller of the C library's function. frames: its stack, of which `count` are known;
 * without a caller *out is unchanged. */
static void find_blocked_place_async(const struct capture_linux *c,
                                     const struct unwind_frame *frames, uint32_t count,
                                     struct finder_place *out) {
    enum { CALLERS = 8 };
    const struct capture_process *p = c->process;
    struct rec_image image;
    uint64_t load = 0;
    uint32_t at = 0;
    if (count < 2) {
        return;
    }
    while (at < count && at < CALLERS &&
           images_find_async(p->unwinder.images, frames[at].pc, &image) &&
           (at == 0 || image.load == load)) {
        load = image.load;
        at++;
    }
    const struct unwind_frame *caller = &frames[at > 0 && at < count && at < CALLERS ? at : 1];
    out->place = caller->pc;
    if (stack_is_own_async(&c->source.target, caller->sp)) {
        out->depth = caller->cfa > caller->sp ? caller->cfa : caller->sp;
    }
    out->inner = python_linux_depth_async(p->unwinder.python, modules_generation_async(),
                                          c->source.target.tid);
}

/* Returns what the thread does in the call in which it is blocked, if that is none of the waits
 * that the preloaded library reports. In a lock only a thread of a pool idles. */
static enum thread_unseen unseen_async(const struct capture_linux *c) {
    const pid_t pid = c->source.pid, tid = c->source.target.tid;
    enum rec_wait_kind kind = lock_wait_async(&c->process->locks, pid, tid, &c->call).kind;
    if (kind == REC_WAIT_MUTEX || kind == REC_WAIT_RWLOCK) {
        return tid != pid ? THREAD_PARKED : THREAD_BUSY;
    }
    return kind == REC_WAIT_NONE && thread_may_idle_async(pid, &c->call) ? THREAD_SLEEPS
                                                                         : THREAD_BUSY;
}

/* Returns the entry for the interpreter's frames at waits at a place. */
static struct inner_place *inner_entry_async(struct capture_linux *c, uint64_t place) {
    return &c->inner[place / 4 % INNER_PLACES];
}

static void note_inner_async(struct capture_linux *c, const struct finder_place *at) {
    struct inner_place *entry = inner_entry_async(c, at->place);
    if (at->inner != 0 && (entry->place != at->place || at->inner < entry->inner)) {
        *entry = (struct inner_place){at->place, (uint32_t)at->inner};
    }
}

static enum rec_rest rest_async(struct capture_linux *c, uint32_t count) {
    struct finder_wait loop;
    struct finder_place place = {.depth = 0};
    if (!c->latest) { /* the app has said which loop is watched */
        bool input = thread_input_async(c->source.pid, &c->call) != REC_WAIT_NONE;
        return input ? REC_REST_INPUT : REC_REST_NONE;
    }
    bool known = rec_loop_read_latest_async(c->latest, &loop);
    const struct inner_place *inner = inner_entry_async(c, loop.place);
    loop.inner = inner->place == loop.place ? inner->inner : 0;
    bool seen = atomic_load(&c->latest->guard) == GUARD_WAITS;
    enum thread_unseen unseen = !seen && c->call.number >= 0 ? unseen_async(c) : THREAD_BUSY;
    if (seen || unseen != THREAD_BUSY) {
        find_blocked_place_async(c, c->process->unwinder.frames, count, &place);
    }
    if (seen) {
        note_inner_async(c, &place);
    }
    enum rec_rest rest = thread_rest_async(c->source.pid, &c->call, unseen, &place,
                                           known ? &loop : NULL, &c->asleep);
    if (c->asleep) {
        place.room = thread_waits_for_room_async(c->source.pid, &c->call);
        rec_loop_join_sleep_async(&c->latest->asleep, &place, stallrec_clock_ns());
    }
    return rest;
}

static enum rec_sample sample_async(void *ctx, bool may_repeat, struct rec_stack *out) {
    struct capture_linux *c = ctx;
    uint64_t cpu = copy_cpu_ns_async(c->source.clock);
    if (may_repeat && c->have_sample && cpu != UINT64_MAX && cpu == c->sampled_cpu_ns) {
        c->counts.reused++;
        if (c->asleep) {
            rec_loop_continue_sleep_async(&c->latest->asleep, stallrec_clock_ns());
        }
        return REC_SAMPLE_SAME;
    }
    c->cpu_ns = cpu;
    c->sampled_cpu_ns = cpu;
    c->asleep = false;
    c->have_sample = out->cap > 0 && copy_stack_async(&c->process->unwinder, c->source.target.tid,
                                                      capture_take_async, c, &c->copy, out);
    if (c->have_sample) {
        out->rest = rest_async(c, out->count);
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
    return images_find_async(c->process->unwinder.images, address, out);
}

/* ---- images, names and threads ---- */

static bool image_at_async(void *ctx, uint64_t address, struct rec_image *out) {
    const struct capture_linux *c = ctx;
    if (!images_find_async(c->process->unwinder.images, address, out)) {
        return false;
    }
    out->in_app = out->in_app && !python_linux_is_in_async(c->process->unwinder.python, out);
    return true;
}

static void name_code_async(void *ctx, struct rec_code_name *names, uint32_t count) {
    const struct capture_linux *c = ctx;
    python_linux_name_async(c->process->unwinder.python, names, count);
    jit_names_fill_async(c->process->jit, "", c->source.pid, "/proc/self/maps", c->process->owner,
                         names, count);
}

static const char *lack_async(void *ctx) {
    const struct capture_linux *c = ctx;
    return python_linux_lack_async(c->process->unwinder.python);
}

static struct rec_wait main_wait_async(const struct capture_linux *c) {
    struct proc_syscall call = {.number = -1};
    copy_read_call_async(&c->source, &call);
    return thread_wait_async(&c->process->locks, c->source.pid, c->source.target.tid, &call);
}

/* Reads the thread's name, which stays that of the last reading once the thread has ended. */
static void read_name_async(struct capture_linux *c) {
    char name[REC_NAME_MAX];
    size_t n = proc_file_read_async(&c->comm_file, name, sizeof name - 1);
    if (n > 0) {
        name[name[n - 1] == '\n' ? n - 1 : n] = '\0';
        memcpy(c->name, name, sizeof name);
    }
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
    read_name_async(c);
    memcpy(out->name, c->name, sizeof out->name);
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

/* Fills `out` with bytes for ids, which must differ but need not be secret: while the system has no
 * entropy yet, they are derived from clocks. */
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

void capture_linux_compare(struct capture_linux *c, struct rec_loop_latest *latest) {
    c->latest = latest;
    c->source.target.guard = &latest->guard;
}

struct capture_counts capture_linux_counts(const struct capture_linux *c) {
    return c->counts;
}

const struct copy *capture_linux_copy(const struct capture_linux *c) {
    return &c->copy;
}

/* ---- start and end ---- */

/* The GNU C library's start of the main thread's stack, from which pthread_getattr_np(3) derives
 * its upper bound, too. */
extern void *__libc_stack_end __attribute__((weak));

/* Sets the bounds of the main thread's stack to its upper bound and STACK_KNOWN bytes below that,
 * which Linux keeps free of other mappings. They stay 0 on another thread and with another C
 * library. */
static void presume_main_stack(struct signal_target *target) {
    if (gettid() == getpid() && &__libc_stack_end != NULL) {
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        target->hi = ((uint64_t)(uintptr_t)__libc_stack_end & ~(page - 1)) + page;
        target->lo = target->hi - STACK_KNOWN;
    }
}

/* Finds the bounds of the calling thread's stack; they stay 0 if they are not known. For the main
 * thread glibc derives them from /proc/self/maps and the stack limit, and fails where a filter
 * refuses to tell the limit; presume_main_stack then sets them. Without a limit the bounds include
 * all addresses down to the next mapping, where heaps and coroutines' stacks may be mapped
 * later. */
static void capture_find_stack(struct signal_target *target) {
    pthread_attr_t attr;
    void *base = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) != 0) {
        presume_main_stack(target);
        return;
    }
    if (pthread_attr_getstack(&attr, &base, &size) == 0 && size > 0) {
        target->hi = (uint64_t)(uintptr_t)base + size;
        target->lo = target->hi - (size < OWN_STACK_MAX ? size : OWN_STACK_MAX);
    }
    pthread_attr_destroy(&attr);
}

static uint64_t alternate_size(void) {
    stack_t stack;
    if (sigaltstack(NULL, &stack) != 0) {
        return SIGNAL_STACK_UNKNOWN;
    }
    return (stack.ss_flags & SS_DISABLE) != 0 ? 0 : stack.ss_size;
}

void capture_linux_look_at_alternate(void) {
    atomic_store(signal_linux_alternate(), alternate_size());
}

/* Opens the calling thread as the source of copies: ids, clock, /proc files and stack bounds. */
static void open_own_source(struct capture_linux *c, int signal_number) {
    struct copy_source *source = &c->source;
    source->target.tid = gettid();
    source->pid = getpid();
    source->clock = copy_thread_clock_async(source->target.tid);
    source->signal_number = signal_number;
    proc_file_open_async(&source->syscall_file, source->target.tid, "syscall");
    proc_file_open_async(&source->status_file, source->target.tid, "status");
    proc_file_open_async(&c->stat_file, source->target.tid, "stat");
    proc_file_open_async(&c->comm_file, source->target.tid, "comm");
    read_name_async(c);
    capture_find_stack(&source->target);
}

static enum stallrec_error learn_process(struct capture_linux *c, uint32_t max_frames) {
    struct capture_process *p = &c->own;
    struct unwind_modules modules = modules_linux();
    struct python_host host = {c, read_this_process_async, find_symbols_async, find_image_async};
    lock_layout_probe(&p->locks);
    p->unwinder.max_frames = max_frames;
    p->unwinder.frames = calloc(max_frames, sizeof *p->unwinder.frames);
    p->unwinder.unwinder = unwinder_new(&modules, CACHE_ENTRIES);
    p->unwinder.images = images_new();
    p->owner = geteuid();
    p->jit = jit_names_new();
    p->unwinder.python =
        python_linux_new(&host, c->source.target.tid, (uint64_t)(uintptr_t)pthread_self());
    if (!p->unwinder.frames || !p->unwinder.unwinder || !p->unwinder.images || !p->jit ||
        !p->unwinder.python) {
        return STALLREC_ERR_MEMORY;
    }
    own_code_find(&p->unwinder.own, p->unwinder.images);
    return STALLREC_OK;
}

static enum stallrec_error capture_new(struct capture_linux **out,
                                       const struct capture_linux *first, int signal_number,
                                       uint32_t max_frames, const struct stallrec_loop *loop) {
    struct capture_linux *c = calloc(1, sizeof *c);
    if (!c) {
        return STALLREC_ERR_MEMORY;
    }
    c->loop = loop;
    c->process = first ? first->process : &c->own;
    open_own_source(c, signal_number);
    enum stallrec_error st = first ? STALLREC_OK : learn_process(c, max_frames);
    c->others = threads_linux_new(&c->source, &c->process->locks, &c->process->unwinder);
    if (st == STALLREC_OK && !c->others) {
        st = STALLREC_ERR_MEMORY;
    }
    c->source.target.alternate = first ? &c->alternate : signal_linux_alternate();
    atomic_store(c->source.target.alternate, alternate_size());
    if (st == STALLREC_OK && !first && !signal_linux_install(signal_number)) {
        st = STALLREC_ERR_UNSUPPORTED;
    }
    if (st != STALLREC_OK) {
        capture_linux_free(c);
        return st;
    }
    *out = c;
    return STALLREC_OK;
}

enum stallrec_error capture_linux_new(struct capture_linux **out, int signal_number,
                                      uint32_t max_frames, const struct stallrec_loop *loop) {
    return capture_new(out, NULL, signal_number ? signal_number : signal_linux_choose(), max_frames,
                       loop);
}

enum stallrec_error capture_linux_new_beside(struct capture_linux **out,
                                             const struct capture_linux *first,
                                             const struct stallrec_loop *loop) {
    return capture_new(out, first, first->source.signal_number, 0, loop);
}

void capture_linux_free(struct capture_linux *c) {
    if (!c) {
        return;
    }
    proc_file_close_async(&c->source.syscall_file);
    proc_file_close_async(&c->source.status_file);
    proc_file_close_async(&c->stat_file);
    proc_file_close_async(&c->comm_file);
    threads_linux_free(c->others);
    images_free(c->own.unwinder.images);
    jit_names_free(c->own.jit);
    python_linux_free(c->own.unwinder.python);
    unwinder_free(c->own.unwinder.unwinder);
    free(c->own.unwinder.frames);
    free(c);
}
