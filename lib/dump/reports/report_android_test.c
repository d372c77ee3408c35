/* Tests of Android's traces. */
#include "dump/reports/report_android_private.h"
#include "dump/reports/report_support_test.h"

#define PROCESS                                                                                    \
    "----- pid 4242 at 2026-11-20 09:12:44.123456789+0100 -----\n"                                 \
    "Cmd line: com.example.shop:remote\n"                                                          \
    "Build fingerprint: 'google/oriole/oriole_x:14/UP1A.231005.007/1075:user/release-keys'\n"      \
    "ABI: 'arm64'\nDALVIK THREADS (2):\n"
#define MAIN "\"main\" prio=5 tid=1 Native\n  | sysTid=4242 nice=-10 sched=0/0\n"
#define END  "\n----- end 4242 -----\n"
#define OTHER_PROCESS                                                                              \
    "----- pid 77 at 2026-11-20 09:12:45 -----\nDALVIK THREADS:\n"                                 \
    "\"main\" prio=5 tid=1 Native\n  at a.B.d(B.java:2)\n\n----- end 77 -----\n"

static void a_trace_tells_the_app_the_system_and_how_long_was_waited(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Subject: Input dispatching timed out (x is not responding. Waited 5002ms for Motion)\n\n"
        "RssHwmKb: 1\n\n" PROCESS MAIN
        "  | state=S schedstat=( 151056979 25055334 199 ) utm=5 stm=9 core=1 HZ=100\n"
        "  at android.os.MessageQueue.nativePollOnce(Native method)\n"
        "  at com.example.shop.Cart.add(Cart.java:12)\n" END);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->time, "2026-11-20T08:12:44.123Z");
    assert_string_equal(d->app.id, "com.example.shop");
    assert_string_equal(d->device.os, "Android 14");
    assert_string_equal(d->device.os_build, "UP1A.231005.007");
    assert_string_equal(d->device.model, "oriole_x");
    assert_string_equal(d->device.arch, "arm64");
    assert_string_equal(d->stall.kind, "hang");
    assert_int_equal(d->stall.at_ms, 5002);
    assert_int_equal(d->stall.duration_ms, -1);
    assert_int_equal(d->thread_count, 1);
    const struct dump_thread *t = dump_main_thread(d);
    assert_non_null(t);
    assert_string_equal(t->state, "waiting");
    assert_int_equal(t->cpu_ms, -1); /* the trace's CPU time is not read, because it includes what
                                        the thread ran before the stall */
    assert_int_equal(t->stack.frame_count, 2);
    const struct dump_name *system = dump_name_at(d, t->stack.frames[0]);
    const struct dump_name *app = dump_name_at(d, t->stack.frames[1]);
    assert_string_equal(system->symbol, "android.os.MessageQueue.nativePollOnce");
    assert_true(!system->in_app && !system->file);
    assert_string_equal(app->symbol, "com.example.shop.Cart.add");
    assert_string_equal(app->file, "Cart.java");
    assert_int_equal(app->line, 12);
    assert_true(app->in_app);
    assert_int_equal(dump_image_at(d, t->stack.frames[1]), -1);
    release_converted(&c);
}

static bool is_android(const char *text) {
    bool more = false;
    return android_begins((struct span){text, text + strlen(text)}, &more);
}

/* Reads a subject as the Play Console shows it: without the word "Subject" and without a process.
 */
