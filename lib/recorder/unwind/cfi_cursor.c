/* Reads the fields of .eh_frame: fixed sizes, LEB128, encoded pointers. */
#include "unwind/cfi_private.h"

uint64_t cfi_fixed_async(struct cfi_cursor *c, unsigned size) {
    if (c->failed || c->left < size) {
        c->failed = true;
        return 0;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++) {
        value |= (uint64_t)c->bytes[i] << (8 * i);
    }
    cfi_skip_async(c, size);
    return value;
}

void cfi_skip_async(struct cfi_cursor *c, uint64_t size) {
    if (c->failed || c->left < size) {
        c->failed = true;
        return;
    }
    c->bytes += size;
    c->address += size;
    c->left -= size;
}

/* Reads a LEB128 number of at most 10 bytes, modulo 2^64. *sign_bit becomes bit 6 of its last byte,
 * at its place in the value; 0 if that bit is clear, or no bit of the value is above it. */
static uint64_t leb_async(struct cfi_cursor *c, uint64_t *sign_bit) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint64_t byte = cfi_fixed_async(c, 1);
        if (shift < 64) {
            value |= (byte & 0x7f) << shift;
        }
        if (!(byte & 0x80)) {
            *sign_bit = shift + 7 < 64 ? (byte & 0x40) << shift : 0;
            return c->failed ? 0 : value;
        }
    }
    c->failed = true;
    return 0;
}

uint64_t cfi_uleb_async(struct cfi_cursor *c) {
    uint64_t sign_bit;
    return leb_async(c, &sign_bit);
}

int64_t cfi_sleb_async(struct cfi_cursor *c) {
    uint64_t sign_bit = 0, value = leb_async(c, &sign_bit);
    /* All bits above a set sign bit are set. */
    return (int64_t)(sign_bit != 0 && !c->failed ? value | ~(sign_bit - 1) : value);
}

uint64_t cfi_pointer_value_async(struct cfi_cursor *c, uint8_t format) {
    switch (format) {
    case 0x00: /* absptr */
    case 0x04: /* udata8 */
    case 0x0c: /* sdata8 */
        return cfi_fixed_async(c, 8);
    case 0x01:
        return cfi_uleb_async(c);
    case 0x02:
        return cfi_fixed_async(c, 2);
    case 0x03:
        return cfi_fixed_async(c, 4);
    case 0x09:
        return (uint64_t)cfi_sleb_async(c);
    case 0x0a:
        return (uint64_t)(int64_t)(int16_t)cfi_fixed_async(c, 2);
    case 0x0b:
        return (uint64_t)(int64_t)(int32_t)cfi_fixed_async(c, 4);
    default:
        c->failed = true;
        return 0;
    }
}

uint64_t cfi_pointer_async(struct cfi_cursor *c, uint8_t encoding, uint64_t data) {
    uint64_t place = c->address;
    uint64_t value = cfi_pointer_value_async(c, encoding & CFI_PE_FORMAT);
    switch (encoding & (CFI_PE_RELATIVE | CFI_PE_INDIRECT)) {
    case 0:
        return value;
    case CFI_PE_PCREL:
        return value + place; /* modulo 2^64, as the loader computes it */
    case CFI_PE_DATAREL:
        return value + data;
    default:
        c->failed = true;
        return 0;
    }
}
