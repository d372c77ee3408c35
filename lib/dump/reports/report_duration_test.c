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
        {"1,234 sec", 1234},
        {"2,000 sec", 2000000},
        {"2.000 sec", 2000},
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
        {"12 segundos", 12000},
        {"2 heures", 7200000},
        {"12 samples", -1},
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

static void a_total_is_in_whole_units(void **state) {
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {{"7,200 sec", 7200000},  {"7.200 s", 7200000}, {"1,234,567 sec", 1234567000},
                 {"700 sec", 700000},     {"7,2 s", 7200},      {"0.250 sec", 250},
                 {"1,234.5 sec", 1234500}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(report_total_duration(cases[i].text, strlen(cases[i].text)), cases[i].ms);
    }
}

static void a_sentence_tells_its_only_duration(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"Hang of 5.4 seconds", 5400},
        {"Hang detected with the duration of: 1,345 msec", 1345},
        {"lasted 12,345 ms", 12345},
        {"lasted 1,234,567 ms.", 1234567},
        {"lasted 1 345 ms", 1345},
        {"lasted 1\u00a0345 ms", 1345},
        {"lasted 1 min 20 sec", 80000},
        {"lasted 1 min, 20 sec, 5 ms (iOS 18.7)", 80005},
        {"lasted 1 hour and 2 minutes", 3720000},
        {"lasted 1m20s", 80000},
        {"lasted 2 sec, 100 ms", 2100},
        {"2 sec, 100 ms", 2100},
        {"0.9s", 900},
        {"a 5-second hang", 5000},
        {"3 hangs lasted 2 sec", 2000},
        {"on 18 2 sec", 2000},
        {"v53 sec 1.2 sec", 1200},
        {"350 мс", 350},
        {"1 min, 30 Sek.", 90000},
        {"1,345 msec, 250 msec", -1},
        {"2 sec of 10 sec", -1},
        {"2 sec, 5 of them", -1},
        {"lasted 2-3 sec", -1},
        {"lasted 0:20 min", -1},
        {"3 samples", -1},
        {"Total of 1073.76 MB", -1},
        {"no number", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ms = report_told_duration(cases[i].text, strlen(cases[i].text));
        if (ms != cases[i].ms) {
            fail_msg("'%s' is %lld ms, not %lld", cases[i].text, (long long)ms,
                     (long long)cases[i].ms);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read_in_many_languages),
        cmocka_unit_test(a_total_is_in_whole_units),
        cmocka_unit_test(a_sentence_tells_its_only_duration),
    };
    return cmocka_run_group_tests_name("report_duration", tests, NULL, NULL);
}
