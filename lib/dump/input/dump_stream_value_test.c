/* Tests of reports in cells of CSV, in strings and objects within a line, and between tags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dump/dump_support_test.h"
#include "dump/input/stream_support_test.h"

#define CRASH                                                                                      \
    "Process:   Shop [667]\nIdentifier:   com.example.shop\n\nThread 0 name:  \"main\"\n"          \
    "Thread 0:\n0   Shop   0x0000000100000010 f<int> + 16\n"                                       \
    "1   Shop   0x0000000100000020 g + 16\n\n"                                                     \
    "Binary Images:\n0x100000000 - 0x10000ffff Shop arm64  <> /x/Shop\n"
#define EVENT                                                                                      \
    "{\"format\":\"stall-dump/1\",\"id\":\"00000000-0000-4000-8000-0000000000ab\","                \
    "\"context\":{\"note\":\"a \\\"b\\\"\"}}"

/* The documents of an input, each with the number of its first line in front and '|' behind. */
struct seen {
    struct strbuf documents;
    size_t errors;
    uint64_t mended;
};

static void note(void *ctx, enum st st, const char *text, size_t len, uint64_t line,
                 const struct err *e) {
    struct seen *seen = ctx;
    (void)e;
    strbuf_addu64(&seen->documents, line);
    strbuf_addc(&seen->documents, ':');
    strbuf_add(&seen->documents, st == ST_OK ? text : "", st == ST_OK ? len : 0);
    strbuf_addc(&seen->documents, '|');
    seen->errors += st == ST_ERR;
}

static void check(const struct strbuf *input, const char *want, uint64_t mended) {
    struct seen seen = {0};
    struct dump_stream *s;
    assert_int_equal(dump_stream_open(&s, stream_file_of(input->data, input->len), "in", NULL),
                     ST_OK);
    stream_walk(s, false, note, &seen);
    assert_string_equal(strbuf_cstr(&seen.documents), want);
    assert_int_equal(seen.errors, 0);
    assert_int_equal(dump_stream_mended(s), mended);
    dump_stream_close(s);
    strbuf_release(&seen.documents);
}

/* Adds the text with `quote` in place of each quote, `feed` of each line feed, and `less` of each
 * '<'. */
static void add_as(struct strbuf *out, const char *text, const char *quote, const char *feed,
                   const char *less) {
    for (; *text; text++) {
        const char c[2] = {*text, 0};
        strbuf_addstr(out, *c == '"' ? quote : *c == '\n' ? feed : *c == '<' ? less : c);
    }
}

static void a_cell_of_csv_is_a_text(void **state) {
    struct strbuf text = {0};
    (void)state;
    strbuf_addstr(&text, "id,trace,note\n17,\"");
    add_as(&text, CRASH, "\"\"", "\n", "<");
    strbuf_addstr(&text, "\",\"first, \"\"one\"\"\"\n18,x,\"\"\n19;\"");
    add_as(&text, CRASH, "\"\"", "\n", "<");
    strbuf_addstr(&text, "\"\n" EVENT "\n");
    check(&text, "2:" CRASH "|14:" CRASH "|25:" EVENT "|", 2);
    strbuf_release(&text);
}

static void a_cell_of_csv_is_json(void **state) {
    struct strbuf text = {0};
    (void)state;
    strbuf_addstr(&text, "id,event\n17,\"");
    add_as(&text, EVENT, "\"\"", "\n", "<");
    strbuf_addstr(&text, "\",\"");
    add_as(&text, EVENT, "\"\"", "\n", "<");
    strbuf_addstr(&text, "\"\n");
    check(&text, "2:" EVENT "|2:" EVENT "|", 2);
    strbuf_release(&text);
}

static void a_cell_may_be_cut(void **state) {
    struct strbuf text = {0};
    (void)state;
    strbuf_addstr(&text, "id,trace\n17,\"");
    add_as(&text, CRASH, "\"\"", "\n", "<");
    check(&text, "2:" CRASH "|", 1);
    strbuf_release(&text);
}

static void count_errors(const struct strbuf *text, size_t want) {
    struct seen seen = {0};
    struct dump_stream *s;
    assert_int_equal(dump_stream_open(&s, stream_file_of(text->data, text->len), "in", NULL),
                     ST_OK);
    stream_walk(s, false, note, &seen);
    assert_int_equal(seen.errors, want);
    dump_stream_close(s);
    strbuf_release(&seen.documents);
}

static void a_cell_that_is_cut_behind_others_is_told(void **state) {
    struct strbuf text = {0};
    (void)state;
    strbuf_addstr(&text, "id,trace\n17,\"");
    add_as(&text, CRASH, "\"\"", "\n", "<");
    strbuf_addstr(&text, "\"\n18,\"Proc");
    count_errors(&text, 1);
    strbuf_release(&text);
}

static void a_value_that_is_cut_behind_others_is_told(void **state) {
    static const struct {
        const char *end;
        size_t errors;
    } rows[] = {{"msg=\"Proc", 1},          {"msg=\"Proc\\u00", 1}, {"upload {\"a\":[1", 1},
                {"msg=\"Proc\nmsg=x\n", 0}, {"msg=\"Proc\"", 0},    {"upload {\"a\":[1]}", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, "10:00:01 ERROR sends " EVENT " to host\n%s", rows[i].end);
        count_errors(&text, rows[i].errors);
        strbuf_release(&text);
    }
}

/* A string of one line may hold several reports; what stands behind the string has no lower line
 * number. */
