/* Signals that come late: the kernel keeps one of a kind pending, whichever round it is of. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/signal_linux.h"

enum { SOON_MS = 20, LONG_MS = 10000 };

/* A thread that takes no signal until it is told to. */
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
        pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* what is pending is handled here */
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

static int setup(void **state) {
    (void)state;
    return signal_linux_install(SIGURG) ? 0 : -1;
}

/* A request that the thread does not answer: its signal stays pending. */
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
    assert_ptr_equal(signal_linux_buffer_async(&size), buffer); /* no handler hangs */
    finish(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signal_of_an_earlier_request_answers_the_next),
        cmocka_unit_test(late_signal_does_not_answer_for_another_thread),
        cmocka_unit_test(late_signal_does_nothing_when_nobody_asks),
    };
    return cmocka_run_group_tests_name("signal_linux", tests, setup, NULL);
}
