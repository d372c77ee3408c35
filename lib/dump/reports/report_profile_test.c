/* Tests of counted stacks of sample(1) and perf script(1), and of stalls of Seastar's reactors. */
#include "dump/reports/report_perf_private.h"
#include "dump/reports/report_support_test.h"

#define SAMPLE                                                                                     \
    "Analysis of sampling Shop (pid 7) every 2 milliseconds\n"                                     \
    "Process:         Shop [7]\nPath:            /x/Shop.app/Shop\n"                               \
    "Identifier:      com.example.shop\nVersion:         5.3.1 (1234)\n"                           \
    "Code Type:       ARM64\nOS Version:      macOS 15.1 (24B83)\n\nCall graph:\n"
#define SUMS "\nTotal number in stack (recursive counted multiple, when >=5):\n        9  x\n"
#define IMAGES                                                                                     \
    "Binary Images:\n"                                                                             \
    "  0x100000000 -  0x1000fffff +com.example.shop (5.3.1 - 1234) "                               \
    "<6B834217-0C5D-4B2A-9A53-3B0E0F2D5C11> /x/Shop.app/Shop\n"

static void the_call_graph_of_sample_is_counted_stacks(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        SAMPLE
        "    9 Thread_12   DispatchQueue_1: com.apple.main-thread  (serial)\n"
        "    + 9 start  (in dyld) + 24  [0x180000010]\n"
        "    +   6 -[Cart(More) add:]  (in Shop) + 12,20  [0x100000100,0x100000108]  Cart.m:7\n"
        "    +   ! 4 ???  (in Shop)  load address 0x100000000 + 0x200  [0x100000200]\n"
        "    +   2 f  (in Shop) + 1  [0x100000300]\n"
        "    9 Thread_13: sync\n"
        "      9 g  (in Shop) + 1  [0x100000400]\n" SUMS IMAGES);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "hang");
    assert_int_equal(d->stall.duration_ms, -1);
    assert_int_equal(d->sample_interval_ms, 2);
    assert_string_equal(d->app.version, "5.3.1");
    assert_int_equal(d->thread_count, 2);
    assert_int_equal(d->threads[0].id, 12);
    assert_string_equal(d->threads[0].name, "com.apple.main-thread");
    assert_true(d->threads[0].main && !d->threads[1].main);
    assert_string_equal(d->threads[1].name, "sync");
    check_frames(&d->threads[0].stack, FRAMES(0x100000200, 0x100000100, 0x180000010));
    assert_int_equal(d->sample_count, 4); /* the other thread's samples are not the main thread's */
    assert_int_equal(d->samples[0].count, 1);
    assert_int_equal(d->samples[1].count, 2);
    assert_int_equal(d->samples[2].count, 4);
    check_frames(&d->samples[3], FRAMES(0x100000300, 0x180000010));
    const struct dump_name *name = dump_name_at(d, 0x100000100);
    assert_string_equal(name->symbol, "-[Cart(More) add:]");
    assert_int_equal(name->offset, 12);
    assert_string_equal(name->file, "Cart.m");
    assert_int_equal(name->line, 7);
    assert_null(dump_name_at(d, 0x100000200));
    assert_int_equal(d->image_count, 1);
    assert_true(d->images[0].in_app);
    release_converted(&c);
}

static void a_graph_without_its_end_says_so(void **state) {
    (void)state;
    struct converted c = convert_text_of(SAMPLE "    9 Thread_12\n      9 f  (in a) + 1  [0x10]\n");
    check_frames(&only_dump(&c)->threads[0].stack, FRAMES(0x10));
    assert_string_equal(only_dump(&c)->lack, "what follows: the text ends within its call graph");
    release_converted(&c);
    c = convert_text_of(SAMPLE "    9 Thread_12\n      9 f  (in a) + 1  [0x10]\n" SUMS);
    assert_int_equal(only_dump(&c)->image_count, 1); /* the one that its row names */
    release_converted(&c);
}

#define LIBC "(/usr/lib/libc.so.6)\n"
#define SHOP "(/opt/shop)\n"

