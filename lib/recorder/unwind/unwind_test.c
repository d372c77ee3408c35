/* Tests the unwinder by stacks whose return addresses are known, and by comparison with
 * libunwind. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "unwind/unwind_situation_test.h"

#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

static void check_depth(unsigned depth) {
    struct situation *s = new_situation(depth, leaf_raise);
    run(s, 0);
    unwind_now(s);
    if (!is_right(s)) {
        fail_with_frames(s);
    }
    assert_true(s->frames[0].exact);
    assert_false(s->frames[1].exact);
    free(s);
}

static void frames_of_all_kinds_are_found_to_the_end(void **state) {
    (void)state;
    check_depth(1);
    check_depth(20);
    check_depth(100);
    check_depth(300);
}

static void frame_names_the_start_of_its_function(void **state) {
    (void)state;
    struct situation *s = new_situation(6, leaf_raise);
    run(s, 0);
    unwind_now(s);
    assert_true(is_right(s));
    unsigned found = 0;
    for (size_t i = 0; i < s->count; i++) {
        found += s->frames[i].function == (uint64_t)(uintptr_t)run;
        found += s->frames[i].function == (uint64_t)(uintptr_t)leaf_raise;
        assert_true(s->frames[i].function <= s->frames[i].pc);
    }
    assert_true(found >= 4);
    free(s);
}

static void stack_with_more_frames_than_room_is_full(void **state) {
    (void)state;
    struct situation *s = new_situation(40, leaf_raise);
    run(s, 0);
    unwind_now(s);
    struct unwind_frame few[7];
    enum unwind_end end;
    assert_int_equal(unwind_async(unwinder, &s->snap.regs, &s->snap.stack, few, 7, &end), 7);
    assert_int_equal(end, UNWIND_FULL);
    for (unsigned i = 0; i < 7; i++) {
        assert_true(few[i].pc == s->frames[i].pc);
    }
    free(s);
}

static void copy_that_ends_early_is_cut(void **state) {
    (void)state;
    struct situation *s = new_situation(40, leaf_raise);
    run(s, 0);
    s->snap.stack.hi = s->snap.stack.lo + 2048;
    unwind_now(s);
    assert_int_equal(s->end, UNWIND_CUT);
    assert_true(s->count >= 2 && s->count < 40);
    free(s);
}

static void second_walk_reads_no_call_frame_information(void **state) {
    (void)state;
    struct situation *s = new_situation(100, leaf_raise);
    run(s, 0);
    unwind_now(s);
    uint64_t misses = unwinder_misses(unwinder);
    assert_true(misses > 0);
    unwind_now(s);
    assert_true(is_right(s));
    assert_true(unwinder_misses(unwinder) - misses <= 4); /* a set of the cache has two entries, so
                                                             rules of more addresses in one set are
                                                             looked up again */
    free(s);
}

/* ---- signal frames ---- */

static uint64_t interrupted_pc;

static void on_outer(int sig, siginfo_t *info, void *uc) {
    (void)sig, (void)info;
    struct cfi_registers regs;
    context_registers_async(uc, &regs);
    interrupted_pc = regs.value[CFI_PC];
    raise(SIGUSR1);
}

NOINLINE static void leaf_interrupted(struct situation *s) {
    raise(SIGUSR2);
    s->sink++;
}

static void check_signal_frame(int flags) {
    struct sigaction sa = {.sa_sigaction = on_outer, .sa_flags = SA_SIGINFO | flags};
    sigaction(SIGUSR2, &sa, NULL);
    struct situation *s = new_situation(12, leaf_interrupted);
    run(s, 0);
    unwind_now(s);
    if (!is_right(s)) {
        fail_with_frames(s);
    }
    size_t at = 1; /* frame 0 is in the same system call, which the handler made */
    while (at < s->count && s->frames[at].pc != interrupted_pc) {
        at++;
    }
    assert_true(at > 1 && at < s->count);
    assert_true(s->frames[at].exact);      /* the interrupted instruction */
    assert_true(s->frames[at - 1].exact);  /* the trampoline */
    assert_false(s->frames[at - 2].exact); /* the handler */
    assert_false(s->frames[at + 1].exact);
    free(s);
}

