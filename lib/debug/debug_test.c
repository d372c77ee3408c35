/* Tests of units, functions and names, with hand-made DWARF of each version. */
#include "debug/dwarf_build_test.h"

/* One opened file and its first unit, which most tests look at. */
struct opened {
    struct sections sections;
    struct debug *d;
    struct debug_unit unit;
    struct heard heard;
};

static void open_setup(struct opened *o, const struct dwarf_build *b, struct debug_setup setup) {
    struct err e = {0};
    *o = (struct opened){0};
    assert_int_equal(open_built(&o->d, b, &o->sections, setup, &o->heard), ST_OK);
    assert_true(debug_unit_count(o->d) > 0);
    assert_int_equal(debug_read_unit(o->d, 0, &o->unit, &e), ST_OK);
}

static void open_unit(struct opened *o, const struct dwarf_build *b) {
    open_setup(o, b, (struct debug_setup){0});
}

static void close_unit(struct opened *o) {
    debug_unit_release(&o->unit);
    debug_unit_release(&o->unit); /* releasing twice is harmless */
    debug_close(o->d);
}

static void assert_range(const struct debug_function *f, size_t i, uint64_t low, uint64_t high) {
    assert_true(i < f->range_count);
    assert_int_equal(f->ranges[i].low, low);
    assert_int_equal(f->ranges[i].high, high);
}

/* ---- addresses of a function ---- */

/* Begins a unit of one function "f", whose abbreviation 2 the caller completes with its address
 * attributes. */
static void begin_simple(struct dwarf_build *b, unsigned version) {
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr,
           0);
    begin_unit(b, version, 0);
    put_uleb(b, 1);
    put_text(b, "f.c");
    put_address(b, 0x1000);
    put_uleb(b, 2);
    put_text(b, "f");
}

static void end_simple(struct dwarf_build *b) {
    put(b, 0, 1);
    end_abbrevs(b);
    end_unit(b);
}

static void check_high_pc(unsigned version, unsigned form, bool big_endian, uint8_t address_size) {
    static struct dwarf_build b;
    struct opened o;
    b = (struct dwarf_build){.big_endian = big_endian, .address_size = address_size};
    begin_simple(&b, version);
    abbrev(&b, 2, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr,
           DW_AT_high_pc, form, 0);
    put_address(&b, 0x1010);
    if (form == DW_FORM_addr) {
        put_address(&b, 0x1090);
    } else if (form == DW_FORM_udata) {
        put_uleb(&b, 0x80);
    } else {
        put(&b, 0x80, 4);
    }
    end_simple(&b);
    open_unit(&o, &b);
    assert_int_equal(o.unit.version, version);
    assert_string_equal(o.unit.name, "f.c");
    assert_int_equal(o.unit.function_count, 1);
    assert_string_equal(o.unit.functions[0].name, "f");
    assert_null(o.unit.functions[0].linkage);
    assert_int_equal(o.unit.functions[0].range_count, 1);
    assert_range(&o.unit.functions[0], 0, 0x1010, 0x1090);
    assert_int_equal(o.unit.functions[0].entry, 0x1010);
    assert_int_equal(o.heard.count, 0);
    close_unit(&o);
}

static void high_pc_is_an_address_or_a_size(void **state) {
    (void)state;
    for (unsigned big = 0; big < 2; big++) {
        for (uint8_t size = 4; size <= 8; size += 4) {
            check_high_pc(2, DW_FORM_addr, big, size);
            check_high_pc(3, DW_FORM_addr, big, size);
            check_high_pc(4, DW_FORM_data4, big, size);
            check_high_pc(4, DW_FORM_addr, big, size);
            check_high_pc(5, DW_FORM_udata, big, size);
        }
    }
}

static void a_range_list_of_dwarf_4_counts_from_its_base(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    b = (struct dwarf_build){0};
    begin_simple(&b, 4);
    abbrev(&b, 2, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_ranges,
           DW_FORM_sec_offset, 0);
    put(&b, 16, 4);
    end_simple(&b);
    b.in = SECTION_RANGES;
    static const uint64_t list[] = {9,    9,    0x100, 0x120, UINT64_MAX, 0x5000, 0x10,   0x30,
                                    0x20, 0x40, 1,     1,     0,          0,      0x7000, 0x8000};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        put(&b, list[i], 8);
    }
    open_unit(&o, &b);
    const struct debug_function *f = &o.unit.functions[0];
    assert_int_equal(f->range_count, 2);
    assert_range(f, 0, 0x1100, 0x1120);
    assert_range(f, 1, 0x5010, 0x5040); /* the two neighbouring ranges are joined */
    close_unit(&o);
}

