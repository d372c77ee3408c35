/* All threads of the process but the watched one and the monitor: name, state, CPU time, what they
 * wait for, stack. */
#ifndef STALLREC_THREADS_LINUX_H
#define STALLREC_THREADS_LINUX_H

#include "core/capture.h"
#include "linux/copy_linux.h"
#include "linux/lockowner_linux.h"

/* Threads in one capture, as many as stallrec_config.max_threads may ask for. */
enum { THREADS_LINUX_MAX = 256 };

struct threads_linux;

/* `watched` is the thread to leave out, and gives process and signal. All three are borrowed until
 * threads_linux_free. NULL when there is no memory. */
struct threads_linux *threads_linux_new(const struct copy_source *watched,
                                        const struct lock_layout *locks,
                                        const struct copy_unwinder *unwinder);
void threads_linux_free(struct threads_linux *t);

/* Fills out[0 .. result), result <= max, by rising id. The caller, the monitor, is left out, and so
 * is a thread that ends meanwhile. When there are more threads than `max`, those that `owner` (the
 * thread that the watched one waits for, -1 = none) leads to by their own waits come first, then
 * the oldest. A thread whose stack could not be had has no frames. Takes some 40 us for a thread
 * that is blocked; those that run are asked until 100 ms have passed, after which they and all that
 * follow are told without stacks. *left_out: how many more there are. */
uint32_t threads_linux_capture_async(struct threads_linux *t, int64_t owner, struct rec_thread *out,
                                     uint32_t max, uint32_t *left_out);

/* The thread, the watched one among them, that used most processor time since the last call,
 * without its stack. False: the first call, or none used any. Looks at the oldest
 * THREADS_LINUX_MAX, 1 us each, besides the listing. */
bool threads_linux_top_async(struct threads_linux *t, struct rec_thread *out);

/* A thread's share of one processor between the last two calls of threads_linux_top_async, in
 * thousandths; 0: none, or not known. */
uint32_t threads_linux_share_async(const struct threads_linux *t, pid_t tid);

#endif
