/* Prints rates by facet in tables that people read. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/escape.h"
#include "classify/print/usage_print.h"
#include "classify/print/usage_text.h"
#include "classify/stats/hourly.h"

static const char *const facet_titles[USAGE_FACETS] = {[USAGE_VERSION] = "version",
                                                       [USAGE_OS] = "system",
                                                       [USAGE_DEVICE] = "device",
                                                       [USAGE_CAUSE] = "cause",
                                                       [USAGE_KIND] = "kind of stall"};
static const char none[] = "\xe2\x80\x93"; /* an en dash: the value is unknown */

bool usage_is_known(const struct triage *t) {
    return t->exposure.cells.len > 0;
}

/* ---- columns ---- */

/* Writes the text of a row's column. */
typedef void column_text(const struct triage *t, const struct usage_row *r, char out[NUMBER_SIZE]);

static void put_share(const struct triage *t, const struct usage_row *r, char out[NUMBER_SIZE]) {
    text_share(r->sums->stalled_ms, t->total.ms, out);
}

static void put_stalls_hourly(const struct triage *t, const struct usage_row *r,
                              char out[NUMBER_SIZE]) {
    (void)t;
    memcpy(out, none, sizeof none);
    if (r->rated_ms) {
        text_rate(hourly_ppm(r->rated_stalls, r->rated_ms), out);
    }
}

static void put_time_hourly(const struct triage *t, const struct usage_row *r,
                            char out[NUMBER_SIZE]) {
    (void)t;
    memcpy(out, none, sizeof none);
    if (r->rated_ms) {
        text_ms(hourly_ms(r->rated_stalled_ms, r->rated_ms), out);
    }
}

static void put_stall_count(const struct triage *t, const struct usage_row *r,
                            char out[NUMBER_SIZE]) {
    (void)t;
    text_grouped(r->sums->stalls, out);
}

static void put_stalled(const struct triage *t, const struct usage_row *r, char out[NUMBER_SIZE]) {
    (void)t;
    text_ms(r->sums->stalled_ms, out);
}

static void put_hours(const struct triage *t, const struct usage_row *r, char out[NUMBER_SIZE]) {
    (void)t;
    memcpy(out, none, sizeof none);
    if (r->foreground_ms) {
        text_hours(r->foreground_ms, out);
    }
}

static void put_sessions(const struct triage *t, const struct usage_row *r, char out[NUMBER_SIZE]) {
    (void)t;
    memcpy(out, none, sizeof none);
    if (r->sessions) {
        text_grouped(r->sessions, out);
    }
}

static void put_launch(const struct triage *t, const struct usage_row *r, unsigned permille,
                       char out[NUMBER_SIZE]) {
    memcpy(out, none, sizeof none);
    if (r->sums->launches || histogram_total(&r->sums->launch_ms)) {
        text_launch(usage_launch_percentile(&r->sums->launch_ms, r->sums->launches,
                                            usage_launch_threshold(t), permille),
                    out);
    }
}

static void put_launch_p50(const struct triage *t, const struct usage_row *r,
                           char out[NUMBER_SIZE]) {
    put_launch(t, r, 500, out);
}

static void put_launch_p95(const struct triage *t, const struct usage_row *r,
                           char out[NUMBER_SIZE]) {
    put_launch(t, r, 950, out);
}

static void put_low_rates(const struct triage *t, const struct usage_row *r,
                          char out[NUMBER_SIZE]) {
    (void)t;
    memcpy(out, none, sizeof none);
    if (r->foreground_ms && r->sums->low_rate_s) {
        uint64_t s = r->sums->low_rate_s;
        text_ms(hourly_ms(s < UINT64_MAX / 1000 ? s * 1000 : UINT64_MAX, r->foreground_ms), out);
    }
}

