/* Finds, checks and opens the files that name JIT-compiled code: perf maps and jitdump files. */
#include "linux/jit_names_linux.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/jitdump.h"
#include "linux/perf_map.h"

enum { PATH_MAX_SIZE = 512, BYTES_MAX = 64 << 20, PIECE_SIZE = 32 * 1024, RECORDS_MAX = 200000 };

struct jit_names {
    struct perf_map map;
    struct code_text text;
    char piece[PIECE_SIZE];
};

struct jit_names *jit_names_new(void) {
    struct jit_names *jit = mmap(NULL, sizeof *jit, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return jit == MAP_FAILED ? NULL : jit;
}

void jit_names_free(struct jit_names *jit) {
    if (jit) {
        munmap(jit, sizeof *jit);
    }
}

/* Joins `count` texts into path; false: they do not fit. */
static bool join_async(char path[PATH_MAX_SIZE], const char *const *parts, size_t count) {
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(parts[i]);
        if (size >= PATH_MAX_SIZE - used) {
            return false;
        }
        memcpy(path + used, parts[i], size);
        used += size;
    }
    path[used] = '\0';
    return true;
}

static const char *decimal_async(pid_t pid, char text[12]) {
    char *at = text + 11;
    *at = '\0';
    for (unsigned value = pid > 0 ? (unsigned)pid : 0; at == text + 11 || value > 0; value /= 10) {
        *--at = (char)('0' + value % 10);
    }
    return at;
}

/* Opens a file by its path in the folder `root`, out of which no symbolic link leads; if root is
 * "", by its path alone. */
static int open_in_async(const char *root, const char *path) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    if (root[0] == '\0') {
        return open(path, flags);
    }
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct open_how how = {.flags = (uint64_t)(unsigned)flags, .resolve = RESOLVE_IN_ROOT};
    int fd = folder < 0 ? -1 : (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (folder >= 0) {
        close(folder);
    }
    return fd;
}

/* Opens a regular file that, by its mode, only `owner` or root may write; -1: the file is another
 * one, or cannot be opened. */
static int open_own_async(const char *root, const char *path, uid_t owner) {
    struct stat sb;
    int fd = open_in_async(root, path);
    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &sb) != 0 || !S_ISREG(sb.st_mode) || (sb.st_uid != owner && sb.st_uid != 0) ||
        (sb.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void read_map_async(struct jit_names *jit, int fd, struct rec_code_name *names,
                           uint32_t count) {
    off_t at = 0;
    perf_map_begin_async(&jit->map, names, count, &jit->text);
    for (ssize_t n; at < BYTES_MAX && (n = pread(fd, jit->piece, PIECE_SIZE, at)) > 0; at += n) {
        perf_map_feed_async(&jit->map, jit->piece, (size_t)n);
    }
    perf_map_end_async(&jit->map);
}

static size_t read_dump_async(void *arg, uint64_t offset, void *to, size_t size) {
    const int *fd = arg;
    ssize_t n = offset < BYTES_MAX ? pread(*fd, to, size, (off_t)offset) : 0;
    return n > 0 ? (size_t)n : 0;
}

/* Returns the path in a line of /proc/PID/maps if its file is called `name`, else NULL. It ends
 * the line with a NUL in place. */
static const char *mapped_path_async(char *line, size_t size, const char *name) {
    size_t length = strlen(name), at = 0;
    while (at < size && line[at] != '/') {
        at++;
    }
    if (size - at <= length || strncmp(line + size - length, name, length) != 0 ||
        line[size - length - 1] != '/') {
        return NULL;
    }
    line[size] = '\0';
    return line + at;
}

/* Opens the process's jitdump file, whose path is in its list of mappings, as a program maps the
 * file so that it can be found. */
static int open_dump_async(struct jit_names *jit, const char *root, pid_t pid, const char *maps,
                           uid_t owner) {
    char number[12], name[64], path[PATH_MAX_SIZE];
    const char *const parts[] = {"jit-", decimal_async(pid, number), ".dump"};
    if (!join_async(path, parts, 3) || strlen(path) >= sizeof name) {
        return -1;
    }
    memcpy(name, path, strlen(path) + 1);
    int fd = open(maps, O_RDONLY | O_CLOEXEC), found = -1;
    size_t held = 0;
    for (ssize_t n;
         fd >= 0 && found < 0 && (n = pread(fd, jit->piece, PIECE_SIZE, (off_t)held)) > 0;) {
        size_t begin = 0, size = (size_t)n;
        for (size_t i = 0; i < size && found < 0; i++) {
            if (jit->piece[i] != '\n') {
                continue;
            }
            const char *file = mapped_path_async(jit->piece + begin, i - begin, name);
            if (file) {
                found = open_own_async(root, file, owner);
            }
            begin = i + 1;
        }
        held += begin > 0 ? begin
                          : size; /* a line that is cut at the end of this piece is read again */
    }
    if (fd >= 0) {
        close(fd);
    }
    return found;
}

void jit_names_fill_async(struct jit_names *jit, const char *root, pid_t pid, const char *maps,
                          uid_t owner, struct rec_code_name *names, uint32_t count) {
    char number[12], path[PATH_MAX_SIZE];
    const char *const parts[] = {"/tmp/perf-", decimal_async(pid, number), ".map"};
    jit->text.used = 0;
    int fd = join_async(path, parts, 3) ? open_own_async(root, path, owner) : -1;
    if (fd >= 0) {
        read_map_async(jit, fd, names, count);
        close(fd);
    }
    fd = open_dump_async(jit, root, pid, maps, owner);
    if (fd >= 0) {
        jitdump_name_async(read_dump_async, &fd, RECORDS_MAX, names, count, &jit->text);
        close(fd);
    }
}
