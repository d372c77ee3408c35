#include "flame/stacks/stack_pair.h"

#include "flame/flame_support_test.h"

static void pair_texts(struct stack_pair *pair, const char *base, const char *new_side,
                       bool normalise) {
    struct stack_tree a = {0}, b = {0};
    read_string(&a, base);
    read_string(&b, new_side);
    assert_int_equal(stack_pair_make(pair, &a, &b, normalise, NULL), ST_OK);
    stack_tree_release(&a);
    stack_tree_release(&b);
}

/* Checks that every node's totals are the sum of its own self weights and its children's totals. */
static void check_sums(const struct stack_pair *pair) {
    size_t n = pair->tree.node_count;
    for (size_t i = 0; i < n; i++) {
        for (int side = 0; side < STACK_SIDES; side++) {
            uint64_t sum = pair->nodes[i].self[side];
            for (size_t c = 1; c < n; c++) {
                sum += pair->tree.nodes[c].parent == i ? pair->nodes[c].total[side] : 0;
            }
            assert_int_equal(sum, pair->nodes[i].total[side]);
        }
        assert_int_equal(pair->nodes[i].total[0] + pair->nodes[i].total[1],
                         pair->tree.nodes[i].total);
    }
}

static const struct stack_sides *sides_of(const struct stack_pair *pair, const char *stack) {
    uint32_t node = stack_tree_find(&pair->tree, stack, strlen(stack));
    assert_int_not_equal(node, 0);
    return &pair->nodes[node];
}

static void assert_sides(const struct stack_pair *pair, const char *stack, uint64_t base,
                         uint64_t new_side) {
    assert_int_equal(sides_of(pair, stack)->self[STACK_BASE], base);
    assert_int_equal(sides_of(pair, stack)->self[STACK_NEW], new_side);
}

static void both_sides_are_seen(void **state) {
    (void)state;
    struct stack_pair pair = {0};
    pair_texts(&pair, "a;b 3\na;c 4\n", "a;b 5\na;d 1\na 2\n", false);
    assert_written(&pair.tree, "a 2\na;b 8\na;c 4\na;d 1\n");
    assert_sides(&pair, "a;b", 3, 5);
    assert_sides(&pair, "a;c", 4, 0);
    assert_sides(&pair, "a;d", 0, 1);
    assert_sides(&pair, "a", 0, 2);
    assert_int_equal(pair.nodes[0].total[STACK_BASE], 7);
    assert_int_equal(pair.nodes[0].total[STACK_NEW], 8);
    check_sums(&pair);
    stack_pair_release(&pair);
}

static void sides_may_have_different_decimals(void **state) {
    (void)state;
    struct stack_pair pair = {0};
    pair_texts(&pair, "a;b 0.25\n", "a;b 2\n", false);
    assert_int_equal(pair.tree.decimals, 2);
    assert_sides(&pair, "a;b", 25, 200);
    stack_pair_release(&pair);
}

static void normalising_keeps_shares_and_the_sum(void **state) {
    (void)state;
    struct stack_pair pair = {0};
    pair_texts(&pair, "a;b 1\na;c 1\na;d 1\n", "a;b 100\n", true);
    assert_int_equal(pair.nodes[0].total[STACK_BASE], 100);
    assert_sides(&pair, "a;b", 33, 100);
    assert_sides(&pair, "a;c", 33, 0);
    assert_sides(&pair, "a;d", 34, 0);
    check_sums(&pair);
    stack_pair_release(&pair);
    pair_texts(&pair, "a 1\n", "", true); /* the new side is empty, so the base is not scaled */
    assert_sides(&pair, "a", 1, 0);
    stack_pair_release(&pair);
    pair_texts(&pair, "a;b 1\na;c 99\n", "a;c 1\n", true); /* the share of a;b is rounded to 0 */
    assert_int_equal(stack_tree_find(&pair.tree, "a;b", 3), 0);
    assert_sides(&pair, "a;c", 1, 1);
    stack_pair_release(&pair);
}

static void empty_sides_are_fine(void **state) {
    (void)state;
    struct stack_pair pair = {0};
    pair_texts(&pair, "", "", false);
    assert_int_equal(stack_tree_total(&pair.tree), 0);
    stack_pair_release(&pair);
    pair_texts(&pair, "", "a 1\n", true);
    assert_sides(&pair, "a", 0, 1);
    stack_pair_release(&pair);
}

static void sums_hold_for_any_two_trees(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 40; seed++) {
        struct strbuf a = random_folded(seed, 60, 20), b = random_folded(seed + 1000, 60, 20);
        struct stack_pair pair = {0};
        pair_texts(&pair, strbuf_cstr(&a), strbuf_cstr(&b), seed % 2);
        check_sums(&pair);
        stack_pair_release(&pair);
        strbuf_release(&a);
        strbuf_release(&b);
    }
}

static void sums_past_64_bits_are_refused(void **state) {
    (void)state;
    struct stack_tree a = {0}, b = {0};
    struct stack_pair pair = {0};
    struct err e = {0};
    read_string(&a, "a 10000000000000000000\n");
    read_string(&b, "a 10000000000000000000\n");
    assert_int_equal(stack_pair_make(&pair, &a, &b, false, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    stack_pair_release(&pair);
    stack_tree_release(&b);
    read_string(&b, "a 0.5\n");
    err_clear(&e);
    assert_int_equal(stack_pair_make(&pair, &a, &b, false, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    stack_pair_release(&pair);
    stack_tree_release(&a);
    stack_tree_release(&b);
}

static void stacks_are_found(void **state) {
    (void)state;
    struct stack_tree t = {0};
    assert_int_equal(stack_tree_find(&t, "a", 1), 0);
    read_string(&t, "a;b;c 1\na;b;d 2\nab 3\n");
    const char *const no[] = {"", "a;b;", "a;b;e", "a;", "a;b;c;d", "abc", "b"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_int_equal(stack_tree_find(&t, no[i], strlen(no[i])), 0);
    }
    assert_int_equal(t.nodes[stack_tree_find(&t, "a;b;d", 5)].self, 2);
    assert_int_equal(t.nodes[stack_tree_find(&t, "ab", 2)].self, 3);
    stack_tree_release(&t);
}

struct two_trees {
    struct stack_tree a, b;
};

static void make_pair(void *ctx, bool refused) {
    struct two_trees *trees = ctx;
    struct stack_pair pair = {0};
    struct err e = {0};
    enum st st = stack_pair_make(&pair, &trees->a, &trees->b, false, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    stack_pair_release(&pair);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct two_trees trees = {0};
    read_string(&trees.a, "a;b 3\na;c 4\n");
    read_string(&trees.b, "a;b 5\na;d 1\n");
    assert_true(failmalloc_sweep(make_pair, &trees) > 5);
    stack_tree_release(&trees.a);
    stack_tree_release(&trees.b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_are_seen),
        cmocka_unit_test(sides_may_have_different_decimals),
        cmocka_unit_test(normalising_keeps_shares_and_the_sum),
        cmocka_unit_test(empty_sides_are_fine),
        cmocka_unit_test(sums_hold_for_any_two_trees),
        cmocka_unit_test(sums_past_64_bits_are_refused),
        cmocka_unit_test(stacks_are_found),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
