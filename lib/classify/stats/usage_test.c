/* Tests of exposure and stalls by version, system, device, cause and kind, and of their rates, with
 * examples computed by hand. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/failmalloc.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/stats/hourly.h"
#include "classify/stats/triage_private.h"

enum { HOUR = 3600000 };

#define SESSION "{\"format\":\"stall-session/1\","

struct made {
    struct rules *rules;
    struct keyer *keyer;
    struct triage *t;
};

static struct triage *new_triage(void) {
    struct triage *t = NULL;
    struct triage_options o = {.cap_ms = 30000, .rules = "t"};
    assert_int_equal(triage_new(&t, &o, NULL), ST_OK);
    return t;
}

static int set_up(void **state) {
    static struct made m;
    memset(&m, 0, sizeof m);
    assert_int_equal(rules_new(&m.rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&m.keyer, &(struct key_options){.rules = m.rules}, NULL), ST_OK);
    m.t = new_triage();
    *state = &m;
    return 0;
}

static int tear_down(void **state) {
    struct made *m = *state;
    triage_free(m->t);
    keyer_free(m->keyer);
    rules_free(m->rules);
    return 0;
}

struct stall_like {
    const char *id, *stall, *version, *user, *kind;
    int64_t seq, at_ms, span_ms, duration_ms;
    bool ended;
};

static void add_stall_to(const struct made *m, struct triage *t, const struct stall_like *like) {
    struct fixture f = {0};
    struct stall_key key;
    fixture_names(&f, (const char *const[]){"work", "show"}, 2, 1);
    f.d.id = like->id;
    f.d.app.version = like->version;
    f.d.user = like->user;
    f.d.device.os = "iOS 18.7";
    f.d.device.model = "iPhone13,3";
    f.d.stall.id = like->stall;
    f.d.stall.seq = like->seq;
    f.d.stall.kind = like->kind;
    f.d.stall.at_ms = like->at_ms;
    f.d.stall.span_ms = like->span_ms;
    f.d.stall.duration_ms = like->duration_ms;
    f.d.stall.ended = like->ended;
    f.d.stall.cpu_permille = -1;
    f.d.stall.threshold_ms = 2000;
    static const char text[100] = "{}";
    f.d.text = text;
    f.d.text_len = f.d.captured_size = sizeof text;
    assert_int_equal(keyer_key(m->keyer, &f.d, &key, NULL), ST_OK);
    assert_int_equal(triage_add(t, &f.d, &key, true, NULL, NULL), ST_OK);
}

static void add_stall(const struct made *m, struct stall_like like) {
    add_stall_to(m, m->t, &like);
}

static void add_session(struct triage *t, const char *text) {
    const struct exposure_filter everybody = {.where = NULL};
    struct err e = {0};
    if (triage_add_session(t, &everybody, text, strlen(text), &e) != ST_OK) {
        fail_msg("%s: %s", text, e.text);
    }
}

/* Returns the sums of a facet's value; NULL: there is no such value. */
static const struct usage_sums *sums_of(const struct triage *t, enum usage_facet f,
                                        const char *text) {
    for (size_t i = 0; i < t->usage.by[f].values.len; i++) {
        const struct usage_value *v = &t->usage.by[f].values.data[i];
        if (strcmp(map_string(&t->strings, v->text), text) == 0) {
            return &v->sums;
        }
    }
    return NULL;
}

/* A session and a dump are no duplicates of each other, whatever their ids. */
static void a_session_and_a_dump_may_have_one_id(void **state) {
    struct made *m = *state;
    add_session(m->t,
                SESSION "\"id\":\"d1\",\"app\":{\"version\":\"1.0\"},\"foreground_ms\":1000}");
    add_stall(m, (struct stall_like){"d1", "s1", "1.0", "u", NULL, 1, 0, 5000, 5000, true});
    add_session(m->t,
                SESSION "\"id\":\"d1\",\"app\":{\"version\":\"1.0\"},\"foreground_ms\":1000}");
    const struct usage_sums *one = sums_of(m->t, USAGE_VERSION, "1.0");
    assert_int_equal(one->sessions, 1);
    assert_int_equal(m->t->apart[APART_DUPLICATE], 0);
}

