/* Tests of keys: keys of fixed stacks, and properties that must hold with any rules. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/filemap.h"
#include "base/parse.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/key.h"

static struct rules *builtin(void) {
    struct rules *r = NULL;
    assert_int_equal(rules_new(&r, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(r, NULL), ST_OK);
    return r;
}

static struct keyer *keyer_with(const struct rules *r) {
    struct keyer *k = NULL;
    assert_int_equal(keyer_new(&k, &(struct key_options){.rules = r}, NULL), ST_OK);
    return k;
}

/* Appends a key's frames: "app!f <- libc.so!g". */
static void add_frames(struct strbuf *b, const struct key *key) {
    for (size_t i = 0; i < key->count; i++) {
        strbuf_addf(b, "%s%s!%s", i ? " <- " : "", key->frames[i].info->image,
                    key->frames[i].info->function);
    }
}

/* ---- what holds for every rule set ---- */

/* Writes the id of a level's key of a dump. */
static void id_of(struct keyer *k, const struct dump *d, int level, char id[KEY_ID_SIZE]) {
    struct stall_key key;
    struct strbuf b = {0};
    assert_int_equal(keyer_key(k, d, &key, NULL), ST_OK);
    key_text(&key.level[level - 1], &b);
    key_id((char)('0' + level), strbuf_cstr(&b), b.len, id);
    strbuf_release(&b);
}

#define NAMES(f, count, ...)                                                                       \
    fixture_names(f, (const char *const[]){__VA_ARGS__},                                           \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), count)

static void ids_do_not_change_with_the_load_address(void **state) {
    (void)state;
    static const char text[] =
        "{\"format\":\"stall-dump/"
        "1\",\"id\":\"a\",\"images\":[{\"build_id\":\"abcd\",\"name\":\"shop\",\"load\":%llu,"
        "\"size\":65536,\"in_app\":true}],\"threads\":[{\"id\":1,\"main\":true,\"frames\":[%llu,%"
        "llu]}]}";
    struct rules *r = builtin();
    struct keyer *k = keyer_with(r);
    char ids[3][KEY_ID_SIZE];
    static const unsigned long long loads[] = {0x10000, 0x7f5500000000, 0x7f5500000000};
    for (int i = 0; i < 3; i++) {
        char json[512];
        struct dump d;
        unsigned long long load = loads[i];
        /* The third dump has one frame that differs. */
        snprintf(json, sizeof json, text, load, load + 0x400, load + (i == 2 ? 0x900 : 0x800));
        assert_int_equal(dump_parse(&d, json, strlen(json), NULL), ST_OK);
        id_of(k, &d, 1, ids[i]);
        dump_release(&d);
    }
    assert_string_equal(ids[0], ids[1]);
    assert_string_not_equal(ids[1], ids[2]);
    keyer_free(k);
    rules_free(r);
}

/* Pointer signatures of arm64, even in bits below Linux's 48, and Thumb's bit 0 are not part of an
 * address. */
static void ids_do_not_change_with_tags_and_signatures(void **state) {
    (void)state;
    static const char text[] =
        "{\"format\":\"stall-dump/"
        "1\",\"id\":\"a\",\"device\":{\"arch\":\"%s\"},\"images\":[{\"%s\":"
        "\"4C4C442C55553144A1DE7AABF56A019C\",\"name\":\"shop\",\"load\":65536,\"size\":65536,"
        "\"in_app\":true}],\"threads\":[{\"id\":1,\"main\":true,\"frames\":[66560,%llu,%llu]}]}";
    static const struct {
        const char *arch, *id;
        unsigned long long tag;
    } cases[] = {{"arm64", "uuid", 0x5aULL << 56},
                 {"arm64e", "uuid", 1ULL << 47},
                 {"aarch64", "build_id", 0x5aULL << 56},
                 {"armv7", "uuid", 1}};
    struct rules *r = builtin();
    struct keyer *k = keyer_with(r);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char ids[2][KEY_ID_SIZE];
        for (unsigned long long tagged = 0; tagged < 2; tagged++) {
            char json[512];
            struct dump d;
            unsigned long long tag = tagged * cases[i].tag;
            snprintf(json, sizeof json, text, cases[i].arch, cases[i].id, 67584 | tag, 69632 | tag);
            assert_int_equal(dump_parse(&d, json, strlen(json), NULL), ST_OK);
            id_of(k, &d, 1, ids[tagged]);
            dump_release(&d);
        }
        assert_string_equal(ids[0], ids[1]);
    }
    keyer_free(k);
    rules_free(r);
}

