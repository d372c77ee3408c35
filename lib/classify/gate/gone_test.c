/* Tests which versions tell that a bucket is gone. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "classify/gate/gone.h"
#include "classify/keys/fixture_dump_test.h"

struct gone_fleet {
    struct rules *rules;
    struct keyer *keyer;
    struct triage *t;
    unsigned dumps, sessions;
};

static int set_up_fleet(void **state) {
    static struct gone_fleet f;
    struct triage_options o = {.cap_ms = 30000, .rules = "t"};
    f = (struct gone_fleet){0};
    assert_int_equal(rules_new(&f.rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&f.keyer, &(struct key_options){.rules = f.rules}, NULL), ST_OK);
    assert_int_equal(triage_new(&f.t, &o, NULL), ST_OK);
    *state = &f;
    return 0;
}

static int tear_down_fleet(void **state) {
    struct gone_fleet *f = *state;
    triage_free(f->t);
    keyer_free(f->keyer);
    rules_free(f->rules);
    return 0;
}

static void fleet_stall(struct gone_fleet *f, const char *function, const char *version,
                        unsigned day) {
    struct fixture x = {0};
    struct stall_key key;
    char id[32], time[32], user[32];
    snprintf(id, sizeof id, "d%u", f->dumps);
    snprintf(user, sizeof user, "u%u", f->dumps++);
    snprintf(time, sizeof time, "2026-11-%02uT10:00:00Z", day);
    fixture_names(&x, (const char *const[]){function, "show"}, 2, 1);
    x.d.id = id;
    x.d.user = user;
    x.d.time = time;
    x.d.app.version = version;
    x.d.stall.span_ms = x.d.stall.duration_ms = 1000;
    x.d.stall.ended = true;
    x.d.stall.cpu_permille = -1;
    x.d.stall.threshold_ms = 250;
    x.d.text = id;
    x.d.text_len = strlen(id);
    assert_int_equal(keyer_key(f->keyer, &x.d, &key, NULL), ST_OK);
    assert_int_equal(triage_add(f->t, &x.d, &key, true, NULL, NULL), ST_OK);
}

static void fleet_hours(struct gone_fleet *f, const char *version, unsigned day, unsigned hours) {
    const struct exposure_filter everybody = {.where = NULL};
    char text[256];
    for (unsigned i = 0; i < hours; i++) {
        int len = snprintf(text, sizeof text,
                           "{\"format\":\"stall-session/1\",\"id\":\"s%u\",\"user\":\"w%u\","
                           "\"time\":\"2026-11-%02uT09:00:00Z\",\"app\":{\"version\":\"%s\"},"
                           "\"length_ms\":3600000,\"foreground_ms\":3600000}",
                           f->sessions, f->sessions, day, version);
        f->sessions++;
        assert_int_equal(triage_add_session(f->t, &everybody, text, (size_t)len, NULL), ST_OK);
    }
}

static enum st count_gone(void *ctx, const struct gone_bucket *b, struct err *e) {
    (void)e;
    assert_string_equal(b->gone_in, "2.0");
    assert_null(b->returned_in);
    ++*(size_t *)ctx;
    return ST_OK;
}

static size_t gone_of(struct gone_fleet *f) {
    size_t count = 0;
    assert_int_equal(triage_finish(f->t, NULL), ST_OK);
    assert_int_equal(gone_each(f->t, count_gone, &count, NULL), ST_OK);
    return count;
}

/* Four stalls of a bucket on four days of 1.0, which are used for as long as 2.0 is, on one day:
 * too few to tell that the bucket is gone. */
static void fill_fleet(struct gone_fleet *f, unsigned first_day_with_sessions) {
    for (unsigned day = 10; day < 14; day++) {
        fleet_stall(f, "work", "1.0", day);
        fleet_stall(f, "other", "1.0", day);
        if (day >= first_day_with_sessions) {
            fleet_hours(f, "1.0", day, 10);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        fleet_stall(f, "other", "2.0", 14);
    }
    fleet_hours(f, "2.0", 14, 40);
}

static void few_stalls_do_not_tell(void **state) {
    fill_fleet(*state, 10);
    assert_int_equal(gone_of(*state), 0);
}

static void nor_do_they_by_the_hours_of_other_days(void **state) {
    fill_fleet(*state, 13);
    assert_int_equal(gone_of(*state), 0);
}

static void many_stalls_tell(void **state) {
    struct gone_fleet *f = *state;
    fill_fleet(f, 10);
    for (unsigned i = 0; i < 40; i++) {
        fleet_stall(f, "work", "1.0", 10 + i % 4);
    }
    assert_int_equal(gone_of(f), 1);
}

static void a_bucket_in_a_version_without_time_is_not_gone(void **state) {
    struct gone_fleet *f = *state;
    fill_fleet(f, 10);
    for (unsigned i = 0; i < 40; i++) {
        fleet_stall(f, "work", "1.0", 10 + i % 4);
    }
    fleet_stall(f, "other", "3.0", 15);
    assert_int_equal(gone_of(f), 1);
    fleet_stall(f, "work", "3.0", 15);
    assert_int_equal(gone_of(f), 0);
}

static void nor_is_one_of_days_without_time(void **state) {
    struct gone_fleet *f = *state;
    fill_fleet(f, 10);
    for (unsigned i = 0; i < 40; i++) {
        fleet_stall(f, "work", "1.0", 10 + i % 4);
    }
    fleet_hours(f, "3.0", 16, 40);
    assert_int_equal(gone_of(f), 1);
    fleet_stall(f, "work", "3.0", 15);
    assert_int_equal(gone_of(f), 0);
}

int main(void) {
#define GONE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up_fleet, tear_down_fleet)
    const struct CMUnitTest tests[] = {
        GONE_TEST(few_stalls_do_not_tell), GONE_TEST(nor_do_they_by_the_hours_of_other_days),
        GONE_TEST(many_stalls_tell), GONE_TEST(a_bucket_in_a_version_without_time_is_not_gone),
        GONE_TEST(nor_is_one_of_days_without_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
