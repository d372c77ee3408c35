/* Reads hostile bytes as a loaded Mach-O image, as a section of unwind information, and as a
 * stack. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "darwin/fp_walk.h"
#include "darwin/macho_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE  UINT64_C(0x100000000)
#define STACK UINT64_C(0x16f000000)

enum { FRAMES = 32, STEPS = 64 };

struct input {
    const uint8_t *bytes;
    size_t size;
    struct macho_image image;
    struct macho_marks marks;
    bool has_image;
    struct unwind_info info;
};

static bool read_input(void *arg, uint64_t address, void *to, size_t size) {
    const struct input *in = arg;
    if (address < BASE || address - BASE > in->size || size > in->size - (address - BASE)) {
        return false;
    }
    memcpy(to, in->bytes + (address - BASE), size);
    return true;
}

static bool function_at(void *arg, uint64_t address, struct fp_function *out) {
    struct input *in = arg;
    struct unwind_info_entry entry;
    struct memory memory = {in, read_input};
    *out = (struct fp_function){0};
    if (address < BASE || address - BASE >= in->size) {
        return false;
    }
    if (unwind_info_find_async(&in->info, address, &entry) == UNWIND_INFO_OK) {
        if (entry.start > address || entry.end <= address) {
            abort();
        }
        *out = (struct fp_function){entry.start, entry.end,
                                    unwind_rule_async(UNWIND_ARM64, entry.encoding)};
    }
    if (in->has_image) {
        uint64_t start = 0, end = 0;
        bool found = macho_function_async(&memory, &in->image, &in->marks, address, &start, &end);
        uint64_t front_start = 0, front_end = 0;
        bool same = macho_function_async(&memory, &in->image, NULL, address, &front_start,
                                         &front_end) == found;
        if (!same || (found && (start != front_start || end != front_end || start > address ||
                                end <= address))) {
            abort();
        }
        if (found) {
            out->start = start;
            out->end = end;
        }
    }
    return true;
}

static void walk(struct input *in, enum unwind_cpu cpu, uint64_t pc) {
    uint64_t frames[FRAMES], starts[FRAMES];
    struct rec_stack out = {.frames = frames, .starts = starts, .cap = FRAMES};
    struct fp_code code = {cpu, {in, read_input}, in, function_at};
    struct fp_stack stack = {in->bytes, STACK, STACK + in->size};
    struct fp_registers regs = {pc, STACK, STACK, pc + 16};
    fp_reach_async(cpu, &stack, regs.fp, FRAMES);
    fp_walk_async(&code, &regs, &stack, &out);
    if (out.count == 0 || out.count > FRAMES) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {.bytes = data, .size = size};
    struct memory memory = {&in, read_input};
    in.has_image = macho_image_read_async(&memory, BASE, &in.image);
    in.info = (struct unwind_info){memory, BASE, size, BASE};
    if (in.has_image && in.image.unwind_size > 0) {
        in.info.address = in.image.unwind;
        in.info.size = in.image.unwind_size;
    }
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t pc = BASE + (uint64_t)size * i / STEPS;
        walk(&in, UNWIND_ARM64, pc);
        walk(&in, UNWIND_X86_64, pc);
    }
    return 0;
}
