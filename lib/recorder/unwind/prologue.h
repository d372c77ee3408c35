/* Reads machine code for an unwinder that lacks registers or rules. prologue_ARCH.c implements
 * it. */
#ifndef STALLREC_PROLOGUE_H
#define STALLREC_PROLOGUE_H

#include "unwind/cfi.h"

/* Computes how many bytes sp is below the frame pointer in the body of a function that sets one up,
 * from its prologue at `start`: from the pushes and the subtraction (x86-64), or from the offset of
 * the frame record and a subtraction after it (AArch64). Reads the `length` bytes from `start` to
 * the place in question. False: the prologue is of another form; the code after it seems to change
 * sp, other than by raising it (AArch64) or by pushes and pops (x86-64); or the bytes are more than
 * 64 KiB, not all code of the module, or not whole instructions (AArch64). Words that are pushed
 * for a call are not counted, so the caller must check the result. */
bool prologue_frame_size_async(const struct cfi_module *module, uint64_t start, uint64_t length,
                               uint64_t *size);

enum prologue_call { PROLOGUE_NO_CALL, PROLOGUE_DIRECT_CALL, PROLOGUE_INDIRECT_CALL };

/* Returns the kind of call instruction that, by the bytes before `pc`, seems to end there; *target
 * is set for a direct call. */
enum prologue_call prologue_call_before_async(const struct cfi_module *module, uint64_t pc,
                                              uint64_t *target);

/* Is `address` in the trampoline to which a signal handler returns? If so, *row is set to the rules
 * that lead to the interrupted instruction. Always false on x86-64, where C libraries have rules
 * for the trampoline. */
bool prologue_signal_row_async(const struct cfi_module *module, uint64_t address,
                               struct cfi_row *row);

#endif
