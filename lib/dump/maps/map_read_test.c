/* Tests of documents read by maps: frames that are given by address, offset or name are placed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "dump/maps/map_support_test.h"

#define HEAD                                                                                       \
    "map shop\nneeds shop\nthreads threads.*\nframes frames.*\nstall.kind = hang\n"                \
    "thread.id id\nthread.name name\nframe.address pc\nframe.symbol fn\n"

static void a_map_of_ones_own_reads_a_form_of_ones_own(void **state) {
    static const char map[] =
        (HEAD "id uid\ntime at\nuser who\napp.id bundle\napp.version v like \"{} (*\"\n"
              "app.build v like \"* ({})\"\ndevice.os os + release\ndevice.arch cpu\n"
              "stall.duration_ms ms in s\nstall.threshold_ms limit in words\n"
              "stall.fatal died\norder outermost-first\nimages libs.*\nimage.uuid u\n"
              "image.path p\nimage.load b in hex\nimage.size n\nimage.in_app mine\n");
    struct converted c = convert_by_map(
        map, "{'shop':1,'uid':'x1','at':1763719200.5,'who':77,'bundle':'com.example',"
             "'v':'5.3 (12)','os':'iOS','release':'18.7','cpu':'ARM-64','ms':2.5,"
             "'limit':'2 sec','died':true,'libs':[{'u':'00000000-0000-4000-8000-000000000001',"
             "'p':'/a/Shop','b':'100000000','n':4096,'mine':1},{'u':"
             "'00000000-0000-4000-8000-000000000002','p':'/usr/lib/libx.dylib','b':'100001000'}],"
             "'threads':[{'id':3,'name':'ui','frames':[{'pc':4294967300,'fn':'main'},"
             "{'pc':'0x100001010'}]}]}");
    (void)state;
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->id, "x1");
    assert_string_equal(d->time, "2025-11-21T10:00:00.500Z");
    assert_string_equal(d->user, "77");
    assert_string_equal(d->app.id, "com.example");
    assert_string_equal(d->app.version, "5.3");
    assert_string_equal(d->app.build, "12");
    assert_string_equal(d->device.os, "iOS 18.7");
    assert_string_equal(d->device.arch, "arm64");
    assert_string_equal(d->stall.kind, "hang");
    assert_string_equal(d->stall.detector, "shop");
    assert_int_equal(d->stall.duration_ms, 2500);
    assert_int_equal(d->stall.threshold_ms, 2000);
    assert_true(d->stall.fatal);
    assert_int_equal(d->image_count, 2);
    assert_true(d->images[0].in_app);
    assert_false(d->images[1].in_app);
    assert_string_equal(d->images[1].name, "libx.dylib");
    assert_int_equal(d->thread_count, 1);
    assert_true(d->threads[0].main);
    check_frames(&d->threads[0].stack, FRAMES(4294971408, 4294967300));
    assert_string_equal(dump_name_at(d, 4294967300)->symbol, "main");
    release_converted(&c);
}

static void offsets_and_names_get_a_place(void **state) {
    static const char map[] = (HEAD "frame.offset off\nframe.image lib\nframe.uuid u\n"
                                    "frame.file file\nframe.line line\nframe.in_app mine\n");
    struct converted c = convert_by_map(
        map, "{'shop':1,'threads':[{'frames':[{'off':32,'lib':'a.so','u':"
             "'00000000-0000-4000-8000-000000000001'},{'fn':'f','lib':'b.so','mine':true},"
             "{'fn':'g','file':'g.kt','line':7,'mine':true},{},{'fn':'f','lib':'b.so'},"
             "{'off':5}]}]}");
    (void)state;
    const struct dump *d = only_dump(&c);
    const struct dump_stack *s = &d->threads[0].stack;
    assert_int_equal(s->frame_count, 6);
    assert_int_equal(d->image_count, 2);
    int32_t a = dump_image_at(d, s->frames[0]), b = dump_image_at(d, s->frames[1]);
    assert_string_equal(d->images[a].name, "a.so");
    assert_int_equal(s->frames[0] - d->images[a].load, 32);
    assert_string_equal(d->images[b].name, "b.so");
    assert_true(d->images[b].in_app);
    assert_int_equal(d->images[b].id.kind, IMAGE_ID_NONE);
    assert_int_equal(dump_image_at(d, s->frames[2]), -1);
    const struct dump_name *g = dump_name_at(d, s->frames[2]);
    assert_string_equal(g->file, "g.kt");
    assert_int_equal(g->line, 7);
    assert_true(g->in_app);
    assert_int_equal(s->frames[3], 0); /* a frame that cannot be read keeps its place */
    assert_int_equal(s->frames[4], s->frames[1]);
    assert_int_equal(s->frames[5], 0);
    assert_string_equal(d->lack, "2 frames that could not be read");
    release_converted(&c);
}

