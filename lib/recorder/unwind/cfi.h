/* Call frame information (.eh_frame): which register holds which value at one instruction. Pure
 * code over bytes: the caller says which memory of a module may be read, and every byte of it is
 * checked, because the section belongs to whatever library the program loaded. Nothing here
 * allocates, locks or calls libc beyond memcpy, so all of it may run on the sampling path. Sources:
 * System V ABI AMD64 1.0, section 3.7 (pointer encodings); Linux Standard Base Core 5.0, 10.6
 * (.eh_frame, .eh_frame_hdr); DWARF 5, sections 2.5 and 6.4; for the registers, arch.h. */
#ifndef STALLREC_CFI_H
#define STALLREC_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"

enum { CFI_SEGMENTS = 8, CFI_CODE_MAX = 160 };

/* Bytes of a module as they lie at `address`. In a live process `bytes` is `address` itself. */
struct cfi_segment {
    uint64_t address;
    const uint8_t *bytes;
    uint64_t size;
    bool code; /* holds instructions */
};

/* The readable memory of a module, and the address of its .eh_frame_hdr. */
struct cfi_module {
    struct cfi_segment segments[CFI_SEGMENTS];
    unsigned segment_count;
    uint64_t header; /* address of .eh_frame_hdr; 0: the module has none */
    uint64_t header_size;
};

enum cfi_kind {
    CFI_SAME = 0,    /* not touched: the caller's value is still in the register */
    CFI_UNDEFINED,   /* lost; of the return address: this is the outermost frame */
    CFI_AT_OFFSET,   /* in memory at CFA + value */
    CFI_IS_OFFSET,   /* is CFA + value; of the CFA itself: is `reg` + value */
    CFI_IN_REGISTER, /* in the register `reg` */
    CFI_AT_EXPR,     /* in memory at the result of the expression code[value .. value + size) */
    CFI_IS_EXPR      /* is the result of the expression */
};

struct cfi_rule {
    int64_t value;
    uint32_t size; /* of an expression, in bytes */
    uint8_t kind;  /* enum cfi_kind */
    uint8_t reg;
};

/* The rules that hold at one address. It refers to no memory of the module. */
struct cfi_row {
    uint64_t start; /* first byte of the function (of the part of it that one FDE covers) */
    uint64_t size;
    bool signal_frame; /* the return address is an interrupted instruction, not the one after a call
                        */
    struct cfi_rule cfa;
    struct cfi_rule reg[CFI_REGISTERS];
    uint8_t code[CFI_CODE_MAX]; /* the expressions */
};

enum cfi_status {
    CFI_OK,
    CFI_NONE, /* no FDE covers the address */
    CFI_BAD   /* damaged, or it uses a feature that no compiler uses for this processor */
};

/* Finds the FDE that covers `address` and fills *row with the rules that hold there. `address` is
 * an address inside the instruction: the pc of an interrupted frame, the return address - 1 of a
 * caller. *row is meaningful only after CFI_OK. */
enum cfi_status cfi_find_row_async(const struct cfi_module *module, uint64_t address,
                                   struct cfi_row *row);

/* True when an FDE of the module covers `address`. Cheaper than a row. */
bool cfi_covers_async(const struct cfi_module *module, uint64_t address);

/* A copy of a stack: byte i of `copy` was at address lo + i; hi = lo + size. */
struct cfi_stack {
    const uint8_t *copy;
    uint64_t lo, hi;
};

struct cfi_registers {
    uint64_t value[CFI_REGISTERS];
    uint64_t known; /* bit n: value[n] is known */
};

static inline bool cfi_knows_async(const struct cfi_registers *regs, unsigned reg) {
    return reg < CFI_REGISTERS && (regs->known >> reg & 1);
}

static inline void cfi_set_async(struct cfi_registers *regs, unsigned reg, uint64_t value) {
    regs->value[reg] = value;
    regs->known |= UINT64_C(1) << reg;
}

static inline void cfi_forget_async(struct cfi_registers *regs, unsigned reg) {
    regs->known &= ~(UINT64_C(1) << reg);
}

enum cfi_step {
    CFI_STEP_OK,
    CFI_STEP_OUTERMOST, /* there is no caller */
    CFI_STEP_CUT,       /* the needed memory lies outside the copy of the stack */
    CFI_STEP_UNKNOWN,   /* a register with an unknown value is needed */
    CFI_STEP_BAD        /* an expression is damaged or its result is impossible */
};

/* Reads the 8 bytes at `address` of the stack. False when they are not all in the copy. */
bool cfi_load_async(const struct cfi_stack *stack, uint64_t address, uint64_t *value);

/* Turns the registers of a frame into those of its caller. *regs is unchanged unless CFI_STEP_OK.
 */
enum cfi_step cfi_apply_async(const struct cfi_row *row, const struct cfi_stack *stack,
                              struct cfi_registers *regs);

#endif
