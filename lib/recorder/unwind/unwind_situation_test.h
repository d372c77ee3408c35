/* Stacks whose return addresses are known, for the tests of the unwinder. Functions with frames of
 * all kinds write down their return addresses; a signal handler takes a snapshot as the recorder
 * does. One file of each program includes this header. */
#ifndef STALLREC_UNWIND_SITUATION_TEST_H
#define STALLREC_UNWIND_SITUATION_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for the names of registers */
#endif
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "linux/signal_linux.h"
#include "linux/modules_linux.h"
#if defined(__x86_64__)
#include "unwind/unwind_code_x86_64_test.h"
#else
#include "unwind/unwind_code_aarch64_test.h"
#endif

#define HELPER __attribute__((unused))

enum { DEPTH_MAX = 400, FRAMES_MAX = 512, COPY_MAX = 512 * 1024 };

#define NOINLINE __attribute__((noinline, noclone))
#ifdef __clang__
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif
#define NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))

/* A snapshot as the recorder takes it, made by a signal handler on the thread itself. */
struct snapshot {
    struct cfi_registers regs;
    struct cfi_stack stack;
    uint8_t copy[COPY_MAX];
};

struct situation {
    unsigned depth;
    void *expected[DEPTH_MAX]; /* return addresses that the frames themselves wrote down, outermost
                                  first */
    void (*leaf)(struct situation *);
    struct snapshot snap;
    struct unwind_frame frames[FRAMES_MAX];
    size_t count;
    enum unwind_end end;
    volatile unsigned samples, right;
    unsigned oracle_right;
    volatile uint64_t sink;
};

static struct unwinder *unwinder;
static struct situation *now; /* the situation for which the signal handlers work */
static uint64_t stack_end;

static void find_stack_end(void) {
    pthread_attr_t attr;
    void *base;
    size_t size;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    assert_int_equal(pthread_attr_getstack(&attr, &base, &size), 0);
    pthread_attr_destroy(&attr);
    stack_end = (uint64_t)(uintptr_t)base + size;
}

NO_SANITIZE static void take_snapshot(struct snapshot *snap, const ucontext_t *uc) {
    context_registers_async(uc, &snap->regs);
    uint64_t lo = (snap->regs.value[CFI_SP] - ARCH_RED_ZONE) & ~UINT64_C(7);
    uint64_t size = stack_end - lo < COPY_MAX ? stack_end - lo : COPY_MAX;
    const volatile uint64_t *from = (const volatile uint64_t *)(uintptr_t)lo;
    for (uint64_t i = 0; i < size / 8; i++) {
        ((uint64_t *)(void *)snap->copy)[i] = from[i];
    }
    snap->stack = (struct cfi_stack){snap->copy, lo, lo + size};
}

HELPER static void unwind_now(struct situation *s) {
    s->count =
        unwind_async(unwinder, &s->snap.regs, &s->snap.stack, s->frames, FRAMES_MAX, &s->end);
}

/* Are all expected return addresses among the frames, next to each other, and was the end of the
 * stack reached?
 */
HELPER static bool is_right(const struct situation *s) {
    unsigned d = s->depth;
    for (size_t at = 0; at + d <= s->count; at++) {
        unsigned n = 0;
        while (n < d && s->frames[at + n].pc == (uint64_t)(uintptr_t)s->expected[d - 1 - n]) {
            n++;
        }
        if (n == d) {
            return s->end == UNWIND_OUTERMOST;
        }
    }
    return false;
}

static uint64_t trampoline; /* the address to which a signal handler returns */

static void on_capture(int sig, siginfo_t *info, void *uc) {
    (void)sig, (void)info;
    trampoline = (uint64_t)(uintptr_t)__builtin_return_address(0);
    if (now) {
        take_snapshot(&now->snap, uc);
    }
}

/* Finds modules as the recorder does, and the signal trampoline, which an emulator without a vdso
 * may keep on a page of its own. */
