/* What the files of the unwinder share among themselves. */
#ifndef STALLREC_UNWIND_PRIVATE_H
#define STALLREC_UNWIND_PRIVATE_H

#include "unwind/unwind.h"

/* A cached rule. Nearly all of the code that compilers make needs no more than `RULE_PLAIN` holds:
 * a register plus an offset is the CFA, and the return address and some callee-saved registers lie
 * in 8-byte slots relative to it. What does not fit (signal frames, PLT stubs, realigned stacks)
 * refers to a whole row. */
enum rule_kind {
    RULE_PLAIN,
    RULE_ROW,
    RULE_OUTERMOST,
    RULE_NO_CFI,   /* in a module, but no FDE covers it, or a damaged one does */
    RULE_NO_MODULE /* code made at run time, or no code at all */
};

/* Values of frame_rule.slot for a register that is not saved in the frame. */
enum {
    SLOT_SAME = INT16_MIN,     /* the register still holds the caller's value */
    SLOT_LOST = INT16_MIN + 1, /* nothing tells the caller's value */
    SLOT_LINK = INT16_MIN + 2  /* return address only: it is still in the link register */
};

struct frame_rule {
    uint64_t key;  /* address | epoch << 48; 0: empty */
    uint32_t back; /* address - start of the function; UINT32_MAX: start not known */
    int32_t value; /* RULE_PLAIN: the CFA's offset; RULE_ROW: index into rows */
    int16_t slot[ARCH_SAVED_COUNT]; /* for each register of ARCH_SAVED, the return address last:
                                       where it is saved, as a distance from the CFA in units of 8
                                       bytes; or SLOT_* */
    uint8_t cfa_register;
    uint8_t kind;
};

_Static_assert(sizeof(struct frame_rule) == ARCH_RULE_SIZE, "a cached rule is small");

enum { KEY_BITS = 48, WAYS = 2, ROWS = 32, UNKNOWN_BACK = UINT32_MAX };

struct unwinder {
    struct unwind_modules modules;
    struct frame_rule *rules; /* sets of WAYS */
    unsigned set_bits;
    /* Rules of another epoch do not count. The epoch changes when a module comes or goes, because
     * the same address may then hold another instruction. */
    uint16_t epoch;
    uint64_t generation;
    uint64_t misses;
    unsigned row_count;
    struct cfi_row rows[ROWS];
};

_Static_assert((int)ARCH_ADDRESS_BITS <= (int)KEY_BITS, "a key holds an address");

enum { FP_SLOT = ARCH_FP_SLOT, RETURN_SLOT = ARCH_SAVED_COUNT - 1 };

/* The rule for an address inside an instruction. Valid until the next call. */
const struct frame_rule *unwind_cached_rule_async(struct unwinder *u, uint64_t address);

/* The rule of the frame at `pc`, and the address it was found under. Nobody called the trampoline
 * that a signal handler returns to, so its pc is exact although it is found as a return address. */
struct frame_rule unwind_frame_rule_async(struct unwinder *u, uint64_t pc, bool *exact,
                                          uint64_t *address);

/* True when an FDE covers the instruction before `pc`: it looks like a return address. */
bool unwind_is_return_async(struct unwinder *u, uint64_t pc);

/* Reads a return address of the stack. */
static inline bool unwind_load_return_async(const struct cfi_stack *stack, uint64_t address,
                                            uint64_t *pc) {
    bool ok = cfi_load_async(stack, address, pc);
    *pc = ok ? arch_return_async(*pc) : 0;
    return ok;
}

/* Fills frames from the one that *now describes up to the end; *now becomes the last frame. */
size_t unwind_walk_async(struct unwinder *u, struct cfi_registers *now, bool exact,
                         const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                         enum unwind_end *end);

/* Continues from a frame that needs an unknown register; 0 if no guess of it holds. Frame 0 is the
 * frame. (unwind_recover.c) */
size_t unwind_recover_async(struct unwinder *u, const struct cfi_registers *regs, bool exact,
                            const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                            enum unwind_end *end);

/* Steps from an exact frame of a function without rules that has made no call, so that its return
 * address is in the link register. For processors where calls put it there only.
 * (unwind_link_aarch64.c) */
bool unwind_link_step_async(struct unwinder *u, const struct cfi_stack *stack,
                            struct cfi_registers *regs);

/* How far below the caller's sp an exact frame's CFA is: nothing but where the dynamic linker's
 * resolver begins. (unwind_link_aarch64.c) */
uint64_t unwind_pushed_for_resolver_async(const struct frame_rule *rule,
                                          const struct cfi_stack *stack,
                                          const struct cfi_registers *regs);

/* Does the function of a plain rule have a frame record where the rule holds? Else its x29 may be
 * anything. Where a frame record may be anywhere in its frame only. (unwind_link_aarch64.c) */
bool unwind_keeps_record_async(struct unwinder *u, const struct frame_rule *rule);

/* As unwind_recover_async() for a function whose return address is still in the link register, its
 * own frame being `size` bytes, and the frame exact. (unwind_link_aarch64.c) */
size_t unwind_recover_link_async(struct unwinder *u, const struct cfi_registers *regs,
                                 uint64_t function, int32_t size, const struct cfi_stack *stack,
                                 struct unwind_frame *frames, size_t max, enum unwind_end *end);

#endif
