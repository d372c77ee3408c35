/* Tests of finding the names that Apple's bitcode compiler hid. */
#include "object/find/find_support_test.h"

#define BITCODE       "macho-bitcode/dSYMs/Shop.app.dSYM/Contents/Resources/"
#define BITCODE_UUID  "4C4C44F9-5555-3144-A166-0DEB30A1EE0E"
#define ORIGINAL_UUID "0B17C0DE-0000-4000-8000-000000000016"
#define BITCODE_MAP   "macho-bitcode/BCSymbolMaps/" ORIGINAL_UUID ".bcsymbolmap"
static const char bundled[] = "dSYMs/Shop.app.dSYM/Contents/Resources/DWARF/Shop";
static const char bundled_plist[] = "dSYMs/Shop.app.dSYM/Contents/Resources/" BITCODE_UUID ".plist";

/* Does the file get its names back? f, the finder, may be NULL. */
static bool gets_names(const struct scratch *t, struct finder *f, const char *file,
                       struct complaints *c) {
    const struct object_symbol *symbols;
    char path[PATH_SIZE];
    struct object *o = NULL;
    struct complaints own = {0};
    size_t count = 0, hidden = 0;
    assert_int_equal(object_open(&o, in(t, file, path), NULL), ST_OK);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(finder_give_names(f, o, note_complaint, c ? c : &own, NULL), ST_OK);
    }
    const struct object_slice *s = object_slice(o, 0);
    assert_int_equal(object_symbols(s, &symbols, &count, NULL), ST_OK);
    for (size_t i = 0; i < count; i++) {
        hidden += strncmp(symbols[i].name, "__hidden#", 9) == 0;
    }
    assert_true(hidden == 0 ||
                hidden == count - 2); /* all symbols but main and price_total are hidden */
    assert_int_equal(object_hidden_symbols(s), hidden);
    assert_int_equal(object_bcsymbolmap(s) != NULL, hidden == 0);
    assert_int_equal(own.count, 0);
    object_close(o);
    return hidden == 0;
}

static void names_are_found_beside_the_bundle_by_the_original_uuid(void **state) {
    static const char *const places[] = {
        "BCSymbolMaps/" ORIGINAL_UUID ".bcsymbolmap",
        "dSYMs/BCSymbolMaps/" ORIGINAL_UUID ".bcsymbolmap",
        "dSYMs/" ORIGINAL_UUID ".bcsymbolmap",
        "dSYMs/0b17c0de-0000-4000-8000-000000000016.bcsymbolmap",
    };
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    copy_file(t, BITCODE "DWARF/Shop", bundled);
    copy_file(t, BITCODE BITCODE_UUID ".plist", bundled_plist);
    assert_false(gets_names(t, NULL, bundled, NULL));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        copy_file(t, BITCODE_MAP, places[i]);
        assert_true(gets_names(t, NULL, bundled, NULL));
        assert_int_equal(unlink(in(t, places[i], path)), 0);
    }
}

static void slashes_in_the_path_of_a_bundle_may_be_doubled(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    copy_file(t, BITCODE "DWARF/Shop", bundled);
    copy_file(t, BITCODE BITCODE_UUID ".plist", bundled_plist);
    copy_file(t, BITCODE_MAP, "dSYMs/" ORIGINAL_UUID ".bcsymbolmap");
    assert_true(gets_names(t, NULL, "dSYMs//Shop.app.dSYM//Contents/Resources/DWARF/Shop", NULL));
    assert_int_equal(unlink(in(t, "dSYMs/" ORIGINAL_UUID ".bcsymbolmap", path)), 0);
    copy_file(t, BITCODE_MAP, "BCSymbolMaps/" ORIGINAL_UUID ".bcsymbolmap");
    assert_true(gets_names(t, NULL, "dSYMs///Shop.app.dSYM//Contents/Resources/DWARF/Shop", NULL));
}

static void names_of_another_uuid_are_not_used(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    copy_file(t, BITCODE "DWARF/Shop", bundled);
    copy_file(t, BITCODE_MAP, "dSYMs/" ORIGINAL_UUID ".bcsymbolmap");
    struct finder *f = new_finder();
    add_quietly(f, in(t, "dSYMs", path));
    assert_false(
        gets_names(t, f, bundled, NULL)); /* the plist that says the original UUID is missing */
    copy_file(t, BITCODE_MAP, "dSYMs/" BITCODE_UUID ".bcsymbolmap");
    assert_true(gets_names(t, f, bundled, NULL));
    finder_free(f);
}

static void names_are_found_where_the_finder_was_sent(void **state) {
    const struct scratch *t = *state;
    char path[PATH_SIZE];
    copy_file(t, BITCODE "DWARF/Shop", "Shop");
    copy_file(t, BITCODE BITCODE_UUID ".plist", BITCODE_UUID ".plist");
    copy_file(t, BITCODE_MAP, "maps/deep/" ORIGINAL_UUID ".bcsymbolmap");
    struct finder *f = new_finder(), *file = new_finder();
    assert_false(gets_names(t, f, "Shop", NULL));
    add_quietly(f, in(t, "maps", path));
    assert_true(gets_names(t, f, "Shop", NULL));
    add_quietly(file, in(t, "maps/deep/" ORIGINAL_UUID ".bcsymbolmap", path));
    assert_true(gets_names(t, file, "Shop", NULL));
    finder_free(f);
    finder_free(file);
}

static void a_damaged_file_of_names_is_told_once(void **state) {
    const struct scratch *t = *state;
    struct complaints c = {0};
    char path[PATH_SIZE];
    copy_file(t, BITCODE "DWARF/Shop", "Shop");
    write_file(t, BITCODE_UUID ".bcsymbolmap", "total\n", 6);
    assert_false(gets_names(t, NULL, "Shop", &c));
    assert_int_equal(c.count, 1);
    assert_int_equal(c.code, ERR_FORMAT);
    assert_string_equal(c.path, in(t, BITCODE_UUID ".bcsymbolmap", path));
    /* The file claims a gigabyte. */
    assert_int_equal(truncate(path, 1 << 30), 0);
    assert_false(gets_names(t, NULL, "Shop", &c));
    assert_int_equal(c.count, 2);
    assert_int_equal(c.code, ERR_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(names_are_found_beside_the_bundle_by_the_original_uuid),
        IN_SCRATCH(slashes_in_the_path_of_a_bundle_may_be_doubled),
        IN_SCRATCH(names_of_another_uuid_are_not_used),
        IN_SCRATCH(names_are_found_where_the_finder_was_sent),
        IN_SCRATCH(a_damaged_file_of_names_is_told_once),
    };
    return cmocka_run_group_tests_name("find_bcsymbolmap", tests, NULL, NULL);
}
