/* Tests the CFRunLoop adapter: the events that it reports in each part of a run. On systems other
 * than Darwin the run loop is the stand-in of testdata/corefoundation, whose order is checked
 * first. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <CoreFoundation/CoreFoundation.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "loop/fake_loop_test.h"
#include "stallrec_cfrunloop.h"

static CFRunLoopRef run_loop;
static CFRunLoopTimerRef keep_alive; /* a timer that never fires, as a mode without timers and
                                        sources does not run */

static CFRunLoopTimerRef add_timer(double in_s, CFRunLoopTimerCallBack callback, void *info,
                                   CFRunLoopMode mode) {
    CFRunLoopTimerContext context = {.info = info};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(
        kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + in_s, 0, 0, 0, callback, &context);
    CFRunLoopAddTimer(run_loop, timer, mode);
    return timer;
}

/* The observers and timers that a test has made, which its teardown removes. */
enum { MADE_MAX = 16 };
static CFRunLoopObserverRef observers[MADE_MAX];
static CFRunLoopTimerRef timers[MADE_MAX];
static size_t made_observers, made_timers;

static void observe(CFIndex order, CFRunLoopObserverCallBack callback, void *info) {
    CFRunLoopObserverContext context = {.info = info};
    CFRunLoopObserverRef observer = CFRunLoopObserverCreate(
        kCFAllocatorDefault, kCFRunLoopAllActivities, true, order, callback, &context);
    CFRunLoopAddObserver(run_loop, observer, kCFRunLoopCommonModes);
    observers[made_observers++] = observer;
}

static void after(double in_s, CFRunLoopTimerCallBack callback, void *info, CFRunLoopMode mode) {
    timers[made_timers++] = add_timer(in_s, callback, info, mode);
}

static void nothing(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
}

static int setup(void **state) {
    (void)state;
    fake_clear();
    run_loop = CFRunLoopGetCurrent();
    made_observers = made_timers = 0;
    keep_alive = add_timer(3600, nothing, NULL, kCFRunLoopCommonModes);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    stallrec_detach_cfrunloop();
    for (size_t i = 0; i < made_observers; i++) {
        CFRunLoopObserverInvalidate(observers[i]);
        CFRelease(observers[i]);
    }
    for (size_t i = 0; i < made_timers; i++) {
        CFRunLoopTimerInvalidate(timers[i]);
        CFRelease(timers[i]);
    }
    CFRunLoopTimerInvalidate(keep_alive);
    CFRelease(keep_alive);
    return 0;
}

static void attach(void) {
    assert_int_equal(stallrec_attach_cfrunloop(FAKE_REC, 0), STALLREC_OK);
}

static CFRunLoopRunResult run_for(double seconds) {
    return CFRunLoopRunInMode(kCFRunLoopDefaultMode, seconds, false);
}

/* ---- the order of a run ---- */

/* The activities and callbacks of a run in their order, with a letter for each. */
static char letters[256];

static char letter_of(CFRunLoopActivity activity) {
    switch (activity) {
    case kCFRunLoopEntry:
        return 'E';
    case kCFRunLoopBeforeTimers:
        return 'T';
    case kCFRunLoopBeforeSources:
        return 'S';
    case kCFRunLoopBeforeWaiting:
        return 'W';
    case kCFRunLoopAfterWaiting:
        return 'A';
    default:
        return 'X';
    }
}

static void put(char letter) {
    size_t size = strlen(letters);
    if (size + 1 < sizeof letters) {
        letters[size] = letter;
        letters[size + 1] = '\0';
    }
}

static void put_activity(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)observer, (void)info;
    put(letter_of(activity));
}

static void put_info(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)observer;
    if (activity == kCFRunLoopEntry) {
        put(*(const char *)info);
    }
}

static void put_t(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    put('t');
}

static void put_s(void *info) {
    (void)info;
    put('s');
}

