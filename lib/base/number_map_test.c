#include "base/number_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failmalloc.h"
#include "base/hash.h"

enum { MANY = 10000 };

static uint64_t key_of(size_t i) {
    return i % 2 ? UINT64_MAX - 1 - i : i;
}

static size_t put(struct number_map *m, uint64_t key, size_t fresh, bool expect_added) {
    size_t value;
    bool added;
    assert_true(number_map_put(m, key, fresh, &value, &added));
    assert_int_equal(added, expect_added);
    return value;
}

static void keys_keep_their_first_value(void **state) {
    struct number_map m = {0};
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(put(&m, key_of(i), i, true), i);
    }
    for (size_t i = 0; i < MANY; i++) {
        size_t value;
        assert_int_equal(put(&m, key_of(i), 7, false), i);
        assert_true(number_map_get(&m, key_of(i), &value));
        assert_int_equal(value, i);
        assert_false(number_map_get(&m, MANY + i, &value));
    }
    assert_int_equal(m.count, MANY);
    number_map_release(&m);
    number_map_release(&m);
}

/* Returns the number whose hash_u64 is v. */
static uint64_t unhash(uint64_t v) {
    v = (v ^ v >> 31 ^ v >> 62) * UINT64_C(0x319642b2d24d8ec3);
    v = (v ^ v >> 27 ^ v >> 54) * UINT64_C(0x96de1b173f119089);
    return (v ^ v >> 30 ^ v >> 60) - UINT64_C(0x9e3779b97f4a7c15);
}

/* If keys with chosen hashes shared a slot, this test would take minutes. */
static void keys_chosen_for_their_hashes_are_as_quick_as_others(void **state) {
    struct number_map m = {0};
    (void)state;
    for (uint64_t i = 0; i < 300000; i++) {
        uint64_t key = unhash(i << 24);
        assert_true(hash_u64(key) == i << 24);
        (void)put(&m, key, i, true);
    }
    number_map_release(&m);
}

static void fill(void *ctx, bool refused) {
    struct number_map m = {0};
    size_t known = 0, value;
    bool added, good = true;
    (void)ctx;
    while (known < 600 && good) {
        good = number_map_put(&m, known, known, &value, &added);
        known += good;
    }
    assert_true(good || refused);
    for (size_t i = 0; i < known; i++) {
        assert_int_equal(put(&m, i, 0, false), i);
    }
    number_map_release(&m);
}

static void a_lack_of_memory_loses_no_key(void **state) {
    (void)state;
    assert_true(failmalloc_sweep(fill, NULL) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_keep_their_first_value),
        cmocka_unit_test(keys_chosen_for_their_hashes_are_as_quick_as_others),
        cmocka_unit_test(a_lack_of_memory_loses_no_key),
    };
    return cmocka_run_group_tests_name("number_map", tests, NULL, NULL);
}
