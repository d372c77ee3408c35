/* Prints the table that people read: buckets by stalled time, or by stalls if the triage ranks by
 * these, each with a bar, its cause, its key, its place, and what led to it.
 *
 *      share           stalled  stalls   users    p50    p95  cause    bucket
 *      41.9% ████████▌   36.1s       3      12  12.0s  30.0s  lock     1f3a52c09b7e
 *            cart_total ← on_cart
 *            main → mutex of 771 worker, which waits for files in sync
 *            at src/cart.c:95, from on_cart, in 5.3–5.10
 *            ├ 8c1be571f55e  60.1%  … ← on_tap
 *
 * A wide terminal shows more columns, and the key on the first line. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "classify/print/apart_text.h"
#include "classify/print/text_table.h"
#include "classify/print/triage_text.h"
#include "classify/print/usage_print.h"
#include "classify/print/usage_text.h"
#include "classify/stats/sum.h"

enum {
    CHILDREN_MAX = 5,
    CAUSE_COLUMNS = 9,
    DURATION_COLUMNS = 8,
    WIDTH_STALLS = 47, /* smallest width, in columns, of a table that shows stalls */
    WIDTH_P95 = 55,    /* smallest width, in columns, of a table that shows p95 */
    WIDTH_USERS = 63,  /* smallest width, in columns, of a table that shows users */
    /* Smallest width of a table that shows p50; a wide table shows p99 and max, too. */
    WIDTH_P50 = 71,
    /* Smallest width, in columns, of a table that shows the key on the first line. */
    WIDTH_SINGLE = 150
};

/* ---- head ---- */

/* Prints the rates, a line for each sentence; nothing if there is no exposure. */
static void put_usage(struct text_table *tb) {
    for (const struct usage_sentence *s = usage_sentences; s->title && usage_is_known(tb->t); s++) {
        strbuf_clear(&tb->text);
        if (!s->add(&tb->text, tb->t)) {
            err_nomem(&tb->out->err);
        }
        if (tb->text.len) {
            table_put(tb, s->title);
            table_put(tb, ": ");
            table_wrap(tb);
        }
    }
}

static void table_put_head(struct text_table *tb) {
    const struct triage *t = tb->t;
    struct strbuf *b = &tb->text;
    strbuf_clear(b);
    text_add_totals(b, t);
    table_style(tb, TABLE_BOLD);
    table_wrap(tb);
    table_style(tb, TABLE_PLAIN);
    strbuf_clear(b);
    text_add_causes(b, t);
    if (b->len) {
        table_wrap(tb);
    }
    strbuf_clear(b);
    text_add_values(b, t, &t->total, NULL);
    text_add_seen(b, &t->total);
    if (b->len) {
        table_wrap(tb);
    }
    strbuf_clear(b);
    text_add_threshold(b, t);
    if (b->len) {
        table_put(tb, "threshold: ");
        table_wrap(tb);
    }
    put_usage(tb);
    strbuf_clear(b);
    apart_text_add(b, t->apart);
    if (b->len) {
        table_put(tb, "set apart: ");
        table_wrap(tb);
    }
    strbuf_clear(b);
    text_add_idle(b, t);
    if (b->len) {
        table_put(tb, "idle in: ");
        table_wrap(tb);
    }
    if (t->unresolved) {
        strbuf_clear(b);
        text_add_counted(b, t->unresolved, "dump has", "dumps have");
        strbuf_addstr(b, " frames without names in the key: stallsym -d SYMBOLS first, ids change "
                         "with the names");
        table_wrap(tb);
    }
    strbuf_clear(b);
    strbuf_addf(b, "rules: %s, %012" PRIx64, t->options.rules, t->options.rules_hash >> 16);
    table_style(tb, TABLE_DIM);
    table_wrap(tb);
    table_style(tb, TABLE_PLAIN);
}

/* ---- numbers ---- */

