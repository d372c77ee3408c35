/* Tests of Apple's text reports that were pasted, cut, folded or written by others. */
#include "dump/reports/report_support_test.h"

#define HEAD                                                                                       \
    "Process: Shop [667]\nIdentifier: com.example.shop\nCode Type: ARM-64 (Native)\n"              \
    "OS Version: iPhone OS 18.7 (22H20)\n"
#define LISTED                                                                                     \
    "Binary Images:\n"                                                                             \
    "0x100000000 - 0x10000ffff Shop arm64 <4c4c442c55553144a1de7aabf56a019c> "                     \
    "/private/var/x/Shop.app/Shop\n"

static const char *lack_of(const struct dump *d) {
    return d->lack ? d->lack : "";
}

static void a_thread_is_headed_by_any_word(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD "Exception Type: EXC_RESOURCE\nException Subtype: CPU\n"
             "Exception Message: (Limit 50%) Observed 60% over 180 secs\n"
             "Triggered by Thread: 2\n\n"
             "Thread 0:\n0 Shop 0x0000000100000010 0x100000000 + 16\n\n"
             "Thread 1 Highlighted:\n0 Shop 0x0000000100000020 0x100000000 + 32\n\n"
             "Thread 2 name: work\nThread 2 Attributed:\n"
             "0 Shop 0x0000000100000030 0x100000000 + 48\n\n"
             "Thread 3 (Crashed):\n0 Shop 0x0000000100000040 0x100000000 + 64\n\n"
             "Thread 2 crashed with ARM Thread State (64-bit):\n x0: 0x1\n\n" LISTED);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 4);
    for (size_t i = 0; i < 4; i++) {
        check_frames(&d->threads[i].stack, FRAMES(0x100000010 + 16 * i));
    }
    assert_string_equal(d->threads[2].name, "work");
    assert_non_null(strstr(d->text, "\"id\":3,\"crashed\":true"));
    assert_string_equal(lack_of(d), "");
    assert_string_equal(d->stall.kind, "cpu");
    assert_false(d->stall.fatal);
    assert_int_equal(d->stall.duration_ms, 180000);
    assert_int_equal(d->stall.cpu_permille, 600);
    assert_int_equal(d->stall.top_thread, 2);
    release_converted(&c);
}

/* Lines that people write before a crash report may look like the headers of a spindump. */
static void words_before_a_crash_make_it_no_spindump(void **state) {
    static const char *const words[] = {"Steps:\n1. Open it.\n\n", "Steps: open it.\n\n",
                                        "Steps: 1. open it\n"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    "%s" HEAD "Version: 1.2 (3)\n\nThread 0 Crashed:\n"
                    "0 Shop 0x0000000100000010 f + 16\n\n" LISTED,
                    words[i]);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->stall.kind, "crash");
        assert_string_equal(d->app.id, "com.example.shop");
        assert_string_equal(d->device.arch, "arm64");
        release_converted(&c);
        strbuf_release(&text);
    }
}

/* App Store Connect writes rows without a name for functions that were inlined at the address of
 * the row before, and does not count them. */
static void rows_without_a_name_are_no_frames(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD "Thread 0:\n0 Kit 0x0000000100000010 inner() + 48 (:-1)\n"
             "1 Kit 0x0000000100000010 outer() + 2644 (:-1)\n"
             "2 Kit 0x0000000100000010  + -1 (:-1)\n3 Kit 0x0000000100000010  + -1 (:-1)\n"
             "2 Shop 0x0000000100000020 save() + 16 (Save.swift:3)\n"
             "3 Shop 0x0000000100000030  + -1 (:-1)\n"
             "4 Shop 0x0000000100000040 main + 8 (:-1)\n" LISTED);
    const struct dump *d = only_dump(&c);
    check_frames(&d->threads[0].stack, FRAMES(0x100000010, 0x100000020, 0x100000030, 0x100000040));
    assert_string_equal(lack_of(d), "");
    assert_null(strstr(d->text, "+ -1\""));
    assert_non_null(strstr(d->text, "\"outer()\""));
    release_converted(&c);
}

