/* Tests which waits are taken for the event loop's, both when they happen and afterwards. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "loop/loop_finder.h"

#define MS        UINT64_C(1000000)
#define THRESHOLD (250 * MS)

enum { LOOP = 0x1000, REPLY = 0x2000, START = 0x3000 };
enum { SHALLOW = 90000, DEEP = 50000, DEEPER = 40000 };

/* A simulated thread that waits, with a clock of its own. */
struct driver {
    struct loop_finder finder;
    uint64_t now;
    struct finder_interval idle[512]; /* the idle intervals, as the finder believes now */
    uint32_t idle_count;
    enum finder_verdict verdict;
    unsigned found, doubts;
};

static struct driver driver_named(bool (*allowed)(void *, uint64_t), void *ctx) {
    struct driver d = {.now = 1000 * MS};
    finder_init(&d.finder, THRESHOLD, allowed, ctx);
    return d;
}

static struct driver driver(void) {
    return driver_named(NULL, NULL);
}

static struct finder_object epoll_object(uint64_t fd) {
    return (struct finder_object){.kind = FINDER_EPOLL, .id = fd};
}

static struct finder_object set_of(uint32_t a, uint32_t b, uint64_t file) {
    struct finder_object o = {.kind = FINDER_SET, .lowest = a, .file = file};
    finder_set_add(&o, a);
    finder_set_add(&o, b);
    return o;
}

static struct finder_object condition(uint64_t address) {
    return (struct finder_object){.kind = FINDER_CONDITION, .id = address};
}

/* Replaces the idle intervals from the time on since which the finder has changed its decision. */
static void retell(struct driver *d) {
    uint64_t from;
    enum rec_past past;
    struct finder_interval idle[FINDER_RUNS];
    uint32_t count = finder_idle(&d->finder, idle, FINDER_RUNS, &from, &past);
    while (d->idle_count > 0 &&
           (past == REC_PAST_ANEW || d->idle[d->idle_count - 1].begin_ns >= from)) {
        d->idle_count--;
    }
    for (uint32_t i = 0; i < count; i++) {
        d->idle[d->idle_count++] = idle[i];
    }
}

static void take_news(struct driver *d) {
    enum finder_news news = finder_take_news(&d->finder);
    if (news == FINDER_FOUND) {
        retell(d);
    }
    d->found += news == FINDER_FOUND;
    d->doubts += news == FINDER_DOUBTS;
}

/* Lets the thread be busy for busy_ms, and then wait for wait_ms; 0: the wait does not block.
 * Returns the finder's verdict on the wait. */
static enum finder_verdict wait_for(struct driver *d, uint64_t busy_ms, uint64_t place,
                                    uint64_t depth, struct finder_object object, uint64_t wait_ms) {
    d->now += busy_ms * MS;
    const struct finder_wait wait = {.place = place,
                                     .depth = depth,
                                     .blocking = wait_ms > 0,
                                     .endless = object.kind == FINDER_CONDITION,
                                     .object = object};
    d->verdict = finder_begin(&d->finder, &wait, d->now);
    take_news(d);
    d->now += wait_ms * MS;
    if (wait_ms > 0) {
        finder_end(&d->finder, d->now);
    }
    if (d->verdict == FINDER_IDLE && finder_loop(&d->finder) != NULL && !d->finder.doubt &&
        d->idle_count < 512) {
        d->idle[d->idle_count++] =
            (struct finder_interval){.begin_ns = d->now - wait_ms * MS, .end_ns = d->now};
    }
    return d->verdict;
}

static void waits(struct driver *d, unsigned n, uint64_t place, uint64_t depth,
                  struct finder_object object) {
    for (unsigned i = 0; i < n; i++) {
        wait_for(d, 1, place, depth, object, 20);
    }
}

static uint64_t place_of(const struct driver *d) {
    const struct finder_candidate *loop = finder_loop(&d->finder);
    return loop != NULL ? loop->place : 0;
}

static void third_wait_makes_a_loop_and_the_earlier_ones_were_its_own(void **state) {
    (void)state;
    struct driver d = driver();
    struct finder_interval idle[4];
    uint64_t from;
    enum rec_past past;
    wait_for(&d, 2000, LOOP, SHALLOW, epoll_object(3), 30);
    wait_for(&d, 2000, LOOP, SHALLOW, epoll_object(3), 30);
    assert_int_equal(d.found, 0);
    wait_for(&d, 2000, LOOP, SHALLOW, epoll_object(3), 30);
    assert_int_equal(d.found, 1);
    assert_int_equal(d.verdict, FINDER_IDLE);
    assert_int_equal(finder_idle(&d.finder, idle, 4, &from, &past), 3);
    assert_int_equal(past, REC_PAST_ANEW);
    assert_int_equal(from, 0);
    assert_int_equal(idle[0].begin_ns, 3000 * MS);
    assert_int_equal(idle[0].end_ns, 3030 * MS);
    assert_int_equal(idle[1].begin_ns, 5030 * MS);
    assert_int_equal(idle[2].begin_ns, 7060 * MS);
}

static void short_waits_make_a_loop_once_there_are_many(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 40; i++) { /* the waits of a library that starts up */
        wait_for(&d, 1, REPLY, DEEP, set_of(3, 3, 0), 1);
    }
    assert_int_equal(place_of(&d), 0);
    for (unsigned i = 0; i < 400; i++) { /* the waits of a loop that blocks in one of ten turns */
        wait_for(&d, 1, START, SHALLOW, epoll_object(4), i % 10 == 0);
    }
    assert_int_equal(place_of(&d), 0);
    waits(&d, 2, START, SHALLOW, epoll_object(4));
    assert_int_equal(place_of(&d), START);
}

/* Rare waits on a condition variable come from a lock that is made of one, as Python's is, or from
 * helpers of a garbage collector. */
static void condition_that_idles_seldom_is_no_loop(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 200; i++) {
        wait_for(&d, 100, REPLY, DEEP, condition(0x77), 5);
    }
    finder_finish(&d.finder, d.now);
    assert_int_equal(place_of(&d), 0);
}

/* A browser's renderer with a busy page waits in this way: the pauses of stalls are calm for half
 * of the time. */
