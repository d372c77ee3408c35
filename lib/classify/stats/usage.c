/* Adds exposure and stalls, and computes rates from them. */
#include "classify/stats/usage.h"

#include <stddef.h>
#include <string.h>

#include "base/search.h"
#include "classify/stats/sum.h"

const char *const usage_facet_words[USAGE_FACETS + 1] = {
    [USAGE_VERSION] = "version", [USAGE_OS] = "os",     [USAGE_DEVICE] = "device",
    [USAGE_CAUSE] = "cause",     [USAGE_KIND] = "kind", [USAGE_FACETS] = NULL};

static const struct {
    const char *name;
    size_t offset;
} counters[USAGE_COUNTERS] = {
    {"dumps", offsetof(struct app_usage, dumps)},
    {"dump_bytes", offsetof(struct app_usage, dump_bytes)},
    {"told_stalls", offsetof(struct app_usage, told_stalls)},
    {"told_ms", offsetof(struct app_usage, told_ms)},
    {"suppressed", offsetof(struct app_usage, suppressed)},
    {"over_quota", offsetof(struct app_usage, over_quota)},
    {"lost", offsetof(struct app_usage, lost)},
    {"watch_sessions", offsetof(struct app_usage, watch.sessions)},
    {"watched_ms", offsetof(struct app_usage, watch.watched_ms)},
    {"wall_ms", offsetof(struct app_usage, watch.wall_ms)},
    {"little_watched", offsetof(struct app_usage, watch.little)},
    {"unknown_sessions", offsetof(struct app_usage, watch.unknown_sessions)},
    {"unknown_ms", offsetof(struct app_usage, watch.unknown_ms)},
    {"refused_sessions", offsetof(struct app_usage, watch.refused_sessions)},
};

const char *usage_counter_name(size_t i) {
    return counters[i].name;
}

uint64_t *usage_counter(struct app_usage *u, size_t i) {
    return (uint64_t *)(void *)((char *)u + counters[i].offset);
}

uint64_t usage_counter_value(const struct app_usage *u, size_t i) {
    uint64_t v;
    memcpy(&v, (const char *)u + counters[i].offset, sizeof v);
    return v;
}

void usage_release(struct app_usage *u) {
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        for (size_t i = 0; i < u->by[f].values.len; i++) {
            histogram_release(&u->by[f].values.data[i].sums.launch_ms);
        }
        VEC_RELEASE(&u->by[f].values);
    }
    VEC_RELEASE(&u->watch.reasons);
    user_sample_release(&u->users);
    distinct_release(&u->user_days);
}

struct usage_sums *usage_sums_of(struct app_usage *u, enum usage_facet f, uint32_t text) {
    struct usage_values *of = &u->by[f];
    size_t low;
    LOWER_BOUND(low, of->values.len, of->values.data[low].text, text);
    if (low == of->values.len || of->values.data[low].text != text) {
        if (!VEC_INSERT(&of->values, low)) {
            return NULL;
        }
        of->values.data[low] = (struct usage_value){.text = text};
    }
    return &of->values.data[low].sums;
}

bool usage_add_reason(struct usage_watch *w, uint32_t text, uint64_t ms) {
    size_t low;
    LOWER_BOUND(low, w->reasons.len, w->reasons.data[low].text, text);
    if (low == w->reasons.len || w->reasons.data[low].text != text) {
        if (!VEC_INSERT(&w->reasons, low)) {
            return false;
        }
        w->reasons.data[low] = (struct usage_reason){.text = text};
    }
    sum_add(&w->reasons.data[low].ms, ms);
    return true;
}

/* Adds all sums except for the launches' durations. */
static void add_sums(struct usage_sums *s, const struct usage_sums *from) {
    sum_add(&s->sessions, from->sessions);
    sum_add(&s->launches, from->launches);
    sum_add(&s->foreground_ms, from->foreground_ms);
    sum_add(&s->low_rate_s, from->low_rate_s);
    sum_add(&s->watched_ms, from->watched_ms);
    sum_add(&s->wall_ms, from->wall_ms);
    sum_add(&s->stalls, from->stalls);
    sum_add(&s->stalled_ms, from->stalled_ms);
}

static bool merge_reasons(struct usage_watch *w, const struct usage_watch *from,
                          const uint32_t *texts) {
    for (size_t i = 0; i < from->reasons.len; i++) {
        const struct usage_reason *r = &from->reasons.data[i];
        if (!usage_add_reason(w, texts ? texts[r->text] : r->text, r->ms)) {
            return false;
        }
    }
    return true;
}

bool usage_merge(struct app_usage *u, const struct app_usage *from, const uint32_t *texts) {
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        for (size_t i = 0; i < from->by[f].values.len; i++) {
            const struct usage_value *v = &from->by[f].values.data[i];
            struct usage_sums *s =
                usage_sums_of(u, (enum usage_facet)f, texts ? texts[v->text] : v->text);
            if (!s || !histogram_merge(&s->launch_ms, &v->sums.launch_ms)) {
                return false;
            }
            add_sums(s, &v->sums);
        }
    }
    for (size_t i = 0; i < USAGE_COUNTERS; i++) {
        sum_add(usage_counter(u, i), usage_counter_value(from, i));
    }
    return merge_reasons(&u->watch, &from->watch, texts) &&
           user_sample_merge(&u->users, &from->users) &&
           distinct_merge(&u->user_days, &from->user_days);
}

struct usage_sums usage_total(const struct app_usage *u, enum usage_facet f) {
    struct usage_sums all = {0};
    for (size_t i = 0; i < u->by[f].values.len; i++) {
        add_sums(&all, &u->by[f].values.data[i].sums);
    }
    return all;
}

static int watched_permille(uint64_t watched_ms, uint64_t wall_ms) {
    return wall_ms ? (int)((unsigned __int128)watched_ms * 1000 / wall_ms) : -1;
}

int usage_watched_permille(const struct usage_watch *w) {
    return watched_permille(w->watched_ms, w->wall_ms);
}

int usage_sums_watched_permille(const struct usage_sums *s) {
    return watched_permille(s->watched_ms, s->wall_ms);
}

/* ---- launches ---- */

struct usage_launch usage_launch_percentile(const struct histogram *known, uint64_t launches,
                                            uint64_t threshold_ms, unsigned permille) {
    uint64_t total = histogram_total(known);
    launches = launches > total ? launches : total;
    uint64_t unknown = launches - total;
    uint64_t rank = launches / 1000 * permille + (launches % 1000 * permille + 999) / 1000;
    if (total == 0) {
        return (struct usage_launch){.ms = threshold_ms, .below = true};
    }
    uint64_t limit = threshold_ms ? threshold_ms : histogram_at_rank(known, 1);
    if (unknown && rank <= unknown + histogram_below(known, limit)) {
        return (struct usage_launch){.ms = limit, .below = true};
    }
    return (struct usage_launch){.ms = histogram_at_rank(known, rank - unknown)};
}
