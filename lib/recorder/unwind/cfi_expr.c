/* Applies the rules of a row: evaluates DWARF expressions, and steps from a frame to its caller. */
#include "unwind/cfi_private.h"

#include <string.h>

enum { EXPR_STACK = 32 };

enum {
    DW_OP_deref = 0x06,
    DW_OP_const1u = 0x08,
    DW_OP_const1s = 0x09,
    DW_OP_const2u = 0x0a,
    DW_OP_const2s = 0x0b,
    DW_OP_const4u = 0x0c,
    DW_OP_const4s = 0x0d,
    DW_OP_const8u = 0x0e,
    DW_OP_const8s = 0x0f,
    DW_OP_constu = 0x10,
    DW_OP_consts = 0x11,
    DW_OP_dup = 0x12,
    DW_OP_drop = 0x13,
    DW_OP_over = 0x14,
    DW_OP_pick = 0x15,
    DW_OP_swap = 0x16,
    DW_OP_rot = 0x17,
    DW_OP_abs = 0x19,
    DW_OP_and = 0x1a,
    DW_OP_div = 0x1b,
    DW_OP_minus = 0x1c,
    DW_OP_mod = 0x1d,
    DW_OP_mul = 0x1e,
    DW_OP_neg = 0x1f,
    DW_OP_not = 0x20,
    DW_OP_or = 0x21,
    DW_OP_plus = 0x22,
    DW_OP_plus_uconst = 0x23,
    DW_OP_shl = 0x24,
    DW_OP_shr = 0x25,
    DW_OP_shra = 0x26,
    DW_OP_xor = 0x27,
    DW_OP_bra = 0x28,
    DW_OP_eq = 0x29,
    DW_OP_ge = 0x2a,
    DW_OP_gt = 0x2b,
    DW_OP_le = 0x2c,
    DW_OP_lt = 0x2d,
    DW_OP_ne = 0x2e,
    DW_OP_skip = 0x2f,
    DW_OP_lit0 = 0x30,
    DW_OP_lit31 = 0x4f,
    DW_OP_breg0 = 0x70,
    DW_OP_breg31 = 0x8f,
    DW_OP_bregx = 0x92,
    DW_OP_nop = 0x96
};

struct expr {
    struct cfi_cursor code;
    const struct cfi_registers *regs;
    const struct cfi_stack *stack;
    uint64_t value[EXPR_STACK];
    unsigned depth;
    enum cfi_step status;
};

bool cfi_load_async(const struct cfi_stack *stack, uint64_t address, uint64_t *value) {
    if (address < stack->lo || address > stack->hi || stack->hi - address < sizeof *value) {
        return false;
    }
    memcpy(value, stack->copy + (address - stack->lo), sizeof *value);
    return true;
}

static void push_async(struct expr *x, uint64_t value) {
    if (x->depth == EXPR_STACK) {
        x->status = CFI_STEP_BAD;
    } else {
        x->value[x->depth++] = value;
    }
}

static uint64_t pop_async(struct expr *x) {
    if (x->depth == 0) {
        x->status = CFI_STEP_BAD;
        return 0;
    }
    return x->value[--x->depth];
}

/* Returns the n-th value from the top of the expression's stack, 0 = the top; a smaller stack is
 * an error. */
static uint64_t peek_async(struct expr *x, uint64_t n) {
    if (n >= x->depth) {
        x->status = CFI_STEP_BAD;
        return 0;
    }
    return x->value[x->depth - 1 - n];
}

static void push_register_async(struct expr *x, uint64_t reg) {
    uint64_t offset = (uint64_t)cfi_sleb_async(&x->code);
    if (reg >= CFI_REGISTERS) {
        x->status = CFI_STEP_BAD;
    } else if (!cfi_knows_async(x->regs, (unsigned)reg)) {
        x->status = CFI_STEP_UNKNOWN;
    } else {
        push_async(x, x->regs->value[reg] + offset);
    }
}

static void deref_async(struct expr *x) {
    uint64_t value = 0;
    if (!cfi_load_async(x->stack, pop_async(x), &value) && x->status == CFI_STEP_OK) {
        x->status = CFI_STEP_CUT;
    }
    push_async(x, value);
}

/* Executes a jump. A backward jump that is taken is an error, so that every expression ends. */
static void jump_async(struct expr *x, bool taken) {
    int16_t distance = (int16_t)cfi_fixed_async(&x->code, 2);
    if (taken && distance < 0) {
        x->status = CFI_STEP_BAD;
    } else if (taken) {
        cfi_skip_async(&x->code, (uint64_t)distance);
    }
}

/* Compares two values, as signed numbers, by one of the operators DW_OP_eq to DW_OP_ne. */
static bool compare_async(uint8_t op, int64_t a, int64_t b) {
    switch (op) {
    case DW_OP_eq:
        return a == b;
    case DW_OP_ne:
        return a != b;
    case DW_OP_ge:
        return a >= b;
    case DW_OP_gt:
        return a > b;
    case DW_OP_le:
        return a <= b;
    default:
        return a < b;
    }
}

/* Executes an operator on two values. False: `op` is no such operator. A division that has no
 * result sets x->status. */
