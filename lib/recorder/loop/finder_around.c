/* Compares waits for descriptors with sleeps and with waits for locks, condition variables and
 * signals around them. */
#include "loop/finder_around.h"

#include <stddef.h>

#include "loop/finder_candidates.h"
#include "loop/finder_log.h"
#include "loop/finder_rivals.h"

enum {
    AROUND_WAITS = 3,  /* number of waits between waits for descriptors that a wait clearly around
                          them needs; RIVAL_RETURNS are needed if it is not clear */
    ASIDE_WAITS = 4,   /* number of such waits that one needs which is no further out, or of which
                          only samples tell; these, and the wait before them, may have been told as
                          stalls */
    UNSEEN_TURNS = 2,  /* number of a loop's waits at most for each wait of which only samples tell
                          and that is its idling */
    AROUND_DOUBT = 16, /* a wait around others that takes less than their time divided by this is
                          none of an idle loop */
    FOLLOWS_WAITS = 16 /* number of waits for descriptors after which a loop has followed the wait
                          around them, together with FOLLOWS_NS */
};

/* Time in ns that waits for descriptors take at least to be those of a loop that follows. */
#define FOLLOWS_NS UINT64_C(2000000000)
/* Time in ns after which a wait around others is no longer recent. */
#define RECENT_NS UINT64_C(30000000000)
/* bytes of stack by which a wait is clearly shallower; see SIBLING_BYTES (finder_rivals.c) */
#define CLEAR_BYTES 512
/* Shortest time in ns between two waits for descriptors for which a thread may idle in sleeps. */
#define IDLE_EACH_NS UINT64_C(100000000)
/* Most bytes of stack by which kin, which are sleeps of one call at several depths, differ: an
 * interpreter that adapts its code needs ever other frames for the same call. */
#define KIN_BYTES 512

bool finder_is_around(const struct loop_finder *f, const struct finder_candidate *a,
                      const struct finder_candidate *c, bool *clear) {
    bool shallower = a->depth > c->depth, by_depth = shallower && a->depth - c->depth > CLEAR_BYTES;
    *clear = false;
    if (a->depth == 0 || c->depth == 0) {
        return false;
    }
    if (a->inner != 0 && c->inner != 0) {
        *clear = a->inner == c->inner ? by_depth : a->inner + 1 < c->inner;
        return a->inner < c->inner || *clear;
    }
    *clear = by_depth && a->inner == c->inner;
    return shallower && !f->pooled;
}

/* Has c, on descriptors, followed a for so long that the time before tells nothing of which of both
 * is the loop? */
static bool has_followed(const struct loop_finder *f, const struct finder_candidate *a,
                         const struct finder_candidate *c, uint64_t now_ns) {
    const struct finder_candidate *loop = finder_loop(f);
    uint64_t since = f->strong_waits - a->strong_waits;
    if (loop == c) {
        return a->latest_ns < f->believed_ns ||
               (since >= FOLLOWS_WAITS && now_ns - a->latest_ns >= RECENT_NS);
    }
    return loop == a && c->epoch == a->all_waits && c->streak >= FOLLOWS_WAITS &&
           c->streak_ns >= FOLLOWS_NS;
}

/* Returns the ns that c and the other candidates on descriptors that a is around waited in all. */
static uint64_t waited_within(const struct loop_finder *f, const struct finder_candidate *a,
                              const struct finder_candidate *c) {
    uint64_t waited_ns = c->waited_ns;
    bool clear;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct finder_candidate *other = &f->candidates[i];
        bool within = other != c && !other->refused && !rival_is_weak(other);
        waited_ns += within && finder_is_around(f, a, other, &clear) ? other->waited_ns : 0;
    }
    return waited_ns;
}

/* Is a, which is a call that only samples show, as far out on the stack as c, or further? It is
 * then no part of a turn whose loop is c, as what a turn calls is further in. False if that is not
 * known, as in an interpreter whose frames are known of one of both alone. */
