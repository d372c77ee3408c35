/* Tests the JSON that the recorder writes, also by reading it with Jansson and with lib/dump. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "dump/dump.h"
#include "files/dump_json.h"
#include "stallrec.h"

struct memory {
    char bytes[256 * 1024];
    size_t len, limit;
    unsigned writes;
};

static bool to_memory(void *ctx, const void *bytes, size_t len) {
    struct memory *m = ctx;
    m->writes++;
    if (len > m->limit - m->len) {
        return false;
    }
    memcpy(m->bytes + m->len, bytes, len);
    m->len += len;
    return true;
}

static struct memory text;

static void write_dump(const struct rec_dump *dump, const struct rec_about *about) {
    text.len = 0;
    text.limit = sizeof text.bytes - 1;
    struct rec_out out = {.write = to_memory, .ctx = &text};
    rec_dump_json(&out, dump, about);
    assert_false(out.failed);
    text.bytes[text.len] = '\0';
}

/* ---- a dump with one of everything ---- */

static uint64_t main_frames[] = {0x401234, 0x7f0000001000, UINT64_C(0xffffffffff600400)};
static uint64_t worker_frames[] = {0x7f0000002000};
static uint64_t a_frames[] = {0x401234, 0x401100}, b_frames[] = {0x401300};
static struct rec_thread threads[2];
static struct rec_record_stack stacks[2];
static int32_t ring[] = {0, -1, 1, 0};
static struct rec_image images[2];