static void ids_do_not_change_with_lines_offsets_or_what_compilers_append(void **state) {
    (void)state;
    struct rules *r = builtin();
    struct keyer *k = keyer_with(r);
    char ids[2][KEY_ID_SIZE];
    struct fixture a = {0}, b = {0};
    NAMES(&a, 1, "shop::load(int)", "shop::start()::{lambda()#1}::operator()() const", "main");
    fixture_frame(&b, "Shop", true, "shop::load(int) [clone .constprop.0]", 0x9990);
    fixture_frame(&b, "Shop", true, "shop::start()::{lambda()#4}::operator()() const", 0x7770);
    fixture_frame(&b, "Shop", true, "main", 0x10);
    fixture_stack(&b, 7);
    b.lines[0].line = 4711;
    id_of(k, &a.d, 1, ids[0]);
    id_of(k, &b.d, 1, ids[1]);
    assert_string_equal(ids[0], ids[1]);
    keyer_free(k);
    rules_free(r);
}

/* People and their tools store ids, so these must never change without a new rules hash. */
static void ids_are_these(void **state) {
    (void)state;
    char id[KEY_ID_SIZE];
    static const char text[] = "app\tdraw\n";
    key_id('1', text, sizeof text - 1, id);
    assert_string_equal(id, "d9da0273d7b4");
    key_id('2', text, sizeof text - 1, id);
    assert_string_equal(id, "c6c7e934c8e7");
}

static void samples_vote_by_their_innermost_relevant_function(void **state) {
    (void)state;
    struct rules *r = builtin();
    struct keyer *k = keyer_with(r);
    struct fixture f = {0};
    struct stall_key key;
    keyer_free(k);
    assert_int_equal(keyer_new(&k, &(struct key_options){.rules = r, .kind = KEY_OF_FRAMES}, NULL),
                     ST_OK);
    NAMES(&f, 5, "!read", "parse", "load", "main");
    NAMES(&f, 4, "!memcpy", "draw", "show", "main");
    NAMES(&f, 3, "!malloc", "draw", "animate", "main");
    f.d.heaviest = 0; /* the device saw three stacks with 5, 4 and 3 samples */
    assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
    assert_string_equal(key.level[0].frames[0].info->function, "draw");
    assert_string_equal(key.level[0].frames[1].info->function, "show");
    keyer_free(k);
    rules_free(r);
}

static void idle_samples_decide_only_as_the_majority(void **state) {
    (void)state;
    struct rules *r = builtin();
    struct keyer *k = keyer_with(r);
    for (uint64_t idle = 9; idle <= 11; idle++) {
        struct fixture f = {0};
        struct stall_key key;
        NAMES(&f, idle, "!__poll", "!g_main_loop_run", "main");
        NAMES(&f, 6, "!read", "parse", "main");
        NAMES(&f, 4, "draw", "main");
        assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
        assert_int_equal(key.status, idle > 10 ? KEY_IDLE : KEY_OK);
        if (idle <= 10) {
            assert_string_equal(key.level[0].frames[0].info->function, "parse");
        }
    }
    keyer_free(k);
    rules_free(r);
}

static void without_rules_the_innermost_frames_are_the_key_as_they_are(void **state) {
    (void)state;
    struct keyer *k = keyer_with(NULL);
    struct fixture f = {0};
    struct stall_key key;
    struct strbuf b = {0};
    NAMES(&f, 9, "other", "main");
    NAMES(&f, 1, "!__poll", "!__poll", "shop::wait(int)", "shop::wait(int)", "main");
    f.d.heaviest = 1; /* the device's choice of the heaviest stack counts */
    assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
    add_frames(&b, &key.level[0]);
    assert_string_equal(strbuf_cstr(&b), "libsys.so!__poll <- libsys.so!__poll");
    strbuf_clear(&b);
    add_frames(&b, &key.level[1]);
    assert_string_equal(strbuf_cstr(&b),
                        "libsys.so!__poll <- libsys.so!__poll <- Shop!shop::wait(int) <- "
                        "Shop!shop::wait(int)");
    strbuf_release(&b);
    keyer_free(k);
}

