/* Tests the texts that partials of a history share: when one is added, that it changes no result,
 * and that a damaged or missing one is found. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "history/fixture_history_test.h"

/* Offers a dump of bucket n, whose function has a long name, on the first or the second day, to the
 * history and to t. */
static void offer_long_name(struct fixture_history *f, struct triage *t, unsigned n) {
    char id[32], time[32], inner[400], text[FIXTURE_TEXT];
    snprintf(id, sizeof id, "dump-%u", n);
    snprintf(time, sizeof time, "2026-11-%02uT10:00:00Z", 10 + n % 2);
    int end = snprintf(inner, sizeof inner, "save_%u", n / 2);
    for (unsigned i = 0; i < 300; i++) {
        inner[end + (int)i] = (char)('a' + (n / 2 * 31 + i * i) % 26);
    }
    inner[end + 300] = '\0';
    const char *const frames[] = {inner, names[1], names[2]};
    struct fixture x = {.d = {.id = id,
                              .time = time,
                              .app = {.version = "5.0", .build = "1"},
                              .device = {.cpus = -1}}};
    struct stall_key key;
    x.d.stall.span_ms = x.d.stall.duration_ms = 900;
    fixture_text(&x.d, text);
    x.d.stall.ended = true;
    fixture_names(&x, frames, 3, 1);
    assert_int_equal(keyer_key(f->keyer, &x.d, &key, NULL), ST_OK);
    assert_int_equal(triage_add(t, &x.d, &key, true, NULL, NULL), ST_OK);
    assert_int_equal(history_add(f->h, &x.d, &key, NULL), ST_OK);
}

static void offer_long_names(struct fixture_history *f, struct triage *t, unsigned from,
                             unsigned to) {
    reopen(f, HISTORY_WRITE);
    for (unsigned n = from; n < to; n++) {
        offer_long_name(f, t, n);
    }
    assert_int_equal(history_commit(f->h, "2026-11-20T00:00:00Z", NULL), ST_OK);
    assert_int_equal(history_check(f->h, NULL, NULL), ST_OK);
}

static int64_t shared_texts(struct fixture_history *f) {
    return number_of(f, "SELECT count(*) FROM shared");
}

static void a_much_longer_text_is_added(void **state) {
    struct fixture_history *f = *state;
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &f->options, NULL), ST_OK);
    offer_long_names(f, t, 0, 20);
    assert_int_equal(shared_texts(f), 0);
    offer_long_names(f, t, 20, 1000);
    assert_int_equal(shared_texts(f), 1);
    offer_long_names(f, t, 1000, 2000);
    assert_int_equal(shared_texts(f), 1);
    offer_long_names(f, t, 2000, 10000);
    assert_int_equal(shared_texts(f), 2);
    assert_same(held(f, &everything), partial_of(t));
    reopen(f, HISTORY_READ);
    char *again = held(f, &everything);
    assert_same(held(f, &everything), again);
}

static void a_damaged_or_missing_text_is_found(void **state) {
    static const char *const damages[] = {
        "UPDATE shared SET text = substr(text, 1, length(text) - 8)",
        "UPDATE shared SET text = x''", "UPDATE shared SET id = 4294967297", "DELETE FROM shared"};
    struct fixture_history *f = *state;
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &f->options, NULL), ST_OK);
    offer_long_names(f, t, 0, 1000);
    triage_free(t);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct err e = {0};
        change(f, damages[i]);
        reopen(f, HISTORY_READ);
        assert_int_equal(history_read(f->h, &everything, f->keyer, &f->options, &t, &e), ST_ERR);
        assert_true(e.code == ERR_FORMAT || e.code == ERR_TRUNCATED);
        assert_non_null(strstr(e.text, "the history"));
        triage_free(t);
        struct strbuf said = {0};
        struct sink out = sink_to_strbuf(&said);
        assert_int_equal(history_check(f->h, &out, NULL), ST_NONE);
        assert_int_equal(sink_close(&out, NULL), ST_OK);
        assert_non_null(strstr(strbuf_cstr(&said), "shared text"));
        strbuf_release(&said);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_much_longer_text_is_added, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_or_missing_text_is_found, set_up, tear_down)};
    return skips_without_sqlite("history: shared texts")
               ? 0
               : cmocka_run_group_tests_name("history: shared texts", tests, NULL, NULL);
}
