/* Reads the preloaded library's environment variables at start, removes them from the environment
 * of the program's children, and restores them when the program replaces itself by another one.
 *
 * Many a program is started by a script that ends in `exec`. The program is then the same process,
 * which the user asked to record; a child is not, unless --follow is given. With --follow nothing
 * is removed, and variables are restored only for programs that get a newly made environment. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/preload_private.h"

enum { VARIABLES = 22, LINE_SIZE = 8192 };

static const char *const names[VARIABLES] = {
    "LD_PRELOAD",        PRELOAD_ENV_DIRECTORY,   PRELOAD_ENV_THRESHOLD,  PRELOAD_ENV_LOOP_AT,
    PRELOAD_ENV_REPORT,  PRELOAD_ENV_KEEP_DAYS,   PRELOAD_ENV_KEEP_BYTES, PRELOAD_ENV_KEEP_FILES,
    PRELOAD_ENV_CONTEXT, PRELOAD_ENV_PRESET,      PRELOAD_ENV_FOLLOW,     PRELOAD_ENV_DETECTORS,
    PRELOAD_ENV_TRACE,   PRELOAD_ENV_CPU_LIMIT,   PRELOAD_ENV_SAMPLE,     PRELOAD_ENV_RING,
    PRELOAD_ENV_CHECK,   PRELOAD_ENV_MAX_THREADS, PRELOAD_ENV_FOLDER,     PRELOAD_ENV_REPORT_AT,
    PRELOAD_ENV_THREADS, PRELOAD_ENV_FILE_MODE};

/* The library's variables and the report's descriptor as they were at start; only the constructor
 * writes them. */
static struct {
    pid_t pid; /* the process in which `line` is restored, with `follow` also in its children; 0:
                  none */
    bool follow;
    int report_fd;
    dev_t report_dev;
    ino_t report_ino;
    char line[VARIABLES][LINE_SIZE]; /* "NAME=value"; "" if it was not set or is too long. The line
                                        of LD_PRELOAD names our library alone */
} taken;

/* ---- removing variables ---- */

extern char **environ;

/* Returns the line of a variable in environ; NULL if there is none. getenv and unsetenv cannot be
 * used, as bash has its own, whose variables do not exist yet when the constructor runs. */
static char **find_line(const char *name) {
    size_t size = strlen(name);
    for (char **line = environ; line && *line; line++) {
        if (strncmp(*line, name, size) == 0 && (*line)[size] == '=') {
            return line;
        }
    }
    return NULL;
}

static const char *get_value(const char *name) {
    char **line = find_line(name);
    return line ? *line + strlen(name) + 1 : NULL;
}

static void remove_lines(const char *name) {
    for (char **line; (line = find_line(name)) != NULL;) {
        for (; *line; line++) {
            line[0] = line[1];
        }
    }
}

static bool is_ours(const char *path, size_t size) {
    size_t own = sizeof PRELOAD_LIBRARY - 1;
    return size >= own && memcmp(path + size - own, PRELOAD_LIBRARY, own) == 0;
}

/* Writes "NAME=value" into `line`, which must be large enough. */
static void env_keep(char *line, const char *name, const char *value, size_t size) {
    size_t n = strlen(name);
    memcpy(line, name, n);
    line[n] = '=';
    memcpy(line + n + 1, value, size);
    line[n + 1 + size] = '\0';
}

/* Stores the part of LD_PRELOAD that names this library. leave: also removes this part, and
 * nothing else, from the environment. */
static void take_ld_preload(bool leave) {
    static char rest[LINE_SIZE]; /* with `leave`, the environment refers to this line */
    const size_t name_size = strlen("LD_PRELOAD=");
    const char *list = get_value("LD_PRELOAD");
    size_t used = name_size;
    if (!list || name_size + strlen(list) + 1 > sizeof rest) {
        return;
    }
    memcpy(rest, "LD_PRELOAD=", name_size);
    for (const char *at = list; *at;) {
        at += strspn(at, ": ");
        size_t size = strcspn(at, ": ");
        if (is_ours(at, size)) {
            env_keep(taken.line[0], names[0], at, size);
        } else if (size > 0) {
            if (used > name_size) {
                rest[used++] = ':';
            }
            memcpy(rest + used, at, size);
            used += size;
        }
        at += size;
    }
    rest[used] = '\0';
    if (!leave) {
        return;
    }
    if (used > name_size) {
        *find_line("LD_PRELOAD") = rest;
    } else {
        remove_lines("LD_PRELOAD");
    }
}

