/* Attribution: the watched thread is sampled while its loop is not known, and stalls are attributed
 * to the loop once it is.
 *
 * While the loop is in doubt, the edges of all waits decide when to sample, and the samples go into
 * the history. A stall of the loop, except a launch, that was open when doubt began stays
 * unchanged. Once the loop is known, the core gets its past idle times: the stretches between them
 * are judged from the history, and the open stall gets its right end, unless it is taken back. */
#include <string.h>

#include "core/core_private.h"

const char *const rec_past_names[REC_PAST_GIVEN_UP + 1] = {
    [REC_PAST_ANEW] = "anew", [REC_PAST_CONTINUES] = "continues", [REC_PAST_GIVEN_UP] = "given-up"};

const char *const rec_rest_names[REC_REST_UNCLEAR + 1] = {
    [REC_REST_NONE] = "stack", [REC_REST_INPUT] = "input", [REC_REST_UNCLEAR] = "unclear"};

/* ---- doubt ---- */

/* Keeps the counts of watched time in core.before, and starts them at zero for a program that
 * replaces another one at begin_ns. The replacement also ends the loop's busy stretch and its
 * stall, but no launch: at begin_ns, or, if the loop is in doubt already, at the start of doubt.
 * The history is emptied. */
static void replace_program(struct rec_core *core, uint64_t begin_ns) {
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    if (loop->running && !core->launch) {
        uint64_t end_ns = core->doubt ? core->doubt_ns : begin_ns;
        rec_core_end_stretch(core, rec_max(loop->since_ns, end_ns), true);
    }
    core->before = rec_core_watched(core, begin_ns);
    memset(core->unwatched_ns, 0, sizeof core->unwatched_ns);
    core->loop_ns = core->input_ns = core->new_input_ns = core->new_unclear_ns = 0;
    core->unclear_at = core->unclear_longest_ns = 0;
    core->begin_ns = core->program_ns = begin_ns;
    rec_history_clear(&core->history);
}

void rec_core_doubt(struct rec_core *core, uint64_t begin_ns, uint64_t at_ns) {
    if (core->finished) {
        return;
    }
    rec_core_observe_time(core, at_ns);
    if (!core->attributing) {
        core->attributing = true;
        core->begin_ns = rec_min(core->begin_ns, begin_ns);
        core->program_ns = begin_ns;
    } else if (begin_ns > core->program_ns) {
        replace_program(core, begin_ns);
    }
    core->doubt = true;
    core->doubt_ns = at_ns;
    rec_sampler_doubt(core, REC_LOOP_SLEEP, at_ns);
}

/* ---- attribution ---- */

/* Returns the ns before from_ns that have counted as watched so far; 0 if no loop was known. */
static uint64_t watched_before(const struct rec_core *core, uint64_t from_ns) {
    uint64_t all = from_ns > core->begin_ns ? from_ns - core->begin_ns : 0;
    for (uint32_t i = 0; i < REC_UNWATCHED_REASONS; i++) {
        all -= rec_min(all, core->unwatched_ns[i]);
    }
    return core->loop_ns != 0 ? all : 0;
}

/* The place of the longest unclear wait stays known, as it may be why no loop is certain. */
static void start_anew(struct rec_core *core, uint64_t from_ns) {
    uint64_t suspended = core->unwatched_ns[REC_UNWATCHED_SUSPENDED];
    memset(core->unwatched_ns, 0, sizeof core->unwatched_ns);
    core->unwatched_ns[REC_UNWATCHED_SUSPENDED] = suspended;
    core->unwatched_ns[REC_UNWATCHED_FORGOTTEN] =
        from_ns > core->begin_ns ? from_ns - core->begin_ns : 0;
    core->loop_ns = 0;
    core->input_ns = 0;
}

/* Counts the time of doubt before from_ns, of which no past idle time is reported, as forgotten,
 * and with it the stretch that doubt interrupted. Returns the time from which on the loop is judged
 * again: from_ns, or the start of that stretch. */
