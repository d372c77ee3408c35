/* Walks a stack: finds the caller of the innermost frame, then follows the chain of frame records.
 */
#include "darwin/fp_walk.h"

enum {
    RECORD_SIZE = 16, /* bytes of a frame record: the caller's frame pointer, the return address */
    PAGE_ZERO = 4096, /* no code lies below this address */
    SETUP_BYTES = 256 /* maximum number of bytes of a prologue; code after them is assumed to have
                         its frame */
};

/* Where the return address of the innermost frame is. */
enum caller {
    CALLER_RECORD, /* in the frame record at the frame pointer */
    CALLER_LINK    /* in the link register, or in the word of the stack at link_at */
};

uint64_t fp_strip_async(enum unwind_cpu cpu, uint64_t value) {
    return cpu == UNWIND_ARM64 ? value & UINT64_C(0x00007fffffffffff) : value;
}

static bool load_async(const struct fp_stack *stack, uint64_t address, uint64_t *value) {
    if (address < stack->lo || address > stack->hi || stack->hi - address < 8) {
        return false;
    }
    *value = memory_u64_async(stack->copy + (address - stack->lo));
    return true;
}

/* Reads the frame record at fp; false: it is not all in the copy of the stack, or fp is not a
 * multiple of 8. */
static bool record_async(enum unwind_cpu cpu, const struct fp_stack *stack, uint64_t fp,
                         uint64_t *caller_fp, uint64_t *pc) {
    if (fp % 8 != 0 || fp > UINT64_MAX - RECORD_SIZE || !load_async(stack, fp, caller_fp) ||
        !load_async(stack, fp + 8, pc)) {
        return false;
    }
    *caller_fp = fp_strip_async(cpu, *caller_fp);
    *pc = fp_strip_async(cpu, *pc);
    return true;
}

uint64_t fp_reach_async(enum unwind_cpu cpu, const struct fp_stack *stack, uint64_t fp,
                        uint32_t max) {
    fp = fp_strip_async(cpu, fp);
    for (uint32_t i = 0; i < max; i++) {
        uint64_t caller_fp, pc;
        if (fp == 0 || fp % 8 != 0 || fp < stack->lo) {
            return 0;
        }
        if (!record_async(cpu, stack, fp, &caller_fp, &pc)) {
            return fp;
        }
        if (caller_fp <= fp || pc < PAGE_ZERO) {
            return 0;
        }
        fp = caller_fp;
    }
    return 0;
}

/* ---- arm64: instructions (Arm Architecture Reference Manual, C6) ---- */

/* Is the instruction add x29, sp, #imm, or mov x29, sp, which is an add of 0? */
static bool sets_up_async(uint32_t insn) {
    return (insn & 0xff8003ff) == 0x910003fd;
}

/* Is the instruction ldp x29, x30 with [sp], #imm or [sp, #imm]? */
static bool restores_async(uint32_t insn) {
    uint32_t form = insn & 0xffc00000;
    return (form == 0xa8c00000 || form == 0xa9400000) && (insn & 0x7fff) == 0x7bfd;
}

/* Is the instruction ret, retaa or retab? */
static bool returns_async(uint32_t insn) {
    return insn == 0xd65f03c0 || insn == 0xd65f0bff || insn == 0xd65f0fff;
}

/* May the instruction stand between the restoring of the frame and the return? It restores more
 * registers, moves the stack pointer, or authenticates the return address. */
static bool ends_async(uint32_t insn) {
    bool pair = (insn & 0xfe4003e0) == 0xa84003e0 || (insn & 0xfe4003e0) == 0x6c4003e0;
    return pair || (insn & 0xff8003ff) == 0x910003ff || insn == 0xd50323ff || insn == 0xd50323bf;
}

static bool is_call_to_kernel_async(uint32_t insn) {
    return insn == 0xd4001001; /* svc #0x80 */
}

static bool insn_async(const struct fp_code *code, uint64_t address, uint32_t *insn) {
    uint8_t raw[4];
    if (!code->memory.read_async(code->memory.arg, address, raw, sizeof raw)) {
        return false;
    }
    *insn = memory_u32_async(raw);
    return true;
}

/* Has a function with a frame set up the frame before pc? True also if its start is not known, its
 * code cannot be read, or pc is more than SETUP_BYTES after its start. */
