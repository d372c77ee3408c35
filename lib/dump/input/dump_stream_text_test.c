/* Tests of text reports in a stream, mended and between other lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failmalloc.h"
#include "dump/dump_support_test.h"
#include "dump/input/stream_support_test.h"
#include "dump/input/text_mend.h"

#define CRASH                                                                                      \
    "Process:   Shop [667]\nIdentifier:   com.example.shop\n\nThread 0:\n"                         \
    "0   Shop   0x0000000100000010 f + 16\n1   Shop   0x0000000100000020 g + 16\n\n"               \
    "Binary Images:\n0x100000000 - 0x10000ffff Shop arm64  <> /x/Shop\n"
#define STALL "Reactor stalled for 32 ms on shard 1. Backtrace: 0x4e0d6e2 0x4e0c340\n"

/* What a stream gives of an input: its documents, each followed by '|', and its counts. */
struct seen {
    struct strbuf documents;
    size_t errors;
    uint64_t passed, mended;
    bool sees;
};

static void note(void *ctx, enum st st, const char *text, size_t len, uint64_t line,
                 const struct err *e) {
    struct seen *seen = ctx;
    (void)line;
    (void)e;
    if (st == ST_OK) {
        strbuf_add(&seen->documents, text, len);
        strbuf_addc(&seen->documents, '|');
    }
    seen->errors += st == ST_ERR;
}

static struct seen read_all(const char *bytes, size_t len) {
    struct seen seen = {0};
    struct dump_stream *s;
    assert_int_equal(dump_stream_open(&s, stream_file_of(bytes, len), "in", NULL), ST_OK);
    seen.sees = dump_stream_sees_document(s);
    stream_walk(s, false, note, &seen);
    seen.passed = dump_stream_passed_over(s);
    seen.mended = dump_stream_mended(s);
    dump_stream_close(s);
    return seen;
}

/* Returns the text with every `from` replaced by `to`. */
static struct strbuf replaced(const char *text, const char *from, const char *to) {
    struct strbuf out = {0};
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
        strbuf_add(&out, text, (size_t)(at - text));
        strbuf_addstr(&out, to);
    }
    strbuf_addstr(&out, text);
    return out;
}

static void check(const char *input, const char *want, uint64_t passed, uint64_t mended) {
    struct seen seen = read_all(input, strlen(input));
    assert_string_equal(strbuf_cstr(&seen.documents), want);
    assert_int_equal(seen.errors, 0);
    assert_int_equal(seen.passed, passed);
    assert_int_equal(seen.mended, mended);
    assert_true(seen.sees);
    strbuf_release(&seen.documents);
}

static void a_changed_text_is_mended(void **state) {
    static const char *const changes[][2] = {
        {"\n", "\n\n"}, {"  ", " \xc2\xa0"}, {"  ", "\xe3\x80\x80"}, {"\n", "\xe2\x80\x8b\n"}};
    static const char *const marks[] = {"\n> ", "\n> > ", "\n>>> "};
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct strbuf text = replaced(CRASH, changes[i][0], changes[i][1]);
        check(strbuf_cstr(&text), CRASH "|", 0, 1);
        for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
            struct strbuf quoted = {0};
            strbuf_addstr(&quoted, marks[m] + 1);
            struct strbuf lines = replaced(strbuf_cstr(&text), "\n", marks[m]);
            strbuf_add(&quoted, strbuf_cstr(&lines), lines.len - strlen(marks[m] + 1));
            check(strbuf_cstr(&quoted), CRASH "|", 0, 1);
            strbuf_release(&lines);
            strbuf_release(&quoted);
        }
        strbuf_release(&text);
    }
    check(CRASH, CRASH "|", 0, 0);
    check("Process: Shop\n\nThread 0:\n0 Shop 0x10 f\n\nBinary Images:\n",
          "Process: Shop\n\nThread 0:\n0 Shop 0x10 f\n\nBinary Images:\n|", 0, 0);
}

