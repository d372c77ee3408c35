/* Holds a descriptor open in a program that is not ours, and that may close all descriptors that it
 * did not open, so that another file may have the number by the next use. rec_write_all writes to
 * any descriptor. */
#ifndef STALLREC_REC_FD_H
#define STALLREC_REC_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A descriptor with the identity of its file. A zeroed struct is not valid; REC_FD_NONE is. */
struct rec_fd {
    int fd;       /* number of the descriptor; -1: none */
    dev_t device; /* device and inode identify the file, as the number alone does not */
    ino_t inode;
};

#define REC_FD_NONE ((struct rec_fd){.fd = -1})

/* The lowest number for our descriptors, if the process may have such numbers. */
enum { REC_FD_FROM = 200 };

/* Takes over a descriptor that was just opened (-1: opening failed): moves a number below
 * REC_FD_FROM to a higher one, with close-on-exec, if the process may have such a number, and
 * stores the file's identity. errno is kept. */
struct rec_fd rec_fd_hold_async(int fd);
/* Does the descriptor's number still refer to our file? It must be called right before each use. */
bool rec_fd_is_ours_async(const struct rec_fd *fd);
/* Closes the descriptor, unless its number is another file's by now. *fd is REC_FD_NONE
 * afterwards. */
void rec_fd_close_async(struct rec_fd *fd);

/* Writes all `len` bytes, even if write(2) is interrupted or writes fewer. False: see errno. */
bool rec_write_all(int fd, const void *bytes, size_t len);

#endif
