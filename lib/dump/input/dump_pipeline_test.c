/* Tests that results and failures of a pipeline come in the order of the input, whatever the number
 * of threads. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failmalloc.h"
#include "base/strbuf.h"
#include "dump/input/dump_pipeline.h"

struct journal {
    struct strbuf text;
    uint64_t progress;
    struct err why; /* the last failure */
};

struct id_length {
    size_t length;
};

static enum st measure_id(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e) {
    struct id_length *r = result;
    (void)ctx;
    (void)worker;
    r->length = strlen(d->id);
    return r->length < 4 ? ST_OK : err_set(e, ERR_LIMIT, "a long id");
}

static enum st note_dump(void *ctx, struct dump *d, void *result, struct err *e) {
    struct journal *j = ctx;
    const struct id_length *r = result;
    strbuf_addf(&j->text, "%s/%zu ", d->id, r->length);
    return strbuf_check(&j->text, e);
}

static void note_session(void *ctx, const char *where, const char *text, size_t len) {
    struct journal *j = ctx;
    (void)text;
    strbuf_addf(&j->text, "session@%s+%zu ", where, len);
}

static void note_failure(void *ctx, const char *where, const struct err *why) {
    struct journal *j = ctx;
    j->why = *why;
    strbuf_addf(&j->text, "!%s ", where);
}

static void note_progress(void *ctx, uint64_t dumps) {
    struct journal *j = ctx;
    j->progress = dumps;
}

static const struct dump_pipeline_ops ops = {.result_size = sizeof(struct id_length),
                                             .window = 2,
                                             .work = measure_id,
                                             .take = note_dump,
                                             .take_session = note_session};

/* Fills in the journal of a text that is read as input "in". False: the pipeline did not open. */
static bool run_pipeline(const char *text, unsigned jobs, struct journal *j) {
    struct dump_pipeline p = {.ops = &ops,
                              .ctx = j,
                              .watch = {.fail = note_failure, .progress = note_progress, .ctx = j}};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    close(ends[1]);
    if (dump_pipeline_open(&p, jobs, NULL) != ST_OK) {
        close(ends[0]);
        return false;
    }
    dump_pipeline_read(&p, ends[0], "in", false);
    dump_pipeline_close(&p);
    assert_null(p.pool);
    return true;
}

#define DUMP_OF(id)    "{\"format\":\"stall-dump/1\",\"id\":\"" id "\"}\n"
#define SESSION_RECORD "{\"format\":\"stall-session/1\"}"
static const char mixed[] = DUMP_OF("a") DUMP_OF("bb") "{\n" DUMP_OF("c") SESSION_RECORD
    "\n" DUMP_OF("long id") DUMP_OF("d");
/* Lines that look like documents, but are none or several. */
static const char joined[] = (DUMP_OF("a") "{\"format\":\"stall-dump/1\",\"id\":{}\n" DUMP_OF(
    "b") "{\"format\":\"stall-dump/1\",\"id\":\"c\"}{\"format\":\"stall-dump/1\",\"id\":\"d\"}\n"
         "{\"format\":\"stall-dump/1\",\"images\":1}\n" SESSION_RECORD "\n" DUMP_OF("e"));

static void results_come_in_the_order_of_the_input(void **state) {
    (void)state;
    for (unsigned jobs = 1; jobs <= 8; jobs *= 2) {
        struct journal j = {0};
        assert_true(run_pipeline(mixed, jobs, &j));
        assert_string_equal(strbuf_cstr(&j.text), "a/1 bb/2 !in:3 c/1 session@in:5+28 !in:6 d/1 ");
        assert_int_equal(j.progress, 4);
        strbuf_release(&j.text);
        j = (struct journal){0};
        assert_true(run_pipeline(joined, jobs, &j));
        assert_string_equal(strbuf_cstr(&j.text),
                            "a/1 !in:2 b/1 c/1 d/1 !in:5 session@in:6+28 e/1 ");
        assert_int_equal(j.progress, 5);
        strbuf_release(&j.text);
    }
}

static void an_input_without_a_document_is_a_failure(void **state) {
    static const char *const texts[] = {"", "\n\n", "\177ELF\2\1\1"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct journal j = {0};
        assert_true(run_pipeline(texts[i], 2, &j));
        assert_string_equal(strbuf_cstr(&j.text), "!in ");
        strbuf_release(&j.text);
    }
}

/* A tombstone is refused in one message, and the report of an ANR that begins like one is read. */
static void a_tombstone_is_refused_as_a_whole(void **state) {
#define TOMBSTONE(type)                                                                            \
    "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***\n"                            \
    "Tombstone maker: 'xCrash 2.4.6'\nCrash type: '" type "'\nStart time: '2019'\n"
    struct journal j = {0};
    (void)state;
    assert_true(run_pipeline(TOMBSTONE("native") "pid: 3, tid: 3, name: a  >>> a <<<\n", 1, &j));
    assert_string_equal(strbuf_cstr(&j.text), "!in ");
    assert_non_null(strstr(j.why.text, "tombstone"));
    strbuf_reset(&j.text);
    assert_true(
        run_pipeline(TOMBSTONE("anr") "\"main\" prio=5 tid=1 Native\n  at a.b(c:1)\n", 1, &j));
    assert_non_null(strstr(j.why.text, "a long id"));
    strbuf_release(&j.text);
}

/* The text of a string may be a log, or have other lines before its report. */
static void a_report_in_a_string_may_stand_behind_other_lines(void **state) {
#define STALL "Reactor stalled for 265 ms on shard 1. Backtrace: 0x38df7f3 0x38e04ef"
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"{\"data\":{\"stack\":\"Apr 14 09:30:53 host scylla[40]: " STALL "\\n\"}}\n", "a long id"},
        {"[{\"body\":\"Hi\\r\\n\\r\\nApr 14 09:30:53 host scylla[40]: " STALL "\\r\\n\"}]\n",
         "a long id"},
        {"{\"body\":\"Apr 14 09:30:53 host scylla[40]: Reactor was not stalled on any "
         "shard.\\n\"}\n",
         "JSON, but neither"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct journal j = {0};
        assert_true(run_pipeline(rows[i].text, 1, &j));
        assert_non_null(strstr(j.why.text, rows[i].why));
        strbuf_release(&j.text);
    }
}

static void a_passed_on_document_is_one_line(void **state) {
    static const char text[] = "{\"a\":\r\n1,\n\n\"b\":2}";
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    (void)state;
    dump_pipeline_write_line(&sink, text, strlen(text));
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&out), "{\"a\":  1,  \"b\":2}\n");
    strbuf_release(&out);
}

static void every_allocation_of_a_run(void *ctx, bool refused) {
    struct journal j = {0};
    bool ok =
        run_pipeline(ctx, 2, &j) && !j.text.failed && strchr(strbuf_cstr(&j.text), '!') == NULL;
    assert_true(ok || refused);
    strbuf_release(&j.text);
}

static void memory_may_run_out_anywhere(void **state) {
    static char text[] = (DUMP_OF("a") DUMP_OF("b") SESSION_RECORD
                          "\n"
                          "{\"format\":\"stall-dump/1\",\"id\":\"c\"}" DUMP_OF("d") DUMP_OF("e"));
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(every_allocation_of_a_run, text) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_in_the_order_of_the_input),
        cmocka_unit_test(an_input_without_a_document_is_a_failure),
        cmocka_unit_test(a_tombstone_is_refused_as_a_whole),
        cmocka_unit_test(a_report_in_a_string_may_stand_behind_other_lines),
        cmocka_unit_test(a_passed_on_document_is_one_line),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("dump_pipeline", tests, NULL, NULL);
}