/* Checks a list with every entry kind of DWARF 5, referred to by offset or by index. */
static void check_rnglist(bool by_index) {
    static struct dwarf_build b;
    struct opened o;
    b = (struct dwarf_build){0};
    abbrev(&b, 1, DW_TAG_compile_unit, true, DW_AT_low_pc, DW_FORM_addr, DW_AT_addr_base,
           DW_FORM_sec_offset, DW_AT_rnglists_base, DW_FORM_sec_offset, 0);
    abbrev(&b, 2, DW_TAG_subprogram, false, DW_AT_ranges,
           by_index ? DW_FORM_rnglistx : DW_FORM_sec_offset, 0);
    begin_unit(&b, 5, 0);
    put_uleb(&b, 1);
    put_address(&b, 0x1000);
    put(&b, 8, 4);
    put(&b, 12, 4);
    put_uleb(&b, 2);
    if (by_index) {
        put_uleb(&b, 1);
    } else {
        put(&b, 20, 4);
    }
    end_simple(&b);
    b.in = SECTION_ADDR;
    put(&b, 0, 8); /* the header, which is not read */
    static const uint64_t addresses[] = {0x2000, 0x2010, 0x3000};
    for (size_t i = 0; i < 3; i++) {
        put_address(&b, addresses[i]);
    }
    b.in = SECTION_RNGLISTS;
    put(&b, 0, 4);
    put(&b, 5, 2);
    put(&b, 8, 1);
    put(&b, 0, 1);
    put(&b, 2, 4); /* two offsets */
    put(&b, 0, 4);
    put(&b, 8, 4); /* the second list comes after the offsets */
    put(&b, DW_RLE_offset_pair, 1), put_uleb(&b, 0x10), put_uleb(&b, 0x20);
    put(&b, DW_RLE_startx_endx, 1), put_uleb(&b, 0), put_uleb(&b, 1);
    put(&b, DW_RLE_startx_length, 1), put_uleb(&b, 2), put_uleb(&b, 0x40);
    put(&b, DW_RLE_base_addressx, 1), put_uleb(&b, 2);
    put(&b, DW_RLE_offset_pair, 1), put_uleb(&b, 0x100), put_uleb(&b, 0x110);
    put(&b, DW_RLE_base_address, 1), put_address(&b, 0x6000);
    put(&b, DW_RLE_offset_pair, 1), put_uleb(&b, 0), put_uleb(&b, 8);
    put(&b, DW_RLE_start_end, 1), put_address(&b, 0x7000), put_address(&b, 0x7008);
    put(&b, DW_RLE_start_length, 1), put_address(&b, 0x8000), put_uleb(&b, 8);
    put(&b, DW_RLE_end_of_list, 1);
    open_unit(&o, &b);
    assert_int_equal(o.heard.count, 0);
    assert_int_equal(o.unit.function_count, 1);
    const struct debug_function *f = &o.unit.functions[0];
    assert_int_equal(f->range_count, 7);
    assert_range(f, 0, 0x1010, 0x1020);
    assert_range(f, 1, 0x2000, 0x2010);
    assert_range(f, 2, 0x3000, 0x3040);
    assert_range(f, 3, 0x3100, 0x3110);
    assert_range(f, 4, 0x6000, 0x6008);
    assert_range(f, 5, 0x7000, 0x7008);
    assert_range(f, 6, 0x8000, 0x8008);
    close_unit(&o);
}

static void a_range_list_of_dwarf_5_has_seven_kinds_of_entries(void **state) {
    (void)state;
    check_rnglist(false);
    check_rnglist(true);
}