static void take_environment(bool leave) {
    take_ld_preload(leave);
    for (unsigned i = 1; i < VARIABLES; i++) {
        const char *value = get_value(names[i]);
        if (value && strlen(names[i]) + strlen(value) + 2 <= LINE_SIZE) {
            env_keep(taken.line[i], names[i], value, strlen(value));
        }
        if (leave) {
            remove_lines(names[i]);
        }
    }
    taken.follow = !leave;
    taken.pid = getpid();
}

/* Parses a decimal number of at most 18 digits; returns 0 for anything else. */
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

/* Parses a decimal number of at most 9 digits; returns 0 for anything else. */
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

/* Maps the memory that is shared with the command. False: the descriptor is not that of this
 * memory, or the memory cannot be mapped. */
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

static int folder_descriptor(const char *text) {
    struct stat sb;
    int fd = text ? (int)read_number(text) : -1;
    return fd > 2 && fstat(fd, &sb) == 0 && S_ISDIR(sb.st_mode) ? fd : -1;
}

/* Maps the report, the memory shared with the command, by its path, and closes the descriptor,
 * which the mapping does not need. */
static void find_report(const char *path, struct preload_report **report) {
    int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd >= 0) {
        map_report(fd, report);
        taken.report_fd = -1;
        close(fd);
    }
}

bool preload_read_environment(struct preload_config *config) {
    static struct preload_report nobody_listens;
    const char *directory = get_value(PRELOAD_ENV_DIRECTORY);
    bool follow = get_value(PRELOAD_ENV_FOLLOW) != NULL;
    if (!directory || strlen(directory) >= sizeof config->directory) {
        return false;
    }
    memcpy(config->directory, directory, strlen(directory) + 1);
    config->folder = folder_descriptor(get_value(PRELOAD_ENV_FOLDER));
    config->threshold_ms = read_number(get_value(PRELOAD_ENV_THRESHOLD));
    config->sample_ms = read_number(get_value(PRELOAD_ENV_SAMPLE));
    config->ring = read_number(get_value(PRELOAD_ENV_RING));
    config->check_ms = read_number(get_value(PRELOAD_ENV_CHECK));
    config->max_threads = read_number(get_value(PRELOAD_ENV_MAX_THREADS));
    const char *preset = get_value(PRELOAD_ENV_PRESET);
    if (preset && strlen(preset) < sizeof config->preset) {
        memcpy(config->preset, preset, strlen(preset) + 1);
    }
    config->detectors = read_number(get_value(PRELOAD_ENV_DETECTORS));
    config->cpu_limit_permille = read_number(get_value(PRELOAD_ENV_CPU_LIMIT));
    const char *trace = get_value(PRELOAD_ENV_TRACE);
    if (trace && strlen(trace) < sizeof config->trace) {
        memcpy(config->trace, trace, strlen(trace) + 1);
    }
    const char *threads = get_value(PRELOAD_ENV_THREADS);
    if (threads && strlen(threads) < sizeof config->threads) {
        memcpy(config->threads, threads, strlen(threads) + 1);
    }
    read_names(get_value(PRELOAD_ENV_LOOP_AT), config->names, sizeof config->names);
    config->keep_days = read_number(get_value(PRELOAD_ENV_KEEP_DAYS));
    config->keep_files = read_number(get_value(PRELOAD_ENV_KEEP_FILES));
    config->file_mode = read_number(get_value(PRELOAD_ENV_FILE_MODE));
    config->keep_bytes = read_long(get_value(PRELOAD_ENV_KEEP_BYTES));
    read_names(get_value(PRELOAD_ENV_CONTEXT), config->context, sizeof config->context);
    config->report = &nobody_listens;
    if (!map_report((int)read_number(get_value(PRELOAD_ENV_REPORT)), &config->report)) {
        find_report(get_value(PRELOAD_ENV_REPORT_AT), &config->report);
    } else if (!follow) {
        fcntl(taken.report_fd, F_SETFD, FD_CLOEXEC);
    }
    take_environment(!follow);
    config->follow = follow;
    return true;
}

