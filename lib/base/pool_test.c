#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failmalloc.h"

struct job {
    unsigned number;
    unsigned result;
    unsigned sleep_us;
    pthread_t thread; /* the thread that did the job */
};

struct record {
    unsigned threads;
    atomic_uint running, most_running, in_flight, most_in_flight;
    atomic_bool bad_worker;
    atomic_uint on_worker[256];
    pthread_t caller;
    unsigned delivered; /* only the caller's thread touches this and the members below */
    bool in_order, on_caller;
};

static void raise_to(atomic_uint *most, unsigned v) {
    unsigned seen = atomic_load(most);
    while (v > seen && !atomic_compare_exchange_weak(most, &seen, v)) {
    }
}

static void work(void *ctx, void *arg, unsigned worker) {
    struct record *r = ctx;
    struct job *job = arg;
    if (worker >= r->threads) {
        atomic_store(&r->bad_worker, true);
    } else if (atomic_fetch_add(&r->on_worker[worker], 1) != 0) {
        atomic_store(&r->bad_worker, true); /* two jobs ran at once with one worker's state */
    }
    raise_to(&r->most_running, atomic_fetch_add(&r->running, 1) + 1);
    if (job->sleep_us) {
        usleep(job->sleep_us);
    }
    job->result = job->number * 2;
    job->thread = pthread_self();
    atomic_fetch_sub(&r->running, 1);
    if (worker < r->threads) {
        atomic_fetch_sub(&r->on_worker[worker], 1);
    }
}

static void count(void *ctx, void *arg) {
    struct record *r = ctx;
    struct job *job = arg;
    r->in_order = r->in_order && job->number == r->delivered && job->result == 2 * job->number;
    r->on_caller = r->on_caller && pthread_equal(pthread_self(), r->caller);
    r->delivered++;
    atomic_fetch_sub(&r->in_flight, 1);
}

static void done(void *ctx, void *arg) {
    count(ctx, arg);
    free(arg);
}

static struct record new_record(unsigned threads) {
    return (struct record){
        .threads = threads, .caller = pthread_self(), .in_order = true, .on_caller = true};
}

/* Runs `jobs` jobs; the first of every eight sleeps slow_us microseconds. */
static void run(unsigned threads, size_t window, unsigned jobs, unsigned slow_us) {
    struct record r = new_record(threads);
    struct pool *p;
    assert_int_equal(pool_open(&p, threads, window, work, done, &r, NULL), ST_OK);
    for (unsigned i = 0; i < jobs; i++) {
        struct job *job = malloc(sizeof *job);
        *job = (struct job){.number = i, .sleep_us = i % 8 == 0 ? slow_us : 0};
        atomic_fetch_add(&r.in_flight, 1);
        pool_put(p, job);
        raise_to(&r.most_in_flight, atomic_load(&r.in_flight));
    }
    pool_finish(p);
    assert_int_equal(r.delivered, jobs);
    pool_close(p);
    assert_true(r.in_order);
    assert_true(r.on_caller);
    assert_false(atomic_load(&r.bad_worker));
    assert_true(atomic_load(&r.most_running) <= threads);
    assert_true(atomic_load(&r.most_in_flight) <= window);
}

static void results_come_in_the_order_of_the_jobs(void **state) {
    (void)state;
    run(1, 1, 100, 0);
    run(2, 2, 1000, 50);
    run(4, 9, 2000, 200);
    run(16, 64, 3000, 300);
    run(64, 64, 2000, 1000);
}

static void one_slow_job_does_not_stop_the_others(void **state) {
    (void)state;
    struct record r = new_record(4);
    struct pool *p;
    assert_int_equal(pool_open(&p, 4, 8, work, done, &r, NULL), ST_OK);
    for (unsigned i = 0; i < 8; i++) {
        struct job *job = malloc(sizeof *job);
        *job = (struct job){.number = i, .sleep_us = 30000};
        pool_put(p, job);
    }
    pool_close(p);
    assert_int_equal(r.delivered, 8);
    assert_true(atomic_load(&r.most_running) > 1);
}

static void poll_delivers_without_waiting(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct record r = new_record(threads);
        struct pool *p;
        assert_int_equal(pool_open(&p, threads, 4, work, done, &r, NULL), ST_OK);
        pool_poll(p);
        struct job *job = malloc(sizeof *job);
        *job = (struct job){.number = 0};
        pool_put(p, job);
        for (int i = 0; i < 2000 && r.delivered == 0; i++) {
            usleep(1000);
            pool_poll(p);
        }
        assert_int_equal(r.delivered,
                         1); /* the job was delivered although no other was put and nobody waited */
        pool_close(p);
    }
}

