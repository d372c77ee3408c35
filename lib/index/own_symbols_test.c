/* Tests of names of functions, from DWARF and from the symbol table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "index/own_symbols.h"

/* Symbols and aliases as object_symbols and object_aliases return them. */
static const struct object_symbol symbols[] = {{0x1000, 16, "malloc"},
                                               {0x1010, 16, "__copy_helper_block_333"},
                                               {0x1020, 16, "_TF6Darwing5errnoVs5Int32"},
                                               {0x1030, 16, "__hidden#7_"},
                                               {0x1040, 16, "_ZN4Cart5totalEv"}};
static const struct object_alias aliases[] = {
    {0x1000, "__libc_malloc"}, {0x1000, "__malloc"}, {0x1040, "total"}};
static const struct own_symbols own = {.symbols = symbols,
                                       .symbol_count = sizeof symbols / sizeof *symbols,
                                       .aliases = aliases,
                                       .alias_count = sizeof aliases / sizeof *aliases};

static void expect(const char *name, const char *linkage, uint64_t entry, const char *function_want,
                   const char *linkage_want) {
    struct debug_function f = {.name = name, .linkage = linkage, .entry = entry};
    const char *function_got, *linkage_got;
    own_symbols_name(&own, &f, &function_got, &linkage_got);
    assert_string_equal(function_got, function_want);
    assert_string_equal(linkage_got, linkage_want);
}

static void a_linkage_name_of_dwarf_stays(void **state) {
    (void)state;
    expect("total", "_ZN3Bag5totalEv", 0x1040, "total", "_ZN3Bag5totalEv");
}

static void the_symbol_at_the_entry_gives_the_linkage_name_that_dwarf_lacks(void **state) {
    (void)state;
    expect("__copy_helper_block_", NULL, 0x1010, "__copy_helper_block_", "__copy_helper_block_333");
    expect("errno.get", NULL, 0x1020, "errno.get", "_TF6Darwing5errnoVs5Int32");
    expect(NULL, NULL, 0x1010, "__copy_helper_block_333", "__copy_helper_block_333");
}

static void no_other_symbol_names_a_function(void **state) {
    (void)state;
    expect("inner", NULL, 0x1018, "inner", "inner");
    expect("below", NULL, 0xfff, "below", "below");
}

static void a_name_of_dwarf_that_the_symbol_table_has_too_is_no_alias(void **state) {
    (void)state;
    expect("malloc", NULL, 0x1000, "malloc", "malloc");
    expect("__libc_malloc", NULL, 0x1000, "__libc_malloc", "__libc_malloc");
    expect("__malloc", NULL, 0x1000, "__malloc", "__malloc");
    expect("total", NULL, 0x1040, "total", "total");
}

static void an_obfuscated_name_gives_way_to_the_symbols(void **state) {
    (void)state;
    expect("__hidden#1_", "__hidden#2_", 0x1040, "_ZN4Cart5totalEv", "_ZN4Cart5totalEv");
    expect("total", "__hidden#2_", 0x1040, "total", "total");
    expect("__hidden#1_", NULL, 0x1030, "__hidden#1_", "__hidden#1_");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linkage_name_of_dwarf_stays),
        cmocka_unit_test(the_symbol_at_the_entry_gives_the_linkage_name_that_dwarf_lacks),
        cmocka_unit_test(no_other_symbol_names_a_function),
        cmocka_unit_test(a_name_of_dwarf_that_the_symbol_table_has_too_is_no_alias),
        cmocka_unit_test(an_obfuscated_name_gives_way_to_the_symbols),
    };
    return cmocka_run_group_tests_name("own_symbols", tests, NULL, NULL);
}
