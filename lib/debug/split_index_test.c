#include "debug/split_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* An index that is built cell by cell. */
struct index_build {
    uint8_t bytes[4096];
    size_t len;
    bool big_endian;
};

static void put_cell(struct index_build *b, uint64_t v, unsigned size) {
    for (unsigned i = 0; i < size; i++) {
        unsigned shift = 8 * (b->big_endian ? size - 1 - i : i);
        b->bytes[b->len++] = (uint8_t)(v >> shift);
    }
}

static void put_header(struct index_build *b, uint16_t version, uint32_t columns, uint32_t units,
                       uint32_t slots) {
    put_cell(b, version, version == 2 ? 4 : 2);
    put_cell(b, 0, version == 2 ? 0 : 2);
    put_cell(b, columns, 4);
    put_cell(b, units, 4);
    put_cell(b, slots, 4);
}

static struct reader reader_of(const struct index_build *b, size_t len) {
    struct reader r = reader_init(".debug_cu_index", b->bytes, len);
    r.big_endian = b->big_endian;
    return r;
}

/* Writes an index of two units whose ids fall into one slot of four: the second one is found a step
 * farther. */
static void put_two_units(struct index_build *b, uint16_t version) {
    static const uint64_t ids[4] = {0, 0x0000000200000001, 0x0000000400000001, 0};
    static const uint32_t rows[4] = {0, 2, 1, 0}, kinds[] = {1, 3, 6, 8};
    b->len = 0;
    put_header(b, version, 4, 2, 4);
    for (size_t i = 0; i < 4; i++) {
        put_cell(b, ids[i], 8);
    }
    for (size_t i = 0; i < 4; i++) {
        put_cell(b, rows[i], 4);
    }
    for (size_t i = 0; i < 4; i++) {
        put_cell(b, kinds[i], 4);
    }
    for (uint32_t part = 0; part < 2; part++) { /* part 0 has the offsets, part 1 the sizes */
        for (uint32_t unit = 0; unit < 2; unit++) {
            for (uint32_t column = 0; column < 4; column++) {
                put_cell(b, 1000 * part + 100 * unit + 10 * column, 4);
            }
        }
    }
}

static void a_unit_is_found_by_its_id(void **state) {
    (void)state;
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        for (uint16_t version = 2; version <= 5; version = (uint16_t)(version + 3)) {
            struct index_build b = {.big_endian = big_endian};
            struct split_row row;
            struct err e = {0};
            put_two_units(&b, version);
            struct reader r = reader_of(&b, b.len);
            assert_int_equal(split_index_find(r, 0x0000000200000001, &row, &e), ST_OK);
            assert_int_equal(row.of[SECTION_INFO].offset, 100);
            assert_int_equal(row.of[SECTION_INFO].len, 1100);
            assert_int_equal(row.of[SECTION_ABBREV].offset, 110);
            assert_int_equal(row.of[SECTION_STR_OFFSETS].len, 1120);
            /* Kind 8 is .debug_macro in version 2. */
            assert_int_equal(row.of[SECTION_RNGLISTS].len, version == 5 ? 1130 : 0);
            assert_int_equal(split_index_find(r, 0x0000000400000001, &row, &e), ST_OK);
            assert_int_equal(row.of[SECTION_INFO].offset, 0);
            assert_int_equal(row.of[SECTION_INFO].len, 1000);
            assert_int_equal(split_index_find(r, 0x0000000200000003, &row, &e), ST_NONE);
            assert_int_equal(split_index_find(r, 0, &row, &e), ST_NONE);
        }
    }
}

static void a_cut_index_is_an_error(void **state) {
    (void)state;
    struct index_build b = {0};
    struct split_row row;
    put_two_units(&b, 5);
    for (size_t len = 0; len < b.len; len++) {
        struct err e = {0};
        assert_int_equal(split_index_find(reader_of(&b, len), 1, &row, &e), ST_ERR);
        assert_true(err_is(&e));
    }
}

static void what_makes_no_sense_is_an_error(void **state) {
    (void)state;
    static const struct {
        uint16_t version;
        uint32_t columns, units, slots;
    } headers[] = {{3, 1, 1, 2},          {5, 17, 1, 2},         {5, 1, 1, 3},
                   {5, 1, UINT32_MAX, 2}, {5, 16, 1u << 28, 16}, {5, 1, 1, 1u << 31}};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct index_build b = {0};
        struct split_row row;
        struct err e = {0};
        put_header(&b, headers[i].version, headers[i].columns, headers[i].units, headers[i].slots);
        assert_int_equal(split_index_find(reader_of(&b, sizeof b.bytes), 1, &row, &e), ST_ERR);
    }
}

static void a_row_outside_of_the_table_is_an_error(void **state) {
    (void)state;
    struct index_build b = {0};
    struct split_row row;
    struct err e = {0};
    put_two_units(&b, 5);
    b.bytes[16 + 32 + 4] = 3; /* slot 1 refers to a row that does not exist */
    assert_int_equal(split_index_find(reader_of(&b, b.len), 0x0000000200000001, &row, &e), ST_ERR);
}

static void a_full_table_is_searched_once(void **state) {
    (void)state;
    struct index_build b = {0};
    struct split_row row;
    struct err e = {0};
    put_header(&b, 5, 0, 1, 64);
    for (uint64_t i = 0; i < 64; i++) {
        put_cell(&b, i, 8);
    }
    for (size_t i = 0; i < 64; i++) {
        put_cell(&b, 1, 4);
    }
    assert_int_equal(split_index_find(reader_of(&b, b.len), 1000, &row, &e), ST_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_is_found_by_its_id),
        cmocka_unit_test(a_cut_index_is_an_error),
        cmocka_unit_test(what_makes_no_sense_is_an_error),
        cmocka_unit_test(a_row_outside_of_the_table_is_an_error),
        cmocka_unit_test(a_full_table_is_searched_once),
    };
    return cmocka_run_group_tests_name("split_index", tests, NULL, NULL);
}
