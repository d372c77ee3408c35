/* The recorder's core: events enter here, but for those about the past (attribution.c), and update
 * the state of time and of the loop. */
#include <string.h>

#include "core/core_private.h"

struct rec_core *rec_core_init(void *memory, const struct stallrec_config *config,
                               const struct rec_capture *capture, uint64_t now_ns) {
    struct rec_core *core = memory;
    size_t cleared;
    rec_core_lay_out(NULL, config, &cleared);
    memset(memory, 0, cleared);
    rec_core_lay_out(memory, config, &cleared);
    core->config = *config;
    core->capture = *capture;
    core->told_ns = REC_NEVER;
    core->stepped_ns = now_ns;
    core->next_sample_ns = REC_NEVER;
    core->asked_ns = REC_NEVER;
    core->begin_ns = core->program_ns = now_ns;
    rec_detect_init(core, now_ns);
    return core;
}

/* ---- time ---- */

/* Notes a gap if the monitor returns much later than rec_core_step asked for, by more than 1 s and
 * more than 4 times the wait: the process did not run meanwhile (SIGSTOP, a debugger, a suspended
 * app). The lateness is counted from the start of the busy stretch if that is later. The gap counts
 * for no stall, and samples from before it are no evidence about later stalls. */
void rec_core_observe_time(struct rec_core *core, uint64_t t) {
    if (core->told_ns == REC_NEVER || t <= core->told_ns) {
        return;
    }
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    uint64_t wait = core->told_ns > core->stepped_ns ? core->told_ns - core->stepped_ns : 0;
    uint64_t limit = rec_max(1000 * REC_NS_PER_MS, 4 * wait);
    uint64_t from = core->told_ns;
    if (loop->running) {
        from = rec_max(from, loop->since_ns);
    }
    if (t <= from || t - from <= limit) {
        return;
    }
    uint64_t gap_ms = (t - from) / REC_NS_PER_MS;
    core->totals.gaps++;
    core->totals.gap_ms += gap_ms;
    core->unwatched_ns[REC_UNWATCHED_SUSPENDED] += t - from;
    core->told_ns = t;
    core->stepped_ns = t;
    rec_sampler_gap(core, t - from);
    rec_detect_gap(core, from, t);
    rec_observers_note(core, &(struct rec_note){.kind = REC_NOTE_GAP, .value = gap_ms});
}

void rec_core_wait_begin(struct rec_core *core, uint64_t now_ns) {
    core->stepped_ns = now_ns;
    if (core->told_ns != REC_NEVER) {
        core->told_ns = rec_max(core->told_ns, now_ns);
    }
}

void rec_core_unpark(struct rec_core *core, uint64_t t) {
    if (core->told_ns == REC_NEVER) {
        core->told_ns = t;
        core->stepped_ns = t;
    }
}

/* ---- the loop ---- */

void rec_core_begin_stretch(struct rec_core *core, uint64_t t) {
    rec_track_begin(&core->tracks[REC_TRACK_LOOP], t);
    rec_sampler_start(core, t);
    rec_detect_stretch(core, t);
    if (!core->launch && !core->past) { /* a time t in the past, as in a launch, is no gap */
        rec_core_unpark(core, t);
    }
}

void rec_core_end_stretch(struct rec_core *core, uint64_t t, bool ended) {
    struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    rec_detect_late(core, t);
    rec_detect_end(core, loop, t, ended);
    loop->running = false;
    rec_sampler_stop(core);
    if (core->tracks[REC_TRACK_PING].running) {
        rec_sampler_start(core, t);
    }
}

/* Ends the launch at t, where the loop first waits, a sample first shows a rest, or the app marks
 * the launch as done, and counts it. */
void rec_core_end_launch(struct rec_core *core, uint64_t t) {
    uint64_t age_ms = rec_track_age(&core->tracks[REC_TRACK_LOOP], t) / REC_NS_PER_MS;
    rec_core_end_stretch(core, t, true);
    core->launch = false;
    core->tracks[REC_TRACK_LOOP].next_check_ns = t;
    if (core->prewarmed) {
        core->totals.prewarmed++;
        core->totals.prewarmed_ms += age_ms;
    } else {
        core->totals.launches++;
        core->totals.launches_ms += age_ms;
    }
    rec_observers_note(
        core,
        &(struct rec_note){.kind = REC_NOTE_LAUNCH, .value = age_ms, .prewarmed = core->prewarmed});
}

