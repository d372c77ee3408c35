/* Adds exposure and stalls, and computes rates from them. */
#include "classify/stats/usage.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
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
    VEC_RELEASE(&u->days.rows);
    number_map_release(&u->days.place);
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

static uint64_t key_of_day(int32_t day, uint32_t version) {
    return (uint64_t)version << 32 | (uint32_t)day;
}

struct usage_day *usage_day_of(struct app_usage *u, int32_t day, uint32_t version) {
    struct usage_days *of = &u->days;
    size_t at = 0;
    bool added = false;
    if (!VEC_RESERVE(&of->rows, 1) ||
        !number_map_put(&of->place, key_of_day(day, version), of->rows.len, &at, &added)) {
        return NULL;
    }
    if (added) {
        of->rows.data[of->rows.len++] = (struct usage_day){.day = day, .version = version};
    }
    return &of->rows.data[at];
}

const struct usage_day *usage_find_day(const struct app_usage *u, int32_t day, uint32_t version) {
    size_t at;
    bool found = number_map_get(&u->days.place, key_of_day(day, version), &at);
    return found ? &u->days.rows.data[at] : NULL;
}

int32_t usage_day_parse(const char *time) {
    int32_t day;
    return time && parse_day(time, strlen(time), &day) ? day : USAGE_NO_DAY;
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

/* Adds the sums of one day to those of another. */
static void add_day(struct usage_day *to, const struct usage_day *d) {
    sum_add(&to->sessions, d->sessions);
    sum_add(&to->foreground_ms, d->foreground_ms);
    sum_add(&to->stalls, d->stalls);
    sum_add(&to->stalled_ms, d->stalled_ms);
}

static bool merge_days(struct app_usage *u, const struct app_usage *from, const uint32_t *texts) {
    for (size_t i = 0; i < from->days.rows.len; i++) {
        const struct usage_day *d = &from->days.rows.data[i];
        struct usage_day *to = usage_day_of(u, d->day, texts ? texts[d->version] : d->version);
        if (!to) {
            return false;
        }
        add_day(to, d);
    }
    return true;
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
    return merge_days(u, from, texts) && merge_reasons(&u->watch, &from->watch, texts) &&
           user_sample_merge(&u->users, &from->users) &&
           distinct_merge(&u->user_days, &from->user_days);
}

/* Takes a number of a day from what is left of a sum. False: it is larger. A sum that is full has
 * nothing left, as its days may be more than it can hold. */
static bool usage_take_number(uint64_t *left, uint64_t sum, uint64_t v) {
    bool fits = sum == SUM_MAX || v <= *left;
    *left = sum == SUM_MAX || !fits ? 0 : *left - v;
    return fits;
}

/* Takes the sums of a day from those of its version. False: they are larger. */
static bool take_day(struct usage_day *left, const struct usage_sums *s,
                     const struct usage_day *d) {
    bool fits = usage_take_number(&left->sessions, s->sessions, d->sessions);
    fits = usage_take_number(&left->foreground_ms, s->foreground_ms, d->foreground_ms) && fits;
    fits = usage_take_number(&left->stalls, s->stalls, d->stalls) && fits;
    return usage_take_number(&left->stalled_ms, s->stalled_ms, d->stalled_ms) && fits;
}

enum st usage_untold(const struct app_usage *u, struct usage_day **out) {
    const struct usage_values *of = &u->by[USAGE_VERSION];
    struct usage_day *left = calloc(of->values.len + 1, sizeof *left);
    bool fits = true;
    *out = left;
    if (!left) {
        return ST_ERR;
    }
    for (size_t i = 0; i < of->values.len; i++) {
        const struct usage_sums *s = &of->values.data[i].sums;
        left[i] = (struct usage_day){USAGE_UNTOLD_DAY, of->values.data[i].text,
                                     s->sessions,      s->foreground_ms,
                                     s->stalls,        s->stalled_ms};
    }
    for (size_t i = 0; fits && i < u->days.rows.len; i++) {
        const struct usage_day *d = &u->days.rows.data[i];
        size_t at;
        LOWER_BOUND(at, of->values.len, of->values.data[at].text, d->version);
        fits = at < of->values.len && of->values.data[at].text == d->version &&
               take_day(&left[at], &of->values.data[at].sums, d);
    }
    if (!fits) {
        free(left);
        *out = NULL;
        return ST_NONE;
    }
    return ST_OK;
}

bool usage_day_is_empty(const struct usage_day *d) {
    return !(d->sessions || d->foreground_ms || d->stalls || d->stalled_ms);
}

bool usage_place(struct app_usage *u, int32_t day) {
    struct usage_day *left;
    enum st st = usage_untold(u, &left);
    bool ok = st != ST_ERR;
    for (size_t i = 0; ok && st == ST_OK && i < u->by[USAGE_VERSION].values.len; i++) {
        struct usage_day *to =
            usage_day_is_empty(&left[i]) ? NULL : usage_day_of(u, day, left[i].version);
        ok = to || usage_day_is_empty(&left[i]);
        if (to) {
            add_day(to, &left[i]);
        }
    }
    free(left);
    return ok;
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

uint64_t usage_rated_ms(const struct usage_sums *s) {
    return s->unrated_stalls > s->stalls / USAGE_UNRATED_SHARE ? 0 : s->foreground_ms;
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
