#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/failmalloc.h"
#include "base/gz.h"
#include "dump/dump_support_test.h"
#include "dump/input/stream_support_test.h"

#define D(x) "{'format':'stall-dump/1','id':'" x "'}"

static int file_of(const void *bytes, size_t len) {
    int fd = stream_file_of(bytes, len);
    assert_true(fd >= 0);
    return fd;
}

/* Appends what a stream gives: "LINE:DOCUMENT|" or "LINE!ERROR|", without white space and with '
 * for ". */
static void note(void *ctx, enum st st, const char *text, size_t len, uint64_t line,
                 const struct err *e) {
    struct strbuf *out = ctx;
    strbuf_addf(out, "%d", (int)line);
    if (st == ST_ERR) {
        assert_true(err_is(e));
        strbuf_addf(out, "!%s|", e->text);
        return;
    }
    strbuf_addc(out, ':');
    for (size_t i = 0; i < len; i++) {
        if (!memchr(" \t\r\n", text[i], 4)) {
            strbuf_addc(out, text[i]);
        }
    }
    strbuf_addc(out, '|');
}

static struct strbuf transcript(int fd, bool lines) {
    struct strbuf out = {0};
    struct dump_stream *s;
    assert_int_equal(dump_stream_open(&s, fd, "in", NULL), ST_OK);
    dump_stream_ask(s, stream_is_ready, NULL, NULL);
    stream_walk(s, lines, note, &out);
    const char *text;
    size_t len;
    uint64_t line;
    assert_int_equal(dump_stream_next(s, &text, &len, &line, NULL),
                     ST_NONE); /* a read after the end reports the end again */
    dump_stream_close(s);
    return out;
}

static void check(const char *input, const char *want) {
    struct strbuf in = {0}, expected = {0}, zipped = {0};
    add_json(&in, input);
    add_json(&expected, want);
    assert_int_equal(gz_deflate(in.data, in.len, 6, &zipped, NULL), ST_OK);
    for (int lines = 0; lines < 2; lines++) {
        struct strbuf got = transcript(file_of(in.data, in.len), lines);
        assert_string_equal(strbuf_cstr(&got), strbuf_cstr(&expected));
        strbuf_release(&got);
        got = transcript(file_of(zipped.data, zipped.len), lines);
        assert_string_equal(strbuf_cstr(&got), strbuf_cstr(&expected));
        strbuf_release(&got);
    }
    strbuf_release(&in);
    strbuf_release(&zipped);
    strbuf_release(&expected);
}

static void lines_are_documents(void **state) {
    (void)state;
    check(D("a") "\n" D("b") "\n", "1:" D("a") "|2:" D("b") "|");
    check(D("a") "\r\n\r\n \t\n" D("b"), "1:" D("a") "|4:" D("b") "|");
    check("[1,2]\n42\n'x'\n" D("a"), "1:[1,2]|2:42|3:'x'|4:" D("a") "|");
    check("\n\n", "");
    check(" ", "");
    check("\xef\xbb\xbf" D("a") "\n" D("b"), "1:" D("a") "|2:" D("b") "|");
}

static void a_pretty_printed_object_is_one_document(void **state) {
    (void)state;
    check("{\n  'a': 1,\n  'b': [\n    {\n      'c': tru\\e\n", "1!not JSON at line 5, column 15|");
    check("{\n  'a': 1,\n  'b': [\n    {}\n  ]\n}\n", "1:{'a':1,'b':[{}]}|");
    check("{\n'a': 1,\n'b': [\n{},\n{'x':1}\n]\n}", "1:{'a':1,'b':[{},{'x':1}]}|");
    check("{\n'a': 1}\n{\n'b': 2}\n" D("c"), "1:{'a':1}|3:{'b':2}|5:" D("c") "|");
    check("{\n'a': 1} {\n'b': 2}\n", "1:{'a':1}|2:{'b':2}|");
    check("{}{}{}\n{}", "1:{}|1:{}|1:{}|2:{}|");
    check("\n\n{'a'\n:\n1\n}\n", "3:{'a':1}|");
}

#define E "{'event_id':'a','sent_at':'b'}"

