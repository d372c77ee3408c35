/* Tests the core's contract with its platform: the data for which it asks, the times at which it
 * asks, and the data that it keeps. Traces test which stalls it detects (replay_test.c). */
#include "core/core_fixture_test.h"

#include <limits.h>
#include <unistd.h>

#include "base/failmalloc.h"
#include "files/dumpfile.h"

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
    assert_int_equal(rec_core_step(f->core, 1050 * MS), 1100 * MS); /* the step is early, so nothing
                                                                       is due */
    assert_int_equal(f->fake.samples, 0);
    assert_int_equal(rec_core_step(f->core, 1103 * MS), 1150 * MS);
    assert_int_equal(rec_core_step(f->core, 1212 * MS),
                     1250 * MS); /* a missed sample is not made up for */
    assert_int_equal(f->fake.samples, 2);
    assert_int_equal(rec_core_step(f->core, 1250 * MS), 1300 * MS);
    assert_int_equal(f->fake.samples, 3);
    assert_true(rec_core_stalled(f->core));
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

    /* If no repetition is allowed, the answer REC_SAMPLE_SAME counts as a stack that could not be
     * taken. */
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

static void a_stall_that_ended_before_a_late_check_is_dumped(void **state) {
    struct fixture *f = *state;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    run_until(f, 0, 201 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 328 * MS);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 340 * MS);
    rec_core_step(f->core, 345 * MS);
    const struct rec_dump *d = rec_core_closed(f->core);
    assert_non_null(d);
    assert_int_equal(d->stall.at_ms, 328);
    assert_int_equal(d->stall.span_ms, 328);
    assert_int_equal(d->stall.duration_ms, 328);
    assert_true(d->stall.ended);
    assert_int_equal(d->ring_count, 3);
    assert_int_equal(rec_core_totals(f->core).stalls, 1);
    assert_false(rec_core_stalled(f->core));
    assert_int_equal(rec_core_busy_since(f->core), 340 * MS);
}

static void a_late_check_invents_no_stall(void **state) {
    struct fixture *f = *state;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    run_until(f, 0, 201 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 250 * MS); /* the stretch is not longer than the
                                                               threshold */
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 1000 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 1900 * MS); /* there is no sample of this
                                                                stretch */
    f->fake.idle = true;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 2000 * MS);
    run_until(f, 2000 * MS, 2201 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 2300 * MS); /* in this stretch the loop only
                                                                waited */
    assert_null(rec_core_closed(f->core));
    assert_int_equal(rec_core_totals(f->core).stalls, 0);
    assert_int_equal(rec_core_totals(f->core).vetoed, 1);
}

static void what_is_published_checks_at_its_own_times_only(void **state) {
    struct fixture *f = *state;
    stallrec_config_wechat(&f->config);
    start(f);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 500 * MS);
    run_until(f, 500 * MS, 2400 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 2600 * MS);
    assert_null(rec_core_closed(f->core));
}

/* The stalls are those of testdata/traces/wechat-again.trace; the second has the same stack as the
 * first. */
static void a_stall_without_a_dump_is_counted_all_the_same(void **state) {
    struct fixture *f = *state;
    stallrec_config_wechat(&f->config);
    start(f);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    run_until(f, 0, 6900 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 6900 * MS);
    assert_int_equal(rec_core_closed(f->core)->stall.suppressed, 3);
    assert_int_equal(rec_core_totals(f->core).suppressed_alone, 0);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 6910 * MS);
    run_until(f, 6910 * MS, 9200 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 9200 * MS);
    assert_int_equal(rec_core_totals(f->core).stalls, 2);
    assert_int_equal(rec_core_totals(f->core).dumps, 1);
    assert_int_equal(rec_core_totals(f->core).suppressed, 4);
    assert_int_equal(rec_core_totals(f->core).suppressed_alone, 1);
}

static void a_sample_of_the_next_stretch_is_left_out(void **state) {
    struct fixture *f = *state;
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    run_until(f, 0, 101 * MS);
    f->fake.not_busy = true;
    rec_core_step(f->core, 300 * MS);
    assert_int_equal(f->fake.samples, 2);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 299 * MS);
    assert_int_equal(rec_core_closed(f->core)->ring_count, 1);
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

