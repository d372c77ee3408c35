/* Tests of the changes that pasted texts go through: numbers, lists, tags, indentation and changed
 * characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "dump/input/text_mend.h"

/* Mends the lines of a text into *out; returns how many bytes were taken before the first line
 * without the same change. */
static size_t mend(const char *text, struct strbuf *out) {
    struct span rest = {text, text + strlen(text)}, line;
    struct strbuf room = {0};
    bool more = false;
    struct text_mend m = text_mend_of(rest, true, &more, &more);
    const char *at = rest.p;
    while (rest.p < rest.end) {
        const char *feed = memchr(rest.p, '\n', (size_t)(rest.end - rest.p));
        struct span mended;
        line = (struct span){rest.p, feed ? feed : rest.end};
        enum text_mended how = text_mend_line(&m, line, &room, &mended);
        if (how == TEXT_OTHER) {
            break;
        }
        rest.p = at = feed ? feed + 1 : rest.end;
        if (how != TEXT_DROPPED) {
            strbuf_add(out, mended.p, (size_t)(mended.end - mended.p));
            strbuf_addc(out, '\n');
        }
    }
    strbuf_release(&room);
    return (size_t)(at - text);
}

static void check(const char *text, const char *want, const char *rest) {
    struct strbuf out = {0};
    size_t taken = mend(text, &out);
    assert_string_equal(strbuf_cstr(&out), want);
    assert_string_equal(text + taken, rest);
    strbuf_release(&out);
}

static void numbers_of_all_lines_are_cut_off(void **state) {
    (void)state;
    check("    9\ta\n   10\t  b\n   11\n   12\tc\n   13\td\n   14\te\n   15\tf\n   16\tg\n   "
          "17\th\nend\n",
          "a\n  b\n\nc\nd\ne\nf\ng\nh\n", "end\n");
    check("1:a\n2: b\n3:c\n4:d\n5:e\n6:f\n7:g\n8:h\n", "a\n b\nc\nd\ne\nf\ng\nh\n", "");
    check("  1  a\n  2    b\n\n  3  c\n  4  d\n  5  e\n  6  f\n  7  g\n  8  h\n 10  i\n",
          "a\n  b\n\nc\nd\ne\nf\ng\nh\n", " 10  i\n");
}

static void numbers_of_a_few_lines_are_the_texts_own(void **state) {
    static const char frames[] = "0 Shop 0x10 f\n1 Shop 0x20 g\n2 Shop 0x30 h\nThread 1:\n"
                                 "0 Shop 0x10 f\n1 Shop 0x20 g\n2 Shop 0x30 h\n3 x\n4 x\n";
    (void)state;
    check(frames, frames, "");
}

static void lists_tags_and_indents_are_cut_off(void **state) {
    (void)state;
    check("- Process: a\n  b\n    c\n\n  d\n", "Process: a\nb\n  c\n\nd\n", "");
    check("<pre><code>Process: a\n  b\nc</code></pre>\n", "Process: a\n  b\nc\n", "");
    check("<pre class=\"x\">a\nb\n</pre>\n", "a\nb\n\n", "");
    check("```Process: a\n  b\n```\n", "Process: a\n  b\n```\n", "");
    check("` Process: a\nb\n", "Process: a\nb\n", "");
    check("```text\nProcess: a\n", "```text\nProcess: a\n", "");
    check("    Process: a\n      b\n   c\n", "Process: a\n  b\nc\n", "");
    check("> - a\n>   b\n", "a\nb\n", "");
    check("- a\nb\n", "- a\nb\n", ""); /* this is no list, because the next line is not indented */
}

static void numbered_characters_of_html_are_put_back(void **state) {
    (void)state;
    check("a(b)::&#x27;lambda&#x27; &#39;c&apos;&#160;&#xA0;&#34;&#60;&#x3C;&#x1F600;&#9;d\n",
          "a(b)::'lambda' 'c'  \"<<\xf0\x9f\x98\x80\td\n", "");
    check("&#10; &#0; &#x; &#; &#xD800; &#x110000; &#12345678; &#39 &#-1; &x27;\n",
          "&#10; &#0; &#x; &#; &#xD800; &#x110000; &#12345678; &#39 &#-1; &x27;\n", "");
}

