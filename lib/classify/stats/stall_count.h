/* Decides which dumps count as stalls, and how much of each counts. All sums of stalled time use
 * it, so that sums over the same dumps are equal. */
#ifndef STALLKIT_CLASSIFY_STALL_COUNT_H
#define STALLKIT_CLASSIFY_STALL_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "classify/keys/key.h"
#include "classify/keys/where.h"
#include "classify/stats/seen_ids.h"
#include "dump/dump.h"

/* The default cap: the maximum in ms that one stall counts. */
enum { STALL_CAP_MS = 30000 };

/* The reason why a dump is set apart, that is, counted but not ranked. */
enum triage_apart {
    APART_NONE = 0,
    APART_CRASH, /* "crash": the dump's kind is crash */
    /* "background": the app was in the background, and the watchdog did not wait for it. */
    APART_BACKGROUND,
    APART_PREWARMED, /* "prewarmed": the system began the launch before the user did */
    APART_IDLE,      /* "idle": most samples show only the loop that waits for work */
    APART_LATE, /* "late": there are no samples, and the loop waited for work again when the dump
                   was captured */
    APART_NO_STACK,  /* "no-stack": the dump has no frames, or rules hide all of them */
    APART_DUPLICATE, /* "duplicate": a dump with this id was read before */
    APART_LEFT_OUT,  /* "left-out": excluded by the filter */
    APART_COUNT
};
/* Returns the word for a reason, "crash" …; "" for APART_NONE. */
const char *triage_apart_text(enum triage_apart a);
/* Returns the reason why a dump with this key is not ranked. open: the reasons, among crash,
 * background, prewarmed, idle and late, whose dumps are ranked nevertheless. */
enum triage_apart triage_apart_of(const struct dump *d, const struct stall_key *key,
                                  const bool open[APART_COUNT]);
/* Sets `open` for the reasons about which a filter asks, so that their dumps are ranked: crash,
 * background and prewarmed, if a term names the field that decides them; idle and late, if a term
 * is cause=idle. The others become false. */
void triage_apart_opened(const struct where *w, bool open[APART_COUNT]);

/* Sets *why to the reason why the next dump of an input is not ranked. A dump whose id is in *seen
 * is a duplicate; the id is added to *seen. A dump that is not wanted is left out. For the other
 * reasons see triage_apart_of. False: out of memory. */
bool stall_count_judge(struct seen_set *seen, const struct dump *d, const struct stall_key *key,
                       bool wanted, const bool open[APART_COUNT], enum triage_apart *why);
/* The spans of a stall's dumps so far. */
struct stall_counted {
    uint64_t hash; /* hash of the stall (struct stall_count); 0 = free slot */
    /* These sums are kept for all dumps of a stall so far, and for the ranked ones: the sum of
     * their spans; for dumps without a span, the longest time from the stall's start to a dump; and
     * the ms that all of them counted together. */
    struct stall_spans {
        uint64_t said_ms, longest_ms, ms;
    } all, ranked;
    bool counted; /* true: the stall was counted, and its later dumps must not count it again */
    bool whole;   /* a dump with this id is all of its stall by its own members */
    bool contradicting; /* a dump with this id is all of its stall, but there are other dumps with
                           it */
};
/* The stalls that were read, so that each is counted once and with at most its cap, even if its
 * dumps contradict each other. There are two generations, so that memory is bounded; the 2^17
 * stalls whose first dumps came last are always known. Zero-initialised = empty. */
enum { STALL_LEDGER_GENERATION = 1 << 17 };
struct stall_ledger {
    struct stall_counted *slots[2]; /* [0] is the current generation */
    size_t slot_count[2], used;
    /* Number of ids with several dumps, one of which is a whole stall by its own members: the
     * writer has given one id to several stalls. */
    uint64_t contradicting;
};
void stall_ledger_release(struct stall_ledger *l);
/* Marks the stall of this hash as counted, if it is known; 0 = the stall has no id. */
void stall_ledger_mark(struct stall_ledger *l, uint64_t hash);

/* The part of its stall's time that one dump counts. */
struct stall_count {
    /* Hash of the dump's stall, which is its id in one app, on one device, of one user; 0 = the
     * stall has no id, or one of zeros, or the dump says that its span is all of the stall. */
    uint64_t hash;
    /* By how much the dump increases the time, in ms and before the cap, that all dumps of its
     * stall count together; for the only dump of a stall, its span. */
    uint64_t span_ms;
    /* By how much the dump increases the time, in ms and up to the cap, that the ranked dumps of
     * its stall count together; for a dump that is not ranked, the part of its span up to the cap.
     */
    uint64_t ms;
    /* The dump counts for a whole stall: `hash` is 0, or its own members cover the whole stall, and
     * no other dump of the stall was read before. */
    bool whole;
    bool counted; /* the dump's stall was counted before, so the dump only adds time */
};
/* Computes how much stalled time, and whether a stall, the next dump of an input adds; `why` is the
 * reason why it is not ranked. cap_ms: 0 = no cap. Only the part of a span that lies in the first
 * cap_ms of the stall counts. The span of the first dump begins with the stall, that of a later
 * dump with its own detection (at_ms, if the dump has it). A first dump whose span is the whole
 * duration of its stall is a stall of its own, whatever its id, so that an id which a writer gives
 * to all stalls hides none. All other dumps of a stall together count the sum of their spans or the
 * longest time of a dump without a span, whichever is larger, up to the cap. This total does not
 * depend on the order of the dumps, while each dump's part of it may. A duplicate adds nothing.
 * False: out of memory. */
bool stall_count_take(struct stall_ledger *l, const struct dump *d, enum triage_apart why,
                      uint64_t cap_ms, struct stall_count *out);

/* Returns the part of the stall's time, in ms, that the dump would count if no other dump of the
 * stall was read, and sets *span_ms to the dump's span, before the cap; 0 = unknown. cap_ms:
 * UINT64_MAX = no cap; with 0 the result is 0. */
uint64_t stall_count_alone(const struct dump *d, uint64_t cap_ms, uint64_t *span_ms);

#endif
