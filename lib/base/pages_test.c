/* Memory in large pieces. */
#include "base/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 1 << 20, LARGE = 5 << 20 };

static void what_is_fetched_keeps_its_bytes(void **state) {
    (void)state;
    static const size_t starts[] = {0, 1, 4095, 4096, 65536 + 7};
    static const size_t sizes[] = {0, 1, 4096, 65535, 65536, 65537, SIZE - 70000};
    unsigned char *p = malloc(SIZE);
    assert_non_null(p);
    for (size_t i = 0; i < SIZE; i++) {
        p[i] = (unsigned char)(i * 7 >> 3);
    }
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            pages_fetch(p + starts[i], sizes[k]);
        }
    }
    for (size_t i = 0; i < SIZE; i++) {
        assert_int_equal(p[i], (unsigned char)(i * 7 >> 3));
    }
    free(p);
}

static void huge_pages_are_for_large_pieces_only(void **state) {
    (void)state;
    assert_null(pages_huge(0));
    assert_null(pages_huge(4096));
    assert_null(pages_huge(SIZE_MAX));
    unsigned char *p = pages_huge(LARGE);
    if (p) { /* not everywhere */
        memset(p, 0xa5, LARGE);
        pages_fetch(p, LARGE);
        assert_int_equal(p[0], 0xa5);
        assert_int_equal(p[LARGE - 1], 0xa5);
        free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_fetched_keeps_its_bytes),
        cmocka_unit_test(huge_pages_are_for_large_pieces_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
