/* Tests walks over stacks made by hand: each place in a function at which its caller is found in
 * another way, and damaged chains. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "darwin/fp_walk.h"

#define CODE  UINT64_C(0x100000000)
#define STACK UINT64_C(0x16f000000)

enum { CODE_WORDS = 64, STACK_WORDS = 64, FRAMES = 16 };

/* One image has functions of 64 bytes each; `rules` says how they keep their frames. */
enum { SIZE = 64, FUNCTIONS = CODE_WORDS * 4 / SIZE };

struct world {
    enum unwind_cpu cpu;
    uint8_t code[CODE_WORDS * 4];
    struct unwind_rule rules[FUNCTIONS];
    uint64_t words[STACK_WORDS];
    uint8_t stack[STACK_WORDS * 8];
    uint64_t frames[FRAMES], starts[FRAMES];
    struct rec_stack out;
};

static bool read_code(void *arg, uint64_t address, void *to, size_t size) {
    struct world *w = arg;
    if (address < CODE || address - CODE > sizeof w->code ||
        size > sizeof w->code - (address - CODE)) {
        return false;
    }
    memcpy(to, w->code + (address - CODE), size);
    return true;
}

static bool function_at(void *arg, uint64_t address, struct fp_function *out) {
    struct world *w = arg;
    if (address < CODE || address - CODE >= sizeof w->code) {
        return false;
    }
    uint64_t n = (address - CODE) / SIZE;
    *out = (struct fp_function){CODE + n * SIZE, CODE + (n + 1) * SIZE, w->rules[n]};
    return true;
}

static void walk_within(struct world *w, const struct fp_registers *regs, uint32_t cap,
                        size_t stack_size) {
    struct fp_code code = {w->cpu, {w, read_code}, w, function_at};
    for (size_t i = 0; i < sizeof w->stack; i++) {
        w->stack[i] = (uint8_t)(w->words[i / 8] >> 8 * (i % 8));
    }
    struct fp_stack stack = {w->stack, STACK, STACK + stack_size};
    w->out = (struct rec_stack){.frames = w->frames, .starts = w->starts, .cap = cap};
    fp_walk_async(&code, regs, &stack, &w->out);
}

static void walk(struct world *w, uint64_t pc, uint64_t lr) {
    struct fp_registers regs = {.pc = pc, .sp = STACK, .fp = STACK + 32, .lr = lr};
    walk_within(w, &regs, FRAMES, sizeof w->stack);
}

/* Returns the address at an offset in function n. */
static uint64_t at(unsigned n, unsigned offset) {
    return CODE + (uint64_t)n * SIZE + offset;
}

static void put_record(struct world *w, unsigned word, uint64_t caller_fp, uint64_t pc) {
    w->words[word] = caller_fp;
    w->words[word + 1] = pc;
}

static void expect(const struct world *w, const uint64_t *frames, uint32_t count) {
    assert_int_equal(w->out.count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(w->frames[i], frames[i]);
    }
}

/* Makes a stack: the frame record at the frame pointer is that of function 1, which was called by
 * function 2, and that by function 3. */
static struct world world_of(enum unwind_cpu cpu) {
    struct world w = {.cpu = cpu};
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        w.rules[i].kind = UNWIND_RULE_FRAME;
    }
    put_record(&w, 4, STACK + 64, at(2, 20));
    put_record(&w, 8, STACK + 128, at(3, 20));
    put_record(&w, 16, 0, 0);
    return w;
}

/* ---- arm64 ---- */

static const uint8_t insns_frame[] = {
    0x7f, 0x23, 0x03, 0xd5, /*  0 pacibsp */
    0xf4, 0x4f, 0xbe, 0xa9, /*  4 stp x20, x19, [sp, #-32]! */
    0xfd, 0x7b, 0x01, 0xa9, /*  8 stp x29, x30, [sp, #16] */
    0xfd, 0x43, 0x00, 0x91, /* 12 add x29, sp, #16 */
    0x00, 0x00, 0x00, 0x94, /* 16 bl */
    0xfd, 0x7b, 0x41, 0xa9, /* 20 ldp x29, x30, [sp, #16] */
    0xf4, 0x4f, 0xc2, 0xa8, /* 24 ldp x20, x19, [sp], #32 */
    0xff, 0x23, 0x03, 0xd5, /* 28 autibsp */
    0xc0, 0x03, 0x5f, 0xd6, /* 32 ret */
};

