/* Decodes the records of a perf ring. */
#include "attach/perf_record.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <string.h>

/* The kernel's number of each register, indexed by its number in call frame information; a sample
 * has registers by rising kernel number. */
#if defined(__x86_64__)
static const uint8_t kernel_number[CFI_REGISTERS] = {
    PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,  PERF_REG_X86_SI,
    PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,  PERF_REG_X86_R8,  PERF_REG_X86_R9,
    PERF_REG_X86_R10, PERF_REG_X86_R11, PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14,
    PERF_REG_X86_R15, PERF_REG_X86_IP};
enum { SAMPLE_ABI = PERF_SAMPLE_REGS_ABI_64 };

static unsigned kernel_register(unsigned reg) {
    return kernel_number[reg];
}
#else
enum { SAMPLE_ABI = PERF_SAMPLE_REGS_ABI_64 };

/* Returns the kernel's number of a register of call frame information; x0 to x30 have the same
 * number in both. */
static unsigned kernel_register(unsigned reg) {
    if (reg == CFI_SP) {
        return PERF_REG_ARM64_SP;
    }
    return reg == CFI_PC ? PERF_REG_ARM64_PC : reg;
}
#endif

/* Returns the registers of a layout as a set: bit n stands for number n of call frame
 * information. */
static uint64_t asked_registers(enum perf_layout layout) {
    const uint64_t place = UINT64_C(1) << CFI_SP | UINT64_C(1) << CFI_PC | UINT64_C(1) << CFI_FP |
                           UINT64_C(1) << CFI_RA;
    switch (layout) {
    case PERF_LAYOUT_CALLER:
        return place;
    case PERF_LAYOUT_KEPT:
        return place | ARCH_KEPT_MASK;
    case PERF_LAYOUT_WHOLE:
        return (UINT64_C(1) << CFI_REGISTERS) - 1;
    default:
        return 0;
    }
}

uint64_t perf_record_registers(enum perf_layout layout) {
    uint64_t mask = 0, asked = asked_registers(layout);
    for (unsigned i = 0; i < CFI_REGISTERS; i++) {
        mask |= (asked >> i & 1) << kernel_register(i);
    }
    return mask;
}

static bool carries_stack(enum perf_layout layout) {
    return layout == PERF_LAYOUT_CALLER || layout == PERF_LAYOUT_WHOLE;
}

uint64_t perf_record_members(enum perf_layout layout) {
    uint64_t members = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;
    members |= layout == PERF_LAYOUT_CALLER ? PERF_SAMPLE_RAW : 0;
    members |= layout != PERF_LAYOUT_TIME ? PERF_SAMPLE_REGS_USER : 0;
    return members | (carries_stack(layout) ? PERF_SAMPLE_STACK_USER : 0);
}

/* ---- bytes, in the host's order ---- */

struct perf_bytes {
    const uint8_t *at;
    size_t left;
    bool failed;
};

static const uint8_t *bytes_take(struct perf_bytes *b, uint64_t size) {
    if (b->failed || size > b->left) {
        b->failed = true;
        return NULL;
    }
    const uint8_t *at = b->at;
    b->at += size;
    b->left -= (size_t)size;
    return at;
}

static uint32_t bytes_u32(struct perf_bytes *b) {
    uint32_t value = 0;
    const uint8_t *at = bytes_take(b, sizeof value);
    if (at) {
        memcpy(&value, at, sizeof value);
    }
    return value;
}

static uint64_t bytes_u64(struct perf_bytes *b) {
    uint64_t value = 0;
    const uint8_t *at = bytes_take(b, sizeof value);
    if (at) {
        memcpy(&value, at, sizeof value);
    }
    return value;
}

/* ---- records ---- */

size_t perf_record_size(const uint8_t header[PERF_RECORD_HEADER]) {
    uint16_t size;
    memcpy(&size, header + 6, sizeof size);
    return size >= PERF_RECORD_LEAST && size % 8 == 0 ? size : 0;
}

