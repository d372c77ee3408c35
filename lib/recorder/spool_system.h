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

/* Copies into the mapping of a file. False: a part of the file is gone, because it was cut short or
 * its disk failed; a plain write there would raise SIGBUS. On a system that cannot copy on request
 * the signal is still possible. */
bool rec_spool_store(unsigned char *to, const unsigned char *from, size_t len);

/* The start time of a process, in the system's units, which together with its number identifies it.
 * 0 = there is none, it is a zombie, or the time is not known. */
uint64_t rec_process_start(uint32_t pid);

#endif
