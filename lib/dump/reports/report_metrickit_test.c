#include "dump/reports/report_support_test.h"

#define FRAME(name, uuid, address, offset, count)                                                  \
    "'binaryName':'" name "','binaryUUID':'" uuid "','address':" #address                          \
    ",'offsetIntoBinaryTextSegment':" #offset ",'sampleCount':" #count
#define SHOP "4C4C442C-5555-3144-A1DE-7AABF56A019C"
#define DYLD "37CFB067-E82D-4913-9D17-738871D56B2F"
#define KERN "3F1A5622-A1EF-44A2-9E85-A57BACC7D2C5"
#define META                                                                                       \
    "'appVersion':'5.3.1','appBuildVersion':'1234','bundleIdentifier':'com.example.shop',"         \
    "'deviceType':'iPhone13,3','osVersion':'iPhone OS 18.7 "                                       \
    "(22H20)','platformArchitecture':'arm64e'"

/* A tree: main (in dyld) calls Shop in 10 samples, 4 of which continue into the kernel. */
#define TREE                                                                                       \
    "{" FRAME("dyld", DYLD, 7000001000, 1000, 10) ",'subFrames':[{" FRAME(                         \
        "Shop", SHOP, 4300002000, 2000,                                                            \
        10) ",'subFrames':[{" FRAME("libsystem_kernel.dylib", KERN, 7500003000, 3000, 4) "}]}]}"
#define HANG(meta)                                                                                 \
    "{'version':'1.0.0','callStackTree':{'callStackPerThread':true,'callStacks':[{"                \
    "'threadAttributed':true,'callStackRootFrames':[" TREE "]}]},'diagnosticMetaData':{" META meta \
    "}}"

static void a_sampled_tree_becomes_counted_stacks(void **state) {
    (void)state;
    struct converted c = convert_json_of(HANG(",'hangDuration':'1,5 s'"));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "hang");
    assert_int_equal(d->stall.duration_ms, 1500);
    assert_int_equal(dump_span_ms(d), 1500);
    assert_int_equal(d->sample_count, 2);
    assert_int_equal(d->samples[0].count, 6); /* 10 - 4 samples ended there */
    check_frames(&d->samples[0], FRAMES(4300002000, 7000001000));
    assert_int_equal(d->samples[1].count, 4);
    check_frames(&d->samples[1], FRAMES(7500003000, 4300002000, 7000001000));
    assert_int_equal(d->thread_count, 1);
    assert_true(d->threads[0].main);
    check_frames(&d->threads[0].stack, FRAMES(4300002000, 7000001000)); /* the heaviest stack */
    assert_int_equal(d->image_count, 3);
    assert_string_equal(d->app.version, "5.3.1");
    assert_string_equal(d->device.os, "iOS 18.7");
    assert_string_equal(d->device.arch, "arm64e");
    release_converted(&c);
}

/* Since iOS 18 an offset is that of the byte before the return address, but the address is the
 * return address itself. */
static void an_offset_may_be_of_the_byte_before(void **state) {
    (void)state;
    struct converted c =
        convert_json_of("{'callStackPerThread':false,'callStacks':[{'callStackRootFrames':[{" FRAME(
            "dyld", DYLD, 7000101892, 1027,
            1) ",'subFrames':[{" FRAME("Shop", SHOP, 4300204048, 2063,
                                       1) ",'subFrames':[{" FRAME("Shop", SHOP, 4300203048, 1064,
                                                                  1) "}]}]}]}]}");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->image_count, 2);
    assert_int_equal(d->images[0].load, 7000100864);
    assert_int_equal(d->images[1].load, 4300201984);
    assert_int_equal(d->images[0].load % 4096 + d->images[1].load % 4096, 0);
    check_frames(&d->samples[0], FRAMES(4300203048, 4300204048, 7000101892));
    release_converted(&c);
}

static void an_offset_may_be_the_load_address(void **state) {
    (void)state;
    struct converted c =
        convert_json_of("{'callStackPerThread':false,'callStacks':[{'callStackRootFrames':[{" FRAME(
            "dyld", DYLD, 7000001000, 7000000000,
            1) ",'subFrames':[{" FRAME("Shop", SHOP, 4300002000, 2000, 1) "}]}]}]}");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->image_count, 2);
    assert_int_equal(d->images[0].load, 7000000000);
    assert_int_equal(d->images[1].load, 4300000000);
    assert_true(d->images[1].in_app && !d->images[0].in_app);
    check_frames(&d->samples[0], FRAMES(4300002000, 7000001000));
    release_converted(&c);
}

/* Two launches loaded the app at different addresses: the dump has one image, and frames are placed
 * by their offsets. */
