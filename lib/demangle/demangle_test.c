/* Tests of mangled names of all schemes that are read, and of names that must be left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/filemap.h"
#include "demangle/demangle.h"

static void check(const char *mangled, const char *expected) {
    struct strbuf out = {0};
    struct err e = {0};
    enum st st = demangle(mangled, strlen(mangled), DEMANGLE_SIMPLIFIED, &out, &e);
    if (expected) {
        assert_int_equal(st, ST_OK);
        assert_string_equal(strbuf_cstr(&out), expected);
    } else {
        assert_int_equal(st, ST_NONE);
        assert_int_equal(out.len, 0);
    }
    strbuf_release(&out);
}

static void itanium_names_become_readable(void **state) {
    (void)state;
    check("_ZN4Cart5totalEv", "Cart::total()");
    check("__ZN4Cart5totalEv", "Cart::total()"); /* Mach-O puts an underscore in front */
    check("_ZNSt6vectorIiSaIiEE9push_backERKi",
          "std::vector<int, std::allocator<int> >::push_back(int const&)");
    check("_ZlsRK1XS1_", "operator<<(X const&, X const&)");
    check("_ZN12_GLOBAL__N_16helperEi", "(anonymous namespace)::helper(int)");
    check("_ZZN4Cart5totalEvENKUlvE_clEv", "Cart::total()::{lambda()#1}::operator()() const");
    check("_ZN4Cart5totalEv.cold", "Cart::total() [clone .cold]");
}

/* Demangles names with constraints as clang 18 and later mangle them; the constraints are left out.
 */
static void names_with_constraints_lose_these(void **state) {
    (void)state;
    check("_ZN3app2coITkNS_3NumEiEENS_4taskET_", "app::task app::co<int>(int)");
    check("_ZN3app3mulIiEET_S1_S1_QaagestS1_Li4E3NumIS1_E", "int app::mul<int>(int, int)");
    check("_ZN3app3BoxIiE3setIlQsr3stdE14convertible_toITL0__T_EEEvS4_",
          "app::Box<int>::set<long>");
    check("_ZN3app3valITnDaLi3EEEDav", "auto app::val<3>()");
    check("_ZN3app5OuterIiE5InnerIlE1fITkNS_3NumEiEEvT_Qsr3stdE8integralIS5_E",
          "void app::Outer<int>::Inner<long>::f<int>(int)");
    check("_ZN3app1Q", NULL);
    check("_ZQ", NULL);
}

