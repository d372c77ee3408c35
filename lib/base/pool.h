/* An ordered work queue: jobs run on several threads, and their results are delivered on the
 * caller's thread in the order in which the jobs were put, so output is the same for any number
 * of threads. */
#ifndef STALLKIT_BASE_POOL_H
#define STALLKIT_BASE_POOL_H

#include <stddef.h>

#include "base/err.h"

struct pool;

/* Runs a job, on a worker or, when pool_put or pool_finish would wait, on the caller's thread;
 * `worker` is 0 … threads-1, for per-thread state. The callback keeps its results in the job and
 * does not own the job. */
typedef void (*pool_work)(void *ctx, void *job, unsigned worker);
/* Delivers a finished job, on the thread that calls pool_put, pool_poll or pool_finish, in the
 * order in which jobs were put. The callback owns the job again. */
typedef void (*pool_done)(void *ctx, void *job);

/* Opens a pool of 1 … 256 threads, the caller's among them; 1 runs every job inline. Other
 * threads are started when a job is waiting for them; the pool does without those that cannot be
 * started. At most `window` jobs (>= threads) are in flight, which bounds memory. ST_ERR: threads
 * or window is out of range (ERR_USAGE), or out of memory. */
enum st pool_open(struct pool **out, unsigned threads, size_t window, pool_work work,
                  pool_done done, void *ctx, struct err *e);
/* Adds a job; it may first run or deliver other jobs, and waits while the window is full. */
void pool_put(struct pool *p, void *job);
/* Delivers the finished jobs at the head of the queue without waiting, for slow inputs. If a job
 * waits and no worker was started yet, one is started. */
void pool_poll(struct pool *p);
/* Waits for all jobs and delivers them. */
void pool_finish(struct pool *p);
/* Calls pool_finish, joins the threads and frees the pool. p may be NULL. */
void pool_close(struct pool *p);
/* Returns the number of processors that this process may use, 1 … 256; 1 if it is unknown. */
unsigned pool_processors(void);

#endif
