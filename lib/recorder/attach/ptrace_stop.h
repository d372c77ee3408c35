/* Stops a running thread of another process while its registers and its stack are copied.
 * PTRACE_SEIZE needs no signal and ends with its tracer, so that the thread runs on even if this
 * process is killed (ptrace(2)). Only a running thread may be stopped, because stopping a thread
 * that waits in the kernel would end its wait early. */
#ifndef STALLREC_PTRACE_STOP_H
#define STALLREC_PTRACE_STOP_H

#include "attach/remote_process.h"
#include "unwind/cfi.h"

/* Copies the thread's registers, and at most `room` bytes of its stack, beginning with the red
 * zone. *pause_ns: ns for which the thread was stopped. *pending must be false. False: the thread
 * may not be traced (errno), has ended, runs a program for another processor, its stack cannot be
 * read, or, if *pending becomes true, it did not stop within 20 ms; it will stop later, and
 * ptrace_release must be called until it returns true. */
bool ptrace_copy(const struct remote_process *process, pid_t tid, uint8_t *buffer, size_t room,
                 struct cfi_registers *regs, struct cfi_stack *stack, uint64_t *pause_ns,
                 bool *pending);

/* Lets a thread continue that was asked to stop but stopped too late. True also if the thread has
 * ended. False: the thread has not stopped yet. */
bool ptrace_release(pid_t tid);

#endif