static void characters_of_html_are_put_back(void **state) {
    (void)state;
    check("0x10 - 0x20 Shop &lt;4c4c&gt; /x\nf(a &amp;&amp; b) -&gt; c &quot;d&quot; &x;\n",
          "0x10 - 0x20 Shop <4c4c> /x\nf(a && b) -> c \"d\" &x;\n", "");
}

static void dockers_json_may_have_blanks(void **state) {
    (void)state;
    check("{\"log\": \"a\\n\", \"stream\": \"stderr\", \"time\": \"t\"}\n"
          "{ \"log\":\"  b\\n\",\"stream\" : \"stdout\"}\nend\n",
          "a\n  b\n", "end\n");
}

static void what_a_logger_writes_in_front_is_cut_off(void **state) {
    (void)state;
    check("01-24 14:27:21.137  1234  1250 I app: a\n01-24 14:27:21.140  1234  1250 I app:   b\n"
          "01-24 14:27:21.140  1234  1250 I app:\n01-24 14:28:00.001  1234  1250 I app: c\n"
          "01-24 14:28:00.001  1234  1251 I app: d\n",
          "a\n  b\n\nc\n", "01-24 14:28:00.001  1234  1251 I app: d\n");
    check("Jan 24 09:00:01 n1 shop[12]: a\nJan 24 09:00:01 n1 shop[12]: b\n"
          "Jan 24 09:00:09 n1 shop[12]: c\nJan 24 09:00:09 n1 shop[13]: d\n",
          "a\nb\nc\n", "Jan 24 09:00:09 n1 shop[13]: d\n");
    check("| a\n|   b\n|\n| c\nend\n", "a\n  b\n\nc\n", "end\n");
    check("2026-11-20T10:12:44.0000371Z a\n2026-11-20T10:12:45.0000742Z   b\n"
          "2026-11-20T10:12:45.0001113Z\n2026-11-20T10:12:46.0001484Z c\nend\n",
          "a\n  b\n\nc\n", "end\n");
    check("test\tRun\t10:12:44+01:00 a\ntest\tRun\t10:12:45+01:00   b\n"
          "test\tRun\t10:12:45+01:00 c\n",
          "a\n  b\nc\n", "");
    check("2026-11-20T10:12:44.000000371Z stderr F a\n2026-11-20T10:12:44.000000742Z stderr F   b\n"
          "2026-11-20T10:12:44.000001113Z stderr F c\n",
          "a\n  b\nc\n", "");
    check("10:12:44,120 INFO main - a\n10:12:44,121 INFO main -   b\n10:12:44,121 INFO main - c\n",
          "a\n  b\nc\n", "");
}

static void what_lines_share_by_chance_is_their_own(void **state) {
    static const char frames[] = "Thread 0: a\n0 Shop 0x10 f\n1 Shop 0x20 g\n";
    static const char times[] = "10.0.0.1 a: b\n10.0.0.2 a: b\n10.0.0.3 a: b\n";
    static const char words[] = "1 - a b\n2 - a b\n3 - a b\n";
    (void)state;
    check(frames, frames, "");
    check(times, times, "");
    check(words, words, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_all_lines_are_cut_off),
        cmocka_unit_test(numbers_of_a_few_lines_are_the_texts_own),
        cmocka_unit_test(lists_tags_and_indents_are_cut_off),
        cmocka_unit_test(characters_of_html_are_put_back),
        cmocka_unit_test(numbered_characters_of_html_are_put_back),
        cmocka_unit_test(dockers_json_may_have_blanks),
        cmocka_unit_test(what_a_logger_writes_in_front_is_cut_off),
        cmocka_unit_test(what_lines_share_by_chance_is_their_own),
    };
    return cmocka_run_group_tests_name("text_mend", tests, NULL, NULL);
}
