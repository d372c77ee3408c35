/* Tests of what a report is about: the app, the thread and the image of a frame. */
#include "base/parse.h"
#include "dump/reports/report_support_test.h"

/* An .ips of a program without a bundle; %s: further members of its body. */
static void check_app_of_ips(const char *members, const char *app) {
    struct strbuf json = {0};
    strbuf_addf(&json,
                "{'bug_type':'309','app_name':'sleep'}\n{%s,'coalitionName':'com.example.terminal',"
                "'procName':'sleep','usedImages':[],'threads':[{'triggered':true,'frames':[]}]}",
                members);
    struct converted c = convert_json_of(strbuf_cstr(&json));
    assert_string_equal(only_dump(&c)->app.id, app);
    release_converted(&c);
    strbuf_release(&json);
}

static void a_program_is_not_its_terminal(void **state) {
    (void)state;
    check_app_of_ips("'osVersion':{'train':'macOS 12.1'}", "sleep");
    check_app_of_ips("'osVersion':{'train':'iPhone OS 16.1'},'responsibleProc':'Term'", "sleep");
    check_app_of_ips("'osVersion':{'train':'iPhone OS 16.1'},'responsibleProc':'sleep'",
                     "com.example.terminal");
    check_app_of_ips("'osVersion':{'train':'iPhone OS 16.1'}", "com.example.terminal");
}

/* The end of the only listed image is not known: what frames say of their images counts. */
static void a_sampled_frame_lies_in_the_image_that_it_names(void **state) {
    (void)state;
    struct converted c =
        convert_text_of("Date/Time:        2026-11-20 10:12:44.120 +0100\nOS Version:       iPhone "
                        "OS 14.2 (18B92)\n"
                        "Architecture:     arm64e\n\nCommand:          defragd\nEvent:            "
                        "cpu usage\nSteps:            18\n\n"
                        "Powerstats for:   defragd [7877]\nUUID:             "
                        "047D42ED-E41C-38AE-81BE-E4ABCF05A703\nStart time:       x\n"
                        "  18  ??? (libsystem_pthread.dylib + 14340) [0x1db258804]\n"
                        "    18  ??? (libdispatch.dylib + 89464) [0x19146ad78]\n"
                        "      18  ??? (defragd + 18536) [0x104f30868]\n"
                        "  Binary Images:\n           0x104f2c000 -                ???  defragd  "
                        "<047D42ED-E41C-38AE-81BE-E4ABCF05A703>  /usr/libexec/defragd\n");
    const struct dump *d = only_dump(&c);
    static const char *const names[] = {"defragd", "libdispatch.dylib", "libsystem_pthread.dylib"};
    static const uint64_t loads[] = {0x104f2c000, 0x191455000, 0x1db255000};
    assert_string_equal(d->app.id, "defragd");
    assert_int_equal(d->image_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const uint64_t address = d->threads[0].stack.frames[i];
        const int32_t at = dump_image_at(d, address);
        assert_true(at >= 0);
        const struct dump_image *image = &d->images[at];
        assert_string_equal(image->name, names[i]);
        assert_int_equal(image->load, loads[i]);
        assert_int_equal(image->in_app, i == 0);
    }
    assert_string_equal(d->lack, "2 images that \"Binary Images\" leaves out");
    release_converted(&c);
}

static void a_crashed_thread_may_have_a_name_behind_the_colon(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Process:   Shop [667]\nIdentifier:   com.example.shop\n\nThread 0:\n"
        "0   Shop   0x0000000100000010 f + 16\n\nThread 1 Crashed: Test thread\n"
        "0   Shop   0x0000000100000020 g + 16\n\nThread 2 Crashed: 0   Shop  0x100000010 f + 16\n"
        "\nBinary Images:\n0x100000000 - 0x10000ffff Shop arm64  <> /x/Shop\n");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->threads[1].name, "Test thread");
    assert_null(d->threads[2].name);
    release_converted(&c);
}

#define IDLE "swapper 0 [001] 1.0: 9 cycles: \n\t1 idle ([kernel])\n\n"
#define SHOP "shop 7 [001] 1.1: 9 cycles: \n\t2 f (/x/shop)\n\n"

