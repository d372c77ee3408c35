/* Tests the files that the monitor writes on Linux, and what becomes of a dump that it cannot
 * write. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "monitor_fixture_test.h"

static void stall_is_written_once_the_loop_is_idle(void **state) {
    const struct folder *f = *state;
    struct stallrec *rec = start(f, 80);
    stall(rec);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    /* The monitor updates its totals after it has written the file. */
    for (unsigned i = 0; i < 500 && monitor_totals(rec).written == 0; i++) {
        usleep(10000);
    }
    assert_int_equal(dumps_in(f), 1);
    assert_true(monitor_totals(rec).core.stalls == 1);
    assert_int_equal(folder_count(f, "session-", NULL, 0), 1);
    assert_int_equal(folder_count(f, ".session-", NULL, 0), 1);
    stallrec_stop(rec);
    assert_int_equal(dumps_in(f), 1);
    assert_int_equal(folder_count(f, "session-", NULL, 0), 1);
    assert_int_equal(folder_count(f, ".session-", NULL, 0), 0);
}

static void context_and_policy_are_in_the_dump(void **state) {
    const struct folder *f = *state;
    char text[16384];
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    config.directory = f->path;
    config.threshold_ms = 50;
    config.flags = STALLREC_PLAIN_JSON;
    config.context_keys = "screen, net";
    config.home = "/home/ann";
    struct stallrec *rec = start_recorder(&config);
    assert_int_equal(stallrec_context_set(rec, "screen", "/home/ann/x.c"), STALLREC_OK);
    assert_int_equal(stallrec_context_set(rec, "token", "s3cret"), STALLREC_ERR_CONTEXT);
    stallrec_foreground(rec, 0);
    stall(rec);
    stallrec_context_set(rec, "screen", "too late"); /* the dump was captured before, so it has the
                                                        earlier value */
    stallrec_stop(rec);
    read_text(f, "stall-2", text, sizeof text);
    assert_non_null(strstr(text, "\"context\":{\"screen\":\"~/x.c\"},\"policy\":{"
                                 "\"preset\":\"default\",\"user_share_ppm\":1000000,"
                                 "\"whitelisted\":false,\"seq_today\":1}"));
    assert_non_null(strstr(text, "\"app_state\":\"background\""));
    assert_null(strstr(text, "s3cret"));
}

static void stop_writes_the_stall_that_still_goes_on(void **state) {
    const struct folder *f = *state;
    struct stallrec *rec = start(f, 50);
    stall(rec);
    stallrec_stop(rec);
    assert_int_equal(dumps_in(f), 1);
}

/* Runs 100 busy stretches of 1.5 ms, of which each third one ends with a turn, the others with a
 * sleep. Returns the longest time in ns that a stretch may have taken, which on a busy or slow
 * machine may be too long for a healthy loop. */
static uint64_t turn_healthily(struct stallrec_loop *loop) {
    uint64_t longest = 0, begin = stallrec_clock_ns();
    for (unsigned i = 0; i < 100; i++) {
        bool turns = i % 3 == 0;
        stallrec_loop_wake(loop); /* has no effect after a turn, as the loop is busy already */
        usleep(1500);
        uint64_t end = stallrec_clock_ns();
        if (turns) {
            stallrec_loop_turn(loop);
        } else {
            stallrec_loop_sleep(loop);
        }
        uint64_t now = stallrec_clock_ns();
        longest = now - begin > longest ? now - begin : longest;
        begin = turns ? end : now;
    }
    stallrec_loop_sleep(loop); /* otherwise the loop would be busy until the recorder has stopped */
    uint64_t last = stallrec_clock_ns() - begin;
    return last > longest ? last : longest;
}

static void healthy_loop_writes_nothing(void **state) {
    const struct folder *f = *state;
    uint64_t longest = UINT64_MAX;
    for (unsigned tries = 0; tries < 50 && longest >= 100 * UINT64_C(1000000); tries++) {
        unsigned before = dumps_in(f);
        struct stallrec_config config = quick_config(f, 100);
        config.flags = STALLREC_PLAIN_JSON;
        struct stallrec *rec = start_recorder(&config);
        struct stallrec_loop *loop = stallrec_main_loop(rec);
        longest = turn_healthily(loop);
        stallrec_stop(rec);
        if (longest < 100 * UINT64_C(1000000) && dumps_in(f) != before) {
            char name[256], text[16384] = "";
            (void)folder_count(f, "stall-2", name, sizeof name);
            (void)folder_get(f, name, text, sizeof text);
            fail_msg("longest turn %u us, and: %s", (unsigned)(longest / 1000), text);
        }
        stallrec_loop_wake(loop); /* hooks may still be called after a stop */
        stallrec_loop_sleep(loop);
    }
    if (longest >= 100 * UINT64_C(1000000)) {
        print_message("no healthy loop could be had on this machine\n");
        skip();
    }
}