static void put_column_names(struct text_table *tb) {
    table_style(tb, TABLE_DIM);
    table_right(tb, "share", TABLE_SHARE_COLUMNS);
    table_spaces(tb, table_bar_columns(tb) + 1);
    table_right(tb, "stalled", TABLE_STALLED_COLUMNS);
    if (tb->v->width >= WIDTH_STALLS) {
        table_right(tb, "stalls", TABLE_COUNT_COLUMNS);
    }
    if (tb->v->width >= WIDTH_USERS) {
        table_right(tb, "users", TABLE_USERS_COLUMNS);
    }
    if (tb->v->width >= WIDTH_P50) {
        table_right(tb, "p50", DURATION_COLUMNS);
    }
    if (tb->v->width >= WIDTH_P95) {
        table_right(tb, "p95", DURATION_COLUMNS);
    }
    if (tb->v->width >= TABLE_WIDE) {
        table_right(tb, "p99", DURATION_COLUMNS);
        table_right(tb, "max", DURATION_COLUMNS);
    }
    table_put(tb, "  ");
    table_left(tb, "cause", CAUSE_COLUMNS);
    table_put(tb, tb->v->width >= WIDTH_SINGLE ? "bucket        innermost frame first" : "bucket");
    table_end_line(tb);
    table_style(tb, TABLE_PLAIN);
}

static uint64_t longest_bar(const struct text_table *tb) {
    const struct bucket_set *set = &tb->t->level[0];
    return set->buckets.len ? triage_weight(tb->t, set->buckets.data[set->ranked[0]]->tally) : 0;
}

static void put_numbers(struct text_table *tb, const struct bucket *b) {
    const struct tally *t = b->tally;
    char number[NUMBER_SIZE];
    unsigned confidence;
    enum rule_cause cause = tally_cause(t, &confidence);
    table_right(tb, text_weight_share(tb->t, t, number), TABLE_SHARE_COLUMNS);
    table_put(tb, " ");
    table_style(tb, table_colour_of(cause));
    table_bar(tb, triage_weight(tb->t, t), longest_bar(tb));
    table_style(tb, TABLE_PLAIN);
    table_right(tb, text_stalled(t, number), TABLE_STALLED_COLUMNS);
    if (tb->v->width >= WIDTH_STALLS) {
        table_right(tb, text_count(t->stalls, TABLE_COUNT_COLUMNS - 1, number),
                    TABLE_COUNT_COLUMNS);
    }
    if (tb->v->width >= WIDTH_USERS) {
        table_right(tb, text_users(b->users, TABLE_USERS_COLUMNS - 1, number), TABLE_USERS_COLUMNS);
    }
    if (tb->v->width >= WIDTH_P50) {
        table_right(tb, text_duration(tally_percentile(t, 500), number), DURATION_COLUMNS);
    }
    if (tb->v->width >= WIDTH_P95) {
        table_right(tb, text_duration(tally_percentile(t, 950), number), DURATION_COLUMNS);
    }
    if (tb->v->width >= TABLE_WIDE) {
        table_right(tb, text_duration(tally_percentile(t, 990), number), DURATION_COLUMNS);
        table_right(tb, text_duration(tally_max(t), number), DURATION_COLUMNS);
    }
    table_put(tb, "  ");
    table_style(tb, table_colour_of(cause));
    table_left(tb, rule_cause_text(cause), CAUSE_COLUMNS);
    table_style(tb, TABLE_PLAIN);
    table_put(tb, b->id);
}

/* ---- details ---- */

static void add_part(struct strbuf *b, const char *before, const char *after_one) {
    strbuf_addstr(b, b->len ? after_one : "");
    strbuf_addstr(b, before);
}

static void table_put_key(struct text_table *tb, const struct bucket *b) {
    strbuf_clear(&tb->text);
    for (size_t i = 0; i < b->frame_count; i++) {
        strbuf_addstr(&tb->text, i ? " \xe2\x86\x90 " : "");
        text_add_frame(&tb->text, b->frames[i]);
    }
    table_style(tb, TABLE_BOLD);
    table_wrap(tb);
    table_style(tb, TABLE_PLAIN);
}

