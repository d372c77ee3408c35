#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/filemap.h"
#include "base/hash.h"
#include "dump/dump_prepass_private.h"
#include "dump/dump_scan_private.h"

/* Scans the whole text; the end of the document is in *used. */
static enum scan_result scan_text(const char *text, size_t len, size_t *used) {
    struct scan s = {0};
    return scan_feed(&s, text, len, used);
}

/* The same, one byte at a time. */
static enum scan_result scan_bytes(const char *text, size_t len, size_t *used) {
    struct scan s = {0};
    enum scan_result result = SCAN_MORE;
    size_t at = 0;
    while (at < len && result == SCAN_MORE) {
        size_t one;
        result = scan_feed(&s, text + at, 1, &one);
        at += one;
    }
    *used = at;
    return result;
}

static void valid_documents_end_where_they_end(void **state) {
    (void)state;
    static const char *const valid[] = {
        "{}",
        "[]",
        " \t\r\n[ ] ",
        "[1,-1,0,-0,10,1.5,0.5,-0.0,1e5,1E+5,1e-5,0e0,1.25e10]",
        "[true,false,null]",
        "[\"\",\"a\",\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF\",\"\x7f\xc3\xa9\xff\"]",
        "{\"a\":1,\"b\":{\"c\":[{},[],[[]]]},\"\":null}",
        "{ \"a\" : 1 , \"b\" : [ 1 , 2 ] }",
        "[1 ]",
        "[true ]",
        "{\"a\":0}",
        "{\"a\":0\n}",
    };
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
        size_t used, len = strlen(valid[i]);
        assert_int_equal(scan_text(valid[i], len, &used), SCAN_DONE);
        assert_true(valid[i][used - 1] == '}' || valid[i][used - 1] == ']');
        struct span rest = {valid[i] + used, valid[i] + len};
        span_skip_space(&rest);
        assert_ptr_equal(rest.p, rest.end);
        assert_int_equal(scan_bytes(valid[i], len, &used), SCAN_DONE);
    }
}

static void the_first_wrong_byte_is_found(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t at;
    } bad[] = {
        {"x", 0},
        {"1", 0},
        {"\"a\"", 0},
        {"]", 0},
        {"[}", 1},
        {"{]", 1},
        {"[1}", 2},
        {"{\"a\":1]", 6},
        {"[1,]", 3},
        {"[,1]", 1},
        {"{,}", 1},
        {"{\"a\"}", 4},
        {"{\"a\":}", 5},
        {"{\"a\":1,}", 7},
        {"{1:2}", 1},
        {"{a:1}", 1},
        {"{\"a\":1 2}", 7},
        {"[1 2]", 3},
        {"[01]", 2},
        {"[-]", 2},
        {"[-a]", 2},
        {"[+1]", 1},
        {"[.5]", 1},
        {"[1.]", 3},
        {"[1.e5]", 3},
        {"[1e]", 3},
        {"[1e+]", 4},
        {"[1.5.5]", 4},
        {"[0x10]", 2},
        {"[1s]", 2},
        {"[1es5]", 3},
        {"[tru]", 4},
        {"[truE]", 4},
        {"[True]", 1},
        {"[nulll]", 5},
        {"[fals e]", 5},
        {"[\"\\x\"]", 3},
        {"[\"\\u12g4\"]", 6},
        {"[\"\\u12\"]", 6},
        {"[\"a\nb\"]", 3},
        {"[\"\t\"]", 2},
        {"[\"\x1f\"]", 2},
        {"['a']", 1},
        {"[NaN]", 1},
        {"[Infinity]", 1},
        {"[/**/]", 1},
        {"\xef\xbb\xbf[]", 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t used;
        if (scan_text(bad[i].text, strlen(bad[i].text), &used) != SCAN_BAD || used != bad[i].at) {
            fail_msg("%s: byte %zu", bad[i].text, used);
        }
        assert_int_equal(scan_bytes(bad[i].text, strlen(bad[i].text), &used), SCAN_BAD);
        assert_int_equal(used, bad[i].at);
    }
    size_t used;
    assert_int_equal(scan_text("[\"\0\"]", 5, &used), SCAN_BAD);
    assert_int_equal(scan_text("[\"\\\0\"]", 6, &used), SCAN_BAD);
    assert_int_equal(scan_text("\0", 1, &used), SCAN_BAD);
}

