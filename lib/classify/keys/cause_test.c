/* Tests of causes that follow from waits, frames and processor time, of their confidence, of the
 * chosen stack, and of its share of the samples. */
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

static const char rule_text[] = "skip mutex_lock cause lock 90% because \"waits for a lock\"\n"
                                "skip fsync cause disk 80% because \"waits for files\"\n"
                                "skip read cause io 30% because \"reads or writes\"\n"
                                "runtime ioctl in libsys.so\n"
                                "skip ioctl cause ipc 60% because \"asks a device\"\n"
                                "runtime poll in libsys.so\n"
                                "wait poll\n"
                                "skip poll cause io 30% because \"waits for events\"\n"
                                "skip await cause idle\n"
                                "cut  loop cause idle\n"
                                "cut  main\n";

struct bench {
    struct rules *rules;
    struct keyer *keyer;
    struct fixture f;
    struct dump_thread threads[4];
    struct dump_thread_order order[4];
    struct stall_key key;
};

static void setup_with(struct bench *b, struct key_options o) {
    memset(b, 0, sizeof *b);
    assert_int_equal(rules_new(&b->rules, NULL), ST_OK);
    assert_int_equal(rules_add(b->rules, "test", rule_text, sizeof rule_text - 1, NULL), ST_OK);
    o.rules = b->rules;
    assert_int_equal(keyer_new(&b->keyer, &o, NULL), ST_OK);
    b->f.d.threads = b->threads;
    b->f.d.thread_order = b->order;
    b->f.d.heaviest = -1;
    b->f.d.stall.cpu_permille = -1;
    b->f.d.stall.span_ms = b->f.d.stall.duration_ms = 1000;
}

static void setup(struct bench *b) {
    setup_with(b, (struct key_options){0});
}

static void teardown(struct bench *b) {
    keyer_free(b->keyer);
    rules_free(b->rules);
}

#define SAMPLE(b, count, ...)                                                                      \
    fixture_names(&(b)->f, (const char *const[]){__VA_ARGS__},                                     \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), (count))

/* Adds a thread with these frames; the first one is the main thread. */
static struct dump_thread *add_thread(struct bench *b, int64_t id, const char *name,
                                      const char *const *names, size_t count) {
    size_t i = b->f.d.thread_count++;
    size_t samples = b->f.d.sample_count;
    fixture_names(&b->f, names, count, 1);
    b->threads[i] = (struct dump_thread){.id = id,
                                         .name = name,
                                         .main = i == 0,
                                         .cpu_ms = -1,
                                         .waits_for = {.owner = -1},
                                         .stack = b->f.stacks[samples]};
    b->order[i] = (struct dump_thread_order){
        id, (uint32_t)i}; /* tests add threads in the order of their ids */
    b->f.d.sample_count = samples;
    return &b->threads[i];
}

