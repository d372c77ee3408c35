/* Reads the registers that the kernel passes to a signal handler. */
#ifndef STALLREC_CONTEXT_LINUX_H
#define STALLREC_CONTEXT_LINUX_H

#include <ucontext.h>

#include "unwind/cfi.h"

/* Sets regs to all registers of the interrupted code. Async-signal-safe. */
void context_registers_async(const ucontext_t *uc, struct cfi_registers *regs);

#endif