static void every_prefix_wants_more(void **state) {
    (void)state;
    static const char text[] = " {\"a\\u0041\":[-1.5e+3,true,null,{\"b\":\"c\"}],\"d\":0}";
    for (size_t len = 0; len < sizeof text - 1; len++) {
        size_t used;
        assert_int_equal(scan_text(text, len, &used), SCAN_MORE);
        assert_int_equal(used, len);
    }
}

static void a_finished_scanner_takes_nothing(void **state) {
    (void)state;
    struct scan s = {0};
    size_t used;
    assert_int_equal(scan_feed(&s, "[][", 3, &used), SCAN_DONE);
    assert_int_equal(used, 2);
    assert_int_equal(scan_feed(&s, "[", 1, &used), SCAN_DONE);
    assert_int_equal(used, 0);
}

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

/* Where a container ends, byte by byte; 0: nowhere. */
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

/* However the words lie in which it is looked for. */
static void a_container_ends_where_its_brackets_do(void **state) {
    (void)state;
    static const char bytes[] = "{[}]\"\\{[}]\"ab,:\xdb\xfb\xa2\xdc";
    enum { LONGEST = 60, TRIES = 200000 };
    size_t ended = 0;
    for (uint64_t i = 1; i <= TRIES; i++) {
        size_t len = 1 + hash_u64(i) % LONGEST;
        uint64_t plain = hash_u64(i * 3) % 16; /* of 16 bytes so many are letters */
        char *text = malloc(len);              /* nothing behind it can be read */
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

/* Changes some bytes of a document, the same in every run. */
static size_t mutate(char *text, size_t len, uint64_t seed) {
    static const char bytes[] = "{}[]\",:0123456789-+.eEtrufalsn\\ \t\n\xff\xc3\xa9\x01/";
    for (uint64_t i = 0; i < 1 + hash_u64(seed) % 3; i++) {
        uint64_t r = hash_u64(seed * 7 + i + 1);
        size_t at = (size_t)(r % len);
        switch (r >> 32 & 3) {
        case 0: /* delete */
            memmove(text + at, text + at + 1, len - at - 1);
            len--;
            break;
        case 1: /* cut */
            len = r >> 40 & 7 ? len : at + 1;
            break;
        default:
            text[at] = bytes[(r >> 40) % (sizeof bytes - 1)];
        }
    }
    return len;
}

/* Both ways: what passes the pre-pass is good enough for Jansson, and what Jansson takes passes. */
static void the_pre_pass_agrees_with_jansson(void **state) {
    (void)state;
    static const char seed_text[] =
        "{\"a\\u00e9\":[1,-2.5e3,\"x\\n\\ud83d\\ude00\"],\"b\":{\"c\":true,\"d\":null},"
        "\"e\":123456789012345678901,\"f\":[[],{}],\"g\":\"\xc3\xa9\"}";
    size_t accepted = 0, refused = 0, repaired_count = 0;
    for (uint64_t i = 1; i <= 100000; i++) {
        char text[sizeof seed_text];
        memcpy(text, seed_text, sizeof seed_text);
        size_t len = mutate(text, sizeof seed_text - 1, i);
        struct strbuf repaired = {0};
        uint64_t count;
        unsigned deepest;
        json_t *plain = json_loadb(text, len, 0, NULL);
        enum st st = prepass(text, len, &repaired, &count, &deepest, NULL);
        if (plain && st == ST_ERR) {
            fail_msg("Jansson takes what the pre-pass refuses: %.*s", (int)len, text);
        }
        if (st == ST_OK) {
            json_t *now = count ? json_loadb(repaired.data, repaired.len, 0, NULL)
                                : json_loadb(text, len, 0, NULL);
            if (!now) {
                fail_msg("Jansson refuses what the pre-pass takes: %.*s", (int)len, text);
            }
            json_decref(now);
            accepted++;
            repaired_count += count > 0;
        }
        refused += st == ST_ERR;
        json_decref(plain);
        strbuf_release(&repaired);
    }
    assert_true(accepted > 10000 && refused > 10000 && repaired_count > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_documents_end_where_they_end),
        cmocka_unit_test(the_first_wrong_byte_is_found),
        cmocka_unit_test(every_prefix_wants_more),
        cmocka_unit_test(a_finished_scanner_takes_nothing),
        cmocka_unit_test(spans_walk_objects_and_arrays),
        cmocka_unit_test(names_are_compared_unescaped),
        cmocka_unit_test(a_container_ends_where_its_brackets_do),
        cmocka_unit_test(the_pre_pass_agrees_with_jansson),
    };
    return cmocka_run_group_tests_name("dump_scan", tests, NULL, NULL);
}
