/* Reads function prologues and call instructions of x86-64 (Intel SDM volume 2). */
#include "unwind/prologue.h"

#include <string.h>

enum { CALL_MAX = 7, BODY_MAX = 64 * 1024 };

/* The code that is not read yet. */
struct code {
    const uint8_t *bytes;
    uint64_t left;
};

static bool code_at_async(const struct cfi_module *m, uint64_t address, uint64_t length,
                          struct code *code) {
    for (unsigned i = 0; i < m->segment_count && i < CFI_SEGMENTS; i++) {
        const struct cfi_segment *s = &m->segments[i];
        if (s->code && address >= s->address && address - s->address < s->size) {
            uint64_t skip = address - s->address, left = s->size - skip;
            *code = (struct code){s->bytes + skip, length < left ? length : left};
            return true;
        }
    }
    return false;
}

static bool prologue_take_async(struct code *c, const char *bytes, uint64_t size) {
    if (c->left < size || memcmp(c->bytes, bytes, size) != 0) {
        return false;
    }
    c->bytes += size;
    c->left -= size;
    return true;
}

static uint32_t read32_async(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Skips a "push %reg", with or without REX.B. False: there is no such instruction. */
static bool take_push_async(struct code *c) {
    uint64_t rex = c->left > 1 && c->bytes[0] == 0x41 ? 1 : 0;
    if (c->left <= rex || (c->bytes[rex] & 0xf8) != 0x50) {
        return false;
    }
    c->bytes += rex + 1;
    c->left -= rex + 1;
    return true;
}

/* Skips a "sub $imm,%rsp" and adds its immediate to *size. False: there is no such instruction. */
static bool take_sub_async(struct code *c, uint64_t *size) {
    if (c->left >= 4 && prologue_take_async(c, "\x48\x83\xec", 3)) {
        *size += (uint64_t)(int8_t)c->bytes[0];
        c->bytes += 1;
        c->left -= 1;
        return true;
    }
    if (c->left >= 7 && prologue_take_async(c, "\x48\x81\xec", 3)) {
        *size += read32_async(c->bytes);
        c->bytes += 4;
        c->left -= 4;
        return true;
    }
    return false;
}

/* Returns the size in bytes of the ModRM byte at offset `at` with its SIB and displacement, but
 * without immediates; 0 if ModRM or SIB do not fit. */
static uint64_t modrm_size_async(const struct code *c, uint64_t at) {
    if (c->left <= at) {
        return 0;
    }
    uint8_t modrm = c->bytes[at], mod = modrm >> 6, rm = modrm & 7;
    uint64_t size = 1;
    if (mod != 3 && rm == 4) {
        if (c->left <= at + 1) {
            return 0;
        }
        size++; /* SIB */
        if (mod == 0 && (c->bytes[at + 1] & 7) == 5) {
            size += 4;
        }
    }
    if (mod == 1) {
        size += 1;
    } else if (mod == 2 || (mod == 0 && rm == 5)) {
        size += 4;
    }
    return size;
}

/* Skips an instruction that compilers schedule between the pushes, and that does not change rsp
 * and rbp: a move among registers and memory, lea, xor or test. False: there is no such
 * instruction. */
static bool take_harmless_async(struct code *c) {
    uint64_t at = c->left > 0 && (c->bytes[0] & 0xf0) == 0x40 ? 1 : 0;
    uint8_t rex = at ? c->bytes[0] : 0;
    if (c->left <= at + 1) {
        return false;
    }
    uint8_t op = c->bytes[at], modrm = c->bytes[at + 1];
    uint64_t size = at + 1 + modrm_size_async(c, at + 1);
    uint8_t reg = (uint8_t)((modrm >> 3 & 7) | (rex & 4 ? 8 : 0));
    uint8_t rm = (uint8_t)((modrm & 7) | (rex & 1 ? 8 : 0));
    uint8_t written;
    switch (op) {
    case 0x89: /* mov %reg,rm */
    case 0x31: /* xor %reg,rm */
        written = modrm >> 6 == 3 ? rm : 0;
        break;
    case 0x8b: /* mov rm,%reg */
    case 0x8d: /* lea */
    case 0x33: /* xor rm,%reg */
        written = reg;
        break;
    case 0x85: /* test */
        written = 0;
        break;
    default:
        return false;
    }
    if (written == 4 || written == 5 || size == at + 1 || size > c->left) {
        return false;
    }
    c->bytes += size;
    c->left -= size;
    return true;
}

/* Does any sequence of bytes look like a mov, lea, add, sub or and that sets rsp? A sequence across
 * two instructions may look so; then the frame's size counts as unknown, which does no harm. */
static bool moves_rsp_async(const struct code *c) {
    for (uint64_t i = 0; i + 2 < c->left; i++) {
        uint8_t rex = c->bytes[i], op = c->bytes[i + 1], modrm = c->bytes[i + 2];
        if ((rex & 0xf8) != 0x48) {
            continue; /* all these instructions have REX.W */
        }
        bool to_rm = (modrm & 0xc7) == 0xc4 && !(rex & 1);  /* rm is rsp itself */
        bool to_reg = (modrm & 0x38) == 0x20 && !(rex & 4); /* reg is rsp */
        if ((to_rm &&
             (op == 0x89 || op == 0x29 || op == 0x21 || op == 0x01 || op == 0x81 || op == 0x83)) ||
            (to_reg && (op == 0x8b || op == 0x2b || op == 0x23 || op == 0x03 || op == 0x8d))) {
            return true;
        }
    }
    return false;
}

bool prologue_frame_size_async(const struct cfi_module *module, uint64_t start, uint64_t length,
                               uint64_t *size) {
    struct code c;
    if (length > BODY_MAX || !code_at_async(module, start, length, &c) || c.left < length) {
        return false;
    }
    prologue_take_async(&c, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
    if (!prologue_take_async(&c, "\x55", 1) || (!prologue_take_async(&c, "\x48\x89\xe5", 3) &&
                                                !prologue_take_async(&c, "\x48\x8b\xec", 3))) {
        return false;
    }
    *size = 0;
    for (;;) {
        if (take_push_async(&c)) {
            *size += 8;
        } else if (take_sub_async(&c, size)) {
            return !moves_rsp_async(&c);
        } else if (!take_harmless_async(&c)) {
            return false; /* the instruction may be followed by a sub */
        }
    }
}

enum prologue_call prologue_call_before_async(const struct cfi_module *module, uint64_t pc,
                                              uint64_t *target) {
    struct code c;
    if (pc < CALL_MAX || !code_at_async(module, pc - CALL_MAX, CALL_MAX, &c) || c.left < CALL_MAX) {
        return PROLOGUE_NO_CALL;
    }
    if (c.bytes[CALL_MAX - 5] == 0xe8) {
        *target = pc + (uint64_t)(int64_t)(int32_t)read32_async(c.bytes + CALL_MAX - 4);
        return PROLOGUE_DIRECT_CALL;
    }
    for (uint64_t at = 0; at + 2 <= CALL_MAX; at++) { /* call *rm: FF /2 */
        if (c.bytes[at] == 0xff && (c.bytes[at + 1] & 0x38) == 0x10 &&
            modrm_size_async(&c, at + 1) == CALL_MAX - at - 1) {
            return PROLOGUE_INDIRECT_CALL;
        }
    }
    return PROLOGUE_NO_CALL;
}

bool prologue_signal_row_async(const struct cfi_module *module, uint64_t address,
                               struct cfi_row *row) {
    (void)module, (void)address, (void)row;
    return false; /* no rules are needed, as C libraries have rules for the trampoline */
}
