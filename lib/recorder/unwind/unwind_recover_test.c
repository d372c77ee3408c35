/* Tests frames whose frame pointer is not known, as of a thread that sleeps in a system call, of
 * which /proc gives only the stack pointer and the program counter. */
#include "unwind/unwind_situation_test.h"

__asm__(FRAMED_LEAVES RULELESS_CALLS);
void leaf_framed(struct situation *s) __attribute__((visibility("hidden")));
void leaf_moving(struct situation *s) __attribute__((visibility("hidden")));
void ruleless_outer(struct situation *s) __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"), used)) void leaf_raise_hidden(struct situation *s);

NOINLINE void leaf_raise_hidden(struct situation *s) {
    raise(SIGUSR1);
    s->sink++;
}

NOINLINE static void call_moving(struct situation *s) {
    leaf_moving(s);
    s->sink++;
}

/* Forgets all registers but sp and pc of the frame of the function at `start`, as if that function
 * had made the system call itself. Returns the number of frames from that one on. */
static size_t keep_sp_and_pc(struct situation *s, const void *start) {
    size_t at = 0;
    while (at < s->count && s->frames[at].function != (uint64_t)(uintptr_t)start) {
        at++;
    }
    assert_true(at < s->count);
    s->snap.regs = (struct cfi_registers){.known = 0};
    cfi_set_async(&s->snap.regs, CFI_PC, s->frames[at].pc);
    cfi_set_async(&s->snap.regs, CFI_SP, s->frames[at].sp);
    return s->count - at;
}

static void check_recovery(void (*leaf)(struct situation *), const void *start) {
    struct situation *s = new_situation(9, leaf);
    run(s, 0);
    unwind_now(s);
    assert_true(is_right(s));
    size_t left = keep_sp_and_pc(s, start);
    unwind_now(s);
    if (!is_right(s) || s->count != left) {
        fail_with_frames(s);
    }
    /* The unwinder does not guess where no return address can confirm the guess. */
    memset(s->snap.copy + (s->snap.regs.value[CFI_SP] - s->snap.stack.lo), 0x41, 1200);
    unwind_now(s);
    assert_int_equal(s->end, UNWIND_REGISTER);
    assert_int_equal(s->count, 1);
    free(s);
}

static void unknown_frame_pointer_is_told_by_the_prologue(void **state) {
    (void)state;
    check_recovery(leaf_framed, (const void *)leaf_framed);
}

static void unknown_frame_pointer_is_told_by_the_caller(void **state) {
    (void)state;
    check_recovery(call_moving, (const void *)leaf_moving);
}

static void return_address_left_over_from_an_earlier_call_is_not_believed(void **state) {
    (void)state;
    struct situation *s = new_situation(9, call_moving);
    run(s, 0);
    unwind_now(s);
    keep_sp_and_pc(s, (const void *)leaf_moving);
    /* The same return address is put into the frame once more, so that either place may be the
     * right one. */
    uint64_t sp = s->snap.regs.value[CFI_SP], pc = 0, at = sp;
    for (size_t i = 0; i + 1 < s->count; i++) {
        if (s->frames[i].function == (uint64_t)(uintptr_t)leaf_moving) {
            pc = s->frames[i + 1].pc;
        }
    }
    assert_true(pc != 0);
    memcpy(s->snap.copy + (at + 64 - s->snap.stack.lo), &pc, sizeof pc);
    unwind_now(s);
    assert_int_equal(s->end, UNWIND_REGISTER);
    assert_int_equal(s->count, 1);
    free(s);
}

/* Did the stack end at a caller without a frame pointer? On processors whose frame records may lie
 * anywhere in a frame this is right, because sp above such a caller is then unknown. */
static bool callers_keep_no_pointer(const struct situation *s) {
    return !ARCH_FP_IS_TOP && s->end == UNWIND_REGISTER;
}

static void call_frames_without_rules(struct situation **out) {
    struct situation *s = new_situation(9, ruleless_outer);
    run(s, 0);
    unwind_now(s);
    if (!is_right(s) && !callers_keep_no_pointer(s)) {
        fail_with_frames(s);
    }
    *out = s;
}

static void functions_of_a_module_without_rules_are_followed_by_their_frame_pointers(void **state) {
    (void)state;
    struct situation *s;
    call_frames_without_rules(&s);
    size_t at = 0;
    while (at < s->count && s->frames[at].function != (uint64_t)(uintptr_t)leaf_raise_hidden) {
        at++;
    }
    assert_true(at + 3 < s->count);
    assert_true(s->frames[at + 1].function == 0 && s->frames[at + 2].function == 0);
    assert_true(callers_keep_no_pointer(s) ||
                s->frames[at + 4].pc == (uint64_t)(uintptr_t)s->expected[s->depth - 1]);
    free(s);
}

static void a_word_behind_no_call_ends_the_stack_of_functions_without_rules(void **state) {
    (void)state;
    struct situation *s;
    call_frames_without_rules(&s);
    size_t at = 0;
    while (at < s->count && s->frames[at].function != (uint64_t)(uintptr_t)leaf_raise_hidden) {
        at++;
    }
    /* The inner function's return address becomes one that no call precedes. */
    uint64_t pc = s->frames[at + 2].pc, wrong = pc + 1, from = s->snap.stack.lo;
    for (uint64_t word; from + 8 <= s->snap.stack.hi; from += 8) {
        memcpy(&word, s->snap.copy + (from - s->snap.stack.lo), sizeof word);
        if (word == pc) {
            memcpy(s->snap.copy + (from - s->snap.stack.lo), &wrong, sizeof wrong);
        }
    }
    unwind_now(s);
    assert_int_equal(s->count, at + 2);
    assert_int_equal(s->end, UNWIND_LOST);
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_frame_pointer_is_told_by_the_prologue),
        cmocka_unit_test(unknown_frame_pointer_is_told_by_the_caller),
        cmocka_unit_test(return_address_left_over_from_an_earlier_call_is_not_believed),
        cmocka_unit_test(functions_of_a_module_without_rules_are_followed_by_their_frame_pointers),
        cmocka_unit_test(a_word_behind_no_call_ends_the_stack_of_functions_without_rules),
    };
    return cmocka_run_group_tests_name("unwind_recover", tests, set_up, tear_down);
}
