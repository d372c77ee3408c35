/* stallrec: runs a program under the recorder, without relinking it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "recorded_program.h"
#include "recorder_answers.h"
#include "recorder_attach.h"
#include "recorder_settings.h"
#include "base/strbuf.h"
#include "recorder/preload/preload.h"
#include "recorder/spool/recover.h"
#include "recorder/stallrec.h"

/* As env(1): our own failure, a program that cannot be run, one that is not there. */
enum {
    EXIT_OWN = 125,
    EXIT_CANNOT_RUN = PROGRAM_CANNOT_RUN,
    EXIT_NOT_FOUND = PROGRAM_NOT_FOUND,
    EXIT_SIGNAL = 128
};

/* What the environment carries: 18 digits. */
#define MAX_KEEP_BYTES UINT64_C(999999999999999999)

/* What is handed on has a high number: programs count on the lowest numbers being free, and shell
 * scripts redirect 3 to 9. */
enum { REPORT_FD_FROM = 100, REPORT_FD_LEAST = 3 };

/* How often it is looked whether there is news of stalls, for -v. */
enum { NEWS_MS = 100 };

/* How long the processes that the program started may take to end behind it. */
enum { OTHERS_MS = 2000 };

enum {
    OPT_OUTPUT = 1,
    OPT_THRESHOLD,
    OPT_SAMPLE,
    OPT_RING,
    OPT_CHECK,
    OPT_PRESET,
    OPT_DETECTORS,
    OPT_CPU_LIMIT,
    OPT_MAX_THREADS,
    OPT_LOOP_AT,
    OPT_CONTEXT,
    OPT_KEEP_DAYS,
    OPT_KEEP_BYTES,
    OPT_KEEP_FILES,
    OPT_FOLLOW,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_TRACE,
    OPT_REPLAY,
    OPT_LIST_PRESETS,
    OPT_LIST_DETECTORS,
    OPT_PID,
    OPT_FOR,
    OPT_ATTACH,
    OPT_THREAD,
    OPT_TOP
};

static const struct cli_option options[] = {
    {OPT_OUTPUT, 'o', "output", "DIR", "where dumps are written (stalls); made if it is missing",
     CLI_TEXT(struct recorder_settings, directory)},
    {OPT_THRESHOLD, 't', "threshold", "MS",
     "a stall is a loop busy for this long, 250 or 0.5s (the preset's)",
     CLI_DURATION(struct recorder_settings, threshold_ms, 1, 3600000)},
    {OPT_SAMPLE, 0, "sample-ms", "MS", "take a stack of a busy loop this often (the preset's)",
     CLI_DURATION(struct recorder_settings, sample_ms, 1, 60000)},
    {OPT_RING, 0, "ring", "N", "keep so many of the newest of these stacks (the preset's)",
     CLI_NUMBER(struct recorder_settings, ring, 1, 256)},
    {OPT_CHECK, 0, "check-ms", "MS", "look this often at what stalls, or burns (the preset's)",
     CLI_DURATION(struct recorder_settings, check_ms, 10, 3600000)},
    {OPT_PRESET, 0, "preset", "NAME",
     "detect, sample and back off as a published system does (default)", CLI_CALL(settings_preset)},
    {OPT_DETECTORS, 0, "detectors", "NAME,...",
     "detect these instead of what the preset does (see --list-detectors)",
     CLI_CALL(settings_detectors)},
    {OPT_CPU_LIMIT, 0, "cpu-limit", "PERCENT",
     "detector cpu: more than this much of one processor (the preset's)",
     CLI_NUMBER(struct recorder_settings, cpu_percent, 1, 100000)},
    {OPT_MAX_THREADS, 0, "max-threads", "N",
     "tell of so many threads in one dump, 1 to 256 (the preset's; 64)",
     CLI_NUMBER(struct recorder_settings, max_threads, 1, 256)},
    {OPT_LOOP_AT, 0, "loop-at", "LIB|SYMBOL",
     "the event loop waits there: a library, a function, or the LIB+0xOFFSET\n"
     "that a dump's loop_at names; repeatable; by default it is found",
     CLI_CALL(settings_loop_at)},
    {OPT_CONTEXT, 0, "context", "KEY=VALUE", "say this in each dump's context; repeatable",
     CLI_CALL(settings_context)},
    {OPT_KEEP_DAYS, 0, "keep-days", "N", "remove dumps of DIR that are older",
     CLI_NUMBER(struct recorder_settings, keep_days, 1, 36500)},
    {OPT_KEEP_BYTES, 0, "keep-bytes", "N", "keep at most so many bytes of dumps in DIR",
     CLI_NUMBER(struct recorder_settings, keep_bytes, 1, MAX_KEEP_BYTES)},
    {OPT_KEEP_FILES, 0, "keep-files", "N", "keep at most so many dumps in DIR",
     CLI_NUMBER(struct recorder_settings, keep_files, 1, 999999999)},
    {OPT_FOLLOW, 0, "follow", NULL, "record the children of the program, too",
     CLI_FLAG(struct recorder_settings, follow)},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary at the end",
     CLI_FLAG(struct recorder_settings, quiet)},
    {OPT_VERBOSE, 'v', "verbose", NULL, "a line when a stall is found, and one when it ends",
     CLI_FLAG(struct recorder_settings, verbose)},
    {OPT_TRACE, 0, "trace", "FILE", "write what the recorder sees there, for --replay",
     CLI_TEXT(struct recorder_settings, trace)},
    {OPT_PID, 'p', "pid", "PID", "record this process, which runs, from outside",
     CLI_NUMBER(struct recorder_settings, pid, 1, INT32_MAX)},
    {OPT_FOR, 0, "for", "SECONDS", "with -p, --attach: record for so long (until the process ends)",
     CLI_NUMBER(struct recorder_settings, for_seconds, 1, 31536000)},
    {OPT_ATTACH, 0, "attach", NULL, "record PROGRAM from outside: nothing is loaded into it",
     CLI_FLAG(struct recorder_settings, attach)},
    {OPT_THREAD, 0, "thread", "GLOB|all",
     "with -p, --attach: the threads whose names match, or all (the main thread)",
     CLI_TEXT(struct recorder_settings, threads)},
    {OPT_TOP, 0, "top", NULL, "with -p, --attach: a line each second: what the loop does now",
     CLI_FLAG(struct recorder_settings, top)},
    {OPT_REPLAY, 0, "replay", "TRACE",
     "run nothing: step the detectors over a trace of events (- = stdin) and\n"
     "print what they would do",
     CLI_TEXT(struct recorder_settings, replay)},
    {OPT_LIST_PRESETS, 0, "list-presets", NULL, "print the presets, their values and sources",
     CLI_STOP},
    {OPT_LIST_DETECTORS, 0, "list-detectors", NULL, "print what can be detected", CLI_STOP},
};

