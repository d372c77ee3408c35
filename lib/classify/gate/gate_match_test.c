/* Tests which buckets of two runs the gate compares with each other, and which belong to a
 * platform. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "base/hash.h"
#include "classify/print/print_formats.h"
#include "classify/gate/gate_private.h"

enum { FRAMES = 4, WORDS = FRAMES + 2, USERS = 400 };

struct pair {
    struct triage *run[RATES_RUNS];
    struct gate_match match;
    size_t full; /* see gate_match_buckets */
    double exposure[RATES_RUNS];
};

static struct pair start(void) {
    struct pair p = {0};
    const struct triage_options o = {.cap_ms = 30000, .rules = "test"};
    for (size_t i = 0; i < RATES_RUNS; i++) {
        assert_int_equal(triage_new(&p.run[i], &o, NULL), ST_OK);
    }
    return p;
}

static void match(struct pair *p) {
    const struct triage *const run[] = {p->run[RATES_BASE], p->run[RATES_NOW]};
    assert_true(gate_match_buckets(&p->match, run, p->full, p->exposure));
}

static void end(struct pair *p) {
    gate_match_release(&p->match);
    triage_free(p->run[RATES_BASE]);
    triage_free(p->run[RATES_NOW]);
}

/* Returns a copy of a name that lives as long as the triage. */
static const char *intern(struct triage *t, const char *s) {
    uint32_t index = triage_string(t, s);
    assert_int_not_equal(index, NO_INDEX);
    return map_string(&t->strings, index);
}

/* Splits text at blanks into words; a first word with a capital letter is the framework. Returns
 * how many words there are. */
static size_t split(const char *frames, char words[WORDS][32]) {
    size_t n = 0;
    for (const char *at = frames; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        assert_true(n < WORDS && len < sizeof words[0]);
        memcpy(words[n], at, len);
        words[n++][len] = '\0';
        at += len;
    }
    return n;
}

static struct bucket *put_level(struct triage *t, size_t level, const char *frames) {
    char words[WORDS][32], text[256] = "";
    size_t count = split(frames, words), framework = count && words[0][0] <= 'Z', len = 0;
    size_t most = framework + (level ? FRAMES : FRAMES / 2);
    bool added;
    for (size_t i = framework; i < count && words[i][0] == '+'; i++) {
        most++; /* a function that rules do not count */
    }
    count = count < most ? count : most;
    for (size_t i = 0; i < count; i++) {
        bool is_framework = i < framework;
        len += (size_t)snprintf(text + len, sizeof text - len, "%s\t%s\n",
                                is_framework ? words[i] : "app", is_framework ? "" : words[i]);
    }
    struct bucket *b = bucket_put(&t->level[level], text, len, &added);
    assert_non_null(b);
    if (added) {
        b->frames = calloc(count + 1, sizeof(const struct bucket_frame *));
        assert_non_null(b->frames);
        for (size_t i = 0; i < count; i++) {
            const char *word = intern(t, words[i]);
            const struct bucket_frame frame = {.image = i < framework ? word : "app",
                                               .image_name = "Shop",
                                               .function = i < framework ? "" : word,
                                               .in_app = i >= framework,
                                               .resolved = true};
            b->frames[b->frame_count] = triage_frame(t, &frame);
            assert_non_null(b->frames[b->frame_count++]);
        }
    }
    return b;
}

/* Makes the level-2 bucket of a stack of the app, such as "UIKit draw layout show". */
static struct bucket *put(struct pair *p, size_t run, const char *frames) {
    struct triage *t = p->run[run];
    struct bucket *inner = put_level(t, 1, frames), *outer = put_level(t, 0, frames);
    assert_true(bucket_adopt(outer, inner));
    return inner;
}

/* Are the two stacks' buckets compared with each other on this level (0: level 1, 1: level 2)? */
static bool paired(const struct pair *p, size_t level, const struct bucket *base,
                   const struct bucket *now) {
    uint32_t b = level ? base->index : base->parent, n = level ? now->index : now->parent;
    return p->match.other[RATES_BASE][level][b] == n && p->match.other[RATES_NOW][level][n] == b;
}

/* Checks both levels of two stacks, one in each run, whichever run is the base. */
static void check_pairs(const char *one, const char *other, bool level1, bool level2) {
    for (int swapped = 0; swapped < 2; swapped++) {
        struct pair p = start();
        struct bucket *base = put(&p, RATES_BASE, swapped ? other : one);
        struct bucket *now = put(&p, RATES_NOW, swapped ? one : other);
        match(&p);
        assert_int_equal(paired(&p, 0, base, now), level1);
        assert_int_equal(paired(&p, 1, base, now), level2);
        end(&p);
    }
}

static void equal_keys_are_compared(void **state) {
    (void)state;
    check_pairs("UIKit a b c d", "UIKit a b c d", true, true);
    check_pairs("UIKit a b c d", "UIKit e f g h", false, false);
}

static void a_function_that_came_or_went_is_looked_through(void **state) {
    (void)state;
    check_pairs("UIKit a b c d", "UIKit h a b c", true,
                true); /* the function that only one of them has is the innermost */
    check_pairs("UIKit a b c d", "UIKit a h b c", true, true);
    check_pairs("UIKit a b c d", "UIKit a b h c", true, true);
    check_pairs("UIKit a b", "UIKit a h b", true,
                true); /* the keys have fewer functions than a full key */
    check_pairs("a b c", "h a b c", true, true);
}

