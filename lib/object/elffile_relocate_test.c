/* Tests for ELF files that are not linked: addresses of their sections, and relocations. */
#include <elf.h>

#include "object/object_build_test.h"

enum { ET_REL_TYPE = 1, FIELD_AT = 8, FIRST_ADDRESS = 4096 };
enum { UNLINKED_INFO = 4, UNLINKED_SYMTAB = 6 }; /* section numbers */
enum { SYMBOL_TEXT = 1, SYMBOL_ABSOLUTE, SYMBOL_UNDEFINED, SYMBOL_NO_SECTION, SYMBOLS };

/* The parts of a file with .init.text, .text, .data, .debug_info, its relocations, .symtab and
 * .strtab. */
struct unlinked {
    struct build file, relocations, symbols;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build elf;
    uint8_t info[64];
};

static void begin_unlinked(struct unlinked *u, uint16_t machine, bool is_32, bool big_endian,
                           bool addends) {
    *u = (struct unlinked){0};
    u->relocations.big_endian = u->symbols.big_endian = big_endian;
    memset(u->info, 0x11, sizeof u->info);
    elf_put_symbol(&u->symbols, is_32, 0, 0, 0, 0, 0);
    elf_put_symbol(&u->symbols, is_32, 1, FUNC, 2, 0x10, 0x8);
    elf_put_symbol(&u->symbols, is_32, 0, NOTYPE, SHN_ABS, 0x55, 0);
    elf_put_symbol(&u->symbols, is_32, 0, NOTYPE, SHN_UNDEF, 0, 0);
    elf_put_symbol(&u->symbols, is_32, 0, NOTYPE, 77, 0, 0);
    const struct elf_build_section all[] = {
        {.name = ".init.text", .flags = ALLOC | EXEC, .bytes = usual_code, .len = 0x20},
        {.name = ".text", .flags = ALLOC | EXEC, .bytes = usual_code, .len = 0x31},
        {.name = ".data", .flags = ALLOC, .bytes = usual_code, .len = 0x10, .alignment = 16},
        {.name = ".debug_info", .bytes = u->info, .len = sizeof u->info},
        {.name = ".relocations",
         .type = addends ? SHT_RELA : SHT_REL,
         .link = UNLINKED_SYMTAB,
         .info = UNLINKED_INFO},
        {.name = ".symtab",
         .type = SYMTAB,
         .link = UNLINKED_SYMTAB + 1,
         .entry_size = is_32 ? 16 : 24,
         .bytes = u->symbols.data,
         .len = u->symbols.len},
        {.name = ".strtab", .type = STRTAB, .bytes = "\0f", .len = 3},
    };
    memcpy(u->sections, all, sizeof all);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        u->sections[i].type = all[i].type ? all[i].type : PROGBITS;
    }
    u->elf = (struct elf_build){.is_32 = is_32,
                                .big_endian = big_endian,
                                .type = ET_REL_TYPE,
                                .machine = machine,
                                .sections = u->sections,
                                .section_count = sizeof all / sizeof *all};
}

static void add_relocation(struct unlinked *u, uint64_t offset, uint32_t symbol, uint32_t type,
                           int64_t addend) {
    unsigned word = u->elf.is_32 ? 4 : 8;
    put(&u->relocations, offset, word);
    put(&u->relocations, u->elf.is_32 ? symbol << 8 | type : (uint64_t)symbol << 32 | type, word);
    if (u->sections[UNLINKED_INFO].type == SHT_RELA) {
        put(&u->relocations, (uint64_t)addend, word);
    }
}

static struct object *open_unlinked(struct unlinked *u) {
    u->sections[UNLINKED_INFO].bytes = u->relocations.data;
    u->sections[UNLINKED_INFO].len = u->relocations.len;
    build_elf(&u->file, &u->elf);
    return open_built(&u->file);
}

static void assert_all_relocated(const struct object *o) {
    const uint64_t *offsets;
    size_t count;
    const char *why;
    assert_int_equal(
        object_relocation_failures(object_slice(o, 0), "debug_info", &offsets, &count, &why),
        ST_NONE);
}

