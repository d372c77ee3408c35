/* Mangled name -> readable name. Itanium C++ and Rust (legacy and v0) through libiberty, Swift by a
 * reader of our own (swift_name.h). */
#ifndef STALLKIT_DEMANGLE_DEMANGLE_H
#define STALLKIT_DEMANGLE_DEMANGLE_H

#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

enum demangle_scheme { DEMANGLE_NONE = 0, DEMANGLE_ITANIUM, DEMANGLE_RUST, DEMANGLE_SWIFT };

/* What the name looks like, by its prefix (an extra leading underscore, as in Mach-O, is allowed).
 */
enum demangle_scheme demangle_scheme_of(const char *name, size_t len);

/* How much is printed of a Swift name: what people say, or all that it tells. */
enum demangle_style { DEMANGLE_SIMPLIFIED = 0, DEMANGLE_FULL };

/* Appends the readable form. ST_NONE: not a mangled name, or one that no scheme reads (nothing
 * appended): the caller shows it as it is. Names over 64 KiB, or whose text passes 512 KiB, count
 * as not readable. ST_ERR: out of memory. Thread safe. */
enum st demangle(const char *name, size_t len, enum demangle_style style, struct strbuf *out,
                 struct err *e) BASE_MUST_USE;

#endif
