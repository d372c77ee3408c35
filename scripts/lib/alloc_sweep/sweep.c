/* Runs the command that this library is loaded into once for each of its allocations, with that
 * one refused, and once more with it and all later ones refused, before the command itself runs
 * undisturbed. A run is right if its output is that of an undisturbed run, or if it ends with a
 * message on stderr and a status that says so. With --answer-each a refused line has an answer of
 * its own, which is the message. Linux, for tests only.
 *
 * The environment says what to do:
 *   SWEEP_REPORT  file that findings and a summary are appended to
 *   SWEEP_EVERY   "call": each allocation; "N": the first allocation of each call stack whose
 *                 hash, with that of the command line, is 0 modulo N, so that two command lines
 *                 that have call stacks in common try different ones of them
 *   SWEEP_CALL    "N" or "N+", in place of both: refuse the Nth allocation (and all later ones)
 *                 of the command itself, to look at a finding with a debugger
 * Findings:  wrong TAB number TAB once|on TAB what TAB MODULE+OFFSET,... TAB command line
 * Summary:   swept TAB allocations TAB runs TAB findings TAB command line */
#define _GNU_SOURCE
#include "refuse.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUN_SECONDS = 20, PATHS_MAX = 8, SEEN_SIZE = 1 << 20 };

/* A file or folder that the command writes. */
struct written {
    const char *path;
    bool compared; /* its bytes are output; else it is state, such as a store */
    char *saved;   /* copy of what was there before, or NULL */
};

struct outcome {
    int status;          /* as waitpid has it */
    uint64_t out, files; /* digests of stdout and of the files written */
    uint64_t err;
    bool said; /* is there text on stderr? */
};

struct sweep {
    int argc;
    char **argv;
    FILE *report;
    bool every_call;
    unsigned long modulo;
    uint32_t salt;    /* hash of the command line */
    int in, out, err; /* stdin of all runs, or -1; stdout and stderr of one */
    struct written written[PATHS_MAX];
    int written_count;
    char scratch[64]; /* folder of the saved copies */
    struct outcome usual;
    uint64_t runs, findings;
};

static uint64_t digest(uint64_t h, const void *bytes, size_t len) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ p[i]) * 1099511628211u;
    }
    return h;
}

static uint64_t digest_fd(uint64_t h, int fd) {
    char bytes[16384];
    ssize_t n;
    lseek(fd, 0, SEEK_SET);
    while ((n = read(fd, bytes, sizeof bytes)) > 0) {
        h = digest(h, bytes, (size_t)n);
    }
    return h;
}

/* ---- what the command writes beside stdout ---- */

