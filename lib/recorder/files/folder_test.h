/* A folder of a test's own, and files in it. */
#ifndef STALLREC_FOLDER_TEST_H
#define STALLREC_FOLDER_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct folder {
    char path[64];
    int dir;
};

static inline int folder_setup(void **state) {
    struct folder *f = calloc(1, sizeof *f);
    assert_non_null(f);
    memcpy(f->path, "/tmp/stallrec-folder-XXXXXX", 28);
    assert_non_null(mkdtemp(f->path));
    f->dir = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(f->dir >= 0);
    *state = f;
    return 0;
}

static inline int folder_teardown(void **state) {
    struct folder *f = *state;
    char command[160];
    snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -r %s", f->path, f->path);
    int status = system(command);
    close(f->dir);
    free(f);
    return status;
}

/* Writes a file, in place of an earlier one of this name. */
static inline void folder_put(const struct folder *f, const char *name, const void *bytes,
                              size_t len) {
    int fd = openat(f->dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    assert_int_equal(close(fd), 0);
}

/* Reads a file's bytes, at most size - 1, and appends a NUL. Returns their number; -1 if the file
 * cannot be opened. */
static inline ssize_t folder_get(const struct folder *f, const char *name, char *to, size_t size) {
    int fd = openat(f->dir, name, O_RDONLY);
    if (fd < 0) {
        return -1;
    }
    ssize_t n = read(fd, to, size - 1);
    close(fd);
    assert_true(n >= 0);
    to[n] = '\0';
    return n;
}

static inline bool folder_has(const struct folder *f, const char *name) {
    return faccessat(f->dir, name, F_OK, 0) == 0;
}

/* Returns the number of files whose names have `part` in them. *name becomes the name of one of
 * them, unless `name` is NULL or there is none. */
static inline unsigned folder_count(const struct folder *f, const char *part, char *name,
                                    size_t size) {
    unsigned count = 0;
    DIR *d = opendir(f->path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strstr(e->d_name, part) != NULL && strcmp(e->d_name, ".") != 0 &&
            strcmp(e->d_name, "..") != 0) {
            count++;
            if (name != NULL) {
                snprintf(name, size, "%s", e->d_name);
            }
        }
    }
    closedir(d);
    return count;
}

#endif
