/* Who holds the lock that a stall waits for, and what that thread is doing. */
#ifndef STALLKIT_CLASSIFY_LOCK_HOLDER_H
#define STALLKIT_CLASSIFY_LOCK_HOLDER_H

#include "base/err.h"
#include "base/strbuf.h"
#include "dump/dump.h"

struct keyer;
struct stall_key;

enum holder_status {
    HOLDER_NONE,    /* the stall is no wait for a lock */
    HOLDER_UNKNOWN, /* nobody tells who holds it, or that thread is not in the dump */
    HOLDER_KNOWN,
    HOLDER_DEADLOCK, /* threads wait for each other: one of them */
    HOLDER_INFERRED  /* nobody tells, and the frames of the dump's threads leave one */
};

/* The thread that holds a lock, guessed from the frames of all threads. Zero-initialised = they do
 * not tell. */
struct holder_guess {
    const struct dump_thread *thread; /* borrowed from the dump */
    const char *lock;                 /* what it holds, in a word or two */
};

/* The first frames of a holder's key have these in place of an image, and a name as function: the
 * thread's ("" = it has none), with '*' for its numbers, as threads of a pool differ in them; the
 * lock's kind, and the image that it lies in, where the dump tells. The key of an unknown holder is
 * HOLDER_IS_UNKNOWN alone; of an inferred one the second is HOLDER_BY_FRAMES. Behind these two
 * stand the frames of level 1 that the holder's stack has, if there is one. */
#define HOLDER_IS_THREAD   "thread"
#define HOLDER_IS_UNKNOWN  "unknown"
#define HOLDER_OF_LOCK     "lock"
#define HOLDER_OF_DEADLOCK "deadlock"
#define HOLDER_BY_FRAMES   "inferred"

/* A chain of waits as dump_waits gives it, and which of its threads holds up all before it: the
 * last one, as far as the dump tells; of a deadlock one of the cycle. */
struct holder_chain {
    struct dump_waits waits;
    size_t holder; /* index of the thread; SIZE_MAX = unknown */
    size_t waiter; /* index of the thread that waits for what it holds */
};
/* The chain that begins with waiter (NULL: an empty one). */
void holder_chain_from(const struct dump *d, const struct dump_thread *waiter,
                       struct holder_chain *out);

/* Appends the name of a thread as keys of holders have it: "main", or its name, with '*' for
 * numbers; nothing if it has none. */
void holder_add_thread(struct strbuf *out, const struct dump_thread *t);
/* Appends "mutex", or "mutex in libfoo.so": what a thread waits for. */
void holder_add_lock(struct strbuf *out, const struct dump *d, const struct dump_wait *wait);

/* Fills in out->holder of a dump whose cause is known. waiter: the thread that the dump is about,
 * if it waited when its stack was captured; NULL = only frames tell of the wait. guess: used where
 * no chain of waits names a holder. ST_ERR: out of memory. */
enum st find_holder(struct keyer *k, const struct dump *d, const struct dump_thread *waiter,
                    const struct holder_guess *guess, struct stall_key *out,
                    struct err *e) BASE_MUST_USE;

#endif
