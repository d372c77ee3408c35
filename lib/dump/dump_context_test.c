/* Tests of the context, values that the app chose to add. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "dump/dump_support_test.h"

static void text_numbers_and_truth_values_are_text(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d =
        parse_json(&text, "{" FORMAT ",'context':{'screen':'A \\u00e4 \\u0022','items':-12,"
                          "'big':18446744073709551615,'paid':true,'new':false,"
                          "'none':null,'tree':{'a':1},'list':[1],'real':1.5,'':'e'}}");
    assert_string_equal(dump_context(&d, "screen"), "A \xc3\xa4 \"");
    assert_string_equal(dump_context(&d, "items"), "-12");
    assert_string_equal(dump_context(&d, "big"), "18446744073709551615");
    assert_string_equal(dump_context(&d, "paid"), "true");
    assert_string_equal(dump_context(&d, "new"), "false");
    assert_string_equal(dump_context(&d, ""), "e");
    static const char *const absent[] = {"none", "tree", "list", "real", "a", "Screen", "scree"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        assert_null(dump_context(&d, absent[i]));
    }
    dump_release(&d);
    strbuf_release(&text);
}

static void of_two_with_one_name_the_last_counts(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(&text, "{" FORMAT ",'context':{'a':'1','b':'2','a':'3'}}");
    assert_string_equal(dump_context(&d, "a"), "3");
    assert_string_equal(dump_context(&d, "b"), "2");
    dump_release(&d);
    strbuf_release(&text);
}

static void another_type_is_no_context(void **state) {
    (void)state;
    static const char *const texts[] = {"{" FORMAT "}", "{" FORMAT ",'context':{}}",
                                        "{" FORMAT ",'context':'a'}", "{" FORMAT ",'context':[1]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct strbuf text = {0};
        struct dump d = parse_json(&text, texts[i]);
        assert_int_equal(d.context_count, 0);
        assert_null(dump_context(&d, "a"));
        dump_release(&d);
        strbuf_release(&text);
    }
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_numbers_and_truth_values_are_text),
        cmocka_unit_test(of_two_with_one_name_the_last_counts),
        cmocka_unit_test(another_type_is_no_context),
    };
    return cmocka_run_group_tests_name("dump_context", tests, NULL, NULL);
}
