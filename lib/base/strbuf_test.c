#include "base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"

static void zeroed_is_an_empty_string(void **state) {
    (void)state;
    struct strbuf b = {0};
    assert_string_equal(strbuf_cstr(&b), "");
    assert_int_equal(strbuf_check(&b, NULL), ST_OK);
    strbuf_add(&b, NULL, 0);
    strbuf_truncate(&b, 0);
    strbuf_clear(&b);
    assert_int_equal(b.len, 0);
    strbuf_release(&b);
    strbuf_release(&b);
}

static void appends_keep_a_nul_behind(void **state) {
    (void)state;
    struct strbuf b = {0};
    for (int i = 0; i < 1000; i++) {
        strbuf_add(&b, "ab\0", 3);
        assert_int_equal(b.data[b.len], '\0');
    }
    assert_int_equal(b.len, 3000);
    strbuf_truncate(&b, 2);
    assert_string_equal(strbuf_cstr(&b), "ab");
    strbuf_truncate(&b, 3); /* truncating to more than the length has no effect */
    assert_int_equal(b.len, 2);
    strbuf_addc(&b, 'c');
    strbuf_addstr(&b, "de");
    assert_string_equal(strbuf_cstr(&b), "abcde");
    strbuf_release(&b);
}

static void formats_of_any_length(void **state) {
    (void)state;
    struct strbuf b = {0};
    strbuf_addf(&b, "%s-%d", "x", 5);
    strbuf_addf(&b, "%s", "");
    strbuf_addf(&b, "%5000d", 7);
    assert_int_equal(b.len, 5003);
    assert_memory_equal(b.data, "x-5   ", 6);
    assert_int_equal(b.data[5002], '7');
    strbuf_release(&b);
}

static void numbers_are_as_printf_prints_them(void **state) {
    (void)state;
    const uint64_t values[] = {0,         1, 9, 10, 99, 12345678901, INT64_MAX, UINT64_C(1) << 63,
                               UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char want[80];
        int64_t s =
            values[i] > INT64_MAX ? -(int64_t)(UINT64_MAX - values[i]) - 1 : (int64_t)values[i];
        snprintf(want, sizeof want, "%" PRIu64 " %" PRId64 " %" PRIx64, values[i], s, values[i]);
        struct strbuf b = {0};
        strbuf_addu64(&b, values[i]);
        strbuf_addc(&b, ' ');
        strbuf_addi64(&b, s);
        strbuf_addc(&b, ' ');
        strbuf_addhex(&b, values[i]);
        assert_string_equal(strbuf_cstr(&b), want);
        strbuf_release(&b);
    }
}

static void decimals_of_every_length(void **state) {
    (void)state;
    struct strbuf b = {0};
    for (uint64_t power = 1; power; power = power > UINT64_MAX / 10 ? 0 : power * 10) {
        for (uint64_t v = power - 1; v <= power + 1; v++) {
            char want[DECIMAL_MAX + 1];
            snprintf(want, sizeof want, "%" PRIu64, v);
            strbuf_clear(&b);
            strbuf_addu64(&b, v);
            assert_string_equal(strbuf_cstr(&b), want);
        }
    }
    strbuf_release(&b);
}

