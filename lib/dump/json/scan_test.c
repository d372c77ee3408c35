#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "dump/json/scan_private.h"

/* Scans the whole text at once; *used becomes the end of the document. */
static enum scan_event scan_text(const char *text, size_t len, size_t *used) {
    struct scan s = {0};
    return scan_feed(&s, text, len, used);
}

/* Scans the text one line at a time; otherwise as scan_text. */
static enum scan_event scan_lines(const char *text, size_t len, size_t *used) {
    struct scan s = {0};
    enum scan_event event = SCAN_MORE;
    size_t at = 0;
    while (at < len && event == SCAN_MORE) {
        size_t taken;
        const char *feed = memchr(text + at, '\n', len - at);
        event = scan_feed(&s, text + at, feed ? (size_t)(feed - text) + 1 - at : len - at, &taken);
        at += taken;
    }
    *used = at;
    return event;
}

static void valid_documents_end_where_they_end(void **state) {
    (void)state;
    static const char *const valid[] = {
        "{}",
        "[]",
        " \t\r\n[ ] ",
        "[1,-1,0,-0,10,1.5,0.5,-0.0,1e5,1E+5,1e-5,0e0,1.25e10]",
        "[true,false,null]",
        "[\"\",\"a\",\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF\",\"\x7f\xc3\xa9\xff\"]",
        "{\"a\":1,\"b\":{\"c\":[{},[],[[]]]},\"\":null}",
        "{ \"a\" : 1 , \"b\" : [ 1 , 2 ] }",
        "[1 ]",
        "[true ]",
        "{\"a\":0}",
        "{\"a\":0\n}",
        "{\n\"a\"\n:\n[\n1\n,\n\"b\"\n,\ntrue\n]\n}\n",
    };
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
        size_t used, len = strlen(valid[i]);
        assert_int_equal(scan_text(valid[i], len, &used), SCAN_DONE);
        assert_true(valid[i][used - 1] == '}' || valid[i][used - 1] == ']');
        const char *end = valid[i] + len;
        assert_ptr_equal(token_skip_space(valid[i] + used, end), end);
        assert_int_equal(scan_lines(valid[i], len, &used), SCAN_DONE);
    }
}

static void the_first_wrong_byte_is_found(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t at;
    } bad[] = {
        {"x", 0},
        {"1", 0},
        {"\"a\"", 0},
        {"]", 0},
        {"[}", 1},
        {"{]", 1},
        {"[1}", 2},
        {"{\"a\":1]", 6},
        {"[1,]", 3},
        {"[,1]", 1},
        {"{,}", 1},
        {"{\"a\"}", 4},
        {"{\"a\":}", 5},
        {"{\"a\":1,}", 7},
        {"{1:2}", 1},
        {"{a:1}", 1},
        {"{\"a\":1 2}", 7},
        {"[1 2]", 3},
        {"[01]", 2},
        {"[-]", 2},
        {"[-a]", 2},
        {"[+1]", 1},
        {"[.5]", 1},
        {"[1.]", 3},
        {"[1.e5]", 3},
        {"[1e]", 3},
        {"[1e+]", 4},
        {"[1.5.5]", 4},
        {"[0x10]", 2},
        {"[1s]", 2},
        {"[1es5]", 3},
        {"[tru]", 4},
        {"[truE]", 4},
        {"[True]", 1},
        {"[nulll]", 5},
        {"[fals e]", 5},
        {"[\"\\x\"]", 3},
        {"[\"\\u12g4\"]", 6},
        {"[\"\\u12\"]", 6},
        {"[\"a\nb\"]", 3},
        {"[\"\t\"]", 2},
        {"[\"\x1f\"]", 2},
        {"['a']", 1},
        {"[NaN]", 1},
        {"[Infinity]", 1},
        {"[/**/]", 1},
        {"\xef\xbb\xbf[]", 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t used;
        if (scan_text(bad[i].text, strlen(bad[i].text), &used) != SCAN_BAD || used != bad[i].at) {
            fail_msg("%s: byte %zu", bad[i].text, used);
        }
        assert_int_equal(scan_lines(bad[i].text, strlen(bad[i].text), &used), SCAN_BAD);
        assert_int_equal(used, bad[i].at);
    }
    size_t used;
    assert_int_equal(scan_text("[\"\0\"]", 5, &used), SCAN_BAD);
    assert_int_equal(scan_text("[\"\\\0\"]", 6, &used), SCAN_BAD);
    assert_int_equal(scan_text("\0", 1, &used), SCAN_BAD);
}

