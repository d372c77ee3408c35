/* Tests which thread is reported to hold the lock for which a blocked thread waits, for each kind
 * of lock; and that none is reported for other waits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/lockowner_linux.h"

static struct lock_layout layout;

/* A thread that holds something, and a thread that waits for it. */
struct pair {
    void (*hold)(struct pair *);
    void (*release)(struct pair *);
    void (*wait)(struct pair *);
    pthread_t holder, waiter;
    atomic_int holder_tid, waiter_tid;
    atomic_bool release_now;
    pthread_mutex_t mutex, other;
    pthread_rwlock_t rwlock;
    pthread_cond_t cond;
    pthread_barrier_t barrier;
    sem_t sem;
    bool woken;
};

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void *hold(void *arg) {
    struct pair *p = arg;
    p->hold(p);
    p->holder_tid = gettid();
    while (!p->release_now) {
        pause_ms(1);
    }
    p->release(p);
    return NULL;
}

static void *wait_for(void *arg) {
    struct pair *p = arg;
    p->waiter_tid = gettid();
    p->wait(p);
    return NULL;
}

/* Waits, about 2 s at most, until the thread is in the system call `number`, and returns that
 * call. */
static struct proc_syscall call_of(pid_t tid, int64_t number) {
    struct proc_file f;
    struct proc_syscall call = {.number = -1};
    proc_file_open_async(&f, tid, "syscall");
    for (unsigned i = 0; i < 2000 && call.number != number; i++) {
        char text[256];
        pause_ms(1);
        proc_parse_syscall_async(text, proc_file_read_async(&f, text, sizeof text), &call);
    }
    proc_file_close_async(&f);
    assert_int_equal(call.number, number);
    return call;
}

static void begin(struct pair *p) {
    assert_int_equal(pthread_create(&p->holder, NULL, hold, p), 0);
    while (!p->holder_tid) {
        pause_ms(1);
    }
    assert_int_equal(pthread_create(&p->waiter, NULL, wait_for, p), 0);
    while (!p->waiter_tid) {
        pause_ms(1);
    }
}

static struct rec_wait ask(const struct pair *p) {
    struct proc_syscall call = call_of(p->waiter_tid, SYS_futex);
    return lock_wait_async(&layout, getpid(), p->waiter_tid, &call);
}

static void end(struct pair *p) {
    p->release_now = true;
    pthread_join(p->waiter, NULL);
    pthread_join(p->holder, NULL);
}

static void check_found(struct pair *p, enum rec_wait_kind kind, const void *address) {
    begin(p);
    struct rec_wait wait = ask(p);
    assert_int_equal(wait.kind, kind);
    assert_true(wait.address == (uint64_t)(uintptr_t)address);
    assert_int_equal(wait.owner, p->holder_tid);
    end(p);
}

static void check_nothing(struct pair *p) {
    begin(p);
    struct rec_wait wait = ask(p);
    assert_int_equal(wait.kind, REC_WAIT_NONE);
    assert_int_equal(wait.owner, -1);
    end(p);
}

/* ---- mutexes ---- */

static void lock_mutex(struct pair *p) {
    assert_int_equal(pthread_mutex_lock(&p->mutex), 0);
}
static void lock_mutex_twice(struct pair *p) {
    lock_mutex(p);
    lock_mutex(p);
}
static void unlock_mutex(struct pair *p) {
    while (pthread_mutex_unlock(&p->mutex) == 0) { /* a normal mutex must not be unlocked more than
                                                      once */
        int type;
        memcpy(&type, (const char *)&p->mutex + 16, sizeof type);
        if ((type & 3) == PTHREAD_MUTEX_NORMAL || (type & 3) == PTHREAD_MUTEX_ADAPTIVE_NP) {
            return;
        }
    }
}
static void take_mutex(struct pair *p) {
    lock_mutex(p);
    pthread_mutex_unlock(&p->mutex);
}
static void take_mutex_in_time(struct pair *p) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 30;
    assert_int_equal(pthread_mutex_timedlock(&p->mutex, &t), 0);
    pthread_mutex_unlock(&p->mutex);
}

