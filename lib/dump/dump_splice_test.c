#include "dump/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <stdlib.h>

#include "base/failmalloc.h"
#include "base/filemap.h"
#include "dump/dump_support_test.h"

/* What a test splices in: the same location for every frame, one verdict for every image. */
static struct dump_line line = {"-[DB write:]", NULL, "/Shop/DB.m", 123, 4};
static struct dump_line inlined[2] = {{"page_mix(int)", "_Z8page_mixi", NULL, 0, 0},
                                      {"-[DB write:]", NULL, "/Shop/DB.m", 7, 0}};
static const struct dump_location two_locations[2] = {
    {.image = -1, .offset = 5, .start = 5, .lines = NULL, .source = DUMP_SOURCE_NONE},
    {.image = 0,
     .offset = 881152,
     .start = 880900,
     .lines = inlined,
     .line_count = 2,
     .source = DUMP_SOURCE_DWARF}};
static const struct dump_location one_location[1] = {{.image = -1,
                                                      .offset = 9,
                                                      .start = 9,
                                                      .lines = &line,
                                                      .line_count = 1,
                                                      .source = DUMP_SOURCE_SYMTAB}};

static uint32_t zeros[DUMP_FRAMES_MAX];

/* Makes an addition; free_addition frees its arrays. */
static struct dump_addition make_addition(const struct dump *d, const struct dump_location *l,
                                          size_t count) {
    const uint32_t **threads = calloc(d->thread_count + 1, sizeof *threads);
    const uint32_t **samples = calloc(d->sample_count + 1, sizeof *samples);
    enum dump_symbols *symbols = calloc(d->image_count + 1, sizeof *symbols);
    const char **files = calloc(d->image_count + 1, sizeof *files);
    assert_true(threads && samples && symbols && files);
    for (size_t i = 0; i < d->thread_count; i++) {
        threads[i] = zeros;
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        samples[i] = zeros;
    }
    for (size_t i = 0; i < d->image_count; i++) {
        symbols[i] = i == 0 ? DUMP_SYMBOLS_OK : DUMP_SYMBOLS_MISSING;
        files[i] = i == 0 ? "Shop \"1\".dSYM" : NULL;
    }
    return (struct dump_addition){.locations = l,
                                  .location_count = count,
                                  .thread_locations = threads,
                                  .sample_locations = samples,
                                  .image_symbols = symbols,
                                  .image_files = files};
}

static void free_addition(struct dump_addition *a) {
    free((void *)(uintptr_t)a->thread_locations);
    free((void *)(uintptr_t)a->sample_locations);
    free((void *)(uintptr_t)a->image_symbols);
    free((void *)(uintptr_t)a->image_files);
}

/* Returns the spliced document, which the caller releases. */
static struct strbuf splice_text(const char *text, size_t len, const struct dump_location *l,
                                 size_t count) {
    struct dump d;
    struct err e = {0};
    struct strbuf out = {0};
    if (dump_parse(&d, text, len, &e) != ST_OK) {
        fail_msg("%.*s: %s", (int)len, text, e.text);
    }
    struct dump_addition a = make_addition(&d, l, count);
    struct sink s = sink_to_strbuf(&out);
    assert_int_equal(dump_write_spliced(&d, &a, &s, &e), ST_OK);
    assert_int_equal(sink_close(&s, &e), ST_OK);
    free_addition(&a);
    dump_release(&d);
    return out;
}

/* Checks a splice; input and output are written with ' for ". */
static void check_splice(const char *input, const char *want, const struct dump_location *l,
                         size_t count) {
    struct strbuf text = {0}, expected = {0};
    add_json(&text, input);
    add_json(&expected, want);
    struct strbuf out = splice_text(text.data, text.len, l, count);
    assert_string_equal(strbuf_cstr(&out), strbuf_cstr(&expected));
    struct strbuf again = splice_text(out.data, out.len, l, count);
    assert_string_equal(strbuf_cstr(&again),
                        strbuf_cstr(&out)); /* a second splice replaces what the first one added */
    strbuf_release(&again);
    strbuf_release(&out);
    strbuf_release(&text);
    strbuf_release(&expected);
}

