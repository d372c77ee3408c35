/* Tests of folders and files of line tables, and of which files there are paths; the tables are
 * hand-made. */
#include "debug/line_build_test.h"

/* ---- the lists ---- */

struct lists {
    struct sections sections;
    struct line_header header;
    struct line_files files;
    struct arena arena;
    enum st st;
    struct err e;
};

static void read_lists(struct lists *l, const struct dwarf_build *b, const char *comp_dir) {
    *l = (struct lists){0};
    built_sections(b, &l->sections);
    struct line_source source = {.sections = &l->sections, .address_size = 8, .comp_dir = comp_dir};
    l->st = line_header_read(&source, &l->header, &l->files, &l->e);
    assert_int_equal(l->files.paths.len, l->files.files.len);
}

static void release_lists(struct lists *l) {
    line_files_release(&l->files);
    arena_release(&l->arena);
}

/* Returns the path of a file, the same when asked twice; NULL: the file has none. */
static const char *path_of(struct lists *l, uint64_t number) {
    const char *path, *again;
    struct err e = {0};
    enum st st = line_files_path(&l->files, &l->arena, number, &path, &e);
    assert_int_equal(st, path ? ST_OK : ST_NONE);
    assert_int_equal(line_files_path(&l->files, &l->arena, number, &again, &e), st);
    assert_ptr_equal(again, path);
    return path;
}

static void files_count_from_1_before_dwarf_5(void **state) {
    static struct dwarf_build b;
    struct lists l;
    (void)state;
    for (unsigned version = 2; version <= 4; version++) {
        b = (struct dwarf_build){.big_endian = version == 3};
        struct header_marks m = begin_line_table(&b, version);
        put_text(&b, "/abs"), put_text(&b, "rel"), put(&b, 0, 1);
        put_file_v2(&b, "a.c", 0), put_file_v2(&b, "b.c", 1), put_file_v2(&b, "c.c", 2);
        put_file_v2(&b, "/d.c", 2), put_file_v2(&b, "e.c", 99);
        put(&b, 0, 1);
        end_header(&b, m);
        end_line_table(&b, m);
        read_lists(&l, &b, "/src");
        assert_int_equal(l.st, ST_OK);
        assert_int_equal(l.header.version, version);
        assert_int_equal(l.files.files.len, 6);
        assert_null(path_of(&l, 0));
        assert_string_equal(path_of(&l, 1), "/src/a.c");
        assert_string_equal(path_of(&l, 2), "/abs/b.c");
        assert_string_equal(path_of(&l, 3), "/src/rel/c.c");
        assert_string_equal(path_of(&l, 4), "/d.c");
        assert_string_equal(path_of(&l, 5),
                            "e.c"); /* the folder that the file names does not exist */
        assert_null(path_of(&l, 6));
        assert_null(path_of(&l, UINT64_MAX));
        release_lists(&l);
    }
}

static void files_count_from_0_in_dwarf_5(void **state) {
    static struct dwarf_build b;
    struct lists l;
    (void)state;
    struct header_marks m = begin_line_table(&b, 5);
    put(&b, 1, 1), put_uleb(&b, DW_LNCT_path), put_uleb(&b, DW_FORM_line_strp);
    put_uleb(&b, 2), put(&b, 0, 4), put(&b, 5, 4);
    put(&b, 4, 1);
    put_uleb(&b, DW_LNCT_path), put_uleb(&b, DW_FORM_string);
    put_uleb(&b, DW_LNCT_directory_index), put_uleb(&b, DW_FORM_udata);
    put_uleb(&b, DW_LNCT_MD5), put_uleb(&b, DW_FORM_data16);
    put_uleb(&b, 0x2001), put_uleb(&b, DW_FORM_block); /* a content type of a vendor */
    put_uleb(&b, 2);
    put_text(&b, "a.c"), put_uleb(&b, 0), put(&b, 1, 8), put(&b, 2, 8), put_uleb(&b, 1),
        put(&b, 0, 1);
    put_text(&b, "b.h"), put_uleb(&b, 1), put(&b, 1, 8), put(&b, 2, 8), put_uleb(&b, 0);
    end_header(&b, m);
    end_line_table(&b, m);
    b.in = SECTION_LINE_STR;
    put_text(&b, "/top"), put_text(&b, "sub");
    read_lists(&l, &b, "/src");
    assert_int_equal(l.st, ST_OK);
    assert_int_equal(l.files.files.len, 2);
    assert_string_equal(path_of(&l, 0), "/top/a.c");
    assert_string_equal(path_of(&l, 1), "/src/sub/b.h");
    release_lists(&l);
}