static void busy_loop_on_a_condition_is_found_by_its_calm_times(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 100; i++) {
        wait_for(&d, 60, LOOP, DEEP, condition(0x77), 20);
    }
    assert_int_equal(place_of(&d), 0);
    wait_for(&d, 1500, LOOP, DEEP, condition(0x77), 50);
    for (unsigned i = 0; i < 9; i++) {
        wait_for(&d, 2, LOOP, DEEP, condition(0x77), 50);
    }
    assert_int_equal(place_of(&d), LOOP);
    finder_finish(&d.finder, d.now);
    assert_int_equal(place_of(&d), LOOP);
}

/* The share of idle time counts from the first wait that the finder remembers. */
static void condition_that_was_forgotten_is_judged_by_later_waits(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 100; i++) {
        wait_for(&d, 60, LOOP, DEEP, condition(0x77), 20);
    }
    finder_forget_conditions(&d.finder);
    for (unsigned i = 0; i < 5; i++) {
        wait_for(&d, 20, LOOP, DEEP, condition(0x77), 30);
    }
    assert_int_equal(place_of(&d), LOOP);
}

static void place_that_waits_once_for_each_of_its_descriptors_is_none(void **state) {
    (void)state;
    struct driver d = driver();
    for (uint64_t file = 1; file < 10; file++) { /* one descriptor number, closed and opened again
                                                    for another file */
        wait_for(&d, 1, REPLY, DEEP, set_of(5, 5, file), 10);
    }
    finder_finish(&d.finder, d.now);
    take_news(&d);
    assert_int_equal(d.found, 0);
}

static void one_shallower_wait_does_not_hide_the_loop(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 1, START, SHALLOW, set_of(3, 3, 0));
    waits(&d, 3, LOOP, DEEP, set_of(4, 5, 0));
    assert_int_equal(place_of(&d), LOOP);
}

static void waits_that_a_busy_machine_makes_longer_decide_nothing_at_the_end(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 6; i++) { /* waits of 5 ms that end 4 ms late */
        wait_for(&d, 1, START, DEEP, set_of(3, 3, 0), 9);
    }
    wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 4, 0), 24); /* a wait of 20 ms that ends 4 ms late */
    wait_for(&d, 2000, LOOP, SHALLOW, set_of(3, 4, 0), 24);
    finder_finish(&d.finder, d.now);
    take_news(&d);
    assert_int_equal(place_of(&d), LOOP);
}

static void handler_that_polls_at_the_end_does_not_follow_the_loop(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 20; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, epoll_object(3), 100);
    }
    for (unsigned i = 0; i < 60; i++) {
        wait_for(&d, 1, REPLY, DEEP, set_of(4, 5, 0), 10);
    }
    finder_finish(&d.finder, d.now);
    assert_int_equal(place_of(&d), LOOP);
}

static void loop_that_returns_at_the_end_changes_nothing_before(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 4, START, DEEP, set_of(3, 3, 0));
    waits(&d, 20, LOOP, SHALLOW, epoll_object(4));
    assert_int_equal(place_of(&d), LOOP);
    uint64_t since_ns = d.now;
    for (unsigned i = 0; i < 25; i++) {
        wait_for(&d, 1, START, DEEP, set_of(3, 3, 0), 30);
    }
    assert_int_equal(place_of(&d), LOOP);
    finder_finish(&d.finder, d.now);
    assert_int_equal(place_of(&d), START);
    assert_int_equal(d.finder.past, REC_PAST_CONTINUES);
    assert_int_equal(d.finder.from_ns, since_ns);
}

static void two_waits_are_enough_at_the_end(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 6, START, DEEP, set_of(3, 3, 0)); /* the waits of a library that starts up */
    assert_int_equal(place_of(&d), START);
    wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 4, 0), 9000);
    assert_int_equal(d.doubts, 1);
    assert_int_equal(d.verdict, FINDER_IDLE);
    wait_for(&d, 2000, LOOP, SHALLOW, set_of(3, 4, 0), 9000);
    finder_finish(&d.finder, d.now);
    take_news(&d);
    assert_int_equal(place_of(&d), LOOP);
    struct finder_interval idle[4];
    uint64_t from;
    enum rec_past past;
    assert_int_equal(finder_idle(&d.finder, idle, 4, &from, &past), 2);
    assert_int_equal(past, REC_PAST_ANEW);
}

static void waits_of_the_start_up_lose_to_the_loop(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 9, START, DEEP, set_of(3, 3, 0));
    waits(&d, 3, LOOP, SHALLOW, set_of(3, 4, 0));
    assert_int_equal(place_of(&d), LOOP);
    assert_int_equal(wait_for(&d, 1, START, DEEP, set_of(3, 3, 0), 20), FINDER_PART);
}

static void nested_wait_on_another_instance_is_part_of_the_turn(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 5, LOOP, SHALLOW, epoll_object(3));
    assert_int_equal(wait_for(&d, 1, LOOP, DEEP, epoll_object(9), 900), FINDER_PART);
    assert_int_equal(wait_for(&d, 1, LOOP, DEEP, epoll_object(3), 20), FINDER_IDLE);
}

static void set_may_change_from_turn_to_turn(void **state) {
    (void)state;
    struct driver d = driver();
    for (uint32_t i = 3; i < 9; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, set_of(i, i + 1, 0), 20);
    }
    assert_int_equal(d.found, 1);
    assert_int_equal(wait_for(&d, 1, LOOP, DEEP, set_of(50, 51, 0), 20), FINDER_PART);
    assert_int_equal(wait_for(&d, 1, LOOP, DEEP, set_of(9, 51, 0), 20), FINDER_IDLE);
}

static void set_may_be_replaced_as_a_whole(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 6, LOOP, SHALLOW, set_of(3, 4, 0));
    uint64_t last = d.now;
    wait_for(&d, 700, LOOP, SHALLOW, set_of(40, 41, 0), 900);
    assert_int_equal(d.doubts, 1);
    waits(&d, 2, LOOP, SHALLOW, set_of(40, 41, 0));
    struct finder_interval idle[4];
    uint64_t from;
    enum rec_past past;
    assert_int_equal(d.found, 2);
    assert_false(d.finder.doubt);
    assert_int_equal(finder_idle(&d.finder, idle, 4, &from, &past), 1);
    assert_int_equal(past, REC_PAST_CONTINUES);
    assert_int_equal(from, last);
    assert_int_equal(idle[0].begin_ns, last + 700 * MS);
}

