/* Relocates sections of an ELF file that is not linked: the known types and their meaning. Sources:
 * the gABI ("Relocation") and the processors' ABIs, as <elf.h> has their numbers. */
#include <elf.h>

#include "object/elffile_private.h"
#include "object/object_private.h"
#include "object/relocate.h"

enum relocation_kind {
    KIND_NOTHING,  /* the field stays: the relocation is a marker, or the offset of a thread-local
                      variable */
    KIND_ADDRESS,  /* field = symbol + addend */
    KIND_DISTANCE, /* field = symbol + addend - address of the field */
    KIND_SET,      /* field = symbol + addend, cut to the field's bits */
    KIND_ADD,      /* field += symbol + addend; KIND_SUBTRACT: field -= symbol + addend */
    KIND_SUBTRACT
};

struct relocation_type {
    uint16_t machine;
    uint16_t type;
    uint8_t kind, bits;
};

/* Types of relocations that compilers and assemblers use outside of code, by machine. */
static const struct relocation_type types[] = {
    {EM_X86_64, R_X86_64_NONE, KIND_NOTHING, 0},
    {EM_X86_64, R_X86_64_64, KIND_ADDRESS, 64},
    {EM_X86_64, R_X86_64_32, KIND_ADDRESS, 32},
    {EM_X86_64, R_X86_64_32S, KIND_ADDRESS, 32},
    {EM_X86_64, R_X86_64_16, KIND_ADDRESS, 16},
    {EM_X86_64, R_X86_64_8, KIND_ADDRESS, 8},
    {EM_X86_64, R_X86_64_PC32, KIND_DISTANCE, 32},
    {EM_X86_64, R_X86_64_PC64, KIND_DISTANCE, 64},
    {EM_X86_64, R_X86_64_DTPOFF32, KIND_NOTHING, 0},
    {EM_X86_64, R_X86_64_DTPOFF64, KIND_NOTHING, 0},
    {EM_386, R_386_NONE, KIND_NOTHING, 0},
    {EM_386, R_386_32, KIND_ADDRESS, 32},
    {EM_386, R_386_16, KIND_ADDRESS, 16},
    {EM_386, R_386_8, KIND_ADDRESS, 8},
    {EM_386, R_386_PC32, KIND_DISTANCE, 32},
    {EM_386, R_386_TLS_LDO_32, KIND_NOTHING, 0},
    {EM_AARCH64, R_AARCH64_NONE, KIND_NOTHING, 0},
    {EM_AARCH64, 256, KIND_NOTHING, 0}, /* R_AARCH64_NONE of the ABI's first versions */
    {EM_AARCH64, R_AARCH64_ABS64, KIND_ADDRESS, 64},
    {EM_AARCH64, R_AARCH64_ABS32, KIND_ADDRESS, 32},
    {EM_AARCH64, R_AARCH64_ABS16, KIND_ADDRESS, 16},
    {EM_AARCH64, R_AARCH64_PREL64, KIND_DISTANCE, 64},
    {EM_AARCH64, R_AARCH64_PREL32, KIND_DISTANCE, 32},
    {EM_AARCH64, R_AARCH64_TLS_DTPREL, KIND_NOTHING, 0},
    {EM_ARM, R_ARM_NONE, KIND_NOTHING, 0},
    {EM_ARM, R_ARM_ABS32, KIND_ADDRESS, 32},
    {EM_ARM, R_ARM_ABS16, KIND_ADDRESS, 16},
    {EM_ARM, R_ARM_ABS8, KIND_ADDRESS, 8},
    {EM_ARM, R_ARM_REL32, KIND_DISTANCE, 32},
    {EM_ARM, R_ARM_TARGET1, KIND_ADDRESS, 32},
    {EM_ARM, R_ARM_TLS_LDO32, KIND_NOTHING, 0},
    {EM_RISCV, R_RISCV_NONE, KIND_NOTHING, 0},
    {EM_RISCV, R_RISCV_64, KIND_ADDRESS, 64},
    {EM_RISCV, R_RISCV_32, KIND_ADDRESS, 32},
    {EM_RISCV, R_RISCV_32_PCREL, KIND_DISTANCE, 32},
    {EM_RISCV, R_RISCV_ADD8, KIND_ADD, 8},
    {EM_RISCV, R_RISCV_ADD16, KIND_ADD, 16},
    {EM_RISCV, R_RISCV_ADD32, KIND_ADD, 32},
    {EM_RISCV, R_RISCV_ADD64, KIND_ADD, 64},
    {EM_RISCV, R_RISCV_SUB6, KIND_SUBTRACT, 6},
    {EM_RISCV, R_RISCV_SUB8, KIND_SUBTRACT, 8},
    {EM_RISCV, R_RISCV_SUB16, KIND_SUBTRACT, 16},
    {EM_RISCV, R_RISCV_SUB32, KIND_SUBTRACT, 32},
    {EM_RISCV, R_RISCV_SUB64, KIND_SUBTRACT, 64},
    {EM_RISCV, R_RISCV_SET6, KIND_SET, 6},
    {EM_RISCV, R_RISCV_SET8, KIND_SET, 8},
    {EM_RISCV, R_RISCV_SET16, KIND_SET, 16},
    {EM_RISCV, R_RISCV_SET32, KIND_SET, 32},
    {EM_RISCV, 60, KIND_SET, RELOCATION_ULEB128},      /* R_RISCV_SET_ULEB128 */
    {EM_RISCV, 61, KIND_SUBTRACT, RELOCATION_ULEB128}, /* R_RISCV_SUB_ULEB128 */
    {EM_RISCV, R_RISCV_ALIGN, KIND_NOTHING, 0},
    {EM_RISCV, R_RISCV_RELAX, KIND_NOTHING, 0},
    {EM_RISCV, R_RISCV_TLS_DTPREL32, KIND_NOTHING, 0},
    {EM_RISCV, R_RISCV_TLS_DTPREL64, KIND_NOTHING, 0},
    {EM_PPC64, R_PPC64_NONE, KIND_NOTHING, 0},
    {EM_PPC64, R_PPC64_ADDR64, KIND_ADDRESS, 64},
    {EM_PPC64, R_PPC64_ADDR32, KIND_ADDRESS, 32},
    {EM_PPC64, R_PPC64_REL64, KIND_DISTANCE, 64},
    {EM_PPC64, R_PPC64_REL32, KIND_DISTANCE, 32},
    {EM_PPC64, R_PPC64_DTPREL64, KIND_NOTHING, 0},
    {EM_PPC, R_PPC_NONE, KIND_NOTHING, 0},
    {EM_PPC, R_PPC_ADDR32, KIND_ADDRESS, 32},
    {EM_PPC, R_PPC_REL32, KIND_DISTANCE, 32},
    {EM_PPC, R_PPC_DTPREL32, KIND_NOTHING, 0},
    {EM_S390, R_390_NONE, KIND_NOTHING, 0},
    {EM_S390, R_390_64, KIND_ADDRESS, 64},
    {EM_S390, R_390_32, KIND_ADDRESS, 32},
    {EM_S390, R_390_PC64, KIND_DISTANCE, 64},
    {EM_S390, R_390_PC32, KIND_DISTANCE, 32},
    {EM_S390, R_390_TLS_LDO32, KIND_NOTHING, 0},
    {EM_S390, R_390_TLS_LDO64, KIND_NOTHING, 0},
    {EM_MIPS, R_MIPS_NONE, KIND_NOTHING, 0},
    {EM_MIPS, R_MIPS_32, KIND_ADDRESS, 32},
    {EM_MIPS, R_MIPS_64, KIND_ADDRESS, 64},
    {EM_MIPS, 248, KIND_DISTANCE, 32}, /* R_MIPS_PC32 */
    {EM_MIPS, R_MIPS_TLS_DTPREL32, KIND_NOTHING, 0},
    {EM_MIPS, R_MIPS_TLS_DTPREL64, KIND_NOTHING, 0},
};
enum { TYPES = sizeof types / sizeof *types };