static bool binary_async(struct expr *x, uint8_t op) {
    if (op != DW_OP_xor && (op < DW_OP_and || op > DW_OP_ne || op == DW_OP_neg || op == DW_OP_not ||
                            op == DW_OP_plus_uconst || op == DW_OP_bra)) {
        return false;
    }
    uint64_t b = pop_async(x), a = pop_async(x);
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    if ((op == DW_OP_div || op == DW_OP_mod) && (b == 0 || (sa == INT64_MIN && sb == -1))) {
        x->status = CFI_STEP_BAD;
        return true;
    }
    uint64_t r = 0;
    switch (op) {
    case DW_OP_and:
        r = a & b;
        break;
    case DW_OP_or:
        r = a | b;
        break;
    case DW_OP_xor:
        r = a ^ b;
        break;
    case DW_OP_plus:
        r = a + b;
        break;
    case DW_OP_minus:
        r = a - b;
        break;
    case DW_OP_mul:
        r = a * b;
        break;
    case DW_OP_div:
        r = (uint64_t)(sa / sb);
        break;
    case DW_OP_mod:
        r = a % b;
        break;
    case DW_OP_shl:
        r = b < 64 ? a << b : 0;
        break;
    case DW_OP_shr:
        r = b < 64 ? a >> b : 0;
        break;
    case DW_OP_shra: /* a negative number is shifted as its complement */
        b = b < 63 ? b : 63;
        r = sa < 0 ? ~(~a >> b) : a >> b;
        break;
    default:
        r = compare_async(op, sa, sb);
        break;
    }
    push_async(x, r);
    return true;
}

/* Pushes a constant. False: `op` is no operator that pushes a constant. */
static bool constant_async(struct expr *x, uint8_t op) {
    struct cfi_cursor *c = &x->code;
    switch (op) {
    case DW_OP_const1u:
        push_async(x, cfi_fixed_async(c, 1));
        return true;
    case DW_OP_const1s:
        push_async(x, (uint64_t)(int8_t)cfi_fixed_async(c, 1));
        return true;
    case DW_OP_const2u:
        push_async(x, cfi_fixed_async(c, 2));
        return true;
    case DW_OP_const2s:
        push_async(x, (uint64_t)(int16_t)cfi_fixed_async(c, 2));
        return true;
    case DW_OP_const4u:
        push_async(x, cfi_fixed_async(c, 4));
        return true;
    case DW_OP_const4s:
        push_async(x, (uint64_t)(int32_t)cfi_fixed_async(c, 4));
        return true;
    case DW_OP_const8u:
    case DW_OP_const8s:
        push_async(x, cfi_fixed_async(c, 8));
        return true;
    case DW_OP_constu:
        push_async(x, cfi_uleb_async(c));
        return true;
    case DW_OP_consts:
        push_async(x, (uint64_t)cfi_sleb_async(c));
        return true;
    default:
        if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
            push_async(x, (uint64_t)(op - DW_OP_lit0));
            return true;
        }
        return false;
    }
}

static void other_async(struct expr *x, uint8_t op) {
    uint64_t a, b, c;
    switch (op) {
    case DW_OP_nop:
        break;
    case DW_OP_deref:
        deref_async(x);
        break;
    case DW_OP_dup:
        push_async(x, peek_async(x, 0));
        break;
    case DW_OP_drop:
        pop_async(x);
        break;
    case DW_OP_over:
        push_async(x, peek_async(x, 1));
        break;
    case DW_OP_pick:
        push_async(x, peek_async(x, cfi_fixed_async(&x->code, 1)));
        break;
    case DW_OP_swap:
        a = pop_async(x), b = pop_async(x);
        push_async(x, a);
        push_async(x, b);
        break;
    case DW_OP_rot: /* moves the top value to the third place */
        a = pop_async(x), b = pop_async(x), c = pop_async(x);
        push_async(x, a);
        push_async(x, c);
        push_async(x, b);
        break;
    case DW_OP_abs:
        a = pop_async(x);
        push_async(x, a >> 63 ? 0 - a : a);
        break;
    case DW_OP_neg:
        push_async(x, 0 - pop_async(x));
        break;
    case DW_OP_not:
        push_async(x, ~pop_async(x));
        break;
    case DW_OP_plus_uconst:
        a = pop_async(x);
        push_async(x, a + cfi_uleb_async(&x->code));
        break;
    case DW_OP_skip:
        jump_async(x, true);
        break;
    case DW_OP_bra:
        jump_async(x, pop_async(x) != 0);
        break;
    case DW_OP_bregx:
        push_register_async(x, cfi_uleb_async(&x->code));
        break;
    default: /* the other operators, such as DW_OP_addr, are not supported */
        x->status = CFI_STEP_BAD;
        break;
    }
}

