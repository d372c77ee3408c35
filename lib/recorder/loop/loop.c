/* The monitor's side of the loop hooks, and the hooks' slow path. */
#include "loop/loop.h"

#include "platform.h"

enum {
    WAKES = STALLREC_NOTIFY_BUSY_ | STALLREC_NOTIFY_END_,
    KEPT = STALLREC_NOTIFY_END_ | STALLREC_NOTIFY_KEEP_
};

void stallrec_loop_notify_(struct stallrec_loop *loop, uint64_t now) {
    uint32_t notify = __atomic_load_n(&loop->notify_, __ATOMIC_SEQ_CST);
    if ((notify & KEPT) != 0) {
        /* end_ keeps the first edge until the monitor has read it, even if the monitor asks again
         * before. */
        uint64_t none = 0, edge = now & ~(uint64_t)1;
        __atomic_compare_exchange_n(&loop->end_, &none, edge, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    }
    /* The flags are cleared, so that the next edges do not call this function. Only the monitor
     * clears STOP. */
    notify = __atomic_fetch_and(&loop->notify_, ~(uint32_t)(WAKES | KEPT), __ATOMIC_SEQ_CST);
    if ((notify & WAKES) == 0) {
        return;
    }
    if ((notify & STALLREC_NOTIFY_BESIDE_) != 0) {
        rec_loop_interrupt(stallrec_main_loop(NULL));
    } else {
        rec_word_wake(&loop->notify_);
    }
}

static bool is_busy(uint64_t state) {
    return (state & 1) != 0;
}

static struct rec_event edge(enum rec_loop_event event, uint64_t at_ns) {
    return (struct rec_event){.kind = REC_EVENT_EDGE, .at_ns = at_ns, .value = event};
}

/* Returns the last edge, and sets *busy_ns to the sum of the stretches that had ended by then. If
 * edges follow at each of 3 attempts, the sum may lack the latest stretches; this is harmless, as
 * only differences of sums are reported. */
static uint64_t read_state(const struct stallrec_loop *loop, uint64_t *busy_ns) {
    uint64_t state = __atomic_load_n(&loop->state_, __ATOMIC_SEQ_CST), again;
    for (int tries = 0; tries < 3; tries++, state = again) {
        *busy_ns = __atomic_load_n(&loop->busy_, __ATOMIC_ACQUIRE);
        again = __atomic_load_n(&loop->state_, __ATOMIC_SEQ_CST);
        if (again == state) {
            break;
        }
    }
    return state;
}

/* Does the same as read_state, and, if the loop is busy, makes the hooks store the edge that ends
 * the stretch. Otherwise a monitor that is delayed before it waits would merge several stretches
 * into one. This fails only if edges come faster than the monitor can ask. */
static uint64_t read_state_keeping_its_end(struct stallrec_loop *loop, uint64_t *busy_ns) {
    enum { TRIES = 4 };
    uint64_t state = read_state(loop, busy_ns);
    for (int tries = 0; tries < TRIES && is_busy(state); tries++) {
        __atomic_store_n(&loop->end_, 0, __ATOMIC_SEQ_CST);
        __atomic_fetch_or(&loop->notify_, (uint32_t)STALLREC_NOTIFY_KEEP_, __ATOMIC_SEQ_CST);
        state = read_state(loop, busy_ns);
        if ((__atomic_load_n(&loop->notify_, __ATOMIC_SEQ_CST) & KEPT) != 0) {
            break;
        }
    }
    return state;
}

/* Returns the time at which the stretch that began at `seen` ended: the stored edge `end`, or, if
 * there is none, the latest edge, or, if the busy time `grown` that was added since `seen` is
 * shorter, the begin of the stretch plus `grown`. */
static uint64_t end_of(uint64_t end, uint64_t seen, uint64_t state, uint64_t grown) {
    uint64_t begin = seen & ~(uint64_t)1, last = state & ~(uint64_t)1;
    /* seen has bit 0 set, so that `end` is not the edge that began the stretch */
    if (end > seen && end <= state) {
        return end;
    }
    return grown > 0 && grown < last - begin ? begin + grown : last;
}

static uint32_t poll_edges(struct rec_loop_poll *poll, struct rec_event *events) {
    struct stallrec_loop *loop = poll->loop;
    uint32_t count = 0;
    uint64_t busy_ns, seen = poll->seen;
    poll->restless = false;
    if (__atomic_load_n(&loop->state_, __ATOMIC_SEQ_CST) == seen) {
        return 0;
    }
    uint64_t end = __atomic_exchange_n(&loop->end_, 0, __ATOMIC_SEQ_CST);
    uint64_t state = read_state_keeping_its_end(loop, &busy_ns);
    uint64_t grown = busy_ns - poll->busy_ns;
    uint64_t from = seen & ~(uint64_t)1, last = state & ~(uint64_t)1;
    poll->seen = state;
    poll->busy_ns = busy_ns;
    uint64_t idle = __atomic_load_n(&loop->idle_, __ATOMIC_RELAXED);
    if (!poll->idled && idle != 0) {
        poll->idled = true;
        events[count++] = (struct rec_event){
            .kind = REC_EVENT_LAUNCH, .at_ns = idle, .mark_ns = idle, .value = REC_LAUNCH_IDLE};
    }
    if (is_busy(seen)) {
        uint64_t to = end_of(end, seen, state, grown);
        events[count++] = edge(REC_LOOP_SLEEP, to);
        grown -= to - from < grown ? to - from : grown;
        from = to;
    }
    poll->restless = grown > 0;
    if (grown > 0 && from < last) {
        uint64_t part = grown < last - from ? grown : last - from;
        events[count++] = (struct rec_event){
            .kind = REC_EVENT_BUSY, .at_ns = from, .mark_ns = last, .value = part};
    }
    if (is_busy(state)) {
        events[count++] = edge(REC_LOOP_WAKE, last);
    }
    return count;
}

uint32_t rec_loop_poll(struct rec_loop_poll *poll, struct rec_event events[REC_LOOP_EVENTS]) {
    const struct stallrec_loop *loop = poll->loop;
    uint32_t count = poll_edges(poll, events);
    uint32_t activity = __atomic_load_n(&loop->activity_, __ATOMIC_ACQUIRE);
    uint64_t at_ns = __atomic_load_n(&loop->event_, __ATOMIC_RELAXED);
    if (at_ns != 0 && at_ns != poll->activity_ns) {
        poll->activity_ns = at_ns;
        events[count++] =
            (struct rec_event){.kind = REC_EVENT_ACTIVITY, .at_ns = at_ns, .value = activity};
    }
    return count;
}

void rec_loop_edge(struct stallrec_loop *loop, enum rec_loop_event event, uint64_t now) {
    static const uint64_t trails[] = {[REC_LOOP_WAKE] = STALLREC_TRAIL_WAKE_,
                                      [REC_LOOP_SLEEP] = STALLREC_TRAIL_SLEEP_,
                                      [REC_LOOP_TURN] = STALLREC_TRAIL_TURN_};
    if (event == REC_LOOP_SLEEP) {
        stallrec_loop_idle_(loop, now);
    }
    stallrec_loop_trail_(loop, now, trails[event]);
    stallrec_loop_edge_(loop, now, event != REC_LOOP_SLEEP);
}

bool rec_loop_still_busy(const struct stallrec_loop *loop, uint64_t since_ns) {
    return __atomic_load_n(&loop->state_, __ATOMIC_SEQ_CST) == (since_ns | 1);
}

void rec_loop_write_latest(struct rec_loop_latest *latest, const struct finder_wait *wait) {
    for (uint32_t i = 0; wait->object.kind == FINDER_SET && i < FINDER_SET_WORDS; i++) {
        __atomic_store_n(&latest->set[i], wait->object.set[i], __ATOMIC_RELAXED);
    }
    __atomic_store_n(&latest->place, wait->place, __ATOMIC_RELAXED);
    __atomic_store_n(&latest->depth, wait->depth, __ATOMIC_RELAXED);
    __atomic_store_n(&latest->id, wait->object.id, __ATOMIC_RELAXED);
    __atomic_store_n(&latest->kind, (uint64_t)wait->object.kind + 1, __ATOMIC_RELEASE);
}

bool rec_loop_read_latest_async(const struct rec_loop_latest *latest, struct finder_wait *out) {
    uint64_t kind = __atomic_load_n(&latest->kind, __ATOMIC_ACQUIRE);
    *out = (struct finder_wait){.object.kind = (enum finder_kind)(kind - (kind > 0))};
    out->place = __atomic_load_n(&latest->place, __ATOMIC_RELAXED);
    out->depth = __atomic_load_n(&latest->depth, __ATOMIC_RELAXED);
    out->object.id = __atomic_load_n(&latest->id, __ATOMIC_RELAXED);
    for (uint32_t i = 0; out->object.kind == FINDER_SET && i < FINDER_SET_WORDS; i++) {
        out->object.set[i] = __atomic_load_n(&latest->set[i], __ATOMIC_RELAXED);
    }
    return kind > 0;
}

void rec_loop_join_sleep_async(struct finder_sleep *sleep, const struct finder_place *at,
                               uint64_t now_ns) {
    if (sleep->to_ns == 0 || now_ns - sleep->to_ns > FINDER_APART_NS ||
        sleep->at.place != at->place || sleep->at.depth != at->depth) {
        __atomic_store_n(&sleep->at.place, at->place, __ATOMIC_RELAXED);
        __atomic_store_n(&sleep->at.depth, at->depth, __ATOMIC_RELAXED);
        __atomic_store_n(&sleep->at.inner, at->inner, __ATOMIC_RELAXED);
        __atomic_store_n(&sleep->at.room, at->room, __ATOMIC_RELAXED);
        __atomic_store_n(&sleep->from_ns, now_ns, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&sleep->to_ns, now_ns, __ATOMIC_RELEASE);
}

void rec_loop_continue_sleep_async(struct finder_sleep *sleep, uint64_t now_ns) {
    __atomic_store_n(&sleep->to_ns, now_ns, __ATOMIC_RELEASE);
}

bool rec_loop_read_asleep(const struct rec_loop_latest *latest, uint64_t after_ns,
                          struct finder_sleep *out) {
    const struct finder_sleep *asleep = &latest->asleep;
    out->to_ns = __atomic_load_n(&asleep->to_ns, __ATOMIC_ACQUIRE);
    out->at.place = __atomic_load_n(&asleep->at.place, __ATOMIC_RELAXED);
    out->at.depth = __atomic_load_n(&asleep->at.depth, __ATOMIC_RELAXED);
    out->at.inner = __atomic_load_n(&asleep->at.inner, __ATOMIC_RELAXED);
    out->at.room = __atomic_load_n(&asleep->at.room, __ATOMIC_RELAXED);
    out->from_ns = __atomic_load_n(&asleep->from_ns, __ATOMIC_RELAXED);
    return out->to_ns > after_ns;
}

_Static_assert((int)STALLREC_TRAIL_ == (int)REC_TRANSITIONS &&
                   (int)STALLREC_TRAIL_WAKE_ == (int)REC_WENT_WAKE &&
                   (int)STALLREC_TRAIL_SLEEP_ == (int)REC_WENT_SLEEP &&
                   (int)STALLREC_TRAIL_TURN_ == (int)REC_WENT_TURN,
               "the hooks and the core mean the same");

uint32_t rec_loop_transitions(const struct stallrec_loop *loop,
                              struct rec_transition out[REC_TRANSITIONS]) {
    uint64_t end = __atomic_load_n(&loop->trailed_, __ATOMIC_ACQUIRE);
    uint32_t count = 0;
    for (uint64_t i = end > STALLREC_TRAIL_ ? end - STALLREC_TRAIL_ : 0; i < end; i++) {
        uint64_t word = __atomic_load_n(&loop->trail_[i % STALLREC_TRAIL_], __ATOMIC_RELAXED);
        uint64_t at_ns = word & ~(uint64_t)15;
        /* A transition that was read before and is newer than this one had overwritten an older one
         * in its slot: it is dropped. */
        while (count > 0 && out[count - 1].at_ns > at_ns) {
            count--;
        }
        out[count++] = (struct rec_transition){at_ns, (uint32_t)(word & 15)};
    }
    return count;
}

const char *rec_loop_mode(const struct stallrec_loop *loop) {
    return __atomic_load_n(&loop->mode_, __ATOMIC_ACQUIRE);
}

/* Sets notify_ to `wanted`, the bits that the hooks then obey. False: a stop or a message waits,
 * and notify_ is unchanged. */
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

/* Adds to *wanted the bits that ask the hooks for the edge that matters next; for an idle loop that
 * turns often, lowers *until_ns instead. False: an edge has come already, or a stop or a message
 * waits. It calls rec_core_wait_begin first. */
static bool ask_for_edge(struct rec_loop_poll *poll, struct rec_core *core, uint32_t *wanted,
                         uint64_t *until_ns) {
    struct stallrec_loop *loop = poll->loop;
    uint64_t now = stallrec_clock_ns(), grace = rec_core_grace_ns(core);
    rec_core_wait_begin(core, now);
    if (rec_core_busy_since(core) == 0 && poll->restless && grace > 0) {
        *until_ns = now + grace < *until_ns ? now + grace : *until_ns;
    } else if (rec_core_busy_since(core) == 0) {
        *wanted |= STALLREC_NOTIFY_BUSY_;
    } else {
        *wanted |= rec_core_stalled(core) ? STALLREC_NOTIFY_END_ : STALLREC_NOTIFY_KEEP_;
        if (__atomic_load_n(&loop->end_, __ATOMIC_SEQ_CST) < poll->seen) {
            /* This edge ended an earlier stretch, and was written after the monitor had looked. */
            __atomic_store_n(&loop->end_, 0, __ATOMIC_SEQ_CST);
        }
    }
    return ask(loop, *wanted) && __atomic_load_n(&loop->state_, __ATOMIC_SEQ_CST) == poll->seen;
}

bool rec_loop_arm(struct rec_loop_poll *poll, struct rec_core *core, uint64_t *until_ns) {
    uint32_t wanted = STALLREC_NOTIFY_BESIDE_;
    return ask_for_edge(poll, core, &wanted, until_ns);
}

void rec_loop_wait(struct rec_loop_poll *poll, struct rec_core *core, uint64_t until_ns) {
    struct stallrec_loop *loop = poll->loop;
    uint32_t wanted = 0;
    if (ask_for_edge(poll, core, &wanted, &until_ns)) {
        rec_word_wait(&loop->notify_, wanted, until_ns);
    }
    __atomic_fetch_and(&loop->notify_, ~(uint32_t)STALLREC_NOTIFY_STOP_, __ATOMIC_SEQ_CST);
}

void rec_loop_wait_for_interrupt(struct stallrec_loop *loop, uint64_t until_ns) {
    if (ask(loop, 0)) {
        rec_word_wait(&loop->notify_, 0, until_ns);
    }
    __atomic_fetch_and(&loop->notify_, ~(uint32_t)STALLREC_NOTIFY_STOP_, __ATOMIC_SEQ_CST);
}

void rec_loop_interrupt(struct stallrec_loop *loop) {
    __atomic_fetch_or(&loop->notify_, STALLREC_NOTIFY_STOP_, __ATOMIC_SEQ_CST);
    rec_word_wake(&loop->notify_);
}
