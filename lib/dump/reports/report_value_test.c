#include "dump/dump_support_test.h"
#include "dump/reports/report_private.h"

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
    assert_string_equal(report_cpu(16777228, -2147483646),
                        "arm64e"); /* 0x80000002 as a signed number */
    assert_string_equal(report_cpu(16777228, 0), "arm64");
    assert_string_equal(report_cpu(12, 11), "armv7s");
    assert_string_equal(report_cpu(16777223, 8), "x86_64h");
    assert_null(report_cpu(18, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_become_utc),
        cmocka_unit_test(a_number_is_a_time_by_its_magnitude),
        cmocka_unit_test(systems_and_processors_have_one_name),
    };
    return cmocka_run_group_tests_name("report_value", tests, NULL, NULL);
}
