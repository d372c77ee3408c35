/* Tests which buckets are counted in another one of the same busy function. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "classify/stats/fixture_counted_test.h"
#include "classify/stats/triage_private.h"

static void a_stack_in_a_helper_is_counted_in_the_busy_function(void **state) {
    static const char *const wanted[] = {"work←step 4", "work←step←run←tap 4"};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        struct counted c = start(state);
        add_busy(&c, "work step run tap main", 20);
        add(&c, "help work step run tap main", 0);
        add(&c, "deep help work step run tap main", 0); /* a helper's helper */
        end(&c, level, wanted[level]);
    }
}

static void the_joined_id_is_an_alias(void **state) {
    struct counted c = start(state);
    struct triage_join join;
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work step run", 0);
    char helper[KEY_ID_SIZE], busy[KEY_ID_SIZE], start_of[5];
    memcpy(busy, c.t->level[0].buckets.data[0]->id, sizeof busy);
    memcpy(helper, c.t->level[0].buckets.data[1]->id, sizeof helper);
    snprintf(start_of, sizeof start_of, "%.4s", helper);
    assert_int_equal(triage_finish(c.t, NULL), ST_OK);
    const struct bucket *b = c.t->level[0].buckets.data[0];
    assert_int_equal(c.t->level[0].buckets.len, 1);
    assert_string_equal(b->id, busy);
    bool known = false;
    for (size_t i = 0; i < b->aliases.len; i++) {
        char alias[KEY_ID_SIZE];
        key_number_text(b->aliases.data[i], alias);
        known = known || strcmp(alias, helper) == 0;
    }
    assert_true(known);
    assert_true(triage_find_join(c.t, start_of, false, "", &join));
    assert_string_equal(join.into, busy);
    assert_string_equal(join.id, helper);
    assert_int_equal(join.kind, JOIN_STACK);
    assert_int_equal(b->kinds, 1 << JOIN_STACK);
    assert_false(triage_find_join(c.t, busy, false, "", &join));
    assert_true(triage_find_join(c.t, busy, true, "", &join));
    assert_string_equal(join.id, helper);
    assert_false(triage_find_join(c.t, busy, true, helper, &join));
    triage_free(c.t);
}

static void what_samples_do_not_show_stays(void **state) {
    struct counted c = start(state);
    add(&c, "work step run tap", 0); /* the caller was not sampled either */
    add(&c, "help work step run tap", 0);
    end(&c, 0, "help←work 1, work←step 1");
    c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work step run tap", 0);
    add(&c, "help work step run tap", 9); /* samples show that the helper is busy itself */
    end(&c, 0, "help←work 2, work←step 2");
    c = start(state);
    add_busy(&c, "work step run tap", 1); /* fewer samples than single stacks */
    for (int i = 0; i < 3; i++) {
        add(&c, "help work step run tap", 0);
    }
    end(&c, 0, "help←work 3, work←step 2");
}

static void other_causes_and_callers_stay(void **state) {
    struct counted c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work other run tap", 0); /* called by another function */
    end(&c, 0, "work←step 2, help←work 1");
    c = start(state);
    add_busy(&c, "work step run tap", 20);
    assert_true(add_cpu(&c, "help work step run tap", 0, 20)); /* it waits */
    end(&c, 0, "work←step 2, help←work 1");
    c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "!draw help work step run tap", 0); /* the helper calls a framework */
    end(&c, 0, "work←step 2, libsys.so←help←work 1");
    c = start(state);
    add_busy(&c, "!draw work step run tap", 20);
    add(&c, "!draw help work step run tap", 0); /* both call the same one */
    end(&c, 0, "libsys.so←work←step 3");
}

/* One of the helper's two callers is in no other bucket, so level 1 stays as it is, and with it all
 * of its level 2: a level-2 bucket is part of one level-1 bucket. */
static void a_family_is_joined_as_a_whole(void **state) {
    static const char *const wanted[] = {"help←work 2, work←step 2",
                                         "work←step←run←tap 2, help←work←step←run 1, "
                                         "help←work←other←run 1"};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        struct counted c = start(state);
        add_busy(&c, "work step run tap", 20);
        add(&c, "help work step run tap", 0);
        add(&c, "help work other run tap", 0);
        end(&c, level, wanted[level]);
    }
}

