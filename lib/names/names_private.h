/* Declares what the files of lib/names share. Scanners take (text, length) and append to out; all
 * take time linear in the length of the text, whatever the text is. */
#ifndef STALLKIT_NAMES_PRIVATE_H
#define STALLKIT_NAMES_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Returns the length of the text without the suffixes that compilers and linkers append, such as
 * clone, version and hash, and without blanks at its end. */
size_t names_trim(const char *s, size_t len);

/* Returns the index of the bracket that closes the one at s[open]; len if none does, or if brackets
 * nest deeper than names_text.c follows. Brackets are (), [], {} and <>; a < that is still open
 * where round, square or curly brackets around it close counts as a "less than" sign. */
size_t names_close(const char *s, size_t len, size_t open);

/* Appends the simplified form of a C++, Rust, Go or C name. */
void names_cxx(const char *s, size_t len, struct strbuf *out);

/* Does the text look like the readable form of a Swift name, full or simplified? No text with "::"
 * does. */
bool names_is_swift(const char *s, size_t len);
/* Appends the simplified form of a Swift name; with `modules` the module names of a full name are
 * kept. */
void names_swift(const char *s, size_t len, bool modules, struct strbuf *out);
/* Returns the length of the phrase at the start that names the function or data that the compiler
 * generated for a type, such as `type metadata accessor for ` or `outlined copy of `; 0 if there is
 * none. */
size_t names_swift_type_phrase(const char *s, size_t len);
/* Recognises `getEnumTag value witness for Shop.Cart`, simplified `getEnumTag for Cart`: returns
 * the length of its first word and sets *phrase to the length up to the type. 0: the text is
 * something else. */
size_t names_swift_value_witness(const char *s, size_t len, size_t *phrase);

/* Appends a name of code that a virtual machine runs without what differs between runs or builds:
 * marks, positions, numbers, closures nested in a closure, comprehensions, what Kotlin's compiler
 * adds: JS:*draw -> JS:draw, Map$1$2.invoke -> Map$_.invoke, <f>b__1_2 -> <f>b__. False: the name
 * has none of these, and nothing is appended. */
bool names_fold_managed(const char *s, size_t len, struct strbuf *out);

/* Small helpers over (text, length) follow. */
bool names_starts(const char *s, size_t len, const char *prefix);
/* Returns the length of the first of the words (the array ends in NULL) that the text starts
 * with; 0 if it starts with none. */
size_t names_starts_any(const char *s, size_t len, const char *const *words);
bool names_ends(const char *s, size_t len, const char *suffix);
/* Returns the index of the first occurrence of `what` at or after `from`; len if there is none. */
size_t names_find(const char *s, size_t len, size_t from, const char *what);

static inline bool names_is_digit(char c) {
    return c >= '0' && c <= '9';
}
static inline bool names_is_ident(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || names_is_digit(c) || c == '_' ||
           (unsigned char)c >= 0x80;
}

#endif
