/* Implements tallies: sums, sets and extremes of stalls. */
#include "classify/stats/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/search.h"
#include "classify/stats/sum.h"

void tally_release(struct tally *t) {
    histogram_release(&t->durations);
    distinct_release(&t->users);
    clusters_release(&t->clusters);
    SMALL_VEC_RELEASE(&t->causes);
    for (size_t i = 0; i < FACET_COUNT; i++) {
        SMALL_VEC_RELEASE(&t->facets[i].values);
    }
}

struct tally *tally_new(void) {
    return calloc(1, sizeof(struct tally));
}

void tally_free(struct tally *t) {
    if (t && t->sharers) {
        t->sharers--;
    } else if (t) {
        tally_release(t);
        free(t);
    }
}

void tally_share(struct tally **own, struct tally *other) {
    other->sharers++;
    tally_free(*own);
    *own = other;
}

bool tally_own(struct tally **own) {
    if ((*own)->sharers == 0) {
        return true;
    }
    struct tally *copy = tally_new();
    if (!copy || !tally_merge(copy, *own, NULL)) {
        tally_free(copy);
        return false;
    }
    tally_free(*own);
    *own = copy;
    return true;
}

static bool causes_equal(const struct tally *a, const struct tally *b) {
    bool equal = a->causes.len == b->causes.len;
    for (size_t i = 0; equal && i < a->causes.len; i++) {
        const struct cause_tally *x = &a->causes.data[i], *y = &b->causes.data[i];
        equal = x->cause == y->cause && x->dumps == y->dumps && x->ms == y->ms &&
                x->confidence == y->confidence;
    }
    return equal;
}

static bool facets_equal(const struct facet *a, const struct facet *b) {
    bool equal = a->values.len == b->values.len;
    for (size_t i = 0; equal && i < a->values.len; i++) {
        const struct facet_value *x = &a->values.data[i], *y = &b->values.data[i];
        equal = x->text == y->text && x->dumps == y->dumps;
    }
    return equal;
}

bool tally_equals(const struct tally *a, const struct tally *b) {
    bool equal = a->dumps == b->dumps && a->stalls == b->stalls && a->ms == b->ms &&
                 a->max_ms == b->max_ms && a->fatal == b->fatal &&
                 a->fatal_min_ms == b->fatal_min_ms && a->samples == b->samples &&
                 a->hits == b->hits && strcmp(a->first_time, b->first_time) == 0 &&
                 strcmp(a->last_time, b->last_time) == 0 && causes_equal(a, b);
    for (size_t i = 0; equal && i < FACET_COUNT; i++) {
        equal = facets_equal(&a->facets[i], &b->facets[i]);
    }
    return equal && histogram_equals(&a->durations, &b->durations) &&
           distinct_equals(&a->users, &b->users) && clusters_equal(&a->clusters, &b->clusters);
}

void tally_time(struct tally *t, const char *time) {
    size_t len = time ? strlen(time) : 0;
    if (!day_is_told(time, len)) {
        return;
    }
    char text[TALLY_TIME_SIZE] = "";
    memcpy(text, time, len < sizeof text - 1 ? len : sizeof text - 1);
    if (!t->first_time[0] || strcmp(text, t->first_time) < 0) {
        memcpy(t->first_time, text, sizeof text);
    }
    if (strcmp(text, t->last_time) > 0) {
        memcpy(t->last_time, text, sizeof text);
    }
}

bool tally_facet(struct tally *t, enum tally_facet f, uint32_t text, uint64_t dumps) {
    struct facet *facet = &t->facets[f];
    size_t low;
    LOWER_BOUND(low, facet->values.len, facet->values.data[low].text, text);
    if (low == facet->values.len || facet->values.data[low].text != text) {
        if (!SMALL_VEC_INSERT(&facet->values, low)) {
            return false;
        }
        facet->values.data[low] = (struct facet_value){.text = text};
    }
    sum_add(&facet->values.data[low].dumps, dumps);
    return true;
}

bool tally_add_cause(struct tally *t, const struct cause_tally *add) {
    size_t low;
    LOWER_BOUND(low, t->causes.len, t->causes.data[low].cause, add->cause);
    if (low == t->causes.len || t->causes.data[low].cause != add->cause) {
        if (!SMALL_VEC_INSERT(&t->causes, low)) {
            return false;
        }
        t->causes.data[low] = (struct cause_tally){.cause = add->cause};
    }
    sum_add(&t->causes.data[low].dumps, add->dumps);
    sum_add(&t->causes.data[low].ms, add->ms);
    sum_add(&t->causes.data[low].confidence, add->confidence);
    return true;
}