#define ONE                                                                                        \
    "'strings':['-[DB write:]','/Shop/DB.m'],'locations':[{'image':-1,'offset':9,'start':9,"       \
    "'lines':[[0,-1,1,123,4]],'source':'symtab'}]}\n"

static void everything_lands_in_its_place(void **state) {
    (void)state;
    check_splice("{" FORMAT ",'images':[{'load':1,'name':'Shop'},{'load':5}],"
                 "'threads':[{'id':1,'frames':[7,8]},{'id':2}],"
                 "'samples':{'stacks':[{'frames':[7],'count':2}],'ring':[0]},'user':'u'}",
                 "{" FORMAT ",'images':[{'load':1,'name':'Shop','symbols':'ok','symbols_file':"
                 "'Shop \\'1\\'.dSYM'},{'load':5,'symbols':'missing'}],"
                 "'threads':[{'id':1,'frames':[7,8],'locations':[0,0]},{'id':2,'locations':[]}],"
                 "'samples':{'stacks':[{'frames':[7],'count':2,'locations':[0]}],'ring':[0]},"
                 "'user':'u'," ONE,
                 one_location, 1);
}

static void strings_are_interned_once(void **state) {
    (void)state;
    check_splice("{" FORMAT ",'images':[{'load':1}]}",
                 "{" FORMAT ",'images':[{'load':1,'symbols':'ok','symbols_file':'Shop "
                 "\\'1\\'.dSYM'}],'strings':['page_mix(int)','_Z8page_mixi','-[DB write:]',"
                 "'/Shop/DB.m'],'locations':[{'image':-1,'offset':5,'start':5,'lines':[],"
                 "'source':'none'},{'image':0,'offset':881152,'start':880900,"
                 "'lines':[[0,1,-1,0,0],[2,-1,3,7,0]],'source':'dwarf'}]}\n",
                 two_locations, 2);
}

static void unknown_members_survive_byte_for_byte(void **state) {
    (void)state;
    check_splice("  { 'a b' : [ 1.50e+3 , -0.0, 1E400, 123456789012345678901234567890 ] ,\r\n"
                 "\t'\\u0066\\/x':'\\u0000 \\ud800 \\\\ \\\" ', 'bad':'\xff\xfe' , 'n' : null,\n"
                 " " FORMAT " ,'deep':{ 'threads' : [ { 'locations' : [ 1 , 2 ] } ] , 'strings':1}"
                 ",\n'e':{ },'f':[ ]}  \n",
                 "{'a b':[1.50e+3,-0.0,1E400,123456789012345678901234567890],"
                 "'\\u0066\\/x':'\\u0000 \\ud800 \\\\ \\\" ','bad':'\xff\xfe','n':null," FORMAT
                 ",'deep':{'threads':[{'locations':[1,2]}],'strings':1},'e':{},'f':[]," ONE,
                 one_location, 1);
}

static void members_of_an_earlier_run_are_replaced(void **state) {
    (void)state;
    check_splice(
        "{'strings':['old'],'locations':[{'image':-1,'offset':1,'lines':[[0,0,0,1,1]]}]," FORMAT
        ",'images':[{'symbols':'missing','load':1,'symbols_file':'old','x':1}],"
        "'threads':[{'locations':[0],'frames':[7]}]}",
        "{" FORMAT ",'images':[{'load':1,'x':1,'symbols':'ok','symbols_file':'Shop "
        "\\'1\\'.dSYM'}],'threads':[{'frames':[7],'locations':[0]}]," ONE,
        one_location, 1);
    check_splice("{'strings':[]," FORMAT ",'locations':[]}", "{" FORMAT "," ONE, one_location, 1);
}