static void a_subject_alone_tells_how_long_was_waited(void **state) {
    (void)state;
    struct converted c =
        convert_text_of("Input dispatching timed out (x. Waited 5001ms for MotionEvent)\n\n"
                        "\"main\" tid=1 Native\n  at com.example.shop.Cart.add (Cart.java:12)\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->stall.at_ms, 5001);
    assert_int_equal(d->threads[0].stack.frame_count, 1);
    release_converted(&c);
    assert_false(is_android("Input dispatching timed out\n\nHello\n"));
}

/* Checks native frames. Their addresses are those of the calls, not return addresses, so that none
 * is looked up one byte before. */
static void native_frames_lie_in_their_files(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        PROCESS MAIN
        "  native: #00 pc 00000000000a5e08  /apex/x/lib64/bionic/libc.so (__epoll_pwait+8) "
        "(BuildId: "
        "e81bf516b888e895d4e757da439c8117)\n"
        "  native: #01 pc 0000000000017f8c  /data/app/a==/base.apk!libshop.so (offset 0x12c000) "
        "(shop::Cart::add(int (*)(int))+184) (BuildId: ab01)\n"
        "  native: #02 pc 0000000000000010  /memfd:jit-cache (deleted)\n"
        "  native: #03 pc 00000000000a5e08  /apex/x/lib64/bionic/libc.so\n"
        "  native: (unwinding failed)\n" END);
    const struct dump *d = only_dump(&c);
    const struct dump_stack *s = &dump_main_thread(d)->stack;
    char id[IMAGE_ID_TEXT];
    assert_int_equal(s->frame_count, 4);
    assert_int_equal(d->image_count, 3);
    assert_string_equal(d->images[0].name, "libc.so");
    assert_int_equal(d->images[0].id.kind, IMAGE_ID_BUILD);
    assert_string_equal(image_id_text(&d->images[0].id, id), "e81bf516b888e895d4e757da439c8117");
    assert_false(d->images[0].in_app);
    assert_int_equal(s->frames[0] - d->images[0].load, 0xa5e08);
    assert_int_equal(s->frames[3], s->frames[0]);
    assert_string_equal(d->images[1].name, "libshop.so");
    assert_true(d->images[1].in_app);
    assert_string_equal(d->images[2].path, "/memfd:jit-cache (deleted)");
    const struct dump_name *name = dump_name_at(d, s->frames[1]);
    assert_string_equal(name->symbol, "shop::Cart::add(int (*)(int))");
    assert_int_equal(name->offset, 184);
    for (size_t i = 0; i < s->frame_count; i++) {
        static const int images[] = {0, 1, 2, 0};
        assert_true(dump_frame_exact(s, i));
        assert_int_equal(dump_image_at(d, s->frames[i]), images[i]);
    }
    release_converted(&c);
}

static void owners_of_monitors_are_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        PROCESS "\"main\" prio=5 tid=1 Blocked\n  at a.b.c(Unknown Source:7)\n"
                "  - waiting to lock <0x0a1b2c3d> (a java.lang.Object) held by thread 12\n\n"
                "\"x \"y\"\" daemon prio=5 tid=12 Blocked\n  at a.b.d(SourceFile)\n"
                "  - waiting to lock <@addr=0x12> (a X) held by thread 1\n"
                "  - locked <0x0a1b2c3d> (a java.lang.Object)\n\n"
                "\"binder\" prio=5 (not attached)\n  | sysTid=77 nice=0\n"
                "  #00 pc 10  /system/lib/libc.so\n" END);
    const struct dump *d = only_dump(&c);
    struct dump_waits waits;
    assert_int_equal(d->thread_count, 3);
    assert_string_equal(d->threads[1].name, "x \"y\"");
    assert_string_equal(d->threads[0].waits_for.kind, "monitor");
    dump_waits(d, dump_main_thread(d), &waits);
    assert_int_equal(waits.count, 2);
    assert_int_equal(waits.back, 0); /* the waits lead back to the first thread: a deadlock */
    assert_int_equal(d->threads[2].id, -1);
    assert_string_equal(dump_name_at(d, d->threads[0].stack.frames[0])->file, "Unknown Source");
    assert_null(dump_name_at(d, d->threads[1].stack.frames[0])->file);
    release_converted(&c);
}

/* Checks that only the first process hung: the system also dumps others that it knows to be busy.
 */
static void only_the_first_process_hung(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        PROCESS MAIN
        "  at a.b.c(A.java:7)\n" END
        "----- pid 99 at 2026-11-20 09:12:46 -----\nCmd line: system_server\nDALVIK THREADS (1):\n"
        "\"main\" prio=5 tid=1 Native\n  at x.y.z(X.java:7)\n\n----- end 99 -----\n");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->app.id, "com.example.shop");
    assert_int_equal(d->thread_count, 1);
    release_converted(&c);
}

