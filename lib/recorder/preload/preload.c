/* The library that stallrec(1) preloads: it records a program's threads through their waits. */
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

/* State of the library, which is global because interposed functions have no context argument. Only
 * the main thread writes it. */
static struct {
    struct preload_config config;
    char program[PRELOAD_PATH];
} state;

/* Did the user ask for a detector that works before a loop is known, or without one? A detector of
 * the preset alone does not start the recorder in each program, as the recorder's thread would make
 * those calls of unshare(2) and setns(2) fail that a process with more than one thread may not
 * make. */
static bool wants_start(const struct preload_config *config) {
    return (config->detectors & (STALLREC_DETECT_LAUNCH | STALLREC_DETECT_CPU)) != 0;
}

/* Counts the process in the report, and watches it from now on. It is called by the process's only
 * thread; frame: an address on that thread's stack. */
static void watch_process(uint64_t frame) {
    __atomic_fetch_add(&state.config.report->processes, 1, __ATOMIC_RELAXED);
    preload_watch_process(&state.config, state.program, frame);
}

/* Passes the call to the C library, and passes the new size of the first watched thread's alternate
 * stack to the capture, as a small one has no room for our signal (signal_linux.h). */
INTERPOSED int sigaltstack(const stack_t *stack, stack_t *old) {
    if (!real_sigaltstack) {
        preload_resolve("sigaltstack", &real_sigaltstack);
    }
    if (!stack || !preload_watches_first()) {
        return real_sigaltstack(stack, old);
    }
    atomic_store(signal_linux_alternate(), SIGNAL_STACK_UNKNOWN);
    int result = real_sigaltstack(stack, old), error = errno;
    capture_linux_look_at_alternate();
    errno = error;
    return result;
}

/* Treats the child of a fork as a newly started program, which is recorded only with --follow. */
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

/* At the program's exit, stops the recorder, which then writes its open dumps. Dumps that take too
 * long to write stay in the spool, from which stallrec recovers them; so do all dumps if a seccomp
 * filter would kill a system call of the recorder. */
__attribute__((destructor)) static void unload(void) {
    if (preload_watch_ends() && preload_may_end()) {
        preload_stop_recorder();
    }
}
