/* Tests which thread is found to hold the lock that a stall waits for. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/failmalloc.h"
#include "classify/keys/key.h"

/* A dump with named functions: addresses from 100 on are the app's, from 200 on the system's; 400
 * on is the app's data. */
#define DUMP(threads)                                                                              \
    "{\"format\":\"stall-dump/1\",\"device\":{\"os\":\"iOS 18.0\"},\"stall\":{\"kind\":\"hang\","  \
    "\"seq\":1,\"span_ms\":3000},\"images\":["                                                     \
    "{\"name\":\"Shop\",\"load\":100,\"size\":100,\"in_app\":true},"                               \
    "{\"name\":\"libsystem_kernel.dylib\",\"load\":200,\"size\":100},"                             \
    "{\"name\":\"libdata.1.2.dylib\",\"load\":400,\"size\":100}],\"threads\":[" threads            \
    "],\"names\":{\"110\":[\"checkout\",0],\"120\":[\"flush\",0],\"130\":[\"sync\",0],"            \
    "\"140\":[\"load\",0],\"210\":[\"__psynch_mutexwait\",0],\"230\":[\"fsync\",0]}}"
#define MAIN(wait) "{\"id\":1,\"main\":true,\"state\":\"waiting\"," wait "\"frames\":[210,110]}"
#define WAIT(kind, address, owner)                                                                 \
    "\"waits_for\":{\"kind\":\"" kind "\",\"address\":" #address ",\"owner\":" #owner "},"
#define FLUSH(id, name, wait)                                                                      \
    ",{\"id\":" #id ",\"name\":\"" name "\",\"state\":\"waiting\"," wait "\"frames\":[230,120,"    \
    "130]}"

struct holder_bench {
    struct rules *rules;
    struct keyer *keyer;
    struct dump d;
    struct stall_key key;
};