/* Prints the reason, and the share of the samples that contain the key if that is below 80 %. */
static void put_reason(struct text_table *tb, const struct bucket *b) {
    struct strbuf *text = &tb->text;
    int truth = tally_truth(b->tally);
    strbuf_clear(text);
    text_add_why(text, b);
    if (truth >= 0 && truth < 800) {
        add_part(text, "", "; ");
        strbuf_addf(text, "in %d%% of the samples", truth / 10);
    }
    if (text->len) {
        table_spaces(tb, TABLE_DETAIL_INDENT);
        table_wrap(tb);
    }
}

static void put_place(struct text_table *tb, const struct bucket *b) {
    struct strbuf *text = &tb->text;
    strbuf_clear(text);
    strbuf_addstr(text, "at ");
    if (!text_add_place(text, b)) {
        strbuf_clear(text);
    }
    if (b->actions.len) {
        const struct action_share *main = &b->actions.data[0];
        char share[NUMBER_SIZE];
        add_part(text, "from ", ", ");
        text_add_frame(text, tb->t->actions.buckets.data[main->action]->frames[0]);
        if (main->ms < b->tally->ms) {
            strbuf_addf(text, " (%s)", text_share(main->ms, b->tally->ms, share));
        }
    }
    text_add_values(text, tb->t, b->tally, &tb->t->total);
    if (b->evidence.id && *b->evidence.id) {
        add_part(text, "e.g. ", ", ");
        text_add_clean(text, b->evidence.id);
    }
    if (text->len) {
        table_style(tb, TABLE_DIM);
        table_spaces(tb, TABLE_DETAIL_INDENT);
        table_wrap(tb);
        table_style(tb, TABLE_PLAIN);
    }
}

/* Prints the history's notes about the bucket. */
static void put_note(struct text_table *tb, const struct bucket *b) {
    struct bucket_note note = {0};
    if (!tb->v->note || !tb->v->note(tb->v->note_ctx, b->id, &note)) {
        return;
    }
    strbuf_clear(&tb->text);
    bucket_note_add(&tb->text, &note);
    if (tb->text.len) {
        table_spaces(tb, TABLE_DETAIL_INDENT);
        table_wrap(tb);
    }
}

/* ---- level 2 ---- */

static bool has_frame(const struct bucket *b, const struct bucket_frame *f) {
    for (size_t i = 0; i < b->frame_count; i++) {
        /* Texts of frames are interned, so that equal texts have the same pointer. */
        if (b->frames[i]->function == f->function && b->frames[i]->image == f->image) {
            return true;
        }
    }
    return false;
}

/* Appends the frames that a level-2 bucket adds to its parent's key. False: there are none. */
static bool add_further_frames(struct strbuf *text, const struct bucket *child,
                               const struct bucket *parent) {
    bool any = false;
    for (size_t i = 0; i < child->frame_count; i++) {
        if (!has_frame(parent, child->frames[i])) {
            strbuf_addstr(text, any ? " \xe2\x86\x90 " : "\xe2\x80\xa6 \xe2\x86\x90 ");
            text_add_frame(text, child->frames[i]);
            any = true;
        }
    }
    return any;
}

static void put_child(struct text_table *tb, const struct bucket *parent,
                      const struct bucket *child, bool last) {
    char share[NUMBER_SIZE];
    table_spaces(tb, TABLE_DETAIL_INDENT);
    table_put(tb, last ? "\xe2\x94\x94 " : "\xe2\x94\x9c ");
    table_put(tb, child->id);
    if (parent->children.len > 1) {
        table_put(tb, "  ");
        table_right(tb, text_weight_share(tb->t, child->tally, share), TABLE_SHARE_COLUMNS);
    }
    if (tb->v->width < WIDTH_P95) { /* in a narrow table the frames go below the id */
        table_end_line(tb);
        table_spaces(tb, TABLE_DETAIL_INDENT);
    }
    table_put(tb, "  ");
    strbuf_clear(&tb->text);
    if (!add_further_frames(&tb->text, child, parent)) {
        strbuf_addstr(&tb->text, "no further frames");
    }
    table_wrap(tb);
}