static void a_dump_without_frames_has_no_key(void **state) {
    (void)state;
    struct rules *r = builtin();
    struct keyer *k = keyer_with(r);
    struct fixture f = {0};
    struct stall_key key;
    f.d.heaviest = -1;
    assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
    assert_int_equal(key.status, KEY_NO_STACK);
    keyer_free(k);
    rules_free(r);
}

static void user_rules_go_before_the_built_in_ones(void **state) {
    (void)state;
    static const char text[] = "skip draw\nkeep read\nnormalise v?_* as *\nin-app * in libsys.so\n"
                               "normalise pair_* as *_of_*\n";
    struct rules *r = NULL;
    assert_int_equal(rules_new(&r, NULL), ST_OK);
    assert_int_equal(rules_add(r, "mine", text, strlen(text), NULL), ST_OK);
    assert_int_equal(rules_add_builtin(r, NULL), ST_OK);
    struct keyer *k = keyer_with(r);
    struct fixture f = {0};
    struct stall_key key;
    struct strbuf b = {0};
    NAMES(&f, 1, "draw", "!read", "v2_load", "main");
    assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
    add_frames(&b, &key.level[0]);
    assert_string_equal(strbuf_cstr(&b), "app!read <- app!load");
    struct fixture twice = {0};
    NAMES(&twice, 1, "pair_int", "other", "main");
    assert_int_equal(keyer_key(k, &twice.d, &key, NULL), ST_OK);
    strbuf_clear(&b);
    add_frames(&b, &key.level[0]);
    assert_string_equal(strbuf_cstr(&b), "app!int_of_int <- app!other");
    strbuf_release(&b);
    keyer_free(k);
    rules_free(r);
}

static struct rules *rules_of(const char *text) {
    struct rules *r = NULL;
    assert_int_equal(rules_new(&r, NULL), ST_OK);
    assert_int_equal(rules_add(r, "mine", text, strlen(text), NULL), ST_OK);
    return r;
}

/* Makes the key of the fixture's dump and compares level 1. */
static void expect_level1(struct keyer *k, struct fixture *f, const char *want) {
    struct stall_key key;
    struct strbuf b = {0};
    assert_int_equal(keyer_key(k, &f->d, &key, NULL), ST_OK);
    add_frames(&b, &key.level[0]);
    assert_string_equal(strbuf_cstr(&b), want);
    strbuf_release(&b);
}

static void a_frame_is_what_its_caller_makes_of_it(void **state) {
    (void)state;
    struct rules *r = rules_of("skip wait from load cause disk\n"
                               "cause network wait from fetch\n");
    struct keyer *k = keyer_with(r);
    for (int i = 0; i < 2; i++) { /* the second time the answers come from the keyer's memory */
        struct fixture load = {0}, fetch = {0}, last = {0};
        struct stall_key key;
        NAMES(&load, 1, "wait", "load", "main");
        NAMES(&fetch, 1, "wait", "fetch", "main");
        NAMES(&last, 1, "wait");
        load.d.stall.cpu_permille = fetch.d.stall.cpu_permille = last.d.stall.cpu_permille = -1;
        expect_level1(k, &load, "app!load <- app!main");
        expect_level1(k, &fetch, "app!wait <- app!fetch");
        expect_level1(k, &last, "app!wait");
        assert_int_equal(keyer_key(k, &load.d, &key, NULL), ST_OK);
        assert_int_equal(key.cause, CAUSE_DISK);
        assert_int_equal(keyer_key(k, &fetch.d, &key, NULL), ST_OK);
        assert_int_equal(key.cause, CAUSE_NETWORK);
        assert_int_equal(keyer_key(k, &last.d, &key, NULL), ST_OK);
        assert_int_equal(key.cause, CAUSE_COMPUTE); /* no rule decides: it is code that ran */
    }
    keyer_free(k);
    rules_free(r);
}

