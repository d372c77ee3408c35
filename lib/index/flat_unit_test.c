/* Tests of look-ups in one unit: which lines count where a linker left those of several functions.
 */
#include "debug/dwarf_build_test.h"

#include "index/flat_records.h"

enum { BASE = 0x1000, SIZE = 16 };

/* Begins a line table of DWARF 4 with its only file: number 1, "u.c". */
static void begin_lines(struct dwarf_build *b) {
    static const uint8_t operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    b->in = SECTION_LINE;
    put(b, 0, 4), put(b, 4, 2);
    size_t header = here(b);
    put(b, 0, 4), put(b, 1, 1), put(b, 1, 1), put(b, 1, 1), put(b, (uint8_t)-3, 1), put(b, 12, 1);
    put(b, sizeof operands + 1, 1);
    for (size_t i = 0; i < sizeof operands; i++) {
        put(b, operands[i], 1);
    }
    put(b, 0, 1);
    put_text(b, "u.c"), put(b, 0, 3), put(b, 0, 1);
    put_at(b, header, here(b) - header - 4, 4);
}

/* Appends a sequence for SIZE bytes of code: `line` up to the middle, then the next line. */
static void put_sequence(struct dwarf_build *b, uint64_t low, int line) {
    put(b, 0, 1), put_uleb(b, 9), put(b, DW_LNE_set_address, 1), put(b, low, 8);
    put(b, DW_LNS_advance_line, 1), put_sleb(b, line - 1), put(b, DW_LNS_copy, 1);
    put(b, DW_LNS_advance_pc, 1), put_uleb(b, SIZE / 2);
    put(b, DW_LNS_advance_line, 1), put_sleb(b, 1), put(b, DW_LNS_copy, 1);
    put(b, DW_LNS_advance_pc, 1), put_uleb(b, SIZE / 2);
    put(b, 0, 1), put_uleb(b, 1), put(b, DW_LNE_end_sequence, 1);
}

/* Builds a function that is declared at a line (0: at none), and a sequence at its address for each
 * of n lines. */
static void build_folded(struct dwarf_build *b, unsigned declared, const int *lines, size_t n) {
    *b = (struct dwarf_build){0};
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, DW_AT_stmt_list,
           DW_FORM_sec_offset, 0);
    abbrev(b, 2, DW_TAG_subprogram, false, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1,
           DW_AT_decl_file, DW_FORM_data1, DW_AT_decl_line, DW_FORM_data1, 0);
    end_abbrevs(b);
    begin_unit(b, 4, 0);
    put_uleb(b, 1), put_text(b, "u.c"), put(b, 0, 4);
    put_uleb(b, 2), put_address(b, BASE), put(b, SIZE, 1);
    put(b, declared != 0, 1), put(b, declared, 1);
    put(b, 0, 1);
    end_unit(b);
    begin_lines(b);
    for (size_t i = 0; i < n; i++) {
        put_sequence(b, BASE, lines[i]);
    }
    put_at(b, 0, here(b) - 4, 4);
}

/* Checks the lines of the function's first and last byte, in a look-up and as steps of the index.
 */
static void assert_lines(const struct dwarf_build *b, uint32_t first, uint32_t last) {
    struct sections sections;
    struct debug *d;
    struct flat_unit *u = NULL;
    struct err e = {0};
    assert_int_equal(open_built(&d, b, &sections, (struct debug_setup){0}, NULL), ST_OK);
    struct own_symbols none = {0};
    assert_int_equal(flat_unit_open(&u, d, &none, 0, &e), ST_OK);
    assert_int_equal(u->sequences.len, 1);
    assert_int_equal(flat_unit_place(u, BASE, 0).line, first);
    assert_int_equal(flat_unit_place(u, BASE + SIZE - 1, 0).line, last);
    flat_unit_free(u);

    struct flat_scratch scratch = {0};
    struct flat_records f = {0};
    assert_int_equal(flat_records_read(&f, d, 0, &none, &scratch, &e), ST_OK);
    assert_int_equal(f.step_count, 2);
    assert_int_equal(f.steps[0].place.line, first);
    assert_int_equal(f.steps[1].place.line, last);
    flat_records_release(&f);
    flat_scratch_release(&scratch);
    debug_close(d);
}

/* lld and mold give functions that were folded into one no address, but keep their lines. */
static void of_folded_functions_the_lines_are_the_ones_of_the_one_that_answers(void **state) {
    static struct dwarf_build b;
    static const int lines[] = {10, 20, 30};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        build_folded(&b, (unsigned)lines[i], lines, 3);
        assert_lines(&b, (uint32_t)lines[i], (uint32_t)lines[i] + 1);
        build_folded(&b, (unsigned)lines[i] - 2, lines,
                     3); /* the declaration's line may be above that of the code, as when the return
                            type has a line of its own */
        assert_lines(&b, (uint32_t)lines[i], (uint32_t)lines[i] + 1);
    }
}

