/* Finds a thread's event loop by a heuristic: judges each wait, and decides which candidate is
 * believed. */
#include "loop/loop_finder.h"

#include <stddef.h>
#include <string.h>

#include "loop/finder_around.h"
#include "loop/finder_belief.h"
#include "loop/finder_candidates.h"
#include "loop/finder_log.h"
#include "loop/finder_rivals.h"

enum {
    DEEPER_OFTEN = 16, /* number of waits after which a place replaces a loop that has not waited
                          for ABSENT_NS, or, on a condition variable, for BUSY_NS */
    RETURN_STREAK = 8, /* number of waits of the believed loop that end a doubt */
    LONGER_ALL = 4, /* factor by which all waits of a loop are longer than all waits for replies */
    FIRST_OFTEN = 128 /* number of waits, of any length, that suffices where FIRST_WAITS_NS does */
};

#define ABSENT_NS UINT64_C(30000000000)
/* Time in ns that waits on another set, which overlaps the loop's, take at least in all to be those
 * of a loop that follows. */
#define OVERLAP_NS UINT64_C(2000000000)
/* Time in ns after which one wait of the loop ends a doubt that is due to narrower sets. */
#define RETURN_NS UINT64_C(1000000000)
/* Time in ns after which a place that never idles replaces an absent loop on a condition
 * variable. */
#define BUSY_NS UINT64_C(1000000000)
/* Minimum time in ns that all waits of an idle loop take together; waits for replies take less. */
#define LOOP_WAITS_NS UINT64_C(100000000)
/* Minimum time in ns that all waits of the first loop that is believed, or of one that replaces a
 * young loop (finder_is_young), take together. It is smaller than LOOP_WAITS_NS, because little or
 * nothing judged before can be lost. */
#define FIRST_WAITS_NS UINT64_C(40000000)
/* Shortest time in ns over which a loop on a condition variable shows that it idles. */
#define CALM_NS UINT64_C(400000000)

void finder_init(struct loop_finder *f, uint64_t threshold_ns,
                 bool (*allowed)(void *ctx, uint64_t place), void *ctx) {
    memset(f, 0, sizeof *f);
    f->quiet_ns = threshold_ns / 2;
    f->allowed = allowed;
    f->allowed_ctx = ctx;
}

/* Empties the log before a wait of a loop that has been believed for long, as earlier waits are
 * settled. */
static void settle_log(struct loop_finder *f, uint64_t now_ns) {
    if (!f->doubt && f->believed != 0 && !finder_is_young(f, now_ns)) {
        f->run_count = 0;
        f->log_ns = now_ns;
    }
}

/* ---- belief ---- */

bool finder_wants_file(const struct loop_finder *f, const struct finder_object *object) {
    const struct finder_candidate *loop = finder_loop(f);
    return loop == NULL || f->doubt || !finder_same_object(&loop->object, object);
}

/* Counts a wait of c since the believed loop's last wait. */
static void count_streak(struct finder_candidate *c, const struct finder_candidate *loop) {
    if (c->epoch != loop->all_waits) {
        c->returns += c->streak > 0;
        c->epoch = loop->all_waits;
        c->streak = c->streak_ns = 0;
    }
    c->streak++;
}

/* Does c, which waits on a condition variable or for signals, replace a loop on descriptors? */
static bool has_succeeded(const struct finder_candidate *c, const struct finder_candidate *loop,
                          uint64_t now_ns) {
    return (c->streak >= FINDER_DEEPER_STREAK && rivals_wait_for_replies(loop, c) &&
            c->streak_ns / LONGER_ALL >= loop->waited_ns) ||
           (c->streak >= DEEPER_OFTEN && now_ns - loop->latest_ns >= ABSENT_NS);
}

/* Has c, which is a peer of the believed loop or does not wait at a shallower depth, waited often
 * enough while the loop did not wait? A candidate that has waited within the loop's turns before
 * has to wait for longer, unless it was the loop first. */
static bool has_outlasted(const struct finder_candidate *c, const struct finder_candidate *loop,
                          uint64_t now_ns) {
    bool within_turns = rival_comes_between(c) && !finder_returns_to(c, loop);
    if ((rivals_are_siblings(c, loop) || rivals_are_peers(c, loop)) && !within_turns &&
        !rival_polls(c, loop)) {
        return c->streak >= FINDER_QUALIFIES;
    }
    return (c->streak >= FINDER_DEEPER_STREAK && c->streak >= 2 * loop->waits && !within_turns &&
            c->streak_ns >= loop->waited_ns) ||
           (c->streak >= DEEPER_OFTEN && now_ns - loop->latest_ns >= ABSENT_NS);
}

