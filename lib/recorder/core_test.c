/* The core's contract with its platform: what it asks, when, and what it keeps. What it detects is
 * checked by traces (replay_test.c). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failmalloc.h"
#include "core.h"
#include "dumpfile.h"
#include "fake_capture_test.h"

#define MS UINT64_C(1000000)

enum { RECORDS = 6 }; /* dumps that the core has memory for */

struct fixture {
    struct fake fake;
    struct stallrec_config config;
    void *memory;
    struct rec_core *core;
    unsigned lost;
    uint64_t posted;
    bool refuses_posts;
};

static void on_lost(void *ctx, const char *path, enum stallrec_error why) {
    struct fixture *f = ctx;
    assert_null(path);
    assert_int_equal(why, STALLREC_ERR_MEMORY);
    f->lost++;
}

static void start(struct fixture *f) {
    struct rec_capture capture = fake_capture(&f->fake);
    f->config.callbacks.dump_lost = on_lost;
    f->config.user_data = f;
    assert_int_equal(rec_config_read(&f->config, &f->config), STALLREC_OK);
    free(f->memory);
    /* Exactly as large as it says, and dirty: the sanitizer sees a byte too many. */
    f->memory = malloc(rec_core_size(&f->config));
    assert_non_null(f->memory);
    memset(f->memory, 0xa5, rec_core_size(&f->config));
    f->core = rec_core_init(f->memory, &f->config, &capture, 0);
}

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    stallrec_config_init(&f->config, sizeof f->config);
    f->fake.images = 2;
    fake_stack(&f->fake, 3, 0x10100, 0x10200, 0x20300);
    start(f);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    free(f->memory);
    free(f);
    return 0;
}

/* Steps at every wake-up that the core asks for before t; then t is now. */
static void run_until(struct fixture *f, uint64_t from, uint64_t t) {
    uint64_t next = rec_core_step(f->core, from);
    while (next < t) {
        next = rec_core_step(f->core, next);
    }
}

/* A stall from `at` on, with `length` between its edges. */
static void stall(struct fixture *f, uint64_t at, uint64_t length) {
    rec_core_loop_event(f->core, REC_LOOP_WAKE, at);
    run_until(f, at, at + length);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, at + length);
    rec_core_step(f->core, at + length);
}

static void an_idle_loop_asks_for_no_wake_up(void **state) {
    struct fixture *f = *state;
    assert_true(rec_core_step(f->core, 5 * MS) == REC_NEVER);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 10 * MS);
    assert_true(rec_core_step(f->core, 10 * MS) != REC_NEVER);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 20 * MS);
    assert_true(rec_core_step(f->core, 20 * MS) == REC_NEVER);
    assert_int_equal(f->fake.samples, 0);
}

static void a_busy_loop_is_sampled_on_its_grid(void **state) {
    struct fixture *f = *state;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 1000 * MS);
    assert_int_equal(rec_core_step(f->core, 1001 * MS), 1100 * MS);
    assert_int_equal(rec_core_step(f->core, 1050 * MS), 1100 * MS); /* early: nothing is due */
    assert_int_equal(f->fake.samples, 0);
    assert_int_equal(rec_core_step(f->core, 1103 * MS), 1150 * MS);
    assert_int_equal(rec_core_step(f->core, 1212 * MS),
                     1250 * MS); /* a missed tick is not made up for */
    assert_int_equal(f->fake.samples, 2);
    assert_int_equal(rec_core_step(f->core, 1250 * MS), 1300 * MS);
    assert_int_equal(f->fake.samples, 3);
    assert_true(rec_core_stalled(f->core));
}

