/* Tests that a history gives the same result as the merge of its runs' partials, counts each dump
 * once, and survives a writer that dies. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/failmalloc.h"
#include "base/hash.h"
#include "history/fixture_history_test.h"

/* Returns the partial of one run over the first `count` dumps, or only over those of them for which
 * `takes` returns true; the caller frees it. */
static char *counted(struct fixture_history *f, unsigned count, bool (*takes)(unsigned n)) {
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &f->options, NULL), ST_OK);
    for (unsigned n = 0; n < count; n++) {
        if (!takes || takes(n)) {
            offer(f, t, n);
        }
    }
    return partial_of(t);
}

static void what_was_added_in_parts_is_what_one_run_counts(void **state) {
    struct fixture_history *f = *state;
    static const unsigned ends[] = {1, 3, 10, 200, 201, 900, 1000};
    unsigned from = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        reopen(f, HISTORY_WRITE);
        add_range(f, from, ends[i]);
        from = ends[i];
    }
    reopen(f, HISTORY_READ);
    assert_same(held(f, &everything), counted(f, 1000, NULL));
}

static void a_dump_that_comes_again_changes_nothing(void **state) {
    struct fixture_history *f = *state;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 100);
    add_range(f, 50, 150);
    assert_int_equal(history_counts_of(f->h)->dumps, 150);
    assert_int_equal(history_counts_of(f->h)->known, 50);
    assert_same(held(f, &everything), counted(f, 150, NULL));
}

static bool of_version_2(unsigned n) {
    return n % 4 == 2;
}

static bool from_the_14th(unsigned n) {
    return n % 9 >= 4;
}

static void versions_and_days_are_chosen(void **state) {
    struct fixture_history *f = *state;
    struct where *w = NULL;
    size_t at;
    int32_t day = 0;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 500);
    assert_int_equal(where_new(&w, NULL), ST_OK);
    assert_int_equal(where_add(w, "app.version=5.2", &at, NULL), ST_OK);
    const struct history_span version = {.since = INT32_MIN, .until = INT32_MAX, .where = w};
    assert_same(held(f, &version), counted(f, 500, of_version_2));
    where_free(w);
    assert_true(history_day_parse("2026-11-14", 10, &day));
    const struct history_span days = {.since = day, .until = INT32_MAX};
    assert_same(held(f, &days), counted(f, 500, from_the_14th));
}

static bool of_the_first_hundred(unsigned n) {
    return n < 100;
}

static void a_writer_that_is_killed_leaves_what_it_had_committed(void **state) {
    struct fixture_history *f = *state;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 100);
    history_close(f->h);
    f->h = NULL;
    pid_t child = fork();
    if (child == 0) {
        struct err e = {0};
        if (history_open(&f->h, f->path, HISTORY_WRITE, &e) == ST_OK &&
            history_set_options(f->h, &f->options, &e) == ST_OK) {
            for (unsigned n = 100; n < 300; n++) {
                offer(f, NULL, n);
            }
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    reopen(f, HISTORY_WRITE);
    assert_same(held(f, &everything), counted(f, 300, of_the_first_hundred));
    add_range(f, 0, 300);
    assert_int_equal(history_counts_of(f->h)->dumps, 200);
    assert_same(held(f, &everything), counted(f, 300, NULL));
}

static void writers_at_the_same_time_count_each_dump_once(void **state) {
    struct fixture_history *f = *state;
    enum { WRITERS = 4, DUMPS = 400 };
    for (unsigned i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            struct err e = {0};
            bool ok = history_open(&f->h, f->path, HISTORY_WRITE, &e) == ST_OK &&
                      history_set_options(f->h, &f->options, &e) == ST_OK;
            for (unsigned n = 0; ok && n < DUMPS; n++) {
                offer(f, NULL,
                      (n + i * 100) % DUMPS); /* all dumps, in another order for each writer */
                if (n % 50 == 49) {
                    ok = history_commit(f->h, "2026-11-20T00:00:00Z", &e) == ST_OK;
                }
            }
            history_close(f->h);
            _exit(!ok);
        }
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    reopen(f, HISTORY_READ);
    assert_same(held(f, &everything), counted(f, DUMPS, NULL));
}

/* Writes the id of the level-1 bucket that dump 0 is in. */
static void bucket_of_dump_0(struct fixture_history *f, char id[KEY_ID_SIZE]) {
    const char *const frames[] = {"save_0", names[1], names[2]};
    struct fixture x = {.d = {.id = "0", .text = "0", .text_len = 1}};
    struct stall_key key;
    fixture_names(&x, frames, 3, 1);
    assert_int_equal(keyer_key(f->keyer, &x.d, &key, NULL), ST_OK);
    struct strbuf text = {0};
    key_text(&key.level[0], &text);
    key_id('1', strbuf_cstr(&text), text.len, id);
    strbuf_release(&text);
}

static void add_and_read(void *ctx, bool refused) {
    struct fixture_history *f = ctx;
    struct history_note n = {.text = {0}};
    struct triage *t = NULL;
    struct err e = {0};
    enum st st = history_open(&f->h, f->path, HISTORY_WRITE, &e);
    st = st == ST_OK ? history_set_options(f->h, &f->options, &e) : st;
    for (unsigned i = 0; st == ST_OK && i < 6; i++) {
        st = try_offer(f, NULL, i);
    }
    st = st == ST_OK ? history_commit(f->h, "2026-11-20T00:00:00Z", &e) : st;
    st = st == ST_OK ? history_read(f->h, &everything, f->keyer, &f->options, &t, &e) : st;
    st = st == ST_OK && history_note_of(f->h, "00000000abcd", &n, &e) == ST_ERR ? ST_ERR : st;
    strbuf_release(&n.text);
    triage_free(t);
    history_close(f->h);
    f->h = NULL;
    assert_true(refused || st == ST_OK);
}

static bool of_the_first_six(unsigned n) {
    return n < 6;
}

static void memory_that_runs_out_is_an_error_and_loses_nothing(void **state) {
    struct fixture_history *f = *state;
    free(counted(f, 6, NULL)); /* the keyer has to know the frames before allocations are counted */
    assert_true(!failmalloc_works() || failmalloc_sweep(add_and_read, f) > 0);
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 6);
    assert_same(held(f, &everything), counted(f, 6, of_the_first_six));
}