static void what_is_no_trace_is_not_taken_for_one(void **state) {
    static const char *const others[] = {
        "Subject: [PATCH] fix it\n\nHello\n",
        "\"main\" #1 prio=5 os_prio=0 tid=0x00007f nid=0x1 waiting on condition\n  at a.b(C:1)\n",
        "\"main\" prio=5 tid=1 Native\nand then it was quiet\n",
        "\"quoted\" text\n  at a.b.c(D.java:1)\n",
        "----- Forwarded message -----\n",
        "DALVIK\n"};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (is_android(others[i])) {
            fail_msg("%s", others[i]);
        }
    }
    assert_true(is_android("\"main\" tid=1 Native\n  #00 pc 0x10  /system/lib/libc.so\n"));
    assert_true(is_android("Subject: Broadcast of Intent { }\n\n----- pid 1 at x -----\n"));
}

static void a_trace_without_its_main_thread_is_refused(void **state) {
    (void)state;
    struct converted c = convert_text_of("----- pid 7 at 2026-11-20 09:12:44 -----\n"
                                         "\"x\" prio=5 tid=9 Native\n  at a.b.c(A.java:7)\n");
    assert_int_equal(c.st, ST_ERR);
    assert_non_null(strstr(c.err.text, "without its main thread"));
    release_converted(&c);
}

static void a_trace_that_is_cut_says_so(void **state) {
    (void)state;
    struct converted c = convert_text_of(PROCESS MAIN "  at a.B.c(B.java:1)\n");
    assert_string_equal(only_dump(&c)->lack,
                        "1 thread that the text announces and leaves out; what "
                        "follows: the text ends within its process");
    release_converted(&c);
    c = convert_text_of(PROCESS MAIN "  at a.B.c(B.java:1)\n\n\"x\" prio=5 tid=2 Native\n"
                                     "  at a.B.d(B.java:2)\n" END);
    assert_null(only_dump(&c)->lack);
    release_converted(&c);
}

static void dalviks_words_are_read(void **state) {
    static const char *const owners[] = {"thread 11", "tid=11 (Thread-10)", "threadid=11 (x)"};
    (void)state;
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    MAIN "  at a.B.c (B.java:~12)\n"
                         "  - waiting to lock <0x47e09f10> (a java.lang.Object) held by %s\n"
                         "  at a.B.d(B.java:~)\n",
                    owners[i]);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump_thread *main = dump_main_thread(only_dump(&c));
        const struct dump_name *name = dump_name_at(&c.dumps[0], main->stack.frames[0]);
        assert_string_equal(name->symbol, "a.B.c");
        assert_string_equal(name->file, "B.java");
        assert_int_equal(name->line, 12);
        assert_string_equal(main->waits_for.kind, "monitor");
        assert_int_equal(main->waits_for.owner, 11);
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void the_text_of_crashlytics_is_a_trace(void **state) {
    (void)state;
    struct converted c = convert_text_of("# Crashlytics - Stack trace\n# Application: com.x.y\n"
                                         "# Platform: android\n# Version: 3.1 (44)\n\n"
                                         "main (runnable):tid=1 systid=14263 \n"
                                         "#00 pc 0xc8b38 libc.so (__epoll_pwait + 8)\n"
                                         "       at a.B.c(B.java:12)\n\n"
                                         "Net (2) (waiting):tid=7 systid=14270\n"
                                         "       at java.lang.Object.wait(Native method)\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    assert_string_equal(d->threads[0].name, "main");
    assert_string_equal(d->threads[0].state, "running");
    assert_string_equal(d->threads[1].name, "Net (2)");
    assert_string_equal(d->app.id, "com.x.y");
    assert_string_equal(d->app.version, "3.1");
    assert_string_equal(d->app.build, "44");
    const struct dump_name *name = dump_name_at(d, d->threads[0].stack.frames[0]);
    assert_string_equal(name->symbol, "__epoll_pwait");
    assert_int_equal(name->offset, 8);
    assert_int_equal(d->threads[1].id, 7);
    release_converted(&c);
}

static void empty_lines_within_threads_of_a_trace_end_none(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        PROCESS "\n\"main\" prio=5 tid=1 Native\n\n\n  | sysTid=4242 nice=-10\n\n"
                "  native: #00 pc 00000010  /system/lib64/libc.so (syscall+28)\n\n"
                "  at a.B.c(B.java:1)\n\n  - waiting to lock <0x1> (a x) held by thread 2\n\n\n"
                "\"x\" prio=5 tid=2 Native\n  at a.B.d(B.java:2)\n" END);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    assert_int_equal(d->threads[0].stack.frame_count, 2);
    assert_int_equal(d->threads[0].waits_for.owner, 2);
    assert_int_equal(d->threads[1].stack.frame_count, 1);
    assert_null(d->lack);
    release_converted(&c);
}

