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
    /* The owner is kept, as frames may get names later. */
    assert_int_equal(l->key.owner_len, strlen("com.acme"));
}

#define MOD  "/root/go/pkg/mod/github.com/acme/till@v1.2.0/"
#define YAML "/root/go/pkg/mod/gopkg.in/yaml.v3@v3.0.1/decode.go"

static void a_program_built_in_a_folder_for_libraries_has_functions_of_its_own(void **state) {
    EXPECT(*state, "gopkg.in/yaml.v3! <- app!till/feed.read <- app!till/ui.tap",
           "gopkg.in/yaml.v3! <- app!till/feed.read <- app!till/ui.tap <- app!main.main",
           {"yaml.Unmarshal", YAML}, {"till/feed.read", MOD "feed/feed.go"},
           {"till/ui.tap", MOD "ui/ui.go"}, {"main.main", MOD "cmd/till.go"});
    /* Package main is a program's, in a goroutine, too. */
    EXPECT(*state, "app!till/feed.read <- app!main.(*T).load",
           "app!till/feed.read <- app!main.(*T).load", {"till/feed.read", MOD "feed/feed.go"},
           {"main.(*T).load", MOD "cmd/till.go"});
    EXPECT(*state, "nfd! <- app!parse <- app!run", "nfd! <- app!parse <- app!run",
           {"NFD_OpenDialog", NFD}, {"parse", "external/shop+/src/parse.cc"},
           {"run", "external/shop+/src/run.cc"}, {"main", "external/shop+/src/main.cc"});
    EXPECT(*state, "app!parse <- app!rg::run", "app!parse <- app!rg::run <- app!rg::main",
           {"parse", "/r/.cargo/registry/src/index-6f17/ripgrep-14.1.0/parse.rs"},
           {"rg::run", "/r/.cargo/registry/src/index-6f17/ripgrep-14.1.0/main.rs"},
           {"rg::main", "/r/.cargo/registry/src/index-6f17/ripgrep-14.1.0/main.rs"});
}

/* Names that the device gave have files, as lines have, or no file. */
static void names_of_the_device_tell_a_program_as_lines_do(void **state) {
    static const char text[] =
        "{\"format\":\"stall-dump/1\",\"id\":\"1\",\"stall\":{\"kind\":\"hang\"},\"names\":{"
        "\"4104\":[\"feed.read\",8,\"" MOD "feed/feed.go\",10],\"4360\":[\"helper\",8],"
        "\"4616\":[\"main.main\",8,\"" MOD "cmd/till.go\",3]},"
        "\"images\":[{\"uuid\":\"6B834217-5A1C-3E4D-9F00-112233445566\",\"name\":\"app\","
        "\"load\":4096,\"size\":4096,\"in_app\":true}],"
        "\"threads\":[{\"id\":1,\"main\":true,\"frames\":[4104,4360,4616]}]}";
    struct linked *l = *state;
    struct dump d = {0};
    assert_int_equal(dump_parse(&d, text, sizeof text - 1, NULL), ST_OK);
    assert_int_equal(keyer_key(l->keyer, &d, &l->key, NULL), ST_OK);
    assert_string_equal(l->key.level[0].frames[0].info->image, "app");
    assert_string_equal(l->key.level[0].frames[0].info->function, "feed.read");
    assert_string_equal(l->key.level[0].frames[1].info->function, "helper");
    dump_release(&d);
}

static void an_interpreted_program_is_the_package_of_its_first_file(void **state) {
    static const char *const names[][2] = {
        {"parse", "/usr/lib/node_modules/lint/node_modules/acorn/acorn.js"},
        {"lintFile", "/usr/lib/node_modules/lint/lib/lint.js"},
        {"Object.<anonymous>", "/usr/lib/node_modules/lint/bin/lint.js"}};
    struct linked *l = *state;
    struct dump_line lines[3];
    struct dump_location locations[3];
    uint64_t frames[3] = {0x10, 0x20, 0x30};
    uint32_t indexes[3] = {0, 1, 2};
    for (size_t i = 0; i < 3; i++) {
        lines[i] = (struct dump_line){.function = names[i][0], .file = names[i][1], .line = 1};
        locations[i] = (struct dump_location){.image = -1,
                                              .offset = frames[i],
                                              .start = frames[i],
                                              .lines = &lines[i],
                                              .line_count = 1,
                                              .in_app = true};
    }
    struct dump_thread main = {.main = true,
                               .stack = {.frames = frames, .frame_count = 3, .locations = indexes}};
    struct dump d = {.threads = &main,
                     .thread_count = 1,
                     .locations = locations,
                     .location_count = 3,
                     .stall.cpu_permille = -1};
    assert_int_equal(keyer_key(l->keyer, &d, &l->key, NULL), ST_OK);
    assert_string_equal(l->key.level[0].frames[0].info->image, "acorn");
    assert_string_equal(l->key.level[0].frames[1].info->image, "app");
    assert_string_equal(l->key.level[0].frames[1].info->function, "lintFile");
}

