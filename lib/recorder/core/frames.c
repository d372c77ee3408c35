/* The frame-rate detector: it computes the number of frames per second for which the busy loop left
 * time. A display without changes draws nothing, so missing frames alone mean nothing; frames that
 * are missing while the loop is busy do. The detector counts and captures nothing: a stack taken
 * afterwards would not show the reason. */
#include "core/core_private.h"

#define SECOND (1000 * REC_NS_PER_MS)

/* Judges the second that began at since_ns and is over, and counts it if its frame rate is too
 * low. */
static void frames_judge(struct rec_core *core) {
    const struct rec_frames *frames = &core->frames;
    uint64_t wanted = frames->busy_ns * core->config.frame_hz / SECOND;
    uint64_t missed = wanted > frames->ticks ? wanted - frames->ticks : 0;
    /* missed <= frame_hz, since busy_ns <= SECOND */
    uint64_t rate = core->config.frame_hz - missed;
    if (rate * 100 < (uint64_t)core->config.frame_hz * core->config.frame_percent) {
        core->totals.low_rates++;
        rec_observers_note(
            core,
            &(struct rec_note){.kind = REC_NOTE_LOW_RATE, .detector = "frame-rate", .value = rate});
    }
}

/* Returns how many ns of upto_ns … end were busy: all of them in a busy stretch, else a share of
 * short_ns, from which the share is subtracted. */
static uint64_t frames_take_busy(struct rec_frames *frames, bool busy, uint64_t end) {
    uint64_t span = end - frames->upto_ns;
    if (busy || frames->short_until_ns <= frames->upto_ns) {
        return busy ? span : 0;
    }
    uint64_t left = frames->short_until_ns - frames->upto_ns, part = frames->short_ns;
    if (span < left) { /* computed in µs, so that the product of two times does not overflow */
        part = rec_min(part, part / 1000 * (span / 1000) / rec_max(left / 1000, 1) * 1000);
    }
    frames->short_ns -= part;
    return rec_min(part, span);
}

static void frames_count(struct rec_frames *frames, bool busy, uint64_t t) {
    frames->busy_ns += frames_take_busy(frames, busy, t);
    frames->upto_ns = t;
}

void rec_frames_advance(struct rec_core *core, uint64_t t) {
    struct rec_frames *frames = &core->frames;
    bool busy = core->tracks[REC_TRACK_LOOP].running;
    if (!frames->known || t <= frames->upto_ns) {
        return;
    }
    while (t - frames->since_ns >= SECOND) {
        uint64_t end = frames->since_ns + SECOND;
        frames_count(frames, busy, end);
        frames_judge(core);
        bool idle = !busy && frames->short_until_ns <= end;
        /* whole seconds in which the loop was idle are skipped */
        end += idle ? (t - end) / SECOND * SECOND : 0;
        *frames = (struct rec_frames){.known = true,
                                      .since_ns = end,
                                      .upto_ns = end,
                                      .short_ns = frames->short_ns,
                                      .short_until_ns = frames->short_until_ns};
    }
    frames_count(frames, busy, t);
}

void rec_frames_tick(struct rec_core *core, uint64_t at_ns) {
    struct rec_frames *frames = &core->frames;
    if (!frames->known) {
        *frames = (struct rec_frames){.known = true, .since_ns = at_ns, .upto_ns = at_ns};
    }
    rec_frames_advance(core, at_ns);
    frames->ticks++;
}
