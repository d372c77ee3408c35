/* Tests signals that come late: the kernel keeps only one of a kind pending, whichever request it
 * belongs to. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "linux/signal_linux.h"

enum { SOON_MS = 20, LONG_MS = 10000, CONTEXT_STACK = 64 * 1024, TRIES = 200 };

/* A thread that blocks the signal until the test lets it take a pending one. */
struct thread {
    pthread_t thread;
    struct signal_target target;
    sem_t ready, take;
    atomic_bool took, stop;
};

static void *thread_main(void *arg) {
    struct thread *t = arg;
    sigset_t set;
    pthread_attr_t attr;
    void *base;
    size_t size;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &base, &size);
    pthread_attr_destroy(&attr);
    t->target.tid = gettid();
    t->target.lo = (uint64_t)(uintptr_t)base;
    t->target.hi = t->target.lo + size;
    sem_post(&t->ready);
    while (!t->stop) {
        sem_wait(&t->take);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* a pending signal is handled here */
        t->took = true;
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
    return NULL;
}

static struct thread *start(void) {
    struct thread *t = calloc(1, sizeof *t);
    assert_non_null(t);
    sem_init(&t->ready, 0, 0);
    sem_init(&t->take, 0, 0);
    assert_int_equal(pthread_create(&t->thread, NULL, thread_main, t), 0);
    while (sem_wait(&t->ready) != 0) {
    }
    return t;
}

static void finish(struct thread *t) {
    t->stop = true;
    sem_post(&t->take);
    pthread_join(t->thread, NULL);
    sem_destroy(&t->ready);
    sem_destroy(&t->take);
    free(t);
}

static atomic_int programs_signals;

static void on_programs_signal(int sig) {
    (void)sig;
    atomic_fetch_add(&programs_signals, 1);
}

static int setup(void **state) {
    struct sigaction sa = {.sa_handler = on_programs_signal};
    (void)state;
    return sigaction(SIGURG, &sa, NULL) == 0 && signal_linux_install(SIGURG) ? 0 : -1;
}

/* Sends a request that the thread does not answer, so that its signal stays pending. */
static void ask_in_vain(struct thread *t) {
    struct signal_copy copy;
    assert_true(signal_linux_send_async(&t->target));
    assert_false(signal_linux_await_async(false, SOON_MS));
    assert_false(signal_linux_finish_async(&copy));
}

static bool is_of(const struct signal_copy *copy, const struct thread *t) {
    return copy->stack.hi > copy->stack.lo &&
           stack_is_own_async(&t->target, copy->regs.value[CFI_SP]);
}

static void signal_of_an_earlier_request_answers_the_next(void **state) {
    struct thread *t = start();
    struct signal_copy copy;
    (void)state;
    ask_in_vain(t);
    assert_true(signal_linux_send_async(&t->target));
    sem_post(&t->take);
    assert_true(signal_linux_await_async(false, LONG_MS));
    assert_true(signal_linux_finish_async(&copy));
    assert_true(is_of(&copy, t));
    finish(t);
}

static void late_signal_does_not_answer_for_another_thread(void **state) {
    struct thread *late = start(), *asked = start();
    struct signal_copy copy;
    (void)state;
    ask_in_vain(late);
    assert_true(signal_linux_send_async(&asked->target));
    sem_post(&late->take);
    while (!late->took) {
        usleep(100);
    }
    assert_false(signal_linux_await_async(false, SOON_MS));
    sem_post(&asked->take);
    assert_true(signal_linux_await_async(false, LONG_MS));
    assert_true(signal_linux_finish_async(&copy));
    assert_true(is_of(&copy, asked));
    finish(late);
    finish(asked);
}

static void late_signal_does_nothing_when_nobody_asks(void **state) {
    struct thread *t = start();
    size_t size;
    (void)state;
    ask_in_vain(t);
    uint8_t *buffer = signal_linux_buffer_async(&size);
    assert_non_null(buffer);
    memset(buffer, 0x5a, size);
    sem_post(&t->take);
    while (!t->took) {
        usleep(100);
    }
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(buffer[i], 0x5a);
    }
    assert_ptr_equal(signal_linux_buffer_async(&size), buffer); /* no handler is still at work */
    finish(t);
}

