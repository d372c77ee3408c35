/* Who holds locks, in words, shared by the formats. */
#ifndef STALLKIT_CLASSIFY_HOLDER_TEXT_H
#define STALLKIT_CLASSIFY_HOLDER_TEXT_H

#include "base/strbuf.h"
#include "classify/stats/triage_private.h"

/* A bucket of triage.holders, taken apart; texts are borrowed from it. */
struct holder_row {
    enum holder_status status;          /* HOLDER_NONE never */
    const char *thread;                 /* "" = it has no name, or nobody knows it */
    const char *lock;                   /* "mutex in libfoo.so"; "" = nobody knows */
    const struct bucket_frame **frames; /* what the thread is doing, the innermost first */
    size_t frame_count;
};
struct holder_row holder_row_of(const struct bucket *b);
/* "known", "unknown", "deadlock", "inferred". */
const char *holder_status_text(enum holder_status s);

/* What all waits for locks come to, and those of them whose holder is unknown. */
struct holder_sums {
    uint64_t ms, stalls, dumps, holders;
    uint64_t unknown_ms, unknown_dumps;
};
struct holder_sums holder_sums_of(const struct triage *t);

/* Each of these appends. "db.flush (mutex)", who holds what; "db.flush (mutex, deadlock)";
 * "db.flush (SQLite, inferred from frames)"; "holder unknown". */
void holder_add_who(struct strbuf *b, const struct holder_row *row);
/* "-[DB flush:] ← -[DB sync]"; "" where the dump has no stack of the thread. */
void holder_add_stack(struct strbuf *b, const struct holder_row *row);
/* "7 stalls of 19 wait for locks, 12.3s of 1m26s (14.3%), 3 holders". */
void holder_add_totals(struct strbuf *b, const struct triage *t);
/* "holder unknown: 5.7s in 2 dumps, which do not tell whose the lock is, or what that thread does";
 * nothing if all are known. */
void holder_add_unknown(struct strbuf *b, const struct triage *t);
/* "while -[Cart checkout] (61.6%)": the action that most of the time came from; nothing if none is
 * known. */
void holder_add_action(struct strbuf *b, const struct triage *t, const struct bucket *holder);

#endif
