/* The registers that the kernel hands to a signal handler. */
#ifndef STALLREC_CONTEXT_LINUX_H
#define STALLREC_CONTEXT_LINUX_H

#include <ucontext.h>

#include "unwind/cfi.h"

/* All registers of the interrupted code. Async-signal-safe. */
void context_registers_async(const ucontext_t *uc, struct cfi_registers *regs);

#endif