static void a_vendor_has_its_name_whatever_the_image(void **state) {
    (void)state;
    struct rules *r = rules_of("vendor Acme Acme::*\nvendor Acme * in AcmeKit\n");
    struct keyer *k = keyer_with(r);
    struct fixture f = {0};
    fixture_frame(&f, "Shop", true, "Acme::send", 0x100);
    fixture_frame(&f, "AcmeKit", true, "send", 0x100);
    fixture_frame(&f, "Shop", true, "buy", 0x200);
    fixture_stack(&f, 1);
    expect_level1(k, &f, "Acme! <- app!buy");
    keyer_free(k);
    rules_free(r);
}

static void whose_a_frame_is_may_hang_on_the_path_of_its_image(void **state) {
    (void)state;
    struct rules *r = rules_of("not-in-app public in Shop\n"
                               "in-app * in */Shop.app/*\n"
                               "not-in-app other in Shop\n");
    struct keyer *k = keyer_with(r);
    struct fixture f = {0};
    NAMES(&f, 1, "public", "other");
    expect_level1(k, &f, "Shop!public <- Shop!other");
    f.images[0].path = "/x/Shop.app/Shop"; /* the same functions in another image */
    f.images[0].in_app = false;
    expect_level1(k, &f, "Shop! <- app!other");
    keyer_free(k);
    rules_free(r);
}

static void a_rule_of_another_system_does_not_match(void **state) {
    (void)state;
    struct rules *r = rules_of("skip a on darwin\nskip b on linux\n");
    struct keyer *k = keyer_with(r);
    struct fixture f = {0};
    NAMES(&f, 1, "a", "b");
    f.d.device.os = "iOS 18.7";
    expect_level1(k, &f, "app!b");
    f.d.device.os = "Debian GNU/Linux 12 (bookworm)";
    expect_level1(k, &f, "app!a");
    f.d.device.os = NULL; /* a build-id as the image's id shows that the system is Linux */
    expect_level1(k, &f, "app!a");
    f.images[0].id.kind = IMAGE_ID_UUID;
    expect_level1(k, &f, "app!b");
    keyer_free(k);
    rules_free(r);
}

static void the_surest_frame_tells_the_cause(void **state) {
    (void)state;
    struct rules *r = rules_of("skip read cause io 30%\n"
                               "skip wait cause lock 60%\n"
                               "skip fetch cause network 95% because \"waits for the shop\"\n"
                               "skip query cause disk 95%\n");
    struct keyer *k = keyer_with(r);
    struct fixture f = {0};
    struct stall_key key;
    NAMES(&f, 1, "wait", "read", "fetch", "query", "buy", "main");
    assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
    assert_int_equal(key.cause, CAUSE_NETWORK);
    assert_int_equal(key.confidence, 950);
    assert_string_equal(key.reason, "waits for the shop (fetch)");
    keyer_free(k);
    rules_free(r);
}

static void a_long_function_is_cut_and_stays_itself(void **state) {
    (void)state;
    struct rules *r = builtin();
    struct keyer *k = keyer_with(r);
    enum { LONG = 5000 };
    char *names[2];
    char ids[2][KEY_ID_SIZE];
    for (int i = 0; i < 2; i++) {
        struct fixture *f = calloc(1, sizeof *f);
        names[i] = malloc(LONG + 1);
        assert_true(f && names[i]);
        memset(names[i], 'a', LONG);
        names[i][LONG - 1] = (char)('a' + i); /* the names differ only after the cut */
        names[i][LONG] = 0;
        fixture_frame(f, "Shop", true, names[i], 0);
        fixture_stack(f, 1);
        struct stall_key key;
        assert_int_equal(keyer_key(k, &f->d, &key, NULL), ST_OK);
        assert_true(strlen(key.level[0].frames[0].info->function) <= KEY_FUNCTION_MAX);
        id_of(k, &f->d, 1, ids[i]);
        free(f);
    }
    assert_string_not_equal(ids[0], ids[1]);
    free(names[0]);
    free(names[1]);
    keyer_free(k);
    rules_free(r);
}

