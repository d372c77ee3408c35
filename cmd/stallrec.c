/* stallrec: runs a program under the recorder, without relinking the program, or records a process
 * that runs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "record/recorded_program.h"
#include "record/recorder_answers.h"
#include "record/recorder_attach.h"
#include "record/recorder_settings.h"
#include "record/shared_report.h"
#include "record/unwatched_processes.h"
#include "base/strbuf.h"
#include "recorder/preload/preload.h"
#include "recorder/spool/recover.h"
#include "recorder/stallrec.h"

/* Exit statuses, the same as those of env(1): a failure of stallrec, a program that cannot be run,
 * and a program that does not exist. EXIT_SIGNAL is added to the number of the signal that ended
 * the program. */
enum {
    EXIT_OWN = 125,
    EXIT_CANNOT_RUN = PROGRAM_CANNOT_RUN,
    EXIT_NOT_FOUND = PROGRAM_NOT_FOUND,
    EXIT_SIGNAL = 128
};

/* Largest value of --keep-bytes: the library reads no number of more than 18 digits from its
 * environment. */
#define MAX_KEEP_BYTES UINT64_C(999999999999999999)

/* Milliseconds between two checks for news of stalls with -v, or for processes with --follow. */
enum { NEWS_MS = 100 };

/* Maximum number of milliseconds for which other processes that the program started are awaited
 * after its end. */
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
    OPT_MODE,
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
    {OPT_MODE, 0, "mode", "OCTAL", "mode of dumps and session files (default 0600)",
     CLI_CALL(settings_mode)},
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
     "watch the threads whose names match, or all, 64 at most (the main thread)",
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
    .synopsis = "[-o DIR] [--preset=NAME] [--threshold=MS] [--sample-ms=MS] [--ring=N]\n"
                " [--check-ms=MS] [--detectors=NAME,...] [--cpu-limit=PERCENT] [--max-threads=N]\n"
                " [--loop-at=LIB|SYMBOL]... [--thread=GLOB|all] [--context=KEY=VALUE]...\n"
                " [--keep-days=N] [--keep-bytes=N] [--keep-files=N] [--mode=OCTAL] [--trace=FILE] "
                "[--follow] [-q]\n"
                " [-v] [--] PROGRAM [ARG]...\n"
                "-p PID | --attach [--for=SECONDS] [--top] [-o DIR] [...] [--] [PROGRAM [ARG]...]\n"
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
    /* The paths are absolute, because the program may change its working directory. */
    char *directory_path, *trace_path;
    char **argv; /* arguments of the program, borrowed */
    char *program;
    char *library;
    struct shared_report report;
    struct unwatched_processes *others; /* the processes that are not watched, with --follow */
};

static void say(const char *what, const char *why) {
    cli_say(tool.name, "%s: %s", what, why);
}

/* ---- the environment of the program ---- */

static bool set_number(const char *name, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return setenv(name, text, 1) == 0;
}

/* Sets the path by which processes that lost the descriptor find the shared report. */
static bool set_report_path(const struct shared_report *report) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), report->fd);
    return setenv(PRELOAD_ENV_REPORT_AT, report->path ? report->path : path, 1) == 0;
}

/* Puts the library's settings into stallrec's own environment, which the program inherits. */
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
        set_number(PRELOAD_ENV_REPORT, (uint64_t)run->report.fd) && set_report_path(&run->report) &&
        set_number(PRELOAD_ENV_THRESHOLD, set->threshold_ms) &&
        set_number(PRELOAD_ENV_SAMPLE, set->sample_ms) && set_number(PRELOAD_ENV_RING, set->ring) &&
        set_number(PRELOAD_ENV_CHECK, set->check_ms) &&
        set_number(PRELOAD_ENV_MAX_THREADS, set->max_threads) &&
        set_number(PRELOAD_ENV_DETECTORS, set->detectors) &&
        set_number(PRELOAD_ENV_CPU_LIMIT, (uint64_t)set->cpu_percent * 10);
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
         set_number(PRELOAD_ENV_KEEP_FILES, set->keep_files) &&
         set_number(PRELOAD_ENV_FILE_MODE, set->file_mode);
    unsetenv(PRELOAD_ENV_THREADS);
    if (ok && set->threads) {
        ok = setenv(PRELOAD_ENV_THREADS, settings_thread_glob(set), 1) == 0;
    }
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
        int folder =
            raise_descriptor(open(run->directory_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        ok = folder >= 0 && set_number(PRELOAD_ENV_FOLDER, (uint64_t)folder) &&
             setenv(PRELOAD_ENV_FOLLOW, "1", 1) == 0;
    }
    strbuf_release(&list);
    return ok;
}

