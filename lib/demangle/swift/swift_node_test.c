/* Tests of nodes, their children and the limits of a tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "demangle/swift/swift_node.h"

static void children_keep_their_order(void **state) {
    (void)state;
    struct swift_tree t = {0};
    swift_tree_clear(&t);
    struct swift_node *n = swift_leaf(&t, SWIFT_TYPE_LIST);
    for (uint64_t i = 0; i < 100; i++) {
        assert_ptr_equal(swift_add(&t, n, swift_index_leaf(&t, SWIFT_INDEX, i)), n);
        assert_int_equal(swift_count(n), i + 1);
        for (uint64_t j = 0; j <= i; j++) {
            assert_int_equal(swift_child(n, j)->index, j);
        }
    }
    swift_reverse(n, 98);
    assert_int_equal(swift_child(n, 98)->index, 99);
    assert_int_equal(swift_child(n, 97)->index, 97);
    swift_remove(n, 0);
    assert_int_equal(swift_count(n), 99);
    assert_int_equal(swift_child(n, 0)->index, 1);
    assert_null(swift_child(n, 99));
    swift_tree_release(&t);
}

static void a_part_that_is_missing_leaves_nothing(void **state) {
    (void)state;
    struct swift_tree t = {0};
    swift_tree_clear(&t);
    struct swift_node *a = swift_leaf(&t, SWIFT_INDEX);
    assert_null(swift_with1(&t, SWIFT_TYPE, NULL));
    assert_null(swift_with2(&t, SWIFT_TYPE, a, NULL));
    assert_null(swift_with3(&t, SWIFT_TYPE, a, NULL, a));
    assert_null(swift_with4(&t, SWIFT_TYPE, NULL, a, a, a));
    assert_null(swift_add(&t, swift_fixed_leaf(&t, SWIFT_IDENTIFIER, "text"), a));
    assert_null(swift_rekind(&t, NULL, SWIFT_MODULE));
    assert_int_equal(swift_tree_check(&t, NULL), ST_OK);
    swift_tree_release(&t);
}

static void a_copy_of_another_kind_has_the_same_payload(void **state) {
    (void)state;
    struct swift_tree t = {0};
    swift_tree_clear(&t);
    struct swift_node *name = swift_fixed_leaf(&t, SWIFT_IDENTIFIER, "Shop");
    struct swift_node *list = swift_with3(&t, SWIFT_TYPE_LIST, name, name, name);
    assert_true(swift_text_is(swift_rekind(&t, name, SWIFT_MODULE), SWIFT_MODULE, "Shop"));
    struct swift_node *copy = swift_rekind(&t, list, SWIFT_PACK);
    assert_true(swift_is(copy, SWIFT_PACK));
    swift_remove(copy, 0);
    assert_int_equal(swift_count(copy), 2);
    assert_int_equal(swift_count(list), 3);
    swift_tree_release(&t);
}

static void a_tree_ends_at_its_caps(void **state) {
    (void)state;
    struct swift_tree t = {0};
    swift_tree_clear(&t);
    size_t count = 0;
    while (swift_leaf(&t, SWIFT_INDEX)) {
        count++;
    }
    assert_true(count > SWIFT_TREE_BYTES_MAX / sizeof(struct swift_node) - 100);
    assert_int_equal(swift_tree_check(&t, NULL), ST_NONE);
    swift_tree_clear(&t);
    assert_int_equal(swift_tree_check(&t, NULL), ST_OK);
    assert_true(swift_spend(&t, SWIFT_WORK_MAX));
    assert_false(swift_spend(&t, 1));
    assert_int_equal(swift_tree_check(&t, NULL), ST_NONE);
    swift_tree_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_keep_their_order),
        cmocka_unit_test(a_part_that_is_missing_leaves_nothing),
        cmocka_unit_test(a_copy_of_another_kind_has_the_same_payload),
        cmocka_unit_test(a_tree_ends_at_its_caps),
    };
    return cmocka_run_group_tests_name("swift_node", tests, NULL, NULL);
}
