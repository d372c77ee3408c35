/* Tests the ring of samples, and which of its stacks is the heaviest. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "core/fake_capture_test.h"
#include "core/heaviest.h"

enum { SLOTS = 5, FRAMES = 4 };

struct fixture {
    struct fake fake;
    struct rec_capture capture;
    uint64_t frames[SLOTS][FRAMES], starts[SLOTS][FRAMES];
    struct rec_slot slots[SLOTS];
    struct rec_ring ring;
};

static struct fixture fixture;

static int setup(void **state) {
    struct fixture *f = &fixture;
    memset(f, 0, sizeof *f);
    f->capture = fake_capture(&f->fake);
    for (unsigned i = 0; i < SLOTS; i++) {
        f->slots[i].stack =
            (struct rec_stack){.frames = f->frames[i], .starts = f->starts[i], .cap = FRAMES};
    }
    f->ring = (struct rec_ring){.slots = f->slots, .cap = SLOTS};
    *state = f;
    return 0;
}

/* Takes a sample for each character, which stands for the top function; the address in that
 * function differs each time. For '-' no stack can be had; for '0' the stack has no frame. */
static void take(struct fixture *f, const char *letters) {
    for (; *letters != '\0'; letters++) {
        f->fake.answer = *letters == '-' ? REC_SAMPLE_NONE : REC_SAMPLE_OK;
        fake_stack(&f->fake, *letters == '0' ? 0 : 2, (unsigned)*letters * 256u, 0x100u);
        f->fake.frames[0] += f->fake.samples;
        rec_ring_sample(&f->ring, &f->capture);
    }
}

static char letter(const struct rec_slot *slot) {
    return slot == NULL ? '?' : !slot->available ? '-' : (char)(slot->stack.starts[0] / 256);
}

static void expect(struct fixture *f, const char *samples, char heaviest, uint32_t index,
                   uint32_t repeats) {
    rec_ring_clear(&f->ring);
    take(f, samples);
    struct rec_heaviest h = rec_heaviest_find(&f->ring);
    assert_int_equal(letter(h.slot), heaviest);
    assert_int_equal(h.index, index);
    assert_int_equal(h.repeats, repeats);
    if (h.slot != NULL) {
        assert_ptr_equal(h.slot, rec_ring_at(&f->ring, h.index));
    }
}

static void the_ring_keeps_the_newest_in_order(void **state) {
    struct fixture *f = *state;
    take(f, "abcdefg");
    assert_int_equal(f->ring.count, SLOTS);
    for (unsigned i = 0; i < SLOTS; i++) {
        assert_int_equal(letter(rec_ring_at(&f->ring, i)), "cdefg"[i]);
    }
    take(f, "-");
    assert_int_equal(letter(rec_ring_at(&f->ring, 4)), '-');
    assert_int_equal(letter(rec_ring_newest(&f->ring)), 'g');
    rec_ring_clear(&f->ring);
    assert_null(rec_ring_newest(&f->ring));
    take(f, "--");
    assert_null(rec_ring_newest(&f->ring));
}

static void most_repeats_of_the_top_function_win(void **state) {
    struct fixture *f = *state;
    expect(f, "abaca", 'a', 4, 3);
    expect(f, "aabbb", 'b', 4, 3);
    expect(f, "aaabb", 'a', 2, 3); /* the index is that of the newest sample of 'a' */
}

static void ties_go_to_the_newest(void **state) {
    struct fixture *f = *state;
    expect(f, "aabb", 'b', 3, 2);
    expect(f, "abab", 'b', 3, 2);
    expect(f, "abcde", 'e', 4, 1);
    expect(f, "baab", 'b', 3, 2);
}

static void samples_without_a_stack_are_nobodys(void **state) {
    struct fixture *f = *state;
    expect(f, "a---", 'a', 0, 1);
    expect(f, "-a-b-", 'b', 3, 1);
    expect(f, "00a", 'a', 2, 1);
    expect(f, "---", '?', 0, 0);
    expect(f, "", '?', 0, 0);
}

static void an_unknown_function_is_its_address(void **state) {
    struct fixture *f = *state;
    uint64_t pcs[] = {7, 9, 7};
    for (unsigned i = 0; i < 3; i++) {
        fake_stack(&f->fake, 1, 0);
        f->fake.frames[0] = pcs[i];
        rec_ring_sample(&f->ring, &f->capture);
    }
    struct rec_heaviest h = rec_heaviest_find(&f->ring);
    assert_int_equal(h.repeats, 2);
    assert_int_equal(h.slot->stack.frames[0], 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_ring_keeps_the_newest_in_order, setup),
        cmocka_unit_test_setup(most_repeats_of_the_top_function_win, setup),
        cmocka_unit_test_setup(ties_go_to_the_newest, setup),
        cmocka_unit_test_setup(samples_without_a_stack_are_nobodys, setup),
        cmocka_unit_test_setup(an_unknown_function_is_its_address, setup),
    };
    return cmocka_run_group_tests_name("heaviest", tests, NULL, NULL);
}
