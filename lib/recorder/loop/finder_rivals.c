/* Compares candidates by depth, order and length of their waits. */
#include "loop/finder_rivals.h"

enum {
    /* bytes of stack by which the depths of siblings, which are functions with one caller, may
     * differ */
    SIBLING_BYTES = 512,
    DEPTHS_VARY = 4, /* depths vary from this number of other depths on, or from this number of
                        waits at another depth than the wait before, if these are also at least one
                        in DEPTHS_VARY of all waits */
    NO_TIME = 64     /* a candidate hardly waits if its time in waits is at most the loop's divided
                        by this */
};

/* Minimum time in ns that the waits of a loop that is not one on descriptors take in all. */
#define IDLE_WAITS_NS UINT64_C(40000000)

/* Does the candidate wait at depths that vary, as recursive functions and coroutines do, so that
 * the depth of a wait tells nothing? A modal loop stays at its depth. */
static bool depths_vary(const struct finder_candidate *c) {
    return c->depths >= DEPTHS_VARY ||
           (c->depth_changes >= DEPTHS_VARY && c->depth_changes >= c->all_waits / DEPTHS_VARY);
}

bool rivals_are_siblings(const struct finder_candidate *a, const struct finder_candidate *b) {
    uint64_t apart = a->depth > b->depth ? a->depth - b->depth : b->depth - a->depth;
    return apart <= SIBLING_BYTES && a->depth != 0 && !finder_same_object(&a->object, &b->object);
}

bool rivals_are_peers(const struct finder_candidate *a, const struct finder_candidate *b) {
    return a->place == b->place &&
           (a->latest_depth == b->latest_depth || depths_vary(a) || depths_vary(b)) &&
           a->object.kind == FINDER_SET && b->object.kind == FINDER_SET &&
           !finder_same_object(&a->object, &b->object);
}

/* Does a's set lack a descriptor of b's core? */
static bool lacks_core(const struct finder_candidate *a, const struct finder_candidate *b) {
    for (uint32_t i = 0; i < FINDER_SET_WORDS; i++) {
        if ((b->core[i] & ~a->object.set[i]) != 0) {
            return true;
        }
    }
    return false;
}

bool rivals_overlap(const struct finder_candidate *c, const struct finder_candidate *loop) {
    return c != loop && c->place == loop->place && !c->refused && c->object.kind == FINDER_SET &&
           loop->object.kind == FINDER_SET && !c->object.unread && !loop->object.unread &&
           finder_same_object(&c->object, &loop->object) &&
           (lacks_core(c, loop) || lacks_core(loop, c));
}

bool rival_is_subset(const struct finder_candidate *c, const struct finder_candidate *loop) {
    return !lacks_core(loop, c);
}

const struct finder_candidate *rivals_loop(const struct loop_finder *f,
                                           const struct finder_candidate *a,
                                           const struct finder_candidate *b) {
    const struct finder_candidate *first = a->first_ns <= b->first_ns ? a : b;
    const struct finder_candidate *second = first == a ? b : a;
    if (depths_vary(a) || depths_vary(b)) {
        return NULL; /* the waits of each are spread over several candidates */
    }
    /* If `second` waits in a handler of the loop `first`, it waits for replies: its average wait is
     * seldom longer than the loop's. */
    bool shorter_each =
        second->waited_ns / (second->all_waits + 1) <= first->waited_ns / (first->all_waits + 1);
    if (first->waited_ns / RIVAL_CLEARLY_MORE >= second->waited_ns && shorter_each) {
        return first;
    }
    bool longer = second->waited_ns / RIVAL_LONGER_EACH >= first->waited_ns &&
                  second->waited_ns / (second->all_waits + 1) >= f->quiet_ns / 2;
    return longer ? second : NULL;
}

/* Returns the ns that `loop` and the candidates other than c whose sets overlap that of `loop`
 * waited in all. The waits of these candidates may be the loop's, too. */
static uint64_t waited_with_overlapping(const struct loop_finder *f,
                                        const struct finder_candidate *c,
                                        const struct finder_candidate *loop) {
    uint64_t waited_ns = loop->waited_ns;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct finder_candidate *other = &f->candidates[i];
        waited_ns += other != c && rivals_overlap(other, loop) ? other->waited_ns : 0;
    }
    return waited_ns;
}

bool rival_is_contested(const struct loop_finder *f, const struct finder_candidate *c,
                        const struct finder_candidate *loop) {
    if (rival_is_weak(c) != rival_is_weak(loop) || c->depth <= loop->depth) {
        return false;
    }
    uint64_t waited_ns = waited_with_overlapping(f, c, loop);
    return (c->first_ns > loop->first_ns || c->waited_ns <= waited_ns / NO_TIME) &&
           loop->latest_ns > c->first_ns && waited_ns / RIVAL_CLEARLY_MORE >= c->waited_ns;
}

bool rival_is_handlers(const struct loop_finder *f, const struct finder_candidate *c,
                       const struct finder_candidate *loop) {
    return rival_is_contested(f, c, loop) && c->returns >= RIVAL_RETURNS &&
           (c->handlers || loop->waited_ns / RIVAL_LONGER_EACH >= c->waited_ns);
}

bool rival_is_pools(const struct loop_finder *f, const struct finder_candidate *c,
                    const struct finder_candidate *loop) {
    return f->pooled && c->endless && !c->refused && rival_is_weak(c) && !rival_is_weak(loop) &&
           (c->first_ns < f->strong_ns || (f->late && c->waits >= FINDER_QUALIFIES));
}

bool rivals_wait_for_replies(const struct finder_candidate *loop,
                             const struct finder_candidate *c) {
    uint64_t each_ns = loop->waited_ns / (loop->all_waits + 1);
    return c->streak_ns / (c->streak + 1) >= RIVAL_LONGER_EACH * each_ns;
}

bool rival_polls(const struct finder_candidate *c, const struct finder_candidate *loop) {
    uint64_t each_ns = loop->waited_ns / (loop->all_waits + 1);
    return c->streak_ns / (c->streak + 1) < each_ns / RIVAL_LONGER_EACH;
}

bool rival_idles_mostly(const struct finder_candidate *c, uint64_t now_ns) {
    return c->calm || (c->waited_ns >= IDLE_WAITS_NS && c->waited_ns >= (now_ns - c->first_ns) / 2);
}