static void check_mutex(int type, int protocol, int robust, int shared,
                        void (*take)(struct pair *)) {
    struct pair p = {.hold = type == PTHREAD_MUTEX_RECURSIVE ? lock_mutex_twice : lock_mutex,
                     .release = unlock_mutex,
                     .wait = take};
    pthread_mutexattr_t attr;
    assert_int_equal(pthread_mutexattr_init(&attr), 0);
    assert_int_equal(pthread_mutexattr_settype(&attr, type), 0);
    assert_int_equal(pthread_mutexattr_setprotocol(&attr, protocol), 0);
    assert_int_equal(pthread_mutexattr_setrobust(&attr, robust), 0);
    assert_int_equal(pthread_mutexattr_setpshared(&attr, shared), 0);
    assert_int_equal(pthread_mutex_init(&p.mutex, &attr), 0);
    check_found(&p, REC_WAIT_MUTEX, &p.mutex);
    pthread_mutex_destroy(&p.mutex);
    pthread_mutexattr_destroy(&attr);
}

static void the_layout_is_as_expected_here(void **state) {
    (void)state;
    lock_layout_probe(&layout);
#ifdef __GLIBC__
    assert_true(layout.mutex && layout.rwlock && layout.join);
    assert_true(layout.tid_offset >= 24 && layout.tid_offset % 4 == 0);
#endif
}

static void the_owner_of_a_mutex_of_each_type_is_found(void **state) {
    (void)state;
    check_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                PTHREAD_PROCESS_PRIVATE, take_mutex);
    check_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                PTHREAD_PROCESS_PRIVATE, take_mutex);
    check_mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                PTHREAD_PROCESS_PRIVATE, take_mutex);
    check_mutex(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                PTHREAD_PROCESS_PRIVATE, take_mutex);
    check_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                PTHREAD_PROCESS_SHARED, take_mutex);
}

static void the_owner_of_a_robust_mutex_is_found(void **state) {
    (void)state;
    check_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST,
                PTHREAD_PROCESS_PRIVATE, take_mutex);
    check_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST,
                PTHREAD_PROCESS_SHARED, take_mutex);
}

static void the_owner_of_a_priority_inheritance_mutex_is_found(void **state) {
    (void)state;
    check_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED,
                PTHREAD_PROCESS_PRIVATE, take_mutex);
    check_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED,
                PTHREAD_PROCESS_PRIVATE, take_mutex_in_time);
}

static void a_wait_with_a_time_limit_has_an_owner_too(void **state) {
    (void)state;
    check_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                PTHREAD_PROCESS_PRIVATE, take_mutex_in_time);
}

static void *lock_and_end(void *arg) {
    struct pair *p = arg;
    p->holder_tid = gettid();
    lock_mutex(p);
    return NULL;
}

/* The mutex still has the id of a thread that has ended, which another thread may have by now. */
static void a_mutex_whose_owner_has_ended_has_none(void **state) {
    struct pair p = {.wait = take_mutex, .mutex = PTHREAD_MUTEX_INITIALIZER};
    (void)state;
    pthread_create(&p.holder, NULL, lock_and_end, &p);
    pthread_join(p.holder, NULL);
    /* pthread_join may return before the kernel has removed the thread. */
    while (syscall(SYS_tgkill, getpid(), p.holder_tid, 0) == 0) {
        pause_ms(1);
    }
    pthread_create(&p.waiter, NULL, wait_for, &p);
    while (!p.waiter_tid) {
        pause_ms(1);
    }
    struct rec_wait wait = ask(&p);
    assert_int_equal(wait.kind, REC_WAIT_NONE);
    assert_int_equal(wait.owner, -1);
    pthread_mutex_unlock(&p.mutex); /* this libc lets another thread unlock a normal mutex */
    pthread_join(p.waiter, NULL);
}

/* ---- rwlocks and joins ---- */

static void hold_for_writing(struct pair *p) {
    assert_int_equal(pthread_rwlock_wrlock(&p->rwlock), 0);
}
static void hold_for_reading(struct pair *p) {
    assert_int_equal(pthread_rwlock_rdlock(&p->rwlock), 0);
}
static void unlock_rwlock(struct pair *p) {
    pthread_rwlock_unlock(&p->rwlock);
}
static void take_for_reading(struct pair *p) {
    hold_for_reading(p);
    unlock_rwlock(p);
}
static void take_for_writing(struct pair *p) {
    hold_for_writing(p);
    unlock_rwlock(p);
}