static bool post(void *ctx, uint64_t number) {
    struct fixture *f = (struct fixture *)ctx; /* the fake is the fixture's first member */
    f->posted = number;
    return !f->refuses_posts;
}

/* Starts a core with these detectors; the core can post pings. */
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
    rec_core_ping_done(f->core, 7, 1001 * MS); /* 7 is not the number of the posted ping */
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

static void the_end_of_a_prewarming_that_was_not_reported_is_ignored(void **state) {
    struct fixture *f = *state;
    start(f);
    rec_core_launch(f->core, REC_LAUNCH_START, 0);
    rec_core_launch(f->core, REC_LAUNCH_ACTIVE, 100 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 300 * MS);
    assert_int_equal(rec_core_totals(f->core).launches, 1);
    assert_int_equal(rec_core_totals(f->core).launches_ms, 300);
    assert_int_equal(rec_core_totals(f->core).prewarmed, 0);
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
    rec_core_step(f->core, 100 * MS + 1000 * MS); /* 1 s late is not a gap yet */
    assert_int_equal(rec_core_totals(f->core).gaps, 0);
    rec_core_wait_begin(f->core, 4000 * MS); /* as if the monitor had written a dump to a slow
                                                disk */
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
    /* Another stretch begins meanwhile, but the monitor was given no earlier time to wake up. */
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 10 * MS);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 20 * MS);
    rec_core_step(f->core, 9900 * MS); /* 7900 ms late, which is less than 4 times the wait of 2000
                                          ms */
    assert_int_equal(rec_core_totals(f->core).gaps, 0);
    start(f);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    rec_core_step(f->core, 0);
    rec_core_step(f->core, 10100 * MS);
    assert_int_equal(rec_core_totals(f->core).gaps, 1);
}

static void past_told_to_a_parked_monitor_is_no_gap(void **state) {
    struct fixture *f = *state;
    rec_core_doubt(f->core, 0, 0);
    rec_core_attribute(f->core, REC_PAST_ANEW, 0, 100 * MS);
    rec_core_past_idle(f->core, 10 * MS, 20 * MS);
    rec_core_attributed(f->core, 0, 100 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 100 * MS);
    assert_true(rec_core_step(f->core, 100 * MS) == REC_NEVER);
    rec_core_attribute(f->core, REC_PAST_CONTINUES, 1000 * MS, 9000 * MS);
    rec_core_past_idle(f->core, 1500 * MS, 2000 * MS);
    rec_core_attributed(f->core, 0, 9000 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 9000 * MS);
    assert_int_equal(rec_core_totals(f->core).gaps, 0);
    assert_int_equal(rec_core_watched(f->core, 9000 * MS).unwatched_ms[REC_UNWATCHED_SUSPENDED], 0);
    /* In a stretch that goes on, gaps are noticed from now on. */
    assert_true(rec_core_step(f->core, 9000 * MS) == REC_NEVER);
    rec_core_attribute(f->core, REC_PAST_CONTINUES, 9500 * MS, 12000 * MS);
    rec_core_attributed(f->core, 0, 12000 * MS);
    rec_core_step(f->core, 12001 * MS);
    assert_int_equal(rec_core_totals(f->core).gaps, 0);
    rec_core_step(f->core, 15000 * MS);
    assert_int_equal(rec_core_totals(f->core).gaps, 1);
}

/* The loop that was in doubt continues, and nothing is known of the time of doubt. */
static void doubt_that_nothing_tells_of_is_not_watched(void **state) {
    struct fixture *f = *state;
    rec_core_doubt(f->core, 0, 0);
    rec_core_attribute(f->core, REC_PAST_ANEW, 0, 20 * MS);
    rec_core_past_idle(f->core, 10 * MS, 20 * MS);
    rec_core_attributed(f->core, 20 * MS, 20 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 30 * MS);
    assert_true(rec_core_step(f->core, 30 * MS) == REC_NEVER);
    rec_core_doubt(f->core, 0, 1000 * MS);
    rec_core_attribute(f->core, REC_PAST_CONTINUES, 1700 * MS, 1700 * MS);
    rec_core_attributed(f->core, 1700 * MS, 1700 * MS);
    struct rec_watched w = rec_core_watched(f->core, 2000 * MS);
    assert_int_equal(w.unwatched_ms[REC_UNWATCHED_FORGOTTEN], 700);
    assert_int_equal(w.watched_ms, 1290);
}

