#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "dump/document.h"
#include "dump/dump.h"

static json_t *load(const char *text, const struct document_options *options) {
    json_t *root;
    struct err e = {0};
    if (document_load(&root, text, strlen(text), options, &e) != ST_OK) {
        fail_msg("%s: %s", text, e.text);
    }
    return root;
}

static void assert_refused(const char *text, const struct document_options *options,
                           enum err_code code, const char *why) {
    json_t *root;
    struct err e = {0};
    assert_int_equal(document_load(&root, text, strlen(text), options, &e), ST_ERR);
    assert_null(root);
    assert_int_equal(e.code, code);
    assert_string_equal(e.text, why);
}

static void a_tree_holds_what_the_text_says(void **state) {
    (void)state;
    json_t *root =
        load("{\"a\":[1,-2,0.5,true,false,null,{},[]],\"\":\"x\\n\\u00e9\",\"a\":[3]}", NULL);
    json_t *want = json_pack("{s:[i],s:s}", "a", 3, "", "x\n\xc3\xa9");
    assert_true(json_equal(root, want));
    json_decref(want);
    json_decref(root);
    root = load("[[1.25,[[]]],{\"b\":{\"c\":9}}]", NULL);
    want = json_pack("[[f,[[]]],{s:{s:i}}]", 1.25, "b", "c", 9);
    assert_true(json_equal(root, want));
    json_decref(want);
    json_decref(root);
}

static void what_jansson_refuses_is_repaired(void **state) {
    (void)state;
    json_t *root = load("[\"a\\u0000b\",18446744073709551616,\"\\ud800\",\"\xff\",1e400]", NULL);
    static const char *const want[] = {("a\xef\xbf\xbd"
                                        "b"),
                                       "18446744073709551616", "\xef\xbf\xbd", "\xef\xbf\xbd",
                                       "1e400"};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_string_equal(json_string_value(json_array_get(root, i)), want[i]);
    }
    json_decref(root);
}

static void long_numbers_are_numbers_on_demand(void **state) {
    (void)state;
    static const struct document_options numbers = {.long_numbers = true};
    static const char text[] = "[0.1234567890123456789,25e-1,1e400,12345678901234567890,"
                               "1700000000000000000]";
    json_t *root = load(text, &numbers);
    assert_true(json_real_value(json_array_get(root, 0)) == 0.1234567890123456789);
    assert_true(json_real_value(json_array_get(root, 1)) == 2.5);
    assert_string_equal(json_string_value(json_array_get(root, 2)), "1e400");
    assert_string_equal(json_string_value(json_array_get(root, 3)), "12345678901234567890");
    assert_int_equal(json_integer_value(json_array_get(root, 4)), INT64_C(1700000000000000000));
    json_decref(root);
    root = load(text, NULL);
    assert_true(json_is_string(json_array_get(root, 0)));
    json_decref(root);
}

static void a_refusal_has_its_place(void **state) {
    (void)state;
    static const struct document_options unique = {.unique = true};
    static const struct document_options small = {.text_max = 8, .values_max = 3, .depth_max = 2};
    json_t *root;
    assert_refused("{\"a\":1", NULL, ERR_TRUNCATED, "the JSON text is cut short");
    assert_refused("{\"a\":\n[1 2]}", NULL, ERR_FORMAT,
                   "not JSON at line 2, column 4 of the document");
    assert_refused("{\"a\":1,\"b\":{\"a\":2},\"a\":3}", &unique, ERR_FORMAT,
                   "a name for the second time at column 21");
    assert_refused("[1,2,3]", &small, ERR_LIMIT, "too many values at column 6");
    assert_refused("[[[]]]", &small, ERR_LIMIT, "nested too deep at column 3");
    assert_refused("[1,2    ]", &small, ERR_LIMIT, "a document of more than 8 bytes");
    assert_int_equal(document_load(&root, "\"a\"", 3, NULL, NULL), ST_NONE);
    assert_null(root);
}

static void load_it(void *ctx, bool refused) {
    json_t *root;
    struct err e = {0};
    enum st st = document_load(&root, ctx, strlen(ctx), NULL, &e);
    assert_true(st == ST_OK || (refused && st == ST_ERR && e.code == ERR_NOMEM));
    assert_true((root != NULL) == (st == ST_OK));
    json_decref(root);
}

static void without_memory_it_says_so(void **state) {
    (void)state;
    static char text[] = "{\"a\":[1,2.5,\"b\\n\",true],\"b\\u0041\":{\"c\":[]}}";
    if (!failmalloc_works()) {
        print_message("no allocation can fail here: this linker knows no --wrap\n");
        skip();
    }
    assert_true(failmalloc_sweep(load_it, text) >= 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_holds_what_the_text_says),
        cmocka_unit_test(what_jansson_refuses_is_repaired),
        cmocka_unit_test(long_numbers_are_numbers_on_demand),
        cmocka_unit_test(a_refusal_has_its_place),
        cmocka_unit_test(without_memory_it_says_so),
    };
    json_set_alloc_funcs(malloc, free);
    dump_library_init();
    return cmocka_run_group_tests_name("document", tests, NULL, NULL);
}