static bool is_set_up_async(const struct fp_code *code, uint64_t start, uint64_t pc) {
    uint8_t raw[SETUP_BYTES];
    uint64_t size = pc - start;
    if (start == 0 || size > sizeof raw) {
        return true;
    }
    if (size > 0 && !code->memory.read_async(code->memory.arg, start, raw, (size_t)size)) {
        return true;
    }
    for (uint64_t i = 0; i + 4 <= size; i += 4) {
        if (sets_up_async(memory_u32_async(raw + i))) {
            return true;
        }
    }
    return false;
}

/* Is pc among a function's last instructions, after those that remove its frame? */
static bool is_torn_down_async(const struct fp_code *code, uint64_t pc) {
    enum { LOOK_AHEAD = 12 };
    uint32_t insn;
    if (insn_async(code, pc - 4, &insn) && restores_async(insn)) {
        return true;
    }
    for (uint64_t i = 0; i < LOOK_AHEAD; i++) {
        if (!insn_async(code, pc + 4 * i, &insn) || restores_async(insn)) {
            return false;
        }
        if (returns_async(insn)) {
            return true;
        }
        if (!ends_async(insn)) {
            return false;
        }
    }
    return false;
}

/* Is the return address in the link register, in code without unwind information: hand-written
 * code, or a system call's stub? */
static bool link_is_caller_async(const struct fp_code *code, const struct fp_function *at,
                                 const struct fp_registers *regs, const struct fp_stack *stack) {
    struct fp_function of;
    uint32_t insn;
    uint64_t caller_fp, pc, lr = fp_strip_async(code->cpu, regs->lr);
    if (!code->function_async(code->arg, lr - 1, &of)) {
        return false; /* the link register is used for something else than a return address */
    }
    if (record_async(code->cpu, stack, fp_strip_async(code->cpu, regs->fp), &caller_fp, &pc) &&
        pc == lr) {
        return false; /* the return address is in the frame record */
    }
    if (insn_async(code, regs->pc - 4, &insn) && is_call_to_kernel_async(insn)) {
        return true;
    }
    /* an address in this function itself is the return address of a call that it made */
    return of.start != at->start;
}

static enum caller judge_arm64_async(const struct fp_code *code, const struct fp_function *at,
                                     const struct fp_registers *regs,
                                     const struct fp_stack *stack) {
    switch (at->rule.kind) {
    case UNWIND_RULE_FIXED:
    case UNWIND_RULE_IN_CODE:
        return CALLER_LINK;
    case UNWIND_RULE_FRAME:
    case UNWIND_RULE_DWARF:
        return is_set_up_async(code, at->start, regs->pc) && !is_torn_down_async(code, regs->pc)
                   ? CALLER_RECORD
                   : CALLER_LINK;
    case UNWIND_RULE_NONE:
        break;
    }
    return link_is_caller_async(code, at, regs, stack) ? CALLER_LINK : CALLER_RECORD;
}

/* ---- x86-64 ---- */

static bool byte_async(const struct fp_code *code, uint64_t address, uint8_t *byte) {
    return code->memory.read_async(code->memory.arg, address, byte, 1);
}

/* Finds where the return address of a function without a frame is, by the size of its stack. False:
 * that size is in code that cannot be read, or is impossible. */
static bool frameless_async(const struct fp_code *code, const struct fp_function *at,
                            const struct fp_registers *regs, uint64_t *link_at) {
    uint64_t size = at->rule.stack_size;
    if (at->rule.kind == UNWIND_RULE_IN_CODE) {
        uint32_t in_code;
        if (at->start == 0 || !insn_async(code, at->start + at->rule.size_at, &in_code)) {
            return false;
        }
        size += in_code;
    }
    if (size < 8) {
        size = 8;
    }
    *link_at = regs->pc == at->start ? regs->sp : regs->sp + size - 8;
    return *link_at >= regs->sp;
}

/* Finds where the return address is in a function of the form push %rbp; mov %rsp,%rbp … pop %rbp;
 * ret. */
