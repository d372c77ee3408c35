/* Tests threads that idle in a sleep, a lock or a condition variable, and wait for descriptors in
 * their handlers alone. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "loop/loop_finder.h"

#define MS        UINT64_C(1000000)
#define THRESHOLD (250 * MS)

enum { AROUND = 0x1000, REPLY = 0x2000 };
enum { OUTER = 90000, NEAR = 89900, INNER = 80000, DEEP = 70000 };

/* A simulated thread, with a clock of its own. */
struct sleeper {
    struct loop_finder finder;
    uint64_t now;
    enum finder_verdict verdict;
    unsigned found, doubts;
    uint64_t place; /* place of the waits for other things than descriptors */
};

static struct sleeper sleeper(void) {
    struct sleeper s = {.now = 1000 * MS, .place = AROUND};
    finder_init(&s.finder, THRESHOLD, NULL, NULL);
    return s;
}

/* Lets the thread wait for this time. frames: number of the interpreter's frames. */
static void sleeper_waits(struct sleeper *s, enum finder_kind kind, uint64_t depth, uint32_t frames,
                          uint64_t ms) {
    struct finder_wait wait = {.place = kind == FINDER_SET ? REPLY : s->place,
                               .depth = depth,
                               .blocking = true,
                               .object = {.kind = kind, .lowest = 5}};
    enum finder_news news;
    if (kind == FINDER_SET) {
        finder_set_add(&wait.object, 5);
    }
    s->verdict = finder_begin(&s->finder, &wait, s->now);
    while ((news = finder_take_news(&s->finder)) != FINDER_NOTHING_NEW) {
        s->found += news == FINDER_FOUND;
        s->doubts += news == FINDER_DOUBTS;
    }
    s->now += ms * MS;
    if (finder_wants_inner(&s->finder, s->now)) {
        finder_tell_inner(&s->finder, frames);
    }
    finder_end(&s->finder, s->now);
    s->now += MS;
}

static uint64_t loop_place(const struct sleeper *s) {
    const struct finder_candidate *loop = finder_loop(&s->finder);
    return loop != NULL ? loop->place : 0;
}

static void turns(struct sleeper *s, unsigned n, enum finder_kind kind, uint64_t depth,
                  uint64_t idle_ms, uint64_t reply_ms) {
    for (unsigned i = 0; i < n; i++) {
        sleeper_waits(s, kind, depth, 0, idle_ms);
        sleeper_waits(s, FINDER_SET, INNER, 0, reply_ms);
    }
}

static void sleeps_that_take_most_of_the_time_leave_the_loop_unknown(void **state) {
    (void)state;
    static const struct {
        enum finder_kind kind;
        uint64_t depth;
    } same[] = {
        {FINDER_SLEEP, INNER}, {FINDER_SLEEP, DEEP}, {FINDER_LOCK, INNER}, {FINDER_SIGNALS, DEEP}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct sleeper s = sleeper();
        turns(&s, 20, same[i].kind, same[i].depth, 400, 5);
        assert_true(s.finder.doubt);
        assert_int_equal(s.doubts, 1);
    }
}

/* A busy machine makes the replies late: nine turns, in two of which a handler stalls. */
static void
sleeps_that_take_little_more_time_than_late_replies_leave_the_loop_unknown(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    for (unsigned i = 0; i < 9; i++) {
        turns(&s, 1, FINDER_LOCK, INNER, 400, i == 4 || i == 7 ? 640 : 180);
    }
    assert_true(s.finder.doubt);
    assert_int_equal(s.doubts, 1);
    finder_finish(&s.finder, s.now);
    assert_true(s.finder.doubt);
}

static void short_sleeps_or_those_that_take_less_than_the_polls_are_part_of_a_turn(void **state) {
    (void)state;
    struct sleeper shorter = sleeper(), less = sleeper();
    turns(&shorter, 40, FINDER_SLEEP, DEEP, 16, 5);
    turns(&less, 20, FINDER_SLEEP, DEEP, 300, 400);
    const struct sleeper *all[] = {&shorter, &less};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_int_equal(all[i]->doubts, 0);
        assert_false(all[i]->finder.doubt);
        assert_int_equal(loop_place(all[i]), REPLY);
    }
}