static struct world world_arm64(void) {
    struct world w = world_of(UNWIND_ARM64);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        memcpy(w.code + (size_t)i * SIZE, insns_frame, sizeof insns_frame);
    }
    return w;
}

static void a_frame_that_is_set_up_is_followed_and_lr_is_not(void **state) {
    (void)state;
    struct world w = world_arm64();
    const uint64_t frames[] = {at(1, 16), at(2, 20), at(3, 20)};
    walk(&w, at(1, 16), at(1, 12)); /* lr is left over from an earlier call */
    expect(&w, frames, 3);
    assert_false(w.out.incomplete);
    assert_int_equal(w.starts[0], at(1, 0));
    assert_int_equal(w.starts[2], at(3, 0));
}

static void before_the_frame_is_set_up_and_after_it_is_gone_the_caller_is_in_lr(void **state) {
    (void)state;
    struct world w = world_arm64();
    for (unsigned offset = 0; offset <= 32; offset += 4) {
        bool framed = offset == 16 || offset == 20;
        const uint64_t with[] = {at(0, offset), at(1, 20), at(2, 20), at(3, 20)};
        const uint64_t without[] = {at(0, offset), at(2, 20), at(3, 20)};
        walk(&w, at(0, offset), at(1, 20));
        expect(&w, framed ? without : with, framed ? 3 : 4);
    }
}

static void a_frameless_leaf_is_called_from_lr_wherever_it_is(void **state) {
    (void)state;
    struct world w = world_arm64();
    w.rules[0] = (struct unwind_rule){UNWIND_RULE_FIXED, 16, 0};
    const uint64_t frames[] = {at(0, 16), at(1, 20), at(2, 20), at(3, 20)};
    walk(&w, at(0, 16), at(1, 20));
    expect(&w, frames, 4);
}

static void a_stub_that_nothing_is_said_of_is_called_from_lr_after_svc(void **state) {
    (void)state;
    static const uint8_t svc[] = {0x01, 0x10, 0x00, 0xd4};
    struct world w = world_arm64();
    w.rules[0].kind = UNWIND_RULE_NONE;
    memcpy(w.code + 4, svc, sizeof svc);
    const uint64_t frames[] = {at(0, 8), at(1, 20), at(2, 20), at(3, 20)};
    walk(&w, at(0, 8), at(1, 20));
    expect(&w, frames, 4);
}

static void code_that_nothing_is_said_of_is_called_from_lr_unless_it_called_itself(void **state) {
    (void)state;
    struct world w = world_arm64();
    w.rules[0].kind = UNWIND_RULE_NONE;
    const uint64_t with[] = {at(0, 16), at(1, 20), at(2, 20), at(3, 20)};
    const uint64_t without[] = {at(0, 16), at(2, 20), at(3, 20)};
    walk(&w, at(0, 16), at(1, 20));
    expect(&w, with, 4);
    /* Lr is the return address of a call that the function itself has made. */
    walk(&w, at(0, 16), at(0, 12));
    expect(&w, without, 3);
    walk(&w, at(0, 16), at(2, 20)); /* lr is the return address in the record */
    expect(&w, without, 3);
    walk(&w, at(0, 16), 0x1234567890); /* lr is not in code */
    expect(&w, without, 3);
}

static void a_call_to_where_no_code_is_is_seen_with_its_caller(void **state) {
    (void)state;
    struct world w = world_arm64();
    const uint64_t frames[] = {0, at(1, 20), at(2, 20), at(3, 20)};
    walk(&w, 0, at(1, 20));
    expect(&w, frames, 4);
    assert_int_equal(w.starts[0], 0);
}

static void signatures_and_the_mark_of_async_frames_are_removed(void **state) {
    (void)state;
    struct world w = world_arm64();
    w.words[4] |= UINT64_C(1) << 60;
    w.words[5] |= UINT64_C(0xabcd) << 47;
    w.words[9] |= UINT64_C(0x8001) << 48;
    w.rules[0].kind = UNWIND_RULE_FIXED;
    const uint64_t frames[] = {at(0, 4), at(1, 20), at(2, 20), at(3, 20)};
    struct fp_registers regs = {.pc = at(0, 4),
                                .sp = STACK,
                                .fp = (STACK + 32) | UINT64_C(1) << 60,
                                .lr = at(1, 20) | UINT64_C(0x7f) << 48};
    walk_within(&w, &regs, FRAMES, sizeof w.stack);
    expect(&w, frames, 4);
    assert_false(w.out.incomplete);
}

