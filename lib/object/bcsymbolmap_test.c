/* Tests of names that Apple's bitcode compiler hid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "object/bcsymbolmap.h"

static struct bcsymbolmap *open_text(const char *text, enum err_code *code) {
    struct bcsymbolmap *m = NULL;
    struct err e = {0};
    enum st st = bcsymbolmap_open_bytes(&m, "map", text, strlen(text), &e);
    assert_int_equal(st == ST_OK, m != NULL);
    assert_int_equal(st == ST_OK, !err_is(&e));
    if (code) {
        *code = e.code;
    }
    return m;
}

static void expect(const struct bcsymbolmap *m, const char *name, const char *text) {
    const char *got = bcsymbolmap_text(m, name);
    if (text) {
        assert_non_null(got);
        assert_string_equal(got, text);
    } else {
        assert_null(got);
    }
}

static void lines_count_from_0_behind_the_first(void **state) {
    (void)state;
    struct bcsymbolmap *m = open_text(
        "BCSymbolMap Version: 2.0\n-[Cart total]\n_price\n\n\1-[Cart pay]\nlast\n-[Cart ad", NULL);
    expect(m, "__hidden#0_", "-[Cart total]");
    expect(m, "__hidden#1_", "_price");
    expect(m, "___hidden#1_", "_price");
    expect(m, "__hidden#2_", NULL); /* an empty line gives no name */
    expect(m, "__hidden#3_", "-[Cart pay]");
    expect(m, "__hidden#4_", "last");
    expect(m, "__hidden#5_", NULL); /* the last name was cut off: it may have been -[Cart add] */
    bcsymbolmap_close(m);
}

static void a_map_may_end_behind_its_version(void **state) {
    static const char *const texts[] = {"BCSymbolMap Version: 2.0", "BCSymbolMap Version: 2.0\n",
                                        "BCSymbolMap Version: 2.0\ntot"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct bcsymbolmap *m = open_text(texts[i], NULL);
        expect(m, "__hidden#0_", NULL);
        bcsymbolmap_close(m);
    }
}

static void a_binary_plist_is_told(void **state) {
    static const char plist[] = "bplist00\xd1\1\2_\x10\x0f"
                                "DBGOriginalUUID";
    struct image_id id;
    struct err e = {0};
    (void)state;
    assert_int_equal(bcsymbolmap_original_uuid(plist, sizeof plist, &id, &e), ST_ERR);
    assert_int_equal(e.code, ERR_UNREAD);
    assert_int_equal(bcsymbolmap_original_uuid(plist, 4, &id, NULL), ST_NONE);
}

static void a_line_may_end_as_on_windows(void **state) {
    (void)state;
    struct bcsymbolmap *m = open_text("BCSymbolMap Version: 1.0\r\ntotal\r\n\r\nlast\r\n", NULL);
    expect(m, "__hidden#0_", "total");
    expect(m, "__hidden#1_", NULL);
    expect(m, "__hidden#2_", "last");
    bcsymbolmap_close(m);
}

static void what_is_no_hidden_name_or_no_line_stands_for_nothing(void **state) {
    (void)state;
    static const char *const names[] = {
        "__hidden#1_",
        "__hidden#99999999999_",
        "__hidden#4294967296_",
        "__hidden#18446744073709551616_",
        "__hidden#-1_",
        "__hidden#0",
        "__hidden#_",
        "__hidden#0_x",
        "__hidden#0_.14",
        "__hidden# 0_",
        "__hidden##0_",
        "____hidden#0_",
        "_hidden#0_",
        "hidden#0_",
        "__hidden",
        "___",
        "__",
        "_",
        "",
    };
    struct bcsymbolmap *m = open_text("BCSymbolMap Version: 2.0\ntotal\n", NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        expect(m, names[i], NULL);
    }
    expect(m, "__hidden#0_", "total");
    bcsymbolmap_close(m);
}

static void a_file_of_another_kind_or_a_later_version_is_an_error(void **state) {
    (void)state;
    enum err_code code;
    assert_null(open_text("", &code));
    assert_int_equal(code, ERR_FORMAT);
    assert_null(open_text("total\npay\n", &code));
    assert_int_equal(code, ERR_FORMAT);
    assert_null(open_text("BCSymbolMap Version: 3.0\ntotal\n", &code));
    assert_int_equal(code, ERR_UNSUPPORTED);
    struct bcsymbolmap *m = open_text("BCSymbolMap Version: 2.0", &code);
    expect(m, "__hidden#0_", NULL);
    bcsymbolmap_close(m);
}

static void hidden_names_are_found_in_bytes(void **state) {
    (void)state;
    static const char text[] = "#\0__hidden \0_hidden#1_\0total\0__hidden#";
    assert_true(bcsymbolmap_occurs(text, sizeof text - 1));
    assert_false(bcsymbolmap_occurs(text, sizeof text - 2));
    assert_false(bcsymbolmap_occurs(text, 1));
    assert_false(bcsymbolmap_occurs("", 0));
}

static void the_original_uuid_is_what_the_plist_says(void **state) {
    (void)state;
    static const struct {
        const char *plist;
        bool says;
    } cases[] = {
        {"<dict><key>DBGOriginalUUID</key>\n <string>C8374B6D-6E96-34D8-AE38-EFAA5FEC424F</string>",
         true},
        {"<key>A</key><string>B</string><key>DBGOriginalUUID</key><string>"
         "c8374b6d6e9634d8ae38efaa5fec424f</string></dict>",
         true},
        {"<key>DBGOriginalUUID</key><string>C8374B6D</string>", false},
        {"<key>DBGOriginalUUID</key><string>C8374B6D-6E96-34D8-AE38-EFAA5FEC424F", false},
        {"<key>DBGOriginalUUID</key><string>", false},
        {"<key>DBGOriginalUUID</key", false},
        {"<<<key>", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct image_id id = {0};
        char text[IMAGE_ID_TEXT];
        size_t len = strlen(cases[i].plist);
        bool says = bcsymbolmap_original_uuid(cases[i].plist, len, &id, NULL) == ST_OK;
        assert_int_equal(says, cases[i].says);
        assert_string_equal(image_id_text(&id, text),
                            says ? "C8374B6D-6E96-34D8-AE38-EFAA5FEC424F" : "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_count_from_0_behind_the_first),
        cmocka_unit_test(a_line_may_end_as_on_windows),
        cmocka_unit_test(what_is_no_hidden_name_or_no_line_stands_for_nothing),
        cmocka_unit_test(a_file_of_another_kind_or_a_later_version_is_an_error),
        cmocka_unit_test(hidden_names_are_found_in_bytes),
        cmocka_unit_test(a_map_may_end_behind_its_version),
        cmocka_unit_test(a_binary_plist_is_told),
        cmocka_unit_test(the_original_uuid_is_what_the_plist_says),
    };
    return cmocka_run_group_tests_name("bcsymbolmap", tests, NULL, NULL);
}
