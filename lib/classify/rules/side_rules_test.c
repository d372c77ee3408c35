/* Tests of rules made from globs and lists of ids. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "classify/rules/side_rules.h"

static void a_glob_is_quoted(void **state) {
    struct strbuf b = {0};
    (void)state;
    side_rules_add_glob(&b, true, "lib\"a\" b*");
    side_rules_add_glob(&b, false, "*.so");
    assert_string_equal(strbuf_cstr(&b),
                        "in-app * in \"lib\\\"a\\\" b*\"\nnot-in-app * in \"*.so\"\n");
    strbuf_release(&b);
}

static void ids_stand_on_the_lines_of_their_list(void **state) {
    static const char text[] = "# of the app\n"
                               "UUID: 6B834217-9E58-3B0C-8A4F-0D6C5B2E7A11 (arm64) Shop\n"
                               "cafe\n"
                               "  Build ID: 4fcb712aa6387724a9f465a32cd8c14b5e7a11aa";
    struct strbuf b = {0};
    (void)state;
    assert_int_equal(side_rules_add_ids(&b, false, text, strlen(text), NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&b),
                        "\nnot-in-app * in id:6B834217-9E58-3B0C-8A4F-0D6C5B2E7A11\n\n"
                        "not-in-app * in id:4fcb712aa6387724a9f465a32cd8c14b5e7a11aa\n");
    strbuf_release(&b);
}

static void a_list_without_an_id_is_none(void **state) {
    static const char *const texts[] = {"", "\n", "nothing here\n", "0123456789\n", "-\0-\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct strbuf b = {0};
        assert_int_equal(side_rules_add_ids(&b, true, texts[i], strlen(texts[i]), NULL), ST_NONE);
        strbuf_release(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_glob_is_quoted),
        cmocka_unit_test(ids_stand_on_the_lines_of_their_list),
        cmocka_unit_test(a_list_without_an_id_is_none),
    };
    return cmocka_run_group_tests_name("side_rules", tests, NULL, NULL);
}
