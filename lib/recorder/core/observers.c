/* Notifies the observers of the core: a replay, and the keeper of the dumps in memory. */
#include "core/core_private.h"

void rec_core_watch(struct rec_core *core, rec_watch watch, void *ctx) {
    core->watch = watch;
    core->watch_ctx = ctx;
}

void rec_observers_note(const struct rec_core *core, const struct rec_note *note) {
    if (core->watch != NULL) {
        core->watch(core->watch_ctx, note);
    }
}

void rec_core_keep(struct rec_core *core, const struct rec_keeper *keeper) {
    core->keeper = *keeper;
}

static uint32_t observers_slot(const struct rec_core *core, const struct rec_record *record) {
    return (uint32_t)(record - core->records);
}

void rec_observers_kept(const struct rec_core *core, const struct rec_record *record) {
    if (core->keeper.keep != NULL) {
        core->keeper.keep(core->keeper.ctx, observers_slot(core, record), &record->dump);
    }
}

void rec_observers_grown(const struct rec_core *core, const struct rec_record *record) {
    if (core->keeper.grow != NULL) {
        core->keeper.grow(core->keeper.ctx, observers_slot(core, record), &record->dump,
                          record->state == REC_RECORD_CLOSED);
    }
}

void rec_observers_revised(const struct rec_core *core, bool ended, uint64_t was_ms) {
    if (core->keeper.take_back != NULL) {
        core->keeper.take_back(core->keeper.ctx, ended, was_ms);
    }
}

void rec_observers_dropped(const struct rec_core *core, const struct rec_record *record) {
    if (core->keeper.drop != NULL) {
        core->keeper.drop(core->keeper.ctx, observers_slot(core, record));
    }
}

void rec_observers_withdrawn(const struct rec_core *core, const uint8_t id[REC_UUID_SIZE]) {
    if (core->keeper.withdraw != NULL) {
        core->keeper.withdraw(core->keeper.ctx, id);
    }
}
