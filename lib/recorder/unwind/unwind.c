/* Walks a stack by cached rules, and by other means where there are no rules. */
#include "unwind/unwind_private.h"

#include "unwind/prologue.h"

#include <stdlib.h>
#include <string.h>

struct unwinder *unwinder_new(const struct unwind_modules *modules, size_t cache_entries) {
    struct unwinder *u = calloc(1, sizeof *u);
    if (!u) {
        return NULL;
    }
    u->modules = *modules;
    u->set_bits = 5;
    while (u->set_bits < 15 && ((size_t)WAYS << u->set_bits) < cache_entries) {
        u->set_bits++;
    }
    u->epoch = 1;
    u->rules = aligned_alloc(64, sizeof *u->rules * WAYS << u->set_bits);
    if (!u->rules) {
        free(u);
        return NULL;
    }
    memset(u->rules, 0, sizeof *u->rules * WAYS << u->set_bits);
    return u;
}

void unwinder_free(struct unwinder *u) {
    if (u) {
        free(u->rules);
        free(u);
    }
}

uint64_t unwinder_misses(const struct unwinder *u) {
    return u->misses;
}

static void forget_rules_async(struct unwinder *u) {
    u->row_count = 0;
    /* If the epoch overflows, old entries would become valid again, so all are cleared. */
    if (++u->epoch == 0) {
        memset(u->rules, 0, sizeof *u->rules * WAYS << u->set_bits);
        u->epoch = 1;
    }
}

static const uint8_t saved_registers[ARCH_SAVED_COUNT] = ARCH_SAVED;

/* Packs the rule of one register into a slot; false: a slot cannot hold it. */
static bool pack_slot_async(const struct cfi_rule *from, int16_t *slot) {
    switch (from->kind) {
    case CFI_SAME:
        *slot = SLOT_SAME;
        return true;
    case CFI_UNDEFINED:
        *slot = SLOT_LOST;
        return true;
    case CFI_IN_REGISTER:
        *slot = SLOT_LINK;
        return ARCH_LINKS && from->reg == CFI_RA;
    case CFI_AT_OFFSET:
        if (from->value % 8 != 0 || from->value / 8 <= SLOT_LINK || from->value / 8 > INT16_MAX) {
            return false;
        }
        *slot = (int16_t)(from->value / 8);
        return true;
    default:
        return false;
    }
}

/* Packs a row into a plain rule; false: a plain rule cannot hold it. */
static bool pack_row_async(const struct cfi_row *row, struct frame_rule *rule) {
    if (row->signal_frame || row->cfa.kind != CFI_IS_OFFSET ||
        row->cfa.value != (int32_t)row->cfa.value || row->reg[CFI_PC].kind == CFI_SAME) {
        return false;
    }
    for (unsigned n = 0, i = 0; n < CFI_REGISTERS; n++) {
        if (n == saved_registers[i]) {
            if (!pack_slot_async(&row->reg[n], &rule->slot[i]) ||
                (rule->slot[i] == SLOT_LINK && n != CFI_PC)) {
                return false;
            }
            i++;
        } else if (n != CFI_RA && row->reg[n].kind != CFI_SAME &&
                   row->reg[n].kind != CFI_UNDEFINED) {
            return false;
        }
    }
    rule->kind = RULE_PLAIN;
    rule->cfa_register = row->cfa.reg;
    rule->value = (int32_t)row->cfa.value;
    return row->reg[CFI_SP].kind == CFI_SAME;
}

struct lookup {
    uint64_t address;
    enum cfi_status status;
    struct cfi_row *row;
};

static void find_row_async(void *arg, const struct cfi_module *module) {
    struct lookup *l = arg;
    l->status = prologue_signal_row_async(module, l->address, l->row)
                    ? CFI_OK
                    : cfi_find_row_async(module, l->address, l->row);
}

static void build_rule_async(struct unwinder *u, uint64_t address, struct frame_rule *rule) {
    if (u->row_count == ROWS) {
        forget_rules_async(u);
    }
    struct cfi_row *row = &u->rows[u->row_count];
    struct lookup l = {.address = address, .status = CFI_NONE, .row = row};
    u->misses++;
    *rule = (struct frame_rule){.back = UNKNOWN_BACK};
    rule->key = address | (uint64_t)u->epoch << KEY_BITS;
    if (!u->modules.find_async(u->modules.arg, address, find_row_async, &l)) {
        rule->kind = RULE_NO_MODULE;
        return;
    }
    if (l.status != CFI_OK) {
        rule->kind = RULE_NO_CFI;
        return;
    }
    if (address - row->start < UNKNOWN_BACK) {
        rule->back = (uint32_t)(address - row->start);
    }
    if (row->reg[CFI_PC].kind == CFI_UNDEFINED) {
        rule->kind = RULE_OUTERMOST;
    } else if (!pack_row_async(row, rule)) {
        rule->kind = RULE_ROW;
        rule->value = (int32_t)u->row_count++;
    }
}

