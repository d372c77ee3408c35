/* Tests which lock and which owner are read from a waiter's system call. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "darwin/xnu_wait.h"

#define LOCK UINT64_C(0x281234560)

/* Reads from a memory that holds one lock and nothing else. */
static bool read_lock(void *arg, uint64_t address, void *to, size_t size) {
    if (address != LOCK || size != 4) {
        return false;
    }
    memcpy(to, arg, size);
    return true;
}

static struct xnu_wait wait_in(uint32_t lock, uint64_t number, uint64_t operation,
                               uint64_t address) {
    uint8_t bytes[4] = {(uint8_t)lock, (uint8_t)(lock >> 8), (uint8_t)(lock >> 16),
                        (uint8_t)(lock >> 24)};
    struct memory memory = {bytes, read_lock};
    struct xnu_call call = {number, {operation, address, lock, 0x4711}};
    return xnu_wait_async(&memory, &call);
}

static void an_unfair_lock_names_its_owner_by_port(void **state) {
    (void)state;
    static const uint64_t numbers[] = {515, 544, 0x2000203, 0x2000220};
    for (size_t i = 0; i < 4; i++) {
        /* The lowest bit is the lock's own; names of ports have the two lowest set. */
        struct xnu_wait got = wait_in(0x1902, numbers[i], 0x01000002, LOCK);
        assert_int_equal(got.kind, REC_WAIT_MUTEX);
        assert_int_equal(got.address, LOCK);
        assert_int_equal(got.owner_port, 0x1903);
        assert_int_equal(got.owner_id, 0);
    }
}

static void a_lock_given_up_meanwhile_has_no_owner(void **state) {
    (void)state;
    struct xnu_wait got = wait_in(0, 515, 2, LOCK);
    assert_int_equal(got.kind, REC_WAIT_MUTEX);
    assert_int_equal(got.owner_port, 0);
}

static void a_thread_that_is_joined_is_named_by_port(void **state) {
    (void)state;
    struct xnu_wait got = wait_in(0x1903, 515, 0x01020002, LOCK); /* the word is the port's name
                                                                     itself */
    assert_int_equal(got.kind, REC_WAIT_THREAD);
    assert_int_equal(got.address, 0);
    assert_int_equal(got.owner_port, 0x1903);
}

static void a_pthread_mutex_in_a_lock_of_that_kind_names_its_owner_by_port(void **state) {
    (void)state;
    struct xnu_wait got = wait_in(0x1901, 515, 0x01000002, LOCK);
    assert_int_equal(got.kind, REC_WAIT_MUTEX);
    assert_int_equal(got.owner_port, 0x1903);
}

static void a_pthread_mutex_names_its_owner_by_id(void **state) {
    (void)state;
    struct xnu_wait got = wait_in(0, 301, LOCK, 0);
    assert_int_equal(got.kind, REC_WAIT_MUTEX);
    assert_int_equal(got.address, LOCK);
    assert_int_equal(got.owner_port, 0);
    assert_int_equal(got.owner_id, 0x4711);
}

static void other_calls_are_no_waits_for_a_lock(void **state) {
    (void)state;
    static const struct {
        uint64_t number, operation, address;
    } cases[] = {
        {515, 1, LOCK},           /* compare and wait, which has no owner */
        {515, 2, LOCK + 4},       /* this lock cannot be read */
        {4, 2, LOCK},             /* the call is write */
        {(uint64_t)-31, 2, LOCK}, /* mach_msg_trap of arm64 */
        {0x100001f, 2, LOCK},     /* mach_msg_trap of x86-64 */
        {0x1000203, 2, LOCK},     /* a Mach trap with the number of another class */
        {UINT64_C(0x100000203), 2, LOCK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xnu_wait got =
            wait_in(0x1903, cases[i].number, cases[i].operation, cases[i].address);
        assert_int_equal(got.kind, REC_WAIT_NONE);
        assert_int_equal(got.owner_port, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unfair_lock_names_its_owner_by_port),
        cmocka_unit_test(a_lock_given_up_meanwhile_has_no_owner),
        cmocka_unit_test(a_thread_that_is_joined_is_named_by_port),
        cmocka_unit_test(a_pthread_mutex_in_a_lock_of_that_kind_names_its_owner_by_port),
        cmocka_unit_test(a_pthread_mutex_names_its_owner_by_id),
        cmocka_unit_test(other_calls_are_no_waits_for_a_lock),
    };
    return cmocka_run_group_tests_name("xnu_wait", tests, NULL, NULL);
}
