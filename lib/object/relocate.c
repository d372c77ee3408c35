/* Applies relocations to the fields of a section. */
#include "object/relocate.h"

#include <inttypes.h>

#include "base/checked.h"

enum {
    /* maximum number of relocations for each byte of a section; on RISC-V one byte may have three:
     * one that adds, one that subtracts, and a mark */
    BUDGET_PER_BYTE = 4,
    BUDGET_FREE = 64,
    FAILURES_MAX = 1 << 16,
    ULEB128_MAX = 10 /* bytes */
};
/* The address that linkers write for stripped code in .debug_ranges, where -1 has another
 * meaning. */
#define STRIPPED (UINT64_MAX - 1)

uint64_t relocation_budget(size_t len) {
    return BUDGET_FREE + BUDGET_PER_BYTE * (uint64_t)len;
}

enum st relocation_skip(struct relocating *r, struct err *e) {
    if (r->budget == 0) {
        return err_set(e, ERR_LIMIT, "more relocations than its size allows");
    }
    r->budget--;
    return ST_OK;
}

enum st relocation_fail(struct relocating *r, const struct relocation *rel,
                        enum relocation_trouble trouble, struct err *e) {
    static const char *const texts[] = {
        [RELOCATION_UNKNOWN_TYPE] = "the type is unknown",
        [RELOCATION_NO_SYMBOL] = "its symbol is not there",
        [RELOCATION_OUTSIDE] = "it lies outside of the section",
        [RELOCATION_TOO_LARGE] = "its value does not fit",
    };
    uint64_t at = UINT64_MAX;
    if (r->failures->offsets.len >= FAILURES_MAX) {
        return err_set(e, ERR_LIMIT, "too many relocations that cannot be applied");
    }
    if (rel->offset < r->len) {
        (void)checked_add_u64(r->base, rel->offset, &at);
    }
    (void)err_set(&r->failures->first, ERR_UNSUPPORTED,
                  "relocation of type %" PRIu32 " at 0x%" PRIx64 ": %s", rel->type, rel->offset,
                  texts[trouble]);
    return VEC_PUSH(&r->failures->offsets, at) ? ST_OK : err_nomem(e);
}

static uint64_t load_field(const struct relocating *r, const uint8_t *p, size_t width) {
    uint64_t v = 0;
    for (size_t i = 0; i < width; i++) {
        v = v << 8 | p[r->big_endian ? i : width - 1 - i];
    }
    return v;
}

static void store_field(const struct relocating *r, uint8_t *p, size_t width, uint64_t v) {
    for (size_t i = 0; i < width; i++, v >>= 8) {
        p[r->big_endian ? width - 1 - i : i] = (uint8_t)v;
    }
}

/* Does v fit into so many bits, with a sign or without? */
static bool fits_bits(uint64_t v, unsigned bits) {
    return bits == 64 || v >> bits == 0 || ~v >> (bits - 1) == 0;
}

/* Applies a relocation to a ULEB128 field, whose length stays. False: the field is no ULEB128, the
 * value does not fit and may not wrap, or the symbol is not in the file. */
static bool apply_uleb128(struct relocating *r, const struct relocation *rel) {
    uint8_t *p = r->bytes + rel->offset;
    uint64_t left = r->len - rel->offset, old = 0;
    size_t len = 0;
    for (bool more = true; more; len++) {
        if (len == left || len == ULEB128_MAX) {
            return false;
        }
        old |= len * 7 < 64 ? (uint64_t)(p[len] & 0x7f) << len * 7 : 0;
        more = (p[len] & 0x80) != 0;
    }
    uint64_t v = rel->adds ? old + rel->value : rel->value;
    if (rel->gone || (!rel->wraps && len * 7 < 64 && v >> len * 7 != 0)) {
        return false;
    }
    for (size_t i = 0; i < len; i++, v >>= 7) {
        p[i] = (uint8_t)((v & 0x7f) | (i + 1 < len ? 0x80 : 0));
    }
    return true;
}

enum st relocation_apply(struct relocating *r, const struct relocation *rel, struct err *e) {
    size_t width = rel->bits <= 8 ? 1 : rel->bits / 8u;
    if (relocation_skip(r, e) != ST_OK) {
        return ST_ERR;
    }
    if (!checked_range(rel->offset, width, r->len)) {
        return relocation_fail(r, rel, RELOCATION_OUTSIDE, e);
    }
    if (rel->bits == RELOCATION_ULEB128) {
        return apply_uleb128(r, rel) ? ST_OK : relocation_fail(r, rel, RELOCATION_TOO_LARGE, e);
    }
    uint8_t *p = r->bytes + rel->offset;
    uint64_t mask = UINT64_MAX >> (64 - rel->bits), old = load_field(r, p, width);
    uint64_t v = rel->adds ? old + rel->value : rel->value;
    if (rel->gone) {
        v = STRIPPED;
    } else if (!rel->wraps && !fits_bits(v, rel->bits)) {
        return relocation_fail(r, rel, RELOCATION_TOO_LARGE, e);
    }
    store_field(r, p, width, (old & ~mask) | (v & mask));
    return ST_OK;
}
