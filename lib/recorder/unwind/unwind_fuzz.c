/* Runs an unwinder over a made-up module and stack, whose .eh_frame, .eh_frame_hdr, code and stack
 * are hostile bytes.
 * Input: 1 byte: the place of .eh_frame_hdr in the module, in 1/256 of its size; 1 byte: the
 * module's share of the other bytes, in 1/255; then the module and the stack. */
#include <stdint.h>
#include <stdlib.h>

#include "unwind/prologue.h"
#include "unwind/unwind.h"
#if defined(__aarch64__) || defined(STALLREC_AS_AARCH64)
#include "unwind/prologue_aarch64.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BASE = 0x400000, STACK = 0x7f0000000000, FRAMES = 64 };

static bool find(void *arg, uint64_t pc, unwind_visit_fn *visit, void *visit_arg) {
    const struct cfi_module *m = arg;
    if (pc - m->segments[0].address >= m->segments[0].size) {
        return false;
    }
    visit(visit_arg, m);
    return true;
}

static uint64_t generation(void *arg) {
    (void)arg;
    return 1;
}

/* Returns a copy of exact size on the heap, so that a sanitizer reports a read beyond it. */
static uint8_t *copy_of(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    for (size_t i = 0; copy && i < size; i++) {
        copy[i] = data[i];
    }
    return copy;
}

static void unwind_at(struct unwinder *u, const struct cfi_stack *stack, uint64_t pc,
                      uint64_t known) {
    struct cfi_registers regs = {.known = known & ((UINT64_C(1) << CFI_REGISTERS) - 1)};
    for (unsigned i = 0; i < CFI_REGISTERS; i++) {
        regs.value[i] = STACK + 8 * i;
    }
    cfi_set_async(&regs, CFI_PC, pc);
    cfi_set_async(&regs, CFI_SP, STACK);
    regs.value[CFI_RA] = CFI_RA == CFI_PC ? pc : BASE + known % 4096 + 4;
    struct unwind_frame frames[FRAMES];
    enum unwind_end end;
    size_t n = unwind_async(u, &regs, stack, frames, FRAMES, &end);
    if (n == 0 || n > FRAMES || frames[0].pc != pc) {
        abort();
    }
}

/* Calls the functions that only AArch64 has. */
static void take_apart(const struct cfi_module *module, uint64_t pc) {
#if defined(__aarch64__) || defined(STALLREC_AS_AARCH64)
    struct prologue_way way;
    uint64_t size = module->segments[0].size, after;
    if (prologue_way_out_async(module, pc, &way) && way.raises < 0) {
        abort();
    }
    prologue_through_stub_async(module, pc);
    prologue_sets_pointer_async(module, pc, size);
    prologue_count_calls_async(module, pc, size, BASE, &after);
#else
    (void)module, (void)pc;
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    size_t module_size = (size - 2) * data[1] / 255, stack_size = size - 2 - module_size;
    uint8_t *module_bytes = copy_of(data + 2, module_size);
    uint8_t *stack_bytes = copy_of(data + 2 + module_size, stack_size);
    struct cfi_module module = {.segments = {{BASE, module_bytes, module_size, true}},
                                .segment_count = 1,
                                .header = BASE + module_size * data[0] / 256,
                                .header_size = module_size};
    struct cfi_stack stack = {stack_bytes, STACK, STACK + stack_size};
    struct unwind_modules modules = {
        .arg = &module, .find_async = find, .generation_async = generation};
    struct unwinder *u = unwinder_new(&modules, 64);
    if (module_bytes && stack_bytes && u) {
        for (uint64_t pc = BASE; pc < BASE + module_size; pc += 1 + module_size / 16) {
            struct cfi_row row;
            uint64_t value;
            unwind_at(u, &stack, pc, UINT64_MAX);
            unwind_at(u, &stack, pc, 0);
            cfi_find_row_async(&module, pc, &row);
            cfi_covers_async(&module, pc);
            prologue_frame_size_async(&module, pc, module_size, &value);
            prologue_call_before_async(&module, pc, &value);
            take_apart(&module, pc);
        }
        unwind_at(u, &stack, 0, UINT64_MAX);
        unwind_at(u, &stack, UINT64_MAX, UINT64_MAX);
    }
    unwinder_free(u);
    free(module_bytes);
    free(stack_bytes);
    return 0;
}
