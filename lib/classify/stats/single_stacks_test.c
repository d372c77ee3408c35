/* Tests which buckets are counted in another one of the same busy function. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/stats/keyer_bench_test.h"
#include "classify/stats/triage_private.h"

enum { FRAMES = 8, NAME = 32 };

struct counted {
    struct keyer *keyer;
    struct triage *t;
    unsigned dumps;
    const char *version; /* of the app, of the dumps that are added; NULL = not told */
};

static struct counted start(void **state) {
    struct counted c = {.keyer = ((const struct keyer_bench *)*state)->keyer};
    assert_int_equal(triage_new(&c.t, &(struct triage_options){.rules = "t"}, NULL), ST_OK);
    return c;
}

/* Samples with these functions, separated by blanks, innermost first; '!' is as for
 * fixture_names. */
struct mix {
    const char *functions;
    unsigned samples;
};

static void add_stack(struct fixture *f, const struct mix *m) {
    static char names[FIXTURE_FRAMES][NAME];
    const char *frames[FRAMES];
    size_t n = 0;
    for (const char *at = m->functions; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        assert_true(n < FRAMES && len < NAME);
        char *name = names[f->used + n];
        memcpy(name, at, len);
        name[len] = '\0';
        frames[n++] = name;
        at += len;
    }
    fixture_names(f, frames, n, m->samples);
}

/* Counts a dump of a second with this mix of samples; samples 0: one stack and no samples.
 * permille: use of a processor. False: out of memory. */
static bool add_mixed(struct counted *c, const struct mix *mix, size_t count, int64_t permille) {
    char id[NAME];
    struct fixture f = {0};
    struct stall_key key;
    snprintf(id, sizeof id, "dump%u", c->dumps++);
    f.d = (struct dump){.id = id, .user = id, .text = id, .text_len = strlen(id)};
    f.d.app.version = c->version;
    f.d.stall.id = id;
    f.d.stall.kind = "hang";
    f.d.stall.span_ms = f.d.stall.duration_ms = 1000;
    f.d.stall.ended = true;
    f.d.stall.threshold_ms = -1;
    f.d.stall.cpu_permille = permille;
    for (size_t i = 0; i < count; i++) {
        add_stack(&f, &mix[i]);
    }
    f.thread = (struct dump_thread){.main = true, .cpu_ms = -1, .cpu_permille = -1};
    f.thread.stack = f.stacks[0];
    f.d.threads = &f.thread;
    f.d.thread_count = 1;
    f.d.sample_count = mix[0].samples ? f.d.sample_count : 0;
    return keyer_key(c->keyer, &f.d, &key, NULL) == ST_OK &&
           triage_add(c->t, &f.d, &key, true, NULL, NULL) == ST_OK;
}

static bool add_cpu(struct counted *c, const char *functions, unsigned samples, int64_t permille) {
    return add_mixed(c, &(struct mix){functions, samples}, 1, permille);
}

/* Counts `dumps` busy dumps whose function draws in `drawing` of its samples, and works itself in
 * the others. */
static void add_drawing(struct counted *c, unsigned dumps, unsigned drawing, unsigned working) {
    const struct mix mix[] = {{"!draw work step run tap", drawing}, {"work step run tap", working}};
    for (unsigned i = 0; i < dumps; i++) {
        assert_true(add_mixed(c, mix, sizeof mix / sizeof *mix, 950));
    }
}

static void add(struct counted *c, const char *functions, unsigned samples) {
    assert_true(add_cpu(c, functions, samples, 950));
}

/* Counts two dumps that have so many samples each: one alone proves nothing. */
static void add_busy(struct counted *c, const char *functions, unsigned samples) {
    add(c, functions, samples);
    add(c, functions, samples);
}

/* Checks the level of the finished triage by rank: "work←run 3, load←run 2"; frees it. */
static void end(struct counted *c, size_t level, const char *want) {
    struct strbuf got = {0};
    assert_int_equal(triage_finish(c->t, NULL), ST_OK);
    const struct bucket_set *set = &c->t->level[level];
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        strbuf_addstr(&got, i ? ", " : "");
        for (size_t k = 0; k < b->frame_count; k++) {
            const struct bucket_frame *f = b->frames[k];
            strbuf_addf(&got, "%s%s", k ? "←" : "", f->function[0] ? f->function : f->image);
        }
        assert_int_equal(b->tally->stalls, b->tally->dumps);
        strbuf_addf(&got, " %u", (unsigned)b->tally->stalls);
    }
    assert_string_equal(strbuf_cstr(&got), want);
    strbuf_release(&got);
    triage_free(c->t);
}

