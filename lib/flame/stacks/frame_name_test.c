#include "flame/stacks/frame_name.h"

#include "flame/flame_support_test.h"

static void assert_parts(const char *text, const char *module, const char *name, char mark,
                         bool unresolved) {
    struct frame_name f = frame_name_split(text, strlen(text));
    assert_int_equal(f.module_len, module ? strlen(module) : 0);
    assert_int_equal(f.module != NULL, module != NULL);
    if (module) {
        assert_memory_equal(f.module, module, f.module_len);
    }
    assert_int_equal(f.name_len, strlen(name));
    assert_memory_equal(f.name, name, f.name_len);
    assert_int_equal(f.mark, mark);
    assert_int_equal(f.unresolved, unresolved);
}

static void modules_and_marks_are_recognised(void **state) {
    (void)state;
    assert_parts("main", NULL, "main", 0, false);
    assert_parts("libc.so.6`read", "libc.so.6", "read", 0, false);
    assert_parts("Shop`-[DB write:]_[i]", "Shop", "-[DB write:]", 'i', false);
    assert_parts("sys_read_[k]", NULL, "sys_read", 'k', false);
    assert_parts("run_[j]", NULL, "run", 'j', false);
    assert_parts("a_[x]", NULL, "a_[x]", 0, false);
    assert_parts("_[k]", NULL, "_[k]", 0, false); /* a mark never takes the whole name */
    assert_parts("`anonymous namespace'::f", NULL, "`anonymous namespace'::f", 0, false);
    assert_parts("f(int)::`lambda'", NULL, "f(int)::`lambda'", 0, false);
    assert_parts("a`b`c", "a", "b`c", 0, false);
}

static void unresolved_names_are_recognised(void **state) {
    (void)state;
    assert_parts("Shop+0x1f40", NULL, "Shop+0x1f40", 0, true);
    assert_parts("0x7fff12345678", NULL, "0x7fff12345678", 0, true);
    assert_parts("[unknown]", NULL, "[unknown]", 0, true);
    assert_parts("libc.so`[unknown]", "libc.so", "[unknown]", 0, true);
    assert_parts("", NULL, "", 0, true);
    assert_parts("operator+", NULL, "operator+", 0, false);
    assert_parts("f+0x", NULL, "f+0x", 0, false);
    assert_parts("+[NSThread main]", NULL, "+[NSThread main]", 0, false);
    assert_parts("x+0xyz", NULL, "x+0xyz", 0, false);
}

static void joined_names_split_again(void **state) {
    (void)state;
    struct strbuf b = {0};
    frame_name_join(&b, "lib c`.so", "f`g", true);
    assert_string_equal(strbuf_cstr(&b), "lib_c_.so`f`g_[i]");
    assert_parts(b.data, "lib_c_.so", "f`g", 'i', false);
    strbuf_clear(&b);
    frame_name_join(&b, "", "main", false);
    assert_string_equal(strbuf_cstr(&b), "main");
    strbuf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_and_marks_are_recognised),
        cmocka_unit_test(unresolved_names_are_recognised),
        cmocka_unit_test(joined_names_split_again),
    };
    return cmocka_run_group_tests_name("frame_name", tests, NULL, NULL);
}