static void a_thread_with_a_queue_keeps_its_own_name(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD "Thread 0 name: tid_103 Dispatch queue: com.apple.main-thread\nThread 0 Crashed:\n"
             "0 Shop 0x0000000100000010 f + 16\n\n"
             "Thread 1 name:   Dispatch queue: work\nThread 1:\n"
             "0 Shop 0x0000000100000020 g + 16\n" LISTED);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->threads[0].name, "tid_103");
    assert_string_equal(d->threads[1].name, "work");
    release_converted(&c);
}

/* ipsw(1) writes a colon behind the frame's number, and how far the image was moved. */
static void frames_of_ipsw_are_read(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD "Thread 0 Crashed:\n  0: libx.dylib (slide=0x27010000) 0x1bc39e1e0 _send + 32\n"
             "  1: Shop (slide=0x10000)           0x100000020 _main + 4\n");
    const struct dump *d = only_dump(&c);
    check_frames(&d->threads[0].stack, FRAMES(0x1bc39e1e0, 0x100000020));
    assert_int_equal(d->image_count, 2);
    assert_string_equal(d->images[dump_image_at(d, 0x100000020)].name, "Shop");
    assert_non_null(strstr(d->text, "\"_send\",32"));
    release_converted(&c);
}

static void a_second_head_is_told(void **state) {
    (void)state;
    struct converted c =
        convert_text_of(HEAD "Exception Type: EXC_CRASH (SIGABRT)\n\n"
                             "Exception Type: EXC_BAD_ACCESS (SIGSEGV)\nThread 0 Crashed:\n"
                             "0 Shop 0x0000000100000010 f + 16\n" LISTED);
    assert_string_equal(lack_of(only_dump(&c)),
                        "a second \"Exception Type:\": headers may be those of another report");
    release_converted(&c);
}

static void what_a_process_used_is_its_kind(void **state) {
    static const char *const kinds[][2] = {
        {"WAKEUPS\nException Message: (Limit 150/sec) Observed 195/sec over 300 secs", "cpu"},
        {"CPU_FATAL", "cpu"},
        {"IO", "disk-write"},
        {"MEMORY", "crash"},
        {"CPUS", "crash"}};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    HEAD "Exception Type: EXC_RESOURCE\nException Subtype: %s\n"
                         "Thread 0:\n0 Shop 0x0000000100000010 f + 16\n" LISTED,
                    kinds[i][0]);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->stall.kind, kinds[i][1]);
        assert_int_equal(d->stall.fatal, i == 1 || i >= 3);
        assert_int_equal(d->stall.duration_ms, i == 0 ? 300000 : -1);
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void frames_of_another_thread_are_left_out(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD
        "Thread 0:\n0 Shop 0x0000000100000010 f + 1\n1 Shop 0x0000000100000020 f + 1\n"
        "1 Shop 0x0000000100000024 g + 1\n2 Shop 0x0000000100000030 h + 1\n"
        "1 Shop 0x0000000100000090 i + 1\n2 Shop 0x0000000100000094 i + 1\n\n"
        "Thread 3:\n4 Shop 0x0000000100000040 f + 1\n7 Shop 0x0000000100000050 f + 1\n" LISTED);
    const struct dump *d = only_dump(&c);
    check_frames(&d->threads[0].stack, FRAMES(0x100000010, 0x100000020, 0x100000024, 0x100000030));
    assert_int_equal(d->threads[1].stack.frame_count, 3);
    assert_int_equal(d->threads[1].stack.frames[1],
                     0); /* one frame 0 stands for the missing frames 5 and 6 */
    assert_false(dump_frame_exact(&d->threads[1].stack, 0));
    assert_string_equal(lack_of(d), "2 threads that the text leaves out; 6 frames that the text "
                                    "leaves out; 2 frames whose numbers are out of order");
    release_converted(&c);
}