static void a_stack_in_a_helper_is_counted_in_the_busy_function(void **state) {
    static const char *const wanted[] = {"work←step 4", "work←step←run←tap 4"};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        struct counted c = start(state);
        add_busy(&c, "work step run tap main", 20);
        add(&c, "help work step run tap main", 0);
        add(&c, "deep help work step run tap main", 0); /* a helper's helper */
        end(&c, level, wanted[level]);
    }
}

static void the_joined_id_is_an_alias(void **state) {
    struct counted c = start(state);
    const char *whole;
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work step run", 0);
    char helper[KEY_ID_SIZE], busy[KEY_ID_SIZE], start_of[5];
    memcpy(busy, c.t->level[0].buckets.data[0]->id, sizeof busy);
    memcpy(helper, c.t->level[0].buckets.data[1]->id, sizeof helper);
    snprintf(start_of, sizeof start_of, "%.4s", helper);
    assert_int_equal(triage_finish(c.t, NULL), ST_OK);
    const struct bucket *b = c.t->level[0].buckets.data[0];
    assert_int_equal(c.t->level[0].buckets.len, 1);
    assert_string_equal(b->id, busy);
    bool known = false;
    for (size_t i = 0; i < b->aliases.len; i++) {
        char alias[KEY_ID_SIZE];
        key_number_text(b->aliases.data[i], alias);
        known = known || strcmp(alias, helper) == 0;
    }
    assert_true(known);
    assert_string_equal(triage_joined_to(c.t, start_of, &whole), busy);
    assert_string_equal(whole, helper);
    assert_null(triage_joined_to(c.t, busy, &whole));
    triage_free(c.t);
}

static void what_samples_do_not_show_stays(void **state) {
    struct counted c = start(state);
    add(&c, "work step run tap", 0); /* the caller was not sampled either */
    add(&c, "help work step run tap", 0);
    end(&c, 0, "help←work 1, work←step 1");
    c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work step run tap", 0);
    add(&c, "help work step run tap", 9); /* samples show that the helper is busy itself */
    end(&c, 0, "help←work 2, work←step 2");
    c = start(state);
    add_busy(&c, "work step run tap", 1); /* fewer samples than single stacks */
    for (int i = 0; i < 3; i++) {
        add(&c, "help work step run tap", 0);
    }
    end(&c, 0, "help←work 3, work←step 2");
}

static void other_causes_and_callers_stay(void **state) {
    struct counted c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work other run tap", 0); /* called by another function */
    end(&c, 0, "work←step 2, help←work 1");
    c = start(state);
    add_busy(&c, "work step run tap", 20);
    assert_true(add_cpu(&c, "help work step run tap", 0, 20)); /* it waits */
    end(&c, 0, "work←step 2, help←work 1");
    c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "!draw help work step run tap", 0); /* the helper calls a framework */
    end(&c, 0, "work←step 2, libsys.so←help←work 1");
    c = start(state);
    add_busy(&c, "!draw work step run tap", 20);
    add(&c, "!draw help work step run tap", 0); /* both call the same one */
    end(&c, 0, "libsys.so←work←step 3");
}

/* One of the helper's two callers is in no other bucket, so level 1 stays as it is, and with it all
 * of its level 2: a level-2 bucket is part of one level-1 bucket. */
static void a_family_is_joined_as_a_whole(void **state) {
    static const char *const wanted[] = {"help←work 2, work←step 2",
                                         "work←step←run←tap 2, help←work←step←run 1, "
                                         "help←work←other←run 1"};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        struct counted c = start(state);
        add_busy(&c, "work step run tap", 20);
        add(&c, "help work step run tap", 0);
        add(&c, "help work other run tap", 0);
        end(&c, level, wanted[level]);
    }
}

