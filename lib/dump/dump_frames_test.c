/* Tests of frames that have any values, with or without white space between them. */
#include "dump/dump_support_test.h"

#define HEAD "{" FORMAT ",'threads':[{'id':1,"
#define TAIL "}]}"

/* Parses {HEAD 'frames' COLON array TAIL}. */
static enum st parse_frames(const char *colon, const char *array, struct strbuf *text,
                            struct dump *d, struct err *e) {
    add_json(text, HEAD "'frames'");
    add_json(text, colon);
    add_json(text, array);
    add_json(text, TAIL);
    return dump_parse(d, text->data, text->len, e);
}

static void assert_frames(const char *array, enum st want) {
    struct strbuf texts[2] = {{0}, {0}};
    struct dump d[2];
    struct err e[2] = {{0}, {0}};
    enum st st = parse_frames(":", array, &texts[0], &d[0], &e[0]);
    assert_int_equal(st, want);
    assert_int_equal(parse_frames(": ", array, &texts[1], &d[1], &e[1]), want);
    if (st == ST_OK) {
        const struct dump_stack *x = &d[0].threads[0].stack, *y = &d[1].threads[0].stack;
        assert_int_equal(x->frame_count, y->frame_count);
        for (size_t i = 0; i < x->frame_count; i++) {
            assert_true(x->frames[i] == y->frames[i]);
        }
        assert_int_equal(d[0].replaced_bytes, d[1].replaced_bytes);
    } else {
        assert_string_equal(e[0].text, e[1].text);
    }
    for (size_t i = 0; i < 2; i++) {
        dump_release(&d[i]);
        strbuf_release(&texts[i]);
    }
}

static void whatever_stands_in_frames(void **state) {
    (void)state;
    static const char *const right[] = {
        "[]",
        "[0]",
        "[1,2,3]",
        "[ 1,2]",
        "[1 ,2]",
        "[1,2 ]",
        "[1,\n2]",
        "[999999999999999999]",
        "[1000000000000000000]",
        "[18446744073709551615,1]",
        "['18446744073709551615',1]",
        "null",
    };
    static const char *const wrong[] = {
        "[-1]",
        "[1,-1]",
        "[1.5]",
        "[1e3]",
        "[null]",
        "[1,true]",
        "['x']",
        "[[1]]",
        "[{}]",
        "7",
        "'7'",
        "'\\u00000'",
        "'\\u0000'",
        "{}",
        "[1,2,{}]",
        "true",
        "[1,[]]",
        "[0.0]",
        "[10,'']",
        "'[1,2,3]'",
        "0",
        "1e400",
        "'0'",
        "['\\u0000']",
        "[18446744073709551616]",
        "'\\u00000\\u0000'",
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_frames(right[i], ST_OK);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_frames(wrong[i], ST_ERR);
    }
}

static void too_many_frames_are_refused(void **state) {
    (void)state;
    struct strbuf array = {0};
    strbuf_addstr(&array, "[1");
    for (size_t i = 1; i < DUMP_FRAMES_MAX; i++) {
        strbuf_addstr(&array, ",1");
    }
    strbuf_addc(&array, ']');
    assert_frames(array.data, ST_OK);
    strbuf_truncate(&array, array.len - 1);
    strbuf_addstr(&array, ",1]");
    assert_frames(array.data, ST_ERR);
    strbuf_release(&array);
}

static void of_two_members_the_last_one_counts(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(&text, HEAD "'frames':[1,2],'x':{'frames':[3]},'frames':[4]" TAIL);
    assert_int_equal(d.threads[0].stack.frame_count, 1);
    assert_int_equal(d.threads[0].stack.frames[0], 4);
    dump_release(&d);
    strbuf_clear(&text);
    d = parse_json(&text, HEAD "'frames':[1,2],'frames': [5]" TAIL);
    assert_int_equal(d.threads[0].stack.frames[0], 5);
    dump_release(&d);
    strbuf_clear(&text);
    d = parse_json(&text, HEAD "'frames': [5],'fr\\u0061mes':[6,7]" TAIL);
    assert_int_equal(d.threads[0].stack.frame_count, 2);
    dump_release(&d);
    strbuf_release(&text);
}

/* Checks that repairs in members beside frames are still made. */
static void repairs_and_frames_go_together(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(&text, HEAD "'name':'a\\u0000b','frames':[1,2],'state':'\xff'" TAIL);
    assert_string_equal(d.threads[0].name, "a\xef\xbf\xbd"
                                           "b");
    assert_string_equal(d.threads[0].state, "\xef\xbf\xbd");
    assert_int_equal(d.threads[0].stack.frames[1], 2);
    assert_int_equal(d.replaced_bytes, 2);
    dump_release(&d);
    strbuf_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_stands_in_frames),
        cmocka_unit_test(too_many_frames_are_refused),
        cmocka_unit_test(of_two_members_the_last_one_counts),
        cmocka_unit_test(repairs_and_frames_go_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
