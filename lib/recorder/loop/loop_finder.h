/* Finds the event loop of a thread among its waits, and reports afterwards which earlier waits were
 * the loop's.
 *
 * A loop is a place (the return address of the call that waits) and the object that is waited on
 * there: one epoll instance, sets of descriptors that share one from wait to wait, a condition
 * variable, or signals. Place and object are one candidate from their first blocking wait on. The
 * first candidate that waits FINDER_QUALIFIES times at the same depth of the stack, and long
 * enough, is believed, and later a shallower one that does, as the loop is what the thread always
 * comes back to. A library that waits for replies does so at many depths. After that a wait means:
 *
 *     same place and object                  idle, at any depth: deeper down it is a modal loop
 *     same depth and object, other place     idle: a loop may wait at several places
 *     the same, with a timeout of 0          another turn, but only at the loop's own depth
 *     same place, deeper, other object       part of the turn: a nested loop for one reply
 *     same place and depth, other set        part of the turn, once it is known which of both is
 *                                            the loop (finder_rivals.h); doubt until then
 *     same place, narrower set               not known: see below
 *     any other place                        part of the turn
 *
 * Belief changes. A wait that is shallower than the believed loop raises doubt, until one of the
 * two goes on waiting, for longer if the loop was believed for long; deeper waits replace a loop
 * only when it has not been seen for long. While no loop is believed, or there is doubt, every wait
 * that blocks counts as idle for the sampling, and nothing is judged: all waits are logged, and
 * once the loop is known, finder_idle tells which of them were the loop's own, and since when they
 * are told (enum rec_past). If a loop comes back that was believed before the present one, the
 * waits of the present one were part of a turn; or it is not known whether they were, if both wait
 * at about the same depth and the present one waited longer in all. Time before the first wait of a
 * thread's loop is its launch.
 *
 * Loops on condition variables and signals are believed only until a loop on descriptors qualifies,
 * as a thread that waits for its worker would otherwise seem idle. They replace the loop on
 * descriptors again when that no longer waits, and only ever waited for replies: each of its waits,
 * and all together, were short compared with the others' waits since; or when that has been absent
 * for 30 s. If the loop on descriptors comes back and idles, all time since its last wait was one
 * of its turns. A loop on descriptors may ask a worker in each of its turns, and wait for the reply
 * on a condition variable, so that neither outlasts the other; the loop on descriptors is then
 * believed unless its waits are short.
 *
 * A thread of a pool waits for work on a condition variable, and for descriptors while it works: it
 * idles at both, and which of both is its loop depends on its work. If such a thread waits without
 * a timeout on a condition variable on which it waited before it first waited on descriptors, it is
 * not known whether it idles (rival_is_pools).
 *
 * A thread may also idle in a sleep or a lock, and poll in its handlers alone. A wait to which no
 * descriptors are given is a sleep; one that is given an empty set may be the loop's, whose set
 * counts as unread. Sleeps and locks are therefore counted beside the other waits, but are no
 * loop's by themselves, as a turn may sleep or be held up by a lock. A wait for a lock, a condition
 * variable or signals, or a sleep, that recurs between the waits for descriptors, and is further
 * out on the stack than they are (finder_around.h), is believed instead of them if it takes clearly
 * longer in all; if it takes less, it is not known which of both is the loop. Nor is that known of
 * a sleep, or a wait for a lock or signals, that is no further out, but takes at least as long in
 * all. How far out a wait is, is told by its depth and, in an interpreter whose calls do not deepen
 * the stack, by the number of the interpreter's frames.
 *
 * Of a call that is none of these waits only samples tell (finder_slept), so it is never believed.
 * The thread may idle there if the call is as far out on the stack as the loop's wait, or further;
 * but a function that calls a library which polls may also wait there for a task of its own. It is
 * therefore not known whether the thread idles there if that comes nearly as often as the loop's
 * waits, and takes more time than they do; else such a call is part of a turn. A turn writes, too:
 * a call that waits for room, or for a lock of a file, is part of a turn as well if the first of
 * them came after the loop was believed, as a thread that idles there does so from the start.
 *
 * A set is narrower than the loop's if it shares descriptors with it, but lacks one that the loop
 * waits for always (finder_candidate.core) and that is still open. A handler waits so for its own
 * reply beside a wake-up pipe, and so does a loop that does not read from one of its clients for a
 * while; their waits tell nothing of which it is. If the loop comes back before a stall could have
 * been between its waits, both mean the same; else finder_idle gives the time as unknown. Waits on
 * a larger set are the loop's: it could not sleep there while one of its own events waits.
 *
 * Pure: no OS, no globals, no allocation. Used by one thread at a time, for one watched thread.
 * Times are ns of one monotonic clock and never fall. */
