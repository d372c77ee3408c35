/* Reads function prologues, the code up to a function's return, calls and the signal trampoline of
 * AArch64 (Arm Architecture Reference Manual, C4.1 "A64 instruction set encoding"; Linux,
 * arch/arm64/kernel/vdso/sigreturn.S). */
#include "unwind/prologue.h"

#include <string.h>

#include "unwind/prologue_aarch64.h"

enum { BODY_MAX = 64 * 1024, PROLOGUE_MAX = 64, WAY_MAX = 1024, JUMPS_MAX = 16, SIZE = 4 };

/* Instructions; the mask of one that has operands holds its fixed bits. */
#define MASK_BL  UINT32_C(0xfc000000)
#define BL       UINT32_C(0x94000000)
#define MASK_BLR UINT32_C(0xfefff000) /* with or without authentication */
#define BLR      UINT32_C(0xd63f0000)
#define MASK_IMM_SP                                                                                \
    UINT32_C(0xff8003ff) /* all bits of ADD and SUB except the immediate and its shift */
#define ADD_FP_SP        UINT32_C(0x910003fd)
#define ADD_SP_SP        UINT32_C(0x910003ff)
#define SUB_SP_SP        UINT32_C(0xd10003ff)
#define ADD_SP_FP        UINT32_C(0x910003bf)
#define SUB_SP_FP        UINT32_C(0xd10003bf)
#define MOV_X8_139       UINT32_C(0xd2801168) /* __NR_rt_sigreturn */
#define SVC_0            UINT32_C(0xd4000001)
#define BTI_C            UINT32_C(0xd503245f)
#define MASK_ADRP_X16    UINT32_C(0x9f00001f)
#define ADRP_X16         UINT32_C(0x90000010)
#define MASK_LDR_X17_X16 UINT32_C(0xffc003ff)
#define LDR_X17_X16      UINT32_C(0xf9400211)
#define MASK_B           UINT32_C(0xfc000000)
#define B                UINT32_C(0x14000000)
#define MASK_BR_X16_X17  UINT32_C(0xfefff3c0) /* with or without authentication */
#define BR_X16           UINT32_C(0xd61f0200)
#define MASK_BR          UINT32_C(0xfebff000) /* jumps by any register, returns included */
#define BR               UINT32_C(0xd61f0000)
#define RET_X30          UINT32_C(0xd65f03c0)
#define RETAA            UINT32_C(0xd65f0bff)
#define RETAB            UINT32_C(0xd65f0fff)
#define STP_X16_X30_PUSH UINT32_C(0xa9bf7bf0)

static const uint8_t *bytes_at_async(const struct cfi_module *m, uint64_t address, uint64_t size,
                                     bool code) {
    for (unsigned i = 0; i < m->segment_count && i < CFI_SEGMENTS; i++) {
        const struct cfi_segment *s = &m->segments[i];
        if ((s->code || !code) && address >= s->address && address - s->address < s->size &&
            size <= s->size - (address - s->address)) {
            return s->bytes + (address - s->address);
        }
    }
    return NULL;
}