/* perf pads names with blanks on the left, never with tabs. */
static void a_tab_before_samples_is_not_theirs(void **state) {
#define SAMPLES "node 1 13.211038: cpu:u: \n\t  9d8a7a f (/x)\n\t  9d8a7b g (/x)\n"
    (void)state;
    struct strbuf lines = replaced(SAMPLES, "\n", "\n\t"), text = {0};
    strbuf_addf(&text, "\t%.*s", (int)lines.len - 1, strbuf_cstr(&lines));
    check(strbuf_cstr(&text), SAMPLES "|", 0, 1);
    check(" " SAMPLES, " " SAMPLES "|", 0, 0);
    strbuf_release(&text);
    strbuf_release(&lines);
}

static void a_quoted_text_ends_with_its_quotes(void **state) {
    (void)state;
    struct strbuf lines = replaced(CRASH, "\n", "\n> "), mail = {0};
    strbuf_addstr(&mail, "Hello!\n\nSomebody wrote:\n> ");
    strbuf_add(&mail, strbuf_cstr(&lines), lines.len - 2);
    strbuf_addstr(&mail, "That is all.\n");
    check(strbuf_cstr(&mail), CRASH "|", 3, 1);
    strbuf_release(&mail);
    strbuf_release(&lines);
}

static void lines_may_end_with_a_return_alone(void **state) {
    (void)state;
    struct strbuf returns = replaced(CRASH, "\n", "\r"), both = replaced(CRASH, "\n", "\r\n");
    check(strbuf_cstr(&returns), CRASH "|", 0, 0);
    struct seen seen = read_all(strbuf_cstr(&both), both.len);
    assert_int_equal(seen.documents.len, both.len + 1); /* the text is returned unchanged */
    strbuf_release(&seen.documents);
    strbuf_release(&returns);
    strbuf_release(&both);
}

static void json_in_markdown_is_read_if_it_is_a_report(void **state) {
    static const char tree[] = ("{\"callStackTree\":{\"callStacks\":[]},\n"
                                " \"diagnosticMetaData\":{}}");
    static const char settings[] = "# Settings\n\n```json\n{\"a\":1,\n \"b\":{}}\n```\n";
    struct strbuf page = {0}, want = {0};
    (void)state;
    strbuf_addf(&page, "%s\nThe hang:\n\n~~~json\n%s\n~~~\n\n%s", settings, tree, settings);
    strbuf_addf(&want, "%s|", tree);
    check(strbuf_cstr(&page), strbuf_cstr(&want), 13, 0);
    strbuf_clear(&page); /* the two parts of an .ips, indented in a list */
    strbuf_addstr(&page, "1. Hello\n\n   ```\n   {\"app_name\":\"Shop\",\"bug_type\":\"309\"}\n"
                         "   {\n     \"threads\":[]}\n   ```\n");
    check(strbuf_cstr(&page),
          "   {\"app_name\":\"Shop\",\"bug_type\":\"309\"}\n   {\n     \"threads\":[]}|", 3, 0);
    strbuf_release(&page);
    strbuf_release(&want);
    struct seen seen = read_all(settings, sizeof settings - 1);
    assert_false(seen.sees);
    strbuf_release(&seen.documents);
}

/* Mail and Markdown quote JSON as they quote text. */
static void quoted_json_is_read_if_it_is_a_report(void **state) {
#define TREE "{\n \"callStacks\": []\n}"
#define IPS  "{\"bug_type\":\"309\"}\n{\n \"threads\": []}"
    (void)state;
    check("> {\n>  \"callStacks\": []\n> }\n", TREE "|", 0, 1);
    check("Hi,\n> > {\n> >  \"callStacks\": []\n> > }\nbye\n", TREE "|", 2, 1);
    check(">{\"bug_type\":\"309\"}\n>{\n>  \"threads\": []}\n", IPS "|", 0, 1);
    check("> ```json\n> {\n>  \"callStacks\": []\n> }\n> ```\n", TREE "|", 2, 1);
    check("> {\"a\":1}\n> {\"callStacks\":[]}\nThread 0:\n0 a 0x10 b + 1\n",
          "{\"callStacks\":[]}|Thread 0:\n0 a 0x10 b + 1\n|", 1, 1);
    check("7 I app: {\n7 I app:  \"callStacks\": []\n7 I app: }\n", TREE "|", 0, 1);
    check("<pre>{\n &quot;callStacks&quot;: []\n}</pre>\n", TREE "|", 0, 1);
}

