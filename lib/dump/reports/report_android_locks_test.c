/* Tests who holds the monitors of Android's traces. */
#include "dump/reports/report_support_test.h"

#define PROCESS "----- pid 4242 at 2026-11-20 09:12:44 -----\nCmd line: com.example.shop\n"
#define MAIN    PROCESS "\"main\" prio=5 tid=1 Blocked\n  at a.B.c(B.java:1)\n"
#define END     "----- end 4242 -----\n"

/* Expects that a thread of the trace waits for a monitor of this thread; -1: of an unknown one. */
static void expect_owner(const char *text, int64_t id, int64_t owner) {
    struct converted c = convert_text_of(text);
    const struct dump_wait *wait = &dump_thread_by_id(only_dump(&c), id)->waits_for;
    assert_string_equal(wait->kind, "monitor");
    assert_int_equal(wait->owner, owner);
    assert_null(only_dump(&c)->lack);
    release_converted(&c);
}

static void a_lock_that_another_thread_has_taken_is_its(void **state) {
    (void)state;
    static const char text[] =
        MAIN "  - waiting to lock <0x0a1b2c3d> (a java.lang.Object)\n  - locked <0x0e> (a X)\n\n"
             "\"x\" prio=5 tid=12 Blocked\n  at a.B.d(B.java:2)\n"
             "  - waiting to lock <@addr=0xe> (a X)\n  - locked <0x0a1b2c3d> (a "
             "java.lang.Object)\n\n" END;
    expect_owner(text, 1, 12);
    expect_owner(text, 12, 1);
    struct converted c = convert_text_of(text);
    struct dump_waits waits;
    dump_waits(only_dump(&c), dump_main_thread(only_dump(&c)), &waits);
    assert_int_equal(waits.count, 2);
    assert_int_equal(waits.back, 0); /* a deadlock */
    release_converted(&c);
}

static void what_the_waiting_thread_says_itself_decides(void **state) {
    (void)state;
    expect_owner(MAIN
                 "  - waiting to lock <0x0a> (a X) held by thread 7\n\n"
                 "\"x\" prio=5 tid=12 Native\n  at a.B.d(B.java:2)\n  - locked <0x0a> (a X)\n\n"
                 "\"y\" prio=5 tid=7 Native\n  at a.B.d(B.java:2)\n\n" END,
                 1, 7);
}

static void a_thread_that_is_to_be_notified_does_not_hold_the_lock(void **state) {
    (void)state;
    expect_owner(MAIN
                 "  - waiting to lock <0x0a> (a X)\n\n"
                 "\"x\" prio=5 tid=12 Waiting\n  at java.lang.Object.wait(Native method)\n"
                 "  - waiting on <0x0a> (a X)\n  at a.B.d(B.java:2)\n"
                 "  - locked <0x0a> (a X)\n\n"
                 "\"y\" prio=5 tid=7 Native\n  at a.B.d(B.java:2)\n  - locked <0x0a> (a X)\n\n" END,
                 1, 7);
}

/* A notified thread locks the monitor again, which the frame that called wait() had locked. */
static void a_thread_that_was_notified_waits_for_the_lock_again(void **state) {
    (void)state;
    static const char again[] =
        MAIN "  - waiting to lock <0x0a1b2c3d> (a X)\n\n"
             "\"x\" prio=5 tid=12 Blocked\n  at java.lang.Object.wait(Native method)\n"
             "  - waiting to lock <0x0a1b2c3d> (a X)\n  at a.B.d(B.java:2)\n"
             "  - locked <0x0a1b2c3d> (a X)\n\n" END;
    expect_owner(again, 1, -1);
    expect_owner(again, 12, -1);
    static const char told[] = MAIN
        "  - waiting to lock <0x0a1b2c3d> (a X)\n\n"
        "\"x\" prio=5 tid=12 Blocked\n  at java.lang.Object.wait(Native method)\n"
        "  - waiting to lock <0x0a1b2c3d> (a X) held by thread 7\n  at a.B.d(B.java:2)\n"
        "  - locked <0x0a1b2c3d> (a X)\n\n"
        "\"y\" prio=5 tid=7 Native\n  at a.B.d(B.java:2)\n  - locked <0x0a1b2c3d> (a X)\n\n" END;
    expect_owner(told, 1, 7);
    expect_owner(told, 12, 7);
}

static void a_lock_of_unknown_or_several_holders_is_nobodys(void **state) {
    (void)state;
    expect_owner(
        MAIN "  - waiting to lock an unknown object\n  - waiting to lock <0x0b> (a X)\n\n"
             "\"x\" prio=5 tid=12 Native\n  at a.B.d(B.java:2)\n  - locked <0x0a> (a X)\n\n" END,
        1, -1);
    expect_owner(MAIN
                 "  - waiting to lock <0x0a> (a X)\n\n"
                 "\"x\" prio=5 tid=12 Native\n  at a.B.d(B.java:2)\n  - locked <0x0a> (a X)\n\n"
                 "\"y\" prio=5 tid=7 Native\n  at a.B.d(B.java:2)\n  - locked <0x0a> (a X)\n\n" END,
                 1, -1);
    expect_owner(MAIN "  - waiting to lock <0x0a> (a X)\n  - locked <0x0a> (a X)\n\n" END, 1, -1);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_that_another_thread_has_taken_is_its),
        cmocka_unit_test(what_the_waiting_thread_says_itself_decides),
        cmocka_unit_test(a_thread_that_is_to_be_notified_does_not_hold_the_lock),
        cmocka_unit_test(a_thread_that_was_notified_waits_for_the_lock_again),
        cmocka_unit_test(a_lock_of_unknown_or_several_holders_is_nobodys),
    };
    return cmocka_run_group_tests_name("report_android_locks", tests, NULL, NULL);
}