static void a_dump_says_what_the_platform_said(void **state) {
    struct fixture *f = *state;
    f->fake.wall_ms = 1795255200123;
    f->fake.main = (struct rec_thread){
        .id = 42, .name = "app", .state = REC_STATE_RUNNING, .waits_for = {REC_WAIT_MUTEX, 7, 43}};
    f->fake.exact[0] = 0;
    f->fake.exact[1] = 2;
    f->fake.exact_count = 2;
    f->fake.pause_ns = 2001;
    stall(f, 0, 300 * MS);
    const struct rec_dump *d = rec_core_closed(f->core);
    assert_non_null(d);
    assert_int_equal(d->wall_ms, 1795255200123);
    assert_string_equal(d->stall.kind, "hang");
    assert_string_equal(d->stall.detector, "runloop");
    assert_true(d->stall.ended);
    assert_false(d->stall.fatal);
    assert_int_equal(d->stall.seq, 1);
    assert_memory_not_equal(d->id, d->stall.id, sizeof d->id);
    assert_int_equal(d->id[6] >> 4, 4); /* UUID version 4 */
    assert_int_equal(d->id[8] >> 6, 2);
    assert_int_equal(d->thread_count, 1);
    assert_int_equal(d->threads[0].id, 42);
    assert_true(d->threads[0].main);
    assert_string_equal(d->threads[0].name, "app");
    assert_int_equal(d->threads[0].waits_for.owner, 43);
    assert_int_equal(d->threads[0].stack.count, 3);
    assert_int_equal(d->threads[0].stack.exact_count, 2);
    assert_int_equal(d->threads[0].stack.exact[1], 2);
    assert_int_equal(d->stack_count, 1);
    assert_int_equal(d->stacks[0].count, 4);
    assert_int_equal(d->ring_count, 4);
    assert_int_equal(d->meter.samples, 4);
    assert_int_equal(d->meter.pause_p50_us, 3); /* rounded up: never told cheaper than it was */
    assert_int_equal(d->meter.pause_max_us, 3);
    assert_int_equal(f->fake.thread_calls, 0); /* one thread was asked for */
}

static void cpu_time_is_that_of_the_stall(void **state) {
    struct fixture *f = *state;
    f->fake.cpu = (struct rec_cpu){5000 * MS, 3000 * MS, 70 * MS};
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 1000 * MS);
    run_until(f, 1000 * MS, 2000 * MS);
    f->fake.cpu = (struct rec_cpu){6500 * MS, 3250 * MS, 72 * MS};
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 2000 * MS);
    const struct rec_dump *d = rec_core_closed(f->core);
    assert_int_equal(d->stall.cpu_permille, 1500);
    assert_int_equal(d->threads[0].cpu_ns, 250 * MS);
    assert_int_equal(d->meter.monitor_cpu_us, 2000);
}

static void the_median_pause_is_the_lower_of_two(void **state) {
    struct fixture *f = *state;
    static const uint32_t pauses[] = {40000, 10000, 30000, 20000};
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    for (unsigned i = 0; i < 4; i++) {
        f->fake.pause_ns = pauses[i];
        rec_core_step(f->core, (100 + 50 * i) * MS);
    }
    const struct rec_dump *d = rec_core_open(f->core);
    assert_non_null(d);
    assert_int_equal(d->meter.pause_p50_us, 20);
    assert_int_equal(d->meter.pause_max_us, 40);
}

static void an_unchanged_stack_is_repeated_only_within_a_stretch(void **state) {
    struct fixture *f = *state;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    rec_core_step(f->core, 100 * MS);
    assert_int_equal(f->fake.may_repeat, 0);
    f->fake.answer = REC_SAMPLE_SAME;
    rec_core_step(f->core, 150 * MS);
    rec_core_step(f->core, 200 * MS);
    assert_int_equal(f->fake.may_repeat, 2);
    rec_core_step(f->core, 250 * MS);
    const struct rec_dump *d = rec_core_open(f->core);
    assert_int_equal(d->stack_count, 1);
    assert_int_equal(d->stacks[0].count, 4);
    assert_int_equal(d->stacks[0].stack.frames[2], 0x20304);

    /* What the platform says against the rule is a stack that could not be had. */
    rec_core_loop_event(f->core, REC_LOOP_TURN, 260 * MS);
    rec_core_step(f->core, 360 * MS);
    assert_int_equal(f->fake.may_repeat, 3);
    assert_int_equal(rec_core_totals(f->core).unavailable, 1);
}

static void a_ring_of_one_repeats_its_own_stack(void **state) {
    struct fixture *f = *state;
    f->config.ring = 1;
    start(f);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    rec_core_step(f->core, 100 * MS);
    f->fake.answer = REC_SAMPLE_SAME;
    rec_core_step(f->core, 150 * MS);
    rec_core_step(f->core, 250 * MS);
    const struct rec_dump *d = rec_core_open(f->core);
    assert_int_equal(d->stack_count, 1);
    assert_int_equal(d->stacks[0].stack.count, 3);
    assert_int_equal(d->heaviest, 0);
}