/* Checks processes that are cut: the frames of the next process are not those of its threads. */
static void a_process_ends_where_another_begins(void **state) {
    static const struct {
        const char *text, *lack;
        size_t threads;
    } cases[] = {
        {"DALVIK THREADS:\n" MAIN "  at a.B.c(B.java:1)\n" END "\n" OTHER_PROCESS,
         "the head of its process", 1},
        {"DALVIK THREADS:\n" MAIN "  at a.B.c(B.java:1)\n\n" OTHER_PROCESS,
         "the head of its process", 1},
        {"----- pid 4242 at 2026-11-20 09:12:44 -----\nDALVIK THREADS (1):\n" MAIN
         "  at a.B.c(B.java:1)\n\n\"y\" prio=5 tid=3 Native\n  at a.B.e(B.java:1)\n"
         "\n----- end 77 -----\n",
         "the end of its process: lines of another one follow", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct converted c = convert_text_of(cases[i].text);
        const struct dump *d = only_dump(&c);
        assert_int_equal(d->thread_count, cases[i].threads);
        assert_string_equal(d->lack, cases[i].lack);
        release_converted(&c);
    }
}

static void frames_of_a_trace_that_are_cut_out_are_told(void **state) {
    (void)state;
    struct converted c =
        convert_text_of(PROCESS MAIN "  native: #00 pc 10  /system/lib64/libc.so (a+1)\n"
                                     "  native: #04 pc 20  /system/lib64/libc.so (b+1)\n"
                                     "  native: #01 pc 30  /system/lib64/libc.so (c+1)\n"
                                     "  at a.B.c(B.java:1)\n\n"
                                     "\"x\" prio=5 tid=2 Native\n  at a.B.d(B.java:2)\n\n"
                                     "  at a.B.e(B.java:3)\n" END);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->threads[0].stack.frame_count, 3);
    assert_int_equal(d->threads[0].stack.frames[1], 0);
    assert_int_equal(d->threads[1].stack.frame_count, 1);
    assert_string_equal(d->lack, "3 frames that the text leaves out; "
                                 "3 frames whose threads are not told");
    release_converted(&c);
}

/* Checks that a frame that cannot be read keeps its place, and that lines that lost their line feed
 * are reported. */
static void damaged_lines_of_a_trace_are_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        PROCESS "\"main\" prio=5 tid=1 Native\n  | sysTid=4242 nice=-10 sched=0/0\n"
                "  native: #00 pc 10  /system/lib64/libc.so (a+1)\n"
                "  native: #00 pc 10  /system/lib64/libc.so (a+1)\n"
                "  native: #01 pc 20  /system/lib64/libc.so (b+1)  at a.B.x(B.java:2)\n"
                "  at a.B.c(B.java:1)  at a.B.d(B.java:2)\n  at a.B.\n"
                "  - locked <0x0e5f6a7b> (a a.B)  at a.B.f(B.java:4)\n  a.B.e(B.java:1)\n"
                "  at a.B.g(B.java:5)\n  ... repeated 7 times\n\n"
                "\"x\" prio=5 tid=2 Native  | sysTid=4243\n  at a.B.d(B.java:2)\n" END);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->threads[0].stack.frame_count, 5);
    assert_int_equal(d->threads[0].stack.frames[1], 0);
    assert_string_equal(dump_name_at(d, d->threads[0].stack.frames[2])->symbol, "a.B.c");
    assert_int_equal(dump_name_at(d, d->threads[0].stack.frames[2])->line, 1);
    assert_int_equal(d->threads[0].stack.frames[3], 0);
    assert_string_equal(d->lack, "7 frames that the text leaves out; "
                                 "6 lines within threads that could not be read; "
                                 "1 frame that could not be read");
    release_converted(&c);
}