static void code_lies_as_the_module_loader_puts_it(void **state) {
    static struct unlinked u;
    static const uint64_t addresses[] = {0, FIRST_ADDRESS + 0x40, FIRST_ADDRESS,
                                         FIRST_ADDRESS + 0x60};
    struct object_section_info info;
    const struct object_symbol *symbols;
    size_t count = 0;
    (void)state;
    begin_unlinked(&u, EM_X86_64, false, false, true);
    u.sections[0].alignment = 32;
    struct object *o = open_unlinked(&u);
    const struct object_slice *s = object_slice(o, 0);
    assert_true(object_has_section_offsets(s));
    for (size_t i = 1; i < sizeof addresses / sizeof *addresses; i++) {
        assert_true(object_section_info(s, i, &info));
        assert_int_equal(info.address, addresses[i]);
    }
    assert_int_equal(object_slice_base(s), FIRST_ADDRESS);
    assert_int_equal(object_slice_text_end(s), FIRST_ADDRESS + 0x60);
    assert_int_equal(object_symbols(s, &symbols, &count, NULL), ST_OK);
    assert_int_equal(count, 1);
    assert_symbol(symbols, "f", FIRST_ADDRESS + 0x10, 8);
    object_close(o);
}

static void addresses_that_a_linker_script_gave_stay(void **state) {
    static struct unlinked u;
    struct object_section_info info;
    (void)state;
    begin_unlinked(&u, EM_X86_64, false, false, true);
    u.sections[1].address = 0x400000;
    add_relocation(&u, FIELD_AT, SYMBOL_TEXT, R_X86_64_64, 0);
    struct object *o = open_unlinked(&u);
    assert_false(object_has_section_offsets(object_slice(o, 0)));
    assert_true(object_section_info(object_slice(o, 0), 2, &info));
    assert_int_equal(info.address, 0x400000);
    assert_int_equal(section_field(o, "debug_info", FIELD_AT, 8, false), 0x400010);
    object_close(o);
}

static void sections_larger_than_the_address_space_are_refused(void **state) {
    static struct unlinked u;
    (void)state;
    begin_unlinked(&u, EM_X86_64, false, false, true);
    u.sections[0].type = u.sections[1].type = NOBITS;
    u.sections[0].size = u.sections[1].size = UINT64_MAX / 2;
    u.sections[2].type = NOBITS;
    u.sections[2].size = UINT64_MAX / 2;
    build_elf(&u.file, &u.elf);
    assert_refused(&u.file, ERR_FORMAT);
}

/* Address of .text+0x10+ADDEND, which is also its distance from the field, since the field has no
 * address. */
#define HERE UINT64_C(0x1013)
enum { ADDEND = 3, OLD = 0x11 };

static void each_machines_types_fill_their_fields(void **state) {
    static const struct {
        uint16_t machine;
        uint32_t type;
        bool is_32, big_endian, addends;
        unsigned width;
        uint64_t expected;
    } cases[] = {
        {EM_X86_64, R_X86_64_64, false, false, true, 8, HERE},
        {EM_X86_64, R_X86_64_32, false, false, true, 4, HERE},
        {EM_X86_64, R_X86_64_32S, false, false, true, 4, HERE},
        {EM_X86_64, R_X86_64_PC32, false, false, true, 4, HERE - FIELD_AT},
        {EM_X86_64, R_X86_64_PC64, false, false, true, 8, HERE - FIELD_AT},
        {EM_X86_64, R_X86_64_16, false, false, true, 2, HERE},
        {EM_X86_64, R_X86_64_DTPOFF64, false, false, true, 4, 0x11111111},
        {EM_386, R_386_32, true, false, false, 4, 0x11111111 + HERE - ADDEND},
        {EM_386, R_386_PC32, true, false, false, 4, 0x11111111 + HERE - ADDEND - FIELD_AT},
        {EM_AARCH64, R_AARCH64_ABS64, false, false, true, 8, HERE},
        {EM_AARCH64, R_AARCH64_ABS32, false, false, true, 4, HERE},
        {EM_AARCH64, R_AARCH64_PREL32, false, true, true, 4, HERE - FIELD_AT},
        {EM_ARM, R_ARM_ABS32, true, false, false, 4, 0x11111111 + HERE - ADDEND},
        {EM_ARM, R_ARM_ABS32, true, true, true, 4, HERE},
        {EM_RISCV, R_RISCV_ADD8, false, false, true, 1, (OLD + HERE) & 0xff},
        {EM_RISCV, R_RISCV_SUB16, false, false, true, 2, (0x1111 - HERE) & 0xffff},
        {EM_RISCV, R_RISCV_SET6, false, false, true, 1, HERE & 0x3f},
        {EM_RISCV, R_RISCV_SUB6, false, false, true, 1, (OLD - HERE) & 0x3f},
        {EM_PPC64, R_PPC64_ADDR64, false, true, true, 8, HERE},
        {EM_PPC, R_PPC_ADDR32, true, true, true, 4, HERE},
        {EM_S390, R_390_64, false, true, true, 8, HERE},
        {EM_MIPS, R_MIPS_32, true, true, false, 4, 0x11111111 + HERE - ADDEND},
        {EM_MIPS, R_MIPS_64, false, true, true, 8, HERE},
    };
    static struct unlinked u;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_unlinked(&u, cases[i].machine, cases[i].is_32, cases[i].big_endian, cases[i].addends);
        add_relocation(&u, FIELD_AT, SYMBOL_TEXT, cases[i].type, ADDEND);
        struct object *o = open_unlinked(&u);
        bool big = cases[i].big_endian;
        assert_int_equal(section_field(o, "debug_info", FIELD_AT, cases[i].width, big),
                         cases[i].expected);
        assert_int_equal(section_field(o, "debug_info", 0, 8, big), UINT64_C(0x1111111111111111));
        assert_int_equal(section_field(o, "debug_info", FIELD_AT + 8, 8, big),
                         UINT64_C(0x1111111111111111));
        assert_all_relocated(o);
        object_close(o);
    }
}

