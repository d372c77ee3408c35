/* Tests of names that R8 made short. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/filemap.h"
#include "base/strbuf.h"
#include "symbolize/retrace_map.h"

static struct filemap file;
static struct retrace_map *map;

static int open_mapping(void **state) {
    struct err e = {0};
    (void)state;
    return filemap_open(&file, "testdata/retrace/mapping.txt", 0, &e) == ST_OK &&
                   retrace_map_open(&map, (const char *)file.data, file.size, &e) == ST_OK
               ? 0
               : -1;
}

static int close_mapping(void **state) {
    (void)state;
    retrace_map_close(map);
    filemap_release(&file);
    return 0;
}

/* Expects "Class.method:line(file)|…" for a symbol and a line, innermost first. */
static void check(const char *symbol, uint32_t line, const char *want) {
    struct retrace_line found[RETRACE_LINES_MAX];
    char got[512] = "";
    size_t used = 0, n = retrace_map_find(map, symbol, line, found);
    for (size_t i = 0; i < n && used < sizeof got; i++) {
        const struct retrace_line *l = &found[i];
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%.*s.%.*s:%u(%.*s)",
                                 i > 0 ? "|" : "", (int)l->class_len, l->class_name,
                                 (int)l->method_len, l->method, (unsigned)l->line, (int)l->file_len,
                                 l->file ? l->file : "");
    }
    assert_string_equal(got, want);
}

static void lines_are_those_of_the_source(void **state) {
    (void)state;
    check("a.b.c", 1, "com.example.shop.Cart.add:20(Cart.kt)");
    check("a.b.c", 2, "com.example.shop.Cart.add:21(Cart.kt)");
    check("a.b.c", 6, "com.example.shop.Cart.remove:32(Cart.kt)");
    check("a.b.<init>", 1, "com.example.shop.Cart.<init>:10(Cart.kt)");
    check("a.c.onClick", 8, "com.example.shop.MainActivity$Click.onClick:51()");
}

static void inlined_methods_are_told_innermost_first(void **state) {
    (void)state;
    check("a.b.c", 3,
          "com.example.shop.Prices.check:7(Money.kt)|com.example.shop.Cart.add:22(Cart.kt)");
}

static void what_could_be_several_keeps_its_name(void **state) {
    (void)state;
    check("a.b.c", 0, "com.example.shop.Cart.c:0(Cart.kt)");
    check("a.b.c", 99, "com.example.shop.Cart.c:0(Cart.kt)");
    check("a.b.d", 0,
          "com.example.shop.Cart.clear:0(Cart.kt)"); /* only one method has this short name */
    check("a.b.d", 6, "com.example.shop.Cart.clear:6(Cart.kt)");
    check("a.d.b", 0, "com.example.shop.Prices.b:0(Money.kt)");
    check("a.d.a", 0, "com.example.shop.Prices.check:0(Money.kt)");
    check("a.b.zz", 1, "com.example.shop.Cart.zz:0(Cart.kt)");
    check("a.x.c", 1, "");
    check("c", 1, "");
}

static void a_class_may_be_named_twice_and_a_nested_one_has_the_outer_file(void **state) {
    static const char text[] = "# pg_map_id: 12\n"
                               "app.Cart -> a.a:\n# {\"id\":\"sourceFile\",\"fileName\":\"C.kt\"}\n"
                               "    1:1:void add():7 -> a\n"
                               "app.Cart$Item -> a.b:\n    1:1:void pay():9 -> a\n"
                               "app.Other -> a.c:\n    1:1:void run():3 -> a\n"
                               "app.Cart -> a.a:\n    2:2:void drop():8 -> b\n"
                               "app.Cart -> a.a:\n    void clear() -> c\n";
    struct retrace_map *whole = map;
    (void)state;
    assert_int_equal(retrace_map_open(&map, text, sizeof text - 1, NULL), ST_OK);
    check("a.a.a", 1, "app.Cart.add:7(C.kt)");
    check("a.a.b", 2, "app.Cart.drop:8(C.kt)");
    check("a.a.c", 0, "app.Cart.clear:0(C.kt)");
    check("a.a.zz", 1, "app.Cart.zz:0(C.kt)");
    check("a.b.a", 1, "app.Cart$Item.pay:9(C.kt)");
    check("a.c.a", 1, "app.Other.run:3()"); /* no entry says in which file the class is */
    retrace_map_close(map);
    map = whole;
}

static void lines_and_made_methods_are_those_that_r8_retraces(void **state) {
    static const char text[] =
        "# pg_map_id: 12\n"
        "app.Cart -> a.a:\n"
        "    0:65535:void app.Money.check():7:7 -> a\n" /* a range that covers all lines of a short
                                                           method */
        "    0:65535:void add():33 -> a\n"
        "    1:9:void drop() -> b\n" /* a range of lines that are those of the source */
        "    4:4:void app.Cart.lambda$add$0():225 -> c\n"
        "    4:4:void run(app.Cart):2 -> c\n"
        "    # {\"id\":\"com.android.tools.r8.synthesized\"}\n"
        "    5:5:void app.Cart.lambda$add$1():228 -> c\n"
        "    5:5:void run(app.Cart):4 -> c\n"
        "    6:6:void run(app.Cart):5 -> c\n"
        "    7:7:void app.Money.sum():8 -> d\n"
        "    7:7:void pay():9 -> d\n"
        "    int total -> d\n"
        "    # {\"id\":\"com.android.tools.r8.synthesized\"}\n"
        "    3:3:void app.Money.read():4:4 -> e\n"
        "    3:3:void load():5 -> e\n"
        "    # {\"id\":\"com.android.tools.r8.rewriteFrame\",\"conditions\":"
        "[\"throws(Ljava/lang/NullPointerException;)\"],\"actions\":[\"removeInnerFrames(1)\"]}\n"
        "    # {\"id\":\"com.android.tools.r8.residualsignature\",\"signature\":\"()V\"}\n";
    struct retrace_map *whole = map;
    (void)state;
    assert_int_equal(retrace_map_open(&map, text, sizeof text - 1, NULL), ST_OK);
    check("a.a.a", 0, "app.Money.check:7()|app.Cart.add:33()");
    check("a.a.a", 12, "app.Money.check:7()|app.Cart.add:33()");
    check("a.a.b", 6, "app.Cart.drop:6()");
    check("a.a.c", 4, "app.Cart.lambda$add$0:225()");
    check("a.a.c", 5, "app.Cart.lambda$add$1:228()");
    check("a.a.c", 6, "app.Cart.run:5()");                     /* no entry covers this line */
    check("a.a.d", 7, "app.Money.sum:8()|app.Cart.pay:9()");   /* the compiler made the field */
    check("a.a.e", 3, "app.Money.read:4()|app.Cart.load:5()"); /* no exception was thrown here */
    retrace_map_close(map);
    map = whole;
}

