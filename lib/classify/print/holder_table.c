/* Prints the table of who holds the locks that stalls wait for, most time first, or most stalls if
 * the triage ranks by these:
 *
 *      share            waited   dumps   users threads     p95  holder
 *       6.6% ████████    5.7s       2       2       7    3.0s  3fa55e735e24
 *            db.flush (mutex)
 *            -[DB flush:] ← -[DB sync]
 *            main → mutex of 771 db.flush, which waits for files in fsync
 *            at Shop/DB.m:88, while -[Cart checkout], in 5.3–5.10, e.g. 45ca8069-…
 *
 * Waits with an unknown holder are a row, too. */
#include <inttypes.h>
#include <string.h>

#include "classify/print/apart_text.h"
#include "classify/print/holder_text.h"
#include "classify/print/text_table.h"
#include "classify/print/triage_text.h"
#include "classify/stats/sum.h"

/* Smallest widths, in columns, of a table that shows dumps, users, threads and p95. */
enum { FROM_DUMPS = 47, FROM_USERS = 55, FROM_THREADS = 63, FROM_P95 = 71 };

/* ---- head ---- */

static void head_line(struct text_table *tb, const char *title) {
    if (tb->text.len) {
        table_put(tb, title);
        table_wrap(tb);
    }
    strbuf_clear(&tb->text);
}

static void holders_put_head(struct text_table *tb) {
    const struct triage *t = tb->t;
    struct strbuf *b = &tb->text;
    strbuf_clear(b);
    holder_add_totals(b, t);
    table_style(tb, TABLE_BOLD);
    head_line(tb, "");
    table_style(tb, TABLE_PLAIN);
    holder_add_unknown(b, t);
    head_line(tb, "");
    text_add_values(b, t, &t->total, NULL);
    text_add_seen(b, &t->total);
    head_line(tb, "");
    apart_text_add(b, t->apart);
    head_line(tb, "set apart: ");
    strbuf_addf(b, "rules: %s, %012" PRIx64, t->options.rules, t->options.rules_hash >> 16);
    table_style(tb, TABLE_DIM);
    head_line(tb, "");
    table_style(tb, TABLE_PLAIN);
}

/* ---- rows ---- */

/* The texts of a row's columns: numbers, or the columns' names. */
struct holder_cells {
    const char *share, *waited, *dumps, *users, *threads, *p95, *id;
};

static void put_cells(struct text_table *tb, const struct holder_cells *c, uint64_t ms,
                      uint64_t longest) {
    table_right(tb, c->share, TABLE_SHARE_COLUMNS);
    table_spaces(tb, 1);
    table_bar(tb, ms, longest);
    table_right(tb, c->waited, TABLE_STALLED_COLUMNS);
    const struct {
        unsigned from;
        const char *text;
        size_t columns;
    } more[] = {{FROM_DUMPS, c->dumps, TABLE_COUNT_COLUMNS},
                {FROM_USERS, c->users, TABLE_USERS_COLUMNS},
                {FROM_THREADS, c->threads, TABLE_COUNT_COLUMNS},
                {FROM_P95, c->p95, TABLE_COUNT_COLUMNS}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        if (tb->v->width >= more[i].from) {
            table_right(tb, more[i].text, more[i].columns);
        }
    }
    table_put(tb, "  ");
    table_put(tb, c->id);
    table_end_line(tb);
}

static void put_detail(struct text_table *tb, const char *style) {
    if (tb->text.len) {
        table_style(tb, style);
        table_spaces(tb, TABLE_DETAIL_INDENT);
        table_wrap(tb);
        table_style(tb, TABLE_PLAIN);
    }
    strbuf_clear(&tb->text);
}

static void put_where(struct text_table *tb, const struct bucket *b) {
    struct strbuf *text = &tb->text;
    strbuf_addstr(text, "at ");
    if (!text_add_place(text, b)) {
        strbuf_clear(text);
    }
    strbuf_addstr(text, text->len && b->actions.len ? ", " : "");
    holder_add_action(text, tb->t, b);
    text_add_values(text, tb->t, b->tally, &tb->t->total);
    if (b->evidence.id && *b->evidence.id) {
        strbuf_addstr(text, text->len ? ", e.g. " : "e.g. ");
        text_add_clean(text, b->evidence.id);
    }
    put_detail(tb, TABLE_DIM);
}

static void holders_put_row(struct text_table *tb, const struct bucket *b, uint64_t longest) {
    const struct tally *t = b->tally;
    const struct holder_row row = holder_row_of(b);
    char share[NUMBER_SIZE], waited[NUMBER_SIZE], dumps[NUMBER_SIZE], users[NUMBER_SIZE],
        threads[NUMBER_SIZE], p95[NUMBER_SIZE];
    const struct holder_cells cells = {
        .share = text_weight_share(tb->t, t, share),
        .waited = text_stalled(t, waited),
        .dumps = text_count(t->dumps, TABLE_COUNT_COLUMNS - 1, dumps),
        .users = text_users(b->users, TABLE_USERS_COLUMNS - 1, users),
        .threads = text_users(b->waiters, TABLE_COUNT_COLUMNS - 1, threads),
        .p95 = text_duration(tally_percentile(t, 950), p95),
        .id = b->id};
    put_cells(tb, &cells, triage_weight(tb->t, t), longest);
    strbuf_clear(&tb->text);
    holder_add_who(&tb->text, &row);
    put_detail(tb, TABLE_BOLD);
    holder_add_stack(&tb->text, &row);
    put_detail(tb, TABLE_BOLD);
    text_add_why(&tb->text, b);
    put_detail(tb, "");
    put_where(tb, b);
}

void holders_print_table(const struct triage *t, const struct triage_view *v, struct sink *out) {
    static const struct holder_cells names = {"share",   "waited", "dumps", "users",
                                              "threads", "p95",    "holder"};
    struct text_table tb = {.t = t, .v = v, .out = out};
    const struct bucket_set *set = &t->holders;
    size_t count = set->buckets.len, shown = v->top && v->top < count ? v->top : count;
    uint64_t rest = 0;
    uint64_t longest = count ? triage_weight(t, set->buckets.data[set->ranked[0]]->tally) : 0;
    holders_put_head(&tb);
    if (shown) {
        table_end_line(&tb);
        table_style(&tb, TABLE_DIM);
        put_cells(&tb, &names, 0, 0);
        table_style(&tb, TABLE_PLAIN);
    }
    for (size_t i = 0; i < count; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        if (i < shown) {
            holders_put_row(&tb, b, longest);
        } else {
            sum_add(&rest, triage_weight(t, b->tally));
        }
    }
    if (shown < count) {
        char share[NUMBER_SIZE], number[NUMBER_SIZE];
        table_right(&tb, text_share(rest, triage_weight(t, &t->total), share), TABLE_SHARE_COLUMNS);
        sink_printf(out, " in %s more, see --top\n", text_grouped(count - shown, number));
    }
    if (tb.text.failed) {
        err_nomem(&out->err);
    }
    strbuf_release(&tb.text);
}
