/* Functions that the fuzzers of the recorder's folder share. */
#ifndef STALLREC_FOLDER_SUPPORT_FUZZ_H
#define STALLREC_FOLDER_SUPPORT_FUZZ_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static inline void put(int dir, const char *name, const void *bytes, size_t len) {
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    close(fd);
}

static inline bool has(int dir, const char *name) {
    return faccessat(dir, name, F_OK, 0) == 0;
}

/* Makes a folder, whose name replaces the XXXXXX of path, and returns its descriptor. */
static inline int make_folder(char *path) {
    require(mkdtemp(path) != NULL);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(dir >= 0);
    return dir;
}

#endif
