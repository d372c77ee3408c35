#include "dump/reports/report_support_test.h"

#define SYSTEM                                                                                     \
    "'system':{'CFBundleIdentifier':'com.example.shop','CFBundleShortVersionString':'5.3.1',"      \
    "'CFBundleVersion':'1234','CFBundleExecutablePath':'/private/var/Shop.app/Shop',"              \
    "'binary_cpu_type':16777228,'binary_cpu_subtype':0,'machine':'iPhone13,3','system_name':'iOS'" \
    ","                                                                                            \
    "'system_version':'18.7','os_version':'22H20','device_app_hash':'abc'}"
#define IMAGES                                                                                     \
    "'binary_images':[{'image_addr':4294967296,'image_vmaddr':7,'image_size':65536,"               \
    "'name':'/var/Shop.app/"                                                                       \
    "Shop','uuid':'4C4C442C-5555-3144-A1DE-7AABF56A019C','cpu_type':16777228,"                     \
    "'cpu_subtype':0},{'image_addr':6442450944,'image_size':4096,'name':'/usr/lib/libx.dylib'},"   \
    "{'image_addr':8000000000,'image_size':4096,'name':'/usr/lib/unused.dylib'}]"
#define HEAD "'report':{'id':'r-1','timestamp':1478560643,'version':'3.1.0'}," SYSTEM "," IMAGES