static void launches_are_brought_together(void **state) {
    (void)state;
    struct converted c =
        convert_json_of("{'callStackPerThread':false,'callStacks':[{'callStackRootFrames':[{" FRAME(
            "Shop", SHOP, 4295034880, 67584,
            1) "},{" FRAME("Shop", SHOP, 4563470336, 67584,
                           3) "}]},"
                              "{'callStackRootFrames':[{" FRAME("Other", KERN, 4295040000, 5120,
                                                                2) "}]}]}");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->image_count, 2);
    assert_int_equal(d->images[0].load, 4294967296);
    assert_int_equal(d->samples[0].frames[0], 4294967296 + 67584);
    assert_int_equal(d->samples[1].frames[0], 4294967296 + 67584);
    /* In its own launch, the third image was loaded where the first one lies here, so that it gets
     * another address. */
    int32_t other = dump_image_at(d, d->samples[2].frames[0]);
    assert_int_equal(other, 1);
    assert_int_equal(d->samples[2].frames[0] - d->images[other].load, 5120);
    release_converted(&c);
}

static void a_crash_runs_from_the_innermost_frame(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'callStackTree':{'callStackPerThread':true,'callStacks':[{'threadAttributed':false,"
        "'callStackRootFrames':[{" FRAME(
            "Other", KERN, 7500003000, 3000,
            1) "}]},{'threadAttributed':"
               "true,'callStackRootFrames':[{" FRAME(
                   "Shop", SHOP, 4300002000, 2000,
                   1) ",'subFrames':[{" FRAME("Shop", SHOP, 4300004000, 4000,
                                              1) "}]}]}]},'diagnosticMetaData':{'signal':11," META
                                                 "}}");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "crash");
    assert_true(d->stall.fatal);
    assert_int_equal(d->sample_count, 0);
    assert_int_equal(d->thread_count, 2);
    assert_true(d->threads[1].main);
    check_frames(&d->threads[1].stack, FRAMES(4300002000, 4300004000));
    release_converted(&c);
}

/* The direction of a tree does not depend on the kind: no thread ends in dyld, and none begins in
 * the kernel. */
static void the_direction_is_seen_in_the_frames(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'callStackTree':{'callStackPerThread':true,'callStacks':[{'threadAttributed':true,"
        "'callStackRootFrames':[{" FRAME(
            "libsystem_kernel.dylib", KERN, 7500003000, 3000,
            20) ",'subFrames':[{" FRAME("Shop", SHOP, 4300002000, 2000,
                                        20) "}]}]}]},'diagnosticMetaData':"
                                            "{'hangDuration':'2 sec'}}");
    check_frames(&only_dump(&c)->samples[0], FRAMES(7500003000, 4300002000));
    release_converted(&c);
}

static void the_watchdog_is_no_crash(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'callStackTree':{'callStackPerThread':true,'callStacks':[]},'diagnosticMetaData':{'"
        "signal':9,"
        "'terminationReason':'code:0x8BADF00D exhausted real (wall clock) time allowance of 10.00 "
        "seconds Elapsed application CPU time (seconds): 2.5, 1% CPU'}}");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "watchdog");
    assert_true(d->stall.fatal);
    assert_int_equal(d->stall.duration_ms, 10000);
    assert_int_equal(d->stall.cpu_permille, 250);
    release_converted(&c);
}

static void a_payload_gives_a_dump_for_each_diagnostic(void **state) {
    (void)state;
#define PAYLOAD                                                                                    \
    "{'timeStampBegin':'x','hangDiagnostics':[" HANG("") "," HANG(                                 \
        "") "],'new':{'kept':1},"                                                                  \
            "'cpuExceptionDiagnostics':[{'callStackTree':7}," HANG(                                \
                ",'totalCPUTime':'20 "                                                             \
                "sec','totalSampledTime':'40 "                                                     \
                "sec'") "],"                                                                       \
                        "'diskWriteExceptionDi"                                                    \
                        "agnostics':[" HANG(                                                       \
                            "") "],'"                                                              \
                                "appLaunchDiag"                                                    \
                                "nostics':"                                                        \
                                "[" HANG(",'"                                                      \
                                         "laun"                                                    \
                                         "chDu"                                                    \
                                         "rati"                                                    \
                                         "on':"                                                    \
                                         "'900"                                                    \
                                         " ms"                                                     \
                                         "'") "],'timeStampEnd':'2026-11-20 09:30:00 +0000'}"
    struct converted c = convert_json_of(PAYLOAD), again = convert_json_of(PAYLOAD);
    /* The diagnostic without a tree is refused, which does not affect the others. */
    assert_int_equal(c.st, ST_ERR);
    assert_string_equal(
        c.err.text, "cpuExceptionDiagnostics[0]: a MetricKit diagnostic without \"callStacks\"");
    assert_int_equal(c.count, 5);
    static const char *const kinds[] = {"hang", "hang", "cpu", "disk-write", "launch"};
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(c.dumps[i].stall.kind, kinds[i]);
        assert_string_equal(c.dumps[i].time, "2026-11-20T09:30:00.000Z");
        assert_non_null(strstr(c.dumps[i].text, "\"payload\":{\"timeStampBegin\":\"x\",\"new\":"
                                                "{\"kept\":1},\"timeStampEnd\":"));
        assert_int_equal(strlen(c.dumps[i].id), 36);
        assert_string_equal(c.dumps[i].id, again.dumps[i].id); /* computed from the content */
    }
    assert_string_not_equal(c.dumps[0].id, c.dumps[1].id); /* two equal hangs get two ids */
    assert_int_equal(c.dumps[2].stall.cpu_permille, 500);
    assert_int_equal(c.dumps[4].stall.duration_ms, 900);
    release_converted(&c);
    release_converted(&again);
}

static void a_tree_alone_is_what_its_samples_look_like(void **state) {
    (void)state;
#define BARE(per_thread, count)                                                                    \
    "{'callStackPerThread':" per_thread ",'callStacks':[{'callStackRootFrames':[{"                 \
    "'address':7000101892,'sampleCount':" count "}]}]}"
    static const struct {
        const char *json, *kind, *reason;
    } cases[] = {
        {BARE("false", "9"), "cpu", "use of the processor or of the disk"},
        {BARE("false", "1"), "cpu", "use of the processor or of the disk"},
        {BARE("true", "9"), "hang", "samples by thread"},
        {BARE("true", "1"), "crash", "one stack of each thread"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct converted c = convert_json_of(cases[i].json);
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->stall.kind, cases[i].kind);
        assert_non_null(strstr(d->text, cases[i].reason));
        /* The payload does not say whether the process was ended. */
        assert_false(d->stall.fatal || d->stall.ended);
        release_converted(&c);
    }
}

static void odd_trees_do_no_harm(void **state) {
    (void)state;
    static const char *const trees[] = {
        "{'callStacks':[],'callStackTree':{'callStacks':[]}}",
        "{'callStacks':[{'callStackRootFrames':[{'address':-1,'sampleCount':-5},{'address':'x'},"
        "{'offsetIntoBinaryTextSegment':18446744073709551615,'binaryUUID':'x'},"
        "{'address':18446744073709551615,'offsetIntoBinaryTextSegment':1,'binaryUUID':'y'},"
        "{'address':0,'offsetIntoBinaryTextSegment':0,'binaryUUID':'z','sampleCount':1099511627776}"
        "]}]}"};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        struct converted c = convert_json_of(trees[i]);
        (void)only_dump(&c);
        release_converted(&c);
    }
    check_refused("{'callStacks':[]}", "a call stack tree without a frame");
    check_refused(
        "{'callStacks':[7,null,{'callStackRootFrames':{}},{'callStackRootFrames':[7,[],{}]}]}",
        "a call stack tree without a frame");
    /* a diagnostic by itself is read, and its "lack" names what is missing */
    struct converted c = convert_json_of("{'diagnosticMetaData':{'hangDuration':'2 sec'},"
                                         "'callStackTree':{'callStacks':[{}]}}");
    assert_int_equal(only_dump(&c)->stall.duration_ms, 2000);
    assert_string_equal(only_dump(&c)->lack, "stacks: no thread has a frame");
    release_converted(&c);
    check_refused("{'hangDiagnostics':[]}", "a MetricKit payload without a diagnostic");
    check_refused("{'callStacks':[{'callStackRootFrames':[", "cut short");
}

