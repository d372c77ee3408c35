/* Tests of dumps about threads other than the main one, and about actions with a name. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "classify/keys/key.h"

/* A dump with named functions: addresses from 100 on are the app's, from 200 on the system's. */
#define DUMP(stall, threads)                                                                       \
    "{\"format\":\"stall-dump/1\",\"device\":{\"os\":\"iOS 18.0\"},\"stall\":{" stall              \
    "},\"images\":[{\"name\":\"Shop\",\"load\":100,\"size\":100,\"in_app\":true},"                 \
    "{\"name\":\"libsystem_kernel.dylib\",\"load\":200,\"size\":100},"                             \
    "{\"name\":\"CoreFoundation\",\"load\":300,\"size\":100}]," threads ",\"names\":{"             \
    "\"110\":[\"sort\",0],\"120\":[\"fill\",0],\"130\":[\"hash\",0],\"140\":[\"scan\",0],"         \
    "\"210\":[\"mach_msg2_trap\",0],\"220\":[\"__psynch_cvwait\",0],\"230\":[\"fsync\",0],"        \
    "\"310\":[\"__CFRunLoopRun\",0]}}"
#define LOOP "\"frames\":[210,310]"

struct bench {
    struct rules *rules;
    struct keyer *keyer;
    struct dump d;
    struct stall_key key;
    struct strbuf level1, action;
};

