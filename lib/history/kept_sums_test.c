/* Tests that the sums and pages which a history keeps change no result: dumps are added, read,
 * dropped and forgotten in any order, and each reading gives what a copy of the file without sums
 * and pages gives. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "classify/gate/gone.h"
#include "classify/summary/shown_bytes.h"
#include "classify/summary/summary_rows.h"
#include "history/fixture_history_test.h"
#include "page/page.h"

/* FIRST: number of buckets that a page shows in full, so that they are not kept as rows. */
enum { ROUNDS = 3, STEPS = 12, DUMPS_MOST = 1500, DAYS = 9, FIRST = 3 };

struct mixer {
    struct fixture_history *f;
    uint64_t state; /* state of xorshift64 */
    unsigned sums;  /* number of reads after which the file had a kept sum */
    unsigned rests; /* number of reads after which it had two that share no part */
    unsigned pages; /* number of pages that were made from kept sums */
};

static unsigned below(struct mixer *m, unsigned most) {
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return (unsigned)(m->state >> 33) % most;
}

static int32_t day_of_number(unsigned n) {
    char text[16];
    int32_t day = 0;
    snprintf(text, sizeof text, "2026-11-%02u", 10 + n);
    assert_true(history_day_parse(text, strlen(text), &day));
    return day;
}

/* Counts the pairs of kept sums that share no part. */
static int64_t apart_count(struct fixture_history *f) {
    return number_of(f, "SELECT count(*) FROM rolled a, rolled b WHERE a.id < b.id AND NOT EXISTS"
                        " (SELECT part FROM rolled_part WHERE rolled = a.id"
                        " INTERSECT SELECT part FROM rolled_part WHERE rolled = b.id)");
}

/* Does the fact "dumps" say the number and the size of the dumps that the table has? */
static bool dumps_are_noted(struct fixture_history *f) {
    return number_of(f, "SELECT value = (SELECT count(*) || ' ' || sum(length(text)) FROM dump)"
                        " FROM fact WHERE name = 'dumps'") == 1;
}

/* ---- changes of a history ---- */

static void add_some(struct mixer *m) {
    unsigned from = below(m, 6000), groups = 1 + below(m, 3);
    m->f->options.rules_hash = below(m, 4) ? 1 : 2;
    reopen(m->f, HISTORY_WRITE);
    for (unsigned i = 0; i < groups; i++) {
        unsigned count = 1 + below(m, DUMPS_MOST);
        uint64_t had = history_counts_of(m->f->h)->dumps;
        add_range(m->f, from, from + count);
        from += count;
        assert_true(history_counts_of(m->f->h)->dumps == had || dumps_are_noted(m->f));
    }
    m->f->options.rules_hash = 1;
}

static void drop_some_days(struct mixer *m) {
    uint64_t cells = 0;
    reopen(m->f, HISTORY_EDIT);
    assert_int_equal(history_drop_before(m->f->h, day_of_number(below(m, 3)), &cells, NULL), ST_OK);
}

static void forget_somebody(struct mixer *m) {
    char user[16];
    uint64_t parts = 0;
    snprintf(user, sizeof user, "user-%u", below(m, 50));
    reopen(m->f, HISTORY_EDIT);
    assert_int_equal(history_forget_user(m->f->h, user, &parts, NULL), ST_OK);
}

/* ---- readings of a history ---- */

static void copy_without_sums(const char *path, const char *copy) {
    struct strbuf sql = {0};
    struct sql_file *file = NULL;
    unlink(copy);
    strbuf_addf(&sql, "VACUUM INTO '%s'", copy);
    assert_int_equal(sql_open(&file, path, true, NULL), ST_OK);
    assert_int_equal(sql_run(file, strbuf_cstr(&sql), NULL), ST_OK);
    sql_close(file);
    assert_int_equal(sql_open(&file, copy, true, NULL), ST_OK);
    assert_int_equal(
        sql_run(file, "DELETE FROM rolled_page; DELETE FROM rolled_part; DELETE FROM rolled", NULL),
        ST_OK);
    sql_close(file);
    strbuf_release(&sql);
}

