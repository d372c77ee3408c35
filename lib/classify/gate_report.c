/* What the gate says: for people, and for programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "classify/gate.h"
#include "classify/triage_private.h"
#include "classify/triage_text.h"

enum { ROWS_MAX = 20, PPM = 1000000 };

static const char *const measure_names[GATE_MEASURES] = {"stalls", "time", "users"};

/* What the events of a measure are divided by, in the unit of the report. */
static double unit(const struct gate *g, size_t run, size_t m) {
    if (m == GATE_USERS) {
        return 1;
    }
    const struct tally *all = &g->run[run]->total;
    if (!g->rates) {
        return (double)(m == RATES_COUNT ? all->stalls : all->ms) / 100; /* percent */
    }
    double thousand_h = g->exposure[run] / 3.6e9, h_of_s = g->exposure[run] / 3600;
    double sessions = g->exposure[run] / 1000;
    return g->sessions        ? (m == RATES_COUNT ? sessions : sessions * 1000)
           : m == RATES_COUNT ? thousand_h
                              : h_of_s;
}

static double rate(const struct gate *g, const struct gate_row *row, size_t run, size_t m) {
    double of = unit(g, run, m);
    return of > 0 ? row->by[m].events[run] / of : 0;
}

static const char *unit_text(const struct gate *g, size_t m) {
    static const char *const texts[][GATE_MEASURES] = {
        {"% of the stalls", "% of the stalled time", ""},
        {" in 1,000 hours", " seconds in an hour", ""},
        {" in 1,000 sessions", " seconds in 1,000 sessions", ""}};
    return texts[!g->rates ? 0 : g->sessions ? 2 : 1][m];
}

/* ---- text ---- */

static void add_number(struct strbuf *b, double v) {
    if (!isfinite(v)) {
        strbuf_addstr(b, "∞");
    } else {
        strbuf_addf(b, v >= 100 ? "%.0f" : v >= 10 ? "%.1f" : "%.2f", v);
    }
}

static void add_title(struct strbuf *b, const struct gate_row *row) {
    if (!row->bucket) {
        strbuf_addstr(b, "all stalls");
        return;
    }
    strbuf_addf(b, "%s  ", row->bucket->id);
    for (size_t i = 0; i < row->bucket->frame_count; i++) {
        strbuf_addstr(b, i ? " < " : "");
        text_add_frame(b, &row->bucket->frames[i]);
    }
}

static void add_measure(struct strbuf *b, const struct gate *g, const struct gate_row *row,
                        size_t m) {
    const struct rates_comparison *c = &row->by[m];
    strbuf_addf(b, "            %-7s ", measure_names[m]);
    add_number(b, rate(g, row, RATES_BASE, m));
    strbuf_addstr(b, " → ");
    add_number(b, rate(g, row, RATES_NOW, m));
    strbuf_addf(b, "%s, × ", unit_text(g, m));
    add_number(b, c->ratio);
    strbuf_addstr(b, " (");
    add_number(b, c->low);
    strbuf_addstr(b, " to ");
    add_number(b, c->high);
    strbuf_addf(b, "), p %.2g\n", row->p[m]);
}

static void add_row(struct strbuf *b, const struct gate *g, const struct gate_row *row) {
    strbuf_addf(b, "%-10s  ", gate_verdict_text(row->verdict));
    add_title(b, row);
    strbuf_addc(b, '\n');
    for (size_t m = 0; m < GATE_MEASURES; m++) {
        add_measure(b, g, row, m);
    }
    if (row->verdict == GATE_NEW) {
        strbuf_addstr(b, "            as often, the baseline would have had ");
        add_number(b, gate_expected_users(row));
        strbuf_addstr(b, " users with it\n");
    }
    if (row->bucket && row->bucket->evidence.id && *row->bucket->evidence.id) {
        strbuf_addstr(b, "            look at ");
        text_add_clean(b, row->bucket->evidence.id);
        strbuf_addc(b, '\n');
    }
}

static void add_run(struct strbuf *b, const struct gate *g, size_t run, const char *name) {
    const struct triage *t = g->run[run];
    char stalls[NUMBER_SIZE], users[NUMBER_SIZE], exposure[NUMBER_SIZE];
    strbuf_addf(b, "%-10s  %s stalls, %s users", name, text_grouped(t->total.stalls, stalls),
                text_users(t->total_users, users));
    if (g->rates) {
        double amount = g->sessions ? g->exposure[run] : g->exposure[run] / 3.6e6;
        strbuf_addf(b, ", %s %s", text_grouped((uint64_t)amount, exposure),
                    g->sessions ? "sessions" : "hours in the foreground");
    }
    strbuf_addc(b, '\n');
}

