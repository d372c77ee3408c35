#include "flame/stacks/folded.h"

#include "flame/flame_support_test.h"

static void assert_reads(const char *text, const char *want) {
    struct stack_tree t = {0};
    struct folded_stats s = read_string(&t, text);
    assert_int_equal(s.bad, 0);
    assert_written(&t, want);
    stack_tree_release(&t);
}

static void the_count_follows_the_last_space(void **state) {
    (void)state;
    assert_reads("a;b 1\n", "a;b 1\n");
    assert_reads("a;operator new 7 12\n", "a;operator new 7 12\n");
    assert_reads("a b c 3\na b c 4\n", "a b c 7\n");
    assert_reads("a  5\n", "a  5\n"); /* the name ends in a blank */
}

static void line_ends_and_comments(void **state) {
    (void)state;
    assert_reads("a 1\r\nb 2\r\n", "a 1\nb 2\n");
    assert_reads("a 1\n\n  \n# mode: wall 100\nb 2", "a 1\nb 2\n");
    assert_reads("a 1  \t\n", "a 1\n");
    assert_reads("", "");
}

static void counts_may_have_decimals(void **state) {
    (void)state;
    assert_reads("a 31.23\nb 6.1\nc 19.0\nd 2\n", "a 31.23\nb 6.1\nc 19\nd 2\n");
    assert_reads("a 0.000001\n", "a 0.000001\n");
    assert_reads("a 1.\n", "a 1\n");
    struct stack_tree t = {0};
    struct folded_stats s = read_string(&t, "a 0.12345678\n");
    assert_int_equal(s.rounded, 1);
    assert_written(&t, "a 0.123456\n");
    stack_tree_release(&t);
}

static void a_zero_count_is_no_stack(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct folded_stats s = read_string(&t, "a;b 0\na;c 0.000\n");
    assert_int_equal(s.stacks, 2);
    assert_int_equal(s.bad, 0);
    assert_int_equal(stack_tree_total(&t), 0);
    assert_written(&t, "");
    stack_tree_release(&t);
}