/* Does c, on descriptors, wait often, and not much less than the believed loop, on a condition
 * variable, because the thread waits on both by turns? The function is called for each wait of c,
 * and counts the wait. */
static bool waits_by_turns(const struct loop_finder *f, struct finder_candidate *c) {
    const struct finder_candidate *loop = finder_loop(f);
    if (c->rival_ns != f->believed_ns) {
        c->rival_ns = f->believed_ns;
        c->beside_waits = c->all_waits;
        c->beside_ns = c->waited_ns;
        c->rival_waited_ns = loop->waited_ns;
    }
    uint64_t waited_ns = c->waited_ns - c->beside_ns;
    return c->all_waits - c->beside_waits >= FINDER_DEEPER_STREAK && waited_ns >= LOOP_WAITS_NS &&
           waited_ns >= (loop->waited_ns - c->rival_waited_ns) / LONGER_ALL;
}

/* Does c, on descriptors, wait as a loop does that idles, or for so long that the believed loop,
 * on a condition variable, is not likely to be in a turn? */
static bool idles_beside(const struct finder_candidate *c, const struct finder_candidate *loop,
                         uint64_t now_ns) {
    uint64_t each_ns = loop->waited_ns / (loop->all_waits + 1);
    if (c->streak >= DEEPER_OFTEN && now_ns - loop->latest_ns >= BUSY_NS) {
        return true;
    }
    return c->streak >= FINDER_QUALIFIES &&
           (c->streak_ns >= LOOP_WAITS_NS ||
            c->streak_ns / c->streak >= each_ns / RIVAL_LONGER_EACH);
}

/* Has c waited for longer in all, or more often, than a library that starts up waits for
 * replies? */
static bool waits_for_long(const struct finder_candidate *c) {
    return c->waited_ns >= FIRST_WAITS_NS || c->waits >= FIRST_OFTEN;
}

/* Are c's waits enough to replace the believed loop, whether that is in doubt or not? */
static bool qualifies(const struct loop_finder *f, struct finder_candidate *c, uint64_t now_ns) {
    if (rival_is_weak(finder_loop(f)) && !rival_is_weak(c)) {
        return waits_by_turns(f, c) ||
               (c->waits >= FINDER_QUALIFIES && idles_beside(c, finder_loop(f), now_ns));
    }
    if (c->waits < FINDER_QUALIFIES || rival_is_weak(finder_loop(f))) {
        return c->waits >= FINDER_QUALIFIES;
    }
    if (finder_is_young(f, now_ns)) {
        return f->allowed != NULL || waits_for_long(c);
    }
    return c->waits >= FINDER_DEEPER_STREAK || c->waited_ns >= LOOP_WAITS_NS;
}

/* Has another peer of the believed loop waited since the loop's last wait? */
static bool is_one_of_many(const struct loop_finder *f, const struct finder_candidate *c) {
    const struct finder_candidate *loop = finder_loop(f);
    for (uint32_t i = 0; i < f->count; i++) {
        const struct finder_candidate *other = &f->candidates[i];
        if (other != c && other != loop && rivals_are_peers(other, loop) && other->streak > 0 &&
            other->epoch == loop->all_waits) {
            return true;
        }
    }
    return false;
}

/* Judges a wait of c, a peer of the believed loop that may have followed that loop. The loop is in
 * doubt until it is known which of both is the loop. */
static void judge_peer(struct loop_finder *f, struct finder_candidate *c, uint64_t now_ns) {
    struct finder_candidate *loop = &f->candidates[f->believed - 1];
    const struct finder_candidate *of_both = rivals_loop(f, c, loop);
    bool enough = !f->repeats || now_ns - loop->latest_ns >= ABSENT_NS;
    if (enough && has_outlasted(c, loop, now_ns) && !is_one_of_many(f, c)) {
        finder_believe(f, c, now_ns);
    } else if (c->returns >= RIVAL_RETURNS && of_both != NULL) {
        if (f->doubt || of_both == c) {
            finder_believe(f, of_both == c ? c : loop, now_ns);
        }
    } else if (!f->doubt) {
        finder_begin_doubt(f, now_ns);
    } else {
        f->doubt_streak = 0;
        f->narrow_doubt = false;
    }
}

/* Has c, which overlaps the loop (rivals_overlap), waited for so long without the loop that c
 * follows the loop? The belief in c is taken back when the loop returns. This is impossible if c is
 * a subset (rival_is_subset), as the loop's own waits could no longer be told from c's, so a subset
 * has to wait for ABSENT_NS. */