static bool is_as_far_out(const struct finder_candidate *a, const struct finder_candidate *c) {
    if (a->depth == 0 || c->depth == 0 || (a->inner == 0) != (c->inner == 0)) {
        return false;
    }
    return a->inner != c->inner ? a->inner < c->inner : a->depth >= c->depth;
}

/* Has the thread waited in a, which is no wait further out than the loop c, for at least as long as
 * in c, without what is too short for idling? Nothing tells then whether it idles in a, or works
 * there. A factor would make a busy machine decide, on which waits for the replies of other
 * processes take longer, and sleeps do not. A wait on a condition variable further in is one for a
 * worker, and one with more of an interpreter's frames is a handler's. */
static bool takes_the_time(const struct finder_candidate *a, const struct finder_candidate *c) {
    bool inside = c->inner != 0 && a->inner > c->inner;
    return a->object.kind != FINDER_CONDITION && !inside && a->between >= ASIDE_WAITS &&
           a->idled_ns >= c->waited_ns;
}

/* Are both sleeps, or waits for locks, of one call, at depths that differ no more than those of an
 * interpreter do? If the interpreter's frames are counted, they tell such waits apart. */
static bool are_kin(const struct finder_candidate *a, const struct finder_candidate *b) {
    uint64_t apart = a->depth > b->depth ? a->depth - b->depth : b->depth - a->depth;
    return rival_is_aside(a) && a->object.kind == b->object.kind && a->place == b->place &&
           a->inner == 0 && b->inner == 0 && a->depth != 0 && b->depth != 0 && apart <= KIN_BYTES;
}

/* Returns a copy of a with the waits of its kin added. */
static struct finder_candidate with_kin(const struct loop_finder *f,
                                        const struct finder_candidate *a) {
    struct finder_candidate all = *a;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct finder_candidate *b = &f->candidates[i];
        if (b != a && are_kin(a, b)) {
            all.between += b->between + b->joins;
            all.waited_ns += b->waited_ns;
            all.idled_ns += b->idled_ns;
            all.unseen.waits += b->unseen.waits;
            all.unseen.waited_ns += b->unseen.waited_ns;
            all.all_waits += b->all_waits;
            all.latest_ns = b->latest_ns > all.latest_ns ? b->latest_ns : all.latest_ns;
            all.strong_waits =
                b->strong_waits > all.strong_waits ? b->strong_waits : all.strong_waits;
        }
    }
    all.between += a->joins;
    return all;
}

/* Does what is known of a, a call that only samples show, make it doubtful that c is the loop? A
 * function that calls a library which polls may wait there for a task of its own, too, as far out
 * as where other programs idle. The thread idles there only if a comes nearly as often as turns of
 * c would, since the first of them, and if c's waits take less time in all. Turns write, too, so a
 * wait for room that the thread did not make before c was believed is part of a turn. */
static bool may_idle_unseen(const struct loop_finder *f, const struct finder_candidate *a,
                            const struct finder_candidate *c) {
    struct finder_beside since = {.waits = 0};
    if (c == finder_loop(f) && a->unseen.believed_ns == f->believed_ns) {
        since = a->unseen;
    }
    bool for_room = a->object.id != 0;
    if (for_room && c->trusted && a->first_ns >= c->trusted_ns) {
        return false;
    }
    uint64_t between = a->between - since.waits, turns = c->all_waits - since.loop_waits;
    return is_as_far_out(a, c) && between >= ASIDE_WAITS &&
           (between + 1) * UNSEEN_TURNS >= turns && /* the first of them is between no waits */
           a->waited_ns - since.waited_ns > c->waited_ns - since.loop_ns;
}