static void an_envelope_is_one_document(void **state) {
    (void)state;
    check(E "\n{'type':'event'}\n{'x':1}\n" D("a") "\n",
          "1:" E "{'type':'event'}{'x':1}|4:" D("a") "|");
    /* A payload with a length may hold any bytes, such as line feeds and what looks like another
     * item. */
    check(E "\n{'type':'attachment','length':99}\n{{\n\n]]\n" E "\n",
          "1!the document is cut short at byte 65|3:{{|6:" E "|");
    check(E "\n{'type':'attachment','length':7}\n{{\n\n]]x\n\n{'type':'b'}\ny\n\n" D("a"),
          "1:" E "{'type':'attachment','length':7}{{]]x{'type':'b'}y|10:" D("a") "|");
    check(E "\n{'type':'event','length':0}\n\n" E "\n{'type':'c'}\n{}",
          "1:" E "{'type':'event','length':0}|4:" E "{'type':'c'}{}|");
    /* None of these texts is an envelope. */
    check(E "\n", "1:" E "|");
    check(E "\n" E "\n", "1:" E "|2:" E "|");
    check(E "\n{'length':1}\nx\n", "1:" E "|2:{'length':1}|3:x|");
    check("{'event_id':'a','exception':{}}\n{'type':'event'}\n",
          "1:{'event_id':'a','exception':{}}|2:{'type':'event'}|");
    check("{'event_id':'a'}\n{'event_id':'b','type':'error'}\n",
          "1:{'event_id':'a'}|2:{'event_id':'b','type':'error'}|");
}

static void a_bad_line_costs_that_line(void **state) {
    (void)state;
    check("{oops}\n" D("b"),
          "1:{oops}|2:" D("b") "|"); /* the text is handed out as it is, for the parser to refuse */
    check("garbage\nmore\n" D("b"), "1:garbage|2:more|3:" D("b") "|");
    check("{'a':1} x\n" D("b"), "1:{'a':1}x|2:" D("b") "|");
    check("{'format':'stall-dump/1','id':'cut\n" D("b"),
          "1:{'format':'stall-dump/1','id':'cut|2:" D("b") "|");
    check("{'format':'stall-dump/1','end':fal\n" D("b"),
          "1:{'format':'stall-dump/1','end':fal|2:" D("b") "|");
}

static void a_line_that_looks_whole_may_be_anything(void **state) {
    (void)state;
    const char *cut = "{'format':'stall-dump/1','x':{}";
    struct strbuf in = {0}, want = {0};
    check(D("a") "\n" D("b") "\n" D("c") "\n", "1:" D("a") "|2:" D("b") "|3:" D("c") "|");
    check(D("a") "\n" D("b") " " D("c") "\n" D("d") "\n",
          "1:" D("a") "|2:" D("b") "|2:" D("c") "|3:" D("d") "|");
    check(D("a") "\n" D("b") "}\n" D("c") "\n", "1:" D("a") "|2:" D("b") "}|3:" D("c") "|");
    check(D("a") "\n" D("b") "{}x}\n" D("c") "\n",
          "1:" D("a") "|2:" D("b") "|2:{}x}|3:" D("c") "|");
    strbuf_addf(&in, "%s\n%s\n%s\n", D("a"), cut, D("b"));
    strbuf_addf(&want, "1:%s|2!the document is cut short at byte %zu|3:%s|", D("a"),
                strlen(D("a")) + strlen(cut) + 2, D("b"));
    check(in.data, want.data);
    strbuf_release(&in);
    strbuf_release(&want);
}

