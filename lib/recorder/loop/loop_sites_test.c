/* Which waits are taken for the event loop. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "loop/loop_sites.h"

enum { LOOP = 0x1000, REPLY = 0x2000, START = 0x3000, SHALLOW = 9000, DEEP = 5000, DEEPER = 4000 };

static void third_blocking_wait_at_the_shallowest_depth_makes_a_loop_site(void **state) {
    (void)state;
    struct sites s = {0};
    assert_int_equal(sites_judge(&s, LOOP, SHALLOW, true), SITE_NO);
    assert_int_equal(sites_judge(&s, LOOP, SHALLOW, true), SITE_NO);
    assert_int_equal(sites_judge(&s, LOOP, SHALLOW, true), SITE_ACCEPTED);
    assert_int_equal(sites_judge(&s, LOOP, SHALLOW, true), SITE_LOOP);
}

static void wait_that_does_not_block_does_not_count(void **state) {
    (void)state;
    struct sites s = {0};
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(sites_judge(&s, LOOP, SHALLOW, false), SITE_NO);
    }
    sites_judge(&s, LOOP, SHALLOW, true);
    sites_judge(&s, LOOP, SHALLOW, true);
    sites_judge(&s, LOOP, SHALLOW, true);
    assert_int_equal(sites_judge(&s, LOOP, SHALLOW, false), SITE_LOOP);
}

static void wait_for_a_reply_deeper_down_never_becomes_one(void **state) {
    (void)state;
    struct sites s = {0};
    sites_judge(&s, LOOP, SHALLOW, true);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(sites_judge(&s, REPLY, DEEP, true), SITE_NO);
    }
    sites_judge(&s, LOOP, SHALLOW, true);
    assert_int_equal(sites_judge(&s, LOOP, SHALLOW, true), SITE_ACCEPTED);
    assert_int_equal(sites_judge(&s, REPLY, DEEP, true), SITE_NO);
}

static void accepted_site_is_one_at_any_depth(void **state) {
    (void)state;
    struct sites s = {0};
    for (unsigned i = 0; i < SITES_SEEN; i++) {
        sites_judge(&s, LOOP, SHALLOW, true);
    }
    assert_int_equal(sites_judge(&s, LOOP, DEEPER, true), SITE_LOOP); /* a modal loop */
    assert_int_equal(sites_judge(&s, LOOP, DEEPER, false), SITE_LOOP);
}

static void waits_of_the_start_up_lose_to_the_loop(void **state) {
    (void)state;
    struct sites s = {0};
    for (unsigned i = 0; i < SITES_SEEN; i++) {
        sites_judge(&s, START, DEEP, true); /* a resolver, before there is a loop */
    }
    assert_int_equal(sites_judge(&s, START, DEEP, true), SITE_LOOP);
    sites_judge(&s, LOOP, SHALLOW, true);
    sites_judge(&s, LOOP, SHALLOW, true);
    assert_int_equal(sites_judge(&s, LOOP, SHALLOW, true), SITE_ACCEPTED);
    assert_int_equal(sites_judge(&s, START, DEEP, true), SITE_NO);
}

static void two_waits_of_one_loop_are_both_accepted(void **state) {
    (void)state;
    struct sites s = {0};
    unsigned accepted = 0;
    for (unsigned i = 0; i < SITES_SEEN; i++) {
        accepted += sites_judge(&s, LOOP, SHALLOW, true) == SITE_ACCEPTED;
        accepted += sites_judge(&s, LOOP + 64, SHALLOW, true) == SITE_ACCEPTED;
    }
    assert_int_equal(accepted, 2);
    assert_int_equal(sites_judge(&s, LOOP, SHALLOW, true), SITE_LOOP);
    assert_int_equal(sites_judge(&s, LOOP + 64, SHALLOW, true), SITE_LOOP);
}

static bool is_reply(void *arg, uint64_t address) {
    ++*(unsigned *)arg;
    return address == REPLY;
}

static void named_site_is_the_only_one_and_is_asked_for_once(void **state) {
    (void)state;
    unsigned asked = 0;
    struct sites s = {.named = is_reply, .named_arg = &asked};
    assert_int_equal(sites_judge(&s, REPLY, DEEP, true), SITE_ACCEPTED);
    assert_int_equal(sites_judge(&s, REPLY, DEEPER, false), SITE_LOOP);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(sites_judge(&s, LOOP, SHALLOW, true), SITE_NO);
    }
    assert_int_equal(asked, 2);
}

static void full_table_keeps_what_was_accepted(void **state) {
    (void)state;
    struct sites s = {0};
    for (unsigned i = 0; i < SITES_SEEN; i++) {
        sites_judge(&s, LOOP, SHALLOW, true);
    }
    for (unsigned i = 0; i < 4 * SITES_MAX; i++) {
        sites_judge(&s, 0x100000 + i * 16, SHALLOW, true);
    }
    assert_int_equal(sites_judge(&s, LOOP, SHALLOW, true), SITE_LOOP);
    assert_true(s.count <= SITES_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(third_blocking_wait_at_the_shallowest_depth_makes_a_loop_site),
        cmocka_unit_test(wait_that_does_not_block_does_not_count),
        cmocka_unit_test(wait_for_a_reply_deeper_down_never_becomes_one),
        cmocka_unit_test(accepted_site_is_one_at_any_depth),
        cmocka_unit_test(waits_of_the_start_up_lose_to_the_loop),
        cmocka_unit_test(two_waits_of_one_loop_are_both_accepted),
        cmocka_unit_test(named_site_is_the_only_one_and_is_asked_for_once),
        cmocka_unit_test(full_table_keeps_what_was_accepted),
    };
    return cmocka_run_group_tests_name("loop_sites", tests, NULL, NULL);
}
