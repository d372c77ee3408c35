/* Tests of ELF files: headers, build-id, packed sections, and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "object/object.h"
#include "object/object_build_test.h"

static struct build note_of(bool big_endian, uint32_t type, const char *name, size_t id_len) {
    struct build n = {.big_endian = big_endian};
    put(&n, strlen(name) + 1, 4);
    put(&n, id_len, 4);
    put(&n, type, 4);
    put_bytes(&n, name, strlen(name) + 1);
    align_to(&n, 4);
    for (size_t i = 0; i < id_len; i++) {
        put(&n, 0xa0 + i, 1);
    }
    align_to(&n, 4);
    return n;
}

static void files_of_both_word_sizes_and_byte_orders_are_read(void **state) {
    static struct build b;
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bool is_32 = (kind & 1) != 0, big = (kind & 2) != 0;
        struct build note = note_of(big, 3, "GNU", 20);
        const struct elf_build_section more[] = {
            {.name = ".note.gnu.build-id",
             .type = NOTE,
             .flags = ALLOC,
             .bytes = note.data,
             .len = note.len},
            {.name = ".debug_info", .type = PROGBITS, .bytes = "info", .len = 4}};
        struct elf_build_section sections[BUILD_MAX_SECTIONS];
        struct elf_build f = usual_elf(sections, more, 2);
        f.is_32 = is_32;
        f.big_endian = big;
        build_elf(&b, &f);
        struct object *o = open_built(&b);
        const struct object_slice *s = object_slice(o, 0);
        char id[IMAGE_ID_TEXT];
        assert_int_equal(object_slice_count(o), 1);
        assert_int_equal(object_slice_format(s), OBJECT_ELF);
        assert_int_equal(object_slice_address_size(s), is_32 ? 4 : 8);
        assert_int_equal(object_slice_big_endian(s), big);
        assert_string_equal(image_id_text(object_slice_id(s), id),
                            "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3");
        assert_ptr_equal(object_slice_by_id(o, object_slice_id(s)), s);
        assert_int_equal(object_slice_base(s), 0x401000);
        assert_int_equal(object_slice_text_end(s), 0x403234);
        assert_true(object_has_dwarf(s));
        assert_false(object_has_symbols(s));
        assert_section(s, "debug_info", "info");
        struct object_section_info info;
        assert_true(object_section_info(s, TEXT, &info));
        assert_string_equal(info.name, ".text");
        assert_string_equal(info.segment, "");
        assert_true(info.code);
        assert_int_equal(info.size, 0x100);
        object_close(o);
    }
}

static void machines_have_the_names_of_darwins_tools_where_both_know_them(void **state) {
    static const struct {
        uint16_t machine;
        bool is_32, big;
        const char *name;
    } machines[] = {
        {62, false, false, "x86_64"},   {62, true, false, "x32"},
        {3, true, false, "i386"},       {183, false, false, "arm64"},
        {40, true, false, "arm"},       {243, false, false, "riscv64"},
        {21, false, true, "ppc64"},     {21, false, false, "ppc64le"},
        {8, true, true, "mips"},        {22, false, true, "s390x"},
        {258, false, false, "loong64"}, {4242, false, false, "machine-4242"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        static struct build b;
        struct elf_build_section sections[BUILD_MAX_SECTIONS];
        struct elf_build f = usual_elf(sections, NULL, 0);
        f.machine = machines[i].machine;
        f.is_32 = machines[i].is_32;
        f.big_endian = machines[i].big;
        build_elf(&b, &f);
        struct object *o = open_built(&b);
        assert_string_equal(object_slice_arch(object_slice(o, 0)), machines[i].name);
        object_close(o);
    }
}

static void a_32_bit_arm_file_may_say_its_version(void **state) {
    static const struct {
        const char *bytes;
        size_t len;
        const char *arch;
    } attributes[] = {
        /* 'A', 19 bytes of aeabi: Tag_File with 9 bytes: Tag_CPU_name "", Tag_CPU_arch */
        {"A\x13\0\0\0aeabi\0\1\x09\0\0\0\5\0\6\x0a", 20, "armv7"},
        {"A\x13\0\0\0aeabi\0\1\x09\0\0\0\5\0\6\6", 20, "armv6"},
        {"A\x13\0\0\0aeabi\0\1\x09\0\0\0\5\0\6\x77", 20, "arm"},
        {"A\x13\0\0\0other\0\1\x09\0\0\0\5\0\6\x0a", 20, "arm"},
        {"A\x13\0\0\0aeabi\0\2\x09\0\0\0\5\0\6\x0a", 20, "arm"},
        {"B\x13\0\0\0aeabi\0\1\x09\0\0\0\5\0\6\x0a", 20, "arm"},
        {"A\0\0\0\0aeabi", 10, "arm"},
        {"A\x13\0\0\0aeabi\0\1\0\0\0\0\5\0\6\x0a", 20, "arm"},
        {"A\x13\0\0\0aeabi\0\1\xff\0\0\0\5\0\6\x0a", 20, "arm"},
        {"A\x13\0\0\0aeabi\0\1\x09\0\0\0\5", 17, "arm"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        static struct build b;
        const struct elf_build_section more = {.name = ".ARM.attributes",
                                               .type = 0x70000003,
                                               .bytes = attributes[i].bytes,
                                               .len = attributes[i].len};
        struct elf_build_section sections[BUILD_MAX_SECTIONS];
        struct elf_build f = usual_elf(sections, &more, 1);
        f.machine = 40;
        f.is_32 = true;
        build_elf(&b, &f);
        struct object *o = open_built(&b);
        assert_string_equal(object_slice_arch(object_slice(o, 0)), attributes[i].arch);
        object_close(o);
    }
}