static void a_library_with_a_main_function_is_no_program(void **state) {
    /* The library's main runs the app's. */
    EXPECT(*state, "SDL! <- app!till_main", "SDL! <- app!till_main",
           {"SDL_Delay", "third_party/SDL/src/SDL.c"}, {"till_main", SRC},
           {"SDL_RunApp", "third_party/SDL/src/SDL.c"}, {"main", "third_party/SDL/src/main.c"});
    /* The app's main runs a library's main. */
    EXPECT(*state, "glew! <- nfd!NFD::main <- nfd!run", "glew! <- nfd!NFD::main <- nfd!run",
           {"glewInit", GLEW}, {"NFD::main", NFD}, {"run", NFD}, {"main", SRC});
}

static void a_program_is_its_package_where_its_main_function_is_not_on_the_stack(void **state) {
    EXPECT(*state, "app!feed.read <- app!feed.load", "app!feed.read <- app!feed.load",
           {"feed.read", "/root/go/pkg/mod/github.com/acme/Shop@v1.2.0/feed/feed.go"},
           {"feed.load", "/root/go/pkg/mod/github.com/acme/Shop@v1.2.0/feed/feed.go"});
    /* A framework of an app has the name of the library that it is built from. */
    EXPECT(*state, "Shop!feed.read <- Shop!feed.load", "Shop!feed.read <- Shop!feed.load",
           {"feed.read", "/Users/ann/till/Pods/Shop/feed.m"},
           {"feed.load", "/Users/ann/till/Pods/Shop/feed.m"});
}

static void a_rule_for_an_image_leaves_its_libraries_to_their_files(void **state) {
    static const char *const rules[] = {"in-app * in libui.so\n", "in-app * in id:abab\n"};
    static const char *const names[] = {"ours_NFD", "till", "nfd_open"};
    static const char *const files[] = {NFD, SRC, NFD};
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        for (int told = 0; told < 2; told++) {
            struct fixture f = {.d = {.device.os = "Linux", .stall.cpu_permille = -1}};
            struct rules *r = NULL;
            struct keyer *k = NULL;
            struct stall_key key;
            assert_int_equal(rules_new(&r, NULL), ST_OK);
            assert_int_equal(rules_add(r, "own", rules[i], strlen(rules[i]), NULL), ST_OK);
            assert_int_equal(keyer_new(&k, &(struct key_options){.rules = r}, NULL), ST_OK);
            for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
                fixture_frame(&f, "libui.so", told, names[n], 0x100 * (n + 1));
                f.lines[n].file = files[n];
            }
            f.images[0].id.bytes[1] = 0xab;
            fixture_stack(&f, 1);
            assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
            assert_int_equal(key.level[1].count, 2);
            assert_string_equal(key.level[1].frames[0].info->image, "nfd");
            assert_string_equal(key.level[1].frames[1].info->function, "till");
            keyer_free(k);
            rules_free(r);
        }
    }
}

static void a_rule_for_the_image_of_a_library_makes_the_library_the_apps(void **state) {
    static const struct {
        const char *image, *file, *key;
    } cases[] = {{"libnfd.so", NFD, "app"},
                 {"libuv.so.1", "/home/ann/shop/third_party/libuv/src/core.c", "app"},
                 {"libuv.so.1", "/home/ann/shop/third_party/uv/src/core.c", "app"},
                 {"uv", "/home/ann/shop/third_party/libuv/src/core.c", "app"},
                 {"libuvc.so", "/home/ann/shop/third_party/libuv/src/core.c", "libuv"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = {.d = {.device.os = "Linux", .stall.cpu_permille = -1}};
        struct strbuf rule = {0};
        struct rules *r = NULL;
        struct keyer *k = NULL;
        struct stall_key key;
        strbuf_addf(&rule, "in-app * in %.*s*\n", (int)strcspn(cases[i].image, "."),
                    cases[i].image);
        assert_int_equal(rules_new(&r, NULL), ST_OK);
        assert_int_equal(rules_add(r, "own", strbuf_cstr(&rule), rule.len, NULL), ST_OK);
        assert_int_equal(keyer_new(&k, &(struct key_options){.rules = r}, NULL), ST_OK);
        fixture_frame(&f, cases[i].image, true, "nfd_open", 0x100);
        f.lines[0].file = cases[i].file;
        fixture_stack(&f, 1);
        assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
        assert_string_equal(key.level[0].frames[0].info->image, cases[i].key);
        keyer_free(k);
        rules_free(r);
        strbuf_release(&rule);
    }
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
        cmocka_unit_test(a_program_built_in_a_folder_for_libraries_has_functions_of_its_own),
        cmocka_unit_test(names_of_the_device_tell_a_program_as_lines_do),
        cmocka_unit_test(an_interpreted_program_is_the_package_of_its_first_file),
        cmocka_unit_test(a_library_with_a_main_function_is_no_program),
        cmocka_unit_test(a_program_is_its_package_where_its_main_function_is_not_on_the_stack),
        cmocka_unit_test(a_rule_for_an_image_leaves_its_libraries_to_their_files),
        cmocka_unit_test(a_rule_for_the_image_of_a_library_makes_the_library_the_apps),
        cmocka_unit_test(an_exemplar_keeps_the_owner_by_which_its_frames_were_judged),
    };
    return cmocka_run_group_tests_name("linked_key", tests, linked_set_up, linked_tear_down);
}
