/* Tests of the rules of stallkit-design(7), ADDRESS RULES, with a fake in place of debug info. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "dump/dump.h"
#include "symbolize/symbolize.h"

#define APP_UUID "6B834217-0000-3000-8000-000000000001"

/* One function, [0x1000, 0x1100) at base 0x100000000, with a call inlined at 0x1010 … 0x1020. */
enum { BASE = 0x10000000, FUNCTION = BASE + 0x1000, END = BASE + 0x1100 };

static size_t lookups;
static uint64_t last_address;

static enum st fake_lookup(struct lookup_source *s, uint64_t address, struct lookup_hit *hit,
                           struct err *e) {
    (void)s;
    lookups++;
    last_address = address;
    if (address == BASE + 0x2000) {
        return err_set(e, ERR_FORMAT, "damaged unit");
    }
    if (address < FUNCTION || address >= END) {
        return ST_NONE;
    }
    bool inlined = address >= FUNCTION + 0x10 && address < FUNCTION + 0x20;
    *hit = (struct lookup_hit){.quality = LOOKUP_DWARF, .start = FUNCTION, .end = END};
    size_t n = 0;
    if (inlined) {
        hit->frames[n++] =
            (struct lookup_frame){.start = FUNCTION, .file = "/Shop/cart.hpp", .line = 0};
    }
    hit->frames[n++] = (struct lookup_frame){.function = "total",
                                             .linkage = "_ZN4Cart5totalEv",
                                             .file = "/Shop/cart.cpp",
                                             .line = 12,
                                             .column = 3,
                                             .start = FUNCTION};
    hit->frame_count = n;
    return ST_OK;
}

static void fake_close(struct lookup_source *s) {
    (void)s;
}

static const struct lookup_ops fake_ops = {fake_lookup, fake_close};
static struct lookup_source fake = {.ops = &fake_ops};

/* Answers with the fake source for the image named Shop if ctx points to true; else the symbols are
 * missing. */
static enum st fake_find(void *ctx, const struct symbol_request *r, struct symbol_file *out,
                         struct err *e) {
    (void)e;
    bool there = *(bool *)ctx && r->name && strcmp(r->name, "Shop") == 0;
    *out = (struct symbol_file){.verdict = SYMBOLS_MISSING};
    if (there) {
        *out = (struct symbol_file){
            .verdict = SYMBOLS_OK, .file = "Shop.dSYM", .source = &fake, .base = BASE};
    }
    return ST_OK;
}

struct fixture {
    struct symbolizer *s;
    struct dump d;
    struct dump_addition add;
    bool have_symbols;
};

static void start(struct fixture *f, const char *json, bool have_symbols) {
    struct err e = {0};
    *f = (struct fixture){.have_symbols = have_symbols};
    lookups = 0;
    if (dump_parse(&f->d, json, strlen(json), &e) != ST_OK) {
        fail_msg("%s", e.text);
    }
    assert_int_equal(symbolizer_new(&f->s, fake_find, &f->have_symbols, SYMBOLIZE_SIMPLIFIED, &e),
                     ST_OK);
    assert_int_equal(symbolize_dump(f->s, &f->d, &f->add, &e), ST_OK);
}

static void stop(struct fixture *f) {
    dump_release(&f->d);
    symbolizer_free(f->s);
}

static const struct dump_location *at(const struct fixture *f, size_t frame) {
    const struct dump_stack *s = &f->d.threads[0].stack;
    return &f->d.locations[s->locations[frame]];
}

#define DUMP(arch, frames, more)                                                                   \
    "{\"format\":\"stall-dump/1\",\"id\":\"a\",\"device\":{\"arch\":\"" arch                       \
    "\"},\"stall\":{\"id\":\"s\","                                                                 \
    "\"kind\":\"hang\",\"duration_ms\":5},\"images\":[{\"uuid\":\"" APP_UUID                       \
    "\",\"name\":\"Shop\",\"load\":4294967296,\"size\":65536,\"in_app\":true},"                    \
    "{\"uuid\":\"6B834217-0000-3000-8000-000000000002\",\"name\":\"System\",\"load\":8589934592,"  \
    "\"size\":4096}],"                                                                             \
    "\"threads\":[{\"id\":1,\"main\":true,\"frames\":[" frames "]" more "}]}"

