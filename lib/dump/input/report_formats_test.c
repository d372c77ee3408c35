/* Tests which format takes which document: every fixture is claimed by exactly one, text of other
 * kinds by none, and a document that is cut anywhere gives dumps or a plain refusal. */
#include <dirent.h>
#include <stdlib.h>

#include "base/filemap.h"
#include "dump/input/dump_stream.h"
#include "dump/input/envelope.h"
#include "dump/maps/map_private.h"
#include "dump/reports/report_format_private.h"
#include "dump/reports/report_support_test.h"

static const char folder[] = "testdata/reports";
/* The built-in maps. */
static struct report_maps *maps;

typedef void (*see_fixture)(const char *name, const char *text, size_t len);

/* Calls `see` for the files of a folder, in any order, and returns how many were visited. Hidden
 * files, README.md and files that cannot be opened are left out. */
static size_t each_file(const char *path, see_fixture see) {
    size_t count = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    const struct dirent *entry;
    while ((entry = readdir(d)) != NULL) {
        struct strbuf name = {0};
        struct filemap map = {0};
        struct err e = {0};
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "README.md") == 0) {
            continue;
        }
        strbuf_addf(&name, "%s/%s", path, entry->d_name);
        if (filemap_open(&map, strbuf_cstr(&name), UINT64_MAX, &e) == ST_OK) {
            see(entry->d_name, (const char *)map.data, map.size);
            filemap_release(&map);
            count++;
        }
        strbuf_release(&name);
    }
    closedir(d);
    return count;
}

static size_t claims(const char *text, size_t len, struct strbuf *who) {
    size_t count = 0;
    const struct report_format *f;
    for (size_t i = 0; (f = report_format_at(i)) != NULL; i++) {
        if (report_format_claims(f, text, len)) {
            strbuf_addf(who, " %s", f->name);
            count++;
        }
    }
    const struct span document = {text, text + len};
    for (size_t i = 0; i < maps->list.len && len > 0 && *text == '{'; i++) {
        if (report_map_claims(maps->list.data[i], document)) {
            strbuf_addf(who, " %s", maps->list.data[i]->name);
            count++;
        }
    }
    if (len > 0 && envelope_is(document)) {
        strbuf_addstr(who, " envelope");
        count++;
    }
    return count;
}

static enum st count_dump(void *ctx, const char *text, size_t len, struct err *e) {
    struct dump d;
    enum st st = report_is_session(text, len) ? ST_NONE : dump_parse(&d, text, len, e);
    if (st == ST_NONE) {
        ++*(size_t *)ctx;
        return ST_OK;
    }
    if (st == ST_OK) {
        dump_release(&d);
    }
    *(size_t *)ctx += st == ST_OK;
    return st;
}

/* Only the first element of a list of reports is checked. */
static void check_one_claim(const char *name, const char *text, size_t len) {
    struct dump_stream *s = NULL;
    struct err e = {0};
    uint64_t line;
    size_t documents = 0;
    assert_int_equal(dump_stream_open_text(&s, text, len, 1, 0, &e), ST_OK);
    for (; dump_stream_next(s, &text, &len, &line, &e) == ST_OK; documents++) {
        struct strbuf who = {0};
        size_t skip = len > 0 && *text == '[' ? 1 : 0;
        size_t count = claims(text + skip, len - skip, &who);
        if (count != 1) {
            fail_msg("%s:%zu: claimed by %zu formats:%s", name, (size_t)line, count,
                     strbuf_cstr(&who));
        }
        strbuf_release(&who);
        size_t dumps = 0;
        if (report_convert(text, len, maps, count_dump, &dumps, &e) != ST_OK || dumps == 0) {
            fail_msg("%s:%zu: %s", name, (size_t)line,
                     e.text); /* the stream may have cut the document at a wrong line */
        }
    }
    dump_stream_close(s);
    if (documents == 0 || err_is(&e)) {
        fail_msg("%s: %zu documents; %s", name, documents, e.text);
    }
}

static void each_fixture_is_claimed_by_exactly_one_format(void **state) {
    (void)state;
    assert_true(each_file(folder, check_one_claim) > 20);
}

static void check_no_claim(const char *name, const char *text, size_t len) {
    struct strbuf who = {0};
    if (claims(text, len, &who) > 0) {
        fail_msg("%s: claimed by%s", name, strbuf_cstr(&who));
    }
    strbuf_release(&who);
}

/* Checks that no format claims dumps, source code, documentation or logs. */
static void what_is_no_report_is_claimed_by_none(void **state) {
    static const char *const texts[] = {
        "Nov 20 09:12:44 host kernel: [    0.000000] Linux version 6.1.0\n",
        "2026-11-20 09:12:44,123 INFO main starting\n2026-11-20 09:12:45,001 ERROR it failed\n",
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n",
        "Exception in thread \"main\" java.lang.Error\n\tat a.b.C.d(C.java:3)\n",
        "Process: a thing that takes long\nThread: another\n",
        "perf record -g ./shop\nshop 4242 was recorded\n",
        "INFO  2026-11-20 09:12:44,123 [shard 0] init - starting\n",
        "Call graph:\n  main -> f\n",
        "Subject: hello\n\nThe main thread stalled.\n"};
    static const char *const folders[] = {"lib/dump/reports", "lib/dump/input",
                                          "scripts/test",     "man",
                                          "testdata/dumps",   "testdata/traces"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_no_claim(texts[i], texts[i], strlen(texts[i]));
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        assert_true(each_file(folders[i], check_no_claim) > 0);
    }
}

static void each_format_has_a_name_of_its_own(void **state) {
    const struct report_format *a, *b;
    (void)state;
    for (size_t i = 0; (a = report_format_at(i)) != NULL; i++) {
        assert_true(a->name && a->source && a->since);
        for (size_t k = 0; k < i && (b = report_format_at(k)) != NULL; k++) {
            assert_string_not_equal(a->name, b->name);
        }
    }
}

/* Checks that a document cut to any length gives dumps or is refused in words. */
static void check_cuts(const char *name, const char *text, size_t len) {
    enum { STEPS = 400 };
    size_t step = len / STEPS + 1;
    for (size_t cut = 1; cut <= len; cut += step) {
        struct err e = {0};
        size_t dumps = 0;
        char *own = malloc(cut); /* a copy, so that a sanitizer sees a read past its end */
        assert_non_null(own);
        memcpy(own, text, cut);
        enum st st = report_convert(own, cut, maps, count_dump, &dumps, &e);
        if (st == ST_ERR && (!err_is(&e) || e.code == ERR_INTERNAL || e.code == ERR_NOMEM)) {
            fail_msg("%s cut at %zu: %s", name, cut, e.text);
        }
        if (st == ST_OK && dumps == 0) {
            fail_msg("%s cut at %zu: neither a dump nor an error", name, cut);
        }
        free(own);
    }
}

static void a_report_that_is_cut_anywhere_is_a_dump_or_refused(void **state) {
    (void)state;
    (void)each_file(folder, check_cuts);
}

int main(void) {
    dump_library_init();
    if (report_maps_new(&maps, NULL) != ST_OK || report_maps_add_builtin(maps, NULL) != ST_OK) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fixture_is_claimed_by_exactly_one_format),
        cmocka_unit_test(what_is_no_report_is_claimed_by_none),
        cmocka_unit_test(each_format_has_a_name_of_its_own),
        cmocka_unit_test(a_report_that_is_cut_anywhere_is_a_dump_or_refused),
    };
    int failed = cmocka_run_group_tests_name("report_formats", tests, NULL, NULL);
    report_maps_free(maps);
    return failed;
}
