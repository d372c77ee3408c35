/* Tests of the rule language and the rule set. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "classify/rules/rules.h"

static struct rules *rules_of(const char *text) {
    struct rules *r = NULL;
    struct err e = {0};
    assert_int_equal(rules_new(&r, &e), ST_OK);
    if (rules_add(r, "test.rules", text, strlen(text), &e) != ST_OK) {
        print_error("%s\n", e.text);
        fail();
    }
    return r;
}

static const struct rule *match(const struct rules *r, enum rule_kind kind, const char *function,
                                const char *image, bool in_app) {
    struct rule_subject s = {.function = function,
                             .function_len = function ? strlen(function) : 0,
                             .image = image,
                             .image_len = strlen(image),
                             .side = in_app ? SIDE_APP : SIDE_SYSTEM};
    return rules_match(r, kind, &s, NULL);
}

/* Returns the line of the rule that decides; 0 = no rule does. */
static unsigned line_of(const struct rules *r, enum rule_kind kind, const char *function,
                        const char *image, bool in_app) {
    const struct rule *rule = match(r, kind, function, image, in_app);
    return rule ? rule->line : 0;
}

static void the_first_rule_that_matches_decides(void **state) {
    (void)state;
    struct rules *r = rules_of("skip poll*\n"
                               "keep poll\n"
                               "# a comment\n"
                               "\n"
                               "cut  main   # another\n"
                               "keep ma*\n"
                               "prefix qsort\n");
    assert_int_equal(line_of(r, RULE_PLACE, "poll", "libc.so", false), 1);
    assert_int_equal(match(r, RULE_PLACE, "poll", "libc.so", false)->place, PLACE_SKIP);
    assert_int_equal(line_of(r, RULE_PLACE, "main", "x", true), 5);
    assert_int_equal(line_of(r, RULE_PLACE, "malloc", "x", true), 6);
    assert_int_equal(match(r, RULE_PLACE, "qsort", "x", true)->place, PLACE_PREFIX);
    assert_null(match(r, RULE_PLACE, "other", "x", true));
    assert_null(match(r, RULE_CAUSE, "poll", "x", true));
    assert_string_equal(rules_at(r, 0)->file, "test.rules");
    assert_int_equal(rules_count(r), 5);
    rules_free(r);
}

/* Reads rules as editors on Windows write them. */
static void a_byte_order_mark_and_carriage_returns_are_no_part_of_a_rule(void **state) {
    (void)state;
    struct rules *r = rules_of("\xef\xbb\xbfskip poll\r\nkeep ma*\r\n");
    assert_int_equal(line_of(r, RULE_PLACE, "poll", "libc.so", false), 1);
    assert_int_equal(line_of(r, RULE_PLACE, "malloc", "x", true), 2);
    rules_free(r);
}

static void an_exact_name_and_a_glob_are_ranked_by_line(void **state) {
    (void)state;
    struct rules *r = rules_of("keep poll in a.so\n"
                               "skip poll in b.so\n"
                               "cut  p*\n"
                               "skip poll\n");
    assert_int_equal(line_of(r, RULE_PLACE, "poll", "a.so", false), 1);
    assert_int_equal(line_of(r, RULE_PLACE, "poll", "b.so", false), 2);
    assert_int_equal(line_of(r, RULE_PLACE, "poll", "c.so", false), 3);
    rules_free(r);
}

static void rules_are_limited_to_images_or_sides(void **state) {
    (void)state;
    struct rules *r = rules_of("skip read in libc.so libc-*.so\n"
                               "skip write in system\n"
                               "skip draw in app\n"
                               "skip send in libc.so system\n"
                               "skip unresolved in libc.so\n");
    assert_int_equal(line_of(r, RULE_PLACE, "read", "libc.so", false), 1);
    assert_int_equal(line_of(r, RULE_PLACE, "read", "libc-static.so", true), 1);
    assert_int_equal(line_of(r, RULE_PLACE, "read", "Shop", false), 0);
    assert_int_equal(line_of(r, RULE_PLACE, "write", "x", false), 2);
    assert_int_equal(line_of(r, RULE_PLACE, "write", "x", true), 0);
    assert_int_equal(line_of(r, RULE_PLACE, "draw", "x", true), 3);
    assert_int_equal(line_of(r, RULE_PLACE, "draw", "x", false), 0);
    assert_int_equal(line_of(r, RULE_PLACE, "send", "libc.so", false), 4);
    assert_int_equal(line_of(r, RULE_PLACE, "send", "libc.so", true), 0);
    assert_int_equal(line_of(r, RULE_PLACE, "send", "x", false), 0);
    assert_int_equal(line_of(r, RULE_PLACE, NULL, "libc.so", false), 5);
    assert_int_equal(line_of(r, RULE_PLACE, NULL, "x", false), 0);
    assert_int_equal(line_of(r, RULE_PLACE, "unresolved", "libc.so", false), 0);
    rules_free(r);
}

