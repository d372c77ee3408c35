#include "base/filemap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failmalloc.h"
#include "base/strbuf.h"

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/filemap_test.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

/* Returns the path of a file in the test's folder; the caller frees it. */
static char *path_of(const char *name) {
    struct strbuf b = {0};
    strbuf_addf(&b, "%s/%s", folder, name);
    return strbuf_take(&b);
}

static char *write_file(const char *name, const char *bytes, size_t len) {
    char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    return path;
}

static void a_regular_file_is_mapped(void **state) {
    (void)state;
    char *path = write_file("some", "bytes\0here", 10);
    struct filemap m = {0};
    assert_int_equal(filemap_open(&m, path, 0, NULL), ST_OK);
    assert_true(m.mapped);
    assert_int_equal(m.size, 10);
    assert_memory_equal(m.data, "bytes\0here", 10);
    filemap_forget(&m);
    assert_memory_equal(m.data, "bytes\0here", 10);
    filemap_release(&m);
    assert_null(m.data);
    filemap_release(&m);
    filemap_forget(&m);
    unlink(path);
    free(path);
}

static void an_empty_file_has_data(void **state) {
    (void)state;
    char *path = write_file("empty", "", 0);
    struct filemap m = {0};
    assert_int_equal(filemap_open(&m, path, 0, NULL), ST_OK);
    assert_non_null(m.data);
    assert_int_equal(m.size, 0);
    filemap_release(&m);
    unlink(path);
    free(path);
}

static void no_such_file_is_not_an_error(void **state) {
    (void)state;
    struct filemap m = {0};
    struct err e = {0};
    char *path = path_of("none");
    assert_int_equal(filemap_open(&m, path, 0, &e), ST_NONE);
    free(path);
    char *file = write_file("file", "x", 1);
    path = path_of("file/below");
    assert_int_equal(filemap_open(&m, path, 0, &e), ST_NONE);
    assert_false(err_is(&e));
    unlink(file);
    free(file);
    free(path);
}

static void a_folder_is_an_error(void **state) {
    (void)state;
    struct filemap m = {0};
    struct err e = {0};
    assert_int_equal(filemap_open(&m, folder, 0, &e), ST_ERR);
    assert_int_equal(e.code, ERR_IO);
    assert_non_null(strstr(e.text, "is a folder"));
    assert_null(m.data);
}

static void an_unreadable_file_is_an_error(void **state) {
    (void)state;
    char *path = write_file("secret", "x", 1);
    chmod(path, 0);
    struct filemap m = {0};
    struct err e = {0};
    bool root = geteuid() == 0; /* root may read every file */
    if (root) {
        assert_int_equal(seteuid(65534), 0);
    }
    enum st st = filemap_open(&m, path, 0, &e);
    if (root) {
        assert_int_equal(seteuid(0), 0);
    }
    assert_int_equal(st, ST_ERR);
    assert_non_null(strstr(e.text, "Permission denied"));
    unlink(path);
    free(path);
}

static void the_largest_size_is_exact(void **state) {
    (void)state;
    char *path = write_file("ten", "0123456789", 10);
    struct filemap m = {0};
    struct err e = {0};
    assert_int_equal(filemap_open(&m, path, 10, NULL), ST_OK);
    filemap_release(&m);
    assert_int_equal(filemap_open(&m, path, 9, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    unlink(path);
    free(path);
}

static void a_file_of_proc_is_read(void **state) {
    (void)state;
    struct filemap m = {0};
    if (filemap_open(&m, "/proc/self/status", 0, NULL) == ST_NONE) {
        skip();
    }
    assert_false(m.mapped);
    assert_true(m.size > 5);
    assert_memory_equal(m.data, "Name:", 5);
    filemap_release(&m);
}

static void what_the_kernel_makes_up_is_not_stored(void **state) {
    (void)state;
    assert_true(filemap_is_stored("testdata"));
    assert_true(
        filemap_is_stored("testdata/nowhere")); /* a path that does not exist counts as stored */
    if (access("/proc/self/status", R_OK) != 0) {
        skip();
    }
    assert_false(filemap_is_stored("/proc"));
    assert_false(filemap_is_stored("/proc/self"));
}

/* Makes a pipe with len bytes in it and its writing end closed; path becomes its path in /dev/fd.
 * Returns the reading end. */
static int full_pipe(size_t len, char path[32]) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(write(ends[1], "p", 1), 1);
    }
    close(ends[1]);
    snprintf(path, 32, "/dev/fd/%d", ends[0]);
    return ends[0];
}

static void a_pipe_is_read_to_its_end(void **state) {
    (void)state;
    char path[32];
    struct filemap m = {0};
    struct err e = {0};
    int fd = full_pipe(1000, path);
    assert_int_equal(filemap_open(&m, path, 1000, &e), ST_OK);
    close(fd);
    assert_int_equal(m.size, 1000);
    assert_false(m.mapped);
    assert_int_equal(m.data[999], 'p');
    filemap_release(&m);
    fd = full_pipe(1001, path);
    assert_int_equal(filemap_open(&m, path, 1000, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    close(fd);
}

static void endless_devices_hit_the_limit(void **state) {
    (void)state;
    struct filemap m = {0};
    struct err e = {0};
    assert_int_equal(filemap_open(&m, "/dev/zero", 1 << 20, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
}

static void read_pipe(void *ctx, bool refused) {
    (void)ctx;
    char path[32];
    int fd = full_pipe(300, path);
    struct filemap m = {0};
    struct err e = {0};
    enum st st = filemap_open(&m, path, 0, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    filemap_release(&m);
    close(fd);
}

static void only_a_regular_file_is_opened_as_one(void **state) {
    (void)state;
    char *path = write_file("ten", "0123456789", 10), *fifo = path_of("fifo");
    struct filemap m = {0};
    struct err e = {0};
    assert_int_equal(filemap_open_regular(&m, path, 10, NULL), ST_OK);
    filemap_release(&m);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(filemap_open_regular(&m, fifo, 0, &e), ST_ERR);
    assert_non_null(strstr(e.text, "no regular file"));
    assert_int_equal(filemap_open_regular(&m, "/dev/zero", 0, &e), ST_ERR);
    unlink(fifo);
    assert_int_equal(filemap_open_regular(&m, fifo, 0, &e), ST_NONE);
    unlink(path);
    free(path);
    free(fifo);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_int_equal(failmalloc_sweep(read_pipe, NULL), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_regular_file_is_mapped),
        cmocka_unit_test(an_empty_file_has_data),
        cmocka_unit_test(no_such_file_is_not_an_error),
        cmocka_unit_test(a_folder_is_an_error),
        cmocka_unit_test(an_unreadable_file_is_an_error),
        cmocka_unit_test(the_largest_size_is_exact),
        cmocka_unit_test(a_file_of_proc_is_read),
        cmocka_unit_test(what_the_kernel_makes_up_is_not_stored),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(endless_devices_hit_the_limit),
        cmocka_unit_test(only_a_regular_file_is_opened_as_one),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("filemap", tests, make_folder, remove_folder);
}
