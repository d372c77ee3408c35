/* A descriptor that is held open in somebody else's program, which may close every descriptor that
 * it did not open, and have its number be another file's by the next use. */
#ifndef STALLREC_REC_FD_H
#define STALLREC_REC_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Zero-initialised is not valid; REC_FD_NONE is. */
struct rec_fd {
    int fd;       /* -1: none */
    dev_t device; /* identity of the file: the number alone says nothing */
    ino_t inode;
};

#define REC_FD_NONE ((struct rec_fd){.fd = -1})

/* The lowest number for our descriptors, if the process may have so many. */
enum { REC_FD_FROM = 200 };

/* Holds on to a descriptor that was just opened, by another number if need be, and has it closed on
 * exec; -1 = it could not be opened. errno is kept. */
struct rec_fd rec_fd_hold_async(int fd);
/* Is the number still our file's? To be asked right before each use. */
bool rec_fd_is_ours_async(const struct rec_fd *fd);
/* Closes it, unless the number is another file's by now; it is REC_FD_NONE afterwards. */
void rec_fd_close_async(struct rec_fd *fd);

/* Writes all of it, however often write(2) is interrupted or writes less. False: see errno. */
bool rec_write_all(int fd, const void *bytes, size_t len);

#endif
