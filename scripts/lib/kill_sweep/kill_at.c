/* Kills the process that this library is loaded into in front of its Nth call that changes a file
 * or a folder: KILL_AT says which, 0 or nothing: none. Half of a write is done before, so that a
 * file is cut inside, too. With KILL_COUNT the number of these calls is written to that file when
 * the program exits. Linux, for tests only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic long calls;
static long kill_at;

__attribute__((constructor)) static void read_environment(void) {
    const char *text = getenv("KILL_AT");
    kill_at = text ? atol(text) : 0;
}

__attribute__((destructor)) static void write_count(void) {
    const char *path = getenv("KILL_COUNT");
    FILE *out = path ? fopen(path, "w") : NULL;
    if (out) {
        fprintf(out, "%ld\n", (long)calls);
        fclose(out);
    }
}

/* Is this call the one to be killed at? */
static int is_last(void) {
    return ++calls == kill_at;
}

static void end(void) {
    kill(getpid(), SIGKILL);
}

static int is_file(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t len) {
    if (is_file(fd) && is_last()) {
        REAL(write)(fd, bytes, len / 2);
        end();
    }
    return REAL(write)(fd, bytes, len);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at) {
    if (is_last()) {
        REAL(pwrite64)(fd, bytes, len / 2, at);
        end();
    }
    return REAL(pwrite64)(fd, bytes, len, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at) {
    return pwrite64(fd, bytes, len, at);
}

#define KILLED(name, parameters, arguments)                                                        \
    int name parameters {                                                                          \
        if (is_last()) {                                                                           \
            end();                                                                                 \
        }                                                                                          \
        return REAL(name) arguments;                                                               \
    }
KILLED(rename, (const char *from, const char *to), (from, to))
KILLED(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
KILLED(link, (const char *from, const char *to), (from, to))
KILLED(unlink, (const char *path), (path))
KILLED(unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
KILLED(ftruncate, (int fd, off_t len), (fd, len))
KILLED(ftruncate64, (int fd, off64_t len), (fd, len))
KILLED(fsync, (int fd), (fd))
KILLED(fdatasync, (int fd), (fd))
KILLED(mkdir, (const char *path, mode_t mode), (path, mode))

#define OPENED(name, first, pass)                                                                  \
    int name(first const char *path, int flags, ...) {                                             \
        va_list ap;                                                                                \
        va_start(ap, flags);                                                                       \
        mode_t mode = flags & O_CREAT ? (mode_t)va_arg(ap, int) : 0;                               \
        va_end(ap);                                                                                \
        if ((flags & (O_CREAT | O_TRUNC)) && is_last()) {                                          \
            end();                                                                                 \
        }                                                                                          \
        return REAL(name)(pass path, flags, mode);                                                 \
    }
#define NOTHING
#define FOLDER  int dir,
#define DIR_ARG dir,
OPENED(open, NOTHING, NOTHING)
OPENED(open64, NOTHING, NOTHING)
OPENED(openat, FOLDER, DIR_ARG)
OPENED(openat64, FOLDER, DIR_ARG)
