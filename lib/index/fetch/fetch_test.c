/* Tests of fetch commands, of filing what they fetch, and of the names of packages. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "index/fetch/debug_packages.h"
#include "index/fetch/fetch_command.h"
#include "index/fetch/fetched_files.h"

#define SHOP    "testdata/objects/macho-arm64/Shop.dSYM/Contents/Resources/DWARF/Shop"
#define SHOP_ID "4C4C442C-5555-3144-A1DE-7AABF56A019C"
#define STEM    "4c4c442c55553144a1de7aabf56a019c"

static struct image_id shop_id(void) {
    struct image_id id = {0};
    assert_true(parse_uuid(SHOP_ID, strlen(SHOP_ID), &id));
    return id;
}

/* ---- commands ---- */

static void expect_words(const char *text, const struct image_id *id, const char *const *wanted) {
    struct fetch_command c;
    struct err e = {0};
    assert_int_equal(fetch_command_parse(&c, text, &e), ST_OK);
    char **words = fetch_command_words(&c, id, "/o u t");
    size_t i = 0;
    for (; wanted[i]; i++) {
        assert_non_null(words[i]);
        assert_string_equal(words[i], wanted[i]);
    }
    assert_null(words[i]);
    fetch_command_free_words(words);
    fetch_command_release(&c);
}

static void a_command_is_split_once_and_filled_in_for_each_id(void **state) {
    (void)state;
    struct image_id uuid = shop_id(), build = {0};
    const char *const s3[] = {"aws",    "s3", "cp", "s3://sym/4C4C442C55553144A1DE7AABF56A019C",
                              "/o u t", NULL};
    const char *const quoted[] = {"a b",         "",         "$HOME;`x`|*", "c\"d\\",
                                  "100%/o u tx", "00ff/e f", NULL};
    assert_true(parse_build_id("00FF", 4, &build));
    expect_words("  aws s3\tcp s3://sym/%u %o\n", &uuid, s3);
    expect_words("'a b' \"\" $HOME;`x`|* \"c\\\"d\\\\\" 100%%%ox %u/e\\ f", &build, quoted);
}

static void what_is_no_command_is_refused(void **state) {
    (void)state;
    const char *const bad[] = {"",           "cp %u",         "cp %o", "cp '%u %o", "cp %u %o %x",
                               "cp %u %o %", "cp \"%u\" \"%o"};
    char many[4 * FETCH_WORDS_MAX] = "%u %o";
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fetch_command c = {0};
        struct err e = {0};
        assert_int_equal(fetch_command_parse(&c, bad[i], &e), ST_ERR);
        assert_int_equal(e.code, ERR_USAGE);
        assert_null(c.words);
    }
    for (size_t i = 0; i < FETCH_WORDS_MAX - 1; i++) {
        memcpy(many + strlen("%u %o") + 2 * i, " a", sizeof " a");
    }
    struct fetch_command c;
    assert_int_equal(fetch_command_parse(&c, many, NULL), ST_ERR);
}

static void parse_and_fill(void *ctx, bool refused) {
    (void)ctx;
    struct fetch_command c;
    struct image_id id = shop_id();
    struct err e = {0};
    if (fetch_command_parse(&c, "cp 'a b/%u' %o", &e) != ST_OK) {
        assert_true(refused && e.code == ERR_NOMEM);
        return;
    }
    char **words = fetch_command_words(&c, &id, "out");
    assert_true(refused || words);
    fetch_command_free_words(words);
    fetch_command_release(&c);
}

static void a_command_without_memory_leaks_nothing(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(parse_and_fill, NULL) > 0);
}

/* ---- files ---- */

static char folder[] = "/tmp/stallkit-fetch-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void copy_file(const char *from, const char *to) {
    char command[512];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static bool left_over(void) {
    char command[128];
    snprintf(command, sizeof command, "test -n \"$(ls -A '%s/fetch')\"", folder);
    return system(command) == 0;
}

/* Fetches a file by copying `from`; NULL: the command writes nothing. */
static enum st fetch_copy(const char *from, struct strbuf *filed, struct err *e) {
    struct image_id id = shop_id();
    struct strbuf path = {0};
    assert_int_equal(fetched_files_begin(folder, &id, 7, &path, e), ST_OK);
    if (from) {
        copy_file(from, strbuf_cstr(&path));
    }
    enum st st = fetched_files_end(folder, &id, strbuf_cstr(&path), NULL, filed, e);
    strbuf_release(&path);
    assert_false(left_over());
    return st;
}

static void what_has_the_id_is_filed_and_found_again(void **state) {
    (void)state;
    struct image_id id = shop_id();
    struct strbuf filed = {0}, found = {0};
    struct err e = {0};
    assert_int_equal(fetched_files_find(folder, true, &id, &found, &e), ST_NONE);
    assert_int_equal(fetch_copy(SHOP, &filed, &e), ST_OK);
    strbuf_clear(&found);
    assert_int_equal(fetched_files_find(folder, true, &id, &found, &e), ST_OK);
    assert_string_equal(strbuf_cstr(&found), strbuf_cstr(&filed));
    assert_non_null(strstr(strbuf_cstr(&found), "/4c/" STEM ".debug"));
    strbuf_release(&filed);
    strbuf_release(&found);
}

