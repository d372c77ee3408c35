/* Tests of filters: which dumps they match, and where a mistake is. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/where.h"

struct bench {
    struct keyer *keyer;
    struct fixture fixture;
    struct stall_key key;
};

static void setup(struct bench *b) {
    static const char *const names[] = {"draw", "show", "main"};
    memset(b, 0, sizeof *b);
    assert_int_equal(keyer_new(&b->keyer, &(struct key_options){0}, NULL), ST_OK);
    fixture_names(&b->fixture, names, 3, 5);
    struct dump *d = &b->fixture.d;
    d->app.version = "5.10.1";
    d->device.model = "iPhone13,3";
    d->device.os = "iOS 18.7";
    d->user = "";
    static struct dump_context context[] = {
        {"screen", "List"}, {"screen", "Cart 2"}, {"items", "12"}, {"tree", NULL}};
    d->context = context;
    d->context_count = 4;
    d->stall.kind = "hang";
    d->stall.duration_ms = 2500;
    d->stall.cpu_permille = -1;
    d->stall.fatal = true;
    d->stall.action = "sync cart";
    assert_int_equal(keyer_key(b->keyer, d, &b->key, NULL), ST_OK);
    b->key.cause = CAUSE_LOCK;
    b->key.truth = 640;
}

static bool holds(struct bench *b, const char *text) {
    struct where *w = NULL;
    struct err e = {0};
    size_t at;
    assert_int_equal(where_new(&w, &e), ST_OK);
    if (where_add(w, text, &at, &e) != ST_OK) {
        fail_msg("%s: %s at %zu", text, e.text, at);
    }
    enum st st = where_match(w, &b->fixture.d, &b->key, NULL, &e);
    assert_int_not_equal(st, ST_ERR);
    where_free(w);
    return st == ST_OK;
}

static void terms_hold_or_do_not(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"", true},
        {" \t\n", true},
        {"app.version>=5.3", true}, /* the version is 5.10.1, and 10 is more than 3 */
        {"app.version>=5.10.1", true},
        {"app.version>5.10.1", false},
        {"app.version<5.010.1", false}, /* the numbers are equal, the texts are not */
        {"app.version<=05.10.1", true},
        {"app.version>=5.10.01", true},
        {"app.version=05.10.1", false},
        {"app.version<5.11", true},
        {"app.version<=5.9", false},
        {"app.version=5.10.1", true},
        {"app.version!=5.10.1", false},
        {"device.model~iPhone1.*", true},
        {"device.model~^Phone", false},
        {"device.model!~iPad", true},
        {"device.os=\"iOS 18.7\"", true},
        {"device.os>=\"iOS 18\"", true},
        {"device.os>=\"macOS 1\"", false}, /* the versions of two systems have no order … */
        {"device.os<\"macOS 99\"", false}, /* … nor below */
        {"stall.duration_ms>=2500 stall.duration_ms<2501", true},
        {"stall.duration_ms>=2500\tstall.duration_ms<2500", false},
        {"stall.duration_ms>900", true}, /* values are compared as numbers */
        {"stall.fatal=true", true},
        {"stall.ended=false", true},
        {"stall.prewarmed=true", false},
        {"stall.action~cart$ stall.action!=cart", true},
        {"stall.top_thread=", true},
        {"cause=lock", true},
        {"cause!=lock", false},
        {"truth>=640 truth<1000", true},
        {"level1~^[0-9a-f]{12}$ level2!=x", true},
        {"action=", true}, /* without rules for actions the dump has no action */
        {"action~.", false},
        {"context.screen=\"Cart 2\"", true}, /* of two members with this name the last one counts */
        {"context.screen=List", false},
        {"context.items>=9 context.items<13", true},
        {"context.tree=", true}, /* a value that is not text counts as empty */
        {"context.none!=x", true},
        {"context.none~x", false},
    };
    struct bench b;
    setup(&b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (holds(&b, cases[i].text) != cases[i].holds) {
            fail_msg("'%s' should %shold", cases[i].text, cases[i].holds ? "" : "not ");
        }
    }
    keyer_free(b.keyer);
}

static void for_what_is_not_said_only_other_holds(void **state) {
    (void)state;
    static const char *const no[] = {"user=u",  "user>a",   "user<z",   "user<=z",
                                     "user>=a", "user~.*",  "app.id=x", "stall.cpu_permille<600",
                                     "user!=",  "time>2026"};
    static const char *const yes[] = {
        "user=", "user!=u", "user!~u", "app.id=", "stall.cpu_permille!=5", "stall.cpu_permille="};
    struct bench b;
    setup(&b);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_false(holds(&b, no[i]));
    }
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        assert_true(holds(&b, yes[i]));
    }
    assert_false(holds(&b, "app.version="));
    assert_true(holds(&b, "app.version!="));
    keyer_free(b.keyer);
}

