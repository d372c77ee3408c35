/* Tests of finding debug files: files, bundles, folders. */
#include "object/find/find_support_test.h"

#include "base/failmalloc.h"

static void a_file_a_bundle_and_a_folder_are_added(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    struct image_id a = id_of_letter('a'), b = id_of_letter('b'), c = id_of_letter('c');
    write_macho(t, "plain", 'a', false, true);
    write_macho(t, "App.dSYM/Contents/Resources/DWARF/App", 'b', true, true);
    write_file(t, "App.dSYM/Contents/Info.plist", "<plist/>", 8);
    write_macho(t, "deep/er/Kit.framework.dSYM/Contents/Resources/DWARF/Kit", 'c', true, false);
    struct finder *f = new_finder();
    add_quietly(f, in(t, "plain", path));
    add_quietly(f, in(t, "App.dSYM/", path));
    add_quietly(f, in(t, "deep", path));
    assert_int_equal(finder_count(f), 3);
    assert_string_equal(found(f, &a)->name, "plain");
    assert_false(found(f, &a)->dwarf);
    assert_true(found(f, &a)->symbols);
    assert_string_equal(found(f, &b)->name, "App");
    assert_string_equal(found(f, &b)->arch, "arm64");
    assert_string_equal(found(f, &b)->path, in(t, "App.dSYM/Contents/Resources/DWARF/App", path));
    assert_true(found(f, &c)->dwarf);
    assert_false(found(f, &c)->symbols);
    assert_ptr_equal(finder_candidate(f, 2), found(f, &c));
    assert_null(finder_candidate(f, 3));
    finder_free(f);
}

static void what_is_no_object_file_is_skipped_in_a_folder_and_refused_when_named(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    static const uint8_t java[] = {0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 0x34, 0, 1, 2, 3};
    static struct build o_file;
    struct macho_build m = usual_macho();
    m.file_type = 1;
    build_macho(&o_file, &m);
    write_file(t, "d/notes.txt", "hello", 5);
    write_file(t, "d/empty", "", 0);
    write_file(t, "d/A.class", java, sizeof java);
    write_file(t, "d/a.o", o_file.data, o_file.len);
    write_macho(t, "d/._App", 'x', true, true);
    write_macho(t, "d/.DS_Store", 'x', true, true);
    write_macho(t, "d/__MACOSX/App", 'x', true, true);
    write_macho(t, "d/.git/App", 'x', true, true);
    struct finder *f = new_finder();
    add_quietly(f, in(t, "d", path));
    assert_int_equal(finder_count(f), 0);
    static const char *const named[] = {"d/notes.txt", "d/empty", "d/A.class"};
    for (size_t i = 0; i < 3; i++) {
        struct err e = {0};
        f = (finder_free(f), new_finder());
        assert_int_equal(finder_add(f, in(t, named[i], path), NULL, NULL, &e), ST_ERR);
        assert_int_equal(e.code, ERR_FORMAT);
        assert_non_null(strstr(e.text, path));
    }
    assert_int_equal(finder_add(f, in(t, "no such", path), NULL, NULL, NULL), ST_NONE);
    add_quietly(
        f, in(t, "d/._App",
              path)); /* a file that the user names is added even if its name begins with "._" */
    assert_int_equal(finder_count(f), 1);
    finder_free(f);
}

