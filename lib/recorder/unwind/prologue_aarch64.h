/* Code reading that only AArch64's unwinder needs. */
#ifndef STALLREC_PROLOGUE_AARCH64_H
#define STALLREC_PROLOGUE_AARCH64_H

#include "unwind/cfi.h"

/* The real target of a call of `target`: itself, or the function that a linkage table's stub at
 * `target` jumps to by its slot. */
uint64_t prologue_through_stub_async(const struct cfi_module *module, uint64_t target);

/* How many direct calls of `callee` are in the `size` bytes of code from `start`; *after is set to
 * the address behind the last of them. A function that is too large to be read counts as two. */
unsigned prologue_count_calls_async(const struct cfi_module *module, uint64_t start, uint64_t size,
                                    uint64_t callee, uint64_t *after);

/* Does the code of a function set up a frame pointer in the `length` bytes from `start`? */
bool prologue_sets_pointer_async(const struct cfi_module *module, uint64_t start, uint64_t length);

/* The effects on the stack that a function still has before it returns. */
struct prologue_way {
    int64_t raises;   /* it adds to sp, so that the caller's sp is that far up; 0 or more */
    uint64_t reloads; /* bit n: it restores xn from the stack */
};

/* Follows the code from `pc` on to where the function returns or jumps to another one: what it
 * still adds to sp, it has subtracted before, whichever way it came. For functions without rules.
 * False when the end is not found in a thousand instructions, or sp is not changed by constants. */
bool prologue_way_out_async(const struct cfi_module *module, uint64_t pc, struct prologue_way *way);

#endif
