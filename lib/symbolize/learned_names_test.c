/* Tests of learned names: the join of facts, their text, their folder, and their answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "base/vec.h"
#include "dump/dump.h"
#include "symbolize/learn_dump.h"
#include "symbolize/learned_folder.h"
#include "symbolize/learned_source.h"
#include "symbolize/learned_text.h"

#define UUID       "6B834217-0000-3000-8000-000000000002"
#define OTHER_UUID "6B834217-0000-3000-8000-000000000003"

static const struct image_id *id_of(const char *text) {
    static struct image_id ids[2];
    struct image_id *id = &ids[strcmp(text, UUID) != 0];
    assert_true(parse_uuid(text, strlen(text), id));
    return id;
}

static struct learned_fact told(uint64_t start, uint64_t end, const char *name, uint32_t teller) {
    return (struct learned_fact){id_of(UUID), {start, end, name, false, {teller}}};
}

static struct learned_fact named(uint64_t start, uint64_t end, const char *name) {
    return told(start, end, name, 7);
}

static struct learned_names *names_of(const struct learned_fact *facts, size_t count) {
    struct learned_names *n = NULL;
    assert_int_equal(learned_names_new(&n, NULL), ST_OK);
    assert_int_equal(learned_names_add(n, facts, count, NULL), ST_OK);
    return n;
}

static char *text_of(struct learned_names *n, const struct image_id *id) {
    struct learned_list list = {0};
    struct strbuf text = {0};
    assert_int_equal(learned_names_list(n, id, &list, NULL), ST_OK);
    learned_text_print(id, &list, &text);
    VEC_RELEASE(&list);
    char *taken = strbuf_take(&text);
    assert_non_null(taken);
    return taken;
}

static void assert_text(struct learned_names *n, const char *expected) {
    char *text = text_of(n, id_of(UUID));
    assert_string_equal(text, expected);
    free(text);
}

/* Takes the number of the only teller out of each line of a text. */
static void drop_tellers(char *text) {
    enum { TELLER_LEN = 9 }; /* a space and eight digits */
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        bool named = strncmp(line, "f ", 2) == 0;
        char *at = named || strncmp(line, "s ", 2) == 0 ? line + 2 : NULL;
        for (int spaces = named ? 2 : 1; at && spaces > 0; spaces--) {
            at += strcspn(at, " ") + (spaces > 1);
        }
        if (at) {
            memmove(at, at + TELLER_LEN, strlen(at + TELLER_LEN) + 1);
        }
    }
}

/* Returns the name at an offset by a source of these names; NULL = none. */
static const char *name_at(struct learned_sources *s, uint64_t offset) {
    static struct lookup_hit hit;
    struct lookup_source *source = NULL;
    assert_int_equal(learned_sources_find(s, id_of(UUID), &source, NULL), ST_OK);
    return lookup_address(source, offset, &hit, NULL) == ST_OK ? hit.frames[0].linkage : NULL;
}

static struct learned_sources *sources_of(struct learned_names *n) {
    struct learned_sources *s = NULL;
    assert_int_equal(learned_sources_new(&s, NULL, NULL, NULL), ST_OK);
    learned_sources_use_names(s, n);
    return s;
}

/* ---- the join ---- */

static void facts_join_to_the_same_names_in_any_order(void **state) {
    (void)state;
    struct learned_fact facts[] = {named(0x100, 0x140, "a"),
                                   told(0x100, 0x120, "a", 9),
                                   told(0x100, 0x120, "a", 5),
                                   named(0x200, 0x210, "_ZN4Cart5totalEv"),
                                   told(0x200, 0x230, "Cart::total()", 8),
                                   named(0x300, 0x310, "b"),
                                   named(0x300, 0x320, "c"),
                                   named(0x300, 0x330, "b"),
                                   named(0x400, 0x400, NULL)};
    enum { COUNT = sizeof facts / sizeof *facts };
    for (size_t turn = 0; turn < COUNT; turn++) {
        struct learned_fact last = facts[COUNT - 1];
        memmove(&facts[1], &facts[0], sizeof facts - sizeof *facts);
        facts[0] = last;
        for (int grouping = 0; grouping < 2; grouping++) {
            struct learned_names *n = names_of(facts, grouping ? 3 : COUNT);
            if (grouping) {
                assert_int_equal(learned_names_add(n, facts + 3, COUNT - 3, NULL), ST_OK);
                assert_int_equal(learned_names_add(n, facts, COUNT, NULL), ST_OK);
            }
            assert_text(n, "stall-learned/2\t" UUID "\n"
                           "f 100 40 00000005,00000007 a\n"
                           "f 200 30 00000007,00000008 _ZN4Cart5totalEv\n"
                           "f 300 30 00000007 b\n"
                           "f 300 20 00000007 c\n"
                           "s 400 00000007\n");
            learned_names_free(n);
        }
    }
}

