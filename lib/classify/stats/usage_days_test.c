/* Tests of exposure and stalls by day: which stalls are in no rate, which days a session covers,
 * and partials that tell days or do not. */
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

enum { DAYS_HOUR = 3600000 };

struct days_made {
    struct rules *rules;
    struct keyer *keyer;
    struct triage *t;
    unsigned dumps, sessions;
};

static struct triage *days_triage(void) {
    struct triage *t = NULL;
    struct triage_options o = {.cap_ms = 30000, .rules = "t"};
    assert_int_equal(triage_new(&t, &o, NULL), ST_OK);
    return t;
}

static int days_set_up(void **state) {
    static struct days_made m;
    memset(&m, 0, sizeof m);
    assert_int_equal(rules_new(&m.rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&m.keyer, &(struct key_options){.rules = m.rules}, NULL), ST_OK);
    m.t = days_triage();
    *state = &m;
    return 0;
}

static int days_tear_down(void **state) {
    struct days_made *m = *state;
    triage_free(m->t);
    keyer_free(m->keyer);
    rules_free(m->rules);
    return 0;
}

struct days_stall {
    const char *time, *version;
    const char
        *stall; /* NULL = a whole stall; else the id of one of 5 s, of which this is a part */
    int64_t span_ms;
};

static void days_add_stall(struct days_made *m, struct days_stall like) {
    struct fixture f = {0};
    struct stall_key key;
    char id[32];
    snprintf(id, sizeof id, "d%u", m->dumps++);
    fixture_names(&f, (const char *const[]){"work", "show"}, 2, 1);
    f.d.id = id;
    f.d.time = like.time;
    f.d.app.version = like.version;
    f.d.stall.id = like.stall;
    f.d.stall.span_ms = like.span_ms ? like.span_ms : 1000;
    f.d.stall.duration_ms = like.stall ? 5000 : f.d.stall.span_ms;
    f.d.stall.ended = true;
    f.d.stall.cpu_permille = -1;
    f.d.stall.threshold_ms = 250;
    f.d.text = id;
    f.d.text_len = strlen(id);
    assert_int_equal(keyer_key(m->keyer, &f.d, &key, NULL), ST_OK);
    assert_int_equal(triage_add(m->t, &f.d, &key, true, NULL, NULL), ST_OK);
}

/* Adds a session; time: "" = none; length_ms: 0 = it does not say. */
static void days_add_use(struct days_made *m, const char *time, const char *version,
                         uint64_t length_ms, uint64_t foreground_ms) {
    const struct exposure_filter everybody = {.where = NULL};
    char text[256], length[48] = "", when[48] = "";
    struct err e = {0};
    if (length_ms) {
        snprintf(length, sizeof length, "\"length_ms\":%llu,", (unsigned long long)length_ms);
    }
    if (*time) {
        snprintf(when, sizeof when, "\"time\":\"%s\",", time);
    }
    int len = snprintf(text, sizeof text,
                       "{\"format\":\"stall-session/1\",\"id\":\"s%u\",%s%s\"launches\":1,"
                       "\"app\":{\"version\":\"%s\"},\"foreground_ms\":%llu}",
                       m->sessions++, when, length, version, (unsigned long long)foreground_ms);
    if (triage_add_session(m->t, &everybody, text, (size_t)len, &e) != ST_OK) {
        fail_msg("%s: %s", text, e.text);
    }
}

/* Adds a session of an hour in the foreground. */
static void days_add_session(struct days_made *m, const char *time, const char *version,
                             uint64_t length_ms) {
    days_add_use(m, time, version, length_ms, DAYS_HOUR);
}

static struct usage_outside days_outside(struct days_made *m) {
    assert_int_equal(triage_finish(m->t, NULL), ST_OK);
    return usage_outside_of(m->t);
}

static uint64_t days_foreground(const struct triage *t, const char *day, const char *version) {
    for (size_t i = 0; i < t->usage.days.rows.len; i++) {
        const struct usage_day *d = &t->usage.days.rows.data[i];
        if (d->day == usage_day_parse(day) &&
            strcmp(map_string(&t->strings, d->version), version) == 0) {
            return d->foreground_ms;
        }
    }
    return 0;
}

