/* Text of sampled stacks, and stackshots. */
#include "dump/reports/report_support_test.h"

#define HEAD(event, more)                                                                          \
    "Date/Time:        2026-11-20 10:10:14.120 +0100\n"                                            \
    "OS Version:       iPhone OS 18.7 (Build 22H20)\nArchitecture:     arm64e\n"                   \
    "Incident Identifier: i-1\n\nCommand:          Shop\nPath:             /x/Shop.app/Shop\n"     \
    "Version:          5.3.1 (1234)\nArchitecture:     arm64\n\nEvent:            " event          \
    "\n" more "Duration:         12.50s\nSteps:            9 (100ms sampling interval)\n"          \
    "Hardware model:   iPhone13,3\n\nHeaviest stack for the target process:\n"                     \
    "  9  ??? (Shop + 4) [0x100000004]\n\n"
#define SHOP_IMAGES                                                                                \
    "\n  Binary Images:\n"                                                                         \
    "     0x100000000 -                ???  Shop <4c4c442c-5555-3144-a1de-7aabf56a019c>  "         \
    "/x/Shop.app/Shop\n"                                                                           \
    "     0x180000000 -        0x180000fff  libx.dylib  "                                          \
    "<00000000-0000-4000-8000-000000000001>  /usr/lib/libx.dylib\n"
#define CPU "CPU:              90 seconds cpu time over 150 seconds (60% cpu average)\n"

static void a_process_that_used_too_much_is_counted_stacks(void **state) {
    (void)state;
    struct converted c = convert_text_of(HEAD(
        "cpu usage", CPU) "Powerstats for:   Shop [301]\nNum samples:      9\n"
                          "  9  start + 4 (libx.dylib + 16) [0x180000010]\n"
                          "    6  -[Cart(More) add:] + 12 (Shop + 256) [0x100000100]\n"
                          "      4  ??? (Shop + 512) [0x100000200]\n"
                          "        1   <User mode>\n"
                          "    2  ??? (Shop + 768) [0x100000300]\n" SHOP_IMAGES
                          "\nPowerstats for:   other [7]\n  90  f (other + 1) [0x100000001]\n");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->id, "i-1");
    assert_string_equal(d->time, "2026-11-20T09:10:14.120Z");
    assert_string_equal(d->stall.kind, "cpu");
    assert_string_equal(d->app.version, "5.3.1");
    assert_string_equal(d->app.build, "1234");
    assert_string_equal(d->device.arch, "arm64"); /* the process's, not the system's */
    assert_int_equal(d->stall.duration_ms, 12500);
    assert_int_equal(d->thread_count, 1);
    assert_true(d->threads[0].main);
    check_frames(&d->threads[0].stack, FRAMES(0x100000200, 0x100000100, 0x180000010));
    assert_int_equal(d->sample_count, 4);
    assert_int_equal(d->samples[0].count, 1); /* 9 - 6 - 2 */
    check_frames(&d->samples[0], FRAMES(0x180000010));
    assert_int_equal(d->samples[1].count, 2);
    assert_int_equal(d->samples[2].count, 4);
    assert_int_equal(d->samples[3].count, 2);
    check_frames(&d->samples[3], FRAMES(0x100000300, 0x180000010));
    assert_int_equal(d->image_count, 2);
    assert_true(d->images[0].in_app && !d->images[1].in_app);
    assert_non_null(strstr(c.texts[0].data, "\"cpu_ms\":90000"));
    assert_non_null(strstr(c.texts[0].data, "\"4294967552\":[\"-[Cart(More) add:]\",12]"));
    assert_non_null(strstr(c.texts[0].data, "\"format\":\"spindump\""));
    release_converted(&c);
}

