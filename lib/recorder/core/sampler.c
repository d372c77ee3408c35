/* Decides when the watched thread is sampled, and whether a sample still belongs to its stretch. */
#include "core/core_private.h"

bool rec_sampler_runs(const struct rec_core *core) {
    return core->next_sample_ns != REC_NEVER;
}

void rec_sampler_start(struct rec_core *core, uint64_t t) {
    rec_ring_clear(&core->ring);
    core->next_sample_ns = t + rec_ms(core->config.first_sample_ms);
}

void rec_sampler_stop(struct rec_core *core) {
    core->next_sample_ns = REC_NEVER;
}

void rec_sampler_gap(struct rec_core *core, uint64_t gap_ns) {
    if (rec_sampler_runs(core)) {
        rec_ring_clear(&core->ring);
        core->next_sample_ns += gap_ns;
    }
}

bool rec_stretch_over_now(const struct rec_core *core) {
    const struct rec_capture *capture = &core->capture;
    return core->tracks[REC_TRACK_LOOP].running && !core->launch && capture->still_busy != NULL &&
           !capture->still_busy(capture->ctx, core->edge_ns);
}

bool rec_stretch_over(struct rec_core *core, uint64_t now) {
    if (core->asked_ns != now) {
        core->asked_ns = now;
        core->gone = rec_stretch_over_now(core);
    }
    return core->gone;
}

/* Takes a sample into the ring and, if the loop is found while it runs, adds its stack to the
 * history. Removes the sample from the ring if the stretch had ended before, unless the loop is in
 * doubt. */
static void sampler_take(struct rec_core *core, uint64_t now) {
    const struct rec_slot *slot = rec_ring_sample(&core->ring, &core->capture);
    core->totals.samples++;
    core->totals.unavailable += !slot->available;
    core->sampled_ns = now;
    core->asked_ns = REC_NEVER;
    if (core->attributing && slot->available) {
        rec_history_add(&core->history, &slot->stack, now);
    }
    if (core->doubt) {
        return; /* the stretch to which the sample belongs is not known yet */
    }
    if (rec_stretch_over(core, now)) {
        rec_ring_drop(&core->ring);
    }
}

void rec_sampler_step(struct rec_core *core, uint64_t now) {
    if (!rec_sampler_runs(core) || now < core->next_sample_ns) {
        return;
    }
    sampler_take(core, now);
    if (core->doubt && core->waits_busy_ns == 0 && !core->launch) {
        core->next_sample_ns = REC_NEVER; /* no further sample, as one sample of a wait is enough */
        return;
    }
    /* The next sample is on the time grid of the stretch; missed samples are skipped. */
    uint64_t interval = rec_ms(core->config.sample_ms);
    uint64_t missed = (now - core->next_sample_ns) / interval;
    core->next_sample_ns += (missed + 1) * interval;
}

const struct rec_stack *rec_sampler_taken(const struct rec_core *core, uint64_t now) {
    if (core->sampled_ns != now || core->doubt || core->gone || core->ring.count == 0) {
        return NULL;
    }
    const struct rec_slot *slot = rec_ring_at(&core->ring, core->ring.count - 1);
    return slot->available ? &slot->stack : NULL;
}

void rec_sampler_recall(struct rec_core *core, uint64_t from_ns, uint64_t to_ns) {
    rec_ring_clear(&core->ring);
    rec_history_recall(&core->history, from_ns, to_ns, &core->ring);
}

void rec_sampler_doubt(struct rec_core *core, enum rec_loop_event event, uint64_t at_ns) {
    if (core->launch) { /* a launch is sampled throughout */
        core->waits_busy_ns = event == REC_LOOP_SLEEP ? 0 : at_ns;
        return;
    }
    if (event == REC_LOOP_SLEEP) {
        core->waits_busy_ns = 0;
        core->next_sample_ns = at_ns + rec_ms(core->config.first_sample_ms);
        return;
    }
    if (core->waits_busy_ns == 0 && core->next_sample_ns == REC_NEVER) {
        rec_history_extend(&core->history, at_ns, rec_ms(core->config.sample_ms));
    }
    core->waits_busy_ns = at_ns;
    rec_sampler_start(core, at_ns);
}

void rec_sampler_refresh(struct rec_core *core, uint64_t now) {
    if (!rec_sampler_runs(core)) {
        rec_ring_clear(&core->ring);
    }
    if (core->asked_ns == now && core->gone) {
        /* This step's sample was taken after the stretch, and a further sample would be after
         * it, too. */
        return;
    }
    if (core->ring.count == 0 || now - core->sampled_ns >= rec_ms(core->config.sample_ms)) {
        sampler_take(core, now);
    }
}
