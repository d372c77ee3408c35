/* Counts the dumps and session records of answered lines by hour or day, for stallclassify
 * --partial --answer-each. */
#ifndef STALLKIT_CMD_CLASSIFY_PERIODS_H
#define STALLKIT_CMD_CLASSIFY_PERIODS_H

#include <stdbool.h>

#include "base/sink.h"
#include "base/vec.h"
#include "classify/stats/triage.h"

enum { CLASSIFY_PERIOD_NAME = 16 };

/* The counts of one period. */
struct classify_period {
    char name[CLASSIFY_PERIOD_NAME]; /* 2026-11-21T10, 2026-11-21 or "unknown" */
    struct triage *triage;
};

/* The periods that have counts. Zero-initialised = off. */
struct classify_periods {
    bool on, daily;
    struct triage_options options;    /* options with which each period's triage is made */
    VEC(struct classify_period) rows; /* periods in the order of their names */
};

/* Finds the counts of the period of this time, which is the text of a dump or a session record or
 * NULL; makes them if there are none. *out belongs to p. A time that does not begin with a date and
 * an hour as in RFC 3339, or whose zone is not UTC, is of the period "unknown". The memory of
 * periods is bounded by the number of dumps between two calls of classify_periods_write alone.
 * ST_ERR: out of memory. */
enum st classify_period_at(struct classify_periods *p, const char *time, struct triage **out,
                           struct err *e) BASE_MUST_USE;
/* Writes each period's partial as a line: a head whose kind is "partial" and whose id is the
 * period's name, then the lines of stall-partial(5) with a tab behind each in place of its line
 * feed. Then removes all periods, also after an error. ST_ERR: out of memory. */
enum st classify_periods_write(struct classify_periods *p, struct sink *out,
                               struct err *e) BASE_MUST_USE;
void classify_periods_release(struct classify_periods *p);

#endif