static void a_run_has_the_documented_order(void **state) {
    CFRunLoopSourceContext context = {.perform = put_s};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
    (void)state;
    letters[0] = '\0';
    observe(0, put_activity, NULL);
    CFRunLoopAddSource(run_loop, source, kCFRunLoopDefaultMode);
    CFRunLoopSourceSignal(source);
    assert_int_equal(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, true),
                     kCFRunLoopRunHandledSource);
    assert_string_equal(letters, "ETSsX");
    letters[0] = '\0';
    after(0.001, put_t, NULL, kCFRunLoopDefaultMode);
    assert_int_equal(run_for(0.2), kCFRunLoopRunTimedOut);
    assert_memory_equal(letters, "ETSWAt", 6);
    assert_int_equal(letters[strlen(letters) - 1], 'X');
    letters[0] = '\0';
    assert_int_equal(run_for(0), kCFRunLoopRunTimedOut);
    assert_string_equal(letters, "ETSX");
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
}

static void observers_are_called_in_their_order(void **state) {
    (void)state;
    letters[0] = '\0';
    observe(LONG_MAX, put_info, "3");
    observe(LONG_MIN, put_info, "1");
    observe(0, put_info, "2");
    run_for(0);
    assert_string_equal(letters, "123");
}

static void stop(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static void a_run_that_returns_after_a_source_performs_one(void **state) {
    CFRunLoopSourceContext context = {.perform = put_s};
    CFRunLoopSourceRef sources[2];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        sources[i] = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
        CFRunLoopAddSource(run_loop, sources[i], kCFRunLoopDefaultMode);
        CFRunLoopSourceSignal(sources[i]);
    }
    letters[0] = '\0';
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, true);
    assert_string_equal(letters, "s");
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, true);
    assert_string_equal(letters, "ss");
    for (size_t i = 0; i < 2; i++) {
        CFRunLoopSourceInvalidate(sources[i]);
        CFRelease(sources[i]);
    }
}

static void stop_and_run_nested(CFRunLoopTimerRef timer, void *result) {
    (void)timer;
    CFRunLoopStop(run_loop);
    *(CFRunLoopRunResult *)result = run_for(0.002);
}

static void a_stop_is_for_the_run_that_was_innermost_then(void **state) {
    CFRunLoopRunResult nested = 0;
    (void)state;
    after(0.001, stop_and_run_nested, &nested, kCFRunLoopDefaultMode);
    assert_int_equal(run_for(100), kCFRunLoopRunStopped);
    assert_int_equal(nested, kCFRunLoopRunTimedOut);
}

static void a_run_ends_when_stopped_or_without_anything_to_wait_for(void **state) {
    (void)state;
    after(0.001, stop, NULL, kCFRunLoopDefaultMode);
    assert_int_equal(run_for(100), kCFRunLoopRunStopped);
    assert_int_equal(CFRunLoopRunInMode(CFSTR("empty"), 100, false), kCFRunLoopRunFinished);
}

/* ---- the events that are reported to the loop ---- */

struct seen {
    unsigned calls;
    bool wrong;
};

static void expect_busy(CFRunLoopTimerRef timer, void *info) {
    struct seen *seen = info;
    (void)timer;
    seen->calls++;
    seen->wrong = seen->wrong || !fake_busy();
}

static void timers_are_busy(void **state) {
    struct seen seen = {0};
    (void)state;
    attach();
    assert_false(fake_busy());
    after(0.001, expect_busy, &seen, kCFRunLoopDefaultMode);
    run_for(0.1);
    assert_int_equal(seen.calls, 1);
    assert_false(seen.wrong);
}

static void perform_busy(void *info) {
    expect_busy(NULL, info);
}

static void sources_are_busy(void **state) {
    struct seen seen = {0};
    CFRunLoopSourceContext context = {.info = &seen, .perform = perform_busy};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
    (void)state;
    attach();
    CFRunLoopAddSource(run_loop, source, kCFRunLoopDefaultMode);
    CFRunLoopSourceSignal(source);
    run_for(0);
    assert_int_equal(seen.calls, 1);
    assert_false(seen.wrong);
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
}

/* The work of observers, such as Core Animation's commit, counts as the loop's. */
static void observer_busy(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    struct seen *seen = info;
    (void)observer;
    if (activity != kCFRunLoopEntry) {
        seen->calls++;
        seen->wrong = seen->wrong || !fake_busy();
    }
}

static void observers_of_any_order_are_busy(void **state) {
    struct seen seen = {0};
    (void)state;
    attach();
    observe(LONG_MIN + 1, observer_busy, &seen);
    observe(0, observer_busy, &seen);
    observe(LONG_MAX - 1, observer_busy, &seen);
    run_for(0.005);
    assert_true(seen.calls >= 15); /* the activities T, S, W, A and X of three observers */
    assert_false(seen.wrong);
}

