/* Applies relocations of a Mach-O file that is not linked (<mach-o/reloc.h> and the headers of the
 * processors). Such a file's sections have addresses; a field that refers to a section holds the
 * address already, and one that refers to a symbol holds the addend. */
#include "object/object_private.h"
#include "object/relocate.h"

enum {
    ENTRY_SIZE = 8,
    NLIST_SIZE_32 = 12, /* <mach-o/nlist.h> */
    NLIST_SIZE_64 = 16,
    N_STAB = 0xe0,
    N_TYPE = 0x0e,
    N_ABS = 0x02,
    N_SECT = 0x0e,
    CPU_ARM64 = 0x0100000c,
    SCATTERED = 1 << 7, /* in the highest byte of the first word; not in files of 64 bits */
    /* Types of relocations that occur in sections of data: */
    TYPE_VANILLA = 0, /* also X86_64_RELOC_UNSIGNED, ARM64_RELOC_UNSIGNED */
    TYPE_ARM64_SUBTRACTOR = 1,
    TYPE_X86_64_SUBTRACTOR = 5,
};

struct macho_relocation {
    uint32_t address, symbol;
    uint8_t type, length; /* length: log2 of the field's bytes */
    bool of_symbol, relative, scattered;
};

static struct macho_relocation read_macho_relocation(struct reader *r, bool is_64) {
    uint32_t first = reader_u32(r), second = reader_u32(r);
    if (!is_64 && first >> 24 & SCATTERED) {
        return (struct macho_relocation){.address = first & 0xffffff, .scattered = true};
    }
    if (r->big_endian) {
        return (struct macho_relocation){.address = first,
                                         .symbol = second >> 8,
                                         .relative = second >> 7 & 1,
                                         .length = second >> 5 & 3,
                                         .of_symbol = second >> 4 & 1,
                                         .type = second & 15};
    }
    return (struct macho_relocation){.address = first,
                                     .symbol = second & 0xffffff,
                                     .relative = second >> 24 & 1,
                                     .length = second >> 25 & 3,
                                     .of_symbol = second >> 27 & 1,
                                     .type = (uint8_t)(second >> 28)};
}

/* Makes a reader over the relocations of a section. ERR_TRUNCATED: they lie past the end of the
 * file. */
static enum st open_relocations(const struct object_slice *s, const struct section *target,
                                struct reader *out, struct err *e) {
    return slice_part(s, target->relocation_offset, (uint64_t)target->relocation_count * ENTRY_SIZE,
                      "relocations", out, e);
}

bool macho_has_relocations(const struct object_slice *s, const struct section *target) {
    struct reader r;
    if (open_relocations(s, target, &r, NULL) != ST_OK) {
        return true; /* object_section will tell the error */
    }
    while (reader_left(&r) > 0) {
        if (read_macho_relocation(&r, s->address_size == 8).of_symbol) {
            return true;
        }
    }
    return false;
}

static bool is_subtractor(const struct object_slice *s, const struct macho_relocation *m) {
    unsigned type = s->machine == CPU_ARM64 ? TYPE_ARM64_SUBTRACTOR : TYPE_X86_64_SUBTRACTOR;
    return s->address_size == 8 && m->type == type;
}

/* Reads the address of symbol `number`; *defined: the symbol is defined in this file. False: the
 * number lies outside of the symbol table, or the symbol outside of the file. */
static bool nlist_address(const struct object_slice *s, uint32_t number, uint64_t *address,
                          bool *defined) {
    const struct macho_tables *t = &s->macho;
    bool is_64 = s->address_size == 8;
    unsigned size = is_64 ? NLIST_SIZE_64 : NLIST_SIZE_32;
    struct reader r;
    if (number >= t->symbol_count || slice_part(s, t->symbol_offset + (uint64_t)number * size, size,
                                                "symbol", &r, NULL) != ST_OK) {
        return false;
    }
    reader_skip(&r, 4); /* name */
    uint8_t type = reader_u8(&r);
    reader_skip(&r, 3); /* section, description */
    *address = is_64 ? reader_u64(&r) : reader_u32(&r);
    *defined = (type & N_STAB) == 0 && ((type & N_TYPE) == N_SECT || (type & N_TYPE) == N_ABS);
    return true;
}

/* Applies a relocation: adds the symbol's address to the field, or subtracts it (SUBTRACTOR). A
 * relocation without a symbol changes nothing. */
static enum st apply_macho_relocation(const struct object_slice *s,
                                      const struct macho_relocation *m, struct relocating *r,
                                      struct err *e) {
    struct relocation rel = {.type = m->type,
                             .offset = m->address,
                             .bits = (uint8_t)(8u << m->length),
                             .adds = true,
                             .wraps = true};
    bool minus = is_subtractor(s, m), defined = false;
    if (!m->of_symbol) {
        return relocation_skip(r, e);
    }
    if ((m->type != TYPE_VANILLA && !minus) || m->relative) {
        return relocation_fail(r, &rel, RELOCATION_UNKNOWN_TYPE, e);
    }
    if (!nlist_address(s, m->symbol, &rel.value, &defined)) {
        return relocation_fail(r, &rel, RELOCATION_NO_SYMBOL, e);
    }
    rel.gone = !defined;
    rel.value = minus ? 0 - rel.value : rel.value;
    return relocation_apply(r, &rel, e);
}

enum st macho_relocate(const struct object_slice *s, const struct section *target,
                       struct relocating *r, struct err *e) {
    struct reader entries;
    enum st st = open_relocations(s, target, &entries, e);
    while (st == ST_OK && reader_left(&entries) > 0) {
        struct macho_relocation m = read_macho_relocation(&entries, s->address_size == 8);
        st = apply_macho_relocation(s, &m, r, e);
    }
    return st;
}
