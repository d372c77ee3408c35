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
    const char *calls;   /* functions that the app has to call for it; NULL = none but the loop's */
};

/* The bits of detectors by their names, separated by commas; 0 if one is not known. */
uint32_t rec_detectors_named(const char *names);

/* The i-th detector, in the order of their bits; NULL behind the last. */
const struct rec_detector_info *rec_detector_at(size_t i);

/* A field of struct stallrec_config, a uint32_t. */
struct rec_config_field {
    const char *name;
    size_t offset;
    const char *const *words; /* of its values, NULL-terminated; NULL: a number, or detectors */
};

/* The i-th field that a preset sets, of those of 32 bits; false behind the last. */
bool rec_config_field(size_t i, struct rec_config_field *out);

struct rec_preset_value {
    const char *field;  /* of struct stallrec_config */
    uint32_t value;     /* of a number, or of detectors: the bits */
    const char *word;   /* of an enumeration; NULL for the others */
    const char *source; /* who published it; NULL = unpublished, ours */
};

/* The i-th preset's name; NULL behind the last. */
const char *rec_preset_name(size_t i);
/* The system that the preset imitates, in one line. */
const char *rec_preset_title(size_t i);
/* The k-th value of a preset that has an effect: values of detectors that are off are left out.
 * False behind the last. */
bool rec_preset_value(size_t i, size_t k, struct rec_preset_value *out);

#endif