/* The executable's UUID stands in the head of its section, too; its address follows from frames. */
static void the_executable_of_samples_has_its_uuid(void **state) {
    static const char *const lists[] = {
        "     0x100000000 -                ???  Shop  /x/Shop.app/Shop\n",
        "     0x180000000 -        0x180000fff  libx.dylib  /usr/lib/libx.dylib\n"};
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    "%sPowerstats for:   Shop [301]\n"
                    "UUID:             4C4C442C-5555-3144-A1DE-7AABF56A019C\n"
                    "Path:             /x/Shop.app/Shop\n  9  ??? (Shop + 256) [0x100000100]\n\n"
                    "  Binary Images:\n%s",
                    HEAD("cpu usage", CPU), lists[i]);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        char id[IMAGE_ID_TEXT];
        assert_int_equal(d->image_count, 1);
        assert_int_equal(d->images[0].load, 0x100000000);
        assert_string_equal(image_id_text(&d->images[0].id, id),
                            "4C4C442C-5555-3144-A1DE-7AABF56A019C");
        assert_true(d->images[0].in_app);
        release_converted(&c);
        strbuf_release(&text);
    }
}

/* A leaf of many samples below a light node is not the heaviest stack. */
static void the_heaviest_stack_is_followed_from_the_root(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("cpu usage", CPU) "Powerstats for:   Shop [301]\nNum samples:      15\n"
                               "  15  ??? (Shop + 16) [0x100000010]\n"
                               "    4  ??? (Shop + 32) [0x100000020]\n"
                               "    6  ??? (Shop + 48) [0x100000030]\n"
                               "      3  ??? (Shop + 64) [0x100000040]\n"
                               "      3  ??? (Shop + 80) [0x100000050]\n"
                               "    5  ??? (Shop + 96) [0x100000060]\n" SHOP_IMAGES);
    check_frames(&only_dump(&c)->threads[0].stack, FRAMES(0x100000040, 0x100000030, 0x100000010));
    release_converted(&c);
}

/* Only its own section counts; of its threads the first is the main one, kernels are not shown. */
static void a_hang_is_the_main_threads_samples(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("hang",
             "") "Process:          Also [7]\n  Thread 0x9    9 samples (1-9)\n"
                 "  9  f (Also + 1) [0x100000001] 1-9\n\nProcess:          Shop [301]\n"
                 "  Thread 0x103    DispatchQueue \"com.apple.main-thread\"(1)    9 samples (1-9)\n"
                 "  <process frontmost>\n"
                 "  9  main + 8 (Main.swift:31,1 in Shop + 256) [0x100000100] 1-9\n"
                 "    9  ??? (Shop + 512) [0x100000200] 1-9\n"
                 "     *9  trap + 1 (kernel + 2) [0xffffff8000219990] 1-9\n"
                 "  Thread 0x104    Thread name \"net\"    9 samples (1-9)\n"
                 "  9  ??? (libx.dylib + 32) [0x180000020] 1-9\n" SHOP_IMAGES);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "hang");
    assert_int_equal(d->thread_count, 2);
    assert_int_equal(d->threads[0].id, 0x103);
    assert_string_equal(d->threads[0].name, "com.apple.main-thread");
    assert_true(d->threads[0].main && !d->threads[1].main);
    check_frames(&d->threads[0].stack, FRAMES(0x100000200, 0x100000100));
    assert_string_equal(d->threads[1].name, "net");
    check_frames(&d->threads[1].stack, FRAMES(0x180000020));
    assert_int_equal(d->sample_count, 1);
    assert_int_equal(d->samples[0].count, 9);
    assert_non_null(strstr(c.texts[0].data, "\"interval_ms\":100"));
    release_converted(&c);
}

static void what_used_too_much_is_the_kind(void **state) {
    static const char *const events[][2] = {{"disk writes", "disk-write"},
                                            {"wakeups", "cpu"},
                                            {"slow launch", "launch"},
                                            {"hang", "hang"}};
    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, HEAD("%s", "Action taken:     Process killed\n"), events[i][0]);
        strbuf_addstr(&text, "Powerstats for:   Shop\n  9  ??? (Shop + 256) [0x100000100]\n");
        strbuf_addstr(&text, SHOP_IMAGES);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->stall.kind, events[i][1]);
        assert_true(d->stall.fatal);
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void samples_without_their_process_are_refused(void **state) {
    (void)state;
    check_refused(
        HEAD("cpu usage", CPU) "Powerstats for:   Shop [301]\n  9  f (Shop + 4) [0x100000004]\n",
        "cut short");
    check_refused(
        HEAD("cpu usage", CPU) "Powerstats for:   Shopping [301]\n  9  f (x + 4) [0x100000004]\n",
        "without a stack of its process");
}