static void exposure_and_stalls_meet_by_value(void **state) {
    struct made *m = *state;
    add_session(m->t, SESSION "\"id\":\"a\",\"user\":\"u\",\"time\":\"2026-11-21T10:00:00Z\","
                              "\"app\":{\"version\":\"1.0\"},\"device\":{\"os\":\"iOS 18.7\","
                              "\"model\":\"iPhone13,3\"},\"launches\":2,\"foreground_ms\":7200000,"
                              "\"low_rates\":30}");
    add_session(m->t, SESSION "\"id\":\"b\",\"user\":\"u\",\"time\":\"2026-11-21T12:00:00Z\","
                              "\"app\":{\"version\":\"2.0\"},\"foreground_ms\":3600000}");
    add_stall(m, (struct stall_like){"d1", "s1", "1.0", "u", NULL, 1, 0, 5000, 5000, true});
    add_stall(m, (struct stall_like){"d2", "s2", "1.0", "u", "hang", 1, 0, 3000, 3000, true});
    add_stall(m, (struct stall_like){"d3", "s3", "1.0", NULL, "launch", 1, 0, 40000, 40000, true});
    const struct usage_sums *one = sums_of(m->t, USAGE_VERSION, "1.0");
    const struct usage_sums *two = sums_of(m->t, USAGE_VERSION, "2.0");
    assert_int_equal(one->sessions, 1);
    assert_int_equal(one->launches, 2);
    assert_int_equal(one->foreground_ms, 2 * HOUR);
    assert_int_equal(one->low_rate_s, 30);
    assert_int_equal(one->stalls, 3);
    assert_int_equal(one->stalled_ms, 38000); /* a launch counts only up to the cap */
    assert_int_equal(histogram_total(&one->launch_ms), 1);
    assert_int_equal(two->stalls, 0);
    assert_int_equal(sums_of(m->t, USAGE_OS, "iOS 18.7")->foreground_ms, 2 * HOUR);
    assert_int_equal(sums_of(m->t, USAGE_OS, "")->foreground_ms, HOUR);
    assert_int_equal(sums_of(m->t, USAGE_KIND, "hang")->stalls, 2);
    assert_int_equal(sums_of(m->t, USAGE_KIND, "launch")->stalled_ms, 30000);
    assert_int_equal(usage_total(&m->t->usage, USAGE_VERSION).foreground_ms, 3 * HOUR);
    assert_int_equal(distinct_count(&m->t->usage.user_days), 1);
    assert_int_equal(m->t->usage.dump_bytes, 300);
    struct user_rates r;
    assert_true(user_sample_rates(&m->t->usage.users, &r));
    assert_int_equal(r.ms_per_hour[0], 8000 / 3);
}

static void a_stall_of_several_dumps_counts_once(void **state) {
    struct made *m = *state;
    add_stall(m, (struct stall_like){"d1", "s", "1.0", "u", NULL, 1, 2000, 2000, 0, false});
    assert_int_equal(sums_of(m->t, USAGE_VERSION, "1.0")->stalls,
                     0); /* the stall is not complete */
    add_stall(m, (struct stall_like){"d2", "s", "1.0", "u", NULL, 2, 2000, 3000, 5000, true});
    assert_int_equal(sums_of(m->t, USAGE_VERSION, "1.0")->stalls, 1);
    assert_int_equal(sums_of(m->t, USAGE_VERSION, "1.0")->stalled_ms, 5000);
}