static void equal_stacks_of_perf_are_counted(void **state) {
    (void)state;
    struct converted c = convert_text_of("shop main  7/7  1.5:  250000 cpu-clock: \n"
                                         "\t7f10 read+0x10 " LIBC "\t5510 f(int)+0x4 " SHOP "\n"
                                         "shop main  7/7 [003] 1.6:  9 cpu-clock: \n"
                                         "\t7f10 read+0x10 " LIBC "\t5510 f(int)+0x4 " SHOP "\n"
                                         "sync  7/8  1.7:  cpu-clock: \n"
                                         "\t5520 g+0x4 " SHOP "\t0 [unknown] ([unknown])\n"
                                         "\t7f20 lua+0x2 (/tmp/perf-7.map)\n\n"
                                         "sync  7/8  1.7:  sched:sched_switch: prev_comm=x\n"
                                         "\t5520 g+0x4 " SHOP "\n");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "cpu");
    assert_string_equal(d->lack, "1 sample of other events");
    assert_int_equal(d->sample_count, 2);
    assert_int_equal(d->samples[0].count, 2);
    assert_int_equal(d->samples[1].count, 1);
    assert_int_equal(d->samples[1].frame_count, 3);
    assert_int_equal(d->thread_count, 2);
    assert_true(d->threads[0].main);
    assert_string_equal(d->threads[0].name, "shop main");
    assert_int_equal(d->threads[1].id, 8);
    const uint64_t *frames = d->samples[0].frames;
    assert_string_equal(dump_name_at(d, frames[1])->symbol, "f(int)");
    assert_int_equal(dump_name_at(d, frames[1])->offset, 4);
    assert_string_equal(d->images[dump_image_at(d, frames[0])].name, "libc.so.6");
    assert_false(d->images[dump_image_at(d, frames[0])].in_app);
    assert_true(d->images[dump_image_at(d, frames[1])].in_app);
    frames = d->samples[1].frames;
    assert_null(dump_name_at(d, frames[1]));
    assert_int_equal(dump_image_at(d, frames[1]), -1);
    assert_string_equal(dump_name_at(d, frames[2])->symbol, "lua");
    assert_true(dump_name_at(d, frames[2])->in_app);
    release_converted(&c);
}

static void each_process_of_perf_is_a_dump(void **state) {
    (void)state;
    struct converted c = convert_text_of("a  7/7  1.5: c: \n\t1 f " SHOP "\n"
                                         "b  9/12  1.5: c: \n\t1 f " SHOP "\n"
                                         "a  7/8  1.5: c: \n\t1 f " SHOP "\n");
    assert_int_equal(c.st, ST_OK);
    assert_int_equal(c.count, 2);
    assert_string_equal(c.dumps[0].app.id, "a");
    assert_int_equal(c.dumps[0].thread_count, 2);
    assert_int_equal(c.dumps[1].thread_count, 1);
    assert_true(c.dumps[1].threads[0].main);
    assert_string_not_equal(c.dumps[0].id, c.dumps[1].id);
    assert_null(strstr(c.texts[1].data, "a  7/7")); /* a sample of the other process */
    release_converted(&c);
}

/* With -F comm,tid,event perf writes no times, and old versions do not indent frames. */
static void perf_without_times_is_read(void **state) {
    (void)state;
    struct converted c = convert_text_of("shop 7 cycles: \n7f10 read " LIBC "5510 f(int) " SHOP "\n"
                                         "shop 8 cycles: \n\t7f10 read " LIBC "\n"
                                         "shop 8 cycles: \n\n"
                                         "shop 7 cycles: \n7f10 read " LIBC "5510 f(int) " SHOP);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->stall.duration_ms, -1);
    assert_int_equal(d->sample_count, 2);
    assert_int_equal(d->samples[0].count, 2);
    assert_int_equal(d->samples[0].frame_count, 2);
    assert_int_equal(d->samples[1].count, 1);
    assert_string_equal(d->lack, "1 sample without a stack");
    release_converted(&c);
}

static void folded_and_cut_frames_of_perf_are_told(void **state) {
    (void)state;
    struct converted c = convert_text_of("shop 7/7 1.5: 9 cpu-clock: \n"
                                         "\t7f1000 read+0x10\n(/usr/lib/libc.so.6)\n"
                                         "\t551000 f(int)+0x4 " SHOP "\n"
                                         "shop 7/7 1.6: 9 cpu-clock: \n"
                                         "\t7f1000 read+0x10\n\t551000 f(int)+0x4 (/opt/sh");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->threads[0].stack.frame_count, 2);
    assert_non_null(strstr(d->lack, "2 frames that could not be read"));
    assert_non_null(strstr(d->lack, "the last line has no line feed"));
    release_converted(&c);
}

/* Samples are sorted by time, so that a sample with an earlier time belongs to another
 * recording. */
