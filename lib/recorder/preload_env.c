/* The preloaded library's environment: read at start, taken away from the program's children, and
 * put back when the program replaces itself by another one.
 *
 * Many a program is started by a script that ends in `exec`. It is the same process, which the user
 * asked to be recorded; a child is not, unless --follow. So the exec functions are interposed too,
 * and add to the environment what was taken out of it if the process is still the one. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload_private.h"

#define INTERPOSED __attribute__((visibility("default")))

enum { VARIABLES = 10, LINE_SIZE = 8192 };

static const char *const names[VARIABLES] = {
    "LD_PRELOAD",        PRELOAD_ENV_DIRECTORY, PRELOAD_ENV_THRESHOLD,  PRELOAD_ENV_LOOP_AT,
    PRELOAD_ENV_REPORT,  PRELOAD_ENV_KEEP_DAYS, PRELOAD_ENV_KEEP_BYTES, PRELOAD_ENV_KEEP_FILES,
    PRELOAD_ENV_CONTEXT, PRELOAD_ENV_PRESET};

/* Written by the constructor only. */
static struct {
    pid_t pid; /* 0: nothing is put back */
    int report_fd;
    dev_t report_dev;
    ino_t report_ino;
    char line[VARIABLES]
             [LINE_SIZE]; /* "NAME=value"; "" if it was not set. LD_PRELOAD: ours alone */
} taken;

/* ---- taking out ---- */

static bool is_ours(const char *path, size_t size) {
    size_t own = sizeof PRELOAD_LIBRARY - 1;
    return size >= own && memcmp(path + size - own, PRELOAD_LIBRARY, own) == 0;
}

/* "NAME=value" into a line that is large enough. */
static void keep(char *line, const char *name, const char *value, size_t size) {
    size_t n = strlen(name);
    memcpy(line, name, n);
    line[n] = '=';
    memcpy(line + n + 1, value, size);
    line[n + 1 + size] = '\0';
}

/* Takes this library, and no other, out of LD_PRELOAD. */
static void leave_ld_preload(void) {
    const char *list = getenv("LD_PRELOAD");
    char rest[LINE_SIZE];
    size_t used = 0;
    if (!list || strlen(list) + sizeof "LD_PRELOAD=" > sizeof rest) {
        return;
    }
    for (const char *at = list; *at;) {
        at += strspn(at, ": ");
        size_t size = strcspn(at, ": ");
        if (is_ours(at, size)) {
            keep(taken.line[0], names[0], at, size);
        } else if (size > 0) {
            if (used > 0) {
                rest[used++] = ':';
            }
            memcpy(rest + used, at, size);
            used += size;
        }
        at += size;
    }
    rest[used] = '\0';
    if (used > 0) {
        setenv("LD_PRELOAD", rest, 1);
    } else {
        unsetenv("LD_PRELOAD");
    }
}

static void leave_environment(void) {
    leave_ld_preload();
    for (unsigned i = 1; i < VARIABLES; i++) {
        const char *value = getenv(names[i]);
        if (value && strlen(names[i]) + strlen(value) + 2 <= LINE_SIZE) {
            keep(taken.line[i], names[i], value, strlen(value));
        }
        unsetenv(names[i]);
    }
    taken.pid = getpid();
}

/* A decimal number of at most 18 digits; 0 for anything else. */
static uint64_t read_long(const char *text) {
    uint64_t value = 0;
    size_t size = text ? strlen(text) : 0;
    if (size == 0 || size > 18 || strspn(text, "0123456789") != size) {
        return 0;
    }
    for (; *text; text++) {
        value = value * 10 + (uint64_t)(*text - '0');
    }
    return value;
}

/* One of at most 9 digits. */
static uint32_t read_number(const char *text) {
    return text && strlen(text) <= 9 ? (uint32_t)read_long(text) : 0;
}

static void read_names(const char *lines, char *out, size_t room) {
    size_t size = lines ? strlen(lines) : 0;
    if (size + 2 > room) {
        return;
    }
    for (size_t i = 0; i < size; i++) {
        out[i] = lines[i];
        if (lines[i] == '\n') {
            out[i] = '\0';
        }
    }
}