static void lines_around_reports_are_passed_over(void **state) {
    (void)state;
    check("Hello\n\n```\n" CRASH, "```\n" CRASH "|", 1, 0);
    check("INFO start\n" STALL "[shard 1] x\n{braces} y\n" STALL "end\n", STALL "|" STALL "|", 0,
          0);
    check("[2026-11-20 10:12:44] [stdout] start\n[2026-11-20 10:12:45] " STALL,
          "[2026-11-20 10:12:45] " STALL "|", 0, 0);
}

/* Reads so many lines after the first that the stream has to read more while it looks for a report.
 */
static void many_lines_before_a_report_are_passed_over(void **state) {
    enum { LINES = 20000 };
    static const char header[] = "{\"app_name\":\"Shop\",\"bug_type\":\"309\"}\n";
    struct strbuf text = {0}, ips = {0}, want = {0};
    (void)state;
    for (int i = 0; i < LINES; i++) {
        strbuf_addf(&text, "some prose line %d\n", i);
    }
    strbuf_addstr(&ips, strbuf_cstr(&text));
    strbuf_addstr(&text, CRASH);
    check(strbuf_cstr(&text), CRASH "|", LINES, 0);
    strbuf_addf(&ips, "%s{\"threads\":[]}\n", header);
    strbuf_addf(&want, "%s{\"threads\":[]}|", header);
    check(strbuf_cstr(&ips), strbuf_cstr(&want), LINES, 0);
    strbuf_release(&text);
    strbuf_release(&ips);
    strbuf_release(&want);
}

/* Reads an .ips with text in front of it and with what macOS's window for it appends. */
static void lines_around_an_ips_are_passed_over(void **state) {
    static const char header[] = "{\"app_name\":\"Shop\",\"bug_type\":\"309\"}\n";
    struct strbuf text = {0}, want = {0};
    (void)state;
    strbuf_addf(&text, "Hello\n\n%s{\"threads\":[]}\n\nModel: Mac16,6\nGraphics: M4\n", header);
    strbuf_addf(&want, "%s{\"threads\":[]}|", header);
    check(strbuf_cstr(&text), strbuf_cstr(&want), 3, 0);
    check(strbuf_cstr(&text) + 7, strbuf_cstr(&want), 2, 0);
    strbuf_clear(&text);
    strbuf_clear(&want);
    strbuf_addf(&text, "report: |\n    %s    {\"threads\":[]}\nnext: 1\n", header);
    strbuf_addf(&want, "    %s    {\"threads\":[]}|", header);
    check(strbuf_cstr(&text), strbuf_cstr(&want), 2, 0);
    strbuf_release(&text);
    strbuf_release(&want);
}

static void samples_of_perf_end_the_report_before_them(void **state) {
    static const char samples[] =
        "node  7 55.250000:  1 cycles:\n\t7f10 f (/usr/lib/libc.so.6)\n\n";
    struct strbuf text = {0}, want = {0};
    (void)state;
    strbuf_addf(&text, "%s%s", CRASH, samples);
    strbuf_addf(&want, "%s|%s|", CRASH, samples);
    check(strbuf_cstr(&text), strbuf_cstr(&want), 0, 0);
    check("Thread 1  7 55.250000:  1 cycles:\n\t7f10 f (/x.so)\n\n"
          "Thread 1  7 55.260000:  1 cycles:\n\t7f10 f (/x.so)\n\n",
          "Thread 1  7 55.250000:  1 cycles:\n\t7f10 f (/x.so)\n\n"
          "Thread 1  7 55.260000:  1 cycles:\n\t7f10 f (/x.so)\n\n|",
          0, 0);
    strbuf_release(&text);
    strbuf_release(&want);
}

