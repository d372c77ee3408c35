/* Finds return addresses in the link register, for functions without rules and for functions whose
 * link register is not known.
 *
 * A function without rules (mostly hand-written code) that has called no function still has its
 * return address in x30, but may have lowered sp and stored registers. Its code up to its return
 * shows by how much it has lowered sp.
 *
 * A function that makes a system call need not store its return address; ioctl, flock and syscall
 * do not. Of a thread that sleeps there, only sp and pc can be read from outside. But the caller
 * has stored its own return address, and the call before that address names the caller, whose code
 * calls the function. If the caller has exactly one such call, and its rules put its return address
 * at the very place where it was found, the address after the call is the answer; if there is a
 * second such place, there is no answer. */
#include "unwind/unwind_private.h"

#include "unwind/prologue.h"
#include "unwind/prologue_aarch64.h"

struct way_out {
    uint64_t pc;
    struct prologue_way way;
    bool found;
};

static void find_way_async(void *arg, const struct cfi_module *module) {
    struct way_out *w = arg;
    w->found = prologue_way_out_async(module, w->pc, &w->way);
}

/* Is the frame record at x29 that of this function? It then holds the return address `returns`. */
static bool has_record_async(const struct cfi_registers *regs, const struct cfi_stack *stack,
                             uint64_t returns) {
    uint64_t fp = regs->value[CFI_FP], stored;
    return cfi_knows_async(regs, CFI_FP) && fp >= regs->value[CFI_SP] &&
           unwind_load_return_async(stack, fp + 8, &stored) && stored == returns;
}

bool unwind_link_step_async(struct unwinder *u, const struct cfi_stack *stack,
                            struct cfi_registers *regs) {
    struct way_out out = {.pc = regs->value[CFI_PC]};
    uint64_t returns = arch_return_async(regs->value[CFI_RA]), fp;
    if (!cfi_knows_async(regs, CFI_RA) || !unwind_is_return_async(u, returns)) {
        return false;
    }
    u->modules.find_async(u->modules.arg, out.pc, find_way_async, &out);
    bool record =
        (!out.found || (out.way.reloads >> CFI_FP & 1)) && has_record_async(regs, stack, returns);
    if (!out.found && record) {
        return false; /* the frame pointer is valid, and leads on without x30 */
    }
    /* A register that the function will reload may be stored already or not, so it becomes
     * unknown. The frame pointer is in the frame record. */
    uint64_t sp = regs->value[CFI_SP];
    regs->known &= ARCH_KEPT_MASK & ~out.way.reloads;
    if (record && cfi_load_async(stack, regs->value[CFI_FP], &fp)) {
        cfi_set_async(regs, CFI_FP, fp);
    }
    if (out.found) {
        cfi_set_async(regs, CFI_SP, sp + (uint64_t)out.way.raises);
    } else { /* the caller's sp is at least as high as this one */
        regs->known &= UINT64_C(1) << CFI_FP;
    }
    cfi_set_async(regs, CFI_PC, returns);
    return true;
}

/* ---- a frame whose sp is not known ---- */

struct record_check {
    uint64_t function, length; /* start of the function, and bytes from it to the frame's pc */
    bool kept;
};

static void check_record_async(void *arg, const struct cfi_module *module) {
    struct record_check *c = arg;
    c->kept = prologue_sets_pointer_async(module, c->function, c->length);
}

static uint64_t address_of_async(const struct frame_rule *rule) {
    return rule->key & ((UINT64_C(1) << KEY_BITS) - 1);
}

bool unwind_keeps_record_async(struct unwinder *u, const struct frame_rule *rule) {
    uint64_t address = address_of_async(rule);
    struct record_check c = {.function = address - rule->back, .length = rule->back & ~3U};
    return rule->back != UNKNOWN_BACK &&
           u->modules.find_async(u->modules.arg, address, check_record_async, &c) && c.kept;
}

/* ---- the dynamic linker's resolver ----
 *
 * The first entry of a linkage table pushes the address of a slot of the table, and x30; then x16
 * is the address of the table's third slot, x17 that of the resolver. The rules of glibc
 * (sysdeps/aarch64/dl-trampoline.S) count the two words only after the resolver's first
 * instruction. */