const struct frame_rule *unwind_cached_rule_async(struct unwinder *u, uint64_t address) {
    static const struct frame_rule nowhere = {.back = UNKNOWN_BACK, .kind = RULE_NO_MODULE};
    if (address >> ARCH_ADDRESS_BITS != 0) {
        return &nowhere;
    }
    uint64_t key = address | (uint64_t)u->epoch << KEY_BITS;
    uint64_t set = address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - u->set_bits);
    struct frame_rule *way = u->rules + set * WAYS;
    if (way[0].key == key) {
        return &way[0];
    }
    if (way[1].key != key) {
        struct frame_rule fresh;
        build_rule_async(u, address, &fresh);
        way[1] = way[0];
        way[0] = fresh;
        return &way[0];
    }
    return &way[1];
}

/* Finds, by its frame record, the CFA of a frame whose sp is not known (chain_step_async). AAPCS64
 * has the caller's x29 saved at the address in x29, and the rule holds the distance of that place
 * from the CFA. False: the rule does not hold such a distance from sp, x29 is not known, or the
 * processor is no AArch64. */
static bool cfa_of_record_async(const struct frame_rule *rule, const struct cfi_registers *regs,
                                uint64_t *cfa) {
    int16_t slot = rule->slot[FP_SLOT];
    if (ARCH_FP_IS_TOP || rule->cfa_register != CFI_SP || slot <= SLOT_LINK ||
        !cfi_knows_async(regs, CFI_FP)) {
        return false;
    }
    *cfa = regs->value[CFI_FP] - (uint64_t)(slot * 8);
    return true;
}

static enum cfi_step find_return_async(const struct frame_rule *rule, uint64_t cfa,
                                       const struct cfi_stack *stack,
                                       const struct cfi_registers *regs, uint64_t *pc) {
    int16_t slot = rule->slot[RETURN_SLOT];
    if (slot == SLOT_LINK) {
        *pc = arch_return_async(regs->value[CFI_RA]);
        return cfi_knows_async(regs, CFI_RA) ? CFI_STEP_OK : CFI_STEP_UNKNOWN;
    }
    bool ok = unwind_load_return_async(stack, cfa + (uint64_t)(slot * 8), pc);
    return ok ? CFI_STEP_OK : CFI_STEP_CUT;
}

static enum cfi_step apply_plain_async(const struct frame_rule *rule, const struct cfi_stack *stack,
                                       struct cfi_registers *regs) {
    uint64_t cfa, pc;
    if (cfi_knows_async(regs, rule->cfa_register)) {
        cfa = regs->value[rule->cfa_register] + (uint64_t)(int64_t)rule->value;
    } else if (!cfa_of_record_async(rule, regs, &cfa)) {
        return CFI_STEP_UNKNOWN;
    }
    enum cfi_step st = find_return_async(rule, cfa, stack, regs, &pc);
    if (st != CFI_STEP_OK) {
        return st;
    }
    regs->known &= ARCH_KEPT_MASK;
    for (unsigned i = 0; i < RETURN_SLOT; i++) {
        unsigned reg = saved_registers[i];
        if (rule->slot[i] == SLOT_SAME) {
            continue;
        }
        uint64_t value;
        cfi_forget_async(regs, reg);
        if (rule->slot[i] != SLOT_LOST &&
            cfi_load_async(stack, cfa + (uint64_t)(rule->slot[i] * 8), &value)) {
            cfi_set_async(regs, reg, value);
        }
    }
    cfi_set_async(regs, CFI_SP, cfa);
    cfi_set_async(regs, CFI_PC, pc);
    return CFI_STEP_OK;
}

bool unwind_is_return_async(struct unwinder *u, uint64_t pc) {
    return pc > 4096 && unwind_cached_rule_async(u, pc - 1)->kind <= RULE_OUTERMOST;
}

/* Does a call instruction end at `pc`, in memory that is in no module? False if that memory cannot
 * be read; true if u->modules.read_async is NULL, as no such memory can be read then. */
