#include "flame/svg/label.h"

#include "flame/flame_support_test.h"
#include "base/escape.h"

static void assert_label(const char *name, size_t cells, const char *want) {
    struct strbuf b = {0};
    label_add(&b, name, strlen(name), cells, 2);
    assert_string_equal(strbuf_cstr(&b), want);
    assert_true(xml_text_cells(want, strlen(want)) <= cells || strchr(want, '&'));
    strbuf_release(&b);
}

static void what_fits_stays_whole(void **state) {
    (void)state;
    assert_label("read", 4, "read");
    assert_label("a<b>", 4, "a&lt;b&gt;");
    assert_label("\xe6\x97\xa5\xe6\x9c\xac", 4, "\xe6\x97\xa5\xe6\x9c\xac");
    assert_label("read", 1, "");
    assert_label("", 9, "");
}

static void scopes_go_from_the_left(void **state) {
    (void)state;
    assert_label("std::vector::push_back(int const&)", 30, "…vector::push_back(int const&amp;)");
    assert_label("std::vector::push_back(int const&)", 22, "…push_back(int const&amp;)");
    assert_label("(anonymous namespace)::f", 10, "…space)::f");
    assert_label("github.com/x/y.(*T).Method", 12, "…(*T).Method");
    assert_label("-[CartView layoutSubviews]", 16, "…layoutSubviews]");
    assert_label("io/netty/a/B:.c", 9, "…y/a/B:.c");
}

/* Checks that brackets are emptied or left out, and that no name is cut before a bracket at its
 * start or that of `operator()`, since nothing would be left of it. */
static void brackets_go_before_the_name(void **state) {
    (void)state;
    assert_label("std::vector::push_back(int const&)", 16, "…push_back(…)");
    assert_label("push_back(int const&)", 12, "push_back(…)");
    assert_label("std::vector::push_back(int const&)", 11, "…push_back");
    assert_label("std::vector::push_back(int const&)", 10, "…push_back");
    assert_label("std::less::operator()(int, int)", 16, "…operator()(…)");
    assert_label("f(std::string, a.b)", 6, "f(…)");
}

static void the_middle_goes_last(void **state) {
    (void)state;
    assert_label("std::vector::push_back(int const&)", 7, "push…ck");
    assert_label("handle_event_loop", 10, "handle…oop");
    assert_label("handle_event_loop", 2, "h…");
    assert_label("\xff\xff\xff\xff", 3, "\xef\xbf\xbd\xef\xbf\xbd…");
}

/* Checks that a label fits and is valid text, whatever the name and the room. */
static void labels_always_fit(void **state) {
    (void)state;
    static const char alphabet[] = "ab::..//()<>[] -;\xe6\x97\xa5\xff&operator()";
    uint32_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        char name[40];
        size_t len = 0;
        for (size_t n = (seed >> 8) % sizeof name; len < n; len++) {
            seed = seed * 1664525u + 1013904223u;
            name[len] = alphabet[(seed >> 12) % (sizeof alphabet - 1)];
        }
        seed = seed * 1664525u + 1013904223u;
        size_t cells = (seed >> 10) % 30;
        struct strbuf b = {0};
        label_add(&b, name, len, cells, 2);
        const char *text = strbuf_cstr(&b);
        size_t seen = 0;
        for (size_t i = 0; i < b.len;) { /* a reference such as &amp; is one character */
            size_t reference = text[i] == '&' ? strcspn(text + i, ";") + 1 : 0, left = 2;
            i += reference ? reference : xml_text_next(text + i, b.len - i, &left);
            seen += reference ? 1 : 2 - left;
        }
        assert_true(seen <= cells);
        assert_true(b.len > 0 || cells < 2 || len == 0);
        strbuf_release(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stays_whole),       cmocka_unit_test(scopes_go_from_the_left),
        cmocka_unit_test(brackets_go_before_the_name), cmocka_unit_test(the_middle_goes_last),
        cmocka_unit_test(labels_always_fit),
    };
    return cmocka_run_group_tests_name("label", tests, NULL, NULL);
}
