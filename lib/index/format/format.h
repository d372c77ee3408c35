/* The file format of the symbol index; stall-index(5) describes it.
 *
 *   0    magic "stallidx"
 *   8    u32 format version          a reader must support this version
 *   12   u32 builder version         look-ups ignore it; a store builds an older index anew
 *   16   u64 size of the file
 *   24   u64 origin                  ADDR counts from here
 *   32   u64 base of the image in its own file
 *   40   u64 end of its text
 *   48   u64 fingerprint of the source
 *   56   u8 kind of the id, u8 its length, u8 flags, u8 quantum
 *   60   u32 number of sections
 *   64   u8[20] id
 *   84   char[16] architecture, NUL-padded
 *   100  u32 name of the image       in STRS
 *   104  u64 hash of the header up to here and of the table of contents
 *   112  table of contents: per section u32 tag, u32 zero, u64 offset, u64 size
 *
 * Sections lie after the table of contents in its order, each at a multiple of 8. All numbers are
 * little-endian.
 *
 *   ADDR  u32[n]  where pieces of code begin, ascending; a piece ends where the next begins
 *   RECO  u32[n]  the record of each piece: an offset in DATA; 0 = none
 *   DATA  bytes   records
 *   NAME  u32[4k] functions as they are named: function, linkage name, file, line
 *   FILE  u32[m]  paths: offsets in STRS
 *   STRS  bytes   strings with a NUL after each; the one at 0 is empty and stands for none
 *   SUMS  u32[s]  CRC-32 of each INDEX_SUMMED bytes of each section before it (the last bytes of a
 *                 section may be fewer); then the CRC-32 of SUMS up to here
 */
#ifndef STALLKIT_INDEX_FORMAT_FORMAT_H
#define STALLKIT_INDEX_FORMAT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/strbuf.h"

enum {
    /* Format 3 had nodes, steps and names as streams of numbers; 2 had no places of line 0, and no
     * functions without a name; 1 had no SUMS. */
    INDEX_FORMAT = 4,
    INDEX_FORMAT_PACKED = 4, /* oldest format with packed tables */
    INDEX_FORMAT_OLDEST = 2, /* oldest format that is read */
    /* Version of the builder. Version 9 gave code without rows of its own the line of the function
     * before it; 8 took entries of __unwind_info and whole procedure linkage tables for functions;
     * 7 wrote format 3; 6 left out functions without a name; 5 gave a linkage name that DWARF lacks
     * only if it was mangled; 4 took the range listed first for the entry, 3 the wrong lines of
     * folded functions; 2 had no INDEX_LINELESS. */
    INDEX_BUILDER = 10,
    INDEX_HEADER_SIZE = 112,
    INDEX_HASH_AT = 104,
    INDEX_TOC_ENTRY = 24,
    INDEX_SECTIONS_MAX = 64,
    INDEX_ALIGN = 8,
    INDEX_SUMMED = 1024,
    INDEX_ARCH_SIZE = 16
};

enum index_flags {
    INDEX_DWARF = 1,
    INDEX_ARM32 = 2,
    INDEX_LINELESS = 4,
    INDEX_SPLIT = 8,
    INDEX_DIELESS = 16,
    INDEX_NAMELESS = 32,
    INDEX_HIDDEN = 64,
    INDEX_NAMES_CUT = 128
};

enum index_section {
    INDEX_ADDR,
    INDEX_RECO,
    INDEX_DATA,
    INDEX_NAME,
    INDEX_FILE,
    INDEX_STRS,
    INDEX_SUMS
};
enum { INDEX_SECTIONS = INDEX_SUMS + 1 };

/* What a record begins with: its kind, and flags of that kind. Numbers are unsigned LEB128, signed
 * ones zigzag (0, -1, 1, -2 …). A file is 0 for none, else its number in FILE plus 1.
 *
 *   function: size, name, [entry], [low_pc], [number of nodes, widths], number of steps,
 *       [number of scopes, bits of a page, widths of pages, scopes and steps], tables
 *       entry and low_pc are signed, from the record's address. Widths are u8, bits of a column.
 *       The tables (packed_rows.h) are nodes, pages, scopes, steps and addresses of steps; without
 *       steps there are nodes only. After the last record DATA has PACKED_SLACK zeros.
 *   symbol: bytes from the symbol's start to the piece, size of the symbol, name,
 *       [file, line, column, discriminator]
 *   part: bytes from the start of a function's record to the piece, offset of that record
 *   nameless: bytes from the start of a function without a name to the piece, size of the function
 */