static void a_document_that_is_cut_costs_no_other(void **state) {
    (void)state;
    const char *cuts[] = {"{",
                          "{'format':'stall-dump/1'",
                          "{'format':'stall-dump/1',",
                          "{'format':'stall-dump/1','a':",
                          "{'format':'stall-dump/1','a':[1",
                          "{'format':'stall-dump/1','a':[1,",
                          "{'format':'stall-dump/1','a':[{'b':2},"};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct strbuf in = {0};
        strbuf_addf(&in, "%s\n%s\n%s\n", cuts[i], D("b"), D("c"));
        struct strbuf want = {0};
        strbuf_addf(&want, "1!the document is cut short at byte %zu|2:%s|3:%s|",
                    strlen(cuts[i]) + 1, D("b"), D("c"));
        check(in.data, strbuf_cstr(&want));
        strbuf_release(&want);
        strbuf_release(&in);
    }
    /* An object that begins where none is allowed shows that the document before it was cut. */
    check("{'a':[1\n{'b':2}\n{'c':3}", "1!not JSON at line 2, column 1|2:{'b':2}|3:{'c':3}|");
    check("{'a':[1", "1!the document is cut short at byte 7|");
    check("{\n 'a':1,\n", "1!the document is cut short at byte 10|");
    check("{\n 'a':'", "1!the document is cut short at byte 8|");
}

static void the_rest_of_a_broken_object_is_passed_over(void **state) {
    (void)state;
    check("{\n  'a': 1,\n  oops,\n  'b': [\n    1\n  ]\n}\n" D("c") "\n",
          "1!not JSON at line 3, column 3|8:" D("c") "|");
    check("{\n  'a': 1,\n  oops\n}\n  " D("c") "\nnext\n",
          "1!not JSON at line 3, column 3|5:" D("c") "|6:next|");
}

static void limits_cost_one_document(void **state) {
    (void)state;
    struct strbuf in = {0}, want = {0};
    for (int i = 0; i <= DUMP_DEPTH_MAX; i++) {
        strbuf_addstr(&in, "[\n");
    }
    add_json(&in, "]\n" D("b"));
    struct strbuf got = transcript(file_of(in.data, in.len), false);
    add_json(&want, "2:" D("b") "|");
    assert_non_null(strstr(strbuf_cstr(&got), "1!too large or too deep at line 2001"));
    assert_non_null(strstr(strbuf_cstr(&got), D("b")[0] == '{' ? "stall-dump/1" : ""));
    strbuf_release(&got);
    strbuf_release(&in);
    strbuf_release(&want);
}

static void a_document_that_is_too_long_costs_itself(void **state) {
    (void)state;
    size_t len = (size_t)DUMP_TEXT_MAX + 10;
    struct strbuf zipped = {0}, good = {0}, want = {0};
    char *big = malloc(2 * len);
    memset(big, ' ', 2 * len);
    memcpy(big, "{\"a\":1", 6);
    big[2 * len - 1] = '\n';
    big[len] = '}';
    assert_int_equal(gz_deflate(big, 2 * len, 1, &zipped, NULL), ST_OK);
    free(big);
    add_json(&good, D("b") "\n");
    assert_int_equal(gz_deflate(good.data, good.len, 1, &zipped, NULL), ST_OK);
    struct strbuf got = transcript(file_of(zipped.data, zipped.len), false);
    strbuf_addf(&want, "1!a document of more than %d bytes|", DUMP_TEXT_MAX);
    add_json(&want, "2:" D("b") "|");
    assert_string_equal(strbuf_cstr(&got), strbuf_cstr(&want));
    strbuf_release(&got);
    strbuf_release(&want);
    strbuf_release(&good);
    strbuf_release(&zipped);
}

static void a_damaged_gzip_is_reported_once_behind_what_was_good(void **state) {
    (void)state;
    struct strbuf in = {0}, zipped = {0};
    for (int i = 0; i < 20; i++) {
        add_json(&in, D("a") "\n");
    }
    assert_int_equal(gz_deflate(in.data, in.len, 6, &zipped, NULL), ST_OK);
    for (size_t cut = 1; cut < zipped.len - 3; cut += 7) {
        struct strbuf got = transcript(file_of(zipped.data, zipped.len - cut), true);
        const char *text = strbuf_cstr(&got), *first = strchr(text, '!');
        assert_non_null(first);
        assert_null(strchr(first + 1, '!'));
        assert_string_equal(first, "!compressed data in 'in' is cut short|");
        strbuf_release(&got);
    }
    strbuf_release(&in);
    strbuf_release(&zipped);
}