static void damage_in_a_folder_is_told_and_the_rest_is_added(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    struct complaints c = {0};
    struct image_id b = id_of_letter('b');
    write_file(t, "d/a-damaged", "\xcf\xfa\xed\xfe\x01", 5);
    write_macho(t, "d/b-fine", 'b', true, true);
    (void)mkdir(in(t, "d/Empty.dSYM", path), 0755);
    struct finder *f = new_finder();
    assert_int_equal(finder_add(f, in(t, "d", path), note_complaint, &c, NULL), ST_OK);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.code, ERR_TRUNCATED);
    assert_string_equal(c.path, in(t, "d/a-damaged", path));
    assert_non_null(found(f, &b));
    struct err e = {0};
    finder_free(f);
    f = new_finder();
    assert_int_equal(finder_add(f, in(t, "d/a-damaged", path), NULL, NULL, &e), ST_ERR);
    assert_int_equal(e.code, ERR_TRUNCATED);
    e = (struct err){0};
    assert_int_equal(finder_add(f, in(t, "d/Empty.dSYM", path), NULL, NULL, &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    assert_non_null(strstr(e.text, "Empty.dSYM"));
    finder_free(f);
}

static void an_unreadable_folder_is_told(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE], closed[PATH_SIZE];
    struct complaints c = {0};
    struct image_id a = id_of_letter('a');
    enum { NOBODY = 65534 };
    bool root = geteuid() == 0; /* root may read every file */
    write_macho(t, "d/fine", 'a', true, true);
    write_macho(t, "d/closed/App", 'b', true, true);
    assert_int_equal(chmod(in(t, "d/closed", closed), 0), 0);
    assert_int_equal(chmod(t->root, 0755), 0);
    struct finder *f = new_finder(), *g = new_finder();
    struct err e = {0};
    assert_int_equal(root ? seteuid(NOBODY) : 0, 0);
    enum st st = finder_add(f, in(t, "d", path), note_complaint, &c, NULL);
    enum st named = finder_add(g, closed, NULL, NULL, &e);
    assert_int_equal(root ? seteuid(0) : 0, 0);
    assert_int_equal(st, ST_OK);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.code, ERR_IO);
    assert_string_equal(c.path, closed);
    assert_non_null(found(f, &a));
    assert_int_equal(named, ST_ERR);
    assert_int_equal(e.code, ERR_IO);
    finder_free(f);
    finder_free(g);
}

static void folders_nested_too_deeply_are_told(void **state) {
    const struct scratch *t = *state;
    enum { LEVELS = 70 };
    char path[PATH_SIZE], name[2 * LEVELS + 8] = "";
    struct complaints c = {0};
    for (size_t i = 0; i < LEVELS; i++) {
        memcpy(name + 2 * i, "d/", 2);
    }
    memcpy(name + 2 * (size_t)LEVELS, "App", 4);
    write_macho(t, name, 'a', true, true);
    struct finder *f = new_finder();
    assert_int_equal(finder_add(f, in(t, "d", path), note_complaint, &c, NULL), ST_OK);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.code, ERR_LIMIT);
    assert_int_equal(finder_count(f), 0);
    finder_free(f);
}

static void links_are_followed_once_and_loops_end(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE], target[PATH_SIZE];
    struct image_id a = id_of_letter('a');
    write_macho(t, "elsewhere/App", 'a', true, true);
    write_file(t, "d/x", "x", 1);
    assert_int_equal(symlink(in(t, "elsewhere", target), in(t, "d/link", path)), 0);
    assert_int_equal(symlink(in(t, "elsewhere", target), in(t, "d/link2", path)), 0);
    assert_int_equal(symlink("..", in(t, "elsewhere/up", path)), 0);
    assert_int_equal(symlink(".", in(t, "d/self", path)), 0);
    assert_int_equal(symlink("nowhere", in(t, "d/dangling", path)), 0);
    assert_int_equal(symlink("loop", in(t, "d/loop", path)), 0);
    struct finder *f = new_finder();
    add_quietly(f, in(t, "d", path));
    assert_int_equal(finder_count(f), 1);
    assert_string_equal(found(f, &a)->path, in(t, "d/link/App", path));
    add_quietly(f, in(t, "d", path)); /* the same file a second time adds nothing */
    add_quietly(f, in(t, "elsewhere/App", path));
    assert_int_equal(finder_count(f), 1);
    finder_free(f);
}

/* Passes over /proc/self, which has a link to this very program, when it is mounted as when it is
 * linked to. */
static void what_the_kernel_makes_up_is_passed_over(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    if (filemap_is_stored("/proc/self")) {
        skip();
    }
    write_macho(t, "d/App", 'a', true, true);
    assert_int_equal(symlink("/proc/self", in(t, "d/proc", path)), 0);
    struct finder *f = new_finder();
    add_quietly(f, in(t, "d", path));
    assert_int_equal(finder_count(f), 1);
    finder_free(f);
}

static void note_progress(void *ctx, size_t looked_at) {
    size_t *last = ctx;
    assert_true(looked_at > *last);
    *last = looked_at;
}

static void a_long_search_tells_how_far_it_is(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    size_t last = 0;
    for (char name[] = "d/aa"; name[2] <= 'z'; name[2]++) {
        for (name[3] = 'a'; name[3] <= 'z'; name[3]++) {
            write_file(t, name, "x", 1);
        }
    }
    struct finder *f = new_finder();
    finder_on_progress(f, note_progress, &last);
    add_quietly(f, in(t, "d", path));
    assert_in_range(last, 26 * 26 / 2, 26 * 26);
    finder_free(f);
}