static void another_descriptor_of_the_same_file_is_the_loops(void **state) {
    (void)state;
    struct driver d = driver();
    for (uint32_t i = 0; i < 50; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, set_of(40 + i, 40 + i, 77), 20);
    }
    assert_int_equal(d.found, 1);
    assert_int_equal(d.doubts, 0);
    assert_int_equal(d.verdict, FINDER_IDLE);
}

static void other_descriptors_each_turn_never_make_a_stall(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 4, LOOP, SHALLOW, set_of(40, 40, 0));
    uint64_t last = d.now;
    for (uint32_t i = 0; i < 90; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, set_of(40 + i * 7 % 23, 40 + i * 7 % 23, 0), 200);
    }
    finder_finish(&d.finder, d.now);
    take_news(&d);
    for (uint32_t i = 1; i < d.idle_count; i++) {
        assert_true(d.idle[i].begin_ns - d.idle[i - 1].end_ns < THRESHOLD);
    }
    assert_true(d.finder.doubt || d.idle[d.idle_count - 1].end_ns > last);
}

/* An interpreter's program: its calls do not deepen the stack. */
static void wait_for_other_descriptors_by_the_loops_call_is_part_of_the_turn(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 20; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 3, 0), 100);
        wait_for(&d, 1, LOOP, SHALLOW, set_of(5, 5, 0), 10);
    }
    assert_false(d.finder.doubt);
    assert_int_equal(wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 3, 0), 100), FINDER_IDLE);
    uint64_t begin = d.now;
    assert_int_equal(wait_for(&d, 1, LOOP, SHALLOW, set_of(5, 5, 0), 700), FINDER_PART);
    assert_int_equal(wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 3, 0), 100), FINDER_IDLE);
    for (uint32_t i = 1; i < d.idle_count; i++) {
        uint64_t busy = d.idle[i].begin_ns - d.idle[i - 1].end_ns;
        assert_true(busy < 20 * MS || d.idle[i - 1].end_ns == begin);
    }
}

/* Either of the two waits may be the loop's, and either may be for replies. */
static void peers_that_wait_as_long_as_each_other_are_in_doubt_until_the_end(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 40; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 3, 0), 100);
        wait_for(&d, 1, LOOP, SHALLOW, set_of(5, 5, 0), 90);
    }
    finder_finish(&d.finder, d.now);
    take_news(&d);
    assert_true(d.finder.doubt);
    assert_true(d.now - d.idle[d.idle_count - 1].end_ns > 5000 * MS);
}

/* Descriptors 90 and more are closed. */
static bool is_below_90(void *ctx, uint32_t descriptor) {
    (void)ctx;
    return descriptor < 90;
}

static struct driver driver_that_asks(void) {
    struct driver d = driver();
    d.finder.is_open = is_below_90;
    return d;
}

/* Returns the ms of which it was told that it is not known whether the loop was idle, and sets
 * *stalls to the number of stalls between two intervals. */
static uint64_t unknown_ms(const struct driver *d, unsigned *stalls) {
    uint64_t ms = 0;
    *stalls = 0;
    for (uint32_t i = 0; i < d->idle_count; i++) {
        ms += d->idle[i].unknown ? (d->idle[i].end_ns - d->idle[i].begin_ns) / MS : 0;
        *stalls += i > 0 && d->idle[i].begin_ns >= d->idle[i - 1].end_ns + THRESHOLD;
    }
    return ms;
}

/* Makes 60 turns, each with a handler's short wait for a reply, or with none; in two of them it
 * waits ten times as long, at a greater depth if `deeper`. */
static struct driver overlapping_turns(struct finder_object own, bool quiet, bool deeper) {
    struct driver d = driver_that_asks();
    for (unsigned i = 0; i < 60; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 4, 0), 60);
        bool stalls = i == 20 || i == 40;
        for (unsigned k = 0; k < (stalls ? 10 : quiet ? 0 : 1); k++) {
            wait_for(&d, 1, LOOP, deeper ? DEEP : SHALLOW, own, stalls ? 200 : 3);
        }
    }
    finder_finish(&d.finder, d.now);
    take_news(&d);
    return d;
}

/* The handler waits beside the loop's wake-up pipe 3, at the place of all waits of an interpreter.
 */
static void time_of_waits_that_may_be_a_handlers_is_unknown(void **state) {
    (void)state;
    const struct finder_object own[] = {set_of(3, 5, 0), set_of(3, 3, 0), set_of(4, 4, 0)};
    for (unsigned i = 0; i < 12; i++) {
        struct driver d = overlapping_turns(own[i % 3], i / 3 % 2 == 0, i / 6 == 0);
        unsigned told;
        uint64_t ms = unknown_ms(&d, &told);
        assert_int_equal(told, 0);
        assert_true(ms >= 4000 && ms <= 4050);
        assert_false(d.finder.doubt);
    }
}

static void set_that_lost_a_closed_descriptor_is_the_loops(void **state) {
    (void)state;
    struct driver d = driver_that_asks();
    for (uint32_t i = 0; i < 30; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 90 + i, 0), 300);
        wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 3, 0), 300);
    }
    assert_int_equal(d.doubts, 0);
    assert_int_equal(d.verdict, FINDER_IDLE);
}

static void set_that_gains_a_descriptor_for_a_while_is_the_loops(void **state) {
    (void)state;
    struct driver d = driver_that_asks();
    waits(&d, 4, LOOP, SHALLOW, set_of(3, 4, 0));
    for (uint32_t i = 0; i < 30; i++) {
        struct finder_object more = set_of(3, 4, 0);
        finder_set_add(&more, 5);
        wait_for(&d, 1, LOOP, SHALLOW, i % 3 == 0 ? more : set_of(3, 4, 0), 300);
        assert_int_equal(d.verdict, FINDER_IDLE);
    }
    assert_int_equal(d.doubts, 0);
}

