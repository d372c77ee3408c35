/* Chooses the threads to watch: the main thread, or with --thread those whose names match.
 *
 * A thread finds its own watch, an entry of a table, by a thread-local variable, so that a hook
 * neither searches nor allocates. The recorder starts with the first blocking wait of a watched
 * thread, unless preload_watch_from_start starts it at once, so that programs without such a wait
 * get no monitor thread; other threads are added to the recorder later. */
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "linux/proc_linux.h"
#include "loop/loop.h"
#include "monitor.h"
#include "preload/preload_private.h"
#include "preload/preload_probe.h"
#include "stallrec.h"

/* Longest wait in ns for a start of the recorder, or for the addition of a thread, before the
 * recorder is stopped. */
#define STOP_NS UINT64_C(2000000000)

enum {
    MAIN_STACK = 8 << 20, /* bytes by which the main thread's stack is assumed to reach above a
                             frame of its constructors */
    MAIN_STACK_MAX = 128 << 20,
    NAME_SIZE = 16 /* bytes of a thread's name with its NUL */
};

enum { NOT_FORKED = 1 };

/* State of the recorder in this process. */
enum recorder_state { RECORDER_NONE, RECORDER_STARTS, RECORDER_RUNS, RECORDER_ENDS };

/* State of watching, global because interposed functions have no context argument. */
static struct {
    atomic_bool on; /* false: calls are only passed on */
    pid_t pid;
    uint32_t listed_id; /* the process's id in preload_report.watched */
    atomic_uint *mark;  /* NOT_FORKED in this process, and 0 in a child with a copy of its memory */
    const struct preload_config *config;
    char program[PRELOAD_PATH];
    atomic_int recorder; /* enum recorder_state */
    atomic_uint adding;  /* number of threads that are being added to the recorder */
    struct preload_process *process;
    pthread_once_t once;
    pthread_key_t key; /* its destructor runs when a watched thread ends */
    bool have_key;
} watch = {.once = PTHREAD_ONCE_INIT};

/* The watches of all watched threads. Its unused pages occupy no memory. */
static struct thread_watch table[MONITOR_THREADS];

/* State of the calling thread. The initial-exec model, which a library that is loaded with the
 * program may use, saves the allocation at the first use. */
static __thread struct {
    struct thread_watch *watch;
    uint32_t waits; /* number of blocking waits while the thread was not watched */
    bool left;      /* the thread must never be watched again */
} own __attribute__((tls_model("initial-exec")));

void preload_leave_thread(void) {
    struct thread_watch *w = own.watch;
    own.left = true;
    own.watch = NULL;
    if (w && watch.have_key) {
        pthread_setspecific(watch.key, NULL);
        atomic_store(&w->taken, false);
    }
}

/* ---- the recorder ---- */

/* Does the main thread live? If not, the monitor must end with the last watched thread, as the
 * process ends with its last thread, which would otherwise be the monitor. */
static bool main_thread_lives(void *ctx) {
    char text[1024];
    struct proc_file stat;
    (void)ctx;
    proc_file_open_async(&stat, watch.pid, "stat");
    size_t size = proc_file_read_async(&stat, text, sizeof text);
    proc_file_close_async(&stat);
    return !proc_parse_dead_async(text, size);
}

/* Starts the recorder for a thread; if that fails, no thread is watched. Returns RECORDER_RUNS or
 * RECORDER_NONE. */
static enum recorder_state start_for(struct thread_watch *w) {
    const char *killed = preload_killed_call();
    if (killed || preload_is_aside(watch.config)) {
        atomic_store(&watch.recorder, RECORDER_NONE);
        preload_step_aside(killed);
        return RECORDER_NONE;
    }
    w->first = true;
    watch.process =
        preload_start_recorder(watch.config, watch.program, w->begin_ns,
                               *watch.config->threads ? main_thread_lives : NULL, &w->shared);
    if (!w->shared.loop) {
        atomic_store(&watch.on, false);
        return RECORDER_NONE;
    }
    return RECORDER_RUNS;
}

/* Adds a thread to the recorder, if it runs. Several threads may be added at the same time;
 * watch.adding keeps the recorder from being stopped meanwhile. */
static void add(struct thread_watch *w) {
    atomic_fetch_add(&watch.adding, 1);
    if (atomic_load(&watch.recorder) == RECORDER_RUNS) {
        w->shared.loop = &w->loop;
        w->shared.inbox = &w->inbox;
        rec_inbox_init(&w->inbox);
        if (!preload_add_thread(&w->shared, w->begin_ns)) {
            w->shared.loop = NULL;
        }
    }
    atomic_fetch_sub(&watch.adding, 1);
}

/* Starts recording the calling thread, at a blocking wait or from the start. False: the thread is
 * not recorded, now or for good, and w may then belong to another thread. */
