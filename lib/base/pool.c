/* A ring of jobs in the order of their arrival. The caller's thread puts at `tail` and delivers at
 * `head`; workers take at `next`, and so does the caller's thread where it would wait. All memory
 * is there from the start, and what threads cannot be started for is done without them, so that
 * putting cannot fail.
 *
 *      head          next          tail
 *       | done, or    | waiting     |
 *       | being done  |             |
 */
#include "base/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <unistd.h>

enum { MAX_THREADS = 256, PROCESSORS_MAX = 4096 };

struct pool_slot {
    void *job;
    bool finished;
};

struct pool_worker {
    struct pool *pool;
    unsigned number;
    pthread_t thread;
};

struct pool {
    pool_work work;
    pool_done done;
    void *ctx;
    unsigned threads;
    unsigned started, startable; /* beside the caller's thread, whose number is the last */
    struct pool_worker *workers;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t job_waits, job_finished;
    struct pool_slot *ring;
    size_t window;           /* slots in the ring */
    size_t head, next, tail; /* positions, counted without wrapping: slot = position % window */
    bool closing;
};

/* The next job. The lock is held, and let go meanwhile. Returns its position. */
static size_t do_next(struct pool *p, unsigned worker) {
    size_t at = p->next++;
    struct pool_slot *slot = &p->ring[at % p->window];
    pthread_mutex_unlock(&p->lock);
    p->work(p->ctx, slot->job, worker);
    pthread_mutex_lock(&p->lock);
    slot->finished = true;
    return at;
}

static void *work_on(void *arg) {
    struct pool_worker *w = arg;
    struct pool *p = w->pool;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->next == p->tail && !p->closing) {
            pthread_cond_wait(&p->job_waits, &p->lock);
        }
        if (p->next == p->tail) {
            break;
        }
        size_t at = do_next(p, w->number); /* the head may have moved meanwhile */
        if (at == p->head) {               /* nothing else is ever waited for */
            pthread_cond_signal(&p->job_finished);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* One more, if there may be one. */
static void start_worker(struct pool *p) {
    if (p->started < p->startable) {
        struct pool_worker *w = &p->workers[p->started];
        *w = (struct pool_worker){.pool = p, .number = p->started};
        if (pthread_create(&w->thread, NULL, work_on, w) == 0) {
            p->started++;
        } else {
            p->startable = p->started; /* no use trying again */
        }
    }
}

/* Does a job on the caller's thread. */
static void help(struct pool *p) {
    (void)do_next(p, p->threads - 1);
}

static bool head_is_finished(const struct pool *p) {
    return p->head != p->tail && p->ring[p->head % p->window].finished;
}

/* Is called with the lock held; releases it while `done` runs. */
static void deliver_head(struct pool *p) {
    void *job = p->ring[p->head % p->window].job;
    p->head++;
    pthread_mutex_unlock(&p->lock);
    p->done(p->ctx, job);
    pthread_mutex_lock(&p->lock);
}

static void deliver_finished(struct pool *p) {
    while (head_is_finished(p)) {
        deliver_head(p);
    }
}

/* Blocks the caller's thread, which found no job waiting, until the job at the head may be
 * finished. */
static void wait_for_head(struct pool *p) {
    pthread_cond_wait(&p->job_finished, &p->lock);
}

/* Delivers until there is room for a job, and does jobs rather than wait. A worker without a job is
 * worse than a result that waits: then no more is delivered than must be. Else of a full window
 * half, so that the workers have the other half meanwhile. */
static void make_room_in_ring(struct pool *p) {
    size_t most = p->tail - p->head == p->window ? p->window / 2 : p->window - 1;
    for (;;) {
        bool full = p->tail - p->head == p->window, idle = p->next == p->tail;
        if (head_is_finished(p) && (full || !idle)) {
            deliver_head(p);
        } else if (p->tail - p->head <= most || (idle && !full)) {
            return;
        } else if (!idle) {
            help(p);
        } else {
            wait_for_head(p);
        }
    }
}

static void stop(struct pool *p) {
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_cond_broadcast(&p->job_waits);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->started; i++) {
        pthread_join(p->workers[i].thread, NULL);
    }
    pthread_cond_destroy(&p->job_finished);
    pthread_cond_destroy(&p->job_waits);
    pthread_mutex_destroy(&p->lock);
}

