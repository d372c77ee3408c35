#include "dump/reports/report_support_test.h"

#define HEADER                                                                                     \
    "{'app_name':'Shop','bug_type':'309','incident_id':'i-1','bundleID':'com.example.shop',"       \
    "'app_version':'5.3.1','build_version':'1234','os_version':'iPhone OS 18.7 (22H20)',"          \
    "'timestamp':'2026-11-20 10:12:44.00 +0100'}\n"
#define IMAGES                                                                                     \
    "'usedImages':[{'base':4294967296,'size':65536,'uuid':'4c4c442c-5555-3144-a1de-7aabf56a019c'," \
    "'name':'Shop','path':'/private/var/x/Shop.app/Shop','arch':'arm64'},{'base':6442450944,"      \
    "'size':4096,'path':'/usr/lib/libx.dylib'},{'base':0,'size':0,'uuid':"                         \
    "'00000000-0000-0000-0000-000000000000'}]"
#define BODY(more)                                                                                 \
    "{'cpuType':'ARM-64','procRole':'Background','procPath':'/private/var/x/Shop.app/Shop',"       \
    "'captureTime':'2026-11-20 10:12:44.1200 +0100','procLaunch':'2026-11-20 10:12:43.1200 "       \
    "+0100',"                                                                                      \
    "'faultingThread':1," IMAGES ",'threads':[{'id':9,'name':'net','frames':[]},{'id':7,'queue':"  \
    "'com.apple.main-thread','frames':[{'imageIndex':1,'imageOffset':56,'symbol':'wait',"          \
    "'symbolLocation':10},{'imageIndex':0,'imageOffset':104,'symbol':'tap','symbolLocation':4,"    \
    "'sourceFile':'Cart.m','sourceLine':12},{'imageIndex':2,'imageOffset':1}]}]" more "}"

static void frames_of_an_ips_are_image_and_offset(void **state) {
    (void)state;
    struct converted c = convert_json_of(HEADER BODY(",'termination':{'indicator':'Trap'}"));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->id, "i-1");
    assert_string_equal(d->time, "2026-11-20T09:12:44.120Z");
    assert_string_equal(d->app.id, "com.example.shop");
    assert_string_equal(d->app.version, "5.3.1");
    assert_string_equal(d->device.os, "iOS 18.7");
    assert_string_equal(d->device.arch, "arm64");
    assert_string_equal(d->stall.kind, "crash");
    assert_string_equal(d->stall.app_state, "background");
    assert_int_equal(d->thread_count, 2);
    /* The main thread is recognised by its queue, not by its position. */
    assert_true(d->threads[1].main);
    assert_int_equal(d->threads[1].id, 7);
    check_frames(&d->threads[1].stack, FRAMES(6442451000, 4294967400, 1));
    assert_int_equal(d->image_count,
                     2); /* the entry for frames outside of all images is left out */
    assert_true(d->images[0].in_app && !d->images[1].in_app);
    assert_string_equal(d->images[1].name, "libx.dylib");
    assert_int_equal(d->images[1].id.kind, IMAGE_ID_NONE);
    assert_int_equal(d->name_count, 2);
    assert_string_equal(d->names[0].symbol, "tap");
    assert_string_equal(d->names[0].file, "Cart.m");
    assert_int_equal(d->names[0].line, 12);
    assert_null(d->names[1].file);
    assert_non_null(strstr(d->text, "\"since_launch_ms\":1000"));
    assert_non_null(strstr(d->text, "\"crashed\":true"));
    assert_non_null(
        strstr(d->text, "\"report\":{\"format\":\"ips\",\"header\":{\"app_name\":\"Shop\""));
    assert_non_null(strstr(d->text, "\"body\":{\"cpuType\":\"ARM-64\""));
    release_converted(&c);
    c = convert_json_of(BODY("")); /* the body without the header in its first line */
    assert_int_equal(only_dump(&c)->thread_count, 2);
    release_converted(&c);
}

