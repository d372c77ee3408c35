/* Tests which file answers for an image, and of the verdicts. Folders, ids and slices are tested in
 * lib/object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "index/symbol_set.h"

#define DSYM   "testdata/objects/macho-arm64/Shop.dSYM"
#define FILE_  DSYM "/Contents/Resources/DWARF/Shop"
#define UUID   "4C4C442C-5555-3144-A1DE-7AABF56A019C"
#define UUID_2 "00000000-5555-3144-A1DE-7AABF56A019C"

static size_t complaints;
static struct err complaint; /* the last complaint */

static void count(void *ctx, const char *path, const struct err *why) {
    (void)ctx, (void)path;
    complaints++;
    complaint = *why;
}

static struct symbol_set *new_set(void) {
    struct symbol_set *s = NULL;
    complaints = 0;
    assert_int_equal(symbol_set_new(&s, count, NULL, NULL), ST_OK);
    return s;
}

static struct symbol_file find(struct symbol_set *s, const char *uuid, const char *name,
                               const char *path, const char *arch) {
    struct symbol_request r = {.name = name, .path = path, .arch = arch};
    struct symbol_file file = {0};
    if (uuid) {
        assert_true(parse_uuid(uuid, strlen(uuid), &r.id));
    }
    assert_int_equal(symbol_set_find(s, &r, &file, NULL), ST_OK);
    return file;
}

static void a_file_answers_for_its_id_only(void **state) {
    (void)state;
    struct symbol_set *s = new_set();
    assert_int_equal(symbol_set_add(s, DSYM, NULL), ST_OK);
    struct symbol_file file = find(s, UUID, "Other", NULL, "arm64");
    assert_int_equal(file.verdict, SYMBOLS_OK);
    assert_string_equal(file.file, FILE_);
    assert_non_null(file.source);
    assert_int_equal(find(s, UUID_2, "Shop", NULL, "arm64").verdict, SYMBOLS_ID_MISMATCH);
    assert_int_equal(find(s, UUID_2, "Shop", NULL, "armv7").verdict, SYMBOLS_ARCH_MISMATCH);
    assert_int_equal(find(s, UUID_2, "Other", NULL, "arm64").verdict, SYMBOLS_MISSING);
    symbol_set_free(s);
}

static void an_architecture_has_several_names(void **state) {
    (void)state;
    struct symbol_set *s = new_set();
    assert_int_equal(symbol_set_add(s, DSYM, NULL), ST_OK);
    assert_int_equal(find(s, UUID_2, "Shop", NULL, "aarch64").verdict, SYMBOLS_ID_MISMATCH);
    symbol_set_free(s);
}

static void use_takes_a_file_or_a_bundle_whatever_the_id(void **state) {
    (void)state;
    const char *const paths[] = {FILE_, DSYM, DSYM "/"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct symbol_set *s = new_set();
        assert_int_equal(symbol_set_use(s, "Shop", paths[i], NULL), ST_OK);
        assert_int_equal(find(s, NULL, "Shop", NULL, NULL).verdict, SYMBOLS_OK);
        assert_int_equal(find(s, UUID_2, "Shop", NULL, NULL).verdict, SYMBOLS_OK);
        assert_int_equal(find(s, UUID, "Other", NULL, NULL).verdict, SYMBOLS_MISSING);
        assert_int_equal(complaints, 0);
        symbol_set_free(s);
    }
}

