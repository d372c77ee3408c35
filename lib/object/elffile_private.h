/* Functions that the elffile_*.c files share, private to lib/object. */
#ifndef STALLKIT_OBJECT_ELFFILE_PRIVATE_H
#define STALLKIT_OBJECT_ELFFILE_PRIVATE_H

#include <stdbool.h>

#include "base/err.h"
#include "object/object_private.h"
#include "object/relocate.h"

/* Did libelf run out of memory since the caller set errno to 0? Neither its results nor its public
 * error numbers show it. */
bool elffile_lacked_memory(void);
/* Fails with ERR_NOMEM if libelf lacked memory, else with ERR_FORMAT: "bad WHAT in 'FILE': reason".
 */
enum st elffile_error(const struct object *o, const char *what, struct err *e);

/* Is the name that of a mapping symbol (ARM ELF ABI: AAELF32 §5.5.5, AAELF64 §5.7.1; RISC-V psABI)?
 * These are $a, $d, $t and $x, alone or with a suffix or an instruction set appended; they mark the
 * kind of the bytes and name nothing. Any name that begins so counts as one. */
bool elffile_is_mapping_symbol(const char *name);
/* Is the symbol type one that can name code: STT_FUNC, STT_GNU_IFUNC or STT_NOTYPE? */
bool elffile_is_code_type(unsigned type);

/* Appends the symbols of a file without section headers, which are found through PT_DYNAMIC as by
 * the dynamic linker. ST_NONE: the file has none. */
enum st elffile_read_dynamic(const struct object_slice *s, raw_symbols *out, struct err *e);

/* Reads the checksum of a DWARF 5 supplementary file, by which other files refer to it. ST_NONE:
 * the file is not supplementary. The slice's sections must have been read before. */
enum st elffile_supplement_id(const struct object_slice *s, struct image_id *id, struct err *e);

/* Replaces the architecture "arm" by "armv6", "armv7" … if section .ARM.attributes has the version.
 * The slice's sections must have been read before. ST_ERR: out of memory. Never ST_NONE. */
enum st elffile_refine_arm(struct object_slice *s, struct err *e);

/* Gives the sections of an unlinked file addresses if they have none, sets base and text_end, joins
 * debug sections of one name, and finds out which sections have relocations. The slice's sections
 * must have been read before. */
enum st elffile_lay_out(struct object_slice *s, struct err *e);
enum { ELFFILE_CREL = 0x40000014 }; /* SHT_CREL, a packed form of relocations, newer than elf.h */
bool elffile_is_relocation_table(const struct section *sec);

#endif