static void an_offset_tells_where_its_image_is_if_all_agree(void **state) {
    static const char map[] = (HEAD "frame.offset off\nframe.image lib\n");
    struct converted c = convert_by_map(map, "{'shop':1,'threads':[{'frames':["
                                             "{'pc':4294971392,'off':4096,'lib':'a'},"
                                             "{'pc':4294971408,'off':4112,'lib':'a','fn':'f'},"
                                             "{'pc':8589934592,'off':7,'lib':'b','fn':'g'},"
                                             "{'pc':8589934600,'off':15,'lib':'b','fn':'h'},"
                                             "{'pc':8589934700,'off':0,'lib':'b'}]}]}");
    (void)state;
    const struct dump *d = only_dump(&c);
    const struct dump_stack *s = &d->threads[0].stack;
    assert_int_equal(s->frames[0], 4294971392);
    int32_t a = dump_image_at(d, s->frames[0]), b = dump_image_at(d, s->frames[2]);
    assert_int_equal(d->images[a].load, 4294967296);
    /* These offsets are offsets in functions, so that addresses and names decide. */
    assert_true(b >= 0 && b != a);
    assert_string_equal(d->images[b].name, "b");
    assert_true(d->images[b].unplaced);
    assert_int_equal(s->frames[3], 8589934600);
    assert_string_equal(dump_name_at(d, s->frames[3])->symbol, "h");
    assert_int_equal(s->frames[4], 8589934700);
    assert_int_equal(dump_image_at(d, s->frames[4]), b);
    release_converted(&c);
}

static void an_image_without_a_name_still_ends_the_one_below(void **state) {
    static const char map[] = (HEAD "frame.image lib\nframe.load at\n");
    struct converted c = convert_by_map(
        map, "{'shop':1,'threads':[{'frames':[{'pc':4294971392,'at':4294967296,'lib':'a'},"
             "{'pc':8589938688,'at':8589934592,'fn':'0x200001000'}]}]}");
    (void)state;
    const struct dump *d = only_dump(&c);
    const struct dump_stack *s = &d->threads[0].stack;
    assert_int_equal(d->image_count, 2);
    assert_int_equal(dump_image_at(d, s->frames[1]), 1);
    assert_int_equal(s->frames[1], 8589938688);
    assert_null(dump_name_at(d, s->frames[1])); /* an address is no name */
    release_converted(&c);
}