static void a_loop_that_just_went_idle_is_not_detected(void **state) {
    struct fixture *f = *state;
    f->fake.not_busy = true;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    run_until(f, 0, 260 * MS);
    assert_false(rec_core_stalled(f->core));
    assert_int_equal(rec_core_totals(f->core).detections, 0);
}

static void an_end_before_the_detection_ends_at_the_detection(void **state) {
    struct fixture *f = *state;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    run_until(f, 0, 251 * MS);
    assert_true(rec_core_stalled(f->core));
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 249 * MS);
    const struct rec_dump *d = rec_core_closed(f->core);
    assert_int_equal(d->stall.at_ms, 250);
    assert_int_equal(d->stall.span_ms, 250);
    assert_int_equal(d->stall.duration_ms, 250);
}

static void only_images_of_frames_are_kept_by_load_address(void **state) {
    struct fixture *f = *state;
    f->fake.images = 9;
    memcpy(f->fake.path, "/lib/x", 7);
    /* Frame 1 returns to the first byte after image 5: its call is in image 5, not in 6. */
    fake_stack(&f->fake, 4, 0x70000, 0x50010, 0x20000, 0xffff0000);
    f->fake.frames[1] = 0x60000;
    stall(f, 0, 300 * MS);
    const struct rec_dump *d = rec_core_closed(f->core);
    assert_int_equal(d->image_count, 3);
    assert_int_equal(d->images[0].load, 0x20000);
    assert_int_equal(d->images[1].load, 0x50000);
    assert_int_equal(d->images[2].load, 0x70000);
    assert_string_equal(d->images[2].path, "/lib/x7");
    assert_false(d->images_lost);
}

static void images_without_room_are_told_to_be_lost(void **state) {
    struct fixture *f = *state;
    f->fake.images = 9;
    memset(f->fake.path, 'p', 4000);
    fake_stack(&f->fake, 5, 0x10000, 0x20000, 0x30000, 0x40000, 0x50000);
    stall(f, 0, 300 * MS);
    const struct rec_dump *d = rec_core_closed(f->core);
    assert_int_equal(d->image_count, 5); /* the id is what counts, the path is a help */
    assert_true(d->images_lost);
    assert_non_null(d->images[0].path);
    assert_null(d->images[4].path);
}

static void a_stack_deeper_than_asked_for_is_cut_at_its_outer_end(void **state) {
    struct fixture *f = *state;
    f->config.max_frames = 8;
    start(f);
    f->fake.count = 20;
    for (unsigned i = 0; i < 20; i++) {
        f->fake.frames[i] = f->fake.starts[i] = 0x10000 + i;
    }
    stall(f, 0, 300 * MS);
    const struct rec_dump *d = rec_core_closed(f->core);
    assert_int_equal(d->stacks[0].stack.count, 8);
    assert_true(d->stacks[0].stack.truncated);
    assert_int_equal(d->threads[0].stack.frames[7], 0x10007);
}

static void other_threads_are_captured_when_the_stall_is_old_enough(void **state) {
    struct fixture *f = *state;
    f->config.max_threads = 4;
    f->config.threads_after_ms = 1000;
    start(f);
    f->fake.others = 9;
    f->fake.images = 3;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    run_until(f, 0, 999 * MS);
    assert_int_equal(f->fake.thread_calls, 0);
    const struct rec_dump *d = rec_core_open(f->core);
    assert_int_equal(d->thread_count, 1);
    f->fake.main.waits_for = (struct rec_wait){REC_WAIT_MUTEX, 0x5000, 101};
    run_until(f, 1000 * MS, 1000 * MS);
    assert_int_equal(f->fake.thread_calls, 1);
    assert_ptr_equal(rec_core_open(f->core), d);
    assert_int_equal(d->stall.at_ms, 250);
    assert_int_equal(d->thread_count, 4);
    assert_int_equal(d->threads[3].id, 102);
    assert_false(d->threads[3].main);
    assert_int_equal(d->images[d->image_count - 1].load, 0x30000);
    /* The main thread's wait is of the same moment; its stack stays. */
    assert_int_equal(d->threads[0].waits_for.owner, 101);
    assert_true(d->threads[0].main);
    assert_int_equal(d->threads[0].stack.count, 3);
}