/* Of two busy callers, the one with more samples is taken, in whichever order they come. */
static void the_order_of_dumps_does_not_matter(void **state) {
    for (int swapped = 0; swapped < 2; swapped++) {
        struct counted c = start(state);
        for (int i = 0; i < 2; i++) {
            if (i == swapped) {
                add_busy(&c, "inner outer run tap main", 9);
            } else {
                add_busy(&c, "outer run tap main", 20);
            }
        }
        add(&c, "help inner outer run tap main", 0);
        end(&c, 0, "outer←run 3, inner←outer 2");
    }
}

/* One dump may claim any number of samples. */
static void a_claim_of_few_dumps_joins_few(void **state) {
    struct counted c = start(state);
    add(&c, "work step run tap", 256);
    add(&c, "help work step run tap", 0);
    end(&c, 0, "help←work 1, work←step 1");
    for (int stacks = 8; stacks <= 9; stacks++) {
        c = start(state);
        add_busy(&c, "work step run tap", 256);
        for (int i = 0; i < stacks; i++) {
            add(&c, "help work step run tap", 0);
        }
        end(&c, 0, stacks == 8 ? "work←step 10" : "help←work 9, work←step 2");
    }
}

static void a_stack_in_a_framework_is_counted_in_the_function_that_calls_it(void **state) {
    struct counted c = start(state);
    add_drawing(&c, 2, 6, 6);
    add(&c, "!draw work step run tap", 0);
    assert_true(add_cpu(&c, "!draw work step run tap", 0, -1)); /* not known how much it ran */
    end(&c, 0, "work←step 4");
    c = start(state);
    add_drawing(&c, 2, 6, 6);
    add(&c, "!draw work other run tap", 0); /* no sample shows this caller */
    end(&c, 0, "work←step 2, libsys.so←work←other 1");
    c = start(state);
    add_drawing(&c, 2, 18, 1);
    add(&c, "work step run tap", 0); /* outside of the framework that nearly all samples are in */
    end(&c, 0, "libsys.so←work←step 2, work←step 1");
    c = start(state);
    add_drawing(&c, 4, 18, 2);
    add(&c, "work step run tap", 0);
    end(&c, 0, "libsys.so←work←step 5");
}

/* A dump that does not tell how much its thread ran is counted in a function only if samples show
 * its helper. */
static void an_unknown_cause_is_joined_if_samples_show_it(void **state) {
    const struct mix mix[] = {{"work step run tap", 8}, {"help work step run tap", 8}};
    struct counted c = start(state);
    for (int i = 0; i < 2; i++) {
        assert_true(add_mixed(&c, mix, sizeof mix / sizeof *mix, 950));
    }
    add(&c, "help work step run tap", 0);
    assert_true(add_cpu(&c, "help work step run tap", 0, -1));
    assert_true(add_cpu(&c, "deep help work step run tap", 0, -1)); /* called by what they show */
    end(&c, 0, "work←step 5");
    c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work step run tap", 0);
    assert_true(add_cpu(&c, "help work step run tap", 0, -1));
    end(&c, 0, "help←work 2, work←step 2");
}

/* Samples that call a framework now and then do not tell of many stacks in it. */
static void more_stacks_than_samples_let_expect_stay(void **state) {
    for (unsigned stacks = 2; stacks <= 3; stacks++) {
        struct counted c = start(state);
        add_drawing(&c, 4, 2, 10); /* a sixth of the samples: 4 / 6 × 4 dumps */
        for (unsigned i = 0; i < stacks; i++) {
            add(&c, "!draw work step run tap", 0);
        }
        end(&c, 0, stacks == 2 ? "work←step 6" : "work←step 4, libsys.so←work←step 3");
    }
}

/* Of 100 samples 90 and 70 call the framework: 85 are the limit. */
static void dumps_on_both_sides_of_the_limit_are_one_bucket(void **state) {
    static const char *const wanted[] = {"libsys.so←work←step 6", "libsys.so←work←step←run←tap 6"};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        for (int swapped = 0; swapped < 2; swapped++) {
            struct counted c = start(state);
            add_drawing(&c, 3, swapped ? 70 : 90, swapped ? 30 : 10);
            add_drawing(&c, 3, swapped ? 90 : 70, swapped ? 10 : 30);
            end(&c, level, wanted[level]);
        }
    }
}

/* Their level-2 buckets become some of the other's where these have no equal. */
/* Counts a busy dump of which so many samples are in a helper's helper, the helper, the function
 * and its caller. */