static void stalls_of_days_without_time_are_outside(void **state) {
    struct days_made *m = *state;
    for (unsigned i = 0; i < 3; i++) {
        days_add_stall(m, (struct days_stall){.time = "2026-11-18T10:00:00Z", .version = "1.0"});
    }
    days_add_stall(m, (struct days_stall){.time = "2026-11-19T10:00:00Z", .version = "1.0"});
    days_add_stall(m, (struct days_stall){.time = "2026-11-20T10:00:00Z", .version = "1.0"});
    days_add_stall(m, (struct days_stall){.time = "2026-11-20T10:00:00Z", .version = "2.0"});
    days_add_stall(m, (struct days_stall){.version = "1.0"});
    days_add_session(m, "2026-11-20T09:00:00Z", "1.0", DAYS_HOUR);
    days_add_session(m, "2026-11-18T09:00:00Z", "2.0", DAYS_HOUR);
    struct usage_outside o = days_outside(m);
    assert_int_equal(o.stalls, 0);
    assert_int_equal(o.days.stalls, 5); /* of 1.0 on two days, and of 2.0 on the twentieth */
    assert_int_equal(o.days.days, 3);
    assert_int_equal(o.days.first, usage_day_parse("2026-11-18"));
    assert_int_equal(o.days.last, usage_day_parse("2026-11-20"));
    assert_int_equal(o.days.undated_stalls, 1);
    assert_int_equal(o.all_stalls, 6);
    assert_int_equal(o.all_ms, 6000);
    assert_true(o.many);
    assert_false(o.many_versions || o.no_rate);
    const struct usage_sums *one = &m->t->usage.by[USAGE_VERSION].values.data[0].sums;
    assert_int_equal(one->stalls - one->unrated_stalls, 1);
    assert_int_equal(usage_rated_ms(one), 0);
    /* Later rules may have found idle what the usage counts. */
    m->t->total.stalls = m->t->total.ms = 2;
    o = usage_outside_of(m->t);
    assert_int_equal(o.all_stalls, 2);
    assert_int_equal(o.all_ms, 2);
}

static void stalls_of_days_with_time_are_inside(void **state) {
    struct days_made *m = *state;
    for (unsigned i = 0; i < 39; i++) {
        days_add_stall(m, (struct days_stall){.time = "2026-11-20T23:59:59Z", .version = "1.0"});
    }
    days_add_stall(m, (struct days_stall){.time = "2026-11-21T10:00:00Z", .version = "1.0"});
    days_add_session(m, "2026-11-20T09:00:00Z", "1.0", DAYS_HOUR);
    struct usage_outside o = days_outside(m);
    assert_int_equal(o.all_stalls, 1);
    assert_false(o.many); /* one of forty */
    assert_int_equal(usage_rated_ms(&m->t->usage.by[USAGE_VERSION].values.data[0].sums), DAYS_HOUR);
}

static void time_of_no_day_or_no_version_may_be_that_of_all(void **state) {
    struct days_made *m = *state;
    days_add_stall(m, (struct days_stall){.time = "2026-11-18T10:00:00Z", .version = "1.0"});
    days_add_stall(m, (struct days_stall){.version = "1.0"});
    days_add_session(m, "", "1.0", DAYS_HOUR);
    assert_int_equal(days_outside(m).all_stalls, 0);
    triage_free(m->t);
    m->t = days_triage();
    days_add_stall(m, (struct days_stall){.time = "2026-11-18T10:00:00Z", .version = "1.0"});
    days_add_stall(m, (struct days_stall){.time = "2026-11-19T10:00:00Z", .version = "2.0"});
    days_add_session(m, "2026-11-18T10:00:00Z", "", DAYS_HOUR);
    struct usage_outside o = days_outside(m);
    assert_int_equal(o.all_stalls, 1);
    assert_int_equal(o.stalls, 0);
    assert_int_equal(o.days.first, usage_day_parse("2026-11-19"));
}

/* 40 stalls on each of three days, and 30 sessions of an hour on the last of them. */
static void days_fill_late(struct days_made *m) {
    static const char *const times[] = {"2026-11-18T10:00:00Z", "2026-11-19T10:00:00Z",
                                        "2026-11-20T10:00:00Z"};
    triage_free(m->t);
    m->t = days_triage();
    for (unsigned i = 0; i < 120; i++) {
        days_add_stall(m, (struct days_stall){.time = times[i / 40], .version = "1.0"});
    }
    for (unsigned i = 0; i < 30; i++) {
        days_add_session(m, times[2], "1.0", DAYS_HOUR);
    }
}