static void rust_names_of_both_schemes_lose_their_hash(void **state) {
    (void)state;
    check("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
    check("_RNvC6_123foo3bar", "123foo::bar");
    check("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
          "<std::path::PathBuf>::new");
}

static void swift_names_are_simplified_or_full(void **state) {
    (void)state;
    struct strbuf out = {0};
    check("$s4Shop4CartV5totalSiyF", "Cart.total()");
    check("_$s4Shop4CartV5totalSiyF", "Cart.total()"); /* Mach-O puts an underscore in front */
    assert_int_equal(demangle("$s4Shop4CartV5totalSiyF", 23, DEMANGLE_FULL, &out, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&out), "Shop.Cart.total() -> Swift.Int");
    strbuf_release(&out);
}

/* A Punycode identifier and the text that it stands for. */
#define DINNER "u30____7hkackfecea1cbdathfdh9hlq6y"
static const char dinner[] =
    "\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83\x9a\xe1"
    "\x83\x90\xe1\x83\x93_\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83"
    "\x94\xe1\x83\x9a\xe1\x83\x98_\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a"
    "\xe1\x83\x98";

static void a_punycode_identifier_is_decoded(void **state) {
    (void)state;
    struct strbuf text = {0};
    strbuf_addf(&text, "utf8_idents::%s", dinner);
    check("_RNqCs4fqI2P2rA04_11utf8_idents" DINNER, strbuf_cstr(&text));
    strbuf_release(&text);
}

static void the_code_of_a_block_names_its_function(void **state) {
    (void)state;
    check("___ZN4Cart5totalEv_block_invoke", "invocation function for block in Cart::total()");
    check("___ZN4Cart5totalEv_block_invoke_2", "invocation function for block in Cart::total()");
}

static void other_names_are_left_alone(void **state) {
    (void)state;
    check("main", NULL);
    check("-[DB write:]", NULL);
    check("_Z", NULL);
    check("_Znotaname", NULL);
    check("_R", NULL);
    check("", NULL);
    check("$s4Shop4CartV5totalF", NULL); /* the name is cut off */
    assert_int_equal(demangle_scheme_of("$s4Shop4CartV5totalSiyF", 23), DEMANGLE_SWIFT);
    assert_int_equal(demangle_scheme_of("_ZN4Cart5totalEv", 16), DEMANGLE_ITANIUM);
    assert_int_equal(demangle_scheme_of("main", 4), DEMANGLE_NONE);
}

static void a_failed_name_leaves_the_buffer_as_it_was(void **state) {
    (void)state;
    struct strbuf out = {0};
    strbuf_addstr(&out, "before");
    assert_int_equal(demangle("_ZN4Cart5tot", 12, DEMANGLE_SIMPLIFIED, &out, NULL), ST_NONE);
    assert_string_equal(strbuf_cstr(&out), "before");
    strbuf_release(&out);
}

/* Builds a name in which each level doubles the one before through a substitution; without a limit
 * its text would have 2^60 bytes. */
static void a_name_that_explodes_is_given_up_at_once(void **state) {
    (void)state;
    struct strbuf name = {0}, out = {0};
    strbuf_addstr(&name, "_Z1f");
    strbuf_addstr(&name, "1AIiiE");
    for (int i = 0; i < 60; i++) {
        strbuf_addf(&name, "1BIS%c_S%c_E", i < 10 ? '0' + i : 'A' + (i % 26),
                    i < 10 ? '0' + i : 'A' + (i % 26));
    }
    clock_t start = clock();
    enum st st = demangle(strbuf_cstr(&name), name.len, DEMANGLE_SIMPLIFIED, &out, NULL);
    assert_true(clock() - start < CLOCKS_PER_SEC);
    assert_true(st == ST_NONE || out.len <= 512 * 1024);
    strbuf_release(&name);
    strbuf_release(&out);
}

/* Appends the mangled name ns::ns::…::f() with `parts` namespaces. */
static void add_nested_name(struct strbuf *name, size_t parts) {
    strbuf_addstr(name, "_ZN");
    for (size_t i = 0; i < parts; i++) {
        strbuf_addstr(name, "100");
        for (size_t k = 0; k < 100; k++) {
            strbuf_addc(name, (char)('a' + k % 26));
        }
    }
    strbuf_addstr(name, "1fEv");
}

/* Appends a type a::NAME whose name is Punycode. */
static void add_punycode_type(struct strbuf *b) {
    strbuf_addstr(b, "NtC1a" DINNER);
}

static void rust_names_of_64_kib_are_read(void **state) {
    (void)state;
    struct strbuf name = {0}, text = {0};
    strbuf_addstr(&name, "_RINvC1a1f");
    strbuf_addstr(&text, "a::f::<");
    while (name.len < 64 * 1024 - 50) {
        add_punycode_type(&name);
        strbuf_addf(&text, "%sa::%s", text.len > 7 ? ", " : "", dinner);
    }
    strbuf_addc(&name, 'E');
    strbuf_addc(&text, '>');
    check(strbuf_cstr(&name), strbuf_cstr(&text));
    strbuf_release(&name);
    strbuf_release(&text);
}

/* Appends a back reference to the offset after "_R". */
static void add_backref(struct strbuf *b, size_t offset) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    assert_true(offset >= 1 && offset <= 62 * 62);
    strbuf_addc(b, 'B');
    if (offset > 62) {
        strbuf_addc(b, digits[(offset - 1) / 62]);
    }
    strbuf_addc(b, digits[(offset - 1) % 62]);
    strbuf_addc(b, '_');
}

/* Builds a name whose text doubles at each level; when it is given up, what was decoded is freed.
 */
static void a_punycode_name_that_explodes_is_given_up(void **state) {
    (void)state;
    struct strbuf name = {0}, text = {0};
    strbuf_addstr(&name, "_RINvC1a1f");
    size_t last = name.len - 2;
    add_punycode_type(&name);
    for (int i = 0; i < 30; i++) {
        size_t at = name.len - 2;
        strbuf_addc(&name, 'T');
        add_backref(&name, last);
        add_backref(&name, last);
        strbuf_addc(&name, 'E');
        last = at;
        if (i == 1) {
            strbuf_addc(&name, 'E');
            strbuf_addf(&text, "a::f::<a::%s, (a::%s, a::%s), ((a::%s, a::%s), (a::%s, a::%s))>",
                        dinner, dinner, dinner, dinner, dinner, dinner, dinner);
            check(strbuf_cstr(&name), strbuf_cstr(&text));
            strbuf_truncate(&name, name.len - 1);
        }
    }
    strbuf_addc(&name, 'E');
    check(strbuf_cstr(&name), NULL);
    strbuf_release(&name);
    strbuf_release(&text);
}

