/* Tests the Mach calls on threads and memory, with the stand-in. */
#include "darwin/darwin_world_test.h"

#include "darwin/task_darwin.h"

enum { ROOM = 128 * 1024 };

static uint8_t buffer[ROOM];
static const struct task_copier copier = {buffer, ROOM, WORLD_FRAMES};

static bool copy_main(struct task_copy *copy) {
    return task_copy_async(&copier, standin_port(mach_world.main), copy);
}

/* ---- copies ---- */

static void a_copy_has_the_registers_and_the_stack_that_the_chain_needs(void **state) {
    struct task_copy copy;
    (void)state;
    assert_true(copy_main(&copy));
    assert_int_equal(copy.registers.walk.pc, WORLD_APP + WORLD_LEAF);
    assert_int_equal(copy.registers.walk.lr, WORLD_APP + WORLD_CALLER);
    assert_int_equal(copy.registers.walk.sp, WORLD_STACK + 0x100);
    assert_int_equal(copy.stack.lo, WORLD_STACK + 0x100);
    assert_int_equal(copy.stack.hi, WORLD_STACK + 16384); /* the copy ends at the end of the page */
    assert_memory_equal(copy.stack.copy, (const uint8_t *)mach_world.stack + 0x100, 0x100);
    struct standin_counts counts = standin_counts();
    assert_int_equal(counts.calls[STANDIN_SUSPEND], 1);
    assert_int_equal(counts.calls[STANDIN_RESUME], 1);
    assert_int_equal(counts.pieces, 1);
    world_expect_clean();
}

static void a_large_frame_is_copied_in_pieces_that_the_kernel_does_not_share(void **state) {
    struct task_copy copy;
    (void)state;
    world_chain(mach_world.main, WORLD_STACK + 0x100, 40000);
    assert_true(copy_main(&copy));
    assert_true(copy.stack.hi >= WORLD_STACK + 0x110 + 2 * 40000 + 16);
    assert_memory_equal(copy.stack.copy, (const uint8_t *)mach_world.stack + 0x100, 80016);
    world_expect_clean();
}

static void a_stack_larger_than_the_buffer_is_copied_in_part(void **state) {
    struct task_copy copy;
    (void)state;
    world_chain(mach_world.main, WORLD_STACK + 0x100, 100000);
    assert_true(copy_main(&copy));
    assert_true(copy.stack.hi - copy.stack.lo <= ROOM);
    assert_true(copy.stack.hi >= WORLD_STACK + 100000);
    world_expect_clean();
}

static void a_stack_that_cannot_be_read_leaves_the_registers(void **state) {
    struct task_copy copy;
    (void)state;
    standin_unmap(WORLD_STACK);
    assert_true(copy_main(&copy));
    assert_int_equal(copy.registers.walk.pc, WORLD_APP + WORLD_LEAF);
    assert_int_equal(copy.stack.hi, copy.stack.lo);
    world_expect_clean();
}

/* The memory ends within the page, so the page cannot be read. */
static void a_stack_that_ends_within_the_page_is_no_stack(void **state) {
    struct task_copy copy;
    (void)state;
    standin_unmap(WORLD_STACK);
    standin_map(WORLD_STACK, mach_world.stack, 0x200);
    assert_true(copy_main(&copy));
    assert_int_equal(copy.stack.hi, copy.stack.lo);
    world_expect_clean();
}

static void whatever_fails_the_thread_runs_on(void **state) {
    static const enum standin_call calls[] = {STANDIN_GET_STATE, STANDIN_READ, STANDIN_CLOCK,
                                              STANDIN_SUSPEND};
    static const kern_return_t results[] = {KERN_FAILURE, KERN_TERMINATED, KERN_ABORTED,
                                            KERN_INVALID_ARGUMENT, MACH_SEND_INVALID_DEST};
    (void)state;
    world_chain(mach_world.main, WORLD_STACK + 0x100, 40000);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (unsigned nth = 1; nth < 8; nth++) {
            struct task_copy copy;
            unsigned resumed = standin_counts().calls[STANDIN_RESUME];
            standin_fail(calls[i], nth, results[nth % 5]);
            bool got = copy_main(&copy);
            assert_true(calls[i] != STANDIN_SUSPEND || nth > 1 || !got);
            assert_true(calls[i] != STANDIN_GET_STATE || nth > 1 || !got);
            bool suspended = calls[i] != STANDIN_SUSPEND || nth > 1;
            assert_int_equal(standin_counts().calls[STANDIN_RESUME], resumed + suspended);
            standin_fail(calls[i], 0, KERN_SUCCESS);
            world_expect_clean();
        }
    }
}

