/* Tests what a history keeps of the first buckets of a page: what was written is read as it was,
 * and damaged bytes are refused. */
#include "classify/summary/shown_bytes.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/stats/triage_private.h"
#include "classify/summary/shown.h"

enum { BUCKETS = 3, NUMBER = 4711, DUMPS = 20 /* one of them is of a crash */ };

struct shown_fixture {
    struct rules *rules;
    struct keyer *keyer;
    struct triage *t; /* with stored dumps */
    struct strbuf bytes;
    struct triage *target; /* the triage into which again() reads */
};

static void count_dump(struct shown_fixture *x, struct triage *t, unsigned n) {
    static const char *const others[] = {"read", "on_read", "start"};
    char id[32], version[16], inner[32];
    snprintf(id, sizeof id, "dump-%u", n);
    snprintf(version, sizeof version, "5.%u", n % 4);
    snprintf(inner, sizeof inner, "save_%u", n % BUCKETS);
    const char *const names[] = {inner, "on_save", "main"};
    struct fixture f = {.d = {.id = id,
                              .time = "2026-11-20T10:00:00.000Z",
                              .app = {.version = version},
                              .device = {.os = "iOS 18.7"},
                              .threads_left_out = 70000,
                              .text = id,
                              .text_len = strlen(id)}};
    struct stall_key key;
    struct dump_thread threads[2];
    f.d.stall.span_ms = f.d.stall.duration_ms = 1000 + n;
    f.d.stall.ended = true;
    f.d.stall.fatal = n % 5 == 0;
    f.d.stall.kind = n == 7 ? "crash" : "hang";
    fixture_names(&f, names, 3, 5);
    fixture_names(&f, others, 3, 1);
    threads[0] = (struct dump_thread){.id = 7, .main = true, .name = "main", .cpu_permille = -1};
    threads[0].stack = f.stacks[0];
    threads[0].waits_for.kind = "mutex";
    threads[0].waits_for.owner = -9;
    threads[1] = (struct dump_thread){.id = INT64_MIN, .state = "waiting", .cpu_permille = 900};
    threads[1].stack = f.stacks[1];
    f.d.threads = threads;
    f.d.thread_count = 2;
    assert_int_equal(keyer_key(x->keyer, &f.d, &key, NULL), ST_OK);
    assert_int_equal(triage_add(t, &f.d, &key, true, NULL, NULL), ST_OK);
}

static struct triage *counted(struct shown_fixture *x, size_t keep_bytes) {
    struct triage *t = NULL;
    const struct triage_options o = {.rules = "built-in", .keep_bytes = keep_bytes};
    assert_int_equal(triage_new(&t, &o, NULL), ST_OK);
    for (unsigned n = 0; n < DUMPS; n++) {
        count_dump(x, t, n);
    }
    assert_int_equal(triage_finish(t, NULL), ST_OK);
    return t;
}

static void write_shown(struct shown_fixture *x, struct triage *t, size_t count,
                        struct strbuf *out) {
    struct summary s = {0};
    assert_int_equal(summary_make(&s, t, NULL, count, NULL), ST_OK);
    assert_int_equal(summary_explain_first(&s, count, x->keyer, NULL), ST_OK);
    assert_int_equal(shown_write(&s, NUMBER, out, NULL), ST_OK);
    summary_release(&s);
}