static void classify(struct bench *b, const char *text) {
    memset(b, 0, sizeof *b);
    assert_int_equal(rules_new(&b->rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(b->rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&b->keyer, &(struct key_options){.rules = b->rules}, NULL), ST_OK);
    assert_int_equal(dump_parse(&b->d, text, strlen(text), NULL), ST_OK);
    assert_int_equal(keyer_key(b->keyer, &b->d, &b->key, NULL), ST_OK);
    key_text(&b->key.level[0], &b->level1);
    key_text(&b->key.action, &b->action);
}

static void teardown(struct bench *b) {
    dump_release(&b->d);
    keyer_free(b->keyer);
    rules_free(b->rules);
    strbuf_release(&b->level1);
    strbuf_release(&b->action);
}

static void expect(const char *text, const char *level1, const char *action, enum rule_cause cause,
                   const char *reason) {
    struct bench b;
    classify(&b, text);
    assert_int_equal(b.key.status, KEY_OK);
    assert_string_equal(strbuf_cstr(&b.level1), level1);
    assert_string_equal(strbuf_cstr(&b.action), action);
    assert_string_equal(b.key.reason, reason);
    assert_int_equal(b.key.cause, cause);
    teardown(&b);
}

static void a_cpu_stall_is_about_the_threads_that_burned(void **state) {
    (void)state;
    expect(DUMP("\"kind\":\"cpu\",\"top_thread\":{\"id\":7,\"name\":\"pool\"}",
                "\"threads\":[{\"id\":1,\"main\":true,\"cpu_permille\":10," LOOP "},"
                "{\"id\":7,\"name\":\"pool\",\"cpu_permille\":900,\"frames\":[110,120]},"
                "{\"id\":8,\"cpu_permille\":500,\"frames\":[130,140]},"
                "{\"id\":9,\"cpu_permille\":600,\"frames\":[130,140]}],"
                "\"samples\":{\"stacks\":[{\"count\":20," LOOP "}]}"),
           "app\thash\napp\tscan\n", "app\tscan\n", CAUSE_COMPUTE,
           "thread 9 was on a processor for 60% of the time in hash");
}

static void a_thread_that_burned_does_not_wait(void **state) {
    (void)state;
    expect(DUMP("\"kind\":\"cpu\"",
                "\"threads\":[{\"id\":1,\"main\":true," LOOP "},{\"id\":7,\"name\":\"pool\","
                "\"state\":\"waiting\",\"cpu_permille\":400,\"frames\":[220,110,120]}]"),
           "app\tsort\napp\tfill\n", "app\tfill\n", CAUSE_COMPUTE,
           "7 pool was on a processor for 40% of the time in sort");
}

static void the_main_threads_samples_share_what_it_burned(void **state) {
    (void)state;
    expect(DUMP("\"kind\":\"cpu\"",
                "\"threads\":[{\"id\":1,\"main\":true,\"cpu_permille\":900,\"frames\":[110,120]},"
                "{\"id\":7,\"cpu_permille\":500,\"frames\":[130,140]}],\"samples\":{\"stacks\":["
                "{\"count\":9,\"frames\":[110,120]},{\"count\":1,\"frames\":[130,140]}]}"),
           "app\tsort\napp\tfill\n", "app\tfill\n", CAUSE_COMPUTE,
           "main was on a processor for 90% of the time in sort");
}

static void a_culprit_without_a_stack_is_its_name(void **state) {
    (void)state;
    expect(DUMP("\"kind\":\"cpu\",\"top_thread\":{\"id\":9,\"name\":\"db\\nflush\"}",
                "\"threads\":[{\"id\":1,\"main\":true," LOOP "}],"
                "\"samples\":{\"stacks\":[{\"count\":20," LOOP "}]}"),
           "thread\tdb flush\n", "", CAUSE_COMPUTE,
           "db flush used the processor most, and its stack is not in the dump");
}

static void who_used_less_than_the_culprit_is_not_blamed(void **state) {
    (void)state;
    expect(DUMP("\"kind\":\"cpu\",\"top_thread\":{\"id\":7,\"name\":\"w\"}",
                "\"threads\":[{\"id\":1,\"main\":true," LOOP "},{\"id\":8,\"name\":\"v\","
                "\"cpu_permille\":100,\"frames\":[110,120]}]"),
           "thread\tw\n", "", CAUSE_COMPUTE,
           "w used the processor most, and its stack is not in the dump");
}

static void a_slow_action_is_not_of_a_thread_that_hardly_ran(void **state) {
    (void)state;
    expect(DUMP("\"kind\":\"slow-action\",\"action\":\"sync cart\"",
                "\"threads\":[{\"id\":1,\"main\":true,\"frames\":[230,110,120]},"
                "{\"id\":7,\"name\":\"hb\",\"cpu_permille\":15,\"frames\":[130,140]}]"),
           "app\tsort\napp\tfill\naction\tsync cart\n", "action\tsync cart\n", CAUSE_DISK,
           "flushes a file to the disk (fsync)");
}

static void a_slow_action_computes_if_its_thread_mostly_ran(void **state) {
    (void)state;
    static const struct {
        int share;
        enum rule_cause cause;
    } cases[] = {{599, CAUSE_UNKNOWN}, {600, CAUSE_COMPUTE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf text = {0}, reason = {0};
        strbuf_addf(&text,
                    DUMP("\"kind\":\"slow-action\",\"action\":\"sync cart\"",
                         "\"threads\":[{\"id\":1,\"main\":true," LOOP "},{\"id\":7,"
                         "\"name\":\"w\",\"cpu_permille\":%d,\"frames\":[110,120]}]"),
                    cases[i].share);
        strbuf_addf(&reason, "7 w was on a processor for %d%% of the time in sort",
                    cases[i].share / 10);
        expect(strbuf_cstr(&text), "app\tsort\napp\tfill\naction\tsync cart\n",
               "action\tsync cart\n", cases[i].cause, strbuf_cstr(&reason));
        strbuf_release(&text);
        strbuf_release(&reason);
    }
}

static void a_slow_action_is_its_name_and_what_worked_in_it(void **state) {
    (void)state;
    expect(DUMP("\"kind\":\"slow-action\",\"action\":\"sync cart\"",
                "\"threads\":[{\"id\":1,\"main\":true," LOOP "},{\"id\":7,\"name\":\"pool\","
                "\"cpu_permille\":200,\"frames\":[230,110,120]}]"),
           "app\tsort\napp\tfill\naction\tsync cart\n", "action\tsync cart\n", CAUSE_DISK,
           "7 pool flushes a file to the disk (fsync)");
}

static void a_slow_action_in_which_nothing_worked_is_its_name(void **state) {
    (void)state;
    expect(DUMP("\"kind\":\"slow-action\",\"action\":\"sync cart\"",
                "\"threads\":[{\"id\":1,\"main\":true," LOOP "}]"),
           "action\tsync cart\n", "action\tsync cart\n", CAUSE_UNKNOWN,
           "the main thread waited, and no thread that worked is in the dump");
    /* The stack does not show that the main thread waited, but its share of processor time does.
     * The evidence names the work of the app's other threads, which is not part of the key. */
    expect(DUMP("\"kind\":\"slow-action\",\"action\":\"sync cart\"",
                "\"threads\":[{\"id\":1,\"main\":true,\"cpu_permille\":2,\"frames\":[210,130,140]},"
                "{\"id\":7,\"name\":\"net\",\"frames\":[230,110,120]}]"),
           "action\tsync cart\n", "action\tsync cart\n", CAUSE_UNKNOWN,
           "the main thread waited, and no thread that worked is in the dump; 7 net flushes a file "
           "to the "
           "disk in sort");
}

static void a_hang_is_about_the_main_thread_whoever_worked(void **state) {
    (void)state;
    expect(DUMP("\"kind\":\"hang\",\"action\":\"no slow one\"",
                "\"threads\":[{\"id\":1,\"main\":true,\"frames\":[230,110,120]},"
                "{\"id\":7,\"cpu_permille\":900,\"frames\":[130,140]}]"),
           "app\tsort\napp\tfill\n", "app\tfill\n", CAUSE_DISK,
           "flushes a file to the disk (fsync)");
}

static void a_stack_without_its_callers_tells_no_action(void **state) {
    (void)state;
    expect(
        DUMP("\"kind\":\"hang\"",
             "\"threads\":[{\"id\":1,\"main\":true,\"incomplete\":true,\"frames\":[230,110,120]}]"),
        "app\tsort\napp\tfill\n", "", CAUSE_DISK, "flushes a file to the disk (fsync)");
    /* The key does not depend on frames that are missing below the loop. */
    expect(DUMP("\"kind\":\"hang\"", "\"threads\":[{\"id\":1,\"main\":true,\"incomplete\":true,"
                                     "\"frames\":[230,110,120,310]}]"),
           "app\tsort\napp\tfill\n", "app\tfill\n", CAUSE_DISK,
           "flushes a file to the disk (fsync)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_stall_is_about_the_threads_that_burned),
        cmocka_unit_test(a_thread_that_burned_does_not_wait),
        cmocka_unit_test(the_main_threads_samples_share_what_it_burned),
        cmocka_unit_test(a_culprit_without_a_stack_is_its_name),
        cmocka_unit_test(who_used_less_than_the_culprit_is_not_blamed),
        cmocka_unit_test(a_slow_action_is_not_of_a_thread_that_hardly_ran),
        cmocka_unit_test(a_slow_action_computes_if_its_thread_mostly_ran),
        cmocka_unit_test(a_slow_action_is_its_name_and_what_worked_in_it),
        cmocka_unit_test(a_slow_action_in_which_nothing_worked_is_its_name),
        cmocka_unit_test(a_hang_is_about_the_main_thread_whoever_worked),
        cmocka_unit_test(a_stack_without_its_callers_tells_no_action),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("workers", tests, NULL, NULL);
}
