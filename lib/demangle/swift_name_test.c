/* Tests of Swift names: their text in both styles, and what damaged ones may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "demangle/swift_name.h"

static void check(const char *mangled, const char *full, const char *simplified) {
    struct swift_scratch scratch = {0};
    struct strbuf out = {0};
    const char *const expected[] = {full, simplified};
    for (size_t i = 0; i < 2; i++) {
        strbuf_clear(&out);
        enum st st = swift_demangle(&scratch, mangled, strlen(mangled), i == 1, &out, NULL);
        assert_int_equal(st, expected[i] ? ST_OK : ST_NONE);
        assert_string_equal(strbuf_cstr(&out), expected[i] ? expected[i] : "");
    }
    strbuf_release(&out);
    swift_scratch_release(&scratch);
}

static void a_declaration_is_printed_with_its_context(void **state) {
    (void)state;
    check("$s4Shop4CartV5totalSiyF", "Shop.Cart.total() -> Swift.Int", "Cart.total()");
    check("$s4Shop4CartC3add4item5county4Item_SitF", NULL,
          NULL); /* an identifier stands where a type must be */
    check("$s4Shop4CartC5countSivg", "Shop.Cart.count.getter : Swift.Int", "Cart.count.getter");
    check("$s4Shop4CartCACycfC", "Shop.Cart.__allocating_init() -> Shop.Cart",
          "Cart.__allocating_init()");
    check("$s4Shop4CartC5totalSiyFyyXEfU_", "closure #1 () -> () in Shop.Cart.total() -> Swift.Int",
          "closure #1 in Cart.total()");
}

static void damaged_names_are_none(void **state) {
    (void)state;
    check("$s", NULL, NULL);
    check("$s4Shop4CartV5totalF", NULL, NULL);
    check("$s4Shop4CartV5totalSiyF\x01xxxx", NULL, NULL); /* a symbolic reference is refused */
    check("total", NULL, NULL);
}

static void the_text_goes_behind_what_is_there(void **state) {
    (void)state;
    struct swift_scratch scratch = {0};
    struct strbuf out = {0};
    strbuf_addstr(&out, "before ");
    assert_int_equal(swift_demangle(&scratch, "$s4Shop4CartV", 13, true, &out, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&out), "before Cart");
    assert_int_equal(swift_demangle(&scratch, "$s4Shop4Cart", 12, true, &out, NULL), ST_OK);
    assert_int_equal(swift_demangle(&scratch, "$s4Shop4CartTv", 14, true, &out, NULL), ST_NONE);
    strbuf_release(&out);
    swift_scratch_release(&scratch);
}

static const char own_names[] = "testdata/demangle/swift.tsv";

/* Calls visit for each line of a file, whose newline is cut off. Returns how many there were. */
static size_t each_line(FILE *f, void (*visit)(void *ctx, char *line), void *ctx) {
    char *line = NULL;
    size_t room = 0, count = 0;
    while (f && getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        visit(ctx, line);
        count++;
    }
    free(line);
    return count;
}

/* Checks a line "MANGLED TAB FULL TAB SIMPLIFIED"; a SIMPLIFIED equal to MANGLED means that there
 * is no simplified text. */
static void check_line(void *ctx, char *line) {
    (void)ctx;
    char *full = strchr(line, '\t');
    char *simplified = full ? strchr(full + 1, '\t') : NULL;
    assert_non_null(simplified);
    *full++ = *simplified++ = '\0';
    check(line, full, strcmp(simplified, line) != 0 ? simplified : NULL);
}

/* Checks a name for each operator and each kind of node; the expected texts are those of Swift's
 * own tool. */
static void every_operator_is_read_and_every_kind_printed(void **state) {
    (void)state;
    FILE *f = fopen(own_names, "r");
    assert_true(each_line(f, check_line, NULL) > 600);
    fclose(f);
}

static void a_symbol_may_have_more_behind_its_name(void **state) {
    (void)state;
    check("$s4Shop3runyyF.\t\n\r\"\\\x7f",
          "Shop.run() -> () with unmangled suffix \".\\t\\n\\r\\\"\\\\\\x7F\"", "run()");
}

/* --- damage -------------------------------------------------------------------------------------
 */

