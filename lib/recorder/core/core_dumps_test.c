/* Tests the content of the core's dumps, and the times at which they are due to be written. */
#include "core/core_fixture_test.h"

#include "files/dumpname.h"

enum { RECORDS = 6 }; /* number of dumps for which the core has memory */

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
    assert_int_equal(d->meter.pause_p50_us, 3); /* rounded up, so that no pause is reported shorter
                                                   than it was */
    assert_int_equal(d->meter.pause_max_us, 3);
    assert_int_equal(f->fake.thread_calls, 0); /* the stall was too short for a capture of other
                                                  threads */
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
    assert_int_equal(d->image_count, 5); /* an image without room for its path is kept, as its id
                                            matters more */
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
    assert_int_equal(d->threads_left_out, 6);
    assert_int_equal(d->threads[3].id, 102);
    assert_false(d->threads[3].main);
    assert_int_equal(d->images[d->image_count - 1].load, 0x30000);
    /* The main thread's wait was read when the other threads were captured, but its stack is still
     * that of the detection. */
    assert_int_equal(d->threads[0].waits_for.owner, 101);
    assert_true(d->threads[0].main);
    assert_int_equal(d->threads[0].stack.count, 3);
}

static void a_stall_that_ends_while_threads_are_captured_keeps_its_wait(void **state) {
    struct fixture *f = *state;
    f->config.max_threads = 4;
    f->config.threads_after_ms = 1000;
    start(f);
    f->fake.others = 2;
    f->fake.main =
        (struct rec_thread){.state = REC_STATE_WAITING, .waits_for = {REC_WAIT_MUTEX, 0x5000, 101}};
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    run_until(f, 0, 999 * MS);
    f->fake.main = (struct rec_thread){.state = REC_STATE_RUNNING, .waits_for.owner = -1};
    f->fake.wakes = true;
    run_until(f, 1000 * MS, 1000 * MS);
    assert_int_equal(f->fake.thread_calls, 1);
    const struct rec_dump *d = rec_core_open(f->core);
    assert_int_equal(d->thread_count, 1);
    assert_int_equal(d->threads_left_out, 0);
    assert_int_equal(d->threads[0].state, REC_STATE_WAITING);
    assert_int_equal(d->threads[0].waits_for.owner, 101);
    assert_int_equal(d->threads[0].stack.count, 3);
    /* The stall's end is reported next, and no threads are captured again. */
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, 1000 * MS);
    assert_int_equal(f->fake.thread_calls, 1);
    assert_int_equal(rec_core_closed(f->core)->thread_count, 1);
}

/* Two threads that pass two locks to each other are not in a deadlock, although each waits in its
 * turn. */
