#include "flame/svg/svg.h"

#include "base/utf8.h"
#include "flame/flame_support_test.h"

/* ---- a strict reader of the XML of pictures ---- */

/* Elements and attributes that a picture may have: any other could only come from a name. */
static const char *const elements[] = {"svg", "title", "style",  "rect",
                                       "g",   "text",  "script", NULL};
static const char *const attributes[] = {
    "xmlns",     "width",     "height",      "viewBox",     "class",      "data-row",
    "data-head", "data-foot", "data-margin", "data-fixed",  "data-depth", "data-decimals",
    "data-unit", "data-w",    "data-x",      "data-search", "style",      "transform",
    "id",        "x",         "y",           NULL};

struct seen {
    size_t frames, texts, titles, scripts;
    uint64_t width_sum; /* sum of the widths of the frames of depth 1, in 1/100 pixel */
};

static bool is_one_of(const char *const *words, const char *s, size_t len) {
    for (; *words; words++) {
        if (strlen(*words) == len && memcmp(*words, s, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Checks text or an attribute's value: it has no markup, and every & begins one of the five
 * references. */
static void check_text(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++) {
        assert_true(s[i] != '<' && s[i] != '>' && s[i] != '"' && s[i] != '\'');
        if (s[i] == '&') {
            const char *end = memchr(s + i, ';', len - i);
            static const char *const known[] = {"lt", "gt", "amp", "quot", "#39", NULL};
            assert_non_null(end);
            assert_true(is_one_of(known, s + i + 1, (size_t)(end - s) - i - 1));
        }
    }
}

/* Checks a start tag's attributes and returns the end of the tag. */
static const char *check_attributes(const char *at, bool *empty) {
    for (;;) {
        at += strspn(at, " ");
        *empty = at[0] == '/' && at[1] == '>';
        if (*empty || *at == '>') {
            return at + 1 + *empty;
        }
        size_t name = strcspn(at, "=");
        assert_true(is_one_of(attributes, at, name));
        assert_int_equal(at[name + 1], '"');
        const char *value = at + name + 2;
        const char *end = strchr(value, '"');
        assert_non_null(end);
        check_text(value, (size_t)(end - value));
        at = end + 1;
    }
}

static const char *skip_raw(const char *at, const char *end) {
    const char *found = strstr(at, end);
    assert_non_null(found);
    return found;
}

/* Reads the document to its end. Fails the test if the document is not well-formed XML, or has an
 * element or attribute that is not in `elements` or `attributes`. */
static struct seen check_xml(const struct strbuf *b) {
    struct seen seen = {0};
    size_t open[16], depth = 0; /* indexes into `elements` */
    assert_int_equal(strlen(b->data), b->len);
    assert_true(utf8_valid(b->data, b->len));
    const char *at = b->data;
    static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    assert_memory_equal(at, head, sizeof head - 1);
    for (at += sizeof head - 1; *at;) {
        size_t text = strcspn(at, "<");
        check_text(at, text);
        at += text;
        if (!*at) {
            break;
        }
        bool closing = at[1] == '/';
        at += 1 + closing;
        size_t len = strcspn(at, " />");
        assert_true(is_one_of(elements, at, len));
        size_t which = 0;
        while (strncmp(elements[which], at, len) != 0 || elements[which][len]) {
            which++;
        }
        at += len;
        if (closing) {
            assert_true(depth > 0 && open[depth - 1] == which);
            depth--;
            assert_int_equal(*at++, '>');
            continue;
        }
        bool is_frame = strcmp(elements[which], "g") == 0 && strncmp(at, " class=", 7) == 0;
        seen.frames += is_frame;
        seen.texts += strcmp(elements[which], "text") == 0;
        seen.titles += strcmp(elements[which], "title") == 0;
        bool empty;
        at = check_attributes(at, &empty);
        if (!empty) {
            assert_true(depth < 16);
            open[depth++] = which;
        }
        if (strcmp(elements[which], "style") == 0) {
            at = skip_raw(at, "</style>");
        } else if (strcmp(elements[which], "script") == 0) {
            static const char start[] = "<![CDATA[";
            assert_memory_equal(at, start, sizeof start - 1);
            at = skip_raw(at, "]]></script>") + 3;
            seen.scripts++;
        }
    }
    assert_int_equal(depth, 0);
    assert_int_equal(seen.titles, seen.frames + 1);
    assert_int_equal(seen.scripts, 1);
    return seen;
}

static struct strbuf draw(const struct stack_tree *t, const struct svg_options *o) {
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    assert_int_equal(svg_write(t, o, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    return out;
}

static struct strbuf draw_text(const char *text, const struct svg_options *o) {
    struct stack_tree t = {0};
    read_string(&t, text);
    struct strbuf out = draw(&t, o);
    stack_tree_release(&t);
    return out;
}

/* ---- tests ---- */

static void a_frame_says_its_name_module_and_weight(void **state) {
    (void)state;
    struct strbuf b = draw_text("libc.so`main;parse_[i] 2500\nlibc.so`main 1000\n",
                                &(struct svg_options){.unit = "ms"});
    struct seen seen = check_xml(&b);
    assert_int_equal(seen.frames, 3);
    assert_non_null(strstr(b.data, "<title>all\n3,500 ms · 100.00 %</title>"));
    assert_non_null(
        strstr(b.data, "<title>main\nin libc.so\n3,500 ms · 100.00 % · self 1,000</title>"));
    assert_non_null(strstr(b.data, "<title>parse\ninlined\n2,500 ms · 71.43 %</title>"));
    assert_non_null(strstr(b.data, ">main</text>"));
    assert_non_null(strstr(b.data, "class=\"w4 i o\""));
    strbuf_release(&b);
}

static void hostile_names_stay_text(void **state) {
    (void)state;
    const char *names[] = {"</title><script>alert(1)</script>",
                           "\" onload=\"alert(1)",
                           "' onmouseover='alert(1)",
                           "]]><script>alert(1)</script>",
                           "<!--",
                           "&lt;script&gt;",
                           "&#60;script&#62;",
                           "<![CDATA[",
                           "<?xml?>",
                           "%s%n",
                           "\342\200\256drowkcab",
                           "\\x00\\x1b[31m",
                           "\xff\xfe\xc0",
                           "javascript:alert(1)",
                           "</style><style>*{display:none}",
                           "\xf0\x9f\x94\xa5 \xe6\x97\xa5\xe6\x9c\xac"};
    size_t count = sizeof names / sizeof *names;
    struct strbuf text = {0};
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < 3; k++) {
            const char *name = names[(i + k) % count];
            strbuf_addstr(&text, k ? ";m`" : "");
            folded_escape(&text, name, strlen(name), k == 0);
        }
        strbuf_addstr(&text, " 10\n");
    }
    for (size_t i = 0; i < count; i++) {
        struct strbuf b = draw_text(strbuf_cstr(&text), &(struct svg_options){.title = names[i],
                                                                              .subtitle = names[i],
                                                                              .notes = names[i],
                                                                              .unit = names[i],
                                                                              .font = names[i],
                                                                              .search = names[i]});
        struct seen seen = check_xml(&b);
        assert_int_equal(seen.frames, 3 * count + 1);
        assert_null(strstr(b.data, "<script>alert"));
        strbuf_release(&b);
    }
    strbuf_release(&text);
}

static void a_megabyte_name_is_cut(void **state) {
    (void)state;
    struct strbuf text = {0};
    for (int i = 0; i < 1000000; i++) {
        strbuf_addc(&text, i % 10 == 9 ? '<' : 'x');
    }
    strbuf_addstr(&text, " 1\n");
    struct strbuf b = draw_text(text.data, &(struct svg_options){0});
    check_xml(&b);
    assert_in_range(b.len, 4096, 60000);
    strbuf_release(&text);
    strbuf_release(&b);
}

static void labels_fit(void **state) {
    (void)state;
    /* The frames have 1168 pixels, half of it for each: (584 - 10) / 7 = 82 cells. */
    struct strbuf text = {0};
    strbuf_addstr(&text, "std::vector<int>::push_back(");
    for (int i = 0; i < 80; i++) {
        strbuf_addc(&text, 'x');
    }
    strbuf_addstr(&text, ") 1\nb 1\n");
    struct strbuf b = draw_text(text.data, &(struct svg_options){0});
    assert_non_null(strstr(b.data, ">…push_back(…)</text>"));
    strbuf_release(&text);
    strbuf_release(&b);
}

static void an_empty_tree_says_so(void **state) {
    (void)state;
    struct strbuf b = draw_text("", &(struct svg_options){.title = "T"});
    struct seen seen = check_xml(&b);
    assert_int_equal(seen.frames, 0);
    assert_non_null(strstr(b.data, "No stacks: nothing to draw."));
    strbuf_release(&b);
}

static void inverted_puts_the_root_on_top(void **state) {
    (void)state;
    struct strbuf up = draw_text("a;b 1\n", &(struct svg_options){0});
    struct strbuf down = draw_text("a;b 1\n", &(struct svg_options){.inverted = true});
    assert_non_null(strstr(up.data, "100.00 %</title><rect x=\"16\" y=\"104\""));
    assert_non_null(strstr(down.data, "class=\"icicle\""));
    const char *all = strstr(down.data, "<title>all");
    assert_non_null(all);
    assert_non_null(strstr(all, "<rect x=\"16\" y=\"68\""));
    strbuf_release(&up);
    strbuf_release(&down);
}

static void narrow_frames_are_merged_and_counted(void **state) {
    (void)state;
    struct strbuf text = {0};
    strbuf_addstr(&text, "m;big 100000\n");
    for (int i = 0; i < 50; i++) {
        strbuf_addf(&text, "m;small%d 2\n", i);
    }
    struct strbuf b = draw_text(text.data, &(struct svg_options){.min_width = 50});
    assert_int_equal(check_xml(&b).frames, 4);
    assert_non_null(strstr(b.data, "<title>50 narrow frames\n100 samples · 0.10 %"));
    assert_non_null(strstr(b.data, "narrower than 0.5 px are merged into …: 50 frames, 0.10 % of"));
    struct strbuf all = draw_text(text.data, &(struct svg_options){0});
    assert_int_equal(check_xml(&all).frames, 53);
    assert_null(strstr(all.data, "too narrow"));
    strbuf_release(&text);
    strbuf_release(&b);
    strbuf_release(&all);
}

static void a_fixed_width_is_kept(void **state) {
    (void)state;
    struct strbuf b = draw_text("a 1\n", &(struct svg_options){.width = 600});
    assert_non_null(strstr(b.data, " width=\"600\" "));
    assert_non_null(strstr(b.data, "data-fixed=\"\""));
    assert_non_null(strstr(b.data, "width=\"568\""));
    strbuf_release(&b);
}

static void counts_are_grouped(void **state) {
    (void)state;
    const struct {
        uint64_t weight;
        unsigned decimals;
        const char *want;
    } cases[] = {{0, 0, "0"},
                 {999, 0, "999"},
                 {1000, 0, "1,000"},
                 {1234567, 0, "1,234,567"},
                 {123456789, 3, "123,456.789"},
                 {1000500, 3, "1,000.5"},
                 {UINT64_MAX, 0, "18,446,744,073,709,551,615"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf b = {0};
        svg_count(&b, cases[i].weight, cases[i].decimals);
        assert_string_equal(strbuf_cstr(&b), cases[i].want);
        strbuf_release(&b);
    }
}

static void nothing_outside_the_file_is_needed(void **state) {
    (void)state;
    struct strbuf b = draw_text("a 1\n", &(struct svg_options){0});
    assert_null(strstr(b.data, "href"));
    assert_null(strstr(b.data, "@import"));
    assert_null(strstr(b.data, "url("));
    assert_null(strstr(b.data, "innerHTML"));
    assert_null(strstr(b.data, "eval("));
    assert_null(strstr(b.data, "fetch("));
    for (const char *at = b.data; (at = strstr(at, "http")) != NULL; at++) {
        assert_true(strncmp(at, "http://www.w3.org/", 18) == 0); /* the names of XML namespaces */
    }
    strbuf_release(&b);
}

static void mark_long(void *ctx, const struct layout_frame *f, const struct frame_name *name,
                      char colour[PALETTE_COLOUR_SIZE], struct strbuf *note) {
    ++*(int *)ctx;
    if (f->kind == LAYOUT_FRAME && name->name_len > 4) {
        memcpy(colour, "a3", sizeof "a3");
        strbuf_addstr(note, "long <name>\nby 5 %");
    }
}

static void the_caller_may_mark_frames(void **state) {
    (void)state;
    int calls = 0;
    const struct svg_key keys[] = {{"a3", "long & red"}, {"x1", "all else"}};
    const struct svg_marks marks = {.mark = mark_long, .ctx = &calls, .keys = keys, .key_count = 2};
    struct strbuf b =
        draw_text("short;longer 4\nshort;x 2\n", &(struct svg_options){.marks = &marks});
    check_xml(&b);
    assert_int_equal(calls, 4);
    assert_non_null(strstr(b.data,
                           "<g class=\"a3 o\" data-w=\"4\"><title>longer\n4 samples · 66.67 %\n"
                           "long &lt;name&gt;\nby 5 %</title>"));
    const char *other = strstr(b.data, "\" data-w=\"2\"><title>x\n2 samples");
    assert_true(other && other[-4] == 'w');
    assert_non_null(strstr(b.data, "<rect class=\"key a3\" x=\"16\""));
    assert_non_null(strstr(b.data, ">long &amp; red</text>"));
    strbuf_release(&b);
}

/* Checks that, without marks, the legend has the colours of the modules that weigh most. */
static void modules_are_explained(void **state) {
    (void)state;
    const char *text = "libc.so`main;Shop`x 5\nlibc.so`main 2\nnone 9\nidle`y;Shop`z 1\n";
    struct strbuf b = draw_text(text, &(struct svg_options){0});
    const char *shop = strstr(b.data, ">Shop</text>"), *libc = strstr(b.data, ">libc.so</text>");
    assert_true(shop && libc && shop < libc);
    assert_null(strstr(b.data, ">idle</text>")); /* the module's self weight is 0 */
    strbuf_release(&b);
    b = draw_text(text, &(struct svg_options){.palette = {.kind = PALETTE_HASH}});
    assert_null(strstr(b.data, "class=\"key"));
    strbuf_release(&b);
}

static void dark_is_a_preference_or_a_choice(void **state) {
    (void)state;
    struct strbuf b = draw_text("a 1\n", &(struct svg_options){0});
    assert_non_null(strstr(b.data, "@media (prefers-color-scheme: dark) {"));
    strbuf_release(&b);
    b = draw_text("a 1\n", &(struct svg_options){.dark = true});
    assert_null(strstr(b.data, "@media (prefers"));
    assert_non_null(strstr(b.data, "@media all {"));
    strbuf_release(&b);
}

/* ---- sums, in the picture as printed ---- */

struct drawn {
    uint64_t x, width, y, w,
        self; /* x, width, y: in 1/100 pixel; w, self: in units of the weight */
    bool has_self;
};

static uint64_t hundredths(const char *s) {
    uint64_t v = 0;
    size_t places = 3;
    for (; places && ((*s >= '0' && *s <= '9') || *s == '.'); s++) {
        if (*s == '.') {
            places = places == 3 ? 2 : places;
            continue;
        }
        v = v * 10 + (uint64_t)(*s - '0');
        places -= places < 3;
    }
    return places == 3 ? v * 100 : places == 2 ? v * 100 : places == 1 ? v * 10 : v;
}

/* Reads "1,234.5" in units of 10^-decimals. */
static uint64_t units(const char *s, unsigned decimals) {
    uint64_t v = 0;
    bool point = false;
    for (; (*s >= '0' && *s <= '9') || *s == ',' || *s == '.'; s++) {
        if (*s >= '0' && *s <= '9') {
            v = v * 10 + (uint64_t)(*s - '0');
            decimals -= point;
        }
        point |= *s == '.';
    }
    for (; decimals > 0; decimals--) {
        v *= 10;
    }
    return v;
}

/* Reads the next frame at or after *at; false if there is none. */
static bool next_drawn(const char **at, unsigned decimals, struct drawn *d) {
    const char *g = strstr(*at, "\" data-w=\"");
    if (!g) {
        return false;
    }
    const char *end = strstr(g, "</title>");
    assert_non_null(end);
    const char *self = strstr(g, " · self ");
    d->w = units(g + strlen("\" data-w=\""), 0);
    d->has_self = self && self < end;
    d->self = d->has_self ? units(self + strlen(" · self "), decimals) : 0;
    d->x = hundredths(strstr(end, " x=\"") + 4);
    d->y = hundredths(strstr(end, " y=\"") + 4) / 100;
    d->width = hundredths(strstr(end, " width=\"") + 8);
    *at = end;
    return true;
}

static void check_picture(const struct strbuf *b, const struct stack_tree *t) {
    uint64_t total = stack_tree_total(t);
    VEC(struct drawn) frames = {0};
    struct drawn d;
    for (const char *at = b->data; next_drawn(&at, t->decimals, &d);) {
        assert_true(VEC_PUSH(&frames, d));
    }
    assert_true(frames.len > 0);
    assert_int_equal(frames.data[0].w, total);
    assert_int_equal(frames.data[0].width, 116800);
    for (size_t i = 0; i < frames.len; i++) {
        const struct drawn *f = &frames.data[i];
        uint64_t weight = f->self, right = f->x;
        size_t children = 0;
        for (size_t k = i + 1; k < frames.len && frames.data[k].y < f->y; k++) {
            if (frames.data[k].y == f->y - 18) {
                assert_int_equal(frames.data[k].x,
                                 right); /* the children leave no gap and do not overlap */
                right += frames.data[k].width;
                weight += frames.data[k].w;
                children++;
            }
        }
        if (children > 0) {
            assert_int_equal(weight, f->w);
            /* What is to the right of the children is the self part, to a hundredth of a pixel. */
            uint64_t left_over = f->x + f->width - right;
            uint64_t self = f->self * 116800 / total;
            assert_true(left_over == self || left_over == self + 1);
        }
    }
    VEC_RELEASE(&frames);
}

static void check_real(const char *name, const struct filemap *m) {
    (void)name;
    struct stack_tree t = {0};
    read_text(&t, (const char *)m->data, m->size);
    for (uint32_t min_width = 0; min_width < 300; min_width += 99) {
        struct strbuf b = draw(&t, &(struct svg_options){.min_width = min_width});
        check_xml(&b);
        if (stack_tree_total(&t) > 0) {
            check_picture(&b, &t);
        }
        strbuf_release(&b);
    }
    stack_tree_release(&t);
}

static void every_width_is_its_childrens_and_self(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 12; seed++) {
        struct stack_tree t = {0};
        struct strbuf text = random_folded(seed, 40 * seed, 3 + 2 * seed);
        read_text(&t, text.data, text.len);
        struct strbuf b = draw(&t, &(struct svg_options){.min_width = seed * 13});
        check_xml(&b);
        check_picture(&b, &t);
        strbuf_release(&b);
        strbuf_release(&text);
        stack_tree_release(&t);
    }
    if (!for_each_real("folded", check_real)) {
        print_message("# without REAL: generated stacks only\n");
    }
}

static void draw_once(void *ctx, bool refused) {
    struct sink sink = sink_to_nowhere();
    struct err e = {0};
    enum st st = svg_write(ctx, &(struct svg_options){.title = "t", .min_width = 30}, &sink, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
}

static void an_element_of_a_page_is_the_frames_alone(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct strbuf b = {0};
    struct sink sink = sink_to_strbuf(&b);
    read_string(&t, "a;b 5\na;c 6\n");
    assert_int_equal(
        svg_write(&t, &(struct svg_options){.element = true, .inverted = true}, &sink, NULL),
        ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    const char *const never[] = {"<?xml", "<script", "<style", " id=", "style=", ">all<"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        assert_null(strstr(strbuf_cstr(&b), never[i]));
    }
    const char *const parts[] = {"<svg role=\"img\" viewBox=\"0 86 1200 36\"", ">a</text>",
                                 ">b</text>", ">c</text>", "</svg>\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_non_null(strstr(strbuf_cstr(&b), parts[i]));
    }
    strbuf_release(&b);
    stack_tree_release(&t);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct stack_tree t = {0};
    read_string(&t, "a;b_[i] 5\na;libc.so`c 6\n\\x3b;\xff 7\nz;y;x;w 1\na;tiny 0.0001\n");
    assert_true(failmalloc_sweep(draw_once, &t) > 5);
    stack_tree_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_says_its_name_module_and_weight),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(a_megabyte_name_is_cut),
        cmocka_unit_test(labels_fit),
        cmocka_unit_test(an_empty_tree_says_so),
        cmocka_unit_test(inverted_puts_the_root_on_top),
        cmocka_unit_test(narrow_frames_are_merged_and_counted),
        cmocka_unit_test(a_fixed_width_is_kept),
        cmocka_unit_test(counts_are_grouped),
        cmocka_unit_test(nothing_outside_the_file_is_needed),
        cmocka_unit_test(the_caller_may_mark_frames),
        cmocka_unit_test(modules_are_explained),
        cmocka_unit_test(dark_is_a_preference_or_a_choice),
        cmocka_unit_test(every_width_is_its_childrens_and_self),
        cmocka_unit_test(an_element_of_a_page_is_the_frames_alone),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("svg", tests, NULL, NULL);
}