/* Limits of what a name may cost; under a sanitizer everything takes longer. */
enum { MILLISECONDS_MAX = 10, SLOWER_UNDER_SANITIZERS = 20 };

static void demangle_hostile(struct swift_scratch *scratch, const char *name, size_t len) {
    struct strbuf out = {0};
    for (int simplified = 0; simplified < 2; simplified++) {
        clock_t start = clock();
        enum st st = swift_demangle(scratch, name, len, simplified, &out, NULL);
        clock_t limit = CLOCKS_PER_SEC / 1000 * MILLISECONDS_MAX * SLOWER_UNDER_SANITIZERS;
        assert_true(clock() - start <= limit);
        assert_int_not_equal(st, ST_ERR);
        assert_true((st == ST_OK) == (out.len > 0));
        assert_true(out.len <= SWIFT_TEXT_MAX + SWIFT_NAME_MAX);
        strbuf_clear(&out);
    }
    assert_true(scratch->tree.arena.used <= SWIFT_TREE_BYTES_MAX);
    strbuf_release(&out);
}

static void cut_and_flip(void *ctx, char *line) {
    size_t len = strcspn(line, "\t");
    for (size_t i = 2; i < len; i++) {
        demangle_hostile(ctx, line, i);
        line[i] ^= (char)(1 << i % 7);
        demangle_hostile(ctx, line, len);
        line[i] ^= (char)(1 << i % 7);
    }
}

static void names_cut_and_flipped_are_survived(void **state) {
    (void)state;
    struct swift_scratch scratch = {0};
    FILE *f = fopen(own_names, "r");
    assert_true(each_line(f, cut_and_flip, &scratch) > 600);
    fclose(f);
    swift_scratch_release(&scratch);
}

/* Demangles a name of a start, up to `times` copies of a piece as far as SWIFT_NAME_MAX allows, and
 * an end. */
static void check_repeated(const char *start, const char *piece, size_t times, const char *end) {
    struct swift_scratch scratch = {0};
    struct strbuf name = {0};
    strbuf_addstr(&name, start);
    for (size_t i = 0; i < times && name.len + strlen(piece) < SWIFT_NAME_MAX; i++) {
        strbuf_addstr(&name, piece);
    }
    strbuf_addstr(&name, end);
    demangle_hostile(&scratch, strbuf_cstr(&name), name.len);
    strbuf_release(&name);
    swift_scratch_release(&scratch);
}

static void operators_nested_deep_are_survived(void **state) {
    (void)state;
    static const char *const operators[] = {"TA",      "Sg",
                                            "m",       "XSq",
                                            "yc",      "_t",
                                            "A2048A",  "Qx",
                                            "yyXEfU_", "TR",
                                            "SaySSG",  "Tc",
                                            "Z",       "WOe",
                                            "_p",      "rl",
                                            "z",       "yG",
                                            "QO",      "IegH_",
                                            "g_",      "Tf4pf_n",
                                            "2aaV",    "QP_",
                                            "XX",      "fMa_",
                                            "Rzl",     "u",
                                            "E",       "D",
                                            "TQ_",     "x",
                                            "HC",      "Qp",
                                            "_",       "y",
                                            "4Shop",   "0012vergenza_JFa"};
    static const char *const starts[] = {"$s", "$s4Shop4CartC", "$sSi", "$sx", "$s4Shop3runyyF"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        for (size_t j = 0; j < sizeof starts / sizeof *starts; j++) {
            check_repeated(starts[j], operators[i], 20000, "");
        }
    }
}

static void bombs_end_at_the_caps(void **state) {
    (void)state;
    check_repeated("$sr", "2000000000_", 5000, "l");
    check_repeated("$sx", "Rvz", 20000, "r_l");
    check_repeated("$sSi_", "A2000i", 10000, "t");
    check_repeated("$s30AbCdEfGhIjKlMnOpQrStUvWxYzAbCd", "0abcdefghijklmnopqrstuvwxyZ0", 3000, "");
    check_repeated("$s0060000", "a", 60000, "");
    /* Each type is a pair of two of the type before. */
    struct strbuf name = {0};
    struct swift_scratch scratch = {0};
    strbuf_addstr(&name, "$s1a1bV");
    for (int i = 0; i < 120; i++) {
        char before[16] = {'A', (char)('A' + i + 1)};
        if (i >= 25) {
            snprintf(before, sizeof before, i == 25 ? "A_" : "A%d_", i - 26);
        }
        strbuf_addf(&name, "ABy%s%sG", before, before);
    }
    demangle_hostile(&scratch, strbuf_cstr(&name), name.len);
    strbuf_release(&name);
    swift_scratch_release(&scratch);
}

