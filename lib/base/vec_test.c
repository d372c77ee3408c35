#include "base/search.h"
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>

#include "base/failmalloc.h"

struct pair {
    int a, b;
};

static void pushes_keep_their_order(void **state) {
    (void)state;
    VEC(struct pair) v = {0};
    for (int i = 0; i < 1000; i++) {
        assert_true(VEC_PUSH(&v, (struct pair){i, -i}));
    }
    assert_int_equal(v.len, 1000);
    assert_true(v.cap >= 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(v.data[i].a, i);
        assert_int_equal(v.data[i].b, -i);
    }
    VEC_RELEASE(&v);
    assert_null(v.data);
    assert_int_equal(v.len, 0);
    VEC_RELEASE(&v);
}

static void reserve_makes_room_at_once(void **state) {
    (void)state;
    VEC(char *) v = {0};
    assert_true(VEC_RESERVE(&v, 5000));
    assert_true(v.cap >= 5000);
    assert_int_equal(v.len, 0);
    failmalloc_arm(1, true);
    for (size_t i = 0; i < 5000; i++) {
        assert_true(VEC_PUSH(&v, NULL));
    }
    assert_false(failmalloc_disarm());
    assert_true(VEC_RESERVE(&v, 0));
    VEC_RELEASE(&v);
}

static void a_small_vector_grows_from_one_element(void **state) {
    (void)state;
    SMALL_VEC(struct pair) v = {0};
    for (int i = 0; i < 1000; i++) {
        assert_true(SMALL_VEC_PUSH(&v, (struct pair){i, -i}));
        assert_true(v.cap >= v.len && (v.cap == 1 || v.cap < 2 * v.len));
    }
    assert_true(SMALL_VEC_INSERT(&v, 1));
    v.data[1] = (struct pair){7, 7};
    assert_int_equal(v.len, 1001);
    assert_int_equal(v.data[0].a, 0);
    assert_int_equal(v.data[2].a, 1);
    assert_int_equal(v.data[1000].b, -999);
    assert_false(SMALL_VEC_RESERVE(&v, UINT32_MAX));
    SMALL_VEC_RELEASE(&v);
    assert_int_equal(v.cap, 0);
}

static void large_memory_is_a_vectors_like_any(void **state) {
    (void)state;
    enum { LARGE = 1000003 };
    VEC(uint64_t) v = {0};
    assert_true(VEC_RESERVE_LARGE(&v, LARGE)); /* the first reservation takes memory of 8 MB */
    assert_true(v.cap >= LARGE);
    for (size_t i = 0; i < 2 * LARGE; i++) {
        assert_true(VEC_PUSH(&v, i)); /* pushes more than were reserved */
    }
    assert_true(VEC_RESERVE_LARGE(&v, 3 * LARGE));
    assert_true(v.cap - v.len >= 3 * LARGE);
    for (size_t i = 0; i < v.len; i++) {
        assert_int_equal(v.data[i], i);
    }
    VEC_RELEASE(&v);
    assert_false(VEC_RESERVE_LARGE(&v, SIZE_MAX / 2));
    assert_null(v.data);
    assert_true(VEC_RESERVE_LARGE(&v, 10)); /* a small reservation */
    assert_true(v.cap >= 10);
    VEC_RELEASE(&v);
}

static void insertion_moves_what_is_behind(void **state) {
    (void)state;
    VEC(int) v = {0};
    for (int i = 0; i < 100; i++) {
        assert_true(VEC_INSERT(&v, v.len / 2)); /* the order of the numbers becomes 1 3 5 … 4 2 0 */
        v.data[(v.len - 1) / 2] = i;
    }
    assert_int_equal(v.len, 100);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(v.data[i], 2 * i + 1);
        assert_int_equal(v.data[99 - i], 2 * i);
    }
    VEC_RELEASE(&v);
}

static void a_lower_bound_is_the_first_that_is_not_below(void **state) {
    (void)state;
    struct element {
        unsigned value;
    };
    VEC(struct element) v = {0};
    size_t at = 7;
    LOWER_BOUND(at, v.len, v.data[at].value, 5);
    assert_int_equal(at, 0);
    for (unsigned i = 0; i < 9; i++) {
        assert_true(VEC_PUSH(&v, (struct element){.value = 10 * i}));
    }
    for (unsigned value = 0; value < 100; value++) {
        LOWER_BOUND(at, v.len, v.data[at].value, value);
        assert_int_equal(at, value > 80 ? 9 : (value + 9) / 10);
    }
    VEC_RELEASE(&v);
}

static void overflow_changes_nothing(void **state) {
    (void)state;
    VEC(uint64_t) v = {0};
    bool pushed = VEC_PUSH(&v, 42);
    assert_true(pushed);
    size_t cap = v.cap;
    assert_false(VEC_RESERVE(&v, SIZE_MAX));
    assert_false(VEC_RESERVE(&v, SIZE_MAX / 8));
    assert_int_equal(v.len, 1);
    assert_int_equal(v.cap, cap);
    assert_true(v.data[0] == 42);
    VEC_RELEASE(&v);
}

static void no_memory_changes_nothing(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    VEC(int) v = {0};
    failmalloc_arm(1, false);
    bool pushed = VEC_PUSH(&v, 1);
    assert_false(pushed);
    assert_int_equal(v.len, 0);
    assert_null(v.data);
    failmalloc_disarm();
    pushed = VEC_PUSH(&v, 1);
    assert_true(pushed);
    VEC_RELEASE(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_keep_their_order),
        cmocka_unit_test(reserve_makes_room_at_once),
        cmocka_unit_test(a_small_vector_grows_from_one_element),
        cmocka_unit_test(large_memory_is_a_vectors_like_any),
        cmocka_unit_test(insertion_moves_what_is_behind),
        cmocka_unit_test(a_lower_bound_is_the_first_that_is_not_below),
        cmocka_unit_test(overflow_changes_nothing),
        cmocka_unit_test(no_memory_changes_nothing),
    };
    return cmocka_run_group_tests_name("vec", tests, NULL, NULL);
}