static void a_pipe_is_not_waited_for(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    struct err e = {0};
    write_macho(t, "d/App", 'a', true, true);
    assert_int_equal(mkfifo(in(t, "d/pipe", path), 0600), 0);
    struct finder *f = new_finder();
    assert_int_equal(finder_add(f, path, NULL, NULL, &e), ST_ERR);
    assert_int_equal(e.code, ERR_UNSUPPORTED);
    add_quietly(f, in(t, "d", path));
    assert_int_equal(finder_count(f), 1);
    finder_free(f);
}

static void dwarf_beats_symbols_then_the_order_of_options_decides(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    struct image_id a = id_of_letter('a');
    const struct find_candidate *all[8];
    size_t count = 0;
    static const char *const order[] = {"stripped", "symbols", "dsym", "dsym2", "symbols2"};
    for (size_t i = 0; i < 5; i++) {
        write_macho(t, order[i], 'a', order[i][0] == 'd', order[i][1] != 't');
    }
    struct finder *f = new_finder();
    for (size_t i = 0; i < 5; i++) {
        add_quietly(f, in(t, order[i], path));
    }
    assert_string_equal(found(f, &a)->name, "dsym");
    finder_find_all(f, &a, all, 8, &count);
    assert_int_equal(count, 5);
    static const char *const best[] = {"dsym", "dsym2", "symbols", "symbols2", "stripped"};
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(all[i]->name, best[i]);
    }
    finder_find_all(f, &a, all, 2, &count);
    assert_int_equal(count, 2);
    assert_string_equal(all[1]->name, "dsym2");
    finder_find_all(f, &a, all, 0, &count);
    assert_int_equal(count, 0);
    finder_free(f);
}

static void dwarf_without_lines_is_beaten_by_dwarf_with_lines_in_either_order(void **state) {
    (void)state;
    static const char *const files[] = {"testdata/objects/elf-lineless/libshop.so",
                                        "testdata/objects/elf-dwarf5/libshop.so"};
    struct image_id id = id_of_file("elf-dwarf5/libshop.so");
    for (size_t i = 0; i < 2; i++) {
        const struct find_candidate *all[4];
        size_t count = 0;
        struct finder *f = new_finder();
        add_quietly(f, files[i]);
        add_quietly(f, files[1 - i]);
        assert_string_equal(found(f, &id)->path, files[1]);
        finder_find_all(f, &id, all, 4, &count);
        assert_int_equal(count, 2);
        assert_string_equal(all[1]->path, files[0]);
        assert_true(all[1]->dwarf && !all[1]->lines);
        finder_free(f);
    }
}

static void unknown_and_zero_ids_are_not_found(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    struct image_id zero = id_of_letter('\0'), unknown = id_of_letter('u'), none = {0};
    write_macho(t, "zero", '\0', true, true);
    struct finder *f = new_finder();
    add_quietly(f, in(t, "zero", path));
    assert_int_equal(finder_count(f), 1);
    assert_not_found(f, &zero);
    assert_not_found(f, &unknown);
    assert_not_found(f, &none);
    finder_free(f);
}

static void every_slice_of_a_universal_file_is_a_candidate(void **state) {
    struct finder *f = new_finder();
    (void)state;
    add_quietly(f, "testdata/objects/macho-universal/Shop.dSYM");
    assert_int_equal(finder_count(f), 2);
    const struct find_candidate *x = finder_candidate(f, 0), *y = finder_candidate(f, 1);
    assert_ptr_equal(found(f, &x->id), x);
    assert_ptr_equal(found(f, &y->id), y);
    assert_string_not_equal(x->arch, y->arch);
    finder_free(f);
}