static void mips_64_little_endian_has_an_order_of_its_own(void **state) {
    static struct unlinked u;
    (void)state;
    begin_unlinked(&u, EM_MIPS, false, false, true);
    put(&u.relocations, FIELD_AT, 8);
    put(&u.relocations, SYMBOL_TEXT, 4);
    put(&u.relocations, 0,
        3); /* the second symbol and the types of the third and the second operation */
    put(&u.relocations, R_MIPS_64, 1);
    put(&u.relocations, ADDEND, 8);
    struct object *o = open_unlinked(&u);
    assert_int_equal(section_field(o, "debug_info", FIELD_AT, 8, false), HERE);
    assert_all_relocated(o);
    object_close(o);
}

static void differences_in_uleb128_keep_their_length(void **state) {
    static struct unlinked u;
    (void)state;
    begin_unlinked(&u, EM_RISCV, false, false, true);
    memcpy(u.info + FIELD_AT, "\x80\x80\x00\x00", 4);
    add_relocation(&u, FIELD_AT, SYMBOL_TEXT, 60, 0x85);
    add_relocation(&u, FIELD_AT, SYMBOL_TEXT, 61, 1);
    add_relocation(&u, FIELD_AT + 3, SYMBOL_TEXT, 60,
                   0x45); /* only the difference of both relocations fits the field */
    add_relocation(&u, FIELD_AT + 3, SYMBOL_TEXT, 61, 1);
    struct object *o = open_unlinked(&u);
    assert_int_equal(section_field(o, "debug_info", FIELD_AT, 4, true), 0x84810044);
    assert_all_relocated(o);
    object_close(o);
}

static void symbols_of_other_files_are_stripped_code(void **state) {
    static struct unlinked u;
    (void)state;
    begin_unlinked(&u, EM_X86_64, false, false, true);
    add_relocation(&u, 0, SYMBOL_UNDEFINED, R_X86_64_64, 0x100);
    add_relocation(&u, 8, SYMBOL_ABSOLUTE, R_X86_64_64, 1);
    add_relocation(&u, 16, STN_UNDEF, R_X86_64_64, 0x77);
    struct object *o = open_unlinked(&u);
    assert_int_equal(section_field(o, "debug_info", 0, 8, false), UINT64_MAX - 1);
    assert_int_equal(section_field(o, "debug_info", 8, 8, false), 0x56);
    assert_int_equal(section_field(o, "debug_info", 16, 8, false), 0x77);
    assert_all_relocated(o);
    object_close(o);
}

