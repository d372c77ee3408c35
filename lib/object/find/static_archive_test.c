/* Tests of static archives of each form, and of damaged ones. */
#include "object/find/static_archive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct archive_build {
    char bytes[2048];
    size_t len;
};

static void begin(struct archive_build *b) {
    b->len = 0;
    memcpy(b->bytes, "!<arch>\n", 8);
    b->len = 8;
}

static void member(struct archive_build *b, const char *name, const char *time, const char *body) {
    size_t len = strlen(body);
    b->len += (size_t)snprintf(b->bytes + b->len, sizeof b->bytes - b->len,
                               "%-16s%-12s%-6s%-6s%-8s%-10zu`\n%s%s", name, time, "0", "0",
                               "100644", len, body, len % 2 ? "\n" : "");
}

static enum st list(const struct archive_build *b, char *out, size_t size, struct err *e) {
    struct static_archive a;
    struct archive_member m;
    enum st st = static_archive_open(&a, "lib.a", (const uint8_t *)b->bytes, b->len);
    size_t at = 0;
    out[0] = '\0';
    while (st == ST_OK && (st = static_archive_next(&a, &m, e)) == ST_OK) {
        at += (size_t)snprintf(out + at, size - at, "%.*s@%llu=%.*s;", (int)m.name_len, m.name,
                               (unsigned long long)m.time, (int)m.len, (const char *)m.bytes);
    }
    return st;
}

static void check_list(const struct archive_build *b, const char *expected) {
    char out[512];
    struct err e = {0};
    assert_int_equal(list(b, out, sizeof out, &e), ST_NONE);
    assert_string_equal(out, expected);
}

static void names_of_bsd_are_short_or_in_front_of_the_bytes(void **state) {
    struct archive_build b;
    (void)state;
    begin(&b);
    member(&b, "__.SYMDEF", "0", "xx");
    member(&b, "x.o", "1700000000", "abc");
    member(&b, "#1/9", "7", "a name.o.body");
    member(&b, "y.o", "0", "");
    check_list(&b, "x.o@1700000000=abc;a name.o.@7=body;y.o@0=;");
}

static void a_name_of_bsd_may_be_filled_up_with_zeros(void **state) {
    struct archive_build b;
    (void)state;
    begin(&b);
    member(&b, "#1/12", "7", "long_name_.ofour");
    b.bytes[8 + 60 + 9] = '\0';
    check_list(&b, "long_name@7=four;");
}

static void names_of_gnu_end_with_a_slash_or_are_in_a_table(void **state) {
    struct archive_build b;
    (void)state;
    begin(&b);
    member(&b, "/", "0", "symbols");
    member(&b, "//", "", "a_long_name_of_an_object.o/\nanother_long_name_here.o/\n");
    member(&b, "x.o/", "12", "abc");
    member(&b, "/28", "13", "def");
    member(&b, "/0", "14", "ghi");
    check_list(&b, "x.o@12=abc;another_long_name_here.o@13=def;a_long_name_of_an_object.o@14=ghi;");
}

static void what_is_no_archive_has_no_members(void **state) {
    struct static_archive a;
    (void)state;
    assert_int_equal(static_archive_open(&a, "a", (const uint8_t *)"!<arch>", 7), ST_NONE);
}

static void members_before_the_damage_are_read(void **state) {
    char out[512];
    (void)state;
    static const struct {
        size_t at; /* offset in the archive, in the header of its second member */
        char byte;
        const char *what;
    } cases[] = {{16, 'x', "header"},
                 {48, 'x', "header"},
                 {48, '9', "header"},
                 {58, 'x', "header"},
                 {3, '9', "name"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct archive_build b;
        struct err e = {0};
        begin(&b);
        member(&b, "x.o", "1", "ab");
        size_t second = b.len;
        member(&b, "#1/4", "2", "y.o.body");
        b.bytes[second + cases[i].at] = cases[i].byte;
        assert_int_equal(list(&b, out, sizeof out, &e), ST_ERR);
        assert_string_equal(out, "x.o@1=ab;");
        assert_non_null(strstr(e.text, cases[i].what));
    }
}

static void an_archive_may_be_cut_anywhere(void **state) {
    struct archive_build b;
    (void)state;
    begin(&b);
    member(&b, "//", "0", "a_long_name_of_an_object.o/\n");
    member(&b, "/0", "14", "ghi");
    member(&b, "#1/4", "2", "y.o.body");
    for (size_t len = 0; len <= b.len; len++) {
        /* The copy has the exact size, so that a sanitizer sees a read past its end. */
        char out[512];
        struct err e = {0};
        struct static_archive a;
        struct archive_member m;
        uint8_t *copy = malloc(len + 1);
        assert_non_null(copy);
        memcpy(copy, b.bytes, len);
        copy = realloc(copy, len ? len : 1);
        enum st st = static_archive_open(&a, "lib.a", copy, len);
        while (st == ST_OK && (st = static_archive_next(&a, &m, &e)) == ST_OK) {
            assert_true(m.name_len + m.len <= len);
            (void)snprintf(out, sizeof out, "%.*s", (int)m.len, (const char *)m.bytes);
        }
        assert_int_equal(st == ST_ERR, err_is(&e));
        free(copy);
    }
}

static void members_of_a_thin_archive_are_files_of_their_own(void **state) {
    struct archive_build b;
    struct static_archive a;
    struct archive_member m;
    (void)state;
    begin(&b);
    memcpy(b.bytes, "!<thin>\n", 8);
    member(&b, "/", "0", "xx");
    member(&b, "//", "0", "x.o/\nobj/y.o/\n/abs/z.o/\n");
    member(&b, "/0", "7", "");
    memcpy(b.bytes + b.len - 12, "123",
           3); /* the reference to the long name is 123 bytes past what the table has */
    member(&b, "/5", "8", "");
    member(&b, "/14", "9", "");
    check_list(&b, "x.o@7=;obj/y.o@8=;/abs/z.o@9=;");
    assert_int_equal(static_archive_open(&a, "a", (const uint8_t *)b.bytes, b.len), ST_OK);
    assert_true(a.thin);
    assert_int_equal(static_archive_next(&a, &m, NULL), ST_OK);
    assert_true(m.apart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_bsd_are_short_or_in_front_of_the_bytes),
        cmocka_unit_test(a_name_of_bsd_may_be_filled_up_with_zeros),
        cmocka_unit_test(names_of_gnu_end_with_a_slash_or_are_in_a_table),
        cmocka_unit_test(what_is_no_archive_has_no_members),
        cmocka_unit_test(members_before_the_damage_are_read),
        cmocka_unit_test(members_of_a_thin_archive_are_files_of_their_own),
        cmocka_unit_test(an_archive_may_be_cut_anywhere),
    };
    return cmocka_run_group_tests_name("static_archive", tests, NULL, NULL);
}
