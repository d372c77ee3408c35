#include "base/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define TEXT(s) (s), sizeof(s) - 1

static void decimal_takes_the_whole_text_or_nothing(void **state) {
    (void)state;
    uint64_t v = 99;
    assert_true(parse_u64(TEXT("0"), UINT64_MAX, &v));
    assert_true(v == 0);
    assert_true(parse_u64(TEXT("0042"), UINT64_MAX, &v));
    assert_true(v == 42);
    assert_true(parse_u64(TEXT("18446744073709551615"), UINT64_MAX, &v));
    assert_true(v == UINT64_MAX);
    v = 99;
    assert_false(parse_u64(TEXT("18446744073709551616"), UINT64_MAX, &v));
    assert_false(parse_u64(TEXT("28446744073709551615"), UINT64_MAX, &v));
    const char *bad[] = {"", " 1", "1 ", "+1", "-1", "0x1", "1a", "1.0", "1e3", "\xd9\xa1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(parse_u64(bad[i], strlen(bad[i]), UINT64_MAX, &v));
    }
    assert_false(parse_u64(TEXT("1\0"), UINT64_MAX, &v));
    assert_true(v == 99); /* v keeps its value */
}

static void decimal_respects_its_maximum(void **state) {
    (void)state;
    uint64_t v = 0;
    assert_true(parse_u64(TEXT("255"), 255, &v));
    assert_false(parse_u64(TEXT("256"), 255, &v));
    assert_false(parse_u64(TEXT("2550"), 255, &v));
    assert_true(parse_u64(TEXT("0"), 0, &v));
    assert_false(parse_u64(TEXT("1"), 0, &v));
}

static void signed_spans_the_whole_range(void **state) {
    (void)state;
    int64_t v = 7;
    assert_true(parse_i64(TEXT("-9223372036854775808"), &v));
    assert_true(v == INT64_MIN);
    assert_true(parse_i64(TEXT("9223372036854775807"), &v));
    assert_true(v == INT64_MAX);
    assert_true(parse_i64(TEXT("-0"), &v));
    assert_true(v == 0);
    v = 7;
    assert_false(parse_i64(TEXT("9223372036854775808"), &v));
    assert_false(parse_i64(TEXT("-9223372036854775809"), &v));
    assert_false(parse_i64(TEXT("--1"), &v));
    assert_false(parse_i64(TEXT("-"), &v));
    assert_false(parse_i64(TEXT(""), &v));
    assert_false(parse_i64(TEXT("- 1"), &v));
    assert_true(v == 7);
}

static void hex_with_or_without_prefix(void **state) {
    (void)state;
    uint64_t v = 7;
    assert_true(parse_hex(TEXT("fF"), &v));
    assert_true(v == 255);
    assert_true(parse_hex(TEXT("0Xa"), &v));
    assert_true(v == 10);
    assert_true(parse_hex(TEXT("0x00000000ffffffffffffffff"), &v));
    assert_true(v == UINT64_MAX);
    v = 7;
    assert_false(parse_hex(TEXT("10000000000000000"), &v));
    assert_false(parse_hex(TEXT("0x"), &v));
    assert_false(parse_hex(TEXT(""), &v));
    assert_false(parse_hex(TEXT("0x0x1"), &v));
    assert_false(parse_hex(TEXT("g"), &v));
    assert_false(parse_hex(TEXT("-1"), &v));
    assert_true(v == 7);
}

static void addresses_are_hex_only_with_prefix(void **state) {
    (void)state;
    uint64_t v = 7;
    assert_true(parse_address(TEXT("10"), &v));
    assert_true(v == 10);
    assert_true(parse_address(TEXT("0x10"), &v));
    assert_true(v == 16);
    assert_false(parse_address(TEXT("ff"), &v));
    assert_false(parse_address(TEXT(""), &v));
    assert_true(v == 16);
}

