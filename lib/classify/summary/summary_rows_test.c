/* Tests the rows that a history keeps for a page: rows that were written can be read, and damaged
 * rows are refused. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "classify/summary/summary_rows.h"

enum { FIRST = 1, ROWS = 3 };

static const struct summary_value versions[] = {{.text = "5.0", .dumps = 300},
                                                {.text = "5.1", .dumps = 2}};
static const struct summary_value systems[] = {{.text = "iOS 18.7"}};
static const struct gone_bucket gone[] = {{0xabcdef012345, "5.1", NULL, NULL, NULL, NULL},
                                          {7, "5.0", "5.1", NULL, "5.0", NULL},
                                          {8, "5.0", NULL, "5.2", NULL, NULL},
                                          {9, NULL, NULL, NULL, NULL, "5.2"}};

/* Makes a summary of FIRST buckets, with ROWS more if `all`. */
static struct summary summary_of(bool all) {
    static const char *const ids[] = {"00000000000f", "abcdef012345", "000000000007",
                                      "ffffffffffff"};
    static const char *const titles[] = {"first", "save < on_save", "", "save < on_save"};
    struct summary s = {.totals = "4 stalls in 4 dumps"};
    for (size_t i = 0; i < (all ? FIRST + ROWS : FIRST); i++) {
        struct summary_bucket b = {.id = ids[i], .title = titles[i], .cause = "disk"};
        b.ms = UINT64_MAX >> i;
        b.users = i;
        b.stalls = b.dumps = 1000 * i;
        b.fatal = 3 * i;
        b.p50 = (struct tally_duration){.ms = 700 + i};
        b.p95 = (struct tally_duration){.ms = 30000, .at_least = true};
        b.by[SUMMARY_VERSION] = (struct summary_values){versions, i % 3};
        b.by[SUMMARY_OS] = (struct summary_values){systems, i % 2};
        assert_true(VEC_PUSH(&s.buckets, b));
    }
    return s;
}

static struct strbuf written(void) {
    struct strbuf out = {0};
    struct summary s = summary_of(true);
    const struct summary_gone g = {gone, sizeof gone / sizeof *gone};
    assert_int_equal(summary_write_rows(&s, FIRST, &g, &out, NULL), ST_OK);
    summary_release(&s);
    return out;
}

static void assert_same_version(const char *a, const char *b) {
    assert_true(a && b ? strcmp(a, b) == 0 : a == b);
}

static void assert_same_gone(const struct gone_bucket *a, const struct gone_bucket *b) {
    assert_int_equal(a->id, b->id);
    assert_same_version(a->gone_in, b->gone_in);
    assert_same_version(a->returned_in, b->returned_in);
    assert_same_version(a->again_in, b->again_in);
    assert_same_version(a->unwatched_in, b->unwatched_in);
    assert_same_version(a->new_in, b->new_in);
}

static void assert_same_values(const struct summary_values *a, const struct summary_values *b) {
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_string_equal(a->values[i].text, b->values[i].text);
        assert_int_equal(a->values[i].dumps, b->values[i].dumps);
    }
}

static void rows_are_read_as_they_were_written(void **state) {
    (void)state;
    struct strbuf rows = written();
    struct summary want = summary_of(true), got = summary_of(false);
    struct summary_rows read;
    assert_int_equal(summary_rows_read(&read, rows.data, rows.len, NULL), ST_OK);
    assert_int_equal(read.first, FIRST);
    assert_int_equal(read.gone.len, sizeof gone / sizeof *gone);
    for (size_t i = 0; i < read.gone.len; i++) {
        assert_same_gone(&read.gone.data[i], &gone[i]);
    }
    assert_int_equal(summary_take_rows(&got, &read, NULL), ST_OK);
    assert_int_equal(summary_take_rows(&got, &read, NULL), ST_ERR);
    assert_string_equal(got.totals, want.totals);
    assert_int_equal(got.buckets.len, FIRST + ROWS);
    for (size_t i = FIRST; i < FIRST + ROWS; i++) {
        const struct summary_bucket *a = &got.buckets.data[i], *b = &want.buckets.data[i];
        assert_string_equal(a->id, b->id);
        assert_string_equal(a->title, b->title);
        assert_string_equal(a->cause, b->cause);
        assert_true(a->ms == b->ms && a->weight == b->ms && a->users == b->users);
        assert_true(a->stalls == b->stalls && a->dumps == b->dumps && a->fatal == b->fatal);
        assert_true(a->p50.ms == b->p50.ms && !a->p50.at_least);
        assert_true(a->p95.ms == b->p95.ms && a->p95.at_least);
        for (size_t f = 0; f < SUMMARY_FACETS; f++) {
            assert_same_values(&a->by[f], &b->by[f]);
        }
    }
    summary_release(&want);
    summary_release(&got);
    summary_rows_release(&read);
    strbuf_release(&rows);
}

