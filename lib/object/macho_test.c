/* Tests of Mach-O headers, universal files and sections, and each kind of damage to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "object/object.h"
#include "object/object_build_test.h"

static void check_usual_file(bool is_32, bool big_endian, uint32_t cpu, const char *arch) {
    static struct build b;
    struct macho_build m = usual_macho();
    m.is_32 = is_32;
    m.big_endian = big_endian;
    m.cpu_type = cpu;
    build_macho(&b, &m);
    struct object *o = open_built(&b);
    assert_int_equal(object_slice_count(o), 1);
    assert_null(object_damage(o));
    assert_string_equal(object_path(o), "App");
    const struct object_slice *s = object_slice(o, 0);
    assert_null(object_slice(o, 1));
    char id[IMAGE_ID_TEXT];
    uint64_t address = 0;
    const uint8_t *bytes;
    size_t len, count = 0;
    const struct object_symbol *symbols = NULL;
    assert_string_equal(object_slice_arch(s), arch);
    assert_int_equal(object_slice_format(s), OBJECT_MACHO);
    assert_int_equal(object_slice_address_size(s), is_32 ? 4 : 8);
    assert_int_equal(object_slice_big_endian(s), big_endian);
    assert_string_equal(image_id_text(object_slice_id(s), id),
                        "30313233-3435-3637-3839-616263646566");
    assert_int_equal(object_slice_base(s), 0x1000);
    assert_int_equal(object_slice_text_end(s), 0x2000);
    assert_true(object_has_dwarf(s));
    assert_true(object_has_symbols(s));
    assert_section(s, "debug_info", "info");
    assert_section(s, "debug_str_offsets", "offsets");
    assert_int_equal(object_section(s, "text", &bytes, &len, &address, NULL), ST_OK);
    assert_int_equal(address, 0x1100);
    assert_int_equal(object_section(s, "debug_line", &bytes, &len, NULL, NULL), ST_NONE);
    assert_int_equal(object_symbols(s, &symbols, &count, NULL), ST_OK);
    assert_int_equal(count, 2);
    assert_symbol(&symbols[0], "main", 0x1100, 0x40);
    assert_symbol(&symbols[1], "helper", 0x1140, 0xc0);
    object_close(o);
}

static void thin_files_of_both_word_sizes_and_byte_orders_are_read(void **state) {
    (void)state;
    check_usual_file(false, false, MACHO_CPU_ARM64, "arm64");
    check_usual_file(true, false, 7, "i386");
    check_usual_file(true, true, MACHO_CPU_PPC, "ppc");
    check_usual_file(false, true, MACHO_CPU_PPC | 0x01000000, "ppc64");
}

static void cpu_types_have_the_names_of_apples_tools(void **state) {
    static const struct {
        uint32_t type, subtype;
        bool is_32;
        const char *name;
    } cpus[] = {
        {MACHO_CPU_ARM64, 0, false, "arm64"},
        {MACHO_CPU_ARM64, 1, false, "arm64"},
        {MACHO_CPU_ARM64, 0x80000002, false, "arm64e"},
        {0x0200000c, 1, true, "arm64_32"},
        {MACHO_CPU_X86_64, 3, false, "x86_64"},
        {MACHO_CPU_X86_64, 0x80000003, false, "x86_64"},
        {MACHO_CPU_X86_64, 8, false, "x86_64h"},
        {7, 3, true, "i386"},
        {MACHO_CPU_ARM, 6, true, "armv6"},
        {MACHO_CPU_ARM, 9, true, "armv7"},
        {MACHO_CPU_ARM, 11, true, "armv7s"},
        {MACHO_CPU_ARM, 12, true, "armv7k"},
        {MACHO_CPU_ARM, 99, true, "arm"},
        {0x42, 7, true, "cpu-42-7"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        static struct build b;
        struct macho_build m = usual_macho();
        m.cpu_type = cpus[i].type;
        m.cpu_subtype = cpus[i].subtype;
        m.is_32 = cpus[i].is_32;
        build_macho(&b, &m);
        struct object *o = open_built(&b);
        const struct object_slice *s = object_slice(o, 0);
        assert_string_equal(object_slice_arch(s), cpus[i].name);
        assert_int_equal(object_slice_is_arm32(s), cpus[i].type == MACHO_CPU_ARM);
        assert_ptr_equal(object_slice_by_arch(o, cpus[i].name), s);
        object_close(o);
    }
}

/* ---- universal files ---- */

struct fat_part {
    uint32_t cpu_type;
    const void *bytes;
    size_t len;
};

