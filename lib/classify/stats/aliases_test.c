/* Tests that stalls seen with and without symbols are counted together: within a run, and between
 * the runs that the gate compares. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "base/hash.h"
#include "classify/print/print_formats.h"
#include "classify/gate/gate.h"
#include "classify/stats/triage_private.h"

/* Stalls of a bucket of one frame; a name that begins with '+' stands for a frame without a name.
 */
struct stalls {
    const char *level1, *level2, *action;
    const char *was1, *was2, *was_action; /* the keys before names were known; NULL = none */
    unsigned users;                       /* number of users, each with one stall of a second */
};

static bool key_of(char *text, size_t size, const char *function) {
    int n = snprintf(text, size, "app\t%s\n", function);
    return n > 0 && (size_t)n < size;
}

static struct bucket *bucket(struct triage *t, struct bucket_set *set, const char *function,
                             const char *was) {
    char text[64];
    bool added;
    assert_true(key_of(text, sizeof text, function));
    struct bucket *b = bucket_put(set, text, strlen(text), &added);
    if (!b || (!b->frames && !(b->frames = calloc(1, sizeof(const struct bucket_frame *))))) {
        return NULL;
    }
    uint32_t name = triage_string(t, function);
    if (name == NO_INDEX) {
        return NULL;
    }
    const char *interned = map_string(&t->strings, name);
    b->frame_count = 1;
    const struct bucket_frame frame = {.image = "app",
                                       .function = interned,
                                       .image_name = interned,
                                       .in_app = true,
                                       .resolved = function[0] != '+'};
    b->frames[0] = triage_frame(t, &frame);
    if (!b->frames[0]) {
        b->frame_count = 0;
        return NULL;
    }
    if (was) {
        assert_true(key_of(text, sizeof text, was));
        if (!bucket_add_alias(b, key_number(set->level, text, strlen(text)), UINT32_MAX)) {
            return NULL;
        }
    }
    return b;
}

static bool tally_user(struct tally *t, uint64_t user) {
    t->dumps++;
    t->ms += 1000;
    uint32_t cell = cluster_cell_of(3, user);
    return tally_stall(t, 1000, false, cell) && clusters_add(&t->clusters, cell, 0, 1000) &&
           distinct_add(&t->users, user);
}

/* Counts the stalls. False: out of memory. */
static bool count(struct triage *t, const struct stalls *s) {
    struct bucket *one = bucket(t, &t->level[0], s->level1, s->was1);
    struct bucket *two = one ? bucket(t, &t->level[1], s->level2, s->was2) : NULL;
    struct bucket *action = two ? bucket(t, &t->actions, s->action, s->was_action) : NULL;
    char id[16];
    snprintf(id, sizeof id, "%s", s->level2);
    struct evidence e = {.id = id, .span_ms = s->level1[0] == '+' ? 9000 : 1000};
    if (!action || !bucket_adopt(one, two) || !bucket_add_action(one, action->index, 1000) ||
        !bucket_add_action(two, action->index, 1000) || !bucket_take_evidence(one, &e) ||
        !bucket_take_evidence(two, &e)) {
        return false;
    }
    for (uint64_t u = 0; u < s->users; u++) {
        uint64_t user = hash_u64(u + 1);
        if (!tally_user(one->tally, user) || !tally_user(two->tally, user) ||
            !tally_user(action->tally, user) || !tally_user(&t->total, user)) {
            return false;
        }
        t->unresolved += s->level1[0] == '+';
    }
    return true;
}

static enum st make(struct triage **t, const struct stalls *s, size_t n, struct err *e) {
    struct triage_options o = {.cap_ms = 30000, .rules = "test"};
    if (triage_new(t, &o, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < n; i++) {
        if (!count(*t, &s[i])) {
            return err_nomem(e);
        }
    }
    return triage_finish(*t, e);
}

static struct triage *finished(const struct stalls *s, size_t n) {
    struct triage *t = NULL;
    assert_int_equal(make(&t, s, n, NULL), ST_OK);
    return t;
}

/* Checks a set's buckets by rank, with their stalls: "draw 30, +0x1 2". */
static void assert_buckets(const struct bucket_set *set, const char *want) {
    char got[256] = "";
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        size_t len = strlen(got);
        snprintf(got + len, sizeof got - len, "%s%s %u", i ? ", " : "", b->frames[0]->function,
                 (unsigned)b->tally->stalls);
        assert_ptr_equal(bucket_find(set, b), b);
        assert_ptr_equal(set->buckets.data[b->index], b);
    }
    assert_string_equal(got, want);
}

