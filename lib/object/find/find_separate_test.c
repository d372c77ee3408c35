/* Tests of finding debug files that stand apart: build-id roots, debuglinks, dSYM bundles. */
#include "object/find/find_support_test.h"

#include <zlib.h>

static const char stripped[] = "elf-dwarf5/split/libshop.so";
static const char separate[] = "elf-dwarf5/split/libshop.so.debug";

/* Writes and returns the path at which a build-id folder keeps the debug file of this id. */
static char *build_id_place(const struct image_id *id, char out[PATH_SIZE]) {
    char hex[IMAGE_ID_TEXT];
    image_id_text(id, hex);
    path_of(out, "root/.build-id/%.2s/%s.debug", hex, hex + 2);
    return out;
}

static void a_build_id_root_is_asked_when_no_file_with_dwarf_is_known(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE], place[PATH_SIZE];
    struct image_id id = id_of_file(stripped), other = id_of_file("elf-dwarf2/libshop.so");
    copy_file(t, separate, build_id_place(&id, place));
    struct finder *f = new_finder();
    assert_int_equal(finder_add_build_id_root(f, in(t, "nowhere", path), NULL), ST_OK);
    assert_int_equal(finder_add_build_id_root(f, in(t, "root", path), NULL), ST_OK);
    add_quietly(f, "testdata/objects/elf-dwarf5/split/libshop.so");
    assert_int_equal(finder_count(f), 1);
    assert_true(found(f, &id)->dwarf);
    assert_string_equal(found(f, &id)->path, in(t, place, path));
    assert_int_equal(finder_count(f), 2);
    assert_not_found(f, &other);
    finder_free(f);
}

static void a_file_of_another_id_under_a_root_is_not_used(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE], place[PATH_SIZE];
    struct image_id id = id_of_file(stripped), other = id_of_file("elf-dwarf2/libshop.so");
    copy_file(t, "elf-dwarf2/libshop.so", build_id_place(&id, place));
    write_file(t, build_id_place(&other, place), "\177ELF", 4);
    struct finder *f = new_finder();
    assert_int_equal(finder_add_build_id_root(f, in(t, "root", path), NULL), ST_OK);
    assert_not_found(f, &id);
    assert_not_found(f, &other);
    finder_free(f);
}

static enum st separate_of(const char *file, const char *const *roots, size_t count, char **path) {
    struct object *o = NULL;
    struct err e = {0};
    *path = NULL;
    assert_int_equal(object_open(&o, file, NULL), ST_OK);
    enum st st = find_separate_debug(object_slice(o, 0), file, roots, count, path, &e);
    assert_string_equal(e.text, "");
    object_close(o);
    return st;
}

static void a_debug_file_is_found_by_build_id_under_the_roots(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE], place[PATH_SIZE], file[PATH_SIZE], *got;
    struct image_id id = id_of_file(stripped);
    copy_file(t, stripped, "app/libshop.so");
    copy_file(t, separate, build_id_place(&id, place));
    const char *roots[] = {"/nowhere", in(t, "root", path)};
    assert_int_equal(separate_of(in(t, "app/libshop.so", file), roots, 2, &got), ST_OK);
    char wanted[PATH_SIZE];
    assert_string_equal(got, in(t, place, wanted));
    free(got);
}

static void a_debug_file_is_found_by_its_link_in_three_places(void **state) {
    const struct scratch *t = *state;
    char file[PATH_SIZE], root[PATH_SIZE], name[PATH_SIZE], wanted[PATH_SIZE];
    char *got, *real = realpath(t->root, NULL);
    copy_file(t, stripped, "app/libshop.so");
    in(t, "app/libshop.so", file);
    const char *roots[] = {in(t, "debug", root)};
    assert_non_null(real);
    assert_int_equal(separate_of(file, roots, 1, &got), ST_NONE);
    path_of(name, "debug%s/app/libshop.so.debug", real);
    free(real);
    const char *places[] = {name, "app/.debug/libshop.so.debug", "app/libshop.so.debug"};
    for (size_t i = 0; i < 3; i++) { /* each place wins over those in front of it in the list */
        copy_file(t, separate, places[i]);
        assert_int_equal(separate_of(file, roots, 1, &got), ST_OK);
        assert_string_equal(got, in(t, places[i], wanted));
        free(got);
    }
}

static void a_debug_file_of_another_checksum_is_not_used(void **state) {
    const struct scratch *t = *state;
    char file[PATH_SIZE], *got;
    copy_file(t, stripped, "app/libshop.so");
    copy_file(t, "elf-dwarf5/libshop.so", "app/libshop.so.debug");
    assert_int_equal(separate_of(in(t, "app/libshop.so", file), NULL, 0, &got), ST_NONE);
}

/* Writes a stripped file whose debug link says `name`, with the checksum of `target`. */
static void write_linked(const struct scratch *t, const char *file, const char *name,
                         const void *target, size_t target_len) {
    static struct build link, b;
    link.len = 0;
    put_bytes(&link, name, strlen(name) + 1);
    align_to(&link, 4);
    put(&link, crc32_z(0, target, target_len), 4);
    const struct elf_build_section section = {
        .name = ".gnu_debuglink", .type = 1, .bytes = link.data, .len = link.len};
    struct elf_build f = {.sections = &section, .section_count = 1};
    build_elf(&b, &f);
    write_file(t, file, b.data, b.len);
}

