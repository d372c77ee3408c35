/* An unwinder over a copy of a stack: registers in, return addresses out.
 *
 * It works on the recorder's own thread, so the sampled thread only pays for the copy. The rules of
 * each address come from .eh_frame (cfi.h) and are kept in a cache; a hit costs some nanoseconds.
 * Where there are no rules (hand-written code, code made at run time) it falls back on what the
 * stack itself says, and a stack that cannot be followed to its end says so.
 *
 * Nothing here allocates after unwinder_new(). The platform gives the modules: this file knows
 * neither the dynamic linker nor threads. */
#ifndef STALLREC_UNWIND_H
#define STALLREC_UNWIND_H

#include "unwind/cfi.h"

/* Looks at one module, while its memory cannot be unmapped. */
typedef void unwind_visit_fn(void *arg, const struct cfi_module *module);

/* The source of the modules that are unwound. */
struct unwind_modules {
    void *arg;
    /* Calls visit(visit_arg, module) with the module whose code holds `pc`, and keeps that module
     * mapped during the call. False when no module holds it. */
    bool (*find_async)(void *arg, uint64_t pc, unwind_visit_fn *visit, void *visit_arg);
    /* A number that changes whenever a module has been loaded or unloaded. */
    uint64_t (*generation_async)(void *arg);
    /* Copies `size` bytes of memory that no module need hold; false when there is none. NULL:
     * nothing is known of such memory, and code may be anywhere. */
    bool (*read_async)(void *arg, uint64_t address, void *to, size_t size);
};

struct unwind_frame {
    uint64_t pc;
    uint64_t sp;       /* the stack pointer at pc */
    uint64_t function; /* address of the function's first byte; 0: not known */
    bool exact;        /* pc is an instruction being executed, not a return address */
};

enum unwind_end {
    UNWIND_OUTERMOST, /* the stack was followed to its end */
    UNWIND_FULL,      /* there are more frames than room */
    UNWIND_CUT,       /* the copy of the stack ends before the stack does */
    UNWIND_REGISTER,  /* a register is needed that is not known; one that was captured would help */
    UNWIND_LOST       /* no rule and no fallback leads on, or the result is impossible */
};

struct unwinder;

/* Makes an unwinder with room for about `cache_entries` rules of ARCH_RULE_SIZE bytes (rounded up
 * to a power of two, 64 to 65,536). *modules is copied. Returns NULL when there is no memory. */
struct unwinder *unwinder_new(const struct unwind_modules *modules, size_t cache_entries);
void unwinder_free(struct unwinder *u);

/* Fills frames[0 .. result) innermost first, at most `max` (> 0) of them; the first is *regs
 * itself. `regs` must know CFI_PC and CFI_SP. Not for two threads at once. */
size_t unwind_async(struct unwinder *u, const struct cfi_registers *regs,
                    const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                    enum unwind_end *end);

/* Looks-ups that had to read .eh_frame, since the start; a measure for tests and benchmarks. */
uint64_t unwinder_misses(const struct unwinder *u);

#endif