#define NAMED(f, raw, n)                                                                           \
    { f, f "2", f "_tap", raw, raw "2", raw "3", n }
#define RAW(raw, n)                                                                                \
    { raw, raw "2", raw "3", NULL, NULL, NULL, n }

static void dumps_without_symbols_join_those_with(void **state) {
    (void)state;
    static const struct stalls s[] = {RAW("+0x1", 30), NAMED("draw", "+0x1", 20), RAW("+0x9", 3)};
    struct triage *t = finished(s, 3);
    assert_buckets(&t->level[0], "draw 50, +0x9 3");
    assert_buckets(&t->level[1], "draw2 50, +0x92 3");
    assert_buckets(&t->actions, "draw_tap 50, +0x93 3");
    const struct bucket *draw = t->level[0].buckets.data[t->level[0].ranked[0]];
    assert_int_equal(draw->users, 30); /* 20 of the 30 users were in both buckets */
    assert_int_equal(draw->children.len, 1);
    assert_int_equal(draw->actions.len, 1);
    assert_string_equal(draw->evidence.id,
                        "draw2"); /* the evidence of the bucket with names is kept */
    assert_int_equal(t->unresolved, 3);
    assert_int_equal(t->total.stalls, 53);
    triage_free(t);
}

static void their_order_does_not_matter(void **state) {
    (void)state;
    static const struct stalls s[] = {NAMED("draw", "+0x1", 20), RAW("+0x9", 3), RAW("+0x1", 30)};
    struct triage *t = finished(s, 3);
    assert_buckets(&t->level[0], "draw 50, +0x9 3");
    assert_buckets(&t->level[1], "draw2 50, +0x92 3");
    triage_free(t);
}

/* A bucket without names that could be either of two buckets with names is joined to neither. */
static void what_could_be_either_stays(void **state) {
    (void)state;
    static const struct stalls s[] = {RAW("+0x1", 30), NAMED("draw", "+0x1", 20),
                                      NAMED("load", "+0x1", 10)};
    struct triage *t = finished(s, 3);
    assert_buckets(&t->level[0], "+0x1 30, draw 20, load 10");
    assert_int_equal(t->unresolved, 30);
    triage_free(t);
}

/* "+0x1" is the start of a function; "+0x9" and "+0x5" are places in that function. */
static void places_join_the_start_of_their_function(void **state) {
    (void)state;
    static const struct stalls s[] = {RAW("+0x9", 30), RAW("+0x5", 2), NAMED("+0x1", "+0x9", 20),
                                      NAMED("+0x1", "+0x5", 1)};
    struct triage *t = finished(s, 4);
    assert_buckets(&t->level[0], "+0x1 53");
    assert_buckets(&t->level[1], "+0x12 53");
    triage_free(t);
}

/* Merges aliases that form a circle, as only a forged partial can have them. */
static void aliases_in_a_circle_join_nothing(void **state) {
    (void)state;
    static const struct stalls s[] = {NAMED("+0x1", "+0x2", 3), NAMED("+0x2", "+0x3", 2),
                                      NAMED("+0x3", "+0x1", 1)};
    struct triage *t = finished(s, 3);
    assert_buckets(&t->level[0], "+0x1 3, +0x2 2, +0x3 1");
    triage_free(t);
}

/* A level-2 bucket that was under another level-1 bucket is not moved. */
static void families_stay_together(void **state) {
    (void)state;
    static const struct stalls s[] = {RAW("+0x1", 30),
                                      {"draw", "draw2", "tap", "+0x5", "+0x12", NULL, 20}};
    struct triage *t = finished(s, 2);
    assert_buckets(&t->level[0], "+0x1 30, draw 20");
    assert_buckets(&t->level[1], "+0x12 30, draw2 20");
    triage_free(t);
}

