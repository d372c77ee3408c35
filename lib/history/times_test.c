/* Tests the table of sessions by cell, and that parts tell the days of their cells. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "history/fixture_history_test.h"

enum { SESSION_TEXT = 320 };

/* Sets text to session record number n, of version 5.(n mod 4), of an hour in the foreground from
 * ten o'clock of this day on. Returns its length. */
static size_t session_text(char text[SESSION_TEXT], const char *day, unsigned n) {
    int len = snprintf(text, SESSION_TEXT,
                       "{\"format\":\"stall-session/1\",\"id\":\"session-%u\",\"user\":\"user-%u\","
                       "\"time\":\"%sT10:00:00Z\",\"app\":{\"version\":\"5.%u\",\"build\":\"1\"},"
                       "\"launches\":1,\"length_ms\":7200000,\"foreground_ms\":3600000,"
                       "\"wall_ms\":7200000,\"watched_ms\":7200000}",
                       n, n % 50, day, n % 4);
    assert_in_range(len, 1, SESSION_TEXT - 1);
    return (size_t)len;
}

/* Adds sessions from number `from` to before `to`, with t to it, else to the history. */
static void add_sessions(struct fixture_history *f, struct triage *t, const char *day,
                         unsigned from, unsigned to) {
    const struct exposure_filter everybody = {.where = NULL};
    char text[SESSION_TEXT];
    for (unsigned n = from; n < to; n++) {
        size_t len = session_text(text, day, n);
        enum st st = t ? triage_add_session(t, &everybody, text, len, NULL)
                       : history_add_session(f->h, text, len, NULL);
        assert_int_equal(st, ST_OK);
    }
    if (!t) {
        assert_int_equal(history_commit(f->h, "2026-11-20T00:00:00Z", NULL), ST_OK);
    }
}

/* A history of 90 dumps and of 16 sessions on two days. */
static void fill(struct fixture_history *f) {
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 60);
    add_sessions(f, NULL, "2026-11-12", 0, 8);
    add_range(f, 60, 90);
    add_sessions(f, NULL, "2026-11-30", 8, 16); /* a day without dumps */
}

static bool is_sound(struct fixture_history *f) {
    enum st st = history_check(f->h, NULL, NULL);
    assert_int_not_equal(st, ST_ERR);
    return st == ST_OK;
}

static void sessions_count_once_in_their_cells(void **state) {
    struct fixture_history *f = *state;
    fill(f);
    add_sessions(f, NULL, "2026-11-12", 0, 8);
    add_range(f, 0, 90);
    assert_int_equal(number_of(f, "SELECT count(*) FROM cell_time"), 8);
    assert_int_equal(number_of(f, "SELECT sum(sessions) FROM cell_time"), 16);
    assert_int_equal(number_of(f, "SELECT sum(foreground_ms) FROM cell_time t JOIN cell c"
                                  " ON c.id = t.cell WHERE day = CAST("
                                  "strftime('%s', '2026-11-12') AS INTEGER) / 86400"),
                     8 * 3600000);
    assert_int_equal(number_of(f, "SELECT sum(watched_ms) FROM cell_time t JOIN cell c"
                                  " ON c.id = t.cell WHERE version = '5.1'"),
                     4 * 7200000);
    assert_true(is_sound(f));
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &f->options, NULL), ST_OK);
    for (unsigned n = 0; n < 90; n++) {
        offer(f, t, n);
    }
    add_sessions(f, t, "2026-11-12", 0, 8);
    add_sessions(f, t, "2026-11-30", 8, 16);
    assert_same(held(f, &everything), partial_of(t));
}

static void days_that_are_dropped_take_their_sessions_along(void **state) {
    struct fixture_history *f = *state;
    uint64_t cells = 0;
    int32_t day;
    fill(f);
    assert_true(history_day_parse("2026-11-13", 10, &day));
    assert_int_equal(history_drop_before(f->h, day, &cells, NULL), ST_OK);
    assert_int_equal(number_of(f, "SELECT count(*) FROM cell_time"), 4);
    assert_true(is_sound(f));
    char *text = held(f, &everything);
    assert_non_null(strstr(text, "\"days\":[\"2026-11-13\",\"5.0\",0,0,"));
    assert_null(strstr(text, "2026-11-12"));
    free(text);
}

