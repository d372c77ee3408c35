/* Tests of partials: however dumps are split into parts and merged, the result is byte for byte
 * that of one run; and no text can harm the reader. */
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
#include "classify/stats/keyer_bench_test.h"
#include "classify/stats/triage_private.h"
#include "dump/dump_private.h"

enum { DUMPS = 1500, PARTS = 9, NAME = 32 };

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static struct triage *new_triage(void) {
    struct triage *t = NULL;
    struct triage_options o = {
        .cap_ms = 2500, .rules_hash = UINT64_C(0xfedcba9876543210), .rules = "t"};
    return triage_new(&t, &o, NULL) == ST_OK ? t : NULL;
}

/* Adds dump n of a fleet. Some dumps belong to stalls of three dumps, which the split into parts
 * separates; some are crashes, some idle, some without ids or users. */
static enum st add_dump(const struct keyer_bench *b, struct triage *t, uint64_t n) {
    static const char *const functions[] = {"alpha", "beta", "gamma", "delta \"quoted\"",
                                            "epsilon"};
    static const char *const models[] = {"iPhone13,3", "iPhone14,1", "Pixel 8"};
    uint64_t stall = n / 3, r = hash_u64(n + 1), of_stall = hash_u64(~stall);
    char id[NAME], stall_id[NAME], user[NAME], version[NAME], time[NAME];
    struct fixture f = {0};
    struct stall_key key;
    snprintf(id, sizeof id, "dump%u", (unsigned)n);
    snprintf(stall_id, sizeof stall_id, "stall%u", (unsigned)stall);
    snprintf(user, sizeof user, "user%u", (unsigned)(of_stall % 5000));
    snprintf(version, sizeof version, "5.%u", (unsigned)(of_stall % 12));
    snprintf(time, sizeof time, "2026-11-%02uT10:00:00Z", (unsigned)(r % 28) + 1);
    f.d = (struct dump){.id = r % 10 ? id : NULL,
                        .time = time,
                        .user = of_stall % 7 ? user : NULL,
                        .text = id,
                        .text_len = strlen(id)};
    f.d.app.version = version;
    f.d.device.model = models[of_stall % 3];
    f.d.device.os = of_stall % 5 ? "iOS 18.1" : "iOS 17.0";
    f.d.stall.id = stall_id;
    f.d.stall.kind = r % 19 ? "hang" : "crash";
    f.d.stall.seq = (int64_t)(n % 3) + 1;
    f.d.stall.at_ms = (int64_t)(n % 3) * 1000;
    f.d.stall.span_ms = 1000;
    f.d.stall.threshold_ms = r % 4 ? (int64_t)(r % 3000) : -1;
    f.d.stall.ended = n % 3 == 2;
    f.d.stall.duration_ms = f.d.stall.ended ? 3000 : -1;
    f.d.stall.fatal = f.d.stall.ended && of_stall % 11 == 0;
    fixture_frame(&f, "Shop", true, functions[r / 64 % 5], 0x10);
    fixture_frame(&f, r % 2 ? "Shop" : "ShopKit", true, functions[r / 1024 % 5], 0x20);
    fixture_frame(&f, "libx.so", false, r % 3 ? "spin" : NULL, 0x30 * (r % 4));
    fixture_frame(&f, "Shop", true, functions[of_stall % 5], 0x40);
    fixture_stack(&f, 1 + r % 9);
    /* Some dumps wait for a lock, whose holder is unknown or a thread of a pool. */
    char worker[NAME];
    snprintf(worker, sizeof worker, "worker %u", (unsigned)n);
    static const struct dump_thread_order by_id[2] = {{1, 0}, {2, 1}};
    struct dump_thread threads[2] = {
        {.id = 1, .main = true, .state = "waiting", .cpu_ms = -1, .cpu_permille = -1},
        {.id = 2, .name = worker, .cpu_ms = -1, .cpu_permille = -1, .stack = f.stacks[0]}};
    if (r % 6 == 0) {
        threads[0].waits_for =
            (struct dump_wait){.kind = "mutex", .address = 1, .owner = r % 4 ? 2 : -1};
        f.d.threads = threads;
        f.d.thread_count = 2;
        f.d.thread_order = by_id;
    }
    enum st st = keyer_key(b->keyer, &f.d, &key, NULL);
    return st == ST_OK ? triage_add(t, &f.d, &key, r % 23 != 0, NULL, NULL) : st;
}

static enum st write_partial(const struct triage *t, struct strbuf *out) {
    struct sink s = sink_to_strbuf(out);
    enum st st = triage_write_partial(t, &s, NULL);
    return sink_close(&s, NULL) == ST_OK ? st : ST_ERR;
}