static void *look_while_waiting(void *idle) {
    for (int i = 0; i < 5000 && !CFRunLoopIsWaiting(run_loop); i++) {
        usleep(1000);
    }
    *(bool *)idle = !fake_busy();
    CFRunLoopStop(run_loop);
    return NULL;
}

static void the_wait_is_idle(void **state) {
    pthread_t thread;
    bool idle = false;
    (void)state;
    attach();
    assert_int_equal(pthread_create(&thread, NULL, look_while_waiting, &idle), 0);
    run_for(100);
    pthread_join(thread, NULL);
    assert_true(idle);
}

static void after_the_outermost_exit_the_loop_is_idle(void **state) {
    (void)state;
    attach();
    run_for(0);
    assert_false(fake_busy());
}

/* Compares the loop's activity with that for which an observer of the app is called. */
static void compare_activity(CFRunLoopObserverRef observer, CFRunLoopActivity activity,
                             void *info) {
    static const struct {
        CFRunLoopActivity cf;
        enum stallrec_activity ours;
    } same[] = {{kCFRunLoopEntry, STALLREC_ACTIVITY_ENTRY},
                {kCFRunLoopBeforeTimers, STALLREC_ACTIVITY_BEFORE_TIMERS},
                {kCFRunLoopBeforeSources, STALLREC_ACTIVITY_BEFORE_SOURCES},
                {kCFRunLoopBeforeWaiting, STALLREC_ACTIVITY_BEFORE_WAITING},
                {kCFRunLoopAfterWaiting, STALLREC_ACTIVITY_AFTER_WAITING},
                {kCFRunLoopExit, STALLREC_ACTIVITY_EXIT}};
    struct seen *seen = info;
    (void)observer;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (same[i].cf == activity) {
            seen->calls |= 1u << i;
            seen->wrong = seen->wrong || fake.loop.activity_ != same[i].ours;
        }
    }
}

static void each_activity_is_told(void **state) {
    struct seen seen = {0};
    (void)state;
    attach();
    observe(0, compare_activity, &seen);
    run_for(0.005);
    assert_int_equal(seen.calls, 0x3f);
    assert_false(seen.wrong);
}

/* A source that signals itself again when it is performed the first and the second time. */
static struct {
    CFRunLoopSourceRef source;
    unsigned performed;
    uint64_t states[2];
} again;

static void perform_again(void *info) {
    (void)info;
    if (again.performed < 2) {
        again.states[again.performed++] = fake_state();
        CFRunLoopSourceSignal(again.source);
    }
}

/* An iteration that does not wait is not a turn, because the clocks of the published systems
 * continue during it. */
static void an_iteration_without_a_wait_is_no_turn(void **state) {
    CFRunLoopSourceContext context = {.perform = perform_again};
    (void)state;
    attach();
    again.performed = 0;
    again.source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
    CFRunLoopAddSource(run_loop, again.source, kCFRunLoopDefaultMode);
    CFRunLoopSourceSignal(again.source);
    run_for(0.02);
    CFRunLoopSourceInvalidate(again.source);
    CFRelease(again.source);
    assert_int_equal(again.performed, 2);
    assert_true((again.states[0] & 1) != 0);
    assert_int_equal(again.states[0], again.states[1]);
}

/* ---- nested runs, modes ---- */

struct nested {
    CFRunLoopMode mode;
    /* busy_after: the loop is busy after the nested run, still in the callback that ran it;
     * later: this busy stretch is not the one before the nested run. */
    bool busy_after, later;
    struct seen inside;
};

static void run_nested(CFRunLoopTimerRef timer, void *info) {
    struct nested *nested = info;
    uint64_t before = fake_state();
    (void)timer;
    after(0.002, expect_busy, &nested->inside, nested->mode);
    CFRunLoopRunInMode(nested->mode, 0.02, false);
    nested->busy_after = fake_busy();
    nested->later = fake_state() > before;
}

