/* What each dump of a stall counts, whatever its dumps say of their places in it. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "classify/stats/stall_count.h"

enum { UNSAID = -1, DUMPS_MAX = 4 };

/* A dump of the stall "s". */
struct said {
    int64_t seq, at_ms, span_ms, duration_ms;
    bool more; /* the stall's end was not seen */
};

static struct stall_count take(struct stall_ledger *l, const char *id, const struct said *s,
                               uint64_t cap_ms) {
    struct stall_count c;
    struct dump d = {.stall = {.id = id,
                               .seq = s->seq,
                               .at_ms = s->at_ms,
                               .span_ms = s->span_ms,
                               .duration_ms = s->duration_ms,
                               .ended = !s->more}};
    assert_true(stall_count_take(l, &d, APART_NONE, cap_ms, &c));
    return c;
}

/* What the dumps count of the first 30 s, in this order and in the reverse one, adds up to. */
static void a_stall_counts_up_to_the_cap_whatever_its_dumps_say(void **state) {
    (void)state;
    static const struct {
        struct said dumps[DUMPS_MAX];
        size_t count;
        uint64_t ms[DUMPS_MAX]; /* in this order */
        uint64_t reverse;       /* the sum in the other one */
    } rows[] = {
        {{{1, 500, 20000, 60000, false},
          {2, 20000, 20000, 60000, false},
          {3, 40000, 20000, 60000, false}},
         3,
         {20000, 10000, 0},
         30000},
        {{{1, UNSAID, 20000, 60000, false},
          {2, UNSAID, 20000, 60000, false},
          {3, UNSAID, 20000, 60000, false}},
         3,
         {20000, 10000, 0},
         30000},
        {{{0, UNSAID, 30000, UNSAID, true}, {0, UNSAID, 60000, UNSAID, true}},
         2,
         {30000, 0},
         30000},
        {{{1, UNSAID, 25000, UNSAID, true}, {1, UNSAID, 25000, UNSAID, true}},
         2,
         {25000, 5000},
         30000},
        /* Of a stall of 5 s each dump says only how long all of it was. */
        {{{1, UNSAID, UNSAID, 5000, false}, {2, UNSAID, UNSAID, 5000, false}}, 2, {5000, 0}, 5000},
        {{{1, 2000, UNSAID, UNSAID, true}, {2, 5000, UNSAID, UNSAID, true}}, 2, {2000, 3000}, 5000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stall_ledger l = {0}, back = {0};
        uint64_t sum = 0;
        for (size_t k = 0; k < rows[i].count; k++) {
            assert_int_equal(take(&l, "s", &rows[i].dumps[k], 30000).ms, rows[i].ms[k]);
            sum += take(&back, "s", &rows[i].dumps[rows[i].count - 1 - k], 30000).ms;
        }
        assert_int_equal(sum, rows[i].reverse);
        stall_ledger_release(&l);
        stall_ledger_release(&back);
    }
}

static void only_the_first_dump_of_a_stall_is_all_of_it(void **state) {
    (void)state;
    struct stall_ledger l = {0};
    const struct said whole = {1, UNSAID, 2500, 2500, false}, part = {1, UNSAID, 2500, 5000, false};
    assert_true(take(&l, "s", &whole, 0).whole);
    struct stall_count second = take(&l, "s", &whole, 0);
    assert_false(second.whole);
    assert_false(second.counted);
    stall_ledger_mark(&l, second.hash);
    assert_true(take(&l, "s", &whole, 0).counted);
    assert_false(take(&l, "t", &part, 0).whole);
    assert_false(take(&l, "t", &whole, 0).whole);
    for (int i = 0; i < 2; i++) { /* without an id each is a stall of its own */
        struct stall_count alone = take(&l, i ? "" : NULL, &part, 0);
        assert_true(alone.whole);
        stall_ledger_mark(&l, alone.hash);
        assert_false(alone.counted);
    }
    stall_ledger_release(&l);
}

static void stalls_are_known_for_a_generation(void **state) {
    (void)state;
    struct stall_ledger l = {0};
    const struct said whole = {1, UNSAID, 10, 10, false};
    char id[16];
    for (int i = 0; i < 3 * STALL_LEDGER_GENERATION; i++) {
        snprintf(id, sizeof id, "%d", i);
        stall_ledger_mark(&l, take(&l, id, &whole, 0).hash);
        snprintf(id, sizeof id, "%d", i - STALL_LEDGER_GENERATION + 1);
        assert_true(i < STALL_LEDGER_GENERATION || take(&l, id, &whole, 0).counted);
    }
    assert_false(take(&l, "0", &whole, 0).counted); /* forgotten: memory has a bound */
    assert_true(l.slot_count[0] <= 2 * STALL_LEDGER_GENERATION);
    assert_true(l.slot_count[1] <= 2 * STALL_LEDGER_GENERATION);
    stall_ledger_release(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stall_counts_up_to_the_cap_whatever_its_dumps_say),
        cmocka_unit_test(only_the_first_dump_of_a_stall_is_all_of_it),
        cmocka_unit_test(stalls_are_known_for_a_generation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