void rec_core_loop_event(struct rec_core *core, enum rec_loop_event event, uint64_t at_ns) {
    if (core->finished) {
        return;
    }
    rec_core_observe_time(core, at_ns);
    rec_frames_advance(core, at_ns);
    bool was_busy = core->tracks[REC_TRACK_LOOP].running;
    core->edge_ns = at_ns;
    core->asked_ns = REC_NEVER;
    if (core->doubt) {
        rec_sampler_doubt(core, event, at_ns);
        rec_core_unpark(core, at_ns);
        return;
    }
    core->new_input_ns = core->new_unclear_ns = 0;
    if (core->loop_ns == 0) {
        core->loop_ns = at_ns;
    }
    if (core->launch) {
        if (event == REC_LOOP_SLEEP) {
            rec_core_end_launch(core, at_ns);
        }
        return;
    }
    if (was_busy && event != REC_LOOP_WAKE) {
        rec_core_end_stretch(core, at_ns, true);
    }
    if (event == REC_LOOP_TURN || (event == REC_LOOP_WAKE && !was_busy)) {
        if (core->activity == STALLREC_ACTIVITY_BEFORE_WAITING ||
            core->activity == STALLREC_ACTIVITY_EXIT) {
            /* the wait, or the loop's exit, is over */
            core->activity = STALLREC_ACTIVITY_AFTER_WAITING;
        }
        if (core->attributing && at_ns >= core->hold_ns) {
            /* from hold_ns on the stretches before at_ns are final, so that their samples are no
             * longer needed */
            rec_history_clear(&core->history);
        }
        rec_core_begin_stretch(core, at_ns);
        rec_detect_signal(core, at_ns);
    }
}

static bool activity_begins_stretch(uint32_t activity) {
    return activity == STALLREC_ACTIVITY_BEFORE_TIMERS ||
           activity == STALLREC_ACTIVITY_BEFORE_SOURCES ||
           activity == STALLREC_ACTIVITY_AFTER_WAITING;
}

void rec_core_activity(struct rec_core *core, uint32_t activity, uint64_t at_ns) {
    bool told = activity == core->activity && at_ns == core->activity_ns;
    if (core->finished || told || at_ns < core->activity_ns) {
        return;
    }
    core->activity = activity;
    core->activity_ns = at_ns;
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    if (!loop->running || core->launch || at_ns < loop->since_ns) {
        return;
    }
    rec_core_observe_time(core, at_ns);
    rec_frames_advance(core, at_ns);
    rec_detect_signal(core, at_ns);
    if (core->config.restart == STALLREC_RESTART_ACTIVITY && activity_begins_stretch(activity) &&
        at_ns > loop->since_ns) {
        rec_core_end_stretch(core, at_ns, true);
        rec_core_begin_stretch(core, at_ns);
    }
}

void rec_core_launch(struct rec_core *core, enum rec_launch_mark mark, uint64_t at_ns) {
    if (core->finished || !rec_detects(core, STALLREC_DETECT_LAUNCH)) {
        return;
    }
    rec_core_observe_time(core, at_ns);
    if (mark == REC_LAUNCH_IDLE) {
        if (core->launch && !core->doubt) {
            rec_core_end_launch(core, at_ns);
        }
        return;
    }
    if (mark == REC_LAUNCH_DONE) {
        core->prewarm_waits = false;
        if (core->launch) {
            rec_core_end_launch(core, at_ns);
        }
        return;
    }
    if (mark == REC_LAUNCH_ACTIVE && !core->prewarm_waits) {
        return;
    }
    if (core->launch && core->presumed && mark != REC_LAUNCH_START) {
        rec_core_end_stretch(core, core->tracks[REC_TRACK_LOOP].since_ns, true);
        core->launch = false;
    }
    if (core->launch) {
        return;
    }
    core->prewarm_waits = mark == REC_LAUNCH_PREWARMED;
    if (core->prewarm_waits) {
        return;
    }
    if (core->tracks[REC_TRACK_LOOP].running) {
        rec_core_end_stretch(core, at_ns, true);
    }
    core->launch = true;
    core->presumed = mark == REC_LAUNCH_START;
    core->prewarmed = mark == REC_LAUNCH_ACTIVE;
    rec_core_begin_stretch(core, at_ns);
}

