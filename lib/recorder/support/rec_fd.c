/* Holds a descriptor open in a program that is not ours. */
#include "support/rec_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Moves the descriptor to a high number, as programs rely on the lowest numbers being free
 * (`close(0); open(...)`, descriptors that a parent passes by number, sets of select). A limit may
 * leave only low numbers. */
static int move_up_async(int fd) {
    int high = fcntl(fd, F_DUPFD_CLOEXEC, REC_FD_FROM);
    if (high < 0) {
        return fd;
    }
    close(fd);
    return high;
}

struct rec_fd rec_fd_hold_async(int fd) {
    struct stat sb;
    int why = errno;
    struct rec_fd held = {.fd = fd >= 0 && fd < REC_FD_FROM ? move_up_async(fd) : fd};
    if (fd >= 0 && fstat(held.fd, &sb) == 0) {
        held.device = sb.st_dev;
        held.inode = sb.st_ino;
    }
    errno = why;
    return held;
}

bool rec_fd_is_ours_async(const struct rec_fd *fd) {
    struct stat sb;
    return fd->fd >= 0 && fstat(fd->fd, &sb) == 0 && sb.st_dev == fd->device &&
           sb.st_ino == fd->inode;
}

void rec_fd_close_async(struct rec_fd *fd) {
    if (rec_fd_is_ours_async(fd)) {
        close(fd->fd);
    }
    *fd = REC_FD_NONE;
}

bool rec_write_all(int fd, const void *bytes, size_t len) {
    const char *from = bytes;
    while (len > 0) {
        ssize_t n = write(fd, from, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
        from += n;
        len -= (size_t)n;
    }
    return true;
}