#define THREAD(b, id, name, ...)                                                                   \
    add_thread((b), (id), (name), (const char *const[]){__VA_ARGS__},                              \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void expect(struct bench *b, enum rule_cause cause, unsigned confidence,
                   const char *reason) {
    struct err e = {0};
    assert_int_equal(keyer_key(b->keyer, &b->f.d, &b->key, &e), ST_OK);
    if (b->key.cause != cause || b->key.confidence != confidence ||
        strcmp(b->key.reason, reason) != 0) {
        fail_msg("%s %u '%s', not %s %u '%s'", rule_cause_text(b->key.cause), b->key.confidence,
                 b->key.reason, rule_cause_text(cause), confidence, reason);
    }
}

/* ---- waits ---- */

static void threads_that_wait_for_each_other_are_a_deadlock_with_its_cycle(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    struct dump_thread *main = THREAD(&b, 1, "ui", "!mutex_lock", "save", "main");
    struct dump_thread *writer = THREAD(&b, 7, "writer", "!mutex_lock", "sync");
    main->waits_for = (struct dump_wait){.kind = "mutex", .owner = 7};
    writer->waits_for = (struct dump_wait){.kind = "rwlock", .owner = 1};
    expect(&b, CAUSE_DEADLOCK, 1000, "main → mutex of 7 writer → rwlock of 1 main");
    main->waits_for.owner = 1; /* the thread waits for itself, because the lock is not recursive */
    expect(&b, CAUSE_DEADLOCK, 1000, "main → mutex of 1 main");
    teardown(&b);
}

static void a_cycle_of_others_that_main_waits_for_is_a_deadlock_too(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    THREAD(&b, 1, NULL, "join", "quit", "main")->waits_for =
        (struct dump_wait){.kind = "thread", .owner = 2};
    THREAD(&b, 2, "a", "!mutex_lock")->waits_for = (struct dump_wait){.kind = "mutex", .owner = 3};
    THREAD(&b, 3, NULL, "!mutex_lock")->waits_for = (struct dump_wait){.kind = "mutex", .owner = 2};
    expect(&b, CAUSE_DEADLOCK, 1000, "main → the end of 2 a → mutex of 3 → mutex of 2 a");
    teardown(&b);
}

static void the_owner_of_a_lock_is_named_with_what_it_does(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    struct dump_thread *main = THREAD(&b, 1, "ui", "!mutex_lock", "show", "main");
    struct dump_thread *owner = THREAD(&b, 7, "worker", "!fsync", "sync_cart", "run");
    main->waits_for = (struct dump_wait){.kind = "mutex", .owner = 7};
    expect(&b, CAUSE_LOCK, 950, "main → mutex of 7 worker, which waits for files in sync_cart");
    owner->stack = THREAD(&b, 8, "x", "crunch", "run")->stack;
    owner->state = "running";
    expect(&b, CAUSE_LOCK, 950, "main → mutex of 7 worker, which runs in crunch");
    owner->state = "waiting";
    expect(&b, CAUSE_LOCK, 950, "main → mutex of 7 worker, which is in crunch");
    for (size_t i = 0; i < b.f.used; i++) {
        b.f.locations[i].line_count = 0; /* no function has a name now */
    }
    expect(&b, CAUSE_LOCK, 950, "main → mutex of 7 worker");
    owner->state = "running";
    expect(&b, CAUSE_LOCK, 950, "main → mutex of 7 worker, which runs");
    main->waits_for.owner = 99; /* the owner is a thread that is not in the dump */
    expect(&b, CAUSE_LOCK, 950, "main → mutex of 99");
    main->waits_for.owner = -1;
    expect(&b, CAUSE_LOCK, 900, "main → mutex");
    teardown(&b);
}

static void who_reads_a_terminal_or_standard_input_waits_for_input(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    struct dump_thread *main = THREAD(&b, 1, "ui", "!read", "prompt", "main");
    struct dump_thread *other = THREAD(&b, 7, "shell", "!read", "talk");
    main->waits_for = (struct dump_wait){.kind = "terminal", .owner = -1};
    expect(&b, CAUSE_INPUT, 900, "waits for input of its terminal in prompt");
    main->waits_for.kind = "stdin";
    expect(&b, CAUSE_INPUT, 900, "waits for its standard input in prompt");
    main->waits_for = (struct dump_wait){
        /* The main thread waits for a lock, so the stack of its loop is a stall. */
        .kind = "mutex",
        .owner = 7};
    other->waits_for = (struct dump_wait){.kind = "terminal", .owner = -1};
    expect(&b, CAUSE_LOCK, 950, "main → mutex of 7 shell → terminal");
    teardown(&b);
}

static void what_main_waited_for_later_is_not_why_it_stalled(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    SAMPLE(&b, 9, "!fsync", "save", "main");
    SAMPLE(&b, 1, "!mutex_lock", "show", "main");
    struct dump_thread *main = THREAD(&b, 1, "ui", "!mutex_lock", "show", "main");
    main->waits_for = (struct dump_wait){.kind = "mutex", .owner = -1};
    /* 80 % of nine tenths, because the sample of the mutex shows something else. */
    expect(&b, CAUSE_DISK, 720, "waits for files (fsync)");
    teardown(&b);
}

/* ---- frames ---- */

static void a_read_that_no_signal_interrupts_is_of_the_disk(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    struct dump_thread *main = THREAD(&b, 1, "ui", "!read", "load", "main");
    expect(&b, CAUSE_IO, 300, "reads or writes (read)");
    main->state = "waiting";
    expect(&b, CAUSE_IO, 300, "reads or writes (read)");
    main->state = "blocked";
    expect(&b, CAUSE_DISK, 700, "reads or writes (read), not to be interrupted");
    teardown(&b);
}

/* ---- processor ---- */

static void it_computes_from_sixty_percent_on(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    struct dump_thread *main = THREAD(&b, 1, "ui", "sort", "show", "main");
    expect(&b, CAUSE_COMPUTE, 500,
           "is in sort, was in no system call (sort); how much it ran is not known");
    b.f.d.stall.cpu_permille = 600;
    expect(&b, CAUSE_COMPUTE, 900, "on a processor for 60% of the stall in sort");
    b.f.d.stall.cpu_permille = 599;
    expect(&b, CAUSE_UNKNOWN, 0, "on a processor for 59% of the stall in sort");
    main->state = "running";
    expect(&b, CAUSE_STARVED, 700, "on a processor for 59% of the stall in sort");
    main->state = "waiting";
    /* The processor use is that of the process, so other threads used it. */
    b.f.d.stall.cpu_permille = 1000;
    expect(&b, CAUSE_UNKNOWN, 0, "waits in sort, no frame tells for what");
    teardown(&b);
}

static void the_time_of_the_thread_counts_where_it_is_known(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    struct dump_thread *main = THREAD(&b, 1, "ui", "sort", "show", "main");
    b.f.d.stall.cpu_permille = 1900; /* two threads of the process were busy, … */
    main->state = "running";
    main->cpu_ms = 100; /* … and the main thread was not one of the busy threads */
    expect(&b, CAUSE_STARVED, 700, "on a processor for 10% of the stall in sort");
    b.f.d.stall.seq = 2; /* cpu_ms covers the whole stall, but this dump's span does not */
    expect(&b, CAUSE_COMPUTE, 600,
           "nothing waits, and the process used 190% of a processor in sort");
    teardown(&b);
    /* The time of the whole process is no evidence against a wait that the innermost frame of the
     * main thread shows, because another thread may have used it; it is evidence against a wait of
     * a frame that may do more than wait. */
    setup(&b);
    main = THREAD(&b, 1, "ui", "!ioctl", "sort", "main");
    const int64_t shares[] = {600, 1000, 1001};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        b.f.d.stall.cpu_permille = shares[i];
        expect(&b, CAUSE_IPC, 600, "asks a device (ioctl)");
    }
    b.f.d.stall.cpu_permille = 1000;
    main->cpu_ms = 1000; /* the thread itself worked */
    expect(&b, CAUSE_COMPUTE, 900, "on a processor for 100% of the stall in sort");
    teardown(&b);
    setup(&b);
    THREAD(&b, 1, "ui", "!read", "sort", "main");
    b.f.d.stall.cpu_permille = 1000;
    expect(&b, CAUSE_COMPUTE, 900, "on a processor for 100% of the stall in sort");
    b.f.d.stall.cpu_permille = 1001;
    expect(&b, CAUSE_IO, 300, "reads or writes (read)");
    teardown(&b);
}

