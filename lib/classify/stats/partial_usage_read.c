/* Reads the member "usage" of a partial's head. Every number is checked before it is used. */
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "classify/stats/partial_private.h"
#include "classify/stats/sum.h"

/* Numbers of items of a value of a facet, of a version that was watched, of a day, and of a user.
 */
enum { VALUE_ITEMS = 8, WATCHED_ITEMS = 3, DAY_ITEMS = 6, USER_ITEMS = 3 };

/* Reads the next string and returns its index. The string must be greater than *previous, and
 * replaces it. 0: the string is missing or malformed. */
static uint32_t read_usage_text(struct partial_line *l, const struct tape_value *v,
                                const char **previous) {
    const char *text = partial_text(l, v);
    if (!text || (*previous && strcmp(*previous, text) >= 0)) {
        partial_reject(l, "usage");
        return 0;
    }
    *previous = text;
    return partial_text_index(l, text);
}

/* Reads the items of one value of facet f into the triage's usage. */
static void read_usage_value(struct partial_line *l, size_t f, struct partial_items *items,
                             const char **previous) {
    uint32_t text = read_usage_text(l, partial_take(items), previous);
    struct usage_sums *s =
        partial_fine(l) ? usage_sums_of(&l->r->t->usage, (enum usage_facet)f, text) : NULL;
    partial_need(l, s || l->bad);
    if (!s) {
        return;
    }
    uint64_t *const numbers[] = {&s->sessions,   &s->launches, &s->foreground_ms,
                                 &s->low_rate_s, &s->stalls,   &s->stalled_ms};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        *numbers[k] = partial_take_number(l, items, SUM_MAX, "usage");
    }
    struct partial_items launches = partial_items(l, partial_take(items), 2, "usage");
    partial_read_durations(l, launches, "usage", &s->launch_ms);
}

static void read_usage_values(struct partial_line *l, const struct tape_value *usage, size_t f) {
    struct partial_items items =
        partial_items(l, partial_member(l, usage, usage_facet_words[f]), VALUE_ITEMS, "usage");
    const char *previous = NULL;
    while (items.next < items.end && partial_fine(l)) {
        read_usage_value(l, f, &items, &previous);
    }
}

/* Reads how much of each version was watched, which earlier partials lack. */
static void read_watched(struct partial_line *l, const struct tape_value *usage) {
    const struct tape_value *watched = partial_member(l, usage, "watched");
    if (!watched) {
        return;
    }
    struct partial_items items = partial_items(l, watched, WATCHED_ITEMS, "usage");
    const char *previous = NULL;
    while (items.next < items.end && partial_fine(l)) {
        uint32_t text = read_usage_text(l, partial_take(&items), &previous);
        uint64_t watched_ms = partial_take_number(l, &items, SUM_MAX, "usage");
        uint64_t wall_ms = partial_take_number(l, &items, SUM_MAX, "usage");
        if (watched_ms > wall_ms || !wall_ms) {
            partial_reject(l, "usage");
        }
        struct usage_sums *s =
            partial_fine(l) ? usage_sums_of(&l->r->t->usage, USAGE_VERSION, text) : NULL;
        partial_need(l, s || l->bad);
        if (s) {
            s->watched_ms = watched_ms;
            s->wall_ms = wall_ms;
        }
    }
}

/* Reads a day's text, "" = USAGE_NO_DAY. */
static int32_t read_day_text(struct partial_line *l, const struct tape_value *v) {
    const char *text = partial_text(l, v);
    int32_t day = USAGE_NO_DAY;
    if (!text || (*text && (strlen(text) != DAY_LENGTH || !parse_day(text, DAY_LENGTH, &day)))) {
        partial_reject(l, "days");
    }
    return day;
}

/* The day and the version of the row before. */
struct day_before {
    bool any;
    int32_t day;
    const char *version;
};

static void read_usage_day(struct partial_line *l, struct partial_items *items,
                           struct day_before *before) {
    int32_t day = read_day_text(l, partial_take(items));
    bool later = !before->any || day > before->day;
    if (before->any && day < before->day) {
        partial_reject(l, "days");
    }
    before->version = later ? NULL : before->version;
    uint32_t version = read_usage_text(l, partial_take(items), &before->version);
    *before = (struct day_before){true, day, before->version};
    struct usage_day *d = partial_fine(l) ? usage_day_of(&l->r->t->usage, day, version) : NULL;
    partial_need(l, d || l->bad);
    if (!d) {
        return;
    }
    uint64_t *const numbers[] = {&d->sessions, &d->foreground_ms, &d->stalls, &d->stalled_ms};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        *numbers[k] = partial_take_number(l, items, SUM_MAX, "days");
    }
    if (usage_day_is_empty(d)) {
        partial_reject(l, "days");
    }
}

