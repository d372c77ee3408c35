/* Which dumps count as stalls, and how much of each. Whatever adds up stalled time goes by this, so
 * that all sums over the same dumps are equal. */
#ifndef STALLKIT_CLASSIFY_STALL_COUNT_H
#define STALLKIT_CLASSIFY_STALL_COUNT_H

#include <stdbool.h>
#include <stddef.h>
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
/* Marks the reasons for setting stalls apart that a filter asks for: these stalls are ranked. */
void triage_apart_opened(const struct where *w, bool open[APART_COUNT]);

/* triage_apart_of the next dump of an input, which is a duplicate if its id is in *seen, and left
 * out if it is not wanted. Adds the id. False: out of memory. */
bool stall_count_judge(struct seen_set *seen, const struct dump *d, const struct stall_key *key,
                       bool wanted, const bool open[APART_COUNT], enum triage_apart *why);
/* What was met of a stall. */
struct stall_counted {
    uint64_t hash;    /* of its id; 0 = none */
    uint64_t span_ms; /* the spans of its dumps so far */
    uint64_t ms;      /* what of them counts */
    bool counted;     /* as one stall */
};
/* The stalls that were met, so that each counts once and up to its cap whatever its dumps say. Two
 * generations, so memory has a bound and the last 2^17 stalls are always known. Zero-initialised =
 * empty. */
enum { STALL_LEDGER_GENERATION = 1 << 17 };
struct stall_ledger {
    struct stall_counted *slots[2]; /* [0] the current generation */
    size_t slot_count[2], used;
};
void stall_ledger_release(struct stall_ledger *l);
/* Notes that the stall of this hash (0 = it has no id) was counted, if it is known. */
void stall_ledger_mark(struct stall_ledger *l, uint64_t hash);

/* What a dump counts. */
struct stall_count {
    uint64_t hash;    /* of its stall's id; 0 = it has none */
    uint64_t span_ms; /* the dump's span, before the cap; 0 = not known */
    uint64_t ms;      /* the part of it that lies in the first cap_ms of its stall */
    bool whole; /* by what it says it is all that there is of its stall, and none was met before */
    bool counted; /* its stall was counted: the dump only adds time */
};
/* What the next dump of an input counts, which is set apart for this reason. cap_ms: 0 = no cap.
 * The first dump's span begins with the stall, a later one's with its own detection (at_ms), or,
 * where no dump tells that, where the spans so far end. So the sum over a stall's dumps is at most
 * min(duration, cap), and all of that if they arrive in their order or say at_ms. False: out of
 * memory. */
bool stall_count_take(struct stall_ledger *l, const struct dump *d, enum triage_apart why,
                      uint64_t cap_ms, struct stall_count *out);

#endif
