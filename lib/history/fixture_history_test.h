/* A history in a temporary file, and functions that add dumps to it. */
#ifndef STALLKIT_HISTORY_FIXTURE_HISTORY_TEST_H
#define STALLKIT_HISTORY_FIXTURE_HISTORY_TEST_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "classify/keys/fixture_dump_test.h"
#include "history/run_history.h"
#include "history/sql_file.h"

struct fixture_history {
    struct rules *rules;
    struct keyer *keyer;
    struct triage_options options;
    char path[64];
    struct history *h;
    unsigned buckets; /* number of buckets of the dumps that are offered; 0 = 7 */
};

static const char *const names[] = {"save", "on_save", "main"};

static inline int set_up(void **state) {
    static struct fixture_history f;
    f = (struct fixture_history){
        .options = {.rules_hash = 1, .rules = "built-in", .cap_ms = 30000}};
    snprintf(f.path, sizeof f.path, "/tmp/history_test.XXXXXX");
    int fd = mkstemp(f.path);
    close(fd);
    unlink(f.path);
    assert_int_equal(rules_new(&f.rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(f.rules, NULL), ST_OK);
    const struct key_options o = {.rules = f.rules, .aliases = true};
    assert_int_equal(keyer_new(&f.keyer, &o, NULL), ST_OK);
    *state = &f;
    return 0;
}

static inline int tear_down(void **state) {
    struct fixture_history *f = *state;
    char aside[80];
    history_close(f->h);
    keyer_free(f->keyer);
    rules_free(f->rules);
    unlink(f->path);
    snprintf(aside, sizeof aside, "%s-wal", f->path);
    unlink(aside);
    snprintf(aside, sizeof aside, "%s-shm", f->path);
    unlink(aside);
    return 0;
}

/* Reports the group as skipped, and returns true, if this build has no libsqlite3. */
static inline bool skips_without_sqlite(const char *group) {
    struct history *h = NULL;
    struct err e = {0};
    bool lacks =
        history_open(&h, "/dev/null", HISTORY_READ, &e) == ST_ERR && e.code == ERR_UNSUPPORTED;
    if (lacks) {
        printf("1..1\nok 1 - %s # SKIP this build has no libsqlite3\n", group);
    }
    return lacks;
}

static inline void reopen(struct fixture_history *f, enum history_access access) {
    struct err e = {0};
    history_close(f->h);
    f->h = NULL;
    if (history_open(&f->h, f->path, access, &e) != ST_OK ||
        (access == HISTORY_WRITE && history_set_options(f->h, &f->options, &e) != ST_OK)) {
        fail_msg("%s", e.text);
    }
}

enum { FIXTURE_TEXT = 512 };
/* Sets the dump's text to one that has its id, user, time, app and span. */
static inline void fixture_text(struct dump *d, char text[FIXTURE_TEXT]) {
    int len = snprintf(text, FIXTURE_TEXT,
                       "{\"format\":\"stall-dump/1\",\"id\":\"%s\",\"user\":\"%s\","
                       "\"time\":\"%s\",\"app\":{\"version\":\"%s\",\"build\":\"%s\"},"
                       "\"device\":{\"os\":\"iOS 17.6\",\"arch\":\"arm64\"},"
                       "\"stall\":{\"span_ms\":%lld},\"images\":[],\"threads\":[]}\n",
                       d->id, d->user ? d->user : "", d->time ? d->time : "",
                       d->app.version ? d->app.version : "", d->app.build ? d->app.build : "",
                       (long long)d->stall.span_ms);
    assert_in_range(len, 1, FIXTURE_TEXT - 1);
    d->text = text;
    d->text_len = (size_t)len;
}

/* Offers dump number n to t: version 5.(n mod 4), day n mod 9, user n mod 50, in one of f->buckets
 * buckets, 7 if that is 0. */
static inline enum st try_offer(struct fixture_history *f, struct triage *t, unsigned n) {
    char id[32], user[32], time[32], version[16], inner[32], text[FIXTURE_TEXT];
    snprintf(id, sizeof id, "dump-%u", n);
    snprintf(user, sizeof user, "user-%u", n % 50);
    snprintf(time, sizeof time, "2026-11-%02uT10:00:%02uZ", 10 + n % 9, n % 60);
    snprintf(version, sizeof version, "5.%u", n % 4);
    snprintf(inner, sizeof inner, "save_%u", n % (f->buckets ? f->buckets : 7));
    const char *const frames[] = {inner, names[1], names[2]};
    struct fixture x = {.d = {.id = id,
                              .user = user,
                              .time = time,
                              .app = {.version = version, .build = "1"},
                              .device = {.os = n % 2 ? "iOS 17.6" : "iOS 18.7", .cpus = -1}}};
    struct stall_key key;
    x.d.stall.span_ms = x.d.stall.duration_ms = 700 + n % 1000;
    x.d.stall.ended = true;
    x.d.stall.threshold_ms = 700;
    fixture_text(&x.d, text);
    fixture_names(&x, frames, 3, 1);
    if (keyer_key(f->keyer, &x.d, &key, NULL) != ST_OK) {
        return ST_ERR;
    }
    return t ? triage_add(t, &x.d, &key, true, NULL, NULL) : history_add(f->h, &x.d, &key, NULL);
}

static inline void offer(struct fixture_history *f, struct triage *t, unsigned n) {
    assert_int_equal(try_offer(f, t, n), ST_OK);
}

static inline void add_range(struct fixture_history *f, unsigned from, unsigned to) {
    for (unsigned n = from; n < to; n++) {
        offer(f, NULL, n);
    }
    assert_int_equal(history_commit(f->h, "2026-11-20T00:00:00Z", NULL), ST_OK);
}

/* Returns the text of a triage's partial, which the caller frees, and frees the triage. */
static inline char *partial_of(struct triage *t) {
    struct strbuf text = {0};
    struct sink out = sink_to_strbuf(&text);
    assert_int_equal(triage_write_partial(t, &out, NULL), ST_OK);
    assert_int_equal(sink_close(&out, NULL), ST_OK);
    triage_free(t);
    return strbuf_take(&text);
}

static inline char *held(struct fixture_history *f, const struct history_span *span) {
    struct triage *t = NULL;
    struct err e = {0};
    if (history_read(f->h, span, f->keyer, &f->options, &t, &e) != ST_OK) {
        fail_msg("%s", e.text);
    }
    return partial_of(t);
}

static const struct history_span everything = {.since = INT32_MIN, .until = INT32_MAX};

static inline void assert_same(char *got, char *want) {
    assert_non_null(got);
    assert_string_equal(got, want);
    free(got);
    free(want);
}

/* Changes the history's file with SQL of another connection. */
static inline void change(struct fixture_history *f, const char *sql) {
    struct sql_file *file = NULL;
    assert_int_equal(sql_open(&file, f->path, true, NULL), ST_OK);
    assert_int_equal(sql_run(file, sql, NULL), ST_OK);
    sql_close(file);
}

static inline int64_t number_of(struct fixture_history *f, const char *sql) {
    struct sql_file *file = NULL;
    struct sql_statement *s = NULL;
    assert_int_equal(sql_open(&file, f->path, false, NULL), ST_OK);
    assert_int_equal(sql_prepare(file, &s, sql, NULL), ST_OK);
    assert_int_equal(sql_next(s, NULL), ST_OK);
    int64_t number = sql_number(s, 0);
    sql_finish(s);
    sql_close(file);
    return number;
}

#endif
