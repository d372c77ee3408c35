/* Describes rates in words. */
#include "classify/print/usage_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/search.h"
#include "classify/keys/version.h"
#include "classify/stats/hourly.h"
#include "classify/stats/sum.h"

struct usage_exposure usage_exposure_of(const struct triage *t) {
    struct usage_exposure x = {0};
    for (size_t i = 0; i < t->exposure.cells.len; i++) {
        sum_add(&x.foreground_ms, t->exposure.cells.data[i].ms);
        sum_add(&x.launches, t->exposure.cells.data[i].count);
    }
    return x;
}

uint64_t usage_launch_threshold(const struct triage *t) {
    for (size_t i = 0; i < t->thresholds.len; i++) {
        if (strcmp(map_string(&t->strings, t->thresholds.data[i].kind), "launch") == 0) {
            int64_t ms = t->thresholds.data[i].ms;
            return ms > 0 ? (uint64_t)ms : 0;
        }
    }
    return 0;
}

/* ---- rows ---- */

static int usage_by_version(const void *a, const void *b) {
    return version_compare(((const struct usage_row *)a)->text,
                           ((const struct usage_row *)b)->text);
}

static int by_foreground(const void *a, const void *b) {
    const struct usage_row *x = a, *y = b;
    int order = COMPARE(y->foreground_ms, x->foreground_ms);
    order = order ? order : COMPARE(y->sums->stalled_ms, x->sums->stalled_ms);
    return order ? order : strcmp(x->text, y->text);
}

static int usage_by_stalled(const void *a, const void *b) {
    const struct usage_row *x = a, *y = b;
    int order = COMPARE(y->sums->stalled_ms, x->sums->stalled_ms);
    return order ? order : strcmp(x->text, y->text);
}

bool usage_rows_make(struct usage_rows *r, const struct triage *t, enum usage_facet f) {
    const struct usage_values *of = &t->usage.by[f];
    bool own = f <= USAGE_DEVICE; /* true: each value of the facet has its own exposure */
    uint64_t foreground_ms = usage_exposure_of(t).foreground_ms;
    uint64_t sessions = usage_total(&t->usage, USAGE_VERSION).sessions;
    bool many = usage_outside_of(t).many;
    *r = (struct usage_rows){.rows = calloc(of->values.len + 1, sizeof *r->rows)};
    if (!r->rows) {
        return false;
    }
    for (size_t i = 0; i < of->values.len; i++) {
        const struct usage_sums *s = &of->values.data[i].sums;
        r->rows[r->count++] =
            (struct usage_row){.text = map_string(&t->strings, of->values.data[i].text),
                               .sums = s,
                               .foreground_ms = own ? s->foreground_ms : foreground_ms,
                               .sessions = own ? s->sessions : sessions};
        struct usage_row *row = &r->rows[r->count - 1];
        bool rated = f == USAGE_VERSION ? !s->stalls || s->unrated_stalls < s->stalls : !many;
        row->rated_ms = rated ? row->foreground_ms : 0;
        row->rated_stalls = s->stalls - s->unrated_stalls;
        row->rated_stalled_ms = s->stalled_ms - s->unrated_ms;
    }
    int (*order)(const void *, const void *) = own ? usage_by_version : usage_by_stalled;
    qsort(r->rows, r->count, sizeof *r->rows, f == USAGE_DEVICE ? by_foreground : order);
    return true;
}

void usage_rows_release(struct usage_rows *r) {
    free(r->rows);
    *r = (struct usage_rows){0};
}

/* ---- numbers ---- */

const char *text_rate(uint64_t ppm, char out[NUMBER_SIZE]) {
    const uint64_t one = 1000000;
    if (ppm >= 100 * one) {
        return text_grouped(ppm / one + (ppm % one >= one / 2), out);
    }
    int digits = 6; /* digits after the decimal point */
    uint64_t unit = 1;
    for (uint64_t v = ppm; v >= 1000 && digits > 0; v /= 10) {
        digits--;
        unit *= 10;
    }
    uint64_t v = ppm / unit + (unit > 1 && ppm % unit >= unit / 2), scale = one / unit;
    while (digits > 2 && v % 10 == 0) {
        v /= 10;
        scale /= 10;
        digits--;
    }
    snprintf(out, NUMBER_SIZE, "%" PRIu64 ".%0*" PRIu64, v / scale, digits, v % scale);
    return out;
}