static void marks_and_first_and_last_are_told_of_a_bucket(void **state) {
    struct fixture_history *f = *state;
    struct history_note n;
    char id[KEY_ID_SIZE];
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 500);
    bucket_of_dump_0(f, id);
    assert_int_equal(history_note_of(f->h, id, &n, NULL), ST_OK);
    assert_string_equal(n.said.first_day, "2026-11-10");
    assert_string_equal(n.said.last_day, "2026-11-18");
    assert_string_equal(n.said.first_version, "5.0");
    assert_string_equal(n.said.last_version, "5.3");
    assert_string_equal(n.said.back_in, "");
    strbuf_release(&n.text);
    assert_int_equal(history_mark(f->h, id, "owner", "payments", "2026-11-20", NULL), ST_OK);
    assert_int_equal(history_mark(f->h, id, "fixed-in", "5.2", "2026-11-20", NULL), ST_OK);
    assert_int_equal(history_note_of(f->h, id, &n, NULL), ST_OK);
    assert_string_equal(n.said.owner, "payments");
    assert_string_equal(n.said.fixed_in, "5.2");
    assert_string_equal(n.said.back_in, "5.2");
    strbuf_release(&n.text);
    assert_int_equal(history_mark(f->h, id, "owner", "", "2026-11-20", NULL), ST_OK);
    assert_int_equal(history_note_of(f->h, id, &n, NULL), ST_OK);
    assert_string_equal(n.said.owner, "");
    strbuf_release(&n.text);
    assert_int_equal(history_note_of(f->h, "00000000abcd", &n, NULL), ST_NONE);
    strbuf_release(&n.text);
    assert_int_equal(history_mark(f->h, "00000000abcd", "owner", "x", "", NULL), ST_NONE);
    assert_int_equal(history_mark(f->h, id, "ownr", "x", "", NULL), ST_ERR);
    assert_int_equal(history_mark(f->h, id, "ignore", "soon", "", NULL), ST_ERR);
}

static void days_that_are_dropped_stay_away(void **state) {
    struct fixture_history *f = *state;
    int32_t day = 0;
    uint64_t cells = 0;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 500);
    assert_true(history_day_parse("2026-11-14", 10, &day));
    assert_int_equal(history_drop_before(f->h, day, &cells, NULL), ST_OK);
    assert_int_equal(cells, 4 * 4);
    assert_same(held(f, &everything), counted(f, 500, from_the_14th));
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 500);
    assert_int_equal(history_counts_of(f->h)->dumps, 0);
    assert_true(history_counts_of(f->h)->too_old > 0);
    assert_same(held(f, &everything), counted(f, 500, from_the_14th));
}

