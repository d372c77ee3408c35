/* Tests of locations that are read without a tape: they are the same as with one, also in texts
 * that are wrong. */
#include "dump/dump_support_test.h"
#include "dump/json/scan_private.h"
#include "dump/written_locations_private.h"

#define HEAD           "{" FORMAT ",'images':[{'load':4096},{'load':8192}],'strings':['f','_f','f.c']"
#define LINES(lines)   "{'image':0,'offset':12,'start':8,'lines':" lines ",'source':'dwarf'}"
#define LOCATION       LINES("[[0,1,2,7,3],[0,-1,-1,0,0]]")
#define BARE(image)    "{'image':" image ",'offset':12,'start':8,'lines':[],'source':'none'}"
#define OFFSET(offset) "{'image':0,'offset':" offset ",'start':8,'lines':[],'source':'none'}"
#define SOURCE(source) "{'image':0,'offset':12,'start':8,'lines':[],'source':" source "}"

static void assert_same_text(const char *a, const char *b) {
    assert_true(!a == !b);
    if (a) {
        assert_string_equal(a, b);
    }
}

static void assert_same_locations(const struct dump *a, const struct dump *b) {
    assert_int_equal(a->location_count, b->location_count);
    for (size_t i = 0; i < a->location_count; i++) {
        const struct dump_location *x = &a->locations[i], *y = &b->locations[i];
        assert_true(x->image == y->image && x->offset == y->offset && x->start == y->start);
        assert_true(x->source == y->source && x->in_app == y->in_app);
        assert_int_equal(x->line_count, y->line_count);
        for (size_t n = 0; n < x->line_count; n++) {
            assert_same_text(x->lines[n].function, y->lines[n].function);
            assert_same_text(x->lines[n].linkage, y->lines[n].linkage);
            assert_same_text(x->lines[n].file, y->lines[n].file);
            assert_int_equal(x->lines[n].line, y->lines[n].line);
            assert_int_equal(x->lines[n].column, y->lines[n].column);
        }
    }
}

/* Parses {HEAD 'locations': array}; `colon` follows the colon. */
static enum st parse_locations(const char *colon, const char *array, struct strbuf *text,
                               struct dump *d, struct err *e) {
    add_json(text, HEAD ",'locations':");
    add_json(text, colon);
    add_json(text, array);
    add_json(text, "}");
    return dump_parse(d, text->data, text->len, e);
}

/* Reads the array alone. Is it in the form that is read without a tape? */
static bool is_written(const char *array, struct written_locations *w, uint32_t *values) {
    struct strbuf text = {0};
    add_json(&text, array);
    *values = 0;
    const char *end = written_read(w, text.data, text.data + text.len, values);
    assert_true(!end || end == text.data + text.len);
    strbuf_release(&text);
    return end != NULL;
}

static void assert_locations(const char *array, enum st want, bool written) {
    struct strbuf texts[2] = {{0}, {0}};
    struct dump d[2];
    struct err e[2] = {{0}, {0}};
    struct written_locations w = {0};
    uint32_t values;
    for (int i = 0; i < 2; i++) {
        enum st st = parse_locations(i ? " " : "", array, &texts[i], &d[i], &e[i]);
        if (st != want) {
            fail_msg("%s: status %d, not %d: %s", array, (int)st, (int)want, e[i].text);
        }
    }
    if (want == ST_OK) {
        assert_same_locations(&d[0], &d[1]);
        assert_int_equal(d[0].replaced_bytes, d[1].replaced_bytes);
    } else {
        assert_int_equal(e[0].code, e[1].code);
        if (!strstr(e[0].text, "column")) {
            assert_string_equal(e[0].text, e[1].text);
        }
    }
    assert_true(is_written(array, &w, &values) == written);
    written_release(&w);
    for (int i = 0; i < 2; i++) {
        dump_release(&d[i]);
        strbuf_release(&texts[i]);
    }
}

