/* Describes the holders of locks in words, for all formats. */
#ifndef STALLKIT_CLASSIFY_HOLDER_TEXT_H
#define STALLKIT_CLASSIFY_HOLDER_TEXT_H

#include "base/strbuf.h"
#include "classify/stats/triage_private.h"

/* A bucket of triage.holders, split into its parts; its texts are borrowed from the bucket. */
struct holder_row {
    enum holder_status status; /* never HOLDER_NONE */
    const char *thread;        /* name of the thread; "" = it has none, or is unknown */
    const char *lock;          /* name of the lock, such as "mutex in libfoo.so"; "" = unknown */
    const struct bucket_frame **frames; /* frames of the thread's stack, innermost first */
    size_t frame_count;
};
struct holder_row holder_row_of(const struct bucket *b);
/* Returns the word for a status: "known", "unknown", "deadlock", "inferred". */
const char *holder_status_text(enum holder_status s);

/* Sums over all waits for locks; the unknown_ members count those whose holder is unknown, and
 * `holders` is the number of known holders. */
struct holder_sums {
    uint64_t ms, stalls, dumps, holders;
    uint64_t length_unknown; /* stalls of unknown length */
    uint64_t unknown_ms, unknown_dumps;
};
struct holder_sums holder_sums_of(const struct triage *t);

/* Each holder_add function appends a text. This one appends the holder and the lock: "db.flush
 * (mutex)"; "db.flush (mutex, deadlock)"; "db.flush (SQLite, inferred from frames)"; "holder
 * unknown". */
void holder_add_who(struct strbuf *b, const struct holder_row *row);
/* Appends the holder's activity: "-[DB flush:] ← -[DB sync]"; nothing if the dump has no stack of
 * the thread. */
void holder_add_stack(struct strbuf *b, const struct holder_row *row);
/* Appends the totals: "7 stalls of 19 wait for locks, 12.3s of 1m26s (14.3%), length unknown: 2,
 * 3 holders". */
void holder_add_totals(struct strbuf *b, const struct triage *t);
/* Appends the waits whose holder is unknown: "holder unknown: 5.7s in 2 dumps, which do not tell
 * whose the lock is, or what that thread does"; nothing if all holders are known. */
void holder_add_unknown(struct strbuf *b, const struct triage *t);
/* Appends the action that accounts for most of the time: "while -[Cart checkout] (61.6%)", without
 * the share if it accounts for all of it; nothing if no action is known. */
void holder_add_action(struct strbuf *b, const struct triage *t, const struct bucket *holder);

#endif