/* Runs a program and waits for it. */
static void run_tool(const char *a, const char *b, const char *c, const char *d) {
    pid_t pid = fork();
    if (pid == 0) {
        execlp(a, a, b, c, d, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

static void add_written(struct sweep *s, const char *path, bool compared) {
    struct stat st;
    if (s->written_count == PATHS_MAX ||
        (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
        return; /* a device or a pipe */
    }
    struct written *w = &s->written[s->written_count++];
    *w = (struct written){.path = path, .compared = compared};
    if (lstat(path, &st) == 0 && asprintf(&w->saved, "%s/%d", s->scratch, s->written_count) > 0) {
        run_tool("cp", "-a", path, w->saved);
    }
}

/* Adds a file of SQLite, with those that it keeps beside it. */
static void add_history(struct sweep *s, const char *path) {
    static const char *const beside[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char *name;
        if (asprintf(&name, "%s%s", path, beside[i]) > 0) {
            add_written(s, name, false);
        }
    }
}

/* Finds the outputs and the state among the arguments. False: the command cannot be swept. */
static bool find_written(struct sweep *s) {
    static const char *const outputs[] = {"-o", "--output", "--missing-out", "--summary", NULL};
    static const char *const states[] = {"--store", "--add", "--learn", "--gc", NULL};
    const char *cache = getenv("XDG_CACHE_HOME");
    if (cache) {
        add_written(s, cache, false);
    }
    for (int i = 1; i < s->argc; i++) {
        if (strcmp(s->argv[i], "--watch") == 0 || strcmp(s->argv[i], "--fetch-cmd") == 0) {
            return false; /* has no end of its own, or starts other programs */
        }
        for (int k = 0; i + 1 < s->argc && outputs[k]; k++) {
            if (strcmp(s->argv[i], outputs[k]) == 0 && strcmp(s->argv[i + 1], "-") != 0 &&
                strcmp(program_invocation_short_name, "stalladdr") != 0) {
                add_written(s, s->argv[i + 1], true);
            }
        }
        if (i + 1 < s->argc && strcmp(s->argv[i], "--history") == 0) {
            add_history(s, s->argv[i + 1]);
        }
        for (int k = 0; i + 1 < s->argc && states[k]; k++) {
            if (strcmp(s->argv[i], states[k]) == 0) {
                add_written(s, s->argv[i + 1], false);
            }
        }
    }
    return true;
}

static void restore_written(const struct sweep *s) {
    struct stat st;
    for (int i = 0; i < s->written_count; i++) {
        const struct written *w = &s->written[i];
        if (lstat(w->path, &st) == 0) {
            run_tool("rm", "-rf", w->path, NULL);
        }
        if (w->saved) {
            run_tool("cp", "-a", w->saved, w->path);
        }
    }
}

static uint64_t digest_of_tree; /* nftw takes no context */

static int digest_entry(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st;
    int fd = kind == FTW_F ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        uint64_t h = digest(0, path + at->base, strlen(path + at->base));
        digest_of_tree += digest_fd(h, fd); /* a sum: the order of a folder says nothing */
        close(fd);
    }
    return 0;
}

static uint64_t digest_written(const struct sweep *s) {
    digest_of_tree = 0;
    for (int i = 0; i < s->written_count; i++) {
        if (s->written[i].compared) {
            nftw(s->written[i].path, digest_entry, 16, FTW_PHYS);
        }
    }
    return digest_of_tree;
}

/* ---- one run ---- */

/* Becomes the process whose allocations are refused, which goes on to main. */
static void become_observed(struct sweep *s) {
    dup2(s->out, STDOUT_FILENO);
    dup2(s->err, STDERR_FILENO);
    if (s->in >= 0) {
        dup2(s->in, STDIN_FILENO);
        close(s->in);
    }
    close(s->out);
    close(s->err);
    fclose(s->report);
    alarm(RUN_SECONDS);
}

/* Runs the command with an allocation refused, or none if `call` is 0. True in the process that
 * goes on to main, false in the parent, when the run is over. */
static bool run(struct sweep *s, struct refusals *r, uint64_t call, bool all_later,
                struct outcome *got) {
    r->calls = 0;
    r->refuse = call;
    r->all_later = all_later;
    r->refused = false;
    if (ftruncate(s->out, 0) != 0 || ftruncate(s->err, 0) != 0) {
        abort();
    }
    lseek(s->out, 0, SEEK_SET);
    lseek(s->err, 0, SEEK_SET);
    if (s->in >= 0) {
        lseek(s->in, 0, SEEK_SET);
    }
    fflush(s->report);
    pid_t pid = fork();
    if (pid == 0) {
        become_observed(s);
        refusals = r;
        return true;
    }
    s->runs++;
    waitpid(pid, &got->status, 0);
    got->said = lseek(s->err, 0, SEEK_END) > 0;
    got->out = digest_fd(1, s->out);
    got->err = digest_fd(1, s->err);
    got->files = digest_written(s);
    return false;
}

/* ---- judgement ---- */

static void report(struct sweep *s, const struct refusals *r, uint64_t call, bool all_later,
                   const char *what) {
    s->findings++;
    fprintf(s->report, "wrong\t%llu\t%s\t%s\t", (unsigned long long)call, all_later ? "on" : "once",
            what);
    for (int i = 0; i < r->frames; i++) {
        if (r->stack[i].module[0]) {
            fprintf(s->report, "%s+0x%llx,", r->stack[i].module,
                    (unsigned long long)r->stack[i].offset);
        }
    }
    fputc('\t', s->report);
    for (int i = 0; i < s->argc; i++) {
        fprintf(s->report, "%s%s", i ? " " : "", s->argv[i]);
    }
    fputc('\n', s->report);
}

/* Does the answer to a line say that there was no memory for it? */
static bool is_answered(const struct sweep *s) {
    bool each = false;
    for (int i = 1; i < s->argc; i++) {
        each = each || strcmp(s->argv[i], "--answer-each") == 0;
    }
    struct stat st;
    if (!each || fstat(s->out, &st) != 0 || st.st_size == 0) {
        return false;
    }
    static const char told[] = "out of memory";
    void *text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, s->out, 0);
    bool said = text != MAP_FAILED && memmem(text, (size_t)st.st_size, told, sizeof told - 1);
    if (text != MAP_FAILED) {
        munmap(text, (size_t)st.st_size);
    }
    return said;
}

/* What is wrong with a run in which memory ran out; NULL: nothing. */
static const char *fault_of(const struct sweep *s, const struct outcome *got, char *text,
                            size_t size) {
    const struct outcome *usual = &s->usual;
    if (!WIFEXITED(got->status)) {
        snprintf(text, size, "killed by signal %d", WTERMSIG(got->status));
        return text;
    }
    int status = WEXITSTATUS(got->status);
    bool same = got->out == usual->out && got->files == usual->files;
    if (same && got->status == usual->status) {
        return NULL;
    }
    if (status == 0) {
        return is_answered(s) ? NULL : "status 0 and another output";
    }
    if (!got->said || got->err == usual->err) {
        snprintf(text, size, "status %d without a message", status);
        return text;
    }
    if ((status == 3 || status == 4) && got->status != usual->status) {
        snprintf(text, size, "status %d, which is of a gate", status);
        return text;
    }
    return NULL;
}

/* Runs once more, undisturbed, with the cache and stores that the run before left. */
static bool check_left(struct sweep *s, struct refusals *r, uint64_t call, bool all_later) {
    struct outcome after;
    struct stat st;
    const char *cache = getenv("XDG_CACHE_HOME");
    if (!cache || lstat(cache, &st) != 0) {
        return false;
    }
    if (run(s, r, 0, false, &after)) {
        return true;
    }
    if (after.out != s->usual.out || after.status != s->usual.status) {
        report(s, r, call, all_later, "what it left in the cache changes the next run");
    }
    return false;
}

/* Refuses one allocation, or all from it on. True in the process that goes on to main. */
static bool try_call(struct sweep *s, struct refusals *r, uint64_t call, bool all_later) {
    struct outcome got;
    char text[80];
    restore_written(s);
    if (run(s, r, call, all_later, &got)) {
        return true;
    }
    const char *fault = r->refused ? fault_of(s, &got, text, sizeof text) : NULL;
    if (fault) {
        report(s, r, call, all_later, fault);
    }
    return check_left(s, r, call, all_later);
}

/* Is this the first allocation of its call stack, and one of the stacks that are asked for? */
static bool is_wanted(const struct sweep *s, uint32_t site, uint32_t *seen) {
    uint32_t at = site % SEEN_SIZE;
    if (s->every_call) {
        return true;
    }
    if ((uint32_t)(site + s->salt) % s->modulo != 0) {
        return false;
    }
    while (seen[at] && seen[at] != site) {
        at = (at + 1) % SEEN_SIZE;
    }
    bool first = seen[at] == 0;
    seen[at] = site;
    return first;
}

static uint32_t hash_words(char **words) { /* FNV-1a */
    uint32_t h = 2166136261u;
    for (; *words; words++) {
        for (const char *c = *words; *c; c++) {
            h = (h ^ (unsigned char)*c) * 16777619u;
        }
    }
    return h;
}

static bool sweep_all(struct sweep *s, struct refusals *r) {
    uint32_t *seen = mmap(NULL, SEEN_SIZE * sizeof *seen, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    r->note_sites = !s->every_call;
    restore_written(s);
    if (run(s, r, 0, false, &s->usual)) {
        return true;
    }
    r->note_sites = false;
    uint64_t calls = r->calls < SITES_MAX ? r->calls : SITES_MAX;
    for (uint64_t call = 1; call <= calls; call++) {
        if (is_wanted(s, r->sites[call - 1], seen) &&
            (try_call(s, r, call, false) || try_call(s, r, call, true))) {
            return true;
        }
    }
    restore_written(s);
    fprintf(s->report, "swept\t%llu\t%llu\t%llu\t", (unsigned long long)calls,
            (unsigned long long)s->runs, (unsigned long long)s->findings);
    for (int i = 0; i < s->argc; i++) {
        fprintf(s->report, "%s%s", i ? " " : "", s->argv[i]);
    }
    fputc('\n', s->report);
    return false;
}

/* Keeps what stdin holds, for each run to read; a terminal is left alone. */
static int copy_of_stdin(void) {
    char bytes[16384];
    ssize_t n;
    if (isatty(STDIN_FILENO)) {
        return -1;
    }
    int fd = memfd_create("stdin", 0);
    while ((n = read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
        if (write(fd, bytes, (size_t)n) != n) {
            abort();
        }
    }
    return fd;
}

/* Refuses the allocation that SWEEP_CALL names in this process. False: it names none. */
static bool refuse_here(struct refusals *r) {
    const char *call = getenv("SWEEP_CALL");
    char *end;
    if (!call) {
        return false;
    }
    r->refuse = strtoull(call, &end, 10);
    r->all_later = *end == '+';
    refusals = r;
    return true;
}

__attribute__((constructor)) static void start(int argc, char **argv) {
    const char *path = getenv("SWEEP_REPORT"), *every = getenv("SWEEP_EVERY");
    bool single = getenv("SWEEP_CALL") != NULL;
    if ((!single && (!path || !every)) || strncmp(program_invocation_short_name, "stall", 5) != 0) {
        return;
    }
    unsetenv("LD_PRELOAD");
    struct sweep s = {.argc = argc, .argv = argv, .scratch = "/tmp/alloc-sweep-XXXXXX"};
    void *first[1];
    backtrace(first, 1); /* loads what it needs */
    struct refusals *r =
        mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r != MAP_FAILED && refuse_here(r)) {
        return;
    }
    s.every_call = strcmp(every, "call") == 0;
    s.modulo = s.every_call ? 1 : strtoul(every, NULL, 10);
    s.salt = hash_words(argv);
    s.report = fopen(path, "ae");
    s.out = memfd_create("stdout", 0);
    s.err = memfd_create("stderr", 0);
    s.in = copy_of_stdin();
    if (!s.report || !mkdtemp(s.scratch) || r == MAP_FAILED || !s.modulo) {
        abort();
    }
    if (find_written(&s) && sweep_all(&s, r)) {
        return; /* a run that is observed: to main */
    }
    run_tool("rm", "-rf", s.scratch, NULL);
    fclose(s.report);
    if (s.in >= 0) {
        lseek(s.in, 0, SEEK_SET);
        dup2(s.in, STDIN_FILENO);
        close(s.in);
    }
    close(s.out);
    close(s.err);
}