/* Maps what is shared with the command. False when the descriptor is not that. */
static bool map_report(int fd, struct preload_report **report) {
    struct stat sb;
    if (fd <= 2 || fstat(fd, &sb) != 0 || sb.st_size != (off_t)sizeof **report) {
        return false;
    }
    void *memory = mmap(NULL, sizeof **report, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    if (((struct preload_report *)memory)->size != sizeof **report) {
        munmap(memory, sizeof **report);
        return false;
    }
    *report = memory;
    taken.report_fd = fd;
    taken.report_dev = sb.st_dev;
    taken.report_ino = sb.st_ino;
    return true;
}

bool preload_read_environment(struct preload_config *config) {
    static struct preload_report nobody_listens;
    const char *directory = getenv(PRELOAD_ENV_DIRECTORY);
    bool follow = getenv(PRELOAD_ENV_FOLLOW) != NULL;
    if (!directory || strlen(directory) >= sizeof config->directory) {
        return false;
    }
    memcpy(config->directory, directory, strlen(directory) + 1);
    config->threshold_ms = read_number(getenv(PRELOAD_ENV_THRESHOLD));
    const char *preset = getenv(PRELOAD_ENV_PRESET);
    if (preset && strlen(preset) < sizeof config->preset) {
        memcpy(config->preset, preset, strlen(preset) + 1);
    }
    read_names(getenv(PRELOAD_ENV_LOOP_AT), config->names, sizeof config->names);
    config->keep_days = read_number(getenv(PRELOAD_ENV_KEEP_DAYS));
    config->keep_files = read_number(getenv(PRELOAD_ENV_KEEP_FILES));
    config->keep_bytes = read_long(getenv(PRELOAD_ENV_KEEP_BYTES));
    read_names(getenv(PRELOAD_ENV_CONTEXT), config->context, sizeof config->context);
    config->report = &nobody_listens;
    if (map_report((int)read_number(getenv(PRELOAD_ENV_REPORT)), &config->report) && !follow) {
        fcntl(taken.report_fd, F_SETFD, FD_CLOEXEC);
    }
    if (!follow) {
        leave_environment();
    }
    return true;
}

/* ---- putting back ---- */

/* Lets the report's descriptor through an exec, or not; some programs close what they did not open,
 * and then the number is another file's. */
static void pass_report(bool pass) {
    struct stat sb;
    if (taken.report_fd > 2 && fstat(taken.report_fd, &sb) == 0 && sb.st_dev == taken.report_dev &&
        sb.st_ino == taken.report_ino) {
        fcntl(taken.report_fd, F_SETFD, pass ? 0 : FD_CLOEXEC);
    }
}

static size_t count(char *const *list) {
    size_t n = 0;
    while (list && list[n]) {
        n++;
    }
    return n;
}

/* A copy of an environment with ours in it. Made without malloc: exec may be called where that is
 * not allowed. */
struct environment {
    char **list;
    size_t size; /* of the mapping; 0: list is the program's own */
    char preload[2 * LINE_SIZE];
};

/* LD_PRELOAD with ours in front of the program's own. */
static char *join_preload(struct environment *e, const char *own) {
    snprintf(e->preload, sizeof e->preload, "%s:%s", taken.line[0], own + strlen("LD_PRELOAD="));
    return e->preload;
}

static void open_environment(struct environment *e, char *const envp[]) {
    size_t n = count(envp);
    e->list = (char **)envp; /* execve takes it as it is and writes to none of it */
    e->size = 0;
    if (taken.pid == 0 || getpid() != taken.pid || !*taken.line[0]) {
        return;
    }
    size_t size = (n + VARIABLES + 1) * sizeof *e->list;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return;
    }
    e->list = memory;
    e->size = size;
    size_t used = 0;
    e->list[used++] = taken.line[0];
    for (size_t i = 0; i < n; i++) {
        if (strncmp(envp[i], "LD_PRELOAD=", strlen("LD_PRELOAD=")) == 0) {
            e->list[0] = join_preload(e, envp[i]);
        } else {
            e->list[used++] = envp[i];
        }
    }
    for (unsigned i = 1; i < VARIABLES; i++) {
        if (*taken.line[i]) {
            e->list[used++] = taken.line[i];
        }
    }
    pass_report(true);
}

static int close_environment(struct environment *e, int result) {
    int saved_errno = errno;
    if (e->size > 0) {
        munmap(e->list, e->size);
        pass_report(false);
    }
    errno = saved_errno;
    return result;
}

extern char **environ;

typedef int exec_fn(const char *, char *const[], char *const[]);

/* Looked up by the constructor: exec is for children of a fork or vfork and for signal handlers,
 * where dlsym may wait for a lock that nobody will unlock. */
static struct { exec_fn *execve, *execvpe; } real;

/* A function pointer out of dlsym without a cast that ISO C does not define. */
static exec_fn *find_exec(const char *name) {
    void *address = dlsym(RTLD_NEXT, name);
    exec_fn *f;
    memcpy(&f, &address, sizeof f);
    return f;
}

void preload_resolve_exec(void) {
    real.execve = find_exec("execve");
    real.execvpe = find_exec("execvpe");
}

static int exec_with(exec_fn *const *how, const char *program, char *const argv[],
                     char *const envp[]) {
    struct environment e;
    if (!*how) { /* the constructor of a library that comes before us */
        preload_resolve_exec();
    }
    open_environment(&e, envp);
    return close_environment(&e, (*how)(program, argv, e.list));
}

INTERPOSED int execve(const char *path, char *const argv[], char *const envp[]) {
    return exec_with(&real.execve, path, argv, envp);
}

INTERPOSED int execv(const char *path, char *const argv[]) {
    return exec_with(&real.execve, path, argv, environ);
}

INTERPOSED int execvpe(const char *file, char *const argv[], char *const envp[]) {
    return exec_with(&real.execvpe, file, argv, envp);
}

INTERPOSED int execvp(const char *file, char *const argv[]) {
    return exec_with(&real.execvpe, file, argv, environ);
}
