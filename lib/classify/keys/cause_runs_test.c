/* Tests what is concluded about a thread whose processor time is not known: that it ran, by its
 * state and by the innermost frames of its stacks. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/key.h"
#include "dump/dump_private.h"

static const char rule_text[] =
    "kernel    *             in libkernel\n"
    "kernel    *_slow        in libthread\n"
    "user      sorted        in libkernel\n"
    "user      lock          in libthread\n"
    "memory    copied        in libkernel\n"
    "exclusive lock lock_slow hold in libthread\n"
    "runtime   *             in libkernel libthread\n"
    "wait      drawn\n"
    "cause lock 90%    lock lock_slow hold in libthread because \"locks\"\n"
    "cause io 30%      read in libkernel because \"reads\"\n"
    "cause io 30%      poll in libkernel because \"polls\"\n"
    "wait      poll\n"
    "cause compute 60% parse in libtext because \"reads a text\"\n"
    "cause compute 40% guess in libtext because \"guesses\"\n"
    "cause render 60% laid because \"lays out\"\n"
    "skip      *             in libkernel libthread libtext\n"
    "cut       main\n";

struct runs {
    struct rules *rules;
    struct keyer *keyer;
    struct fixture f;
    struct dump_thread_order order;
    struct stall_key key;
};

static void begin(struct runs *b) {
    memset(&b->f, 0, sizeof b->f);
    b->f.d.device.os = "iOS 18.1";
    b->f.d.heaviest = -1;
    b->f.d.stall.cpu_permille = -1;
    b->f.d.stall.span_ms = b->f.d.stall.duration_ms = 1000;
}

static int runs_set_up(void **state) {
    struct runs *b = calloc(1, sizeof *b);
    assert_non_null(b);
    assert_int_equal(rules_new(&b->rules, NULL), ST_OK);
    assert_int_equal(rules_add(b->rules, "test", rule_text, sizeof rule_text - 1, NULL), ST_OK);
    assert_int_equal(keyer_new(&b->keyer, &(struct key_options){.rules = b->rules}, NULL), ST_OK);
    *state = b;
    return 0;
}

static int runs_tear_down(void **state) {
    struct runs *b = *state;
    keyer_free(b->keyer);
    rules_free(b->rules);
    free(b);
    return 0;
}

/* Adds a sample of two functions: one of an image, or of the app if that is NULL, and the app's
 * `show`. A function NULL has no name. */
static void sample(struct runs *b, uint64_t count, const char *image, const char *function) {
    fixture_frame(&b->f, image ? image : "Shop", image == NULL, function, 0x100);
    fixture_frame(&b->f, "Shop", true, "show", 0x200);
    fixture_frame(&b->f, "Shop", true, "main", 0x300);
    fixture_stack(&b->f, count);
}

/* Makes the last sample the stack of the main thread, which is then the only one of the dump. */
static void only(struct runs *b, const char *state) {
    b->f.d.sample_count--;
    b->f.thread = (struct dump_thread){.id = 1,
                                       .main = true,
                                       .state = state,
                                       .cpu_ms = -1,
                                       .waits_for = {.owner = -1},
                                       .stack = b->f.stacks[b->f.d.sample_count]};
    b->order = (struct dump_thread_order){1, 0};
    b->f.d.threads = &b->f.thread;
    b->f.d.thread_order = &b->order;
    b->f.d.thread_count = 1;
}

static void expect_runs(struct runs *b, enum rule_cause cause, unsigned confidence,
                        const char *reason) {
    assert_int_equal(keyer_key(b->keyer, &b->f.d, &b->key, NULL), ST_OK);
    if (b->key.cause != cause || b->key.confidence != confidence ||
        strcmp(b->key.reason, reason) != 0) {
        fail_msg("%s %u '%s', not %s %u '%s'", rule_cause_text(b->key.cause), b->key.confidence,
                 b->key.reason, rule_cause_text(cause), confidence, reason);
    }
}

#define UNTOLD "is in show, and no frame tells why, nor how much it ran"
#define RAN(in, innermost)                                                                         \
    "is in " in ", was in no system call (" innermost "); how much it ran is not known"

/* ---- one stack ---- */

