/* Tests of names inside text: they are found at the borders of words, wherever a stream is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "demangle/demangle_text.h"

struct text_row {
    const char *text, *expected;
};

static const struct text_row rows[] = {
    {"", ""},
    {"no name", "no name"},
    {"_ZN4Cart5totalEv", "Cart::total()"},
    {"(_ZN4Cart5totalEv)+0x10", "(Cart::total())+0x10"},
    {"at $s4Shop4CartV5totalSiyF.", "at Cart.total()."},
    {"_$s4Shop4CartV5totalSiyF...", "Cart.total()..."},
    {"_ZN4Cart5totalEv.cold", "Cart::total() [clone .cold]"},
    {"_ZN4Cart5totalEv@plt", "Cart::total()@plt"},
    {"@__swiftmacro_4Shop1XfMf_", "freestanding macro expansion #1 of X in "},
    {"a@b.c @ @@", "a@b.c @ @@"},
    {"-[_TtC4Shop4Cart add:]", "-[Cart add:]"},
    {"_OBJC_METACLASS_$__TtC4Shop4Cart", "_OBJC_METACLASS_$_Cart"},
    {"OBJC_IVAR_$_Cart._total", "OBJC_IVAR_$_Cart._total"},
    {"x_ZN4Cart5totalEv \xc3\xa9_ZN4Cart5totalEv", "x_ZN4Cart5totalEv \xc3\xa9_ZN4Cart5totalEv"},
};

static void names_are_found_and_all_else_stays(void **state) {
    (void)state;
    struct strbuf out = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        strbuf_clear(&out);
        assert_int_equal(
            demangle_text(rows[i].text, strlen(rows[i].text), DEMANGLE_SIMPLIFIED, &out, NULL),
            ST_OK);
        assert_string_equal(strbuf_cstr(&out), rows[i].expected);
    }
    strbuf_release(&out);
}

static void a_text_that_is_cut_reads_the_same(void **state) {
    (void)state;
    struct strbuf out = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = rows[i].text;
        for (size_t cut = 0; cut <= strlen(text); cut++) {
            size_t whole = demangle_text_whole(text, cut);
            assert_true(whole <= cut);
            strbuf_clear(&out);
            assert_int_equal(demangle_text(text, whole, DEMANGLE_SIMPLIFIED, &out, NULL), ST_OK);
            assert_int_equal(
                demangle_text(text + whole, strlen(text + whole), DEMANGLE_SIMPLIFIED, &out, NULL),
                ST_OK);
            assert_string_equal(strbuf_cstr(&out), rows[i].expected);
        }
    }
    strbuf_release(&out);
}

static void short_words_of_other_languages_stay(void **state) {
    (void)state;
    static const char text[] = "my ($sx, $sy) = @$ex; $sys->{_TSi}; $sSiN\n";
    struct strbuf out = {0};
    assert_int_equal(demangle_text(text, sizeof text - 1, DEMANGLE_SIMPLIFIED, &out, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&out),
                        "my ($sx, $sy) = @$ex; $sys->{_TSi}; type metadata for Int\n");
    strbuf_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_words_of_other_languages_stay),
        cmocka_unit_test(names_are_found_and_all_else_stays),
        cmocka_unit_test(a_text_that_is_cut_reads_the_same),
    };
    return cmocka_run_group_tests_name("demangle_text", tests, NULL, NULL);
}
