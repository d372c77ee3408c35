/* The recorder's folder, held open. */
#include "files/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct rec_fd open_path(const char *path) {
    return rec_fd_hold_async(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

mode_t rec_file_mode(uint32_t file_mode) {
    return file_mode != 0 ? (mode_t)file_mode : 0600;
}

mode_t rec_folder_mode(uint32_t file_mode) {
    return rec_file_mode(file_mode) | 0100 | (mode_t)((file_mode & 044) >> 2);
}

bool rec_folder_open(struct rec_folder *folder, const char *path) {
    size_t len = strlen(path);
    folder->fd = REC_FD_NONE;
    if (len >= sizeof folder->path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(folder->path, path, len + 1);
    folder->fd = open_path(path);
    return folder->fd.fd >= 0;
}

static bool is_removed(int fd) {
    struct stat sb;
    return fstat(fd, &sb) == 0 && sb.st_nlink == 0;
}

int rec_folder_fd(struct rec_folder *folder) {
    bool ours = rec_fd_is_ours_async(&folder->fd);
    if (ours && !is_removed(folder->fd.fd)) {
        return folder->fd.fd;
    }
    struct rec_fd again = open_path(folder->path);
    if (again.fd < 0) {
        return -1;
    }
    /* A descriptor number that the program uses by now is not closed. */
    rec_fd_close_async(&folder->fd);
    folder->fd = again;
    return again.fd;
}

void rec_folder_close(struct rec_folder *folder) {
    rec_fd_close_async(&folder->fd);
}

DIR *rec_folder_list(int dir) {
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (stream == NULL && fd >= 0) {
        int why = errno;
        close(fd);
        errno = why;
    }
    return stream;
}