static void add_depths(struct counted *c, unsigned part, unsigned help, unsigned work,
                       unsigned caller) {
    const struct mix mix[] = {{"part help work step run tap", part},
                              {"help work step run tap", help},
                              {"work step run tap", work},
                              {"step run tap", caller}};
    assert_true(add_mixed(c, mix, caller ? 4 : 3, 950));
}

static void a_caller_whose_samples_are_in_its_function_is_no_bucket(void **state) {
    static const char *const wanted[] = {"help←work 4", "help←work←step←run 4"};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        struct counted c = start(state);
        for (unsigned i = 0; i < 3; i++) {
            add_depths(&c, 5, 14, 1, 0);
        }
        add_depths(&c, 6, 10, 3, 1); /* 80 % in the helper: by chance its caller is the key */
        end(&c, level, wanted[level]);
    }
    struct counted c = start(state);
    for (unsigned i = 0; i < 3; i++) {
        add_depths(&c, 5, 14, 1, 0);
    }
    add_depths(&c, 2, 6, 10, 2); /* 40 %: the caller is busy itself */
    end(&c, 0, "help←work 3, work←step 1");
    c = start(state);
    for (unsigned i = 0; i < 4; i++) {
        add_depths(&c, i < 2 ? 5 : 6, i < 2 ? 14 : 10, i < 2 ? 1 : 3, i < 2 ? 0 : 1);
    }
    end(&c, 0, "help←work 2, work←step 2"); /* which of the two it is, is not known */
}

static void what_has_no_equal_moves(void **state) {
    static const char *const wanted[] = {"libsys.so←work←step 4",
                                         "work←step←go←tap 2, libsys.so←work←step←run←tap 2"};
    const struct mix mix[] = {{"!draw work step go tap", 14}, {"work step go tap", 6}};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        struct counted c = start(state);
        add_drawing(&c, 2, 18, 2);
        for (int i = 0; i < 2; i++) {
            assert_true(add_mixed(&c, mix, sizeof mix / sizeof *mix, 950));
        }
        end(&c, level, wanted[level]);
    }
}

static void functions_that_draw_seldom_and_always_are_two_buckets(void **state) {
    struct counted c = start(state);
    add_busy(&c, "!draw work step run tap", 20); /* no dump shows both */
    add_busy(&c, "work step run tap", 20);
    end(&c, 0, "work←step 2, libsys.so←work←step 2");
    c = start(state);
    add_busy(&c, "!draw work step run tap", 20); /* no sample of it works itself */
    add_drawing(&c, 8, 6, 14);
    end(&c, 0, "work←step 8, libsys.so←work←step 2");
    c = start(state);
    add_drawing(&c, 2, 18, 2); /* by chance more than usual */
    add_drawing(&c, 8, 8, 12);
    end(&c, 0, "work←step 10");
    c = start(state);
    add_drawing(&c, 4, 18, 2); /* too many to be by chance */
    add_drawing(&c, 8, 8, 12);
    end(&c, 0, "work←step 8, libsys.so←work←step 4");
}

/* A triage_options.stays: ctx is an id. */
static bool has_id(void *ctx, const char *id) {
    return strcmp(ctx, id) == 0;
}

/* Counts dumps of a version, each with one stack of a thread that waits. */
static void add_version(struct counted *c, const char *version, unsigned dumps,
                        const char *functions) {
    c->version = version;
    for (unsigned i = 0; i < dumps; i++) {
        assert_true(add_cpu(c, functions, 0, 20));
    }
}

static void a_function_that_a_version_inlines_makes_no_new_bucket(void **state) {
    static const char *const wanted[] = {"work←step 7", "work←step←run←tap 7"};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        for (int swapped = 0; swapped < 2; swapped++) {
            struct counted c = start(state);
            add_version(&c, swapped ? "2" : "1", swapped ? 4 : 3,
                        swapped ? "work step run tap" : "help work step run tap");
            add_version(&c, swapped ? "1" : "2", swapped ? 3 : 4,
                        swapped ? "help work step run tap" : "work step run tap");
            end(&c, level, wanted[level]);
        }
    }
    struct counted c = start(state);
    add_version(&c, "1", 3, "work step run tap");
    add_version(&c, "2", 3, "work step run other tap"); /* of level 2 alone */
    end(&c, 1, "work←step←run←other 6");
}

