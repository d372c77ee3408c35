/* Tests annealing: when two stacks count as the same, and how the interval between dumps grows. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "core/anneal.h"

enum { CAP = 4 };

struct stack {
    uint64_t frames[8], starts[8];
    struct rec_stack stack;
};

/* Makes a stack from pairs of a function's start and a frame's offset from it. start 0: the start
 * is not known, and the offset is the frame's address. */
static const struct rec_stack *make(struct stack *s, uint32_t count, const uint64_t (*pairs)[2]) {
    for (uint32_t i = 0; i < count; i++) {
        s->starts[i] = pairs[i][0];
        s->frames[i] = pairs[i][0] + pairs[i][1];
    }
    s->stack =
        (struct rec_stack){.frames = s->frames, .starts = s->starts, .cap = 8, .count = count};
    return &s->stack;
}

static void the_interval_grows_1_1_2_3_5_8_and_so_on(void **state) {
    (void)state;
    static const uint32_t expected[] = {1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    struct rec_anneal a;
    rec_anneal_init(&a, NULL, 0);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(a.interval, expected[i]);
        rec_anneal_grow(&a, 0);
    }
}

static void the_interval_stops_at_its_cap(void **state) {
    (void)state;
    static const uint32_t expected[] = {1, 1, 2, 3, 5, 7, 7, 7};
    struct rec_anneal a;
    rec_anneal_init(&a, NULL, 0);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(a.interval, expected[i]);
        rec_anneal_grow(&a, 7);
    }
    for (unsigned i = 0; i < 100000; i++) { /* without a cap the interval does not overflow */
        rec_anneal_grow(&a, 0);
        assert_in_range(a.interval, 7, 1 << 30);
    }
    rec_anneal_reset(&a);
    assert_int_equal(a.interval, 1);
}

static void stacks_are_the_same_function_by_function(void **state) {
    (void)state;
    static const uint64_t first[][2] = {{100, 1}, {200, 5}, {300, 9}};
    static const uint64_t other_address[][2] = {{100, 7}, {200, 5}, {300, 2}};
    static const uint64_t other_function[][2] = {{100, 1}, {250, 5}, {300, 9}};
    static const uint64_t unknown[][2] = {{0, 101}, {200, 5}, {300, 9}};
    uint64_t functions[CAP];
    struct stack s;
    struct rec_anneal a;
    rec_anneal_init(&a, functions, CAP);
    assert_false(rec_anneal_same(&a, make(&s, 3, first))); /* no stack is remembered yet */
    rec_anneal_remember(&a, make(&s, 3, first));
    assert_true(rec_anneal_same(&a, make(&s, 3, first)));
    assert_true(rec_anneal_same(&a, make(&s, 3, other_address)));
    assert_false(rec_anneal_same(&a, make(&s, 3, other_function)));
    assert_false(rec_anneal_same(&a, make(&s, 2, first)));
    assert_false(rec_anneal_same(&a, make(&s, 3, unknown)));
    assert_false(rec_anneal_same(&a, NULL));
    rec_anneal_remember(&a, make(&s, 3, unknown)); /* of a function whose start is not known, the
                                                      frame's address counts */
    assert_true(rec_anneal_same(&a, make(&s, 3, unknown)));
    rec_anneal_reset(&a);
    assert_false(rec_anneal_same(&a, make(&s, 3, unknown)));
}

static void no_stack_is_the_same_as_no_stack(void **state) {
    (void)state;
    uint64_t functions[CAP];
    struct rec_anneal a;
    rec_anneal_init(&a, functions, CAP);
    assert_false(rec_anneal_same(&a, NULL));
    rec_anneal_remember(&a, NULL);
    assert_true(rec_anneal_same(&a, NULL));
}

static void another_dump_starts_the_interval_again(void **state) {
    (void)state;
    static const uint64_t first[][2] = {{100, 1}};
    uint64_t functions[CAP];
    struct stack s;
    struct rec_anneal a;
    rec_anneal_init(&a, functions, CAP);
    rec_anneal_remember(&a, make(&s, 1, first));
    rec_anneal_grow(&a, 0);
    rec_anneal_grow(&a, 0);
    assert_int_equal(a.interval, 2);
    rec_anneal_remember(&a, make(&s, 1, first));
    assert_int_equal(a.interval, 1);
    rec_anneal_grow(&a, 0);
    assert_int_equal(a.interval, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_grows_1_1_2_3_5_8_and_so_on),
        cmocka_unit_test(the_interval_stops_at_its_cap),
        cmocka_unit_test(stacks_are_the_same_function_by_function),
        cmocka_unit_test(no_stack_is_the_same_as_no_stack),
        cmocka_unit_test(another_dump_starts_the_interval_again),
    };
    return cmocka_run_group_tests_name("anneal", tests, NULL, NULL);
}
