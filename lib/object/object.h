/* What a binary is: Mach-O (thin, universal, dSYM companion) or ELF, as slices with an identity,
 * segments, sections and symbols. One file, any number of slices (architectures). */
#ifndef STALLKIT_OBJECT_OBJECT_H
#define STALLKIT_OBJECT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"

struct object;       /* an open file */
struct object_slice; /* one architecture of it; lives as long as its object */

enum object_format { OBJECT_MACHO = 1, OBJECT_ELF };

/* Opens a file. ST_NONE: it is no object file (Java's 0xCAFEBABE, an archive and a core dump are
 * none). ST_ERR: it is one, and its headers are damaged; it is not linked yet (ELF ET_REL:
 * ERR_UNSUPPORTED, its code has no addresses); or it cannot be read. Damage in one slice of a
 * universal file costs that slice: it is then absent, and object_damage tells. Damage behind the
 * headers is an error of the section or table that it hits. An object is immutable once open, but
 * for what is built at first use and kept (inflated sections, symbols, function starts), which is
 * guarded: several threads may use it. */
enum st object_open(struct object **out, const char *path, struct err *e) BASE_MUST_USE;
/* As object_open over bytes that the caller keeps alive; name is for messages and copied. */
enum st object_open_bytes(struct object **out, const char *name, const void *bytes, size_t len,
                          struct err *e) BASE_MUST_USE;
/* NULL is allowed. */
void object_close(struct object *o);

const char *object_path(const struct object *o);
/* Text of the first damage that cost a slice, or NULL. */
const char *object_damage(const struct object *o);
size_t object_slice_count(const struct object *o);
const struct object_slice *object_slice(const struct object *o, size_t i);
/* The slice of this architecture (arch names: i386, x86_64, x86_64h, armv6, armv7, armv7s, armv7k,
 * arm64, arm64e, arm64_32, aarch64 = arm64, …), or of this id; NULL if there is none. A zero id
 * matches nothing. */
const struct object_slice *object_slice_by_arch(const struct object *o, const char *arch);
const struct object_slice *object_slice_by_id(const struct object *o, const struct image_id *id);

/* Do two names stand for one architecture ("aarch64" and "arm64")? */
bool object_arch_equal(const char *a, const char *b);

/* All bytes of the file that it is in; they live as long as the object. */
const uint8_t *object_slice_file(const struct object_slice *s, size_t *len);
/* The path of the file it is in (in an archive ARCHIVE/MEMBER), for messages; lives as long as the
 * object. */
const char *object_slice_path(const struct object_slice *s);
enum object_format object_slice_format(const struct object_slice *s);
const char *object_slice_arch(const struct object_slice *s);
const struct image_id *object_slice_id(const struct object_slice *s);
/* Bytes of an address: 4 or 8. Byte order. */
unsigned object_slice_address_size(const struct object_slice *s);
bool object_slice_big_endian(const struct object_slice *s);
/* Is it 32-bit ARM, where bit 0 of a code address marks Thumb? */
bool object_slice_is_arm32(const struct object_slice *s);
/* The file's own base: vmaddr of __TEXT, or the lowest PT_LOAD page-truncated (stallkit-design(7),
 * ADDRESS RULES, 1). */
uint64_t object_slice_base(const struct object_slice *s);
/* First address past the text segment / the last executable PT_LOAD: an address at or beyond it is
 * no code. */
uint64_t object_slice_text_end(const struct object_slice *s);

/* A section by its DWARF name without dots or underscores ("debug_info", "debug_line_str",
 * "eh_frame", "text"): bytes, inflated if compressed (SHF_COMPRESSED zlib and zstd, .zdebug_*,
 * __zdebug_*) and kept by the object until it is closed, and its address. ST_NONE: there is none
 * (or it has no bytes in this file). */
enum st object_section(const struct object_slice *s, const char *name, const uint8_t **bytes,
                       size_t *len, uint64_t *address, struct err *e) BASE_MUST_USE;
/* Does it have a non-empty debug_info, without inflating it? */
bool object_has_dwarf(const struct object_slice *s);

/* Does it have a symbol table, without reading it? (It may still name no code.) */
bool object_has_symbols(const struct object_slice *s);

