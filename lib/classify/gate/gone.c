/* Finds, for each bucket that is gone, the version since which it is gone. */
#include "classify/gate/gone.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "classify/gate/rates.h"
#include "classify/keys/version.h"
#include "classify/stats/triage_private.h"

/* gone_ratio: the ratio below which the interval must end; gone_tail: the probability of one side
 * of a 95 % interval. */
static const double gone_ratio = 0.5, gone_tail = 0.025;

/* A version of the app, with its exposure. */
struct gone_exposure {
    const char *version;
    uint32_t text; /* index of the version's string */
    double exposure;
};

struct gone_finder {
    const struct triage *t;
    VEC(struct gone_exposure) versions; /* ascending */
    struct rates *rates; /* comparison of the exposure with itself, of which only phi is used */
};

static int by_release(const void *a, const void *b) {
    const struct gone_exposure *x = a, *y = b;
    return version_compare(x->version, y->version);
}

static bool add_exposure(struct gone_finder *f, uint32_t text, double exposure) {
    const struct gone_exposure v = {map_string(&f->t->strings, text), text, exposure};
    return !*v.version || exposure <= 0 || VEC_PUSH(&f->versions, v);
}

/* Lists the versions whose stalls can be divided by their time in the foreground (usage_rated_ms),
 * with that time; if there is none, all versions with their numbers of dumps. False: out of memory.
 */
static bool list_versions(struct gone_finder *f) {
    const struct usage_values *by = &f->t->usage.by[USAGE_VERSION];
    const struct facet *dumps = &f->t->total.facets[FACET_VERSION];
    bool ok = true;
    for (size_t i = 0; ok && i < by->values.len; i++) {
        ok = add_exposure(f, by->values.data[i].text,
                          (double)usage_rated_ms(&by->values.data[i].sums));
    }
    if (ok && f->versions.len == 0) {
        for (size_t i = 0; ok && i < dumps->values.len; i++) {
            ok = add_exposure(f, dumps->values.data[i].text, (double)dumps->values.data[i].dumps);
        }
    }
    if (ok && f->versions.len > 1) {
        qsort(f->versions.data, f->versions.len, sizeof *f->versions.data, by_release);
    }
    return ok;
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

/* Finds the version in which the bucket was last gone, and the version in which it returned.
 * weight: number of independent events that a dump stands for. */
static void find_gone(const struct gone_finder *f, const struct tally *t, double weight,
                      struct gone_bucket *out) {
    double events = 0, before = 0, without = 0;
    out->gone_in = out->returned_in = NULL;
    const char *since = NULL; /* first of the versions without the bucket that directly precede
                                 the current one */
    for (size_t i = 0; i < f->versions.len; i++) {
        const struct gone_exposure *v = &f->versions.data[i];
        double dumps = dumps_of(t, v->text);
        if (dumps == 0) {
            since = since || events == 0 ? since : v->version;
            without += events > 0 ? v->exposure : 0;
            continue;
        }
        if (gone_is_told(events, before, without)) {
            out->gone_in = since;
            out->returned_in = v->version;
            events = before = without = 0;
        }
        events += dumps * weight;
        before += v->exposure + without;
        without = 0;
        since = NULL;
    }
    if (gone_is_told(events, before, without)) {
        out->gone_in = since;
        out->returned_in = NULL;
    }
}

enum st gone_each(const struct triage *t, gone_visit visit, void *ctx, struct err *e) {
    struct gone_finder f = {.t = t};
    const struct clusters *exposure = t->exposure.cells.len ? &t->exposure : &t->total.clusters;
    const struct clusters *const both[RATES_RUNS] = {exposure, exposure};
    enum st st = list_versions(&f) ? ST_OK : err_nomem(e);
    st = st == ST_OK && f.versions.len > 1 ? rates_new(&f.rates, both, RATES_COUNT, false, e) : st;
    for (size_t i = 0; st == ST_OK && f.rates && i < t->level[0].buckets.len; i++) {
        const struct bucket *b = t->level[0].buckets.data[i];
        struct gone_bucket g = {0};
        if (bucket_is_other(b) || !parse_hex(b->id, strlen(b->id), &g.id)) {
            continue;
        }
        find_gone(&f, b->tally, 1, &g);
        /* The weight is slow to compute, so it is computed only for buckets that are gone if
         * their weight is 1; as it is at most 1, it cannot make any other bucket gone. */
        if (g.gone_in) {
            find_gone(&f, b->tally, weight_of_dump(&f, b->tally), &g);
        }
        st = g.gone_in ? visit(ctx, &g, e) : ST_OK;
    }
    rates_free(f.rates);
    VEC_RELEASE(&f.versions);
    return st;
}
