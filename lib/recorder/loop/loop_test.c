/* Tests the loop hooks and the monitor's side of them: which edges are reported, and the monitor's
 * sleep, in which no edge may be missed. The test has a platform of its own: a clock that it can
 * stop, and a condition variable for the word. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/fake_capture_test.h"
#include "loop/loop.h"
#include "platform.h"

#define MS UINT64_C(1000000)

/* ---- the platform ---- */

static uint64_t stopped_clock; /* time in ns; 0: the real clock runs */
static unsigned wakes;
static pthread_mutex_t word_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t word_cond;

uint64_t stallrec_clock_ns(void) {
    struct timespec ts;
    if (stopped_clock != 0) {
        return stopped_clock;
    }
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void rec_word_wait(uint32_t *word, uint32_t expected, uint64_t until_ns) {
    struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    int status = 0;
    pthread_mutex_lock(&word_lock);
    while (status == 0 && __atomic_load_n(word, __ATOMIC_SEQ_CST) == expected) {
        status = until_ns == REC_NEVER ? pthread_cond_wait(&word_cond, &word_lock)
                                       : pthread_cond_timedwait(&word_cond, &word_lock, &until);
    }
    pthread_mutex_unlock(&word_lock);
}

void rec_word_wake(uint32_t *word) {
    (void)word;
    pthread_mutex_lock(&word_lock);
    wakes++;
    pthread_cond_broadcast(&word_cond);
    pthread_mutex_unlock(&word_lock);
}

/* ---- a recorder around the loop ---- */

struct fixture {
    struct fake fake;
    struct stallrec_config config;
    struct stallrec_loop loop;
    struct rec_loop_poll poll;
    void *memory;
    struct rec_core *core;
    /* The threads share these members. */
    uint32_t begun, ended, stop;
    uint64_t duration_ms;
    unsigned rounds; /* number of the monitor's rounds */
};

static void on_begin(void *ctx, const struct stallrec_stall *stall) {
    struct fixture *f = ctx;
    (void)stall;
    __atomic_add_fetch(&f->begun, 1, __ATOMIC_SEQ_CST);
}

static void on_end(void *ctx, const struct stallrec_stall *stall) {
    struct fixture *f = ctx;
    __atomic_store_n(&f->duration_ms, stall->at_ms, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&f->ended, 1, __ATOMIC_SEQ_CST);
}

static bool still_busy(void *ctx, uint64_t since_ns) {
    struct fake *fake = ctx; /* the fake is the fixture's first member */
    return rec_loop_still_busy(&((struct fixture *)(void *)fake)->loop, since_ns);
}

static void start(struct fixture *f) {
    struct rec_capture capture = fake_capture(&f->fake);
    capture.still_busy = still_busy;
    f->config.callbacks.stall_begin = on_begin;
    f->config.callbacks.stall_end = on_end;
    f->config.user_data = f;
    free(f->memory);
    f->memory = malloc(rec_core_size(&f->config));
    assert_non_null(f->memory);
    f->core = rec_core_init(f->memory, &f->config, &capture, stallrec_clock_ns());
}

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    pthread_condattr_t attr;
    assert_non_null(f);
    stallrec_config_init(&f->config, sizeof f->config);
    fake_stack(&f->fake, 1, 0x10000);
    f->poll.loop = &f->loop;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&word_cond, &attr);
    pthread_condattr_destroy(&attr);
    stopped_clock = 1000 * MS;
    wakes = 0;
    start(f);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    pthread_cond_destroy(&word_cond);
    free(f->memory);
    free(f);
    return 0;
}

static void tell_events(struct fixture *f) {
    struct rec_event events[REC_LOOP_EVENTS];
    uint32_t count = rec_loop_poll(&f->poll, events);
    for (uint32_t i = 0; i < count; i++) {
        rec_event_tell(f->core, &events[i]);
    }
}

static uint64_t look(struct fixture *f, uint64_t now) {
    stopped_clock = now;
    tell_events(f);
    return rec_core_step(f->core, now);
}

/* ---- one thread: the edges that are reported ---- */

