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

/* Returns the day of those parts of a stall that have this version: the one with most of their
 * time; if several have as much, the earliest. `room` has an element for each part. */
static int32_t main_day(const struct stall_part *parts, size_t count, uint32_t version,
                        struct value_time *room) {
    const uint32_t sign = UINT32_C(1) << 31; /* days as numbers without a sign, in their order */
    struct value_time best = {.text = (uint32_t)USAGE_UNTOLD_DAY ^ sign};
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].facets[USAGE_VERSION] == version) {
            room[used++] = (struct value_time){(uint32_t)parts[i].day ^ sign, parts[i].ms};
        }
    }
    qsort(room, used, sizeof *room, by_value_text);
    for (size_t i = 0; i < used;) {
        struct value_time v = {.text = room[i].text};
        bool first = i == 0;
        for (; i < used && room[i].text == v.text; i++) {
            sum_add(&v.ms, room[i].ms);
        }
        best = first || v.ms > best.ms ? v : best;
    }
    return (int32_t)(best.text ^ sign);
}

/* Counts a stall on the day of a version; nothing if its partial did not tell the day. False: out
 * of memory. */
static bool count_on_day(struct triage *t, int32_t day, uint32_t version) {
    struct usage_day *of = day == USAGE_UNTOLD_DAY ? NULL : usage_day_of(&t->usage, day, version);
    if (of) {
        sum_add(&of->stalls, 1);
    }
    return of || day == USAGE_UNTOLD_DAY;
}

bool stall_count_usage(struct triage *t, const struct stall_part *parts, size_t count,
                       uint64_t ms) {
    uint32_t found[USAGE_FACETS];
    struct value_time one, *room = count > 1 ? calloc(count, sizeof *room) : &one;
    if (!room) {
        return false;
    }
    find_values(t, parts, count, room, found);
    uint32_t version = found[USAGE_VERSION];
    int32_t day = version == NO_INDEX ? USAGE_UNTOLD_DAY : main_day(parts, count, version, room);
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
    return count_on_day(t, day, version);
}

/* ---- what is in no rate ---- */

/* The version without a name, "", whose time may be that of all versions. NO_INDEX: there is none,
 * or a version that has a name has time, so that time is known by version. */
static uint32_t version_of_all(const struct triage *t) {
    const struct usage_values *of = &t->usage.by[USAGE_VERSION];
    uint32_t nameless = NO_INDEX;
    for (size_t i = 0; i < of->values.len; i++) {
        const struct usage_value *v = &of->values.data[i];
        const bool named = *map_string(&t->strings, v->text);
        if (v->sums.foreground_ms && named) {
            return NO_INDEX;
        }
        nameless = named ? nameless : v->text;
    }
    return nameless;
}

static size_t index_of_version(const struct app_usage *u, uint32_t text) {
    const struct usage_values *of = &u->by[USAGE_VERSION];
    size_t at;
    LOWER_BOUND(at, of->values.len, of->values.data[at].text, text);
    return at;
}

/* What is settled for a triage. */
struct settling {
    struct app_usage *u;
    uint32_t of_all;        /* see version_of_all */
    struct usage_day *left; /* see usage_untold */
    uint64_t *typical;      /* see find_typical, by the version's index */
    struct number_map days; /* days without time that have stalls */
};

/* The time of a version on a day. */
struct version_time {
    size_t version; /* the version's index */
    uint64_t ms;
};

static int by_version_and_time(const void *a, const void *b) {
    const struct version_time *x = a, *y = b;
    int order = COMPARE(x->version, y->version);
    return order ? order : COMPARE(y->ms, x->ms);
}

/* Sets s->typical to the time of a typical day of each version: half of the time that has a day is
 * of days with at least so much. Many days with little time do not lower it. False: out of memory.
 */
static bool find_typical(struct settling *s) {
    const struct usage_days *days = &s->u->days;
    struct version_time *times = calloc(days->rows.len + 1, sizeof *times);
    s->typical = calloc(s->u->by[USAGE_VERSION].values.len + 1, sizeof *s->typical);
    size_t count = 0;
    for (size_t i = 0; times && i < days->rows.len; i++) {
        const struct usage_day *row = &days->rows.data[i];
        if (row->day != USAGE_NO_DAY && row->foreground_ms) {
            times[count++] =
                (struct version_time){index_of_version(s->u, row->version), row->foreground_ms};
        }
    }
    bool ok = times && s->typical;
    if (ok) {
        qsort(times, count, sizeof *times, by_version_and_time);
    }
    for (size_t i = 0, end; ok && i < count; i = end) {
        unsigned __int128 sum = 0, passed = 0;
        for (end = i; end < count && times[end].version == times[i].version; end++) {
            sum += times[end].ms;
        }
        for (size_t k = i; passed < sum - passed; k++) {
            passed += times[k].ms;
            s->typical[times[k].version] = times[k].ms;
        }
    }
    free(times);
    return ok;
}

/* Stalls are divided by time that is known for their day, or for none, only if it is at least this
 * part of what there should be, because a session or two of a wrong clock, or past midnight, are
 * not the time of all users: of the version's time, or of its typical day. SPILL_PART is for a day
 * on which no session began, so that its time is what sessions of earlier days had left. Time
 * without a day is that of all days if all but one TIME_PART of it has none. */
enum { TIME_PART = 20, SPILL_PART = 4 };

static bool is_time_part(uint64_t ms, uint64_t of, unsigned part) {
    return ms > 0 && ms >= of / part;
}

/* Returns the index of the version whose time the stalls of a row are divided by. */
static size_t index_of_time(const struct settling *s, const struct usage_day *row) {
    return index_of_version(s->u, s->of_all == NO_INDEX ? row->version : s->of_all);
}

