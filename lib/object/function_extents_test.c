/* Tests of functions found by unwind tables and by LC_FUNCTION_STARTS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "object/object.h"
#include "object/object_build_test.h"

/* ---- .eh_frame ---- */

enum { EH_FRAME = 0x400000, TEXT_START = 0x402000, TEXT_END = 0x402100 };

/* Begins an entry and returns its offset; end_entry fills in its length. */
static size_t begin_entry(struct build *b, uint32_t id) {
    size_t at = put(b, 0, 4);
    put(b, id, 4);
    return at;
}

static void end_entry(struct build *b, size_t at) {
    while (b->len % 4 != 0) {
        put(b, 0, 1);
    }
    put_at(b, at, b->len - at - 4, 4);
}

/* Appends a CIE whose addresses are encoded as `encoding` says, and returns its offset. */
static size_t put_common(struct build *b, uint8_t encoding) {
    size_t at = begin_entry(b, 0);
    put(b, 1, 1);
    put_bytes(b, "zR", 3);
    put(b, 1, 1), put(b, 0x78, 1), put(b, 16, 1); /* alignments, return address register */
    put(b, 1, 1), put(b, encoding, 1);
    end_entry(b, at);
    return at;
}

/* Appends an FDE with an address relative to its own place, in four bytes. */
static void put_function(struct build *b, size_t common, uint64_t low, uint64_t size) {
    size_t at = begin_entry(b, 0);
    put_at(b, at + 4, at + 4 - common, 4);
    put(b, (uint32_t)(low - (EH_FRAME + b->len)), 4);
    put(b, size, 4);
    put(b, 0, 1);
    end_entry(b, at);
}

static const struct object_extent *extents_of(const struct object *o, size_t count) {
    const struct object_extent *extents = NULL;
    size_t n = 0;
    struct err e = {0};
    enum st st = object_function_extents(object_slice(o, 0), &extents, &n, &e);
    assert_false(err_is(&e));
    assert_int_equal(st, count > 0 ? ST_OK : ST_NONE);
    assert_int_equal(n, count);
    return extents;
}

static void assert_extent(const struct object_extent *x, uint64_t low, uint64_t high) {
    assert_int_equal(x->low, low);
    assert_int_equal(x->high, high);
}

static struct object *open_eh_frame(struct build *b, const struct build *table) {
    struct elf_build_section section = {.name = ".eh_frame",
                                        .type = PROGBITS,
                                        .flags = ALLOC,
                                        .address = EH_FRAME,
                                        .bytes = table->data,
                                        .len = table->len};
    return open_elf_with(b, &section, 1);
}

static void entries_of_eh_frame_are_functions(void **state) {
    static struct build b, table;
    (void)state;
    table.len = 0;
    size_t common = put_common(&table, 0x1b);
    put_function(&table, common, TEXT_START + 0x40, 0x20);
    put_function(&table, common, TEXT_START, 0x10);
    put_function(&table, common, TEXT_START + 0x20, 0); /* an empty function */
    put_function(&table, common, 0x500000, 4);          /* a function in data */
    put_function(&table, common, 0, 0x10);              /* a function that the linker dropped */
    size_t other =
        put_common(&table, 0x9b); /* a CIE whose encoding means the addresses of addresses */
    put_function(&table, other, TEXT_START + 0x20, 8);
    put(&table, 0, 4);
    put_function(&table, common, TEXT_START + 0x80, 8); /* an entry after the terminator */
    struct object *o = open_eh_frame(&b, &table);
    const struct object_extent *x = extents_of(o, 2);
    assert_extent(&x[0], TEXT_START, TEXT_START + 0x10);
    assert_extent(&x[1], TEXT_START + 0x40, TEXT_START + 0x60);
    object_close(o);
}

static void extents_end_at_the_next_one_and_at_the_section(void **state) {
    static struct build b, table;
    (void)state;
    table.len = 0;
    size_t common = put_common(&table, 0x1b);
    put_function(&table, common, TEXT_START, 0x30);
    put_function(&table, common, TEXT_START + 0x20, 0x10);
    put_function(&table, common, TEXT_START + 0x20, 0x18);
    put_function(&table, common, TEXT_END - 8, 0x7fffffff);
    struct object *o = open_eh_frame(&b, &table);
    const struct object_extent *x = extents_of(o, 3);
    assert_extent(&x[0], TEXT_START, TEXT_START + 0x20);
    assert_extent(&x[1], TEXT_START + 0x20, TEXT_START + 0x38);
    assert_extent(&x[2], TEXT_END - 8, TEXT_END);
    object_close(o);
}

static void damage_of_eh_frame_costs_what_is_behind_it(void **state) {
    static struct build b, table;
    (void)state;
    table.len = 0;
    size_t common = put_common(&table, 0x1b);
    put_function(&table, common, TEXT_START, 0x10);
    size_t cut = table.len;
    put_function(&table, common, TEXT_START + 0x20, 0x10);
    put_at(&table, cut, 0x1000, 4);
    struct object *o = open_eh_frame(&b, &table);
    assert_extent(extents_of(o, 1), TEXT_START, TEXT_START + 0x10);
    object_close(o);
}