static void a_check_compares_dumps_by_system_and_device(void **state) {
    static const char *const changes[] = {
        "UPDATE cell_value SET dumps = dumps + 1 WHERE facet = 'os' AND cell = 1",
        "DELETE FROM cell_value WHERE cell = 1",
        "INSERT INTO cell_value(cell, facet, value, dumps) VALUES(1, 'os', 'iOS 1', 1)"};
    struct fixture_history *f = *state;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 200);
    assert_true(number_of(f, "SELECT count(*) FROM cell_value WHERE cell = 1") >= 1);
    change(f, "CREATE TABLE was AS SELECT * FROM cell_value");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct strbuf text = {0};
        struct sink out = sink_to_strbuf(&text);
        assert_int_equal(history_check(f->h, &out, NULL), ST_OK);
        change(f, changes[i]);
        assert_int_equal(history_check(f->h, &out, NULL), ST_NONE);
        assert_non_null(strstr(strbuf_cstr(&text), "cell 1: its parts have other dumps by system"));
        change(f, "DELETE FROM cell_value; INSERT INTO cell_value SELECT * FROM was");
        strbuf_release(&text);
    }
}

static void a_second_reading_needs_the_kept_sum_alone(void **state) {
    struct fixture_history *f = *state;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 2000);
    reopen(f, HISTORY_READ);
    assert_same(held(f, &everything), counted(f, 2000, NULL));
    assert_int_equal(number_of(f, "SELECT count(*) FROM rolled"), 1);
    assert_int_equal(number_of(f, "SELECT count(*) FROM rolled_part"),
                     number_of(f, "SELECT count(*) FROM part"));
    change(f, "UPDATE part SET partial = x'00'");
    assert_same(held(f, &everything), counted(f, 2000, NULL));
}

static void parts_that_came_since_are_added_to_the_kept_sum(void **state) {
    struct fixture_history *f = *state;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 2000);
    assert_same(held(f, &everything), counted(f, 2000, NULL));
    change(f, "UPDATE part SET partial = x'00'");
    /* So few dumps would be merged with the next ones into one part. */
    reopen(f, HISTORY_WRITE);
    add_range(f, 2000, 2100);
    add_range(f, 2100, 2200);
    reopen(f, HISTORY_READ);
    assert_same(held(f, &everything), counted(f, 2200, NULL));
}

static void a_sum_serves_no_span_that_lacks_one_of_its_parts(void **state) {
    struct fixture_history *f = *state;
    struct history_span since = everything;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 2000);
    assert_same(held(f, &everything), counted(f, 2000, NULL));
    assert_true(history_day_parse("2026-11-14", 10, &since.since));
    assert_same(held(f, &since), counted(f, 2000, from_the_14th));
    assert_same(held(f, &everything), counted(f, 2000, NULL));
}

static void a_damaged_sum_is_found_and_not_used(void **state) {
    struct fixture_history *f = *state;
    struct strbuf text = {0};
    struct sink out = sink_to_strbuf(&text);
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 2000);
    assert_same(held(f, &everything), counted(f, 2000, NULL));
    assert_int_equal(history_check(f->h, &out, NULL), ST_OK);
    change(f, "UPDATE rolled SET partial = substr(partial, 1, 1000)");
    assert_same(held(f, &everything), counted(f, 2000, NULL));
    change(f, "UPDATE rolled SET partial = (SELECT partial FROM part LIMIT 1)");
    assert_int_equal(history_check(f->h, &out, NULL), ST_NONE);
    assert_non_null(strstr(strbuf_cstr(&text), "rolled "));
    strbuf_release(&text);
}

static void sums_go_with_the_days_that_are_dropped(void **state) {
    struct fixture_history *f = *state;
    int32_t day = 0;
    uint64_t cells = 0;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 2000);
    assert_same(held(f, &everything), counted(f, 2000, NULL));
    assert_true(history_day_parse("2026-11-14", 10, &day));
    assert_int_equal(history_drop_before(f->h, day, &cells, NULL), ST_OK);
    assert_int_equal(number_of(f, "SELECT count(*) FROM rolled"), 0);
    assert_int_equal(number_of(f, "SELECT count(*) FROM rolled_part"), 0);
    assert_same(held(f, &everything), counted(f, 2000, from_the_14th));
}

