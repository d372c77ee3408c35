#include "base/regex_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void assert_matches(const char *regex, const char *text) {
    regex_t r;
    assert_int_equal(regex_compile(&r, regex, NULL), ST_OK);
    assert_int_equal(regexec(&r, text, 0, NULL, 0), 0);
    regfree(&r);
}

static void assert_refused(const char *regex, const char *why) {
    regex_t r;
    struct err e = {0};
    assert_int_equal(regex_compile(&r, regex, &e), ST_ERR);
    assert_int_equal(e.code, ERR_USAGE);
    assert_non_null(strstr(e.text, why));
}

static void what_people_write_is_compiled(void **state) {
    (void)state;
    assert_matches("", "x");
    assert_matches("^iPhone1[0-9],.*$", "iPhone13,3");
    assert_matches("-\\[DB (write|flush):\\]", "-[DB write:]");
    assert_matches("(a+b?)*c{2,400}", "abaabcc");
    assert_matches("[[:alpha:]*+?{(]+[]*]{3}[^]x]", "ab(*+]**y");
    assert_matches("\\(\\(\\(\\*\\+", "(((*+");
    assert_matches("((((((a|b)+)+)+)*)+)?", "ab");
}

static void what_grows_without_end_is_refused(void **state) {
    (void)state;
    assert_refused("a++++++++++++++++++++++++++++++++++++++++", "too many repetitions");
    assert_refused("(a{99}){200}", "too many repetitions");
    assert_refused("a{255}{255}{255}", "too many repetitions");
    assert_refused("a{18446744073709551616}", "too many repetitions");
    assert_refused("((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", "too many repetitions");
    char deep[2 * REGEX_DEPTH_MAX + 2];
    memset(deep, '(', REGEX_DEPTH_MAX);
    memset(deep + REGEX_DEPTH_MAX, ')', REGEX_DEPTH_MAX);
    deep[2 * REGEX_DEPTH_MAX] = 0;
    assert_refused(deep, "too many repetitions");
}

static void what_is_none_is_refused_with_the_reason(void **state) {
    (void)state;
    assert_refused("a(b", "no regular expression: ");
    assert_refused("a[b", "no regular expression: ");
    assert_refused("a\\", "no regular expression: ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_people_write_is_compiled),
        cmocka_unit_test(what_grows_without_end_is_refused),
        cmocka_unit_test(what_is_none_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests_name("regex_text", tests, NULL, NULL);
}
