#include "base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failmalloc.h"

/* Path of a folder in /tmp, which has the sticky bit, for the files of the tests. */
static char base[64];

static int make_base(void **state) {
    (void)state;
    snprintf(base, sizeof base, "/tmp/owned_test.XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    return system(command);
}

static const char *at(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

static void make(const char *name, mode_t mode) {
    assert_int_equal(mkdir(at(name), 0700), 0);
    assert_int_equal(chmod(at(name), mode), 0);
}

static enum st check(const char *name) {
    struct err e = {0};
    enum st st = owned_folder_check(at(name), &e);
    assert_int_equal(err_is(&e), st == ST_ERR);
    return st;
}

static void a_folder_counts_that_others_may_only_read(void **state) {
    (void)state;
    make("open", 0755);
    make("open/closed", 0700);
    assert_int_equal(check("open"), ST_OK);
    assert_int_equal(check("open/closed"), ST_OK);
    assert_int_equal(check("open//./closed/"), ST_OK);
    assert_int_equal(check("open/../open/closed"), ST_OK);
}

static void what_is_not_there_is_no_danger(void **state) {
    (void)state;
    assert_int_equal(check("none"), ST_NONE);
    assert_int_equal(check("none/below"), ST_NONE);
    assert_int_equal(owned_folder_check("/dev/null/below", NULL), ST_NONE);
}

static void a_folder_that_others_may_write_to_does_not_count_nor_does_what_is_below(void **state) {
    (void)state;
    make("group", 0775);
    make("group/below", 0700);
    make("sticky", 01777);
    make("sticky/below", 0700);
    assert_int_equal(check("group"), ST_ERR);
    assert_int_equal(check("group/below"), ST_ERR);
    assert_int_equal(check("sticky"), ST_ERR);
    assert_int_equal(check("sticky/below"), ST_OK);
    assert_int_equal(check("sticky/none"), ST_NONE);
}

static void a_folder_is_looked_at_alone(void **state) {
    (void)state;
    make("alone", 0700);
    make("shared", 0775);
    assert_int_equal(symlink("alone", at("link_to_alone")), 0);
    assert_true(owned_folder_alone(at("alone")));
    errno = 0;
    assert_false(owned_folder_alone(at("shared")));
    assert_int_equal(errno, EPERM);
    errno = 0;
    assert_false(owned_folder_alone(at("link_to_alone")));
    assert_int_equal(errno, EPERM);
    assert_false(owned_folder_alone(at("nothing")));
    assert_int_equal(errno, ENOENT);
}

static void links_are_followed_step_by_step(void **state) {
    (void)state;
    make("real", 0700);
    make("real/below", 0700);
    make("loose", 0777);
    assert_int_equal(symlink("real", at("link")), 0);
    assert_int_equal(symlink("../loose", at("real/away")), 0);
    char there[128];
    snprintf(there, sizeof there, "%s/real", base);
    assert_int_equal(symlink(there, at("absolute")), 0);
    assert_int_equal(symlink(there, at("loose/back")), 0);
    assert_int_equal(symlink("round", at("round")), 0);
    assert_int_equal(check("link"), ST_OK);
    assert_int_equal(check("link/below"), ST_OK);
    assert_int_equal(check("absolute/below"), ST_OK);
    assert_int_equal(check("link/away"), ST_ERR);
    assert_int_equal(check("loose/back"),
                     ST_ERR); /* the link is in a folder where others may exchange it */
    assert_int_equal(check("round"), ST_ERR);
}

static void a_relative_path_is_refused(void **state) {
    (void)state;
    assert_int_equal(owned_folder_check("lib", NULL), ST_ERR);
    assert_int_equal(owned_folder_check("", NULL), ST_ERR);
}

static void another_users_folders_and_links_do_not_count(void **state) {
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root can give files away */
    }
    make("theirs", 0755);
    make("theirs/mine", 0700);
    make("mine", 0700);
    make("public", 01777);
    assert_int_equal(chown(at("theirs"), 65534, 65534), 0);
    char mine[128];
    snprintf(mine, sizeof mine, "%s/mine", base);
    assert_int_equal(symlink(mine, at("public/trap")), 0);
    assert_int_equal(check("public/trap"), ST_OK);
    assert_int_equal(lchown(at("public/trap"), 65534, 65534), 0);
    assert_int_equal(check("public/trap"), ST_ERR);
    assert_int_equal(check("theirs"), ST_ERR);
    assert_int_equal(check("theirs/mine"), ST_ERR);
    assert_int_equal(check("theirs/none"), ST_ERR);
}

static void check_way(void *ctx, bool refused) {
    struct err e = {0};
    enum st st = owned_folder_check(ctx, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
}

static void without_memory_nothing_counts(void **state) {
    (void)state;
    char way[256];
    if (!failmalloc_works()) {
        skip();
    }
    make("deep", 0700);
    assert_int_equal(symlink("deep", at("way")), 0);
    snprintf(way, sizeof way, "%s", at("way"));
    assert_in_range(failmalloc_sweep(check_way, way), 3, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_counts_that_others_may_only_read),
        cmocka_unit_test(what_is_not_there_is_no_danger),
        cmocka_unit_test(a_folder_that_others_may_write_to_does_not_count_nor_does_what_is_below),
        cmocka_unit_test(a_folder_is_looked_at_alone),
        cmocka_unit_test(links_are_followed_step_by_step),
        cmocka_unit_test(a_relative_path_is_refused),
        cmocka_unit_test(another_users_folders_and_links_do_not_count),
        cmocka_unit_test(without_memory_nothing_counts),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
