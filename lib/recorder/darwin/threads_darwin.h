/* Captures the threads of the process, up to THREADS_DARWIN_MAX, but the watched one and the
 * monitor: name, state, CPU time, the lock for which they wait, stack. Functions named _async are
 * for the monitor thread only; the other two are called while it does not run. */
#ifndef STALLREC_THREADS_DARWIN_H
#define STALLREC_THREADS_DARWIN_H

#include "darwin/images_darwin.h"
#include "darwin/task_darwin.h"

/* The maximum number of threads in one capture, equal to that of stallrec_config.max_threads. */
enum { THREADS_DARWIN_MAX = 256 };

struct threads_darwin;

/* Makes the state of captures. `watched` is the thread to leave out, a port right that the caller
 * keeps; copier and images are borrowed until threads_darwin_free. NULL: out of memory. */
struct threads_darwin *threads_darwin_new(thread_t watched, const struct task_copier *copier,
                                          struct images *images);
void threads_darwin_free(struct threads_darwin *t);

/* Walks the copy's stack. frames, starts (NULL: not wanted) and cap of *out are the caller's. */
void threads_darwin_walk_async(struct images *images, const struct task_copy *copy,
                               struct rec_stack *out);

/* Fills out[0 .. result), result <= max, by rising id. The caller, which is the monitor, and the
 * watched thread are left out, and so is a thread that ends meanwhile. If there are more threads
 * than `max`, `owner` (the thread for which the watched one waits, -1 = none), the thread for which
 * that one waits, and so on, are among those captured, together with those of the lowest ids. A
 * thread whose stack could not be taken has no frames and no waits_for; a thread that is reached
 * later than 100 ms after the start has no frames and no waits_for either. *left_out: number of
 * threads for which there was no room. */
uint32_t threads_darwin_capture_async(struct threads_darwin *t, int64_t owner,
                                      struct rec_thread *out, uint32_t max, uint32_t *left_out);

/* Sets *out, without a stack, to the thread, other than the monitor, that has used the most CPU
 * time since the last call. False: this is the first call, no thread used any, or that thread has
 * ended. It reads the times of the first THREADS_DARWIN_MAX threads that task_threads lists,
 * without the monitor. */
bool threads_darwin_top_async(struct threads_darwin *t, struct rec_thread *out);

/* Returns the share of one processor that a thread used between the last two calls of
 * threads_darwin_top_async, in thousandths; 0: none, or not known. */
uint32_t threads_darwin_share_async(const struct threads_darwin *t, int64_t id);

#endif