static void other_differences_are_other_stalls(void **state) {
    (void)state;
    check_pairs("UIKit a b c d", "Foundation h a b c", false, false);
    check_pairs("UIKit a b c d", "h a b c", false, false);
    check_pairs("UIKit a b c d", "UIKit x h a b", false, false); /* two functions came */
    check_pairs("UIKit a b c d", "UIKit a x c d", false,
                false);                                      /* a function replaced another one */
    check_pairs("UIKit a b c", "UIKit b a c", false, false); /* the functions have another order */
    check_pairs("UIKit a", "UIKit h a", false, false);       /* only one function is equal */
    struct pair p = start();
    (void)put(&p, RATES_BASE, "UIKit k l m n"); /* this bucket shows how long a full key is */
    struct bucket *base = put(&p, RATES_BASE, "UIKit a b c"),
                  *now = put(&p, RATES_NOW, "UIKit h a b");
    match(&p);
    assert_false(paired(&p, 1, base, now)); /* the key is not full, so h did not push c out */
    end(&p);
}

/* Makes the level-2 bucket of a stack that calls this function of its framework. */
static struct bucket *put_call(struct pair *p, size_t run, const char *frames, const char *call) {
    struct bucket *b = put(p, run, frames);
    struct bucket_frame frame = *b->frames[0];
    frame.call = intern(p->run[run], call);
    b->frames[0] = triage_frame(p->run[run], &frame);
    assert_non_null(b->frames[0]);
    return b;
}

/* Checks both levels of two stacks, and of their calls, one in each run, whichever run is the base.
 * A third bucket shows how long a full key is. */
static void check_calls(const char *const one[2], const char *const other[2], bool alike) {
    for (int swapped = 0; swapped < 2; swapped++) {
        struct pair p = start();
        const char *const *b = swapped ? other : one, *const *n = swapped ? one : other;
        (void)put(&p, RATES_BASE, "UIKit k l m n");
        struct bucket *base = put_call(&p, RATES_BASE, b[0], b[1]);
        struct bucket *now = put_call(&p, RATES_NOW, n[0], n[1]);
        match(&p);
        assert_int_equal(paired(&p, 0, base, now), alike);
        assert_int_equal(paired(&p, 1, base, now), alike);
        end(&p);
    }
}

/* A fleet showed this case: another build had inlined RecentDb::touch into
 * MainWindow::documentOpened, and nothing in its dumps said so. A lambda calls documentOpened, so
 * that the key has no other function. */
static void the_only_caller_is_known_by_what_it_calls(void **state) {
    (void)state;
    check_calls((const char *[]){"SQLite touch opened", "sqlite3_step"},
                (const char *[]){"SQLite opened", "sqlite3_step"}, true);
    check_calls((const char *[]){"SQLite touch opened", "sqlite3_step"},
                (const char *[]){"SQLite opened", "sqlite3_exec"}, false);
    check_calls((const char *[]){"SQLite touch opened", "step"},
                (const char *[]){"Metal opened", "step"}, false);
    check_calls((const char *[]){"SQLite touch opened", "sqlite3_step"},
                (const char *[]){"SQLite touch", "sqlite3_step"},
                false); /* the caller is missing */
    check_calls((const char *[]){"SQLite sort touch opened", "sqlite3_step"},
                (const char *[]){"SQLite opened", "sqlite3_step"},
                false); /* two functions are missing */
}

static void a_new_stall_of_a_known_caller_is_new(void **state) {
    (void)state;
    struct pair p = start();
    (void)put(&p, RATES_BASE, "UIKit k l m n");
    struct bucket *base = put_call(&p, RATES_BASE, "SQLite touch opened", "sqlite3_step");
    struct bucket *same = put_call(&p, RATES_NOW, "SQLite touch opened", "sqlite3_step");
    struct bucket *fresh = put_call(&p, RATES_NOW, "SQLite opened", "sqlite3_step");
    match(&p);
    assert_true(paired(&p, 0, base, same) && paired(&p, 1, base, same));
    assert_int_equal(p.match.other[RATES_NOW][0][fresh->parent], NO_INDEX);
    assert_int_equal(p.match.other[RATES_NOW][1][fresh->index], NO_INDEX);
    end(&p);
    p = start(); /* a second function between the caller and what it calls; the stack without it is
                    still there */
    (void)put(&p, RATES_BASE, "UIKit k l m n");
    base = put_call(&p, RATES_BASE, "SQLite opened", "sqlite3_step");
    same = put_call(&p, RATES_NOW, "SQLite opened", "sqlite3_step");
    fresh = put_call(&p, RATES_NOW, "SQLite vacuum opened", "sqlite3_step");
    match(&p);
    assert_true(paired(&p, 0, base, same) && paired(&p, 1, base, same));
    assert_int_equal(p.match.other[RATES_NOW][1][fresh->index], NO_INDEX);
    end(&p);
    p = start(); /* either of two functions could have been inlined, so neither is known */
    (void)put(&p, RATES_BASE, "UIKit k l m n");
    base = put_call(&p, RATES_BASE, "SQLite opened", "sqlite3_step");
    same = put_call(&p, RATES_NOW, "SQLite touch opened", "sqlite3_step");
    fresh = put_call(&p, RATES_NOW, "SQLite vacuum opened", "sqlite3_step");
    match(&p);
    assert_false(paired(&p, 1, base, same) || paired(&p, 1, base, fresh));
    end(&p);
}

static void a_longer_key_elsewhere_does_not_change_what_is_full(void **state) {
    (void)state;
    for (size_t full = 0; full <= FRAMES; full += FRAMES) {
        struct pair p = start();
        p.full = full;
        struct bucket *base = put(&p, RATES_BASE, "UIKit a h b c"),
                      *now = put(&p, RATES_NOW, "UIKit a b c d");
        (void)put(&p, RATES_NOW, "+v +w e f i j");
        match(&p);
        assert_int_equal(paired(&p, 1, base, now), full == FRAMES);
        end(&p);
    }
}

