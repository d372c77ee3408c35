/* Tests that a history whose additions were undone, by the caller or because the file could not
 * grow, can be added to again, and then holds what one run counts. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history/fixture_history_test.h"
#include "history/history_private.h"

/* Returns the partial of one run over the first `count` dumps; the caller frees it. */
static char *counted_first(struct fixture_history *f, unsigned count) {
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &f->options, NULL), ST_OK);
    for (unsigned n = 0; n < count; n++) {
        offer(f, t, n);
    }
    return partial_of(t);
}

static void offer_range(struct fixture_history *f, unsigned from, unsigned to) {
    for (unsigned n = from; n < to; n++) {
        offer(f, NULL, n);
    }
}

static void assert_sound(struct fixture_history *f) {
    struct sink out = sink_to_nowhere();
    struct err e = {0};
    if (history_check(f->h, &out, &e) != ST_OK) {
        fail_msg("damaged: %s", e.text);
    }
    assert_int_equal(sink_close(&out, NULL), ST_OK);
}

/* The row of the rules, the first of their kind, is undone, too. */
static void what_is_undone_is_added_again(void **state) {
    struct fixture_history *f = *state;
    reopen(f, HISTORY_WRITE);
    offer_range(f, 0, 20);
    history_undo(f->h);
    assert_false(history_is_adding(f->h));
    assert_int_equal(history_uncommitted(f->h), 0);
    assert_int_equal(history_counts_of(f->h)->dumps, 0);
    add_range(f, 0, 50);
    offer_range(f, 40, 80);
    history_undo(f->h);
    assert_int_equal(history_counts_of(f->h)->dumps, 50);
    assert_int_equal(history_counts_of(f->h)->known, 0);
    add_range(f, 45, 100);
    assert_int_equal(history_counts_of(f->h)->dumps, 100);
    assert_int_equal(history_counts_of(f->h)->known, 5);
    assert_same(held(f, &everything), counted_first(f, 100));
    assert_sound(f);
}

/* Limits the file to so many pages more than it has. */
static void limit_pages(struct fixture_history *f, int64_t more) {
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA max_page_count = %lld",
             (long long)(number_of(f, "PRAGMA page_count") + more));
    assert_int_equal(sql_run(f->h->file, sql, NULL), ST_OK);
}

/* The limit is so low that the first commit fails, or so high that a later one does. */
static void what_found_no_room_is_added_when_there_is_room(void **state) {
    for (int64_t more = 0; more < 12; more += 3) {
        struct err e = {0};
        enum st st = ST_OK;
        unsigned n;
        tear_down(state);
        set_up(state);
        struct fixture_history *f = *state;
        reopen(f, HISTORY_WRITE);
        limit_pages(f, more);
        for (n = 0; n < 4000 && st == ST_OK; n += 100) {
            offer_range(f, n, n + 100);
            st = history_commit(f->h, "2026-11-20T00:00:00Z", &e);
        }
        assert_int_equal(st, ST_ERR);
        assert_true(e.no_room);
        assert_int_equal(history_counts_of(f->h)->dumps, n - 100);
        limit_pages(f, 100000);
        add_range(f, n - 100, n + 100);
        assert_same(held(f, &everything), counted_first(f, n + 100));
        assert_sound(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_undone_is_added_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_found_no_room_is_added_when_there_is_room, set_up,
                                        tear_down)};
    return skips_without_sqlite("history: undo")
               ? 0
               : cmocka_run_group_tests_name("history: undo", tests, NULL, NULL);
}