static void frame_0_is_looked_up_as_it_is_and_others_one_byte_before(void **state) {
    (void)state;
    struct fixture f;
    /* 4294971392 is load + 0x1000. The second address is the first byte after the function: as a
     * return address it belongs to the call at the function's end. */
    start(&f, DUMP("arm64", "4294971392,4294971648", ""), true);
    assert_int_equal(at(&f, 0)->offset, 0x1000);
    assert_int_equal(at(&f, 0)->start, 0x1000);
    assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_DWARF);
    assert_int_equal(at(&f, 1)->offset, 0x10ff);
    assert_int_equal(at(&f, 1)->source, DUMP_SOURCE_DWARF);
    assert_string_equal(at(&f, 0)->lines[0].function, "Cart::total()");
    assert_string_equal(at(&f, 0)->lines[0].linkage, "_ZN4Cart5totalEv");
    assert_int_equal(at(&f, 0)->lines[0].line, 12);
    stop(&f);
}

static void frames_that_the_dump_calls_exact_are_looked_up_as_they_are(void **state) {
    (void)state;
    struct fixture f;
    start(&f, DUMP("arm64", "4294971392,4294971648", ",\"exact\":[0,1]"), true);
    assert_int_equal(at(&f, 1)->offset, 0x1100);
    assert_int_equal(at(&f, 1)->source,
                     DUMP_SOURCE_NONE); /* an exact address past the end belongs to no function, and
                                           is not given to the nearest */
    assert_int_equal(at(&f, 1)->line_count, 0);
    stop(&f);
}

static void pointer_authentication_bits_are_stripped(void **state) {
    (void)state;
    struct fixture f;
    /* The address is 0x5a5a800100001000, with a tag in its upper bits. */
    start(&f, DUMP("arm64", "6510656953100800000", ""), true);
    assert_int_equal(at(&f, 0)->offset, 0x1000);
    stop(&f);
}

static void addresses_of_x86_keep_all_their_bits(void **state) {
    (void)state;
    struct fixture f;
    start(&f, DUMP("x86_64", "6510656953100800000", ""), true);
    assert_int_equal(at(&f, 0)->image, -1);
    stop(&f);
}

static void thumb_addresses_lose_bit_0_before_the_call_is_looked_for(void **state) {
    (void)state;
    struct fixture f;
    static const char json[] =
        "{\"format\":\"stall-dump/"
        "1\",\"id\":\"a\",\"device\":{\"arch\":\"armv7\"},\"stall\":{\"id\":\"s\"},"
        "\"images\":[{\"uuid\":\"" APP_UUID "\",\"name\":\"Shop\",\"load\":65536,\"size\":65536}],"
        "\"threads\":[{\"id\":1,\"main\":true,\"frames\":[69633,69889]}]}"; /* 0x11001 and 0x11101,
                                                                               with Thumb's bit */
    start(&f, json, true);
    assert_int_equal(at(&f, 0)->offset, 0x1000);
    assert_int_equal(at(&f, 1)->offset, 0x10ff);
    stop(&f);
}

static void an_inline_frame_without_a_name_keeps_its_place_and_line_0_its_file(void **state) {
    (void)state;
    struct fixture f;
    start(&f, DUMP("arm64", "4294971408", ""), true);
    assert_int_equal(at(&f, 0)->line_count, 2);
    assert_null(at(&f, 0)->lines[0].function);
    assert_string_equal(at(&f, 0)->lines[0].file, "/Shop/cart.hpp");
    assert_int_equal(at(&f, 0)->lines[0].line, 0);
    assert_string_equal(at(&f, 0)->lines[1].function, "Cart::total()");
    stop(&f);
}

