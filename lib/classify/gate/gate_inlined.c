/* Matches buckets of two runs of which one shows one function of the app and the other two, because
 * a version of the app has inlined the second one without a trace. */
#include <stdlib.h>
#include <string.h>

#include "classify/gate/gate_private.h"
#include "classify/stats/sum.h"

/* A bucket of fewer dumps than DUMPS_MIN shows nothing. At most one VERSION_SHARE-th of the dumps
 * may be of versions that both have. Of rates that differ by more than RATE_FACTOR, one is not the
 * other's stall. */
enum { DUMPS_MIN = 3, VERSION_SHARE = 10, RATE_FACTOR = 3 };

/* Of more versions than this, which would take a square of their number to compare, none is
 * compared. */
enum { VERSIONS_MAX = 1024 };

struct inlined_matching {
    struct gate_match *m;
    const struct triage *const *run;
    const double *exposure;
    struct alias_index functions[RATES_RUNS]; /* level-2 buckets by each of the app's functions */
};

static const struct bucket_set *inlined_set(const struct inlined_matching *x, size_t run) {
    return &x->run[run]->level[1];
}

static bool inlined_is_alone(const struct inlined_matching *x, size_t run, const struct bucket *b) {
    return x->m->other[run][1][b->index] == NO_INDEX;
}

/* ---- functions ---- */

/* Returns the only bucket of a run that has the function; NULL: there are none or several. */
static const struct bucket *find_only(const struct inlined_matching *x, size_t run,
                                      const struct bucket_frame *f) {
    return alias_index_only_with(&x->functions[run], inlined_set(x, run), f, NULL);
}

/* Returns the app's only function in the key, all other frames of which are the framework's. NULL:
 * there are none or several, or a frame has no name. */
static const struct bucket_frame *only_function(const struct bucket *b) {
    const struct bucket_frame *found = NULL;
    for (size_t i = 0; i < b->frame_count; i++) {
        const struct bucket_frame *f = b->frames[i];
        if (!f->resolved || (bucket_frame_is_named(f) && found)) {
            return NULL;
        }
        found = bucket_frame_is_named(f) ? f : found;
    }
    return found;
}

/* Are the keys equal, framework included, but for one function of the app in `more`? */
static bool has_one_function_more(const struct bucket *more, const struct bucket *less) {
    bool found = false;
    for (size_t i = 0; i < more->frame_count && !found; i++) {
        found = bucket_frame_is_named(more->frames[i]) && bucket_begins_without(more, i, less);
    }
    return found && more->frame_count == less->frame_count + 1;
}

/* ---- what dumps tell ---- */

/* Do the dumps of the two tallies, one of each run, tell their versions, and are hardly any of one
 * that both have? */
static bool are_of_other_versions(const struct inlined_matching *x,
                                  const struct tally *const of[RATES_RUNS]) {
    const struct facet *base = &of[RATES_BASE]->facets[FACET_VERSION],
                       *now = &of[RATES_NOW]->facets[FACET_VERSION];
    uint64_t both = 0, a = of[RATES_BASE]->dumps, b = of[RATES_NOW]->dumps;
    if (base->values.len > VERSIONS_MAX || now->values.len > VERSIONS_MAX) {
        return false;
    }
    for (size_t i = 0; i < base->values.len; i++) {
        const struct facet_value *p = &base->values.data[i];
        const char *version = map_string(&x->run[RATES_BASE]->strings, p->text);
        for (size_t k = 0; k < now->values.len; k++) {
            const struct facet_value *q = &now->values.data[k];
            if (strcmp(version, map_string(&x->run[RATES_NOW]->strings, q->text)) == 0) {
                sum_add(&both, p->dumps < q->dumps ? p->dumps : q->dumps);
            }
        }
    }
    return base->values.len && now->values.len && both <= (a < b ? a : b) / VERSION_SHARE;
}

