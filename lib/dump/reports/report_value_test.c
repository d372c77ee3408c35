#include "dump/dump_support_test.h"
#include "dump/reports/report_private.h"

static void durations_are_read_in_many_languages(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"20 sec", 20000},
        {"3.5 sec", 3500},
        {"3,5 Sek.", 3500},
        {"20秒", 20000},
        {"2.5 秒", 2500},
        {"1,234 ms", 1234},
        {"1.234 ms", 1234},
        {"1 234 ms", 1234},
        {"1\u00a0234 ms", 1234},
        {"1\u202f234,5 ms", 1235},
        {"1'234 ms", 1234},
        {"1.234 sec", 1234},
        {"0,250 s", 250},
        {"0.250 ms", 0},
        {"1,234,567 ms", 1234567},
        {"1.234.567,8 ms", 1234568},
        {"250 毫秒", 250},
        {"3.2초", 3200},
        {"350밀리초", 350},
        {"٣٫٥ ث", 3500},
        {"۳٫۵ ثانیه", 3500},
        {"۳٬۵۰۰ میلی‌ثانیه", 3500},
        {"٢٠ ثانية", 20000},
        {"१२ से॰", 12000},
        {"2,5 с", 2500},
        {"2,5 сек.", 2500},
        {"350 мс", 350},
        {"20 שנ׳", 20000},
        {"\u200f20 שנ׳", 20000},
        {"5 วิ", 5000},
        {"１２秒", 12000},
        {"2 min", 120000},
        {"2 分", 120000},
        {"1 min, 30 sec", 90000},
        {"1 hr 2 min", 3720000},
        {"5 giây", 5000},
        {"5 dtk", 5000},
        {"5 sn", 5000},
        {"800 µs", 1},
        {"20", -1},
        {"", -1},
        {"sec", -1},
        {"20 parsecs", -1},
        {"-3 sec", -1},
        {"99999999999999999999 sec", -1},
        {"123456789012345678901234567890123 sec", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ms = report_duration(cases[i].text, strlen(cases[i].text));
        if (ms != cases[i].ms) {
            fail_msg("'%s' is %lld ms, not %lld", cases[i].text, (long long)ms,
                     (long long)cases[i].ms);
        }
    }
}

static void times_become_utc(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"2022-09-18 15:28:37.3451 +0900", "2022-09-18T06:28:37.345Z"},
        {"2022-01-01 00:15:00 +0100", "2021-12-31T23:15:00.000Z"},
        {"2024-02-28 23:30:00.5 -0100", "2024-02-29T00:30:00.500Z"},
        {"2026-11-20T09:12:44.120000Z", "2026-11-20T09:12:44.120Z"},
        {"2026-11-20T09:12:44+05:30", "2026-11-20T03:42:44.000Z"},
        {"2026-11-20 09:30:00", "2026-11-20T09:30:00.000Z"},
        {"1970-01-01 00:00:00", "1970-01-01T00:00:00.000Z"},
        {"2026-13-20 09:30:00", NULL},
        {"2026-11-20", NULL},
        {"2026-11-20 09:30:00 PST", NULL},
        {"yesterday", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report r;
        report_init(&r, "x", 0, NULL);
        const char *got = report_time(&r, cases[i][0]);
        if (!cases[i][1]) {
            assert_null(got);
        } else {
            assert_non_null(got);
            assert_string_equal(got, cases[i][1]);
        }
        report_release(&r);
    }
    assert_int_equal(
        report_time_between("2022-09-18 15:28:25.5162 +0900", "2022-09-18 15:28:37.3451 +0900"),
        11829);
    assert_int_equal(report_time_between("2022-09-18 15:28:37 +0900", "2022-09-18 15:28:25 +0900"),
                     -1);
}

static void a_number_is_a_time_by_its_magnitude(void **state) {
    (void)state;
    struct report r;
    report_init(&r, "x", 0, NULL);
    assert_string_equal(report_unix_time(&r, 1478560643), "2016-11-07T23:17:23.000Z");
    assert_string_equal(report_unix_time(&r, 1478560643123), "2016-11-07T23:17:23.123Z");
    assert_string_equal(report_unix_time(&r, 1478560643123456), "2016-11-07T23:17:23.123Z");
    assert_null(report_unix_time(&r, UINT64_MAX));
    report_release(&r);
}