static bool find_module(void *arg, uint64_t pc, unwind_visit_fn *visit, void *visit_arg) {
    struct unwind_modules real = modules_linux();
    struct cfi_module page = {
        .segments = {{trampoline, (const uint8_t *)(uintptr_t)trampoline, 8, true}},
        .segment_count = 1};
    if (real.find_async(arg, pc, visit, visit_arg)) {
        return true;
    }
    if (pc - trampoline < 8) {
        visit(visit_arg, &page);
    }
    return pc - trampoline < 8;
}

HELPER static void fail_with_frames(const struct situation *s) {
    for (size_t i = 0; i < s->count; i++) {
        print_message("  frame %zu: %#llx function %#llx\n", i, (unsigned long long)s->frames[i].pc,
                      (unsigned long long)s->frames[i].function);
    }
    for (unsigned i = 0; i < s->depth; i++) {
        print_message("  expected %p\n", s->expected[s->depth - 1 - i]);
    }
    fail_msg("wrong stack, end %d", (int)s->end);
}

/* ---- frames of all kinds; each writes down its return address ---- */

HELPER NOINLINE static void leaf_raise(struct situation *s) {
    raise(SIGUSR1);
    s->sink++;
}

NOINLINE static void run(struct situation *s, unsigned level);

/* This is always inlined, so that the functions that call it are next to each other on the
 * stack. */
static inline __attribute__((always_inline)) void descend(struct situation *s, unsigned level) {
    if (level + 1 == s->depth) {
        s->leaf(s);
    } else {
        run(s, level + 1);
    }
}

NOINLINE static void run_dynamic(struct situation *s, unsigned level) {
    s->expected[level] = __builtin_return_address(0);
    volatile char *p = __builtin_alloca(16 + level * 24);
    p[0] = (char)level;
    descend(s, level);
    s->sink += (uint64_t)p[0];
}

NOINLINE static void run_aligned(struct situation *s, unsigned level) {
    s->expected[level] = __builtin_return_address(0);
    _Alignas(64) volatile char p[128];
    p[level % 128] = 1;
    descend(s, level);
    s->sink += (uint64_t)p[level % 128];
}

NOINLINE static void run_large(struct situation *s, unsigned level) {
    s->expected[level] = __builtin_return_address(0);
    volatile char p[1500];
    p[level] = 1;
    descend(s, level);
    s->sink += (uint64_t)p[level];
}

NOINLINE static void run_plain(struct situation *s, unsigned level) {
    s->expected[level] = __builtin_return_address(0);
    descend(s, level);
    s->sink++;
}

/* Calls the functions of the other kinds in turn, down to the leaf at s->depth. */
NOINLINE static void run(struct situation *s, unsigned level) {
    s->expected[level] = __builtin_return_address(0);
    if (level + 1 >= s->depth) {
        s->leaf(s);
    } else if (level % 5 == 1) {
        run_large(s, level + 1);
    } else if (level % 5 == 2) {
        run_dynamic(s, level + 1);
    } else if (level % 5 == 4) {
        run_aligned(s, level + 1);
    } else {
        run_plain(s, level + 1);
    }
    s->sink++;
}

HELPER static struct situation *new_situation(unsigned depth, void (*leaf)(struct situation *)) {
    struct situation *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->depth = depth;
    s->leaf = leaf;
    now = s;
    return s;
}

HELPER static int set_up(void **state) {
    (void)state;
    struct unwind_modules modules = modules_linux();
    modules.find_async = find_module;
    unwinder = unwinder_new(&modules, 4096);
    assert_non_null(unwinder);
    find_stack_end();
    struct sigaction sa = {.sa_sigaction = on_capture, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR1, &sa, NULL);
    now = NULL;
    raise(SIGUSR1);
    return 0;
}

HELPER static int tear_down(void **state) {
    (void)state;
    unwinder_free(unwinder);
    unwinder = NULL;
    return 0;
}

#endif
