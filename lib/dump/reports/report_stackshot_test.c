#include "dump/reports/report_support_test.h"

#define SHOT(front, more)           SHOT_WHY("why", front, more, "")
#define SHOT_OF(front, more, waits) SHOT_WHY("why", front, more, waits)
#define SHOT_WHY(why, front, more, waits)                                                          \
    "{'bug_type':'288','os_version':'iPhone OS 18.7 (22H20)'}\n{'incident':'i-2','date':"          \
    "'2026-11-20 10:12:44.12 +0100','product':'iPhone13,3','build':'iPhone OS 18.7 (22H20)',"      \
    "'frontmostPids':[" front "],'reason':'" why "'" more                                          \
    ",'processByPid':{'0':{'threadById':{'1':{"                                                    \
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
    assert_int_equal(d->thread_count,
                     2); /* the third thread has no frame of its own on its stack */
    assert_true(!d->threads[0].main && d->threads[1].main);
    assert_int_equal(d->threads[1].id, 11);
    check_frames(&d->threads[1].stack, FRAMES(6442450960, 4294967552));
    check_frames(&d->threads[0].stack, FRAMES(6442450976, 77));
    assert_int_equal(d->image_count,
                     2); /* the other process's image at the same address is left out */
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
    /* These texts name no owner of the lock. */
    c = convert_json_of(
        SHOT_OF("301", "",
                ",'waitInfo':['thread 11: workloop sync wait, unknown owner','thread "
                "12: kernel mutex 3 owned by thread 11','thread : x']"));
    assert_null(only_dump(&c)->threads[0].waits_for.kind);
    assert_null(only_dump(&c)->threads[1].waits_for.kind);
    release_converted(&c);
}

static void a_stackshot_may_be_read_for_another_process(void **state) {
    (void)state;
    static const char *const wanted[] = {"also", "7"};
    struct strbuf text = {0};
    add_json(&text, SHOT("301", ""));
    for (size_t i = 0; i < 2; i++) {
        struct converted c = convert_process_of(strbuf_cstr(&text), wanted[i]);
        assert_int_equal(only_dump(&c)->thread_count, 1);
        assert_int_equal(only_dump(&c)->threads[0].id, 5);
        release_converted(&c);
    }
    struct converted c = convert_process_of(strbuf_cstr(&text), "0");
    assert_non_null(strstr(c.err.text, "no process '0' with a stack"));
    release_converted(&c);
    strbuf_release(&text);
}

static void a_stackshot_of_nobody_is_refused(void **state) {
    (void)state;
    check_refused(SHOT("", ""), "without a stack of a process in front");
    check_refused(SHOT("0,9", ""), "without a stack of a process in front");
    check_refused(SHOT("301", ",'panicString':'x'"), "kernel panic");
}

static void a_stackshot_is_of_the_process_that_its_reason_names(void **state) {
    (void)state;
    static const struct {
        const char *json;
        size_t threads;
    } cases[] = {
        {SHOT_WHY("also:7 has active assertions", "301", "", ""), 1},
        {SHOT_WHY("also: timeout, told to terminate [7] with code 301", "301", "", ""), 1},
        {SHOT_WHY("also (pid 7) was asked by Shop:301", "301", "", ""), 1},
        {SHOT_WHY("Shop:301 waits for also:7", "7", "", ""), 2},
        /* ids without the names of their processes, and times of day, are not processes */
        {SHOT_WHY("7 taps of 7 ms at 10:7, also 7.5 and 0x7", "301", "", ""), 2},
        {SHOT_WHY("a tap at 10:12", "301", "", ""), 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct converted c = convert_json_of(cases[i].json);
        const struct dump *d = only_dump(&c);
        assert_int_equal(d->thread_count, cases[i].threads);
        assert_string_equal(d->app.id, cases[i].threads == 1 ? "also" : "Shop");
        release_converted(&c);
    }
    check_refused(SHOT_WHY("Files:1687 has active assertions", "301", "", ""),
                  "a stackshot without a stack of 'Files:1687', its reason");
}

static void a_stackshot_of_a_background_task_is_no_watchdog(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        SHOT_WHY("also:7 has active assertions beyond permitted time: <BKProcessAssertion: 0x1; "
                 "claim (finishTask:180s); id:1> Elapsed application CPU time (seconds): 0.126",
                 "301", ",'exception':'0x8badf00d'", ""));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "background-task");
    assert_true(d->stall.fatal);
    assert_int_equal(d->stall.duration_ms, 180000);
    assert_non_null(strstr(d->text, "\"cpu_ms\":126"));
    assert_string_equal(d->stall.app_state, "background");
    release_converted(&c);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stackshot_is_the_process_in_front),
        cmocka_unit_test(a_stackshot_tells_who_waits_for_whom),
        cmocka_unit_test(a_stackshot_may_be_read_for_another_process),
        cmocka_unit_test(a_stackshot_of_nobody_is_refused),
        cmocka_unit_test(a_stackshot_is_of_the_process_that_its_reason_names),
        cmocka_unit_test(a_stackshot_of_a_background_task_is_no_watchdog),
    };
    return cmocka_run_group_tests_name("report_stackshot", tests, NULL, NULL);
}