static void long_names_are_read_up_to_the_cap(void **state) {
    (void)state;
    struct swift_scratch scratch = {0};
    struct strbuf name = {0}, out = {0};
    strbuf_addstr(&name, "$s4Shop3runyySi_");
    while (name.len < SWIFT_NAME_MAX - 8) {
        strbuf_addstr(&name, "Si");
    }
    strbuf_addstr(&name, "tF");
    assert_int_equal(swift_demangle(&scratch, strbuf_cstr(&name), name.len, false, &out, NULL),
                     ST_OK);
    assert_true(out.len > 300 * 1024);
    while (name.len <= SWIFT_NAME_MAX) {
        strbuf_addstr(&name, "Tm");
    }
    strbuf_clear(&out);
    assert_int_equal(swift_demangle(&scratch, strbuf_cstr(&name), name.len, false, &out, NULL),
                     ST_NONE);
    strbuf_release(&name);
    strbuf_release(&out);
    swift_scratch_release(&scratch);
}

static void demangle_without_memory(void *ctx, bool refused) {
    struct swift_scratch scratch = {0};
    struct strbuf out = {0};
    struct err e = {0};
    const char *name = ctx;
    enum st st = swift_demangle(&scratch, name, strlen(name), false, &out, &e);
    if (st == ST_ERR) {
        assert_true(refused);
        assert_int_equal(e.code, ERR_NOMEM);
    } else {
        assert_int_equal(st, ST_OK);
    }
    strbuf_release(&out);
    swift_scratch_release(&scratch);
}

static void running_out_of_memory_is_an_error(void **state) {
    (void)state;
    struct strbuf name = {0};
    if (!failmalloc_works()) {
        skip();
    }
    strbuf_addstr(&name, "$s4Shop3runyySi_");
    for (int i = 0; i < 500; i++) {
        strbuf_addstr(&name, "Si");
    }
    strbuf_addstr(&name, "tF");
    assert_true(failmalloc_sweep(demangle_without_memory, name.data) > 2);
    strbuf_release(&name);
}

/* ---- third-party names, if they are installed ---- */

struct tally {
    size_t total;
    size_t full;
    size_t simplified;
};

static bool agrees(struct swift_scratch *scratch, const char *mangled, const char *expected,
                   bool simplified) {
    struct strbuf out = {0};
    mangled += strncmp(mangled, "__", 2) == 0;
    enum st st = swift_demangle(scratch, mangled, strlen(mangled), simplified, &out, NULL);
    const char *said = st == ST_OK ? strbuf_cstr(&out) : mangled;
    bool equal = strcmp(said, expected) == 0;
    strbuf_release(&out);
    return equal;
}

static FILE *open_names(const char *name, bool packed) {
    const char *real = getenv("REAL");
    char command[4096];
    if (!real || !*real) {
        return NULL;
    }
    snprintf(command, sizeof command, "%s '%s/demangle/%s' 2>/dev/null", packed ? "xz -dc" : "cat",
             real, name);
    return popen(command, "r");
}

struct comparison {
    struct swift_scratch scratch;
    struct tally tally;
    bool simplified; /* the style of the texts that compare_pair compares */
};

static void compare_line(void *ctx, char *line) {
    struct comparison *c = ctx;
    char *full = strchr(line, '\t');
    char *simplified = full ? strchr(full + 1, '\t') : NULL;
    if (!simplified) {
        return;
    }
    *full++ = *simplified++ = '\0';
    c->tally.total++;
    c->tally.full += agrees(&c->scratch, line, full, false);
    c->tally.simplified += agrees(&c->scratch, line, simplified, true);
}

/* Visits the lines of a third-party file; skips the test if it is not there. */
static void each_real_line(const char *file, bool packed, void (*visit)(void *ctx, char *line),
                           void *ctx) {
    FILE *names = open_names(file, packed);
    size_t lines = each_line(names, visit, ctx);
    if (names) {
        pclose(names);
    }
    if (lines == 0) {
        skip();
    }
}