/* A descriptor that the loop has waited for many times belongs to the loop for good. */
static void descriptor_of_many_waits_belongs_to_the_core(void **state) {
    (void)state;
    struct driver d = driver_that_asks();
    waits(&d, 4, LOOP, SHALLOW, set_of(3, 3, 0));
    waits(&d, 40, LOOP, SHALLOW, set_of(3, 4, 0));
    wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 5, 0), 900);
    assert_int_equal(d.doubts, 1);
}

/* Three coroutines each wait on a set of their own, and the thread sleeps three times. */
static void sleeps_do_not_replace_a_loop_of_overlapping_sets(void **state) {
    (void)state;
    const struct finder_object sets[] = {set_of(3, 4, 0), set_of(3, 5, 0), set_of(3, 3, 0)};
    struct driver d = driver_that_asks();
    for (unsigned i = 0; i < 60; i++) {
        wait_for(&d, 1, LOOP, 0, sets[i % 3], 60);
        if (i == 20 || i == 36 || i == 50) {
            wait_for(&d, 1, REPLY, SHALLOW, set_of(9, 9, 0), 600);
        }
        assert_true(place_of(&d) == LOOP || place_of(&d) == 0);
    }
    finder_finish(&d.finder, d.now);
    take_news(&d);
    assert_int_equal(place_of(&d), LOOP);
}

/* The thread's work between a wait of the loop and a wait of which it is not known whose it is, is
 * judged as if the latter were the loop's. */
static void stall_beside_unknown_time_is_found(void **state) {
    (void)state;
    struct driver d = driver_that_asks();
    waits(&d, 9, LOOP, SHALLOW, set_of(3, 4, 0));
    wait_for(&d, 600, LOOP, SHALLOW, set_of(3, 5, 0), 400);
    wait_for(&d, 700, LOOP, SHALLOW, set_of(3, 4, 0), 30);
    finder_finish(&d.finder, d.now);
    take_news(&d);
    unsigned told;
    assert_int_equal(unknown_ms(&d, &told), 400);
    assert_int_equal(told, 2);
}

static void other_set_that_stays_is_a_loop_that_follows(void **state) {
    (void)state;
    struct driver d = driver_that_asks();
    waits(&d, 9, LOOP, SHALLOW, set_of(3, 4, 0));
    for (unsigned i = 0; i < 20; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 5, 0), 200);
    }
    unsigned told;
    assert_false(d.finder.doubt);
    assert_int_equal(unknown_ms(&d, &told), 0);
    /* The other set was no loop: the first loop comes back, and the idle times that were told are
     * taken back. */
    waits(&d, 9, LOOP, SHALLOW, set_of(3, 4, 0));
    assert_true(unknown_ms(&d, &told) >= 4000);
    assert_int_equal(told, 0);
}

/* The thread is watched by samples. */
static void one_long_wait_that_is_told_as_several_is_no_other_loop(void **state) {
    (void)state;
    struct driver d = driver();
    d.finder.repeats = true;
    waits(&d, 9, LOOP, SHALLOW, set_of(3, 3, 0));
    waits(&d, 9, LOOP, SHALLOW, set_of(5, 5, 0));
    assert_int_equal(d.found, 1);
    assert_true(d.finder.doubt);
}

/* The thread waits as Python does, by select, which needs much stack, and for its sockets, deeper
 * in the program but with less stack. */
static void shallower_wait_after_each_of_the_loops_does_not_replace_it(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 40; i++) {
        wait_for(&d, 1, LOOP, DEEP, set_of(3, 3, 0), i == 20 ? 2000 : 100);
        wait_for(&d, 1, REPLY, SHALLOW, set_of(5, 5, 0), 1);
        assert_true(place_of(&d) == LOOP || place_of(&d) == 0);
    }
}

static void handler_that_polls_does_not_replace_the_loop(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 40; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 3, 0), 100);
        for (unsigned k = 0; k < (i == 20 ? 700 : i % 5); k++) {
            wait_for(&d, 0, REPLY, SHALLOW - 64, set_of(5, 5, 0), 1);
            assert_true(i < 4 || d.verdict == FINDER_PART);
        }
    }
    assert_int_equal(d.found, 1);
}

static void poll_that_does_not_wait_is_a_turn_at_the_loops_own_depth_only(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(wait_for(&d, 1, LOOP, SHALLOW, set_of(0, 1, 0), 0), FINDER_PART);
    }
    assert_int_equal(d.found, 0);
    waits(&d, 4, LOOP, SHALLOW, set_of(0, 1, 0));
    assert_int_equal(wait_for(&d, 1, LOOP, SHALLOW, set_of(0, 1, 0), 0), FINDER_TURN);
    assert_int_equal(wait_for(&d, 1, LOOP, DEEP, set_of(0, 1, 0), 0), FINDER_PART);
}

static void wait_for_a_reply_deeper_down_never_becomes_one(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 4, LOOP, SHALLOW, epoll_object(3));
    for (unsigned i = 0; i < 100; i++) {
        wait_for(&d, 1, REPLY, DEEP, set_of(8, 8, 0), 1);
        assert_int_equal(d.verdict, FINDER_PART);
        wait_for(&d, 1, LOOP, SHALLOW, epoll_object(3), 1);
    }
    assert_int_equal(d.found, 1);
}

static void loop_that_follows_another_is_told_from_its_first_wait(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 9, LOOP, SHALLOW, set_of(3, 3, 0));
    uint64_t last = d.now;
    wait_for(&d, 700, REPLY, SHALLOW - 64, set_of(6, 6, 0), 20);
    assert_int_equal(d.verdict, FINDER_PART);
    waits(&d, 2, REPLY, SHALLOW - 64, set_of(6, 6, 0));
    struct finder_interval idle[4];
    uint64_t from;
    enum rec_past past;
    assert_int_equal(d.found, 2);
    assert_int_equal(finder_idle(&d.finder, idle, 4, &from, &past), 1);
    assert_int_equal(past, REC_PAST_CONTINUES);
    assert_int_equal(from, last);
    assert_int_equal(idle[0].begin_ns, last + 700 * MS);
}