static void reports_of_one_string_have_its_line(void **state) {
    struct strbuf text = {0};
    (void)state;
    strbuf_addstr(&text, "level=error msg=\"");
    add_as(&text, CRASH CRASH, "\\\"", "\\n", "<");
    strbuf_addstr(&text, "\"\nlevel=error msg=\"");
    add_as(&text, CRASH, "\\\"", "\\n", "<");
    strbuf_addstr(&text, "\"\n");
    check(&text, "1:" CRASH "|1:" CRASH "|2:" CRASH "|", 2);
    strbuf_release(&text);
}

/* The report of a string is read up to an escape that the end of the input cuts. */
static void a_string_may_be_cut_within_an_escape(void **state) {
    struct strbuf text = {0};
    (void)state;
    strbuf_addstr(&text, "level=error msg=\"");
    add_as(&text, CRASH, "\\\"", "\\n", "<");
    strbuf_addstr(&text, "\\u00");
    check(&text, "1:" CRASH "|", 1);
    strbuf_release(&text);
}

static void a_string_of_a_log_is_a_report(void **state) {
    struct strbuf text = {0};
    (void)state;
    strbuf_addstr(&text, "level=info msg=\"started \\\"x\\\"\"\nlevel=error msg=\"");
    add_as(&text, CRASH, "\\\"", "\\n", "<");
    strbuf_addstr(&text, "\" n=1\nlevel=error msg=\"");
    add_as(&text, CRASH, "\\\"", "\\n", "\\u003c");
    strbuf_addstr(&text, "\"\nlevel=info msg=\"done\"\n");
    check(&text, "2:" CRASH "|3:" CRASH "|", 2);
    strbuf_release(&text);
}

static void an_object_of_a_log_is_a_report(void **state) {
    struct strbuf text = {0};
    (void)state;
    strbuf_addstr(&text, "10:00:00 INFO {\"a\":1}\n10:00:01 ERROR {\"a\":{}} sends " EVENT
                         " to {host}\n10:00:02 INFO end\n");
    check(&text, "2:" EVENT "|", 1);
    strbuf_release(&text);
}

static void text_between_tags_is_a_report(void **state) {
    static const char *const feeds[] = {"\n", "<br>", "<br/>\n"};
    (void)state;
    for (size_t i = 0; i < sizeof feeds / sizeof *feeds; i++) {
        struct strbuf text = {0};
        strbuf_addstr(&text, "<html><body><p>\"x\"</p><pre class=\"t\"><span>");
        add_as(&text, CRASH, "&quot;", feeds[i], "&lt;");
        strbuf_addstr(&text, "</span></pre><p>and</p></body></html>\n");
        check(&text, "1:" CRASH "|", 1);
        strbuf_release(&text);
    }
}

/* Lines of quoted-printable are cut at any place, and a mail may have several parts. */
static void a_mail_in_quoted_printable_is_a_report(void **state) {
    struct strbuf text = {0};
    (void)state;
    strbuf_addstr(&text, "Subject: x\ncontent-transfer-encoding: quoted-printable\n"
                         "Content-Type: text/plain\n\n");
    for (const char *p = CRASH; *p; p++) {
        const char c[2] = {*p, 0};
        strbuf_addstr(&text, *p == '=' ? "=3D" : *p == ' ' ? "=20=\n" : c);
        strbuf_addstr(&text, p[0] == '0' ? "=\n" : "");
    }
    strbuf_addstr(&text, "--0000000000000abc\nContent-Type: text/html\n\n<p>x</p>\n");
    struct seen seen = {0};
    struct dump_stream *s;
    assert_int_equal(dump_stream_open(&s, stream_file_of(text.data, text.len), "in", NULL), ST_OK);
    stream_walk(s, false, note, &seen);
    assert_string_equal(strchr(strbuf_cstr(&seen.documents), ':') + 1, CRASH "|");
    dump_stream_close(s);
    strbuf_release(&seen.documents);
    strbuf_release(&text);
}

/* Other text in quotes, brackets and tags stays what it was: the report behind it is found. */
static void other_values_are_passed_over(void **state) {
    static const char *const lines[] = {"a,\"b\",\"c \"\"d\"\"\"", "a,\"never ended",
                                        "x=\"never \\n ended",     "{never {\"ended\":",
                                        "<pre>ended</pre>",        "\"main\" is a thread, \"x\"y",
                                        "a,\"\"\"\"\"\"",          "<pre",
                                        "msg=\"\\q\" {\"a\"}"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct strbuf text = {0};
        strbuf_addstr(&text, lines[i]);
        strbuf_addstr(&text, "\n" CRASH);
        check(&text, "2:" CRASH "|", 0);
        strbuf_release(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_of_csv_is_a_text),
        cmocka_unit_test(a_cell_of_csv_is_json),
        cmocka_unit_test(a_cell_may_be_cut),
        cmocka_unit_test(a_cell_that_is_cut_behind_others_is_told),
        cmocka_unit_test(a_value_that_is_cut_behind_others_is_told),
        cmocka_unit_test(reports_of_one_string_have_its_line),
        cmocka_unit_test(a_string_may_be_cut_within_an_escape),
        cmocka_unit_test(a_string_of_a_log_is_a_report),
        cmocka_unit_test(an_object_of_a_log_is_a_report),
        cmocka_unit_test(text_between_tags_is_a_report),
        cmocka_unit_test(a_mail_in_quoted_printable_is_a_report),
        cmocka_unit_test(other_values_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