struct gone_list {
    VEC(struct gone_bucket) buckets;
};

static enum st note_gone(void *ctx, const struct gone_bucket *b, struct err *e) {
    struct gone_list *list = ctx;
    (void)e;
    assert_true(VEC_PUSH(&list->buckets, *b));
    return ST_OK;
}

static bool is_first(void *ctx, const char *id, size_t rank) {
    (void)ctx;
    (void)id;
    return rank < FIRST;
}

/* Appends a page of a triage, with all of its buckets as rows. If *rows is not empty, it has the
 * kept rows, which are used; it becomes the rows that can be kept, and
 * *shown what can be kept of the first buckets. */
static void write_page(struct fixture_history *f, struct triage *t, struct strbuf *rows,
                       struct strbuf *shown, struct strbuf *text) {
    struct summary s = {0};
    struct gone_list list = {0};
    struct summary_rows read = {0};
    struct strbuf kept = *rows;
    struct sink out = sink_to_strbuf(text);
    const struct page_options o = {
        .detail = FIRST, .narrowed = "", .history = "", .inputs = "", .keyer = f->keyer};
    *rows = (struct strbuf){0};
    assert_int_equal(triage_finish(t, NULL), ST_OK);
    assert_int_equal(summary_make(&s, t, NULL, FIRST, NULL), ST_OK);
    if (kept.len) {
        assert_int_equal(summary_rows_read(&read, kept.data, kept.len, NULL), ST_OK);
        assert_true(summary_rows_fit(t, &read));
        assert_int_equal(summary_take_rows(&s, &read, NULL), ST_OK);
        for (size_t i = 0; i < read.gone.len; i++) {
            assert_int_equal(note_gone(&list, &read.gone.data[i], NULL), ST_OK);
        }
    } else {
        assert_int_equal(gone_each(t, note_gone, &list, NULL), ST_OK);
    }
    const struct summary_gone gone = {list.buckets.data, list.buckets.len};
    assert_int_equal(page_write(&s, &o, &out, NULL), ST_OK);
    assert_int_equal(sink_close(&out, NULL), ST_OK);
    assert_int_equal(summary_write_rows(&s, 0, &gone, text, NULL), ST_OK);
    assert_int_equal(summary_write_rows(&s, FIRST, &gone, rows, NULL), ST_OK);
    strbuf_reset(shown);
    assert_int_equal(shown_write(&s, 1, shown, NULL), ST_OK);
    VEC_RELEASE(&list.buckets);
    summary_release(&s);
    summary_rows_release(&read);
    strbuf_release(&kept);
}

/* Returns the page of a span. If m is not NULL and the history keeps a page of this span, that page
 * is used; else the page is made from the parts and then kept. */
static struct strbuf page_of(struct fixture_history *f, const struct history_span *span,
                             struct mixer *m) {
    struct triage *t = NULL;
    struct strbuf rows = {0}, shown = {0}, text = {0};
    bool kept = m && history_read_page(f->h, span, &f->options, &t, &rows, &shown, NULL) == ST_OK;
    if (kept) {
        m->pages++;
        assert_true(shown.len > 0);
    } else {
        strbuf_reset(&rows);
        if (span->ever) {
            struct history_span ever = *span;
            ever.since = INT32_MIN;
            assert_int_equal(history_read(f->h, &ever, f->keyer, &f->options, &t, NULL), ST_OK);
            triage_free(t);
        }
        assert_int_equal(history_read(f->h, span, f->keyer, &f->options, &t, NULL), ST_OK);
    }
    write_page(f, t, &rows, &shown, &text);
    if (m && !kept) {
        assert_int_equal(triage_keep(t, is_first, NULL, NULL), ST_OK);
        assert_int_equal(history_keep_page(f->h, span, t, &rows, &shown, NULL), ST_OK);
    }
    triage_free(t);
    strbuf_release(&rows);
    strbuf_release(&shown);
    return text;
}

