/* Tests keys of stacks in libraries that were linked into the app's own image. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "classify/keys/exemplar.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/key.h"

struct linked {
    struct rules *rules;
    struct keyer *keyer;
    struct stall_key key;
};

static int linked_set_up(void **state) {
    struct linked *l = calloc(1, sizeof *l);
    assert_non_null(l);
    assert_int_equal(rules_new(&l->rules, NULL), ST_OK);
    assert_int_equal(rules_add(l->rules, "own", "in-app ours_*\n", strlen("in-app ours_*\n"), NULL),
                     ST_OK);
    assert_int_equal(rules_add_builtin(l->rules, NULL), ST_OK);
    const struct key_options o = {.rules = l->rules, .inlines = true, .aliases = true};
    assert_int_equal(keyer_new(&l->keyer, &o, NULL), ST_OK);
    *state = l;
    return 0;
}

static int linked_tear_down(void **state) {
    struct linked *l = *state;
    keyer_free(l->keyer);
    rules_free(l->rules);
    free(l);
    return 0;
}

/* Expects the keys of a stack of the app's frames, each a function and a source file (NULL =
 * unknown), innermost first. */
static void linked_expect(struct linked *l, const char *const (*frames)[2], size_t n,
                          const char *level1, const char *level2) {
    struct fixture f = {
        .d = {.device.os = "Linux", .stall.cpu_permille = -1, .app.id = "com.acme.shop"}};
    const char *const want[KEY_LEVELS] = {level1, level2};
    for (size_t i = 0; i < n; i++) {
        fixture_frame(&f, "Shop", true, frames[i][0], 0x100 * (i + 1));
        f.lines[i].file = frames[i][1];
    }
    fixture_stack(&f, 1);
    assert_int_equal(keyer_key(l->keyer, &f.d, &l->key, NULL), ST_OK);
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        struct strbuf b = {0};
        const struct key *key = &l->key.level[level];
        for (size_t i = 0; i < key->count; i++) {
            strbuf_addf(&b, "%s%s!%s", i ? " <- " : "", key->frames[i].info->image,
                        key->frames[i].info->function);
        }
        assert_string_equal(strbuf_cstr(&b), want[level]);
        strbuf_release(&b);
    }
}
#define EXPECT(l, level1, level2, ...)                                                             \
    linked_expect(l, (const char *const[][2]){__VA_ARGS__},                                        \
                  sizeof((const char *const[][2]){__VA_ARGS__}) / sizeof(const char *[2]), level1, \
                  level2)
#define SRC  "/home/ann/shop/src/shop.cc"
#define NFD  "/home/ann/shop/third_party/nfd/src/nfd_gtk.c"
#define GLEW "/home/ann/shop/third_party/glew/glew.c"

static void a_library_in_whose_folder_the_source_lies_is_a_framework(void **state) {
    EXPECT(*state, "nfd! <- app!open_cart <- app!tap", "nfd! <- app!open_cart <- app!tap",
           {"WaitForCleanup", NFD}, {"NFD_OpenDialog", NFD}, {"open_cart", SRC}, {"tap", SRC},
           {"main", SRC});
    EXPECT(*state, "nfd! <- app!open_cart <- app!tap", "nfd! <- app!open_cart <- app!tap",
           {"AddFilters", NFD}, {"NFD_OpenDialog", NFD}, {"open_cart", SRC}, {"tap", SRC});
    /* The same functions in a source file of the app's own are the app's. */
    EXPECT(*state, "app!WaitForCleanup <- app!NFD_OpenDialog",
           "app!WaitForCleanup <- app!NFD_OpenDialog <- app!open_cart <- app!tap",
           {"WaitForCleanup", SRC}, {"NFD_OpenDialog", NULL}, {"open_cart", SRC}, {"tap", SRC});
}

static void a_users_rule_says_that_such_a_function_is_the_apps(void **state) {
    EXPECT(*state, "app!ours_open <- app!tap", "app!ours_open <- app!tap", {"ours_open", NFD},
           {"tap", SRC});
}