static void edges_are_told_once_with_their_times(void **state) {
    struct fixture *f = *state;
    stallrec_loop_wake(&f->loop);
    assert_int_equal(look(f, 1010 * MS), 1100 * MS);
    assert_int_equal(rec_core_busy_since(f->core), 1000 * MS);
    stopped_clock = 1020 * MS;
    stallrec_loop_wake(&f->loop); /* the loop is busy already */
    look(f, 1030 * MS);
    assert_int_equal(rec_core_busy_since(f->core), 1000 * MS);
    stallrec_loop_turn(&f->loop);
    look(f, 1040 * MS);
    assert_int_equal(rec_core_busy_since(f->core), 1030 * MS);
    stallrec_loop_sleep(&f->loop);
    assert_true(look(f, 1050 * MS) == REC_NEVER);
    assert_int_equal(rec_core_busy_since(f->core), 0);
    assert_int_equal(wakes, 0); /* the monitor did not wait */
}

static void a_stretch_between_two_looks_is_skipped(void **state) {
    struct fixture *f = *state;
    stallrec_loop_wake(&f->loop);
    look(f, 1010 * MS);
    stallrec_loop_sleep(&f->loop);
    stopped_clock = 1020 * MS;
    stallrec_loop_wake(&f->loop);
    stopped_clock = 1030 * MS;
    stallrec_loop_sleep(&f->loop);
    stopped_clock = 1040 * MS;
    stallrec_loop_wake(&f->loop);
    look(f, 1050 * MS);
    assert_int_equal(rec_core_busy_since(f->core), 1040 * MS);
    assert_int_equal(f->ended, 0);
}

static void a_stall_ends_at_its_first_edge_however_late_the_monitor_looks(void **state) {
    struct fixture *f = *state;
    stallrec_loop_wake(&f->loop);
    look(f, 1100 * MS);
    look(f, 1250 * MS);
    assert_true(rec_core_stalled(f->core));
    rec_loop_wait(&f->poll, f->core, 1250 * MS); /* the monitor asks to be woken at the stall's end;
                                                    its time is over at once */
    stopped_clock = 1300 * MS;
    stallrec_loop_sleep(&f->loop);
    assert_int_equal(wakes, 1);
    for (unsigned i = 1; i <= 5; i++) {
        stopped_clock = (1300 + 7 * i) * MS;
        stallrec_loop_wake(&f->loop);
        stallrec_loop_turn(&f->loop);
        stallrec_loop_sleep(&f->loop);
    }
    assert_int_equal(wakes, 1);
    look(f, 1400 * MS);
    assert_int_equal(f->ended, 1);
    assert_int_equal(f->duration_ms, 300);
    assert_int_equal(rec_core_closed(f->core)->stall.duration_ms, 300);
}

static void an_end_that_comes_before_the_threshold_is_looked_at_is_kept(void **state) {
    struct fixture *f = *state;
    stallrec_loop_wake(&f->loop);
    look(f, 1010 * MS);
    rec_loop_wait(&f->poll, f->core, 1010 * MS);
    look(f, 1100 * MS);
    rec_loop_wait(&f->poll, f->core, 1100 * MS);
    look(f, 1200 * MS);
    /* The monitor thread gets no processor until 1400 ms. */
    rec_loop_wait(&f->poll, f->core, 1200 * MS);
    stopped_clock = 1328 * MS;
    stallrec_loop_sleep(&f->loop);
    stopped_clock = 1390 * MS;
    stallrec_loop_wake(&f->loop);
    assert_int_equal(wakes, 0); /* the hooks do not wake the monitor for the end of a stretch that
                                   it has not judged yet */
    look(f, 1400 * MS);
    assert_int_equal(f->begun, 1);
    assert_int_equal(f->ended, 1);
    assert_int_equal(f->duration_ms, 328);
    assert_int_equal(rec_core_closed(f->core)->ring_count, 2);
    assert_int_equal(rec_core_busy_since(f->core), 1390 * MS);
}

static void an_end_between_the_last_look_and_the_check_is_a_stall(void **state) {
    struct fixture *f = *state;
    stallrec_loop_wake(&f->loop);
    look(f, 1100 * MS);
    stopped_clock = 1300 * MS;
    tell_events(f);                /* the monitor looks… */
    stallrec_loop_sleep(&f->loop); /* …the stretch ends… */
    rec_core_step(f->core, 1300 * MS);
    assert_int_equal(f->begun, 0); /* …so the step's stack is not the stretch's, and nothing is
                                      detected */
    look(f, 1310 * MS);
    assert_int_equal(f->begun, 1);
    assert_int_equal(f->duration_ms, 300);
    assert_int_equal(rec_core_closed(f->core)->ring_count, 1);
}