static void bad_lines_are_counted_and_the_first_is_named(void **state) {
    (void)state;
    const struct {
        const char *line, *reason;
    } cases[] = {
        {"main", "no count"},
        {" 12", "no stack"},
        {"a;b -1", "the count is not a number"},
        {"a;b 1e5", "the count is not a number"},
        {"a;b 0x10", "the count is not a number"},
        {"a;b 1.2.3", "the count is not a number"},
        {"a;b .5", "no count"},
        {"a;b 18446744073709551616", "the count is too large"},
        {"a;b 18446744073709551615.5", "the count is too large"},
        {"a;b 18446744073709551615", "the sum of all counts is too large"},
        {"main\tclass=x", "no count"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stack_tree t = {0};
        struct strbuf text = {0};
        strbuf_addf(&text, "ok 1\n#\n%s\nfine 2\nbad again\n", cases[i].line);
        struct folded_stats s = read_text(&t, text.data, text.len);
        assert_int_equal(s.bad, 2);
        assert_int_equal(s.first_bad, 3);
        assert_string_equal(s.reason, cases[i].reason);
        assert_int_equal(s.lines, 5);
        assert_int_equal(s.stacks, 2);
        assert_written(&t, "fine 2\nok 1\n");
        strbuf_release(&text);
        stack_tree_release(&t);
    }
}

static void a_suspicious_file_must_begin_well(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct folded_reader r = {.tree = &t, .suspicious = true};
    const char *text = "# Notes\n\nWhat this is.\nSee page 12\n";
    assert_int_equal(folded_feed(&r, text, strlen(text), NULL), ST_OK);
    assert_int_equal(folded_end(&r, NULL), ST_OK);
    assert_true(r.stats.foreign);
    assert_int_equal(stack_tree_total(&t), 0);
    r.stats = (struct folded_stats){0};
    text = "# Stacks\na;b 3\nnot one\n";
    assert_int_equal(folded_feed(&r, text, strlen(text), NULL), ST_OK);
    assert_false(r.stats.foreign);
    assert_int_equal(stack_tree_total(&t), 3);
    folded_release(&r);
    stack_tree_release(&t);
}

static void assert_escape(const char *name, size_t len, bool first, const char *want) {
    struct strbuf text = {0}, back = {0};
    folded_escape(&text, name, len, first);
    assert_string_equal(strbuf_cstr(&text), want);
    folded_unescape(&back, strbuf_cstr(&text), text.len);
    assert_int_equal(back.len, len);
    assert_memory_equal(strbuf_cstr(&back), name, len);
    strbuf_release(&text);
    strbuf_release(&back);
}

static void names_survive_escaping(void **state) {
    (void)state;
    assert_escape("operator;", 9, false, "operator\\x3b");
    assert_escape("a\nb\tc\r", 6, false, "a\\x0ab\\x09c\\x0d");
    assert_escape("\0\x7f", 2, false, "\\x00\\x7f");
    assert_escape("#define", 7, true, "\\x23define");
    assert_escape("#define", 7, false, "#define");
    assert_escape("App\\Http\\Kernel", 15, true, "App\\Http\\Kernel");
    assert_escape("C:\\x\\new", 8, false, "C:\\x\\new");
    assert_escape("\\x3b", 4, false, "\\x5cx3b"); /* a name that reads like an escape */
    assert_escape("\\x41", 4, false,
                  "\\x41"); /* a name that does not: no escape stands for a letter */
    assert_escape("\\\\x3b", 5, false, "\\\\x5cx3b");
    assert_escape("", 0, true, "");
    assert_escape("\xff\xfe", 2, true, "\\xff\\xfe"); /* bytes that are no UTF-8 */
    assert_escape("\xc2\x9b"
                  "2J\xe2\x80\xae",
                  7, true,
                  "\\xc2\\x9b"
                  "2J\\xe2\\x80\\xae");
    assert_escape("caf\xc3\xa9", 5, true, "caf\xc3\xa9");
}

static void every_name_survives_escaping(void **state) {
    (void)state;
    const char alphabet[] = {'\\', 'x',  '3', 'b',    '5',    'c',    ';',
                             '#',  '\n', 'a', '\xc2', '\xa9', '\x9b', '9'};
    uint32_t seed = 5;
    for (int i = 0; i < 20000; i++) {
        char name[12];
        size_t len = 0;
        do {
            seed = seed * 1664525u + 1013904223u;
            name[len++] = alphabet[(seed >> 16) % sizeof alphabet];
        } while (len < sizeof name && seed >> 28);
        struct strbuf text = {0}, back = {0};
        folded_escape(&text, name, len, i % 2 == 0);
        assert_null(strpbrk(strbuf_cstr(&text), ";\n"));
        folded_unescape(&back, strbuf_cstr(&text), text.len);
        assert_int_equal(back.len, len);
        assert_memory_equal(back.data, name, len);
        strbuf_release(&text);
        strbuf_release(&back);
    }
}

static void equal_names_are_one_frame_however_written(void **state) {
    (void)state;
    assert_reads("\\x23a;\\x5cq;\\x3b 1\n\\x23a;\\q;\\x3b 2\n", "\\x23a;\\q;\\x3b 3\n");
    struct stack_tree t = {0};
    read_text(&t, "a\tb;c\0d 1\n", 10);
    assert_written(&t, "a\\x09b;c\\x00d 1\n");
    stack_tree_release(&t);
    assert_reads("a\xff;b 1\na\\xff;b 2\n", "a\\xff;b 3\n"); /* a byte that is no UTF-8 */
}

static void pieces_of_any_size_read_the_same(void **state) {
    (void)state;
    struct strbuf text = random_folded(3, 300, 40);
    strbuf_addstr(&text, "bad\n\\x3b;x 5\r\n#c\nlast 9");
    struct stack_tree whole = {0};
    struct folded_stats want = read_text(&whole, text.data, text.len);
    char *expected = write_text(&whole);
    for (size_t step = 1; step < 70; step += 3) {
        struct stack_tree t = {0};
        struct folded_reader r = {.tree = &t};
        for (size_t at = 0; at < text.len; at += step) {
            size_t n = text.len - at < step ? text.len - at : step;
            assert_int_equal(folded_feed(&r, text.data + at, n, NULL), ST_OK);
        }
        assert_int_equal(folded_end(&r, NULL), ST_OK);
        assert_memory_equal(&r.stats, &want, sizeof want);
        assert_written(&t, expected);
        folded_release(&r);
        stack_tree_release(&t);
    }
    free(expected);
    strbuf_release(&text);
    stack_tree_release(&whole);
}

static void a_line_past_the_limit_costs_that_line(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct folded_reader r = {.tree = &t};
    size_t piece = 1 << 20;
    char *bytes = malloc(piece);
    assert_non_null(bytes);
    memset(bytes, 'x', piece);
    assert_int_equal(folded_feed(&r, "a 1\n", 4, NULL), ST_OK);
    for (size_t fed = 0; fed <= (size_t)STACK_TEXT_MAX + piece; fed += piece) {
        assert_int_equal(folded_feed(&r, bytes, piece, NULL), ST_OK);
    }
    assert_true(r.lines.carry.cap < piece); /* the reader does not keep the long line */
    assert_int_equal(folded_feed(&r, " 5\nb 2\n", 7, NULL), ST_OK);
    assert_int_equal(folded_end(&r, NULL), ST_OK);
    assert_int_equal(r.stats.bad, 1);
    assert_int_equal(r.stats.first_bad, 2);
    assert_string_equal(r.stats.reason, "longer than 64 MiB");
    assert_written(&t, "a 1\nb 2\n");
    free(bytes);
    folded_release(&r);
    stack_tree_release(&t);
}

static void written_text_reads_back_the_same(void **state) {
    (void)state;
    struct stack_tree t = {0}, again = {0};
    struct strbuf text = random_folded(11, 5000, 30);
    read_text(&t, text.data, text.len);
    char *first = write_text(&t);
    read_string(&again, first);
    assert_written(&again, first);
    assert_int_equal(stack_tree_total(&t), stack_tree_total(&again));
    free(first);
    strbuf_release(&text);
    stack_tree_release(&t);
    stack_tree_release(&again);
}

static void order_of_lines_does_not_matter(void **state) {
    (void)state;
    assert_reads("b;c 1\na 2\nb 3\na;x 4\n", "a 2\na;x 4\nb 3\nb;c 1\n");
    assert_reads("a;x 4\nb 3\na 2\nb;c 1\n", "a 2\na;x 4\nb 3\nb;c 1\n");
    assert_reads("a b 1\na;z 2\na-b 3\n",
                 "a;z 2\na b 1\na-b 3\n"); /* siblings are ordered frame by frame */
}

static void json_is_told_from_folded_text(void **state) {
    (void)state;
    const char *json[] = {"{\"format\":1}", " \n{ \"a\"", "[{\"", "\xef\xbb\xbf{\n\"", "{}", "{"};
    const char *text[] = {"a;b 1", "{closure};x 1", "[unknown] 3", "", "   ", "{main};a 2", "[k"};
    for (size_t i = 0; i < sizeof json / sizeof *json; i++) {
        assert_false(folded_recognise(json[i], strlen(json[i])));
    }
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        assert_true(folded_recognise(text[i], strlen(text[i])));
    }
}

