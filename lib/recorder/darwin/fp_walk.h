/* Stacks of Darwin's ABIs: frame records that the frame pointer chains, over a copy of a stack.
 *
 * Both ABIs keep frame pointers, so only the innermost frame needs thought: a function may have set
 * up no record (a leaf, a system call's stub), or not yet, or no longer. Then its caller is in the
 * link register (arm64) or on top of the stack (x86-64), and the frame pointer is still the
 * caller's. The image's __unwind_info says what kind of function it is, its code how far it got.
 *
 * Pure code: no mach call, no allocation. Sources: Apple, "Writing ARM64 code for Apple platforms";
 * <mach-o/compact_unwind_encoding.h>. */
#ifndef STALLREC_FP_WALK_H
#define STALLREC_FP_WALK_H

#include "core/capture.h"
#include "darwin/unwind_info.h"

struct fp_registers {
    uint64_t pc, sp, fp;
    uint64_t lr; /* arm64 */
};

/* A copy of a stack: byte i of `copy` was at address lo + i; hi = lo + size. */
struct fp_stack {
    const uint8_t *copy;
    uint64_t lo, hi;
};

/* A function, and what is known of how it keeps its frame. */
struct fp_function {
    uint64_t start, end;
    struct unwind_rule rule;
};

/* What is known of the program's code. */
struct fp_code {
    enum unwind_cpu cpu;
    struct memory memory; /* of instructions */
    void *arg;
    /* The function that holds the address. False: it is in no image's code. With start 0 it is in
     * an image and nothing more is known. */
    bool (*function_async)(void *arg, uint64_t address, struct fp_function *out);
};

/* An address or frame pointer without what Darwin keeps in the bits above the 47 of user space: a
 * pointer's authentication code, bit 60 of frame pointers of Swift's async functions. */
uint64_t fp_strip_async(enum unwind_cpu cpu, uint64_t value);

/* How far the copy has to reach: the first frame pointer of the chain whose record is not wholly in
 * it, 0 if the chain ends, breaks or has `max` records in the copy. Makes it possible to copy no
 * more of a stack than it takes, while its thread is held. */
uint64_t fp_reach_async(enum unwind_cpu cpu, const struct fp_stack *stack, uint64_t fp,
                        uint32_t max);

/* Fills in frames, starts (if not NULL), count, truncated and incomplete of *out, at most out->cap
 * frames, > 0. The other fields are left alone. The innermost frame is the pc, also when it is in
 * no image. */
void fp_walk_async(const struct fp_code *code, const struct fp_registers *regs,
                   const struct fp_stack *stack, struct rec_stack *out);

#endif
