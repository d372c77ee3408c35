/* Tests of Punycode in Swift's variation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "demangle/swift/swift_punycode.h"

static void check(const char *encoded, const char *expected) {
    struct swift_tree t = {0};
    size_t len = 0;
    swift_tree_clear(&t);
    const char *text = swift_punycode(&t, encoded, strlen(encoded), &len);
    if (expected) {
        assert_non_null(text);
        assert_int_equal(len, strlen(expected));
        assert_memory_equal(text, expected, len);
    } else {
        assert_null(text);
    }
    swift_tree_release(&t);
}

static void letters_are_put_where_they_belong(void **state) {
    (void)state;
    check("vergenza_JFa", "verg\xc3\xbc"
                          "enza");
    check("Proprostnemluvesky_uybCEdmaEBa", "Pro\xc4\x8dprost\xc4\x9bnemluv\xc3\xad\xc4\x8d"
                                            "esky");
    check("p_qcaDc", "\xc2\xabp\xc2\xbb");
    check("abc_", "abc");
}

static void ascii_that_a_symbol_may_not_hold_is_escaped(void **state) {
    (void)state;
    check("ab_qgJk", "a b");
    check("oCIh", "\xf0\x9f\x98\x8a");
}

static void damaged_text_is_none(void **state) {
    (void)state;
    check("abc_Z", NULL);
    check("abc_J", NULL);
    check("\xff_JFa", NULL);
    check("a_JJJJJJJJJJJJJJJJ", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_put_where_they_belong),
        cmocka_unit_test(ascii_that_a_symbol_may_not_hold_is_escaped),
        cmocka_unit_test(damaged_text_is_none),
    };
    return cmocka_run_group_tests_name("swift_punycode", tests, NULL, NULL);
}
