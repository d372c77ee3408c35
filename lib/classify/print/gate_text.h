/* The common parts of the gate's reports. */
#ifndef STALLKIT_CLASSIFY_GATE_TEXT_H
#define STALLKIT_CLASSIFY_GATE_TEXT_H

#include "classify/print/print_formats.h"
#include "classify/print/triage_text.h"
#include "classify/gate/gate.h"

enum { GATE_ROWS_MAX = 20 }; /* failed rows that people are shown */

/* "stalls", "time", "users" */
extern const char *const gate_measure_names[GATE_MEASURES];
/* A row's events in a run, in the unit of the report, and that unit, to be put behind the number: "
 * in 1,000 hours", "% of the stalls"; users are counted: " in the run". */
double gate_rate(const struct gate *g, const struct gate_row *row, size_t run, size_t m);
const char *gate_unit_text(const struct gate *g, size_t m);
/* "passed", "failed", "inconclusive": the run. */
const char *gate_outcome(const struct gate *g);
/* Rows that regressed or are new; they come first. */
size_t gate_failed_rows(const struct gate *g);
/* These, then large buckets that may have risen, then those that came with a system or device. */
size_t gate_told_rows(const struct gate *g);

/* Do both runs have what the measure is compared by? Else there is no ratio. */
bool gate_is_compared(const struct rates_comparison *c);

/* Each of these appends. "1.29"; "∞". */
void gate_add_number(struct strbuf *b, double v);
/* The same of a row's measure in a run; users are whole. */
void gate_add_rate(struct strbuf *b, const struct gate *g, const struct gate_row *row, size_t run,
                   size_t m);
/* "new with iOS 18, …": what is to be said of a row that is told; nothing of one that regressed. */
void gate_add_remark(struct strbuf *b, const struct gate *g, const struct gate_row *row);
/* "draw ← show", "all stalls", "lock, 12 small buckets together" */
void gate_add_title(struct strbuf *b, const struct gate_row *row);
/* "1 regressed, 0 new, 2 of 40 without enough data" */
void gate_add_counts(struct strbuf *b, const struct gate *g);
/* "2,000 stalls, 400 users, 9,000 hours in the foreground" */
void gate_add_run(struct strbuf *b, const struct gate *g, size_t run);
/* What limits the comparison, a sentence on each line. */
void gate_add_notes(struct strbuf *b, const struct gate *g);
/* The verdict, both runs and the notes, on lines of their own. */
void gate_add_summary(struct strbuf *b, const struct gate *g);

#endif
