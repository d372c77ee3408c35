#include "base/regex_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"

static enum st search_in(const char *regex, const char *text) {
    struct regex *r;
    assert_int_equal(regex_compile(&r, regex, NULL), ST_OK);
    enum st st = regex_search(r, text, strlen(text), NULL);
    assert_int_equal(regex_search(r, text, strlen(text), NULL),
                     st); /* the second search uses the states that the first has built */
    regex_free(r);
    return st;
}

static void assert_matches(const char *regex, const char *text) {
    assert_int_equal(search_in(regex, text), ST_OK);
}

static void assert_fails(const char *regex, const char *text) {
    assert_int_equal(search_in(regex, text), ST_NONE);
}

static void assert_refused(const char *regex, const char *why) {
    struct regex *r;
    struct err e = {0};
    assert_int_equal(regex_compile(&r, regex, &e), ST_ERR);
    assert_int_equal(e.code, ERR_USAGE);
    assert_non_null(strstr(e.text, why));
}

static void what_people_write_is_found(void **state) {
    (void)state;
    assert_matches("", "x");
    assert_matches("", "");
    assert_matches("^iPhone1[0-9],.*$", "iPhone13,3");
    assert_fails("^iPhone1[0-9],.*$", "an iPhone13,3");
    assert_matches("-\\[DB (write|flush):\\]", "-[DB write:]");
    assert_matches("(a+b?)*c{2,400}", "abaabcc");
    assert_fails("^(a+b?)*c{2,400}$", "abaabc");
    assert_matches("[[:alpha:]*+?{(]+[]*]{3}[^]x]", "ab(*+]**y");
    assert_matches("\\(\\(\\(\\*\\+", "(((*+");
    assert_matches("((((((a|b)+)+)+)*)+)?", "ab");
    assert_matches("^(a|bc|d{0})*$", "abcbca");
    assert_fails("^a{2,3}$", "aaaa");
    assert_matches("^a{,3}b{2,}$", "aaabbbbb");
    assert_matches("x)", "x)");
    assert_matches("[a\\]", "\\");
    assert_matches("[a-c[.-.]]{4}", "ab-c");
    assert_matches("[^[:space:]]\xff.", "a\xff\x80");
}

static void words_have_edges(void **state) {
    (void)state;
    assert_matches("\\bCart\\b", "in Cart, now");
    assert_fails("\\bCart\\b", "CartView");
    assert_matches("\\<View\\>|\\<CartView\\>", "CartView");
    assert_matches("Cart\\BView", "CartView");
    assert_matches("^\\w+\\s\\W$", "a_1 -");
}

static void what_is_too_large_is_refused(void **state) {
    (void)state;
    assert_refused("(a{99}){2000}", "too many repetitions");
    assert_refused("a{255}{255}{255}", "too many repetitions");
    assert_refused("a{18446744073709551616}", "too many repetitions");
    assert_refused(
        "(((((((((((((((a{2}){2}){2}){2}){2}){2}){2}){2}){2}){2}){2}){2}){2}){2}){2}){2}",
        "too many repetitions");
    char deep[2 * REGEX_DEPTH_MAX + 2];
    memset(deep, '(', REGEX_DEPTH_MAX);
    memset(deep + REGEX_DEPTH_MAX, ')', REGEX_DEPTH_MAX);
    deep[2 * REGEX_DEPTH_MAX] = 0;
    assert_refused(deep, "too many levels");
}

static void what_is_none_is_refused_with_the_reason(void **state) {
    (void)state;
    assert_refused("a(b", "a parenthesis has no end");
    assert_refused("a[b", "a bracket has no end");
    assert_refused("a[", "a bracket has no end");
    assert_refused("[[:", "a bracket has no end");
    assert_refused("[[:nothing:]]", "no class");
    assert_refused("[z-a]", "a range in brackets");
    assert_refused("[[.ab.]]", "one byte");
    assert_refused("a\\", "a backslash ends it");
    assert_refused("(a)\\1", "no back-references");
    assert_refused("\\d+", "means nothing");
    assert_refused("a|*b", "nothing stands before");
    assert_refused("{2}", "nothing stands before");
    assert_refused("a{2,1}", "a repetition is");
    assert_refused("a{x}", "a repetition is");
    assert_refused("a{1", "a repetition is");
}