static void images_come_from_frames_if_none_are_listed(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD "Thread 0 Crashed:\n0 libsystem_kernel.dylib 0x00000001dc4ecb34 write + 84\n"
             "1 Shop 0x0000000100000020 0x100000000 + 32\n2 Shop 0x0000000100005020 main + 4\n"
             "3 My Kit (*) 0x0000000180001000 f + 4\n4 ??? 0x0000000190001000 0 + 0\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->image_count, 3);
    const struct dump_image *shop = &d->images[dump_image_at(d, 0x100005020)];
    assert_string_equal(shop->name, "Shop");
    assert_int_equal(shop->load, 0x100000000);
    assert_true(shop->in_app);
    assert_int_equal(shop->id.kind, IMAGE_ID_NONE);
    assert_string_equal(d->images[dump_image_at(d, 0x180001000)].name, "My Kit");
    assert_string_equal(d->images[dump_image_at(d, 0x1dc4ecb34)].name, "libsystem_kernel.dylib");
    assert_int_equal(dump_image_at(d, 0x190001000), -1);
    assert_non_null(strstr(lack_of(d), "no UUID"));
    release_converted(&c);
    /* without a process name the app's images are recognised by their addresses */
    c = convert_text_of("Thread 0 Crashed:\n0 libx.dylib 0x00000001dc4ecb34 f + 84\n"
                        "1 Shop 0x0000000100000020 0x100000000 + 32\n");
    d = only_dump(&c);
    assert_true(d->images[dump_image_at(d, 0x100000020)].in_app);
    assert_false(d->images[dump_image_at(d, 0x1dc4ecb34)].in_app);
    release_converted(&c);
    /* an image that is missing at the end of the list */
    c = convert_text_of(HEAD "Thread 0:\n0 Shop 0x0000000100000020 0x100000000 + 32\n"
                             "1 Kit 0x0000000110000020 0x110000000 + 32\n" LISTED);
    d = only_dump(&c);
    assert_int_equal(d->image_count, 2);
    assert_string_equal(lack_of(d), "1 image that \"Binary Images\" leaves out");
    release_converted(&c);
}

static void an_address_whose_end_was_cut_off_is_none(void **state) {
    (void)state;
    struct converted c =
        convert_text_of(HEAD "Thread 0 Crashed:\n0 libx.dylib 0x00000001dc4ecb34 f + 84\n"
                             "1 Shop 0x00000001000");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->threads[0].stack.frames[1], 0);
    assert_non_null(strstr(lack_of(d), "1 frame that could not be read"));
    release_converted(&c);
}

static void folded_frames_are_joined(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD "Thread 0 Crashed:\n0   Shop     \t\n0x0000000100000010 0x100000000 + 16\n"
             "1   Shop                     0x0000000100000020\n _cart_add:to: + 40\n"
             "2   Shop     0x0000000100000030 main +\n 266 (main.m:17)\n"
             "3   libdyld.dylib    0x00000001aa4016c0 start\n + 4\n"
             "Thread 0 crashed with ARM Thread State (64-bit):\n x0: 0x1\n" LISTED);
    const struct dump *d = only_dump(&c);
    check_frames(&d->threads[0].stack, FRAMES(0x100000010, 0x100000020, 0x100000030, 0x1aa4016c0));
    assert_string_equal(dump_name_at(d, 0x100000020)->symbol, "_cart_add:to:");
    assert_string_equal(dump_name_at(d, 0x100000030)->symbol, "main");
    assert_int_equal(dump_name_at(d, 0x100000030)->line, 17);
    assert_string_equal(dump_name_at(d, 0x1aa4016c0)->symbol, "start");
    release_converted(&c);
}

static void hexadecimal_offsets_are_no_names(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Date: 2026-11-20 10:12:44 +0000\nProcess: Shop\nBundle id: com.example.shop\n"
        "Device: iPhone10,6, iOS 11.3.1\n\nThread 0 Crashed:\n"
        "0 Shop \t0x100000010 0x100000000 + 0x10\t// -[Cart add:] + 0x8\n"
        "1 Shop (*) \t0x100000020 0x100000000 + 0x20\t// 0x0000001c + 0x4\n"
        "2 Shop \t0x100000030 0x100000000 + 0x30\n" LISTED);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->app.id, "com.example.shop");
    assert_string_equal(d->device.model, "iPhone10,6");
    assert_string_equal(d->device.os, "iOS 11.3.1");
    assert_int_equal(d->name_count, 1);
    assert_string_equal(dump_name_at(d, 0x100000010)->symbol, "-[Cart add:]");
    assert_int_equal(dump_name_at(d, 0x100000010)->offset, 8);
    release_converted(&c);
}

