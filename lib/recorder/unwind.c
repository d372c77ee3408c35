/* The unwinder: cached rules, the walk, and what to do where there are no rules. */
#include "unwind.h"

#include "prologue.h"

#include <stdlib.h>
#include <string.h>

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

enum { SAVED = 7, SLOT_SAME = INT16_MIN, SLOT_LOST = INT16_MIN + 1 };

/* The registers a plain rule can restore; the return address is the last. */
static const uint8_t saved_registers[SAVED] = {CFI_RBX, CFI_RBP, CFI_R12, CFI_R13,
                                               CFI_R14, CFI_R15, CFI_PC};

struct rule {
    uint64_t key;        /* address | epoch << 48; 0: empty */
    uint32_t back;       /* address - start of the function; UINT32_MAX: start not known */
    int32_t value;       /* RULE_PLAIN: the CFA's offset; RULE_ROW: index into rows */
    int16_t slot[SAVED]; /* distance from the CFA in units of 8 bytes, or SLOT_* */
    uint8_t cfa_register;
    uint8_t kind;
};

_Static_assert(sizeof(struct rule) == 32, "two rules share a cache line");

enum {
    KEY_BITS = 48, /* user addresses of x86-64 have 47 */
    WAYS = 2,
    ROWS = 32,
    UNKNOWN_BACK = UINT32_MAX
};

struct unwinder {
    struct unwind_modules modules;
    struct rule *rules; /* sets of WAYS */
    unsigned set_bits;
    /* Rules of another epoch are not there. It moves on when a module comes or goes, for then the
     * same address may be another instruction. */
    uint16_t epoch;
    uint64_t generation;
    uint64_t misses;
    unsigned row_count;
    struct cfi_row rows[ROWS];
};

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
    if (++u->epoch == 0) { /* old epochs would come back to life */
        memset(u->rules, 0, sizeof *u->rules * WAYS << u->set_bits);
        u->epoch = 1;
    }
}

/* Packs the place of one register into a slot. */
static bool pack_slot_async(const struct cfi_rule *from, int16_t *slot) {
    switch (from->kind) {
    case CFI_SAME:
        *slot = SLOT_SAME;
        return true;
    case CFI_UNDEFINED:
        *slot = SLOT_LOST;
        return true;
    case CFI_AT_OFFSET:
        if (from->value % 8 != 0 || from->value / 8 <= SLOT_LOST || from->value / 8 > INT16_MAX) {
            return false;
        }
        *slot = (int16_t)(from->value / 8);
        return true;
    default:
        return false;
    }
}

/* Packs a row into a plain rule; false when it says more than a plain rule can. */
static bool pack_row_async(const struct cfi_row *row, struct rule *rule) {
    if (row->signal_frame || row->cfa.kind != CFI_IS_OFFSET ||
        row->cfa.value != (int32_t)row->cfa.value || row->reg[CFI_PC].kind != CFI_AT_OFFSET) {
        return false;
    }
    for (unsigned n = 0, i = 0; n < CFI_REGISTERS; n++) {
        if (n == saved_registers[i]) {
            if (!pack_slot_async(&row->reg[n], &rule->slot[i])) {
                return false;
            }
            i++;
        } else if (row->reg[n].kind != CFI_SAME && row->reg[n].kind != CFI_UNDEFINED) {
            return false;
        }
    }
    rule->kind = RULE_PLAIN;
    rule->cfa_register = row->cfa.reg;
    rule->value = (int32_t)row->cfa.value;
    return row->reg[CFI_RSP].kind == CFI_SAME;
}

struct lookup {
    uint64_t address;
    enum cfi_status status;
    struct cfi_row *row;
};

static void find_row_async(void *arg, const struct cfi_module *module) {
    struct lookup *l = arg;
    l->status = cfi_find_row_async(module, l->address, l->row);
}

static void build_rule_async(struct unwinder *u, uint64_t address, struct rule *rule) {
    if (u->row_count == ROWS) {
        forget_rules_async(u);
    }
    struct cfi_row *row = &u->rows[u->row_count];
    struct lookup l = {.address = address, .status = CFI_NONE, .row = row};
    u->misses++;
    *rule = (struct rule){.back = UNKNOWN_BACK};
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

/* The rule for an address inside an instruction. Valid until the next call. */
static const struct rule *find_rule_async(struct unwinder *u, uint64_t address) {
    static const struct rule nowhere = {.back = UNKNOWN_BACK, .kind = RULE_NO_MODULE};
    if (address >> (KEY_BITS - 1) != 0) {
        return &nowhere;
    }
    uint64_t key = address | (uint64_t)u->epoch << KEY_BITS;
    uint64_t set = address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - u->set_bits);
    struct rule *way = u->rules + set * WAYS;
    if (way[0].key == key) {
        return &way[0];
    }
    if (way[1].key != key) {
        struct rule fresh;
        build_rule_async(u, address, &fresh);
        way[1] = way[0];
        way[0] = fresh;
        return &way[0];
    }
    return &way[1];
}

