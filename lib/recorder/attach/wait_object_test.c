/* Tests the table of waiting calls, and the objects for which they wait. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

#include "attach/wait_call.h"
#include "attach/wait_object.h"

static bool read_word(void *arg, uint64_t address, void *to, size_t size) {
    (void)address;
    memcpy(to, arg, size);
    return true;
}

static bool read_nothing(void *arg, uint64_t address, void *to, size_t size) {
    (void)arg, (void)address, (void)to, (void)size;
    return false;
}

static bool read_bytes(void *arg, uint64_t address, void *to, size_t size) {
    memcpy(to, (const uint8_t *)arg + address, size);
    return true;
}

static void timeout_of_each_call_is_found(void **state) {
    (void)state;
    const struct wait_call *call = wait_call_numbered(SYS_epoll_pwait);
    uint64_t args[6] = {5, 0, 16, 0, 0, 0}, zero[2] = {0, 0}, some[2] = {0, 7};
    assert_non_null(call);
    assert_false(wait_call_blocks(call, args, read_nothing, NULL));
    args[3] = UINT32_MAX; /* a timeout of -1, as a register holds an int */
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

static void wait_without_an_array_or_a_set_is_a_sleep(void **state) {
    (void)state;
    const int64_t numbers[] = {SYS_ppoll, SYS_pselect6, SYS_clock_nanosleep};
    uint64_t args[6] = {0};
    struct finder_object object;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct wait_call *call = wait_call_numbered(numbers[i]);
        assert_true(wait_call_is_sleep(call, args));
        assert_false(wait_call_is_loops(numbers[i], args));
        assert_true(wait_object_read(call, args, read_nothing, NULL, &object));
        assert_int_equal(object.kind, FINDER_SLEEP);
    }
    assert_false(wait_call_is_sleep(wait_call_numbered(SYS_epoll_pwait), args));
}

/* A loop may have no descriptor for now. */
static void wait_for_an_empty_array_or_set_is_one_for_descriptors(void **state) {
    (void)state;
    struct pollfd none = {.fd = -1};
    uint64_t word = 0, polls[6] = {0x1000, 0}, ignored[6] = {0x1000, 1},
             selects[6] = {0, 0, 0x1000};
    const struct wait_call *poll = wait_call_numbered(SYS_ppoll);
    const struct wait_call *select = wait_call_numbered(SYS_pselect6);
    struct finder_object object;
    assert_true(wait_call_is_loops(SYS_ppoll, polls) && wait_call_is_loops(SYS_pselect6, selects));
    assert_false(wait_object_read(poll, polls, read_nothing, NULL, &object));
    assert_true(object.kind == FINDER_SET && object.unread);
    assert_false(wait_object_read(poll, ignored, read_word, &none, &object));
    assert_true(object.kind == FINDER_SET && object.unread);
    assert_false(wait_object_read(select, selects, read_nothing, NULL, &object));
    selects[0] = 8;
    assert_false(wait_object_read(select, selects, read_word, &word, &object));
    assert_true(object.kind == FINDER_SET && object.unread);
}

static void mutex_is_no_condition(void **state) {
    (void)state;
    const struct wait_call *futex = wait_call_numbered(SYS_futex);
    uint64_t args[6] = {0x1000, FUTEX_WAIT_PRIVATE, 2};
    assert_true(wait_call_is_other(futex, args));
    args[1] = FUTEX_WAKE_PRIVATE;
    assert_true(wait_call_is_other(futex, args));
    args[1] = FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME;
    assert_false(wait_call_is_other(futex, args));
}

static void descriptors_of_poll_are_a_set(void **state) {
    (void)state;
    struct pollfd fds[2] = {{.fd = 70, .events = POLLIN}, {.fd = 5, .events = POLLOUT}};
    uint64_t args[6] = {0x1000, 2, 100};
    struct finder_object object;
    const struct wait_call *call = wait_call_numbered(SYS_ppoll);
    wait_object_read(call, args, read_word, fds, &object);
    assert_int_equal(object.kind, FINDER_SET);
    assert_int_equal(object.set[0], 1 << 5);
    assert_int_equal(object.set[1], 1 << 6);
    assert_int_equal(object.lowest, 5);
    fds[1].fd = INT32_MAX; /* by now the memory has other data than the array */
    wait_object_read(call, args, read_word, fds, &object);
    assert_int_equal(object.set[15], UINT64_MAX);
    wait_object_read(call, args, read_nothing, NULL, &object);
    assert_int_equal(object.set[3], UINT64_MAX);
}

static void array_that_was_read_before_tells_the_set_of_a_call_that_is_over(void **state) {
    (void)state;
    static struct wait_arrays arrays;
    const struct wait_call *call = wait_call_numbered(SYS_ppoll);
    uint64_t args[6] = {0x7f10, 1}, other[6] = {0x7f20, 1};
    struct finder_object loop = {.kind = FINDER_SET, .lowest = 3}, reply = {.kind = FINDER_SET};
    struct finder_object object = {.unread = true};
    finder_set_add(&loop, 3);
    finder_set_add(&reply, 5);
    assert_false(wait_arrays_recall(&arrays, call, args, false, &object));
    assert_true(object.unread);
    assert_true(wait_arrays_recall(&arrays, call, args, true, &loop));
    assert_true(wait_arrays_recall(&arrays, call, other, true, &reply));
    assert_true(wait_arrays_recall(&arrays, call, args, false, &object));
    assert_int_equal(object.set[0], 1 << 3);
    assert_false(object.unread);
    assert_true(wait_arrays_recall(&arrays, call, other, false, &object));
    assert_int_equal(object.set[0], 1 << 5);
    args[1] = 2; /* the array holds more now */
    assert_false(wait_arrays_recall(&arrays, call, args, false, &object));
}

static void descriptors_of_select_are_a_set(void **state) {
    (void)state;
    uint64_t words[2] = {0, 1 << 3};
    uint64_t args[6] = {3, 0, 8, 0, 0, 0};
    struct finder_object object;
    wait_object_read(wait_call_numbered(SYS_pselect6), args, read_bytes, words, &object);
    assert_int_equal(object.set[0], UINT64_MAX); /* descriptor 3 is not below the count of 3, so no
                                                    descriptor is known */
    args[0] = 4;
    wait_object_read(wait_call_numbered(SYS_pselect6), args, read_bytes, words, &object);
    assert_int_equal(object.set[0], 1 << 3);
}

static void epoll_and_condition_are_told_by_their_number(void **state) {
    (void)state;
    uint64_t args[6] = {7};
    struct finder_object object;
    wait_object_read(wait_call_numbered(SYS_epoll_pwait), args, read_nothing, NULL, &object);
    assert_true(object.kind == FINDER_EPOLL && object.id == 7);
    args[0] = 0x102c;
    wait_object_read(wait_call_numbered(SYS_futex), args, read_nothing, NULL, &object);
    assert_true(object.kind == FINDER_CONDITION && object.id == 0x1028);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeout_of_each_call_is_found),
        cmocka_unit_test(wait_without_an_array_or_a_set_is_a_sleep),
        cmocka_unit_test(wait_for_an_empty_array_or_set_is_one_for_descriptors),
        cmocka_unit_test(mutex_is_no_condition),
        cmocka_unit_test(descriptors_of_poll_are_a_set),
        cmocka_unit_test(array_that_was_read_before_tells_the_set_of_a_call_that_is_over),
        cmocka_unit_test(descriptors_of_select_are_a_set),
        cmocka_unit_test(epoll_and_condition_are_told_by_their_number),
        cmocka_unit_test(arguments_stand_behind_the_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