static void check_real(const char *name, const struct filemap *m) {
    struct stack_tree t = {0}, again = {0};
    struct folded_stats s = read_text(&t, (const char *)m->data, m->size);
    assert_true(s.bad == 0 ||
                strncmp(name, "nameattr", 8) == 0); /* files with such names have no counts */
    assert_true(s.stacks > 0 || s.bad > 0);
    char *text = write_text(&t);
    read_string(&again, text);
    assert_written(&again, text);
    assert_int_equal(stack_tree_total(&t), stack_tree_total(&again));
    free(text);
    stack_tree_release(&t);
    stack_tree_release(&again);
}

static void other_tools_files_read_and_write_back(void **state) {
    (void)state;
    if (!for_each_real("folded", check_real)) {
        skip();
    }
}

static void read_and_write(void *ctx, bool refused) {
    const struct strbuf *text = ctx;
    struct stack_tree t = {0};
    struct folded_reader r = {.tree = &t};
    struct err e = {0};
    enum st st = ST_OK;
    for (size_t at = 0; st == ST_OK && at < text->len; at += 100) {
        size_t n = text->len - at < 100 ? text->len - at : 100;
        st = folded_feed(&r, text->data + at, n, &e);
    }
    if (st == ST_OK) {
        st = folded_end(&r, &e);
    }
    struct sink sink = sink_to_nowhere();
    if (st == ST_OK) {
        st = folded_write(&t, &sink, &e);
    }
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    folded_release(&r);
    stack_tree_release(&t);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf text = random_folded(9, 200, 60);
    for (int i = 0; i < 40; i++) { /* more children than stack_tree_sort's small array holds, with
                                      escapes in their names */
        strbuf_addf(&text, "root;\\x3bchild%d 1\n", i);
    }
    assert_true(failmalloc_sweep(read_and_write, &text) > 10);
    strbuf_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_count_follows_the_last_space),
        cmocka_unit_test(line_ends_and_comments),
        cmocka_unit_test(counts_may_have_decimals),
        cmocka_unit_test(a_zero_count_is_no_stack),
        cmocka_unit_test(bad_lines_are_counted_and_the_first_is_named),
        cmocka_unit_test(a_suspicious_file_must_begin_well),
        cmocka_unit_test(names_survive_escaping),
        cmocka_unit_test(every_name_survives_escaping),
        cmocka_unit_test(equal_names_are_one_frame_however_written),
        cmocka_unit_test(pieces_of_any_size_read_the_same),
        cmocka_unit_test(a_line_past_the_limit_costs_that_line),
        cmocka_unit_test(written_text_reads_back_the_same),
        cmocka_unit_test(order_of_lines_does_not_matter),
        cmocka_unit_test(json_is_told_from_folded_text),
        cmocka_unit_test(other_tools_files_read_and_write_back),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("folded", tests, NULL, NULL);
}
