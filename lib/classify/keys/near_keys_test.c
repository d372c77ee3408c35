/* Tests which other keys the samples of a busy thread vote for. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failmalloc.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/key.h"
#include "classify/rules/rules.h"

static const char *const draws[] = {"!draw", "work", "step", "run", "tap"};
static const char *const works[] = {"work", "step", "run", "tap"};

static int setup(void **state) {
    static struct rules *rules;
    assert_int_equal(rules_new(&rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(rules, NULL), ST_OK);
    *state = rules;
    return 0;
}

static int teardown(void **state) {
    rules_free(*state);
    return 0;
}

/* Makes the key of a dump with so many samples that draw and that work. ST_ERR: out of memory. */
static enum st key_of(const struct rules *rules, unsigned drawing, unsigned working,
                      int64_t permille, struct stall_key *key) {
    struct keyer *k = NULL;
    struct fixture f = {0};
    if (keyer_new(&k, &(struct key_options){.rules = rules}, NULL) != ST_OK) {
        return ST_ERR;
    }
    f.d.stall.kind = "hang";
    f.d.stall.duration_ms = f.d.stall.span_ms = 1000;
    f.d.stall.cpu_permille = permille;
    fixture_names(&f, draws, sizeof draws / sizeof *draws, drawing);
    if (working) {
        fixture_names(&f, works, sizeof works / sizeof *works, working);
    }
    enum st st = keyer_key(k, &f.d, key, NULL);
    keyer_free(k);
    return st;
}

/* Returns the id, as a number, of the functions as frames of the app, after a framework. */
static uint64_t number_of(const char *framework, const char *const *functions, size_t count,
                          char level) {
    struct strbuf text = {0};
    if (framework) {
        key_text_add(&text, framework, "");
    }
    for (size_t i = 0; i < count; i++) {
        key_text_add(&text, "app", functions[i]);
    }
    uint64_t number = key_number(level, strbuf_cstr(&text), text.len);
    strbuf_release(&text);
    return number;
}

static void the_keys_of_samples_are_told_the_commonest_first(void **state) {
    struct stall_key key;
    assert_int_equal(key_of(*state, 3, 1, 950, &key), ST_OK);
    assert_int_equal(key.near_count, 2);
    assert_int_equal(key.near[0].share, 750);
    assert_int_equal(key.near[1].share, 250);
    assert_true(key.near[0].number[0] == number_of("libsys.so", works, 2, '1'));
    assert_true(key.near[0].number[1] == number_of("libsys.so", works, 4, '2'));
    assert_true(key.near[1].number[0] == number_of(NULL, works, 2, '1'));
    assert_true(key.near[1].number[1] == number_of(NULL, works, 4, '2'));
}

/* A framework that nearly all samples are in is in the key, and the stray one is told as well. */
static void stray_samples_are_told(void **state) {
    struct stall_key key;
    assert_int_equal(key_of(*state, 19, 1, 950, &key), ST_OK);
    assert_int_equal(key.level[0].count, 3);
    assert_int_equal(key.near_count, 2);
    assert_int_equal(key.near[1].share, 50);
}

static void one_key_and_a_thread_that_waits_tell_none(void **state) {
    struct stall_key key;
    assert_int_equal(key_of(*state, 4, 0, 950, &key), ST_OK);
    assert_int_equal(key.near_count, 0);
    assert_int_equal(key_of(*state, 3, 1, 20, &key), ST_OK);
    assert_int_equal(key.near_count, 0);
}

static void every_allocation_may_fail(void *ctx, bool refused) {
    struct stall_key key;
    enum st st = key_of(ctx, 3, 1, 950, &key);
    assert_true(st == ST_OK || refused);
    assert_true(st != ST_OK || key.near_count == 2);
}

static void memory_may_run_out_anywhere(void **state) {
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(every_allocation_may_fail, *state) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_keys_of_samples_are_told_the_commonest_first),
        cmocka_unit_test(stray_samples_are_told),
        cmocka_unit_test(one_key_and_a_thread_that_waits_tell_none),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("near_keys", tests, setup, teardown);
}
