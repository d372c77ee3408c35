/* Finds the frames that the samples of a busy thread share. A function that computes for long is
 * seen in its helpers, in each sample in another one; the innermost function in which nearly all
 * samples are names the stall, whichever helper was sampled most. Nearly all, because a sample in a
 * caller's own code, before or after the work, would else name the caller. */
#include "classify/keys/keyer_private.h"

/* Share of the votes, in percent, that have to be in a function. Stalls that were drawn from public
 * profiles, 10 to 40 samples each, kept their key as often as with 100 (0.85 to 0.92 of the stalls
 * of one cause), and with 75 less often (0.79 to 0.89). */
enum { SHARED_PERCENT = 85 };

/* Does the stack take part in the choice? Stacks without a ballot, and those that show only the
 * loop, do not. */
static bool takes_part(const struct judged_stack *s) {
    return s->ballot != SIZE_MAX && !s->idle;
}

static bool counts_in_key(const struct frame_info *info) {
    return frame_is_app(info) && (info->place == PLACE_KEEP || info->place == PLACE_PREFIX);
}

/* Returns the stack's outermost frame of the app that counts; NULL = there is none. */
static struct frame_info *outermost_app(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = s->cut; i-- > 0;) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (counts_in_key(info)) {
            return info->canonical;
        }
    }
    return NULL;
}

/* Does a frame of the sample show a wait? */
static bool shows_wait(const struct judged_stack *s) {
    const struct frame_info *told = s->told;
    return told && (told->waits || told->cause == CAUSE_DISK || scan_claims_wait(told));
}

/* By the innermost frames of its samples, did the thread run for most of the stall? Only where
 * neither its processor time nor its state is known. */
static bool samples_are_busy(const struct keyer *k, const struct dump_thread *main) {
    uint64_t samples;
    unsigned share = samples_that_run(k, &samples);
    return k->cpu_permille < 0 && !(main && main->state && main->state[0]) &&
           samples >= SAMPLES_TELL && share >= CPU_COMPUTES;
}

/* Did the thread run while it stalled, or was it ready to run? If it had a processor for CPU_WAITS
 * to CPU_COMPUTES of the time, or its processor time is unknown, the answer is yes if no sample
 * shows a wait, and it was running when it was captured or its samples show that it ran; if the
 * time is unknown, only functions that do nothing but wait (told->waits) show a wait. */
static bool stall_is_busy(const struct keyer *k, const struct dump *d) {
    const struct dump_thread *main = dump_main_thread(d);
    if (k->cpu_permille >= CPU_COMPUTES) {
        return true;
    }
    if (k->cpu_permille >= 0 && k->cpu_permille < CPU_WAITS) {
        return false;
    }
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        bool waits = k->cpu_permille < 0 ? s->told && s->told->waits : shows_wait(s);
        if (s->votes && waits) {
            return false;
        }
    }
    return (main && judged_is(main->state, "running")) || samples_are_busy(k, main);
}

/* Returns the function that is the outermost of the app in most samples, of equals the one seen
 * last; NULL: there is none, or it is that of less than half of the samples that take part. */
static const struct frame_info *common_action(struct keyer *k) {
    struct frame_info *best = NULL;
    uint64_t total = 0;
    k->epoch++;
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        struct frame_info *action = takes_part(s) ? outermost_app(k, s) : NULL;
        total += takes_part(s) ? s->votes : 0;
        if (action && action->vote_epoch != k->epoch) {
            action->vote_epoch = k->epoch;
            action->votes = action->newest = 0;
        }
        if (action) {
            action->votes += s->votes;
            action->newest = s->newest > action->newest ? s->newest : action->newest;
        }
    }
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        struct frame_info *action = takes_part(s) ? outermost_app(k, s) : NULL;
        if (action && (!best || action->votes > best->votes ||
                       (action->votes == best->votes && action->newest > best->newest))) {
            best = action;
        }
    }
    return best && best->votes >= total - best->votes ? best : NULL;
}

/* Lists the stack's functions in k->outer, where they stay until it is cut. False: out of memory.
 */
static bool list_outer(struct keyer *k, struct judged_stack *s) {
    s->outer_first = k->outer.len;
    for (size_t i = s->count; i-- > 0;) {
        struct outer_function f = {judged_at(k, s, i)->info->canonical, i};
        size_t last = k->outer.len - 1;
        if (k->outer.len > s->outer_first && k->outer.data[last].function == f.function) {
            k->outer.data[last].inner = i;
        } else if (!VEC_PUSH(&k->outer, f)) {
            return false;
        }
    }
    s->outer_count = k->outer.len - s->outer_first;
    return true;
}

