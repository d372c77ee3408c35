/* The room of a pipe. */
#ifndef STALLKIT_DUMP_PIPE_ROOM_H
#define STALLKIT_DUMP_PIPE_ROOM_H

/* Lets a pipe hold 1 MB, as much as Linux allows without privileges, where it held 64 kB: its two
 * ends take turns less often. No effect on another descriptor, on another system, or where the
 * system refuses it. Source: F_SETPIPE_SZ of fcntl(2). */
void pipe_widen(int fd);

#endif