static void the_watchdog_tells_time_and_cpu(void **state) {
    (void)state;
    struct report r;
    report_init(&r, "x", 0, NULL);
    assert_true(report_watchdog(
        &r, "SPRINGBOARD, scene-create watchdog transgression: application<com.example.shop>:667 "
            "exhausted real (wall clock) time allowance of 19.97 seconds | ProcessVisibility: "
            "Background | WatchdogEvent: scene-create | WatchdogCPUStatistics: ( | \"Elapsed total "
            "CPU time (seconds): 15.290 (user 15.290, system 0.000), 28% CPU\", | \"Elapsed "
            "application CPU time (seconds): 0.367, 1% CPU\" | ) Code 0x8badf00d"));
    assert_string_equal(r.kind, "watchdog");
    assert_true(r.fatal);
    assert_int_equal(r.duration_ms, 19970);
    assert_int_equal(r.cpu_ms, 367);
    assert_string_equal(r.app_state, "background");
    assert_string_equal(r.activity, "scene-create");
    report_release(&r);
    /* An allowance of CPU time is no duration. */
    report_init(&r, "x", 0, NULL);
    assert_true(
        report_watchdog(&r, "code:0x8BADF00D exhausted CPU time allowance of 2.38 seconds"));
    assert_int_equal(r.duration_ms, -1);
    assert_int_equal(r.cpu_ms, -1);
    report_release(&r);
    /* The limit of an event is known where the text does not say it. */
    static const struct {
        const char *text;
        int64_t ms;
    } limits[] = {
        {"0x8badf00d | com.example.launcher failed to resume in time", 10000},
        {"0x8badf00d | com.example.shop failed to scene-create after 19.81s (launch took 0.19s of "
         "total time limit 20.00s)",
         20000},
        {"0x8badf00d | scene-update watchdog transgression", 10000},
        {"0x8badf00d | WatchdogEvent: scene-update | exhausted CPU time allowance of 2 seconds",
         -1},
        {"0x8badf00d | com.example.launcher", -1},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        report_init(&r, "x", 0, NULL);
        assert_true(report_watchdog(&r, limits[i].text));
        assert_int_equal(r.duration_ms, limits[i].ms);
        assert_int_equal(r.threshold_ms, limits[i].ms);
        report_release(&r);
    }
    report_init(&r, "x", 0, NULL);
    r.duration_ms = 12000;
    assert_true(report_watchdog(&r, "0x8badf00d failed to resume in time"));
    assert_int_equal(r.duration_ms, 12000);
    report_release(&r);
    report_init(&r, "x", 0, NULL);
    assert_false(report_watchdog(&r, "Namespace SIGNAL, Code 0xdead10cc"));
    assert_false(report_watchdog(&r, NULL));
    assert_null(r.kind);
    report_release(&r);
}

static void systems_and_processors_have_one_name(void **state) {
    (void)state;
    struct report r;
    report_init(&r, "x", 0, NULL);
    report_os(&r, "iPhone OS 16.0 (20A362)");
    assert_string_equal(r.os, "iOS 16.0");
    assert_string_equal(r.os_build, "20A362");
    report_os(&r, "Mac OS X 10.15.7 (Build 19H1030)");
    assert_string_equal(r.os, "Mac OS X 10.15.7");
    assert_string_equal(r.os_build, "19H1030");
    report_release(&r);
    assert_string_equal(report_code_type("ARM-64 (Native)"), "arm64");
    assert_string_equal(report_code_type("ARM"), "armv7");
    assert_string_equal(report_code_type("X86-64 (Translated)"), "x86_64");
    assert_null(report_code_type("PPC"));
    assert_string_equal(report_cpu(16777228, 2), "arm64e");
    assert_string_equal(report_cpu(16777228, -2147483646), "arm64e"); /* 0x80000002 */
    assert_string_equal(report_cpu(16777228, 0), "arm64");
    assert_string_equal(report_cpu(12, 11), "armv7s");
    assert_string_equal(report_cpu(16777223, 8), "x86_64h");
    assert_null(report_cpu(18, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read_in_many_languages),
        cmocka_unit_test(times_become_utc),
        cmocka_unit_test(a_number_is_a_time_by_its_magnitude),
        cmocka_unit_test(the_watchdog_tells_time_and_cpu),
        cmocka_unit_test(systems_and_processors_have_one_name),
    };
    return cmocka_run_group_tests_name("report_value", tests, NULL, NULL);
}
