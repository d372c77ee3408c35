/* The library that stallrec(1) preloads: it watches a program's waits for events, finds those that
 * are its event loop, and records the main thread through them.
 *
 * The recorder starts when the loop has been found, so that programs without one get no thread. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "linux/capture_linux.h"
#include "monitor.h"
#include "preload/preload_private.h"
#include "loop/adapter_wait.h"
#include "loop/loop_sites.h"
#include "linux/place_linux.h"
#include "linux/signal_linux.h"
#include "stallrec.h"

#define INTERPOSED __attribute__((visibility("default")))

#define EXIT_NS UINT64_C(2000000000) /* how long the program's exit waits */

enum {
    MAIN_STACK_MAX = 128 << 20,
    /* Earlier than in an app: someone who looks for a stall wants to know who holds the lock, at
       the price of a signal to running threads. */
    THREADS_AFTER_MS = 1000
};

/* The real functions. Any thread may be the first to look them up: atomic, and poll last, so that
 * who finds it finds the others. */
static struct {
    _Atomic(int (*)(struct pollfd *, nfds_t, int)) poll;
    _Atomic(int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *)) ppoll;
    _Atomic(int (*)(int, struct epoll_event *, int, int)) epoll_wait;
    _Atomic(int (*)(int, struct epoll_event *, int, int, const sigset_t *)) epoll_pwait;
    _Atomic(int (*)(int, struct epoll_event *, int, const struct timespec *,
                    const sigset_t *)) epoll_pwait2;
    _Atomic(int (*)(int, fd_set *, fd_set *, fd_set *, struct timeval *)) select;
    _Atomic(int (*)(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
                    const sigset_t *)) pselect;
    _Atomic(int (*)(struct pollfd *, nfds_t, int, size_t)) poll_chk;
    _Atomic(int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *,
                    size_t)) ppoll_chk;
    _Atomic(int (*)(const stack_t *, stack_t *)) sigaltstack;
} real;

/* The interposed functions have no context argument, so their state is global. Only the main thread
 * touches it after the constructor. */
static struct {
    atomic_bool on; /* false: pass everything through */
    pthread_t main;
    uint64_t stack_top;
    struct sites sites;
    struct stallrec *rec;
    struct stallrec_loop *loop;
    uint64_t first_wait_ns, first_wait_depth; /* at the shallowest depth so far */
    struct preload_config config;
    char loop_at[PRELOAD_TEXT];
    char program[PRELOAD_PATH];
} state;

/* May run before the constructor: constructors of other libraries may wait. */
static void resolve(void) {
    preload_resolve("sigaltstack", &real.sigaltstack);
    preload_resolve("ppoll", &real.ppoll);
    preload_resolve("epoll_wait", &real.epoll_wait);
    preload_resolve("epoll_pwait", &real.epoll_pwait);
    preload_resolve("epoll_pwait2", &real.epoll_pwait2);
    preload_resolve("select", &real.select);
    preload_resolve("pselect", &real.pselect);
    preload_resolve("__poll_chk", &real.poll_chk);
    preload_resolve("__ppoll_chk", &real.ppoll_chk);
    preload_resolve("poll", &real.poll);
}

/* ---- what was recorded ---- */

static void on_stall(void *user, const struct stallrec_stall *stall) {
    (void)user, (void)stall;
    __atomic_fetch_add(&state.config.report->stalls, 1, __ATOMIC_RELAXED);
}

static void on_written(void *user, const char *path) {
    (void)user, (void)path;
    __atomic_fetch_add(&state.config.report->dumps, 1, __ATOMIC_RELAXED);
}

static void preload_on_lost(void *user, const char *path, enum stallrec_error why) {
    (void)user, (void)path, (void)why;
    __atomic_fetch_add(&state.config.report->lost, 1, __ATOMIC_RELAXED);
}

static const char *program_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* False: the address is in no module, for instance in code generated at run time. */
static bool find_place(uint64_t address, struct code_place *place, const char **library) {
    if (!place_find_async(address, place)) {
        return false;
    }
    *library = *place->library ? place->library : program_base_name(state.program);
    return true;
}

/* "libuv.so.1+0x1f30 (uv__io_poll)" */
static void name_site(uint64_t address) {
    struct code_place place;
    const char *library;
    if (!find_place(address, &place, &library)) {
        snprintf(state.loop_at, sizeof state.loop_at, "0x%llx", (unsigned long long)address);
        return;
    }
    snprintf(state.loop_at, sizeof state.loop_at, "%.120s+0x%llx%s%.100s%s", library,
             (unsigned long long)place.offset, *place.symbol ? " (" : "", place.symbol,
             *place.symbol ? ")" : "");
}

