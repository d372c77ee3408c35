/* The file format of the symbol index; stall-index(5) describes it.
 *
 *   0    magic "stallidx"
 *   8    u32 format version          what a reader must understand
 *   12   u32 builder version         what the builder knew; no matter for reading
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
 * Sections lie behind it in the order of the table, each at a multiple of 8. All is little-endian.
 *
 *   ADDR  u32[n]  where pieces of code begin, ascending; a piece ends where the next begins
 *   RECO  u32[n]  their records: offsets in DATA; 0 = nobody's
 *   DATA  bytes   records
 *   NAME  bytes   functions as they are named: LEB128 function, linkage, file, line
 *   FILE  u32[m]  paths: offsets in STRS
 *   STRS  bytes   strings with a NUL behind each; the one at 0 is empty and stands for none
 *   SUMS  u32[s]  CRC-32 of each INDEX_SUMMED bytes of each section before it, the last ones of a
 *                 section being fewer; then that of SUMS up to here
 */
#ifndef STALLKIT_INDEX_FORMAT_H
#define STALLKIT_INDEX_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/strbuf.h"

enum {
    INDEX_FORMAT = 3,        /* 2 had no places of line 0, and none without a name; 1 had no SUMS */
    INDEX_FORMAT_OLDEST = 2, /* that is read */
    /* 6 left out functions without a name; 5 gave a linkage name that DWARF lacks only if it was
       mangled; 4 took the range listed first for the entry, 3 the wrong lines of folded functions;
       2 had no INDEX_LINELESS */
    INDEX_BUILDER = 7,
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
    INDEX_NAMELESS = 32
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
 *   function: size, name, [entry], [low_pc], [bytes of nodes, nodes], steps
 *       entry and low_pc are signed, from the record's address. Steps: count, then for every
 *       INDEX_BLOCK steps but the first a u32 address and a u32 offset of the stream, then the
 *       stream.
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
    RECORD_ENTRY = 0x04,  /* function: not where the record begins */
    RECORD_NO_LOW = 0x08, /* function: it has no DW_AT_low_pc */
    RECORD_LOW = 0x10,    /* function: not where the record begins */
    RECORD_NODES = 0x20,  /* function: calls are inlined */
    RECORD_BYTES = 0x40,  /* function: steps count bytes, not quanta */
    RECORD_PLACE = 0x04   /* symbol: it has a line */
};

/* An inlined call: flags, [bytes back to the parent], name, [file, line], [column],
 * [discriminator], [low_pc, signed, from the record's address]. A step names it by the offset of
 * its first byte among the nodes plus one; 0 is the function itself. */
enum {
    NODE_PARENT = 0x01, /* not the function itself */
    NODE_PLACE = 0x02,
    NODE_COLUMN = 0x04,
    NODE_DISCRIMINATOR = 0x08,
    NODE_LOW = 0x10
};

/* A step: from an address on another node, file, line, column or discriminator holds; without a
 * file there is no place. Each block of INDEX_BLOCK steps begins with all of them 0.
 *
 * One byte at or above STEP_SHORT says how far the address and the line go, and a column follows.
 * Else its bits say what follows the advance: node (signed change), file, line (signed change),
 * column, discriminator. */
enum {
    INDEX_BLOCK = 16,
    INDEX_BLOCK_ENTRY = 8, /* bytes of a block in the table */
    STEP_NODE = 0x01,
    STEP_FILE = 0x02,
    STEP_LINE = 0x04,
    STEP_COLUMN = 0x08,
    STEP_DISCRIMINATOR = 0x10,
    STEP_SHORT = 0x20,
    STEP_LINES = 16,    /* line changes that a short step knows */
    STEP_LINE_MIN = -5, /* the lowest of them */
    STEP_ADVANCES = 14  /* advances that it knows: 0 … */
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

/* Bytes of a header with its table of contents. */
enum { INDEX_PROLOGUE = INDEX_HEADER_SIZE + INDEX_SECTIONS * INDEX_TOC_ENTRY };

/* Appends SUMS for the sections in front of it. */
void index_sums_write(const struct strbuf *const sections[INDEX_SUMS], struct strbuf *out);
/* Number of checksummed blocks in a section's bytes. */
static inline uint64_t index_blocks(uint64_t size) {
    return size / INDEX_SUMMED + (size % INDEX_SUMMED != 0);
}

/* Writes the header and the table of contents. */
void index_header_write(const struct index_header *h, uint8_t out[INDEX_PROLOGUE]);
/* Reads and checks them against the file's size, and SUMS by its own sum; what the other sections
 * hold is not looked at. name is for messages. ST_NONE: it is no index. ST_ERR: a damaged one
 * (ERR_FORMAT, ERR_TRUNCATED), or one of a format to come (ERR_UNSUPPORTED). */
enum st index_header_read(struct index_header *out, const char *name, const uint8_t *data,
                          size_t len, struct err *e) BASE_MUST_USE;

/* Signed numbers as LEB128 holds them. */
static inline uint64_t index_zigzag(uint64_t v) {
    return v >> 63 ? ~(v << 1) : v << 1;
}
static inline uint64_t index_unzigzag(uint64_t v) {
    return v >> 1 ^ (0 - (v & 1));
}

#endif