static void time_without_a_day_is_that_of_all_days_if_it_is_most(void **state) {
    struct days_made *m = *state;
    days_fill_late(m);
    days_add_use(m, "", "1.0", 1000, 1000);
    assert_int_equal(days_outside(m).days.stalls, 80);
    days_fill_late(m);
    days_add_use(m, "", "1.0", 0, UINT64_C(28) * 20 * DAYS_HOUR);
    assert_int_equal(days_outside(m).days.stalls, 80);
    days_add_use(m, "", "1.0", 0, UINT64_C(2) * 20 * DAYS_HOUR);
    assert_int_equal(days_outside(m).all_stalls, 0);
    /* Stalls without a day are of such time if it is no small part. */
    days_fill_late(m);
    days_add_stall(m, (struct days_stall){.version = "1.0"});
    days_add_use(m, "", "1.0", 0, DAYS_HOUR);
    assert_int_equal(days_outside(m).days.undated_stalls, 1);
    days_add_use(m, "", "1.0", 0, DAYS_HOUR);
    assert_int_equal(days_outside(m).days.undated_stalls, 0);
}

static void little_time_on_a_day_is_not_that_of_its_stalls(void **state) {
    struct days_made *m = *state;
    /* Past midnight, from a session without a length, from a single short one. */
    days_fill_late(m);
    days_add_use(m, "2026-11-18T23:59:00Z", "1.0", DAYS_HOUR, DAYS_HOUR / 2);
    days_add_use(m, "2026-11-18T10:00:00Z", "1.0", 0, 1000);
    assert_int_equal(days_outside(m).days.stalls, 80);
    /* Sessions that began on the day need less time than what others left on it. */
    days_fill_late(m);
    days_add_use(m, "2026-11-18T23:00:00Z", "1.0", 8 * DAYS_HOUR, 8 * DAYS_HOUR);
    assert_int_equal(days_outside(m).days.stalls, 80);
    days_add_session(m, "2026-11-18T10:00:00Z", "1.0", DAYS_HOUR);
    assert_int_equal(days_outside(m).days.stalls, 40); /* two hours of thirty */
    days_add_use(m, "2026-11-18T23:00:00Z", "1.0", 2 * DAYS_HOUR, 2 * DAYS_HOUR);
    assert_int_equal(days_outside(m).days.stalls, 0); /* eight hours of thirty */
}

/* A day with little time is none, and many of them make no other day of them. */
static void many_days_with_little_time_do_not_make_it_much(void **state) {
    static const char *const days[] = {"2026-11-18T10:00:00Z", "2026-11-21T10:00:00Z",
                                       "2026-11-22T10:00:00Z", "2026-11-23T10:00:00Z",
                                       "2026-11-24T10:00:00Z"};
    struct days_made *m = *state;
    days_fill_late(m);
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        days_add_use(m, days[i], "1.0", 1000, 1000);
    }
    assert_int_equal(days_outside(m).days.stalls, 80);
}

static void a_session_is_of_all_days_that_it_covers(void **state) {
    struct days_made *m = *state;
    const struct triage *t = m->t;
    /* A quarter of an hour of these is on the first day, two hours are of it in all. */
    days_add_session(m, "2026-11-20T23:45:00Z", "1.0", 2 * DAYS_HOUR);
    assert_int_equal(days_foreground(t, "2026-11-20", "1.0"), DAYS_HOUR / 8);
    assert_int_equal(days_foreground(t, "2026-11-21", "1.0"), DAYS_HOUR / 8 * 7);
    assert_int_equal(days_foreground(t, "2026-11-22", "1.0"), 0);
    /* No length: the first day. */
    days_add_session(m, "2026-11-01T23:59:00Z", "2.0", 0);
    assert_int_equal(days_foreground(t, "2026-11-01", "2.0"), DAYS_HOUR);
    assert_int_equal(days_foreground(t, "2026-11-02", "2.0"), 0);
    days_add_session(m, "2026-11-01T00:00:00Z", "3.0", (uint64_t)366 * 24 * DAYS_HOUR);
    uint64_t sum = 0;
    for (size_t i = 0; i < t->usage.days.rows.len; i++) {
        const struct usage_day *d = &t->usage.days.rows.data[i];
        bool third = strcmp(map_string(&t->strings, d->version), "3.0") == 0;
        sum += third ? d->foreground_ms : 0;
        assert_true(!third || d->sessions == (d->day == usage_day_parse("2026-11-01")));
    }
    assert_int_equal(sum, DAYS_HOUR);
    /* A session of a year is of 31 days at most, as each day costs memory. */
    assert_true(days_foreground(t, "2026-11-30", "3.0") > 0);
    assert_int_equal(days_foreground(t, "2026-12-02", "3.0"), 0);
    /* Days end with the year 9999. */
    days_add_session(m, "9999-12-31T23:00:00Z", "4.0", 5 * DAYS_HOUR);
    assert_int_equal(days_foreground(t, "9999-12-31", "4.0"), DAYS_HOUR);
}

