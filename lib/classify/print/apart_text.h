/* Writes the numbers of dumps that were set apart (not ranked), by the reason, enum triage_apart.
 */
#ifndef STALLKIT_CLASSIFY_APART_TEXT_H
#define STALLKIT_CLASSIFY_APART_TEXT_H

#include "base/strbuf.h"
#include "classify/stats/stall_count.h"

/* Appends how many dumps were set apart for each reason: "2 crashes, 1 idle (only the loop
 * waiting)"; nothing if all counts are 0. */
void apart_text_add(struct strbuf *out, const uint64_t counts[APART_COUNT]);

#endif
