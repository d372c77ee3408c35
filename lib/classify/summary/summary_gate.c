/* Adds the comparison with a baseline to a summary. */
#include <string.h>

#include "classify/print/gate_text.h"
#include "classify/summary/summary_private.h"

static void keep_measure(struct summary_maker *m, const struct gate *g, const struct gate_row *row,
                         size_t measure) {
    const struct rates_comparison *c = &row->by[measure];
    strbuf_addf(&m->text, "%s ", gate_measure_names[measure]);
    gate_add_rate(&m->text, g, row, RATES_BASE, measure);
    strbuf_addstr(&m->text, " \xe2\x86\x92 ");
    gate_add_rate(&m->text, g, row, RATES_NOW, measure);
    strbuf_addstr(&m->text, gate_unit_text(g, measure));
    if (gate_is_compared(c)) {
        strbuf_addstr(&m->text, ", \xc3\x97 ");
        gate_add_number(&m->text, c->ratio);
        strbuf_addstr(&m->text, " (");
        gate_add_number(&m->text, c->low);
        strbuf_addstr(&m->text, " to ");
        gate_add_number(&m->text, c->high);
        strbuf_addc(&m->text, ')');
    }
}

static void fill_change(struct summary_maker *m, const struct gate *g, const struct gate_row *row,
                        struct summary_change *out) {
    const struct rates_comparison *time = &row->by[RATES_MS];
    out->verdict = gate_verdict_text(row->verdict);
    for (size_t i = 0; i < GATE_MEASURES; i++) {
        keep_measure(m, g, row, i);
        out->measures[i] = summary_keep(m);
    }
    gate_add_remark(&m->text, g, row);
    out->remark = summary_keep(m);
    out->ratio = gate_is_compared(time) ? time->ratio : 0;
}

/* Returns the marks of a bucket: it is better if the whole confidence interval of the ratio of
 * stalls or of time is below 1, and neither interval is above 1. */
static unsigned marks_of(const struct gate_row *row) {
    const struct rates_comparison *count = &row->by[RATES_COUNT], *time = &row->by[RATES_MS];
    if (row->verdict == GATE_NEW || row->verdict == GATE_PLATFORM) {
        return SUMMARY_NEW;
    }
    if (row->verdict == GATE_REGRESSED) {
        return SUMMARY_WORSE;
    }
    bool compared = gate_is_compared(count) && gate_is_compared(time);
    bool better =
        compared && (count->high < 1 || time->high < 1) && count->low < 1 && time->low < 1;
    return better ? SUMMARY_BETTER : 0;
}

static void add_gone(struct summary_maker *m, const struct gate *g, const struct gate_row *row) {
    struct summary_bucket gone = {.id = row->bucket->id};
    gate_add_title(&m->text, row);
    gone.title = summary_keep(m);
    gone.cause = gone.place = gone.why = "";
    fill_change(m, g, row, &gone.change);
    gone.marks = marks_of(row);
    m->failed = !VEC_PUSH(&m->s->gone, gone) || m->failed;
}

static void add_lines(struct summary_maker *m, const char *title) {
    struct summary_sentence s = {title, summary_keep(m)};
    m->failed = !VEC_PUSH(&m->s->gate, s) || m->failed;
}

void summary_add_gate(struct summary_maker *m, const struct gate *g) {
    struct map places = {0};
    for (size_t i = 0; i < m->s->buckets.len && !m->failed; i++) {
        const char *id = m->s->buckets.data[i].id;
        m->failed = !map_put(&places, id, strlen(id), i, NULL);
    }
    for (size_t i = 0; i < g->rows.len && !m->failed; i++) {
        const struct gate_row *row = &g->rows.data[i];
        if (row->level != '1') {
            continue;
        }
        const struct map_entry *at = map_get(&places, row->bucket->id, strlen(row->bucket->id));
        if (at) {
            struct summary_bucket *b = &m->s->buckets.data[at->value];
            fill_change(m, g, row, &b->change);
            b->marks = marks_of(row);
        } else {
            add_gone(m, g, row);
        }
    }
    map_release(&places);
    strbuf_addf(&m->text, "%s: ", gate_outcome(g));
    gate_add_counts(&m->text, g);
    m->s->verdict = summary_keep(m);
    gate_add_run(&m->text, g, RATES_BASE);
    add_lines(m, "baseline");
    gate_add_run(&m->text, g, RATES_NOW);
    add_lines(m, "now");
    gate_add_notes(&m->text, g);
    add_lines(m, "limits");
}
