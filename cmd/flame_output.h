/* Writes the outputs of stallflame: the picture, and formats of other tools. */
#ifndef STALLKIT_CMD_FLAME_OUTPUT_H
#define STALLKIT_CMD_FLAME_OUTPUT_H

#include <stdbool.h>

#include "flame/svg/svg.h"
#include "flame_diff.h"
#include "flame_inputs.h"

struct flame_run;

/* An output format, a row of flame_formats. */
struct flame_format {
    const char *word; /* word that selects the format; NULL ends the table */
    enum st (*write)(struct flame_run *run, struct sink *out, struct err *e);
    bool diffs, only_diffs; /* diffs: can show a difference; only_diffs: can show nothing else */
    bool samples;           /* the format needs samples and the ids of images, too */
    bool plain_names;       /* names are written without their module, unless options ask for it */
    const char *unreadable; /* if a terminal cannot show the output, its kind, such as "an image";
                               else NULL */
};
/* All output formats; the first is the default. */
extern const struct flame_format flame_formats[];

/* One run of stallflame: its options and its inputs. */
struct flame_run {
    struct flame_inputs inputs;
    struct flame_diff diff;
    struct svg_options svg;
    struct where *where; /* filter of --where; NULL = not given */
    struct classify_rules rules;
    uint64_t cap_s;
    const char *output; /* path of the output; NULL = stdout */
    const char *weight; /* word of --weight; NULL = not given */
    unsigned format;    /* index in flame_formats */
    bool quiet;
    bool by_cause; /* frames are coloured by cause */
};

/* Returns the unit of the weights, once the inputs were read. */
const char *flame_unit(const struct flame_run *run);
/* Writes the output, and the summary of a difference; failures are counted with those of the
 * inputs. */
void flame_write(struct flame_run *run);
/* Prints a summary of the inputs to stderr. */
void flame_summarise(const struct flame_run *run);

#endif