/* ---- iOS 27 ---- */

#define SWIFT_FRAME(uuid, address, offset, count)                                                  \
    "'binaryUUID':'" uuid "','address':" #address ",'offsetIntoBinaryTextSegment':" #offset        \
    ",'sampleCount':" #count
#define SWIFT_TREE(info)                                                                           \
    "'callStackTree':{'callStackPerThread':true,'binaryInfo':" info                                \
    ",'callStackThreads':[{'threadAttributed':true,'rootFrames':[{" SWIFT_FRAME(                   \
        DYLD, 7000001024, 1024, 10) ",'subFrames':[{" SWIFT_FRAME(SHOP, 4300001984, 1984,          \
                                                                  10) ",'subFrames':[]}]}]}]}"
#define SWIFT_REPORT(end, diagnostic)                                                              \
    "{'timeRange':{'begin':0,'end':" end "},'environment':{'bundleIdentifier':'com.example.shop'," \
    "'applicationVersion':'5.3.1','applicationBuildVersion':'1234','deviceType':'iPhone18,1',"     \
    "'osVersion':{'platform':'iOS','number':'27.0','buildNumber':'24A300'},"                       \
    "'platformArchitecture':'arm64e','states':[]}," diagnostic "}"

static void a_report_of_ios_27_has_another_structure(void **state) {
    static const char *const names[] = {
        "[{'uuid':'" SHOP "','name':'Shop'},{'uuid':'" DYLD "','name':'dyld'}]",
        "['" SHOP "',{'name':'Shop'},'" DYLD "',{'name':'dyld'}]",
        "{'" SHOP "':{'name':'Shop'},'" DYLD "':{'uuid':'" DYLD "','name':'dyld'}}"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct strbuf json = {0};
        const char *text = SWIFT_REPORT("816949200", "'hangDiagnostic':{'hangDuration':{'value':"
                                                     "2.5,'unit':'s'}," SWIFT_TREE("@") "}");
        const char *hole = strchr(text, '@');
        strbuf_add(&json, text, (size_t)(hole - text));
        strbuf_addf(&json, "%s%s", names[i], hole + 1);
        struct converted c = convert_json_of(strbuf_cstr(&json));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->stall.kind, "hang");
        assert_int_equal(d->stall.duration_ms, 2500);
        assert_string_equal(d->time, "2026-11-21T10:20:00.000Z");
        assert_string_equal(d->app.id, "com.example.shop");
        assert_string_equal(d->app.version, "5.3.1");
        assert_string_equal(d->app.build, "1234");
        assert_string_equal(d->device.os, "iOS 27.0");
        assert_string_equal(d->device.os_build, "24A300");
        assert_string_equal(d->device.model, "iPhone18,1");
        check_frames(&d->threads[0].stack, FRAMES(4300001984, 7000001024));
        assert_string_equal(dump_image_name(&d->images[0]), "dyld");
        assert_string_equal(dump_image_name(&d->images[1]), "Shop");
        assert_int_equal(d->images[1].load, 4300000000);
        assert_null(d->lack);
        release_converted(&c);
        strbuf_release(&json);
    }
}

