/* Tests of temporary files without a name, and of archives recognised by their first bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "object/find/packed.h"
#include "object/find/spill.h"

static void pieces_outlive_the_spill_and_each_other(void **state) {
    struct spill s = {0};
    struct filemap a = {0}, b = {0};
    (void)state;
    assert_int_equal(spill_begin(&s, NULL), ST_OK);
    assert_int_equal(spill_write(&s, 0, "first", 5, NULL), ST_OK);
    assert_int_equal(spill_map(&s, 5, &a, NULL), ST_OK);
    assert_int_equal(spill_begin(&s, NULL), ST_OK);
    assert_int_equal(spill_write(&s, 3, "second", 6, NULL), ST_OK);
    assert_int_equal(spill_map(&s, 12, &b, NULL), ST_OK);
    spill_release(&s);
    spill_release(&s);
    assert_int_equal(a.size, 5);
    assert_memory_equal(a.data, "first", 5);
    assert_int_equal(b.size, 12);
    assert_memory_equal(b.data, "\0\0\0second\0\0\0", 12);
    filemap_release(&a);
    filemap_release(&b);
}

static void nothing_of_an_unfinished_piece_shows_in_the_next(void **state) {
    static const char zeros[8];
    struct spill s = {0};
    struct filemap m = {0};
    (void)state;
    assert_int_equal(spill_begin(&s, NULL), ST_OK);
    assert_int_equal(spill_write(&s, 0, "unfinished", 10, NULL), ST_OK);
    assert_int_equal(spill_begin(&s, NULL), ST_OK);
    assert_int_equal(spill_write(&s, 8, "x", 1, NULL), ST_OK);
    assert_int_equal(spill_map(&s, 9, &m, NULL), ST_OK);
    assert_memory_equal(m.data, zeros, sizeof zeros);
    filemap_release(&m);
    spill_release(&s);
}

static void what_cannot_be_written_is_an_error(void **state) {
    struct spill s = {.folder = "no/such/folder"};
    struct filemap m = {0};
    struct err e = {0};
    (void)state;
    assert_int_equal(spill_begin(&s, &e), ST_ERR);
    assert_int_equal(e.code, ERR_IO);
    assert_non_null(strstr(e.text, "no/such/folder"));
    spill_release(&s);
    assert_int_equal(spill_begin(&s, NULL), ST_OK);
    assert_int_equal(spill_write(&s, UINT64_MAX - 2, "xxxx", 4, NULL), ST_ERR);
    assert_int_equal(spill_write(&s, INT64_MAX, "x", 1, NULL), ST_ERR);
    assert_int_equal(spill_map(&s, 0, &m, NULL), ST_ERR);
    assert_int_equal(spill_map(&s, UINT64_MAX, &m, NULL), ST_ERR);
    spill_release(&s);
}

static void archives_are_told_by_their_first_bytes(void **state) {
    uint8_t tar[PACKED_HEAD] = {0};
    (void)state;
    memcpy(tar + 257, "ustar", 5);
    assert_int_equal(packed_kind_of(tar, sizeof tar), PACKED_CERTAIN);
    assert_int_equal(packed_kind_of(tar, 261), PACKED_NOT);
    assert_int_equal(packed_kind_of((const uint8_t *)"PK\3\4", 4), PACKED_CERTAIN);
    assert_int_equal(packed_kind_of((const uint8_t *)"\x1f\x8b\x08", 3), PACKED_MAYBE);
    assert_int_equal(packed_kind_of((const uint8_t *)"\xfd\x37zXZ\0", 6), PACKED_MAYBE);
    assert_int_equal(packed_kind_of((const uint8_t *)"\x28\xb5\x2f\xfd", 4), PACKED_MAYBE);
    assert_int_equal(packed_kind_of((const uint8_t *)"\x7f\x45LF", 4), PACKED_NOT);
    assert_int_equal(packed_kind_of(tar, 0), PACKED_NOT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_outlive_the_spill_and_each_other),
        cmocka_unit_test(nothing_of_an_unfinished_piece_shows_in_the_next),
        cmocka_unit_test(what_cannot_be_written_is_an_error),
        cmocka_unit_test(archives_are_told_by_their_first_bytes),
    };
    return cmocka_run_group_tests_name("spill", tests, NULL, NULL);
}
