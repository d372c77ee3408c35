/* Writes numbers as people read them. */
#ifndef STALLKIT_CLASSIFY_NUMBER_TEXT_H
#define STALLKIT_CLASSIFY_NUMBER_TEXT_H

#include <stdint.h>

#include "classify/stats/tally.h"

enum { NUMBER_SIZE = 40 };

/* Writes 1234567 as "1,234,567". Returns out. */
const char *text_grouped(uint64_t v, char out[NUMBER_SIZE]);
/* Writes a number with commas if it fits into `columns`, which is at least 5. Otherwise three
 * digits are written, cut and not rounded: "1.23M". Returns out. */
const char *text_count(uint64_t v, size_t columns, char out[NUMBER_SIZE]);
/* Writes ms as a duration: 850 -> "850ms", 2140 -> "2.1s", 131000 -> "2m11s", 43500000 ->
 * "12h05m", longer ones as "9d04h" and "1157d". Tenths of seconds are rounded; all longer forms are
 * cut. Returns out. */
const char *text_ms(uint64_t ms, char out[NUMBER_SIZE]);
/* Writes a duration: "2.1s", "≥2.1s" if it is a lower bound, "–" for 0, which stands for
 * unknown. Returns out. */
const char *text_duration(struct tally_duration d, char out[NUMBER_SIZE]);
/* Returns part / whole in permille, rounded; 0 if whole is 0. */
unsigned text_permille(uint64_t part, uint64_t whole);
/* Writes part / whole as "14.3%"; "0.0%" if whole is 0. Returns out. */
const char *text_share(uint64_t part, uint64_t whole, char out[NUMBER_SIZE]);
/* Writes a number of users in the form of text_count: "~1.23M" if it is an estimate (distinct.h),
 * "–" for 0, which means that no dump names its user. columns: at least 6; 0 = as many as needed.
 * Returns out. */
const char *text_users(uint64_t users, size_t columns, char out[NUMBER_SIZE]);

#endif
