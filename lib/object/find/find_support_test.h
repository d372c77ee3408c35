/* Helpers for the tests of finding debug files: a folder of the test's own, and a finder. */
#ifndef STALLKIT_OBJECT_FIND_SUPPORT_TEST_H
#define STALLKIT_OBJECT_FIND_SUPPORT_TEST_H

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

#include "base/filemap.h"
#include "object/find/find.h"
#include "object/object.h"
#include "object/object_build_test.h"

enum { PATH_SIZE = 1024 };
static const char FIXTURES[] = "testdata/objects";

/* ---- a folder of the test, and its files ---- */

struct scratch {
    char root[PATH_SIZE];
};

/* Prints into a path; one of PATH_SIZE bytes or more fails the test. */
static inline char *path_of(char out[PATH_SIZE], const char *fmt, ...) BASE_PRINTF(2, 3);
static inline char *path_of(char out[PATH_SIZE], const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(out, PATH_SIZE, fmt, ap);
    va_end(ap);
    assert_in_range(len, 1, PATH_SIZE - 1);
    return out;
}

static inline char *in(const struct scratch *t, const char *name, char out[PATH_SIZE]) {
    return path_of(out, "%s/%s", t->root, name);
}

static inline int scratch_open(void **state) {
    struct scratch *t = calloc(1, sizeof *t);
    const char *tmp = getenv("TMPDIR");
    path_of(t->root, "%s/find-test-XXXXXX", tmp ? tmp : "/tmp");
    *state = t;
    return mkdtemp(t->root) ? 0 : -1;
}

static inline int scratch_close(void **state) {
    struct scratch *t = *state;
    char command[PATH_SIZE];
    path_of(command, "chmod -R u+rwx '%s' && rm -r '%s'", t->root, t->root);
    int status = system(command);
    free(t);
    return status;
}

/* Makes the folders above path. */
static inline void make_folders(const char *path) {
    char part[PATH_SIZE];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        memcpy(part, path, (size_t)(slash - path));
        part[slash - path] = '\0';
        (void)mkdir(part, 0755);
    }
}

static inline void write_file(const struct scratch *t, const char *name, const void *bytes,
                              size_t len) {
    char path[PATH_SIZE];
    make_folders(in(t, name, path));
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static inline void copy_file(const struct scratch *t, const char *from, const char *name) {
    struct filemap m = {0};
    char path[PATH_SIZE];
    path_of(path, "%s/%s", FIXTURES, from);
    assert_int_equal(filemap_open(&m, path, 0, NULL), ST_OK);
    write_file(t, name, m.data, m.size);
    filemap_release(&m);
}

/* Writes a tiny Mach-O file whose UUID is 16 times this letter, with or without DWARF and symbols.
 */
static inline void write_macho(const struct scratch *t, const char *name, char letter, bool dwarf,
                               bool symbols) {
    static struct build b;
    struct macho_build m = usual_macho();
    memset(m.uuid, letter, sizeof m.uuid);
    m.section_count = dwarf ? 4 : 2;
    m.symbol_count = symbols ? 2 : 0;
    build_macho(&b, &m);
    write_file(t, name, b.data, b.len);
}

static inline struct image_id id_of_letter(char letter) {
    struct image_id id = {.kind = IMAGE_ID_UUID, .len = 16};
    memset(id.bytes, letter, 16);
    return id;
}

static inline struct image_id id_of_file(const char *fixture) {
    char path[PATH_SIZE];
    struct object *o = NULL;
    path_of(path, "%s/%s", FIXTURES, fixture);
    assert_int_equal(object_open(&o, path, NULL), ST_OK);
    struct image_id id = *object_slice_id(object_slice(o, 0));
    object_close(o);
    return id;
}

/* ---- a finder and its complaints ---- */

struct complaints {
    size_t count;
    enum err_code code; /* code of the last complaint */
    char path[PATH_SIZE];
};

static inline void note_complaint(void *ctx, const char *path, const struct err *why) {
    struct complaints *c = ctx;
    c->count++;
    c->code = why->code;
    snprintf(c->path, sizeof c->path, "%s", path);
}

static inline struct finder *new_finder(void) {
    struct finder *f = NULL;
    assert_int_equal(finder_new(&f, NULL), ST_OK);
    return f;
}

static inline void add_quietly(struct finder *f, const char *path) {
    struct complaints c = {0};
    struct err e = {0};
    enum st st = finder_add(f, path, note_complaint, &c, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(st, ST_OK);
    assert_int_equal(c.count, 0);
}

static inline const struct find_candidate *found(struct finder *f, const struct image_id *id) {
    const struct find_candidate *c = NULL;
    assert_int_equal(finder_find(f, id, &c, NULL), ST_OK);
    return c;
}

static inline void assert_not_found(struct finder *f, const struct image_id *id) {
    const struct find_candidate *c = NULL;
    assert_int_equal(finder_find(f, id, &c, NULL), ST_NONE);
    assert_null(c);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

#endif
