/* What is read of a debug map. */
#include "debug/debug_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "object/object_build_test.h"

#define SHOP "testdata/objects/macho-map/Shop"

static void bases_are_those_of_files_and_members(void **state) {
    (void)state;
    assert_string_equal(debug_object_base("/a/b/x.o"), "x.o");
    assert_string_equal(debug_object_base("x.o"), "x.o");
    assert_string_equal(debug_object_base("/a/lib.a(x.o)"), "lib.a(x.o)");
    assert_string_equal(debug_object_base("/a/lib.a(b/x.o)"), "lib.a(b/x.o)");
    assert_string_equal(debug_object_base("lib.a(x.o)"), "lib.a(x.o)");
    assert_string_equal(debug_object_base("/a/x(1)/y.o"), "y.o");
    assert_string_equal(debug_object_base(""), "");
}

static void objects_have_their_functions(void **state) {
    static const char *const bases[] = {"CartViewController.m.o", "DB.m.o", "image.c.o",
                                        "layout.cpp.o", "libprice.a(price.cpp.o)"};
    struct debug_map map;
    struct object *o;
    struct err e = {0};
    (void)state;
    assert_int_equal(object_open(&o, SHOP, &e), ST_OK);
    assert_int_equal(debug_map_read(&map, object_slice(o, 0), &e), ST_OK);
    assert_int_equal(map.objects.len, 5);
    size_t functions = 0;
    for (size_t i = 0; i < map.objects.len; i++) {
        const struct map_object *m = &map.objects.data[i];
        assert_string_equal(debug_object_base(m->name.path), bases[i]);
        assert_int_equal(m->name.time, 0);
        assert_true(m->name.unique);
        assert_int_equal(m->first, functions);
        assert_true(m->count > 0 && m->code_bytes > 0);
        functions += m->count;
    }
    assert_int_equal(functions, map.functions.len);
    bool found = false;
    for (size_t i = map.objects.data[4].first; i < map.functions.len; i++) {
        const struct map_function *f = &map.functions.data[i];
        found = found || (strcmp(f->name, "price_total") == 0 && f->address == 0x1000014a0 &&
                          f->size == 0x58);
    }
    assert_true(found);
    debug_map_release(&map);
    object_close(o);
}

static void stabs_in_disorder_cost_their_function(void **state) {
    static const struct macho_build_symbol stabs[] = {
        {"_early", STAB_FUNCTION, 1, 0, 0x1100},
        {"", STAB_FUNCTION, 0, 0, 0x10}, /* of no object file */
        {"/b/x.o", STAB_OBJECT_FILE, 0, 1, 7},
        {"", STAB_FUNCTION, 0, 0, 0x10}, /* no beginning */
        {"_one", STAB_FUNCTION, 1, 0, 0x1140},
        {"_two", STAB_FUNCTION, 1, 0, 0x1120}, /* no end of _one */
        {"", STAB_FUNCTION, 0, 0, 0x20},
        {"_empty", STAB_FUNCTION, 1, 0, 0x1160},
        {"", STAB_FUNCTION, 0, 0, 0},
        {"_wraps", STAB_FUNCTION, 1, 0, UINT64_MAX - 1},
        {"", STAB_FUNCTION, 0, 0, 2},
        {"/b/none.o", STAB_OBJECT_FILE, 0, 1, 7}, /* without functions */
        {"/c/x.o", STAB_OBJECT_FILE, 0, 1, 7},
        {"_three", STAB_FUNCTION, 1, 0, 0x1180},
        {"", STAB_FUNCTION, 0, 0, 4},
        {"/b/x.o", STAB_OBJECT_FILE, 0, 1, 7}, /* again */
        {"four", STAB_FUNCTION, 1, 0, 0x1100},
        {"", STAB_FUNCTION, 0, 0, 4},
        {"", STAB_OBJECT_FILE, 0, 1, 7},
        {"_five", STAB_FUNCTION, 1, 0, 0x1190},
        {"", STAB_FUNCTION, 0, 0, 4},
    };
    static const char *const names[] = {"four", "two", "three"};
    static struct build b;
    struct macho_build m = usual_macho();
    struct debug_map map;
    struct err e = {0};
    (void)state;
    m.symbols = stabs;
    m.symbol_count = sizeof stabs / sizeof stabs[0];
    build_macho(&b, &m);
    struct object *o = open_built(&b);
    assert_int_equal(debug_map_read(&map, object_slice(o, 0), &e), ST_OK);
    assert_int_equal(map.objects.len, 2);
    assert_string_equal(map.objects.data[0].name.path, "/b/x.o");
    assert_int_equal(map.objects.data[0].name.time, 7);
    assert_int_equal(map.objects.data[0].count, 2);
    assert_int_equal(map.objects.data[0].code_bytes, 0x24);
    assert_false(map.objects.data[0].name.unique);
    assert_false(map.objects.data[1].name.unique);
    assert_int_equal(map.functions.len, 3);
    for (size_t i = 0; i < map.functions.len; i++) {
        assert_string_equal(map.functions.data[i].name, names[i]);
        assert_int_equal(map.functions.data[i].object, i / 2);
    }
    debug_map_release(&map);
    object_close(o);
}

static void a_file_without_stabs_has_no_map(void **state) {
    static const char *const files[] = {"testdata/objects/macho-symbols/ShopWidget",
                                        "testdata/objects/elf-dwarf5/libshop.so"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct debug_map map;
        struct object *o;
        struct err e = {0};
        assert_int_equal(object_open(&o, files[i], &e), ST_OK);
        assert_int_equal(debug_map_read(&map, object_slice(o, 0), &e), ST_NONE);
        assert_int_equal(map.objects.len, 0);
        object_close(o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bases_are_those_of_files_and_members),
        cmocka_unit_test(objects_have_their_functions),
        cmocka_unit_test(stabs_in_disorder_cost_their_function),
        cmocka_unit_test(a_file_without_stabs_has_no_map),
    };
    return cmocka_run_group_tests_name("debug_map", tests, NULL, NULL);
}
