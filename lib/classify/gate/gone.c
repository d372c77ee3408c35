/* Finds, for each bucket that is gone, the version since which it is gone. */
#include "classify/gate/gone.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/search.h"
#include "classify/gate/rates.h"
#include "classify/keys/version.h"
#include "classify/stats/triage_private.h"

/* gone_ratio: the ratio below which the interval must end; gone_tail: the probability of one side
 * of a 95 % interval. */
static const double gone_ratio = 0.5, gone_tail = 0.025;
/* Least number of independent events of a return, and the part of the rate before the gap above
 * which the rate of a return must be for sure, if it is not above that of the gap. */
static const double gone_return_least = 2, gone_return_ratio = 0.01;

/* A version of the app, and the index of its string. */
struct gone_text {
    struct gone_version version;
    uint32_t text;
};

struct gone_finder {
    const struct triage *t;
    VEC(struct gone_text) texts;       /* ascending */
    VEC(struct gone_version) versions; /* those of `texts`, with the dumps of the current bucket */
    bool rated;                        /* exposure is time in the foreground */
    /* The newest version that carries a trend, and the exposure of those before; NULL = there are
     * fewer than two. */
    const struct gone_version *newest;
    double before;
    struct rates *rates; /* comparison of the exposure with itself, of which only phi is used */
};

static int by_release(const void *a, const void *b) {
    const struct gone_text *x = a, *y = b;
    return version_compare(x->version.text, y->version.text);
}

/* watched: watched share of the version's time in permille; -1 = unknown. */
static bool add_exposure(struct gone_finder *f, uint32_t text, double exposure, int watched) {
    const struct gone_text v = {{.text = map_string(&f->t->strings, text),
                                 .exposure = exposure,
                                 .unwatched = watched >= 0 && watched < USAGE_WATCHED_PERMILLE},
                                text};
    return !*v.version.text || VEC_PUSH(&f->texts, v);
}

/* Lists all versions of dumps, and those of sessions; if the exposure is time in the foreground, a
 * version whose stalls cannot be divided by it (usage_rated_ms) has 0. False: out of memory. */
static bool list_versions(struct gone_finder *f) {
    const struct usage_values *by = &f->t->usage.by[USAGE_VERSION];
    const struct facet *dumps = &f->t->total.facets[FACET_VERSION];
    bool ok = true;
    for (size_t i = 0; i < by->values.len; i++) {
        f->rated = f->rated || (*map_string(&f->t->strings, by->values.data[i].text) &&
                                usage_rated_ms(&by->values.data[i].sums));
    }
    for (size_t i = 0; ok && f->rated && i < by->values.len; i++) {
        const struct usage_sums *sums = &by->values.data[i].sums;
        ok = add_exposure(f, by->values.data[i].text, (double)usage_rated_ms(sums),
                          usage_sums_watched_permille(sums));
    }
    for (size_t i = 0; ok && i < dumps->values.len; i++) {
        const struct facet_value *v = &dumps->values.data[i];
        size_t at;
        LOWER_BOUND(at, by->values.len, by->values.data[at].text, v->text);
        bool listed = f->rated && at < by->values.len && by->values.data[at].text == v->text;
        ok = listed || add_exposure(f, v->text, f->rated ? 0 : (double)v->dumps, -1);
    }
    if (ok && f->texts.len > 1) {
        qsort(f->texts.data, f->texts.len, sizeof *f->texts.data, by_release);
    }
    for (size_t i = 0; ok && i < f->texts.len; i++) {
        ok = VEC_PUSH(&f->versions, f->texts.data[i].version);
    }
    return ok;
}

bool gone_version_carries(uint64_t has, uint64_t most, bool rated) {
    return has >= (rated ? GONE_RATED_MS : GONE_DUMPS_LEAST) && has >= most / 100;
}

static void find_newest(struct gone_finder *f) {
    double most = 0;
    for (size_t i = 0; i < f->versions.len; i++) {
        most = f->versions.data[i].exposure > most ? f->versions.data[i].exposure : most;
    }
    for (size_t i = 0; i < f->versions.len; i++) {
        const struct gone_version *v = &f->versions.data[i];
        if (gone_version_carries((uint64_t)v->exposure, (uint64_t)most, f->rated)) {
            f->before += f->newest ? f->newest->exposure : 0;
            f->newest = v;
        }
    }
    f->newest = f->before > 0 ? f->newest : NULL;
}

