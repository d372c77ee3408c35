/* Tests of the language of maps: each fault in a map is named with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "base/strbuf.h"
#include "dump/maps/map_private.h"

#define GOOD "map m\nneeds a\nthreads t\nframes f\nframe.address p\nstall.kind = hang\n"

static void note_fault(void *ctx, const char *file, uint32_t line, const char *text) {
    struct strbuf *out = ctx;
    assert_string_equal(file, "x.map");
    strbuf_addf(out, "%u: %s|", (unsigned)line, text);
}

/* Checks the faults of a map; "": it has none. */
static void check_faults(const char *text, const char *want) {
    struct report_maps *maps = NULL;
    struct strbuf faults = {0};
    struct err e = {0};
    assert_int_equal(report_maps_new(&maps, NULL), ST_OK);
    enum st st = report_maps_add(maps, "x.map", text, strlen(text), note_fault, &faults, &e);
    assert_string_equal(strbuf_cstr(&faults), want);
    assert_int_equal(st, *want ? ST_ERR : ST_OK);
    assert_int_equal(maps->list.len, *want ? 0 : 1);
    if (*want) {
        assert_memory_equal(e.text, "x.map:", 6);
    }
    report_maps_free(maps);
    strbuf_release(&faults);
}

static void a_map_says_where_things_are(void **state) {
    (void)state;
    check_faults(GOOD, "");
    check_faults("# a comment\n\n" GOOD "  id x.y | z # and one\r\n", "");
    check_faults(GOOD "id .\"#\".b | = \"a b\" when x is y z\n", "");
    check_faults(GOOD "device.os a + b with \" \" | c[k=v w].d\n", "");
    check_faults(GOOD "stall.duration_ms a in s | b like \"for {} ms\" | c in words\n", "");
    check_faults(GOOD "frame.offset o in hex\n", "");
    check_faults("map m\nneeds a\nthreads t\ntrees r children c count n\nframe.symbol s\n"
                 "stall.kind = hang\ncontext.screen a\nthread.samples w in ppm\n",
                 "");
    check_faults(GOOD "thread.main m as x = true, * = false\n", "");
}

static void each_fault_is_told_with_its_line(void **state) {
    (void)state;
    check_faults("", "0: no statement 'map NAME'|");
    check_faults("map m\n", "1: no 'needs': the map would claim every object|");
    check_faults("map m\nneeds a\n", "2: no 'threads', or neither 'frames' nor 'trees'|");
    check_faults("map m\nneeds a\nthreads t\nframes f\n",
                 "4: none of frame.address, frame.offset and frame.symbol|");
    check_faults("map m\nneeds a\nthreads t\nframes f\nframe.symbol s\n", "5: no stall.kind|");
    check_faults("needs a\n" GOOD, "1: a map begins with 'map NAME', not 'needs'|"
                                   "2: a second 'map'|");
    check_faults(GOOD "id\nid x y\nid z\nfoo 1\n",
                 "7: a path is missing|8: set before: 'id'|9: set before: 'id'|"
                 "10: neither map, needs, each, order, images, threads, frames, trees nor a field: "
                 "'foo'|");
    check_faults(GOOD "id x y\n", "7: neither with, like, in, as nor when: 'y'|");
    check_faults(GOOD "id \"x\n", "7: a quote is not closed|");
    check_faults(GOOD "id = a | x\n",
                 "7: never reached, as a value without a condition stands before it|");
    check_faults(GOOD "id x as * = a, b = c\n", "7: never reached, as '*' stands before it|");
    check_faults(GOOD "id x as a\n", "7: '=' and a value are missing|");
    check_faults(GOOD "id x like \"{}{}\"\n", "7: a pattern takes one {}|");
    check_faults(GOOD "id x in s\n", "7: only durations are in 's'|");
    check_faults(GOOD "stall.at_ms x in hex\n", "7: only addresses and numbers are in 'hex'|");
    check_faults(GOOD "stall.at_ms x in days\n",
                 "7: not a unit (ms, ns, us, s, min, h, words, hex or ppm): 'days'|");
    check_faults(GOOD "stall.fatal = maybe\n", "7: neither true nor false: 'maybe'|");
    check_faults(GOOD "frame.line = x\n", "7: not a number: 'x'|");
    check_faults(GOOD "id x when y\n", "7: 'when' needs PATH is VALUE|");
    check_faults(GOOD "trees r\n", "7: 'trees' needs 'children NAME'|");
    check_faults(GOOD "trees r children c\ntrees q children d\n", "8: a second 'trees'|");
    check_faults(GOOD "stall.at_ms x in ppm\n", "7: only addresses and numbers are in 'ppm'|");
    check_faults(GOOD "order up\n", "7: neither innermost-first nor outermost-first: 'up'|");
    check_faults(GOOD "order innermost-first\norder innermost-first\n", "8: a second 'order'|");
    check_faults(GOOD "id x.\n", "7: a name is empty in a path 'x.'|");
    check_faults("map m\nneeds a\nthreads t\nframes f\nframe.symbol s\nstall.kind k\n",
                 "6: stall.kind needs '= KIND', or 'as PATTERN = KIND'|");
    check_faults("map m\nneeds a\nthreads t\nframes f\nframe.symbol s\nstall.kind k as a = slow\n",
                 "6: not a kind (hang, launch, cpu, disk-write, watchdog, slow-action or crash): "
                 "'slow'|");
    check_faults("map A\n", "1: a name has lower-case letters, digits and '-': 'A'|"
                            "1: no 'needs': the map would claim every object|");
}

