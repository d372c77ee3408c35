/* Tests that paths lead to the same values in trees and in text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "dump/dump_support_test.h"
#include "dump/maps/member_path.h"

static const char document[] =
    "{'a':{'b':[{'t':'x','v':1},{'t':'y','v':2},{'t':'y','v':3}],'a.b':4},'n':null,'e':[],"
    "'deep':[[5,6],[7]],'o':{'p':8,'q':9}}";

static bool note_value(void *ctx, const json_t *value) {
    struct strbuf *out = ctx;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    strbuf_addf(out, "%s ", text);
    free(text);
    return true;
}

static bool note_span(void *ctx, struct span value) {
    struct strbuf *out = ctx;
    strbuf_add(out, value.p, (size_t)(value.end - value.p));
    strbuf_addc(out, ' ');
    return true;
}

/* Checks that both walks of a path see these values in the document. */
static void check_path(const char *path, const char *want) {
    struct arena arena = {0};
    struct member_path p;
    struct strbuf text = {0}, tree = {0}, spans = {0};
    add_json(&text, document);
    json_t *root = json_loads(strbuf_cstr(&text), 0, NULL);
    assert_int_equal(member_path_parse(&p, path, strlen(path), &arena, NULL), ST_OK);
    assert_true(member_path_each(&p, root, note_value, &tree));
    assert_string_equal(strbuf_cstr(&tree), want);
    const struct span all = {text.data, text.data + text.len};
    assert_true(member_path_each_span(&p, all, note_span, &spans));
    assert_string_equal(strbuf_cstr(&spans), want);
    const json_t *first = member_path_first(&p, root);
    assert_int_equal(first != NULL, *want != '\0');
    json_decref(root);
    strbuf_release(&text);
    strbuf_release(&tree);
    strbuf_release(&spans);
    arena_release(&arena);
}

static void a_path_leads_to_values(void **state) {
    (void)state;
    check_path("a.b.*.v", "1 2 3 ");
    check_path("a.b[1].v", "2 ");
    check_path("a.b[-1].v", "3 ");
    check_path("a.b[3].v", "");
    check_path("a.b[-4].v", "");
    check_path("a.b[t=y].v", "2 3 ");
    check_path("a.b[t=z].v", "");
    check_path("a.\"a.b\"", "4 ");
    check_path(".n", "null ");
    check_path("e.*", "");
    check_path("deep.*.*", "5 6 7 ");
    check_path("deep[0][1]", "6 ");
    check_path("o.*", "8 9 ");
    check_path("a.x.y", "");
    check_path("n.*", "");
    check_path("o[0]", "");
    check_path("deep.a", "");
}

static void a_dot_is_the_value_itself(void **state) {
    struct member_path p;
    struct arena arena = {0};
    (void)state;
    assert_int_equal(member_path_parse(&p, ".", 1, &arena, NULL), ST_OK);
    assert_int_equal(p.count, 0);
    json_t *root = json_integer(7);
    assert_ptr_equal(member_path_first(&p, root), root);
    assert_null(member_path_first(&p, NULL));
    json_decref(root);
    arena_release(&arena);
}

static void a_path_that_is_none_is_told(void **state) {
    static const char *const bad[][2] = {
        {"", "name is empty"},        {"..", "name is empty"},      {"a.", "name is empty"},
        {"a..b", "name is empty"},    {"a[", "not closed"},         {"a[]", "name is empty"},
        {"a[x]", "neither a number"}, {"a[t=", "not closed"},       {"a[t=]", "name is empty"},
        {"a[0]b", "no '.'"},          {"\"a", "quote is not"},      {"\"a\"b", "no '.'"},
        {"[0]", "name is empty"},     {"a[\"x\"y=1]", "neither a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct member_path p;
        struct arena arena = {0};
        struct err e = {0};
        assert_int_equal(member_path_parse(&p, bad[i][0], strlen(bad[i][0]), &arena, &e), ST_ERR);
        if (!strstr(e.text, bad[i][1])) {
            fail_msg("%s: '%s'", bad[i][0], e.text);
        }
        arena_release(&arena);
    }
}

static void a_path_has_so_many_steps(void **state) {
    static const char long_path[] = "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a";
    struct member_path p;
    struct arena arena = {0};
    struct err e = {0};
    (void)state;
    assert_int_equal(member_path_parse(&p, long_path, strlen(long_path), &arena, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(member_path_parse(&p, long_path, strlen(long_path) - 2, &arena, NULL), ST_OK);
    assert_int_equal(p.count, PATH_STEPS_MAX);
    arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_leads_to_values),
        cmocka_unit_test(a_dot_is_the_value_itself),
        cmocka_unit_test(a_path_that_is_none_is_told),
        cmocka_unit_test(a_path_has_so_many_steps),
    };
    return cmocka_run_group_tests_name("member_path", tests, NULL, NULL);
}
