/* What the ELF files of this module share. */
#ifndef STALLKIT_OBJECT_ELFFILE_PRIVATE_H
#define STALLKIT_OBJECT_ELFFILE_PRIVATE_H

#include "base/err.h"
#include "object/object_private.h"

/* ERR_FORMAT with libelf's reason: "bad WHAT in 'FILE': reason". */
enum st elffile_error(const struct object *o, const char *what, struct err *e);

/* Replaces the architecture "arm" by "armv6", "armv7" … if the file says which. Its sections have
 * been read. */
void elffile_refine_arm(struct object_slice *s);

#endif