static void more_names_than_are_kept_are_a_conflict_in_any_order(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    struct learned_fact facts[LEARNED_READINGS_MAX + 1];
    enum { COUNT = sizeof facts / sizeof *facts };
    for (uint32_t i = 0; i < COUNT; i++) {
        facts[i] = told(0x100, 0x110, names[i], i + 1);
    }
    for (int reverse = 0; reverse < 2; reverse++) {
        struct learned_names *n = names_of(NULL, 0);
        for (size_t i = 0; i < COUNT; i++) {
            struct learned_fact *f = &facts[reverse ? COUNT - 1 - i : i];
            assert_int_equal(learned_names_add(n, f, 1, NULL), ST_OK);
            assert_int_equal(learned_names_add(n, f, 1, NULL), ST_OK);
        }
        struct learned_fact late = told(0x100, 0x110, "a", 20);
        assert_int_equal(learned_names_add(n, &late, 1, NULL), ST_OK);
        assert_text(n, "stall-learned/2\t" UUID "\nc 100\n");
        learned_names_free(n);
    }
}

static void names_of_one_image_do_not_serve_another(void **state) {
    (void)state;
    struct learned_fact fact = named(0x100, 0x140, "a");
    struct learned_names *n = names_of(&fact, 1);
    struct learned_sources *s = sources_of(n);
    struct lookup_source *source = NULL;
    struct image_id zero = {.kind = IMAGE_ID_UUID, .len = 16}, none = {0};
    assert_int_equal(learned_sources_find(s, id_of(OTHER_UUID), &source, NULL), ST_NONE);
    assert_int_equal(learned_sources_find(s, &zero, &source, NULL), ST_NONE);
    assert_int_equal(learned_sources_find(s, &none, &source, NULL), ST_NONE);
    assert_string_equal(name_at(s, 0x100), "a");
    learned_sources_free(s);
    learned_names_free(n);
}

/* ---- answers ---- */

static void an_unseen_function_between_two_learned_ones_has_no_name(void **state) {
    (void)state;
    /* a is at 0x100 and was seen up to 0x140, b is at 0x300; what lies between them is unknown. */
    struct learned_fact facts[] = {named(0x100, 0x141, "a"), named(0x300, 0x311, "b")};
    struct learned_names *n = names_of(facts, 2);
    struct learned_sources *s = sources_of(n);
    assert_null(name_at(s, 0xff));
    assert_string_equal(name_at(s, 0x100), "a");
    assert_string_equal(name_at(s, 0x140), "a");
    for (uint64_t offset = 0x141; offset < 0x300; offset++) {
        assert_null(name_at(s, offset));
    }
    assert_string_equal(name_at(s, 0x300), "b");
    assert_string_equal(name_at(s, 0x310), "b");
    assert_null(name_at(s, 0x311));
    learned_sources_free(s);
    learned_names_free(n);
}

static void a_function_ends_at_the_next_known_start(void **state) {
    (void)state;
    struct learned_fact facts[] = {named(0x100, 0x200, "a"), named(0x140, 0x140, NULL),
                                   named(0x180, 0x190, "b"), named(0x180, 0x190, "c"),
                                   named(0x1c0, 0x1c0, "d")};
    struct learned_names *n = names_of(facts, 5);
    struct learned_sources *s = sources_of(n);
    assert_string_equal(name_at(s, 0x13f), "a");
    assert_null(name_at(s, 0x140)); /* this function's start is known, its name is not */
    assert_null(name_at(s, 0x188)); /* two facts disagree about this function's name; the address
                                       does not belong to a either */
    assert_null(name_at(s, 0x1c0)); /* this function's name was never seen for any of its bytes */
    assert_int_equal(learned_sources_counts(s).conflicts, 1);
    assert_int_equal(learned_sources_counts(s).outvoted, 0);
    struct lookup_source *source = NULL;
    assert_int_equal(learned_sources_find(s, id_of(UUID), &source, NULL), ST_OK);
    assert_false(learned_source_denies(source, 0x100, 0x13f));
    assert_true(learned_source_denies(source, 0x100, 0x140));
    assert_true(learned_source_denies(source, 0x180, 0x185));
    assert_false(learned_source_denies(source, 0x1c0, 0x1d0));
    assert_false(learned_source_denies(source, 0x50, 0x60));
    learned_sources_free(s);
    learned_names_free(n);
}

