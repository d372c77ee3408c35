/* Recovers the dumps that a recorded program that died left in the recorder's folder, for the
 * command that ran the program. */
#ifndef STALLREC_RECOVER_H
#define STALLREC_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

/* A request to recover dumps: the folder, the process that ended, and other processes whose end is
 * awaited. */
struct recover_request {
    const char *directory;
    uint32_t mode; /* file_mode of struct stallrec_config, for the dumps */
    uint32_t pid;  /* id of the process that just ended, whose spool may stay in use for a moment */
    bool by_itself;         /* process `pid` was not killed, so its open dumps are not fatal */
    int64_t since_ms;       /* Unix time in ms; dumps of recorders that started before this count as
                               earlier */
    const uint32_t *others; /* ids of other processes, whose end is awaited for at most others_ms */
    uint32_t other_count, others_ms;
};

struct recover_counts {
    uint32_t dumps;   /* number of dumps written */
    uint32_t fatal;   /* number of dumps, of those in `dumps`, whose process died in the stall */
    uint32_t earlier; /* number of written dumps, not in `dumps`, of recorders that started before
                         since_ms */
    uint32_t lost;    /* number of dumps that could not be written, and wait for the next start */
    int lost_error;   /* errno of the last lost dump; 0 = none */
    uint32_t running; /* number of spools of the request's other processes, which still run */
};

/* Recovers the dumps and sessions of dead processes, as the next start of a recorder would, and
 * removes junk. It waits for up to 1 s while the spool of request->pid is in use, and for up to
 * others_ms while those of the other processes are. False: out of memory, or the folder cannot be
 * opened or written to (errno); *out may then be not set. */
bool recover_folder(const struct recover_request *request, struct recover_counts *out);

#endif
