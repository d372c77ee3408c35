/* Makes and prints tables of stalled time by the values of one property. */
#include "classify/print/value_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/jsonw.h"
#include "base/utf8.h"
#include "classify/print/text_table.h"
#include "classify/print/usage_print.h"
#include "classify/print/usage_text.h"
#include "classify/stats/hourly.h"
#include "classify/stats/triage_private.h"

enum { VALUE_COLUMNS_MAX = 40 };
static const char not_known[] = "\xe2\x80\x93"; /* an en dash */

/* ---- rows ---- */

static bool push_value_row(struct value_table *v, const char *text, struct value_row row) {
    row.text = arena_strdup(&v->texts, text, strlen(text));
    return row.text && VEC_PUSH(&v->rows, row);
}

bool value_table_of_facet(struct value_table *v, const struct triage *t, enum usage_facet f) {
    struct usage_rows rows;
    v->by = usage_facet_words[f];
    v->ascending = f == USAGE_VERSION || f == USAGE_OS;
    bool ok = usage_rows_make(&rows, t, f);
    for (size_t i = 0; ok && i < rows.count; i++) {
        const struct usage_row *r = &rows.rows[i];
        ok = push_value_row(v, r->text,
                            (struct value_row){.stalls = r->sums->stalls,
                                               .ms = r->sums->stalled_ms,
                                               .foreground_ms = r->foreground_ms,
                                               .rated_ms = r->rated_ms,
                                               .rated_stalls = r->rated_stalls});
    }
    usage_rows_release(&rows);
    return ok;
}

bool value_table_add(struct value_table *v, const char *text, const struct triage *t) {
    const uint64_t foreground_ms = usage_exposure_of(t).foreground_ms;
    const struct usage_outside outside = usage_outside_of(t);
    return push_value_row(v, text,
                          (struct value_row){.stalls = t->total.stalls,
                                             .ms = t->total.ms,
                                             .foreground_ms = foreground_ms,
                                             .rated_ms = outside.no_rate ? 0 : foreground_ms,
                                             .rated_stalls = t->total.stalls - outside.all_stalls,
                                             .alone = true,
                                             .dumps = t->total.dumps,
                                             .users = t->total_users,
                                             .p50 = tally_percentile(&t->total, 500),
                                             .p95 = tally_percentile(&t->total, 950)});
}

void value_table_release(struct value_table *v) {
    VEC_RELEASE(&v->rows);
    arena_release(&v->texts);
}

/* ---- texts of cells ---- */

/* The cells of a row, as people read them. */
struct value_cells {
    char stalled[NUMBER_SIZE], share[NUMBER_SIZE], stalls[NUMBER_SIZE], users[NUMBER_SIZE],
        p50[NUMBER_SIZE], p95[NUMBER_SIZE], hours[NUMBER_SIZE], rate[NUMBER_SIZE];
};

static void fill_cells(struct value_cells *c, const struct value_row *r, const struct triage *t) {
    char *const unknown[] = {c->users, c->p50, c->p95, c->hours, c->rate};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        memcpy(unknown[i], not_known, sizeof not_known);
    }
    text_ms(r->ms, c->stalled);
    text_share(r->ms, t->total.ms, c->share);
    text_grouped(r->stalls, c->stalls);
    if (r->alone) {
        text_users(r->users, 0, c->users);
        text_duration(r->p50, c->p50);
        text_duration(r->p95, c->p95);
    }
    if (r->foreground_ms) {
        text_hours(r->foreground_ms, c->hours);
    }
    if (r->rated_ms) {
        text_rate(hourly_ppm(r->rated_stalls, r->rated_ms), c->rate);
    }
}

/* Sets *from and *to to the range of the `top` rows (0 = all) that are printed: the last ones of an
 * ascending table, the first ones of any other. */
static void choose_rows(const struct value_table *v, size_t top, size_t *from, size_t *to) {
    size_t count = v->rows.len, shown = top && top < count ? top : count;
    *from = v->ascending ? count - shown : 0;
    *to = *from + shown;
}

/* ---- the table ---- */

static size_t widest_value(const struct value_table *v, size_t from, size_t to,
                           struct strbuf *text) {
    size_t most = strlen(v->by);
    for (size_t i = from; i < to; i++) {
        strbuf_clear(text);
        text_add_clean(text, v->rows.data[i].text);
        size_t columns = utf8_text_columns(strbuf_cstr(text), text->len);
        most = columns > most ? columns : most;
    }
    return most < VALUE_COLUMNS_MAX ? most : VALUE_COLUMNS_MAX;
}

static void put_value_line(struct text_table *tb, const char *value, size_t width,
                           const struct value_cells *c) {
    table_spaces(tb, 1);
    table_left(tb, value, width);
    table_right(tb, c->stalled, TABLE_STALLED_COLUMNS);
    table_right(tb, c->share, TABLE_SHARE_COLUMNS + 1);
    table_right(tb, c->stalls, TABLE_COUNT_COLUMNS);
    table_right(tb, c->users, TABLE_USERS_COLUMNS);
    table_right(tb, c->p50, TABLE_COUNT_COLUMNS);
    table_right(tb, c->p95, TABLE_COUNT_COLUMNS);
    table_right(tb, c->hours, TABLE_COUNT_COLUMNS);
    table_right(tb, c->rate, TABLE_COUNT_COLUMNS + 1);
    table_end_line(tb);
}

