/* The context that the app sets while it runs: key/value slots, and whether the app is in the
 * foreground. The app's threads write; the monitor reads at a detection, when the writer may be the
 * thread that stalls, so the monitor takes no lock: each slot is a sequence lock whose reader gives
 * up after 64 attempts. No OS header, no allocation. */
#ifndef STALLREC_CONTEXT_H
#define STALLREC_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stallrec.h"

enum { REC_CONTEXT_WORDS = (STALLREC_CONTEXT_KEY + STALLREC_CONTEXT_VALUE) / 4 };

/* A sequence lock: an odd sequence means that a write is under way. The words are atomic so that a
 * read during a write is no data race. */
struct rec_context_slot {
    atomic_uint sequence;
    /* The bytes of a struct rec_context_pair, whose key is "" if the slot is free; in
     * rec_context.app, those of a struct rec_app_state. */
    atomic_uint words[REC_CONTEXT_WORDS];
};

/* All slots of the recorder; a zeroed struct has no keys and an unknown state. */
struct rec_context {
    struct rec_context_slot slots[STALLREC_CONTEXT_SLOTS];
    struct rec_context_slot app; /* holds a struct rec_app_state */
};

enum rec_app { REC_APP_UNKNOWN = 0, REC_APP_FOREGROUND, REC_APP_BACKGROUND };

/* A key and its value, NUL-terminated, as a dump holds them. */
struct rec_context_pair {
    char key[STALLREC_CONTEXT_KEY];
    char value[STALLREC_CONTEXT_VALUE];
};
struct rec_context_copy {
    uint32_t count;
    enum rec_app app;
    /* The pairs that are set, in the order of the slots. */
    struct rec_context_pair pairs[STALLREC_CONTEXT_SLOTS];
};

/* Sets a key to a value; NULL or "" removes the key. Longer values are cut between characters; the
 * path `home` in them becomes "~" (redact.h). allowed: the keys that may be set, separated by
 * commas or spaces; NULL = all. STALLREC_ERR_CONTEXT: the key is not allowed, empty or too long, or
 * no slot is free for a new key. It may be called on any thread, but not on two at once. */
enum stallrec_error rec_context_set(struct rec_context *context, const char *key, const char *value,
                                    const char *allowed, const char *home);

/* Begins to count the time in the foreground, where the app is assumed to be until it reports
 * another state. It must be called before all other functions. */
void rec_context_begin(struct rec_context *context, uint64_t now_ns);
/* Sets whether the app is in the foreground or background from now_ns on. Called on any thread, but
 * not on two at once, nor at the same time as rec_context_set. */
void rec_context_app(struct rec_context *context, bool foreground, uint64_t now_ns);
/* Returns the time in the foreground from rec_context_begin to now_ns, in ns; UINT64_MAX if every
 * attempt to read it met a write. Called on any thread. */
uint64_t rec_context_foreground_ns(const struct rec_context *context, uint64_t now_ns);

/* Returns the last state that the app set; REC_APP_UNKNOWN also if each attempt to read it met a
 * write. It may be called on any thread. */
enum rec_app rec_context_app_now(const struct rec_context *context);

/* Copies all pairs and the app's state into *out. A slot is left out if each attempt to read it
 * met a write. It may be called on any thread. */
void rec_context_read(const struct rec_context *context, struct rec_context_copy *out);

#endif
