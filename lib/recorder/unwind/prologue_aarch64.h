/* Reads machine code for the unwinder of AArch64 only. */
#ifndef STALLREC_PROLOGUE_AARCH64_H
#define STALLREC_PROLOGUE_AARCH64_H

#include "unwind/cfi.h"

/* Returns the real target of a call of `target`: `target` itself, or, if that is a stub of a
 * linkage table whose slot the module's memory holds, the function to which the stub jumps by its
 * slot. */
uint64_t prologue_through_stub_async(const struct cfi_module *module, uint64_t target);

/* Counts the direct calls of `callee`, or of a stub that jumps to it, in the `size` bytes of code
 * from `start`; *after becomes the address after the last call, and stays unchanged without one. A
 * function of more than 64 KiB is not read, and counts as two calls. */
unsigned prologue_count_calls_async(const struct cfi_module *module, uint64_t start, uint64_t size,
                                    uint64_t callee, uint64_t *after);

/* Does a function set up a frame pointer in the `length` bytes of its code from `start`? False also
 * if these are more than 64 KiB, not all code of the module, or not whole instructions. */
bool prologue_sets_pointer_async(const struct cfi_module *module, uint64_t start, uint64_t length);

/* The changes of sp and registers between a place in a function and its return. */
struct prologue_way {
    int64_t raises;   /* bytes that the function still adds to sp, by which the caller's sp is
                         higher; 0 or more */
    uint64_t reloads; /* bit n: the code from `pc` on loads xn from the stack, and has not stored
                         xn there before that */
};

/* Follows the code from `pc` on, past its conditional jumps, for functions without rules. The end
 * is a return, a jump by x16 or x17, or a jump to a function with rules. The number of bytes that
 * the code still adds to sp is the number that the function has subtracted so far, by whichever
 * path it came to `pc`. False: no end is found within 1024 instructions and 16 jumps, the code
 * jumps by another register, or sp changes by amounts that are not constant, or is lower at the end
 * than at `pc`. */
bool prologue_way_out_async(const struct cfi_module *module, uint64_t pc, struct prologue_way *way);

#endif