/* Returns the text of the triage's partial, which the caller frees. */
static char *days_partial(const struct triage *t) {
    struct strbuf text = {0};
    struct sink out = sink_to_strbuf(&text);
    assert_int_equal(triage_write_partial(t, &out, NULL), ST_OK);
    assert_int_equal(sink_close(&out, NULL), ST_OK);
    return strbuf_take(&text);
}

/* Reads a partial; NULL: it is refused, with this error. */
static struct triage *days_read(const char *text, struct err *e) {
    struct partial_reader *r = NULL;
    struct triage *t = NULL;
    enum st st = partial_reader_new(&r, e);
    for (const char *end; st != ST_ERR && !t && (end = strchr(text, '\n')); text = end + 1) {
        st = partial_reader_line(r, text, (size_t)(end - text), &t, e);
    }
    partial_reader_free(r);
    return t;
}

/* Returns a text with one occurrence of `was` exchanged, which the caller frees. */
static char *days_exchanged(const char *text, const char *was, const char *by) {
    const char *at = strstr(text, was);
    struct strbuf b = {0};
    assert_non_null(at);
    strbuf_add(&b, text, (size_t)(at - text));
    strbuf_addstr(&b, by);
    strbuf_addstr(&b, at + strlen(was));
    return strbuf_take(&b);
}

static void a_stall_of_several_days_is_of_the_one_with_most_time(void **state) {
    struct days_made *m = *state;
    days_add_session(m, "2026-11-21T00:00:00Z", "1.0", DAYS_HOUR);
    days_add_stall(m, (struct days_stall){"2026-11-20T23:59:59Z", "1.0", "s1", 2000});
    char *text = days_partial(m->t);
    assert_non_null(strstr(text, "\"days\":[\"2026-11-20\"]}"));
    struct err e = {0};
    struct triage *first = days_read(text, &e);
    assert_non_null(first);
    triage_free(m->t);
    m->t = days_triage();
    days_add_stall(m, (struct days_stall){"2026-11-21T00:00:02Z", "1.0", "s1", 3000});
    assert_int_equal(triage_merge(m->t, first, NULL), ST_OK);
    triage_free(first);
    free(text);
    text = days_partial(m->t);
    assert_non_null(strstr(text, "\"days\":[\"2026-11-20\",\"1.0\",0,0,0,2000,"
                                 "\"2026-11-21\",\"1.0\",1,3600000,1,3000]"));
    free(text);
    assert_int_equal(days_outside(m).all_stalls, 0);
}

static void partials_merge_in_any_order(void **state) {
    static const char *const days[] = {"2026-11-22T10:00:00Z", "2026-11-20T10:00:00Z", NULL,
                                       "2026-11-21T10:00:00Z", "2026-11-20T10:00:00Z"};
    struct days_made *m = *state;
    enum { COUNT = sizeof days / sizeof *days };
    char *parts[COUNT], *merged[2];
    for (size_t i = 0; i < COUNT; i++) {
        days_add_stall(m, (struct days_stall){.time = days[i], .version = i % 2 ? "1.0" : "2.0"});
        days_add_session(m, days[i] ? days[i] : "", i % 3 ? "1.0" : "2.0", 50 * DAYS_HOUR);
        parts[i] = days_partial(m->t);
        triage_free(m->t);
        m->t = days_triage();
    }
    for (size_t order = 0; order < 2; order++) {
        struct triage *sum = days_triage();
        for (size_t i = 0; i < COUNT; i++) {
            struct triage *part = days_read(parts[order ? COUNT - 1 - i : i], NULL);
            assert_non_null(part);
            assert_int_equal(triage_merge(sum, part, NULL), ST_OK);
            triage_free(part);
        }
        merged[order] = days_partial(sum);
        triage_free(sum);
    }
    assert_string_equal(merged[0], merged[1]);
    assert_non_null(strstr(merged[0], "\"days\":[\"\",\"1.0\","));
    for (size_t i = 0; i < COUNT; i++) {
        free(parts[i]);
    }
    free(merged[0]);
    free(merged[1]);
}