static void build_fat(struct build *b, bool is_64, bool little_endian, const struct fat_part *parts,
                      size_t count) {
    size_t places[4] = {0};
    assert_true(count <= 4);
    b->len = 0;
    b->big_endian = !little_endian;
    put(b, is_64 ? 0xcafebabf : 0xcafebabe, 4);
    put(b, count, 4);
    for (size_t i = 0; i < count; i++) {
        put(b, parts[i].cpu_type, 4);
        put(b, 0, 4);
        places[i] = put(b, 0, is_64 ? 8 : 4);
        put(b, parts[i].len, is_64 ? 8 : 4);
        put(b, 3, 4);
        if (is_64) {
            put(b, 0, 4);
        }
    }
    for (size_t i = 0; i < count; i++) {
        align_to(b, 16);
        put_at(b, places[i], put_bytes(b, parts[i].bytes, parts[i].len), is_64 ? 8 : 4);
    }
}

/* Makes two thin files: arm64 with UUID "AAAA…", x86_64 with "BBBB…". */
static void two_thin_files(struct build *arm64, struct build *x86_64) {
    struct macho_build m = usual_macho();
    memset(m.uuid, 'A', 16);
    build_macho(arm64, &m);
    memset(m.uuid, 'B', 16);
    m.cpu_type = MACHO_CPU_X86_64;
    build_macho(x86_64, &m);
}

static void universal_files_of_both_magics_and_byte_orders_give_their_slices(void **state) {
    static struct build arm64, x86_64, b;
    (void)state;
    two_thin_files(&arm64, &x86_64);
    const struct fat_part parts[] = {{MACHO_CPU_ARM64, arm64.data, arm64.len},
                                     {MACHO_CPU_X86_64, x86_64.data, x86_64.len}};
    for (int kind = 0; kind < 4; kind++) {
        build_fat(&b, (kind & 1) != 0, (kind & 2) != 0, parts, 2);
        struct object *o = open_built(&b);
        assert_int_equal(object_slice_count(o), 2);
        const struct object_slice *s = object_slice_by_arch(o, "x86_64");
        struct image_id id;
        assert_true(parse_uuid("41414141-4141-4141-4141-414141414141", 36, &id));
        assert_ptr_equal(object_slice_by_id(o, &id), object_slice_by_arch(o, "aarch64"));
        assert_ptr_equal(s, object_slice(o, 1));
        assert_null(object_slice_by_arch(o, "armv7"));
        assert_section(s, "debug_info", "info");
        object_close(o);
    }
}

static void a_zero_uuid_matches_no_slice(void **state) {
    static struct build b;
    struct macho_build m = usual_macho();
    struct image_id id = {.kind = IMAGE_ID_UUID, .len = 16};
    (void)state;
    memset(m.uuid, 0, 16);
    build_macho(&b, &m);
    struct object *o = open_built(&b);
    assert_null(object_slice_by_id(o, &id));
    object_close(o);
}

static void a_java_class_is_no_object_file(void **state) {
    static const uint8_t java[][12] = {
        {0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 0x34, 0, 0x10, 7, 0},
        {0xca, 0xfe, 0xba, 0xbe, 0, 3, 0, 45, 0, 0x10, 7, 0},
        {0xca, 0xfe, 0xba, 0xbe, 0xff, 0xff, 0, 66, 0, 0x10, 7, 0},
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct object *o = NULL;
        struct err e = {0};
        assert_int_equal(object_open_bytes(&o, "A.class", java[i], sizeof java[i], &e), ST_NONE);
        assert_false(err_is(&e));
    }
}

static void other_files_are_no_object_files(void **state) {
    static const char *const others[] = {
        "", "x", "hello, world\n", "!<arch>\n", "\xca\xfe\xba\xbe", "PK\003\004"};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct object *o = NULL;
        struct err e = {0};
        assert_int_equal(object_open_bytes(&o, "x", others[i], strlen(others[i]), &e), ST_NONE);
        assert_false(err_is(&e));
    }
}

static void damage_in_one_slice_costs_that_slice(void **state) {
    static struct build arm64, x86_64, b;
    (void)state;
    two_thin_files(&arm64, &x86_64);
    put_at(&arm64, 20, 0xffffff, 4); /* sizeofcmds */
    const struct fat_part parts[] = {{MACHO_CPU_ARM64, arm64.data, arm64.len},
                                     {MACHO_CPU_X86_64, x86_64.data, x86_64.len}};
    build_fat(&b, false, false, parts, 2);
    struct object *o = open_built(&b);
    assert_int_equal(object_slice_count(o), 1);
    assert_string_equal(object_slice_arch(object_slice(o, 0)), "x86_64");
    assert_non_null(strstr(object_damage(o), "slice arm64"));
    object_close(o);
    build_fat(&b, false, false, parts, 1);
    assert_refused(&b, ERR_TRUNCATED);
}