static void limit_files(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void count_lost(void *user, const char *path, enum stallrec_error why) {
    (void)path, (void)why;
    atomic_fetch_add((atomic_uint *)user, 1);
}

/* Starts a recorder, limits files to 100 bytes and makes a stall, whose dump thus cannot be
 * written. Returns the recorder. */
static struct stallrec *stall_on_full_disk(const struct folder *f, atomic_uint *lost) {
    struct stallrec_config config = quick_config(f, 50);
    config.callbacks.dump_lost = count_lost;
    config.user_data = lost;
    struct stallrec *rec = start_recorder(&config);
    limit_files(100);
    stall(rec);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    usleep(400000); /* by then the monitor has tried to write the dump */
    assert_int_equal(dumps_in(f), 0);
    return rec;
}

static void dump_waits_until_the_disk_has_room(void **state) {
    const struct folder *f = *state;
    atomic_uint lost = 0;
    struct stallrec *rec = stall_on_full_disk(f, &lost);
    limit_files(RLIM_INFINITY);
    stallrec_stop(rec);
    assert_int_equal(dumps_in(f), 1);
    assert_int_equal(folder_count(f, ".spool-", NULL, 0), 0);
    assert_int_equal(atomic_load(&lost), 0);
}

static void dump_that_cannot_be_written_at_all_is_the_next_starts(void **state) {
    const struct folder *f = *state;
    atomic_uint lost = 0;
    stallrec_stop(stall_on_full_disk(f, &lost));
    limit_files(RLIM_INFINITY);
    assert_int_equal(dumps_in(f), 0);
    assert_int_equal(folder_count(f, ".spool-", NULL, 0), 1);
    assert_int_equal(atomic_load(&lost), 0);
    stallrec_stop(start(f, 100));
    assert_int_equal(dumps_in(f), 1);
    assert_int_equal(folder_count(f, ".spool-", NULL, 0), 0);
}

static void dump_without_a_spool_that_cannot_be_written_is_lost(void **state) {
    const struct folder *f = *state;
    atomic_uint lost = 0;
    struct stallrec *rec = stall_on_full_disk(f, &lost);
    char spool[256];
    assert_int_equal(folder_count(f, ".spool-", spool, sizeof spool), 1);
    assert_int_equal(unlinkat(f->dir, spool, 0), 0);
    stallrec_stop(rec);
    limit_files(RLIM_INFINITY);
    assert_int_equal(dumps_in(f), 0);
    assert_int_equal(atomic_load(&lost), 1);
}

static pthread_mutex_t held_up = PTHREAD_MUTEX_INITIALIZER;

static void hold_up(void *user, const char *path) {
    (void)user, (void)path;
    pthread_mutex_lock(&held_up);
    pthread_mutex_unlock(&held_up);
}

/* A callback that does not return holds the monitor up, as a disk that does not answer would. */
static void stop_with_a_limit_leaves_a_monitor_that_is_held_up(void **state) {
    const struct folder *f = *state;
    struct stallrec_config config = quick_config(f, 20);
    config.callbacks.dump_written = hold_up;
    pthread_mutex_lock(&held_up);
    struct stallrec *rec = start_recorder(&config);
    stall(rec);
    uint64_t begin = stallrec_clock_ns();
    assert_false(monitor_stop(rec, begin + 100000000));
    assert_true(stallrec_clock_ns() - begin >= 100000000);
    assert_int_equal(folder_count(f, ".spool-", NULL, 0), 1); /* the spool, from which a lost dump
                                                                 can be recovered, is still there */
    pthread_mutex_unlock(&held_up);
    assert_true(monitor_stop(rec, REC_NEVER));
    assert_int_equal(folder_count(f, ".spool-", NULL, 0), 0);
    assert_int_equal(dumps_in(f), 1);
}

static atomic_bool stall_told;

static void hold_up_stall(void *user, const struct stallrec_stall *stall) {
    (void)stall;
    atomic_store(&stall_told, true);
    hold_up(user, NULL);
}

/* The monitor is held up and takes no messages. Of 300 messages 256 have room, so 44 are
 * dropped. */
static void messages_without_a_place_are_counted_in_the_session(void **state) {
    const struct folder *f = *state;
    struct stallrec_config config = quick_config(f, 20);
    char text[4096] = "";
    config.callbacks.stall_begin = hold_up_stall;
    atomic_store(&stall_told, false);
    pthread_mutex_lock(&held_up);
    struct stallrec *rec = start_recorder(&config);
    stallrec_loop_wake(stallrec_main_loop(rec));
    for (int i = 0; i < 1000 && !atomic_load(&stall_told); i++) {
        usleep(10000);
    }
    bool told = atomic_load(&stall_told);
    for (int i = 0; i < 300; i++) {
        stallrec_span_end(rec, 12345);
    }
    pthread_mutex_unlock(&held_up);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    stallrec_stop(rec);
    assert_true(told);
    read_text(f, "session-", text, sizeof text);
    assert_non_null(strstr(text, "\"events_dropped\":44,"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(dump_waits_until_the_disk_has_room),
        T(dump_that_cannot_be_written_at_all_is_the_next_starts),
        T(dump_without_a_spool_that_cannot_be_written_is_lost),
        T(stop_with_a_limit_leaves_a_monitor_that_is_held_up),
        T(messages_without_a_place_are_counted_in_the_session),
        T(stall_is_written_once_the_loop_is_idle),
        T(context_and_policy_are_in_the_dump),
        T(stop_writes_the_stall_that_still_goes_on),
        T(healthy_loop_writes_nothing),
#undef T
    };
    return cmocka_run_group_tests_name("monitor_files_linux", tests, NULL, NULL);
}