/* Of two busy callers, the one with more samples is taken, in whichever order they come. */
static void the_order_of_dumps_does_not_matter(void **state) {
    for (int swapped = 0; swapped < 2; swapped++) {
        struct counted c = start(state);
        for (int i = 0; i < 2; i++) {
            if (i == swapped) {
                add_busy(&c, "inner outer run tap main", 9);
            } else {
                add_busy(&c, "outer run tap main", 20);
            }
        }
        add(&c, "help inner outer run tap main", 0);
        end(&c, 0, "outer←run 3, inner←outer 2");
    }
}

/* One dump may claim any number of samples. */
static void a_claim_of_few_dumps_joins_few(void **state) {
    struct counted c = start(state);
    add(&c, "work step run tap", 256);
    add(&c, "help work step run tap", 0);
    end(&c, 0, "help←work 1, work←step 1");
    for (int stacks = 8; stacks <= 9; stacks++) {
        c = start(state);
        add_busy(&c, "work step run tap", 256);
        for (int i = 0; i < stacks; i++) {
            add(&c, "help work step run tap", 0);
        }
        end(&c, 0, stacks == 8 ? "work←step 10" : "help←work 9, work←step 2");
    }
}

static void a_stack_in_a_framework_is_counted_in_the_function_that_calls_it(void **state) {
    struct counted c = start(state);
    add_drawing(&c, 2, 6, 6);
    add(&c, "!draw work step run tap", 0);
    assert_true(add_cpu(&c, "!draw work step run tap", 0, -1)); /* not known how much it ran */
    end(&c, 0, "work←step 4");
    c = start(state);
    add_drawing(&c, 2, 6, 6);
    add(&c, "!draw work other run tap", 0); /* no sample shows this caller */
    end(&c, 0, "work←step 2, libsys.so←work←other 1");
    c = start(state);
    add_drawing(&c, 2, 18, 1);
    add(&c, "work step run tap", 0); /* outside of the framework that nearly all samples are in */
    end(&c, 0, "libsys.so←work←step 2, work←step 1");
    c = start(state);
    add_drawing(&c, 4, 18, 2);
    add(&c, "work step run tap", 0);
    end(&c, 0, "libsys.so←work←step 5");
}

/* A dump that does not tell how much its thread ran is counted in a function only if samples show
 * its helper. */
static void an_unknown_cause_is_joined_if_samples_show_it(void **state) {
    const struct mix mix[] = {{"work step run tap", 8}, {"help work step run tap", 8}};
    struct counted c = start(state);
    for (int i = 0; i < 2; i++) {
        assert_true(add_mixed(&c, mix, sizeof mix / sizeof *mix, 950));
    }
    add(&c, "help work step run tap", 0);
    assert_true(add_cpu(&c, "help work step run tap", 0, -1));
    assert_true(add_cpu(&c, "deep help work step run tap", 0, -1)); /* called by what they show */
    end(&c, 0, "work←step 5");
    c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work step run tap", 0);
    assert_true(add_cpu(&c, "help work step run tap", 0, -1));
    end(&c, 0, "help←work 2, work←step 2");
}

/* Samples that call a framework now and then do not tell of many stacks in it. */
static void more_stacks_than_samples_let_expect_stay(void **state) {
    for (unsigned stacks = 2; stacks <= 3; stacks++) {
        struct counted c = start(state);
        add_drawing(&c, 4, 2, 10); /* a sixth of the samples: 4 / 6 × 4 dumps */
        for (unsigned i = 0; i < stacks; i++) {
            add(&c, "!draw work step run tap", 0);
        }
        end(&c, 0, stacks == 2 ? "work←step 6" : "work←step 4, libsys.so←work←step 3");
    }
}

/* Of 100 samples 90 and 70 call the framework: 85 are the limit. */
static void dumps_on_both_sides_of_the_limit_are_one_bucket(void **state) {
    static const char *const wanted[] = {"libsys.so←work←step 6", "libsys.so←work←step←run←tap 6"};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        for (int swapped = 0; swapped < 2; swapped++) {
            struct counted c = start(state);
            add_drawing(&c, 3, swapped ? 70 : 90, swapped ? 30 : 10);
            add_drawing(&c, 3, swapped ? 90 : 70, swapped ? 10 : 30);
            end(&c, level, wanted[level]);
        }
    }
}