static bool is_made_call_async(struct unwinder *u, uint64_t pc) {
    enum { BEFORE = 8 }; /* bytes, as no call instruction is longer */
    uint8_t bytes[BEFORE];
    uint64_t target;
    struct cfi_module made = {.segment_count = 1};
    made.segments[0] =
        (struct cfi_segment){.address = pc - BEFORE, .bytes = bytes, .size = BEFORE, .code = true};
    if (!u->modules.read_async) {
        return true;
    }
    return u->modules.read_async(u->modules.arg, pc - BEFORE, bytes, BEFORE) &&
           prologue_call_before_async(&made, pc, &target) != PROLOGUE_NO_CALL;
}

/* Can `pc` be the return address of a call? Code made at run time may be anywhere except on the
 * stack and in the first pages, which only a privileged process can map. If the answer is no, the
 * registers that led to `pc` may have belonged to two frames, as during a longjmp or on the way to
 * a landing pad. */
static bool may_return_async(struct unwinder *u, const struct cfi_stack *stack, uint64_t pc) {
    enum { FIRST_PAGES = 64 * 1024 }; /* usual vm.mmap_min_addr of Linux on x86-64 */
    if (pc < FIRST_PAGES || (pc >= stack->lo && pc < stack->hi)) {
        return false;
    }
    return unwind_cached_rule_async(u, pc - 1)->kind != RULE_NO_MODULE || is_made_call_async(u, pc);
}

struct call_before {
    uint64_t pc, target;
    enum prologue_call call;
};

static void find_call_async(void *arg, const struct cfi_module *module) {
    struct call_before *c = arg;
    c->call = prologue_call_before_async(module, c->pc, &c->target);
}

/* Does a call instruction end at `pc`? is_made_call_async answers if `pc` - 1 is in no module. */
static bool follows_call_async(struct unwinder *u, uint64_t pc) {
    struct call_before c = {.pc = pc, .call = PROLOGUE_NO_CALL};
    bool in_module = u->modules.find_async(u->modules.arg, pc - 1, find_call_async, &c);
    return in_module ? c.call != PROLOGUE_NO_CALL : is_made_call_async(u, pc);
}

/* Is the call that ends at `pc` a direct call of a function without rules that begins at or below
 * `callee`? */
static bool names_callee_async(struct unwinder *u, uint64_t pc, uint64_t callee) {
    struct call_before c = {.pc = pc, .call = PROLOGUE_NO_CALL};
    return u->modules.find_async(u->modules.arg, pc - 1, find_call_async, &c) &&
           c.call == PROLOGUE_DIRECT_CALL && c.target <= callee &&
           unwind_cached_rule_async(u, c.target)->kind == RULE_NO_CFI;
}

/* Steps out of a function without rules that has pushed nothing, or one word: crti's _init and
 * _fini, a call through a wild pointer, small assembly routines. words: number of words from sp on
 * that may be its return address. False: none of these words is a return address, and *regs is
 * unchanged. */
static bool leaf_step_async(struct unwinder *u, const struct cfi_stack *stack, unsigned words,
                            struct cfi_registers *regs) {
    uint64_t sp = regs->value[CFI_SP];
    for (unsigned i = 0; i < words && cfi_knows_async(regs, CFI_SP); i++) {
        uint64_t pc;
        if (unwind_load_return_async(stack, sp + 8 * i, &pc) && unwind_is_return_async(u, pc) &&
            follows_call_async(u, pc)) {
            regs->known &= ARCH_KEPT_MASK;
            cfi_set_async(regs, CFI_SP, sp + 8 * (i + 1));
            cfi_set_async(regs, CFI_PC, pc);
            return true;
        }
    }
    return false;
}

/* Steps out of a function without rules that keeps a frame pointer, as code made at run time often
 * does, and the generated code of an interpreter. strict: step only to a caller with rules. All
 * registers but pc, sp and the frame pointer become unknown; so does sp on processors where a frame
 * pointer need not be at the top of its frame. False: the frame pointer leads to no caller, and
 * *regs is unchanged. */
static bool chain_step_async(struct unwinder *u, const struct cfi_stack *stack, bool strict,
                             struct cfi_registers *regs) {
    uint64_t fp = regs->value[CFI_FP], next, pc, beyond;
    if (!cfi_knows_async(regs, CFI_FP) || fp < regs->value[CFI_SP] || fp % 8 != 0 ||
        !cfi_load_async(stack, fp, &next) || !unwind_load_return_async(stack, fp + 8, &pc)) {
        return false;
    }
    if (!unwind_is_return_async(u, pc) &&
        (strict || !may_return_async(u, stack, pc) || !follows_call_async(u, pc) || next <= fp ||
         next % 8 != 0 || !cfi_load_async(stack, next + 8, &beyond))) {
        return false;
    }
    regs->known = 0; /* the other registers may have been saved anywhere */
    cfi_set_async(regs, CFI_FP, next);
    cfi_set_async(regs, CFI_SP, fp + 16);
    cfi_set_async(regs, CFI_PC, pc);
    if (!ARCH_FP_IS_TOP) {
        cfi_forget_async(regs, CFI_SP);
    }
    return true;
}

