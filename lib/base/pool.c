/* Implements the queue as a ring of jobs in the order of their arrival. The caller's thread puts
 * jobs at `tail` and delivers them at `head`; workers take them at `next`, and so does the caller's
 * thread where it would wait. All memory is allocated when the pool is opened, and the pool works
 * with fewer threads if one cannot be started, so that pool_put cannot fail.
 *
 *      head          next          tail
 *       | done, or    | waiting     |
 *       | being done  |             | */
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
    /* started: workers that run; startable: workers that may run, those included. The caller's
     * thread is not counted; its worker number is the last one. */
    unsigned started, startable;
    struct pool_worker *workers;

    pthread_mutex_t lock; /* guards all members below */
    pthread_cond_t job_waits, job_finished;
    struct pool_slot *ring;
    size_t window;           /* number of slots in the ring */
    size_t head, next, tail; /* job positions, never wrapping: slot = position % window */
    bool closing;
};

/* Runs the next waiting job and returns its position. The caller holds the lock, which is
 * released while the job runs. */
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
        size_t at = do_next(p, w->number); /* p->head may have moved while the job ran */
        if (at == p->head) {               /* only the end of the job at p->head is waited for */
            pthread_cond_signal(&p->job_finished);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Starts one more worker unless all that are allowed run. */
static void start_worker(struct pool *p) {
    if (p->started < p->startable) {
        struct pool_worker *w = &p->workers[p->started];
        *w = (struct pool_worker){.pool = p, .number = p->started};
        if (pthread_create(&w->thread, NULL, work_on, w) == 0) {
            p->started++;
        } else {
            p->startable = p->started; /* after a failure no further start is tried */
        }
    }
}

/* Runs the next waiting job on the caller's thread. */
static void help(struct pool *p) {
    (void)do_next(p, p->threads - 1);
}

static bool head_is_finished(const struct pool *p) {
    return p->head != p->tail && p->ring[p->head % p->window].finished;
}

/* Removes the finished job at the head and calls `done` for it. The caller holds the lock, which
 * is released while `done` runs. */
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

/* Blocks the caller's thread, which found no job waiting, until a worker signals that the job at
 * the head is finished. */
static void wait_for_head(struct pool *p) {
    pthread_cond_wait(&p->job_finished, &p->lock);
}

/* Delivers results until there is room for a job, and runs jobs rather than waits. While no job
 * waits for a worker, only as many results are delivered as must be, as an idle worker is worse
 * than a late result. If the ring was full, half of it is emptied, so that the workers have the
 * other half meanwhile. */
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
    if (p->next != p->tail) { /* the first waiting job is for the caller's thread */
        start_worker(p);
    }
    p->ring[p->tail % p->window] = (struct pool_slot){.job = job};
    p->tail++;
    pthread_mutex_unlock(&p->lock);
    /* The lock is released first: on one processor the woken worker would only wait for it. */
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

/* Returns the number of processors in this thread's affinity mask, which unlike sysconf(3)
 * respects taskset(1) and the limits of containers; 0 if it is unknown. */
static unsigned count_allowed(void) {
    unsigned count = 0;
#ifdef SYS_sched_getaffinity /* glibc declares sched_getaffinity only with _GNU_SOURCE */
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