static void a_thread_is_the_same_by_id_by_stack_or_by_its_mark(void **state) {
    static const char map[] = (HEAD "threads error\nthread.crashed hit\n");
    static const struct {
        const char *json;
        size_t threads, main_frames;
    } rows[] = {
        {"{'shop':1,'error':{'id':1,'frames':[{'pc':5}]},'threads':[{'id':1},{'id':2,'frames':[{"
         "'pc':9},{'pc':8}]}]}",
         2, 1},
        {"{'shop':1,'error':{'frames':[{'pc':5}]},'threads':[{'id':1,'frames':[{'pc':5}]}]}", 1, 1},
        {"{'shop':1,'error':{'frames':[{'pc':5},{'pc':6}]},'threads':[{'id':1},{'id':2,'hit':true}"
         "]}",
         2, 2},
        {"{'shop':1,'error':{'frames':[{'pc':5},{'pc':6}]},'threads':[{'id':1,'frames':[{'pc':7}]}]"
         "}",
         2, 1},
        {"{'shop':1,'error':{'frames':[{'pc':5}]}}", 1, 1},
        /* the list has no ids, but the error has one: of two equal stacks the crashed thread's is
           meant */
        {"{'shop':1,'error':{'id':0,'frames':[{'pc':5},{'pc':6}]},'threads':[{'frames':[{'pc':5},{"
         "'pc':6}]},{'hit':true,'frames':[{'pc':5},{'pc':6}]}]}",
         2, 2},
        {"{'shop':1,'error':{'id':0,'frames':[{'pc':5}]},'threads':[{'id':7,'frames':[{'pc':5}]}]}",
         2, 1},
        {"{'shop':1,'error':{'id':3},'threads':[{'frames':[{'pc':7}]}]}", 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct converted c = convert_by_map(map, rows[i].json);
        const struct dump *d = only_dump(&c);
        assert_int_equal(d->thread_count, rows[i].threads);
        const struct dump_thread *t = dump_main_thread(d);
        assert_non_null(t);
        assert_int_equal(t->stack.frame_count, rows[i].main_frames);
        release_converted(&c);
    }
}

static void of_threads_without_ids_the_crashed_one_is_told_again(void **state) {
    struct converted c = convert_by_map(
        HEAD "threads error\nthread.crashed hit\n",
        "{'shop':1,'error':{'id':0,'name':'ui','frames':[{'pc':5}]},'threads':[{'frames':[{'pc':5}]"
        "},{'hit':true,'frames':[{'pc':5}]}]}");
    (void)state;
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    assert_null(d->threads[0].name);
    assert_string_equal(d->threads[1].name, "ui");
    assert_int_equal(d->threads[1].id, 0);
    release_converted(&c);
}

/* Checks that the first path that leads to a list gives the threads. Threads without a stack count,
 * too. */
static void the_list_of_threads_is_what_the_first_path_with_one_leads_to(void **state) {
    static const char *const lists[] = {"{'values':[%s]}", "[%s]"};
    static const char map[] =
        "map shop\nneeds shop\nthreads threads.values.* | threads.* | error\nframes frames.*\n"
        "stall.kind = crash\nthread.id id\nthread.name name\nthread.main main\n"
        "thread.crashed hit\nframe.address pc\n";
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct strbuf json = {0};
        strbuf_addf(&json, "{'shop':1,'error':{'id':1,'frames':[{'pc':5},{'pc':6}]},'threads':");
        const char *hole = strchr(lists[i], '%');
        strbuf_add(&json, lists[i], (size_t)(hole - lists[i]));
        strbuf_addf(&json, "{'id':1,'name':'ui','main':true,'hit':true},"
                           "{'id':2,'name':'worker','frames':[{'pc':9}]}");
        strbuf_addf(&json, "%s}", hole + 2);
        struct converted c = convert_by_map(map, strbuf_cstr(&json));
        const struct dump *d = only_dump(&c);
        assert_int_equal(d->thread_count, 2);
        assert_string_equal(d->threads[0].name, "ui");
        assert_true(d->threads[0].main);
        assert_int_equal(d->threads[0].stack.frame_count, 2);
        assert_false(d->threads[1].main);
        assert_non_null(strstr(c.texts[0].data, "\"crashed\":true"));
        release_converted(&c);
        strbuf_release(&json);
    }
}

/* Sentry's older events of Apple's systems mark no main thread. The first thread is the main one,
 * even if its stack was destroyed. */
