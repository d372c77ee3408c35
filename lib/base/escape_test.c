#include "base/escape.h"

#include "base/utf8.h"
#include "flame/flame_support_test.h"

static void assert_text(const char *text, size_t len, const char *want) {
    struct strbuf b = {0};
    xml_text_add(&b, text, len);
    assert_string_equal(strbuf_cstr(&b), want);
    strbuf_release(&b);
}

static void markup_is_escaped(void **state) {
    (void)state;
    assert_text("<a b=\"c\" d='e'>&amp;]]>", 23,
                "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;]]&gt;");
}

static void what_xml_cannot_hold_is_replaced(void **state) {
    (void)state;
    assert_text("a\0b\x1b\n\x7f", 6,
                "a\xef\xbf\xbd"
                "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_text("\xff\xc0\xaf", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* not UTF-8 */
    assert_text("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    assert_text("\xef\xbf\xbe\xef\xb7\x90", 6, "\xef\xbf\xbd\xef\xbf\xbd"); /* non-characters */
    assert_text("caf\xc3\xa9 \xe2\x86\x92", 9, "caf\xc3\xa9 \xe2\x86\x92");
}

static void what_reorders_or_hides_text_is_replaced(void **state) {
    (void)state;
    const uint32_t hidden[] = {0x202e, 0x202a, 0x2066, 0x2069,  0x200f, 0x061c,
                               0x2028, 0x200b, 0xfeff, 0xe0041, 0x85};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        char bytes[4];
        assert_text(bytes, utf8_encode(hidden[i], bytes), "\xef\xbf\xbd");
    }
}

static struct strbuf written;

static void assert_bytes(void (*write)(struct sink *, const char *), const char *text,
                         const char *want) {
    struct sink out = sink_to_strbuf(&written);
    strbuf_clear(&written);
    write(&out, text);
    sink_flush(&out);
    assert_string_equal(strbuf_cstr(&written), want);
}

static void put_cell(struct sink *out, const char *text) {
    csv_put_field(out, text, false);
}

static void put_plain_cell(struct sink *out, const char *text) {
    csv_put_field(out, text, true);
}

static void cells_are_no_formulas_and_end_no_row(void **state) {
    (void)state;
    assert_bytes(put_cell, "", "");
    assert_bytes(put_cell, "-[Cart load]", "'-[Cart load]");
    assert_bytes(put_cell, "=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0");
    assert_bytes(put_cell, "@SUM(1,1)", "\"'@SUM(1,1)\"");
    assert_bytes(put_cell, "a-b", "a-b");
    assert_bytes(put_cell, " =1+1", "' =1+1");
    assert_bytes(put_cell, "\xc2\xa0\xe3\x80\x80=1+1", "'\xc2\xa0\xe3\x80\x80=1+1");
    assert_bytes(put_cell, "\xef\xbc\x9d\x31+1", "'\xef\xbc\x9d\x31+1");
    assert_bytes(put_cell, "\xef\xbc\x8d[x y]", "'\xef\xbc\x8d[x y]");
    assert_bytes(put_cell, " a=1", " a=1");
    assert_bytes(put_cell, "  ", "  ");
    assert_bytes(put_cell, "a\r\nb\x1b\t\xc2\x9b",
                 "a\xef\xbf\xbd\xef\xbf\xbd"
                 "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_bytes(put_cell, "\"a\"", "\"\"\"a\"\"\"");
    assert_bytes(put_plain_cell, "-[Cart load]", "-[Cart load]");
}

static void markdown_holds_no_markup_and_refers_to_nobody(void **state) {
    (void)state;
    assert_bytes(markdown_put_text, "<b>*a*|", "&lt;b\\>\\*a\\*\\|");
    assert_bytes(markdown_put_text, "@me #12 GH-7 !3 $4 %5 ~bug &6",
                 "@<!-- -->me \\#<!-- -->12 GH<!-- -->-7 !<!-- -->3 $<!-- -->4 %<!-- -->5 "
                 "\\~<!-- -->bug &amp;<!-- -->6");
    assert_bytes(markdown_put_text, "# a != b ~ 5 %", "\\# a != b \\~ 5 %");
    assert_bytes(markdown_put_text, "http://x www.x", "http\\://x www\\.x");
    assert_bytes(markdown_put_code,
                 "a\xe2\x80\xae"
                 "b\xff",
                 "<code>a?b?</code>");
    strbuf_release(&written);
}

static void assert_short(const char *text, size_t cells, size_t least, const char *want) {
    struct strbuf b = {0};
    xml_text_add_short(&b, text, strlen(text), cells, least);
    assert_string_equal(strbuf_cstr(&b), want);
    strbuf_release(&b);
}

static void long_text_loses_its_end_to_an_ellipsis(void **state) {
    (void)state;
    assert_short("abcdef", 6, 2, "abcdef");
    assert_short("abcdef", 5, 2, "abcd\xe2\x80\xa6");
    assert_short("abcdef", 3, 2, "ab\xe2\x80\xa6");
    assert_short("abcdef", 2, 2, "");
    assert_short("abcdef", 0, 0, "");
    assert_short("ab", 2, 2, "ab");
    assert_short("std::vector<int, A<int> >::f(int)", 14, 2, "std::vector&lt;i\xe2\x80\xa6");
    assert_short("", 5, 2, "");
}

static void wide_characters_take_two_cells(void **state) {
    (void)state;
    const char *text = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"; /* three CJK characters */
    assert_short(text, 6, 2, text);
    assert_short(text, 5, 2, "\xe6\x97\xa5\xe6\x9c\xac\xe2\x80\xa6");
    assert_short(text, 4, 2, "\xe6\x97\xa5\xe2\x80\xa6");
    assert_short("\314\201\314\201\314\201", 2, 1,
                 "\314\201\342\200\246"); /* combining marks are cut off, too */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_is_escaped),
        cmocka_unit_test(cells_are_no_formulas_and_end_no_row),
        cmocka_unit_test(markdown_holds_no_markup_and_refers_to_nobody),
        cmocka_unit_test(what_xml_cannot_hold_is_replaced),
        cmocka_unit_test(what_reorders_or_hides_text_is_replaced),
        cmocka_unit_test(long_text_loses_its_end_to_an_ellipsis),
        cmocka_unit_test(wide_characters_take_two_cells),
    };
    return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
