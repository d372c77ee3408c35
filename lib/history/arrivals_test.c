/* Tests that files that arrive in a folder are returned once, in order, and moved to the right
 * subfolder. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failmalloc.h"
#include "base/filemap.h"
#include "history/arrivals.h"

static char folder[64];

static void put(const char *name, const char *text) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *get(const char *name) {
    static char text[160];
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    if (!f) {
        return NULL;
    }
    size_t len = fread(text, 1, sizeof text - 1, f);
    text[len] = '\0';
    fclose(f);
    return text;
}

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/arrivals_test.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    static const char *const folders[] = {"done", "refused", "taking/0", "taking/1", "taking", "."};
    for (size_t i = 0; i < 6; i++) {
        char path[100], file[400];
        snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
        DIR *dir = opendir(path);
        for (const struct dirent *entry; dir && (entry = readdir(dir));) {
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
            unlink(file);
        }
        if (dir) {
            closedir(dir);
        }
        rmdir(path);
    }
    return rmdir(folder);
}

static void assert_next(struct arrivals *a, const char *name) {
    const char *path = NULL;
    assert_int_equal(arrivals_next(a, &path, NULL), name ? ST_OK : ST_NONE);
    if (name) {
        assert_string_equal(strrchr(path, '/') + 1, name);
        assert_memory_equal(path + strlen(folder), "/taking/", 8);
    }
}

static void files_come_in_order_and_go_where_they_belong(void **state) {
    (void)state;
    struct arrivals *a = NULL;
    assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
    put("b.jsonl", "two");
    put("a.jsonl", "one");
    put(".c.jsonl", "not yet");
    assert_next(a, "a.jsonl");
    assert_int_equal(arrivals_settle(a, NULL, NULL), ST_OK);
    assert_next(a, "b.jsonl");
    assert_int_equal(arrivals_settle(a, "no dump", NULL), ST_OK);
    assert_next(a, NULL);
    assert_string_equal(get("done/a.jsonl"), "one");
    assert_string_equal(get("refused/b.jsonl"), "two");
    assert_string_equal(get("refused/b.jsonl.reason"), "no dump\n");
    assert_null(get("a.jsonl"));
    assert_string_equal(get(".c.jsonl"), "not yet");
    assert_next(a, NULL);
    arrivals_close(a);
}

static void a_name_that_comes_again_gets_a_number(void **state) {
    (void)state;
    struct arrivals *a = NULL;
    assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
    for (int i = 0; i < 3; i++) {
        const char *const texts[] = {"first", "second", "third"};
        put("a", texts[i]);
        assert_next(a, "a");
        assert_int_equal(arrivals_settle(a, i == 2 ? "why" : NULL, NULL), ST_OK);
        assert_next(a, NULL);
    }
    assert_string_equal(get("done/a"), "first");
    assert_string_equal(get("done/a.1"), "second");
    assert_string_equal(get("refused/a"), "third");
    arrivals_close(a);
}

static void what_is_taken_away_meanwhile_is_no_error(void **state) {
    (void)state;
    struct arrivals *a = NULL;
    char path[100];
    assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
    put("a", "x");
    put("b", "y");
    put("c", "z");
    assert_next(a, "a");
    snprintf(path, sizeof path, "%s/taking/0/a", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(arrivals_settle(a, "why", NULL), ST_OK);
    assert_null(get("refused/a.reason"));
    snprintf(path, sizeof path, "%s/b", folder);
    assert_int_equal(unlink(path), 0);
    assert_next(a, "c");
    assert_int_equal(arrivals_settle(a, NULL, NULL), ST_OK);
    arrivals_close(a);
}

static void a_file_that_gets_the_name_of_one_that_is_read_is_another(void **state) {
    (void)state;
    struct arrivals *a = NULL;
    assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
    put("a", "first");
    assert_next(a, "a");
    put("a", "second"); /* a server renames the second file over the first one's name */
    assert_int_equal(arrivals_settle(a, NULL, NULL), ST_OK);
    assert_next(a, NULL);
    assert_next(a, "a");
    assert_int_equal(arrivals_settle(a, NULL, NULL), ST_OK);
    assert_string_equal(get("done/a"), "first");
    assert_string_equal(get("done/a.1"), "second");
    arrivals_close(a);
}