/* ---- the choice ---- */

static void one_report_takes_no_name_that_two_tell(void **state) {
    (void)state;
    struct learned_fact facts[] = {told(0x100, 0x180, "right", 1),  told(0x100, 0x180, "right", 2),
                                   told(0x100, 0x190, "forged", 3), told(0x140, 0x150, "inside", 3),
                                   told(0x200, 0x210, "one", 1),    told(0x200, 0x210, "other", 2),
                                   told(0x300, 0x310, "lone", 3)};
    struct learned_names *n = names_of(facts, sizeof facts / sizeof *facts);
    struct learned_sources *s = sources_of(n);
    assert_string_equal(name_at(s, 0x100), "right");
    assert_string_equal(name_at(s, 0x145), "right");
    assert_null(name_at(s, 0x185)); /* only the forged name reaches so far */
    assert_null(name_at(s, 0x200));
    assert_string_equal(name_at(s, 0x300), "lone");
    assert_int_equal(learned_sources_counts(s).conflicts, 1);
    assert_int_equal(learned_sources_counts(s).outvoted, 2);
    learned_sources_free(s);
    learned_names_free(n);
}

static void two_reports_against_two_are_a_conflict(void **state) {
    (void)state;
    struct learned_fact facts[] = {told(0x100, 0x180, "a", 1), told(0x100, 0x180, "a", 2),
                                   told(0x100, 0x180, "b", 3), told(0x100, 0x180, "b", 4),
                                   told(0x100, 0x180, "c", 5), told(0x140, 0x140, NULL, 5),
                                   told(0x140, 0x140, NULL, 6)};
    struct learned_names *n = names_of(facts, sizeof facts / sizeof *facts);
    struct learned_sources *s = sources_of(n);
    assert_null(name_at(s, 0x100));
    assert_int_equal(learned_sources_counts(s).conflicts, 1);
    assert_int_equal(learned_sources_counts(s).outvoted, 1);
    learned_sources_free(s);
    learned_names_free(n);
}

static void two_reports_end_a_function_where_the_next_one_starts(void **state) {
    (void)state;
    struct learned_fact facts[] = {told(0x100, 0x180, "a", 1), told(0x100, 0x180, "a", 2),
                                   told(0x140, 0x150, "b", 3), told(0x140, 0x140, NULL, 4)};
    struct learned_names *n = names_of(facts, sizeof facts / sizeof *facts);
    struct learned_sources *s = sources_of(n);
    assert_string_equal(name_at(s, 0x13f), "a");
    assert_string_equal(name_at(s, 0x145), "b");
    assert_null(name_at(s, 0x160));
    learned_sources_free(s);
    learned_names_free(n);
}

/* ---- text ---- */

static enum st read_text(const char *text, struct err *e) {
    struct learned_names *n = names_of(NULL, 0);
    enum st st = learned_text_read(n, id_of(UUID), text, strlen(text), e);
    struct learned_list list = {0};
    if (st == ST_ERR) {
        assert_int_equal(learned_names_list(n, id_of(UUID), &list, NULL), ST_NONE);
    }
    learned_names_free(n);
    return st;
}

