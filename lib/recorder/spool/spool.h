/* The spool of a running recorder: dumps are copied into a mapped file of the recorder's folder as
 * they are captured, and their times are updated there, so that no dump is lost if the process is
 * killed. The next start writes the dumps that are left in it (spool_recover.h). POSIX only.
 *
 * The file is allocated in full when it is made, so that a disk that fills up later takes no page
 * away. No descriptor stays open: the mapping keeps the file and its lock, by which others see that
 * the process lives, whatever descriptors the program closes. A forked child does not have the
 * mapping. */
#ifndef STALLREC_SPOOL_H
#define STALLREC_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "files/dumpname.h"
#include "spool/spool_format.h"

/* The state of a slot, kept in memory, as the mapping is only written and never read. */
struct rec_spool_slot {
    uint64_t sequence;
    uint32_t body_len, body_crc;
    bool used;
};

/* A recorder's spool. A zeroed struct means that there is none; all functions but rec_spool_open
 * then do nothing. The struct is large. */
struct rec_spool {
    unsigned char *map; /* [REC_SPOOL_SIZE], or NULL */
    atomic_bool broken; /* a store failed, as the file was truncated by another process, or its disk
                           failed */
    char name[REC_FILE_NAME];
    dev_t device; /* device and inode identify the file, as another one may have its name by now */
    ino_t inode;
    struct rec_spool_slot slots[REC_RECORDS];
    unsigned char body[REC_SPOOL_BODY]; /* buffer in which a body is encoded */
};

/* Makes the spool's file in the folder `dir`. header: pid, process_start, start_ms, session and
 * about. False, with errno set: the file cannot be made, because for example the disk is full, the
 * file system cannot allocate, or a file may not be so large (RLIMIT_FSIZE). Dumps are then only in
 * memory until they are written. No file is left, except with EBUSY (another process locked or
 * removed the new file), where one may be. */
bool rec_spool_open(struct rec_spool *spool, int dir, const struct rec_spool_header *header);

/* Does the spool still store dumps? False if there is none, or a store has failed because another
 * process truncated its file or the disk failed: dumps are then only in memory. */
bool rec_spool_works(const struct rec_spool *spool);

/* Stores a captured dump into slot `slot` if the slot is free; else appends the images, threads and
 * names that the dump has by now to the slot. The dump's times and counts are stored, too. A dump
 * of which nothing fits is not stored. loop_at: as in rec_about. */
void rec_spool_keep(struct rec_spool *spool, uint32_t slot, const struct rec_dump *dump,
                    const char *loop_at);
/* Stores the dump's changed times and counts. closed: from now on only the stall's duration, its
 * gaps and whether it has ended change. */
void rec_spool_grow(struct rec_spool *spool, uint32_t slot, const struct rec_dump *dump,
                    bool closed);
/* Frees the slot of a dump that was written to a file, is lost or was taken back. */
void rec_spool_drop(struct rec_spool *spool, uint32_t slot);

/* Stores whether the app is in the background, where the system may end it at any time. It may be
 * called on any thread. */
void rec_spool_suspend(struct rec_spool *spool, bool suspended);

/* Would the next start find the spool's file? It would not if the file or its folder was
 * removed. False also if rec_spool_works is false. */
bool rec_spool_remains(const struct rec_spool *spool, int dir);

/* Removes the file with the dumps in it from the folder `dir`, and unmaps it. If dir is -1, the
 * file is only unmapped, and the next start recovers its dumps. Does nothing if the spool has no
 * file. */
void rec_spool_close(struct rec_spool *spool, int dir);

#endif
