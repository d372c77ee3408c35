/* Writes the member "usage" of a partial's head. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/search.h"
#include "classify/stats/partial_private.h"
#include "classify/stats/partial_usage.h"

/* A string and its index. */
struct named_index {
    const char *text;
    uint32_t index;
};

static int by_usage_name(const void *a, const void *b) {
    return strcmp(((const struct named_index *)a)->text, ((const struct named_index *)b)->text);
}

/* Sets *order to the indexes of `count` strings in ascending order, and *place (place may be
 * NULL) to the position of each; named[i].index must be i. False: out of memory. */
static bool order_names(struct named_index *named, size_t count, uint32_t **order,
                        uint32_t **place) {
    *order = calloc(count + 1, sizeof **order);
    if (place) {
        *place = calloc(count + 1, sizeof **place);
    }
    if (!*order || (place && !*place)) {
        return false;
    }
    qsort(named, count, sizeof *named, by_usage_name);
    for (size_t i = 0; i < count; i++) {
        (*order)[i] = named[i].index;
        if (place) {
            (*place)[named[i].index] = (uint32_t)i;
        }
    }
    return true;
}

static bool order_values(struct usage_order *o, const struct triage *t, size_t f) {
    const struct usage_values *of = &t->usage.by[f];
    struct named_index *named = calloc(of->values.len + 1, sizeof *named);
    for (size_t i = 0; named && i < of->values.len; i++) {
        const char *text = map_string(&t->strings, of->values.data[i].text);
        named[i] = (struct named_index){text, (uint32_t)i};
    }
    bool ok = named && order_names(named, of->values.len, &o->values[f], &o->place[f]);
    free(named);
    return ok;
}

static bool order_reasons(struct usage_order *o, const struct triage *t) {
    const struct usage_watch *w = &t->usage.watch;
    struct named_index *named = calloc(w->reasons.len + 1, sizeof *named);
    for (size_t i = 0; named && i < w->reasons.len; i++) {
        const char *text = map_string(&t->strings, w->reasons.data[i].text);
        named[i] = (struct named_index){text, (uint32_t)i};
    }
    bool ok = named && order_names(named, w->reasons.len, &o->reasons, NULL);
    free(named);
    return ok;
}

/* The day and the version of a row, with the version's position among all versions. */
struct placed_day {
    int32_t day;
    uint64_t version;
    uint32_t index;
};

static int by_day(const void *a, const void *b) {
    const struct placed_day *x = a, *y = b;
    int order = COMPARE(x->day, y->day);
    return order ? order : COMPARE(x->version, y->version);
}

/* Needs the order of the versions. */
static bool order_days(struct usage_order *o, const struct triage *t) {
    const struct usage_days *of = &t->usage.days;
    struct placed_day *placed = calloc(of->rows.len + 1, sizeof *placed);
    o->days = calloc(of->rows.len + 1, sizeof *o->days);
    for (size_t i = 0; placed && i < of->rows.len; i++) {
        const struct usage_day *d = &of->rows.data[i];
        placed[i] = (struct placed_day){d->day, usage_place_of(o, t, USAGE_VERSION, d->version),
                                        (uint32_t)i};
    }
    bool ok = placed && o->days;
    if (ok) {
        qsort(placed, of->rows.len, sizeof *placed, by_day);
    }
    for (size_t i = 0; ok && i < of->rows.len; i++) {
        o->days[i] = placed[i].index;
    }
    free(placed);
    return ok;
}

bool usage_order_make(struct usage_order *o, const struct triage *t) {
    bool ok = order_reasons(o, t);
    for (size_t f = 0; ok && f < USAGE_FACETS; f++) {
        ok = order_values(o, t, f);
    }
    return ok && order_days(o, t);
}

void usage_order_release(struct usage_order *o) {
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        free(o->values[f]);
        free(o->place[f]);
    }
    free(o->reasons);
    free(o->days);
    *o = (struct usage_order){0};
}

uint64_t usage_place_of(const struct usage_order *o, const struct triage *t, enum usage_facet f,
                        uint32_t text) {
    const struct usage_values *of = &t->usage.by[f];
    size_t low;
    LOWER_BOUND(low, of->values.len, of->values.data[low].text, text);
    bool there = low < of->values.len && of->values.data[low].text == text;
    return there ? (uint64_t)o->place[f][low] + 1 : 0;
}

const char *usage_text_at(const struct usage_order *o, const struct triage *t, enum usage_facet f,
                          uint64_t place) {
    uint32_t index = o->values[f][place - 1];
    return map_string(&t->strings, t->usage.by[f].values.data[index].text);
}

