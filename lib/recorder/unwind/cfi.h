/* Call frame information (.eh_frame): where the caller's values of the registers are at one
 * instruction. Pure code over bytes: the caller gives the memory of a module that may be read, and
 * all bytes are checked, as the section belongs to whatever library the program loaded. Nothing
 * here allocates, locks or calls libc beyond memcpy and memset, so that it may run while a thread
 * is sampled. Sources: System V ABI AMD64 1.0, section 3.7 (pointer encodings); Linux Standard Base
 * Core 5.0, 10.6 (.eh_frame, .eh_frame_hdr); DWARF 5, sections 2.5 and 6.4; for the registers,
 * arch.h. */
#ifndef STALLREC_CFI_H
#define STALLREC_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"

enum { CFI_SEGMENTS = 8, CFI_CODE_MAX = 160 };

/* A segment of a module, which the sampled process has at `address`. `bytes` is where its contents
 * can be read: at `address` if that process is this one, else in a copy. */
struct cfi_segment {
    uint64_t address;
    const uint8_t *bytes;
    uint64_t size;
    bool code; /* the segment holds instructions */
};

/* The readable memory of a module, and the address of its .eh_frame_hdr. */
struct cfi_module {
    struct cfi_segment segments[CFI_SEGMENTS];
    unsigned segment_count;
    uint64_t header; /* address of .eh_frame_hdr; 0: the module has none */
    uint64_t header_size;
};

enum cfi_kind {
    CFI_SAME = 0,    /* the caller's value is still in the register; for sp: it is the CFA; for the
                        pc and for the CFA itself: there is no rule */
    CFI_UNDEFINED,   /* the caller's value is lost; for the return address: this is the outermost
                        frame */
    CFI_AT_OFFSET,   /* the caller's value is in memory at CFA + value */
    CFI_IS_OFFSET,   /* the caller's value is CFA + value; for the CFA itself: `reg` + value */
    CFI_IN_REGISTER, /* the caller's value is in the register `reg` */
    CFI_AT_EXPR, /* the caller's value is in memory at the result of the expression code[value ..
                    value + size) */
    CFI_IS_EXPR /* the caller's value is the result of the expression code[value .. value + size) */
};

struct cfi_rule {
    int64_t value;
    uint32_t size; /* bytes of the expression */
    uint8_t kind;  /* enum cfi_kind */
    uint8_t reg;
};

/* The rules that hold at one address, as a copy that refers to no memory of the module. */
struct cfi_row {
    uint64_t start; /* first byte of the function, or of the part of it that one FDE covers */
    uint64_t size;
    bool signal_frame; /* the return address is that of an interrupted instruction, not of the one
                          after a call */
    struct cfi_rule cfa;
    struct cfi_rule reg[CFI_REGISTERS];
    uint8_t code[CFI_CODE_MAX]; /* the expressions to which the rules refer */
};

enum cfi_status {
    CFI_OK,
    CFI_NONE, /* no FDE that could be found covers the address */
    CFI_BAD   /* .eh_frame_hdr or the entry is damaged, exceeds a limit of this reader, or uses a
                 feature that no compiler uses for this processor */
};

/* Finds the FDE that covers `address` and sets *row to the rules that hold there. `address` is
 * inside the instruction: the pc of an interrupted frame, or the return address - 1 of a caller. In
 * a module without a search table only the first 200,000 entries are read. A CIE or FDE of which
 * more than 20,000 instructions must be executed is CFI_BAD. *row is undefined unless the result is
 * CFI_OK. */
enum cfi_status cfi_find_row_async(const struct cfi_module *module, uint64_t address,
                                   struct cfi_row *row);

/* Does an FDE of the module cover `address`? It costs less than cfi_find_row_async. */
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
    CFI_STEP_CUT,       /* needed memory is not in the copy of the stack */
    CFI_STEP_UNKNOWN,   /* the unknown value of a register is needed */
    CFI_STEP_BAD        /* an expression is damaged or cannot be evaluated, or there is no rule for
                           the CFA or the pc */
};

/* Reads the 8 bytes at `address` of the stack. False: they are not all in the copy. */
bool cfi_load_async(const struct cfi_stack *stack, uint64_t address, uint64_t *value);

/* Replaces the registers of a frame by those of its caller; those that cannot be found, other than
 * pc and sp, become unknown. *regs stays unchanged unless the result is CFI_STEP_OK. */
enum cfi_step cfi_apply_async(const struct cfi_row *row, const struct cfi_stack *stack,
                              struct cfi_registers *regs);

#endif