static uint64_t forget_doubt(struct rec_core *core, uint64_t from_ns) {
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    uint64_t since_ns = loop->running ? loop->since_ns : core->doubt ? core->doubt_ns : from_ns;
    if (since_ns >= from_ns) {
        return from_ns;
    }
    core->unwatched_ns[REC_UNWATCHED_FORGOTTEN] += from_ns - since_ns;
    return loop->running ? since_ns : from_ns;
}

void rec_core_attribute(struct rec_core *core, enum rec_past past, uint64_t from_ns,
                        uint64_t at_ns) {
    struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    if (core->finished) {
        return;
    }
    rec_core_observe_time(core, at_ns);
    uint64_t begin_ns = from_ns;
    if (past != REC_PAST_ANEW && !core->launch) {
        begin_ns = forget_doubt(core, from_ns);
    }
    /* The loop was certain, or not, as it was before doubt began. */
    uint64_t judged_ns = core->doubt ? core->doubt_ns : at_ns;
    core->attributing = true;
    core->doubt = false;
    core->past = true;
    core->past_ns = at_ns;
    /* The rests counted in new_input_ns and new_unclear_ns are in the history, and are counted
     * again from there. */
    core->input_ns -= core->new_input_ns;
    core->unwatched_ns[REC_UNWATCHED_UNCLEAR] -= core->new_unclear_ns;
    core->new_input_ns = core->new_unclear_ns = 0;
    if (past == REC_PAST_GIVEN_UP) {
        core->unwatched_ns[REC_UNWATCHED_GIVEN_UP] += watched_before(core, from_ns);
    } else if (past == REC_PAST_ANEW) {
        start_anew(core, from_ns);
    }
    if (core->launch || (past != REC_PAST_ANEW && loop->running && loop->since_ns == from_ns)) {
        return; /* the first past wait ends the current stretch */
    }
    rec_stall_forget(core, past == REC_PAST_ANEW ? core->program_ns : begin_ns, judged_ns);
    loop->running = false;
    rec_sampler_stop(core);
    if (past != REC_PAST_ANEW) {
        rec_core_begin_stretch(core, begin_ns);
    }
}

/* Ends the current stretch at t, a past time. An open stall gets that end; without one the stretch
 * is judged by the samples of the history, and counts as forgotten if it is longer than
 * threshold_ms and the history has none. */
static void end_past_stretch(struct rec_core *core, uint64_t t) {
    struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    rec_stall_shorten(core, loop, t);
    if (!loop->stall.active) {
        rec_sampler_recall(core, loop->since_ns, t);
        uint64_t age = rec_track_age(loop, t);
        if (core->ring.count == 0 && age > rec_ms(core->config.threshold_ms)) {
            core->unwatched_ns[REC_UNWATCHED_FORGOTTEN] += age;
        }
    }
    rec_core_end_stretch(core, t, true);
}

/* Removes rests (enum rec_rest) before until_ns, as samples of the history show them, from the
 * loop's current stretch, and counts their time. A launch ends at its first rest. */
static void take_out_rests(struct rec_core *core, uint64_t until_ns) {
    struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    const struct rec_stack *stack;
    uint64_t begin, end;
    while (loop->running &&
           (stack = rec_history_rest(&core->history, rec_core_last_rest(core), loop->since_ns,
                                     until_ns, &begin, &end)) != NULL) {
        loop->sampled_edge = true;
        if (core->launch) {
            rec_core_end_launch(core, begin);
        } else {
            end_past_stretch(core, begin);
        }
        rec_core_count_rest(core, stack, begin, end);
        rec_core_begin_stretch(core, end);
        loop->sampled_edge = true;
    }
}