static const struct cli_tool tool = {
    .name = "stallrec",
    .synopsis =
        "[-o DIR] [--preset=NAME] [--threshold=MS] [--sample-ms=MS] [--ring=N]\n"
        " [--check-ms=MS] [--detectors=NAME,...] [--cpu-limit=PERCENT] [--max-threads=N]\n"
        " [--loop-at=LIB|SYMBOL]... [--context=KEY=VALUE]... [--keep-days=N]\n"
        " [--keep-bytes=N] [--keep-files=N] [--trace=FILE] [--follow] [-q] [-v] [--]\n"
        " PROGRAM [ARG]...\n"
        "-p PID | --attach [--for=SECONDS] [--thread=GLOB|all] [--top] [-o DIR] [...] [--]\n"
        " [PROGRAM [ARG]...]\n"
        "[--preset=NAME] --replay=TRACE\n"
        "--list-presets | --list-detectors",
    .summary = "Runs PROGRAM and records why its main thread stalls.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer =
        "The exit status is the program's, 128+N if signal N ended it; 125: stallrec failed;\n"
        "126: PROGRAM cannot be run; 127: it was not found.",
    .stop_at_operand = true,
};

struct run {
    struct recorder_settings settings;
    char *directory_path, *trace_path; /* absolute: the program may change its own folder */
    char **argv;                       /* of the program, borrowed */
    char *program;
    char *library;
    struct preload_report *report;
    int report_fd;
};

static void say(const char *what, const char *why) {
    cli_say(tool.name, "%s: %s", what, why);
}

/* ---- what the program gets ---- */

/* Gives a descriptor a high number, under which the program inherits it; -1: see errno. */
static int hand_on(int low) {
    int high = low >= 0 ? fcntl(low, F_DUPFD, REPORT_FD_FROM) : -1;
    if (low >= 0 && high < 0) { /* a low RLIMIT_NOFILE */
        high = fcntl(low, F_DUPFD, REPORT_FD_LEAST);
    }
    if (low >= 0) {
        close(low);
    }
    return high;
}