static void what_is_called_while_a_thread_is_held_was_called_before(void **state) {
    (void)state;
    task_prepare(&copier);
    struct standin_counts counts = standin_counts();
    assert_int_equal(counts.calls[STANDIN_GET_STATE], 1);
    assert_int_equal(counts.calls[STANDIN_READ], 1);
    assert_int_equal(counts.calls[STANDIN_CLOCK], 1);
    assert_int_equal(counts.calls[STANDIN_RESUME], 1);
    assert_int_equal(counts.calls[STANDIN_SUSPEND], 0);
    world_expect_clean();
}

/* ---- what the kernel says about a thread ---- */

static void a_thread_is_described(void **state) {
    struct rec_thread out = {0};
    (void)state;
    mach_world.main->cpu_ns = UINT64_C(3000002000);
    mach_world.main->run_state = TH_STATE_RUNNING;
    assert_true(task_describe_async(standin_port(mach_world.main), &out));
    assert_int_equal(out.id, 259);
    assert_string_equal(out.name, "main");
    assert_int_equal(out.state, REC_STATE_RUNNING);
    assert_int_equal(out.cpu_ns, UINT64_C(3000002000));
}

static void a_name_as_long_as_its_field_is_cut(void **state) {
    static const char name[] = "0123456789012345678901234567890123456789012345678901234567890123+";
    struct rec_thread out;
    (void)state;
    memset(&out, 'x', sizeof out);
    struct standin_thread *t = standin_add(300, name);
    assert_true(task_describe_async(standin_port(t), &out));
    assert_int_equal(strlen(out.name), REC_NAME_MAX - 1);
    assert_memory_equal(out.name, name, REC_NAME_MAX - 1);
}

static void states_are_those_of_the_kernel(void **state) {
    static const struct {
        integer_t run_state;
        enum rec_thread_state expected;
    } cases[] = {
        {TH_STATE_RUNNING, REC_STATE_RUNNING}, {TH_STATE_STOPPED, REC_STATE_STOPPED},
        {TH_STATE_WAITING, REC_STATE_WAITING}, {TH_STATE_UNINTERRUPTIBLE, REC_STATE_BLOCKED},
        {TH_STATE_HALTED, REC_STATE_STOPPED},  {0, REC_STATE_UNKNOWN}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rec_thread out;
        mach_world.main->run_state = cases[i].run_state;
        assert_true(task_describe_async(standin_port(mach_world.main), &out));
        assert_int_equal(out.state, cases[i].expected);
    }
}

static void a_thread_that_is_gone_is_not_described(void **state) {
    struct rec_thread out;
    struct task_usage usage;
    struct task_copy copy;
    thread_t thread = standin_port(mach_world.main);
    (void)state;
    mach_world.main->dead = true;
    assert_false(task_describe_async(thread, &out));
    assert_false(task_usage_async(thread, &usage));
    assert_int_equal(task_thread_id_async(thread), 0);
    assert_true(task_cpu_ns_async(thread) == UINT64_MAX);
    assert_false(task_copy_async(&copier, thread, &copy));
    assert_int_equal(task_wait_async(thread).kind, REC_WAIT_NONE);
    world_expect_clean();
}

/* ---- waits ---- */

static struct rec_wait wait_of_main(void) {
    return task_wait_async(standin_port(mach_world.main));
}

static void the_owner_of_a_lock_is_found_by_its_name(void **state) {
    (void)state;
    struct standin_thread *owner = standin_add(771, "owner");
    world_block(mach_world.main, 1, world_owned_by(owner));
    struct rec_wait wait = wait_of_main();
    assert_int_equal(wait.kind, REC_WAIT_MUTEX);
    assert_int_equal(wait.address, WORLD_LOCKS + 4);
    assert_int_equal(wait.owner, 771);
    world_expect_clean();
}

static void the_thread_that_is_joined_is_found(void **state) {
    (void)state;
    struct standin_thread *joined = standin_add(772, "joined");
    world_block(mach_world.main, 0, standin_port(joined));
    struct rec_wait wait = wait_of_main();
    assert_int_equal(wait.kind, REC_WAIT_THREAD);
    assert_int_equal(wait.address, 0);
    assert_int_equal(wait.owner, 772);
    world_expect_clean();
}