static void quotes_hold_spaces_and_keywords(void **state) {
    (void)state;
    struct rules *r = rules_of(
        "skip \"-[NSLock lock]\" \"in\" \"unresolved\" \"a\\\"b\" in \"app\" \"My App\"\n");
    assert_int_equal(rules_count(r), 4);
    assert_int_equal(line_of(r, RULE_PLACE, "-[NSLock lock]", "app", false), 1);
    assert_int_equal(line_of(r, RULE_PLACE, "in", "My App", false), 1);
    assert_int_equal(line_of(r, RULE_PLACE, "unresolved", "app", false), 1);
    assert_int_equal(line_of(r, RULE_PLACE, "a\"b", "app", false), 1);
    assert_int_equal(line_of(r, RULE_PLACE, NULL, "app", false), 0);
    assert_int_equal(line_of(r, RULE_PLACE, "in", "other", true), 0);
    rules_free(r);
}

static void every_kind_carries_what_it_decides(void **state) {
    (void)state;
    struct rules *r = rules_of("in-app * in libshop*.so\n"
                               "not-in-app Vendor::*\n"
                               "normalise __GI___* as *\n"
                               "normalise old_name as new_name in app\n"
                               "cause lock pthread_mutex_lock\n"
                               "cause disk fsync\n"
                               "skip usleep in libc.so cause sleep\n");
    assert_int_equal(match(r, RULE_SIDE, "f", "libshopcore.so", false)->side, SIDE_APP);
    assert_int_equal(match(r, RULE_SIDE, "Vendor::f", "Shop", true)->side, SIDE_SYSTEM);
    assert_int_equal(match(r, RULE_SIDE, NULL, "libshopcore.so", false)->side, SIDE_APP);
    assert_null(match(r, RULE_SIDE, NULL, "Shop",
                      true)); /* Vendor::* needs a name, and the frame has none */
    assert_string_equal(match(r, RULE_NORMALISE, "__GI___poll", "libc.so", false)->replacement,
                        "*");
    assert_string_equal(match(r, RULE_NORMALISE, "old_name", "Shop", true)->replacement,
                        "new_name");
    assert_int_equal(match(r, RULE_CAUSE, "pthread_mutex_lock", "x", false)->cause, CAUSE_LOCK);
    assert_int_equal(match(r, RULE_CAUSE, "fsync", "x", false)->cause, CAUSE_DISK);
    assert_int_equal(match(r, RULE_CAUSE, "usleep", "libc.so", false)->cause, CAUSE_SLEEP);
    assert_int_equal(match(r, RULE_PLACE, "usleep", "libc.so", false)->place, PLACE_SKIP);
    assert_null(match(r, RULE_CAUSE, "usleep", "x", false));
    assert_string_equal(rule_cause_text(CAUSE_DISK), "disk");
    rules_free(r);
}

static void causes_say_how_sure_and_why(void **state) {
    (void)state;
    struct rules *r = rules_of("skip a cause lock 90% because \"waits for the cart\"\n"
                               "cause disk 35% b\n"
                               "cause disk c\n");
    const struct rule *a = match(r, RULE_CAUSE, "a", "x", false);
    assert_int_equal(a->confidence, 900);
    assert_string_equal(a->reason, "waits for the cart");
    assert_int_equal(match(r, RULE_CAUSE, "b", "x", false)->confidence, 350);
    assert_int_equal(match(r, RULE_CAUSE, "c", "x", false)->confidence, CONFIDENCE_DEFAULT);
    assert_string_equal(match(r, RULE_CAUSE, "c", "x", false)->reason,
                        rule_cause_reason(CAUSE_DISK));
    assert_string_equal(match(r, RULE_PLACE, "a", "x", false)->reason, "");
    rules_free(r);
}