/* A wait for signals takes long only until the next burst of them. */
static void long_waits_of_which_most_are_short_leave_the_loop_unknown(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    for (unsigned i = 0; i < 10; i++) {
        turns(&s, 1, FINDER_SIGNALS, DEEP, 400, 2);
        turns(&s, 9, FINDER_SIGNALS, DEEP, 10, 2);
    }
    assert_true(s.finder.doubt);
}

/* What is told as one stall may be several sleeps. */
static void short_sleeps_that_follow_each_other_count_as_one(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    for (unsigned i = 0; i < 10; i++) {
        for (unsigned k = 0; k < 6; k++) {
            sleeper_waits(&s, FINDER_SLEEP, DEEP, 0, 50);
        }
        sleeper_waits(&s, FINDER_SET, INNER, 0, 20);
    }
    assert_true(s.finder.doubt);
}

/* An interpreter that adapts its code calls its sleep with ever another stack. */
static void sleeps_of_one_call_at_several_depths_leave_the_loop_unknown(void **state) {
    (void)state;
    struct sleeper s = sleeper(), apart = sleeper();
    for (unsigned i = 0; i < 10; i++) {
        turns(&s, 1, FINDER_SLEEP, OUTER - i * 16, 400, 50);
        turns(&apart, 1, FINDER_SLEEP, OUTER - i * 1024, 400, 50);
    }
    assert_true(s.finder.doubt);
    assert_int_equal(s.doubts, 1);
    assert_false(apart.finder.doubt);
}

static void lock_taken_at_two_places_of_a_function_is_one_loop(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    for (unsigned i = 0; i < 20; i++) {
        turns(&s, 1, FINDER_LOCK, OUTER, 300, 12);
        s.place = i % 2 ? AROUND + 16 : AROUND;
    }
    sleeper_waits(&s, FINDER_LOCK, OUTER, 0, 300);
    assert_int_equal(s.verdict, FINDER_IDLE);
    assert_int_equal(s.finder.count, 2);
}

static void wait_that_is_clearly_around_the_polls_is_the_loop(void **state) {
    static const enum finder_kind kinds[] = {FINDER_SLEEP, FINDER_LOCK, FINDER_CONDITION,
                                             FINDER_SIGNALS};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct sleeper s = sleeper();
        struct finder_interval idle[16];
        uint64_t from;
        enum rec_past past;
        turns(&s, 8, kinds[i], OUTER, 300, 130);
        assert_int_equal(loop_place(&s), AROUND);
        assert_int_equal(s.verdict, FINDER_PART);
        assert_false(s.finder.doubt);
        sleeper_waits(&s, kinds[i], OUTER, 0, 300);
        assert_int_equal(s.verdict, FINDER_IDLE);
        finder_idle(&s.finder, idle, 16, &from, &past);
        assert_int_equal(past, REC_PAST_ANEW);
        assert_int_equal(idle[0].begin_ns, 1000 * MS);
        assert_int_equal(idle[0].end_ns, 1300 * MS);
    }
}

/* A signal handler polls in each of the sleeps. */
static void a_sleep_that_a_handlers_wait_interrupts_goes_on(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    const struct finder_wait sleep = {
        .place = AROUND, .depth = OUTER, .blocking = true, .object.kind = FINDER_SLEEP};
    for (unsigned i = 0; i < 10; i++) {
        finder_begin(&s.finder, &sleep, s.now);
        s.now += 100 * MS;
        const struct finder_interrupted wait = finder_interrupt(&s.finder);
        sleeper_waits(&s, FINDER_SET, INNER, 0, 20);
        finder_continue(&s.finder, &wait);
        s.now += 200 * MS;
        finder_end(&s.finder, s.now);
    }
    assert_int_equal(loop_place(&s), AROUND);
    assert_true(finder_loop(&s.finder)->waited_ns >= 3000 * MS);
}

/* So many other waits may come meanwhile that another candidate takes the place of the wait's. */
static void a_wait_whose_candidate_was_replaced_is_not_taken_up(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    sleeper_waits(&s, FINDER_SET, INNER, 0, 20);
    const struct finder_wait once = {
        .place = 0x77, .depth = INNER, .blocking = true, .object.kind = FINDER_CONDITION};
    finder_begin(&s.finder, &once, s.now);
    const struct finder_interrupted wait = finder_interrupt(&s.finder);
    finder_continue(&s.finder, &wait);
    assert_int_equal(s.finder.open, wait.open);
    s.finder.candidates[wait.open - 1].place = 0x78;
    finder_continue(&s.finder, &wait);
    assert_int_equal(s.finder.open, 0);
}

