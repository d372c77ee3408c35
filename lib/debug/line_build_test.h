/* Makes line tables for tests, byte by byte. */
#ifndef STALLKIT_DEBUG_LINE_BUILD_TEST_H
#define STALLKIT_DEBUG_LINE_BUILD_TEST_H

#include "debug/dwarf_build_test.h"

struct header_marks {
    size_t unit, header;
};

/* Writes the header up to where folders and files come: line_base -3, line_range 12,
 * opcode_base 13. */
static inline struct header_marks begin_line_table(struct dwarf_build *b, unsigned version) {
    static const uint8_t operands[] = {
        0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}; /* numbers of operands of the standard opcodes */
    struct header_marks m;
    b->in = SECTION_LINE;
    m.unit = here(b);
    put(b, 0, 4);
    put(b, version, 2);
    if (version >= 5) {
        put(b, 8, 1), put(b, 0, 1);
    }
    m.header = here(b);
    put(b, 0, 4);
    put(b, 1, 1); /* min_instruction_length */
    if (version >= 4) {
        put(b, 1, 1);
    }
    put(b, 1, 1), put(b, (uint8_t)-3, 1), put(b, 12, 1), put(b, 13, 1);
    for (size_t i = 0; i < sizeof operands; i++) {
        put(b, operands[i], 1);
    }
    return m;
}

static inline void end_header(struct dwarf_build *b, struct header_marks m) {
    put_at(b, m.header, here(b) - m.header - 4, 4);
}

static inline void end_line_table(struct dwarf_build *b, struct header_marks m) {
    put_at(b, m.unit, here(b) - m.unit - 4, 4);
}

/* Appends a file to the list of DWARF 2 to 4. */
static inline void put_file_v2(struct dwarf_build *b, const char *name, unsigned folder) {
    put_text(b, name), put_uleb(b, folder), put_uleb(b, 0), put_uleb(b, 0);
}

static inline void set_address(struct dwarf_build *b, uint64_t address) {
    put(b, 0, 1), put_uleb(b, 9), put(b, DW_LNE_set_address, 1), put(b, address, 8);
}

static inline void end_sequence(struct dwarf_build *b) {
    put(b, 0, 1), put_uleb(b, 1), put(b, DW_LNE_end_sequence, 1);
}

#endif
