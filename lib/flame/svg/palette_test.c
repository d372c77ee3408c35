#include "flame/svg/palette.h"

#include "flame/flame_support_test.h"

static const char *colour_in(const char *palette, const char *text) {
    static char c[PALETTE_COLOUR_SIZE];
    struct frame_name f = frame_name_split(text, strlen(text));
    struct palette p;
    assert_true(palette_parse(palette, &p));
    palette_colour(&p, &f, c);
    return c;
}

static const char *colour(const char *text) {
    return colour_in("module", text);
}

/* Checks the colours of some names: they must not change between releases, because readers compare
 * this week's picture with last week's. */
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

static void palettes_are_known_by_their_words(void **state) {
    (void)state;
    struct palette p;
    assert_false(palette_parse("diff", &p));
    assert_false(palette_parse("", &p));
    assert_int_equal(colour_in("hot", "Shop`a")[0], 'w');
    assert_int_equal(colour_in("blue", "Shop`a")[0], 'j');
    assert_string_equal(colour_in("blue", "Shop`a"), colour_in("io", "Cart`a"));
    assert_string_equal(colour_in("hash", "Shop`a"), colour_in("hash", "Cart`a"));
    assert_string_equal(colour_in("java", "Shop`a"), colour("Shop`a"));
    assert_string_equal(colour_in("blue", "Shop+0x12"), "x0");
    assert_int_not_equal(colour_in("hash", "Shop`a")[0], colour_in("hash", "Shop`b")[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_stay_what_they_are),
        cmocka_unit_test(a_module_has_one_hue),
        cmocka_unit_test(all_hues_and_shades_are_in_use),
        cmocka_unit_test(palettes_are_known_by_their_words),
    };
    return cmocka_run_group_tests_name("palette", tests, NULL, NULL);
}