static void empty_lines_within_threads_end_none(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD "\nThread 0 name: main\n\n\nThread 0:\n\n0 Shop 0x0000000100000010 f + 16\n\n\n"
             "1 Shop 0x0000000100000020 f + 32\n2 Shop 0x0000000100000030 g + 48\n\n"
             "2 Shop 0x0000000100000030 h + 48\n\nThread 1:\n0 Shop 0x0000000100000040 g + 16\n\n"
             "Last Exception Backtrace:\n\n(0x100000050 0x100000060)\n\n" LISTED);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 3);
    check_frames(&d->threads[0].stack, FRAMES(0x100000010, 0x100000020, 0x100000030));
    assert_int_equal(dump_name_at(d, 0x100000030)->inlined_count, 1);
    check_frames(&d->threads[1].stack, FRAMES(0x100000040));
    check_frames(&d->threads[2].stack, FRAMES(0x100000050, 0x100000060));
    assert_string_equal(lack_of(d), "");
    release_converted(&c);
}

static void a_text_without_a_frame_says_so(void **state) {
    (void)state;
    struct converted c =
        convert_text_of("Incident Identifier: i\n" HEAD "Thread 0:\n\nThread 1:\n\n" LISTED);
    assert_string_equal(lack_of(only_dump(&c)), "stacks: no thread has a frame");
    release_converted(&c);
}

/* Checks that frames lost by damage are reported or recovered. */
static void damaged_threads_are_told(void **state) {
    static const struct {
        const char *text, *lack;
        size_t frames;
    } cases[] = {
        /* "Thread 0:" is lost, "Thread 0 name:" is not */
        {"Thread 0 name: main\n0 Shop 0x0000000100000010 f + 1\n"
         "1 Shop 0x0000000100000020 f + 1\n\nThread 1:\n0 Shop 0x0000000100000030 f + 1\n\n",
         "", 2},
        {"hread 0:\n0 Shop 0x0000000100000010 f + 1\n1 Shop 0x0000000100000020 f + 1\n\n"
         "Thread 1:\n0 Shop 0x0000000100000030 f + 1\n\n",
         "1 thread that the text leaves out; 2 frames whose threads are not told", 1},
        {"Thread 0:\n0 Shop 0x0000000100000010 f + 1\nShop 0x0000000100000020 f + 1\n\n",
         "1 frame that could not be read", 1},
        {"Thread 0:\n0 Shop 0x0000000100000010 f + 11 Shop 0x0000000100000020 f + 1\n\n",
         "1 frame that could not be read", 1},
        {"Thread 0:\n0 Shop 0x0000000100000010 f + 1\n1 Shop 0x0000000100000020 f + 1\n"
         "1 Shop 0x0000000100000020 f + 1\n2 Shop 0x0000000100000030 f + 1\n\n",
         "1 frame whose line stands twice", 3},
        {"Thread 0:\n0 Kit 0x0000000180000010 f + 1\n1 Shop 0x0000000100000020 f + 1\n\n",
         "1 image that \"Binary Images\" leaves out", 2},
        {"Application Specific Backtrace 1:\n0 Kit 0x0000000180000010 f + 1\n\n"
         "Thread 0:\n0 Shop 0x0000000100000010 f + 1\nThread 0 crashed with X86 State:\n"
         " rip: 0x0000000100000010\n\n",
         "", 1},
        /* libsymbolicate repeats the address */
        {"Thread 0:\n0 Shop 0x0000000100000010 0x100000000 + 0x10 // 0x0000000100000010\n\n", "",
         1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, HEAD "%s" LISTED, cases[i].text);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        assert_string_equal(lack_of(only_dump(&c)), cases[i].lack);
        assert_int_equal(only_dump(&c)->threads[0].stack.frame_count, cases[i].frames);
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void damaged_images_are_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD
        "Thread 0:\n0 Shop 0x0000000100000010 f + 1\n1 Kit 0x0000000180000010 f + 1\n\n"
        "Binary Images:\n0x100000000 - 0x10000ffff Shop arm64 <4c4c442c55553144a1de7aabf56a019c>\n"
        "/private/var/x/Shop.app/Shop\n0x180000000 - 0xx80000fff Kit arm64 /x/Kit\n"
        "<4c4c442c55553144a1de7aabf56a019c> /x/Other\n\n0x0 is no image\n");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->images[0].path,
                        "/private/var/x/Shop.app/Shop"); /* mail folded the line with this path */
    assert_string_equal(lack_of(d), "1 image that \"Binary Images\" leaves out; "
                                    "2 images that could not be read");
    release_converted(&c);
}