static void assert_same_page(struct strbuf got, struct strbuf *want) {
    assert_true(got.len > 0 && got.len == want->len);
    assert_memory_equal(got.data, want->data, got.len);
    strbuf_release(&got);
}

static struct history_span some_span(struct mixer *m, char version[8]) {
    struct history_span span = everything;
    if (below(m, 2)) {
        span.since = day_of_number(below(m, DAYS));
        span.ever = below(m, 2);
    }
    if (below(m, 3) == 0) {
        span.until = day_of_number(below(m, DAYS));
    }
    if (below(m, 4) == 0) {
        snprintf(version, 8, "5.%u", below(m, 4));
        span.version = version;
    }
    return span;
}

static void read_some(struct mixer *m, const char *copy) {
    copy_without_sums(m->f->path, copy);
    for (unsigned i = 0; i < 4; i++) {
        char version[8];
        struct history_span span = some_span(m, version);
        reopen(m->f, below(m, 3) ? HISTORY_READ : HISTORY_WRITE);
        char *got = held(m->f, &span);
        m->sums += number_of(m->f, "SELECT count(*) FROM rolled") > 0;
        m->rests += apart_count(m->f) > 0;
        struct strbuf page = page_of(m->f, &span, m);
        assert_same_page(page_of(m->f, &span, m), &page);
        struct history *h = m->f->h;
        span.no_sum = true;
        assert_int_equal(history_open(&m->f->h, copy, HISTORY_READ, NULL), ST_OK);
        char *want = held(m->f, &span);
        assert_same_page(page_of(m->f, &span, NULL), &page);
        strbuf_release(&page);
        history_close(m->f->h);
        m->f->h = h;
        assert_same(got, want);
    }
    unlink(copy);
}

static void assert_sound(struct fixture_history *f) {
    struct strbuf text = {0};
    struct sink out = sink_to_strbuf(&text);
    if (history_check(f->h, &out, NULL) != ST_OK) {
        fail_msg("%s", strbuf_cstr(&text));
    }
    strbuf_release(&text);
}

static void readings_with_and_without_what_is_kept_are_the_same(void **state) {
    struct mixer m = {.f = *state, .state = UINT64_C(0x9e3779b97f4a7c15)};
    char copy[80];
    snprintf(copy, sizeof copy, "%s.copy", m.f->path);
    for (unsigned round = 0; round < ROUNDS; round++) {
        add_some(&m);
        for (unsigned step = 0; step < STEPS; step++) {
            unsigned what = below(&m, 12);
            if (what < 5) {
                add_some(&m);
            } else if (what == 5) {
                drop_some_days(&m);
            } else if (what == 6) {
                forget_somebody(&m);
            } else {
                read_some(&m, copy);
            }
        }
        read_some(&m, copy);
        assert_sound(m.f);
        history_close(m.f->h);
        m.f->h = NULL;
        unlink(m.f->path);
    }
    assert_true(m.sums > ROUNDS && m.rests > ROUNDS && m.pages > ROUNDS);
}

static void a_sum_replaces_those_that_it_makes_needless(void **state) {
    struct fixture_history *f = *state;
    struct history_span since = everything;
    since.since = day_of_number(6);
    for (unsigned from = 0; from < 8000; from += 2000) {
        reopen(f, HISTORY_WRITE);
        add_range(f, from, from + 2000);
        reopen(f, HISTORY_READ);
        free(held(f, &everything));
        assert_int_equal(number_of(f, "SELECT count(*) FROM rolled"), 1);
    }
    /* Reads a third of the days: the sum of these days and the sum of all days are both kept. */
    free(held(f, &since));
    assert_int_equal(number_of(f, "SELECT count(*) FROM rolled"), 2);
    assert_int_equal(number_of(f, "SELECT count(*) FROM rolled_part WHERE rolled NOT IN"
                                  " (SELECT id FROM rolled)"),
                     0);
}

