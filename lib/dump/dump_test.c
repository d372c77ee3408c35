#include "dump/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/failmalloc.h"
#include "base/filemap.h"
#include "dump/dump_support_test.h"

/* A dump with every member that the model knows, already symbolicated. */
static const char full[] =
    "{" FORMAT ",'id':'D1','time':'2026-11-21T10:00:00.123Z',"
    "'app':{'id':'com.example.shop','version':'5.3.1','build':'1234'},"
    "'device':{'model':'iPhone13,3','os':'iOS 18.7','os_build':'22H20','arch':'arm64','cpus':6},"
    "'user':'u1','context':{'screen':'Checkout'},"
    "'stall':{'id':'S1','seq':2,'kind':'hang','detector':'runloop','activity':'before-sources',"
    "'threshold_ms':2000,'at_ms':2050,'duration_ms':5410,'span_ms':3410,'ended':true,'fatal':true,"
    "'gap_ms':7,'cpu_permille':31,'suppressed':4,'app_state':'foreground','prewarmed':true},"
    "'images':[{'uuid':'6b834217-5a1c-3e4d-9f00-112233445566','name':'Shop','path':'/a/Shop',"
    "'arch':'arm64','load':4096,'size':1000,'in_app':true,'symbols':'ok','symbols_file':'Shop.dSYM'"
    "},"
    "{'build_id':'00ff','name':'libc.so.6','load':65536}],"
    "'threads':[{'id':259,'name':'main','main':true,'state':'waiting','cpu_ms':12,"
    "'waits_for':{'kind':'mutex','address':105553,'owner':771},'frames':[4100,4200],"
    "'exact':[0,1],'locations':[1,0]},{'id':771,'frames':[]}],"
    "'samples':{'interval_ms':50,'stacks':[{'count':3,'frames':[4100],'locations':[1]},"
    "{'count':5,'frames':[4200,4100]},{'count':5,'frames':[4300]}],'ring':[0,-1,2]},"
    "'heaviest':{'stack':0,'repeats':3},"
    "'names':{'70000':['poll',16],'0x10004':['_start',0],'x':['skipped',0],'5':[7,0]},"
    "'strings':['main','_main','App.swift'],"
    "'locations':[{'image':0,'offset':103,'start':100,'lines':[[0,1,2,12,3],[0,-1,-1,0,0]],"
    "'source':'dwarf'},{'image':-1,'offset':4,'lines':[],'source':'none'}]}";

static void the_head_is_read(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(&text, full);
    assert_ptr_equal(d.text, text.data);
    assert_int_equal(d.text_len, text.len);
    assert_string_equal(d.id, "D1");
    assert_string_equal(d.time, "2026-11-21T10:00:00.123Z");
    assert_string_equal(d.app.id, "com.example.shop");
    assert_string_equal(d.app.version, "5.3.1");
    assert_string_equal(d.app.build, "1234");
    assert_string_equal(d.device.model, "iPhone13,3");
    assert_string_equal(d.device.os, "iOS 18.7");
    assert_string_equal(d.device.os_build, "22H20");
    assert_string_equal(d.device.arch, "arm64");
    assert_int_equal(d.device.cpus, 6);
    assert_string_equal(d.user, "u1");
    assert_string_equal(d.stall.id, "S1");
    assert_string_equal(d.stall.kind, "hang");
    assert_string_equal(d.stall.detector, "runloop");
    assert_string_equal(d.stall.activity, "before-sources");
    assert_string_equal(d.stall.app_state, "foreground");
    assert_int_equal(d.stall.seq, 2);
    assert_int_equal(d.stall.threshold_ms, 2000);
    assert_int_equal(d.stall.at_ms, 2050);
    assert_int_equal(d.stall.duration_ms, 5410);
    assert_int_equal(d.stall.span_ms, 3410);
    assert_int_equal(d.stall.gap_ms, 7);
    assert_int_equal(d.stall.cpu_permille, 31);
    assert_int_equal(d.stall.suppressed, 4);
    assert_true(d.stall.ended);
    assert_true(d.stall.fatal);
    assert_true(d.stall.prewarmed);
    assert_true(d.replaced_bytes == 0);
    dump_release(&d);
    dump_release(&d);
    dump_release(NULL);
    strbuf_release(&text);
}

