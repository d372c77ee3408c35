/* The DWARF sections of one file as bytes: the input of every reader of lib/debug, whether from
 * Mach-O, ELF or a test. */
#ifndef STALLKIT_DEBUG_SECTIONS_H
#define STALLKIT_DEBUG_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "object/object.h"

enum section_id {
    SECTION_INFO,
    SECTION_ABBREV,
    SECTION_STR,
    SECTION_LINE_STR,
    SECTION_STR_OFFSETS,
    SECTION_ADDR,
    SECTION_LINE,
    SECTION_RANGES,
    SECTION_RNGLISTS,
    SECTION_ARANGES,
    SECTION_COUNT
};

struct section_bytes {
    const uint8_t *data; /* borrowed; NULL = the file has no such section, or it was left out */
    size_t len;
    bool damaged; /* the file has the section, but it was left out */
    /* Offsets of fields that could not be relocated, ascending; borrowed as the bytes are. */
    const uint64_t *unrelocated;
    size_t unrelocated_count;
};

struct sections {
    const char *file; /* for messages; borrowed */
    struct section_bytes of[SECTION_COUNT];
    const struct bcsymbolmap *names; /* map of hidden names; borrowed; NULL = none */
    bool big_endian;
    uint8_t address_size; /* 4 or 8 */
};

/* Loads (inflates, relocates) the DWARF sections of a slice. A section that cannot be loaded, other
 * than debug_info and debug_abbrev, is left out, and *damage (may be NULL) becomes the first
 * reason. So is a section with a relocation that could not be applied; in debug_info and debug_line
 * only the unit or line table around it is lost. ST_NONE: there is no .debug_info. ST_ERR:
 * .debug_info or .debug_abbrev cannot be loaded. The slice must outlive the bytes. */
enum st sections_load(struct sections *out, const struct object_slice *s, const char *file,
                      struct err *damage, struct err *e) BASE_MUST_USE;
/* Inflates all DWARF sections but .debug_info, which takes as long as the others together: for a
 * second thread, so that sections_load finds them ready. */
void sections_inflate_small(const struct object_slice *s);

/* Returns the section's name as DWARF has it, with its dot: ".debug_info". */
const char *section_name(enum section_id id);
/* Was everything in [offset, end) of the section relocated? */
bool section_is_relocated(const struct sections *s, enum section_id id, uint64_t offset,
                          uint64_t end);
/* Returns a reader over the whole section in the file's byte order; the reader is empty if the file
 * lacks the section. */
static inline struct reader section_reader(const struct sections *s, enum section_id id) {
    struct reader r = reader_init(section_name(id), s->of[id].data, s->of[id].len);
    r.big_endian = s->big_endian;
    return r;
}
/* Limit, in bytes, on the name of a file or folder, because longer ones would make a small file
 * cost much time: section_string does not give them, and a path that is joined takes only this many
 * bytes of each part. */
enum { SECTION_STRING_MAX = 16384 };
/* Returns the original name if text is a hidden name that the map has, else the text itself. */
static inline const char *section_shown(const struct sections *s, const char *text) {
    const char *shown = s->names ? bcsymbolmap_text(s->names, text) : NULL;
    return shown ? shown : text;
}
/* Returns the NUL-terminated string at an offset of a string section, as section_shown gives it,
 * borrowed; NULL if the section has no NUL in the SECTION_STRING_MAX bytes from there. */
const char *section_string(const struct sections *s, enum section_id id, uint64_t offset);
/* Reads an address of 4 or 8 bytes. */
static inline uint64_t section_address(struct reader *r, uint8_t address_size) {
    return address_size == 4 ? reader_u32(r) : reader_u64(r);
}
/* Reads an offset of 4 (32-bit DWARF) or 8 bytes. */
static inline uint64_t section_offset(struct reader *r, uint8_t offset_size) {
    return offset_size == 4 ? reader_u32(r) : reader_u64(r);
}
/* Reads the unit_length of a header (DWARF5 §7.4), and sets *offset_size, the bytes of the offsets
 * that follow. Fails the reader on a reserved value. */
uint64_t section_initial_length(struct reader *r, uint8_t *offset_size);

#endif
