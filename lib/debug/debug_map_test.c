/* Tests of reading a debug map. */
#include "debug/debug_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "debug/link_spans.h"
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
        {"", STAB_FUNCTION, 0, 0, 0x10}, /* a function outside of any object file */
        {"/b/x.o", STAB_OBJECT_FILE, 0, 1, 7},
        {"", STAB_FUNCTION, 0, 0, 0x10}, /* an end without a beginning */
        {"_one", STAB_FUNCTION, 1, 0, 0x1140},
        {"_two", STAB_FUNCTION, 1, 0, 0x1120}, /* another beginning, without an end of _one */
        {"", STAB_FUNCTION, 0, 0, 0x20},
        {"_empty", STAB_FUNCTION, 1, 0, 0x1160},
        {"", STAB_FUNCTION, 0, 0, 0},
        {"_wraps", STAB_FUNCTION, 1, 0, UINT64_MAX - 1},
        {"", STAB_FUNCTION, 0, 0, 2},
        {"/b/none.o", STAB_OBJECT_FILE, 0, 1, 7}, /* an object file without functions */
        {"/c/x.o", STAB_OBJECT_FILE, 0, 1, 7},
        {"_three", STAB_FUNCTION, 1, 0, 0x1180},
        {"", STAB_FUNCTION, 0, 0, 4},
        {"/b/x.o", STAB_OBJECT_FILE, 0, 1, 7}, /* the stabs name the same object file again */
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

/* ---- the map's functions in an object file ---- */

/* Opens an object file: ltmp0 and _a at 0, _b at 0x20, a private function at 0x30, _b_alias at
 * 0x20, two functions _s at 0x40 and 0x50; the code ends at 0x60. */
static struct object *open_unlinked(uint32_t cpu_type) {
    static const struct macho_build_section sections[] = {{.segment = "__TEXT",
                                                           .name = "__text",
                                                           .bytes = usual_code,
                                                           .len = 0x60,
                                                           .flags = MACHO_CODE}};
    static const struct macho_build_symbol symbols[] = {
        {"ltmp0", MACHO_SECT, 1, 0, 0},
        {"_a", MACHO_SECT | MACHO_EXT, 1, 0, 0},
        {"_b", MACHO_SECT | MACHO_EXT, 1, 0, 0x20},
        {"_b_too", MACHO_SECT, 1, 0, 0x20},
        {"l_keypath_get", MACHO_SECT, 1, 0, 0x30},
        {"_s", MACHO_SECT, 1, 0, 0x40},
        {"_s", MACHO_SECT, 1, 0, 0x50},
        {"_early", STAB_FUNCTION, 1, 0, 0x10}, /* a stab, which bounds no function */
    };
    static struct build b;
    struct macho_build m = usual_macho();
    m.cpu_type = cpu_type;
    m.file_type = 1;
    m.no_uuid = true;
    m.text_address = 0;
    m.sections = sections;
    m.section_count = 1;
    m.symbols = symbols;
    m.symbol_count = sizeof symbols / sizeof *symbols;
    build_macho(&b, &m);
    return open_built(&b);
}

/* Returns the status of link_spans_read; *count becomes the number of spans that were found. */
static enum st spans_of(uint32_t cpu_type, const struct map_function *functions, size_t n,
                        size_t *count) {
    struct object *o = open_unlinked(cpu_type);
    struct link_spans spans;
    struct err e = {0};
    enum st st = link_spans_read(&spans, functions, n, object_slice(o, 0), &e);
    assert_false(err_is(&e));
    *count = spans.len;
    link_spans_release(&spans);
    object_close(o);
    return st;
}

static void functions_of_the_file_that_was_linked_have_spans(void **state) {
    static const struct map_function functions[] = {
        {.name = "a", .address = 0x1000, .size = 0x20},
        {.name = "alias_of_a",
         .address = 0x1000,
         .size = 0x20}, /* made by the linker's option -alias */
        {.name = "b", .address = 0x2000, .size = 0x10},
        {.name = "b_too", .address = 0x2000, .size = 0x10},
        {.name = "s",
         .address = 0x3000,
         .size = 0x10}, /* two functions have this name, so it is unknown which one */
    };
    size_t count;
    (void)state;
    assert_int_equal(spans_of(MACHO_CPU_ARM64, functions, 5, &count), ST_OK);
    assert_int_equal(count, 2);
}

static void another_function_or_size_is_another_build(void **state) {
    static const struct {
        struct map_function f;
        enum st arm64, x86_64;
    } cases[] = {
        {{.name = "a", .size = 0x20}, ST_OK, ST_OK},
        {{.name = "a", .size = 0x1c},
         ST_NONE,
         ST_OK}, /* the size without the padding to 16 bytes */
        {{.name = "a", .size = 0x10}, ST_NONE, ST_NONE},
        {{.name = "a", .size = 0x24}, ST_NONE, ST_NONE},
        {{.name = "b", .size = 0x20}, ST_NONE, ST_NONE},
        {{.name = "gone", .size = 0x20}, ST_NONE, ST_NONE},
        {{.name = "a", .size = UINT64_MAX}, ST_NONE, ST_NONE},
        {{.name = "s", .size = 0x4000},
         ST_OK,
         ST_OK}, /* the size is not compared, because two functions have this name */
    };
    size_t count;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(spans_of(MACHO_CPU_ARM64, &cases[i].f, 1, &count), cases[i].arm64);
        assert_int_equal(spans_of(MACHO_CPU_X86_64, &cases[i].f, 1, &count), cases[i].x86_64);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bases_are_those_of_files_and_members),
        cmocka_unit_test(objects_have_their_functions),
        cmocka_unit_test(stabs_in_disorder_cost_their_function),
        cmocka_unit_test(a_file_without_stabs_has_no_map),
        cmocka_unit_test(functions_of_the_file_that_was_linked_have_spans),
        cmocka_unit_test(another_function_or_size_is_another_build),
    };
    return cmocka_run_group_tests_name("debug_map", tests, NULL, NULL);
}
