/* Runs the programs of call frame information, which are DW_CFA_* instructions, up to one
 * address. */
#include "unwind/cfi_private.h"

#include <string.h>

enum { REMEMBER_MAX = 8, INSTRUCTIONS_MAX = 20000 };

enum {
    DW_CFA_advance_loc = 0x40, /* this instruction and the next two are the high two bits of a byte,
                                  whose low six hold an operand */
    DW_CFA_offset = 0x80,
    DW_CFA_restore = 0xc0,
    DW_CFA_nop = 0x00,
    DW_CFA_set_loc = 0x01,
    DW_CFA_advance_loc1 = 0x02,
    DW_CFA_advance_loc2 = 0x03,
    DW_CFA_advance_loc4 = 0x04,
    DW_CFA_offset_extended = 0x05,
    DW_CFA_restore_extended = 0x06,
    DW_CFA_undefined = 0x07,
    DW_CFA_same_value = 0x08,
    DW_CFA_register = 0x09,
    DW_CFA_remember_state = 0x0a,
    DW_CFA_restore_state = 0x0b,
    DW_CFA_def_cfa = 0x0c,
    DW_CFA_def_cfa_register = 0x0d,
    DW_CFA_def_cfa_offset = 0x0e,
    DW_CFA_def_cfa_expression = 0x0f,
    DW_CFA_expression = 0x10,
    DW_CFA_offset_extended_sf = 0x11,
    DW_CFA_def_cfa_sf = 0x12,
    DW_CFA_def_cfa_offset_sf = 0x13,
    DW_CFA_val_offset = 0x14,
    DW_CFA_val_offset_sf = 0x15,
    DW_CFA_val_expression = 0x16,
    DW_CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
    DW_CFA_AARCH64_negate_ra_state = 0x2d,
    DW_CFA_GNU_args_size = 0x2e,
    DW_CFA_GNU_negative_offset_extended = 0x2f
};

/* The rules during the run of a program. The value of a rule with an expression is the
 * expression's address. */
struct cfi_rules {
    struct cfi_rule cfa;
    struct cfi_rule reg[CFI_REGISTERS];
};

struct cfi_machine {
    const struct cfi_cie *cie;
    struct cfi_cursor code;
    uint64_t location, target;
    struct cfi_rules now;
    const struct cfi_rules
        *initial; /* the CIE's rules, which DW_CFA_restore restores; NULL in the CIE's program */
    struct cfi_rules stack[REMEMBER_MAX];
    unsigned depth;
    bool done; /* the next row begins after the target */
    bool bad;
};

/* Sets a register's rule. Rules of registers that the unwinder does not track, such as vector
 * registers, are dropped. */
static void set_rule_async(struct cfi_machine *m, uint64_t reg, struct cfi_rule rule) {
    if (reg < CFI_REGISTERS) {
        m->now.reg[reg] = rule;
    }
}

static struct cfi_rule offset_rule_async(struct cfi_machine *m, enum cfi_kind kind,
                                         int64_t factored) {
    struct cfi_rule rule = {.kind = (uint8_t)kind};
    if (__builtin_mul_overflow(factored, m->cie->data_align, &rule.value)) {
        m->bad = true;
    }
    return rule;
}

/* Reads an unsigned operand as a signed number; an operand that does not fit is damage. */
static int64_t unsigned_operand_async(struct cfi_machine *m) {
    uint64_t value = cfi_uleb_async(&m->code);
    if (value > INT64_MAX) {
        m->bad = true;
        return 0;
    }
    return (int64_t)value;
}

static struct cfi_rule expr_rule_async(struct cfi_machine *m, enum cfi_kind kind) {
    uint64_t size = cfi_uleb_async(&m->code);
    struct cfi_rule rule = {.kind = (uint8_t)kind, .value = (int64_t)m->code.address};
    if (size > CFI_CODE_MAX) {
        m->bad = true;
    }
    rule.size = (uint32_t)size;
    cfi_skip_async(&m->code, size);
    return rule;
}

static void restore_async(struct cfi_machine *m, uint64_t reg) {
    if (!m->initial) {
        m->bad = true; /* in a CIE's program there are no rules to restore */
    } else if (reg < CFI_REGISTERS) {
        m->now.reg[reg] = m->initial->reg[reg];
    }
}

static void advance_async(struct cfi_machine *m, uint64_t delta) {
    uint64_t step;
    if (__builtin_mul_overflow(delta, m->cie->code_align, &step) ||
        __builtin_add_overflow(m->location, step, &m->location)) {
        m->bad = true;
    } else if (m->location > m->target) {
        m->done = true;
    }
}

static void set_cfa_async(struct cfi_machine *m, uint64_t reg, int64_t offset) {
    m->bad |= reg >= CFI_REGISTERS;
    m->now.cfa = (struct cfi_rule){.kind = CFI_IS_OFFSET, .reg = (uint8_t)reg, .value = offset};
}