static void sleeps_within_the_turns_of_a_loop_are_none(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    for (unsigned i = 0; i < 40; i++) {
        sleeper_waits(&s, FINDER_SET, INNER, 0, 20);
        sleeper_waits(&s, FINDER_SLEEP, INNER - 64, 0, 30);
    }
    assert_int_equal(loop_place(&s), REPLY);
    assert_false(s.finder.doubt);
}

static void sleeps_alone_are_no_loop(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    for (unsigned i = 0; i < 40; i++) {
        sleeper_waits(&s, FINDER_SLEEP, OUTER, 0, 300);
    }
    finder_finish(&s.finder, s.now);
    assert_null(finder_loop(&s.finder));
}

static void wait_around_that_takes_as_long_as_the_polls_leaves_all_unknown(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    struct finder_interval idle[16];
    uint64_t from;
    enum rec_past past;
    turns(&s, 8, FINDER_SLEEP, OUTER, 300, 300);
    assert_true(s.finder.doubt);
    assert_int_equal(s.doubts, 1);
    assert_int_equal(finder_idle(&s.finder, idle, 16, &from, &past), 1);
    assert_int_equal(past, REC_PAST_ANEW);
    assert_true(idle[0].unknown);
    finder_finish(&s.finder, s.now);
    assert_true(s.finder.doubt);
    /* Now the sleeps are clearly the thread's idle time. */
    turns(&s, 12, FINDER_SLEEP, OUTER, 2000, 30);
    assert_int_equal(loop_place(&s), AROUND);
    assert_false(s.finder.doubt);
}

static void short_sleeps_around_a_loop_are_no_loop(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    turns(&s, 40, FINDER_SLEEP, OUTER, 10, 300);
    assert_int_equal(loop_place(&s), REPLY);
    assert_false(s.finder.doubt);
}

static void wait_that_is_a_little_shallower_is_in_doubt_once_it_recurs_often(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    for (unsigned i = 0; i < 8; i++) {
        sleeper_waits(&s, FINDER_SLEEP, OUTER, 0, 300);
        sleeper_waits(&s, FINDER_SET, NEAR, 0, 30);
    }
    assert_int_equal(loop_place(&s), REPLY);
    assert_false(s.finder.doubt);
    for (unsigned i = 0; i < 4; i++) {
        sleeper_waits(&s, FINDER_SLEEP, OUTER, 0, 300);
        sleeper_waits(&s, FINDER_SET, NEAR, 0, 30);
    }
    assert_true(s.finder.doubt);
}

/* The calls of an interpreter's programs need no stack. */
static void frames_of_an_interpreter_tell_what_is_around(void **state) {
    (void)state;
    struct sleeper s = sleeper(), within = sleeper();
    for (unsigned i = 0; i < 8; i++) {
        uint64_t adapted = i < 5 ? 0 : 80;
        sleeper_waits(&s, FINDER_LOCK, NEAR - adapted, 3, 300);
        sleeper_waits(&s, FINDER_SET, OUTER, 5, 130);
        sleeper_waits(&within, FINDER_LOCK, OUTER, 5, 300);
        sleeper_waits(&within, FINDER_SET, NEAR, 3, 130);
    }
    assert_int_equal(loop_place(&s), AROUND);
    assert_false(s.finder.doubt);
    assert_int_equal(loop_place(&within), REPLY);
    assert_false(within.finder.doubt);
}

static void lock_of_a_handler_is_part_of_a_turn(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    for (unsigned i = 0; i < 8; i++) {
        sleeper_waits(&s, FINDER_LOCK, NEAR, 3, 300);
        sleeper_waits(&s, FINDER_SET, OUTER, 5, 30);
    }
    struct finder_wait wait = {.place = AROUND,
                               .depth = NEAR,
                               .inner = 6,
                               .blocking = true,
                               .object = {.kind = FINDER_LOCK}};
    assert_int_equal(finder_begin(&s.finder, &wait, s.now), FINDER_PART);
    finder_end(&s.finder, s.now + MS);
    wait.inner = 3;
    assert_int_equal(finder_begin(&s.finder, &wait, s.now + 2 * MS), FINDER_IDLE);
    finder_end(&s.finder, s.now + 20 * MS);
    wait.inner = 0; /* the number is not known when the wait begins, and told later */
    assert_int_equal(finder_begin(&s.finder, &wait, s.now + 22 * MS), FINDER_IDLE);
    assert_true(finder_wants_inner(&s.finder, s.now + 40 * MS));
    assert_false(finder_tell_inner(&s.finder, 6));
    finder_end(&s.finder, s.now + 50 * MS);
}