static void a_slice_past_the_end_of_the_file_is_damage(void **state) {
    static struct build arm64, x86_64, b;
    static const uint64_t sizes[] = {0xffffffff, UINT64_MAX, UINT64_MAX - 64};
    (void)state;
    two_thin_files(&arm64, &x86_64);
    const struct fat_part parts[] = {{MACHO_CPU_ARM64, arm64.data, arm64.len},
                                     {MACHO_CPU_X86_64, x86_64.data, x86_64.len}};
    for (size_t i = 0; i < 3; i++) {
        build_fat(&b, true, false, parts, 2);
        put_at(&b, 8 + 16, sizes[i], 8);
        struct object *o = open_built(&b);
        assert_int_equal(object_slice_count(o), 1);
        assert_non_null(strstr(object_damage(o), "past end of file"));
        object_close(o);
    }
}

static void a_universal_static_library_is_no_object_file(void **state) {
    static struct build b;
    struct object *o = NULL;
    struct err e = {0};
    const struct fat_part parts[] = {{MACHO_CPU_ARM64, "!<arch>\nxxxx", 12},
                                     {MACHO_CPU_X86_64, "!<arch>\nxxxx", 12}};
    (void)state;
    build_fat(&b, false, false, parts, 2);
    assert_int_equal(object_open_bytes(&o, "lib.a", b.data, b.len, &e), ST_NONE);
}

static void a_slice_table_without_room_is_refused(void **state) {
    static struct build b;
    const struct fat_part part = {MACHO_CPU_ARM64, "", 0};
    (void)state;
    build_fat(&b, false, false, &part, 1);
    put_at(&b, 4, 0, 4);
    assert_refused(&b, ERR_TRUNCATED);
    put_at(&b, 4, 40, 4);
    assert_refused(&b, ERR_TRUNCATED);
}

/* ---- sections ---- */

static void a_dsym_has_text_addresses_without_text_bytes(void **state) {
    static struct build b;
    struct macho_build_section sections[4];
    struct macho_build m = usual_macho();
    const uint8_t *bytes;
    size_t len, count = 0;
    const struct object_symbol *symbols;
    (void)state;
    memcpy(sections, usual_sections, sizeof sections);
    sections[0].no_bytes = sections[1].no_bytes = true;
    m.sections = sections;
    m.text_has_no_bytes = true;
    m.file_type = 0xa;
    build_macho(&b, &m);
    struct object *o = open_built(&b);
    const struct object_slice *s = object_slice(o, 0);
    struct object_section_info info;
    assert_int_equal(object_section(s, "text", &bytes, &len, NULL, NULL), ST_NONE);
    assert_section(s, "debug_info", "info");
    assert_int_equal(object_slice_base(s), 0x1000);
    assert_int_equal(object_symbols(s, &symbols, &count, NULL), ST_OK);
    assert_int_equal(count, 2);
    assert_int_equal(object_section_count(s), 4);
    assert_true(object_section_info(s, 0, &info));
    assert_string_equal(info.segment, "__TEXT");
    assert_string_equal(info.name, "__text");
    assert_int_equal(info.address, 0x1100);
    assert_int_equal(info.size, 0x100);
    assert_true(info.code);
    assert_true(object_section_info(s, 3, &info));
    assert_string_equal(info.name, "__debug_str_offs");
    assert_false(info.code);
    assert_false(object_section_info(s, 4, &info));
    object_close(o);
}

/* Opens a file with one section in __DWARF. */
static struct object *open_with_section(struct build *b, const char *name, const void *bytes,
                                        size_t len) {
    struct macho_build_section section = {
        .segment = "__DWARF", .name = name, .bytes = bytes, .len = len};
    struct macho_build m = usual_macho();
    m.sections = &section;
    m.section_count = 1;
    build_macho(b, &m);
    return open_built(b);
}