static void a_crashed_first_thread_without_a_stack_is_the_main_one(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'event_id':'a','exception':{'values':[{'type':'EXC_BAD_ACCESS','thread_id':0,"
        "'stacktrace':{'frames':[]}}]},'threads':{'values':["
        "{'id':0,'crashed':true,'stacktrace':{'frames':[]}},"
        "{'stacktrace':{'frames':[{'instruction_addr':'0x1000'}]}}]}}");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    assert_true(d->threads[0].main);
    assert_false(d->threads[1].main);
    assert_string_equal(d->lack, "the stack of its main thread");
    release_converted(&c);
}

/* Frames of minified code have a file and line, but no function. */
static void a_frame_may_have_a_place_and_no_function(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        "{'event_id':'a','exception':{'type':'Error','value':'x','stacktrace':{'frames':["
        "{'filename':'a.js','lineno':3},{'filename':'a.js','lineno':4,'function':null},"
        "{'filename':'a.js'}]}}}");
    const struct dump *d = only_dump(&c);
    const struct dump_stack *stack = &d->threads[0].stack;
    assert_int_equal(stack->frame_count, 3);
    const struct dump_name *name = dump_name_at(d, stack->frames[1]);
    assert_non_null(name);
    assert_string_equal(name->symbol, "<anonymous>");
    assert_string_equal(name->file, "a.js");
    assert_int_equal(name->line, 4);
    assert_int_equal(dump_name_at(d, stack->frames[2])->line, 3);
    assert_string_equal(d->lack, "1 frame that could not be read");
    assert_non_null(strstr(c.texts[0].data, "\"reason\":\"x\""));
    release_converted(&c);
}

/* App Store Connect gives a frame without a name an offset in its image, or an address alone. */
static void a_frame_of_app_store_connect_lies_at_its_offset(void **state) {
#define LOG(frame)                                                                                 \
    "{'productData':[{'diagnosticLogs':[{'diagnosticMetaData':{'event':'hang','deviceType':"       \
    "'iPhone13_3'},'callStackTree':[{'callStacks':[{'callStackRootFrames':[{'sampleCount':5,"      \
    "'binaryUUID':'00000000-0000-4000-8000-000000000001','binaryName':'Shop'," frame "}]}]}]}]}]}"
    (void)state;
    struct converted c =
        convert_json_of(LOG("'address':'0x102f48b78','offsetIntoBinaryTextSegment':'7236'"));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->device.model, "iPhone13,3");
    assert_int_equal(d->image_count, 1);
    check_frames(&d->threads[0].stack, FRAMES(d->images[0].load + 7236));
    assert_null(d->lack);
    release_converted(&c);
    c = convert_json_of(LOG("'address':'0x102f48b78','offsetIntoBinaryTextSegment':''"));
    check_frames(&only_dump(&c)->threads[0].stack, FRAMES(0x102f48b78));
    assert_string_equal(only_dump(&c)->lack, "1 frame whose image has no load address");
    assert_int_equal(only_dump(&c)->image_count, 1); /* an image of which only the UUID is known */
    assert_true(only_dump(&c)->images[0].unplaced);
    assert_int_equal(only_dump(&c)->images[0].id.kind, IMAGE_ID_UUID);
    release_converted(&c);
}

/* A frame with a name keeps its address, and its image keeps the UUID. */
static void a_named_frame_of_app_store_connect_keeps_its_address(void **state) {
    (void)state;
    struct converted c = convert_json_of(
        LOG("'address':'0x102f48b78','symbolName':'-[Cart add:]','offsetIntoSymbol':'112',"
            "'offsetIntoBinaryTextSegment':'','isBlameFrame':true"));
    const struct dump *d = only_dump(&c);
    check_frames(&d->threads[0].stack, FRAMES(0x102f48b78));
    assert_int_equal(d->image_count, 1);
    assert_true(d->images[0].unplaced);
    assert_true(d->images[0].in_app);
    assert_string_equal(d->images[0].name, "Shop");
    assert_int_equal(d->images[0].id.kind, IMAGE_ID_UUID);
    const struct dump_name *name = dump_name_at(d, 0x102f48b78);
    assert_non_null(name);
    assert_int_equal(name->offset, 112);
    assert_null(d->lack);
    release_converted(&c);
}

/* Two images cannot lie at the same addresses, so that neither position is believed. */
static void unplaced_images_that_overlap_have_made_up_places(void **state) {
    (void)state;
    struct converted c = convert_by_map(
        "map m\nneeds threads\nthreads threads.*\nframes frames.*\nframe.address pc\n"
        "frame.image image\nframe.uuid uuid\nframe.symbol name\nstall.kind = hang\n",
        "{'threads':[{'frames':[{'pc':'0x5000','image':'A','name':'a'},"
        "{'pc':'0x6000','image':'B','name':'b'},{'pc':'0x7000','image':'A','name':'c'},"
        "{'pc':'0x9000','image':'C','name':'d'}]}]}");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->image_count, 3);
    for (size_t i = 0; i < d->threads[0].stack.frame_count; i++) {
        uint64_t address = d->threads[0].stack.frames[i];
        int32_t image = dump_image_at(d, address);
        assert_in_range(image, 0, 2);
        assert_string_equal(d->images[image].name, i == 3 ? "C" : i == 1 ? "B" : "A");
        assert_int_equal(d->images[image].unplaced, i == 3);
        assert_int_equal(address == 0x9000, i == 3);
        assert_non_null(dump_name_at(d, address));
    }
    release_converted(&c);
}