enum {
    RECORD_KIND = 0x03,
    RECORD_FUNCTION = 0,
    RECORD_SYMBOL = 1,
    RECORD_PART = 2,
    RECORD_NAMELESS = 3,
    RECORD_ENTRY = 0x04,  /* function: its entry is not where the record begins */
    RECORD_NO_LOW = 0x08, /* function: DW_AT_low_pc is absent */
    RECORD_LOW = 0x10,    /* function: its DW_AT_low_pc is not where the record begins */
    RECORD_NODES = 0x20,  /* function: it has nodes: calls inlined into it */
    RECORD_BYTES = 0x40,  /* function: steps count bytes, not quanta */
    RECORD_PLACE = 0x04   /* symbol: it has a line */
};

/* Columns of the tables.
 *
 *   node, an inlined call: name; the node that it is inlined into; file, line, column and
 *       discriminator of the call; whether it has a DW_AT_low_pc; lower and upper half of that,
 *       signed, from the record's address
 *   page: steps in front of the page's end. A page is 1 << its bits quanta; the last has no row
 *   scope: node, file, line: what steps have in common
 *   step: scope, line (from the scope's), column, discriminator
 *   address of a step: quanta from where its page begins
 *
 * Nodes count from 1; 0 is the function itself. A step holds from its address up to that of the
 * next step. In front of the first step there is no place. */
enum {
    NODE_COLUMNS = 9,
    SCOPE_COLUMNS = 3,
    STEP_COLUMNS = 4,
    /* bytes of widths, from the bits of a page on */
    STEP_WIDTHS = 1 + 1 + SCOPE_COLUMNS + STEP_COLUMNS,
    INDEX_NAME_ROW = 16 /* bytes of a name */
};

struct index_extent {
    uint64_t offset, size;
};

struct index_header {
    uint32_t format, builder;
    uint64_t size, origin, base, text_end, fingerprint;
    struct image_id id;
    uint8_t flags, quantum;
    char arch[INDEX_ARCH_SIZE]; /* NUL-terminated */
    uint32_t name;
    struct index_extent sections[INDEX_SECTIONS];
};

/* Bytes of the header and its table of contents. */
enum { INDEX_PROLOGUE = INDEX_HEADER_SIZE + INDEX_SECTIONS * INDEX_TOC_ENTRY };

/* Writes the section SUMS for the sections before it to *out, which must be empty. */
void index_sums_write(const struct strbuf *const sections[INDEX_SUMS], struct strbuf *out);
/* Returns the number of checksummed blocks in a section of this size. */
static inline uint64_t index_blocks(uint64_t size) {
    return size / INDEX_SUMMED + (size % INDEX_SUMMED != 0);
}

/* Writes the header and the table of contents. */
void index_header_write(const struct index_header *h, uint8_t out[INDEX_PROLOGUE]);
/* Reads the header and the table of contents and checks them against the file's size, and SUMS by
 * its own sum; the content of the other sections is not checked. name is for messages. ST_NONE: the
 * file is no index. ST_ERR: the index is damaged (ERR_FORMAT, ERR_TRUNCATED), or of a format below
 * INDEX_FORMAT_OLDEST or above INDEX_FORMAT (ERR_UNSUPPORTED). */
enum st index_header_read(struct index_header *out, const char *name, const uint8_t *data,
                          size_t len, struct err *e) BASE_MUST_USE;

static inline uint32_t index_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Returns the number of rows whose first u32 is at most `value`; these numbers ascend, and rows
 * have `stride` bytes. No branch depends on the comparison, because it would be mispredicted every
 * other time. */
static inline size_t index_rows_up_to(const uint8_t *rows, size_t stride, size_t count,
                                      uint64_t value) {
    const uint8_t *at = rows;
    while (count > 1) {
        size_t half = count / 2;
        at += index_u32(at + half * stride) <= value ? half * stride : 0;
        count -= half;
    }
    return (size_t)(at - rows) / stride + (count > 0 && index_u32(at) <= value);
}

/* Turns a signed number into the unsigned one that LEB128 holds (zigzag), and back. */
static inline uint64_t index_zigzag(uint64_t v) {
    return v >> 63 ? ~(v << 1) : v << 1;
}
static inline uint64_t index_unzigzag(uint64_t v) {
    return v >> 1 ^ (0 - (v & 1));
}

#endif