/* Reads the sums by day, which earlier partials lack. */
static void read_usage_days(struct partial_line *l, const struct tape_value *usage) {
    const struct tape_value *days = partial_member(l, usage, "days");
    if (!days) {
        return;
    }
    struct partial_items items = partial_items(l, days, DAY_ITEMS, "days");
    struct day_before before = {0};
    while (items.next < items.end && partial_fine(l)) {
        read_usage_day(l, &items, &before);
    }
    if (partial_fine(l)) {
        struct usage_day *left;
        enum st st = usage_untold(&l->r->t->usage, &left);
        free(left);
        partial_need(l, st != ST_ERR);
        if (st == ST_NONE) {
            partial_reject(l, "days");
        }
    }
}

static void read_reasons(struct partial_line *l, const struct tape_value *usage) {
    struct partial_items items = partial_items(l, partial_member(l, usage, "reasons"), 2, "usage");
    const char *previous = NULL;
    while (items.next < items.end && partial_fine(l)) {
        uint32_t text = read_usage_text(l, partial_take(&items), &previous);
        uint64_t ms = partial_take_number(l, &items, SUM_MAX, "usage");
        partial_need(l, !partial_fine(l) || usage_add_reason(&l->r->t->usage.watch, text, ms));
    }
}

static void read_user_sample(struct partial_line *l, const struct tape_value *usage) {
    struct user_sample *s = &l->r->t->usage.users;
    struct partial_items items =
        partial_items(l, partial_member(l, usage, "users"), USER_ITEMS, "usage");
    size_t count = items.count / USER_ITEMS;
    bool cut = tape_is(partial_member(l, usage, "users_cut"), VALUE_TRUE);
    if (count > USER_SAMPLE_MAX || (cut && count < USER_SAMPLE_MAX)) {
        partial_reject(l, "usage");
    }
    for (size_t i = 0; i < count && partial_fine(l); i++) {
        uint64_t hash = partial_hash(l, partial_take(&items), "usage");
        uint64_t foreground_ms = partial_take_number(l, &items, SUM_MAX, "usage");
        uint64_t stalled_ms = partial_take_number(l, &items, SUM_MAX, "usage");
        if (i && hash <= s->users.data[i - 1].hash) {
            partial_reject(l, "usage");
        }
        partial_need(l, !partial_fine(l) || user_sample_add(s, hash, foreground_ms, stalled_ms));
    }
    s->cut = cut;
}

void partial_read_usage(struct partial_line *l, const struct tape_value *usage) {
    for (size_t i = 0; i < USAGE_COUNTERS; i++) {
        const struct tape_value *v = partial_member(l, usage, usage_counter_name(i));
        if (i < USAGE_COUNTERS_EARLY || v) {
            *usage_counter(&l->r->t->usage, i) = partial_number(l, v, SUM_MAX, "usage");
        }
    }
    read_reasons(l, usage);
    read_user_sample(l, usage);
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        read_usage_values(l, usage, f);
    }
    read_watched(l, usage);
    read_usage_days(l, usage);
}

void partial_read_part_days(struct partial_line *l, const struct tape_value *days,
                            struct stall_part *parts, size_t count) {
    struct partial_items items = {0};
    if (days) {
        items = partial_items(l, days, 1, "days");
    }
    for (size_t i = 0; i < count && partial_fine(l); i++) {
        const struct tape_value *v = partial_take(&items);
        parts[i].day = USAGE_UNTOLD_DAY;
        if (days && !tape_is(v, VALUE_NULL)) {
            parts[i].day = read_day_text(l, v);
        }
    }
}

void partial_read_facets(struct partial_line *l, const struct tape_value *facets,
                         struct stall_part *parts, size_t count) {
    struct partial_items items = {0};
    if (facets) {
        items = partial_items(l, facets, 1, "facets");
    }
    for (size_t i = 0; i < count * USAGE_FACETS && partial_fine(l); i++) {
        const struct tape_value *v = partial_take(&items);
        uint32_t *facet = &parts[i / USAGE_FACETS].facets[i % USAGE_FACETS];
        *facet = NO_INDEX;
        if (!facets || tape_is(v, VALUE_NULL)) {
            continue;
        }
        const char *text = partial_text(l, v);
        if (text) {
            *facet = partial_text_index(l, text);
        } else {
            partial_reject(l, "facets");
        }
    }
}
