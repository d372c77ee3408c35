/* Unit tests of the page: the data that it contains, the texts that it escapes, and its behaviour
 * without memory. */
#include "page/page.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/failmalloc.h"
#include "base/parse.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/stats/triage.h"
#include "page/sha256.h"

/* A triage of dumps, the keyer that makes their keys, and the page of the triage. */
struct paged {
    struct rules *rules;
    struct keyer *keyer;
    struct triage *t;
    struct strbuf html;
};

static void page_init(struct paged *p) {
    *p = (struct paged){0};
    assert_int_equal(rules_new(&p->rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(p->rules, NULL), ST_OK);
    const struct key_options keys = {.rules = p->rules, .aliases = true};
    const struct triage_options o = {.rules = "built-in", .keep_bytes = 1 << 20};
    assert_int_equal(keyer_new(&p->keyer, &keys, NULL), ST_OK);
    assert_int_equal(triage_new(&p->t, &o, NULL), ST_OK);
}

static void page_release_all(struct paged *p) {
    triage_free(p->t);
    keyer_free(p->keyer);
    rules_free(p->rules);
    strbuf_release(&p->html);
}

static void page_count_at(struct paged *p, const char *inner, const char *version, unsigned number,
                          const char *time) {
    const char *const names[] = {inner, "on_event", "main"};
    char id[32];
    snprintf(id, sizeof id, "dump-%u", number);
    struct fixture f = {.d = {.id = id, .text = id, .text_len = strlen(id)}};
    struct stall_key key;
    f.d.time = time;
    f.d.app.version = version;
    f.d.threads_left_out = -1;
    f.d.stall.span_ms = f.d.stall.duration_ms = 1000 + number;
    f.d.stall.ended = true;
    f.d.stall.threshold_ms = 500;
    fixture_names(&f, names, 3, 1);
    assert_int_equal(keyer_key(p->keyer, &f.d, &key, NULL), ST_OK);
    assert_int_equal(triage_add(p->t, &f.d, &key, true, NULL, NULL), ST_OK);
}

static void page_count(struct paged *p, const char *inner, const char *version, unsigned number) {
    page_count_at(p, inner, version, number, "2026-11-20T10:00:00.000Z");
}

static enum st page_make(struct paged *p, const struct page_options *o, struct err *e) {
    struct summary s = {0};
    struct sink sink = sink_to_strbuf(&p->html);
    enum st st = summary_make(&s, p->t, NULL, o->detail, e);
    if (st == ST_OK) {
        st = page_write(&s, o, &sink, e);
    }
    summary_release(&s);
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}

static size_t occurrences(const struct strbuf *b, const char *what) {
    size_t n = 0;
    for (const char *at = strbuf_cstr(b); (at = strstr(at, what)) != NULL; at++) {
        n++;
    }
    return n;
}

static void rows_and_details_are_as_many_as_asked_for(void **state) {
    (void)state;
    struct paged p;
    page_init(&p);
    for (unsigned i = 0; i < 6; i++) {
        char name[32];
        snprintf(name, sizeof name, "work_%u", i);
        page_count(&p, name, "5.3", i);
    }
    assert_int_equal(triage_finish(p.t, NULL), ST_OK);
    const struct page_options o = {
        .detail = 2, .top = 4, .narrowed = "", .history = "", .inputs = "dumps/", .keyer = p.keyer};
    assert_int_equal(page_make(&p, &o, NULL), ST_OK);
    assert_int_equal(occurrences(&p.html, "\n<tr><td>"), 4);
    assert_int_equal(occurrences(&p.html, "<details class=bucket "), 2);
    assert_int_equal(occurrences(&p.html, "class=rules"), 2);
    assert_int_equal(occurrences(&p.html, "4 of 6 buckets"), 2);
    assert_int_equal(occurrences(&p.html, "<p class=narrowed>Only a part: the first 4 of 6"), 1);
    assert_int_equal(occurrences(&p.html, "<b>work_5</b> <i>key</i>"), 1);
    assert_int_equal(occurrences(&p.html, "http"), 1 /* the only "http" is that of http-equiv */);
    page_release_all(&p);
}

/* Returns the text between `from` and the next `to`; NULL if it is not there. */
static const char *between(const struct strbuf *b, const char *from, const char *to, size_t *len) {
    const char *at = strstr(strbuf_cstr(b), from);
    const char *end = at ? strstr(at + strlen(from), to) : NULL;
    *len = end ? (size_t)(end - at) - strlen(from) : 0;
    return end ? at + strlen(from) : NULL;
}

static void the_policy_has_the_hashes_of_style_and_script(void **state) {
    (void)state;
    struct paged p;
    size_t len;
    char digest[SHA256_BASE64_SIZE], want[80];
    page_init(&p);
    page_count(&p, "work", "5.3", 1);
    assert_int_equal(triage_finish(p.t, NULL), ST_OK);
    const struct page_options o = {
        .detail = 1, .narrowed = "", .history = "", .inputs = "", .keyer = p.keyer};
    assert_int_equal(page_make(&p, &o, NULL), ST_OK);
    const char *style = between(&p.html, "<style>", "</style>", &len);
    assert_non_null(style);
    sha256_base64(style, len, digest);
    snprintf(want, sizeof want, "style-src 'sha256-%s'", digest);
    assert_int_equal(occurrences(&p.html, want), 1);
    const char *script = between(&p.html, "<script>", "</script>", &len);
    assert_non_null(script);
    sha256_base64(script, len, digest);
    snprintf(want, sizeof want, "script-src 'sha256-%s'", digest);
    assert_int_equal(occurrences(&p.html, want), 1);
    page_release_all(&p);
}

static void names_are_no_markup(void **state) {
    (void)state;
    struct paged p;
    page_init(&p);
    page_count(&p, "</template></script><img src=x onerror=y>", "<b>\"'&", 1);
    page_count(&p, "<!--]]>\xe2\x80\xae\x1b[1m", "5.3", 2);
    assert_int_equal(triage_finish(p.t, NULL), ST_OK);
    const struct page_options o = {
        .detail = 9, .narrowed = "", .history = "", .inputs = "'<i>'", .keyer = p.keyer};
    assert_int_equal(page_make(&p, &o, NULL), ST_OK);
    static const char *const never[] = {"<img", "<!--",         "<b>\"", "'<i>'",
                                        "]]>",  "\xe2\x80\xae", "\x1b",  "</script></script>"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        assert_int_equal(occurrences(&p.html, never[i]), 0);
    }
    assert_int_equal(occurrences(&p.html, "</template>"), 1);
    assert_int_equal(occurrences(&p.html, "</script>"), 2);
    assert_true(occurrences(&p.html, "&lt;b&gt;&quot;&#39;&amp;") > 1);
    page_release_all(&p);
}

static void links_to_source_are_no_scripts(void **state) {
    (void)state;
    static const char *const good[] = {"https://x/%f#L%l", "vscode://file/%f:%l", "file:///%f"};
    static const char *const bad[] = {
        "javascript:%f",   "javascript://x/%f", "https://x/", "%f", "data://%f",
        "JAVASCRIPT://%f", "vbscript://%f",     "://%f",      ""};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(page_source_url_fits(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(page_source_url_fits(bad[i]));
    }
    struct paged p;
    page_init(&p);
    page_count(&p, "work", "5 \"3/", 1);
    assert_int_equal(triage_finish(p.t, NULL), ST_OK);
    const struct page_options o = {.detail = 1,
                                   .narrowed = "",
                                   .history = "",
                                   .inputs = "",
                                   .keyer = p.keyer,
                                   .source_url = "https://x/%v/%f?100%%&a#L%l"};
    assert_int_equal(page_make(&p, &o, NULL), ST_OK);
    assert_true(occurrences(&p.html, "href=\"https://x/5%20%223%2F/src/app.c?100%&amp;a#L10\"") >
                0);
    page_release_all(&p);
}

static void pictures_have_a_place_for_each_day_and_version(void **state) {
    (void)state;
    struct paged p;
    size_t len;
    page_init(&p);
    page_count_at(&p, "work", "5.1", 1, "2026-02-27T10:00:00.000Z");
    page_count_at(&p, "sort", "5.2", 2, "2026-03-01T10:00:00.000Z");
    page_count_at(&p, "work", "5.3", 3, "2026-03-02T10:00:00.000Z");
    assert_int_equal(triage_finish(p.t, NULL), ST_OK);
    const struct page_options o = {.detail = 1, .narrowed = "", .history = "", .inputs = ""};
    assert_int_equal(page_make(&p, &o, NULL), ST_OK);
    const char *detail = between(&p.html, "<details class=bucket ", "</template>", &len);
    assert_non_null(detail);
    /* 4 days of 60 pixels and 3 versions of 80 are drawn, without the 28th and without 5.2 */
    const char *day = strstr(detail, "aria-label=\"stalled time by day\">");
    assert_non_null(day);
    assert_non_null(strstr(day, "<rect x=\"0\" y=\"1\" width=\"59\""));
    const char *last = strstr(day, "<rect x=\"180\"");
    assert_non_null(last);
    assert_non_null(strstr(last, "2026-03-02: 1.0s"));
    const char *version = strstr(detail, "aria-label=\"stalled time by version, hours unknown\">");
    assert_non_null(version);
    assert_non_null(strstr(version, "<rect x=\"160\""));
    assert_int_equal(occurrences(&p.html, "<rect x=\"80\""),
                     1 /* the only bar at x=80 is the one in the page's head */);
    page_release_all(&p);

    page_init(&p);
    page_count_at(&p, "work", "5.1", 1, "2023-12-31T10:00:00.000Z");
    page_count_at(&p, "work", "5.1", 2, "2024-12-31T10:00:00.000Z");
    page_count_at(&p, "sort", "5.1", 3, "2024-02-30T10:00:00.000Z");
    page_count_at(&p, "rest", "5.1", 4, "1970-01-01T00:00:01.000Z");
    assert_int_equal(triage_finish(p.t, NULL), ST_OK);
    assert_int_equal(page_make(&p, &o, NULL), ST_OK);
    assert_int_equal(occurrences(&p.html, "by day, the last 60 of 367"), 2);
    assert_int_equal(occurrences(&p.html, "<bdi>2024-11-02</bdi><bdi>2024-12-31</bdi>"), 2);
    assert_int_equal(occurrences(&p.html, "2 dumps are in no day"), 1);
    assert_int_equal(occurrences(&p.html, "2023-12-31 to 2024-12-31"), 1);
    assert_int_equal(occurrences(&p.html, "newest of <time>2024-12-31 10:00</time> UTC"), 1);
    assert_int_equal(occurrences(&p.html, "1970"), 0);
    page_release_all(&p);
}

static bool page_note(void *ctx, const char *id, struct bucket_note *out) {
    (void)id;
    *out = (struct bucket_note){.link = ctx, .owner = "<i>me", .ignored = true, .ignore = "ever"};
    return true;
}

/* Counts `count` dumps of a version, of which each is of another user. */
static unsigned page_count_many(struct paged *p, const char *inner, const char *version,
                                unsigned from, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        page_count(p, inner, version, from + i);
    }
    return from + count;
}

/* The buckets that are gone or new by the counts of the page's triage. */
struct paged_gone {
    VEC(struct gone_bucket) buckets;
};

static enum st note_paged_gone(void *ctx, const struct gone_bucket *b, struct err *e) {
    struct paged_gone *list = ctx;
    return VEC_PUSH(&list->buckets, *b) ? ST_OK : err_nomem(e);
}

static bool is_paged_gone(void *ctx, const char *id, struct gone_bucket *out) {
    const struct paged_gone *list = ctx;
    uint64_t number = 0;
    assert_true(parse_hex(id, strlen(id), &number));
    for (size_t i = 0; i < list->buckets.len; i++) {
        if (list->buckets.data[i].id == number) {
            *out = list->buckets.data[i];
            return true;
        }
    }
    return false;
}

static bool no_note(void *ctx, const char *id, struct bucket_note *out) {
    (void)ctx;
    (void)id;
    (void)out;
    return false;
}

/* A version with few dumps has a dot in each trend, and makes no bucket new; what is only in the
 * newest of the others is new, if those before have enough dumps to tell, and no dump lacks the
 * version. */
static void trends_and_states_need_data(void **state) {
    (void)state;
    struct paged p;
    page_init(&p);
    unsigned n = page_count_many(&p, "always", "5.3", 0, 30);
    n = page_count_many(&p, "always", "5.4", n, 30);
    n = page_count_many(&p, "started", "5.4", n, 20);
    n = page_count_many(&p, "rare", "5.4", n, 2);
    n = page_count_many(&p, "stopped", "5.3", n, 29);
    n = page_count_many(&p, "stray", "9.9-dev", n, 1);
    n = page_count_many(&p, "unsaid", "5.4", n, 20);
    (void)page_count_many(&p, "unsaid", NULL, n, 1);
    assert_int_equal(triage_finish(p.t, NULL), ST_OK);
    struct paged_gone gone = {0};
    assert_int_equal(gone_each(p.t, note_paged_gone, &gone, NULL), ST_OK);
    const struct page_options o = {.narrowed = "",
                                   .history = "",
                                   .inputs = "",
                                   .note = no_note,
                                   .is_gone = is_paged_gone,
                                   .gone_ctx = &gone};
    assert_int_equal(page_make(&p, &o, NULL), ST_OK);
    assert_int_equal(occurrences(&p.html, "<b class=new>new</b> in <bdi>5.4</bdi>"), 1);
    assert_int_equal(occurrences(&p.html, "<b class=better>fixed</b> in <bdi>5.4</bdi>"), 1);
    assert_int_equal(occurrences(&p.html, "_\xe2\x96\x88\xc2\xb7<td>"),
                     3); /* started, rare, unsaid */
    assert_int_equal(occurrences(&p.html, "\xe2\x96\x88_\xc2\xb7<td>"), 1); /* stopped */
    assert_int_equal(occurrences(&p.html, "__\xc2\xb7<td>"), 1);            /* stray */
    VEC_RELEASE(&gone.buckets);
    page_release_all(&p);
}

static void notes_are_shown_and_only_addresses_are_links(void **state) {
    (void)state;
    static const struct {
        char link[32];
        size_t links;
    } cases[] = {{"https://x/?a=\"b", 1}, {"http://x", 1}, {"javascript:x", 0}, {" https://x", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct paged p;
        char link[32];
        memcpy(link, cases[i].link, sizeof link);
        page_init(&p);
        page_count(&p, "work", "5.3", 1);
        assert_int_equal(triage_finish(p.t, NULL), ST_OK);
        const struct page_options o = {.detail = 1,
                                       .narrowed = "",
                                       .history = "",
                                       .inputs = "",
                                       .note = page_note,
                                       .note_ctx = link};
        assert_int_equal(page_make(&p, &o, NULL), ST_OK);
        assert_int_equal(occurrences(&p.html, "href=\"http"), cases[i].links);
        assert_int_equal(occurrences(&p.html, "href=\"https://x/?a=&quot;b\""), i == 0);
        assert_int_equal(occurrences(&p.html, "<small title=owner>&lt;i&gt;me</small>"), 1);
        assert_true(occurrences(&p.html, "<b class=ignored>ignored</b>") > 0);
        page_release_all(&p);
    }
}

static void page_again(void *ctx, bool refused) {
    struct paged *p = ctx;
    struct err e = {0};
    const struct page_options o = {
        .detail = 3, .narrowed = "", .history = "", .inputs = "", .keyer = p->keyer};
    enum st st = page_make(p, &o, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    strbuf_release(&p->html);
    p->html = (struct strbuf){0};
}

static void a_lack_of_memory_is_told(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct paged p;
    page_init(&p);
    page_count(&p, "work", "5.3", 1);
    page_count(&p, "sort", "5.4", 2);
    assert_int_equal(triage_finish(p.t, NULL), ST_OK);
    const struct page_options o = {
        .detail = 3, .narrowed = "", .history = "", .inputs = "", .keyer = p.keyer};
    assert_int_equal(page_make(&p, &o, NULL),
                     ST_OK); /* after this run the keyer knows all frames */
    strbuf_release(&p.html);
    p.html = (struct strbuf){0};
    assert_true(failmalloc_sweep(page_again, &p) > 10);
    page_release_all(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_details_are_as_many_as_asked_for),
        cmocka_unit_test(the_policy_has_the_hashes_of_style_and_script),
        cmocka_unit_test(names_are_no_markup),
        cmocka_unit_test(links_to_source_are_no_scripts),
        cmocka_unit_test(pictures_have_a_place_for_each_day_and_version),
        cmocka_unit_test(trends_and_states_need_data),
        cmocka_unit_test(notes_are_shown_and_only_addresses_are_links),
        cmocka_unit_test(a_lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