static void the_owner_of_a_pthread_mutex_is_found_by_its_id(void **state) {
    (void)state;
    standin_add(773, "owner");
    world_block(mach_world.main, 0, 0);
    mach_world.main->state.__x[16] = 301;
    mach_world.main->state.__x[0] = WORLD_LOCKS;
    mach_world.main->state.__x[3] = 773;
    struct rec_wait wait = wait_of_main();
    assert_int_equal(wait.kind, REC_WAIT_MUTEX);
    assert_int_equal(wait.address, WORLD_LOCKS);
    assert_int_equal(wait.owner, 773);
    mach_world.main->state.__x[3] = UINT64_MAX; /* the mutex is being handed over */
    assert_int_equal(wait_of_main().owner, -1);
    world_expect_clean();
}

/* The stand-in counts the use of a name that is no thread's. */
static void a_name_that_is_no_thread_of_the_process_is_never_used(void **state) {
    static const uint32_t values[] = {0x7fff02, 0xfffffffe, 0x90002, 0x80002};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        world_block(mach_world.main, 0, values[i]);
        assert_int_equal(wait_of_main().kind, REC_WAIT_MUTEX);
        assert_int_equal(wait_of_main().owner, -1);
    }
    world_expect_clean();
}

static void an_owner_that_is_gone_is_none(void **state) {
    (void)state;
    struct standin_thread *owner = standin_add(771, "owner");
    world_block(mach_world.main, 1, world_owned_by(owner));
    owner->dead = true;
    assert_int_equal(wait_of_main().owner, -1);
    world_expect_clean();
}

static void only_a_thread_that_entered_the_kernel_by_a_call_waits(void **state) {
    (void)state;
    struct standin_thread *owner = standin_add(771, "owner");
    world_block(mach_world.main, 1, world_owned_by(owner));
    mach_world.main->state.__pc = WORLD_APP + WORLD_LEAF; /* as in a page fault */
    assert_int_equal(wait_of_main().kind, REC_WAIT_NONE);
    mach_world.main->state.__pc = WORLD_BLOCKED;
    mach_world.main->run_state = TH_STATE_RUNNING;
    assert_int_equal(wait_of_main().kind, REC_WAIT_NONE);
    mach_world.main->run_state = TH_STATE_UNINTERRUPTIBLE;
    assert_int_equal(wait_of_main().kind, REC_WAIT_NONE);
}

static void run_on(void *arg, unsigned number) {
    mach_world.main->cpu_ns += number == *(unsigned *)arg ? 5000 : 0;
}

static void a_thread_that_ran_meanwhile_waits_for_nothing_known(void **state) {
    unsigned at = 2; /* the thread runs after its CPU time was first read */
    (void)state;
    struct standin_thread *owner = standin_add(771, "owner");
    world_block(mach_world.main, 1, world_owned_by(owner));
    standin_on_call(run_on, &at);
    assert_int_equal(wait_of_main().kind, REC_WAIT_NONE);
    at = 2;
    standin_on_call(NULL, NULL);
    assert_int_equal(wait_of_main().kind, REC_WAIT_MUTEX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_copy_has_the_registers_and_the_stack_that_the_chain_needs),
        WORLD_TEST(a_large_frame_is_copied_in_pieces_that_the_kernel_does_not_share),
        WORLD_TEST(a_stack_larger_than_the_buffer_is_copied_in_part),
        WORLD_TEST(a_stack_that_cannot_be_read_leaves_the_registers),
        WORLD_TEST(a_stack_that_ends_within_the_page_is_no_stack),
        WORLD_TEST(whatever_fails_the_thread_runs_on),
        WORLD_TEST(what_is_called_while_a_thread_is_held_was_called_before),
        WORLD_TEST(a_thread_is_described),
        WORLD_TEST(a_name_as_long_as_its_field_is_cut),
        WORLD_TEST(states_are_those_of_the_kernel),
        WORLD_TEST(a_thread_that_is_gone_is_not_described),
        WORLD_TEST(the_owner_of_a_lock_is_found_by_its_name),
        WORLD_TEST(the_thread_that_is_joined_is_found),
        WORLD_TEST(the_owner_of_a_pthread_mutex_is_found_by_its_id),
        WORLD_TEST(a_name_that_is_no_thread_of_the_process_is_never_used),
        WORLD_TEST(an_owner_that_is_gone_is_none),
        WORLD_TEST(only_a_thread_that_entered_the_kernel_by_a_call_waits),
        WORLD_TEST(a_thread_that_ran_meanwhile_waits_for_nothing_known),
    };
    return cmocka_run_group_tests_name("recorder_task_darwin", tests, NULL, NULL);
}
