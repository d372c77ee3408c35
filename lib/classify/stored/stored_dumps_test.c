/* Tests of the dumps that a triage stores so that people can look at them. */
#include "classify/stored/stored_dumps.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/failmalloc.h"
#include "classify/keys/fixture_dump_test.h"

struct offered {
    const char *id, *time, *version;
    int64_t span_ms;
    const char *inner;
};

static bool offer(struct stored_dumps *s, struct stored_bucket **b, const struct offered *o) {
    const char *const names[] = {o->inner ? o->inner : "draw", "!layout", "main"};
    struct fixture f = {.d = {.id = o->id, .time = o->time, .threads_left_out = -1}};
    struct stall_key key = {.cause = CAUSE_LOCK};
    f.d.app.version = o->version;
    f.d.stall.span_ms = f.d.stall.duration_ms = o->span_ms;
    fixture_names(&f, names, 3, 4);
    f.thread = (struct dump_thread){.id = 7, .main = true, .stack = f.stacks[0]};
    f.d.threads = &f.thread;
    f.d.thread_count = 1;
    key.stack = &f.stacks[0];
    return stored_dumps_add(s, b, &f.d, &key, (uint64_t)o->span_ms);
}

static void expect_id(const struct stored_dumps *s, const struct stored_dump *d, const char *id) {
    assert_non_null(d);
    assert_string_equal(stored_text(s, d->id), id);
}

static const struct offered some[] = {{"a", "2026-11-20T10:00:00Z", "5.9", 2000, NULL},
                                      {"b", "2026-11-22T10:00:00Z", "5.10", 1000, NULL},
                                      {"c", "2026-11-21T10:00:00Z", "5.9", 9000, "sort"},
                                      {"d", "2026-11-21T10:00:00Z", "5.10", 3000, NULL}};

static void the_worst_the_newest_and_one_of_each_version_are_kept(void **state) {
    (void)state;
    for (size_t turn = 0; turn < 4; turn++) {
        struct stored_dumps s = {.limit = 1 << 20};
        struct stored_bucket *b = NULL;
        for (size_t i = 0; i < 4; i++) {
            assert_true(offer(&s, &b, &some[(i + turn) % 4]));
        }
        expect_id(&s, b->worst, "c");
        expect_id(&s, b->newest, "b");
        assert_int_equal(b->of_version.len, 2);
        expect_id(&s, b->of_version.data[0], "c");
        expect_id(&s, b->of_version.data[1], "d");
        assert_int_equal(b->stacks.len, 2);
        stored_bucket_free(&s, b);
        assert_int_equal(s.used, 0);
        stored_dumps_release(&s);
    }
}

static void only_the_highest_versions_have_a_dump(void **state) {
    (void)state;
    struct stored_dumps s = {.limit = 1 << 20};
    struct stored_bucket *b = NULL;
    for (unsigned i = 0; i < 20; i++) {
        char version[16];
        snprintf(version, sizeof version, "5.%u", (i * 7) % 20);
        const struct offered o = {version, "2026-11-20T10:00:00Z", version, 1000, NULL};
        assert_true(offer(&s, &b, &o));
    }
    assert_int_equal(b->of_version.len, STORED_VERSIONS);
    expect_id(&s, b->of_version.data[0], "5.14");
    expect_id(&s, b->of_version.data[STORED_VERSIONS - 1], "5.19");
    assert_int_equal(b->by[STORED_VERSION].values.len, 20);
    stored_bucket_free(&s, b);
    stored_dumps_release(&s);
}

static void frames_say_what_the_dump_does(void **state) {
    (void)state;
    struct stored_dumps s = {.limit = 1 << 20};
    struct stored_bucket *b = NULL;
    size_t count;
    assert_true(offer(&s, &b, &some[0]));
    assert_int_equal(b->worst->threads.len, 1);
    const uint32_t *frames = stored_stack(&s, b->worst->threads.data[0].stack, &count);
    assert_int_equal(count, 3);
    const struct stored_frame *inner = stored_frame_at(&s, frames[0]);
    assert_string_equal(stored_text(&s, inner->function), "draw");
    assert_string_equal(stored_text(&s, inner->image), "Shop");
    assert_string_equal(stored_text(&s, inner->file), "src/app.c");
    assert_int_equal(inner->line, 10);
    assert_int_equal(inner->flags, STORED_IN_APP);
    assert_int_equal(stored_frame_at(&s, frames[1])->flags, 0);
    assert_int_equal(b->worst->samples.data[0].count, 4);
    stored_bucket_free(&s, b);
    stored_dumps_release(&s);
}

static void past_the_bound_dumps_are_counted_and_not_kept(void **state) {
    (void)state;
    struct stored_dumps s = {.limit = 4000};
    struct stored_bucket *b = NULL;
    for (unsigned i = 0; i < 50; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i);
        const struct offered o = {name, "2026-11-20T10:00:00Z", name, 1000 + i, name};
        assert_true(offer(&s, &b, &o));
    }
    assert_true(s.left_out > 0 && s.left_out < 50);
    stored_bucket_free(&s, b);
    stored_dumps_release(&s);
    s = (struct stored_dumps){0};
    b = NULL;
    assert_true(offer(&s, &b, &some[0]));
    assert_null(b);
}

static void two_buckets_merge_as_if_they_were_one(void **state) {
    (void)state;
    struct stored_dumps s = {.limit = 1 << 20};
    struct stored_bucket *a = NULL, *b = NULL;
    for (size_t i = 0; i < 4; i++) {
        assert_true(offer(&s, i < 2 ? &a : &b, &some[i]));
    }
    assert_true(stored_bucket_merge(&s, &a, b));
    expect_id(&s, a->worst, "c");
    expect_id(&s, a->newest, "b");
    expect_id(&s, a->of_version.data[1], "d");
    assert_int_equal(a->by[STORED_DAY].values.len, 3);
    assert_true(stored_bucket_merge(&s, &a, NULL));
    stored_bucket_free(&s, a);
    assert_int_equal(s.used, 0);
    stored_dumps_release(&s);
}

static void keep_some(void *ctx, bool refused) {
    (void)ctx;
    struct stored_dumps s = {.limit = 1 << 20};
    struct stored_bucket *a = NULL, *b = NULL;
    bool ok = true;
    for (size_t i = 0; ok && i < 4; i++) {
        ok = offer(&s, i < 2 ? &a : &b, &some[i]);
    }
    if (ok) {
        struct stored_bucket *from = b;
        b = NULL;
        ok = stored_bucket_merge(&s, &a, from);
    }
    assert_true(ok || refused);
    stored_bucket_free(&s, a);
    stored_bucket_free(&s, b);
    stored_dumps_release(&s);
}

static void a_lack_of_memory_is_an_error_and_loses_nothing(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(keep_some, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_the_newest_and_one_of_each_version_are_kept),
        cmocka_unit_test(only_the_highest_versions_have_a_dump),
        cmocka_unit_test(frames_say_what_the_dump_does),
        cmocka_unit_test(past_the_bound_dumps_are_counted_and_not_kept),
        cmocka_unit_test(two_buckets_merge_as_if_they_were_one),
        cmocka_unit_test(a_lack_of_memory_is_an_error_and_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