static void a_measurement_of_ios_27_has_a_unit(void **state) {
    static const struct {
        const char *value;
        int64_t ms;
    } rows[] = {
        {"2", 2000},
        {"{'value':2500,'unit':'ms'}", 2500},
        {"{'value':2.5,'unit':{'symbol':'s','converter':{'coefficient':1,'constant':0}}}", 2500},
        {"{'value':1,'unit':'min'}", 60000},
        {"{'value':1,'unit':'parsec'}", -1},
        {"{'value':'1','unit':'s'}", -1},
        {"{'value':-1,'unit':'s'}", -1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf json = {0};
        const char *text =
            SWIFT_REPORT("'2026-11-21T10:20:00Z'", "'hang':{'_0':{" SWIFT_TREE("[]") ",@}}");
        const char *hole = strchr(text, '@');
        strbuf_add(&json, text, (size_t)(hole - text));
        strbuf_addf(&json, "'hangDuration':%s%s", rows[i].value, hole + 1);
        struct converted c = convert_json_of(strbuf_cstr(&json));
        assert_int_equal(only_dump(&c)->stall.duration_ms, rows[i].ms);
        assert_string_equal(only_dump(&c)->time, "2026-11-21T10:20:00.000Z");
        release_converted(&c);
        strbuf_release(&json);
    }
}

static void a_memory_exception_is_a_fatal_crash(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        SWIFT_REPORT("1795256400", "'memoryExceptionDiagnostic':{" SWIFT_TREE("[]") "}"));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "crash");
    assert_true(d->stall.fatal);
    assert_string_equal(d->time, "2026-11-21T10:20:00.000Z"); /* the app's choice: since 1970 */
    release_converted(&c);
    c = convert_json_of("{'version':'2.0.0','timeRange':{'begin':0,'end':1},'environment':{},"
                        "'intervalEntries':[],'stateEntries':[]}");
    assert_int_equal(c.st, ST_NONE); /* metrics */
    release_converted(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_of_ios_27_has_another_structure),
        cmocka_unit_test(a_measurement_of_ios_27_has_a_unit),
        cmocka_unit_test(a_memory_exception_is_a_fatal_crash),
        cmocka_unit_test(a_sampled_tree_becomes_counted_stacks),
        cmocka_unit_test(an_offset_may_be_of_the_byte_before),
        cmocka_unit_test(an_offset_may_be_the_load_address),
        cmocka_unit_test(launches_are_brought_together),
        cmocka_unit_test(a_crash_runs_from_the_innermost_frame),
        cmocka_unit_test(the_direction_is_seen_in_the_frames),
        cmocka_unit_test(the_watchdog_is_no_crash),
        cmocka_unit_test(a_payload_gives_a_dump_for_each_diagnostic),
        cmocka_unit_test(a_tree_alone_is_what_its_samples_look_like),
        cmocka_unit_test(odd_trees_do_no_harm),
    };
    return cmocka_run_group_tests_name("report_metrickit", tests, NULL, NULL);
}