static void a_line_comes_as_soon_as_it_is_there(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct dump_stream *s;
    const char *text;
    size_t len;
    uint64_t line;
    alarm(20); /* ends the test if the stream waits for more than a line */
    assert_int_equal(write(ends[1], "{\"a\":1}\n{", 9), 9);
    assert_int_equal(dump_stream_open(&s, ends[0], "pipe", NULL), ST_OK);
    assert_int_equal(dump_stream_next(s, &text, &len, &line, NULL), ST_OK);
    assert_int_equal(len, 7);
    assert_int_equal(write(ends[1], "}\n", 2), 2);
    assert_int_equal(dump_stream_next(s, &text, &len, &line, NULL), ST_OK);
    assert_true(len == 2 && line == 2);
    close(ends[1]);
    assert_int_equal(dump_stream_next(s, &text, &len, &line, NULL), ST_NONE);
    alarm(0);
    dump_stream_close(s);
    dump_stream_close(NULL);
}

static void many_short_lines_take_linear_time(void **state) {
    (void)state;
    struct strbuf in = {0};
    for (int i = 0; i < 1000000; i++) {
        strbuf_addstr(&in, i % 2 ? "\n" : "{}\n");
    }
    struct dump_stream *s;
    assert_int_equal(dump_stream_open(&s, file_of(in.data, in.len), "in", NULL), ST_OK);
    const char *text;
    size_t len, count = 0;
    uint64_t line = 0;
    while (dump_stream_next(s, &text, &len, &line, NULL) == ST_OK) {
        count++;
    }
    assert_int_equal(count, 500000);
    assert_int_equal(line, 1000001);
    dump_stream_close(s);
    strbuf_release(&in);
}

static void many_documents_on_one_line_take_linear_time(void **state) {
    (void)state;
    enum { DOCUMENTS = 500000 };
    static const char *const documents[] = {"{}", "{\"log\":\"\"}", "{\"format\":\"stall-dump/1\"}",
                                            " {\"dsn\":\"\"}"};
    alarm(300); /* ends the test if the line were searched again for each document, which would take
                   hours */
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        struct strbuf in = {0};
        for (int n = 0; n < DOCUMENTS; n++) {
            strbuf_addstr(&in, documents[i]);
        }
        struct dump_stream *s;
        assert_int_equal(dump_stream_open(&s, file_of(in.data, in.len), "in", NULL), ST_OK);
        dump_stream_ask(s, stream_is_ready, NULL, NULL);
        struct dump_stream_line whole;
        const char *text;
        size_t len, count = 0;
        uint64_t line = 0;
        while (!dump_stream_line(s, &whole) &&
               dump_stream_next(s, &text, &len, &line, NULL) == ST_OK) {
            count++;
        }
        assert_int_equal(count, DOCUMENTS);
        assert_int_equal(line, 1);
        dump_stream_close(s);
        strbuf_release(&in);
    }
    alarm(0);
}

static void a_return_at_the_end_of_what_was_read_ends_its_line(void **state) {
    (void)state;
    enum { READ = 64 * 1024, READS = 3 };
    struct strbuf in = {0};
    for (int i = 0; i < READS;
         i++) { /* each line with its carriage return has the size of one read */
        strbuf_addf(&in, "{\"a\":%*d}\r", READ - 7, i);
    }
    strbuf_addstr(&in, "{}\r");
    struct strbuf got = transcript(file_of(in.data, in.len), false);
    assert_string_equal(strbuf_cstr(&got), "1:{\"a\":0}|2:{\"a\":1}|3:{\"a\":2}|4:{}|");
    strbuf_release(&got);
    strbuf_release(&in);
}