/* Lets the thread sleep for this time in a call that only samples show, every 50 ms from 100 ms
 * on. */
static void sleeper_sleeps_unseen(struct sleeper *s, uint64_t depth, uint32_t frames, uint64_t ms) {
    const struct finder_sleep sleep = {.at = {.place = s->place, .depth = depth, .inner = frames},
                                       .from_ns = s->now + 100 * MS,
                                       .to_ns = s->now + (ms - 1) / 50 * 50 * MS};
    s->now += ms * MS;
    finder_slept(&s->finder, &sleep, s->now);
}

static void unseen_turns(struct sleeper *s, unsigned n, uint64_t depth, uint64_t idle_ms,
                         uint64_t reply_ms) {
    for (unsigned i = 0; i < n; i++) {
        sleeper_sleeps_unseen(s, depth, 0, idle_ms);
        sleeper_waits(s, FINDER_SET, INNER, 0, reply_ms);
    }
}

static void sleep_that_only_samples_show_leaves_the_loop_unknown_if_it_is_as_far_out(void **state) {
    (void)state;
    static const uint64_t depths[] = {OUTER, INNER + 100, INNER};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        struct sleeper s = sleeper();
        unseen_turns(&s, 20, depths[i], 300, 50);
        assert_true(s.finder.doubt);
        assert_int_equal(s.doubts, 1);
        assert_int_equal(loop_place(&s), REPLY);
        assert_int_equal(s.finder.unseen_at, AROUND);
        finder_finish(&s.finder, s.now);
        assert_true(s.finder.doubt);
    }
}

static void sleep_that_only_samples_show_is_part_of_a_turn_if_it_is_further_in(void **state) {
    (void)state;
    struct sleeper deeper = sleeper(), coroutine = sleeper();
    unseen_turns(&deeper, 20, INNER - 8, 300, 50);
    unseen_turns(&coroutine, 20, 0, 300, 50);
    assert_int_equal(deeper.doubts + coroutine.doubts, 0);
    assert_int_equal(loop_place(&deeper), REPLY);
    assert_int_equal(loop_place(&coroutine), REPLY);
}

static void sleeps_that_only_samples_show_are_no_evidence_if_they_are_few_or_short(void **state) {
    (void)state;
    struct sleeper few = sleeper(), shorter = sleeper();
    unseen_turns(&few, 3, OUTER, 600, 50);
    turns(&few, 40, FINDER_SLEEP, DEEP, 3, 100);
    unseen_turns(&shorter, 40, INNER, 120, 400);
    assert_int_equal(few.doubts + shorter.doubts, 0);
}

/* A function that calls a library which polls waits itself for tasks that it gave to others. */
static void sleeps_that_are_rarer_than_turns_are_parts_of_turns(void **state) {
    (void)state;
    struct sleeper third = sleeper(), later = sleeper();
    for (unsigned i = 0; i < 60; i++) {
        sleeper_waits(&third, FINDER_SET, INNER, 0, 50);
        sleeper_waits(&later, FINDER_SET, INNER, 0, 50);
        if (i % 3 == 0) {
            sleeper_sleeps_unseen(&third, OUTER, 0, 600);
        }
    }
    assert_int_equal(third.doubts, 0);
    for (unsigned i = 0; i < 8; i++) { /* what was before the first of them does not matter */
        unseen_turns(&later, 1, OUTER, 600, 50);
        sleeper_waits(&later, FINDER_SET, INNER, 0, 50);
    }
    assert_int_equal(later.doubts, 1);
}

/* What idles in waits for room does so from its first turn on; a loop's turns may come to write. */
static void waits_for_room_that_begin_once_the_loop_is_believed_are_parts_of_turns(void **state) {
    (void)state;
    for (unsigned early = 0; early < 2; early++) {
        struct sleeper s = sleeper();
        for (unsigned i = 0; i < 40; i++) {
            const struct finder_sleep sleep = {
                .at = {.place = s.place, .depth = OUTER, .room = true},
                .from_ns = s.now + 100 * MS,
                .to_ns = s.now + 300 * MS};
            if (early == 1 || i >= 8) {
                s.now += 300 * MS;
                finder_slept(&s.finder, &sleep, s.now);
            }
            sleeper_waits(&s, FINDER_SET, INNER, 0, 50);
        }
        assert_int_equal(s.doubts, early);
        assert_int_equal(loop_place(&s), REPLY);
    }
}