static enum finder_claim claim_of(const struct loop_finder *f, const struct finder_candidate *a,
                                  const struct finder_candidate *c, uint64_t now_ns) {
    bool clear;
    if (a->refused || c->refused || a->between < AROUND_WAITS || has_followed(f, a, c, now_ns)) {
        return FINDER_CLAIM_NONE;
    }
    if (a->object.kind == FINDER_UNSEEN) {
        return may_idle_unseen(f, a, c) ? FINDER_CLAIM_DOUBT : FINDER_CLAIM_NONE;
    }
    if (!finder_is_around(f, a, c, &clear)) {
        bool doubtful = c == finder_loop(f) && takes_the_time(a, c);
        return doubtful ? FINDER_CLAIM_DOUBT : FINDER_CLAIM_NONE;
    }
    uint64_t waited_ns = waited_within(f, a, c);
    if (!clear) {
        bool often = a->between >= RIVAL_RETURNS && a->waited_ns >= waited_ns;
        return often ? FINDER_CLAIM_DOUBT : FINDER_CLAIM_NONE;
    }
    bool keeps = a == finder_loop(f) && !f->doubt && a->waited_ns >= waited_ns;
    if (keeps || a->waited_ns / RIVAL_CLEARLY_MORE >= waited_ns) {
        return FINDER_CLAIM_LOOP;
    }
    return a->waited_ns >= waited_ns / AROUND_DOUBT ? FINDER_CLAIM_DOUBT : FINDER_CLAIM_NONE;
}

/* Does the same as claim_of. If a and its kin together would be the loop, or might be, and a alone
 * is not, it is not known which of them are the thread's idle waits. */
static enum finder_claim claim_with_kin(const struct loop_finder *f,
                                        const struct finder_candidate *a,
                                        const struct finder_candidate *c, uint64_t now_ns) {
    enum finder_claim claim = claim_of(f, a, c, now_ns);
    if (claim == FINDER_CLAIM_NONE && a != finder_loop(f) && rival_is_aside(a) && a->inner == 0) {
        const struct finder_candidate all = with_kin(f, a);
        bool more = all.all_waits > a->all_waits;
        claim = more && claim_of(f, &all, c, now_ns) != FINDER_CLAIM_NONE ? FINDER_CLAIM_DOUBT
                                                                          : FINDER_CLAIM_NONE;
    }
    return claim;
}

enum finder_claim finder_claims(struct loop_finder *f, struct finder_candidate *loop,
                                uint64_t now_ns, struct finder_candidate **around) {
    enum finder_claim most = FINDER_CLAIM_NONE;
    bool weak = rival_is_weak(loop);
    for (uint32_t i = 0; f->beside && i < f->count; i++) {
        struct finder_candidate *other = &f->candidates[i], *a = weak ? loop : other;
        if (rival_is_weak(other) == weak) {
            continue;
        }
        enum finder_claim one = claim_with_kin(f, a, weak ? other : loop, now_ns);
        /* Of two waits around a loop the one that took longer is where the thread idles. If the
         * loop is weak, one doubt is enough. */
        bool more = weak ? most == FINDER_CLAIM_NONE || one == FINDER_CLAIM_DOUBT
                         : most == FINDER_CLAIM_NONE || a->waited_ns > (*around)->waited_ns;
        if (one != FINDER_CLAIM_NONE && more) {
            most = one;
            *around = a;
        }
    }
    return most;
}

/* Had one of c's kin waited before the latest waits for descriptors? */
static bool joins_kin(const struct loop_finder *f, const struct finder_candidate *c) {
    bool joins = false;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct finder_candidate *b = &f->candidates[i];
        joins |= b != c && b->all_waits > 0 && b->strong_waits != f->strong_waits && are_kin(c, b);
    }
    return joins;
}

void finder_count_between(const struct loop_finder *f, struct finder_candidate *c) {
    bool between = c->strong_waits != f->strong_waits;
    c->joins = c->all_waits == 0 ? joins_kin(f, c) : c->joins;
    c->between += c->all_waits > 0 && between;
    c->gap_ns = between ? 0 : c->gap_ns;
    c->strong_waits = f->strong_waits;
}

void finder_count_idle(struct finder_candidate *c, uint64_t length_ns) {
    bool idled = c->gap_ns >= IDLE_EACH_NS;
    c->waited_ns += length_ns;
    c->gap_ns += length_ns;
    if (c->gap_ns >= IDLE_EACH_NS) {
        c->idled_ns += idled ? length_ns : c->gap_ns;
    }
}