/* If neither a header nor a mark tells which images are the app's, their addresses do. */
static void images_without_headers_are_the_apps_by_their_place(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Thread 0:\n0 libx.dylib 0x0000000180000010 f + 1\n"
        "1 Shop 0x0000000100000020 f + 1\n\n" LISTED "0x180000000 - 0x18000ffff libx.dylib arm64 "
        "<4c4c442c55553144a1de7aabf56a019d> /usr/lib/libx.dylib\n");
    const struct dump *d = only_dump(&c);
    assert_true(d->images[dump_image_at(d, 0x100000020)].in_app);
    assert_false(d->images[dump_image_at(d, 0x180000010)].in_app);
    release_converted(&c);
}

/* Mail folds lines at any blank, even within a symbol. */
static void a_symbol_goes_on_in_the_next_line(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD "\nThread 0:\n0 Shop 0x0000000100000010 0x100000000 + 16 (__kill\n+ 8)\n"
             "1 Shop 0x0000000100000020 0x100000000 + 32\n(+[Cart(Items) add:] + 4)\n"
             "2 Shop 0x0000000100000030 0x100000000 + 48 (-[Cart(Items)\nadd:] + 4)\n"
             "3 Shop 0x0000000100000040 -[Cart(Items)\ndrop:] + 4\n"
             "4 Shop 0x0000000100000050 -[Cart end] (Cart.m:12)\nwords\n"
             "5 Shop 0x0000000100000060 __kill + 16 (:-1)\n\n" LISTED);
    const char *text = only_dump(&c)->text;
    assert_non_null(strstr(text, "\"4294967312\":[\"__kill\",8]"));
    assert_non_null(strstr(text, "\"4294967328\":[\"+[Cart(Items) add:]\",4]"));
    assert_non_null(strstr(text, "\"4294967344\":[\"-[Cart(Items) add:]\",4]"));
    assert_non_null(strstr(text, "\"4294967360\":[\"-[Cart(Items) drop:]\",4]"));
    assert_non_null(strstr(text, "\"-[Cart end]\",0,\"Cart.m\",12]"));
    assert_non_null(strstr(
        text, "\"4294967392\":[\"__kill\",16]")); /* the order of the parts is that of Xcode */
    release_converted(&c);
}

/* The line with the code may be missing, or joined to the line before. */
static void the_watchdogs_sentence_is_enough(void **state) {
#define SENTENCE                                                                                   \
    "SPRINGBOARD, scene-create watchdog transgression: app<com.example.shop>:667 exhausted real "  \
    "(wall clock) time allowance of 19.83 seconds\n"
    static const char *const lines[] = {
        "Termination Description: " SENTENCE, "TerminationDescription: " SENTENCE,
        "Exception Subtype: " SENTENCE,
        ("Exception Note: EXC_CORPSE_NOTIFYTermination\n"
         "Reason: Namespace SPRINGBOARD, Code 0x8badf00d\nTermination Description: " SENTENCE)};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, "%sException Type: EXC_CRASH (SIGKILL)\n%s\nThread 0:\n%s", HEAD,
                    lines[i], "0 Shop 0x0000000100000010 0x100000000 + 16\n\n" LISTED);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->stall.kind, "watchdog");
        assert_string_equal(d->stall.activity, "scene-create");
        assert_int_equal(d->stall.duration_ms, 19830);
        release_converted(&c);
        strbuf_release(&text);
    }
}

/* Neither the address that atos writes for an unknown symbol nor a source location is taken for a
 * function's name. */