static void the_nearest_candidate_has_the_same_name_and_better_the_same_arch(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    struct finder *f = new_finder();
    write_macho(t, "1/Shop", 's', true, true);
    write_macho(t, "2/shop", 't', true, true);
    write_macho(t, "3/libnet.so.debug", 'n', true, true);
    add_quietly(f, in(t, "", path));
    add_quietly(f, "testdata/objects/macho-universal/Shop.dSYM");
    assert_string_equal(finder_nearest(f, "Shop", "x86_64")->arch, "x86_64");
    assert_string_equal(finder_nearest(f, "/var/containers/Shop", "arm64")->arch, "arm64");
    assert_string_equal(finder_nearest(f, "/var/containers/Shop", "arm64")->name, "Shop");
    assert_non_null(finder_nearest(f, "Shop", NULL));
    assert_non_null(finder_nearest(f, "Shop", "mips"));
    assert_string_equal(finder_nearest(f, "libnet.so", "arm64")->name, "libnet.so.debug");
    assert_null(finder_nearest(f, "SHOP", "arm64"));
    assert_null(finder_nearest(f, "Sho", "arm64"));
    finder_free(f);
}

/* ---- lack of memory ---- */

static void fill_and_ask(void *ctx, bool refused) {
    const struct scratch *t = ctx;
    char path[PATH_SIZE];
    struct finder *f = NULL;
    struct complaints c = {0};
    struct err e = {0};
    struct image_id a = id_of_letter('a'),
                    elf = {.kind = IMAGE_ID_BUILD, .len = 4, .bytes = "abcd"};
    const struct find_candidate *got = NULL;
    enum st st = finder_new(&f, &e);
    if (st == ST_OK) {
        st = finder_add_build_id_root(f, "/nowhere", &e);
    }
    if (st == ST_OK) {
        st = finder_add(f, in(t, "d", path), note_complaint, &c, &e);
    }
    if (st == ST_OK) {
        st = finder_find(f, &a, &got, &e);
        assert_true(refused || strcmp(got->name, "App") == 0);
    }
    if (st == ST_OK) {
        st = finder_find(f, &elf, &got, &e);
        st = st == ST_NONE ? ST_OK : st;
    }
    assert_int_equal(c.count, 0); /* lack of memory is not a complaint about a file */
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    finder_free(f);
}

static void lack_of_memory_is_an_ordinary_error(void **state) {
    struct scratch *t = *state;
    if (!failmalloc_works()) {
        skip();
    }
    write_macho(t, "d/App.dSYM/Contents/Resources/DWARF/App", 'a', true, true);
    write_macho(t, "d/App", 'a', false, true);
    write_file(t, "d/text", "text", 4);
    assert_true(failmalloc_sweep(fill_and_ask, t) > 10);
}

static void a_folder_that_is_called_as_a_bundle_may_hold_bundles(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    write_macho(t, "App.app.dSYM/App.app.dSYM/Contents/Resources/DWARF/App", 'b', true, true);
    write_macho(t, "App.app.dSYM/Kit.dSYM/Contents/Resources/DWARF/Kit", 'c', true, true);
    write_file(t, "App.app.dSYM/Contents/Info.plist", "<plist/>", 8);
    struct finder *f = new_finder();
    add_quietly(f, in(t, "App.app.dSYM", path));
    assert_int_equal(finder_count(f), 2);
    finder_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(a_file_a_bundle_and_a_folder_are_added),
        IN_SCRATCH(a_folder_that_is_called_as_a_bundle_may_hold_bundles),
        IN_SCRATCH(what_is_no_object_file_is_skipped_in_a_folder_and_refused_when_named),
        IN_SCRATCH(damage_in_a_folder_is_told_and_the_rest_is_added),
        IN_SCRATCH(an_unreadable_folder_is_told),
        IN_SCRATCH(folders_nested_too_deeply_are_told),
        IN_SCRATCH(links_are_followed_once_and_loops_end),
        IN_SCRATCH(what_the_kernel_makes_up_is_passed_over),
        IN_SCRATCH(a_long_search_tells_how_far_it_is),
        IN_SCRATCH(a_pipe_is_not_waited_for),
        IN_SCRATCH(dwarf_beats_symbols_then_the_order_of_options_decides),
        cmocka_unit_test(dwarf_without_lines_is_beaten_by_dwarf_with_lines_in_either_order),
        IN_SCRATCH(unknown_and_zero_ids_are_not_found),
        cmocka_unit_test(every_slice_of_a_universal_file_is_a_candidate),
        IN_SCRATCH(the_nearest_candidate_has_the_same_name_and_better_the_same_arch),
        IN_SCRATCH(lack_of_memory_is_an_ordinary_error),
    };
    return cmocka_run_group_tests_name("find", tests, NULL, NULL);
}
