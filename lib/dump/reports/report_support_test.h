/* Helpers for the tests of the report readers. */
#ifndef STALLKIT_DUMP_REPORT_SUPPORT_TEST_H
#define STALLKIT_DUMP_REPORT_SUPPORT_TEST_H

#include "dump/dump_support_test.h"
#include "dump/input/report_formats.h"

/* The dumps of one document, each parsed. */
struct converted {
    struct strbuf texts[8];
    struct dump dumps[8];
    size_t count;
    enum st st;
    struct err err;
};

static inline enum st take_one(void *ctx, const char *text, size_t len, struct err *e) {
    struct converted *c = ctx;
    assert_true(c->count < 8);
    assert_null(memchr(text, '\n', len));
    strbuf_add(&c->texts[c->count], text, len);
    const struct strbuf *t = &c->texts[c->count];
    enum st want = report_is_session(text, len) ? ST_NONE : ST_OK;
    assert_int_equal(dump_parse(&c->dumps[c->count], t->data, t->len, e), want);
    c->count++;
    return ST_OK;
}

static inline struct converted convert_text_of(const char *text) {
    struct converted c = {.st = ST_OK};
    struct report_maps *maps = NULL;
    if (report_maps_new(&maps, NULL) == ST_OK && report_maps_add_builtin(maps, NULL) == ST_OK) {
        c.st = report_convert(text, strlen(text), maps, take_one, &c, &c.err);
    }
    report_maps_free(maps);
    return c;
}

/* Converts a report of several processes, and reads this one of them. */
static inline struct converted convert_process_of(const char *text, const char *process) {
    struct converted c = {.st = ST_OK};
    const struct report_choice choice = {.process = process};
    c.st = report_convert_chosen(text, strlen(text), NULL, &choice, take_one, &c, &c.err);
    return c;
}

/* Converts a document written as JSON with ' for ". */
static inline struct converted convert_json_of(const char *json) {
    struct strbuf text = {0};
    add_json(&text, json);
    struct converted c = convert_text_of(strbuf_cstr(&text));
    strbuf_release(&text);
    return c;
}

static inline void release_converted(struct converted *c) {
    for (size_t i = 0; i < c->count; i++) {
        dump_release(&c->dumps[i]);
        strbuf_release(&c->texts[i]);
    }
}

/* Returns the only dump of a document, which must convert. */
static inline struct dump *only_dump(struct converted *c) {
    if (c->st != ST_OK) {
        fail_msg("%s", c->err.text);
    }
    assert_int_equal(c->count, 1);
    return &c->dumps[0];
}

/* Checks the addresses of a stack; want ends with a 0. */
static inline void check_frames(const struct dump_stack *s, const uint64_t *want) {
    size_t n = 0;
    while (want[n]) {
        assert_true(n < s->frame_count);
        assert_int_equal(s->frames[n], want[n]);
        n++;
    }
    assert_int_equal(s->frame_count, n);
}
#define FRAMES(...) ((const uint64_t[]){__VA_ARGS__, 0})

/* Checks that the document is refused with an error that holds these words. */
static inline void check_refused(const char *json, const char *words) {
    struct converted c = convert_json_of(json);
    if (c.st != ST_ERR || !strstr(c.err.text, words)) {
        fail_msg("%s: status %d, '%s'", json, (int)c.st, c.err.text);
    }
    release_converted(&c);
}

#endif
