/* Reads binaries: Mach-O (thin, universal, dSYM companion) or ELF, as slices with an identity,
 * segments, sections and symbols. One file has any number of slices (architectures). */
#ifndef STALLKIT_OBJECT_OBJECT_H
#define STALLKIT_OBJECT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"
#include "object/bcsymbolmap.h"

struct object;       /* an open file */
struct object_slice; /* one architecture of an object; lives as long as the object */

enum object_format { OBJECT_MACHO = 1, OBJECT_ELF };

/* Opens a file. ST_NONE: it is no object file; a Java class file, an archive and a core dump are
 * none either. ST_ERR: its headers are damaged, it cannot be read, or there is no such file
 * (ERR_IO). A damaged slice of a universal file is left out, and object_damage gives the error.
 * Damage after the headers is an error of the section or table that it hits. Several threads may
 * use an open object: it does not change, and tables that are built at first use (inflated
 * sections, symbols, function starts) are guarded by a lock. */
enum st object_open(struct object **out, const char *path, struct err *e) BASE_MUST_USE;
/* Opens bytes, which the caller keeps alive, as object_open does a file; name is for messages and
 * copied. */
enum st object_open_bytes(struct object **out, const char *name, const void *bytes, size_t len,
                          struct err *e) BASE_MUST_USE;
/* Closes the object and frees its slices; o may be NULL. */
void object_close(struct object *o);

const char *object_path(const struct object *o);
/* Returns the text of the first damage that cost a slice, or NULL. */
const char *object_damage(const struct object *o);
size_t object_slice_count(const struct object *o);
/* Returns slice i; NULL if i is not below the count. */
const struct object_slice *object_slice(const struct object *o, size_t i);
/* Return the slice of this architecture (arch names: i386, x86_64, x86_64h, armv6, armv7, armv7s,
 * armv7k, arm64, arm64e, arm64_32, aarch64 = arm64, …), or of this id; NULL if there is none. A
 * zero id matches nothing. */
const struct object_slice *object_slice_by_arch(const struct object *o, const char *arch);
const struct object_slice *object_slice_by_id(const struct object *o, const struct image_id *id);

/* Do two names stand for one architecture ("aarch64" and "arm64")? */
bool object_arch_equal(const char *a, const char *b);

/* Returns all bytes of the file that the slice is in; they live as long as the object. */
const uint8_t *object_slice_file(const struct object_slice *s, size_t *len);
/* Returns the path of the slice's file (in an archive ARCHIVE/MEMBER), for messages; it lives as
 * long as the object. */
const char *object_slice_path(const struct object_slice *s);
enum object_format object_slice_format(const struct object_slice *s);
const char *object_slice_arch(const struct object_slice *s);
const struct image_id *object_slice_id(const struct object_slice *s);
/* Return the slice's address size in bytes, 4 or 8, and its byte order. */
unsigned object_slice_address_size(const struct object_slice *s);
bool object_slice_big_endian(const struct object_slice *s);
/* Is the slice 32-bit ARM, where bit 0 of a code address marks Thumb? */
bool object_slice_is_arm32(const struct object_slice *s);
/* Returns the file's own base: vmaddr of __TEXT, or the lowest PT_LOAD page-truncated, or of an
 * unlinked file the lowest address of its code (stallkit-design(7), ADDRESS RULES, 1). */
uint64_t object_slice_base(const struct object_slice *s);
/* Returns the first address above all code, which is above __TEXT and all sections with code
 * (Mach-O), the executable PT_LOADs (linked ELF) or the sections with code (unlinked ELF): an
 * address at or above it is no code. */
uint64_t object_slice_text_end(const struct object_slice *s);

/* Is the slice an ELF file with code that is not linked (.o, .ko), in which each section counts
 * addresses from 0? Its file addresses are then assigned here: code begins at the base, in the
 * layout of Linux's module loader (kernel/module/main.c, layout_sections), so that an offset in the
 * code of a loaded module is the same offset from the base. object_section_info tells where each
 * section is. */
bool object_has_section_offsets(const struct object_slice *s);

