/* Records a process from outside, one that runs or one that it starts. */
#include "recorder_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorded_program.h"
#include "recorder_answers.h"
#include "base/strbuf.h"
#include "recorder/attach/attach.h"
#include "recorder/spool/recover.h"
#include "recorder/stallrec.h"

#define TOOL "stallrec"

enum { EXIT_OWN = 125, EXIT_SIGNAL = 128 };
#define TOP_NS UINT64_C(1000000000)

/* ---- the summary ---- */

static const char *ending_of(uint64_t n) {
    return n == 1 ? "" : "s";
}

static bool watched_enough(const struct attach_totals *t) {
    return t->watched_ms * 10 >= t->looped_ms * 9;
}

static void say_way(const struct attach_totals *t) {
    if (!t->by_events) {
        cli_say(TOOL, "edges are sampled (%s: %s): busy at %" PRIu64 " of %" PRIu64 " samples",
                t->why_not.what, strerror(t->why_not.error), t->busy_samples, t->samples);
    }
    if (t->limited > 0) {
        cli_say(TOOL,
                "more waits than are read: %" PRIu64 " time%s; the begin of a stall is exact to "
                "50 ms there",
                t->limited, ending_of(t->limited));
    }
    if (t->threads_left_out > 0) {
        recorder_say_cut(t->threads_left_out);
    }
    if (t->threads_left > 0) {
        cli_say(TOOL, "%" PRIu32 " more thread%s not watched", t->threads_left,
                t->threads_left == 1 ? " was" : "s were");
    }
}

/* "7.9 s of 8.1 s (97 %), " which loop, and if it is little, why. */
static void say_watched(const struct attach_totals *t) {
    struct strbuf line = {0};
    const char *kind = recorder_loop_kind(t->loop_kind);
    strbuf_addf(&line, "watched %.1f s of %.1f s (%" PRIu64 " %%), ", (double)t->watched_ms / 1000,
                (double)t->looped_ms / 1000, t->looped_ms ? t->watched_ms * 100 / t->looped_ms : 0);
    if (t->threads > 1) {
        strbuf_addf(&line, "%" PRIu32 " threads, %" PRIu32 " event loop%s, one: ", t->threads,
                    t->loops, ending_of(t->loops));
    }
    strbuf_addf(&line, "%s at %s", kind, t->loop_at);
    if (!watched_enough(t)) {
        recorder_add_reasons(&line, t->unwatched_ms);
    }
    cli_say(TOOL, "%s", strbuf_cstr(&line));
    strbuf_release(&line);
}

static void say_no_loop(const struct recorder_settings *set, const struct attach_totals *t) {
    const char *where = set->threads ? "the threads that were watched" : "the main thread";
    cli_say(TOOL, "%s: no event loop was seen on %s, watched 0 %%", t->program, where);
    if (*t->other_loops) {
        cli_say(TOOL, "these threads seem to have one, see --thread: %s", t->other_loops);
    }
}

static void summarise_attached(const struct recorder_settings *set, const struct attach_totals *t) {
    uint64_t stall_ms = settings_stall_ms(set);
    if (t->lost > 0) {
        cli_say(TOOL, "%" PRIu64 " dump%s could not be written", t->lost, ending_of(t->lost));
    }
    if (t->trace_failed) {
        cli_say(TOOL, "%s: not all of the trace could be written", set->trace);
    }
    if (t->loops == 0) {
        say_no_loop(set, t);
    }
    if (set->quiet || (t->loops == 0 && t->stalls == 0)) {
        return;
    }
    if (t->stalls > 0) {
        cli_say(TOOL, "%" PRIu64 " stall%s, %" PRIu64 " dump%s in %s", t->stalls,
                ending_of(t->stalls), t->dumps, ending_of(t->dumps), set->directory);
    } else {
        cli_say(TOOL, "no stalls of %" PRIu64 " ms or more%s", stall_ms,
                watched_enough(t) ? "" : " in what was watched");
    }
    if (t->loops > 0) {
        say_watched(t);
    }
    say_way(t);
}

/* ---- recording ---- */

static bool say_problem(const struct attach_problem *problem) {
    cli_say(TOOL, "%s: %s%s%s%s", problem->what,
            problem->error ? strerror(problem->error) : "cannot be watched",
            problem->remedy ? " (" : "", problem->remedy ? problem->remedy : "",
            problem->remedy ? ")" : "");
    return false;
}

