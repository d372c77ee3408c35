/* Tests of the records of --answer-each: how they are recognised, and what is read from them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "dump/input/stream_record.h"

static struct span span_of(const char *text) {
    return (struct span){text, text + strlen(text)};
}

static void records_are_known_by_their_format(void **state) {
    static const struct {
        const char *text;
        enum stream_record record;
    } rows[] = {
        {"", RECORD_OTHER},
        {"  ", RECORD_OTHER},
        {"foo", RECORD_OTHER},
        {"{\"format\":\"stall-dump/1\",\"format\":\"stall-input/1\"}", RECORD_OTHER},
        {"{\"format\":\"stall-session/1\"}", RECORD_OTHER},
        {"{\"a\":{\"format\":\"stall-input/1\"}}", RECORD_OTHER},
        {"{\"format\":7}", RECORD_OTHER},
        {"{\"format\":\"stall-input", RECORD_OTHER},
        {"{\"format\":\"stall-input/1\"}", RECORD_INPUT},
        {" {\"text\" : \"{}\", \"format\" : \"stall-input/1\"}", RECORD_INPUT},
        {"{\"format\":\"stall-input/2\"}", RECORD_INPUT},
        {"{\"format\":\"stall-refused/1\"}", RECORD_REFUSED},
        {"[]", RECORD_LIST},
        {" [ ] ", RECORD_LIST},
        {"[1]", RECORD_OTHER},
        {"[{\"format\":\"other\"}]", RECORD_OTHER},
        {"[{\"id\":1,\"format\":\"stall-dump/1\"},1]", RECORD_LIST},
        {"[{\"format\":\"stall-refused/1\"}]", RECORD_LIST},
        {"[{\"format\":\"stall-dump/1\"}", RECORD_OTHER},
        {"[] []", RECORD_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (stream_record_of(span_of(rows[i].text)) != rows[i].record) {
            fail_msg("%s", rows[i].text);
        }
    }
}

static void strings_are_taken_at_any_depth(void **state) {
    struct span rest = span_of("{\"a\":\"x\\ny\",\"b\":[1,\"\",{\"c\" : \"z: \\\"\"}],\"d\":null}");
    const char *const want[] = {"x\ny", "", "z: \""};
    struct strbuf out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_int_equal(stream_record_string(&rest, &out, NULL), ST_OK);
        assert_string_equal(strbuf_cstr(&out), want[i]);
    }
    assert_int_equal(stream_record_string(&rest, &out, NULL), ST_NONE);
    strbuf_release(&out);
}

static void an_input_gives_its_text(void **state) {
    static const struct {
        const char *record, *name, *text;
    } rows[] = {
        {"{\"format\":\"stall-input/1\",\"text\":\"\"}", "", ""},
        {"{\"format\":\"stall-input/1\",\"name\":\"a/b\",\"text\":\"{}\\n\"}", "a/b", "{}\n"},
        {"{\"text\":\"\\ufeffx\\u00e9\\\"\",\"name\":7,\"format\":\"stall-input/1\"}", "",
         "x\xc3\xa9\""},
        {"{\"format\":\"stall-input/1\",\"text\":\"a\\u0000\\ud800\xff\"}", "",
         "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stall_input in = {{0}, {0}};
        struct err e = {0};
        assert_int_equal(stall_input_read(&in, span_of(rows[i].record), &e), ST_OK);
        assert_string_equal(strbuf_cstr(&in.name), rows[i].name);
        assert_string_equal(strbuf_cstr(&in.text), rows[i].text);
        stall_input_release(&in);
    }
}

static void an_input_without_a_text_is_refused(void **state) {
    static const struct {
        const char *record;
        enum err_code code;
    } rows[] = {
        {"{\"format\":\"stall-input/1\"}", ERR_FORMAT},
        {"{\"format\":\"stall-input/1\",\"text\":7}", ERR_FORMAT},
        {"{\"format\":\"stall-input/2\",\"text\":\"\"}", ERR_UNSUPPORTED},
        {"{\"format\":\"stall-input/1\",\"text\":\"", ERR_TRUNCATED},
        {"{\"format\":\"stall-input/1\",\"text\":\"\"}}", ERR_FORMAT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stall_input in = {{0}, {0}};
        struct err e = {0};
        assert_int_equal(stall_input_read(&in, span_of(rows[i].record), &e), ST_ERR);
        assert_int_equal(e.code, rows[i].code);
        stall_input_release(&in);
    }
}

static void a_refusal_is_written_and_told(void **state) {
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    struct err why = {0}, told = {0};
    (void)state;
    (void)err_set(&why, ERR_FORMAT, "no \"text\"");
    stall_refused_write("in:7", &why, &sink);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_string_equal(
        strbuf_cstr(&out),
        "{\"format\":\"stall-refused/1\",\"reason\":\"no \\\"text\\\"\",\"where\":\"in:7\"}\n");
    assert_int_equal(stall_refused_tell(span_of(strbuf_cstr(&out)), &told), ST_ERR);
    assert_string_equal(told.text, "refused before: no \"text\", at in:7");
    strbuf_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_known_by_their_format),
        cmocka_unit_test(strings_are_taken_at_any_depth),
        cmocka_unit_test(an_input_gives_its_text),
        cmocka_unit_test(an_input_without_a_text_is_refused),
        cmocka_unit_test(a_refusal_is_written_and_told),
    };
    return cmocka_run_group_tests_name("stream_record", tests, NULL, NULL);
}
