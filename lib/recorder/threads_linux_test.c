/* All threads at once: blocked, running, ending, dead-locked. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "modules_linux.h"
#include "threads_linux.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

enum { DEPTH = 12, FRAMES = 128, BLOCKED = 48, RUNNING = 2, THREADS = BLOCKED + RUNNING };

/* ---- allocation on the sampling path ---- */

static _Thread_local bool forbid_allocation;
static atomic_uint forbidden;

#ifndef SANITIZED
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
void *malloc(size_t size) {
    forbidden += forbid_allocation;
    return __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
    forbidden += forbid_allocation;
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t size) {
    forbidden += forbid_allocation;
    return __libc_realloc(p, size);
}
void free(void *p) {
    forbidden += forbid_allocation && p;
    __libc_free(p);
}
#endif

/* ---- threads ---- */

struct worker {
    void (*leaf)(struct worker *);
    void *expected[DEPTH];
    pthread_t thread;
    atomic_int tid;
    atomic_bool ready, stop;
    atomic_uint early; /* waits that ended before their time */
    atomic_ulong work;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int pipe[2], epoll;
    char name[16];
};

static struct timespec in_a_minute(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += 60;
    return t;
}

static void wait_mutex(struct worker *w) {
    w->ready = true;
    pthread_mutex_lock(&w->mutex);
    pthread_mutex_unlock(&w->mutex);
}
static void wait_read(struct worker *w) {
    char c;
    w->ready = true;
    w->early += read(w->pipe[0], &c, 1) != 1;
}
static void wait_poll(struct worker *w) {
    struct pollfd p = {.fd = w->pipe[0], .events = POLLIN};
    w->ready = true;
    w->early += poll(&p, 1, 60000) != 1;
}
static void wait_sleep(struct worker *w) {
    struct timespec t = {60, 0};
    w->ready = true;
    w->early += nanosleep(&t, NULL) != 0 && !w->stop;
}
static void wait_cond(struct worker *w) {
    struct timespec t = in_a_minute(CLOCK_REALTIME);
    pthread_mutex_lock(&w->mutex);
    w->ready = true;
    while (!w->stop) {
        w->early += pthread_cond_timedwait(&w->cond, &w->mutex, &t) != 0;
    }
    pthread_mutex_unlock(&w->mutex);
}
static void wait_epoll(struct worker *w) {
    struct epoll_event e;
    w->ready = true;
    w->early += epoll_wait(w->epoll, &e, 1, 60000) != 1;
}
static void spin(struct worker *w) {
    w->ready = true;
    while (!w->stop) {
        w->work++;
    }
}
static void spin_without_signals(struct worker *w) {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    spin(w);
}

NOINLINE static void go_deep(struct worker *w, unsigned level) {
    volatile char room[48];
    w->expected[level] = __builtin_return_address(0);
    room[level] = 1;
    if (level + 1 == DEPTH) {
        w->leaf(w);
    } else {
        go_deep(w, level + 1);
    }
    w->work += (unsigned long)room[level];
}

static void *worker_main(void *arg) {
    struct worker *w = arg;
    pthread_setname_np(pthread_self(), w->name);
    w->tid = gettid();
    go_deep(w, 0);
    return NULL;
}

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void on_alarm(int sig) {
    (void)sig; /* ends a sleep */
}

static void worker_start(struct worker *w, void (*leaf)(struct worker *), const char *name) {
    memset(w, 0, sizeof *w);
    w->leaf = leaf;
    memcpy(w->name, name, strlen(name) + 1);
    assert_int_equal(pipe(w->pipe), 0);
    w->epoll = epoll_create1(0);
    struct epoll_event e = {.events = EPOLLIN};
    assert_int_equal(epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->pipe[0], &e), 0);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->cond, NULL);
    if (leaf == wait_mutex) {
        pthread_mutex_lock(&w->mutex);
    }
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    assert_int_equal(pthread_create(&w->thread, &attr, worker_main, w), 0);
    pthread_attr_destroy(&attr);
    while (!w->ready) {
        pause_ms(1);
    }
}

static void worker_end(struct worker *w) {
    w->stop = true;
    if (w->leaf == wait_mutex) {
        pthread_mutex_unlock(&w->mutex);
    } else if (w->leaf == wait_cond) {
        pthread_mutex_lock(&w->mutex);
        pthread_cond_signal(&w->cond);
        pthread_mutex_unlock(&w->mutex);
    } else if (w->leaf == wait_sleep) {
        pthread_kill(w->thread, SIGALRM);
    }
    assert_int_equal(write(w->pipe[1], "x", 1), 1);
    pthread_join(w->thread, NULL);
    close(w->pipe[0]);
    close(w->pipe[1]);
    close(w->epoll);
}