static void without_the_app_the_library_that_called_another_stands_for_it(void **state) {
    EXPECT(*state, "glew! <- nfd!NFD_Open <- nfd!NFD_Run", "glew! <- nfd!NFD_Open <- nfd!NFD_Run",
           {"glewInit", GLEW}, {"NFD_Open", NFD}, {"NFD_Run", NFD});
    EXPECT(*state, "nfd!NFD_Open <- nfd!NFD_Run", "nfd!NFD_Open <- nfd!NFD_Run", {"NFD_Open", NFD},
           {"NFD_Run", NFD});
}

static void a_known_library_is_one_by_its_functions(void **state) {
    EXPECT(*state, "Compression! <- app!load <- app!tap", "Compression! <- app!load <- app!tap",
           {"HUF_decompress4X1", NULL}, {"ZSTD_decompress", NULL}, {"load", SRC}, {"tap", SRC});
    /* Runtime code is no framework. */
    EXPECT(*state, "app!load <- app!tap", "app!load <- app!tap", {"GC_mark_from", NULL},
           {"il2cpp::vm::Object::New", NULL}, {"load", SRC}, {"tap", SRC});
}

static void a_java_package_of_another_owner_is_a_library(void **state) {
    struct linked *l = *state;
    EXPECT(l, "org.jsoup! <- app!com.acme.feed.Feed.read <- app!com.acme.shop.Home.onStart",
           "org.jsoup! <- app!com.acme.feed.Feed.read <- app!com.acme.shop.Home.onStart",
           {"org.jsoup.parser.Tokeniser.read", NULL}, {"org.jsoup.Jsoup.parse", NULL},
           {"com.acme.feed.Feed.read", NULL}, {"com.acme.shop.Home.onStart", NULL});
    assert_int_equal(l->key.owner_len, strlen("com.acme"));
    assert_memory_equal(l->key.owner, "com.acme", l->key.owner_len);
    /* Without a function of the app's owner, whose id may be another, the app is not told apart. */
    EXPECT(l, "app!org.jsoup.parser.Tokeniser.read <- app!org.jsoup.Jsoup.parse",
           "app!org.jsoup.parser.Tokeniser.read <- app!org.jsoup.Jsoup.parse <- "
           "app!de.kraut.Feed.read",
           {"org.jsoup.parser.Tokeniser.read", NULL}, {"org.jsoup.Jsoup.parse", NULL},
           {"de.kraut.Feed.read", NULL});
    assert_int_equal(l->key.owner_len, strlen("com.acme")); /* names that come later may ask */
}

static bool linked_take(void *ctx, const char *piece, size_t len) {
    struct strbuf *b = ctx;
    strbuf_add(b, piece, len);
    strbuf_addc(b, '\n');
    return !b->failed;
}

static void an_exemplar_keeps_the_owner_by_which_its_frames_were_judged(void **state) {
    struct linked *l = *state;
    struct strbuf b = {0};
    struct fixture f = {
        .d = {.device.os = "Linux", .stall.cpu_permille = -1, .app.id = "com.acme.shop"}};
    fixture_frame(&f, "Shop", true, "org.jsoup.Jsoup.parse", 0x100);
    fixture_frame(&f, "Shop", true, "com.acme.feed.Feed.read", 0x200);
    fixture_stack(&f, 1);
    assert_int_equal(keyer_key(l->keyer, &f.d, &l->key, NULL), ST_OK);
    assert_true(exemplar_cut(&f.d, &l->key, linked_take, &b));
    assert_non_null(strstr(strbuf_cstr(&b), "{\"app\":{\"id\":\"com.acme\"},\"stall\":"));
    strbuf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_in_whose_folder_the_source_lies_is_a_framework),
        cmocka_unit_test(a_users_rule_says_that_such_a_function_is_the_apps),
        cmocka_unit_test(without_the_app_the_library_that_called_another_stands_for_it),
        cmocka_unit_test(a_known_library_is_one_by_its_functions),
        cmocka_unit_test(a_java_package_of_another_owner_is_a_library),
        cmocka_unit_test(an_exemplar_keeps_the_owner_by_which_its_frames_were_judged),
    };
    return cmocka_run_group_tests_name("linked_key", tests, linked_set_up, linked_tear_down);
}
