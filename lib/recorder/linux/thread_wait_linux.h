/* Finds the lock, thread or input for which a thread is blocked, by its system call. */
#ifndef STALLREC_THREAD_WAIT_LINUX_H
#define STALLREC_THREAD_WAIT_LINUX_H

#include <sys/types.h>

#include "core/capture.h"
#include "linux/lockowner_linux.h"
#include "linux/proc_linux.h"

/* Returns what the thread `waiter` of the process `pid` waits for while it is blocked in `call`: a
 * lock or another thread (lock_wait_async), or input:
 *
 *     terminal   it reads from a terminal
 *     stdin      it reads from the pipe or socket that is the process's standard input
 *
 * Of input the owner is -1 and the address 0. Reads of other pipes and sockets are REC_WAIT_NONE,
 * as another process or a server is then waited for, and so are reads of files. A terminal is
 * recognised by its name below /dev, which the kernel gives without a call to the file's driver.
 * The answer is that of the moment. It may be called on any thread. */
struct rec_wait thread_wait_async(const struct lock_layout *layout, pid_t pid, pid_t waiter,
                                  const struct proc_syscall *call);

#endif
