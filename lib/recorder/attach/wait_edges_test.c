/* Tests how waits become edges of a loop. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "attach/wait_edges.h"

enum { LOOP = 0x1000, REPLY = 0x2000, SHALLOW = 9000, DEEP = 5000 };
#define MS UINT64_C(1000000)

static struct wait_edges e;
static struct rec_event told[64];
static unsigned told_count;

static void take_event(void *ctx, const struct rec_event *event) {
    (void)ctx;
    if (told_count < sizeof told / sizeof *told) {
        told[told_count++] = *event;
    }
}

static void begin_edges_at(bool sampled) {
    wait_edges_begin(&e, 250 * MS, sampled, &(struct wait_places){0}, take_event, NULL, 1);
}

static int forget_edges(void **state) {
    (void)state;
    told_count = 0;
    begin_edges_at(false);
    return 0;
}

static void enter(uint64_t place, uint64_t depth, bool blocking, uint64_t at) {
    struct finder_wait wait = {.place = place, .depth = depth, .blocking = blocking};
    wait.object.kind = FINDER_EPOLL;
    wait_edges_enter(&e, &wait, at);
}

static unsigned count_told(enum rec_event_kind kind) {
    unsigned n = 0;
    for (unsigned i = 0; i < told_count; i++) {
        n += told[i].kind == kind;
    }
    return n;
}

/* Makes waits of 100 ms with pauses of 400 ms until the loop is known. */
static void learn_loop(void) {
    for (uint64_t i = 1; !e.known; i++) {
        assert_true(i < 10);
        enter(LOOP, SHALLOW, true, i * 500 * MS);
        wait_edges_exit(&e, i * 500 * MS + 100 * MS);
    }
}

static void nothing_is_known_at_first(void **state) {
    (void)state;
    assert_int_equal(told_count, 1);
    assert_int_equal(told[0].kind, REC_EVENT_DOUBT);
    assert_false(e.known);
    assert_true(e.busy);
}

static void loop_sleeps_in_its_wait_and_wakes_behind_it(void **state) {
    (void)state;
    learn_loop();
    told_count = 0;
    enter(LOOP, SHALLOW, true, 9000 * MS);
    assert_int_equal(told_count, 1);
    assert_int_equal(told[0].value, REC_LOOP_SLEEP);
    assert_int_equal(told[0].at_ns, 9000 * MS);
    wait_edges_exit(&e, 9001 * MS);
    assert_int_equal(told[1].value, REC_LOOP_WAKE);
    assert_int_equal(e.busy_ns, 9001 * MS);
    assert_int_equal(wait_edges_place(&e), LOOP);
}

/* This happens after SIGSTOP, which interrupts a poll, and SIGCONT, after which the poll
 * continues. */
static void wait_that_goes_on_is_idle_until_it_ends(void **state) {
    (void)state;
    learn_loop();
    enter(LOOP, SHALLOW, true, 9000 * MS);
    wait_edges_exit(&e, 9100 * MS);
    told_count = 0;
    wait_edges_rest(&e, 9120 * MS);
    wait_edges_rest(&e, 9140 * MS);
    assert_int_equal(told_count, 1);
    assert_int_equal(told[0].value, REC_LOOP_SLEEP);
    assert_int_equal(told[0].at_ns, 9120 * MS);
    assert_false(e.busy);
    wait_edges_exit(&e, 9500 * MS);
    assert_int_equal(told_count, 2);
    assert_int_equal(told[1].value, REC_LOOP_WAKE);
    assert_int_equal(e.busy_ns, 9500 * MS);
}

static void what_was_before_the_loop_was_known_is_told(void **state) {
    (void)state;
    learn_loop();
    assert_int_equal(count_told(REC_EVENT_ATTRIBUTE), 1);
    assert_int_equal(count_told(REC_EVENT_ATTRIBUTED), 1);
    assert_true(count_told(REC_EVENT_PAST_IDLE) >= 2);
}