#ifndef STALLREC_LOOP_FINDER_H
#define STALLREC_LOOP_FINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

enum {
    FINDER_QUALIFIES = 3,   /* number of blocking waits that a candidate needs at least to be
                               believed; finder_finish may need fewer */
    FINDER_CANDIDATES = 64, /* number of candidates that are known at a time; a new one then
                               replaces another */
    FINDER_RUNS = 128,    /* number of runs of waits in the log; a full log loses its older half */
    FINDER_SET_WORDS = 16 /* 64-bit words of a set, in which descriptor n is bit n mod 1024 */
};

#define FINDER_YOUNG_NS UINT64_C(10000000000)
/* Shortest wait, in ns, in which the interpreter's frames are counted, and shortest sleep or wait
 * for a lock that counts. */
#define FINDER_INNER_NS UINT64_C(5000000)
/* Longest time in ns between the start of a sleep, its samples and its end. */
#define FINDER_APART_NS UINT64_C(100000000)

enum finder_kind {
    FINDER_EPOLL,     /* id: the epoll descriptor */
    FINDER_SET,       /* set: the descriptors of poll or select */
    FINDER_CONDITION, /* id: an address in the condition variable */
    FINDER_SIGNALS,
    FINDER_LOCK, /* all semaphores are one object */
    FINDER_SLEEP,
    FINDER_UNSEEN /* a call that is none of the waits above, in which samples show the thread
                     asleep (finder_slept); it is never believed to be the loop; id: 1 if it waits
                     for room (finder_place), else 0 */
};

/* The object on which a wait waits. Members that its kind does not have are zero. */
struct finder_object {
    enum finder_kind kind;
    uint64_t id;
    uint64_t set[FINDER_SET_WORDS];
    /* lowest: the lowest descriptor of the set; file: a number, such as a socket's inode, that no
     * other file has, of that descriptor or of the epoll descriptor; 0 = not known. */
    uint32_t lowest;
    bool unread; /* the set could not be read, and has all descriptors */
    bool folded; /* the set has a descriptor of FINDER_SET_WORDS * 64 or more */
    uint64_t file;
};

struct finder_wait {
    uint64_t place; /* return address of the call that waits */
    uint64_t depth; /* stack pointer before the call of the function that waits, which is higher in
                       shallower calls, and does not depend on how much stack that function needs;
                       where it is not known, that before the function's call of the wait; 0 = not
                       on the thread's own stack, or the stack's bounds are not known: it is never
                       shallower than another, and how far out it is counts as unknown
                       (finder_around.c) */
    uint32_t inner; /* number of the interpreter's frames on the stack; 0 = not known, or none */
    bool blocking;  /* the wait has no timeout of 0 */
    bool endless;   /* the wait, for a condition variable or for signals, has no timeout */
    struct finder_object object;
};

/* Where a thread sleeps; place, depth and inner are as in struct finder_wait. */
struct finder_place {
    uint64_t place, depth, inner;
    bool room; /* it waits for room for what it writes, or for a lock of a file */
};

/* A sleep that samples show. */
struct finder_sleep {
    struct finder_place at;
    uint64_t from_ns, to_ns; /* times of the first and the last sample; to_ns = 0: there is none */
};

enum finder_verdict {
    FINDER_PART, /* the wait is part of the work of one of the loop's turns */
    FINDER_IDLE, /* the loop waits, until finder_end; while no loop is believed, or it is in doubt,
                    any blocking wait at an allowed place */
    FINDER_TURN  /* the loop begins another turn */
};

enum finder_news {
    FINDER_NOTHING_NEW,
    FINDER_DOUBTS, /* the believed loop is in doubt from now on */
    FINDER_FOUND   /* a loop is believed, a new one or the former one again, or a young loop is in
                      doubt; finder_idle gives the waits by which earlier time is judged again */
};

