/* Private to lib/object: the bodies of struct object and struct object_slice, and the interface
 * between the format readers (Mach-O, ELF) and the code that they share. */
#ifndef STALLKIT_OBJECT_PRIVATE_H
#define STALLKIT_OBJECT_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/filemap.h"
#include "base/parse.h"
#include "base/reader.h"
#include "base/vec.h"
#include "object/object.h"
#include "object/relocate.h"

/* Caps. A section inflates to at most OBJECT_INFLATE_RATIO times its compressed size (debug
 * information compresses 2 to 12 times, an empty table of ranges some 200) or OBJECT_INFLATE_SMALL
 * bytes, whichever is more; all sections of a file together to at most OBJECT_INFLATE_TOTAL_RATIO
 * times the file plus OBJECT_INFLATE_TOTAL_FLOOR bytes. */
enum {
    OBJECT_INFLATE_RATIO = 256,
    OBJECT_INFLATE_SMALL = 16 << 20,
    OBJECT_INFLATE_TOTAL_RATIO = 64,
    OBJECT_INFLATE_TOTAL_FLOOR = 256 << 20,
    OBJECT_ARCH_TEXT = 24,
};

enum section_packing {
    SECTION_PLAIN,
    SECTION_CHDR, /* SHF_COMPRESSED: an Elf32_Chdr or Elf64_Chdr in front */
    SECTION_GNU   /* .zdebug_*, __zdebug_*: "ZLIB", the size as big-endian u64, a zlib stream */
};

/* The contents of a section that differ from the file's bytes, because they are inflated, joined or
 * relocated. They are made at most once, and kept until the object closes. */
struct section_made {
    pthread_mutex_t lock;
    uint8_t *bytes; /* malloc'ed; NULL = not made yet */
    size_t len;
    /* Error of the first attempt, kept so that a damaged section is not unpacked again; lack of
     * memory is not kept. */
    struct err err;
    struct relocation_failures failures;
};

struct section {
    char segment[17];
    const char *name;       /* as in the file; in the object's arena or its bytes */
    const char *canonical;  /* without the dot, underscores or z in front, and completed if Mach-O
                               cut it: "debug_info" */
    uint64_t address, size; /* address: in memory; size: in bytes, of the packed form if the section
                               is packed */
    uint64_t offset;        /* offset of the section's bytes from the start of the slice */
    bool code, has_bytes;
    bool loaded; /* ELF: SHF_ALLOC, so it lies in memory when loaded */
    bool joined; /* ELF: a later section of the same name continues this one */
    enum section_packing packing;
    uint32_t type, link, info; /* ELF: sh_type, sh_link, sh_info */
    uint64_t alignment;        /* ELF: sh_addralign */
    uint64_t entry_size;       /* ELF: sh_entsize */
    /* ELF, not linked: 1 + the number of another section, 0 = none. In a section: its first table
     * of relocations. In a table of relocations: the next table for the same section. In a symbol
     * table: its table of wide section indexes. */
    uint32_t next_table;
    uint32_t relocation_offset, relocation_count; /* Mach-O */
    struct section_made *made; /* in the arena; NULL = the contents are the file's bytes */
};

/* A table that is built at first use, and read and set under the object's lock. */
struct lazy_table {
    bool built;
    enum st st;
    struct err err;
    void *data; /* malloc'ed */
    size_t count;
};

/* Facts that a slice computes after it was opened; a struct of its own, because slices are const to
 * callers. */
struct slice_cache {
    struct lazy_table symbols, starts;
    struct lazy_table extents;    /* data: struct object_extent */
    struct object_alias *aliases; /* malloc'ed, built with the symbols */
    size_t alias_count;
    struct bcsymbolmap *names; /* map of hidden names; NULL = none */
    bool names_sought;         /* finder_give_names looked for the map */
    size_t hidden;             /* number of symbols and aliases whose names are still hidden */
    struct object *mini;       /* the unpacked .gnu_debugdata, which holds names of symbols */
};

/* Places of a Mach-O slice's tables: offsets from the start of the slice; size 0 = no such table.
 */