static void code_that_makes_no_system_call_ran(void **state) {
    static const struct {
        const char *os, *image, *function;
        const char *reason; /* NULL = UNTOLD */
    } rows[] = {
        {"iOS 18.1", NULL, "add", RAN("add", "add")},
        {"iOS 18.1", NULL, NULL, "is in show, was in no system call; how much it ran is not known"},
        {"iOS 18.1", "libdraw", "add", RAN("show", "add")},
        {"iOS 18.1", "libdraw", NULL,
         "is in show, was in no system call; how much it ran is not known"},
        {"iOS 18.1", "libkernel", "trap", NULL},
        {"iOS 18.1", "libkernel", NULL, NULL},
        {"iOS 18.1", "libkernel", "sorted", RAN("show", "sorted")},
        {"iOS 18.1", "libkernel", "copied", RAN("show", "copied")},
        {"iOS 18.1", "libdraw", "drawn", NULL},
        {"iOS 18.1", "?", "add", NULL},
        {"Linux 6.1", NULL, "add", RAN("add", "add")},
        {"Linux 6.1", "libdraw", "add", RAN("show", "add")},
        /* A nameless function may be a system call that was linked into the program. */
        {"Linux 6.1", NULL, NULL, NULL},
        {"Linux 6.1", "libdraw", NULL, NULL},
        {"Linux 6.1", "libdraw", "epoll_wait", NULL},
        {"Linux 6.1", "libdraw", "__syscall_cp_asm", NULL},
        {"Windows 11", NULL, "add", RAN("add", "add")},
    };
    struct runs *b = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(b);
        b->f.d.device.os = rows[i].os;
        sample(b, 1, rows[i].image, rows[i].function);
        only(b, NULL);
        bool ran = rows[i].reason != NULL;
        expect_runs(b, ran ? CAUSE_COMPUTE : CAUSE_UNKNOWN, ran ? 500 : 0,
                    ran ? rows[i].reason : UNTOLD);
    }
}

static void interpreted_code_may_wait_in_a_native_function(void **state) {
    struct runs *b = *state;
    begin(b);
    sample(b, 1, NULL, "add");
    only(b, NULL);
    b->f.locations[0].image = -1;
    b->f.locations[0].in_app = true;
    expect_runs(b, CAUSE_UNKNOWN, 0, "is in add, and no frame tells why, nor how much it ran");
}

static void the_state_of_the_thread_says_whether_it_ran(void **state) {
    struct runs *b = *state;
    begin(b);
    sample(b, 1, NULL, "add");
    only(b, "Native"); /* no word of the format */
    expect_runs(b, CAUSE_UNKNOWN, 0, "is in add, and no frame tells why, nor how much it ran");
    b->f.thread.state = "running";
    expect_runs(b, CAUSE_COMPUTE, 600,
                "is in add, was running (add); how much it ran is not known");
    begin(b);
    sample(b, 1, "libkernel", "trap");
    only(b, "running");
    expect_runs(b, CAUSE_COMPUTE, 600,
                "is in show, was running (trap); how much it ran is not known");
}

static void what_came_late_or_crashed_tells_nothing(void **state) {
    struct runs *b = *state;
    begin(b);
    sample(b, 1, NULL, "add");
    only(b, NULL);
    b->f.d.stall.at_ms = 1200;
    expect_runs(b, CAUSE_UNKNOWN, 0, "is in add, and no frame tells why, nor how much it ran");
    b->f.d.stall.at_ms = 0;
    b->f.d.stall.kind = "crash";
    expect_runs(b, CAUSE_UNKNOWN, 0, "is in add, and no frame tells why, nor how much it ran");
    b->f.d.stall.kind = "launch";
    expect_runs(b, CAUSE_LAUNCH, 600, RAN("add", "add") "; noticed as launch");
}

/* ---- samples ---- */

static void the_share_of_the_samples_that_run_is_that_of_the_time(void **state) {
    struct runs *b = *state;
    begin(b);
    sample(b, 6, NULL, "add");
    sample(b, 4, "libkernel", "trap");
    expect_runs(b, CAUSE_COMPUTE, 700, "is in add, in 60% of the samples in no system call");
    begin(b);
    sample(b, 60, NULL, "add");
    sample(b, 41, "libkernel", "trap");
    expect_runs(b, CAUSE_UNKNOWN, 0, "is in add, and no frame tells why, nor how much it ran");
    begin(b);
    sample(b, 4, NULL, "add"); /* too few for a share */
    expect_runs(b, CAUSE_COMPUTE, 500, RAN("add", "add"));
}

/* ---- what rules say ---- */

static void a_lock_is_only_taken_unless_the_thread_got_to_the_slow_part(void **state) {
    static const struct {
        const char *os, *function, *state;
        enum rule_cause cause;
        unsigned confidence;
        const char *reason;
    } rows[] = {
        {"iOS 18.1", "lock", NULL, CAUSE_COMPUTE, 500, RAN("show", "lock")},
        {"iOS 18.1", "lock", "waiting", CAUSE_LOCK, 900, "locks (lock)"},
        {"iOS 18.1", "lock_slow", NULL, CAUSE_LOCK, 900, "locks (lock_slow)"},
        {"iOS 18.1", "hold", NULL, CAUSE_LOCK, 900, "locks (hold)"}, /* it may call the kernel */
        {"Linux 6.1", "lock", NULL, CAUSE_COMPUTE, 500, RAN("show", "lock")},
        {"Linux 6.1", "hold", NULL, CAUSE_LOCK, 900, "locks (hold)"},
    };
    struct runs *b = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(b);
        b->f.d.device.os = rows[i].os;
        sample(b, 1, "libthread", rows[i].function);
        only(b, rows[i].state);
        expect_runs(b, rows[i].cause, rows[i].confidence, rows[i].reason);
    }
}