/* Reads the partials in a text and merges them into *t. If *t is NULL, the first partial becomes
 * *t. */
static enum st read_partials(struct triage **t, const char *text, size_t len, struct err *e) {
    struct partial_reader *r = NULL;
    enum st st = partial_reader_new(&r, e);
    for (size_t at = 0; at < len && st != ST_ERR;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line = end ? (size_t)(end - text) - at : len - at;
        struct triage *part = NULL;
        st = partial_reader_line(r, text + at, line, &part, e);
        if (st == ST_OK && *t) {
            st = triage_merge(*t, part, e);
            triage_free(part);
        } else if (st == ST_OK) {
            *t = part;
        }
        at += line + 1;
    }
    st = st == ST_ERR ? st : partial_reader_end(r, e);
    partial_reader_free(r);
    return st;
}

/* Appends all outputs of a finished triage. */
static void print(struct triage *t, struct strbuf *out) {
    struct sink s = sink_to_strbuf(out);
    struct triage_view v = {.width = 100};
    assert_int_equal(triage_finish(t, NULL), ST_OK);
    triage_print_json(t, &v, &s);
    triage_print_table(t, &v, &s);
    holders_print_json(t, &v, &s);
    holders_print_table(t, &v, &s);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
}

static struct triage *one_run(const struct keyer_bench *b, uint64_t count) {
    struct triage *t = new_triage();
    assert_non_null(t);
    for (uint64_t n = 0; n < count; n++) {
        assert_int_equal(add_dump(b, t, n), ST_OK);
    }
    assert_true(clusters_add(&t->exposure, 77, count, 1000 * count));
    return t;
}

static void merging_in_any_order_and_grouping_is_one_run(void **state) {
    const struct keyer_bench *b = *state;
    struct triage *whole = one_run(b, DUMPS);
    struct strbuf want = {0}, want_prints = {0};
    uint64_t seed = 42;
    assert_true(whole->pending.used > 0);
    assert_non_null(whole->total.users.registers);
    assert_true(whole->holders.buckets.len > 5);
    assert_int_equal(write_partial(whole, &want), ST_OK);
    print(whole, &want_prints);
    triage_free(whole);
    for (int round = 0; round < 30; round++) {
        struct triage *parts[PARTS];
        size_t count = 1 + next(&seed) % PARTS;
        struct strbuf text = {0}, prints = {0};
        for (size_t i = 0; i < count; i++) {
            parts[i] = new_triage();
            assert_non_null(parts[i]);
        }
        /* The dumps are shuffled, and each goes to a random part. */
        uint64_t order[DUMPS];
        for (uint64_t n = 0; n < DUMPS; n++) {
            uint64_t k = next(&seed) % (n + 1);
            order[n] = order[k];
            order[k] = n;
        }
        for (size_t n = 0; n < DUMPS; n++) {
            assert_int_equal(add_dump(b, parts[next(&seed) % count], order[n]), ST_OK);
        }
        assert_true(clusters_add(&parts[count - 1]->exposure, 77, 300, 300000));
        assert_true(clusters_add(&parts[0]->exposure, 77, DUMPS - 300, (DUMPS - 300) * 1000));
        /* Two random parts are merged, directly or through text, until one part is left. */
        while (count > 1) {
            size_t from = next(&seed) % count, to = next(&seed) % (count - 1);
            to += to >= from;
            if (next(&seed) % 2) {
                assert_int_equal(triage_merge(parts[to], parts[from], NULL), ST_OK);
            } else {
                strbuf_clear(&text);
                assert_int_equal(write_partial(parts[from], &text), ST_OK);
                assert_int_equal(read_partials(&parts[to], text.data, text.len, NULL), ST_OK);
            }
            triage_free(parts[from]);
            parts[from] = parts[--count];
        }
        strbuf_clear(&text);
        assert_int_equal(write_partial(parts[0], &text), ST_OK);
        assert_string_equal(strbuf_cstr(&text), strbuf_cstr(&want));
        print(parts[0], &prints);
        assert_string_equal(strbuf_cstr(&prints), strbuf_cstr(&want_prints));
        triage_free(parts[0]);
        strbuf_release(&text);
        strbuf_release(&prints);
    }
    strbuf_release(&want);
    strbuf_release(&want_prints);
}

