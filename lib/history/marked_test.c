/* Tests the list of the buckets that have a mark, also by a former id, and changes by several
 * handles. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "history/fixture_history_test.h"

static enum st note_marked(void *ctx, uint64_t bucket, struct err *e) {
    (void)e;
    strbuf_addf(ctx, "%u ", (unsigned)bucket);
    return ST_OK;
}

static void assert_marked(struct fixture_history *f, const char *name, const char *want) {
    struct strbuf list = {0};
    assert_int_equal(history_marked_each(f->h, name, note_marked, &list, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&list), want);
    strbuf_release(&list);
}

/* Buckets 1 to 4 have the former ids 11 to 14. Of these, 12 is also a bucket whose frames have
 * names, and 13 a bucket with a frame that has none. */
static void make_former_ids(struct fixture_history *f) {
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 50);
    change(f, "INSERT INTO bucket(id, title, cause) VALUES(1, 'a', ''), (2, 'b', ''), (3, 'c', ''),"
              " (4, 'd', ''), (12, 'save', ''), (13, 'App+0x10', '');"
              "INSERT INTO alias(id, bucket) VALUES(11, 1), (12, 2), (13, 3), (14, 4)");
}

static void without_marks_no_bucket_is_listed(void **state) {
    struct fixture_history *f = *state;
    make_former_ids(f);
    assert_marked(f, NULL, "");
    assert_marked(f, "owner", "");
}

static void a_mark_of_a_former_id_is_one_of_the_bucket(void **state) {
    struct fixture_history *f = *state;
    make_former_ids(f);
    change(f, "INSERT INTO mark(bucket, name, value, set_at) VALUES(11, 'owner', 'x', ''),"
              " (12, 'owner', 'x', ''), (13, 'fixed-in', '5.2', ''), (4, 'note', 'x', '')");
    assert_marked(f, NULL, "1 3 4 11 12 13 ");
    assert_marked(f, "owner", "1 11 12 ");
    assert_marked(f, "fixed-in", "3 13 ");
    assert_marked(f, "note", "4 ");
    assert_marked(f, "link", "");
}

/* Earlier keys gave one former id to all code without an image, whatever it did. */
static void other_rules_keep_no_former_id_of_several_buckets(void **state) {
    struct fixture_history *f = *state;
    make_former_ids(f);
    change(f, "INSERT INTO alias(id, bucket) VALUES(15, 1), (15, 2), (15, 3);"
              "INSERT INTO mark(bucket, name, value, set_at) VALUES(15, 'owner', 'x', ''),"
              " (11, 'note', 'x', '')");
    assert_marked(f, "owner", "1 2 3 15 ");
    reopen(f, HISTORY_WRITE);
    add_range(f, 50, 60);
    assert_marked(f, "owner", "1 2 3 15 ");
    f->options.rules_hash = 2;
    reopen(f, HISTORY_WRITE);
    add_range(f, 60, 70);
    assert_marked(f, "owner", "15 ");
    assert_marked(f, "note", "1 11 ");
    assert_int_equal(number_of(f, "SELECT count(*) FROM alias WHERE id IN (11, 12, 13, 14)"), 4);
    f->options.rules_hash = 1;
    reopen(f, HISTORY_WRITE);
    add_range(f, 70, 80);
    assert_int_equal(number_of(f, "SELECT count(*) FROM rules"), 2);
}

static int32_t day_in_november(const char *text) {
    int32_t day = 0;
    assert_true(history_day_parse(text, strlen(text), &day));
    return day;
}

static void a_change_beside_uncommitted_dumps_is_refused(void **state) {
    struct fixture_history *f = *state;
    struct err e = {0};
    uint64_t count = 0;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 50);
    offer(f, NULL, 50);
    assert_int_equal(history_mark(f->h, "0123456789ab", "owner", "x", "", &e), ST_ERR);
    assert_int_equal(e.code, ERR_USAGE);
    assert_int_equal(history_drop_before(f->h, day_in_november("2026-11-12"), &count, &e), ST_ERR);
    assert_int_equal(history_drop_past(f->h, 1, &count, &e), ST_ERR);
    assert_int_equal(history_forget_user(f->h, "user-0", &count, &e), ST_ERR);
    assert_int_equal(history_uncommitted(f->h), 1);
    assert_int_equal(history_commit(f->h, "", NULL), ST_OK);
    assert_int_equal(number_of(f, "SELECT sum(dumps) FROM part"), 51);
}

/* A dump of a dropped day, whose id is forgotten, would count twice. */
static void days_that_another_handle_drops_stay_away(void **state) {
    struct fixture_history *f = *state;
    struct history *other = NULL;
    uint64_t count = 0;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 50);
    assert_int_equal(history_open(&other, f->path, HISTORY_EDIT, NULL), ST_OK);
    assert_int_equal(history_drop_before(other, day_in_november("2026-11-12"), &count, NULL),
                     ST_OK);
    const int64_t left = number_of(f, "SELECT sum(dumps) FROM part");
    add_range(f, 0, 50);
    assert_int_equal(number_of(f, "SELECT sum(dumps) FROM part"), left);
    assert_int_equal(history_counts_of(f->h)->too_old, 50 - left);
    /* An earlier day does not take the place of the day of the other handle. */
    assert_int_equal(history_drop_before(f->h, day_in_november("2026-11-11"), &count, NULL), ST_OK);
    assert_int_equal(number_of(f, "SELECT value = '2026-11-12' FROM fact WHERE name = 'ids_from'"),
                     1);
    history_close(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_marks_no_bucket_is_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_mark_of_a_former_id_is_one_of_the_bucket, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(other_rules_keep_no_former_id_of_several_buckets, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_change_beside_uncommitted_dumps_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(days_that_another_handle_drops_stay_away, set_up,
                                        tear_down)};
    return skips_without_sqlite("history: changes")
               ? 0
               : cmocka_run_group_tests_name("history: changes", tests, NULL, NULL);
}