static int64_t scaled_operand_async(struct cfi_machine *m) {
    return offset_rule_async(m, CFI_IS_OFFSET, cfi_sleb_async(&m->code)).value;
}

/* Executes an instruction that defines the CFA. False: `op` is no such instruction. */
static bool run_cfa_async(struct cfi_machine *m, uint8_t op) {
    uint64_t reg;
    bool plain = m->now.cfa.kind == CFI_IS_OFFSET;
    switch (op) {
    case DW_CFA_def_cfa:
        reg = cfi_uleb_async(&m->code);
        set_cfa_async(m, reg, unsigned_operand_async(m));
        return true;
    case DW_CFA_def_cfa_sf:
        reg = cfi_uleb_async(&m->code);
        set_cfa_async(m, reg, scaled_operand_async(m));
        return true;
    case DW_CFA_def_cfa_register: /* changes only the register of the CFA's rule, which must be a
                                     register plus an offset */
        m->bad |= !plain;
        set_cfa_async(m, cfi_uleb_async(&m->code), m->now.cfa.value);
        return true;
    case DW_CFA_def_cfa_offset:
        m->bad |= !plain;
        set_cfa_async(m, m->now.cfa.reg, unsigned_operand_async(m));
        return true;
    case DW_CFA_def_cfa_offset_sf:
        m->bad |= !plain;
        set_cfa_async(m, m->now.cfa.reg, scaled_operand_async(m));
        return true;
    case DW_CFA_def_cfa_expression:
        m->now.cfa = expr_rule_async(m, CFI_IS_EXPR);
        return true;
    default:
        return false;
    }
}

/* Executes an instruction that moves the location, saves or restores all rules, or has no effect
 * here. False: `op` is no such instruction. */
static bool run_state_async(struct cfi_machine *m, uint8_t op) {
    switch (op) {
    case DW_CFA_nop:
        return true;
    case DW_CFA_set_loc:
        m->location = cfi_pointer_async(&m->code, m->cie->encoding, 0);
        m->done = !m->code.failed && m->location > m->target;
        return true;
    case DW_CFA_advance_loc1:
        advance_async(m, cfi_fixed_async(&m->code, 1));
        return true;
    case DW_CFA_advance_loc2:
        advance_async(m, cfi_fixed_async(&m->code, 2));
        return true;
    case DW_CFA_advance_loc4:
        advance_async(m, cfi_fixed_async(&m->code, 4));
        return true;
    case DW_CFA_remember_state:
        if (m->depth == REMEMBER_MAX) {
            m->bad = true;
        } else {
            m->stack[m->depth++] = m->now;
        }
        return true;
    case DW_CFA_restore_state:
        if (m->depth == 0) {
            m->bad = true;
        } else {
            m->now = m->stack[--m->depth];
        }
        return true;
    case DW_CFA_GNU_args_size: /* concerns exception landing pads only */
        cfi_uleb_async(&m->code);
        return true;
    case DW_CFA_AARCH64_negate_ra_state: /* toggles whether the return address is signed;
                                            arch_return_async handles either form */
    case DW_CFA_AARCH64_negate_ra_state_with_pc:
        return ARCH_SIGNS;
    default:
        return false;
    }
}

/* Executes an instruction that sets the rule of one register. False: `op` is no such
 * instruction. */
static bool run_register_async(struct cfi_machine *m, uint8_t op) {
    uint64_t reg = cfi_uleb_async(&m->code);
    switch (op) {
    case DW_CFA_offset_extended:
        set_rule_async(m, reg, offset_rule_async(m, CFI_AT_OFFSET, unsigned_operand_async(m)));
        return true;
    case DW_CFA_offset_extended_sf:
        set_rule_async(m, reg, offset_rule_async(m, CFI_AT_OFFSET, cfi_sleb_async(&m->code)));
        return true;
    case DW_CFA_GNU_negative_offset_extended:
        set_rule_async(m, reg, offset_rule_async(m, CFI_AT_OFFSET, -unsigned_operand_async(m)));
        return true;
    case DW_CFA_val_offset:
        set_rule_async(m, reg, offset_rule_async(m, CFI_IS_OFFSET, unsigned_operand_async(m)));
        return true;
    case DW_CFA_val_offset_sf:
        set_rule_async(m, reg, offset_rule_async(m, CFI_IS_OFFSET, cfi_sleb_async(&m->code)));
        return true;
    case DW_CFA_restore_extended:
        restore_async(m, reg);
        return true;
    case DW_CFA_undefined:
        set_rule_async(m, reg, (struct cfi_rule){.kind = CFI_UNDEFINED});
        return true;
    case DW_CFA_same_value:
        set_rule_async(m, reg, (struct cfi_rule){.kind = CFI_SAME});
        return true;
    case DW_CFA_register: {
        uint64_t in = cfi_uleb_async(&m->code);
        m->bad |= in >= CFI_REGISTERS && reg < CFI_REGISTERS;
        set_rule_async(m, reg, (struct cfi_rule){.kind = CFI_IN_REGISTER, .reg = (uint8_t)in});
        return true;
    }
    case DW_CFA_expression:
        set_rule_async(m, reg, expr_rule_async(m, CFI_AT_EXPR));
        return true;
    case DW_CFA_val_expression:
        set_rule_async(m, reg, expr_rule_async(m, CFI_IS_EXPR));
        return true;
    default:
        return false;
    }
}