static void partials_behind_each_other_are_merged(void **state) {
    const struct keyer_bench *b = *state;
    struct triage *whole = one_run(b, 60), *part, *got = NULL;
    struct strbuf want = {0}, text = {0};
    assert_int_equal(write_partial(whole, &want), ST_OK);
    for (uint64_t n = 0; n < 60; n += 20) {
        part = new_triage();
        for (uint64_t i = n; i < n + 20; i++) {
            assert_int_equal(add_dump(b, part, i), ST_OK);
        }
        assert_true(clusters_add(&part->exposure, 77, 20, 20000));
        assert_int_equal(write_partial(part, &text), ST_OK);
        triage_free(part);
    }
    assert_int_equal(read_partials(&got, text.data, text.len, NULL), ST_OK);
    strbuf_clear(&text);
    assert_int_equal(write_partial(got, &text), ST_OK);
    assert_string_equal(strbuf_cstr(&text), strbuf_cstr(&want));
    triage_free(got);
    triage_free(whole);
    strbuf_release(&want);
    strbuf_release(&text);
}

/* Doubles all sums until they reach their limits. */
static void absurd_sums_have_an_end_that_no_order_changes(void **state) {
    enum { DOUBLINGS = 70 };
    struct triage *most = one_run(*state, 60), *few = one_run(*state, 60);
    struct strbuf text = {0}, one = {0}, prints = {0};
    assert_true(stalls_flush(most) &&
                stalls_flush(few)); /* stalls that are still kept would be doubled, too */
    for (int i = 0; i < DOUBLINGS; i++) {
        strbuf_clear(&text);
        assert_int_equal(write_partial(most, &text), ST_OK);
        assert_int_equal(read_partials(&most, text.data, text.len, NULL), ST_OK);
    }
    const struct tally *t = &most->total;
    assert_true(t->dumps == INT64_MAX && t->stalls == INT64_MAX && t->ms == INT64_MAX);
    assert_true(t->samples == INT64_MAX && t->hits == INT64_MAX && t->fatal == INT64_MAX);
    assert_true(histogram_total(&t->durations) == INT64_MAX && most->dumps_read == INT64_MAX);
    assert_true(most->apart[APART_CRASH] == INT64_MAX);
    strbuf_clear(&text);
    assert_int_equal(write_partial(few, &text), ST_OK);
    assert_int_equal(write_partial(most, &text), ST_OK);
    triage_free(few);
    few = NULL;
    assert_int_equal(read_partials(&few, text.data, text.len, NULL), ST_OK);
    strbuf_clear(&text);
    assert_int_equal(write_partial(few, &text), ST_OK);
    assert_int_equal(write_partial(most, &one), ST_OK);
    assert_string_equal(strbuf_cstr(&text), strbuf_cstr(&one));
    print(most, &prints);
    triage_free(most);
    triage_free(few);
    strbuf_release(&text);
    strbuf_release(&one);
    strbuf_release(&prints);
}

static void other_rules_and_caps_do_not_merge(void **state) {
    (void)state;
    struct triage *a = new_triage(), *b = new_triage();
    struct err e = {0};
    b->options.rules_hash++;
    assert_int_equal(triage_merge(a, b, &e), ST_ERR);
    assert_non_null(strstr(e.text, "other rules"));
    err_clear(&e);
    b->options.rules_hash--;
    b->options.cap_ms++;
    assert_int_equal(triage_merge(a, b, &e), ST_ERR);
    assert_non_null(strstr(e.text, "--cap"));
    triage_free(a);
    triage_free(b);
}

/* ---- folding ---- */

enum { FOLD_DUMPS = 600, FOLD_LIMIT = 4 };

static void partial_of_dumps(const struct keyer_bench *b, uint64_t from, uint64_t to,
                             uint64_t limit, struct strbuf *out) {
    struct triage *t = new_triage();
    assert_non_null(t);
    for (uint64_t n = from; n < to; n++) {
        assert_int_equal(add_dump(b, t, n), ST_OK);
    }
    t->options.max_buckets = limit;
    assert_int_equal(triage_fold(t, NULL), ST_OK);
    assert_int_equal(write_partial(t, out), ST_OK);
    triage_free(t);
}

/* The limit is reached only in the output, so neither the parts nor their order may change the
 * result. */