static void another_recording_of_perf_ends_the_first(void **state) {
    static const char report[] =
        ("# cmdline : perf script\nshop 7/7 1.5: 9 cycles: \n\t1 f (/a)\n\n"
         "shop 7/7 1.50025: 9 cycles: \n\t1 f (/a)\n\n");
    static const struct {
        const char *line;
        bool ends;
    } cases[] = {{"shop 7/7 1.500000: 9 cycles: ", true},
                 {"shop 7/7 0.900000: 9 cycles: ", true},
                 {"shop 7/7 1.500001: 9 cycles: ", false},
                 {"shop 7/7 9 cycles: ", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *line = cases[i].line;
        assert_int_equal(perf_ends((struct span){report, report + sizeof report - 1},
                                   (struct span){line, line + strlen(line)}),
                         cases[i].ends);
    }
}

static void perf_is_known_by_a_sample_and_a_frame(void **state) {
    static const char *const others[] = {
        "shop 7 1.5: cycles:\nno frame\n", "shop 7 cycles:\n\t1 f (a)\n",
        "12:30:01.5: a 7\n\t1 f (a)\n", "x 1 2.5: note\n\tbeef (rare)\n"};
    bool more = false;
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct span text = {others[i], others[i] + strlen(others[i])};
        assert_false(perf_begins(text, &more));
    }
    struct perf_sample_line s;
    static const char line[] = "  Web Content 12/34 [001]  5.25:  1000 cycles:ppp: ";
    assert_true(perf_sample_line((struct span){line, line + sizeof line - 1}, &s));
    assert_int_equal(s.pid, 12);
    assert_int_equal(s.tid, 34);
    assert_memory_equal(s.comm, "Web Content", s.comm_len);
    assert_memory_equal(s.event, "cycles:ppp", s.event_len);
}

/* The executable's addresses are relative to its file, and point to the calls themselves. */
static void stalls_of_reactors_have_their_addresses(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "WARN  2026-11-20 09:12:44,123 [shard 3] seastar - Reactor stalled for 120 ms on shard 3, "
        "in "
        "scheduling group main. Backtrace: 0x45d0e2e /lib64/libc.so.6+0x3db6f 0x1c0f2a1 kernel "
        "callstack: 0xffffffffffffff80\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->stall.at_ms, 120);
    assert_int_equal(d->stall.duration_ms, -1);
    assert_string_equal(d->time, "2026-11-20T09:12:44.123Z");
    assert_int_equal(d->threads[0].id, 3);
    const struct dump_stack *s = &d->threads[0].stack;
    assert_int_equal(s->frame_count, 3);
    assert_int_equal(s->frames[0], 0x45d0e2e);
    assert_true(dump_frame_exact(s, 0) && dump_frame_exact(s, 2));
    const struct dump_image *executable = &d->images[dump_image_at(d, s->frames[2])];
    assert_int_equal(executable->load, 0);
    assert_true(executable->in_app);
    const struct dump_image *libc = &d->images[dump_image_at(d, s->frames[1])];
    assert_string_equal(libc->path, "/lib64/libc.so.6");
    assert_int_equal(s->frames[1] - libc->load, 0x3db6f);
    release_converted(&c);
    c = convert_text_of("Nov 20 09:12:46 n scylla[25]: Reactor stalled for 2050 ms on shard 1.\n"
                        "Nov 20 09:12:46 n scylla[25]: Backtrace:\n"
                        "Nov 20 09:12:46 n scylla[25]:   0x0000000000dbcd3a\n"
                        "Nov 20 09:12:46 n scylla[25]: kernel callstack: 0xffffffff81000000\n"
                        "Nov 20 09:12:46 n scylla[25]:   /lib64/libpthread.so.0+0x000f5df\n");
    d = only_dump(&c);
    assert_string_equal(d->app.id, "scylla");
    assert_int_equal(d->threads[0].stack.frame_count, 2);
    release_converted(&c);
}