static enum caller judge_framed_async(const struct fp_code *code, const struct fp_function *at,
                                      const struct fp_registers *regs, uint64_t *link_at) {
    uint8_t byte;
    *link_at = regs->sp;
    if (regs->pc == at->start || (byte_async(code, regs->pc, &byte) && byte == 0xc3)) {
        return CALLER_LINK;
    }
    if (regs->pc == at->start + 1 && byte_async(code, at->start, &byte) && byte == 0x55) {
        *link_at = regs->sp + 8;
        return CALLER_LINK;
    }
    return CALLER_RECORD;
}

static enum caller judge_x86_64_async(const struct fp_code *code, const struct fp_function *at,
                                      const struct fp_registers *regs, uint64_t *link_at) {
    uint8_t before[2];
    *link_at = regs->sp;
    switch (at->rule.kind) {
    case UNWIND_RULE_FIXED:
    case UNWIND_RULE_IN_CODE:
        return frameless_async(code, at, regs, link_at) ? CALLER_LINK : CALLER_RECORD;
    case UNWIND_RULE_FRAME:
        return judge_framed_async(code, at, regs, link_at);
    case UNWIND_RULE_DWARF:
        return CALLER_RECORD;
    case UNWIND_RULE_NONE:
        break;
    }
    /* a syscall instruction before pc shows a kernel stub, which keeps nothing on the stack */
    bool stub = code->memory.read_async(code->memory.arg, regs->pc - 2, before, 2) &&
                before[0] == 0x0f && before[1] == 0x05;
    return stub ? CALLER_LINK : CALLER_RECORD;
}

/* ---- the walk ---- */

/* Adds a frame. False: the stack is full, and is marked as truncated and incomplete. */
static bool fp_add_async(const struct fp_code *code, struct rec_stack *out, uint64_t pc,
                         bool exact) {
    struct fp_function at = {0};
    if (out->count == out->cap) {
        out->truncated = out->incomplete = true;
        return false;
    }
    if (out->starts != NULL) {
        bool known = code->function_async(code->arg, exact ? pc : pc - 1, &at);
        out->starts[out->count] = known ? at.start : 0;
    }
    out->frames[out->count++] = pc;
    return true;
}

/* Returns the return address of the innermost frame if no frame record holds it; 0 if one does, or
 * if that address cannot be read or is not in code. */
static uint64_t link_async(const struct fp_code *code, const struct fp_registers *regs,
                           const struct fp_stack *stack) {
    struct fp_function at = {0}, of;
    /* CALLER_LINK also holds if the thread called an address without code. */
    enum caller caller = CALLER_LINK;
    uint64_t link_at = regs->sp, link = regs->lr;
    bool arm64 = code->cpu == UNWIND_ARM64;
    if (code->function_async(code->arg, regs->pc, &at)) {
        caller = arm64 ? judge_arm64_async(code, &at, regs, stack)
                       : judge_x86_64_async(code, &at, regs, &link_at);
    }
    if (caller == CALLER_RECORD || (!arm64 && !load_async(stack, link_at, &link))) {
        return 0;
    }
    link = fp_strip_async(code->cpu, link);
    return link >= PAGE_ZERO && code->function_async(code->arg, link - 1, &of) ? link : 0;
}

void fp_walk_async(const struct fp_code *code, const struct fp_registers *regs,
                   const struct fp_stack *stack, struct rec_stack *out) {
    struct fp_registers at = *regs;
    at.pc = fp_strip_async(code->cpu, regs->pc);
    uint64_t fp = fp_strip_async(code->cpu, regs->fp);
    out->count = 0;
    out->truncated = out->incomplete = false;
    fp_add_async(code, out, at.pc, true);
    uint64_t link = link_async(code, &at, stack);
    if (link != 0 && !fp_add_async(code, out, link, false)) {
        return;
    }
    while (fp != 0) {
        uint64_t caller_fp, pc;
        if (!record_async(code->cpu, stack, fp, &caller_fp, &pc)) {
            out->incomplete = true;
            return;
        }
        if (pc == 0) {
            return; /* the outermost frame has no caller */
        }
        if (pc < PAGE_ZERO) {
            out->incomplete = true;
            return;
        }
        if (!fp_add_async(code, out, pc, false)) {
            return;
        }
        if (caller_fp != 0 && caller_fp <= fp) {
            out->incomplete = true; /* the addresses of frame records must ascend */
            return;
        }
        fp = caller_fp;
    }
}
