/* Makes DWARF for tests, byte by byte, of any version, so that each form and each kind of damage
 * can be put where it is wanted. */
#ifndef STALLKIT_DEBUG_DWARF_BUILD_TEST_H
#define STALLKIT_DEBUG_DWARF_BUILD_TEST_H

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <dwarf.h>

#include "debug/debug_private.h"

enum { BUILD_SECTION_SIZE = 16384 };

/* Sections under construction. `in` is the one that the put functions append to. */
struct dwarf_build {
    uint8_t data[SECTION_COUNT][BUILD_SECTION_SIZE];
    size_t len[SECTION_COUNT];
    enum section_id in;
    bool big_endian;
    uint8_t address_size; /* size of an address in bytes; 0 = 8 */
    unsigned version;     /* version of the open unit */
    size_t unit;          /* offset at which the open unit begins */
};

static inline size_t here(const struct dwarf_build *b) {
    return b->len[b->in];
}

static inline void put_at(struct dwarf_build *b, size_t at, uint64_t v, unsigned width) {
    assert(at <= BUILD_SECTION_SIZE - width);
    for (unsigned i = 0; i < width; i++) {
        unsigned shift = 8 * (b->big_endian ? width - 1 - i : i);
        b->data[b->in][at + i] = (uint8_t)(v >> shift);
    }
    if (at + width > b->len[b->in]) {
        b->len[b->in] = at + width;
    }
}

static inline void put(struct dwarf_build *b, uint64_t v, unsigned width) {
    put_at(b, here(b), v, width);
}

static inline void put_address(struct dwarf_build *b, uint64_t v) {
    put(b, v, b->address_size ? b->address_size : 8);
}

static inline void put_uleb(struct dwarf_build *b, uint64_t v) {
    do {
        put(b, (v & 0x7f) | (v > 0x7f ? 0x80 : 0), 1);
        v >>= 7;
    } while (v);
}

static inline void put_sleb(struct dwarf_build *b, int64_t v) {
    bool more = true;
    while (more) {
        uint8_t byte = (uint8_t)(v & 0x7f);
        v >>= 7;
        more = !((v == 0 && !(byte & 0x40)) || (v == -1 && (byte & 0x40)));
        put(b, byte | (more ? 0x80u : 0u), 1);
    }
}

static inline void put_text(struct dwarf_build *b, const char *s) {
    for (size_t i = 0; i <= strlen(s); i++) {
        put(b, (uint8_t)s[i], 1);
    }
}

/* Appends a declaration to .debug_abbrev: code, tag, children, then attributes and forms in pairs,
 * ended by 0. */
static inline void abbrev(struct dwarf_build *b, unsigned code, unsigned tag, unsigned children,
                          ...) {
    enum section_id was = b->in;
    va_list ap;
    b->in = SECTION_ABBREV;
    put_uleb(b, code);
    put_uleb(b, tag);
    put(b, children, 1);
    va_start(ap, children);
    for (unsigned attribute; (attribute = va_arg(ap, unsigned)) != 0;) {
        put_uleb(b, attribute);
        put_uleb(b, va_arg(ap, unsigned));
    }
    va_end(ap);
    put(b, 0, 2);
    b->in = was;
}

static inline void end_abbrevs(struct dwarf_build *b) {
    enum section_id was = b->in;
    b->in = SECTION_ABBREV;
    put(b, 0, 1);
    b->in = was;
}

/* Opens a unit in .debug_info whose abbreviations begin at the offset, and returns the unit's
 * offset. */
static inline size_t begin_unit(struct dwarf_build *b, unsigned version, uint32_t abbrevs) {
    uint8_t size = b->address_size ? b->address_size : 8;
    b->in = SECTION_INFO;
    b->version = version;
    b->unit = here(b);
    put(b, 0, 4);
    put(b, version, 2);
    if (version >= 5) {
        put(b, DW_UT_compile, 1);
        put(b, size, 1);
        put(b, abbrevs, 4);
    } else {
        put(b, abbrevs, 4);
        put(b, size, 1);
    }
    return b->unit;
}

static inline void end_unit(struct dwarf_build *b) {
    put_at(b, b->unit, here(b) - b->unit - 4, 4);
}

/* The complaints that were heard: their number and the last one. */
struct heard {
    unsigned count;
    size_t dieless; /* number of units without a DIE, by debug_dieless_units */
    uint64_t unit;
    struct err why;
};

static inline void hear(void *ctx, const char *file, uint64_t unit, const struct err *why) {
    struct heard *h = ctx;
    assert_string_equal(file, "App");
    assert_true(err_is(why));
    h->count++;
    h->unit = unit;
    h->why = *why;
}

static inline void built_sections(const struct dwarf_build *b, struct sections *out) {
    *out = (struct sections){.file = "App",
                             .big_endian = b->big_endian,
                             .address_size = b->address_size ? b->address_size : 8};
    for (int i = 0; i < SECTION_COUNT; i++) {
        out->of[i] =
            (struct section_bytes){.data = b->len[i] ? b->data[i] : NULL, .len = b->len[i]};
    }
}

/* Opens the sections that were built; *sections must outlive the result. */
static inline enum st open_built(struct debug **d, const struct dwarf_build *b,
                                 struct sections *sections, struct debug_setup setup,
                                 struct heard *h) {
    struct err e = {0};
    built_sections(b, sections);
    setup.sections = sections;
    setup.complain = h ? hear : NULL;
    setup.complain_ctx = h;
    return debug_open_sections(d, &setup, &e);
}

#endif
