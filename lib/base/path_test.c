/* Tests for parts of paths. */
#include "base/path.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void the_base_stands_behind_the_last_slash(void **state) {
    (void)state;
    assert_string_equal(path_base("/usr/lib/libc.so"), "libc.so");
    assert_string_equal(path_base("libc.so"), "libc.so");
    assert_string_equal(path_base("App.dSYM/"), "");
    assert_string_equal(path_base(""), "");
}

static void a_path_that_a_slash_ends_is_its_own_name(void **state) {
    (void)state;
    assert_string_equal(path_name("/usr/lib/libc.so"), "libc.so");
    assert_string_equal(path_name("App.dSYM/"), "App.dSYM/");
    assert_string_equal(path_name("/"), "/");
    assert_string_equal(path_name(""), "");
    assert_null(path_name(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_base_stands_behind_the_last_slash),
        cmocka_unit_test(a_path_that_a_slash_ends_is_its_own_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
