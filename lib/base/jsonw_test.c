#include "base/jsonw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/strbuf.h"

static void members_are_a_name_and_a_value(void **state) {
    (void)state;
    struct strbuf b = {0};
    struct sink s = sink_to_strbuf(&b);
    struct jsonw w = jsonw_init(&s);
    jsonw_begin_object(&w);
    jsonw_member_u64(&w, "a", UINT64_MAX);
    jsonw_member_i64(&w, "b", -1);
    jsonw_member_bool(&w, "c", true);
    jsonw_member_cstr(&w, "d", NULL);
    jsonw_member_cstr(&w, "e", "x");
    jsonw_member_array(&w, "f");
    jsonw_end_array(&w);
    jsonw_member_object(&w, "g");
    jsonw_end_object(&w);
    jsonw_end_object(&w);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&b), "{\"a\":18446744073709551615,\"b\":-1,\"c\":true,"
                                         "\"e\":\"x\",\"f\":[],\"g\":{}}");
    strbuf_release(&b);
}

static void commas_and_nesting_are_kept(void **state) {
    (void)state;
    struct strbuf b = {0};
    struct sink s = sink_to_strbuf(&b);
    struct jsonw w = jsonw_init(&s);
    jsonw_begin_object(&w);
    jsonw_key(&w, "a");
    jsonw_begin_array(&w);
    jsonw_u64(&w, 1);
    jsonw_begin_object(&w);
    jsonw_end_object(&w);
    jsonw_begin_array(&w);
    jsonw_end_array(&w);
    jsonw_raw(&w, "null", 4);
    jsonw_bool(&w, true);
    jsonw_bool(&w, false);
    jsonw_end_array(&w);
    jsonw_key(&w, "b");
    jsonw_cstr(&w, "x");
    jsonw_key(&w, "c");
    jsonw_raw(&w, "{\"d\":0}", 7);
    jsonw_key(&w, "e");
    jsonw_i64(&w, -5);
    jsonw_key(&w, "");
    jsonw_i64(&w, 5);
    jsonw_end_object(&w);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_string_equal(
        strbuf_cstr(&b),
        "{\"a\":[1,{},[],null,true,false],\"b\":\"x\",\"c\":{\"d\":0},\"e\":-5,\"\":5}");
    assert_int_equal(w.depth, 0);
    strbuf_release(&b);
}

static void numbers_reach_their_limits(void **state) {
    (void)state;
    struct strbuf b = {0};
    struct sink s = sink_to_strbuf(&b);
    struct jsonw w = jsonw_init(&s);
    jsonw_begin_array(&w);
    jsonw_i64(&w, INT64_MIN);
    jsonw_i64(&w, -1);
    jsonw_i64(&w, INT64_MAX);
    jsonw_u64(&w, UINT64_MAX);
    jsonw_u64(&w, 0);
    jsonw_end_array(&w);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&b), "[-9223372036854775808,-1,9223372036854775807,"
                                         "18446744073709551615,0]");
    strbuf_release(&b);
}

static void deepest_nesting_works(void **state) {
    (void)state;
    struct strbuf b = {0};
    struct sink s = sink_to_strbuf(&b);
    struct jsonw w = jsonw_init(&s);
    for (int i = 0; i < JSONW_DEPTH - 1; i++) {
        jsonw_begin_array(&w);
    }
    for (int i = 0; i < JSONW_DEPTH - 1; i++) {
        jsonw_end_array(&w);
    }
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_int_equal(b.len, 2 * (JSONW_DEPTH - 1));
    strbuf_release(&b);
}

static void check_escape(const char *text, size_t len, const char *want) {
    struct strbuf b = {0};
    struct sink s = sink_to_strbuf(&b);
    jsonw_escape(&s, text, len);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&b), want);
    strbuf_release(&b);
}

static void strings_are_escaped(void **state) {
    (void)state;
    check_escape("", 0, "\"\"");
    check_escape("plain /~\x7f", 9, "\"plain /~\\u007f\"");
    check_escape("\"\\\b\f\n\r\t", 7, "\"\\\"\\\\\\b\\f\\n\\r\\t\"");
    check_escape("\0\x01\x1f x", 5, "\"\\u0000\\u0001\\u001f x\"");
    check_escape("\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\"");
}

/* Tests each byte at each place, because the writer looks at eight bytes at a time. */
static void every_byte_is_escaped_wherever_it_stands(void **state) {
    (void)state;
    for (unsigned c = 0; c < 0x80; c++) {
        struct strbuf alone = {0};
        struct sink s = sink_to_strbuf(&alone);
        jsonw_escape(&s, &(char){(char)c}, 1);
        assert_int_equal(sink_close(&s, NULL), ST_OK);
        for (size_t at = 0; at < 17; at++) {
            char text[17];
            struct strbuf want = {0};
            memset(text, 'a', sizeof text);
            text[at] = (char)c;
            strbuf_addf(&want, "\"%.*s", (int)at, "aaaaaaaaaaaaaaaa");
            strbuf_add(&want, alone.data + 1, alone.len - 2);
            strbuf_addf(&want, "%.*s\"", (int)(16 - at), "aaaaaaaaaaaaaaaa");
            check_escape(text, sizeof text, want.data);
            strbuf_release(&want);
        }
        strbuf_release(&alone);
    }
}

static void invalid_utf8_becomes_replacement_characters(void **state) {
    (void)state;
    check_escape("a\xff"
                 "b",
                 3,
                 "\"a\xef\xbf\xbd"
                 "b\"");
    check_escape("\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    check_escape("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    check_escape("\xc3\"", 2, "\"\xef\xbf\xbd\\\"\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_a_name_and_a_value),
        cmocka_unit_test(commas_and_nesting_are_kept),
        cmocka_unit_test(numbers_reach_their_limits),
        cmocka_unit_test(deepest_nesting_works),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(every_byte_is_escaped_wherever_it_stands),
        cmocka_unit_test(invalid_utf8_becomes_replacement_characters),
    };
    return cmocka_run_group_tests_name("jsonw", tests, NULL, NULL);
}