/* Sets the values of --context. The command has checked them, but one slot may be given twice. */
static void set_context(void) {
    for (const char *pair = state.config.context; *pair; pair += strlen(pair) + 1) {
        char key[STALLREC_CONTEXT_KEY];
        size_t size = strcspn(pair, "=");
        if (size < sizeof key && pair[size] == '=') {
            memcpy(key, pair, size);
            key[size] = '\0';
            stallrec_context_set(state.rec, key, pair + size + 1);
        }
    }
}

/* Was a detector asked for that tells something before the loop is known, or without one? One that
 * the preset has is no reason to give each program a thread: unshare(2) and setns(2) refuse those
 * that have more than one. */
static bool wants_start(const struct preload_config *config) {
    return (config->detectors & (STALLREC_DETECT_LAUNCH | STALLREC_DETECT_CPU)) != 0;
}

static void start_recorder(void) {
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    if (*state.config.preset) {
        stallrec_config_preset(&config, state.config.preset);
    }
    config.directory = state.config.directory;
    if (strcmp(config.preset, "default") == 0) { /* the others are as published */
        config.threads_after_ms = THREADS_AFTER_MS;
    }
    if (state.config.threshold_ms > 0) {
        config.threshold_ms = state.config.threshold_ms;
        if (config.first_sample_ms > config.threshold_ms / 2) {
            config.first_sample_ms = config.threshold_ms / 2; /* some samples before it */
        }
    }
    if (state.config.sample_ms > 0) {
        config.sample_ms = state.config.sample_ms;
    }
    if (state.config.ring > 0) {
        config.ring = state.config.ring;
    }
    if (state.config.check_ms > 0) {
        config.check_ms = state.config.check_ms;
    }
    /* A launch that is examined once the loop has been found is over by then. */
    config.detectors &= ~(uint32_t)STALLREC_DETECT_LAUNCH;
    if (state.config.detectors != 0) {
        config.detectors = state.config.detectors;
    }
    if (state.config.cpu_limit_permille > 0) {
        config.cpu_limit_permille = state.config.cpu_limit_permille;
    }
    config.trace_path = *state.config.trace ? state.config.trace : NULL;
    /* The user asked for the recording, so all dumps are kept and none is uploaded. */
    config.user_share_ppm = 0;
    config.upload_per_day = 0;
    config.keep_days = state.config.keep_days;
    config.keep_bytes = state.config.keep_bytes;
    config.keep_files = state.config.keep_files;
    config.callbacks.stall_begin = on_stall;
    config.callbacks.dump_written = on_written;
    config.callbacks.dump_lost = preload_on_lost;
    enum stallrec_error st = stallrec_start(&state.rec, &config);
    if (st != STALLREC_OK) {
        atomic_store(&state.on, false);
        state.config.report->error = (int32_t)st;
        return;
    }
    monitor_report_trace(state.rec, &state.config.report->trace_failed);
    set_context();
}

/* Called when the first loop site was found. */
static void watch_loop(uint64_t address) {
    if (!state.rec) {
        start_recorder();
    }
    if (!state.rec) {
        return;
    }
    if (state.first_wait_ns != 0) {
        stallrec_launch(state.rec, STALLREC_LAUNCH_DONE, state.first_wait_ns);
    }
    name_site(address);
    monitor_name_loop(state.rec, state.loop_at);
    state.loop = stallrec_main_loop(state.rec);
    if (__atomic_fetch_add(&state.config.report->loops, 1, __ATOMIC_RELAXED) == 0) {
        memcpy(state.config.report->loop_at, state.loop_at, sizeof state.loop_at);
    }
}

/* ---- waits ---- */

