/* Writes stall-gate/1 for programs: every row of the gate, with integers only. */
#include <math.h>

#include "base/jsonw.h"
#include "classify/print/gate_text.h"

enum { PPM = 1000000 };

/* Writes a member as a whole number of millionths, rounded. v must be at least 0; if it is not
 * finite, or 9e9 or more, nothing is written. */
static void put_ppm(struct jsonw *w, const char *key, double v) {
    if (isfinite(v) && v * PPM < 9e15) {
        jsonw_member_u64(w, key, (uint64_t)(v * PPM + 0.5));
    }
}

static const char *name_of_level(const struct gate_row *row, const char *level) {
    switch (row->level) {
    case '*':
        return "all";
    case 'c':
        return "cause";
    case 'f':
        return "framework";
    default:
        return level;
    }
}

static void gate_json_put_row(struct jsonw *w, const struct gate *g, const struct gate_row *row,
                              struct strbuf *title) {
    jsonw_begin_object(w);
    jsonw_member_cstr(w, "verdict", gate_verdict_text(row->verdict));
    const char level[] = {row->level, '\0'};
    jsonw_member_cstr(w, "level", name_of_level(row, level));
    if (row->bucket) {
        jsonw_member_cstr(w, "id", row->bucket->id);
    }
    if (row->bucket || row->pool) {
        strbuf_clear(title);
        gate_add_title(title, row);
        jsonw_member_cstr(w, "title", strbuf_cstr(title));
    }
    if (row->pool) {
        jsonw_member_array(w, "buckets");
        for (size_t i = 0; i < row->members.len; i++) {
            jsonw_cstr(w, row->members.data[i]->id);
        }
        jsonw_end_array(w);
    }
    strbuf_clear(title);
    gate_add_remark(title, g, row);
    if (title->len) {
        jsonw_member_cstr(w, "remark", strbuf_cstr(title));
    }
    put_ppm(w, "p_ppm", row->p);
    put_ppm(w, "seen_ppm", row->detectable);
    for (size_t m = 0; m < GATE_MEASURES; m++) {
        const struct rates_comparison *c = &row->by[m];
        jsonw_member_object(w, gate_measure_names[m]);
        put_ppm(w, "baseline_ppm", gate_rate(g, row, RATES_BASE, m));
        put_ppm(w, "now_ppm", gate_rate(g, row, RATES_NOW, m));
        if (gate_is_compared(c)) {
            put_ppm(w, "ratio_ppm", c->ratio);
            put_ppm(w, "low_ppm", c->low);
            put_ppm(w, "high_ppm", c->high);
        }
        put_ppm(w, "p_ppm", c->p);
        jsonw_end_object(w);
    }
    jsonw_end_object(w);
}

/* Tells whether stalls of versions or days without time in the foreground keep rates from being
 * compared. */
static void gate_json_put_outside(struct jsonw *w, const struct gate *g) {
    bool versions = false, days = false;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        const struct usage_outside o = usage_outside_of(g->run[run]);
        versions = versions || (o.many && o.stalls);
        days = days || (o.many && (o.days.stalls || o.days.undated_stalls));
    }
    if (versions) {
        jsonw_member_bool(w, "versions_without_foreground", true);
    }
    if (days) {
        jsonw_member_bool(w, "days_without_foreground", true);
    }
}

void gate_print_json(const struct gate *g, struct sink *out) {
    struct jsonw writer = jsonw_init(out), *w = &writer;
    struct strbuf title = {0}; /* scratch */
    jsonw_begin_object(w);
    jsonw_member_cstr(w, "format", "stall-gate/1");
    jsonw_member_cstr(w, "verdict", gate_verdict_text(g->verdict));
    jsonw_member_cstr(w, "compared", g->rates ? "rates" : "shares");
    jsonw_member_cstr(w, "stalls_unit", gate_unit_text(g, RATES_COUNT));
    jsonw_member_cstr(w, "time_unit", gate_unit_text(g, RATES_MS));
    jsonw_member_u64(w, "regressed_percent", g->options.regressed_percent);
    jsonw_member_u64(w, "min_users", g->options.min_users);
    jsonw_member_u64(w, "tests", g->tests);
    jsonw_member_u64(w, "decided_permille", g->decided_permille);
    jsonw_member_u64(w, "uncompared_permille", g->uncompared_permille);
    if (gate_set_apart(g->run[RATES_BASE]) || gate_set_apart(g->run[RATES_NOW])) {
        jsonw_member_u64(w, "baseline_apart", gate_set_apart(g->run[RATES_BASE]));
        jsonw_member_u64(w, "now_apart", gate_set_apart(g->run[RATES_NOW]));
        jsonw_member_bool(w, "apart_hides", g->apart_hides);
    }
    for (size_t run = 0; run < RATES_RUNS; run++) {
        uint64_t unknown = tally_length_unknown(&g->run[run]->total);
        if (unknown) {
            jsonw_member_u64(
                w, run == RATES_BASE ? "baseline_length_unknown" : "now_length_unknown", unknown);
        }
        if (g->watched_permille[run] >= 0) {
            jsonw_member_u64(
                w, run == RATES_BASE ? "baseline_watched_permille" : "now_watched_permille",
                (uint64_t)g->watched_permille[run]);
        }
    }
    if (g->unexposed[RATES_BASE] || g->unexposed[RATES_NOW]) {
        jsonw_member_u64(w, "baseline_unexposed", g->unexposed[RATES_BASE]);
        jsonw_member_u64(w, "now_unexposed", g->unexposed[RATES_NOW]);
        jsonw_member_bool(w, "compared_together", g->together);
    }
    gate_json_put_outside(w, g);
    if (g->seen_ratio > 0) {
        jsonw_member_u64(w, "seen_permille", g->seen_permille);
        put_ppm(w, "seen_ppm", g->seen_ratio);
    }
    jsonw_member_array(w, "rows");
    for (size_t i = 0; i < g->rows.len; i++) {
        gate_json_put_row(w, g, &g->rows.data[i], &title);
    }
    jsonw_end_array(w);
    jsonw_end_object(w);
    sink_char(out, '\n');
    (void)strbuf_check(&title, &out->err);
    strbuf_release(&title);
}
