/* What the ELF files of this module share. */
#ifndef STALLKIT_OBJECT_ELFFILE_PRIVATE_H
#define STALLKIT_OBJECT_ELFFILE_PRIVATE_H

#include <stdbool.h>

#include "base/err.h"
#include "object/object_private.h"

/* ERR_FORMAT with libelf's reason: "bad WHAT in 'FILE': reason". */
enum st elffile_error(const struct object *o, const char *what, struct err *e);

/* Mapping symbols of the ARM ELF ABI (AAELF32 §5.5.5, AAELF64 §5.7.1) and the RISC-V psABI: $a, $d,
 * $t, $x, with a suffix or an instruction set behind, mark the kind of the bytes and name nothing.
 */
bool elffile_is_mapping_symbol(const char *name);
/* STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE? */
bool elffile_is_code_type(unsigned type);

/* The symbols that the dynamic linker uses, found through PT_DYNAMIC, of a file without section
 * headers. ST_NONE: none. */
enum st elffile_read_dynamic(const struct object_slice *s, raw_symbols *out, struct err *e);

/* The checksum of a DWARF 5 supplementary file, by which other files refer to it. ST_NONE: it is
 * none. Its sections have been read. */
enum st elffile_supplement_id(const struct object_slice *s, struct image_id *id, struct err *e);

/* Replaces the architecture "arm" by "armv6", "armv7" … if the file says which. Its sections have
 * been read. */
void elffile_refine_arm(struct object_slice *s);

#endif