static int set_up(void **state) {
    static struct shown_fixture x;
    x = (struct shown_fixture){0};
    assert_int_equal(rules_new(&x.rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(x.rules, NULL), ST_OK);
    const struct key_options keys = {.rules = x.rules, .aliases = true};
    assert_int_equal(keyer_new(&x.keyer, &keys, NULL), ST_OK);
    x.t = counted(&x, 1 << 20);
    write_shown(&x, x.t, BUCKETS, &x.bytes);
    *state = &x;
    return 0;
}

static int tear_down(void **state) {
    struct shown_fixture *x = *state;
    triage_free(x->t);
    triage_free(x->target);
    keyer_free(x->keyer);
    rules_free(x->rules);
    strbuf_release(&x->bytes);
    return 0;
}

static void same_stack(const struct summary_stack *a, const struct summary_stack *b) {
    assert_int_equal(a->frames.len, b->frames.len);
    for (size_t i = 0; i < a->frames.len; i++) {
        const struct summary_frame *x = &a->frames.data[i], *y = &b->frames.data[i];
        assert_string_equal(x->function, y->function);
        assert_true(x->file && y->file ? strcmp(x->file, y->file) == 0 : x->file == y->file);
        assert_int_equal(x->line, y->line);
        assert_true(x->in_app == y->in_app && x->inlined == y->inlined && x->key == y->key &&
                    x->told == y->told);
    }
    assert_string_equal(strbuf_cstr(&a->explanation), strbuf_cstr(&b->explanation));
}

/* A triage of the same dumps that stored none of them shows the same, so that it writes the same
 * bytes, whose explained stacks are those of the summary that was written. */
static void what_is_shown_is_read_as_it_was_written(void **state) {
    struct shown_fixture *x = *state;
    struct triage *t = counted(x, 0);
    struct strbuf again = {0};
    struct summary s = {0}, read = {0};
    assert_int_equal(shown_read(t, 99, NUMBER, x->bytes.data, x->bytes.len, NULL), ST_OK);
    write_shown(x, t, BUCKETS, &again);
    assert_int_equal(again.len, x->bytes.len);
    assert_memory_equal(again.data, x->bytes.data, again.len);
    assert_int_equal(summary_make(&s, t, NULL, BUCKETS, NULL), ST_OK);
    assert_int_equal(summary_make(&read, t, NULL, BUCKETS, NULL), ST_OK);
    assert_int_equal(summary_explain_first(&s, BUCKETS, x->keyer, NULL), ST_OK);
    assert_int_equal(shown_read_explained(&read, x->bytes.data, x->bytes.len, NULL), ST_OK);
    assert_int_equal(read.explained.len, BUCKETS);
    assert_true(s.explained.data[0].frames.len > 0);
    for (size_t i = 0; i < BUCKETS; i++) {
        same_stack(&read.explained.data[i], &s.explained.data[i]);
        assert_non_null(read.buckets.data[i].stored);
        assert_true(read.buckets.data[i].stored->worst->threads_left == 70000 % 65536);
    }
    summary_release(&s);
    summary_release(&read);
    strbuf_release(&again);
    triage_free(t);
}

static void fewer_buckets_are_shown_and_more_are_not(void **state) {
    struct shown_fixture *x = *state;
    struct strbuf few = {0}, again = {0};
    struct triage *t = counted(x, 0), *none = counted(x, 0);
    write_shown(x, x->t, 2, &few);
    assert_int_equal(shown_read(none, 3, NUMBER, few.data, few.len, NULL), ST_NONE);
    assert_int_equal(shown_read(none, 1, NUMBER + 1, few.data, few.len, NULL), ST_NONE);
    assert_int_equal(shown_read(t, 1, NUMBER, few.data, few.len, NULL), ST_OK);
    struct summary s = {0};
    assert_int_equal(summary_make(&s, t, NULL, BUCKETS, NULL), ST_OK);
    assert_non_null(s.buckets.data[0].stored);
    assert_null(s.buckets.data[1].stored);
    summary_release(&s);
    strbuf_release(&few);
    strbuf_release(&again);
    triage_free(t);
    triage_free(none);
}

/* Reads a copy that has exactly these bytes, so that a sanitizer sees each read past their end. */
static bool is_sound(struct shown_fixture *x, const void *bytes, size_t len) {
    void *copy = malloc(len ? len : 1);
    struct err e = {0};
    assert_non_null(copy);
    if (len) {
        memcpy(copy, bytes, len);
    }
    triage_free(x->target);
    x->target = counted(x, 0);
    enum st st = shown_check(x->target, copy, len, &e);
    assert_true(st == ST_OK || e.code == ERR_FORMAT);
    free(copy);
    return st == ST_OK;
}

static void each_cut_is_refused(void **state) {
    struct shown_fixture *x = *state;
    assert_true(is_sound(x, x->bytes.data, x->bytes.len));
    for (size_t len = 0; len < x->bytes.len; len += 1 + x->bytes.len / 400) {
        assert_false(is_sound(x, x->bytes.data, len));
    }
    strbuf_add(&x->bytes, "", 1);
    assert_false(is_sound(x, x->bytes.data, x->bytes.len));
}

/* What can still be read after a change can be written, too. */
static void each_changed_byte_is_refused_or_read(void **state) {
    struct shown_fixture *x = *state;
    size_t refused = 0, read = 0;
    for (size_t i = 0; i < x->bytes.len; i += 1 + x->bytes.len / 600) {
        static const unsigned char changes[] = {1, 0x80, 0xff};
        for (size_t k = 0; k < sizeof changes; k++) {
            x->bytes.data[i] = (char)(x->bytes.data[i] ^ (char)changes[k]);
            bool sound = is_sound(x, x->bytes.data, x->bytes.len);
            if (sound) {
                struct strbuf again = {0};
                write_shown(x, x->target, BUCKETS, &again);
                strbuf_release(&again);
            }
            read += sound;
            refused += !sound;
            x->bytes.data[i] = (char)(x->bytes.data[i] ^ (char)changes[k]);
        }
    }
    assert_true(refused > 100 && read > 10);
}

static void forget_shown(struct triage *t) {
    for (size_t i = 0; i < t->level[0].buckets.len; i++) {
        stored_bucket_free(&t->stored, t->level[0].buckets.data[i]->stored);
        t->level[0].buckets.data[i]->stored = NULL;
    }
    stored_dumps_release(&t->stored);
    t->stored = (struct stored_dumps){0};
}

/* A triage that counted its dumps, and one that was read from its partial, have read as many. */
static void dumps_that_were_read_are_counted_once(void **state) {
    struct shown_fixture *x = *state;
    struct triage *t = counted(x, 0), *read = NULL;
    struct partial_reader *r = NULL;
    struct strbuf text = {0};
    struct sink out = sink_to_strbuf(&text);
    assert_int_equal(triage_write_partial(t, &out, NULL), ST_OK);
    assert_int_equal(sink_close(&out, NULL), ST_OK);
    assert_int_equal(partial_reader_new(&r, NULL), ST_OK);
    const char *at = text.data, *end;
    while (!read && (end = strchr(at, '\n'))) {
        assert_int_not_equal(partial_reader_line(r, at, (size_t)(end - at), &read, NULL), ST_ERR);
        at = end + 1;
    }
    assert_non_null(read);
    assert_int_equal(shown_dump_count(t), DUMPS - 1);
    assert_int_equal(shown_read_count(t), DUMPS);
    assert_int_equal(shown_read_count(read), DUMPS);
    partial_reader_free(r);
    triage_free(read);
    triage_free(t);
    strbuf_release(&text);
}

static void again(void *ctx, bool refused) {
    struct shown_fixture *x = ctx;
    struct err e = {0};
    struct summary s = {0};
    struct strbuf out = {0};
    enum st st = shown_check(x->target, x->bytes.data, x->bytes.len, &e);
    st = st == ST_OK ? summary_make(&s, x->target, NULL, BUCKETS, &e) : st;
    st = st == ST_OK ? summary_explain_first(&s, BUCKETS, x->keyer, &e) : st;
    st = st == ST_OK ? shown_write(&s, NUMBER, &out, &e) : st;
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    summary_release(&s);
    strbuf_release(&out);
    forget_shown(x->target);
}

static void a_lack_of_memory_is_told(void **state) {
    struct shown_fixture *x = *state;
    if (!failmalloc_works()) {
        skip();
    }
    x->target = counted(x, 0);
    again(x, false);
    assert_true(failmalloc_sweep(again, x) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_shown_is_read_as_it_was_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fewer_buckets_are_shown_and_more_are_not, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_cut_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_changed_byte_is_refused_or_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dumps_that_were_read_are_counted_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lack_of_memory_is_told, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("shown bytes", tests, NULL, NULL);
}