static void names_of_64_kib_are_read(void **state) {
    (void)state;
    struct strbuf name = {0}, out = {0};
    add_nested_name(&name, 630);
    assert_true(name.len > 63 * 1000 && name.len < 64 * 1024);
    assert_int_equal(demangle(strbuf_cstr(&name), name.len, DEMANGLE_SIMPLIFIED, &out, NULL),
                     ST_OK);
    assert_int_equal(out.len, 630 * 102 + 3);
    assert_memory_equal(out.data + out.len - 9, "stuv::f()", 9);
    strbuf_clear(&name);
    strbuf_clear(&out);
    add_nested_name(&name, 640);
    assert_int_equal(demangle(strbuf_cstr(&name), name.len, DEMANGLE_SIMPLIFIED, &out, NULL),
                     ST_NONE);
    strbuf_release(&name);
    strbuf_release(&out);
}

/* Builds names of which each byte makes libiberty's reader and printer recurse once more. */
static void deep_names_do_not_run_out_of_stack(void **state) {
    (void)state;
    static const char *const patterns[] = {"P", "F", "A1_", "M",  "Dp",  "1AI", "N1A",        "Z1f",
                                           "J", "X", "LZ",  "cv", "T_I", "U1a", "XntngntntdI"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct strbuf name = {0}, out = {0};
        strbuf_addstr(&name, "_Z1f");
        while (name.len < 64 * 1024 - 20) {
            strbuf_addstr(&name, patterns[i]);
        }
        strbuf_addc(&name, 'i');
        clock_t start = clock();
        enum st st = demangle(strbuf_cstr(&name), name.len, DEMANGLE_SIMPLIFIED, &out, NULL);
        assert_true(st == ST_OK || (st == ST_NONE && out.len == 0));
        assert_true(clock() - start < 2 * CLOCKS_PER_SEC);
        strbuf_release(&name);
        strbuf_release(&out);
    }
}

/* Compares with third-party pairs "mangled TAB readable"; only a share must agree, because
 * libiberty prints some old forms in its own way. */
static void third_party_pairs_agree(void **state) {
    (void)state;
    const char *real = getenv("REAL");
    struct filemap m = {0};
    struct strbuf path = {0};
    strbuf_addf(&path, "%s/demangle/itanium.tsv", real ? real : "");
    if (!real || !*real || filemap_open(&m, strbuf_cstr(&path), 0, NULL) != ST_OK) {
        strbuf_release(&path);
        skip();
    }
    strbuf_release(&path);
    size_t total = 0, equal = 0;
    const char *p = (const char *)m.data, *end = p + m.size;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        const char *stop = nl ? nl : end;
        const char *tab = memchr(p, '\t', (size_t)(stop - p));
        if (tab) {
            struct strbuf out = {0};
            total++;
            enum st st = demangle(p, (size_t)(tab - p), DEMANGLE_SIMPLIFIED, &out, NULL);
            equal += st == ST_OK && out.len == (size_t)(stop - tab - 1) &&
                     memcmp(out.data, tab + 1, out.len) == 0;
            strbuf_release(&out);
        }
        p = stop + 1;
    }
    filemap_release(&m);
    print_message("# %zu of %zu Itanium pairs agree\n", equal, total);
    assert_true(total > 50);
    /* The rest are type encodings (without _Z in front), and other spellings of literals and of
     * nested casts. */
    assert_true(equal * 100 >= total * 85);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(itanium_names_become_readable),
        cmocka_unit_test(names_with_constraints_lose_these),
        cmocka_unit_test(rust_names_of_both_schemes_lose_their_hash),
        cmocka_unit_test(swift_names_are_simplified_or_full),
        cmocka_unit_test(a_punycode_identifier_is_decoded),
        cmocka_unit_test(the_code_of_a_block_names_its_function),
        cmocka_unit_test(other_names_are_left_alone),
        cmocka_unit_test(a_failed_name_leaves_the_buffer_as_it_was),
        cmocka_unit_test(a_name_that_explodes_is_given_up_at_once),
        cmocka_unit_test(names_of_64_kib_are_read),
        cmocka_unit_test(rust_names_of_64_kib_are_read),
        cmocka_unit_test(a_punycode_name_that_explodes_is_given_up),
        cmocka_unit_test(deep_names_do_not_run_out_of_stack),
        cmocka_unit_test(third_party_pairs_agree),
    };
    return cmocka_run_group_tests_name("demangle", tests, NULL, NULL);
}