/* Makes two busy stretches, of 33 and 34 ms, between a look of the monitor and its next poll, and
 * returns the poll's result. asked: the monitor has asked for the next edge. */
static uint32_t two_stretches_before_a_wait(struct fixture *f, bool asked,
                                            struct rec_event *events) {
    stallrec_loop_wake(&f->loop);
    look(f, 1010 * MS);
    if (!asked) {
        f->loop.notify_ = 0; /* as if an edge had come during the look */
    }
    stopped_clock = 1033 * MS;
    stallrec_loop_sleep(&f->loop);
    stopped_clock = 1066 * MS;
    stallrec_loop_wake(&f->loop);
    stopped_clock = 1100 * MS;
    stallrec_loop_sleep(&f->loop);
    return rec_loop_poll(&f->poll, events);
}

static void stretches_before_the_monitor_waits_are_not_taken_for_one(void **state) {
    struct rec_event events[REC_LOOP_EVENTS];
    assert_int_equal(two_stretches_before_a_wait(*state, true, events), 2);
    assert_int_equal(events[0].value, REC_LOOP_SLEEP);
    assert_int_equal(events[0].at_ns, 1033 * MS);
    assert_int_equal(events[1].kind, REC_EVENT_BUSY);
    assert_int_equal(events[1].value, 34 * MS);
}

static void an_end_that_nobody_asked_for_is_not_after_all_that_was_busy(void **state) {
    struct rec_event events[REC_LOOP_EVENTS];
    assert_int_equal(two_stretches_before_a_wait(*state, false, events), 1);
    assert_int_equal(events[0].value, REC_LOOP_SLEEP);
    assert_int_equal(events[0].at_ns, 1067 * MS);
}

static void short_stretches_are_told_as_the_time_they_took(void **state) {
    struct fixture *f = *state;
    struct rec_event events[REC_LOOP_EVENTS];
    stallrec_loop_wake(&f->loop);
    look(f, 1010 * MS);
    rec_loop_wait(&f->poll, f->core, 1010 * MS);
    for (uint64_t t = 1030; t < 1100; t += 20) { /* the first stretch ends at 1030 ms */
        stopped_clock = t * MS;
        stallrec_loop_sleep(&f->loop);
        stopped_clock = (t + 5) * MS;
        stallrec_loop_wake(&f->loop);
        stopped_clock = (t + 12) * MS;
        stallrec_loop_turn(&f->loop);
    }
    assert_int_equal(rec_loop_poll(&f->poll, events), 3); /* the loop is busy since 1102 ms */
    assert_int_equal(events[0].value, REC_LOOP_SLEEP);
    assert_int_equal(events[0].at_ns, 1030 * MS);
    assert_int_equal(events[1].kind, REC_EVENT_BUSY);
    assert_int_equal(events[1].at_ns, 1030 * MS);
    assert_int_equal(events[1].mark_ns, 1102 * MS);
    assert_int_equal(events[1].value, (15 + 15 + 15 + 7) * MS);
    assert_int_equal(events[2].value, REC_LOOP_WAKE);
    assert_int_equal(rec_loop_poll(&f->poll, events), 0);
}

/* Makes turns of 2 ms, one each 10 ms. */
static void turn_often(struct fixture *f, uint64_t from_ms, uint64_t to_ms) {
    for (uint64_t t = from_ms; t < to_ms; t += 10) {
        stopped_clock = t * MS;
        stallrec_loop_wake(&f->loop);
        stopped_clock = (t + 2) * MS;
        stallrec_loop_sleep(&f->loop);
    }
}

static void a_loop_that_turns_often_does_not_wake_the_monitor(void **state) {
    struct fixture *f = *state;
    turn_often(f, 1000, 1100);
    for (uint64_t t = 1100; t < 2000; t += 100) {
        assert_int_equal(look(f, t * MS), REC_NEVER);
        rec_loop_wait(&f->poll, f->core, REC_NEVER); /* this wait is bounded, as the loop turns
                                                        often */
        turn_often(f, t, t + 100);
    }
    assert_int_equal(wakes, 0);
    stopped_clock = 2010 * MS;
    stallrec_loop_wake(&f->loop); /* a stall begins, for which the monitor has not asked to be
                                     woken */
    assert_int_equal(wakes, 0);
    assert_int_equal(look(f, 2100 * MS), 2110 * MS);
    rec_loop_wait(&f->poll, f->core, 2110 * MS);
    look(f, 2110 * MS);
    assert_int_equal(rec_core_totals(f->core).samples, 1);
    look(f, 2260 * MS);
    assert_int_equal(f->begun, 1);
}