/* Was a past idle time that has this time reported? */
static bool was_idle_at(uint64_t at) {
    for (unsigned i = 0; i < told_count; i++) {
        if (told[i].kind == REC_EVENT_PAST_IDLE && told[i].value <= at && told[i].mark_ns >= at) {
            return true;
        }
    }
    return false;
}

static void no_stretch_lasts_over_a_missed_wait(void **state) {
    (void)state;
    begin_edges_at(true);
    wait_edges_miss(&e, 300 * MS); /* still part of the launch */
    enter(LOOP, SHALLOW, true, 500 * MS);
    wait_edges_exit(&e, 600 * MS);
    wait_edges_miss(&e, 1100 * MS);
    wait_edges_resume(&e, 1100 * MS);
    for (uint64_t i = 3; !e.known && i < 10; i++) {
        enter(LOOP, SHALLOW, true, i * 500 * MS);
        wait_edges_exit(&e, i * 500 * MS + 100 * MS);
    }
    assert_true(e.known);
    assert_false(was_idle_at(300 * MS));
    assert_true(was_idle_at(550 * MS));
    assert_false(was_idle_at(900 * MS));
    assert_true(was_idle_at(1100 * MS));
    assert_false(was_idle_at(1300 * MS));
}

/* Turns while the thread turns too often to be read: from 9 s on nothing is read for pause_ms, and
 * the thread is then seen busy for busy_ms. */
static void pause_reading(uint64_t pause_ms, uint64_t busy_ms) {
    wait_edges_exit(&e, 9000 * MS);
    wait_edges_miss(&e, 9000 * MS);
    wait_edges_read(&e, (9000 + pause_ms) * MS);
    wait_edges_resume(&e, (9000 + pause_ms) * MS);
    enter(LOOP, SHALLOW, true, (9000 + pause_ms + busy_ms) * MS);
}