static void quotes_take_white_space_and_themselves(void **state) {
    (void)state;
    struct bench b;
    setup(&b);
    b.fixture.d.user = "a \"b\" \\c";
    assert_true(holds(&b, "user=\"a \\\"b\\\" \\\\c\" stall.kind=hang"));
    assert_true(holds(&b, "user~\"b. .c$\""));
    b.fixture.d.user = "a\\.b";
    assert_true(holds(
        &b, "user=\"a\\.b\"")); /* a backslash in front of any other character stands for itself */
    keyer_free(b.keyer);
}

static void a_mistake_is_pointed_at(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t at;
        const char *why;
    } cases[] = {
        {"app.versoin>=5", 0, "no field is called 'app.versoin'"},
        {"context.=5", 0, "no field is called 'context.'"},
        {"user=u  =5", 8, "a field is missing"},
        {"user", 4, "one of = != < <= > >= ~ !~ must follow 'user'"},
        {"user =u", 4, "one of = != < <= > >= ~ !~ must follow 'user'"},
        {"user>", 5, "a value is missing"},
        {"user~", 5, "a regular expression is missing"},
        {"time=1 user=\"u", 12, "this quote has no end"},
        {"user=\"u\"x", 8, "white space must follow a value"},
        {"stall.seq>=two", 11, "'stall.seq' is a whole number"},
        {"stall.seq=-1", 10, "'stall.seq' is a whole number"},
        {"stall.fatal=yes", 12, "'stall.fatal' is true or false"},
        {"cause=lokc", 6, "no cause is called 'lokc'"},
        {"user~(", 5, "no regular expression: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct where *w = NULL;
        struct err e = {0};
        size_t at = 99;
        assert_int_equal(where_new(&w, &e), ST_OK);
        assert_int_equal(where_add(w, cases[i].text, &at, &e), ST_ERR);
        assert_int_equal(e.code, ERR_USAGE);
        assert_int_equal(strncmp(e.text, cases[i].why, strlen(cases[i].why)), 0);
        assert_int_equal(at, cases[i].at);
        where_free(w);
    }
}

static void it_is_known_what_is_asked_for(void **state) {
    (void)state;
    struct where *w = NULL;
    size_t at;
    assert_int_equal(where_new(&w, NULL), ST_OK);
    assert_int_equal(where_add(w, "stall.kind=crash", &at, NULL), ST_OK);
    assert_true(where_asks(w, "stall.kind"));
    assert_false(where_asks(w, "stall.app_state"));
    where_free(w);
    for (size_t i = 0; where_field_name(i); i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, "%s!=", where_field_name(i));
        assert_int_equal(where_new(&w, NULL), ST_OK);
        assert_int_equal(where_add(w, strbuf_cstr(&text), &at, NULL),
                         strcmp(where_field_name(i), "stall.prewarmed") == 0 ||
                                 strcmp(where_field_name(i), "stall.ended") == 0 ||
                                 strcmp(where_field_name(i), "stall.fatal") == 0 ||
                                 strcmp(where_field_name(i), "ignored") == 0
                             ? ST_ERR
                             : ST_OK);
        where_free(w);
        strbuf_release(&text);
    }
}

static enum st team_says(void *ctx, const char *field, const char **text) {
    *text = strcmp(field, "owner") == 0 ? ctx : "false";
    return *text ? ST_OK : ST_NONE;
}

static void what_people_say_is_asked_of_buckets_alone(void **state) {
    (void)state;
    static const struct {
        const char *terms;
        const char *owner; /* NULL = the bucket has none */
        enum st holds;
    } rows[] = {{"owner=web", "web", ST_OK},
                {"owner=web", "shop", ST_NONE},
                {"owner=web", NULL, ST_NONE},
                {"owner!=web", NULL, ST_OK},
                {"owner=", NULL, ST_OK},
                {"owner~^w ignored=false", "web", ST_OK},
                {"owner=web ignored=true", "web", ST_NONE},
                {"app.version=1", "web", ST_OK}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct where *w = NULL;
        struct dump d = {.app = {.version = "1"}};
        struct stall_key key = {0};
        char owner[8];
        size_t at;
        snprintf(owner, sizeof owner, "%s", rows[i].owner ? rows[i].owner : "");
        assert_int_equal(where_new(&w, NULL), ST_OK);
        assert_int_equal(where_add(w, rows[i].terms, &at, NULL), ST_OK);
        assert_int_equal(where_match_bucket(w, team_says, rows[i].owner ? owner : NULL, NULL),
                         rows[i].holds);
        assert_int_equal(where_match(w, &d, &key, NULL, NULL), ST_OK);
        where_free(w);
    }
}

