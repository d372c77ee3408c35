/* Counts dumps that tests make of lists of functions, and checks the buckets of the finished
 * triage. */
#ifndef STALLKIT_CLASSIFY_FIXTURE_COUNTED_TEST_H
#define STALLKIT_CLASSIFY_FIXTURE_COUNTED_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static inline struct counted start(void **state) {
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

static inline void add_stack(struct fixture *f, const struct mix *m) {
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
static inline bool add_mixed(struct counted *c, const struct mix *mix, size_t count,
                             int64_t permille) {
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

static inline bool add_cpu(struct counted *c, const char *functions, unsigned samples,
                           int64_t permille) {
    return add_mixed(c, &(struct mix){functions, samples}, 1, permille);
}

/* Counts `dumps` busy dumps whose function draws in `drawing` of its samples, and works itself in
 * the others. */
static inline void add_drawing(struct counted *c, unsigned dumps, unsigned drawing,
                               unsigned working) {
    const struct mix mix[] = {{"!draw work step run tap", drawing}, {"work step run tap", working}};
    for (unsigned i = 0; i < dumps; i++) {
        assert_true(add_mixed(c, mix, sizeof mix / sizeof *mix, 950));
    }
}

static inline void add(struct counted *c, const char *functions, unsigned samples) {
    assert_true(add_cpu(c, functions, samples, 950));
}

/* Counts two dumps that have so many samples each: one alone proves nothing. */
static inline void add_busy(struct counted *c, const char *functions, unsigned samples) {
    add(c, functions, samples);
    add(c, functions, samples);
}

/* Checks the level of the finished triage by rank: "work←run 3, load←run 2"; frees it. */
static inline void end(struct counted *c, size_t level, const char *want) {
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

/* A triage_options.stays: ctx is an id. */
static inline bool has_id(void *ctx, const char *id) {
    return strcmp(ctx, id) == 0;
}

#endif