/* Is time in the foreground known for the stalls of a row? One that is left of a version's sums is
 * of partials that told no days. */
static bool row_is_rated(const struct settling *s, const struct usage_day *row) {
    size_t at = index_of_time(s, row);
    const struct usage_value *timed = &s->u->by[USAGE_VERSION].values.data[at];
    uint32_t from = timed->text;
    uint64_t all = timed->sums.foreground_ms;
    const struct usage_day *none = usage_find_day(s->u, USAGE_NO_DAY, from);
    uint64_t undated = none ? none->foreground_ms : 0;
    if (undated && undated >= all - all / TIME_PART) {
        return true;
    }
    if (row->day == USAGE_NO_DAY || row->day == USAGE_UNTOLD_DAY) {
        return is_time_part(row->day == USAGE_NO_DAY ? undated : s->left[at].foreground_ms, all,
                            TIME_PART);
    }
    const struct usage_day *same = usage_find_day(s->u, row->day, from);
    return same && is_time_part(same->foreground_ms, s->typical[at],
                                same->sessions ? TIME_PART : SPILL_PART);
}

/* May time of the row's day be in what partials without days count? */
static bool time_is_untold(const struct settling *s, const struct usage_day *row) {
    return s->left[index_of_time(s, row)].foreground_ms > 0;
}

/* Notes that a row's stalls are in no rate. False: out of memory. */
static bool leave_unrated(struct settling *s, const struct usage_day *row) {
    struct usage_apart *apart = &s->u->apart;
    struct usage_sums *of =
        &s->u->by[USAGE_VERSION].values.data[index_of_version(s->u, row->version)].sums;
    size_t at;
    bool added = false;
    sum_add(&of->unrated_stalls, row->stalls);
    sum_add(&of->unrated_ms, row->stalled_ms);
    if (row->day == USAGE_NO_DAY || row->day == USAGE_UNTOLD_DAY) {
        sum_add(&apart->undated_stalls, row->stalls);
        return true;
    }
    if (!row->stalls || time_is_untold(s, row)) {
        sum_add(&apart->untold_stalls, row->stalls);
        return true;
    }
    apart->first = apart->days && apart->first < row->day ? apart->first : row->day;
    apart->last = apart->days && apart->last > row->day ? apart->last : row->day;
    sum_add(&apart->stalls, row->stalls);
    bool ok = number_map_put(&s->days, (uint32_t)row->day, 0, &at, &added);
    apart->days += added;
    return ok;
}

/* Settles the rows of versions that have time. */
static bool settle_days(struct settling *s) {
    const struct usage_days *days = &s->u->days;
    const struct usage_values *of = &s->u->by[USAGE_VERSION];
    bool ok = true;
    for (size_t i = 0; ok && i < days->rows.len + of->values.len; i++) {
        const struct usage_day *row =
            i < days->rows.len ? &days->rows.data[i] : &s->left[i - days->rows.len];
        bool timed = of->values.data[index_of_time(s, row)].sums.foreground_ms > 0;
        ok = !timed || row_is_rated(s, row) || leave_unrated(s, row);
    }
    return ok;
}

bool usage_settle(struct triage *t) {
    struct settling s = {.u = &t->usage, .of_all = version_of_all(t)};
    struct usage_values *of = &t->usage.by[USAGE_VERSION];
    enum st st = usage_untold(&t->usage, &s.left);
    bool known = false;
    for (size_t i = 0; i < of->values.len; i++) {
        known = known || of->values.data[i].sums.foreground_ms;
    }
    for (size_t i = 0; i < of->values.len; i++) {
        struct usage_sums *sums = &of->values.data[i].sums;
        bool none = known && s.of_all == NO_INDEX && !sums->foreground_ms;
        sums->unrated_stalls = none ? sums->stalls : 0;
        sums->unrated_ms = none ? sums->stalled_ms : 0;
    }
    t->usage.apart = (struct usage_apart){0};
    bool ok = st != ST_ERR && (!known || st == ST_NONE || (find_typical(&s) && settle_days(&s)));
    number_map_release(&s.days);
    free(s.typical);
    free(s.left);
    return ok;
}

struct usage_outside usage_outside_of(const struct triage *t) {
    const struct usage_values *of = &t->usage.by[USAGE_VERSION];
    struct usage_outside out = {.days = t->usage.apart};
    const bool by_version = version_of_all(t) == NO_INDEX;
    for (size_t i = 0; i < of->values.len; i++) {
        const struct usage_sums *s = &of->values.data[i].sums;
        const char *version = map_string(&t->strings, of->values.data[i].text);
        sum_add(&out.all_stalls, s->unrated_stalls);
        sum_add(&out.all_ms, s->unrated_ms);
        if (s->foreground_ms || !s->unrated_stalls || !by_version) {
            continue;
        }
        sum_add(&out.stalls, s->stalls);
        out.first = !out.first || version_compare(version, out.first) < 0 ? version : out.first;
        out.last = !out.last || version_compare(version, out.last) > 0 ? version : out.last;
    }
    /* Dumps that later rules find idle are in no total any more, and in the usage still. */
    out.all_stalls = out.all_stalls < t->total.stalls ? out.all_stalls : t->total.stalls;
    out.all_ms = out.all_ms < t->total.ms ? out.all_ms : t->total.ms;
    out.many_versions = out.stalls > t->total.stalls / USAGE_UNRATED_SHARE;
    out.no_rate = out.many_versions || (out.all_stalls && out.all_stalls == t->total.stalls);
    out.many = out.all_stalls > t->total.stalls / USAGE_UNRATED_SHARE;
    return out;
}
