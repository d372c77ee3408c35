#include "base/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define READER(...)                                                                                \
    reader_init("file", (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void fixed_widths_follow_the_byte_order(void **state) {
    (void)state;
    struct reader r = READER(1, 2, 1, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1);
    assert_int_equal(reader_u8(&r), 1);
    assert_int_equal(reader_u16(&r), 0x0102);
    assert_int_equal(reader_u32(&r), 0x01020304);
    assert_true(reader_u64(&r) == UINT64_C(0x0102030405060708));
    assert_int_equal(reader_left(&r), 0);
    assert_false(reader_failed(&r));
    r.at = r.start;
    r.big_endian = true;
    assert_int_equal(reader_u8(&r), 1);
    assert_int_equal(reader_u16(&r), 0x0201);
    assert_int_equal(reader_u32(&r), 0x04030201);
    assert_true(reader_u64(&r) == UINT64_C(0x0807060504030201));
}

static void a_failed_read_returns_zero_and_stays_failed(void **state) {
    (void)state;
    struct reader r = READER(0xff, 0xff, 0xff);
    assert_int_equal(reader_u16(&r), 0xffff);
    assert_int_equal(reader_u16(&r), 0);
    assert_true(reader_failed(&r));
    assert_int_equal(reader_pos(&r), 2);
    assert_int_equal(reader_u8(&r), 0); /* one byte is there, but the reader has failed */
    assert_int_equal(reader_u32(&r), 0);
    assert_true(reader_u64(&r) == 0);
    assert_true(reader_uleb128(&r) == 0);
    assert_true(reader_sleb128(&r) == 0);
    assert_null(reader_bytes(&r, 1));
    assert_null(reader_bytes(&r, 0));
    size_t len = 5;
    assert_string_equal(reader_cstr(&r, &len), "");
    assert_int_equal(len, 0);
    reader_seek(&r, 0);
    reader_skip(&r, 0);
    assert_true(reader_failed(&r));
    assert_int_equal(reader_pos(&r), 2);
    assert_int_equal(reader_left(&r), 0);
    assert_int_equal(reader_pos(&r), 2);
}

static void seek_and_skip_stay_inside(void **state) {
    (void)state;
    struct reader r = READER(1, 2, 3, 4);
    reader_seek(&r, 4); /* the end of the data is a valid position */
    assert_false(reader_failed(&r));
    reader_seek(&r, 1);
    reader_skip(&r, 2);
    assert_int_equal(reader_u8(&r), 4);
    reader_seek(&r, 1);
    struct reader a = r, b = r, c = r, d = r;
    reader_seek(&a, 5);
    assert_true(reader_failed(&a));
    reader_seek(&b, UINT64_MAX);
    assert_true(reader_failed(&b));
    reader_skip(&c, 4);
    assert_true(reader_failed(&c));
    reader_skip(&d, UINT64_MAX); /* the sum of position and length would overflow */
    assert_true(reader_failed(&d));
}

static void empty_readers_need_no_bytes(void **state) {
    (void)state;
    struct reader r = reader_init("file", NULL, 0);
    assert_int_equal(reader_left(&r), 0);
    assert_null(reader_bytes(&r, 0));
    assert_false(reader_failed(&r));
    struct reader sub = reader_sub(&r, 0, "sub");
    assert_false(reader_failed(&sub));
    assert_int_equal(reader_u8(&r), 0);
    assert_true(reader_failed(&r));
    struct reader s = reader_init("file", NULL, 0);
    assert_string_equal(reader_cstr(&s, NULL), "");
    assert_true(reader_failed(&s));
}

static void uleb128_up_to_64_bits(void **state) {
    (void)state;
    struct reader r = READER(0x02, 0x7f, 0x80, 0x01, 0xb9, 0x64);
    assert_int_equal(reader_uleb128(&r), 2); /* the examples of DWARF 5, figure C.1 */
    assert_int_equal(reader_uleb128(&r), 127);
    assert_int_equal(reader_uleb128(&r), 128);
    assert_int_equal(reader_uleb128(&r), 12857);
    struct reader max = READER(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
    assert_true(reader_uleb128(&max) == UINT64_MAX);
    struct reader padded =
        READER(0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00);
    assert_int_equal(reader_uleb128(&padded), 1);
    assert_false(reader_failed(&padded));
}

/* Reads numbers of each length at each distance from the end, because the reader takes 8 bytes at a
 * time as long as so many are left. */
static void uleb128_of_every_length_anywhere(void **state) {
    (void)state;
    for (unsigned bits = 1; bits <= 64; bits++) {
        uint64_t want = UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits);
        uint8_t bytes[10 + 9] = {0};
        size_t len = 0;
        for (uint64_t v = want; len == 0 || v; v >>= 7) {
            bytes[len++] = (uint8_t)((v & 0x7f) | (v >> 7 ? 0x80 : 0));
        }
        for (size_t behind = 0; behind < 10; behind++) {
            struct reader r = reader_init("file", bytes, len + behind);
            assert_true(reader_uleb128(&r) == want);
            assert_int_equal(reader_pos(&r), len);
        }
        for (size_t left = 0; left < len; left++) {
            struct reader cut = reader_init("file", bytes, left);
            assert_true(reader_uleb128(&cut) == 0);
            assert_true(reader_failed(&cut));
        }
    }
}

static void uleb128_past_64_bits_fails(void **state) {
    (void)state;
    struct reader bit64 = READER(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02);
    assert_true(reader_uleb128(&bit64) == 0);
    assert_true(reader_failed(&bit64));
    assert_int_equal(reader_pos(&bit64), 0);
    struct reader bit70 = READER(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
    assert_true(reader_uleb128(&bit70) == 0);
    assert_true(reader_failed(&bit70));
    struct reader far =
        READER(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
    assert_true(reader_uleb128(&far) == 0);
    assert_true(reader_failed(&far));
    struct reader cut = READER(0x80, 0x80);
    assert_true(reader_uleb128(&cut) == 0);
    assert_true(reader_failed(&cut));
}

static void sleb128_up_to_64_bits(void **state) {
    (void)state;
    struct reader r = READER(0x02, 0x7e, 0xff, 0x00, 0x81, 0x7f, 0x80, 0x01, 0x80, 0x7f);
    assert_int_equal(reader_sleb128(&r), 2); /* the examples of DWARF 5, figure C.2 */
    assert_int_equal(reader_sleb128(&r), -2);
    assert_int_equal(reader_sleb128(&r), 127);
    assert_int_equal(reader_sleb128(&r), -127);
    assert_int_equal(reader_sleb128(&r), 128);
    assert_int_equal(reader_sleb128(&r), -128);
    struct reader min = READER(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f);
    assert_true(reader_sleb128(&min) == INT64_MIN);
    struct reader max = READER(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00);
    assert_true(reader_sleb128(&max) == INT64_MAX);
    struct reader padded = READER(0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f);
    assert_int_equal(reader_sleb128(&padded), -2);
    assert_false(reader_failed(&padded));
}

static void sleb128_past_64_bits_fails(void **state) {
    (void)state;
    struct reader a = READER(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
    assert_true(reader_sleb128(&a) == 0);
    assert_true(reader_failed(&a));
    struct reader b = READER(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00);
    assert_true(reader_sleb128(&b) ==
                0); /* a negative number that is padded with zeros as if it were positive */
    assert_true(reader_failed(&b));
    struct reader c = READER(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f);
    assert_true(reader_sleb128(&c) == 0);
    assert_true(reader_failed(&c));
    struct reader cut = READER(0xff);
    assert_true(reader_sleb128(&cut) == 0);
    assert_true(reader_failed(&cut));
}

static void numbers_of_any_width_follow_the_byte_order(void **state) {
    (void)state;
    const uint8_t bytes[] = {0x81, 0x92, 0xa3, 0xb4, 0xc5, 0xd6, 0xe7, 0xf8, 0x09, 0x1a};
    for (unsigned size = 1; size <= 8; size++) {
        for (size_t len = 0; len <= sizeof bytes;
             len++) { /* shorter than the number, as long, and longer */
            struct reader little = reader_init("t", bytes, len), big = little;
            uint64_t low_first = 0, high_first = 0;
            for (unsigned i = 0; i < size && len >= size; i++) {
                low_first |= (uint64_t)bytes[i] << 8 * i;
                high_first = high_first << 8 | bytes[i];
            }
            big.big_endian = true;
            assert_true(reader_uint(&little, size) == low_first);
            assert_true(reader_uint(&big, size) == high_first);
            assert_int_equal(reader_failed(&little), len < size);
            assert_int_equal(reader_failed(&big), len < size);
            assert_int_equal(reader_left(&little), len < size ? 0 : len - size);
        }
    }
}

static void strings_are_skipped_whatever_their_length(void **state) {
    (void)state;
    uint8_t bytes[40];
    for (size_t nul = 0; nul <= sizeof bytes; nul++) {
        memset(bytes, 0x80, sizeof bytes); /* a byte of 0x80 does not end the text */
        if (nul < sizeof bytes) {
            bytes[nul] = 0;
        }
        for (size_t len = 0; len <= sizeof bytes; len++) {
            struct reader r = reader_init("t", bytes, len);
            (void)reader_cstr(&r, NULL);
            assert_int_equal(reader_failed(&r), nul >= len);
            assert_int_equal(reader_left(&r), nul >= len ? 0 : len - nul - 1);
        }
    }
}

static void a_copy_reads_on_by_itself(void **state) {
    (void)state;
    struct reader r = READER(1, 2, 3);
    (void)reader_u8(&r);
    struct reader copy = r;
    assert_int_equal(reader_u8(&copy), 2);
    reader_skip(&copy, 2);
    assert_true(reader_failed(&copy));
    assert_int_equal(reader_pos(&copy), 2);
    assert_int_equal(reader_left(&copy), 0);
    assert_false(reader_failed(&r));
    assert_int_equal(reader_u8(&r), 2);
}

static void strings_end_inside_the_buffer(void **state) {
    (void)state;
    struct reader r = reader_init("file", "ab\0\0cd", 6);
    size_t len;
    assert_string_equal(reader_cstr(&r, &len), "ab");
    assert_int_equal(len, 2);
    assert_string_equal(reader_cstr(&r, &len), "");
    assert_int_equal(len, 0);
    assert_int_equal(reader_pos(&r), 4);
    assert_false(reader_failed(&r));
    assert_string_equal(reader_cstr(&r, NULL), ""); /* "cd" has no NUL */
    assert_true(reader_failed(&r));
}

static void fixed_strings_may_lack_a_nul(void **state) {
    (void)state;
    struct reader r = reader_init("file", "__debug_str_offs__TEXT\0\0\0\0\0\0\0\0\0\0x", 33);
    char name[17];
    reader_fixed_str(&r, 16, name);
    assert_string_equal(name, "__debug_str_offs");
    reader_fixed_str(&r, 16, name);
    assert_string_equal(name, "__TEXT");
    reader_fixed_str(&r, 16, name);
    assert_string_equal(name, "");
    assert_true(reader_failed(&r));
}

static void sub_readers_move_the_parent(void **state) {
    (void)state;
    struct reader r = READER(9, 0, 1, 2, 3, 4);
    r.origin = 0x100;
    r.big_endian = true;
    reader_u8(&r);
    struct reader sub = reader_sub(&r, 4, "section");
    assert_int_equal(reader_pos(&r), 5);
    assert_int_equal(reader_u16(&sub), 0x0001);
    assert_int_equal(reader_left(&sub), 2);
    reader_u32(&sub);
    assert_true(reader_failed(&sub));
    assert_false(reader_failed(&r));
    struct err e = {0};
    assert_int_equal(reader_check(&sub, &e, "table"), ST_ERR);
    assert_int_equal(e.code, ERR_TRUNCATED);
    assert_string_equal(e.text, "table is cut or damaged in 'section' at 0x103");

    struct reader past = reader_sub(&r, UINT64_MAX, NULL);
    assert_true(reader_failed(&past));
    assert_true(reader_failed(&r));
    assert_null(past.start);
    assert_string_equal(past.name, "file");
    struct err e2 = {0};
    assert_int_equal(reader_check(&past, &e2, "load command"), ST_ERR);
    assert_string_equal(e2.text, "load command is cut or damaged in 'file' at 0x105");
}

static void check_passes_while_nothing_failed(void **state) {
    (void)state;
    struct reader r = READER(1);
    struct err e = {0};
    reader_u8(&r);
    assert_int_equal(reader_check(&r, &e, "byte"), ST_OK);
    assert_false(err_is(&e));
}

static void bytes_are_lent_from_the_buffer(void **state) {
    (void)state;
    const uint8_t data[4] = {1, 2, 3, 4};
    struct reader r = reader_init("file", data, sizeof data);
    reader_u8(&r);
    assert_ptr_equal(reader_bytes(&r, 3), data + 1);
    assert_ptr_equal(reader_bytes(&r, 0), data + 4);
    assert_null(reader_bytes(&r, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_widths_follow_the_byte_order),
        cmocka_unit_test(a_failed_read_returns_zero_and_stays_failed),
        cmocka_unit_test(seek_and_skip_stay_inside),
        cmocka_unit_test(empty_readers_need_no_bytes),
        cmocka_unit_test(uleb128_up_to_64_bits),
        cmocka_unit_test(uleb128_of_every_length_anywhere),
        cmocka_unit_test(uleb128_past_64_bits_fails),
        cmocka_unit_test(sleb128_up_to_64_bits),
        cmocka_unit_test(sleb128_past_64_bits_fails),
        cmocka_unit_test(numbers_of_any_width_follow_the_byte_order),
        cmocka_unit_test(strings_are_skipped_whatever_their_length),
        cmocka_unit_test(a_copy_reads_on_by_itself),
        cmocka_unit_test(strings_end_inside_the_buffer),
        cmocka_unit_test(fixed_strings_may_lack_a_nul),
        cmocka_unit_test(sub_readers_move_the_parent),
        cmocka_unit_test(check_passes_while_nothing_failed),
        cmocka_unit_test(bytes_are_lent_from_the_buffer),
    };
    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
