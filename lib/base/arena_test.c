#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdalign.h>
#include <string.h>

#include "base/failmalloc.h"

static void memory_is_zeroed_and_aligned(void **state) {
    (void)state;
    struct arena a = {0};
    for (size_t size = 0; size < 200; size++) {
        unsigned char *p = arena_alloc(&a, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(p[i], 0);
        }
        memset(p, 0xaa, size);
    }
    arena_clear(&a);
    unsigned char *p = arena_alloc(&a, 5000);
    assert_non_null(p);
    for (size_t i = 0; i < 5000; i++) {
        assert_int_equal(p[i], 0); /* the memory is zeroed even in a block that was used before */
    }
    arena_release(&a);
}

static void size_zero_gives_unique_pointers(void **state) {
    (void)state;
    struct arena a = {0};
    void *p = arena_alloc(&a, 0), *q = arena_alloc(&a, 0);
    assert_non_null(p);
    assert_non_null(q);
    assert_ptr_not_equal(p, q);
    assert_non_null(arena_array(&a, 0, 8));
    arena_release(&a);
}

static void large_requests_get_their_own_block(void **state) {
    (void)state;
    struct arena a = {0};
    char *small = arena_strdup(&a, "keep", 4);
    char *big = arena_alloc(&a, 10 << 20);
    assert_non_null(big);
    big[(10 << 20) - 1] = 1;
    assert_string_equal(small, "keep");
    arena_release(&a);
}

static void limit_is_exact(void **state) {
    (void)state;
    struct arena a = {.limit = 100};
    assert_non_null(arena_alloc(&a, 60));
    assert_null(arena_alloc(&a, 41));
    assert_int_equal(a.used, 60);
    assert_non_null(arena_alloc(&a, 40));
    assert_null(arena_alloc(&a, 1));
    assert_null(arena_alloc(&a, 0)); /* an allocation of 0 bytes takes one byte */
    arena_clear(&a);
    assert_int_equal(a.used, 0);
    assert_non_null(arena_alloc(&a, 100));
    arena_release(&a);
    assert_int_equal(a.limit, 100);
    a.used = 0;
    assert_null(arena_alloc(&a, 101));
    arena_release(&a);
}

static void overflow_gives_null(void **state) {
    (void)state;
    struct arena a = {0};
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 16));
    assert_null(arena_array(&a, SIZE_MAX / 2, 3));
    assert_null(arena_strdup(&a, "x", SIZE_MAX));
    assert_int_equal(a.used, 0);
    assert_non_null(arena_alloc(&a, 8));
    arena_release(&a);
}

static void strdup_adds_a_nul(void **state) {
    (void)state;
    struct arena a = {0};
    const char text[3] = {'a', '\0', 'b'};
    char *copy = arena_strdup(&a, text, sizeof text);
    assert_memory_equal(copy, "a\0b", 4);
    assert_string_equal(arena_strdup(&a, NULL, 0), "");
    arena_release(&a);
}

static void clear_keeps_the_largest_block(void **state) {
    (void)state;
    struct arena a = {0};
    arena_alloc(&a, 100);
    arena_alloc(&a, 1 << 20);
    arena_alloc(&a, 1 << 19);
    long live = failmalloc_live();
    arena_clear(&a);
    if (failmalloc_works()) {
        assert_int_equal(failmalloc_live(), live - 2);
    }
    failmalloc_arm(0, false);
    assert_non_null(arena_alloc(&a, 1 << 20));
    assert_int_equal(failmalloc_calls(), 0);
    arena_release(&a);
    arena_release(&a); /* releasing twice is harmless */
    arena_clear(&a);
    assert_non_null(arena_alloc(&a, 1));
    arena_release(&a);
}

static void no_memory_gives_null_and_keeps_the_rest(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct arena a = {0};
    char *kept = arena_strdup(&a, "kept", 4);
    size_t used = a.used;
    failmalloc_arm(1, true);
    assert_null(arena_alloc(&a, 100000));
    assert_true(failmalloc_disarm());
    assert_int_equal(a.used, used);
    assert_string_equal(kept, "kept");
    assert_non_null(arena_alloc(&a, 100000));
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(size_zero_gives_unique_pointers),
        cmocka_unit_test(large_requests_get_their_own_block),
        cmocka_unit_test(limit_is_exact),
        cmocka_unit_test(overflow_gives_null),
        cmocka_unit_test(strdup_adds_a_nul),
        cmocka_unit_test(clear_keeps_the_largest_block),
        cmocka_unit_test(no_memory_gives_null_and_keeps_the_rest),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
