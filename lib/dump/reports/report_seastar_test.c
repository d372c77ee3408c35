/* Tests of stalls of Seastar's reactors whose lines interlace, or that have no backtrace. */
#include "dump/reports/report_support_test.h"

#define S(ms, shard) "db[1]: Reactor stalled for " ms " ms on shard " shard ".\n"
#define HEADING      "db[1]: Backtrace:\n"
#define OTHER        "INFO another line\n"

/* Reads a report and checks its stalls: for each its milliseconds and number of frames. */
static struct converted check_stalls(const char *text, size_t count, const int64_t (*want)[2]) {
    struct converted c = convert_text_of(text);
    assert_int_equal(c.st, ST_OK);
    assert_int_equal(c.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct dump *d = &c.dumps[i];
        assert_int_equal(d->stall.at_ms, want[i][0]);
        assert_int_equal(d->threads[0].stack.frame_count, want[i][1]);
        assert_int_equal(d->lack != NULL, want[i][1] == 0);
        assert_true(i == 0 || strcmp(d->id, c.dumps[0].id) != 0);
    }
    return c;
}

static void backtraces_that_interlace_belong_to_nobody(void **state) {
    (void)state;
    struct converted c = check_stalls(S("500", "4") OTHER S("900", "5") HEADING
                                      "db[1]: 0x6aa6e2\n" HEADING "db[1]: 0x5c1e0c\n",
                                      2, (const int64_t[][2]){{500, 0}, {900, 0}});
    assert_non_null(strstr(c.dumps[1].lack, "interlace"));
    release_converted(&c);
    c = check_stalls(S("500", "4") S("900", "5") HEADING "db[1]: 0x6aa6e2\n", 2,
                     (const int64_t[][2]){{500, 0}, {900, 0}});
    release_converted(&c);
    c = check_stalls(S("500", "4") HEADING "db[1]: 0x6aa6e2\n" HEADING "db[1]: 0x5c1e0c\n", 1,
                     (const int64_t[][2]){{500, 0}});
    release_converted(&c);
}

static void a_shards_backtrace_is_that_of_its_last_stall(void **state) {
    (void)state;
    struct converted c = check_stalls(S("500", "4") S("600", "4") HEADING OTHER "db[1]: 0x6aa6e2\n",
                                      2, (const int64_t[][2]){{500, 0}, {600, 1}});
    release_converted(&c);
}

static void a_stall_without_a_backtrace_counts(void **state) {
    (void)state;
    struct converted c = check_stalls("Reactor stalled for 2011 ms on shard 3\n", 1,
                                      (const int64_t[][2]){{2011, 0}});
    assert_non_null(strstr(c.dumps[0].lack, "none of this stall"));
    release_converted(&c);
}

#define N1   "Jun 06 15:29:40 n1 scylla[124]: "
#define N2   "Jun 06 15:29:40 n2 scylla[124]: "
#define N3   "Jun 06 15:29:41 n1 scylla[555]: "
#define OF_1 "Reactor stalled for 250 ms on shard 3. Backtrace:\n"
#define OF_2 "Reactor stalled for 90 ms on shard 1. Backtrace:\n"

static void a_prefix_tells_whose_line_it_is(void **state) {
    (void)state;
    static const char *const texts[] = {
        (N1 OF_1 N2 OF_2 N1 "  0x11\n" N2 "  0x21\n" N1 "  0x12\n"),
        (N1 OF_1 N1 "  0x11\n" N3 OF_2 N1 "  0x12\n" N3 "  0x21\n"),
        (N1 OF_1 N1 "  0x11\n" N3 "[shard 1] db - " OF_2 N3 "  0x21\n" N1 "  0x12\n"),
        ("[10.0.73.70] 15:29 | db: " OF_1 "[10.0.73.71] 15:29 | db: " OF_2
         "[10.0.73.71] 15:29 | db: 0x21\n[10.0.73.70] 15:30 | db: 0x11\n"
         "[10.0.73.70] 15:30 | db: 0x12\n"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct converted c = check_stalls(texts[i], 2, (const int64_t[][2]){{250, 2}, {90, 1}});
        check_frames(&c.dumps[0].threads[0].stack, FRAMES(0x11, 0x12));
        check_frames(&c.dumps[1].threads[0].stack, FRAMES(0x21));
        assert_true(strstr(strbuf_cstr(&c.texts[0]), "0x21") == NULL);
        release_converted(&c);
    }
}

static void an_address_of_either_program_makes_both_unclear(void **state) {
    (void)state;
    struct converted c = check_stalls(N1 OF_1 N2 OF_2 N1 "  0x11\n  0x12\n", 2,
                                      (const int64_t[][2]){{250, 0}, {90, 0}});
    assert_non_null(strstr(c.dumps[0].lack, "interlace"));
    assert_non_null(strstr(c.dumps[1].lack, "interlace"));
    release_converted(&c);
}

static void other_lines_may_stand_in_a_backtrace(void **state) {
    (void)state;
    static const char *const texts[] = {
        (OF_1 "  0x11\nINFO  [shard 1] kafka - at 0x99\n\n  0x12\n"),
        (N1 OF_1 N1 "  0x11\nJun 06 15:29:40 n1 sshd[99]: 0x99\n" N1 "  0x12\n"),
        (OF_1 "  0x11\n  0x12\n  --------\n  continuation\n  0x99\n"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct converted c = check_stalls(texts[i], 1, (const int64_t[][2]){{250, 2}});
        check_frames(&c.dumps[0].threads[0].stack, FRAMES(0x11, 0x12));
        release_converted(&c);
    }
}

static void a_decoded_address_is_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(OF_1 "0x11\n0x12 (inlined by) f at x.cc:3\n0x13\n");
    const struct dump *d = only_dump(&c);
    check_frames(&d->threads[0].stack, FRAMES(0x11, 0x13));
    assert_string_equal(d->lack, "1 line of its backtrace that could not be read");
    release_converted(&c);
}

static void a_damaged_address_is_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(OF_1 "0x11\n0x1x2\n0x13\n");
    check_frames(&only_dump(&c)->threads[0].stack, FRAMES(0x11, 0x13));
    assert_string_equal(only_dump(&c)->lack, "1 line of its backtrace that could not be read");
    release_converted(&c);
    c = convert_text_of("Reactor stalled for 33 ms on shard 0. Backtrace: 0x11 0x1x2 "
                        "/lib64/libc.so.6+0x1g 0x13\n");
    assert_int_equal(only_dump(&c)->threads[0].stack.frame_count, 4);
    assert_int_equal(only_dump(&c)->threads[0].stack.frames[2], 0);
    assert_string_equal(only_dump(&c)->lack, "2 frames that could not be read");
    release_converted(&c);
}

