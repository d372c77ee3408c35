/* stallrec: runs a program under the recorder, without relinking it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/memfd.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "recorded_program.h"
#include "base/filemap.h"
#include "base/strbuf.h"
#include "recorder/preload.h"
#include "recorder/presets.h"
#include "recorder/replay.h"
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

enum { TRACE_MAX = 64 * 1024 * 1024 };

/* The report's descriptor is out of the way: programs count on the lowest numbers being free, and
 * shell scripts redirect 3 to 9. */
enum { REPORT_FD_FROM = 100, REPORT_FD_LEAST = 3 };

enum {
    OPT_OUTPUT = 1,
    OPT_THRESHOLD,
    OPT_PRESET,
    OPT_LOOP_AT,
    OPT_CONTEXT,
    OPT_KEEP_DAYS,
    OPT_KEEP_BYTES,
    OPT_KEEP_FILES,
    OPT_FOLLOW,
    OPT_QUIET,
    OPT_REPLAY,
    OPT_LIST_PRESETS,
    OPT_LIST_DETECTORS
};

static const struct cli_option options[] = {
    {OPT_OUTPUT, 'o', "output", "DIR", "where dumps are written (stalls); made if it is missing"},
    {OPT_THRESHOLD, 't', "threshold", "MS", "a stall is a loop busy for this long (the preset's)"},
    {OPT_PRESET, 0, "preset", "NAME",
     "detect, sample and back off as a published system does (default)"},
    {OPT_LOOP_AT, 0, "loop-at", "LIB|SYMBOL",
     "the event loop waits there: a library, a function, or the LIB+0xOFFSET\n"
     "that a dump's loop_at names; repeatable; by default it is found"},
    {OPT_CONTEXT, 0, "context", "KEY=VALUE", "say this in each dump's context; repeatable"},
    {OPT_KEEP_DAYS, 0, "keep-days", "N", "remove dumps of DIR that are older"},
    {OPT_KEEP_BYTES, 0, "keep-bytes", "N", "keep at most so many bytes of dumps in DIR"},
    {OPT_KEEP_FILES, 0, "keep-files", "N", "keep at most so many dumps in DIR"},
    {OPT_FOLLOW, 0, "follow", NULL, "record the programs that the program runs, too"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary at the end"},
    {OPT_REPLAY, 0, "replay", "TRACE",
     "run nothing: step the detectors over a trace of events (- = stdin) and\n"
     "print what they would do"},
    {OPT_LIST_PRESETS, 0, "list-presets", NULL, "print the presets, their values and sources"},
    {OPT_LIST_DETECTORS, 0, "list-detectors", NULL, "print what can be detected"},
};

static const struct cli_tool tool = {
    .name = "stallrec",
    .synopsis = "[-o DIR] [--preset=NAME] [--threshold=MS] [--loop-at=LIB|SYMBOL]...\n"
                " [--context=KEY=VALUE]... [--keep-days=N] [--keep-bytes=N] [--keep-files=N]\n"
                " [--follow] [-q] [--] PROGRAM [ARG]...\n"
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
    const char *directory;
    char *directory_path;  /* absolute: the program may change its own */
    const char *preset;    /* NULL: the default */
    uint32_t threshold_ms; /* 0: the preset's */
    const char *trace;     /* to replay; NULL: none */
    struct strbuf loop_at;
    struct strbuf context; /* KEY=VALUE, one a line */
    unsigned context_count;
    uint64_t keep_days, keep_bytes, keep_files; /* 0 = no limit */
    bool follow, quiet;
    char **argv; /* of the program, borrowed */
    char *program;
    char *library;
    struct preload_report *report;
    int report_fd;
};

static void say(const char *what, const char *why) {
    cli_say(tool.name, "%s: %s", what, why);
}

/* ---- the library ---- */

/* Beside the command: as built (bin and lib), as installed (bin and lib/stallkit), or where this
 * build would have installed it. */
static char *find_library(void) {
    static const char *const places[] = {"/../lib/" PRELOAD_LIBRARY,
                                         "/../lib/stallkit/" PRELOAD_LIBRARY};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        struct strbuf path = {0};
        strbuf_add(&path, self, (size_t)(slash - self));
        strbuf_addstr(&path, places[i]);
        char *real = realpath(strbuf_cstr(&path), NULL);
        strbuf_release(&path);
        if (real) {
            return real;
        }
    }
    return realpath(STALLKIT_LIBDIR "/stallkit/" PRELOAD_LIBRARY, NULL);
}

