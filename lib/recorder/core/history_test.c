/* Tests the history of samples that are kept until the loop is known. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "core/history.h"

enum { CAP = 2, RING = 4 };

static uint64_t frames[2 * REC_HISTORY * CAP], ring_frames[2 * RING * CAP];
static struct rec_kept_stack kept[REC_HISTORY];
static struct rec_slot slots[RING];

static struct rec_history empty_history(void) {
    return (struct rec_history){.kept = kept, .frames = frames, .cap = CAP};
}

static struct rec_ring empty_ring(void) {
    for (uint32_t i = 0; i < RING; i++) {
        uint64_t *at = ring_frames + (size_t)2 * CAP * i;
        slots[i].stack = (struct rec_stack){.frames = at, .starts = at + CAP, .cap = CAP};
    }
    return (struct rec_ring){.slots = slots, .cap = RING};
}

static void add(struct rec_history *history, uint64_t frame, uint64_t at_ns) {
    uint64_t start = frame & ~UINT64_C(15);
    const struct rec_stack stack = {.frames = &frame, .starts = &start, .cap = 1, .count = 1};
    rec_history_add(history, &stack, at_ns);
}

static uint64_t frame_of(const struct rec_ring *ring, uint32_t i) {
    return rec_ring_at(ring, i)->stack.frames[0];
}

static void samples_of_a_time_are_recalled_in_order(void **state) {
    (void)state;
    struct rec_history history = empty_history();
    struct rec_ring ring = empty_ring();
    add(&history, 0x101, 100);
    add(&history, 0x102, 200);
    add(&history, 0x103, 300);
    rec_history_recall(&history, 150, 300, &ring);
    assert_int_equal(ring.count, 2);
    assert_int_equal(frame_of(&ring, 0), 0x102);
    assert_int_equal(frame_of(&ring, 1), 0x103);
    assert_int_equal(rec_ring_at(&ring, 0)->stack.starts[0], 0x100);
}

static void a_full_ring_keeps_the_share_of_each_stack(void **state) {
    (void)state;
    struct rec_history history = empty_history();
    struct rec_ring ring = empty_ring();
    for (uint64_t t = 0; t < 40; t++) {
        add(&history, t < 30 ? 0x101 : 0x102, t * 50);
    }
    assert_int_equal(history.count, 2);
    rec_history_recall(&history, 0, 2000, &ring);
    assert_int_equal(ring.count, 4);
    assert_int_equal(frame_of(&ring, 2), 0x101);
    assert_int_equal(frame_of(&ring, 3), 0x102);
}

static void a_stack_counts_for_the_part_that_is_asked_for(void **state) {
    (void)state;
    struct rec_history history = empty_history();
    struct rec_ring ring = empty_ring();
    add(&history, 0x101, 0);
    rec_history_extend(&history, 1000, 50);
    assert_int_equal(kept[0].count, 21);
    rec_history_recall(&history, 900, 1000, &ring);
    assert_int_equal(ring.count, 3);
    ring = empty_ring();
    rec_history_recall(&history, 1001, 2000, &ring);
    assert_int_equal(ring.count, 0);
}

static void the_oldest_stacks_go_first(void **state) {
    (void)state;
    struct rec_history history = empty_history();
    struct rec_ring ring = empty_ring();
    for (uint64_t i = 0; i < REC_HISTORY + 2; i++) {
        add(&history, 0x1000 + i * 16, i * 50);
    }
    rec_history_recall(&history, 0, 50, &ring);
    assert_int_equal(ring.count, 0);
    rec_history_recall(&history, 100, 100, &ring);
    assert_int_equal(frame_of(&ring, 0), 0x1020);
    rec_history_clear(&history);
    ring = empty_ring();
    rec_history_recall(&history, 0, UINT64_MAX, &ring);
    assert_int_equal(ring.count, 0);
}

static void add_input(struct rec_history *history, uint64_t frame, uint64_t at_ns) {
    const struct rec_stack stack = {
        .frames = &frame, .starts = &frame, .cap = 1, .count = 1, .rest = REC_REST_INPUT};
    rec_history_add(history, &stack, at_ns);
}

static void a_wait_for_input_is_found_and_not_recalled(void **state) {
    (void)state;
    struct rec_history history = empty_history();
    struct rec_ring ring = empty_ring();
    uint64_t begin = 0, end = 0;
    add(&history, 0x101, 100);
    assert_null(rec_history_rest(&history, REC_REST_UNCLEAR, 0, 1000, &begin, &end));
    add_input(&history, 0x101, 150); /* the same code, but it waits */
    add_input(&history, 0x101, 250);
    add(&history, 0x101, 300);
    add_input(&history, 0x201, 350);
    assert_non_null(rec_history_rest(&history, REC_REST_UNCLEAR, 0, 1000, &begin, &end));
    assert_int_equal(begin, 150);
    assert_int_equal(end, 250);
    assert_non_null(rec_history_rest(&history, REC_REST_UNCLEAR, 200, 230, &begin, &end));
    assert_int_equal(begin, 200);
    assert_int_equal(end, 230);
    assert_non_null(rec_history_rest(&history, REC_REST_UNCLEAR, 250, 1000, &begin, &end));
    assert_int_equal(begin, 350);
    assert_null(rec_history_rest(&history, REC_REST_UNCLEAR, 350, 1000, &begin, &end));
    assert_null(rec_history_rest(&history, REC_REST_UNCLEAR, 0, 150, &begin, &end));
    assert_null(rec_history_rest(&history, REC_REST_UNCLEAR, 200, 200, &begin, &end));
    rec_history_recall(&history, 0, 1000, &ring);
    assert_int_equal(ring.count, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_a_time_are_recalled_in_order),
        cmocka_unit_test(a_full_ring_keeps_the_share_of_each_stack),
        cmocka_unit_test(a_stack_counts_for_the_part_that_is_asked_for),
        cmocka_unit_test(the_oldest_stacks_go_first),
        cmocka_unit_test(a_wait_for_input_is_found_and_not_recalled),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
