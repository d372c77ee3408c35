/* Writes the gate's report in Markdown, as GitHub and GitLab render it, for pull requests. */
#include "classify/print/gate_text.h"
#include "base/escape.h"

struct gate_page {
    const struct gate *g;
    struct sink *out;
    struct strbuf text; /* scratch */
};

/* Writes the scratch text to the sink, escaped for Markdown, and empties it. */
static void gate_markdown_put(struct gate_page *m) {
    markdown_put_text(m->out, strbuf_cstr(&m->text));
    strbuf_clear(&m->text);
}

static void put_runs(struct gate_page *m) {
    static const char *const names[RATES_RUNS] = {[RATES_BASE] = "baseline", [RATES_NOW] = "now"};
    for (size_t run = 0; run < RATES_RUNS; run++) {
        sink_printf(m->out, "%s%s: ", run ? "; " : "", names[run]);
        gate_add_run(&m->text, m->g, run);
        gate_markdown_put(m);
    }
    sink_str(m->out, ".\n");
}

/* Writes a cell of the table: "1.29 → 2.31, × 1.79", and the confidence interval in small
 * letters. */
static void put_measure(struct gate_page *m, const struct gate_row *row, size_t measure) {
    const struct rates_comparison *c = &row->by[measure];
    struct strbuf *b = &m->text;
    gate_add_rate(b, m->g, row, RATES_BASE, measure);
    strbuf_addstr(b, " → ");
    gate_add_rate(b, m->g, row, RATES_NOW, measure);
    if (gate_is_compared(c)) {
        strbuf_addstr(b, ", × ");
        gate_add_number(b, c->ratio);
        gate_markdown_put(m);
        sink_str(m->out, "<br><sub>");
        gate_add_number(b, c->low);
        strbuf_addstr(b, " to ");
        gate_add_number(b, c->high);
        gate_markdown_put(m);
        sink_str(m->out, "</sub>");
    }
    gate_markdown_put(m);
    sink_str(m->out, " | ");
}

static void gate_markdown_put_bucket(struct gate_page *m, const struct bucket *b) {
    for (size_t i = 0; i < b->frame_count; i++) {
        sink_str(m->out, i ? " \xe2\x86\x90 " : "");
        text_add_frame(&m->text, b->frames[i]);
        markdown_put_code(m->out, strbuf_cstr(&m->text));
        strbuf_clear(&m->text);
    }
    sink_printf(m->out, "<br><sub>%s", b->id);
    if (b->evidence.id && *b->evidence.id) {
        strbuf_addstr(&m->text, ", look at ");
        text_add_clean(&m->text, b->evidence.id);
        gate_markdown_put(m);
    }
    sink_str(m->out, "</sub>");
}

static void gate_markdown_put_row(struct gate_page *m, const struct gate_row *row) {
    sink_printf(m->out, "| **%s** | ", gate_verdict_text(row->verdict));
    for (size_t measure = 0; measure < GATE_MEASURES; measure++) {
        put_measure(m, row, measure);
    }
    if (row->bucket) {
        gate_markdown_put_bucket(m, row->bucket);
    } else {
        gate_add_title(&m->text, row);
        gate_markdown_put(m);
    }
    sink_printf(m->out, "<br><sub>p %.2g", row->p);
    gate_add_remark(&m->text, m->g, row);
    if (m->text.len) {
        sink_str(m->out, "; ");
        gate_markdown_put(m);
    }
    sink_str(m->out, "</sub>");
    sink_str(m->out, " |\n");
}

/* Writes the table of the first rows. Units are named only in its head. */
static void put_table(struct gate_page *m, size_t rows) {
    sink_str(m->out, "\n| | stalls");
    strbuf_addstr(&m->text, gate_unit_text(m->g, RATES_COUNT));
    gate_markdown_put(m);
    sink_str(m->out, " | ");
    strbuf_addstr(&m->text, gate_unit_text(m->g, RATES_MS) + 1);
    gate_markdown_put(m);
    sink_str(m->out, " | users | innermost frame first |\n|:--|--:|--:|--:|:--|\n");
    for (size_t i = 0; i < rows; i++) {
        gate_markdown_put_row(m, &m->g->rows.data[i]);
    }
}

void gate_print_markdown(const struct gate *g, struct sink *out) {
    struct gate_page m = {.g = g, .out = out};
    size_t told = gate_told_rows(g), shown = told < GATE_ROWS_MAX ? told : GATE_ROWS_MAX;
    sink_printf(out, "**The gate %s%s**: ", g->verdict == GATE_INCONCLUSIVE ? "is " : "",
                gate_outcome(g));
    gate_add_counts(&m.text, g);
    gate_markdown_put(&m);
    sink_str(out, ".\n");
    put_runs(&m);
    if (shown) {
        put_table(&m, shown);
    }
    if (shown < told) {
        sink_printf(out, "\nand %zu more\n", told - shown);
    }
    gate_add_notes(&m.text, g);
    sink_str(out, "\n<sub>");
    strbuf_truncate(&m.text, m.text.len ? m.text.len - 1 : 0); /* drops the last line feed */
    for (size_t i = 0; i < m.text.len; i++) {
        m.text.data[i] = m.text.data[i] == '\n' ? ' ' : m.text.data[i];
    }
    gate_markdown_put(&m);
    sink_str(out, "</sub>\n");
    (void)strbuf_check(&m.text, &out->err);
    strbuf_release(&m.text);
}
