/* Tests of faults in rule sets, and that the built-in one has none. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/failmalloc.h"
#include "base/strbuf.h"
#include "classify/rules/rules_lint.h"

static void add_finding(void *ctx, const struct rules_finding *f) {
    strbuf_addf(ctx, "%s:%u: %s: %s\n", f->file, (unsigned)f->line, rules_fault_text(f->fault),
                f->text);
}

/* Compares the faults found in `text`, which is loaded before the built-in rules `built_in`. */
static void expect_behind(const char *text, const char *built_in, const char *want) {
    struct rules *r = NULL;
    struct strbuf got = {0};
    assert_int_equal(rules_new(&r, NULL), ST_OK);
    assert_int_equal(rules_add_lint(r, "f", text, strlen(text), add_finding, &got, NULL), ST_OK);
    size_t count = rules_count(r);
    assert_int_equal(rules_add(r, "b", built_in, strlen(built_in), NULL), ST_OK);
    assert_int_equal(rules_lint(r, count, add_finding, &got, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&got), want);
    strbuf_release(&got);
    rules_free(r);
}

static void expect(const char *text, const char *want) {
    expect_behind(text, "", want);
}

static void every_bad_line_is_told_and_left_out(void **state) {
    (void)state;
    expect("skp a\nskip poll\ncause lunch a\nskip poll\n",
           "f:1: bad: unknown action 'skp' (skip, cut, prefix, keep, in-app, not-in-app, vendor, "
           "normalise, cause, framework, runtime, callout, modal, hide, exclusive, holder, memory, "
           "wait, kernel or user)\n"
           "f:3: bad: unknown cause (lock, disk, network, io, ipc, render, compute, sleep, launch "
           "or idle) 'lunch'\n"
           "f:4: duplicate: the place of 'poll': f:2, 'poll', decides first, and says the same\n");
}

static void what_an_earlier_rule_covers_is_told(void **state) {
    (void)state;
    expect("skip poll*\nskip poll_x\n",
           "f:2: dead: the place of 'poll_x': f:1, 'poll*', decides first, and says the same\n");
    expect("skip xyz\\*a*\nkeep xyzb*a\n", ""); /* an escaped star stands for itself */
    expect("skip pol*\nkeep poll\n",
           "f:2: shadowed: the place of 'poll': f:1, 'pol*', decides first\n");
    expect("cause lock poll*\ncause lock 90% poll\n",
           "f:2: shadowed: the cause of 'poll': f:1, 'poll*', decides first\n");
    expect("skip *oll in libc.so\nskip ?oll in libc.so libd.so\n", "");
    expect("skip *oll in libc.so libd*\nskip ?oll in libc.so libd.so\n",
           "f:2: dead: the place of '?oll': f:1, '*oll', decides first, and says the same\n");
    expect("vendor A abc* in app\nvendor B abcd in app\n",
           "f:2: shadowed: whose is 'abcd': f:1, 'abc*', decides first\n");
    expect("in-app * in /opt/*\nin-app * in /opt/shop/*\n",
           "f:2: dead: whose is '*': f:1, '*', decides first, and says the same\n");
    expect("cause ipc poll under Net*\ncause lock poll under Network\n",
           "f:2: shadowed: the cause of 'poll': f:1, 'poll', decides first\n");
    expect("cause lock poll\ncause ipc poll under Network\n",
           "f:2: shadowed: the cause of 'poll': f:1, 'poll', decides first\n");
    expect("skip unresolved in libc.so\ncut unresolved in libc.so\n",
           "f:2: shadowed: the place of unresolved: f:1, unresolved, decides first\n");
}

static void what_only_overlaps_is_not_told(void **state) {
    (void)state;
    expect("skip poll on linux\nskip poll on darwin\nskip poll\n", "");
    expect("skip poll in app\nskip poll\nskip read in system\nskip read in app system\n", "");
    expect("skip poll from a\nskip poll from b\nskip poll\n", "");
    expect("skip poll in libc.so\nskip poll\ncause io poll\n", "");
    expect("cause io poll under a\ncause io poll under b\ncause lock poll\n", "");
    expect("skip poll_x\nskip poll*\n", "");
    expect("skip unresolved in libc.so\nskip unresolved in libd.so\nskip \"unresolved\"\n", "");
    expect("in-app * in id:abcd\nin-app * in /abcd\nin-app * in abcd\n", "");
}