static void readers_and_writers_wait_for_the_writer_that_holds_the_lock(void **state) {
    (void)state;
    struct pair p = {.hold = hold_for_writing, .release = unlock_rwlock, .wait = take_for_reading};
    pthread_rwlock_init(&p.rwlock, NULL);
    check_found(&p, REC_WAIT_RWLOCK, &p.rwlock);
    struct pair q = {.hold = hold_for_writing, .release = unlock_rwlock, .wait = take_for_writing};
    pthread_rwlock_init(&q.rwlock, NULL);
    check_found(&q, REC_WAIT_RWLOCK, &q.rwlock);
}

static void a_rwlock_that_readers_hold_has_no_owner(void **state) {
    struct pair p = {.hold = hold_for_reading, .release = unlock_rwlock, .wait = take_for_writing};
    (void)state;
    pthread_rwlock_init(&p.rwlock, NULL);
    check_nothing(&p);
}

static void do_nothing(struct pair *p) {
    (void)p;
}
static void join_holder(struct pair *p) {
    pthread_join(p->holder, NULL);
}

static void a_join_waits_for_the_thread(void **state) {
    struct pair p = {.hold = do_nothing, .release = do_nothing, .wait = join_holder};
    (void)state;
    begin(&p);
    struct rec_wait wait = ask(&p);
    assert_int_equal(wait.kind, REC_WAIT_THREAD);
    assert_int_equal(wait.owner, p.holder_tid);
    p.release_now = true;
    pthread_join(p.waiter, NULL);
}

/* ---- what is none ---- */

