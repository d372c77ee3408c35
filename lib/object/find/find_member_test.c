/* Tests of members of static archives that are named as `lib.a(x.o)`. */
#include "base/failmalloc.h"
#include "object/find/find_support_test.h"
#include "object/object_build_test.h"

enum { ARCHIVE_MAX = 2 * BUILD_SIZE };

struct archive_file {
    char bytes[ARCHIVE_MAX];
    size_t len;
};

static void add_member(struct archive_file *a, const char *name, const void *bytes, size_t len) {
    if (a->len == 0) {
        memcpy(a->bytes, "!<arch>\n", 8);
        a->len = 8;
    }
    a->len += (size_t)snprintf(a->bytes + a->len, sizeof a->bytes - a->len,
                               "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", name, "0", "0", "0", "644", len);
    assert_true(a->len + len + 1 <= sizeof a->bytes);
    memcpy(a->bytes + a->len, bytes, len);
    a->len += len;
    if (len % 2) {
        a->bytes[a->len++] = '\n';
    }
}

static void put_object(struct archive_file *a, const char *name) {
    static struct build b;
    struct macho_build m = usual_macho();
    m.file_type = 1;
    build_macho(&b, &m);
    add_member(a, name, b.data, b.len);
}

static void assert_refused_path(const struct scratch *t, const char *name, const char *part) {
    char path[PATH_SIZE];
    struct object *o = NULL;
    struct err e = {0};
    assert_int_equal(find_single(in(t, name, path), NULL, NULL, NULL, &o, &e), ST_ERR);
    assert_non_null(strstr(e.text, part));
}

static void assert_opened(const struct scratch *t, const char *name, const char *member) {
    char path[PATH_SIZE], expected[PATH_SIZE];
    struct object *o = NULL;
    struct err e = {0};
    enum st st = find_single(in(t, name, path), NULL, NULL, NULL, &o, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(st, ST_OK);
    assert_string_equal(object_path(o), in(t, member, expected));
    assert_int_equal(object_slice_count(o), 1);
    object_close(o);
}

static void a_member_is_opened_by_its_name(void **state) {
    static struct archive_file a;
    a.len = 0;
    add_member(&a, "notes", "text", 4);
    put_object(&a, "x.o");
    put_object(&a, "y.o");
    put_object(&a, "y.o");
    write_file(*state, "lib.a", a.bytes, a.len);
    assert_opened(*state, "lib.a(x.o)", "lib.a(x.o)");
    assert_refused_path(*state, "lib.a(y.o)", "2 members");
    assert_refused_path(*state, "lib.a(z.o)", "no such member");
    assert_refused_path(*state, "lib.a(notes)", "is no object file");
    assert_refused_path(*state, "lib.a", "3 object files");
}

static void the_only_object_file_needs_no_name(void **state) {
    static struct archive_file a;
    a.len = 0;
    add_member(&a, "lib.rmeta", "text", 4);
    write_file(*state, "lib.rlib", a.bytes, a.len);
    assert_refused_path(*state, "lib.rlib", "no object file");
    put_object(&a, "x.o");
    write_file(*state, "lib.rlib", a.bytes, a.len);
    assert_opened(*state, "lib.rlib", "lib.rlib(x.o)");
}

static void open_member(void *path, bool refused) {
    struct object *o = NULL;
    struct err e = {0};
    enum st st = find_single(path, NULL, NULL, NULL, &o, &e);
    assert_true(st == ST_OK || (refused && st == ST_ERR && e.code == ERR_NOMEM));
    object_close(o);
}

static void lack_of_memory_for_a_member_is_told(void **state) {
    (void)state;
    char path[] = "testdata/objects/elf-unlinked/libshop.a(32-image.c.o)";
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(open_member, path) > 3);
}

static void a_file_that_is_there_comes_before_a_member(void **state) {
    static struct archive_file a;
    static struct build b;
    struct macho_build m = usual_macho();
    a.len = 0;
    put_object(&a, "x.o");
    build_macho(&b, &m);
    write_file(*state, "lib.a", a.bytes, a.len);
    write_file(*state, "lib.a(x.o)", b.data, b.len);
    assert_opened(*state, "lib.a(x.o)", "lib.a(x.o)");
    write_file(*state, "lib.a", a.bytes, a.len - 8);
    assert_refused_path(*state, "lib.a", "header of an archive's member");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_member_is_opened_by_its_name, scratch_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(the_only_object_file_needs_no_name, scratch_open,
                                        scratch_close),
        cmocka_unit_test(lack_of_memory_for_a_member_is_told),
        cmocka_unit_test_setup_teardown(a_file_that_is_there_comes_before_a_member, scratch_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests_name("find_member", tests, NULL, NULL);
}
