/* Helpers for the tests of lib/dump. */
#ifndef STALLKIT_DUMP_SUPPORT_TEST_H
#define STALLKIT_DUMP_SUPPORT_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "base/strbuf.h"
#include "dump/dump.h"

#define FORMAT "'format':'stall-dump/1'"

/* Appends JSON that is written with ' for ", so that tests can be read. */
static inline void add_json(struct strbuf *b, const char *json) {
    for (; *json; json++) {
        strbuf_addc(b, *json == '\'' ? '"' : *json);
    }
}

/* Parses a whole document that is written with ' for "; fails the test if that is an error. Release
 * the text after the dump. */
static inline struct dump parse_json(struct strbuf *text, const char *json) {
    struct dump d;
    struct err e = {0};
    add_json(text, json);
    if (dump_parse(&d, text->data, text->len, &e) != ST_OK) {
        fail_msg("%s: %s", json, e.text);
    }
    return d;
}

/* Returns the error of a document that must not parse. */
static inline struct err refused_json(const char *json, enum st want) {
    struct strbuf text = {0};
    struct dump d;
    struct err e = {0};
    add_json(&text, json);
    enum st st = dump_parse(&d, text.data, text.len, &e);
    if (st != want) {
        fail_msg("%s: status %d, not %d", json, (int)st, (int)want);
    }
    assert_null(d.text); /* the dump is empty then */
    assert_int_equal(d.image_count + d.thread_count, 0);
    dump_release(&d);
    strbuf_release(&text);
    return e;
}

#endif
