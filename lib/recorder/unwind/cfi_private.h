/* What the files of the call frame information share among themselves. */
#ifndef STALLREC_CFI_PRIVATE_H
#define STALLREC_CFI_PRIVATE_H

#include "unwind/cfi.h"

/* A cursor over bytes of a module. Once a read does not fit, it has failed, stays failed and yields
 * zeroes, so that a caller checks once per record. */
struct cfi_cursor {
    const uint8_t *bytes;
    uint64_t left;
    uint64_t address; /* of the next byte */
    bool failed;
};

uint64_t cfi_fixed_async(struct cfi_cursor *c, unsigned size);
uint64_t cfi_uleb_async(struct cfi_cursor *c);
int64_t cfi_sleb_async(struct cfi_cursor *c);
void cfi_skip_async(struct cfi_cursor *c, uint64_t size);

/* DW_EH_PE_*: how a pointer is stored. */
enum {
    CFI_PE_FORMAT = 0x0f,
    CFI_PE_RELATIVE = 0x70,
    CFI_PE_PCREL = 0x10,
    CFI_PE_DATAREL = 0x30,
    CFI_PE_INDIRECT = 0x80,
    CFI_PE_OMIT = 0xff
};

/* The value of a pointer before it is made absolute. format: CFI_PE_FORMAT of its encoding. */
uint64_t cfi_pointer_value_async(struct cfi_cursor *c, uint8_t format);
/* Reads a pointer; `data` is what data-relative ones are relative to. An indirect pointer is not
 * followed: it fails, as does an encoding that no compiler uses in .eh_frame. */
uint64_t cfi_pointer_async(struct cfi_cursor *c, uint8_t encoding, uint64_t data);

/* What a CIE says about the programs of its FDEs. */
struct cfi_cie {
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding; /* of the addresses in an FDE */
    bool has_sizes;   /* augmentation 'z' */
    bool signal_frame;
    struct cfi_cursor program;
};

struct cfi_fde {
    struct cfi_cie cie;
    uint64_t start, size;
    struct cfi_cursor program;
};

/* Runs the programs of the CIE and the FDE up to `address`; fills the rules and the expressions of
 * *row, not its extent. False when a program is damaged. (cfi_program.c) */
bool cfi_run_async(const struct cfi_fde *fde, uint64_t address, struct cfi_row *row);

/* Evaluates a DWARF expression over the registers and the stack. If `cfa` is not NULL, *cfa is on
 * the expression's stack at first (DWARF 5, 6.4.2.3). (cfi_expr.c) */
enum cfi_step cfi_eval_async(const uint8_t *code, size_t size, const struct cfi_registers *regs,
                             const struct cfi_stack *stack, const uint64_t *cfa, uint64_t *result);

#endif
