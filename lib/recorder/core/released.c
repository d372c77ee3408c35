/* Remembers the latest dumps of hangs that were written, and the time until which each was to wait
 * for the loop to be certain. One that was written before that time, because the memory for dumps
 * was used up, can be withdrawn. */
#include <string.h>

#include "core/core_private.h"

void rec_released_keep(struct rec_core *core, const struct rec_dump *dump) {
    const struct rec_stall *stall = &dump->stall;
    if (!core->attributing || core->finished || strcmp(stall->kind, "hang") != 0) {
        return;
    }
    struct rec_released *one = &core->released[core->released_next];
    *one = (struct rec_released){.number = stall->number,
                                 .since_ns = stall->since_ns,
                                 .at_ms = stall->at_ms,
                                 .duration_ms = stall->duration_ms,
                                 .seq = stall->seq,
                                 .until_ns = core->doubt || core->past ? REC_NEVER : core->hold_ns};
    memcpy(one->id, dump->id, sizeof one->id);
    core->released_next = (core->released_next + 1) % REC_RELEASED;
}

void rec_released_end(struct rec_core *core, uint64_t number, uint64_t duration_ms) {
    for (uint32_t i = 0; i < REC_RELEASED; i++) {
        if (core->released[i].number == number) {
            core->released[i].duration_ms = duration_ms;
        }
    }
}

void rec_released_hold(struct rec_core *core, uint64_t until_ns) {
    for (uint32_t i = 0; i < REC_RELEASED; i++) {
        if (core->released[i].until_ns == REC_NEVER) {
            core->released[i].until_ns = until_ns;
        }
    }
}

void rec_released_withdraw(struct rec_core *core, struct rec_released *one) {
    one->number = 0;
    core->totals.dumps--;
    rec_observers_withdrawn(core, one->id);
}

void rec_released_withdraw_later(struct rec_core *core, uint64_t number, uint64_t age_ms) {
    for (uint32_t i = 0; i < REC_RELEASED; i++) {
        struct rec_released *one = &core->released[i];
        if (number != 0 && one->number == number && one->seq > 1 && one->at_ms > age_ms) {
            rec_released_withdraw(core, one);
        }
    }
}