/* Finds a section by its name without the dot or underscores in front ("debug_info",
 * "debug_line_str", "eh_frame", "text"). *bytes are inflated if compressed (SHF_COMPRESSED zlib and
 * zstd, .zdebug_*, __zdebug_*), relocated if the file is not linked (but not code), and live as
 * long as the object; *address (may be NULL) is the section's. ST_NONE: no such section, or it has
 * no bytes in this file. ST_ERR: its bytes lie past the end of the file, or they or its relocations
 * are damaged or too many, or out of memory. */
enum st object_section(const struct object_slice *s, const char *name, const uint8_t **bytes,
                       size_t *len, uint64_t *address, struct err *e) BASE_MUST_USE;
/* Gives the relocations that could not be applied to a section which object_section returned: their
 * offsets in it, ascending (the bytes there are not to be trusted), and the first error. A
 * relocation outside of the section has the offset UINT64_MAX. All live as long as the object.
 * ST_NONE: all were applied. Never ST_ERR. */
enum st object_relocation_failures(const struct object_slice *s, const char *name,
                                   const uint64_t **offsets, size_t *count, const char **why);
/* Does the slice have a non-empty debug_info? It is not inflated for this. */
bool object_has_dwarf(const struct object_slice *s);

/* Does the slice have a symbol table? It is not read for this, and may still name no code. */
bool object_has_symbols(const struct object_slice *s);

/* Does the slice have names that Apple's bitcode compiler hid ("__hidden#12_")? Only the beginning
 * of its strings is searched: all files of a build have such names, or none. ST_NONE: the slice has
 * none, or its strings cannot be read. ST_ERR: out of memory. */
enum st object_hides_names(const struct object_slice *s, struct err *e) BASE_MUST_USE;
/* Gives the slice a map of its hidden names, which it takes over; to be called before symbols or
 * DWARF are read. If the slice has a map, the new one is only closed. */
void object_use_bcsymbolmap(const struct object_slice *s, struct bcsymbolmap *map);
/* Returns the slice's map of hidden names; NULL = none. */
const struct bcsymbolmap *object_bcsymbolmap(const struct object_slice *s);
/* Returns how many symbols and aliases of the slice still have hidden names; object_symbols must
 * have been called. */
size_t object_hidden_symbols(const struct object_slice *s);

/* A function symbol: [address, address + size), where the end follows from the size that an ELF
 * file or a stab gives, else is the next function start or symbol, and at most the section's end
 * (stallkit-design(7), ADDRESS RULES, 4). */
struct object_symbol {
    uint64_t address; /* Thumb bit cleared */
    uint64_t size;    /* > 0 */
    /* Name as in the file, without Mach-O's leading underscore; lives as long as the object. */
    const char *name;
};

/* Gives the code symbols sorted by address, one per address: of aliases the largest is kept, of
 * equally large ones a global one, then the last in the file (llvm-symbolizer's choice). Built once
 * and kept. Mach-O: N_SECT symbols in sections with instructions, no stabs (but the sizes in N_FUN
 * stabs are used), no private labels; ELF: STT_FUNC / GNU_IFUNC / untyped code symbols of symtab,
 * else of dynsym and .gnu_debugdata, no mapping symbols, no labels without type and size inside a
 * sized function. An ELF function of known size may contain the next symbol: the symbol of an
 * address is the last one that starts at or before it, if it reaches that far. A symbol whose
 * record is damaged is left out. ST_NONE: no symbol. ST_ERR: a table is damaged, or out of memory.
 */
enum st object_symbols(const struct object_slice *s, const struct object_symbol **out,
                       size_t *count, struct err *e) BASE_MUST_USE;
/* Longest name, in bytes without the NUL, that is taken from a symbol by code that copies or
 * compares names, which checks the length: object_symbols gives longer ones, too. Symbols may share
 * the bytes of their names, so that a small file spells many long ones. */
enum { OBJECT_NAME_MAX = 1 << 16 };