static void only_a_symbol_is_a_functions_name(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD "\nThread 0:\n"
             "0 Shop 0x0000000100000010 0x00000000008cfa48 (in Shop) + 9239112\n"
             "1 Shop 0x0000000100000020 0x100000000 + 32 (:-1)\n"
             "2 Shop 0x0000000100000030 0x100000000 + 48 (Cart.swift:12)\n"
             "3 Shop 0x0000000100000040 0x100000000 + 64 (-[Cart add:to:] + 4)\n\n" LISTED);
    const struct dump *d = only_dump(&c);
    check_frames(&d->threads[0].stack, FRAMES(0x100000010, 0x100000020, 0x100000030, 0x100000040));
    for (size_t i = 0; i < 3; i++) {
        assert_null(dump_name_at(d, d->threads[0].stack.frames[i]));
    }
    assert_string_equal(dump_name_at(d, 0x100000040)->symbol, "-[Cart add:to:]");
    release_converted(&c);
}

static void the_call_stack_is_the_crashed_threads(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Date: 9/27/21, 8:30 AM\nProcess: Shop\nBundle id: com.example.shop\n\n"
        "Exception type: EXC_SOFTWARE (SIGABRT)\n\nTriggered by thread: 1\nThread name: x\n"
        "Call stack:\n0   Shop   0x0000000100000010 0x100000000 + 16   // f + 0x10\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 1);
    assert_int_equal(d->threads[0].id, 1);
    assert_false(d->threads[0].main);
    assert_string_equal(d->threads[0].name, "x");
    assert_non_null(strstr(d->text, "\"crashed\":true"));
    assert_string_equal(dump_name_at(d, 0x100000010)->symbol, "f");
    release_converted(&c);
    assert_int_equal(convert_text_of("Call stack:\n0 Shop 0x0000000100000010 f + 16\n").st,
                     ST_NONE);
}

/* Cr4shed writes "(null)" for what it does not know. */
static void a_null_of_a_head_is_no_value(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Date: 9/27/21, 8:30 AM\nProcess: (null)\nBundle id: (null)\n\n"
        "Exception type: EXC_SOFTWARE (SIGABRT)\n\nTriggered by thread: 0\nThread name: (null)\n"
        "Call stack:\n0   Shop   0x0000000100000010 0x100000000 + 16   // f + 0x10\n");
    const struct dump *d = only_dump(&c);
    assert_null(d->app.id);
    assert_null(d->threads[0].name);
    assert_null(strstr(d->text, "\"id\":\"(null)\""));
    release_converted(&c);
}

/* swift-demangle(1) writes the mangled name, an arrow and the readable one. */
static void the_name_behind_an_arrow_is_taken(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Process:   Shop [667]\nIdentifier:   com.example.shop\n\nThread 0:\n"
        "0   Shop   0x0000000100000010 $s4Shop4CartC3addyyF ---> Cart.add() -> () + 16\n"
        "1   Shop   0x0000000100000020 0x100000000 + 32 ($s4Shop1fyyF ---> f() + 8)\n"
        "2   Shop   0x0000000100000030 operator---> (int) + 4\n"
        "\nBinary Images:\n0x100000000 - 0x10000ffff Shop arm64  <> /x/Shop\n");
    const struct dump *d = only_dump(&c);
    const struct dump_name *name = dump_name_at(d, 0x100000010);
    assert_string_equal(name->symbol, "Cart.add() -> ()");
    assert_int_equal(name->offset, 16);
    assert_string_equal(dump_name_at(d, 0x100000020)->symbol, "f()");
    assert_string_equal(dump_name_at(d, 0x100000030)->symbol, "operator---> (int)");
    release_converted(&c);
}

/* A program may put atos(1)'s words before the line's own end. */
static void what_atos_wrote_may_stand_before_the_lines_end(void **state) {
    static const struct {
        const char *text, *symbol, *file;
        unsigned line;
        uint64_t offset;
    } rows[] = {
        {"closure #1 in f(x:) (in Shop) (/<compiler-generated>:0) 0x100000000 + 16",
         "closure #1 in f(x:)", NULL, 0, 0},
        {"<deduplicated_symbol> (in Shop) + 28 0x100000000 + 16", "<deduplicated_symbol>", NULL, 0,
         28},
        {"run (in Shop) (Cart.c:12) start + 16", "run", "Cart.c", 12, 0},
        {"run (in Shop) (Cart.c:12) [inlined]", "run", "Cart.c", 12, 0},
        {"run (in Shop) + 8", "run", NULL, 0, 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, HEAD "\nThread 0:\n0 Shop 0x0000000100000010 %s\n\n" LISTED,
                    rows[i].text);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        const struct dump_name *name = dump_name_at(d, 0x100000010);
        assert_string_equal(name->symbol, rows[i].symbol);
        assert_string_equal(name->file ? name->file : "", rows[i].file ? rows[i].file : "");
        assert_int_equal(name->line, rows[i].line);
        assert_int_equal(name->offset, rows[i].offset);
        assert_null(d->lack);
        release_converted(&c);
        strbuf_release(&text);
    }
}