static void signal_frame_and_its_trampoline_are_exact(void **state) {
    (void)state;
    check_signal_frame(0);
}

/* ---- interrupted anywhere ---- */

/* This is one word, as the sampled code may be interrupted between the reads of two. */
static volatile sig_atomic_t enough;

static bool wanted_samples(void) {
    return !enough;
}

static void on_tick(int sig, siginfo_t *info, void *uc) {
    (void)sig, (void)info;
    struct situation *s = now;
    /* Before the leaf is reached and once it is left, the frames are not all there. */
    if (!s || s->depth == 0 || !s->expected[s->depth - 1] || !wanted_samples()) {
        return;
    }
    take_snapshot(&s->snap, uc);
    unwind_now(s);
    s->right += is_right(s);
    s->samples++;
    enough = s->samples >= 400 || s->right != s->samples; /* a wrong sample is the last one, so that
                                                             it can be shown */
#ifdef HAVE_LIBUNWIND
    unw_cursor_t cursor;
    if (unw_init_local2(&cursor, uc, UNW_INIT_SIGNAL_FRAME) == 0) {
        size_t n = 0;
        unw_word_t ip;
        do {
            unw_get_reg(&cursor, UNW_REG_IP, &ip);
            if (n >= s->count || s->frames[n].pc != ip) {
                break;
            }
            n++;
        } while (unw_step(&cursor) > 0);
        s->oracle_right += n >= s->depth;
    }
#endif
}

static void sample_for(struct situation *s, unsigned samples) {
    struct sigaction sa = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGALRM, &sa, NULL);
    struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    timer_t timer;
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
    struct itimerspec every = {{0, 150000}, {0, 150000}};
    s->sink = samples;
    enough = 0;
    timer_settime(timer, 0, &every, NULL);
    run(s, 0);
    timer_delete(timer);
    now = NULL;
}

NOINLINE static void leaf_malloc(struct situation *s) {
    while (wanted_samples()) {
        void *p[16];
        for (unsigned i = 0; i < 16; i++) {
            p[i] = malloc(24 + i * 400);
        }
        for (unsigned i = 0; i < 16; i++) {
            free(p[i]);
        }
    }
    s->sink++;
}

NOINLINE static void leaf_memcpy(struct situation *s) {
    static char a[256 * 1024], b[256 * 1024];
    while (wanted_samples()) {
        memcpy(a, b, sizeof a - (size_t)s->samples);
        s->sink += (uint64_t)a[s->samples];
    }
}