static void use_refuses_what_holds_no_object_or_several(void **state) {
    (void)state;
    struct symbol_set *s = new_set();
    struct err e = {0};
    assert_int_equal(symbol_set_use(s, "Shop", "testdata/nowhere", &e), ST_NONE);
    assert_int_equal(symbol_set_use(s, "Shop", "README.md", &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    err_clear(&e);
    assert_int_equal(symbol_set_use(s, "Shop", "testdata/objects", &e), ST_ERR);
    assert_int_equal(e.code, ERR_USAGE);
    symbol_set_free(s);
}

static void a_use_that_cannot_serve_does_not_hide_one_that_can(void **state) {
    (void)state;
    struct symbol_set *s = new_set();
    assert_int_equal(symbol_set_use(s, "Shop", FILE_, NULL), ST_OK);
    assert_int_equal(symbol_set_use(s, "Shop", "testdata/objects/macho-universal/Shop.dSYM", NULL),
                     ST_OK);
    assert_int_equal(find(s, UUID_2, "Shop", NULL, "ppc").verdict, SYMBOLS_OK);
    symbol_set_free(s);
}

static void a_complaint_names_a_unit_if_one_is_damaged(void **state) {
    (void)state;
    struct symbol_set *s = new_set();
    assert_int_equal(symbol_set_use(s, "tiny", "testdata/hostile/macho/stroff-past-end", NULL),
                     ST_OK);
    assert_int_equal(find(s, NULL, "tiny", NULL, NULL).verdict, SYMBOLS_OK);
    assert_int_equal(complaints, 1);
    assert_non_null(strstr(complaint.text, "string table past end of file"));
    assert_null(strstr(complaint.text, "unit at"));
    symbol_set_free(s);
}

static void split_dwarf_is_a_verdict_of_its_own(void **state) {
    (void)state;
    struct symbol_set *s = new_set();
    assert_int_equal(symbol_set_use(s, "a", "testdata/objects/elf-split/libshop.so", NULL), ST_OK);
    struct symbol_file file = find(s, NULL, "a", NULL, NULL);
    assert_int_equal(file.verdict, SYMBOLS_SPLIT);
    assert_non_null(file.source);
    assert_int_equal(complaints, 1);
    assert_int_equal(complaint.code, ERR_UNREAD);
    assert_int_equal(find(s, NULL, "a", "/another/request", NULL).verdict, SYMBOLS_SPLIT);
    assert_int_equal(complaints, 1);
    /* A file with all of the debug info wins over a split one, whichever comes first. */
    assert_int_equal(symbol_set_use(s, "b", "testdata/objects/elf-split/libshop.so", NULL), ST_OK);
    assert_int_equal(symbol_set_use(s, "b", "testdata/objects/elf-dwarf5/libshop.so", NULL), ST_OK);
    assert_int_equal(find(s, NULL, "b", NULL, NULL).verdict, SYMBOLS_OK);
    assert_int_equal(symbol_set_use(s, "c", "testdata/objects/macho-symbols/ShopWidget", NULL),
                     ST_OK);
    assert_int_equal(symbol_set_use(s, "c", "testdata/objects/elf-split/libshop.so", NULL), ST_OK);
    assert_int_equal(find(s, NULL, "c", NULL, NULL).verdict, SYMBOLS_SPLIT);
    symbol_set_free(s);
}

static void missing_lines_are_told_of_once(void **state) {
    (void)state;
    struct symbol_set *s = new_set();
    assert_int_equal(symbol_set_use(s, "a", "testdata/objects/elf-lineless/libshop.so", NULL),
                     ST_OK);
    assert_int_equal(find(s, NULL, "a", NULL, NULL).verdict, SYMBOLS_OK);
    assert_int_equal(complaints, 1);
    assert_int_equal(complaint.code, ERR_UNREAD);
    assert_non_null(strstr(complaint.text, "no .debug_line"));
    assert_int_equal(find(s, NULL, "a", "/another/request", NULL).verdict, SYMBOLS_OK);
    assert_int_equal(complaints, 1);
    symbol_set_free(s);
}

#define LINELESS   "testdata/objects/elf-lineless/libshop.so"
#define WITH_LINES "testdata/objects/elf-dwarf5/libshop.so"
#define SHOP_ID    "eb69da9be90ed9e9104b187f080aa82093ef6a15"

static enum st expect_lines(void *ctx, const struct index_source *source,
                            const struct find_candidate *from, struct open_files *files,
                            struct err *e) {
    size_t *calls = ctx;
    (void)e;
    assert_string_equal(from->path, WITH_LINES);
    assert_string_equal(object_slice_path(source->slice), WITH_LINES);
    assert_true(files->objects.len > 0);
    ++*calls;
    return ST_OK;
}

static void of_two_files_of_an_id_the_one_with_lines_answers(void **state) {
    (void)state;
    static const char *const files[] = {LINELESS, WITH_LINES};
    struct symbol_request r = {.name = "libshop.so", .path = "/nowhere"};
    assert_true(parse_build_id(SHOP_ID, strlen(SHOP_ID), &r.id));
    for (size_t i = 0; i < 2; i++) {
        struct symbol_file file = {0};
        size_t calls = 0;
        struct symbol_set *s = new_set();
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(symbol_set_add(s, files[k ^ i], NULL), ST_OK);
            assert_int_equal(symbol_set_use(s, "used", files[k ^ i], NULL), ST_OK);
        }
        assert_int_equal(symbol_set_find(s, &r, &file, NULL), ST_OK);
        assert_string_equal(file.file, WITH_LINES);
        assert_string_equal(find(s, NULL, "used", NULL, NULL).file, WITH_LINES);
        assert_int_equal(symbol_set_each(s, expect_lines, &calls, NULL), ST_OK);
        assert_int_equal(calls, 1);
        assert_int_equal(complaints,
                         0); /* the other file lacks lines, for which there is no complaint */
        symbol_set_free(s);
    }
}

/* Copies the file and damages its packed .debug_info, so that it cannot be unpacked. */
static void damage_dwarf(const char *from, const char *to) {
    static uint8_t b[64 * 1024];
    enum { SHOFF = 40, SHNUM = 60, SHDR = 64, SH_OFFSET = 24, PACKED = 24 };
    uint64_t table, names, at;
    uint16_t counts[2]; /* the number of sections, and the index of the one that has their names */
    uint32_t name;
    FILE *f = fopen(from, "rb");
    assert_non_null(f);
    size_t len = fread(b, 1, sizeof b, f);
    fclose(f);
    memcpy(&table, b + SHOFF, 8);
    memcpy(counts, b + SHNUM, 4);
    memcpy(&names, b + table + counts[1] * SHDR + SH_OFFSET, 8);
    for (size_t i = 0; i < counts[0]; i++) {
        memcpy(&name, b + table + i * SHDR, 4);
        memcpy(&at, b + table + i * SHDR + SH_OFFSET, 8);
        if (strcmp((const char *)b + names + name, ".debug_info") == 0) {
            memset(b + at + PACKED, 0xff, 40);
        }
    }
    f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* The file's one unit is damaged, but it has symbols. */
static void units_that_cannot_be_read_are_no_dwarf(void **state) {
    (void)state;
    struct symbol_set *s = new_set();
    assert_int_equal(symbol_set_use(s, "a", "testdata/hostile/dwarf/abbrev-missing", NULL), ST_OK);
    assert_int_equal(find(s, NULL, "a", NULL, NULL).verdict, SYMBOLS_ONLY);
    assert_int_equal(complaints, 2);
    assert_string_equal(complaint.text, "none of its units can be read");
    symbol_set_free(s);
}

/* If the file has symbols, they are used, and the verdict says so. */
static void dwarf_that_cannot_be_read_is_no_dwarf(void **state) {
    (void)state;
    char folder[] = "/tmp/symbol-set-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libshop.so", folder);
    damage_dwarf("testdata/objects/elf-dwarf5/libshop.zlib.so", path);
    struct symbol_set *s = new_set();
    assert_int_equal(symbol_set_use(s, "a", path, NULL), ST_OK);
    assert_int_equal(find(s, NULL, "a", NULL, NULL).verdict, SYMBOLS_ONLY);
    assert_int_equal(complaints, 1);
    assert_non_null(strstr(complaint.text, "damaged compressed data"));
    assert_int_equal(symbol_set_use(s, "b", "testdata/hostile/elf/zlib-garbage", NULL), ST_OK);
    assert_int_equal(find(s, NULL, "b", NULL, NULL).verdict, SYMBOLS_DAMAGED);
    assert_int_equal(complaints, 2);
    symbol_set_free(s);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Opening a pipe would wait for ever, and a device could fill the memory. */
static void only_plain_files_are_opened_where_a_dump_points(void **state) {
    (void)state;
    char folder[] = "/tmp/symbol-set-test-XXXXXX", pipe_path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    struct symbol_set *s = new_set();
    assert_int_equal(symbol_set_use_host(s, NULL), ST_OK);
    alarm(30);
    assert_int_equal(find(s, UUID, "Shop", pipe_path, NULL).verdict, SYMBOLS_MISSING);
    assert_int_equal(find(s, UUID, "Shop", "/dev/zero", NULL).verdict, SYMBOLS_MISSING);
    assert_int_equal(find(s, UUID, "Shop", folder, NULL).verdict, SYMBOLS_MISSING);
    alarm(0);
    assert_int_equal(complaints, 0);
    symbol_set_free(s);
    assert_int_equal(unlink(pipe_path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_answers_for_its_id_only),
        cmocka_unit_test(an_architecture_has_several_names),
        cmocka_unit_test(use_takes_a_file_or_a_bundle_whatever_the_id),
        cmocka_unit_test(use_refuses_what_holds_no_object_or_several),
        cmocka_unit_test(a_use_that_cannot_serve_does_not_hide_one_that_can),
        cmocka_unit_test(a_complaint_names_a_unit_if_one_is_damaged),
        cmocka_unit_test(split_dwarf_is_a_verdict_of_its_own),
        cmocka_unit_test(missing_lines_are_told_of_once),
        cmocka_unit_test(of_two_files_of_an_id_the_one_with_lines_answers),
        cmocka_unit_test(units_that_cannot_be_read_are_no_dwarf),
        cmocka_unit_test(dwarf_that_cannot_be_read_is_no_dwarf),
        cmocka_unit_test(only_plain_files_are_opened_where_a_dump_points),
    };
    return cmocka_run_group_tests_name("symbol_set", tests, NULL, NULL);
}
