/* Tests the key of a stall whose thread was busy in several helpers of one function. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "classify/keys/exemplar.h"
#include "classify/keys/fixture_dump_test.h"
#include "dump/dump_private.h"

#define NAMES(f, count, ...)                                                                       \
    fixture_names(f, (const char *const[]){__VA_ARGS__},                                           \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), count)

enum { PIECES = 64 };

struct pieces {
    char *texts[PIECES];
    size_t count;
};

static struct rules *shared_rules(void) {
    struct rules *r = NULL;
    assert_int_equal(rules_new(&r, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(r, NULL), ST_OK);
    return r;
}

static void add_functions(struct strbuf *b, const struct key *key) {
    for (size_t i = 0; i < key->count; i++) {
        strbuf_addf(b, "%s%s", i ? " <- " : "", key->frames[i].info->function);
    }
}

static bool take(void *ctx, const char *piece, size_t len) {
    struct pieces *p = ctx;
    assert_true(p->count < PIECES && strlen(piece) == len);
    p->texts[p->count] = strdup(piece);
    return p->texts[p->count++] != NULL;
}

/* Checks that the stack that is kept of a dump has the dump's keys, after a second cut, too. */
static void assert_kept(struct keyer *k, const struct dump *d, const char *want) {
    struct dump copies[2];
    for (int i = 0; i < 2; i++) {
        struct stall_key key;
        struct pieces p = {.count = 0};
        struct strbuf document = {0}, got = {0};
        assert_int_equal(keyer_key(k, i ? &copies[0] : d, &key, NULL), ST_OK);
        assert_true(exemplar_cut(i ? &copies[0] : d, &key, take, &p));
        size_t others = key.other_count;
        assert_int_equal(exemplar_join((const char *const *)p.texts, p.count, &document, NULL),
                         ST_OK);
        assert_int_equal(dump_parse(&copies[i], document.data, document.len, NULL), ST_OK);
        assert_int_equal(keyer_key(k, &copies[i], &key, NULL), ST_OK);
        add_functions(&got, &key.level[1]);
        assert_string_equal(strbuf_cstr(&got), want);
        assert_int_equal(key.other_count, others);
        assert_int_equal(key.truth, -1); /* how many samples there were is not known any more */
        while (p.count) {
            free(p.texts[--p.count]);
        }
        strbuf_release(&document);
        strbuf_release(&got);
    }
    dump_release(&copies[0]);
    dump_release(&copies[1]);
}

static void assert_shared(struct fixture *f, int64_t cpu, const char *level2, int64_t truth) {
    struct rules *r = shared_rules();
    struct keyer *k = NULL;
    struct stall_key key;
    struct strbuf got = {0};
    f->d.stall.cpu_permille = cpu;
    assert_int_equal(keyer_new(&k, &(struct key_options){.rules = r}, NULL), ST_OK);
    assert_int_equal(keyer_key(k, &f->d, &key, NULL), ST_OK);
    add_functions(&got, &key.level[1]);
    assert_string_equal(strbuf_cstr(&got), level2);
    assert_int_equal(key.truth, truth);
    assert_kept(k, &f->d, level2);
    strbuf_release(&got);
    keyer_free(k);
    rules_free(r);
}

static void add_spread(struct fixture *f) {
    NAMES(f, 3, "parse", "run", "tap", "main");
    NAMES(f, 4, "hash", "run", "tap", "main");
    NAMES(f, 3, "!memmove", "copy", "run", "tap", "main");
}

static void helpers_of_a_busy_function_are_one_bucket(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    add_spread(&f);
    assert_shared(&f, 900, "run <- tap", 1000);
}

static void a_thread_that_waits_keeps_the_key_of_most_samples(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    add_spread(&f);
    assert_shared(&f, 100, "hash <- run <- tap", 400);
}

/* The thread was ready to run, but other threads had the processor. */
static void helpers_of_a_starved_function_are_one_bucket(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    f.thread = (struct dump_thread){
        .id = 1, .main = true, .state = "running", .cpu_ms = -1, .waits_for = {.owner = -1}};
    f.d.threads = &f.thread;
    f.d.thread_count = 1;
    add_spread(&f);
    assert_shared(&f, 300, "run <- tap", 1000);
}

static void a_thread_that_also_waits_keeps_the_key_of_most_samples(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    f.thread = (struct dump_thread){
        .id = 1, .main = true, .state = "running", .cpu_ms = -1, .waits_for = {.owner = -1}};
    f.d.threads = &f.thread;
    f.d.thread_count = 1;
    add_spread(&f);
    NAMES(&f, 1, "!fsync", "save", "run", "tap", "main");
    assert_shared(&f, 300, "hash <- run <- tap", 363);
}

static void equal_keys_keep_what_the_samples_do_not_share(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    NAMES(&f, 3, "!memmove", "parse", "run", "tap", "main");
    NAMES(&f, 4, "parse", "run", "tap", "main");
    assert_shared(&f, 900, "parse <- run <- tap", 1000);
}

static void a_helper_of_the_function_that_most_samples_end_in_is_kept(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    NAMES(&f, 3, "hash", "run", "tap", "main");
    NAMES(&f, 5, "run", "tap", "main");
    assert_shared(&f, 900, "run <- tap", 1000);
}

static void few_samples_in_a_caller_do_not_count(void **state) {
    (void)state;
    for (unsigned strays = 1; strays <= 2; strays++) {
        struct fixture f = {.d.id = "x"};
        NAMES(&f, 5, "parse", "run", "tap", "main");
        NAMES(&f, 5, "hash", "run", "tap", "main");
        NAMES(&f, strays, "tap", "main");
        bool few = 100 * strays <= 15 * (10 + strays);
        assert_shared(&f, 900, few ? "run <- tap" : "tap", few ? 909 : 1000);
    }
}

