/* Recovers what a recorded program that died left in the recorder's folder, for the command that
 * ran it. */
#ifndef STALLREC_RECOVER_H
#define STALLREC_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

struct recover_counts {
    uint32_t dumps;   /* written */
    uint32_t fatal;   /* of them: of stalls in which their process died */
    uint32_t earlier; /* also written: dumps of recorders that started before since_ms */
    uint32_t lost;    /* dumps that could not be written: they wait for the next start */
};

/* Recovers the dumps and sessions of dead processes, as the next start of a recorder would. pid:
 * the process that just ended, whose spool may take a moment to be free; by_itself: its open dumps
 * are not fatal. since_ms: Unix time. False: out of memory, or the folder cannot be read (errno).
 */
bool recover_folder(const char *directory, uint32_t pid, bool by_itself, int64_t since_ms,
                    struct recover_counts *out);

#endif
