/* Tests eight bytes of text at a time, since a branch on each quote and bracket would be
 * mispredicted. The functions that find bytes return a word with 0x80 for each byte that was found
 * and 0 for any other byte; in the word that word_special returns, only the first found byte is
 * reliable. The first byte of the text is the lowest byte of a word. */
#ifndef STALLKIT_DUMP_WORD_PRIVATE_H
#define STALLKIT_DUMP_WORD_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORD_BYTES = 8 };

/* Returns a word of this byte eight times. */
static inline uint64_t word_of(uint8_t byte) {
    return UINT64_C(0x0101010101010101) * byte;
}

static inline uint64_t word_load(const char *p) {
    const unsigned char *b = (const unsigned char *)p;
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 |
           (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 |
           (uint64_t)b[7] << 56;
}

/* Finds the bytes that are less than `byte` (at most 0x80). No sum carries into the next byte. */
static inline uint64_t word_less(uint64_t word, uint8_t byte) {
    uint64_t sums = (word & word_of(0x7f)) + word_of((uint8_t)(0x80 - byte));
    return ~(sums | word) & word_of(0x80);
}

/* Finds the bytes that equal `byte`. */
static inline uint64_t word_equal(uint64_t word, uint8_t byte) {
    return word_less(word ^ word_of(byte), 1);
}

/* Finds the first byte that is not plain ASCII of a string: a quote, backslash, control character,
 * or part of a multi-byte character. Bytes after it may be reported wrongly, since the subtraction
 * may borrow from the next byte. */
static inline uint64_t word_special(uint64_t word) {
    uint64_t quotes = (word ^ word_of('"')) - word_of(1);
    uint64_t backslashes = (word ^ word_of('\\')) - word_of(1);
    return (quotes | backslashes | (word - word_of(0x20)) | word) & word_of(0x80);
}

/* Are all eight bytes digits? The high half of a digit is 3, and stays so when 6 is added. */
static inline bool word_is_digits(uint64_t word) {
    uint64_t both = word | (word + word_of(0x06));
    return (both & word_of(0xf0)) == word_of(0x30) && (word & word_of(0xf0)) == word_of(0x30);
}

/* Returns the number that the word's eight digits make: digits are joined to pairs, pairs to fours,
 * and these to the whole. */
static inline uint32_t word_number(uint64_t word) {
    word = (word & word_of(0x0f)) * 10 + (word >> 8 & word_of(0x0f));
    word =
        (word & UINT64_C(0x00ff00ff00ff00ff)) * 100 + (word >> 16 & UINT64_C(0x00ff00ff00ff00ff));
    return (uint32_t)((word & 0xffff) * 10000 + (word >> 32 & 0xffff));
}

/* Returns how many bytes were found. */
static inline size_t word_count(uint64_t found) {
    return (size_t)((found >> 7) * word_of(1) >> 56);
}

/* Returns the index of the first byte that was found; there must be one. */
static inline size_t word_first(uint64_t found) {
    return (size_t)__builtin_ctzll(found) / 8;
}

#endif
