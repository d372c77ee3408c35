/* Tests of the thresholds of stalls, of which each dump may name a kind of its own. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "classify/print/triage_text.h"
#include "classify/stats/triage_private.h"

enum { KINDS = 200000 };

static void note_kinds(struct triage *t) {
    char kind[16];
    for (uint32_t i = 0; i < KINDS; i++) {
        snprintf(kind, sizeof kind, "k%06u", (i * 7919 + 3) % KINDS);
        assert_true(triage_note_threshold(t, kind, i));
    }
}

/* Noting so many kinds one by one, each in its place of a sorted list, once took minutes. */
static void many_kinds_take_no_longer_each(void **state) {
    (void)state;
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &(struct triage_options){.rules = ""}, NULL), ST_OK);
    clock_t start = clock();
    note_kinds(t);
    note_kinds(t);
    assert_true((clock() - start) / CLOCKS_PER_SEC < 10);
    assert_int_equal(t->thresholds.len, KINDS);
    struct kind_threshold *all = triage_thresholds(t);
    assert_non_null(all);
    for (size_t i = 1; i < KINDS; i++) {
        assert_true(strcmp(all[i - 1].kind, all[i].kind) < 0);
    }
    free(all);
    triage_free(t);
}

/* The line of a report names sixteen kinds, and counts the others. */
static void some_kinds_are_named(void **state) {
    (void)state;
    struct triage *t = NULL;
    struct strbuf text = {0};
    char kind[16];
    assert_int_equal(triage_new(&t, &(struct triage_options){.rules = ""}, NULL), ST_OK);
    for (int i = 20; i > 0; i--) {
        snprintf(kind, sizeof kind, "k%02d", i);
        assert_true(triage_note_threshold(t, kind, 1000));
    }
    text_add_threshold(&text, t);
    assert_non_null(strstr(strbuf_cstr(&text), "1.0s for k01, 1.0s for k02, "));
    assert_non_null(strstr(strbuf_cstr(&text), "k16 and others for 4 kinds more, shorter stalls"));
    strbuf_release(&text);
    triage_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_kinds_take_no_longer_each),
        cmocka_unit_test(some_kinds_are_named),
    };
    return cmocka_run_group_tests_name("thresholds", tests, NULL, NULL);
}