static void library_that_waits_at_many_depths_is_no_loop(void **state) {
    (void)state;
    struct driver d = driver();
    for (uint64_t i = 0; i < 90; i++) { /* libxcb waits so while Qt starts */
        wait_for(&d, 1, START, DEEP - i * 16, set_of(3, 3, 0), 1);
    }
    assert_int_equal(place_of(&d), 0);
    waits(&d, 3, LOOP, SHALLOW, set_of(5, 5, 0));
    for (uint64_t i = 0; i < 20; i++) { /* libxcb waits so at the program's end, too */
        wait_for(&d, 1, START, SHALLOW + 64 + i * 16, set_of(3, 3, 0), 1);
    }
    finder_finish(&d.finder, d.now);
    take_news(&d);
    assert_int_equal(place_of(&d), LOOP);
}

static void library_that_waits_a_little_deeper_is_no_successor(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 6, START, SHALLOW - 200, set_of(3, 3, 0));
    waits(&d, 3, LOOP, SHALLOW, set_of(3, 4, 0));
    struct finder_interval idle[4];
    uint64_t from;
    enum rec_past past;
    assert_int_equal(finder_idle(&d.finder, idle, 4, &from, &past), 1);
    assert_int_equal(past, REC_PAST_ANEW);
    waits(&d, 5, START, SHALLOW - 200, set_of(3, 3, 0));
    finder_finish(&d.finder, d.now);
    take_news(&d);
    assert_int_equal(place_of(&d), LOOP);
}

static void successor_that_was_none_is_taken_back(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 4, LOOP, SHALLOW, set_of(3, 3, 0));
    uint64_t last = d.now;
    waits(&d, 20, REPLY, DEEP, set_of(6, 6, 0));
    assert_int_equal(place_of(&d), REPLY);
    wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 3, 0), 20);
    assert_int_equal(place_of(&d), LOOP);
    struct finder_interval idle[4];
    uint64_t from;
    enum rec_past past;
    assert_int_equal(finder_idle(&d.finder, idle, 4, &from, &past), 1);
    assert_int_equal(past, REC_PAST_CONTINUES);
    assert_int_equal(from, last);
    assert_int_equal(idle[0].begin_ns, d.now - 20 * MS);
}

/* Is there an idle interval that touches the time from begin_ns to end_ns? */
static bool idles_between(const struct driver *d, uint64_t begin_ns, uint64_t end_ns) {
    for (uint32_t i = 0; i < d->idle_count; i++) {
        if (d->idle[i].begin_ns < end_ns && d->idle[i].end_ns > begin_ns) {
            return true;
        }
    }
    return false;
}

/* Simulates an interpreter's handler that waits by another function than the loop, from the same
 * frame: its stack is a little shallower or deeper. */
static void handler_waits_beside_the_loop(uint64_t handler_depth) {
    enum { STALLS = 4, IDLE_WAITS = 12 };
    struct driver d = driver();
    uint64_t begin[STALLS], end[STALLS], idle_end = 0;
    waits(&d, IDLE_WAITS, LOOP, SHALLOW, set_of(3, 4, 0));
    for (unsigned i = 0; i < STALLS; i++) {
        begin[i] = d.now + 1;
        for (unsigned slice = 0; slice < 6; slice++) {
            wait_for(&d, 1, REPLY, handler_depth, set_of(8, 8, 0), 100);
        }
        end[i] = d.now;
        for (unsigned n = 0; n < IDLE_WAITS; n++) {
            wait_for(&d, 1, LOOP, SHALLOW, set_of(3, 4, 0), 60);
        }
        idle_end = d.now;
        assert_int_equal(place_of(&d), LOOP);
        assert_true(idles_between(&d, end[i] + 100 * MS, idle_end));
    }
    for (unsigned i = 0; i < STALLS; i++) {
        assert_false(idles_between(&d, begin[i], end[i]));
        assert_true(idles_between(&d, end[i], end[i] + 100 * MS));
    }
}

static void handler_that_waits_in_slices_beside_the_loop_is_part_of_the_turn(void **state) {
    (void)state;
    handler_waits_beside_the_loop(SHALLOW + 160);
    handler_waits_beside_the_loop(SHALLOW - 160);
}

static bool every_descriptor_is_open(void *ctx, uint32_t descriptor) {
    (void)ctx, (void)descriptor;
    return true;
}

static void other_loop_that_waited_longer_leaves_unknown_time_to_the_first(void **state) {
    (void)state;
    struct driver d = driver();
    d.finder.is_open = every_descriptor_is_open;
    waits(&d, 4, LOOP, SHALLOW, set_of(3, 4, 0));
    uint64_t begin = d.now;
    for (unsigned i = 0; i < 30; i++) {
        wait_for(&d, 1, REPLY, SHALLOW - 160, set_of(8, 8, 0), 100);
    }
    uint64_t end = d.now;
    assert_int_equal(place_of(&d), REPLY);
    waits(&d, 4, LOOP, SHALLOW, set_of(3, 4, 0));
    assert_int_equal(place_of(&d), LOOP);
    bool unknown = false;
    for (uint32_t i = 0; i < d.idle_count; i++) {
        if (d.idle[i].begin_ns >= begin && d.idle[i].begin_ns < end) {
            assert_true(d.idle[i].unknown);
            unknown = true;
        }
    }
    assert_true(unknown);
}

/* Simulates a thread of a pool that waits for work on a condition variable, deeper than it waits
 * for descriptors while it works, and last for idle_ms. Returns the ms that are told as unknown. */
static uint64_t pool_waits(struct driver *d, uint64_t idle_ms) {
    uint64_t unknown_ns = 0;
    d->finder.is_open = every_descriptor_is_open;
    for (unsigned client = 0; client < 3; client++) {
        wait_for(d, 1, REPLY, DEEP, condition(7), client == 0 ? 100 : 5);
        waits(d, 8, LOOP, SHALLOW, set_of(3, 4, 0));
    }
    wait_for(d, 1, REPLY, DEEP, condition(7), idle_ms);
    finder_finish(&d->finder, d->now);
    take_news(d);
    for (uint32_t i = 0; i < d->idle_count; i++) {
        unknown_ns += d->idle[i].unknown ? d->idle[i].end_ns - d->idle[i].begin_ns : 0;
    }
    return unknown_ns / MS;
}

static void thread_of_a_pool_may_idle_at_a_condition(void **state) {
    (void)state;
    struct driver d = driver();
    d.finder.pooled = true;
    assert_int_equal(pool_waits(&d, 5000), 5001);
    assert_int_equal(place_of(&d), LOOP);
}

