/* Stops a running thread of another process for as long as its registers and its stack are copied:
 * PTRACE_SEIZE, which needs no signal and ends with its tracer, so that the thread runs on even if
 * we are killed (ptrace(2)). For a thread that runs only: one that waits in the kernel would see
 * its wait end early. */
#ifndef STALLREC_PTRACE_STOP_H
#define STALLREC_PTRACE_STOP_H

#include "attach/remote_process.h"
#include "unwind/cfi.h"

/* Copies registers, and at most `room` bytes of the stack from the red zone on. *pause_ns: how long
 * the thread stood. False: it may not be traced (errno), or, if *pending becomes true, it did not
 * stop in time: it will, and ptrace_release has to be called until it has. */
bool ptrace_copy(const struct remote_process *process, pid_t tid, uint8_t *buffer, size_t room,
                 struct cfi_registers *regs, struct cfi_stack *stack, uint64_t *pause_ns,
                 bool *pending);

/* Lets a thread run on that stopped too late. False: it has not stopped yet. */
bool ptrace_release(pid_t tid);

#endif