static int compare_ints(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

NOINLINE static void leaf_qsort(struct situation *s) {
    static int values[4096];
    while (wanted_samples()) {
        for (unsigned i = 0; i < 4096; i++) {
            values[i] = (int)(i * 2654435761u >> 7);
        }
        qsort(values, 4096, sizeof *values, compare_ints);
        s->sink++;
    }
}

NOINLINE static void leaf_clock(struct situation *s) {
    struct timespec ts;
    while (wanted_samples()) {
        clock_gettime(CLOCK_MONOTONIC, &ts);
        s->sink += (uint64_t)ts.tv_nsec;
    }
}

NOINLINE static void leaf_math(struct situation *s) {
    double x = 1;
    while (wanted_samples()) {
        x = sin(x) + exp(-x) + pow(x, 1.1);
        s->sink += (uint64_t)(x > 2);
    }
}

/* `foreign`: the leaf calls code that libunwind 1.6 never gets through on AArch64: the vdso, which
 * has no call frame information there, or code that signs its return addresses. */
static void check_interrupted(void (*leaf)(struct situation *), bool foreign) {
    struct situation *s = new_situation(20, leaf);
    sample_for(s, 400);
    if (s->right != s->samples) {
        fail_with_frames(s);
    }
    assert_true(s->samples >= 400);
#ifdef HAVE_LIBUNWIND
    /* libunwind 1.6 is often lost where AArch64 code has not stored its return address yet. */
    if (!ARCH_LINKS) {
        assert_true(s->oracle_right == s->samples);
    } else if (!foreign) {
        assert_true(s->oracle_right > 0);
    }
#else
    (void)foreign;
#endif
    free(s);
}

static void stack_interrupted_in_malloc_is_right(void **state) {
    (void)state;
    check_interrupted(leaf_malloc, true); /* malloc is that of failmalloc.c, whose return addresses
                                             a hardened build signs */
}
static void stack_interrupted_in_memcpy_is_right(void **state) {
    (void)state;
    check_interrupted(leaf_memcpy, false);
}
static void stack_interrupted_in_qsort_is_right(void **state) {
    (void)state;
    check_interrupted(leaf_qsort, false);
}
static void stack_interrupted_in_the_vdso_is_right(void **state) {
    (void)state;
    check_interrupted(leaf_clock, true);
}
static void stack_interrupted_in_libm_is_right(void **state) {
    (void)state;
    check_interrupted(leaf_math, false);
}

/* ---- code without rules ---- */

__asm__(BARE_LEAF);
extern const char bare_leaf_body[] __attribute__((visibility("hidden")));

static uint64_t place_of_word(const struct situation *s, uint64_t word) {
    uint64_t value;
    for (uint64_t at = s->snap.stack.lo; at < s->snap.stack.hi; at += 8) {
        if (cfi_load_async(&s->snap.stack, at, &value) && arch_return_async(value) == word) {
            return at;
        }
    }
    return 0;
}

static void check_bare_leaf(struct situation *s, const struct cfi_registers *regs,
                            uint64_t caller) {
    struct unwind_frame frames[3];
    enum unwind_end end;
    assert_int_equal(unwind_async(unwinder, regs, &s->snap.stack, frames, 3, &end), 3);
    assert_true(frames[0].function == 0);
    assert_true(frames[1].pc == caller);
    assert_true(frames[2].pc == s->frames[2].pc);
}

static void leaf_without_rules_returns_to_where_the_stack_says(void **state) {
    (void)state;
    struct situation *s = new_situation(5, leaf_raise);
    run(s, 0);
    unwind_now(s);
    uint64_t caller = s->frames[1].pc;
    struct cfi_registers regs = s->snap.regs;
    cfi_set_async(&regs, CFI_PC, (uint64_t)(uintptr_t)bare_leaf_body);
    if (ARCH_LINKS) {
        cfi_set_async(&regs, CFI_RA, caller);
        cfi_set_async(&regs, CFI_SP, s->frames[1].sp);
        check_bare_leaf(s, &regs, caller);
        free(s);
        return;
    }
    /* sp points at the return address, and then one word below it. */
    for (unsigned pushed = 0; pushed < 2; pushed++) {
        uint64_t at = place_of_word(s, caller);
        assert_true(at > s->snap.stack.lo);
        memset(s->snap.copy + (at - 8 - s->snap.stack.lo), 0, 8);
        cfi_set_async(&regs, CFI_SP, at - 8 * pushed);
        check_bare_leaf(s, &regs, caller);
    }
    free(s);
}

static void code_made_at_run_time_is_followed_by_its_frame_pointers(void **state) {
    (void)state;
    struct situation *s = new_situation(5, leaf_raise);
    run(s, 0);
    unwind_now(s);
    /* The stack has two invented frames below a real one: their pc is outside of all modules, and
     * their saved frame pointers form a chain. */
    uint64_t words[16] = {0};
    uint64_t base = 0x10000;
    uint64_t made = 0x7777000000;
    words[2] = base + 8 * 6; /* the saved frame pointer of frame 0 leads to that of frame 1 */
    words[3] = made + 0x100;
    words[6] = 0;
    words[7] = s->frames[2].pc;
    struct cfi_stack stack = {(const uint8_t *)words, base, base + sizeof words};
    struct cfi_registers regs = {.known = 0};
    cfi_set_async(&regs, CFI_PC, made);
    cfi_set_async(&regs, CFI_SP, base);
    cfi_set_async(&regs, CFI_FP, base + 16);
    struct unwind_frame frames[4];
    enum unwind_end end;
    struct unwind_modules modules = modules_linux();
    modules.read_async = NULL;
    struct unwinder *blind = unwinder_new(&modules, 64);
    assert_non_null(blind);
    size_t n = unwind_async(blind, &regs, &stack, frames, 4, &end);
    assert_true(n >= 3);
    assert_true(frames[0].pc == made && frames[0].function == 0);
    assert_true(frames[1].pc == made + 0x100);
    assert_true(frames[2].pc == s->frames[2].pc);
    /* A chain of frame pointers ends at an impossible return address. */
    words[3] = 0;
    assert_int_equal(unwind_async(blind, &regs, &stack, frames, 4, &end), 1);
    assert_int_equal(end, UNWIND_LOST);
    unwinder_free(blind);
    free(s);
}

static void a_word_that_no_call_can_have_left_is_no_return_address(void **state) {
    (void)state;
    struct situation *s = new_situation(5, leaf_raise);
    run(s, 0);
    unwind_now(s);
    uint64_t base = 0x7ff000010000, words[16] = {0};
    const uint64_t impossible[] = {base, base + 8 * 9 + 1, base + sizeof words - 8, 1, 0xffff};
    const uint64_t made = 0x7777000000;
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        struct cfi_stack stack = {(const uint8_t *)words, base, base + sizeof words};
        struct unwind_frame frames[8];
        enum unwind_end end;
        /* A chain of saved frame pointers that would lead to the end of the stack. */
        words[2] = base + 8 * 6;
        words[3] = impossible[i];
        words[6] = base + 8 * 10;
        words[7] = s->frames[2].pc;
        struct cfi_registers regs = {.known = 0};
        cfi_set_async(&regs, CFI_PC, made);
        cfi_set_async(&regs, CFI_SP, base);
        cfi_set_async(&regs, CFI_FP, base + 16);
        assert_int_equal(unwind_async(unwinder, &regs, &stack, frames, 8, &end), 1);
        assert_int_equal(end, UNWIND_LOST);
        /* The impossible word is reached by rules here: the pc is the first instruction of a
         * function. */
        words[0] = impossible[i];
        cfi_set_async(&regs, CFI_PC, s->frames[2].function);
        cfi_set_async(&regs, CFI_RA, ARCH_LINKS ? impossible[i] : s->frames[2].function);
        assert_int_equal(unwind_async(unwinder, &regs, &stack, frames, 8, &end), 1);
        assert_int_equal(end, UNWIND_LOST);
    }
    free(s);
}

