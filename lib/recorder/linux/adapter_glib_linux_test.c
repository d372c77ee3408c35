/* Tests the GLib adapter: which events real contexts report to the loop. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#ifdef HAVE_GLIB

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <unistd.h>

#include "loop/fake_loop_test.h"
#include "stallrec_glib.h"
#include "stallrec_poll.h"

static GMainContext *context;

/* The context's poll function before the adapter replaces it, which the adapter then calls. It
 * notes the state of the loop before each wait. */
static struct {
    unsigned waits, turns; /* numbers of calls with a timeout other than 0, and with 0 */
    bool wrong;            /* the loop was busy in a wait, or idle or unchanged in a turn */
    uint64_t last;
} below;

static gint poll_below(GPollFD *fds, guint count, gint timeout) {
    if (timeout != 0) {
        below.waits++;
        below.wrong = below.wrong || fake_busy();
    } else {
        below.turns++;
        below.wrong = below.wrong || !fake_busy() || fake_state() == below.last;
    }
    below.last = fake_state();
    return g_poll(fds, count, timeout);
}

static int setup(void **state) {
    (void)state;
    fake_clear();
    memset(&below, 0, sizeof below);
    context = g_main_context_new();
    g_main_context_set_poll_func(context, poll_below);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    stallrec_detach_glib();
    g_main_context_unref(context);
    return 0;
}

static void attach(void) {
    assert_int_equal(stallrec_attach_glib(FAKE_REC, context), STALLREC_OK);
}

static void add_source(GSource *source, GSourceFunc callback, void *data) {
    g_source_set_callback(source, callback, data, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
}

static gboolean note_busy(gpointer seen) {
    *(int *)seen += fake_busy() ? 1 : 100;
    return G_SOURCE_REMOVE;
}

static gboolean count_down(gpointer count) {
    return --*(int *)count > 0;
}

static void callbacks_are_busy_and_waits_are_idle(void **state) {
    int seen = 0;
    (void)state;
    attach();
    assert_false(fake_busy());
    add_source(g_timeout_source_new(2), note_busy, &seen);
    while (seen == 0) {
        g_main_context_iteration(context, TRUE);
    }
    assert_int_equal(seen, 1);
    assert_true(below.waits > 0);
    assert_false(below.wrong);
    assert_true(fake_busy()); /* the loop stays busy until the next wait */
}

static void idle_handlers_are_turns(void **state) {
    int count = 20;
    (void)state;
    attach();
    add_source(g_idle_source_new(), count_down, &count);
    while (count > 0) {
        g_main_context_iteration(context, TRUE);
    }
    assert_true(below.turns >= 20);
    assert_false(below.wrong);
}

static gboolean run_nested(gpointer seen) {
    int inner = 0;
    uint64_t before = fake_state();
    add_source(g_timeout_source_new(2), note_busy, &inner);
    while (inner == 0) {
        g_main_context_iteration(context, TRUE);
    }
    *(int *)seen += inner == 1 && fake_busy() && fake_state() > before ? 1 : 100;
    return G_SOURCE_REMOVE;
}

static void a_nested_loops_wait_is_idle_and_its_caller_busy(void **state) {
    int seen = 0;
    (void)state;
    attach();
    add_source(g_timeout_source_new(1), run_nested, &seen);
    while (seen == 0) {
        g_main_context_iteration(context, TRUE);
    }
    assert_int_equal(seen, 1);
    assert_true(below.waits >= 2);
    assert_false(below.wrong);
}

static void another_context_in_a_callback_is_part_of_the_turn(void **state) {
    GMainContext *other = g_main_context_new();
    (void)state;
    attach();
    g_main_context_iteration(context, FALSE);
    uint64_t before = fake_state();
    GSource *timeout = g_timeout_source_new(2);
    int seen = 0;
    g_source_set_callback(timeout, note_busy, &seen, NULL);
    g_source_attach(timeout, other);
    g_source_unref(timeout);
    while (seen == 0) {
        g_main_context_iteration(other, TRUE);
    }
    assert_int_equal(fake_state(), before);
    g_main_context_unref(other);
}

static void *iterate_elsewhere(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        g_main_context_iteration(context, FALSE);
    }
    return NULL;
}

