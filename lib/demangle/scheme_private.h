/* Between demangle.c and the schemes behind it. */
#ifndef STALLKIT_DEMANGLE_SCHEME_PRIVATE_H
#define STALLKIT_DEMANGLE_SCHEME_PRIVATE_H

#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

enum {
    DEMANGLE_IN_MAX = 64 * 1024,  /* bytes of a mangled name */
    DEMANGLE_OUT_MAX = 512 * 1024 /* bytes of a readable one */
};

/* Each reads one NUL-terminated name of its scheme and appends the readable form; ST_NONE if it
 * cannot. */
enum st demangle_itanium(const char *name, struct strbuf *out, struct err *e);
enum st demangle_rust(const char *name, struct strbuf *out, struct err *e);
/* For Itanium names that demangle_itanium cannot read: without their constraints. */
enum st demangle_constrained(const char *name, struct strbuf *out, struct err *e);

#endif
