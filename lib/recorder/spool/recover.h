/* Recovers what a recorded program that died left in the recorder's folder, for the command that
 * ran it. */
#ifndef STALLREC_RECOVER_H
#define STALLREC_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

/* The process whose end is awaited, and what is new since the last look. */
struct recover_request {
    const char *directory;
    uint32_t pid;     /* the process that just ended, whose spool may take a moment to be free */
    bool by_itself;   /* its open dumps are not fatal */
    int64_t since_ms; /* Unix time; dumps of recorders that started before are earlier ones */
    const uint32_t *others; /* other processes, whose end is awaited for others_ms at most */
    uint32_t other_count, others_ms;
};

struct recover_counts {
    uint32_t dumps;   /* written */
    uint32_t fatal;   /* of them: of stalls in which their process died */
    uint32_t earlier; /* also written: dumps of recorders that started before since_ms */
    uint32_t lost;    /* dumps that could not be written: they wait for the next start */
    int lost_error;   /* errno of the last of these; 0 = none */
    uint32_t running; /* spools of the request's other processes, which still run */
};

/* Recovers the dumps and sessions of dead processes, as the next start of a recorder would. False:
 * out of memory, or the folder cannot be read (errno). */
bool recover_folder(const struct recover_request *request, struct recover_counts *out);

#endif
