/* Tests, by the built-in rules, which thread waits for which if only frames show it: deadlocks of
 * all threads, holders of databases, and waits for pages; and that the recorder's own frames are
 * left out. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "classify/keys/key.h"

struct bench {
    struct rules *rules;
    struct keyer *keyer;
    struct dump d;
    struct stall_key key;
    struct strbuf text, level1;
};

/* A thread for a dump: its id, name and state ("waiting for 1": the dump says that it waits for
 * thread 1), then "image function" of its frames, innermost first; the first thread is the main
 * one. */
struct stack_text {
    int id;
    const char *name, *state;
    const char *frames[8];
};

static void add_threads(struct strbuf *b, const struct stack_text *threads, size_t count) {
    strbuf_addstr(b, "\"threads\":[");
    for (size_t i = 0; i < count; i++) {
        const char *owner = strstr(threads[i].state, " for ");
        int state = owner ? (int)(owner - threads[i].state) : (int)strlen(threads[i].state);
        strbuf_addf(b, "%s{\"id\":%d,\"name\":\"%s\",\"state\":\"%.*s\",\"main\":%s,\"frames\":[",
                    i ? "," : "", threads[i].id, threads[i].name, state, threads[i].state,
                    i ? "false" : "true");
        for (size_t k = 0; k < 8 && threads[i].frames[k]; k++) {
            strbuf_addf(b, "%s%zu", k ? "," : "", 1000 * (i * 8 + k + 1) + 10);
        }
        strbuf_addstr(b, "]");
        if (owner) {
            strbuf_addf(b, ",\"waits_for\":{\"kind\":\"thread\",\"owner\":%s}",
                        owner + strlen(" for "));
        }
        strbuf_addstr(b, "}");
    }
    strbuf_addstr(b, "]");
}

/* Appends images and names; each frame has an image of its own, so that any function may be in any
 * image. */
static void add_images_and_names(struct strbuf *b, const struct stack_text *threads, size_t count) {
    struct strbuf names = {0};
    strbuf_addstr(b, ",\"images\":[{\"name\":\"none\",\"load\":1,\"size\":1}");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < 8 && threads[i].frames[k]; k++) {
            const char *image = threads[i].frames[k], *function = strchr(image, ' ');
            size_t load = 1000 * (i * 8 + k + 1);
            strbuf_addf(b, ",{\"name\":\"%.*s\",\"load\":%zu,\"size\":100,\"in_app\":%s}",
                        (int)(function - image), image, load,
                        strncmp(image, "Shop ", 5) == 0 ? "true" : "false");
            strbuf_addf(&names, "%s\"%zu\":[\"%s\",0]", names.len ? "," : "", load + 10,
                        function + 1);
        }
    }
    strbuf_addf(b, "],\"names\":{%s}", strbuf_cstr(&names));
    strbuf_release(&names);
}

