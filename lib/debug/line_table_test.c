/* Tests of line tables: hand-made ones of each version, and every fixture row by row against
 * libdwarf. */
#include "debug/line_build_test.h"

#include <stdlib.h>

#include "debug/libdwarf_file.h"

static bool everywhere(const void *ctx, uint64_t address) {
    (void)ctx;
    return address != 0;
}

static void put_files(struct dwarf_build *b) {
    put(b, 0, 1);
    put_file_v2(b, "a.c", 0), put_file_v2(b, "b.c", 0);
    put(b, 0, 1);
}

struct table {
    struct line_header header;
    struct line_files files;
    struct line_rows rows;
    struct line_sequences made;
    struct line_order order;
    struct sections sections;
    enum st st;
    struct err e;
};

static void read_table(struct table *t, const struct dwarf_build *b, bool order) {
    *t = (struct table){0};
    built_sections(b, &t->sections);
    struct line_source source = {.sections = &t->sections, .address_size = 8};
    t->st = line_header_read(&source, &t->header, &t->files, &t->e);
    if (t->st == ST_OK) {
        t->st = line_program_run(&t->header, &t->files, &t->rows, &t->made, &t->e);
    }
    if (t->st == ST_OK && order) {
        t->st = line_sequences_order(&t->made, everywhere, NULL, &t->order, &t->e);
    }
}

static void release_table(struct table *t) {
    line_files_release(&t->files);
    VEC_RELEASE(&t->rows);
    VEC_RELEASE(&t->made);
    VEC_RELEASE(&t->order);
}

static void assert_row(const struct table *t, size_t i, uint64_t address, uint32_t file,
                       uint32_t line, uint32_t column, uint32_t discriminator, bool end) {
    assert_true(i < t->rows.len);
    const struct debug_row *r = &t->rows.data[i];
    assert_int_equal(r->address, address);
    assert_int_equal(r->file, file);
    assert_int_equal(r->line, line);
    assert_int_equal(r->column, column);
    assert_int_equal(r->discriminator, discriminator);
    assert_int_equal(r->end_sequence, end);
}

static void each_opcode_does_what_the_standard_says(void **state) {
    static struct dwarf_build b;
    struct table t = {0};
    (void)state;
    struct header_marks m = begin_line_table(&b, 4);
    put_files(&b);
    end_header(&b, m);
    set_address(&b, 0x1000);
    put(&b, DW_LNS_copy, 1);
    put(&b, DW_LNS_advance_pc, 1), put_uleb(&b, 0x10);
    put(&b, DW_LNS_advance_line, 1), put_sleb(&b, 20);
    put(&b, DW_LNS_set_file, 1), put_uleb(&b, 2);
    put(&b, DW_LNS_set_column, 1), put_uleb(&b, 9);
    put(&b, 0, 1), put_uleb(&b, 2), put(&b, DW_LNE_set_discriminator, 1), put_uleb(&b, 5);
    put(&b, DW_LNS_copy, 1);
    put(&b, DW_LNS_negate_stmt, 1), put(&b, DW_LNS_set_basic_block, 1);
    put(&b, DW_LNS_set_prologue_end, 1), put(&b, DW_LNS_set_epilogue_begin, 1);
    put(&b, DW_LNS_set_isa, 1), put_uleb(&b, 300);
    put(&b, DW_LNS_const_add_pc, 1); /* adds (255 - 13) / 12 = 20 to the address */
    put(&b, 13 + 12 * 2 + 4, 1);     /* adds 2 to the address and 1 to the line */
    put(&b, DW_LNS_fixed_advance_pc, 1), put(&b, 0x100, 2);
    put(&b, 0, 1), put_uleb(&b, 3), put(&b, 0x80, 1),
        put(&b, 0, 2); /* an extended opcode of a vendor */
    put(&b, DW_LNS_advance_line, 1), put_sleb(&b, -2);
    put(&b, 13 + 3, 1); /* adds nothing, and appends a row */
    end_sequence(&b);
    end_line_table(&b, m);
    read_table(&t, &b, false);
    assert_int_equal(t.st, ST_OK);
    assert_int_equal(t.rows.len, 5);
    assert_row(&t, 0, 0x1000, 1, 1, 0, 0, false);
    assert_row(&t, 1, 0x1010, 2, 21, 9, 5, false);
    assert_row(&t, 2, 0x1026, 2, 22, 9, 0, false);
    assert_row(&t, 3, 0x1126, 2, 20, 9, 0, false);
    assert_row(&t, 4, 0x1126, 2, 20, 9, 0, true);
    release_table(&t);
}