/* Returns how many dumps of a bucket have the version. */
static double dumps_of(const struct tally *t, uint32_t text) {
    const struct facet *f = &t->facets[FACET_VERSION];
    for (size_t i = 0; i < f->values.len; i++) {
        if (f->values.data[i].text == text) {
            return (double)f->values.data[i].dumps;
        }
    }
    return 0;
}

/* Returns how many independent events one dump of the bucket stands for. It is less than 1 if
 * stalls have several dumps, or if a few users have most of the stalls. */
static double weight_of_dump(const struct gone_finder *f, const struct tally *t) {
    const struct clusters *const events[RATES_RUNS] = {&t->clusters, &t->clusters};
    struct rates_comparison c;
    rates_compare(f->rates, events, RATES_COUNT, &c);
    double phi = c.phi > 1 ? c.phi : 1;
    return t->dumps ? (double)t->stalls / (double)t->dumps / phi : 0;
}

bool gone_is_told(double events, double with, double without) {
    return events > 0 && with > 0 && without > 0 &&
           with / without * (pow(gone_tail, -1 / events) - 1) < gone_ratio;
}

/* ---- one bucket ---- */

/* Independent events, and the exposure in which they happened. */
struct gone_part {
    double events, exposure;
};

/* The versions of a bucket up to the current one. */
struct gone_walk {
    struct gone_part with;    /* from the bucket's first version, or from its last return, on */
    struct gone_part without; /* the versions after it from `since` on that lack the bucket */
    /* The versions behind a gap that is told, from `again`, the first that has the bucket, on; too
     * few events to tell a return. */
    struct gone_part strays;
    /* Versions; NULL = there is no such. unwatched: as in struct gone_bucket. */
    const char *since, *again, *unwatched;
};

/* Is the rate of a part higher for sure than that of an earlier part? */
static bool return_is_told(const struct gone_part *part, const struct gone_part *earlier) {
    return part->events >= gone_return_least &&
           rates_binomial_tail(part->events, part->events + earlier->events,
                               part->exposure / (part->exposure + earlier->exposure)) < gone_tail;
}

/* Is the rate of the strays for sure more than gone_return_ratio of the rate before the gap? A gap
 * may be so short that no rate after it is above its own for sure. */
static bool strays_are_many(const struct gone_walk *w) {
    const struct gone_part least = {w->with.events, w->with.exposure / gone_return_ratio};
    return return_is_told(&w->strays, &least);
}

/* Time that was not watched can hide stalls, but the stalls of a version that has some are sure. */
static const char *walk_unwatched(const struct gone_walk *w, const struct gone_version *v) {
    bool tells = v->unwatched && v->dumps <= 0 && w->since;
    return w->unwatched || !tells ? w->unwatched : v->text;
}

/* Goes on with a return in the version `in`, of which `part` is known. */
static void walk_returned(struct gone_walk *w, const struct gone_part *part, const char *in,
                          struct gone_bucket *out) {
    out->gone_in = w->since;
    out->returned_in = in;
    out->unwatched_in = w->unwatched;
    *w = (struct gone_walk){.with = *part};
}

/* Takes a version that follows a gap that is told. */
static void walk_strays(struct gone_walk *w, const struct gone_version *v, double events,
                        struct gone_bucket *out) {
    const struct gone_part own = {events, v->exposure};
    const struct gone_part earlier = {w->strays.events, w->without.exposure + w->strays.exposure};
    w->again = w->again ? w->again : v->text;
    w->unwatched = walk_unwatched(w, v);
    w->strays.events += events;
    w->strays.exposure += v->exposure;
    if (events > 0 && return_is_told(&own, &earlier)) {
        walk_returned(w, &own, v->text, out);
    } else if (events > 0 && (return_is_told(&w->strays, &w->without) || strays_are_many(w))) {
        const struct gone_part strays = w->strays;
        walk_returned(w, &strays, w->again, out);
    }
}

/* Takes a version that has the bucket, nobody knows how often in an hour: neither is the bucket
 * gone after it, nor did it return. */
static void walk_unrated(struct gone_walk *w) {
    w->with.events += w->strays.events;
    w->with.exposure += w->without.exposure + w->strays.exposure;
    w->without = w->strays = (struct gone_part){0};
    w->since = w->again = w->unwatched = NULL;
}

static void walk_version(struct gone_walk *w, const struct gone_version *v, double events,
                         struct gone_bucket *out) {
    if (v->exposure <= 0) {
        if (events > 0) {
            walk_unrated(w);
        }
    } else if (w->again) {
        walk_strays(w, v, events, out);
    } else if (events == 0) {
        w->since = w->since || w->with.events == 0 ? w->since : v->text;
        w->without.exposure += w->with.events > 0 ? v->exposure : 0;
        w->unwatched = walk_unwatched(w, v);
    } else if (gone_is_told(w->with.events, w->with.exposure, w->without.exposure)) {
        walk_strays(w, v, events, out);
    } else {
        w->with.events += events;
        w->with.exposure += v->exposure + w->without.exposure;
        w->without.exposure = 0;
        w->since = w->unwatched = NULL;
    }
}