/* A function symbol: [address, address + size), where the end is the next function start, symbol,
 * or the section's end (stallkit-design(7), ADDRESS RULES, 4). */
struct object_symbol {
    uint64_t address; /* Thumb bit cleared */
    uint64_t size;    /* > 0 */
    /* As in the file, without Mach-O's leading underscore; lives as long as the object. */
    const char *name;
};

/* Code symbols sorted by address, one per address: of aliases the largest keeps its name, then a
 * global one, then the last in the file (llvm-symbolizer's choice). Built once and kept. Mach-O:
 * N_SECT symbols in sections with instructions, no stabs (N_FUN stabs' sizes are used where there
 * are any), no private labels; ELF: STT_FUNC / GNU_IFUNC / untyped code symbols of symtab, else
 * dynsym, no mapping symbols, no untyped labels inside a sized function. An ELF function of known
 * size may contain the next symbol: the symbol of an address is the last one that starts at or
 * before it, if it reaches that far. A symbol whose record is damaged is left out. ST_NONE: no
 * symbol. */
enum st object_symbols(const struct object_slice *s, const struct object_symbol **out,
                       size_t *count, struct err *e) BASE_MUST_USE;
/* Another name of a symbol of object_symbols. */
struct object_alias {
    uint64_t address;
    const char *name; /* as object_symbol.name */
};
/* The names that object_symbols left out because another symbol begins at the same address, by
 * address and name. It builds the symbols if need be. ST_NONE: there are none. */
enum st object_aliases(const struct object_slice *s, const struct object_alias **out, size_t *count,
                       struct err *e) BASE_MUST_USE;
/* Function starts (LC_FUNCTION_STARTS), ascending absolute file addresses with Thumb bits cleared,
 * built once and kept. ST_NONE: none. */
enum st object_function_starts(const struct object_slice *s, const uint64_t **out, size_t *count,
                               struct err *e) BASE_MUST_USE;

struct object_extent {
    uint64_t low, high; /* file addresses, [low, high), not empty */
};
/* Where the file's functions lie, named or not, for whoever has no better answer: ELF: the entries
 * of .eh_frame, of which the cold part of a function has one of its own; Mach-O: LC_FUNCTION_STARTS
 * and __unwind_info, a function ends where the next one starts. Ascending, disjoint, inside of
 * sections with code; built once and kept. A damaged table costs what is behind the damage.
 * ST_NONE: none. ST_ERR: out of memory. */
enum st object_function_extents(const struct object_slice *s, const struct object_extent **out,
                                size_t *count, struct err *e) BASE_MUST_USE;

/* A debugger's entry of a Mach-O symbol table (<mach-o/stab.h>). */
struct object_stab {
    const char *name; /* as in the file; lives as long as the object */
    uint64_t value;
    uint8_t type;    /* STAB_FUNCTION … */
    uint8_t section; /* its number from 1 on; 0 = none */
};
enum { STAB_FUNCTION = 0x24, STAB_OBJECT_FILE = 0x66 }; /* N_FUN, N_OSO */
/* False: memory ran out. */
typedef bool (*object_stab_visit)(void *ctx, const struct object_stab *stab);
/* Calls visit for each such entry in the order of the table; one whose name lies outside of the
 * string table is left out. ST_NONE: there is no symbol table, or the file is no Mach-O. */
enum st object_stabs(const struct object_slice *s, object_stab_visit visit, void *ctx,
                     struct err *e) BASE_MUST_USE;

/* ELF: file name and CRC of .gnu_debuglink, name and id of the supplementary file that
 * .gnu_debugaltlink or DWARF 5's .debug_sup names; the names live as long as the object. ST_NONE:
 * none. */
enum st object_debuglink(const struct object_slice *s, const char **name, uint32_t *crc,
                         struct err *e);
enum st object_debugaltlink(const struct object_slice *s, const char **name, struct image_id *id,
                            struct err *e);

/* Sections, for tools that show or test them: index 0 … count-1. */
struct object_section_info {
    char segment[17]; /* "" in ELF */
    char name[64];    /* as in the file */
    uint64_t address, size;
    bool code;
};
size_t object_section_count(const struct object_slice *s);
bool object_section_info(const struct object_slice *s, size_t i, struct object_section_info *out);

#endif