/* One function that is equal is enough if the cause and the share of the version's dumps are. */
static void an_inlined_function_may_leave_one(void **state) {
    struct counted c = start(state);
    add_version(&c, "1", 4, "!draw work tap");
    add_version(&c, "2", 3, "!draw tap");
    end(&c, 0, "libsys.so←work←tap 7");
    c = start(state);
    add_version(&c, "1", 4, "work tap");
    add_version(&c, "2", 3, "tap");
    end(&c, 0, "work←tap 7");
    c = start(state);
    add_version(&c, "1", 4, "work tap"); /* of 4, and of 18 */
    add_version(&c, "2", 3, "tap");
    add_version(&c, "2", 15, "go on");
    end(&c, 0, "go←on 15, work←tap 4, tap 3");
    c = start(state);
    add_version(&c, "1", 4, "!draw work tap");
    for (unsigned i = 0; i < 3; i++) { /* one waits, the other computes */
        c.version = "2";
        add(&c, "!draw tap", 0);
    }
    end(&c, 0, "libsys.so←work←tap 4, libsys.so←tap 3");
}

static void what_one_version_has_both_ways_stays(void **state) {
    struct counted c = start(state);
    add_version(&c, "1", 3, "help work step run tap");
    add_version(&c, "2", 3, "work step run tap");
    add_version(&c, "2", 1, "help work step run tap");
    end(&c, 0, "help←work 4, work←step 3");
    c = start(state);
    add_version(&c, NULL, 3, "help work step run tap"); /* of unknown versions */
    add_version(&c, NULL, 3, "work step run tap");
    end(&c, 0, "help←work 3, work←step 3");
    c = start(state);
    add_version(&c, "1", 3, "help work step run tap");
    add_version(&c, "1", 3, "aid work step run tap"); /* it may be either */
    add_version(&c, "2", 3, "work step run tap");
    end(&c, 0, "help←work 3, work←step 3, aid←work 3");
    c = start(state);
    add_version(&c, "1", 2, "help work step run tap"); /* too few */
    add_version(&c, "2", 3, "work step run tap");
    end(&c, 0, "work←step 3, help←work 2");
}

static void a_marked_bucket_of_a_version_stays(void **state) {
    for (int other = 0; other < 2; other++) {
        struct counted c = start(state);
        add_version(&c, "1", 3, "help work step run tap");
        add_version(&c, "2", 4, "work step run tap");
        c.t->options.stays = has_id;
        c.t->options.stays_ctx = c.t->level[0].buckets.data[other]->id;
        end(&c, 0, other ? "work←step 7" : "work←step 4, help←work 3");
    }
}

/* Reads a partial of one or several lines into *out. */
static void read_partial(const struct strbuf *text, struct triage **out) {
    struct partial_reader *r = NULL;
    enum st st = ST_NONE;
    assert_int_equal(partial_reader_new(&r, NULL), ST_OK);
    for (const char *line = strbuf_cstr(text); *line && st == ST_NONE;) {
        size_t len = strcspn(line, "\n");
        st = partial_reader_line(r, line, len, out, NULL);
        line += len + (line[len] == '\n');
    }
    assert_int_equal(st, ST_OK);
    partial_reader_free(r);
}