/* Decides whether a wait is the loop's, and then tells the hooks. errno is kept. */
static bool begin_wait(const void *return_address, const void *frame, bool blocking) {
    if (!atomic_load_explicit(&state.on, memory_order_relaxed) ||
        !pthread_equal(pthread_self(), state.main)) {
        return false;
    }
    uint64_t depth = (uint64_t)(uintptr_t)frame;
    if (depth >= state.stack_top || state.stack_top - depth > MAIN_STACK_MAX) {
        depth = 0; /* on a coroutine's stack: deeper than all others */
    }
    int saved_errno = errno;
    uint64_t address = (uint64_t)(uintptr_t)return_address;
    enum site_verdict verdict = sites_judge(&state.sites, address, depth, blocking);
    if (blocking && !state.loop && depth == state.sites.shallowest &&
        depth != state.first_wait_depth) {
        state.first_wait_depth = depth; /* the loop's first wait, if it will be the loop */
        state.first_wait_ns = stallrec_clock_ns();
    }
    if (verdict == SITE_ACCEPTED && !state.loop) {
        watch_loop(address);
    }
    bool is_loop = verdict != SITE_NO && state.loop;
    if (is_loop && blocking) {
        stallrec_loop_sleep(state.loop);
    } else if (is_loop) {
        stallrec_loop_turn(state.loop);
    }
    errno = saved_errno;
    return is_loop && blocking;
}

static void end_wait(void) {
    int saved_errno = errno;
    stallrec_loop_wake(state.loop);
    errno = saved_errno;
}

static bool waits(const struct timespec *timeout) {
    return !timeout || timeout->tv_sec != 0 || timeout->tv_nsec != 0;
}

static inline __attribute__((always_inline)) void waits_resolve_once(void) {
    rec_wait_saves_frame_pointer();
    if (!real.poll) {
        resolve();
    }
}

/* --- the interposed functions --------------------------------------------------------------------
 *
 * A wait that is not the loop's is passed on as a tail call, so that this library is no frame of
 * the stacks that are recorded in it. A wait for no descriptor at all is a sleep. */

INTERPOSED int poll(struct pollfd *fds, nfds_t n, int timeout) {
    waits_resolve_once();
    if (n == 0 || !begin_wait(__builtin_return_address(0), __builtin_dwarf_cfa(), timeout != 0)) {
        return real.poll(fds, n, timeout);
    }
    int result = real.poll(fds, n, timeout);
    end_wait();
    return result;
}

INTERPOSED int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                     const sigset_t *mask) {
    waits_resolve_once();
    if (n == 0 || !begin_wait(__builtin_return_address(0), __builtin_dwarf_cfa(), waits(timeout))) {
        return real.ppoll(fds, n, timeout, mask);
    }
    int result = real.ppoll(fds, n, timeout, mask);
    end_wait();
    return result;
}

INTERPOSED int epoll_wait(int fd, struct epoll_event *events, int max, int timeout) {
    waits_resolve_once();
    if (!begin_wait(__builtin_return_address(0), __builtin_dwarf_cfa(), timeout != 0)) {
        return real.epoll_wait(fd, events, max, timeout);
    }
    int result = real.epoll_wait(fd, events, max, timeout);
    end_wait();
    return result;
}

INTERPOSED int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout,
                           const sigset_t *mask) {
    waits_resolve_once();
    if (!begin_wait(__builtin_return_address(0), __builtin_dwarf_cfa(), timeout != 0)) {
        return real.epoll_pwait(fd, events, max, timeout, mask);
    }
    int result = real.epoll_pwait(fd, events, max, timeout, mask);
    end_wait();
    return result;
}

INTERPOSED int epoll_pwait2(int fd, struct epoll_event *events, int max,
                            const struct timespec *timeout, const sigset_t *mask) {
    waits_resolve_once();
    if (!real.epoll_pwait2) {
        errno = ENOSYS; /* a libc before 2.35 */
        return -1;
    }
    if (!begin_wait(__builtin_return_address(0), __builtin_dwarf_cfa(), waits(timeout))) {
        return real.epoll_pwait2(fd, events, max, timeout, mask);
    }
    int result = real.epoll_pwait2(fd, events, max, timeout, mask);
    end_wait();
    return result;
}

INTERPOSED int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout) {
    waits_resolve_once();
    if (n <= 0 || !begin_wait(__builtin_return_address(0), __builtin_dwarf_cfa(),
                              !timeout || timeout->tv_sec != 0 || timeout->tv_usec != 0)) {
        return real.select(n, in, out, except, timeout);
    }
    int result = real.select(n, in, out, except, timeout);
    end_wait();
    return result;
}