/* ---- captures ---- */

struct fixture {
    struct copy_source watched;
    struct lock_layout locks;
    struct copy_unwinder unwinder;
    struct threads_linux *threads;
    struct rec_thread out[THREADS_LINUX_MAX];
    uint32_t count;
};

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    struct unwind_modules modules = modules_linux();
    struct sigaction sa = {.sa_handler = on_alarm};
    assert_non_null(f);
    sigaction(SIGALRM, &sa, NULL);
    assert_true(signal_linux_install(SIGURG));
    f->watched.target.tid = gettid();
    f->watched.pid = getpid();
    f->watched.signal_number = SIGURG;
    lock_layout_probe(&f->locks);
    f->unwinder.max_frames = FRAMES;
    f->unwinder.frames = calloc(FRAMES, sizeof *f->unwinder.frames);
    f->unwinder.unwinder = unwinder_new(&modules, 4096);
    f->threads = threads_linux_new(&f->watched, &f->locks, &f->unwinder);
    assert_non_null(f->threads);
    for (uint32_t i = 0; i < THREADS_LINUX_MAX; i++) {
        f->out[i].stack.cap = FRAMES;
        f->out[i].stack.frames = calloc(FRAMES, sizeof(uint64_t));
        assert_non_null(f->out[i].stack.frames);
    }
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    for (uint32_t i = 0; i < THREADS_LINUX_MAX; i++) {
        free(f->out[i].stack.frames);
    }
    threads_linux_free(f->threads);
    unwinder_free(f->unwinder.unwinder);
    free(f->unwinder.frames);
    free(f);
    return 0;
}

static void capture(struct fixture *f, int64_t owner, uint32_t max) {
    forbid_allocation = true;
    f->count = threads_linux_capture_async(f->threads, owner, f->out, max);
    forbid_allocation = false;
    assert_true(f->count <= max);
    for (uint32_t i = 0; i < f->count; i++) {
        assert_true(i == 0 || f->out[i - 1].id < f->out[i].id);
        assert_true(f->out[i].id != gettid());
        assert_false(f->out[i].main);
    }
    assert_int_equal(forbidden, 0);
}

static const struct rec_thread *find(const struct fixture *f, pid_t tid) {
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->out[i].id == tid) {
            return &f->out[i];
        }
    }
    return NULL;
}

static bool stack_is_right(const struct worker *w, const struct rec_stack *s) {
    for (uint32_t at = 0; at + DEPTH <= s->count; at++) {
        unsigned n = 0;
        while (n < DEPTH && s->frames[at + n] == (uint64_t)(uintptr_t)w->expected[DEPTH - 1 - n]) {
            n++;
        }
        if (n == DEPTH) {
            return !s->truncated;
        }
    }
    return false;
}

static void fifty_threads_have_their_stacks_and_none_is_disturbed(void **state) {
    static void (*const leaves[6])(struct worker *) = {wait_mutex, wait_read, wait_poll,
                                                       wait_sleep, wait_cond, wait_epoll};
    struct fixture *f = *state;
    struct worker *w = calloc(THREADS, sizeof *w);
    assert_non_null(w);
    for (unsigned i = 0; i < THREADS; i++) {
        char name[16];
        snprintf(name, sizeof name, "worker-%u", i);
        worker_start(&w[i], i < BLOCKED ? leaves[i % 6] : spin, name);
    }
    pause_ms(20); /* from "ready" to the system call */
    unsigned running = 0;
    for (unsigned round = 0; round < 10; round++) {
        capture(f, -1, THREADS_LINUX_MAX);
        assert_int_equal(f->count, THREADS);
        for (unsigned i = 0; i < THREADS; i++) {
            const struct rec_thread *t = find(f, w[i].tid);
            assert_non_null(t);
            assert_string_equal(t->name, w[i].name);
            assert_true(t->cpu_ns > 0 && t->cpu_ns != UINT64_MAX);
            if (i < BLOCKED) {
                assert_true(stack_is_right(&w[i], &t->stack));
                assert_int_equal(t->state, REC_STATE_WAITING);
                assert_int_equal(t->stack.pause_ns, 0);
                /* A wait for a mutex is for its owner, this thread; no other wait has one. */
                assert_int_equal(t->waits_for.owner,
                                 w[i].leaf == wait_mutex && f->locks.mutex ? gettid() : -1);
            } else {
                assert_int_equal(t->state, REC_STATE_RUNNING);
                running += stack_is_right(&w[i], &t->stack);
            }
        }
    }
    /* A machine that has no time for a thread in 20 ms may miss one. */
    assert_true(running >= RUNNING * 10 / 2);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(w[i].early, 0);
        worker_end(&w[i]);
    }
    free(w);
}