/* ---- x86-64 ---- */

static const uint8_t bytes_frame[] = {
    0x55,                         /* 0 push %rbp */
    0x48, 0x89, 0xe5,             /* 1 mov %rsp,%rbp */
    0xe8, 0x00, 0x00, 0x00, 0x00, /* 4 call */
    0x5d,                         /* 9 pop %rbp */
    0xc3,                         /* 10 ret */
};

static struct world world_x86_64(void) {
    struct world w = world_of(UNWIND_X86_64);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        memcpy(w.code + (size_t)i * SIZE, bytes_frame, sizeof bytes_frame);
    }
    return w;
}

static void on_x86_64_the_caller_is_on_top_of_the_stack_until_the_frame_is_set_up(void **state) {
    (void)state;
    static const struct {
        unsigned offset, word; /* word: index of the word on the stack that holds the return
                                  address; 0xff: it is in the record */
    } cases[] = {{0, 0}, {1, 1}, {4, 0xff}, {9, 0xff}, {10, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_x86_64();
        bool framed = cases[i].word == 0xff;
        const uint64_t with[] = {at(0, cases[i].offset), at(1, 9), at(2, 20), at(3, 20)};
        const uint64_t without[] = {at(0, cases[i].offset), at(2, 20), at(3, 20)};
        if (!framed) {
            w.words[cases[i].word] = at(1, 9);
        }
        walk(&w, at(0, cases[i].offset), 0);
        expect(&w, framed ? without : with, framed ? 3 : 4);
    }
}

static void on_x86_64_a_frameless_function_has_its_caller_below_what_it_took(void **state) {
    (void)state;
    struct world w = world_x86_64();
    const uint64_t frames[] = {at(0, 4), at(1, 9), at(2, 20), at(3, 20)};
    w.words[3] = at(1, 9);
    w.rules[0] = (struct unwind_rule){UNWIND_RULE_FIXED, 32, 0};
    walk(&w, at(0, 4), 0);
    expect(&w, frames, 4);
    w.rules[0] = (struct unwind_rule){UNWIND_RULE_IN_CODE, 8, 40};
    w.code[40] = 24; /* the value's other bytes are 0 */
    walk(&w, at(0, 4), 0);
    expect(&w, frames, 4);
}

static void on_x86_64_a_system_call_is_made_by_what_is_on_top_of_the_stack(void **state) {
    (void)state;
    struct world w = world_x86_64();
    const uint64_t frames[] = {at(0, 6), at(1, 9), at(2, 20), at(3, 20)};
    w.words[0] = at(1, 9);
    w.rules[0].kind = UNWIND_RULE_NONE;
    w.code[4] = 0x0f;
    w.code[5] = 0x05;
    walk(&w, at(0, 6), 0);
    expect(&w, frames, 4);
}

static void no_bits_of_x86_64_addresses_are_removed(void **state) {
    (void)state;
    assert_int_equal(fp_strip_async(UNWIND_X86_64, UINT64_MAX), UINT64_MAX);
}

/* ---- chains ---- */

static void a_chain_that_goes_down_or_round_or_nowhere_ends_and_says_so(void **state) {
    (void)state;
    static const uint64_t bad[] = {
        STACK + 32, STACK + 16, STACK,          STACK + 65,
        8,          UINT64_MAX, UINT64_MAX - 7, STACK + STACK_WORDS * 8 - 8};
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            struct world w = cpu == 0 ? world_arm64() : world_x86_64();
            w.words[4] = bad[i];
            walk(&w, at(1, cpu == 0 ? 16 : 4), 0);
            assert_int_equal(w.out.count, 2);
            assert_true(w.out.incomplete && !w.out.truncated);
        }
    }
}

static void a_return_address_in_the_first_page_ends_the_stack(void **state) {
    (void)state;
    struct world w = world_arm64();
    w.words[9] = 77;
    walk(&w, at(1, 16), 0);
    assert_int_equal(w.out.count, 2);
    assert_true(w.out.incomplete && !w.out.truncated);
}