/* Reads a copy that has exactly these bytes, so that a sanitizer sees each read past their end. */
static bool is_sound(const void *bytes, size_t len) {
    void *copy = malloc(len ? len : 1);
    struct err e = {0};
    assert_non_null(copy);
    if (len) {
        memcpy(copy, bytes, len);
    }
    struct summary_rows read;
    struct summary s = summary_of(false);
    enum st st = summary_rows_read(&read, copy, len, &e);
    assert_true(st == ST_OK || e.code == ERR_FORMAT);
    if (st == ST_OK) {
        assert_int_equal(summary_take_rows(&s, &read, NULL) == ST_OK, read.first == FIRST);
    }
    summary_release(&s);
    summary_rows_release(&read);
    free(copy);
    return st == ST_OK;
}

static void each_cut_is_refused(void **state) {
    (void)state;
    struct strbuf rows = written();
    for (size_t len = 0; len < rows.len; len++) {
        assert_false(is_sound(rows.data, len));
    }
    strbuf_add(&rows, "", 1);
    assert_false(is_sound(rows.data, rows.len));
    strbuf_release(&rows);
}

static void each_changed_byte_is_refused_or_read(void **state) {
    (void)state;
    struct strbuf rows = written();
    size_t refused = 0;
    for (size_t i = 0; i < rows.len; i++) {
        for (unsigned change = 1; change < 256; change++) {
            rows.data[i] = (char)(rows.data[i] ^ (char)change);
            refused += !is_sound(rows.data, rows.len);
            rows.data[i] = (char)(rows.data[i] ^ (char)change);
        }
    }
    /* At least every change of the form, of a length or of an offset is refused. */
    assert_true(refused > rows.len);
    strbuf_release(&rows);
}

/* A few kilobytes of rows refer so often to one text that all references together would have
 * gigabytes. */
static void texts_have_a_budget(void **state) {
    (void)state;
    enum { TEXT = 1 << 20, TIMES = 4096 };
    struct strbuf rows = {0};
    char *text = calloc(1, TEXT);
    assert_non_null(text);
    memset(text, 'x', TEXT - 1);
    leb128_add(&rows, 2);
    leb128_add(&rows, TEXT);
    strbuf_add(&rows, text, TEXT);
    leb128_add(&rows, FIRST);
    leb128_add(&rows, TEXT - 1); /* totals: "" */
    leb128_add(&rows, TIMES);
    for (size_t i = 0; i < TIMES; i++) {
        leb128_add(&rows, i);
        leb128_add(&rows, 0);
        leb128_add(&rows, TEXT - 1);
    }
    leb128_add(&rows, 0);
    assert_false(is_sound(rows.data, rows.len));
    strbuf_release(&rows);
    free(text);
}

static void counts_past_the_bytes_are_refused(void **state) {
    (void)state;
    static const uint64_t counts[] = {5, 600, 1 << 20, UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (size_t where = 0; where < 3; where++) {
            struct strbuf rows = {0};
            leb128_add(&rows, 2);
            leb128_add(&rows, where == 0 ? counts[i] : 1);
            strbuf_add(&rows, "", 1);
            leb128_add(&rows, FIRST);
            leb128_add(&rows, 0);
            leb128_add(&rows, where == 1 ? counts[i] : 0);
            leb128_add(&rows, where == 2 ? counts[i] : 0);
            assert_false(is_sound(rows.data, rows.len));
            strbuf_release(&rows);
        }
    }
}

static void summaries_without_rows_are_told(void **state) {
    (void)state;
    struct summary s = summary_of(true);
    const struct summary_gone none = {0};
    struct strbuf out = {0};
    s.buckets.data[FIRST].id = "other";
    assert_int_equal(summary_write_rows(&s, FIRST, &none, &out, NULL), ST_NONE);
    strbuf_clear(&out);
    assert_int_equal(summary_write_rows(&s, FIRST + 1, &none, &out, NULL), ST_OK);
    strbuf_clear(&out);
    s.by_stalls = true;
    assert_int_equal(summary_write_rows(&s, FIRST + 1, &none, &out, NULL), ST_NONE);
    strbuf_release(&out);
    summary_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_read_as_they_were_written),
                                       cmocka_unit_test(each_cut_is_refused),
                                       cmocka_unit_test(each_changed_byte_is_refused_or_read),
                                       cmocka_unit_test(texts_have_a_budget),
                                       cmocka_unit_test(counts_past_the_bytes_are_refused),
                                       cmocka_unit_test(summaries_without_rows_are_told)};
    return cmocka_run_group_tests_name("summary rows", tests, NULL, NULL);
}
