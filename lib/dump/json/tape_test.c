#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failmalloc.h"
#include "base/hash.h"
#include "dump/json/scan_private.h"
#include "dump/json/tape_oracle_test.h"

/* Is the text accepted? Fails the test if Jansson disagrees. */
static bool is_taken(const char *text, size_t len) {
    bool taken;
    /* The copy has the exact size, so that a sanitizer sees a read past its end. */
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    const char *difference = tape_difference(copy, len, &taken);
    free(copy);
    if (difference) {
        fail_msg("%s: %.*s", difference, (int)len, text);
    }
    return taken;
}

static void objects_and_arrays_are_taken(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{}",
        " \t\r\n{ } ",
        "{\"\":null}",
        "{\"a\":1,\"b\":{\"c\":[{},[],[[]]]},\"d\":[true,false,null]}",
        "{ \"a\" : 1 , \"b\" : [ 1 , 2 ] , \"c\" : { } }",
        "{\"a\":[0,-0,10,1.5,0.5,-0.0,1e5,1E+5,1e-5,0e0,1.25e10,-1]}",
        "{\"a\":[999999999999999999,-999999999999999999,1000000000000000000,-1000000000000000000]}",
        "{\"a\":[0.12345678901234567,0.123456789012345678,18446744073709551616]}",
        "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"}",
        "{\"a\":\"\\u0000 \\ud83d \\ude00 \\ud83d\\ud83d\\ude00 \\ud83dx \\ud83d\\n\"}",
        "{\"a\":\"\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}",
        "{\"a\":\"\xff \xc3 \xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82\"}",
        "{\"a\\u0062\":1,\"ab\":2,\"\\u0061b\":3}",
        "{\"a\":1,\"a\":[2],\"a\":{\"a\":3}}",
        "{\"a\\ud800\":1,\"a\xff\":2,\"a\xef\xbf\xbd\":3,\"a\\u0000\":4}",
        "{\"ab\":1,\"abc\":2,\"a\":3}",
        "[]",
        "[{}] ",
        " [1,[2,\"a\"],null]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_true(is_taken(texts[i], strlen(texts[i])));
        for (size_t len = 0; len < strlen(texts[i]); len++) {
            bool whole = strspn(texts[i] + len, " ") == strlen(texts[i] + len);
            assert_true(is_taken(texts[i], len) == whole);
        }
    }
}

static void nothing_else_is_taken(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        "1",
        "\"a\"",
        "null",
        "{}{}",
        "{} x",
        "{}}",
        "{]",
        "[}",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1]",
        "{\"a\":[1}",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":[1 2]}",
        "{1:2}",
        "{a:1}",
        "{null:1}",
        "{\"a\":01}",
        "{\"a\":-}",
        "{\"a\":-01}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":1.}",
        "{\"a\":1.e5}",
        "{\"a\":1e}",
        "{\"a\":1e+}",
        "{\"a\":1.5.5}",
        "{\"a\":0x10}",
        "{\"a\":1s}",
        "{\"a\":tru}",
        "{\"a\":truE}",
        "{\"a\":nulll}",
        "{\"a\":NaN}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\ud83d\\u12\"}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"\x1f\"}",
        "{'a':1}",
        "{\"a\":/**/1}",
        "\xef\xbb\xbf{}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(is_taken(texts[i], strlen(texts[i])));
    }
    assert_false(is_taken("{\"a\":\"\0\"}", 9));
    assert_false(is_taken("{\"a\":\"\\\0\"}", 10));
}

/* Changes some bytes of a document, in the same way in every run, and returns the new length. */
static size_t mutate(char *text, size_t len, uint64_t seed) {
    static const char bytes[] = "{}[]\",:0123456789-+.eEtrufalsn\\ \t\n\xff\xc3\xa9\x01/";
    for (uint64_t i = 0; i < 1 + hash_u64(seed) % 3; i++) {
        uint64_t r = hash_u64(seed * 7 + i + 1);
        size_t at = (size_t)(r % len);
        if ((r >> 32 & 3) == 0) {
            memmove(text + at, text + at + 1, len - at - 1);
            len--;
        } else {
            text[at] = bytes[(r >> 40) % (sizeof bytes - 1)];
        }
    }
    return len;
}

static void both_readers_agree_on_damaged_texts(void **state) {
    (void)state;
    static const char seed_text[] =
        "{\"a\\u00e9\":[1,-2.5e3,\"x\\n\\ud83d\\ude00\"],\"b\":{\"c\":true,\"d\":null},"
        "\"e\":123456789012345678901,\"b\":[[],{}],\"g\":\"\xc3\xa9\",\"h\":[0,12.5,false]}";
    size_t accepted = 0;
    enum { TRIES = 100000 };
    for (uint64_t i = 1; i <= TRIES; i++) {
        char text[sizeof seed_text];
        memcpy(text, seed_text, sizeof seed_text);
        size_t len = mutate(text, sizeof seed_text - 1, i);
        accepted += is_taken(text, len);
    }
    assert_true(accepted > TRIES / 10 && accepted < TRIES - TRIES / 10);
}

