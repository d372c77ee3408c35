/* Tests the queue from the app's threads to the monitor: its order, a full queue, the events that
 * wake the reader, and many writers at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "loop/inbox.h"

enum { WRITERS = 4, EACH = 20000 };

struct fixture {
    struct rec_inbox inbox;
    pthread_t writers[WRITERS];
    atomic_uint next_writer, running;
    atomic_uint_fast64_t refused;
};

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    rec_inbox_init(&f->inbox);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    free(*state);
    return 0;
}

static bool put(struct fixture *f, enum rec_event_kind kind, uint64_t at_ns, uint64_t value) {
    struct rec_event event = {.kind = kind, .at_ns = at_ns, .value = value};
    bool wake;
    bool taken = rec_inbox_put(&f->inbox, &event, REC_NEVER, &wake);
    assert_false(wake); /* the reader does not sleep */
    return taken;
}

static void events_and_ticks_come_in_the_order_of_their_times(void **state) {
    struct fixture *f = *state;
    struct rec_event e;
    rec_inbox_tick(&f->inbox, 10);
    assert_true(put(f, REC_EVENT_SPAN_BEGIN, 15, 1));
    rec_inbox_tick(&f->inbox, 20);
    assert_true(put(f, REC_EVENT_SPAN_END, 25, 1));
    const uint64_t times[] = {10, 15, 20};
    for (size_t i = 0; i < 3; i++) {
        assert_true(rec_inbox_take(&f->inbox, 24, &e));
        assert_int_equal(e.at_ns, times[i]);
        assert_int_equal(e.kind, i == 1 ? REC_EVENT_SPAN_BEGIN : REC_EVENT_TICK);
    }
    assert_false(rec_inbox_take(&f->inbox, 24, &e)); /* the last event's time is later */
    assert_true(rec_inbox_take(&f->inbox, 25, &e));
    assert_int_equal(e.kind, REC_EVENT_SPAN_END);
    assert_false(rec_inbox_take(&f->inbox, REC_NEVER, &e));
}

static void full_queue_drops_and_counts(void **state) {
    struct fixture *f = *state;
    struct rec_event e;
    for (uint64_t i = 0; i < REC_INBOX_CELLS; i++) {
        assert_true(put(f, REC_EVENT_SPAN_END, i, i));
    }
    assert_false(put(f, REC_EVENT_SPAN_END, 1000, 1000));
    assert_false(put(f, REC_EVENT_SPAN_END, 1001, 1001));
    assert_int_equal(rec_inbox_dropped(&f->inbox), 2);
    for (uint64_t i = 0; i < REC_INBOX_CELLS; i++) {
        assert_true(rec_inbox_take(&f->inbox, REC_NEVER, &e));
        assert_int_equal(e.value, i);
    }
    assert_false(rec_inbox_take(&f->inbox, REC_NEVER, &e));
    assert_true(put(f, REC_EVENT_SPAN_END, 1002, 1002));
    assert_true(rec_inbox_take(&f->inbox, REC_NEVER, &e));
    assert_int_equal(e.value, 1002);
}

static void half_of_it_is_kept_for_what_ends_actions(void **state) {
    struct fixture *f = *state;
    unsigned begun = 0, ended = 0;
    while (put(f, REC_EVENT_SPAN_BEGIN, 1, begun)) {
        begun++;
    }
    while (put(f, REC_EVENT_SPAN_END, 2, ended)) {
        ended++;
    }
    assert_int_equal(begun, REC_INBOX_CELLS / 2);
    assert_int_equal(ended, REC_INBOX_CELLS / 2);
}

static void of_too_many_ticks_the_newest_stay(void **state) {
    struct fixture *f = *state;
    struct rec_event e;
    for (uint64_t i = 1; i <= 3 * REC_INBOX_TICKS + 5; i++) {
        rec_inbox_tick(&f->inbox, i);
    }
    for (uint64_t i = 2 * REC_INBOX_TICKS + 6; i <= 3 * REC_INBOX_TICKS + 5; i++) {
        assert_true(rec_inbox_take(&f->inbox, REC_NEVER, &e));
        assert_int_equal(e.at_ns, i);
    }
    assert_false(rec_inbox_take(&f->inbox, REC_NEVER, &e));
}

static bool wakes(struct fixture *f, uint64_t due_ns) {
    struct rec_event event = {.kind = REC_EVENT_SPAN_END, .at_ns = 1};
    bool wake = false;
    assert_true(rec_inbox_put(&f->inbox, &event, due_ns, &wake));
    return wake;
}

