#include "index/name_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "base/hash.h"

enum { MANY = 5000 };

static void each_string_and_name_lies_there_once(void **state) {
    (void)state;
    struct name_table t = {0};
    uint32_t at[MANY], name[MANY];
    char text[32];
    names_begin(&t, 0, 0);
    for (int round = 0; round < 2; round++) {
        size_t strings = t.strings.len, names = t.names.len;
        for (unsigned i = 0; i < MANY; i++) {
            (void)snprintf(text, sizeof text, "function%u", i);
            struct function_names f = {.function = text, .linkage = text, .line = i / 2};
            uint32_t a = names_string(&t, text), n = names_function(&t, &f);
            assert_string_equal(t.strings.data + a, text);
            assert_true(round == 0 || (a == at[i] && n == name[i]));
            at[i] = a;
            name[i] = n;
        }
        assert_true(round == 0 || (t.strings.len == strings && t.names.len == names));
    }
    struct err e = {0};
    assert_int_equal(names_check(&t, &e), ST_OK);
    assert_int_equal(names_string(&t, ""), 0);
    assert_int_equal(names_string(&t, NULL), 0);
    names_release(&t);
}

static void names_of_one_linkage_name_lie_there_once(void **state) {
    (void)state;
    struct name_table t = {0};
    enum { LINES = 600 }; /* more names than one search looks at */
    uint32_t name[LINES];
    names_begin(&t, 0, 0);
    for (uint32_t i = 0; i < LINES; i++) {
        struct function_names f = {.function = "f", .linkage = "_Z1fv", .line = i};
        name[i] = names_function(&t, &f);
        assert_true(i == 0 || name[i] > name[i - 1]);
        for (uint32_t back = 0; back < 3 && back <= i; back++) {
            f.line = i - back;
            assert_int_equal(names_function(&t, &f), name[i - back]);
        }
    }
    /* A name of another function, one without a linkage name, and one of a symbol only: each is
     * kept separately. */
    struct function_names other = {.function = "g", .linkage = "_Z1fv", .line = LINES - 1};
    struct function_names none = {.function = "f", .line = LINES - 1};
    uint32_t a = names_function(&t, &other), b = names_function(&t, &none);
    uint32_t c = names_symbol(&t, "_Z1fv");
    assert_true(a > name[LINES - 1] && b > a && c > b);
    assert_int_equal(names_function(&t, &other), a);
    assert_int_equal(names_function(&t, &none), b);
    assert_int_equal(names_symbol(&t, "_Z1fv"), c);
    names_release(&t);
}

static void a_path_is_looked_for_once(void **state) {
    (void)state;
    struct name_table t = {0};
    uint32_t a = 0, b = 0, again = 0;
    names_begin(&t, 0, 0);
    struct function_names f = {.function = "f", .file = "/b.c", .file_known = &b, .line = 3};
    assert_int_equal(names_file_once(&t, "/a.c", &a), 0);
    uint32_t name = names_function(&t, &f);
    assert_int_equal(names_file_once(&t, NULL, &a),
                     0); /* the path is not looked at once the number is known */
    assert_int_equal(names_file_once(&t, NULL, &b), 1);
    assert_int_equal(names_file_once(&t, "/b.c", &again), 1);
    f.file = "/other.c";
    assert_int_equal(names_function(&t, &f), name);
    assert_int_equal(t.files.len, 2);
    assert_string_equal(t.strings.data + t.files.data[1], "/b.c");
    names_release(&t);
}

/* Makes a string that takes 16 bytes with its NUL and has the same hash as all other strings made
 * by this function: its second half cancels the change that the first half makes to the hash.
 * False: a NUL would also stand elsewhere. */
static bool colliding(uint64_t first, char out[16]) {
    uint64_t h = (16 ^ first) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t second = UINT64_C(0x123456789abcdef1) ^ h ^ h >> 32;
    memcpy(out, &first, sizeof first);
    memcpy(out + sizeof first, &second, sizeof second);
    return memchr(out, 0, 16) == out + 15;
}

static void strings_made_to_collide_are_kept_all_the_same(void **state) {
    (void)state;
    struct name_table t = {0};
    char text[16], other[16];
    unsigned made = 0;
    names_begin(&t, 0, 0);
    for (uint64_t first = UINT64_C(0x0101010101010101); made < MANY; first += 0x10001) {
        if (colliding(first, text)) {
            if (made == 0) {
                memcpy(other, text, sizeof other);
            }
            assert_true(hash_quick(text, sizeof text) == hash_quick(other, sizeof other));
            uint32_t at = names_string(&t, text);
            assert_string_equal(t.strings.data + at, text);
            made++;
        }
    }
    struct err e = {0};
    assert_int_equal(names_check(&t, &e), ST_OK);
    /* The search for the other strings ended at PROBES_MAX slots. */
    assert_true(t.string_at.count < MANY);
    names_release(&t);
}

/* Adds names of hostile symbols, which are ends of one long string: a megabyte spells a terabyte.
 */
static void names_have_a_limit_in_proportion_to_the_file(void **state) {
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE);
    struct err e = {0};
    (void)state;
    assert_non_null(text);
    memset(text, 'a', SIZE - 1);
    text[SIZE - 1] = '\0';
    for (int one = 0; one < 2;
         /* The first half of the names differ and are kept; the other half are one name, which
          * is only read. */
         one++) {
        struct name_table t = {0};
        names_begin(&t, 0, SIZE);
        for (int i = 0; i < 300; i++) {
            struct function_names f = {.function = text + (one ? 0 : i)};
            (void)names_function(&t, &f);
        }
        assert_true(t.strings.len < 25 * (size_t)SIZE);
        assert_int_equal(names_check(&t, &e), one ? ST_OK : ST_ERR);
        if (!one) {
            assert_int_equal(e.code, ERR_UNSUPPORTED);
        }
        names_release(&t);
    }
    free(text);
}

static void fill(void *ctx, bool refused) {
    struct name_table t = {0};
    struct err e = {0};
    char text[32];
    (void)ctx;
    names_begin(&t, 300, 0);
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof text, "path%u", i);
        uint32_t known = 0;
        struct function_names f = {.function = text, .file = text, .file_known = &known};
        (void)names_function(&t, &f);
    }
    enum st st = names_check(&t, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    names_release(&t);
}

static void a_lack_of_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(fill, NULL) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_string_and_name_lies_there_once),
        cmocka_unit_test(names_have_a_limit_in_proportion_to_the_file),
        cmocka_unit_test(names_of_one_linkage_name_lie_there_once),
        cmocka_unit_test(a_path_is_looked_for_once),
        cmocka_unit_test(strings_made_to_collide_are_kept_all_the_same),
        cmocka_unit_test(a_lack_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("name_table", tests, NULL, NULL);
}