/* The kernel drops the second of two signals of a kind that are pending for a thread. */
static void signal_that_stands_for_two_reaches_the_programs_handler(void **state) {
    struct thread *t = start();
    struct signal_copy copy;
    (void)state;
    assert_true(signal_linux_send_async(&t->target));
    assert_int_equal(pthread_kill(t->thread, SIGURG), 0);
    atomic_store(&programs_signals, 0);
    sem_post(&t->take);
    assert_true(signal_linux_await_async(false, LONG_MS));
    assert_true(signal_linux_finish_async(&copy));
    while (!t->took) {
        usleep(100);
    }
    assert_int_equal(atomic_load(&programs_signals), 1);
    finish(t);
}

/* ---- threads that the kernel kills for any system call but the end of a handler ---- */

struct strict_thread {
    pthread_t thread;
    struct signal_target target;
    ucontext_t context, back;
    uint8_t *stack; /* memory for a stack of its own; NULL: it uses the thread's */
    atomic_bool strict, stop;
};

static struct strict_thread *strict; /* the thread's data, global as makecontext passes only
                                        integers */

static void spin_strictly(void) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0) {
        strict->strict = true;
    }
    while (!strict->stop) {
    }
    syscall(SYS_exit, 0);
}

static void *strict_main(void *arg) {
    pthread_attr_t attr;
    void *base;
    size_t size;
    (void)arg;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &base, &size);
    pthread_attr_destroy(&attr);
    strict->target = (struct signal_target){.tid = gettid(), .filtered = true};
    strict->target.lo = (uint64_t)(uintptr_t)base;
    strict->target.hi = strict->target.lo + size;
    if (strict->stack) {
        getcontext(&strict->context);
        strict->context.uc_stack.ss_sp = strict->stack;
        strict->context.uc_stack.ss_size = CONTEXT_STACK;
        makecontext(&strict->context, spin_strictly, 0);
        swapcontext(&strict->back, &strict->context);
    }
    spin_strictly();
    return NULL;
}

/* Copies the stack of such a thread, up to TRIES times until a copy succeeds, as on a loaded
 * machine one may be late. */
static void copy_strict_thread(bool foreign_stack) {
    struct strict_thread s = {.stack = foreign_stack ? malloc(CONTEXT_STACK) : NULL};
    struct signal_copy copy = {.stack = {0}};
    strict = &s;
    assert_int_equal(pthread_create(&s.thread, NULL, strict_main, NULL), 0);
    while (!s.strict) {
        usleep(100);
    }
    bool copied = false;
    for (unsigned i = 0; i < TRIES && !copied; i++) {
        assert_true(signal_linux_send_async(&s.target));
        (void)signal_linux_await_async(false, LONG_MS);
        copied = signal_linux_finish_async(&copy) && copy.stack.hi > copy.stack.lo;
    }
    uint64_t sp = copy.regs.value[CFI_SP];
    s.stop = true;
    pthread_join(s.thread, NULL);
    assert_true(copied);
    assert_true(copy.stack.lo <= sp && sp < copy.stack.hi);
    assert_int_equal(stack_is_own_async(&s.target, sp), !foreign_stack);
    assert_true(copy.pause_ns > 0);
    free(s.stack);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* a sanitizer's library makes system calls when a thread ends */
#else
enum { SANITIZED = 0 };
#endif

static void handler_makes_no_system_call_under_a_filter(void **state) {
    (void)state;
    if (SANITIZED) {
        skip();
    }
    copy_strict_thread(false);
}

static void monitor_reads_a_foreign_stack_under_a_filter(void **state) {
    (void)state;
    if (SANITIZED) {
        skip();
    }
    copy_strict_thread(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signal_of_an_earlier_request_answers_the_next),
        cmocka_unit_test(late_signal_does_not_answer_for_another_thread),
        cmocka_unit_test(late_signal_does_nothing_when_nobody_asks),
        cmocka_unit_test(signal_that_stands_for_two_reaches_the_programs_handler),
        cmocka_unit_test(handler_makes_no_system_call_under_a_filter),
        cmocka_unit_test(monitor_reads_a_foreign_stack_under_a_filter),
    };
    return cmocka_run_group_tests_name("signal_linux", tests, setup, NULL);
}