#define TWO_DAYS "\"days\":[\"2026-11-20\",\"1.0\",1,3600000,0,0,\"2026-11-21\",\"1.0\",0,0,1,1000]"

static void partials_without_days_are_compared_by_version(void **state) {
    struct days_made *m = *state;
    days_add_session(m, "2026-11-20T10:00:00Z", "1.0", DAYS_HOUR);
    days_add_stall(m, (struct days_stall){.time = "2026-11-21T10:00:00Z", .version = "1.0"});
    char *text = days_partial(m->t), *early = days_exchanged(text, "," TWO_DAYS, "");
    triage_free(m->t);
    m->t = days_read(early, NULL);
    assert_non_null(m->t);
    assert_int_equal(days_outside(m).all_stalls, 0);
    /* Stalls that such a partial counts are not of the time of other partials. */
    triage_free(m->t);
    m->t = days_triage();
    days_add_session(m, "2026-11-21T10:00:00Z", "1.0", DAYS_HOUR);
    struct triage *old = days_read(early, NULL);
    memset(&old->usage.by[USAGE_VERSION].values.data[0].sums.foreground_ms, 0, sizeof(uint64_t));
    assert_int_equal(triage_merge(m->t, old, NULL), ST_OK);
    triage_free(old);
    assert_int_equal(days_outside(m).days.undated_stalls, 1);
    /* A history knows their day. */
    triage_free(m->t);
    m->t = days_read(early, NULL);
    assert_int_equal(triage_place(m->t, usage_day_parse("2026-11-21"), NULL), ST_OK);
    assert_int_equal(triage_place(m->t, usage_day_parse("2026-11-22"), NULL), ST_OK);
    assert_int_equal(days_foreground(m->t, "2026-11-21", "1.0"), DAYS_HOUR);
    assert_true(triage_is_of(m->t, usage_day_parse("2026-11-21"), "1.0"));
    assert_false(triage_is_of(m->t, usage_day_parse("2026-11-22"), "1.0"));
    assert_false(triage_is_of(m->t, usage_day_parse("2026-11-21"), "1.1"));
    free(text);
    free(early);
}

static void forged_days_are_refused(void **state) {
    static const char *const forged[] = {
        "\"days\":[\"2026-11-21\",\"1.0\",1,3600000,0,0,\"2026-11-20\",\"1.0\",0,0,1,1000]",
        "\"days\":[\"2026-11-20\",\"1.0\",1,3600000,0,0,\"2026-11-20\",\"1.0\",0,0,1,1000]",
        "\"days\":[\"2026-11-20\",\"1.0\",1,3600001,0,0,\"2026-11-21\",\"1.0\",0,0,1,1000]",
        "\"days\":[\"2026-11-20\",\"1.0\",1,3600000,0,0,\"2026-11-21\",\"1.0\",0,0,2,1000]",
        "\"days\":[\"2026-11-20\",\"1.0\",1,3600000,0,0,\"2026-11-21\",\"1.1\",0,0,1,1000]",
        "\"days\":[\"2026-11-20\",\"1.0\",1,3600000,0,0,\"2026-11-21\",\"1.0\",0,0,0,0]",
        "\"days\":[\"2026-11-20\",\"1.0\",2,3600000,0,0]",
        "\"days\":[\"2026-11-31\",\"1.0\",1,3600000,0,0]",
        "\"days\":[\"2026-11-20T1\",\"1.0\",1,3600000,0,0]",
        "\"days\":[\"x\",\"1.0\",1,3600000,0,0]",
        "\"days\":[20000,\"1.0\",1,3600000,0,0]",
        "\"days\":[\"2026-11-20\",1,1,3600000,0,0]",
        "\"days\":[\"2026-11-20\",\"1.0\",-1,3600000,0,0]",
        "\"days\":[\"2026-11-20\",\"1.0\",1,3600000,0]",
        "\"days\":7"};
    struct days_made *m = *state;
    days_add_session(m, "2026-11-20T10:00:00Z", "1.0", DAYS_HOUR);
    days_add_stall(m, (struct days_stall){.time = "2026-11-21T10:00:00Z", .version = "1.0"});
    char *text = days_partial(m->t);
    struct triage *t = days_read(text, NULL);
    assert_non_null(t);
    triage_free(t);
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        struct err e = {0};
        char *changed = days_exchanged(text, TWO_DAYS, forged[i]);
        if (days_read(changed, &e) || !err_is(&e)) {
            fail_msg("it is read: %s", forged[i]);
        }
        free(changed);
    }
    free(text);
}