/* Gives up a launch that was only presumed (REC_LAUNCH_START) and lasts for LAUNCH_MAX_MS, or twice
 * config.launch_ms if that is longer, since a program that calls no hook would be sampled for ever.
 * Dumps of the launch are closed as not ended. */
static void give_up_launch(struct rec_core *core, uint64_t now) {
    enum { LAUNCH_MAX_MS = 60000 };
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    uint64_t most = rec_max(rec_ms(LAUNCH_MAX_MS), 2 * rec_ms(core->config.launch_ms));
    if (core->launch && core->presumed && now >= loop->next_check_ns &&
        rec_track_age(loop, now) >= most) {
        rec_core_end_stretch(core, now, false);
        core->launch = false;
    }
}

void rec_core_ping_done(struct rec_core *core, uint64_t number, uint64_t at_ns) {
    if (!core->finished && rec_detect_ping_waits(core, number)) {
        rec_core_observe_time(core, at_ns);
        rec_detect_ping_done(core, at_ns);
    }
}

bool rec_core_span_begin(struct rec_core *core, uint64_t id, const char *name, uint32_t limit_ms,
                         uint64_t at_ns) {
    if (core->finished || !rec_detects(core, STALLREC_DETECT_SPAN)) {
        return false;
    }
    rec_core_observe_time(core, at_ns);
    return rec_detect_span_begin(core, id, name, limit_ms, at_ns);
}

void rec_core_span_end(struct rec_core *core, uint64_t id, uint64_t at_ns) {
    if (!core->finished) {
        rec_core_observe_time(core, at_ns);
        rec_detect_span_end(core, id, at_ns);
    }
}

void rec_core_busy(struct rec_core *core, uint64_t busy_ns, uint64_t until_ns) {
    core->frames.short_ns = busy_ns;
    core->frames.short_until_ns = until_ns;
}

void rec_core_tick(struct rec_core *core, uint64_t at_ns) {
    if (!core->finished && rec_detects(core, STALLREC_DETECT_FRAME_RATE)) {
        rec_core_observe_time(core, at_ns);
        rec_frames_tick(core, at_ns);
    }
}

/* Returns the address in the function whose call is the thread's wait: that of the innermost frame
 * that is not in the image of frame 0, the library that makes the system call. If there is no such
 * frame, or no image holds frame 0, returns the address of frame 1; 0 if the stack has only one
 * frame. */
static uint64_t waiting_function(const struct rec_core *core, const struct rec_stack *stack) {
    const struct rec_capture *capture = &core->capture;
    struct rec_image inner, image;
    bool known = stack->count > 0 && capture->image_at(capture->ctx, stack->frames[0], &inner);
    uint64_t load = known ? inner.load : 0;
    for (uint32_t i = 1; known && i < stack->count; i++) {
        if (!capture->image_at(capture->ctx, stack->frames[i], &image) || image.load != load) {
            return stack->frames[i];
        }
    }
    return stack->count > 1 ? stack->frames[1] : 0;
}

void rec_core_count_rest(struct rec_core *core, const struct rec_stack *stack, uint64_t begin,
                         uint64_t end) {
    if (stack->rest == REC_REST_INPUT) {
        core->input_ns += end - begin;
        core->new_input_ns += end - begin;
        return;
    }
    core->unwatched_ns[REC_UNWATCHED_UNCLEAR] += end - begin;
    core->new_unclear_ns += end - begin;
    core->unclear_ns = end - begin + (core->unclear_end_ns == begin ? core->unclear_ns : 0);
    core->unclear_end_ns = end;
    if (core->unclear_ns >= core->unclear_longest_ns) {
        core->unclear_longest_ns = core->unclear_ns;
        core->unclear_at = waiting_function(core, stack);
    }
}

/* If the sample that was just taken shows that the thread rests (enum rec_rest), ends the busy
 * stretch, or the launch, and begins another stretch, which the next such sample ends again. A rest
 * is not an edge of the loop: it begins and ends between two samples, and half of the time between
 * these counts as busy. */
