/* Applies relocations to the bytes of a section, whatever the object file's format. */
#ifndef STALLKIT_OBJECT_RELOCATE_H
#define STALLKIT_OBJECT_RELOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

/* Value of relocation.bits for a ULEB128 field. A field of 6 bits is the low part of a byte. */
enum { RELOCATION_ULEB128 = 0 };

struct relocation {
    uint32_t type;   /* number in the object file, for messages */
    uint64_t offset; /* offset of the field in the section */
    uint64_t value;
    uint8_t bits; /* bits of the field: 6, 8, 16, 32, 64, or RELOCATION_ULEB128, which keeps its
                     length */
    bool adds;    /* the value is added to the field; else it replaces the field */
    bool wraps;   /* a value that does not fit loses bits; else it is a failure */
    bool gone; /* the symbol is not in the file: the field gets the address that stands for stripped
                  code; a ULEB128 field is a failure */
};

/* Relocations that could not be applied. Zero-initialised = none. */
struct relocation_failures {
    VEC(uint64_t) offsets; /* offsets in the section; UINT64_MAX = outside of it */
    struct err first;      /* error of the first field that could not be relocated */
};

/* A section to which relocations are being applied. */
struct relocating {
    uint8_t *bytes;
    size_t len;
    bool big_endian;
    uint64_t base;   /* offset that is added to the offsets of failures */
    uint64_t budget; /* relocations that may still be read */
    struct relocation_failures *failures;
};
/* Returns how many relocations a section of len bytes may have: undamaged ones have a few per byte
 * at most. */
uint64_t relocation_budget(size_t len);

/* Applies one relocation, or notes in r->failures that it cannot be applied. ST_ERR: out of memory,
 * or the budget is used up or there are more than 65,536 failures (ERR_LIMIT). Never ST_NONE. */
enum st relocation_apply(struct relocating *r, const struct relocation *rel, struct err *e);
/* Why a relocation is not applied, which relocation_fail notes in r->failures. relocation_fail has
 * the statuses of relocation_apply, but does not use the budget. */
enum relocation_trouble {
    RELOCATION_UNKNOWN_TYPE,
    RELOCATION_NO_SYMBOL,
    RELOCATION_OUTSIDE,
    RELOCATION_TOO_LARGE
};
enum st relocation_fail(struct relocating *r, const struct relocation *rel,
                        enum relocation_trouble trouble, struct err *e);
/* Counts a relocation that changes nothing. ST_ERR: the budget is used up (ERR_LIMIT). */
enum st relocation_skip(struct relocating *r, struct err *e);

#endif