static void what_is_nested_too_deep_is_not_taken(void **state) {
    (void)state;
    for (size_t depth = DUMP_DEPTH_MAX - 1; depth <= DUMP_DEPTH_MAX + 1; depth++) {
        struct strbuf text = {0};
        strbuf_addstr(&text, "{\"a\":");
        for (size_t i = 1; i < depth; i++) {
            strbuf_addc(&text, '[');
        }
        for (size_t i = 1; i < depth; i++) {
            strbuf_addc(&text, ']');
        }
        strbuf_addc(&text, '}');
        assert_true(is_taken(text.data, text.len) == (depth <= DUMP_DEPTH_MAX));
        strbuf_release(&text);
    }
}

static void a_tape_may_have_a_smaller_limit_of_depth(void **state) {
    (void)state;
    struct tape t = {.depth_max = 3};
    struct err e = {0};
    assert_int_equal(tape_read(&t, "[[[1]]]", 7, &e), ST_OK);
    assert_int_equal(tape_read(&t, "[[[[]]]]", 8, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(e.text, "nested too deep at column 4");
    tape_release(&t);
}

static bool names_differ(const char *text) {
    struct tape t = {0};
    assert_int_equal(tape_read(&t, text, strlen(text), NULL), ST_OK);
    bool differ = tape_names_differ(&t);
    tape_release(&t);
    return differ;
}

static void names_that_are_alike_are_found_in_any_object(void **state) {
    (void)state;
    assert_true(names_differ("{}"));
    assert_true(names_differ("[\"a\",\"a\"]"));
    assert_true(names_differ("{\"a\":{\"a\":1,\"b\":\"a\"},\"b\":[{\"a\":1},{\"a\":2}],\"ab\":0}"));
    assert_false(names_differ("{\"a\":1,\"b\":2,\"a\":3}"));
    assert_false(names_differ("[1,{\"a\":{\"b\":1,\"b\":2}}]"));
    assert_false(names_differ("{\"\\u0061\":1,\"b\":2}")); /* an escape: not compared */
    struct strbuf text = {0};
    for (int i = 0; i < 100; i++) {
        strbuf_addf(&text, "%c\"%d\":0", i ? ',' : '{', i);
    }
    strbuf_addc(&text, '}');
    /* Too many names: the function answers false without comparing. */
    assert_false(names_differ(strbuf_cstr(&text)));
    strbuf_release(&text);
}

static void more_values_than_the_limit_are_not_taken(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct tape t = {0};
    struct err e = {0};
    strbuf_addstr(&text, "{\"a\":[0");
    for (size_t i = 3; i < SCAN_VALUES_MAX; i++) {
        strbuf_addstr(&text, ",0");
    }
    size_t len = text.len;
    strbuf_addstr(&text, "]}");
    assert_int_equal(tape_read(&t, text.data, text.len, &e), ST_OK);
    assert_int_equal(t.values.data[0].extent, t.values.len);
    tape_release(&t);
    strbuf_truncate(&text, len);
    strbuf_addstr(&text, ",0]}");
    assert_int_equal(tape_read(&t, text.data, text.len, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    tape_release(&t);
    strbuf_release(&text);
}

static void members_are_found_in_any_order(void **state) {
    (void)state;
    static const char text[] = "{\"b\":1,\"x\":{\"a\":9},\"\\u0061\":2,\"c\":3,\"b\":4}";
    enum { A, B, C, D, NAMES };
    static const struct tape_name names[NAMES] = {
        [A] = TAPE_NAME("a"), [B] = TAPE_NAME("b"), [C] = TAPE_NAME("c"), [D] = TAPE_NAME("d")};
    const struct tape_value *v[NAMES];
    struct tape t = {0};
    assert_int_equal(tape_read(&t, text, sizeof text - 1, NULL), ST_OK);
    tape_members(&t, t.values.data, names, NAMES, v);
    assert_int_equal(v[A]->integer, 2);
    assert_int_equal(v[B]->integer, 4);
    assert_int_equal(v[C]->integer, 3);
    assert_null(v[D]);
    tape_members(&t, v[A], names, NAMES, v);
    assert_null(v[A]);
    tape_members(&t, NULL, names, NAMES, v);
    assert_null(v[C]);
    assert_null(tape_element(NULL, 0));
    assert_null(tape_element(t.values.data, 0)); /* an object has no elements */
    tape_release(&t);
    tape_release(&t);
}

static void read_it(void *ctx, bool refused) {
    struct tape t = {0};
    struct err e = {0};
    enum st st = tape_read(&t, ctx, strlen(ctx), &e);
    assert_true(st == ST_OK || (refused && st == ST_ERR && e.code == ERR_NOMEM));
    assert_true((t.values.len > 0) == (st == ST_OK));
    tape_release(&t);
}

static void without_memory_it_says_so(void **state) {
    (void)state;
    static char text[] = "{\"a\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}";
    if (!failmalloc_works()) {
        print_message("no allocation can fail here: this linker knows no --wrap\n");
        skip();
    }
    assert_true(failmalloc_sweep(read_it, text) >= 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays_are_taken),
        cmocka_unit_test(nothing_else_is_taken),
        cmocka_unit_test(both_readers_agree_on_damaged_texts),
        cmocka_unit_test(what_is_nested_too_deep_is_not_taken),
        cmocka_unit_test(a_tape_may_have_a_smaller_limit_of_depth),
        cmocka_unit_test(names_that_are_alike_are_found_in_any_object),
        cmocka_unit_test(more_values_than_the_limit_are_not_taken),
        cmocka_unit_test(members_are_found_in_any_order),
        cmocka_unit_test(without_memory_it_says_so),
    };
    return cmocka_run_group_tests_name("dump_tape", tests, NULL, NULL);
}