static void rest_for_input(struct rec_core *core, uint64_t now) {
    struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    const struct rec_stack *stack = rec_sampler_taken(core, now);
    if (stack == NULL || !loop->running) {
        return;
    }
    bool rests = rec_core_rests(core);
    uint64_t apart = now - loop->since_ns, half = rec_ms(core->config.sample_ms) / 2;
    if (stack->rest == REC_REST_NONE || stack->rest > rec_core_last_rest(core)) {
        if (rests && !loop->stall.active) {
            loop->since_ns += rec_min(apart, 2 * half) / 2;
            rec_detect_stretch(core, loop->since_ns);
            rec_detect_signal(core, loop->since_ns);
        }
        core->rest_ns = 0;
        return;
    }
    uint64_t begin = rests ? loop->since_ns : now - rec_min(apart, half);
    if (loop->stall.active) { /* the stall lasted at least until its last dump */
        uint64_t known_ns = rec_track_known_ms(loop) * REC_NS_PER_MS;
        begin = rec_min(now, rec_max(begin, loop->since_ns + loop->gap_ns + known_ns));
    }
    rec_core_count_rest(core, stack, begin, now);
    rec_ring_drop(&core->ring);
    loop->sampled_edge = true;
    if (core->launch) {
        rec_core_end_launch(core, begin);
    } else {
        rec_core_end_stretch(core, begin, true);
    }
    rec_core_begin_stretch(core, now);
    rec_detect_signal(core, now);
    loop->sampled_edge = true;
    core->next_sample_ns = now + rec_ms(core->config.sample_ms);
    core->rest_ns = now;
}

uint64_t rec_core_step(struct rec_core *core, uint64_t now_ns) {
    if (core->finished) {
        return REC_NEVER;
    }
    rec_core_observe_time(core, now_ns);
    rec_frames_advance(core, now_ns);
    core->stepped_ns = now_ns;
    for (int i = REC_TRACK_LOOP; i <= REC_TRACK_PING; i++) {
        if (core->tracks[i].running) {
            rec_track_cpu(core, &core->tracks[i], now_ns);
        }
    }
    rec_sampler_step(core, now_ns);
    rest_for_input(core, now_ns);
    give_up_launch(core, now_ns);
    rec_detect_due(core, now_ns);
    rec_stall_threads(core, now_ns);
    rec_stall_grow(core, now_ns);
    uint64_t next = rec_min(core->next_sample_ns, rec_detect_next(core));
    core->told_ns = next == REC_NEVER ? REC_NEVER : rec_max(now_ns, next);
    return core->told_ns;
}

bool rec_core_stalled(const struct rec_core *core) {
    return core->tracks[REC_TRACK_LOOP].stall.active && !core->doubt;
}

const struct rec_dump *rec_core_open(const struct rec_core *core) {
    for (int i = 0; i < REC_TRACKS; i++) {
        if (core->tracks[i].stall.record != NULL) {
            return &core->tracks[i].stall.record->dump;
        }
    }
    return NULL;
}

uint64_t rec_core_busy_since(const struct rec_core *core) {
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    if (core->doubt) {
        return core->waits_busy_ns;
    }
    return loop->running ? loop->since_ns : 0;
}

uint64_t rec_core_grace_ns(const struct rec_core *core) {
    const struct stallrec_config *config = &core->config;
    uint64_t grace = rec_min(rec_ms(config->first_sample_ms), rec_ms(config->threshold_ms));
    if (rec_detects(core, STALLREC_DETECT_SEMAPHORE)) {
        grace = rec_min(grace, rec_ms(config->sem_ms));
    }
    return grace;
}

void rec_core_finish(struct rec_core *core, uint64_t now_ns) {
    if (core->finished) {
        return;
    }
    rec_core_observe_time(core, now_ns);
    rec_frames_advance(core, now_ns);
    if (core->tracks[REC_TRACK_LOOP].running && !core->doubt) {
        rec_detect_late(core, now_ns); /* the loop may have become known just now */
    }
    for (int i = 0; i < REC_TRACKS; i++) {
        if (core->tracks[i].running) {
            rec_detect_end(core, &core->tracks[i], now_ns, false);
            core->tracks[i].running = false;
        }
    }
    core->finished = true;
    core->told_ns = REC_NEVER;
}

struct rec_totals rec_core_totals(const struct rec_core *core) {
    return core->totals;
}