static struct rec_dump full_dump(void) {
    threads[0] = (struct rec_thread){
        .id = 4711,
        .name = "app",
        .main = true,
        .state = REC_STATE_WAITING,
        .cpu_ns = 12999999,
        .waits_for = {REC_WAIT_MUTEX, 105553, 4712},
        .stack = {.frames = main_frames, .count = 3, .exact = {0, 2}, .exact_count = 2}};
    threads[1] = (struct rec_thread){
        .id = 4712,
        .cpu_ns = UINT64_MAX,
        .cpu_permille = 417,
        .waits_for.owner = -1,
        .stack = {.frames = worker_frames, .count = 1, .truncated = true, .incomplete = true}};
    stacks[0] = (struct rec_record_stack){.stack = {.frames = a_frames, .count = 2}, .count = 2};
    stacks[1] = (struct rec_record_stack){.stack = {.frames = b_frames, .count = 1}, .count = 1};
    images[0] = (struct rec_image){.id_kind = REC_ID_BUILD,
                                   .id_len = 4,
                                   .id = {0xde, 0xad, 0xbe, 0xef},
                                   .path = "/opt/app/bin/app",
                                   .load = 0x400000,
                                   .size = 0x8000,
                                   .in_app = true};
    images[1] =
        (struct rec_image){.id_kind = REC_ID_UUID,
                           .id_len = 16,
                           .id = {0x6b, 0x83, 0x42, 0x17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                           .path = "libui.dylib",
                           .arch = "arm64e",
                           .load = 0x7f0000000000,
                           .size = 0x10000};
    struct rec_dump d = {
        .wall_ms = 1795255200123,
        .threads = threads,
        .thread_count = 2,
        .stacks = stacks,
        .stack_count = 2,
        .ring = ring,
        .ring_count = 4,
        .interval_ms = 50,
        .heaviest = 0,
        .heaviest_repeats = 2,
        .images = images,
        .image_count = 2,
        .meter = {4, 1, 3, 23, 1900},
        .stall = {.seq = 2,
                  .activity = STALLREC_ACTIVITY_BEFORE_SOURCES,
                  .threshold_ms = 250,
                  .at_ms = 2050,
                  .span_ms = 3410,
                  .duration_ms = 5410,
                  .gap_ms = 7,
                  .suppressed = 3,
                  .cpu_permille = 31,
                  .ended = true,
                  .detector = "runloop",
                  .mode = "UITrackingRunLoopMode",
                  .state_count = 3,
                  .states = {{-120, REC_WENT_SLEEP}, {0, REC_WENT_WAKE}, {0, 3}},
                  .kind = "hang"},
    };
    for (unsigned i = 0; i < REC_UUID_SIZE; i++) {
        d.id[i] = (uint8_t)(0x10 + i);
        d.stall.id[i] = (uint8_t)(0xa0 + i);
    }
    return d;
}

static const struct rec_about about = {.app_id = "com.example.shop",
                                       .app_version = "5.3.1",
                                       .app_build = "1234",
                                       .user = "u1",
                                       .preset = "default",
                                       .model = "Standard PC",
                                       .os = "Debian GNU/Linux 12",
                                       .os_build = "6.1.0",
                                       .arch = "x86_64",
                                       .cpus = 6};

static void a_dump_is_the_line_that_the_format_says(void **state) {
    (void)state;
    struct rec_dump d = full_dump();
    write_dump(&d, &about);
    assert_string_equal(
        text.bytes,
        "{\"format\":\"stall-dump/1\",\"id\":\"10111213-1415-1617-1819-1a1b1c1d1e1f\","
        "\"time\":\"2026-11-21T10:00:00.123Z\","
        "\"app\":{\"id\":\"com.example.shop\",\"version\":\"5.3.1\",\"build\":\"1234\"},"
        "\"device\":{\"model\":\"Standard PC\",\"os\":\"Debian GNU/Linux 12\","
        "\"os_build\":\"6.1.0\",\"arch\":\"x86_64\",\"cpus\":6},"
        "\"user\":\"u1\",\"policy\":{\"preset\":\"default\"},"
        "\"stall\":{\"id\":\"a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf\",\"seq\":2,\"kind\":\"hang\","
        "\"detector\":\"runloop\",\"activity\":\"before-sources\","
        "\"mode\":\"UITrackingRunLoopMode\","
        "\"states\":[[-120,\"sleep\"],[0,\"wake\"],[0,\"before-sources\"]],"
        "\"threshold_ms\":250,"
        "\"at_ms\":2050,\"duration_ms\":5410,\"span_ms\":3410,\"ended\":true,\"fatal\":false,"
        "\"gap_ms\":7,\"cpu_permille\":31,\"suppressed\":3},"
        "\"images\":[{\"build_id\":\"deadbeef\",\"name\":\"app\",\"path\":\"/opt/app/bin/app\","
        "\"arch\":\"x86_64\",\"load\":4194304,\"size\":32768,\"in_app\":true},"
        "{\"uuid\":\"6B834217-0102-0304-0506-0708090A0B0C\",\"name\":\"libui.dylib\","
        "\"path\":\"libui.dylib\",\"arch\":\"arm64e\",\"load\":139637976727552,\"size\":65536,"
        "\"in_app\":false}],"
        "\"threads\":[{\"id\":4711,\"name\":\"app\",\"main\":true,\"state\":\"waiting\","
        "\"cpu_ms\":12,\"waits_for\":{\"kind\":\"mutex\",\"address\":105553,\"owner\":4712},"
        "\"frames\":[4198964,139637976731648,18446744073699066880],\"exact\":[0,2]},"
        "{\"id\":4712,\"main\":false,\"cpu_permille\":417,\"frames\":[139637976735744],"
        "\"truncated\":true,"
        "\"incomplete\":true}],"
        "\"samples\":{\"interval_ms\":50,\"stacks\":[{\"count\":2,\"frames\":[4198964,4198656]},"
        "{\"count\":1,\"frames\":[4199168]}],\"ring\":[0,-1,1,0]},"
        "\"heaviest\":{\"stack\":0,\"repeats\":2},"
        "\"meter\":{\"samples\":4,\"unavailable\":1,\"pause_us\":{\"p50\":3,\"max\":23},"
        "\"monitor_cpu_us\":1900}}\n");
}

static void edges_that_were_sampled_are_said_to_be(void **state) {
    (void)state;
    struct rec_dump d = full_dump();
    struct rec_about sampled = about;
    write_dump(&d, &about);
    assert_null(strstr(text.bytes, "\"edges\""));
    sampled.sampled_edges = true;
    write_dump(&d, &sampled);
    assert_non_null(strstr(text.bytes, "\"edges\":\"sampled\",\"activity\""));
}

static void thread_that_is_not_the_main_one_is_named(void **state) {
    (void)state;
    struct rec_dump d = full_dump();
    struct rec_about other = about;
    other.other_thread = true;
    write_dump(&d, &other);
    assert_non_null(strstr(text.bytes, "\"thread\":{\"id\":4711,\"name\":\"app\"},"));
}

static void lib_dump_reads_what_was_written(void **state) {
    (void)state;
    struct rec_dump d = full_dump();
    struct dump model;
    struct err e = {0};
    write_dump(&d, &about);
    assert_int_equal(dump_parse(&model, text.bytes, text.len, &e), ST_OK);
    assert_string_equal(model.id, "10111213-1415-1617-1819-1a1b1c1d1e1f");
    assert_string_equal(model.time, "2026-11-21T10:00:00.123Z");
    assert_string_equal(model.app.id, "com.example.shop");
    assert_string_equal(model.device.arch, "x86_64");
    assert_int_equal(model.device.cpus, 6);
    assert_string_equal(model.stall.kind, "hang");
    assert_string_equal(model.stall.detector, "runloop");
    assert_int_equal(model.stall.seq, 2);
    assert_int_equal(model.stall.threshold_ms, 250);
    assert_int_equal(model.stall.at_ms, 2050);
    assert_int_equal(model.stall.duration_ms, 5410);
    assert_int_equal(dump_span_ms(&model), 3410);
    assert_int_equal(model.stall.gap_ms, 7);
    assert_int_equal(model.stall.cpu_permille, 31);
    assert_int_equal(model.stall.suppressed, 3);
    assert_true(model.stall.ended);
    assert_false(model.stall.fatal);
    assert_int_equal(model.image_count, 2);
    assert_int_equal(model.images[0].id.kind, IMAGE_ID_BUILD);
    assert_int_equal(model.images[1].id.kind, IMAGE_ID_UUID);
    assert_int_equal(model.images[1].load, 0x7f0000000000);
    assert_true(model.images[0].in_app);
    assert_int_equal(model.thread_count, 2);
    const struct dump_thread *main = dump_main_thread(&model);
    assert_non_null(main);
    assert_int_equal(main->id, 4711);
    assert_string_equal(main->state, "waiting");
    assert_int_equal(main->cpu_ms, 12);
    assert_string_equal(main->waits_for.kind, "mutex");
    assert_int_equal(main->waits_for.owner, 4712);
    assert_int_equal(main->stack.frame_count, 3);
    assert_true(main->stack.frames[2] == UINT64_C(0xffffffffff600400)); /* an address of the
                                                                           vsyscall page, which
                                                                           takes 64 bits */
    assert_true(dump_frame_exact(&main->stack, 2));
    assert_false(dump_frame_exact(&main->stack, 1));
    assert_int_equal(model.sample_count, 2);
    assert_int_equal(model.samples[0].count, 2);
    assert_int_equal(model.ring_count, 4);
    assert_int_equal(model.ring[1], -1);
    assert_int_equal(model.heaviest, 0);
    assert_int_equal(model.heaviest_repeats, 2);
    assert_ptr_equal(dump_heaviest(&model), &model.samples[0]);
    dump_release(&model);
}

static void what_is_not_known_is_left_out(void **state) {
    (void)state;
    struct rec_thread main = {.id = 1, .main = true, .cpu_ns = UINT64_MAX};
    struct rec_dump d = {.threads = &main,
                         .thread_count = 1,
                         .heaviest = -1,
                         .stall = {.cpu_permille = -1, .kind = "hang", .detector = "runloop"}};
    struct rec_about nothing = {0};
    write_dump(&d, &nothing);
    json_error_t error;
    json_t *root = json_loads(text.bytes, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(root);
    assert_null(json_object_get(root, "heaviest"));
    assert_null(json_object_get(root, "user"));
    assert_int_equal(json_object_size(json_object_get(root, "app")), 0);
    assert_int_equal(json_object_size(json_object_get(root, "device")), 0);
    assert_null(json_object_get(json_object_get(root, "stall"), "cpu_permille"));
    assert_null(json_object_get(json_object_get(root, "stall"), "activity"));
    json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
    assert_int_equal(json_object_size(thread), 3); /* the members are id, main and frames */
    assert_int_equal(json_array_size(json_object_get(thread, "frames")), 0);
    json_decref(root);
}

static void what_only_some_kinds_of_stall_have_is_told(void **state) {
    (void)state;
    struct rec_dump d = full_dump();
    write_dump(&d, &about);
    assert_null(strstr(text.bytes, "\"action\""));
    assert_null(strstr(text.bytes, "\"prewarmed\""));
    assert_null(strstr(text.bytes, "\"top_thread\""));
    assert_null(strstr(text.bytes, "\"threads_left_out\""));
    d.threads_left_out = 7;
    memcpy(d.stall.action, "pay", 4);
    d.stall.prewarmed = true;
    d.stall.top_thread = 4712;
    memcpy(d.stall.top_thread_name, "decoder", 8);
    write_dump(&d, &about);
    assert_non_null(strstr(text.bytes, "\"action\":\"pay\",\"prewarmed\":true,"));
    assert_non_null(strstr(text.bytes, "\"top_thread\":{\"id\":4712,\"name\":\"decoder\"}"));
    assert_non_null(strstr(text.bytes, "\"threads_left_out\":7,\"threads\":["));
    struct dump model;
    struct err e = {0};
    assert_int_equal(dump_parse(&model, text.bytes, text.len, &e), ST_OK);
    dump_release(&model);
}

static void any_bytes_become_valid_text(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *read;
    } cases[] = {
        {"plain", "plain"},
        {"quote\" back\\slash /", "quote\" back\\slash /"},
        {"\x01\x1f\t\n\r\x7f", "\x01\x1f\t\n\r\x7f"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff", "\xef\xbf\xbd"},
        {"a\xc3", "a\xef\xbf\xbd"},                               /* cut */
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* cut */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
        {"\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
        {"\xf4\x90\x80\x80",
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* past U+10FFFF */
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
        {"\x80z", "\xef\xbf\xbdz"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rec_dump d = full_dump();
        struct rec_about with = about;
        json_error_t error;
        with.app_id = cases[i].bytes;
        d.threads[0].stack.count = 2; /* Jansson refuses integers past 63 bits */
        write_dump(&d, &with);
        json_t *root = json_loads(text.bytes, 0, &error);
        assert_non_null(root);
        assert_string_equal(json_string_value(json_object_get(json_object_get(root, "app"), "id")),
                            cases[i].read);
        json_decref(root);
    }
}

static void a_long_text_is_passed_on_in_pieces(void **state) {
    (void)state;
    static char name[100001];
    memset(name, 'n', sizeof name - 1);
    struct rec_dump d = full_dump();
    struct rec_about with = about;
    struct dump model;
    struct err e = {0};
    with.app_id = name;
    write_dump(&d, &with);
    assert_true(text.writes > 90);
    assert_int_equal(dump_parse(&model, text.bytes, text.len, &e), ST_OK);
    text.bytes[text.len - 1] = '\0'; /* replaces the line feed */
    assert_non_null(strstr(text.bytes, name));
    assert_int_equal(strlen(model.app.id), DUMP_VALUE_MAX); /* the reader cuts the long value */
    assert_int_equal(model.cut_values, 1);
    dump_release(&model);
}

static void a_failed_write_is_told_and_nothing_follows_it(void **state) {
    (void)state;
    struct rec_dump d = full_dump();
    write_dump(&d, &about);
    size_t whole = text.len;
    for (size_t limit = 0; limit < whole; limit += 97) {
        text.len = 0;
        text.writes = 0;
        text.limit = limit;
        struct rec_out out = {.write = to_memory, .ctx = &text};
        rec_dump_json(&out, &d, &about);
        assert_true(out.failed);
        assert_true(text.writes <= limit / 1024 + 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_is_the_line_that_the_format_says),
        cmocka_unit_test(edges_that_were_sampled_are_said_to_be),
        cmocka_unit_test(thread_that_is_not_the_main_one_is_named),
        cmocka_unit_test(lib_dump_reads_what_was_written),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(what_only_some_kinds_of_stall_have_is_told),
        cmocka_unit_test(any_bytes_become_valid_text),
        cmocka_unit_test(a_long_text_is_passed_on_in_pieces),
        cmocka_unit_test(a_failed_write_is_told_and_nothing_follows_it),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("dump_json", tests, NULL, NULL);
}
