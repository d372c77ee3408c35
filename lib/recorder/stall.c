/* The run-loop detector: checks, stalls, annealing, and the dumps that share a stall's time.
 *
 *     since      at(1)             at(2)          end
 *       |----------|-----------------|-------------|
 *       |<--------- span(1) -------->|<- span(2) ->|      span(1) + span(2) = duration
 */
#include "core_private.h"

#include <string.h>

#include "rec_text.h"

static uint64_t ms(uint32_t value) {
    return value * REC_NS_PER_MS;
}

static bool blind(const struct rec_core *core) {
    return core->config.backoff == STALLREC_BACKOFF_CHECKS;
}

void rec_stall_schedule(struct rec_core *core, uint64_t t) {
    if (core->config.check == STALLREC_CHECK_PERIODIC) {
        /* The loop was idle at these checks, or this stretch had not begun: they found no stall. */
        if (core->next_check_ns <= t) {
            uint64_t period = ms(core->config.check_ms);
            core->next_check_ns += ((t - core->next_check_ns) / period + 1) * period;
            rec_anneal_reset(&core->anneal);
        }
        return;
    }
    uint64_t due = t + ms(core->config.threshold_ms);
    if (!blind(core) || due > core->next_check_ns) {
        core->next_check_ns = due;
        rec_anneal_reset(&core->anneal);
    }
}

/* --- telling
 * -------------------------------------------------------------------------------------- */

typedef void (*stall_callback)(void *user, const struct stallrec_stall *stall);

static void tell(const struct rec_core *core, stall_callback callback, uint64_t age_ms) {
    if (callback == NULL) {
        return;
    }
    char id[REC_UUID_TEXT];
    struct stallrec_stall stall = {.id = rec_uuid_text(core->stall.id, id),
                                   .at_ms = age_ms,
                                   .gap_ms = core->stretch.gap_ns / REC_NS_PER_MS,
                                   .threshold_ms = core->config.threshold_ms,
                                   .dumps = core->stall.dumps};
    callback(core->config.user_data, &stall);
}

/* 16 random bytes as a version 4 UUID (RFC 9562, section 5.4). */
static void new_id(struct rec_core *core, uint8_t id[REC_UUID_SIZE]) {
    core->capture.random(core->capture.ctx, id, REC_UUID_SIZE);
    id[6] = (uint8_t)((id[6] & 0x0f) | 0x40);
    id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
}

/* --- dumps
 * ---------------------------------------------------------------------------------------- */

static struct rec_record *free_record(struct rec_core *core) {
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        if (core->records[i].state == REC_RECORD_FREE) {
            return &core->records[i];
        }
    }
    return NULL;
}

/* Closes the open dump at t, when the stall is age_ms old: its share goes up to there. */
static void close_dump(struct rec_core *core, uint64_t t, uint64_t age_ms, bool ended) {
    struct rec_record *record = core->stall.record;
    if (record == NULL) {
        return;
    }
    struct rec_stall *stall = &record->dump.stall;
    stall->span_ms = age_ms - core->stall.told_ms;
    stall->duration_ms = age_ms;
    stall->gap_ms = core->stretch.gap_ns / REC_NS_PER_MS;
    stall->ended = ended;
    rec_record_cpu(core, record, t);
    record->state = REC_RECORD_CLOSED;
    record->closed_ns = t;
    record->order = core->close_count++;
    core->stall.told_ms = age_ms;
    core->stall.record = NULL;
}

/* The whole stall's duration is known now: also to its dumps that wait to be written. */
static void tell_waiting_dumps(struct rec_core *core, uint64_t age_ms, bool ended) {
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        struct rec_record *record = &core->records[i];
        if (record->state == REC_RECORD_CLOSED && record->stall == core->stall.number) {
            record->dump.stall.duration_ms = age_ms;
            record->dump.stall.gap_ms = core->stretch.gap_ns / REC_NS_PER_MS;
            record->dump.stall.ended = ended;
        }
    }
}

static void open_dump(struct rec_core *core, struct rec_record *record, uint64_t age_ms,
                      const struct rec_heaviest *heaviest) {
    record->state = REC_RECORD_OPEN;
    record->stall = core->stall.number;
    core->stall.record = record;
    core->stall.dumps++;
    core->totals.dumps++;
    struct rec_dump *dump = &record->dump;
    dump->stall = (struct rec_stall){.since_ns = core->stretch.since_ns,
                                     .seq = core->stall.dumps,
                                     .activity = core->activity,
                                     .threshold_ms = core->config.threshold_ms,
                                     .at_ms = age_ms,
                                     .duration_ms = age_ms,
                                     .gap_ms = core->stretch.gap_ns / REC_NS_PER_MS,
                                     .cpu_permille = -1,
                                     .detector = "runloop",
                                     .kind = "hang"};
    memcpy(dump->stall.id, core->stall.id, sizeof dump->stall.id);
    new_id(core, dump->id);
    dump->wall_ms = core->capture.wall_ms(core->capture.ctx);
    rec_record_fill(core, record, heaviest);
}