/* A call puts the return address on the stack before the function's first instruction. So a 0 there
 * means that the stack was put in place but not entered yet, whereas a frame that has called
 * another one was entered. */
static void only_a_frame_that_called_is_a_first_one_for_returning_to_0(void **state) {
    (void)state;
    if (ARCH_LINKS) {
        skip(); /* a thread's first function has the 0 in its link register */
    }
    struct situation *s = new_situation(5, leaf_raise);
    run(s, 0);
    unwind_now(s);
    const uint64_t function = s->frames[2].function, base = 0x7ff000010000;
    uint64_t words[16] = {0};
    struct cfi_stack stack = {(const uint8_t *)words, base, base + sizeof words};
    struct unwind_frame frames[8];
    enum unwind_end end;
    for (size_t calls = 0; calls < 3; calls++) { /* the interrupted function is at its first
                                                    instruction */
        struct cfi_registers regs = {.known = 0};
        cfi_set_async(&regs, CFI_PC, function);
        cfi_set_async(&regs, CFI_SP, base);
        assert_int_equal(unwind_async(unwinder, &regs, &stack, frames, 8, &end), calls + 1);
        assert_int_equal(end, calls == 0 ? UNWIND_LOST : UNWIND_OUTERMOST);
        words[calls] = function + 1;
    }
    free(s);
}

/* Checks the number of frames of a stack whose frame 0 is in invented code, has a frame pointer and
 * returns to `pc`. frames_wanted 1: there must be exactly one frame; else at least that many. */