static void a_damaged_text_is_refused_as_a_whole(void **state) {
    (void)state;
#define TITLE    "stall-learned/1\t" UUID "\n"
#define TITLE_2  "stall-learned/2\t" UUID "\n"
#define TELLER   " 00000001 "
#define TELLER_2 " 0000000a,0000000b "
    static const char *const damaged[] = {
        "",
        "stall-learned/1",
        "stall-store/1\n",
        "stall-learned/1\t" OTHER_UUID "\n",
        TITLE "f 100 40 a\nf 100",
        TITLE "f 100 40 a\nf 100 40 a\n",
        TITLE "f 200 40 a\nf 100 40 b\n",
        TITLE "f 100 40\n",
        TITLE "f 100 40 \n",
        TITLE "f 100 4001000 a\n",
        TITLE "f ffffffffffffffff 40 a\n",
        TITLE "f 1x0 40 a\n",
        TITLE "f 100 40 <redacted>\n",
        TITLE "f 100 40 a\tb\n",
        TITLE "f 100 40 \xff\n",
        TITLE "s 100 40\n",
        TITLE "x 100\n",
        TITLE "\n",
        TITLE "s 100 00000001\n",
        TITLE_2 "s 100\n",
        TITLE_2 "c 100 00000001\n",
        TITLE_2 "f 100 40 a\n",
        TITLE_2 "f 100 40 00000000 a\n",
        TITLE_2 "f 100 40 1 a\n",
        TITLE_2 "f 100 40 0000000b,0000000a a\n",
        TITLE_2 "f 100 40 0000000b, a\n",
        TITLE_2 "f 100 40 0000000a,0000000b,0000000c a\n",
        TITLE_2 "f 100 40 0000000a",
        TITLE_2 "f 100 40" TELLER "\n",
        TITLE_2 "f 100 40" TELLER "b\nf 100 40" TELLER "a\n",
        TITLE_2 "f 100 40" TELLER "b\ns 100 00000001\n",
        TITLE_2 "c 100\nf 100 40" TELLER "b\n",
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct err e = {0};
        assert_int_equal(read_text(damaged[i], &e), ST_ERR);
        assert_int_equal(e.code, ERR_FORMAT);
    }
    struct err e = {0};
    assert_int_equal(read_text("stall-learned/3\t" UUID "\n", &e), ST_ERR);
    assert_int_equal(e.code, ERR_UNSUPPORTED);
    assert_int_equal(read_text(TITLE "c 80\nf 100 40 a b(c)\ns fff\n", NULL), ST_OK);
    assert_int_equal(read_text(TITLE_2 "c 80\ns 100 00000003\nf 100 40" TELLER
                                       "a b(c)\nf 100 40" TELLER_2 "b\ns fff 00000001,00000002\n",
                               NULL),
                     ST_OK);
}

static void a_text_of_version_1_is_told_by_one(void **state) {
    (void)state;
    static const char text[] = TITLE "c 80\nf 100 40 a\ns 200\n";
    struct learned_names *n = names_of(NULL, 0);
    assert_int_equal(learned_text_read(n, id_of(UUID), text, sizeof text - 1, NULL), ST_OK);
    assert_text(n, TITLE_2 "c 80\nf 100 40" TELLER "a\ns 200 00000001\n");
    learned_names_free(n);
}

/* ---- the folder ---- */