void rec_core_past_idle(struct rec_core *core, uint64_t begin_ns, uint64_t end_ns) {
    if (core->finished || !core->past) {
        return;
    }
    take_out_rests(core, begin_ns);
    if (core->launch) {
        rec_core_end_launch(core, begin_ns);
    } else if (core->tracks[REC_TRACK_LOOP].running) {
        end_past_stretch(core, begin_ns);
    }
    if (core->loop_ns == 0) {
        core->loop_ns = begin_ns;
        uint64_t before = begin_ns > core->begin_ns ? begin_ns - core->begin_ns : 0;
        core->unwatched_ns[REC_UNWATCHED_LAUNCH] =
            before - rec_min(before, core->unwatched_ns[REC_UNWATCHED_FORGOTTEN]);
    }
    core->edge_ns = end_ns;
    rec_core_begin_stretch(core, end_ns);
}

void rec_core_past_unknown(struct rec_core *core, uint64_t begin_ns, uint64_t end_ns) {
    if (core->finished || !core->past || core->launch) {
        return;
    }
    rec_core_past_idle(core, begin_ns, end_ns);
    core->unwatched_ns[REC_UNWATCHED_NO_LOOP] += end_ns - begin_ns;
}

void rec_core_attributed(struct rec_core *core, uint64_t hold_until_ns, uint64_t at_ns) {
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    if (core->finished) {
        return;
    }
    take_out_rests(core, at_ns);
    if (loop->running && !core->launch && !loop->stall.active) {
        rec_sampler_recall(core, loop->since_ns, at_ns);
    }
    if (loop->running && !core->launch) {
        rec_core_unpark(core, at_ns);
    }
    core->past = false;
    core->hold_ns = hold_until_ns;
    rec_released_hold(core, hold_until_ns);
    core->asked_ns = REC_NEVER;
}

void rec_core_other_edge(struct rec_core *core, uint64_t edge_ns) {
    core->edge_ns = edge_ns;
    core->asked_ns = REC_NEVER;
}

/* ---- what was watched ---- */

/* Returns the times of the present program alone. */
static struct rec_watched program_watched(const struct rec_core *core, uint64_t now_ns) {
    struct rec_watched w = {0};
    uint64_t wall = now_ns > core->begin_ns ? now_ns - core->begin_ns : 0;
    uint64_t unwatched[REC_UNWATCHED_REASONS];
    memcpy(unwatched, core->unwatched_ns, sizeof unwatched);
    if (core->loop_ns == 0) {
        memset(unwatched, 0, sizeof unwatched);
        unwatched[REC_UNWATCHED_NO_LOOP] = wall;
    } else if (core->doubt) {
        unwatched[REC_UNWATCHED_NO_LOOP] += now_ns - core->doubt_ns;
    }
    w.wall_ms = wall / REC_NS_PER_MS;
    w.watched_ms = w.wall_ms;
    for (uint32_t i = 0; i < REC_UNWATCHED_REASONS; i++) {
        w.unwatched_ms[i] = rec_min(unwatched[i] / REC_NS_PER_MS, w.watched_ms);
        w.watched_ms -= w.unwatched_ms[i];
    }
    if (core->loop_ns == 0) {
        w.unwatched_ms[REC_UNWATCHED_NO_LOOP] += w.watched_ms;
        w.watched_ms = 0;
    }
    w.unclear_at = core->unclear_at;
    w.input_ms = rec_min(core->input_ns / REC_NS_PER_MS, w.watched_ms);
    return w;
}

struct rec_watched rec_core_watched(const struct rec_core *core, uint64_t now_ns) {
    struct rec_watched w = program_watched(core, now_ns);
    const struct rec_watched *before = &core->before;
    w.wall_ms += before->wall_ms;
    w.watched_ms += before->watched_ms;
    w.input_ms += before->input_ms;
    w.unclear_at = w.unclear_at != 0 ? w.unclear_at : before->unclear_at;
    for (uint32_t i = 0; i < REC_UNWATCHED_REASONS; i++) {
        w.unwatched_ms[i] += before->unwatched_ms[i];
    }
    return w;
}