static void names_may_be_written_with_escapes(void **state) {
    (void)state;
    check_splice("{" FORMAT ",'\\u0074hreads':[{'frames':[1]}],'imag\\u0065s':[]}",
                 "{" FORMAT
                 ",'\\u0074hreads':[{'frames':[1],'locations':[0]}],'imag\\u0065s':[]," ONE,
                 one_location, 1);
}

static void of_two_members_the_last_is_spliced(void **state) {
    (void)state;
    check_splice(
        "{'threads':[{'locations':[5],'frames':[1,2,3]},5],'threads':[{'frames':[1]}]," FORMAT "}",
        "{'threads':[{'locations':[5],'frames':[1,2,3]},5],'threads':[{'frames':[1],'locations':[0]"
        "}]," FORMAT "," ONE,
        one_location, 1);
}

/* More members than the splicer remembers from its first walk to its second, so that the special
 * members are among those it does not remember. */
#define TEN(c)                                                                                     \
    "'" c "0':0,'" c "1':1,'" c "2':{'threads':[]},'" c "3':3,'" c "4':'\\'',"                     \
    "'" c "5':[5],'" c "6':6,'" c "7':7,'" c "8':8,'" c "9':9,"
#define THIRTY TEN("a") TEN("b") TEN("c")

static void objects_of_many_members(void **state) {
    (void)state;
    check_splice("{'threads':[{'frames':[1,2,3]}],'strings':[0]," THIRTY
                 "'threads':[{'locations':[5]," THIRTY
                 "'frames':[1],'locations':[0],'z':0}]," FORMAT
                 ",'strings':[],'locations':[{'image':-1,'offset':1}]}",
                 "{'threads':[{'frames':[1,2,3]}]," THIRTY "'threads':[{" THIRTY
                 "'frames':[1],'z':0,'locations':[0]}]," FORMAT "," ONE,
                 one_location, 1);
}

static void null_arrays_leave_their_part_alone(void **state) {
    (void)state;
    struct strbuf text = {0}, out = {0}, want = {0};
    struct dump d = parse_json(&text, "{" FORMAT ",'images':[{'load':1,'symbols':'ok'}],"
                                      "'threads':[{'frames':[]}],'samples':{'stacks':[{}]}}");
    struct dump_addition a = {.locations = one_location, .location_count = 1};
    struct sink s = sink_to_strbuf(&out);
    assert_int_equal(dump_write_spliced(&d, &a, &s, NULL), ST_OK);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    add_json(&want, "{" FORMAT ",'images':[{'load':1,'symbols':'ok'}],"
                    "'threads':[{'frames':[]}],'samples':{'stacks':[{}]}," ONE);
    assert_string_equal(strbuf_cstr(&out), strbuf_cstr(&want));
    dump_release(&d);
    strbuf_release(&text);
    strbuf_release(&out);
    strbuf_release(&want);
}

static void what_was_written_is_read_back(void **state) {
    (void)state;
    struct strbuf text = {0};
    add_json(&text, "{" FORMAT ",'images':[{'load':1}],'threads':[{'frames':[7]}]}");
    struct strbuf out = splice_text(text.data, text.len, two_locations, 2);
    struct dump d;
    assert_int_equal(dump_parse(&d, out.data, out.len, NULL), ST_OK);
    assert_int_equal(d.images[0].symbols, DUMP_SYMBOLS_OK);
    assert_string_equal(d.images[0].symbols_file, "Shop \"1\".dSYM");
    assert_int_equal(d.location_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct dump_location *got = &d.locations[i], *put = &two_locations[i];
        assert_true(got->image == put->image && got->offset == put->offset &&
                    got->start == put->start && got->source == put->source);
        assert_int_equal(got->line_count, put->line_count);
    }
    assert_string_equal(d.locations[1].lines[0].linkage, "_Z8page_mixi");
    assert_null(d.locations[1].lines[0].file);
    assert_int_equal(d.locations[1].lines[1].line, 7);
    assert_int_equal(d.threads[0].stack.locations[0], 0);
    dump_release(&d);
    strbuf_release(&text);
    strbuf_release(&out);
}