static void put_usage_launches(struct jsonw *w, const struct histogram *h) {
    jsonw_begin_array(w);
    for (size_t i = 0; i < h->cells.len; i++) {
        jsonw_u64(w, h->cells.data[i].index);
        jsonw_u64(w, h->cells.data[i].count);
    }
    jsonw_end_array(w);
}

/* Writes the values of facet f: for each its text, six numbers and an array. */
static void put_usage_values(struct jsonw *w, const struct triage *t, const struct usage_order *o,
                             size_t f) {
    const struct usage_values *of = &t->usage.by[f];
    jsonw_member_array(w, usage_facet_words[f]);
    for (size_t i = 0; i < of->values.len; i++) {
        const struct usage_value *v = &of->values.data[o->values[f][i]];
        jsonw_cstr(w, map_string(&t->strings, v->text));
        jsonw_u64(w, v->sums.sessions);
        jsonw_u64(w, v->sums.launches);
        jsonw_u64(w, v->sums.foreground_ms);
        jsonw_u64(w, v->sums.low_rate_s);
        jsonw_u64(w, v->sums.stalls);
        jsonw_u64(w, v->sums.stalled_ms);
        put_usage_launches(w, &v->sums.launch_ms);
    }
    jsonw_end_array(w);
}

/* Writes how much of each version's sessions was watched; nothing if no session says it. */
static void put_usage_watched(struct jsonw *w, const struct triage *t,
                              const struct usage_order *o) {
    const struct usage_values *of = &t->usage.by[USAGE_VERSION];
    bool begun = false;
    for (size_t i = 0; i < of->values.len; i++) {
        const struct usage_value *v = &of->values.data[o->values[USAGE_VERSION][i]];
        if (!v->sums.wall_ms) {
            continue;
        }
        if (!begun) {
            jsonw_member_array(w, "watched");
        }
        begun = true;
        jsonw_cstr(w, map_string(&t->strings, v->text));
        jsonw_u64(w, v->sums.watched_ms);
        jsonw_u64(w, v->sums.wall_ms);
    }
    if (begun) {
        jsonw_end_array(w);
    }
}

/* Writes the rows of days that say something; nothing if there is none. */
static void put_usage_days(struct jsonw *w, const struct triage *t, const struct usage_order *o) {
    const struct usage_days *of = &t->usage.days;
    bool begun = false;
    for (size_t i = 0; i < of->rows.len; i++) {
        const struct usage_day *d = &of->rows.data[o->days[i]];
        char text[DAY_SIZE];
        if (usage_day_is_empty(d)) {
            continue;
        }
        if (!begun) {
            jsonw_member_array(w, "days");
        }
        begun = true;
        jsonw_cstr(w, day_text(d->day, text));
        jsonw_cstr(w, map_string(&t->strings, d->version));
        jsonw_u64(w, d->sessions);
        jsonw_u64(w, d->foreground_ms);
        jsonw_u64(w, d->stalls);
        jsonw_u64(w, d->stalled_ms);
    }
    if (begun) {
        jsonw_end_array(w);
    }
}

static void put_usage_reasons(struct jsonw *w, const struct triage *t,
                              const struct usage_order *o) {
    const struct usage_watch *watch = &t->usage.watch;
    jsonw_member_array(w, "reasons");
    for (size_t i = 0; i < watch->reasons.len; i++) {
        const struct usage_reason *r = &watch->reasons.data[o->reasons[i]];
        jsonw_cstr(w, map_string(&t->strings, r->text));
        jsonw_u64(w, r->ms);
    }
    jsonw_end_array(w);
}

static void put_sample(struct jsonw *w, const struct user_sample *s) {
    jsonw_member_bool(w, "users_cut", s->cut);
    jsonw_member_array(w, "users");
    for (size_t i = 0; i < s->users.len; i++) {
        char text[PARTIAL_HASH_SIZE];
        snprintf(text, sizeof text, "%016" PRIx64, s->users.data[i].hash);
        jsonw_cstr(w, text);
        jsonw_u64(w, s->users.data[i].foreground_ms);
        jsonw_u64(w, s->users.data[i].stalled_ms);
    }
    jsonw_end_array(w);
}

void partial_put_usage(struct jsonw *w, const struct triage *t, const struct usage_order *o) {
    const struct app_usage *u = &t->usage;
    jsonw_member_object(w, "usage");
    for (size_t i = 0; i < USAGE_COUNTERS; i++) {
        uint64_t value = usage_counter_value(u, i);
        if (i < USAGE_COUNTERS_EARLY || value > 0) {
            jsonw_member_u64(w, usage_counter_name(i), value);
        }
    }
    put_usage_reasons(w, t, o);
    put_sample(w, &u->users);
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        put_usage_values(w, t, o, f);
    }
    put_usage_watched(w, t, o);
    put_usage_days(w, t, o);
    jsonw_end_object(w);
}