static void a_loop_that_turned_once_wakes_the_monitor_the_next_time(void **state) {
    struct fixture *f = *state;
    turn_often(f, 1000, 1100);
    look(f, 1100 * MS);
    rec_loop_wait(&f->poll, f->core, REC_NEVER);
    look(f, 1200 * MS); /* the loop was idle for 100 ms */
    rec_loop_wait(&f->poll, f->core, 1200 * MS);
    stallrec_loop_wake(&f->loop);
    assert_int_equal(wakes, 1);
}

static void an_end_that_nobody_asked_for_is_the_last_edge(void **state) {
    struct fixture *f = *state;
    stallrec_loop_wake(&f->loop);
    look(f, 1100 * MS);
    look(f, 1250 * MS);
    stopped_clock = 1270 * MS;
    stallrec_loop_sleep(&f->loop); /* the stall ends between its detection and the monitor's wait */
    stopped_clock = 1280 * MS;
    rec_loop_wait(&f->poll, f->core, REC_NEVER); /* the monitor sees the edge, so it does not
                                                    sleep */
    look(f, 1280 * MS);
    assert_int_equal(f->duration_ms, 270);
}

static void the_edge_that_begins_a_stall_does_not_end_it(void **state) {
    struct fixture *f = *state;
    stallrec_loop_wake(&f->loop);
    look(f, 1100 * MS);
    look(f, 1250 * MS);
    stallrec_loop_sleep(&f->loop);
    rec_loop_wait(&f->poll, f->core,
                  REC_NEVER); /* the monitor asks for the end of a stall that has just ended */
    look(f, 1260 * MS);
    stopped_clock = 2000 * MS;
    stallrec_loop_wake(&f->loop); /* this is the first edge since the monitor asked */
    look(f, 2100 * MS);
    look(f, 2250 * MS);
    stopped_clock = 2300 * MS;
    stallrec_loop_sleep(&f->loop);
    look(f, 2310 * MS);
    assert_int_equal(f->ended, 2);
    assert_int_equal(f->duration_ms, 300);
}

static void a_message_ends_a_wait_now_or_later(void **state) {
    struct fixture *f = *state;
    rec_loop_interrupt(&f->loop);
    rec_loop_wait(&f->poll, f->core, REC_NEVER); /* without the message this would not return */
    stallrec_loop_wake(&f->loop);
    look(f, 1010 * MS);
    rec_loop_interrupt(&f->loop);
    stallrec_loop_turn(&f->loop); /* an edge does not take the message away */
    look(f, 1020 * MS);
    rec_loop_wait(&f->poll, f->core, REC_NEVER);
    assert_int_equal(f->loop.notify_ & STALLREC_NOTIFY_STOP_, 0);
}

static void activity_goes_into_the_dump(void **state) {
    struct fixture *f = *state;
    stallrec_loop_wake(&f->loop);
    stallrec_loop_activity(&f->loop, STALLREC_ACTIVITY_BEFORE_TIMERS);
    look(f, 1100 * MS);
    look(f, 1250 * MS);
    assert_int_equal(rec_core_open(f->core)->stall.activity, STALLREC_ACTIVITY_BEFORE_TIMERS);
}

static void a_notification_restarts_the_clock_if_the_preset_says_so(void **state) {
    struct fixture *f = *state;
    stallrec_config_arms(&f->config);
    f->config.check = STALLREC_CHECK_STALL;
    start(f);
    stallrec_loop_wake(&f->loop);
    look(f, 1000 * MS);
    stopped_clock = 2500 * MS;
    stallrec_loop_activity(&f->loop, STALLREC_ACTIVITY_BEFORE_SOURCES);
    for (uint64_t t = 2500; t < 4500; t += 50) {
        look(f, t * MS);
        assert_false(rec_core_stalled(f->core));
    }
    look(f, 4500 * MS); /* the stall's clock began at the notification, not at the last edge, and
                           the loop is still busy */
    assert_true(rec_core_stalled(f->core));
    stopped_clock = 4600 * MS;
    stallrec_loop_activity(&f->loop, STALLREC_ACTIVITY_BEFORE_SOURCES);
    look(f, 4640 * MS);
    assert_int_equal(f->ended, 1);
    assert_int_equal(f->duration_ms, 2100);
}

