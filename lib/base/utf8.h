/* Checks, decodes and encodes UTF-8 (RFC 3629), for text that goes into JSON and XML. */
#ifndef STALLKIT_BASE_UTF8_H
#define STALLKIT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the code point at s[0 … len) into *code_point and returns its length, 1 … 4 bytes; 0
 * if len is 0 or the bytes are not well-formed (overlong, surrogate, > U+10FFFF, cut). */
size_t utf8_decode(const char *s, size_t len, uint32_t *code_point);
/* Encodes a code point into out[4] and returns its length; 0 if it is a surrogate or above
 * 0x10FFFF. */
size_t utf8_encode(uint32_t code_point, char out[4]);
/* May the code point be shown to a person? The answer is no for control characters (C0, C1, DEL),
 * which steer a terminal; for marks and overrides of writing direction, characters without width,
 * tags and fillers, which hide text or make it look like other text; for separators of lines and
 * paragraphs; and for non-characters. */
bool utf8_is_printable(uint32_t code_point);
/* Returns the columns that a code point takes on a terminal: 0 for combining marks and some
 * characters without width, 2 for East Asian wide characters and emoji, else 1. */
unsigned utf8_columns(uint32_t code_point);
/* Returns the columns that a text takes on a terminal; a byte that is not UTF-8 takes one. */
size_t utf8_text_columns(const char *s, size_t len);
bool utf8_valid(const char *s, size_t len);
/* Returns the number of bytes at the start of the text that are well-formed UTF-8. */
size_t utf8_valid_len(const char *s, size_t len);
/* Returns the length of the byte order mark that a text begins with, as editors and spreadsheets
 * write one: 3, or 0 if there is none. */
size_t utf8_mark(const char *s, size_t len);

#endif
