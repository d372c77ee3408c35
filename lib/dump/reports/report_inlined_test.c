/* Tests of rows with the same address: inlined functions, recursion, and addresses that cannot be
 * right. */
#include <string.h>

#include "dump/reports/report_support_test.h"

/* Checks that the name at this address has these names inlined into it, innermost first, each with
 * its line. */
struct inlined_row {
    const char *function, *file;
    uint32_t line;
};

static void check_inlined(const struct dump *d, uint64_t address, const char *symbol,
                          const struct inlined_row *rows, size_t count) {
    const struct dump_name *name = dump_name_at(d, address);
    assert_non_null(name);
    assert_string_equal(name->symbol, symbol);
    assert_int_equal(name->inlined_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(name->inlined[i].function, rows[i].function);
        assert_int_equal(name->inlined[i].line, rows[i].line);
        if (rows[i].file) {
            assert_string_equal(name->inlined[i].file, rows[i].file);
        } else {
            assert_null(name->inlined[i].file);
        }
    }
}

static const struct inlined_row inner_and_middle[] = {{"inner()", "Inner.swift", 10},
                                                      {"middle()", "Middle.swift", 20}};

#define TEXT_HEAD "Incident Identifier: 1\nProcess: Shop [1]\nCode Type: ARM-64\n\n"
#define TEXT_IMAGES                                                                                \
    "\nBinary Images:\n0x100000000 - 0x10000ffff +Shop arm64 <0123456789abcdef0123456789abcdef> "  \
    "/x/Shop\n"

static void inlined_rows_of_a_text_are_one_frame(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        TEXT_HEAD "Thread 0 Crashed:\n"
                  "0 Shop 0x0000000100000104 inner() + 12 [inlined] (Inner.swift:10)\n"
                  "1 Shop 0x0000000100000104 middle() (Middle.swift:20) [inlined]\n"
                  "2 Shop 0x0000000100000104 outer() + 100 (Outer.swift:30)\n"
                  "3 Shop 0x0000000100000200 main + 40\n"
                  "\nThread 1:\n0 Shop 0x0000000100000104 outer() + 100 (Outer.swift:30)\n" //
        TEXT_IMAGES);
    const struct dump *d = only_dump(&c);
    check_inlined(d, 0x100000104, "outer()", inner_and_middle, 2);
    assert_int_equal(dump_name_at(d, 0x100000104)->offset, 100);
    assert_string_equal(dump_name_at(d, 0x100000104)->file, "Outer.swift");
    check_inlined(d, 0x100000200, "main", NULL, 0);
    assert_int_equal(d->threads[0].stack.frame_count, 2);
    assert_int_equal(d->threads[1].stack.frame_count, 1);
    assert_null(d->lack);
    release_converted(&c);
}

static void a_recursive_call_is_a_frame_of_its_own(void **state) {
    (void)state;
    struct converted c =
        convert_text_of(TEXT_HEAD "Thread 0 Crashed:\n"
                                  "0 Shop 0x0000000100000104 inner() + 12 [inlined]\n"
                                  "1 Shop 0x0000000100000104 outer() + 100\n"
                                  "2 Shop 0x0000000100000104 inner() + 12 [inlined]\n"
                                  "3 Shop 0x0000000100000104 outer() + 100\n"
                                  "4 Shop 0x0000000100000204 walk + 40\n"
                                  "5 Shop 0x0000000100000204 walk + 40\n" TEXT_IMAGES);
    const struct dump *d = only_dump(&c);
    static const struct inlined_row inner[] = {{"inner()", NULL, 0}};
    check_inlined(d, 0x100000104, "outer()", inner, 1);
    check_inlined(d, 0x100000204, "walk", NULL, 0);
    assert_int_equal(d->threads[0].stack.frame_count, 4);
    release_converted(&c);
}

/* Checks that each frame of the stack has this name; if not `placed`, the frames are in no image.
 */
static void check_names(const struct dump *d, const struct dump_stack *s, const char *const *names,
                        bool placed) {
    for (size_t i = 0; i < s->frame_count; i++) {
        const struct dump_name *name = dump_name_at(d, s->frames[i]);
        assert_non_null(name);
        assert_string_equal(name->symbol, names[i]);
        assert_int_equal(name->inlined_count, 0);
        assert_int_equal(dump_image_at(d, s->frames[i]) >= 0, placed);
    }
}