/* Counts a busy dump of which so many samples are in a helper's helper, the helper, the function
 * and its caller. */
static void add_depths(struct counted *c, unsigned part, unsigned help, unsigned work,
                       unsigned caller) {
    const struct mix mix[] = {{"part help work step run tap", part},
                              {"help work step run tap", help},
                              {"work step run tap", work},
                              {"step run tap", caller}};
    assert_true(add_mixed(c, mix, caller ? 4 : 3, 950));
}

static void a_caller_whose_samples_are_in_its_function_is_no_bucket(void **state) {
    static const char *const wanted[] = {"help←work 4", "help←work←step←run 4"};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        struct counted c = start(state);
        for (unsigned i = 0; i < 3; i++) {
            add_depths(&c, 5, 14, 1, 0);
        }
        add_depths(&c, 6, 10, 3, 1); /* 80 % in the helper: by chance its caller is the key */
        end(&c, level, wanted[level]);
    }
    struct counted c = start(state);
    for (unsigned i = 0; i < 3; i++) {
        add_depths(&c, 5, 14, 1, 0);
    }
    add_depths(&c, 2, 6, 10, 2); /* 40 %: the caller is busy itself */
    end(&c, 0, "help←work 3, work←step 1");
    c = start(state);
    for (unsigned i = 0; i < 4; i++) {
        add_depths(&c, i < 2 ? 5 : 6, i < 2 ? 14 : 10, i < 2 ? 1 : 3, i < 2 ? 0 : 1);
    }
    end(&c, 0, "help←work 4"); /* whichever has more dumps */
    c = start(state);
    add_depths(&c, 5, 14, 1, 0);
    add_depths(&c, 6, 10, 3, 1);
    add_busy(&c, "load all other views", 20);
    end(&c, 0, "load←all 2, help←work 1, work←step 1"); /* one dump proves nothing */
}

/* Counts so many dumps of which so many of 20 samples are in the helper, and the others elsewhere.
 */
static void add_helping(struct counted *c, unsigned dumps, const char *help, unsigned samples,
                        const char *elsewhere) {
    const struct mix mix[] = {{help, samples}, {elsewhere, 20 - samples}};
    for (unsigned i = 0; i < dumps; i++) {
        assert_true(add_mixed(c, mix, samples == 20 ? 1 : 2, 950));
    }
}

static void a_caller_with_another_cause_stays(void **state) {
    static const char help[] = "help work step run tap", work[] = "work step run tap",
                      aid[] = "aid work step run tap";
    struct counted c = start(state);
    add_helping(&c, 8, help, 20, NULL);
    add_helping(&c, 4, help, 14, work);
    end(&c, 0, "help←work 12");
    c = start(state);
    add_helping(&c, 8, help, 20, NULL);
    add_helping(&c, 4, help, 13, work); /* too few samples */
    end(&c, 0, "help←work 8, work←step 4");
    c = start(state);
    add_helping(&c, 8, help, 20, NULL);
    add_helping(&c, 4, help, 16, aid); /* a fifth is in another function */
    end(&c, 0, "help←work 8, work←step 4");
    c = start(state);
    add_helping(&c, 20, help, 20, NULL);
    add_helping(&c, 9, help, 16, work);
    add_helping(&c, 1, "three work step run tap", 12, work); /* most of a dump is */
    end(&c, 0, "help←work 20, work←step 10");
    c = start(state);
    add_helping(&c, 20, help, 20, NULL);
    add_helping(&c, 5, help, 16, work);
    add_helping(&c, 2, work, 20, NULL); /* more than a quarter of the dumps have no such sample */
    end(&c, 0, "help←work 20, work←step 7");
    c = start(state);
    add_helping(&c, 2, help, 20, NULL);
    add_helping(&c, 8, help, 16, work);
    add_helping(&c, 2, work, 20, NULL); /* more than a tenth of the joined ones */
    end(&c, 0, "work←step 10, help←work 2");
}