/* The window of macOS shows a translation above the JSON from which it was made; when somebody
 * pastes both into an issue, the JSON may be cut. */
static void a_translation_above_a_cut_original_is_read(void **state) {
    static const char *const cut[] = {"{\"bug_type\":\"309\",\"app_na", "{\"bug_type\":\"309\"}\n",
                                      "{\"bug_type\":\"309\"}\n{\"usedImages\":[{\"base\":4096",
                                      "{\"bug_type\":\"309\"}\n{\"a\":[\n```\n"};
    (void)state;
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    "Translated Report (Full Report Below)\n-----\n\n%s\nThread 0:\n"
                    "0 Shop 0x0000000100000010 f + 16\n\n%s\n-----------\nFull Report\n"
                    "-----------\n\n%s",
                    HEAD, LISTED, cut[i]);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        check_frames(&d->threads[0].stack, FRAMES(0x100000010));
        assert_string_equal(lack_of(d),
                            "the full report: its JSON is cut short, and its translation was read");
        release_converted(&c);
        strbuf_release(&text);
    }
}

/* "diff -y" prints two reports side by side; they are not read. */
static void two_reports_side_by_side_are_none(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Process:   Shop [7]\t|\tProcess:   Shop [8]\nPath:  /x/Shop\t\tPath:  /x/Shop\n"
        "Version:   1 (2)\t\tVersion:   1 (2)\n\nThread 0:\t\tThread 0:\n"
        "0   Shop   0x0000000100000010 f + 16\t|\t0   Shop   0x0000000100000020 f + 32\n");
    assert_int_equal(c.st, ST_ERR);
    assert_int_equal(c.err.code, ERR_UNSUPPORTED);
    release_converted(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_reports_side_by_side_are_none),
        cmocka_unit_test(the_watchdogs_sentence_is_enough),
        cmocka_unit_test(a_symbol_goes_on_in_the_next_line),
        cmocka_unit_test(a_thread_is_headed_by_any_word),
        cmocka_unit_test(words_before_a_crash_make_it_no_spindump),
        cmocka_unit_test(rows_without_a_name_are_no_frames),
        cmocka_unit_test(a_thread_with_a_queue_keeps_its_own_name),
        cmocka_unit_test(frames_of_ipsw_are_read),
        cmocka_unit_test(a_second_head_is_told),
        cmocka_unit_test(what_a_process_used_is_its_kind),
        cmocka_unit_test(frames_of_another_thread_are_left_out),
        cmocka_unit_test(images_come_from_frames_if_none_are_listed),
        cmocka_unit_test(an_address_whose_end_was_cut_off_is_none),
        cmocka_unit_test(folded_frames_are_joined),
        cmocka_unit_test(hexadecimal_offsets_are_no_names),
        cmocka_unit_test(empty_lines_within_threads_end_none),
        cmocka_unit_test(damaged_threads_are_told),
        cmocka_unit_test(images_without_headers_are_the_apps_by_their_place),
        cmocka_unit_test(damaged_images_are_told),
        cmocka_unit_test(a_text_without_a_frame_says_so),
        cmocka_unit_test(only_a_symbol_is_a_functions_name),
        cmocka_unit_test(the_call_stack_is_the_crashed_threads),
        cmocka_unit_test(a_null_of_a_head_is_no_value),
        cmocka_unit_test(the_name_behind_an_arrow_is_taken),
        cmocka_unit_test(what_atos_wrote_may_stand_before_the_lines_end),
        cmocka_unit_test(a_translation_above_a_cut_original_is_read),
    };
    return cmocka_run_group_tests_name("report_crash", tests, NULL, NULL);
}
