/* Tests of folders in which debug files lie by id: files are found in them although the rest is not
 * added. */
#include "object/find/find_support_test.h"

/* Ids of 16 times the same letter, 'A' being 0x41. */
#define A_TREE   "4141/4141/4141/4141/4141/414141414141"
#define B_TREE   "4242/4242/4242/4242/4242/424242424242"
#define C_TREE   "4343/4343/4343/4343/4343/434343434343"
#define A_BUNDLE "41414141-4141-4141-4141-414141414141.dSYM/Contents/Resources/DWARF/"
#define Z_BUNDLE "5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a.dSYM/Contents/Resources/DWARF/"

static struct finder *finder_with_layouts(const struct scratch *t) {
    struct finder *f = new_finder();
    finder_use_layouts(f);
    add_quietly(f, t->root);
    return f;
}

static void the_uuid_folders_of_lldb_are_looked_up(void **state) {
    const struct scratch *t = *state;
    char from[PATH_SIZE], to[PATH_SIZE];
    const struct image_id a = id_of_letter('A'), b = id_of_letter('B'), c = id_of_letter('C');
    const struct image_id d = id_of_letter('D');
    write_macho(t, "away/App.dSYM/Contents/Resources/DWARF/App", 'A', true, true);
    write_macho(t, "tree/" B_TREE, 'B', true, true);
    write_macho(t, "tree/" C_TREE "/Contents/Resources/DWARF/Cat", 'C', true, true);
    write_macho(t, "tree/App", 'E', true, true);
    make_folders(in(t, "tree/" A_TREE, to));
    assert_int_equal(symlink(in(t, "away/App.dSYM/Contents/Resources/DWARF/App", from), to), 0);
    struct finder *f = new_finder();
    finder_use_layouts(f);
    add_quietly(f, in(t, "tree", from));
    assert_int_equal(finder_count(f), 1); /* the one is tree/App */
    assert_string_equal(found(f, &a)->name, "App");
    assert_int_equal(finder_count(f), 2);
    assert_string_equal(found(f, &b)->path, in(t, "tree/" B_TREE, from));
    assert_string_equal(found(f, &c)->name, "Cat");
    assert_not_found(f, &d);
    assert_int_equal(finder_count(f), 4);
    finder_free(f);
}

static void bundles_called_as_a_uuid_are_looked_up(void **state) {
    const struct scratch *t = *state;
    const struct image_id a = id_of_letter('A'), z = id_of_letter('Z'), b = id_of_letter('B');
    char named[PATH_SIZE];
    write_macho(t, "dsyms/" A_BUNDLE "App", 'A', true, true);
    write_macho(t, "dsyms/" Z_BUNDLE "Zoo", 'Z', true, true);
    write_macho(t, "dsyms/Bar.dSYM/Contents/Resources/DWARF/Bar", 'B', true, true);
    struct finder *f = finder_with_layouts(t);
    assert_int_equal(finder_count(f), 1);
    assert_string_equal(found(f, &z)->name, "Zoo");
    assert_string_equal(found(f, &a)->name, "App");
    assert_string_equal(found(f, &b)->name, "Bar");
    finder_free(f);
    /* A bundle whose path is given itself is added as any other. */
    f = new_finder();
    finder_use_layouts(f);
    add_quietly(f, in(t, "dsyms/41414141-4141-4141-4141-414141414141.dSYM", named));
    assert_int_equal(finder_count(f), 1);
    finder_free(f);
}

static void build_id_folders_are_looked_up(void **state) {
    const struct scratch *t = *state;
    const struct image_id id = id_of_file("elf-dwarf5/libshop.so");
    const struct image_id other = id_of_file("elf-aarch64/libshop.so");
    char name[PATH_SIZE], hex[IMAGE_ID_TEXT];
    image_id_text(&id, hex);
    copy_file(t, "elf-dwarf5/libshop.so",
              path_of(name, "sys/.build-id/%.2s/%s.debug", hex, hex + 2));
    image_id_text(&other, hex);
    copy_file(t, "elf-aarch64/libshop.so", path_of(name, "sys/.build-id/%.2s/%s", hex, hex + 2));
    struct finder *f = finder_with_layouts(t);
    assert_int_equal(finder_count(f), 0);
    assert_true(found(f, &id)->dwarf);
    assert_true(found(f, &other)->dwarf);
    finder_free(f);
}

static void a_file_of_another_id_does_not_answer_and_a_damaged_one_is_told(void **state) {
    const struct scratch *t = *state;
    const struct image_id a = id_of_letter('A'), b = id_of_letter('B');
    struct complaints c = {0};
    write_macho(t, A_TREE, 'X', true, true);
    write_macho(t, B_TREE, 'B', true, true);
    char path[PATH_SIZE];
    assert_int_equal(truncate(in(t, B_TREE, path), 100), 0);
    struct finder *f = new_finder();
    finder_use_layouts(f);
    assert_int_equal(finder_add(f, t->root, note_complaint, &c, NULL), ST_OK);
    assert_int_equal(c.count, 0);
    assert_not_found(f, &a);
    assert_not_found(f, &b);
    assert_not_found(f, &b);
    assert_int_equal(c.count, 1);
    assert_string_equal(c.path, path);
    finder_free(f);
}

static void folders_that_only_look_so_are_walked(void **state) {
    const struct scratch *t = *state;
    const struct image_id a = id_of_letter('A'), b = id_of_letter('B'), e = id_of_letter('E');
    const struct image_id y = id_of_letter('Y');
    write_macho(t, "2024/App.dSYM/Contents/Resources/DWARF/App", 'A', true, true);
    write_macho(t, B_TREE, 'B', true, true);
    write_macho(t, "EEEE/EEEE/EEEE/EEEE/EEEE/note", 'E', true, true);
    write_macho(t, "41414141-4141.dSYM/Contents/Resources/DWARF/Yak", 'Y', true, true);
    struct finder *f = finder_with_layouts(t);
    assert_int_equal(finder_count(f), 4);
    found(f, &a), found(f, &b), found(f, &e), found(f, &y);
    finder_free(f);
}

static void without_being_asked_for_they_are_walked(void **state) {
    const struct scratch *t = *state;
    write_macho(t, A_TREE, 'A', true, true);
    write_macho(t, "dsyms/" Z_BUNDLE "Zoo", 'Z', true, true);
    struct finder *f = new_finder();
    add_quietly(f, t->root);
    assert_int_equal(finder_count(f), 2);
    finder_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(the_uuid_folders_of_lldb_are_looked_up),
        IN_SCRATCH(bundles_called_as_a_uuid_are_looked_up),
        IN_SCRATCH(build_id_folders_are_looked_up),
        IN_SCRATCH(a_file_of_another_id_does_not_answer_and_a_damaged_one_is_told),
        IN_SCRATCH(folders_that_only_look_so_are_walked),
        IN_SCRATCH(without_being_asked_for_they_are_walked),
    };
    return cmocka_run_group_tests_name("find_layout", tests, NULL, NULL);
}
