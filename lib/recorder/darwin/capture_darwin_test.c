/* Tests samples and captures of all threads on the stand-in for Mach: what they report, and that
 * they give back what they took. */
#include "darwin/darwin_world_test.h"

#include "darwin/capture_darwin.h"
#include "darwin/threads_darwin.h"

enum { TOLD_MAX = 40 };

struct stack {
    uint64_t frames[WORLD_FRAMES], starts[WORLD_FRAMES];
};

static struct {
    struct capture_darwin *capture;
    struct rec_capture table;
    struct stallrec_loop loop;
    struct standin_thread *monitor;
    struct stack stack, stacks[TOLD_MAX];
    struct rec_thread told[TOLD_MAX];
} test;

static int setup(void **state) {
    if (world_setup(state) != 0 ||
        capture_darwin_new(&test.capture, WORLD_FRAMES, &test.loop) != STALLREC_OK) {
        return 1;
    }
    test.table = capture_darwin_table(test.capture);
    test.monitor = standin_add(99999, "stallrec");
    standin_be(test.monitor); /* the test acts as the monitor from here on */
    return 0;
}

static int teardown(void **state) {
    capture_darwin_free(test.capture);
    struct standin_counts counts = standin_counts();
    world_teardown(state);
    return counts.rights != 0 || counts.lists != 0 || counts.suspended != 0 ||
           counts.forbidden != 0;
}

/* Checks that between calls the capture holds the watched thread's port right, and nothing else. */
static void expect_own_right_only(void) {
    struct standin_counts counts = standin_counts();
    assert_int_equal(counts.rights, 1);
    assert_int_equal(mach_world.main->rights, 1);
    assert_int_equal(counts.lists, 0);
    assert_int_equal(counts.suspended, 0);
    assert_int_equal(counts.forbidden, 0);
}

static enum rec_sample sample(bool may_repeat, struct rec_stack *out) {
    *out = (struct rec_stack){
        .frames = test.stack.frames, .starts = test.stack.starts, .cap = WORLD_FRAMES};
    return test.table.sample(test.table.ctx, may_repeat, out);
}

static uint32_t capture_all(uint32_t max, uint32_t *left_out) {
    for (uint32_t i = 0; i < TOLD_MAX; i++) {
        test.told[i].stack = (struct rec_stack){
            .frames = test.stacks[i].frames, .starts = test.stacks[i].starts, .cap = WORLD_FRAMES};
    }
    return test.table.threads(test.table.ctx, test.told, max, left_out);
}

/* ---- samples ---- */

static void a_sample_is_the_stack_with_its_functions(void **state) {
    static const uint64_t expected[] = {WORLD_LEAF, WORLD_CALLER, WORLD_OUTER, WORLD_OUTERMOST};
    static const uint64_t starts[] = {0x4198, 0x40b0, 0x41cc, 0x4278};
    struct rec_stack out;
    (void)state;
    mach_world.main->run_state = TH_STATE_RUNNING;
    assert_int_equal(sample(true, &out), REC_SAMPLE_OK);
    assert_int_equal(out.count, 4);
    assert_false(out.incomplete);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(out.frames[i], WORLD_APP + expected[i]);
        assert_int_equal(out.starts[i], WORLD_APP + starts[i]);
    }
    assert_int_equal(capture_darwin_counts(test.capture).signalled, 1);
    expect_own_right_only();
}

static void a_thread_that_has_not_run_is_not_held_again(void **state) {
    struct rec_stack out;
    (void)state;
    assert_int_equal(sample(true, &out), REC_SAMPLE_OK);
    assert_int_equal(out.pause_ns, 0);
    assert_int_equal(sample(true, &out), REC_SAMPLE_SAME);
    assert_int_equal(sample(false, &out), REC_SAMPLE_OK);
    assert_int_equal(standin_counts().calls[STANDIN_SUSPEND], 2);
    mach_world.main->cpu_ns += 5000;
    assert_int_equal(sample(true, &out), REC_SAMPLE_OK);
    struct capture_counts counts = capture_darwin_counts(test.capture);
    assert_int_equal(counts.blocked, 3);
    assert_int_equal(counts.reused, 1);
    assert_int_equal(counts.signalled + counts.unavailable, 0);
}

static void a_thread_that_runs_is_never_the_same(void **state) {
    struct rec_stack out;
    (void)state;
    mach_world.main->run_state = TH_STATE_RUNNING;
    assert_int_equal(sample(true, &out), REC_SAMPLE_OK);
    assert_int_equal(sample(true, &out), REC_SAMPLE_OK);
    mach_world.main->run_state = TH_STATE_WAITING;
    assert_int_equal(sample(true, &out), REC_SAMPLE_OK); /* the thread may be in another wait now */
    assert_int_equal(sample(true, &out), REC_SAMPLE_SAME);
}