static void each_dump_past_that_age_gets_the_other_threads_once(void **state) {
    struct fixture *f = *state;
    f->config.max_threads = 4;
    f->config.threads_after_ms = 1000;
    start(f);
    f->fake.others = 2;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    run_until(f, 0, 3000 * MS);
    assert_int_equal(f->fake.thread_calls, 1);
    fake_stack(&f->fake, 1, 0x20700);
    run_until(f, 3010 * MS, 4300 * MS);
    const struct rec_dump *d = rec_core_open(f->core);
    assert_int_equal(d->stall.seq, 2);
    assert_int_equal(d->thread_count, 3);
    assert_int_equal(f->fake.thread_calls, 2);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 4400 * MS);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 5000 * MS);
    run_until(f, 5000 * MS, 5300 * MS);
    assert_int_equal(f->fake.thread_calls, 2);
}

static void one_thread_at_most_is_the_main_thread_alone(void **state) {
    struct fixture *f = *state;
    f->config.max_threads = 1;
    f->config.threads_after_ms = 0;
    start(f);
    f->fake.others = 2;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    run_until(f, 0, 3000 * MS);
    assert_int_equal(f->fake.thread_calls, 0);
    assert_int_equal(rec_core_open(f->core)->thread_count, 1);
}

static void dumps_wait_for_an_idle_loop_and_processor(void **state) {
    struct fixture *f = *state;
    stall(f, 0, 300 * MS);
    assert_true(rec_core_write_due(f->core, 300 * MS, -1));
    assert_true(rec_core_write_due(f->core, 300 * MS, 399));
    assert_false(rec_core_write_due(f->core, 300 * MS, 400));
    assert_int_equal(rec_core_write_deadline(f->core), 10300 * MS);
    assert_true(rec_core_write_due(f->core, 10300 * MS, 400));
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 400 * MS);
    assert_false(rec_core_write_due(f->core, 400 * MS, 0));
    assert_true(rec_core_write_due(f->core, 10300 * MS, 0));
    rec_core_finish(f->core, 410 * MS);
    assert_true(rec_core_write_due(f->core, 410 * MS, 1000));
    rec_core_release(f->core, rec_core_closed(f->core));
    assert_null(rec_core_closed(f->core));
    assert_false(rec_core_write_due(f->core, 99999 * MS, 0));
    assert_true(rec_core_write_deadline(f->core) == REC_NEVER);
}

static void without_memory_a_dump_is_lost_and_said_so(void **state) {
    struct fixture *f = *state;
    for (unsigned i = 0; i < RECORDS; i++) {
        assert_false(rec_core_write_due(f->core, i * 1000 * MS, 1000));
        stall(f, i * 1000 * MS, 300 * MS);
    }
    assert_true(rec_core_write_due(f->core, 6000 * MS, 1000)); /* no memory is left: write now */
    assert_int_equal(f->lost, 0);
    stall(f, 6000 * MS, 300 * MS);
    assert_int_equal(f->lost, 1);
    assert_int_equal(rec_core_totals(f->core).lost, 1);
    assert_int_equal(rec_core_totals(f->core).stalls, RECORDS + 1);
    for (unsigned i = 0; i < RECORDS; i++) { /* the oldest first, untouched */
        const struct rec_dump *d = rec_core_closed(f->core);
        assert_int_equal(d->stall.since_ns, i * 1000 * MS);
        rec_core_release(f->core, d);
    }
    stall(f, 7000 * MS, 300 * MS);
    assert_int_equal(rec_core_closed(f->core)->stall.since_ns, 7000 * MS);
}

static void a_dump_without_memory_leaves_its_time_to_the_one_before(void **state) {
    struct fixture *f = *state;
    for (unsigned i = 0; i < RECORDS - 1; i++) {
        stall(f, i * 1000 * MS, 300 * MS);
    }
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 5000 * MS);
    run_until(f, 5000 * MS, 5300 * MS);
    fake_stack(&f->fake, 1, 0x20700);
    run_until(f, 5300 * MS, 6900 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 6900 * MS);
    assert_true(f->lost >= 1);
    const struct rec_dump *d = NULL;
    for (unsigned i = 0; i < RECORDS; i++) {
        d = rec_core_closed(f->core);
        assert_non_null(d);
        rec_core_release(f->core, d);
    }
    assert_int_equal(d->stall.since_ns, 5000 * MS);
    assert_int_equal(d->stall.seq, 1);
    assert_int_equal(d->stall.span_ms, 1900);
    assert_int_equal(d->stall.duration_ms, 1900);
}