static void add_head(struct strbuf *b, const struct gate *g) {
    strbuf_addf(b, "gate: %s: %zu regressed, %zu new, %zu of %zu without enough data\n",
                g->verdict == GATE_PASS           ? "passed"
                : g->verdict == GATE_INCONCLUSIVE ? "inconclusive"
                                                  : "failed",
                g->count[GATE_REGRESSED], g->count[GATE_NEW], g->count[GATE_INCONCLUSIVE],
                g->rows.len);
    add_run(b, g, RATES_BASE, "baseline");
    add_run(b, g, RATES_NOW, "now");
    if (!g->rates) {
        strbuf_addstr(b,
                      "Shares of all stalls are compared, as exposure is not known of both: that "
                      "all got worse alike cannot be seen.\n");
    }
    if (!g->run[RATES_BASE]->total_users || !g->run[RATES_NOW]->total_users) {
        strbuf_addstr(b, "Dumps name no users: stalls of one user count as independent.\n");
    }
    strbuf_addf(b, "Buckets with enough data to see a rise of %u %% have %u.%u %% of the stalls.\n",
                g->options.regressed_percent, (unsigned)(g->decided_permille / 10),
                (unsigned)(g->decided_permille % 10));
}

void gate_print_text(const struct gate *g, struct sink *out) {
    struct strbuf b = {0};
    size_t shown = 0, failed = g->count[GATE_NEW] + g->count[GATE_REGRESSED];
    add_head(&b, g);
    for (; shown < failed && shown < ROWS_MAX; shown++) {
        strbuf_addc(&b, '\n');
        add_row(&b, g, &g->rows.data[shown]);
    }
    if (shown < failed) {
        strbuf_addf(&b, "\nand %zu more\n", failed - shown);
    }
    if (b.failed) {
        (void)strbuf_check(&b, &out->err);
    } else {
        sink_write(out, strbuf_cstr(&b), b.len);
    }
    strbuf_release(&b);
}

/* ---- JSON ---- */

/* As a whole number of millionths; absent where it is infinite. */
static void put_ppm(struct jsonw *w, const char *key, double v) {
    if (isfinite(v) && v * PPM < 9e15) {
        jsonw_key(w, key);
        jsonw_u64(w, (uint64_t)(v * PPM + 0.5));
    }
}

static void put_u64(struct jsonw *w, const char *key, uint64_t v) {
    jsonw_key(w, key);
    jsonw_u64(w, v);
}

static void put_str(struct jsonw *w, const char *key, const char *text) {
    jsonw_key(w, key);
    jsonw_cstr(w, text);
}

static void put_row(struct jsonw *w, const struct gate *g, const struct gate_row *row) {
    jsonw_begin_object(w);
    put_str(w, "verdict", gate_verdict_text(row->verdict));
    put_str(w, "level", row->level == '*' ? "all" : row->level == '1' ? "1" : "2");
    if (row->bucket) {
        struct strbuf title = {0};
        put_str(w, "id", row->bucket->id);
        for (size_t i = 0; i < row->bucket->frame_count; i++) {
            strbuf_addstr(&title, i ? " < " : "");
            text_add_frame(&title, &row->bucket->frames[i]);
        }
        put_str(w, "title", strbuf_cstr(&title));
        strbuf_release(&title);
    }
    for (size_t m = 0; m < GATE_MEASURES; m++) {
        const struct rates_comparison *c = &row->by[m];
        jsonw_key(w, measure_names[m]);
        jsonw_begin_object(w);
        put_ppm(w, "baseline_ppm", rate(g, row, RATES_BASE, m));
        put_ppm(w, "now_ppm", rate(g, row, RATES_NOW, m));
        put_ppm(w, "ratio_ppm", c->ratio);
        put_ppm(w, "low_ppm", c->low);
        put_ppm(w, "high_ppm", c->high);
        put_ppm(w, "p_ppm", row->p[m]);
        jsonw_end_object(w);
    }
    jsonw_end_object(w);
}

void gate_print_json(const struct gate *g, struct sink *out) {
    struct jsonw writer = jsonw_init(out), *w = &writer;
    jsonw_begin_object(w);
    put_str(w, "format", "stall-gate/1");
    put_str(w, "verdict", gate_verdict_text(g->verdict));
    put_str(w, "compared", g->rates ? "rates" : "shares");
    put_str(w, "stalls_unit", unit_text(g, RATES_COUNT));
    put_str(w, "time_unit", unit_text(g, RATES_MS));
    put_u64(w, "regressed_percent", g->options.regressed_percent);
    put_u64(w, "min_users", g->options.min_users);
    put_u64(w, "tests", g->tests);
    put_u64(w, "decided_permille", g->decided_permille);
    jsonw_key(w, "rows");
    jsonw_begin_array(w);
    for (size_t i = 0; i < g->rows.len; i++) {
        put_row(w, g, &g->rows.data[i]);
    }
    jsonw_end_array(w);
    jsonw_end_object(w);
    sink_char(out, '\n');
}