static void the_watchdog_of_an_ips_is_a_stall(void **state) {
    (void)state;
    struct converted c = convert_json_of(HEADER BODY(
        ",'termination':{'code':2343432205,'reasons':['code:0x8BADF00D scene-update exhausted real "
        "(wall clock) time allowance of 10.00 seconds','ProcessVisibility: Foreground',"
        "'Elapsed application CPU time (seconds): 2.270, 11% CPU']}"));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "watchdog");
    assert_true(d->stall.fatal);
    assert_int_equal(d->stall.duration_ms, 10000);
    assert_int_equal(d->stall.cpu_permille, 227);
    assert_string_equal(d->stall.app_state, "foreground");
    assert_non_null(strstr(d->text, "\"cpu_ms\":2270"));
    release_converted(&c);
    c = convert_json_of(
        HEADER BODY(",'termination':{'code':2343432205}")); /* the termination code alone shows that
                                                               the watchdog ended the process */
    assert_string_equal(only_dump(&c)->stall.kind, "watchdog");
    release_converted(&c);
    c = convert_json_of(HEADER BODY(",'termination':{'code':'0x8BADF00D'}"));
    assert_string_equal(only_dump(&c)->stall.kind, "watchdog");
    release_converted(&c);
}

static void a_last_exception_is_a_stack_of_its_own(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        HEADER BODY(",'lastExceptionBacktrace':[{'imageIndex':0,'imageOffset':200}]"));
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 3);
    assert_string_equal(d->threads[2].name, "Last Exception Backtrace");
    check_frames(&d->threads[2].stack, FRAMES(4294967496));
    assert_false(dump_frame_exact(&d->threads[2].stack, 0)); /* the frame is a return address */
    release_converted(&c);
}

static void damage_of_an_ips_is_refused(void **state) {
    (void)state;
    check_refused(HEADER, "an .ips that ends behind its first line");
    check_refused(HEADER "{'threads':[", "cut short");
    check_refused(HEADER "{'bug_type':'298'}", "an .ips of bug_type 309, which holds no threads");
    check_refused(HEADER "words", "without a thread");
}

static void a_frame_in_no_image_of_an_ips_keeps_its_place(void **state) {
    (void)state;
    static const char *const frames[] = {"{'imageIndex':3,'imageOffset':1}",
                                         "{'imageIndex':-1,'imageOffset':1}",
                                         "{'imageIndex':0,'imageOffset':-5}", "{'imageIndex':0}"};
    struct strbuf text = {0};
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        strbuf_clear(&text);
        strbuf_addf(&text,
                    "%s{'threads':[{'frames':[{'imageOffset':77},%s]}],'usedImages':[{'base'"
                    ":4096,'size':4096}]}",
                    HEADER, frames[i]);
        struct converted c = convert_json_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_int_equal(d->threads[0].stack.frame_count, 2);
        assert_int_equal(d->threads[0].stack.frames[0], 77); /* an address in no image */
        assert_int_equal(d->threads[0].stack.frames[1], 0);
        assert_string_equal(d->lack, "1 frame that could not be read");
        release_converted(&c);
    }
    strbuf_release(&text);
}

/* ---- text ---- */

#define TEXT_HEAD                                                                                  \
    "Incident Identifier: i-2\nHardware Model:      iPhone13,3\nProcess:         Shop App [667]\n" \
    "Path:            /var/x/Shop.app/Shop\nIdentifier:      com.example.shop\n"                   \
    "Version:         5.3.1 (1234)\nCode Type:       ARM-64 (Native)\nRole:            "           \
    "Foreground\n"                                                                                 \
    "Date/Time:       2026-11-20 10:12:44.1200 +0100\nLaunch Time:     2026-11-20 10:12:43.1200 "  \
    "+0100\nOS Version:      iPhone OS 18.7 (22H20)\n\n"