static void a_crash_behind_a_spindump_keeps_its_headers(void **state) {
    static const char samples[] =
        "Date/Time: 2026-11-20 10:10:14 +0100\nSteps: 9\n\nProcess: Shop [1]\nPath: /x/Shop\n"
        "  Thread 0x1  DispatchQueue 1\n  9  f + 12 (Shop + 256) [0x100000100]\n"
        "  Binary Images:\n     0x100000000 - ??? Shop <> /x/Shop\n\n"
        "Process: other [2]\nPath: /usr/bin/other\n  Thread 0x1\n  9  f [0x100000100]\n\n";
    static const char crash[] = "Process: Shop [667]\nPath: /x/Shop\nIdentifier: com.example.shop\n"
                                "Code Type: ARM-64 (Native)\n\nThread 0:\n"
                                "0   Shop   0x0000000100000010 f + 16\n\n";
    static const char *const heads[] = {"", "Incident Identifier: 1\n", "Hardware Model: x\n"};
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct strbuf text = {0}, want = {0};
        strbuf_addf(&text, "%s%s%s", samples, heads[i], crash);
        strbuf_addf(&want, "%s|%s%s|", samples, heads[i], crash);
        check(strbuf_cstr(&text), strbuf_cstr(&want), 0, 0);
        struct strbuf quoted = replaced(strbuf_cstr(&text), "\n", "\n> "), mail = {0};
        strbuf_addf(&mail, "> %.*s", (int)quoted.len - 2, strbuf_cstr(&quoted));
        check(strbuf_cstr(&mail), strbuf_cstr(&want), 0, 2);
        strbuf_release(&mail);
        strbuf_release(&quoted);
        strbuf_release(&text);
        strbuf_release(&want);
    }
}

/* sysdiagnose appends the output of other tools, which has the headers of a process and a date. */
static void the_output_of_other_tools_belongs_to_its_spindump(void **state) {
    static const char text[] =
        "Date/Time:  2026-11-20 10:10:14 +0100\nSteps: 9\n\nProcess: Shop [1]\nPath: /x/Shop\n"
        "  Thread 0x1  DispatchQueue 1\n  9  f + 12 (Shop + 256) [0x100000100]\n"
        "  Binary Images:\n     0x100000000 - ??? Shop <> /x/Shop\n\n"
        "Custom Output:\n\nheap 7\nProcess:   other [7]\nPath:  /x/other\n"
        "Load Address:  0x10edf9000\nCode Type:  X86-64\nParent Process: launchd [1]\n\n"
        "Date/Time:  2026-11-20 10:10:15 +0100\nAnalysis Tool: /usr/bin/heap\n\nx: 1\n";
    (void)state;
    struct strbuf want = {0};
    strbuf_addf(&want, "%s|", text);
    check(text, strbuf_cstr(&want), 0, 0);
    strbuf_release(&want);
}

static void a_containers_log_is_unwrapped(void **state) {
    (void)state;
    check("{\"log\":\"INFO \\\"x\\\"\\n\",\"stream\":\"stderr\",\"time\":\"t\"}\n"
          "{\"log\":\"Reactor stalled for 32 ms on shard 1.\\n\",\"stream\":\"stderr\"}\n"
          "{\"log\":\"Backtrace:\\n\",\"stream\":\"stderr\"}\n"
          "{\"log\":\"\\t0x4e0d6e2\\n\",\"stream\":\"stderr\"}\n"
          "{\"log\":\"INFO\\n\",\"stream\":\"stderr\"}\n",
          "Reactor stalled for 32 ms on shard 1.\nBacktrace:\n\t0x4e0d6e2\nINFO\n|", 0, 1);
    /* an empty line of the log behind JSON */
    check("{\"log\":\"{\\\"format\\\":\\\"stall-dump/1\\\",\\n\",\"stream\":\"stderr\"}\n"
          "{\"log\":\"\\\"id\\\":1}\\n\",\"stream\":\"stderr\"}\n"
          "{\"log\":\"\\n\",\"stream\":\"stderr\"}\n",
          "{\"format\":\"stall-dump/1\",\n\"id\":1}|", 1, 1);
    /* JSON with such a member among others is handed out as it is */
    check("{\"log\":\"a\",\"other\":1}\n", "{\"log\":\"a\",\"other\":1}|", 0, 0);
}