static void names_from_the_device_serve_raw_dumps(void **state) {
    (void)state;
    static const char json[] =
        "{\"format\":\"stall-dump/"
        "1\",\"id\":\"a\",\"images\":[{\"build_id\":\"abcd\",\"name\":\"shop\",\"load\":65536,"
        "\"size\":65536,\"in_app\":true},{\"build_id\":\"abce\",\"name\":\"libc.so.6\",\"load\":"
        "1048576,\"size\":65536}],"
        "\"names\":{\"1048580\":[\"fsync\",4]},"
        "\"threads\":[{\"id\":1,\"main\":true,\"frames\":[1048580,65792]}]}";
    struct rules *r = builtin();
    struct keyer *k = keyer_with(r);
    struct dump d;
    struct stall_key key;
    struct strbuf b = {0};
    assert_int_equal(dump_parse(&d, json, strlen(json), NULL), ST_OK);
    assert_int_equal(keyer_key(k, &d, &key, NULL), ST_OK);
    add_frames(&b, &key.level[0]);
    assert_string_equal(strbuf_cstr(&b),
                        "abcd!+0xff"); /* a return address is looked up one byte before */
    assert_int_equal(key.cause, CAUSE_DISK);
    assert_true(key.unresolved);
    strbuf_release(&b);
    dump_release(&d);
    keyer_free(k);
    rules_free(r);
}

/* Checks that a keyer's caches do not change the keys that it makes. */
static void a_keyer_is_renewed_before_it_knows_too_much(void **state) {
    (void)state;
    struct rules *r = builtin();
    struct keyer *k = keyer_with(r), *retired = NULL;
    struct fixture known = {0};
    struct stall_key first;
    char before[KEY_ID_SIZE], after[KEY_ID_SIZE], name[32];
    size_t dumps = 0;
    NAMES(&known, 1, "!read", "load", "open");
    id_of(k, &known.d, 2, before);
    assert_int_equal(keyer_key(k, &known.d, &first, NULL), ST_OK);
    for (; !retired && dumps < 2 * KEYER_FUNCTIONS_MAX; dumps++) {
        struct fixture f = {0};
        struct stall_key key;
        snprintf(name, sizeof name, "function_%zu", dumps);
        NAMES(&f, 1, name);
        assert_int_equal(keyer_renew(&k, &retired, NULL), ST_OK);
        assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
    }
    assert_true(dumps > KEYER_FUNCTIONS_MAX / 4 && dumps < 2 * KEYER_FUNCTIONS_MAX);
    assert_non_null(retired);
    assert_ptr_not_equal(k, retired);
    assert_string_equal(first.level[1].frames[0].info->function,
                        "load"); /* a key made by the retired keyer stays valid */
    id_of(k, &known.d, 2, after);
    assert_string_equal(after, before);
    keyer_free(retired);
    assert_int_equal(keyer_renew(&k, &retired, NULL), ST_OK);
    assert_null(retired);
    keyer_free(k);
    rules_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_keyer_is_renewed_before_it_knows_too_much),
        cmocka_unit_test(ids_do_not_change_with_the_load_address),
        cmocka_unit_test(ids_do_not_change_with_tags_and_signatures),
        cmocka_unit_test(ids_do_not_change_with_lines_offsets_or_what_compilers_append),
        cmocka_unit_test(ids_are_these),
        cmocka_unit_test(samples_vote_by_their_innermost_relevant_function),
        cmocka_unit_test(idle_samples_decide_only_as_the_majority),
        cmocka_unit_test(without_rules_the_innermost_frames_are_the_key_as_they_are),
        cmocka_unit_test(a_dump_without_frames_has_no_key),
        cmocka_unit_test(user_rules_go_before_the_built_in_ones),
        cmocka_unit_test(a_frame_is_what_its_caller_makes_of_it),
        cmocka_unit_test(a_vendor_has_its_name_whatever_the_image),
        cmocka_unit_test(whose_a_frame_is_may_hang_on_the_path_of_its_image),
        cmocka_unit_test(a_rule_of_another_system_does_not_match),
        cmocka_unit_test(the_surest_frame_tells_the_cause),
        cmocka_unit_test(a_long_function_is_cut_and_stays_itself),
        cmocka_unit_test(names_from_the_device_serve_raw_dumps),
    };
    return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
