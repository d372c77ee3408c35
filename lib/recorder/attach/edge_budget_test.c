/* Tests which events are read for a thread that waits often, seldom, or for locks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "attach/edge_budget.h"

#define MS UINT64_C(1000000)

static unsigned number_of(const char *name) {
    const struct wait_call *call;
    for (unsigned i = 0; (call = wait_call_at(i)) != NULL; i++) {
        if (strcmp(call->name, name) == 0) {
            return i;
        }
    }
    fail_msg("no call %s", name);
    return 0;
}

/* Simulates a thread that waits `waits` times by one call between two looks, for `looks` looks.
 * Returns all changes that these looks report. */
static unsigned run(struct edge_budget *b, uint64_t *now, const char *name, unsigned waits,
                    unsigned looks) {
    const struct wait_call *call = wait_call_at(number_of(name));
    unsigned changes = 0;
    for (unsigned i = 0; i < looks; i++) {
        for (unsigned k = 0; k < waits && !b->paused; k++) {
            edge_budget_enter(b, call, *now);
            edge_budget_exit(b, call);
        }
        *now = b->look_ns > *now ? b->look_ns : *now + 1;
        changes |= edge_budget_look(b, false, 0, false, *now);
    }
    return changes;
}

static uint32_t bit_of(const char *name) {
    return UINT32_C(1) << number_of(name);
}

static struct edge_budget begun(uint64_t *now) {
    struct edge_budget b;
    *now = 5000 * MS;
    edge_budget_begin(&b, *now);
    return b;
}

static void rare_waits_are_all_read(void **state) {
    (void)state;
    uint64_t now;
    struct edge_budget b = begun(&now);
    uint32_t all = b.calls;
    assert_int_equal(run(&b, &now, "epoll_pwait", 2, 100), 0);
    assert_int_equal(b.calls, all);
    assert_true(b.sleeps);
    assert_int_equal(b.limits, 0);
}

static void loop_that_turns_often_is_read_for_its_own_call(void **state) {
    (void)state;
    uint64_t now;
    struct edge_budget b = begun(&now);
    run(&b, &now, "ppoll", 1, 1);
    run(&b, &now, "epoll_pwait", 40, 2);
    assert_int_equal(b.calls, bit_of("epoll_pwait") | bit_of("ppoll"));
    assert_false(b.sleeps);
    run(&b, &now, "epoll_pwait", 40, 50);
    assert_int_equal(b.calls, bit_of("epoll_pwait"));
    assert_int_equal(b.limits, 0);
    run(&b, &now, "epoll_pwait", 5, 2);
    assert_true(b.sleeps);
    assert_int_equal(b.calls, bit_of("epoll_pwait"));
    assert_int_equal(run(&b, &now, "epoll_pwait", 1, 1), EDGE_BUDGET_WIDENED);
    assert_true(b.sleeps);
}

static void thread_that_is_busy_for_long_is_read_whole_at_once(void **state) {
    (void)state;
    uint64_t now;
    struct edge_budget b = begun(&now);
    uint32_t all = b.calls;
    run(&b, &now, "epoll_pwait", 40, 10);
    assert_int_equal(edge_budget_look(&b, true, 0, false, now + 1), EDGE_BUDGET_WIDENED);
    assert_int_equal(b.calls, all);
    assert_true(b.sleeps);
}

static void too_many_waits_are_read_a_few_at_a_time(void **state) {
    (void)state;
    uint64_t now;
    struct edge_budget b = begun(&now);
    assert_int_equal(run(&b, &now, "epoll_pwait", 500, 1), EDGE_BUDGET_PAUSED);
    assert_int_equal(b.calls, 0);
    assert_int_equal(b.look_ns, now + EDGE_BUDGET_LOOK_MS * MS);
    assert_int_equal(run(&b, &now, "epoll_pwait", 0, 1), EDGE_BUDGET_RESUMED);
    assert_int_equal(b.calls, bit_of("epoll_pwait"));
    assert_int_equal(run(&b, &now, "epoll_pwait", 9, 1), EDGE_BUDGET_PAUSED);
    run(&b, &now, "epoll_pwait", 0, 1);
    run(&b, &now, "epoll_pwait", 0, 60); /* the waits have become few */
    assert_false(b.limited);
    assert_false(b.often);
}

static void lost_records_are_too_many(void **state) {
    (void)state;
    uint64_t now;
    struct edge_budget b = begun(&now);
    edge_budget_lose(&b);
    assert_int_equal(edge_budget_look(&b, false, 0, false, now + 1), EDGE_BUDGET_PAUSED);
    assert_false(b.lost);
}

static void locks_are_not_read_for_longer_each_time(void **state) {
    (void)state;
    uint64_t now, off[3];
    struct edge_budget b = begun(&now);
    for (unsigned i = 0; i < 3; i++) {
        run(&b, &now, "futex", 200, 1);
        assert_true(b.no_conditions);
        assert_int_equal(b.calls & bit_of("futex"), 0);
        assert_false(b.paused);
        off[i] = b.conditions_ns - now;
        unsigned changes = 0;
        for (unsigned k = 0; k < 1000 && !changes; k++) {
            changes = run(&b, &now, "epoll_pwait", 1, 1) & EDGE_BUDGET_CONDITIONS;
        }
        assert_int_equal(changes, EDGE_BUDGET_CONDITIONS);
        assert_true(b.calls & bit_of("futex"));
    }
    assert_true(off[0] < off[1] && off[1] < off[2]);
}