static void rules_are_limited_to_systems(void **state) {
    (void)state;
    struct rules *r = rules_of("skip a on linux\n"
                               "on darwin\n"
                               "skip a b\n"
                               "skip c on linux\n"
                               "on any\n"
                               "skip d\n");
    static const struct {
        const char *function;
        /* Expected line of the deciding rule for any system, for darwin and for linux. */
        unsigned line[3];
    } rows[] = {{"a", {1, 3, 1}}, {"b", {3, 3, 0}}, {"c", {4, 0, 4}}, {"d", {6, 6, 6}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int os = OS_ANY; os <= OS_LINUX; os++) {
            struct rule_subject s = {.function = rows[i].function,
                                     .function_len = 1,
                                     .image = "x",
                                     .image_len = 1,
                                     .os = (enum rule_os)os};
            const struct rule *rule = rules_match(r, RULE_PLACE, &s, NULL);
            assert_int_equal(rule ? rule->line : 0, rows[i].line[os]);
        }
    }
    rules_free(r);
}

static void a_rule_may_hang_on_the_caller(void **state) {
    (void)state;
    struct rules *r = rules_of("cut  wait from run_loop* run_*\n"
                               "skip wait\n"
                               "keep other from x\n");
    struct rule_subject s = {.function = "wait", .function_len = 4, .image = "x", .image_len = 1};
    bool by_caller = false;
    assert_int_equal(rules_match(r, RULE_PLACE, &s, &by_caller)->line, 2);
    assert_true(by_caller);
    s.caller_known = true;
    by_caller = false;
    assert_int_equal(rules_match(r, RULE_PLACE, &s, &by_caller)->line,
                     2); /* the frame is known to have no caller */
    s.caller = "run_loop_once";
    s.caller_len = strlen(s.caller);
    assert_int_equal(rules_match(r, RULE_PLACE, &s, &by_caller)->line, 1);
    s.caller = "load";
    s.caller_len = 4;
    assert_int_equal(rules_match(r, RULE_PLACE, &s, &by_caller)->line, 2);
    assert_false(by_caller);
    rules_free(r);
}

static void a_rule_may_hang_on_the_framework_that_called(void **state) {
    (void)state;
    struct rules *r = rules_of("cause render wait under \"Core Draw\" Gpu*\n"
                               "cause lock   wait\n");
    struct rule_subject s = {.function = "wait", .function_len = 4, .image = "x", .image_len = 1};
    static const struct {
        const char *framework, *image;
        uint32_t line;
    } rows[] = {{"Core Draw", "CoreDraw", 1}, {"Core Draw 2", "y", 2}, {"Family", "GpuDriver", 1},
                {"GpuKit", "y", 1},           {"Family", "y", 2},      {NULL, NULL, 2}};
    bool by_caller = false;
    assert_int_equal(rules_match(r, RULE_CAUSE, &s, &by_caller)->line, 2);
    assert_true(by_caller);
    s.caller_known = true;
    by_caller = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        s.under = rows[i].framework;
        s.under_image = rows[i].image;
        assert_int_equal(rules_match(r, RULE_CAUSE, &s, &by_caller)->line, rows[i].line);
    }
    assert_false(by_caller);
    rules_free(r);
}

static const struct rule *match_image(const struct rules *r, const char *name, const char *path,
                                      const char *id) {
    struct rule_image_subject s = {.name = name, .path = path, .id = id};
    return rules_match_image(r, &s);
}

