#include "flame/frame_name.h"

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
    assert_parts("_[k]", NULL, "_[k]", 0, false); /* a name is left over, always */
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

static const char *colour(const char *text) {
    static char c[FRAME_COLOUR_SIZE];
    struct frame_name f = frame_name_split(text, strlen(text));
    frame_name_colour(&f, c);
    return c;
}

/* Colours must not change between releases: a reader compares this week's picture with last week's.
 */
static void colours_stay_what_they_are(void **state) {
    (void)state;
    const struct {
        const char *name, *colour;
    } golden[] = {
        {"main", "w4"},
        {"Shop`-[DB write:]", "k1"},
        {"libc.so.6`read", "h1"},
        {"UIKitCore`UIApplicationMain", "b1"},
        {"std::sort", "j0"},
        {"alloc::vec::Vec<u8>::push", "l0"},
        {"-[DB write:]", "e1"},
        {"io/netty/a/B:.c", "j1"},
        {"Shop+0x12", "x0"},
        {"poll", "w0"},
        {"CoreFoundation`__CFRunLoopRun", "h0"},
        {"libsystem_kernel.dylib`mach_msg2_trap", "e2"},
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        assert_string_equal(colour(golden[i].name), golden[i].colour);
    }
}

static void a_module_has_one_hue(void **state) {
    (void)state;
    char hue = colour("Shop`a")[0];
    assert_int_equal(colour("Shop`std::sort")[0], hue);
    assert_int_equal(colour("Shop`b_[i]")[0], hue);
    assert_int_equal(colour("std::sort")[0], colour("std::vector<int>::push_back")[0]);
    assert_int_equal(colour("<alloc::vec::Vec<T> as X>::f")[0], colour("alloc::alloc")[0]);
    assert_int_equal(colour("-[DB write:]")[0], colour("+[DB open]")[0]);
    assert_int_equal(colour("io/netty/a/B:.c")[0], colour("io/netty/z/Y:.x")[0]);
    assert_int_equal(colour("read")[0], 'w');
    assert_int_equal(colour("Shop+0x12")[0], 'x');
}

static void all_hues_and_shades_are_in_use(void **state) {
    (void)state;
    int hues[128] = {0}, shades[128] = {0};
    for (int i = 0; i < 500; i++) {
        char name[40];
        snprintf(name, sizeof name, "lib%d.so`f%d", i, i * 7);
        const char *c = colour(name);
        hues[(int)c[0]]++;
        shades[(int)c[1]]++;
    }
    for (char h = 'a'; h <= 'l'; h++) {
        assert_in_range(hues[(int)h], 15, 90);
    }
    for (char s = '0'; s <= '3'; s++) {
        assert_in_range(shades[(int)s], 80, 170);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_and_marks_are_recognised),
        cmocka_unit_test(unresolved_names_are_recognised),
        cmocka_unit_test(joined_names_split_again),
        cmocka_unit_test(colours_stay_what_they_are),
        cmocka_unit_test(a_module_has_one_hue),
        cmocka_unit_test(all_hues_and_shades_are_in_use),
    };
    return cmocka_run_group_tests_name("frame_name", tests, NULL, NULL);
}