static void section_names_that_macho_cuts_are_found_whole(void **state) {
    static const struct {
        const char *cut, *whole;
    } names[] = {
        {"__debug_str_offs", "debug_str_offsets"},
        {"__debug_line_str", "debug_line_str"},
        {"__debug_rnglists", "debug_rnglists"},
        {"__debug_loclists", "debug_loclists"},
        {"__debug_gnu_pubn", "debug_gnu_pubnames"},
        {"__debug_gnu_pubt", "debug_gnu_pubtypes"},
        {"__debug_addr", "debug_addr"},
        {"__debug_names", "debug_names"},
        {"__debug_pubtypes", "debug_pubtypes"},
        {"__apple_namespac", "apple_namespaces"},
        {"__eh_frame", "eh_frame"},
        {"__swift5_names", "swift5_names"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        static struct build b;
        struct object *o = open_with_section(&b, names[i].cut, "content", 7);
        assert_section(object_slice(o, 0), names[i].whole, "content");
        object_close(o);
    }
}

static void zdebug_sections_are_inflated_once(void **state) {
    static struct build b, packed;
    uint8_t stream[64];
    uLongf stream_len = sizeof stream;
    (void)state;
    assert_int_equal(compress(stream, &stream_len, (const Bytef *)"inflated text", 13), Z_OK);
    packed.len = 0;
    packed.big_endian = true;
    put_bytes(&packed, "ZLIB", 4);
    put(&packed, 13, 8);
    put_bytes(&packed, stream, stream_len);
    static const char *const names[][2] = {{"__zdebug_info", "debug_info"},
                                           {"__zdebug_line_st", "debug_line_str"},
                                           {"__zdebug_str_off", "debug_str_offsets"}};
    for (size_t i = 0; i < 3; i++) {
        struct object *o = open_with_section(&b, names[i][0], packed.data, packed.len);
        const uint8_t *first, *second;
        size_t len;
        assert_section(object_slice(o, 0), names[i][1], "inflated text");
        assert_int_equal(object_section(object_slice(o, 0), names[i][1], &first, &len, NULL, NULL),
                         ST_OK);
        assert_int_equal(object_section(object_slice(o, 0), names[i][1], &second, &len, NULL, NULL),
                         ST_OK);
        assert_ptr_equal(first, second);
        object_close(o);
    }
}

/* Checks sections that are each small enough but together too large: which of them are refused does
 * not depend on the order of asking. */
static void sections_are_too_large_in_the_order_of_the_file(void **state) {
    /* FIT: number of sections of 16 MB each that the limit allows. */
    enum { SECTIONS = 20, FIT = 16 };
    static struct build b, packed;
    struct macho_build_section sections[SECTIONS];
    char names[SECTIONS][17];
    struct macho_build m = usual_macho();
    (void)state;
    packed.len = 0;
    packed.big_endian = true;
    put_bytes(&packed, "ZLIB", 4);
    put(&packed, 16 << 20, 8);
    put_bytes(&packed, "no stream", 9);
    for (unsigned i = 0; i < SECTIONS; i++) {
        snprintf(names[i], sizeof names[i], "__zdebug_%u", i);
        sections[i] = (struct macho_build_section){
            .segment = "__DWARF", .name = names[i], .bytes = packed.data, .len = packed.len};
    }
    m.sections = sections;
    m.section_count = SECTIONS;
    build_macho(&b, &m);
    for (int down = 0; down < 2; down++) {
        struct object *o = open_built(&b);
        for (unsigned k = 0; k < SECTIONS; k++) {
            unsigned i = down ? SECTIONS - 1 - k : k;
            char name[16];
            snprintf(name, sizeof name, "debug_%u", i);
            assert_section_refused(object_slice(o, 0), name, i < FIT ? ERR_FORMAT : ERR_LIMIT,
                                   names[i]);
        }
        object_close(o);
    }
}

static void a_section_past_the_end_of_the_file_is_an_error_of_that_section(void **state) {
    static struct build b;
    struct macho_build_section sections[4];
    struct macho_build m = usual_macho();
    (void)state;
    memcpy(sections, usual_sections, sizeof sections);
    sections[2].size = 0x100000;
    m.sections = sections;
    build_macho(&b, &m);
    struct object *o = open_built(&b);
    assert_section_refused(object_slice(o, 0), "debug_info", ERR_TRUNCATED, "__debug_info");
    assert_section(object_slice(o, 0), "debug_str_offsets", "offsets");
    object_close(o);
}

static void code_in_a_segment_of_its_own_counts_as_text(void **state) {
    static struct build b;
    struct macho_build_section section = {.segment = "__DWARF",
                                          .name = "__text",
                                          .address = 0x9000,
                                          .bytes = "code",
                                          .len = 4,
                                          .flags = MACHO_CODE};
    struct macho_build m = usual_macho();
    (void)state;
    m.sections = &section;
    m.section_count = 1;
    build_macho(&b, &m);
    struct object *o = open_built(&b);
    assert_int_equal(object_slice_base(object_slice(o, 0)), 0x1000);
    assert_int_equal(object_slice_text_end(object_slice(o, 0)), 0x9004);
    object_close(o);
}

/* ---- load commands ---- */

static void load_commands_of_impossible_size_are_refused(void **state) {
    static struct build b;
    static const uint32_t sizes[] = {0, 4, 7, 0x7fffffff, 0xffffffff};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct macho_build m = usual_macho();
        build_macho(&b, &m);
        put_at(&b, m.uuid_at + 4, sizes[i], 4);
        assert_refused(&b, ERR_FORMAT);
        build_macho(&b, &m);
        put_at(&b, m.symtab_at + 4, sizes[i], 4);
        assert_refused(&b, ERR_FORMAT);
    }
}

