/* What stallflame writes: the picture, and the formats of other tools. */
#ifndef STALLKIT_CMD_FLAME_OUTPUT_H
#define STALLKIT_CMD_FLAME_OUTPUT_H

#include <stdbool.h>

#include "flame/svg.h"
#include "flame_diff.h"
#include "flame_inputs.h"

enum flame_format {
    FLAME_SVG,
    FLAME_FOLDED,
    FLAME_SPEEDSCOPE,
    FLAME_PPROF,
    FLAME_MARKDOWN /* of a difference only */
};

/* One run of stallflame: what the options say, and what was read. */
struct flame_run {
    struct flame_inputs inputs;
    struct flame_diff diff;
    struct svg_options svg;
    const char *output; /* a path, NULL = stdout */
    const char *weight; /* as given, NULL = default */
    enum flame_format format;
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
