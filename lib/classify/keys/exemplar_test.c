/* The stack that a bucket keeps has the key of the dump that it came from. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/failmalloc.h"
#include "classify/keys/exemplar.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/key.h"

static void add_key(struct keyer *k, const struct dump *d, struct strbuf *out) {
    struct stall_key key;
    assert_int_equal(keyer_key(k, d, &key, NULL), ST_OK);
    assert_int_equal(key.status, KEY_OK);
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        key_text(&key.level[i], out);
        strbuf_addc(out, '/');
    }
    key_text(&key.action, out);
}

/* The stack that the keyer chooses of d, written and read again, has the same keys. */
static void assert_same_keys(const struct dump *d) {
    struct rules *rules = NULL;
    assert_int_equal(rules_new(&rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(rules, NULL), ST_OK);
    for (int raw = 0; raw < 2; raw++) {
        struct keyer *k = NULL;
        struct stall_key key;
        struct dump copy;
        struct strbuf text = {0}, want = {0}, got = {0};
        struct err e = {0};
        assert_int_equal(keyer_new(&k, &(struct key_options){.rules = raw ? NULL : rules}, NULL),
                         ST_OK);
        assert_int_equal(keyer_key(k, d, &key, NULL), ST_OK);
        assert_true(exemplar_write(d, key.stack, &text));
        assert_int_equal(dump_parse(&copy, strbuf_cstr(&text), text.len, &e), ST_OK);
        add_key(k, d, &want);
        add_key(k, &copy, &got);
        assert_string_equal(strbuf_cstr(&got), strbuf_cstr(&want));
        assert_null(copy.user);
        assert_null(copy.device.model);
        dump_release(&copy);
        strbuf_release(&text);
        strbuf_release(&want);
        strbuf_release(&got);
        keyer_free(k);
    }
    rules_free(rules);
}

static void a_symbolicated_stack_keeps_its_keys(void **state) {
    (void)state;
    static const char *const other[] = {"!poll", "Other", "main"};
    static const char *const names[] = {"!__psynch_mutexwait", "lock \"\xc3\xa9\"", "-[DB flush:]",
                                        "-[Cart add:]", "main"};
    struct fixture f = {.d = {.user = "u", .device.model = "m"}};
    fixture_names(&f, other, 3, 2);
    fixture_names(&f, names, 5, 9);
    assert_same_keys(&f.d);
}

static void frames_without_a_name_keep_their_offsets(void **state) {
    (void)state;
    struct fixture f = {.d.id = "x"};
    fixture_frame(&f, "Unused", true, "f", 0x10);
    fixture_stack(&f, 1);
    fixture_frame(&f, "Shop", true, NULL, 0x1230);
    fixture_frame(&f, "libsys.so", false, NULL, 0x40);
    fixture_frame(&f, "Shop", true, "main", 0x50);
    fixture_stack(&f, 5);
    assert_same_keys(&f.d);
}

static void what_a_dump_is_about_stays_in_its_keys(void **state) {
    (void)state;
    static const char rest[] =
        "\"images\":[{\"name\":\"A\",\"load\":4096,\"size\":4096,\"in_app\":true}],"
        "\"names\":{\"4100\":[\"poll\",0],\"4200\":[\"sort\",0],\"4300\":[\"run_loop\",0]}}";
    static const char *const stalls[] = {
        "\"kind\":\"cpu\"},\"threads\":[{\"id\":1,\"main\":true,\"frames\":[4100]},"
        "{\"id\":2,\"cpu_permille\":800,\"frames\":[4200]}]",
        "\"kind\":\"cpu\",\"top_thread\":{\"id\":5,\"name\":\"w\"}},\"threads\":["
        "{\"id\":1,\"main\":true,\"frames\":[4100]}]",
        "\"kind\":\"slow-action\",\"action\":\"sync\"},\"threads\":["
        "{\"id\":1,\"main\":true,\"frames\":[4100]},"
        "{\"id\":2,\"cpu_permille\":100,\"frames\":[4200]}]",
        "\"kind\":\"slow-action\",\"action\":\"sync\"},\"threads\":["
        "{\"id\":1,\"main\":true,\"frames\":[4300]}]"};
    for (size_t i = 0; i < sizeof stalls / sizeof *stalls; i++) {
        struct strbuf text = {0};
        struct dump d;
        strbuf_addf(&text, "{\"format\":\"stall-dump/1\",\"stall\":{%s,%s", stalls[i], rest);
        assert_int_equal(dump_parse(&d, strbuf_cstr(&text), text.len, NULL), ST_OK);
        assert_same_keys(&d);
        dump_release(&d);
        strbuf_release(&text);
    }
}

/* The exemplar names no device, whose architecture tells the tags of the addresses. */
static void a_raw_stack_with_tags_keeps_its_keys(void **state) {
    (void)state;
    static const char text[] =
        "{\"format\":\"stall-dump/1\",\"device\":{\"arch\":\"arm64\"},\"images\":["
        "{\"uuid\":\"6B834217-5A1C-3E4D-9F00-112233445566\",\"name\":\"A\",\"load\":4096,"
        "\"size\":4096,\"in_app\":true}],\"threads\":[{\"id\":1,\"main\":true,\"frames\":"
        "[4100,6485183463413518440,6485183463413518540]}],"
        "\"names\":{\"6485183463413518540\":[\"h\",0]}}";
    struct dump d;
    assert_int_equal(dump_parse(&d, text, sizeof text - 1, NULL), ST_OK);
    assert_same_keys(&d);
    struct strbuf cut = {0};
    assert_true(exemplar_write(&d, &d.threads[0].stack, &cut));
    assert_non_null(strstr(strbuf_cstr(&cut), "\"frames\":[4100,4200,4300]"));
    assert_non_null(strstr(strbuf_cstr(&cut), "\"4300\":[\"h\",0]"));
    strbuf_release(&cut);
    dump_release(&d);
}

static void a_raw_stack_keeps_the_names_that_came_with_it(void **state) {
    (void)state;
    static const char text[] =
        "{\"format\":\"stall-dump/"
        "1\",\"images\":[{\"uuid\":\"6B834217-5A1C-3E4D-9F00-112233445566\","
        "\"name\":\"A\",\"load\":4096,\"size\":4096,\"in_app\":true},{\"name\":\"B\",\"load\":"
        "65536,"
        "\"size\":4096}],\"threads\":[{\"id\":1,\"main\":true,\"frames\":[65540,4100,"
        "18446744073709551000,4200],\"exact\":[0,1]}],\"names\":{\"65540\":[\"g\",4],"
        "\"9\":[\"h\",0]}}";
    struct dump d;
    assert_int_equal(dump_parse(&d, text, sizeof text - 1, NULL), ST_OK);
    assert_same_keys(&d);
    dump_release(&d);
}

static void every_allocation_may_fail(void *ctx, bool refused) {
    struct fixture *f = ctx;
    struct strbuf text = {0};
    bool ok = exemplar_write(&f->d, &f->stacks[0], &text);
    assert_true(ok || refused);
    strbuf_release(&text);
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    static const char *const names[] = {"f", "g", "!h"};
    struct fixture f = {0};
    if (!failmalloc_works()) {
        skip();
    }
    fixture_names(&f, names, 3, 1);
    assert_true(failmalloc_sweep(every_allocation_may_fail, &f) > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_symbolicated_stack_keeps_its_keys),
        cmocka_unit_test(frames_without_a_name_keep_their_offsets),
        cmocka_unit_test(what_a_dump_is_about_stays_in_its_keys),
        cmocka_unit_test(a_raw_stack_with_tags_keeps_its_keys),
        cmocka_unit_test(a_raw_stack_keeps_the_names_that_came_with_it),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("exemplar", tests, NULL, NULL);
}