static void unknown_past_is_unwatched_and_holds_no_stall(void **state) {
    struct fixture *f = *state;
    rec_core_doubt(f->core, 0, 0);
    rec_core_attribute(f->core, REC_PAST_ANEW, 0, 100 * MS);
    rec_core_past_idle(f->core, 10 * MS, 20 * MS);
    rec_core_attributed(f->core, 0, 100 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 100 * MS);
    rec_core_doubt(f->core, 0, 1000 * MS);
    rec_core_attribute(f->core, REC_PAST_CONTINUES, 1000 * MS, 9000 * MS);
    rec_core_past_unknown(f->core, 1100 * MS, 6100 * MS);
    rec_core_past_idle(f->core, 6200 * MS, 9000 * MS);
    rec_core_attributed(f->core, 0, 9000 * MS);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 9000 * MS);
    struct rec_watched w = rec_core_watched(f->core, 9000 * MS);
    assert_int_equal(w.unwatched_ms[REC_UNWATCHED_NO_LOOP], 5000);
    assert_int_equal(rec_core_totals(f->core).stalls, 0);
    /* In doubt, both times count. */
    rec_core_doubt(f->core, 0, 9000 * MS);
    w = rec_core_watched(f->core, 10000 * MS);
    assert_int_equal(w.unwatched_ms[REC_UNWATCHED_NO_LOOP], 6000);
}

struct taken {
    unsigned withdrawn;
    uint64_t open_ms; /* was_ms of the stalls whose end had not been reported */
};

static void count_withdrawn(void *ctx, const uint8_t id[REC_UUID_SIZE]) {
    (void)id;
    ((struct taken *)ctx)->withdrawn++;
}

static void note_taken_back(void *ctx, bool ended, uint64_t was_ms) {
    ((struct taken *)ctx)->open_ms += ended ? 0 : was_ms;
}

/* A dump may be written before the loop is certain, as the memory for dumps is small. */
static void stall_whose_dump_was_written_is_taken_back(void **state) {
    struct fixture *f = *state;
    struct taken taken = {0};
    rec_core_keep(f->core, &(struct rec_keeper){&taken, .withdraw = count_withdrawn,
                                                .take_back = note_taken_back});
    rec_core_doubt(f->core, 0, 0);
    rec_core_attribute(f->core, REC_PAST_ANEW, 0, 100 * MS);
    rec_core_past_idle(f->core, 10 * MS, 20 * MS);
    rec_core_attributed(f->core, 10000 * MS, 100 * MS);
    for (uint64_t t = 1000; t <= 3000; t += 1000) {
        rec_core_loop_event(f->core, REC_LOOP_SLEEP, t * MS);
        rec_core_loop_event(f->core, REC_LOOP_WAKE, (t + 100) * MS);
        run_until(f, (t + 100) * MS, (t + 900) * MS);
    }
    rec_core_release(f->core, rec_core_closed(f->core));
    uint64_t stalls = rec_core_totals(f->core).stalls;
    assert_true(stalls >= 3);
    rec_core_attribute(f->core, REC_PAST_CONTINUES, 4000 * MS, 4000 * MS);
    assert_int_equal(taken.withdrawn, 0);
    rec_core_attribute(f->core, REC_PAST_ANEW, 0, 4500 * MS);
    assert_int_equal(taken.withdrawn, 1);
    assert_int_equal(taken.open_ms, 250);
    struct rec_totals totals = rec_core_totals(f->core);
    assert_int_equal(totals.stalls, 0);
    assert_int_equal(totals.dumps, 0);
}