static bool is_known_async(const struct cfi_registers *regs, unsigned reg) {
    return regs->known >> reg & 1;
}

static void set_async(struct cfi_registers *regs, unsigned reg, uint64_t value) {
    regs->value[reg] = value;
    regs->known |= 1u << reg;
}

/* Registers that a function keeps for its caller. */
static const uint32_t kept_mask =
    1u << CFI_RBX | 1u << CFI_RBP | 1u << CFI_R12 | 1u << CFI_R13 | 1u << CFI_R14 | 1u << CFI_R15;

static enum cfi_step apply_plain_async(const struct rule *rule, const struct cfi_stack *stack,
                                       struct cfi_registers *regs) {
    if (rule->cfa_register >= CFI_REGISTERS || !is_known_async(regs, rule->cfa_register)) {
        return CFI_STEP_UNKNOWN;
    }
    uint64_t cfa = regs->value[rule->cfa_register] + (uint64_t)(int64_t)rule->value;
    uint64_t pc;
    if (!cfi_load_async(stack, cfa + (uint64_t)(rule->slot[SAVED - 1] * 8), &pc)) {
        return CFI_STEP_CUT;
    }
    regs->known &= kept_mask;
    for (unsigned i = 0; i < SAVED - 1; i++) {
        unsigned reg = saved_registers[i];
        if (rule->slot[i] == SLOT_SAME) {
            continue;
        }
        uint64_t value;
        regs->known &= ~(1u << reg);
        if (rule->slot[i] != SLOT_LOST &&
            cfi_load_async(stack, cfa + (uint64_t)(rule->slot[i] * 8), &value)) {
            set_async(regs, reg, value);
        }
    }
    set_async(regs, CFI_RSP, cfa);
    set_async(regs, CFI_PC, pc);
    return CFI_STEP_OK;
}

/* True when an FDE covers the instruction before `pc`: it looks like a return address. */
static bool is_return_async(struct unwinder *u, uint64_t pc) {
    return pc > 4096 && find_rule_async(u, pc - 1)->kind <= RULE_OUTERMOST;
}

/* A function without rules that has pushed nothing, or one word: crti's _init and _fini, a call
 * through a wild pointer, small assembly routines. */
static bool leaf_step_async(struct unwinder *u, const struct cfi_stack *stack, unsigned words,
                            struct cfi_registers *regs) {
    uint64_t sp = regs->value[CFI_RSP];
    for (unsigned i = 0; i < words; i++) {
        uint64_t pc;
        if (cfi_load_async(stack, sp + 8 * i, &pc) && is_return_async(u, pc)) {
            regs->known &= kept_mask;
            set_async(regs, CFI_RSP, sp + 8 * (i + 1));
            set_async(regs, CFI_PC, pc);
            return true;
        }
    }
    return false;
}

/* A function without rules that keeps a frame pointer, as code made at run time often does. */
static bool chain_step_async(struct unwinder *u, const struct cfi_stack *stack, bool strict,
                             struct cfi_registers *regs) {
    uint64_t fp = regs->value[CFI_RBP], next, pc, beyond;
    if (!is_known_async(regs, CFI_RBP) || fp < regs->value[CFI_RSP] || fp % 8 != 0 ||
        !cfi_load_async(stack, fp, &next) || !cfi_load_async(stack, fp + 8, &pc)) {
        return false;
    }
    if (!is_return_async(u, pc) && (strict || pc <= 4096 || next <= fp || next % 8 != 0 ||
                                    !cfi_load_async(stack, next + 8, &beyond))) {
        return false;
    }
    regs->known = 0; /* the other registers may have been saved anywhere */
    set_async(regs, CFI_RBP, next);
    set_async(regs, CFI_RSP, fp + 16);
    set_async(regs, CFI_PC, pc);
    return true;
}

