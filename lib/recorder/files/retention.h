/* Limits what is kept in the recorder's folder. POSIX only; allocates, so it is called while the
 * watched loop is idle, never during a stall. */
#ifndef STALLREC_RETENTION_H
#define STALLREC_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

/* 0 = no limit. */
struct rec_retention {
    uint32_t days;
    uint64_t bytes;
    uint32_t files;
};

struct rec_retained {
    uint32_t files; /* dumps and sessions that remain */
    uint64_t bytes;
    uint32_t removed;
};

/* Removes from the folder `dir` (a descriptor) what is over the limits: first what is older than
 * `days` at the wall time, a batch (batch.c) too; then, while there are too many files or bytes,
 * the oldest of the bucket with the most files. The first file of a bucket, which may be all there
 * is of a stall, goes only when no bucket has a second one: the limits hold in any case. Sessions
 * are one bucket. Nothing but files that dumpname.h names is touched. False if the folder cannot be
 * read or no memory is left; out is set on true and may be NULL. */
bool rec_retention_apply(int dir, const struct rec_retention *limits, int64_t wall_ms,
                         struct rec_retained *out);

/* Removes unfinished files of killed processes: .stall-*.part files that nobody holds locked. Those
 * of batches belong to stallrec_batch_next. */
void rec_retention_remove_junk(int dir);

/* Is the file, of the folder `dir`, locked by another process? A lock ends with its process. */
bool rec_file_is_held(int dir, const char *name);

#endif
