/* The queue between the app's threads and the monitor. */
#include "loop/inbox.h"

enum { CELL_MASK = REC_INBOX_CELLS - 1, TICK_MASK = REC_INBOX_TICKS - 1 };

void rec_inbox_init(struct rec_inbox *inbox) {
    for (uint32_t i = 0; i < REC_INBOX_CELLS; i++) {
        atomic_init(&inbox->cells[i].sequence, i);
    }
    for (uint32_t i = 0; i < REC_INBOX_TICKS; i++) {
        atomic_init(&inbox->ticks[i].sequence, 0);
        atomic_init(&inbox->ticks[i].at_ns, 0);
    }
    atomic_init(&inbox->tail, 0);
    atomic_init(&inbox->head, 0);
    atomic_init(&inbox->tick_tail, 0);
    inbox->tick_head = 0;
    atomic_init(&inbox->dropped, 0);
    atomic_init(&inbox->asleep_ns, 0);
}

/* ---- writers ---- */

/* Is half of the queue before `place` unread? The reader may have advanced meanwhile, even past
 * `place`. */
static bool half_full(const struct rec_inbox *inbox, uint64_t place) {
    uint64_t head = atomic_load_explicit(&inbox->head, memory_order_relaxed);
    return place >= head && place - head >= REC_INBOX_CELLS / 2;
}

/* Must the reader be woken for an event that is due at due_ns, and is it this writer that has to
 * wake the reader? */
static bool claim_wake(struct rec_inbox *inbox, uint64_t place, uint64_t due_ns) {
    uint64_t asleep = atomic_load(&inbox->asleep_ns);
    return asleep != 0 && (due_ns < asleep || half_full(inbox, place)) &&
           atomic_compare_exchange_strong(&inbox->asleep_ns, &asleep, 0);
}

bool rec_inbox_put(struct rec_inbox *inbox, const struct rec_event *event, uint64_t due_ns,
                   bool *wake) {
    uint64_t place = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
    struct rec_inbox_cell *cell;
    *wake = false;
    for (;;) {
        cell = &inbox->cells[place & CELL_MASK];
        uint64_t sequence = atomic_load_explicit(&cell->sequence, memory_order_acquire);
        /* sequence < place: the reader has not read this cell since the last round */
        if ((event->kind == REC_EVENT_SPAN_BEGIN && half_full(inbox, place)) || sequence < place) {
            atomic_fetch_add_explicit(&inbox->dropped, 1, memory_order_relaxed);
            return false;
        }
        if (sequence > place) { /* another writer has taken the place */
            place = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(&inbox->tail, &place, place + 1,
                                                         memory_order_relaxed,
                                                         memory_order_relaxed)) {
            break;
        }
    }
    cell->event = *event;
    /* The store is sequentially consistent, as is the load of asleep_ns: the reader sets asleep_ns
     * and then looks at this sequence, so at least one of the two sees the other's store. */
    atomic_store(&cell->sequence, place + 1);
    *wake = claim_wake(inbox, place, due_ns);
    return true;
}

bool rec_inbox_has_room(struct rec_inbox *inbox, uint32_t count) {
    uint64_t used = atomic_load(&inbox->tail) - atomic_load(&inbox->head);
    return count <= REC_INBOX_CELLS - used;
}

void rec_inbox_tick(struct rec_inbox *inbox, uint64_t at_ns) {
    uint64_t place = atomic_fetch_add_explicit(&inbox->tick_tail, 1, memory_order_relaxed);
    struct rec_inbox_tick *tick = &inbox->ticks[place & TICK_MASK];
    atomic_store(&tick->sequence, 0);
    atomic_store(&tick->at_ns, at_ns);
    atomic_store(&tick->sequence, place + 1);
}

/* ---- the reader ---- */

static struct rec_inbox_cell *next_cell(struct rec_inbox *inbox) {
    uint64_t head = atomic_load_explicit(&inbox->head, memory_order_relaxed);
    struct rec_inbox_cell *cell = &inbox->cells[head & CELL_MASK];
    return atomic_load(&cell->sequence) == head + 1 ? cell : NULL;
}

static void pass_cell(struct rec_inbox *inbox, struct rec_inbox_cell *cell) {
    uint64_t head = atomic_load_explicit(&inbox->head, memory_order_relaxed);
    atomic_store_explicit(&cell->sequence, head + REC_INBOX_CELLS, memory_order_release);
    atomic_store_explicit(&inbox->head, head + 1, memory_order_relaxed);
}

/* Returns the time of the next tick, 0 if there is none or it is being written, and skips ticks
 * that were overwritten. */
static uint64_t next_tick(struct rec_inbox *inbox) {
    uint64_t tail = atomic_load_explicit(&inbox->tick_tail, memory_order_relaxed);
    if (tail - inbox->tick_head > REC_INBOX_TICKS) {
        inbox->tick_head = tail - REC_INBOX_TICKS;
    }
    while (inbox->tick_head < tail) {
        const struct rec_inbox_tick *tick = &inbox->ticks[inbox->tick_head & TICK_MASK];
        uint64_t before = atomic_load(&tick->sequence);
        uint64_t at = atomic_load(&tick->at_ns);
        uint64_t after = atomic_load(&tick->sequence);
        if (before == after && before == inbox->tick_head + 1) {
            return at;
        }
        if (before <= inbox->tick_head) { /* the tick is being written */
            return 0;
        }
        inbox->tick_head++;
    }
    return 0;
}

bool rec_inbox_take(struct rec_inbox *inbox, uint64_t until_ns, struct rec_event *out) {
    struct rec_inbox_cell *cell = next_cell(inbox);
    uint64_t tick = next_tick(inbox);
    if (tick != 0 && tick <= until_ns && (cell == NULL || tick <= cell->event.at_ns)) {
        *out = (struct rec_event){.kind = REC_EVENT_TICK, .at_ns = tick};
        inbox->tick_head++;
        return true;
    }
    if (cell == NULL || cell->event.at_ns > until_ns) {
        return false;
    }
    *out = cell->event;
    pass_cell(inbox, cell);
    return true;
}

void rec_inbox_clear(struct rec_inbox *inbox) {
    for (struct rec_inbox_cell *cell; (cell = next_cell(inbox)) != NULL;) {
        pass_cell(inbox, cell);
    }
    inbox->tick_head = atomic_load_explicit(&inbox->tick_tail, memory_order_relaxed);
}

bool rec_inbox_sleep(struct rec_inbox *inbox, uint64_t until_ns) {
    atomic_store(&inbox->asleep_ns, until_ns);
    if (next_cell(inbox) == NULL) {
        return true;
    }
    atomic_store(&inbox->asleep_ns, 0);
    return false;
}

void rec_inbox_wake(struct rec_inbox *inbox) {
    atomic_store(&inbox->asleep_ns, 0);
}

uint64_t rec_inbox_dropped(const struct rec_inbox *inbox) {
    return atomic_load_explicit(&inbox->dropped, memory_order_relaxed);
}