/* ---- running the program ---- */

/* Sets *set to the signals that end or control a program, which are meant for the program and not
 * for stallrec, and to SIGCHLD, by which stallrec learns of the program's end. */
static void forwarded_signals(sigset_t *set) {
    static const int all[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sigaddset(set, all[i]);
    }
}

/* The parts of the signal state that stallrec changes for itself and restores for the program. */
struct inherited {
    sigset_t mask;
    struct sigaction child;
};

/* Runs the program in the child and never returns. If it cannot be run, the errno of the attempt is
 * written to `fd`. */
static void exec_program(const struct run *run, const struct inherited *inherited, int fd) {
    sigaction(SIGCHLD, &inherited->child, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
    execvp(run->program, run->argv); /* execvp also runs scripts without #!, which execv does not */
    int error = errno;
    ssize_t n = write(fd, &error, sizeof error);
    _exit(n == sizeof error ? EXIT_CANNOT_RUN : EXIT_OWN);
}

static uint64_t recorder_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits for the child, and forwards signals that other processes sent to stallrec: those of a
 * terminal and of the kernel reach the child anyway, and those of the child are not sent back.
 * Returns the child's exit status, or EXIT_SIGNAL plus the signal that ended it. */
static int await_program(const struct run *run, pid_t child, const sigset_t *signals,
                         struct recorder_ending *end) {
    uint64_t heard = 0;
    for (;;) {
        const struct timespec look = {.tv_nsec = NEWS_MS * 1000000};
        bool verbose = run->settings.verbose, looks = verbose || run->settings.follow;
        siginfo_t info;
        int status, sig = sigtimedwait(signals, &info, looks ? &look : NULL);
        if (sig > 0 && sig != SIGCHLD && info.si_code != SI_KERNEL && info.si_pid != child) {
            kill(child, sig);
        }
        if (verbose) {
            recorder_say_news(run->report.memory, &heard, recorder_clock_ns() - end->began_ns);
        }
        if (run->settings.follow && recorder_clock_ns() >= run->others->due_ns) {
            unwatched_look(run->others, run->report.memory, child, recorder_clock_ns());
        }
        if (waitpid(child, &status, WNOHANG) == child) {
            end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
        }
    }
}

/* Runs the program and waits for its end. Returns the exit status. */
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
    /* The parent may have set SIGCHLD to be ignored; a child's end would then be unnoticed and
     * its status lost. */
    sigaction(SIGCHLD, &reported, &inherited.child);
    clock_gettime(CLOCK_REALTIME, &now);
    end->began_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    end->began_ns = recorder_clock_ns();
    run->report.memory->began_ms = end->began_ms;
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
    /* The pipe ends without a byte once the program runs, as exec closes it. */
    ssize_t n = read(pipe_fd[0], &error, sizeof error);
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

/* Sets pids to the ids of the recorded processes that have not reported their end, without the
 * program itself, and returns their number. */
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

/* Writes the dumps that the recorders in killed processes could not write, and prints whether the
 * program died in a stall. Waits up to OTHERS_MS ms for other processes that the program started,
 * as they may end shortly after it. After a failure, which is printed, *got is zero. */
static void recover_dumps(const struct run *run, const struct recorder_ending *end,
                          struct recover_counts *got) {
    uint32_t others[PRELOAD_PROCESSES];
    const struct recover_request request = {
        .directory = run->directory_path,
        .mode = run->settings.file_mode,
        .pid = (uint32_t)end->pid,
        .by_itself = end->signal == 0,
        .since_ms = end->began_ms,
        .others = others,
        .other_count = list_others(run->report.memory, (uint32_t)end->pid, others),
        .others_ms = OTHERS_MS};
    if (!recover_folder(&request, got)) {
        say(run->settings.directory, strerror(errno));
        *got = (struct recover_counts){0};
        return;
    }
    if (!run->settings.quiet && got->fatal > 0) {
        cli_say(tool.name, "the program died in a stall");
    }
}

/* Prints how many dumps of programs that had died before were written, by the recorders that
 * started in the folder and by this command. */
static void say_earlier(const struct preload_report *report, uint64_t count) {
    for (uint32_t i = 0; i < PRELOAD_PROCESSES; i++) {
        count += report->process[i].earlier;
    }
    if (count > 0) {
        cli_say(tool.name, "%" PRIu64 " dump%s of programs that died earlier", count,
                count == 1 ? "" : "s");
    }
}

static void summarise(const struct run *run, struct recorder_ending *end) {
    static struct preload_report copy;
    struct recover_counts got;
    recover_dumps(run, end, &got);
    if (run->settings.follow) {
        struct strbuf mark = {0};
        const char *path = getenv(PRELOAD_ENV_REPORT_AT);
        strbuf_addf(&mark, "%s=%s", PRELOAD_ENV_REPORT_AT, path ? path : "");
        end->left = unwatched_left(run->report.memory, strbuf_cstr(&mark));
        strbuf_release(&mark);
    }
    /* A copy, as processes that still run write to the report. */
    memcpy(&copy, run->report.memory, sizeof copy);
    if (!run->settings.quiet) {
        say_earlier(&copy, got.earlier);
    }
    recorder_say_summary(&copy, end, &got, &run->settings, run->argv[0], run->others);
}

/* ---- options ---- */

/* Returns the status of an option that runs no program: CLI_EXIT if `done`, else EXIT_OWN. */
static int only(bool done) {
    return done ? CLI_EXIT : EXIT_OWN;
}

/* Runs --replay, which takes no option but --preset. Returns CLI_EXIT, or the exit status. */
static int replay_trace(const struct cli_parser *p, const struct recorder_settings *set) {
    bool alone = true;
    if (p->operand_count > 0) {
        alone = cli_reject(&tool, "--replay runs no program");
    } else if (cli_useless(p, CLI_BIT(OPT_PRESET) | CLI_BIT(OPT_REPLAY))) {
        alone = cli_reject(&tool, "--replay takes no other option than --preset");
    }
    return only(alone && recorder_replay(tool.name, set->replay, set->preset));
}

/* Reads the options. Returns CLI_OK to record a program or a process, CLI_EXIT if nothing is left
 * to do, or the exit status, with the error printed. */
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

/* Makes the folder of the dumps. False: an error was printed. */
static bool make_dump_folder(const struct recorder_settings *set) {
    struct err e = {0};
    if (cli_check_folder(set->directory, &e) != ST_OK) {
        say(set->directory, e.text);
        return false;
    }
    if (!recorder_make_folder(set->directory, set->file_mode)) {
        say(set->directory, strerror(errno));
        return false;
    }
    return true;
}

/* Prepares all that must be in place before the program runs. Returns 0, or the exit status. */
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
    if (!make_dump_folder(&run->settings)) {
        return EXIT_OWN;
    }
    run->directory_path = realpath(run->settings.directory, NULL);
    if (!run->directory_path) {
        say(run->settings.directory, strerror(errno));
        return EXIT_OWN;
    }
    if (run->settings.trace && !(run->trace_path = recorder_make_trace(run->settings.trace))) {
        say(run->settings.trace, strerror(errno));
        return EXIT_OWN;
    }
    run->others = calloc(1, sizeof *run->others);
    if (!run->others ||
        !shared_report_make(&run->report, run->settings.follow ? run->directory_path : NULL) ||
        !set_environment(run)) {
        say("preparing the program", strerror(errno));
        return EXIT_OWN;
    }
    return 0;
}

/* Runs -p or --attach. Returns the exit status. */
static int run_attached(struct run *run) {
    int status = EXIT_OWN;
    if (!make_dump_folder(&run->settings)) {
        return EXIT_OWN;
    }
    if (run->settings.pid != 0) {
        return recorder_attach_process(&run->settings);
    }
    run->program = program_find(run->argv[0], &status);
    return run->program ? recorder_attach_program(&run->settings, run->program, run->argv) : status;
}

int main(int argc, char **argv) {
    struct run run = {.settings.directory = "stalls", .report.fd = -1};
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
    shared_report_release(&run.report);
    settings_release(&run.settings);
    free(run.program);
    free(run.library);
    free(run.directory_path);
    free(run.trace_path);
    free(run.others);
    return status;
}