static void frames_images_and_names_are_taken(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{" HEAD ",'crash':{'error':{'type':'deadlock','reason':'stuck'},'threads':[{'index':0,"
        "'dispatch_queue':'com.apple.main-thread','backtrace':{'contents':[{'instruction_addr':"
        "6442451000,'symbol_addr':6442450990,'symbol_name':'wait'},{'instruction_addr':4294967400}]"
        "}},{'index':1,'name':'net','backtrace':{'contents':[]}}]}}");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->id, "r-1");
    assert_string_equal(d->time, "2016-11-07T23:17:23.000Z");
    assert_string_equal(d->app.id, "com.example.shop");
    assert_string_equal(d->app.version, "5.3.1");
    assert_string_equal(d->app.build, "1234");
    assert_string_equal(d->device.os, "iOS 18.7");
    assert_string_equal(d->device.os_build, "22H20");
    assert_string_equal(d->device.arch, "arm64");
    assert_string_equal(d->user, "abc");
    assert_string_equal(d->stall.kind, "hang");
    assert_true(d->stall.fatal);
    assert_int_equal(d->thread_count, 2);
    assert_true(d->threads[0].main && !d->threads[1].main);
    assert_string_equal(d->threads[1].name, "net");
    check_frames(&d->threads[0].stack, FRAMES(6442451000, 4294967400));
    assert_int_equal(d->image_count,
                     2); /* an image in which no frame lies is left out of the dump's list */
    assert_true(d->images[0].in_app && !d->images[1].in_app);
    assert_string_equal(d->images[0].name, "Shop");
    assert_int_equal(d->images[0].load, 4294967296);
    assert_int_equal(d->name_count, 1);
    assert_string_equal(d->names[0].symbol, "wait");
    assert_int_equal(d->names[0].offset, 10);
    assert_non_null(strstr(d->text,
                           "\"report\":{\"format\":\"kscrash\",\"document\":{\"report\":{\"id\":"
                           "\"r-1\",\"timestamp\":1478560643"));
    assert_non_null(strstr(d->text, "unused.dylib"));
    release_converted(&c);
}

static void signed_and_negative_addresses_are_stripped(void **state) {
    (void)state;
    /* The third address is a signed pointer as a writer of signed integers writes it; the fourth
     * has more digits than 63 bits can hold. */
    struct converted c = convert_json_of(
        "{" HEAD
        ",'crash':{'error':{'type':'deadlock'},'threads':[{'index':0,'backtrace':{'contents'"
        ":[{'instruction_addr':4294967400},{'instruction_addr':11908817186915272},"
        "{'instruction_addr':-9223372032559808408},{'instruction_addr':18446603340516163688}]}}]}"
        "}");
    const struct dump *d = only_dump(&c);
    check_frames(&d->threads[0].stack,
                 FRAMES(4294967400, 11908817186915272 & 0x7fffffffffff, 4294967400,
                        18446603340516163688ULL & 0x7fffffffffff));
    release_converted(&c);
}

static void a_hang_has_its_length(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{" HEAD ",'crash':{'error':{'type':'hang','hang':{'hang_start_nanos':1000000000,"
        "'hang_end_nanos':3500000000,'hang_recovered':false}},'threads':[]}}");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "hang");
    assert_int_equal(d->stall.duration_ms, 2500);
    assert_true(d->stall.fatal && !d->stall.ended);
    release_converted(&c);
}

static void a_crash_is_no_stall(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{" HEAD
        ",'crash':{'error':{'type':'mach','reason':'EXC_BAD_ACCESS'},'threads':[{'index':0,"
        "'crashed':true,'backtrace':{'contents':[{'instruction_addr':4294967400,'symbol_name':"
        "'_sigtramp','symbol_addr':4294967390},{'instruction_addr':4294967500},"
        "{'instruction_addr':4294967600}]}}]}}");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "crash");
    assert_true(dump_frame_exact(&d->threads[0].stack, 0));
    assert_true(dump_frame_exact(&d->threads[0].stack,
                                 1)); /* the frame that the signal interrupted is exact */
    assert_false(dump_frame_exact(&d->threads[0].stack, 2));
    release_converted(&c);
}

static void a_report_of_a_crash_while_reporting_gives_the_first(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'report':{'id':'outer'},'crash':{'error':{'type':'mach'}},'recrash_report':{'incomplete':"
        "true," HEAD ",'crash':{'error':{'type':'deadlock'},'threads':[{'index':0,'backtrace':"
        "{'contents':[{'instruction_addr':4294967400}]}}]}}}");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->id, "r-1");
    assert_string_equal(d->stall.kind, "hang");
    check_frames(&d->threads[0].stack, FRAMES(4294967400));
    release_converted(&c);
    c = convert_json_of("{" HEAD ",'incomplete':true,'crash':{'error':{}}}");
    assert_int_equal(only_dump(&c)->thread_count, 0);
    release_converted(&c);
}

static void matrix_types_are_kinds(void **state) {
    (void)state;
    static const struct {
        int type;
        const char *kind, *state;
        bool fatal;
    } cases[] = {{2001, "hang", "foreground", false}, {2002, "hang", "background", false},
                 {2003, "cpu", NULL, false},          {2007, "launch", NULL, false},
                 {2009, "hang", NULL, false},         {2010, "hang", NULL, true},
                 {2011, "cpu", NULL, false},          {2013, "disk-write", NULL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf json = {0};
        strbuf_addf(&json,
                    "{" HEAD ",'crash':{'error':{'type':'user','user_reported':{'dump_type':"
                    "%d}},'threads':[]}}",
                    cases[i].type);
        struct converted c = convert_json_of(strbuf_cstr(&json));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->stall.kind, cases[i].kind);
        assert_int_equal(d->stall.fatal, cases[i].fatal);
        if (cases[i].state) {
            assert_string_equal(d->stall.app_state, cases[i].state);
        }
        assert_non_null(strstr(d->text, "\"format\":\"matrix\""));
        release_converted(&c);
        strbuf_release(&json);
    }
}

static void trees_become_counted_stacks(void **state) {
    (void)state;
    /* 10 samples passed through the root: 3 ended there, 5 in the first child, 2 below the second
     * child. */
    struct converted c = convert_json_of(
        "{" HEAD
        ",'dump_type':2011,'stack_string':[{'instruction_addr':4294967400,'repeat_count':10,"
        "'child':[{'instruction_addr':4294967500,'repeat_count':5},{'instruction_addr':4294967600,"
        "'repeat_count':2,'child':[{'instruction_addr':4294967700,'repeat_count':2}]}]}]}");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "cpu");
    assert_int_equal(d->sample_count, 3);
    assert_int_equal(d->samples[0].count, 3);
    check_frames(&d->samples[0], FRAMES(4294967400));
    assert_int_equal(d->samples[1].count, 5);
    check_frames(&d->samples[1], FRAMES(4294967500, 4294967400));
    assert_int_equal(d->samples[2].count, 2);
    check_frames(&d->samples[2], FRAMES(4294967700, 4294967600, 4294967400));
    release_converted(&c);
}

static void a_tree_may_be_text_and_have_other_names(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{" HEAD ",'dump_type':2011,'stack_string':'[{\\u0022instruction_address\\u0022:4294967400,"
        "\\u0022sample\\u0022:4}]'}");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->sample_count, 1);
    assert_int_equal(d->samples[0].count, 4);
    check_frames(&d->samples[0], FRAMES(4294967400));
    release_converted(&c);
    c = convert_json_of("{" HEAD
                        ",'dump_type':2011,'stack_string':'4(BG:0) main'}"); /* not a tree */
    assert_int_equal(only_dump(&c)->sample_count, 0);
    release_converted(&c);
}