static void conditions_of_the_loop_itself_are_read(void **state) {
    (void)state;
    uint64_t now;
    struct edge_budget b = begun(&now);
    for (unsigned k = 0; k < 200; k++) {
        edge_budget_exit(&b, wait_call_at(number_of("futex")));
    }
    assert_int_equal(edge_budget_look(&b, false, bit_of("futex"), false, now + 1),
                     EDGE_BUDGET_PAUSED);
    assert_false(b.no_conditions);
}

/* Simulates a loop on epoll that waits `own` times until the next look, while handlers poll
 * `others` times. */
static unsigned run_loop(struct edge_budget *b, uint64_t *now, unsigned own, unsigned others,
                         bool in_doubt) {
    for (unsigned i = 0; i < own; i++) {
        edge_budget_enter(b, wait_call_at(number_of("epoll_pwait")), *now);
    }
    for (unsigned i = 0; i < others; i++) {
        edge_budget_enter(b, wait_call_at(number_of("ppoll")), *now);
    }
    *now = b->look_ns > *now ? b->look_ns : *now + 1;
    return edge_budget_look(b, false, bit_of("epoll_pwait"), in_doubt, *now);
}

static void loop_that_waits_seldom_itself_is_read_in_the_pause(void **state) {
    (void)state;
    uint64_t now;
    struct edge_budget b = begun(&now);
    assert_int_equal(run_loop(&b, &now, 1, 1, false), 0);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(run_loop(&b, &now, 1, 100, false), EDGE_BUDGET_NARROWED);
        assert_int_equal(b.calls, bit_of("epoll_pwait"));
        assert_false(b.sleeps);
        assert_int_equal(run_loop(&b, &now, 1, 0, false), EDGE_BUDGET_WIDENED);
        assert_int_equal(b.calls, bit_of("epoll_pwait") | bit_of("ppoll"));
    }
    assert_int_equal(b.limits, 0);
}

static void loop_that_waits_often_itself_is_not_read_in_the_pause(void **state) {
    (void)state;
    uint64_t now;
    struct edge_budget b = begun(&now);
    assert_int_equal(run_loop(&b, &now, 1, 1, false), 0);
    assert_int_equal(run_loop(&b, &now, 40, 100, false), EDGE_BUDGET_PAUSED);
    assert_int_equal(b.calls, 0);
    assert_int_equal(run_loop(&b, &now, 0, 0, false), EDGE_BUDGET_RESUMED);
    assert_int_equal(run_loop(&b, &now, 0, 9, false), EDGE_BUDGET_NARROWED);
    assert_int_equal(run_loop(&b, &now, EDGE_BUDGET_WAITS, 0, false), EDGE_BUDGET_PAUSED);
    assert_int_equal(b.calls, 0);
    assert_int_equal(b.limits, 2);
}

static void waits_of_a_loop_in_doubt_are_read_with_all_others(void **state) {
    (void)state;
    uint64_t now;
    struct edge_budget b = begun(&now);
    assert_int_equal(run_loop(&b, &now, 1, 1, false), 0);
    assert_int_equal(run_loop(&b, &now, 1, 100, false), EDGE_BUDGET_NARROWED);
    assert_int_equal(edge_budget_look(&b, false, bit_of("epoll_pwait"), true, now + 1),
                     EDGE_BUDGET_WIDENED);
    assert_false(b.paused);
    assert_int_equal(run_loop(&b, &now, 1, 100, true), EDGE_BUDGET_PAUSED);
}

static void lost_records_may_be_the_loops(void **state) {
    (void)state;
    uint64_t now;
    struct edge_budget b = begun(&now);
    assert_int_equal(run_loop(&b, &now, 1, 1, false), 0);
    assert_int_equal(run_loop(&b, &now, 1, 100, false), EDGE_BUDGET_NARROWED);
    edge_budget_lose(&b);
    assert_int_equal(run_loop(&b, &now, 1, 0, false), EDGE_BUDGET_PAUSED);
    assert_int_equal(run_loop(&b, &now, 1, 0, false), EDGE_BUDGET_RESUMED);
    edge_budget_lose(&b);
    assert_int_equal(run_loop(&b, &now, 0, 100, false), EDGE_BUDGET_PAUSED);
}

int main(void) {
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(rare_waits_are_all_read),
        T(loop_that_turns_often_is_read_for_its_own_call),
        T(thread_that_is_busy_for_long_is_read_whole_at_once),
        T(too_many_waits_are_read_a_few_at_a_time),
        T(lost_records_are_too_many),
        T(locks_are_not_read_for_longer_each_time),
        T(conditions_of_the_loop_itself_are_read),
        T(loop_that_waits_seldom_itself_is_read_in_the_pause),
        T(loop_that_waits_often_itself_is_not_read_in_the_pause),
        T(waits_of_a_loop_in_doubt_are_read_with_all_others),
        T(lost_records_may_be_the_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