static bool fallback_async(struct unwinder *u, const struct cfi_stack *stack, bool in_module,
                           bool exact, struct cfi_registers *regs) {
    if (in_module) {
        return leaf_step_async(u, stack, 2, regs) || chain_step_async(u, stack, true, regs);
    }
    return chain_step_async(u, stack, true, regs) ||
           (exact && leaf_step_async(u, stack, 1, regs)) || chain_step_async(u, stack, false, regs);
}

static enum cfi_step apply_async(struct unwinder *u, const struct rule *rule,
                                 const struct cfi_stack *stack, struct cfi_registers *regs) {
    if (rule->kind == RULE_PLAIN) {
        return apply_plain_async(rule, stack, regs);
    }
    return cfi_apply_async(&u->rows[rule->value], stack, regs);
}

static const enum unwind_end end_of_step[] = {
    [CFI_STEP_OUTERMOST] = UNWIND_OUTERMOST,
    [CFI_STEP_CUT] = UNWIND_CUT,
    [CFI_STEP_UNKNOWN] = UNWIND_REGISTER,
    [CFI_STEP_BAD] = UNWIND_LOST,
};

static bool is_signal_frame_async(const struct unwinder *u, const struct rule *rule) {
    return rule->kind == RULE_ROW && u->rows[rule->value].signal_frame;
}

/* Steps to the caller. *exact says whether regs' pc is exact, before and after. */
static bool step_async(struct unwinder *u, const struct rule *rule, const struct cfi_stack *stack,
                       struct cfi_registers *regs, bool *exact, enum unwind_end *end) {
    bool signal_frame = is_signal_frame_async(u, rule);
    uint64_t sp = regs->value[CFI_RSP];
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
        enum cfi_step st = apply_async(u, rule, stack, regs);
        if (st != CFI_STEP_OK) {
            *end = end_of_step[st];
            return false;
        }
    }
    *exact = signal_frame;
    /* Callers are further up, but a signal handler may run on a stack of its own. */
    if (regs->value[CFI_RSP] <= sp && !signal_frame) {
        *end = UNWIND_LOST;
        return false;
    }
    *end = UNWIND_OUTERMOST;
    return regs->value[CFI_PC] != 0; /* a thread's first frame returns to nowhere */
}

/* The rule of the frame at `pc`, and the address it was found under. Nobody called the trampoline
 * that a signal handler returns to, so its pc is exact although it is found as a return address. */
static struct rule frame_rule_async(struct unwinder *u, uint64_t pc, bool *exact,
                                    uint64_t *address) {
    *address = *exact ? pc : pc - 1;
    struct rule rule = *find_rule_async(u, *address);
    if (*exact) {
        return rule;
    }
    if (rule.kind == RULE_NO_CFI) { /* it may be the first instruction that an FDE covers */
        struct rule at = *find_rule_async(u, pc);
        if (is_signal_frame_async(u, &at)) {
            rule = at;
            *address = pc;
        }
    }
    *exact = is_signal_frame_async(u, &rule);
    return rule;
}