/* Reads what ART writes since Android 15 at the end of a thread, and for functions without a name.
 */
static void lines_of_android_15_are_known(void **state) {
    (void)state;
    struct converted c =
        convert_text_of(PROCESS "\"main\" prio=5 tid=1 Native\n  | sysTid=4242 nice=-10 sched=0/0\n"
                                "  native: #00 pc 10  /system/lib64/libc.so (a+1)\n"
                                "  native: #01 pc 20  /system/lib64/libc.so (\?\?\?)\n"
                                "  at a.B.c(B.java:1)\n  DumpLatencyMs: 2369.74\n" END);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->threads[0].stack.frame_count, 3);
    assert_non_null(dump_name_at(d, d->threads[0].stack.frames[0]));
    assert_null(dump_name_at(d, d->threads[0].stack.frames[1]));
    assert_string_equal(d->lack, "1 thread that the text announces and leaves out");
    release_converted(&c);
}

/* Reads traces of Android 13 and later, which have the machine's load between the subject and the
 * process. */
static void a_subject_may_stand_before_the_machines_load(void **state) {
#define LOAD(what)                                                                                 \
    "----- Output from /proc/pressure/" what " -----\nsome avg10=1.00 total=2\n"                   \
    "full avg10=1.00 total=2\n----- End output from /proc/pressure/" what " -----\n"
    (void)state;
    struct converted c = convert_text_of(
        "Subject: Input dispatching timed out (x is not responding. Waited 5002ms for Motion)\n"
        "No messages.\n\n" LOAD("memory") LOAD("cpu") LOAD("io") "\nRssHwmKb: 1\n\n" PROCESS MAIN
                                                                 "  at a.B.c(B.java:1)\n" END);
    assert_int_equal(only_dump(&c)->stall.at_ms, 5002);
    release_converted(&c);
}

/* Recognises a trace that was pasted into a list or between lines of prose, and so is indented. */
static void the_machines_load_may_be_indented(void **state) {
    (void)state;
    assert_true(is_android("Subject: Input dispatching timed out (x)\n    \n"
                           "    ----- Output from /proc/pressure/cpu -----\n"
                           "    some avg10=1.00 total=2\n    full avg10=1.00 total=2\n"
                           "    some avg60=1.00 total=2\n    full avg60=1.00 total=2\n"
                           "    some avg300=1.00 total=2\n    full avg300=1.00 total=2\n"
                           "    ----- End output from /proc/pressure/cpu -----\n    \n"
                           "    RssHwmKb: 1\n"));
}

/* Checks that neither the fence that ends code in Markdown nor the prose after it is a line of the
 * thread. */
static void the_end_of_code_in_markdown_is_no_line_of_a_thread(void **state) {
    static const char *const ends[] = {"```\n", "`\n", "  ~~~\n", "```\nPlease help.\n"};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, "\"main\" tid=1 Native\n  at a.B.c (B.java:1)\n%s", ends[i]);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        assert_null(only_dump(&c)->lack);
        release_converted(&c);
        strbuf_release(&text);
    }
}

/* The system dumps the process that hung first; if that process does not answer, others follow. */
static void a_process_that_does_not_answer_is_not_another_one(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "RssHwmKb: 1\n----- dumping pid: 21479 at 1376618137\n\n"
        "----- Waiting Channels: pid 21479 at 2026-11-20 09:12:44 -----\nCmd line: a.b\n\n"
        "sysTid=21479     state=S    futex_wait_queue\n\n----- end 21479 -----\n"
        "----- dumping pid: 4242 at 1376618137\n" PROCESS MAIN "  at a.B.c(B.java:1)\n" END);
    assert_int_equal(c.st, ST_ERR);
    assert_string_equal(c.err.text,
                        "an Android trace without threads of the process that hung, 21479");
    release_converted(&c);
}

