/* Assigns waits to candidates, and keeps what is counted of a candidate's waits. */
#include "loop/finder_candidates.h"

#include "loop/finder_log.h"
#include "loop/finder_rivals.h"

/* Is the wait, a sleep or one for a lock, one of the candidate's? The same call of an interpreter
 * may need more or less stack, as the interpreter adapts its code while it runs. */
static bool is_wait_aside_of(const struct finder_candidate *c, const struct finder_wait *wait) {
    enum { ADAPTED_BYTES = 512 };
    uint64_t apart = c->depth > wait->depth ? c->depth - wait->depth : wait->depth - c->depth;
    bool same = c->place == wait->place || (wait->depth != 0 && apart == 0);
    if (c->object.kind != wait->object.kind || !same) {
        return false;
    }
    if (c->inner == 0 && wait->inner == 0) {
        return apart == 0;
    }
    return (c->inner == wait->inner || wait->inner == 0) && apart <= ADAPTED_BYTES;
}

/* Have both objects one name, a set's descriptors or an instance's number? A loop that makes its
 * epoll instance anew mostly gets the same number again. */
static bool have_one_name(const struct finder_object *a, const struct finder_object *b) {
    bool epoll = a->kind == FINDER_EPOLL && b->kind == FINDER_EPOLL;
    return epoll ? a->id == b->id : finder_same_object(a, b);
}

/* Is the wait one of the candidate's? A function may wait for the same object at several places. */
static bool is_wait_of(const struct loop_finder *f, const struct finder_candidate *c,
                       const struct finder_wait *wait) {
    if (wait->object.kind >= FINDER_LOCK || rival_is_aside(c)) {
        return is_wait_aside_of(c, wait);
    }
    if (c->refused || c->object.unread || wait->object.unread) {
        return c->place == wait->place && (c->refused || wait->depth == c->depth);
    }
    return wait->depth == c->depth && (c->place == wait->place || wait->depth != 0) &&
           have_one_name(&c->object, &wait->object) && !finder_is_narrower(f, c, &wait->object);
}

/* Is the wait one of the believed loop's? A wait at another depth is a modal loop's if it has the
 * loop's place and object. */
static bool is_wait_of_loop(const struct loop_finder *f, const struct finder_candidate *loop,
                            const struct finder_wait *wait) {
    return is_wait_of(f, loop, wait) ||
           (!loop->refused && !rival_is_aside(loop) && loop->place == wait->place &&
            finder_same_object(&loop->object, &wait->object) &&
            !finder_is_narrower(f, loop, &wait->object));
}

struct finder_candidate *finder_match(struct loop_finder *f, const struct finder_wait *wait) {
    const struct finder_candidate *loop = finder_loop(f);
    if (loop != NULL && is_wait_of_loop(f, loop, wait)) {
        return &f->candidates[f->believed - 1];
    }
    for (uint32_t i = 0; i < f->count; i++) {
        if (is_wait_of(f, &f->candidates[i], wait)) {
            return &f->candidates[i];
        }
    }
    return NULL;
}

/* Counts c, a new candidate, in the `depths` of each other candidate with c's place and object but
 * another depth, and these candidates in the `depths` of c. */
static void count_depths(struct loop_finder *f, struct finder_candidate *c) {
    for (uint32_t i = 0; i < f->count; i++) {
        struct finder_candidate *other = &f->candidates[i];
        if (other != c && other->place == c->place && other->depth != c->depth &&
            finder_same_object(&other->object, &c->object)) {
            other->depths++;
            c->depths++;
        }
    }
}

struct finder_candidate *finder_add_candidate(struct loop_finder *f,
                                              const struct finder_wait *wait) {
    uint32_t at = f->count;
    if (f->count < FINDER_CANDIDATES) {
        f->count++;
    } else {
        at = f->believed == 1 ? 1 : 0;
        for (uint32_t i = 0; i < f->count; i++) {
            if (i + 1 != f->believed && f->candidates[i].latest_ns < f->candidates[at].latest_ns) {
                at = i;
            }
        }
        finder_drop_runs(f, at);
    }
    struct finder_candidate *c = &f->candidates[at];
    *c = (struct finder_candidate){
        .place = wait->place, .object = wait->object, .depth = wait->depth, .inner = wait->inner};
    count_depths(f, c);
    c->refused = f->allowed != NULL && !f->allowed(f->allowed_ctx, wait->place);
    return c;
}

void finder_count_wait(struct finder_candidate *c, uint64_t depth) {
    c->depth_changes += c->all_waits > 0 && depth != c->latest_depth;
    c->latest_depth = depth;
    c->all_waits++;
    c->waits += depth == c->depth;
    if (depth <= c->depth) {
        return;
    }
    c->outer_waits = depth == c->outer_depth ? c->outer_waits + 1 : 1;
    c->outer_depth = depth;
    if (c->outer_waits >= FINDER_QUALIFIES) {
        c->depth = depth;
        c->waits = c->outer_waits;
    }
}

void finder_keep_object(struct finder_candidate *c, const struct finder_object *object) {
    uint64_t file = c->object.lowest == object->lowest ? c->object.file : 0;
    if (!object->unread) {
        c->object = *object;
        c->object.file = object->file != 0 ? object->file : file;
    }
}