static void each_address_is_looked_up_once_a_run(void **state) {
    (void)state;
    struct fixture f;
    start(&f, DUMP("arm64", "4294971392,4294971500,4294971500,4294971500", ""), true);
    assert_int_equal(lookups, 2);
    struct dump again;
    struct dump_addition add;
    static const char json[] = DUMP("arm64", "4294971392,4294971500", "");
    assert_int_equal(dump_parse(&again, json, strlen(json), NULL), ST_OK);
    assert_int_equal(symbolize_dump(f.s, &again, &add, NULL), ST_OK);
    assert_int_equal(lookups, 2);
    dump_release(&again);
    stop(&f);
}

static void damage_costs_the_addresses_of_its_unit(void **state) {
    (void)state;
    struct fixture f;
    start(&f, DUMP("arm64", "4294975488,4294971500", ""),
          true); /* the first address is load + 0x2000 */
    assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_NONE);
    assert_int_equal(at(&f, 1)->source, DUMP_SOURCE_DWARF);
    stop(&f);
}

static void a_missing_file_is_a_verdict_and_addresses_stay_offsets(void **state) {
    (void)state;
    struct fixture f;
    start(&f, DUMP("arm64", "4294971392,42", ""), false);
    assert_int_equal(f.d.images[0].symbols, DUMP_SYMBOLS_MISSING);
    assert_int_equal(at(&f, 0)->image, 0);
    assert_int_equal(at(&f, 0)->offset, 0x1000);
    assert_int_equal(at(&f, 0)->line_count, 0);
    assert_int_equal(at(&f, 1)->image, -1);
    assert_int_equal(at(&f, 1)->offset, 41);
    stop(&f);
}

#define NAMES                                                                                      \
    ",\"state\":\"waiting\"}],\"names\":{\"8589934600\":[\"mach_msg\",8],\"8589934700\":[\"<"      \
    "redacted>\",4],"                                                                              \
    "\"4294971392\":[\"wrong\",0]},\"x\":[{\"y\":1"

static void names_from_the_device_serve_images_without_a_file_only(void **state) {
    (void)state;
    struct fixture f;
    start(&f, DUMP("arm64", "8589934600,8589934700,4294971392", NAMES), true);
    assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_REPORT);
    assert_string_equal(at(&f, 0)->lines[0].function, "mach_msg");
    assert_int_equal(at(&f, 0)->start, 0);
    assert_int_equal(at(&f, 1)->source,
                     DUMP_SOURCE_NONE); /* neither the dump nor a file has a name for it */
    assert_int_equal(at(&f, 2)->source,
                     DUMP_SOURCE_NONE); /* offset 0xfff: the file says that no function has it */
    stop(&f);
}

/* Checks that offsets in an image whose load address is unknown are not looked up in the image's
 * file. */
static void no_file_answers_for_an_image_without_a_place(void **state) {
    static const char json[] =
        "{\"format\":\"stall-dump/"
        "1\",\"id\":\"a\",\"stall\":{\"id\":\"s\"},\"images\":[{\"uuid\":\"" APP_UUID
        "\",\"name\":\"Shop\",\"load\":4294967296,\"size\":65536,\"unplaced\":true}],"
        "\"threads\":[{\"id\":1,\"frames\":[4294971400]}],"
        "\"names\":{\"4294971400\":[\"add\",8]}}";
    (void)state;
    struct fixture f;
    start(&f, json, true);
    assert_int_equal(lookups, 0);
    assert_int_equal(f.d.images[0].symbols, DUMP_SYMBOLS_MISSING);
    assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_REPORT);
    assert_string_equal(at(&f, 0)->lines[0].function, "add");
    stop(&f);
}

