/* What the unwinder and the capture need to know of the processor: registers, and what a compiler
 * and the kernel do with them. One header per architecture, of the same names; the code that goes
 * with it is in the files named so. */
#ifndef STALLREC_ARCH_H
#define STALLREC_ARCH_H

/* A fuzzer takes code for AArch64 apart on any processor: it is given STALLREC_AS_AARCH64. */
#if defined(__x86_64__) && !defined(STALLREC_AS_AARCH64)
#include "unwind/arch_x86_64.h"
#elif defined(__aarch64__) || defined(STALLREC_AS_AARCH64)
#include "unwind/arch_aarch64.h"
#else
#error "stacks can be unwound on x86-64 and AArch64"
#endif

#endif