/* Waits with short pauses between them, from the start of the first to the end of the last. If
 * begin_ns = end_ns, the interval stands for turns that did not wait. */
struct finder_interval {
    uint64_t begin_ns, end_ns;
    bool unknown; /* it is not known whether the loop was idle or in a turn */
};

/* What a FINDER_UNSEEN and the believed loop had waited before the former's first wait since the
 * loop is believed. Zeroed: all waits count. */
struct finder_beside {
    uint64_t believed_ns;         /* loop_finder.believed_ns of the loop; 0 = there was none */
    uint64_t waits, waited_ns;    /* `between` and waited_ns of the FINDER_UNSEEN */
    uint64_t loop_waits, loop_ns; /* all_waits and waited_ns of the loop */
};

struct finder_candidate {
    uint64_t place;
    struct finder_object object; /* the object of the latest wait */
    /* core: the descriptors of the first wait, and those of all waits of each block of CORE_WAITS
     * (finder_object.c) waits, without those that a later wait lacked, which were closed; recent:
     * the descriptors that all of the latest recent_waits waits have */
    uint64_t core[FINDER_SET_WORDS], recent[FINDER_SET_WORDS];
    uint32_t recent_waits;
    uint64_t depth;
    uint32_t inner;   /* smallest number of the interpreter's frames at a wait; 0 = not known. Waits
                         for locks, or sleeps, with different numbers are different candidates */
    uint64_t between; /* number of waits with a wait for descriptors between them and the
                         candidate's wait before */
    uint64_t joins;   /* as `between`, of the first wait alone, if the wait before it was that of a
                         candidate's kin (finder_around.c) */
    uint64_t strong_waits; /* loop_finder.strong_waits at the latest wait */
    /* gap_ns: ns of the waits since the latest wait for descriptors; idled_ns: ns of the waits of
     * all such gaps in which they took IDLE_EACH_NS (finder_around.c) or longer. */
    uint64_t gap_ns, idled_ns;
    uint64_t latest_depth; /* depth of the latest wait that blocked */
    uint64_t waits;        /* number of blocking waits at `depth` */
    uint64_t all_waits;    /* number of blocking waits at any depth */
    uint32_t depths; /* number of other candidates for the object at the place, at other depths */
    uint64_t depth_changes; /* number of waits at another depth than the wait before */
    uint64_t outer_depth;   /* the depth of the latest wait that was shallower than `depth`;
                               outer_waits: number of waits there since a wait at another such
                               depth */
    uint64_t outer_waits;
    uint64_t returns; /* number of times that the believed loop waited between two waits of the
                         candidate */
    uint64_t streak,
        epoch;          /* streak: number of waits since the believed loop's wait number `epoch` */
    uint64_t streak_ns; /* ns that the waits of the streak took, without one that continues */
    uint64_t waited_ns; /* ns that the candidate waited at any depth */
    uint64_t rival_ns; /* loop_finder.believed_ns of the loop on a condition variable with which the
                          candidate is compared */
    uint64_t beside_waits; /* beside_waits, beside_ns, rival_waited_ns: the candidate's all_waits
                              and waited_ns, and the waited_ns of the loop of rival_ns, at the
                              candidate's first wait since that loop is believed */
    uint64_t beside_ns, rival_waited_ns;
    struct finder_beside unseen; /* of a FINDER_UNSEEN: since when it is compared with the loop */
    uint64_t first_ns;           /* time at which the first wait began */
    uint64_t span_ns; /* time at which the latest span in which idling is looked for began */
    uint64_t span_waits, span_waited_ns; /* all_waits and waited_ns at span_ns */
    uint64_t latest_ns;                  /* time at which the latest wait began or ended */
    uint64_t left_ns; /* latest_ns at the time when another candidate was believed in its place */
    bool handlers;    /* the candidate's waits, though shallower than the believed loop's, are a
                         handler's (rival_is_handlers) */
    bool calm;        /* in some span the candidate idled for three quarters of the time */
    uint64_t trusted_ns; /* time at which the candidate was believed for the first time */
    bool trusted;        /* the candidate was believed before */
    bool refused;        /* the candidate's place is not allowed for a loop */
    bool endless;        /* the latest wait has no timeout (finder_wait) */
};

struct finder_run {
    uint32_t candidate;
    struct finder_interval idle;
};