struct macho_tables {
    uint32_t symbol_offset, symbol_count, string_offset, string_size;
    uint32_t starts_offset, starts_size;
    uint32_t exports_offset, exports_size;
    bool has_linkedit; /* there is a segment __LINKEDIT, which holds the tables */
    uint64_t linkedit_address, linkedit_offset;
};

struct object_slice {
    struct object *object;
    enum object_format format;
    char arch[OBJECT_ARCH_TEXT];
    struct image_id id;
    const uint8_t *bytes; /* bytes of the slice, inside the object's bytes */
    size_t size;
    uint64_t origin; /* offset of the slice in the file */
    unsigned address_size;
    bool big_endian, arm32, has_symbols;
    bool unlinked;    /* Mach-O MH_OBJECT, ELF ET_REL */
    bool laid_out;    /* elffile_layout.c gave the sections their addresses */
    uint32_t machine; /* ELF: e_machine; Mach-O: cputype */
    uint64_t base, text_end;
    struct section *sections;
    size_t section_count;
    struct macho_tables macho;
    /* In a dyld cache, a reader from the start of segment __LINKEDIT, which lies elsewhere, perhaps
     * in another file; start NULL = the slice's tables are in the slice. */
    struct reader linkedit;
    struct slice_cache *cache;
};

struct object {
    char *path;         /* in the arena */
    struct filemap map; /* empty when the caller owns the bytes */
    const uint8_t *bytes;
    size_t size;
    struct arena arena; /* filled while opening, constant afterwards */
    struct object_slice *slices;
    size_t slice_count;
    struct err damage;
    struct Elf *elf;      /* libelf's handle, NULL for Mach-O; used under the lock */
    pthread_mutex_t lock; /* guards elf, once the object is open, and the tables of slice caches */
    /* limit in bytes for all inflated sections together, and for .gnu_debugdata */
    uint64_t inflate_cap;
};

/* Opens the bytes of *map as object_open does a file. The call takes *map over: it is released with
 * the object, or at once if opening fails. */
enum st object_open_map(struct object **out, const char *name, struct filemap *map, struct err *e);

/* Returns a reader over the whole slice, in its byte order, that names the file in errors. */
struct reader slice_reader(const struct object_slice *s);
/* Makes a reader over [offset, offset + len) of the slice. ERR_TRUNCATED, with `what` in the
 * message: the range is not inside the slice. */
enum st slice_part(const struct object_slice *s, uint64_t offset, uint64_t len, const char *what,
                   struct reader *out, struct err *e);

/* ---- format readers: fill o->slices from o->bytes. Statuses as object_open's. ---- */

/* Do the bytes begin with a thin Mach-O's magic (of any word size and byte order)? */
bool macho_is_thin(const uint8_t *bytes, size_t len);
/* Do the bytes begin with a universal file's magic? False for Java's class files, which have the
 * same magic. */
bool macho_is_universal(const uint8_t *bytes, size_t len);
enum st macho_open(struct object *o, struct err *e);
enum st macho_open_universal(struct object *o, struct err *e);
/* Reads the headers of a thin Mach-O of s->size bytes at s->bytes into s; s->object, bytes, size,
 * origin are set. */
enum st macho_read_slice(struct object_slice *s, struct err *e);
/* Writes the name of a CPU type and subtype of mach/machine.h, "cpu-TYPE-SUBTYPE" if it has none.
 */
void macho_arch_name(uint32_t cpu_type, uint32_t cpu_subtype, char out[OBJECT_ARCH_TEXT]);

bool elffile_is(const uint8_t *bytes, size_t len);
enum st elffile_open(struct object *o, struct err *e);
void elffile_close(struct object *o);
/* Writes the name of an e_machine ("arm64", "riscv64"), "machine-N" if it has none. */
void elffile_arch_name(uint16_t machine, unsigned address_size, bool big_endian,
                       char out[OBJECT_ARCH_TEXT]);

/* ---- sections ---- */

/* Sets a section's canonical name and packing from its name and segment, and allocates made if it
 * is packed and has bytes in the file. chdr: the section has SHF_COMPRESSED. ST_ERR: out of memory.
 */