/* Lists the functions of all samples that take part. False: out of memory. */
static bool list_samples(struct keyer *k) {
    k->outer.len = 0;
    for (size_t i = 0; i < k->samples.len; i++) {
        struct judged_stack *s = &k->samples.data[i];
        if (takes_part(s) && !list_outer(k, s)) {
            return false;
        }
    }
    return true;
}

/* Returns the function at this depth, 0 being the outermost one; NULL: the stack ends before it. */
static struct frame_info *function_at(const struct keyer *k, const struct judged_stack *s,
                                      size_t depth) {
    return depth < s->outer_count ? k->outer.data[s->outer_first + depth].function : NULL;
}

/* Returns the number of frames that the stack's n outermost functions have. */
static size_t frames_of(const struct keyer *k, const struct judged_stack *s, size_t n) {
    return n > 0 ? s->count - k->outer.data[s->outer_first + n - 1].inner : 0;
}

/* Returns the number of outer functions that are the same in both stacks. */
static size_t same_outer(const struct keyer *k, const struct judged_stack *a,
                         const struct judged_stack *b) {
    size_t n = 0;
    const struct frame_info *function;
    while ((function = function_at(k, a, n)) != NULL && function == function_at(k, b, n)) {
        n++;
    }
    return n;
}

/* Makes the outer n functions of a stack the only ones that its key is made of. False: nothing was
 * changed, because none of them is one of the app that counts, or because the next frame
 * further in is a nameless one of the app, which may be of one function in all samples. */
static bool key_outer(const struct keyer *k, struct judged_stack *s, size_t n) {
    size_t inner = s->count - frames_of(k, s, n);
    const struct frame_info *next = inner > 0 ? judged_at(k, s, inner - 1)->info : NULL;
    if (next && next->in_app && !next->resolved) {
        return false;
    }
    for (size_t i = inner; i < s->cut; i++) {
        if (counts_in_key(judged_at(k, s, i)->info)) {
            s->inner = inner;
            return true;
        }
    }
    return false;
}

/* Does the sample vote for another key than the chosen one? A sample of 0 votes, as exemplar_join
 * writes, counts as one that does, because only such samples are kept. */
static bool votes_otherwise(const struct judged_stack *s, const struct judged_stack *chosen) {
    return takes_part(s) && s->stack != chosen->stack &&
           (s->ballot != chosen->ballot || s->votes == 0);
}

/* Does a kept stack have the same n + 1 outermost functions as this stack? */
static bool other_is_kept(const struct keyer *k, const struct judged_stack *s,
                          const struct judged_stack *const *kept, size_t count, size_t n) {
    for (size_t i = 0; i < count; i++) {
        if (same_outer(k, s, kept[i]) > n) {
            return true;
        }
    }
    return false;
}

/* Sets *same to whether the sample, cut to its `own` outermost frames and the next one further in,
 * still has the outer n functions in common with the chosen stack, and the same outermost function
 * of the app. Whose code the functions are may depend on frames that are cut off, as on one of the
 * app's Java package. ST_ERR: out of memory. */
static enum st stays_same(struct keyer *k, const struct dump *d, const struct judged_stack *chosen,
                          const struct dump_stack *sample, size_t own, size_t n, bool *same,
                          struct err *e) {
    uint32_t exact[DUMP_FRAMES_MAX];
    size_t from = own < sample->frame_count ? sample->frame_count - own - 1 : 0;
    struct dump_stack outer = *sample;
    struct judged_stack judged;
    outer.frames += from;
    outer.frame_count -= from;
    outer.locations += outer.locations ? from : 0;
    outer.exact = exact;
    outer.exact_count = 0;
    for (size_t i = 0; i < outer.frame_count; i++) {
        if (dump_frame_exact(sample, from + i)) {
            exact[outer.exact_count++] = (uint32_t)i;
        }
    }
    if (judge_stack(k, d, &outer, &judged, e) != ST_OK) {
        return ST_ERR;
    }
    if (!list_outer(k, &judged)) {
        return err_nomem(e);
    }
    *same = !judged.idle && same_outer(k, &judged, chosen) == n &&
            outermost_app(k, &judged) == outermost_app(k, chosen);
    k->outer.len = judged.outer_first;
    return ST_OK;
}

/* Sets out->others to up to KEY_OTHERS_MAX samples of other keys that have exactly the outer n
 * functions in common with the chosen stack, also if the frames further in than the next one are
 * unknown, each with another next function. ST_ERR: out of memory. */