static void a_partial_keeps_what_samples_show(void **state) {
    struct counted c = start(state), more = start(state);
    struct strbuf text = {0};
    struct sink sink = sink_to_strbuf(&text);
    add_drawing(&c, 2, 6, 6);
    assert_int_equal(triage_write_partial(c.t, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    triage_free(c.t);
    read_partial(&text, &c.t);
    more.dumps = 2;
    add(&more, "!draw work step run tap", 0);
    assert_int_equal(triage_merge(c.t, more.t, NULL), ST_OK);
    triage_free(more.t);
    end(&c, 0, "work←step 3");
    strbuf_release(&text);
}

static void what_must_stay_stays(void **state) {
    for (int other = 0; other < 2; other++) {
        struct counted c = start(state);
        add_busy(&c, "work step run tap", 20);
        add(&c, "help work step run tap", 0);
        c.t->options.stays = has_id;
        c.t->options.stays_ctx = c.t->level[0].buckets.data[!other]->id;
        end(&c, 0, other ? "work←step 3" : "work←step 2, help←work 1");
    }
}

/* A partial may say that a level-2 bucket has samples which its level-1 bucket lacks: here the
 * caller's level-2 bucket is a child of the helper's level-1 bucket, which would be joined to
 * itself. */
static void no_bucket_is_joined_in_a_circle(void **state) {
    struct counted c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work step run tap", 0);
    c.t->level[1].buckets.data[0]->parent = 1;
    assert_true(triage_join_single_stacks(c.t));
    assert_int_equal(c.t->joined_stacks.len, 0);
    triage_free(c.t);
}

/* A partial may also say that a level-2 bucket has samples although its level-1 bucket has none; it
 * is then no single stack. */
static void what_has_samples_is_not_joined(void **state) {
    struct counted c = start(state);
    add_busy(&c, "work step run tap", 20);
    add(&c, "help work step run tap", 0);
    struct bucket *b = c.t->level[1].buckets.data[1];
    assert_true(tally_own(&b->tally));
    b->tally->samples = 5;
    assert_true(triage_join_single_stacks(c.t));
    assert_int_equal(c.t->joined_stacks.len, 0);
    triage_free(c.t);
}

static void every_allocation_may_fail(void *ctx, bool refused) {
    struct counted c = *(struct counted *)ctx;
    if (triage_new(&c.t, &(struct triage_options){.rules = "t"}, NULL) != ST_OK) {
        assert_true(refused);
        return;
    }
    const struct mix mix[] = {{"!draw work step run tap", 8}, {"work step run tap", 8}};
    bool ok = add_cpu(&c, "work step run tap", 20, 950) &&
              add_cpu(&c, "work step run tap", 20, 950) &&
              add_mixed(&c, mix, sizeof mix / sizeof *mix, 950) &&
              add_cpu(&c, "help work step run", 0, 950);
    for (unsigned i = 0; ok && i < 6; i++) {
        c.version = i < 3 ? "1" : "2";
        ok = add_cpu(&c, i < 3 ? "aid go on tap" : "go on tap", 0, 20);
    }
    ok = ok && triage_finish(c.t, NULL) == ST_OK;
    assert_true(ok || refused);
    assert_true(!ok || c.t->level[0].buckets.len == 2);
    triage_free(c.t);
}

static void memory_may_run_out_anywhere(void **state) {
    if (!failmalloc_works()) {
        skip();
    }
    struct counted c = {.keyer = ((const struct keyer_bench *)*state)->keyer};
    assert_true(failmalloc_sweep(every_allocation_may_fail, &c) > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_in_a_helper_is_counted_in_the_busy_function),
        cmocka_unit_test(the_joined_id_is_an_alias),
        cmocka_unit_test(what_samples_do_not_show_stays),
        cmocka_unit_test(other_causes_and_callers_stay),
        cmocka_unit_test(a_family_is_joined_as_a_whole),
        cmocka_unit_test(the_order_of_dumps_does_not_matter),
        cmocka_unit_test(a_claim_of_few_dumps_joins_few),
        cmocka_unit_test(a_stack_in_a_framework_is_counted_in_the_function_that_calls_it),
        cmocka_unit_test(an_unknown_cause_is_joined_if_samples_show_it),
        cmocka_unit_test(more_stacks_than_samples_let_expect_stay),
        cmocka_unit_test(dumps_on_both_sides_of_the_limit_are_one_bucket),
        cmocka_unit_test(a_caller_whose_samples_are_in_its_function_is_no_bucket),
        cmocka_unit_test(what_has_no_equal_moves),
        cmocka_unit_test(functions_that_draw_seldom_and_always_are_two_buckets),
        cmocka_unit_test(a_function_that_a_version_inlines_makes_no_new_bucket),
        cmocka_unit_test(an_inlined_function_may_leave_one),
        cmocka_unit_test(what_one_version_has_both_ways_stays),
        cmocka_unit_test(a_marked_bucket_of_a_version_stays),
        cmocka_unit_test(a_partial_keeps_what_samples_show),
        cmocka_unit_test(what_must_stay_stays),
        cmocka_unit_test(no_bucket_is_joined_in_a_circle),
        cmocka_unit_test(what_has_samples_is_not_joined),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("single_stacks", tests, keyer_bench_setup,
                                       keyer_bench_teardown);
}
