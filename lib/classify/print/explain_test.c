/* Tests of the text that explains how a dump came to its bucket. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/failmalloc.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/print/explain.h"

static const char rules_text[] = "normalise __GI_* as *\n"
                                 "skip poll in lib* cause io 30% because \"waits for events\"\n"
                                 "prefix query   cause disk 75%\n"
                                 "vendor Acme Acme::*\n"
                                 "cut main\n";

struct made {
    struct rules *rules;
    struct keyer *keyer;
    struct fixture f;
    struct stall_key key;
    struct strbuf text;
};

static void explain(struct made *m) {
    struct sink sink = sink_to_strbuf(&m->text);
    struct explain_view view = {.colour = false};
    strbuf_clear(&m->text);
    m->f.d.stall.cpu_permille = -1;
    m->f.d.stall.span_ms = 5410;
    assert_int_equal(explain_dump(m->keyer, &m->f.d, &view, &m->key, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
}

static int set_up(void **state) {
    static struct made m;
    memset(&m, 0, sizeof m);
    assert_int_equal(rules_new(&m.rules, NULL), ST_OK);
    assert_int_equal(rules_add(m.rules, "x/my.rules", rules_text, strlen(rules_text), NULL), ST_OK);
    assert_int_equal(keyer_new(&m.keyer, &(struct key_options){.rules = m.rules}, NULL), ST_OK);
    m.f.d.id = "1276e46b-4dd4";
    *state = &m;
    return 0;
}

static int tear_down(void **state) {
    struct made *m = *state;
    keyer_free(m->keyer);
    rules_free(m->rules);
    strbuf_release(&m->text);
    return 0;
}

static void each_frame_says_which_rule_did_what(void **state) {
    struct made *m = *state;
    fixture_names(&m->f,
                  (const char *const[]){"!__GI_poll", "query", "load", "load", "Acme::send", "show",
                                        "main", "!start"},
                  8, 3);
    explain(m);
    assert_string_equal(
        strbuf_cstr(&m->text),
        "dump      1276e46b-4dd4, 5410 ms\n"
        "stack     sampled 3 of 3 times, the device's choice\n"
        "\n"
        "   0  poll  libsys.so  app.c:10\n"
        "         renamed     my.rules:1           __GI_*: poll\n"
        "         skip        my.rules:2           poll in lib*\n"
        "         io 30%      my.rules:2           poll in lib*: waits for events\n"
        "         framework   libsys.so\n"
        "         key         level 1, level 2\n"
        "   1  query  Shop  app.c:11\n"
        "         in app      as the dump says of its image\n"
        "         prefix      my.rules:3           query: in the key, but not counted\n"
        "         disk 75%    my.rules:3           query: waits for files\n"
        "         key         level 1, level 2\n"
        "   2  load  Shop  app.c:12\n"
        "         in app      as the dump says of its image\n"
        "         key         level 1, level 2\n"
        "   3  load  Shop  app.c:13\n"
        "         in app      as the dump says of its image\n"
        "         key         recursion of frame 2\n"
        "   4  Acme::send  Shop  app.c:14\n"
        "         vendor      my.rules:4           Acme::*: Acme\n"
        "   5  show  Shop  app.c:15\n"
        "         in app      as the dump says of its image\n"
        "         key         level 1, level 2, action\n"
        "   6  main  Shop  app.c:16\n"
        "         in app      as the dump says of its image\n"
        "         cut         my.rules:5           main\n"
        "      1 frame below is cut off\n"
        "\n"
        "level 1   885b5be412a1  libsys.so \xe2\x86\x90 app!query \xe2\x86\x90 app!load "
        "\xe2\x86\x90 app!show\n"
        "level 2   83e4029ae63f  libsys.so \xe2\x86\x90 app!query \xe2\x86\x90 app!load "
        "\xe2\x86\x90 app!show\n"
        "action    7c673617483c  app!show\n"
        "truth     100%: 3 of 3 samples contain level 1\n"
        "cause     disk 75%: waits for files (query)\n");
}

static void a_rule_shows_the_frameworks_that_it_depends_on(void **state) {
    struct made *m = *state;
    static const char under[] = "cause render 85% wait under Draw Shop Gpu\n";
    assert_int_equal(rules_add(m->rules, "gpu", under, strlen(under), NULL), ST_OK);
    fixture_names(&m->f, (const char *const[]){"wait", "show"}, 2, 1);
    explain(m);
    assert_non_null(strstr(strbuf_cstr(&m->text),
                           "render 85%  gpu:1                wait under Draw Shop \xe2\x80\xa6: "
                           "lays out or draws\n"));
}

static void an_idle_stack_says_so(void **state) {
    struct made *m = *state;
    struct err e = {0};
    static const char idle[] = "skip await cause idle\ncut loop cause idle\n";
    assert_int_equal(rules_add(m->rules, "idle", idle, strlen(idle), &e), ST_OK);
    fixture_names(&m->f, (const char *const[]){"await", "loop"}, 2, 1);
    explain(m);
    assert_non_null(strstr(strbuf_cstr(&m->text), "idle 80%"));
    assert_non_null(strstr(strbuf_cstr(&m->text), "\napart     only the loop"));
}

static void control_characters_of_names_are_not_printed(void **state) {
    struct made *m = *state;
    fixture_names(&m->f, (const char *const[]){"a\033[31mb"}, 1, 1);
    explain(m);
    assert_null(strchr(strbuf_cstr(&m->text), '\033'));
}

static enum explain_fit fit_of(const struct made *m, const char *id) {
    enum explain_fit fit = EXPLAIN_FORMER;
    assert_int_equal(explain_fits(id, &m->f.d, &m->key, &fit, NULL), ST_OK);
    return fit;
}

static void ids_and_what_they_begin_with_are_found(void **state) {
    struct made *m = *state;
    char id[3][KEY_ID_SIZE];
    fixture_names(&m->f, (const char *const[]){"load", "show"}, 2, 1);
    explain(m);
    const struct key *keys[] = {&m->key.level[0], &m->key.level[1], &m->key.action};
    for (int i = 0; i < 3; i++) {
        struct strbuf b = {0};
        key_text(keys[i], &b);
        key_id("12a"[i], strbuf_cstr(&b), b.len, id[i]);
        strbuf_release(&b);
        assert_int_equal(fit_of(m, id[i]), EXPLAIN_BUCKET);
        id[i][EXPLAIN_ID_MIN] = 0;
        assert_int_equal(fit_of(m, id[i]), EXPLAIN_BUCKET);
        id[i][EXPLAIN_ID_MIN - 1] = 0;
        assert_int_equal(fit_of(m, id[i]), EXPLAIN_NOT);
    }
    assert_int_equal(fit_of(m, "1276"), EXPLAIN_DUMP);
    assert_int_equal(fit_of(m, "127"), EXPLAIN_NOT);
    assert_int_equal(fit_of(m, "ffffffff"), EXPLAIN_NOT);
}

static void explain_with_new_keyer(void *ctx, bool refused) {
    struct made *m = ctx;
    struct keyer *k = NULL;
    struct stall_key key;
    struct explain_view view = {.colour = true};
    struct sink sink = sink_to_nowhere();
    struct err e = {0};
    enum st st = keyer_new(&k, &(struct key_options){.rules = m->rules}, &e);
    if (st == ST_OK) {
        st = explain_dump(k, &m->f.d, &view, &key, &sink, &e);
    }
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    keyer_free(k);
}

static void every_allocation_may_fail(void **state) {
    struct made *m = *state;
    if (!failmalloc_works()) {
        skip();
    }
    fixture_names(&m->f, (const char *const[]){"!__GI_poll", "query", "load", "main"}, 4, 3);
    assert_true(failmalloc_sweep(explain_with_new_keyer, m) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_frame_says_which_rule_did_what, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rule_shows_the_frameworks_that_it_depends_on, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_idle_stack_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(control_characters_of_names_are_not_printed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_and_what_they_begin_with_are_found, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
