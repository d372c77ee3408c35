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

/* Makes a file in memory, unless an earlier call has made it. */
static void open_memory(int *memory, const char *name) {
    if (*memory < 0) {
        *memory = memfd_create(name, 0);
        need(*memory >= 0);
    }
}

/* Returns the file's *len bytes, until the next call. */
static const char *read_back(int memory, size_t *len) {
    static char *text;
    static size_t room;
    *len = (size_t)lseek(memory, 0, SEEK_END);
    if (*len >= room) {
        free(text);
        room = 2 * *len + 4096;
        text = malloc(room);
        need(text != NULL);
    }
    need(pread(memory, text, *len, 0) == (ssize_t)*len);
    return text;
}

static size_t lines_of(const char *text, size_t len) {
    size_t lines = 0;
    for (size_t i = 0; i < len; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

/* Makes the bytes the file's only ones, and writes its path to `path`. */
static void put_input(int memory, const void *bytes, size_t len, char path[PATH_SIZE]) {
    need(ftruncate(memory, 0) == 0);
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(memory, (const char *)bytes + done, len - done, (off_t)done);
        need(n > 0);
        done += (size_t)n;
    }
    snprintf(path, PATH_SIZE, "/proc/self/fd/%d", memory);
}

struct command_output command_run(int (*command)(int argc, char **argv), const char *const *words,
                                  const void *bytes, size_t len) {
    char path[PATH_SIZE], *argv[WORDS_MAX + 1];
    static int input = -1, out = -1, err = -1;
    int argc = 0;
    open_memory(&input, "input");
    open_memory(&out, "stdout");
    open_memory(&err, "stderr");
    put_input(input, bytes, len, path);
    for (; words[argc]; argc++) {
        need(argc < WORDS_MAX);
        /* A main function reorders the list and does not write to the words. */
        argv[argc] = (char *)(uintptr_t)words[argc];
        if (strcmp(words[argc], INPUT) == 0) {
            argv[argc] = path;
        }
    }
    argv[argc] = NULL;
    fflush(stdout); /* flushes the text that the caller has printed before */
    int stdout_before = redirect(out, STDOUT_FILENO), stderr_before = redirect(err, STDERR_FILENO);
    struct command_output o = {.status = command(argc, argv)};
    fflush(stdout);
    restore(stdout_before, STDOUT_FILENO);
    restore(stderr_before, STDERR_FILENO);
    const char *text = read_back(out, &o.length);
    o.out = o.length ? hash_bytes(text, o.length) : 0;
    size_t told;
    text = read_back(err, &told);
    o.lines = lines_of(text, told);
    return o;
}
