/* stallrec: runs a program under the recorder, without relinking it. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli.h"
#include "base/reader.h"
#include "base/strbuf.h"
#include "recorder/preload.h"
#include "recorder/stallrec.h"

/* As env(1): our own failure, a program that cannot be run, one that is not there. */
enum { EXIT_OWN = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

enum { HEAD_SIZE = 64 * 1024, SCRIPT_DEPTH = 4 };

enum { OPT_OUTPUT = 1, OPT_THRESHOLD, OPT_LOOP_AT, OPT_FOLLOW, OPT_QUIET };

static const struct cli_option options[] = {
    {OPT_OUTPUT, 'o', "output", "DIR", "where dumps are written (stalls); made if it is missing"},
    {OPT_THRESHOLD, 't', "threshold", "MS", "a stall is a loop busy for this long (250)"},
    {OPT_LOOP_AT, 0, "loop-at", "LIB|SYMBOL",
     "the event loop waits there: a library, a function, or the LIB+0xOFFSET\n"
     "that a dump's loop_at names; repeatable; by default it is found"},
    {OPT_FOLLOW, 0, "follow", NULL, "record the programs that the program runs, too"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary at the end"},
};

static const struct cli_tool tool = {
    .name = "stallrec",
    .synopsis = "[-o DIR] [--threshold=MS] [--loop-at=LIB|SYMBOL]... [--follow] [-q] [--] PROGRAM "
                "[ARG]...",
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
    char *directory_path; /* absolute: the program may change its own */
    uint32_t threshold_ms;
    struct strbuf loop_at;
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

/* --- the program --------------------------------------------------------------------------------
 */

static bool is_runnable_file(const char *path) {
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISREG(sb.st_mode) && access(path, X_OK) == 0;
}

/* The file that execvp would run, malloc'ed; NULL with an exit status after a printed message. */
static char *find_program(const char *name, int *status) {
    struct strbuf path = {0};
    bool exists = false;
    const char *list = strchr(name, '/') ? "" : getenv("PATH");
    for (const char *at = list ? list : "/usr/bin:/bin"; at;) {
        size_t size = strcspn(at, ":");
        strbuf_clear(&path);
        strbuf_add(&path, at, size);
        if (size > 0) {
            strbuf_addc(&path, '/');
        }
        strbuf_addstr(&path, name);
        if (!path.failed && is_runnable_file(strbuf_cstr(&path))) {
            return strbuf_take(&path);
        }
        exists |= access(strbuf_cstr(&path), F_OK) == 0;
        at = at[size] == ':' ? at + size + 1 : NULL;
    }
    strbuf_release(&path);
    *status = exists ? EXIT_CANNOT_RUN : EXIT_NOT_FOUND;
    say(name, exists ? "cannot be run" : "not found");
    return NULL;
}

/* Reads the first bytes of a file; *size of them. False: it cannot be read, which is no reason not
 * to run it. */
static bool read_head(const char *path, uint8_t *bytes, size_t *size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, HEAD_SIZE);
    if (fd >= 0) {
        close(fd);
    }
    *size = n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* Why the dynamic linker would not load our library into this ELF file; NULL if it would. */
static const char *refuse_elf(const uint8_t *bytes, size_t size) {
    struct reader r = reader_init("program", bytes, size);
    reader_seek(&r, EI_CLASS);
    bool same_class = reader_u8(&r) == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
    reader_seek(&r, offsetof(Elf64_Ehdr, e_machine));
    if (!same_class || reader_u16(&r) != EM_X86_64) {
        return "made for another processor than the recorder";
    }
    reader_seek(&r, offsetof(Elf64_Ehdr, e_phoff));
    uint64_t table = reader_u64(&r);
    reader_seek(&r, offsetof(Elf64_Ehdr, e_phentsize));
    uint16_t entry = reader_u16(&r), count = reader_u16(&r);
    for (uint16_t i = 0; i < count; i++) {
        reader_seek(&r, table);
        reader_skip(&r, (uint64_t)i * entry);
        if (reader_u32(&r) == PT_INTERP && !reader_failed(&r)) {
            return NULL;
        }
    }
    /* A header out of reach is not ours to judge. */
    return reader_failed(&r) ? NULL : "statically linked: it can only be recorded from within";
}

static const char *refuse_rights(const char *path) {
    struct stat sb;
    if (stat(path, &sb) != 0) {
        return NULL;
    }
    bool other_user = (sb.st_mode & S_ISUID) && sb.st_uid != geteuid();
    bool other_group = (sb.st_mode & S_ISGID) && sb.st_gid != getegid();
    bool capable = geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
    return other_user || other_group || capable
               ? "set-user-id or privileged: the system does not let it be recorded"
               : NULL;
}

/* The interpreter of a script ("#!/bin/sh -e"), malloc'ed; NULL if it names none. */
static char *script_interpreter(const uint8_t *bytes, size_t size) {
    struct strbuf path = {0};
    size_t at = 2;
    while (at < size && (bytes[at] == ' ' || bytes[at] == '\t')) {
        at++;
    }
    while (at < size && bytes[at] > ' ') {
        strbuf_addc(&path, (char)bytes[at++]);
    }
    return path.len > 0 ? strbuf_take(&path) : NULL;
}

/* Says why a program cannot be recorded, and returns false. */
static bool check_program(const char *path, int depth) {
    uint8_t *bytes = malloc(HEAD_SIZE);
    size_t size = 0;
    const char *why = refuse_rights(path);
    bool ok = true;
    if (bytes && !why && read_head(path, bytes, &size)) {
        if (size > sizeof(Elf64_Ehdr) && memcmp(bytes, ELFMAG, SELFMAG) == 0) {
            why = refuse_elf(bytes, size);
        } else if (size > 2 && memcmp(bytes, "#!", 2) == 0 && depth < SCRIPT_DEPTH) {
            char *interpreter = script_interpreter(bytes, size);
            ok = !interpreter || check_program(interpreter, depth + 1);
            free(interpreter);
        }
    }
    free(bytes);
    if (why) {
        say(path, why);
    }
    return ok && !why;
}

/* --- the library --------------------------------------------------------------------------------
 */

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
    run->report_fd = (int)syscall(SYS_memfd_create, "stallrec", 0);
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
    unsetenv(PRELOAD_ENV_LOOP_AT);
    unsetenv(PRELOAD_ENV_FOLLOW);
    if (ok && run->loop_at.len > 0) {
        ok = setenv(PRELOAD_ENV_LOOP_AT, strbuf_cstr(&run->loop_at), 1) == 0;
    }
    if (ok && run->follow) {
        ok = setenv(PRELOAD_ENV_FOLLOW, "1", 1) == 0;
    }
    strbuf_release(&list);
    return ok;
}

/* --- running it ---------------------------------------------------------------------------------
 */

/* Signals that end or steer a program, and are for it rather than for us. */
static void forwarded_signals(sigset_t *set) {
    static const int all[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sigaddset(set, all[i]);
    }
}

/* Runs the program in the child; returns only by ending it. Its errno goes to `fd`. */
static void exec_program(const struct run *run, const sigset_t *mask, int fd) {
    sigprocmask(SIG_SETMASK, mask, NULL);
    execv(run->program, run->argv);
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
    sigset_t signals, old;
    int pipe_fd[2], error = 0;
    forwarded_signals(&signals);
    if (pipe(pipe_fd) != 0) {
        say("pipe", strerror(errno));
        return EXIT_OWN;
    }
    fcntl(pipe_fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(pipe_fd[1], F_SETFD, FD_CLOEXEC);
    sigprocmask(SIG_BLOCK, &signals, &old);
    pid_t child = fork();
    if (child == 0) {
        exec_program(run, &old, pipe_fd[1]);
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

static void summarise(const struct run *run) {
    const struct preload_report *r = run->report;
    if (r->processes == 0) {
        say(run->argv[0], "did not load the recorder, nothing was recorded");
    } else if (r->error != STALLREC_OK) {
        say("the recorder did not start", stallrec_error_text((enum stallrec_error)r->error));
    } else if (r->loops == 0) {
        say(run->argv[0], "no event loop was seen, nothing was recorded (see --loop-at, --follow)");
    } else if (!run->quiet && r->stalls == 0) {
        cli_say(tool.name, "no stalls of %" PRIu32 " ms or more (event loop at %.*s)",
                run->threshold_ms, PRELOAD_TEXT, r->loop_at);
    } else if (!run->quiet) {
        cli_say(tool.name, "%" PRIu64 " stall%s, %" PRIu64 " dump%s in %s (event loop at %.*s)",
                r->stalls, plural(r->stalls), r->dumps, plural(r->dumps), run->directory,
                PRELOAD_TEXT, r->loop_at);
    }
    if (r->lost > 0) {
        cli_say(tool.name, "%" PRIu64 " dump%s could not be written", r->lost, plural(r->lost));
    }
}

/* --- options ------------------------------------------------------------------------------------
 */

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
        case OPT_LOOP_AT:
            if (run->loop_at.len > 0) {
                strbuf_addc(&run->loop_at, '\n');
            }
            strbuf_addstr(&run->loop_at, p->value);
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
    if (p->operand_count == 0) {
        cli_usage_error(&tool, "no program to run");
        return EXIT_OWN;
    }
    run->argv = p->operands;
    return CLI_OK;
}

/* All that must be in place before the program runs; 0, or the status to end with. */
static int prepare(struct run *run) {
    int status = EXIT_OWN;
    run->program = find_program(run->argv[0], &status);
    if (!run->program) {
        return status;
    }
    if (!check_program(run->program, 0)) {
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
    if ((mkdir(run->directory, 0777) != 0 && errno != EEXIST) ||
        access(run->directory, W_OK | X_OK) != 0 ||
        !(run->directory_path = realpath(run->directory, NULL))) {
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
    struct run run = {.directory = "stalls", .threshold_ms = 250, .report_fd = -1};
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
    free(run.program);
    free(run.library);
    free(run.directory_path);
    return status;
}