static void main_thread_waits_for_its_worker_at_a_condition(void **state) {
    (void)state;
    struct driver d = driver();
    assert_int_equal(pool_waits(&d, 5000), 0);
    assert_int_equal(place_of(&d), LOOP);
}

static void thread_that_first_waits_for_descriptors_waits_for_its_worker(void **state) {
    (void)state;
    struct driver d = driver();
    d.finder.pooled = true;
    waits(&d, 4, LOOP, SHALLOW, set_of(3, 4, 0));
    assert_int_equal(pool_waits(&d, 5000), 0);
    d = driver();
    d.finder.pooled = d.finder.late = true; /* its earlier waits were not seen */
    waits(&d, 4, LOOP, SHALLOW, set_of(3, 4, 0));
    assert_int_equal(pool_waits(&d, 5000), 5001);
}

static void earlier_waits_deeper_down_at_its_place_were_the_loops(void **state) {
    (void)state;
    struct driver d = driver();
    wait_for(&d, 1, LOOP, DEEP, set_of(3, 4, 0), 600);
    wait_for(&d, 1, LOOP, DEEP, set_of(3, 4, 0), 600);
    wait_for(&d, 1, REPLY, DEEP, set_of(8, 8, 0), 20);
    wait_for(&d, 500, LOOP, DEEPER, set_of(3, 4, 0), 20);
    wait_for(&d, 500, LOOP, DEEPER, set_of(9, 9, 0), 20); /* a wait on another object */
    for (unsigned i = 0; i < 3; i++) {
        wait_for(&d, 500, LOOP, SHALLOW, set_of(3, 4, 0), 20);
    }
    struct finder_interval idle[8];
    uint64_t from;
    enum rec_past past;
    assert_int_equal(place_of(&d), LOOP);
    assert_int_equal(finder_idle(&d.finder, idle, 8, &from, &past), 4);
    assert_int_equal(past, REC_PAST_ANEW);
    assert_int_equal(idle[0].begin_ns, 1001 * MS);
    assert_int_equal(idle[0].end_ns, 2202 * MS);
    assert_int_equal(idle[1].begin_ns, 3763 * MS); /* the short wait between is not the loop's */
}

static void condition_counts_only_without_descriptors(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 9, START, DEEP, condition(0x77));
    assert_int_equal(place_of(&d), START);
    waits(&d, 3, LOOP, DEEPER, epoll_object(3));
    assert_int_equal(place_of(&d), LOOP);
    waits(&d, 99, START, SHALLOW, condition(0x77));
    assert_int_equal(d.verdict, FINDER_PART);
    assert_int_equal(place_of(&d), LOOP);
}

/* Waits as Swing's event thread does: it waits for replies of the X server while it starts, then on
 * a condition variable. */
static void start_on_conditions(struct driver *d) {
    wait_for(d, 1, REPLY, DEEP, condition(0x77), 3);
    for (unsigned i = 0; i < 40; i++) {
        wait_for(d, i == 20 ? 600 : 1, START, DEEP, set_of(3, 3, 0), i % 4 == 0);
    }
    for (unsigned i = 0; i < 9; i++) {
        wait_for(d, 5, LOOP, DEEPER, condition(0x99), 45);
    }
}

static void condition_replaces_descriptors_that_were_waited_for_once(void **state) {
    (void)state;
    struct driver d = driver();
    start_on_conditions(&d);
    struct finder_interval idle[4];
    uint64_t from;
    enum rec_past past;
    assert_int_equal(place_of(&d), LOOP);
    assert_int_equal(finder_idle(&d.finder, idle, 4, &from, &past), 1);
    assert_int_equal(past, REC_PAST_ANEW);
    assert_int_equal(d.verdict, FINDER_IDLE);
    uint64_t from_now = d.now;
    for (unsigned i = 0; i < 12; i++) { /* the thread waits for replies once more */
        wait_for(&d, 30, START, SHALLOW, set_of(3, 3, 0), 1);
    }
    for (unsigned i = 0; i < 9; i++) {
        wait_for(&d, 5, LOOP, DEEPER, condition(0x99), 45);
    }
    assert_int_equal(place_of(&d), LOOP);
    assert_false(d.finder.doubt);
    bool told = false; /* the waits for replies are part of one turn, between two waits of the
                          loop */
    for (uint32_t i = 0; i < d.idle_count; i++) {
        told = told || d.idle[i].begin_ns == from_now + 377 * MS;
        assert_true(d.idle[i].end_ns <= from_now || d.idle[i].begin_ns >= from_now + 377 * MS);
    }
    assert_true(told);
}

static void descriptors_that_idle_again_take_all_since_back(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 12; i++) {
        wait_for(&d, 1, START, SHALLOW, epoll_object(3), 5);
    }
    uint64_t last = d.now;
    for (unsigned i = 0; i < 20; i++) { /* within one turn, the thread waits for a worker's
                                           answers */
        wait_for(&d, 5, LOOP, DEEPER, condition(0x99), 45);
    }
    assert_int_equal(place_of(&d), LOOP);
    uint64_t end = d.now + MS;
    for (unsigned i = 0; i < 3; i++) {
        wait_for(&d, 1, START, SHALLOW, epoll_object(3), 60);
    }
    struct finder_interval idle[4];
    uint64_t from;
    enum rec_past past;
    assert_int_equal(place_of(&d), START);
    assert_int_equal(finder_idle(&d.finder, idle, 4, &from, &past), 1);
    assert_int_equal(past, REC_PAST_CONTINUES);
    assert_int_equal(from, last);
    assert_int_equal(idle[0].begin_ns, end);
}

static void descriptors_that_never_idle_replace_a_condition(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 9, LOOP, DEEP, condition(0x77));
    for (unsigned i = 0; i < 400; i++) {
        wait_for(&d, 3, START, SHALLOW, epoll_object(3), i % 8 == 0);
    }
    assert_int_equal(place_of(&d), START);
    assert_int_equal(d.verdict, FINDER_TURN);
}