/* A dump that waited until the loop was certain is true, whichever loop is found later. */
static void stall_whose_dump_waited_long_enough_stays(void **state) {
    struct fixture *f = *state;
    struct taken taken = {0};
    rec_core_keep(f->core, &(struct rec_keeper){&taken, .withdraw = count_withdrawn,
                                                .take_back = note_taken_back});
    rec_core_doubt(f->core, 0, 0);
    rec_core_attribute(f->core, REC_PAST_ANEW, 0, 100 * MS);
    rec_core_past_idle(f->core, 10 * MS, 20 * MS);
    rec_core_attributed(f->core, 1500 * MS, 100 * MS);
    for (uint64_t t = 1000; t <= 2000; t += 1000) {
        rec_core_loop_event(f->core, REC_LOOP_SLEEP, t * MS);
        rec_core_loop_event(f->core, REC_LOOP_WAKE, (t + 100) * MS);
        run_until(f, (t + 100) * MS, (t + 900) * MS);
    }
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 3000 * MS);
    assert_int_equal(rec_core_totals(f->core).stalls, 2);
    rec_core_release(f->core, rec_core_closed(f->core));
    rec_core_doubt(f->core, 0, 3500 * MS);
    rec_core_release(f->core, rec_core_closed(f->core)); /* before the doubt is over */
    rec_core_attribute(f->core, REC_PAST_ANEW, 0, 4500 * MS);
    assert_int_equal(taken.withdrawn, 1);
    assert_int_equal(rec_core_totals(f->core).stalls, 1);
    assert_int_equal(rec_core_totals(f->core).dumps, 1);
}

static void time_before_an_exec_stays_watched(void **state) {
    struct fixture *f = *state;
    rec_core_doubt(f->core, 0, 0);
    rec_core_attribute(f->core, REC_PAST_ANEW, 0, 100 * MS);
    rec_core_past_idle(f->core, 10 * MS, 20 * MS);
    rec_core_attributed(f->core, 0, 100 * MS);
    run_until(f, 100 * MS, 1000 * MS); /* a stall that lasts until the exec */
    rec_core_doubt(f->core, 1000 * MS, 1000 * MS);
    struct rec_watched w = rec_core_watched(f->core, 1500 * MS);
    assert_int_equal(w.wall_ms, 1500);
    assert_int_equal(w.watched_ms, 990);
    assert_int_equal(w.unwatched_ms[REC_UNWATCHED_LAUNCH], 10);
    assert_int_equal(w.unwatched_ms[REC_UNWATCHED_NO_LOOP], 500);
    rec_core_attribute(f->core, REC_PAST_ANEW, 1000 * MS, 2000 * MS);
    rec_core_past_idle(f->core, 1200 * MS, 1900 * MS);
    rec_core_attributed(f->core, 0, 2000 * MS);
    w = rec_core_watched(f->core, 2000 * MS);
    assert_int_equal(w.wall_ms, 2000);
    assert_int_equal(w.watched_ms, 1790);
    assert_int_equal(w.unwatched_ms[REC_UNWATCHED_LAUNCH], 210);
    assert_int_equal(rec_core_totals(f->core).stalls, 1);
    assert_int_equal(rec_core_totals(f->core).stalled_ms, 980);
}

static void a_loop_that_is_known_at_the_end_has_its_last_stall(void **state) {
    struct fixture *f = *state;
    rec_core_doubt(f->core, 0, 0);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 20 * MS);
    run_until(f, 20 * MS, 1000 * MS);
    rec_core_attribute(f->core, REC_PAST_ANEW, 0, 1000 * MS);
    rec_core_past_idle(f->core, 10 * MS, 20 * MS);
    rec_core_attributed(f->core, 0, 1000 * MS);
    rec_core_finish(f->core, 1000 * MS);
    assert_int_equal(rec_core_totals(f->core).stalls, 1);
}

/* A rest does not count as a stall. If it is unclear whether a wait is a rest, the time does not
 * count as watched either. */