INTERPOSED int pselect(int n, fd_set *in, fd_set *out, fd_set *except,
                       const struct timespec *timeout, const sigset_t *mask) {
    waits_resolve_once();
    if (n <= 0 || !begin_wait(__builtin_return_address(0), __builtin_dwarf_cfa(), waits(timeout))) {
        return real.pselect(n, in, out, except, timeout, mask);
    }
    int result = real.pselect(n, in, out, except, timeout, mask);
    end_wait();
    return result;
}

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
INTERPOSED int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room) {
    waits_resolve_once();
    if (n == 0 || !begin_wait(__builtin_return_address(0), __builtin_dwarf_cfa(), timeout != 0)) {
        return real.poll_chk(fds, n, timeout, room);
    }
    int result = real.poll_chk(fds, n, timeout, room);
    end_wait();
    return result;
}

int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                size_t room);
INTERPOSED int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                           const sigset_t *mask, size_t room) {
    waits_resolve_once();
    if (n == 0 || !begin_wait(__builtin_return_address(0), __builtin_dwarf_cfa(), waits(timeout))) {
        return real.ppoll_chk(fds, n, timeout, mask, room);
    }
    int result = real.ppoll_chk(fds, n, timeout, mask, room);
    end_wait();
    return result;
}

/* ---- start and end ---- */

/* Matches LIB (up to ".so", or the whole file name), SYMBOL, or LIB+0xOFFSET as in stall.loop_at.
 */
static bool matches(const char *name, const char *library, const char *symbol, uint64_t offset) {
    size_t size = strlen(name);
    char place[PRELOAD_TEXT];
    snprintf(place, sizeof place, "%.120s+0x%llx", library, (unsigned long long)offset);
    return strcmp(name, library) == 0 || strcmp(name, symbol) == 0 || strcmp(name, place) == 0 ||
           (strncmp(name, library, size) == 0 && strncmp(library + size, ".so", 3) == 0);
}

static bool site_is_named(void *arg, uint64_t address) {
    struct code_place place;
    const char *library;
    (void)arg;
    if (!find_place(address, &place, &library)) {
        return false;
    }
    for (const char *name = state.config.names; *name; name += strlen(name) + 1) {
        if (matches(name, library, place.symbol, place.offset)) {
            return true;
        }
    }
    return false;
}

/* The way in which the calling thread, the process's only one, is watched. */
static void watch_this_thread(uint64_t frame) {
    memset(&state.sites, 0, sizeof state.sites);
    if (*state.config.names) {
        state.sites.named = site_is_named;
    }
    state.rec = NULL; /* a parent's is the parent's */
    state.loop = NULL;
    state.first_wait_ns = state.first_wait_depth = 0;
    state.main = pthread_self();
    state.stack_top = frame + (8 << 20);
    __atomic_fetch_add(&state.config.report->processes, 1, __ATOMIC_RELAXED);
    atomic_store(&state.on, true);
}

/* A small alternate stack has no room for our signal: signal_linux.h. */
INTERPOSED int sigaltstack(const stack_t *stack, stack_t *old) {
    waits_resolve_once();
    if (!stack || !atomic_load(&state.on) || !pthread_equal(pthread_self(), state.main)) {
        return real.sigaltstack(stack, old);
    }
    signal_linux_set_alternate_async(SIGNAL_STACK_UNKNOWN);
    int result = real.sigaltstack(stack, old), error = errno;
    capture_linux_look_at_alternate();
    errno = error;
    return result;
}

/* Treats the child of a fork as a newly started program: it is recorded with --follow, once its own
 * loop has been found. */
static void preload_in_child(void) {
    atomic_store(&state.on, false);
    if (state.config.follow) {
        watch_this_thread((uint64_t)(uintptr_t)__builtin_frame_address(0));
    }
}

__attribute__((constructor)) static void load(void) {
    resolve();
    preload_resolve_exec();
    if (gettid() != getpid() || !preload_read_environment(&state.config)) {
        return;
    }
    ssize_t n = readlink("/proc/self/exe", state.program, sizeof state.program - 1);
    state.program[n > 0 ? n : 0] = '\0';
    pthread_atfork(NULL, NULL, preload_in_child);
    watch_this_thread((uint64_t)(uintptr_t)__builtin_frame_address(0));
    if (wants_start(&state.config)) {
        start_recorder();
    }
}

/* Writes at exit what is still open. Dumps that take too long stay in the spool, for the command.
 */
__attribute__((destructor)) static void unload(void) {
    if (atomic_exchange(&state.on, false) && state.rec) {
        monitor_stop(state.rec, stallrec_clock_ns() + EXIT_NS);
    }
}
