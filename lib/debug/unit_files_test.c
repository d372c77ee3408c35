/* Tests of which files a unit has paths: those of its own line table, and those of other units. */
#include "debug/line_build_test.h"

enum { CU = 1, ABSTRACT, FUNCTION, INSTANCE, INLINED };

static void put_line_table(struct dwarf_build *b, const char *const *names, const uint8_t *rows) {
    struct header_marks m = begin_line_table(b, 4);
    put(b, 0, 1);
    for (; *names; names++) {
        put_file_v2(b, *names, 0);
    }
    put(b, 0, 1);
    end_header(b, m);
    set_address(b, 0x2000);
    for (; *rows; rows++) {
        put(b, DW_LNS_set_file, 1), put_uleb(b, *rows), put(b, DW_LNS_copy, 1);
    }
    put(b, DW_LNS_advance_pc, 1), put_uleb(b, 0x100);
    end_sequence(b);
    end_line_table(b, m);
}

static void begin_file_unit(struct dwarf_build *b, const char *comp_dir, size_t lines) {
    begin_unit(b, 4, 0);
    put_uleb(b, CU), put_text(b, comp_dir), put(b, lines, 4);
}

static void put_abstract(struct dwarf_build *b, const char *name, unsigned file) {
    put_uleb(b, ABSTRACT), put_text(b, name), put(b, file, 1);
}

static void put_instance(struct dwarf_build *b, uint64_t origin, uint64_t low) {
    put_uleb(b, INSTANCE), put(b, origin, 4), put_address(b, low), put(b, 0x10, 1);
}

static void assert_declared(const struct debug_unit *u, size_t function, const char *path) {
    uint32_t file = u->functions[function].decl_file;
    if (!path) {
        assert_int_equal(file, DEBUG_NO_FILE);
        return;
    }
    assert_true(file < u->path_count);
    assert_string_equal(u->files[file], path);
}

static void put_abbrevs(struct dwarf_build *b) {
    abbrev(b, CU, DW_TAG_compile_unit, true, DW_AT_comp_dir, DW_FORM_string, DW_AT_stmt_list,
           DW_FORM_sec_offset, 0);
    abbrev(b, ABSTRACT, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_decl_file,
           DW_FORM_data1, 0);
    abbrev(b, FUNCTION, DW_TAG_subprogram, true, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
           DW_FORM_data1, DW_AT_decl_file, DW_FORM_data1, 0);
    abbrev(b, INSTANCE, DW_TAG_subprogram, false, DW_AT_abstract_origin, DW_FORM_ref_addr,
           DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, 0);
    abbrev(b, INLINED, DW_TAG_inlined_subroutine, false, DW_AT_abstract_origin, DW_FORM_ref_addr,
           DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, DW_AT_call_file, DW_FORM_data1,
           DW_AT_call_line, DW_FORM_data1, 0);
    end_abbrevs(b);
}

/* Builds a unit with its files, after a unit with those files in which some of its functions are
 * declared. */
static void build_two_units(struct dwarf_build *b) {
    static const char *const others[] = {"one.h", "two.h", "unused.h", NULL};
    static const char *const own[] = {"row.c", "call.c", "decl.c", "unused.c", "last.c", NULL};
    *b = (struct dwarf_build){0};
    put_abbrevs(b);
    put_line_table(b, others, (const uint8_t[]){1, 0});
    size_t lines = here(b);
    put_line_table(b, own, (const uint8_t[]){1, 5, 9, 0});

    begin_file_unit(b, "/other", 0);
    size_t one = here(b);
    put_abstract(b, "one", 1);
    size_t two = here(b);
    put_abstract(b, "two", 2);
    size_t beyond = here(b);
    put_abstract(b, "beyond", 9);
    put(b, 0, 1);
    end_unit(b);

    begin_file_unit(b, "/own", lines);
    put_uleb(b, FUNCTION), put_address(b, 0x2000), put(b, 0x10, 1), put(b, 3, 1);
    put_uleb(b, INLINED), put(b, two, 4), put_address(b, 0x2000), put(b, 8, 1), put(b, 2, 1),
        put(b, 1, 1);
    put(b, 0, 1);
    put_instance(b, one, 0x2010), put_instance(b, two, 0x2020), put_instance(b, one, 0x2030);
    put_instance(b, beyond, 0x2040);
    put_uleb(b, FUNCTION), put_address(b, 0x2050), put(b, 0x10, 1), put(b, 9, 1);
    put(b, 0, 1);
    put(b, 0, 1);
    end_unit(b);
}

