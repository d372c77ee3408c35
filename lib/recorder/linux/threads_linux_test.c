/* Tests captures of all threads: threads that are blocked, run, end, or are in a deadlock. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "linux/forbid_allocation_test.h"
#include "linux/images_linux.h"
#include "linux/modules_linux.h"
#include "linux/threads_linux.h"
#include "linux/worker_test.h"

enum {
    FRAMES = 128,
    BLOCKED = 48,
    RUNNING = 2,
    THREADS = BLOCKED + RUNNING,
    CHURNERS = 3,
    BUDGET_MS = 100 /* ms after which a capture takes no more stacks (threads_linux.h) */
};

/* ---- captures ---- */

struct fixture {
    struct copy_source watched;
    struct lock_layout locks;
    struct copy_unwinder unwinder;
    struct threads_linux *threads;
    struct rec_thread out[THREADS_LINUX_MAX];
    uint32_t count, left_out;
    bool late; /* the capture took BUDGET_MS or more */
    /* The teardown ends these threads, churners first, also after a failed test. */
    struct worker worker[THREADS];
    pthread_t churner[CHURNERS];
    unsigned churners;
};

static atomic_bool churning;

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
    f->unwinder.images = images_new();
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

static void end_all(struct fixture *f) {
    churning = false;
    while (f->churners > 0) {
        pthread_join(f->churner[--f->churners], NULL);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        worker_end(&f->worker[i]);
    }
}

static int teardown(void **state) {
    struct fixture *f = *state;
    forbid_allocation = false;
    end_all(f);
    for (uint32_t i = 0; i < THREADS_LINUX_MAX; i++) {
        free(f->out[i].stack.frames);
    }
    threads_linux_free(f->threads);
    unwinder_free(f->unwinder.unwinder);
    images_free(f->unwinder.images);
    free(f->unwinder.frames);
    free(f);
    return 0;
}

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void capture(struct fixture *f, int64_t owner, uint32_t max) {
    uint64_t begin = now_ms();
    forbid_allocation = true;
    f->count = threads_linux_capture_async(f->threads, owner, f->out, max, &f->left_out);
    forbid_allocation = false;
    f->late = now_ms() - begin >= BUDGET_MS;
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
            return !s->incomplete;
        }
    }
    return false;
}

/* A blocked thread's stack is right; it is missing only if the capture had no time left. */
static void check_blocked(const struct fixture *f, const struct worker *w,
                          const struct rec_thread *t) {
    assert_non_null(t);
    assert_true(stack_is_right(w, &t->stack) || (f->late && t->stack.count == 0));
}

/* Returns the time of the fastest of five captures in ms, which depends less on the machine's
 * load. */
static uint64_t least_capture_ms(struct fixture *f) {
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < 5; i++) {
        uint64_t begin = now_ms();
        capture(f, -1, THREADS_LINUX_MAX);
        uint64_t took = now_ms() - begin;
        least = took < least ? took : least;
    }
    return least;
}

static void fifty_threads_have_their_stacks_and_none_is_disturbed(void **state) {
    static void (*const leaves[6])(struct worker *) = {wait_mutex, wait_read, wait_poll,
                                                       wait_sleep, wait_cond, wait_epoll};
    enum { ROUNDS = 10, WANTED = RUNNING * ROUNDS / 2 };
    struct fixture *f = *state;
    struct worker *w = f->worker;
    uint64_t alone_ms = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        char name[16];
        if (i == BLOCKED) { /* measures a capture while all threads are blocked */
            for (unsigned k = 0; k < BLOCKED; k++) {
                await_asleep(&w[k]);
            }
            alone_ms = least_capture_ms(f);
        }
        snprintf(name, sizeof name, "worker-%u", i);
        worker_start(&w[i], i < BLOCKED ? leaves[i % 6] : spin, name);
    }
    unsigned running = 0, in_time = 0;
    /* A thread that gets no processor within 20 ms has no stack, so there may be more rounds. */
    for (uint64_t round = 0, end = now_ms() + PATIENCE_MS;
         round < ROUNDS || (running < WANTED && now_ms() < end); round++) {
        capture(f, -1, THREADS_LINUX_MAX);
        in_time += !f->late;
        assert_int_equal(f->count, THREADS);
        for (unsigned i = 0; i < THREADS; i++) {
            const struct rec_thread *t = find(f, w[i].tid);
            assert_non_null(t);
            assert_string_equal(t->name, w[i].name);
            /* The kernel may not have charged a thread for its first moments yet: 0 is a time. */
            assert_true(t->cpu_ns != UINT64_MAX);
            if (i < BLOCKED) {
                check_blocked(f, &w[i], t);
                assert_int_equal(t->state, REC_STATE_WAITING);
                assert_int_equal(t->stack.pause_ns, 0);
                /* A wait for a mutex is for its owner, this thread; no other wait has one. */
                bool owned = w[i].leaf == wait_mutex && f->locks.mutex && t->stack.count > 0;
                assert_int_equal(t->waits_for.owner, owned ? gettid() : -1);
            } else {
                assert_int_equal(t->state, REC_STATE_RUNNING);
                bool right = stack_is_right(&w[i], &t->stack);
                assert_true(right || t->stack.count == 0);
                running += right;
            }
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(w[i].early, 0);
    }
    if (running < WANTED && (in_time == 0 || alone_ms > BUDGET_MS / 4)) {
        print_message("%u ms for those that are blocked: too slow for threads that run to answer\n",
                      (unsigned)alone_ms);
        skip(); /* the processor may be emulated */
    }
    assert_true(running >= WANTED);
    for (unsigned i = BLOCKED; i < THREADS; i++) {
        assert_true(find(f, w[i].tid)->cpu_ns > 0);
    }
}

