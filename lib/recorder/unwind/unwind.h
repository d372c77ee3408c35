/* An unwinder over a copy of a stack: it turns registers into return addresses.
 *
 * It does not run on the sampled thread, which thus pays only for the copy. The rules of each
 * address come from .eh_frame (cfi.h) and are cached; a cached rule costs some nanoseconds. Where
 * there are no rules (hand-written code, code made at run time) it tries the frame pointer, the
 * words at sp and, on AArch64, the link register, and it reports a stack that cannot be followed to
 * its end.
 *
 * Nothing here allocates after unwinder_new(). The platform gives the modules, so that this file
 * depends neither on the dynamic linker nor on threads. */
#ifndef STALLREC_UNWIND_H
#define STALLREC_UNWIND_H

#include "unwind/cfi.h"

/* A callback that gets one module, whose memory cannot be unmapped during the call. */
typedef void unwind_visit_fn(void *arg, const struct cfi_module *module);

/* The source of the modules through which stacks are unwound. */
struct unwind_modules {
    void *arg;
    /* Calls visit(visit_arg, module) with the module whose memory holds `pc`, and keeps that module
     * mapped during the call. False: no module holds `pc`. */
    bool (*find_async)(void *arg, uint64_t pc, unwind_visit_fn *visit, void *visit_arg);
    /* Returns a number that changes whenever a module has been loaded or unloaded. */
    uint64_t (*generation_async)(void *arg);
    /* Copies `size` bytes of memory, which may be outside of modules; false: they cannot be read.
     * NULL: memory outside of modules cannot be read, and any address there, except on the stack
     * and in the first 64 KiB, may be a return address. */
    bool (*read_async)(void *arg, uint64_t address, void *to, size_t size);
};

struct unwind_frame {
    uint64_t pc;
    uint64_t sp;       /* the stack pointer at pc; a lower bound of it where it is not known, as may
                          happen on AArch64 */
    uint64_t function; /* address of the first byte of the function, or of the part of it that one
                          FDE covers; 0: not known */
    uint64_t cfa;      /* the stack pointer before the call of the function (its canonical frame
                          address), even if the function's caller cannot be found; 0: not known */
    bool exact;        /* pc is an instruction being executed, not a return address */
};

enum unwind_end {
    UNWIND_OUTERMOST, /* the stack was followed to its end */
    UNWIND_FULL,      /* there are more frames than there is room for */
    UNWIND_CUT,       /* needed memory is not in the copy of the stack */
    UNWIND_REGISTER,  /* the unknown value of a register is needed */
    UNWIND_LOST       /* no rule and no fallback leads to a caller, or the result is impossible */
};

struct unwinder;

/* Makes an unwinder with room for about `cache_entries` rules of ARCH_RULE_SIZE bytes (rounded up
 * to a power of two, 64 to 65,536). *modules is copied. NULL: out of memory. */
struct unwinder *unwinder_new(const struct unwind_modules *modules, size_t cache_entries);
/* Frees the unwinder; u may be NULL. */
void unwinder_free(struct unwinder *u);

/* Unwinds a stack into frames[0 .. result), innermost first, at most `max` (> 0) frames; frames[0]
 * is that of *regs. `regs` must know CFI_PC and CFI_SP. *end becomes the reason for which the walk
 * ended. Two threads must not call it at the same time. */
size_t unwind_async(struct unwinder *u, const struct cfi_registers *regs,
                    const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                    enum unwind_end *end);

/* Returns the number of look-ups since unwinder_new() whose rule was not in the cache, for tests
 * and benchmarks. */
uint64_t unwinder_misses(const struct unwinder *u);

#endif