/* Prints the line that adds up the level-2 buckets from `first` on. */
static void put_rest(struct text_table *tb, const struct bucket *b, size_t first) {
    uint64_t rest = 0;
    char share[NUMBER_SIZE];
    for (size_t i = first; i < b->children.len; i++) {
        sum_add(&rest,
                triage_weight(tb->t, tb->t->level[1].buckets.data[b->children.data[i]]->tally));
    }
    table_spaces(tb, TABLE_DETAIL_INDENT);
    strbuf_clear(&tb->text);
    strbuf_addstr(&tb->text, "\xe2\x94\x94 ");
    text_add_counted(&tb->text, b->children.len - first, "more", "more");
    strbuf_addf(&tb->text, ", %s, see -F json",
                text_share(rest, triage_weight(tb->t, &tb->t->total), share));
    table_wrap(tb);
}

static void put_children(struct text_table *tb, const struct bucket *b) {
    size_t count = b->children.len, shown = count <= CHILDREN_MAX + 1 ? count : CHILDREN_MAX;
    if (count == 1) {
        const struct bucket *only = tb->t->level[1].buckets.data[b->children.data[0]];
        strbuf_clear(&tb->text);
        if (!add_further_frames(&tb->text, only, b)) {
            return; /* the only level-2 bucket has no more frames than its parent */
        }
    }
    for (size_t i = 0; i < shown; i++) {
        put_child(tb, b, tb->t->level[1].buckets.data[b->children.data[i]], i + 1 == count);
    }
    if (shown < count) {
        put_rest(tb, b, shown);
    }
}

static void put_error(struct text_table *tb, const struct bucket *b) {
    strbuf_clear(&tb->text);
    text_add_error(&tb->text, tb->t, b);
    if (tb->text.len) {
        table_spaces(tb, TABLE_DETAIL_INDENT);
        table_wrap(tb);
    }
}

/* ---- buckets ---- */

static void table_put_bucket(struct text_table *tb, const struct bucket *b) {
    put_numbers(tb, b);
    if (tb->v->width >= WIDTH_SINGLE) {
        table_put(tb, "  ");
    } else {
        table_end_line(tb);
        table_spaces(tb, TABLE_DETAIL_INDENT);
    }
    table_put_key(tb, b);
    put_reason(tb, b);
    put_place(tb, b);
    put_note(tb, b);
    put_error(tb, b);
    put_children(tb, b);
}

void triage_print_table(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct text_table tb = {.t = t, .v = v, .out = out};
    const struct bucket_set *set = &t->level[0];
    size_t shown = v->top && v->top < set->buckets.len ? v->top : set->buckets.len;
    uint64_t rest = 0;
    table_put_head(&tb);
    usage_print_table(t, v, out);
    if (shown) {
        table_end_line(&tb);
        put_column_names(&tb);
    }
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        if (i < shown) {
            table_put_bucket(&tb, b);
        } else {
            sum_add(&rest, triage_weight(t, b->tally));
        }
    }
    if (shown < set->buckets.len) {
        char share[NUMBER_SIZE], number[NUMBER_SIZE];
        table_right(&tb, text_share(rest, triage_weight(t, &t->total), share), TABLE_SHARE_COLUMNS);
        sink_printf(out, " in %s more, see --top\n",
                    text_grouped(set->buckets.len - shown, number));
    }
    if (tb.text.failed) {
        err_nomem(&out->err);
    }
    strbuf_release(&tb.text);
}
