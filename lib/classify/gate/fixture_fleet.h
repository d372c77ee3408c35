/* Draws runs of a simulated fleet of users for tests. No dumps are made, and the true rates are
 * known. */
#ifndef STALLKIT_CLASSIFY_FIXTURE_FLEET_H
#define STALLKIT_CLASSIFY_FIXTURE_FLEET_H

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "classify/gate/gate.h"
#include "classify/stats/triage_private.h"

enum { FLEET_CAUSES_MAX = 128, FLEET_STRATA = 12, FLEET_QUOTA = 40 };

/* ---- random numbers, the same in every run ---- */

struct dice {
    uint64_t state;
};

static inline double dice_uniform(struct dice *d) {
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return ((double)(d->state >> 11) + 0.5) / 9007199254740992.0;
}

static inline double dice_normal(struct dice *d) {
    return sqrt(-2 * log(dice_uniform(d))) * cos(6.283185307179586 * dice_uniform(d));
}

static inline unsigned dice_poisson(struct dice *d, double mean) {
    if (mean > 50) {
        double v = mean + sqrt(mean) * dice_normal(d);
        return v > 0 ? (unsigned)(v + 0.5) : 0;
    }
    double p = exp(-mean), sum = p, u = dice_uniform(d);
    unsigned n = 0;
    for (; u > sum && n < 400; n++) {
        p *= mean / (n + 1);
        sum += p;
    }
    return n;
}

/* ---- a fleet ---- */

struct fleet {
    unsigned users;
    double stalls;      /* average number per user */
    double old_devices; /* exponent: the larger it is, the more users have old, slow devices */
    size_t causes;
    /* Each cause's share of all stalls at its usual rate; the sum may differ from 1. */
    double share[FLEET_CAUSES_MAX];
    double factor[FLEET_CAUSES_MAX]; /* factor by which each cause's rate is multiplied */
    double length;                   /* factor on the length of the stalls of cause 0 */
    double callers; /* share of the causes that are reached from two callers, and so have two
                       level-2 buckets */
    /* exposure: the time for which the app was used is counted; clumsy: a few heavy users have most
     * of the stalls. */
    bool exposure, clumsy;
    bool even; /* true: users differ little from each other, and few have a stall cause that others
                  lack */
};

/* Returns a fleet with 60 causes, of which the n-th is 1/n as frequent as the first. */
static inline struct fleet fleet_usual(unsigned users) {
    struct fleet f = {.users = users,
                      .stalls = 0.8,
                      .old_devices = 2,
                      .causes = 60,
                      .length = 1,
                      .exposure = true};
    for (size_t i = 0; i < FLEET_CAUSES_MAX; i++) {
        f.share[i] = 1 / (double)(i + 1);
        f.factor[i] = 1;
    }
    return f;
}

/* Returns a fleet with 103 causes and on average two stalls per user; the causes 0 and 1 have 2
 * % and 3 % of the stalls, each other one from 0.1 % to 6 %. */
static inline struct fleet fleet_wide(unsigned users) {
    struct fleet f = fleet_usual(users);
    f.causes = 103;
    f.stalls = 2;
    f.callers = 0.4;
    double sum = 0;
    for (size_t i = 2; i < f.causes; i++) {
        f.share[i] = pow(0.96, (double)(i - 2));
        sum += f.share[i];
    }
    for (size_t i = 2; i < f.causes; i++) {
        f.share[i] *= 0.95 / sum;
    }
    f.share[0] = 0.02;
    f.share[1] = 0.03;
    return f;
}

/* Sets the frames of a bucket, by which the gate pools it: the framework (NULL = none) and one
 * or two functions of the app. */
static inline void fleet_set_frames(struct triage *t, struct bucket *b, const char *framework,
                                    const char *const functions[2]) {
    const struct bucket_frame frames[] = {
        {.image = framework, .image_name = framework, .function = "", .resolved = true},
        {.image = "app",
         .image_name = "Shop",
         .function = functions[0],
         .in_app = true,
         .resolved = true},
        {.image = "app",
         .image_name = "Shop",
         .function = functions[1],
         .in_app = true,
         .resolved = true}};
    b->frames = calloc(3, sizeof(const struct bucket_frame *));
    assert(b->frames);
    for (size_t i = framework ? 0 : 1; i < (functions[1] ? 3 : 2); i++) {
        b->frames[b->frame_count] = triage_frame(t, &frames[i]);
        assert(b->frames[b->frame_count]);
        b->frame_count++;
    }
}

/* A stall to be counted: its user and length, the cell of its device, its cause, and its caller. */
struct fleet_stall {
    uint64_t user, ms;
    uint32_t cell;
    size_t cause;
    unsigned caller;
};