/* The main thread asks a worker while it starts, and then once in each turn of its loop. */
static void descriptors_that_ask_a_worker_each_turn_replace_the_condition(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 8, REPLY, DEEP, condition(0x77));
    assert_int_equal(place_of(&d), REPLY);
    for (unsigned i = 0; i < 20; i++) {
        wait_for(&d, 1, LOOP, DEEPER, set_of(3, 3, 0), 30);
        wait_for(&d, 1, REPLY, DEEP, condition(0x77), 2);
    }
    assert_int_equal(place_of(&d), LOOP);
    assert_int_equal(wait_for(&d, 1, REPLY, DEEP, condition(0x77), 700), FINDER_PART);
    assert_int_equal(wait_for(&d, 1, LOOP, DEEPER, set_of(3, 3, 0), 30), FINDER_IDLE);
}

static void condition_that_polls_for_a_reply_each_turn_stays(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 8, LOOP, SHALLOW, condition(0x77));
    for (unsigned i = 0; i < 100; i++) {
        wait_for(&d, 1, REPLY, DEEP, set_of(3, 3, 0), 2);
        wait_for(&d, 1, LOOP, SHALLOW, condition(0x77), 30);
    }
    assert_int_equal(place_of(&d), LOOP);
    assert_int_equal(d.verdict, FINDER_IDLE);
}

static void coroutine_that_waits_for_a_reply_does_not_replace_the_loop_of_another(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 80, LOOP, 0, set_of(3, 3, 0));
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(wait_for(&d, 1, REPLY, 0, set_of(5, 5, 0), 100), FINDER_PART);
    }
    assert_int_equal(wait_for(&d, 1, LOOP, 0, set_of(3, 3, 0), 20), FINDER_IDLE);
    assert_int_equal(place_of(&d), LOOP);
}

static void two_places_of_one_loop_are_both_its_own(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < FINDER_QUALIFIES; i++) {
        wait_for(&d, 1, LOOP, SHALLOW, epoll_object(3), 20);
        wait_for(&d, 1, LOOP + 64, SHALLOW, epoll_object(3), 20);
    }
    assert_int_equal(d.found, 1);
    assert_int_equal(d.verdict, FINDER_IDLE);
    assert_int_equal(wait_for(&d, 1, LOOP, SHALLOW, epoll_object(3), 20), FINDER_IDLE);
}

static void old_belief_is_not_judged_from_the_start(void **state) {
    (void)state;
    struct driver d = driver();
    for (unsigned i = 0; i < 20; i++) {
        wait_for(&d, 1, LOOP, DEEP, epoll_object(3), 1000);
    }
    uint64_t last = d.now;
    /* These waits are as short as waits for replies are. */
    waits(&d, 3, START, SHALLOW, epoll_object(5));
    assert_int_equal(d.finder.doubt, true);
    wait_for(&d, 1, START, SHALLOW, epoll_object(5), 100);
    wait_for(&d, 1, START, SHALLOW, epoll_object(5), 100);
    struct finder_interval idle[4];
    uint64_t from;
    enum rec_past past;
    assert_int_equal(finder_idle(&d.finder, idle, 4, &from, &past), 1);
    assert_int_equal(past, REC_PAST_GIVEN_UP);
    assert_int_equal(from, last);
}

static bool is_reply(void *ctx, uint64_t place) {
    ++*(unsigned *)ctx;
    return place == REPLY;
}

static void place_that_is_not_allowed_is_asked_about_once(void **state) {
    (void)state;
    unsigned asked = 0;
    struct driver d = driver_named(is_reply, &asked);
    waits(&d, 10, LOOP, SHALLOW, epoll_object(3));
    assert_int_equal(d.verdict, FINDER_PART);
    waits(&d, 3, REPLY, DEEP, epoll_object(4));
    assert_int_equal(place_of(&d), REPLY);
    assert_int_equal(asked, 2);
}

/* Simulates a thread: the start-up of a library, a loop, replies in it, and a modal loop. If the
 * loop is pinned to the place that is found without pinning, the stalls are the same in the end. */
static void record(struct driver *d) {
    waits(d, 5, START, DEEP, set_of(3, 3, 0));
    for (unsigned i = 0; i < 30; i++) {
        wait_for(d, i % 7 == 0 ? 400 : 3, LOOP, SHALLOW, set_of(3, 4, 0), 300);
        if (i % 5 == 0) {
            waits(d, i, START, DEEPER - 64, set_of(3, 3, 0));
        }
        if (i % 11 == 0) {
            waits(d, 4, LOOP, DEEPER, set_of(3, 5, 0));
        }
    }
    finder_finish(&d->finder, d->now);
    take_news(d);
}

/* Sets `out` to the begin and the length in ms of each of the driver's stalls, at most 64, and
 * returns their number. */
static uint32_t stalls(const struct driver *d, uint64_t out[64][2]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < d->idle_count && count < 64; i++) {
        uint64_t begin = d->idle[i].end_ns, end = d->idle[i + 1].begin_ns;
        if (end >= begin + THRESHOLD) {
            out[count][0] = begin / MS;
            out[count++][1] = (end - begin) / MS;
        }
    }
    return count;
}

static bool is_loop(void *ctx, uint64_t place) {
    (void)ctx;
    return place == LOOP;
}

static void pinned_loop_is_judged_as_the_one_that_is_found(void **state) {
    (void)state;
    struct driver found = driver(), pinned = driver_named(is_loop, NULL);
    record(&found);
    record(&pinned);
    const struct finder_candidate *a = finder_loop(&found.finder), *b = finder_loop(&pinned.finder);
    uint64_t found_stalls[64][2], pinned_stalls[64][2];
    assert_int_equal(a->place, LOOP);
    assert_int_equal(b->place, LOOP);
    assert_int_equal(stalls(&found, found_stalls), 6);
    assert_int_equal(stalls(&pinned, pinned_stalls), 6);
    assert_memory_equal(found_stalls, pinned_stalls, 6 * sizeof *found_stalls);
}

static void full_tables_keep_the_loop(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 4, LOOP, SHALLOW, epoll_object(3));
    for (unsigned i = 0; i < 4 * FINDER_CANDIDATES; i++) {
        wait_for(&d, 300, 0x100000 + i * 16, DEEP, epoll_object(100 + i), 1);
    }
    assert_int_equal(wait_for(&d, 1, LOOP, SHALLOW, epoll_object(3), 1), FINDER_IDLE);
    assert_true(d.finder.count <= FINDER_CANDIDATES);
    assert_true(d.finder.run_count <= FINDER_RUNS);
    assert_true(d.finder.log_ns > 0);
}