static void what_a_killed_watcher_had_is_handed_out_again(void **state) {
    (void)state;
    struct arrivals *killed = NULL, *a = NULL;
    assert_int_equal(arrivals_open(&killed, folder, NULL), ST_OK);
    put("a", "x");
    assert_next(killed, "a");
    assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
    assert_next(a, NULL);   /* the other watcher holds its locks still */
    arrivals_close(killed); /* closing releases the locks, as a kill does */
    assert_next(a, "a");
    assert_int_equal(arrivals_settle(a, NULL, NULL), ST_OK);
    assert_string_equal(get("done/a"), "x");
    arrivals_close(a);
}

static void a_file_that_must_wait_comes_first_afterwards(void **state) {
    (void)state;
    struct arrivals *a = NULL;
    assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
    put("b", "x");
    put("c", "z");
    assert_next(a, "b");
    put("a", "y");
    arrivals_leave(a);
    assert_next(a, "b");
    assert_int_equal(arrivals_settle(a, NULL, NULL), ST_OK);
    assert_next(a, "a");
    assert_int_equal(arrivals_settle(a, NULL, NULL), ST_OK);
    assert_next(a, "c");
    assert_int_equal(arrivals_settle(a, NULL, NULL), ST_OK);
    assert_next(a, NULL);
    arrivals_close(a);
}

static void a_reason_that_cannot_be_written_leaves_the_file_to_be_taken_again(void **state) {
    (void)state;
    struct arrivals *a = NULL;
    char path[100], moved[100];
    snprintf(path, sizeof path, "%s/refused", folder);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
    put("a", "x");
    assert_next(a, "a");
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(arrivals_settle(a, "why", NULL), ST_ERR);
    assert_string_equal(get("taking/0/a"), "x");
    assert_int_equal(rename(moved, path), 0);
    arrivals_leave(a);
    assert_next(a, "a");
    assert_int_equal(arrivals_settle(a, "why", NULL), ST_OK);
    assert_string_equal(get("refused/a.reason"), "why\n");
    arrivals_close(a);
}

static void no_reason_is_written_over_a_refused_file(void **state) {
    (void)state;
    struct arrivals *a = NULL;
    assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
    put("a.reason", "a batch of this name");
    assert_next(a, "a.reason");
    assert_int_equal(arrivals_settle(a, "first", NULL), ST_OK);
    assert_next(a, NULL);
    put("a", "x");
    assert_next(a, "a");
    assert_int_equal(arrivals_settle(a, "second", NULL), ST_OK);
    assert_string_equal(get("refused/a.reason"), "a batch of this name");
    assert_string_equal(get("refused/a.reason.reason"), "first\n");
    assert_string_equal(get("refused/a.1"), "x");
    assert_string_equal(get("refused/a.1.reason"), "second\n");
    arrivals_close(a);
}

static void a_name_as_long_as_can_be_is_cut(void **state) {
    (void)state;
    struct arrivals *a = NULL;
    char name[256], path[512], text[8] = "";
    memset(name, 'z', 255);
    memcpy(name + 240, "\xc3\xa9", 2); /* the name would have to be cut inside this character */
    name[255] = '\0';
    assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        FILE *f = fopen(path, "w");
        if (!f) {
            arrivals_close(a);
            skip(); /* the file system does not allow names this long */
        }
        fclose(f);
        assert_next(a, name);
        assert_int_equal(arrivals_settle(a, "why", NULL), ST_OK);
        assert_next(a, NULL);
        name[240] = '\0';
        snprintf(path, sizeof path, "%s/refused/%s%s.reason", folder, name, i ? ".1" : "");
        name[240] = '\xc3';
        f = fopen(path, "r");
        assert_non_null(f);
        assert_int_equal(fread(text, 1, sizeof text, f), 4);
        assert_memory_equal(text, "why\n", 4);
        fclose(f);
    }
    arrivals_close(a);
}