static void addresses_and_names_may_be_indexes(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    b = (struct dwarf_build){0};
    abbrev(&b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_strx1, DW_AT_addr_base,
           DW_FORM_sec_offset, DW_AT_str_offsets_base, DW_FORM_sec_offset, 0);
    abbrev(&b, 2, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_strx, DW_AT_low_pc, DW_FORM_addrx,
           DW_AT_high_pc, DW_FORM_data4, 0);
    begin_unit(&b, 5, 0);
    put_uleb(&b, 1), put(&b, 0, 1), put(&b, 8, 4), put(&b, 8, 4);
    put_uleb(&b, 2), put_uleb(&b, 1), put_uleb(&b, 1), put(&b, 0x10, 4);
    end_simple(&b);
    b.in = SECTION_ADDR;
    put(&b, 0, 8), put_address(&b, 0x1000), put_address(&b, 0x2000);
    b.in = SECTION_STR_OFFSETS;
    put(&b, 0, 8), put(&b, 0, 4), put(&b, 4, 4);
    b.in = SECTION_STR;
    put_text(&b, "u.c");
    put_text(&b, "indexed");
    open_unit(&o, &b);
    assert_string_equal(o.unit.name, "u.c");
    assert_string_equal(o.unit.functions[0].name, "indexed");
    assert_range(&o.unit.functions[0], 0, 0x2000, 0x2010);
    close_unit(&o);
}

/* ---- stripped code ---- */

/* Builds a unit with one function of 16 bytes at each address. */
static void build_functions(struct dwarf_build *b, const uint64_t *lows, size_t count) {
    *b = (struct dwarf_build){0};
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    abbrev(b, 2, DW_TAG_subprogram, false, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1,
           0);
    begin_unit(b, 4, 0);
    put_uleb(b, 1), put_text(b, "u.c");
    for (size_t i = 0; i < count; i++) {
        put_uleb(b, 2), put_address(b, lows[i]), put(b, 16, 1);
    }
    end_simple(b);
}

static void stripped_code_owns_nothing(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    static const uint64_t lows[] = {0, UINT64_MAX, UINT64_MAX - 1, 0x1000, 0x40};
    static const struct debug_range code[] = {{0x1000, 0x2000}};
    build_functions(&b, lows, 5);
    open_setup(&o, &b, (struct debug_setup){.code = code, .code_count = 1});
    assert_int_equal(o.unit.function_count, 1);
    assert_range(&o.unit.functions[0], 0, 0x1000, 0x1010);
    close_unit(&o);
    /* It is not known where code lies, so only the tombstones are left out. */
    open_unit(&o, &b);
    assert_int_equal(o.unit.function_count, 2);
    assert_range(&o.unit.functions[0], 0, 0x40, 0x50);
    close_unit(&o);
}

static void code_may_begin_at_0(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    static const uint64_t lows[] = {0};
    static const struct debug_range code[] = {{0, 0x2000}};
    build_functions(&b, lows, 1);
    open_setup(&o, &b, (struct debug_setup){.code = code, .code_count = 1});
    assert_int_equal(o.unit.function_count, 1);
    close_unit(&o);
}

static void the_thumb_bit_is_cleared(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    static const uint64_t lows[] = {0x1001};
    build_functions(&b, lows, 1);
    open_setup(&o, &b, (struct debug_setup){.arm32 = true});
    assert_range(&o.unit.functions[0], 0, 0x1000, 0x1011);
    close_unit(&o);
}

/* ---- trees and names ---- */

enum { CU = 1, FUNCTION, ABSTRACT, INLINED, BLOCK, DECLARATION, DEFINITION };

