/* Tests of the globs of the rule language. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "classify/rules/pattern.h"

static bool matches(const char *glob, const char *name) {
    struct arena a = {0};
    struct pattern p;
    assert_true(pattern_compile(&p, glob, strlen(glob), &a));
    bool result = pattern_match(&p, name, strlen(name));
    arena_release(&a);
    return result;
}

static void a_glob_matches_the_whole_name(void **state) {
    (void)state;
    static const struct {
        const char *glob, *name;
        bool matches;
    } rows[] = {
        {"poll", "poll", true},
        {"poll", "ppoll", false},
        {"poll", "poll2", false},
        {"poll", "", false},
        {"*", "", true},
        {"*", "anything", true},
        {"poll*", "poll", true},
        {"poll*", "poll_chk", true},
        {"poll*", "ppoll", false},
        {"*poll", "epoll", true},
        {"*poll", "polls", false},
        {"__*_wait", "__lll_lock_wait", true},
        {"__*_wait", "__wait", false},
        {"__*_wait", "___wait", true},
        {"a*b*c", "abc", true},
        {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "acb", false},
        {"a*a", "a", false},
        {"a*a", "aa", true},
        {"**a**", "bab", true},
        {"p?ll", "poll", true},
        {"p?ll", "pll", false},
        {"?", "", false},
        {"*?", "x", true},
        {"*?", "", false},
        {"?*x", "yx", true},
        {"*a?c*", "zzabczz", true},
        {"operator\\*", "operator*", true},
        {"operator\\*", "operatorx", false},
        {"\\?", "?", true},
        {"\\?", "x", false},
        {"a\\\\b", "a\\b", true},
        {"-[NSLock *]", "-[NSLock lock]", true},
        {"-[* swizzle*", "-[Cart(X) swizzle_add:]", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (matches(rows[i].glob, rows[i].name) != rows[i].matches) {
            print_error("'%s' against '%s'\n", rows[i].glob, rows[i].name);
            fail();
        }
    }
}

/* Matches by recursion, as globs are defined. It is the reference for the matcher, which remembers
 * only one star. */
static bool reference(const char *glob, const char *name) {
    if (*glob == '*') {
        return reference(glob + 1, name) || (*name && reference(glob, name + 1));
    }
    return *glob ? *name && (*glob == '?' || *glob == *name) && reference(glob + 1, name + 1)
                 : !*name;
}

static void matching_agrees_with_its_definition(void **state) {
    (void)state;
    static const char letters[] = "ab*?";
    for (unsigned g = 0; g < 4 * 4 * 4 * 4 * 4; g++) {
        char glob[6] = {letters[g & 3],      letters[g >> 2 & 3], letters[g >> 4 & 3],
                        letters[g >> 6 & 3], letters[g >> 8 & 3], 0};
        for (unsigned n = 0; n < 64; n++) {
            char name[7] = {0};
            for (unsigned i = 0; i < n % 7; i++) {
                name[i] = letters[n >> i & 1];
            }
            assert_int_equal(matches(glob, name), reference(glob, name));
        }
    }
}

enum { COVER_GLOBS = 256, COVER_NAMES = 1 + 3 + 9 + 27 + 81 + 243 };

/* Writes name number i of all names of up to five letters out of three, one of which is in no glob.
 */
static void name_of(unsigned i, char name[6]) {
    unsigned len = 0, of_len = 1;
    while (i >= of_len) {
        i -= of_len;
        of_len *= 3;
        len++;
    }
    memset(name, 0, 6);
    for (unsigned k = 0; k < len; k++, i /= 3) {
        name[k] = "abc"[i % 3];
    }
}

static void one_glob_covers_another_if_it_matches_all_that_the_other_does(void **state) {
    (void)state;
    static bool table[COVER_GLOBS][COVER_NAMES];
    static struct pattern globs[COVER_GLOBS];
    struct arena a = {0};
    for (unsigned g = 0; g < COVER_GLOBS; g++) {
        const char glob[4] = {"ab*?"[g & 3], "ab*?"[g >> 2 & 3], "ab*?"[g >> 4 & 3],
                              "ab*?"[g >> 6]};
        assert_true(pattern_compile(&globs[g], glob, g % 5 ? 4 : 3, &a));
        for (unsigned n = 0; n < COVER_NAMES; n++) {
            char name[6];
            name_of(n, name);
            table[g][n] = pattern_match(&globs[g], name, strlen(name));
        }
    }
    size_t covered = 0;
    for (unsigned g = 0; g < COVER_GLOBS; g++) {
        for (unsigned h = 0; h < COVER_GLOBS; h++) {
            bool all = true, covers = pattern_covers(&globs[g], &globs[h]);
            for (unsigned n = 0; n < COVER_NAMES; n++) {
                all = all && (table[g][n] || !table[h][n]);
            }
            bool simple = !memchr(globs[g].text, '?', globs[g].len) &&
                          !memchr(globs[h].text, '?', globs[h].len);
            assert_true(all || !covers);
            assert_true(covers || !all || !simple);
            covered += covers;
        }
    }
    assert_true(covered > 1000);
    arena_release(&a);
}

static void the_star_captures_what_it_stands_for(void **state) {
    (void)state;
    static const char *const rows[][3] = {{"__GI___*", "__GI___poll", "poll"},
                                          {"*_impl", "draw_impl", "draw"},
                                          {"a*z", "az", ""},
                                          {"poll", "poll", "poll"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        struct pattern p;
        const char *part;
        size_t len;
        assert_true(pattern_compile(&p, rows[i][0], strlen(rows[i][0]), &a));
        assert_true(pattern_match(&p, rows[i][1], strlen(rows[i][1])));
        pattern_captured(&p, rows[i][1], strlen(rows[i][1]), &part, &len);
        assert_int_equal(len, strlen(rows[i][2]));
        assert_memory_equal(part, rows[i][2], len);
        arena_release(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_glob_matches_the_whole_name),
        cmocka_unit_test(matching_agrees_with_its_definition),
        cmocka_unit_test(one_glob_covers_another_if_it_matches_all_that_the_other_does),
        cmocka_unit_test(the_star_captures_what_it_stands_for),
    };
    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
