/* Parses numbers, words, ids and days strictly: the whole text, a pointer and a length, must match,
 * without spaces and whatever the locale. Each function with `out` that returns a bool returns
 * false, and leaves *out alone, if the text does not match. */
#ifndef STALLKIT_BASE_PARSE_H
#define STALLKIT_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads decimal digits, a number <= max. */
bool parse_u64(const char *s, size_t len, uint64_t max, uint64_t *out);
/* Reads a duration in ms, <= max: decimal digits alone, which are ms, or with a unit after them
 * (ms, s, m, h); a fraction of 1 to 9 digits is allowed (0.5s), as long as the duration is a whole
 * number of ms. */
bool parse_duration_ms(const char *s, size_t len, uint64_t max, uint64_t *out);
/* Reads a number of bytes, <= max: decimal digits alone, or with K, M, G or T after them (1024,
 * 1024^2 and so on). */
bool parse_size(const char *s, size_t len, uint64_t max, uint64_t *out);
/* Reads an optional '-' and decimal digits, a number that fits int64_t. */
bool parse_i64(const char *s, size_t len, int64_t *out);
/* Reads hex digits with an optional 0x or 0X in front, a number that fits 64 bits. */
bool parse_hex(const char *s, size_t len, uint64_t *out);
/* Reads a number of 64 bits, hex with 0x in front, else decimal. */
bool parse_address(const char *s, size_t len, uint64_t *out);
/* Is the text equal to the word? */
bool parse_is(const char *s, size_t len, const char *word);
/* Sets *out to the index of the first of `count` rows, each of row_size bytes, whose first
 * member, a const char * that is not NULL, equals the text. False: there is none. */
bool parse_word(const char *s, size_t len, const void *rows, size_t count, size_t row_size,
                size_t *out);
/* Calls parse_word for all rows of an array. */
#define PARSE_WORD(s, len, table, out)                                                             \
    parse_word((s), (len), (table), sizeof(table) / sizeof *(table), sizeof *(table), (out))

/* The identity of an image: a Mach-O UUID (16 bytes) or an ELF build-id (1 … 20 bytes; no linker
 * makes longer ones, and they are rejected). */
enum { IMAGE_ID_MAX = 20 };
enum image_id_kind { IMAGE_ID_NONE = 0, IMAGE_ID_UUID, IMAGE_ID_BUILD };
struct image_id {
    enum image_id_kind kind;
    uint8_t len;
    uint8_t bytes[IMAGE_ID_MAX];
};
/* Room for the text of any id: a UUID has 36 characters, a build-id at most 40, and a NUL follows.
 */
enum { IMAGE_ID_TEXT = 2 * IMAGE_ID_MAX + 5 };

/* Reads a UUID: 32 hex digits of any case, with or without dashes (also in braces or angle
 * brackets). */
bool parse_uuid(const char *s, size_t len, struct image_id *out);
/* Reads a build-id: 2 … 40 hex digits, an even number. */
bool parse_build_id(const char *s, size_t len, struct image_id *out);
/* Writes the text of an id to out: a UUID in upper case with dashes, a build-id in lower-case
 * hex, "" for IMAGE_ID_NONE. Returns out. */
const char *image_id_text(const struct image_id *id, char out[IMAGE_ID_TEXT]);
bool image_id_equal(const struct image_id *a, const struct image_id *b);
/* Is there no id, or are all of its bytes zero? Such an id matches nothing (stallkit-design(7),
 * ADDRESS RULES, 3). */
bool image_id_is_zero(const struct image_id *id);

/* ---- days since 1970-01-01, in UTC, as dates of the Gregorian calendar: "2026-11-20" ---- */

enum { DAY_LENGTH = 10 /* length of "2026-11-20" */, DAY_SIZE = 16 };
/* 2001-01-02, the first day that a clock which somebody has set can tell. Clocks that nobody has
 * set tell 1970-01-01, 1980-01-06, 2000-01-01 or 2001-01-01. */
enum { DAY_SET_FIRST = 11324 };

/* Reads a date, alone or with a time behind 'T' or ' ', of the years 1 to 9999. False: the text is
 * no date. */
bool parse_day(const char *text, size_t len, int32_t *day);
/* Writes a day as a date, or "" if it has none (day_is_one). Returns out. */
const char *day_text(int32_t day, char out[DAY_SIZE]);
/* Is the number a day from 0001-01-01 to 9999-12-31? */
bool day_is_one(int64_t day);
/* Is the text a date or time that parse_day reads, of DAY_SET_FIRST or later? */
bool day_is_told(const char *time, size_t len);

#endif