#define SHOT(front, more) SHOT_OF(front, more, "")
#define SHOT_OF(front, more, waits)                                                                \
    "{'bug_type':'288','os_version':'iPhone OS 18.7 (22H20)'}\n{'incident':'i-2','date':"          \
    "'2026-11-20 10:12:44.12 +0100','product':'iPhone13,3','build':'iPhone OS 18.7 (22H20)',"      \
    "'frontmostPids':[" front "],'reason':'why'" more ",'processByPid':{'0':{'threadById':{'1':{"  \
    "'id':1,'kernelFrames':[[0,4]]}}},'7':{'procname':'also','threadById':{'5':{'id':5,"           \
    "'userFrames':[[2,4]]}}},'301':{'procname':'Shop','threadById':{'12':{'id':12,'name':'net',"   \
    "'userFrames':[[1,32],[3,77]]},'11':{'id':11,'dispatch_queue_label':'com.apple.main-thread',"  \
    "'userFrames':[[1,16],[0,256]],'kernelFrames':[[0,1]]},'13':{'id':13}}" waits                  \
    "}},'binaryImages':[["                                                                         \
    "'4C4C442C-5555-3144-A1DE-7AABF56A019C',4294967296,'P'],['00000000-0000-4000-8000-"            \
    "000000000001',6442450944,'C'],['00000000-0000-4000-8000-000000000002',4294967296,'P'],"       \
    "['00000000-0000-0000-0000-000000000000',0,'A']]}"

static void a_stackshot_is_the_process_in_front(void **state) {
    (void)state;
    struct converted c = convert_json_of(SHOT("301", ""));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->id, "i-2");
    assert_string_equal(d->time, "2026-11-20T09:12:44.120Z");
    assert_string_equal(d->stall.kind, "hang");
    assert_false(d->stall.fatal);
    assert_string_equal(d->device.model, "iPhone13,3");
    assert_int_equal(d->thread_count, 2); /* one has nothing of its own on its stack */
    assert_true(!d->threads[0].main && d->threads[1].main);
    assert_int_equal(d->threads[1].id, 11);
    check_frames(&d->threads[1].stack, FRAMES(6442450960, 4294967552));
    check_frames(&d->threads[0].stack, FRAMES(6442450976, 77));
    assert_int_equal(d->image_count, 2); /* not the other process's at the same address */
    for (size_t i = 0; i < d->image_count; i++) {
        assert_int_equal(d->images[i].in_app, d->images[i].load == 4294967296);
    }
    release_converted(&c);
    c = convert_json_of(SHOT("301", ",'exception':'0x8badf00d'"));
    assert_string_equal(only_dump(&c)->stall.kind, "watchdog");
    release_converted(&c);
}

static void a_stackshot_tells_who_waits_for_whom(void **state) {
    (void)state;
    struct converted c = convert_json_of(SHOT_OF(
        "301", "",
        ",'waitInfo':['thread 99: pthread mutex 1','thread 11: workloop sync wait, owned by "
        "thread 12, workloop id 7f [no turnstile]','thread 12: unfair lock 16b09 owned by "
        "thread 11 [blocked on: 11, hops: 1, priority: 47]','thread 5',7]"));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->threads[1].waits_for.kind, "queue");
    assert_int_equal(d->threads[1].waits_for.owner, 12);
    assert_string_equal(d->threads[0].waits_for.kind, "unfair lock");
    assert_int_equal(d->threads[0].waits_for.owner, 11);
    release_converted(&c);
    /* Nobody says who owns it. */
    c = convert_json_of(
        SHOT_OF("301", "",
                ",'waitInfo':['thread 11: workloop sync wait, unknown owner','thread "
                "12: kernel mutex 3 owned by thread 11','thread : x']"));
    assert_null(only_dump(&c)->threads[0].waits_for.kind);
    assert_null(only_dump(&c)->threads[1].waits_for.kind);
    release_converted(&c);
}