/* Memory that the recorded processes share with us, zeroed. */
static bool make_report(struct run *run) {
    int low = (int)syscall(SYS_memfd_create, "stallrec", MFD_CLOEXEC);
    if (low < 0) {
        return false;
    }
    run->report_fd = fcntl(low, F_DUPFD, REPORT_FD_FROM);
    if (run->report_fd < 0) { /* a low RLIMIT_NOFILE */
        run->report_fd = fcntl(low, F_DUPFD, REPORT_FD_LEAST);
    }
    close(low);
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

/* What the library reads, in our own environment: the program inherits it. */
static bool set_environment(const struct run *run) {
    const char *old = getenv("LD_PRELOAD");
    struct strbuf list = {0};
    strbuf_addstr(&list, run->library);
    if (old && *old) {
        strbuf_addc(&list, ':');
        strbuf_addstr(&list, old);
    }
    bool ok = !list.failed && setenv("LD_PRELOAD", strbuf_cstr(&list), 1) == 0 &&
              setenv(PRELOAD_ENV_DIRECTORY, run->directory_path, 1) == 0 &&
              set_number(PRELOAD_ENV_REPORT, (uint64_t)run->report_fd) &&
              set_number(PRELOAD_ENV_THRESHOLD, run->threshold_ms);
    unsetenv(PRELOAD_ENV_PRESET);
    if (ok && run->preset) {
        ok = setenv(PRELOAD_ENV_PRESET, run->preset, 1) == 0;
    }
    ok = ok && set_number(PRELOAD_ENV_KEEP_DAYS, run->keep_days) &&
         set_number(PRELOAD_ENV_KEEP_BYTES, run->keep_bytes) &&
         set_number(PRELOAD_ENV_KEEP_FILES, run->keep_files);
    unsetenv(PRELOAD_ENV_LOOP_AT);
    unsetenv(PRELOAD_ENV_CONTEXT);
    unsetenv(PRELOAD_ENV_FOLLOW);
    if (ok && run->context.len > 0) {
        ok = setenv(PRELOAD_ENV_CONTEXT, strbuf_cstr(&run->context), 1) == 0;
    }
    if (ok && run->loop_at.len > 0) {
        ok = setenv(PRELOAD_ENV_LOOP_AT, strbuf_cstr(&run->loop_at), 1) == 0;
    }
    if (ok && run->follow) {
        ok = setenv(PRELOAD_ENV_FOLLOW, "1", 1) == 0;
    }
    strbuf_release(&list);
    return ok;
}

/* ---- running it ---- */

/* Signals that end or steer a program, and are for it rather than for us. */
static void forwarded_signals(sigset_t *set) {
    static const int all[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sigaddset(set, all[i]);
    }
}

/* What of the signals' state we change for ourselves, and the program gets back. */
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

/* Waits for the child, and passes on what is sent to us. What a terminal sends, it sends to both.
 */
static int await_program(pid_t child, const sigset_t *signals) {
    for (;;) {
        siginfo_t info;
        int status, sig = sigwaitinfo(signals, &info);
        if (sig > 0 && sig != SIGCHLD && info.si_code != SI_KERNEL && info.si_pid != child) {
            kill(child, sig);
        }
        if (waitpid(child, &status, WNOHANG) == child) {
            return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
        }
    }
}

/* Returns the exit status; *ran says whether the program ran. */
static int run_program(const struct run *run, bool *ran) {
    sigset_t signals;
    struct inherited inherited;
    struct sigaction reported = {.sa_handler = SIG_DFL};
    int pipe_fd[2], error = 0;
    forwarded_signals(&signals);
    if (pipe(pipe_fd) != 0) {
        say("pipe", strerror(errno));
        return EXIT_OWN;
    }
    fcntl(pipe_fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(pipe_fd[1], F_SETFD, FD_CLOEXEC);
    sigprocmask(SIG_BLOCK, &signals, &inherited.mask);
    /* Who starts us may ignore it, and then a child's end is not told and its status is lost. */
    sigaction(SIGCHLD, &reported, &inherited.child);
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
    int status = await_program(child, &signals);
    *ran = n != sizeof error;
    if (!*ran) {
        say(run->program, strerror(error));
        return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    }
    return status;
}

static const char *plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

/* What a stall of the loop is, by the options. */
static uint32_t threshold(const struct run *run) {
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    stallrec_config_preset(&config, run->preset ? run->preset : "default");
    return run->threshold_ms > 0 ? run->threshold_ms : config.threshold_ms;
}

static void summarise(const struct run *run) {
    /* The recorded processes may write to it still: what is checked is what is used. */
    const struct preload_report copy = *run->report, *r = &copy;
    bool known = r->error >= STALLREC_OK && r->error <= STALLREC_ERR_WRITE;
    if (r->processes == 0) {
        say(run->argv[0], "did not load the recorder, nothing was recorded");
    } else if (r->error != STALLREC_OK) {
        say("the recorder did not start",
            known ? stallrec_error_text((enum stallrec_error)r->error) : "unknown error");
    } else if (r->loops == 0) {
        say(run->argv[0], "no event loop was seen, nothing was recorded (see --loop-at, --follow)");
    } else if (!run->quiet && r->stalls == 0) {
        cli_say(tool.name, "no stalls of %" PRIu32 " ms or more (event loop at %.*s)",
                threshold(run), PRELOAD_TEXT, r->loop_at);
    } else if (!run->quiet) {
        cli_say(tool.name, "%" PRIu64 " stall%s, %" PRIu64 " dump%s in %s (event loop at %.*s)",
                r->stalls, plural(r->stalls), r->dumps, plural(r->dumps), run->directory,
                PRELOAD_TEXT, r->loop_at);
    }
    if (r->lost > 0) {
        cli_say(tool.name, "%" PRIu64 " dump%s could not be written", r->lost, plural(r->lost));
    }
}

/* ---- what is asked of the recorder itself ---- */

/* Prints through `print` to the standard output; 0, or EXIT_OWN after a printed message. */
static int print_all(bool (*print)(struct sink *out, const struct run *run),
                     const struct run *run) {
    struct cli_failures failures = {.tool = tool.name};
    struct cli_output out;
    if (!cli_output_open(&out, NULL, &failures)) {
        return EXIT_OWN;
    }
    bool ok = print(&out.sink, run);
    cli_output_close(&out, true, &failures);
    return ok && cli_exit_status(&failures) == CLI_OK ? 0 : EXIT_OWN;
}

static bool list_detectors(struct sink *out, const struct run *run) {
    (void)run;
    const struct rec_detector_info *info;
    for (size_t i = 0; (info = rec_detector_at(i)) != NULL; i++) {
        sink_printf(out, "%-12s %s\n", info->name, info->summary);
    }
    return true;
}

/* A preset's value as the user would write it. */
static void value_text(const struct rec_preset_value *value, struct strbuf *text) {
    const struct rec_detector_info *info;
    strbuf_clear(text);
    if (value->word) {
        strbuf_addstr(text, value->word);
    } else if (strcmp(value->field, "detectors") != 0) {
        strbuf_addf(text, "%" PRIu32, value->value);
    } else {
        for (size_t i = 0; (info = rec_detector_at(i)) != NULL; i++) {
            if (value->value & info->bit) {
                strbuf_addf(text, "%s%s", text->len > 0 ? "," : "", info->name);
            }
        }
    }
}

static bool list_presets(struct sink *out, const struct run *run) {
    (void)run;
    struct strbuf text = {0};
    struct rec_preset_value value;
    for (size_t i = 0; rec_preset_name(i); i++) {
        sink_printf(out, "%s%s: %s\n", i > 0 ? "\n" : "", rec_preset_name(i), rec_preset_title(i));
        for (size_t k = 0; rec_preset_value(i, k, &value); k++) {
            value_text(&value, &text);
            sink_printf(out, "    %-18s %-9s  %s\n", value.field, strbuf_cstr(&text),
                        value.source ? value.source : "unpublished, ours");
        }
    }
    strbuf_release(&text);
    return true;
}

static void print_line(void *ctx, const char *line) {
    sink_printf(ctx, "%s\n", line);
}

static bool replay(struct sink *out, const struct run *run) {
    const char *name = strcmp(run->trace, "-") == 0 ? "/dev/stdin" : run->trace;
    struct filemap map;
    struct err e = {0};
    char message[256];
    enum st st = filemap_open(&map, name, TRACE_MAX, &e);
    if (st != ST_OK) {
        say(run->trace, st == ST_NONE ? "no such file" : e.text);
        return false;
    }
    struct rec_replay_sink lines = {.line = print_line, .ctx = out, .preset = run->preset};
    bool ok = rec_replay((const char *)map.data, map.size, &lines, message, sizeof message);
    filemap_release(&map);
    if (!ok) {
        say(run->trace, message);
    }
    return ok;
}

static bool is_preset(const char *name) {
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    if (stallrec_config_preset(&config, name) == STALLREC_OK) {
        return true;
    }
    cli_usage_error(&tool, "no preset '%s' (see --list-presets)", name);
    return false;
}

/* An option that stands for itself. */
static int only(int status) {
    return status == 0 ? CLI_EXIT : status;
}

/* ---- options ---- */

/* Takes one KEY=VALUE; false after a printed message. */
static bool add_context(struct run *run, const char *pair) {
    size_t key = strcspn(pair, "="), size = strlen(pair);
    bool ok = key > 0 && key < STALLREC_CONTEXT_KEY && key + 1 < size && !strchr(pair, '\n') &&
              size - key <= STALLREC_CONTEXT_VALUE;
    if (!ok) {
        cli_usage_error(&tool, "--context: '%s' is not KEY=VALUE of at most %d and %d bytes", pair,
                        STALLREC_CONTEXT_KEY - 1, STALLREC_CONTEXT_VALUE - 1);
        return false;
    }
    if (++run->context_count > STALLREC_CONTEXT_SLOTS) {
        cli_usage_error(&tool, "--context: more than %d", STALLREC_CONTEXT_SLOTS);
        return false;
    }
    if (run->context.len > 0) {
        strbuf_addc(&run->context, '\n');
    }
    strbuf_addstr(&run->context, pair);
    return true;
}

/* CLI_OK, or the status to end with after a printed message. */
static int read_options(struct cli_parser *p, struct run *run) {
    for (int id; (id = cli_next(p)) != CLI_END;) {
        uint64_t number;
        switch (id) {
        case OPT_OUTPUT:
            run->directory = p->value;
            break;
        case OPT_THRESHOLD:
            if (!cli_number(&tool, "--threshold", p->value, 1, 3600000, &number)) {
                return EXIT_OWN;
            }
            run->threshold_ms = (uint32_t)number;
            break;
        case OPT_PRESET:
            if (!is_preset(p->value)) {
                return EXIT_OWN;
            }
            run->preset = p->value;
            break;
        case OPT_REPLAY:
            run->trace = p->value;
            break;
        case OPT_LIST_PRESETS:
            return only(print_all(list_presets, run));
        case OPT_LIST_DETECTORS:
            return only(print_all(list_detectors, run));
        case OPT_LOOP_AT:
            if (run->loop_at.len > 0) {
                strbuf_addc(&run->loop_at, '\n');
            }
            strbuf_addstr(&run->loop_at, p->value);
            break;
        case OPT_CONTEXT:
            if (!add_context(run, p->value)) {
                return EXIT_OWN;
            }
            break;
        case OPT_KEEP_DAYS:
            if (!cli_number(&tool, "--keep-days", p->value, 1, 36500, &run->keep_days)) {
                return EXIT_OWN;
            }
            break;
        case OPT_KEEP_BYTES:
            if (!cli_number(&tool, "--keep-bytes", p->value, 1, MAX_KEEP_BYTES, &run->keep_bytes)) {
                return EXIT_OWN;
            }
            break;
        case OPT_KEEP_FILES:
            if (!cli_number(&tool, "--keep-files", p->value, 1, 999999999, &run->keep_files)) {
                return EXIT_OWN;
            }
            break;
        case OPT_FOLLOW:
            run->follow = true;
            break;
        case OPT_QUIET:
            run->quiet = true;
            break;
        default:
            return p->status == 0 ? CLI_EXIT : EXIT_OWN;
        }
    }
    if (run->trace) {
        if (p->operand_count > 0) {
            cli_usage_error(&tool, "--replay runs no program");
            return EXIT_OWN;
        }
        return only(print_all(replay, run));
    }
    if (p->operand_count == 0) {
        cli_usage_error(&tool, "no program to run");
        return EXIT_OWN;
    }
    run->argv = p->operands;
    return CLI_OK;
}

/* False, with errno set: there is no folder that we may write to. */
static bool make_folder(const char *path) {
    struct stat st;
    if ((mkdir(path, 0777) != 0 && errno != EEXIST) || stat(path, &st) != 0) {
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR; /* access(2) lets root "search" a file */
        return false;
    }
    return access(path, W_OK | X_OK) == 0;
}

/* All that must be in place before the program runs; 0, or the status to end with. */
static int prepare(struct run *run) {
    int status = EXIT_OWN;
    run->program = program_find(run->argv[0], &status);
    if (!run->program) {
        return status;
    }
    if (!program_check(run->program)) {
        return EXIT_OWN;
    }
    run->library = find_library();
    if (!run->library) {
        say(PRELOAD_LIBRARY, "not found beside this command");
        return EXIT_OWN;
    }
    if (strpbrk(run->library, ": ")) {
        say(run->library, "the dynamic linker takes no path with a space or colon");
        return EXIT_OWN;
    }
    if (!make_folder(run->directory) || !(run->directory_path = realpath(run->directory, NULL))) {
        say(run->directory, strerror(errno));
        return EXIT_OWN;
    }
    if (!make_report(run) || !set_environment(run)) {
        say("preparing the program", strerror(errno));
        return EXIT_OWN;
    }
    return 0;
}

int main(int argc, char **argv) {
    struct run run = {.directory = "stalls", .report_fd = -1};
    struct cli_parser parser;
    cli_begin(&parser, &tool, argc, argv);
    int status = read_options(&parser, &run);
    if (status == CLI_OK) {
        bool ran = false;
        status = prepare(&run);
        if (status == 0) {
            status = run_program(&run, &ran);
        }
        if (ran) {
            summarise(&run);
        }
    } else if (status == CLI_EXIT) {
        status = 0;
    }
    strbuf_release(&run.loop_at);
    strbuf_release(&run.context);
    free(run.program);
    free(run.library);
    free(run.directory_path);
    return status;
}