/* Checks that a record must fit its own load command, not just the file. */
static void records_longer_than_their_command_are_refused(void **state) {
    static struct build b;
    static const uint8_t starts[] = {0x10, 0};
    (void)state;
    for (int which = 0; which < 4; which++) {
        struct macho_build m = usual_macho();
        m.starts = starts;
        m.starts_len = sizeof starts;
        build_macho(&b, &m);
        size_t at[] = {m.uuid_at, m.text_at, m.symtab_at, m.starts_at};
        put_at(&b, at[which] + 4, 8, 4);
        assert_refused(&b, ERR_TRUNCATED);
    }
}

static void more_sections_than_the_command_holds_are_refused(void **state) {
    static struct build b;
    static const uint32_t counts[] = {3, 1000, 0x3333334, 0xffffffff};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (int is_32 = 0; is_32 < 2; is_32++) {
            struct macho_build m = usual_macho();
            m.is_32 = is_32 != 0;
            build_macho(&b, &m);
            put_at(&b, m.text_at + (is_32 ? 48 : 64), counts[i], 4);
            assert_refused(&b, ERR_TRUNCATED);
        }
    }
}

static void more_commands_than_there_are_is_refused(void **state) {
    static struct build b;
    struct macho_build m = usual_macho();
    (void)state;
    build_macho(&b, &m);
    put_at(&b, 16, 0xffffffff, 4);
    assert_refused(&b, ERR_TRUNCATED);
    build_macho(&b, &m);
    put_at(&b, 20, 0xffffffff, 4);
    assert_refused(&b, ERR_TRUNCATED);
}

static void a_text_segment_that_wraps_around_is_refused(void **state) {
    static struct build b;
    struct macho_build m = usual_macho();
    (void)state;
    m.text_address = UINT64_MAX - 0xfff;
    m.text_size = 0x2000;
    build_macho(&b, &m);
    assert_refused(&b, ERR_FORMAT);
}

static void a_core_dump_is_no_object_file(void **state) {
    static struct build b;
    struct macho_build m = usual_macho();
    struct object *o = NULL;
    (void)state;
    m.file_type = 4;
    build_macho(&b, &m);
    assert_int_equal(object_open_bytes(&o, "core", b.data, b.len, NULL), ST_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thin_files_of_both_word_sizes_and_byte_orders_are_read),
        cmocka_unit_test(cpu_types_have_the_names_of_apples_tools),
        cmocka_unit_test(universal_files_of_both_magics_and_byte_orders_give_their_slices),
        cmocka_unit_test(a_zero_uuid_matches_no_slice),
        cmocka_unit_test(a_java_class_is_no_object_file),
        cmocka_unit_test(other_files_are_no_object_files),
        cmocka_unit_test(damage_in_one_slice_costs_that_slice),
        cmocka_unit_test(a_slice_past_the_end_of_the_file_is_damage),
        cmocka_unit_test(a_universal_static_library_is_no_object_file),
        cmocka_unit_test(a_slice_table_without_room_is_refused),
        cmocka_unit_test(a_dsym_has_text_addresses_without_text_bytes),
        cmocka_unit_test(section_names_that_macho_cuts_are_found_whole),
        cmocka_unit_test(zdebug_sections_are_inflated_once),
        cmocka_unit_test(sections_are_too_large_in_the_order_of_the_file),
        cmocka_unit_test(a_section_past_the_end_of_the_file_is_an_error_of_that_section),
        cmocka_unit_test(code_in_a_segment_of_its_own_counts_as_text),
        cmocka_unit_test(load_commands_of_impossible_size_are_refused),
        cmocka_unit_test(records_longer_than_their_command_are_refused),
        cmocka_unit_test(more_sections_than_the_command_holds_are_refused),
        cmocka_unit_test(more_commands_than_there_are_is_refused),
        cmocka_unit_test(a_text_segment_that_wraps_around_is_refused),
        cmocka_unit_test(a_core_dump_is_no_object_file),
    };
    return cmocka_run_group_tests_name("macho", tests, NULL, NULL);
}