static void what_was_not_watched_is_no_exposure(void **state) {
    struct made *m = *state;
    const struct usage_watch *w = &m->t->usage.watch;
    add_session(m->t, SESSION "\"id\":\"a\",\"foreground_ms\":1000,\"watched_ms\":1500,"
                              "\"wall_ms\":2000,\"unwatched\":{\"no loop\":400,\"gap\":100}}");
    add_session(m->t, SESSION "\"id\":\"b\",\"foreground_ms\":1000,\"watched_ms\":9000,"
                              "\"length_ms\":8000,\"unwatched\":{\"no loop\":1,\"x\":\"y\"}}");
    add_session(m->t, SESSION "\"id\":\"c\",\"foreground_ms\":500}");
    assert_int_equal(usage_total(&m->t->usage, USAGE_OS).foreground_ms, 750 + 1000 + 500);
    assert_int_equal(w->sessions, 2);
    assert_int_equal(w->little, 1);
    assert_int_equal(w->watched_ms, 1500 + 8000);
    assert_int_equal(w->wall_ms, 2000 + 8000);
    assert_int_equal(usage_watched_permille(w), 950);
    assert_int_equal(w->unknown_sessions, 1);
    assert_int_equal(w->unknown_ms, 500);
    assert_int_equal(w->reasons.len, 2);
    assert_int_equal(w->reasons.data[0].ms + w->reasons.data[1].ms, 501);
    add_session(m->t, SESSION "\"id\":\"d\",\"app\":{\"version\":\"9\"},\"foreground_ms\":1000,"
                              "\"watched_ms\":690,\"wall_ms\":1000}");
    add_session(m->t, SESSION "\"id\":\"e\",\"app\":{\"version\":\"8\"},\"foreground_ms\":1000}");
    assert_int_equal(usage_sums_watched_permille(sums_of(m->t, USAGE_VERSION, "9")), 690);
    assert_int_equal(usage_sums_watched_permille(sums_of(m->t, USAGE_VERSION, "8")), -1);
    assert_int_equal(usage_sums_watched_permille(sums_of(m->t, USAGE_VERSION, "")), 950);
}

/* Counts a session of an hour in which the process was suspended for half of the time, when there
 * was nothing to watch. */
static void a_suspended_process_is_watched(void **state) {
    struct made *m = *state;
    const struct usage_watch *w = &m->t->usage.watch;
    add_session(m->t, SESSION "\"id\":\"a\",\"foreground_ms\":900000,\"watched_ms\":1620000,"
                              "\"wall_ms\":3600000,"
                              "\"unwatched\":{\"suspended\":1800000,\"no_loop\":180000}}");
    assert_int_equal(usage_watched_permille(w), 900);
    assert_int_equal(w->little, 0);
    assert_int_equal(usage_total(&m->t->usage, USAGE_OS).foreground_ms, 810000);
    add_session(m->t, SESSION "\"id\":\"b\",\"foreground_ms\":9,\"watched_ms\":0,\"wall_ms\":5,"
                              "\"unwatched\":{\"suspended\":7}}");
    assert_int_equal(w->wall_ms, 1800000);
}