static void sleeps_that_take_less_than_the_waits_of_the_loop_are_parts_of_turns(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    unseen_turns(&s, 40, OUTER, 300, 450);
    assert_int_equal(s.doubts, 0);
}

static void frames_of_an_interpreter_tell_where_samples_show_a_sleep(void **state) {
    (void)state;
    struct sleeper outer = sleeper(), inner = sleeper(), unknown = sleeper();
    for (unsigned i = 0; i < 20; i++) {
        sleeper_sleeps_unseen(&outer, DEEP, 2, 300);
        sleeper_waits(&outer, FINDER_SET, INNER, 4, 50);
        sleeper_sleeps_unseen(&inner, OUTER, 6, 300);
        sleeper_waits(&inner, FINDER_SET, INNER, 4, 50);
        sleeper_sleeps_unseen(&unknown, OUTER, 6, 300);
        sleeper_waits(&unknown, FINDER_SET, INNER, 0, 50);
    }
    assert_true(outer.finder.doubt);
    assert_int_equal(inner.doubts + unknown.doubts, 0);
}

static void loop_that_follows_takes_over(void **state) {
    (void)state;
    struct sleeper s = sleeper();
    turns(&s, 8, FINDER_SLEEP, OUTER, 300, 30);
    assert_int_equal(loop_place(&s), AROUND);
    for (unsigned i = 0; i < 40; i++) {
        sleeper_waits(&s, FINDER_SET, INNER, 0, 200);
    }
    assert_int_equal(loop_place(&s), REPLY);
    assert_int_equal(s.verdict, FINDER_IDLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_that_is_clearly_around_the_polls_is_the_loop),
        cmocka_unit_test(lock_taken_at_two_places_of_a_function_is_one_loop),
        cmocka_unit_test(long_waits_of_which_most_are_short_leave_the_loop_unknown),
        cmocka_unit_test(short_sleeps_that_follow_each_other_count_as_one),
        cmocka_unit_test(sleeps_of_one_call_at_several_depths_leave_the_loop_unknown),
        cmocka_unit_test(sleeps_that_take_most_of_the_time_leave_the_loop_unknown),
        cmocka_unit_test(
            sleeps_that_take_little_more_time_than_late_replies_leave_the_loop_unknown),
        cmocka_unit_test(short_sleeps_or_those_that_take_less_than_the_polls_are_part_of_a_turn),
        cmocka_unit_test(a_sleep_that_a_handlers_wait_interrupts_goes_on),
        cmocka_unit_test(a_wait_whose_candidate_was_replaced_is_not_taken_up),
        cmocka_unit_test(waits_for_room_that_begin_once_the_loop_is_believed_are_parts_of_turns),
        cmocka_unit_test(sleeps_within_the_turns_of_a_loop_are_none),
        cmocka_unit_test(sleeps_alone_are_no_loop),
        cmocka_unit_test(wait_around_that_takes_as_long_as_the_polls_leaves_all_unknown),
        cmocka_unit_test(short_sleeps_around_a_loop_are_no_loop),
        cmocka_unit_test(wait_that_is_a_little_shallower_is_in_doubt_once_it_recurs_often),
        cmocka_unit_test(frames_of_an_interpreter_tell_what_is_around),
        cmocka_unit_test(lock_of_a_handler_is_part_of_a_turn),
        cmocka_unit_test(loop_that_follows_takes_over),
        cmocka_unit_test(sleep_that_only_samples_show_leaves_the_loop_unknown_if_it_is_as_far_out),
        cmocka_unit_test(sleep_that_only_samples_show_is_part_of_a_turn_if_it_is_further_in),
        cmocka_unit_test(sleeps_that_only_samples_show_are_no_evidence_if_they_are_few_or_short),
        cmocka_unit_test(frames_of_an_interpreter_tell_where_samples_show_a_sleep),
        cmocka_unit_test(sleeps_that_are_rarer_than_turns_are_parts_of_turns),
        cmocka_unit_test(sleeps_that_take_less_than_the_waits_of_the_loop_are_parts_of_turns),
    };
    return cmocka_run_group_tests_name("finder_around", tests, NULL, NULL);
}
