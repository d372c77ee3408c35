#include "index/spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/failmalloc.h"
#include "base/hash.h"
#include "base/vec.h"

enum { END = 64, SPANS = 24, ROUNDS = 20000, NOBODY = 255 };

/* Returns a number below `below` that looks random and is the same in every run. */
static unsigned draw(uint64_t *seed, unsigned below) {
    return (unsigned)(hash_u64((*seed)++) % below);
}

/* Fills in the owner of each address by painting one span after the other. */
static void paint_plainly(const struct code_span *in, size_t n, unsigned char owner[END]) {
    memset(owner, NOBODY, END);
    for (size_t i = 0; i < n; i++) {
        for (uint64_t at = in[i].low; at < in[i].high; at++) {
            owner[at] = (unsigned char)in[i].owner;
        }
    }
}

static void check(const struct code_span *in, size_t n) {
    unsigned char want[END], got[END];
    struct span_vec out = {0};
    paint_plainly(in, n, want);
    assert_int_equal(spans_flatten(in, n, &out, NULL), ST_OK);
    for (size_t i = 1; i < out.len; i++) {
        const struct code_span *s = &out.data[i];
        assert_true(s[-1].high < s->low || (s[-1].high == s->low && s[-1].owner != s->owner));
    }
    for (size_t i = 0; i < out.len; i++) {
        assert_true(out.data[i].low < out.data[i].high);
    }
    paint_plainly(out.data, out.len, got);
    assert_memory_equal(got, want, END);
    free(out.data);
}

static void of_spans_that_overlap_the_last_one_counts(void **state) {
    uint64_t seed = 1;
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct code_span in[SPANS];
        size_t n = draw(&seed, SPANS + 1);
        for (size_t i = 0; i < n; i++) {
            uint64_t low = draw(&seed, END - 1);
            in[i] = (struct code_span){low, low + 1 + draw(&seed, (unsigned)(END - low) - 1),
                                       draw(&seed, 9)};
        }
        check(in, n);
    }
}

/* Makes spans nested as inlined calls are: each child clipped to its parent, siblings by address,
 * some of them in two ranges. */
static void nest(uint64_t *seed, struct code_span *in, size_t *n, uint64_t low, uint64_t high) {
    while (low < high && *n < SPANS) {
        uint64_t from = low + draw(seed, (unsigned)(high - low));
        uint64_t to = from + 1 + draw(seed, (unsigned)(high - from));
        to = to > high ? high : to;
        in[*n] = (struct code_span){from, to, *n};
        if (draw(seed, 4) == 0 && *n > 0) {
            in[*n].owner = *n - 1;
        }
        ++*n;
        nest(seed, in, n, from, to);
        low = to;
    }
}

static void spans_that_nest_are_no_other(void **state) {
    uint64_t seed = 2;
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct code_span in[SPANS] = {{0, END, 0}};
        size_t n = 1;
        nest(&seed, in, &n, 0, END);
        check(in, n);
    }
}

/* Puts spans in any order in which each comes after those that it lies in, as calls with many
 * ranges do. */
static void nested_spans_may_be_far_from_their_order(void **state) {
    uint64_t seed = 3;
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct code_span in[SPANS] = {{0, END, 0}}, mixed[SPANS];
        size_t n = 1, left = 0;
        bool taken[SPANS] = {false};
        nest(&seed, in, &n, 0, END);
        while (left < n) {
            size_t i = draw(&seed, (unsigned)n);
            bool ready = !taken[i];
            for (size_t k = 0; k < i && ready; k++) {
                ready = taken[k] || in[k].high <= in[i].low;
            }
            if (ready) {
                mixed[left++] = in[i];
                taken[i] = true;
            }
        }
        check(mixed, n);
    }
}

static void what_stands_in_any_order_is_sorted(void **state) {
    struct code_span *in = calloc(1000, sizeof *in);
    struct span_vec out = {0};
    (void)state;
    assert_non_null(in);
    for (size_t i = 0; i < 1000; i++) {
        in[i] = (struct code_span){2 * (1000 - i), 2 * (1000 - i) + 1, i};
    }
    assert_int_equal(spans_flatten(in, 1000, &out, NULL), ST_OK);
    assert_int_equal(out.len, 1000);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(out.data[i].low, 2 * (i + 1));
        assert_int_equal(out.data[i].owner, 999 - i);
    }
    assert_int_equal(spans_from(&out, 7), 3);
    assert_int_equal(spans_from(&out, 6), 2);
    free(out.data);
    free(in);
}

static void flatten(void *ctx, bool refused) {
    static const struct code_span nested[] = {{0, 9, 0}, {2, 4, 1}},
                                  crossed[] = {{2, 9, 0}, {0, 4, 1}};
    (void)ctx;
    for (int i = 0; i < 2; i++) {
        struct span_vec out = {0};
        struct err e = {0};
        enum st st = spans_flatten(i ? crossed : nested, 2, &out, &e);
        assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
        free(out.data);
    }
}

static void a_lack_of_memory_is_an_error(void **state) {
    (void)state;
    assert_true(failmalloc_sweep(flatten, NULL) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_spans_that_overlap_the_last_one_counts),
        cmocka_unit_test(spans_that_nest_are_no_other),
        cmocka_unit_test(nested_spans_may_be_far_from_their_order),
        cmocka_unit_test(what_stands_in_any_order_is_sorted),
        cmocka_unit_test(a_lack_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("spans", tests, NULL, NULL);
}