static void registers_of_sample(struct perf_bytes *b, enum perf_layout layout,
                                struct cfi_registers *regs) {
    uint64_t abi = bytes_u64(b), mask = perf_record_registers(layout);
    uint64_t asked = asked_registers(layout);
    regs->known = 0;
    if (abi == PERF_SAMPLE_REGS_ABI_NONE) {
        return;
    }
    uint64_t value[64] = {0};
    for (unsigned i = 0; i < 64; i++) {
        if (mask >> i & 1) {
            value[i] = bytes_u64(b);
        }
    }
    for (unsigned i = 0; i < CFI_REGISTERS && abi == SAMPLE_ABI && !b->failed; i++) {
        if (asked >> i & 1) {
            cfi_set_async(regs, i, value[kernel_register(i)]);
        }
    }
}

static void read_sample_stack(struct perf_bytes *b, struct perf_record *r) {
    uint64_t room = bytes_u64(b);
    r->stack_size = 0;
    r->stack = bytes_take(b, room);
    if (room > 0) { /* the kernel wrote only the first of these bytes, whose number follows */
        uint64_t written = bytes_u64(b);
        r->stack_size = written < room ? written & ~UINT64_C(7) : room;
    }
}

/* Finds the layout of the samples of an event, given by its id. False: the event is not known. */
static bool find_layout(const struct perf_layouts *layouts, uint64_t event,
                        enum perf_layout *layout) {
    for (size_t i = 0; i < layouts->count; i++) {
        if (layouts->event[i] == event) {
            *layout = layouts->layout[i];
            return true;
        }
    }
    return false;
}

static void decode_sample(struct perf_bytes *b, const struct perf_layouts *layouts,
                          struct perf_record *r) {
    enum perf_layout layout;
    r->event = bytes_u64(b);
    if (b->failed || !find_layout(layouts, r->event, &layout)) {
        return;
    }
    r->kind = PERF_RECORD_IS_SAMPLE;
    r->time_ns = bytes_u64(b);
    if (layout == PERF_LAYOUT_CALLER) {
        r->trace_size = bytes_u32(b);
        r->trace = bytes_take(b, r->trace_size);
    }
    if (layout != PERF_LAYOUT_TIME) {
        registers_of_sample(b, layout, &r->regs);
    }
    if (carries_stack(layout)) {
        read_sample_stack(b, r);
    }
}

bool perf_record_read(const uint8_t *bytes, size_t size, const struct perf_layouts *layouts,
                      struct perf_record *out) {
    struct perf_bytes b = {bytes, size, false};
    struct perf_record r = {.kind = PERF_RECORD_IS_OTHER};
    uint32_t type = bytes_u32(&b);
    uint32_t rest = bytes_u32(&b); /* on a little-endian processor the size is the upper half */
    uint16_t flags = (uint16_t)(rest & UINT16_MAX);
    switch (b.failed ? UINT32_MAX : type) {
    case PERF_RECORD_SAMPLE:
        decode_sample(&b, layouts, &r);
        break;
    case PERF_RECORD_LOST:
        r.kind = PERF_RECORD_IS_LOST;
        bytes_u64(&b); /* skips the event's id: all events share the ring */
        r.lost = bytes_u64(&b);
        break;
    case PERF_RECORD_COMM:
        r.kind = flags & PERF_RECORD_MISC_COMM_EXEC ? PERF_RECORD_IS_EXEC : PERF_RECORD_IS_OTHER;
        break;
    case PERF_RECORD_EXIT:
        r.kind = PERF_RECORD_IS_END;
        bytes_take(&b, 4 * sizeof(uint32_t)); /* skips the ids of thread and parent: the events are
                                                 of the watched thread */
        r.time_ns = bytes_u64(&b);
        break;
    default:
        break;
    }
    if (b.failed) {
        return false;
    }
    *out = r;
    return true;
}