static void a_function_is_looked_through_only_without_a_choice(void **state) {
    (void)state;
    struct pair p = start();
    struct bucket *base = put(&p, RATES_BASE, "UIKit a b c d");
    struct bucket *one = put(&p, RATES_NOW, "UIKit h a b c");
    struct bucket *two = put(&p, RATES_NOW, "UIKit a g b c");
    match(&p);
    assert_false(paired(&p, 1, base, one) || paired(&p, 1, base, two));
    end(&p);
    p = start(); /* a bucket that both runs have is not matched with a third one */
    base = put(&p, RATES_BASE, "UIKit a b c d");
    one = put(&p, RATES_NOW, "UIKit h a b c");
    two = put(&p, RATES_NOW, "UIKit a b c d");
    match(&p);
    assert_true(paired(&p, 1, base, two));
    assert_int_equal(p.match.other[RATES_NOW][1][one->index], NO_INDEX);
    end(&p);
}

static void level_1_follows_only_if_all_of_its_level_2_does(void **state) {
    (void)state;
    struct pair p = start();
    struct bucket *base = put(&p, RATES_BASE, "UIKit a b c d");
    struct bucket *more = put(&p, RATES_BASE, "UIKit a b x y");
    struct bucket *now = put(&p, RATES_NOW, "UIKit h a b c");
    match(&p);
    assert_true(paired(&p, 1, base, now));
    assert_int_equal(base->parent, more->parent);
    assert_false(paired(&p, 0, base, now));
    end(&p);
}

/* Gives the bucket's innermost function no name, in an image of this id. */
static void take_name(struct pair *p, size_t run, struct bucket *b, const char *id,
                      const char *offset) {
    const struct bucket_frame frame = {.image = intern(p->run[run], id),
                                       .image_name = intern(p->run[run], "libShop.so"),
                                       .function = intern(p->run[run], offset),
                                       .in_app = true};
    b->frames[0] = triage_frame(p->run[run], &frame);
    assert_non_null(b->frames[0]);
}

static uint64_t number_of(const struct bucket *b, char level) {
    return key_number_of(level, b->text_hash);
}

static void an_id_in_common_pairs(void **state) {
    (void)state;
    struct pair p = start();
    struct bucket *base = put(&p, RATES_BASE, "UIKit a b");
    struct bucket *now = put(&p, RATES_NOW, "UIKit x y z w");
    /* the bucket's alias is the id of the other bucket */
    assert_true(bucket_add_alias(now, number_of(base, '2'), UINT32_MAX));
    match(&p);
    assert_true(paired(&p, 1, base, now));
    end(&p);
}

/* Functions that are inlined in one have one former id, though they are different stalls. */
static void a_former_id_in_common_pairs_only_a_function_in_common(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"x y z w", ""}, {"x y z a", "paired"}, {"y b z w", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pair p = start();
        struct bucket *base = put(&p, RATES_BASE, "a b"), *now = put(&p, RATES_NOW, rows[i][0]);
        assert_true(bucket_add_alias(now, 77, UINT32_MAX) &&
                    bucket_add_alias(base, 77, UINT32_MAX));
        match(&p);
        assert_int_equal(paired(&p, 1, base, now), rows[i][1][0] != '\0');
        end(&p);
    }
    struct pair p = start(); /* a frame has no name */
    struct bucket *base = put(&p, RATES_BASE, "a b"), *now = put(&p, RATES_NOW, "x y z w");
    take_name(&p, RATES_NOW, now, "2b", "+0x20");
    assert_true(bucket_add_alias(now, 77, UINT32_MAX) && bucket_add_alias(base, 77, UINT32_MAX));
    match(&p);
    assert_true(paired(&p, 1, base, now));
    end(&p);
}

/* A new stall took the place of one that is gone, because both had the former id of others. */
static void a_former_id_of_several_does_not_pair_the_one_that_is_left(void **state) {
    (void)state;
    struct pair p = start();
    struct bucket *base[] = {put(&p, RATES_BASE, "a b"), put(&p, RATES_BASE, "c d")};
    struct bucket *now[] = {put(&p, RATES_NOW, "a b"), put(&p, RATES_NOW, "x c y z")};
    for (size_t i = 0; i < 2; i++) {
        assert_true(bucket_add_alias(base[i], 77, UINT32_MAX) &&
                    bucket_add_alias(now[i], 77, UINT32_MAX));
    }
    match(&p);
    assert_true(paired(&p, 1, base[0], now[0]));
    assert_int_equal(p.match.other[RATES_NOW][1][now[1]->index], NO_INDEX);
    end(&p);
}

/* The base has only single stacks of the helper, and counts them in its caller. */
static void what_one_run_counts_elsewhere_is_not_new(void **state) {
    (void)state;
    struct pair p = start();
    struct joined_stacks joined[KEY_LEVELS];
    struct bucket *base = put(&p, RATES_BASE, "work step run tap");
    struct bucket *now = put(&p, RATES_NOW, "work step run tap");
    struct bucket *helper = put(&p, RATES_NOW, "help work step run");
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        const struct bucket *b = level ? helper : p.run[RATES_NOW]->level[0].buckets.data[1];
        const struct bucket *c = level ? base : p.run[RATES_BASE]->level[0].buckets.data[0];
        memcpy(joined[level].id, b->id, sizeof b->id);
        memcpy(joined[level].into, c->id, sizeof c->id);
        assert_true(VEC_PUSH(&p.run[RATES_BASE]->joined_stacks, joined[level]));
    }
    match(&p);
    assert_true(paired(&p, 0, base, now) && paired(&p, 1, base, now));
    assert_int_equal(p.match.other[RATES_NOW][1][helper->index], base->index);
    assert_int_equal(p.match.other[RATES_NOW][0][helper->parent], base->parent);
    end(&p);
}

