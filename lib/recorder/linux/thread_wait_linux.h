/* Finds the lock, thread or input for which a thread is blocked, by its system call. */
#ifndef STALLREC_THREAD_WAIT_LINUX_H
#define STALLREC_THREAD_WAIT_LINUX_H

#include <sys/types.h>

#include "core/capture.h"
#include "linux/lockowner_linux.h"
#include "linux/proc_linux.h"
#include "loop/loop_finder.h"

/* Returns which input a thread of the process `pid` waits for that is blocked in `call`:
 *
 *     REC_WAIT_TERMINAL   it reads or polls a terminal
 *     REC_WAIT_STDIN      it reads or polls the pipe or socket that is the process's standard input
 *     REC_WAIT_NONE       it waits for neither, as far as is known
 *
 * Other pipes and sockets are REC_WAIT_NONE, as another process or a server is then waited for, and
 * so are files. Of a poll the first 16 descriptors are looked at, of a select those below 64; an
 * epoll instance is not looked into. A terminal is told by its name below /dev, which the kernel
 * knows without asking the file. The answer is that of the moment. It may be called on any
 * thread. */
enum rec_wait_kind thread_input_async(pid_t pid, const struct proc_syscall *call);

/* Returns whether a thread of the process `pid` rests that is blocked in `call`: whether it waits
 * for someone who comes to it, or is held up by someone whom it asked. Which of both is told by
 * what comes through the descriptor that it reads or accepts from:
 *
 *     requests   input (thread_input_async), clients of a listening or accepted socket, a FIFO that
 *                has a name, signals, changes of files
 *     unclear    data of any other pipe or socket, messages of a queue
 *
 * REC_REST_INPUT is a wait for requests, REC_REST_UNCLEAR one for unclear data at a place that is
 * shallower than that of `loop`, the latest wait of the thread's loop. `loop` NULL: no loop is
 * known, and each wait for unclear data is REC_REST_UNCLEAR. It is REC_REST_NONE where the loop
 * itself waits for requests, since the wait is then within one of its turns, but for input; where
 * the loop waits for the same descriptor, as the call then only continues what the loop began; and
 * for calls of any other kind. Of the loop's descriptors the first 32 are looked at, and 1 MB of
 * each list of sockets. It may be called on any thread. */
enum rec_rest thread_rest_async(pid_t pid, const struct proc_syscall *call,
                                const struct finder_wait *loop);

/* Returns what the thread `waiter` of the process `pid` waits for while it is blocked in `call`: a
 * lock or another thread (lock_wait_async), or input (thread_input_async), whose owner is -1 and
 * whose address is 0. It may be called on any thread. */
struct rec_wait thread_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                  const struct proc_syscall *call);

#endif
