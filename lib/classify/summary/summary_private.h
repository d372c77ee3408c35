/* Declares the types and functions that the files that make a summary share. */
#ifndef STALLKIT_CLASSIFY_SUMMARY_PRIVATE_H
#define STALLKIT_CLASSIFY_SUMMARY_PRIVATE_H

#include "classify/summary/summary.h"
#include "classify/stats/triage_private.h"

struct summary_maker {
    struct summary *s;
    const struct triage *t;
    struct strbuf text;   /* scratch */
    const char **actions; /* titles of the actions, NULL = not made yet */
    bool failed;          /* memory ran out */
};

/* Returns a copy of m->text, which is emptied; "" if memory ran out, and then m->failed is set. */
const char *summary_keep(struct summary_maker *m);

/* summary_versions.c. Fills s->releases and s->rated. */
void summary_add_versions(struct summary_maker *m);

/* summary_gate.c. Adds the comparison to the summary: its changes and marks to the buckets, the
 * buckets that are gone, the rows that are told, the outcome and the sentences. */
void summary_add_gate(struct summary_maker *m, const struct gate *g);

#endif
