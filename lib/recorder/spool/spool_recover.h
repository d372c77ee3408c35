/* Writes the dumps in the spools of dead processes to files. POSIX only. It allocates, reads and
 * writes files, so it must not be called while the watched thread stalls. */
#ifndef STALLREC_SPOOL_RECOVER_H
#define STALLREC_SPOOL_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "files/dumpfile.h"

struct rec_recovery {
    int dir;                   /* descriptor of the folder */
    struct rec_dumpfile *file; /* writer of dumps to that folder */
    const char *own;           /* file name of this process's own spool; NULL = there is none */
    uint32_t pid; /* id of this process, whose spool from before an exec is recovered; 0 = there is
                     none */
    uint32_t ended_pid; /* id of a process that exited normally, so that no stall of it was fatal; 0
                           = none */
    int64_t since_ms;   /* Unix time in ms; dumps of recorders that started before this count as
                           earlier */
    /* count is called before a dump is written, wrote after it. about describes the dead process,
     * and `count` may complete it. Either function may be NULL. */
    void (*count)(void *ctx, struct rec_about *about);
    void (*wrote)(void *ctx, const struct rec_dump *dump, const struct rec_about *about,
                  const char *path, enum stallrec_error st);
    /* Called for each spool that counts in rec_recovered.alive; pid is that in the spool's name.
     * NULL: not called. */
    void (*alive)(void *ctx, uint32_t pid);
    void *ctx;
};

struct rec_recovered {
    uint32_t dumps;   /* number of dumps written, without those in `earlier` */
    uint32_t fatal;   /* number of dumps, of those in `dumps`, whose process died in the stall */
    uint32_t earlier; /* number of written dumps, counted only here, of recorders that started
                         before since_ms */
    uint32_t lost;  /* number of dumps that could not be written, and whose spools stay for the next
                       call */
    int lost_error; /* errno of the last lost dump; 0 = none */
    uint32_t damaged; /* number of headers of spools and of dumps in slots that are damaged */
    uint32_t alive;   /* number of spools passed over, such as those of living processes */
};

/* Writes the dumps of the spools in the folder whose processes are dead, and removes the spools but
 * those with a dump that could not be written. One call reads at most 64 spools, those of living
 * processes included. A stall that was still open becomes fatal, unless the app was in the
 * background, the process is how->ended_pid, or the spool is that of this process from before an
 * exec; a closed dump stays as it was. If the process is killed meanwhile, the next call continues,
 * and a dump that has a file is not written again. Only one process at a time recovers a spool.
 * False: out of memory, and no spool was read. */
bool rec_spool_recover(const struct rec_recovery *how, struct rec_recovered *out);

/* One spool, given as bytes, which may be damaged. `done` is called for each slot whose dump has a
 * file or cannot be read; it may be NULL. rec_spool_write_dumps writes the spool's dumps as
 * rec_spool_recover does, and adds to the counts in *out; false: a dump could not be written, or
 * memory ran out. For tests. */
struct rec_spool_file {
    const unsigned char *bytes;
    size_t len;
    bool fatal; /* the process was killed */
    void (*done)(void *ctx, uint32_t slot, uint64_t sequence);
    void *ctx;
};
bool rec_spool_write_dumps(const struct rec_recovery *how, const struct rec_spool_file *spool,
                           struct rec_recovered *out);

#endif