static struct finder_object epoll_instance(uint64_t fd, uint64_t birth) {
    struct finder_object o = epoll_object(fd);
    o.file = birth;
    return o;
}

static void an_instance_with_the_number_of_the_loops_is_another_one_deeper_down(void **state) {
    (void)state;
    struct driver d = driver();
    waits(&d, 8, LOOP, SHALLOW, epoll_instance(5, 1));
    assert_int_equal(wait_for(&d, 1, LOOP, DEEP, epoll_instance(5, 2), 600), FINDER_PART);
    assert_int_equal(wait_for(&d, 1, LOOP, DEEP, epoll_instance(5, 1), 600), FINDER_IDLE);
    /* At its own place and depth the loop has made its instance anew. */
    assert_int_equal(wait_for(&d, 1, LOOP, SHALLOW, epoll_instance(5, 3), 20), FINDER_IDLE);
    assert_int_equal(wait_for(&d, 1, LOOP, DEEP, epoll_instance(5, 0), 600), FINDER_IDLE);
    assert_int_equal(d.doubts, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(third_wait_makes_a_loop_and_the_earlier_ones_were_its_own),
        cmocka_unit_test(short_waits_make_a_loop_once_there_are_many),
        cmocka_unit_test(condition_that_idles_seldom_is_no_loop),
        cmocka_unit_test(busy_loop_on_a_condition_is_found_by_its_calm_times),
        cmocka_unit_test(condition_that_was_forgotten_is_judged_by_later_waits),
        cmocka_unit_test(place_that_waits_once_for_each_of_its_descriptors_is_none),
        cmocka_unit_test(one_shallower_wait_does_not_hide_the_loop),
        cmocka_unit_test(two_waits_are_enough_at_the_end),
        cmocka_unit_test(handler_that_polls_at_the_end_does_not_follow_the_loop),
        cmocka_unit_test(loop_that_returns_at_the_end_changes_nothing_before),
        cmocka_unit_test(waits_that_a_busy_machine_makes_longer_decide_nothing_at_the_end),
        cmocka_unit_test(waits_of_the_start_up_lose_to_the_loop),
        cmocka_unit_test(nested_wait_on_another_instance_is_part_of_the_turn),
        cmocka_unit_test(set_may_change_from_turn_to_turn),
        cmocka_unit_test(set_may_be_replaced_as_a_whole),
        cmocka_unit_test(another_descriptor_of_the_same_file_is_the_loops),
        cmocka_unit_test(other_descriptors_each_turn_never_make_a_stall),
        cmocka_unit_test(wait_for_other_descriptors_by_the_loops_call_is_part_of_the_turn),
        cmocka_unit_test(peers_that_wait_as_long_as_each_other_are_in_doubt_until_the_end),
        cmocka_unit_test(time_of_waits_that_may_be_a_handlers_is_unknown),
        cmocka_unit_test(set_that_lost_a_closed_descriptor_is_the_loops),
        cmocka_unit_test(set_that_gains_a_descriptor_for_a_while_is_the_loops),
        cmocka_unit_test(descriptor_of_many_waits_belongs_to_the_core),
        cmocka_unit_test(sleeps_do_not_replace_a_loop_of_overlapping_sets),
        cmocka_unit_test(stall_beside_unknown_time_is_found),
        cmocka_unit_test(other_set_that_stays_is_a_loop_that_follows),
        cmocka_unit_test(one_long_wait_that_is_told_as_several_is_no_other_loop),
        cmocka_unit_test(shallower_wait_after_each_of_the_loops_does_not_replace_it),
        cmocka_unit_test(handler_that_polls_does_not_replace_the_loop),
        cmocka_unit_test(poll_that_does_not_wait_is_a_turn_at_the_loops_own_depth_only),
        cmocka_unit_test(wait_for_a_reply_deeper_down_never_becomes_one),
        cmocka_unit_test(loop_that_follows_another_is_told_from_its_first_wait),
        cmocka_unit_test(library_that_waits_at_many_depths_is_no_loop),
        cmocka_unit_test(library_that_waits_a_little_deeper_is_no_successor),
        cmocka_unit_test(successor_that_was_none_is_taken_back),
        cmocka_unit_test(handler_that_waits_in_slices_beside_the_loop_is_part_of_the_turn),
        cmocka_unit_test(other_loop_that_waited_longer_leaves_unknown_time_to_the_first),
        cmocka_unit_test(thread_of_a_pool_may_idle_at_a_condition),
        cmocka_unit_test(main_thread_waits_for_its_worker_at_a_condition),
        cmocka_unit_test(thread_that_first_waits_for_descriptors_waits_for_its_worker),
        cmocka_unit_test(earlier_waits_deeper_down_at_its_place_were_the_loops),
        cmocka_unit_test(condition_counts_only_without_descriptors),
        cmocka_unit_test(condition_replaces_descriptors_that_were_waited_for_once),
        cmocka_unit_test(descriptors_that_idle_again_take_all_since_back),
        cmocka_unit_test(descriptors_that_never_idle_replace_a_condition),
        cmocka_unit_test(descriptors_that_ask_a_worker_each_turn_replace_the_condition),
        cmocka_unit_test(condition_that_polls_for_a_reply_each_turn_stays),
        cmocka_unit_test(coroutine_that_waits_for_a_reply_does_not_replace_the_loop_of_another),
        cmocka_unit_test(two_places_of_one_loop_are_both_its_own),
        cmocka_unit_test(old_belief_is_not_judged_from_the_start),
        cmocka_unit_test(place_that_is_not_allowed_is_asked_about_once),
        cmocka_unit_test(pinned_loop_is_judged_as_the_one_that_is_found),
        cmocka_unit_test(full_tables_keep_the_loop),
        cmocka_unit_test(an_instance_with_the_number_of_the_loops_is_another_one_deeper_down),
    };
    return cmocka_run_group_tests_name("loop_finder", tests, NULL, NULL);
}
