/* Tests of relocations of Mach-O files that are not linked. */
#include "object/object_build_test.h"

enum { MH_OBJECT_TYPE = 1, UNDEFINED = 0x01, FIELD_AT = 8, CPU_I386 = 7 };
enum { SYMBOL_MAIN, SYMBOL_ELSEWHERE, SYMBOLS };
enum { LENGTH_4 = 2, LENGTH_8 = 3 };

static const struct macho_build_symbol symbols[] = {
    [SYMBOL_MAIN] = {"_main", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x1140},
    [SYMBOL_ELSEWHERE] = {"_elsewhere", UNDEFINED, 0, 0, 0},
};

struct macho_unlinked {
    struct build file, relocations;
    struct macho_build_section sections[2];
    struct macho_build macho;
    uint8_t info[32];
};

static void begin_macho(struct macho_unlinked *u, uint32_t cpu, bool is_32, bool big_endian) {
    *u = (struct macho_unlinked){0};
    u->file.big_endian = u->relocations.big_endian = big_endian;
    memset(u->info, 0x11, sizeof u->info);
    u->sections[0] = usual_sections[0];
    u->sections[1] = (struct macho_build_section){
        .segment = "__DWARF", .name = "__debug_info", .bytes = u->info, .len = sizeof u->info};
    u->macho = usual_macho();
    u->macho.file_type = MH_OBJECT_TYPE;
    u->macho.cpu_type = cpu;
    u->macho.is_32 = is_32;
    u->macho.big_endian = big_endian;
    u->macho.sections = u->sections;
    u->macho.section_count = 2;
    u->macho.symbols = symbols;
    u->macho.symbol_count = SYMBOLS;
}

/* Appends a struct relocation_info of <mach-o/reloc.h>: bit fields, the first one lowest if
 * little-endian. */
static void add_entry(struct macho_unlinked *u, uint32_t address, uint32_t number, bool relative,
                      uint32_t length, bool of_symbol, uint32_t type) {
    put(&u->relocations, address, 4);
    put(&u->relocations,
        u->relocations.big_endian
            ? number << 8 | (uint32_t)relative << 7 | length << 5 | (uint32_t)of_symbol << 4 | type
            : number | (uint32_t)relative << 24 | length << 25 | (uint32_t)of_symbol << 27 |
                  type << 28,
        4);
}

static struct object *open_macho(struct macho_unlinked *u) {
    u->sections[1].relocations = u->relocations.data;
    u->sections[1].relocations_len = u->relocations.len;
    build_macho(&u->file, &u->macho);
    return open_built(&u->file);
}

static void a_symbols_address_is_added_to_the_field(void **state) {
    static const struct {
        uint32_t cpu;
        bool is_32, big_endian;
        uint32_t type;
        uint64_t expected;
    } cases[] = {
        {MACHO_CPU_ARM64, false, false, 0, 0x1111111111111111 + 0x1140},
        {MACHO_CPU_ARM64, false, false, 1, 0x1111111111111111 - 0x1140},
        {MACHO_CPU_X86_64, false, false, 0, 0x1111111111111111 + 0x1140},
        {MACHO_CPU_X86_64, false, false, 5, 0x1111111111111111 - 0x1140},
        {CPU_I386, true, false, 0, 0x11111111 + 0x1140},
        {MACHO_CPU_ARM, true, false, 0, 0x11111111 + 0x1140},
        {MACHO_CPU_PPC, true, true, 0, 0x11111111 + 0x1140},
    };
    static struct macho_unlinked u;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_32 = cases[i].is_32, big = cases[i].big_endian;
        begin_macho(&u, cases[i].cpu, is_32, big);
        add_entry(&u, FIELD_AT, SYMBOL_MAIN, false, is_32 ? LENGTH_4 : LENGTH_8, true,
                  cases[i].type);
        struct object *o = open_macho(&u);
        assert_int_equal(section_field(o, "debug_info", FIELD_AT, is_32 ? 4 : 8, big),
                         cases[i].expected);
        assert_int_equal(section_field(o, "debug_info", FIELD_AT + 8, 4, big), 0x11111111);
        object_close(o);
    }
}

/* Checks that the file's own bytes are handed out when all relocations, scattered ones too, refer
 * to sections, whose addresses the fields already hold. */
