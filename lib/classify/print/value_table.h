/* Makes and prints a table of stalled time by the values of one property: a row for each version of
 * the app, day, system, device, cause or kind of stall. */
#ifndef STALLKIT_CLASSIFY_VALUE_TABLE_H
#define STALLKIT_CLASSIFY_VALUE_TABLE_H

#include "base/arena.h"
#include "base/vec.h"
#include "classify/print/print_formats.h"
#include "classify/stats/usage.h"

/* The counts of the dumps that have one value of the property. */
struct value_row {
    const char *text; /* "" = the dumps do not have the property */
    uint64_t stalls, ms;
    uint64_t foreground_ms; /* watched time in the foreground, in ms; 0 = unknown */
    uint64_t rated_ms; /* the time by which rated_stalls are divided; 0 = their rate is unknown */
    uint64_t rated_stalls; /* as of struct usage_row */
    bool alone; /* the row was counted on its own (value_table_add), so that the members below are
                   set */
    uint64_t dumps, users;
    struct tally_duration p50, p95;
};
/* Zero-initialised = empty. */
struct value_table {
    const char *by; /* word for the property: "version", "day" …; borrowed */
    bool ascending; /* the rows ascend by value, and the last ones are shown; else the first ones
                       are shown, and of a facet's rows, devices with most time in the foreground,
                       causes and kinds with most stalled time are first */
    VEC(struct value_row) rows;
    struct arena texts;
};

/* Adds a row for each value of a facet in a finished triage, and sets v->by and v->ascending.
 * False: out of memory. */
bool value_table_of_facet(struct value_table *v, const struct triage *t,
                          enum usage_facet f) BASE_MUST_USE;
/* Adds a row with the totals of a finished triage. False: out of memory. */
bool value_table_add(struct value_table *v, const char *text, const struct triage *t) BASE_MUST_USE;
void value_table_release(struct value_table *v);

/* Print the table, with shares of the totals of t, which is finished; view->top: the maximum number
 * of rows (of an ascending table the last ones, of any other the first ones); 0 = all. */
void values_print_table(const struct value_table *v, const struct triage *t,
                        const struct triage_view *view, struct sink *out);
/* Prints the table as stall-values/1, see stallclassify(1), on one line. */
void values_print_json(const struct value_table *v, const struct triage *t,
                       const struct triage_view *view, struct sink *out);
void values_print_csv(const struct value_table *v, const struct triage *t,
                      const struct triage_view *view, struct sink *out);
void values_print_markdown(const struct value_table *v, const struct triage *t,
                           const struct triage_view *view, struct sink *out);

#endif