static bool record_thread(struct thread_watch *w) {
    int state = RECORDER_NONE;
    if (w->recording != RECORDING_NONE) {
        return false; /* a signal handler waits while the recording starts */
    }
    bool first = atomic_compare_exchange_strong(&watch.recorder, &state, RECORDER_STARTS);
    if (!first && state != RECORDER_RUNS) {
        return false; /* if the recorder is starting, the next wait tries again */
    }
    w->recording = RECORDING_STARTS;
    if (first) {
        state = (int)start_for(w);
        w->process = watch.process;
        atomic_store(&watch.recorder, state);
    } else {
        w->process = watch.process;
        add(w);
    }
    w->recording = w->shared.loop ? RECORDING_RUNS : RECORDING_NONE;
    if (w->shared.loop) {
        __atomic_fetch_add(&w->process->threads, 1, __ATOMIC_RELAXED);
        return true;
    }
    if (!first) {
        preload_leave_thread();
    }
    return false;
}

/* Claims the recorder for its end, and waits until no thread is being added to it. False: there is
 * no recorder, or its start or the addition of a thread has not ended within STOP_NS. */
static bool claim_recorder(void) {
    uint64_t until = stallrec_clock_ns() + STOP_NS;
    int state = RECORDER_RUNS;
    while (!atomic_compare_exchange_strong(&watch.recorder, &state, RECORDER_ENDS)) {
        if (state != RECORDER_STARTS || stallrec_clock_ns() >= until) {
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        state = RECORDER_RUNS;
    }
    while (atomic_load(&watch.adding) > 0 && stallrec_clock_ns() < until) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return atomic_load(&watch.adding) == 0;
}

/* ---- choosing ---- */

static void on_thread_end(void *arg) {
    struct thread_watch *w = arg;
    own.watch = NULL;
    own.left = true;
    if (!atomic_load(&watch.on) || !w->shared.loop) {
        atomic_store(&w->taken, w->shared.loop != NULL);
        return;
    }
    preload_watch_finish(w);
    atomic_store(&w->shared.ended_ns, stallrec_clock_ns());
    rec_loop_interrupt(stallrec_main_loop(NULL));
}

static void make_end_key(void) {
    watch.have_key = pthread_key_create(&watch.key, on_thread_end) == 0;
}

/* Claims an entry of the table that is free, or was left by a thread that has ended; NULL: there
 * is none. */
static struct thread_watch *claim_entry(void) {
    for (unsigned i = 0; i < MONITOR_THREADS; i++) {
        struct thread_watch *w = &table[i];
        bool expected = false;
        if (atomic_compare_exchange_strong(&w->taken, &expected, true)) {
            return w;
        }
        expected = true; /* `released` is true once the monitor no longer uses the entry of a thread
                            that has ended */
        if (atomic_compare_exchange_strong(&w->shared.released, &expected, false)) {
            return w;
        }
    }
    return NULL;
}

static void find_stack_bounds(struct thread_watch *w) {
    pthread_attr_t attr;
    void *base = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) != 0) {
        return;
    }
    if (pthread_attr_getstack(&attr, &base, &size) == 0) {
        w->stack_top = (uint64_t)(uintptr_t)base + size;
        w->stack_size = size;
    }
    pthread_attr_destroy(&attr);
}

/* Watches the calling thread, whose name matches, from now on. NULL: there is no room, or the
 * thread's end would not be noticed; the thread is then never watched. */
static struct thread_watch *watch_new_thread(void) {
    struct thread_watch *w = claim_entry();
    if (!w) {
        preload_tell_left();
        own.left = true;
        return NULL;
    }
    preload_watch_begin(w, watch.config, watch.program);
    w->stack_top = w->stack_size = 0;
    find_stack_bounds(w);
    bool main = gettid() == watch.pid;
    w->finder.pooled = !main;
    w->begin_ns = main ? preload_begin_ns(watch.config) : stallrec_clock_ns();
    pthread_once(&watch.once, make_end_key);
    if (!watch.have_key || pthread_setspecific(watch.key, w) != 0) {
        atomic_store(&w->taken, false); /* the thread's end would not be noticed */
        own.left = true;
        return NULL;
    }
    own.watch = w;
    return w;
}

/* Watches the calling thread if its name matches; NULL: it is not watched. As a thread may get its
 * name late, the name is read at its blocking waits 1, 2, 4, 8 … */
static struct thread_watch *choose_thread(void) {
    char name[NAME_SIZE] = "";
    int saved_errno = errno;
    uint32_t n = ++own.waits;
    struct thread_watch *w = NULL;
    if (own.left || (n & (n - 1)) != 0 || getpid() != watch.pid) {
        return NULL;
    }
    if (preload_killed_call()) {
        own.left = true;
    } else if (prctl(PR_GET_NAME, name, 0, 0, 0) == 0 &&
               fnmatch(watch.config->threads, name, 0) == 0) {
        w = watch_new_thread();
    }
    errno = saved_errno;
    return w;
}

/* Ends watching in a child that clone(2) made without the C library, so that no handler of
 * pthread_atfork(3) was called. Its recorder must not be started, as such children are often
 * sandboxed before, and a system call of the recorder might end them. */