/* If the virtual machine does not answer, the trace has only native stacks, without Java frames. */
static void native_stacks_alone_have_a_main_thread(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "----- pid 4242 at 2026-11-20 09:12:44 -----\nCmd line: com.example.shop\n\n"
        "\"Binder\" sysTid=4250\n  #00 pc 10  /system/lib64/libc.so (__ioctl+8)\n\n"
        "\"ample.shop\" sysTid=4242\n  #00 pc 20  /system/lib64/libc.so (__epoll_pwait+8)\n"
        "  #01 pc 30  /system/lib64/libutils.so (a+1)\n" END);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    assert_int_equal(d->threads[0].id, 4250);
    assert_false(d->threads[0].main);
    assert_int_equal(d->threads[1].id, 4242);
    assert_true(d->threads[1].main);
    assert_int_equal(d->threads[1].stack.frame_count, 2);
    assert_null(d->lack);
    release_converted(&c);
}

/* A bug report has the stacks of all processes. It begins with those of native programs, which did
 * not hang. */
static void a_native_program_is_not_what_hung(void **state) {
#define PROGRAM                                                                                    \
    "----- pid 643 at 2026-11-20 09:12:44 -----\nCmd line: /system/bin/programd\n\n"               \
    "\"programd\" sysTid=643\n  #00 pc 10  /system/lib64/libc.so (__ioctl+8)\n\n----- end 643 "    \
    "-----\n"
    static const char *const told[] = {
        "Subject: a program was too slow\n----- dumping pid: 643 at 1\n" PROGRAM,
        "----- dumping pid: 643 at 1\n" PROGRAM};
    (void)state;
    struct converted c = convert_text_of(PROGRAM OTHER_PROCESS);
    assert_string_equal(only_dump(&c)->lack,
                        "which process hung: the first one is a native program, which the system "
                        "does not watch");
    release_converted(&c);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        c = convert_text_of(told[i]);
        assert_null(only_dump(&c)->lack);
        release_converted(&c);
    }
}

/* The first process is not taken for the one that hung if it is the system's, no subject says so,
 * and other processes follow. */
static void the_first_process_of_a_bug_report_is_not_what_hung(void **state) {
#define SYSTEM                                                                                     \
    "----- pid 644 at 2026-11-20 09:12:44 -----\nCmd line: system_server\nDALVIK THREADS:\n" MAIN  \
    "  at a.B.c(B.java:1)\n\n----- end 644 -----\n"
#define ALL "------ VM TRACES JUST NOW (/data/anr/traces.txt.bugreport) ------\n\n"
    static const char *const one[] = {
        SYSTEM,
        "Subject: the system was too slow\n----- dumping pid: 644 at 1\n" SYSTEM PROCESS MAIN
        "  at a.B.d(B.java:1)\n" END};
    (void)state;
    struct converted c = convert_text_of(SYSTEM PROCESS MAIN "  at a.B.d(B.java:1)\n" END);
    assert_string_equal(only_dump(&c)->app.id, "system_server");
    assert_string_equal(only_dump(&c)->lack, "which process hung: the first one is system_server, "
                                             "and no subject tells");
    release_converted(&c);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        c = convert_text_of(one[i]);
        assert_null(only_dump(&c)->lack);
        release_converted(&c);
    }
    c = convert_text_of(ALL SYSTEM PROCESS MAIN "  at a.B.d(B.java:1)\n" END);
    assert_int_equal(c.st, ST_ERR);
    assert_int_equal(c.err.code, ERR_UNSUPPORTED);
    release_converted(&c);
}

