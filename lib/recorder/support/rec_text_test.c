/* Tests the text forms of ids and times. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support/rec_text.h"

static void a_uuid_is_grouped_8_4_4_4_12_in_lower_case(void **state) {
    (void)state;
    static const uint8_t uuid[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x4d, 0xef,
                                     0x80, 0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa};
    char text[REC_UUID_TEXT];
    assert_string_equal(rec_uuid_text(uuid, text), "01234567-89ab-4def-8000-ffeeddccbbaa");
}

static void known_times_are_iso_8601_in_utc(void **state) {
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {1795255200123, "2026-11-21T10:00:00.123Z"},
        {951782399999, "2000-02-28T23:59:59.999Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {951868800000, "2000-03-01T00:00:00.000Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"}, /* 2100 has no 29 February */
        {-62167219200000, "0000-01-01T00:00:00.000Z"},
        {-62167219200001, "0000-01-01T00:00:00.000Z"},
        {INT64_MIN, "0000-01-01T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[REC_TIME_TEXT];
        assert_string_equal(rec_time_text(cases[i].ms, text), cases[i].text);
    }
}

static void every_day_of_ten_thousand_years_agrees_with_libc(void **state) {
    (void)state;
    for (int64_t day = -719528; day <= 2932896; day++) {
        char ours[REC_TIME_TEXT], libc[80];
        time_t t = (time_t)(day * 86400 + (day * 7919 % 86400 + 86400) % 86400);
        struct tm tm;
        assert_non_null(gmtime_r(&t, &tm));
        snprintf(libc, sizeof libc, "%04d-%02d-%02dT%02d:%02d:%02d.007Z", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        rec_time_text((int64_t)t * 1000 + 7, ours);
        if (strcmp(ours, libc) != 0) {
            fail_msg("%s, libc says %s", ours, libc);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uuid_is_grouped_8_4_4_4_12_in_lower_case),
        cmocka_unit_test(known_times_are_iso_8601_in_utc),
        cmocka_unit_test(every_day_of_ten_thousand_years_agrees_with_libc),
    };
    return cmocka_run_group_tests_name("rec_text", tests, NULL, NULL);
}
