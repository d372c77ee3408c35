#include "flame/diff.h"

#include "flame/flame_support_test.h"

static struct stack_pair pair_of(const char *base, const char *now) {
    struct stack_tree a = {0}, b = {0};
    struct stack_pair pair = {0};
    read_string(&a, base);
    read_string(&b, now);
    assert_int_equal(stack_pair_make(&pair, &a, &b, false, NULL), ST_OK);
    stack_tree_release(&a);
    stack_tree_release(&b);
    return pair;
}

/* ---- the text of a change ---- */

static void assert_change(uint64_t base, uint64_t now, const char *want) {
    struct strbuf b = {0};
    diff_change(&b, (uint64_t[]){base, now}, 0, "ms");
    assert_string_equal(strbuf_cstr(&b), want);
    strbuf_release(&b);
}

static void changes_are_told(void **state) {
    (void)state;
    assert_change(12, 18, "12 ms \xe2\x86\x92 18 ms, +50 %");
    assert_change(1000, 995,
                  "1,000 ms \xe2\x86\x92 995 ms, \xe2\x88\x92"
                  "0.5 %");
    assert_change(7, 7, "7 ms \xe2\x86\x92 7 ms, the same");
    assert_change(0, 7, "0 ms \xe2\x86\x92 7 ms, new");
    assert_change(7, 0, "7 ms \xe2\x86\x92 0 ms, gone");
    assert_change(1, 40, "1 ms \xe2\x86\x92 40 ms, \xc3\x97 40");
    assert_change(0, 0, "0 ms \xe2\x86\x92 0 ms, the same");
    assert_change(1, UINT64_MAX, "1 ms \xe2\x86\x92 18,446,744,073,709,551,615 ms, \xc3\x97 1000");
}