static void the_idle_task_of_perf_is_no_program(void **state) {
    (void)state;
    struct converted c = convert_text_of(IDLE IDLE SHOP IDLE);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->app.id, "shop");
    assert_int_equal(d->thread_count, 1);
    assert_int_equal(d->sample_count, 1);
    assert_string_equal(d->lack, "3 samples of the idle task, which were left out");
    release_converted(&c);
    c = convert_text_of(IDLE IDLE);
    assert_int_equal(c.st, ST_ERR);
    release_converted(&c);
}

/* perf records the name that a program had before and after it ran another one. */
static void a_process_of_perf_is_called_as_its_last_program(void **state) {
    (void)state;
    struct converted c =
        convert_text_of("run 7/7 1.0: 9 cycles: \n\t1 f (/x/run)\n\nrun 7/7 1.1: 9 cycles: \n"
                        "\t1 f (/x/run)\n\nlogger 7/7 1.2: 9 cycles: \n\t2 g (/x/logger)\n\n");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->app.id, "logger");
    assert_string_equal(d->threads[0].name, "logger");
    release_converted(&c);
}

static void an_event_of_sentry_without_an_id_is_read(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'sdk':{'name':'sentry-cordova'},'release':'a1','exception':[{'type':'Error','value':'x',"
        "'stacktrace':{'frames':[{'function':'f','filename':'app.js','lineno':2}]}}]}");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.detector, "sentry");
    assert_int_equal(d->threads[0].stack.frame_count, 1);
    release_converted(&c);
}

/* Sentry makes events of MetricKit's diagnostics. */
static void a_diagnostic_in_an_event_keeps_its_kind(void **state) {
    static const struct {
        const char *type, *mechanism, *value, *kind;
        int64_t duration_ms, cpu_ms, at_ms;
    } rows[] = {
        {"MXHangDiagnostic", "mx_hang_diagnostic", "MXHangDiagnostic hangDuration:20 sec", "hang",
         20000, -1, -1},
        {"MXHangDiagnostic", "x", "MXHangDiagnostic hangDuration:350 ms", "hang", 350, -1, -1},
        {"MXCPUException", "mx_cpu_exception",
         "MXCPUException totalCPUTime:1.5 min totalSampledTime:3 min", "cpu", -1, 90000, -1},
        {"MXDiskWriteException", "mx_disk_write_exception",
         "MXDiskWriteException totalWritesCaused:2 GB", "disk-write", -1, -1, -1},
        {"App Hanging", "AppHang", "App hang detected: 3.2 sec", "hang", 3200, -1, -1},
        {"MXHangDiagnostic", "mx_hang_diagnostic", "App hang detected: 3.2 sec", "hang", 3200, -1,
         -1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf json = {0};
        strbuf_addf(&json,
                    "{'event_id':'a','exception':{'values':[{'type':'%s','value':'%s',"
                    "'mechanism':{'type':'%s'},'stacktrace':{'frames':[{'function':'f'}]}}]}}",
                    rows[i].type, rows[i].value, rows[i].mechanism);
        struct converted c = convert_json_of(strbuf_cstr(&json));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->stall.kind, rows[i].kind);
        assert_int_equal(d->stall.duration_ms, rows[i].duration_ms);
        assert_int_equal(strstr(d->text, "\"cpu_ms\":90000") != NULL, rows[i].cpu_ms == 90000);
        assert_int_equal(d->stall.at_ms, rows[i].at_ms);
        release_converted(&c);
        strbuf_release(&json);
    }
}