static void finish_may_be_followed_by_more(void **state) {
    (void)state;
    struct record r = new_record(3);
    struct pool *p;
    assert_int_equal(pool_open(&p, 3, 5, work, done, &r, NULL), ST_OK);
    pool_finish(p);
    for (unsigned i = 0; i < 10; i++) {
        struct job *job = malloc(sizeof *job);
        *job = (struct job){.number = i};
        pool_put(p, job);
        if (i == 4) {
            pool_finish(p);
            assert_int_equal(r.delivered, 5);
        }
    }
    pool_close(p); /* pool_close delivers the remaining jobs */
    assert_int_equal(r.delivered, 10);
    pool_close(NULL);
}

static void arguments_that_do_not_fit_are_refused(void **state) {
    (void)state;
    struct pool *p = NULL;
    const struct {
        unsigned threads;
        size_t window;
    } bad[] = {{0, 1}, {0, 0}, {257, 1000}, {4, 3}, {1, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        assert_int_equal(pool_open(&p, bad[i].threads, bad[i].window, work, done, NULL, &e),
                         ST_ERR);
        assert_int_equal(e.code, ERR_USAGE);
        assert_null(p);
    }
}

static void open_and_run(void *ctx, bool refused) {
    (void)ctx;
    static struct job jobs[20];
    struct record r = new_record(3);
    struct pool *p = NULL;
    struct err e = {0};
    enum st st = pool_open(&p, 3, 6, work, count, &r, &e);
    if (st != ST_OK) {
        assert_true(refused);
        assert_int_equal(e.code, ERR_NOMEM);
        assert_null(p);
        return;
    }
    for (unsigned i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        jobs[i] = (struct job){.number = i};
        pool_put(p, &jobs[i]);
        if (i % 3 == 0) {
            pool_poll(p);
        }
    }
    pool_close(p);
    assert_int_equal(r.delivered, sizeof jobs / sizeof jobs[0]);
    assert_true(r.in_order && r.on_caller && !atomic_load(&r.bad_worker));
}

static void no_memory_is_an_error_and_no_thread_is_done_without(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_int_equal(failmalloc_sweep(open_and_run, NULL),
                     3 + 2); /* three blocks and two threads */
}

/* A job that is put alone is done by the caller's thread. */
static void a_single_job_needs_no_thread(void **state) {
    (void)state;
    struct record r = new_record(8);
    struct pool *p;
    struct job job = {.number = 0};
    assert_int_equal(pool_open(&p, 8, 8, work, count, &r, NULL), ST_OK);
    pool_put(p, &job);
    pool_finish(p);
    assert_int_equal(r.delivered, 1);
    assert_true(pthread_equal(job.thread, r.caller));
    pool_close(p);
}

static void there_is_a_processor(void **state) {
    (void)state;
    unsigned n = pool_processors();
    assert_in_range(n, 1, 256);
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    assert_true(configured < 1 || n <= (unsigned long)configured);
}

#ifdef __linux__
/* Reads the mask of the processors that a thread may use from /proc. */
static void read_mask(const char *thread, char *out, size_t size) {
    char path[64], line[256];
    (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    out[0] = '\0';
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "Cpus_allowed:", 13) == 0) {
            (void)snprintf(out, size, "%s", line + 13);
        }
    }
    (void)fclose(f);
}

/* Checks that the pool does not set the masks of its threads: an administrator may confine a thread
 * at any time, which that would undo. */
static void idle_threads_keep_the_mask_that_they_were_given(void **state) {
    (void)state;
    struct record r = new_record(4);
    struct pool *p;
    struct job jobs[16] = {{0}};
    assert_int_equal(pool_open(&p, 4, 8, work, count, &r, NULL), ST_OK);
    for (unsigned i = 0; i < 16; i++) {
        jobs[i].number = i;
        pool_put(p, &jobs[i]);
    }
    pool_finish(p);
    (void)usleep(20000); /* gives the threads time to go to sleep */
    char own[256], others[256];
    (void)snprintf(others, sizeof others, "%ld", (long)getpid());
    read_mask(others, own, sizeof own);
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (struct dirent *d; (d = readdir(threads)) != NULL;) {
        if (d->d_name[0] != '.') {
            read_mask(d->d_name, others, sizeof others);
            assert_string_equal(others, own);
        }
    }
    (void)closedir(threads);
    pool_close(p);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_in_the_order_of_the_jobs),
        cmocka_unit_test(one_slow_job_does_not_stop_the_others),
        cmocka_unit_test(poll_delivers_without_waiting),
        cmocka_unit_test(finish_may_be_followed_by_more),
        cmocka_unit_test(arguments_that_do_not_fit_are_refused),
        cmocka_unit_test(no_memory_is_an_error_and_no_thread_is_done_without),
        cmocka_unit_test(a_single_job_needs_no_thread),
        cmocka_unit_test(there_is_a_processor),
#ifdef __linux__
        cmocka_unit_test(idle_threads_keep_the_mask_that_they_were_given),
#endif
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