struct loop_finder {
    struct finder_candidate candidates[FINDER_CANDIDATES];
    uint32_t count;
    struct finder_run runs[FINDER_RUNS]; /* runs since log_ns, by time */
    uint32_t run_count;
    uint64_t log_ns;    /* time since which the log is complete; 0 = the thread's start */
    bool repeats;       /* a long wait may be told as several, so their number says little */
    bool pooled;        /* the thread may be one of a pool, as it is not the process's first one */
    bool late;          /* the thread may have waited before its waits were seen */
    uint64_t strong_ns; /* time at which the first wait on descriptors began; 0 = there was none */
    uint64_t strong_waits; /* number of blocking waits on descriptors */
    bool beside; /* a wait on something else than descriptors took FINDER_INNER_NS or longer, and
                    there were waits on descriptors */
    struct finder_wait aside; /* the sleep, or wait for a lock, that continues, unless it is the
                                 believed loop's; aside_ns: time at which it began, 0 = none does */
    uint64_t aside_ns;
    uint64_t woken_ns;  /* time at which the latest wait that was reported ended */
    uint64_t unseen_at; /* place of the latest FINDER_UNSEEN that brought the loop into doubt; 0 =
                           none did */
    uint64_t quiet_ns;  /* waits with pauses shorter than this, in ns, are joined to one run */
    uint32_t believed;  /* index of the believed candidate, + 1; 0 = none */
    uint64_t believed_ns;
    uint64_t resolved_ns;  /* time at which the loop's last wait ended or its last turn began, while
                              there was no doubt */
    uint64_t doubt_streak; /* number of waits of the believed loop, or on sets that overlap its own,
                              since a shallower wait */
    bool doubt;
    bool narrow_doubt; /* the doubt is due to waits on narrower sets alone */
    uint64_t doubt_ns; /* time since which the loop is in doubt */
    bool contested;    /* all time until the doubt is unknown, as another wait may be the loop */
    bool doubts_next;  /* after FINDER_FOUND, FINDER_DOUBTS is news */
    uint32_t open;     /* index of the candidate whose wait continues, + 1; 0 = none */
    enum finder_news news;
    uint64_t
        from_ns; /* time from which on finder_idle gives waits, as of the latest FINDER_FOUND */
    uint64_t found_ns; /* time of the latest FINDER_FOUND */
    enum rec_past past;
    bool (*allowed)(void *ctx, uint64_t place);
    void *allowed_ctx;
    /* Is the watched process's descriptor open? The caller may set it after finder_init; NULL =
     * not known, and no set is narrower than another. */
    bool (*is_open)(void *ctx, uint32_t descriptor);
    void *open_ctx;
};

/* Initialises a finder that knows nothing. threshold_ns: ns of the shortest stall that is of
 * interest. allowed: may the place be a loop's? It is called once for each candidate; NULL = any
 * place may. */
void finder_init(struct loop_finder *f, uint64_t threshold_ns,
                 bool (*allowed)(void *ctx, uint64_t place), void *ctx);

/* Judges a wait of the thread that begins at now_ns. */
enum finder_verdict finder_begin(struct loop_finder *f, const struct finder_wait *wait,
                                 uint64_t now_ns);
/* Ends the wait. It must be called for each wait that was allowed to block, whatever the verdict
 * was, except for a wait that was left by longjmp. */
void finder_end(struct loop_finder *f, uint64_t now_ns);
/* A signal handler that runs within a wait may wait, too: before its finder_begin, finder_interrupt
 * returns the wait that continues, and finder_continue takes it up before its own finder_end. */
struct finder_interrupted {
    uint32_t open;            /* loop_finder.open */
    uint64_t place, first_ns; /* of the candidate of `open`, which may be replaced meanwhile */
    struct finder_wait aside; /* loop_finder.aside, as of aside_ns */
    uint64_t aside_ns;        /* loop_finder.aside_ns */
};
struct finder_interrupted finder_interrupt(const struct loop_finder *f);
void finder_continue(struct loop_finder *f, const struct finder_interrupted *wait);

/* Does the finder need the number of the interpreter's frames in the wait that continues at now_ns?
 * The answer is to be given by finder_tell_inner, before the wait's finder_end. */
