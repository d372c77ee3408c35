/* Handles filters of system calls (seccomp(2)), both those that the program installs and those
 * under which it was started. A filter that kills a system call of the recorder would end the
 * program.
 *
 * prctl and syscall are interposed, since only there a filter is known before it is in force. A
 * child process tries whether the filter would kill a call of the recorder (preload_probe.h). The
 * recorder stops before the installation of a filter that kills a call which a watched thread makes
 * for the recorder, or, if the filter is for all threads, any of the recorder's calls; and the
 * recorder does not start under a filter that kills any of its calls. */
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

/* Handles a filter that the program is about to install: on all threads if `synchronised`, else on
 * the calling thread. With --thread, a filter on the calling thread alone, if that thread is not
 * watched and the filter would kill any of the recorder's calls, keeps the thread from ever being
 * watched. A filter on a watched thread, or on all threads, stops the recorder if it would kill a
 * call that watched threads make for the recorder, or is synchronised and would kill any of the
 * recorder's calls. */
static void before_filter(const struct probe_filter *filter, bool synchronised) {
    struct probe_verdict verdict;
    bool of_watched = synchronised || preload_watches();
    bool ours = preload_watches_process() && (of_watched || preload_chooses_threads());
    if (!ours || !preload_probe(filter, &verdict)) {
        return;
    }
    if (!of_watched) {
        if (verdict.any) {
            preload_leave_thread();
        }
    } else if (verdict.hook || (synchronised && verdict.any)) {
        preload_step_aside(verdict.hook ? verdict.hook : verdict.any);
    }
}

/* ---- interposed ---- */

INTERPOSED int prctl(int option, ...) {
    unsigned long arg[4];
    va_list args;
    /* Four arguments are read, as libc's prctl does; the kernel ignores those not passed. */
    va_start(args, option);
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