static void another_thread_that_runs_the_context_tells_nothing(void **state) {
    pthread_t thread;
    (void)state;
    attach();
    uint64_t before = fake_state();
    assert_int_equal(pthread_create(&thread, NULL, iterate_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(below.turns, 3);
    assert_int_equal(fake_state(), before);
}

static void a_second_context_is_refused(void **state) {
    GMainContext *other = g_main_context_new();
    (void)state;
    attach();
    assert_int_equal(stallrec_attach_glib(FAKE_REC, other), STALLREC_ERR_RUNNING);
    assert_int_equal(stallrec_attach_glib(FAKE_REC, context), STALLREC_ERR_RUNNING);
    stallrec_detach_glib();
    assert_int_equal(stallrec_attach_glib(FAKE_REC, other), STALLREC_OK);
    stallrec_detach_glib();
    g_main_context_unref(other);
}

static void detach_puts_the_poll_function_back_and_leaves_the_loop_idle(void **state) {
    (void)state;
    attach();
    assert_true(g_main_context_get_poll_func(context) != poll_below);
    g_main_context_iteration(context, FALSE);
    assert_true(fake_busy());
    stallrec_detach_glib();
    assert_true(g_main_context_get_poll_func(context) == poll_below);
    assert_false(fake_busy());
    assert_null(fake.post);
    uint64_t before = fake_state();
    below.wrong = false;
    g_main_context_iteration(context, FALSE);
    assert_int_equal(fake_state(), before);
    stallrec_detach_glib(); /* a second detach has no effect */
    attach();
    g_main_context_iteration(context, FALSE);
    assert_true(fake_busy());
}

/* A poll function that the program sets after the adapter's, and that calls it. */
static GPollFunc covered;
static gint poll_above(GPollFD *fds, guint count, gint timeout) {
    return covered(fds, count, timeout);
}

static void detach_leaves_a_poll_function_that_was_set_later(void **state) {
    GMainContext *other = g_main_context_new();
    (void)state;
    attach();
    covered = g_main_context_get_poll_func(context);
    g_main_context_set_poll_func(context, poll_above);
    stallrec_detach_glib();
    assert_true(g_main_context_get_poll_func(context) == poll_above);
    uint64_t before = fake_state();
    g_main_context_iteration(context, FALSE);
    assert_int_equal(below.turns, 1);
    assert_int_equal(fake_state(), before);
    /* The adapter's function is still called for this context, so no other can be attached … */
    assert_int_equal(stallrec_attach_glib(FAKE_REC, other), STALLREC_ERR_RUNNING);
    /* … but this one can, and the function is called once a turn. */
    attach();
    below.wrong = false;
    g_main_context_iteration(context, FALSE);
    assert_int_equal(below.turns, 2);
    assert_true(fake_busy());
    assert_false(below.wrong);
    g_main_context_set_poll_func(context, covered);
    g_main_context_unref(other);
}

static gboolean attach_here(gpointer seen) {
    attach();
    *(int *)seen = fake_busy() ? 1 : 100;
    return G_SOURCE_REMOVE;
}

static gboolean detach_here(gpointer seen) {
    stallrec_detach_glib();
    *(int *)seen = fake_busy() ? 100 : 1;
    return G_SOURCE_REMOVE;
}

static void attach_and_detach_in_callbacks_count_at_once(void **state) {
    int seen = 0, gone = 0;
    (void)state;
    add_source(g_idle_source_new(), attach_here, &seen);
    g_main_context_iteration(context, TRUE);
    assert_int_equal(seen, 1);
    add_source(g_idle_source_new(), detach_here, &gone);
    g_main_context_iteration(context, TRUE);
    assert_int_equal(gone, 1);
    assert_false(fake_busy());
}

static void *post_soon(void *unused) {
    (void)unused;
    usleep(5000);
    fake.post(fake.ctx, 42);
    return NULL;
}

static void a_ping_wakes_the_loop_and_is_answered_there(void **state) {
    pthread_t thread;
    (void)state;
    attach();
    assert_int_equal(pthread_create(&thread, NULL, post_soon, NULL), 0);
    while (fake.answers == 0) {
        g_main_context_iteration(context, TRUE);
    }
    pthread_join(thread, NULL);
    assert_int_equal(fake.answered, 42);
    assert_false(g_main_context_iteration(context, FALSE)); /* no more is dispatched */
    assert_int_equal(fake.answers, 1);
}

static void without_a_recorder_nothing_is_attached(void **state) {
    (void)state;
    assert_int_equal(stallrec_attach_glib(NULL, context), STALLREC_OK);
    assert_true(g_main_context_get_poll_func(context) == poll_below);
}

static void a_failed_attach_changes_nothing(void **state) {
    int fd = -1;
    (void)state;
    assert_int_equal(stallrec_attach_ping_fd(FAKE_REC, &fd), STALLREC_OK);
    assert_int_equal(stallrec_attach_glib(FAKE_REC, context), STALLREC_ERR_RUNNING);
    assert_true(g_main_context_get_poll_func(context) == poll_below);
    stallrec_detach_ping_fd();
    attach();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(callbacks_are_busy_and_waits_are_idle, setup, teardown),
        cmocka_unit_test_setup_teardown(idle_handlers_are_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(a_nested_loops_wait_is_idle_and_its_caller_busy, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(another_context_in_a_callback_is_part_of_the_turn, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(another_thread_that_runs_the_context_tells_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_second_context_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(detach_puts_the_poll_function_back_and_leaves_the_loop_idle,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(detach_leaves_a_poll_function_that_was_set_later, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(attach_and_detach_in_callbacks_count_at_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_ping_wakes_the_loop_and_is_answered_there, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_a_recorder_nothing_is_attached, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_attach_changes_nothing, setup, teardown),
    };
    return cmocka_run_group_tests_name("recorder_adapter_glib", tests, NULL, NULL);
}

#else

static void needs_glib(void **state) {
    (void)state;
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(needs_glib)};
    return cmocka_run_group_tests_name("recorder_adapter_glib", tests, NULL, NULL);
}

#endif
