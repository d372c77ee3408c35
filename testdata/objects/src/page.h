/* page.h: inline helpers, three levels deep, used from C and Objective-C. */
#ifndef PAGE_H
#define PAGE_H

enum { PAGE_SIZE = 64 };

static inline unsigned page_mix(unsigned sum, unsigned char byte) {
    sum ^= byte;
    return (sum << 5) | (sum >> 27);
}

static inline unsigned page_checksum(const volatile unsigned char *page) {
    unsigned sum = 0x5a5a5a5au;
    for (int i = 0; i < PAGE_SIZE - 1; i++) {
        sum = page_mix(sum, page[i]);
    }
    return sum;
}

static inline void page_seal(volatile unsigned char *page) {
    page[PAGE_SIZE - 1] = (unsigned char)page_checksum(page);
}

static inline int page_is_sealed(const volatile unsigned char *page) {
    return page[PAGE_SIZE - 1] == (unsigned char)page_checksum(page);
}

static inline void page_copy(volatile unsigned char *to, const volatile unsigned char *from) {
    for (int i = 0; i < PAGE_SIZE; i++) {
        to[i] = from[i];
    }
}

#endif