static void text_without_a_report_holds_no_document(void **state) {
    static const char *const texts[] = {"Hello\n", "int main(void)\n{\n}\n", "[section]\nkey=1\n",
                                        "> quoted\n", ""};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct seen seen = read_all(texts[i], strlen(texts[i]));
        assert_false(seen.sees);
        strbuf_release(&seen.documents);
    }
    static const char binary[] = "\0\1\2\n" CRASH;
    struct seen seen = read_all(binary, sizeof binary - 1);
    assert_false(seen.sees);
    strbuf_release(&seen.documents);
}

/* The result of reading an input, stored without memory of its own. */
struct outcome {
    const char *text;
    uint64_t digest,
        usual; /* digest: sum over the documents; usual: the digest when no allocation fails */
    size_t errors;
};

static void digest_document(void *ctx, enum st st, const char *text, size_t len, uint64_t line,
                            const struct err *e) {
    struct outcome *o = ctx;
    (void)line;
    (void)e;
    for (size_t i = 0; st == ST_OK && i < len; i++) {
        o->digest = o->digest * 31 + (unsigned char)text[i];
    }
    o->errors += st == ST_ERR;
}

static void read_refused(void *ctx, bool refused) {
    struct outcome *o = ctx;
    struct dump_stream *s;
    struct err e = {0};
    int fd = stream_file_of(o->text, strlen(o->text));
    o->digest = o->errors = 0;
    if (dump_stream_open(&s, fd, "in", &e) != ST_OK) {
        assert_true(refused && e.code == ERR_NOMEM);
        return;
    }
    if (dump_stream_sees_document(s)) {
        stream_walk(s, false, digest_document, o);
    }
    dump_stream_close(s);
    o->usual = refused ? o->usual : o->digest;
    assert_true(o->errors == 0 ? o->digest == o->usual : refused);
}

static void a_text_is_whole_or_memory_that_ran_out_is_told(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf quoted = replaced("> Hello\n> \n" CRASH "bye\n", "\n", "\n> ");
    struct strbuf spaced = replaced("Hello\n\n" CRASH, " ", "\xc2\xa0");
    const char *texts[] = {strbuf_cstr(&quoted), strbuf_cstr(&spaced),
                           "a log\n" STALL "and\n" STALL};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct outcome o = {.text = texts[i]};
        read_refused(&o, false);
        assert_true(o.digest != 0 && o.errors == 0);
        assert_true(failmalloc_sweep(read_refused, &o) > 1);
    }
    strbuf_release(&quoted);
    strbuf_release(&spaced);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_lines_before_a_report_are_passed_over),
        cmocka_unit_test(lines_around_an_ips_are_passed_over),
        cmocka_unit_test(a_changed_text_is_mended),
        cmocka_unit_test(a_tab_before_samples_is_not_theirs),
        cmocka_unit_test(a_quoted_text_ends_with_its_quotes),
        cmocka_unit_test(samples_of_perf_end_the_report_before_them),
        cmocka_unit_test(lines_may_end_with_a_return_alone),
        cmocka_unit_test(json_in_markdown_is_read_if_it_is_a_report),
        cmocka_unit_test(quoted_json_is_read_if_it_is_a_report),
        cmocka_unit_test(lines_around_reports_are_passed_over),
        cmocka_unit_test(a_crash_behind_a_spindump_keeps_its_headers),
        cmocka_unit_test(the_output_of_other_tools_belongs_to_its_spindump),
        cmocka_unit_test(a_containers_log_is_unwrapped),
        cmocka_unit_test(text_without_a_report_holds_no_document),
        cmocka_unit_test(a_text_is_whole_or_memory_that_ran_out_is_told),
    };
    return cmocka_run_group_tests_name("dump_stream_text", tests, NULL, NULL);
}
