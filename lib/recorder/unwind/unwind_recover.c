/* Guesses unknown registers, and checks the guesses by a walk. */
#include "unwind/unwind_private.h"

#include "unwind/prologue.h"

/* ---- an unknown frame pointer ----
 *
 * Of a thread that sleeps in a system call only sp and pc can be read. That suffices until the CFA
 * of a frame counts from the frame pointer, and no frame below it has saved the frame pointer. The
 * frame pointer must then be guessed, and the guess checked, as old stack contents are full of
 * addresses that look right. */

/* The data on the callers of a frame's function that are found in its module. */
struct callers {
    uint64_t function, length; /* length: bytes from the function's start to the frame's pc */
    uint64_t from, to;         /* the part of the stack that is searched */
    const struct cfi_stack *stack;
    uint64_t sp;     /* the frame's sp */
    uint64_t above;  /* distance of the return address from the frame pointer, upwards */
    uint64_t beyond; /* distance of the caller's sp from the place of the return address, upwards */
    uint64_t place;  /* sized_place if `agreed`, else the place of the innermost return address that
                        follows a direct call of the function; 0: none */
    bool sized;      /* the size of the frame is known from the function's code, so that the return
                        address is expected at sized_place */
    uint64_t sized_place;
    bool agreed; /* a return address that follows a direct call of the function is at sized_place */
};

static bool is_caller_async(const struct callers *c, const struct cfi_module *module, uint64_t at) {
    uint64_t pc, target;
    return unwind_load_return_async(c->stack, at, &pc) &&
           prologue_call_before_async(module, pc, &target) == PROLOGUE_DIRECT_CALL &&
           target == c->function;
}

/* Returns the next place in [c->from, c->to) that holds a return address after a direct call of the
 * function; 0 if there is none. */
static uint64_t next_caller_async(const struct callers *c, const struct cfi_module *module) {
    for (uint64_t at = c->from; at < c->to; at += 8) {
        if (is_caller_async(c, module, at)) {
            return at;
        }
    }
    return 0;
}

static void find_caller_async(void *arg, const struct cfi_module *module) {
    struct callers *c = arg;
    uint64_t size;
    c->sized = prologue_frame_size_async(module, c->function, c->length, &size);
    c->sized_place = c->sized ? c->sp + size + c->above : 0;
    c->agreed = c->sized && is_caller_async(c, module, c->sized_place);
    c->place = c->agreed ? c->sized_place : next_caller_async(c, module);
}

struct account {
    struct callers callers;
    const struct unwind_frame *frames;
    size_t count;
    bool all;
};

/* Sets a->all if each place that next_caller_async finds holds the return address of a frame of the
 * function. Places and frames both ascend. */
static void account_async(void *arg, const struct cfi_module *module) {
    struct account *a = arg;
    size_t n = 1;
    for (uint64_t at; (at = next_caller_async(&a->callers, module)) != 0;) {
        while (n < a->count && a->frames[n].sp < at + a->callers.beyond) {
            n++;
        }
        if (n == a->count || a->frames[n].sp != at + a->callers.beyond ||
            a->frames[n - 1].function != a->callers.function) {
            return;
        }
        a->callers.from = at + 8;
    }
    a->all = true;
}

struct call_check {
    uint64_t pc;
    enum prologue_call call;
    uint64_t target;
};

static void read_call_async(void *arg, const struct cfi_module *module) {
    struct call_check *c = arg;
    c->call = prologue_call_before_async(module, c->pc, &c->target);
}

/* Can the call before `pc` have called a function that it does not name, through a pointer or
 * through a stub? One FDE covers all stubs of a linkage table. */
static bool calls_unnamed_async(struct unwinder *u, uint64_t pc) {
    struct call_check c = {.pc = pc, .call = PROLOGUE_NO_CALL};
    if (!unwind_is_return_async(u, pc) ||
        !u->modules.find_async(u->modules.arg, pc - 1, read_call_async, &c) ||
        c.call == PROLOGUE_NO_CALL) {
        return false;
    }
    const struct frame_rule *rule = unwind_cached_rule_async(u, c.target);
    return c.call == PROLOGUE_INDIRECT_CALL || rule->kind > RULE_OUTERMOST || rule->back != 0;
}