static void folding_at_the_end_does_not_depend_on_the_order_of_parts(void **state) {
    const struct keyer_bench *b = *state;
    enum { STEP = FOLD_DUMPS / 4 };
    struct strbuf want = {0};
    for (uint64_t first = 0; first < 4; first++) {
        struct strbuf text = {0}, prints = {0};
        struct triage *t = NULL;
        for (uint64_t i = 0; i < 4; i++) {
            uint64_t at = (first + i) % 4 * STEP;
            partial_of_dumps(b, at, at + STEP, 0, &text);
        }
        assert_int_equal(read_partials(&t, text.data, text.len, NULL), ST_OK);
        assert_false(triage_is_folded(t));
        t->options.max_buckets = FOLD_LIMIT;
        print(t, &prints);
        assert_true(triage_is_folded(t));
        assert_int_equal(t->level[0].buckets.len, FOLD_LIMIT + 1);
        const struct bucket *last = t->level[0].buckets.data[t->level[0].ranked[FOLD_LIMIT]];
        assert_true(bucket_is_other(last));
        uint64_t ms = 0, stalls = 0;
        for (size_t i = 0; i < t->level[0].buckets.len; i++) {
            const struct bucket *at = t->level[0].buckets.data[i];
            ms += at->tally->ms;
            stalls += at->tally->stalls;
            assert_int_equal(bucket_error_ms(&t->level[0], at), 0); /* no time is lost yet */
        }
        assert_int_equal(ms, t->total.ms);
        assert_int_equal(stalls, t->total.stalls);
        if (first == 0) {
            strbuf_addstr(&want, strbuf_cstr(&prints));
        }
        assert_string_equal(strbuf_cstr(&prints), strbuf_cstr(&want));
        triage_free(t);
        strbuf_release(&text);
        strbuf_release(&prints);
    }
    assert_non_null(strstr(strbuf_cstr(&want), "other ("));
    strbuf_release(&want);
}

static const struct bucket *bucket_of_id(const struct bucket_set *set, const char *id) {
    for (size_t i = 0; i < set->buckets.len; i++) {
        if (strcmp(set->buckets.data[i]->id, id) == 0) {
            return set->buckets.data[i];
        }
    }
    return NULL;
}

/* Checks that folded partials merge to exact sums, and that each bucket lacks at most the time that
 * it reports as its error. */
static void what_folded_partials_lack_is_within_the_bound(void **state) {
    const struct keyer_bench *b = *state;
    struct triage *whole = one_run(b, FOLD_DUMPS), *merged = NULL, *other_way = NULL;
    struct strbuf text[3] = {{0}}, one = {0}, two = {0};
    size_t lacking = 0;
    for (uint64_t i = 0; i < 3; i++) {
        partial_of_dumps(b, i * FOLD_DUMPS / 3, (i + 1) * FOLD_DUMPS / 3, FOLD_LIMIT, &text[i]);
        assert_non_null(strstr(strbuf_cstr(&text[i]), "\"folded\":{"));
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(read_partials(&merged, text[i].data, text[i].len, NULL), ST_OK);
        assert_int_equal(read_partials(&other_way, text[2 - i].data, text[2 - i].len, NULL), ST_OK);
    }
    assert_int_equal(write_partial(merged, &one), ST_OK);
    assert_int_equal(write_partial(other_way, &two), ST_OK);
    assert_string_equal(strbuf_cstr(&one), strbuf_cstr(&two));
    assert_int_equal(merged->total.ms, whole->total.ms);
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        const struct bucket_set *set = &merged->level[level];
        for (size_t i = 0; i < set->buckets.len; i++) {
            const struct bucket *got = set->buckets.data[i];
            const struct bucket *want = bucket_of_id(&whole->level[level], got->id);
            if (bucket_is_other(got)) {
                continue;
            }
            assert_non_null(want);
            assert_true(got->tally->ms <= want->tally->ms);
            assert_true(want->tally->ms - got->tally->ms <= bucket_error_ms(set, got));
            lacking += got->tally->ms < want->tally->ms;
        }
    }
    assert_true(lacking > 0);
    triage_free(whole);
    triage_free(merged);
    triage_free(other_way);
    for (size_t i = 0; i < 3; i++) {
        strbuf_release(&text[i]);
    }
    strbuf_release(&one);
    strbuf_release(&two);
}

/* ---- hostile text ---- */

static void a_partial_cut_anywhere_is_an_error(void **state) {
    struct triage *whole = one_run(*state, 40);
    struct strbuf text = {0};
    assert_int_equal(write_partial(whole, &text), ST_OK);
    for (size_t len = 1; len + 1 < text.len; len += 1 + len / 50) {
        struct triage *got = NULL;
        struct err e = {0};
        assert_int_equal(read_partials(&got, text.data, len, &e), ST_ERR);
        assert_true(err_is(&e));
        assert_null(got);
    }
    triage_free(whole);
    strbuf_release(&text);
}

/* Changes each digit of a partial. The check of sums detects most changes; after the others the
 * result can still be written and printed. */