/* Judges, but not by the versions that lack the bucket and were little watched, unless `all`. */
static void judge_gone_versions(const struct gone_version *versions, size_t count, double weight,
                                bool all, struct gone_bucket *out) {
    struct gone_walk w = {0};
    out->gone_in = out->returned_in = out->again_in = out->unwatched_in = NULL;
    for (size_t i = 0; i < count; i++) {
        if (all || versions[i].dumps > 0 || !versions[i].unwatched) {
            walk_version(&w, &versions[i], versions[i].dumps * weight, out);
        }
    }
    if (w.again || gone_is_told(w.with.events, w.with.exposure, w.without.exposure)) {
        out->gone_in = w.since;
        out->returned_in = NULL;
        out->again_in = w.again;
        out->unwatched_in = w.unwatched;
    }
}

void gone_judge(const struct gone_version *versions, size_t count, double weight,
                struct gone_bucket *out) {
    struct gone_bucket watched = {0};
    judge_gone_versions(versions, count, weight, true, out);
    if (out->unwatched_in) {
        judge_gone_versions(versions, count, weight, false, &watched);
        if (watched.gone_in && watched.returned_in == out->returned_in &&
            watched.again_in == out->again_in) {
            out->unwatched_in = NULL;
        }
    }
}

/* ---- all buckets ---- */

/* Returns the version in which the bucket is new; NULL = it is not. Stalls of one user are no
 * independent events, and those of later versions, which carry no trend, do not count. */
static const char *find_new(const struct gone_finder *f, const struct tally *t) {
    const struct facet *versions = &t->facets[FACET_VERSION];
    uint64_t users = distinct_count(&t->users), own = 0, known = 0;
    for (size_t i = 0; f->newest && i < versions->values.len; i++) {
        const struct facet_value *v = &versions->values.data[i];
        int order = version_compare(map_string(&f->t->strings, v->text), f->newest->text);
        if (order < 0) {
            return NULL;
        }
        own += order == 0 ? v->dumps : 0;
        known += v->dumps;
    }
    if (!own || known < t->dumps) { /* dumps without a version may be of any */
        return NULL;
    }
    double events = (double)(users && users < t->stalls ? users : t->stalls);
    events *= (double)own / (double)known;
    return gone_is_told(events, f->newest->exposure, f->before) ? f->newest->text : NULL;
}

static void judge_bucket(struct gone_finder *f, const struct tally *t, struct gone_bucket *out) {
    for (size_t i = 0; i < f->versions.len; i++) {
        f->versions.data[i].dumps = dumps_of(t, f->texts.data[i].text);
    }
    gone_judge(f->versions.data, f->versions.len, 1, out);
    /* The weight is slow to compute, so it is computed only for buckets that are gone if their
     * weight is 1; as it is at most 1, it cannot make any other bucket gone. */
    if (out->gone_in) {
        gone_judge(f->versions.data, f->versions.len, weight_of_dump(f, t), out);
    }
}

enum st gone_each(const struct triage *t, gone_visit visit, void *ctx, struct err *e) {
    struct gone_finder f = {.t = t};
    const struct clusters *exposure = t->exposure.cells.len ? &t->exposure : &t->total.clusters;
    const struct clusters *const both[RATES_RUNS] = {exposure, exposure};
    enum st st = list_versions(&f) ? ST_OK : err_nomem(e);
    st = st == ST_OK && f.texts.len > 1 ? rates_new(&f.rates, both, RATES_COUNT, false, e) : st;
    find_newest(&f);
    for (size_t i = 0; st == ST_OK && f.rates && i < t->level[0].buckets.len; i++) {
        const struct bucket *b = t->level[0].buckets.data[i];
        struct gone_bucket g = {0};
        if (bucket_is_other(b) || !parse_hex(b->id, strlen(b->id), &g.id)) {
            continue;
        }
        judge_bucket(&f, b->tally, &g);
        g.new_in = g.gone_in ? NULL : find_new(&f, b->tally);
        st = g.gone_in || g.new_in ? visit(ctx, &g, e) : ST_OK;
    }
    rates_free(f.rates);
    VEC_RELEASE(&f.texts);
    VEC_RELEASE(&f.versions);
    return st;
}