static double seconds_used(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Searches hostile texts: the limit of steps bounds the time, and only its order of magnitude is
 * tested. */
static void no_text_takes_long(void **state) {
    static const char *const hostile[] = {
        "1.*1.*x",
        "(1*)*x",
        "((a|1)*a(a|1){200}x)",
        "(.*1){50}x",
        "(1|11|111)*x",
        "(.?){300}1{300}x",
        ".{0,3000}x",
        "(((1+)+)+)+x",
        "(1.{0,200})*1{3}x",
        "(.{0,99}.{0,99}x){40}",
        "(|1|)*(|1|)*(|1|)*x",
    };
    static char texts[2][60001]; /* room for a NUL at the end */
    (void)state;
    srand(1);
    for (size_t i = 0; i + 1 < sizeof texts[0]; i++) {
        texts[0][i] = '1';
        texts[1][i] = rand() & 64 ? 'a' : '1';
    }
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        for (size_t k = 0; k < 2; k++) {
            struct regex *r;
            struct err e = {0};
            assert_int_equal(regex_compile(&r, hostile[i], NULL), ST_OK);
            double start = seconds_used();
            enum st st = regex_search(r, texts[k], sizeof texts[k] - 1, &e);
            double took = seconds_used() - start;
            assert_true(st == ST_NONE || e.code == ERR_LIMIT);
            assert_true(took < 0.1);
            assert_int_equal(regex_search(r, texts[k], sizeof texts[k] - 1, NULL), st);
            regex_free(r);
        }
    }
    assert_int_equal(search_in("1.*1.*x", texts[0]), ST_NONE);
    assert_int_equal(search_in("((a|1)*a(a|1){100}x)", texts[1]), ST_NONE);
}

/* Appends a random expression of at most `budget` parts. */
static void write_random(struct strbuf *out, int budget) {
    static const char *const atoms[] = {"a", "b", "c", ".",  "[ab]", "[^a]",
                                        "^", "$", "x", "()", "\\."};
    static const char *const ends[] = {"", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "|", "|"};
    while (budget-- > 0) {
        bool group = rand() % 4 == 0 && budget > 0;
        int inside = group ? rand() % budget + 1 : 0;
        const char *atom = atoms[(size_t)rand() % (sizeof atoms / sizeof *atoms)];
        strbuf_addstr(out, group ? "(" : atom);
        if (group) {
            write_random(out, inside);
            strbuf_addstr(out, ")");
            budget -= inside;
        }
        /* Repeated anchors mean different things to different libraries, so they are not written.
         */
        bool place = !group && (*atom == '^' || *atom == '$');
        strbuf_addstr(out, place ? "" : ends[(size_t)rand() % (sizeof ends / sizeof *ends)]);
    }
}

/* Compares answers with those of the C library's regexec for expressions that both accept. */
static void answers_are_those_of_the_c_library(void **state) {
    (void)state;
    int compared = 0, found = 0;
    srand(7);
    for (int i = 0; i < 20000; i++) {
        struct strbuf made = {0};
        char text[16] = "";
        struct regex *r;
        regex_t theirs;
        write_random(&made, rand() % 6 + 1);
        const char *pattern = strbuf_cstr(&made);
        for (int n = rand() % 9, k = 0; k < n; k++) {
            text[k] = "abcx."[rand() % 5];
        }
        if (regcomp(&theirs, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
            strbuf_release(&made);
            continue;
        }
        if (regex_compile(&r, pattern, NULL) == ST_OK) {
            enum st expected = regexec(&theirs, text, 0, NULL, 0) == 0 ? ST_OK : ST_NONE;
            if (regex_search(r, text, strlen(text), NULL) != expected) {
                fail_msg("'%s' in '%s'", pattern, text);
            }
            compared++;
            found += expected == ST_OK;
            regex_free(r);
        }
        regfree(&theirs);
        strbuf_release(&made);
    }
    assert_true(compared > 15000 && found > 2000 && compared - found > 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_people_write_is_found),
        cmocka_unit_test(words_have_edges),
        cmocka_unit_test(what_is_too_large_is_refused),
        cmocka_unit_test(what_is_none_is_refused_with_the_reason),
        cmocka_unit_test(no_text_takes_long),
        cmocka_unit_test(answers_are_those_of_the_c_library),
    };
    return cmocka_run_group_tests_name("regex_text", tests, NULL, NULL);
}
