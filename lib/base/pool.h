/* An ordered work queue: jobs run on several threads, their results are delivered on the caller's
 * thread in the order in which the jobs were put, so output is the same for any number of threads.
 */
#ifndef STALLKIT_BASE_POOL_H
#define STALLKIT_BASE_POOL_H

#include <stddef.h>

#include "base/err.h"

struct pool;

/* Runs on a worker, or on the caller's thread when that would wait; `worker` is 0 … threads-1 (for
 * per-thread state). Owns nothing: it fills the job. */
typedef void (*pool_work)(void *ctx, void *job, unsigned worker);
/* Runs on the thread that calls pool_put / pool_finish, in order. The job's owner again. */
typedef void (*pool_done)(void *ctx, void *job);

/* threads: 1 … 256, the caller's among them; 1 runs everything inline. Others are started when
 * there is something for them to do; what cannot be started is done without. At most `window` jobs
 * (>= threads) are in flight, so memory stays flat. */
enum st pool_open(struct pool **out, unsigned threads, size_t window, pool_work work,
                  pool_done done, void *ctx, struct err *e);
/* Adds a job; may first do or deliver others, and waits while the window is full. */
void pool_put(struct pool *p, void *job);
/* Delivers whatever is finished at the head of the queue without waiting (for slow inputs: others
 * than the caller's thread do what was put). */
void pool_poll(struct pool *p);
/* Waits for and delivers all. */
void pool_finish(struct pool *p);
/* pool_finish, then joins and frees. NULL is allowed. */
void pool_close(struct pool *p);
/* Processors that this process may use, at least 1. */
unsigned pool_processors(void);

#endif