static void every_prefix_wants_more(void **state) {
    (void)state;
    static const char text[] = " {\"a\\u0041\":[-1.5e+3,true,null,{\"b\":\"c\"}],\"d\":0}";
    for (size_t len = 0; len < sizeof text - 1; len++) {
        size_t used;
        assert_int_equal(scan_text(text, len, &used), SCAN_MORE);
        assert_int_equal(used, len);
    }
}

static void a_finished_scanner_takes_nothing(void **state) {
    (void)state;
    struct scan s = {0};
    size_t used;
    assert_int_equal(scan_feed(&s, "[][", 3, &used), SCAN_DONE);
    assert_int_equal(used, 2);
    assert_int_equal(scan_feed(&s, "[", 1, &used), SCAN_DONE);
    assert_int_equal(used, 0);
}

static void a_refusal_says_where(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
        enum err_code code;
    } refused[] = {
        {"", "the JSON text is cut short", ERR_TRUNCATED},
        {"{\"a\":[1", "the JSON text is cut short", ERR_TRUNCATED},
        {"{\"a\":x}", "not JSON at column 6", ERR_FORMAT},
        {"{\"a\":\n  x}", "not JSON at line 2, column 3 of the document", ERR_FORMAT},
        {"{} {}", "something follows the JSON text at column 4", ERR_FORMAT},
        {"tru", "not JSON at column 1", ERR_FORMAT},
        {"trux", "not JSON at column 4", ERR_FORMAT},
        {"1 2", "not JSON at column 3", ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct err e = {0};
        assert_int_equal(scan_check(refused[i].text, strlen(refused[i].text), 0, &e), ST_ERR);
        assert_string_equal(e.text, refused[i].why);
        assert_int_equal(e.code, refused[i].code);
    }
    static const char *const scalars[] = {"1", " \"a\" ", "null", "-1.5e3\n"};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        assert_int_equal(scan_check(scalars[i], strlen(scalars[i]), 0, NULL), ST_NONE);
    }
    assert_int_equal(scan_check(" [1] ", 5, 0, NULL), ST_OK);
}

static void limits_are_those_that_were_asked_for(void **state) {
    (void)state;
    static const char text[] = "[[1],[2]]";
    size_t used;
    struct scan s = {.depth_max = 1};
    assert_int_equal(scan_feed(&s, text, sizeof text - 1, &used), SCAN_DEEP);
    assert_int_equal(used, 1);
    s = (struct scan){.values_max = 4};
    assert_int_equal(scan_feed(&s, text, sizeof text - 1, &used), SCAN_MANY);
    assert_int_equal(used, 6);
    s = (struct scan){.values_max = 5, .depth_max = 2};
    assert_int_equal(scan_feed(&s, text, sizeof text - 1, &used), SCAN_DONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_documents_end_where_they_end),
        cmocka_unit_test(the_first_wrong_byte_is_found),
        cmocka_unit_test(every_prefix_wants_more),
        cmocka_unit_test(a_finished_scanner_takes_nothing),
        cmocka_unit_test(a_refusal_says_where),
        cmocka_unit_test(limits_are_those_that_were_asked_for),
    };
    return cmocka_run_group_tests_name("dump_scan", tests, NULL, NULL);
}
