/* Tests that the part of a dump that the device wrote stays the same, whatever commands on hosts
 * have added. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "dump/dump.h"

static void assert_captured(const char *text, const char *want) {
    struct dump d;
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    assert_int_equal(dump_parse(&d, text, strlen(text), NULL), ST_OK);
    dump_write_captured(&d, &sink);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&out), want);
    assert_int_equal(d.captured_size, out.len);
    strbuf_release(&out);
    dump_release(&d);
}

#define HEAD   "{\"format\":\"stall-dump/1\""
#define IMAGE  "{\"load\":4096,\"name\":\"a b\""
#define THREAD "{\"main\":true,\"frames\":[4096]"
static const char captured[] = (HEAD ",\"images\":[" IMAGE "}],\"threads\":[" THREAD
                                     "}],\"samples\":{\"stacks\":[{\"frames\":[]}]},\"x\":{}}");

static void what_hosts_add_is_left_out(void **state) {
    (void)state;
    assert_captured(captured, captured);
    assert_captured(
        HEAD ",\"class\":{\"a\":[1]},\"images\":[" IMAGE
             ",\"symbols\":\"ok\",\"symbols_file\":\"/a/b\"}],\"threads\":[" THREAD
             ",\"locations\":[0]}],\"samples\":{\"stacks\":[{\"frames\":[],\"locations\":[]}]},"
             "\"x\":{},\"strings\":[\"f\"],\"locations\":[{\"image\":0,\"offset\":0,\"start\":0,"
             "\"lines\":[[0,-1,-1,0,0]],\"source\":\"dwarf\"}]}\n",
        captured);
}

static void white_space_between_tokens_is_left_out(void **state) {
    (void)state;
    assert_captured(" {\"format\": \"stall-dump/1\" ,\n\"images\" : [ " IMAGE
                    ", \"symbols\":\"ok\" } ],\"threads\":[" THREAD
                    "}\t],\"samples\":{\"stacks\":[{\"frames\":[]\n}]},\"x\":{ }} ",
                    captured);
}

static void odd_members_are_kept(void **state) {
    (void)state;
    assert_captured(HEAD "}", HEAD "}");
    assert_captured(HEAD ",\"symbols\":1,\"x\":{\"locations\":[]},\"samples\":{\"locations\":1}}",
                    HEAD ",\"symbols\":1,\"x\":{\"locations\":[]},\"samples\":{\"locations\":1}}");
    assert_captured("{\"strings\":[],\"format\":\"stall-dump/1\",\"threads\":[{\"locations\":[]}]}",
                    HEAD ",\"threads\":[{}]}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_hosts_add_is_left_out),
        cmocka_unit_test(white_space_between_tokens_is_left_out),
        cmocka_unit_test(odd_members_are_kept),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("dump_captured", tests, NULL, NULL);
}
