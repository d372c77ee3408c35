/* The library that stallrec(1) preloads: it records a program's main thread through its waits.
 *
 * The recorder starts with the first wait that blocks, so that programs without any get no thread.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "linux/capture_linux.h"
#include "linux/signal_linux.h"
#include "preload/preload_private.h"
#include "preload/preload_probe.h"
#include "stallrec.h"

#define INTERPOSED __attribute__((visibility("default")))

static _Atomic(int (*)(const stack_t *, stack_t *)) real_sigaltstack;

/* The interposed functions have no context argument, so their state is global. Only the main thread
 * touches it. */
static struct {
    struct preload_config config;
    char program[PRELOAD_PATH];
} state;

/* Was a detector asked for that tells something before the loop is known, or without one? One that
 * the preset has is no reason to give each program a thread: unshare(2) and setns(2) refuse those
 * that have more than one. */
static bool wants_start(const struct preload_config *config) {
    return (config->detectors & (STALLREC_DETECT_LAUNCH | STALLREC_DETECT_CPU)) != 0;
}

/* The way in which the calling thread, the process's only one, is watched. */
static void watch_process(uint64_t frame) {
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
    preload_resolve_filter();
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

/* Writes at exit what is still open. Dumps that take too long stay in the spool, for the command;
 * and all of them where a filter would kill what it takes. */
__attribute__((destructor)) static void unload(void) {
    if (preload_watch_ends() && preload_may_end()) {
        preload_stop_recorder();
    }
}