static void another_action_in_few_samples_does_not_count(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    add_spread(&f);
    NAMES(&f, 5, "draw", "scroll", "main");
    assert_shared(&f, 900, "run <- tap", 666);
}

static void without_a_shared_function_of_the_app_the_most_frequent_key_wins(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    NAMES(&f, 3, "parse", "tap", "main");
    NAMES(&f, 4, "hash", "scroll", "main");
    assert_shared(&f, 900, "hash <- scroll", 571);
}

static void a_running_thread_of_unknown_time_is_busy(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    add_spread(&f);
    f.thread = (struct dump_thread){.main = true, .cpu_ms = -1, .stack = f.stacks[0]};
    f.d.threads = &f.thread;
    f.d.thread_count = 1;
    f.thread.state = "waiting";
    assert_shared(&f, -1, "hash <- run <- tap", 400);
    f.thread.state = "running";
    assert_shared(&f, -1, "run <- tap", 1000);
}

static void samples_in_no_system_call_are_busy(void **state) {
    (void)state;
    struct fixture few = {.d.id = "x"}, f = {.d.id = "x"}, calls = {.d.id = "x"};
    NAMES(&few, 2, "parse", "run", "tap", "main");
    NAMES(&few, 2, "hash", "run", "tap", "main");
    assert_shared(&few, -1, "hash <- run <- tap", 500);
    add_spread(&f);
    assert_shared(&f, -1, "run <- tap", 1000);
    NAMES(&calls, 5, "!read", "hash", "run", "tap", "main");
    NAMES(&calls, 6, "parse", "run", "tap", "main");
    assert_shared(&calls, -1, "parse <- run <- tap", 545);
}

/* A recursion is sampled at any depth; its runs count as one function. */
static void a_recursion_of_any_depth_is_one_function(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    NAMES(&f, 3, "!memmove", "word", "walk", "walk", "walk", "tap", "main");
    NAMES(&f, 3, "hash", "word", "walk", "tap", "main");
    NAMES(&f, 3, "parse", "word", "walk", "walk", "walk", "walk", "walk", "tap", "main");
    assert_shared(&f, 900, "word <- walk <- tap", 1000);
}

static void what_is_no_other_sample_is_refused(void **state) {
    (void)state;
    static const char *const others[] = {
        "[{}]",
        "[{\"shared\":-1}]",
        "[{\"shared\":2}]",
        "[{\"shared\":1,\"frame\":{}}]",
        "[{\"shared\":1,\"image\":3}]",
        "[{\"shared\":1},{\"shared\":1},{\"shared\":1},{\"shared\":1}]"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct strbuf first = {0}, out = {0};
        struct err e = {0};
        strbuf_addf(&first, "{\"stall\":{},\"thread\":{\"main\":true},\"others\":%s}", others[i]);
        const char *const pieces[] = {strbuf_cstr(&first), "{\"at\":4100}"};
        assert_int_equal(exemplar_join(pieces, 2, &out, &e), ST_ERR);
        assert_int_equal(e.code, ERR_FORMAT);
        const char *const bare[] = {
            "{\"stall\":{},\"thread\":{},\"others\":[{\"shared\":0,\"frame\":{\"at\":1}}]}"};
        assert_int_equal(exemplar_join(bare, 1, &out, &e), ST_ERR);
        strbuf_release(&first);
        strbuf_release(&out);
    }
}

static void a_key_of_shared_frames_knows_its_former_ids(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x", .d.stall.cpu_permille = 900};
    struct rules *r = shared_rules();
    struct keyer *k = NULL;
    struct stall_key key;
    add_spread(&f);
    const struct dump_image_order order[] = {{f.images[0].load, 0}, {f.images[1].load, 1}};
    f.d.image_order = order;
    assert_int_equal(f.d.image_count, 2);
    assert_int_equal(keyer_new(&k, &(struct key_options){.rules = r, .aliases = true}, NULL),
                     ST_OK);
    assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
    uint64_t nameless = key.was[KEY_NAMELESS][0];
    assert_true(nameless != 0);
    for (size_t i = 0; i < f.d.sample_count; i++) {
        f.stacks[i].locations = NULL;
    }
    f.d.location_count = 0;
    f.d.locations = NULL;
    struct strbuf text = {0};
    assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
    key_text(&key.level[0], &text);
    assert_int_equal(key_number('1', text.data, text.len), nameless);
    strbuf_release(&text);
    keyer_free(k);
    rules_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(helpers_of_a_busy_function_are_one_bucket),
        cmocka_unit_test(a_thread_that_waits_keeps_the_key_of_most_samples),
        cmocka_unit_test(helpers_of_a_starved_function_are_one_bucket),
        cmocka_unit_test(a_thread_that_also_waits_keeps_the_key_of_most_samples),
        cmocka_unit_test(equal_keys_keep_what_the_samples_do_not_share),
        cmocka_unit_test(a_helper_of_the_function_that_most_samples_end_in_is_kept),
        cmocka_unit_test(few_samples_in_a_caller_do_not_count),
        cmocka_unit_test(another_action_in_few_samples_does_not_count),
        cmocka_unit_test(without_a_shared_function_of_the_app_the_most_frequent_key_wins),
        cmocka_unit_test(a_running_thread_of_unknown_time_is_busy),
        cmocka_unit_test(samples_in_no_system_call_are_busy),
        cmocka_unit_test(a_recursion_of_any_depth_is_one_function),
        cmocka_unit_test(what_is_no_other_sample_is_refused),
        cmocka_unit_test(a_key_of_shared_frames_knows_its_former_ids),
    };
    return cmocka_run_group_tests_name("shared_frames", tests, NULL, NULL);
}
