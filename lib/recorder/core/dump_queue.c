/* The dumps in memory: open ones, and closed ones that wait to be written. */
#include "core/core_private.h"

/* Returns the index of the first free record; REC_RECORDS: none is free. */
static uint32_t queue_find_free(const struct rec_core *core) {
    uint32_t i = 0;
    while (i < REC_RECORDS && core->records[i].state != REC_RECORD_FREE) {
        i++;
    }
    return i;
}

struct rec_record *rec_queue_free(struct rec_core *core) {
    uint32_t i = queue_find_free(core);
    return i < REC_RECORDS ? &core->records[i] : NULL;
}

bool rec_core_full(const struct rec_core *core) {
    return queue_find_free(core) == REC_RECORDS;
}

void rec_queue_close(struct rec_core *core, struct rec_record *record, uint64_t t) {
    record->state = REC_RECORD_CLOSED;
    record->closed_ns = t;
    record->order = core->close_count++;
    rec_observers_grown(core, record);
}

static const struct rec_record *queue_oldest(const struct rec_core *core) {
    const struct rec_record *oldest = NULL;
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        const struct rec_record *r = &core->records[i];
        if (r->state == REC_RECORD_CLOSED && (oldest == NULL || r->order < oldest->order)) {
            oldest = r;
        }
    }
    return oldest;
}

uint64_t rec_core_write_deadline(const struct rec_core *core) {
    const struct rec_record *oldest = queue_oldest(core);
    if (oldest == NULL) {
        return REC_NEVER;
    }
    return rec_max(oldest->closed_ns + core->config.write_deadline_ms * REC_NS_PER_MS,
                   rec_max(core->postponed_ns, core->hold_ns));
}

/* Must the dump wait because its stall may be taken back, as another loop may be found? */
static bool queue_is_held(const struct rec_core *core, const struct rec_record *record,
                          uint64_t now_ns) {
    const struct rec_open_stall *stall = &core->tracks[REC_TRACK_LOOP].stall;
    return core->attributing && (now_ns < core->hold_ns || core->doubt ||
                                 (stall->active && stall->number == record->dump.stall.number));
}

bool rec_core_write_due(const struct rec_core *core, uint64_t now_ns, int32_t cpu_permille) {
    const struct rec_record *oldest = queue_oldest(core);
    if (oldest == NULL) {
        return false;
    }
    if (core->finished || rec_core_full(core)) {
        return true;
    }
    if (queue_is_held(core, oldest, now_ns)) {
        return false;
    }
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    bool quiet = (!loop->running || rec_core_rests(core)) && cpu_permille < 400;
    return (quiet && now_ns >= core->postponed_ns) || now_ns >= rec_core_write_deadline(core);
}

const struct rec_dump *rec_core_closed(struct rec_core *core) {
    const struct rec_record *oldest = queue_oldest(core);
    return oldest != NULL ? &oldest->dump : NULL;
}

static struct rec_record *queue_closed(struct rec_core *core, const struct rec_dump *dump) {
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        if (&core->records[i].dump == dump && core->records[i].state == REC_RECORD_CLOSED) {
            return &core->records[i];
        }
    }
    return NULL;
}

void rec_core_postpone(struct rec_core *core, const struct rec_dump *dump, uint64_t until_ns) {
    struct rec_record *record = queue_closed(core, dump);
    if (record != NULL) {
        record->order = core->close_count++;
        core->postponed_ns = until_ns;
    }
}

void rec_queue_drop(struct rec_core *core, struct rec_record *record) {
    record->state = REC_RECORD_FREE;
    core->totals.dumps--;
    rec_observers_dropped(core, record);
}

void rec_core_release(struct rec_core *core, const struct rec_dump *dump) {
    struct rec_record *record = queue_closed(core, dump);
    core->postponed_ns = 0;
    if (record != NULL) {
        record->state = REC_RECORD_FREE;
        rec_released_keep(core, dump);
        rec_observers_dropped(core, record);
    }
}