/* A log collector writes its own prefix before the program's. */
static void the_last_time_in_front_is_the_program_s(void **state) {
    static const struct {
        const char *prefix, *time, *app;
    } rows[] = {
        {"< t:2026-11-20 23:10:49,885 f:a.py l:1 > 2026-11-20T23:10:45+00:00  host !INFO    | "
         "scylla: ",
         "2026-11-20T23:10:45.000Z", "scylla"},
        {"2026-11-20T23:10:45.796+02:00 host !INFO | scylla[7]: ", "2026-11-20T21:10:45.796Z",
         "scylla"},
        {"INFO  2026-11-20 23:10:45,123 [shard 0] reactor - ", "2026-11-20T23:10:45.123Z", NULL},
        {"2026-11-20 23:10:45 WARN: ", "2026-11-20T23:10:45.000Z", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, "%sReactor stalled for 33 ms on shard 0. Backtrace: 0x41808b2\n",
                    rows[i].prefix);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->time, rows[i].time);
        assert_int_equal(d->app.id != NULL, rows[i].app != NULL);
        if (rows[i].app) {
            assert_string_equal(d->app.id, rows[i].app);
        }
        release_converted(&c);
        strbuf_release(&text);
    }
}

/* Returns whether the stall has the same id as document 1 and as document 2 of an input. */
static bool has_one_id(const char *text) {
    struct converted c = {.st = ST_OK};
    for (uint64_t number = 1; number <= 2; number++) {
        const struct report_choice choice = {.number = number};
        c.st = report_convert_chosen(text, strlen(text), NULL, &choice, take_one, &c, &c.err);
        assert_int_equal(c.st, ST_OK);
    }
    assert_int_equal(c.count, 2);
    const bool same = strcmp(c.dumps[0].id, c.dumps[1].id) == 0;
    release_converted(&c);
    return same;
}

static void equal_stalls_without_a_time_are_several(void **state) {
    (void)state;
    assert_false(has_one_id("Reactor stalled for 7 ms on shard 3. Backtrace: 0x6aa6e2\n"));
    assert_false(has_one_id("12:3:4 1:22:33 " S("500", "4")));
    assert_true(has_one_id("Jun 06 15:29:40 n1 " S("500", "4")));
    assert_true(has_one_id("INFO  2026-11-20 09:12:44,123 " S("500", "4")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stalls_without_a_time_are_several),
        cmocka_unit_test(the_last_time_in_front_is_the_program_s),
        cmocka_unit_test(a_prefix_tells_whose_line_it_is),
        cmocka_unit_test(an_address_of_either_program_makes_both_unclear),
        cmocka_unit_test(other_lines_may_stand_in_a_backtrace),
        cmocka_unit_test(a_damaged_address_is_told),
        cmocka_unit_test(a_decoded_address_is_told),
        cmocka_unit_test(backtraces_that_interlace_belong_to_nobody),
        cmocka_unit_test(a_shards_backtrace_is_that_of_its_last_stall),
        cmocka_unit_test(a_stall_without_a_backtrace_counts),
    };
    return cmocka_run_group_tests_name("report_seastar", tests, NULL, NULL);
}
