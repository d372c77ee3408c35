#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void every_code_point_survives_both_ways(void **state) {
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff + 16; c++) {
        char out[4];
        size_t len = utf8_encode(c, out);
        bool valid = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
        size_t want = !valid ? 0 : c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        if (len != want) {
            fail_msg("U+%04X takes %zu bytes", (unsigned)c, len);
        }
        uint32_t back = UINT32_MAX;
        if (valid && (utf8_decode(out, len, &back) != len || back != c)) {
            fail_msg("U+%04X comes back as U+%04X", (unsigned)c, (unsigned)back);
        }
        if (valid && len > 1 && utf8_decode(out, len - 1, &back) != 0) {
            fail_msg("a cut U+%04X is accepted", (unsigned)c);
        }
    }
}

static void ill_formed_bytes_are_refused(void **state) {
    (void)state;
    const char *bad[] = {"\x80",
                         "\xbf",
                         "\xc0\x80",
                         "\xc1\xbf",
                         "\xe0\x80\x80",
                         "\xe0\x9f\xbf",
                         "\xf0\x80\x80\x80",
                         "\xf0\x8f\xbf\xbf",
                         "\xed\xa0\x80",
                         "\xed\xbf\xbf",
                         "\xf4\x90\x80\x80",
                         "\xf5\x80\x80\x80",
                         "\xff",
                         "\xfe",
                         "\xc3(",
                         "\xe2\x82(",
                         "\xf0\x9f\x98("};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint32_t c;
        assert_int_equal(utf8_decode(bad[i], strlen(bad[i]), &c), 0);
        assert_false(utf8_valid(bad[i], strlen(bad[i])));
    }
    uint32_t c;
    assert_int_equal(utf8_decode("", 0, &c), 0);
}

static void validity_is_of_the_whole_text(void **state) {
    (void)state;
    assert_true(utf8_valid("", 0));
    assert_true(utf8_valid("a\0b", 3));
    assert_true(utf8_valid("stra\xc3\x9f"
                           "e \xe2\x82\xac \xf0\x9f\x98\x80",
                           16));
    assert_false(utf8_valid("abc\xe2\x82", 5));
    assert_false(utf8_valid("abc\xff"
                            "def",
                            7));
}

static void a_byte_order_mark_is_three_bytes_at_the_beginning(void **state) {
    (void)state;
    assert_int_equal(utf8_mark("\xef\xbb\xbf{}", 5), 3);
    assert_int_equal(utf8_mark("\xef\xbb\xbf", 3), 3);
    assert_int_equal(utf8_mark("\xef\xbb", 2), 0);
    assert_int_equal(utf8_mark("a\xef\xbb\xbf", 4), 0);
    assert_int_equal(utf8_mark("", 0), 0);
}

static void what_drives_a_terminal_is_not_printable(void **state) {
    (void)state;
    static const uint32_t bad[] = {0,      0x0a,   0x1b,   0x1f,   0x7f,    0x80,
                                   0x9b,   0x9f,   0xad,   0x200b, 0x2028,  0x2029,
                                   0x202a, 0x202e, 0x2066, 0x2069, 0xe0041, 0x10ffff};
    static const uint32_t good[] = {0x20, 0x7e, 0xa0, 0xe9, 0x2010, 0x202f, 0xfe0f, 0x1f600};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(utf8_is_printable(bad[i]));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(utf8_is_printable(good[i]));
    }
}

static void columns_are_those_of_a_terminal(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t columns;
    } cases[] = {{"", 0},
                 {"abc", 3},
                 {"stra\xc3\x9f"
                  "e",
                  6},
                 {"e\xcc\x81", 1},                              /* e and an acute that combines */
                 {"\xe6\xb3\xa8\xe6\x96\x87", 4},               /* two ideographs */
                 {"\xed\x95\x9c", 2},                           /* a Hangul syllable */
                 {"\xf0\x9f\x98\x80", 2},                       /* an emoji */
                 {"\xe2\x86\x90 \xe2\x96\x88 \xe2\x89\xa5", 5}, /* arrow, block, at least */
                 {"a\xff", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(utf8_text_columns(cases[i].text, strlen(cases[i].text)), cases[i].columns);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_survives_both_ways),
        cmocka_unit_test(ill_formed_bytes_are_refused),
        cmocka_unit_test(validity_is_of_the_whole_text),
        cmocka_unit_test(a_byte_order_mark_is_three_bytes_at_the_beginning),
        cmocka_unit_test(what_drives_a_terminal_is_not_printable),
        cmocka_unit_test(columns_are_those_of_a_terminal),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
