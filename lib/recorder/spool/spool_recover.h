/* Writes the dumps in the spools of dead processes as files of their own. POSIX only. Allocates,
 * reads and writes files: not while the watched thread stalls. */
#ifndef STALLREC_SPOOL_RECOVER_H
#define STALLREC_SPOOL_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "files/dumpfile.h"

struct rec_recovery {
    int dir;                   /* the folder */
    struct rec_dumpfile *file; /* that writes to the same one */
    const char *own;           /* name of this process's own spool; NULL = it has none */
    uint32_t pid;              /* this process: what it left before an exec; 0 = none of its own */
    uint32_t ended_pid;        /* a process that exited normally: nothing was fatal; 0 = none */
    int64_t since_ms;          /* what is left of recorders that started before is earlier */
    /* Before and after each dump is written. about is the dead process's, to be completed. Either
     * may be NULL. */
    void (*count)(void *ctx, struct rec_about *about);
    void (*wrote)(void *ctx, const struct rec_dump *dump, const struct rec_about *about,
                  const char *path, enum stallrec_error st);
    /* A spool's process lives, or another process recovers it. pid: of its name. May be NULL. */
    void (*alive)(void *ctx, uint32_t pid);
    void *ctx;
};

struct rec_recovered {
    uint32_t dumps;   /* written */
    uint32_t fatal;   /* of these, dumps of stalls in which their process died */
    uint32_t earlier; /* written, too, but counted in neither */
    uint32_t lost;    /* not written: their spools stay for the next call */
    int lost_error;   /* errno of the last of these; 0 = none */
    uint32_t damaged; /* slots that could not be read */
    uint32_t alive;   /* spools of living processes, or that another process recovers */
};

/* Writes the dumps of all spools of the folder whose processes are dead, and removes the spools.
 * What was still open is fatal and has not ended, unless the app was in the background; what was
 * closed is as it was. Killed anywhere, the next call goes on: a dump that has its file already is
 * not written again. One process at a time recovers a spool. False: no memory, or the folder cannot
 * be read. */
bool rec_spool_recover(const struct rec_recovery *how, struct rec_recovered *out);

/* The dumps of one spool, given as bytes; rest as above. held (REC_SPOOL_SIZE bytes of it read) may
 * be any bytes. done is told of each slot that needs the spool no more; may be NULL. Returns false
 * if a dump could not be written. Used by tests and the above. */
struct rec_spool_file {
    const unsigned char *bytes;
    size_t len;
    bool fatal; /* the process did not end of its own will */
    void (*done)(void *ctx, uint32_t slot, uint64_t sequence);
    void *ctx;
};
bool rec_spool_write_dumps(const struct rec_recovery *how, const struct rec_spool_file *spool,
                           struct rec_recovered *out);

#endif
