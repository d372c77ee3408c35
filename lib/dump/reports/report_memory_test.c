#include <jansson.h>
#include <stdlib.h>

#include "base/failmalloc.h"
#include "dump/reports/report_support_test.h"

/* Counts a dump and keeps no part of it. */
static enum st take_none(void *ctx, const char *text, size_t len, struct err *e) {
    size_t *count = ctx;
    (void)text;
    (void)e;
    *count += len > 0;
    return ST_OK;
}

static void convert_it(void *ctx, bool refused) {
    const struct strbuf *text = ctx;
    struct err e = {0};
    size_t count = 0;
    enum st st = report_convert(text->data, text->len, NULL, take_none, &count, &e);
    if (!refused) {
        assert_int_equal(st, ST_OK);
        assert_true(count > 0);
    } else if (st != ST_OK) {
        /* The error is ERR_NOMEM, with one exception: Jansson 2.14 does not check whether its lexer
         * could store a byte of a text longer than 15 bytes. The text is then cut, and may be
         * refused for its content. */
        assert_int_equal(st, ST_ERR);
        assert_true(err_is(&e));
    }
}

/* One document of each format, which makes its reader allocate for every purpose. */
static const char *const documents[] = {
    "{'report':{'id':'a','timestamp':'2026-11-20T09:12:44Z'},'system':{'system_name':'iOS',"
    "'system_version':'18','CFBundleExecutablePath':'/x/Shop.app/Shop'},'dump_type':2001,"
    "'binary_images':[{'image_addr':4096,'image_size':4096,'name':'/x/Shop.app/Shop'}],'crash':{"
    "'error':{'reason':'0x8badf00d'},'threads':[{'backtrace':{'contents':[{'instruction_addr':4100,"
    "'symbol_name':'f','symbol_addr':4098,'object_addr':8192}]}}]},'stack_string':"
    "'[{\\u0022instruction_addr\\u0022:18446744073709551615,\\u0022child\\u0022:[{\\u0022"
    "instruction_addr\\u0022:7}]}]'}",
    "{'hangDiagnostics':[{'callStackTree':'{\\u0022callStacks\\u0022:[{\\u0022callStackRootFrames"
    "\\u0022:[{\\u0022binaryUUID\\u0022:\\u0022u\\u0022,\\u0022address\\u0022:5000000000,\\u0022"
    "offsetIntoBinaryTextSegment\\u0022:4}]}]}','diagnosticMetaData':{'hangDuration':'2 s',"
    "'osVersion':'iPhone OS 18 (22A)'}}],'timeStampEnd':'2026-11-20 09:30:00'}",
    "{'bug_type':'309','os_version':'iPhone OS 18 "
    "(22A)'}\n{'usedImages':[{'base':4096,'name':'x'}],"
    "'threads':[{'queue':'q','frames':[{'imageIndex':0,'imageOffset':4,'symbol':'f','sourceFile':"
    "'f.c','sourceLine':3}]}],'lastExceptionBacktrace':[{'imageIndex':0,'imageOffset':4}],"
    "'termination':{'reasons':['a','b']},'captureTime':'2026-11-20 09:30:00'}",
    "{'bug_type':'288'}\n{'frontmostPids':[3],'incident':'a','reason':'why','processByPid':{'3':{"
    "'procname':'x','threadById':{'9':{'id':9,'name':'n','userFrames':[[0,4],[0,8]]}}}},"
    "'binaryImages':[['4c4c442c-5555-3144-a1de-7aabf56a019c',4096,'P']]}",
    "Date/Time:  2026-11-20 10:10:14 +0100\nCommand:  x\nEvent:  hang\nSteps:  2\n"
    "Process:  y [1]\nPowerstats for:  x [3]\n  Thread 0x1  Thread name 'n'\n"
    "  2  f + 1 (x + 4) [0x1004]\n    1  g (x + 8) [0x1008]\n  Binary Images:\n"
    "  0x1000 -  ???  x <4c4c442c55553144a1de7aabf56a019c> /x\n",
    "Process:         Shop [1]\nOS Version:      iPhone OS 18 (22A)\nException Codes: 0x8badf00d\n"
    "Termination Reason: x\n\nThread 0 name: q\nThread 0:\n0 Shop 0x1004 f (f.c:3)\n\nBinary "
    "Images:"
    "\n0x1000 - 0x1fff +Shop arm64 <4c4c442c55553144a1de7aabf56a019c> /x/Shop.app/Shop\n",
};

static void running_out_of_memory_is_an_error_and_leaks_nothing(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    json_malloc_t usual_malloc;
    json_free_t usual_free;
    json_get_alloc_funcs(&usual_malloc, &usual_free);
    json_set_alloc_funcs(malloc, free); /* failmalloc can then refuse Jansson's allocations, too */
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        struct strbuf text = {0};
        add_json(&text, documents[i]);
        unsigned long calls = failmalloc_sweep(convert_it, &text);
        if (calls < 8) {
            fail_msg("document %zu: %lu allocations", i, calls);
        }
        strbuf_release(&text);
    }
    json_set_alloc_funcs(usual_malloc, usual_free);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_out_of_memory_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests_name("report_memory", tests, NULL, NULL);
}
