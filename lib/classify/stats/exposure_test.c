/* Tests the exposure that session records and tables give, the users to whom it belongs, and the
 * errors in tables. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "base/hash.h"
#include "classify/stats/exposure_text_test.h"
#include "classify/stats/triage_private.h"

static const struct exposure_filter everybody = {.where = NULL};

static struct triage *new_triage(void) {
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &(struct triage_options){.rules = ""}, NULL), ST_OK);
    return t;
}

static struct where *new_where(const char *terms) {
    struct where *w = NULL;
    size_t at;
    assert_int_equal(where_new(&w, NULL), ST_OK);
    assert_int_equal(where_add(w, terms, &at, NULL), ST_OK);
    return w;
}

static enum st add_session(struct triage *t, const struct exposure_filter *filter,
                           const char *text) {
    return triage_add_session(t, filter, text, strlen(text), NULL);
}

static enum st add_table(struct triage *t, const struct exposure_filter *filter, const char *text) {
    return add_exposure_text(t, filter, text, strlen(text), NULL);
}

static void assert_sums(const struct triage *t, uint64_t sessions, uint64_t ms) {
    uint64_t count = 0, sum = 0;
    for (size_t i = 0; i < t->exposure.cells.len; i++) {
        count += t->exposure.cells.data[i].count;
        sum += t->exposure.cells.data[i].ms;
    }
    assert_int_equal(count, sessions);
    assert_int_equal(sum, ms);
}

static bool has_cell(const struct triage *t, const char *model, const char *os, int64_t cpus,
                     const char *user) {
    uint32_t cell =
        cluster_cell_of(cluster_stratum(model, os, cpus), hash_bytes(user, strlen(user)));
    for (size_t i = 0; i < t->exposure.cells.len; i++) {
        if (t->exposure.cells.data[i].cell == cell) {
            return true;
        }
    }
    return false;
}

#define SESSION "{\"format\":\"stall-session/1\","
#define PHONE   "\"device\":{\"model\":\"iPhone13,3\",\"os\":\"iOS 18.7\",\"cpus\":6}"

/* ---- session records ---- */

static void a_session_counts_for_its_user_and_device(void **state) {
    (void)state;
    struct triage *t = new_triage();
    assert_int_equal(add_session(t, &everybody,
                                 SESSION "\"id\":\"s1\",\"user\":\"u\"," PHONE
                                         ",\"launches\":2,\"foreground_ms\":500}"),
                     ST_OK);
    assert_sums(t, 2, 500);
    assert_true(has_cell(t, "iPhone13,3", "iOS 18.7", 6, "u"));
    triage_free(t);
}

static void without_a_user_each_session_is_one(void **state) {
    (void)state;
    struct triage *t = new_triage();
    assert_int_equal(add_session(t, &everybody, SESSION "\"id\":\"s1\"}"), ST_OK);
    assert_sums(t, 1, 0); /* one launch, of unknown time */
    assert_true(has_cell(t, NULL, NULL, -1, "s1"));
    triage_free(t);
}

static void an_id_counts_once(void **state) {
    (void)state;
    static const char text[] = SESSION "\"id\":\"s1\",\"foreground_ms\":7}";
    static const char nameless[] = SESSION "\"foreground_ms\":7}";
    struct triage *t = new_triage();
    assert_int_equal(add_session(t, &everybody, text), ST_OK);
    assert_int_equal(add_session(t, &everybody, text), ST_OK);
    assert_sums(t, 1, 7);
    assert_int_equal(add_session(t, &everybody, nameless), ST_OK);
    assert_int_equal(add_session(t, &everybody, nameless), ST_OK);
    assert_sums(t, 3, 21);
    triage_free(t);
}

static void what_is_no_session_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "1",
                                        "{}",
                                        "{\"format\":\"stall-dump/1\"}",
                                        "{\"format\":1}",
                                        "{\"format\":\"stall-session/2\"}"};
    struct triage *t = new_triage();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err e = {0};
        assert_int_equal(triage_add_session(t, &everybody, texts[i], strlen(texts[i]), &e), ST_ERR);
        assert_true(e.code == ERR_FORMAT || e.code == ERR_TRUNCATED);
    }
    assert_sums(t, 0, 0);
    triage_free(t);
}

static void members_of_another_type_are_absent(void **state) {
    (void)state;
    struct triage *t = new_triage();
    assert_int_equal(add_session(t, &everybody,
                                 SESSION "\"id\":5,\"user\":[],\"device\":\"x\","
                                         "\"launches\":\"9\",\"foreground_ms\":-4}"),
                     ST_OK);
    assert_sums(t, 1, 0);
    assert_true(has_cell(t, NULL, NULL, -1, ""));
    triage_free(t);
}

