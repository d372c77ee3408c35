/* Finds the recorder's own code, and removes its frames from stacks. */
#include "linux/own_code_linux.h"

#include <string.h>

/* The bounds, set by the linker, of the section that holds the functions marked REC_WAITS
 * (loop/adapter_wait.h). They are NULL in a program that calls none of these functions. */
extern const char __start_stallrec_waits[] __attribute__((weak, visibility("hidden")));
extern const char __stop_stallrec_waits[] __attribute__((weak, visibility("hidden")));

void own_code_find(struct own_code *own, const struct images *images) {
    struct rec_image image;
    const uint64_t here = (uint64_t)(uintptr_t)own_code_find;
    own->waits = (struct code_range){(uint64_t)(uintptr_t)__start_stallrec_waits,
                                     (uint64_t)(uintptr_t)__stop_stallrec_waits};
    own->library = (struct code_range){0};
    if (images_find_async(images, here, &image) && images_is_preload_async(image.path)) {
        own->library = (struct code_range){image.load, image.load + image.size};
    }
}

static bool in_range_async(const struct code_range *range, uint64_t address) {
    return address >= range->lo && address < range->hi;
}

static bool is_own_async(const struct own_code *own, const struct unwind_frame *frame) {
    uint64_t address = frame->exact ? frame->pc : frame->pc - 1;
    return in_range_async(&own->waits, address) || in_range_async(&own->library, address);
}

size_t own_code_drop_async(const struct own_code *own, struct unwind_frame *frames, size_t count) {
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_own_async(own, &frames[i])) {
            continue;
        }
        frames[left] = frames[i];
        if (left == 0 && i > 0 && !frames[i].exact) {
            frames[left].pc--;
            frames[left].exact = true;
        }
        left++;
    }
    return left;
}
