/* Describes the rates of a triage in words, each with the exposure to which it refers. */
#ifndef STALLKIT_CLASSIFY_USAGE_TEXT_H
#define STALLKIT_CLASSIFY_USAGE_TEXT_H

#include "classify/print/triage_text.h"

/* The exposure of all users: watched time in the foreground, and launches. */
struct usage_exposure {
    uint64_t foreground_ms, launches;
};
struct usage_exposure usage_exposure_of(const struct triage *t);

/* Appends the versions of stalls outside of the known time, of which there are some: "1.0 to
 * 1.2". */
void usage_add_outside_versions(struct strbuf *b, const struct usage_outside *o);

/* Appends on which days stalls are outside of the known time, if there are some: "12 stalls of 3
 * days with little or no time in the foreground of their version (2026-11-01 to 2026-11-03)", "2
 * stalls without a day". */
void usage_add_outside_days(struct strbuf *b, const struct usage_outside *o);

/* A value of a facet, with the sums and the exposure of its rates. */
struct usage_row {
    const char *text; /* the value; "" = unknown */
    const struct usage_sums *sums;
    /* Exposure of the value. A cause and a kind have none of their own, so theirs is that of all
     * users. */
    uint64_t foreground_ms, sessions;
    uint64_t rated_ms; /* the time by which stalls are divided; 0 = their rate is unknown */
    /* What is divided by it: of versions only the stalls of days of which time is known
     * (usage_outside). */
    uint64_t rated_stalls, rated_stalled_ms;
};
/* The rows of one facet. Zero-initialised = empty. */
struct usage_rows {
    struct usage_row *rows;
    size_t count;
};
/* Makes a row for each value of a facet: versions and systems in ascending order, devices with most
 * time in the foreground first, causes and kinds with most stalled time first. False: out of
 * memory. */
bool usage_rows_make(struct usage_rows *r, const struct triage *t, enum usage_facet f);
void usage_rows_release(struct usage_rows *r);

/* Adds the durations of all launches that left a dump to *all, or nothing if many stalls are
 * outside of the known time (usage_outside), as the launches of these versions are then not
 * counted. False: out of memory. */
bool usage_all_launches(const struct triage *t, struct histogram *all) BASE_MUST_USE;
/* Returns the smallest duration of a launch that leaves a dump; 0 = unknown. */
uint64_t usage_launch_threshold(const struct triage *t);

/* Writes a rate, given in millionths, rounded to three significant digits, of which zeros at the
 * end are left out past the second digit after the point; from 100 on it is a whole number:
 * "0.00125", "12.3", "1,234". Returns out. */
const char *text_rate(uint64_t ppm, char out[NUMBER_SIZE]);
/* Writes ms as hours, rounded to tenths, which are cut off from 100 on: "0.4", "12.3", "1,234".
 * Returns out. */
const char *text_hours(uint64_t ms, char out[NUMBER_SIZE]);
/* Writes a percentile of launches: "2.3s", "<2.0s", "–" if it is below an unknown duration. Returns
 * out. */
const char *text_launch(struct usage_launch l, char out[NUMBER_SIZE]);

/* A sentence about rates: `add` appends it; if nothing is known, it appends nothing. False: out of
 * memory. */
struct usage_sentence {
    const char *title; /* title of the sentence, such as "rates"; static */
    bool (*add)(struct strbuf *b, const struct triage *t);
};
extern const struct usage_sentence usage_sentences[]; /* a NULL title ends the array */

#endif
