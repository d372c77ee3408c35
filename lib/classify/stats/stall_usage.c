/* Adds a stall to the sums from which rates are computed: for each facet, to the value that
 * accounts for most of the stall's time. Counts the stalls that have no time to be divided by. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "classify/keys/version.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

/* A value of a facet, and the stall's time with it. */
struct value_time {
    uint32_t text;
    uint64_t ms;
};

static int by_value_text(const void *a, const void *b) {
    const struct value_time *x = a, *y = b;
    return COMPARE(x->text, y->text);
}

/* Returns the value with most time; if several have as much, the one whose string sorts first;
 * NO_INDEX: no value is known. The values are reordered. */
static uint32_t main_value(const struct triage *t, struct value_time *values, size_t count) {
    struct value_time best = {.text = NO_INDEX};
    qsort(values, count, sizeof *values, by_value_text);
    for (size_t i = 0; i < count;) {
        struct value_time v = {.text = values[i].text};
        for (; i < count && values[i].text == v.text; i++) {
            sum_add(&v.ms, values[i].ms);
        }
        if (v.text != NO_INDEX &&
            (best.text == NO_INDEX || v.ms > best.ms ||
             (v.ms == best.ms &&
              strcmp(map_string(&t->strings, v.text), map_string(&t->strings, best.text)) < 0))) {
            best = v;
        }
    }
    return best.text;
}

/* Sets found[] to a stall's value of each facet; `room` has an element for each part. */
static void find_values(const struct triage *t, const struct stall_part *parts, size_t count,
                        struct value_time *room, uint32_t found[USAGE_FACETS]) {
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        for (size_t i = 0; i < count; i++) {
            room[i] = (struct value_time){.text = parts[i].facets[f], .ms = parts[i].ms};
        }
        found[f] = main_value(t, room, count);
    }
}

bool stall_count_usage(struct triage *t, const struct stall_part *parts, size_t count,
                       uint64_t ms) {
    uint32_t found[USAGE_FACETS];
    struct value_time one, *room = count > 1 ? calloc(count, sizeof *room) : &one;
    if (!room) {
        return false;
    }
    find_values(t, parts, count, room, found);
    if (count > 1) {
        free(room);
    }
    bool launch = found[USAGE_KIND] != NO_INDEX &&
                  strcmp(map_string(&t->strings, found[USAGE_KIND]), "launch") == 0;
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        struct usage_sums *sums =
            found[f] == NO_INDEX ? NULL : usage_sums_of(&t->usage, (enum usage_facet)f, found[f]);
        if (found[f] != NO_INDEX && (!sums || (launch && !histogram_add(&sums->launch_ms, ms)))) {
            return false;
        }
        if (sums) {
            sum_add(&sums->stalls, 1);
        }
    }
    return true;
}

/* Is time in the foreground known of a version that has a name? Time of no version may be that of
 * all. */
static bool knows_time_by_version(const struct triage *t) {
    const struct usage_values *of = &t->usage.by[USAGE_VERSION];
    for (size_t i = 0; i < of->values.len; i++) {
        const struct usage_value *v = &of->values.data[i];
        if (v->sums.foreground_ms && *map_string(&t->strings, v->text)) {
            return true;
        }
    }
    return false;
}

struct usage_outside usage_outside_of(const struct triage *t) {
    enum { MANY = 20 /* one stall in so many may be outside */ };
    const struct usage_values *of = &t->usage.by[USAGE_VERSION];
    struct usage_outside out = {0};
    for (size_t i = 0; knows_time_by_version(t) && i < of->values.len; i++) {
        const struct usage_sums *s = &of->values.data[i].sums;
        const char *version = map_string(&t->strings, of->values.data[i].text);
        if (s->foreground_ms || !s->stalls) {
            continue;
        }
        sum_add(&out.stalls, s->stalls);
        out.first = !out.first || version_compare(version, out.first) < 0 ? version : out.first;
        out.last = !out.last || version_compare(version, out.last) > 0 ? version : out.last;
    }
    out.many = out.stalls > t->total.stalls / MANY;
    return out;
}