static void the_kind_of_a_stall_tells_where_nothing_else_does(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    THREAD(&b, 1, "ui", "go", "main");
    b.f.d.stall.kind = "launch";
    expect(&b, CAUSE_LAUNCH, 600,
           "is in go, was in no system call (go); how much it ran is not known; noticed as launch");
    b.f.d.stall.cpu_permille = 900;
    expect(&b, CAUSE_COMPUTE, 900, "on a processor for 90% of the stall in go");
    teardown(&b);
}

static void who_stands_still_in_its_own_code_reads_memory_in(void **state) {
    (void)state;
    static const char text[] =
        "stands still in probe, in no system call, as where memory is paged in";
    struct bench b;
    setup(&b);
    SAMPLE(&b, 4, "probe", "find", "main");
    b.f.d.stall.cpu_permille = 40;
    expect(&b, CAUSE_DISK, 500, text);
    b.f.d.stall.cpu_permille = 300; /* the thread ran, but not for most of the stall */
    expect(&b, CAUSE_STARVED, 500, "on a processor for 30% of the stall in probe");
    b.f.d.stall.cpu_permille = -1;
    expect(&b, CAUSE_COMPUTE, 500,
           "is in probe, was in no system call (probe); how much it ran is not known");
    /* Interpreted code has no image, and the native function that waits has no frame. */
    b.f.locations[0].image = -1;
    b.f.locations[0].in_app = true;
    b.f.d.stall.cpu_permille = 40;
    expect(&b, CAUSE_UNKNOWN, 0, "on a processor for 4% of the stall in probe");
    teardown(&b);
}