static void what_an_earlier_run_resolved_is_kept_and_the_rest_is_tried_again(void **state) {
    (void)state;
    struct fixture f;
    struct strbuf first = {0};
    start(&f, DUMP("arm64", "4294971392,8589934600", ""), true);
    struct sink sink = sink_to_strbuf(&first);
    assert_int_equal(dump_write_spliced(&f.d, &f.add, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    stop(&f);
    start(&f, strbuf_cstr(&first), false); /* the second time no file is there */
    assert_int_equal(lookups, 0);
    assert_int_equal(f.d.images[0].symbols, DUMP_SYMBOLS_OK);
    assert_int_equal(f.d.images[1].symbols, DUMP_SYMBOLS_MISSING);
    assert_string_equal(at(&f, 0)->lines[0].function, "Cart::total()");
    stop(&f);
    strbuf_release(&first);
}

/* ---- learned names ---- */

/* Symbolicates a dump with learned facts about its second image, of which there is no file. */
static void start_learned(struct fixture *f, const char *json, const struct learned_function *told,
                          size_t count) {
    static const char uuid[] = "6B834217-0000-3000-8000-000000000002";
    struct image_id id;
    struct learned_names *n = NULL;
    struct learned_sources *s = NULL;
    struct err e = {0};
    assert_true(parse_uuid(uuid, sizeof uuid - 1, &id));
    assert_int_equal(learned_names_new(&n, &e), ST_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(learned_names_add(n, &(struct learned_fact){&id, told[i]}, 1, &e), ST_OK);
    }
    assert_int_equal(learned_sources_new(&s, NULL, NULL, &e), ST_OK);
    learned_sources_use_names(s, n);
    *f = (struct fixture){0};
    assert_int_equal(dump_parse(&f->d, json, strlen(json), &e), ST_OK);
    assert_int_equal(symbolizer_new(&f->s, fake_find, &f->have_symbols, SYMBOLIZE_SIMPLIFIED, &e),
                     ST_OK);
    symbolizer_use_learned(f->s, s);
    assert_int_equal(symbolize_dump(f->s, &f->d, &f->add, &e), ST_OK);
    learned_sources_free(s); /* the names in the dump belong to the symbolizer */
    learned_names_free(n);
}

static void what_reports_have_told_names_frames_without_a_file(void **state) {
    (void)state;
    struct fixture f;
    const struct learned_function told[] = {{8, 40, "_ZN4Cart5totalEv", false, {0}},
                                            {100, 120, "b", false, {0}}};
    start_learned(&f, DUMP("arm64", "8589934600,8589934632,8589934633,8589934693", ""), told, 2);
    assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_LEARNED);
    assert_int_equal(at(&f, 0)->start, 8);
    assert_string_equal(at(&f, 0)->lines[0].function, "Cart::total()");
    assert_string_equal(at(&f, 0)->lines[0].linkage, "_ZN4Cart5totalEv");
    assert_string_equal(
        at(&f, 1)->lines[0].function,
        "Cart::total()"); /* a return address at offset 40, the end of the function */
    assert_int_equal(at(&f, 2)->source,
                     DUMP_SOURCE_NONE); /* a return address at offset 41, past the end */
    assert_string_equal(at(&f, 3)->lines[0].function, "b");
    assert_int_equal(f.d.images[1].symbols, DUMP_SYMBOLS_MISSING);
    stop(&f);
}

static void a_dump_s_own_name_counts_where_it_starts_alike(void **state) {
    (void)state;
    struct fixture f;
    const struct learned_function own[] = {{0, 40, "mach_msg", false, {0}}};
    start_learned(&f, DUMP("arm64", "8589934600", NAMES), own, 1);
    assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_REPORT);
    stop(&f);
    /* The name that the dump has is only that of the nearest of few symbols. */
    const struct learned_function nearer[] = {{4, 40, "mach_msg_overwrite", false, {0}}};
    start_learned(&f, DUMP("arm64", "8589934600", NAMES), nearer, 1);
    assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_LEARNED);
    assert_string_equal(at(&f, 0)->lines[0].function, "mach_msg_overwrite");
    stop(&f);
}