/* "rel:N": the address is an offset in image N of the list, an element of which may be unusable. */
static void an_address_of_sentry_may_be_relative_to_an_image(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'event_id':'a','exception':{'values':[{'type':'E','stacktrace':{'frames':["
        "{'instruction_addr':'0x20','addr_mode':'rel:2','function':'f'},"
        "{'instruction_addr':'0x30','addr_mode':'rel:2','function_id':'0x6','function':'il'},"
        "{'instruction_addr':'0x1000','addr_mode':'rel:9'},"
        "{'instruction_addr':'0x100','addr_mode':'rel:1'}]}}]},'debug_meta':{'images':[7,"
        "{'type':'wasm','debug_id':'00000000-0000-4000-8000-000000000001','code_file':'a.wasm'},"
        "{'type':'macho','debug_id':'00000000-0000-4000-8000-000000000002','code_file':'/x/Shop',"
        "'image_addr':'0x100000000','image_size':4096}]}}");
    const struct dump *d = only_dump(&c);
    const uint64_t *frames = d->threads[0].stack.frames;
    assert_int_equal(d->threads[0].stack.frame_count, 4);
    const int32_t wasm = dump_image_at(d, frames[0]);
    assert_string_equal(d->images[wasm].name, "a.wasm");
    assert_int_equal(frames[0] - d->images[wasm].load, 0x100);
    assert_int_equal(frames[1], 0); /* there is no image 9 */
    assert_int_equal(dump_image_at(d, frames[2]), -1);
    assert_string_equal(dump_name_at(d, frames[2])->symbol, "il");
    assert_int_equal(frames[3], 0x100000020);
    assert_string_equal(d->lack, "1 frame that could not be read");
    release_converted(&c);
}

static void a_report_of_kscrash_without_its_crash_says_so(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'report':{'id':'k-1','type':'standard'},'system':{'CFBundleIdentifier':'com.example'},"
        "'binary_images':[{'name':'/x/Shop','image_addr':4096,'image_size':4096}]}");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->app.id, "com.example");
    assert_string_equal(d->lack, "a stack: the report has no thread");
    release_converted(&c);
}

static void a_crashed_thread_of_kscrash_without_a_stack_is_told(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'report':{'id':'k-2','type':'standard','process_name':'shopd'},'system':{},"
        "'binary_images':[],'crash':{'error':{'type':'signal'},'threads':[{'index':0,"
        "'crashed':true},{'index':1,'backtrace':{'contents':[{'instruction_addr':4096}]}}]}}");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->app.id, "shopd");
    assert_string_equal(d->lack, "the stack of the thread that crashed");
    release_converted(&c);
}

#define SAMPLED(event)                                                                             \
    "Date/Time:        2026-11-20 10:12:44.120 +0100\nOS Version:       macOS 12.7 (21H1)\n" event \
    "Steps:            18\n\nProcess:          Shop [301]\nPath:             /x/Shop.app/Shop\n"   \
    "  Thread 0x2ca9e    18 samples (1-18)\n"                                                      \
    "  18  static App.$main() + 35 (App.swift:31,1 in Shop + 4112) [0x100001010]\n"                \
    "    18  f + 9 (App.swift in Shop + 4128) [0x100001020]\n"                                     \
    "      18  g (Shop + 4144) [0x100001030]\n"

static void a_sampled_frame_may_have_a_source_line(void **state) {
    (void)state;
    struct converted c = convert_text_of(SAMPLED("Event:            hang\n"));
    const struct dump *d = only_dump(&c);
    const struct dump_name *name = dump_name_at(d, 0x100001010);
    assert_string_equal(name->symbol, "static App.$main()");
    assert_string_equal(name->file, "App.swift");
    assert_int_equal(name->line, 31);
    assert_int_equal(name->offset, 35);
    name = dump_name_at(d, 0x100001020);
    assert_string_equal(name->symbol, "f");
    assert_null(name->file);
    assert_int_equal(d->image_count, 1);
    assert_string_equal(d->images[0].name, "Shop");
    assert_int_equal(d->images[0].load, 0x100000000);
    release_converted(&c);
}