#define TREES                                                                                      \
    "map t\nneeds stacks\nthreads stacks.*\ntrees roots children sub count n\n"                    \
    "frame.address pc\nstall.kind = hang\ncontext.screen view\nthread.main main\n"

static void trees_become_samples(void **state) {
    static const char json[] =
        "{'stacks':[{'main':true,'roots':[{'pc':1,'n':5,'sub':[{'pc':2,'n':3},{'pc':3,'n':1}]}]},"
        "{'roots':[{'pc':9,'n':2}]}],'view':'Cart'}";
    struct converted c = convert_by_map(TREES "order outermost-first\n", json);
    (void)state;
    const struct dump *d = only_dump(&c);
    assert_string_equal(dump_context(d, "screen"), "Cart");
    assert_int_equal(d->sample_count, 3);
    check_frames(&d->samples[0], FRAMES(1));
    check_frames(&d->samples[1], FRAMES(2, 1));
    assert_int_equal(d->samples[1].count, 3);
    assert_int_equal(d->thread_count, 2);
    check_frames(&d->threads[0].stack, FRAMES(2, 1));
    check_frames(&d->threads[1].stack, FRAMES(9));
    release_converted(&c);
    c = convert_by_map(TREES "order innermost-first\n", json);
    check_frames(&only_dump(&c)->samples[1], FRAMES(1, 2));
    release_converted(&c);
    c = convert_by_map(TREES, "{'stacks':[{'roots':[{'pc':1,'sub':[{'pc':2},{'pc':3}]}]},"
                              "{'roots':[{'pc':9}]}]}");
    /* No member says which thread is the main one, so the samples of all threads count. */
    assert_int_equal(only_dump(&c)->sample_count, 3);
    release_converted(&c);
    c = convert_by_map(TREES "samples.per_thread each\n",
                       "{'each':true,'stacks':[{'roots':[{'pc':1,'n':4}]},{'roots':[{'pc':9}]}]}");
    assert_int_equal(only_dump(&c)->sample_count,
                     1); /* only the samples of the first thread count */
    check_frames(&only_dump(&c)->samples[0], FRAMES(1));
    release_converted(&c);
}

static void a_share_counts_in_millionths(void **state) {
    struct converted c = convert_by_map(HEAD "thread.samples w in ppm\n",
                                        "{'shop':1,'threads':[{'w':0.25,'frames':[{'fn':'f'}]}]}");
    (void)state;
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->sample_count, 1);
    assert_int_equal(d->samples[0].count, 250000);
    release_converted(&c);
}

static void one_document_may_hold_many(void **state) {
    static const char map[] = (HEAD "each list.* | .\n");
    struct converted c =
        convert_by_map(map, "{'shop':1,'list':[{'threads':[{'frames':[{'pc':5}]}]},{'threads':[]},"
                            "{'threads':[{'frames':[{'pc':6}]}]}]}");
    (void)state;
    assert_int_equal(c.st,
                     ST_ERR); /* the second report has no stack, which does not affect the others */
    assert_non_null(strstr(c.err.text, "shop 1: "));
    assert_int_equal(c.count, 2);
    assert_string_not_equal(c.dumps[0].id, c.dumps[1].id);
    release_converted(&c);
    c = convert_by_map(map, "{'shop':1,'threads':[{'frames':[{'pc':5}]}]}");
    (void)only_dump(&c);
    release_converted(&c);
}

