/* Runs a command's main in this process. */
#include "fuzz/command_run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"

enum { WORDS_MAX = 32, PATH_SIZE = 40 };

static void need(bool holds) {
    if (!holds) {
        abort();
    }
}

/* Empties a file in memory, makes `fd` refer to it, and returns a new descriptor of the file to
 * which fd referred before. */
static int redirect(int memory, int fd) {
    int before = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    need(ftruncate(memory, 0) == 0 && lseek(memory, 0, SEEK_SET) == 0);
    need(before >= 0 && dup2(memory, fd) == fd);
    return before;
}

static void restore(int before, int fd) {
    need(dup2(before, fd) == fd);
    close(before);
}

static int memory_file(const char *name) {
    int fd = memfd_create(name, 0);
    need(fd >= 0);
    return fd;
}

static uint64_t memory_hash(int memory, size_t len) {
    if (len == 0) {
        return 0;
    }
    void *text = mmap(NULL, len, PROT_READ, MAP_PRIVATE, memory, 0);
    need(text != MAP_FAILED);
    uint64_t h = hash_bytes(text, len);
    munmap(text, len);
    return h;
}

static size_t lines_of(int memory, size_t len) {
    char text[4096];
    size_t lines = 0;
    for (size_t at = 0; at < len; at += sizeof text) {
        ssize_t n = pread(memory, text, sizeof text, (off_t)at);
        for (ssize_t i = 0; i < n; i++) {
            lines += text[i] == '\n';
        }
    }
    return lines;
}

/* Writes the bytes to a new file in memory, sets `path` to its path, and returns its descriptor. */
static int put_input(const void *bytes, size_t len, char path[PATH_SIZE]) {
    int fd = memory_file("input");
    size_t done = 0;
    while (done < len) {
        ssize_t n = write(fd, (const char *)bytes + done, len - done);
        need(n > 0);
        done += (size_t)n;
    }
    snprintf(path, PATH_SIZE, "/proc/self/fd/%d", fd);
    return fd;
}

struct command_output command_run(int (*command)(int argc, char **argv), const char *const *words,
                                  const void *bytes, size_t len) {
    char path[PATH_SIZE], *argv[WORDS_MAX + 1];
    int argc = 0, input = put_input(bytes, len, path);
    int out = memory_file("stdout"), err = memory_file("stderr");
    for (; words[argc]; argc++) {
        need(argc < WORDS_MAX);
        /* A main permutes the list and writes no word. */
        argv[argc] = (char *)(uintptr_t)words[argc];
        if (strcmp(words[argc], INPUT) == 0) {
            argv[argc] = path;
        }
    }
    argv[argc] = NULL;
    fflush(stdout); /* writes out the text that the caller has printed before */
    int stdout_before = redirect(out, STDOUT_FILENO), stderr_before = redirect(err, STDERR_FILENO);
    struct command_output o = {.status = command(argc, argv)};
    fflush(stdout);
    restore(stdout_before, STDOUT_FILENO);
    restore(stderr_before, STDERR_FILENO);
    o.length = (size_t)lseek(out, 0, SEEK_END);
    o.lines = lines_of(err, (size_t)lseek(err, 0, SEEK_END));
    o.out = memory_hash(out, o.length);
    close(out);
    close(err);
    close(input);
    return o;
}