static void a_load_address_in_each_row_is_no_place(void **state) {
    static const char *const names[] = {"abort", "first", "second", "main"};
    (void)state;
    struct converted c =
        convert_text_of(TEXT_HEAD "Thread 0 Crashed:\n"
                                  "0 libc 0x0000000180139000 abort + 8\n"
                                  "1 Shop 0x0000000100000000 first (a.swift:3)\n"
                                  "2 Shop 0x0000000100000000 second + 12\n"
                                  "3 libc 0x0000000180139000 main + 4\n" TEXT_IMAGES);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->threads[0].stack.frame_count, 4);
    check_names(d, &d->threads[0].stack, names, false);
    assert_int_equal(dump_name_at(d, d->threads[0].stack.frames[1])->line, 3);
    assert_true(dump_name_at(d, d->threads[0].stack.frames[1])->in_app);
    assert_false(dump_name_at(d, d->threads[0].stack.frames[0])->in_app);
    assert_non_null(strstr(d->lack, "4 frames' addresses, beside which different names stand"));
    release_converted(&c);
}

static void names_that_differ_between_stacks_stay_apart(void **state) {
    static const char *const first[] = {"f"}, *const second[] = {"g"};
    (void)state;
    struct converted c =
        convert_text_of(TEXT_HEAD "Thread 0 Crashed:\n0 Shop 0x0000000100000104 f + 4\n"
                                  "\nThread 1:\n0 Shop 0x0000000100000104 g + 4\n" TEXT_IMAGES);
    const struct dump *d = only_dump(&c);
    check_names(d, &d->threads[0].stack, first, false);
    check_names(d, &d->threads[1].stack, second, false);
    assert_non_null(strstr(d->lack, "2 frames' addresses"));
    release_converted(&c);
}

/* Reads a 32-bit process, whose images are where made-up addresses usually are. */
static void names_without_an_address_lie_in_no_image(void **state) {
    static const char *const names[] = {"f", "g"};
    (void)state;
    struct converted c = convert_text_of(
        "Process: Shop [1]\nCode Type: X86\n\nThread 0 Crashed:\n0 Shop 0x00002000 f + 4\n"
        "1 Shop 0x00002000 g + 4\n\nBinary Images:\n0x1000 - 0xffff +Shop (1) /x/Shop\n");
    const struct dump *d = only_dump(&c);
    check_names(d, &d->threads[0].stack, names, false);
    release_converted(&c);
}

static void inlined_rows_of_an_ips_are_one_frame(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'bug_type':'309','bundleID':'com.example.shop'}\n{'cpuType':'ARM-64',"
        "'usedImages':[{'base':4294967296,'size':65536,'name':'Shop'}],'threads':["
        "{'id':1,'triggered':true,'frames':["
        "{'imageOffset':260,'imageIndex':0,'symbol':'inner()','inline':true,"
        "'sourceFile':'Inner.swift','sourceLine':10},"
        "{'imageOffset':260,'imageIndex':0,'symbol':'middle()','inline':true,"
        "'sourceFile':'Middle.swift','sourceLine':20},"
        "{'imageOffset':260,'imageIndex':0,'symbol':'outer()','symbolLocation':100},"
        "{'imageOffset':4096,'imageIndex':0,'symbol':'inner()','inline':true},"
        "{'imageOffset':4096,'imageIndex':0,'symbol':'main','symbolLocation':4}]}]}");
    const struct dump *d = only_dump(&c);
    static const struct inlined_row inner[] = {{"inner()", NULL, 0}};
    check_inlined(d, 0x100000104, "outer()", inner_and_middle, 2);
    /* The report marks this function as inlined, so that the page of its address does not
     * matter. */
    check_inlined(d, 0x100001000, "main", inner, 1);
    assert_int_equal(d->threads[0].stack.frame_count, 2);
    assert_null(d->lack);
    release_converted(&c);
}

