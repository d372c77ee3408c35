/* Writes rates as a member of stall-triage/1: integers only; unknown rates and percentiles are
 * absent. */
#include <inttypes.h>
#include <stdio.h>

#include "classify/print/usage_print.h"
#include "classify/print/usage_text.h"
#include "classify/stats/hourly.h"

static const unsigned launch_percentiles[] = {500, 900, 950, 990};
enum { LAUNCH_PERCENTILES = sizeof launch_percentiles / sizeof *launch_percentiles };

static void usage_json_put_hourly(struct jsonw *w, uint64_t stalls, uint64_t stalled_ms,
                                  uint64_t foreground_ms) {
    if (foreground_ms) {
        jsonw_member_u64(w, "stalls_per_hour_ppm", hourly_ppm(stalls, foreground_ms));
        jsonw_member_u64(w, "stalled_ms_per_hour", hourly_ms(stalled_ms, foreground_ms));
    }
}

static void usage_json_put_launches(struct jsonw *w, const struct triage *t,
                                    const struct usage_sums *s) {
    uint64_t known = histogram_total(&s->launch_ms);
    jsonw_member_u64(w, "launches", s->launches);
    if (known == 0) {
        return;
    }
    jsonw_member_object(w, "launch_ms");
    jsonw_member_u64(w, "known", known);
    for (size_t p = 0; p < LAUNCH_PERCENTILES; p++) {
        struct usage_launch l = usage_launch_percentile(
            &s->launch_ms, s->launches, usage_launch_threshold(t), launch_percentiles[p]);
        char name[24];
        snprintf(name, sizeof name, "p%u%s", launch_percentiles[p] / 10, l.below ? "_below" : "");
        jsonw_member_u64(w, name, l.ms);
    }
    jsonw_end_object(w);
}

static void usage_json_put_row(struct jsonw *w, const struct triage *t, enum usage_facet f,
                               const struct usage_row *r) {
    jsonw_begin_object(w);
    jsonw_member_cstr(w, "value", r->text);
    jsonw_member_u64(w, "stalls", r->sums->stalls);
    jsonw_member_u64(w, "stalled_ms", r->sums->stalled_ms);
    jsonw_member_u64(w, "foreground_ms", r->foreground_ms);
    jsonw_member_u64(w, "sessions", r->sessions);
    usage_json_put_hourly(w, r->rated_stalls, r->rated_stalled_ms, r->rated_ms);
    if (f <= USAGE_DEVICE) {
        jsonw_member_u64(w, "low_rate_s", r->sums->low_rate_s);
        usage_json_put_launches(w, t, r->sums);
    }
    jsonw_end_object(w);
}

static bool usage_json_put_facets(struct jsonw *w, const struct triage *t,
                                  const struct triage_view *v) {
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        struct usage_rows rows;
        if (!(v->facets & 1u << f)) {
            continue;
        }
        if (!usage_rows_make(&rows, t, (enum usage_facet)f)) {
            return false;
        }
        jsonw_member_array(w, usage_facet_words[f]);
        for (size_t i = 0; i < rows.count; i++) {
            usage_json_put_row(w, t, (enum usage_facet)f, &rows.rows[i]);
        }
        jsonw_end_array(w);
        usage_rows_release(&rows);
    }
    return true;
}

static bool usage_json_put_users(struct jsonw *w, const struct triage *t) {
    struct user_rates r;
    if (!user_sample_rates(&t->usage.users, &r)) {
        return false;
    }
    if (r.users == 0 || usage_outside_of(t).many) {
        return true;
    }
    jsonw_member_object(w, "users");
    jsonw_member_u64(w, "users", r.users);
    jsonw_member_u64(w, "sampled", r.sampled);
    jsonw_member_u64(w, "never_stalled", r.never);
    jsonw_member_u64(w, "without_session", r.unwatched);
    for (size_t p = 0; p < USER_PERCENTILES; p++) {
        char name[32];
        snprintf(name, sizeof name, "p%u_ms_per_hour", user_percentiles[p] / 10);
        jsonw_member_u64(w, name, r.ms_per_hour[p]);
    }
    jsonw_end_object(w);
    return true;
}

static void put_watched(struct jsonw *w, const struct triage *t) {
    const struct usage_watch *watch = &t->usage.watch;
    int permille = usage_watched_permille(watch);
    jsonw_member_object(w, "watched");
    if (permille >= 0) {
        jsonw_member_u64(w, "permille", (uint64_t)permille);
    }
    jsonw_member_u64(w, "sessions", watch->sessions);
    jsonw_member_u64(w, "watched_ms", watch->watched_ms);
    jsonw_member_u64(w, "wall_ms", watch->wall_ms);
    jsonw_member_u64(w, "below_900_permille", watch->little);
    jsonw_member_u64(w, "unknown_sessions", watch->unknown_sessions);
    jsonw_member_u64(w, "unknown_foreground_ms", watch->unknown_ms);
    jsonw_member_u64(w, "refused_sessions", watch->refused_sessions);
    jsonw_end_object(w);
}

static void put_sent(struct jsonw *w, const struct app_usage *u) {
    jsonw_member_object(w, "sent");
    jsonw_member_u64(w, "dumps", u->dumps);
    jsonw_member_u64(w, "bytes", u->dump_bytes);
    jsonw_member_u64(w, "user_days", distinct_count(&u->user_days));
    jsonw_member_u64(w, "suppressed", u->suppressed);
    jsonw_member_u64(w, "over_quota", u->over_quota);
    jsonw_member_u64(w, "lost", u->lost);
    jsonw_member_u64(w, "told_stalls", u->told_stalls);
    jsonw_member_u64(w, "told_stalled_ms", u->told_ms);
    jsonw_end_object(w);
}

void usage_put_json(struct jsonw *w, const struct triage *t, const struct triage_view *v,
                    struct sink *out) {
    struct usage_exposure x = usage_exposure_of(t);
    struct usage_sums all = usage_total(&t->usage, USAGE_VERSION);
    struct usage_outside outside = usage_outside_of(t);
    if (!usage_is_known(t) && !v->facets) {
        return;
    }
    jsonw_member_object(w, "rates");
    jsonw_member_u64(w, "foreground_ms", x.foreground_ms);
    jsonw_member_u64(w, "sessions", all.sessions);
    all.launches = x.launches;
    bool ok = usage_all_launches(t, &all.launch_ms);
    usage_json_put_launches(w, t, &all);
    histogram_release(&all.launch_ms);
    usage_json_put_hourly(w, t->total.stalls - outside.all_stalls, t->total.ms - outside.all_ms,
                          outside.no_rate ? 0 : x.foreground_ms);
    if (outside.all_stalls) {
        jsonw_member_u64(w, "stalls_without_foreground", outside.all_stalls);
    }
    if (outside.days.days) {
        jsonw_member_u64(w, "days_without_foreground", outside.days.days);
    }
    jsonw_member_u64(w, "low_rate_s", all.low_rate_s);
    ok = usage_json_put_users(w, t) && ok;
    put_watched(w, t);
    put_sent(w, &t->usage);
    if (!ok || !usage_json_put_facets(w, t, v)) {
        err_nomem(&out->err);
    }
    jsonw_end_object(w);
}