static void a_running_thread_that_blocks_the_signal_has_no_stack(void **state) {
    struct fixture *f = *state;
    struct worker w;
    worker_start(&w, spin_without_signals, "deaf");
    capture(f, -1, THREADS_LINUX_MAX);
    const struct rec_thread *t = find(f, w.tid);
    assert_non_null(t);
    assert_string_equal(t->name, "deaf");
    assert_int_equal(t->state, REC_STATE_RUNNING);
    assert_int_equal(t->stack.count, 0);
    worker_end(&w);
}

/* More of them than there are processors: each would answer in its turn only. */
static void threads_that_have_no_processor_do_not_hold_the_capture_up(void **state) {
    enum { SPINNERS = 24 };
    struct fixture *f = *state;
    struct worker *w = calloc(SPINNERS + 1, sizeof *w);
    struct timespec begin, end;
    assert_non_null(w);
    for (unsigned i = 0; i < SPINNERS; i++) {
        worker_start(&w[i], spin, "spinner");
    }
    worker_start(&w[SPINNERS], wait_poll, "last");
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    capture(f, -1, THREADS_LINUX_MAX);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    assert_int_equal(f->count, SPINNERS + 1);
    for (unsigned i = 0; i <= SPINNERS; i++) {
        const struct rec_thread *t = find(f, w[i].tid);
        assert_non_null(t);
        assert_string_equal(t->name, w[i].name);
        assert_true(t->stack.count == 0 || stack_is_right(&w[i], &t->stack));
    }
    /* Waiting for an answer is no work. */
    assert_true(end.tv_sec - begin.tv_sec <= 1);
    for (unsigned i = 0; i <= SPINNERS; i++) {
        worker_end(&w[i]);
    }
    free(w);
}

/* ---- threads that end meanwhile ---- */

static atomic_bool churning;
static atomic_uint churned;

static void *short_lived(void *arg) {
    (void)arg;
    churned++;
    return NULL;
}

static void *churn(void *arg) {
    (void)arg;
    while (churning) {
        pthread_t t[4];
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(pthread_create(&t[i], NULL, short_lived, NULL), 0);
        }
        for (unsigned i = 0; i < 4; i++) {
            pthread_join(t[i], NULL);
        }
    }
    return NULL;
}

static void threads_that_end_meanwhile_are_left_out(void **state) {
    struct fixture *f = *state;
    struct worker fixed[3];
    pthread_t churners[3];
    worker_start(&fixed[0], wait_poll, "fixed");
    worker_start(&fixed[1], wait_cond, "fixed");
    worker_start(&fixed[2], wait_read, "fixed");
    churning = true;
    churned = 0;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&churners[i], NULL, churn, NULL), 0);
    }
    pause_ms(10);
    for (unsigned round = 0; round < 200; round++) {
        capture(f, -1, THREADS_LINUX_MAX);
        assert_true(f->count >= 3 && f->count <= 3 + 3 + 3 * 4 + 8);
        for (unsigned i = 0; i < 3; i++) {
            const struct rec_thread *t = find(f, fixed[i].tid);
            assert_non_null(t);
            assert_true(stack_is_right(&fixed[i], &t->stack));
        }
    }
    assert_true(churned > 100);
    churning = false;
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(churners[i], NULL);
        assert_int_equal(fixed[i].early, 0);
        worker_end(&fixed[i]);
    }
}

/* ---- locks ---- */

struct knot {
    pthread_mutex_t lock[2];
    pthread_barrier_t both;
    atomic_int tid[2];
    pthread_t thread[2];
    atomic_uint next;
};

/* Each locks one and then wants the other's, for a second. */
static void *tie(void *arg) {
    struct knot *k = arg;
    unsigned i = atomic_fetch_add(&k->next, 1);
    k->tid[i] = gettid();
    pthread_mutex_lock(&k->lock[i]);
    pthread_barrier_wait(&k->both);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 1;
    if (pthread_mutex_timedlock(&k->lock[!i], &t) == 0) {
        pthread_mutex_unlock(&k->lock[!i]);
    }
    pthread_mutex_unlock(&k->lock[i]);
    return NULL;
}