void values_print_table(const struct value_table *v, const struct triage *t,
                        const struct triage_view *view, struct sink *out) {
    static const struct value_cells names = {"stalled", "share", "stalls", "users",
                                             "p50",     "p95",   "hours",  "stalls/h"};
    struct text_table tb = {.t = t, .v = view, .out = out};
    size_t from, to;
    choose_rows(v, view->top, &from, &to);
    text_add_totals(&tb.text, t);
    table_style(&tb, TABLE_BOLD);
    table_wrap(&tb);
    table_style(&tb, TABLE_PLAIN);
    table_end_line(&tb);
    size_t width = widest_value(v, from, to, &tb.text);
    table_style(&tb, TABLE_DIM);
    put_value_line(&tb, v->by, width, &names);
    table_style(&tb, TABLE_PLAIN);
    for (size_t i = from; i < to; i++) {
        struct value_cells c;
        fill_cells(&c, &v->rows.data[i], t);
        strbuf_clear(&tb.text);
        text_add_clean(&tb.text, v->rows.data[i].text);
        put_value_line(&tb, tb.text.len ? strbuf_cstr(&tb.text) : "not known", width, &c);
    }
    if (to - from < v->rows.len) {
        char number[NUMBER_SIZE];
        sink_printf(out, " %s more, see --top\n", text_grouped(v->rows.len - (to - from), number));
    }
    if (tb.text.failed) {
        err_nomem(&out->err);
    }
    strbuf_release(&tb.text);
}

void values_print_markdown(const struct value_table *v, const struct triage *t,
                           const struct triage_view *view, struct sink *out) {
    size_t from, to;
    choose_rows(v, view->top, &from, &to);
    sink_printf(out,
                "| %s | stalled | share | stalls | users | p50 | p95 | hours | stalls/h |\n"
                "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
                v->by);
    for (size_t i = from; i < to; i++) {
        struct value_cells c;
        fill_cells(&c, &v->rows.data[i], t);
        sink_str(out, "| ");
        markdown_put_text(out, *v->rows.data[i].text ? v->rows.data[i].text : "not known");
        sink_printf(out, " | %s | %s | %s | %s | %s | %s | %s | %s |\n", c.stalled, c.share,
                    c.stalls, c.users, c.p50, c.p95, c.hours, c.rate);
    }
    if (to - from < v->rows.len) {
        sink_printf(out, "\n%zu more, see --top\n", v->rows.len - (to - from));
    }
}

/* ---- for programs ---- */

void values_print_json(const struct value_table *v, const struct triage *t,
                       const struct triage_view *view, struct sink *out) {
    struct jsonw w = jsonw_init(out);
    size_t from, to;
    choose_rows(v, view->top, &from, &to);
    jsonw_begin_object(&w);
    jsonw_member_cstr(&w, "format", "stall-values/1");
    jsonw_member_cstr(&w, "by", v->by);
    jsonw_member_u64(&w, "stalls", t->total.stalls);
    jsonw_member_u64(&w, "stalled_ms", t->total.ms);
    jsonw_member_array(&w, "values");
    for (size_t i = from; i < to; i++) {
        const struct value_row *r = &v->rows.data[i];
        jsonw_begin_object(&w);
        jsonw_member_cstr(&w, "value", r->text);
        jsonw_member_u64(&w, "stalls", r->stalls);
        jsonw_member_u64(&w, "stalled_ms", r->ms);
        if (r->foreground_ms) {
            jsonw_member_u64(&w, "foreground_ms", r->foreground_ms);
        }
        if (r->rated_ms) {
            jsonw_member_u64(&w, "stalls_per_hour_ppm", hourly_ppm(r->rated_stalls, r->rated_ms));
        }
        if (r->alone) {
            jsonw_member_u64(&w, "dumps", r->dumps);
            jsonw_member_u64(&w, "users", r->users);
            jsonw_member_u64(&w, "p50_ms", r->p50.ms);
            jsonw_member_u64(&w, "p95_ms", r->p95.ms);
        }
        jsonw_end_object(&w);
    }
    jsonw_end_array(&w);
    jsonw_end_object(&w);
    sink_char(out, '\n');
}

void values_print_csv(const struct value_table *v, const struct triage *t,
                      const struct triage_view *view, struct sink *out) {
    size_t from, to;
    (void)t;
    choose_rows(v, view->top, &from, &to);
    sink_printf(out,
                "%s,stalls,stalled_ms,foreground_ms,dumps,users,p50_ms,p95_ms,"
                "stalls_per_hour_ppm\r\n",
                v->by);
    for (size_t i = from; i < to; i++) {
        const struct value_row *r = &v->rows.data[i];
        csv_put_field(out, r->text, view->raw_csv);
        sink_printf(out, ",%" PRIu64 ",%" PRIu64 ",", r->stalls, r->ms);
        if (r->foreground_ms) {
            sink_printf(out, "%" PRIu64, r->foreground_ms);
        }
        if (r->alone) {
            sink_printf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, r->dumps, r->users,
                        r->p50.ms, r->p95.ms);
        } else {
            sink_str(out, ",,,,");
        }
        sink_str(out, ",");
        if (r->rated_ms) {
            sink_printf(out, "%" PRIu64, hourly_ppm(r->rated_stalls, r->rated_ms));
        }
        sink_str(out, "\r\n");
    }
}