static void what_fails_costs_the_sample_and_nothing_else(void **state) {
    static const enum standin_call calls[] = {STANDIN_INFO, STANDIN_SUSPEND, STANDIN_GET_STATE,
                                              STANDIN_READ};
    struct rec_stack out;
    (void)state;
    mach_world.main->run_state = TH_STATE_RUNNING;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (unsigned nth = 1; nth < 40; nth++) {
            standin_fail(calls[i], nth, KERN_FAILURE);
            enum rec_sample got = sample(true, &out);
            assert_true(got == REC_SAMPLE_NONE || out.count > 0);
            standin_fail(calls[i], 0, KERN_SUCCESS);
            expect_own_right_only();
        }
    }
    assert_int_equal(sample(true, &out), REC_SAMPLE_OK);
    assert_int_equal(out.count, 4);
}

static void a_thousand_samples_keep_no_right(void **state) {
    struct rec_stack out;
    (void)state;
    mach_world.main->run_state = TH_STATE_RUNNING;
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(sample(true, &out), REC_SAMPLE_OK);
    }
    expect_own_right_only();
}

/* ---- all threads ---- */

static struct standin_thread *add_worker(uint64_t id, unsigned place) {
    struct standin_thread *t = standin_add(id, "worker");
    assert_non_null(t);
    world_chain(t, WORLD_STACK + 0x1000 + place * 0x400, 64);
    return t;
}

static void all_threads_but_the_watched_one_and_the_monitor_are_told(void **state) {
    uint32_t left_out;
    (void)state;
    add_worker(900, 1); /* threads are reported by rising id, in whichever order they are listed */
    struct standin_thread *owner = add_worker(771, 2);
    struct standin_thread *waiter = add_worker(772, 3);
    world_block(waiter, 2, world_owned_by(owner));
    assert_int_equal(capture_all(TOLD_MAX, &left_out), 3);
    assert_int_equal(left_out, 0);
    assert_int_equal(test.told[0].id, 771);
    assert_int_equal(test.told[1].id, 772);
    assert_int_equal(test.told[2].id, 900);
    assert_int_equal(test.told[0].stack.count, 4);
    assert_int_equal(test.told[0].waits_for.kind, REC_WAIT_NONE);
    assert_int_equal(test.told[1].waits_for.kind, REC_WAIT_MUTEX);
    assert_int_equal(test.told[1].waits_for.owner, 771);
    assert_string_equal(test.told[2].name, "worker");
    expect_own_right_only();
}

static void the_chain_of_owners_is_told_before_the_oldest(void **state) {
    struct standin_thread *workers[20];
    uint32_t left_out;
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        workers[i] = add_worker(1000 + i, i);
    }
    /* The main thread waits for thread 1018, that for 1015, and that for 1018. */
    world_block(mach_world.main, 0, world_owned_by(workers[18]));
    world_block(workers[18], 1, world_owned_by(workers[15]));
    world_block(workers[15], 2, world_owned_by(workers[18]));
    assert_int_equal(capture_all(4, &left_out), 4);
    assert_int_equal(left_out, 16);
    assert_int_equal(test.told[0].id, 1000);
    assert_int_equal(test.told[1].id, 1001);
    assert_int_equal(test.told[2].id, 1015);
    assert_int_equal(test.told[3].id, 1018);
    assert_int_equal(test.told[2].waits_for.owner, 1018);
    assert_int_equal(test.told[3].waits_for.owner, 1015);
    assert_int_equal(capture_all(1, &left_out), 1);
    assert_int_equal(test.told[0].id, 1018);
    assert_int_equal(capture_all(0, &left_out), 0);
    assert_int_equal(left_out, 20);
    expect_own_right_only();
}

static void more_threads_than_can_be_told_are_counted(void **state) {
    uint32_t left_out;
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        add_worker(1000 + i, 0);
    }
    assert_int_equal(capture_all(TOLD_MAX, &left_out), TOLD_MAX);
    assert_int_equal(left_out, 300 - TOLD_MAX);
    expect_own_right_only();
}

struct death {
    struct standin_thread *who;
    unsigned at;
};

static void die(void *arg, unsigned number) {
    struct death *d = arg;
    d->who->dead = d->who->dead || number == d->at;
}

/* The thread ends at each call of the capture in turn, until the capture has fewer calls than
 * that. */
static void a_thread_that_ends_at_any_call_leaves_nothing_behind(void **state) {
    unsigned at = 1;
    (void)state;
    struct standin_thread *workers[4];
    for (unsigned i = 0; i < 4; i++) {
        workers[i] = add_worker(1000 + i, i);
    }
    world_block(workers[0], 0, world_owned_by(workers[1]));
    for (bool reached = true; reached; at++) {
        for (unsigned who = 0; who < 4; who++) {
            struct death d = {workers[who], at};
            uint32_t left_out;
            standin_on_call(die, &d);
            uint32_t told = capture_all(TOLD_MAX, &left_out);
            standin_on_call(NULL, NULL);
            assert_in_range(told, 3, 4);
            expect_own_right_only();
            reached = workers[who]->dead;
            workers[who]->dead = false;
        }
        assert_true(at < 10000);
    }
    assert_true(at > 50);
}