static void no_more_frames_are_written_than_there_is_room_for(void **state) {
    (void)state;
    for (uint32_t cap = 1; cap < 6; cap++) {
        struct world w = world_arm64();
        struct fp_registers regs = {.pc = at(0, 0), .sp = STACK, .fp = STACK + 32, .lr = at(1, 20)};
        walk_within(&w, &regs, cap, sizeof w.stack);
        assert_int_equal(w.out.count, cap < 4 ? cap : 4);
        assert_int_equal(w.out.truncated, cap < 4);
        assert_int_equal(w.out.incomplete, cap < 4);
        assert_int_equal(cap < FRAMES ? w.frames[cap] : 0, cap >= 4 ? 0 : w.frames[cap]);
    }
}

static void random_stacks_and_registers_have_bounded_answers(void **state) {
    (void)state;
    uint64_t x = 1;
    struct world w = world_arm64();
    for (unsigned round = 0; round < 20000; round++) {
        for (unsigned i = 0; i < STACK_WORDS; i++) {
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
            uint64_t r = x >> 33;
            const uint64_t kinds[] = {STACK + r % 600, CODE + r % 300, r, x, 0};
            w.words[i] = kinds[r % 5];
        }
        for (unsigned i = 0; i < FUNCTIONS; i++) {
            w.rules[i] = (struct unwind_rule){(enum unwind_rule_kind)(w.words[i] % 5),
                                              (uint32_t)w.words[i + 4], (uint32_t)w.words[i] % 80};
        }
        memcpy(w.code, w.words + 20, 64);
        w.cpu = round % 2 ? UNWIND_ARM64 : UNWIND_X86_64;
        struct fp_registers regs = {w.words[0], w.words[1], w.words[2], w.words[3]};
        walk_within(&w, &regs, 1 + round % FRAMES, round % sizeof w.stack);
        assert_in_range(w.out.count, 1, 1 + round % FRAMES);
    }
}

static void what_is_missing_of_the_stack_is_told_record_by_record(void **state) {
    (void)state;
    struct world w = world_arm64();
    walk(&w, at(1, 16), 0); /* fills w.stack */
    const struct {
        size_t size;
        uint64_t reach;
    } cases[] = {{0, STACK + 32},   {40, STACK + 32},   {48, STACK + 64},
                 {80, STACK + 128}, {143, STACK + 128}, {144, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fp_stack stack = {w.stack, STACK, STACK + cases[i].size};
        assert_int_equal(fp_reach_async(UNWIND_ARM64, &stack, STACK + 32, 99), cases[i].reach);
    }
    struct fp_stack stack = {w.stack, STACK, STACK + 80};
    assert_int_equal(fp_reach_async(UNWIND_ARM64, &stack, STACK + 32, 2), 0); /* two records are
                                                                                 enough */
    assert_int_equal(fp_reach_async(UNWIND_ARM64, &stack, STACK - 16, 99), 0);
    assert_int_equal(fp_reach_async(UNWIND_ARM64, &stack, 0, 99), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_that_is_set_up_is_followed_and_lr_is_not),
        cmocka_unit_test(before_the_frame_is_set_up_and_after_it_is_gone_the_caller_is_in_lr),
        cmocka_unit_test(a_frameless_leaf_is_called_from_lr_wherever_it_is),
        cmocka_unit_test(a_stub_that_nothing_is_said_of_is_called_from_lr_after_svc),
        cmocka_unit_test(code_that_nothing_is_said_of_is_called_from_lr_unless_it_called_itself),
        cmocka_unit_test(a_call_to_where_no_code_is_is_seen_with_its_caller),
        cmocka_unit_test(signatures_and_the_mark_of_async_frames_are_removed),
        cmocka_unit_test(on_x86_64_the_caller_is_on_top_of_the_stack_until_the_frame_is_set_up),
        cmocka_unit_test(on_x86_64_a_frameless_function_has_its_caller_below_what_it_took),
        cmocka_unit_test(on_x86_64_a_system_call_is_made_by_what_is_on_top_of_the_stack),
        cmocka_unit_test(no_bits_of_x86_64_addresses_are_removed),
        cmocka_unit_test(a_chain_that_goes_down_or_round_or_nowhere_ends_and_says_so),
        cmocka_unit_test(a_return_address_in_the_first_page_ends_the_stack),
        cmocka_unit_test(no_more_frames_are_written_than_there_is_room_for),
        cmocka_unit_test(random_stacks_and_registers_have_bounded_answers),
        cmocka_unit_test(what_is_missing_of_the_stack_is_told_record_by_record),
    };
    return cmocka_run_group_tests_name("fp_walk", tests, NULL, NULL);
}
