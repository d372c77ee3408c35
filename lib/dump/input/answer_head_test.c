/* Tests the heads of records: their fields, and the part of a time up to its hour. */
#include "dump/input/answer_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"

static void assert_head(const struct answer_head *h, size_t text_len, const char *want) {
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    answer_head_write(h, text_len, &sink);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&out), want);
    strbuf_release(&out);
}

static void fields_stand_in_their_order(void **state) {
    const struct answer_head all = {.kind = "dump",
                                    .id = "a",
                                    .time = "2026-11-21T10:59:59.999Z",
                                    .version = "1.2",
                                    .os = "iOS 18",
                                    .image_id = "0A",
                                    .image = "Shop",
                                    .bucket = "b",
                                    .cause = "lock",
                                    .title = "f",
                                    .ms = 7,
                                    .span_ms = UINT64_MAX};
    (void)state;
    assert_head(&all, 12,
                "dump\ta\t2026-11-21T10\t1.2\tiOS 18\t0A Shop\tb\tlock\tf\t7\t"
                "18446744073709551615\t12\t");
    assert_head(&(struct answer_head){.kind = "refused"}, 0, "refused\t\t\t\t\t\t\t\t\t0\t0\t0\t");
}

static void control_characters_are_spaces(void **state) {
    const struct answer_head h = {.kind = "\ta\n\nb\xc3\xa4\r"};
    (void)state;
    assert_head(&h, 0, " a  b\xc3\xa4 \t\t\t\t\t\t\t\t\t0\t0\t0\t");
}

/* U+0085 and U+2028 end lines for some readers; U+202E turns the text around. */
static void characters_that_may_not_be_shown_are_marks(void **state) {
    const struct answer_head h = {.kind = "a\xc2\x85\xe2\x80\xa8z\xe2\x80\xae\x7f\xff"
                                          "\xef\xbf\xbd\xe2\x86\x90"};
    (void)state;
    assert_head(&h, 0, "a??z???\xef\xbf\xbd\xe2\x86\x90\t\t\t\t\t\t\t\t\t0\t0\t0\t");
}

static void other_times_have_no_hour(void **state) {
    static const char *const times[] = {"",
                                        "2026-11-21",
                                        "2026-11-21 10:00:00",
                                        "yesterday",
                                        "2026-11-21T1",
                                        "2026-11-21T1x:00:00Z",
                                        "2026-11-21T10:00:00",
                                        "2026-11-21T10:00:00+02:00",
                                        "\t026-11-21T10"};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_head(&(struct answer_head){.kind = "dump", .time = times[i]}, 0,
                    "dump\t\t\t\t\t\t\t\t\t0\t0\t0\t");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_stand_in_their_order),
        cmocka_unit_test(control_characters_are_spaces),
        cmocka_unit_test(characters_that_may_not_be_shown_are_marks),
        cmocka_unit_test(other_times_have_no_hour),
    };
    return cmocka_run_group_tests_name("answer_head", tests, NULL, NULL);
}