enum cfi_step cfi_eval_async(const uint8_t *code, size_t size, const struct cfi_registers *regs,
                             const struct cfi_stack *stack, const uint64_t *cfa, uint64_t *result) {
    struct expr x = {.code = {code, size, 0, false}, .regs = regs, .stack = stack};
    if (cfa) {
        push_async(&x, *cfa);
    }
    while (x.code.left > 0 && x.status == CFI_STEP_OK && !x.code.failed) {
        uint8_t op = (uint8_t)cfi_fixed_async(&x.code, 1);
        if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
            push_register_async(&x, (uint64_t)(op - DW_OP_breg0));
        } else if (!constant_async(&x, op) && !binary_async(&x, op)) {
            other_async(&x, op);
        }
    }
    if (x.code.failed) {
        x.status = CFI_STEP_BAD;
    }
    if (x.status == CFI_STEP_OK) {
        uint64_t top = pop_async(&x);
        if (x.status == CFI_STEP_OK) {
            *result = top;
        }
    }
    return x.status;
}

static enum cfi_step find_cfa_async(const struct cfi_row *row, const struct cfi_stack *stack,
                                    const struct cfi_registers *regs, uint64_t *cfa) {
    const struct cfi_rule *rule = &row->cfa;
    if (rule->kind == CFI_IS_EXPR) {
        return cfi_eval_async(row->code + rule->value, rule->size, regs, stack, NULL, cfa);
    }
    if (rule->kind != CFI_IS_OFFSET) {
        return CFI_STEP_BAD;
    }
    if (!cfi_knows_async(regs, rule->reg)) {
        return CFI_STEP_UNKNOWN;
    }
    *cfa = regs->value[rule->reg] + (uint64_t)rule->value;
    return CFI_STEP_OK;
}

/* Sets *value to the caller's value of register `n`. CFI_STEP_UNKNOWN: the value is undefined, or
 * in a register that is not known. CFI_STEP_CUT: it is not in the copy of the stack. The other
 * results are those of cfi_eval_async. */
static enum cfi_step find_value_async(const struct cfi_row *row, unsigned n, uint64_t cfa,
                                      const struct cfi_stack *stack,
                                      const struct cfi_registers *regs, uint64_t *value) {
    const struct cfi_rule *rule = &row->reg[n];
    uint64_t at = cfa + (uint64_t)rule->value;
    enum cfi_step st;
    switch (rule->kind) {
    case CFI_SAME:
        *value = regs->value[n];
        return cfi_knows_async(regs, n) ? CFI_STEP_OK : CFI_STEP_UNKNOWN;
    case CFI_IS_OFFSET:
        *value = at;
        return CFI_STEP_OK;
    case CFI_AT_OFFSET:
        return cfi_load_async(stack, at, value) ? CFI_STEP_OK : CFI_STEP_CUT;
    case CFI_IN_REGISTER:
        *value = cfi_knows_async(regs, rule->reg) ? regs->value[rule->reg] : 0;
        return cfi_knows_async(regs, rule->reg) ? CFI_STEP_OK : CFI_STEP_UNKNOWN;
    case CFI_IS_EXPR:
    case CFI_AT_EXPR:
        st = cfi_eval_async(row->code + rule->value, rule->size, regs, stack, &cfa, value);
        if (st == CFI_STEP_OK && rule->kind == CFI_AT_EXPR) {
            return cfi_load_async(stack, *value, value) ? CFI_STEP_OK : CFI_STEP_CUT;
        }
        return st;
    default:
        return CFI_STEP_UNKNOWN;
    }
}

/* May a function use the register without saving it? The caller's value is then lost, unless a
 * rule says otherwise. */
static bool is_scratch_async(unsigned reg) {
    return reg != CFI_SP && !(ARCH_KEPT_MASK >> reg & 1);
}

enum cfi_step cfi_apply_async(const struct cfi_row *row, const struct cfi_stack *stack,
                              struct cfi_registers *regs) {
    if (row->reg[CFI_PC].kind == CFI_UNDEFINED) {
        return CFI_STEP_OUTERMOST;
    }
    uint64_t cfa = 0;
    enum cfi_step st = find_cfa_async(row, stack, regs, &cfa);
    if (st != CFI_STEP_OK) {
        return st;
    }
    struct cfi_registers caller = {0};
    for (unsigned n = 0; n < CFI_REGISTERS; n++) {
        bool same = row->reg[n].kind == CFI_SAME;
        if (n == CFI_SP && same) { /* the ABI defines the CFA as the caller's sp */
            cfi_set_async(&caller, n, cfa);
            continue;
        }
        if (same && (n == CFI_PC || (is_scratch_async(n) && !row->signal_frame))) {
            continue;
        }
        if (ARCH_LINKS && n == CFI_RA && !row->signal_frame) {
            continue; /* the call that leads to this frame has overwritten the link register */
        }
        st = find_value_async(row, n, cfa, stack, regs, &caller.value[n]);
        if (st == CFI_STEP_OK) {
            caller.known |= UINT64_C(1) << n;
        } else if (n == CFI_PC || n == CFI_SP) {
            return st;
        }
    }
    if (!cfi_knows_async(&caller, CFI_PC)) {
        return CFI_STEP_BAD; /* there is no rule for the return address */
    }
    if (!row->signal_frame) {
        caller.value[CFI_PC] = arch_return_async(caller.value[CFI_PC]);
    }
    *regs = caller;
    return CFI_STEP_OK;
}
