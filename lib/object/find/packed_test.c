/* Tests of archives by libarchive, where this build has it. */
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

#include "base/failmalloc.h"
#include "object/find/find.h"
#include "object/find/packed.h"

#define ARCHIVES "testdata/fuzz/packed/"

static void count_complaint(void *ctx, const char *path, const struct err *why) {
    unsigned *count = ctx;
    assert_non_null(path);
    assert_true(err_is(why));
    (*count)++;
}

/* Returns how many object files an archive gives; -1: it is refused. */
static int candidates(const char *path, unsigned *complaints, struct err *e) {
    struct finder *f = NULL;
    int count = -1;
    *complaints = 0;
    enum st st = finder_new(&f, e);
    if (st == ST_OK) {
        st = finder_add(f, path, count_complaint, complaints, e);
    }
    if (st == ST_OK) {
        count = (int)finder_count(f);
    }
    finder_free(f);
    return count;
}

static void skip_without_libarchive(void) {
    if (!packed_supported()) {
        skip();
    }
}

static void every_packing_gives_the_same_files(void **state) {
    static const char *const names[] = {"app.zip",    "stored.zip",  "lzma.zip",   "app.tar",
                                        "gnu.tar",    "app.tar.gz",  "app.tar.xz", "app.tar.bz2",
                                        "sparse.tar", "zeros.tar.gz"};
    (void)state;
    skip_without_libarchive();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        unsigned complaints;
        struct err e = {0};
        (void)snprintf(path, sizeof path, ARCHIVES "%s", names[i]);
        int found = candidates(path, &complaints, &e);
        if (found < 1 || complaints != 0) {
            fail_msg("%s: %d files, %u complaints, %s", names[i], found, complaints, e.text);
        }
    }
}

static void what_cannot_be_unpacked_is_told(void **state) {
    static const char *const names[] = {"cut.tar.gz", "twice.gz", "locked.zip"};
    (void)state;
    skip_without_libarchive();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        unsigned complaints;
        struct err e = {0};
        (void)snprintf(path, sizeof path, ARCHIVES "%s", names[i]);
        int found = candidates(path, &complaints, &e);
        if ((found >= 0 && complaints == 0) || (found < 0 && !err_is(&e))) {
            fail_msg("%s: %d files, %u complaints", names[i], found, complaints);
        }
    }
}

/* Cuts packed files in their first block: what the rest contains is then unknown. */
static void one_that_is_cut_at_its_beginning_is_damaged_if_it_was_named(void **state) {
    static const char *const commands[] = {
        "xz -c testdata/objects/elf-dwarf5/libshop.so | head -c 900",
        "gzip -c testdata/objects/elf-dwarf5/libshop.so | head -c 900",
        "bzip2 -c testdata/objects/elf-dwarf5/libshop.so | head -c 900",
    };
    char folder[] = "/tmp/packed-test-XXXXXX", path[sizeof folder + sizeof "/cut"], command[256];
    size_t tried = 0;
    (void)state;
    skip_without_libarchive();
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/cut", folder);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        unsigned complaints;
        struct stat sb;
        struct err e = {0};
        (void)snprintf(command, sizeof command, "%s > %s 2> /dev/null", commands[i], path);
        if (system(command) != 0 || stat(path, &sb) != 0 || sb.st_size != 900) {
            continue; /* the program that packs is not installed */
        }
        tried++;
        assert_int_equal(candidates(path, &complaints, &e), -1);
        assert_non_null(strstr(e.text, "cannot unpack"));
        /* In a folder such a file may be no debug file, so nothing is reported. */
        assert_int_equal(candidates(folder, &complaints, NULL), 0);
        assert_int_equal(complaints, 0);
    }
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0);
    if (tried == 0) {
        skip();
    }
}

static void read_archive(void *ctx, bool refused) {
    unsigned complaints;
    struct err e = {0};
    int found = candidates(ctx, &complaints, &e);
    assert_true(found > 0 || (refused && e.code == ERR_NOMEM));
    assert_int_equal(complaints, 0); /* lack of memory is not a complaint about a member */
}

static void the_name_of_a_packed_tar_says_so(void **state) {
    (void)state;
    assert_true(packed_is_tar_name("d.d/App.dSYM.tar.gz"));
    assert_true(packed_is_tar_name("symbols.tgz"));
    assert_true(packed_is_tar_name("symbols.tar.zst"));
    assert_false(packed_is_tar_name("dumps.json.gz"));
    assert_false(packed_is_tar_name("d.tgz/dump.gz"));
    assert_false(packed_is_tar_name(".tgz"));
}

static void lack_of_memory_is_an_ordinary_error(void **state) {
    static char zip[] = ARCHIVES "app.zip", tar[] = ARCHIVES "app.tar.gz";
    (void)state;
    skip_without_libarchive();
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(read_archive, zip) > 8);
    assert_true(failmalloc_sweep(read_archive, tar) > 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_packing_gives_the_same_files),
        cmocka_unit_test(what_cannot_be_unpacked_is_told),
        cmocka_unit_test(one_that_is_cut_at_its_beginning_is_damaged_if_it_was_named),
        cmocka_unit_test(the_name_of_a_packed_tar_says_so),
        cmocka_unit_test(lack_of_memory_is_an_ordinary_error),
    };
    return cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