/* A key with names never becomes an alias: other rules may have made it, and another bucket may
 * have its id. */
static void names_are_never_aliases(void **state) {
    (void)state;
    static const struct stalls s[] = {NAMED("poll", "+0x7", 30), NAMED("draw", "poll", 20)};
    struct triage *t = finished(s, 2);
    assert_buckets(&t->level[0], "poll 30, draw 20");
    triage_free(t);
}

/* Checks a stall with a dump in each of two buckets. duration_ms: its length; 0 = no dump gives it,
 * and it counts 1 s. */
static void assert_stalls_of_both(uint64_t duration_ms, const char *level1, const char *actions) {
    static const struct stalls s[] = {RAW("+0x1", 30), NAMED("draw", "+0x1", 20)};
    struct triage *t = NULL;
    struct triage_options o = {.cap_ms = 30000, .rules = "test"};
    assert_int_equal(triage_new(&t, &o, NULL), ST_OK);
    assert_true(count(t, &s[0]) && count(t, &s[1]));
    for (uint32_t i = 0; i < 2; i++) { /* the stall has a dump in each bucket */
        struct stall_part part = {
            .level2 = i, .action = i, .holder = NO_INDEX, .cell = 7, .ms = 500};
        assert_true(stalls_join(t, 99, 500, duration_ms, &part, 1));
    }
    assert_int_equal(triage_finish(t, NULL), ST_OK);
    assert_buckets(&t->level[0], level1);
    assert_buckets(&t->actions, actions);
    assert_int_equal(t->total.stalls, 51);
    triage_free(t);
}

static void a_stall_of_raw_and_named_dumps_counts_once_while_dumps_are_missing(void **state) {
    (void)state;
    assert_stalls_of_both(0, "draw 51", "draw_tap 51");
}

/* The parts of a complete stall are forgotten once it is counted, in one of the two buckets. */
static void so_does_a_complete_one(void **state) {
    (void)state;
    assert_stalls_of_both(1000, "draw 51", "draw_tap 51");
}

/* Each dump of a bucket may add another id as an alias, so their number has a limit. */
static void as_many_are_kept_as_there_is_room_whatever_their_order(void **state) {
    (void)state;
    enum { MANY = 3 * ALIASES_MAX };
    struct bucket up = {0}, down = {0};
    for (uint64_t i = 0; i < MANY; i++) {
        assert_true(bucket_add_alias(&up, hash_u64(i) >> 16, 1));
        assert_true(bucket_add_alias(&down, hash_u64(MANY - 1 - i) >> 16, 1));
        /* The bucket has this id already, or it was dropped. */
        assert_true(bucket_add_alias(&up, hash_u64(i / 2) >> 16, 1));
    }
    assert_int_equal(up.aliases.len, ALIASES_MAX);
    assert_int_equal(down.aliases.len, ALIASES_MAX);
    for (size_t i = 0; i < ALIASES_MAX; i++) {
        assert_true(up.aliases.data[i] == down.aliases.data[i]);
        assert_true(i == 0 || up.aliases.data[i - 1] < up.aliases.data[i]);
    }
    SMALL_VEC_RELEASE(&up.aliases);
    SMALL_VEC_RELEASE(&up.alias_dumps);
    SMALL_VEC_RELEASE(&down.aliases);
    SMALL_VEC_RELEASE(&down.alias_dumps);
}

/* ---- the gate ---- */

/* Checks the gate's rows. "1 draw 40 50" stands for level, title, stalls of the base, and stalls of
 * the later run. */
