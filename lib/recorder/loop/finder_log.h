/* The log of a finder's waits: runs of waits with short pauses, by time, of all candidates. It is
 * what finder_idle reads. Its rules are those of loop_finder.h. */
#ifndef STALLREC_FINDER_LOG_H
#define STALLREC_FINDER_LOG_H

#include "loop/loop_finder.h"

/* Removes all runs of the candidate with this index. */
void finder_drop_runs(struct loop_finder *f, uint32_t candidate);

/* Adds to the log a wait that begins at now_ns and whose end is not known yet: extends the
 * candidate's latest run to now_ns if the pause since it is short, else begins a run. A full log
 * loses its older half. */
void finder_log_wait(struct loop_finder *f, const struct finder_candidate *c, uint64_t now_ns);
/* Ends the candidate's latest run, if the log has one, at now_ns. */
void finder_log_end(struct loop_finder *f, const struct finder_candidate *c, uint64_t now_ns);

#endif