static void past_the_limit_it_fails_and_stays_failed(void **state) {
    (void)state;
    struct strbuf b = {.limit = 5};
    strbuf_addstr(&b, "12345");
    assert_int_equal(strbuf_check(&b, NULL), ST_OK);
    strbuf_addc(&b, '6');
    strbuf_add(&b, "", 0);
    assert_string_equal(strbuf_cstr(&b), "12345");
    struct err e = {0};
    assert_int_equal(strbuf_check(&b, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_null(strbuf_take(&b));
    strbuf_clear(&b);
    assert_int_equal(strbuf_check(&b, NULL), ST_OK);
    strbuf_addf(&b, "%d", 123456);
    assert_int_equal(b.len, 0); /* a text that does not fit is left out as a whole */
    assert_int_equal(strbuf_check(&b, NULL), ST_ERR);
    strbuf_release(&b);
    assert_int_equal(b.limit, 5);
}

static void length_overflow_is_out_of_memory(void **state) {
    (void)state;
    struct strbuf b = {0};
    strbuf_addc(&b, 'x');
    strbuf_add(&b, "y", SIZE_MAX);
    struct err e = {0};
    assert_int_equal(strbuf_check(&b, &e), ST_ERR);
    assert_int_equal(e.code, ERR_NOMEM);
    strbuf_release(&b);
}

static void take_hands_over_the_text(void **state) {
    (void)state;
    struct strbuf b = {.limit = 10};
    strbuf_addstr(&b, "text");
    char *text = strbuf_take(&b);
    assert_string_equal(text, "text");
    assert_int_equal(b.len, 0);
    assert_null(b.data);
    assert_int_equal(b.limit, 10);
    free(text);
    text = strbuf_take(&b);
    assert_string_equal(text, "");
    free(text);
}

static void no_memory_marks_it_failed(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf b = {0};
    strbuf_addstr(&b, "kept");
    failmalloc_arm(1, false);
    strbuf_addf(&b, "%200d", 1);
    assert_true(failmalloc_disarm());
    strbuf_addc(&b, 'x'); /* memory is available again, but a buffer that has failed takes no more,
                             so that no text has a hole */
    assert_string_equal(strbuf_cstr(&b), "kept");
    struct err e = {0};
    assert_int_equal(strbuf_check(&b, &e), ST_ERR);
    assert_int_equal(e.code, ERR_NOMEM);
    strbuf_release(&b);
    failmalloc_arm(1, false);
    assert_null(strbuf_take(&b));
    assert_true(failmalloc_disarm());
}

/* Checks that a failure survives strbuf_clear: a scratch buffer is used for many texts and checked
 * after the last. */
static void lack_of_memory_is_remembered_until_it_is_reset(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf b = {0};
    failmalloc_arm(1, false);
    strbuf_addstr(&b, "lost");
    assert_true(failmalloc_disarm());
    strbuf_clear(&b);
    strbuf_addstr(&b, "next");
    assert_string_equal(strbuf_cstr(&b), "");
    assert_int_equal(strbuf_check(&b, NULL), ST_ERR);
    strbuf_reset(&b);
    strbuf_addstr(&b, "next");
    assert_string_equal(strbuf_cstr(&b), "next");
    assert_int_equal(strbuf_check(&b, NULL), ST_OK);
    strbuf_release(&b);
}

static void room_for_much_is_taken_once(void **state) {
    const size_t sizes[] = {1, 100, 1 << 20, 3 << 20};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct strbuf b = {0};
        strbuf_room_large(&b, sizes[i]);
        const char *data = b.data;
        assert_true(data && b.cap >= sizes[i] && b.len == 0 && *data == '\0');
        strbuf_room_large(&b,
                          2 * sizes[i]); /* does nothing, because the buffer has memory already */
        while (b.len + 1 < sizes[i]) {
            strbuf_addc(&b, 'x');
        }
        assert_ptr_equal(b.data, data);
        strbuf_addstr(&b, "yz"); /* this buffer grows as other buffers do */
        assert_false(b.failed);
        assert_int_equal(strlen(b.data), b.len);
        strbuf_release(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_is_an_empty_string),
        cmocka_unit_test(appends_keep_a_nul_behind),
        cmocka_unit_test(formats_of_any_length),
        cmocka_unit_test(numbers_are_as_printf_prints_them),
        cmocka_unit_test(decimals_of_every_length),
        cmocka_unit_test(past_the_limit_it_fails_and_stays_failed),
        cmocka_unit_test(length_overflow_is_out_of_memory),
        cmocka_unit_test(take_hands_over_the_text),
        cmocka_unit_test(no_memory_marks_it_failed),
        cmocka_unit_test(lack_of_memory_is_remembered_until_it_is_reset),
        cmocka_unit_test(room_for_much_is_taken_once),
    };
    return cmocka_run_group_tests_name("strbuf", tests, NULL, NULL);
}
