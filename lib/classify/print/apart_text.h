/* What was set apart, in words. */
#ifndef STALLKIT_CLASSIFY_APART_TEXT_H
#define STALLKIT_CLASSIFY_APART_TEXT_H

#include "base/strbuf.h"
#include "classify/stats/stall_count.h"

/* Appends "2 crashes, 1 idle (only the loop waiting)" of how many dumps were set apart for each
 * reason; nothing if all are 0. */
void apart_text_add(struct strbuf *out, const uint64_t counts[APART_COUNT]);

#endif