static void put_sequence(struct dwarf_build *b, uint64_t low, uint64_t size) {
    set_address(b, low);
    put(b, DW_LNS_copy, 1);
    put(b, DW_LNS_advance_pc, 1), put_uleb(b, size);
    end_sequence(b);
}

static void sequences_are_sorted_and_stripped_ones_dropped(void **state) {
    static struct dwarf_build b;
    struct table t = {0};
    (void)state;
    struct header_marks m = begin_line_table(&b, 4);
    put_files(&b);
    end_header(&b, m);
    put_sequence(&b, 0x3000, 0x10);
    put_sequence(&b, 0, 0x10); /* the sequence of a function that was stripped */
    put_sequence(&b, 0x1000, 0x10);
    put_sequence(&b, 0x2000, 0); /* an empty sequence */
    set_address(&b, 0x4000);
    put(&b, DW_LNS_copy, 1); /* a sequence without an end */
    end_line_table(&b, m);
    read_table(&t, &b, true);
    assert_int_equal(t.st, ST_OK);
    assert_int_equal(t.order.len, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct debug_sequence *s = &t.order.data[i];
        assert_int_equal(s->low, i == 0 ? 0x1000 : 0x3000);
        assert_int_equal(s->high, s->low + 0x10);
        assert_int_equal(s->last, s->first + 1);
        assert_row(&t, s->first, s->low, 1, 1, 0, 0, false);
        assert_row(&t, s->last, s->high, 1, 1, 0, 0, true);
    }
    release_table(&t);
}

static void a_sequence_that_goes_back_is_dropped_and_told_of(void **state) {
    static struct dwarf_build b;
    struct table t = {0};
    (void)state;
    struct header_marks m = begin_line_table(&b, 4);
    put_files(&b);
    end_header(&b, m);
    set_address(&b, 0x2000), put(&b, DW_LNS_copy, 1);
    set_address(&b, 0x1000), put(&b, DW_LNS_copy, 1);
    put(&b, DW_LNS_advance_pc, 1), put_uleb(&b, 0x2000);
    end_sequence(&b);
    put_sequence(&b, 0x5000, 0x10);
    end_line_table(&b, m);
    read_table(&t, &b, true);
    assert_int_equal(t.st, ST_ERR);
    assert_int_equal(t.order.len, 1);
    assert_int_equal(t.order.data[0].low, 0x5000);
    assert_row(&t, t.order.data[0].first, 0x5000, 1, 1, 0, 0, false);
    release_table(&t);
}

static void damage_keeps_what_came_before(void **state) {
    static struct dwarf_build b;
    struct table t = {0};
    (void)state;
    struct header_marks m = begin_line_table(&b, 4);
    put_files(&b);
    end_header(&b, m);
    put_sequence(&b, 0x1000, 0x10);
    put(&b, 0, 1), put_uleb(&b, 99),
        put(&b, DW_LNE_set_address, 1); /* an opcode that goes past the end of the table */
    end_line_table(&b, m);
    read_table(&t, &b, false);
    assert_int_equal(t.st, ST_ERR);
    assert_int_equal(t.e.code, ERR_TRUNCATED);
    assert_int_equal(t.rows.len, 2);
    release_table(&t);
}