static void a_running_thread_that_blocks_the_signal_has_no_stack(void **state) {
    struct fixture *f = *state;
    struct worker *w = f->worker;
    worker_start(w, spin_without_signals, "deaf");
    capture(f, -1, THREADS_LINUX_MAX);
    const struct rec_thread *t = find(f, w->tid);
    assert_non_null(t);
    assert_string_equal(t->name, "deaf");
    assert_int_equal(t->state, REC_STATE_RUNNING);
    assert_int_equal(t->stack.count, 0);
}

/* There are more such threads than processors, so each would answer only in its turn. */
static void threads_that_have_no_processor_do_not_hold_the_capture_up(void **state) {
    enum { SPINNERS = 24 };
    struct fixture *f = *state;
    struct worker *w = f->worker;
    struct timespec begin, end;
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
    /* The capture must not spend processor time while it waits for an answer. */
    assert_true(end.tv_sec - begin.tv_sec <= 1);
}

/* ---- threads that end meanwhile ---- */

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
        unsigned n = 0;
        while (n < 4 && pthread_create(&t[n], NULL, short_lived, NULL) == 0) {
            n++;
        }
        while (n > 0) {
            pthread_join(t[--n], NULL);
        }
    }
    return NULL;
}

static void threads_that_end_meanwhile_are_left_out(void **state) {
    enum { FIXED = 3 };
    static void (*const leaves[FIXED])(struct worker *) = {wait_poll, wait_cond, wait_read};
    struct fixture *f = *state;
    for (unsigned i = 0; i < FIXED; i++) {
        worker_start(&f->worker[i], leaves[i], "fixed");
        await_asleep(&f->worker[i]);
    }
    churning = true;
    churned = 0;
    for (; f->churners < CHURNERS; f->churners++) {
        assert_int_equal(pthread_create(&f->churner[f->churners], NULL, churn, NULL), 0);
    }
    for (uint64_t round = 0, end = now_ms() + PATIENCE_MS;
         round < 200 || (churned <= 100 && now_ms() < end); round++) {
        capture(f, -1, THREADS_LINUX_MAX);
        assert_true(f->count >= FIXED);
        for (unsigned i = 0; i < FIXED; i++) {
            check_blocked(f, &f->worker[i], find(f, f->worker[i].tid));
        }
    }
    assert_true(churned > 100);
    for (unsigned i = 0; i < FIXED; i++) {
        assert_int_equal(f->worker[i].early, 0);
    }
}

/* ---- locks ---- */

/* Locks the worker's own mutex and then waits for the other worker's, for 1 s at a time so that it
 * can be stopped. */
static void tie(struct worker *w) {
    pthread_mutex_lock(&w->mutex);
    w->ready = true;
    while (!w->holder->ready && !w->stop) {
        pause_ms(1);
    }
    while (!w->stop) {
        struct timespec t = seconds_from_now(1);
        if (pthread_mutex_timedlock(&w->holder->mutex, &t) == 0) {
            pthread_mutex_unlock(&w->holder->mutex);
            break;
        }
    }
    pthread_mutex_unlock(&w->mutex);
}

