/* Reads code for an unwinder that lacks registers or rules: prologue_ARCH.c. */
#ifndef STALLREC_PROLOGUE_H
#define STALLREC_PROLOGUE_H

#include "unwind/cfi.h"

/* How far sp is below the frame pointer in the body of a function that sets one up, by its prologue
 * at `start`: what it pushes, and subtracts in one instruction. Reads the `length` bytes from there
 * to the place in question. False when the prologue is of another form, or something in these bytes
 * looks as if it moved sp by what only run time tells. Words pushed for a call are not seen: the
 * caller must check what it finds. */
bool prologue_frame_size_async(const struct cfi_module *module, uint64_t start, uint64_t length,
                               uint64_t *size);

enum prologue_call { PROLOGUE_NO_CALL, PROLOGUE_DIRECT_CALL, PROLOGUE_INDIRECT_CALL };

/* What kind of call instruction ends at `pc`; *target is set for a direct one. */
enum prologue_call prologue_call_before_async(const struct cfi_module *module, uint64_t pc,
                                              uint64_t *target);

/* Is `address` in the trampoline that a signal handler returns to, and has it no rules of its own
 * that lead to the interrupted instruction? Then fills *row with such. */
bool prologue_signal_row_async(const struct cfi_module *module, uint64_t address,
                               struct cfi_row *row);

#endif