static void the_call_that_waits_tells_not_who_asked(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    assert_int_equal(rules_add_builtin(b.rules, NULL), ST_OK);
    SAMPLE(&b, 4, "!__fstatat64", "load", "main");
    expect(&b, CAUSE_DISK, 850, "works on a file or folder (__fstatat64)");
    teardown(&b);
    setup(&b);
    assert_int_equal(rules_add_builtin(b.rules, NULL), ST_OK);
    SAMPLE(&b, 4, "!java.lang.Thread.nativeCreate", "!java.lang.Thread.start",
           "!android.net.ConnectivityManager.registerNetworkCallback", "load", "main");
    expect(&b, CAUSE_LOCK, 850,
           "waits for the runtime to start a thread (java.lang.Thread.nativeCreate)");
    teardown(&b);
    setup(&b);
    assert_int_equal(rules_add_builtin(b.rules, NULL), ST_OK);
    SAMPLE(&b, 4, "runtime.futex.abi0", "runtime.notesleep", "main.load", "main.main");
    b.f.d.stall.cpu_permille = 4;
    expect(&b, CAUSE_LOCK, 750, "waits for another thread (runtime.futex.abi0)");
    teardown(&b);
}

/* Reads a wait in a library of system calls that has no names. */
static void a_library_that_polls_does_not_tell_for_what(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    SAMPLE(&b, 4, "!poll", "save", "main");
    expect(&b, CAUSE_IO, 300, "waits for events (poll)");
    teardown(&b);
    setup(&b);
    SAMPLE(&b, 4, "!poll", "!foo_wait", "save", "main");
    b.f.d.stall.cpu_permille = 50;
    expect(&b, CAUSE_UNKNOWN, 0, "on a processor for 5% of the stall in save");
    teardown(&b);
    setup(&b);
    SAMPLE(&b, 4, "!read", "!foo_wait", "save", "main");
    expect(&b, CAUSE_IO, 300, "reads or writes (read)");
    teardown(&b);
    setup(&b); /* each poll has its own caller */
    SAMPLE(&b, 4, "!poll", "!poll", "!foo_wait", "!poll", "save", "main");
    expect(&b, CAUSE_IO, 300, "waits for events (poll)");
    teardown(&b);
    setup(&b);
    SAMPLE(&b, 4, "!poll", "!poll", "!foo_wait", "!poll", "!foo_run", "save", "main");
    b.f.d.stall.cpu_permille = 50;
    expect(&b, CAUSE_UNKNOWN, 0, "on a processor for 5% of the stall in save");
    teardown(&b);
}

static void an_unknown_wait_that_no_signal_interrupts_is_for_a_disk(void **state) {
    (void)state;
    static const char text[] = "runtime * in libsys.so\n";
    struct bench b;
    setup(&b);
    assert_int_equal(rules_add(b.rules, "runtime", text, sizeof text - 1, NULL), ST_OK);
    struct dump_thread *main = THREAD(&b, 1, "ui", "!trap", "append", "main");
    b.f.d.stall.cpu_permille = 40;
    main->state = "blocked";
    expect(&b, CAUSE_DISK, 600, "waits in append, not to be interrupted, as for a disk");
    main->state = "waiting";
    expect(&b, CAUSE_UNKNOWN, 0, "waits in append, no frame tells for what");
    main->state = "blocked";
    b.f.d.stall.cpu_permille = 600; /* the process ran for most of the stall */
    expect(&b, CAUSE_COMPUTE, 600, "on a processor for 60% of the stall in append");
    teardown(&b);
}