static void leave_clone(void) {
    const struct preload_config *config = watch.config;
    preload_watch_forked();
    if (config->follow) {
        __atomic_fetch_add(&config->report->cloned, 1, __ATOMIC_RELAXED);
    }
}

struct thread_watch *preload_own_watch(bool begins) {
    if (!atomic_load_explicit(&watch.on, memory_order_relaxed)) {
        return NULL;
    }
    if (atomic_load_explicit(watch.mark, memory_order_relaxed) != NOT_FORKED) {
        leave_clone();
        return NULL;
    }
    struct thread_watch *w = own.watch;
    if (!w && begins && *watch.config->threads != '\0') {
        w = choose_thread();
    }
    if (!w || w->recording == RECORDING_RUNS) {
        return w;
    }
    int saved_errno = errno;
    bool recorded = begins && record_thread(w);
    errno = saved_errno;
    return recorded ? w : NULL;
}

bool preload_watches(void) {
    return atomic_load_explicit(&watch.on, memory_order_relaxed) && own.watch;
}

bool preload_watches_first(void) {
    return preload_watches() && own.watch->first;
}

bool preload_chooses_threads(void) {
    return *watch.config->threads != '\0';
}

bool preload_watches_process(void) {
    return atomic_load(&watch.on) && getpid() == watch.pid;
}

/* ---- begin and end ---- */

static void watch_main_thread(uint64_t frame) {
    struct thread_watch *w = &table[0];
    atomic_store(&w->taken, true);
    preload_watch_begin(w, watch.config, watch.program);
    w->stack_top = frame + MAIN_STACK;
    w->stack_size = MAIN_STACK_MAX;
    w->begin_ns = preload_begin_ns(watch.config);
    own.watch = w;
}

/* Marks this process's memory, so that a child with a copy of it notices that it is a child.
 * Before Linux 4.14 there is no such mark, and the child is taken for this process. */
static void mark_memory(void) {
    static atomic_uint no_mark;
    if (!watch.mark) {
        size_t size = (size_t)sysconf(_SC_PAGESIZE);
        void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map != MAP_FAILED && madvise(map, size, MADV_WIPEONFORK) != 0) {
            munmap(map, size);
            map = MAP_FAILED;
        }
        watch.mark = map == MAP_FAILED ? &no_mark : map;
    }
    atomic_store(watch.mark, NOT_FORKED);
}

/* Returns the process's id as its /proc has it, which is that of an outer namespace where the
 * process is in a namespace of ids without a /proc of its own. */
static uint32_t listed_id(void) {
    char text[16];
    ssize_t size = readlink("/proc/self", text, sizeof text);
    uint32_t id = 0;
    for (ssize_t i = 0; i < size && text[i] >= '0' && text[i] <= '9'; i++) {
        id = id * 10 + (uint32_t)(text[i] - '0');
    }
    return id != 0 ? id : (uint32_t)watch.pid;
}

void preload_watch_process(const struct preload_config *config, const char *program,
                           uint64_t frame) {
    mark_memory();
    watch.config = config;
    snprintf(watch.program, sizeof watch.program, "%s", program);
    watch.process = NULL;
    watch.pid = getpid();
    atomic_store(&watch.recorder, RECORDER_NONE);
    atomic_store(&watch.adding, 0);
    if (*config->threads == '\0') {
        watch_main_thread(frame);
    }
    atomic_store(&watch.on, true);
    watch.listed_id = listed_id();
    preload_mark_watched(config->report, watch.listed_id, true);
}

void preload_watch_replaced(bool replaced) {
    preload_mark_watched(watch.config->report, watch.listed_id, !replaced);
}

void preload_watch_from_start(void) {
    if (own.watch) {
        record_thread(own.watch);
    }
}

bool preload_watch_ends(void) {
    struct thread_watch *mine = preload_own_watch(false);
    if (!atomic_exchange(&watch.on, false)) {
        return false;
    }
    if (mine && mine->shared.loop) {
        preload_watch_finish(mine);
        atomic_store(&mine->shared.ended_ns, stallrec_clock_ns());
    }
    return claim_recorder();
}

void preload_step_aside(const char *call) {
    if (preload_watch_ends()) {
        preload_stop_recorder();
    }
    if (call) {
        preload_tell_aside(watch.config, watch.program, call);
    }
}

/* Forgets all threads, as neither the other threads nor the recorder exist in the child. */
void preload_watch_forked(void) {
    atomic_store(&watch.on, false);
    for (unsigned i = 0; i < MONITOR_THREADS; i++) {
        if (atomic_load(&table[i].taken)) {
            atomic_store(&table[i].taken, false);
            atomic_store(&table[i].shared.released, false);
        }
    }
    own.watch = NULL;
    own.waits = 0;
    own.left = false;
    if (watch.have_key) {
        pthread_setspecific(watch.key, NULL);
    }
}