/* Are the rates, or without exposure the shares of all stalls, alike? */
static bool have_alike_rates(const struct inlined_matching *x,
                             const struct tally *const of[RATES_RUNS]) {
    double rate[RATES_RUNS];
    for (size_t run = 0; run < RATES_RUNS; run++) {
        double all = (double)x->run[run]->total.stalls;
        double per = x->exposure[run] > 0 ? x->exposure[run] : all;
        rate[run] = per > 0 ? (double)of[run]->stalls / per : 0;
    }
    return rate[RATES_NOW] <= rate[RATES_BASE] * RATE_FACTOR &&
           rate[RATES_BASE] <= rate[RATES_NOW] * RATE_FACTOR;
}

/* Do the dumps of two buckets, the first one of `run`, tell one stall in two versions? */
static bool are_one_stall(const struct inlined_matching *x, size_t run, const struct bucket *b,
                          const struct bucket *other) {
    const struct tally *of[RATES_RUNS];
    unsigned confidence;
    of[run] = b->tally;
    of[!run] = other->tally;
    enum rule_cause cause = tally_cause(b->tally, &confidence);
    return cause != CAUSE_NONE && cause != CAUSE_UNKNOWN &&
           cause == tally_cause(other->tally, &confidence) && have_alike_rates(x, of) &&
           are_of_other_versions(x, of);
}

/* ---- matches ---- */

/* Returns the bucket of the other run that has one function more than b; NULL: there is none, or
 * the function that both have is one of another bucket, too. */
static const struct bucket *find_with_more(const struct inlined_matching *x, size_t run,
                                           const struct bucket *b) {
    const struct bucket_frame *f = only_function(b);
    if (!f || !inlined_is_alone(x, run, b) || find_only(x, run, f) != b) {
        return NULL;
    }
    const struct bucket *more = find_only(x, !run, f);
    return more && inlined_is_alone(x, !run, more) && has_one_function_more(more, b) &&
                   are_one_stall(x, run, b, more)
               ? more
               : NULL;
}

/* Matches the pairs whose shorter key is of `run`. A bucket of two functions may be that of either
 * alone; then it is matched with neither. False: out of memory. */
static bool match_shorter(const struct inlined_matching *x, size_t run) {
    enum { NONE, SEVERAL, FIRST };
    const struct bucket_set *set = inlined_set(x, run), *others = inlined_set(x, !run);
    size_t *pair = calloc(others->buckets.len + 1, sizeof *pair); /* FIRST + index */
    for (size_t i = 0; pair && i < set->buckets.len; i++) {
        const struct bucket *more = find_with_more(x, run, set->buckets.data[i]);
        if (more) {
            pair[more->index] = pair[more->index] == NONE ? FIRST + i : SEVERAL;
        }
    }
    for (size_t i = 0; pair && i < others->buckets.len; i++) {
        if (pair[i] >= FIRST) {
            x->m->other[run][1][pair[i] - FIRST] = (uint32_t)i;
            x->m->other[!run][1][i] = (uint32_t)(pair[i] - FIRST);
        }
    }
    bool ok = pair != NULL;
    free(pair);
    return ok;
}

bool gate_match_inlined(struct gate_match *m, const struct triage *const run[RATES_RUNS],
                        size_t full, const double exposure[RATES_RUNS]) {
    struct inlined_matching x = {.m = m, .run = run, .exposure = exposure};
    const struct tally *const all[] = {&run[RATES_BASE]->total, &run[RATES_NOW]->total};
    bool ok = true;
    if (full <= 2 || !are_of_other_versions(&x, all)) {
        return true; /* a key of two functions is full, or the runs are of equal versions */
    }
    for (size_t of = 0; ok && of < RATES_RUNS; of++) {
        ok = alias_index_functions(&x.functions[of], inlined_set(&x, of), DUMPS_MIN);
    }
    for (size_t of = 0; ok && of < RATES_RUNS; of++) {
        ok = match_shorter(&x, of);
    }
    alias_index_release(&x.functions[RATES_BASE]);
    alias_index_release(&x.functions[RATES_NOW]);
    return ok;
}