static void say_begin(void *began_ns, const struct stallrec_stall *stall) {
    recorder_say_stall(stallrec_clock_ns() - *(const uint64_t *)began_ns, stall->kind, stall->at_ms,
                       false);
}

static void say_end(void *began_ns, const struct stallrec_stall *stall) {
    recorder_say_stall(stallrec_clock_ns() - *(const uint64_t *)began_ns, stall->kind, stall->at_ms,
                       true);
}

/* began_ns: now; borrowed until attach_close. */
static bool open_attach(const struct recorder_settings *set, pid_t pid, bool started,
                        uint64_t *began_ns, struct attach **out) {
    struct stallrec_config config;
    struct attach_problem problem;
    struct attach_options options = {.pid = pid, .started = started, .config = &config};
    settings_config(set, &config);
    if (set->verbose) {
        config.callbacks.stall_begin = say_begin;
        config.callbacks.stall_end = say_end;
        config.user_data = began_ns;
    }
    options.context = strbuf_cstr(&set->context);
    options.loop_at = set->loop_at.len > 0 ? strbuf_cstr(&set->loop_at) : NULL;
    options.trace = set->trace;
    options.threads = set->threads && strcmp(set->threads, "all") == 0 ? "*" : set->threads;
    return attach_open(out, &options, &problem) || say_problem(&problem);
}