/* Opens a file with a table of `len` bytes at TABLE_START, which one entry of .eh_frame covers. */
enum { TABLE_START = 0x402200 };
static struct object *open_linkage_table(struct build *b, const char *name, uint16_t machine,
                                         uint64_t entry_size, uint64_t alignment) {
    static struct build table;
    static const uint8_t stubs[0x30];
    table.len = 0;
    size_t common = put_common(&table, 0x1b);
    put_function(&table, common, TEXT_START, 0x10);
    put_function(&table, common, TABLE_START, sizeof stubs);
    struct elf_build_section more[] = {{.name = ".eh_frame",
                                        .type = PROGBITS,
                                        .flags = ALLOC,
                                        .address = EH_FRAME,
                                        .bytes = table.data,
                                        .len = table.len},
                                       {.name = name,
                                        .type = PROGBITS,
                                        .flags = ALLOC | EXEC,
                                        .address = TABLE_START,
                                        .bytes = stubs,
                                        .len = sizeof stubs,
                                        .entry_size = entry_size,
                                        .alignment = alignment}};
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, more, 2);
    f.machine = machine;
    build_elf(b, &f);
    return open_built(b);
}

static void each_entry_of_a_linkage_table_is_a_function(void **state) {
    enum { I386 = 3, X86_64 = 62, AARCH64 = 183 };
    static const struct {
        const char *name;
        uint16_t machine;
        uint64_t entry_size, alignment, step; /* step 0: no function is known */
    } tables[] = {
        {".plt", X86_64, 16, 16, 16},    {".plt.sec", X86_64, 16, 16, 16},
        {".plt.got", X86_64, 8, 8, 8},   {".plt.got", X86_64, 16, 16, 16},
        {".plt", I386, 4, 16, 16},       {".plt", AARCH64, 24, 16, 0},
        {".plt", X86_64, 0, 1, 0},       {".plt", X86_64, 1 << 20, 16, 0},
        {".pltx", X86_64, 16, 16, 0x30},
    };
    static struct build b;
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct object *o = open_linkage_table(&b, tables[i].name, tables[i].machine,
                                              tables[i].entry_size, tables[i].alignment);
        uint64_t step = tables[i].step;
        size_t entries = step > 0 ? 0x30 / step : 0;
        const struct object_extent *x = extents_of(o, 1 + entries);
        for (size_t k = 0; k < entries; k++) {
            assert_extent(&x[1 + k], TABLE_START + k * step, TABLE_START + (k + 1) * step);
        }
        object_close(o);
    }
}

/* ---- Mach-O ---- */

/* An index of one regular page with the entries 0x120 and 0x130; the code ends at 0x1c0. Offsets
 * count from the image's start. */
static void put_unwind_info(struct build *table) {
    table->len = 0;
    put(table, 1, 4);
    for (int i = 0; i < 4; i++) {
        put(table, 0, 4);
    }
    put(table, 28, 4), put(table, 2, 4);
    put(table, 0x120, 4), put(table, 52, 4), put(table, 0, 4);
    put(table, 0x1c0, 4), put(table, 0, 4), put(table, 0, 4);
    put(table, 2, 4), put(table, 8, 2), put(table, 2, 2); /* at 52 */
    put(table, 0x120, 4), put(table, 0x02000000, 4);
    put(table, 0x130, 4), put(table, 0x04000000, 4);
}

static struct object *open_unwind_info(struct build *b, const uint8_t *starts, size_t starts_len) {
    static struct build table;
    static struct macho_build_section sections[2];
    struct macho_build m = usual_macho();
    put_unwind_info(&table);
    sections[0] = usual_sections[0];
    sections[1] = (struct macho_build_section){.segment = "__TEXT",
                                               .name = "__unwind_info",
                                               .address = 0x1200,
                                               .bytes = table.data,
                                               .len = table.len};
    m.sections = sections;
    m.section_count = 2;
    m.starts = starts;
    m.starts_len = starts_len;
    build_macho(b, &m);
    return open_built(b);
}

/* Linkers join entries of neighbours in __unwind_info: the code from 0x1120 on may be many
 * functions. */
static void entries_of_unwind_info_are_no_functions(void **state) {
    static struct build b;
    static const uint8_t starts[] = {0x80, 0x02, 0x20, 0x30, 0}; /* 0x1100, 0x1120, 0x1150 */
    (void)state;
    struct object *o = open_unwind_info(&b, NULL, 0);
    (void)extents_of(o, 0);
    object_close(o);
    o = open_unwind_info(&b, starts, sizeof starts);
    const struct object_extent *x = extents_of(o, 3);
    assert_extent(&x[0], 0x1100, 0x1120);
    assert_extent(&x[1], 0x1120, 0x1150);
    assert_extent(&x[2], 0x1150, 0x1200);
    object_close(o);
}

static void a_file_without_tables_has_none(void **state) {
    static struct build b;
    (void)state;
    struct macho_build m = usual_macho();
    build_macho(&b, &m);
    struct object *o = open_built(&b);
    (void)extents_of(o, 0);
    object_close(o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_eh_frame_are_functions),
        cmocka_unit_test(extents_end_at_the_next_one_and_at_the_section),
        cmocka_unit_test(damage_of_eh_frame_costs_what_is_behind_it),
        cmocka_unit_test(each_entry_of_a_linkage_table_is_a_function),
        cmocka_unit_test(entries_of_unwind_info_are_no_functions),
        cmocka_unit_test(a_file_without_tables_has_none),
    };
    return cmocka_run_group_tests_name("function extents", tests, NULL, NULL);
}