#define TEXT_IMAGES                                                                                \
    "Binary Images:\n0x100000000 - 0x10000ffff +Shop arm64  "                                      \
    "<4c4c442c55553144a1de7aabf56a019c> /var/x/Shop.app/Shop\n"                                    \
    "       0x180000000 -        0x180000fff  com.apple.My Lib (1.0 - 2) "                         \
    "<37CFB067-E82D-4913-9D17-738871D56B2F> /usr/lib/My Lib\n"

static void every_style_of_frame_is_read(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        TEXT_HEAD "Exception Type:  EXC_BREAKPOINT (SIGTRAP)\n\n"
                  "Thread 0 name:  Dispatch queue: com.apple.main-thread\nThread 0 Crashed:\n"
                  "0   My Lib                        \t0x0000000180000010 0x180000000 + 16\n"
                  "1   Shop    0x0000000100000068 -[Cart add:] (Cart.m:12)\n"
                  "2   Shop    0x0000000100000078 closure #1 in f(x:) + 24 (Cart.swift:0)\n"
                  "3   My Lib  0x0000000180000020 UIApplicationMain + 208\n"
                  "4   My Lib  0x0000000180000030 0x180000000 + 48 (start + 4)\n"
                  "5   ???     0x0000000000000007\n\n"
                  "Thread 1:: net\n0   Shop 0x0000000100000088 0x100000000 + 136\n\n"
                  "Thread 2:\n\n"
                  "Thread 0 crashed with ARM Thread State (64-bit):\n    x0: "
                  "0x0000000000000000\n\n" TEXT_IMAGES "\nModel: x\n");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->id, "i-2");
    assert_string_equal(d->time, "2026-11-20T09:12:44.120Z");
    assert_string_equal(d->app.version, "5.3.1");
    assert_string_equal(d->app.build, "1234");
    assert_string_equal(d->stall.kind, "crash");
    assert_string_equal(d->stall.app_state, "foreground");
    assert_null(d->stall.activity);
    assert_int_equal(d->thread_count, 3);
    assert_string_equal(d->threads[0].name, "com.apple.main-thread");
    assert_string_equal(d->threads[1].name, "net");
    check_frames(&d->threads[0].stack,
                 FRAMES(0x180000010, 0x100000068, 0x100000078, 0x180000020, 0x180000030, 7));
    assert_int_equal(d->threads[2].stack.frame_count, 0);
    assert_int_equal(d->image_count, 2);
    assert_string_equal(d->images[0].arch, "arm64");
    assert_string_equal(d->images[1].name, "My Lib");
    assert_int_equal(d->images[1].size, 0x1000);
    assert_true(d->images[0].in_app && !d->images[1].in_app);
    assert_int_equal(d->name_count, 4);
    assert_string_equal(d->names[0].symbol, "-[Cart add:]");
    assert_string_equal(d->names[0].file, "Cart.m");
    assert_string_equal(d->names[1].symbol, "closure #1 in f(x:)");
    assert_int_equal(d->names[1].offset, 24);
    assert_null(d->names[1].file); /* line 0 means that no line is known */
    assert_string_equal(d->names[2].symbol, "UIApplicationMain");
    assert_int_equal(d->names[2].offset, 208);
    assert_string_equal(d->names[3].symbol, "start");
    assert_non_null(strstr(d->text,
                           "\"report\":{\"format\":\"crash\",\"text\":\"Incident Identifier: i-2"
                           "\\nHardware"));
    release_converted(&c);
}

/* printf's # writes no "0x" before a zero, so that an address 0 in Apple's text looks different
 * from other addresses. */
