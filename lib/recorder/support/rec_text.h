/* Writes ids, times and numbers as text, and reads hexadecimal digits. */
#ifndef STALLREC_REC_TEXT_H
#define STALLREC_REC_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { REC_UUID_TEXT = 37, REC_TIME_TEXT = 25 };

/* Writes a UUID's 16 bytes as RFC 9562 text, lower case. Returns text. */
const char *rec_uuid_text(const uint8_t uuid[16], char text[REC_UUID_TEXT]);

/* Writes a Unix time in ms as "2026-11-21T10:00:00.123Z". Times outside the years 0000 … 9999
 * become the nearest in them. Returns text. */
const char *rec_time_text(int64_t unix_ms, char text[REC_TIME_TEXT]);

/* Writes len bytes as lower-case hex with a NUL: text has room for 2 * len + 1. Returns text. */
const char *rec_hex_text(const uint8_t *bytes, size_t len, char *text);

/* Write the text, or the number in decimal (at most 20 digits), and a NUL to `at`, which must have
 * room for them. Return the position of the NUL. */
char *rec_put_text(char *at, const char *text);
char *rec_put_number(char *at, uint64_t value);

/* Returns the position in `at` after `text`, with which `at` begins; NULL if `at` is NULL or does
 * not begin with it. */
const char *rec_skip_text(const char *at, const char *text);
/* Returns the value of a decimal or lower-case hexadecimal digit; -1: the character is no such
 * digit. */
int rec_hex_digit(char c);
/* Returns the value of a decimal or hexadecimal digit, of either case; -1: the character is no such
 * digit. */
static inline int rec_any_hex_digit_async(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
