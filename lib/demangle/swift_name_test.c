/* Swift names: what a name says, in both forms, and what damaged ones may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "demangle/swift_name.h"

static void check(const char *mangled, const char *full, const char *simplified) {
    struct swift_scratch scratch = {0};
    struct strbuf out = {0};
    const char *const expected[] = {full, simplified};
    for (size_t i = 0; i < 2; i++) {
        strbuf_clear(&out);
        enum st st = swift_demangle(&scratch, mangled, strlen(mangled), i == 1, &out, NULL);
        assert_int_equal(st, expected[i] ? ST_OK : ST_NONE);
        assert_string_equal(strbuf_cstr(&out), expected[i] ? expected[i] : "");
    }
    strbuf_release(&out);
    swift_scratch_release(&scratch);
}

static void a_declaration_is_printed_with_its_context(void **state) {
    (void)state;
    check("$s4Shop4CartV5totalSiyF", "Shop.Cart.total() -> Swift.Int", "Cart.total()");
    check("$s4Shop4CartC3add4item5county4Item_SitF", NULL, NULL); /* an identifier is no type */
    check("$s4Shop4CartC5countSivg", "Shop.Cart.count.getter : Swift.Int", "Cart.count.getter");
    check("$s4Shop4CartCACycfC", "Shop.Cart.__allocating_init() -> Shop.Cart",
          "Cart.__allocating_init()");
    check("$s4Shop4CartC5totalSiyFyyXEfU_", "closure #1 () -> () in Shop.Cart.total() -> Swift.Int",
          "closure #1 in Cart.total()");
}

static void damaged_names_are_none(void **state) {
    (void)state;
    check("$s", NULL, NULL);
    check("$s4Shop4CartV5totalF", NULL, NULL);
    check("$s4Shop4CartV5totalSiyF\x01xxxx", NULL, NULL); /* a symbolic reference */
    check("total", NULL, NULL);
}

static void the_text_goes_behind_what_is_there(void **state) {
    (void)state;
    struct swift_scratch scratch = {0};
    struct strbuf out = {0};
    strbuf_addstr(&out, "before ");
    assert_int_equal(swift_demangle(&scratch, "$s4Shop4CartV", 13, true, &out, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&out), "before Cart");
    assert_int_equal(swift_demangle(&scratch, "$s4Shop4Cart", 12, true, &out, NULL), ST_OK);
    assert_int_equal(swift_demangle(&scratch, "$s4Shop4CartTv", 14, true, &out, NULL), ST_NONE);
    strbuf_release(&out);
    swift_scratch_release(&scratch);
}

/* --- third-party names, where they are ----------------------------------------------------------
 */

struct tally {
    size_t total;
    size_t full;
    size_t simplified;
};

static bool agrees(struct swift_scratch *scratch, const char *mangled, const char *expected,
                   bool simplified) {
    struct strbuf out = {0};
    mangled += strncmp(mangled, "__", 2) == 0;
    enum st st = swift_demangle(scratch, mangled, strlen(mangled), simplified, &out, NULL);
    const char *said = st == ST_OK ? strbuf_cstr(&out) : mangled;
    bool equal = strcmp(said, expected) == 0;
    strbuf_release(&out);
    return equal;
}

static FILE *open_names(const char *name, bool packed) {
    const char *real = getenv("REAL");
    char command[4096];
    if (!real || !*real) {
        return NULL;
    }
    snprintf(command, sizeof command, "%s '%s/demangle/%s' 2>/dev/null", packed ? "xz -dc" : "cat",
             real, name);
    return popen(command, "r");
}

/* Are these of Swift 4 and later? */
static bool is_new(const char *mangled) {
    mangled += strspn(mangled, "_");
    return strncmp(mangled, "$", 1) == 0 || strncmp(mangled, "T0", 2) == 0 || *mangled == '@';
}

static void compare(struct tally *tally, FILE *names) {
    struct swift_scratch scratch = {0};
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, names) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *full = strchr(line, '\t');
        char *simplified = full ? strchr(full + 1, '\t') : NULL;
        if (!simplified) {
            continue;
        }
        *full++ = *simplified++ = '\0';
        if (is_new(line)) {
            tally->total++;
            tally->full += agrees(&scratch, line, full, false);
            tally->simplified += agrees(&scratch, line, simplified, true);
        }
    }
    free(line);
    swift_scratch_release(&scratch);
}

static void third_party_names_agree_with_swifts_own_tool(void **state) {
    (void)state;
    struct tally tally = {0};
    FILE *names = open_names("swift-oracle.tsv.xz", true);
    if (names) {
        compare(&tally, names);
        pclose(names);
    }
    if (tally.total == 0) {
        skip();
    }
    print_message("# of %zu names %zu agree in full, %zu simplified\n", tally.total, tally.full,
                  tally.simplified);
    assert_true(tally.full * 10000 >= tally.total * 9995);
    assert_true(tally.simplified * 10000 >= tally.total * 9995);
}

/* "MANGLED ---> READABLE"; -classify puts a class in front of the readable one. */
static void compare_pairs(struct tally *tally, FILE *names, bool simplified) {
    struct swift_scratch scratch = {0};
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, names) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *arrow = strstr(line, " ---> ");
        if (!arrow || !is_new(line)) {
            continue;
        }
        *arrow = '\0';
        line[strcspn(line, " ")] = '\0';
        char *expected = arrow + strlen(" ---> ");
        char *end = *expected == '{' ? strstr(expected, "} ") : NULL;
        expected = end ? end + 2 : expected;
        tally->total++;
        tally->full += agrees(&scratch, line, expected, simplified);
    }
    free(line);
    swift_scratch_release(&scratch);
}

static void check_pairs(const char *file, bool simplified) {
    struct tally tally = {0};
    FILE *names = open_names(file, false);
    if (names) {
        compare_pairs(&tally, names, simplified);
        pclose(names);
    }
    if (tally.total == 0) {
        skip();
    }
    assert_int_equal(tally.full, tally.total);
}

static void swifts_own_list_agrees_in_full(void **state) {
    (void)state;
    check_pairs("swift-manglings.txt", false);
}

static void swifts_own_list_agrees_simplified(void **state) {
    (void)state;
    check_pairs("swift-simplified-manglings.txt", true);
}

static void tokens_that_only_look_like_names_stay(void **state) {
    (void)state;
    struct swift_scratch scratch = {0};
    FILE *names = open_names("swift-negatives.txt", false);
    char *line = NULL;
    size_t room = 0, total = 0;
    while (names && getline(&line, &room, names) > 0) {
        struct strbuf out = {0};
        line[strcspn(line, "\n")] = '\0';
        const char *name = line + (strncmp(line, "__", 2) == 0);
        assert_int_equal(swift_demangle(&scratch, name, strlen(name), false, &out, NULL), ST_NONE);
        strbuf_release(&out);
        total++;
    }
    free(line);
    swift_scratch_release(&scratch);
    if (names) {
        pclose(names);
    }
    if (total == 0) {
        skip();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_declaration_is_printed_with_its_context),
        cmocka_unit_test(damaged_names_are_none),
        cmocka_unit_test(the_text_goes_behind_what_is_there),
        cmocka_unit_test(third_party_names_agree_with_swifts_own_tool),
        cmocka_unit_test(swifts_own_list_agrees_in_full),
        cmocka_unit_test(swifts_own_list_agrees_simplified),
        cmocka_unit_test(tokens_that_only_look_like_names_stay),
    };
    return cmocka_run_group_tests_name("swift_name", tests, NULL, NULL);
}