static void a_link_that_leads_out_of_its_folder_is_not_followed(void **state) {
    const struct scratch *t = *state;
    char file[PATH_SIZE], *got;
    write_file(t, "secret", "secret", 6);
    write_linked(t, "app/file", "../secret", "secret", 6);
    assert_int_equal(separate_of(in(t, "app/file", file), NULL, 0, &got), ST_NONE);
    write_linked(t, "app/file", "..", "secret", 6);
    assert_int_equal(separate_of(file, NULL, 0, &got), ST_NONE);
    write_file(t, "app/secret", "secret", 6);
    write_linked(t, "app/file", "secret", "secret", 6);
    assert_int_equal(separate_of(file, NULL, 0, &got), ST_OK);
    free(got);
    assert_int_equal(separate_of("testdata/hostile/elf/debuglink-path", NULL, 0, &got), ST_NONE);
    assert_int_equal(separate_of("testdata/hostile/elf/debuglink-self", NULL, 0, &got), ST_NONE);
}

static void a_file_without_link_or_id_has_no_separate_debug_file(void **state) {
    const char *roots[] = {"/usr/lib/debug"};
    char *got;
    (void)state;
    assert_int_equal(
        separate_of("testdata/objects/elf-dwarf5/libshop.nobuildid.so", roots, 1, &got), ST_NONE);
    assert_int_equal(separate_of("testdata/objects/macho-arm64/Shop", roots, 1, &got), ST_NONE);
}

/* ---- dSYM bundles ---- */

static enum st dsym_of(const char *file, char **path) {
    struct object *o = NULL;
    struct err e = {0};
    *path = NULL;
    assert_int_equal(object_open(&o, file, NULL), ST_OK);
    enum st st = find_dsym(object_slice(o, 0), file, path, &e);
    assert_string_equal(e.text, "");
    object_close(o);
    return st;
}

#define IN_DSYM "/Contents/Resources/DWARF/Shop"

static void a_dsym_is_found_beside_its_binary_and_beside_the_bundle(void **state) {
    static const char *const places[][2] = {
        {"a/Shop", "a/Shop.dSYM"},
        {"b/Shop.app/Shop", "b/Shop.app.dSYM"},
        {"c/Shop.app/Contents/MacOS/Shop", "c/Shop.app.dSYM"},
        {"d/Kit.framework/Versions/A/Shop", "d/Kit.framework.dSYM"},
    };
    const struct scratch *t = *state;
    char file[PATH_SIZE], dsym[PATH_SIZE], wanted[PATH_SIZE], *got;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        path_of(dsym, "%s" IN_DSYM, places[i][1]);
        copy_file(t, "macho-arm64/Shop", places[i][0]);
        assert_int_equal(dsym_of(in(t, places[i][0], file), &got), ST_NONE);
        copy_file(t, "macho-arm64/Shop.dSYM" IN_DSYM, dsym);
        assert_int_equal(dsym_of(file, &got), ST_OK);
        assert_string_equal(got, in(t, dsym, wanted));
        free(got);
    }
}

static void a_dsym_of_another_id_or_place_is_not_used(void **state) {
    const struct scratch *t = *state;
    char file[PATH_SIZE], *got;
    copy_file(t, "macho-arm64/Shop", "Shop.app/Shop");
    copy_file(t, "macho-map/Shop.dSYM" IN_DSYM, "Shop.app.dSYM" IN_DSYM);
    copy_file(t, "macho-arm64/Shop.dSYM" IN_DSYM, ".dSYM" IN_DSYM);
    copy_file(t, "macho-arm64/Shop.dSYM" IN_DSYM, "Shop.dSYM" IN_DSYM);
    assert_int_equal(dsym_of(in(t, "Shop.app/Shop", file), &got), ST_NONE);
    write_file(t, "Shop.app.dSYM" IN_DSYM, "\xcf\xfa\xed\xfe", 4);
    assert_int_equal(dsym_of(file, &got), ST_NONE);
    assert_int_equal(dsym_of("testdata/objects/elf-dwarf5/libshop.so", &got), ST_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(a_build_id_root_is_asked_when_no_file_with_dwarf_is_known),
        IN_SCRATCH(a_file_of_another_id_under_a_root_is_not_used),
        IN_SCRATCH(a_debug_file_is_found_by_build_id_under_the_roots),
        IN_SCRATCH(a_debug_file_is_found_by_its_link_in_three_places),
        IN_SCRATCH(a_debug_file_of_another_checksum_is_not_used),
        IN_SCRATCH(a_link_that_leads_out_of_its_folder_is_not_followed),
        IN_SCRATCH(a_dsym_is_found_beside_its_binary_and_beside_the_bundle),
        IN_SCRATCH(a_dsym_of_another_id_or_place_is_not_used),
        cmocka_unit_test(a_file_without_link_or_id_has_no_separate_debug_file),
    };
    return cmocka_run_group_tests_name("find_separate", tests, NULL, NULL);
}
