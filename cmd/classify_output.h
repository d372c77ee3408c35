/* Prints stallclassify's outputs in the selected format, and the page. */
#ifndef STALLKIT_CMD_CLASSIFY_OUTPUT_H
#define STALLKIT_CMD_CLASSIFY_OUTPUT_H

#include "classify/keys/key.h"
#include "classify/summary/summary_rows.h"
#include "classify/print/print_formats.h"
#include "cli.h"

enum classify_colour { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };
/* The words of --color, NULL after the last; for CLI_WORD. */
extern const char *const classify_colours[];

/* The things for which the output has one row each. */
enum classify_by {
    BY_BUCKET,
    BY_HOLDER,
    BY_DAY,
    BY_FACET /* the first enum usage_facet; the others follow */
};
/* The words of --by, NULL after the last; for CLI_WORD. */
extern const char *const classify_by_words[];
/* The words of --weight, in the order of enum tally_weight, NULL after the last; for CLI_WORD. */
extern const char *const classify_weights[];

struct classify_output {
    unsigned format; /* index in print_formats */
    unsigned by;     /* an enum classify_by */
    unsigned weight; /* an enum tally_weight */
    enum classify_colour colour;
    bool raw_csv;     /* see struct triage_view */
    unsigned facets;  /* facets of rates, see struct triage_view */
    uint64_t top;     /* maximum number of rows shown, 0 = all; UINT64_MAX = not given: 20 buckets
                         or holders in formats for people, else all */
    uint64_t width;   /* width of the table in columns; 0 = the terminal's, else $COLUMNS, both
                         limited to CLASSIFY_WIDTH_MIN … CLASSIFY_WIDTH_MAX, else 100 */
    const char *path; /* path of the output; NULL = stdout */
    bucket_note_of note; /* notes on buckets, see struct triage_view */
    void *note_ctx;
};

enum { CLASSIFY_WIDTH_MIN = 40, CLASSIFY_WIDTH_MAX = 400 };

/* Adds the facets that `words` names, separated by commas, to o->facets; NULL adds all facets.
 * Returns false if a word is no facet's, and *wrong then points to it. */
bool classify_read_facets(struct classify_output *o, const char *words, const char **wrong);
/* Is the format the one that prints nothing? */
bool classify_prints_nothing(const struct classify_output *o);
/* Are colours wanted in the output: by --color or, if that leaves it open, because the output goes
 * to a terminal that shows them and NO_COLOR is unset or empty? */
bool classify_wants_colour(const struct classify_output *o);
/* Prints a finished triage or, if `values` is not NULL, that table of its values; a failure is
 * printed and counted. */
void classify_print(const struct triage *t, const struct value_table *values,
                    const struct classify_output *o, struct cli_failures *failures);

/* ---- the page ---- */

enum {
    CLASSIFY_DETAIL_DEFAULT = 200,
    CLASSIFY_KEPT_DETAIL = 256,    /* maximum number of buckets in detail on a page that is kept */
    CLASSIFY_KEEP_BYTES = 64 << 20 /* memory for the dumps that the page shows */
};

struct classify_page {
    uint64_t detail;        /* maximum number of buckets shown in detail */
    const char *source_url; /* URL of source lines; NULL = no links */
};

/* The contents of a page; borrowed. */
struct classify_page_inputs {
    const struct triage *triage; /* a finished triage */
    const struct gate *gate;     /* result of the gate; NULL = there is no baseline */
    struct keyer *keyer;
    size_t top;          /* maximum number of buckets in the table; 0 = all */
    bucket_note_of note; /* notes on buckets, see struct triage_view */
    bool (*is_marked)(void *ctx, const char *id);  /* see struct page_options */
    bool (*is_back)(void *ctx, const char *id);    /* see struct page_options */
    bool (*fails_back)(void *ctx, const char *id); /* see struct page_options */
    /* See struct page_options; NULL: it is computed from the triage, as there is no history. */
    bool (*is_gone)(void *ctx, const char *id, struct gone_bucket *out);
    void *note_ctx;             /* first argument of the callbacks */
    const char *const *symbols; /* values of -d */
    size_t symbol_count;
    const char *where;    /* text of the filter; "" = all dumps */
    const char *narrowed; /* see struct page_options */
    const char *history;  /* path of the history; NULL = none */
    char **operands;
    size_t operand_count;
    bool partials; /* the operands are partials, which have no dumps to show */
    /* Adds the buckets that the triage lacks to its summary; NULL = it has all. */
    enum st (*add_rows)(void *ctx, struct summary *s, struct err *e);
    /* Gets the rows of the buckets behind CLASSIFY_KEPT_DETAIL, see summary_write_rows; stays empty
     * if a bucket has no row. NULL = rows are not wanted. */
    struct strbuf *rows;
    /* Gets what is shown of the first buckets, see shown_write, if `rows` gets rows; stays empty if
     * it cannot be written. */
    struct strbuf *shown;
    uint64_t shown_number;    /* for `shown` */
    struct summary_gone gone; /* gone buckets for `rows` */
    void *rows_ctx;           /* first argument of add_rows */
};

/* Writes the page to path; a failure is printed and counted. */
void classify_print_page(const struct classify_page *page, const struct classify_page_inputs *in,
                         const char *path, struct cli_failures *failures);

#endif
