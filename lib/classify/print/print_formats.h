/* Declares the output formats, one row each: most print triages, gates, holders of locks and tables
 * of values, for people or for programs. Errors of writing stick to the sink. */
#ifndef STALLKIT_CLASSIFY_PRINT_FORMATS_H
#define STALLKIT_CLASSIFY_PRINT_FORMATS_H

#include "base/sink.h"
#include "classify/gate/gate.h"
#include "classify/print/bucket_note.h"
#include "classify/stats/triage.h"

struct value_table;

struct triage_view {
    size_t top; /* maximum number of level-1 buckets, actions, holders or values shown; 0 = all */
    unsigned width; /* columns of the table, 40 … 400 */
    bool colour;    /* colours are used, for terminals that show them */
    bool raw_csv;   /* CSV: a cell that spreadsheets would run as a formula is not changed */
    /* Facets by which rates are shown: bit i stands for value i of enum usage_facet. */
    unsigned facets;
    bucket_note_of note; /* notes on buckets of level 1; NULL = there is no history */
    void *note_ctx;
};

/* A row of the table of formats: the word that selects the format, and its printers. */
struct print_format {
    const char *word; /* word that selects the format; NULL ends the table */
    bool for_people;  /* the format shows only the first buckets by default */
    bool page;        /* the format is the page of lib/page and has no printers */
    /* Prints a triage. NULL: the format is the page, or has no report of a triage. */
    void (*triage)(const struct triage *t, const struct triage_view *v, struct sink *out);
    /* Prints a gate. NULL: the format is the page, or has no report of a gate. */
    void (*gate)(const struct gate *g, struct sink *out);
    /* Prints the holders of locks; NULL: the format has no such report. */
    void (*holders)(const struct triage *t, const struct triage_view *v, struct sink *out);
    /* Prints a table of values (value_table.h) of t; NULL: the format has no such table. */
    void (*values)(const struct value_table *values, const struct triage *t,
                   const struct triage_view *v, struct sink *out);
};
/* All formats; the first is the default, and a NULL word ends the table. */
extern const struct print_format print_formats[];

/* Prints a finished triage as the table that people read. */
void triage_print_table(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Prints a finished triage as stall-triage/1, see stallclassify(1): integers only, one document
 * on one line. */
void triage_print_json(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Prints a finished triage as comma-separated values with a head line (RFC 4180); if v->facets are
 * given, its rates instead (usage_print_csv). */
void triage_print_csv(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Prints a finished triage as a table in Markdown, for pull requests. */
void triage_print_markdown(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Prints a finished triage as a JUnit test suite with a case for each level-1 bucket, for build
 * servers. */
void triage_print_junit(const struct triage *t, const struct triage_view *v, struct sink *out);

/* Prints a table of the threads that hold the locks for which stalls of a finished triage wait. */
void holders_print_table(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Prints the holders of locks as stall-holders/1, see stallclassify(1), on one line. */
void holders_print_json(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Prints the holders of locks as comma-separated values with a head line. */
void holders_print_csv(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Prints the holders of locks as a table in Markdown. */
void holders_print_markdown(const struct triage *t, const struct triage_view *v, struct sink *out);

/* Prints the comparison of a gate as text for people. */
void gate_print_text(const struct gate *g, struct sink *out);
/* Prints the comparison of a gate in Markdown, for pull requests. */
void gate_print_markdown(const struct gate *g, struct sink *out);
/* Prints the comparison of a gate as stall-gate/1, on one line. */
void gate_print_json(const struct gate *g, struct sink *out);
/* Prints the comparison of a gate as a JUnit test suite for build servers: a case for each row,
 * which fails if options.fail_on has its verdict, but is skipped if that is GATE_INCONCLUSIVE,
 * GATE_PLATFORM or GATE_IGNORED, and one for the run, which, if the run is inconclusive, fails if
 * options.fail_on has GATE_INCONCLUSIVE, else is skipped. */
void gate_print_junit(const struct gate *g, struct sink *out);

#endif
