/* Tests rows of a history that are damaged or forged: each is told and found, and nothing else of
 * the history is lost. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "history/fixture_history_test.h"

enum { CELLS = 36 /* number of pairs of a day and a version among the dumps that are offered */ };
enum { DUMPS = 3 * CELLS, FORGED = 2 /* the part whose row is changed: that of dumps 1, 37 … */ };

/* Makes another history of the dump 1 alone, with other options, and returns the SQL that attaches
 * it. */
static void attach_other(struct fixture_history *f, struct triage_options o, char *path,
                         char sql[200]) {
    struct fixture_history other = *f;
    other.h = NULL;
    other.options = o;
    snprintf(other.path, sizeof other.path, "%.50s.other", f->path);
    unlink(other.path);
    reopen(&other, HISTORY_WRITE);
    add_range(&other, 1, 2);
    history_close(other.h);
    snprintf(path, sizeof other.path, "%s", other.path);
    snprintf(sql, 200,
             "ATTACH '%s' AS o; UPDATE part SET dumps = 1, partial = (SELECT partial FROM o.part)"
             " WHERE id = 2",
             path);
}

/* Returns the partial of all dumps up to `count` but those of the forged part. */
static char *all_others(struct fixture_history *f, unsigned count) {
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &f->options, NULL), ST_OK);
    for (unsigned n = 0; n < count; n++) {
        if (n % CELLS != FORGED - 1 || n >= DUMPS) {
            offer(f, t, n);
        }
    }
    return partial_of(t);
}

/* Returns what is read besides the forged part, which must be told. */
static char *read_others(struct fixture_history *f, struct err *e) {
    struct triage *t = NULL;
    assert_int_equal(history_read(f->h, &everything, f->keyer, &f->options, &t, e), ST_ERR);
    assert_non_null(t);
    return partial_of(t);
}

/* Tests a history in which the row of a part was changed: reading tells it and gives the rest, a
 * check finds it, and dumps can be added. */
static void try_forged(struct fixture_history *f, const char *why, const char *found) {
    struct err e = {0};
    struct strbuf said = {0};
    struct sink out = sink_to_strbuf(&said);
    reopen(f, HISTORY_WRITE);
    assert_same(read_others(f, &e), all_others(f, DUMPS));
    if (!strstr(e.text, "the history is damaged: part 2 is left out: ") || !strstr(e.text, why)) {
        fail_msg("%s", e.text);
    }
    assert_int_equal(history_check(f->h, &out, NULL), ST_NONE);
    if (!strstr(strbuf_cstr(&said), found)) {
        fail_msg("%s", strbuf_cstr(&said));
    }
    /* Three times as many parts of one dump, so that parts are merged. */
    for (unsigned n = DUMPS; n < DUMPS + 6 * CELLS; n += CELLS) {
        add_range(f, n, n + CELLS);
    }
    reopen(f, HISTORY_READ);
    err_clear(&e);
    assert_same(read_others(f, &e), all_others(f, DUMPS + 6 * CELLS));
    strbuf_release(&said);
}

static void start_forging(struct fixture_history *f) {
    char beside[80];
    history_close(f->h);
    f->h = NULL;
    unlink(f->path);
    snprintf(beside, sizeof beside, "%s-wal", f->path);
    unlink(beside);
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, DUMPS);
}

static void a_row_that_contradicts_its_part_is_left_out(void **state) {
    static const struct {
        const char *sql, *why, *found;
    } rows[] = {
        {"UPDATE part SET partial = x'00' WHERE id = 2", "", "part 2: "},
        {"UPDATE part SET partial = substr(partial, 1, 50) WHERE id = 2", "", "part 2: "},
        {"UPDATE part SET dumps = 4 WHERE id = 2", "3 dumps, and its row says 4", "part 2: "},
        {"UPDATE part SET dumps = 9223372036854775807 WHERE id = 2", "3 dumps", "part 2: "},
        {"UPDATE part SET dumps = -1 WHERE id = 2", "3 dumps", "part 2: "},
        {"UPDATE part SET dumps = 'x' WHERE id = 2", "3 dumps",
         "part: 1 row with a value of another kind as dumps"},
        {"UPDATE part SET cell = 99 WHERE id = 2", "it has no cell",
         "part: 1 row of a cell that is missing"},
        {"UPDATE part SET rules = 99 WHERE id = 2", "with which rules", "part 2: nothing says"},
        {"INSERT INTO rules VALUES(2, '00000000000000ff', 'others');"
         "UPDATE part SET rules = 2 WHERE id = 2",
         "made with other rules", "part 2: made with other rules"},
        {"INSERT INTO rules VALUES(2, '12x', 'others'); UPDATE part SET rules = 2 WHERE id = 2",
         "with which rules", "rules 2: they have no hash"},
        {"UPDATE cell SET day = 99999999 WHERE id = 2", "no day", "cell 2: "},
        {"UPDATE cell SET day = 'x' WHERE id = 2", "no day", "cell 2: "},
        {"UPDATE cell SET version = x'00ff' WHERE id = 2", "is no text", "cell 2: "}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture_history *f = *state;
        start_forging(f);
        change(f, rows[i].sql);
        try_forged(f, rows[i].why, rows[i].found);
    }
}