static void arch_names_of_other_systems_are_understood(void **state) {
    static struct build b;
    (void)state;
    struct object *o = open_elf_with(&b, NULL, 0);
    assert_non_null(object_slice_by_arch(o, "x86_64"));
    assert_non_null(object_slice_by_arch(o, "amd64"));
    assert_null(object_slice_by_arch(o, "aarch64"));
    object_close(o);
}

static void the_build_id_is_found_through_the_program_headers_alone(void **state) {
    static struct build b;
    struct build note = note_of(false, 3, "GNU", 8);
    const struct elf_build_section hidden = {
        .name = ".hidden", .type = PROGBITS, .bytes = note.data, .len = note.len};
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, &hidden, 1);
    const struct elf_build_segment segments[] = {
        usual_segments[0], {.type = PT_NOTES, .flags = READ, .memory_size = 4, .of_section = 3}};
    char id[IMAGE_ID_TEXT];
    (void)state;
    f.segments = segments;
    f.segment_count = 2;
    build_elf(&b, &f);
    struct object *o = open_built(&b);
    assert_string_equal(image_id_text(object_slice_id(object_slice(o, 0)), id), "a0a1a2a3a4a5a6a7");
    object_close(o);
}

static void other_notes_and_ids_too_long_are_no_build_id(void **state) {
    static struct build b;
    struct build notes[] = {note_of(false, 1, "GNU", 16), note_of(false, 3, "Go", 16),
                            note_of(false, 3, "GNU", 0), note_of(false, 3, "GNU", 21)};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct elf_build_section more = {
            .name = ".note", .type = NOTE, .bytes = notes[i].data, .len = notes[i].len};
        struct object *o = open_elf_with(&b, &more, 1);
        assert_int_equal(object_slice_id(object_slice(o, 0))->kind, IMAGE_ID_NONE);
        object_close(o);
    }
}