static bool follows_overlapping(const struct finder_candidate *c,
                                const struct finder_candidate *loop) {
    if (finder_returns_to(c, loop)) {
        return c->streak >= FINDER_QUALIFIES;
    }
    uint64_t enough_ns = rival_is_subset(c, loop) ? ABSENT_NS : OVERLAP_NS;
    return c->streak >= FINDER_DEEPER_STREAK && c->streak_ns >= enough_ns;
}

/* Judges a wait of c, which overlaps the believed loop (rivals_overlap). */
static void judge_overlapping(struct loop_finder *f, struct finder_candidate *c, uint64_t now_ns) {
    const struct finder_candidate *loop = finder_loop(f);
    bool longer = rival_comes_between(c) && !rival_is_subset(c, loop) &&
                  c->waited_ns / RIVAL_LONGER_EACH >= loop->waited_ns;
    if (follows_overlapping(c, loop) || longer) {
        finder_believe(f, c, now_ns);
    } else if (!f->doubt) {
        finder_begin_doubt(f, now_ns);
        f->narrow_doubt = true;
    } else if (f->narrow_doubt) {
        f->doubt_streak = 0;
    } else {
        f->doubt_streak++; /* against a shallower wait, the waits of c and of the loop are both
                              evidence */
    }
}

/* Judges a wait of c, on a condition variable or for signals, while the believed loop is one on
 * descriptors. */
static void judge_weak(struct loop_finder *f, struct finder_candidate *c, uint64_t now_ns) {
    const struct finder_candidate *loop = finder_loop(f);
    if (has_succeeded(c, loop, now_ns)) {
        finder_believe(f, c, now_ns);
    } else if (rival_is_pools(f, c, loop)) {
        if (!f->doubt) {
            finder_begin_doubt(f, now_ns);
            f->narrow_doubt = true;
        } else if (f->narrow_doubt) {
            f->doubt_streak = 0;
        }
    }
}

/* Judges a wait of a candidate other than the believed loop, while that is not in doubt. */
static enum finder_verdict judge_elsewhere(struct loop_finder *f, struct finder_candidate *c,
                                           const struct finder_wait *wait, uint64_t now_ns) {
    const struct finder_candidate *loop = finder_loop(f);
    count_streak(c, loop);
    c->handlers = rival_is_handlers(f, c, loop);
    if (rival_is_weak(c) && !rival_is_weak(loop)) {
        judge_weak(f, c, now_ns);
    } else if (rivals_overlap(c, loop)) {
        judge_overlapping(f, c, now_ns);
    } else if (rivals_are_peers(c, loop)) {
        judge_peer(f, c, now_ns);
    } else if ((rival_is_weak(loop) && !rival_is_weak(c)) || wait->depth > loop->depth) {
        if (qualifies(f, c, now_ns) && !rival_is_contested(f, c, loop)) {
            finder_believe(f, c, now_ns);
        } else if (wait->depth > loop->depth && !c->handlers) {
            finder_begin_doubt(f, now_ns);
        }
    } else if (has_outlasted(c, loop, now_ns)) {
        finder_believe(f, c, now_ns);
    }
    return f->news != FINDER_NOTHING_NEW ? FINDER_IDLE : FINDER_PART;
}

/* Judges a wait while the loop is in doubt. The doubt ends when the believed loop has waited
 * RETURN_STREAK times, or, in a doubt due to narrower sets alone, waits after RETURN_NS, or when
 * the waits of another candidate are enough to replace the loop, or when a shallower candidate
 * turns out to be a handler. */
static void judge_doubtful(struct loop_finder *f, struct finder_candidate *c,
                           const struct finder_wait *wait, uint64_t now_ns) {
    const struct finder_candidate *loop = finder_loop(f);
    if (c == loop) {
        f->doubt_streak++;
        if (f->doubt_streak >= RETURN_STREAK ||
            (f->narrow_doubt && now_ns - f->doubt_ns >= RETURN_NS)) {
            finder_believe(f, c, now_ns);
        }
        return;
    }
    count_streak(c, loop);
    c->handlers = rival_is_handlers(f, c, loop);
    if (rival_is_weak(c) && !rival_is_weak(loop)) {
        judge_weak(f, c, now_ns);
    } else if (rivals_overlap(c, loop)) {
        judge_overlapping(f, c, now_ns);
    } else if (rivals_are_peers(c, loop)) {
        judge_peer(f, c, now_ns);
    } else if (rival_is_weak(loop) && !rival_is_weak(c) && wait->depth <= loop->depth) {
        if (qualifies(f, c, now_ns)) {
            finder_believe(f, c, now_ns);
        }
    } else if (wait->depth > loop->depth) {
        f->doubt_streak = 0;
        f->narrow_doubt = false;
        if (c->handlers) {
            finder_believe(f, &f->candidates[f->believed - 1], now_ns);
        } else if (qualifies(f, c, now_ns) && !rival_is_contested(f, c, loop)) {
            finder_believe(f, c, now_ns);
        }
    }
}