/* Returns the document without white space between tokens, made independently of the splicer. */
static struct strbuf minified(const char *text, size_t len) {
    struct strbuf out = {0};
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        if (quoted || !memchr(" \t\r\n", text[i], 4)) {
            strbuf_addc(&out, text[i]);
        }
        if (quoted && text[i] == '\\') {
            strbuf_addc(&out, text[++i]);
        } else if (text[i] == '"') {
            quoted = !quoted;
        }
    }
    return out;
}

/* Cuts each part from `from` to the next `to` out of the text. */
static void cut_out(struct strbuf *b, const char *from, const char *to) {
    char *at;
    while (b->len && (at = strstr(b->data, from))) {
        char *end = strstr(at + strlen(from), to) + strlen(to);
        memmove(at, end, strlen(end) + 1);
        strbuf_truncate(b, strlen(b->data));
    }
}

static void fixtures_survive_byte_for_byte(void **state) {
    (void)state;
    glob_t files;
    assert_int_equal(glob("testdata/dumps/*.json", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct filemap file = {0};
        assert_int_equal(filemap_open(&file, files.gl_pathv[i], 0, NULL), ST_OK);
        struct strbuf want = minified((const char *)file.data, file.size);
        struct strbuf out = splice_text((const char *)file.data, file.size, one_location, 1);
        cut_out(&out, ",\"strings\":", "}]}\n");
        strbuf_addc(&out, '}');
        cut_out(&out, ",\"locations\":[", "]");
        cut_out(&out, ",\"symbols\":\"ok\",\"symbols_file\":\"Shop \\\"1\\\".dSYM", "\"");
        cut_out(&out, ",\"symbols\":\"missing", "\"");
        assert_string_equal(strbuf_cstr(&out), strbuf_cstr(&want));
        strbuf_release(&want);
        strbuf_release(&out);
        filemap_release(&file);
    }
    assert_true(files.gl_pathc > 10);
    globfree(&files);
}

static void many_equal_members_take_linear_time(void **state) {
    (void)state;
    struct strbuf text = {0};
    add_json(&text, "{" FORMAT);
    for (int i = 0; i < 300000; i++) {
        add_json(&text, ",'threads':[]");
    }
    strbuf_addc(&text, '}');
    struct strbuf out = splice_text(text.data, text.len, one_location, 1);
    assert_true(out.len > text.len);
    strbuf_release(&text);
    strbuf_release(&out);
}

static void write_it(void *ctx, bool refused) {
    const struct dump *d = ctx;
    struct dump_addition a = {.locations = two_locations, .location_count = 2};
    struct err e = {0};
    struct sink s = sink_to_nowhere();
    enum st st = dump_write_spliced(d, &a, &s, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_true(st == ST_OK || s.total == 0); /* no output, rather than half a line */
    assert_int_equal(sink_close(&s, NULL), ST_OK);
}

static void no_memory_is_an_error_before_anything_is_written(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf text = {0};
    struct dump d = parse_json(&text, "{" FORMAT "}");
    assert_true(failmalloc_sweep(write_it, &d) >= 3);
    dump_release(&d);
    strbuf_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_lands_in_its_place),
        cmocka_unit_test(strings_are_interned_once),
        cmocka_unit_test(unknown_members_survive_byte_for_byte),
        cmocka_unit_test(members_of_an_earlier_run_are_replaced),
        cmocka_unit_test(names_may_be_written_with_escapes),
        cmocka_unit_test(of_two_members_the_last_is_spliced),
        cmocka_unit_test(objects_of_many_members),
        cmocka_unit_test(null_arrays_leave_their_part_alone),
        cmocka_unit_test(what_was_written_is_read_back),
        cmocka_unit_test(fixtures_survive_byte_for_byte),
        cmocka_unit_test(many_equal_members_take_linear_time),
        cmocka_unit_test(no_memory_is_an_error_before_anything_is_written),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("dump_splice", tests, NULL, NULL);
}