static void check_made_return(uint64_t pc, uint64_t outer, size_t frames_wanted) {
    uint64_t base = 0x7ff000010000, words[16] = {[2] = base + 48, [3] = pc, [7] = outer};
    struct cfi_stack stack = {(const uint8_t *)words, base, base + sizeof words};
    struct cfi_registers regs = {.known = 0};
    struct unwind_frame frames[8];
    enum unwind_end end;
    cfi_set_async(&regs, CFI_PC, 0x7777000000);
    cfi_set_async(&regs, CFI_SP, base);
    cfi_set_async(&regs, CFI_FP, base + 16);
    size_t n = unwind_async(unwinder, &regs, &stack, frames, 8, &end);
    if (n < frames_wanted || (frames_wanted == 1 && n > 1)) {
        fail_msg("%zu frames of %zu behind %#llx", n, frames_wanted, (unsigned long long)pc);
    }
}

static void code_made_at_run_time_is_returned_to_behind_a_call(void **state) {
    (void)state;
    struct unwind_modules modules = modules_linux();
    uint64_t pc = 0;
    uint8_t *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(code != MAP_FAILED);
    assert_int_equal(munmap(code + 4096, 4096), 0);
    if (!modules.read_async) {
        skip(); /* in a sandbox or an emulator memory may not be readable */
    }
    struct situation *s = new_situation(5, leaf_raise);
    run(s, 0);
    unwind_now(s);
    const uint64_t outer = s->frames[2].pc, made = (uint64_t)(uintptr_t)code;
    const struct {
        uint8_t bytes[8];
        bool call;
    } cases[] = {
#if defined(__aarch64__)
        {{0, 0, 0, 0, 0x10, 0, 0, 0x94}, true},     /* bl */
        {{0, 0, 0, 0, 0, 0x01, 0x3f, 0xd6}, true},  /* blr x8 */
        {{0, 0, 0, 0, 0, 0x01, 0x1f, 0xd6}, false}, /* br x8 */
#else
        {{0x90, 0x90, 0x90, 0xe8, 1, 0, 0, 0}, true},             /* call */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, true}, /* call *%rax */
        {{0x90, 0x90, 0x90, 0xe9, 1, 0, 0, 0}, false},            /* jmp */
#endif
        {{0}, false}
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(code + 64, cases[i].bytes, 8);
        pc = made + 72;
        check_made_return(pc, outer, cases[i].call ? 3 : 1);
    }
    check_made_return(made + 4096 + 72, outer, 1); /* no memory is mapped there */
    check_made_return(UINT64_C(1) << 60, outer, 1);
    munmap(code, 4096);
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_all_kinds_are_found_to_the_end),
        cmocka_unit_test(frame_names_the_start_of_its_function),
        cmocka_unit_test(stack_with_more_frames_than_room_is_full),
        cmocka_unit_test(copy_that_ends_early_is_cut),
        cmocka_unit_test(second_walk_reads_no_call_frame_information),
        cmocka_unit_test(signal_frame_and_its_trampoline_are_exact),
        cmocka_unit_test(stack_interrupted_in_malloc_is_right),
        cmocka_unit_test(stack_interrupted_in_memcpy_is_right),
        cmocka_unit_test(stack_interrupted_in_qsort_is_right),
        cmocka_unit_test(stack_interrupted_in_the_vdso_is_right),
        cmocka_unit_test(stack_interrupted_in_libm_is_right),
        cmocka_unit_test(leaf_without_rules_returns_to_where_the_stack_says),
        cmocka_unit_test(code_made_at_run_time_is_followed_by_its_frame_pointers),
        cmocka_unit_test(code_made_at_run_time_is_returned_to_behind_a_call),
        cmocka_unit_test(a_word_that_no_call_can_have_left_is_no_return_address),
        cmocka_unit_test(only_a_frame_that_called_is_a_first_one_for_returning_to_0),
    };
    return cmocka_run_group_tests_name("unwind", tests, set_up, tear_down);
}