static void read_all(void *ctx, bool refused) {
    const struct strbuf *in = ctx;
    struct dump_stream *s = NULL;
    struct err e = {0};
    if (dump_stream_open(&s, file_of(in->data, in->len), "in", &e) != ST_OK) {
        assert_true(refused && e.code == ERR_NOMEM);
        return;
    }
    enum st st;
    size_t documents = 0;
    do {
        const char *text;
        size_t len;
        uint64_t line;
        err_clear(&e);
        st = dump_stream_next(s, &text, &len, &line, &e);
        documents += st == ST_OK;
        assert_true(st != ST_ERR || (refused && e.code == ERR_NOMEM));
        refused = refused || st == ST_ERR;
    } while (st != ST_NONE);
    assert_true(refused || documents == 3);
    dump_stream_close(s);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf in = {0}, zipped = {0};
    add_json(&in, D("a") "\n" D("b") "\n");
    strbuf_addf(&in, "{%100000d}", 0);
    strbuf_truncate(&in, in.len - 2);
    strbuf_addc(&in, '}');
    assert_int_equal(gz_deflate(in.data, in.len, 6, &zipped, NULL), ST_OK);
    assert_true(failmalloc_sweep(read_all, &in) >= 4);
    assert_true(failmalloc_sweep(read_all, &zipped) >= 6);
    strbuf_release(&in);
    strbuf_release(&zipped);
}

#define IPS       "{'bug_type':'309','name':'x'}"
#define TEXT      "Incident Identifier: 1\nThread 0:\n\nBinary Images:\n"
#define TEXT_SEEN "IncidentIdentifier:1Thread0:BinaryImages:" /* TEXT without its white space */

static void an_ips_is_two_objects_in_one_document(void **state) {
    (void)state;
    check(IPS "\n{'threads':[]}\n" D("b"), "1:" IPS "{'threads':[]}|3:" D("b") "|");
    check(IPS "\n\n{\n'threads':[\n]}\n" D("b"), "1:" IPS "{'threads':[]}|6:" D("b") "|");
    check(D("a") "\n" IPS "\n{'threads':[]}", "1:" D("a") "|2:" IPS "{'threads':[]}|");
    check(IPS "\n" IPS "\n{}\n",
          "1:" IPS "|2:" IPS "{}|"); /* the first of two headers lacks its body */
    check(IPS "\n" D("b"), "1:" IPS "|2:" D("b") "|");
    check(IPS "\n\n", "1:" IPS "|");
    check(IPS "\n{'threads':[\n", "1!the document is cut short at byte 43|");
    check(IPS "\n" TEXT D("b"), "1:" IPS TEXT_SEEN "|6:" D("b") "|");
    /* A body without a header in front is a document of its own. */
    check("{'bug_type':'309','threads':[]}\n" D("b"),
          "1:{'bug_type':'309','threads':[]}|2:" D("b") "|");
}

static void a_text_report_goes_on_until_something_begins(void **state) {
    (void)state;
    check(TEXT, "1:" TEXT_SEEN "|");
    check("\n\n" TEXT "more\n", "3:" TEXT_SEEN "more|");
    check(TEXT TEXT, "1:" TEXT_SEEN "|5:" TEXT_SEEN "|");
    check(D("a") "\n" TEXT D("b") "\n" TEXT,
          "1:" D("a") "|2:" TEXT_SEEN "|6:" D("b") "|7:" TEXT_SEEN "|");
    check(TEXT "{\n'a':1}\n" TEXT, "1:" TEXT_SEEN "|5:{'a':1}|7:" TEXT_SEEN "|");
    check(TEXT "Notable:\n\n{\n'a':1\n}\n" D("b"), "1:" TEXT_SEEN "Notable:{'a':1}|10:" D("b") "|");
    check(TEXT "{x\n" D("b"), "1:" TEXT_SEEN "{x|6:" D("b") "|"); /* this text begins no object */
    check("Incident Identifier: 1\nProcess:    x\nThread 0:\n",
          "1:IncidentIdentifier:1Process:xThread0:|"); /* lines that both look like headers belong
                                                          to one report */
    check("Incident\n", "1:Incident|");
    /* After the images of a report, another report may begin without its own headers. */
    check("Process:    x\nThread 0:\nBinary Images:\n1\nException Type: y\nThread 0:\n0 a 0x1\n",
          "1:Process:xThread0:BinaryImages:1|5:ExceptionType:yThread0:0a0x1|");
    /* In a report of samples each process has a header line: only a date begins another report. */
    check("Date/Time:  1\nSteps:  2\nProcess:   x\nProcess:   y\nDate/Time:  3\nSteps: 4\n",
          "1:Date/Time:1Steps:2Process:xProcess:y|5:Date/Time:3Steps:4|");
    check("Date/Time:  1\nSteps:  2\nProcess:   x\nBeta Identifier:  z\n",
          "1:Date/Time:1Steps:2Process:xBetaIdentifier:z|");
    check("Translated Report\nProcess: x\nFull Report\n-----\n" IPS "\n{'threads':[]}\n",
          "1:TranslatedReportProcess:xFullReport-----" IPS "{'threads':[]}|");
}

