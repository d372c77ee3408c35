/* Implements pipe_room.h. */
#include "dump/input/pipe_room.h"

#include <fcntl.h>

void pipe_widen(int fd) {
#ifdef __linux__
    enum { SETPIPE_SZ = 1031, ROOM = 1024 * 1024 }; /* glibc hides F_SETPIPE_SZ: _GNU_SOURCE */
    (void)fcntl(fd, SETPIPE_SZ, ROOM);
#else
    (void)fd;
#endif
}