static void only_an_event_that_is_due_before_the_reader_wakes_wakes_it(void **state) {
    struct fixture *f = *state;
    assert_false(wakes(f, 1));                     /* the reader is awake */
    assert_false(rec_inbox_sleep(&f->inbox, 100)); /* the reader must not sleep, as there is an
                                                      event */
    rec_inbox_clear(&f->inbox);
    rec_inbox_tick(&f->inbox, 5);
    assert_true(rec_inbox_sleep(&f->inbox, 100)); /* a tick does not keep the reader from
                                                     sleeping */
    assert_false(wakes(f, 100));
    assert_false(wakes(f, REC_NEVER));
    assert_true(wakes(f, 99));
    assert_false(wakes(f, 98)); /* another writer already wakes the reader */
    rec_inbox_clear(&f->inbox);
    assert_true(rec_inbox_sleep(&f->inbox, REC_NEVER));
    rec_inbox_wake(&f->inbox);
    assert_false(wakes(f, 1));
}

static void half_full_queue_wakes_the_reader_once(void **state) {
    struct fixture *f = *state;
    unsigned count = 0, at = 0;
    assert_true(rec_inbox_sleep(&f->inbox, REC_NEVER));
    for (unsigned i = 0; i < REC_INBOX_CELLS; i++) {
        bool wake = wakes(f, REC_NEVER);
        at = wake ? i : at;
        count += wake;
    }
    assert_int_equal(count, 1);
    assert_int_equal(at, REC_INBOX_CELLS / 2);
}

static void *write_many(void *arg) {
    struct fixture *f = arg;
    uint64_t writer = atomic_fetch_add(&f->next_writer, 1);
    for (uint64_t i = 0; i < EACH; i++) {
        struct rec_event event = {
            .kind = REC_EVENT_SPAN_END, .at_ns = i, .value = writer << 32 | i};
        bool wake;
        memset(event.name, (int)(event.value % 251), sizeof event.name);
        if (!rec_inbox_put(&f->inbox, &event, REC_NEVER, &wake)) {
            atomic_fetch_add(&f->refused, 1);
            sched_yield();
        }
        rec_inbox_tick(&f->inbox, i + 1);
    }
    atomic_fetch_sub(&f->running, 1);
    return NULL;
}

/* Each event that was not refused comes whole, once, and in the order of its writer. */
static void many_writers_lose_nothing_but_what_they_are_told(void **state) {
    struct fixture *f = *state;
    uint64_t last[WRITERS], taken = 0, ticks = 0, wrong = 0;
    bool any[WRITERS] = {false};
    atomic_store(&f->running, WRITERS);
    for (unsigned i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_create(&f->writers[i], NULL, write_many, f), 0);
    }
    for (bool more = true; more;) {
        struct rec_event e;
        more = atomic_load(&f->running) > 0;
        while (rec_inbox_take(&f->inbox, REC_NEVER, &e)) {
            if (e.kind == REC_EVENT_TICK) {
                ticks++;
                wrong += e.at_ns == 0 || e.at_ns > EACH;
                continue;
            }
            uint64_t writer = e.value >> 32, number = e.value & UINT32_MAX;
            wrong += writer >= WRITERS || number >= EACH || (any[writer] && number <= last[writer]);
            for (size_t i = 0; i < sizeof e.name; i++) {
                wrong += e.name[i] != (char)(e.value % 251);
            }
            if (writer < WRITERS) {
                any[writer] = true;
                last[writer] = number;
            }
            taken++;
        }
        sched_yield();
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(f->writers[i], NULL);
    }
    assert_int_equal(wrong, 0);
    assert_true(taken > 0);
    assert_int_equal(taken + atomic_load(&f->refused), WRITERS * EACH);
    assert_int_equal(rec_inbox_dropped(&f->inbox), atomic_load(&f->refused));
    assert_true(ticks > 0 && ticks <= WRITERS * EACH);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(events_and_ticks_come_in_the_order_of_their_times),
        T(full_queue_drops_and_counts),
        T(half_of_it_is_kept_for_what_ends_actions),
        T(of_too_many_ticks_the_newest_stay),
        T(only_an_event_that_is_due_before_the_reader_wakes_wakes_it),
        T(half_full_queue_wakes_the_reader_once),
        T(many_writers_lose_nothing_but_what_they_are_told),
    };
    return cmocka_run_group_tests_name("inbox", tests, NULL, NULL);
}
