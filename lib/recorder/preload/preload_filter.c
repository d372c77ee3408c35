/* Filters of system calls (seccomp(2)): those that the program puts up, and those that it was
 * started under. A call of the recorder that a filter kills would end the program.
 *
 * prctl and syscall are interposed, since a filter is known before it is in force only there. What
 * it would do is tried in a child (preload_probe.h); the recorder stops before a filter that kills
 * what the watched thread calls for it, and does not start under one that kills any of its calls.
 */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/preload_private.h"
#include "preload/preload_probe.h"

#define INTERPOSED __attribute__((visibility("default")))

static struct {
    _Atomic(long (*)(long, ...)) syscall;
    _Atomic(int (*)(int, ...)) prctl;
} real;

void preload_resolve_filter(void) {
    preload_resolve("prctl", &real.prctl);
    preload_resolve("syscall", &real.syscall);
}

static void filter_resolve_once(void) {
    if (!real.syscall) {
        preload_resolve_filter();
    }
}

/* The program is about to put a filter up. synchronised: on all of its threads. */
static void before_filter(const struct probe_filter *filter, bool synchronised) {
    struct probe_verdict verdict;
    bool ours = preload_watches_process() && (synchronised || preload_watches());
    if (!ours || !preload_probe(filter, &verdict)) {
        return;
    }
    if (verdict.hook || (synchronised && verdict.any)) {
        preload_step_aside(verdict.hook ? verdict.hook : verdict.any);
    }
}

/* ---- interposed ---- */

INTERPOSED int prctl(int option, ...) {
    unsigned long arg[4];
    va_list args;
    va_start(args, option); /* as libc's does: what was not passed is not looked at */
    for (unsigned i = 0; i < 4; i++) {
        arg[i] = va_arg(args, unsigned long);
    }
    va_end(args);
    filter_resolve_once();
    if (option == PR_SET_SECCOMP) {
        const struct probe_filter filter = {
            SYS_prctl, {(unsigned long)option, arg[0], arg[1], arg[2], arg[3]}};
        before_filter(&filter, false);
    }
    return real.prctl(option, arg[0], arg[1], arg[2], arg[3]);
}

INTERPOSED long syscall(long number, ...) {
    unsigned long arg[6];
    va_list args;
    va_start(args, number);
    for (unsigned i = 0; i < 6; i++) {
        arg[i] = va_arg(args, unsigned long);
    }
    va_end(args);
    filter_resolve_once();
    bool installs = (number == SYS_seccomp &&
                     (arg[0] == SECCOMP_SET_MODE_STRICT || arg[0] == SECCOMP_SET_MODE_FILTER)) ||
                    (number == SYS_prctl && arg[0] == PR_SET_SECCOMP);
    if (installs) {
        const struct probe_filter filter = {number, {arg[0], arg[1], arg[2], arg[3], arg[4]}};
        before_filter(&filter, number == SYS_seccomp && (arg[1] & SECCOMP_FILTER_FLAG_TSYNC) != 0);
    }
    return real.syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
