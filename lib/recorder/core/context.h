/* What the app says about itself while it runs: key/value slots, and whether it is in the
 * foreground. The app's threads write; the monitor reads at a detection, when the writer may be the
 * thread that stalls, so it takes no lock: each slot is a sequence lock whose reader gives up after
 * a few tries. No OS header, no allocation. */
#ifndef STALLREC_CONTEXT_H
#define STALLREC_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stallrec.h"

enum { REC_CONTEXT_WORDS = (STALLREC_CONTEXT_KEY + STALLREC_CONTEXT_VALUE) / 4 };

/* Odd: it is being written. The words are atomic so that a read during a write is no data race. */
struct rec_context_slot {
    atomic_uint sequence;
    atomic_uint words[REC_CONTEXT_WORDS]; /* key, then value; the first word 0: free */
};

/* Zeroed: nothing is known. */
struct rec_context {
    struct rec_context_slot slots[STALLREC_CONTEXT_SLOTS];
    struct rec_context_slot app; /* struct rec_app_state */
};

enum rec_app { REC_APP_UNKNOWN = 0, REC_APP_FOREGROUND, REC_APP_BACKGROUND };

/* A copy, as a dump holds it. */
struct rec_context_pair {
    char key[STALLREC_CONTEXT_KEY];
    char value[STALLREC_CONTEXT_VALUE];
};
struct rec_context_copy {
    uint32_t count;
    enum rec_app app;
    struct rec_context_pair pairs[STALLREC_CONTEXT_SLOTS]; /* in the order of the slots */
};

/* Sets a key; value NULL or "" = removes it. Longer values are cut between characters; `home`
 * becomes "~" in them (redact.h). allowed: the keys that may be set, separated by commas or spaces;
 * NULL = all. STALLREC_ERR_CONTEXT: not allowed, no key, too long a key, or no slot is free. Any
 * thread, not two at once. */
enum stallrec_error rec_context_set(struct rec_context *context, const char *key, const char *value,
                                    const char *allowed, const char *home);

/* The recorder starts: the app counts as in the foreground until it says otherwise. Before all
 * else. */
void rec_context_begin(struct rec_context *context, uint64_t now_ns);
/* Foreground or background from now_ns on. Any thread, not two at once, nor with rec_context_set.
 */
void rec_context_app(struct rec_context *context, bool foreground, uint64_t now_ns);
/* Time in the foreground from rec_context_begin to now_ns; UINT64_MAX if it is being written for
 * too long. Any thread. */
uint64_t rec_context_foreground_ns(const struct rec_context *context, uint64_t now_ns);

/* What the app said last; REC_APP_UNKNOWN also if it is being written for too long. Any thread. */
enum rec_app rec_context_app_now(const struct rec_context *context);

/* Copies what is whole: a slot that is being written for too long is left out. Any thread. */
void rec_context_read(const struct rec_context *context, struct rec_context_copy *out);

#endif