/* Judges c's span, once it is CALM_NS long, and begins the next one. It is called at the start of a
 * wait, so that no span begins within a long turn. */
static void look_for_calm(struct finder_candidate *c, uint64_t now_ns) {
    uint64_t length_ns = now_ns - c->span_ns;
    if (length_ns >= CALM_NS) {
        c->calm = c->calm || (c->all_waits - c->span_waits >= FINDER_QUALIFIES &&
                              c->waited_ns - c->span_waited_ns >= length_ns / 4 * 3);
        c->span_ns = now_ns;
        c->span_waits = c->all_waits;
        c->span_waited_ns = c->waited_ns;
    }
}

/* Are c's waits enough to be believed as the first loop? Libraries that start up also wait for
 * replies, but only a few times and not for long. */
static bool qualifies_first(const struct loop_finder *f, const struct finder_candidate *c,
                            uint64_t now_ns) {
    if (c->waits < FINDER_QUALIFIES || f->allowed != NULL) {
        return c->waits >= FINDER_QUALIFIES;
    }
    return rival_is_weak(c) ? rival_idles_mostly(c, now_ns) : waits_for_long(c);
}

/* Judges a wait of c by what is known of a wait around those for descriptors (finder_claims).
 * False: nothing is known, or nothing that concerns c. */
static bool judge_around(struct loop_finder *f, struct finder_candidate *c, uint64_t now_ns,
                         enum finder_verdict *verdict) {
    struct finder_candidate *loop = &f->candidates[f->believed - 1], *around;
    bool clear;
    enum finder_claim claim = finder_claims(f, loop, now_ns, &around);
    if (claim == FINDER_CLAIM_NONE || (c != loop && rival_is_weak(c) && rival_is_weak(loop)) ||
        (c != loop && !rival_is_weak(c) && !finder_is_around(f, around, c, &clear))) {
        return false;
    }
    if (c != loop) {
        count_streak(c, loop);
    }
    if (claim == FINDER_CLAIM_LOOP && (f->doubt || around != loop)) {
        finder_believe(f, around, now_ns);
    } else if (claim == FINDER_CLAIM_DOUBT && !f->doubt) {
        finder_begin_doubt_around(f, around, now_ns);
    }
    *verdict = f->doubt || c == finder_loop(f) ? FINDER_IDLE : FINDER_PART;
    return true;
}

static enum finder_verdict judge_blocking(struct loop_finder *f, struct finder_candidate *c,
                                          const struct finder_wait *wait, uint64_t now_ns) {
    if (f->believed == 0) {
        if (qualifies_first(f, c, now_ns)) {
            finder_believe(f, c, now_ns);
        }
        return FINDER_IDLE;
    }
    enum finder_verdict verdict;
    if (f->beside && judge_around(f, c, now_ns, &verdict)) {
        return verdict;
    }
    if (f->doubt) {
        judge_doubtful(f, c, wait, now_ns);
        return f->doubt || c == finder_loop(f) ? FINDER_IDLE : FINDER_PART;
    }
    if (c == finder_loop(f)) {
        return FINDER_IDLE;
    }
    return judge_elsewhere(f, c, wait, now_ns);
}

/* ---- waits ---- */

static enum finder_verdict judge_turn(struct loop_finder *f, const struct finder_wait *wait,
                                      uint64_t now_ns) {
    const struct finder_candidate *c = finder_match(f, wait);
    if (c == NULL || c->refused || rival_is_aside(c) || c->waits == 0 ||
        (wait->depth != c->depth && wait->depth != c->latest_depth)) {
        return FINDER_PART;
    }
    bool turn = c == finder_loop(f) && !f->doubt;
    if (turn) {
        settle_log(f, now_ns);
        f->resolved_ns = now_ns;
    }
    finder_log_wait(f, c, now_ns);
    return turn ? FINDER_TURN : FINDER_PART;
}

/* Is c, which sleeps or waits for a lock, the loop that is believed, or that the user has named? */
static bool is_loop_aside(const struct loop_finder *f, const struct finder_candidate *c) {
    bool named = f->allowed != NULL && c != NULL && !c->refused && c->waits + 1 >= FINDER_QUALIFIES;
    return c != NULL && (c == finder_loop(f) || named);
}