static void what_has_another_id_is_no_object_or_is_not_there_is_not_filed(void **state) {
    (void)state;
    struct image_id id = shop_id();
    struct strbuf filed = {0}, found = {0};
    struct err other = {0}, text = {0}, empty = {0}, none = {0}, e = {0};
    assert_int_equal(fetch_copy("testdata/objects/elf-dwarf5/libshop.so", &filed, &other), ST_ERR);
    assert_non_null(strstr(other.text, "another id"));
    assert_int_equal(fetch_copy("testdata/dumps/README.md", &filed, &text), ST_ERR);
    assert_null(strstr(text.text,
                       folder)); /* the message does not name the file, which is removed by then */
    assert_int_equal(fetch_copy("/dev/null", &filed, &empty), ST_ERR);
    assert_non_null(strstr(empty.text, "an empty file"));
    assert_int_equal(fetch_copy(NULL, &filed, &none), ST_NONE);
    assert_false(err_is(&none));
    assert_int_equal(fetched_files_find(folder, true, &id, &found, &e), ST_NONE);
    strbuf_release(&filed);
    strbuf_release(&found);
}

static void a_miss_is_remembered_for_an_hour_and_for_its_command(void **state) {
    (void)state;
    struct image_id id = shop_id();
    char path[256];
    assert_false(fetched_files_missed(folder, &id, 5));
    fetched_files_note_miss(folder, &id, 5);
    assert_true(fetched_files_missed(folder, &id, 5));
    assert_false(fetched_files_missed(folder, &id, 6));
    snprintf(path, sizeof path, "%s/4c/" STEM "-0000000000000005.miss", folder);
    struct timespec then = {.tv_sec = time(NULL) - FETCH_MISS_SECONDS};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_false(fetched_files_missed(folder, &id, 5));
    fetched_files_note_miss(folder, &id, 5);
    assert_true(fetched_files_missed(folder, &id, 5));
    for (time_t ahead = 1; ahead <= 60; ahead += 59) {
        const struct timespec of = {.tv_sec = time(NULL) + ahead}, both[2] = {of, of};
        assert_int_equal(utimensat(AT_FDCWD, path, both, 0), 0);
        assert_int_equal(fetched_files_missed(folder, &id, 5), ahead == 1);
    }
}

static void what_a_killed_run_left_goes(void **state) {
    (void)state;
    char path[256];
    struct strbuf filed = {0};
    struct err e = {0};
    snprintf(path, sizeof path,
             "mkdir -p '%s/fetch/old-1/in/side' && touch '%s/fetch/old-1/in/file' "
             "&& touch -d '2 hours ago' '%s/fetch/old-1'",
             folder, folder, folder);
    assert_int_equal(system(path), 0);
    assert_true(left_over());
    assert_int_equal(fetch_copy(NULL, &filed, &e), ST_NONE);
    strbuf_release(&filed);
}

/* ---- packages ---- */

static void write_list(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void a_file_of_a_package_names_that_of_its_debug_info(void **state) {
    (void)state;
    const char *paths[] = {"/usr/bin/python3.11", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/opt/x"};
    struct strbuf names = {0};
    write_list("python3.11-minimal.list", "/.\n/usr\n/usr/bin\n/usr/bin/python3.11");
    write_list("libc6:amd64.list", "/.\n/lib/x86_64-linux-gnu/libc.so.6\n/usr/share/doc\n");
    write_list("near.list", "/usr/bin/python3.11-config\n/usr/usr/bin/python3.11\n/opt\n");
    write_list("libc6:amd64.md5sums", "/opt/x\n");
    char fifo[600];
    snprintf(fifo, sizeof fifo, "%s/fifo.list", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0); /* a read of it would wait for ever */
    assert_int_equal(debug_packages_find(folder, paths, 3, &names, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&names), "libc6-dbgsym python3.11-minimal-dbgsym");
    strbuf_clear(&names);
    assert_int_equal(debug_packages_find(folder, paths + 2, 1, &names, NULL), ST_NONE);
    assert_int_equal(debug_packages_find("/nonexistent", paths, 3, &names, NULL), ST_NONE);
    assert_int_equal(debug_packages_find(folder, NULL, 0, &names, NULL), ST_NONE);
    strbuf_release(&names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_split_once_and_filled_in_for_each_id),
        cmocka_unit_test(what_is_no_command_is_refused),
        cmocka_unit_test(a_command_without_memory_leaks_nothing),
        cmocka_unit_test_setup_teardown(what_has_the_id_is_filed_and_found_again, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(
            what_has_another_id_is_no_object_or_is_not_there_is_not_filed, make_folder,
            remove_folder),
        cmocka_unit_test_setup_teardown(a_miss_is_remembered_for_an_hour_and_for_its_command,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_a_killed_run_left_goes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_of_a_package_names_that_of_its_debug_info,
                                        make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