/* ---- two threads: no edge is missed ---- */

static void *monitor(void *arg) {
    struct fixture *f = arg;
    while (__atomic_load_n(&f->stop, __ATOMIC_SEQ_CST) == 0) {
        tell_events(f);
        uint64_t next = rec_core_step(f->core, stallrec_clock_ns());
        const struct rec_dump *dump;
        while ((dump = rec_core_closed(f->core)) != NULL) {
            rec_core_release(f->core, dump);
        }
        rec_loop_wait(&f->poll, f->core, next);
        f->rounds++;
    }
    return NULL;
}

static bool wait_for(const uint32_t *counter, uint32_t value) {
    uint64_t limit = stallrec_clock_ns() + 20000 * MS;
    while (__atomic_load_n(counter, __ATOMIC_SEQ_CST) < value) {
        if (stallrec_clock_ns() > limit) {
            return false;
        }
    }
    return true;
}

static void rest(uint64_t ns) {
    struct timespec ts = {0, (long)ns};
    nanosleep(&ts, NULL);
}

static void a_parked_monitor_sees_every_stall_and_its_exact_end(void **state) {
    struct fixture *f = *state;
    pthread_t thread;
    uint32_t random = 1;
    stopped_clock = 0;
    f->config.threshold_ms = 2;
    f->config.first_sample_ms = 1;
    f->config.sample_ms = 1;
    start(f);
    assert_int_equal(pthread_create(&thread, NULL, monitor, f), 0);
    const char *wrong = NULL;
    for (uint32_t i = 1; i <= 300 && wrong == NULL; i++) {
        random = random * 1664525 + 1013904223;
        if (random >> 30 != 0) { /* in one of four cases there is no rest, so the monitor may be
                                    about to sleep */
            rest(random >> 13);
        }
        stallrec_loop_wake(&f->loop);
        uint64_t since = f->loop.state_ & ~UINT64_C(1);
        bool begun = wait_for(&f->begun, i);
        stallrec_loop_sleep(&f->loop);
        uint64_t end = f->loop.state_;
        bool ended = wait_for(&f->ended, i);
        uint64_t told = __atomic_load_n(&f->duration_ms, __ATOMIC_SEQ_CST);
        wrong = !begun                       ? "a stall was missed"
                : !ended                     ? "its end was missed"
                : told != (end - since) / MS ? "its end was not its edge"
                                             : NULL;
    }
    /* The monitor is joined before anything is asserted, as it uses memory that is freed after a
     * failed test. */
    __atomic_store_n(&f->stop, 1, __ATOMIC_SEQ_CST);
    rec_loop_interrupt(&f->loop);
    pthread_join(thread, NULL);
    assert_string_equal(wrong != NULL ? wrong : "", "");
    assert_int_equal(f->begun, 300);
    assert_int_equal(f->ended, 300);
}

static void an_idle_loop_lets_the_monitor_sleep(void **state) {
    struct fixture *f = *state;
    pthread_t thread;
    stopped_clock = 0;
    start(f);
    assert_int_equal(pthread_create(&thread, NULL, monitor, f), 0);
    rest(150 * MS);
    __atomic_store_n(&f->stop, 1, __ATOMIC_SEQ_CST);
    rec_loop_interrupt(&f->loop);
    pthread_join(thread, NULL);
    assert_true(f->rounds <= 3); /* a stray wake-up of the condition variable is allowed */
}

static void the_last_transitions_are_kept_in_their_order(void **state) {
    struct fixture *f = *state;
    struct rec_transition out[REC_TRANSITIONS];
    stopped_clock = 0;
    f->loop = (struct stallrec_loop){0};
    assert_int_equal(rec_loop_transitions(&f->loop, out), 0);
    assert_null(rec_loop_mode(&f->loop));
    for (int i = 0; i < 20; i++) {
        stallrec_loop_wake(&f->loop);
        stallrec_loop_activity(&f->loop, STALLREC_ACTIVITY_BEFORE_SOURCES);
        stallrec_loop_turn(&f->loop);
        stallrec_loop_sleep(&f->loop);
    }
    stallrec_loop_mode(&f->loop, "modal");
    assert_string_equal(rec_loop_mode(&f->loop), "modal");
    const uint32_t turn[] = {REC_WENT_WAKE, STALLREC_ACTIVITY_BEFORE_SOURCES, REC_WENT_TURN,
                             REC_WENT_SLEEP};
    assert_int_equal(rec_loop_transitions(&f->loop, out), REC_TRANSITIONS);
    for (uint32_t i = 0; i < REC_TRANSITIONS; i++) {
        assert_int_equal(out[i].what, turn[i % 4]);
        assert_true(i == 0 || out[i].at_ns >= out[i - 1].at_ns);
    }
    /* A new transition is written over the oldest one before it is counted; that place is then left
     * out. */
    f->loop.trail_[f->loop.trailed_ % REC_TRANSITIONS] = out[31].at_ns + 16;
    assert_int_equal(rec_loop_transitions(&f->loop, out), REC_TRANSITIONS - 1);
}

