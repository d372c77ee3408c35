/* Tests that the stack that a bucket keeps has the same keys as the dump from which it was cut. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
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

enum { PIECES = 64 };

struct pieces {
    char *texts[PIECES];
    size_t count;
};

static bool keep_piece(void *ctx, const char *piece, size_t len) {
    struct pieces *p = ctx;
    assert_true(p->count < PIECES && strlen(piece) == len);
    p->texts[p->count] = strdup(piece);
    return p->texts[p->count++] != NULL;
}

static void free_pieces(struct pieces *p) {
    while (p->count) {
        free(p->texts[--p->count]);
    }
}

/* Cuts a stack into pieces and joins them to a dump's text. False: out of memory. */
static bool cut_and_join(const struct dump *d, const struct stall_key *key, struct strbuf *out) {
    struct pieces p = {.count = 0};
    struct err e = {0};
    bool ok = exemplar_cut(d, key, keep_piece, &p);
    if (ok) {
        ok = exemplar_join((const char *const *)p.texts, p.count, out, &e) == ST_OK;
        assert_true(ok || e.code == ERR_NOMEM);
    }
    if (p.count && !p.texts[p.count - 1]) {
        p.count--;
    }
    free_pieces(&p);
    return ok;
}

/* Checks that a dump joined from pieces is cut into the same pieces. */
static void assert_same_pieces(const struct dump *d, const struct stall_key *key,
                               const struct dump *copy, const struct stall_key *joined) {
    struct pieces want = {.count = 0}, got = {.count = 0};
    assert_true(exemplar_cut(d, key, keep_piece, &want));
    assert_true(exemplar_cut(copy, joined, keep_piece, &got));
    assert_int_equal(got.count, want.count);
    for (size_t i = 0; i < want.count; i++) {
        assert_string_equal(got.texts[i], want.texts[i]);
    }
    free_pieces(&want);
    free_pieces(&got);
}

/* Checks that the stack that the keyer chooses, written and read again, has the same keys. */
static void assert_same_keys(const struct dump *d) {
    struct rules *rules = NULL;
    assert_int_equal(rules_new(&rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(rules, NULL), ST_OK);
    for (int raw = 0; raw < 2; raw++) {
        struct keyer *k = NULL;
        struct stall_key key, joined;
        struct dump copy;
        struct strbuf text = {0}, want = {0}, got = {0};
        struct err e = {0};
        assert_int_equal(keyer_new(&k, &(struct key_options){.rules = raw ? NULL : rules}, NULL),
                         ST_OK);
        assert_int_equal(keyer_key(k, d, &key, NULL), ST_OK);
        assert_true(cut_and_join(d, &key, &text));
        assert_int_equal(dump_parse(&copy, strbuf_cstr(&text), text.len, &e), ST_OK);
        add_key(k, d, &want);
        add_key(k, &copy, &got);
        assert_string_equal(strbuf_cstr(&got), strbuf_cstr(&want));
        assert_int_equal(keyer_key(k, &copy, &joined, NULL), ST_OK);
        assert_same_pieces(d, &key, &copy, &joined);
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

static void a_far_name_of_a_report_stays_none(void **state) {
    (void)state;
    struct fixture f = {.d = {.device.os = "iOS 17.1"}};
    struct rules *rules = NULL;
    struct keyer *k = NULL;
    struct stall_key key;
    fixture_frame(&f, "libengine.dylib", false, "engine_run", 0x1000);
    f.locations[0].offset += 30000;
    fixture_frame(&f, "libengine.dylib", false, "engine_main", 0x20000);
    for (size_t i = 0; i < 2; i++) {
        f.locations[i].source = DUMP_SOURCE_REPORT;
    }
    fixture_stack(&f, 1);
    assert_int_equal(rules_new(&rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&k, &(struct key_options){.rules = rules}, NULL), ST_OK);
    assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
    assert_int_equal(key.level[0].count, 1); /* engine_main alone */
    keyer_free(k);
    rules_free(rules);
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
        "{\"id\":1,\"main\":true,\"frames\":[4300]}]",
        "\"kind\":\"slow-action\",\"action\":\"sync\",\"span_ms\":900},\"threads\":["
        "{\"id\":1,\"main\":true,\"cpu_ms\":3,\"frames\":[4200]}]"};
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

/* The exemplar does not name the device, whose architecture would show which bits of an address are
 * a tag. */
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
    const struct stall_key key = {.stack = &f->stacks[0]};
    bool ok = cut_and_join(&f->d, &key, &text);
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

/* Frames in no image are placed at addresses where no image is. */
static void code_in_no_image_stays_in_none(void **state) {
    (void)state;
    static const char text[] =
        ("{\"format\":\"stall-dump/"
         "1\",\"images\":[{\"name\":\"A\",\"load\":1048576,\"size\":4096}],"
         "\"threads\":[{\"id\":1,\"main\":true,\"frames\":[1048580,65600,70000,69700,9]}],"
         "\"names\":{\"65600\":[\"jit\",0,\"a.js\",7,true]}}");
    struct dump d;
    assert_int_equal(dump_parse(&d, text, sizeof text - 1, NULL), ST_OK);
    assert_same_keys(&d);
    dump_release(&d);
}

static void what_is_no_piece_is_refused(void **state) {
    (void)state;
    static const char stall[] = "{\"stall\":{},\"thread\":{\"main\":true}}";
    static const char *const texts[][2] = {
        {"", stall},    {"7", stall}, {"{}", stall},          {"{\"stall\":1}", stall},
        {stall, "[1"},  {stall, "{"}, {stall, "{\"at\":-1}"}, {stall, "{\"image\":3}"},
        {stall, "null"}};
    struct strbuf out = {0};
    assert_int_equal(exemplar_join(NULL, 0, &out, NULL), ST_ERR);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err e = {0};
        assert_int_equal(exemplar_join(texts[i], 2, &out, &e), ST_ERR);
        assert_true(e.code == ERR_FORMAT || e.code == ERR_TRUNCATED);
    }
    strbuf_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_symbolicated_stack_keeps_its_keys),
        cmocka_unit_test(frames_without_a_name_keep_their_offsets),
        cmocka_unit_test(a_far_name_of_a_report_stays_none),
        cmocka_unit_test(what_a_dump_is_about_stays_in_its_keys),
        cmocka_unit_test(a_raw_stack_with_tags_keeps_its_keys),
        cmocka_unit_test(a_raw_stack_keeps_the_names_that_came_with_it),
        cmocka_unit_test(code_in_no_image_stays_in_none),
        cmocka_unit_test(what_is_no_piece_is_refused),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("exemplar", tests, NULL, NULL);
}
