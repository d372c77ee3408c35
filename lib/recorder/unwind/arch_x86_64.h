/* x86-64. Source: System V ABI AMD64 1.0, sections 3.2 and 3.6.2 (DWARF register numbers). */
#ifndef STALLREC_ARCH_X86_64_H
#define STALLREC_ARCH_X86_64_H

#include <stdint.h>

/* DWARF register numbers; 16 is the return address, which stands for the program counter. */
enum {
    CFI_RAX = 0,
    CFI_RDX = 1,
    CFI_RCX = 2,
    CFI_RBX = 3,
    CFI_RSI = 4,
    CFI_RDI = 5,
    CFI_RBP = 6,
    CFI_RSP = 7,
    CFI_R12 = 12,
    CFI_R13 = 13,
    CFI_R14 = 14,
    CFI_R15 = 15,
    CFI_PC = 16,
    CFI_REGISTERS = 17,

    CFI_FP = CFI_RBP,
    CFI_SP = CFI_RSP,
    CFI_RA = CFI_PC /* the column of the return address in call frame information */
};

enum {
    ARCH_RED_ZONE = 128, /* bytes below sp that a leaf function may use */
    ARCH_LINKS = 0,      /* a call puts the return address on the stack, not into a register */
    ARCH_SIGNS = 0,      /* return addresses are stored in their plain form */
    ARCH_FP_IS_TOP = 1,  /* a frame pointer points right below the return address, so the caller's
                            sp follows from it */
    ARCH_ADDRESS_BITS = 47,
    ARCH_RULE_SIZE = 32 /* bytes of a cached rule for ARCH_SAVED */
};

/* The registers that a function preserves for its caller, ascending, and the pc. */
#define ARCH_SAVED                                                                                 \
    { CFI_RBX, CFI_RBP, CFI_R12, CFI_R13, CFI_R14, CFI_R15, CFI_PC }
enum { ARCH_SAVED_COUNT = 7, ARCH_FP_SLOT = 1 };

#define ARCH_KEPT_MASK (UINT64_C(1) << CFI_RBX | UINT64_C(1) << CFI_RBP | UINT64_C(0xf) << CFI_R12)

/* Returns the plain form of a stored return address, which is the address itself. */
static inline uint64_t arch_return_async(uint64_t stored) {
    return stored;
}

/* Hints to the processor that the caller spins in a loop. */
static inline void arch_pause_async(void) {
    __builtin_ia32_pause();
}

#endif
