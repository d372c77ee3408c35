/* Turns a captured frame into the address that is looked up. */
#include "dump/frame_address.h"

#include <string.h>

static const char *arch_of(const struct dump *d) {
    if (d->device.arch) {
        return d->device.arch;
    }
    for (size_t i = 0; i < d->image_count; i++) {
        if (d->images[i].arch) {
            return d->images[i].arch;
        }
    }
    return "";
}

static bool is_darwin(const struct dump *d) {
    for (size_t i = 0; i < d->image_count; i++) {
        if (d->images[i].id.kind != IMAGE_ID_NONE) {
            return d->images[i].id.kind == IMAGE_ID_UUID;
        }
    }
    return false;
}

struct address_rules address_rules_of(const struct dump *d) {
    const char *arch = arch_of(d);
    struct address_rules r = {.mask = UINT64_MAX};
    bool arm64 = strncmp(arch, "arm64", 5) == 0 || strcmp(arch, "aarch64") == 0;
    if (strcmp(arch, "arm64_32") == 0) {
        r.mask = UINT32_MAX;
    } else if (arm64) {
        /* User addresses have 47 bits on Darwin and at most 48 on Linux; the bits above them are a
         * signature or a tag. */
        r.mask = (UINT64_C(1) << (is_darwin(d) ? 47 : 48)) - 1;
    } else if (strncmp(arch, "arm", 3) == 0) {
        r.arm32 = true;
        r.mask = UINT32_MAX;
    }
    return r;
}

uint64_t address_strip(const struct address_rules *r, uint64_t address) {
    address &= r->mask;
    return r->arm32 ? address & ~UINT64_C(1) : address;
}

uint64_t address_of_frame(const struct address_rules *r, const struct dump_stack *stack, size_t i) {
    uint64_t address = address_strip(r, stack->frames[i]);
    return dump_frame_exact(stack, i) || address == 0 ? address : address - 1;
}