uint64_t unwind_pushed_for_resolver_async(const struct frame_rule *rule,
                                          const struct cfi_stack *stack,
                                          const struct cfi_registers *regs) {
    enum { X16 = 16, X17 = 17, WORDS = 16 };
    uint64_t slot, link, sp = regs->value[CFI_SP], needed = regs->known;
    needed &= UINT64_C(1) << X16 | UINT64_C(1) << X17 | UINT64_C(1) << CFI_RA;
    if (rule->kind != RULE_PLAIN || rule->slot[RETURN_SLOT] != SLOT_LINK || rule->value != 0 ||
        rule->cfa_register != CFI_SP || rule->back == UNKNOWN_BACK ||
        needed != (UINT64_C(1) << X16 | UINT64_C(1) << X17 | UINT64_C(1) << CFI_RA) ||
        regs->value[X17] != address_of_async(rule) - rule->back) {
        return 0;
    }
    bool pushed = cfi_load_async(stack, sp, &slot) && cfi_load_async(stack, sp + 8, &link) &&
                  link == regs->value[CFI_RA] && slot > regs->value[X16] && slot % 8 == 0;
    return pushed ? WORDS : 0;
}

/* ---- an unknown link register ---- */

enum { REACH = 4096 }; /* number of bytes of the stack that are searched */

struct return_search {
    uint64_t leaf;    /* start of the function whose return address is sought */
    uint64_t returns; /* a return address on the stack, which is tried as that of the leaf
                         function's caller */
    uint64_t caller;  /* function that is called right before `returns`; 0: none */
    uint64_t resumes; /* address in the caller after the last direct call of the leaf function */
    unsigned calls;   /* number of direct calls of the leaf function in the caller */
};

static void name_caller_async(void *arg, const struct cfi_module *module) {
    struct return_search *s = arg;
    uint64_t target;
    if (prologue_call_before_async(module, s->returns, &target) == PROLOGUE_DIRECT_CALL) {
        s->caller = prologue_through_stub_async(module, target);
    }
}

static void count_calls_async(void *arg, const struct cfi_module *module) {
    struct return_search *s = arg;
    struct cfi_row row;
    if (cfi_find_row_async(module, s->caller, &row) == CFI_OK && row.start == s->caller) {
        s->calls = prologue_count_calls_async(module, row.start, row.size, s->leaf, &s->resumes);
    }
}

/* Finds the caller, which is the function called right before s->returns, and its call of the leaf
 * function. False: there is none. */
static bool find_call_async(struct unwinder *u, struct return_search *s) {
    s->caller = 0;
    s->calls = 0;
    if (!u->modules.find_async(u->modules.arg, s->returns - 4, name_caller_async, s) ||
        s->caller == 0) {
        return false;
    }
    return u->modules.find_async(u->modules.arg, s->caller, count_calls_async, s) && s->calls > 0;
}

size_t unwind_recover_link_async(struct unwinder *u, const struct cfi_registers *regs,
                                 uint64_t function, int32_t size, const struct cfi_stack *stack,
                                 struct unwind_frame *frames, size_t max, enum unwind_end *end) {
    struct return_search s = {.leaf = function};
    uint64_t from = regs->value[CFI_SP] + (uint64_t)(int64_t)size, resumes = 0;
    for (uint64_t at = from; at < from + REACH; at += 8) {
        struct unwind_frame few[3];
        struct cfi_registers now = *regs;
        if (!unwind_load_return_async(stack, at, &s.returns)) {
            break;
        }
        if (s.returns < 4096 || !find_call_async(u, &s)) {
            continue;
        }
        cfi_set_async(&now, CFI_RA, s.resumes);
        if (unwind_walk_async(u, &now, true, stack, few, 3, end) < 3 || few[2].pc != s.returns) {
            continue; /* this return address is left over from earlier calls */
        }
        if (s.calls > 1 || resumes != 0) {
            return 0;
        }
        resumes = s.resumes;
    }
    if (resumes == 0) {
        return 0;
    }
    struct cfi_registers now = *regs;
    cfi_set_async(&now, CFI_RA, resumes);
    size_t n = unwind_walk_async(u, &now, true, stack, frames, max, end);
    return *end == UNWIND_LOST || *end == UNWIND_REGISTER ? 0 : n;
}