/* Reads a table that calls its folder ".", as Debian's builds do. */
static void the_units_own_folder_does_not_lie_below_itself(void **state) {
    static struct dwarf_build b;
    struct lists l;
    (void)state;
    struct header_marks m = begin_line_table(&b, 5);
    put(&b, 1, 1), put_uleb(&b, DW_LNCT_path), put_uleb(&b, DW_FORM_string);
    put_uleb(&b, 2), put_text(&b, "./out"), put_text(&b, "sub");
    put(&b, 2, 1);
    put_uleb(&b, DW_LNCT_path), put_uleb(&b, DW_FORM_string);
    put_uleb(&b, DW_LNCT_directory_index), put_uleb(&b, DW_FORM_udata);
    put_uleb(&b, 2);
    put_text(&b, "a.c"), put_uleb(&b, 0);
    put_text(&b, "b.h"), put_uleb(&b, 1);
    end_header(&b, m);
    end_line_table(&b, m);
    read_lists(&l, &b, "./out");
    assert_int_equal(l.st, ST_OK);
    assert_string_equal(path_of(&l, 0), "./out/a.c");
    assert_string_equal(path_of(&l, 1), "./out/sub/b.h");
    release_lists(&l);
}

/* Appends a value of a form to the list of files. */
static void put_value(struct dwarf_build *b, unsigned form, uint64_t v) {
    switch (form) {
    case DW_FORM_data1:
        put(b, v, 1);
        break;
    case DW_FORM_data2:
        put(b, v, 2);
        break;
    case DW_FORM_data4:
    case DW_FORM_line_strp:
    case DW_FORM_strp:
        put(b, v, 4);
        break;
    case DW_FORM_data8:
        put(b, v, 8);
        break;
    case DW_FORM_data16:
        put(b, v, 8), put(b, v, 8);
        break;
    case DW_FORM_strx3:
        put(b, v, 3);
        break;
    case DW_FORM_block:
        put_uleb(b, v), put(b, 0, (unsigned)v);
        break;
    case DW_FORM_block1:
        put(b, v, 1), put(b, 0, (unsigned)v);
        break;
    default:
        put_uleb(b, v);
    }
}

struct list_form {
    unsigned content, form;
};

/* Builds a table with folders "/f0" to "/f199", then three files "n0" to "n2" in folders 0, 199 and
 * 7; the format is ended by zeros. Returns where the first file begins. */
static size_t build_list(struct dwarf_build *b, bool big_endian, const struct list_form *format) {
    size_t first = 0, n = 0;
    *b = (struct dwarf_build){.big_endian = big_endian};
    struct header_marks m = begin_line_table(b, 5);
    put(b, 1, 1), put_uleb(b, DW_LNCT_path), put_uleb(b, DW_FORM_string), put_uleb(b, 200);
    for (unsigned i = 0; i < 200; i++) {
        char folder[] = {
            '/', 'f', (char)('0' + i / 100), (char)('0' + i / 10 % 10), (char)('0' + i % 10), 0};
        put_text(b, folder);
    }
    while (format[n].content) {
        n++;
    }
    put(b, n, 1);
    for (size_t i = 0; i < n; i++) {
        put_uleb(b, format[i].content), put_uleb(b, format[i].form);
    }
    put_uleb(b, 3);
    first = here(b);
    for (unsigned file = 0; file < 3; file++) {
        static const unsigned folders[] = {0, 199, 7};
        for (size_t i = 0; i < n; i++) {
            bool path = format[i].content == DW_LNCT_path;
            put_value(b, format[i].form,
                      path                                           ? 3 * file
                      : format[i].content == DW_LNCT_directory_index ? folders[file]
                                                                     : 5);
        }
    }
    end_header(b, m);
    end_line_table(b, m);
    b->in = SECTION_LINE_STR;
    put_text(b, "n0"), put_text(b, "n1"), put_text(b, "n2");
    b->in = SECTION_STR;
    put_text(b, "s0"), put_text(b, "s1"), put_text(b, "s2");
    return first;
}

