/* Tests of the order of versions. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "classify/keys/version.h"

static void versions_are_compared_by_their_numbers(void **state) {
    (void)state;
    static const char *const ascending[] = {"",    "1",  "1.0", "1.2", "1.10", "2-beta",
                                            "2.0", "10", "a",   "a1",  "b"};
    for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++) {
        for (size_t k = 0; k < sizeof ascending / sizeof *ascending; k++) {
            int c = version_compare(ascending[i], ascending[k]);
            assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
        }
    }
    assert_int_not_equal(version_compare("5.01", "5.1"), 0);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_compared_by_their_numbers),
    };
    return cmocka_run_group_tests_name("version", tests, NULL, NULL);
}