/* Opens a file with thousands of sections that share the same megabytes of notes. */
static void overlapping_notes_cost_no_more_than_the_file_is_long(void **state) {
    enum { HEADER = 64, SECTIONS = 20000, NOTES = 2 << 20, AT = HEADER + SECTIONS * 64 };
    struct build *b = calloc(1, sizeof *b);
    uint8_t *file = calloc(1, AT + NOTES);
    struct elf_build f = {.section_count = 0};
    struct object *o = NULL;
    (void)state;
    assert_non_null(b);
    assert_non_null(file);
    build_elf(b, &f);
    put_at(b, 40, HEADER, 8);   /* e_shoff */
    put_at(b, 60, SECTIONS, 2); /* e_shnum */
    put_at(b, 62, 0, 2);        /* e_shstrndx */
    memcpy(file, b->data, HEADER);
    for (size_t i = 1; i < SECTIONS; i++) {
        const struct elf_build_section notes = {.type = NOTE, .len = NOTES};
        b->len = 0;
        elf_put_section_header(b, false, 0, &notes, AT);
        memcpy(file + HEADER + i * 64, b->data, 64);
    }
    clock_t start = clock();
    assert_int_equal(object_open_bytes(&o, "notes", file, AT + NOTES, NULL), ST_OK);
    assert_true((clock() - start) / CLOCKS_PER_SEC <
                2); /* reading the notes 20000 times would take minutes */
    object_close(o);
    free(file);
    free(b);
}

static void a_file_without_program_headers_has_base_zero(void **state) {
    static struct build b;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, NULL, 0);
    (void)state;
    f.segment_count = 0;
    build_elf(&b, &f);
    struct object *o = open_built(&b);
    assert_int_equal(object_slice_base(object_slice(o, 0)), 0);
    object_close(o);
}

/* ---- packed sections ---- */

static const char long_text[] = "inflated inflated inflated inflated text";

/* Returns a compression header of this word size that claims `size` bytes, with a zlib stream after
 * it. */
static struct build packed_with(bool is_32, bool big, uint32_t type, uint64_t size) {
    struct build p = {.big_endian = big};
    uint8_t stream[256];
    size_t len;
    put(&p, type, 4);
    if (!is_32) {
        put(&p, 0, 4);
    }
    put(&p, size, is_32 ? 4 : 8);
    put(&p, 1, is_32 ? 4 : 8);
    if (type == 2) {
        len = ZSTD_compress(stream, sizeof stream, long_text, sizeof long_text - 1, 3);
        assert_false(ZSTD_isError(len));
    } else {
        uLongf zlib_len = sizeof stream;
        assert_int_equal(
            compress(stream, &zlib_len, (const Bytef *)long_text, sizeof long_text - 1), Z_OK);
        len = zlib_len;
    }
    put_bytes(&p, stream, len);
    return p;
}

static struct elf_build_section packed_section(const struct build *p, size_t len) {
    return (struct elf_build_section){
        .name = ".debug_str", .type = PROGBITS, .flags = COMPRESSED, .bytes = p->data, .len = len};
}

static void sections_packed_with_zlib_and_zstd_are_inflated(void **state) {
    static struct build b;
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        bool is_32 = (kind & 1) != 0, big = (kind & 2) != 0;
        struct build p = packed_with(is_32, big, (kind & 4) != 0 ? 2 : 1, sizeof long_text - 1);
        struct elf_build_section more = packed_section(&p, p.len);
        struct elf_build_section sections[BUILD_MAX_SECTIONS];
        struct elf_build f = usual_elf(sections, &more, 1);
        f.is_32 = is_32;
        f.big_endian = big;
        build_elf(&b, &f);
        struct object *o = open_built(&b);
        assert_section(object_slice(o, 0), "debug_str", long_text);
        object_close(o);
    }
}