static void a_unit_has_the_paths_that_it_uses(void **state) {
    static struct dwarf_build b;
    struct sections sections;
    struct debug *d;
    struct debug_unit u = {0};
    struct heard heard = {0};
    struct err e = {0};
    (void)state;
    build_two_units(&b);
    assert_int_equal(open_built(&d, &b, &sections, (struct debug_setup){0}, &heard), ST_OK);
    size_t unit = debug_unit_count(d) - 1;
    for (int round = 0; round < 3;
         round++) { /* each round reads into the memory of the one before */
        assert_int_equal(debug_read_unit(d, unit, &u, &e), ST_OK);
        static const char *const own[] = {NULL,          "/own/row.c", "/own/call.c",
                                          "/own/decl.c", NULL,         "/own/last.c"};
        assert_int_equal(u.file_count, 6);
        for (size_t i = 0; i < 6; i++) {
            assert_true((u.files[i] == NULL) == (own[i] == NULL));
            assert_true(!own[i] || strcmp(u.files[i], own[i]) == 0);
        }
        assert_int_equal(u.path_count,
                         8); /* the unit's own six and two of the other unit, each once */
        assert_int_equal(u.function_count, 6);
        assert_int_equal(u.functions[0].child_count, 1);
        const struct debug_function *call = &u.functions[0].children[0];
        assert_int_equal(call->call_file, 2);
        assert_int_equal(call->decl_file, u.functions[2].decl_file);
        assert_declared(&u, 0, "/own/decl.c");
        assert_declared(&u, 1, "/other/one.h");
        assert_declared(&u, 2, "/other/two.h");
        assert_declared(&u, 3, "/other/one.h");
        assert_declared(&u, 4, NULL);
        assert_declared(&u, 5, NULL);
        if (round == 1) {
            debug_unit_release(&u);
        }
    }
    assert_int_equal(heard.count, 0);
    debug_close(d); /* the unit does not need the struct debug any more */
    assert_string_equal(u.files[u.functions[1].decl_file], "/other/one.h");
    debug_unit_release(&u);
}

/* An opened file and its last unit. */
struct last_unit {
    struct sections sections;
    struct debug *d;
    struct debug_unit u;
    struct heard heard;
};

static void read_last_unit(struct last_unit *l, const struct dwarf_build *b) {
    struct err e = {0};
    *l = (struct last_unit){0};
    assert_int_equal(open_built(&l->d, b, &l->sections, (struct debug_setup){0}, &l->heard), ST_OK);
    assert_int_equal(debug_read_unit(l->d, debug_unit_count(l->d) - 1, &l->u, &e), ST_OK);
}

static void release_last_unit(struct last_unit *l) {
    debug_unit_release(&l->u);
    debug_close(l->d);
}

static void put_table_of_files(struct dwarf_build *b, unsigned files) {
    struct header_marks m = begin_line_table(b, 4);
    put(b, 0, 1);
    for (unsigned i = 0; i < files; i++) {
        put_file_v2(b, "f", 0);
    }
    put(b, 0, 1);
    end_header(b, m);
    end_line_table(b, m);
}

/* Builds `units` units of the first line table, each with an instance in the last unit, which has
 * the second table. */
static void build_units_of_one_table(struct dwarf_build *b, unsigned files, unsigned units,
                                     void (*name_folder)(unsigned unit, char *folder)) {
    static const char *const own[] = {"own.c", NULL};
    size_t origins[128];
    *b = (struct dwarf_build){0};
    put_abbrevs(b);
    put_table_of_files(b, files);
    size_t lines = here(b);
    put_line_table(b, own, (const uint8_t[]){1, 0});
    for (unsigned i = 0; i < units; i++) {
        char folder[] = "/00";
        name_folder(i, folder);
        begin_file_unit(b, folder, 0);
        origins[i] = here(b);
        put_abstract(b, "f", 1);
        put(b, 0, 1);
        end_unit(b);
    }
    begin_file_unit(b, "/own", lines);
    for (unsigned i = 0; i < units; i++) {
        put_instance(b, origins[i], 0x2000 + 0x10 * (uint64_t)i);
    }
    put(b, 0, 1);
    end_unit(b);
}

static void two_folders(unsigned unit, char *folder) {
    folder[1] = (char)('a' + unit % 2);
}

static void units_of_one_table_and_folder_share_its_files(void **state) {
    static struct dwarf_build b;
    struct last_unit l;
    (void)state;
    build_units_of_one_table(&b, 3, 5, two_folders);
    read_last_unit(&l, &b);
    assert_int_equal(l.u.function_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_declared(&l.u, i, i % 2 ? "/b0/f" : "/a0/f");
    }
    assert_int_equal(l.d->tables.len,
                     1 + 2); /* tables: that of the first folder, and those of units 1 and 3 */
    assert_int_equal(l.d->table_work, (1 + 2) * (1 + 4));
    release_last_unit(&l);
}

static void any_folder(unsigned unit, char *folder) {
    folder[1] = (char)('a' + unit / 16);
    folder[2] = (char)('a' + unit % 16);
}