static enum st note_others(struct keyer *k, const struct dump *d, const struct judged_stack *chosen,
                           size_t n, struct stall_key *out, struct err *e) {
    const struct judged_stack *kept[KEY_OTHERS_MAX];
    for (size_t i = 0; i < k->samples.len && out->other_count < KEY_OTHERS_MAX; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        if (!votes_otherwise(s, chosen) || same_outer(k, s, chosen) != n ||
            other_is_kept(k, s, kept, out->other_count, n)) {
            continue;
        }
        struct key_other *other = &out->others[out->other_count];
        other->stack = s->stack;
        bool same = false;
        if (!whole_frames(k, d, chosen->stack, frames_of(k, chosen, n), &other->shared) ||
            !whole_frames(k, d, s->stack, frames_of(k, s, n), &other->own)) {
            return err_nomem(e);
        }
        if (stays_same(k, d, chosen, s->stack, other->own, n, &same, e) != ST_OK) {
            return ST_ERR;
        }
        if (same) {
            kept[out->other_count++] = s;
        }
    }
    return ST_OK;
}

/* Returns the function at this depth with most votes of the samples that take part, *votes of them;
 * NULL: all stacks end before it. */
static const struct frame_info *commonest_at(struct keyer *k, size_t depth, uint64_t *votes) {
    const struct frame_info *best = NULL;
    k->epoch++;
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        struct frame_info *f = takes_part(s) ? function_at(k, s, depth) : NULL;
        if (f) {
            f->votes = s->votes + (f->vote_epoch == k->epoch ? f->votes : 0);
            f->vote_epoch = k->epoch;
            best = !best || f->votes > best->votes ? f : best;
        }
    }
    *votes = best ? best->votes : 0;
    return best;
}

/* Leaves those samples out of the choice that have votes and are outside of the innermost function
 * in which SHARED_PERCENT of all votes are. Samples of 0 votes stay: exemplar_join keeps them
 * because they show where a stall's samples part. */
static void leave_strays_out(struct keyer *k) {
    uint64_t total = 0, votes;
    const struct frame_info *function;
    for (size_t i = 0; i < k->samples.len; i++) {
        total += takes_part(&k->samples.data[i]) ? k->samples.data[i].votes : 0;
    }
    for (size_t depth = 0; (function = commonest_at(k, depth, &votes)) != NULL; depth++) {
        if ((unsigned __int128)votes * 100 < (unsigned __int128)total * SHARED_PERCENT) {
            return;
        }
        for (size_t i = 0; i < k->samples.len; i++) {
            struct judged_stack *s = &k->samples.data[i];
            if (s->votes > 0 && function_at(k, s, depth) != function) {
                s->ballot = SIZE_MAX;
            }
        }
    }
}

enum st share_frames(struct keyer *k, const struct dump *d, struct judged_stack *chosen,
                     struct stall_key *out, struct err *e) {
    bool asked = k->options.rules && k->options.kind == KEY_OF_APP && !k->action;
    if (!asked || k->about_threads || !takes_part(chosen) || k->samples.len < 2 ||
        !stall_is_busy(k, d)) {
        return ST_OK;
    }
    const struct frame_info *action = common_action(k);
    size_t n = SIZE_MAX;
    if (!action) {
        return ST_OK;
    }
    if (!list_samples(k)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < k->samples.len; i++) {
        struct judged_stack *s = &k->samples.data[i];
        s->ballot = takes_part(s) && outermost_app(k, s) == action ? s->ballot : SIZE_MAX;
    }
    if (!near_collect(k)) {
        return err_nomem(e);
    }
    leave_strays_out(k);
    choose_again(k, chosen);
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        size_t same = votes_otherwise(s, chosen) ? same_outer(k, s, chosen) : SIZE_MAX;
        n = same < n ? same : n;
    }
    if (n == SIZE_MAX || !key_outer(k, chosen, n)) {
        return ST_OK;
    }
    if (note_others(k, d, chosen, n, out, e) != ST_OK) {
        return ST_ERR;
    }
    if (!out->other_count) {
        chosen->inner = 0; /* no sample can be kept that shows what is shared */
        return ST_OK;
    }
    for (size_t i = 0; i < k->samples.len; i++) {
        struct judged_stack *s = &k->samples.data[i];
        s->ballot = takes_part(s) ? chosen->ballot : s->ballot;
    }
    return ST_OK;
}

enum st share_former(struct keyer *k, const struct dump *d, const struct stall_key *now, bool named,
                     struct judged_stack *s, struct err *e) {
    size_t n = SIZE_MAX;
    k->outer.len = 0;
    if (now->other_count && !list_outer(k, s)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < now->other_count; i++) {
        struct dump_stack stack = *now->others[i].stack;
        struct judged_stack other;
        stack.locations = named ? stack.locations : NULL;
        if (judge_stack(k, d, &stack, &other, e) != ST_OK) {
            return ST_ERR;
        }
        if (!list_outer(k, &other)) {
            return err_nomem(e);
        }
        size_t same = same_outer(k, s, &other);
        n = same < n ? same : n;
    }
    if (now->other_count) {
        (void)key_outer(k, s, n);
    }
    return ST_OK;
}