static void a_packed_section_that_lies_about_its_size_is_refused(void **state) {
    static struct build b;
    enum { REAL_SIZE = sizeof long_text - 1 };
    static const struct {
        uint32_t type;
        uint64_t size;
        enum err_code code;
    } lies[] = {
        {1, UINT64_MAX, ERR_LIMIT},     {1, (uint64_t)1 << 40, ERR_LIMIT},
        {2, UINT64_MAX, ERR_LIMIT},     {2, (16 << 20) + 1, ERR_LIMIT},
        {1, REAL_SIZE + 1, ERR_FORMAT}, {2, REAL_SIZE + 1, ERR_FORMAT},
        {2, REAL_SIZE - 1, ERR_FORMAT}, {7, REAL_SIZE, ERR_UNSUPPORTED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct build p = packed_with(false, false, lies[i].type, lies[i].size);
        struct elf_build_section more = packed_section(&p, p.len);
        struct object *o = open_elf_with(&b, &more, 1);
        assert_section_refused(object_slice(o, 0), "debug_str", lies[i].code, ".debug_str");
        object_close(o);
    }
}

static void a_cut_packed_section_is_refused(void **state) {
    static struct build b;
    (void)state;
    for (uint32_t type = 1; type <= 2; type++) {
        struct build p = packed_with(false, false, type, sizeof long_text - 1);
        for (size_t len = 1; len < p.len; len++) {
            struct elf_build_section more = packed_section(&p, len);
            struct object *o = open_elf_with(&b, &more, 1);
            const uint8_t *bytes;
            size_t size;
            struct err e = {0};
            assert_int_equal(
                object_section(object_slice(o, 0), "debug_str", &bytes, &size, NULL, &e), ST_ERR);
            assert_true(e.code == ERR_TRUNCATED || e.code == ERR_FORMAT);
            object_close(o);
        }
    }
}

static void all_sections_of_a_file_together_have_a_budget(void **state) {
    enum { COUNT = 20, EACH = 16 << 20, NAME_SIZE = 16 };
    static struct build b, p;
    struct elf_build_section more[COUNT];
    char names[COUNT][NAME_SIZE];
    uint8_t *zeros = calloc(1, EACH);
    assert_non_null(zeros);
    (void)state;
    p.len = 0;
    put(&p, 2, 8); /* ELFCOMPRESS_ZSTD */
    put(&p, EACH, 8);
    put(&p, 1, 8);
    size_t packed = ZSTD_compress(p.data + p.len, sizeof p.data - p.len, zeros, EACH, 1);
    assert_false(ZSTD_isError(packed));
    p.len += packed;
    free(zeros);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], NAME_SIZE, ".packed%zu", i);
        more[i] = packed_section(&p, p.len);
        more[i].name = names[i];
    }
    struct object *o = open_elf_with(&b, more, COUNT);
    size_t good = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const uint8_t *bytes;
        size_t len;
        struct err e = {0};
        enum st st = object_section(object_slice(o, 0), names[i] + 1, &bytes, &len, NULL, &e);
        good += st == ST_OK ? 1u : 0u;
        assert_true(st == ST_OK || e.code == ERR_LIMIT);
    }
    /* 256 MiB and 64 times the file, which is smaller than another 16 MiB */
    assert_int_equal(good, 16);
    object_close(o);
}

static void zdebug_without_its_magic_is_refused(void **state) {
    static struct build b;
    const struct elf_build_section more = {
        .name = ".zdebug_info", .type = PROGBITS, .bytes = "BLIZ12345678xxxx", .len = 16};
    (void)state;
    struct object *o = open_elf_with(&b, &more, 1);
    assert_true(object_has_dwarf(object_slice(o, 0)));
    assert_section_refused(object_slice(o, 0), "debug_info", ERR_FORMAT, "ZLIB");
    object_close(o);
}

static void a_section_without_bytes_in_the_file_is_absent(void **state) {
    static struct build b;
    const struct elf_build_section more = {
        .name = ".debug_info", .type = NOBITS, .size = 0x7fffffffffff};
    const uint8_t *bytes;
    size_t len;
    (void)state;
    struct object *o = open_elf_with(&b, &more, 1);
    assert_false(object_has_dwarf(object_slice(o, 0)));
    assert_int_equal(object_section(object_slice(o, 0), "debug_info", &bytes, &len, NULL, NULL),
                     ST_NONE);
    object_close(o);
}

static void a_section_past_the_end_of_the_file_is_an_error_of_that_section(void **state) {
    static struct build b;
    static const uint64_t sizes[] = {0x100000, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct elf_build_section more = {
            .name = ".debug_info", .type = PROGBITS, .bytes = "info", .len = 4, .size = sizes[i]};
        struct object *o = open_elf_with(&b, &more, 1);
        assert_section_refused(object_slice(o, 0), "debug_info", ERR_TRUNCATED, ".debug_info");
        assert_section(object_slice(o, 0), "data", "data");
        object_close(o);
    }
}

/* ---- refused files ---- */