static void third_party_names_agree_with_swifts_own_tool(void **state) {
    (void)state;
    struct comparison c = {0};
    each_real_line("swift-oracle.tsv.xz", true, compare_line, &c);
    print_message("# of %zu names %zu agree in full, %zu simplified\n", c.tally.total, c.tally.full,
                  c.tally.simplified);
    assert_true(c.tally.total > 20000);
    assert_true(c.tally.full * 10000 >= c.tally.total * 9995);
    assert_true(c.tally.simplified * 10000 >= c.tally.total * 9995);
    swift_scratch_release(&c.scratch);
}

/* Compares a line "MANGLED ---> READABLE"; the option -classify of Swift's tool puts a class in
 * braces in front of READABLE. */
static void compare_pair(void *ctx, char *line) {
    struct comparison *c = ctx;
    char *arrow = strstr(line, " ---> ");
    if (!arrow) {
        return;
    }
    line[strcspn(line, " ")] = '\0';
    char *expected = arrow + strlen(" ---> ");
    char *end = *expected == '{' ? strstr(expected, "} ") : NULL;
    c->tally.total++;
    c->tally.full += agrees(&c->scratch, line, end ? end + 2 : expected, c->simplified);
}

static void check_pairs(const char *file, bool simplified) {
    struct comparison c = {.simplified = simplified};
    each_real_line(file, false, compare_pair, &c);
    assert_true(c.tally.total > 0);
    assert_int_equal(c.tally.full, c.tally.total);
    swift_scratch_release(&c.scratch);
}

static void swifts_own_list_agrees_in_full(void **state) {
    (void)state;
    check_pairs("swift-manglings.txt", false);
}

static void swifts_own_list_agrees_simplified(void **state) {
    (void)state;
    check_pairs("swift-simplified-manglings.txt", true);
}

static void check_negative(void *ctx, char *line) {
    struct strbuf out = {0};
    line += strncmp(line, "__", 2) == 0;
    assert_int_equal(swift_demangle(ctx, line, strlen(line), false, &out, NULL), ST_NONE);
    strbuf_release(&out);
}

static void tokens_that_only_look_like_names_stay(void **state) {
    (void)state;
    struct swift_scratch scratch = {0};
    each_real_line("swift-negatives.txt", false, check_negative, &scratch);
    swift_scratch_release(&scratch);
}

static void cut_and_flip_once(void *ctx, char *line) {
    size_t len = strcspn(line, "\t");
    size_t i = len > 4 ? 3 + len * 7 % (len - 3) : len;
    demangle_hostile(ctx, line, i);
    line[i / 2] ^= 4;
    demangle_hostile(ctx, line, len);
}

static void third_party_names_cut_and_flipped_are_survived(void **state) {
    (void)state;
    struct swift_scratch scratch = {0};
    each_real_line("swift-oracle.tsv.xz", true, cut_and_flip_once, &scratch);
    swift_scratch_release(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_declaration_is_printed_with_its_context),
        cmocka_unit_test(damaged_names_are_none),
        cmocka_unit_test(the_text_goes_behind_what_is_there),
        cmocka_unit_test(every_operator_is_read_and_every_kind_printed),
        cmocka_unit_test(a_symbol_may_have_more_behind_its_name),
        cmocka_unit_test(names_cut_and_flipped_are_survived),
        cmocka_unit_test(operators_nested_deep_are_survived),
        cmocka_unit_test(bombs_end_at_the_caps),
        cmocka_unit_test(long_names_are_read_up_to_the_cap),
        cmocka_unit_test(running_out_of_memory_is_an_error),
        cmocka_unit_test(third_party_names_cut_and_flipped_are_survived),
        cmocka_unit_test(third_party_names_agree_with_swifts_own_tool),
        cmocka_unit_test(swifts_own_list_agrees_in_full),
        cmocka_unit_test(swifts_own_list_agrees_simplified),
        cmocka_unit_test(tokens_that_only_look_like_names_stay),
    };
    return cmocka_run_group_tests_name("swift_name", tests, NULL, NULL);
}
