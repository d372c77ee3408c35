/* All threads of the process but the watched one and the monitor: name, state, CPU time, what they
 * wait for, stack. Monitor thread only. */
#ifndef STALLREC_THREADS_DARWIN_H
#define STALLREC_THREADS_DARWIN_H

#include "darwin/images_darwin.h"
#include "darwin/task_darwin.h"

/* Threads in one capture, as many as stallrec_config.max_threads may ask for. */
enum { THREADS_DARWIN_MAX = 256 };

struct threads_darwin;

/* `watched` is the thread to leave out, a right of the caller's; the others are borrowed until
 * threads_darwin_free. NULL when there is no memory. */
struct threads_darwin *threads_darwin_new(thread_t watched, const struct task_copier *copier,
                                          struct images *images);
void threads_darwin_free(struct threads_darwin *t);

/* The copy's stack, walked: frames, starts (NULL: not wanted) and cap of *out are the caller's. */
void threads_darwin_walk_async(struct images *images, const struct task_copy *copy,
                               struct rec_stack *out);

/* Fills out[0 .. result), result <= max, by rising id. The caller, the monitor, is left out, and so
 * is a thread that ends meanwhile. When there are more threads than `max`, `owner` (the thread that
 * the watched one waits for, -1 = none), the one that it waits for, and so on are among those told,
 * beside the oldest. A thread whose
 * stack could not be had has no frames; after 100 ms those that follow are told without stacks.
 * *left_out: how many more there are. */
uint32_t threads_darwin_capture_async(struct threads_darwin *t, int64_t owner,
                                      struct rec_thread *out, uint32_t max, uint32_t *left_out);

/* The thread, the monitor aside, that used most CPU time since the last call, without its stack.
 * False: the first call, or none used any. Looks at THREADS_DARWIN_MAX. */
bool threads_darwin_top_async(struct threads_darwin *t, struct rec_thread *out);

/* A thread's share of one processor between the last two calls of threads_darwin_top_async, in
 * thousandths; 0: none, or not known. */
uint32_t threads_darwin_share_async(const struct threads_darwin *t, int64_t id);

#endif