static void lists_have_values_of_any_form_in_any_order(void **state) {
    static const struct list_form formats[][6] = {
        {{DW_LNCT_path, DW_FORM_line_strp}, {DW_LNCT_directory_index, DW_FORM_udata}},
        {{DW_LNCT_path, DW_FORM_line_strp},
         {DW_LNCT_directory_index, DW_FORM_udata},
         {DW_LNCT_MD5, DW_FORM_data16}},
        {{DW_LNCT_path, DW_FORM_strp},
         {DW_LNCT_directory_index, DW_FORM_udata},
         {DW_LNCT_path, DW_FORM_line_strp}},
        {{DW_LNCT_directory_index, DW_FORM_data1}, {DW_LNCT_path, DW_FORM_line_strp}},
        {{DW_LNCT_path, DW_FORM_line_strp}, {DW_LNCT_directory_index, DW_FORM_data2}},
        {{DW_LNCT_MD5, DW_FORM_data16},
         {DW_LNCT_path, DW_FORM_line_strp},
         {DW_LNCT_directory_index, DW_FORM_data4}},
        {{DW_LNCT_size, DW_FORM_block1},
         {DW_LNCT_timestamp, DW_FORM_block},
         {DW_LNCT_path, DW_FORM_line_strp},
         {DW_LNCT_directory_index, DW_FORM_data8},
         {DW_LNCT_size, DW_FORM_strx3}},
        {{DW_LNCT_path, DW_FORM_line_strp},
         {DW_LNCT_directory_index, DW_FORM_udata},
         {DW_LNCT_path, DW_FORM_strx}}, /* the second path is passed over, the first one stays */
    };
    static struct dwarf_build b;
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        for (unsigned big = 0; big < 2; big++) {
            struct lists l;
            build_list(&b, big, formats[i]);
            read_lists(&l, &b, NULL);
            assert_int_equal(l.st, ST_OK);
            assert_int_equal(l.files.files.len, 3);
            assert_string_equal(path_of(&l, 0), "/f000/n0");
            assert_string_equal(path_of(&l, 1), "/f199/n1");
            assert_string_equal(path_of(&l, 2), "/f007/n2");
            release_lists(&l);
        }
    }
}

/* Cuts the list of files: entries that are whole are kept, and a form of unknown size ends the
 * list. */
static void what_was_listed_before_the_damage_is_kept(void **state) {
    static const struct list_form formats[][4] = {
        {{DW_LNCT_path, DW_FORM_line_strp}, {DW_LNCT_directory_index, DW_FORM_udata}},
        {{DW_LNCT_path, DW_FORM_line_strp},
         {DW_LNCT_directory_index, DW_FORM_udata},
         {DW_LNCT_MD5, DW_FORM_data16}},
        {{DW_LNCT_directory_index, DW_FORM_data1}, {DW_LNCT_path, DW_FORM_line_strp}},
        {{DW_LNCT_path, DW_FORM_line_strp}, {DW_LNCT_size, DW_FORM_exprloc}},
    };
    static struct dwarf_build b;
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t first = build_list(&b, false, formats[i]), end = b.len[SECTION_LINE];
        size_t header = 4 + 2 + 2 + 4,
               kept = 0; /* offset at which the header's length is counted from */
        for (size_t cut = first; cut < end; cut++) {
            struct lists l;
            b.in = SECTION_LINE;
            put_at(&b, header - 4, cut - header, 4);
            read_lists(&l, &b, NULL);
            assert_int_equal(l.st, ST_ERR);
            assert_int_equal(l.e.code, ERR_TRUNCATED);
            assert_true(l.files.files.len == kept || l.files.files.len == kept + 1);
            kept = l.files.files.len;
            assert_true(kept == 0 || strcmp(path_of(&l, 0), "/f000/n0") == 0);
            assert_null(path_of(&l, kept));
            release_lists(&l);
        }
        assert_int_equal(kept, i < 3 ? 2 : 0);
    }
}

static void a_name_outside_its_section_is_none(void **state) {
    static const struct list_form format[] = {
        {DW_LNCT_path, DW_FORM_line_strp}, {DW_LNCT_directory_index, DW_FORM_udata}, {0, 0}};
    static struct dwarf_build b;
    struct lists l;
    (void)state;
    build_list(&b, false, format);
    b.len[SECTION_LINE_STR] -= 4; /* "n1" has no NUL now, and "n2" is missing */
    read_lists(&l, &b, NULL);
    assert_int_equal(l.st, ST_OK);
    assert_int_equal(l.files.files.len, 3);
    assert_string_equal(path_of(&l, 0), "/f000/n0");
    assert_null(path_of(&l, 1));
    assert_null(path_of(&l, 2));
    release_lists(&l);
}

static void in_a_folder_that_is_not_there_a_file_is_what_it_is_called(void **state) {
    static struct dwarf_build b;
    struct lists l;
    (void)state;
    struct header_marks m = begin_line_table(&b, 5);
    put(&b, 0, 1), put_uleb(&b, 0); /* no folder, not even the unit's own */
    put(&b, 1, 1), put_uleb(&b, DW_LNCT_path), put_uleb(&b, DW_FORM_string);
    put_uleb(&b, 1), put_text(&b, "a.c");
    end_header(&b, m);
    end_line_table(&b, m);
    read_lists(&l, &b, "/src");
    assert_int_equal(l.st, ST_OK);
    assert_string_equal(path_of(&l, 0), "a.c");
    release_lists(&l);
}