static const struct column {
    const char *title;
    unsigned width; /* width in character cells, with the space before the column */
    unsigned from;  /* smallest width, in columns, of a table that shows this column */
    bool exposure;  /* shown only if exposure is known (usage_is_known) */
    bool own; /* shown only for facets that have their own exposure, which causes and kinds lack */
    bool launch; /* shown only if a launch of any version left a dump */
    column_text *text;
} columns[] = {
    {"share", 6, 0, .text = put_share},
    {"stalls/h", 10, 0, .exposure = true, .text = put_stalls_hourly},
    {"stalled/h", 10, 0, .exposure = true, .text = put_time_hourly},
    {"stalls", 9, 50, .text = put_stall_count},
    {"stalled", 9, 60, .text = put_stalled},
    {"hours", 9, 70, .exposure = true, .text = put_hours},
    {"sessions", 10, 80, .exposure = true, .text = put_sessions},
    {"low frames/h", 13, 100, .exposure = true, .own = true, .text = put_low_rates},
    {"launch p50", 11, 120, .own = true, .launch = true, .text = put_launch_p50},
    {"launch p95", 11, 120, .own = true, .launch = true, .text = put_launch_p95},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static bool any_launch(const struct triage *t) {
    const struct usage_values *of = &t->usage.by[USAGE_VERSION];
    size_t i = 0;
    while (i < of->values.len && of->values.data[i].sums.launch_ms.cells.len == 0) {
        i++;
    }
    return i < of->values.len;
}

static bool column_is_shown(const struct column *c, const struct triage *t, enum usage_facet f,
                            unsigned width) {
    return width >= c->from && (!c->exposure || usage_is_known(t)) &&
           (!c->own || f <= USAGE_DEVICE) && (!c->launch || any_launch(t));
}

/* ---- the table ---- */

static void table_put_right(struct sink *out, const char *text, unsigned width) {
    size_t columns_of = utf8_text_columns(text, strlen(text));
    sink_printf(out, "%*s%s", (int)(width > columns_of ? width - columns_of : 0), "", text);
}

static void table_put_value(struct sink *out, struct strbuf *b, const char *text) {
    strbuf_clear(b);
    text_add_clean(b, *text ? text : "not said");
    sink_printf(out, "  %s\n", strbuf_cstr(b));
}

static const char no_exposure[] =
    "no session record says how long the app was used: shares are known, rates are not";

static void table_put_facet(const struct triage *t, const struct triage_view *v, enum usage_facet f,
                            const struct usage_rows *rows, struct strbuf *b, struct sink *out) {
    size_t shown = v->top && v->top < rows->count ? v->top : rows->count;
    char text[NUMBER_SIZE];
    sink_char(out, '\n');
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        if (column_is_shown(&columns[c], t, f, v->width)) {
            table_put_right(out, columns[c].title, columns[c].width);
        }
    }
    sink_printf(out, "  %s\n", facet_titles[f]);
    for (size_t i = 0; i < shown; i++) {
        for (size_t c = 0; c < COLUMN_COUNT; c++) {
            if (column_is_shown(&columns[c], t, f, v->width)) {
                columns[c].text(t, &rows->rows[i], text);
                table_put_right(out, text, columns[c].width);
            }
        }
        table_put_value(out, b, rows->rows[i].text);
    }
    if (shown < rows->count) {
        sink_printf(out, "%s more, see --top\n", text_grouped(rows->count - shown, text));
    }
}

void usage_print_table(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct strbuf b = {0};
    bool ok = true;
    if (v->facets && !usage_is_known(t)) {
        sink_printf(out, "\n%s\n", no_exposure);
    }
    for (size_t f = 0; f < USAGE_FACETS && ok; f++) {
        struct usage_rows rows;
        if (!(v->facets & 1u << f)) {
            continue;
        }
        ok = usage_rows_make(&rows, t, (enum usage_facet)f);
        if (ok && rows.count) {
            table_put_facet(t, v, (enum usage_facet)f, &rows, &b, out);
        }
        usage_rows_release(&rows);
    }
    if (!ok || b.failed) {
        err_nomem(&out->err);
    }
    strbuf_release(&b);
}

/* ---- Markdown ---- */

static void markdown_put_facet(const struct triage *t, const struct triage_view *v,
                               enum usage_facet f, const struct usage_rows *rows,
                               struct sink *out) {
    enum { WIDE = 1000 };
    size_t shown = v->top && v->top < rows->count ? v->top : rows->count;
    char text[NUMBER_SIZE];
    sink_printf(out, "\n| %s |", facet_titles[f]);
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        if (column_is_shown(&columns[c], t, f, WIDE)) {
            sink_printf(out, " %s |", columns[c].title);
        }
    }
    sink_str(out, "\n|:--|");
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        sink_str(out, column_is_shown(&columns[c], t, f, WIDE) ? "--:|" : "");
    }
    for (size_t i = 0; i < shown; i++) {
        sink_str(out, "\n| ");
        markdown_put_text(out, *rows->rows[i].text ? rows->rows[i].text : "not said");
        sink_str(out, " |");
        for (size_t c = 0; c < COLUMN_COUNT; c++) {
            if (column_is_shown(&columns[c], t, f, WIDE)) {
                columns[c].text(t, &rows->rows[i], text);
                sink_printf(out, " %s |", text);
            }
        }
    }
    sink_char(out, '\n');
    if (shown < rows->count) {
        sink_printf(out, "\n%s more.\n", text_grouped(rows->count - shown, text));
    }
}

void usage_print_markdown(const struct triage *t, const struct triage_view *v, struct sink *out) {
    if (v->facets && !usage_is_known(t)) {
        sink_printf(out, "\n%s.\n", no_exposure);
    }
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        struct usage_rows rows;
        if (!(v->facets & 1u << f)) {
            continue;
        }
        if (!usage_rows_make(&rows, t, (enum usage_facet)f)) {
            err_nomem(&out->err);
            return;
        }
        if (rows.count) {
            markdown_put_facet(t, v, (enum usage_facet)f, &rows, out);
        }
        usage_rows_release(&rows);
    }
}
