#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "dump/input/utf8_repair.h"

static void what_is_no_utf8_is_replaced_and_counted(void **state) {
    static const struct {
        const char *text, *repaired;
        uint64_t count;
    } cases[] = {
        {"", "", 0},
        {"plain text, longer than a word", "plain text, longer than a word", 0},
        {"Caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "Caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
         0},
        {"Caf\xe9", "Caf\xef\xbf\xbd", 1},
        {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd", 2},
        {"12345678\xe2\x82", "12345678\xef\xbf\xbd\xef\xbf\xbd", 2},     /* cut in a character */
        {"a\xed\xa0\x80z", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz", 3}, /* a surrogate */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf text = {0};
        struct err e = {0};
        uint64_t count = 5;
        strbuf_addstr(&text, cases[i].text);
        assert_int_equal(utf8_repair(&text, &count, &e), ST_OK);
        assert_string_equal(strbuf_cstr(&text), cases[i].repaired);
        assert_int_equal(text.len, strlen(cases[i].repaired));
        assert_int_equal(count, 5 + cases[i].count);
        strbuf_release(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_utf8_is_replaced_and_counted),
    };
    return cmocka_run_group_tests_name("utf8_repair", tests, NULL, NULL);
}