static void a_frame_that_is_not_read_keeps_its_place(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        TEXT_HEAD "Thread 0 Crashed:\n0   ???    \t000000000000000000 0 + 0\n"
                  "1   My 0 Lib  0x0000000180000010 f + 16\n2   ???  0000000000 0 + 0\n"
                  "3   ???  0x0000000000000007 0 + 7\n\n" TEXT_IMAGES);
    const struct dump *d = only_dump(&c);
    const uint64_t null_pc[] = {0, 0x180000010, 0, 7};
    assert_int_equal(d->threads[0].stack.frame_count, 4);
    assert_memory_equal(d->threads[0].stack.frames, null_pc, sizeof null_pc);
    assert_int_equal(d->name_count, 1); /* "0", the base of a frame in no image, is not a name */
    assert_null(d->lack);
    release_converted(&c);
    c = convert_text_of(TEXT_HEAD
                        "Thread 0 Crashed:\n0   My Lib  0x0000000180000010 f + 16\n1   My Lib  "
                        "-[Cart add:] + 12\n2   My Lib  0x0000000180000020 0x180000000 + \n32\n3  "
                        " Shop   0x0000000100000068 g + 4\n4   Shop\n\n0 Shop 0x1 no + 1\n"
                        "Thread 1:\n0   Shop  0xzz g\n\n" TEXT_IMAGES);
    d = only_dump(&c);
    const uint64_t unread[] = {0x180000010, 0, 0x180000020, 0x100000068, 0};
    assert_int_equal(d->threads[0].stack.frame_count, 5);
    assert_memory_equal(d->threads[0].stack.frames, unread, sizeof unread);
    assert_int_equal(d->threads[1].stack.frame_count, 1);
    assert_string_equal(d->lack, "1 frame whose number is out of order; "
                                 "3 frames that could not be read");
    release_converted(&c);
}

/* The build is A or B in "Version: A (B)", depending on the tool and the system that wrote the
 * text. */
static void the_writer_of_a_text_tells_the_build(void **state) {
    (void)state;
    static const struct {
        const char *os, *more, *value, *version, *build;
    } cases[] = {
        {"iPhone OS 14.4.2 (18D70)", "Report Version: 104\n", "136.3 (1.3.6)", "1.3.6", "136.3"},
        {"iPhone OS 15.0 (19A346)", "Report Version: 104\n", "1.0 (1)", "1.0", "1"},
        {"iOS 9.3.2 (13F69)", "Report Version: 105\n", "158 (1.0.4)", "1.0.4", "158"},
        {"iOS 18.1 (22B83)", "Report Version: 104\n", "158 (1.0.4)", "1.0.4", "158"},
        {"Watch OS 7.6 (18U63)", "", "158 (1.0.4)", "1.0.4", "158"},
        {"Watch OS 8.0 (19R346)", "", "1.0.4 (158)", "1.0.4", "158"},
        {"Mac OS X 10.15.7 (19H2)", "Report Version: 12\n", "1.0 beta 2 (7)", "1.0 beta 2", "7"},
        {"macOS 13.0 (22A380)", "Report Version: 12\n", "1.0 (7)", "1.0", "7"},
        {"macOS 13.0 (22A380)", "Report Version: 104\n", "7 (1.0)", "1.0", "7"},
        {"iPhone OS 12.1 (16B92)", "Exception Type: SIGABRT\n", "1.0 (1)", "1.0", "1"},
        {"iPhone OS 12.1 (16B92)", "Exception Type: EXC_CRASH (SIGABRT)\n", "1 (1.0)", "1.0", "1"},
        {"iPhone OS 12.1 (16B92)", "", "7", "7", NULL},
        {"macOS 13.0 (22A380)", "", "??? (7)", NULL, "7"},
        {"macOS 13.0 (22A380)", "", "???", NULL, NULL},
        {("??? ??? (Build ?"
          "?"
          "?)"),
         "", "7", "7", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    "Process:         Shop [1]\nVersion: %s\nOS Version: %s\n%s\nThread 0:\n"
                    "0 Shop 0x0000000100000068 f + 1\n\n" TEXT_IMAGES,
                    cases[i].value, cases[i].os, cases[i].more);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_true(!d->device.os || strncmp(d->device.os, "???", 3) != 0);
        const char *const got[] = {d->app.version, d->app.build};
        const char *const want[] = {cases[i].version, cases[i].build};
        for (size_t k = 0; k < 2; k++) {
            if (want[k] ? !got[k] || strcmp(got[k], want[k]) != 0 : got[k] != NULL) {
                fail_msg("%s, Version: %s: '%s', not '%s'", cases[i].os, cases[i].value,
                         got[k] ? got[k] : "", want[k] ? want[k] : "");
            }
        }
        release_converted(&c);
        strbuf_release(&text);
    }
}