static uint32_t prologue_word_async(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Returns the instruction at an address; 0, which is no instruction, if there is no code or the
 * address is not a multiple of 4. */
static uint32_t code_at_async(const struct cfi_module *m, uint64_t address) {
    const uint8_t *p = address % SIZE == 0 ? bytes_at_async(m, address, SIZE, true) : NULL;
    return p ? prologue_word_async(p) : 0;
}

/* Returns `bits` bits of an instruction from bit `low` on, sign-extended. */
static int64_t signed_field_async(uint32_t insn, unsigned low, unsigned bits) {
    int64_t value = insn >> low & ((UINT32_C(1) << bits) - 1);
    return value >> (bits - 1) ? value - (INT64_C(1) << bits) : value;
}

/* ---- prologues ---- */

/* Returns the immediate of an ADD or SUB, with its shift applied. */
static uint64_t immediate_async(uint32_t insn) {
    return (uint64_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0);
}

static bool is_async(uint32_t insn, uint32_t mask, uint32_t what) {
    return (insn & mask) == what;
}

/* Does the instruction lower sp, or set it to a value that is known only at run time? The
 * instructions of epilogues, which raise sp or set it to x29 plus or minus a constant, do not
 * count, as in the middle of a function they are followed by a return. */
static bool lowers_sp_async(uint32_t insn) {
    if (is_async(insn, MASK_IMM_SP, SUB_SP_SP)) {
        return true;
    }
    if (is_async(insn, UINT32_C(0x3f80001f), UINT32_C(0x1100001f))) { /* ADD, SUB (immediate) */
        return !is_async(insn, MASK_IMM_SP, ADD_SP_SP) && !is_async(insn, MASK_IMM_SP, ADD_SP_FP) &&
               !is_async(insn, MASK_IMM_SP, SUB_SP_FP);
    }
    if (is_async(insn, UINT32_C(0x3f20001f), UINT32_C(0x0b20001f)) || /* ADD, SUB (extended) */
        is_async(insn, UINT32_C(0xffa0f01f),
                 UINT32_C(0x0420501f)) || /* ADDVL, ADDPL of SVE; ADDSVL, ADDSPL of SME */
        (is_async(insn, UINT32_C(0x1f80001f),
                  UINT32_C(0x1200001f)) && /* AND, ORR, EOR (immediate) */
         !is_async(insn, UINT32_C(0x60000000), UINT32_C(0x60000000)))) { /* not ANDS: x31 is zero */
        return true;
    }
    /* Loads and stores of one register or a pair with write-back relative to sp count, except
     * those that raise sp after the access, which are pops. */
    if (is_async(insn, UINT32_C(0x3a0003e0), UINT32_C(0x280003e0)) && (insn >> 23 & 1)) {
        return (insn >> 24 & 1) || signed_field_async(insn, 15, 7) < 0;
    }
    if (is_async(insn, UINT32_C(0x3b2007e0), UINT32_C(0x380007e0))) {
        return (insn >> 11 & 1) || signed_field_async(insn, 12, 9) < 0;
    }
    return false;
}

bool prologue_frame_size_async(const struct cfi_module *module, uint64_t start, uint64_t length,
                               uint64_t *size) {
    uint64_t at = start, end = start + length;
    if (length > BODY_MAX || length % SIZE != 0 || !bytes_at_async(module, start, length, true)) {
        return false;
    }
    while (at < end && !is_async(code_at_async(module, at), MASK_IMM_SP, ADD_FP_SP)) {
        if (at - start > PROLOGUE_MAX) {
            return false;
        }
        at += SIZE;
    }
    if (at == end) {
        return false;
    }
    *size = immediate_async(code_at_async(module, at));
    /* Another subtraction from sp may follow, for the part of the frame below the frame record. */
    bool straight = true, lowered = false;
    for (at += SIZE; at < end; at += SIZE) {
        uint32_t insn = code_at_async(module, at);
        if (straight && !lowered && is_async(insn, MASK_IMM_SP, SUB_SP_SP)) {
            *size += immediate_async(insn);
            lowered = true;
        } else if (lowers_sp_async(insn)) {
            return false;
        }
        straight = straight && !is_async(insn, UINT32_C(0x1c000000), UINT32_C(0x14000000));
    }
    return true;
}

bool prologue_sets_pointer_async(const struct cfi_module *module, uint64_t start, uint64_t length) {
    if (length > BODY_MAX || length % SIZE != 0 || !bytes_at_async(module, start, length, true)) {
        return false;
    }
    for (uint64_t at = start; at < start + length; at += SIZE) {
        if (is_async(code_at_async(module, at), MASK_IMM_SP, ADD_FP_SP)) {
            return true;
        }
    }
    return false;
}

/* ---- the path to the end of a function ---- */

/* Returns the unit, in bytes, of the offset in a load or store of a pair. */
static int64_t pair_scale_async(uint32_t insn) {
    unsigned opc = insn >> 30;
    if (insn >> 26 & 1) {
        return INT64_C(4) << opc; /* vector registers */
    }
    if (opc == 1) { /* STGP, LDPSW */
        return insn >> 22 & 1 ? 4 : 16;
    }
    return opc == 0 ? 4 : 8;
}

/* Is the instruction a load or store of a pair of registers at sp? */
static bool is_pair_async(uint32_t insn) {
    return is_async(insn, UINT32_C(0x3a0003e0), UINT32_C(0x280003e0));
}

static bool is_single_writing_back_async(uint32_t insn) {
    return is_async(insn, UINT32_C(0x3b2007e0), UINT32_C(0x380007e0));
}

/* Computes how many bytes one instruction adds to sp. False: that is known only at run time, or the
 * instruction is one of LD1 to LD4 and ST1 to ST4 with write-back. */
static bool sp_change_async(uint32_t insn, int64_t *change) {
    *change = 0;
    if (is_async(insn, MASK_IMM_SP, ADD_SP_SP)) {
        *change = (int64_t)immediate_async(insn);
    } else if (is_async(insn, MASK_IMM_SP, SUB_SP_SP)) {
        *change = -(int64_t)immediate_async(insn);
    } else if (is_pair_async(insn)) {
        *change = insn >> 23 & 1 ? signed_field_async(insn, 15, 7) * pair_scale_async(insn) : 0;
    } else if (is_single_writing_back_async(insn)) {
        *change = signed_field_async(insn, 12, 9);
    } else {
        return !lowers_sp_async(insn) && !is_async(insn, MASK_IMM_SP, ADD_SP_FP) &&
               !is_async(insn, MASK_IMM_SP, SUB_SP_FP) &&
               /* These are LD1 to LD4 and ST1 to ST4 with write-back. */
               !is_async(insn, UINT32_C(0xbe8003e0), UINT32_C(0x0c8003e0));
    }
    return true;
}

/* Returns a mask of the general registers that an instruction loads from an address relative to
 * sp, or, if `loads` is false, stores there. */
static uint64_t moved_async(uint32_t insn, bool loads) {
    if ((insn >> 26 & 1) || (insn >> 22 & 1) != (loads ? 1 : 0)) {
        return 0;
    }
    if (is_pair_async(insn)) {
        return UINT64_C(1) << (insn & 31) | UINT64_C(1) << (insn >> 10 & 31);
    }
    bool single = is_async(insn, UINT32_C(0xff8003e0), UINT32_C(0xf90003e0)) || /* [sp, #n] */
                  is_single_writing_back_async(insn);
    return single ? UINT64_C(1) << (insn & 31) : 0;
}

/* Is the jump at `pc` in the first entry of a linkage table, which has pushed two words for the
 * resolver to which it jumps? */
static bool pushed_for_resolver_async(const struct cfi_module *module, uint64_t pc) {
    for (uint64_t n = 1; n <= 4; n++) {
        uint32_t insn = code_at_async(module, pc - n * SIZE);
        if (insn == STP_X16_X30_PUSH) {
            return true;
        }
        if (is_async(insn, MASK_BR, BR)) {
            return false;
        }
    }
    return false;
}

bool prologue_way_out_async(const struct cfi_module *module, uint64_t pc,
                            struct prologue_way *way) {
    uint64_t at = pc, stored = 0;
    int64_t change;
    unsigned jumps = 0;
    *way = (struct prologue_way){.raises = 0};
    for (unsigned n = 0; n < WAY_MAX; n++, at += SIZE) {
        uint32_t insn = code_at_async(module, at);
        if (insn == RET_X30 || insn == RETAA || insn == RETAB) {
            return way->raises >= 0;
        }
        if (is_async(insn, MASK_BR_X16_X17, BR_X16)) {
            way->raises += pushed_for_resolver_async(module, at) ? 16 : 0;
            return way->raises >= 0;
        }
        if (insn == 0 || is_async(insn, MASK_BR, BR) || !sp_change_async(insn, &change)) {
            return false;
        }
        way->raises += change;
        way->reloads |= moved_async(insn, true) & ~stored;
        stored |= moved_async(insn, false);
        if (is_async(insn, MASK_B, B)) {
            if (jumps++ == JUMPS_MAX) {
                return false;
            }
            at += (uint64_t)(signed_field_async(insn, 0, 26) * SIZE);
            if (cfi_covers_async(module, at)) { /* the jump is a tail call */
                return way->raises >= 0;
            }
            at -= SIZE;
        }
    }
    return false;
}

/* ---- calls ---- */

enum prologue_call prologue_call_before_async(const struct cfi_module *module, uint64_t pc,
                                              uint64_t *target) {
    uint32_t insn = code_at_async(module, pc - SIZE);
    if (is_async(insn, MASK_BL, BL)) {
        *target = pc - SIZE + (uint64_t)(signed_field_async(insn, 0, 26) * SIZE);
        return PROLOGUE_DIRECT_CALL;
    }
    return is_async(insn, MASK_BLR, BLR) ? PROLOGUE_INDIRECT_CALL : PROLOGUE_NO_CALL;
}

uint64_t prologue_through_stub_async(const struct cfi_module *module, uint64_t target) {
    uint64_t at = target;
    if (code_at_async(module, at) == BTI_C) {
        at += SIZE;
    }
    uint32_t adrp = code_at_async(module, at), ldr = code_at_async(module, at + SIZE);
    if (!is_async(adrp, MASK_ADRP_X16, ADRP_X16) || !is_async(ldr, MASK_LDR_X17_X16, LDR_X17_X16)) {
        return target;
    }
    int64_t pages = signed_field_async(adrp, 5, 19) * 4 + (adrp >> 29 & 3);
    uint64_t slot = (at & ~UINT64_C(0xfff)) + (uint64_t)(pages * 4096) + 8 * (ldr >> 10 & 0xfff);
    const uint8_t *p = bytes_at_async(module, slot, 8, false);
    return p ? (uint64_t)prologue_word_async(p) | (uint64_t)prologue_word_async(p + 4) << 32
             : target;
}

unsigned prologue_count_calls_async(const struct cfi_module *module, uint64_t start, uint64_t size,
                                    uint64_t callee, uint64_t *after) {
    unsigned count = 0;
    uint64_t target;
    if (size > BODY_MAX) {
        return 2;
    }
    for (uint64_t pc = start + SIZE; pc <= start + size; pc += SIZE) {
        if (prologue_call_before_async(module, pc, &target) == PROLOGUE_DIRECT_CALL &&
            (target == callee || prologue_through_stub_async(module, target) == callee)) {
            *after = pc;
            count++;
        }
    }
    return count;
}

/* ---- signals ---- */

/* Offset of x0 from sp in the kernel's struct rt_sigframe: 128 bytes of siginfo precede ucontext,
 * whose sigcontext is at 176 and begins with the fault's address. */
enum { CONTEXT_REGISTERS = 128 + 176 + 8 };

bool prologue_signal_row_async(const struct cfi_module *module, uint64_t address,
                               struct cfi_row *row) {
    uint64_t at = address & ~UINT64_C(3);
    if (code_at_async(module, at) == SVC_0) {
        at -= SIZE;
    }
    if (code_at_async(module, at) != MOV_X8_139 || code_at_async(module, at + SIZE) != SVC_0) {
        return false;
    }
    memset(row, 0, sizeof *row);
    row->start = at;
    row->size = (uint64_t)2 * SIZE;
    row->signal_frame = true;
    row->cfa = (struct cfi_rule){.kind = CFI_IS_OFFSET, .reg = CFI_SP};
    for (unsigned n = 0; n < CFI_REGISTERS; n++) { /* x0 to x30, sp, pc */
        row->reg[n] =
            (struct cfi_rule){.kind = CFI_AT_OFFSET, .value = CONTEXT_REGISTERS + 8 * (int64_t)n};
    }
    return true;
}