/* The option --process of stallsym names a process by its command or its id. */
static void one_process_of_all_can_be_asked_for(void **state) {
    static const char text[] = ALL SYSTEM PROCESS MAIN "  at a.B.d(B.java:1)\n" END OTHER_PROCESS;
    static const struct {
        const char *wanted, *app;
    } rows[] = {{"com.example.shop", "com.example.shop"},
                {"4242", "com.example.shop"},
                {"system_server", "system_server"},
                {"77", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct converted c = convert_process_of(text, rows[i].wanted);
        const struct dump *d = only_dump(&c);
        assert_true(!d->lack || !strstr(d->lack, "which process"));
        if (rows[i].app) {
            assert_string_equal(d->app.id, rows[i].app);
        } else {
            assert_null(d->app.id);
        }
        release_converted(&c);
    }
    struct converted c = convert_process_of(text, "com.example");
    assert_int_equal(c.st, ST_ERR);
    release_converted(&c);
}

/* xCrash writes its own head, but no line that begins or ends the process. */
static void the_head_of_xcrash_is_read(void **state) {
    static const char text[] =
        "*** *** *** *** ***\nTombstone maker: 'xCrash 3.0.0'\nCrash type: 'anr'\n"
        "Start time: '2026-11-20T09:12:00.000+0100'\nCrash time: '2026-11-20T09:12:44.123+0100'\n"
        "App ID: 'com.example.shop'\nApp version: '5.3.1'\nOS version: '14'\nModel: 'Pixel 6'\n"
        "ABI: 'arm64'\npid: 4242  >>> com.example.shop <<<\n\n--- --- --- --- ---\n"
        "Cmd line: com.example.shop\nDALVIK THREADS (1):\n" MAIN "  at a.B.c(B.java:1)\n\n"
        "+++ +++ +++ +++ +++\n\nlogcat:\n--------- tail end of log main\n";
    (void)state;
    assert_true(is_android(text));
    assert_true(is_android(strchr(text, '\n') + 1));
    struct converted c = convert_text_of(text);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->app.id, "com.example.shop");
    assert_string_equal(d->app.version, "5.3.1");
    assert_string_equal(d->time, "2026-11-20T08:12:44.123Z");
    assert_string_equal(d->device.os, "Android 14");
    assert_string_equal(d->device.model, "Pixel 6");
    assert_string_equal(d->device.arch, "arm64");
    assert_null(d->lack);
    release_converted(&c);
    assert_false(is_android("*** *** ***\nTombstone maker: 'xCrash 3.0.0'\nCrash type: 'java'\n"));
}

/* The part "Waiting Channels" of the same process stands before its threads, and has its own end
 * line, which does not end the process. */
static void the_end_of_waiting_channels_is_not_the_process_s(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Subject: x (Waited 5002ms)\n\nRssHwmKb: 1\n\n"
        "----- Waiting Channels: pid 4242 at 2026-11-20 09:12:43 -----\nCmd line: a.b\n\n"
        "sysTid=4242     futex_wait_queue\n\n----- end 4242 -----\n" PROCESS MAIN
        "  at a.B.c(B.java:1)\n" END);
    assert_string_equal(only_dump(&c)->lack, "1 thread that the text announces and leaves out");
    assert_int_equal(only_dump(&c)->stall.at_ms, 5002);
    release_converted(&c);
}

/* main() has ended, and its thread waits for others without the virtual machine. */
static void a_thread_with_the_processs_id_is_the_main_one(void **state) {
    (void)state;
    struct converted c =
        convert_text_of(PROCESS "\"binder:4242_1\" prio=5 tid=1 Native\n  | sysTid=4250 nice=0\n"
                                "  native: #00 pc 10  /system/lib64/libc.so (ioctl+4)\n\n"
                                "\"example.shop\" prio=10 (not attached)\n  | sysTid=4242 nice=0\n"
                                "  native: #00 pc 20  /system/lib64/libc.so (syscall+28)\n" END);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    assert_false(d->threads[0].main);
    assert_true(d->threads[1].main);
    assert_string_equal(d->threads[1].name, "example.shop");
    release_converted(&c);
}