/* A stack that the last dump does not have: that dump is closed and a new one opened. */
static void begin_dump(struct rec_core *core, uint64_t now, const struct rec_heaviest *heaviest) {
    uint64_t age_ms = rec_core_age(core, now) / REC_NS_PER_MS;
    struct rec_record *record = free_record(core);
    if (record == NULL) {
        /* The open dump, if there is one, goes on and takes this one's time. */
        core->totals.lost++;
        if (core->config.callbacks.dump_lost != NULL) {
            core->config.callbacks.dump_lost(core->config.user_data, NULL, STALLREC_ERR_MEMORY);
        }
        return;
    }
    close_dump(core, now, age_ms, false);
    rec_anneal_remember(&core->anneal, heaviest->slot != NULL ? &heaviest->slot->stack : NULL);
    open_dump(core, record, age_ms, heaviest);
}

/* --- detection
 * ------------------------------------------------------------------------------------ */

static void begin_stall(struct rec_core *core, uint64_t now) {
    core->stall = (struct rec_open_stall){.active = true, .number = ++core->stall_count};
    new_id(core, core->stall.id);
    core->totals.stalls++;
    tell(core, core->config.callbacks.stall_begin, rec_core_age(core, now) / REC_NS_PER_MS);
}

static void suppress(struct rec_core *core) {
    core->totals.detections++;
    core->totals.suppressed++;
    if (core->stall.record != NULL) {
        core->stall.record->dump.stall.suppressed++;
    }
    rec_anneal_grow(&core->anneal, blind(core) ? 0 : core->config.backoff_cap);
}

/* Busy past the threshold, and not only because of a gap. False: it is no stall after all. */
static bool detect(struct rec_core *core, uint64_t now) {
    if (core->ring.count == 0) {
        rec_ring_sample(&core->ring, &core->capture);
        core->totals.samples++;
        core->totals.unavailable += rec_ring_newest(&core->ring) == NULL;
    }
    const struct rec_capture *capture = &core->capture;
    if (capture->still_busy != NULL && !capture->still_busy(capture->ctx, core->stretch.since_ns)) {
        return false;
    }
    struct rec_heaviest heaviest = rec_heaviest_find(&core->ring);
    if (heaviest.slot != NULL && heaviest.slot->stack.idle) {
        core->totals.vetoed++;
        return false;
    }
    const struct rec_stack *stack = heaviest.slot != NULL ? &heaviest.slot->stack : NULL;
    bool same = rec_anneal_same(&core->anneal, stack);
    if (same && core->stall.active && core->stall.quiet > 0) {
        core->stall.quiet--;
        return true;
    }
    if (!core->stall.active) {
        begin_stall(core, now);
    }
    if (same) {
        suppress(core);
    } else {
        core->totals.detections++;
        begin_dump(core, now, &heaviest);
    }
    core->stall.quiet = blind(core) ? 0 : core->anneal.interval - 1;
    return true;
}

void rec_stall_check(struct rec_core *core, uint64_t now) {
    bool found = rec_core_age(core, now) >= ms(core->config.threshold_ms) && detect(core, now);
    if (!found && !core->stall.active) {
        rec_anneal_reset(&core->anneal);
    }
    uint64_t checks = found && blind(core) ? core->anneal.interval : 1;
    uint64_t period = ms(core->config.check_ms);
    core->next_check_ns += checks * period;
    if (core->next_check_ns <= now) { /* late: the next on the grid */
        core->next_check_ns += ((now - core->next_check_ns) / period + 1) * period;
    }
}

void rec_stall_threads(struct rec_core *core, uint64_t now) {
    struct rec_record *record = core->stall.record;
    if (record != NULL && !record->threads &&
        rec_core_age(core, now) >= ms(core->config.threads_after_ms)) {
        rec_record_threads(core, record);
    }
}

void rec_stall_end(struct rec_core *core, uint64_t t, bool ended) {
    uint64_t age = rec_core_age(core, t);
    if (!core->stall.active) {
        uint64_t threshold = ms(core->config.threshold_ms);
        core->totals.gap_stalls += age < threshold && age + core->stretch.gap_ns >= threshold;
        return;
    }
    /* The loop may have ended it between its last sample and a detection: never before that. */
    uint64_t age_ms = age / REC_NS_PER_MS;
    if (age_ms < core->stall.told_ms) {
        age_ms = core->stall.told_ms;
    }
    if (core->stall.record != NULL && age_ms < core->stall.record->dump.stall.at_ms) {
        age_ms = core->stall.record->dump.stall.at_ms;
    }
    close_dump(core, t, age_ms, ended);
    tell_waiting_dumps(core, age_ms, ended);
    if (ended) {
        core->totals.stalled_ms += age_ms;
    }
    tell(core, core->config.callbacks.stall_end, age_ms);
    core->stall = (struct rec_open_stall){0};
    if (!blind(core)) {
        rec_anneal_reset(&core->anneal);
    }
}