/* Each is called by the other, and most samples of each are in the other. */
static void functions_that_call_each_other_stay(void **state) {
    static const char *const a = "go on go on go", *const b = "on go on go on";
    static const char *const in_a = "go on go on go on", *const in_b = "on go on go on go";
    struct counted c = start(state);
    add_helping(&c, 3, in_b, 16, a);
    add_helping(&c, 2, in_a, 16, b);
    end(&c, 0, "go←on 3, on←go 2");
}

static void a_framework_of_the_caller_alone_stays(void **state) {
    struct counted c = start(state);
    add_helping(&c, 4, "help work step run tap", 20, NULL);
    add_helping(&c, 3, "help work step run tap", 16, "!draw work step run tap");
    add_helping(&c, 9, "!draw work step run tap", 20, NULL);
    end(&c, 0, "libsys.so←work←step 9, help←work 4, work←step 3");
}

/* Their level-2 buckets become some of the other's where these have no equal. */
static void what_has_no_equal_moves(void **state) {
    static const char *const wanted[] = {"libsys.so←work←step 4",
                                         "work←step←go←tap 2, libsys.so←work←step←run←tap 2"};
    const struct mix mix[] = {{"!draw work step go tap", 14}, {"work step go tap", 6}};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        struct counted c = start(state);
        add_drawing(&c, 2, 18, 2);
        for (int i = 0; i < 2; i++) {
            assert_true(add_mixed(&c, mix, sizeof mix / sizeof *mix, 950));
        }
        end(&c, level, wanted[level]);
    }
}

static void functions_that_draw_seldom_and_always_are_two_buckets(void **state) {
    struct counted c = start(state);
    add_busy(&c, "!draw work step run tap", 20); /* no dump shows both */
    add_busy(&c, "work step run tap", 20);
    end(&c, 0, "work←step 2, libsys.so←work←step 2");
    c = start(state);
    add_busy(&c, "!draw work step run tap", 20); /* no sample of it works itself */
    add_drawing(&c, 8, 6, 14);
    end(&c, 0, "work←step 8, libsys.so←work←step 2");
    c = start(state);
    add_drawing(&c, 2, 18, 2); /* by chance more than usual */
    add_drawing(&c, 8, 8, 12);
    end(&c, 0, "work←step 10");
    c = start(state);
    add_drawing(&c, 4, 18, 2); /* too many to be by chance */
    add_drawing(&c, 8, 8, 12);
    end(&c, 0, "work←step 8, libsys.so←work←step 4");
}

/* Reads a partial of one or several lines into *out. */
static void read_partial(const struct strbuf *text, struct triage **out) {
    struct partial_reader *r = NULL;
    enum st st = ST_NONE;
    assert_int_equal(partial_reader_new(&r, NULL), ST_OK);
    for (const char *line = strbuf_cstr(text); *line && st == ST_NONE;) {
        size_t len = strcspn(line, "\n");
        st = partial_reader_line(r, line, len, out, NULL);
        line += len + (line[len] == '\n');
    }
    assert_int_equal(st, ST_OK);
    partial_reader_free(r);
}

