/* The processor's registers and conventions, for the unwinder and the capture. Each architecture
 * has a header arch_NAME.h, which defines the same names as the others; its code is in the files
 * *_NAME.c. */
#ifndef STALLREC_ARCH_H
#define STALLREC_ARCH_H

/* STALLREC_AS_AARCH64 is defined by a fuzzer that decodes AArch64's code on any processor. */
#if defined(__x86_64__) && !defined(STALLREC_AS_AARCH64)
#include "unwind/arch_x86_64.h"
#elif defined(__aarch64__) || defined(STALLREC_AS_AARCH64)
#include "unwind/arch_aarch64.h"
#else
#error "stacks can be unwound on x86-64 and AArch64"
#endif

#endif