static void the_oldest_days_go_until_the_file_is_small(void **state) {
    struct fixture_history *f = *state;
    uint64_t cells = 0;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 500);
    assert_int_equal(history_drop_past(f->h, 1 << 30, &cells, NULL), ST_OK);
    assert_int_equal(cells, 0);
    assert_same(held(f, &everything), counted(f, 500, NULL));
    assert_int_equal(history_drop_past(f->h, 1, &cells, NULL), ST_OK);
    assert_int_equal(cells, 8 * 4);
    assert_int_equal(number_of(f, "SELECT count(DISTINCT day) FROM cell"), 1);
}

static size_t occurrences(const char *text, const char *of) {
    size_t count = 0;
    while ((text = strstr(text, of))) {
        text++;
        count++;
    }
    return count;
}

/* Writes the hash of a user's name as partials have it. */
static void hash_text(const char *user, char out[17]) {
    snprintf(out, 17, "%016" PRIx64, hash_bytes(user, strlen(user)));
}

static void a_forgotten_user_is_named_nowhere(void **state) {
    struct fixture_history *f = *state;
    char hash[17], other[17];
    uint64_t parts = 0;
    hash_text("user-7", hash);
    hash_text("user-8", other);
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 2000);
    char *before = held(f, &everything);
    size_t others = occurrences(before, other);
    assert_true(occurrences(before, hash) > 0 && others > 0);
    assert_int_equal(history_forget_user(f->h, "user-7", &parts, NULL), ST_OK);
    assert_true(parts > 0);
    char *after = held(f, &everything);
    assert_int_equal(occurrences(after, hash), 0);
    assert_int_equal(occurrences(after, other), others);
    assert_int_equal(history_check(f->h, NULL, NULL), ST_OK);
    assert_int_equal(history_forget_user(f->h, "user-7", &parts, NULL), ST_OK);
    assert_int_equal(parts, 0);
    free(before);
    free(after);
}

static void a_changed_byte_is_found_and_the_rest_is_read(void **state) {
    struct fixture_history *f = *state;
    struct strbuf text = {0};
    struct sink out = sink_to_strbuf(&text);
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 500);
    assert_int_equal(history_check(f->h, &out, NULL), ST_OK);
    history_close(f->h);
    f->h = NULL;
    /* Damages one page after the other, from the fourth page on: most pages belong to a part, which
     * is the largest object in the file. */
    int fd = open(f->path, O_RDWR);
    off_t size = lseek(fd, 0, SEEK_END);
    unsigned broken = 0;
    for (off_t at = 4096 * 3; at + 4096 <= size; at += 4096) {
        unsigned char byte[64];
        assert_int_equal(pread(fd, byte, sizeof byte, at + 2000), sizeof byte);
        for (size_t i = 0; i < sizeof byte; i++) {
            byte[i] ^= 0x55;
        }
        assert_int_equal(pwrite(fd, byte, sizeof byte, at + 2000), sizeof byte);
        struct err e = {0};
        bool sound = history_open(&f->h, f->path, HISTORY_READ, &e) == ST_OK &&
                     history_check(f->h, &out, &e) == ST_OK;
        struct triage *t = NULL;
        if (f->h) {
            sound =
                history_read(f->h, &everything, f->keyer, &f->options, &t, &e) == ST_OK && sound;
            triage_free(t); /* t has the parts that could be read */
        }
        history_close(f->h);
        f->h = NULL;
        broken += !sound;
        for (size_t i = 0; i < sizeof byte; i++) {
            byte[i] ^= 0x55;
        }
        assert_int_equal(pwrite(fd, byte, sizeof byte, at + 2000), sizeof byte);
    }
    close(fd);
    assert_true(broken > 3);
    assert_int_equal(sink_close(&out, NULL), ST_OK);
    strbuf_release(&text);
}

static void what_is_no_history_is_refused(void **state) {
    struct fixture_history *f = *state;
    struct err e = {0};
    assert_int_equal(history_open(&f->h, f->path, HISTORY_READ, &e), ST_ERR);
    assert_int_equal(e.code, ERR_IO);
    FILE *out = fopen(f->path, "w");
    for (unsigned i = 0; i < 200; i++) {
        fputs("this is a text, and no database\n", out);
    }
    fclose(out);
    for (enum history_access a = HISTORY_READ; a <= HISTORY_EDIT; a++) {
        err_clear(&e);
        assert_int_equal(history_open(&f->h, f->path, a, &e), ST_ERR);
        assert_string_equal(e.text, "not a history");
    }
}

/* Changes the file with SQL as another program could, which may also add views and triggers. */
static void forge_history(struct fixture_history *f, const char *sql) {
    reopen(f, HISTORY_WRITE);
    history_close(f->h);
    f->h = NULL;
    change(f, sql);
}