static void rates_are_of_an_hour(void **state) {
    (void)state;
    assert_int_equal(hourly_ms(5000, 2 * HOUR), 2500);
    assert_int_equal(hourly_ms(1, UINT64_C(3600000000)), 0);
    assert_int_equal(hourly_ppm(3, 2 * HOUR), 1500000);
    assert_int_equal(hourly_ppm(1, 7 * HOUR), 142857);
    assert_int_equal(hourly_ppm(2, 3 * HOUR), 666667);
    assert_int_equal(hourly_ms(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(usage_watched_permille(&(struct usage_watch){0}), -1);
}

static void assert_launch(const struct histogram *h, uint64_t launches, unsigned permille,
                          uint64_t ms, bool below) {
    struct usage_launch l = usage_launch_percentile(h, launches, 2000, permille);
    assert_int_equal(l.below, below);
    assert_int_equal(l.ms, ms);
}

/* Counts ten launches. Two of them were slow and left dumps, of 3 and 5 s, in histogram cells with
 * the middles 2,992 and 5,024. */
static void launches_without_a_dump_are_below_the_threshold(void **state) {
    (void)state;
    struct histogram h = {0};
    assert_launch(&h, 10, 990, 2000, true);
    assert_true(histogram_add(&h, 3000) && histogram_add(&h, 5000));
    assert_launch(&h, 10, 500, 2000, true);
    assert_launch(&h, 10, 800, 2000, true); /* the 8th of ten has no dump */
    assert_launch(&h, 10, 900, 2992, false);
    assert_launch(&h, 10, 950, 5024, false);
    assert_launch(&h, 0, 500, 2992, false); /* no session counted launches */
    /* A launch that is shorter than the threshold has a known duration. */
    assert_true(histogram_add(&h, 100));
    assert_launch(&h, 10, 800, 2000, true);
    assert_launch(&h, 10, 900, 2992, false);
    assert_launch(&h, 3, 100, 100, false);
    histogram_release(&h);
}

/* ---- partials ---- */

static char *partial_of(const struct triage *t) {
    struct strbuf b = {0};
    struct sink sink = sink_to_strbuf(&b);
    assert_int_equal(triage_write_partial(t, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_false(b.failed);
    return b.data;
}

static enum st read_partial(const char *text, struct triage **t, struct err *e) {
    struct partial_reader *r = NULL;
    enum st st = partial_reader_new(&r, e);
    *t = NULL;
    for (const char *at = text, *end; st == ST_OK && *at; at = end + 1) {
        end = strchr(at, '\n');
        st = partial_reader_line(r, at, (size_t)(end - at), t, e);
        st = st == ST_NONE ? ST_OK : st;
    }
    partial_reader_free(r);
    return st;
}

static void fill_part(const struct made *m, struct triage *t, bool first) {
    if (first) {
        add_session(t, SESSION "\"id\":\"a\",\"user\":\"u\",\"time\":\"2026-11-21\",\"app\":"
                               "{\"version\":\"9\"},\"foreground_ms\":100,\"watched_ms\":50,"
                               "\"wall_ms\":100,\"unwatched\":{\"b\":1,\"a\":2},"
                               "\"tiers\":{\"hang\":{\"stalls\":3,\"stalled_ms\":9}},"
                               "\"dumps\":{\"suppressed\":1,\"over_quota\":2,\"lost\":3}}");
        add_stall_to(m, t,
                     &(struct stall_like){"d1", "s", "10", "u", NULL, 1, 2000, 2000, 0, false});
    } else {
        add_session(t, SESSION "\"id\":\"b\",\"user\":\"v\",\"unwatched\":{\"a\":5},"
                               "\"watched_ms\":4,\"wall_ms\":5}");
        add_stall_to(m, t,
                     &(struct stall_like){"d2", "s", "10", "u", NULL, 2, 2000, 3000, 5000, true});
        add_stall_to(m, t,
                     &(struct stall_like){"d3", "x", "2", "v", "launch", 1, 0, 9000, 9000, true});
    }
}

/* A partial that is read again is written with the same bytes; parts merge to the whole in both
 * orders, and a stall of which both have a dump counts once. */
static void partials_merge_to_the_whole(void **state) {
    struct made *m = *state;
    struct triage *part[2] = {new_triage(), new_triage()}, *read[2];
    struct err e = {0};
    char *text[2], *whole, *other;
    fill_part(m, m->t, true);
    fill_part(m, m->t, false);
    whole = partial_of(m->t);
    for (int i = 0; i < 2; i++) {
        fill_part(m, part[i], i == 0);
        text[i] = partial_of(part[i]);
    }
    for (int order = 0; order < 2; order++) {
        for (int i = 0; i < 2; i++) {
            assert_int_equal(read_partial(text[i], &read[i], &e), ST_OK);
            other = partial_of(read[i]);
            assert_string_equal(other, text[i]);
            free(other);
        }
        assert_int_equal(triage_merge(read[order], read[1 - order], &e), ST_OK);
        other = partial_of(read[order]);
        assert_string_equal(other, whole);
        free(other);
        triage_free(read[0]);
        triage_free(read[1]);
    }
    assert_int_equal(sums_of(m->t, USAGE_VERSION, "10")->stalls, 1);
    free(whole);
    for (int i = 0; i < 2; i++) {
        free(text[i]);
        triage_free(part[i]);
    }
}

/* Returns the partial with the first `from` replaced by `to`; the caller frees it. */
static char *changed(const char *text, const char *from, const char *to) {
    struct strbuf b = {0};
    const char *at = strstr(text, from);
    assert_non_null(at);
    strbuf_add(&b, text, (size_t)(at - text));
    strbuf_addstr(&b, to);
    strbuf_addstr(&b, at + strlen(from));
    return b.data;
}

static void what_is_wrong_in_a_partial_is_refused(void **state) {
    struct made *m = *state;
    static const char *const changes[][2] = {
        {"\"told_ms\":9", "\"told_ms\":-9"},
        {"\"lost\":3", "\"lots\":3"},
        {"\"reasons\":[\"a\",2,\"b\",1]", "\"reasons\":[\"b\",1,\"a\",2]"},
        {"\"reasons\":[\"a\",2", "\"reasons\":[\"a\""},
        {"\"watched\":[\"9\",50,100]", "\"watched\":[\"9\",50]"},
        {"\"watched\":[\"9\",50,100]", "\"watched\":[\"9\",101,100]"},
        {"\"watched\":[\"9\",50,100]", "\"watched\":[\"9\",0,0]"},
        {"\"watched\":[\"9\",50,100]", "\"watched\":[\"9\",50,100,\"9\",50,100]"},
        {"\"users_cut\":false", "\"users_cut\":true"},
        {"\"version\":[", "\"version\":[1,"},
        {"[\"10\",0,0,0,0,0,2000,[]", "[\"10\",0,0,0,0,0,2000,[4000,1]"},
        {"\"facets\":[\"10\"", "\"facets\":[10"},
        {"\"user_days\":{\"users\"", "\"user_days\":{\"user\""},
    };
    fill_part(m, m->t, true);
    char *text = partial_of(m->t);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct triage *t = NULL;
        struct err e = {0};
        if (!strstr(text, changes[i][0])) {
            fail_msg("%s in %s", changes[i][0], text);
        }
        char *other = changed(text, changes[i][0], changes[i][1]);
        assert_int_equal(read_partial(other, &t, &e), ST_ERR);
        assert_int_equal(e.code, ERR_FORMAT);
        free(other);
    }
    free(text);
}

static void earlier_partials_say_no_rates(void **state) {
    struct made *m = *state;
    struct triage *t = NULL;
    add_session(m->t, SESSION "\"id\":\"a\",\"foreground_ms\":7}");
    char *text = partial_of(m->t), *start = strstr(text, ",\"usage\":"),
         *end = strstr(text, ",\"total\":");
    assert_true(start && end && start < end);
    memmove(start, end, strlen(end) + 1);
    assert_int_equal(read_partial(text, &t, NULL), ST_OK);
    assert_int_equal(t->usage.by[USAGE_VERSION].values.len, 0);
    assert_int_equal(t->exposure.cells.data[0].ms, 7);
    triage_free(t);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_session_and_a_dump_may_have_one_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exposure_and_stalls_meet_by_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stall_of_several_dumps_counts_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_not_watched_is_no_exposure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_suspended_process_is_watched, set_up, tear_down),
        cmocka_unit_test(rates_are_of_an_hour),
        cmocka_unit_test(launches_without_a_dump_are_below_the_threshold),
        cmocka_unit_test_setup_teardown(partials_merge_to_the_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_in_a_partial_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(earlier_partials_say_no_rates, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
