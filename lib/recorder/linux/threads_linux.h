/* Captures the threads of the process, up to THREADS_LINUX_MAX, but the watched one and the
 * monitor: name, state, CPU time, the lock or input for which they wait, stack. */
#ifndef STALLREC_THREADS_LINUX_H
#define STALLREC_THREADS_LINUX_H

#include "core/capture.h"
#include "linux/copy_linux.h"
#include "linux/lockowner_linux.h"

/* The maximum number of threads in one capture, equal to that of stallrec_config.max_threads. */
enum { THREADS_LINUX_MAX = 256 };

struct threads_linux;

/* Makes a reader of threads. `watched` is the thread to leave out; its process and its signal are
 * used for all threads. All three are borrowed until threads_linux_free. NULL: out of memory. */
struct threads_linux *threads_linux_new(const struct copy_source *watched,
                                        const struct lock_layout *locks,
                                        const struct copy_unwinder *unwinder);
void threads_linux_free(struct threads_linux *t);

/* Fills out[0 .. result), result <= max, by rising id. The watched thread, the caller (the
 * monitor), and threads that end meanwhile are left out. If there are more threads than `max`,
 * those are chosen first that hold up the watched thread: `owner`, for which it waits (-1 = none),
 * the thread for which owner waits, and so on; then the oldest threads. A thread whose stack could
 * not be read has no frames and no waits_for. A blocked thread takes some 40 us; a thread that is
 * reached later than 100 ms after the start has no frames and no waits_for either. *left_out:
 * number of threads for which there was no room. */
uint32_t threads_linux_capture_async(struct threads_linux *t, int64_t owner, struct rec_thread *out,
                                     uint32_t max, uint32_t *left_out);

/* Sets *out, without a stack, to the thread, watched or not, that has used the most CPU time since
 * the last call. False: this is the first call, no thread used any, or that thread has ended. It
 * reads the clocks of the watched thread and of the THREADS_LINUX_MAX - 1 oldest others but the
 * caller, which takes 1 us for each, and the time of the listing. */
bool threads_linux_top_async(struct threads_linux *t, struct rec_thread *out);

/* Returns the share of one processor that a thread used between the last two calls of
 * threads_linux_top_async, in thousandths; 0: none, or not known. */
uint32_t threads_linux_share_async(const struct threads_linux *t, pid_t tid);

#endif