/* Are two stacks compared whose innermost function has no name, in the build `id` of the later run?
 * rival: the later run has another such stack, which the same function called. */
static bool nameless_pair(const char *base_frames, const char *now_frames, const char *id,
                          bool rival) {
    struct pair p = start();
    struct bucket *base = put(&p, RATES_BASE, base_frames);
    struct bucket *now = put(&p, RATES_NOW, now_frames);
    take_name(&p, RATES_BASE, base, "1a", "+0x10");
    take_name(&p, RATES_NOW, now, id, "+0x20");
    if (rival) {
        take_name(&p, RATES_NOW, put(&p, RATES_NOW, "z pause"), id, "+0x30");
    }
    match(&p);
    bool is = paired(&p, 1, base, now);
    assert_true(paired(&p, 0, base, now) == is);
    end(&p);
    return is;
}

static void nameless_functions_of_another_build_pair(void **state) {
    (void)state;
    assert_true(nameless_pair("x pause", "y pause", "2b", false));
    assert_false(nameless_pair("x pause", "y pause", "1a", false)); /* one build, two functions */
    assert_false(nameless_pair("x pause", "y resume", "2b", false));
    assert_false(nameless_pair("x pause", "y pause main", "2b", false));
    assert_false(nameless_pair("x", "y", "2b", false)); /* nothing has a name */
    assert_false(nameless_pair("x pause", "y pause", "2b", true));
}

static void an_id_of_several_pairs_none_of_them(void **state) {
    (void)state;
    struct pair p = start();
    struct bucket *base = put(&p, RATES_BASE, "UIKit a b");
    struct bucket *one = put(&p, RATES_NOW, "UIKit x y z a");
    struct bucket *two = put(&p, RATES_NOW, "UIKit k l m a");
    for (size_t i = 0; i < 2; i++) {
        assert_true(bucket_add_alias(i ? one : two, 77, UINT32_MAX) &&
                    bucket_add_alias(base, 77, UINT32_MAX));
    }
    match(&p); /* each of the two has only one candidate, so both are compared with it */
    assert_int_equal(p.match.other[RATES_NOW][1][one->index], base->index);
    assert_int_equal(p.match.other[RATES_NOW][1][two->index], base->index);
    end(&p);
    p = start(); /* a bucket that has two candidates is matched with neither … */
    base = put(&p, RATES_BASE, "UIKit a b");
    one = put(&p, RATES_BASE, "UIKit x y z w");
    two = put(&p, RATES_NOW, "UIKit k l m a");
    assert_true(bucket_add_alias(base, 77, UINT32_MAX) && bucket_add_alias(one, 78, UINT32_MAX));
    assert_true(bucket_add_alias(two, 77, UINT32_MAX) && bucket_add_alias(two, 78, UINT32_MAX));
    struct bucket *same = put(&p, RATES_NOW, "UIKit x y z w");
    match(&p);
    /* … but a bucket that both runs have is not a candidate. */
    assert_true(paired(&p, 1, one, same));
    assert_true(paired(&p, 1, base, two));
    end(&p);
}

/* ---- platforms ---- */

static void count(struct pair *p, size_t run, const char *frames, unsigned users, const char *os,
                  const char *device) {
    struct triage *t = p->run[run];
    struct bucket *inner = put(p, run, frames);
    struct tally *tallies[] = {inner->tally, t->level[0].buckets.data[inner->parent]->tally,
                               &t->total};
    uint32_t texts[] = {triage_string(t, os), triage_string(t, device)};
    for (unsigned i = 0; i < users; i++) {
        uint64_t user = hash_u64(i ^ hash_bytes(frames, strlen(frames)));
        uint32_t cell = cluster_cell_of(cluster_stratum(device, os, 6), user);
        for (size_t k = 0; k < sizeof tallies / sizeof *tallies; k++) {
            struct tally *of = tallies[k];
            of->dumps++;
            of->ms += 1000;
            assert_true(tally_stall(of, 1000, false, cell) && distinct_add(&of->users, user) &&
                        clusters_add(&of->clusters, cell, 0, 1000) &&
                        tally_facet(of, FACET_OS, texts[0], 1) &&
                        tally_facet(of, FACET_DEVICE, texts[1], 1));
        }
    }
}