/* The Play Console's page gives a thread's first line twice, and an empty line behind frames. */
static void frames_of_the_play_console_may_stand_apart(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "\"main\" tid=1 Native\n\"main\" prio=5 tid=1 Native\n  | sysTid=4242 nice=0\n"
        "  | held mutexes=\n \n  #00  pc 10  /system/lib64/libc.so (syscall+28)\n \n"
        "  #01  pc 20  /system/lib64/libc.so (wait+4)\n \n"
        "  at a.B.c (B.java:1)\n \n  at a.B.d (B.java:2)\n"
        "\"work\" tid=28 Native\n\"work\" prio=5 tid=28 Native\n"
        "  #00  pc 30  /system/lib64/libc.so (poll+4)\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    assert_int_equal(d->threads[0].stack.frame_count, 4);
    assert_int_equal(d->threads[1].stack.frame_count, 1);
    assert_null(d->lack);
    release_converted(&c);
}

static void the_subject_of_a_mail_is_not_the_systems(void **state) {
    static const struct {
        const char *head, *reason;
        int at_ms;
    } rows[] = {
        {"From: a@b.c\nTo: d@b.c\nSubject: crash, waited 7ms\n\n", NULL, -1},
        {"Subject: crash\nMIME-Version: 1.0\nContent-Type: text/plain\n\n", NULL, -1},
        {"From: a@b.c\nSubject: crash\n\nSubject: x. Waited 5001ms for y\n\n",
         "x. Waited 5001ms for y", 5001},
        {"Subject: x. Waited 5001ms for y\n\n", "x. Waited 5001ms for y", 5001},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, "%s%s%s%s", rows[i].head, PROCESS, MAIN "  at a.B.c(B.java:1)\n", END);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_int_equal(d->stall.at_ms, rows[i].at_ms);
        assert_true(!strstr(d->text, "\"reason\":") == !rows[i].reason);
        assert_non_null(strstr(d->text, rows[i].reason ? rows[i].reason : ""));
        release_converted(&c);
        strbuf_release(&text);
    }
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_tells_the_app_the_system_and_how_long_was_waited),
        cmocka_unit_test(a_subject_alone_tells_how_long_was_waited),
        cmocka_unit_test(native_frames_lie_in_their_files),
        cmocka_unit_test(owners_of_monitors_are_told),
        cmocka_unit_test(only_the_first_process_hung),
        cmocka_unit_test(what_is_no_trace_is_not_taken_for_one),
        cmocka_unit_test(a_trace_without_its_main_thread_is_refused),
        cmocka_unit_test(a_trace_that_is_cut_says_so),
        cmocka_unit_test(dalviks_words_are_read),
        cmocka_unit_test(the_text_of_crashlytics_is_a_trace),
        cmocka_unit_test(empty_lines_within_threads_of_a_trace_end_none),
        cmocka_unit_test(a_process_ends_where_another_begins),
        cmocka_unit_test(damaged_lines_of_a_trace_are_told),
        cmocka_unit_test(lines_of_android_15_are_known),
        cmocka_unit_test(a_subject_may_stand_before_the_machines_load),
        cmocka_unit_test(the_machines_load_may_be_indented),
        cmocka_unit_test(the_end_of_code_in_markdown_is_no_line_of_a_thread),
        cmocka_unit_test(a_process_that_does_not_answer_is_not_another_one),
        cmocka_unit_test(native_stacks_alone_have_a_main_thread),
        cmocka_unit_test(frames_of_a_trace_that_are_cut_out_are_told),
        cmocka_unit_test(a_native_program_is_not_what_hung),
        cmocka_unit_test(the_first_process_of_a_bug_report_is_not_what_hung),
        cmocka_unit_test(one_process_of_all_can_be_asked_for),
        cmocka_unit_test(a_thread_with_the_processs_id_is_the_main_one),
        cmocka_unit_test(frames_of_the_play_console_may_stand_apart),
        cmocka_unit_test(the_subject_of_a_mail_is_not_the_systems),
        cmocka_unit_test(the_head_of_xcrash_is_read),
        cmocka_unit_test(the_end_of_waiting_channels_is_not_the_process_s),
    };
    return cmocka_run_group_tests_name("report_android", tests, NULL, NULL);
}
