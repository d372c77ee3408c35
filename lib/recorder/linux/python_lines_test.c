/* Tests the reading of CPython's line tables: those that several versions made of a known source,
 * and any bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "linux/python_layout.h"
#include "linux/python_lines.h"

/* def f(x):           # line 1
 *     y = x + 1
 *
 *     return (y *
 *             x)
 * compiled by CPython 3.9.18, 3.10.13 and 3.11.7: co_lnotab, co_linetable. */
static const uint8_t lnotab[] = {0, 1, 8, 2, 2, 1, 2, 255};
static const uint8_t lines[] = {8, 1, 2, 2, 2, 1, 4, 255};
static const uint8_t locations[] = {0x80, 0,  216, 8,   9, 136, 65, 137, 5,   128, 65, 224, 12, 13,
                                    216,  12, 13,  241, 3, 1,   13, 14,  240, 0,   1,  5,   15};

static void the_line_is_that_of_the_range_that_holds_the_instruction(void **state) {
    (void)state;
    static const struct {
        uint64_t offset;
        uint32_t line;
    } cases[] = {{0, 2}, {6, 2}, {8, 4}, {10, 5}, {12, 4}, {14, 4}},
      later[] = {{0, 1}, {2, 2}, {10, 2}, {12, 4}, {14, 5}, {16, 4}, {20, 4}, {22, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            python_line_async(PYTHON_LNOTAB, lnotab, sizeof lnotab, 1, cases[i].offset),
            cases[i].line);
        assert_int_equal(python_line_async(PYTHON_LINES, lines, sizeof lines, 1, cases[i].offset),
                         cases[i].line);
    }
    assert_int_equal(python_line_async(PYTHON_LINES, lines, sizeof lines, 1, 16), 0);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        assert_int_equal(
            python_line_async(PYTHON_LOCATIONS, locations, sizeof locations, 1, later[i].offset),
            later[i].line);
    }
}

static void locations_have_forms_with_and_without_columns(void **state) {
    (void)state;
    /* The table has RESUME on line 1, two units on line 2, one unit without a line, and one with a
     * long entry. */
    static const uint8_t table[] = {0x80, 0x00, 0xd9, 4, 5, 0xf8, 0xf0, 0x46, 0x01, 1, 5, 9};
    assert_int_equal(python_line_async(PYTHON_LOCATIONS, table, sizeof table, 1, 0), 1);
    assert_int_equal(python_line_async(PYTHON_LOCATIONS, table, sizeof table, 1, 2), 2);
    assert_int_equal(python_line_async(PYTHON_LOCATIONS, table, sizeof table, 1, 4), 2);
    assert_int_equal(python_line_async(PYTHON_LOCATIONS, table, sizeof table, 1, 6), 0);
    assert_int_equal(python_line_async(PYTHON_LOCATIONS, table, sizeof table, 1, 8), 37);
    assert_int_equal(python_line_async(PYTHON_LOCATIONS, table, sizeof table, 1, 10), 0);
}

static void any_bytes_have_an_answer(void **state) {
    (void)state;
    uint8_t table[64];
    uint32_t random = 1;
    for (unsigned n = 0; n < 20000; n++) {
        for (size_t i = 0; i < sizeof table; i++) {
            random = random * 1664525 + 1013904223;
            table[i] = (uint8_t)(random >> 24);
        }
        for (unsigned form = PYTHON_LNOTAB; form <= PYTHON_LOCATIONS; form++) {
            python_line_async((enum python_lines)form, table, random % sizeof table, random,
                              random >> 20);
        }
    }
}

static void a_layout_is_known_or_it_is_not(void **state) {
    (void)state;
    struct python_layout told;
    unsigned char runtime[PYTHON_OFFSETS_SIZE] = "xdebugpy";
    assert_null(python_layout_of_async(0x0308));
    assert_null(python_layout_of_async(0x030d));
    for (uint16_t version = 0x0309; version <= 0x030c; version++) {
        assert_int_equal(python_layout_of_async(version)->version, version);
        assert_true(python_layout_of_async(version)->frame.instruction <= PYTHON_FRAME_BYTES - 8);
    }
    uint64_t words[3] = {0, 0x030d00f0, 0};
    memcpy(runtime + 8, words + 1, 16);
    assert_true(python_layout_read_async(runtime, sizeof runtime, 0x030d, &told));
    assert_false(python_layout_read_async(runtime, sizeof runtime, 0x030e, &told));
    assert_false(python_layout_read_async(runtime, 64, 0x030d, &told));
    words[2] = 1; /* the build is free-threaded */
    memcpy(runtime + 8, words + 1, 16);
    assert_false(python_layout_read_async(runtime, sizeof runtime, 0x030d, &told));
    words[2] = 0;
    memcpy(runtime + 8, words + 1, 16);
    for (size_t at = 20; at < 44; at++) { /* sets an offset that leads out of the bytes that are
                                             read */
        uint64_t far = 5000, was;
        memcpy(&was, runtime + 8 * at, 8);
        memcpy(runtime + 8 * at, &far, 8);
        bool read = python_layout_read_async(runtime, sizeof runtime, 0x030d, &told);
        assert_true(!read || (told.frame.code <= PYTHON_FRAME_BYTES - 8 &&
                              told.code.lines <= PYTHON_CODE_BYTES - 8 &&
                              told.frame.owner <= PYTHON_FRAME_BYTES - 8));
        memcpy(runtime + 8 * at, &was, 8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_is_that_of_the_range_that_holds_the_instruction),
        cmocka_unit_test(locations_have_forms_with_and_without_columns),
        cmocka_unit_test(any_bytes_have_an_answer),
        cmocka_unit_test(a_layout_is_known_or_it_is_not),
    };
    return cmocka_run_group_tests_name("python_lines", tests, NULL, NULL);
}