/* Fills frames from the one that *now describes, until the end. */
static size_t walk_async(struct unwinder *u, struct cfi_registers *now, bool exact,
                         const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                         enum unwind_end *end) {
    for (size_t n = 0; n < max;) {
        uint64_t pc = now->value[CFI_PC], address;
        struct rule rule = frame_rule_async(u, pc, &exact, &address);
        frames[n].pc = pc;
        frames[n].sp = now->value[CFI_RSP];
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

/* --- an unknown frame pointer
 * ---------------------------------------------------------------------
 *
 * Of a thread that sleeps in a system call only sp and pc can be had. That is enough until a frame
 * is addressed through rbp, and nothing below it has saved rbp: then there is a guess to make, and
 * a guess must be checked, because dead stack is full of addresses that look right. */

/* What the module that holds the frame's function tells. */
struct callers {
    uint64_t function, length; /* up to the frame's pc */
    uint64_t from, to;         /* the part of the stack to look at */
    const struct cfi_stack *stack;
    uint64_t sp, above; /* of the frame; the return address is at rbp + above */
    uint64_t place; /* the innermost return address behind a direct call of the function; 0: none */
    bool sized; /* the function's code tells how far rsp is below rbp, so that it would be at: */
    uint64_t sized_place;
    bool agreed; /* and there it is */
};

static bool is_caller_async(const struct callers *c, const struct cfi_module *module, uint64_t at) {
    uint64_t pc, target;
    return cfi_load_async(c->stack, at, &pc) &&
           prologue_call_before_async(module, pc, &target) == PROLOGUE_DIRECT_CALL &&
           target == c->function;
}

/* The next place from c->from on, and before c->to; 0 if there is none. */
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

/* Is every place up to the last frame the return address of a frame of the function? Both ascend.
 */
static void account_async(void *arg, const struct cfi_module *module) {
    struct account *a = arg;
    size_t n = 1;
    for (uint64_t at; (at = next_caller_async(&a->callers, module)) != 0;) {
        while (n < a->count && a->frames[n].sp < at + 8) {
            n++;
        }
        if (n == a->count || a->frames[n].sp != at + 8 ||
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

/* True when the instruction before `pc` can have called a function that it does not name: through a
 * pointer, or through a stub. One FDE covers all stubs of a linkage table. */
static bool calls_unnamed_async(struct unwinder *u, uint64_t pc) {
    struct call_check c = {.pc = pc, .call = PROLOGUE_NO_CALL};
    if (!is_return_async(u, pc) ||
        !u->modules.find_async(u->modules.arg, pc - 1, read_call_async, &c) ||
        c.call == PROLOGUE_NO_CALL) {
        return false;
    }
    const struct rule *rule = find_rule_async(u, c.target);
    return c.call == PROLOGUE_INDIRECT_CALL || rule->kind > RULE_OUTERMOST || rule->back != 0;
}

/* Where the frame's return address is: where the function's code says, if a direct call of it is
 * before that; or behind the innermost direct call; or, if there is none, where the code says, if a
 * call of a function it does not name is before that. */
static bool guess_place_async(struct unwinder *u, const struct callers *c, uint64_t *place) {
    uint64_t pc;
    *place = c->place ? c->place : c->sized_place;
    return c->place != 0 ||
           (c->sized && cfi_load_async(c->stack, *place, &pc) && calls_unnamed_async(u, pc));
}

/* Does the walk of a guess bear it out? It must reach the end of the stack; and unless two sources
 * agreed, it must account for all direct calls of the function (they are recursion then): a place
 * that it does not account for may be the right one. */
static bool stands_async(struct unwinder *u, const struct callers *c,
                         const struct unwind_frame *frames, size_t n, enum unwind_end end) {
    struct account a = {.callers = *c, .frames = frames, .count = n};
    if (end == UNWIND_LOST || end == UNWIND_REGISTER) {
        return false;
    }
    if (end == UNWIND_FULL) {
        a.callers.to =
            frames[n - 1].sp; /* the stack goes on beyond it; a wrong guess leaves the copy */
    }
    return c->agreed ||
           (u->modules.find_async(u->modules.arg, c->function, account_async, &a) && a.all);
}

/* Walks on from a frame whose rbp is not known; 0 if no guess stands. Frame 0 is the frame. */
static size_t walk_on_async(struct unwinder *u, const struct cfi_registers *regs, bool exact,
                            const struct cfi_stack *stack, struct unwind_frame *frames, size_t max,
                            enum unwind_end *end) {
    uint64_t address, place, sp = regs->value[CFI_RSP];
    struct rule rule = frame_rule_async(u, regs->value[CFI_PC], &exact, &address);
    if (rule.kind != RULE_PLAIN || rule.cfa_register != CFI_RBP || rule.back == UNKNOWN_BACK ||
        rule.slot[SAVED - 1] != -1 || is_known_async(regs, CFI_RBP)) {
        return 0;
    }
    struct callers c = {.function = address - rule.back,
                        .length = rule.back,
                        .from = (sp + 7) & ~UINT64_C(7),
                        .to = stack->hi,
                        .stack = stack,
                        .sp = sp,
                        .above = (uint64_t)(int64_t)rule.value - 8};
    if (!u->modules.find_async(u->modules.arg, address, find_caller_async, &c) ||
        !guess_place_async(u, &c, &place)) {
        return 0;
    }
    struct cfi_registers now = *regs;
    set_async(&now, CFI_RBP, place - c.above);
    size_t n = walk_async(u, &now, exact, stack, frames, max, end);
    return stands_async(u, &c, frames, n, *end) ? n : 0;
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
    size_t n = walk_async(u, &now, true, stack, frames, max, end);
    if (*end == UNWIND_REGISTER) {
        size_t last = n - 1;
        size_t more =
            walk_on_async(u, &now, frames[last].exact, stack, frames + last, max - last, end);
        if (more > 0) {
            return last + more;
        }
        *end = UNWIND_REGISTER;
    }
    return n;
}