static void a_learned_name_of_an_earlier_run_stays_until_something_speaks_against_it(void **state) {
    (void)state;
    struct fixture f;
    struct strbuf first = {0};
    const struct learned_function told[] = {{8, 40, "a", false, {0}}},
                                  behind[] = {{24, 24, NULL, false, {0}}},
                                  conflict[] = {{8, 8, NULL, true, {0}}};
    start_learned(&f, DUMP("arm64", "8589934600,8589934630", ""), told, 1);
    struct sink sink = sink_to_strbuf(&first);
    assert_int_equal(dump_write_spliced(&f.d, &f.add, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    stop(&f);
    start_learned(&f, strbuf_cstr(&first), NULL, 0);
    assert_int_equal(at(&f, 1)->source, DUMP_SOURCE_LEARNED);
    assert_string_equal(at(&f, 1)->lines[0].function, "a");
    stop(&f);
    start_learned(&f, strbuf_cstr(&first), behind, 1);
    assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_LEARNED);
    assert_int_equal(at(&f, 1)->source, DUMP_SOURCE_NONE);
    assert_int_equal(at(&f, 1)->start, at(&f, 1)->offset);
    stop(&f);
    start_learned(&f, strbuf_cstr(&first), conflict, 1);
    assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_NONE);
    stop(&f);
    strbuf_release(&first);
}

/* Stacks that buckets keep may have the report's name in a location, without the dump's names. */
static void
a_report_s_name_stays_without_the_dump_s_names_until_a_file_has_a_better_one(void **state) {
    static const char more[] = ",\"locations\":[0]}],\"strings\":[\"add\"],\"locations\":[{"
                               "\"image\":0,\"offset\":4096,\"start\":4000,"
                               "\"lines\":[[0,-1,-1,0,0]],\"source\":\"report\"}]}";
    struct strbuf json = {0};
    (void)state;
    strbuf_addstr(&json, DUMP("arm64", "4294971392", ""));
    json.len -= strlen("}]}");
    strbuf_addstr(&json, more);
    for (int there = 0; there < 2; there++) {
        struct fixture f;
        start(&f, strbuf_cstr(&json), there);
        assert_int_equal(at(&f, 0)->source, there ? DUMP_SOURCE_DWARF : DUMP_SOURCE_REPORT);
        assert_string_equal(at(&f, 0)->lines[0].function, there ? "Cart::total()" : "add");
        stop(&f);
    }
    strbuf_release(&json);
}

#define WITH_SYMBOLS(verdict, more)                                                                \
    "{\"format\":\"stall-dump/1\",\"id\":\"a\",\"images\":[{\"uuid\":\"" APP_UUID                  \
    "\",\"name\":\"Shop\",\"load\":4294967296,\"size\":65536,\"symbols\":\"" verdict               \
    "\",\"symbols_file\":\"old/Shop\"}],\"threads\":[{\"id\":1,\"main\":true,"                     \
    "\"frames\":[4294971392]" more "}]"

/* A dump whose frame has a location without a name. */
#define LOCATED(verdict)                                                                           \
    WITH_SYMBOLS(verdict, ",\"locations\":[0]")                                                    \
    ",\"strings\":[],\"locations\":[{\"image\":0,\"offset\":4096}]}"

static void the_file_of_a_kept_verdict_outlives_the_dump(void **state) {
    (void)state;
    static const char *const dumps[] = {
        LOCATED("symbols-only"),
        LOCATED("split-dwarf"),
        LOCATED("ok"),
    };
    for (size_t i = 0; i < sizeof dumps / sizeof *dumps; i++) {
        struct fixture f;
        start(&f, dumps[i], false);
        const char *file = f.d.images[0].symbols_file;
        dump_release(&f.d);
        assert_string_equal(file, "old/Shop");
        stop(&f);
    }
}

static void what_is_only_half_named_is_named_by_a_better_file(void **state) {
    (void)state;
    static const char *const dumps[] = {
        LOCATED("symbols-only"),
        LOCATED("split-dwarf"),
    };
    for (size_t i = 0; i < sizeof dumps / sizeof *dumps; i++) {
        struct fixture f;
        start(&f, dumps[i], true);
        assert_int_equal(f.d.images[0].symbols, DUMP_SYMBOLS_OK);
        assert_string_equal(f.d.images[0].symbols_file, "Shop.dSYM");
        assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_DWARF);
        stop(&f);
    }
}

