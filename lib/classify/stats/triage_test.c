/* Tests of counting: totals, caps, duplicates, and stalls of several dumps, with the dumps in any
 * order. */
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
#include "classify/keys/fixture_dump_test.h"
#include "classify/print/print_formats.h"
#include "classify/print/triage_text.h"
#include "classify/stats/triage_private.h"

/* The members of a test's dump; 0 and NULL mean that the dump lacks the member. */
struct sample {
    const char *id, *stall, *user, *version, *os, *device, *kind, *app_state;
    int64_t seq, at_ms, span_ms, duration_ms;
    bool fatal, prewarmed, unwanted, no_samples;
    bool more;        /* the dump is not the last one of its stall */
    const char *from; /* the caller is `on_FROM`; NULL = the caller is `on_IN` */
    const char *in;   /* innermost function; its caller is `on_IN`; NULL = no stack, "" = idle */
};

struct bench {
    struct rules *rules;
    struct keyer *keyer;
    struct triage *triage;
    struct fixture fixture;
};

static void setup(struct bench *b, uint64_t cap_ms) {
    struct triage_options o = {.cap_ms = cap_ms, .rules_hash = 1, .rules = "test"};
    memset(b, 0, sizeof *b);
    assert_int_equal(rules_new(&b->rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(b->rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&b->keyer, &(struct key_options){.rules = b->rules}, NULL), ST_OK);
    assert_int_equal(triage_new(&b->triage, &o, NULL), ST_OK);
}

static void teardown(struct bench *b) {
    triage_free(b->triage);
    keyer_free(b->keyer);
    rules_free(b->rules);
}

static const struct dump *make(struct bench *b, const struct sample *s, char caller[64]) {
    struct fixture *f = &b->fixture;
    memset(f, 0, sizeof *f);
    f->d.heaviest = -1;
    f->d.id = s->id;
    f->d.user = s->user;
    f->d.time = "2026-11-20T10:00:00.000Z";
    f->d.app.version = s->version;
    f->d.device.os = s->os;
    f->d.device.model = s->device;
    f->d.stall.fatal = s->fatal;
    f->d.stall.threshold_ms = -1;
    f->d.stall.prewarmed = s->prewarmed;
    f->d.stall.id = s->stall;
    f->d.stall.kind = s->kind ? s->kind : "hang";
    f->d.stall.app_state = s->app_state;
    f->d.stall.seq = s->seq ? s->seq : 1;
    f->d.stall.at_ms = s->at_ms ? s->at_ms : -1;
    f->d.stall.span_ms = s->span_ms;
    f->d.stall.duration_ms = s->more ? -1 : s->duration_ms ? s->duration_ms : s->span_ms;
    f->d.stall.ended = !s->more;
    if (!s->in) {
        return &f->d;
    }
    if (*s->in) {
        snprintf(caller, 64, "on_%s", s->from ? s->from : s->in);
        fixture_frame(f, "Shop", true, s->in, 0x10);
        fixture_frame(f, "Shop", true, caller, 0x20);
    } else {
        fixture_frame(f, "libc.so.6", false, "poll", 0x10);
        fixture_frame(f, "libglib-2.0.so.0", false, "g_main_loop_run", 0x20);
    }
    fixture_frame(f, "Shop", true, "main", 0x30);
    fixture_stack(f, 1);
    if (s->no_samples) {
        f->thread = (struct dump_thread){.main = true, .cpu_ms = -1, .stack = f->stacks[0]};
        f->d.threads = &f->thread;
        f->d.thread_count = 1;
        f->d.sample_count = 0;
    }
    return &f->d;
}

static enum st try_add(struct bench *b, const struct sample *s, enum triage_apart *apart) {
    char caller[64];
    struct stall_key key;
    const struct dump *d = make(b, s, caller);
    enum st st = keyer_key(b->keyer, d, &key, NULL);
    return st == ST_OK ? triage_add(b->triage, d, &key, !s->unwanted, apart, NULL) : st;
}

static enum triage_apart add(struct bench *b, const struct sample *s) {
    enum triage_apart apart = APART_COUNT;
    assert_int_equal(try_add(b, s, &apart), ST_OK);
    return apart;
}

static const struct bucket *top(const struct bench *b, size_t rank) {
    const struct bucket_set *set = &b->triage->level[0];
    assert_true(rank < set->buckets.len);
    return set->buckets.data[set->ranked[rank]];
}

#define ADD(b, ...) add(b, &(struct sample){__VA_ARGS__})

static void buckets_are_ranked_by_time_then_users_then_stalls_then_id(void **state) {
    (void)state;
    struct bench b;
    setup(&b, 0);
    ADD(&b, .id = "1", .span_ms = 100, .in = "few", .user = "u");
    ADD(&b, .id = "2", .span_ms = 300, .in = "long", .user = "u");
    ADD(&b, .id = "3", .span_ms = 50, .in = "many", .user = "u");
    ADD(&b, .id = "4", .span_ms = 50, .in = "many", .user = "u");
    ADD(&b, .id = "5", .span_ms = 50, .in = "people", .user = "v");
    ADD(&b, .id = "6", .span_ms = 50, .in = "people", .user = "w");
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    static const char *const order[] = {"long", "people", "many", "few"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(top(&b, i)->frames[0]->function, order[i]);
    }
    assert_int_equal(b.triage->total.ms, 600);
    assert_int_equal(b.triage->total.stalls, 6);
    assert_int_equal(b.triage->total_users, 3);
    teardown(&b);
}

static void the_smallest_threshold_of_ranked_dumps_is_told(void **state) {
    (void)state;
    static const struct {
        int64_t threshold_ms;
        const char *kind;
        int64_t told;
    } dumps[] = {{-1, "hang", -1},   {2000, "hang", 2000}, {100, "crash", 2000},
                 {500, "hang", 500}, {900, "hang", 500},   {20000, "watchdog", 500}};
    struct bench b;
    char caller[64];
    struct stall_key key;
    setup(&b, 0);
    for (size_t i = 0; i < sizeof dumps / sizeof *dumps; i++) {
        (void)make(&b, &(struct sample){.span_ms = 3000, .in = "f", .kind = dumps[i].kind}, caller);
        b.fixture.d.stall.threshold_ms = dumps[i].threshold_ms;
        assert_int_equal(keyer_key(b.keyer, &b.fixture.d, &key, NULL), ST_OK);
        assert_int_equal(triage_add(b.triage, &b.fixture.d, &key, true, NULL, NULL), ST_OK);
        assert_int_equal(b.triage->threshold_ms, dumps[i].told);
    }
    struct strbuf text = {0};
    text_add_threshold(&text, b.triage);
    assert_string_equal(strbuf_cstr(&text),
                        "500ms for hang where it is told, 20.0s for watchdog, shorter stalls were "
                        "not seen there");
    strbuf_release(&text);
    teardown(&b);
}

static void idle_dumps_are_listed_by_what_they_show(void **state) {
    (void)state;
    struct bench b;
    struct strbuf text = {0};
    setup(&b, 0);
    assert_int_equal(ADD(&b, .id = "1", .span_ms = 10, .in = ""), APART_IDLE);
    assert_int_equal(ADD(&b, .id = "2", .span_ms = 30, .in = ""), APART_IDLE);
    assert_int_equal(ADD(&b, .id = "3", .span_ms = 500, .in = "f"), APART_NONE);
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    assert_int_equal(b.triage->idle.buckets.len, 1);
    assert_int_equal(b.triage->idle.buckets.data[0]->tally->dumps, 2);
    assert_int_equal(b.triage->total.ms, 500);
    text_add_idle(&text, b.triage);
    assert_non_null(strstr(strbuf_cstr(&text), " 40ms"));
    strbuf_release(&text);
    teardown(&b);
}

static void what_is_no_stall_is_set_apart_and_counted(void **state) {
    (void)state;
    struct bench b;
    setup(&b, 0);
    assert_int_equal(ADD(&b, .id = "1", .span_ms = 10, .in = "f"), APART_NONE);
    assert_int_equal(ADD(&b, .id = "2", .span_ms = 10, .in = "f", .kind = "crash"), APART_CRASH);
    assert_int_equal(ADD(&b, .id = "3", .span_ms = 10, .in = "f", .app_state = "background"),
                     APART_BACKGROUND);
    assert_int_equal(ADD(&b, .id = "4", .span_ms = 10, .in = ""), APART_IDLE);
    assert_int_equal(ADD(&b, .id = "6", .span_ms = 10, .in = "f", .kind = "launch"), APART_NONE);
    assert_int_equal(ADD(&b, .id = "7", .span_ms = 10, .in = "f", .prewarmed = true),
                     APART_PREWARMED);
    assert_int_equal(ADD(&b, .id = "8", .span_ms = 10, .in = "", .no_samples = true), APART_LATE);
    assert_int_equal(ADD(&b, .id = "9", .span_ms = 10, .in = "f", .unwanted = true),
                     APART_LEFT_OUT);
    assert_int_equal(ADD(&b, .id = "5", .span_ms = 10, .in = NULL), APART_NO_STACK);
    assert_int_equal(ADD(&b, .id = "1", .span_ms = 10, .in = "f"), APART_DUPLICATE);
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    assert_int_equal(b.triage->dumps_read, 10);
    assert_int_equal(b.triage->total.stalls, 2);
    assert_int_equal(b.triage->total.ms, 20);
    for (int a = APART_CRASH; a < APART_COUNT; a++) {
        assert_int_equal(b.triage->apart[a], 1);
    }
    teardown(&b);
}

static void a_stall_counts_once_and_its_spans_add_up(void **state) {
    (void)state;
    struct bench b;
    setup(&b, 0);
    ADD(&b, .id = "1", .stall = "s", .seq = 1, .span_ms = 2000, .more = true, .in = "f");
    ADD(&b, .id = "2", .stall = "s", .seq = 2, .span_ms = 3000, .at_ms = 2000, .more = true,
        .in = "f");
    ADD(&b, .id = "3", .stall = "s", .seq = 3, .span_ms = 1000, .at_ms = 5000, .duration_ms = 6000,
        .in = "g");
    /* The stall is complete, so nothing about it is kept. */
    assert_int_equal(b.triage->pending.used, 0);
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    assert_int_equal(b.triage->total.stalls, 1);
    assert_int_equal(b.triage->total.dumps, 3);
    assert_int_equal(b.triage->total.max_ms, 6000);
    const struct bucket *f = top(&b, 0), *g = top(&b, 1);
    assert_int_equal(f->tally->stalls, 1);
    assert_int_equal(f->tally->dumps, 2);
    assert_int_equal(f->tally->ms, 5000);
    assert_int_equal(f->tally->max_ms, 5000);
    assert_int_equal(g->tally->stalls, 0); /* most of the stall's time was in f */
    assert_int_equal(g->tally->ms, 1000);
    teardown(&b);
}

/* If two buckets have the same part of a stall, the one whose key sorts first counts it, and on
 * level 2 a child of that bucket, whatever the order of the dumps. */
static void a_stall_counts_where_most_of_its_time_is(void **state) {
    (void)state;
    static const char *const in[2][4] = {{"f", "g", "e", "g"}, {"g", "e", "g", "f"}};
    static const int64_t spans[2][4] = {{2000, 1000, 2000, 1000}, {1000, 2000, 1000, 2000}};
    for (int order = 0; order < 2; order++) {
        struct bench b;
        setup(&b, 0);
        for (int i = 0; i < 4; i++) {
            char id[2] = {(char)('1' + i), 0};
            ADD(&b, .id = id, .stall = "s", .seq = i + 1, .span_ms = spans[order][i], .more = true,
                .in = in[order][i]);
        }
        assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
        uint64_t stalls[KEY_LEVELS] = {0};
        for (size_t level = 0; level < KEY_LEVELS; level++) {
            const struct bucket_set *set = &b.triage->level[level];
            for (size_t i = 0; i < set->buckets.len; i++) {
                const struct bucket *bucket = set->buckets.data[i];
                stalls[level] += bucket->tally->stalls;
                assert_int_equal(bucket->tally->stalls,
                                 strcmp(bucket->frames[0]->function, "e") == 0);
            }
        }
        assert_int_equal(b.triage->total.stalls, 1);
        assert_int_equal(stalls[0], 1);
        assert_int_equal(stalls[1], 1);
        teardown(&b);
    }
}

/* Counts stalls halved exactly between buckets whose actions sort in the opposite order. */
static void an_action_has_the_stalls_of_its_bucket(void **state) {
    (void)state;
    struct bench b;
    setup(&b, 0);
    ADD(&b, .id = "1", .stall = "s", .seq = 1, .span_ms = 1000, .more = true, .in = "f",
        .from = "y");
    ADD(&b, .id = "2", .stall = "s", .seq = 2, .span_ms = 1000, .at_ms = 1000, .duration_ms = 2000,
        .in = "g", .from = "x");
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    for (size_t i = 0; i < 2; i++) {
        const struct bucket *action = b.triage->actions.buckets.data[i];
        assert_int_equal(action->tally->stalls, strcmp(action->frames[0]->function, "on_y") == 0);
        assert_int_equal(top(&b, i)->tally->stalls,
                         strcmp(top(&b, i)->frames[0]->function, "f") == 0);
    }
    teardown(&b);
}

static void a_stall_with_a_dump_missing_still_counts(void **state) {
    (void)state;
    struct bench b;
    setup(&b, 0);
    ADD(&b, .id = "1", .stall = "s", .seq = 1, .span_ms = 2000, .more = true, .in = "f");
    ADD(&b, .id = "3", .stall = "s", .seq = 3, .span_ms = 1000, .at_ms = 5000, .duration_ms = 6000,
        .in = "f");
    assert_int_equal(b.triage->pending.used, 1);
    assert_int_equal(b.triage->total.stalls, 0);
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    assert_int_equal(b.triage->total.stalls, 1);
    assert_int_equal(top(&b, 0)->tally->max_ms, 3000);
    teardown(&b);
}

static void one_stall_counts_up_to_the_cap(void **state) {
    (void)state;
    struct bench b;
    setup(&b, 30000);
    ADD(&b, .id = "1", .stall = "s", .seq = 1, .span_ms = 20000, .more = true, .in = "f");
    ADD(&b, .id = "2", .stall = "s", .seq = 2, .span_ms = 25000, .at_ms = 20000, .more = true,
        .in = "g");
    ADD(&b, .id = "3", .stall = "s", .seq = 3, .span_ms = 5000, .at_ms = 45000,
        .duration_ms = 50000, .in = "h");
    ADD(&b, .id = "4", .span_ms = 3600000, .in = "i");
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    assert_string_equal(top(&b, 0)->frames[0]->function, "i");
    assert_int_equal(top(&b, 0)->tally->ms, 30000);
    assert_int_equal(top(&b, 0)->tally->max_ms,
                     3600000); /* lengths are not capped; only the counted time is */
    assert_int_equal(top(&b, 1)->tally->ms, 20000);
    assert_int_equal(top(&b, 2)->tally->ms, 10000);
    assert_int_equal(top(&b, 3)->tally->ms, 0);
    assert_int_equal(b.triage->total.ms, 60000);
    teardown(&b);
}

static void evidence_is_the_longest_span_then_the_smallest_id(void **state) {
    (void)state;
    struct bench b;
    setup(&b, 0);
    ADD(&b, .id = "c", .span_ms = 10, .in = "f", .version = "5.10");
    ADD(&b, .id = "b", .span_ms = 90, .in = "f", .version = "5.9");
    ADD(&b, .id = "a", .span_ms = 90, .in = "f", .version = "5.9.1");
    ADD(&b, .id = "0", .span_ms = 10, .in = "f");
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    assert_string_equal(top(&b, 0)->evidence.id, "a");
    teardown(&b);
}

static const char *value(const struct bench *b, enum tally_facet f, size_t i) {
    const struct facet *facet = &top(b, 0)->tally->facets[f];
    assert_true(i < facet->values.len);
    return map_string(&b->triage->strings, facet->values.data[i].text);
}

static void versions_ascend_and_devices_come_by_how_many_dumps_they_have(void **state) {
    (void)state;
    struct bench b;
    setup(&b, 0);
    ADD(&b, .id = "1", .span_ms = 10, .in = "f", .version = "5.10", .os = "iOS 9", .device = "a");
    ADD(&b, .id = "2", .span_ms = 10, .in = "f", .version = "5.9", .os = "iOS 18", .device = "b");
    ADD(&b, .id = "3", .span_ms = 10, .in = "f", .version = "5.9", .os = "iOS 9", .device = "b");
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    assert_string_equal(value(&b, FACET_VERSION, 0), "5.9");
    assert_string_equal(value(&b, FACET_VERSION, 1), "5.10");
    assert_string_equal(value(&b, FACET_OS, 0), "iOS 9");
    assert_string_equal(value(&b, FACET_DEVICE, 0), "b");
    assert_int_equal(top(&b, 0)->tally->facets[FACET_DEVICE].values.data[0].dumps, 2);
    teardown(&b);
}

static void a_stall_in_which_the_process_died_is_at_least_as_long(void **state) {
    (void)state;
    struct bench b;
    setup(&b, 0);
    for (int i = 0; i < 9; i++) {
        ADD(&b, .span_ms = 100, .in = "f");
    }
    ADD(&b, .span_ms = 5000, .in = "f", .fatal = true);
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    const struct tally *t = top(&b, 0)->tally;
    assert_int_equal(t->fatal, 1);
    /* A stall that ended with the process would have lasted longer. */
    assert_false(tally_percentile(t, 500).at_least);
    assert_true(tally_percentile(t, 990).at_least);
    assert_true(tally_max(t).at_least);
    teardown(&b);
}

/* ---- order ---- */

enum { MANY = 400 };
static char texts[MANY][4][24];

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void fill(struct sample samples[MANY]) {
    static const char *const functions[] = {"a", "b", "c", "d", "e", ""};
    uint64_t seed = 5;
    for (size_t i = 0; i < MANY; i++) {
        struct sample *s = &samples[i];
        snprintf(texts[i][0], sizeof texts[i][0], "dump%zu", i % (MANY - 7)); /* a few twice */
        snprintf(texts[i][1], sizeof texts[i][1], "stall%zu", i / 3);
        snprintf(texts[i][2], sizeof texts[i][2], "user%u", (unsigned)(next(&seed) % 300));
        snprintf(texts[i][3], sizeof texts[i][3], "5.%u", (unsigned)(next(&seed) % 12));
        *s = (struct sample){.id = texts[i][0],
                             .stall = texts[i][1],
                             .user = texts[i][2],
                             .version = texts[i][3],
                             .seq = (int64_t)(i % 3) + 1,
                             .at_ms = (int64_t)(i % 3) * 1000,
                             .span_ms = 1000,
                             .duration_ms = 3000,
                             .more = i % 3 != 2,
                             .in = functions[next(&seed) % 6]};
    }
    for (size_t i = MANY - 7; i < MANY; i++) {
        samples[i] = samples[i - (MANY - 7)]; /* exact duplicates */
    }
}

static void run(const struct sample samples[MANY], const size_t *order, struct strbuf *json,
                struct strbuf *table) {
    struct bench b;
    setup(&b, 2500);
    for (size_t i = 0; i < MANY; i++) {
        add(&b, &samples[order[i]]);
    }
    assert_int_equal(triage_finish(b.triage, NULL), ST_OK);
    struct triage_view v = {.width = 100};
    struct sink s = sink_to_strbuf(json), t = sink_to_strbuf(table);
    triage_print_json(b.triage, &v, &s);
    triage_print_table(b.triage, &v, &t);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_int_equal(sink_close(&t, NULL), ST_OK);
    teardown(&b);
}

static void the_order_of_the_dumps_does_not_change_a_byte(void **state) {
    (void)state;
    struct sample *samples = calloc(MANY, sizeof *samples);
    size_t order[MANY];
    struct strbuf first[2] = {{0}}, again[2] = {{0}};
    uint64_t seed = 99;
    assert_non_null(samples);
    fill(samples);
    for (size_t i = 0; i < MANY; i++) {
        order[i] = i;
    }
    run(samples, order, &first[0], &first[1]);
    for (int round = 0; round < 20; round++) {
        for (size_t i = MANY - 1; i > 0; i--) {
            size_t k = next(&seed) % (i + 1), swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
        strbuf_clear(&again[0]);
        strbuf_clear(&again[1]);
        run(samples, order, &again[0], &again[1]);
        assert_string_equal(strbuf_cstr(&first[0]), strbuf_cstr(&again[0]));
        assert_string_equal(strbuf_cstr(&first[1]), strbuf_cstr(&again[1]));
    }
    for (int i = 0; i < 2; i++) {
        strbuf_release(&first[i]);
        strbuf_release(&again[i]);
    }
    free(samples);
}

static void every_allocation_may_fail_once(void *ctx, bool refused) {
    struct bench b;
    (void)ctx;
    struct triage_options o = {.cap_ms = 1000, .rules = "test"};
    static const char rules[] = "skip poll in libc.so cause io\ncut main\nnormalise o?_* as *\n";
    memset(&b, 0, sizeof b);
    bool ok = rules_new(&b.rules, NULL) == ST_OK &&
              rules_add(b.rules, "t", rules, sizeof rules - 1, NULL) == ST_OK &&
              keyer_new(&b.keyer, &(struct key_options){.rules = b.rules}, NULL) == ST_OK &&
              triage_new(&b.triage, &o, NULL) == ST_OK;
    static const struct sample samples[] = {
        {.id = "1",
         .stall = "s",
         .user = "u",
         .version = "5",
         .span_ms = 9,
         .more = true,
         .in = "f"},
        {.id = "2",
         .stall = "s",
         .seq = 2,
         .user = "v",
         .span_ms = 9,
         .duration_ms = 18,
         .in = "g"},
        {.id = "3", .stall = "t", .span_ms = 9, .more = true, .in = "f"}};
    for (size_t i = 0; ok && i < 3; i++) {
        ok = try_add(&b, &samples[i], NULL) == ST_OK;
    }
    ok = ok && triage_finish(b.triage, NULL) == ST_OK;
    if (ok) {
        struct strbuf text = {0};
        struct sink s = sink_to_strbuf(&text);
        triage_print_table(b.triage, &(struct triage_view){.width = 80}, &s);
        triage_print_json(b.triage, &(struct triage_view){.width = 80}, &s);
        ok = sink_close(&s, NULL) == ST_OK;
        strbuf_release(&text);
    }
    assert_true(ok || refused);
    teardown(&b);
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(every_allocation_may_fail_once, NULL) > 20);
}

/* ---- what must be remembered ---- */

static void the_last_ids_are_known_and_memory_has_a_bound(void **state) {
    (void)state;
    struct seen_set s = {0};
    bool seen;
    for (uint64_t i = 0; i < 3 * SEEN_GENERATION; i++) {
        assert_true(seen_before(&s, hash_u64(i), 0, &seen));
        assert_false(seen);
        if (i >= SEEN_GENERATION && i % 1000 == 0) {
            /* Ids that were read again take room, too, so that only the ids of half a generation
             * back are certain to be known. */
            assert_true(seen_before(&s, hash_u64(i - SEEN_GENERATION / 2), 0, &seen));
            assert_true(seen);
        }
    }
    assert_true(s.slot_count[0] + s.slot_count[1] <= 4 * SEEN_GENERATION);
    seen_release(&s);
}

static void pending_stalls_are_found_after_others_were_removed(void **state) {
    (void)state;
    struct pending_table p = {0};
    uint64_t seed = 7;
    bool here[512] = {false};
    for (int step = 0; step < 20000; step++) {
        size_t i = next(&seed) % 512;
        struct pending_stall *s =
            pending_get(&p, i % 64 + 1 + (i / 64 << 32)); /* the hashes of several stalls collide */
        assert_non_null(s);
        assert_int_equal(s->seen_ms, here[i] ? i + 1 : 0);
        here[i] = !here[i];
        if (here[i]) {
            s->seen_ms = i + 1;
        } else {
            pending_remove(&p, s);
        }
    }
    pending_release(&p);
}

static void numbers_fit_into_their_columns(void **state) {
    (void)state;
    static const struct {
        uint64_t v;
        size_t columns;
        const char *want;
    } counts[] = {
        {0, 6, "0"},           {99999, 6, "99,999"},   {100000, 6, "100k"},
        {999999, 6, "999k"},   {999999, 7, "999,999"}, {1000000, 7, "1.00M"},
        {1239999, 7, "1.23M"}, {12399999, 7, "12.3M"}, {UINT64_MAX, 7, "18.4E"},
    };
    static const struct {
        uint64_t ms;
        const char *want;
    } times[] = {{86399999999, "999d23h"}, {86400000000, "1000d"}, {INT64_MAX, "106751991167d"}};
    char out[NUMBER_SIZE];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        assert_string_equal(text_count(counts[i].v, counts[i].columns, out), counts[i].want);
    }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_string_equal(text_ms(times[i].ms, out), times[i].want);
    }
    assert_string_equal(text_users(1234567, 6, out), "~1.23M");
    assert_string_equal(text_users(1234567, 0, out), "~1,234,567");
    assert_string_equal(text_users(DISTINCT_EXACT_MAX, 6, out), "256");
    assert_string_equal(text_users(0, 6, out), "\xe2\x80\x93");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_ranked_by_time_then_users_then_stalls_then_id),
        cmocka_unit_test(the_smallest_threshold_of_ranked_dumps_is_told),
        cmocka_unit_test(idle_dumps_are_listed_by_what_they_show),
        cmocka_unit_test(what_is_no_stall_is_set_apart_and_counted),
        cmocka_unit_test(a_stall_counts_once_and_its_spans_add_up),
        cmocka_unit_test(a_stall_counts_where_most_of_its_time_is),
        cmocka_unit_test(an_action_has_the_stalls_of_its_bucket),
        cmocka_unit_test(a_stall_with_a_dump_missing_still_counts),
        cmocka_unit_test(one_stall_counts_up_to_the_cap),
        cmocka_unit_test(evidence_is_the_longest_span_then_the_smallest_id),
        cmocka_unit_test(versions_ascend_and_devices_come_by_how_many_dumps_they_have),
        cmocka_unit_test(a_stall_in_which_the_process_died_is_at_least_as_long),
        cmocka_unit_test(the_order_of_the_dumps_does_not_change_a_byte),
        cmocka_unit_test(numbers_fit_into_their_columns),
        cmocka_unit_test(memory_may_run_out_anywhere),
        cmocka_unit_test(the_last_ids_are_known_and_memory_has_a_bound),
        cmocka_unit_test(pending_stalls_are_found_after_others_were_removed),
    };
    return cmocka_run_group_tests_name("triage", tests, NULL, NULL);
}