/* The line in the caller depends on the line in the outline. */
static void the_call_of_an_outline_stands_for_the_code_that_it_replaced(void **state) {
    (void)state;
    assert_int_equal(retrace_map_callsite(map, "a.e.s", 27, "a.o.a", 1), 4);
    assert_int_equal(retrace_map_callsite(map, "a.e.s", 27, "a.o.a", 2), 5);
    assert_int_equal(retrace_map_callsite(map, "a.e.s", 27, "a.o.a", 3), 0);
    assert_int_equal(retrace_map_callsite(map, "a.e.s", 4, "a.o.a", 1), 0);
    assert_int_equal(retrace_map_callsite(map, "a.e.s", 27, "a.b.c", 1),
                     0); /* a.b.c is no outline */
    check("a.e.s", 5,
          "com.example.shop.Cart.total:70(Cart.kt)|com.example.shop.Sync.upload:61(Sync.kt)");
}

enum many { MANY_RANGES, MANY_NAMES, MANY_ALIKE };

/* Makes a mapping of many entries, and looks up a line for each of them. */
static void look_up_many(enum many kind) {
    enum { MANY = 200000 };
    struct retrace_map *m = NULL;
    struct strbuf text = {0};
    struct retrace_line found[RETRACE_LINES_MAX];
    strbuf_addstr(&text, "# pg_map_id: 12\nx.Y -> a.b:\n");
    for (unsigned i = 1; i <= MANY; i++) {
        if (kind == MANY_RANGES) {
            strbuf_addf(&text, "    %u:%u:void f%u():%u -> c\n", i, i, i, i);
        } else if (kind == MANY_NAMES) {
            strbuf_addf(&text, "    void f%u() -> c%u\n", i, i);
        } else {
            strbuf_addstr(&text, "    void f() -> c\n");
        }
    }
    assert_int_equal(retrace_map_open(&m, text.data, text.len, NULL), ST_OK);
    for (unsigned i = 1; i <= MANY; i++) {
        char name[32] = "a.b.c", want[32] = "f";
        if (kind == MANY_NAMES) {
            (void)snprintf(name, sizeof name, "a.b.c%u", i);
        }
        if (kind != MANY_ALIKE) {
            (void)snprintf(want, sizeof want, "f%u", i);
        }
        assert_int_equal(retrace_map_find(m, name, i, found), 1);
        assert_int_equal(found[0].method_len, strlen(want));
        assert_memory_equal(found[0].method, want, strlen(want));
        assert_int_equal(found[0].line, i);
        assert_int_equal(retrace_map_callsite(m, name, i, "a.b.c", i), 0);
    }
    retrace_map_close(m);
    strbuf_release(&text);
}

static void many_entries_do_not_make_a_look_up_slow(void **state) {
    (void)state;
    alarm(120); /* ends the test if look-ups are slow: a search of all entries for each line would
                   take several times as long */
    look_up_many(MANY_RANGES);
    look_up_many(MANY_NAMES);
    look_up_many(MANY_ALIKE);
    alarm(0);
}

static void a_mapping_is_known_by_its_id(void **state) {
    static const char *const none[] = {"", "a -> b:\n", "# compiler: R8\na -> b:\n",
                                       "x\n# pg_map_id: 12\n"};
    struct retrace_map *m = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_false(retrace_map_is(none[i], strlen(none[i])));
    }
    assert_int_equal(retrace_map_open(&m, none[1], strlen(none[1]), NULL), ST_NONE);
    assert_true(retrace_map_is((const char *)file.data, file.size));
    assert_true(retrace_map_is_named(map, "7e5f1a2b3c4d5e6f"));
    assert_true(retrace_map_is_named(map, "7e5f1a2"));
    assert_false(retrace_map_is_named(map, "7e5f1a"));
    assert_false(retrace_map_is_named(map, "aaaaaaaaaaaa"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_the_source),
        cmocka_unit_test(inlined_methods_are_told_innermost_first),
        cmocka_unit_test(what_could_be_several_keeps_its_name),
        cmocka_unit_test(a_class_may_be_named_twice_and_a_nested_one_has_the_outer_file),
        cmocka_unit_test(lines_and_made_methods_are_those_that_r8_retraces),
        cmocka_unit_test(the_call_of_an_outline_stands_for_the_code_that_it_replaced),
        cmocka_unit_test(many_entries_do_not_make_a_look_up_slow),
        cmocka_unit_test(a_mapping_is_known_by_its_id),
    };
    return cmocka_run_group_tests_name("retrace_map", tests, open_mapping, close_mapping);
}
