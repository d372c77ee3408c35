/* The spool of a recorder that runs: dumps are copied into a mapped file of its folder as they are
 * captured, and their times go on there, so that a process that is killed loses none of them. The
 * next start writes what is left of it (spool_recover.h). POSIX only.
 *
 * The file is allocated in full when it is made: a disk that is full afterwards takes no page away.
 * No descriptor stays open: the mapping keeps the file, and the lock that says that its process
 * lives, whatever descriptors the program closes. A forked child does not have the mapping. */
#ifndef STALLREC_SPOOL_H
#define STALLREC_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "files/dumpname.h"
#include "spool/spool_format.h"

/* The state of a slot, kept here so that the mapping is only ever written. */
struct rec_spool_slot {
    uint64_t sequence;
    uint32_t body_len, body_crc;
    bool used;
};

/* Zeroed: there is none, and all calls but open do nothing. Large. */
struct rec_spool {
    unsigned char *map; /* [REC_SPOOL_SIZE], or NULL */
    atomic_bool broken; /* the file was damaged from outside: cut short, or its disk failed */
    char name[REC_FILE_NAME];
    dev_t device; /* identity of the file, whatever has its name by now */
    ino_t inode;
    struct rec_spool_slot slots[REC_RECORDS];
    unsigned char body[REC_SPOOL_BODY]; /* where one is put together */
};

/* Makes the spool's file in the folder `dir`. header: pid, process_start, start_ms, session and
 * about. False, with errno set: the disk is full, the file system cannot do it, or files may not be
 * as large (RLIMIT_FSIZE); nothing is left, and dumps are in memory only until they are written. */
bool rec_spool_open(struct rec_spool *spool, int dir, const struct rec_spool_header *header);

/* Does it still store dumps? False if there is none, or its file was cut short by another process:
 * dumps are then in memory only. */
bool rec_spool_works(const struct rec_spool *spool);

/* A dump was captured into record `slot`, or has its threads now. loop_at: as in rec_about. */
void rec_spool_keep(struct rec_spool *spool, uint32_t slot, const struct rec_dump *dump,
                    const char *loop_at);
/* The dump's times and counts changed; with closed, for the last time but for the stall's duration.
 */
void rec_spool_grow(struct rec_spool *spool, uint32_t slot, const struct rec_dump *dump,
                    bool closed);
/* The dump has a file of its own, or is lost. */
void rec_spool_drop(struct rec_spool *spool, uint32_t slot);

/* The app went to the background, where the system may end it at any time, or came back. Any
 * thread. */
void rec_spool_suspend(struct rec_spool *spool, bool suspended);

/* Would the next start find the file? Its name may be gone together with the folder. */
bool rec_spool_remains(const struct rec_spool *spool, int dir);

/* Removes the file with the dumps in it. dir -1: only unmaps it, for the next start to recover. */
void rec_spool_close(struct rec_spool *spool, int dir);

#endif