static bool post(void *ctx, uint64_t number) {
    struct fixture *f = (struct fixture *)ctx; /* the fake is its first member */
    f->posted = number;
    return !f->refuses_posts;
}

/* A core with all detectors but those that step while the loop is idle, or with those as well. */
static void start_with(struct fixture *f, uint32_t detectors) {
    start(f);
    struct rec_capture capture = fake_capture(&f->fake);
    capture.post = post;
    f->config.detectors = detectors;
    f->core = rec_core_init(f->memory, &f->config, &capture, 0);
}

static void only_ping_and_cpu_wake_an_idle_loop(void **state) {
    struct fixture *f = *state;
    const uint32_t awake = STALLREC_DETECT_PING | STALLREC_DETECT_CPU;
    start_with(f, 127 & ~awake);
    assert_true(rec_core_step(f->core, 5 * MS) == REC_NEVER);
    rec_core_tick(f->core, 6 * MS);
    assert_true(rec_core_step(f->core, 6 * MS) == REC_NEVER);
    start_with(f, STALLREC_DETECT_CPU);
    assert_int_equal(rec_core_step(f->core, 5 * MS), 1000 * MS);
    start_with(f, STALLREC_DETECT_PING);
    assert_int_equal(rec_core_step(f->core, 5 * MS), 1000 * MS);
    assert_int_equal(f->posted, 0);
    rec_core_step(f->core, 1000 * MS);
    assert_int_equal(f->posted, 1);
    rec_core_ping_done(f->core, 7, 1001 * MS); /* not the one that was posted */
    rec_core_ping_done(f->core, 1, 1002 * MS);
    assert_int_equal(rec_core_step(f->core, 1002 * MS), 2002 * MS);
}

static void a_task_that_cannot_be_posted_is_tried_again(void **state) {
    struct fixture *f = *state;
    start_with(f, STALLREC_DETECT_PING);
    f->refuses_posts = true;
    rec_core_step(f->core, 0);
    assert_int_equal(rec_core_step(f->core, 1000 * MS), 2000 * MS);
    f->refuses_posts = false;
    rec_core_step(f->core, 2000 * MS);
    assert_int_equal(f->posted, 1);
}

static void a_launch_may_have_begun_before_the_recorder(void **state) {
    struct fixture *f = *state;
    start(f);
    rec_core_step(f->core, 5000 * MS);
    rec_core_launch(f->core, REC_LAUNCH_BEGIN, 1000 * MS);
    run_until(f, 5000 * MS, 5001 * MS);
    const struct rec_dump *d = rec_core_open(f->core);
    assert_non_null(d);
    assert_string_equal(d->stall.kind, "launch");
    assert_int_equal(d->stall.at_ms, 4000);
    assert_int_equal(d->stall.gap_ms, 0);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 5500 * MS);
    assert_int_equal(rec_core_totals(f->core).launches, 1);
    assert_int_equal(rec_core_totals(f->core).launches_ms, 4500);
    assert_int_equal(rec_core_totals(f->core).severe, 1);
}

static void more_actions_than_there_is_room_for_are_counted(void **state) {
    struct fixture *f = *state;
    for (uint64_t i = 1; i <= 16; i++) {
        assert_true(rec_core_span_begin(f->core, i, "action", 0, 0));
    }
    assert_false(rec_core_span_begin(f->core, 17, "action", 0, 0));
    assert_int_equal(rec_core_totals(f->core).spans_unwatched, 1);
    rec_core_span_end(f->core, 17, 1 * MS);
    rec_core_span_end(f->core, 3, 1 * MS);
    char name[200];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_true(rec_core_span_begin(f->core, 18, name, 1, 1 * MS));
    run_until(f, 1 * MS, 3 * MS);
    const struct rec_dump *d = rec_core_open(f->core);
    assert_non_null(d);
    assert_int_equal(strlen(d->stall.action), REC_NAME_MAX - 1);
}

