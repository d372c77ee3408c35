/* Tests a monitor that watches several threads: each thread has its own stalls, and threads are
 * added and end while it runs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop/hooks.h"
#include "monitor_fixture_test.h"

struct other {
    struct stallrec *rec;
    struct monitor_thread shared;
    struct stallrec_loop loop;
    struct rec_inbox inbox;
    enum stallrec_error added;
    unsigned stall_ms; /* ms for which the thread stalls; 0: not at all */
    const char *loop_at;
    pthread_t thread;
};

static void other_init(struct other *o, struct stallrec *rec, unsigned stall_ms) {
    memset(o, 0, sizeof *o);
    o->rec = rec;
    o->stall_ms = stall_ms;
    o->shared.loop = &o->loop;
    o->shared.inbox = &o->inbox;
    rec_inbox_init(&o->inbox);
    /* The loop waits further out than any function of a test, so that a sleep is part of a turn. */
    rec_loop_write_latest(&o->shared.latest, &(struct finder_wait){.depth = UINT64_MAX});
}

static void *run_other(void *arg) {
    struct other *o = arg;
    pthread_setname_np(pthread_self(), "other");
    atomic_store(&o->shared.loop_at, o->loop_at);
    o->added = monitor_add_thread(o->rec, &o->shared, stallrec_clock_ns());
    stallrec_loop_sleep(&o->loop);
    usleep(50000);
    if (o->stall_ms > 0) {
        stallrec_loop_wake(&o->loop);
        usleep(o->stall_ms * 1000);
        stallrec_loop_sleep(&o->loop);
    }
    atomic_store(&o->shared.ended_ns, stallrec_clock_ns());
    rec_loop_interrupt(stallrec_main_loop(NULL));
    return NULL;
}

static void start_other(struct other *o) {
    assert_int_equal(pthread_create(&o->thread, NULL, run_other, o), 0);
}

static bool is_released(const struct other *o) {
    for (unsigned i = 0; i < 1000 && !atomic_load(&o->shared.released); i++) {
        usleep(10000);
    }
    return atomic_load(&o->shared.released);
}

static void each_thread_has_its_own_stalls(void **state) {
    const struct folder *f = *state;
    struct stallrec_config config = quick_config(f, 100);
    config.flags = STALLREC_PLAIN_JSON;
    struct stallrec *rec = start_recorder(&config);
    struct stallrec_loop *loop = stallrec_main_loop(rec);
    struct other *o = malloc(sizeof *o);
    char text[65536];
    stallrec_loop_sleep(loop);
    other_init(o, rec, 300);
    o->loop_at = "app+0x10";
    start_other(o);
    pthread_join(o->thread, NULL);
    assert_int_equal(o->added, STALLREC_OK);
    assert_true(is_released(o));
    assert_int_equal(dumps_in(f), 1);
    read_text(f, "stall-2", text, sizeof text);
    assert_non_null(strstr(text, "\"loop_at\":\"app+0x10\",\"thread\":{\"id\":"));
    assert_non_null(strstr(text, "\"name\":\"other\"}"));
    stallrec_loop_wake(loop); /* the first thread is watched as before */
    for (unsigned i = 0; i < 1000 && monitor_totals(rec).core.dumps < 2; i++) {
        usleep(10000);
    }
    stallrec_loop_sleep(loop);
    stallrec_stop(rec);
    assert_int_equal(dumps_in(f), 2);
    free(o);
}

static void stall_ends_with_its_thread(void **state) {
    const struct folder *f = *state;
    struct stallrec_config config = quick_config(f, 50);
    config.flags = STALLREC_PLAIN_JSON;
    struct stallrec *rec = start_recorder(&config);
    struct other *o = malloc(sizeof *o);
    other_init(o, rec, 0);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    assert_int_equal(monitor_add_thread(rec, &o->shared, stallrec_clock_ns()), STALLREC_OK);
    uint64_t begin = stallrec_clock_ns() / 1000000;
    stallrec_loop_wake(&o->loop);
    for (unsigned i = 0; i < 1000 && monitor_totals(rec).core.stalls == 0; i++) {
        usleep(10000);
    }
    uint64_t before = stallrec_clock_ns() / 1000000;
    atomic_store(&o->shared.ended_ns, stallrec_clock_ns() - UINT64_C(20000000));
    rec_loop_interrupt(stallrec_main_loop(NULL)); /* the monitor learns of the thread's end 20 ms
                                                     late */
    assert_true(is_released(o));
    stallrec_stop(rec);
    char text[65536];
    assert_int_equal(dumps_in(f), 1);
    read_text(f, "stall-2", text, sizeof text);
    const char *at = strstr(text, "\"duration_ms\":");
    assert_non_null(at);
    uint64_t lasted = 0;
    for (at = strchr(at, ':') + 1; *at >= '0' && *at <= '9'; at++) {
        lasted = lasted * 10 + (uint64_t)(*at - '0');
    }
    assert_in_range(lasted, 50, before - begin);
    free(o);
}

static void as_many_are_watched_as_is_said_and_places_are_used_again(void **state) {
    const struct folder *f = *state;
    struct stallrec *rec = start(f, 100);
    struct other *others = calloc(MONITOR_THREADS, sizeof *others);
    assert_non_null(others);
    for (unsigned i = 0; i < MONITOR_THREADS; i++) {
        other_init(&others[i], rec, 0);
        enum stallrec_error want = i < MONITOR_THREADS - 1 ? STALLREC_OK : STALLREC_ERR_RUNNING;
        assert_int_equal(monitor_add_thread(rec, &others[i].shared, stallrec_clock_ns()), want);
    }
    atomic_store(&others[3].shared.ended_ns, stallrec_clock_ns());
    rec_loop_interrupt(stallrec_main_loop(NULL));
    assert_true(is_released(&others[3]));
    other_init(&others[3], rec, 0);
    assert_int_equal(monitor_add_thread(rec, &others[3].shared, stallrec_clock_ns()), STALLREC_OK);
    stallrec_stop(rec);
    free(others);
}

static void what_another_thread_tells_reaches_its_core(void **state) {
    const struct folder *f = *state;
    struct stallrec_config config = quick_config(f, 60);
    struct stallrec *rec = start_recorder(&config);
    struct other *o = malloc(sizeof *o);
    other_init(o, rec, 0);
    stallrec_loop_sleep(stallrec_main_loop(rec));
    assert_int_equal(monitor_add_thread(rec, &o->shared, stallrec_clock_ns()), STALLREC_OK);
    uint64_t now = stallrec_clock_ns();
    const struct rec_event doubt = {.kind = REC_EVENT_DOUBT, .at_ns = now, .mark_ns = now};
    assert_true(rec_hooks_tell(&o->inbox, &doubt, 1));
    stallrec_loop_wake(&o->loop);
    usleep(300000); /* while there is doubt, nothing is judged */
    stallrec_loop_sleep(&o->loop);
    assert_int_equal(monitor_totals(rec).core.stalls, 0);
    stallrec_stop(rec);
    assert_int_equal(dumps_in(f), 0);
    free(o);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        T(each_thread_has_its_own_stalls),
        T(stall_ends_with_its_thread),
        T(as_many_are_watched_as_is_said_and_places_are_used_again),
        T(what_another_thread_tells_reaches_its_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