static void memory_is_used_again_from_table_to_table(void **state) {
    static const struct list_form format[] = {
        {DW_LNCT_path, DW_FORM_line_strp}, {DW_LNCT_directory_index, DW_FORM_udata}, {0, 0}};
    static struct dwarf_build large, small;
    struct lists l;
    (void)state;
    build_list(&large, false, format);
    read_lists(&l, &large, NULL);
    assert_string_equal(path_of(&l, 2), "/f007/n2");
    const struct line_name *was = l.files.files.data;
    struct header_marks m = begin_line_table(&small, 4);
    put(&small, 0, 1), put_file_v2(&small, "a.c", 0), put_file_v2(&small, "b.c", 0);
    put(&small, 0, 1);
    end_header(&small, m);
    end_line_table(&small, m);
    struct sections sections;
    built_sections(&small, &sections);
    struct line_source source = {.sections = &sections, .address_size = 8, .comp_dir = "/x"};
    assert_int_equal(line_header_read(&source, &l.header, &l.files, &l.e), ST_OK);
    assert_ptr_equal(l.files.files.data, was);
    assert_int_equal(l.files.files.len, 3);
    assert_null(l.files.paths.data[2]); /* the path of the table read before is forgotten */
    assert_null(path_of(&l, 0));
    assert_string_equal(path_of(&l, 2), "/x/b.c");
    release_lists(&l);
}

/* ---- paths ---- */

static void paths_are_composed_of_files_in_use(void **state) {
    static struct dwarf_build b;
    struct lists l;
    struct line_rows rows = {0};
    struct line_sequences sequences = {0};
    (void)state;
    struct header_marks m = begin_line_table(&b, 4);
    put(&b, 0, 1);
    for (char name[] = "a.c"; name[0] < 'f'; name[0]++) {
        put_file_v2(&b, name, 0);
    }
    put(&b, 0, 1);
    end_header(&b, m);
    set_address(&b, 0x1000);
    put(&b, DW_LNS_copy, 1); /* a row of file 1 */
    put(&b, DW_LNS_set_file, 1), put_uleb(&b, 3), put(&b, DW_LNS_copy, 1);
    put(&b, DW_LNS_set_file, 1), put_uleb(&b, 99), put(&b, DW_LNS_copy, 1);
    end_sequence(&b);
    end_line_table(&b, m);
    read_lists(&l, &b, "/src");
    assert_int_equal(line_program_run(&l.header, &l.files, &rows, &sequences, &l.e), ST_OK);
    line_files_use(&l.files, 5);
    line_files_use(&l.files, 6);
    assert_int_equal(l.arena.used, 0);
    assert_int_equal(line_files_compose(&l.files, &l.arena, &l.e), ST_OK);
    static const char *const expected[] = {NULL, "/src/a.c", NULL, "/src/c.c", NULL, "/src/e.c"};
    assert_int_equal(l.files.paths.len, 6);
    for (size_t i = 0; i < 6; i++) {
        const char *path = l.files.paths.data[i];
        assert_true((path == NULL) == (expected[i] == NULL));
        assert_true(!path || strcmp(path, expected[i]) == 0);
    }
    VEC_RELEASE(&rows);
    VEC_RELEASE(&sequences);
    release_lists(&l);
}

static void long_folders_are_not_copied_for_every_file(void **state) {
    static struct dwarf_build b;
    struct lists l;
    (void)state;
    struct header_marks m = begin_line_table(&b, 4);
    for (int i = 0; i < 6000; i++) {
        put(&b, 'x', 1);
    }
    put(&b, 0, 2);
    for (int i = 0; i < 1500; i++) {
        put_file_v2(&b, "f", 1);
    }
    put(&b, 0, 1);
    end_header(&b, m);
    end_line_table(&b, m);
    read_lists(&l, &b, NULL);
    assert_int_equal(l.st, ST_OK);
    for (size_t i = 0; i <= 1500; i++) {
        line_files_use(&l.files, i);
    }
    assert_int_equal(line_files_compose(&l.files, &l.arena, &l.e), ST_ERR);
    assert_int_equal(l.e.code, ERR_LIMIT);
    assert_int_equal(strlen(path_of(&l, 1)), 6000 + 2);
    assert_null(l.files.paths.data[1500]);
    release_lists(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_count_from_1_before_dwarf_5),
        cmocka_unit_test(files_count_from_0_in_dwarf_5),
        cmocka_unit_test(the_units_own_folder_does_not_lie_below_itself),
        cmocka_unit_test(lists_have_values_of_any_form_in_any_order),
        cmocka_unit_test(what_was_listed_before_the_damage_is_kept),
        cmocka_unit_test(a_name_outside_its_section_is_none),
        cmocka_unit_test(in_a_folder_that_is_not_there_a_file_is_what_it_is_called),
        cmocka_unit_test(memory_is_used_again_from_table_to_table),
        cmocka_unit_test(paths_are_composed_of_files_in_use),
        cmocka_unit_test(long_folders_are_not_copied_for_every_file),
    };
    return cmocka_run_group_tests_name("line_files", tests, NULL, NULL);
}
