#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/utf8.h"

static void first_error_sticks(void **state) {
    (void)state;
    struct err e = {0};
    assert_false(err_is(&e));
    assert_int_equal(err_set(&e, ERR_FORMAT, "bad %s", "magic"), ST_ERR);
    assert_int_equal(err_set(&e, ERR_IO, "later"), ST_ERR);
    assert_int_equal(err_at(&e, ERR_IO, "f", 1, "later"), ST_ERR);
    assert_int_equal(err_sys(&e, EIO, "later"), ST_ERR);
    assert_int_equal(err_nomem(&e), ST_ERR);
    assert_true(err_is(&e));
    assert_int_equal(e.code, ERR_FORMAT);
    assert_string_equal(e.text, "bad magic");
}

static void null_error_is_allowed(void **state) {
    (void)state;
    assert_int_equal(err_set(NULL, ERR_IO, "x"), ST_ERR);
    assert_int_equal(err_at(NULL, ERR_IO, "f", 0, "x"), ST_ERR);
    assert_int_equal(err_sys(NULL, EIO, "x"), ST_ERR);
    assert_int_equal(err_nomem(NULL), ST_ERR);
    assert_int_equal(err_context(NULL, "x"), ST_ERR);
    assert_false(err_is(NULL));
    err_clear(NULL);
}

static void err_at_says_where(void **state) {
    (void)state;
    struct err e = {0};
    err_at(&e, ERR_TRUNCATED, "App", 0x1f40, "segment %d past end of file", 3);
    assert_string_equal(e.text, "segment 3 past end of file in 'App' at 0x1f40");
    assert_int_equal(e.code, ERR_TRUNCATED);
}

static void place_survives_an_overlong_text(void **state) {
    (void)state;
    struct err e = {0};
    char big[2 * ERR_TEXT_SIZE];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    err_at(&e, ERR_FORMAT, "App", 16, "%s", big);
    assert_int_equal(strlen(e.text), ERR_TEXT_SIZE - 1);
    const char *tail = " in 'App' at 0x10";
    assert_string_equal(e.text + strlen(e.text) - strlen(tail), tail);

    struct err named = {0};
    memcpy(big + sizeof big - 6, "/App", 4);
    big[sizeof big - 2] = '\0';
    err_at(&named, ERR_FORMAT, big, 16, "bad header");
    assert_non_null(strstr(named.text, "bad header in '...xxx"));
    assert_non_null(strstr(named.text, "/App' at 0x10"));
}

static void err_sys_names_the_cause(void **state) {
    (void)state;
    struct err e = {0};
    err_sys(&e, ENOSPC, "cannot write '%s'", "out");
    assert_int_equal(e.code, ERR_IO);
    assert_true(e.no_room);
    assert_string_equal(e.text, "cannot write 'out': No space left on device");
    err_context(&e, "the page");
    assert_true(e.no_room);
    err_clear(&e);
    assert_false(e.no_room);
    err_sys(&e, EACCES, "cannot write 'out'");
    assert_false(e.no_room);
    err_no_room(&e); /* the first error sticks */
    assert_false(e.no_room);
    err_clear(&e);
    err_no_room(&e);
    assert_true(e.no_room);
    assert_int_equal(e.code, ERR_IO);
    err_clear(&e);
    err_sys(&e, ENOMEM, "cannot map");
    assert_int_equal(e.code, ERR_NOMEM);
}

static void errno_is_kept(void **state) {
    (void)state;
    struct err e = {0};
    errno = E2BIG;
    err_set(&e, ERR_IO, "x");
    err_context(&e, "y");
    err_clear(&e);
    err_sys(&e, ENOENT, "x");
    err_clear(&e);
    err_at(&e, ERR_IO, "f", 0, "x");
    assert_int_equal(errno, E2BIG);
}

static void context_goes_in_front(void **state) {
    (void)state;
    struct err e = {0};
    assert_int_equal(err_context(&e, "nothing"), ST_ERR);
    assert_false(err_is(&e));
    assert_string_equal(e.text, "");
    err_set(&e, ERR_FORMAT, "bad uuid");
    err_context(&e, "line %d", 7);
    err_context(&e, "dump '%s'", "a.json");
    assert_string_equal(e.text, "dump 'a.json': line 7: bad uuid");
    assert_int_equal(e.code, ERR_FORMAT);
    char big[2 * ERR_TEXT_SIZE];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    err_context(&e, "%s", big);
    assert_int_equal(strlen(e.text), ERR_TEXT_SIZE - 1);
}

static void names_cannot_control_a_terminal(void **state) {
    (void)state;
    struct err e = {0};
    err_at(&e, ERR_FORMAT, "a\x1b[2Jb\n\x7f", 0, "c\td");
    assert_string_equal(e.text, "c?d in 'a?[2Jb?\?' at 0x0");
    err_context(&e, "x\ry");
    assert_string_equal(e.text, "x?y: c?d in 'a?[2Jb?\?' at 0x0");
}

static void a_cut_text_ends_on_a_whole_character(void **state) {
    (void)state;
    char euros[2 * ERR_TEXT_SIZE];
    for (size_t shift = 0; shift < 3; shift++) {
        size_t n = 0;
        memset(euros, 'x', shift);
        for (n = shift; n + 3 < sizeof euros; n += 3) {
            memcpy(euros + n, "\xe2\x82\xac", 3);
        }
        euros[n] = '\0';
        struct err e = {0};
        err_set(&e, ERR_FORMAT, "%s", euros);
        assert_true(utf8_valid(e.text, strlen(e.text)));
        assert_true(strlen(e.text) >= ERR_TEXT_SIZE - 3);
    }
}

static void copy_has_all_of_the_error(void **state) {
    (void)state;
    struct err full = {0}, copy = {0}, other = {0};
    err_no_room(&full);
    assert_int_equal(err_copy(&copy, &full), ST_ERR);
    assert_int_equal(copy.code, ERR_IO);
    assert_true(copy.no_room);
    assert_string_equal(copy.text, full.text);
    err_nomem(&other);
    err_copy(&copy, &other); /* the first error sticks */
    assert_int_equal(copy.code, ERR_IO);
    assert_int_equal(err_copy(NULL, &full), ST_ERR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error_sticks),
        cmocka_unit_test(null_error_is_allowed),
        cmocka_unit_test(err_at_says_where),
        cmocka_unit_test(place_survives_an_overlong_text),
        cmocka_unit_test(err_sys_names_the_cause),
        cmocka_unit_test(errno_is_kept),
        cmocka_unit_test(context_goes_in_front),
        cmocka_unit_test(copy_has_all_of_the_error),
        cmocka_unit_test(names_cannot_control_a_terminal),
        cmocka_unit_test(a_cut_text_ends_on_a_whole_character),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