/* Texts from an issue tracker begin anywhere, and have lost blanks and tabs. */
static void a_pasted_text_is_read(void **state) {
    (void)state;
    static const char *const heads[] = {
        "Process: Shop [1]\nPath: /x/Shop.app/Shop\nOS Version: iPhone OS 16.1 (20B82)\n\n",
        "Exception Type: EXC_CRASH (SIGKILL)\nTriggered by Thread: 0\n\n", "",
        "```\nPath: /x/Shop.app/Shop\nVersion: 1.0 (1)\n"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    "%sThread 0 Crashed:\n0 libx.dylib 0x0000000180000010 f + 16\n"
                    "1 Shop 0x0000000100000068 0x100000000 + 104\n\nBinary Images (2 of 300):\n"
                    "0x100000000 - 0x100000fff Shop arm64 <> /x/Shop.app/Shop\n"
                    "0x180000000 - 0x180000fff libx.dylib arm64 <> /usr/lib/libx.dylib\n",
                    heads[i]);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        check_frames(&only_dump(&c)->threads[0].stack, FRAMES(0x180000010, 0x100000068));
        assert_int_equal(only_dump(&c)->image_count, 2);
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void an_indented_text_is_read(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "    Process:         Shop [1]\n    Path:            /x/Shop.app/Shop\n\n    Thread 0:\n"
        "    0   Shop  0x0000000100000068 f + 1\n\n    Binary Images:\n"
        "    0x100000000 - 0x100000fff Shop arm64 <> /x/Shop.app/Shop\n");
    check_frames(&only_dump(&c)->threads[0].stack, FRAMES(0x100000068));
    assert_true(only_dump(&c)->images[0].in_app);
    release_converted(&c);
}

/* The images of a simulator's system are marked as those of an app are. They are not part of
 * macOS. */
static void a_simulators_system_is_not_the_apps(void **state) {
    (void)state;
    static const char runtime[] =
        "/Library/Developer/CoreSimulator/Profiles/Runtimes/iOS 12.0.simruntime/Contents/Resources/"
        "RuntimeRoot/System/Library/Frameworks/UIKit.framework/UIKit";
    static const char old_runtime[] =
        "/Applications/Xcode.app/Contents/Developer/Platforms/iPhoneSimulator.platform/Developer/"
        "SDKs/iPhoneSimulator9.3.sdk/usr/lib/libobjc.A.dylib";
    static const char *const paths[] = {
        "/Users/USER/Library/Developer/CoreSimulator/Devices/0/Shop.app/Shop",
        "/Applications/Xcode.app/Contents/Developer/Platforms/iPhoneSimulator.platform/Developer/"
        "Library/Xcode/Agents/xctest"};
    for (size_t i = 0; i < 2; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    "Process:         x [1]\nPath:            %s\nOS Version: Mac OS X 10.14\n\n"
                    "Thread 0:\n0 a 0x1068 a + 1\n1 b 0x2068 b + 1\n2 c 0x3068 c + 1\n"
                    "3 d 0x4068 d + 1\n\nBinary Images:\n"
                    "0x1000 - 0x1fff +%s (1.0) <> %s\n0x2000 - 0x2fff +com.apple.UIKit (1) <> %s\n"
                    "0x3000 - 0x3fff +libobjc.A.dylib (7) <> %s\n"
                    "0x4000 - 0x4fff +com.apple.Chart (7) <> /opt/Chart\n",
                    paths[i], i ? "ShopTests" : "Shop", i ? "/tmp/ShopTests" : paths[0], runtime,
                    old_runtime);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_int_equal(d->image_count, 4);
        for (size_t k = 0; k < 4; k++) {
            assert_int_equal(d->images[k].in_app, k == 0);
        }
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void the_watchdog_of_a_text_is_a_stall(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        TEXT_HEAD
        "Exception Type:  EXC_CRASH (SIGKILL)\nException Codes: 0x0000000000000000, "
        "0x0000000000000000\nTermination Reason: FRONTBOARD 2343432205\n<RBSTerminateContext| "
        "domain:10 code:0x8BADF00D explanation:scene-create watchdog transgression: x exhausted "
        "real "
        "(wall clock) time allowance of 19.93 seconds\nProcessVisibility: Foreground\n"
        "WatchdogEvent: scene-create\nWatchdogCPUStatistics: (\n\"Elapsed total CPU time "
        "(seconds): "
        "3.330 (user 3.330, system 0.000), 3% CPU\",\n\"Elapsed application CPU time (seconds): "
        "0.006,"
        " 0% CPU\"\n) reportType:CrashLog>\n\nThread 0:\n0 Shop 0x0000000100000068 0x100000000 + "
        "104\n\n" TEXT_IMAGES);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "watchdog");
    assert_int_equal(d->stall.duration_ms, 19930);
    assert_string_equal(d->stall.activity, "scene-create");
    assert_non_null(strstr(d->text, "\"cpu_ms\":6,"));
    release_converted(&c);
    /* Before iOS 10 the code stood among the exception's. */
    c = convert_text_of(TEXT_HEAD "Exception Codes: 0x000000008badf00d\n\nThread 0:\n" TEXT_IMAGES);
    assert_string_equal(only_dump(&c)->stall.kind, "watchdog");
    release_converted(&c);
}

