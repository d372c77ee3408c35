/* Describes AArch64, little-endian, to the unwinder: numbers of registers, saved registers and
 * return addresses. Sources: AAPCS64 (Arm IHI 0055) sections 6.1.1 and 6.4.6 (frame records); DWARF
 * for the Arm 64-bit Architecture (Arm IHI 0057) sections 4.1 and 4.4. */
#ifndef STALLREC_ARCH_AARCH64_H
#define STALLREC_ARCH_AARCH64_H

#include <stdint.h>

#ifdef __AARCH64EB__
#error "the recorder reads little-endian memory"
#endif

/* DWARF register numbers; 0 to 30 are x0 to x30. Vector registers (from 64 on) are not restored,
 * as they hold no addresses. */
enum {
    CFI_X0 = 0,
    CFI_X19 = 19,
    CFI_X28 = 28,
    CFI_X29 = 29,
    CFI_LR = 30,
    CFI_SP = 31,
    CFI_PC = 32,
    CFI_REGISTERS = 33,

    CFI_FP = CFI_X29,
    CFI_RA = CFI_LR /* the column of the return address in call frame information */
};

enum {
    ARCH_RED_ZONE = 0,  /* bytes below sp belong to signal handlers */
    ARCH_LINKS = 1,     /* a call puts the return address into x30 */
    ARCH_SIGNS = 1,     /* a function may sign its return address before it stores it */
    ARCH_FP_IS_TOP = 0, /* a frame record may be anywhere in its frame */
    ARCH_ADDRESS_BITS = 48,
    ARCH_RULE_SIZE = 48 /* bytes of a cached rule for ARCH_SAVED */
};

/* The registers that a function preserves for its caller, ascending, and the pc. */
#define ARCH_SAVED                                                                                 \
    { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, CFI_X29, CFI_PC }
enum { ARCH_SAVED_COUNT = 12, ARCH_FP_SLOT = 10 };

#define ARCH_KEPT_MASK (UINT64_C(0x7ff) << CFI_X19)

/* Returns the plain form of a stored return address, whether it is signed (Armv8.3 pointer
 * authentication) or not: the signature occupies bits that are zero in user code addresses, and
 * clearing them is what xpaclri does. */
static inline uint64_t arch_return_async(uint64_t stored) {
    return stored & ((UINT64_C(1) << ARCH_ADDRESS_BITS) - 1);
}

/* Hints to the processor that the caller spins in a loop. */
static inline void arch_pause_async(void) {
#ifdef __aarch64__
    __asm__ __volatile__("yield");
#endif
}

#endif