static void images_and_names_are_read(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(&text, full);
    char id[IMAGE_ID_TEXT];
    assert_int_equal(d.image_count, 2);
    assert_string_equal(image_id_text(&d.images[0].id, id), "6B834217-5A1C-3E4D-9F00-112233445566");
    assert_string_equal(d.images[0].name, "Shop");
    assert_string_equal(d.images[0].path, "/a/Shop");
    assert_string_equal(d.images[0].arch, "arm64");
    assert_true(d.images[0].load == 4096 && d.images[0].size == 1000);
    assert_true(d.images[0].in_app);
    assert_int_equal(d.images[0].symbols, DUMP_SYMBOLS_OK);
    assert_string_equal(d.images[0].symbols_file, "Shop.dSYM");
    assert_int_equal(d.images[1].id.kind, IMAGE_ID_BUILD);
    assert_string_equal(image_id_text(&d.images[1].id, id), "00ff");
    assert_null(d.images[1].path);
    assert_false(d.images[1].in_app);
    assert_true(d.images[1].size == 0);
    assert_int_equal(d.images[1].symbols, DUMP_SYMBOLS_UNSET);
    assert_int_equal(d.name_count, 2); /* the names are sorted, and malformed ones are left out */
    assert_true(d.names[0].address == 0x10004 && d.names[1].address == 70000);
    assert_string_equal(d.names[1].symbol, "poll");
    assert_true(d.names[1].offset == 16);
    dump_release(&d);
    strbuf_release(&text);
}

static void stacks_are_read(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(&text, full);
    assert_int_equal(d.thread_count, 2);
    const struct dump_thread *t = &d.threads[0];
    assert_true(t->id == 259 && t->main && t->cpu_ms == 12);
    assert_string_equal(t->name, "main");
    assert_string_equal(t->state, "waiting");
    assert_string_equal(t->waits_for.kind, "mutex");
    assert_true(t->waits_for.address == 105553 && t->waits_for.owner == 771);
    assert_int_equal(t->stack.frame_count, 2);
    assert_true(t->stack.frames[1] == 4200 && t->stack.count == 1);
    assert_int_equal(t->stack.exact_count, 2);
    assert_true(dump_frame_exact(&t->stack, 0) && dump_frame_exact(&t->stack, 1));
    assert_int_equal(t->stack.locations[0], 1);
    assert_null(d.threads[1].waits_for.kind);
    assert_true(d.threads[1].waits_for.owner == -1 && d.threads[1].cpu_ms == -1);
    assert_int_equal(d.threads[1].stack.frame_count, 0);
    assert_null(d.threads[1].stack.locations);
    assert_ptr_equal(dump_main_thread(&d), t);

    assert_int_equal(d.sample_interval_ms, 50);
    assert_int_equal(d.sample_count, 3);
    assert_true(d.samples[0].count == 3 && d.samples[1].count == 5);
    assert_true(dump_frame_exact(&d.samples[1], 0) && !dump_frame_exact(&d.samples[1], 1));
    assert_int_equal(d.ring_count, 3);
    assert_true(d.ring[0] == 0 && d.ring[1] == -1 && d.ring[2] == 2);
    assert_true(d.heaviest == 0 && d.heaviest_repeats == 3);
    dump_release(&d);
    strbuf_release(&text);
}

static void locations_of_an_earlier_run_are_read(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(&text, full);
    assert_int_equal(d.location_count, 2);
    const struct dump_location *l = &d.locations[0];
    assert_true(l->image == 0 && l->offset == 103 && l->start == 100);
    assert_int_equal(l->source, DUMP_SOURCE_DWARF);
    assert_int_equal(l->line_count, 2);
    assert_string_equal(l->lines[0].function, "main");
    assert_string_equal(l->lines[0].linkage, "_main");
    assert_string_equal(l->lines[0].file, "App.swift");
    assert_true(l->lines[0].line == 12 && l->lines[0].column == 3);
    assert_null(l->lines[1].linkage);
    assert_null(l->lines[1].file);
    l = &d.locations[1];
    assert_true(l->image == -1 && l->offset == 4 && l->start == 4 && l->line_count == 0);
    assert_int_equal(l->source, DUMP_SOURCE_NONE);
    dump_release(&d);
    strbuf_release(&text);
}

/* Checks that numbers in locations are read as elsewhere in a dump: -0 is 0, and a string of digits
 * is a number even if it has escapes. */