static void who_waits_for_its_own_lock_is_told(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        HEADER BODY(",'asi':{'libsystem_c.dylib':['abort() called'],'libdispatch.dylib':['BUG IN "
                    "CLIENT OF LIBDISPATCH: dispatch_sync called on queue already owned by current "
                    "thread']}"));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->threads[1].waits_for.kind, "queue");
    assert_int_equal(d->threads[1].waits_for.owner, 7);
    assert_null(d->threads[0].waits_for.kind);
    release_converted(&c);
    c = convert_text_of(TEXT_HEAD
                        "Exception Type:  EXC_BREAKPOINT (SIGTRAP)\nTriggered by Thread:  0"
                        "\nApplication Specific Information:\nBUG IN CLIENT OF LIBPLATFORM: Trying "
                        "to recursively lock an os_unfair_lock\n\nThread 0 Crashed:\n0 Shop "
                        "0x0000000100000068 0x100000000 + 104\n\n" TEXT_IMAGES);
    d = only_dump(&c);
    assert_string_equal(d->threads[0].waits_for.kind, "unfair lock");
    assert_int_equal(d->threads[0].waits_for.owner, 0);
    release_converted(&c);
}

static void a_last_exception_may_be_a_list(void **state) {
    (void)state;
    struct converted c = convert_text_of(TEXT_HEAD "Last Exception Backtrace:\n(0x180000010 "
                                                   "0x100000068)\n\nThread 0:\n\n" TEXT_IMAGES);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    check_frames(&d->threads[0].stack, FRAMES(0x180000010, 0x100000068));
    assert_false(dump_frame_exact(&d->threads[0].stack, 0));
    assert_true(d->threads[1].main);
    release_converted(&c);
}