static void the_end_of_a_nested_run_is_a_turn(void **state) {
    struct nested nested = {.mode = kCFRunLoopDefaultMode};
    (void)state;
    attach();
    after(0.001, run_nested, &nested, kCFRunLoopDefaultMode);
    run_for(0.1);
    assert_int_equal(nested.inside.calls, 1);
    assert_false(nested.inside.wrong);
    assert_true(nested.busy_after);
    assert_true(nested.later);
    assert_false(fake_busy());
}

static void a_common_mode_is_watched(void **state) {
    struct nested nested = {.mode = CFSTR("tracking")};
    (void)state;
    CFRunLoopAddCommonMode(run_loop, nested.mode);
    attach();
    after(0.001, run_nested, &nested, kCFRunLoopDefaultMode);
    run_for(0.1);
    assert_int_equal(nested.inside.calls, 1);
    assert_true(nested.later);
}

/* The modes that were reported to the loop before, in and after a nested run. */
static const char *told_modes[3];

static void note_modes(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    told_modes[1] = stallrec_main_loop(NULL)->mode_;
}

static void run_and_note_modes(CFRunLoopTimerRef timer, void *info) {
    (void)timer;
    CFStringRef mode = info;
    told_modes[0] = stallrec_main_loop(NULL)->mode_;
    after(0.002, note_modes, NULL, mode);
    CFRunLoopRunInMode(mode, 0.02, false);
}

static void note_last_mode(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    told_modes[2] = stallrec_main_loop(NULL)->mode_;
}

static void the_mode_that_runs_is_told(void **state) {
    (void)state;
    CFStringRef tracking = CFSTR("UITrackingRunLoopMode");
    CFRunLoopAddCommonMode(run_loop, tracking);
    attach();
    after(0.001, run_and_note_modes, (void *)(uintptr_t)tracking, kCFRunLoopDefaultMode);
    after(0.05, note_last_mode, NULL, kCFRunLoopDefaultMode);
    run_for(0.1);
    assert_string_equal(told_modes[0], "kCFRunLoopDefaultMode");
    assert_string_equal(told_modes[1], "UITrackingRunLoopMode");
    assert_ptr_equal(told_modes[2], told_modes[0]);
}

static void the_mode_of_the_launch_is_watched(void **state) {
    struct nested nested = {.mode = CFSTR("UIInitializationRunLoopMode")};
    (void)state;
    attach();
    after(0.001, run_nested, &nested, kCFRunLoopDefaultMode);
    run_for(0.1);
    assert_true(nested.later);
}

static void a_private_mode_is_part_of_the_callback_that_runs_it(void **state) {
    struct nested nested = {.mode = CFSTR("private")};
    (void)state;
    attach();
    after(0.001, run_nested, &nested, kCFRunLoopDefaultMode);
    run_for(0.1);
    assert_int_equal(nested.inside.calls, 1);
    assert_false(nested.inside.wrong);
    assert_true(nested.busy_after);
    assert_false(nested.later);
}

/* ---- attach and detach ---- */

static void attach_then_nest(CFRunLoopTimerRef timer, void *info) {
    struct seen *seen = info;
    attach();
    expect_busy(timer, seen);
    run_for(0.01);
    expect_busy(timer, seen);
}

static void an_attach_in_a_callback_counts_at_once(void **state) {
    struct seen seen = {0};
    (void)state;
    after(0.001, attach_then_nest, &seen, kCFRunLoopDefaultMode);
    run_for(0.1);
    assert_int_equal(seen.calls, 2);
    assert_false(seen.wrong);
    assert_false(fake_busy());
}

static void detach_here(CFRunLoopTimerRef timer, void *info) {
    struct seen *seen = info;
    (void)timer;
    stallrec_detach_cfrunloop();
    seen->calls++;
    seen->wrong = fake_busy();
}

static void a_detach_in_a_callback_leaves_the_loop_idle_and_alone(void **state) {
    struct seen seen = {0}, not_told = {0};
    (void)state;
    attach();
    after(0.001, detach_here, &seen, kCFRunLoopDefaultMode);
    after(0.010, expect_busy, &not_told, kCFRunLoopDefaultMode);
    run_for(0.1);
    assert_int_equal(seen.calls, 1);
    assert_false(seen.wrong);
    assert_int_equal(not_told.calls, 1);
    assert_true(not_told.wrong);
    assert_null(fake.post);
    stallrec_detach_cfrunloop(); /* a second detach has no effect */
    not_told = (struct seen){0};
    attach();
    after(0.001, expect_busy, &not_told, kCFRunLoopDefaultMode);
    run_for(0.05);
    assert_false(not_told.wrong);
}