static void a_list_gives_a_dump_for_each_report(void **state) {
    (void)state;
#define ONE(id) "{'report':{'id':'" id "'},'binary_images':[],'crash':{'threads':[]}}"
    struct converted c = convert_json_of("[" ONE("a") "," ONE("b") "]");
    assert_int_equal(c.st, ST_OK);
    assert_int_equal(c.count, 2);
    assert_string_equal(c.dumps[0].id, "a");
    assert_string_equal(c.dumps[1].id, "b");
    release_converted(&c);
    c = convert_json_of("[" ONE("a") ",7," ONE(
        "b") "]"); /* an element that is not a report does not affect the others */
    assert_int_equal(c.st, ST_ERR);
    assert_string_equal(c.err.text, "element 1: not a report");
    assert_int_equal(c.count, 2);
    release_converted(&c);
}

static void what_is_no_report_is_left_alone(void **state) {
    (void)state;
    static const char *const others[] = {"{}",   "{'format':'stall-dump/1','crash':{},'report':{}}",
                                         "[]",   "[1]",
                                         "42",   "'x'",
                                         "oops", "",
                                         "  ",   "{'format':'stall-session/1'}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct converted c = convert_json_of(others[i]);
        assert_int_equal(c.st, ST_NONE);
        assert_int_equal(c.count, 0);
    }
}

static void damage_is_refused(void **state) {
    (void)state;
    check_refused("{'report':{},'crash':{'threads':[", "cut short");
    check_refused("{'report':{},'crash':{'threads':[}]}", "not JSON at column 34");
}

static void an_unreadable_frame_keeps_its_place(void **state) {
    (void)state;
    struct converted c =
        convert_json_of("{'report':{},'crash':{'threads':[{'backtrace':{'contents':[{},{"
                        "'instruction_addr':7},{'instruction_addr':'x'}]}}]}}");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->threads[0].stack.frame_count, 3);
    assert_int_equal(d->threads[0].stack.frames[0], 0);
    assert_int_equal(d->threads[0].stack.frames[1], 7);
    assert_int_equal(d->threads[0].stack.frames[2], 0);
    assert_string_equal(d->lack, "2 frames that could not be read");
    release_converted(&c);
}

static void a_report_without_a_thread_lacks_a_stack(void **state) {
    (void)state;
    struct converted c = convert_json_of("{'report':{},'crash':{'error':{'type':'hang'}}}");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 0);
    assert_string_equal(d->lack, "a stack: the report has no thread");
    release_converted(&c);
}

static void nesting_past_the_limit_is_refused(void **state) {
    (void)state;
    struct strbuf json = {0};
    strbuf_addstr(&json, "{'report':{},'crash':{},'x':");
    for (int i = 0; i < DUMP_DEPTH_MAX - 1; i++) {
        strbuf_addc(&json, '[');
    }
    for (int i = 0; i < DUMP_DEPTH_MAX - 1; i++) {
        strbuf_addc(&json, ']');
    }
    strbuf_addc(&json, '}');
    check_refused(strbuf_cstr(&json), "nested too deep");
    strbuf_release(&json);
}

/* A chain of nodes, each of which has samples of its own, unfolds to as many frames as the square
 * of its length. */
static void a_tree_that_unfolds_without_end_is_refused(void **state) {
    (void)state;
    struct strbuf json = {0};
    enum { DEPTH = 900, CHAINS = 8 };
    strbuf_addstr(&json, "{'report':{},'dump_type':2011,'stack_string':[");
    for (int k = 0; k < CHAINS; k++) {
        strbuf_addstr(&json, k ? "," : "");
        for (int i = 0; i < DEPTH; i++) {
            strbuf_addf(&json, "{'instruction_addr':%d,'repeat_count':%d,'child':[", i + 1,
                        DEPTH - i);
        }
        for (int i = 0; i < DEPTH; i++) {
            strbuf_addstr(&json, "]}");
        }
    }
    strbuf_addstr(&json, "]}");
    check_refused(strbuf_cstr(&json), "unfold to more than");
    strbuf_release(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_images_and_names_are_taken),
        cmocka_unit_test(signed_and_negative_addresses_are_stripped),
        cmocka_unit_test(a_hang_has_its_length),
        cmocka_unit_test(a_crash_is_no_stall),
        cmocka_unit_test(a_report_of_a_crash_while_reporting_gives_the_first),
        cmocka_unit_test(matrix_types_are_kinds),
        cmocka_unit_test(trees_become_counted_stacks),
        cmocka_unit_test(a_tree_may_be_text_and_have_other_names),
        cmocka_unit_test(a_list_gives_a_dump_for_each_report),
        cmocka_unit_test(what_is_no_report_is_left_alone),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(an_unreadable_frame_keeps_its_place),
        cmocka_unit_test(a_report_without_a_thread_lacks_a_stack),
        cmocka_unit_test(nesting_past_the_limit_is_refused),
        cmocka_unit_test(a_tree_that_unfolds_without_end_is_refused),
    };
    return cmocka_run_group_tests_name("report_kscrash", tests, NULL, NULL);
}
