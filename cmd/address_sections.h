/* Finds the sections from whose starts stalladdr's addresses count. */
#ifndef STALLKIT_CMD_ADDRESS_SECTIONS_H
#define STALLKIT_CMD_ADDRESS_SECTIONS_H

#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"
#include "object/object.h"
#include "symbolize/address_answers.h"

/* The sections of one object. Zero-initialised = none. */
struct address_sections {
    /* Sections from whose starts addresses count; if it is empty, addresses are file addresses. */
    VEC(struct address_section) counted;
    VEC(struct address_section)
    unlinked; /* all sections with code, of a file that is not linked; else none */
};

/* Finds the sections of s from whose starts addresses count. name is the section in which the
 * addresses lie. If name is NULL, addresses of a file that is not linked count from the first
 * section with code that is long enough, as in llvm-symbolizer, and those of any other file are
 * file addresses. ST_NONE: s has no section of that name. ST_ERR: out of memory. */
enum st address_sections_find(struct address_sections *out, const struct object_slice *s,
                              const char *name, struct err *e) BASE_MUST_USE;
/* Frees the lists. */
void address_sections_release(struct address_sections *a);

#endif
