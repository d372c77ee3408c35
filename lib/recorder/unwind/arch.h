/* The processor's registers and conventions, for the unwinder and the capture. One header per
 * architecture defines the same names; the code that goes with it is in the files named so. */
#ifndef STALLREC_ARCH_H
#define STALLREC_ARCH_H

/* A fuzzer decodes AArch64's code on any processor: it defines STALLREC_AS_AARCH64. */
#if defined(__x86_64__) && !defined(STALLREC_AS_AARCH64)
#include "unwind/arch_x86_64.h"
#elif defined(__aarch64__) || defined(STALLREC_AS_AARCH64)
#include "unwind/arch_aarch64.h"
#else
#error "stacks can be unwound on x86-64 and AArch64"
#endif

#endif
