/* From waits to edges, and what calls of waiting say. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "attach/wait_call.h"
#include "attach/wait_edges.h"

enum { LOOP = 0x1000, REPLY = 0x2000, SHALLOW = 9000, DEEP = 5000 };

static struct wait_edges e;
static struct rec_event event;

static bool enter(uint64_t place, uint64_t depth, bool blocks, uint64_t at) {
    return wait_edges_enter(&e, &(struct wait_begin){place, depth, blocks}, at, &event);
}

static int forget_edges(void **state) {
    (void)state;
    memset(&e, 0, sizeof e);
    return 0;
}

static void learn_loop(void) {
    for (uint64_t at = 1; at <= 3; at++) {
        assert_false(enter(LOOP, SHALLOW, true, at));
        assert_true(wait_edges_exit(&e, at, &event) == (at == 3));
    }
    assert_int_equal(event.value, REC_LOOP_WAKE);
}

static void loop_sleeps_in_its_wait_and_wakes_behind_it(void **state) {
    (void)state;
    learn_loop();
    assert_true(enter(LOOP, SHALLOW, true, 10));
    assert_int_equal(event.value, REC_LOOP_SLEEP);
    assert_int_equal(event.at_ns, 10);
    assert_true(wait_edges_exit(&e, 20, &event));
    assert_int_equal(event.value, REC_LOOP_WAKE);
    assert_int_equal(e.busy_ns, 20);
}

static void wait_elsewhere_is_part_of_the_turn(void **state) {
    (void)state;
    learn_loop();
    assert_false(enter(REPLY, DEEP, true, 10));
    assert_false(wait_edges_exit(&e, 20, &event));
    assert_int_equal(e.busy_ns, 3);
}

static void wait_without_time_is_a_turn(void **state) {
    (void)state;
    learn_loop();
    assert_true(enter(LOOP, SHALLOW, false, 10));
    assert_int_equal(event.value, REC_LOOP_TURN);
    assert_false(wait_edges_exit(&e, 11, &event));
}

static void thread_that_was_not_seen_counts_as_idle(void **state) {
    (void)state;
    learn_loop();
    assert_true(wait_edges_miss(&e, 10, &event));
    assert_int_equal(event.value, REC_LOOP_SLEEP);
    assert_false(wait_edges_miss(&e, 11, &event));
    assert_true(wait_edges_resume(&e, 20, &event));
    assert_int_equal(event.value, REC_LOOP_WAKE);
    assert_false(wait_edges_resume(&e, 21, &event));
}

static void thread_without_a_loop_has_no_edges(void **state) {
    (void)state;
    assert_false(wait_edges_resume(&e, 20, &event));
    assert_false(wait_edges_exit(&e, 20, &event));
}

static bool read_word(void *arg, uint64_t address, void *to, size_t size) {
    (void)address;
    memcpy(to, arg, size);
    return true;
}

static bool read_nothing(void *arg, uint64_t address, void *to, size_t size) {
    (void)arg, (void)address, (void)to, (void)size;
    return false;
}

static void timeout_of_each_call_is_found(void **state) {
    (void)state;
    const struct wait_call *call = wait_call_numbered(SYS_epoll_pwait);
    uint64_t args[6] = {5, 0, 16, 0, 0, 0}, zero[2] = {0, 0}, some[2] = {0, 7};
    assert_non_null(call);
    assert_false(wait_call_blocks(call, args, read_nothing, NULL));
    args[3] = UINT32_MAX; /* -1, as a register holds an int */
    assert_true(wait_call_blocks(call, args, read_nothing, NULL));
    call = wait_call_numbered(SYS_ppoll);
    args[2] = 0;
    assert_true(wait_call_blocks(call, args, read_nothing, NULL));
    args[2] = 0x1000;
    assert_false(wait_call_blocks(call, args, read_word, zero));
    assert_true(wait_call_blocks(call, args, read_word, some));
    assert_true(wait_call_blocks(call, args, read_nothing, NULL));
    assert_null(wait_call_numbered(SYS_read));
}

static void wait_for_no_descriptor_is_a_sleep(void **state) {
    (void)state;
    uint64_t args[6] = {0};
    assert_true(wait_call_is_sleep(wait_call_numbered(SYS_ppoll), args));
    args[1] = 1;
    assert_false(wait_call_is_sleep(wait_call_numbered(SYS_ppoll), args));
    assert_false(wait_call_is_sleep(wait_call_numbered(SYS_epoll_pwait), args));
}

static void arguments_stand_behind_the_number(void **state) {
    (void)state;
    uint64_t trace[5] = {0, 0, 11, 22, 33}, args[6];
    wait_call_arguments((const uint8_t *)trace, sizeof trace, args);
    assert_int_equal(args[0], 11);
    assert_int_equal(args[2], 33);
    assert_int_equal(args[3], 0);
}

int main(void) {
#define T(name) cmocka_unit_test_setup(name, forget_edges)
    const struct CMUnitTest tests[] = {
        T(loop_sleeps_in_its_wait_and_wakes_behind_it),
        T(wait_elsewhere_is_part_of_the_turn),
        T(wait_without_time_is_a_turn),
        T(thread_that_was_not_seen_counts_as_idle),
        T(thread_without_a_loop_has_no_edges),
        T(timeout_of_each_call_is_found),
        T(wait_for_no_descriptor_is_a_sleep),
        T(arguments_stand_behind_the_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