static void a_graph_is_read_however_it_is_headed(void **state) {
    (void)state;
    static const char graph[] = "Call graph:\n    9 Thread_1   DispatchQueue_1: x  (serial)\n"
                                "    + 9 start  (in libx.dylib) + 1  [0x180000010]\n"
                                "    +   9 0x100000100\n"
                                "\nTotal number in stack (recursive counted multiple):\n";
    static const char *const heads[] = {
        "", "Analysis of sampling Shop (pid 2) every 1 millisecond\n",
        "Sampling process 2 for 3 seconds with 1 millisecond of run time between samples\n"
        "Sampling completed, processing symbols...\n"
        "Analysis of sampling Shop (pid 2) every 1 millisecond\n"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct strbuf text = {0};
        strbuf_addstr(&text, heads[i]);
        strbuf_addstr(&text, graph);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        check_frames(&only_dump(&c)->threads[0].stack, FRAMES(0x100000100, 0x180000010));
        assert_string_equal(c.dumps[0].lack,
                            "the text ends without \"Binary Images\", so images have no UUID");
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void images_of_a_graph_alone_are_those_of_its_rows(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Call graph:\n    9 Thread_1   DispatchQueue_1: com.apple.main-thread  (serial)\n"
        "    + 9 ???  (in Shop)  load address 0x103515000 + 0x9772  [0x10351e772]\n"
        "    +   9 write  (in libx.dylib) + 8  [0x180001010]\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->image_count, 2);
    const struct dump_image *shop = &d->images[dump_image_at(d, 0x10351e772)];
    assert_string_equal(shop->name, "Shop");
    assert_int_equal(shop->load, 0x103515000);
    assert_string_equal(d->images[dump_image_at(d, 0x180001010)].name, "libx.dylib");
    release_converted(&c);
}

static void a_graph_without_its_indentation_is_refused(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Analysis of sampling Shop (pid 2) every 1 millisecond\nCall graph:\n"
        " 9 Thread_1 DispatchQueue_1: x (serial)\n + 9 start (in libx.dylib) + 1 [0x180000010]\n"
        " + 9 main (in Shop) + 1 [0x100000010]\nTotal number in stack:\n");
    assert_int_equal(c.st, ST_ERR);
    assert_non_null(strstr(c.err.text, "lost their indentation"));
    release_converted(&c);
}

/* A node's children are indented by two columns, and have no more samples than it has. */
static void what_call_trees_have_lost_is_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Call graph:\n    9 Thread_1: Main Thread   DispatchQueue_<multiple>\n"
        "    + 9 start  (in dyld) + 1  [0x180000010]\n"
        "    +     5 f  (in Shop) + 1  [0x100000100]\n"
        "    +     5 f  (in Shop) + 1  [0x100000200]\n\n"
        "Total number in stack (recursive counted multiple, when >=5):\n\nBinary Images:\n"
        "       0x100000000 -        0x10000ffff +com.example.shop (5.3.1 - 1234) "
        "<6B834217-0C5D-4B2A-9A53-3B0E0F2D5C11> /x/Shop\n"
        "       0x18000x000 -        0x18000ffff  dyld (1.0.0) "
        "<6B834217-0C5D-4B2A-9A53-3B0E0F2D5C12> /usr/lib/dyld\n");
    assert_string_equal(only_dump(&c)->threads[0].name, "Main Thread");
    assert_string_equal(only_dump(&c)->lack, "1 image that could not be read; "
                                             "1 frame that its call trees leave out; "
                                             "1 frame whose callees have more samples than it");
    release_converted(&c);
}

/* Some people leave the addresses out when they paste a graph. */
static void nodes_without_addresses_keep_their_names(void **state) {
    (void)state;
    struct converted c =
        convert_text_of(SAMPLE "    9 Thread_1   DispatchQueue_1: com.apple.main-thread  (serial)\n"
                               "    + 9 start  (in dyld) + 24\n"
                               "    +   9 ???  (in Shop)  load address 0x100000000 + 0x200\n"
                               "    +     5 -[Cart add:]  (in Shop) + 12\n"
                               "    +       5 start  (in dyld) + 30\n"
                               "    +     4 ???  (in Shop)\n" SUMS);
    const struct dump *d = only_dump(&c);
    const struct dump_stack *s = &d->threads[0].stack;
    assert_int_equal(s->frame_count, 4);
    assert_int_equal(s->frames[2], 0x100000200);
    assert_int_equal(s->frames[0], s->frames[3]);
    assert_string_equal(dump_name_at(d, s->frames[3])->symbol, "start");
    assert_string_equal(dump_name_at(d, s->frames[1])->symbol, "-[Cart add:]");
    assert_non_null(strstr(d->lack, "1 frame that could not be read"));
    release_converted(&c);
    c = convert_text_of(SAMPLE "    9 Thread_1\n      9 start\n        9 -[Cart add:]\n" SUMS);
    d = only_dump(&c);
    assert_int_equal(d->threads[0].stack.frame_count, 2);
    assert_string_equal(dump_name_at(d, d->threads[0].stack.frames[0])->symbol, "-[Cart add:]");
    release_converted(&c);
}

/* A heading and a node whose line feeds were lost. */
static void joined_nodes_are_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        SAMPLE "    9 Thread_1   DispatchQueue_1: x  (serial)    + 9 start  (in dyld) + 1  [0x10]\n"
               "    + 9 f  (in Shop) + 1  [0x20]    +   9 g  (in Shop) + 1  [0x30]\n" SUMS);
    check_frames(&only_dump(&c)->threads[0].stack, FRAMES(0x20));
    assert_non_null(
        strstr(only_dump(&c)->lack, "2 lines within its call trees that could not be read"));
    release_converted(&c);
}

