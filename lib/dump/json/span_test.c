#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "dump/json/span_private.h"

static void spans_walk_objects_and_arrays(void **state) {
    (void)state;
    static const char text[] =
        "{ \"a\\\"}\" : [ 1 , \"]\" ] , \"b\":{\"c\":\"}\"},\"d\" :-1.5e3 ,\"e\":[] }";
    static const char *const keys[] = {"\"a\\\"}\"", "\"b\"", "\"d\"", "\"e\""};
    static const char *const values[] = {"[ 1 , \"]\" ]", "{\"c\":\"}\"}", "-1.5e3", "[]"};
    struct span rest = {text, text + sizeof text - 1}, key, value;
    for (size_t i = 0; i < 4; i++) {
        assert_true(span_next(&rest, &key, &value));
        assert_int_equal(key.end - key.p, strlen(keys[i]));
        assert_memory_equal(key.p, keys[i], strlen(keys[i]));
        assert_int_equal(value.end - value.p, strlen(values[i]));
        assert_memory_equal(value.p, values[i], strlen(values[i]));
    }
    assert_false(span_next(&rest, &key, &value));
    assert_false(span_next(&rest, &key, &value));

    static const char list[] = "[[1],{},\"x\",null]";
    struct span items = {list, list + sizeof list - 1};
    size_t count = 0;
    while (span_next(&items, NULL, &value)) {
        count++;
    }
    assert_int_equal(count, 4);
    struct span empty = {"[ ]", list + 3};
    empty.end = empty.p + 3;
    assert_false(span_next(&empty, NULL, &value));
}

static struct span span_of(const char *s) {
    return (struct span){s, s + strlen(s)};
}

static void names_are_compared_unescaped(void **state) {
    (void)state;
    assert_true(span_is(span_of("\"threads\""), "threads"));
    assert_true(span_is(span_of("\"\\u0074hre\\u0061ds\""), "threads"));
    assert_true(span_is(span_of("\"\""), ""));
    assert_true(span_is(span_of("\"a\\/\\n\""), "a/\n"));
    assert_false(span_is(span_of("\"thread\""), "threads"));
    assert_false(span_is(span_of("\"threadss\""), "threads"));
    assert_false(span_is(span_of("\"\\u0174hreads\""), "threads"));
    assert_false(span_is(span_of("\"\\\\u0074hreads\""), "threads"));
    assert_false(span_is(span_of("\""), ""));
    assert_false(span_is(span_of(""), ""));
}

/* Returns where a container ends, found byte by byte; 0: it does not end. */
static size_t plain_end(const char *text, size_t len) {
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (in_string) {
            in_string = c != '"';
            i += c == '\\' && i + 1 < len;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Compares the ends of random containers, which begin at any place in the words that the search
 * reads. */
static void a_container_ends_where_its_brackets_do(void **state) {
    (void)state;
    static const char bytes[] = "{[}]\"\\{[}]\"ab,:\xdb\xfb\xa2\xdc";
    enum { LONGEST = 60, TRIES = 200000 };
    size_t ended = 0;
    for (uint64_t i = 1; i <= TRIES; i++) {
        size_t len = 1 + hash_u64(i) % LONGEST;
        uint64_t plain = hash_u64(i * 3) % 16; /* `plain` of 16 bytes, on average, are letters */
        char *text =
            malloc(len); /* has the exact size, so that a sanitizer sees a read past its end */
        assert_non_null(text);
        text[0] = '{';
        for (size_t k = 1; k < len; k++) {
            uint64_t r = hash_u64(i * 100 + k);
            text[k] = (r >> 32) % 16 < plain ? 'x' : bytes[r % (sizeof bytes - 1)];
        }
        size_t want = plain_end(text, len);
        struct span rest = {text, text + len};
        struct span value = span_value(&rest);
        assert_int_equal(value.end - text, want ? want : len);
        assert_true(span_is_container((struct span){text, text + len}) ==
                    (want > 0 && want == len));
        assert_true(want == 0 || span_is_container((struct span){text, text + want}));
        ended += want > 0;
        free(text);
    }
    assert_true(ended > TRIES / 10 && ended < TRIES - TRIES / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_walk_objects_and_arrays),
        cmocka_unit_test(names_are_compared_unescaped),
        cmocka_unit_test(a_container_ends_where_its_brackets_do),
    };
    return cmocka_run_group_tests_name("dump_span", tests, NULL, NULL);
}
