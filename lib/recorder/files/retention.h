/* Enforces the limits of the recorder's folder. POSIX only. It allocates, so it is called while
 * the watched loop is idle, never during a stall. */
#ifndef STALLREC_RETENTION_H
#define STALLREC_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

/* Limits of the folder: age in days, bytes, number of files; 0 = no limit. */
struct rec_retention {
    uint32_t days;
    uint64_t bytes;
    uint32_t files;
};

struct rec_retained {
    uint32_t files; /* number of the examined dumps and sessions that remain, without those that
                       could not be removed */
    uint64_t bytes;
    uint32_t removed;
};

/* Removes files from the folder `dir` (a descriptor) until the limits hold: first those older than
 * `days` at the wall time, by their names, and batches (batch.c), by the time of their last change;
 * then, while there are too many files or bytes, the oldest file but one of the bucket with the
 * most files. The oldest file of a bucket, which may be the only one of a stall, is removed only
 * when no bucket has a second file. Sessions form one bucket. Only files that dumpname.h names are
 * touched; one call examines at most 65,536 dumps and sessions. False: the folder cannot be read,
 * or memory ran out; *out is set on true, and out may be NULL. */
bool rec_retention_apply(int dir, const struct rec_retention *limits, int64_t wall_ms,
                         struct rec_retained *out);

/* Removes unfinished files of killed processes: .stall-*.part files that no other process locks.
 * Those of batches are left to stallrec_batch_next. */
void rec_retention_remove_junk(int dir);

/* Is the file in the folder `dir` locked by another process? A lock ends with its process. False
 * also if the file cannot be opened. */
bool rec_file_is_held(int dir, const char *name);

#endif