static void one_table_is_not_listed_for_every_unit(void **state) {
    enum { FILES = 300, UNITS = 120 };
    static struct dwarf_build b;
    struct last_unit l;
    (void)state;
    build_units_of_one_table(&b, FILES, UNITS, any_folder);
    read_last_unit(&l, &b);
    assert_int_equal(l.u.function_count, UNITS);
    assert_declared(&l.u, 0, "/aa/f");
    assert_declared(&l.u, UNITS - 1, NULL);
    assert_in_range(UNITS - l.heard.count, 16, 32);
    assert_int_equal(l.heard.why.code, ERR_LIMIT);
    release_last_unit(&l);
}

/* Reads units whose files are all declared in a table that every unit reads for itself. */
static void one_header_is_not_read_for_every_unit(void **state) {
    enum { FILES = 300, UNITS = 120 };
    static struct dwarf_build b;
    struct sections sections;
    struct debug *d;
    struct debug_unit u = {0};
    struct heard heard = {0};
    struct err e = {0};
    (void)state;
    b = (struct dwarf_build){0};
    abbrev(&b, CU, DW_TAG_compile_unit, true, DW_AT_comp_dir, DW_FORM_string, DW_AT_stmt_list,
           DW_FORM_sec_offset, 0);
    abbrev(&b, FUNCTION, DW_TAG_subprogram, false, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
           DW_FORM_data1, DW_AT_decl_file, DW_FORM_data1, 0);
    end_abbrevs(&b);
    put_table_of_files(&b, FILES);
    for (unsigned i = 0; i < UNITS; i++) {
        begin_file_unit(&b, "/src", 0);
        put_uleb(&b, FUNCTION), put_address(&b, 0x2000 + 0x10 * (uint64_t)i);
        put(&b, 0x10, 1), put(&b, 1, 1);
        put(&b, 0, 1);
        end_unit(&b);
    }
    assert_int_equal(open_built(&d, &b, &sections, (struct debug_setup){0}, &heard), ST_OK);
    assert_int_equal(debug_unit_count(d), UNITS);
    unsigned listed = 0;
    for (size_t i = 0; i < UNITS; i++) {
        assert_int_equal(debug_read_unit(d, i, &u, &e), ST_OK);
        assert_int_equal(u.function_count, 1);
        listed += u.file_count > 0;
    }
    assert_true(listed > UNITS / 2 && listed < UNITS);
    assert_int_equal(heard.count,
                     UNITS - listed +
                         1); /* the last complaint is of a unit that has its files, but no rows */
    assert_int_equal(heard.why.code, ERR_LIMIT);
    debug_unit_release(&u);
    debug_close(d);
}

/* Builds `files` files with one long path, and a function that is declared in each of them. */
static void build_long_paths(struct dwarf_build *b, unsigned files, size_t length) {
    size_t origins[200];
    assert_true(files <= sizeof origins / sizeof origins[0]);
    *b = (struct dwarf_build){0};
    put_abbrevs(b);
    b->in = SECTION_LINE_STR;
    for (size_t i = 0; i < length; i++) {
        put(b, i == 0 ? '/' : 'f', 1);
    }
    put(b, 0, 1);
    struct header_marks m = begin_line_table(b, 5);
    put(b, 0, 1), put(b, 0, 1); /* no folders */
    put(b, 1, 1), put_uleb(b, DW_LNCT_path), put_uleb(b, DW_FORM_line_strp), put_uleb(b, files);
    for (unsigned i = 0; i < files; i++) {
        put(b, 0, 4);
    }
    end_header(b, m);
    end_line_table(b, m);
    begin_file_unit(b, "/other", 0);
    for (unsigned i = 0; i < files; i++) {
        origins[i] = here(b);
        put_abstract(b, "f", i);
    }
    put(b, 0, 1);
    end_unit(b);
    begin_file_unit(b, "/own", 0);
    for (unsigned i = 0; i < files; i++) {
        put_instance(b, origins[i], 0x2000 + 0x10 * (uint64_t)i);
    }
    put(b, 0, 1);
    end_unit(b);
}

static void one_long_path_is_not_copied_for_ever(void **state) {
    enum { FILES = 200, LENGTH = 16000 };
    static struct dwarf_build b;
    struct last_unit l;
    (void)state;
    build_long_paths(&b, FILES, LENGTH);
    read_last_unit(&l, &b);
    assert_in_range(l.u.function_count, 60, FILES / 2);
    assert_int_equal(strlen(l.u.files[l.u.functions[0].decl_file]), LENGTH);
    assert_in_range(l.u.arena.used, 60 * LENGTH, FILES / 2 * LENGTH);
    assert_int_equal(l.heard.count, 1);
    assert_int_equal(l.heard.why.code, ERR_LIMIT);
    release_last_unit(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_has_the_paths_that_it_uses),
        cmocka_unit_test(units_of_one_table_and_folder_share_its_files),
        cmocka_unit_test(one_table_is_not_listed_for_every_unit),
        cmocka_unit_test(one_header_is_not_read_for_every_unit),
        cmocka_unit_test(one_long_path_is_not_copied_for_ever),
    };
    return cmocka_run_group_tests_name("unit_files", tests, NULL, NULL);
}