static void of_a_function_that_is_declared_nowhere_they_are_the_first_ones(void **state) {
    static struct dwarf_build b;
    static const int lines[] = {20, 10, 30};
    (void)state;
    build_folded(&b, 0, lines, 3);
    assert_lines(&b, 20, 21);
}

/* Builds a function with sections for its basic blocks as clang writes it: no entry, and the first
 * block's range listed last; `name` is the function's name. */
static void build_blocks(struct dwarf_build *b, const char *name) {
    *b = (struct dwarf_build){0};
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    abbrev(b, 2, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_strp, DW_AT_ranges,
           DW_FORM_sec_offset, 0);
    end_abbrevs(b);
    b->in = SECTION_RANGES;
    static const unsigned lows[] = {BASE + 2 * SIZE, BASE + 5 * SIZE, BASE, BASE + 4 * SIZE};
    for (unsigned i = 0; i < 4; i++) {
        put_address(b, lows[i]), put_address(b, lows[i] + SIZE);
    }
    put_address(b, 0), put_address(b, 0);
    b->in = SECTION_STR;
    put_text(b, name);
    begin_unit(b, 4, 0);
    put_uleb(b, 1), put_text(b, "u.c");
    put_uleb(b, 2), put(b, 0, 4), put(b, 0, 4);
    put(b, 0, 1);
    end_unit(b);
}

static uint64_t entry_of(const char *name, const struct object_symbol *symbols, size_t count) {
    static struct dwarf_build b;
    struct sections sections;
    struct debug *d;
    struct flat_unit *u = NULL;
    struct err e = {0};
    struct own_symbols own = {.symbols = symbols, .symbol_count = count};
    build_blocks(&b, name);
    assert_int_equal(open_built(&d, &b, &sections, (struct debug_setup){0}, NULL), ST_OK);
    assert_int_equal(flat_unit_open(&u, d, &own, 0, &e), ST_OK);
    assert_int_equal(u->unit.function_count, 1);
    uint64_t entry = u->unit.functions[0].entry;
    flat_unit_free(u);

    struct flat_scratch scratch = {0};
    struct flat_records f = {0};
    assert_int_equal(flat_records_read(&f, d, 0, &own, &scratch, &e), ST_OK);
    assert_int_equal(f.record_count, 3);
    assert_int_equal(f.records[0].function->entry, entry);
    flat_records_release(&f);
    flat_scratch_release(&scratch);
    debug_close(d);
    return entry;
}

static void a_function_of_many_ranges_begins_where_its_symbol_does(void **state) {
    (void)state;
    static const struct object_symbol symbols[] = {{BASE, SIZE, "work"},
                                                   {BASE + SIZE, SIZE, "inner"},
                                                   {BASE + 2 * SIZE, SIZE, "work.__part.1"},
                                                   {BASE + 5 * SIZE, SIZE, "joined"}};
    assert_int_equal(entry_of("work", symbols, 4), BASE);
    assert_int_equal(entry_of("joined", symbols, 4),
                     BASE + 5 * SIZE); /* this entry is inside a range */
    /* The function has no symbol, or only one outside its ranges: the entry is the start of the
     * range that is listed first. */
    assert_int_equal(entry_of("wor", symbols, 4), BASE + 2 * SIZE);
    assert_int_equal(entry_of("inner", symbols, 4), BASE + 2 * SIZE);
    assert_int_equal(entry_of("work", symbols, 0), BASE + 2 * SIZE);
}

static void a_long_name_is_sought_among_few_symbols(void **state) {
    enum { LENGTH = 16000, SYMBOLS = SIZE };
    static char name[LENGTH + 1], other[LENGTH + 1];
    struct object_symbol symbols[SYMBOLS];
    (void)state;
    memset(name, 'n', LENGTH);
    memcpy(other, name, LENGTH - 1);
    for (unsigned i = 0; i < SYMBOLS; i++) {
        symbols[i] = (struct object_symbol){BASE + i, 1, other};
    }
    symbols[1].name = name;
    assert_int_equal(entry_of(name, symbols, SYMBOLS), BASE + 1);
    symbols[1].name = other;
    symbols[SYMBOLS - 1].name = name;
    assert_int_equal(entry_of(name, symbols, SYMBOLS),
                     BASE + 2 * SIZE); /* the entry of the first range listed */
    symbols[SYMBOLS - 1].name = "short";
    assert_int_equal(entry_of("short", symbols, SYMBOLS), BASE + SYMBOLS - 1);
}

/* Builds four pieces of code of SIZE bytes each, in one sequence: a function with two rows, a
 * function without any, and two symbols that are no functions, the last of which has a row in its
 * middle. */