static void a_sleep_that_samples_show_reaches_the_thread_once(void **state) {
    (void)state;
    const struct finder_sleep sleep = {.at = {.place = 1, .depth = 2, .inner = 3, .room = true},
                                       .from_ns = 40 * MS,
                                       .to_ns = 50 * MS};
    struct finder_sleep read;
    struct rec_loop_latest latest;
    memset(&latest, 0, sizeof latest);
    assert_false(rec_loop_read_asleep(&latest, 0, &read));
    rec_loop_join_sleep_async(&latest.asleep, &sleep.at, sleep.from_ns);
    rec_loop_join_sleep_async(&latest.asleep, &sleep.at, sleep.to_ns);
    assert_true(rec_loop_read_asleep(&latest, 50 * MS - 1, &read));
    assert_int_equal(read.at.place, sleep.at.place);
    assert_int_equal(read.at.depth, sleep.at.depth);
    assert_int_equal(read.at.inner, sleep.at.inner);
    assert_true(read.at.room);
    assert_int_equal(read.from_ns, sleep.from_ns);
    assert_int_equal(read.to_ns, sleep.to_ns);
    assert_false(rec_loop_read_asleep(&latest, 50 * MS, &read));
}

static void samples_that_are_apart_are_of_two_sleeps(void **state) {
    (void)state;
    const struct finder_place at = {.place = 1, .depth = 90};
    struct finder_place other = at;
    struct finder_sleep sleep = {.to_ns = 0};
    other.depth = 89;
    rec_loop_join_sleep_async(&sleep, &at, 100 * MS);
    rec_loop_join_sleep_async(&sleep, &at, 150 * MS);
    assert_int_equal(sleep.from_ns, 100 * MS);
    assert_int_equal(sleep.to_ns, 150 * MS);
    rec_loop_join_sleep_async(&sleep, &at, 300 * MS);
    assert_int_equal(sleep.from_ns, 300 * MS);
    rec_loop_continue_sleep_async(&sleep, 550 * MS); /* the thread has not run meanwhile */
    assert_int_equal(sleep.from_ns, 300 * MS);
    assert_int_equal(sleep.to_ns, 550 * MS);
    rec_loop_join_sleep_async(&sleep, &other, 600 * MS);
    assert_int_equal(sleep.from_ns, 600 * MS);
    assert_int_equal(sleep.at.depth, 89);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(edges_are_told_once_with_their_times),
        T(a_stretch_between_two_looks_is_skipped),
        T(a_stall_ends_at_its_first_edge_however_late_the_monitor_looks),
        T(an_end_that_comes_before_the_threshold_is_looked_at_is_kept),
        T(an_end_between_the_last_look_and_the_check_is_a_stall),
        T(stretches_before_the_monitor_waits_are_not_taken_for_one),
        T(an_end_that_nobody_asked_for_is_not_after_all_that_was_busy),
        T(short_stretches_are_told_as_the_time_they_took),
        T(a_loop_that_turns_often_does_not_wake_the_monitor),
        T(a_loop_that_turned_once_wakes_the_monitor_the_next_time),
        T(an_end_that_nobody_asked_for_is_the_last_edge),
        T(the_edge_that_begins_a_stall_does_not_end_it),
        T(a_message_ends_a_wait_now_or_later),
        T(activity_goes_into_the_dump),
        T(a_notification_restarts_the_clock_if_the_preset_says_so),
        T(a_parked_monitor_sees_every_stall_and_its_exact_end),
        T(an_idle_loop_lets_the_monitor_sleep),
        T(the_last_transitions_are_kept_in_their_order),
        T(a_sleep_that_samples_show_reaches_the_thread_once),
        T(samples_that_are_apart_are_of_two_sleeps),
#undef T
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