static void assert_rows(const struct stalls *base, size_t bases, const struct stalls *now,
                        size_t nows, const char *want) {
    struct triage *t[RATES_RUNS] = {finished(base, bases), finished(now, nows)};
    struct gate g;
    char got[256] = "";
    assert_int_equal(gate_compare(&g, t[0], t[1],
                                  &(struct gate_options){.regressed_percent = 20, .min_users = 20},
                                  NULL),
                     ST_OK);
    for (size_t i = 0; i < g.rows.len; i++) {
        const struct gate_row *row = &g.rows.data[i];
        size_t len = strlen(got);
        if (!row->bucket) {
            continue; /* the row of a pool */
        }
        snprintf(got + len, sizeof got - len, "%s%c %s %u %u", len ? ", " : "", row->level,
                 row->bucket->frames[0]->function, (unsigned)row->stalls[RATES_BASE],
                 (unsigned)row->stalls[RATES_NOW]);
    }
    gate_release(&g);
    triage_free(t[0]);
    triage_free(t[1]);
    assert_string_equal(got, want);
}

static void the_gate_knows_what_got_names(void **state) {
    (void)state;
    static const struct stalls raw[] = {RAW("+0x1", 30)};
    static const struct stalls named[] = {NAMED("draw", "+0x1", 40)};
    assert_rows(raw, 1, named, 1, "1 draw 30 40");
}

static void the_gate_knows_what_lost_its_names(void **state) {
    (void)state;
    static const struct stalls raw[] = {RAW("+0x1", 30)};
    static const struct stalls named[] = {NAMED("draw", "+0x1", 40)};
    assert_rows(named, 1, raw, 1, "1 +0x1 40 30");
}

/* A bucket without names is compared with the sum of all buckets that it could be. */
static void the_gate_takes_together_what_could_be_either(void **state) {
    (void)state;
    static const struct stalls raw[] = {RAW("+0x1", 30)};
    static const struct stalls named[] = {NAMED("draw", "+0x1", 20), NAMED("load", "+0x1", 10)};
    assert_rows(raw, 1, named, 2, "1 draw 30 30");
}

/* ---- memory ---- */

static const struct stalls sweep_base[] = {RAW("+0x1", 8), NAMED("load", "+0x2", 2)};
static const struct stalls sweep_now[] = {RAW("+0x1", 2), NAMED("draw", "+0x1", 1), RAW("+0x2", 1)};

static void every_allocation_may_fail(void *ctx, bool refused) {
    (void)ctx;
    struct triage *base = NULL, *now = NULL;
    struct gate g;
    struct err e = {0};
    if (make(&base, sweep_base, 2, &e) == ST_OK && make(&now, sweep_now, 3, &e) == ST_OK &&
        gate_compare(&g, base, now,
                     &(struct gate_options){.regressed_percent = 20, .min_users = 20},
                     &e) == ST_OK) {
        struct strbuf text = {0};
        struct sink sink = sink_to_strbuf(&text);
        gate_print_text(&g, &sink);
        gate_print_json(&g, &sink);
        gate_print_markdown(&g, &sink);
        gate_print_junit(&g, &sink);
        assert_true(sink_close(&sink, &e) == ST_OK || refused);
        strbuf_release(&text);
        gate_release(&g);
    } else {
        assert_true(refused);
        assert_int_equal(e.code, ERR_NOMEM);
    }
    triage_free(base);
    triage_free(now);
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(every_allocation_may_fail, NULL) > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dumps_without_symbols_join_those_with),
        cmocka_unit_test(their_order_does_not_matter),
        cmocka_unit_test(what_could_be_either_stays),
        cmocka_unit_test(places_join_the_start_of_their_function),
        cmocka_unit_test(aliases_in_a_circle_join_nothing),
        cmocka_unit_test(families_stay_together),
        cmocka_unit_test(names_are_never_aliases),
        cmocka_unit_test(a_stall_of_raw_and_named_dumps_counts_once_while_dumps_are_missing),
        cmocka_unit_test(so_does_a_complete_one),
        cmocka_unit_test(as_many_are_kept_as_there_is_room_whatever_their_order),
        cmocka_unit_test(the_gate_knows_what_got_names),
        cmocka_unit_test(the_gate_knows_what_lost_its_names),
        cmocka_unit_test(the_gate_takes_together_what_could_be_either),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("aliases", tests, NULL, NULL);
}