static void a_partial_keeps_what_samples_show(void **state) {
    struct counted c = start(state), more = start(state);
    struct strbuf text = {0};
    struct sink sink = sink_to_strbuf(&text);
    add_drawing(&c, 2, 6, 6);
    assert_int_equal(triage_write_partial(c.t, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    triage_free(c.t);
    read_partial(&text, &c.t);
    more.dumps = 2;
    add(&more, "!draw work step run tap", 0);
    assert_int_equal(triage_merge(c.t, more.t, NULL), ST_OK);
    triage_free(more.t);
    end(&c, 0, "work←step 3");
    strbuf_release(&text);
}

static void what_must_stay_stays(void **state) {
    for (int other = 0; other < 2; other++) {
        struct counted c = start(state);
        add_busy(&c, "work step run tap", 20);
        add(&c, "help work step run tap", 0);
        c.t->options.stays = has_id;
        c.t->options.stays_ctx = c.t->level[0].buckets.data[!other]->id;
        end(&c, 0, other ? "work←step 3" : "work←step 2, help←work 1");
    }
}

/* A partial may say that a level-2 bucket has samples which its level-1 bucket lacks: here the
 * caller's level-2 bucket is a child of the helper's level-1 bucket, which would be joined to
 * itself. */
static void no_bucket_is_joined_in_a_circle(void **state) {
    struct counted c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work step run tap", 0);
    c.t->level[1].buckets.data[0]->parent = 1;
    assert_true(triage_join_single_stacks(c.t));
    assert_int_equal(c.t->joined_stacks.len, 0);
    triage_free(c.t);
}

/* A partial may also say that a level-2 bucket has samples although its level-1 bucket has none; it
 * is then no single stack. */
static void what_has_samples_is_not_joined(void **state) {
    struct counted c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work step run tap", 0);
    struct bucket *b = c.t->level[1].buckets.data[1];
    assert_true(tally_own(&b->tally));
    b->tally->samples = 5;
    assert_true(triage_join_single_stacks(c.t));
    assert_int_equal(c.t->joined_stacks.len, 0);
    triage_free(c.t);
}

static void every_allocation_may_fail(void *ctx, bool refused) {
    struct counted c = *(struct counted *)ctx;
    if (triage_new(&c.t, &(struct triage_options){.rules = "t"}, NULL) != ST_OK) {
        assert_true(refused);
        return;
    }
    const struct mix mix[] = {{"!draw work step run tap", 8}, {"work step run tap", 8}};
    bool ok = add_cpu(&c, "work step run tap", 20, 950) &&
              add_cpu(&c, "work step run tap", 20, 950) &&
              add_mixed(&c, mix, sizeof mix / sizeof *mix, 950) &&
              add_cpu(&c, "help work step run", 0, 950);
    for (unsigned i = 0; ok && i < 6; i++) {
        c.version = i < 3 ? "1" : "2";
        ok = add_cpu(&c, i < 3 ? "aid go on tap" : "go on tap", 0, 20);
    }
    ok = ok && triage_finish(c.t, NULL) == ST_OK;
    assert_true(ok || refused);
    assert_true(!ok || c.t->level[0].buckets.len == 2);
    triage_free(c.t);
}

static void memory_may_run_out_anywhere(void **state) {
    if (!failmalloc_works()) {
        skip();
    }
    struct counted c = {.keyer = ((const struct keyer_bench *)*state)->keyer};
    assert_true(failmalloc_sweep(every_allocation_may_fail, &c) > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_in_a_helper_is_counted_in_the_busy_function),
        cmocka_unit_test(the_joined_id_is_an_alias),
        cmocka_unit_test(what_samples_do_not_show_stays),
        cmocka_unit_test(other_causes_and_callers_stay),
        cmocka_unit_test(a_family_is_joined_as_a_whole),
        cmocka_unit_test(the_order_of_dumps_does_not_matter),
        cmocka_unit_test(a_claim_of_few_dumps_joins_few),
        cmocka_unit_test(a_stack_in_a_framework_is_counted_in_the_function_that_calls_it),
        cmocka_unit_test(an_unknown_cause_is_joined_if_samples_show_it),
        cmocka_unit_test(more_stacks_than_samples_let_expect_stay),
        cmocka_unit_test(dumps_on_both_sides_of_the_limit_are_one_bucket),
        cmocka_unit_test(a_caller_whose_samples_are_in_its_function_is_no_bucket),
        cmocka_unit_test(a_caller_with_another_cause_stays),
        cmocka_unit_test(functions_that_call_each_other_stay),
        cmocka_unit_test(a_framework_of_the_caller_alone_stays),
        cmocka_unit_test(what_has_no_equal_moves),
        cmocka_unit_test(functions_that_draw_seldom_and_always_are_two_buckets),
        cmocka_unit_test(a_partial_keeps_what_samples_show),
        cmocka_unit_test(what_must_stay_stays),
        cmocka_unit_test(no_bucket_is_joined_in_a_circle),
        cmocka_unit_test(what_has_samples_is_not_joined),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("single_stacks", tests, keyer_bench_setup,
                                       keyer_bench_teardown);
}