struct cause_tally tally_of_cause(const struct tally *t, enum rule_cause cause) {
    size_t low;
    LOWER_BOUND(low, t->causes.len, t->causes.data[low].cause, cause);
    return low < t->causes.len && t->causes.data[low].cause == cause
               ? t->causes.data[low]
               : (struct cause_tally){.cause = cause};
}

static void note_fatal(struct tally *t, uint64_t count, uint64_t min_ms) {
    if (count && min_ms > 0 && (t->fatal_min_ms == 0 || min_ms < t->fatal_min_ms)) {
        t->fatal_min_ms = min_ms;
    }
    sum_add(&t->fatal, count);
}

bool tally_stall(struct tally *t, uint64_t ms, bool fatal, uint32_t cell) {
    sum_add(&t->stalls, 1);
    t->max_ms = ms > t->max_ms ? ms : t->max_ms;
    note_fatal(t, fatal, ms);
    return histogram_add(&t->durations, ms) && clusters_add(&t->clusters, cell, 1, 0);
}

bool tally_merge(struct tally *t, const struct tally *from, const uint32_t *texts) {
    sum_add(&t->dumps, from->dumps);
    sum_add(&t->stalls, from->stalls);
    sum_add(&t->ms, from->ms);
    t->max_ms = from->max_ms > t->max_ms ? from->max_ms : t->max_ms;
    sum_add(&t->samples, from->samples);
    sum_add(&t->hits, from->hits);
    note_fatal(t, from->fatal, from->fatal_min_ms);
    tally_time(t, from->first_time);
    tally_time(t, from->last_time);
    for (size_t i = 0; i < from->causes.len; i++) {
        if (!tally_add_cause(t, &from->causes.data[i])) {
            return false;
        }
    }
    for (size_t f = 0; f < FACET_COUNT; f++) {
        for (size_t i = 0; i < from->facets[f].values.len; i++) {
            const struct facet_value *v = &from->facets[f].values.data[i];
            if (!tally_facet(t, (enum tally_facet)f, texts ? texts[v->text] : v->text, v->dumps)) {
                return false;
            }
        }
    }
    return histogram_merge(&t->durations, &from->durations) &&
           distinct_merge(&t->users, &from->users) && clusters_merge(&t->clusters, &from->clusters);
}

static int by_facet_text(const void *a, const void *b) {
    const struct facet_value *x = a, *y = b;
    return COMPARE(x->text, y->text);
}

void tally_map_texts(struct tally *t, const uint32_t *texts) {
    for (size_t f = 0; f < FACET_COUNT; f++) {
        struct facet *facet = &t->facets[f];
        for (size_t i = 0; i < facet->values.len; i++) {
            facet->values.data[i].text = texts[facet->values.data[i].text];
        }
        if (facet->values.len > 1) {
            qsort(facet->values.data, facet->values.len, sizeof *facet->values.data, by_facet_text);
        }
    }
}

uint64_t tally_length_unknown(const struct tally *t) {
    return histogram_below(&t->durations, 1);
}

struct tally_duration tally_percentile(const struct tally *t, unsigned permille) {
    uint64_t ms = histogram_percentile(&t->durations, 1, permille);
    ms = ms < t->max_ms ? ms : t->max_ms;
    /* If a stall that the process's death cut short lasted ms or less, it could have lasted longer
     * than ms. */
    return (struct tally_duration){.ms = ms, .at_least = t->fatal_min_ms && t->fatal_min_ms <= ms};
}

struct tally_duration tally_max(const struct tally *t) {
    return (struct tally_duration){.ms = t->max_ms, .at_least = t->fatal_min_ms > 0};
}

enum rule_cause tally_cause(const struct tally *t, unsigned *confidence) {
    struct cause_tally best = tally_of_cause(t, CAUSE_UNKNOWN);
    for (size_t i = 0; i < t->causes.len; i++) {
        const struct cause_tally *c = &t->causes.data[i];
        if (c->ms > best.ms || (c->ms == best.ms && c->dumps > best.dumps)) {
            best = *c;
        }
    }
    *confidence = t->dumps ? (unsigned)(best.confidence / t->dumps) : 0;
    return best.cause;
}

int tally_truth(const struct tally *t) {
    return t->samples ? (int)((unsigned __int128)t->hits * 1000 / t->samples) : -1;
}

uint64_t tally_weight_of(const struct tally *t, enum tally_weight weight) {
    return weight == WEIGHT_STALLS ? t->stalls : t->ms;
}

uint64_t tally_share_ppm(const struct tally *t, const struct tally *total,
                         enum tally_weight weight) {
    uint64_t part = tally_weight_of(t, weight), whole = tally_weight_of(total, weight);
    return whole ? (uint64_t)((unsigned __int128)part * 1000000 / whole) : 0;
}