static void run_async(struct cfi_machine *m) {
    for (unsigned n = 0; m->code.left > 0 && !m->done; n++) {
        uint8_t op = (uint8_t)cfi_fixed_async(&m->code, 1), low = op & 0x3f;
        switch (op & 0xc0) {
        case DW_CFA_advance_loc:
            advance_async(m, low);
            break;
        case DW_CFA_offset:
            set_rule_async(m, low, offset_rule_async(m, CFI_AT_OFFSET, unsigned_operand_async(m)));
            break;
        case DW_CFA_restore:
            restore_async(m, low);
            break;
        default:
            m->bad |=
                !run_state_async(m, op) && !run_cfa_async(m, op) && !run_register_async(m, op);
            break;
        }
        if (m->bad || m->code.failed || n == INSTRUCTIONS_MAX) {
            m->bad = true;
            return;
        }
    }
}

/* Copies a rule's expression from the module to the row, which outlives the module. False: the row
 * has no room for the expression, or it is in neither program. */
static bool keep_expr_async(const struct cfi_fde *fde, struct cfi_rule *rule, struct cfi_row *row,
                            size_t *used) {
    if (rule->kind != CFI_AT_EXPR && rule->kind != CFI_IS_EXPR) {
        return true;
    }
    /* The expression is in the FDE's program or in the CIE's. Only the cursor at that program's
     * start knows where the bytes of an address can be read. */
    const struct cfi_cursor *c[2] = {&fde->program, &fde->cie.program};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t skip = (uint64_t)rule->value - c[i]->address;
        if ((uint64_t)rule->value >= c[i]->address && skip <= c[i]->left &&
            rule->size <= c[i]->left - skip) {
            if (rule->size > CFI_CODE_MAX - *used) {
                return false;
            }
            memcpy(row->code + *used, c[i]->bytes + skip, rule->size);
            rule->value = (int64_t)*used;
            *used += rule->size;
            return true;
        }
    }
    return false;
}

/* Sets the rule of the pc where calls put the return address into a register: it is the rule of
 * that register, in which the address still is if the function has not changed it. Registers that a
 * function saves are below the CFA, except in _dl_runtime_resolve of glibc
 * (sysdeps/aarch64/dl-trampoline.S), whose rules do not count the two words that the linkage
 * table's stub has pushed, the second of which is the return address; there the caller's sp is
 * right above that word. */
static void name_return_async(struct cfi_rules *r) {
    if (!ARCH_LINKS) {
        return;
    }
    const struct cfi_rule *link = &r->reg[CFI_RA];
    if (link->kind == CFI_SAME) {
        r->reg[CFI_PC] = (struct cfi_rule){.kind = CFI_IN_REGISTER, .reg = CFI_RA};
        return;
    }
    r->reg[CFI_PC] = *link;
    if (link->kind == CFI_AT_OFFSET && link->value >= 0 && link->value <= INT32_MAX) {
        r->reg[CFI_SP] = (struct cfi_rule){.kind = CFI_IS_OFFSET, .value = link->value + 8};
        if (r->cfa.kind == CFI_IS_OFFSET && r->cfa.reg == CFI_SP &&
            r->cfa.value < -link->value) { /* the function has popped the words already */
            r->reg[CFI_PC] = (struct cfi_rule){.kind = CFI_IN_REGISTER, .reg = CFI_RA};
        }
    }
}

bool cfi_run_async(const struct cfi_fde *fde, uint64_t address, struct cfi_row *row) {
    struct cfi_machine m = {.cie = &fde->cie, .code = fde->cie.program, .target = UINT64_MAX};
    run_async(&m);
    struct cfi_rules initial = m.now;
    m.code = fde->program;
    m.location = fde->start;
    m.target = address;
    m.initial = &initial;
    m.depth = 0;
    m.done = false;
    if (!m.bad) {
        run_async(&m);
    }
    if (m.bad || m.now.cfa.kind == CFI_SAME) {
        return false;
    }
    name_return_async(&m.now);
    row->cfa = m.now.cfa;
    memcpy(row->reg, m.now.reg, sizeof row->reg);
    size_t used = 0;
    bool ok = keep_expr_async(fde, &row->cfa, row, &used);
    for (unsigned i = 0; i < CFI_REGISTERS && ok; i++) {
        ok = keep_expr_async(fde, &row->reg[i], row, &used);
    }
    return ok;
}