static void a_former_id_pairs_no_other_kind_of_system(void **state) {
    (void)state;
    static const struct {
        const char *base, *now;
        bool paired;
    } rows[] = {{"Android 15", "Windows 11", false},
                {"Android 15", "macOS 15.1", false},
                {"Debian GNU/Linux 12", "Ubuntu 24.04", true},
                {"iOS 18.1", "iPadOS 18.1", true},
                {"Android 14", "Android 15", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pair p = start();
        count(&p, RATES_BASE, "a b", 3, rows[i].base, "x");
        count(&p, RATES_NOW, "x y z a", 3, rows[i].now, "x");
        struct bucket *base = put(&p, RATES_BASE, "a b"), *now = put(&p, RATES_NOW, "x y z a");
        assert_true(bucket_add_alias(now, number_of(base, '2'), UINT32_MAX));
        match(&p);
        assert_int_equal(paired(&p, 1, base, now), rows[i].paired);
        end(&p);
    }
}

static bool has_function(const struct bucket *b, const char *function) {
    for (size_t i = 0; i < b->frame_count; i++) {
        if (strcmp(b->frames[i]->function, function) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the gate's verdict on the stack "UIKit a b c d", and the run's verdict and report. */
static enum gate_verdict judged(struct pair *p, enum gate_verdict *run, struct strbuf *report) {
    static const struct gate_options o = {.regressed_percent = 20, .min_users = 20};
    struct gate g;
    enum gate_verdict v = GATE_VERDICTS;
    for (size_t i = 0; i < RATES_RUNS; i++) {
        assert_int_equal(triage_finish(p->run[i], NULL), ST_OK);
    }
    assert_int_equal(gate_compare(&g, p->run[RATES_BASE], p->run[RATES_NOW], &o, NULL), ST_OK);
    for (size_t i = 0; i < g.rows.len; i++) {
        const struct gate_row *row = &g.rows.data[i];
        if (row->level == '1' && has_function(row->bucket, "a")) {
            v = row->verdict;
        }
    }
    *run = g.verdict;
    struct sink s = sink_to_strbuf(report);
    gate_print_text(&g, &s);
    gate_print_json(&g, &s);
    gate_print_markdown(&g, &s);
    gate_print_junit(&g, &s);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    gate_release(&g);
    end(p);
    return v;
}

static void what_only_a_new_platform_has_is_not_the_releases(void **state) {
    (void)state;
    static const struct {
        const char *os, *device, *remark;
    } platforms[] = {{"iOS 18.0", "iPhone13,3", "new with iOS 18"},
                     {"iOS 17.2", "iPhone17,1", "new with iPhone17"}};
    for (size_t i = 0; i < 2; i++) {
        struct pair p = start();
        struct strbuf report = {0};
        enum gate_verdict run;
        count(&p, RATES_BASE, "UIKit e f g h", USERS, "iOS 17.2", "iPhone13,2");
        count(&p, RATES_NOW, "UIKit e f g h", USERS, "iOS 17.5", "iPhone13,3");
        count(&p, RATES_NOW, "UIKit a b c d", USERS, platforms[i].os, platforms[i].device);
        assert_int_equal(judged(&p, &run, &report), GATE_PLATFORM);
        assert_true(run != GATE_NEW && run != GATE_REGRESSED);
        assert_non_null(strstr(report.data, platforms[i].remark));
        strbuf_release(&report);
    }
}

static void what_a_known_platform_has_too_is_new(void **state) {
    (void)state;
    struct pair p = start();
    struct strbuf report = {0};
    enum gate_verdict run;
    count(&p, RATES_BASE, "UIKit e f g h", USERS, "iOS 17.2", "iPhone13,2");
    count(&p, RATES_NOW, "UIKit e f g h", USERS, "iOS 17.2", "iPhone13,2");
    count(&p, RATES_NOW, "UIKit a b c d", USERS, "iOS 18.0", "iPhone13,2");
    count(&p, RATES_NOW, "UIKit a b c d", USERS, "iOS 17.5", "iPhone13,2");
    assert_int_equal(judged(&p, &run, &report), GATE_NEW);
    assert_int_equal(run, GATE_NEW);
    strbuf_release(&report);
}

static void more_users_on_a_new_platform_are_no_rise(void **state) {
    (void)state;
    struct pair p = start();
    struct strbuf report = {0};
    enum gate_verdict run;
    for (size_t i = 0; i < RATES_RUNS; i++) {
        count(&p, i, "UIKit a b c d", USERS, "iOS 17.2", "iPhone13,2");
        count(&p, i, "UIKit e f g h", 10 * USERS, "iOS 17.2", "iPhone13,2");
    }
    count(&p, RATES_NOW, "UIKit a b c d", 3 * USERS, "iOS 18.0", "iPhone13,2");
    assert_int_not_equal(judged(&p, &run, &report), GATE_REGRESSED);
    assert_true(run != GATE_NEW && run != GATE_REGRESSED);
    strbuf_release(&report);
}

/* Adds the exposure of so many users on a device with a system. */
static void expose(struct pair *p, size_t run, unsigned users, const char *os, const char *device) {
    uint32_t stratum = cluster_stratum(device, os, 6);
    for (unsigned i = 0; i < users; i++) {
        assert_true(clusters_add(&p->run[run]->exposure, cluster_cell_of(stratum, hash_u64(i)), 1,
                                 3600 * 1000));
    }
}

/* Nearly all users are on a system that only their run has, where a stall rose to four times. What
 * the others show is no verdict on all. */
static void systems_that_one_run_has_are_not_compared(void **state) {
    (void)state;
    for (unsigned common = 1; common <= 10; common += 9) {
        static const char *const systems[] = {"iOS 17.2", "iOS 18.0"};
        struct pair p = start();
        struct strbuf report = {0};
        enum gate_verdict run;
        for (size_t i = 0; i < RATES_RUNS; i++) {
            unsigned rise = i == RATES_NOW ? 4 : 1;
            count(&p, i, "UIKit a b c d", common * USERS, "iOS 16.0", "iPhone13,2");
            expose(&p, i, common * USERS, "iOS 16.0", "iPhone13,2");
            count(&p, i, "UIKit a b c d", rise * USERS, systems[i], "iPhone13,2");
            expose(&p, i, 2 * USERS, systems[i], "iPhone13,2");
        }
        enum gate_verdict verdict = judged(&p, &run, &report);
        assert_int_equal(verdict, common == 10 ? GATE_PASS : GATE_INCONCLUSIVE);
        assert_int_equal(run, verdict);
        assert_non_null(strstr(report.data, common == 10 ? "20.0 % of the stalls are on systems"
                                                         : "71.5 % of the stalls are on systems"));
        strbuf_release(&report);
    }
}

static const char *const usual_os = "iOS 17.2", *const usual_device = "iPhone13,2";

static void a_large_bucket_that_may_have_risen_is_no_pass(void **state) {
    (void)state;
    for (int exists = 0; exists < 2; exists++) {
        struct pair p = start();
        struct strbuf report = {0};
        enum gate_verdict run;
        for (size_t i = 0; i < RATES_RUNS; i++) {
            count(&p, i, "UIKit e f g h", 2 * USERS, usual_os, usual_device);
            count(&p, i, "UIKit a b c d", i == RATES_NOW && exists ? 32 : 19, usual_os,
                  usual_device);
        }
        enum gate_verdict v = judged(&p, &run, &report);
        assert_int_equal(run, exists ? GATE_INCONCLUSIVE : GATE_PASS);
        /* The row is inconclusive whatever the run's verdict is. */
        assert_true(v == GATE_INCONCLUSIVE);
        assert_int_equal(strstr(report.data, "may have risen by half") != NULL, exists);
        strbuf_release(&report);
    }
}

static void a_row_says_which_bucket_of_the_baseline_it_is(void **state) {
    (void)state;
    struct pair p = start();
    struct strbuf report = {0};
    enum gate_verdict run;
    char was[64];
    count(&p, RATES_BASE, "UIKit a b c d", USERS, usual_os, usual_device);
    count(&p, RATES_NOW, "UIKit h a b c", USERS, usual_os, usual_device);
    (void)snprintf(was, sizeof was, "\"was %s in the baseline\"",
                   p.run[RATES_BASE]->level[0].buckets.data[0]->id);
    (void)judged(&p, &run, &report);
    assert_non_null(strstr(report.data, was));
    strbuf_release(&report);
}

/* ---- versions ---- */

/* What the dumps of a bucket say, of which the tests of versions change one. */
struct said {
    const char *frames, *version; /* version NULL: unknown */
    unsigned dumps;
    enum rule_cause cause;
};

static struct bucket *count_said(struct pair *p, size_t run, struct said said) {
    struct triage *t = p->run[run];
    struct bucket *inner = put(p, run, said.frames);
    struct tally *tallies[] = {inner->tally, t->level[0].buckets.data[inner->parent]->tally,
                               &t->total};
    const struct cause_tally cause = {said.cause, said.dumps, 1000 * said.dumps, 0};
    count(p, run, said.frames, said.dumps, usual_os, usual_device);
    for (size_t k = 0; k < sizeof tallies / sizeof *tallies; k++) {
        assert_true(tally_add_cause(tallies[k], &cause));
        assert_true(!said.version || tally_facet(tallies[k], FACET_VERSION,
                                                 triage_string(t, said.version), said.dumps));
    }
    return inner;
}

/* Counts two stacks, one in each run, and what both runs have; whichever run is the base. */
static void check_said(struct said one, struct said other, const char *others, bool same) {
    for (int swapped = 0; swapped < 2; swapped++) {
        struct pair p = start();
        p.full = FRAMES;
        for (size_t i = 0; i < RATES_RUNS; i++) {
            bool first = (i == RATES_NOW) == swapped;
            const struct said usual = {others, (first ? one : other).version, 40, CAUSE_DISK};
            (void)count_said(&p, i, usual);
        }
        struct bucket *base = count_said(&p, RATES_BASE, swapped ? other : one);
        struct bucket *now = count_said(&p, RATES_NOW, swapped ? one : other);
        match(&p);
        assert_int_equal(paired(&p, 0, base, now), same);
        assert_int_equal(paired(&p, 1, base, now), same);
        end(&p);
    }
}

/* A fleet showed these cases: a later version had inlined the only caller. */
static void one_function_is_enough_if_a_version_inlined_the_other(void **state) {
    static const char *const rows[][2] = {
        {"UIKit fetch tap", "UIKit fetch"}, {"fetch tap", "fetch"}, {"help fetch", "fetch"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_said((struct said){rows[i][0], "1", 9, CAUSE_DISK},
                   (struct said){rows[i][1], "2", 3, CAUSE_DISK}, "UIKit k l m n", true);
    }
}

static void one_function_is_not_enough_for_what_may_be_another_stall(void **state) {
    static const struct said more = {"UIKit fetch tap", "1", 9, CAUSE_DISK};
    static const struct said rows[] = {
        {"UIKit fetch", "1", 9, CAUSE_DISK},       /* of the same version */
        {"UIKit fetch", NULL, 9, CAUSE_DISK},      /* of an unknown one */
        {"UIKit fetch", "2", 9, CAUSE_NETWORK},    /* of another cause */
        {"UIKit fetch", "2", 2, CAUSE_DISK},       /* too few dumps */
        {"UIKit fetch", "2", 90, CAUSE_DISK},      /* another share of all stalls */
        {"Foundation fetch", "2", 9, CAUSE_DISK},  /* another framework */
        {"fetch", "2", 9, CAUSE_DISK},             /* no framework */
        {"UIKit send", "2", 9, CAUSE_DISK},        /* another function */
        {"UIKit fetch send", "2", 9, CAUSE_DISK}}; /* a function replaced another one */
    const struct said unknown = {"UIKit fetch", "2", 9, CAUSE_UNKNOWN};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_said(more, rows[i], "UIKit k l m n", false);
    }
    check_said((struct said){more.frames, more.version, more.dumps, CAUSE_UNKNOWN}, unknown,
               "UIKit k l m n", false);
    check_said(more, (struct said){"UIKit fetch", "2", 9, CAUSE_DISK}, "fetch k l m",
               false); /* others call it, too */
}

static void one_function_is_not_enough_at_another_rate(void **state) {
    (void)state;
    for (double exposure = 2000; exposure <= 4000; exposure += 2000) {
        struct pair p = start();
        p.full = FRAMES;
        p.exposure[RATES_BASE] = 1000;
        p.exposure[RATES_NOW] = exposure;
        struct bucket *base =
            count_said(&p, RATES_BASE, (struct said){"fetch tap", "1", 9, CAUSE_DISK});
        struct bucket *now = count_said(&p, RATES_NOW, (struct said){"fetch", "2", 9, CAUSE_DISK});
        match(&p);
        assert_int_equal(paired(&p, 1, base, now), exposure < 3000);
        end(&p);
    }
}

static void a_bucket_of_two_functions_is_not_that_of_either(void **state) {
    (void)state;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        struct pair p = start();
        p.full = FRAMES;
        struct bucket *b = count_said(&p, run, (struct said){"a b", "1", 9, CAUSE_DISK});
        (void)count_said(&p, !run, (struct said){"a", "2", 9, CAUSE_DISK});
        (void)count_said(&p, !run, (struct said){"b", "2", 9, CAUSE_DISK});
        match(&p);
        assert_int_equal(p.match.other[run][1][b->index], NO_INDEX);
        end(&p);
    }
}

/* A bucket whose caller was inlined is compared with what it was, so that a rise is found. */
static void an_inlined_caller_does_not_hide_a_rise(void **state) {
    (void)state;
    for (unsigned rise = 1; rise <= 2; rise++) {
        struct pair p = start();
        struct strbuf report = {0};
        enum gate_verdict run;
        char was[64];
        for (size_t i = 0; i < RATES_RUNS; i++) {
            (void)count_said(&p, i,
                             (struct said){"UIKit k l m n", i ? "2" : "1", 10 * USERS, CAUSE_DISK});
        }
        const struct bucket *b =
            count_said(&p, RATES_BASE, (struct said){"UIKit a tap", "1", USERS, CAUSE_DISK});
        (void)count_said(&p, RATES_NOW, (struct said){"UIKit a", "2", rise * USERS, CAUSE_DISK});
        (void)snprintf(was, sizeof was, "was %s in the baseline",
                       p.run[RATES_BASE]->level[0].buckets.data[b->parent]->id);
        enum gate_verdict v = judged(&p, &run, &report);
        assert_int_equal(v, rise > 1 ? GATE_REGRESSED : GATE_PASS);
        assert_int_equal(run, v);
        assert_non_null(strstr(report.data, was));
        strbuf_release(&report);
    }
}

/* ---- small buckets ---- */

static void small_buckets_are_told_together(void **state) {
    (void)state;
    struct pair p = start();
    struct strbuf report = {0};
    enum gate_verdict run;
    for (char letter = 'a'; letter <= 'z'; letter++) {
        const char frames[] = {'U', 'I', 'K', 'i', 't', ' ', letter, ' ', 'X', '\0'};
        for (size_t i = 0; i < RATES_RUNS; i++) {
            count(&p, i, frames, 40, usual_os, usual_device);
        }
    }
    assert_int_equal(judged(&p, &run, &report), GATE_INCONCLUSIVE);
    assert_int_equal(run, GATE_PASS);
    assert_non_null(strstr(report.data, "for 100.0 % of the stalls"));
    assert_non_null(strstr(report.data, "\"UIKit, 26 buckets together\""));
    strbuf_release(&report);
}

/* Counts 26 buckets that call UIKit, of `base` users before and `now` users now, the fourth of
 * `fourth` users now, and one bucket of ten times all users in both runs. */
static void count_small(struct pair *p, unsigned base, unsigned now, unsigned fourth) {
    for (char letter = 'a'; letter <= 'z'; letter++) {
        const char frames[] = {'U', 'I', 'K', 'i', 't', ' ', letter, ' ', 'X', '\0'};
        count(p, RATES_BASE, frames, base, usual_os, usual_device);
        count(p, RATES_NOW, frames, letter == 'd' ? fourth : now, usual_os, usual_device);
    }
    for (size_t i = 0; i < RATES_RUNS; i++) {
        count(p, i, "e1 e2 e3 e4", 10 * USERS, usual_os, usual_device);
    }
}

static void a_rise_of_small_buckets_together_is_a_regression(void **state) {
    (void)state;
    struct pair p = start();
    struct strbuf report = {0};
    enum gate_verdict run;
    count_small(&p, 20, 32, 32);
    (void)judged(&p, &run, &report);
    assert_int_equal(run, GATE_REGRESSED);
    assert_non_null(strstr(report.data, "regressed   UIKit, 26 buckets together"));
    strbuf_release(&report);
}

static void a_pool_does_not_fail_for_a_bucket_that_fails_by_itself(void **state) {
    (void)state;
    struct pair p = start();
    struct strbuf report = {0};
    enum gate_verdict run;
    count_small(&p, 30, 30, 300);
    (void)judged(&p, &run, &report);
    assert_int_equal(run, GATE_REGRESSED);
    assert_non_null(strstr(report.data, "failed: 1 regressed, 0 new"));
    assert_non_null(strstr(report.data, "UIKit, 25 buckets together"));
    assert_null(strstr(report.data, "regressed   UIKit, 25"));
    strbuf_release(&report);
}

static void a_pool_that_rises_without_its_failing_bucket_fails(void **state) {
    (void)state;
    struct pair p = start();
    struct strbuf report = {0};
    enum gate_verdict run;
    count_small(&p, 20, 32, 300);
    (void)judged(&p, &run, &report);
    assert_non_null(strstr(report.data, "regressed   UIKit, 25 buckets together"));
    assert_non_null(strstr(report.data, "and 22 more; without 1 bucket that fails by itself"));
    strbuf_release(&report);
}

static void a_bucket_alone_in_its_framework_is_no_pool(void **state) {
    (void)state;
    struct pair p = start();
    struct strbuf report = {0};
    enum gate_verdict run;
    count(&p, RATES_BASE, "UIKit a b X", 20, usual_os, usual_device);
    count(&p, RATES_NOW, "UIKit a b X", 90, usual_os, usual_device);
    for (size_t i = 0; i < RATES_RUNS; i++) {
        count(&p, i, "e1 e2 e3 e4", 10 * USERS, usual_os, usual_device);
    }
    (void)judged(&p, &run, &report);
    assert_non_null(strstr(report.data, "failed: 1 regressed, 0 new"));
    assert_null(strstr(report.data, "UIKit, ")); /* the begin of a pool's title */
    strbuf_release(&report);
}

static void every_allocation_of_a_comparison_may_fail(void *ctx, bool refused) {
    static const struct gate_options o = {.regressed_percent = 20, .min_users = 20};
    struct pair *p = ctx;
    struct gate g;
    struct err e = {0};
    enum st st = gate_compare(&g, p->run[RATES_BASE], p->run[RATES_NOW], &o, &e);
    assert_true(refused || st == ST_OK);
    if (st == ST_OK) {
        gate_release(&g);
    } else {
        assert_int_equal(e.code, ERR_NOMEM);
    }
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    struct pair p = start();
    count(&p, RATES_BASE, "UIKit a b c d", 3, usual_os, usual_device);
    count(&p, RATES_BASE, "UIKit e f g h", 3, usual_os, usual_device);
    count(&p, RATES_NOW, "UIKit x a b c", 3, usual_os, usual_device);
    count(&p, RATES_NOW, "UIKit s t", 300, usual_os, usual_device); /* its pool fails with it */
    (void)count_said(&p, RATES_BASE, (struct said){"UIKit q r", "1", 3, CAUSE_DISK});
    (void)count_said(&p, RATES_NOW, (struct said){"UIKit q", "2", 3, CAUSE_DISK});
    struct bucket *b = put(&p, RATES_NOW, "UIKit k l m n");
    assert_true(bucket_add_alias(b, 77, UINT32_MAX));
    for (size_t i = 0; i < RATES_RUNS; i++) {
        assert_int_equal(triage_finish(p.run[i], NULL), ST_OK);
    }
    if (failmalloc_works()) {
        assert_true(failmalloc_sweep(every_allocation_of_a_comparison_may_fail, &p) > 20);
    }
    end(&p);
}

/* One forged dump among 61 could claim the id of any bucket. */
static void an_alias_of_few_dumps_pairs_nothing(void **state) {
    (void)state;
    static const struct {
        uint64_t told;
        bool paired;
    } rows[] = {{1, false}, {30, false}, {31, true}, {61, true}};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        struct pair p = start();
        struct bucket *base = put(&p, RATES_BASE, "UIKit a b");
        struct bucket *now = put(&p, RATES_NOW, "UIKit x y z w");
        struct bucket *of = i % 2 ? base : now;
        of->tally->dumps = 61;
        assert_true(bucket_add_alias(of, number_of(i % 2 ? now : base, '2'), rows[i / 2].told));
        match(&p);
        assert_int_equal(paired(&p, 1, base, now), rows[i / 2].paired);
        end(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alias_of_few_dumps_pairs_nothing),
        cmocka_unit_test(equal_keys_are_compared),
        cmocka_unit_test(a_function_that_came_or_went_is_looked_through),
        cmocka_unit_test(other_differences_are_other_stalls),
        cmocka_unit_test(the_only_caller_is_known_by_what_it_calls),
        cmocka_unit_test(a_new_stall_of_a_known_caller_is_new),
        cmocka_unit_test(a_longer_key_elsewhere_does_not_change_what_is_full),
        cmocka_unit_test(a_function_is_looked_through_only_without_a_choice),
        cmocka_unit_test(level_1_follows_only_if_all_of_its_level_2_does),
        cmocka_unit_test(an_id_in_common_pairs),
        cmocka_unit_test(systems_that_one_run_has_are_not_compared),
        cmocka_unit_test(a_former_id_in_common_pairs_only_a_function_in_common),
        cmocka_unit_test(a_former_id_of_several_does_not_pair_the_one_that_is_left),
        cmocka_unit_test(a_former_id_pairs_no_other_kind_of_system),
        cmocka_unit_test(what_one_run_counts_elsewhere_is_not_new),
        cmocka_unit_test(nameless_functions_of_another_build_pair),
        cmocka_unit_test(an_id_of_several_pairs_none_of_them),
        cmocka_unit_test(what_only_a_new_platform_has_is_not_the_releases),
        cmocka_unit_test(what_a_known_platform_has_too_is_new),
        cmocka_unit_test(more_users_on_a_new_platform_are_no_rise),
        cmocka_unit_test(a_large_bucket_that_may_have_risen_is_no_pass),
        cmocka_unit_test(a_row_says_which_bucket_of_the_baseline_it_is),
        cmocka_unit_test(one_function_is_enough_if_a_version_inlined_the_other),
        cmocka_unit_test(one_function_is_not_enough_for_what_may_be_another_stall),
        cmocka_unit_test(one_function_is_not_enough_at_another_rate),
        cmocka_unit_test(a_bucket_of_two_functions_is_not_that_of_either),
        cmocka_unit_test(an_inlined_caller_does_not_hide_a_rise),
        cmocka_unit_test(small_buckets_are_told_together),
        cmocka_unit_test(a_rise_of_small_buckets_together_is_a_regression),
        cmocka_unit_test(a_pool_does_not_fail_for_a_bucket_that_fails_by_itself),
        cmocka_unit_test(a_pool_that_rises_without_its_failing_bucket_fails),
        cmocka_unit_test(a_bucket_alone_in_its_framework_is_no_pool),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("gate_match", tests, NULL, NULL);
}
