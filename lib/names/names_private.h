/* What the parts of lib/names share. Each takes (text, length) and appends to out; all are linear
 * in the length of the text, whatever it holds. */
#ifndef STALLKIT_NAMES_PRIVATE_H
#define STALLKIT_NAMES_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Length of the text without what compilers and linkers append: clone, version and hash suffixes.
 */
size_t names_trim(const char *s, size_t len);

/* Index of the bracket that closes the one at s[open]; len if there is none. Knows (), [], {} and
 * <>, and that a < which nothing closes inside a round bracket is an operator. */
size_t names_close(const char *s, size_t len, size_t open);

/* C++, Rust, Go and C. */
void names_cxx(const char *s, size_t len, struct strbuf *out);

/* Does it look like the readable form of a Swift name, full or simplified? */
bool names_is_swift(const char *s, size_t len);
/* modules: those that a full name has stay. */
void names_swift(const char *s, size_t len, bool modules, struct strbuf *out);
/* Length of the phrase at the front that says what the compiler made of a type: `type metadata
 * accessor for `, `outlined copy of `; 0: there is none. */
size_t names_swift_type_phrase(const char *s, size_t len);
/* `getEnumTag value witness for Shop.Cart`, simplified `getEnumTag for Cart`: the length of the
 * first word, and in *phrase that up to the type; 0: it is something else. */
size_t names_swift_value_witness(const char *s, size_t len, size_t *phrase);

/* Small helpers over (text, length). */
bool names_starts(const char *s, size_t len, const char *prefix);
/* Length of the first of the words, which NULL ends, that the text starts with; 0: with none. */
size_t names_starts_any(const char *s, size_t len, const char *const *words);
bool names_ends(const char *s, size_t len, const char *suffix);
/* Index of the first occurrence of a short text at or after `from`; len if there is none. */
size_t names_find(const char *s, size_t len, size_t from, const char *what);

static inline bool names_is_digit(char c) {
    return c >= '0' && c <= '9';
}
static inline bool names_is_ident(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || names_is_digit(c) || c == '_' ||
           (unsigned char)c >= 0x80;
}

#endif