static void inlined_rows_of_kscrash_are_one_frame(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'report':{'id':'1'},'binary_images':[{'image_addr':4294967296,'image_size':65536,"
        "'name':'/x/Shop'}],'crash':{'error':{},'threads':[{'index':0,'crashed':true,"
        "'backtrace':{'contents':["
        "{'instruction_addr':4294967556,'symbol_name':'inner()','symbol_addr':4294967552},"
        "{'instruction_addr':4294967556,'symbol_name':'outer()','symbol_addr':4294967456},"
        "{'instruction_addr':4294967808,'symbol_name':'main'}]}}]}}");
    const struct dump *d = only_dump(&c);
    static const struct inlined_row inner[] = {{"inner()", NULL, 0}};
    check_inlined(d, 0x100000104, "outer()", inner, 1);
    assert_int_equal(dump_name_at(d, 0x100000104)->offset, 100);
    assert_int_equal(d->threads[0].stack.frame_count, 2);
    release_converted(&c);
}

static void inlined_rows_of_sentry_are_one_frame(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'event_id':'1','exception':{'values':[{'type':'App Hanging','thread_id':0,"
        "'stacktrace':{'frames':["
        "{'function':'main','instruction_addr':'0x100000204','image_addr':'0x100000000','package':'"
        "/x/Shop'},"
        "{'function':'outer()','filename':'Outer.swift','lineno':30,"
        "'instruction_addr':'0x100000104','image_addr':'0x100000000','package':'/x/Shop'},"
        "{'function':'middle()','filename':'Middle.swift','lineno':20,"
        "'instruction_addr':'0x100000104','image_addr':'0x100000000','package':'/x/Shop'},"
        "{'function':'inner()','filename':'Inner.swift','lineno':10,"
        "'instruction_addr':'0x100000104','image_addr':'0x100000000','package':'/x/Shop'}]}}]}}");
    const struct dump *d = only_dump(&c);
    check_inlined(d, 0x100000104, "outer()", inner_and_middle, 2);
    assert_int_equal(d->threads[0].stack.frame_count, 2);
    assert_int_equal(d->threads[0].stack.frames[0], 0x100000104);
    release_converted(&c);
}

static void inlined_rows_of_bugsnag_are_one_frame(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'events':[{'exceptions':[{'errorClass':'App Hang','message':'','stacktrace':["
        "{'method':'inner()','file':'Inner.swift','lineNumber':10,'machoFile':'/x/Shop',"
        "'machoLoadAddress':'0x100000000','frameAddress':'0x100000104'},"
        "{'method':'middle()','file':'Middle.swift','lineNumber':20,'machoFile':'/x/Shop',"
        "'machoLoadAddress':'0x100000000','frameAddress':'0x100000104'},"
        "{'method':'outer()','file':'Outer.swift','lineNumber':30,'machoFile':'/x/Shop',"
        "'machoLoadAddress':'0x100000000','frameAddress':'0x100000104'}]}],'threads':[]}]}");
    const struct dump *d = only_dump(&c);
    check_inlined(d, 0x100000104, "outer()", inner_and_middle, 2);
    assert_int_equal(d->threads[0].stack.frame_count, 1);
    release_converted(&c);
}

static void nodes_of_a_sample_keep_their_names(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Analysis of sampling Shop (pid 1) every 1 millisecond\nProcess:         Shop [1]\n"
        "Code Type:       ARM64\n\nCall graph:\n"
        "    10 Thread_1   DispatchQueue_1: com.apple.main-thread  (serial)\n"
        "    + 10 main  (in Shop) + 40  [0x100000204]\n"
        "    +   10 outer()  (in Shop) + 100  [0x100000104]\n"
        "    +     10 inner()  (in Shop) + 12  [0x100000104]\n"
        "\nTotal number in stack (recursive counted multiple, when >=5):\n" TEXT_IMAGES);
    const struct dump *d = only_dump(&c);
    static const struct inlined_row inner[] = {{"inner()", NULL, 0}};
    check_inlined(d, 0x100000104, "outer()", inner, 1);
    assert_int_equal(d->threads[0].stack.frame_count, 2);
    assert_int_equal(d->samples[0].frame_count, 2);
    release_converted(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_rows_of_a_text_are_one_frame),
        cmocka_unit_test(a_recursive_call_is_a_frame_of_its_own),
        cmocka_unit_test(a_load_address_in_each_row_is_no_place),
        cmocka_unit_test(names_that_differ_between_stacks_stay_apart),
        cmocka_unit_test(names_without_an_address_lie_in_no_image),
        cmocka_unit_test(inlined_rows_of_an_ips_are_one_frame),
        cmocka_unit_test(inlined_rows_of_kscrash_are_one_frame),
        cmocka_unit_test(inlined_rows_of_sentry_are_one_frame),
        cmocka_unit_test(inlined_rows_of_bugsnag_are_one_frame),
        cmocka_unit_test(nodes_of_a_sample_keep_their_names),
    };
    return cmocka_run_group_tests_name("report_inlined", tests, NULL, NULL);
}