static void pause_in_reading_that_may_hide_a_stall_is_not_watched(void **state) {
    static const struct {
        uint64_t pause_ms, busy_ms, unwatched_ms, hidden;
    } cases[] = {{50, 190, 0, 0}, {50, 210, 260, 1}, {50, 300, 50, 0}, {290, 10, 300, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_edges_at(false);
        learn_loop();
        enter(LOOP, SHALLOW, true, 8900 * MS);
        pause_reading(cases[i].pause_ms, cases[i].busy_ms);
        assert_int_equal(e.unwatched_ns, cases[i].unwatched_ms * MS);
        assert_int_equal(e.hidden, cases[i].hidden);
        assert_int_equal(e.longest_ns, cases[i].pause_ms * MS);
    }
}

static void lost_time_is_no_part_of_the_pause_after_it(void **state) {
    (void)state;
    begin_edges_at(false);
    learn_loop();
    enter(LOOP, SHALLOW, true, 8900 * MS);
    wait_edges_exit(&e, 9000 * MS);
    wait_edges_miss(&e, 9000 * MS);
    wait_edges_lose(&e, 9200 * MS);
    wait_edges_read(&e, 9250 * MS);
    wait_edges_resume(&e, 9250 * MS);
    enter(LOOP, SHALLOW, true, 9460 * MS);
    assert_int_equal(e.unwatched_ns, 260 * MS);
    assert_int_equal(e.longest_ns, 50 * MS);
}

/* Reads the waits of a busy thread for 2 ms, after each of `pauses` pauses of 48 ms. Returns the
 * time of the end. */
static uint64_t pause_often(uint64_t from_ms, unsigned pauses) {
    for (unsigned i = 0; i < pauses; i++, from_ms += 50) {
        wait_edges_miss(&e, from_ms * MS);
        wait_edges_read(&e, (from_ms + 48) * MS);
        wait_edges_resume(&e, (from_ms + 48) * MS);
        enter(REPLY, DEEP, true, (from_ms + 49) * MS);
        wait_edges_exit(&e, (from_ms + 49) * MS);
    }
    return from_ms;
}

static void turn_without_a_wait_of_the_loop_goes_on_over_pauses(void **state) {
    static const struct {
        unsigned pauses;
        uint64_t rest_ms, unwatched_ms, hidden;
    } cases[] = {
        {4, 10, 0, 0}, {4, 40, 250, 4}, {20, 10, 1020, 20}, {20, 400, 1008, 20}, {4, 400, 192, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_edges_at(false);
        learn_loop();
        enter(LOOP, SHALLOW, true, 8900 * MS);
        wait_edges_exit(&e, 8990 * MS);
        uint64_t at = pause_often(9000, cases[i].pauses);
        enter(LOOP, SHALLOW, true, (at + cases[i].rest_ms) * MS);
        assert_int_equal(e.unwatched_ns, cases[i].unwatched_ms * MS);
        assert_int_equal(e.hidden, cases[i].hidden);
    }
}

static void loop_that_is_seen_between_pauses_is_watched(void **state) {
    (void)state;
    begin_edges_at(false);
    learn_loop();
    enter(LOOP, SHALLOW, true, 8900 * MS);
    wait_edges_exit(&e, 8990 * MS);
    for (uint64_t at = 9000; at < 20000; at += 200) {
        pause_often(at, 4);
        enter(LOOP, SHALLOW, true, at * MS + 199 * MS);
        wait_edges_exit(&e, at * MS + 199 * MS);
    }
    wait_edges_finish(&e, 20000 * MS);
    assert_int_equal(e.unwatched_ns, 0);
    assert_int_equal(e.hidden, 0);
}

static void turn_over_pauses_ends_with_the_watching_or_the_program(void **state) {
    static void (*const ends[])(struct wait_edges *, uint64_t) = {wait_edges_finish,
                                                                  wait_edges_leave};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        begin_edges_at(false);
        learn_loop();
        enter(LOOP, SHALLOW, true, 8900 * MS);
        wait_edges_exit(&e, 8990 * MS);
        ends[i](&e, pause_often(9000, 5) * MS);
        assert_int_equal(e.unwatched_ns, 260 * MS);
    }
}

static void narrowed_reading_ends_no_turn(void **state) {
    (void)state;
    learn_loop();
    enter(LOOP, SHALLOW, true, 8900 * MS);
    wait_edges_exit(&e, 9000 * MS);
    enter(REPLY, DEEP, true, 9010 * MS);
    wait_edges_narrow(&e, 9011 * MS); /* the end of the reply is not seen */
    assert_false(e.blocks);
    assert_int_equal(e.busy_ns, 9000 * MS);
    enter(LOOP, SHALLOW, true, 9500 * MS);
    wait_edges_narrow(&e, 9510 * MS);
    assert_true(e.idle);
    wait_edges_exit(&e, 9600 * MS);
    assert_int_equal(e.busy_ns, 9600 * MS);
    assert_int_equal(e.unwatched_ns, 0);
}

/* The waits of a shallower place bring doubt, until the loop goes on. */
static void turn_over_pauses_ends_with_the_first_wait_in_doubt_that_is_the_loops(void **state) {
    (void)state;
    begin_edges_at(false);
    learn_loop();
    enter(LOOP, SHALLOW, true, 8900 * MS);
    wait_edges_exit(&e, 8990 * MS);
    uint64_t at = pause_often(9000, 10);
    enter(REPLY, SHALLOW + 64, true, at * MS);
    wait_edges_exit(&e, (at + 10) * MS);
    assert_false(e.known);
    assert_int_equal(e.unwatched_ns, 0);
    for (unsigned i = 1; !e.known && i < 20; i++) {
        enter(LOOP, SHALLOW, true, (at + 20 * i) * MS);
        wait_edges_exit(&e, (at + 20 * i + 10) * MS);
    }
    assert_true(e.known);
    assert_int_equal(e.unwatched_ns, 530 * MS);
    assert_int_equal(e.hidden, 10);
}

/* What is older than the times that are kept is not judged. */
static void only_the_latest_missed_waits_are_kept(void **state) {
    (void)state;
    begin_edges_at(true);
    for (uint64_t i = 1; i <= WAIT_BREAKS + 5; i++) {
        wait_edges_miss(&e, i * 1000 * MS);
    }
    for (uint64_t i = 80; !e.known; i++) {
        assert_true(i < 90);
        enter(LOOP, SHALLOW, true, i * 1000 * MS);
        wait_edges_exit(&e, i * 1000 * MS + 100 * MS);
    }
    for (unsigned i = 0; i < told_count; i++) {
        if (told[i].kind == REC_EVENT_ATTRIBUTE) {
            assert_int_equal(told[i].mark_ns, 5000 * MS);
        }
    }
}

/* A reply that is long in coming is seen again and again, but is one wait. */
static void long_reply_does_not_replace_a_loop(void **state) {
    (void)state;
    begin_edges_at(true);
    learn_loop();
    enter(LOOP, SHALLOW, true, 9000 * MS);
    wait_edges_exit(&e, 9100 * MS);
    told_count = 0;
    for (uint64_t at = 9100; at <= 19100; at += 400) {
        enter(REPLY, SHALLOW + 64, true, at * MS);
    }
    assert_int_equal(wait_edges_place(&e), LOOP);
    for (uint64_t i = 20; !e.known; i++) {
        assert_true(i < 40);
        wait_edges_miss(&e, i * 1000 * MS);
        enter(LOOP, SHALLOW, true, i * 1000 * MS);
    }
    assert_int_equal(wait_edges_place(&e), LOOP);
    assert_false(was_idle_at(9101 * MS));
    assert_false(was_idle_at(19900 * MS));
    assert_true(was_idle_at(20000 * MS));
}

/* Stretches with missed waits between them may be one stall. */
static void broken_time_as_long_as_a_stall_is_not_watched(void **state) {
    (void)state;
    begin_edges_at(true);
    learn_loop();
    enter(LOOP, SHALLOW, true, 9000 * MS);
    wait_edges_exit(&e, 9100 * MS);
    e.unwatched_ns = 0;
    for (uint64_t at = 9150; at <= 9300; at += 50) {
        wait_edges_miss(&e, at * MS);
        wait_edges_resume(&e, at * MS);
    }
    enter(LOOP, SHALLOW, true, 9320 * MS);
    assert_int_equal(e.unwatched_ns, 0);
    wait_edges_exit(&e, 9400 * MS);
    for (uint64_t at = 9450; at <= 9600; at += 50) {
        wait_edges_miss(&e, at * MS);
        wait_edges_resume(&e, at * MS);
    }
    wait_edges_miss(&e, 9900 * MS); /* the last stretch is a stall of its own */
    enter(LOOP, SHALLOW, true, 9900 * MS);
    assert_int_equal(e.unwatched_ns, 0);
    wait_edges_exit(&e, 10000 * MS);
    for (uint64_t at = 10050; at <= 10600; at += 50) {
        wait_edges_miss(&e, at * MS);
        wait_edges_resume(&e, at * MS);
    }
    enter(LOOP, SHALLOW, true, 10600 * MS);
    assert_int_equal(e.unwatched_ns, 600 * MS);
}

static void broken_time_before_the_loop_was_known_is_not_watched(void **state) {
    (void)state;
    begin_edges_at(true);
    enter(LOOP, SHALLOW, true, 500 * MS);
    wait_edges_exit(&e, 600 * MS);
    for (uint64_t at = 700; at <= 1500; at += 100) {
        wait_edges_miss(&e, at * MS);
        wait_edges_resume(&e, at * MS);
    }
    for (uint64_t i = 0; !e.known && i < 10; i++) {
        enter(LOOP, SHALLOW, true, (1600 + 200 * i) * MS);
        wait_edges_exit(&e, (1700 + 200 * i) * MS);
    }
    assert_true(e.known);
    assert_int_equal(e.unwatched_ns, 1000 * MS);
}

static void wait_elsewhere_is_part_of_the_turn(void **state) {
    (void)state;
    learn_loop();
    uint64_t since = e.busy_ns;
    told_count = 0;
    enter(REPLY, DEEP, true, 9000 * MS);
    wait_edges_exit(&e, 9100 * MS);
    assert_int_equal(told_count, 0);
    assert_int_equal(e.busy_ns, since);
}

static void wait_without_time_is_a_turn(void **state) {
    (void)state;
    learn_loop();
    told_count = 0;
    enter(LOOP, SHALLOW, false, 9000 * MS);
    assert_int_equal(told[0].value, REC_LOOP_TURN);
    wait_edges_exit(&e, 9000 * MS);
    assert_int_equal(told_count, 1);
}

static void thread_that_was_not_seen_counts_as_idle(void **state) {
    (void)state;
    learn_loop();
    told_count = 0;
    wait_edges_miss(&e, 9000 * MS);
    assert_int_equal(told[0].value, REC_LOOP_SLEEP);
    wait_edges_miss(&e, 9001 * MS);
    assert_int_equal(told_count, 1);
    wait_edges_resume(&e, 9002 * MS);
    assert_int_equal(told[1].value, REC_LOOP_WAKE);
    wait_edges_resume(&e, 9003 * MS);
    assert_int_equal(told_count, 2);
}

static void what_was_not_seen_before_the_loop_is_not_judged(void **state) {
    (void)state;
    enter(LOOP, SHALLOW, true, 500 * MS);
    wait_edges_exit(&e, 600 * MS);
    wait_edges_miss(&e, 700 * MS);
    wait_edges_resume(&e, 5000 * MS);
    assert_int_equal(count_told(REC_EVENT_DOUBT), 2);
    for (uint64_t i = 1; !e.known && i < 10; i++) {
        enter(LOOP, SHALLOW, true, (5000 + i * 100) * MS);
        wait_edges_exit(&e, (5050 + i * 100) * MS);
    }
    for (unsigned i = 0; i < told_count; i++) {
        assert_true(told[i].kind != REC_EVENT_PAST_IDLE || told[i].value >= 5000 * MS);
    }
}

/* A shell with readline waits so: it polls often while a line is typed. */
static void loop_is_found_although_waits_are_missed_time_and_again(void **state) {
    (void)state;
    for (uint64_t i = 1; i < 4; i++) {
        assert_false(e.known);
        enter(LOOP, SHALLOW, true, i * 1000 * MS);
        wait_edges_exit(&e, i * 1000 * MS + 500 * MS);
        wait_edges_miss(&e, i * 1000 * MS + 600 * MS);
        wait_edges_resume(&e, i * 1000 * MS + 700 * MS);
    }
    assert_true(e.known);
}

int main(void) {
#define T(name) cmocka_unit_test_setup(name, forget_edges)
    const struct CMUnitTest tests[] = {
        T(nothing_is_known_at_first),
        T(loop_sleeps_in_its_wait_and_wakes_behind_it),
        T(wait_that_goes_on_is_idle_until_it_ends),
        T(what_was_before_the_loop_was_known_is_told),
        T(no_stretch_lasts_over_a_missed_wait),
        T(pause_in_reading_that_may_hide_a_stall_is_not_watched),
        T(lost_time_is_no_part_of_the_pause_after_it),
        T(turn_without_a_wait_of_the_loop_goes_on_over_pauses),
        T(loop_that_is_seen_between_pauses_is_watched),
        T(turn_over_pauses_ends_with_the_watching_or_the_program),
        T(narrowed_reading_ends_no_turn),
        T(turn_over_pauses_ends_with_the_first_wait_in_doubt_that_is_the_loops),
        T(only_the_latest_missed_waits_are_kept),
        T(long_reply_does_not_replace_a_loop),
        T(broken_time_as_long_as_a_stall_is_not_watched),
        T(broken_time_before_the_loop_was_known_is_not_watched),
        T(wait_elsewhere_is_part_of_the_turn),
        T(wait_without_time_is_a_turn),
        T(thread_that_was_not_seen_counts_as_idle),
        T(what_was_not_seen_before_the_loop_is_not_judged),
        T(loop_is_found_although_waits_are_missed_time_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
