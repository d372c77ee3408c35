/* Takes back stalls that turned out to be no stalls, and the later dumps of stalls that turned out
 * to be shorter. */
#include <string.h>

#include "core/core_private.h"

static bool is_dump_of(const struct rec_record *record, uint64_t number) {
    return record->state != REC_RECORD_FREE && record->dump.stall.number == number;
}

/* Subtracts a stall that is taken back from the totals, and calls the observers. ended: the stall's
 * end was reported, too, with the length was_ms; else was_ms is the age that it was known to have.
 */
static void take_back(struct rec_core *core, bool ended, uint64_t was_ms) {
    core->totals.stalls--;
    if (ended) {
        core->totals.stalled_ms -= rec_min(core->totals.stalled_ms, was_ms);
        core->totals.severe -= core->config.severe_ms > 0 && was_ms >= core->config.severe_ms;
    }
    rec_observers_revised(core, ended, was_ms);
}

/* Takes back the track's open stall, which turned out to be no stall, and drops or withdraws its
 * dumps. */
static void take_back_open(struct rec_core *core, struct rec_track *track) {
    const uint64_t known_ms = rec_max(rec_track_known_ms(track), track->stall.threshold_ms);
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        if (is_dump_of(&core->records[i], track->stall.number)) {
            rec_queue_drop(core, &core->records[i]);
        }
    }
    for (uint32_t i = 0; i < REC_RELEASED; i++) {
        if (core->released[i].number == track->stall.number) {
            rec_released_withdraw(core, &core->released[i]);
        }
    }
    track->stall = (struct rec_open_stall){0};
    rec_anneal_reset(&track->anneal);
    take_back(core, false, known_ms);
}

/* Drops the stall's dumps that were captured after the age age_ms, except the first dump. Returns
 * the newest dump of the stall that is left in memory, NULL if none is. */
static struct rec_record *drop_later_dumps(struct rec_core *core, uint64_t number,
                                           uint64_t age_ms) {
    struct rec_record *newest = NULL;
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        struct rec_record *record = &core->records[i];
        if (!is_dump_of(record, number)) {
            continue;
        }
        const struct rec_stall *stall = &record->dump.stall;
        if (stall->seq > 1 && stall->at_ms > age_ms) {
            rec_queue_drop(core, record);
        } else if (newest == NULL || stall->seq > newest->dump.stall.seq) {
            newest = record;
        }
    }
    return newest;
}

void rec_stall_shorten(struct rec_core *core, struct rec_track *track, uint64_t t) {
    struct rec_open_stall *stall = &track->stall;
    uint64_t age_ms = rec_track_age(track, t) / REC_NS_PER_MS;
    if (!stall->active) {
        return;
    }
    if (age_ms < stall->threshold_ms) {
        take_back_open(core, track);
        return;
    }
    struct rec_record *newest = drop_later_dumps(core, stall->number, age_ms);
    rec_released_withdraw_later(core, stall->number, age_ms);
    if (newest != NULL &&
        newest != stall->record) { /* the newest dump's span now lasts until the stall's end */
        newest->state = REC_RECORD_OPEN;
        stall->told_ms = newest->dump.stall.duration_ms - newest->dump.stall.span_ms;
    }
    stall->record = newest;
    stall->dumps = newest != NULL ? newest->dump.stall.seq : stall->dumps;
    stall->told_ms = rec_min(stall->told_ms, age_ms);
    if (newest != NULL) {
        newest->dump.stall.at_ms = rec_min(newest->dump.stall.at_ms, age_ms);
    }
}

void rec_stall_forget(struct rec_core *core, uint64_t from_ns, uint64_t judged_ns) {
    struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    if (loop->stall.active && loop->since_ns >= from_ns && !core->launch) {
        take_back_open(core, loop);
    }
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        struct rec_record *record = &core->records[i];
        const struct rec_stall *stall = &record->dump.stall;
        if (record->state == REC_RECORD_CLOSED && stall->since_ns >= from_ns &&
            strcmp(stall->kind, "hang") == 0) {
            if (stall->seq == 1) {
                take_back(core, true, stall->duration_ms);
            }
            rec_queue_drop(core, record);
        }
    }
    for (uint32_t i = 0; i < REC_RELEASED; i++) {
        struct rec_released *one = &core->released[i];
        if (one->number != 0 && one->since_ns >= from_ns && one->until_ns > judged_ns) {
            if (one->seq == 1) {
                take_back(core, true, one->duration_ms);
            }
            rec_released_withdraw(core, one);
        }
    }
}