static void numbers_of_locations_are_numbers(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(
        &text, "{" FORMAT ",'locations':[{'image':-1,'offset':'\\u0037','start':-0,"
               "'lines':[[-1,-1,-1,'12','\\u0033']],'source':'sym\\u0074ab'},"
               "{'image':-1,'offset':18446744073709551615,'start':1.5,'source':'else'}]}");
    assert_int_equal(d.location_count, 2);
    const struct dump_location *l = &d.locations[0];
    assert_true(l->offset == 7 && l->start == 0 && l->source == DUMP_SOURCE_SYMTAB);
    assert_int_equal(l->line_count, 1);
    assert_true(l->lines[0].line == 12 && l->lines[0].column == 3 && !l->lines[0].function);
    assert_true(l[1].offset == UINT64_MAX && l[1].start == UINT64_MAX);
    assert_int_equal(l[1].source, DUMP_SOURCE_NONE);
    assert_int_equal(l[1].line_count, 0);
    dump_release(&d);
    strbuf_release(&text);
}

/* Checks that the last value counts if a name occurs twice, even if that value is malformed. */
static void of_two_names_the_last_one_counts(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d =
        parse_json(&text, "{" FORMAT ",'names':{'1':['a',0],'2':['b',0],'\\u0031':['c',4],"
                          "'0x1':['d',0],'2':7,'3':['e','5','f.c',6],'4':['g',-1]}}");
    assert_int_equal(d.name_count, 4);
    assert_true(d.names[0].address == 1 && d.names[0].offset == 4);
    assert_string_equal(d.names[0].symbol, "c");
    assert_string_equal(d.names[1].symbol, "d");
    assert_true(d.names[2].address == 3 && d.names[2].offset == 5 && d.names[2].line == 6);
    assert_string_equal(d.names[2].file, "f.c");
    assert_true(d.names[3].address == 4 && d.names[3].offset == 0 && !d.names[3].file);
    dump_release(&d);
    strbuf_release(&text);
}

static void the_least_dump_has_everything_absent(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(&text, " {" FORMAT "} ");
    assert_null(d.id);
    assert_null(d.stall.kind);
    assert_true(d.stall.span_ms == -1 && d.stall.at_ms == -1 && d.device.cpus == -1);
    assert_true(d.heaviest == -1 && d.heaviest_repeats == -1 && d.sample_interval_ms == -1);
    assert_null(d.locations);
    assert_null(dump_main_thread(&d));
    assert_null(dump_heaviest(&d));
    assert_int_equal(dump_image_at(&d, 1), -1);
    assert_true(dump_span_ms(&d) == 0);
    dump_release(&d);
    strbuf_release(&text);
}

static void wrong_types_count_as_absent(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(
        &text, "{" FORMAT ",'id':5,'app':'x','device':[1],'stall':{'kind':null,'span_ms':'many',"
               "'at_ms':-5,'duration_ms':1.5,'gap_ms':9007199254740992,'ended':1},'heaviest':7,"
               "'names':[1,2],'images':[{'load':1,'uuid':'short','build_id':'xyz','name':9}],"
               "'threads':[{'id':'x','main':1,'waits_for':[],'frames':null}],'samples':null}");
    assert_null(d.id);
    assert_null(d.app.id);
    assert_null(d.stall.kind);
    assert_true(d.stall.span_ms == -1 && d.stall.at_ms == -1 && d.stall.duration_ms == -1);
    assert_true(d.stall.gap_ms == -1 && !d.stall.ended && d.heaviest == -1);
    assert_int_equal(d.images[0].id.kind, IMAGE_ID_NONE);
    assert_null(d.images[0].name);
    assert_true(d.threads[0].id == -1 && !d.threads[0].main);
    dump_release(&d);
    strbuf_release(&text);
}