/* A frame whose line feed was lost, a frame after an empty line, and a frame whose address is
 * damaged. */
static void frames_that_perfs_samples_lost_are_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "shop 7/7 1.5: 2261233743 cpu-clock: \n\t7f1000 read+0x10 " LIBC "\t551000 f(int)+0x4 " SHOP
        "\nshop 7/7 1.6: 3 sched:switch: x\n\t7f1000 read+0x10 " LIBC "\n"
        "shop 7/7 1.7: 9 cpu-clock: \n\t7f1000 read+0x10 (/usr/lib/libc.so)\t551000 f+0x4 " SHOP
        "\t55x000 f(int)+0x4 " SHOP "\n\t551000 main+0x4 " SHOP);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->sample_count, 2);
    assert_string_equal(d->lack, "2 frames that could not be read; "
                                 "1 frame whose sample is not told; 1 sample of other events");
    release_converted(&c);
}

static void the_main_thread_of_sample_is_that_of_the_main_queue(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Call graph:\n    5 Thread_1   DispatchQueue_7: com.apple.libdispatch  (serial)\n"
        "    + 5 worker  (in Shop) + 1  [0x100000100]\n...\n"
        "    9 Thread_2   DispatchQueue_1: com.apple.main-thread  (serial)\n"
        "    + 9 start  (in dyld) + 1  [0x180000010]\n\n"
        "Total number in stack (recursive counted multiple, when >=5):\n");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    assert_true(!d->threads[0].main && d->threads[1].main);
    assert_int_equal(d->sample_count, 1);
    assert_int_equal(d->samples[0].count, 9);
    assert_non_null(strstr(d->lack, "1 line within its call trees that could not be read"));
    release_converted(&c);
}

/* A program that perf starts is called "perf" until it runs, and its threads have names of their
 * own. */
static void a_process_has_the_name_of_its_main_thread(void **state) {
#define HIT(comm, ids, file) comm " " ids " 1.5: cycles:\n\t 1000 f (" file ")\n\n"
    static const struct {
        const char *text, *app;
        int64_t main;
    } rows[] = {{HIT("perf-exec", "7/7", "/x/shop") HIT("shop", "7/7", "/x/shop")
                     HIT("worker", "7/8", "/x/shop") HIT("worker", "7/8", "/x/shop")
                         HIT("shop", "7/7", "/x/shop"),
                 "shop", 7},
                {HIT("worker", "8", "/x/shop") HIT("worker", "8", "/x/shop")
                     HIT("shop", "7", "/x/shop"),
                 "shop", 7},
                {HIT("perf", "6", "[kernel]") HIT("worker", "8", "/y/z") HIT("worker", "8", "/y/z"),
                 "worker", 8},
                {HIT("worker", "7/8", "/x/shop"), "worker", 8}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct converted c = convert_text_of(rows[i].text);
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->app.id, rows[i].app);
        assert_int_equal(dump_main_thread(d)->id, rows[i].main);
        release_converted(&c);
    }
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_has_the_name_of_its_main_thread),
        cmocka_unit_test(what_call_trees_have_lost_is_told),
        cmocka_unit_test(nodes_without_addresses_keep_their_names),
        cmocka_unit_test(joined_nodes_are_told),
        cmocka_unit_test(frames_that_perfs_samples_lost_are_told),
        cmocka_unit_test(the_main_thread_of_sample_is_that_of_the_main_queue),
        cmocka_unit_test(the_call_graph_of_sample_is_counted_stacks),
        cmocka_unit_test(a_graph_without_its_end_says_so),
        cmocka_unit_test(equal_stacks_of_perf_are_counted),
        cmocka_unit_test(each_process_of_perf_is_a_dump),
        cmocka_unit_test(perf_without_times_is_read),
        cmocka_unit_test(folded_and_cut_frames_of_perf_are_told),
        cmocka_unit_test(another_recording_of_perf_ends_the_first),
        cmocka_unit_test(perf_is_known_by_a_sample_and_a_frame),
        cmocka_unit_test(stalls_of_reactors_have_their_addresses),
        cmocka_unit_test(a_graph_is_read_however_it_is_headed),
        cmocka_unit_test(images_of_a_graph_alone_are_those_of_its_rows),
        cmocka_unit_test(a_graph_without_its_indentation_is_refused),
    };
    return cmocka_run_group_tests_name("report_profile", tests, NULL, NULL);
}