static void whose_an_image_is_may_hang_on_its_path_or_id(void **state) {
    (void)state;
    struct rules *r = rules_of("in-app * in id:6b834217-0000-0000-0000-00000000000a id:ABCDEF\n"
                               "in-app * in id:000102030405060708090a0b0c0d0e0f\n"
                               "not-in-app * in */Vendor/* libv*.so /x/?\n"
                               "vendor Acme * in libacme.so\n");
    assert_int_equal(match_image(r, "x", NULL, "6B834217-0000-0000-0000-00000000000A")->line, 1);
    assert_int_equal(match_image(r, "x", NULL, "abcdef")->line, 1);
    assert_int_equal(match_image(r, "x", NULL, "00010203-0405-0607-0809-0A0B0C0D0E0F")->line, 2);
    assert_int_equal(match_image(r, "x", NULL, "000102030405060708090a0b0c0d0e0f")->line, 2);
    assert_int_equal(match_image(r, "x", "/app/Vendor/x", NULL)->line, 3);
    assert_int_equal(match_image(r, "libvendor.so", "/app/x", NULL)->line, 3);
    assert_null(match_image(r, "x", "/app/x", "abcd"));
    assert_null(match_image(r, NULL, NULL, NULL));
    /* Rules by name alone are matched with functions, not with images. */
    assert_null(match_image(r, "libacme.so", NULL, NULL));
    assert_string_equal(match(r, RULE_SIDE, "f", "libacme.so", true)->vendor, "Acme");
    assert_null(match(r, RULE_SIDE, "f", "libvendor.so", true));
    assert_int_equal(rules_index(r, match(r, RULE_SIDE, "f", "libacme.so", true)), 3);
    rules_free(r);
}

/* Rules are filed under their exact name, the first byte of the name, or the first byte of the
 * image. The result must not depend on that. */
static void the_first_rule_decides_wherever_it_is_filed(void **state) {
    (void)state;
    static const char *const lines[] = {"skip poll",       "skip p*",
                                        "skip *l",         "skip * in libc.so",
                                        "skip ?oll in l*", "skip poll in *c.so"};
    enum { LINES = sizeof lines / sizeof *lines };
    for (size_t first = 0; first < LINES; first++) {
        for (size_t second = 0; second < LINES; second++) {
            char text[100];
            snprintf(text, sizeof text, "%s\n%s\n", lines[first], lines[second]);
            struct rules *r = rules_of(text);
            assert_int_equal(line_of(r, RULE_PLACE, "poll", "libc.so", false), 1);
            rules_free(r);
        }
    }
}

static void a_bad_line_is_refused_with_file_and_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"skip a\nskp b\n", "test.rules:2: unknown action 'skp'"},
        {"skip\n", "test.rules:1: no pattern"},
        {"skip in libc.so\n", "test.rules:1: no pattern"},
        {"skip a in\n", "test.rules:1: 'in' needs an image"},
        {"skip a in b in c\n", "test.rules:1: 'in' twice"},
        {"skip a in /usr/lib/*\n", "test.rules:1: paths and ids are for in-app"},
        {"in-app * in app /opt/*\n", "test.rules:1: paths and ids are for in-app"},
        {"in-app f in /opt/*\n", "test.rules:1: paths and ids are for whole images"},
        {"in-app * in id:xyz\n", "test.rules:1: no UUID and no build-id: 'id:xyz'"},
        {"vendor\n", "test.rules:1: 'vendor' needs a name"},
        {"vendor Acme\n", "test.rules:1: no pattern"},
        {"skip a on windows\n", "test.rules:1: 'on' needs darwin, linux or any"},
        {"on\n", "test.rules:1: 'on' needs darwin, linux or any"},
        {"version 2\n", "test.rules:1: rules of another version than 1: '2'"},
        {"version\n", "test.rules:1: 'version' needs a number"},
        {"skip a from\n", "test.rules:1: 'from' needs a function"},
        {"cause lock a under\n", "test.rules:1: 'under' needs a framework"},
        {"skip a under b\n", "test.rules:1: only cause takes 'under'"},
        {"in-app a from b\n", "test.rules:1: only skip, cut, prefix, keep and cause take 'from'"},
        {"skip a cause lock 0%\n", "test.rules:1: a confidence is 1% to 100%, not '0%'"},
        {"cause lock 101% a\n", "test.rules:1: a confidence is 1% to 100%, not '101%'"},
        {"cause deadlock a\n", "test.rules:1: unknown cause"},
        {"skip a because \"x\"\n", "test.rules:1: 'because' needs a cause"},
        {"cause lock a because\n", "test.rules:1: 'because' needs one text in quotes"},
        {"skip a as b\n", "test.rules:1: only 'normalise' takes 'as'"},
        {"normalise a\n", "test.rules:1: 'normalise' needs 'as NAME'"},
        {"normalise a as\n", "test.rules:1: 'as' needs one name"},
        {"normalise a as b c\n", "test.rules:1: 'as' needs one name"},
        {"normalise a*b* as c\n",
         "test.rules:1: 'normalise' takes named functions, with one * at most, not 'a*b*'"},
        {"normalise unresolved as c\n", "test.rules:1: 'normalise' takes named functions"},
        {"cause\n", "test.rules:1: 'cause' needs a cause"},
        {"skip a cause\n", "test.rules:1: 'cause' needs a cause"},
        {"skip a cause lock disk\n", "test.rules:1: 'cause' takes one cause and a confidence"},
        {"skip a cause lunch\n", "test.rules:1: unknown cause"},
        {"in-app a cause lock\n", "test.rules:1: only skip, cut, prefix and keep take 'cause'"},
        {"skip a cause lock cause disk\n", "test.rules:1: 'cause' twice"},
        {"cause lunch a\n", "test.rules:1: unknown cause"},
        {"cause lock\n", "test.rules:1: no pattern"},
        {"skip \"a b\n", "test.rules:1: a quote is not closed"},
        {"skip \"\"\n", "test.rules:1: an empty pattern"},
        {"skip a\xff\n", "test.rules:1: not UTF-8 text"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rules *r = NULL;
        struct err e = {0};
        assert_int_equal(rules_new(&r, &e), ST_OK);
        assert_int_equal(rules_add(r, "test.rules", rows[i].text, strlen(rows[i].text), &e),
                         ST_ERR);
        if (strncmp(e.text, rows[i].error, strlen(rows[i].error)) != 0) {
            fail_msg("'%s' is not '%s…'", e.text, rows[i].error);
        }
        rules_free(r);
    }
}