static void a_second_attach_is_refused(void **state) {
    (void)state;
    attach();
    assert_int_equal(stallrec_attach_cfrunloop(FAKE_REC, 0), STALLREC_ERR_RUNNING);
}

static void without_a_recorder_nothing_is_attached(void **state) {
    struct seen seen = {0};
    (void)state;
    assert_int_equal(stallrec_attach_cfrunloop(NULL, 0), STALLREC_OK);
    after(0.001, expect_busy, &seen, kCFRunLoopDefaultMode);
    run_for(0.05);
    assert_true(seen.wrong);
}

#ifndef __APPLE__
static void an_app_extension_is_refused_unless_asked_for(void **state) {
    (void)state;
    standin_set_info(CFSTR("NSExtension"), CFSTR("a dictionary"));
    enum stallrec_error refused = stallrec_attach_cfrunloop(FAKE_REC, 0);
    enum stallrec_error asked =
        stallrec_attach_cfrunloop(FAKE_REC, STALLREC_CFRUNLOOP_IN_EXTENSION);
    standin_set_info(NULL, NULL);
    assert_int_equal(refused, STALLREC_ERR_UNSUPPORTED);
    assert_int_equal(asked, STALLREC_OK);
}
#endif

/* ---- pings ---- */

static void *post_while_waiting(void *posted) {
    for (int i = 0; i < 5000 && !CFRunLoopIsWaiting(run_loop); i++) {
        usleep(1000);
    }
    *(int *)posted = fake.post(fake.ctx, 42);
    return NULL;
}

static void a_ping_wakes_the_loop_and_is_answered_there(void **state) {
    pthread_t thread;
    int posted = 0;
    (void)state;
    attach();
    assert_int_equal(pthread_create(&thread, NULL, post_while_waiting, &posted), 0);
    CFRunLoopRunResult result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 100, true);
    pthread_join(thread, NULL);
    assert_int_equal(result, kCFRunLoopRunHandledSource);
    assert_int_equal(posted, 1);
    assert_int_equal(fake.answers, 1);
    assert_int_equal(fake.answered, 42);
    run_for(0);
    assert_int_equal(fake.answers, 1);
}

static void a_ping_that_a_detach_overtakes_is_not_answered(void **state) {
    (void)state;
    attach();
    assert_int_equal(fake.post(fake.ctx, 1), 1);
    stallrec_detach_cfrunloop();
    run_for(0.01);
    assert_int_equal(fake.answers, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_run_has_the_documented_order),
        TEST(observers_are_called_in_their_order),
        TEST(a_run_that_returns_after_a_source_performs_one),
        TEST(a_stop_is_for_the_run_that_was_innermost_then),
        TEST(a_run_ends_when_stopped_or_without_anything_to_wait_for),
        TEST(timers_are_busy),
        TEST(sources_are_busy),
        TEST(observers_of_any_order_are_busy),
        TEST(the_wait_is_idle),
        TEST(after_the_outermost_exit_the_loop_is_idle),
        TEST(each_activity_is_told),
        TEST(an_iteration_without_a_wait_is_no_turn),
        TEST(the_end_of_a_nested_run_is_a_turn),
        TEST(a_common_mode_is_watched),
        TEST(the_mode_that_runs_is_told),
        TEST(the_mode_of_the_launch_is_watched),
        TEST(a_private_mode_is_part_of_the_callback_that_runs_it),
        TEST(an_attach_in_a_callback_counts_at_once),
        TEST(a_detach_in_a_callback_leaves_the_loop_idle_and_alone),
        TEST(a_second_attach_is_refused),
        TEST(without_a_recorder_nothing_is_attached),
#ifndef __APPLE__
        TEST(an_app_extension_is_refused_unless_asked_for),
#endif
        TEST(a_ping_wakes_the_loop_and_is_answered_there),
        TEST(a_ping_that_a_detach_overtakes_is_not_answered),
    };
    return cmocka_run_group_tests_name("recorder_adapter_cfrunloop", tests, NULL, NULL);
}