static void a_folder_keeps_what_runs_add_to_it(void **state) {
    (void)state;
    char folder[] = "/tmp/learned_names_test.XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_false(learned_folder_is(folder));
    struct learned_fact first[] = {named(0x100, 0x140, "a"), named(0x300, 0x310, "b")};
    struct learned_fact second[] = {named(0x100, 0x180, "a"), named(0x300, 0x310, "c")};
    struct learned_names *one = names_of(first, 2), *two = names_of(second, 2);
    struct err e = {0};
    assert_int_equal(learned_folder_add(folder, one, &e), ST_OK);
    assert_true(learned_folder_is(folder));
    assert_int_equal(learned_folder_add(folder, two, &e), ST_OK);
    assert_int_equal(learned_folder_add(folder, one, &e), ST_OK);
    struct learned_names *kept = names_of(NULL, 0);
    assert_int_equal(learned_folder_read(folder, id_of(UUID), kept, &e), ST_OK);
    assert_text(kept, TITLE_2 "f 100 80 00000007 a\nf 300 10 00000007 b\nf 300 10 00000007 c\n");
    assert_int_equal(learned_folder_read(folder, id_of(OTHER_UUID), kept, &e), ST_NONE);
    learned_names_free(kept);
    learned_names_free(one);
    learned_names_free(two);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* ---- dumps ---- */

#define DUMP(names)                                                                                \
    "{\"format\":\"stall-dump/1\",\"device\":{\"arch\":\"arm64\"},\"images\":[{\"uuid\":\"" UUID   \
    "\",\"name\":\"System\",\"load\":65536,\"size\":65536},{\"name\":\"nameless\","                \
    "\"load\":262144,\"size\":65536}],\"threads\":[{\"id\":1,\"main\":true,\"frames\":"            \
    "[65792,66048,66304,262400]}],\"names\":{" names "}}"

static void assert_learned(const char *json, const char *expected) {
    struct dump d;
    struct err e = {0};
    assert_int_equal(dump_parse(&d, json, strlen(json), &e), ST_OK);
    struct learned_names *n = names_of(NULL, 0);
    assert_int_equal(learn_dump(n, &d, &e), ST_OK);
    if (expected) {
        char *text = text_of(n, id_of(UUID));
        drop_tellers(text);
        assert_string_equal(text, expected);
        free(text);
    } else {
        assert_int_equal(learned_names_image_count(n), 0);
    }
    learned_names_free(n);
    dump_release(&d);
}

static void a_name_reaches_to_the_byte_that_is_looked_up(void **state) {
    (void)state;
    /* Frame 0 is an exact address, and a return address lies after its call. */
    assert_learned(DUMP("\"65792\":[\"a\",16],\"66048\":[\"b\",16]"),
                   TITLE_2 "f f0 11 a\nf 1f0 10 b\n");
}

static void a_name_far_from_its_symbol_tells_the_start_only(void **state) {
    (void)state;
    assert_learned(DUMP("\"66304\":[\"far\",16385]"),
                   NULL); /* with this offset the symbol would begin before the image */
    assert_learned("{\"format\":\"stall-dump/1\",\"images\":[{\"uuid\":\"" UUID
                   "\",\"name\":\"System\",\"load\":65536,\"size\":65536}],\"threads\":[{\"id\":1,"
                   "\"frames\":[98304,98303]}],"
                   "\"names\":{\"98304\":[\"near\",16384],\"98303\":[\"far\",16385]}}",
                   TITLE_2 "s 3ffe\nf 4000 4001 near\n");
}

static void an_image_without_a_place_teaches_nothing(void **state) {
    (void)state;
    assert_learned("{\"format\":\"stall-dump/1\",\"images\":[{\"uuid\":\"" UUID
                   "\",\"name\":\"System\",\"load\":65536,\"size\":65536,\"unplaced\":true}],"
                   "\"threads\":[{\"id\":1,\"frames\":[65792]}],\"names\":{\"65792\":[\"a\",16]}}",
                   NULL);
}

static void what_is_no_name_tells_the_start_only(void **state) {
    (void)state;
    assert_learned(DUMP("\"65792\":[\"<redacted>\",16]"), TITLE_2 "s f0\n");
    assert_learned(DUMP("\"65792\":[\"a\\tb\",16]"), TITLE_2 "s f0\n");
}

static void nothing_is_learned_without_an_offset_or_an_id(void **state) {
    (void)state;
    assert_learned(DUMP("\"66048\":[\"b\",0]"), NULL);
    assert_learned(DUMP("\"65792\":[\"a\",0,\"a.c\",3]"), NULL);
    assert_learned(DUMP("\"262400\":[\"c\",16]"), NULL);
    assert_learned(DUMP("\"65792\":[\"a\",0]"), TITLE_2 "f 100 1 a\n");
}

static struct learned_names *learn_text(const char *json) {
    struct dump d;
    struct learned_names *n = names_of(NULL, 0);
    assert_int_equal(dump_parse(&d, json, strlen(json), NULL), ST_OK);
    assert_int_equal(learn_dump(n, &d, NULL), ST_OK);
    dump_release(&d);
    return n;
}

static struct learned_function learn_first(struct learned_names *n, const char *json) {
    struct learned_names *more = learn_text(json);
    struct learned_list list = {0};
    assert_int_equal(learned_names_list(more, id_of(UUID), &list, NULL), ST_OK);
    for (size_t i = 0; i < list.len; i++) {
        assert_int_equal(
            learned_names_add(n, &(struct learned_fact){id_of(UUID), list.data[i]}, 1, NULL),
            ST_OK);
    }
    VEC_RELEASE(&list);
    assert_int_equal(learned_names_list(n, id_of(UUID), &list, NULL), ST_OK);
    assert_int_equal(list.len, 1);
    struct learned_function f = list.data[0];
    VEC_RELEASE(&list);
    learned_names_free(more);
    return f;
}

static void a_user_or_else_a_dump_tells(void **state) {
    (void)state;
#define TOLD_BY(user, id)                                                                          \
    "{\"format\":\"stall-dump/1\",\"user\":" user ",\"stall\":{\"id\":\"" id                       \
    "\"},\"images\":[{\"uuid\":\"" UUID "\",\"name\":\"System\",\"load\":65536,\"size\":65536}],"  \
    "\"threads\":[{\"id\":1,\"frames\":[65792]}],\"names\":{\"65792\":[\"a\",16]}}"
    struct learned_names *n = names_of(NULL, 0);
    assert_int_equal(learn_first(n, TOLD_BY("\"u1\"", "d1")).told_by[1], 0);
    assert_int_equal(learn_first(n, TOLD_BY("\"u1\"", "d2")).told_by[1], 0);
    assert_int_not_equal(learn_first(n, TOLD_BY("\"u2\"", "d2")).told_by[1], 0);
    learned_names_free(n);
    n = names_of(NULL, 0);
    assert_int_equal(learn_first(n, TOLD_BY("null", "d1")).told_by[1], 0);
    assert_int_equal(learn_first(n, TOLD_BY("null", "d1")).told_by[1], 0);
    assert_int_not_equal(learn_first(n, TOLD_BY("null", "d2")).told_by[1], 0);
    learned_names_free(n);
}

static void a_dump_that_contradicts_itself_tells_the_start_only(void **state) {
    (void)state;
    assert_learned(DUMP("\"65792\":[\"a\",16],\"66048\":[\"b\",272]"), TITLE_2 "s f0\n");
    assert_learned(DUMP("\"65792\":[\"a\",16],\"66048\":[\"a\",272]"), TITLE_2 "f f0 110 a\n");
}

/* ---- memory ---- */

static void learn_once(void *ctx, bool refused) {
    static const char json[] = DUMP("\"65792\":[\"Cart::total()\",16]");
    struct learned_fact fact = named(0xf0, 0x140, "_ZN4Cart5totalEv");
    struct learned_names *n = NULL;
    struct learned_sources *s = NULL;
    struct lookup_source *source = NULL;
    struct dump d;
    struct err e = {0};
    (void)ctx;
    enum st parsed = dump_parse(&d, json, sizeof json - 1, &e), st = parsed;
    if (st == ST_OK) {
        st = learned_names_new(&n, &e);
    }
    if (st == ST_OK) {
        st = learned_names_add(n, &fact, 1, &e);
    }
    if (st == ST_OK) {
        st = learn_dump(n, &d, &e);
    }
    if (st == ST_OK) {
        st = learned_sources_new(&s, NULL, NULL, &e);
    }
    if (st == ST_OK) {
        learned_sources_use_names(s, n);
        st = learned_sources_use_folder(s, "/nonexistent", &e);
    }
    if (st == ST_OK) {
        st = learned_sources_find(s, id_of(UUID), &source, &e);
    }
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    learned_sources_free(s);
    learned_names_free(n);
    dump_release(&d);
}

static void running_out_of_memory_while_learning_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(learn_once, NULL) > 10);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_join_to_the_same_names_in_any_order),
        cmocka_unit_test(more_names_than_are_kept_are_a_conflict_in_any_order),
        cmocka_unit_test(names_of_one_image_do_not_serve_another),
        cmocka_unit_test(an_unseen_function_between_two_learned_ones_has_no_name),
        cmocka_unit_test(a_function_ends_at_the_next_known_start),
        cmocka_unit_test(one_report_takes_no_name_that_two_tell),
        cmocka_unit_test(two_reports_against_two_are_a_conflict),
        cmocka_unit_test(two_reports_end_a_function_where_the_next_one_starts),
        cmocka_unit_test(a_damaged_text_is_refused_as_a_whole),
        cmocka_unit_test(a_text_of_version_1_is_told_by_one),
        cmocka_unit_test(a_folder_keeps_what_runs_add_to_it),
        cmocka_unit_test(a_name_reaches_to_the_byte_that_is_looked_up),
        cmocka_unit_test(a_name_far_from_its_symbol_tells_the_start_only),
        cmocka_unit_test(an_image_without_a_place_teaches_nothing),
        cmocka_unit_test(what_is_no_name_tells_the_start_only),
        cmocka_unit_test(nothing_is_learned_without_an_offset_or_an_id),
        cmocka_unit_test(a_user_or_else_a_dump_tells),
        cmocka_unit_test(a_dump_that_contradicts_itself_tells_the_start_only),
        cmocka_unit_test(running_out_of_memory_while_learning_is_an_error),
    };
    return cmocka_run_group_tests_name("learned_names", tests, NULL, NULL);
}