static void the_text_of_an_old_ips_is_read_too(void **state) {
    (void)state;
    struct strbuf text = {0};
    add_json(&text, "{'bug_type':'109','incident_id':'i-3','bundleID':'from.header','app_name':'x',"
                    "'app_version':'5.3.1','build_version':'1234'}\n");
    strbuf_addstr(&text, "Process:         Shop [1]\nVersion: 1234 (5.3.1)\nThread 0:\n0 Shop "
                         "0x0000000100000068 f + 1\n\n"
                         "Binary Images:\n");
    struct converted c = convert_text_of(strbuf_cstr(&text));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->id, "i-3");
    assert_string_equal(d->app.id, "from.header");
    /* The same as in an .ips, because the text does not name its system. */
    assert_string_equal(d->app.version, "5.3.1");
    assert_string_equal(d->app.build, "1234");
    check_frames(&d->threads[0].stack, FRAMES(0x100000068));
    assert_non_null(strstr(d->text, "\"body\":\"Process:  "));
    release_converted(&c);
    strbuf_release(&text);
}

/* Checks that the original JSON is read, whatever line ends the text has. */
static void the_original_behind_a_translated_report_is_read(void **state) {
    (void)state;
    const char *const ends[] = {"\n", "\r\n", "  \n"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    "Translated Report (Full Report Below)%s%sProcess: Shop [1]%sThread 0:%s"
                    "0 Shop 0x68 f + 1%sFull Report%s-----------%s%s",
                    ends[i], ends[i], ends[i], ends[i], ends[i], ends[i], ends[i], ends[i]);
        add_json(&text, "{'bug_type':'309','incident_id':'i-4','app_name':'x'}\n"
                        "{'usedImages':[{'base':4096,'size':4096,'arch':'arm64','name':'Shop',"
                        "'uuid':'4c4c442c-5555-3144-a1de-7aabf56a019c'}],"
                        "'threads':[{'frames':[{'imageIndex':0,'imageOffset':104}]}]}");
        if (i > 0) { /* the window that shows a report appends lines about the machine */
            strbuf_addstr(&text, "\n\nModel: Mac16,6, BootROM 13822.81.10\nGraphics: {M4}\n");
        }
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->id, "i-4");
        assert_string_equal(d->images[0].arch, "arm64");
        check_frames(&d->threads[0].stack, FRAMES(4200));
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void bytes_that_are_no_utf8_are_kept(void **state) {
    (void)state;
    struct converted c =
        convert_text_of("Process:         \xff\x01\"\\\t[1]\r\nThread 0:\n\nBinary "
                        "Images:\n");
    const struct dump *d = only_dump(&c);
    assert_non_null(
        strstr(d->text, "Process:         \xff\\u0001\\\"\\\\\\u0009[1]\\u000d\\nThread"));
    release_converted(&c);
}

static void damage_of_a_text_is_refused(void **state) {
    (void)state;
    struct converted c = convert_text_of(TEXT_HEAD);
    assert_int_equal(c.st, ST_ERR);
    assert_string_equal(c.err.text, "a text report without a thread");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_an_ips_are_image_and_offset),
        cmocka_unit_test(the_watchdog_of_an_ips_is_a_stall),
        cmocka_unit_test(a_last_exception_is_a_stack_of_its_own),
        cmocka_unit_test(damage_of_an_ips_is_refused),
        cmocka_unit_test(a_frame_in_no_image_of_an_ips_keeps_its_place),
        cmocka_unit_test(every_style_of_frame_is_read),
        cmocka_unit_test(a_frame_that_is_not_read_keeps_its_place),
        cmocka_unit_test(the_writer_of_a_text_tells_the_build),
        cmocka_unit_test(a_pasted_text_is_read),
        cmocka_unit_test(an_indented_text_is_read),
        cmocka_unit_test(a_simulators_system_is_not_the_apps),
        cmocka_unit_test(the_watchdog_of_a_text_is_a_stall),
        cmocka_unit_test(who_waits_for_its_own_lock_is_told),
        cmocka_unit_test(a_last_exception_may_be_a_list),
        cmocka_unit_test(the_text_of_an_old_ips_is_read_too),
        cmocka_unit_test(the_original_behind_a_translated_report_is_read),
        cmocka_unit_test(bytes_that_are_no_utf8_are_kept),
        cmocka_unit_test(damage_of_a_text_is_refused),
    };
    return cmocka_run_group_tests_name("report_apple", tests, NULL, NULL);
}