/* Checks that reports in a log are found. If a text has no report, each of its lines is returned,
 * so that the parser refuses it. */
static void reports_in_a_log_are_found(void **state) {
#define STALL      "Reactor stalled for 33 ms on shard 0. Backtrace: 0x1 0x2\n"
#define STALL_BARE "Reactorstalledfor33msonshard0.Backtrace:0x10x2"
    (void)state;
    check("INFO a\nINFO b\n" STALL "INFO c\n" STALL "kernel callstack: 0x9\n\nINFO d\n",
          "3:" STALL_BARE "|5:" STALL_BARE "kernelcallstack:0x9|");
    check(STALL "INFO c\n" D("b") "\nINFO\n", "1:" STALL_BARE "|3:" D("b") "|");
    check("INFO a\nINFO b\n" D("b") "\n", "1:INFOa|2:INFOb|3:" D("b") "|");
}

enum { BLANKS = 1 << 24 };

/* Returns the processor time of the faster one of three readings of so many bytes of one kind and a
 * document behind them, whose line must be right. */
static clock_t time_of_blanks(char blank) {
    static const char document[] = "\n{\"format\":\"stall-dump/1\"}\n";
    struct strbuf in = {0};
    clock_t best = 0;
    char *room = strbuf_room(&in, BLANKS);
    assert_non_null(room);
    memset(room, blank, BLANKS);
    strbuf_took(&in, BLANKS);
    strbuf_addstr(&in, document);
    for (int i = 0; i < 3; i++) {
        struct dump_stream *s;
        const char *text;
        size_t len;
        uint64_t line;
        clock_t start = clock();
        assert_int_equal(dump_stream_open(&s, file_of(in.data, in.len), "in", NULL), ST_OK);
        assert_int_equal(dump_stream_next(s, &text, &len, &line, NULL), ST_OK);
        assert_int_equal(line, blank == '\n' ? BLANKS + 2 : 2);
        dump_stream_close(s);
        clock_t took = clock() - start;
        best = i == 0 || took < best ? took : best;
    }
    strbuf_release(&in);
    return best;
}

/* An empty line once took as long as sixteen blanks, so that a small gzip kept a command busy for
 * long. */
static void empty_lines_cost_no_more_than_blanks(void **state) {
    (void)state;
    assert_true(time_of_blanks('\n') < 4 * time_of_blanks(' '));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_in_a_log_are_found),
        cmocka_unit_test(lines_are_documents),
        cmocka_unit_test(a_pretty_printed_object_is_one_document),
        cmocka_unit_test(an_envelope_is_one_document),
        cmocka_unit_test(a_bad_line_costs_that_line),
        cmocka_unit_test(a_line_that_looks_whole_may_be_anything),
        cmocka_unit_test(a_document_that_is_cut_costs_no_other),
        cmocka_unit_test(the_rest_of_a_broken_object_is_passed_over),
        cmocka_unit_test(limits_cost_one_document),
        cmocka_unit_test(an_ips_is_two_objects_in_one_document),
        cmocka_unit_test(a_text_report_goes_on_until_something_begins),
        cmocka_unit_test(a_document_that_is_too_long_costs_itself),
        cmocka_unit_test(a_damaged_gzip_is_reported_once_behind_what_was_good),
        cmocka_unit_test(a_line_comes_as_soon_as_it_is_there),
        cmocka_unit_test(many_short_lines_take_linear_time),
        cmocka_unit_test(many_documents_on_one_line_take_linear_time),
        cmocka_unit_test(a_return_at_the_end_of_what_was_read_ends_its_line),
        cmocka_unit_test(no_memory_is_an_error),
        cmocka_unit_test(empty_lines_cost_no_more_than_blanks),
    };
    return cmocka_run_group_tests_name("dump_stream", tests, NULL, NULL);
}
