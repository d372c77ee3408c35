/* What the ELF files of this module share. */
#ifndef STALLKIT_OBJECT_ELFFILE_PRIVATE_H
#define STALLKIT_OBJECT_ELFFILE_PRIVATE_H

#include "base/err.h"
#include "object/object_private.h"

/* ERR_FORMAT with libelf's reason: "bad WHAT in 'FILE': reason". */
enum st elffile_error(const struct object *o, const char *what, struct err *e);

#endif
