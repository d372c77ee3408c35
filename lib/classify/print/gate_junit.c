/* Writes the gate's report as JUnit's XML: a test case for the run, and one for each row of the
 * comparison. */
#include <string.h>

#include "classify/print/gate_text.h"
#include "classify/text/junit_xml.h"

static bool has_failed(const struct gate *g, const struct gate_row *row) {
    return row->verdict != GATE_INCONCLUSIVE && row->verdict != GATE_PLATFORM &&
           row->verdict != GATE_IGNORED && g->options.fail_on[row->verdict];
}

/* Appends the row's measures: "stalls 1.20 → 2.40 in 1,000 hours, × 2.00; time …; users …". */
static void add_measures(struct strbuf *b, const struct gate *g, const struct gate_row *row) {
    for (size_t m = 0; m < GATE_MEASURES; m++) {
        strbuf_addf(b, "%s%s ", m ? "; " : "", gate_measure_names[m]);
        gate_add_rate(b, g, row, RATES_BASE, m);
        strbuf_addstr(b, " → ");
        gate_add_rate(b, g, row, RATES_NOW, m);
        strbuf_addstr(b, gate_unit_text(g, m));
        if (gate_is_compared(&row->by[m])) {
            strbuf_addf(b, ", %s× ", gate_ratio_unit(g, m));
            gate_add_number(b, row->by[m].ratio);
        }
    }
}

static uint64_t ms_of(const struct gate *g, const struct gate_row *row) {
    double ms =
        row->bucket ? row->by[RATES_MS].events[RATES_NOW] : (double)g->run[RATES_NOW]->total.ms;
    return ms > 0 ? (uint64_t)ms : 0;
}

static void gate_junit_put_row(struct junit_xml *x, const struct gate *g,
                               const struct gate_row *row) {
    struct strbuf name = {0}, why = {0}, remark = {0};
    gate_add_title(&name, row);
    if (row->bucket) {
        strbuf_addf(&name, " [%s]", row->bucket->id);
    }
    add_measures(&why, g, row);
    char class[] = "stalls.gate.level1";
    if (row->bucket) {
        class[sizeof class - 2] = row->level;
    } else {
        /* The row of all stalls, and pools, have no level, so the last part of the name is cut
         * off. */
        class[strlen("stalls.gate")] = '\0';
    }
    gate_add_remark(&remark, g, row);
    const char *skipped = row->verdict == GATE_INCONCLUSIVE ? "not enough data" : NULL;
    bool excused = row->verdict == GATE_PLATFORM || row->verdict == GATE_IGNORED;
    skipped = excused ? strbuf_cstr(&remark) : skipped;
    junit_case(x, &(struct junit_case){.class = class,
                                       .name = strbuf_cstr(&name),
                                       .ms = ms_of(g, row),
                                       .type = gate_verdict_text(row->verdict),
                                       .failure = has_failed(g, row) ? strbuf_cstr(&why) : NULL,
                                       .skipped = skipped});
    (void)(strbuf_check(&name, &x->out->err) == ST_OK &&
           strbuf_check(&why, &x->out->err) == ST_OK &&
           strbuf_check(&remark, &x->out->err) == ST_OK);
    strbuf_release(&name);
    strbuf_release(&why);
    strbuf_release(&remark);
}

/* Writes the test case of the run as a whole, which fails or is skipped if there is too little
 * data for a verdict. */
static void put_run(struct junit_xml *x, const struct gate *g, const char *notes) {
    bool little = g->verdict == GATE_INCONCLUSIVE, fails = g->options.fail_on[GATE_INCONCLUSIVE];
    junit_case(x, &(struct junit_case){.class = "stalls.gate",
                                       .name = "there is enough data",
                                       .type = gate_verdict_text(GATE_INCONCLUSIVE),
                                       .failure = little && fails ? notes : NULL,
                                       .skipped = little && !fails ? notes : NULL});
}

static struct junit_suite gate_junit_count(const struct gate *g) {
    bool little = g->verdict == GATE_INCONCLUSIVE, fails = g->options.fail_on[GATE_INCONCLUSIVE];
    struct junit_suite s = {.name = "stallclassify",
                            .package = "stalls.gate",
                            .tests = g->rows.len + 1,
                            .failures = little && fails,
                            .skipped = g->count[GATE_INCONCLUSIVE] + g->count[GATE_PLATFORM] +
                                       g->count[GATE_IGNORED] + (little && !fails),
                            .time = g->run[RATES_NOW]->total.last_time,
                            .ms = g->run[RATES_NOW]->total.ms};
    for (size_t i = 0; i < g->rows.len; i++) {
        s.failures += has_failed(g, &g->rows.data[i]);
    }
    return s;
}

void gate_print_junit(const struct gate *g, struct sink *out) {
    struct junit_xml x = {.out = out};
    struct junit_suite suite = gate_junit_count(g);
    struct strbuf notes = {0}, text = {0};
    gate_add_notes(&notes, g);
    junit_begin(&x, &suite);
    junit_property(&x, "verdict", gate_verdict_text(g->verdict));
    junit_property(&x, "compared", g->rates ? "rates" : "shares");
    junit_begin_cases(&x);
    put_run(&x, g, strbuf_cstr(&notes));
    for (size_t i = 0; i < g->rows.len; i++) {
        gate_junit_put_row(&x, g, &g->rows.data[i]);
    }
    junit_begin_output(&x);
    gate_add_summary(&text, g);
    junit_text(&x, strbuf_cstr(&text));
    junit_end(&x);
    (void)(strbuf_check(&notes, &out->err) == ST_OK && strbuf_check(&text, &out->err) == ST_OK);
    strbuf_release(&notes);
    strbuf_release(&text);
}