static void uuids_in_their_usual_dresses(void **state) {
    (void)state;
    const char *good[] = {
        "6B834217-5a1c-3e4D-9F00-112233445566", "6b8342175a1c3e4d9f00112233445566",
        "{6B834217-5A1C-3E4D-9F00-112233445566}", "<6b8342175a1c3e4d9f00112233445566>"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct image_id id = {0};
        char text[IMAGE_ID_TEXT];
        assert_true(parse_uuid(good[i], strlen(good[i]), &id));
        assert_int_equal(id.kind, IMAGE_ID_UUID);
        assert_int_equal(id.len, 16);
        assert_string_equal(image_id_text(&id, text), "6B834217-5A1C-3E4D-9F00-112233445566");
    }
    const char *bad[] = {"",
                         "{}",
                         "6B8342175A1C3E4D9F0011223344556",
                         "6B8342175A1C3E4D9F001122334455667",
                         "6B834217-5A1C-3E4D-9F00-11223344556G",
                         "6B8342175A1C3E4D9F0011223344556G",
                         "6B83421-75A1C-3E4D-9F00-112233445566",
                         "6B834217--A1C-3E4D-9F00-112233445566",
                         "6B834217-5A1C-3E4D-9F001-12233445566",
                         "{6B834217-5A1C-3E4D-9F00-112233445566",
                         "{6B834217-5A1C-3E4D-9F00-112233445566>",
                         " 6B834217-5A1C-3E4D-9F00-112233445566"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct image_id id = {.kind = IMAGE_ID_NONE, .len = 3};
        assert_false(parse_uuid(bad[i], strlen(bad[i]), &id));
        assert_int_equal(id.len, 3);
    }
}

static void build_ids_have_1_to_20_bytes(void **state) {
    (void)state;
    char digits[2 * IMAGE_ID_MAX + 3], text[IMAGE_ID_TEXT];
    memset(digits, 'A', sizeof digits);
    struct image_id id = {0};
    for (size_t len = 0; len < sizeof digits; len++) {
        bool valid = len >= 2 && len <= 40 && len % 2 == 0;
        assert_int_equal(parse_build_id(digits, len, &id), valid);
        if (valid) {
            assert_int_equal(id.len, len / 2);
            assert_int_equal(strlen(image_id_text(&id, text)), len);
            assert_int_equal(text[0], 'a');
        }
    }
    assert_false(parse_build_id(TEXT("0x12"), &id));
    assert_true(parse_build_id(TEXT("00ff"), &id));
    assert_string_equal(image_id_text(&id, text), "00ff");
}

static void sizes_are_bytes_or_have_a_unit_of_1024(void **state) {
    (void)state;
    uint64_t n = 0;
    assert_true(parse_size(TEXT("0"), UINT64_MAX, &n) && n == 0);
    assert_true(parse_size(TEXT("1023"), UINT64_MAX, &n) && n == 1023);
    assert_true(parse_size(TEXT("3K"), UINT64_MAX, &n) && n == 3072);
    assert_true(parse_size(TEXT("2G"), UINT64_MAX, &n) && n == UINT64_C(2) << 30);
    assert_true(parse_size(TEXT("16777215T"), UINT64_MAX, &n) && n == UINT64_C(16777215) << 40);
    assert_false(parse_size(TEXT("16777216T"), UINT64_MAX, &n));
    assert_false(parse_size(TEXT("2M"), 2 << 20 >> 1, &n));
    assert_false(parse_size(TEXT("K"), UINT64_MAX, &n));
    assert_false(parse_size(TEXT(""), UINT64_MAX, &n));
    assert_false(parse_size(TEXT("1k"), UINT64_MAX, &n));
    assert_false(parse_size(TEXT("1.5G"), UINT64_MAX, &n));
    assert_false(parse_size(TEXT("-1"), UINT64_MAX, &n));
}

static void ids_are_equal_by_kind_and_bytes(void **state) {
    (void)state;
    struct image_id uuid, build, other, none = {0};
    char text[IMAGE_ID_TEXT] = "x";
    parse_uuid(TEXT("00112233445566778899aabbccddeeff"), &uuid);
    parse_build_id(TEXT("00112233445566778899aabbccddeeff"), &build);
    parse_build_id(TEXT("00112233445566778899aabbccddeefe"), &other);
    assert_true(image_id_equal(&uuid, &uuid));
    assert_false(image_id_equal(&uuid, &build));
    assert_false(image_id_equal(&build, &other));
    assert_false(image_id_equal(&none, &build));
    assert_true(image_id_equal(&none, &none));
    assert_string_equal(image_id_text(&none, text), "");
}

static void zero_ids_match_nothing(void **state) {
    (void)state;
    struct image_id id = {0};
    assert_true(image_id_is_zero(&id));
    assert_true(parse_uuid(TEXT("00000000-0000-0000-0000-000000000000"), &id));
    assert_true(image_id_is_zero(&id));
    assert_true(parse_build_id(TEXT("0000"), &id));
    assert_true(image_id_is_zero(&id));
    assert_true(parse_build_id(TEXT("0001"), &id));
    assert_false(image_id_is_zero(&id));
}

