/* Tests that each line of an input has one answer, in order, whatever is in it. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failmalloc.h"
#include "dump/input/answer_support_test.h"

#define DUMP_OF(id)    "{\"format\":\"stall-dump/1\",\"id\":\"" id "\"}"
#define REFUSED        "{\"format\":\"stall-refused/1\",\"reason\":\"x\",\"where\":\"y\"}"
#define SESSION_RECORD "{\"format\":\"stall-session/1\"}"
#define INPUT_OF(text) "{\"format\":\"stall-input/1\",\"name\":\"n\",\"text\":\"" text "\"}"
#define QUOTED_DUMP    "{\\\"format\\\":\\\"stall-dump/1\\\",\\n\\\"id\\\":\\\"q\\\"}"

static void assert_answers(const char *lines, const char *want) {
    for (unsigned jobs = 1; jobs <= 8; jobs *= 2) {
        struct answer_log log = {.whole = true};
        assert_true(answer_lines(lines, strlen(lines), jobs, &log));
        assert_string_equal(strbuf_cstr(&log.text), want);
        assert_int_equal(log.failures, 0);
        strbuf_release(&log.text);
    }
}

static void each_line_has_one_answer_in_order(void **state) {
    (void)state;
    assert_answers("", "");
    assert_answers(DUMP_OF("a"), "a ;");
    assert_answers(DUMP_OF("a") "\n" DUMP_OF("b") "\r\n", "a ;b ;");
    assert_answers("\n \r\n" DUMP_OF("a") "\n\n",
                   "!in:1: an empty line ;!in:2: an empty line ;a ;!in:4: an empty line ;");
    assert_answers(SESSION_RECORD "\nfoo\n{\"a\":1}\n" REFUSED "\n",
                   "session+28 ;!in:2: not JSON at column 2 ;"
                   "!in:3: JSON, but neither a stall dump nor a report ;" REFUSED " ;");
}

static void a_line_may_become_several_or_none(void **state) {
    (void)state;
    assert_answers(DUMP_OF("a") DUMP_OF("b") "\n" DUMP_OF("c"), "a b ;c ;");
    assert_answers("[]\n[" DUMP_OF("a") "," SESSION_RECORD "," REFUSED "]\n",
                   ";a session+28 " REFUSED " ;");
    assert_answers("[" DUMP_OF("a") ",1," DUMP_OF("b") ",{\"format\":\"stall-dump/2\"}]\n",
                   "a b !in:1: element 1: JSON, but neither a stall dump nor a report (and 1 "
                   "more) ;");
}

static void an_input_in_a_line_is_read_whatever_its_form(void **state) {
    (void)state;
    assert_answers(INPUT_OF(QUOTED_DUMP), "q ;");
    assert_answers(INPUT_OF(QUOTED_DUMP "\\n\\nfoo\\n" QUOTED_DUMP),
                   "q q !in:1: n:4: not JSON at column 2 ;");
    assert_answers(INPUT_OF(""), "!in:1: n: empty: no dump in it ;");
    assert_answers("[" INPUT_OF(QUOTED_DUMP) "," DUMP_OF("a") "]", "q a ;");
}

static void what_is_cut_or_nested_too_deep_is_refused(void **state) {
    (void)state;
    assert_answers("{\"format\":\"stall-dump/1\",\"id\":\"a\n" DUMP_OF("b"),
                   "!in:1: the document is cut short at byte 32 ;b ;");
    assert_answers(REFUSED "}\n", "!in:1: something follows the JSON text at column 54 ;");
    assert_answers("[[[" DUMP_OF("a") "]]]\n",
                   "!in:1: JSON, but neither a stall dump nor a report ;");
}

static void every_allocation_of_answers(void *ctx, bool refused) {
    struct answer_log log = {.whole = false};
    const char *text = ctx;
    (void)refused;
    if (answer_lines(text, strlen(text), 2, &log) && !log.text.failed && !log.failures) {
        assert_int_equal(log.answered, 4);
    }
    strbuf_release(&log.text);
}

static void memory_may_run_out_anywhere(void **state) {
    static char text[] = (DUMP_OF("a") "\n" INPUT_OF(QUOTED_DUMP) "\n[" DUMP_OF(
        "b") "," REFUSED "]\n" SESSION_RECORD "\n");
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(every_allocation_of_answers, text) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_has_one_answer_in_order),
        cmocka_unit_test(a_line_may_become_several_or_none),
        cmocka_unit_test(an_input_in_a_line_is_read_whatever_its_form),
        cmocka_unit_test(what_is_cut_or_nested_too_deep_is_refused),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("pipeline_answers", tests, NULL, NULL);
}