/* A sum that is full does not tell what is left of it. */
static void full_sums_are_read_again(void **state) {
    struct days_made *m = *state;
    days_add_session(m, "2026-11-20T10:00:00Z", "1.0", DAYS_HOUR);
    days_add_session(m, "2026-11-21T10:00:00Z", "1.0", DAYS_HOUR);
    m->t->usage.by[USAGE_VERSION].values.data[0].sums.foreground_ms = INT64_MAX;
    for (size_t i = 0; i < 2; i++) {
        m->t->usage.days.rows.data[i].foreground_ms = INT64_MAX;
    }
    char *text = days_partial(m->t);
    struct triage *t = days_read(text, NULL);
    assert_non_null(t);
    triage_free(t);
    free(text);
}

/* What is written can be read again, or is not written. */
static void a_partial_has_no_more_days_than_can_be_read(void **state) {
    struct days_made *m = *state;
    for (unsigned i = 0; i < PARTIAL_DAYS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "1.%u", i);
        uint32_t version = triage_string(m->t, name);
        struct usage_sums *sums = usage_sums_of(&m->t->usage, USAGE_VERSION, version);
        struct usage_day *day = usage_day_of(&m->t->usage, 20000, version);
        assert_true(sums && day);
        day->sessions = day->foreground_ms = sums->sessions = sums->foreground_ms = 1;
        sums->watched_ms = sums->wall_ms = 1;
    }
    char *text = days_partial(m->t);
    struct triage *t = days_read(text, NULL);
    assert_non_null(t);
    triage_free(t);
    free(text);
    struct strbuf more = {0};
    struct sink out = sink_to_strbuf(&more);
    struct err e = {0};
    days_add_session(m, "2026-11-20T10:00:00Z", "2.0", DAYS_HOUR);
    assert_int_equal(triage_write_partial(m->t, &out, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(more.len, 0);
    assert_int_equal(sink_close(&out, NULL), ST_OK);
    strbuf_release(&more);
}

static void settle_read(void *ctx, bool refused) {
    struct err e = {0};
    struct triage *t = days_read(ctx, &e);
    bool settled = t && usage_settle(t);
    assert_true(refused || settled);
    assert_true(t || err_is(&e));
    assert_true(!settled || usage_outside_of(t).days.days == 1);
    triage_free(t);
}

static void memory_that_runs_out_is_an_error(void **state) {
    struct days_made *m = *state;
    days_add_session(m, "2026-11-20T10:00:00Z", "1.0", DAYS_HOUR);
    days_add_stall(m, (struct days_stall){.time = "2026-11-21T10:00:00Z", .version = "1.0"});
    char *text = days_partial(m->t);
    if (failmalloc_works()) {
        assert_true(failmalloc_sweep(settle_read, text) > 0);
    }
    free(text);
}

int main(void) {
#define DAYS_TEST(test) cmocka_unit_test_setup_teardown(test, days_set_up, days_tear_down)
    const struct CMUnitTest tests[] = {
        DAYS_TEST(stalls_of_days_without_time_are_outside),
        DAYS_TEST(stalls_of_days_with_time_are_inside),
        DAYS_TEST(time_of_no_day_or_no_version_may_be_that_of_all),
        DAYS_TEST(time_without_a_day_is_that_of_all_days_if_it_is_most),
        DAYS_TEST(little_time_on_a_day_is_not_that_of_its_stalls),
        DAYS_TEST(many_days_with_little_time_do_not_make_it_much),
        DAYS_TEST(a_session_is_of_all_days_that_it_covers),
        DAYS_TEST(a_stall_of_several_days_is_of_the_one_with_most_time),
        DAYS_TEST(partials_merge_in_any_order),
        DAYS_TEST(partials_without_days_are_compared_by_version),
        DAYS_TEST(forged_days_are_refused),
        DAYS_TEST(full_sums_are_read_again),
        DAYS_TEST(a_partial_has_no_more_days_than_can_be_read),
        DAYS_TEST(memory_that_runs_out_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
