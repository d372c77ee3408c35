/* Prints rates by facet as comma-separated values (RFC 4180). */
#include <inttypes.h>

#include "base/escape.h"
#include "classify/print/usage_print.h"
#include "classify/print/usage_text.h"
#include "classify/stats/hourly.h"

static void usage_csv_put_number(struct sink *out, bool known, uint64_t v) {
    if (known) {
        sink_printf(out, ",%" PRIu64, v);
    } else {
        sink_char(out, ',');
    }
}

static void usage_csv_put_row(struct sink *out, const struct triage *t, const char *facet,
                              const struct usage_row *r, bool own, bool plain) {
    const struct usage_sums *s = r->sums;
    uint64_t known = histogram_total(&s->launch_ms);
    sink_printf(out, "%s,", facet);
    csv_put_field(out, r->text, plain);
    usage_csv_put_number(out, true, s->stalls);
    usage_csv_put_number(out, true, s->stalled_ms);
    usage_csv_put_number(out, r->foreground_ms > 0, r->foreground_ms);
    usage_csv_put_number(out, r->sessions > 0, r->sessions);
    usage_csv_put_number(out, r->rated_ms > 0,
                         r->rated_ms ? hourly_ppm(r->rated_stalls, r->rated_ms) : 0);
    usage_csv_put_number(out, r->rated_ms > 0,
                         r->rated_ms ? hourly_ms(r->rated_stalled_ms, r->rated_ms) : 0);
    usage_csv_put_number(out, own, s->low_rate_s);
    usage_csv_put_number(out, own, s->launches);
    usage_csv_put_number(out, own, known);
    for (unsigned permille = 500; permille <= 950; permille += 450) {
        struct usage_launch l = usage_launch_percentile(&s->launch_ms, s->launches,
                                                        usage_launch_threshold(t), permille);
        usage_csv_put_number(out, own && known && !l.below, l.ms);
    }
    sink_str(out, "\r\n");
}

void usage_print_csv(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct usage_sums all = usage_total(&t->usage, USAGE_VERSION);
    struct usage_exposure x = usage_exposure_of(t);
    const struct usage_outside outside = usage_outside_of(t);
    const struct usage_row total = {.text = "",
                                    .sums = &all,
                                    .foreground_ms = x.foreground_ms,
                                    .sessions = all.sessions,
                                    .rated_ms = outside.no_rate ? 0 : x.foreground_ms,
                                    .rated_stalls = all.stalls - outside.all_stalls,
                                    .rated_stalled_ms = all.stalled_ms - outside.all_ms};
    all.launches = x.launches;
    if (!usage_all_launches(t, &all.launch_ms)) {
        err_nomem(&out->err);
        histogram_release(&all.launch_ms);
        return;
    }
    sink_str(out, "facet,value,stalls,stalled_ms,foreground_ms,sessions,stalls_per_hour_ppm,"
                  "stalled_ms_per_hour,low_rate_s,launches,launches_known,launch_p50_ms,"
                  "launch_p95_ms\r\n");
    usage_csv_put_row(out, t, "all", &total, true, v->raw_csv);
    histogram_release(&all.launch_ms);
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        struct usage_rows rows;
        if (!(v->facets & 1u << f)) {
            continue;
        }
        if (!usage_rows_make(&rows, t, (enum usage_facet)f)) {
            err_nomem(&out->err);
            return;
        }
        for (size_t i = 0; i < rows.count; i++) {
            usage_csv_put_row(out, t, usage_facet_words[f], &rows.rows[i], f <= USAGE_DEVICE,
                              v->raw_csv);
        }
        usage_rows_release(&rows);
    }
}
