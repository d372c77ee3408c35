/* The output formats, one row each: a triage and a gate as tables for people, as files for
 * programs. Errors of writing stick to the sink. */
#ifndef STALLKIT_CLASSIFY_PRINT_FORMATS_H
#define STALLKIT_CLASSIFY_PRINT_FORMATS_H

#include "base/sink.h"
#include "classify/gate/gate.h"
#include "classify/stats/triage.h"

struct triage_view {
    size_t top;      /* most level-1 buckets shown; 0 = all */
    unsigned width;  /* columns of the table, 40 … 400 */
    bool colour;     /* for terminals that show it */
    unsigned facets; /* rates by these are shown, too: a bit for each enum usage_facet */
};

/* A row: the word that selects the format, and its printers. */
struct print_format {
    const char *word; /* NULL behind the last row */
    bool for_people;  /* it shows the first buckets by default, not all */
    void (*triage)(const struct triage *t, const struct triage_view *v, struct sink *out);
    void (*gate)(const struct gate *g, struct sink *out); /* NULL: there is no such report */
    /* The same for who holds locks. */
    void (*holders)(const struct triage *t, const struct triage_view *v, struct sink *out);
};
/* The first is the default. */
extern const struct print_format print_formats[];

/* A finished triage. The table that a person reads. */
void triage_print_table(const struct triage *t, const struct triage_view *v, struct sink *out);
/* stall-triage/1, see stallclassify(1): integers only, one document on one line. */
void triage_print_json(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Comma-separated values with a head line (RFC 4180). */
void triage_print_csv(const struct triage *t, const struct triage_view *v, struct sink *out);
/* A table in Markdown, for pull requests. */
void triage_print_markdown(const struct triage *t, const struct triage_view *v, struct sink *out);
/* A test suite with a case for each level-1 bucket, for build servers. */
void triage_print_junit(const struct triage *t, const struct triage_view *v, struct sink *out);

/* Prints a table of the threads that hold the locks for which stalls of a finished triage wait. */
void holders_print_table(const struct triage *t, const struct triage_view *v, struct sink *out);
/* stall-holders/1, see stallclassify(1), on one line. */
void holders_print_json(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Comma-separated values with a head line. */
void holders_print_csv(const struct triage *t, const struct triage_view *v, struct sink *out);
/* A table in Markdown. */
void holders_print_markdown(const struct triage *t, const struct triage_view *v, struct sink *out);

/* A comparison, for people. */
void gate_print_text(const struct gate *g, struct sink *out);
/* The same in a pull request. */
void gate_print_markdown(const struct gate *g, struct sink *out);
/* stall-gate/1 on one line. */
void gate_print_json(const struct gate *g, struct sink *out);
/* A test suite for build servers: a case for each row, of which those of a verdict in
 * options.fail_on have failed, and one for the run, which fails if it is inconclusive and that is
 * in there. */
void gate_print_junit(const struct gate *g, struct sink *out);

#endif