bool finder_wants_inner(const struct loop_finder *f, uint64_t now_ns);
/* inner: number of the interpreter's frames; 0 = not known. False: the wait was taken for the
 * believed loop's, a sleep or a wait for a lock, and is not. */
bool finder_tell_inner(struct loop_finder *f, uint32_t inner);
/* Reports a sleep since the last wait. It is to be called before the finder_begin of the next one,
 * at now_ns. */
void finder_slept(struct loop_finder *f, const struct finder_sleep *sleep, uint64_t now_ns);

/* Decides which candidate is the loop, with fewer waits than finder_begin needs, when the thread
 * ends or is no longer watched. It may make news for finder_take_news. */
void finder_finish(struct loop_finder *f, uint64_t now_ns);

/* Forgets the times of the waits before now_ns, and the wait that continues, because some waits may
 * have been missed. The candidates and their places are kept. */
void finder_miss(struct loop_finder *f, uint64_t now_ns);

/* Forgets the waits for condition variables, of which some may have been missed, except those of
 * the believed loop. */
void finder_forget_conditions(struct loop_finder *f);

/* Returns the change that the latest finder_begin or finder_finish made. If it brought a young loop
 * into doubt, the first call returns FINDER_FOUND, after which all earlier time is judged again,
 * and the second call returns FINDER_DOUBTS. A further call returns FINDER_NOTHING_NEW. */
enum finder_news finder_take_news(struct loop_finder *f);

/* After FINDER_FOUND: sets out to the times in which the loop was idle, or in which that is not
 * known, since *from_ns, oldest first, up to the start of the current wait; if there are more than
 * `max`, to the newest. Returns their number. *from_ns: time since which the times in `out` are
 * complete; with REC_PAST_ANEW 0, unless the log or `out` was too short. *past: the way in which
 * time is judged again. */
uint32_t finder_idle(const struct loop_finder *f, struct finder_interval *out, uint32_t max,
                     uint64_t *from_ns, enum rec_past *past);

/* Returns the believed loop, or the one that was believed before doubt arose; NULL: none. Valid
 * until the next call. */
static inline const struct finder_candidate *finder_loop(const struct loop_finder *f) {
    return f->believed != 0 ? &f->candidates[f->believed - 1] : NULL;
}

/* Is no loop believed, or one only for so short a time (less than FINDER_YOUNG_NS) that all waits
 * may be judged again from the start? Time in doubt does not count. */
bool finder_is_young(const struct loop_finder *f, uint64_t now_ns);
/* Returns the time until which finder_is_young is true, if no doubt arises; 0 if it is false now or
 * no loop is believed.
 */
uint64_t finder_young_until(const struct loop_finder *f, uint64_t now_ns);
/* Does the finder need the file of a wait's object, because no loop is believed, the loop is in
 * doubt, or *object is not the object of the loop's latest wait (finder_same_object)? */
bool finder_wants_file(const struct loop_finder *f, const struct finder_object *object);

/* Are both one epoll instance or condition variable, sets that have a descriptor in common, or both
 * signals, semaphores or sleeps? */
bool finder_same_object(const struct finder_object *a, const struct finder_object *b);

/* Is the wait's set, which shares descriptors with c's, narrower than c's: does it lack a
 * descriptor of c's core that is still open? Of those that it lacks, the first CORE_ASKED
 * (finder_object.c) are looked at. False if a set was not read or is folded, or if is_open is
 * NULL. */
bool finder_is_narrower(const struct loop_finder *f, const struct finder_candidate *c,
                        const struct finder_object *object);
/* Updates c's core, the descriptors for which c waits always, by a wait on the object's set. */
void finder_count_core(struct finder_candidate *c, const struct finder_object *object);

/* Adds a descriptor to an object's set. */
static inline void finder_set_add(struct finder_object *object, uint32_t descriptor) {
    object->folded = object->folded || descriptor >= FINDER_SET_WORDS * 64;
    object->set[descriptor / 64 % FINDER_SET_WORDS] |= UINT64_C(1) << descriptor % 64;
}

/* Makes *object a set that could not be read (finder_object.unread). */
static inline void finder_set_unread(struct finder_object *object) {
    for (unsigned i = 0; i < FINDER_SET_WORDS; i++) {
        object->set[i] = UINT64_MAX;
    }
    object->lowest = 0;
    object->unread = true;
}

#endif