/* Adds dumps, reads the page twice, the second time from what is kept, and compares it with that of
 * a copy without sums. */
static void assert_kept_page_after(struct mixer *m, unsigned from, unsigned to) {
    struct fixture_history *f = m->f;
    char copy[80];
    unsigned pages = m->pages;
    snprintf(copy, sizeof copy, "%s.copy", f->path);
    reopen(f, HISTORY_WRITE);
    add_range(f, from, to);
    reopen(f, HISTORY_READ);
    struct strbuf page = page_of(f, &everything, m);
    assert_int_equal(m->pages, pages);
    reopen(f, HISTORY_READ);
    assert_same_page(page_of(f, &everything, m), &page);
    assert_int_equal(m->pages, pages + 1);
    assert_sound(f);
    copy_without_sums(f->path, copy);
    struct history *h = f->h;
    struct history_span span = everything;
    span.no_sum = true;
    assert_int_equal(history_open(&f->h, copy, HISTORY_READ, NULL), ST_OK);
    assert_same_page(page_of(f, &span, NULL), &page);
    strbuf_release(&page);
    history_close(f->h);
    f->h = h;
    unlink(copy);
}

static void what_came_since_is_kept_beside_a_large_sum(void **state) {
    struct mixer m = {.f = *state};
    struct fixture_history *f = m.f;
    f->buckets = 6000;
    assert_kept_page_after(&m, 0, 9000);
    int64_t base = number_of(f, "SELECT max(id) FROM rolled");
    for (unsigned from = 9000; from < 10000; from += 500) {
        assert_kept_page_after(&m, from, from + 500);
        assert_int_equal(number_of(f, "SELECT min(id) FROM rolled"), base);
        assert_int_equal(number_of(f, "SELECT count(*) FROM rolled"), 2);
        assert_int_equal(apart_count(f), 1);
        assert_int_equal(number_of(f, "SELECT dumps FROM rolled ORDER BY id DESC"), from - 8500);
        assert_int_equal(number_of(f, "SELECT sum(rolled) FROM rolled_page"), base);
    }
    assert_kept_page_after(&m, 10000, 15000);
    assert_int_equal(number_of(f, "SELECT max(dumps) FROM rolled"), 15000);
    assert_int_equal(number_of(f, "SELECT count(*) FROM rolled WHERE dumps = 9000"), 0);
}

static bool has_page(struct fixture_history *f, const struct history_span *span) {
    struct triage *t = NULL;
    struct strbuf rows = {0}, shown = {0};
    enum st st = history_read_page(f->h, span, &f->options, &t, &rows, &shown, NULL);
    triage_free(t);
    strbuf_release(&rows);
    strbuf_release(&shown);
    return st == ST_OK;
}

static void a_page_with_facts_from_all_days_depends_on_them(void **state) {
    struct mixer m = {.f = *state};
    struct fixture_history *f = m.f;
    struct history_span since = everything;
    since.since = day_of_number(6);
    f->buckets = 3000;
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, 4500);
    for (unsigned ever = 0; ever < 2; ever++) {
        since.ever = ever;
        reopen(f, HISTORY_READ);
        assert_true(!has_page(f, &since));
        struct strbuf page = page_of(f, &since, &m);
        strbuf_release(&page);
        reopen(f, HISTORY_READ);
        assert_true(has_page(f, &since));
        since.ever = !ever; /* the page was made without, or with, these facts */
        assert_true(!has_page(f, &since));
        since.ever = ever;
        reopen(f, HISTORY_WRITE);
        add_range(f, 4503 + 9 * ever, 4504 + 9 * ever); /* a dump of day 3 */
        reopen(f, HISTORY_READ);
        assert_true(has_page(f, &since) == !ever);
    }
    since.ever = true;
    /* A call that read the days alone gives no page with these facts. */
    struct triage *t = NULL;
    struct strbuf rows = {0}, shown = {0}, text = {0};
    assert_int_equal(history_read(f->h, &since, f->keyer, &f->options, &t, NULL), ST_OK);
    write_page(f, t, &rows, &shown, &text);
    assert_int_equal(triage_keep(t, is_first, NULL, NULL), ST_OK);
    assert_int_equal(history_keep_page(f->h, &since, t, &rows, &shown, NULL), ST_OK);
    triage_free(t);
    strbuf_release(&rows);
    strbuf_release(&shown);
    strbuf_release(&text);
    reopen(f, HISTORY_READ);
    assert_true(!has_page(f, &since));
}