static void the_watched_thread_may_end_before_the_recorder(void **state) {
    struct rec_stack out;
    struct rec_thread thread;
    uint32_t left_out;
    (void)state;
    mach_world.main->dead = true;
    assert_int_equal(sample(true, &out), REC_SAMPLE_NONE);
    assert_false(test.table.main_thread(test.table.ctx, &thread));
    assert_int_equal(capture_all(TOLD_MAX, &left_out), 0);
    assert_int_equal(capture_darwin_counts(test.capture).unavailable, 1);
}

static void without_a_list_no_thread_is_told(void **state) {
    uint32_t left_out = 7;
    (void)state;
    add_worker(1000, 0);
    standin_fail(STANDIN_THREADS, 1, KERN_RESOURCE_SHORTAGE);
    assert_int_equal(capture_all(TOLD_MAX, &left_out), 0);
    assert_int_equal(left_out, 0);
    expect_own_right_only();
}

static void the_thread_that_used_most_is_named(void **state) {
    struct rec_thread top;
    (void)state;
    struct standin_thread *busy = add_worker(1001, 1);
    busy->cpu_ns = 500000;
    assert_false(test.table.top_thread(test.table.ctx, &top)); /* the first call only reads the
                                                                  times */
    mach_world.main->cpu_ns += 1000000;
    busy->cpu_ns += 3000000;
    test.monitor->cpu_ns += 9000000;
    assert_true(test.table.top_thread(test.table.ctx, &top));
    assert_int_equal(top.id, 1001);
    assert_false(top.main);
    assert_false(test.table.top_thread(test.table.ctx, &top)); /* no thread has used any time
                                                                  since */
    mach_world.main->cpu_ns += 1000000;
    assert_true(test.table.top_thread(test.table.ctx, &top));
    assert_true(top.main);
    expect_own_right_only();
}

static void the_watched_thread_is_told_with_what_it_waits_for(void **state) {
    struct rec_thread thread = {0};
    (void)state;
    struct standin_thread *owner = add_worker(771, 1);
    world_block(mach_world.main, 3, world_owned_by(owner));
    assert_true(test.table.main_thread(test.table.ctx, &thread));
    assert_int_equal(thread.id, 259);
    assert_true(thread.main);
    assert_int_equal(thread.state, REC_STATE_WAITING);
    assert_int_equal(thread.waits_for.owner, 771);
    expect_own_right_only();
}

/* ---- start ---- */

/* dyld binds a function at its first call, under a lock that a suspended thread may hold, so each
 * function must be called before. */
static void what_a_sample_calls_was_called_at_the_start(void **state) {
    struct standin_counts start = standin_counts(), then;
    struct rec_stack out;
    (void)state;
    mach_world.main->run_state = TH_STATE_RUNNING;
    assert_int_equal(start.calls[STANDIN_SUSPEND], 0);
    assert_int_equal(sample(true, &out), REC_SAMPLE_OK);
    then = standin_counts();
    for (unsigned call = 0; call <= STANDIN_CLOCK; call++) { /* these calls may be made while a
                                                                thread is suspended */
        bool called = then.calls[call] > start.calls[call];
        bool first = start.calls[call] == 0 && call != STANDIN_SUSPEND && call != STANDIN_INFO;
        assert_false(called && first);
    }
}

static void build(void *arg, bool refused) {
    struct stallrec_loop loop = {0};
    struct capture_darwin *capture = NULL;
    (void)arg;
    enum stallrec_error st = capture_darwin_new(&capture, WORLD_FRAMES, &loop);
    assert_true(st == STALLREC_OK || (refused && st == STALLREC_ERR_MEMORY));
    if (st == STALLREC_OK) {
        capture_darwin_free(capture);
    }
}

static void a_start_that_fails_gives_back_what_it_took(void **state) {
    (void)state;
    capture_darwin_free(NULL);
    if (failmalloc_works()) {
        assert_true(failmalloc_sweep(build, NULL) >= 2);
    }
    world_expect_clean();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_sample_is_the_stack_with_its_functions),
        TEST(a_thread_that_has_not_run_is_not_held_again),
        TEST(a_thread_that_runs_is_never_the_same),
        TEST(what_fails_costs_the_sample_and_nothing_else),
        TEST(a_thousand_samples_keep_no_right),
        TEST(all_threads_but_the_watched_one_and_the_monitor_are_told),
        TEST(the_chain_of_owners_is_told_before_the_oldest),
        TEST(more_threads_than_can_be_told_are_counted),
        TEST(a_thread_that_ends_at_any_call_leaves_nothing_behind),
        TEST(the_watched_thread_may_end_before_the_recorder),
        TEST(without_a_list_no_thread_is_told),
        TEST(the_thread_that_used_most_is_named),
        TEST(the_watched_thread_is_told_with_what_it_waits_for),
        TEST(what_a_sample_calls_was_called_at_the_start),
        WORLD_TEST(a_start_that_fails_gives_back_what_it_took),
    };
    return cmocka_run_group_tests_name("recorder_capture_darwin", tests, NULL, NULL);
}