static void names_that_never_reach_a_rule_are_told(void **state) {
    (void)state;
    expect("skip \"shop::load(int)\"\n",
           "f:1: dead: the place of 'shop::load(int)': no function is "
           "called so when rules are asked, but 'shop::load'\n");
    expect("normalise __GI_* as *\nskip __GI_poll\n",
           "f:2: dead: the place of '__GI_poll': no function is called so when rules are asked: "
           "f:1 renames it\n");
    expect("skip poll in libc.so.6\n", "f:1: dead: the place of 'poll': no image is called "
                                       "'libc.so.6' when rules are asked, but 'libc.so'\n");
    expect("cause io poll under libc.so.6\n",
           "f:1: dead: the cause of 'poll': no image is called 'libc.so.6' when rules are asked, "
           "but 'libc.so'\n");
    expect("framework libc.so.6 * in libc.so\ncause io poll under libc.so.6\n", "");
}

static void patterns_of_nearly_everything_are_told(void **state) {
    (void)state;
    expect("skip *\n",
           "f:1: wide: the place of '*' in any image: too many functions are called so\n");
    expect("cut a* in *\n",
           "f:1: wide: the place of 'a*' in any image: too many functions are called so\n");
    expect(
        "skip * in libc.so\nskip * in system\ncut a* from run_loop\ncause io a* under b\nskip a\n",
        "");
}

static void what_the_built_in_rules_say_already_is_told(void **state) {
    (void)state;
    expect_behind("skip poll\nkeep read\nskip a_*\n", "skip poll*\nskip read\nskip a_*\n",
                  "f:3: duplicate: the place of 'a_*': b:3, 'a_*', decides first, and says the "
                  "same\n");
}

static void nothing_is_wrong_with_the_built_in_rules(void **state) {
    (void)state;
    struct rules *r = NULL;
    struct strbuf got = {0};
    assert_int_equal(rules_new(&r, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(r, NULL), ST_OK);
    assert_int_equal(rules_lint(r, rules_count(r), add_finding, &got, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&got), "");
    strbuf_release(&got);
    rules_free(r);
}

static void ignore_finding(void *ctx, const struct rules_finding *f) {
    (void)ctx;
    (void)f;
}

static void load_and_lint(void *ctx, bool refused) {
    static const char text[] =
        "skip pol* a \"b c\" in lib* app from x\ncause io a under x\nskp\nskip pol*x cause lock "
        "because \"y\"\nvendor A a* in id:abcd\nnormalise a* as b*\n"
        "in-app * in /opt/* id:abcd\nskip poll\nskip pollx in libc.so\n";
    struct rules *r = NULL;
    struct err e = {0};
    (void)ctx;
    enum st st = rules_new(&r, &e);
    if (st == ST_OK) {
        st = rules_add_lint(r, "f", text, sizeof text - 1, ignore_finding, NULL, &e);
    }
    if (st == ST_OK) {
        st = rules_lint(r, rules_count(r), ignore_finding, NULL, &e);
    }
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    rules_free(r);
}

static void hostile_patterns_do_not_take_for_ever(void **state) {
    (void)state;
    struct rules *r = NULL;
    struct strbuf text = {0}, got = {0};
    struct err e = {0};
    for (int i = 0; i < 4000; i++) {
        strbuf_addf(&text, "skip *");
        for (int k = 0; k < 235; k++) {
            strbuf_addstr(&text, "a*");
        }
        strbuf_addf(&text, "%d\n", i);
    }
    assert_int_equal(rules_new(&r, NULL), ST_OK);
    assert_int_equal(rules_add(r, "f", text.data, text.len, NULL), ST_OK);
    assert_int_equal(rules_lint(r, rules_count(r), add_finding, &got, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_non_null(strstr(e.text, ": too many rules to compare"));
    strbuf_release(&text);
    strbuf_release(&got);
    rules_free(r);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(load_and_lint, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bad_line_is_told_and_left_out),
        cmocka_unit_test(what_an_earlier_rule_covers_is_told),
        cmocka_unit_test(what_only_overlaps_is_not_told),
        cmocka_unit_test(names_that_never_reach_a_rule_are_told),
        cmocka_unit_test(patterns_of_nearly_everything_are_told),
        cmocka_unit_test(what_the_built_in_rules_say_already_is_told),
        cmocka_unit_test(nothing_is_wrong_with_the_built_in_rules),
        cmocka_unit_test(hostile_patterns_do_not_take_for_ever),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("rules_lint", tests, NULL, NULL);
}