static void what_computes_by_a_rule_is_told_if_the_thread_ran(void **state) {
    struct runs *b = *state;
    begin(b);
    sample(b, 1, "libtext", "parse");
    only(b, NULL);
    expect_runs(
        b, CAUSE_COMPUTE, 500,
        "reads a text (parse), was in no system call (parse); how much it ran is not known");
    b->f.thread.state = "waiting";
    expect_runs(b, CAUSE_DISK, 650,
                "stands still in show, in no system call, as where memory is paged in");
    begin(b);
    sample(b, 1, "libtext", "guess");
    only(b, NULL);
    expect_runs(b, CAUSE_COMPUTE, 400,
                "guesses (guess), was in no system call (guess); how much it ran is not known");
    begin(b);
    sample(b, 8, "libtext", "parse");
    expect_runs(b, CAUSE_COMPUTE, 600,
                "reads a text (parse), in 100% of the samples in no system call");
}

/* A method that lies in no image, as of Java, may wait for a monitor; no frame says so. */
static void a_method_that_hardly_ran_did_not_draw(void **state) {
    static const struct {
        int64_t cpu;
        bool image;
        enum rule_cause cause;
    } rows[] = {{50, false, CAUSE_UNKNOWN},
                {150, false, CAUSE_RENDER},
                {-1, false, CAUSE_RENDER},
                {50, true, CAUSE_RENDER}};
    struct runs *b = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(b);
        sample(b, 1, "libdraw", "laid");
        if (!rows[i].image) {
            b->f.locations[0].image = -1;
        }
        only(b, "waiting");
        b->f.d.stall.cpu_permille = rows[i].cpu;
        assert_int_equal(keyer_key(b->keyer, &b->f.d, &b->key, NULL), ST_OK);
        assert_int_equal(b->key.cause, rows[i].cause);
    }
}

static void a_read_in_a_function_of_files_is_of_the_disk(void **state) {
    static const struct {
        const char *outer, *state;
        enum rule_cause cause;
        unsigned confidence;
        const char *reason;
    } rows[] = {
        {"FileCache::fill", NULL, CAUSE_DISK, 500, "reads (read) in FileCache::fill"},
        {"Cache::fill", NULL, CAUSE_IO, 300, "reads (read)"},
        {"FileHandle::fill", NULL, CAUSE_IO, 300, "reads (read)"},
        {"FileCache::fill", "blocked", CAUSE_DISK, 700, "reads (read), not to be interrupted"},
    };
    struct runs *b = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(b);
        fixture_frame(&b->f, "libkernel", false, "read", 0x80);
        sample(b, 1, "libdraw", rows[i].outer);
        only(b, rows[i].state);
        expect_runs(b, rows[i].cause, rows[i].confidence, rows[i].reason);
    }
    begin(b); /* what the app's function is called by says nothing */
    fixture_frame(&b->f, "libkernel", false, "read", 0x80);
    fixture_frame(&b->f, "Shop", true, "fetch", 0x90);
    sample(b, 1, NULL, "FileCache::fill");
    only(b, NULL);
    expect_runs(b, CAUSE_IO, 300, "reads (read)");
    begin(b); /* nor does a poll */
    fixture_frame(&b->f, "libkernel", false, "poll", 0x80);
    sample(b, 1, NULL, "FileCache::fill");
    only(b, NULL);
    expect_runs(b, CAUSE_IO, 300, "polls (poll)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_that_makes_no_system_call_ran),
        cmocka_unit_test(interpreted_code_may_wait_in_a_native_function),
        cmocka_unit_test(the_state_of_the_thread_says_whether_it_ran),
        cmocka_unit_test(what_came_late_or_crashed_tells_nothing),
        cmocka_unit_test(the_share_of_the_samples_that_run_is_that_of_the_time),
        cmocka_unit_test(a_lock_is_only_taken_unless_the_thread_got_to_the_slow_part),
        cmocka_unit_test(what_computes_by_a_rule_is_told_if_the_thread_ran),
        cmocka_unit_test(a_method_that_hardly_ran_did_not_draw),
        cmocka_unit_test(a_read_in_a_function_of_files_is_of_the_disk),
    };
    return cmocka_run_group_tests_name("cause_runs", tests, runs_set_up, runs_tear_down);
}