/* Writes the abbreviations for trees, whose references are DW_FORM_ref4, and begins a unit. */
static void begin_tree(struct dwarf_build *b) {
    *b = (struct dwarf_build){0};
    abbrev(b, CU, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    abbrev(b, FUNCTION, DW_TAG_subprogram, true, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
           DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, 0);
    abbrev(b, ABSTRACT, DW_TAG_subprogram, false, DW_AT_specification, DW_FORM_ref4, DW_AT_inline,
           DW_FORM_data1, 0);
    abbrev(b, INLINED, DW_TAG_inlined_subroutine, true, DW_AT_abstract_origin, DW_FORM_ref4,
           DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, DW_AT_call_file, DW_FORM_data1,
           DW_AT_call_line, DW_FORM_data2, DW_AT_call_column, DW_FORM_data1,
           DW_AT_GNU_discriminator, DW_FORM_data1, 0);
    abbrev(b, BLOCK, DW_TAG_lexical_block, true, 0);
    abbrev(b, DECLARATION, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_linkage_name,
           DW_FORM_string, DW_AT_declaration, DW_FORM_flag_present, DW_AT_decl_line, DW_FORM_data1,
           0);
    abbrev(b, DEFINITION, DW_TAG_subprogram, false, DW_AT_specification, DW_FORM_ref4, DW_AT_low_pc,
           DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, 0);
    end_abbrevs(b);
    begin_unit(b, 4, 0);
    put_uleb(b, CU), put_text(b, "t.cpp");
}

static uint32_t die_offset(const struct dwarf_build *b) {
    return (uint32_t)(here(b) - b->unit);
}

static void put_function(struct dwarf_build *b, const char *name, uint64_t low, uint8_t size) {
    put_uleb(b, FUNCTION), put_text(b, name), put_address(b, low), put(b, size, 1);
}

static void put_inlined(struct dwarf_build *b, uint32_t origin, uint64_t low, uint8_t size,
                        uint16_t line) {
    put_uleb(b, INLINED), put(b, origin, 4), put_address(b, low), put(b, size, 1);
    put(b, 3, 1), put(b, line, 2), put(b, 7, 1), put(b, 2, 1);
}

static void end_tree(struct dwarf_build *b) {
    put(b, 0, 1);
    end_unit(b);
}

static uint32_t put_abstract(struct dwarf_build *b) {
    uint32_t declaration = die_offset(b);
    put_uleb(b, DECLARATION), put_text(b, "helper"), put_text(b, "_Z6helperv"), put(b, 42, 1);
    uint32_t abstract = die_offset(b);
    put_uleb(b, ABSTRACT), put(b, declaration, 4), put(b, 1, 1);
    return abstract;
}

/* The walk stops at functions and calls only, but it must still know which blocks between them have
 * ended. */
static void what_ended_is_nobodys_parent(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    begin_tree(&b);
    uint32_t abstract = put_abstract(&b);
    put_function(&b, "outer", 0x1000, 0x40);
    put_uleb(&b, BLOCK);
    (void)put_abstract(&b); /* a function without code, deeper than the next block */
    put(&b, 0, 1);
    put_uleb(&b, BLOCK), put_uleb(&b, BLOCK);
    put_inlined(&b, abstract, 0x1010, 0x10, 300);
    put(&b, 0, 4); /* ends the call, both blocks and the function */
    put_function(&b, "next", 0x2000, 0x40);
    put(&b, 0, 1);
    end_tree(&b);
    open_unit(&o, &b);
    assert_int_equal(o.unit.function_count, 2);
    assert_string_equal(o.unit.functions[0].name, "outer");
    assert_int_equal(o.unit.functions[0].child_count, 1);
    assert_string_equal(o.unit.functions[0].children[0].name, "helper");
    assert_int_equal(o.unit.functions[1].child_count, 0);
    close_unit(&o);
}

static void an_inlined_call_has_its_origins_names_and_its_call_site(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    begin_tree(&b);
    uint32_t abstract = put_abstract(&b);
    put_function(&b, "outer", 0x1000, 0x80);
    put_uleb(&b, BLOCK); /* the walk goes through a block */
    put_inlined(&b, abstract, 0x1010, 0x10, 300);
    put(&b, 0, 3); /* ends the call, the block and the function */
    end_tree(&b);
    open_unit(&o, &b);
    assert_int_equal(o.unit.function_count, 1);
    assert_int_equal(o.unit.functions[0].child_count, 1);
    const struct debug_function *call = &o.unit.functions[0].children[0];
    assert_string_equal(call->name, "helper");
    assert_string_equal(call->linkage, "_Z6helperv");
    assert_int_equal(call->decl_line, 42);
    assert_int_equal(call->call_file, 3);
    assert_int_equal(call->call_line, 300);
    assert_int_equal(call->call_column, 7);
    assert_int_equal(call->call_discriminator, 2);
    assert_range(call, 0, 0x1010, 0x1020);
    close_unit(&o);
}

static void children_are_sorted_by_address(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    begin_tree(&b);
    uint32_t abstract = put_abstract(&b);
    put_function(&b, "second", 0x2000, 0x80);
    put_inlined(&b, abstract, 0x2040, 0x10, 2), put(&b, 0, 1);
    put_inlined(&b, abstract, 0x2010, 0x20, 1);
    put_inlined(&b, abstract, 0x2018, 0x08, 3), put(&b, 0, 1);
    put(&b, 0, 2);
    put_function(&b, "first", 0x1000, 0x80), put(&b, 0, 1);
    end_tree(&b);
    open_unit(&o, &b);
    assert_int_equal(o.unit.function_count, 2);
    assert_string_equal(o.unit.functions[0].name, "first");
    const struct debug_function *second = &o.unit.functions[1];
    assert_int_equal(second->child_count, 2);
    assert_int_equal(second->children[0].call_line, 1);
    assert_int_equal(second->children[1].call_line, 2);
    assert_int_equal(second->children[0].child_count, 1);
    assert_int_equal(second->children[0].children[0].call_line, 3);
    close_unit(&o);
}

static void a_nested_function_is_a_function_of_its_own(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    begin_tree(&b);
    uint32_t abstract = put_abstract(&b);
    put_function(&b, "outer", 0x1000, 0x80);
    put_function(&b, "nested", 0x2000, 0x20);
    put_inlined(&b, abstract, 0x2010, 0x10, 1), put(&b, 0, 1);
    put(&b, 0, 2);
    end_tree(&b);
    open_unit(&o, &b);
    assert_int_equal(o.unit.function_count, 2);
    assert_string_equal(o.unit.functions[0].name, "outer");
    assert_int_equal(o.unit.functions[0].child_count, 0);
    assert_string_equal(o.unit.functions[1].name, "nested");
    assert_int_equal(o.unit.functions[1].child_count, 1);
    close_unit(&o);
}

static void an_empty_inlined_call_keeps_its_place(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    begin_tree(&b);
    uint32_t abstract = put_abstract(&b);
    put_function(&b, "outer", 0x1000, 0x80);
    put_inlined(&b, abstract, 0x1010, 0, 1);
    put_inlined(&b, abstract, 0x1020, 8, 2), put(&b, 0, 1);
    put(&b, 0, 1);
    put_inlined(&b, abstract, 0x1030, 0, 3),
        put(&b, 0, 1); /* a call without code and with nothing in it, which is dropped */
    put(&b, 0, 1);
    end_tree(&b);
    open_unit(&o, &b);
    const struct debug_function *outer = &o.unit.functions[0];
    assert_int_equal(outer->child_count, 1);
    assert_int_equal(outer->children[0].call_line, 1);
    assert_range(&outer->children[0], 0, 0x1020, 0x1028);
    assert_int_equal(outer->children[0].child_count, 1);
    assert_int_equal(outer->children[0].children[0].call_line, 2);
    close_unit(&o);
}

/* DWARF 2 allows one range only, and GCC gives the first, so calls in the other ranges lie outside
 * of their function. */
static void in_dwarf_2_a_call_belongs_to_what_stands_around_it(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    for (unsigned version = 2; version <= 3; version++) {
        begin_tree(&b);
        put_at(&b, b.unit + 4, version, 2);
        uint32_t abstract = put_abstract(&b);
        put_function(&b, "outer", 0x1000, 0x80);
        put_inlined(&b, abstract, 0x1010, 8, 1);
        put_inlined(&b, abstract, 0x1018, 8, 2),
            put(&b, 0, 1); /* the second call comes after the first */
        put_inlined(&b, abstract, 0x3000, 8, 3),
            put(&b, 0, 1); /* this call is in the cold part, outside of the function */
        put(&b, 0, 2);
        end_tree(&b);
        open_unit(&o, &b);
        const struct debug_function *outer = &o.unit.functions[0], *call = outer->children;
        assert_int_equal(outer->entry, 0x1000);
        assert_int_equal(outer->child_count, 1);
        assert_int_equal(call->entry, 0x1010);
        assert_int_equal(call->child_count, 2);
        assert_int_equal(outer->range_count, version == 2 ? 2 : 1);
        assert_range(outer, 0, 0x1000, 0x1080);
        if (version == 2) {
            assert_range(outer, 1, 0x3000, 0x3008);
            assert_int_equal(call->range_count, 2);
            assert_range(call, 0, 0x1010, 0x1020);
            assert_range(call, 1, 0x3000, 0x3008);
        }
        close_unit(&o);
    }
}

static void a_name_that_refers_to_itself_is_none(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    begin_tree(&b);
    uint32_t self = die_offset(&b);
    put_uleb(&b, ABSTRACT), put(&b, self, 4), put(&b, 1, 1);
    put_function(&b, "outer", 0x1000, 0x80);
    put_inlined(&b, self, 0x1010, 8, 1), put(&b, 0, 1);
    put_inlined(&b, 0x7fff0000, 0x1020, 8, 2),
        put(&b, 0, 1); /* the reference goes outside the file */
    put(&b, 0, 1);
    end_tree(&b);
    open_unit(&o, &b);
    const struct debug_function *outer = &o.unit.functions[0];
    assert_int_equal(outer->child_count, 2);
    assert_null(outer->children[0].name);
    assert_null(outer->children[1].name);
    close_unit(&o);
}

static void names_come_from_the_supplementary_file(void **state) {
    static struct dwarf_build b, alt;
    struct sections sections, alt_sections;
    struct debug *d;
    struct debug_unit u = {0};
    struct err e = {0};
    (void)state;
    begin_tree(&alt);
    uint32_t abstract = put_abstract(&alt);
    end_tree(&alt);
    b = (struct dwarf_build){0};
    abbrev(&b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    abbrev(&b, 2, DW_TAG_subprogram, false, DW_AT_abstract_origin, DW_FORM_GNU_ref_alt,
           DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, 0);
    begin_unit(&b, 4, 0);
    put_uleb(&b, 1), put_text(&b, "t.cpp");
    put_uleb(&b, 2), put(&b, abstract, 4), put_address(&b, 0x1000), put(&b, 8, 1);
    end_simple(&b);
    built_sections(&alt, &alt_sections);
    assert_int_equal(
        open_built(&d, &b, &sections, (struct debug_setup){.alt = &alt_sections}, NULL), ST_OK);
    assert_int_equal(debug_read_unit(d, 0, &u, &e), ST_OK);
    assert_string_equal(u.functions[0].linkage, "_Z6helperv");
    debug_unit_release(&u);
    debug_close(d);
    /* Without the supplementary file there is no name, and no complaint either: dwz's files are
     * often not installed. */
    struct heard h = {0};
    assert_int_equal(open_built(&d, &b, &sections, (struct debug_setup){0}, &h), ST_OK);
    assert_int_equal(debug_read_unit(d, 0, &u, &e), ST_OK);
    assert_null(u.functions[0].name);
    assert_int_equal(h.count, 0);
    debug_unit_release(&u);
    debug_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(high_pc_is_an_address_or_a_size),
        cmocka_unit_test(a_range_list_of_dwarf_4_counts_from_its_base),
        cmocka_unit_test(a_range_list_of_dwarf_5_has_seven_kinds_of_entries),
        cmocka_unit_test(addresses_and_names_may_be_indexes),
        cmocka_unit_test(stripped_code_owns_nothing),
        cmocka_unit_test(code_may_begin_at_0),
        cmocka_unit_test(the_thumb_bit_is_cleared),
        cmocka_unit_test(what_ended_is_nobodys_parent),
        cmocka_unit_test(an_inlined_call_has_its_origins_names_and_its_call_site),
        cmocka_unit_test(children_are_sorted_by_address),
        cmocka_unit_test(a_nested_function_is_a_function_of_its_own),
        cmocka_unit_test(an_empty_inlined_call_keeps_its_place),
        cmocka_unit_test(in_dwarf_2_a_call_belongs_to_what_stands_around_it),
        cmocka_unit_test(a_name_that_refers_to_itself_is_none),
        cmocka_unit_test(names_come_from_the_supplementary_file),
    };
    return cmocka_run_group_tests_name("debug", tests, NULL, NULL);
}