static void holder_bench_open(struct holder_bench *b, const char *text) {
    memset(b, 0, sizeof *b);
    assert_int_equal(rules_new(&b->rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(b->rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&b->keyer, &(struct key_options){.rules = b->rules}, NULL), ST_OK);
    assert_int_equal(dump_parse(&b->d, text, strlen(text), NULL), ST_OK);
}

static void holder_bench_close(struct holder_bench *b) {
    dump_release(&b->d);
    keyer_free(b->keyer);
    rules_free(b->rules);
}

static void expect(const char *text, enum holder_status status, uint64_t waiters,
                   const char *want) {
    struct holder_bench b;
    struct strbuf got = {0};
    holder_bench_open(&b, text);
    assert_int_equal(keyer_key(b.keyer, &b.d, &b.key, NULL), ST_OK);
    key_text(&b.key.holder.key, &got);
    assert_string_equal(strbuf_cstr(&got), want);
    assert_int_equal(b.key.holder.status, status);
    assert_int_equal(b.key.holder.waiters, waiters);
    strbuf_release(&got);
    holder_bench_close(&b);
}

static void the_owner_holds_what_main_waits_for(void **state) {
    (void)state;
    expect(DUMP(MAIN(WAIT("mutex", 9000, 7)) FLUSH(7, "db.flush", "")), HOLDER_KNOWN, 1,
           "thread\tdb.flush\nlock\tmutex\napp\tflush\napp\tsync\n");
}

static void a_lock_in_an_image_is_named_by_it(void **state) {
    (void)state;
    expect(DUMP(MAIN(WAIT("rwlock", 440, 7)) FLUSH(7, "db", "")), HOLDER_KNOWN, 1,
           "thread\tdb\nlock\trwlock in libdata.dylib\napp\tflush\napp\tsync\n");
}

/* Threads of a pool differ in their numbers only. */
static void numbers_in_names_are_no_part_of_the_key(void **state) {
    (void)state;
    expect(DUMP(MAIN(WAIT("mutex", 9000, 7)) FLUSH(7, "pool-3-thread-12", "")), HOLDER_KNOWN, 1,
           "thread\tpool-*-thread-*\nlock\tmutex\napp\tflush\napp\tsync\n");
}

static void a_thread_may_have_no_name_and_no_stack(void **state) {
    (void)state;
    expect(DUMP(MAIN(WAIT("mutex", 9000, 7)) ",{\"id\":7,\"frames\":[]}"), HOLDER_KNOWN, 1,
           "thread\t\nlock\tmutex\n");
}

static void a_thread_that_is_to_end_holds_its_end(void **state) {
    (void)state;
    expect(DUMP(MAIN(WAIT("thread", 0, 7)) FLUSH(7, "db", "")), HOLDER_KNOWN, 1,
           "thread\tdb\nlock\tits end\napp\tflush\napp\tsync\n");
}

/* Main waits for a, and a waits for b; c waits for b, too. So b holds up all three. */
static void the_last_of_a_chain_holds_up_all_before_it(void **state) {
    (void)state;
    expect(DUMP(MAIN(WAIT("mutex", 9000, 5))
                    FLUSH(5, "a", WAIT("rwlock", 9100, 7)) ",{\"id\":7,\"name\":\"b\","
                                                           "\"frames\":[140]}" FLUSH(
                                                               9, "c", WAIT("rwlock", 9100, 7))),
           HOLDER_KNOWN, 3, "thread\tb\nlock\trwlock\napp\tload\n");
}

/* It is unknown for whom the holder itself waits, so it is the last thread known to hold a lock. */
static void a_holder_may_wait_for_who_knows_whom(void **state) {
    (void)state;
    const char *want = "thread\tdb\nlock\tmutex\napp\tflush\napp\tsync\n";
    expect(DUMP(MAIN(WAIT("mutex", 9000, 7))
                    FLUSH(7, "db", "\"waits_for\":{\"kind\":\"semaphore\"},")),
           HOLDER_KNOWN, 1, want);
    expect(DUMP(MAIN(WAIT("mutex", 9000, 7)) FLUSH(7, "db", WAIT("mutex", 9100, 99))), HOLDER_KNOWN,
           1, want);
}

static void a_cycle_is_a_deadlock(void **state) {
    (void)state;
    expect(DUMP(MAIN(WAIT("mutex", 9000, 7)) FLUSH(7, "db", WAIT("rwlock", 9100, 1))),
           HOLDER_DEADLOCK, 1, "thread\tdb\ndeadlock\tmutex\napp\tflush\napp\tsync\n");
    /* The main thread waits for the cycle, but is not part of it. */
    expect(DUMP(MAIN(WAIT("mutex", 9000, 5)) FLUSH(5, "a", WAIT("rwlock", 9100, 7))
                    FLUSH(7, "b", WAIT("mutex", 9200, 5))),
           HOLDER_DEADLOCK, 2, "thread\ta\ndeadlock\tmutex\napp\tflush\napp\tsync\n");
    /* The main thread waits for itself. */
    expect(DUMP(MAIN(WAIT("mutex", 9000, 1))), HOLDER_DEADLOCK, 0,
           "thread\tmain\ndeadlock\tmutex\napp\tcheckout\n");
}

static void an_owner_that_nobody_tells_is_unknown(void **state) {
    (void)state;
    expect(DUMP(MAIN("\"waits_for\":{\"kind\":\"mutex\"},")), HOLDER_UNKNOWN, 0, "unknown\t\n");
    expect(DUMP(MAIN(WAIT("mutex", 9000, 99)) FLUSH(7, "db", "")), HOLDER_UNKNOWN, 0,
           "unknown\t\n"); /* the owner's thread is not in the dump */
    expect(DUMP(MAIN("") FLUSH(7, "db", "")), HOLDER_UNKNOWN, 0,
           "unknown\t\n"); /* only a frame, and not the dump, shows that the thread waits */
}

static void who_does_not_wait_for_a_lock_has_no_holder(void **state) {
    (void)state;
    expect(DUMP("{\"id\":1,\"main\":true,\"state\":\"waiting\",\"frames\":[230,110]}" FLUSH(
               7, "db", WAIT("mutex", 9100, 1))),
           HOLDER_NONE, 0, "");
}

static void find_once(void *ctx, bool refused) {
    struct holder_bench *b = ctx;
    struct keyer *k = NULL;
    struct err e = {0};
    enum st st = keyer_new(&k, &(struct key_options){.rules = b->rules}, &e);
    st = st == ST_OK ? keyer_key(k, &b->d, &b->key, &e) : st;
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_true(refused || b->key.holder.status == HOLDER_KNOWN);
    keyer_free(k);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    struct holder_bench b;
    if (!failmalloc_works()) {
        skip();
    }
    holder_bench_open(&b, DUMP(MAIN(WAIT("mutex", 9000, 7)) FLUSH(7, "db.flush", "")));
    assert_true(failmalloc_sweep(find_once, &b) > 10);
    holder_bench_close(&b);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_holds_what_main_waits_for),
        cmocka_unit_test(a_lock_in_an_image_is_named_by_it),
        cmocka_unit_test(numbers_in_names_are_no_part_of_the_key),
        cmocka_unit_test(a_thread_may_have_no_name_and_no_stack),
        cmocka_unit_test(a_thread_that_is_to_end_holds_its_end),
        cmocka_unit_test(the_last_of_a_chain_holds_up_all_before_it),
        cmocka_unit_test(a_holder_may_wait_for_who_knows_whom),
        cmocka_unit_test(a_cycle_is_a_deadlock),
        cmocka_unit_test(an_owner_that_nobody_tells_is_unknown),
        cmocka_unit_test(who_does_not_wait_for_a_lock_has_no_holder),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("lock_holder", tests, NULL, NULL);
}
