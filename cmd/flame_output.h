/* Writes the outputs of stallflame: the picture, and the formats of other tools. */
#ifndef STALLKIT_CMD_FLAME_OUTPUT_H
#define STALLKIT_CMD_FLAME_OUTPUT_H

#include <stdbool.h>

#include "flame/svg/svg.h"
#include "flame_diff.h"
#include "flame_inputs.h"

struct flame_run;

/* An output format: a row of flame_formats. */
struct flame_format {
    const char *word; /* NULL behind the last row */
    enum st (*write)(struct flame_run *run, struct sink *out, struct err *e);
    bool diffs, only_diffs; /* it can show a difference; it shows nothing else */
    bool samples;           /* it also needs samples and ids of images */
    bool plain_names;       /* names are written without their module unless asked for */
    const char *unreadable; /* what it is, if a terminal cannot show it; else NULL */
};
/* The first is the default. */
extern const struct flame_format flame_formats[];

/* One run of stallflame: its options and its inputs. */
struct flame_run {
    struct flame_inputs inputs;
    struct flame_diff diff;
    struct svg_options svg;
    struct where *where; /* of --where; NULL = the option was not given */
    struct classify_rules rules;
    uint64_t cap_s;
    const char *output; /* a path, NULL = stdout */
    const char *weight; /* the word behind --weight; NULL = the option was not given */
    unsigned format;    /* index into flame_formats */
    bool quiet;
    bool by_cause; /* the colours */
};

/* What weights count, once the inputs were read. */
const char *flame_unit(const struct flame_run *run);
/* Writes the output, and the summary of a difference; failures are those of the inputs. */
void flame_write(struct flame_run *run);
/* Says on stderr what was read. */
void flame_summarise(const struct flame_run *run);

#endif
