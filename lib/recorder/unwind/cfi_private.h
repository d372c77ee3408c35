/* Declarations that cfi.c, cfi_cursor.c, cfi_expr.c and cfi_program.c share, which read call frame
 * information. */
#ifndef STALLREC_CFI_PRIVATE_H
#define STALLREC_CFI_PRIVATE_H

#include "unwind/cfi.h"

/* A cursor over bytes of a module. After a read beyond its end, of a LEB128 number of more than 10
 * bytes, or of a pointer that is not supported, it has failed and stays failed: the numbers that
 * are read from it are then 0 and the pointers meaningless, so that a caller checks only once per
 * record. */
struct cfi_cursor {
    const uint8_t *bytes;
    uint64_t left;
    uint64_t address; /* address of the next byte */
    bool failed;
};

/* Read a number: one of `size` bytes (at most 8), little-endian, an unsigned LEB128 number, and a
 * signed one. LEB128 numbers are taken modulo 2^64. */
uint64_t cfi_fixed_async(struct cfi_cursor *c, unsigned size);
uint64_t cfi_uleb_async(struct cfi_cursor *c);
int64_t cfi_sleb_async(struct cfi_cursor *c);
/* Skips `size` bytes. */
void cfi_skip_async(struct cfi_cursor *c, uint64_t size);

/* DW_EH_PE_*: parts of an encoding, the form in which a pointer is stored. */
enum {
    CFI_PE_FORMAT = 0x0f,
    CFI_PE_RELATIVE = 0x70,
    CFI_PE_PCREL = 0x10,
    CFI_PE_DATAREL = 0x30,
    CFI_PE_INDIRECT = 0x80,
    CFI_PE_OMIT = 0xff
};

/* Reads the value of a pointer before it is made absolute. format: the CFI_PE_FORMAT bits of its
 * encoding. */
uint64_t cfi_pointer_value_async(struct cfi_cursor *c, uint8_t format);
/* Reads a pointer; `data` is the base of data-relative pointers. The cursor fails at an indirect
 * pointer, which is not followed, and at an encoding that no compiler uses in .eh_frame. */
uint64_t cfi_pointer_async(struct cfi_cursor *c, uint8_t encoding, uint64_t data);

/* The members of a CIE that its FDEs need. */
struct cfi_cie {
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding; /* encoding of the addresses in an FDE */
    bool has_sizes;   /* the augmentation data have a size ('z') */
    bool signal_frame;
    struct cfi_cursor program;
};

struct cfi_fde {
    struct cfi_cie cie;
    uint64_t start, size;
    struct cfi_cursor program;
};

/* Runs the programs of the CIE and the FDE up to `address`, and sets the rules and the expressions
 * of *row, but not its other members. False: a program is damaged, defines no CFA, or exceeds a
 * limit of length or depth. (cfi_program.c) */
bool cfi_run_async(const struct cfi_fde *fde, uint64_t address, struct cfi_row *row);

/* Evaluates a DWARF expression over the registers and the stack. If `cfa` is not NULL, the
 * expression's stack begins with *cfa (DWARF 5, 6.4.2.3). *result is written on CFI_STEP_OK only.
 * (cfi_expr.c) */
enum cfi_step cfi_eval_async(const uint8_t *code, size_t size, const struct cfi_registers *regs,
                             const struct cfi_stack *stack, const uint64_t *cfa, uint64_t *result);

#endif