static void what_refers_to_a_section_stays(void **state) {
    static struct macho_unlinked u;
    const uint8_t *bytes = NULL;
    size_t len = 0;
    (void)state;
    begin_macho(&u, CPU_I386, true, false);
    add_entry(&u, FIELD_AT, TEXT_SECTION, false, LENGTH_4, false, 0);
    put(&u.relocations, 0xa4000004,
        4); /* a scattered relocation: the difference of sections at offset 4 */
    put(&u.relocations, 0x1100, 4);
    put(&u.relocations, 0xa1000000, 4); /* the second half of the pair */
    put(&u.relocations, 0x1140, 4);
    struct object *o = open_macho(&u);
    assert_int_equal(object_section(object_slice(o, 0), "debug_info", &bytes, &len, NULL, NULL),
                     ST_OK);
    assert_true(bytes >= u.file.data && bytes < u.file.data + u.file.len);
    assert_memory_equal(bytes, u.info, sizeof u.info);
    object_close(o);
}

static void symbols_of_other_files_are_code_that_was_stripped(void **state) {
    static struct macho_unlinked u;
    (void)state;
    begin_macho(&u, MACHO_CPU_ARM64, false, false);
    add_entry(&u, FIELD_AT, SYMBOL_ELSEWHERE, false, LENGTH_8, true, 0);
    struct object *o = open_macho(&u);
    assert_int_equal(section_field(o, "debug_info", FIELD_AT, 8, false), UINT64_MAX - 1);
    object_close(o);
}

static void what_is_not_understood_is_listed(void **state) {
    static struct macho_unlinked u;
    static const uint64_t expected[] = {0, 8, 16, UINT64_MAX};
    const uint64_t *offsets = NULL;
    size_t count = 0;
    const char *why = NULL;
    (void)state;
    begin_macho(&u, MACHO_CPU_ARM64, false, false);
    add_entry(&u, 16, SYMBOL_MAIN, false, LENGTH_8, true, 3);
    add_entry(&u, 8, SYMBOL_MAIN, true, LENGTH_4, true, 0);
    add_entry(&u, 0, SYMBOLS, false, LENGTH_8, true, 0);
    add_entry(&u, 0x7fffffff, SYMBOL_MAIN, false, LENGTH_8, true, 0);
    add_entry(&u, 24, SYMBOL_MAIN, false, LENGTH_8, true, 0);
    struct object *o = open_macho(&u);
    assert_int_equal(section_field(o, "debug_info", 24, 8, false), 0x1111111111111111 + 0x1140);
    assert_int_equal(
        object_relocation_failures(object_slice(o, 0), "debug_info", &offsets, &count, &why),
        ST_OK);
    assert_int_equal(count, sizeof expected / sizeof *expected);
    assert_memory_equal(offsets, expected, sizeof expected);
    object_close(o);
}

static void relocations_past_the_end_of_the_file_cost_the_section(void **state) {
    static struct macho_unlinked u;
    (void)state;
    begin_macho(&u, MACHO_CPU_ARM64, false, false);
    add_entry(&u, FIELD_AT, SYMBOL_MAIN, false, LENGTH_8, true, 0);
    object_close(open_macho(&u));
    static const size_t at_most = sizeof u.file.data;
    for (size_t at = 0; at + 8 <= u.file.len && at < at_most; at++) {
        if (memcmp(u.file.data + at, "__debug_info", 12) == 0) {
            put_at(&u.file, at + 32 + 16 + 12, UINT32_MAX, 4); /* nreloc */
            break;
        }
    }
    struct object *o = open_built(&u.file);
    assert_section_refused(object_slice(o, 0), "debug_info", ERR_TRUNCATED, "relocations");
    object_close(o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_symbols_address_is_added_to_the_field),
        cmocka_unit_test(what_refers_to_a_section_stays),
        cmocka_unit_test(symbols_of_other_files_are_code_that_was_stripped),
        cmocka_unit_test(what_is_not_understood_is_listed),
        cmocka_unit_test(relocations_past_the_end_of_the_file_cost_the_section),
    };
    return cmocka_run_group_tests_name("macho_relocate", tests, NULL, NULL);
}
