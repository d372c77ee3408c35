/* Finds the lock, thread or input for which a thread is blocked, by its system call. */
#ifndef STALLREC_THREAD_WAIT_LINUX_H
#define STALLREC_THREAD_WAIT_LINUX_H

#include <sys/types.h>

#include "core/capture.h"
#include "linux/lockowner_linux.h"
#include "linux/proc_linux.h"

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

/* Returns what the thread `waiter` of the process `pid` waits for while it is blocked in `call`: a
 * lock or another thread (lock_wait_async), or input (thread_input_async), whose owner is -1 and
 * whose address is 0. It may be called on any thread. */
struct rec_wait thread_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                  const struct proc_syscall *call);

#endif