/* Another name of a symbol of object_symbols. */
struct object_alias {
    uint64_t address;
    const char *name; /* name as in the file, like object_symbol.name */
};
/* Gives the names that object_symbols left out because another symbol begins at the same address,
 * sorted by address and name. Names of more than OBJECT_NAME_MAX bytes are left out, and so are the
 * further ones as soon as all together have four times the slice's bytes plus 4 MiB. Builds the
 * symbols if need be. ST_NONE: there are none. ST_ERR as object_symbols. */
enum st object_aliases(const struct object_slice *s, const struct object_alias **out, size_t *count,
                       struct err *e) BASE_MUST_USE;
/* Gives the function starts (LC_FUNCTION_STARTS): ascending file addresses with Thumb bits cleared,
 * built once and kept. ST_NONE: the slice has none. ST_ERR: they are damaged, or out of memory. */
enum st object_function_starts(const struct object_slice *s, const uint64_t **out, size_t *count,
                               struct err *e) BASE_MUST_USE;

struct object_extent {
    uint64_t low, high; /* file addresses, [low, high), not empty */
};
/* Gives the extents of the slice's functions, named or not. ELF: the entries of .eh_frame, where
 * the cold part of a function has an entry of its own, and so has each entry of a procedure linkage
 * table (x86; elsewhere these have none); Mach-O: LC_FUNCTION_STARTS, a function ends where the
 * next one starts, or at the end of its section. Ascending, disjoint, inside of sections with code;
 * built once and kept. A damaged table costs only what is after the damage. ST_NONE: the slice has
 * none. ST_ERR: out of memory. */
enum st object_function_extents(const struct object_slice *s, const struct object_extent **out,
                                size_t *count, struct err *e) BASE_MUST_USE;

/* A debugger's entry of a Mach-O symbol table (<mach-o/stab.h>). */
struct object_stab {
    const char *name; /* as in the file; lives as long as the object */
    uint64_t value;
    uint8_t type;    /* n_type: STAB_FUNCTION … */
    uint8_t section; /* number of the stab's section from 1 on; 0 = none */
};
enum { STAB_FUNCTION = 0x24, STAB_OBJECT_FILE = 0x66 }; /* N_FUN, N_OSO */
/* Callback for a stab; returns false if memory ran out. */
typedef bool (*object_stab_visit)(void *ctx, const struct object_stab *stab);
/* Calls visit for each stab of the slice in the order of the symbol table; one whose name lies
 * outside of the string table is left out. ST_NONE: there is no symbol table, or the file is no
 * Mach-O. ST_ERR: a table lies outside of the file, or out of memory. */
enum st object_stabs(const struct object_slice *s, object_stab_visit visit, void *ctx,
                     struct err *e) BASE_MUST_USE;

/* Gives the addresses at which a linker may split the code of an unlinked Mach-O file: those of all
 * symbols in sections with code, private labels too, and the ends of these sections; ascending, in
 * an array that the caller frees. ST_NONE: there is no symbol table, or the file is no Mach-O.
 * ST_ERR as object_stabs. */
enum st object_code_bounds(const struct object_slice *s, uint64_t **out, size_t *count,
                           struct err *e) BASE_MUST_USE;

/* Read the links in an ELF file: file name and CRC-32 in .gnu_debuglink, name and id of the
 * supplementary file in .gnu_debugaltlink or DWARF 5's .debug_sup. The names live as long as the
 * object. ST_NONE: the section is absent, or the file is no ELF file. ST_ERR: the section is
 * damaged, or out of memory. */
enum st object_debuglink(const struct object_slice *s, const char **name, uint32_t *crc,
                         struct err *e);
enum st object_debugaltlink(const struct object_slice *s, const char **name, struct image_id *id,
                            struct err *e);

/* A section, for tools that show or test sections; they have numbers from 0 to count - 1. */
struct object_section_info {
    char segment[17]; /* "" in ELF */
    const char *name; /* as in the file; lives as long as the object */
    uint64_t address, size;
    bool code;
};
size_t object_section_count(const struct object_slice *s);
bool object_section_info(const struct object_slice *s, size_t i, struct object_section_info *out);

#endif
