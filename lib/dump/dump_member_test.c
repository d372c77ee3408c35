/* Tests that a member put into a dump's text changes nothing else. */
#include "dump/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failmalloc.h"
#include "dump/dump_support_test.h"

/* Checks the output for an input, both written with ' for ". */
static void check(const char *input, const char *want) {
    struct strbuf text = {0}, expected = {0}, out = {0};
    struct dump d;
    struct sink sink = sink_to_strbuf(&out);
    add_json(&text, input);
    add_json(&expected, want);
    assert_int_equal(dump_parse(&d, text.data, text.len, NULL), ST_OK);
    assert_int_equal(dump_write_member(&d, "class", "{\"n\":1}", 7, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&out), strbuf_cstr(&expected));
    dump_release(&d);
    strbuf_release(&text);
    strbuf_release(&expected);
    strbuf_release(&out);
}

#define ADDED "'class':{'n':1}"

static void it_comes_last_and_the_rest_stays_byte_for_byte(void **state) {
    (void)state;
    check("{" FORMAT "}", "{" FORMAT "," ADDED "}\n");
    check(" { " FORMAT " , 'a' : [ 1.50 , '\\u0066 \xff' ] }  ",
          "{ " FORMAT " , 'a' : [ 1.50 , '\\u0066 \xff' ]," ADDED " }\n");
}

static void what_was_there_is_replaced(void **state) {
    (void)state;
    check("{'class':7," FORMAT "}", "{" FORMAT "," ADDED "}\n");
    check("{'class':7, " FORMAT ", 'cl\\u0061ss' : {'n':[1,2]} , 'b':2}",
          "{" FORMAT ",'b':2," ADDED "}\n");
    check("{" FORMAT ",'b':{'class':3},'class':{'level1':'x'}}",
          "{" FORMAT ",'b':{'class':3}," ADDED "}\n");
}

static void a_text_of_several_lines_becomes_one(void **state) {
    (void)state;
    check("{\r\n  " FORMAT ",\n  'a': 'x y'\n}\n", "{" FORMAT ",'a':'x y'," ADDED "}\n");
}

static void no_memory_is_an_error_before_anything_is_written(void **state) {
    (void)state;
    static const char text[] = "{\"format\":\"stall-dump/1\",\n\"a\":1}";
    struct dump d;
    assert_int_equal(dump_parse(&d, text, sizeof text - 1, NULL), ST_OK);
    struct sink sink = sink_to_nowhere();
    struct err e = {0};
    failmalloc_arm(1, true);
    enum st st = dump_write_member(&d, "class", "1", 1, &sink, &e);
    failmalloc_disarm();
    assert_int_equal(st, ST_ERR);
    assert_int_equal(e.code, ERR_NOMEM);
    assert_int_equal(sink.total, 0);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    dump_release(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_last_and_the_rest_stays_byte_for_byte),
        cmocka_unit_test(what_was_there_is_replaced),
        cmocka_unit_test(a_text_of_several_lines_becomes_one),
        cmocka_unit_test(no_memory_is_an_error_before_anything_is_written),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("dump_member", tests, NULL, NULL);
}