static void a_verdict_without_locations_is_not_believed(void **state) {
    (void)state;
    struct fixture f;
    start(&f, WITH_SYMBOLS("ok", "") "}", true);
    assert_int_equal(at(&f, 0)->source, DUMP_SOURCE_DWARF);
    assert_string_equal(f.d.images[0].symbols_file, "Shop.dSYM");
    stop(&f);
    start(&f, WITH_SYMBOLS("ok", "") "}", false);
    assert_int_equal(f.d.images[0].symbols, DUMP_SYMBOLS_MISSING);
    assert_null(f.d.images[0].symbols_file);
    stop(&f);
}

static void locations_are_sorted_by_image_and_offset(void **state) {
    (void)state;
    struct fixture f;
    start(&f, DUMP("arm64", "8589934600,4294971500,42,4294971392", ""), true);
    for (size_t i = 1; i < f.d.location_count; i++) {
        const struct dump_location *a = &f.d.locations[i - 1], *b = a + 1;
        assert_true(a->image < b->image || (a->image == b->image && a->offset < b->offset));
    }
    assert_int_equal(f.d.location_count, 4);
    stop(&f);
}

static void what_stands_for_no_name_is_none(void **state) {
    (void)state;
    static const char *const none[] = {"<redacted>", "<deduplicated_symbol>", "???", "",
                                       "___lldb_unnamed_symbol12"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_false(symbolize_is_name(none[i]));
    }
    assert_true(symbolize_is_name("main"));
}

static void the_report_names_the_waits_and_hides_control_characters(void **state) {
    (void)state;
    struct fixture f;
    struct strbuf text = {0};
    start(&f,
          DUMP("arm64", "4294971392",
               ",\"name\":\"ma\\u001bin\",\"waits_for\":{\"kind\":\"mutex\",\"address\":16,"
               "\"owner\":2}},"
               "{\"id\":2,\"name\":\"worker\",\"state\":\"running\",\"frames\":[4294971500]"),
          true);
    struct sink sink = sink_to_strbuf(&text);
    symbolize_report(&f.d, &sink);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_non_null(strstr(text.data, "Waits   main → mutex of 2 worker, which is running"));
    assert_non_null(strstr(text.data, "Cart::total()"));
    assert_non_null(strstr(text.data, "cart.cpp:12"));
    assert_non_null(strstr(text.data, "  ok             Shop"));
    assert_null(strchr(text.data, 0x1b));
    strbuf_release(&text);
    stop(&f);
}

/* Threads 1 (the main one), 2 and 3, each with a wait or none. */
#define WAITING(id, name, frames, wait)                                                            \
    "{\"id\":" id ",\"name\":\"" name "\",\"state\":\"waiting\",\"frames\":[" frames "]" wait
#define WAIT_FOR(kind, owner) ",\"waits_for\":{\"kind\":\"" kind "\",\"owner\":" owner "}"
#define WAITS(one, two, three)                                                                     \
    DUMP("arm64", "4294971392",                                                                    \
         ",\"state\":\"waiting\"" one "}," WAITING("2", "two", "4294971500", two) "}," WAITING(    \
             "3", "three", "8589934600,4294971500", three))