static void changed_numbers_do_no_harm(void **state) {
    struct triage *whole = one_run(*state, 15);
    struct strbuf text = {0};
    size_t refused = 0, tried = 0;
    assert_int_equal(write_partial(whole, &text), ST_OK);
    for (size_t i = 0; i < text.len; i++) {
        char was = text.data[i];
        if (was < '0' || was > '9' || i % 5 != 0) {
            continue;
        }
        struct triage *got = NULL;
        text.data[i] = was == '9' ? '0' : (char)(was + 1);
        tried++;
        if (read_partials(&got, text.data, text.len, NULL) == ST_OK) {
            struct strbuf out = {0};
            print(got, &out);
            strbuf_release(&out);
        } else {
            refused++;
        }
        triage_free(got);
        text.data[i] = was;
    }
    assert_true(tried > 500);
    assert_true(refused > tried / 10);
    triage_free(whole);
    strbuf_release(&text);
}

static void what_is_no_partial_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "{}",
                                        "[]",
                                        "7",
                                        "nonsense",
                                        "{\"format\":\"stall-partial/3\"}",
                                        "{\"format\":\"stall-partial/2\"}",
                                        "{\"format\":\"stall-partial/1\"}",
                                        "{\"format\":\"stall-dump/1\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct partial_reader *r = NULL;
        struct triage *t = NULL;
        struct err e = {0};
        assert_int_equal(partial_reader_new(&r, NULL), ST_OK);
        assert_int_equal(partial_reader_line(r, texts[i], strlen(texts[i]), &t, &e), ST_ERR);
        assert_true(e.code == ERR_FORMAT || e.code == ERR_TRUNCATED);
        assert_null(t);
        partial_reader_free(r);
    }
}

/* An unknown member may have been added by a later version, or by a program that passed the partial
 * on. */
static void what_json_cannot_hold_is_repaired_as_in_dumps(void **state) {
    static const char more[] = "{\"note\":\"a\\u0000b\",\"n\":123456789012345678901234567890,";
    struct triage *whole = one_run(*state, 3), *back = NULL;
    struct strbuf text = {0}, changed = {0}, again = {0};
    assert_int_equal(write_partial(whole, &text), ST_OK);
    strbuf_addstr(&changed, more);
    strbuf_add(&changed, text.data + 1, text.len - 1);
    assert_int_equal(read_partials(&back, changed.data, changed.len, NULL), ST_OK);
    assert_int_equal(write_partial(back, &again), ST_OK);
    assert_string_equal(strbuf_cstr(&again), strbuf_cstr(&text));
    triage_free(whole);
    triage_free(back);
    strbuf_release(&text);
    strbuf_release(&changed);
    strbuf_release(&again);
}

static void every_allocation_may_fail(void *ctx, bool refused) {
    const struct strbuf *partial = ctx;
    struct triage *t = NULL;
    struct strbuf text = {0};
    bool ok = read_partials(&t, partial->data, partial->len, NULL) == ST_OK;
    if (ok) {
        t->options.max_buckets = 1;
        ok = triage_fold(t, NULL) == ST_OK && write_partial(t, &text) == ST_OK;
    }
    assert_true(ok || refused);
    triage_free(t);
    strbuf_release(&text);
}

static void memory_may_run_out_anywhere(void **state) {
    if (!failmalloc_works()) {
        skip();
    }
    struct triage *whole = one_run(*state, 4);
    struct strbuf twice = {0};
    assert_int_equal(write_partial(whole, &twice), ST_OK);
    assert_int_equal(write_partial(whole, &twice), ST_OK);
    triage_free(whole);
    assert_true(failmalloc_sweep(every_allocation_may_fail, &twice) > 100);
    strbuf_release(&twice);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_in_any_order_and_grouping_is_one_run),
        cmocka_unit_test(partials_behind_each_other_are_merged),
        cmocka_unit_test(absurd_sums_have_an_end_that_no_order_changes),
        cmocka_unit_test(other_rules_and_caps_do_not_merge),
        cmocka_unit_test(folding_at_the_end_does_not_depend_on_the_order_of_parts),
        cmocka_unit_test(what_folded_partials_lack_is_within_the_bound),
        cmocka_unit_test(a_partial_cut_anywhere_is_an_error),
        cmocka_unit_test(changed_numbers_do_no_harm),
        cmocka_unit_test(what_is_no_partial_is_refused),
        cmocka_unit_test(what_json_cannot_hold_is_repaired_as_in_dumps),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("partial", tests, keyer_bench_setup, keyer_bench_teardown);
}