static void classify(struct bench *b, const char *stall, const struct stack_text *threads,
                     size_t count) {
    struct err e = {0};
    memset(b, 0, sizeof *b);
    assert_int_equal(rules_new(&b->rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(b->rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&b->keyer, &(struct key_options){.rules = b->rules}, NULL), ST_OK);
    strbuf_addf(&b->text,
                "{\"format\":\"stall-dump/1\",\"device\":{\"os\":\"iOS 18.0\"},\"stall\":{%s},",
                stall);
    add_threads(&b->text, threads, count);
    add_images_and_names(&b->text, threads, count);
    strbuf_addstr(&b->text, "}");
    if (dump_parse(&b->d, strbuf_cstr(&b->text), b->text.len, &e) != ST_OK) {
        fail_msg("%s in %s", e.text, strbuf_cstr(&b->text));
    }
    assert_int_equal(keyer_key(b->keyer, &b->d, &b->key, NULL), ST_OK);
    key_text(&b->key.level[0], &b->level1);
}

static void teardown(struct bench *b) {
    dump_release(&b->d);
    keyer_free(b->keyer);
    rules_free(b->rules);
    strbuf_release(&b->text);
    strbuf_release(&b->level1);
}

static void expect(const char *stall, const struct stack_text *threads, size_t count,
                   enum rule_cause cause, const char *reason) {
    struct bench b;
    classify(&b, stall, threads, count);
    if (b.key.cause != cause || strcmp(b.key.reason, reason) != 0) {
        fail_msg("%s '%s', not %s '%s'", rule_cause_text(b.key.cause), b.key.reason,
                 rule_cause_text(cause), reason);
    }
    teardown(&b);
}

/* Checks the status and key of the lock's holder. */
static void expect_holder(const char *stall, const struct stack_text *threads, size_t count,
                          enum holder_status status, const char *want) {
    struct bench b;
    struct strbuf got = {0};
    classify(&b, stall, threads, count);
    key_text(&b.key.holder.key, &got);
    assert_string_equal(strbuf_cstr(&got), want);
    assert_int_equal(b.key.holder.status, status);
    assert_int_equal(b.key.holder.waiters, status == HOLDER_INFERRED);
    assert_true(!b.key.holder.inferred == (status != HOLDER_INFERRED));
    strbuf_release(&got);
    teardown(&b);
}

#define MAIN_WAITS_FOR_A_QUEUE                                                                     \
    {                                                                                              \
        1, "main", "waiting", {                                                                    \
            "libsystem_kernel.dylib __ulock_wait",                                                 \
                "libdispatch.dylib __DISPATCH_WAIT_FOR_QUEUE__",                                   \
                "libdispatch.dylib _dispatch_sync_f_slow", "Shop -[Store load]"                    \
        }                                                                                          \
    }
#define WRITER_WAITS_FOR_A_MUTEX                                                                   \
    {                                                                                              \
        5, "db", "waiting", {                                                                      \
            "libsystem_kernel.dylib __psynch_mutexwait",                                           \
                "libsystem_pthread.dylib _pthread_mutex_lock_slow", "Shop -[Cart lock]",           \
                "libdispatch.dylib _dispatch_client_callout",                                      \
                "libdispatch.dylib _dispatch_lane_serial_drain"                                    \
        }                                                                                          \
    }
#define LOOP_WAITS_FOR_WORK                                                                        \
    {                                                                                              \
        6, "events", "waiting", {                                                                  \
            "libsystem_kernel.dylib mach_msg2_trap", "CoreFoundation __CFRunLoopRun",              \
                "CoreFoundation CFRunLoopRunSpecific", "Shop -[Feed threadMain]"                   \
        }                                                                                          \
    }
#define WORKER_WAITS_FOR_WORK                                                                      \
    {                                                                                              \
        7, "worker", "waiting", {                                                                  \
            "libsystem_kernel.dylib __workq_kernreturn",                                           \
                "libsystem_pthread.dylib _pthread_wqthread"                                        \
        }                                                                                          \
    }

static void all_at_work_wait_for_each_other(void **state) {
    (void)state;
    static const struct stack_text threads[] = {MAIN_WAITS_FOR_A_QUEUE, WRITER_WAITS_FOR_A_MUTEX,
                                                LOOP_WAITS_FOR_WORK, WORKER_WAITS_FOR_WORK};
    expect("\"kind\":\"watchdog\",\"fatal\":true", threads, 4, CAUSE_DEADLOCK,
           "main waits for a queue in -[Store load], 5 db waits for a mutex in -[Cart lock], and "
           "no other thread is at work: they wait for each other");
}

static void what_ended_or_may_go_on_is_no_deadlock(void **state) {
    (void)state;
    static const struct stack_text threads[] = {
        MAIN_WAITS_FOR_A_QUEUE,
        WRITER_WAITS_FOR_A_MUTEX,
        /* a thread at work may hold what the others wait for */
        {8, "net", "waiting", {"libsystem_kernel.dylib __recvfrom", "Shop -[Socket read]"}}};
    static const struct stack_text parked[] = {MAIN_WAITS_FOR_A_QUEUE, LOOP_WAITS_FOR_WORK};
    static const char waits[] = "waits for a queue (__DISPATCH_WAIT_FOR_QUEUE__)";
    /* The evidence names the threads that may hold the lock. */
    expect(
        "\"kind\":\"hang\",\"ended\":true", threads, 2, CAUSE_LOCK,
        "waits for a queue (__DISPATCH_WAIT_FOR_QUEUE__); 5 db waits for a mutex in -[Cart lock]");
    expect(
        "\"kind\":\"watchdog\",\"fatal\":true", threads, 3, CAUSE_LOCK,
        "waits for a queue (__DISPATCH_WAIT_FOR_QUEUE__); 5 db waits for a mutex in -[Cart lock], "
        "8 net waits for a socket in -[Socket read]");
    expect("\"kind\":\"watchdog\",\"fatal\":true", threads, 1, CAUSE_LOCK,
           waits); /* no other thread is in the dump, so the holder is unknown */
    static const struct stack_text busy[] = {
        MAIN_WAITS_FOR_A_QUEUE,
        WRITER_WAITS_FOR_A_MUTEX,
        {8, "w", "running", {"libobjc.A.dylib objc_msgSend", "Shop -[Other work]"}}};
    expect("\"kind\":\"watchdog\",\"fatal\":true", busy, 2, CAUSE_DEADLOCK,
           "main waits for a queue in -[Store load], 5 db waits for a mutex in -[Cart lock], and "
           "no other thread is at work: they wait for each other");
    expect(
        "\"kind\":\"watchdog\",\"fatal\":true", busy, 3, CAUSE_LOCK,
        "waits for a queue (__DISPATCH_WAIT_FOR_QUEUE__); 5 db waits for a mutex in -[Cart lock], "
        "8 w is in -[Other work]");
    expect("\"kind\":\"hang\",\"fatal\":true", parked, 2, CAUSE_DEADLOCK,
           "main waits for a queue in -[Store load], and no thread is at work that could let it go "
           "on");
}

/* Two threads that wait in the same function count as waiting for the same lock. */
static void a_convoy_is_no_deadlock(void **state) {
    (void)state;
    static const struct stack_text threads[] = {
        {1,
         "main",
         "waiting",
         {"libsystem_kernel.dylib __psynch_mutexwait",
          "libsystem_pthread.dylib _pthread_mutex_lock_slow", "Shop -[Cart lock]"}},
        WRITER_WAITS_FOR_A_MUTEX,
        {8,
         "log",
         "waiting",
         {"libsystem_kernel.dylib __psynch_mutexwait",
          "libsystem_pthread.dylib _pthread_mutex_lock_slow", "Shop -[Log write]"}}};
    expect("\"kind\":\"watchdog\",\"fatal\":true", threads, 2, CAUSE_LOCK,
           "waits for a mutex (__psynch_mutexwait); 5 db waits for a mutex in -[Cart lock]");
    /* A thread that waits in another function may hold the lock. */
    expect("\"kind\":\"watchdog\",\"fatal\":true", threads, 3, CAUSE_DEADLOCK,
           "main waits for a mutex in -[Cart lock], 5 db waits for a mutex in -[Cart lock], 8 log "
           "waits for a mutex in -[Log write], and no other thread is at work: they wait for each "
           "other");
}

/* No thread holds a semaphore: another process may signal it. */
static void a_semaphore_is_held_by_nobody(void **state) {
    (void)state;
    static const struct stack_text threads[] = {
        {1,
         "main",
         "waiting",
         {"libsystem_kernel.dylib semaphore_wait_trap",
          "libdispatch.dylib _dispatch_semaphore_wait_slow", "Shop -[Store load]"}},
        WRITER_WAITS_FOR_A_MUTEX};
    expect("\"kind\":\"watchdog\",\"fatal\":true", threads, 2, CAUSE_LOCK,
           "waits for a semaphore (_dispatch_semaphore_wait_slow); 5 db waits for a mutex in "
           "-[Cart lock]");
}

static void the_thread_that_writes_holds_the_database(void **state) {
    (void)state;
    static const struct stack_text threads[] = {
        {1,
         "main",
         "waiting",
         {"libsystem_kernel.dylib __semwait_signal", "libsystem_c.dylib usleep",
          "libsqlite3.dylib sqliteDefaultBusyCallback", "libsqlite3.dylib sqlite3InvokeBusyHandler",
          "libsqlite3.dylib sqlite3_step", "Shop -[Store load]"}},
        /* this thread waits for the same database as the main thread, so that neither holds it */
        {4, "r", "waiting", {"libsystem_kernel.dylib __pread", "libsqlite3.dylib sqlite3_step"}},
        {5,
         "w",
         "waiting",
         {"libsystem_c.dylib usleep", "libsqlite3.dylib sqlite3InvokeBusyHandler",
          "libsqlite3.dylib sqlite3BtreeInsert", "Shop -[Store other]"}},
        {6,
         "sync",
         "waiting",
         {"libsystem_kernel.dylib fsync", "libsqlite3.dylib sqlite3PagerCommitPhaseOne",
          "libsqlite3.dylib sqlite3_step", "Shop -[Sync save]"}}};
    expect("\"kind\":\"hang\",\"ended\":true", threads, 4, CAUSE_LOCK,
           "waits for who has locked the database (usleep); 6 sync is in "
           "sqlite3PagerCommitPhaseOne in -[Sync save]");
    expect("\"kind\":\"hang\",\"ended\":true", threads, 3, CAUSE_LOCK,
           "waits for who has locked the database (usleep); 5 w waits for who has locked the "
           "database in -[Store other]");
    expect_holder("\"kind\":\"hang\"", threads, 4, HOLDER_INFERRED,
                  "thread\tsync\ninferred\tSQLite\nSQLite\t\napp\t-[Sync save]\n");
    expect_holder("\"kind\":\"hang\"", threads, 3, HOLDER_UNKNOWN, "unknown\t\n");
    const struct stack_text two[] = {threads[0], threads[3], threads[3]};
    expect_holder("\"kind\":\"hang\"", two, 3, HOLDER_UNKNOWN, "unknown\t\n");
}

/* The dump names no owner, and there is only one other thread that waits. */
static void the_one_other_of_a_deadlock_is_its_holder(void **state) {
    (void)state;
    static const struct stack_text threads[] = {MAIN_WAITS_FOR_A_QUEUE, WRITER_WAITS_FOR_A_MUTEX,
                                                WRITER_WAITS_FOR_A_MUTEX};
    static const char killed[] = "\"kind\":\"watchdog\",\"fatal\":true";
    expect_holder(killed, threads, 2, HOLDER_INFERRED,
                  "thread\tdb\ninferred\tdeadlock\napp\t-[Cart lock]\n");
    expect_holder(killed, threads, 3, HOLDER_UNKNOWN, "unknown\t\n");
}

/* A thread that writes to a database does not hold another library's lock. */
static void a_mutex_outside_of_the_database_has_no_such_holder(void **state) {
    (void)state;
    static const struct stack_text threads[] = {
        {1,
         "main",
         "waiting",
         {"libsystem_kernel.dylib __psynch_mutexwait", "Shop -[Cart lock]",
          "libsqlite3.dylib sqlite3_exec"}},
        {6,
         "sync",
         "waiting",
         {"libsystem_kernel.dylib fsync", "libsqlite3.dylib sqlite3PagerCommitPhaseOne",
          "Shop -[Sync save]"}}};
    expect("\"kind\":\"hang\",\"ended\":true", threads, 2, CAUSE_LOCK,
           "waits for a mutex (__psynch_mutexwait); 6 sync flushes a file to the disk in -[Sync "
           "save]");
}

/* The main thread waits for a callback, and the thread that runs the callback waits for something
 * that the main thread holds. */
static void a_condition_whose_thread_is_stuck_is_a_deadlock(void **state) {
    (void)state;
    static const char killed[] = "\"kind\":\"watchdog\",\"fatal\":true,\"cpu_permille\":30";
    struct stack_text threads[] = {
        {1,
         "main",
         "waiting",
         {"libsystem_kernel.dylib __psynch_cvwait", "libsystem_pthread.dylib _pthread_cond_wait",
          "QuartzCore -[CADisplayLink invalidate]", "SceneKit -[SCNDisplayLink invalidate]",
          "Shop -[Globe hide]"}},
        {7,
         "renderer",
         "waiting",
         {"libsystem_kernel.dylib __psynch_mutexwait", "SceneKit -[SCNDisplayLink tick:]",
          "QuartzCore display_timer_callback"}},
        {8, "server", "waiting", {"libsystem_kernel.dylib mach_msg2_trap", "Shop listen"}}};
    expect(killed, threads, 3, CAUSE_DEADLOCK,
           "main waits for a condition variable in -[Globe hide], 7 renderer waits for a mutex in "
           "-[SCNDisplayLink tick:], and no thread is at work that could let it go on");
    threads[2].frames[1] =
        "SceneKit C3DRender"; /* this thread is at work, and may fulfil the condition */
    expect(killed, threads, 3, CAUSE_LOCK, "waits for a condition variable (_pthread_cond_wait)");
    threads[2].frames[1] = "Shop listen";
    threads[1].frames[1] =
        "SceneKit -[SCNScene lock]"; /* no frame connects this thread with the condition */
    expect(killed, threads, 3, CAUSE_LOCK,
           "waits for a condition variable (_pthread_cond_wait); 8 server waits for a Mach message "
           "in listen");
}

/* A block hands its result over to the main thread before it signals that it is done, but the main
 * thread waits for that signal. */
static void who_waits_for_its_own_closure_that_waits_for_it_is_in_a_deadlock(void **state) {
    (void)state;
    struct stack_text threads[] = {
        {1,
         "main",
         "waiting",
         {"libsystem_kernel.dylib semaphore_wait_trap",
          "libdispatch.dylib _dispatch_semaphore_wait_slow", "Shop -[Cart total]",
          "Shop -[CartController pay]"}},
        {5,
         "worker",
         "waiting for 1",
         {"libsystem_kernel.dylib __ulock_wait", "libdispatch.dylib __DISPATCH_WAIT_FOR_QUEUE__",
          "libdispatch.dylib _dispatch_sync_f_slow", "Shop __13-[Cart total]_block_invoke",
          "libdispatch.dylib _dispatch_call_block_and_release"}}};
    expect(
        "\"kind\":\"hang\"", threads, 2, CAUSE_DEADLOCK,
        "main waits for a semaphore in -[Cart total], and 5 worker in -[Cart total]_block_invoke "
        "waits for main: they wait for each other");
    expect_holder("\"kind\":\"hang\"", threads, 2, HOLDER_INFERRED,
                  "thread\tworker\ninferred\tdeadlock\napp\t-[Cart total]_block_invoke\n");
    threads[1].state = "waiting for 9"; /* the worker waits for another thread */
    expect("\"kind\":\"hang\"", threads, 2, CAUSE_LOCK,
           "waits for a semaphore (_dispatch_semaphore_wait_slow); 5 worker waits for a queue in "
           "-[Cart total]_block_invoke");
    threads[1].state = "waiting for 1"; /* many threads wait for the main one while it stalls, so
                                           that alone is no deadlock */
    threads[1].frames[3] = "Shop __13-[Feed load]_block_invoke";
    expect("\"kind\":\"hang\"", threads, 2, CAUSE_LOCK,
           "waits for a semaphore (_dispatch_semaphore_wait_slow); 5 worker waits for a queue in "
           "-[Feed load]_block_invoke");
}

/* A semaphore or a future is signalled by a thread, whose work is what the main one waits for. */
static void who_waits_for_a_signal_waits_for_what_its_worker_does(void **state) {
    (void)state;
    struct stack_text threads[] = {{1,
                                    "main",
                                    "waiting",
                                    {"libsystem_kernel.dylib semaphore_wait_trap",
                                     "libdispatch.dylib _dispatch_semaphore_wait_slow",
                                     "Shop -[Cart total]", "Shop -[CartController pay]"}},
                                   {5,
                                    "worker",
                                    "waiting",
                                    {"libsystem_kernel.dylib __recvfrom", "CFNetwork TCPIO_Read",
                                     "Shop __13-[Cart total]_block_invoke",
                                     "libdispatch.dylib _dispatch_call_block_and_release"}},
                                   {6,
                                    "logger",
                                    "waiting",
                                    {"libsystem_kernel.dylib __fsync", "Shop -[Log flush]",
                                     "libdispatch.dylib _dispatch_client_callout"}}};
    expect("\"kind\":\"hang\"", threads, 3, CAUSE_NETWORK,
           "waits for a semaphore (_dispatch_semaphore_wait_slow): 5 worker waits for a socket in "
           "-[Cart total]_block_invoke");
    threads[1].frames[2] = "Shop -[Cart fetch]"; /* a method of the same class */
    expect("\"kind\":\"hang\"", threads, 3, CAUSE_NETWORK,
           "waits for a semaphore (_dispatch_semaphore_wait_slow): 5 worker waits for a socket in "
           "-[Cart fetch]");
    threads[1].frames[2] = "Shop -[Feed load]"; /* one of two threads that are at work */
    expect("\"kind\":\"hang\"", threads, 3, CAUSE_LOCK,
           "waits for a semaphore (_dispatch_semaphore_wait_slow); 5 worker waits for a socket in "
           "-[Feed load], 6 logger flushes a file to the disk in -[Log flush]");
    expect("\"kind\":\"hang\"", threads, 2, CAUSE_NETWORK, /* the only one */
           "waits for a semaphore (_dispatch_semaphore_wait_slow): 5 worker waits for a socket in "
           "-[Feed load]");
    expect("\"kind\":\"hang\"},\"threads_left_out\":3,\"x\":{", threads, 2, CAUSE_LOCK,
           "waits for a semaphore (_dispatch_semaphore_wait_slow); 5 worker waits for a socket in "
           "-[Feed load]");
    /* that the only one runs does not show for whom */
    threads[1].frames[0] = "Shop -[Feed parse]";
    threads[1].frames[1] = "Shop -[Feed merge]";
    threads[1].state = "running";
    expect("\"kind\":\"hang\"", threads, 2, CAUSE_LOCK,
           "waits for a semaphore (_dispatch_semaphore_wait_slow); 5 worker is in -[Feed parse]");
    threads[1].frames[0] = "libsystem_kernel.dylib __recvfrom";
    threads[1].frames[1] = "CFNetwork TCPIO_Read";
    threads[1].state = "waiting";
    /* what a thread holds is a lock, whatever that thread is at */
    threads[0].frames[0] = "libsystem_kernel.dylib __psynch_mutexwait";
    threads[0].frames[1] = "libsystem_pthread.dylib _pthread_mutex_lock_slow";
    expect("\"kind\":\"hang\"", threads, 2, CAUSE_LOCK,
           "waits for a mutex (__psynch_mutexwait); 5 worker waits for a socket in -[Feed load]");
    /* … of a language, too, whose runtime is linked into the app */
    threads[0].frames[0] = "Shop parking_lot_core::thread_parker::imp::ThreadParker::park";
    threads[0].frames[1] = "Shop parking_lot::raw_mutex::RawMutex::lock_slow";
    expect("\"kind\":\"hang\"", threads, 2, CAUSE_LOCK,
           "waits for a lock (parking_lot_core::thread_parker::imp::ThreadParker::park); 5 worker "
           "waits for a socket in -[Feed load]");
    /* a framework that waits has threads of its own */
    threads[0].frames[0] = "libsystem_kernel.dylib semaphore_wait_trap";
    threads[0].frames[1] = "Acme -[ACMClient wait]";
    expect("\"kind\":\"hang\"", threads, 2, CAUSE_LOCK,
           "waits for a semaphore (semaphore_wait_trap); 5 worker waits for a socket in "
           "-[Feed load]");
}

/* The time for which the thread ran is better evidence than its state at one moment. */
static void who_ran_for_most_of_the_stall_did_not_wait_for_pages(void **state) {
    (void)state;
    static const struct stack_text threads[] = {
        {1, "main", "blocked", {"Shop -[Index rebuild]", "Shop -[Cart total]"}}};
    static const struct stack_text in_memory[] = {
        {1, "main", "blocked", {"libobjc.A.dylib objc_release", "Shop -[Cart total]"}}};
    static const struct stack_text waiting[] = {
        {1, "main", "waiting", {"libobjc.A.dylib objc_unknown", "Shop -[Cart total]"}}};
    expect("\"kind\":\"hang\",\"cpu_permille\":730", threads, 1, CAUSE_COMPUTE,
           "on a processor for 73% of the stall in -[Index rebuild]");
    expect("\"kind\":\"hang\",\"cpu_permille\":540", in_memory, 1, CAUSE_COMPUTE,
           "on a processor for 54% of the stall in -[Cart total]");
    expect("\"kind\":\"hang\",\"cpu_permille\":400", threads, 1, CAUSE_DISK,
           "stands still in -[Index rebuild], in no system call, as where memory is paged in");
    expect("\"kind\":\"hang\",\"cpu_permille\":400", in_memory, 1, CAUSE_DISK,
           "waits for memory to be paged in (objc_release) in -[Cart total]");
    expect("\"kind\":\"hang\",\"cpu_permille\":730", waiting, 1, CAUSE_UNKNOWN,
           "waits in -[Cart total], no frame tells for what");
}

static void who_waits_for_a_lock_and_hardly_ran_did_not_draw(void **state) {
    (void)state;
    struct stack_text main[] = {
        {1,
         "main",
         "waiting",
         {"libsystem_kernel.dylib __psynch_cvwait", "libsystem_pthread.dylib _pthread_cond_wait",
          "QuartzCore -[CADisplayLink invalidate]", "Shop -[Globe hide]"}}};
    static const char layers[] = "lays out and draws layers (-[CADisplayLink invalidate])";
    expect("\"kind\":\"hang\",\"cpu_permille\":99", main, 1, CAUSE_LOCK,
           "waits for a condition variable (_pthread_cond_wait)");
    expect("\"kind\":\"hang\",\"cpu_permille\":100", main, 1, CAUSE_RENDER, layers);
    expect("\"kind\":\"hang\"", main, 1, CAUSE_RENDER,
           layers); /* without the thread's processor time */
    main[0].frames[2] = "QuartzCore -[CAMetalLayer nextDrawable]";
    expect("\"kind\":\"hang\",\"cpu_permille\":1", main, 1, CAUSE_RENDER,
           "waits for the graphics processor (-[CAMetalLayer nextDrawable])");
}

/* The function that hands a picture over to the thread that draws lays it out, too. */
static void who_works_in_a_wait_for_what_draws_does_not_wait(void **state) {
    (void)state;
    static const struct stack_text works[] = {
        {1,
         "main",
         "running",
         {"QtGui layOutText", "QtQuick QSGThreadedRenderLoop::polishAndSync",
          "Shop -[Cart total]"}}};
    static const struct stack_text waits[] = {
        {1,
         "main",
         "waiting",
         {"libsystem_kernel.dylib __psynch_cvwait", "libsystem_pthread.dylib _pthread_cond_wait",
          "QtQuick QSGThreadedRenderLoop::polishAndSync", "Shop -[Cart total]"}}};
    static const char told[] = "waits for the render thread (QSGThreadedRenderLoop::polishAndSync)";
    expect("\"kind\":\"hang\",\"cpu_permille\":980", works, 1, CAUSE_COMPUTE,
           "on a processor for 98% of the stall in -[Cart total]");
    expect("\"kind\":\"hang\"", works, 1, CAUSE_COMPUTE,
           "is in -[Cart total], was running (layOutText); how much it ran is not known");
    expect("\"kind\":\"hang\",\"cpu_permille\":20", works, 1, CAUSE_RENDER, told);
    expect("\"kind\":\"hang\",\"cpu_permille\":20", waits, 1, CAUSE_RENDER, told);
    expect("\"kind\":\"hang\"", waits, 1, CAUSE_RENDER, told);
    /* another thread of the process may have run */
    static const struct stack_text in_it[] = {
        {1,
         "main",
         "waiting",
         {"QtQuick QSGThreadedRenderLoop::polishAndSync", "Shop -[Cart total]"}}};
    expect("\"kind\":\"hang\",\"cpu_permille\":980", waits, 1, CAUSE_RENDER, told);
    expect("\"kind\":\"hang\",\"cpu_permille\":980", in_it, 1, CAUSE_RENDER, told);
}

static void a_thread_that_stands_still_in_memory_waits_for_a_page(void **state) {
    (void)state;
    static const struct stack_text blocked[] = {
        {1,
         "main",
         "blocked",
         {"libsystem_platform.dylib _platform_memmove", "ImageIO CGImageSourceCreateImageAtIndex",
          "Shop -[Thumb make]"}}};
    static const struct stack_text waiting[] = {
        {1, "main", "waiting", {"libsystem_platform.dylib _platform_memmove", "Shop -[Map read]"}}};
    expect("\"kind\":\"hang\"", blocked, 1, CAUSE_DISK,
           "waits for memory to be paged in (_platform_memmove) in -[Thumb make]");
    expect("\"kind\":\"hang\"", waiting, 1, CAUSE_DISK,
           "stands still in -[Map read], in no system call, as where memory is paged in");
}

/* A loop may wait for anything; the function that called the nested loop shows for what. */
static void a_nested_loop_that_waits_is_no_cause(void **state) {
    (void)state;
    static const struct stack_text own[] = {
        {1,
         "main",
         "waiting",
         {"libsystem_kernel.dylib mach_msg2_trap", "CoreFoundation __CFRunLoopServiceMachPort",
          "CoreFoundation __CFRunLoopRun", "Foundation -[NSRunLoop(NSRunLoop) runMode:beforeDate:]",
          "Shop -[SyncBridge waitFor:]", "CoreFoundation __CFRunLoopDoSource1",
          "CoreFoundation __CFRunLoopRun"}}};
    static const struct stack_text network[] = {
        {1,
         "main",
         "waiting",
         {"libsystem_kernel.dylib mach_msg2_trap", "CoreFoundation __CFRunLoopRun",
          "CFNetwork +[NSURLConnection sendSynchronousRequest:returningResponse:error:]",
          "Shop -[Feed load]", "CoreFoundation __CFRunLoopDoSource1",
          "CoreFoundation __CFRunLoopRun"}}};
    expect("\"kind\":\"hang\"", own, 1, CAUSE_UNKNOWN,
           "waits in a loop inside of another (__CFRunLoopRun) in -[SyncBridge waitFor:]");
    expect("\"kind\":\"hang\"", network, 1, CAUSE_NETWORK,
           "waits for a server's answer (+[NSURLConnection "
           "sendSynchronousRequest:returningResponse:error:])");
}

static void the_recorders_own_frames_are_in_no_stack(void **state) {
    (void)state;
    static const struct stack_text threads[] = {
        {1,
         "main",
         "running",
         {"libstallrec-preload.so poll", "Shop stallrec_poll", "Shop sort_cart",
          "libstallrec-preload.so __poll_chk", "Shop show_cart"}}};
    struct bench b;
    classify(&b, "\"kind\":\"hang\"", threads, 1);
    assert_string_equal(strbuf_cstr(&b.level1), "app\tsort_cart\napp\tshow_cart\n");
    assert_int_equal(keyer_hide_frames(b.keyer, &b.d, NULL), ST_OK);
    const struct dump_stack *s = &b.d.threads[0].stack;
    assert_int_equal(s->frame_count, 2);
    assert_int_equal(s->frames[0], 3010);
    assert_int_equal(s->frames[1], 5010);
    assert_int_equal(s->exact_count, 0); /* the frame that was exact is not in the stack */
    teardown(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_at_work_wait_for_each_other),
        cmocka_unit_test(what_ended_or_may_go_on_is_no_deadlock),
        cmocka_unit_test(a_convoy_is_no_deadlock),
        cmocka_unit_test(a_semaphore_is_held_by_nobody),
        cmocka_unit_test(a_condition_whose_thread_is_stuck_is_a_deadlock),
        cmocka_unit_test(the_thread_that_writes_holds_the_database),
        cmocka_unit_test(the_one_other_of_a_deadlock_is_its_holder),
        cmocka_unit_test(a_mutex_outside_of_the_database_has_no_such_holder),
        cmocka_unit_test(who_waits_for_its_own_closure_that_waits_for_it_is_in_a_deadlock),
        cmocka_unit_test(who_waits_for_a_signal_waits_for_what_its_worker_does),
        cmocka_unit_test(who_ran_for_most_of_the_stall_did_not_wait_for_pages),
        cmocka_unit_test(who_waits_for_a_lock_and_hardly_ran_did_not_draw),
        cmocka_unit_test(who_works_in_a_wait_for_what_draws_does_not_wait),
        cmocka_unit_test(a_thread_that_stands_still_in_memory_waits_for_a_page),
        cmocka_unit_test(a_nested_loop_that_waits_is_no_cause),
        cmocka_unit_test(the_recorders_own_frames_are_in_no_stack),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("cause_waits", tests, NULL, NULL);
}