/* ---- restoring variables ---- */

/* Makes the report's descriptor survive an exec, or, if `pass` is false, be closed by it. Nothing
 * is done if the program has closed the descriptor, as its number may be another file's. */
static void pass_report(bool pass) {
    struct stat sb;
    if (taken.report_fd > 2 && fstat(taken.report_fd, &sb) == 0 && sb.st_dev == taken.report_dev &&
        sb.st_ino == taken.report_ino) {
        fcntl(taken.report_fd, F_SETFD, pass ? 0 : FD_CLOEXEC);
    }
}

bool preload_vector_open(struct preload_vector *v, size_t count, size_t text) {
    size_t size = count * sizeof *v->list + text;
    v->size = 0;
    v->list = v->few;
    v->text = NULL;
    if (count <= PRELOAD_FEW && text == 0) {
        return true;
    }
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    v->size = size;
    v->list = memory;
    v->text = (char *)(v->list + count);
    return true;
}

void preload_vector_close(struct preload_vector *v) {
    int saved_errno = errno;
    if (v->size > 0) {
        munmap(v->list, v->size);
    }
    errno = saved_errno;
}

static size_t env_count(char *const *list) {
    size_t n = 0;
    while (list && list[n]) {
        n++;
    }
    return n;
}

/* Returns the value of LD_PRELOAD in an environment; NULL if it has none. */
static const char *find_ld_preload(char *const envp[]) {
    size_t size = strlen("LD_PRELOAD=");
    for (; envp && *envp; envp++) {
        if (strncmp(*envp, "LD_PRELOAD=", size) == 0) {
            return *envp + size;
        }
    }
    return NULL;
}

static bool has_ours(const char *list) {
    while (list && *list) {
        list += strspn(list, ": ");
        size_t size = strcspn(list, ": ");
        if (is_ours(list, size)) {
            return true;
        }
        list += size;
    }
    return false;
}

bool preload_follows(void) {
    return taken.follow;
}

static bool env_is_named(const char *line, const char *name) {
    size_t size = strlen(name);
    return strncmp(line, name, size) == 0 && line[size] == '=';
}

static bool is_replaced(const char *line) {
    for (unsigned i = 0; i < VARIABLES; i++) {
        if (env_is_named(line, names[i])) {
            return true;
        }
    }
    return false;
}

char *const *preload_environment_open(struct preload_vector *v, char *const envp[]) {
    const char *own = find_ld_preload(envp);
    size_t n = env_count(envp), used = 0, ours = strlen(taken.line[0]);
    v->size = 0;
    /* If LD_PRELOAD names our library already, the other variables were set with it. */
    if (taken.pid == 0 || ours == 0 || (!taken.follow && getpid() != taken.pid) || has_ours(own) ||
        !preload_vector_open(v, n + VARIABLES + 1, own ? ours + strlen(own) + 2 : 0)) {
        return envp;
    }
    v->list[used++] = taken.line[0];
    if (own) { /* our library precedes the program's own libraries */
        memcpy(v->text, taken.line[0], ours);
        v->text[ours] = ':';
        memcpy(v->text + ours + 1, own, strlen(own) + 1);
        v->list[0] = v->text;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_replaced(envp[i])) {
            v->list[used++] = envp[i];
        }
    }
    for (unsigned i = 1; i < VARIABLES; i++) {
        if (*taken.line[i]) {
            v->list[used++] = taken.line[i];
        }
    }
    v->list[used] = NULL;
    if (!taken.follow) {
        pass_report(true);
    }
    return v->list;
}

void preload_environment_close(struct preload_vector *v, char *const *list, char *const envp[]) {
    int saved_errno = errno;
    if (list != envp && !taken.follow) {
        pass_report(false);
    }
    errno = saved_errno;
    preload_vector_close(v);
}
