#include "base/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"

static void memory_gets_every_byte(void **state) {
    (void)state;
    struct strbuf b = {0};
    struct sink s = sink_to_strbuf(&b);
    sink_str(&s, "a");
    sink_char(&s, '\0');
    sink_write(&s, "", 0);
    sink_printf(&s, "%d-%s", 42, "x");
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_int_equal(b.len, 6);
    assert_memory_equal(b.data,
                        "a\0"
                        "42-x",
                        6);
    assert_int_equal(s.total, 6);
    strbuf_release(&b);
}

static void long_formats_are_not_cut(void **state) {
    (void)state;
    struct strbuf b = {0};
    struct sink s = sink_to_strbuf(&b);
    for (int width = 254; width < 260; width++) {
        sink_printf(&s, "%*d\n", width, 7);
    }
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_int_equal(b.len, 254 + 255 + 256 + 257 + 258 + 259 + 6);
    strbuf_release(&b);
}

static void the_first_failure_sticks(void **state) {
    (void)state;
    struct strbuf b = {.limit = 4};
    struct sink s = sink_to_strbuf(&b);
    sink_str(&s, "1234");
    sink_str(&s, "5");
    assert_true(err_is(&s.err));
    b.limit = 0; /* the buffer has room again, but a sink that has failed writes no more, so that no
                    text has a hole */
    b.failed = false;
    sink_str(&s, "6");
    struct err e = {0};
    assert_int_equal(sink_close(&s, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(strbuf_cstr(&b), "1234");
    strbuf_release(&b);
}

static void a_sink_to_nowhere_counts(void **state) {
    (void)state;
    struct sink s = sink_to_nowhere();
    sink_str(&s, "12345");
    sink_printf(&s, "%300d", 1);
    assert_int_equal(s.total, 305);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
}

struct taken {
    struct strbuf text;
    size_t calls;
};

static enum st take(void *ctx, const void *bytes, size_t len, struct err *e) {
    struct taken *t = ctx;
    t->calls++;
    strbuf_add(&t->text, bytes, len);
    return strbuf_check(&t->text, e);
}

static void a_function_gets_every_byte_in_order_and_in_few_calls(void **state) {
    (void)state;
    struct taken t = {.calls = 0};
    struct sink s = sink_to_function(take, &t);
    size_t big_size = 200000;
    char *big = malloc(big_size);
    memset(big, 'b', big_size);
    sink_str(&s, "start ");
    assert_int_equal(t.calls, 0);
    sink_write(&s, big, big_size); /* this text is larger than the sink's buffer */
    assert_int_equal(t.calls, 2);
    for (int i = 0; i < 30000; i++) {
        sink_printf(&s, "%05d ", i);
    }
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_in_range(t.calls, 4, 6);
    assert_int_equal(t.text.len, 6 + 200000 + 180000);
    assert_memory_equal(t.text.data, "start b", 7);
    for (int i = 0; i < 30000; i++) {
        char want[8];
        snprintf(want, sizeof want, "%05d ", i);
        assert_memory_equal(t.text.data + 200006 + i * 6, want, 6);
    }
    free(big);
    strbuf_release(&t.text);
}

static void flush_passes_bytes_on(void **state) {
    (void)state;
    struct taken t = {.calls = 0};
    struct sink s = sink_to_function(take, &t);
    sink_str(&s, "line\n");
    assert_int_equal(t.text.len, 0);
    sink_flush(&s);
    assert_int_equal(t.text.len, 5);
    sink_flush(&s);
    assert_int_equal(t.calls, 1);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    strbuf_release(&t.text);
}

static enum st refuse_silently(void *ctx, const void *bytes, size_t len, struct err *e) {
    (void)bytes, (void)len, (void)e;
    ++*(int *)ctx;
    return ST_ERR;
}

static void a_failure_without_a_text_is_still_one(void **state) {
    (void)state;
    int calls = 0;
    struct sink s = {.write = refuse_silently, .ctx = &calls};
    sink_str(&s, "x");
    sink_str(&s, "y");
    struct err e = {0};
    assert_int_equal(sink_close(&s, &e), ST_ERR);
    assert_int_equal(e.code, ERR_IO);
    assert_int_equal(calls, 1);
}

static void print(void *ctx, bool refused) {
    (void)ctx;
    struct strbuf b = {0};
    struct sink s = sink_to_strbuf(&b);
    sink_str(&s, "start");
    sink_printf(&s, "%4000d", 5);
    struct err e = {0};
    enum st st = sink_close(&s, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_true(st != ST_OK || b.len == 4005);
    strbuf_release(&b);

    struct taken t = {.calls = 0};
    struct sink direct = sink_to_function(take, &t);
    sink_str(&direct, "works without a buffer of its own, too");
    st = sink_close(&direct, NULL);
    assert_true(st == ST_OK || refused);
    strbuf_release(&t.text);
}

static void nothing_is_written_from_nowhere(void **state) {
    (void)state;
    struct taken t = {.calls = 0};
    struct sink s = sink_to_function(take, &t);
    sink_str(&s, "a");
    sink_write(&s, NULL, 0); /* a sanitizer would report a memcpy from NULL */
    sink_str(&s, "b");
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&t.text), "ab");
    strbuf_release(&t.text);
}

static void no_memory_is_reported(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(print, NULL) >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_gets_every_byte),
        cmocka_unit_test(long_formats_are_not_cut),
        cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(a_sink_to_nowhere_counts),
        cmocka_unit_test(a_function_gets_every_byte_in_order_and_in_few_calls),
        cmocka_unit_test(flush_passes_bytes_on),
        cmocka_unit_test(a_failure_without_a_text_is_still_one),
        cmocka_unit_test(nothing_is_written_from_nowhere),
        cmocka_unit_test(no_memory_is_reported),
    };
    return cmocka_run_group_tests_name("sink", tests, NULL, NULL);
}