static void a_virtual_machines_state_is_no_evidence(void **state) {
    static const char *const words[] = {"Native", "Runnable", "Blocked", "RUNNABLE"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct bench b;
        setup(&b);
        struct dump_thread *main = THREAD(&b, 1, "ui", "sort", "main");
        b.f.d.device.os = "iOS 17.0";
        main->state = words[i];
        expect(&b, CAUSE_UNKNOWN, 0, "is in sort, and no frame tells why, nor how much it ran");
        main->state = "waiting";
        expect(&b, CAUSE_DISK, 650,
               "stands still in sort, in no system call, as where memory is paged in");
        teardown(&b);
    }
}

static void what_other_threads_computed_is_not_why_main_stalled(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    struct dump_thread *main = THREAD(&b, 1, "ui", "sort", "main");
    b.f.d.stall.kind = "cpu";
    expect(
        &b, CAUSE_COMPUTE, 600,
        "is in sort, was in no system call (sort); how much it ran is not known; noticed as cpu");
    b.f.d.stall.cpu_permille = 599; /* as in a report, which does not give states of threads */
    expect(&b, CAUSE_COMPUTE, 600, "on a processor for 59% of the stall in sort; noticed as cpu");
    b.f.d.stall.cpu_permille = 900;
    main->state = "running";
    main->cpu_ms = 100;
    expect(&b, CAUSE_STARVED, 700, "on a processor for 10% of the stall in sort; noticed as cpu");
    main->state = "waiting";
    b.f.d.device.os = "macOS 15.3";
    expect(&b, CAUSE_DISK, 650,
           "stands still in sort, in no system call, as where memory is paged in");
    b.f.d.device.os = "Debian GNU/Linux 12 (bookworm)";
    expect(&b, CAUSE_UNKNOWN, 0, "waits in sort, no frame tells for what; noticed as cpu");
    teardown(&b);
}

/* Checks that frames of runtime code do not count, and that code which a framework calls out to
 * waits for itself. */
