/* What the spool needs from a system. One file per platform: spool_linux.c, spool_darwin.c. */
#ifndef STALLREC_SPOOL_SYSTEM_H
#define STALLREC_SPOOL_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Allocates the first `size` bytes of a new file, so that writing them needs no room later. Returns
 * 0 or an errno; EOPNOTSUPP: this file system cannot, other than by writing them. */
int rec_spool_allocate(int fd, off_t size);

/* Locks the file for as long as it is open or mapped, where the system has such locks. False:
 * another one, of whatever process, has the lock. */
bool rec_spool_lock(int fd);
/* A forked child does not have the mapping, nor with it the lock. */
void rec_spool_keep_from_children(void *map, size_t size);

/* Copies into the mapping of a file. False: a part of it is not there any more, because the file
 * was cut short or its disk failed; to touch it otherwise raises SIGBUS in the program. Where the
 * system does not let us ask it to copy, that may still come. */
bool rec_spool_store(unsigned char *to, const unsigned char *from, size_t len);

/* When a process of this system started, in units of its own: with its number, what tells it from
 * all others. 0 = there is none, it is dead and only waits to be told of, or it is not known. */
uint64_t rec_process_start(uint32_t pid);

#endif