static const struct relocation_type *find_type(uint32_t machine, uint32_t type) {
    for (size_t i = 0; i < TYPES; i++) {
        if (types[i].machine == machine && types[i].type == type) {
            return &types[i];
        }
    }
    return NULL;
}

/* ---- symbols ---- */

/* A symbol table whose symbols are looked up by number. */
struct symbol_values {
    const struct object_slice *slice;
    struct reader symbols,
        wide_indexes; /* wide_indexes: SHT_SYMTAB_SHNDX, empty if there is none */
};

static enum st open_symbol_values(const struct object_slice *s, uint32_t section,
                                  struct symbol_values *out, struct err *e) {
    *out = (struct symbol_values){.slice = s};
    if (section >= s->section_count || s->sections[section].type != SHT_SYMTAB) {
        return err_set(e, ERR_FORMAT, "relocations without a symbol table");
    }
    const struct section *table = &s->sections[section];
    enum st st = slice_part(s, table->offset, table->size, "symbol table", &out->symbols, e);
    if (st == ST_OK && table->next_table != 0) {
        const struct section *wide = &s->sections[table->next_table - 1];
        st = slice_part(s, wide->offset, wide->size, "table of section indexes", &out->wide_indexes,
                        e);
    }
    return st;
}

enum symbol_state { SYMBOL_HERE, SYMBOL_ELSEWHERE, SYMBOL_DAMAGED };

/* Sets *out to the address of symbol `number`, or to 0 if the symbol is undefined or common
 * (SYMBOL_ELSEWHERE), or if it or its section is outside of its table (SYMBOL_DAMAGED). */