static void a_wait_is_for_what_the_framework_that_waits_asks_for(void **state) {
    (void)state;
    static const char text[] = "cause render 85% signal_wait under Gpu because \"waits to draw\"\n"
                               "cause lock 80% signal_wait because \"waits for a signal\"\n"
                               "callout call_out\n"
                               "runtime * in libsys.so\n";
    static const struct {
        const char *image[3]; /* images of the frames between the wait and the app */
        const char *function[3];
        enum rule_cause cause;
    } rows[] = {
        {{"Gpu"}, {"flush"}, CAUSE_RENDER},
        {{"libsys.so", "Gpu", "Draw"}, {"slow", "flush", "show"}, CAUSE_RENDER},
        {{"libsys.so", "Gpu"}, {NULL, NULL}, CAUSE_RENDER}, /* these frames have no names */
        {{"Draw", "Gpu"}, {"show", "flush"}, CAUSE_LOCK},
        {{"libsys.so", "Gpu"}, {"call_out", "flush"}, CAUSE_LOCK},
        {{"libsys.so"}, {"slow"}, CAUSE_LOCK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench b;
        setup(&b);
        assert_int_equal(rules_add(b.rules, "gpu", text, sizeof text - 1, NULL), ST_OK);
        fixture_frame(&b.f, "libsys.so", false, "signal_wait", 0x10);
        for (size_t n = 0; n < 3 && rows[i].image[n]; n++) {
            fixture_frame(&b.f, rows[i].image[n], false, rows[i].function[n], 0x20);
        }
        fixture_frame(&b.f, "Shop", true, "paint", 0x10);
        fixture_stack(&b.f, 1);
        b.f.d.stall.cpu_permille = 10; /* a lock that is taken inside does not change the cause */
        bool render = rows[i].cause == CAUSE_RENDER;
        expect(&b, rows[i].cause, render ? 850 : 800,
               render ? "waits to draw (signal_wait)" : "waits for a signal (signal_wait)");
        teardown(&b);
    }
}

/* ---- which stack, how much of the samples ---- */

static void of_equal_functions_the_newest_is_chosen(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    SAMPLE(&b, 4, "draw", "show", "main");
    SAMPLE(&b, 4, "parse", "load", "main");
    assert_int_equal(keyer_key(b.keyer, &b.f.d, &b.key, NULL), ST_OK);
    assert_string_equal(b.key.level[0].frames[0].info->function, "parse");
    static const int32_t ring[] = {1, 1, 0, -1, 1, 1, 0, 0, 0};
    b.f.d.ring = ring;
    b.f.d.ring_count = sizeof ring / sizeof *ring;
    assert_int_equal(keyer_key(b.keyer, &b.f.d, &b.key, NULL), ST_OK);
    assert_string_equal(b.key.level[0].frames[0].info->function, "draw");
    teardown(&b);
}

static void truth_is_the_share_of_the_samples_with_the_key(void **state) {
    (void)state;
    static const struct {
        enum key_kind kind;
        uint64_t hits;
    } rows[] = {{KEY_OF_APP, 5}, {KEY_OF_FRAMES, 7}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench b;
        setup_with(&b, (struct key_options){.kind = rows[i].kind});
        SAMPLE(&b, 5, "!fsync", "save", "flush", "tap", "main");
        SAMPLE(&b, 2, "crc", "save", "flush", "tap",
               "main"); /* a deeper function that was called in the same way */
        SAMPLE(&b, 1, "flush", "save", "tap", "main"); /* the callers in another order */
        SAMPLE(&b, 2, "draw", "main");
        assert_int_equal(keyer_key(b.keyer, &b.f.d, &b.key, NULL), ST_OK);
        assert_int_equal(b.key.samples, 10);
        assert_int_equal(b.key.hits, rows[i].hits);
        assert_int_equal(b.key.truth, rows[i].hits * 100);
        teardown(&b);
    }
}

static void an_idle_stack_without_samples_came_late(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    THREAD(&b, 1, "ui", "!await", "loop", "main");
    assert_int_equal(keyer_key(b.keyer, &b.f.d, &b.key, NULL), ST_OK);
    assert_int_equal(b.key.status, KEY_LATE);
    assert_int_equal(b.key.truth, -1);
    SAMPLE(&b, 6, "!await", "loop", "main");
    SAMPLE(&b, 5, "draw", "loop", "main");
    assert_int_equal(keyer_key(b.keyer, &b.f.d, &b.key, NULL), ST_OK);
    assert_int_equal(b.key.status, KEY_IDLE);
    assert_int_equal(b.key.cause, CAUSE_IDLE);
    teardown(&b);
}

/* ---- options ---- */

static void levels_take_as_many_frames_as_asked_for(void **state) {
    (void)state;
    struct bench b;
    setup_with(&b, (struct key_options){.wanted = {1, 3}});
    SAMPLE(&b, 1, "a", "b", "c", "d", "main");
    assert_int_equal(keyer_key(b.keyer, &b.f.d, &b.key, NULL), ST_OK);
    assert_int_equal(b.key.level[0].count, 1);
    assert_int_equal(b.key.level[1].count, 3);
    teardown(&b);
}

static void inlined_functions_are_frames_on_request(void **state) {
    (void)state;
    static struct dump_line lines[] = {{.function = "page_mix", .line = 1, .file = "a.c"},
                                       {.function = "page_write", .line = 2, .file = "a.c"},
                                       {.function = "save", .line = 3, .file = "a.c"}};
    for (int inlines = 0; inlines < 2; inlines++) {
        struct bench b;
        setup_with(&b, (struct key_options){.inlines = inlines});
        SAMPLE(&b, 1, "save", "tap", "main");
        b.f.locations[0].lines = lines;
        b.f.locations[0].line_count = 3;
        assert_int_equal(keyer_key(b.keyer, &b.f.d, &b.key, NULL), ST_OK);
        const struct key *level1 = &b.key.level[0];
        assert_int_equal(level1->count, 2);
        assert_string_equal(level1->frames[0].info->function, inlines ? "page_mix" : "save");
        assert_string_equal(level1->frames[1].info->function, inlines ? "page_write" : "tap");
        assert_int_equal(level1->frames[0].line, inlines ? 1 : 3);
        teardown(&b);
    }
}

static void a_key_remembers_the_ids_that_the_raw_dump_has(void **state) {
    (void)state;
    struct bench b;
    setup_with(&b, (struct key_options){.aliases = true});
    SAMPLE(&b, 1, "save", "tap", "main");
    struct dump_image_order order = {b.f.images[0].load, 0};
    b.f.d.image_order = &order;
    assert_int_equal(keyer_key(b.keyer, &b.f.d, &b.key, NULL), ST_OK);
    uint64_t was[KEY_LEVELS + 1];
    memcpy(was, b.key.was[KEY_NAMELESS], sizeof was);
    b.f.stacks[0].locations = NULL; /* the stack as it came from the device, without names */
    assert_int_equal(keyer_key(b.keyer, &b.f.d, &b.key, NULL), ST_OK);
    const struct key *keys[] = {&b.key.level[0], &b.key.level[1], &b.key.action};
    for (size_t i = 0; i < KEY_LEVELS + 1; i++) {
        struct strbuf text = {0};
        key_text(keys[i], &text);
        /* Without names the outermost function is main, which the present action is not. */
        bool shown = i < KEY_LEVELS;
        assert_true(was[i] == (shown ? key_number("12a"[i], text.data, text.len) : 0));
        assert_int_equal(b.key.was[KEY_NAMELESS][i], 0); /* without names, no other id is kept */
        strbuf_release(&text);
    }
    teardown(&b);
}

static void a_long_reason_is_cut_between_characters(void **state) {
    (void)state;
    struct bench b;
    char name[KEY_REASON_SIZE];
    memset(name, 0, sizeof name);
    for (size_t i = 0; i + 2 < sizeof name; i += 2) {
        memcpy(name + i, "\xc3\xa9", 2);
    }
    for (size_t skip = 0; skip < 2; skip++) {
        setup(&b);
        THREAD(&b, 1, "ui", "!mutex_lock", "show", "main")->waits_for =
            (struct dump_wait){.kind = skip ? "mutex" : "mute", .owner = 7};
        THREAD(&b, 7, name, "run");
        assert_int_equal(keyer_key(b.keyer, &b.f.d, &b.key, NULL), ST_OK);
        size_t len = strlen(b.key.reason);
        assert_true(len < KEY_REASON_SIZE && len > KEY_REASON_SIZE - 8);
        assert_string_equal(b.key.reason + len - 5, "\xc3\xa9\xe2\x80\xa6");
        teardown(&b);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_wait_for_each_other_are_a_deadlock_with_its_cycle),
        cmocka_unit_test(a_cycle_of_others_that_main_waits_for_is_a_deadlock_too),
        cmocka_unit_test(the_owner_of_a_lock_is_named_with_what_it_does),
        cmocka_unit_test(who_reads_a_terminal_or_standard_input_waits_for_input),
        cmocka_unit_test(what_main_waited_for_later_is_not_why_it_stalled),
        cmocka_unit_test(a_read_that_no_signal_interrupts_is_of_the_disk),
        cmocka_unit_test(it_computes_from_sixty_percent_on),
        cmocka_unit_test(the_time_of_the_thread_counts_where_it_is_known),
        cmocka_unit_test(the_kind_of_a_stall_tells_where_nothing_else_does),
        cmocka_unit_test(who_stands_still_in_its_own_code_reads_memory_in),
        cmocka_unit_test(the_call_that_waits_tells_not_who_asked),
        cmocka_unit_test(a_library_that_polls_does_not_tell_for_what),
        cmocka_unit_test(an_unknown_wait_that_no_signal_interrupts_is_for_a_disk),
        cmocka_unit_test(a_wait_is_for_what_the_framework_that_waits_asks_for),
        cmocka_unit_test(a_virtual_machines_state_is_no_evidence),
        cmocka_unit_test(what_other_threads_computed_is_not_why_main_stalled),
        cmocka_unit_test(of_equal_functions_the_newest_is_chosen),
        cmocka_unit_test(truth_is_the_share_of_the_samples_with_the_key),
        cmocka_unit_test(an_idle_stack_without_samples_came_late),
        cmocka_unit_test(levels_take_as_many_frames_as_asked_for),
        cmocka_unit_test(inlined_functions_are_frames_on_request),
        cmocka_unit_test(a_key_remembers_the_ids_that_the_raw_dump_has),
        cmocka_unit_test(a_long_reason_is_cut_between_characters),
    };
    return cmocka_run_group_tests_name("cause", tests, NULL, NULL);
}
