/* What a triage says of rates, as people read it: each sentence with what it is over. */
#ifndef STALLKIT_CLASSIFY_USAGE_TEXT_H
#define STALLKIT_CLASSIFY_USAGE_TEXT_H

#include "classify/print/triage_text.h"

/* Time in the foreground that was watched, and launches, of all users. */
struct usage_exposure {
    uint64_t foreground_ms, launches;
};
struct usage_exposure usage_exposure_of(const struct triage *t);

/* A value of a facet with what its rates are of. */
struct usage_row {
    const char *text; /* "" = nobody says it */
    const struct usage_sums *sums;
    uint64_t foreground_ms, sessions; /* of a cause and of a kind: of all */
};
/* Zero-initialised = empty. */
struct usage_rows {
    struct usage_row *rows;
    size_t count;
};
/* The values of a facet: versions and systems ascend, devices come by their time in the foreground,
 * causes and kinds by their stalled time. False: out of memory. */
bool usage_rows_make(struct usage_rows *r, const struct triage *t, enum usage_facet f);
void usage_rows_release(struct usage_rows *r);

/* Adds the durations of all launches that left a dump to *all. False: out of memory. */
bool usage_all_launches(const struct triage *t, struct histogram *all) BASE_MUST_USE;
/* The smallest duration of launches that leave a dump; 0 = unknown. */
uint64_t usage_launch_threshold(const struct triage *t);

/* A rate in millionths with three digits: "0.00125", "12.3", "1,234". Returns out. */
const char *text_rate(uint64_t ppm, char out[NUMBER_SIZE]);
/* Hours of ms: "0.4", "12.3", "1,234". Returns out. */
const char *text_hours(uint64_t ms, char out[NUMBER_SIZE]);
/* A percentile of launches: "2.3s", "<2.0s". Returns out. */
const char *text_launch(struct usage_launch l, char out[NUMBER_SIZE]);

/* Each of these appends a sentence, or nothing where nothing is known. False: out of memory. */
struct usage_sentence {
    const char *title; /* "rates" */
    bool (*add)(struct strbuf *b, const struct triage *t);
};
extern const struct usage_sentence usage_sentences[]; /* title NULL behind the last */

#endif