static void what_frames_and_images_say_must_be_right(void **state) {
    (void)state;
    static const char *const bad[] = {
        "'images':{}",
        "'images':[5]",
        "'images':[{}]",
        "'images':[{'load':-1}]",
        "'images':[{'load':'0x10'}]",
        "'images':[{'load':1.5}]",
        "'images':[{'load':1,'size':-1}]",
        "'images':[{'load':1,'size':[]}]",
        "'threads':7",
        "'threads':[7]",
        "'threads':[{'frames':{}}]",
        "'threads':[{'frames':['main']}]",
        "'threads':[{'frames':[-1]}]",
        "'threads':[{'frames':[1.0]}]",
        "'threads':[{'frames':[null]}]",
        "'threads':[{'frames':[18446744073709551616]}]",
        "'threads':[{'frames':[1],'exact':[1]}]",
        "'threads':[{'frames':[1],'exact':[-1]}]",
        "'threads':[{'frames':[1,2],'exact':[1,0]}]",
        "'threads':[{'frames':[1,2],'exact':[0,0]}]",
        "'threads':[{'frames':[1,2],'exact':0}]",
        "'samples':[]",
        "'samples':{'stacks':[[]]}",
        "'samples':{'stacks':[{'count':-1}]}",
        "'samples':{'stacks':[{'count':1099511627777}]}",
        "'samples':{'ring':[0]}",
        "'samples':{'stacks':[{}],'ring':[1]}",
        "'samples':{'stacks':[{}],'ring':[-2]}",
        "'heaviest':{'stack':0}",
        "'locations':{}",
        "'locations':[{'image':0,'offset':1}]",
        "'locations':[{'image':-1}]",
        "'locations':[{'image':-1,'offset':1,'lines':[[0,-1,-1,0,0]]}]",
        "'locations':[{'image':-1,'offset':1,'lines':[[-1,-1,-1,0]]}]",
        "'locations':[{'image':-1,'offset':1,'lines':[[-1,-1,-1,4294967296,0]]}]",
        "'strings':[1],'locations':[]",
        "'threads':[{'frames':[1],'locations':[0]}]",
        "'locations':[{'image':-1,'offset':1}],'threads':[{'frames':[1,2],'locations':[0]}]",
        "'locations':[{'image':-1,'offset':1}],'threads':[{'frames':[1],'locations':[1]}]",
        "'locations':[{'image':-1,'offset':1}],'threads':[{'frames':[1],'locations':[-1]}]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct strbuf json = {0};
        strbuf_addf(&json, "{%s,%s}", FORMAT, bad[i]);
        struct err e = refused_json(json.data, ST_ERR);
        if (e.code != ERR_FORMAT && e.code != ERR_LIMIT) {
            fail_msg("%s: code %d", bad[i], (int)e.code);
        }
        strbuf_release(&json);
    }
}

static void other_json_is_no_dump(void **state) {
    (void)state;
    static const char *const other[] = {"{}",
                                        "[]",
                                        "42",
                                        " 'text' ",
                                        "null",
                                        "-1.5e3",
                                        "['format','stall-dump/1']",
                                        "{'format':1}",
                                        "{'format':'stall-session/1','id':'x'}"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        struct err e = refused_json(other[i], ST_NONE);
        assert_false(err_is(&e));
    }
    struct err e = refused_json("{'format':'stall-dump/2'}", ST_ERR);
    assert_int_equal(e.code, ERR_UNSUPPORTED);
}