static void what_is_written_is_read_without_a_tape(void **state) {
    (void)state;
    static const char *const right[] = {
        "[" LOCATION "]",
        "[" LOCATION "," BARE("-1") "," BARE("1") "," LINES("[[-1,-1,-1,0,0]]") "]",
        "[" OFFSET("0") "," OFFSET("999999999999999999") "]",
        "[{'image':-1,'offset':1,'start':1,'lines':[],'source':'report','in_app':true}]",
        "[{'image':0,'offset':1,'start':1,'lines':[],'source':'report','in_app':true}]",
        "[" SOURCE("'dwarf'") "," SOURCE("'symtab'") "," SOURCE("'symtab'") "," SOURCE(
            "'none'") "]",
        "[" LINES("[[0,1,2,999999999,999999999]]") "]",
    };
    static const char *const out_of_range[] = {
        "[" BARE("2") "]",
        "[" LOCATION "," BARE("999999999") "]",
        "[" LINES("[[0,1,2,3,4],[0,3,0,0,0]]") "]",
        "[" LINES("[[3,0,0,0,0]]") "," BARE("7") "]",
        "[" BARE("7") "," LINES("[[3,0,0,0,0]]") "]",
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_locations(right[i], ST_OK, true);
    }
    for (size_t i = 0; i < sizeof out_of_range / sizeof *out_of_range; i++) {
        assert_locations(out_of_range[i], ST_ERR, true);
    }
}

static void anything_else_is_left_to_the_tape(void **state) {
    (void)state;
    static const char *const right[] = {
        "[]",
        "[ " LOCATION "]",
        "[" LOCATION " ]",
        "[" LOCATION ", " LOCATION "]",
        "[" OFFSET("1000000000000000000") "]",
        "[" OFFSET("18446744073709551615") "]",
        "[" OFFSET("'77'") "]",
        "[" BARE("-0") "]",
        "[" SOURCE("'else'") "]",
        "[" SOURCE("'Dwarf'") "]",
        "[" SOURCE("''") "]",
        "[" SOURCE("'dw\\u0061rf'") "]",
        "[" SOURCE("null") "]",
        "[" LINES("[[0,1,2,7,3,9]]") "]",
        "[" LINES("[[0,1,2,'7',4294967295]]") "]",
        "[{'offset':12,'image':0}]",
        "[{'image':0,'offset':12,'start':8,'lines':[],'source':'none','more':1}]",
        "[{'image':0,'offset':12,'start':8,'lines':[],'source':'none','in_app':false}]",
    };
    static const char *const wrong[] = {
        "[" BARE("-2") "]",
        "[" BARE("01") "]",
        "[" BARE("1e0") "]",
        "[" BARE("") "]",
        "[" BARE("9999999999") "]",
        "[" OFFSET("00") "]",
        "[" OFFSET("1.5") "]",
        "[" OFFSET("-1") "]",
        "[" OFFSET("18446744073709551616") "]",
        "[" OFFSET("99999999999999999999999999999999999999999999") "]",
        "[" LINES("[[0,1,2,7]]") "]",
        "[" LINES("[[0,1,2,7,4294967296]]") "]",
        "[" LINES("[[0,1,2,7,]]") "]",
        "[" LINES("[[0,1,2,7,3],]") "]",
        "[" LINES("[[0,1,2,7,3]") "]",
        "[" LINES("[0]") "]",
        "[" LINES("7") "]",
        "[" LOCATION ",]",
        "[" LOCATION "" LOCATION "]",
        "[" LOCATION,
        "[" LOCATION "}",
        "[7]",
        "[[]]",
        "{'image':0}",
        "[" SOURCE("'dwarf") "]",
        "[" SOURCE("dwarf'") "]",
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_locations(right[i], ST_OK, false);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_locations(wrong[i], ST_ERR, false);
    }
}

static void of_two_arrays_the_last_one_counts(void **state) {
    (void)state;
    static const char *const arrays[] = {"[" LOCATION "]", "[" BARE("1") "," LOCATION "]",
                                         "[ " LOCATION "," LOCATION "," LOCATION "]", "[]"};
    static const size_t counts[] = {1, 2, 3, 0};
    for (size_t i = 0; i < 16; i++) {
        struct strbuf text = {0};
        struct dump d;
        add_json(&text, HEAD ",'locations':");
        add_json(&text, arrays[i / 4]);
        add_json(&text, ",'x':{'locations':[" LOCATION "]},'locations':");
        add_json(&text, arrays[i % 4]);
        add_json(&text, "}");
        assert_int_equal(dump_parse(&d, text.data, text.len, NULL), ST_OK);
        assert_int_equal(d.location_count, counts[i % 4]);
        dump_release(&d);
        strbuf_release(&text);
    }
}