static void a_part_of_other_settings_is_left_out(void **state) {
    struct fixture_history *f = *state;
    struct triage_options cap = f->options, rules = f->options;
    char sql[200], path[80];
    cap.cap_ms = 5000;
    rules.rules_hash = 2;
    start_forging(f);
    attach_other(f, cap, path, sql);
    change(f, sql);
    unlink(path);
    try_forged(f, "another --cap", "part 2: made with another --cap");
    start_forging(f);
    attach_other(f, rules, path, sql);
    change(f, sql);
    unlink(path);
    try_forged(f, "other rules", "part 2: made with other rules");
}

/* The number of parts that are left out is told, and parts without a cell are told once. */
static void parts_that_are_left_out_are_counted(void **state) {
    struct fixture_history *f = *state;
    struct triage *t = NULL;
    struct err e = {0};
    start_forging(f);
    change(f, "UPDATE part SET dumps = 0 WHERE id IN (2, 5); UPDATE cell SET day = -1e9"
              " WHERE id = 7");
    reopen(f, HISTORY_READ);
    free(read_others(f, &e));
    assert_non_null(strstr(e.text, "3 parts are left out, such as part 7: "));
    err_clear(&e);
    free(read_others(f, &e));
    assert_non_null(strstr(e.text, "3 parts are left out, such as part 7: "));
    change(f, "UPDATE part SET dumps = 3 WHERE id IN (2, 5)");
    assert_int_equal(history_read(f->h, &everything, f->keyer, &f->options, &t, NULL), ST_OK);
    triage_free(t);
}

static enum st count_day(void *ctx, int32_t day, const char *version, struct err *e) {
    ++*(unsigned *)ctx;
    (void)day;
    (void)version;
    (void)e;
    return ST_OK;
}

static void a_day_that_is_no_day_is_damage(void **state) {
    static const char *const days[] = {"9223372036854775807",
                                       "-9223372036854775808",
                                       "4294987778", /* its lower 32 bits are the day 2026-02-19 */
                                       "2147483647",
                                       "-2147483648",
                                       "3000000",
                                       "'2026-11-20'",
                                       "20777.5"};
    struct fixture_history *f = *state;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 50);
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        char sql[80];
        struct err e = {0};
        struct triage *t = NULL;
        unsigned found = 0;
        struct strbuf text = {0};
        struct sink out = sink_to_strbuf(&text);
        snprintf(sql, sizeof sql, "UPDATE cell SET day = %s WHERE id = 1", days[i]);
        change(f, sql);
        reopen(f, HISTORY_READ);
        assert_int_equal(history_days(f->h, &everything, count_day, &found, NULL), ST_OK);
        assert_int_equal(found, 9); /* those of the other cells */
        assert_int_equal(history_read(f->h, &everything, f->keyer, &f->options, &t, &e), ST_ERR);
        assert_non_null(strstr(e.text, "part 1 is left out: the day"));
        triage_free(t);
        assert_int_equal(history_check(f->h, &out, NULL), ST_NONE);
        assert_non_null(strstr(strbuf_cstr(&text), "cell 1: the day of a cell is no day"));
        strbuf_release(&text);
    }
}

/* ---- sums of parts that are kept ---- */

/* A damaged kept dump is told, and the others of the bucket are shown. */
static enum st count_dump(void *ctx, const char *text, size_t len, struct err *e) {
    (void)text;
    (void)e;
    *(unsigned *)ctx += len > 0;
    return ST_OK;
}

static void a_dump_of_another_row_is_found(void **state) {
    static const char *const changes[] = {
        "UPDATE dump SET time = '2026-01-01'", "UPDATE dump SET span_ms = span_ms + 1",
        "UPDATE dump SET user = 5", "UPDATE dump SET cell = 1 WHERE cell <> 1",
        "UPDATE dump SET id = id + 1 WHERE id = (SELECT max(id) FROM dump)"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct fixture_history *f = *state;
        struct strbuf said = {0};
        struct sink out = sink_to_strbuf(&said);
        start_forging(f);
        change(f, changes[i]);
        assert_int_equal(history_check(f->h, &out, NULL), ST_NONE);
        assert_non_null(strstr(strbuf_cstr(&said), "its text is of another dump than its row"));
        strbuf_release(&said);
    }
}

static void a_damaged_dump_is_told_and_the_others_shown(void **state) {
    struct fixture_history *f = *state;
    struct err e = {0};
    unsigned before = 0, after = 0;
    start_forging(f);
    const uint64_t bucket = (uint64_t)number_of(f, "SELECT bucket FROM dump LIMIT 1");
    assert_int_equal(history_dumps_of(f->h, &everything, bucket, count_dump, &before, NULL), ST_OK);
    change(f, "UPDATE dump SET text = x'1f8b' WHERE id = (SELECT id FROM dump LIMIT 1)");
    assert_int_equal(history_dumps_of(f->h, &everything, bucket, count_dump, &after, &e), ST_ERR);
    assert_true(before > 1 && after == before - 1);
    assert_int_equal(e.code, ERR_FORMAT);
    assert_non_null(strstr(e.text, "the history is damaged: dump "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_row_that_contradicts_its_part_is_left_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_part_of_other_settings_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_that_are_left_out_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_day_that_is_no_day_is_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dump_of_another_row_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_dump_is_told_and_the_others_shown, set_up,
                                        tear_down)};
    return skips_without_sqlite("history: forged rows")
               ? 0
               : cmocka_run_group_tests_name("history: forged rows", tests, NULL, NULL);
}
