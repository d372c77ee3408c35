/* The monitor's side of the loop hooks, and the hooks' slow path. */
#include "loop.h"

enum { EDGES = STALLREC_NOTIFY_BUSY_ | STALLREC_NOTIFY_END_ };

void stallrec_loop_notify_(struct stallrec_loop *loop, uint64_t now) {
    uint32_t notify = __atomic_load_n(&loop->notify_, __ATOMIC_SEQ_CST);
    if ((notify & STALLREC_NOTIFY_END_) != 0) {
        /* The first edge is the end, also if the monitor asks again before it looks. */
        uint64_t none = 0, edge = now & ~(uint64_t)1;
        __atomic_compare_exchange_n(&loop->end_, &none, edge, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    }
    /* The next edges are cheap again. STOP is the monitor's own to clear. */
    notify = __atomic_fetch_and(&loop->notify_, ~(uint32_t)EDGES, __ATOMIC_SEQ_CST);
    if ((notify & EDGES) != 0) {
        rec_word_wake(&loop->notify_);
    }
}

static bool is_busy(uint64_t state) {
    return (state & 1) != 0;
}

static void poll_edges(struct rec_loop_poll *poll, struct rec_core *core) {
    struct stallrec_loop *loop = poll->loop;
    uint64_t state = __atomic_load_n(&loop->state_, __ATOMIC_SEQ_CST);
    uint64_t seen = poll->seen;
    if (state == seen) {
        return;
    }
    poll->seen = state;
    if (is_busy(seen)) {
        /* Without an open stall nobody asked for the stretch's end, and the latest edge stands for
         * it. */
        uint64_t end = __atomic_exchange_n(&loop->end_, 0, __ATOMIC_SEQ_CST);
        uint64_t last = state & ~(uint64_t)1;
        bool told = end > seen && end <= state; /* not the edge that began it: seen has bit 0 */
        rec_core_loop_event(core, REC_LOOP_SLEEP, told ? end : last);
    }
    if (is_busy(state)) {
        rec_core_loop_event(core, REC_LOOP_WAKE, state & ~(uint64_t)1);
    }
}

void rec_loop_poll(struct rec_loop_poll *poll, struct rec_core *core) {
    const struct stallrec_loop *loop = poll->loop;
    poll_edges(poll, core);
    rec_core_activity(core, __atomic_load_n(&loop->activity_, __ATOMIC_ACQUIRE),
                      __atomic_load_n(&loop->event_, __ATOMIC_RELAXED));
}

bool rec_loop_still_busy(const struct stallrec_loop *loop, uint64_t since_ns) {
    return __atomic_load_n(&loop->state_, __ATOMIC_SEQ_CST) == (since_ns | 1);
}

/* Asks for `wanted`, keeping a message that nobody has looked at yet. False: there is one. */
static bool ask(struct stallrec_loop *loop, uint32_t wanted) {
    uint32_t old = __atomic_load_n(&loop->notify_, __ATOMIC_SEQ_CST);
    do {
        if ((old & STALLREC_NOTIFY_STOP_) != 0) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(&loop->notify_, &old, wanted, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    return true;
}

void rec_loop_wait(struct rec_loop_poll *poll, struct rec_core *core, uint64_t until_ns) {
    struct stallrec_loop *loop = poll->loop;
    rec_core_wait_begin(core, stallrec_clock_ns());
    uint32_t wanted = 0;
    if (rec_core_busy_since(core) == 0) {
        wanted = STALLREC_NOTIFY_BUSY_;
    } else if (rec_core_stalled(core)) {
        wanted = STALLREC_NOTIFY_END_;
        if (__atomic_load_n(&loop->end_, __ATOMIC_SEQ_CST) < poll->seen) {
            /* Of an earlier stretch, written after the monitor had looked. */
            __atomic_store_n(&loop->end_, 0, __ATOMIC_SEQ_CST);
        }
    }
    if (ask(loop, wanted) && __atomic_load_n(&loop->state_, __ATOMIC_SEQ_CST) == poll->seen) {
        rec_word_wait(&loop->notify_, wanted, until_ns);
    }
    __atomic_fetch_and(&loop->notify_, ~(uint32_t)STALLREC_NOTIFY_STOP_, __ATOMIC_SEQ_CST);
}

void rec_loop_interrupt(struct stallrec_loop *loop) {
    __atomic_fetch_or(&loop->notify_, STALLREC_NOTIFY_STOP_, __ATOMIC_SEQ_CST);
    rec_word_wake(&loop->notify_);
}
