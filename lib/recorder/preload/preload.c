/* The library that stallrec(1) preloads: it records a program's main thread through its waits.
 *
 * The recorder starts with the first wait that blocks, so that programs without any get no thread.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "linux/capture_linux.h"
#include "linux/signal_linux.h"
#include "monitor.h"
#include "preload/preload_private.h"
#include "stallrec.h"

#define INTERPOSED __attribute__((visibility("default")))

#define EXIT_NS UINT64_C(2000000000) /* how long the program's exit waits */

/* Earlier than in an app: someone who looks for a stall wants to know who holds the lock, at the
 * price of a signal to running threads. */
enum { THREADS_AFTER_MS = 1000 };

_Static_assert((int)PRELOAD_UNWATCHED == (int)REC_UNWATCHED_REASONS, "the same reasons");

static _Atomic(int (*)(const stack_t *, stack_t *)) real_sigaltstack;

/* As that of the waits: the interposed functions have no context argument. */
static struct {
    struct stallrec *rec;
    struct preload_process *process;
    struct preload_process nobody_reads; /* where the report has no room */
    uint64_t stalls, dumps, lost;        /* of the program that this process was before exec */
    struct preload_config config;
    char program[PRELOAD_PATH];
} state;

/* ---- what was recorded ---- */

/* The entry of this process. A program that replaces itself goes on with its own. */
static struct preload_process *find_process(void) {
    struct preload_report *report = state.config.report;
    uint32_t pid = (uint32_t)getpid();
    uint32_t used = __atomic_load_n(&report->recorded, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < used && i < PRELOAD_PROCESSES; i++) {
        struct preload_process *p = &report->process[i];
        if (p->pid == pid && !p->ended) {
            return p;
        }
    }
    uint32_t i = __atomic_fetch_add(&report->recorded, 1, __ATOMIC_RELAXED);
    struct preload_process *p = i < PRELOAD_PROCESSES ? &report->process[i] : &state.nobody_reads;
    p->pid = pid;
    return p;
}

static void on_published(void *ctx, const struct monitor_totals *totals) {
    struct preload_process *p = ctx;
    p->stalls = state.stalls + totals->core.stalls;
    p->dumps = state.dumps + totals->written;
    p->wall_ms = totals->watched.wall_ms;
    p->watched_ms = totals->watched.watched_ms;
    memcpy(p->unwatched_ms, totals->watched.unwatched_ms, sizeof p->unwatched_ms);
    __atomic_store_n(&p->told_ns, totals->now_ns, __ATOMIC_RELEASE);
}

static void preload_on_lost(void *user, const char *path, enum stallrec_error why) {
    (void)user, (void)path, (void)why;
    __atomic_fetch_add(&state.process->lost, 1, __ATOMIC_RELAXED);
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

static void preset_values(const struct preload_config *from, struct stallrec_config *config) {
    stallrec_config_init(config, sizeof *config);
    if (*from->preset) {
        stallrec_config_preset(config, from->preset);
    }
}

uint64_t preload_threshold_ns(const struct preload_config *from) {
    struct stallrec_config config;
    preset_values(from, &config);
    return (from->threshold_ms > 0 ? from->threshold_ms : config.threshold_ms) * UINT64_C(1000000);
}

struct preload_process *preload_start_recorder(struct stallrec_loop **loop) {
    struct stallrec_config config;
    preset_values(&state.config, &config);
    state.process = find_process();
    state.stalls = state.process->stalls;
    state.dumps = state.process->dumps;
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
    config.callbacks.dump_lost = preload_on_lost;
    const struct monitor_finding finding = {stallrec_process_start_ns(), on_published,
                                            state.process};
    enum stallrec_error st = monitor_start(&state.rec, &config, &finding);
    if (st != STALLREC_OK) {
        preload_watch_forked();
        state.config.report->error = (int32_t)st;
        *loop = NULL;
        return state.process;
    }
    monitor_report_trace(state.rec, &state.config.report->trace_failed);
    set_context();
    *loop = stallrec_main_loop(state.rec);
    return state.process;
}

void preload_name_loop(const char *loop_at) {
    monitor_name_loop(state.rec, loop_at);
}

/* ---- start and end ---- */

/* The way in which the calling thread, the process's only one, is watched. */
static void watch_process(uint64_t frame) {
    state.rec = NULL; /* a parent's is the parent's */
    state.process = NULL;
    __atomic_fetch_add(&state.config.report->processes, 1, __ATOMIC_RELAXED);
    preload_watch_this_thread(&state.config, state.program, frame);
}

/* A small alternate stack has no room for our signal: signal_linux.h. */
INTERPOSED int sigaltstack(const stack_t *stack, stack_t *old) {
    if (!real_sigaltstack) {
        preload_resolve("sigaltstack", &real_sigaltstack);
    }
    if (!stack || !preload_watches()) {
        return real_sigaltstack(stack, old);
    }
    signal_linux_set_alternate_async(SIGNAL_STACK_UNKNOWN);
    int result = real_sigaltstack(stack, old), error = errno;
    capture_linux_look_at_alternate();
    errno = error;
    return result;
}

/* Treats the child of a fork as a newly started program: it is recorded with --follow. */
static void preload_in_child(void) {
    preload_watch_forked();
    if (state.config.follow) {
        watch_process((uint64_t)(uintptr_t)__builtin_frame_address(0));
    }
}

__attribute__((constructor)) static void load(void) {
    preload_resolve("sigaltstack", &real_sigaltstack);
    preload_resolve_waits();
    preload_resolve_exec();
    if (gettid() != getpid() || !preload_read_environment(&state.config)) {
        return;
    }
    ssize_t n = readlink("/proc/self/exe", state.program, sizeof state.program - 1);
    state.program[n > 0 ? n : 0] = '\0';
    pthread_atfork(NULL, NULL, preload_in_child);
    watch_process((uint64_t)(uintptr_t)__builtin_frame_address(0));
    if (wants_start(&state.config)) {
        preload_watch_from_start();
    }
}

/* Writes at exit what is still open. Dumps that take too long stay in the spool, for the command.
 */
__attribute__((destructor)) static void unload(void) {
    if (preload_watch_ends() && monitor_stop(state.rec, stallrec_clock_ns() + EXIT_NS)) {
        state.process->ended = 1;
    }
}
