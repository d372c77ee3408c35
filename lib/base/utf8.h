/* UTF-8 (RFC 3629) checks for text that goes into JSON and XML. */
#ifndef STALLKIT_BASE_UTF8_H
#define STALLKIT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes one code point at s[0 … len): its byte length (1 … 4) and value; 0 if the bytes are not
 * well-formed (overlong, surrogate, > U+10FFFF, cut) or len is 0. */
size_t utf8_decode(const char *s, size_t len, uint32_t *code_point);
/* Encodes a code point (not a surrogate, <= 0x10FFFF) into out[4]; returns its length, 0 if it is
 * not one. */
size_t utf8_encode(uint32_t code_point, char out[4]);
/* May the code point be printed on a terminal? Not C0 and C1 control characters and DEL, which
 * drive it, nor the overrides of writing direction, which make text look like other text. */
bool utf8_is_printable(uint32_t code_point);
/* Columns that a code point takes on a terminal: 0 for marks that combine with what stands before
 * them, 2 for East Asian wide characters and emoji, else 1. */
unsigned utf8_columns(uint32_t code_point);
/* Columns of a text; a byte that is not UTF-8 takes one. */
size_t utf8_text_columns(const char *s, size_t len);
bool utf8_valid(const char *s, size_t len);
/* Bytes of the byte order mark that a text begins with, as editors and spreadsheets write one: 3,
 * or 0 if there is none. */
size_t utf8_mark(const char *s, size_t len);

#endif
