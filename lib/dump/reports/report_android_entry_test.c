/* Tests of the entries of Android's DropBoxManager, as dumpsys(1) prints them. */
#include "dump/reports/report_android_private.h"
#include "dump/reports/report_support_test.h"

#define HEAD                                                                                       \
    "Process: com.example.shop:sync\nPID: 4242\nFlags: 0x20d83e44\nPackage: com.example.lib v7\n"  \
    "Package: com.example.shop v710530002 (10.53.0 (x))\nForeground: No\n"                         \
    "Subject: executing service com.example.shop/.Sync\nBuild: a/b/c:10/D/1:user/release-keys\n\n"
#define PROCESS "----- pid 4242 at 2026-11-20 09:12:44 -----\nCmd line: com.example.shop:sync\n"
#define THREADS                                                                                    \
    "DALVIK THREADS (1):\n\"main\" prio=5 tid=1 Native\n  | sysTid=4242 nice=0\n"                  \
    "  native: #00 pc 10  /data/app/base.apk (offset 83ac000) (run+4)\n  at a.B.c(B.java:1)\n\n"   \
    "----- end 4242 -----\n\n"

/* Writes the entry with the load of as many programs as a busy device has. */
static void add_entry(struct strbuf *text) {
    strbuf_addstr(text, HEAD "CPU usage from 12749ms to 0ms ago (2026-11-20 09:12:31.213 to x):\n");
    for (int i = 0; i < 100; i++) {
        strbuf_addf(text, "  %d%% %d/com.example: 1%% user + 2%% kernel / faults: 4 minor\n", i, i);
    }
    strbuf_addstr(text, " +0% 7/sh: 0% user + 0% kernel\n81% TOTAL: 56% user + 22% kernel\n\n");
    strbuf_addstr(text, PROCESS THREADS);
}

static void an_entrys_head_is_read(void **state) {
    (void)state;
    struct strbuf text = {0};
    bool more = false;
    add_entry(&text);
    assert_true(android_begins((struct span){text.data, text.data + text.len}, &more));
    struct converted c = convert_text_of(strbuf_cstr(&text));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->app.id, "com.example.shop");
    assert_string_equal(d->app.version, "10.53.0 (x)");
    assert_string_equal(d->app.build, "710530002");
    assert_string_equal(d->stall.app_state, "background");
    assert_non_null(strstr(d->text, "\"reason\":\"executing service com.example.shop/.Sync\""));
    assert_string_equal(dump_name_at(d, d->threads[0].stack.frames[0])->symbol, "run");
    assert_null(d->lack);
    release_converted(&c);
    strbuf_release(&text);
}

static void an_entry_without_a_trace_is_none(void **state) {
    static const char *const texts[] = {
        HEAD "a.B: x\n  at a\n  at b\n  at c\n  at d\n  at e\n  at f\n  at g\n" PROCESS,
        ("Process: com.example.shop\n\n" PROCESS),
        "Process: com.example.shop\nPID: 1\nSubject: x\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool more = false;
        assert_false(android_begins((struct span){texts[i], texts[i] + strlen(texts[i])}, &more));
        assert_int_equal(more, i == 2);
    }
}

static struct span span_of(const char *text) {
    return (struct span){text, text + strlen(text)};
}

static void an_entry_ends_at_its_process(void **state) {
    static const char line[] = "========================================";
    (void)state;
    assert_true(android_ends(span_of(HEAD PROCESS THREADS), span_of(line)));
    assert_false(android_ends(span_of(HEAD PROCESS), span_of(line)));
    assert_true(android_ends(span_of(PROCESS THREADS), span_of("Process: com.example.other")));
    assert_false(
        android_ends(span_of(PROCESS THREADS), span_of("----- pid 7 at 2026-11-20 09:12:45 "
                                                       "-----")));
}

#define POST "\"main\" prio=5 tid=1 Native\n  at a.B.c(B.java:1)\n```\ntext\n"