static void build_rowless(struct dwarf_build *b, unsigned language) {
    *b = (struct dwarf_build){0};
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, DW_AT_language,
           DW_FORM_data2, DW_AT_stmt_list, DW_FORM_sec_offset, 0);
    abbrev(b, 2, DW_TAG_subprogram, false, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1,
           0);
    end_abbrevs(b);
    begin_unit(b, 4, 0);
    put_uleb(b, 1), put_text(b, "u.c"), put(b, language, 2), put(b, 0, 4);
    put_uleb(b, 2), put_address(b, BASE), put(b, SIZE, 1);
    put_uleb(b, 2), put_address(b, BASE + SIZE), put(b, SIZE, 1);
    put(b, 0, 1);
    end_unit(b);
    begin_lines(b);
    put(b, 0, 1), put_uleb(b, 9), put(b, DW_LNE_set_address, 1), put(b, BASE, 8);
    put(b, DW_LNS_advance_line, 1), put_sleb(b, 9), put(b, DW_LNS_copy, 1);
    put(b, DW_LNS_advance_pc, 1), put_uleb(b, SIZE / 2);
    put(b, DW_LNS_advance_line, 1), put_sleb(b, 1), put(b, DW_LNS_copy, 1);
    put(b, DW_LNS_advance_pc, 1), put_uleb(b, 3 * SIZE), put(b, DW_LNS_copy, 1);
    put(b, DW_LNS_advance_pc, 1), put_uleb(b, SIZE / 2);
    put(b, 0, 1), put_uleb(b, 1), put(b, DW_LNE_end_sequence, 1);
    put_at(b, 0, here(b) - 4, 4);
}

/* Checks the lines of the functions' steps, and those of the symbols' rows. */
static void assert_rows(unsigned language, const uint32_t *functions, const uint64_t *rows,
                        size_t row_count) {
    static const struct object_symbol symbols[] = {{BASE + 2 * SIZE, SIZE, "outlined"},
                                                   {BASE + 3 * SIZE, SIZE, "last"}};
    static struct dwarf_build b;
    const struct own_symbols own = {.symbols = symbols, .symbol_count = 2};
    struct sections sections;
    struct flat_scratch scratch = {0};
    struct flat_records f = {0};
    struct debug *d;
    struct err e = {0};
    build_rowless(&b, language);
    assert_int_equal(open_built(&d, &b, &sections, (struct debug_setup){0}, NULL), ST_OK);
    assert_int_equal(flat_records_read(&f, d, 0, &own, &scratch, &e), ST_OK);
    assert_int_equal(f.record_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct flat_record *r = &f.records[i];
        uint64_t from = flat_unit_first_row(f.unit, r->low);
        uint32_t line = r->step_count > 0 ? f.steps[r->first_step].place.line : 0;
        assert_int_equal(line, functions[i]);
        assert_int_equal(flat_unit_place(f.unit, r->low, from).line, functions[i]);
    }
    assert_int_equal(f.row_count, row_count);
    for (size_t i = 0; i < row_count; i++) {
        uint64_t start = BASE + (rows[i] >= BASE + 3 * SIZE ? 3 : 2) * SIZE;
        uint64_t from = flat_unit_first_row(f.unit, start);
        assert_int_equal(f.rows[i].low, rows[i]);
        assert_int_equal(f.rows[i].place.line, 11);
        assert_int_equal(flat_unit_place(f.unit, rows[i], from).line, 11);
    }
    uint64_t outlined = BASE + 2 * SIZE;
    assert_int_equal(
        flat_unit_place(f.unit, outlined, flat_unit_first_row(f.unit, outlined)).file != 0,
        row_count > 1);
    flat_records_release(&f);
    flat_scratch_release(&scratch);
    debug_close(d);
}

static void a_row_gives_no_line_to_the_functions_behind_its_own(void **state) {
    static const uint32_t functions[] = {10, 0};
    static const uint64_t rows[] = {BASE + 3 * SIZE + SIZE / 2};
    (void)state;
    assert_rows(DW_LANG_C99, functions, rows, 1);
}

/* In assembler a function without a row has the line of the row in front of it, because one macro's
 * line may make several functions. */
static void it_does_in_assembler(void **state) {
    static const uint32_t functions[] = {10, 11};
    static const uint64_t rows[] = {BASE + 2 * SIZE, BASE + 3 * SIZE};
    (void)state;
    assert_rows(DW_LANG_Mips_Assembler, functions, rows, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_gives_no_line_to_the_functions_behind_its_own),
        cmocka_unit_test(it_does_in_assembler),
        cmocka_unit_test(of_folded_functions_the_lines_are_the_ones_of_the_one_that_answers),
        cmocka_unit_test(of_a_function_that_is_declared_nowhere_they_are_the_first_ones),
        cmocka_unit_test(a_function_of_many_ranges_begins_where_its_symbol_does),
        cmocka_unit_test(a_long_name_is_sought_among_few_symbols),
    };
    return cmocka_run_group_tests_name("flat_unit", tests, NULL, NULL);
}
