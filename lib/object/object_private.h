/* What the files of this module share: the bodies of struct object and struct object_slice, and the
 * seams between the format readers (Mach-O, ELF) and what is common to them. */
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

/* Caps. A section inflates to at most OBJECT_INFLATE_RATIO times its compressed size (debug
 * information compresses 2 to 12 times, an empty table of ranges some 200), unless it is small; all
 * sections of a file together to at most OBJECT_INFLATE_TOTAL_RATIO times the file, plus a floor.
 */
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

/* The contents of a packed section: made at most once, then kept until the object closes. */
struct section_inflated {
    pthread_mutex_t lock;
    uint8_t *bytes; /* malloc'ed */
    size_t len;
    struct err err; /* damage is remembered, so that a bad section is inflated once */
};

struct section {
    char segment[17];
    const char *name;       /* as in the file; in the object's arena or its bytes */
    const char *canonical;  /* without dots, underscores and z: "debug_info" */
    uint64_t address, size; /* as loaded; size is the packed one of a packed section */
    uint64_t offset;        /* of its bytes, from the start of the slice */
    bool code, has_bytes;
    enum section_packing packing;
    struct section_inflated *inflated; /* in the arena; NULL = plain */
};

/* Something built at first use under the object's lock. */
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
    struct object *mini; /* the unpacked .gnu_debugdata, which holds names of symbols */
};

/* Where a Mach-O slice keeps its tables: offsets from the start of the slice, 0 sizes = none. */
struct macho_tables {
    uint32_t symbol_offset, symbol_count, string_offset, string_size;
    uint32_t starts_offset, starts_size;
    uint32_t exports_offset, exports_size;
    bool has_linkedit; /* a segment named __LINKEDIT, which holds the tables */
    uint64_t linkedit_address, linkedit_offset;
};

struct object_slice {
    struct object *object;
    enum object_format format;
    char arch[OBJECT_ARCH_TEXT];
    struct image_id id;
    const uint8_t *bytes; /* of the slice, inside the object's */
    size_t size;
    uint64_t origin; /* of the slice in the file */
    unsigned address_size;
    bool big_endian, arm32, has_symbols;
    bool unlinked; /* a compiler's output: Mach-O MH_OBJECT */
    uint64_t base, text_end;
    struct section *sections;
    size_t section_count;
    struct macho_tables macho;
    /* In a dyld cache, the bytes from its __LINKEDIT on, which lie elsewhere, perhaps in another
     * file; a NULL start = in the slice. */
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
    pthread_mutex_t lock; /* guards elf and caches */
    uint64_t inflate_cap; /* bytes that all sections together may inflate to, and .gnu_debugdata */
};

/* As object_open, over the bytes of *map. The call takes *map over: it is released with the object,
 * or at once if opening fails. */
enum st object_open_map(struct object **out, const char *name, struct filemap *map, struct err *e);

/* A reader over the whole slice, in its byte order, that names the file. */
struct reader slice_reader(const struct object_slice *s);
/* A reader over [offset, offset + len) of the slice. ERR_TRUNCATED, naming `what`, if that is not
 * inside. */
enum st slice_part(const struct object_slice *s, uint64_t offset, uint64_t len, const char *what,
                   struct reader *out, struct err *e);

/* ---- format readers: fill o->slices from o->bytes. Statuses as object_open's. ---- */

/* Is this a thin Mach-O header's magic (any size and byte order)? */
bool macho_is_thin(const uint8_t *bytes, size_t len);
/* Is this a universal file's magic? Java's class files have the same one and are told apart later.
 */
bool macho_is_universal(const uint8_t *bytes, size_t len);
enum st macho_open(struct object *o, struct err *e);
enum st macho_open_universal(struct object *o, struct err *e);
/* Reads the headers of a thin Mach-O at [s->bytes, s->size) into s; s->object, bytes, size, origin
 * are set. */
enum st macho_read_slice(struct object_slice *s, struct err *e);
/* Name of a CPU type and subtype of mach/machine.h, "cpu-TYPE-SUBTYPE" if it has none. */
void macho_arch_name(uint32_t cpu_type, uint32_t cpu_subtype, char out[OBJECT_ARCH_TEXT]);

bool elffile_is(const uint8_t *bytes, size_t len);
enum st elffile_open(struct object *o, struct err *e);
void elffile_close(struct object *o);
/* Name of an e_machine ("arm64", "riscv64"), "machine-N" if it has none. */
void elffile_arch_name(uint16_t machine, unsigned address_size, bool big_endian,
                       char out[OBJECT_ARCH_TEXT]);

/* ---- sections ---- */

/* Sets canonical, packing and inflated from name, offset, size. */
enum st section_classify(struct object *o, struct section *sec, bool chdr, struct err *e);
/* The first section of this canonical name that has bytes; NULL if none. */
const struct section *section_by_name(const struct object_slice *s, const char *canonical);
/* Frees what section_classify and inflating made. */
void section_release(struct section *sec);

/* ---- symbols ---- */

/* A code symbol as its format's reader found it. */
struct raw_symbol {
    uint64_t address; /* Thumb bit cleared; inside its section */
    uint64_t size;    /* 0 = unknown */
    uint64_t limit;   /* end of its section */
    const char *name;
    uint32_t order; /* in the file */
    bool global, typed;
};
typedef VEC(struct raw_symbol) raw_symbols;

/* Names of a string table: which offsets are safe to hand out as C strings. */
struct string_table {
    const char *bytes;
    size_t usable; /* offsets below it are followed by a NUL */
};
struct string_table string_table_init(const uint8_t *bytes, size_t len);
/* NULL if the offset lies outside. */
const char *string_table_get(const struct string_table *t, uint64_t offset);

/* Read the symbols of a slice; the object's lock is held. A symbol that is damaged is left out. */
enum st macho_read_symbols(const struct object_slice *s, raw_symbols *out, struct err *e);
enum st elffile_read_symbols(const struct object_slice *s, raw_symbols *out, struct err *e);
/* LC_FUNCTION_STARTS as a malloc'ed array; ST_NONE: none. */
enum st macho_read_starts(const struct object_slice *s, uint64_t **out, size_t *count,
                          struct err *e);
/* Appends the code symbols among `count` entries of the slice's word size, which `table` holds.
 * ST_ERR: out of memory. Never ST_NONE. */
enum st macho_read_entries(const struct object_slice *s, struct reader table, uint32_t count,
                           const struct string_table *names, raw_symbols *out, struct err *e);
/* Bytes of an entry of a symbol table. */
unsigned macho_entry_size(const struct object_slice *s);
/* A reader over a table of struct macho_tables. ERR_TRUNCATED, naming `what`, if it lies outside.
 */
enum st macho_table_part(const struct object_slice *s, uint64_t offset, uint64_t len,
                         const char *what, struct reader *out, struct err *e);
/* A name as the linker has it, without the underscore that C puts in front. */
const char *macho_plain_name(const char *name);

#endif
