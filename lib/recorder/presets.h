/* The detectors and presets with their descriptions and sources, for `stallrec --list-detectors`,
 * `--list-presets` and replays. */
#ifndef STALLREC_PRESETS_H
#define STALLREC_PRESETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stallrec.h"

struct rec_detector_info {
    uint32_t bit;        /* enum stallrec_detector */
    const char *name;    /* as in a dump's stall.detector */
    const char *summary; /* one line: what it finds */
};

/* The i-th detector, in the order of their bits; NULL behind the last. */
const struct rec_detector_info *rec_detector_at(size_t i);

struct rec_preset_value {
    const char *field;  /* of struct stallrec_config */
    uint32_t value;     /* of a number, or of detectors: the bits */
    const char *word;   /* of an enumeration; NULL for the others */
    const char *source; /* who published it; NULL = unpublished, ours */
};

/* The i-th preset's name; NULL behind the last. */
const char *rec_preset_name(size_t i);
/* Which system it behaves as; one line. */
const char *rec_preset_title(size_t i);
/* Its k-th value that has a meaning, those of detectors that are off left out. False behind the
 * last. */
bool rec_preset_value(size_t i, size_t k, struct rec_preset_value *out);

#endif