static void a_core_dump_is_no_object(void **state) {
    static struct build b;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, NULL, 0);
    struct object *o = NULL;
    (void)state;
    f.type = 4;
    build_elf(&b, &f);
    assert_int_equal(object_open_bytes(&o, "core", b.data, b.len, NULL), ST_NONE);
}

static void headers_past_the_end_of_the_file_are_refused(void **state) {
    static struct build b;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, NULL, 0);
    enum { E_PHOFF = 32, E_SHOFF = 40 };
    static const uint64_t offsets[] = {0x100000, INT64_MAX, UINT64_MAX, UINT64_MAX - 63};
    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct object *o = NULL;
        struct err e = {0};
        for (size_t field = E_PHOFF; field <= E_SHOFF; field += 8) {
            build_elf(&b, &f);
            put_at(&b, field, offsets[i], 8);
            e = (struct err){0};
            assert_int_equal(object_open_bytes(&o, "App", b.data, b.len, &e), ST_ERR);
            assert_non_null(strstr(e.text, "App"));
        }
    }
    build_elf(&b, &f);
    b.len = f.headers_at + 64;
    assert_refused(&b, ERR_TRUNCATED);
}

static void header_tables_of_impossible_shape_are_refused(void **state) {
    static struct build b;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, NULL, 0);
    enum { E_PHENTSIZE = 54, E_PHNUM = 56, E_SHENTSIZE = 58, E_SHSTRNDX = 62 };
    static const struct {
        size_t field;
        uint16_t value;
        enum err_code code;
    } damages[] = {{E_PHENTSIZE, 0, ERR_FORMAT},    {E_PHENTSIZE, 32, ERR_FORMAT},
                   {E_SHENTSIZE, 0, ERR_FORMAT},    {E_SHENTSIZE, 40, ERR_FORMAT},
                   {E_PHNUM, 0xffff, ERR_FORMAT},   {E_PHNUM, 0xfff0, ERR_TRUNCATED},
                   {E_SHSTRNDX, 0x4000, ERR_FORMAT}};
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        build_elf(&b, &f);
        put_at(&b, damages[i].field, damages[i].value, 2);
        assert_refused(&b, damages[i].code);
    }
}

static void a_segment_that_wraps_around_is_refused(void **state) {
    static struct build b;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, NULL, 0);
    const struct elf_build_segment bad = {
        .type = LOAD, .flags = RUN, .address = UINT64_MAX - 1, .memory_size = 0x1000};
    (void)state;
    f.segments = &bad;
    f.segment_count = 1;
    build_elf(&b, &f);
    assert_refused(&b, ERR_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_both_word_sizes_and_byte_orders_are_read),
        cmocka_unit_test(machines_have_the_names_of_darwins_tools_where_both_know_them),
        cmocka_unit_test(a_32_bit_arm_file_may_say_its_version),
        cmocka_unit_test(arch_names_of_other_systems_are_understood),
        cmocka_unit_test(the_build_id_is_found_through_the_program_headers_alone),
        cmocka_unit_test(other_notes_and_ids_too_long_are_no_build_id),
        cmocka_unit_test(overlapping_notes_cost_no_more_than_the_file_is_long),
        cmocka_unit_test(a_file_without_program_headers_has_base_zero),
        cmocka_unit_test(sections_packed_with_zlib_and_zstd_are_inflated),
        cmocka_unit_test(a_packed_section_that_lies_about_its_size_is_refused),
        cmocka_unit_test(a_cut_packed_section_is_refused),
        cmocka_unit_test(all_sections_of_a_file_together_have_a_budget),
        cmocka_unit_test(zdebug_without_its_magic_is_refused),
        cmocka_unit_test(a_section_without_bytes_in_the_file_is_absent),
        cmocka_unit_test(a_section_past_the_end_of_the_file_is_an_error_of_that_section),
        cmocka_unit_test(a_core_dump_is_no_object),
        cmocka_unit_test(headers_past_the_end_of_the_file_are_refused),
        cmocka_unit_test(header_tables_of_impossible_shape_are_refused),
        cmocka_unit_test(a_segment_that_wraps_around_is_refused),
    };
    return cmocka_run_group_tests_name("elf", tests, NULL, NULL);
}