enum finder_verdict finder_begin(struct loop_finder *f, const struct finder_wait *wait,
                                 uint64_t now_ns) {
    f->open = 0;
    f->aside_ns = 0;
    if (!wait->blocking) {
        return judge_turn(f, wait, now_ns);
    }
    struct finder_candidate *c = finder_match(f, wait);
    if (wait->object.kind >= FINDER_LOCK && !is_loop_aside(f, c)) {
        f->aside = *wait;
        f->aside_ns = now_ns;
        return FINDER_PART;
    }
    if (c == NULL) {
        c = finder_add_candidate(f, wait);
    }
    if (c->refused) {
        return FINDER_PART;
    }
    if (c->all_waits == 0) {
        c->first_ns = c->span_ns = now_ns;
    }
    if (f->strong_ns == 0 && !rival_is_weak(c)) {
        f->strong_ns = now_ns;
    }
    f->strong_waits += !rival_is_weak(c);
    if (rival_is_weak(c)) {
        finder_count_between(f, c);
    }
    finder_keep_object(c, &wait->object);
    c->endless = wait->endless;
    finder_count_core(c, &wait->object);
    look_for_calm(c, now_ns);
    finder_count_wait(c, rival_is_aside(c) ? c->depth : wait->depth);
    enum finder_verdict verdict = judge_blocking(f, c, wait, now_ns);
    c->latest_ns = now_ns;
    if (c == finder_loop(f) && f->news == FINDER_NOTHING_NEW) {
        settle_log(f, now_ns);
    }
    f->open = (uint32_t)(c - f->candidates) + 1;
    finder_log_wait(f, c, now_ns);
    return verdict;
}

void finder_end(struct loop_finder *f, uint64_t now_ns) {
    f->woken_ns = now_ns;
    if (f->aside_ns != 0) {
        finder_end_aside(f, now_ns);
    }
    if (f->open == 0) {
        return;
    }
    struct finder_candidate *c = &f->candidates[f->open - 1];
    finder_log_end(f, c, now_ns);
    f->beside |= rival_is_weak(c) && f->strong_ns != 0 && now_ns - c->latest_ns >= FINDER_INNER_NS;
    finder_count_idle(c, now_ns - c->latest_ns);
    c->streak_ns += now_ns - c->latest_ns;
    c->latest_ns = now_ns;
    if (f->open == f->believed && !f->doubt) {
        f->resolved_ns = now_ns;
    }
    f->open = 0;
}

struct finder_interrupted finder_interrupt(const struct loop_finder *f) {
    struct finder_interrupted wait = {.open = f->open, .aside_ns = f->aside_ns};
    if (f->open != 0) {
        wait.place = f->candidates[f->open - 1].place;
        wait.first_ns = f->candidates[f->open - 1].first_ns;
    }
    if (f->aside_ns != 0) {
        wait.aside = f->aside;
    }
    return wait;
}

void finder_continue(struct loop_finder *f, const struct finder_interrupted *wait) {
    f->open = 0;
    if (wait->open != 0 && wait->open <= f->count) {
        const struct finder_candidate *c = &f->candidates[wait->open - 1];
        f->open = c->place == wait->place && c->first_ns == wait->first_ns ? wait->open : 0;
    }
    f->aside_ns = wait->aside_ns;
    if (wait->aside_ns != 0) {
        f->aside = wait->aside;
    }
}

void finder_miss(struct loop_finder *f, uint64_t now_ns) {
    f->open = 0;
    f->aside_ns = 0;
    f->run_count = 0;
    f->log_ns = now_ns;
}

void finder_forget_conditions(struct loop_finder *f) {
    for (uint32_t i = 0; i < f->count; i++) {
        struct finder_candidate *c = &f->candidates[i];
        if (c->object.kind == FINDER_CONDITION && i + 1 != f->believed) {
            c->waits = c->all_waits = c->outer_waits = c->span_waits = 0;
            c->streak = c->streak_ns = c->waited_ns = c->span_waited_ns = 0;
            c->calm = false;
            finder_drop_runs(f, i);
            f->open = f->open == i + 1 ? 0 : f->open;
        }
    }
}

enum finder_news finder_take_news(struct loop_finder *f) {
    enum finder_news news = f->news;
    f->news = f->doubts_next ? FINDER_DOUBTS : FINDER_NOTHING_NEW;
    f->doubts_next = false;
    return news;
}