/* Guesses the place of the frame's return address. It is the place known from the function's code
 * if the address there follows a direct call of the function; else the innermost place whose
 * address follows such a call; or, if there is none, the place known from the code, if the address
 * there follows a call that does not name its function. False: there is no guess. */
static bool guess_place_async(struct unwinder *u, const struct callers *c, uint64_t *place) {
    uint64_t pc;
    *place = c->place ? c->place : c->sized_place;
    return c->place != 0 || (c->sized && unwind_load_return_async(c->stack, *place, &pc) &&
                             calls_unnamed_async(u, pc));
}

/* Does the walk confirm the guessed caller? The walk must not get lost, nor need an unknown
 * register; and unless code and stack agree on the place, it must account for all direct calls of
 * the function (which are recursion then), as a place that it does not account for may be the right
 * one. */
static bool stands_async(struct unwinder *u, const struct callers *c,
                         const struct unwind_frame *frames, size_t n, enum unwind_end end) {
    struct account a = {.callers = *c, .frames = frames, .count = n};
    if (end == UNWIND_LOST || end == UNWIND_REGISTER) {
        return false;
    }
    if (end == UNWIND_FULL) {
        a.callers.to =
            frames[n - 1].sp; /* frames beyond the last one are not known; if the guess were wrong,
                                 the walk would leave the copy instead of filling `frames` */
    }
    return c->agreed ||
           (u->modules.find_async(u->modules.arg, c->function, account_async, &a) && a.all);
}

/* Continues from a frame whose frame pointer is unknown; returns the number of frames, 0 if that
 * fails. */
static size_t recover_pointer_async(struct unwinder *u, const struct cfi_registers *regs,
                                    bool exact, const struct frame_rule *rule, uint64_t address,
                                    const struct cfi_stack *stack, struct unwind_frame *frames,
                                    size_t max, enum unwind_end *end) {
    uint64_t place, sp = regs->value[CFI_SP];
    int64_t slot = rule->slot[RETURN_SLOT];
    if (slot <= SLOT_LINK) {
        return 0;
    }
    struct callers c = {.function = address - rule->back,
                        .length = rule->back,
                        .from = (sp + 7) & ~UINT64_C(7),
                        .to = stack->hi,
                        .stack = stack,
                        .sp = sp,
                        .above = (uint64_t)(rule->value + 8 * slot),
                        .beyond = (uint64_t)(-8 * slot)};
    if (!u->modules.find_async(u->modules.arg, address, find_caller_async, &c) ||
        !guess_place_async(u, &c, &place)) {
        return 0;
    }
    struct cfi_registers now = *regs;
    cfi_set_async(&now, CFI_FP, place - c.above);
    size_t n = unwind_walk_async(u, &now, exact, stack, frames, max, end);
    return stands_async(u, &c, frames, n, *end) ? n : 0;
}

size_t unwind_recover_async(struct unwinder *u, const struct cfi_registers *regs, bool exact,
                            const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                            enum unwind_end *end) {
    uint64_t address;
    struct frame_rule rule = unwind_frame_rule_async(u, regs->value[CFI_PC], &exact, &address);
    if (rule.kind != RULE_PLAIN || rule.back == UNKNOWN_BACK) {
        return 0;
    }
    if (rule.cfa_register == CFI_FP && !cfi_knows_async(regs, CFI_FP)) {
        return recover_pointer_async(u, regs, exact, &rule, address, stack, frames, max, end);
    }
    if (ARCH_LINKS && exact && rule.cfa_register == CFI_SP && rule.slot[RETURN_SLOT] == SLOT_LINK) {
        return unwind_recover_link_async(u, regs, address - rule.back, rule.value, stack, frames,
                                         max, end);
    }
    return 0;
}
