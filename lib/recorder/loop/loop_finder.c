/* Finds a program's event loop by a heuristic. */
#include "loop/loop_finder.h"

#include <stddef.h>
#include <string.h>

#include "loop/finder_candidates.h"
#include "loop/finder_log.h"
#include "loop/finder_rivals.h"

enum {
    DEEPER_STREAK = 8, /* number of waits that a deeper place, unless it is a sibling or a peer,
                          needs at least to replace a loop */
    DEEPER_OFTEN = 16, /* number of waits after which a place replaces a loop that has not waited
                          for ABSENT_NS */
    FINISH_QUALIFIES =
        2, /* number of waits that qualify a candidate at the end, when no more waits come */
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

bool finder_is_young(const struct loop_finder *f, uint64_t now_ns) {
    uint64_t until_ns = f->doubt ? f->doubt_ns : now_ns;
    return f->believed == 0 || until_ns - f->believed_ns < FINDER_YOUNG_NS;
}

uint64_t finder_young_until(const struct loop_finder *f, uint64_t now_ns) {
    return f->believed != 0 && finder_is_young(f, now_ns) ? f->believed_ns + FINDER_YOUNG_NS : 0;
}

bool finder_wants_file(const struct loop_finder *f, const struct finder_object *object) {
    const struct finder_candidate *loop = finder_loop(f);
    return loop == NULL || f->doubt || !finder_same_object(&loop->object, object);
}

/* Does c, believed in place of `loop`, show that `loop` never was the loop? */
static bool disproves(const struct finder_candidate *c, const struct finder_candidate *loop) {
    if (rival_is_weak(c) != rival_is_weak(loop)) {
        return rival_is_weak(loop) || rivals_wait_for_replies(loop, c);
    }
    return c->depth > loop->depth && !rivals_are_siblings(c, loop);
}

/* Was c the loop before `loop` was for the first time? */
static bool returns_to(const struct finder_candidate *c, const struct finder_candidate *loop) {
    return c->trusted && c->trusted_ns < loop->trusted_ns;
}

static void believe(struct loop_finder *f, struct finder_candidate *c, uint64_t now_ns) {
    struct finder_candidate *loop = f->believed != 0 ? &f->candidates[f->believed - 1] : NULL;
    bool overlap = loop != NULL && (rivals_overlap(c, loop) || rivals_overlap(loop, c));
    f->past = REC_PAST_CONTINUES;
    f->from_ns = f->resolved_ns;
    if (loop == NULL) {
        f->past = REC_PAST_ANEW;
    } else if (c != loop && c->trusted &&
               (returns_to(c, loop) || (!overlap && disproves(c, loop)))) {
        /* c was the loop before `loop`, and the waits of `loop` were part of one of c's turns, even
         * if c has already waited again several times before it is believed. If `loop` was believed
         * before c for the first time, c is rather one of its handlers, which has come back. */
        f->from_ns = c->left_ns;
    } else if (c != loop && disproves(c, loop)) {
        f->past = finder_is_young(f, now_ns) ? REC_PAST_ANEW : REC_PAST_GIVEN_UP;
    }
    if (f->past == REC_PAST_ANEW) {
        f->from_ns = 0;
    }
    if (c != loop) {
        if (loop != NULL) {
            loop->left_ns = loop->latest_ns;
        }
        f->believed = (uint32_t)(c - f->candidates) + 1;
        f->believed_ns = now_ns;
    }
    c->trusted_ns = c->trusted ? c->trusted_ns : now_ns;
    c->trusted = true;
    f->doubt = f->narrow_doubt = false;
    f->found_ns = now_ns;
    f->news = FINDER_FOUND;
}

static void begin_doubt(struct loop_finder *f, uint64_t now_ns) {
    f->doubt = true;
    f->doubt_ns = now_ns;
    f->doubt_streak = 0;
    f->narrow_doubt = false;
    f->news = FINDER_DOUBTS;
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
    return (c->streak >= DEEPER_STREAK && rivals_wait_for_replies(loop, c) &&
            c->streak_ns / LONGER_ALL >= loop->waited_ns) ||
           (c->streak >= DEEPER_OFTEN && now_ns - loop->latest_ns >= ABSENT_NS);
}

/* Has c, which is a peer of the believed loop or does not wait at a shallower depth, waited often
 * enough while the loop did not wait? A candidate that has waited within the loop's turns before
 * has to wait for longer, unless it was the loop first. */
static bool has_outlasted(const struct finder_candidate *c, const struct finder_candidate *loop,
                          uint64_t now_ns) {
    bool within_turns = rival_comes_between(c) && !returns_to(c, loop);
    if ((rivals_are_siblings(c, loop) || rivals_are_peers(c, loop)) && !within_turns &&
        !rival_polls(c, loop)) {
        return c->streak >= FINDER_QUALIFIES;
    }
    return (c->streak >= DEEPER_STREAK && c->streak >= 2 * loop->waits && !within_turns &&
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
    return c->all_waits - c->beside_waits >= DEEPER_STREAK && waited_ns >= LOOP_WAITS_NS &&
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
    return c->waits >= DEEPER_STREAK || c->waited_ns >= LOOP_WAITS_NS;
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
        believe(f, c, now_ns);
    } else if (c->returns >= RIVAL_RETURNS && of_both != NULL) {
        if (f->doubt || of_both == c) {
            believe(f, of_both == c ? c : loop, now_ns);
        }
    } else if (!f->doubt) {
        begin_doubt(f, now_ns);
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
    if (returns_to(c, loop)) {
        return c->streak >= FINDER_QUALIFIES;
    }
    uint64_t enough_ns = rival_is_subset(c, loop) ? ABSENT_NS : OVERLAP_NS;
    return c->streak >= DEEPER_STREAK && c->streak_ns >= enough_ns;
}

/* Judges a wait of c, which overlaps the believed loop (rivals_overlap). */
static void judge_overlapping(struct loop_finder *f, struct finder_candidate *c, uint64_t now_ns) {
    const struct finder_candidate *loop = finder_loop(f);
    bool longer = rival_comes_between(c) && !rival_is_subset(c, loop) &&
                  c->waited_ns / RIVAL_LONGER_EACH >= loop->waited_ns;
    if (follows_overlapping(c, loop) || longer) {
        believe(f, c, now_ns);
    } else if (!f->doubt) {
        begin_doubt(f, now_ns);
        f->narrow_doubt = true;
    } else if (f->narrow_doubt) {
        f->doubt_streak = 0;
    } else {
        f->doubt_streak++; /* against a shallower wait both are evidence */
    }
}

/* Judges a wait of c, on a condition variable or for signals, while the believed loop is one on
 * descriptors. */
static void judge_weak(struct loop_finder *f, struct finder_candidate *c, uint64_t now_ns) {
    const struct finder_candidate *loop = finder_loop(f);
    if (has_succeeded(c, loop, now_ns)) {
        believe(f, c, now_ns);
    } else if (rival_is_pools(f, c, loop)) {
        if (!f->doubt) {
            begin_doubt(f, now_ns);
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
            believe(f, c, now_ns);
        } else if (wait->depth > loop->depth && !c->handlers) {
            begin_doubt(f, now_ns);
        }
    } else if (has_outlasted(c, loop, now_ns)) {
        believe(f, c, now_ns);
    }
    return f->news != FINDER_NOTHING_NEW ? FINDER_IDLE : FINDER_PART;
}

/* Judges a wait while the loop is in doubt. The doubt ends when the believed loop has waited
 * RETURN_STREAK times, or, in a doubt due to narrower sets alone, waits after RETURN_NS, or when
 * the waits of another candidate are enough to replace the loop. */
static void judge_doubtful(struct loop_finder *f, struct finder_candidate *c,
                           const struct finder_wait *wait, uint64_t now_ns) {
    const struct finder_candidate *loop = finder_loop(f);
    if (c == loop) {
        f->doubt_streak++;
        if (f->doubt_streak >= RETURN_STREAK ||
            (f->narrow_doubt && now_ns - f->doubt_ns >= RETURN_NS)) {
            believe(f, c, now_ns);
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
    } else if (wait->depth > loop->depth) {
        f->doubt_streak = 0;
        f->narrow_doubt = false;
        if (c->handlers) {
            believe(f, &f->candidates[f->believed - 1], now_ns);
        } else if (qualifies(f, c, now_ns) && !rival_is_contested(f, c, loop)) {
            believe(f, c, now_ns);
        }
    }
}

/* Has c, which waits on a condition variable or for signals, idled for half of the time since its
 * first wait, and for FIRST_WAITS_NS, or for three quarters of a span? Waits for a lock that is
 * made of a condition variable, or for helpers, take less; a busy loop has calm spans. */
static bool idles_mostly(const struct finder_candidate *c, uint64_t now_ns) {
    return c->calm ||
           (c->waited_ns >= FIRST_WAITS_NS && c->waited_ns >= (now_ns - c->first_ns) / 2);
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
    return rival_is_weak(c) ? idles_mostly(c, now_ns) : waits_for_long(c);
}

static enum finder_verdict judge_blocking(struct loop_finder *f, struct finder_candidate *c,
                                          const struct finder_wait *wait, uint64_t now_ns) {
    if (f->believed == 0) {
        if (qualifies_first(f, c, now_ns)) {
            believe(f, c, now_ns);
        }
        return FINDER_IDLE;
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
    if (c == NULL || c->refused || c->waits == 0 ||
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

enum finder_verdict finder_begin(struct loop_finder *f, const struct finder_wait *wait,
                                 uint64_t now_ns) {
    f->open = 0;
    if (!wait->blocking) {
        return judge_turn(f, wait, now_ns);
    }
    struct finder_candidate *c = finder_match(f, wait);
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
    finder_keep_object(c, &wait->object);
    c->endless = wait->endless;
    finder_count_core(c, &wait->object);
    look_for_calm(c, now_ns);
    finder_count_wait(c, wait->depth);
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
    if (f->open == 0) {
        return;
    }
    struct finder_candidate *c = &f->candidates[f->open - 1];
    for (uint32_t i = f->run_count; i > 0; i--) {
        if (f->runs[i - 1].candidate + 1 == f->open) {
            f->runs[i - 1].idle.end_ns = now_ns;
            break;
        }
    }
    c->waited_ns += now_ns - c->latest_ns;
    c->streak_ns += now_ns - c->latest_ns;
    c->latest_ns = now_ns;
    if (f->open == f->believed && !f->doubt) {
        f->resolved_ns = now_ns;
    }
    f->open = 0;
}

/* Is c more likely to be the program's loop than `than`? The question is asked once no more waits
 * come, and both must have waited often enough to qualify. */
static bool is_better_at_end(const struct loop_finder *f, const struct finder_candidate *c,
                             const struct finder_candidate *than) {
    const struct finder_candidate *loop = finder_loop(f);
    if (rival_is_weak(c) != rival_is_weak(than)) {
        return rival_is_weak(than);
    }
    /* The doubt about the loop may be due to `than` or c. On a busy machine each wait takes longer
     * than was asked for, which favours the candidate with more waits, so a slightly longer time
     * decides nothing. */
    bool is_clear = c->waited_ns / RIVAL_CLEARLY_MORE > than->waited_ns ||
                    than->waited_ns / RIVAL_CLEARLY_MORE > c->waited_ns;
    if ((c == loop || than == loop) && is_clear) {
        return c->waited_ns > than->waited_ns;
    }
    return c->depth > than->depth;
}

/* Is there another candidate that waits by turns with c, so that it is not known which of both is
 * the loop? */
static bool is_uncertain_at_end(const struct loop_finder *f, const struct finder_candidate *c) {
    for (uint32_t i = 0; i < f->count; i++) {
        const struct finder_candidate *other = &f->candidates[i];
        if (other != c && !other->refused && other->waits >= FINISH_QUALIFIES &&
            ((rivals_are_peers(c, other) && rivals_loop(f, c, other) != c) ||
             rival_is_contested(f, c, other) ||
             (rival_is_contested(f, other, c) && !rival_is_handlers(f, other, c)))) {
            return true;
        }
    }
    return false;
}

/* Returns the best of the candidates that qualify at the end; NULL: no candidate does, or it is
 * uncertain whether the best is the loop. */
static struct finder_candidate *best_at_end(struct loop_finder *f, uint64_t now_ns) {
    struct finder_candidate *best = NULL;
    uint64_t enough = f->allowed != NULL ? 1 : FINISH_QUALIFIES;
    for (uint32_t i = 0; i < f->count; i++) {
        struct finder_candidate *c = &f->candidates[i];
        if (c->refused || c->waits < (rival_is_weak(c) ? FINDER_QUALIFIES : enough) ||
            (rival_is_weak(c) && f->allowed == NULL && !idles_mostly(c, now_ns))) {
            continue;
        }
        if (best == NULL || is_better_at_end(f, c, best)) {
            best = c;
        }
    }
    return best != NULL && !is_uncertain_at_end(f, best) ? best : NULL;
}

/* Returns the candidate that had begun to wait in place of the loop; NULL: there is none. */
static struct finder_candidate *successor_at_end(struct loop_finder *f) {
    const struct finder_candidate *loop = finder_loop(f);
    for (uint32_t i = 0; i < f->count; i++) {
        struct finder_candidate *c = &f->candidates[i];
        uint64_t enough = rivals_are_siblings(c, loop) ? FINDER_QUALIFIES : DEEPER_STREAK;
        if (c != loop && !rival_is_weak(c) && c->epoch == loop->all_waits && c->streak >= enough &&
            c->streak >= loop->waits) {
            return c;
        }
    }
    return NULL;
}

void finder_finish(struct loop_finder *f, uint64_t now_ns) {
    finder_end(f, now_ns);
    bool sure = f->believed != 0 && !f->doubt;
    struct finder_candidate *found = f->doubt && f->narrow_doubt ? &f->candidates[f->believed - 1]
                                     : sure                      ? successor_at_end(f)
                                                                 : best_at_end(f, now_ns);
    if (found != NULL) {
        believe(f, found, now_ns);
    }
}

void finder_miss(struct loop_finder *f, uint64_t now_ns) {
    f->open = 0;
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
    f->news = FINDER_NOTHING_NEW;
    return news;
}
