/* Finds the thread that holds the lock for which a stall waits, and that thread's activity. */
#ifndef STALLKIT_CLASSIFY_LOCK_HOLDER_H
#define STALLKIT_CLASSIFY_LOCK_HOLDER_H

#include "base/err.h"
#include "base/strbuf.h"
#include "dump/dump.h"

struct keyer;
struct stall_key;

enum holder_status {
    HOLDER_NONE,    /* the stall does not wait for a lock */
    HOLDER_UNKNOWN, /* the dump does not name the holder, or lacks its thread, and there is no guess
                     */
    HOLDER_KNOWN,
    HOLDER_DEADLOCK, /* threads wait for each other; the holder is one of them */
    HOLDER_INFERRED  /* the dump does not name the holder, but the frames of its threads leave only
                        one candidate */
};

/* The thread that holds a lock, guessed from the frames of all threads. Zero-initialised = there
 * is no guess. */
struct holder_guess {
    const struct dump_thread *thread; /* borrowed from the dump */
    const char *lock;                 /* kind of the lock, in a word or two */
};

/* These words stand in place of the image in the first two frames of a holder's key. The function
 * of the first frame is the thread's name ("" = none) with '*' for numbers, because threads of a
 * pool differ in their numbers. The function of the second frame is the lock's kind and image, if
 * the dump has them. The second frame of an inferred holder has HOLDER_BY_FRAMES; the key of an
 * unknown holder is HOLDER_IS_UNKNOWN alone. After these two stand the level-1 frames of the
 * holder's stack, if the dump has it. */
#define HOLDER_IS_THREAD   "thread"
#define HOLDER_IS_UNKNOWN  "unknown"
#define HOLDER_OF_LOCK     "lock"
#define HOLDER_OF_DEADLOCK "deadlock"
#define HOLDER_BY_FRAMES   "inferred"

/* A chain of waits as dump_waits gives it, and the thread of it that holds up all threads before
 * it: the last thread of the chain that the dump has; in a deadlock, a thread of the cycle. */
struct holder_chain {
    struct dump_waits waits;
    size_t holder; /* index of the holder in the chain; SIZE_MAX = unknown */
    size_t waiter; /* index of the thread that waits for the holder's lock */
};
/* Finds the chain that begins with waiter (NULL: an empty one). */
void holder_chain_from(const struct dump *d, const struct dump_thread *waiter,
                       struct holder_chain *out);

/* Appends the name of a thread in the form that keys of holders have: "main", or its name with '*'
 * for numbers; nothing for a thread without a name. */
void holder_add_thread(struct strbuf *out, const struct dump_thread *t);
/* Appends the lock for which a thread waits: "mutex", or "mutex in libfoo.so" if the lock lies in
 * an image; "its end" stands for a wait for the end of a thread. */
void holder_add_lock(struct strbuf *out, const struct dump *d, const struct dump_wait *wait);

/* Sets out->holder of a dump whose cause is known; unless the cause is a lock or a deadlock, the
 * holder is left as it is. waiter: the thread that the dump is about, if it waited when its stack
 * was captured; NULL = only its frames show the wait. guess: used if no chain of waits names a
 * holder. ST_ERR: out of memory. */
enum st find_holder(struct keyer *k, const struct dump *d, const struct dump_thread *waiter,
                    const struct holder_guess *guess, struct stall_key *out,
                    struct err *e) BASE_MUST_USE;

#endif