static void a_map_is_not_endless(void **state) {
    struct report_maps *maps = NULL;
    struct err e = {0};
    char *text = calloc(1, 300000);
    (void)state;
    assert_non_null(text);
    memset(text, ' ', 299999);
    assert_int_equal(report_maps_new(&maps, NULL), ST_OK);
    assert_int_equal(report_maps_add(maps, "x", text, 299999, NULL, NULL, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    report_maps_free(maps);
    free(text);
}

static void a_pattern_takes_what_stands_in_its_hole(void **state) {
    static const struct {
        const char *pattern, *text, *taken; /* taken: text of the hole {}; NULL: no match */
        bool number;
    } rows[] = {
        {"*", "", "", false},
        {"a*c", "abbc", "abbc", false},
        {"a*c", "abb", NULL, false},
        {"App Hang*", "App Hang Fully Blocked", "App Hang Fully Blocked", false},
        {"{}", "all", "all", false},
        {"for {} ms", "for 20 ms", "20", false},
        {"for {} ms", "for 20 s", NULL, false},
        {"*for at least {} ms*", "App hanging for at least 2000 ms.", "2000", false},
        {"*@{}+*", "com.example@5.3.1+12", "5.3.1", false},
        {"*@{}", "com.example@5.3.1", "5.3.1", false},
        {"*@*+{}", "com.example@5.3.1+12", "12", false},
        {"{}@*", "a@b@c", "a", false},
        {"a*b*c", "aXbYbZc", "aXbYbZc", false},
        {"", "x", NULL, false},
        {"*{} seconds*", "Hang of 5.4 seconds", "5.4", true},
        {"*{} seconds*", "Hang of some seconds", NULL, true},
        {"{}.", "5.", "5", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct value_text taken = {0};
        bool like =
            map_like(rows[i].pattern, rows[i].text, strlen(rows[i].text), rows[i].number, &taken);
        if (like != (rows[i].taken != NULL) ||
            (like && (taken.len != strlen(rows[i].taken) ||
                      memcmp(taken.s, rows[i].taken, taken.len) != 0))) {
            fail_msg("'%s' on '%s'", rows[i].pattern, rows[i].text);
        }
    }
}

static void every_allocation_of_a_map(void *ctx, bool refused) {
    struct report_maps *maps = NULL;
    const char *text = ctx;
    struct err e = {0};
    enum st st = report_maps_new(&maps, &e);
    if (st == ST_OK) {
        st = report_maps_add(maps, "x.map", text, strlen(text), NULL, NULL, &e);
    }
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    report_maps_free(maps);
}

static void memory_may_run_out_in_a_map(void **state) {
    static char text[] =
        GOOD "id a + b with - like \"x{}\" as c = d when e is f g | h\neach i | j\n"
             "images k\nneeds l | m is n o\n";
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(every_allocation_of_a_map, text) > 5);
}

static void the_maps_that_are_built_in_have_no_fault(void **state) {
    struct report_maps *maps = NULL;
    struct err e = {0};
    (void)state;
    assert_int_equal(report_maps_new(&maps, NULL), ST_OK);
    if (report_maps_add_builtin(maps, &e) != ST_OK) {
        fail_msg("%s", e.text);
    }
    report_maps_free(maps);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_says_where_things_are),
        cmocka_unit_test(each_fault_is_told_with_its_line),
        cmocka_unit_test(a_map_is_not_endless),
        cmocka_unit_test(a_pattern_takes_what_stands_in_its_hole),
        cmocka_unit_test(memory_may_run_out_in_a_map),
        cmocka_unit_test(the_maps_that_are_built_in_have_no_fault),
    };
    return cmocka_run_group_tests_name("map_parse", tests, NULL, NULL);
}