enum st section_classify(struct object *o, struct section *sec, bool chdr, struct err *e);
/* Allocates sec->made, for contents that differ from the file's bytes, unless it is allocated. */
enum st section_will_be_made(struct object *o, struct section *sec, struct err *e);
/* Returns the size in bytes of a section's inflated contents; if the header of a packed section is
 * damaged, that of the packed bytes. */
uint64_t section_size(const struct object_slice *s, const struct section *sec);
/* Returns the first section of this canonical name that has bytes; NULL if there is none. */
const struct section *section_by_name(const struct object_slice *s, const char *canonical);
/* Frees sec->made with the contents that object_section made. */
void section_release(struct section *sec);

/* Apply the relocations of one section to its bytes, which r holds. ST_ERR: the relocations cannot
 * be read, are too many (ERR_LIMIT), or out of memory. Never ST_NONE. */
enum st elffile_relocate(const struct object_slice *s, const struct section *target,
                         struct relocating *r, struct err *e);
enum st macho_relocate(const struct object_slice *s, const struct section *target,
                       struct relocating *r, struct err *e);
/* Has a section relocations that change its bytes? True also if the relocations lie past the end of
 * the file. Most sections of Mach-O files have none. */
bool macho_has_relocations(const struct object_slice *s, const struct section *target);

/* ---- symbols ---- */

/* A code symbol as its format's reader found it. */
struct raw_symbol {
    uint64_t address; /* file address, in the symbol's section; Thumb bit cleared */
    uint64_t size;    /* 0 = unknown */
    uint64_t
        limit; /* end of the symbol's section; of its segment in a file without section headers */
    const char *name;
    uint32_t order; /* place in the symbol table */
    bool global, typed;
};
typedef VEC(struct raw_symbol) raw_symbols;

/* The names of a string table, of which only terminated ones are handed out as C strings. */
struct string_table {
    const char *bytes;
    size_t usable; /* a name that begins below this offset has a NUL at its end */
};
struct string_table string_table_init(const uint8_t *bytes, size_t len);
/* Returns the name at an offset; NULL if the offset lies outside, or the name has no NUL at its
 * end. */
const char *string_table_get(const struct string_table *t, uint64_t offset);

/* Append the code symbols of a slice to *out, which must be empty for ELF; no other thread may use
 * the object (its lock is held, or it is not shared). A damaged symbol is left out; a damaged table
 * is ST_ERR. ST_NONE (Mach-O only): no symbol table. */
enum st macho_read_symbols(const struct object_slice *s, raw_symbols *out, struct err *e);
enum st elffile_read_symbols(const struct object_slice *s, raw_symbols *out, struct err *e);
/* Reads LC_FUNCTION_STARTS into a malloc'ed array of addresses. ST_NONE: there are none. ST_ERR:
 * they are damaged, or out of memory; *out is not set then. */
enum st macho_read_starts(const struct object_slice *s, uint64_t **out, size_t *count,
                          struct err *e);
/* Appends the code symbols among the first `count` entries of `table`, which have the slice's word
 * size. ST_ERR: out of memory. Never ST_NONE. */
enum st macho_read_entries(const struct object_slice *s, struct reader table, uint32_t count,
                           const struct string_table *names, raw_symbols *out, struct err *e);
/* Returns the size in bytes of an entry of the slice's symbol table. */
unsigned macho_entry_size(const struct object_slice *s);
/* Makes a reader over a part of a table of struct macho_tables. ERR_TRUNCATED, with `what` in the
 * message: the part lies outside of the slice or of __LINKEDIT. */
enum st macho_table_part(const struct object_slice *s, uint64_t offset, uint64_t len,
                         const char *what, struct reader *out, struct err *e);
/* Returns a linker's name without the underscore that C puts in front. */
const char *macho_plain_name(const char *name);
/* Does the beginning of the strings of symbols or of DWARF have a hidden name? ST_NONE: it does
 * not. ST_ERR: out of memory. */
enum st macho_hides_names(const struct object_slice *s, struct err *e);

#endif
