/* Reads CPython's three forms of line tables. */
#include "linux/python_lines.h"

#include <stdbool.h>

static uint32_t as_line_async(int64_t line) {
    return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* Looks up a line in a table of a version up to 3.9, which is pairs of bytes: the address rises by
 * the first byte of a pair, and the line by the second, which is signed. */
static uint32_t lnotab_async(const uint8_t *table, size_t size, int64_t line, uint64_t offset) {
    uint64_t address = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        address += table[i];
        if (address > offset) {
            break;
        }
        line += (int8_t)table[i + 1];
    }
    return as_line_async(line);
}

/* Looks up a line in a table of 3.10, which is pairs of bytes: the length of a range, and the
 * signed difference between its line and that of the last range; -128: the range has no line. */
static uint32_t ranges_async(const uint8_t *table, size_t size, int64_t line, uint64_t offset) {
    uint64_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int8_t delta = (int8_t)table[i + 1];
        bool none = delta == -128;
        end += table[i];
        line += none ? 0 : delta;
        if (offset < end) {
            return none ? 0 : as_line_async(line);
        }
    }
    return 0;
}

struct line_cursor {
    const uint8_t *at, *end;
};

/* Reads an unsigned varint: six bits in each byte, the lowest first; bit 6 is set if another byte
 * follows. */
static uint64_t unsigned_async(struct line_cursor *t) {
    uint64_t value = 0;
    for (unsigned shift = 0; t->at < t->end && shift < 36; shift += 6) {
        uint8_t byte = *t->at++;
        value |= (uint64_t)(byte & 0x3f) << shift;
        if ((byte & 0x40) == 0) {
            break;
        }
    }
    return value;
}

/* Reads a signed varint, whose lowest bit is the sign. */
static int64_t signed_async(struct line_cursor *t) {
    uint64_t value = unsigned_async(t);
    return (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Looks up a line in a table of 3.11 or later. An entry is a byte with bit 7 set, which holds the
 * form and the length in units of two bytes, and then numbers for line and columns, whose bytes
 * have bit 7 clear. */
static uint32_t locations_async(const uint8_t *table, size_t size, int64_t line, uint64_t offset) {
    enum {
        FORM_LINE_1 = 11,
        FORM_LINE_2 = 12,
        FORM_NO_COLUMNS = 13,
        FORM_LONG = 14,
        FORM_NONE = 15
    };
    struct line_cursor t = {table, table + size};
    uint64_t end = 0;
    while (t.at < t.end) {
        uint8_t first = *t.at++;
        unsigned form = first >> 3 & 15;
        end += 2 * ((uint64_t)(first & 7) + 1);
        if (form == FORM_LINE_1 || form == FORM_LINE_2) {
            line += form - 10;
        } else if (form == FORM_NO_COLUMNS || form == FORM_LONG) {
            line += signed_async(&t);
        }
        if (offset < end) {
            return form == FORM_NONE ? 0 : as_line_async(line);
        }
        while (t.at < t.end && (*t.at & 0x80) == 0) {
            t.at++;
        }
    }
    return 0;
}

uint32_t python_line_async(enum python_lines form, const uint8_t *table, size_t size,
                           uint32_t first_line, uint64_t offset) {
    switch (form) {
    case PYTHON_LNOTAB:
        return lnotab_async(table, size, first_line, offset);
    case PYTHON_LINES:
        return ranges_async(table, size, first_line, offset);
    case PYTHON_LOCATIONS:
        break;
    }
    return locations_async(table, size, first_line, offset);
}
