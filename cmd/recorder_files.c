/* The files around a recorded program. */
#include "recorder_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "recorder/preload/preload.h"

char *recorder_find_library(void) {
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

bool recorder_make_folder(const char *path) {
    struct stat st;
    if ((mkdir(path, 0777) != 0 && errno != EEXIST) || stat(path, &st) != 0) {
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR; /* access(2) lets root "search" a file */
        return false;
    }
    return access(path, W_OK | X_OK) == 0;
}

char *recorder_make_trace(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        return NULL;
    }
    close(fd);
    return realpath(path, NULL);
}