/* A spindump of two threads: one waits for the other, which waits as `how` says. */
#define BLOCKED(how)                                                                               \
    HEAD("hang", "")                                                                               \
    "Process:          Shop [301]\n  Thread 0x2ca9e    DispatchQueue "                             \
    "\"com.apple.main-thread\"(1)\n"                                                               \
    "  9  start + 4 (libx.dylib + 16) [0x180000010]\n"                                             \
    "    9  __psynch_mutexwait + 8 (libx.dylib + 64) [0x180000040]\n"                              \
    "     *5  psynch_mtxcontinue + 0 (pthread + 112) [0xffffff8003753c15] (blocked by turnstile "  \
    "waiting for Shop [301] [unique pid 301] thread 0x2caa0) 1-5\n"                                \
    "     *4  psynch_mtxcontinue + 0 (pthread + 112) [0xffffff8003753c15] (blocked by turnstile "  \
    "waiting for Shop [301] thread 0x2caa1) 6-9\n"                                                 \
    "  Thread 0x2caa0    Thread name \"db\"\n  9  ??? (libx.dylib + 32) [0x180000020]\n"           \
    "     *9  ulock_wait + 0 (kernel + 1) [0xffffff8003753c15] (" how ")\n" SHOP_IMAGES

static void a_spindump_tells_by_whom_a_thread_is_blocked(void **state) {
    (void)state;
    struct converted c =
        convert_text_of(BLOCKED("suspended, blocked by turnstile waiting for Shop [301] thread "
                                "0x2ca9e"));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->threads[0].waits_for.kind, "mutex");
    assert_int_equal(d->threads[0].waits_for.owner, 0x2caa0); /* in 5 of 9 samples */
    assert_string_equal(d->threads[1].waits_for.kind, "lock");
    assert_int_equal(d->threads[1].waits_for.owner, 0x2ca9e);
    release_converted(&c);
    c = convert_text_of(
        BLOCKED("blocked by turnstile waiting for this thread - part of a deadlock"));
    assert_int_equal(only_dump(&c)->threads[1].waits_for.owner, 0x2caa0);
    release_converted(&c);
    static const char *const others[] = {
        (BLOCKED("blocked by turnstile waiting for smd [7] thread 0x1")),
        (BLOCKED("blocked by turnstile waiting for Shop [3011] thread 0x1")),
        (BLOCKED("blocked by turnstile waiting for Shop [301] thread 0x1 after 2 hops")),
        (BLOCKED("blocked by turnstile waiting for Shop [301]")),
        (BLOCKED("blocked by turnstile waiting for Shop [301] thread 0xffffffffffffffff"))};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        c = convert_text_of(others[i]);
        assert_null(only_dump(&c)->threads[1].waits_for.kind);
        release_converted(&c);
    }
}

static void a_stackshot_of_nobody_is_refused(void **state) {
    (void)state;
    check_refused(SHOT("", ""), "without a stack of a process in front");
    check_refused(SHOT("0,9", ""), "without a stack of a process in front");
    check_refused(SHOT("301", ",'panicString':'x'"), "kernel panic");
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_used_too_much_is_counted_stacks),
        cmocka_unit_test(the_executable_of_samples_has_its_uuid),
        cmocka_unit_test(the_heaviest_stack_is_followed_from_the_root),
        cmocka_unit_test(a_hang_is_the_main_threads_samples),
        cmocka_unit_test(what_used_too_much_is_the_kind),
        cmocka_unit_test(samples_without_their_process_are_refused),
        cmocka_unit_test(a_spindump_tells_by_whom_a_thread_is_blocked),
        cmocka_unit_test(a_stackshot_is_the_process_in_front),
        cmocka_unit_test(a_stackshot_tells_who_waits_for_whom),
        cmocka_unit_test(a_stackshot_of_nobody_is_refused),
    };
    return cmocka_run_group_tests_name("report_sampled", tests, NULL, NULL);
}
