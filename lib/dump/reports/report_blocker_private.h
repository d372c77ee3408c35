/* Reads for which thread others waited from the text of spindump(8). */
#ifndef STALLKIT_DUMP_REPORT_BLOCKER_PRIVATE_H
#define STALLKIT_DUMP_REPORT_BLOCKER_PRIVATE_H

#include "dump/reports/report_private.h"

/* Returns the length of the executable's name in "Shop (My Shop) [301]". */
size_t report_process_name_len(const char *name);
/* Notes for which thread of the same process the samples of this line waited, if the line names
 * one. If lines name several owners, the first is kept, unless one line of another owner has more
 * samples than all lines of the first so far. now: the thread that is read; NULL = none. process:
 * "Shop [301]"; NULL = not given. */
void report_note_blocker(struct report_outline_thread *now, const char *process, const char *line);

#endif