static void threads_in_a_deadlock_wait_for_each_other(void **state) {
    struct fixture *f = *state;
    struct worker *w = f->worker;
    if (!f->locks.mutex) {
        skip(); /* mutexes of this C library do not show their owner */
    }
    w[0].holder = &w[1];
    w[1].holder = &w[0];
    worker_start(&w[0], tie, "knot");
    worker_start(&w[1], tie, "knot");
    const struct rec_thread *t[2] = {NULL, NULL};
    for (uint64_t end = now_ms() + PATIENCE_MS; now_ms() < end;) {
        pause_ms(2);
        capture(f, -1, THREADS_LINUX_MAX);
        t[0] = find(f, w[0].tid);
        t[1] = find(f, w[1].tid);
        if (t[0] && t[1] && t[0]->waits_for.owner >= 0 && t[1]->waits_for.owner >= 0) {
            break;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_non_null(t[i]);
        assert_int_equal(t[i]->waits_for.kind, REC_WAIT_MUTEX);
        assert_int_equal(t[i]->waits_for.owner, w[!i].tid);
        assert_true(t[i]->waits_for.address == (uint64_t)(uintptr_t)&w[!i].mutex);
    }
    /* The chain of owners is a circle; following it must end. */
    capture(f, w[1].tid, 8);
    assert_int_equal(f->count, 2);
}

static void hold_and_wait(struct worker *w) {
    pthread_mutex_lock(&w->mutex);
    w->ready = true;
    if (w->holder) {
        pthread_mutex_lock(&w->holder->mutex);
        pthread_mutex_unlock(&w->holder->mutex);
    } else {
        char c;
        w->early += read(w->pipe[0], &c, 1) != 1;
    }
    pthread_mutex_unlock(&w->mutex);
}

static void who_holds_what_is_waited_for_is_never_left_out(void **state) {
    enum { IDLE = 8 };
    struct fixture *f = *state;
    struct worker *idle = f->worker, *last = &f->worker[IDLE], *middle = &f->worker[IDLE + 1];
    if (!f->locks.mutex) {
        skip(); /* mutexes of this C library do not show their owner */
    }
    for (unsigned i = 0; i < IDLE; i++) {
        worker_start(&idle[i], wait_read, "idle");
    }
    middle->holder = last;
    worker_start(last, hold_and_wait, "link");
    worker_start(middle, hold_and_wait, "link");
    await_asleep(last);
    await_asleep(middle);
    capture(f, middle->tid, 3); /* as if the watched thread waited for `middle` */
    assert_int_equal(f->count, 3);
    const struct rec_thread *first = find(f, middle->tid), *second = find(f, last->tid);
    assert_non_null(first);
    assert_true(first->waits_for.owner == last->tid || f->late);
    check_blocked(f, last, second);
    worker_end(last);
    worker_end(middle);
    capture(f, -1, 3);
    assert_int_equal(f->count, 3);
    capture(f, -1, 0);
    assert_int_equal(f->count, 0);
    capture(f, 1 << 30, 3); /* there is no such owner */
    assert_int_equal(f->count, 2);
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

static void threads_without_room_are_counted(void **state) {
    struct fixture *f = *state;
    for (unsigned i = 0; i < 7; i++) {
        worker_start(&f->worker[i], wait_sleep, "many");
        await_asleep(&f->worker[i]);
    }
    capture(f, -1, 3);
    assert_int_equal(f->count, 3);
    assert_int_equal(f->left_out, 4);
    capture(f, f->worker[6].tid, 3); /* this thread is in the chain of owners and in the list, but
                                        counts once */
    assert_int_equal(f->count, 3);
    assert_int_equal(f->left_out, 4);
    assert_non_null(find(f, f->worker[6].tid));
    capture(f, -1, 7);
    assert_int_equal(f->left_out, 0);
}

static void top_thread_is_the_one_that_used_most_since_the_last_call(void **state) {
    struct fixture *f = *state;
    struct rec_thread top = {.id = -1};
    worker_start(&f->worker[0], spin, "before");
    usleep(200000);
    worker_end(&f->worker[0]);
    worker_start(&f->worker[1], wait_sleep, "sleeper");
    assert_false(threads_linux_top_async(f->threads, &top)); /* the first call has no earlier one to
                                                                compare with */
    worker_start(&f->worker[2], spin, "burner");
    for (uint64_t end = now_ms() + PATIENCE_MS; now_ms() < end;) {
        usleep(100000); /* a loaded machine may not let the thread run at once */
        forbid_allocation = true;
        bool known = threads_linux_top_async(f->threads, &top);
        forbid_allocation = false;
        if (known && top.id == f->worker[2].tid) {
            break;
        }
    }
    assert_int_equal(forbidden, 0);
    assert_int_equal(top.id, f->worker[2].tid);
    assert_string_equal(top.name, "burner");
    assert_true(top.cpu_permille > 0 && top.cpu_permille <= 1000);
    assert_true(threads_linux_share_async(f->threads, f->worker[1].tid) < 100); /* this thread
                                                                                   sleeps */
    worker_end(&f->worker[2]);
    threads_linux_top_async(f->threads, &top);
    for (uint64_t end = now_ms() + 300; now_ms() < end;) { /* the calling thread counts, too */
    }
    assert_true(threads_linux_top_async(f->threads, &top));
    assert_int_equal(top.id, gettid());
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
        T(threads_without_room_are_counted),
        T(top_thread_is_the_one_that_used_most_since_the_last_call),
    };
    return cmocka_run_group_tests_name("threads_linux", tests, NULL, NULL);
}
