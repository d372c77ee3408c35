/* The detectors and presets with their descriptions and sources, for `stallrec --list-detectors`,
 * `--list-presets` and replays. */
#ifndef STALLREC_PRESETS_H
#define STALLREC_PRESETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stallrec.h"

struct rec_detector_info {
    uint32_t bit;        /* the detector's bit: enum stallrec_detector */
    const char *name;    /* name of the detector in a dump's stall.detector */
    const char *summary; /* one line that describes the stalls that the detector finds */
    const char *calls;   /* functions that the app has to call for the detector; NULL = only the
                            loop's hooks */
};

/* Returns the bits of the detectors that are named in a list separated by commas; 0 if a name is
 * not known. */
uint32_t rec_detectors_named(const char *names);

/* Returns the i-th detector, in the order of their bits; NULL after the last. */
const struct rec_detector_info *rec_detector_at(size_t i);

/* A member of struct stallrec_config that is a uint32_t. */
struct rec_config_field {
    const char *name;
    size_t offset;
    const char *const *words; /* words for the values, NULL-terminated; NULL: the value is a number,
                                 or a set of bits */
};

/* Sets *out to the i-th of the 32-bit fields that presets set; false after the last. */
bool rec_config_field(size_t i, struct rec_config_field *out);

struct rec_preset_value {
    const char *field;  /* name of the field of struct stallrec_config */
    uint32_t value;     /* the number, the enumeration's value, or the bits of detectors */
    const char *word;   /* the word for an enumeration's value; NULL for other fields */
    const char *source; /* the publication that has this value; NULL = the value is our own */
};

/* Returns the name of the i-th preset; NULL after the last. */
const char *rec_preset_name(size_t i);
/* Returns a few words about the system that the i-th preset imitates; NULL after the last. */
const char *rec_preset_title(size_t i);
/* Sets *out to the k-th value of the i-th preset that has an effect; values of detectors that are
 * off are left out. False after the last. */
bool rec_preset_value(size_t i, size_t k, struct rec_preset_value *out);

#endif
