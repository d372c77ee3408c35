/* Tests of the sample of ids: the same state in any order of merging, and an overlap within its
 * bound. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/hash.h"
#include "classify/stats/seen_ids.h"

/* Adds `count` ids from `first` on, as a run does that reads dumps with these ids. */
static void add_range(struct id_sketch *s, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; i++) {
        assert_true(id_sketch_add(s, hash_u64(i), 1));
    }
    s->told += count;
}

static void assert_same(const struct id_sketch *a, const struct id_sketch *b) {
    assert_int_equal(a->ids.len, b->ids.len);
    assert_int_equal(a->cut, b->cut);
    assert_int_equal(a->told, b->told);
    assert_memory_equal(a->ids.data, b->ids.data, a->ids.len * sizeof *a->ids.data);
}

/* A known id with different content is a duplicate, too, and the content that came first is
 * remembered over generations. */
static void an_id_with_other_content_is_told(void **state) {
    (void)state;
    struct seen_set s = {0};
    bool seen;
    assert_true(seen_before(&s, 7, 1, &seen));
    assert_false(seen);
    assert_true(seen_before(&s, 7, 1, &seen));
    assert_true(seen);
    assert_int_equal(s.differing, 0);
    assert_true(seen_before(&s, 7, 2, &seen));
    assert_true(seen);
    assert_int_equal(s.differing, 1);
    for (uint64_t i = 0; i < SEEN_GENERATION; i++) {
        assert_true(seen_before(&s, hash_u64(i), 0, &seen));
    }
    assert_true(seen_before(&s, 7, 1, &seen));
    assert_true(seen);
    assert_int_equal(s.differing, 1);
    assert_true(seen_before(&s, 7, 2, &seen));
    assert_int_equal(s.differing, 2);
    seen_release(&s);
}

static void few_ids_are_known_exactly(void **state) {
    struct id_sketch a = {0}, b = {0};
    (void)state;
    add_range(&a, 0, 3000);
    add_range(&b, 2900, 1000);
    assert_true(id_sketch_merge(&a, &b));
    const struct id_overlap o = id_sketch_overlap(&a);
    assert_int_equal(o.dumps, 100);
    assert_int_equal(o.error, 0);
    assert_false(a.cut);
    assert_int_equal(a.told, 4000);
    id_sketch_release(&a);
    id_sketch_release(&b);
}

static void the_order_of_merging_does_not_matter(void **state) {
    enum { PARTS = 7 };
    struct id_sketch parts[PARTS] = {{{0}, 0, 0, 0}}, up = {0}, down = {0}, pairs = {0};
    (void)state;
    for (uint64_t i = 0; i < PARTS; i++) {
        add_range(&parts[i], i * 1700, 2000);
    }
    for (size_t i = 0; i < PARTS; i++) {
        assert_true(id_sketch_merge(&up, &parts[i]));
        assert_true(id_sketch_merge(&down, &parts[PARTS - 1 - i]));
    }
    for (size_t i = 0; i < PARTS; i += 2) {
        struct id_sketch two = {0};
        assert_true(id_sketch_merge(&two, &parts[i]));
        assert_true(i + 1 == PARTS || id_sketch_merge(&two, &parts[i + 1]));
        assert_true(id_sketch_merge(&pairs, &two));
        id_sketch_release(&two);
    }
    assert_true(up.cut);
    assert_same(&up, &down);
    assert_same(&up, &pairs);
    for (size_t i = 0; i < PARTS; i++) {
        id_sketch_release(&parts[i]);
    }
    id_sketch_release(&up);
    id_sketch_release(&down);
    id_sketch_release(&pairs);
}

/* Merges two parts that have `common` ids in common; the ids are different in each round. */
static struct id_overlap overlap_of(uint64_t round, uint64_t count, uint64_t common) {
    struct id_sketch a = {0}, b = {0};
    uint64_t first = round << 32;
    add_range(&a, first, count);
    add_range(&b, first + count - common, count);
    assert_true(id_sketch_merge(&a, &b));
    const struct id_overlap o = id_sketch_overlap(&a);
    id_sketch_release(&a);
    id_sketch_release(&b);
    return o;
}

static void the_overlap_of_many_is_within_its_bound(void **state) {
    enum { ROUNDS = 100, COUNT = 20000 };
    static const uint64_t commons[] = {0, 200, 2000, COUNT};
    (void)state;
    for (size_t c = 0; c < sizeof commons / sizeof *commons; c++) {
        unsigned inside = 0;
        for (uint64_t round = 1; round <= ROUNDS; round++) {
            const struct id_overlap o = overlap_of(round, COUNT, commons[c]);
            uint64_t off = o.dumps > commons[c] ? o.dumps - commons[c] : commons[c] - o.dumps;
            assert_true(o.error > 0 && o.error < COUNT / 20);
            inside += off <= o.error;
        }
        assert_in_range(inside, 90, ROUNDS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_with_other_content_is_told),
        cmocka_unit_test(few_ids_are_known_exactly),
        cmocka_unit_test(the_order_of_merging_does_not_matter),
        cmocka_unit_test(the_overlap_of_many_is_within_its_bound),
    };
    return cmocka_run_group_tests_name("seen_ids", tests, NULL, NULL);
}