static void free_pool(struct pool *p) {
    free(p->ring);
    free(p->workers);
    free(p);
}

enum st pool_open(struct pool **out, unsigned threads, size_t window, pool_work work,
                  pool_done done, void *ctx, struct err *e) {
    if (threads < 1 || threads > MAX_THREADS || window < threads) {
        return err_set(e, ERR_USAGE, "a pool of %u threads with a window of %zu jobs", threads,
                       window);
    }
    struct pool *p = calloc(1, sizeof *p);
    if (!p) {
        return err_nomem(e);
    }
    p->work = work;
    p->done = done;
    p->ctx = ctx;
    p->threads = threads;
    p->startable = threads - 1;
    p->window = window;
    if (threads > 1) {
        p->ring = calloc(window, sizeof *p->ring);
        p->workers = calloc(threads, sizeof *p->workers);
        if (!p->ring || !p->workers) {
            free_pool(p);
            return err_nomem(e);
        }
        pthread_mutex_init(&p->lock, NULL);
        pthread_cond_init(&p->job_waits, NULL);
        pthread_cond_init(&p->job_finished, NULL);
    }
    *out = p;
    return ST_OK;
}

void pool_put(struct pool *p, void *job) {
    if (p->threads == 1) {
        p->work(p->ctx, job, 0);
        p->done(p->ctx, job);
        return;
    }
    pthread_mutex_lock(&p->lock);
    make_room_in_ring(p);
    if (p->next != p->tail) { /* one is for the caller's thread, when it has time */
        start_worker(p);
    }
    p->ring[p->tail % p->window] = (struct pool_slot){.job = job};
    p->tail++;
    pthread_mutex_unlock(&p->lock);
    /* Not under the lock: on one processor the worker would wake only to wait for that. */
    pthread_cond_signal(&p->job_waits);
}

void pool_poll(struct pool *p) {
    if (p->threads > 1) {
        pthread_mutex_lock(&p->lock);
        if (p->started == 0 && p->next != p->tail) {
            start_worker(p);
        }
        deliver_finished(p);
        pthread_mutex_unlock(&p->lock);
    }
}

void pool_finish(struct pool *p) {
    if (p->threads > 1) {
        pthread_mutex_lock(&p->lock);
        deliver_finished(p);
        while (p->head != p->tail) {
            if (p->next != p->tail) {
                help(p);
            } else {
                wait_for_head(p);
            }
            deliver_finished(p);
        }
        pthread_mutex_unlock(&p->lock);
    }
}

void pool_close(struct pool *p) {
    if (!p) {
        return;
    }
    if (p->threads > 1) {
        pool_finish(p);
        stop(p);
    }
    free_pool(p);
}

/* Processors in the mask of this thread: unlike sysconf(3) this respects taskset(1) and the limits
 * of containers. 0: unknown. */
static unsigned count_allowed(void) {
    unsigned count = 0;
#ifdef SYS_sched_getaffinity /* glibc hides its own function behind _GNU_SOURCE */
    unsigned long mask[PROCESSORS_MAX / (8 * sizeof(unsigned long))];
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    for (size_t i = 0; bytes > 0 && i < (size_t)bytes / sizeof *mask; i++) {
        count += (unsigned)__builtin_popcountl(mask[i]);
    }
#endif
    return count;
}

unsigned pool_processors(void) {
    unsigned count = count_allowed();
    if (count == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        count = online > 0 && online < MAX_THREADS ? (unsigned)online : 1;
    }
    return count > MAX_THREADS ? MAX_THREADS : count;
}