static void the_report_follows_waits_to_their_end_or_round(void **state) {
    static const struct {
        const char *dump, *line;
    } cases[] = {
        {WAITS(WAIT_FOR("mutex", "2"), "", ""), "main → mutex of 2 two, which is waiting in "},
        {WAITS(WAIT_FOR("rwlock", "2"), WAIT_FOR("thread", "3"), ""),
         "main → rwlock of 2 two → the end of 3 three, which is waiting in "},
        {WAITS(WAIT_FOR("mutex", "3"), "", WAIT_FOR("mutex", "1")),
         "main → mutex of 3 three → mutex of 1 main: deadlock\n"},
        {WAITS(WAIT_FOR("mutex", "2"), WAIT_FOR("mutex", "3"), WAIT_FOR("thread", "2")),
         "main → mutex of 2 two → mutex of 3 three → the end of 2 two: deadlock\n"},
        {WAITS(WAIT_FOR("mutex", "1"), "", ""), "main → mutex of 1 main: deadlock\n"},
        {WAITS(WAIT_FOR("mutex", "9"), "", ""), "main → mutex of 9\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        struct strbuf text = {0};
        start(&f, cases[i].dump, true);
        struct sink sink = sink_to_strbuf(&text);
        symbolize_report(&f.d, &sink);
        assert_int_equal(sink_close(&sink, NULL), ST_OK);
        const char *line = strstr(text.data, "\nWaits   ");
        assert_non_null(line);
        line += strlen("\nWaits   ");
        char got[200];
        snprintf(got, sizeof got, "%.*s", (int)strlen(cases[i].line), line);
        assert_string_equal(got, cases[i].line);
        strbuf_release(&text);
        stop(&f);
    }
}

static void the_report_says_that_a_thread_is_joined(void **state) {
    (void)state;
    struct fixture f;
    struct strbuf text = {0};
    start(&f, WAITS(WAIT_FOR("thread", "2"), "", ""), true);
    struct sink sink = sink_to_strbuf(&text);
    symbolize_report(&f.d, &sink);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_non_null(strstr(text.data, "Main thread 1, waiting, waits for thread 2 \"two\"\n"));
    strbuf_release(&text);
    stop(&f);
}

static void symbolize_once(void *ctx, bool refused) {
    static const char json[] = DUMP("arm64", "4294971392,4294971500,8589934600,42", NAMES);
    struct dump d;
    struct symbolizer *s = NULL;
    struct dump_addition add;
    struct err e = {0};
    (void)ctx;
    bool yes = true;
    enum st st = dump_parse(&d, json, sizeof json - 1, &e);
    if (st == ST_OK) {
        st = symbolizer_new(&s, fake_find, &yes, SYMBOLIZE_SIMPLIFIED, &e);
    }
    if (st == ST_OK) {
        st = symbolize_dump(s, &d, &add, &e);
    }
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_true(refused || st == ST_OK);
    symbolizer_free(s);
    dump_release(&d);
}

static void running_out_of_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(symbolize_once, NULL) > 10);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_0_is_looked_up_as_it_is_and_others_one_byte_before),
        cmocka_unit_test(frames_that_the_dump_calls_exact_are_looked_up_as_they_are),
        cmocka_unit_test(pointer_authentication_bits_are_stripped),
        cmocka_unit_test(addresses_of_x86_keep_all_their_bits),
        cmocka_unit_test(thumb_addresses_lose_bit_0_before_the_call_is_looked_for),
        cmocka_unit_test(an_inline_frame_without_a_name_keeps_its_place_and_line_0_its_file),
        cmocka_unit_test(each_address_is_looked_up_once_a_run),
        cmocka_unit_test(damage_costs_the_addresses_of_its_unit),
        cmocka_unit_test(a_missing_file_is_a_verdict_and_addresses_stay_offsets),
        cmocka_unit_test(names_from_the_device_serve_images_without_a_file_only),
        cmocka_unit_test(no_file_answers_for_an_image_without_a_place),
        cmocka_unit_test(what_an_earlier_run_resolved_is_kept_and_the_rest_is_tried_again),
        cmocka_unit_test(what_reports_have_told_names_frames_without_a_file),
        cmocka_unit_test(a_dump_s_own_name_counts_where_it_starts_alike),
        cmocka_unit_test(a_learned_name_of_an_earlier_run_stays_until_something_speaks_against_it),
        cmocka_unit_test(
            a_report_s_name_stays_without_the_dump_s_names_until_a_file_has_a_better_one),
        cmocka_unit_test(the_file_of_a_kept_verdict_outlives_the_dump),
        cmocka_unit_test(what_is_only_half_named_is_named_by_a_better_file),
        cmocka_unit_test(a_verdict_without_locations_is_not_believed),
        cmocka_unit_test(locations_are_sorted_by_image_and_offset),
        cmocka_unit_test(what_stands_for_no_name_is_none),
        cmocka_unit_test(the_report_names_the_waits_and_hides_control_characters),
        cmocka_unit_test(the_report_follows_waits_to_their_end_or_round),
        cmocka_unit_test(the_report_says_that_a_thread_is_joined),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("symbolize", tests, NULL, NULL);
}