/* Maximum number of words from sp on that are tried as the return address of a function without
 * rules. */
enum { PUSHED_MAX = ARCH_LINKS ? 0 : 2 };

/* Does the frame pointer lead to a direct call of the function at the pc? */
static bool chain_is_named_async(struct unwinder *u, const struct cfi_stack *stack,
                                 const struct cfi_registers *regs) {
    uint64_t fp = regs->value[CFI_FP], pc;
    return cfi_knows_async(regs, CFI_FP) && fp >= regs->value[CFI_SP] && fp % 8 == 0 &&
           unwind_load_return_async(stack, fp + 8, &pc) &&
           names_callee_async(u, pc, regs->value[CFI_PC]);
}

static bool fallback_async(struct unwinder *u, const struct cfi_stack *stack, bool in_module,
                           bool exact, struct cfi_registers *regs) {
    if (ARCH_LINKS && exact && unwind_link_step_async(u, stack, regs)) {
        return true;
    }
    /* The frame pointer is tried first, as a function that has made a call may have variables at
     * the end of its stack, and among them return addresses that earlier calls left. */
    if (in_module && !exact &&
        (chain_step_async(u, stack, true, regs) ||
         (chain_is_named_async(u, stack, regs) && chain_step_async(u, stack, false, regs)))) {
        return true;
    }
    if (in_module) {
        return leaf_step_async(u, stack, PUSHED_MAX, regs) ||
               chain_step_async(u, stack, true, regs) || chain_step_async(u, stack, false, regs);
    }
    return chain_step_async(u, stack, true, regs) ||
           (exact && leaf_step_async(u, stack, PUSHED_MAX / 2, regs)) ||
           chain_step_async(u, stack, false, regs);
}

static enum cfi_step apply_async(struct unwinder *u, const struct frame_rule *rule,
                                 const struct cfi_stack *stack, struct cfi_registers *regs) {
    if (rule->kind == RULE_PLAIN) {
        return apply_plain_async(rule, stack, regs);
    }
    return cfi_apply_async(&u->rows[rule->value], stack, regs);
}

/* Returns the CFA of a frame by its rule; 0: the rule gives none without memory or registers that
 * are not known. */
static uint64_t known_cfa_async(const struct unwinder *u, const struct frame_rule *rule,
                                const struct cfi_registers *regs) {
    struct cfi_rule cfa = {.value = rule->value, .kind = CFI_IS_OFFSET, .reg = rule->cfa_register};
    if (rule->kind == RULE_ROW) {
        cfa = u->rows[rule->value].cfa;
    }
    bool known = rule->kind <= RULE_ROW && cfa.kind == CFI_IS_OFFSET;
    return known && cfi_knows_async(regs, cfa.reg) ? regs->value[cfa.reg] + (uint64_t)cfa.value : 0;
}

/* Does the rule count from sp, which is not known? The CFA must then come from the frame record
 * (cfa_of_record_async). */
static bool needs_record_async(const struct frame_rule *rule, const struct cfi_registers *regs) {
    return rule->kind == RULE_PLAIN && rule->cfa_register == CFI_SP &&
           !cfi_knows_async(regs, CFI_SP);
}

static const enum unwind_end end_of_step[] = {
    [CFI_STEP_OUTERMOST] = UNWIND_OUTERMOST,
    [CFI_STEP_CUT] = UNWIND_CUT,
    [CFI_STEP_UNKNOWN] = UNWIND_REGISTER,
    [CFI_STEP_BAD] = UNWIND_LOST,
};

static bool is_signal_frame_async(const struct unwinder *u, const struct frame_rule *rule) {
    return rule->kind == RULE_ROW && u->rows[rule->value].signal_frame;
}

/* Steps to the caller. *exact, before and after the step: the pc in *regs is that of an instruction
 * being executed, not a return address. False: no caller was found, for the reason *end. */