static void what_json_cannot_hold_is_repaired_as_in_dumps(void **state) {
    (void)state;
    struct triage *t = new_triage();
    assert_int_equal(add_session(t, &everybody,
                                 SESSION "\"user\":\"u\\u0000v\",\"foreground_ms\":7,"
                                         "\"x\":123456789012345678901234567890}"),
                     ST_OK);
    assert_sums(t, 1, 7);
    assert_true(has_cell(t, NULL, NULL, -1, "u\xef\xbf\xbdv"));
    triage_free(t);
}

static void sums_stop_at_what_a_partial_holds(void **state) {
    (void)state;
    enum { ROWS = 1 << 14 }; /* of 2^50 each */
    static const char text[] = "user,sessions,foreground_ms\n"
                               "u,1125899906842624,1125899906842624\n";
    struct triage *t = new_triage();
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(add_table(t, &everybody, text), ST_OK);
    }
    assert_sums(t, INT64_MAX, INT64_MAX);
    triage_free(t);
}

/* A record of more than is possible is counted as refused, and adds nothing. */
static void a_session_longer_than_possible_does_not_count(void **state) {
    (void)state;
    static const char *const impossible[] = {
        "\"wall_ms\":9007199254740991,\"watched_ms\":0,\"foreground_ms\":0}",
        "\"length_ms\":31622400001}",
        "\"foreground_ms\":31622400001}",
        "\"wall_ms\":5000,\"watched_ms\":31622400001}",
        "\"launches\":2,\"foreground_ms\":63244800001}",
        "\"launches\":1001}",
        "\"length_ms\":60000,\"foreground_ms\":61001}",
        "\"length_ms\":60000,\"tiers\":{\"hang\":{\"stalls\":1,\"stalled_ms\":9007199254740991}}}",
        "\"length_ms\":60000,\"tiers\":{\"hang\":{\"stalls\":9007199254740991,\"stalled_ms\":1}}}"};
    static const char *const possible[] = {
        "\"length_ms\":31622400000,\"foreground_ms\":1}",
        "\"launches\":2,\"foreground_ms\":63244800000}",
        "\"wall_ms\":70000,\"length_ms\":60000,\"foreground_ms\":70000}", "\"launches\":1000}"};
    struct triage *t = new_triage();
    char text[200];
    size_t refused = sizeof impossible / sizeof *impossible;
    for (size_t i = 0; i < refused; i++) {
        snprintf(text, sizeof text, "%s%s", SESSION, impossible[i]);
        assert_int_equal(add_session(t, &everybody, text), ST_OK);
        assert_int_equal(triage_refused_sessions(t), i + 1);
    }
    assert_sums(t, 0, 0);
    assert_int_equal(usage_watched_permille(&t->usage.watch), -1);
    assert_int_equal(t->usage.told_ms, 0);
    for (size_t i = 0; i < sizeof possible / sizeof *possible; i++) {
        snprintf(text, sizeof text, "%s%s", SESSION, possible[i]);
        assert_int_equal(add_session(t, &everybody, text), ST_OK);
    }
    assert_int_equal(triage_refused_sessions(t), refused);
    triage_free(t);
}

static void only_sessions_of_those_asked_for_count(void **state) {
    (void)state;
    struct triage *t = new_triage();
    struct where *w = new_where("context.screen=Cart device.os>=\"iOS 18\" stall.kind=hang");
    struct where_seen seen = {0};
    const struct exposure_filter filter = {.where = w, .seen = &seen};
    assert_int_equal(add_session(t, &filter, SESSION PHONE ",\"foreground_ms\":1}"), ST_OK);
    assert_int_equal(add_session(t, &filter,
                                 SESSION PHONE
                                 ",\"context\":{\"screen\":\"Cart\"},\"foreground_ms\":2}"),
                     ST_OK);
    assert_int_equal(add_session(t, &filter,
                                 SESSION PHONE
                                 ",\"context\":{\"screen\":\"List\"},\"foreground_ms\":4}"),
                     ST_OK);
    assert_sums(t, 1, 2);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.said, 3); /* the third term is not about exposure */
    where_free(w);
    triage_free(t);
}

/* ---- tables ---- */

static void a_row_counts_for_its_user(void **state) {
    (void)state;
    struct triage *t = new_triage();
    assert_int_equal(add_table(t, &everybody,
                               "user,model,os,cpus,more,sessions,foreground_ms,foreground_hours\n"
                               "u,\"iPhone13,3\",iOS 18.7,6,\"a \"\"b\"\", c\",3,500,\r\n"
                               "\n"
                               "v,Pixel 8,Android 14,8,,1,,2\n"),
                     ST_OK);
    assert_sums(t, 4, 7200500);
    assert_int_equal(t->exposure.cells.len, 2);
    assert_true(has_cell(t, "iPhone13,3", "iOS 18.7", 6, "u"));
    assert_true(has_cell(t, "Pixel 8", "Android 14", 8, "v"));
    triage_free(t);
}

