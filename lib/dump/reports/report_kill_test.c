/* Tests of the reasons for which the system ended a process, and of the time that it had waited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dump/reports/report_private.h"

static void the_watchdog_tells_time_and_cpu(void **state) {
    (void)state;
    struct report r;
    report_init(&r, "x", 0, NULL);
    assert_true(report_kill(
        &r, "SPRINGBOARD, scene-create watchdog transgression: application<com.example.shop>:667 "
            "exhausted real (wall clock) time allowance of 19.97 seconds | ProcessVisibility: "
            "Background | WatchdogEvent: scene-create | WatchdogCPUStatistics: ( | \"Elapsed total "
            "CPU time (seconds): 15.290 (user 15.290, system 0.000), 28% CPU\", | \"Elapsed "
            "application CPU time (seconds): 0.367, 1% CPU\" | ) Code 0x8badf00d"));
    assert_string_equal(r.kind, "watchdog");
    assert_true(r.fatal);
    assert_int_equal(r.duration_ms, 19970);
    assert_int_equal(r.cpu_ms, 367);
    assert_string_equal(r.app_state, "background");
    assert_string_equal(r.activity, "scene-create");
    report_release(&r);
    /* A limit on CPU time is not taken for the duration of the stall. */
    report_init(&r, "x", 0, NULL);
    assert_true(report_kill(&r, "code:0x8BADF00D exhausted CPU time allowance of 2.38 seconds"));
    assert_int_equal(r.duration_ms, -1);
    assert_int_equal(r.cpu_ms, -1);
    report_release(&r);
    /* The limits of events are known, so that a text need not give them. */
    static const struct {
        const char *text;
        int64_t ms;
    } limits[] = {
        {"0x8badf00d | com.example.launcher failed to resume in time", 10000},
        {"0x8badf00d | com.example.shop failed to scene-create after 19.81s (launch took 0.19s of "
         "total time limit 20.00s)",
         20000},
        {"0x8badf00d | scene-update watchdog transgression", 10000},
        {"0x8badf00d | WatchdogEvent: scene-update | exhausted CPU time allowance of 2 seconds",
         -1},
        {"0x8badf00d | com.example.launcher", -1},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        report_init(&r, "x", 0, NULL);
        assert_true(report_kill(&r, limits[i].text));
        assert_int_equal(r.duration_ms, limits[i].ms);
        assert_int_equal(r.threshold_ms, limits[i].ms);
        report_release(&r);
    }
    report_init(&r, "x", 0, NULL);
    r.duration_ms = 12000;
    assert_true(report_kill(&r, "0x8badf00d failed to resume in time"));
    assert_int_equal(r.duration_ms, 12000);
    report_release(&r);
}

/* Texts as systems write them, the process that ended the app, and the code. */
static const struct kill_case {
    const char *text, *kind, *activity, *visibility;
    int64_t ms;
} cases[] = {
    {"FRONTBOARD 0x8badf00d | <RBSTerminateContext| domain:10 code:0x8BADF00D "
     "explanation:[app<com.example.shop>:667] Failed to terminate gracefully after 5.0s",
     "watchdog", "process-exit", NULL, 5000},
    {"FRONTBOARD 2343432205 | [app<com.example.shop>:667] failed to terminate gracefully after "
     "6.5s "
     "| ProcessVisibility: Background | WatchdogEvent: process-exit",
     "watchdog", "process-exit", "background", 6500},
    {"Namespace SPRINGBOARD, Code 0x8badf00d | process-launch watchdog transgression: x exhausted "
     "real (wall clock) time allowance of 19.93 seconds | ProcessVisibility: Unknown",
     "watchdog", "process-launch", NULL, 19930},
    {"0x8badf00d | com.example.shop failed to launch in time", "watchdog", "process-launch", NULL,
     20000},
    {"0x000000008badf00d | Shop[667] has active assertions beyond permitted time: | "
     "permittedBackgroundDuration: 600.000000 reason: finishTask",
     "background-task", NULL, NULL, 600000},
    {"Namespace ASSERTIOND, Code 0x8badf00d", "background-task", NULL, NULL, -1},
    {"Namespace <0xF>, Code 0x8badf00d", "background-task", NULL, NULL, -1},
    {"Namespace ASSERTIOND, Code 0xbada5e47", "background-task", NULL, NULL, -1},
    {"RUNNINGBOARD 0x2182bad2", "background-task", NULL, NULL, -1},
    {"CAROUSEL, WatchConnectivity watchdog transgression. | Exhausted wall time allowance of 15.00 "
     "seconds.",
     "background-task", NULL, NULL, 15000},
    {"CAROUSEL 3306925314", "background-task", NULL, NULL, -1},
    {"FRONTBOARD, scene-update watchdog transgression: app<com.example.shop>:301 exhausted real "
     "(wall clock) time allowance of 10.00 seconds",
     "watchdog", "scene-update", NULL, 10000},
    {"RUNNINGBOARD 0xdead10cc ", "suspension", NULL, NULL, -1},
    {"Namespace RUNNINGBOARD, Code 3735883980", "suspension", NULL, NULL, -1},
};

static void who_takes_too_long_is_told_by_code_and_words(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct kill_case *c = &cases[i];
        struct report r;
        report_init(&r, "x", 0, NULL);
        assert_true(report_kill(&r, c->text));
        assert_string_equal(r.kind, c->kind);
        assert_string_equal(r.activity ? r.activity : "", c->activity ? c->activity : "");
        assert_string_equal(r.visibility ? r.visibility : "", c->visibility ? c->visibility : "");
        assert_int_equal(r.duration_ms, c->ms);
        assert_int_equal(r.threshold_ms, c->ms);
        assert_true(r.fatal);
        report_release(&r);
    }
}

static void other_ends_are_no_stalls(void **state) {
    (void)state;
    static const char *const texts[] = {
        "Namespace SIGNAL, Code 0xb",
        "RUNNINGBOARD 0xc00010ff",            /* the device was too hot */
        "Namespace CALLKIT, Code 0xbaadca11", /* for a call that the app did not report to CallKit
                                               */
        "0x8badf00d1 0x18badf00d x8badf00",
        "23434322050 12343432205",
        "99999999999999999999999999999999999999 0x 0x0 0",
        "failed to terminate gracefully after 5.0s",
        "",
        NULL};
    struct report r;
    report_init(&r, "x", 0, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(report_kill(&r, texts[i]));
    }
    assert_false(report_kill_by(&r, NULL, -1, NULL));
    assert_false(report_kill_by(&r, "SIGNAL", 5, "failed to resume in time"));
    assert_null(r.kind);
    assert_true(report_kill_by(&r, "RUNNINGBOARD", 0x8badf00d, NULL));
    assert_string_equal(r.kind, "background-task");
    assert_string_equal(r.app_state, "background");
    assert_string_equal(r.reason, "RUNNINGBOARD 0x8badf00d");
    report_release(&r);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_watchdog_tells_time_and_cpu),
        cmocka_unit_test(who_takes_too_long_is_told_by_code_and_words),
        cmocka_unit_test(other_ends_are_no_stalls),
    };
    return cmocka_run_group_tests_name("report_kill", tests, NULL, NULL);
}
