/* Records a process from outside, a running one or one that this command starts. */
#include "record/recorder_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/attached_family.h"
#include "record/recorded_program.h"
#include "record/recorder_answers.h"
#include "base/escape.h"
#include "base/strbuf.h"
#include "recorder/attach/attach.h"
#include "recorder/spool/recover.h"
#include "recorder/stallrec.h"

#define TOOL "stallrec"

enum { EXIT_OWN = 125, EXIT_SIGNAL = 128 };
#define TOP_NS    UINT64_C(1000000000)
#define OTHERS_NS UINT64_C(2000000000) /* longest wait for the end of other processes */

/* ---- the summary ---- */

/* Was enough of all processes, and of each that has a loop, watched for "no stalls" to be printed
 * without "in what was watched"? A process without a loop was not watched. */
static bool watched_enough(const struct attach_totals *t, const struct family_gaps *gaps) {
    return gaps->partly == 0 && recorder_watched_enough(t->watched_ms, t->looped_ms + gaps->ms);
}

static void say_way(const struct attach_totals *t) {
    if (!t->by_events) {
        cli_say(TOOL,
                "edges are sampled (%s: %s): busy at %" PRIu64 " of %" PRIu64 " samples; "
                "a stall made of short waits is not seen",
                t->why_not.what, strerror(t->why_not.error), t->busy_samples, t->samples);
    }
    if (t->limited > 0) {
        cli_say(TOOL,
                "more waits than are read: %" PRIu64 " time%s; the begin of a stall is exact to "
                "%" PRIu64 " ms there",
                t->limited, recorder_plural(t->limited), t->pause_ms);
    }
    if (t->hidden > 0) {
        cli_say(TOOL,
                "%" PRIu64 " of these times may have hidden a stall, and count%s as not watched",
                t->hidden, t->hidden == 1 ? "s" : "");
    }
    if (t->threads_left_out > 0) {
        recorder_say_cut(t->threads_left_out);
    }
    if (t->threads_left > 0) {
        recorder_say_unwatched(t->threads_left);
    }
}

/* Prints "watched 7.9 s of 8.1 s (97 %), " and which loop was watched; if too little was watched,
 * also why. */