static void a_header_that_makes_no_sense_is_refused(void **state) {
    static struct dwarf_build b;
    struct table t = {0};
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        b = (struct dwarf_build){0};
        struct header_marks m = begin_line_table(&b, kind == 3 ? 5 : 4);
        if (kind < 3) {
            put_files(&b);
        } else { /* a million entries of no size */
            put(&b, 0, 1), put_uleb(&b, 1000000), put(&b, 0, 1), put_uleb(&b, 0);
        }
        end_header(&b, m);
        end_line_table(&b, m);
        if (kind == 0) {
            put_at(&b, m.header + 4 + 4, 0, 1); /* line_range becomes 0 */
        } else if (kind == 1) {
            put_at(&b, m.unit + 4, 6, 2); /* the version becomes 6 */
        } else if (kind == 2) {
            put_at(&b, m.header, 0x10000, 4); /* the header's length goes past the end */
        }
        read_table(&t, &b, false);
        assert_int_equal(t.st, ST_ERR);
        release_table(&t);
    }
}

/* ---- against libdwarf ---- */

static void take_rows(Dwarf_Line_Context context, struct line_rows *rows) {
    Dwarf_Error why = NULL;
    Dwarf_Line *lines = NULL;
    Dwarf_Signed count = 0;
    assert_int_equal(dwarf_srclines_from_linecontext(context, &lines, &count, &why), DW_DLV_OK);
    for (Dwarf_Signed i = 0; i < count; i++) {
        Dwarf_Addr address = 0;
        Dwarf_Unsigned line = 0, file = 0, column = 0, isa = 0, discriminator = 0;
        Dwarf_Bool end = 0, prologue = 0, epilogue = 0;
        assert_int_equal(dwarf_lineaddr(lines[i], &address, &why), DW_DLV_OK);
        assert_int_equal(dwarf_lineno(lines[i], &line, &why), DW_DLV_OK);
        assert_int_equal(dwarf_line_srcfileno(lines[i], &file, &why), DW_DLV_OK);
        assert_int_equal(dwarf_lineoff_b(lines[i], &column, &why), DW_DLV_OK);
        assert_int_equal(dwarf_lineendsequence(lines[i], &end, &why), DW_DLV_OK);
        assert_int_equal(
            dwarf_prologue_end_etc(lines[i], &prologue, &epilogue, &isa, &discriminator, &why),
            DW_DLV_OK);
        struct debug_row row = {.address = address,
                                .file = (uint32_t)file,
                                .line = (uint32_t)line,
                                .column = (uint32_t)column,
                                .discriminator = discriminator & INT32_MAX,
                                .end_sequence = end != 0};
        assert_true(VEC_PUSH(rows, row));
    }
}

/* Compares base names only, because the line table does not decide how paths are joined. */
static void compare_files(Dwarf_Line_Context context, struct line_files *files,
                          struct arena *arena) {
    Dwarf_Error why = NULL;
    Dwarf_Signed base = 0, count = 0, end = 0;
    assert_int_equal(dwarf_srclines_files_indexes(context, &base, &count, &end, &why), DW_DLV_OK);
    struct err e = {0};
    assert_int_equal(files->files.len, (size_t)end);
    for (Dwarf_Signed i = base; i < end; i++) {
        const char *name = NULL;
        Dwarf_Unsigned folder = 0, time = 0, size = 0;
        assert_int_equal(
            dwarf_srclines_files_data_b(context, i, &name, &folder, &time, &size, NULL, &why),
            DW_DLV_OK);
        const char *path;
        assert_int_equal(line_files_path(files, arena, (uint64_t)i, &path, &e), ST_OK);
        size_t len = strlen(name), mine = strlen(path);
        assert_true(mine >= len);
        assert_string_equal(path + mine - len, name);
    }
}

/* libdwarf 20210528 begins DWARF 5's file register at 0; Table 6.4 says 1, which GCC relies on and
 * libdwarf follows since 0.4. */
static bool first_file_is_0(Dwarf_Unsigned version) {
    return version == 5 && !LIBDWARF_NEW_API;
}

