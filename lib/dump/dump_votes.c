/* Chooses and weighs the stacks that are evidence of the cause of a stall. */
#include <string.h>

#include "dump/dump.h"

/* Shares of a processor in permille: ONE_PROCESSOR is assumed for a top thread whose share is not
 * given, SHARE_MAX is the largest that a dump may claim, and a thread below ACTION_WAITED was
 * waiting during a slow action. */
enum { ONE_PROCESSOR = 1000, SHARE_MAX = 65536 * ONE_PROCESSOR, ACTION_WAITED = 100 };

/* ---- the threads that worked ---- */

static bool kind_is(const struct dump *d, const char *kind) {
    return d->stall.kind && strcmp(d->stall.kind, kind) == 0;
}

static bool has_stack(const struct dump *d, const struct dump_thread *t) {
    return t->stack.frame_count > 0 || (t->main && d->sample_count > 0);
}

/* Returns the thread that used the processor most in a stall of kind cpu; NULL: the stall is of
 * another kind, or that thread is not known, or has no stack. */
static const struct dump_thread *top_thread(const struct dump *d) {
    for (size_t i = 0; kind_is(d, "cpu") && i < d->thread_count; i++) {
        const struct dump_thread *t = &d->threads[i];
        if (d->stall.top_thread >= 0 && t->id == d->stall.top_thread && has_stack(d, t)) {
            return t;
        }
    }
    return NULL;
}

/* Is it known which thread used the processor most, but its stack is missing? The other threads
 * used less, so the stall is not blamed on them. */
static bool top_thread_is_absent(const struct dump *d) {
    return kind_is(d, "cpu") && d->stall.top_thread >= 0 && !top_thread(d);
}

/* Are the threads' shares of the processor known? Some thread must have a share above 0, and the
 * thread that top_thread returns, if there is one, must have a share, which may be 0. */
static bool shares_are_known(const struct dump *d) {
    const struct dump_thread *top = top_thread(d);
    if (top && top->cpu_permille < 0) {
        return false;
    }
    for (size_t i = 0; i < d->thread_count; i++) {
        if (d->threads[i].cpu_permille > 0) {
            return true;
        }
    }
    return false;
}

/* Returns the thread's share of a processor in permille, at most SHARE_MAX; 0: it has no stack, or
 * no share (in a slow action: less than ACTION_WAITED). If the shares are not known, the thread
 * that used the processor most has ONE_PROCESSOR, and any other 0. known: shares_are_known(d). */
static uint64_t vote_share(const struct dump *d, const struct dump_thread *t, bool known) {
    bool stack = has_stack(d, t);
    if (!known) {
        return stack && d->stall.top_thread >= 0 && t->id == d->stall.top_thread ? ONE_PROCESSOR
                                                                                 : 0;
    }
    int64_t least = kind_is(d, "slow-action") ? ACTION_WAITED : 1;
    int64_t share = stack && t->cpu_permille >= least ? t->cpu_permille : 0;
    return share < SHARE_MAX ? (uint64_t)share : SHARE_MAX;
}

bool dump_is_about_threads(const struct dump *d) {
    if ((!kind_is(d, "cpu") && !kind_is(d, "slow-action")) || top_thread_is_absent(d)) {
        return false;
    }
    bool known = shares_are_known(d);
    for (size_t i = 0; i < d->thread_count; i++) {
        if (vote_share(d, &d->threads[i], known) > 0) {
            return true;
        }
    }
    return false;
}

const char *dump_slow_action(const struct dump *d) {
    const char *name = d->stall.action;
    return kind_is(d, "slow-action") && name && *name ? name : NULL;
}

bool dump_nothing_worked(const struct dump *d) {
    const struct dump_thread *main = dump_main_thread(d);
    int64_t span = dump_span_ms(d);
    if (!kind_is(d, "slow-action") || dump_is_about_threads(d) || !main) {
        return false;
    }
    if (main->cpu_permille >= 0) {
        return main->cpu_permille < ACTION_WAITED;
    }
    return main->cpu_ms >= 0 && d->stall.seq <= 1 && main->cpu_ms < span / (1000 / ACTION_WAITED);
}

const char *dump_absent_worker(const struct dump *d) {
    const char *name = d->stall.top_thread_name;
    return kind_is(d, "cpu") && name && *name && !dump_is_about_threads(d) ? name : NULL;
}

/* ---- votes ---- */

size_t dump_vote_count(const struct dump *d) {
    return d->sample_count + (dump_is_about_threads(d) ? d->thread_count : 0);
}

/* Splits a share of the processor among the samples by their counts; the parts add up to the share,
 * unless all counts are 0. */
static void split_share(const struct dump *d, uint64_t share, struct dump_vote *out) {
    uint64_t total = 0, seen = 0, given = 0;
    for (size_t i = 0; i < d->sample_count; i++) {
        total += d->samples[i].count;
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        seen += d->samples[i].count;
        uint64_t upto = total ? (uint64_t)((unsigned __int128)share * seen / total) : 0;
        out[i] = (struct dump_vote){.stack = &d->samples[i], .weight = upto - given};
        given = upto;
    }
}

void dump_votes(const struct dump *d, struct dump_vote *out) {
    bool known = shares_are_known(d);
    uint64_t sampled = 0; /* the main thread's share, in permille */
    if (!dump_is_about_threads(d)) {
        for (size_t i = 0; i < d->sample_count; i++) {
            out[i] = (struct dump_vote){.stack = &d->samples[i], .weight = d->samples[i].count};
        }
        return;
    }
    for (size_t i = 0; i < d->thread_count; i++) {
        const struct dump_thread *t = &d->threads[i];
        uint64_t share = vote_share(d, t, known);
        bool by_samples = t->main && d->sample_count > 0;
        sampled = by_samples ? share : sampled;
        out[d->sample_count + i] =
            (struct dump_vote){.stack = &t->stack, .thread = t, .weight = by_samples ? 0 : share};
    }
    split_share(d, sampled, out);
}