static void say_watched(const struct attach_totals *t, uint32_t processes,
                        const struct family_gaps *gaps) {
    struct strbuf line = {0};
    const char *kind = recorder_loop_kind(t->loop_kind);
    strbuf_addf(&line, "watched %.1f s of %.1f s (%" PRIu64 " %%), ", (double)t->watched_ms / 1000,
                (double)t->looped_ms / 1000, t->looped_ms ? t->watched_ms * 100 / t->looped_ms : 0);
    if (t->threads > processes) {
        recorder_add_threads(&line, t->threads, t->loops);
    }
    strbuf_addf(&line, "%s at %s", kind, t->loop_at);
    recorder_add_input(&line, t->input_ms, t->unwatched_ms, t->unclear);
    if (!watched_enough(t, gaps)) {
        recorder_add_reasons(&line, t->unwatched_ms, *t->unclear ? t->unclear : NULL);
    }
    if (processes > 1) {
        recorder_add_processes(&line, processes, gaps->loopless, gaps->ms, gaps->partly);
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

/* Prints how many started processes could not be recorded, and how many still run unrecorded. */
static void say_refused(const struct attached_family *f, bool first_ended) {
    struct attach_problem why;
    uint32_t refused = family_refused(f, &why), living = first_ended ? family_living(f) : 0;
    if (refused > 0) {
        cli_say(TOOL, "%" PRIu32 " more process%s not recorded (%s%s%s)", refused,
                refused == 1 ? " was" : "es were", why.what, why.error ? ": " : "",
                why.error ? strerror(why.error) : "");
    }
    if (living > 0) {
        cli_say(TOOL, "%" PRIu32 " process%s still run%s, and %s recorded no longer", living,
                living == 1 ? "" : "es", living == 1 ? "s" : "", living == 1 ? "is" : "are");
    }
}

static void summarise_attached(const struct recorder_settings *set, const struct attached_family *f,
                               bool first_ended) {
    uint32_t processes;
    struct family_gaps gaps;
    struct attach_totals totals;
    family_totals(f, &totals, &processes, &gaps);
    const struct attach_totals *t = &totals;
    uint64_t stall_ms = settings_stall_ms(set);
    if (t->lost > 0) {
        recorder_say_lost(t->lost, t->lost_error);
    }
    if (t->trace_failed) {
        cli_say(TOOL, "%s: not all of the trace could be written", set->trace);
    }
    if (t->loops == 0) {
        say_no_loop(set, t);
    }
    say_refused(f, first_ended);
    if (set->quiet || (t->loops == 0 && t->stalls == 0)) {
        return;
    }
    if (t->stalls > 0) {
        cli_say(TOOL, "%" PRIu64 " stall%s, %" PRIu64 " dump%s in %s", t->stalls,
                recorder_plural(t->stalls), t->dumps, recorder_plural(t->dumps), set->directory);
    } else {
        cli_say(TOOL, "no stalls of %" PRIu64 " ms or more%s", stall_ms,
                watched_enough(t, &gaps) && t->hidden == 0 && !recorder_is_unclear(t->unwatched_ms)
                    ? ""
                    : " in what was watched");
    }
    if (t->loops > 0) {
        say_watched(t, processes, &gaps);
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

static void say_taken_back(void *began_ns, uint64_t was_ms) {
    recorder_say_taken_back(stallrec_clock_ns() - *(const uint64_t *)began_ns, was_ms);
}

struct recording {
    struct stallrec_config config;
    uint64_t began_ns;
    struct attached_family *family;
};

/* Attaches to a process with the settings. *r must not move until family_close. False: an error was
 * printed. */
static bool open_attach(const struct recorder_settings *set, pid_t pid, bool started,
                        struct recording *r) {
    struct attach_problem problem;
    struct attach_options options = {.pid = pid, .started = started, .config = &r->config};
    settings_config(set, &r->config);
    if (set->verbose) {
        r->config.callbacks.stall_begin = say_begin;
        r->config.callbacks.stall_end = say_end;
        r->config.user_data = &r->began_ns;
        options.taken_back = say_taken_back;
    }
    options.context = strbuf_cstr(&set->context);
    options.loop_at = set->loop_at.len > 0 ? strbuf_cstr(&set->loop_at) : NULL;
    options.trace = set->trace;
    options.threads = settings_thread_glob(set);
    return family_open(&r->family, &options, set->follow, &problem) || say_problem(&problem);
}

struct sent_signal {
    int number;    /* 0 = no signal */
    bool terminal; /* a terminal's key sent it, to all processes of its foreground group */
};

/* Returns a signal that was sent to this process. */
static struct sent_signal read_signal(int signals) {
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) != sizeof info) {
        return (struct sent_signal){0};
    }
    return (struct sent_signal){(int)info.ssi_signo, info.ssi_code == SI_KERNEL};
}

/* Raises this process's priority, so that it samples in time even if the program leaves no
 * processor free; it needs little processor time itself. */
static void take_precedence(void) {
    enum { NICE = -10 };
    setpriority(PRIO_PROCESS, 0, NICE); /* fails for most users */
}

/* Prints a line of --top: the busy share of the loop's time, the longest busy stretch, and the
 * functions `inner` and `app` of attach_look_at_top; or that no event loop is known. */
static void print_top(const struct attached_family *f) {
    struct attach_top top = attach_look_at_top(family_first(f));
    if (!top.known) {
        puts("no event loop is known yet");
    } else {
        struct strbuf names = {0}; /* names of the process, which may contain any bytes */
        text_add_shown(&names, top.inner, strlen(top.inner));
        strbuf_addstr(&names, *top.app ? " < " : "");
        text_add_shown(&names, top.app, strlen(top.app));
        printf("busy %3" PRIu32 " %%  longest %6" PRIu64 " ms  %s\n", top.busy_permille / 10,
               top.longest_ms, strbuf_cstr(&names));
        strbuf_release(&names);
    }
    fflush(stdout);
}

/* Waits until the time `until`, the end of a process, or a signal, which is returned. */
static struct sent_signal await_due(const struct attached_family *f, int signals, uint64_t until) {
    struct pollfd fds[FAMILY_MAX + 1];
    uint64_t now = stallrec_clock_ns();
    uint64_t left_ms = until > now ? (until - now + 999999) / 1000000 : 0;
    uint32_t count = family_ends(f, fds);
    fds[count] = (struct pollfd){.fd = signals, .events = POLLIN};
    int n = poll(fds, count + 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
    return n > 0 && fds[count].revents ? read_signal(signals) : (struct sent_signal){0};
}

/* Records until the process ends, the time is over, or a signal comes for which on_signal
 * returns true. */
static void record(struct attached_family *f, const struct recorder_settings *set, int signals,
                   bool (*on_signal)(void *arg, struct sent_signal sent), void *arg) {
    take_precedence();
    uint64_t begin = stallrec_clock_ns(), limit = set->for_seconds * UINT64_C(1000000000);
    uint64_t topped = begin;
    for (bool over = false; !over;) {
        uint64_t until = family_step(f), now = stallrec_clock_ns();
        if (set->top && now - topped >= TOP_NS) {
            print_top(f);
            topped = now;
        }
        if (limit > 0 && until > begin + limit) {
            until = begin + limit;
        }
        struct sent_signal sent = await_due(f, signals, until);
        over = (sent.number != 0 && on_signal(arg, sent)) || attach_ended(family_first(f)) ||
               (limit > 0 && stallrec_clock_ns() - begin >= limit);
    }
}

/* Records the other processes until they have ended, but for no longer than OTHERS_NS after the
 * first one ended, and no longer than until SIGINT or SIGTERM comes. */
static void record_others(struct attached_family *f, int signals) {
    uint64_t until = stallrec_clock_ns() + OTHERS_NS;
    while (family_living(f) > 0 && stallrec_clock_ns() < until) {
        uint64_t due = family_step(f);
        int number = await_due(f, signals, due < until ? due : until).number;
        if (number == SIGINT || number == SIGTERM) {
            return;
        }
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

static bool ends_recording(void *arg, struct sent_signal sent) {
    (void)arg;
    return sent.number == SIGHUP || sent.number == SIGINT || sent.number == SIGTERM ||
           sent.number == SIGQUIT;
}

/* Recovers the dumps that programs which have died, or an earlier stallrec that was killed while it
 * recorded, left in the folder, and prints their number unless set->quiet. */
static void recover_earlier(const struct recorder_settings *set) {
    struct recover_counts got;
    const struct recover_request request = {.directory = set->directory,
                                            .mode = set->file_mode,
                                            .pid = (uint32_t)getpid(),
                                            .by_itself = true,
                                            .since_ms = INT64_MAX};
    if (recover_folder(&request, &got) && got.dumps + got.earlier > 0 && !set->quiet) {
        uint32_t count = got.dumps > got.earlier ? got.dumps : got.earlier;
        cli_say(TOOL, "%" PRIu32 " dump%s of programs that died earlier", count,
                recorder_plural(count));
    }
}

int recorder_attach_process(const struct recorder_settings *set) {
    struct recording r = {.began_ns = stallrec_clock_ns()};
    sigset_t before;
    int signals = block_signals(&before);
    recover_earlier(set);
    if (!open_attach(set, (pid_t)set->pid, false, &r)) {
        close(signals);
        return EXIT_OWN;
    }
    struct attached_family *f = r.family;
    record(f, set, signals, ends_recording, NULL);
    bool ended = attach_ended(family_first(f));
    family_finish_first(f, -1);
    if (ended) {
        record_others(f, signals);
    }
    family_finish(f);
    /* The summary is printed before family_close, because the kernel takes long to close
     * tracepoints. */
    summarise_attached(set, f, ended);
    family_close(f);
    close(signals);
    return 0;
}

/* ---- a program that stallrec starts ---- */

/* Runs in the child: waits until the parent watches this process, so that the program is seen from
 * its first instruction on, then runs the program. If it cannot be run, writes errno to `failed`
 * and ends. */
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
    int go, failed; /* pipes: `go` lets the child run, `failed` carries the errno of a child that
                       cannot */
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

/* Forwards a signal to the program, except SIGCHLD and those of the terminal, which sends them to
 * the program, too. Returns false: recording continues. */
static bool forward_signal(void *arg, struct sent_signal sent) {
    const struct child *child = arg;
    if (sent.number != SIGCHLD && !sent.terminal) {
        kill(child->pid, sent.number);
    }
    return false;
}

static int await_child(const struct child *child, int signals, int *status) {
    while (waitpid(child->pid, status, WNOHANG) == 0) {
        struct pollfd fd = {.fd = signals, .events = POLLIN};
        poll(&fd, 1, -1);
        struct sent_signal sent = read_signal(signals);
        if (sent.number != 0) {
            forward_signal((void *)(uintptr_t)child, sent);
        }
    }
    return WIFSIGNALED(*status) ? EXIT_SIGNAL + WTERMSIG(*status) : WEXITSTATUS(*status);
}

int recorder_attach_program(const struct recorder_settings *set, const char *path, char **argv) {
    struct child child;
    struct recording r = {.began_ns = stallrec_clock_ns()};
    sigset_t before;
    int signals = block_signals(&before), status = 0, error;
    recover_earlier(set);
    if (set->follow) {
        /* Makes this process the parent of orphaned descendants. */
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    }
    if (!start_child(path, argv, &before, &child)) {
        cli_say(TOOL, "%s: %s", path, strerror(errno));
        return EXIT_OWN;
    }
    if (!open_attach(set, child.pid, true, &r)) {
        close(child.go);
        waitpid(child.pid, &status, 0);
        return EXIT_OWN;
    }
    struct attached_family *f = r.family;
    bool runs = write(child.go, "", 1) == 1 && read(child.failed, &error, sizeof error) == 0;
    if (runs) {
        record(f, set, signals, forward_signal, &child);
    }
    bool recorded = attach_ended(family_first(f));
    int exit_status = recorded || !runs ? await_child(&child, signals, &status) : 0;
    family_finish_first(f, recorded && WIFSIGNALED(status));
    if (runs && recorded) {
        record_others(f, signals);
    }
    family_finish(f);
    if (recorded && WIFSIGNALED(status) && !set->quiet) {
        recorder_say_signal(argv[0], WTERMSIG(status), false);
    }
    if (runs) {
        /* The summary is printed before family_close, because the kernel takes long to close
         * tracepoints. */
        summarise_attached(set, f, recorded);
    } else {
        cli_say(TOOL, "%s: %s", path, strerror(error));
    }
    family_close(f);
    return recorded || !runs ? exit_status : await_child(&child, signals, &status);
}