/* A record of exposure that has two fields; no record of its kind has fields of the app. */
static enum st record_says(void *ctx, const char *field, const char **text) {
    *text = strcmp(field, "device.os") == 0        ? "iOS 18.7"
            : strcmp(field, "context.screen") == 0 ? ctx
                                                   : NULL;
    return *text ? ST_OK : strncmp(field, "app.", 4) == 0 ? ST_ERR : ST_NONE;
}

static void exposure_is_asked_for_users_and_not_for_stalls(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"", true},
        {"stall.duration_ms>9000 cause=lock id=x level1=abc", true},
        {"device.os>=\"iOS 18\"", true},
        {"device.os<\"iOS 18\"", false},
        {"device.model=x", false},
        {"device.model!=x", true},
        {"app.version>=5", true}, /* no record of this kind has this field, so the term holds */
        {"context.screen=Cart", true},
        {"context.screen!=Cart", false},
        {"user=", true},
    };
    char screen[] = "Cart";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct where *w = NULL;
        size_t at;
        assert_int_equal(where_new(&w, NULL), ST_OK);
        assert_int_equal(where_add(w, cases[i].text, &at, NULL), ST_OK);
        assert_int_equal(where_match_exposure(w, record_says, screen, NULL, NULL),
                         cases[i].holds ? ST_OK : ST_NONE);
        where_free(w);
    }
    assert_int_equal(where_match_exposure(NULL, record_says, screen, NULL, NULL), ST_OK);
}

static void what_nothing_says_is_told(void **state) {
    (void)state;
    struct bench b;
    struct where *w = NULL;
    struct where_seen dumps = {0}, exposure = {0};
    size_t at;
    setup(&b);
    assert_int_equal(where_new(&w, NULL), ST_OK);
    assert_int_equal(where_add(w,
                               "app.version>=9 user=u context.screen=x context.none~a "
                               "context.other!=a stall.cpu_permille>1 user=",
                               &at, NULL),
                     ST_OK);
    /* No dump was examined, so it is not known which fields are missing. */
    assert_null(where_unsaid(w, &dumps, false, &(size_t){0}));
    assert_int_equal(where_match(w, &b.fixture.d, &b.key, &dumps, NULL), ST_NONE);
    at = 0;
    assert_string_equal(where_unsaid(w, &dumps, false, &at), "user");
    assert_string_equal(where_unsaid(w, &dumps, false, &at), "context.none");
    assert_string_equal(where_unsaid(w, &dumps, false, &at), "stall.cpu_permille");
    assert_null(where_unsaid(w, &dumps, false, &at));
    assert_int_equal(where_match_exposure(w, record_says, "x", &exposure, NULL), ST_NONE);
    at = 0;
    assert_string_equal(where_unsaid(w, &exposure, true, &at), "app.version");
    assert_string_equal(where_unsaid(w, &exposure, true, &at), "user");
    assert_string_equal(where_unsaid(w, &exposure, true, &at), "context.none");
    assert_null(where_unsaid(w, &exposure, true, &at));
    b.fixture.d.user = "u"; /* one dump that has the field is enough */
    assert_int_equal(where_match(w, &b.fixture.d, &b.key, &dumps, NULL), ST_NONE);
    at = 0;
    assert_string_equal(where_unsaid(w, &dumps, false, &at), "context.none");
    where_free(w);
    keyer_free(b.keyer);
}

static void no_memory_is_an_error(void *ctx, bool refused) {
    struct bench *b = ctx;
    struct where *w = NULL;
    struct err e = {0};
    size_t at;
    enum st st = where_new(&w, &e);
    st = st == ST_OK ? where_add(w, "user!=\"u\" level1!=x context.no!=x", &at, &e) : st;
    st = st == ST_OK ? where_match(w, &b->fixture.d, &b->key, NULL, &e) : st;
    assert_true(st == ST_OK || refused);
    assert_int_equal(e.code, st == ST_OK ? ERR_NONE : ERR_NOMEM);
    where_free(w);
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    struct bench b;
    if (!failmalloc_works()) {
        skip();
    }
    setup(&b);
    assert_true(failmalloc_sweep(no_memory_is_an_error, &b) > 3);
    keyer_free(b.keyer);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_hold_or_do_not),
        cmocka_unit_test(for_what_is_not_said_only_other_holds),
        cmocka_unit_test(quotes_take_white_space_and_themselves),
        cmocka_unit_test(a_mistake_is_pointed_at),
        cmocka_unit_test(what_people_say_is_asked_of_buckets_alone),
        cmocka_unit_test(it_is_known_what_is_asked_for),
        cmocka_unit_test(exposure_is_asked_for_users_and_not_for_stalls),
        cmocka_unit_test(what_nothing_says_is_told),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("where", tests, NULL, NULL);
}
