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

/* May a thread of the process `pid` idle in the system call `call`? True if the call waits for what
 * others do: for data, clients, messages, events, signals, children, time, room in a pipe, socket
 * or queue, or a lock of a file. False if it waits for the thread's own work, as a call does that
 * reads or writes a file or connects; and for a mutex of the C library, which is another function's
 * task (lock_wait_async). */
bool thread_may_idle_async(pid_t pid, const struct proc_syscall *call);

/* Does the call wait until others make room in a pipe without a name, a socket, a terminal or a
 * queue for what it writes, or unlock a file? No file system is asked, as one that hangs would hold
 * up the caller, too: neither for the path of an open(2), nor whether a file with a name is a
 * FIFO. */
bool thread_waits_for_room_async(pid_t pid, const struct proc_syscall *call);

/* What a thread does in a system call that is none of the waits that are reported to the finder of
 * its loop. */
enum thread_unseen {
    THREAD_BUSY,   /* it does not idle there, or the call is reported */
    THREAD_SLEEPS, /* it may idle there (thread_may_idle_async) */
    THREAD_PARKED  /* it is one of a pool, and waits for a lock, maybe until its turn comes */
};

/* Returns whether a thread of the process `pid`, which is blocked in the system call `call`, rests:
 * it rests if it waits for requests that others make, and does not if it waits for the answer to a
 * request of its own. The kind of the descriptor from which the call reads or accepts decides:
 *
 *     requests   input (thread_input_async), clients of a listening or accepted socket, a FIFO that
 *                has a name, signals, changes of files
 *     unclear    data of any other pipe or socket, messages of a queue
 *
 * REC_REST_INPUT: the thread waits for requests. REC_REST_UNCLEAR: the call is unclear, is not
 * reported, and its place on the stack, `place`, is further out than that of `loop`, the latest
 * wait of the thread's loop; or the thread is parked as far out as that, or further. If `loop` is
 * NULL, no loop is known, and the place does not matter. Of *place and *loop the members depth and
 * inner are used. REC_REST_NONE in these cases:
 *
 *     - the loop itself waits for requests, and the call is for clients or data, but not for input:
 *       the call is then part of a turn of the loop
 *     - the loop waits for the same descriptor: the call then continues what the loop began
 *     - the call is unclear, and its place is not further out than that of `loop`, or one of both
 *       places is not known
 *     - the call is of another kind
 *
 * *aside: the thread sleeps (THREAD_SLEEPS) as far out as in the loop's wait, or further, and not
 * for requests, nor for a descriptor for which the loop waits. For room or a lock of a file
 * (thread_waits_for_room_async) it must sleep clearly further out, by 512 bytes or two of an
 * interpreter's frames, as most such waits are those of a turn. A function that calls a library
 * which polls may also wait there for a task of its own, so only a finder (finder_slept) can tell,
 * from many such sleeps, whether the thread idles there.
 *
 * The first 32 of the loop's descriptors are examined for requests, and 1 MiB of each list of
 * sockets. The function may be called on any thread. */
enum rec_rest thread_rest_async(pid_t pid, const struct proc_syscall *call,
                                enum thread_unseen unseen, const struct finder_place *place,
                                const struct finder_wait *loop, bool *aside);

/* Returns what the thread `waiter` of the process `pid` waits for while it is blocked in `call`: a
 * lock or another thread (lock_wait_async), or input (thread_input_async), whose owner is -1 and
 * whose address is 0. It may be called on any thread. */
struct rec_wait thread_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                  const struct proc_syscall *call);

#endif