static void a_late_wake_up_is_a_gap_unless_the_monitor_was_at_work(void **state) {
    struct fixture *f = *state;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    rec_core_step(f->core, 0);
    rec_core_step(f->core, 100 * MS + 1000 * MS); /* 1 s late is not yet one */
    assert_int_equal(rec_core_totals(f->core).gaps, 0);
    rec_core_wait_begin(f->core, 4000 * MS); /* wrote a dump to a slow disk */
    rec_core_step(f->core, 4001 * MS);
    assert_int_equal(rec_core_totals(f->core).gaps, 0);
    rec_core_step(f->core, 6000 * MS);
    assert_int_equal(rec_core_totals(f->core).gaps, 1);
}

static void a_long_wait_may_be_late_in_proportion(void **state) {
    struct fixture *f = *state;
    f->config.first_sample_ms = 2000;
    f->config.threshold_ms = 2000;
    start(f);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    assert_int_equal(rec_core_step(f->core, 0), 2000 * MS);
    /* Another stretch meanwhile: the monitor was told of no earlier time. */
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 10 * MS);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 20 * MS);
    rec_core_step(f->core, 9900 * MS);
    assert_int_equal(rec_core_totals(f->core).gaps, 0);
}

static void nothing_happens_after_finish(void **state) {
    struct fixture *f = *state;
    rec_core_finish(f->core, 10 * MS);
    rec_core_finish(f->core, 20 * MS);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 30 * MS);
    assert_true(rec_core_step(f->core, 9000 * MS) == REC_NEVER);
    assert_int_equal(f->fake.samples, 0);
}

static void stepping_and_writing_allocate_nothing(void **state) {
    struct fixture *f = *state;
    if (!failmalloc_works()) {
        skip();
    }
    char folder[] = "/tmp/stallrec-core-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct rec_dumpfile *file;
    void *memory = malloc(rec_dumpfile_size());
    assert_non_null(memory);
    assert_int_equal(rec_dumpfile_init(&file, memory, folder, 0), STALLREC_OK);
    struct rec_about about = {.app_id = "test"};
    const char *path;

    failmalloc_arm(ULONG_MAX, false);
    unsigned written = 0;
    for (unsigned i = 0; i < 20; i++) {
        fake_stack(&f->fake, 2, 0x10000 + i, 0x20000);
        stall(f, i * 5000 * MS, 3000 * MS);
        const struct rec_dump *d = rec_core_closed(f->core);
        assert_int_equal(rec_dumpfile_write(file, d, &about, &path), STALLREC_OK);
        rec_core_release(f->core, d);
        assert_int_equal(unlink(path), 0);
        written++;
    }
    assert_int_equal(failmalloc_calls(), 0);
    void *volatile one = malloc(1); /* the counter counts */
    free(one);
    assert_int_equal(failmalloc_calls(), 1);
    failmalloc_disarm();
    assert_int_equal(written, 20);
    free(memory);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(an_idle_loop_asks_for_no_wake_up),
        T(a_busy_loop_is_sampled_on_its_grid),
        T(a_dump_says_what_the_platform_said),
        T(cpu_time_is_that_of_the_stall),
        T(the_median_pause_is_the_lower_of_two),
        T(an_unchanged_stack_is_repeated_only_within_a_stretch),
        T(a_ring_of_one_repeats_its_own_stack),
        T(a_loop_that_just_went_idle_is_not_detected),
        T(an_end_before_the_detection_ends_at_the_detection),
        T(only_images_of_frames_are_kept_by_load_address),
        T(images_without_room_are_told_to_be_lost),
        T(a_stack_deeper_than_asked_for_is_cut_at_its_outer_end),
        T(other_threads_are_captured_when_the_stall_is_old_enough),
        T(each_dump_past_that_age_gets_the_other_threads_once),
        T(one_thread_at_most_is_the_main_thread_alone),
        T(dumps_wait_for_an_idle_loop_and_processor),
        T(without_memory_a_dump_is_lost_and_said_so),
        T(a_dump_without_memory_leaves_its_time_to_the_one_before),
        T(only_ping_and_cpu_wake_an_idle_loop),
        T(a_task_that_cannot_be_posted_is_tried_again),
        T(a_launch_may_have_begun_before_the_recorder),
        T(more_actions_than_there_is_room_for_are_counted),
        T(a_late_wake_up_is_a_gap_unless_the_monitor_was_at_work),
        T(a_long_wait_may_be_late_in_proportion),
        T(nothing_happens_after_finish),
        T(stepping_and_writing_allocate_nothing),
#undef T
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
