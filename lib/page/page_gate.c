/* Writes the gate: the verdict, the buckets that it counts, and the buckets that got better. */
#include <string.h>

#include "page/page_private.h"

/* ---- the verdict ---- */

/* Returns the number of buckets that fail the run because they came back. */
static size_t page_count_back(const struct page_writer *p) {
    size_t count = 0;
    for (size_t i = 0; p->o->fails_back && i < p->s->buckets.len; i++) {
        count += p->o->fails_back(p->o->note_ctx, p->s->buckets.data[i].id);
    }
    return count;
}

/* Writes a bucket's title, as a link to it if the table has it. */
static void put_bucket_link(struct page_writer *p, size_t rank, const char *title) {
    bool links = rank < p->rows;
    if (links) {
        strbuf_addf(&p->text, "<a href=\"#%s\">", p->s->buckets.data[rank].id);
    }
    page_markup(p, "<bdi>");
    page_put(p, title);
    page_markup(p, links ? "</bdi></a>" : "</bdi>");
}

static void put_told(struct page_writer *p, const struct summary_told *t) {
    const struct summary_bucket *b =
        t->rank < p->s->buckets.len ? &p->s->buckets.data[t->rank] : NULL;
    page_markup(p, "<li>");
    page_put_marks(p, t->marks, NULL);
    put_bucket_link(p, t->rank, t->title);
    if (t->id) {
        strbuf_addf(&p->text, " <code>%s</code>", t->id);
    }
    if (t->inside && b) {
        strbuf_addf(&p->text, ", inside <code>%s</code>, number ", b->id);
        page_put_number(p, t->rank + 1);
        page_markup(p, " of the table");
    }
    if (*t->remark) {
        page_markup(p, ": ");
        page_put(p, t->remark);
    }
    page_markup(p, "\n");
}

static void put_back(struct page_writer *p) {
    for (size_t i = 0, shown = 0; p->o->fails_back && i < p->s->buckets.len; i++) {
        const struct summary_bucket *b = &p->s->buckets.data[i];
        if (p->o->fails_back(p->o->note_ctx, b->id) && shown++ < SUMMARY_TOLD_MOST) {
            page_markup(p, "<li>");
            page_put_marks(p, SUMMARY_BACK, p->states[i].in);
            put_bucket_link(p, i, b->title);
            strbuf_addf(&p->text, " <code>%s</code>\n", b->id);
        }
    }
}

static void put_list(struct page_writer *p, size_t back) {
    size_t more = back > SUMMARY_TOLD_MOST ? back - SUMMARY_TOLD_MOST : 0;
    if (p->s->told.len + back == 0) {
        return;
    }
    page_markup(p, "<ul class=told>\n");
    for (size_t i = 0; i < p->s->told.len; i++) {
        put_told(p, &p->s->told.data[i]);
    }
    put_back(p);
    if (p->s->told_more + more) {
        page_markup(p, "<li>and ");
        page_put_number(p, p->s->told_more + more);
        page_markup(p, " more\n");
    }
    page_markup(p, "</ul>");
}

void page_put_gate(struct page_writer *p) {
    size_t back = page_count_back(p);
    const char *outcome = p->s->outcome;
    if (p->o->fails_back && (back || !outcome)) {
        outcome = back ? "failed" : "passed";
    }
    if (!outcome) {
        return;
    }
    strbuf_addf(&p->text, "<section class=\"gate %s\" aria-label=gate><h2>Gate: %s: ", outcome,
                outcome);
    page_put(p, p->s->counts ? p->s->counts : "");
    if (p->o->fails_back) {
        page_markup(p, p->s->counts ? ", " : "");
        page_put_number(p, back);
        page_markup(p, " back again");
    }
    page_markup(p, "</h2>");
    put_list(p, back);
    page_put_sentences(p, p->s->gate.data, p->s->gate.len);
    page_markup(p, "</section>\n");
}

/* ---- buckets that got better ---- */

static bool page_is_better(const struct page_writer *p, const struct summary_bucket *b) {
    return b->change.verdict && (page_marks_of(p, b) & SUMMARY_BETTER);
}

static void put_better_row(struct page_writer *p, const struct summary_bucket *b,
                           const char *what) {
    page_markup(p, "<tr><td>");
    page_put(p, b->title);
    strbuf_addf(&p->text, " <code>%s</code><td>%s<td>", b->id, what);
    page_put(p, b->change.measures[RATES_MS]);
    page_markup(p, "\n");
}

/* Writes a table of the buckets that got better, with those that only the baseline has and that are
 * marked better, and below it the number of the others that only the baseline has. Writes nothing
 * if the table has no rows. */
void page_put_better(struct page_writer *p) {
    size_t count = 0;
    for (size_t i = 0; i < p->s->buckets.len; i++) {
        count += page_is_better(p, &p->s->buckets.data[i]);
    }
    size_t better = count;
    for (size_t i = 0; i < p->s->gone.len; i++) {
        count += (p->s->gone.data[i].marks & SUMMARY_BETTER) != 0;
    }
    if (count == 0) {
        return;
    }
    page_markup(p, "<section><h2>Better than the baseline, or gone</h2><table class=plain><thead>"
                   "<tr><th scope=col>bucket<th scope=col>now<th scope=col>stalled time</thead>"
                   "<tbody>\n");
    for (size_t i = 0; i < p->s->buckets.len; i++) {
        if (page_is_better(p, &p->s->buckets.data[i])) {
            put_better_row(p, &p->s->buckets.data[i], "better");
        }
    }
    for (size_t i = 0; i < p->s->gone.len; i++) {
        const struct summary_bucket *b = &p->s->gone.data[i];
        if (b->marks & SUMMARY_BETTER) {
            put_better_row(p, b, "none seen: gone");
        }
    }
    page_markup(p, "</tbody></table>");
    if (count < better + p->s->gone.len) {
        page_markup(p, "<p class=more>Also not seen, but too few before to tell: ");
        page_put_counted(p, better + p->s->gone.len - count, "bucket", "buckets");
    }
    page_markup(p, "</section>\n");
}