static void a_word_of_a_table_is_found_by_its_whole_text(void **state) {
    static const char *const words[] = {"main", "all", "mainly", ""};
    static const struct {
        const char *word;
        int value;
    } rows[] = {{"ms", 1}, {"s", 1000}};
    size_t at = 7;
    (void)state;
    assert_true(parse_is("allow", 3, "all"));
    assert_false(parse_is("all", 3, "allow"));
    assert_true(PARSE_WORD("mainly", 6, words, &at));
    assert_int_equal(at, 2);
    assert_true(PARSE_WORD("mainly", 4, words, &at));
    assert_int_equal(at, 0);
    assert_true(PARSE_WORD("x", 0, words, &at));
    assert_int_equal(at, 3);
    assert_true(PARSE_WORD("s", 1, rows, &at));
    assert_int_equal(rows[at].value, 1000);
    assert_false(PARSE_WORD("Ms", 2, rows,
                            &at)); /* nothing is written for a word that is not in the table */
    assert_int_equal(at, 1);
}

static void durations_have_a_unit_or_are_ms(void **state) {
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {{"100", 100},    {"100ms", 100}, {"0.5s", 500}, {"2s", 2000}, {"1.25m", 75000},
                {"1h", 3600000}, {"1.000ms", 1}, {"0.001s", 1}, {"0", 0},     {"3600.0s", 3600000}};
    static const char *const bad[] = {"",
                                      "s",
                                      ".5s",
                                      "5.s",
                                      "0.5",
                                      "0.0005s",
                                      "1.5ms",
                                      "1 s",
                                      "-1s",
                                      "1S",
                                      "1sec",
                                      "3600001",
                                      "3600.001s",
                                      "1.01h",
                                      "99999999999999999999h",
                                      "0.1234567890s",
                                      "1.2.3s"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t ms = UINT64_MAX;
        assert_true(parse_duration_ms(good[i].text, strlen(good[i].text), 3600000, &ms));
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t ms = 7;
        assert_false(parse_duration_ms(bad[i], strlen(bad[i]), 3600000, &ms));
        assert_int_equal(ms, 7);
    }
}

static void days_have_one_date_each(void **state) {
    (void)state;
    static const int32_t days[] = {-719162, -1, 0, 11015, 11016, DAY_SET_FIRST, 20777, 2932896};
    char text[DAY_SIZE];
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        int32_t again;
        assert_true(parse_day(day_text(days[i], text), DAY_LENGTH, &again));
        assert_int_equal(again, days[i]);
    }
    assert_string_equal(day_text(0, text), "1970-01-01");
    assert_string_equal(day_text(11016, text), "2000-02-29");
    assert_string_equal(day_text(2932897, text), "");
    assert_string_equal(day_text(INT32_MIN, text), "");
}

static void what_is_no_date_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",           "2026-11-2",   "2026-13-45", "2026-02-29",
                                      "0000-01-01", "2026-11-20x", "2026/11/20", "20261120T0"};
    int32_t day;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(parse_day(bad[i], strlen(bad[i]), &day));
    }
    assert_true(parse_day("2024-02-29T10:00:00Z", 20, &day));
}

static void a_clock_that_was_not_set_tells_no_day(void **state) {
    (void)state;
    static const char *const unset[] = {"1970-01-01T00:00:10Z", "1980-01-06", "2000-01-01 00:00:00",
                                        "2001-01-01", "2026-13-45T00:00:00Z"};
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) {
        assert_false(day_is_told(unset[i], strlen(unset[i])));
    }
    assert_true(day_is_told("2001-01-02", 10));
    assert_true(day_is_told("2026-11-20T10:00:00.000Z", 24));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_of_a_table_is_found_by_its_whole_text),
        cmocka_unit_test(decimal_takes_the_whole_text_or_nothing),
        cmocka_unit_test(decimal_respects_its_maximum),
        cmocka_unit_test(durations_have_a_unit_or_are_ms),
        cmocka_unit_test(sizes_are_bytes_or_have_a_unit_of_1024),
        cmocka_unit_test(signed_spans_the_whole_range),
        cmocka_unit_test(hex_with_or_without_prefix),
        cmocka_unit_test(addresses_are_hex_only_with_prefix),
        cmocka_unit_test(uuids_in_their_usual_dresses),
        cmocka_unit_test(build_ids_have_1_to_20_bytes),
        cmocka_unit_test(ids_are_equal_by_kind_and_bytes),
        cmocka_unit_test(zero_ids_match_nothing),
        cmocka_unit_test(days_have_one_date_each),
        cmocka_unit_test(what_is_no_date_is_refused),
        cmocka_unit_test(a_clock_that_was_not_set_tells_no_day),
    };
    return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
