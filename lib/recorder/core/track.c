/* The clocks of the tracks: the time at which a track began, its age without gaps, and the CPU
 * times at its begin. */
#include "core/core_private.h"

uint64_t rec_track_age(const struct rec_track *track, uint64_t t) {
    uint64_t away = track->since_ns + track->gap_ns;
    return t > away ? t - away : 0;
}

uint64_t rec_track_known_ms(const struct rec_track *track) {
    const struct rec_record *record = track->stall.record;
    return rec_max(track->stall.told_ms, record != NULL ? record->dump.stall.at_ms : 0);
}

void rec_track_begin(struct rec_track *track, uint64_t t) {
    track->running = true;
    track->since_ns = t;
    track->gap_ns = 0;
    track->cpu_known = false;
    track->sampled_edge = false;
}

void rec_track_cpu(struct rec_core *core, struct rec_track *track, uint64_t now) {
    if (!track->cpu_known && core->capture.cpu != NULL) {
        core->capture.cpu(core->capture.ctx, &track->cpu);
        track->cpu_ns = now;
        track->cpu_known = true;
    }
}