/* Returns the size of the file's log, which SQLite keeps beside the file. */
static off_t log_size(const struct fixture_history *f) {
    char path[80];
    struct stat st;
    snprintf(path, sizeof path, "%s-wal", f->path);
    return stat(path, &st) == 0 ? st.st_size : 0;
}

static void a_page_is_kept_of_sums_and_parts_that_are_in_none(void **state) {
    struct mixer m = {.f = *state};
    struct fixture_history *f = m.f;
    struct triage *t = NULL;
    struct strbuf rows = {0}, shown = {0};
    f->buckets = 6000;
    assert_kept_page_after(&m, 0, 9000);
    assert_int_equal(log_size(f), 0);
    assert_kept_page_after(&m, 9000, 9010);
    assert_int_equal(number_of(f, "SELECT count(*) FROM rolled"), 1);
    assert_int_equal(number_of(f, "SELECT sum(dumps) FROM part WHERE id NOT IN"
                                  " (SELECT part FROM rolled_part)"),
                     10);
    f->options.rules_hash = 2;
    assert_kept_page_after(&m, 9010, 9020);
    assert_kept_page_after(&m, 9020, 12000);
    assert_int_equal(log_size(f), 0);
    assert_kept_page_after(&m, 12000, 12010);
    assert_int_equal(number_of(f, "SELECT count(DISTINCT rules) FROM rolled"), 2);

    /* A part that is in no sum gets other bytes of the same number. */
    change(f, "UPDATE part SET partial = CAST(substr(partial, 1, length(partial) - 1) || char(0)"
              " AS BLOB) WHERE id = (SELECT max(id) FROM part)");
    reopen(f, HISTORY_READ);
    assert_int_equal(history_read_page(f->h, &everything, &f->options, &t, &rows, &shown, NULL),
                     ST_NONE);
    strbuf_release(&rows);
}

/* A marked bucket is joined to no other, so that a page of before the mark is no longer right. */
static void a_first_mark_of_a_bucket_needs_another_page(void **state) {
    struct mixer m = {.f = *state};
    struct fixture_history *f = m.f;
    f->buckets = 6000;
    assert_kept_page_after(&m, 0, 9000);
    unsigned pages = m.pages;
    change(f, "INSERT INTO mark(bucket, name, value, set_at) VALUES(7, 'owner', 'x', '')");
    reopen(f, HISTORY_READ);
    struct strbuf page = page_of(f, &everything, &m);
    assert_int_equal(m.pages, pages);
    reopen(f, HISTORY_READ);
    assert_same_page(page_of(f, &everything, &m), &page);
    assert_int_equal(m.pages, pages + 1);
    change(f, "INSERT INTO mark(bucket, name, value, set_at) VALUES(7, 'note', 'y', '')");
    reopen(f, HISTORY_READ);
    assert_same_page(page_of(f, &everything, &m), &page);
    assert_int_equal(m.pages, pages + 2);
    strbuf_release(&page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(readings_with_and_without_what_is_kept_are_the_same, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_sum_replaces_those_that_it_makes_needless, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_page_with_facts_from_all_days_depends_on_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_came_since_is_kept_beside_a_large_sum, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_page_is_kept_of_sums_and_parts_that_are_in_none, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_first_mark_of_a_bucket_needs_another_page, set_up,
                                        tear_down)};
    return skips_without_sqlite("history: kept sums")
               ? 0
               : cmocka_run_group_tests_name("history: kept sums", tests, NULL, NULL);
}
