/* Unwinds stacks of Darwin's ABIs, from a copy of a stack: frame pointers chain the frame records.
 *
 * Both ABIs keep frame pointers, so only the innermost frame needs care: its function may keep no
 * frame record (a leaf, a system call's stub), may not have set it up yet, or may have removed it
 * already. Then its return address is in the link register (arm64) or in a word of the stack at or
 * above the stack pointer (x86-64), and the frame pointer is still the caller's. The kind of
 * function is read from the image's __unwind_info, and how far the function has run from its code.
 *
 * Pure code: no mach call, no allocation. Sources: Apple, "Writing ARM64 code for Apple platforms";
 * <mach-o/compact_unwind_encoding.h>. */
#ifndef STALLREC_FP_WALK_H
#define STALLREC_FP_WALK_H

#include "core/capture.h"
#include "darwin/unwind_info.h"

struct fp_registers {
    uint64_t pc, sp, fp;
    uint64_t lr; /* link register; arm64 only */
};

/* A copy of a stack: byte i of `copy` was at address lo + i; hi = lo + size. */
struct fp_stack {
    const uint8_t *copy;
    uint64_t lo, hi;
};

/* A function's address range, and the rule by which it keeps its frame. */
struct fp_function {
    uint64_t start, end;
    struct unwind_rule rule;
};

/* Access to the program's code. */
struct fp_code {
    enum unwind_cpu cpu;
    struct memory memory; /* reads instructions */
    void *arg;
    /* Finds the function that holds the address. False: the address is in no image's code. If
     * out->start is 0, the address is in an image, and nothing more is known. */
    bool (*function_async)(void *arg, uint64_t address, struct fp_function *out);
};

/* On arm64, returns an address or frame pointer without the bits that Darwin keeps above the 47
 * bits of user space (on x86-64 the value itself): a pointer authentication code, or bit 60 in
 * frame pointers of Swift's async functions. */
uint64_t fp_strip_async(enum unwind_cpu cpu, uint64_t value);

/* Returns how far the copy has to reach: the address of the first frame record in the chain that is
 * not wholly in the copy; 0 if the chain ends, breaks, or has `max` records in the copy. While the
 * thread is suspended, no more of its stack than the walk needs is copied. */
uint64_t fp_reach_async(enum unwind_cpu cpu, const struct fp_stack *stack, uint64_t fp,
                        uint32_t max);

/* Walks the stack: sets frames, starts (if not NULL), count, truncated and incomplete of *out,
 * with at most out->cap frames, which must be > 0. The other members are not changed. The
 * innermost frame is the pc, even if it is in no image. */
void fp_walk_async(const struct fp_code *code, const struct fp_registers *regs,
                   const struct fp_stack *stack, struct rec_stack *out);

#endif