static inline void fleet_count(struct triage *t, const struct fleet_stall *s) {
    static const char *const frameworks[] = {NULL, "UIKit", "CoreData", "Foundation", "SQLite"};
    const char *framework = frameworks[s->cause % 5];
    bool added;
    struct bucket *level[KEY_LEVELS];
    struct tally *tallies[KEY_LEVELS + 1] = {&t->total};
    for (unsigned i = 0; i < KEY_LEVELS; i++) {
        char text[96], cause[24], caller[24];
        (void)snprintf(cause, sizeof cause, "cause_%03zu", s->cause);
        (void)snprintf(caller, sizeof caller, "caller_%u", s->caller);
        int len = snprintf(text, sizeof text, "%s%sapp\t%s\n%s%s%s", framework ? framework : "",
                           framework ? "\t\n" : "", cause, i == 1 ? "app\t" : "",
                           i == 1 ? caller : "", i == 1 ? "\n" : "");
        level[i] = bucket_put(&t->level[i], text, (size_t)len, &added);
        assert(level[i]);
        if (added) {
            uint32_t names[] = {triage_string(t, cause), triage_string(t, caller)};
            assert(names[0] != NO_INDEX && names[1] != NO_INDEX);
            const char *functions[] = {map_string(&t->strings, names[0]),
                                       i == 1 ? map_string(&t->strings, names[1]) : NULL};
            fleet_set_frames(t, level[i], framework, functions);
        }
        tallies[i + 1] = level[i]->tally;
    }
    bool ok = bucket_adopt(level[0], level[1]);
    for (size_t i = 0; ok && i < KEY_LEVELS + 1; i++) {
        struct tally *of = tallies[i];
        const struct cause_tally cause = {(enum rule_cause)(CAUSE_NONE + 1 + s->cause % 7), 1,
                                          s->ms, 0};
        of->dumps++;
        of->ms += s->ms;
        ok = tally_add_cause(of, &cause) && tally_stall(of, s->ms, false, s->cell) &&
             clusters_add(&of->clusters, s->cell, 0, s->ms) && distinct_add(&of->users, s->user);
    }
    assert(ok);
}

static inline size_t fleet_draw_cause(struct dice *d, const struct fleet *f, double sum) {
    double at = dice_uniform(d) * sum;
    size_t cause = 0;
    while (cause + 1 < f->causes && (at -= f->share[cause] * f->factor[cause]) > 0) {
        cause++;
    }
    return cause;
}

/* Draws one user: how long the app was used, on which device, and how often it stalled. Half of
 * a user's stalls have one cause, and one user in 300 has sixty times as many stalls as others,
 * up to the number that recorders send per user. */
static inline void fleet_add_user(struct dice *d, const struct fleet *f, double sum,
                                  double usual_sum, struct triage *t) {
    uint64_t user = hash_u64(d->state);
    unsigned stratum = (unsigned)(pow(dice_uniform(d), f->old_devices) * FLEET_STRATA);
    struct fleet_stall s = {.user = user, .cell = cluster_cell_of(stratum * 31, user)};
    double hours = -log(dice_uniform(d)) - log(dice_uniform(d)), activity = -log(dice_uniform(d));
    double heavy = f->clumsy ? 400 : 60, own_share = f->even ? 0.1 : 0.5;
    activity *= activity * (dice_uniform(d) < (f->clumsy ? 0.001 : 0.0033) ? heavy : 1) / 2.4;
    activity = f->even ? 0.85 : activity;
    unsigned stalls =
        dice_poisson(d, f->stalls * hours / 2 * activity * (1 + stratum * 0.15) * sum / usual_sum);
    stalls = stalls > FLEET_QUOTA && !f->clumsy ? FLEET_QUOTA : stalls;
    size_t own = fleet_draw_cause(d, f, sum);
    for (unsigned i = 0; i < stalls; i++) {
        s.cause = dice_uniform(d) < own_share ? own : fleet_draw_cause(d, f, sum);
        double ms = 2000 * exp(dice_normal(d) * 0.9) * (s.cause == 0 ? f->length : 1);
        s.ms = ms < 30000 ? (uint64_t)ms : 30000;
        bool two = (double)(s.cause * 37 % 100) < 100 * f->callers;
        s.caller = two && dice_uniform(d) < 0.4;
        fleet_count(t, &s);
    }
    if (f->exposure) {
        bool ok = clusters_add(&t->exposure, s.cell, 1, (uint64_t)(hours * 3600000));
        assert(ok);
    }
}

/* Draws a run and returns it as a finished triage. */
static inline struct triage *fleet_draw(struct dice *d, const struct fleet *f) {
    struct triage *t = NULL;
    struct triage_options o = {.cap_ms = 30000, .rules = "test"};
    double sum = 0, usual_sum = 0;
    for (size_t i = 0; i < f->causes; i++) {
        sum += f->share[i] * f->factor[i];
        usual_sum += f->share[i];
    }
    enum st st = triage_new(&t, &o, NULL);
    assert(st == ST_OK);
    for (unsigned i = 0; i < f->users; i++) {
        fleet_add_user(d, f, sum, usual_sum, t);
    }
    st = triage_finish(t, NULL);
    assert(st == ST_OK);
    return t;
}

/* Returns the cause that a row's bucket is made of; SIZE_MAX if the row has several buckets or
 * no frame names a cause. */
static inline size_t fleet_cause_of(const struct gate_row *row) {
    const char *at = NULL;
    size_t cause = 0;
    for (size_t i = 0; row->bucket && !at && i < row->bucket->frame_count; i++) {
        at = strstr(row->bucket->frames[i]->function, "cause_");
    }
    for (at = at ? at + strlen("cause_") : NULL; at && *at >= '0' && *at <= '9'; at++) {
        cause = cause * 10 + (size_t)(*at - '0');
    }
    return at ? cause : SIZE_MAX;
}

#endif