static bool step_async(struct unwinder *u, const struct frame_rule *rule,
                       const struct cfi_stack *stack, struct cfi_registers *regs, bool *exact,
                       enum unwind_end *end) {
    bool signal_frame = is_signal_frame_async(u, rule);
    bool was_exact = *exact;
    uint64_t sp = regs->value[CFI_SP];
    if (rule->kind == RULE_OUTERMOST) {
        *end = UNWIND_OUTERMOST;
        return false;
    }
    if (rule->kind == RULE_NO_CFI || rule->kind == RULE_NO_MODULE) {
        *end = UNWIND_LOST;
        if (!fallback_async(u, stack, rule->kind == RULE_NO_CFI, *exact, regs)) {
            return false;
        }
    } else {
        if (!ARCH_FP_IS_TOP && needs_record_async(rule, regs) &&
            !unwind_keeps_record_async(u, rule)) {
            *end = UNWIND_REGISTER;
            return false;
        }
        uint64_t pushed =
            ARCH_LINKS && was_exact ? unwind_pushed_for_resolver_async(rule, stack, regs) : 0;
        enum cfi_step st = apply_async(u, rule, stack, regs);
        if (st != CFI_STEP_OK) {
            *end = end_of_step[st];
            return false;
        }
        regs->value[CFI_SP] += pushed;
    }
    *exact = signal_frame;
    /* The caller's sp is above this frame's, with three exceptions: a signal handler may run on a
     * stack of its own; where calls push nothing, an interrupted function may have pushed nothing
     * either; and an interrupted longjmp may have its target's sp already. */
    uint64_t least = was_exact ? sp : sp + 1;
    if (regs->value[CFI_SP] < least && !signal_frame) {
        *end = UNWIND_LOST;
        return false;
    }
    /* The return address of a thread's first function is 0, and that function has called another
     * one. In an interrupted function on x86-64 a return address of 0 may be that of swapcontext,
     * which has set sp to a new stack but has not jumped yet. */
    if (regs->value[CFI_PC] == 0) {
        *end = was_exact && !ARCH_LINKS ? UNWIND_LOST : UNWIND_OUTERMOST;
        return false;
    }
    if (!signal_frame && !may_return_async(u, stack, regs->value[CFI_PC])) {
        *end = UNWIND_LOST;
        return false;
    }
    return true;
}

struct frame_rule unwind_frame_rule_async(struct unwinder *u, uint64_t pc, bool *exact,
                                          uint64_t *address) {
    *address = *exact ? pc : pc - 1;
    struct frame_rule rule = *unwind_cached_rule_async(u, *address);
    if (*exact) {
        return rule;
    }
    /* A return address that is in a signal's trampoline may be the first instruction that an FDE
     * covers. The trampoline's rules may also begin one instruction early, for unwinders that
     * always look up the byte before a return address; such rules of Linux 5.6 for AArch64 are
     * wrong. */
    if (rule.kind >= RULE_NO_CFI || is_signal_frame_async(u, &rule)) {
        struct frame_rule at = *unwind_cached_rule_async(u, pc);
        if (is_signal_frame_async(u, &at)) {
            rule = at;
            *address = pc;
        } else if (rule.kind == RULE_ROW) { /* rows may have been evicted */
            rule = *unwind_cached_rule_async(u, *address);
        }
    }
    *exact = is_signal_frame_async(u, &rule);
    return rule;
}

size_t unwind_walk_async(struct unwinder *u, struct cfi_registers *now, bool exact,
                         const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                         enum unwind_end *end) {
    for (size_t n = 0; n < max;) {
        uint64_t pc = now->value[CFI_PC], address;
        struct frame_rule rule = unwind_frame_rule_async(u, pc, &exact, &address);
        frames[n].pc = pc;
        frames[n].sp = now->value[CFI_SP];
        frames[n].cfa = known_cfa_async(u, &rule, now);
        frames[n].exact = exact;
        frames[n].function = rule.back == UNKNOWN_BACK ? 0 : address - rule.back;
        n++;
        if (!step_async(u, &rule, stack, now, &exact, end)) {
            return n;
        }
    }
    *end = UNWIND_FULL;
    return max;
}

size_t unwind_async(struct unwinder *u, const struct cfi_registers *regs,
                    const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                    enum unwind_end *end) {
    uint64_t generation = u->modules.generation_async(u->modules.arg);
    if (generation != u->generation) {
        u->generation = generation;
        forget_rules_async(u);
    }
    struct cfi_registers now = *regs;
    size_t n = unwind_walk_async(u, &now, true, stack, frames, max, end);
    if (*end == UNWIND_REGISTER) {
        size_t last = n - 1;
        size_t more = unwind_recover_async(u, &now, frames[last].exact, stack, frames + last,
                                           max - last, end);
        if (more > 0) {
            return last + more;
        }
        *end = UNWIND_REGISTER;
    }
    return n;
}
