/* Writes numbers, names and times of a triage as people read them, for the printers of several
 * formats. */
#ifndef STALLKIT_CLASSIFY_TRIAGE_TEXT_H
#define STALLKIT_CLASSIFY_TRIAGE_TEXT_H

#include "base/strbuf.h"
#include "classify/text/number_text.h"
#include "classify/print/print_formats.h"
#include "classify/stats/triage_private.h"

/* Writes the stalled time of a tally; "–" if the length of none of its stalls is known. Returns
 * out. */
const char *text_stalled(const struct tally *t, char out[NUMBER_SIZE]);
/* Writes the tally's share of the triage's time, or of its stalls if the triage ranks by stalls.
 * Returns out. */
const char *text_weight_share(const struct triage *t, const struct tally *tally,
                              char out[NUMBER_SIZE]);
/* Each text_add function appends a text. This one appends a number and a noun: "1 stall", "2,000
 * stalls". */
void text_add_counted(struct strbuf *b, uint64_t n, const char *one, const char *many);
/* Appends ", length unknown: 2"; nothing if no stall is of unknown length. */
void text_add_length_unknown(struct strbuf *b, uint64_t stalls);
/* Appends text that came from a file: control characters, overrides of writing direction and
 * broken UTF-8 become '?', since they must not reach a terminal. */
void text_add_clean(struct strbuf *b, const char *s);
/* Appends a frame: "draw (libUI.so)", "draw" if it is of the app or of no image, "Shop+0x1a2b" if
 * it has no name; of a library the function that was called, or, if that is unknown, the library's
 * name. */
void text_add_frame(struct strbuf *b, const struct bucket_frame *f);
/* Appends the totals: "19 stalls in 20 dumps, 1m26s stalled, length unknown: 2, 12 users, 3
 * buckets"; estimated users with their standard error. */
void text_add_totals(struct strbuf *b, const struct triage *t);
/* Appends the thresholds, by kind of stall if there are several: "2.0s, shorter stalls were not
 * seen", "2.0s for hang where it is told, …" if some dumps lack the threshold; nothing if all dumps
 * lack the threshold. At most 16 kinds are named, and the others counted. */
void text_add_threshold(struct strbuf *b, const struct triage *t);
/* Appends the causes of all stalls by their time, or by their dumps if the triage ranks by
 * stalls: "lock 40%, disk 20%". */
void text_add_causes(struct strbuf *b, const struct triage *t);
/* Appends the IDLE_SHOWN innermost functions of idle and late dumps that rank first, each with its
 * time, and the number of the other functions. */
enum { IDLE_SHOWN = 5 };
void text_add_idle(struct strbuf *b, const struct triage *t);
/* Appends versions, systems and devices, after a comma if b holds something: "in 5.3–5.10, on iOS
 * 17–18, iPhone13,3 and 4 more". A facet is left out if `of`, the whole to which the tally belongs,
 * has only one value of it; `of` may be NULL. */
void text_add_values(struct strbuf *b, const struct triage *t, const struct tally *tally,
                     const struct tally *of);
/* Appends the first and last day of a tally, after a comma if b holds something: "2026-11-20 to
 * 2026-11-22", or one day if they are equal; nothing if no dump has a time. */
void text_add_seen(struct strbuf *b, const struct tally *tally);
/* Appends an upper bound of the time that --max-buckets may have moved from a bucket of level 1 to
 * "other": "up to 12.3s more may be in other"; nothing if no time can be missing. */
void text_add_error(struct strbuf *b, const struct triage *t, const struct bucket *bucket);
/* Appends the source location of the innermost frame of the bucket that has a file, a frame of the
 * app before any other, with the last two parts of the file's path: "src/cart.c:95". False: no
 * frame has a file. */
bool text_add_place(struct strbuf *b, const struct bucket *bucket);
/* Returns the reason of the cause of the bucket's shown dump; "" if most of the bucket's time has
 * another cause. */
const char *text_reason(const struct bucket *bucket);
/* Appends the reason of the bucket. If the bucket has no stalls or no time, the text says why;
 * otherwise it gives the number of stalls of unknown length, if there are any. */
void text_add_why(struct strbuf *b, const struct bucket *bucket);

#endif