static void a_history_with_other_tables_is_refused(void **state) {
    struct fixture_history *f = *state;
    static const char *const forged[] = {
        "DROP TABLE bucket_day; CREATE VIEW bucket_day AS WITH RECURSIVE n(bucket) AS"
        " (SELECT 1 UNION ALL SELECT bucket FROM n) SELECT bucket, 1 AS cell, 1 AS dumps,"
        " 1 AS stalled_ms FROM n",
        "DROP TABLE mark",
        "DROP INDEX cell_of",
        "ALTER TABLE seen ADD COLUMN more INTEGER DEFAULT 7",
        "CREATE TRIGGER t AFTER INSERT ON seen BEGIN DELETE FROM mark; END",
        "CREATE INDEX slow ON Seen(day + id)"};
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        forge_history(f, forged[i]);
        for (enum history_access a = HISTORY_READ; a <= HISTORY_EDIT; a++) {
            struct err e = {0};
            assert_int_equal(history_open(&f->h, f->path, a, &e), ST_ERR);
            assert_int_equal(e.code, ERR_FORMAT);
            assert_non_null(strstr(e.text, "damaged or forged"));
        }
        unlink(f->path);
    }
}

static void what_people_put_beside_the_tables_is_left_alone(void **state) {
    struct fixture_history *f = *state;
    forge_history(f, "CREATE TABLE teams(name TEXT); CREATE INDEX by_name ON teams(name);"
                     " CREATE VIEW bad AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x"
                     " FROM n) SELECT x FROM n; DROP VIEW stalled; ANALYZE");
    reopen(f, HISTORY_READ);
    reopen(f, HISTORY_WRITE);
}

static void another_cap_is_refused(void **state) {
    struct fixture_history *f = *state;
    struct err e = {0};
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 10);
    history_close(f->h);
    assert_int_equal(history_open(&f->h, f->path, HISTORY_WRITE, &e), ST_OK);
    f->options.cap_ms = 5000;
    assert_int_equal(history_set_options(f->h, &f->options, &e), ST_ERR);
    assert_int_equal(e.code, ERR_USAGE);
}

static void days_are_read_and_written(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int32_t day;
    } rows[] = {{"1970-01-01", 0},
                {"2026-11-23T11:00:00Z", 20780},
                {"2000-02-29", 11016},
                {"1969-12-31", -1},
                {"0001-01-01", -719162}};
    static const char *const wrong[] = {"",           "2026-11-3", "2026-13-01",  "2026-02-29",
                                        "2026-11-31", "20261120",  "2026-11-200", "0000-01-01"};
    char text[HISTORY_DAY_SIZE];
    int32_t day;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(history_day_parse(rows[i].text, strlen(rows[i].text), &day));
        assert_int_equal(day, rows[i].day);
        assert_memory_equal(history_day_text(day, text), rows[i].text, 10);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(history_day_parse(wrong[i], strlen(wrong[i]), &day));
    }
    assert_string_equal(history_day_text(HISTORY_NO_DAY, text), "");
}

int main(void) {
    struct history *h = NULL;
    struct err e = {0};
    const struct CMUnitTest always[] = {cmocka_unit_test(days_are_read_and_written)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_added_in_parts_is_what_one_run_counts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_dump_that_comes_again_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(versions_and_days_are_chosen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_writer_that_is_killed_leaves_what_it_had_committed,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(writers_at_the_same_time_count_each_dump_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_is_an_error_and_loses_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(marks_and_first_and_last_are_told_of_a_bucket, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(days_that_are_dropped_stay_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_check_compares_dumps_by_system_and_device, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_second_reading_needs_the_kept_sum_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(parts_that_came_since_are_added_to_the_kept_sum, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_sum_serves_no_span_that_lacks_one_of_its_parts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_sum_is_found_and_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_go_with_the_days_that_are_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_days_go_until_the_file_is_small, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_forgotten_user_is_named_nowhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_byte_is_found_and_the_rest_is_read, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_history_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_history_with_other_tables_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_people_put_beside_the_tables_is_left_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_cap_is_refused, set_up, tear_down)};
    int failed = cmocka_run_group_tests_name("history: days", always, NULL, NULL);
    if (history_open(&h, "/dev/null", HISTORY_READ, &e) == ST_ERR && e.code == ERR_UNSUPPORTED) {
        print_message("# SKIP this build has no libsqlite3\n");
        return failed;
    }
    return failed + cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
