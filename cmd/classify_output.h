/* How stallclassify prints: the format, and what the terminal is like. */
#ifndef STALLKIT_CMD_CLASSIFY_OUTPUT_H
#define STALLKIT_CMD_CLASSIFY_OUTPUT_H

#include "classify/print/print_formats.h"
#include "cli.h"

enum classify_colour { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };
/* The words of --color, NULL behind the last; for CLI_WORD. */
extern const char *const classify_colours[];

/* What a row is. */
enum classify_by { BY_BUCKET, BY_HOLDER };
/* The words of --by, NULL behind the last; for CLI_WORD. */
extern const char *const classify_by_words[];

struct classify_output {
    unsigned format; /* index into print_formats */
    unsigned by;     /* enum classify_by */
    enum classify_colour colour;
    unsigned facets;  /* as in struct triage_view */
    uint64_t top;     /* UINT64_MAX = not given: formats for people show the first 20 */
    uint64_t width;   /* of the table; 0 = as the terminal's, $COLUMNS, or 100 */
    const char *path; /* NULL = stdout */
};

enum { CLASSIFY_WIDTH_MIN = 40, CLASSIFY_WIDTH_MAX = 400 };

/* Reads the words of --facets, separated by commas; NULL: all. False: there is another word in it,
 * *wrong. */
bool classify_read_facets(struct classify_output *o, const char *words, const char **wrong);
/* Is the output text that goes to a terminal with colours? */
bool classify_wants_colour(const struct classify_output *o);
/* Prints a finished triage; a failure is told and counted. */
void classify_print(const struct triage *t, const struct classify_output *o,
                    struct cli_failures *failures);

#endif
