/* Which dumps count as stalls, and how much of each. Whatever adds up stalled time goes by this, so
 * that all sums over the same dumps are equal. */
#ifndef STALLKIT_CLASSIFY_STALL_COUNT_H
#define STALLKIT_CLASSIFY_STALL_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/keys/key.h"
#include "classify/keys/where.h"
#include "classify/stats/seen_ids.h"
#include "dump/dump.h"

/* What one stall counts at most unless somebody says otherwise. */
enum { STALL_CAP_MS = 30000 };

/* Why a dump is not ranked. */
enum triage_apart {
    APART_NONE = 0,
    APART_CRASH,      /* "crash": kind crash is no stall */
    APART_BACKGROUND, /* "background": nobody was looking */
    APART_PREWARMED,  /* "prewarmed": a launch that the system began before its user did */
    APART_IDLE,       /* "idle": most samples show only the loop that waits for work: no stall */
    APART_LATE,       /* "late": without samples, and the loop waited again: captured too late */
    APART_NO_STACK,   /* "no-stack" */
    APART_DUPLICATE,  /* "duplicate": a dump with this id was read before */
    APART_LEFT_OUT,   /* "left-out": excluded by the filter */
    APART_COUNT
};
/* "crash" …; "" for none. */
const char *triage_apart_text(enum triage_apart a);
/* Why a dump with this key is not ranked. open: of crash, background, prewarmed, idle and late
 * those that are ranked all the same. */
enum triage_apart triage_apart_of(const struct dump *d, const struct stall_key *key,
                                  const bool open[APART_COUNT]);
/* Those that a filter asks for, and which are ranked therefore. */
void triage_apart_opened(const struct where *w, bool open[APART_COUNT]);

/* triage_apart_of the next dump of an input, which is a duplicate if its id is in *seen, and left
 * out if it is not wanted. Adds the id. False: out of memory. */
bool stall_count_judge(struct seen_set *seen, const struct dump *d, const struct stall_key *key,
                       bool wanted, const bool open[APART_COUNT], enum triage_apart *why);
/* The part of the dump's span, in ms, that lies in the first cap_ms of its stall; 0 = no cap. The
 * first dump's span begins with the stall, a later one's with its own detection, so the sum over a
 * stall's dumps is min(duration, cap), whatever was seen before. */
uint64_t stall_count_ms(const struct dump *d, uint64_t cap_ms);
/* The dump's span in ms, before the cap; 0 = not known. */
uint64_t stall_count_span(const struct dump *d);
/* Is this dump all that there is of its stall, so that no other has to be waited for? */
bool stall_count_is_whole(const struct dump *d);

#endif
