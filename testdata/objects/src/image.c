/* image.c: plain C. Static functions that stay out of line, nested inlines from a header, a cold
 * path that GCC moves out of the function (two ranges), a tail call and an indirect call. */
#include "page.h"

typedef unsigned (*filter_fn)(unsigned, unsigned);

static volatile unsigned failures;

__attribute__((noinline, cold)) static void decode_failed(unsigned at) {
    failures += at;
}

__attribute__((noinline)) static unsigned filter_sub(unsigned left, unsigned raw) {
    return (left + raw) & 0xff;
}

__attribute__((noinline)) static unsigned filter_paeth(unsigned left, unsigned raw) {
    unsigned up = left >> 1;
    unsigned guess = left > up ? left - up : up - left;
    return (guess + raw) & 0xff;
}

static filter_fn const filters[] = {filter_sub, filter_paeth};

static inline unsigned inflate_byte(const unsigned char *bytes, unsigned at) {
    return bytes[at] ^ (at & 0x0f);
}

static inline unsigned inflate_row(const unsigned char *bytes, unsigned from, unsigned width) {
    unsigned acc = 0;
    for (unsigned x = 0; x < width; x++) {
        acc = filters[x & 1](acc, inflate_byte(bytes, from + x));
        if (__builtin_expect(acc == 0xfe, 0)) {
            decode_failed(from + x);
            failures ^= acc;
            decode_failed(x);
        }
    }
    return acc;
}

unsigned image_checksum(const unsigned char *bytes) {
    return page_checksum(bytes);
}

__attribute__((noinline)) unsigned image_decode(const unsigned char *bytes, unsigned length) {
    unsigned sum = 0;
    for (unsigned row = 0; row + 16 <= length; row += 16) {
        sum += inflate_row(bytes, row, 16);
    }
    if (__builtin_expect(sum == 0, 0)) {
        decode_failed(length);
        failures++;
        return failures;
    }
    return sum;
}

unsigned image_decode_again(const unsigned char *bytes, unsigned length) {
    failures = 0;
    return image_decode(bytes, length);
}

__attribute__((noinline, noreturn)) void image_fatal(unsigned code) {
    for (;;) {
        failures += code;
    }
}

/* Its last instruction is a call that never returns: the return address belongs to the function
 * behind it, and only `address - 1` names this one. */
__attribute__((noinline)) void image_require(unsigned ok) {
    if (!ok) {
        image_fatal(1);
    }
    failures = 0;
    image_fatal(2);
}

__attribute__((noinline)) unsigned image_failures(void) {
    return failures;
}
