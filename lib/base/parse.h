/* Strict parsing of numbers, words and ids: the whole text must match; no sign, space, prefix or
 * locale surprise. Each returns false and leaves *out alone otherwise. Text is (pointer, length).
 */
#ifndef STALLKIT_BASE_PARSE_H
#define STALLKIT_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits only, <= max. */
bool parse_u64(const char *s, size_t len, uint64_t max, uint64_t *out);
/* A duration in ms, <= max: decimal digits alone, or with a unit behind them (ms, s, m, h), and
 * then perhaps a fraction (0.5s), as long as a whole number of ms comes of it. */
bool parse_duration_ms(const char *s, size_t len, uint64_t max, uint64_t *out);
/* A number of bytes, <= max: decimal digits alone, or with K, M, G or T behind them: times 1024,
 * 1024^2 and so on. */
bool parse_size(const char *s, size_t len, uint64_t max, uint64_t *out);
/* An optional '-', then decimal digits; must fit int64_t. */
bool parse_i64(const char *s, size_t len, int64_t *out);
/* Hex digits, an optional 0x or 0X in front; must fit 64 bits. */
bool parse_hex(const char *s, size_t len, uint64_t *out);
/* 0x… as hex, else decimal. */
bool parse_address(const char *s, size_t len, uint64_t *out);
/* Is the text the word? */
bool parse_is(const char *s, size_t len, const char *word);
/* Index of the first of `count` rows of row_size bytes that has the text as its first member, a
 * const char * that is not NULL. */
bool parse_word(const char *s, size_t len, const void *rows, size_t count, size_t row_size,
                size_t *out);
/* The same of an array. */
#define PARSE_WORD(s, len, table, out)                                                             \
    parse_word((s), (len), (table), sizeof(table) / sizeof *(table), sizeof *(table), (out))

/* An image's identity: a Mach-O UUID (16 bytes) or an ELF build-id (1 … 20 bytes; longer ones are
 * not made by any linker and rejected). */
enum { IMAGE_ID_MAX = 20 };
enum image_id_kind { IMAGE_ID_NONE = 0, IMAGE_ID_UUID, IMAGE_ID_BUILD };
struct image_id {
    enum image_id_kind kind;
    uint8_t len;
    uint8_t bytes[IMAGE_ID_MAX];
};
/* Largest text of an id with its NUL. */
enum { IMAGE_ID_TEXT = 2 * IMAGE_ID_MAX + 5 };

/* 32 hex digits of any case, with or without dashes (also in braces or angle brackets). */
bool parse_uuid(const char *s, size_t len, struct image_id *out);
/* 2 … 40 hex digits, an even number. */
bool parse_build_id(const char *s, size_t len, struct image_id *out);
/* UUID: upper case with dashes; build-id: lower-case hex; "" for none. Returns out. */
const char *image_id_text(const struct image_id *id, char out[IMAGE_ID_TEXT]);
bool image_id_equal(const struct image_id *a, const struct image_id *b);
/* True for none and for all bytes zero: such an id matches nothing (stallkit-design(7), ADDRESS
 * RULES, 3). */
bool image_id_is_zero(const struct image_id *id);

#endif