/* A signal that came for us; 0: none. */
static int read_signal(int signals) {
    struct signalfd_siginfo info;
    return read(signals, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* We have to come in time where the program leaves no processor free, and need little. */
static void take_precedence(void) {
    enum { NICE = -10 };
    setpriority(PRIO_PROCESS, 0, NICE); /* refused to most users */
}

/* A line of --top: how busy the loop was, its longest stretch, and where it was. */
static void print_top(struct attach *a) {
    struct attach_top top = attach_look_at_top(a);
    if (!top.known) {
        puts("no event loop is known yet");
    } else {
        printf("busy %3" PRIu32 " %%  longest %6" PRIu64 " ms  %s%s%s\n", top.busy_permille / 10,
               top.longest_ms, top.inner, *top.app ? " < " : "", top.app);
    }
    fflush(stdout);
}

/* Records until the process or the time is over, or a signal comes that on_signal says ends it. */
static void record(struct attach *a, const struct recorder_settings *set, int signals,
                   bool (*on_signal)(void *arg, int number), void *arg) {
    take_precedence();
    uint64_t begin = stallrec_clock_ns(), limit = set->for_seconds * UINT64_C(1000000000);
    uint64_t topped = begin;
    for (bool over = false; !over;) {
        uint64_t until = attach_step(a), now = stallrec_clock_ns();
        if (set->top && now - topped >= TOP_NS) {
            print_top(a);
            topped = now;
        }
        if (limit > 0 && until > begin + limit) {
            until = begin + limit;
        }
        uint64_t left_ms = until > now ? (until - now + 999999) / 1000000 : 0;
        struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
                               {.fd = attach_ends_fd(a), .events = POLLIN}};
        int n = poll(fds, 2, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
        int number = n > 0 && fds[0].revents ? read_signal(signals) : 0;
        over = (number != 0 && on_signal(arg, number)) || attach_ended(a) ||
               (limit > 0 && stallrec_clock_ns() - begin >= limit);
    }
}

static int block_signals(sigset_t *before) {
    static const int all[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sigaddset(&set, all[i]);
    }
    sigprocmask(SIG_BLOCK, &set, before);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool ends_recording(void *arg, int number) {
    (void)arg;
    return number == SIGHUP || number == SIGINT || number == SIGTERM || number == SIGQUIT;
}

/* Dumps that an earlier stallrec, killed while it recorded, left in the folder. */
static void recover_earlier(const struct recorder_settings *set) {
    struct recover_counts got;
    const struct recover_request request = {.directory = set->directory,
                                            .pid = (uint32_t)getpid(),
                                            .by_itself = true,
                                            .since_ms = INT64_MAX};
    if (recover_folder(&request, &got) && got.dumps + got.earlier > 0 && !set->quiet) {
        uint32_t count = got.dumps > got.earlier ? got.dumps : got.earlier;
        cli_say(TOOL, "%" PRIu32 " dump%s of programs that died earlier", count, ending_of(count));
    }
}

int recorder_attach_process(const struct recorder_settings *set) {
    struct attach *a;
    uint64_t began_ns = stallrec_clock_ns();
    sigset_t before;
    int signals = block_signals(&before);
    recover_earlier(set);
    if (!open_attach(set, (pid_t)set->pid, false, &began_ns, &a)) {
        close(signals);
        return EXIT_OWN;
    }
    record(a, set, signals, ends_recording, NULL);
    attach_finish(a, -1);
    struct attach_totals totals = attach_totals(a);
    summarise_attached(set, &totals); /* first: the kernel takes its time to close tracepoints */
    attach_close(a);
    close(signals);
    return 0;
}

/* ---- a program of our own ---- */

/* The child waits until it is watched: its first instruction is seen. */
static void run_child(const char *path, char **argv, int go, int failed, const sigset_t *mask) {
    char word;
    int error = EINTR;
    if (read(go, &word, 1) == 1) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        execvp(path, argv);
        error = errno;
    }
    ssize_t n = write(failed, &error, sizeof error);
    _exit(n == sizeof error ? PROGRAM_CANNOT_RUN : EXIT_OWN);
}

struct child {
    pid_t pid;
    int go, failed; /* pipes: lets it run; its errno if it cannot */
};

static bool start_child(const char *path, char **argv, const sigset_t *mask, struct child *child) {
    int go[2], failed[2];
    if (pipe(go) != 0) {
        return false;
    }
    if (pipe(failed) != 0) {
        close(go[0]);
        close(go[1]);
        return false;
    }
    fcntl(failed[1], F_SETFD, FD_CLOEXEC);
    fcntl(go[0], F_SETFD, FD_CLOEXEC);
    child->pid = fork();
    if (child->pid == 0) {
        close(go[1]);
        close(failed[0]);
        run_child(path, argv, go[0], failed[1], mask);
    }
    close(go[0]);
    close(failed[1]);
    child->go = go[1];
    child->failed = failed[0];
    return child->pid > 0;
}

/* Passes signals on to the program, which a terminal sends them to, too. */
static bool forward_signal(void *arg, int number) {
    const struct child *child = arg;
    if (number != SIGCHLD) {
        kill(child->pid, number);
    }
    return false;
}

static int await_child(const struct child *child, int signals, int *status) {
    while (waitpid(child->pid, status, WNOHANG) == 0) {
        struct pollfd fd = {.fd = signals, .events = POLLIN};
        poll(&fd, 1, -1);
        int number = read_signal(signals);
        if (number != 0) {
            forward_signal((void *)(uintptr_t)child, number);
        }
    }
    return WIFSIGNALED(*status) ? EXIT_SIGNAL + WTERMSIG(*status) : WEXITSTATUS(*status);
}

int recorder_attach_program(const struct recorder_settings *set, const char *path, char **argv) {
    struct child child;
    struct attach *a;
    uint64_t began_ns = stallrec_clock_ns();
    sigset_t before;
    int signals = block_signals(&before), status = 0, error;
    recover_earlier(set);
    if (!start_child(path, argv, &before, &child)) {
        cli_say(TOOL, "%s: %s", path, strerror(errno));
        return EXIT_OWN;
    }
    if (!open_attach(set, child.pid, true, &began_ns, &a)) {
        close(child.go);
        waitpid(child.pid, &status, 0);
        return EXIT_OWN;
    }
    bool runs = write(child.go, "", 1) == 1 && read(child.failed, &error, sizeof error) == 0;
    if (runs) {
        record(a, set, signals, forward_signal, &child);
    }
    bool recorded = attach_ended(a);
    int exit_status = recorded || !runs ? await_child(&child, signals, &status) : 0;
    attach_finish(a, recorded && WIFSIGNALED(status));
    struct attach_totals totals = attach_totals(a);
    if (runs) {
        summarise_attached(set,
                           &totals); /* first: the kernel takes its time to close tracepoints */
    } else {
        cli_say(TOOL, "%s: %s", path, strerror(error));
    }
    attach_close(a);
    return recorded || !runs ? exit_status : await_child(&child, signals, &status);
}