static void rests_are_no_stalls(void **state) {
    struct fixture *f = *state;
    static const enum rec_rest rests[] = {REC_REST_INPUT, REC_REST_UNCLEAR};
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        start(f);
        f->fake.rest = rests[i];
        rec_core_loop_event(f->core, REC_LOOP_SLEEP, 0);
        rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
        run_until(f, 0, 2000 * MS);
        f->fake.rest = REC_REST_NONE;
        run_until(f, 2000 * MS, 3000 * MS);
        rec_core_loop_event(f->core, REC_LOOP_SLEEP, 3000 * MS);
        struct rec_watched w = rec_core_watched(f->core, 3000 * MS);
        uint64_t rested_ms = i == 0 ? w.input_ms : w.unwatched_ms[REC_UNWATCHED_UNCLEAR];
        assert_in_range(rested_ms, 1800, 2000);
        assert_int_equal(w.watched_ms, i == 0 ? 3000 : 3000 - rested_ms);
        assert_true((w.unclear_at != 0) == (i == 1));
        assert_int_equal(rec_core_totals(f->core).stalls, 1);
        assert_in_range(rec_core_totals(f->core).stalled_ms, 950, 1050);
    }
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
    assert_int_equal(rec_dumpfile_init(&file, memory, folder, 0, 0), STALLREC_OK);
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
    void *volatile one = malloc(1); /* this shows that the counter works */
    free(one);
    assert_int_equal(failmalloc_calls(), 1);
    failmalloc_disarm();
    assert_int_equal(written, 20);
    free(memory);
    assert_int_equal(rmdir(folder), 0);
}

static void a_stack_that_moves_at_every_check_gives_few_dumps_of_a_long_stall(void **state) {
    struct fixture *f = *state;
    const uint64_t hour = 3600 * 1000 * MS;
    uint64_t spans = 0, dumps = 0, at[64] = {0};
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    for (uint64_t next = rec_core_step(f->core, 0); next < hour;) {
        f->fake.starts[2] = 0x20000 + next / MS % 0xffff; /* the stack changes, as in a recursion */
        next = rec_core_step(f->core, next);
        for (const struct rec_dump *d; (d = rec_core_closed(f->core)) != NULL;) {
            spans += d->stall.span_ms;
            at[dumps++ % 64] = d->stall.at_ms;
            rec_core_release(f->core, d);
        }
    }
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, hour);
    const struct rec_dump *last = rec_core_closed(f->core);
    assert_non_null(last);
    assert_int_equal(spans + last->stall.span_ms, 3600000);
    assert_int_equal(last->stall.duration_ms, 3600000);
    for (unsigned i = 1; i < 8; i++) { /* the first dumps come at every check */
        assert_int_equal(at[i] - at[i - 1], 1000);
    }
    static const unsigned later[] = {1, 1, 2, 3, 5, 8};
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(at[8 + i] - at[7 + i], later[i] * 1000);
    }
    assert_in_range(dumps, 20, 26);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(an_idle_loop_asks_for_no_wake_up),
        T(a_busy_loop_is_sampled_on_its_grid),
        T(an_unchanged_stack_is_repeated_only_within_a_stretch),
        T(a_ring_of_one_repeats_its_own_stack),
        T(a_loop_that_just_went_idle_is_not_detected),
        T(a_stall_that_ended_before_a_late_check_is_dumped),
        T(a_late_check_invents_no_stall),
        T(what_is_published_checks_at_its_own_times_only),
        T(a_stall_without_a_dump_is_counted_all_the_same),
        T(a_sample_of_the_next_stretch_is_left_out),
        T(an_end_before_the_detection_ends_at_the_detection),
        T(only_ping_and_cpu_wake_an_idle_loop),
        T(a_task_that_cannot_be_posted_is_tried_again),
        T(a_launch_may_have_begun_before_the_recorder),
        T(the_end_of_a_prewarming_that_was_not_reported_is_ignored),
        T(more_actions_than_there_is_room_for_are_counted),
        T(a_late_wake_up_is_a_gap_unless_the_monitor_was_at_work),
        T(a_long_wait_may_be_late_in_proportion),
        T(past_told_to_a_parked_monitor_is_no_gap),
        T(doubt_that_nothing_tells_of_is_not_watched),
        T(unknown_past_is_unwatched_and_holds_no_stall),
        T(stall_whose_dump_was_written_is_taken_back),
        T(stall_whose_dump_waited_long_enough_stays),
        T(time_before_an_exec_stays_watched),
        T(a_loop_that_is_known_at_the_end_has_its_last_stall),
        T(rests_are_no_stalls),
        T(a_stack_that_moves_at_every_check_gives_few_dumps_of_a_long_stall),
        T(nothing_happens_after_finish),
        T(stepping_and_writing_allocate_nothing),
#undef T
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