static void what_is_not_json_is_refused_with_its_place(void **state) {
    (void)state;
    static const struct {
        const char *json, *text;
        enum err_code code;
    } bad[] = {
        {"", "the JSON text is cut short", ERR_TRUNCATED},
        {"{'a':1", "the JSON text is cut short", ERR_TRUNCATED},
        {"{'a'", "the JSON text is cut short", ERR_TRUNCATED},
        {"hello", "not JSON at column 1", ERR_FORMAT},
        {"1,2", "not JSON at column 2", ERR_FORMAT},
        {"{'a':1}}", "something follows the JSON text at column 8", ERR_FORMAT},
        {"{'a':1} x", "something follows the JSON text at column 9", ERR_FORMAT},
        {"{'a':01}", "not JSON at column 7", ERR_FORMAT},
        {"{'a':1,}", "not JSON at column 8", ERR_FORMAT},
        {"{\n 'a':\n  nul}", "not JSON at line 3, column 6 of the document", ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = refused_json(bad[i].json, ST_ERR);
        assert_string_equal(e.text, bad[i].text);
        assert_int_equal(e.code, bad[i].code);
    }
}

static void what_jansson_refuses_is_repaired(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d =
        parse_json(&text, "{" FORMAT ",'id':'a\\u0000b\\ud800','user':'\xff\xe2\x82',"
                          "'real':1e999,'big':123456789012345678901234567890,"
                          "'app':{'id':'\\ud83d\\ude00','version':'\\udc00\\ud800\\ud800'},"
                          "'threads':[{'frames':[18446744073709551615,9223372036854775808]}]}");
    assert_string_equal(d.id, "a\xef\xbf\xbd"
                              "b\xef\xbf\xbd");
    assert_string_equal(d.user, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(d.app.id, "\xf0\x9f\x98\x80");
    assert_string_equal(d.app.version, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_true(d.threads[0].stack.frames[0] == UINT64_MAX);
    assert_true(d.threads[0].stack.frames[1] == UINT64_C(1) << 63);
    assert_true(d.replaced_bytes == 2 + 3 + 3 + 1);
    dump_release(&d);
    strbuf_release(&text);
}

static void long_values_are_cut_between_characters(void **state) {
    (void)state;
    struct strbuf json = {0}, text = {0};
    strbuf_addstr(&json, "{" FORMAT ",'id':'");
    for (size_t i = 0; i < DUMP_VALUE_MAX; i++) {
        strbuf_addc(&json, 'i');
    }
    strbuf_addstr(&json, "','device':{'model':'");
    for (size_t i = 0; i < DUMP_VALUE_MAX - 2; i++) {
        strbuf_addc(&json, 'm');
    }
    strbuf_addstr(&json, "\xe2\x82\xac'},'names':{'1':['");
    for (size_t i = 0; i <= DUMP_VALUE_MAX; i++) {
        strbuf_addc(&json, 'f');
    }
    strbuf_addstr(&json, "',0]}}");
    struct dump d = parse_json(&text, strbuf_cstr(&json));
    assert_int_equal(strlen(d.id), DUMP_VALUE_MAX);
    assert_int_equal(strlen(d.device.model),
                     DUMP_VALUE_MAX - 2); /* the character at the cut is left out as a whole */
    assert_int_equal(strlen(d.names[0].symbol), DUMP_VALUE_MAX + 1);
    assert_int_equal(d.cut_values, 1);
    assert_int_equal(d.text_len, text.len);
    dump_release(&d);
    strbuf_release(&text);
    strbuf_release(&json);
}

static void the_last_of_two_members_counts(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(&text, "{'id':'first'," FORMAT ",'id':'second','\\u0069d':'third'}");
    assert_string_equal(d.id, "third");
    dump_release(&d);
    strbuf_release(&text);
}

/* Parses "[" repeated `depth` times, in a member that the model does not know. */
static enum st parse_nested(size_t depth, struct err *e) {
    struct strbuf text = {0};
    struct dump d;
    add_json(&text, "{" FORMAT ",'x':");
    for (size_t i = 0; i < depth; i++) {
        strbuf_addc(&text, '[');
    }
    for (size_t i = 0; i < depth; i++) {
        strbuf_addc(&text, ']');
    }
    strbuf_addc(&text, '}');
    enum st st = dump_parse(&d, text.data, text.len, e);
    dump_release(&d);
    strbuf_release(&text);
    return st;
}

static enum st parse_many(const char *before, const char *each, const char *after, size_t count,
                          struct err *e) {
    struct strbuf text = {0};
    struct dump d;
    add_json(&text, before);
    for (size_t i = 0; i < count; i++) {
        strbuf_addstr(&text, i ? "," : "");
        add_json(&text, each);
    }
    add_json(&text, after);
    enum st st = dump_parse(&d, text.data, text.len, e);
    dump_release(&d);
    strbuf_release(&text);
    return st;
}

static void limits_are_exact(void **state) {
    (void)state;
    static const struct {
        const char *before, *each, *after;
        size_t most;
    } lists[] = {
        {"{" FORMAT ",'threads':[{'frames':[", "1", "]}]}", DUMP_FRAMES_MAX},
        {"{" FORMAT ",'threads':[", "{}", "]}", DUMP_STACKS_MAX},
        {"{" FORMAT ",'samples':{'stacks':[", "{}", "]}}", DUMP_STACKS_MAX},
        {"{" FORMAT ",'images':[", "{'load':1}", "]}", DUMP_IMAGES_MAX},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct err e = {0};
        assert_int_equal(
            parse_many(lists[i].before, lists[i].each, lists[i].after, lists[i].most, &e), ST_OK);
        assert_int_equal(
            parse_many(lists[i].before, lists[i].each, lists[i].after, lists[i].most + 1, &e),
            ST_ERR);
        assert_int_equal(e.code, ERR_LIMIT);
    }
    struct err e = {0};
    assert_int_equal(parse_nested(DUMP_DEPTH_MAX - 1, &e),
                     ST_OK); /* the object itself is one level */
    assert_int_equal(parse_nested(DUMP_DEPTH_MAX, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    err_clear(&e);
    assert_int_equal(parse_many("{" FORMAT ",'x':[", "0", "]}", 5000000, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT); /* the limit of work is reached */
    err_clear(&e);
    struct dump d;
    assert_int_equal(dump_parse(&d, "", (size_t)DUMP_TEXT_MAX + 1, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
}

static void texts_of_enums_go_both_ways(void **state) {
    (void)state;
    for (int i = DUMP_SYMBOLS_UNSET; i <= DUMP_SYMBOLS_DAMAGED; i++) {
        const char *text = dump_symbols_text((enum dump_symbols)i);
        enum dump_symbols back = DUMP_SYMBOLS_UNSET;
        assert_true(dump_symbols_parse(text, strlen(text), &back));
        assert_int_equal(back, i);
    }
    for (int i = DUMP_SOURCE_NONE; i <= DUMP_SOURCE_REPORT; i++) {
        const char *text = dump_source_text((enum dump_source)i);
        enum dump_source back = DUMP_SOURCE_NONE;
        assert_true(dump_source_parse(text, strlen(text), &back));
        assert_int_equal(back, i);
    }
    enum dump_symbols symbols = DUMP_SYMBOLS_OK;
    assert_false(dump_symbols_parse("okay", 4, &symbols));
    assert_int_equal(symbols, DUMP_SYMBOLS_OK);
}

/* The manual page's example is the text between its first .Bd and .Ed. */
static void the_manual_pages_example_is_a_dump(void **state) {
    (void)state;
    struct filemap page = {0};
    if (filemap_open(&page, "man/stall-dump.5", 0, NULL) != ST_OK) {
        fail_msg("man/stall-dump.5 is not there");
    }
    struct strbuf all = {0}, example = {0};
    strbuf_add(&all, page.data, page.size);
    const char *start = strstr(strbuf_cstr(&all), "\n.Bd -literal");
    assert_non_null(start);
    start = strchr(start + 1, '\n');
    const char *end = strstr(start, "\n.Ed");
    assert_non_null(end);
    strbuf_add(&example, start, (size_t)(end - start));
    struct dump d;
    struct err e = {0};
    if (dump_parse(&d, example.data, example.len, &e) != ST_OK) {
        fail_msg("%s", e.text);
    }
    assert_true(d.image_count > 0 && d.thread_count > 0 && d.sample_count > 0);
    assert_non_null(d.locations);
    assert_non_null(d.threads[0].stack.locations);
    assert_true(d.name_count > 0 && d.ring_count > 0 && d.heaviest >= 0);
    assert_non_null(d.threads[0].waits_for.kind);
    dump_release(&d);
    strbuf_release(&example);
    strbuf_release(&all);
    filemap_release(&page);
}

static void parse_full(void *ctx, bool refused) {
    const struct strbuf *text = ctx;
    struct dump d;
    struct err e = {0};
    enum st st = dump_parse(&d, text->data, text->len, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    dump_release(&d);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf text = {0};
    add_json(&text, full);
    strbuf_truncate(&text, text.len - 1);
    add_json(&text, ",'user':'\\u0041','context':[1"); /* an escaped value, and more values than the
                                                          reader expects */
    for (int i = 0; i < 1000; i++) {
        strbuf_addstr(&text, ",1");
    }
    add_json(&text, "]}");
    assert_true(failmalloc_sweep(parse_full, &text) > 5);
    strbuf_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_is_read),
        cmocka_unit_test(images_and_names_are_read),
        cmocka_unit_test(stacks_are_read),
        cmocka_unit_test(locations_of_an_earlier_run_are_read),
        cmocka_unit_test(numbers_of_locations_are_numbers),
        cmocka_unit_test(of_two_names_the_last_one_counts),
        cmocka_unit_test(the_least_dump_has_everything_absent),
        cmocka_unit_test(wrong_types_count_as_absent),
        cmocka_unit_test(what_frames_and_images_say_must_be_right),
        cmocka_unit_test(other_json_is_no_dump),
        cmocka_unit_test(what_is_not_json_is_refused_with_its_place),
        cmocka_unit_test(what_jansson_refuses_is_repaired),
        cmocka_unit_test(long_values_are_cut_between_characters),
        cmocka_unit_test(the_last_of_two_members_counts),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(texts_of_enums_go_both_ways),
        cmocka_unit_test(the_manual_pages_example_is_a_dump),
        cmocka_unit_test(no_memory_is_an_error),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
