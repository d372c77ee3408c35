/* The demanglers of the schemes that demangle.c calls. */
#ifndef STALLKIT_DEMANGLE_SCHEME_PRIVATE_H
#define STALLKIT_DEMANGLE_SCHEME_PRIVATE_H

#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

enum {
    DEMANGLE_IN_MAX = 64 * 1024,  /* maximum number of bytes of a mangled name */
    DEMANGLE_OUT_MAX = 512 * 1024 /* maximum number of bytes of a readable name */
};

/* Append the readable form of a NUL-terminated name of their scheme. ST_NONE: the name cannot be
 * demangled; a part of a text may then have been appended, which the caller removes. ST_ERR: out of
 * memory. demangle_rust also takes a legacy name, which is an Itanium name with a hash. */
enum st demangle_itanium(const char *name, struct strbuf *out, struct err *e);
enum st demangle_rust(const char *name, struct strbuf *out, struct err *e);
/* Demangles an Itanium name that demangle_itanium cannot, by leaving out its C++20 constraints. The
 * results are those of demangle_itanium; ST_NONE also if the name has no constraints. */
enum st demangle_constrained(const char *name, struct strbuf *out, struct err *e);

#endif
