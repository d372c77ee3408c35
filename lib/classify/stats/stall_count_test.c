/* Tests how much each dump of a stall counts, whatever the dumps say about their position in the
 * stall. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/hash.h"
#include "classify/stats/stall_count.h"

enum { UNSAID = -1, DUMPS_MAX = 4 };

/* The members that a dump of the stall "s" has. */
struct said {
    int64_t seq, at_ms, span_ms, duration_ms;
    bool more; /* the dump ends before the stall does */
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

/* Checks the sum that the dumps of a stall count of its first 30 s, in this order and in the
 * reverse one. */
static void a_stall_counts_up_to_the_cap_whatever_its_dumps_say(void **state) {
    (void)state;
    static const struct {
        struct said dumps[DUMPS_MAX];
        size_t count;
        uint64_t ms[DUMPS_MAX]; /* ms that each dump counts in this order */
        uint64_t reverse;       /* sum of the ms in the reverse order */
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
        /* Each dump gives only the length of the whole stall, 5 s. */
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

/* Of several dumps with one id, the first counts; the number of those that would count differently
 * is reported. */
static void a_duplicate_that_would_count_otherwise_is_told(void **state) {
    (void)state;
    static const struct {
        struct dump d;
        const char *function;
        bool differs;
    } rows[] = {
        {{.id = "1", .stall = {.span_ms = 10}}, "f", false}, /* the dump that counts */
        {{.id = "1", .stall = {.span_ms = 10}}, "f", false},
        {{.id = "1", .stall = {.span_ms = 20}}, "f", true},
        {{.id = "1", .stall = {.span_ms = 10}}, "g", true},
        {{.id = "1", .user = "u", .stall = {.span_ms = 10}}, "f", true},
        {{.id = "1", .stall = {.span_ms = 10, .id = "s"}}, "f", true},
        {{.id = "1", .stall = {.span_ms = 10}}, "f", false},
    };
    const bool open[APART_COUNT] = {false};
    struct seen_set seen = {.used = 0};
    uint64_t differing = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct frame_info info = {.image = "app", .function = rows[i].function};
        struct stall_key key = {.level = {[1] = {.frames = {{.info = &info}}, .count = 1}}};
        enum triage_apart why;
        assert_true(stall_count_judge(&seen, &rows[i].d, &key, true, open, &why));
        assert_int_equal(why, i ? APART_DUPLICATE : APART_NONE);
        differing += rows[i].differs;
        assert_int_equal(seen.differing, differing);
    }
    seen_release(&seen);
}

/* Counts dumps that lack members or contradict each other, in 200 orders. */
static void the_sum_is_the_same_in_any_order(void **state) {
    (void)state;
    enum { STALLS = 300, ORDERS = 200, CAP = 30000 };
    size_t capped = 0, several = 0;
    for (uint64_t stall = 0; stall < STALLS; stall++) {
        struct said dumps[DUMPS_MAX];
        uint64_t first = 0, r = hash_u64(stall + 1);
        size_t count = 1 + r % DUMPS_MAX, wholes = 0;
        several += count > 1;
        for (size_t i = 0; i < count; i++) {
            r = hash_u64(r);
            dumps[i] =
                (struct said){.seq = (int64_t)(r % 4),
                              .at_ms = r >> 8 & 1 ? (int64_t)(r >> 10) % 40000 : UNSAID,
                              .span_ms = r >> 9 & 1 ? (int64_t)(r >> 20) % 40000 : UNSAID,
                              .duration_ms = r >> 3 & 1 ? (int64_t)(r >> 30) % 40000 : UNSAID,
                              .more = r >> 4 & 1};
            wholes += !dumps[i].more && dumps[i].seq <= 1 && dumps[i].duration_ms > 0 &&
                      dumps[i].span_ms >= dumps[i].duration_ms;
        }
        for (uint64_t order = 0; order < ORDERS; order++) {
            struct stall_ledger l = {0};
            uint64_t sum = 0, spans = 0;
            for (size_t i = count; i-- > 0;) { /* the shuffle of Fisher and Yates */
                size_t other = hash_u64(order * DUMPS_MAX + i) % (i + 1);
                struct said taken = dumps[other];
                dumps[other] = dumps[i];
                dumps[i] = taken;
                struct stall_count c = take(&l, "s", &taken, CAP);
                sum += c.ms;
                spans += c.span_ms;
            }
            assert_true(sum <= CAP * (1 + wholes) && sum <= spans);
            assert_true(order == 0 || sum + spans == first);
            first = sum + spans;
            capped += order == 0 && sum == CAP;
            stall_ledger_release(&l);
        }
    }
    assert_true(capped > 10 && several > 100);
}

static void only_the_first_dump_of_a_stall_is_all_of_it(void **state) {
    (void)state;
    struct stall_ledger l = {0};
    const struct said whole = {1, UNSAID, 2500, UNSAID, false},
                      part = {1, UNSAID, 2500, 5000, false};
    assert_true(take(&l, "s", &whole, 0).whole);
    struct stall_count second = take(&l, "s", &whole, 0);
    assert_false(second.whole);
    assert_false(second.counted);
    stall_ledger_mark(&l, second.hash);
    assert_true(take(&l, "s", &whole, 0).counted);
    assert_false(take(&l, "t", &part, 0).whole);
    assert_false(take(&l, "t", &whole, 0).whole);
    for (int i = 0; i < 2; i++) { /* a dump without a stall id is a stall of its own */
        struct stall_count alone = take(&l, i ? "" : NULL, &part, 0);
        assert_true(alone.whole);
        stall_ledger_mark(&l, alone.hash);
        assert_false(alone.counted);
    }
    stall_ledger_release(&l);
}

/* A dump that says that its span is all of its stall is a stall of its own, whatever its id; it
 * takes no time from the parts of another stall that have the id. */
static void no_id_joins_a_dump_that_is_a_whole_stall(void **state) {
    (void)state;
    struct stall_ledger l = {0};
    const struct said whole = {1, UNSAID, 20000, 20000, false},
                      part = {2, UNSAID, 20000, 40000, true};
    for (int i = 0; i < 3; i++) {
        struct stall_count c = take(&l, "s", &whole, 30000);
        assert_true(c.whole && !c.counted);
        assert_int_equal(c.ms, 20000);
        stall_ledger_mark(&l, c.hash);
    }
    struct stall_count c = take(&l, "s", &part, 30000);
    assert_true(!c.whole && !c.counted);
    assert_int_equal(c.ms, 20000);
    assert_int_equal(take(&l, "s", &part, 30000).ms, 10000);
    stall_ledger_release(&l);
}

/* UUIDs are equal in upper and lower case; other ids are not. */
static void an_id_that_is_a_uuid_has_no_case(void **state) {
    (void)state;
    static const struct {
        const char *one, *other;
        bool same;
    } rows[] = {
        {"76186c16-a1f6-4797-bc50-00000000000f", "76186C16-A1F6-4797-BC50-00000000000F", true},
        {"76186c16-a1f6-4797-bc50-00000000000f", "76186c16-a1f6-4797-bc50-00000000000e", false},
        {"76186c16-a1f6-4797-bc50_00000000000f", "76186C16-A1F6-4797-BC50_00000000000F", false},
        {"a", "A", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bool open[APART_COUNT] = {false};
        struct stall_key key = {.status = KEY_OK};
        struct seen_set seen = {.used = 0};
        enum triage_apart why;
        struct dump d = {.id = rows[i].one, .stall.id = rows[i].one};
        assert_true(stall_count_judge(&seen, &d, &key, true, open, &why));
        d.id = d.stall.id = rows[i].other;
        assert_true(stall_count_judge(&seen, &d, &key, true, open, &why));
        assert_int_equal(why == APART_DUPLICATE, rows[i].same);
        assert_int_equal(seen.differing, 0);
        seen_release(&seen);
    }
}

/* An id joins dumps of one app, device and user alone; one of zeros joins nothing. */
static void an_id_joins_the_dumps_of_one_process(void **state) {
    (void)state;
    static const char zeros[] = "00000000-0000-0000-0000-000000000000";
    static const struct {
        struct dump d;
        bool met;
    } rows[] = {
        {{.stall = {.id = "s"}, .user = "u", .app = {.id = "a"}}, false},
        {{.stall = {.id = "s"}, .user = "u", .app = {.id = "a"}}, true},
        {{.stall = {.id = "s"}, .user = "v", .app = {.id = "a"}}, false},
        {{.stall = {.id = "s"}, .user = "u", .app = {.id = "b"}}, false},
        {{.stall = {.id = "s"}, .user = "u", .app = {.id = "a", .version = "2"}}, false},
        {{.stall = {.id = "s"}, .user = "u", .app = {.id = "a", .build = "2"}}, false},
        {{.stall = {.id = "s"}, .user = "u", .app = {.id = "a"}, .device = {.os = "17"}}, false},
        {{.stall = {.id = "s"}, .user = "u", .app = {.id = "a"}, .device = {.model = "m"}}, false},
        {{.stall = {.id = zeros}, .user = "u", .app = {.id = "a"}}, false},
        {{.stall = {.id = zeros}, .user = "u", .app = {.id = "a"}}, false},
    };
    struct stall_ledger l = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dump d = rows[i].d;
        struct stall_count c;
        d.stall.seq = 1;
        d.stall.ended = true;
        d.stall.span_ms = 2500;
        assert_true(stall_count_take(&l, &d, APART_NONE, 30000, &c));
        assert_int_equal(!c.whole, rows[i].met);
    }
    stall_ledger_release(&l);
}

/* An id with a dump that is all of its stall and another dump is told once, in any order. */
static void a_whole_stall_with_several_dumps_is_told(void **state) {
    (void)state;
    const struct said whole = {1, UNSAID, 2500, 2500, false}, part = {1, UNSAID, 2500, 5000, false};
    const struct {
        const struct said *dumps[3];
        uint64_t contradicting;
    } rows[] = {{{&whole}, 0},
                {{&part, &part, &part}, 0},
                {{&whole, &whole, &whole}, 1},
                {{&whole, &part, &part}, 1},
                {{&part, &part, &whole}, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stall_ledger l = {0};
        for (size_t k = 0; k < 3 && rows[i].dumps[k]; k++) {
            take(&l, "s", rows[i].dumps[k], 0);
        }
        assert_int_equal(l.contradicting, rows[i].contradicting);
        stall_ledger_release(&l);
    }
}

static void stalls_are_known_for_a_generation(void **state) {
    (void)state;
    struct stall_ledger l = {0};
    const struct said whole = {1, UNSAID, 10, UNSAID, false};
    char id[16];
    for (int i = 0; i < 3 * STALL_LEDGER_GENERATION; i++) {
        snprintf(id, sizeof id, "%d", i);
        stall_ledger_mark(&l, take(&l, id, &whole, 0).hash);
        snprintf(id, sizeof id, "%d", i - STALL_LEDGER_GENERATION + 1);
        assert_true(i < STALL_LEDGER_GENERATION || take(&l, id, &whole, 0).counted);
    }
    assert_false(take(&l, "0", &whole, 0)
                     .counted); /* the first stall was forgotten, because memory is bounded */
    assert_true(l.slot_count[0] <= 2 * STALL_LEDGER_GENERATION);
    assert_true(l.slot_count[1] <= 2 * STALL_LEDGER_GENERATION);
    stall_ledger_release(&l);
}

/* The system waited for an app that its watchdog ended, even in the background. */
static void the_watchdog_in_the_background_is_a_stall(void **state) {
    (void)state;
    static const struct {
        const char *kind, *app_state;
        enum triage_apart apart;
    } rows[] = {{"watchdog", "background", APART_NONE},
                {"watchdog", "foreground", APART_NONE},
                {"hang", "background", APART_BACKGROUND},
                {"suspension", "background", APART_BACKGROUND},
                {"background-task", "background", APART_BACKGROUND},
                {"background-task", "foreground", APART_NONE}};
    const struct stall_key key = {.status = KEY_OK};
    const bool open[APART_COUNT] = {false}, asked[APART_COUNT] = {[APART_BACKGROUND] = true};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dump d = {.stall = {.kind = rows[i].kind, .app_state = rows[i].app_state}};
        assert_int_equal(triage_apart_of(&d, &key, open), rows[i].apart);
        assert_int_equal(triage_apart_of(&d, &key, asked), APART_NONE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duplicate_that_would_count_otherwise_is_told),
        cmocka_unit_test(the_watchdog_in_the_background_is_a_stall),
        cmocka_unit_test(a_stall_counts_up_to_the_cap_whatever_its_dumps_say),
        cmocka_unit_test(the_sum_is_the_same_in_any_order),
        cmocka_unit_test(only_the_first_dump_of_a_stall_is_all_of_it),
        cmocka_unit_test(no_id_joins_a_dump_that_is_a_whole_stall),
        cmocka_unit_test(an_id_joins_the_dumps_of_one_process),
        cmocka_unit_test(an_id_that_is_a_uuid_has_no_case),
        cmocka_unit_test(a_whole_stall_with_several_dumps_is_told),
        cmocka_unit_test(stalls_are_known_for_a_generation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