static void what_no_map_claims_is_left_alone(void **state) {
    static const char *const texts[] = {"{'format':'stall-dump/1','shop':1}",
                                        "{'format':'stall-session/1','shop':1}", "{'shop':null}",
                                        "{'a':{'shop':1}}", "[7]"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct converted c = convert_by_map(HEAD, texts[i]);
        assert_int_equal(c.st, ST_NONE);
        release_converted(&c);
    }
}

static void a_users_map_comes_before_the_formats(void **state) {
    static const char map[] = "map mine\nneeds callStacks\nthreads .\nframes callStacks.*\n"
                              "frame.address pc\nstall.kind = cpu\n";
    struct converted c = convert_by_map(map, "{'callStacks':[{'pc':5}]}");
    (void)state;
    assert_string_equal(only_dump(&c)->stall.kind, "cpu");
    release_converted(&c);
}

static void conditions_choose_among_sources(void **state) {
    static const char map[] =
        (HEAD "stall.at_ms a when k is x y | b when k is z* | = 9\n"
              "stall.ended s as ok = true\nstall.reason r.* like \"code {}\"\n");
    static const struct {
        const char *json;
        int64_t at_ms;
    } rows[] = {{"'k':'x','a':1,'b':2", 1}, {"'k':'zz','a':1,'b':2", 2}, {"'a':1,'b':2", 9}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    "{'shop':1,%s,'s':'ok','r':['x',7,'code 5'],'threads':[{'frames':[{'pc':5}]}]}",
                    rows[i].json);
        struct converted c = convert_by_map(map, strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_int_equal(d->stall.at_ms, rows[i].at_ms);
        assert_true(d->stall.ended);
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void a_threads_state_and_wait_are_of_the_first_source_that_tells(void **state) {
    static const char map[] =
        (HEAD "threads error\nthread.state s as RUN = running, HELD = waiting\n"
              "thread.waits_for s as HELD = monitor\n");
    (void)state;
    struct converted c = convert_by_map(
        map,
        "{'shop':1,'threads':[{'id':1,'frames':[{'pc':5}]},{'id':2,'s':'RUN','frames':[{'pc':6"
        "}]},{'id':3,'s':'odd','frames':[{'pc':7}]}],'error':{'id':1,'s':'HELD','frames':[{'pc'"
        ":5}]}}");
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 3);
    assert_string_equal(dump_thread_by_id(d, 1)->state, "waiting");
    assert_string_equal(dump_thread_by_id(d, 1)->waits_for.kind, "monitor");
    assert_string_equal(dump_thread_by_id(d, 2)->state, "running");
    assert_null(dump_thread_by_id(d, 2)->waits_for.kind);
    assert_null(dump_thread_by_id(d, 3)->state);
    release_converted(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_of_ones_own_reads_a_form_of_ones_own),
        cmocka_unit_test(offsets_and_names_get_a_place),
        cmocka_unit_test(an_offset_tells_where_its_image_is_if_all_agree),
        cmocka_unit_test(an_image_without_a_name_still_ends_the_one_below),
        cmocka_unit_test(a_thread_is_the_same_by_id_by_stack_or_by_its_mark),
        cmocka_unit_test(of_threads_without_ids_the_crashed_one_is_told_again),
        cmocka_unit_test(the_list_of_threads_is_what_the_first_path_with_one_leads_to),
        cmocka_unit_test(a_crashed_first_thread_without_a_stack_is_the_main_one),
        cmocka_unit_test(a_frame_may_have_a_place_and_no_function),
        cmocka_unit_test(a_frame_of_app_store_connect_lies_at_its_offset),
        cmocka_unit_test(a_named_frame_of_app_store_connect_keeps_its_address),
        cmocka_unit_test(unplaced_images_that_overlap_have_made_up_places),
        cmocka_unit_test(trees_become_samples),
        cmocka_unit_test(a_share_counts_in_millionths),
        cmocka_unit_test(one_document_may_hold_many),
        cmocka_unit_test(what_no_map_claims_is_left_alone),
        cmocka_unit_test(a_users_map_comes_before_the_formats),
        cmocka_unit_test(conditions_choose_among_sources),
        cmocka_unit_test(a_threads_state_and_wait_are_of_the_first_source_that_tells),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("map_read", tests, NULL, NULL);
}
