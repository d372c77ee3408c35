/* Size of a piece of memory that counts as large, in bytes. */
#include "base/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LARGE = 5 << 20 };

static void huge_pages_are_for_large_pieces_only(void **state) {
    (void)state;
    assert_null(pages_huge(0));
    assert_null(pages_huge(4096));
    assert_null(pages_huge(SIZE_MAX));
    unsigned char *p = pages_huge(LARGE);
    if (p) { /* huge pages are not available everywhere */
        memset(p, 0xa5, LARGE);
        assert_int_equal(p[0], 0xa5);
        assert_int_equal(p[LARGE - 1], 0xa5);
        free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(huge_pages_are_for_large_pieces_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