/* The holder holds another mutex, which lies next to the condition variable's own. */
static void hold_other(struct pair *p) {
    assert_int_equal(pthread_mutex_lock(&p->other), 0);
}
static void signal_and_unlock(struct pair *p) {
    pthread_mutex_lock(&p->mutex);
    p->woken = true;
    pthread_cond_signal(&p->cond);
    pthread_mutex_unlock(&p->mutex);
    sem_post(&p->sem);
    pthread_mutex_unlock(&p->other);
}
static void wait_cond(struct pair *p) {
    pthread_mutex_lock(&p->mutex);
    while (!p->woken) {
        pthread_cond_wait(&p->cond, &p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
}
static void wait_sem(struct pair *p) {
    assert_int_equal(sem_wait(&p->sem), 0);
}

static void a_condition_variable_and_a_semaphore_have_no_owner(void **state) {
    struct pair p = {.hold = hold_other, .release = signal_and_unlock};
    (void)state;
    pthread_mutex_init(&p.mutex, NULL);
    pthread_mutex_init(&p.other, NULL);
    pthread_cond_init(&p.cond, NULL);
    sem_init(&p.sem, 0, 0);
    struct pair q = p;
    p.wait = wait_cond;
    check_nothing(&p);
    q.wait = wait_sem;
    check_nothing(&q);
}

static void pass_barrier(struct pair *p) {
    pthread_barrier_wait(&p->barrier);
}

static void a_barrier_has_no_owner(void **state) {
    struct pair p = {.hold = do_nothing, .release = pass_barrier, .wait = pass_barrier};
    (void)state;
    pthread_barrier_init(&p.barrier, NULL, 2);
    check_nothing(&p);
}

/* Asks about a FUTEX call of the program's own, of which only the bytes around the futex can show
 * whether it is a lock. */
static struct rec_wait ask_about(const void *futex, uint64_t op, uint32_t value) {
    struct proc_syscall call = {.number = SYS_futex,
                                .args = {(uint64_t)(uintptr_t)futex, op, value}};
    return lock_wait_async(&layout, getpid(), getpid() + 1, &call);
}

static void look_alikes_have_no_owner(void **state) {
    _Alignas(8) uint32_t word[16];
    const uint64_t wait = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
    uint32_t me = (uint32_t)gettid();
    (void)state;
    /* First, for comparison, the words are exactly those of a locked mutex. */
    memcpy(word, (uint32_t[5]){2, 0, me, 1, 0}, 20);
    assert_int_equal(ask_about(word, wait, 2).owner, me);
    assert_int_equal(ask_about(word, FUTEX_WAIT_REQUEUE_PI, 2).owner, -1);
    assert_int_equal(ask_about(word, FUTEX_WAKE, 2).owner, -1);
    assert_int_equal(ask_about((const char *)word + 2, wait, 2).owner, -1);
    const uint32_t wrong[][5] = {
        {1, 0, me, 1, 0},         /* the mutex is not contended */
        {2, 0, 0, 1, 0},          /* nobody holds it */
        {2, 0, 0x7fffffff, 1, 0}, /* there is no such thread */
        {2, 0, me | 1u << 31, 1, 0},
        {2, 0, me, 0, 0},                 /* the lock has no users */
        {2, 0, me, UINT32_MAX, 0},        /* the lock has too many users */
        {2, 0, me, 1, 0x40},              /* priority protection has another protocol */
        {2, 0, me, 1, 0x5555},            /* there is no such kind */
        {2, 0, me, 1, 0x10},              /* a robust mutex never has the value 2 */
        {me | 1u << 31, 0, me + 1, 1, 16} /* the lock names two owners */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(word, wrong[i], sizeof wrong[i]);
        struct rec_wait got = ask_about(word, wait, i == 9 ? wrong[i][0] : 2);
        assert_int_equal(got.kind, REC_WAIT_NONE);
        assert_int_equal(got.owner, -1);
    }
    /* A word that is 3, or a thread's id, between zeroes. */
    memset(word, 0, sizeof word);
    word[2] = word[3] = 3;
    word[6] = me;
    assert_int_equal(ask_about(word + 2, wait, 3).kind, REC_WAIT_NONE);
    assert_int_equal(ask_about(word + 3, wait, 3).kind, REC_WAIT_NONE);
    word[4] = me;
    assert_int_equal(ask_about(word + 4, FUTEX_WAIT, me).kind, REC_WAIT_NONE);
    assert_int_equal(ask_about((const void *)8, wait, 2).kind, REC_WAIT_NONE);
    assert_int_equal(ask_about((const void *)8, wait, 3).kind, REC_WAIT_NONE);
    assert_int_equal(ask_about((const void *)8, FUTEX_LOCK_PI, 0).kind, REC_WAIT_NONE);
}

static void without_a_known_layout_only_the_kernels_own_is_told(void **state) {
    _Alignas(8) uint32_t word[16] = {2, 0, (uint32_t)gettid(), 1, 0};
    struct lock_layout known = layout;
    (void)state;
    layout = (struct lock_layout){0};
    assert_int_equal(ask_about(word, FUTEX_WAIT, 2).kind, REC_WAIT_NONE);
    word[0] = (uint32_t)gettid() | FUTEX_WAITERS;
    assert_int_equal(ask_about(word, FUTEX_LOCK_PI, 0).owner, gettid());
    layout = known;
    assert_int_equal(ask_about(word, FUTEX_LOCK_PI, 0).kind, REC_WAIT_MUTEX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_as_expected_here),
        cmocka_unit_test(the_owner_of_a_mutex_of_each_type_is_found),
        cmocka_unit_test(the_owner_of_a_robust_mutex_is_found),
        cmocka_unit_test(the_owner_of_a_priority_inheritance_mutex_is_found),
        cmocka_unit_test(a_wait_with_a_time_limit_has_an_owner_too),
        cmocka_unit_test(a_mutex_whose_owner_has_ended_has_none),
        cmocka_unit_test(readers_and_writers_wait_for_the_writer_that_holds_the_lock),
        cmocka_unit_test(a_rwlock_that_readers_hold_has_no_owner),
        cmocka_unit_test(a_join_waits_for_the_thread),
        cmocka_unit_test(a_condition_variable_and_a_semaphore_have_no_owner),
        cmocka_unit_test(a_barrier_has_no_owner),
        cmocka_unit_test(look_alikes_have_no_owner),
        cmocka_unit_test(without_a_known_layout_only_the_kernels_own_is_told),
    };
    lock_layout_probe(&layout);
    return cmocka_run_group_tests_name("lockowner_linux", tests, NULL, NULL);
}
