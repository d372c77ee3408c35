/* Tests which dumps had an id that buckets had formerly, and in which buckets these dumps are
 * now. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/failmalloc.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/print/explain_choice.h"

static const char rules_text[] = "skip poll in lib* cause io 30% because \"waits for events\"\n";

struct made {
    struct rules *rules;
    struct keyer *now;
    struct former_keyers former;
    struct fixture f;
};

static int set_up(void **state) {
    static struct made m;
    memset(&m, 0, sizeof m);
    assert_int_equal(rules_new(&m.rules, NULL), ST_OK);
    assert_int_equal(rules_add(m.rules, "x", rules_text, strlen(rules_text), NULL), ST_OK);
    const struct key_options o = {.rules = m.rules, .inlines = true};
    assert_int_equal(keyer_new(&m.now, &o, NULL), ST_OK);
    assert_int_equal(former_keyers_new(&m.former, &o, NULL), ST_OK);
    m.f.d.stall.cpu_permille = -1;
    *state = &m;
    return 0;
}

static int tear_down(void **state) {
    struct made *m = *state;
    keyer_free(m->now);
    former_keyers_release(&m->former);
    rules_free(m->rules);
    return 0;
}

/* Writes the id of level 1 by another keyer. */
static void id_by(struct keyer *k, const struct dump *d, char id[KEY_ID_SIZE]) {
    struct stall_key key;
    struct strbuf b = {0};
    assert_int_equal(keyer_key(k, d, &key, NULL), ST_OK);
    key_text(&key.level[0], &b);
    key_id('1', strbuf_cstr(&b), b.len, id);
    strbuf_release(&b);
}

static struct former_fit fit_of(struct made *m, const char *id) {
    struct stall_key key;
    struct former_fit fit = {0};
    assert_int_equal(keyer_key(m->now, &m->f.d, &key, NULL), ST_OK);
    assert_int_equal(former_fits(&m->former, id, &m->f.d, &key, &fit, NULL), ST_OK);
    return fit;
}

static void an_id_of_other_keys_is_found(void **state) {
    struct made *m = *state;
    char now[KEY_ID_SIZE], raw[KEY_ID_SIZE];
    fixture_names(&m->f, (const char *const[]){"!poll", "read_all", "show"}, 3, 1);
    id_by(m->now, &m->f.d, now);
    id_by(m->former.by[FORMER_KEYERS - 1], &m->f.d, raw);
    assert_string_not_equal(now, raw);
    struct former_fit fit = fit_of(m, raw);
    assert_string_equal(former_way_text(fit.way), "--rules none");
    assert_int_equal(fit.level, 0);
    assert_string_equal(fit.now, now);
    assert_non_null(strstr(strbuf_cstr(&fit.title), "read_all"));
    former_fit_release(&fit);
    fit = fit_of(m, "ffffffffffff");
    assert_int_equal(fit.way, 0);
}

static void an_id_that_the_dump_was_annotated_with_is_found(void **state) {
    struct made *m = *state;
    fixture_names(&m->f, (const char *const[]){"read_all", "show"}, 2, 1);
    m->f.d.class.level2_was = "123456789abc";
    struct former_fit fit = fit_of(m, "12345");
    assert_string_equal(former_way_text(fit.way), "with which the dumps were annotated");
    assert_int_equal(fit.level, 1);
    former_fit_release(&fit);
}

/* Counts 30 s in one bucket and 10 s in another. */
static void buckets_come_by_their_time(void **state) {
    (void)state;
    struct former_buckets b = {0};
    struct former_fit few = {.way = 5, .now = "aaaaaaaaaaaa"};
    struct former_fit much = {.way = 5, .now = "bbbbbbbbbbbb"}, none = {.way = 5};
    struct strbuf text = {0};
    struct sink out = sink_to_strbuf(&text);
    strbuf_addstr(&few.title, "a \xe2\x86\x90 b");
    strbuf_addstr(&much.title, "c");
    assert_true(former_buckets_add(&b, &few, 10000) && former_buckets_add(&b, &much, 10000) &&
                former_buckets_add(&b, &much, 20000) && former_buckets_add(&b, &none, 0));
    former_buckets_print(&b, "0123", &out);
    assert_int_equal(sink_close(&out, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&text),
                        "former id 0123, --keys frames: 4 dumps, 40.0s, now in\n"
                        "   75.0%     30.0s       2  level 1 bbbbbbbbbbbb  c\n"
                        "   25.0%     10.0s       1  level 1 aaaaaaaaaaaa  a \xe2\x86\x90 b\n"
                        "    0.0%       0ms       1  none: set apart\n\n");
    former_fit_release(&few);
    former_fit_release(&much);
    former_buckets_release(&b);
    strbuf_release(&text);
}

static char raw_id[KEY_ID_SIZE];

/* Makes new keyers and explains with them, because a keyer that ran out of memory cannot be used
 * again. */
static void explain_by_former_id(void *ctx, bool refused) {
    struct made *m = ctx;
    const struct key_options o = {.rules = m->rules, .inlines = true};
    struct explain_choice x = {.id = raw_id};
    struct explained r = {0};
    struct former_keyers former = {0};
    struct keyer *k = NULL;
    struct stall_key key;
    struct err e = {0};
    enum st st = keyer_new(&k, &o, &e);
    st = st == ST_OK ? former_keyers_new(&former, &o, &e) : st;
    st = st == ST_OK ? keyer_key(k, &m->f.d, &key, &e) : st;
    st = st == ST_OK ? explain_choice_dump(&x, k, &former, &m->f.d, &key, &r, &e) : st;
    if (st == ST_OK) {
        explain_choice_offer(&x, &m->f.d, &r);
    }
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_true(refused || x.fit == EXPLAIN_FORMER);
    explained_release(&r);
    explain_choice_release(&x);
    former_keyers_release(&former);
    keyer_free(k);
}

static void every_allocation_may_fail(void **state) {
    struct made *m = *state;
    if (!failmalloc_works()) {
        skip();
    }
    fixture_names(&m->f, (const char *const[]){"!poll", "read_all", "show"}, 3, 1);
    id_by(m->former.by[FORMER_KEYERS - 1], &m->f.d, raw_id);
    assert_true(failmalloc_sweep(explain_by_former_id, m) > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_id_of_other_keys_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_id_that_the_dump_was_annotated_with_is_found, set_up,
                                        tear_down),
        cmocka_unit_test(buckets_come_by_their_time),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("former_ids", tests, NULL, NULL);
}