static void links_and_folders_are_left_alone(void **state) {
    (void)state;
    struct arrivals *a = NULL;
    char path[100];
    snprintf(path, sizeof path, "%s/link", folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
    assert_next(a, NULL);
    arrivals_close(a);
}

static void a_folder_that_is_not_there_is_refused(void **state) {
    (void)state;
    struct arrivals *a = NULL;
    struct err e = {0};
    assert_int_equal(arrivals_open(&a, "/nonexistent/in", &e), ST_ERR);
    assert_int_equal(e.code, ERR_IO);
}

static void a_subfolder_that_takes_no_files_is_told(void **state) {
    static const char *const names[] = {"done", "refused", "taking"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct arrivals *a = NULL;
        struct err e = {0};
        char path[100], said[160];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        snprintf(said, sizeof said, "cannot move files to '%s'", path);
        rmdir(path);
        assert_int_equal(symlink("nowhere/x", path), 0);
        assert_int_equal(arrivals_open(&a, folder, &e), ST_ERR);
        assert_non_null(strstr(e.text, said));
        unlink(path);
        put(names[i], "a file");
        err_clear(&e);
        assert_int_equal(arrivals_open(&a, folder, &e), ST_ERR);
        assert_non_null(strstr(e.text, "it is a file, not a folder"));
        unlink(path);
        if (filemap_is_stored("/proc")) {
            continue;
        }
        assert_int_equal(symlink("/proc/self", path),
                         0); /* a link to a folder on another file system */
        assert_int_equal(arrivals_open(&a, folder, &e), ST_ERR);
        assert_non_null(strstr(e.text, said));
        unlink(path);
    }
}

static void a_subfolder_that_goes_meanwhile_is_told(void **state) {
    static const char *const names[] = {"done", "refused", "taking"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct arrivals *a = NULL;
        struct err e = {0};
        const char *arrived;
        char path[100];
        assert_int_equal(arrivals_open(&a, folder, NULL), ST_OK);
        put("a", "x");
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(symlink("nowhere/x", path), 0);
        enum st st = arrivals_next(a, &arrived, &e);
        if (i < 2) {
            assert_int_equal(st, ST_OK);
            st = arrivals_settle(a, i ? "why" : NULL, &e);
        }
        assert_int_equal(st, ST_ERR);
        assert_non_null(strstr(e.text, path));
        arrivals_close(a);
        unlink(path);
        snprintf(path, sizeof path, "%s/taking/0/a", folder);
        assert_int_equal(i < 2 ? unlink(path) : 0, 0); /* the file is still there */
        snprintf(path, sizeof path, "%s/taking/0", folder);
        rmdir(path);
    }
}

/* Removes the empty folders in "taking", and returns how many there were. */
static unsigned remove_empty_slots(void) {
    unsigned count = 0;
    for (unsigned n = 0; n < 4; n++) {
        char path[100];
        snprintf(path, sizeof path, "%s/taking/%u", folder, n);
        count += rmdir(path) == 0;
    }
    return count;
}

static void take_one(void *ctx, bool refused) {
    (void)ctx;
    struct arrivals *a = NULL;
    const char *path;
    put("a", "x");
    enum st st = arrivals_open(&a, folder, NULL);
    st = st == ST_OK ? arrivals_next(a, &path, NULL) : st;
    st = st == ST_OK ? arrivals_settle(a, "why", NULL) : st;
    arrivals_close(a);
    assert_true(refused || st == ST_OK);
    assert_int_equal(remove_empty_slots(), 0);
}

static void memory_that_runs_out_is_an_error(void **state) {
    (void)state;
    assert_true(!failmalloc_works() || failmalloc_sweep(take_one, NULL) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_come_in_order_and_go_where_they_belong, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_name_that_comes_again_gets_a_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_taken_away_meanwhile_is_no_error, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_gets_the_name_of_one_that_is_read_is_another,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_killed_watcher_had_is_handed_out_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_must_wait_comes_first_afterwards, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_reason_that_cannot_be_written_leaves_the_file_to_be_taken_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_reason_is_written_over_a_refused_file, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_name_as_long_as_can_be_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_and_folders_are_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_is_not_there_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_subfolder_that_takes_no_files_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_subfolder_that_goes_meanwhile_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_is_an_error, set_up, tear_down)};
    return cmocka_run_group_tests_name("arrivals", tests, NULL, NULL);
}
