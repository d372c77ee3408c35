/* Tests of packed tables: what is written is read again, and damage fails the reader. */
#include "index/format/packed_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

enum { ROWS = 100, COLUMNS = 4, BYTES = ROWS * COLUMNS * 4 + PACKED_SLACK };

static uint32_t number(unsigned row, unsigned width) {
    return (uint32_t)(hash_u64(row * 64 + width) & ((UINT64_C(1) << width) - 1));
}

/* Writes rows of columns of these widths; returns how many bytes they take. */
static size_t write_rows(const uint8_t widths[COLUMNS], char out[BYTES]) {
    struct packed_writer w = {.out = out};
    for (unsigned row = 0; row < ROWS; row++) {
        for (unsigned k = 0; k < COLUMNS; k++) {
            packed_put(&w, number(row, widths[k]), widths[k]);
        }
    }
    return (size_t)(packed_end(&w) - out);
}

static void each_width_is_read_as_it_was_written(void **state) {
    (void)state;
    for (uint8_t width = 0; width <= PACKED_WIDTH_MAX; width++) {
        const uint8_t widths[COLUMNS] = {width, 3, (uint8_t)(PACKED_WIDTH_MAX - width), 32};
        char bytes[BYTES];
        memset(bytes, 0xff, sizeof bytes);
        size_t len = write_rows(widths, bytes);
        assert_int_equal(len, (ROWS * (3 + 32 + PACKED_WIDTH_MAX) + 7) / 8);
        struct reader r = reader_init("table", bytes, len + PACKED_SLACK);
        struct packed_table t = {.widths = widths, .count = ROWS};
        packed_table_read(&r, &t, COLUMNS);
        assert_false(reader_failed(&r));
        assert_int_equal(reader_left(&r), PACKED_SLACK);
        for (unsigned row = 0; row < ROWS; row++) {
            struct packed_row at = packed_row(&t, row);
            for (unsigned k = 0; k < COLUMNS; k++) {
                assert_int_equal(packed_next(&at), number(row, widths[k]));
            }
        }
    }
}

static void a_number_needs_the_bits_of_its_highest_one(void **state) {
    (void)state;
    assert_int_equal(packed_width(0), 0);
    for (unsigned bit = 0; bit < 32; bit++) {
        assert_int_equal(packed_width(UINT32_C(1) << bit), bit + 1);
        assert_int_equal(packed_width(UINT32_MAX >> bit), 32 - bit);
    }
}

static void rows_up_to_a_number_are_counted(void **state) {
    (void)state;
    enum { WIDTH = 11, STEP = 20 };
    const uint8_t width = WIDTH;
    char bytes[BYTES] = {0};
    struct packed_writer w = {.out = bytes};
    for (uint32_t i = 0; i < ROWS; i++) {
        packed_put(&w, i * STEP, WIDTH);
    }
    struct reader r = reader_init("table", bytes, sizeof bytes);
    struct packed_table t = {.widths = &width, .count = ROWS};
    (void)packed_end(&w);
    packed_table_read(&r, &t, 1);
    assert_false(reader_failed(&r));
    for (uint64_t begin = 0; begin <= ROWS; begin += 7) {
        for (uint64_t end = begin; end <= ROWS; end++) {
            for (uint64_t value = 0; value < (UINT64_C(1) << WIDTH); value += 5) {
                uint64_t up_to = value / STEP + 1, expected = up_to < end ? up_to : end;
                assert_int_equal(packed_rows_up_to(&t, begin, end, value),
                                 expected > begin ? expected - begin : 0);
            }
        }
    }
}

static void a_table_that_cannot_be_fails_the_reader(void **state) {
    (void)state;
    const uint8_t sound[] = {5, 32}, wide[] = {5, 33};
    static const uint8_t bytes[64];
    const struct {
        const uint8_t *widths;
        uint64_t count;
        size_t len;
        bool failed;
    } cases[] = {
        {sound, 10, 47 + PACKED_SLACK, false},
        {sound, 10, 47 + PACKED_SLACK - 1,
         true}, /* one byte less than PACKED_SLACK, which is read past the table's end */
        {sound, 10, 46, true},
        {wide, 1, sizeof bytes, true},
        {sound, UINT64_C(1) << 32, sizeof bytes, true},
        {sound, UINT64_MAX, sizeof bytes, true},
        {sound, 0, PACKED_SLACK, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reader r = reader_init("table", bytes, cases[i].len);
        struct packed_table t = {.widths = cases[i].widths, .count = cases[i].count};
        packed_table_read(&r, &t, 2);
        assert_int_equal(reader_failed(&r), cases[i].failed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_width_is_read_as_it_was_written),
        cmocka_unit_test(a_number_needs_the_bits_of_its_highest_one),
        cmocka_unit_test(rows_up_to_a_number_are_counted),
        cmocka_unit_test(a_table_that_cannot_be_fails_the_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