/* Memory that the recorded processes share with us, zeroed. */
static bool make_report(struct run *run) {
    run->report_fd = hand_on((int)syscall(SYS_memfd_create, "stallrec", MFD_CLOEXEC));
    if (run->report_fd < 0 || ftruncate(run->report_fd, sizeof *run->report) != 0) {
        return false;
    }
    void *memory =
        mmap(NULL, sizeof *run->report, PROT_READ | PROT_WRITE, MAP_SHARED, run->report_fd, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    run->report = memory;
    run->report->size = sizeof *run->report;
    return true;
}

static bool set_number(const char *name, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return setenv(name, text, 1) == 0;
}

/* A path to the report for processes that lost the descriptor. */
static bool set_report_path(int fd) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), fd);
    return setenv(PRELOAD_ENV_REPORT_AT, path, 1) == 0;
}

/* Puts the library's settings into our own environment, which the program inherits. */
static bool set_environment(const struct run *run) {
    const struct recorder_settings *set = &run->settings;
    const char *old = getenv("LD_PRELOAD");
    struct strbuf list = {0};
    strbuf_addstr(&list, run->library);
    if (old && *old) {
        strbuf_addc(&list, ':');
        strbuf_addstr(&list, old);
    }
    bool ok =
        !list.failed && setenv("LD_PRELOAD", strbuf_cstr(&list), 1) == 0 &&
        setenv(PRELOAD_ENV_DIRECTORY, run->directory_path, 1) == 0 &&
        set_number(PRELOAD_ENV_REPORT, (uint64_t)run->report_fd) &&
        set_report_path(run->report_fd) && set_number(PRELOAD_ENV_THRESHOLD, set->threshold_ms) &&
        set_number(PRELOAD_ENV_SAMPLE, set->sample_ms) && set_number(PRELOAD_ENV_RING, set->ring) &&
        set_number(PRELOAD_ENV_CHECK, set->check_ms) &&
        set_number(PRELOAD_ENV_MAX_THREADS, set->max_threads) &&
        set_number(PRELOAD_ENV_DETECTORS, set->detectors) &&
        set_number(PRELOAD_ENV_CPU_LIMIT, set->cpu_percent * 10);
    unsetenv(PRELOAD_ENV_TRACE);
    if (ok && run->trace_path) {
        ok = setenv(PRELOAD_ENV_TRACE, run->trace_path, 1) == 0;
    }
    unsetenv(PRELOAD_ENV_PRESET);
    if (ok && set->preset) {
        ok = setenv(PRELOAD_ENV_PRESET, set->preset, 1) == 0;
    }
    ok = ok && set_number(PRELOAD_ENV_KEEP_DAYS, set->keep_days) &&
         set_number(PRELOAD_ENV_KEEP_BYTES, set->keep_bytes) &&
         set_number(PRELOAD_ENV_KEEP_FILES, set->keep_files);
    unsetenv(PRELOAD_ENV_LOOP_AT);
    unsetenv(PRELOAD_ENV_CONTEXT);
    unsetenv(PRELOAD_ENV_FOLLOW);
    if (ok && set->context.len > 0) {
        ok = setenv(PRELOAD_ENV_CONTEXT, strbuf_cstr(&set->context), 1) == 0;
    }
    if (ok && set->loop_at.len > 0) {
        ok = setenv(PRELOAD_ENV_LOOP_AT, strbuf_cstr(&set->loop_at), 1) == 0;
    }
    unsetenv(PRELOAD_ENV_FOLDER);
    if (ok && set->follow) {
        int folder = hand_on(open(run->directory_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        ok = folder >= 0 && set_number(PRELOAD_ENV_FOLDER, (uint64_t)folder) &&
             setenv(PRELOAD_ENV_FOLLOW, "1", 1) == 0;
    }
    strbuf_release(&list);
    return ok;
}

/* ---- running it ---- */

/* Signals that end or control a program, and are meant for it rather than for us. */
static void forwarded_signals(sigset_t *set) {
    static const int all[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sigaddset(set, all[i]);
    }
}

/* The parts of the signal state that we change for ourselves and restore for the program. */
struct inherited {
    sigset_t mask;
    struct sigaction child;
};

/* Runs the program in the child; returns only by ending it. Its errno goes to `fd`. */
static void exec_program(const struct run *run, const struct inherited *inherited, int fd) {
    sigaction(SIGCHLD, &inherited->child, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
    execvp(run->program, run->argv); /* with a path, differs from execv for scripts without #! */
    int error = errno;
    ssize_t n = write(fd, &error, sizeof error);
    _exit(n == sizeof error ? EXIT_CANNOT_RUN : EXIT_OWN);
}

static uint64_t recorder_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits for the child, and forwards signals that are sent to us. A terminal sends its signals to
 * both. */
static int await_program(const struct run *run, pid_t child, const sigset_t *signals,
                         struct recorder_ending *end) {
    uint64_t heard = 0;
    for (;;) {
        const struct timespec look = {.tv_nsec = NEWS_MS * 1000000};
        bool verbose = run->settings.verbose;
        siginfo_t info;
        int status, sig = sigtimedwait(signals, &info, verbose ? &look : NULL);
        if (sig > 0 && sig != SIGCHLD && info.si_code != SI_KERNEL && info.si_pid != child) {
            kill(child, sig);
        }
        if (verbose) {
            recorder_say_news(run->report, &heard, recorder_clock_ns() - end->began_ns);
        }
        if (waitpid(child, &status, WNOHANG) == child) {
            end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
        }
    }
}

/* Returns the exit status. */
static int run_program(const struct run *run, struct recorder_ending *end) {
    sigset_t signals;
    struct inherited inherited;
    struct sigaction reported = {.sa_handler = SIG_DFL};
    int pipe_fd[2], error = 0;
    struct timespec now;
    forwarded_signals(&signals);
    if (pipe(pipe_fd) != 0) {
        say("pipe", strerror(errno));
        return EXIT_OWN;
    }
    fcntl(pipe_fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(pipe_fd[1], F_SETFD, FD_CLOEXEC);
    sigprocmask(SIG_BLOCK, &signals, &inherited.mask);
    /* The parent may have set SIGCHLD to be ignored; a child's end would then go unnoticed and its
     * status be lost. */
    sigaction(SIGCHLD, &reported, &inherited.child);
    clock_gettime(CLOCK_REALTIME, &now);
    end->began_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    end->began_ns = recorder_clock_ns();
    pid_t child = fork();
    if (child == 0) {
        exec_program(run, &inherited, pipe_fd[1]);
    }
    close(pipe_fd[1]);
    if (child < 0) {
        close(pipe_fd[0]);
        say("fork", strerror(errno));
        return EXIT_OWN;
    }
    ssize_t n = read(pipe_fd[0], &error, sizeof error); /* end of file when it runs */
    close(pipe_fd[0]);
    int status = await_program(run, child, &signals, end);
    end->ended_ns = recorder_clock_ns();
    end->pid = child;
    end->ran = n != sizeof error;
    if (!end->ran) {
        say(run->program, strerror(error));
        return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    }
    return status;
}

/* The processes that were recorded, but for the program itself, and have not told their end. */
static uint32_t list_others(const struct preload_report *report, uint32_t program,
                            uint32_t pids[PRELOAD_PROCESSES]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < PRELOAD_PROCESSES; i++) {
        uint32_t pid = __atomic_load_n(&report->process[i].pid, __ATOMIC_RELAXED);
        if (pid != 0 && pid != program && !report->process[i].ended) {
            pids[count++] = pid;
        }
    }
    return count;
}

/* Writes what the recorders in the processes could not write themselves: these were killed. Others
 * that the program started may end a moment after it. */
static void recover_dumps(const struct run *run, const struct recorder_ending *end,
                          struct recover_counts *got) {
    uint32_t others[PRELOAD_PROCESSES];
    const struct recover_request request = {
        .directory = run->directory_path,
        .pid = (uint32_t)end->pid,
        .by_itself = end->signal == 0,
        .since_ms = end->began_ms,
        .others = others,
        .other_count = list_others(run->report, (uint32_t)end->pid, others),
        .others_ms = OTHERS_MS};
    if (!recover_folder(&request, got)) {
        say(run->settings.directory, strerror(errno));
        *got = (struct recover_counts){0};
        return;
    }
    if (!run->settings.quiet && got->fatal > 0) {
        cli_say(tool.name, "the program died in a stall");
    }
    if (!run->settings.quiet && got->earlier > 0) {
        cli_say(tool.name, "%" PRIu32 " dump%s of programs that died earlier", got->earlier,
                got->earlier == 1 ? "" : "s");
    }
}

static void summarise(const struct run *run, const struct recorder_ending *end) {
    static struct preload_report copy;
    struct recover_counts got;
    recover_dumps(run, end, &got);
    memcpy(&copy, run->report, sizeof copy); /* processes that still run write to it */
    recorder_say_summary(&copy, end, &got, &run->settings, run->argv[0]);
}

/* ---- options ---- */

/* The status of what runs no program: main returns it, or 0. */
static int only(bool done) {
    return done ? CLI_EXIT : EXIT_OWN;
}

/* --replay: it takes a preset. */
static int replay_trace(const struct cli_parser *p, const struct recorder_settings *set) {
    bool alone = true;
    if (p->operand_count > 0) {
        alone = cli_reject(&tool, "--replay runs no program");
    } else if (cli_useless(p, CLI_BIT(OPT_PRESET) | CLI_BIT(OPT_REPLAY))) {
        alone = cli_reject(&tool, "--replay takes no other option than --preset");
    }
    return only(alone && recorder_replay(tool.name, set->replay, set->preset));
}

/* CLI_OK to run a program, CLI_EXIT when all is done, or the status to end with after a printed
 * message. */
static int read_options(struct cli_parser *p, struct run *run) {
    struct recorder_settings *set = &run->settings;
    switch (cli_read_options(p, set)) {
    case OPT_LIST_PRESETS:
        return only(recorder_list_presets(tool.name));
    case OPT_LIST_DETECTORS:
        return only(recorder_list_detectors(tool.name));
    case CLI_EXIT:
        return only(p->status == CLI_OK);
    default:
        break;
    }
    if (set->replay) {
        return replay_trace(p, set);
    }
    if (!settings_check(set, &tool)) {
        return EXIT_OWN;
    }
    if (set->pid != 0 && p->operand_count > 0) {
        cli_usage_error(&tool, "-p runs no program");
        return EXIT_OWN;
    }
    if (set->pid == 0 && p->operand_count == 0) {
        cli_usage_error(&tool, "no program to run");
        return EXIT_OWN;
    }
    run->argv = p->operands;
    return CLI_OK;
}

/* Prepares everything that must be in place before the program runs; 0, or the status to end with.
 */
static int prepare(struct run *run) {
    int status = EXIT_OWN;
    run->program = program_find(run->argv[0], &status);
    if (!run->program) {
        return status;
    }
    if (!program_check(run->program)) {
        return EXIT_OWN;
    }
    run->library = recorder_find_library();
    if (!run->library) {
        say(PRELOAD_LIBRARY, "not found beside this command");
        return EXIT_OWN;
    }
    if (strpbrk(run->library, ": ")) {
        say(run->library, "the dynamic linker takes no path with a space or colon");
        return EXIT_OWN;
    }
    if (!recorder_make_folder(run->settings.directory) ||
        !(run->directory_path = realpath(run->settings.directory, NULL))) {
        say(run->settings.directory, strerror(errno));
        return EXIT_OWN;
    }
    if (run->settings.trace && !(run->trace_path = recorder_make_trace(run->settings.trace))) {
        say(run->settings.trace, strerror(errno));
        return EXIT_OWN;
    }
    if (!make_report(run) || !set_environment(run)) {
        say("preparing the program", strerror(errno));
        return EXIT_OWN;
    }
    return 0;
}

/* -p, --attach. */
static int run_attached(struct run *run) {
    int status = EXIT_OWN;
    if (!recorder_make_folder(run->settings.directory)) {
        say(run->settings.directory, strerror(errno));
        return EXIT_OWN;
    }
    if (run->settings.pid != 0) {
        return recorder_attach_process(&run->settings);
    }
    run->program = program_find(run->argv[0], &status);
    return run->program ? recorder_attach_program(&run->settings, run->program, run->argv) : status;
}

int main(int argc, char **argv) {
    struct run run = {.settings.directory = "stalls", .report_fd = -1};
    struct cli_parser parser;
    cli_begin(&parser, &tool, argc, argv);
    int status = read_options(&parser, &run);
    if (status == CLI_OK && (run.settings.pid != 0 || run.settings.attach)) {
        status = run_attached(&run);
    } else if (status == CLI_OK) {
        struct recorder_ending end = {0};
        status = prepare(&run);
        if (status == 0) {
            status = run_program(&run, &end);
        }
        if (end.ran) {
            summarise(&run, &end);
        }
    } else if (status == CLI_EXIT) {
        status = 0;
    }
    settings_release(&run.settings);
    free(run.program);
    free(run.library);
    free(run.directory_path);
    free(run.trace_path);
    return status;
}
