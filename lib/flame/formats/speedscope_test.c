#include "flame/formats/speedscope.h"

#include <jansson.h>

#include "flame/flame_support_test.h"

static struct strbuf write_file(const struct stack_tree *t, const char *unit) {
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    struct speedscope_options o = {.title = "T", .unit = unit, .exporter = "stallflame@1"};
    assert_int_equal(speedscope_write(t, &o, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_true(speedscope_recognise(out.data, out.len));
    return out;
}

static struct speedscope_stats read_file(struct stack_tree *t, const char *text, size_t len) {
    struct speedscope_stats stats;
    struct err e = {0};
    assert_int_equal(speedscope_read(t, "x.json", text, len, &stats, &e), ST_OK);
    return stats;
}

static void assert_round_trip(const char *text, const char *unit) {
    struct stack_tree t = {0}, again = {0};
    read_string(&t, text);
    struct strbuf b = write_file(&t, unit);
    assert_string_equal(read_file(&again, b.data, b.len).unit, unit);
    assert_written(&again, text);
    strbuf_release(&b);
    stack_tree_release(&t);
    stack_tree_release(&again);
}

static void stacks_come_back(void **state) {
    (void)state;
    assert_round_trip("main;a;b 3\nmain;a;c 4\n", "samples");
    assert_round_trip("libc.so`read;Shop`scan_[i];x 3\n", "ms");
    assert_round_trip("parse (json.c:120);scan (a.h:1)_[i] 3\n", "ms");
    assert_round_trip("Shop+0x1f40;0x7f12;[unknown] 1\n", "ms");
    assert_round_trip("main;operator\\x3b;\\x0a;\xc3\xa9;\"<>& 1\n", "bytes");
    assert_round_trip("a 0.25\nb 3\n", "ms");
    assert_round_trip("a;;b 2\n", "ms"); /* the middle frame has no name */
}

static void time_keeps_its_order(void **state) {
    (void)state;
    struct stack_tree t = {.ordered = true};
    read_string(&t, "a;b 1\nc 2\na;b 3\n");
    struct strbuf b = write_file(&t, "ms");
    json_t *root = json_loadb(b.data, b.len, 0, NULL);
    const json_t *profile = json_array_get(json_object_get(root, "profiles"), 0);
    assert_string_equal(json_string_value(json_object_get(profile, "unit")), "milliseconds");
    assert_int_equal(json_integer_value(json_object_get(profile, "endValue")), 6);
    char *weights = json_dumps(json_object_get(profile, "weights"), JSON_COMPACT);
    char *samples = json_dumps(json_object_get(profile, "samples"), JSON_COMPACT);
    assert_string_equal(weights, "[1,2,3]");
    assert_string_equal(samples, "[[0,1],[2],[0,1]]");
    free(weights);
    free(samples);
    json_decref(root);
    strbuf_release(&b);
    stack_tree_release(&t);
}

/* ---- files of other programs ---- */

#define FRAMES                                                                                     \
    "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"/lib/libc.so\"}]}"

static void assert_read(const char *text, const char *want, const char *unit) {
    struct stack_tree t = {0};
    assert_string_equal(read_file(&t, text, strlen(text)).unit, unit);
    assert_written(&t, want);
    stack_tree_release(&t);
}

static void other_writers_are_read(void **state) {
    (void)state;
    assert_read(
        "{" FRAMES ",\"profiles\":[{\"type\":\"evented\",\"unit\":\"seconds\",\"events\":["
        "{\"type\":\"O\",\"frame\":0,\"at\":1},{\"type\":\"O\",\"frame\":1,\"at\":1.5},"
        "{\"type\":\"C\",\"frame\":1,\"at\":1.75},{\"type\":\"C\",\"frame\":0,\"at\":4}]}]}",
        "a 2750\na;libc.so`b 250\n", "ms");
    assert_read("{" FRAMES ",\"profiles\":["
                "{\"type\":\"sampled\",\"name\":\"T1\",\"unit\":\"none\",\"samples\":[[0,1]],"
                "\"weights\":[2]},"
                "{\"type\":\"sampled\",\"name\":\"T;2\",\"unit\":\"none\",\"samples\":[[0],[]],"
                "\"weights\":[0.5,1]}]}",
                "T1;a;libc.so`b 2\nT\\x3b2 1\nT\\x3b2;a 0.5\n", "samples");
    assert_read("{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"unit\":\"nanoseconds\","
                "\"samples\":[[0],[1]],\"weights\":[1500000,0.4]}]}",
                "a 1.5\n", "ms");
    assert_read("{" FRAMES ",\"profiles\":[]}", "", "samples");
    /* The times are nanoseconds since 1970, and a number is written as JavaScript writes a double.
     */
    assert_read("{" FRAMES
                ",\"profiles\":[{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"events\":["
                "{\"type\":\"O\",\"frame\":0,\"at\":1700000000000000000},"
                "{\"type\":\"C\",\"frame\":0,\"at\":1700000000002000128}]}]}",
                "a 2.000128\n", "ms");
    assert_read("{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"unit\":\"none\","
                "\"samples\":[[0]],\"weights\":[25e-1]}]}",
                "a 2.5\n", "samples");
    assert_read("{\"exporter\":123456789012345678901234567890,\"shared\":{\"frames\":[{\"name\":"
                "\"a\\u0000\\ud800\"}]},\"profiles\":[{\"type\":\"sampled\",\"unit\":\"none\","
                "\"samples\":[[0]],\"weights\":[1]}]}",
                "a\xef\xbf\xbd\xef\xbf\xbd 1\n", "samples");
}

static void profiles_that_count_something_else_are_left_out(void **state) {
    (void)state;
    static const char text[] =
        "{" FRAMES ",\"profiles\":["
        "{\"type\":\"sampled\",\"name\":\"A\",\"unit\":\"seconds\",\"samples\":[[0]],"
        "\"weights\":[2]},"
        "{\"type\":\"sampled\",\"name\":\"B\",\"unit\":\"bytes\",\"samples\":[[0]],"
        "\"weights\":[64]},"
        "{\"type\":\"sampled\",\"name\":\"C\",\"unit\":\"milliseconds\",\"samples\":[[1]],"
        "\"weights\":[3]}]}";
    struct stack_tree t = {0};
    struct speedscope_stats stats = read_file(&t, text, strlen(text));
    assert_string_equal(stats.unit, "ms");
    assert_int_equal(stats.profiles, 2);
    assert_int_equal(stats.left_out, 1);
    assert_written(&t, "A;a 2000\nC;libc.so`b 3\n");
    stack_tree_release(&t);
}

static void assert_refused_as(enum err_code code, const char *text, const char *why) {
    struct stack_tree t = {0};
    struct speedscope_stats stats;
    struct err e = {0};
    assert_int_equal(speedscope_read(&t, "x.json", text, strlen(text), &stats, &e), ST_ERR);
    assert_int_equal(e.code, code);
    assert_non_null(strstr(e.text, why));
    assert_non_null(strstr(e.text, "x.json"));
    stack_tree_release(&t);
}

static void assert_refused(const char *text, const char *why) {
    assert_refused_as(ERR_FORMAT, text, why);
}

#define SAMPLED(samples, weights)                                                                  \
    "{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":" samples       \
    ",\"weights\":" weights "}]}"
#define EVENTED(events) "{" FRAMES ",\"profiles\":[{\"type\":\"evented\",\"events\":[" events "]}]}"

static void damage_is_refused(void **state) {
    (void)state;
    assert_refused_as(ERR_TRUNCATED, "{", "no JSON in 'x.json': the JSON text is cut short");
    assert_refused("{\n,", "not JSON at line 2, column 1 of the document");
    assert_refused("{\"a\":1,\"a\":2}", "a name for the second time at column 9");
    assert_refused("1", "no object");
    assert_refused("{}", "no frames");
    assert_refused("[]", "no frames");
    assert_refused(SAMPLED("[[2]]", "[1]"), "frame that is not there");
    assert_refused(SAMPLED("[[-1]]", "[1]"), "frame that is not there");
    assert_refused(SAMPLED("[[\"a\"]]", "[1]"), "frame that is not there");
    assert_refused(SAMPLED("[[0]]", "[]"), "without a weight");
    assert_refused(SAMPLED("[[0]]", "[-1]"), "no number");
    assert_refused(SAMPLED("[[0]]", "[1e300]"), "no number");
    assert_refused(SAMPLED("[[0]]", "[\"1\"]"), "no number");
    assert_refused("{" FRAMES ",\"profiles\":[{\"type\":\"x\"}]}", "unknown type");
    assert_refused(EVENTED("{\"type\":\"C\",\"frame\":0,\"at\":1}"), "innermost");
    assert_refused(EVENTED("{\"type\":\"O\",\"frame\":0,\"at\":1},"
                           "{\"type\":\"C\",\"frame\":0,\"at\":0}"),
                   "before the last");
    assert_refused(EVENTED("{\"type\":\"O\",\"frame\":0}"), "without a time");
    assert_refused("{\"shared\":{\"frames\":[{}]},\"profiles\":[{\"type\":\"sampled\","
                   "\"samples\":[[0]],\"weights\":[1]}]}",
                   "without a name");
}

/* Reads many short samples below one long profile name. */
static void text_has_a_budget(void **state) {
    (void)state;
    enum { NAME = 16 * 1024 * 1024, SAMPLES = SPEEDSCOPE_TEXT_MAX / NAME + 1 };
    struct strbuf b = {0};
    strbuf_addstr(&b, "{" FRAMES ",\"profiles\":[{\"name\":\"");
    for (int i = 0; i < NAME; i++) {
        strbuf_addc(&b, 'L');
    }
    strbuf_addstr(&b, "\",\"type\":\"sampled\",\"samples\":[[]");
    for (int i = 1; i < SAMPLES; i++) {
        strbuf_addstr(&b, ",[]");
    }
    strbuf_addstr(&b, "],\"weights\":[1");
    for (int i = 1; i < SAMPLES; i++) {
        strbuf_addstr(&b, ",1");
    }
    strbuf_addstr(&b, "]},{}]}");
    struct stack_tree t = {0};
    struct speedscope_stats stats;
    struct err e = {0};
    assert_int_equal(speedscope_read(&t, "x.json", b.data, b.len, &stats, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    stack_tree_release(&t);
    strbuf_release(&b);
}

static void only_its_own_files_are_recognised(void **state) {
    (void)state;
    const char *const no[] = {"", "{\"format\":\"stall-dump/1\"}", "a;b 1\n", "{\"shared\":1}"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_false(speedscope_recognise(no[i], strlen(no[i])));
    }
    const char *other = "{" FRAMES ",\"profiles\":[]}";
    assert_true(speedscope_recognise(other, strlen(other)));
}

/* ---- memory ---- */

static void there_and_back(void *ctx, bool refused) {
    struct stack_tree *t = ctx, again = {0};
    struct strbuf b = {0};
    struct sink sink = sink_to_strbuf(&b);
    struct speedscope_stats stats;
    struct err e = {0};
    enum st st = speedscope_write(t, &(struct speedscope_options){.unit = "ms"}, &sink, &e);
    if (sink_close(&sink, &e) != ST_OK) {
        st = ST_ERR;
    }
    if (st == ST_OK) {
        st = speedscope_read(&again, "x.json", b.data, b.len, &stats, &e);
    }
    /* Jansson 2.14 reports a lack of memory as an error of the text, depending on where its lexer
     * was. */
    assert_true(st == ST_OK || (refused && (e.code == ERR_NOMEM || e.code == ERR_FORMAT)));
    strbuf_release(&b);
    stack_tree_release(&again);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct stack_tree t = {0};
    read_string(&t, "m`main;a (f.c:3);b_[i] 3\nm`main;c 4\n");
    json_set_alloc_funcs(malloc, free);
    assert_true(failmalloc_sweep(there_and_back, &t) > 20);
    stack_tree_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_come_back),
        cmocka_unit_test(time_keeps_its_order),
        cmocka_unit_test(other_writers_are_read),
        cmocka_unit_test(profiles_that_count_something_else_are_left_out),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(text_has_a_budget),
        cmocka_unit_test(only_its_own_files_are_recognised),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
