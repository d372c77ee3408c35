/* Finds the lock, thread or input for which a thread is blocked, by its system call. */
#ifndef STALLREC_THREAD_WAIT_LINUX_H
#define STALLREC_THREAD_WAIT_LINUX_H

#include <sys/types.h>

#include "core/capture.h"
#include "linux/lockowner_linux.h"
#include "linux/proc_linux.h"
#include "loop/loop_finder.h"

/* Returns the input for which a thread of the process `pid` waits. The thread is blocked in the
 * system call `call`:
 *
 *     REC_WAIT_TERMINAL   the thread reads or polls a terminal
 *     REC_WAIT_STDIN      it reads or polls the pipe or socket that is the process's standard input
 *     REC_WAIT_NONE       it waits for neither, as far as is known
 *
 * REC_WAIT_NONE is also returned for files, and for other pipes and sockets, because the thread
 * then waits for another process or a server. Of a poll the first 16 descriptors are examined, of a
 * select those below 64, and of an epoll instance none. A terminal is recognised by its name below
 * /dev, which the kernel gives without access to the file. The thread may meanwhile have gone on.
 * The function may be called on any thread. */
enum rec_wait_kind thread_input_async(pid_t pid, const struct proc_syscall *call);

/* Returns whether a thread of the process `pid`, which is blocked in the system call `call`, rests:
 * it rests if it waits for requests that others make, and does not if it waits for the answer to a
 * request of its own. The kind of the descriptor from which the call reads or accepts decides:
 *
 *     requests   input (thread_input_async), clients of a listening or accepted socket, a FIFO that
 *                has a name, signals, changes of files
 *     unclear    data of any other pipe or socket, messages of a queue
 *
 * REC_REST_INPUT: the thread waits for requests. REC_REST_UNCLEAR: it waits for unclear data, at a
 * place on the stack that is shallower than that of `loop`, the latest wait of the thread's loop;
 * if `loop` is NULL, no loop is known, and the place does not matter. REC_REST_NONE in these cases:
 *
 *     - the loop itself waits for requests, and the call is not for input: the call is then part of
 *       a turn of the loop
 *     - the loop waits for the same descriptor: the call then continues what the loop began
 *     - the data is unclear, and the place on the stack is not shallower than that of `loop`,
 *       or the place of `loop` is not known
 *     - the call is of another kind
 *
 * The first 32 of the loop's descriptors are examined for requests, and 1 MiB of each list of
 * sockets. The function may be called on any thread. */
enum rec_rest thread_rest_async(pid_t pid, const struct proc_syscall *call,
                                const struct finder_wait *loop);

/* Returns what the thread `waiter` of the process `pid` waits for while it is blocked in `call`: a
 * lock or another thread (lock_wait_async), or input (thread_input_async), whose owner is -1 and
 * whose address is 0. It may be called on any thread. */
struct rec_wait thread_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                  const struct proc_syscall *call);

#endif
