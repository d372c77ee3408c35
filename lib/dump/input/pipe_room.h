/* Makes a pipe hold more bytes. */
#ifndef STALLKIT_DUMP_PIPE_ROOM_H
#define STALLKIT_DUMP_PIPE_ROOM_H

/* Lets a pipe hold 1 MiB, as much as Linux allows without privileges, in place of 64 KiB, so that
 * its two ends wait for each other less often. No effect on another descriptor, on another system,
 * or where the system refuses it. Source: F_SETPIPE_SZ of fcntl(2). */
void pipe_widen(int fd);

#endif
