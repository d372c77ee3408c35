/* Tests that the beginnings of paths are replaced, and only whole components of them. */
#include "dump/path_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

/* Returns the path that these rules (a list that NULL ends) make of a path, valid until the next
 * call; NULL: no rule fits. */
static const char *mapped(const char *const *rules, const char *path) {
    static struct strbuf out;
    struct path_map m = {0};
    struct err e = {0};
    strbuf_reset(&out);
    for (; *rules; rules++) {
        assert_int_equal(path_map_add(&m, *rules, &e), ST_OK);
    }
    enum st st = path_map_apply(&m, path, &out, &e);
    assert_int_not_equal(st, ST_ERR);
    path_map_release(&m);
    return st == ST_OK ? strbuf_cstr(&out) : NULL;
}

static void whole_components_are_replaced(void **state) {
    (void)state;
    const char *const rules[] = {"/home/me/app/=/src", "C:\\build=D", "/gone=", NULL};
    assert_string_equal(mapped(rules, "/home/me/app/a.c"), "/src/a.c");
    assert_string_equal(mapped(rules, "/home/me/app"), "/src");
    assert_string_equal(mapped(rules, "C:\\build\\x\\a.c"), "D/x\\a.c");
    assert_string_equal(mapped(rules, "/gone/a.c"), "a.c");
    assert_string_equal(mapped(rules, "/gone"), ".");
    assert_null(mapped(rules, "/home/me/apple/a.c"));
    assert_null(mapped(rules, "x/home/me/app/a.c"));
    assert_null(mapped(rules, ""));
}

static void the_first_rule_that_fits_counts(void **state) {
    (void)state;
    const char *const rules[] = {"/a/b=/first", "/a=/second=", "/=/root", NULL};
    assert_string_equal(mapped(rules, "/a/b/c"), "/first/c");
    assert_string_equal(mapped(rules, "/a/c"), "/second=/c");
    assert_string_equal(mapped(rules, "/x/c"), "/root/x/c");
    assert_null(mapped(rules, "relative"));
}

static void what_is_no_rule_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "=", "=x", "/a"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct path_map m = {0};
        struct err e = {0};
        assert_int_equal(path_map_add(&m, wrong[i], &e), ST_ERR);
        assert_int_equal(e.code, ERR_USAGE);
        path_map_release(&m);
    }
}

static void the_files_of_a_dump_are_mapped_once(void **state) {
    (void)state;
    static const char text[] =
        ("{\"format\":\"stall-dump/"
         "1\",\"images\":[{\"name\":\"A\",\"load\":4096,\"symbols\":\"ok\","
         "\"symbols_file\":\"/a/A.dSYM\",\"path\":\"/a/A\"}],"
         "\"strings\":[\"f\",\"/a/f.c\",\"/b/g.c\"],\"locations\":["
         "{\"image\":0,\"offset\":1,\"start\":0,\"lines\":[[0,-1,1,1,0],[0,-1,2,2,0]],"
         "\"source\":\"dwarf\"},"
         "{\"image\":0,\"offset\":2,\"start\":0,\"lines\":[[0,-1,1,1,0]],\"source\":\"dwarf\"}]}");
    struct dump d = {0};
    struct path_map m = {0};
    struct err e = {0};
    assert_int_equal(path_map_add(&m, "/a=/a/a", &e), ST_OK);
    if (dump_parse(&d, text, strlen(text), &e) != ST_OK) {
        fail_msg("%s", e.text);
    }
    assert_int_equal(dump_map_paths(&d, &m, &e), ST_OK);
    assert_int_equal(d.location_count, 2);
    assert_string_equal(d.locations[0].lines[0].file, "/a/a/f.c");
    assert_string_equal(d.locations[0].lines[1].file, "/b/g.c");
    assert_string_equal(d.locations[1].lines[0].file, "/a/a/f.c");
    assert_string_equal(d.images[0].symbols_file, "/a/a/A.dSYM");
    assert_string_equal(d.images[0].path, "/a/A");
    dump_release(&d);
    path_map_release(&m);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_components_are_replaced),
        cmocka_unit_test(the_first_rule_that_fits_counts),
        cmocka_unit_test(what_is_no_rule_is_refused),
        cmocka_unit_test(the_files_of_a_dump_are_mapped_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