static void a_user_is_forgotten_and_hours_stay(void **state) {
    struct fixture_history *f = *state;
    uint64_t parts = 0;
    fill(f);
    assert_int_equal(history_forget_user(f->h, "user-3", &parts, NULL), ST_OK);
    assert_true(parts > 0);
    assert_int_equal(number_of(f, "SELECT sum(foreground_ms) FROM cell_time"), 16 * 3600000);
    assert_true(is_sound(f));
}

static void a_session_ahead_of_the_clock_has_no_day(void **state) {
    struct fixture_history *f = *state;
    int32_t today;
    reopen(f, HISTORY_WRITE);
    assert_true(history_day_parse("2026-11-20", 10, &today));
    history_set_today(f->h, today);
    add_sessions(f, NULL, "2027-03-01", 0, 1);
    assert_int_equal(number_of(f, "SELECT count(*) FROM cell_time t JOIN cell c ON c.id = t.cell"
                                  " WHERE c.day IS NULL"),
                     1);
    char *text = held(f, &everything);
    assert_non_null(strstr(text, "\"days\":[\"\",\"5.0\",1,3600000,0,0]"));
    assert_null(strstr(text, "2027"));
    free(text);
    assert_true(is_sound(f));
}

static void what_contradicts_the_parts_is_told(void **state) {
    static const char *const changes[] = {
        "UPDATE cell_time SET sessions = 3 WHERE cell = (SELECT min(cell) FROM cell_time)",
        "UPDATE cell_time SET foreground_ms = 1 WHERE cell = (SELECT min(cell) FROM cell_time)",
        "UPDATE cell_time SET watched_ms = 1 WHERE cell = (SELECT min(cell) FROM cell_time)",
        "UPDATE cell_time SET wall_ms = 1 WHERE cell = (SELECT min(cell) FROM cell_time)",
        "UPDATE cell_time SET cell = 1000 WHERE cell = (SELECT min(cell) FROM cell_time)",
        "DELETE FROM cell_time WHERE cell = (SELECT min(cell) FROM cell_time)",
        "INSERT INTO cell_time SELECT min(id), 1, 1, 1, 1 FROM cell",
        "UPDATE cell SET day = day - 1000 WHERE id = 1",
        "UPDATE cell SET day = day + 1000 WHERE id = 1",
        "UPDATE cell SET day = NULL WHERE id = 1",
        "UPDATE cell SET version = '5.77' WHERE id = 1",
        "UPDATE cell SET day = day - 1 WHERE id = (SELECT max(cell) FROM cell_time)"};
    struct fixture_history *f = *state;
    fill(f);
    change(f, "CREATE TABLE kept AS SELECT * FROM cell_time;"
              "CREATE TABLE cells AS SELECT * FROM cell");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        assert_true(is_sound(f));
        change(f, changes[i]);
        if (is_sound(f)) {
            fail_msg("not found: %s", changes[i]);
        }
        change(f, "DELETE FROM cell_time; INSERT INTO cell_time SELECT * FROM kept;"
                  "UPDATE cell SET (day, version) ="
                  " (SELECT day, version FROM cells WHERE cells.id = cell.id)");
    }
}

int main(void) {
    if (skips_without_sqlite("sessions of histories")) {
        return 0;
    }
#define TIMES_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TIMES_TEST(sessions_count_once_in_their_cells),
        TIMES_TEST(days_that_are_dropped_take_their_sessions_along),
        TIMES_TEST(a_user_is_forgotten_and_hours_stay),
        TIMES_TEST(a_session_ahead_of_the_clock_has_no_day),
        TIMES_TEST(what_contradicts_the_parts_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