static char *markdown(const struct stack_pair *pair, size_t most) {
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    struct diff_text o = {.title = "T", .unit = "ms", .most = most};
    assert_int_equal(diff_markdown(pair, &o, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    return strbuf_take(&out);
}

static void table_has_the_largest_changes(void **state) {
    (void)state;
    struct stack_pair pair =
        pair_of("m;a 10\nm;b 5\nm;r;r 4\n", "m;a 30\nm;c|d 6\nm;r;r 4\nm;x`y_[i] 1\n");
    char *text = markdown(&pair, 3);
    const char *head = "### T: 19 ms \xe2\x86\x92 41 ms, +115 %\n\n";
    assert_memory_equal(text, head, strlen(head));
    const char *rows = strstr(text, "| ---: |\n") + 9;
    assert_string_equal(rows, "| **+20** | +200 % | `a` | 10 | 30 | 10 | 30 |\n"
                              "| **+6** | new | `c\\|d` | 0 | 6 | 0 | 6 |\n"
                              "| **\xe2\x88\x92"
                              "5** | gone | `b` | 5 | 0 | 5 | 0 |\n");
    free(text);
    /* A function that did not change has no row; a recursive frame counts once. */
    text = markdown(&pair, 10);
    assert_null(strstr(text, "`r`"));
    assert_non_null(strstr(text, "| **+1** | new | `` x`y `` | 0 | 1 | 0 | 1 |\n"));
    free(text);
    stack_pair_release(&pair);
    pair = pair_of("a 1\n", "a 1\n");
    text = markdown(&pair, 10);
    assert_non_null(strstr(text, "No function changed."));
    free(text);
    stack_pair_release(&pair);
    pair = pair_of("", "");
    free(markdown(&pair, 10));
    stack_pair_release(&pair);
}

static void recursion_counts_once(void **state) {
    (void)state;
    struct stack_pair pair = pair_of("r;r;r 4\n", "r;r;r 5\nr;a 1\n");
    char *text = markdown(&pair, 10);
    assert_non_null(strstr(text, "`r` | 4 | 5 | 4 | 6 |\n"));
    free(text);
    stack_pair_release(&pair);
}

static void stacks_are_written_with_both_weights(void **state) {
    (void)state;
    struct stack_pair pair = pair_of("a;b 3\n", "a;b 5.5\nc 1\n");
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    assert_int_equal(diff_folded(&pair, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&out), "a;b 3 5.5\nc 0 1\n");
    strbuf_release(&out);
    stack_pair_release(&pair);
}

/* ---- the picture ---- */

static void picture_shows_both_sides(void **state) {
    (void)state;
    struct stack_pair pair =
        pair_of("m;gone 10\nm;less 20\nm;same 5\n", "m;less 10\nm;same 5\nm;fresh 9\n");
    struct diff_marks marks;
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    diff_marks_init(&marks, &pair, "ms");
    assert_int_equal(
        svg_write(&pair.tree, &(struct svg_options){.marks = &marks.marks}, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    const char *const want[] = {"v0",
                                "s2",
                                "n0",
                                "10 ms \xe2\x86\x92 0 ms, gone",
                                "20 ms \xe2\x86\x92 10 ms, ",
                                "0 ms \xe2\x86\x92 9 ms, new",
                                "5 ms \xe2\x86\x92 5 ms, the same"};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_non_null(strstr(out.data, want[i]));
    }
    strbuf_release(&out);
    stack_pair_release(&pair);
}

/* ---- limits ---- */

static bool passes(const struct stack_pair *pair, const char *text) {
    struct diff_limit l;
    uint64_t sums[STACK_SIDES];
    assert_int_equal(diff_limit_parse(&l, text, NULL), ST_OK);
    assert_int_equal(diff_limit_measure(&l, pair, sums, NULL), ST_OK);
    bool passed = diff_limit_passed(&l, pair, sums);
    diff_limit_release(&l);
    return passed;
}

static void limits_are_measured(void **state) {
    (void)state;
    struct stack_pair pair = pair_of("m;a 100\nm;b 100\n", "m;a;a 110\nm;b 90\nm;std::c 4\n");
    assert_true(passes(&pair, "^a$:+9.9%"));
    assert_false(passes(&pair, "^a$:+10%")); /* growth that reaches the limit fails */
    assert_true(passes(&pair, "a:+9ms"));
    assert_false(passes(&pair, "a:+10"));
    assert_false(passes(&pair, "^b:+0%")); /* the weight of b shrank, so that the limit is not
                                              exceeded, however small it is */
    assert_true(passes(
        &pair,
        "std::c:+1000%")); /* the frame is new, which fails each limit; the last ':' splits */
    assert_true(passes(&pair, "c|a:+13.9%"));
    assert_false(passes(&pair, "c|a:+14%"));
    assert_true(passes(&pair, "a:+3.9pp")); /* the share grows from 50 % to 53.92 % */
    assert_false(passes(&pair, "a:+4pp"));
    assert_false(passes(&pair, "nothing:+0%"));
    assert_false(passes(&pair, "m:+1pp"));
    stack_pair_release(&pair);
    pair = pair_of("a 9000000000000000000\n", "a 9000000000000000001\nb 1\n");
    assert_true(passes(&pair, "a:+0%"));
    assert_false(passes(&pair, "a:+0.001%"));
    assert_true(passes(&pair, "a:+0.5"));
    stack_pair_release(&pair);
    pair = pair_of("", "");
    assert_false(passes(&pair, "a:+0pp"));
    stack_pair_release(&pair);
    pair = pair_of("a 1.5\n", "a 2\n");
    assert_true(passes(&pair, "a:+0.4ms"));
    assert_false(passes(&pair, "a:+0.5ms"));
    stack_pair_release(&pair);
}

static void bad_limits_are_refused(void **state) {
    (void)state;
    const char *const bad[] = {"a",      "a:",     "a:5%",     ":+5%",   "a:+%",      "a:+5MS",
                               "a:+5%x", "a:+-5%", "a:+1.2.3", "a(:+5%", "a:+1.2345%"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct diff_limit l;
        struct err e = {0};
        assert_int_equal(diff_limit_parse(&l, bad[i], &e), ST_ERR);
        assert_int_equal(e.code, ERR_USAGE);
    }
}

/* ---- memory ---- */

static void all_of_it(void *ctx, bool refused) {
    const struct stack_pair *pair = ctx;
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    struct err e = {0};
    struct diff_text o = {.unit = "ms", .most = 10};
    enum st st = diff_markdown(pair, &o, &sink, &e);
    st = st == ST_OK ? diff_folded(pair, &sink, &e) : st;
    if (sink_close(&sink, &e) != ST_OK) {
        st = ST_ERR;
    }
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    strbuf_release(&out);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct stack_pair pair = pair_of("m;a 10\nm;b 5\n", "m;a 30\nm;c 6\n");
    assert_true(failmalloc_sweep(all_of_it, &pair) > 5);
    stack_pair_release(&pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_told),
        cmocka_unit_test(table_has_the_largest_changes),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(stacks_are_written_with_both_weights),
        cmocka_unit_test(picture_shows_both_sides),
        cmocka_unit_test(limits_are_measured),
        cmocka_unit_test(bad_limits_are_refused),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
