#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/failmalloc.h"

static void put_finds_or_makes(void **state) {
    (void)state;
    struct map m = {0};
    bool added;
    assert_null(map_get(&m, "a", 1));
    struct map_entry *a = map_put(&m, "a", 1, 10, &added);
    assert_true(added);
    assert_int_equal(a->value, 10);
    a = map_put(&m, "a", 1, 20, &added);
    assert_false(added);
    assert_int_equal(a->value, 10);
    a->value = 30;
    assert_int_equal(map_get(&m, "a", 1)->value, 30);
    assert_null(map_get(&m, "a\0", 2));
    assert_int_equal(m.count, 1);
    map_release(&m);
    map_release(&m);
    assert_null(map_get(&m, "a", 1));
}

static void keys_are_bytes(void **state) {
    (void)state;
    struct map m = {0};
    map_put(&m, "", 0, 1, NULL);
    map_put(&m, "\0", 1, 2, NULL);
    map_put(&m, "\0\0", 2, 3, NULL);
    char key[3] = "xy";
    struct map_entry *entry = map_put(&m, key, 2, 4, NULL);
    key[0] = 'z'; /* the map keeps a copy of the key, with a NUL after it */
    assert_string_equal(entry->key, "xy");
    assert_int_equal(map_get(&m, NULL, 0)->value, 1);
    assert_int_equal(map_get(&m, "\0", 1)->value, 2);
    assert_int_equal(map_get(&m, "\0\0", 2)->value, 3);
    assert_int_equal(map_get(&m, "xy", 2)->value, 4);
    map_release(&m);
}

static void order_is_insertion_order_while_it_grows(void **state) {
    (void)state;
    struct map m = {0};
    char key[16];
    for (size_t i = 0; i < 20000; i++) {
        int n = snprintf(key, sizeof key, "key %zu", i * 7919 % 20011);
        assert_non_null(map_put(&m, key, (size_t)n, i, NULL));
    }
    assert_int_equal(m.count, 20000);
    for (size_t i = 0; i < m.count; i++) {
        int n = snprintf(key, sizeof key, "key %zu", i * 7919 % 20011);
        assert_string_equal(m.entries[i].key, key);
        assert_int_equal(m.entries[i].value, i);
        assert_ptr_equal(map_get(&m, key, (size_t)n), &m.entries[i]);
    }
    map_release(&m);
}

static void clear_forgets_all(void **state) {
    (void)state;
    struct map m = {0};
    map_clear(&m);
    for (char c = 'a'; c <= 'z'; c++) {
        map_put(&m, &c, 1, (size_t)c, NULL);
    }
    map_clear(&m);
    assert_int_equal(m.count, 0);
    assert_null(map_get(&m, "a", 1));
    bool added = false;
    assert_int_equal(map_put(&m, "q", 1, 5, &added)->value, 5);
    assert_true(added);
    map_release(&m);
}

static void equal_strings_get_equal_indexes(void **state) {
    (void)state;
    struct map m = {0};
    assert_int_equal(map_intern(&m, "main", 4), 0);
    assert_int_equal(map_intern(&m, "poll", 4), 1);
    assert_int_equal(map_intern(&m, "main", 4), 0);
    assert_int_equal(map_intern(&m, "", 0), 2);
    assert_string_equal(map_string(&m, 1), "poll");
    assert_string_equal(map_string(&m, 2), "");
    map_release(&m);
}

static void fill(void *ctx, bool refused) {
    (void)ctx;
    struct map m = {0};
    char key[16];
    for (size_t i = 0; i < 500; i++) {
        int n = snprintf(key, sizeof key, "%zu", i);
        size_t before = m.count;
        if (map_intern(&m, key, (size_t)n) == SIZE_MAX) {
            assert_true(refused);
            assert_int_equal(m.count, before);
            assert_null(map_get(&m, key, (size_t)n));
        }
    }
    for (size_t i = 0; i < m.count; i++) {
        assert_ptr_equal(map_get(&m, m.entries[i].key, m.entries[i].len), &m.entries[i]);
    }
    assert_true(refused || m.count == 500);
    map_release(&m);
}

static void no_memory_leaves_the_map_whole(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(fill, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(put_finds_or_makes),
        cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(order_is_insertion_order_while_it_grows),
        cmocka_unit_test(clear_forgets_all),
        cmocka_unit_test(equal_strings_get_equal_indexes),
        cmocka_unit_test(no_memory_leaves_the_map_whole),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
