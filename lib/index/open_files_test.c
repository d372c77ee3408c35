/* Tests where the files of split DWARF are looked for, and which of them count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "index/symbol_set.h"

#define OBJECTS "testdata/objects/"

static char folder[64];
static size_t complaints;
static char complaint[512]; /* text of the last complaint */

static void count(void *ctx, const char *path, const struct err *why) {
    (void)ctx, (void)path;
    complaints++;
    (void)snprintf(complaint, sizeof complaint, "%s", why->text);
}

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/split-files-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    static const char *const names[] = {"libshop.so", "libshop.so.dwp", "image.c.dwo",
                                        "layout.cpp.dwo", "price.cpp.dwo"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

static void copy(const char *from, const char *name) {
    char source[128], target[128];
    (void)snprintf(source, sizeof source, OBJECTS "%s/%s", from, name);
    (void)snprintf(target, sizeof target, "%s/%s", folder, name);
    FILE *in = fopen(source, "rb"), *out = fopen(target, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (int c; (c = getc(in)) != EOF;) {
        assert_int_not_equal(putc(c, out), EOF);
    }
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void copy_units(const char *from) {
    copy(from, "image.c.dwo");
    copy(from, "layout.cpp.dwo");
    copy(from, "price.cpp.dwo");
}

/* Returns the verdict on the library in the folder; *frames becomes the number of frames at an
 * address. */
static enum symbol_verdict verdict(uint64_t address, size_t *frames) {
    struct symbol_set *s;
    struct symbol_file file;
    struct lookup_hit hit;
    struct err e = {0};
    char path[128];
    (void)snprintf(path, sizeof path, "%s/libshop.so", folder);
    complaints = 0;
    assert_int_equal(symbol_set_new(&s, count, NULL, &e), ST_OK);
    assert_int_equal(symbol_set_use(s, "libshop.so", path, &e), ST_OK);
    struct symbol_request request = {.name = "libshop.so"};
    assert_int_equal(symbol_set_find(s, &request, &file, &e), ST_OK);
    *frames = 0;
    if (file.source && lookup_address(file.source, address, &hit, &e) == ST_OK) {
        *frames = hit.frame_count;
    }
    symbol_set_free(s);
    return file.verdict;
}

enum { CLANG_CALL = 0x1e2a /* an address at which page_checksum is inlined into image_checksum */ };

static void files_beside_the_library_are_read(void **state) {
    (void)state;
    size_t frames;
    copy("elf-dwo", "libshop.so");
    assert_int_equal(verdict(CLANG_CALL, &frames), SYMBOLS_SPLIT);
    copy_units("elf-dwo");
    assert_int_equal(verdict(CLANG_CALL, &frames), SYMBOLS_OK);
    assert_int_equal(frames, 2);
    assert_int_equal(complaints, 0);
}

static void a_package_is_read(void **state) {
    (void)state;
    size_t frames;
    copy("elf-dwp", "libshop.so");
    copy("elf-dwp", "libshop.so.dwp");
    assert_int_equal(verdict(CLANG_CALL, &frames), SYMBOLS_OK);
    assert_int_equal(frames, 2);
    assert_int_equal(complaints, 0);
}

static void files_of_another_build_do_not_count(void **state) {
    (void)state;
    size_t frames;
    copy("elf-dwo", "libshop.so");
    copy_units("elf-dwo-gnu");
    assert_int_equal(verdict(CLANG_CALL, &frames), SYMBOLS_SPLIT);
    assert_int_equal(complaints, 4); /* one for each unit, and one that the library is split */
    copy("elf-dwp", "libshop.so.dwp");
    copy_units("elf-dwo");
    assert_int_equal(verdict(CLANG_CALL, &frames), SYMBOLS_OK);
    assert_int_equal(frames, 2);
}

static void some_of_them_are_not_all(void **state) {
    (void)state;
    size_t frames;
    copy("elf-dwo", "libshop.so");
    copy("elf-dwo", "image.c.dwo");
    assert_int_equal(verdict(CLANG_CALL, &frames), SYMBOLS_SPLIT);
    assert_int_equal(frames, 2); /* frames of the unit whose file is there */
    assert_int_equal(complaints, 1);
}

/* Cuts a package at many places: the part before the cut is read, or nothing. */
static void a_cut_package_is_survived(void **state) {
    (void)state;
    size_t frames;
    struct stat st;
    char path[128];
    copy("elf-dwp", "libshop.so");
    copy("elf-dwp", "libshop.so.dwp");
    (void)snprintf(path, sizeof path, "%s/libshop.so.dwp", folder);
    assert_int_equal(stat(path, &st), 0);
    for (off_t len = st.st_size - 1; len > 0; len -= 101) {
        assert_int_equal(truncate(path, len), 0);
        enum symbol_verdict v = verdict(CLANG_CALL, &frames);
        assert_true(v == SYMBOLS_SPLIT || v == SYMBOLS_OK);
        assert_true(v == SYMBOLS_OK || complaints > 0);
    }
    /* A file that is no package, in the package's place, is named in a complaint. */
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(verdict(CLANG_CALL, &frames), SYMBOLS_SPLIT);
    assert_int_equal(complaints, 2);
    copy_units("elf-dwo"); /* without the package, the files of single units are used */
    assert_int_equal(verdict(CLANG_CALL, &frames), SYMBOLS_OK);
    assert_int_equal(complaints, 1);
    assert_non_null(strstr(complaint, "is no package of split DWARF"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_beside_the_library_are_read, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_package_is_read, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(files_of_another_build_do_not_count, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(some_of_them_are_not_all, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_cut_package_is_survived, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("open_files", tests, NULL, NULL);
}
