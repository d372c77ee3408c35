/* Declares the common parts of the gate's reports. */
#ifndef STALLKIT_CLASSIFY_GATE_TEXT_H
#define STALLKIT_CLASSIFY_GATE_TEXT_H

#include "classify/print/print_formats.h"
#include "classify/print/triage_text.h"
#include "classify/gate/gate.h"

enum { GATE_ROWS_MAX = 20 }; /* maximum number of rows that a report for people shows */

/* Names of the measures: "stalls", "time", "users". */
extern const char *const gate_measure_names[GATE_MEASURES];
/* gate_rate returns a row's events in a run in the unit of the report. gate_unit_text returns the
 * words for that unit, to be put after the number: " in 1,000 hours", "% of the stalls". Users are
 * a plain count: " in the run". */
double gate_rate(const struct gate *g, const struct gate_row *row, size_t run, size_t m);
const char *gate_unit_text(const struct gate *g, size_t m);
/* Returns the words before a ratio that say what the ratio compares: users are counted, but
 * compared relative to the exposure ("per hour "), or, if shares are compared, to all users.
 * Returns "" for the other measures, whose numbers the ratio compares. */
const char *gate_ratio_unit(const struct gate *g, size_t m);
/* Returns the word for the run's verdict: "passed", "failed", "inconclusive". */
const char *gate_outcome(const struct gate *g);
/* Returns the number of rows that regressed or are new, which come first. */
size_t gate_failed_rows(const struct gate *g);
/* Returns the number of rows that reports mention: those that failed, then suspect ones, then
 * those that came with a system or device or are ignored. */
size_t gate_told_rows(const struct gate *g);

/* Could the measure be compared in both runs? If not, there is no ratio. */
bool gate_is_compared(const struct rates_comparison *c);

/* Each gate_add function appends a text. This one appends a number: below 10 with two digits after
 * the point, below 100 with one, else with none: "1.29". An infinite number is "∞". */
void gate_add_number(struct strbuf *b, double v);
/* Appends a row's measure in a run, in the unit of the report; users are whole numbers. */
void gate_add_rate(struct strbuf *b, const struct gate *g, const struct gate_row *row, size_t run,
                   size_t m);
/* Appends a row's measure in both runs, with the ratio if it could be compared: "1.20 → 1.44 in
 * 1,000 hours, × 1.20 (0.90 to 1.60)". */
void gate_add_measure(struct strbuf *b, const struct gate *g, const struct gate_row *row, size_t m);
/* Appends the remark on a row that is new, ignored or suspect, came with a system or device, has
 * another id in the baseline, or is a pool: "new with iOS 18, …"; nothing for any other row. */
void gate_add_remark(struct strbuf *b, const struct gate *g, const struct gate_row *row);
/* Appends a row's title: "draw ← show", "all stalls", "lock, 12 buckets together". */
void gate_add_title(struct strbuf *b, const struct gate_row *row);
/* Appends the numbers of rows by verdict: "1 regressed, 0 new, 2 of 40 without enough data". */
void gate_add_counts(struct strbuf *b, const struct gate *g);
/* Appends the size of a run: "2,000 stalls, 400 users, 9,000 hours in the foreground". */
void gate_add_run(struct strbuf *b, const struct gate *g, size_t run);
/* Appends the limits of the comparison, a sentence on each line. */
void gate_add_notes(struct strbuf *b, const struct gate *g);
/* Appends the verdict, both runs and the notes, on lines of their own. */
void gate_add_summary(struct strbuf *b, const struct gate *g);

#endif