static void compare_unit(const struct sections *sections, Dwarf_Die die) {
    Dwarf_Error why = NULL;
    Dwarf_Attribute attr = NULL;
    Dwarf_Off offset = 0;
    Dwarf_Unsigned version = 0;
    Dwarf_Small tables = 0;
    Dwarf_Line_Context context = NULL;
    struct line_rows theirs = {0}, ours = {0};
    struct line_sequences sequences = {0};
    struct arena arena = {0};
    struct line_header header;
    struct line_files files = {0};
    struct err e = {0};
    assert_int_equal(dwarf_attr(die, DW_AT_stmt_list, &attr, &why), DW_DLV_OK);
    assert_int_equal(dwarf_global_formref(attr, &offset, &why), DW_DLV_OK);
    dwarf_dealloc_attribute(attr);
    assert_int_equal(dwarf_srclines_b(die, &version, &tables, &context, &why), DW_DLV_OK);
    take_rows(context, &theirs);
    struct line_source source = {.sections = sections,
                                 .offset = offset,
                                 .address_size = sections->address_size,
                                 .comp_dir = "/"};
    assert_int_equal(line_header_read(&source, &header, &files, &e), ST_OK);
    assert_int_equal(line_program_run(&header, &files, &ours, &sequences, &e), ST_OK);
    compare_files(context, &files, &arena);
    assert_int_equal(ours.len, theirs.len);
    assert_true(ours.len > 0);
    for (size_t i = 0; i < ours.len; i++) {
        const struct debug_row *a = &ours.data[i], *b = &theirs.data[i];
        assert_int_equal(a->address, b->address);
        assert_true(a->file == b->file ||
                    (first_file_is_0(version) && a->file == 1 && b->file == 0));
        assert_int_equal(a->line, b->line);
        assert_int_equal(a->column, b->column);
        assert_int_equal(a->discriminator, b->discriminator);
        assert_int_equal(a->end_sequence, b->end_sequence);
    }
    dwarf_srclines_dealloc_b(context);
    VEC_RELEASE(&theirs);
    VEC_RELEASE(&ours);
    VEC_RELEASE(&sequences);
    line_files_release(&files);
    arena_release(&arena);
}

static unsigned compare_object(const char *path) {
    struct object *o;
    struct sections sections;
    struct err e = {0};
    struct libdwarf_file oracle;
    Dwarf_Error why = NULL;
    unsigned units = 0;
    assert_int_equal(object_open(&o, path, &e), ST_OK);
    assert_int_equal(sections_load(&sections, object_slice(o, 0), path, NULL, &e), ST_OK);
    assert_int_equal(libdwarf_file_open(&oracle, &sections, &e), ST_OK);
    while (libdwarf_file_next_unit(&oracle)) {
        Dwarf_Die die = NULL;
        assert_int_equal(dwarf_siblingof_b(oracle.dbg, NULL, 1, &die, &why), DW_DLV_OK);
        compare_unit(&sections, die);
        dwarf_dealloc_die(die);
        units++;
    }
    libdwarf_file_close(&oracle);
    object_close(o);
    return units;
}

static void every_row_of_the_fixtures_is_libdwarfs_too(void **state) {
    (void)state;
    static const char *const fixtures[] = {
        "testdata/objects/elf-dwarf2/libshop.so", "testdata/objects/elf-dwarf3/libshop.so",
        "testdata/objects/elf-dwarf5/libshop.so", "testdata/objects/elf-dwarf5-gcc/libshop.so",
        "testdata/objects/elf-i386/libshop.so",   "testdata/objects/elf-aarch64/libshop.so",
        "testdata/objects/elf-exec/shop",
    };
    for (size_t i = 0; i < sizeof fixtures / sizeof fixtures[0]; i++) {
        assert_true(compare_object(fixtures[i]) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_opcode_does_what_the_standard_says),
        cmocka_unit_test(sequences_are_sorted_and_stripped_ones_dropped),
        cmocka_unit_test(a_sequence_that_goes_back_is_dropped_and_told_of),
        cmocka_unit_test(damage_keeps_what_came_before),
        cmocka_unit_test(a_header_that_makes_no_sense_is_refused),
        cmocka_unit_test(every_row_of_the_fixtures_is_libdwarfs_too),
    };
    dwarf_set_de_alloc_flag(0); /* the caller then frees what libdwarf returns */
    return cmocka_run_group_tests_name("line tables", tests, NULL, NULL);
}