const char *text_hours(uint64_t ms, char out[NUMBER_SIZE]) {
    const uint64_t tenth = 360000;
    uint64_t tenths = ms / tenth + (ms % tenth >= tenth / 2);
    if (tenths >= 1000) {
        return text_grouped(tenths / 10, out);
    }
    snprintf(out, NUMBER_SIZE, "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
    return out;
}

const char *text_launch(struct usage_launch l, char out[NUMBER_SIZE]) {
    char ms[NUMBER_SIZE];
    if (l.ms == 0 && l.below) {
        snprintf(out, NUMBER_SIZE, "\xe2\x80\x93");
        return out;
    }
    snprintf(out, NUMBER_SIZE, "%s%s", l.below ? "<" : "", text_ms(l.ms, ms));
    return out;
}

/* ---- sentences ---- */

/* Appends the exposure: "12.3 h in the foreground, 45 sessions". */
static void add_hours(struct strbuf *b, const struct triage *t) {
    char number[NUMBER_SIZE];
    uint64_t sessions = usage_total(&t->usage, USAGE_VERSION).sessions;
    strbuf_addf(b, "%s h in the foreground",
                text_hours(usage_exposure_of(t).foreground_ms, number));
    if (sessions) {
        strbuf_addstr(b, ", ");
        text_add_counted(b, sessions, "session", "sessions");
    }
}

void usage_add_outside_versions(struct strbuf *b, const struct usage_outside *o) {
    text_add_clean(b, *o->first ? o->first : "unknown");
    if (strcmp(o->first, o->last) != 0) {
        strbuf_addstr(b, " to ");
        text_add_clean(b, o->last);
    }
}

void usage_add_outside_days(struct strbuf *b, const struct usage_outside *o) {
    const struct usage_apart *apart = &o->days;
    char day[DAY_SIZE];
    if (apart->stalls) {
        text_add_counted(b, apart->stalls, "stall", "stalls");
        strbuf_addstr(b, " of ");
        text_add_counted(b, apart->days, "day", "days");
        strbuf_addf(b, " with little or no time in the foreground of their version (%s",
                    day_text(apart->first, day));
        if (apart->days > 1) {
            strbuf_addf(b, " to %s", day_text(apart->last, day));
        }
        strbuf_addc(b, ')');
    }
    if (apart->undated_stalls) {
        strbuf_addstr(b, apart->stalls ? " and " : "");
        text_add_counted(b, apart->undated_stalls, "stall", "stalls");
        strbuf_addstr(b, " without a day");
    }
    if (apart->untold_stalls) {
        strbuf_addstr(b, apart->stalls || apart->undated_stalls ? " and " : "");
        text_add_counted(b, apart->untold_stalls, "stall", "stalls");
        strbuf_addstr(b, " of days whose time earlier partials do not tell");
    }
}

/* Appends which stalls are outside of the known time: "3,337 of 4,856 stalls are of versions (2.0
 * to 2.1) of which no time in the foreground is known". */
static void add_outside(struct strbuf *b, const struct triage *t, const struct usage_outside *o) {
    char number[NUMBER_SIZE];
    strbuf_addf(b, "%s of ", text_grouped(o->stalls, number));
    text_add_counted(b, t->total.stalls, "stall", "stalls");
    if (!*o->last) {
        strbuf_addstr(b, " tell no version, by which the time in the foreground is known");
        return;
    }
    strbuf_addstr(b, " are of versions (");
    usage_add_outside_versions(b, o);
    strbuf_addstr(b, ") of which no time in the foreground is known");
}

/* Appends which stalls of the versions with time are in no rate. */
static void add_unrated_days(struct strbuf *b, const struct usage_outside *o) {
    uint64_t stalls = o->days.stalls + o->days.undated_stalls + o->days.untold_stalls;
    if (stalls) {
        strbuf_addstr(b, "; ");
        usage_add_outside_days(b, o);
        strbuf_addstr(b, stalls == 1 ? " is in no rate" : " are in no rate");
    }
}

static bool add_rates(struct strbuf *b, const struct triage *t) {
    struct usage_exposure x = usage_exposure_of(t);
    struct usage_outside outside = usage_outside_of(t);
    char number[NUMBER_SIZE];
    if (x.foreground_ms == 0) {
        if (x.launches) {
            text_add_counted(b, x.launches, "session", "sessions");
            strbuf_addstr(b, t->usage.watch.sessions
                                 ? ", of which no time in the foreground was watched"
                                 : ", of which nobody says how long the app was in the foreground");
        }
        return true;
    }
    if (outside.many_versions) {
        strbuf_addstr(b, "not known: ");
        add_outside(b, t, &outside);
        strbuf_addstr(b, "; of the others ");
        add_hours(b, t);
        add_unrated_days(b, &outside);
        return true;
    }
    if (outside.no_rate) {
        strbuf_addstr(b, "not known, over ");
        add_hours(b, t);
        add_unrated_days(b, &outside);
        return true;
    }
    strbuf_addf(
        b, "%s stalls and ",
        text_rate(hourly_ppm(t->total.stalls - outside.all_stalls, x.foreground_ms), number));
    strbuf_addf(b, "%s stalled in an hour",
                text_ms(hourly_ms(t->total.ms - outside.all_ms, x.foreground_ms), number));
    strbuf_addstr(b, ", over ");
    add_hours(b, t);
    if (t->usage.told_stalls > t->total.stalls) {
        strbuf_addf(b, "; these counted %s stalls", text_grouped(t->usage.told_stalls, number));
        strbuf_addf(b, ", %s", text_ms(t->usage.told_ms, number));
    }
    if (outside.stalls) {
        strbuf_addstr(b, "; ");
        add_outside(b, t, &outside);
    }
    add_unrated_days(b, &outside);
    return true;
}

static bool add_user_rates(struct strbuf *b, const struct triage *t) {
    struct user_rates r;
    char number[NUMBER_SIZE];
    if (!user_sample_rates(&t->usage.users, &r)) {
        return false;
    }
    if (r.users == 0 || usage_outside_of(t).many) {
        return true;
    }
    for (size_t p = 0; p < USER_PERCENTILES; p++) {
        strbuf_addf(b, "%sp%u %s", p ? ", " : "", user_percentiles[p] / 10,
                    text_ms(r.ms_per_hour[p], number));
    }
    strbuf_addstr(b, " stalled in an hour, over ");
    text_add_counted(b, r.users, "user", "users");
    strbuf_addf(b, ", of whom %s never stalled", text_share(r.never, r.sampled, number));
    if (r.sampled < r.users) {
        strbuf_addf(b, " (by a sample of %s)", text_grouped(r.sampled, number));
    }
    if (r.unwatched) {
        strbuf_addf(b, "; not counted: ");
        text_add_counted(b, r.unwatched, "user who stalled and has no session record",
                         "users who stalled and have no session record");
    }
    return true;
}

bool usage_all_launches(const struct triage *t, struct histogram *all) {
    const struct usage_values *of = &t->usage.by[USAGE_VERSION];
    bool rated = !usage_outside_of(t).many;
    for (size_t i = 0; rated && i < of->values.len; i++) {
        if (!histogram_merge(all, &of->values.data[i].sums.launch_ms)) {
            return false;
        }
    }
    return true;
}

static bool add_launches(struct strbuf *b, const struct triage *t) {
    static const unsigned percentiles[] = {500, 900, 950, 990};
    struct histogram all = {0};
    char number[NUMBER_SIZE];
    if (!usage_all_launches(t, &all)) {
        histogram_release(&all);
        return false;
    }
    uint64_t launches = usage_exposure_of(t).launches, known = histogram_total(&all);
    uint64_t threshold = usage_launch_threshold(t);
    for (size_t p = 0; known && p < sizeof percentiles / sizeof *percentiles; p++) {
        struct usage_launch l = usage_launch_percentile(&all, launches, threshold, percentiles[p]);
        strbuf_addf(b, "%sp%u %s", p ? ", " : "", percentiles[p] / 10, text_launch(l, number));
    }
    if (known && launches >= known) {
        strbuf_addstr(b, ", over ");
        text_add_counted(b, launches, "launch", "launches");
        strbuf_addf(b, ", of which %s left a dump", text_grouped(known, number));
    } else if (known) {
        strbuf_addstr(b, ", over ");
        text_add_counted(b, known, "launch that left a dump", "launches that left a dump");
    }
    histogram_release(&all);
    return true;
}

static bool add_low_rates(struct strbuf *b, const struct triage *t) {
    uint64_t s = usage_total(&t->usage, USAGE_VERSION).low_rate_s;
    uint64_t foreground_ms = usage_exposure_of(t).foreground_ms;
    char number[NUMBER_SIZE];
    if (s && foreground_ms) {
        uint64_t ms = 0;
        sum_add(&ms, s < SUM_MAX / 1000 ? s * 1000 : SUM_MAX);
        strbuf_addf(b, "%s with too few frames in an hour",
                    text_ms(hourly_ms(ms, foreground_ms), number));
        strbuf_addstr(b, ", over ");
        add_hours(b, t);
    }
    return true;
}

static bool add_uploads(struct strbuf *b, const struct triage *t) {
    const struct app_usage *u = &t->usage;
    uint64_t days = distinct_count(&u->user_days);
    char number[NUMBER_SIZE];
    if (days == 0 || u->dumps == 0 || usage_outside_of(t).many) {
        return true;
    }
    const uint64_t ppm = 1000000, kb_ppm = 1000;
    uint64_t dumps = u->dumps < SUM_MAX / ppm ? u->dumps * ppm : SUM_MAX;
    uint64_t bytes = u->dump_bytes < SUM_MAX / kb_ppm ? u->dump_bytes * kb_ppm : SUM_MAX;
    const char *about = distinct_is_exact(&u->user_days) ? "" : "about ";
    strbuf_addf(b, "%s%s dumps ", about, text_rate(dumps / days, number));
    strbuf_addf(b, "of %s kB as they were read, for each user and day with a session, over %s",
                text_rate(bytes / days, number), about);
    text_add_counted(b, days, "such day", "such days");
    if (u->over_quota || u->lost) {
        strbuf_addf(b, "; %s more were not sent", text_grouped(u->over_quota, number));
        strbuf_addf(b, ", %s lost", text_grouped(u->lost, number));
    }
    return true;
}

/* Appends the reasons why time was not watched, most time first, at most five. */
static void add_reasons(struct strbuf *b, const struct triage *t) {
    enum { SHOWN = 5 };
    const struct usage_watch *w = &t->usage.watch;
    const struct usage_reason *last = NULL;
    char number[NUMBER_SIZE];
    for (size_t n = 0; n < SHOWN; n++) {
        const struct usage_reason *best = NULL;
        for (size_t i = 0; i < w->reasons.len; i++) {
            const struct usage_reason *r = &w->reasons.data[i];
            const char *text = map_string(&t->strings, r->text);
            bool behind =
                !last || r->ms < last->ms ||
                (r->ms == last->ms && strcmp(text, map_string(&t->strings, last->text)) > 0);
            if (behind &&
                (!best || r->ms > best->ms ||
                 (r->ms == best->ms && strcmp(text, map_string(&t->strings, best->text)) < 0))) {
                best = r;
            }
        }
        if (!best) {
            return;
        }
        strbuf_addstr(b, n ? ", " : "; not watched: ");
        text_add_clean(b, map_string(&t->strings, best->text));
        strbuf_addf(b, " %s", text_ms(best->ms, number));
        last = best;
    }
}

static bool add_watched(struct strbuf *b, const struct triage *t) {
    const struct usage_watch *w = &t->usage.watch;
    int watched = usage_watched_permille(w);
    char number[NUMBER_SIZE];
    if (watched >= 0) {
        strbuf_addf(b, "%s of ", text_ms(w->watched_ms, number));
        strbuf_addf(b, "%s (%d%%)", text_ms(w->wall_ms, number), watched / 10);
        if (w->little) {
            strbuf_addstr(b, ", less than 90% in ");
            text_add_counted(b, w->little, "session", "sessions");
        }
    }
    if (w->unknown_sessions) {
        strbuf_addstr(b, watched >= 0 ? "; unknown of " : "unknown of ");
        text_add_counted(b, w->unknown_sessions, "session", "sessions");
        strbuf_addf(b, " with %s h", text_hours(w->unknown_ms, number));
    }
    add_reasons(b, t);
    if (watched >= 0 && watched < USAGE_WATCHED_PERMILLE) {
        strbuf_addstr(b, "; what is not here may have been in the rest");
    }
    return true;
}

const struct usage_sentence usage_sentences[] = {{"rates", add_rates},
                                                 {"users", add_user_rates},
                                                 {"launches", add_launches},
                                                 {"low frame rate", add_low_rates},
                                                 {"sent", add_uploads},
                                                 {"watched", add_watched},
                                                 {NULL, NULL}};