static void threads_in_a_deadlock_wait_for_each_other(void **state) {
    struct fixture *f = *state;
    struct knot k = {.lock = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}};
    if (!f->locks.mutex) {
        skip(); /* this C library does not tell */
    }
    pthread_barrier_init(&k.both, NULL, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&k.thread[i], NULL, tie, &k), 0);
    }
    const struct rec_thread *t[2] = {NULL, NULL};
    for (unsigned tries = 0; tries < 200; tries++) {
        pause_ms(2);
        capture(f, -1, THREADS_LINUX_MAX);
        t[0] = find(f, k.tid[0]);
        t[1] = find(f, k.tid[1]);
        if (t[0] && t[1] && t[0]->waits_for.owner >= 0 && t[1]->waits_for.owner >= 0) {
            break;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_non_null(t[i]);
        assert_int_equal(t[i]->waits_for.kind, REC_WAIT_MUTEX);
        assert_int_equal(t[i]->waits_for.owner, k.tid[!i]);
        assert_true(t[i]->waits_for.address == (uint64_t)(uintptr_t)&k.lock[!i]);
    }
    /* The chain of owners goes round, and ends. */
    capture(f, k.tid[1], 8);
    assert_int_equal(f->count, 2);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(k.thread[i], NULL);
    }
}

struct link {
    struct worker worker;
    struct link *holder; /* who holds what this one waits for */
    pthread_mutex_t held;
};

static void hold_and_wait(struct worker *w) {
    struct link *l = (struct link *)(void *)w; /* its first member */
    pthread_mutex_lock(&l->held);
    w->ready = true;
    if (l->holder) {
        pthread_mutex_lock(&l->holder->held);
        pthread_mutex_unlock(&l->holder->held);
    } else {
        char c;
        w->early += read(w->pipe[0], &c, 1) != 1;
    }
    pthread_mutex_unlock(&l->held);
}

static void link_start(struct link *l, struct link *holder) {
    l->holder = holder;
    pthread_mutex_init(&l->held, NULL);
    worker_start(&l->worker, hold_and_wait, "link");
}

static void who_holds_what_is_waited_for_is_never_left_out(void **state) {
    struct fixture *f = *state;
    struct worker idle[8];
    static struct link last, middle;
    if (!f->locks.mutex) {
        skip(); /* this C library does not tell */
    }
    for (unsigned i = 0; i < 8; i++) {
        worker_start(&idle[i], wait_read, "idle");
    }
    link_start(&last, NULL);
    link_start(&middle, &last);
    pause_ms(20);
    capture(f, middle.worker.tid, 3); /* as if the watched thread waited for it */
    assert_int_equal(f->count, 3);
    assert_non_null(find(f, middle.worker.tid));
    assert_non_null(find(f, last.worker.tid));
    assert_int_equal(find(f, middle.worker.tid)->waits_for.owner, last.worker.tid);
    assert_true(stack_is_right(&last.worker, &find(f, last.worker.tid)->stack));
    worker_end(&last.worker);
    worker_end(&middle.worker);
    capture(f, -1, 3);
    assert_int_equal(f->count, 3);
    capture(f, -1, 0);
    assert_int_equal(f->count, 0);
    capture(f, 1 << 30, 3); /* an owner that is gone */
    assert_int_equal(f->count, 2);
    for (unsigned i = 0; i < 8; i++) {
        worker_end(&idle[i]);
    }
}

/* ---- the way of copying ---- */

static void a_copy_ends_where_the_memory_does(void **state) {
    enum { PAGE = 4096, PAGES = 4, SIZE = 64 * 1024 };
    (void)state;
    uint8_t *to = malloc(SIZE);
    uint8_t *map =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_non_null(to);
    assert_true(map != MAP_FAILED);
    memset(map, 7, PAGES * PAGE);
    assert_int_equal(mprotect(map + 3 * PAGE, PAGE, PROT_NONE), 0);
    uint64_t base = (uint64_t)(uintptr_t)map;
    assert_int_equal(stack_copy_mapped_async(getpid(), to, base + 8, SIZE), 3 * PAGE - 8);
    assert_int_equal(to[3 * PAGE - 9], 7);
    assert_int_equal(stack_copy_mapped_async(getpid(), to, base + 3 * PAGE - 24, SIZE), 24);
    assert_int_equal(stack_copy_mapped_async(getpid(), to, base, 21), 16);
    assert_int_equal(stack_copy_mapped_async(getpid(), to, base + 3 * PAGE, SIZE), 0);
    assert_int_equal(stack_copy_mapped_async(getpid(), to, 16, 1024), 0);
    munmap(map, PAGES * PAGE);
    free(to);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(fifty_threads_have_their_stacks_and_none_is_disturbed),
        T(a_running_thread_that_blocks_the_signal_has_no_stack),
        T(threads_that_have_no_processor_do_not_hold_the_capture_up),
        T(threads_that_end_meanwhile_are_left_out),
        T(threads_in_a_deadlock_wait_for_each_other),
        T(who_holds_what_is_waited_for_is_never_left_out),
        T(a_copy_ends_where_the_memory_does),
    };
    return cmocka_run_group_tests_name("threads_linux", tests, NULL, NULL);
}