static void a_trace_in_a_fence_of_its_own_is_another_one(void **state) {
    static const char line[] = "----- pid 4242 at 2026-11-20 09:12:44 -----";
    (void)state;
    assert_true(android_ends(span_of(POST "```Java\n"), span_of(line)));
    assert_false(android_ends(span_of(POST), span_of(line)));
    assert_false(android_ends(span_of("```\nSubject: x\n```\n"), span_of(line)));
}

static void native_threads_of_another_process_join_none(void **state) {
    (void)state;
    struct converted c = convert_text_of(POST "```\n\"bugreport\" sysTid=18013\n"
                                              "  #00 pc 78d70  /system/lib64/libc.so (read+8)\n"
                                              "```\n```\n\"Binder:1600_A\" prio=5 tid=108 Blocked\n"
                                              "  at a.B.d(B.java:2)\n```\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 1);
    assert_string_equal(d->lack, "the end of its process: lines of another one follow");
    release_converted(&c);
}

/* ART logs the aborting thread alone, and then all threads. */
static void an_aborting_thread_is_read_among_all(void **state) {
    (void)state;
#define ABORTING "\"Heap\" prio=5 tid=5 Runnable\n  | sysTid=7 nice=0\n  at a.B.d(B.java:2)\n"
    struct converted c =
        convert_text_of(ABORTING "All threads:\nDALVIK THREADS (2):\n" ABORTING
                                 "\n\"main\" prio=5 tid=1 Native\n  at a.B.c(B.java:1)\n\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    assert_true(d->threads[1].main);
    const char *crashed = strstr(d->text, "\"crashed\":true");
    assert_true(crashed && crashed < strstr(d->text, "\"main\":true"));
    assert_string_equal(d->stall.kind, "crash");
    assert_true(d->stall.fatal);
    assert_string_equal(d->lack, "the head of its process");
    release_converted(&c);
}

/* The main thread aborted: it, too, is written alone and among all. */
static void an_abort_of_the_main_thread_is_a_crash(void **state) {
    (void)state;
#define MAIN "\"main\" prio=5 tid=1 Native\n  | sysTid=4242 nice=0\n  at a.B.c(B.java:1)\n"
#define ABORT                                                                                      \
    "Runtime aborting...\nAborting thread:\n" MAIN                                                 \
    "Pending exception java.lang.OutOfMemoryError: of 8 bytes\nAll threads:\n"
    struct converted c = convert_text_of(ABORT "DALVIK THREADS (1):\n" MAIN "\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 1);
    assert_string_equal(d->stall.kind, "crash");
    assert_non_null(strstr(d->text, "\"main\":true,\"crashed\":true"));
    assert_non_null(
        strstr(d->text, "\"reason\":\"Pending exception java.lang.OutOfMemoryError: of 8 bytes\""));
    release_converted(&c);
    assert_false(android_ends(span_of(ABORT), span_of("DALVIK THREADS (1):")));
    assert_true(android_ends(span_of(PROCESS THREADS), span_of("Runtime aborting...")));
    c = convert_text_of(PROCESS THREADS);
    assert_string_equal(only_dump(&c)->stall.kind, "hang");
    release_converted(&c);
}

/* Old tools print "(null)" for a file's name. */
static void brackets_within_a_frames_source_are_read(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "\"main\" prio=5 tid=1 Native\n  at a.B.c((null):-1)\n  at a.B.d(B.java:2)\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->threads[0].stack.frame_count, 2);
    assert_null(dump_name_at(d, d->threads[0].stack.frames[0])->file);
    assert_null(d->lack);
    release_converted(&c);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entrys_head_is_read),
        cmocka_unit_test(an_entry_without_a_trace_is_none),
        cmocka_unit_test(an_entry_ends_at_its_process),
        cmocka_unit_test(a_trace_in_a_fence_of_its_own_is_another_one),
        cmocka_unit_test(an_aborting_thread_is_read_among_all),
        cmocka_unit_test(an_abort_of_the_main_thread_is_a_crash),
        cmocka_unit_test(brackets_within_a_frames_source_are_read),
        cmocka_unit_test(native_threads_of_another_process_join_none),
    };
    return cmocka_run_group_tests_name("report_android_entry", tests, NULL, NULL);
}
