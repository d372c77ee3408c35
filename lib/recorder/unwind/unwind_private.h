/* The state of the unwinder, and the functions that its files share. */
#ifndef STALLREC_UNWIND_PRIVATE_H
#define STALLREC_UNWIND_PRIVATE_H

#include "unwind/unwind.h"

/* The kind of a cached rule. RULE_PLAIN suffices for nearly all code that compilers make: the CFA
 * is a register plus an offset, and the return address and some callee-saved registers are in
 * 8-byte slots relative to it. Other frames (signal frames, PLT stubs, realigned stacks) have a
 * whole row. */
enum rule_kind {
    RULE_PLAIN,
    RULE_ROW,
    RULE_OUTERMOST,
    RULE_NO_CFI,   /* the address is in a module, but no valid FDE covers it */
    RULE_NO_MODULE /* the address is in code made at run time, or in no code at all */
};

/* Values of frame_rule.slot for a register that is not saved in the frame. */
enum {
    SLOT_SAME = INT16_MIN,     /* the register still holds the caller's value */
    SLOT_LOST = INT16_MIN + 1, /* the caller's value cannot be found */
    SLOT_LINK = INT16_MIN + 2  /* the return address is still in the link register */
};

struct frame_rule {
    uint64_t key;  /* address | epoch << 48; 0: empty */
    uint32_t back; /* bytes from the function's start to the address; UINT32_MAX: the start is not
                      known */
    int32_t value; /* RULE_PLAIN: offset of the CFA; RULE_ROW: index in rows */
    int16_t slot[ARCH_SAVED_COUNT]; /* for each register of ARCH_SAVED, the return address last: the
                                       distance of its saved value from the CFA in units of 8 bytes,
                                       or SLOT_* */
    uint8_t cfa_register;
    uint8_t kind;
};

_Static_assert(sizeof(struct frame_rule) == ARCH_RULE_SIZE, "a cached rule is small");

enum { KEY_BITS = 48, WAYS = 2, ROWS = 32, UNKNOWN_BACK = UINT32_MAX };

struct unwinder {
    struct unwind_modules modules;
    struct frame_rule *rules; /* sets of WAYS entries; a hash of the address selects the set */
    unsigned set_bits;
    /* Rules of another epoch are invalid. The epoch changes when a module comes or goes, because
     * the same address may then hold another instruction, and when the rows are used up. */
    uint16_t epoch;
    uint64_t generation;
    uint64_t misses;
    unsigned row_count;
    struct cfi_row rows[ROWS];
};

_Static_assert((int)ARCH_ADDRESS_BITS <= (int)KEY_BITS, "a key holds an address");

enum { FP_SLOT = ARCH_FP_SLOT, RETURN_SLOT = ARCH_SAVED_COUNT - 1 };

/* Returns the rule for an address inside an instruction, from the cache or from .eh_frame. The rule
 * is never NULL, and is valid until the next call. */
const struct frame_rule *unwind_cached_rule_async(struct unwinder *u, uint64_t address);

/* Returns the rule of the frame at `pc`, which is an instruction being executed if *exact is true,
 * else a return address; sets *address to the address under which the rule was found. *exact
 * becomes true in the trampoline to which a signal handler returns, as nobody called it, although
 * its pc was found as a return address. */
struct frame_rule unwind_frame_rule_async(struct unwinder *u, uint64_t pc, bool *exact,
                                          uint64_t *address);

/* Is `pc` above 4096, and is there a rule for the byte before it, so that `pc` looks like a return
 * address? */
bool unwind_is_return_async(struct unwinder *u, uint64_t pc);

/* Reads a return address from the stack, in its plain form. False: it is not in the copy. */
static inline bool unwind_load_return_async(const struct cfi_stack *stack, uint64_t address,
                                            uint64_t *pc) {
    bool ok = cfi_load_async(stack, address, pc);
    *pc = ok ? arch_return_async(*pc) : 0;
    return ok;
}

/* Fills frames, at most `max`, from the frame of *now up to the end of the stack, and returns their
 * number. exact: the pc of *now is an instruction being executed. If *end becomes UNWIND_REGISTER,
 * *now becomes the last frame's registers, else it is undefined. */
size_t unwind_walk_async(struct unwinder *u, struct cfi_registers *now, bool exact,
                         const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                         enum unwind_end *end);

/* Continues from a frame that needs an unknown register, by a guess. Returns the number of frames,
 * of which frames[0] is that frame itself; 0 if no guess is confirmed. (unwind_recover.c) */
size_t unwind_recover_async(struct unwinder *u, const struct cfi_registers *regs, bool exact,
                            const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                            enum unwind_end *end);

/* Steps from an exact frame of a function without rules that has made no call, so that its return
 * address is in the link register. The caller's sp becomes unknown if the code does not show it.
 * False: the link register is not known or holds no return address, or the frame pointer leads on
 * without it; *regs stays unchanged. Only for processors whose calls put it there.
 * (unwind_link_aarch64.c) */
bool unwind_link_step_async(struct unwinder *u, const struct cfi_stack *stack,
                            struct cfi_registers *regs);

/* Returns by how many bytes the CFA of an exact frame is below the caller's sp: 0 except at the
 * first instruction of the dynamic linker's resolver. (unwind_link_aarch64.c) */
uint64_t unwind_pushed_for_resolver_async(const struct frame_rule *rule,
                                          const struct cfi_stack *stack,
                                          const struct cfi_registers *regs);

/* Has the function of a plain rule set up its frame record before the rule's address? If not, its
 * x29 may have any value. Only for processors on which a frame record may be anywhere in its
 * frame. (unwind_link_aarch64.c) */
bool unwind_keeps_record_async(struct unwinder *u, const struct frame_rule *rule);

/* Continues, as unwind_recover_async() does, from an exact frame whose return address is still in
 * the unknown link register. size: bytes from sp to the CFA. (unwind_link_aarch64.c) */
size_t unwind_recover_link_async(struct unwinder *u, const struct cfi_registers *regs,
                                 uint64_t function, int32_t size, const struct cfi_stack *stack,
                                 struct unwind_frame *frames, size_t max, enum unwind_end *end);

#endif
