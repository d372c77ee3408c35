/* Implements pipe_room.h. */
#include "dump/input/pipe_room.h"

#include <fcntl.h>

void pipe_widen(int fd) {
#ifdef __linux__
    /* SETPIPE_SZ is F_SETPIPE_SZ, which glibc has only with _GNU_SOURCE. */
    enum { SETPIPE_SZ = 1031, ROOM = 1024 * 1024 };
    (void)fcntl(fd, SETPIPE_SZ, ROOM);
#else
    (void)fd;
#endif
}