static void the_hash_is_of_what_rules_decide(void **state) {
    (void)state;
    struct rules *a = rules_of("skip poll in libc.so\n");
    struct rules *b = rules_of("# comment\n\n  skip   \"poll\"\tin libc.so # x\r\n");
    struct rules *c = rules_of("skip poll in libc.so.6\n");
    struct rules *d = rules_of("keep poll in libc.so\n");
    struct rules *f = rules_of("skip \"po\\*l\" in libc.so\n");
    struct rules *g = rules_of("skip po*l in libc.so\n");
    assert_int_equal(rules_hash(a), rules_hash(b));
    assert_int_not_equal(rules_hash(a), rules_hash(c));
    assert_int_not_equal(rules_hash(a), rules_hash(d));
    assert_int_not_equal(rules_hash(f), rules_hash(g));
    rules_free(a);
    rules_free(b);
    rules_free(c);
    rules_free(d);
    rules_free(f);
    rules_free(g);
}

static void the_built_in_rules_load(void **state) {
    (void)state;
    struct rules *r = NULL;
    struct err e = {0};
    assert_int_equal(rules_new(&r, &e), ST_OK);
    if (rules_add_builtin(r, &e) != ST_OK) {
        fail_msg("%s", e.text);
    }
    assert_true(rules_count(r) > 800);
    assert_int_equal(match(r, RULE_PLACE, "main", "Shop", true)->place, PLACE_CUT);
    assert_int_equal(match(r, RULE_PLACE, "read", "libc.so", false)->place, PLACE_SKIP);
    assert_null(match(r, RULE_PLACE, "read", "Shop", true));
    rules_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_that_matches_decides),
        cmocka_unit_test(a_byte_order_mark_and_carriage_returns_are_no_part_of_a_rule),
        cmocka_unit_test(an_exact_name_and_a_glob_are_ranked_by_line),
        cmocka_unit_test(rules_are_limited_to_images_or_sides),
        cmocka_unit_test(quotes_hold_spaces_and_keywords),
        cmocka_unit_test(every_kind_carries_what_it_decides),
        cmocka_unit_test(causes_say_how_sure_and_why),
        cmocka_unit_test(rules_are_limited_to_systems),
        cmocka_unit_test(a_rule_may_hang_on_the_caller),
        cmocka_unit_test(a_rule_may_hang_on_the_framework_that_called),
        cmocka_unit_test(whose_an_image_is_may_hang_on_its_path_or_id),
        cmocka_unit_test(the_first_rule_decides_wherever_it_is_filed),
        cmocka_unit_test(a_bad_line_is_refused_with_file_and_line),
        cmocka_unit_test(the_hash_is_of_what_rules_decide),
        cmocka_unit_test(the_built_in_rules_load),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