static void images_that_frames_name_by_uuid_have_it(void **state) {
    static const char id[] = "2C0AFA56-1233-3107-911D-9873BEA0C202";
    (void)state;
    struct converted c = convert_text_of(
        "Date/Time:        2026-11-20 10:12:44.120 +0100\nOS Version:       macOS 12.7 (21H1)\n"
        "Command:          Server\nPath:             UNKNOWN PATH\nEvent:            hang\n"
        "Steps:            18\n\nProcess:          Server [301]\n"
        "UUID:             2C0AFA56-1233-3107-911D-9873BEA0C202\n"
        "  Thread 0x2ca9e    18 samples (1-18)\n"
        "  18  ??? (<2C0AFA56-1233-3107-911D-9873BEA0C202> + 4910) [0x10369e32e]\n"
        "    18  ??? (<B87012E0-CA14-37BD-AFD2-ED47ECE1D92D> + 16) [0x103ef0010]\n");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->app.id, "Server");
    assert_int_equal(d->image_count, 2);
    const struct dump_image *image = &d->images[dump_image_at(d, 0x10369e32e)];
    struct image_id own = {0};
    assert_true(parse_uuid(id, strlen(id), &own));
    assert_true(image_id_equal(&image->id, &own));
    assert_string_equal(image->name, "Server");
    image = &d->images[dump_image_at(d, 0x103ef0010)];
    assert_false(image_id_is_zero(&image->id));
    release_converted(&c);
}

static void the_first_line_of_an_ips_tells_the_kind_of_a_text_without_event(void **state) {
    static const char *const types[][2] = {{"145", "disk-write"}, {"142", "cpu"}, {"298", "hang"}};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, "{\"bug_type\":\"%s\",\"name\":\"Shop\"}\n" SAMPLED(""), types[i][0]);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->stall.kind, types[i][1]);
        assert_int_equal(strstr(d->lack, "its event: ") != NULL, i < 2);
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void the_path_of_an_image_may_be_folded_at_a_hyphen(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Process:   Crash-Tester [667]\nIdentifier:   com.example.shop\n\nThread 0:\n"
        "0   Crash-Tester   0x0000000100000010 f + 16\n\nBinary Images:\n"
        "0x100000000 - 0x10000ffff Crash-Tester arm64  <42fd0123456789ab0123456789ab8dfb>\n"
        "/x/Crash-\nTester.app/\nCrash-Tester\n");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->images[0].path, "/x/Crash-Tester.app/Crash-Tester");
    assert_null(d->lack);
    release_converted(&c);
}

static void frames_in_front_of_androids_threads_are_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "----- pid 4242 at 2026-11-20 09:12:44 -----\nCmd line: com.example.shop\n"
        "  native: #01 pc 10  /system/lib64/libc.so (read+4)\n  at a.B.c(B.java:1)\n\n"
        "\"main\" prio=5 tid=1 Native\n  at a.B.c(B.java:1)\n\n----- end 4242 -----\n");
    assert_string_equal(only_dump(&c)->lack, "2 frames whose threads are not told");
    release_converted(&c);
}

static void a_main_thread_without_samples_of_perf_is_told(void **state) {
    (void)state;
    struct converted c = convert_text_of("shop 7/8 1.0: 9 cycles: \n\t1 f (/x/shop)\n\n");
    assert_string_equal(only_dump(&c)->lack,
                        "its main thread, which has no sample: another one stands for it");
    release_converted(&c);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_not_its_terminal),
        cmocka_unit_test(a_sampled_frame_lies_in_the_image_that_it_names),
        cmocka_unit_test(a_crashed_thread_may_have_a_name_behind_the_colon),
        cmocka_unit_test(the_idle_task_of_perf_is_no_program),
        cmocka_unit_test(a_process_of_perf_is_called_as_its_last_program),
        cmocka_unit_test(an_event_of_sentry_without_an_id_is_read),
        cmocka_unit_test(a_diagnostic_in_an_event_keeps_its_kind),
        cmocka_unit_test(a_sampled_frame_may_have_a_source_line),
        cmocka_unit_test(images_that_frames_name_by_uuid_have_it),
        cmocka_unit_test(the_first_line_of_an_ips_tells_the_kind_of_a_text_without_event),
        cmocka_unit_test(the_path_of_an_image_may_be_folded_at_a_hyphen),
        cmocka_unit_test(frames_in_front_of_androids_threads_are_told),
        cmocka_unit_test(a_main_thread_without_samples_of_perf_is_told),
        cmocka_unit_test(an_address_of_sentry_may_be_relative_to_an_image),
        cmocka_unit_test(a_crashed_thread_of_kscrash_without_a_stack_is_told),
        cmocka_unit_test(a_report_of_kscrash_without_its_crash_says_so),
    };
    return cmocka_run_group_tests_name("report_origin", tests, NULL, NULL);
}
