/* Converts mangled names to readable names: Itanium C++ and Rust (legacy and v0) with libiberty,
 * Swift with our own parser (swift_name.h). */
#ifndef STALLKIT_DEMANGLE_DEMANGLE_H
#define STALLKIT_DEMANGLE_DEMANGLE_H

#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

enum demangle_scheme { DEMANGLE_NONE = 0, DEMANGLE_ITANIUM, DEMANGLE_RUST, DEMANGLE_SWIFT };

/* Returns the scheme that the name seems to have by its prefix and, for Rust's legacy names, by
 * their hash; DEMANGLE_NONE: by neither. An additional leading underscore, as in Mach-O, is
 * skipped. */
enum demangle_scheme demangle_scheme_of(const char *name, size_t len);

/* The form in which a Swift name is printed: the one that people read, or the full one. */
enum demangle_style { DEMANGLE_SIMPLIFIED = 0, DEMANGLE_FULL };

/* Appends the readable form of a name. ST_NONE: the name is not mangled, or cannot be demangled,
 * and nothing is appended; the caller shows it as it is. Names over 64 KiB, those whose text passes
 * about 512 KiB, and those that take too much memory or time, cannot be demangled. ST_ERR: out of
 * memory. Thread safe. */
enum st demangle(const char *name, size_t len, enum demangle_style style, struct strbuf *out,
                 struct err *e) BASE_MUST_USE;

#endif
