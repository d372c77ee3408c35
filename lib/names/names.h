/* Readable name -> simplified name, for bucket keys and for drawing. Pure functions, shared by
 * classify and flame; the full name always stays in the data. */
#ifndef STALLKIT_NAMES_NAMES_H
#define STALLKIT_NAMES_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Appends the normalised name: what stays equal between two builds of the same source, and between
 * the forms in which reports write one function: mangled, full, simplified. Arguments and return
 * type dropped, Swift's modules too, template arguments `<…>` -> `<T>`, `operator<`, `operator()`
 * and Objective-C names kept whole, anonymous numbering (`$_12`, `{lambda()#3}`, `.llvm.123`,
 * `.cold`,
 * `.cold.1`,
 * `.part.0`, `.isra.0`, `.constprop.0`, `__hidden#12_`, `OUTLINED_FUNCTION_12`, Rust's `::h<16
 * hex>`, `[clone …]`) removed or made constant. Never empty for a non-empty name. */
void names_normalise(const char *name, size_t len, struct strbuf *out);

/* As names_normalise, but Swift's modules stay where the name tells them (a mangled or a full name
 * does): for who asks about a module. */
void names_qualify(const char *name, size_t len, struct strbuf *out);

/* Appends all that a mangled name tells. False: it is not mangled, or not readable; nothing is
 * appended. */
bool names_expand(const char *name, size_t len, struct strbuf *out);

/* The type, or the function, that a generic of a library was made for: `shop::Item` of
 * `std::vector<shop::Item>::push_back`, `Shop.Item` of `generic specialization <Shop.Item> of
 * Swift.Array.map`. It is the first in its angle brackets that is qualified, and not by a namespace
 * of a language's or a system's library; *type is a part of name. False: there is none, or not in
 * the first 4,096 bytes. */
bool names_generic_for(const char *name, size_t len, const char **type, size_t *type_len);

/* The function that a closure, a block or a lambda was written in, of a normalised name: a part of
 * it, the whole name if it is none of these. */
void names_enclosing(const char *name, size_t len, const char **function, size_t *function_len);

/* Appends an image's name for keys: directories, `.so.1.2.3` versions and `.dylib` suffixes
 * normalised (`libc.so.6` -> `libc.so`). */
void names_image(const char *name, size_t len, struct strbuf *out);

#endif