static void a_row_without_a_user_is_of_many(void **state) {
    (void)state;
    struct triage *t = new_triage();
    assert_int_equal(add_table(t, &everybody, "sessions,foreground_ms\n1000,640001"), ST_OK);
    assert_sums(t, 1000, 640001);
    assert_int_equal(t->exposure.cells.len, CLUSTER_GROUPS);
    for (size_t i = 0; i < t->exposure.cells.len; i++) {
        assert_in_range(t->exposure.cells.data[i].count, 15, 16);
    }
    triage_free(t);
}

static void only_rows_of_those_asked_for_count(void **state) {
    (void)state;
    struct triage *t = new_triage();
    struct where *w = new_where("app.version>=5.10 device.model~^iPhone app.build=7");
    struct where_seen seen = {0};
    const struct exposure_filter filter = {.where = w, .seen = &seen};
    size_t at = 0;
    assert_int_equal(add_table(t, &filter,
                               "app.version,model,foreground_ms\n5.9,iPhone13,1\n5.10,iPhone13,2\n"
                               "5.11,Pixel,4\n,iPhone13,8\n"),
                     ST_OK);
    assert_int_equal(t->exposure.cells.len, CLUSTER_GROUPS);
    assert_sums(t, 0, 2);
    assert_string_equal(where_unsaid(w, &seen, true, &at),
                        "app.build"); /* the table has no such column */
    assert_null(where_unsaid(w, &seen, true, &at));
    where_free(w);
    triage_free(t);
}

static void a_mistake_names_its_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"model,os\n", "line 1: no column \"sessions\""},
        {"sessions\n1\nx\n", "line 3: not a whole number: 'x'"},
        {"sessions\n-1\n", "line 2: not a whole number: '-1'"},
        {"sessions\n9007199254740993\n", "line 2: not a whole number: "},
        {"cpus,sessions\n9999999999,1\n", "line 2: not a whole number: "},
        {"foreground_hours\n2502000000\n", "line 2: too many hours: '2502000000'"},
        {"foreground_ms,foreground_hours\n1,1\n", "line 2: foreground_ms and foreground_hours"},
        {"model,sessions\nx\n", "line 2: 1 cells, the head line has 2"},
        {"sessions,foreground_hours\n1,1,5\n", "line 2: 3 cells, the head line has 2"},
        {"model,sessions\n\"x,1\n", "line 2: a quote is not closed"},
        {"model,sessions\n\"x\"y,1\n", "line 2: text behind a quote"},
        {"sessions,sessions\n", "line 1: two columns \"sessions\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct triage *t = new_triage();
        struct err e = {0};
        assert_int_equal(add_exposure_text(t, &everybody, cases[i].text, strlen(cases[i].text), &e),
                         ST_ERR);
        if (strncmp(e.text, cases[i].why, strlen(cases[i].why)) != 0) {
            fail_msg("'%s', not '%s'", e.text, cases[i].why);
        }
        triage_free(t);
    }
}

static void columns_have_a_limit(void **state) {
    (void)state;
    struct strbuf head = {0};
    struct triage *t = new_triage();
    strbuf_addstr(&head, "sessions");
    for (int i = 1; i < 64; i++) {
        strbuf_addf(&head, ",c%d", i);
    }
    assert_int_equal(add_table(t, &everybody, strbuf_cstr(&head)), ST_OK);
    strbuf_addstr(&head, ",more");
    assert_int_equal(add_table(t, &everybody, strbuf_cstr(&head)), ST_ERR);
    strbuf_release(&head);
    triage_free(t);
}

/* ---- memory ---- */

static void every_allocation_may_fail(void *ctx, bool refused) {
    (void)ctx;
    struct triage *t = NULL;
    struct err e = {0};
    static const char session[] = SESSION "\"id\":\"s\",\"user\":\"u\"}";
    static const char table[] = "sessions\n1000\n";
    enum st st = triage_new(&t, &(struct triage_options){.rules = ""}, &e);
    if (st == ST_OK) {
        st = triage_add_session(t, &everybody, session, sizeof session - 1, &e);
    }
    if (st == ST_OK) {
        st = add_exposure_text(t, &everybody, table, sizeof table - 1, &e);
    }
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    triage_free(t);
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(every_allocation_may_fail, NULL) > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_counts_for_its_user_and_device),
        cmocka_unit_test(without_a_user_each_session_is_one),
        cmocka_unit_test(an_id_counts_once),
        cmocka_unit_test(what_is_no_session_is_refused),
        cmocka_unit_test(members_of_another_type_are_absent),
        cmocka_unit_test(what_json_cannot_hold_is_repaired_as_in_dumps),
        cmocka_unit_test(sums_stop_at_what_a_partial_holds),
        cmocka_unit_test(a_session_longer_than_possible_does_not_count),
        cmocka_unit_test(only_sessions_of_those_asked_for_count),
        cmocka_unit_test(a_row_counts_for_its_user),
        cmocka_unit_test(a_row_without_a_user_is_of_many),
        cmocka_unit_test(only_rows_of_those_asked_for_count),
        cmocka_unit_test(a_mistake_names_its_line),
        cmocka_unit_test(columns_have_a_limit),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("exposure", tests, NULL, NULL);
}