static void a_wait_that_is_over_stays_unless_somebody_waits_for_main(void **state) {
    struct fixture *f = *state;
    f->config.max_threads = 4;
    f->config.threads_after_ms = 1000;
    for (int waited_for = 0; waited_for < 2; waited_for++) {
        start(f);
        f->fake.others = 2;
        f->fake.main = (struct rec_thread){
            .id = 7, .state = REC_STATE_WAITING, .waits_for = {REC_WAIT_MUTEX, 0x5000, 101}};
        rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
        run_until(f, 0, 999 * MS);
        f->fake.main =
            (struct rec_thread){.id = 7, .state = REC_STATE_RUNNING, .waits_for.owner = -1};
        f->fake.others_wait_for = waited_for ? 7 : 100;
        run_until(f, 1000 * MS, 1000 * MS);
        const struct rec_dump *d = rec_core_open(f->core);
        assert_int_equal(d->thread_count, 3);
        assert_int_equal(d->threads[0].waits_for.owner, waited_for ? -1 : 101);
        assert_int_equal(d->threads[0].state, waited_for ? REC_STATE_RUNNING : REC_STATE_WAITING);
        assert_int_equal(d->threads[0].stack.count, 3);
    }
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

static void one_function_that_is_busy_is_one_bucket(void **state) {
    struct fixture *f = *state;
    uint32_t first = 0;
    for (unsigned i = 0; i < 2; i++) { /* each sample is at another address of the same function */
        f->fake.frames[0] = 0x10100 + 8 * i;
        stall(f, i * 1000 * MS, 400 * MS);
        const struct rec_dump *dump = rec_core_closed(f->core);
        assert_true(dump->heaviest >= 0);
        first = i == 0 ? rec_dump_bucket(dump) : first;
        assert_int_equal(rec_dump_bucket(dump), first);
        rec_core_release(f->core, dump);
    }
    fake_stack(&f->fake, 3, 0x10180, 0x10200, 0x20300);
    stall(f, 5000 * MS, 400 * MS);
    assert_int_not_equal(rec_dump_bucket(rec_core_closed(f->core)), first);
}

static void a_dump_that_cannot_be_written_waits_behind_the_others(void **state) {
    struct fixture *f = *state;
    stall(f, 0, 300 * MS);
    stall(f, 1000 * MS, 300 * MS);
    const struct rec_dump *first = rec_core_closed(f->core);
    rec_core_postpone(f->core, first, 30000 * MS);
    assert_false(rec_core_write_due(f->core, 20000 * MS, 0)); /* its deadline has passed, but it is
                                                                 postponed until 30 s */
    assert_true(rec_core_write_due(f->core, 30000 * MS, 0));
    const struct rec_dump *second = rec_core_closed(f->core);
    assert_ptr_not_equal(second, first);
    rec_core_release(f->core, second); /* a dump was written, so the postponed one may be tried
                                          again */
    assert_ptr_equal(rec_core_closed(f->core), first);
    assert_true(rec_core_write_due(f->core, 2000 * MS, 0));
    rec_core_postpone(f->core, first, REC_NEVER);
    for (unsigned i = 1; i < RECORDS; i++) {
        assert_false(rec_core_full(f->core));
        stall(f, (i + 1) * 1000 * MS, 300 * MS);
    }
    assert_true(rec_core_full(f->core));
    assert_true(rec_core_write_due(f->core, 8000 * MS, 1000)); /* otherwise the next dump would be
                                                                  lost */
    assert_int_equal(f->lost, 0);
}

static void without_memory_a_dump_is_lost_and_said_so(void **state) {
    struct fixture *f = *state;
    for (unsigned i = 0; i < RECORDS; i++) {
        assert_false(rec_core_write_due(f->core, i * 1000 * MS, 1000));
        stall(f, i * 1000 * MS, 300 * MS);
    }
    assert_true(rec_core_write_due(f->core, 6000 * MS, 1000)); /* no memory is left, so a dump is
                                                                  due at once */
    assert_int_equal(f->lost, 0);
    stall(f, 6000 * MS, 300 * MS);
    assert_int_equal(f->lost, 1);
    assert_int_equal(rec_core_totals(f->core).lost, 1);
    assert_int_equal(rec_core_totals(f->core).stalls, RECORDS + 1);
    for (unsigned i = 0; i < RECORDS; i++) { /* the dumps come oldest first, and unchanged */
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

/* Steps each 100 ms from `from` to `to`, while the process uses one whole processor. */
static void burn_until(struct fixture *f, uint64_t from, uint64_t to) {
    for (uint64_t t = from; t <= to; t += 100 * MS) {
        f->fake.cpu.process_ns = t;
        rec_core_step(f->core, t);
    }
}

static void a_cpu_stall_is_one_dump_with_the_threads_that_burn(void **state) {
    struct fixture *f = *state;
    f->config.detectors = STALLREC_DETECT_CPU;
    f->config.cpu_limit_permille = 500;
    f->config.check_ms = 1000;
    f->fake.top = 101;
    f->fake.others = 2;
    start(f);
    burn_until(f, 0, 2100 * MS);
    fake_stack(&f->fake, 2, 0x10700, 0x20300); /* the main thread has another stack now */
    burn_until(f, 2200 * MS, 7000 * MS);
    const struct rec_dump *d = rec_core_open(f->core);
    assert_non_null(d);
    assert_string_equal(d->stall.kind, "cpu");
    assert_int_equal(d->stall.at_ms, 1000); /* earlier than config.threads_after_ms */
    assert_int_equal(d->thread_count, 3);
    assert_int_equal(d->threads[2].cpu_permille, 401);
    assert_int_equal(d->threads[2].stack.count, 1);
    assert_int_equal(rec_core_totals(f->core).dumps, 1);
    assert_int_equal(rec_core_totals(f->core).stalls, 1);
    f->fake.top = 100; /* another thread uses the processor, which gives another dump */
    burn_until(f, 7100 * MS, 12000 * MS);
    assert_int_equal(rec_core_totals(f->core).dumps, 2);
}

static void a_late_action_has_the_threads_that_worked_before_its_limit(void **state) {
    struct fixture *f = *state;
    f->config.detectors = STALLREC_DETECT_SPAN;
    f->fake.top = 101;
    f->fake.others = 2;
    start(f);
    assert_true(rec_core_span_begin(f->core, 1, "export", 1500, 0));
    assert_int_equal(rec_core_step(f->core, 0), 1300 * MS);
    run_until(f, 1300 * MS, 1499 * MS);
    assert_int_equal(f->fake.top_calls, 1);
    run_until(f, 1500 * MS, 1501 * MS);
    assert_int_equal(f->fake.top_calls, 2);
    const struct rec_dump *d = rec_core_open(f->core);
    assert_non_null(d);
    assert_string_equal(d->stall.action, "export");
    assert_int_equal(d->thread_count, 3);
    assert_int_equal(d->threads[1].cpu_permille, 400);
}

static void a_hang_says_what_the_loop_did_and_no_shares(void **state) {
    struct fixture *f = *state;
    f->fake.others = 2;
    f->fake.mode = "UITrackingRunLoopMode";
    f->fake.transition_count = 2;
    f->fake.transitions[0] = (struct rec_transition){999999999, REC_WENT_SLEEP};
    f->fake.transitions[1] = (struct rec_transition){1000 * MS, REC_WENT_WAKE};
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 1000 * MS);
    run_until(f, 1000 * MS, 4000 * MS);
    const struct rec_dump *d = rec_core_open(f->core);
    assert_non_null(d);
    assert_string_equal(d->stall.mode, "UITrackingRunLoopMode");
    assert_int_equal(d->stall.state_count, 2);
    assert_int_equal(d->stall.states[0].at_ms, -1);
    assert_int_equal(d->stall.states[1].at_ms, 0);
    assert_int_equal(d->thread_count, 3);
    assert_int_equal(d->threads[1].cpu_permille, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(a_dump_says_what_the_platform_said),
        T(cpu_time_is_that_of_the_stall),
        T(the_median_pause_is_the_lower_of_two),
        T(only_images_of_frames_are_kept_by_load_address),
        T(images_without_room_are_told_to_be_lost),
        T(a_stack_deeper_than_asked_for_is_cut_at_its_outer_end),
        T(other_threads_are_captured_when_the_stall_is_old_enough),
        T(a_stall_that_ends_while_threads_are_captured_keeps_its_wait),
        T(a_wait_that_is_over_stays_unless_somebody_waits_for_main),
        T(each_dump_past_that_age_gets_the_other_threads_once),
        T(one_thread_at_most_is_the_main_thread_alone),
        T(dumps_wait_for_an_idle_loop_and_processor),
        T(one_function_that_is_busy_is_one_bucket),
        T(a_dump_that_cannot_be_written_waits_behind_the_others),
        T(without_memory_a_dump_is_lost_and_said_so),
        T(a_dump_without_memory_leaves_its_time_to_the_one_before),
        T(a_cpu_stall_is_one_dump_with_the_threads_that_burn),
        T(a_late_action_has_the_threads_that_worked_before_its_limit),
        T(a_hang_says_what_the_loop_did_and_no_shares),
#undef T
    };
    return cmocka_run_group_tests_name("core_dumps", tests, NULL, NULL);
}