/* Notes what c, of which only samples tell, and the believed loop waited before c's first wait
 * since that loop is believed; nothing is noted of what came before any loop was. */
static void note_beside(const struct loop_finder *f, struct finder_candidate *c) {
    const struct finder_candidate *loop = finder_loop(f);
    if (loop == NULL || c->unseen.believed_ns == f->believed_ns) {
        return;
    }
    bool first = c->unseen.believed_ns == 0 && c->all_waits > 0;
    c->unseen = (struct finder_beside){.believed_ns = f->believed_ns};
    if (!first) {
        c->unseen.waits = c->between;
        c->unseen.waited_ns = c->waited_ns;
        c->unseen.loop_waits = loop->all_waits;
        c->unseen.loop_ns = loop->waited_ns;
    }
}

/* Counts a wait from begin_ns to end_ns that is no loop's by itself. A short one is forgotten. */
static void count_aside(struct loop_finder *f, const struct finder_wait *wait, uint64_t begin_ns,
                        uint64_t end_ns) {
    if (end_ns < begin_ns + FINDER_INNER_NS) {
        return;
    }
    struct finder_candidate *c = finder_match(f, wait);
    if (c == NULL) {
        c = finder_add_candidate(f, wait);
    }
    if (c->refused) {
        return;
    }
    if (c->all_waits == 0) {
        c->first_ns = begin_ns;
    }
    c->inner = c->inner != 0 ? c->inner : wait->inner;
    if (wait->object.kind == FINDER_UNSEEN) {
        note_beside(f, c);
    }
    finder_count_between(f, c);
    finder_count_wait(c, c->depth);
    finder_log_wait(f, c, begin_ns);
    finder_log_end(f, c, end_ns);
    finder_count_idle(c, end_ns - begin_ns);
    c->latest_ns = end_ns;
    f->beside |= f->strong_ns != 0;
}

void finder_end_aside(struct loop_finder *f, uint64_t now_ns) {
    uint64_t begin_ns = f->aside_ns;
    f->aside_ns = 0;
    count_aside(f, &f->aside, begin_ns, now_ns);
}

/* The first sample is taken some time after the last wait, and the last one some time before the
 * next; the thread most likely slept in between. */
void finder_slept(struct loop_finder *f, const struct finder_sleep *sleep, uint64_t now_ns) {
    uint64_t begin_ns = sleep->from_ns, end_ns = sleep->to_ns + FINDER_APART_NS;
    const struct finder_wait wait = {.place = sleep->at.place,
                                     .depth = sleep->at.depth,
                                     .inner = (uint32_t)sleep->at.inner,
                                     .object = {.kind = FINDER_UNSEEN, .id = sleep->at.room}};
    begin_ns -= begin_ns < FINDER_APART_NS ? begin_ns : FINDER_APART_NS;
    count_aside(f, &wait, begin_ns > f->woken_ns ? begin_ns : f->woken_ns,
                end_ns < now_ns ? end_ns : now_ns);
}

bool finder_wants_inner(const struct loop_finder *f, uint64_t now_ns) {
    if (f->aside_ns != 0) {
        return f->aside.inner == 0 && now_ns >= f->aside_ns + FINDER_INNER_NS;
    }
    const struct finder_candidate *c = f->open != 0 ? &f->candidates[f->open - 1] : NULL;
    return c != NULL && f->beside && now_ns >= c->latest_ns + FINDER_INNER_NS;
}

bool finder_tell_inner(struct loop_finder *f, uint32_t inner) {
    if (f->aside_ns != 0) {
        f->aside.inner = inner;
        return true;
    }
    if (f->open == 0 || inner == 0) {
        return true;
    }
    struct finder_candidate *c = &f->candidates[f->open - 1];
    bool other = rival_is_aside(c) && c->inner != 0 && c->inner != inner;
    if (!other && (c->inner == 0 || inner < c->inner)) {
        c->inner = inner;
    }
    return !other;
}
