/* Adds the comparison with a baseline to a summary. */
#include <string.h>

#include "classify/print/gate_text.h"
#include "classify/summary/summary_private.h"

static void fill_change(struct summary_maker *m, const struct gate *g, const struct gate_row *row,
                        struct summary_change *out) {
    const struct rates_comparison *time = &row->by[RATES_MS];
    out->verdict = gate_verdict_text(row->verdict);
    for (size_t i = 0; i < GATE_MEASURES; i++) {
        strbuf_addf(&m->text, "%s ", gate_measure_names[i]);
        gate_add_measure(&m->text, g, row, i);
        out->measures[i] = summary_keep(m);
    }
    gate_add_remark(&m->text, g, row);
    out->remark = summary_keep(m);
    out->ratio = gate_is_compared(time) ? time->ratio : 0;
}

/* Returns the marks of a bucket. The bucket is better if stalls and time could both be compared,
 * the confidence interval of the ratio of one of them lies wholly below 1, and neither interval
 * lies wholly above 1. */
static unsigned marks_of(const struct gate_row *row) {
    const struct rates_comparison *count = &row->by[RATES_COUNT], *time = &row->by[RATES_MS];
    if (row->verdict == GATE_IGNORED) {
        return SUMMARY_IGNORED | (row->stalls[RATES_BASE] ? SUMMARY_WORSE : SUMMARY_NEW);
    }
    if (row->verdict == GATE_NEW || row->verdict == GATE_PLATFORM) {
        return SUMMARY_NEW;
    }
    if (row->verdict == GATE_REGRESSED) {
        return SUMMARY_WORSE;
    }
    if (row->suspect) {
        return SUMMARY_SUSPECT;
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
    struct summary_sentence s = {title, summary_keep(m), false};
    m->failed = !VEC_PUSH(&m->s->gate, s) || m->failed;
}

/* Returns the rank of a row's bucket of level 1 in the later run; SIZE_MAX: it has none. */
static size_t told_rank(const struct gate *g, const struct gate_row *row,
                        const struct map *places) {
    const struct bucket *b = row->bucket;
    if (b && row->level == '2') {
        b = g->run[RATES_NOW]->level[0].buckets.data[b->parent];
    }
    const struct map_entry *at = b ? map_get(places, b->id, strlen(b->id)) : NULL;
    return at ? at->value : SIZE_MAX;
}

/* Adds the gate's marks of a level-2 bucket to the level-1 bucket that contains it: new and worse
 * as such inside, unless the level-1 bucket has the mark itself. */
static void mark_inside(struct summary_bucket *b, unsigned marks) {
    if (marks & SUMMARY_NEW && !(b->marks & SUMMARY_NEW)) {
        b->marks |= SUMMARY_NEW_INSIDE;
    }
    if (marks & SUMMARY_WORSE && !(b->marks & SUMMARY_WORSE)) {
        b->marks |= SUMMARY_WORSE_INSIDE;
    }
    b->marks |= marks & SUMMARY_IGNORED;
}

/* Adds the rows that decide the verdict or of which the report warns, which come first in the gate;
 * past SUMMARY_TOLD_MOST they are only counted. Rows of level 2 also mark their level-1 buckets. */
static void add_told(struct summary_maker *m, const struct gate *g, const struct map *places) {
    size_t told = gate_told_rows(g);
    for (size_t i = 0; i < told && i < g->rows.len && !m->failed; i++) {
        const struct gate_row *row = &g->rows.data[i];
        struct summary_told t = {.rank = told_rank(g, row, places),
                                 .id = row->bucket ? row->bucket->id : NULL,
                                 .inside = row->level == '2',
                                 .marks = marks_of(row)};
        if (t.inside && t.rank < m->s->buckets.len) {
            mark_inside(&m->s->buckets.data[t.rank], t.marks);
        }
        if (m->s->told.len >= SUMMARY_TOLD_MOST) {
            m->s->told_more++;
            continue;
        }
        gate_add_title(&m->text, row);
        t.title = summary_keep(m);
        gate_add_remark(&m->text, g, row);
        t.remark = summary_keep(m);
        m->failed = !VEC_PUSH(&m->s->told, t) || m->failed;
    }
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
    add_told(m, g, &places);
    map_release(&places);
    m->s->outcome = gate_outcome(g);
    gate_add_counts(&m->text, g);
    m->s->counts = summary_keep(m);
    gate_add_run(&m->text, g, RATES_BASE);
    add_lines(m, "baseline");
    gate_add_run(&m->text, g, RATES_NOW);
    add_lines(m, "now");
    gate_add_notes(&m->text, g);
    add_lines(m, "limits");
}
