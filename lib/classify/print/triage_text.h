/* Numbers, names and times as people read them, shared by the table and by Markdown. */
#ifndef STALLKIT_CLASSIFY_TRIAGE_TEXT_H
#define STALLKIT_CLASSIFY_TRIAGE_TEXT_H

#include "base/strbuf.h"
#include "classify/print/print_formats.h"
#include "classify/stats/triage_private.h"

enum { NUMBER_SIZE = 40 };

/* 1234567 -> "1,234,567". Returns out. */
const char *text_grouped(uint64_t v, char out[NUMBER_SIZE]);
/* The same where it fits into so many columns, at least 5; else three digits of it, cut, not
 * rounded: "1.23M". */
const char *text_count(uint64_t v, size_t columns, char out[NUMBER_SIZE]);
/* 850 -> "850ms", 2140 -> "2.1s", 131000 -> "2m11s", 43500000 -> "12h05m", more -> "9d04h", then
 * "1157d". */
const char *text_ms(uint64_t ms, char out[NUMBER_SIZE]);
/* The same, "≥2.1s" if it is a lower bound; "–" of 0, which no stall lasts: nobody knows. */
const char *text_duration(struct tally_duration d, char out[NUMBER_SIZE]);
/* "14.3%"; of nothing "0.0%". */
const char *text_share(uint64_t part, uint64_t whole, char out[NUMBER_SIZE]);
/* "1,234", or "–" where no dump names its user: nobody knows how many there were. In so many
 * columns, as text_count; 0 = as many as it takes. */
const char *text_users(uint64_t users, size_t columns, char out[NUMBER_SIZE]);

/* Each of these appends. "1 stall", "2,000 stalls". */
void text_add_counted(struct strbuf *b, uint64_t n, const char *one, const char *many);
/* Text that came from a file: control characters, overrides of writing direction and broken UTF-8
 * become '?', since they must not reach a terminal. */
void text_add_clean(struct strbuf *b, const char *s);
/* "draw (libUI.so)", "draw" of the app, "Shop+0x1a2b" without a name. */
void text_add_frame(struct strbuf *b, const struct bucket_frame *f);
/* "19 stalls in 20 dumps, 1m26s stalled, 12 users, 3 buckets" */
void text_add_totals(struct strbuf *b, const struct triage *t);
/* Appends the thresholds, by kind of stall if there are several: "2.0s, shorter stalls were not
 * seen", "2.0s for hang where it is told, …" if some dumps do not say theirs. Appends nothing if no
 * dump does. */
void text_add_threshold(struct strbuf *b, const struct triage *t);
/* "lock 40%, disk 20%": the causes of a tally by their time. */
void text_add_causes(struct strbuf *b, const struct tally *t);
/* What dumps that are idle or late show, most time first: innermost functions, with their time. */
enum { IDLE_SHOWN = 5 };
void text_add_idle(struct strbuf *b, const struct triage *t);
/* "in 5.3–5.10, on iOS 17–18, iPhone13,3 and 4 more": versions, systems and devices, behind a
 * comma if b holds something; without those of which `of` (may be NULL) has one value only, as they
 * say nothing. */
void text_add_values(struct strbuf *b, const struct triage *t, const struct tally *tally,
                     const struct tally *of);
/* "2026-11-20 to 2026-11-22": the days of a tally, behind a comma if b holds something. */
void text_add_seen(struct strbuf *b, const struct tally *tally);
/* "up to 12.3s more may be in other": what --max-buckets may have taken from a bucket of level 1;
 * nothing if nothing can be missing. */
void text_add_error(struct strbuf *b, const struct triage *t, const struct bucket *bucket);
/* "src/cart.c:95": where the bucket's innermost frame of the app is, else its innermost frame with
 * a file; false: nothing is known. */
bool text_add_place(struct strbuf *b, const struct bucket *bucket);
/* The reason, as the evidence has it; "" if the evidence has another cause than most of the bucket.
 */
const char *text_reason(const struct bucket *bucket);
/* The same, and why the bucket has no stalls or no time, if it has none. */
void text_add_why(struct strbuf *b, const struct bucket *bucket);

#endif
