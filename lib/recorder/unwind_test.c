/* The unwinder against stacks whose return addresses are known, and against libunwind. */
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
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "unwind_situation_test.h"

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
    assert_true(unwinder_misses(unwinder) - misses <= 4); /* three lines of one set, at most */
    free(s);
}

/* ---- signal frames ---- */

static uint64_t interrupted_pc;

static void on_outer(int sig, siginfo_t *info, void *uc) {
    (void)sig, (void)info;
    interrupted_pc = (uint64_t)((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
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
    size_t at = 1; /* frame 0 is the same system call, made by the handler */
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

static unsigned wanted_samples(const struct situation *s) {
    return s->samples < 400;
}

static void on_tick(int sig, siginfo_t *info, void *uc) {
    (void)sig, (void)info;
    struct situation *s = now;
    /* Before the leaf is reached and once it is left, the frames are not all there. */
    if (!s || s->depth == 0 || !s->expected[s->depth - 1] || !wanted_samples(s)) {
        return;
    }
    take_snapshot(&s->snap, uc);
    unwind_now(s);
    s->samples++;
    s->right += is_right(s);
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
    timer_settime(timer, 0, &every, NULL);
    run(s, 0);
    timer_delete(timer);
    now = NULL;
}

NOINLINE static void leaf_malloc(struct situation *s) {
    while (wanted_samples(s)) {
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
    while (wanted_samples(s)) {
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
    while (wanted_samples(s)) {
        for (unsigned i = 0; i < 4096; i++) {
            values[i] = (int)(i * 2654435761u >> 7);
        }
        qsort(values, 4096, sizeof *values, compare_ints);
        s->sink++;
    }
}

NOINLINE static void leaf_clock(struct situation *s) {
    struct timespec ts;
    while (wanted_samples(s)) {
        clock_gettime(CLOCK_MONOTONIC, &ts);
        s->sink += (uint64_t)ts.tv_nsec;
    }
}

NOINLINE static void leaf_math(struct situation *s) {
    double x = 1;
    while (wanted_samples(s)) {
        x = sin(x) + exp(-x) + pow(x, 1.1);
        s->sink += (uint64_t)(x > 2);
    }
}

static void check_interrupted(void (*leaf)(struct situation *)) {
    struct situation *s = new_situation(20, leaf);
    sample_for(s, 400);
    if (s->right != s->samples) {
        fail_with_frames(s);
    }
    assert_true(s->samples >= 400);
#ifdef HAVE_LIBUNWIND
    assert_int_equal(s->oracle_right, s->samples);
#endif
    free(s);
}

static void stack_interrupted_in_malloc_is_right(void **state) {
    (void)state;
    check_interrupted(leaf_malloc);
}
static void stack_interrupted_in_memcpy_is_right(void **state) {
    (void)state;
    check_interrupted(leaf_memcpy);
}
static void stack_interrupted_in_qsort_is_right(void **state) {
    (void)state;
    check_interrupted(leaf_qsort);
}
static void stack_interrupted_in_the_vdso_is_right(void **state) {
    (void)state;
    check_interrupted(leaf_clock);
}
static void stack_interrupted_in_libm_is_right(void **state) {
    (void)state;
    check_interrupted(leaf_math);
}

/* ---- code without rules ---- */

__asm__(".text\n"
        ".type bare_leaf,@function\n"
        "bare_leaf: nop\n"
        "bare_leaf_body: nop\n"
        "ret\n"
        ".size bare_leaf,.-bare_leaf\n");
extern const char bare_leaf_body[] __attribute__((visibility("hidden")));

static void leaf_without_rules_returns_to_where_the_stack_says(void **state) {
    (void)state;
    struct situation *s = new_situation(5, leaf_raise);
    run(s, 0);
    unwind_now(s);
    uint64_t caller = s->frames[1].pc;
    /* sp points at the return address, and then one word below it. */
    for (unsigned pushed = 0; pushed < 2; pushed++) {
        uint64_t at = 0;
        for (uint64_t a = s->snap.stack.lo; a < s->snap.stack.hi && !at; a += 8) {
            uint64_t v;
            at = cfi_load_async(&s->snap.stack, a, &v) && v == caller ? a : 0;
        }
        assert_true(at > s->snap.stack.lo);
        memset(s->snap.copy + (at - 8 - s->snap.stack.lo), 0, 8);
        struct cfi_registers regs = s->snap.regs;
        regs.value[CFI_PC] = (uint64_t)(uintptr_t)bare_leaf_body;
        regs.value[CFI_RSP] = at - 8 * pushed;
        struct unwind_frame frames[3];
        enum unwind_end end;
        assert_int_equal(unwind_async(unwinder, &regs, &s->snap.stack, frames, 3, &end), 3);
        assert_true(frames[0].function == 0);
        assert_true(frames[1].pc == caller);
    }
    free(s);
}

static void code_made_at_run_time_is_followed_by_its_frame_pointers(void **state) {
    (void)state;
    struct situation *s = new_situation(5, leaf_raise);
    run(s, 0);
    unwind_now(s);
    /* Two invented frames below a real one: pc outside all modules, a chain of saved rbp. */
    uint64_t words[16] = {0};
    uint64_t base = 0x10000;
    uint64_t made = 0x7777000000;
    words[2] = base + 8 * 6; /* rbp of frame 0 -> saved rbp of frame 1 */
    words[3] = made + 0x100;
    words[6] = 0;
    words[7] = s->frames[2].pc;
    struct cfi_stack stack = {(const uint8_t *)words, base, base + sizeof words};
    struct cfi_registers regs = {.known = 1u << CFI_PC | 1u << CFI_RSP | 1u << CFI_RBP};
    regs.value[CFI_PC] = made;
    regs.value[CFI_RSP] = base;
    regs.value[CFI_RBP] = base + 16;
    struct unwind_frame frames[4];
    enum unwind_end end;
    size_t n = unwind_async(unwinder, &regs, &stack, frames, 4, &end);
    assert_true(n >= 3);
    assert_true(frames[0].pc == made && frames[0].function == 0);
    assert_true(frames[1].pc == made + 0x100);
    assert_true(frames[2].pc == s->frames[2].pc);
    /* And a chain that leads nowhere ends there. */
    words[3] = 0;
    assert_int_equal(unwind_async(unwinder, &regs, &stack, frames, 4, &end), 1);
    assert_int_equal(end, UNWIND_LOST);
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
    };
    return cmocka_run_group_tests_name("unwind", tests, set_up, tear_down);
}