/* The limit on the values of a document holds whoever reads them. */
static void the_values_are_counted(void **state) {
    (void)state;
    static const char *const arrays[] = {
        "[" LOCATION "]", "[" BARE("-1") "," LOCATION "," SOURCE("'none'") "]",
        "[{'image':-1,'offset':1,'start':1,'lines':[],'source':'report','in_app':true}]"};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        struct written_locations w = {0};
        struct scan scan = {0};
        struct strbuf text = {0};
        size_t used;
        uint32_t values;
        assert_true(is_written(arrays[i], &w, &values));
        add_json(&text, arrays[i]);
        assert_int_equal(scan_feed(&scan, text.data, text.len, &used), SCAN_DONE);
        assert_int_equal(values + 1, scan.values); /* the array itself is counted elsewhere */
        strbuf_release(&text);
        written_release(&w);
    }
}

static void too_many_values_are_refused(void **state) {
    (void)state;
    enum { MANY = SCAN_VALUES_MAX / 6 + 1 };
    struct strbuf text = {0};
    struct dump d;
    struct err e = {0};
    add_json(&text, HEAD ",'locations':[" BARE("-1"));
    for (size_t i = 1; i < MANY; i++) {
        add_json(&text, "," BARE("-1"));
    }
    add_json(&text, "]}");
    assert_int_equal(dump_parse(&d, text.data, text.len, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    dump_release(&d);
    strbuf_release(&text);
}

/* Whatever dump_write_spliced writes is read without a tape, so that its form and this one stay the
 * same. */
static void the_form_is_that_of_the_writer(void **state) {
    (void)state;
    struct dump_line lines[] = {{"f", "_f", "f.c", 1, 2}, {"g", NULL, NULL, 4000000000u / 5, 0}};
    const struct dump_location locations[] = {
        {.image = 0, .offset = 12, .start = 8, .lines = lines, .line_count = 2, .source = 1},
        {.image = -1, .offset = UINT64_C(1) << 47, .source = DUMP_SOURCE_REPORT, .in_app = true},
        {.image = 1, .offset = 5, .start = 5, .lines = lines, .line_count = 1, .source = 3},
        {.image = 1, .offset = 6, .start = 6, .source = DUMP_SOURCE_NONE}};
    const enum dump_symbols symbols[] = {DUMP_SYMBOLS_OK, DUMP_SYMBOLS_OK};
    struct dump_addition add = {
        .locations = locations, .location_count = 4, .image_symbols = symbols};
    struct strbuf text = {0}, out = {0};
    struct dump d = parse_json(&text, HEAD "}"), again;
    struct sink s = sink_to_strbuf(&out);
    assert_int_equal(dump_write_spliced(&d, &add, &s, NULL), ST_OK);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    const char *array = strstr(strbuf_cstr(&out), "\"locations\":");
    struct written_locations w = {0};
    uint32_t values = 0;
    assert_non_null(array);
    array += strlen("\"locations\":");
    assert_non_null(written_read(&w, array, out.data + out.len, &values));
    assert_int_equal(w.locations.len, 4);
    assert_int_equal(w.lines.len, 3);
    assert_int_equal(dump_parse(&again, out.data, out.len, NULL), ST_OK);
    struct dump want = {.locations = (struct dump_location *)locations, .location_count = 4};
    assert_same_locations(&again, &want);
    written_release(&w);
    dump_release(&again);
    dump_release(&d);
    strbuf_release(&text);
    strbuf_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_without_a_tape),
        cmocka_unit_test(anything_else_is_left_to_the_tape),
        cmocka_unit_test(of_two_arrays_the_last_one_counts),
        cmocka_unit_test(the_values_are_counted),
        cmocka_unit_test(too_many_values_are_refused),
        cmocka_unit_test(the_form_is_that_of_the_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