static void what_cannot_be_applied_is_listed_and_the_rest_is_applied(void **state) {
    static struct unlinked u;
    static const uint64_t expected[] = {8, 16, 24, 40, 57, UINT64_MAX};
    const uint64_t *offsets = NULL;
    size_t count = 0;
    const char *why = "";
    (void)state;
    begin_unlinked(&u, EM_X86_64, false, false, true);
    add_relocation(&u, sizeof u.info - 7, SYMBOL_TEXT, R_X86_64_64, 0);
    add_relocation(&u, 40, SYMBOL_TEXT, R_X86_64_32, INT64_C(1) << 32);
    add_relocation(&u, 16, SYMBOLS, R_X86_64_64, 0);
    add_relocation(&u, 8, SYMBOL_TEXT, R_X86_64_GOTPCREL, 0);
    add_relocation(&u, 24, SYMBOL_NO_SECTION, R_X86_64_64, 0);
    add_relocation(&u, UINT64_MAX, SYMBOL_TEXT, R_X86_64_64, 0);
    add_relocation(&u, 32, SYMBOL_TEXT, R_X86_64_64, ADDEND);
    struct object *o = open_unlinked(&u);
    assert_int_equal(section_field(o, "debug_info", 32, 8, false), HERE);
    assert_int_equal(
        object_relocation_failures(object_slice(o, 0), "debug_info", &offsets, &count, &why),
        ST_OK);
    assert_int_equal(count, sizeof expected / sizeof *expected);
    assert_memory_equal(offsets, expected, sizeof expected);
    assert_string_equal(why,
                        "section .debug_info: relocation of type 1 at 0x39: it lies outside of the "
                        "section");
    object_close(o);
}

static void relocations_that_cannot_be_read_cost_the_section(void **state) {
    static struct unlinked u;
    (void)state;
    begin_unlinked(&u, EM_X86_64, false, false, true);
    add_relocation(&u, FIELD_AT, SYMBOL_TEXT, R_X86_64_64, 0);
    u.sections[UNLINKED_INFO].link = 1;
    struct object *o = open_unlinked(&u);
    assert_section_refused(object_slice(o, 0), "debug_info", ERR_FORMAT, "without a symbol table");
    object_close(o);
    u.sections[UNLINKED_INFO].link = UNLINKED_SYMTAB;
    u.sections[UNLINKED_INFO].type = 0x40000014; /* SHT_CREL */
    o = open_unlinked(&u);
    assert_section_refused(object_slice(o, 0), "debug_info", ERR_UNSUPPORTED, "CREL");
    object_close(o);
}

static void more_relocations_than_bytes_can_need_cost_the_section(void **state) {
    static struct unlinked u;
    (void)state;
    begin_unlinked(&u, EM_X86_64, false, false, true);
    for (size_t i = 0; i < 64 + 4 * sizeof u.info + 1; i++) {
        add_relocation(&u, FIELD_AT, SYMBOL_TEXT, R_X86_64_64, 0);
    }
    struct object *o = open_unlinked(&u);
    assert_section_refused(object_slice(o, 0), "debug_info", ERR_LIMIT, "more relocations");
    object_close(o);
}

/* Tests COMDAT groups, which make several debug sections of one name, each with relocations of its
 * own. */
static void debug_sections_of_one_name_are_parts_of_one(void **state) {
    static struct unlinked u;
    (void)state;
    begin_unlinked(&u, EM_X86_64, false, false, true);
    enum { SECOND = 8 };
    elf_put_symbol(&u.symbols, false, 0, SECTION, SECOND, 0, 0);
    u.sections[UNLINKED_SYMTAB - 1].len = u.symbols.len;
    u.sections[SECOND - 1] = u.sections[UNLINKED_INFO - 1];
    u.elf.section_count++;
    add_relocation(&u, FIELD_AT, SYMBOLS, R_X86_64_32, 5);
    struct object *o = open_unlinked(&u);
    assert_int_equal(section_field(o, "debug_info", FIELD_AT, 4, false), sizeof u.info + 5);
    assert_int_equal(section_field(o, "debug_info", sizeof u.info + FIELD_AT, 4, false),
                     0x11111111);
    assert_int_equal(section_field(o, "debug_info", 2 * sizeof u.info - 8, 8, false),
                     UINT64_C(0x1111111111111111));
    object_close(o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_lies_as_the_module_loader_puts_it),
        cmocka_unit_test(addresses_that_a_linker_script_gave_stay),
        cmocka_unit_test(sections_larger_than_the_address_space_are_refused),
        cmocka_unit_test(each_machines_types_fill_their_fields),
        cmocka_unit_test(mips_64_little_endian_has_an_order_of_its_own),
        cmocka_unit_test(differences_in_uleb128_keep_their_length),
        cmocka_unit_test(symbols_of_other_files_are_stripped_code),
        cmocka_unit_test(what_cannot_be_applied_is_listed_and_the_rest_is_applied),
        cmocka_unit_test(relocations_that_cannot_be_read_cost_the_section),
        cmocka_unit_test(more_relocations_than_bytes_can_need_cost_the_section),
        cmocka_unit_test(debug_sections_of_one_name_are_parts_of_one),
    };
    return cmocka_run_group_tests_name("elffile_relocate", tests, NULL, NULL);
}