static enum symbol_state symbol_value(const struct symbol_values *t, uint32_t number,
                                      uint64_t *out) {
    const struct object_slice *s = t->slice;
    bool is_64 = s->address_size == 8;
    struct reader r = t->symbols, wide = t->wide_indexes;
    *out = 0;
    if (number == STN_UNDEF) {
        return SYMBOL_HERE;
    }
    reader_seek(&r, (is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)) * (uint64_t)number);
    reader_skip(&r, is_64 ? 6 : 4);
    uint64_t value = is_64 ? 0 : reader_u32(&r);
    reader_skip(&r, is_64 ? 0 : 6);
    uint32_t section = reader_u16(&r);
    value = is_64 ? reader_u64(&r) : value;
    if (reader_failed(&r)) {
        return SYMBOL_DAMAGED;
    }
    if (section == SHN_ABS) {
        *out = value;
        return SYMBOL_HERE;
    }
    if (section == SHN_UNDEF || section == SHN_COMMON) {
        return SYMBOL_ELSEWHERE;
    }
    if (section == SHN_XINDEX) {
        reader_seek(&wide, sizeof(uint32_t) * (uint64_t)number);
        section = reader_u32(&wide);
    }
    if (reader_failed(&wide) || section >= s->section_count) {
        return SYMBOL_DAMAGED;
    }
    *out = s->sections[section].address + value;
    return SYMBOL_HERE;
}

/* ---- relocations ---- */

/* A table of relocations for the section `target`. */
struct relocation_table {
    const struct object_slice *slice;
    const struct section *target;
    struct symbol_values symbols;
    struct reader entries;
    bool addends; /* entries have addends (RELA); else the fields hold them */
};

struct relocation_entry {
    uint64_t offset, addend;
    uint32_t symbol, type;
};

static struct relocation_entry read_entry(struct relocation_table *t) {
    struct reader *r = &t->entries;
    struct relocation_entry n = {0};
    if (t->slice->address_size == 8) {
        n.offset = reader_u64(r);
        uint64_t info = reader_u64(r);
        n.symbol = (uint32_t)(info >> 32);
        n.type = (uint32_t)info;
        if (t->slice->machine == EM_MIPS && !t->slice->big_endian) {
            /* MIPS64's info, little-endian: symbol, second symbol and three types are fields of
             * their own (MIPS ELF64, 2.9). */
            n.symbol = (uint32_t)info;
            n.type = __builtin_bswap32((uint32_t)(info >> 32));
        }
        n.addend = t->addends ? reader_u64(r) : 0;
    } else {
        n.offset = reader_u32(r);
        uint32_t info = reader_u32(r);
        n.symbol = info >> 8;
        n.type = info & 0xff;
        n.addend = t->addends ? (uint64_t)(int64_t)(int32_t)reader_u32(r) : 0;
    }
    return n;
}

static enum st apply_entry(struct relocation_table *t, struct relocating *r, struct err *e) {
    struct relocation_entry n = read_entry(t);
    struct relocation rel = {.type = n.type, .offset = n.offset};
    const struct relocation_type *known = find_type(t->slice->machine, n.type);
    uint64_t symbol;
    if (!known) {
        return relocation_fail(r, &rel, RELOCATION_UNKNOWN_TYPE, e);
    }
    if (known->kind == KIND_NOTHING) {
        return relocation_skip(r, e);
    }
    enum symbol_state state = symbol_value(&t->symbols, n.symbol, &symbol);
    if (state == SYMBOL_DAMAGED) {
        return relocation_fail(r, &rel, RELOCATION_NO_SYMBOL, e);
    }
    rel.bits = known->bits;
    rel.gone = state == SYMBOL_ELSEWHERE;
    rel.value = symbol + n.addend;
    rel.adds = !t->addends || known->kind == KIND_ADD || known->kind == KIND_SUBTRACT;
    rel.wraps = rel.adds || known->kind == KIND_SET || t->slice->address_size == 4;
    if (known->kind == KIND_DISTANCE) {
        rel.value -= t->target->address + n.offset;
    } else if (known->kind == KIND_SUBTRACT) {
        rel.value = 0 - rel.value;
    }
    return relocation_apply(r, &rel, e);
}

bool elffile_is_relocation_table(const struct section *sec) {
    return sec->type == SHT_RELA || sec->type == SHT_REL || sec->type == ELFFILE_CREL;
}

static enum st apply_table(const struct object_slice *s, const struct section *table,
                           const struct section *target, struct relocating *r, struct err *e) {
    struct relocation_table t = {.slice = s, .target = target, .addends = table->type == SHT_RELA};
    size_t entry = s->address_size * (t.addends ? 3u : 2u);
    if (table->type == ELFFILE_CREL) {
        return err_set(e, ERR_UNSUPPORTED, "relocations of the form CREL are not read");
    }
    enum st st = slice_part(s, table->offset, table->size, table->name, &t.entries, e);
    if (st == ST_OK) {
        st = open_symbol_values(s, table->link, &t.symbols, e);
    }
    while (st == ST_OK && reader_left(&t.entries) >= entry) {
        st = apply_entry(&t, r, e);
    }
    return st;
}

enum st elffile_relocate(const struct object_slice *s, const struct section *target,
                         struct relocating *r, struct err *e) {
    for (uint32_t next = target->next_table; next != 0;) {
        const struct section *table = &s->sections[next - 1];
        if (apply_table(s, table, target, r, e) != ST_OK) {
            return ST_ERR;
        }
        next = table->next_table;
    }
    return ST_OK;
}
