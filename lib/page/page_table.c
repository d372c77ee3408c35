/* Writes the table of buckets. Optional end tags are left out, as there may be thousands of
 * rows. */
#include <string.h>

#include "base/escape.h"
#include "classify/text/number_text.h"
#include "page/page_private.h"

enum { TITLE_CELLS = 160, SHARE_STEPS = 20 };

static void put_percentile(struct page_writer *p, struct tally_duration d) {
    char number[NUMBER_SIZE];
    page_markup(p, text_duration(d, number));
}

static void put_bucket_row(struct page_writer *p, size_t rank) {
    const struct summary_bucket *b = &p->s->buckets.data[rank];
    const uint64_t most = p->s->buckets.data[0].weight;
    char users[NUMBER_SIZE];
    page_markup(p, "<tr><td>");
    strbuf_addu64(&p->text, rank + 1);
    page_markup(p, "<td>");
    if (rank < p->details) {
        strbuf_addf(&p->text, "<a href=#%s>", b->id);
    }
    xml_text_add_short(&p->text, b->title, strlen(b->title), TITLE_CELLS, 1);
    page_markup(p, rank < p->details ? "</a> <i>" : " <i>");
    page_markup(p, b->id);
    page_markup(p, "</i><td>");
    page_markup(p, b->cause);
    page_markup(p, "<td");
    unsigned step = most ? (unsigned)((unsigned __int128)b->weight * SHARE_STEPS / most) : 0;
    if (step > 0 && rank < p->details) { /* the script sets the class of the other rows */
        strbuf_addf(&p->text, " class=s%u", step);
    }
    page_markup(p, ">");
    page_put_lost(p, b->ms);
    page_markup(p, "<td>");
    page_put_share(p, b->weight, p->s->weight);
    page_markup(p, "<td>");
    page_markup(p, text_users(b->users, 0, users));
    page_markup(p, "<td>");
    page_put_number(p, b->stalls);
    page_markup(p, "<td>");
    put_percentile(p, b->p50);
    page_markup(p, "<td>");
    put_percentile(p, b->p95);
    page_markup(p, "<td>");
    page_put_trend(p, b, false);
    page_markup(p, "<td>");
    page_put_state(p, b);
    const char *owner = p->owners[rank];
    if (owner) {
        page_markup(p, "<small title=owner>");
        page_put(p, owner);
        page_markup(p, "</small>");
    }
    page_markup(p, "\n");
    page_flush(p);
}

static void put_rows(struct page_writer *p, size_t from, size_t to) {
    for (size_t i = from; i < to && !p->text.failed; i++) {
        put_bucket_row(p, i);
    }
}

/* Writes the rows of the buckets in detail in the table, and all other rows in <noscript>. In a
 * browser that runs scripts, the content of <noscript> is one text to the HTML parser; the script
 * makes rows from it when they are shown. In a browser without scripts it is a second table. */
void page_put_table(struct page_writer *p) {
    const size_t parsed = p->details < p->rows ? p->details : p->rows;
    static const char *const columns[][3] = {
        {"rank", "#", "by lost time"},
        {"title", "bucket", "innermost frame first"},
        {"cause", "cause", "why the main thread did not get on"},
        {"ms", "lost", "stalled time, each stall up to the cap"},
        {"share", "share",
         "of all stalled time, or of all stalls where they are ranked by their number"},
        {"users", "users", "how many had it; ~ marks an estimate, with a standard error of 1.6 %"},
        {"stalls", "stalls", "how many"},
        {"p50", "p50", "half of the stalls are shorter"},
        {"p95", "p95", "19 of 20 stalls are shorter"},
        {"trend", NULL, NULL},
        {"marks", "marks",
         "new in the newest version, fixed, back again, ignored; new, worse or better than the "
         "baseline; "
         "and in how many stalls the process died"}};
    static const char *const rates[] = {
        "trend", "per hour, by version",
        "stalled time in an hour of each version, the newest versions, to scale in each row: _ is "
        "none, \xc2\xb7 is a version with too little data; sorted by how much more it is in the "
        "newest "
        "version than in all before"};
    static const char *const shares[] = {
        "trend", "share, by version",
        "share of each version's stalled time, as its hours are not known, the newest versions, to "
        "scale in each row: _ is none, \xc2\xb7 is a version with too few dumps; sorted by how "
        "much "
        "more it is in the newest version than in all before"};
    page_markup(p, "<table id=buckets aria-describedby=status><thead><tr>");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const char *const *c = columns[i][1] ? columns[i] : p->s->rated ? rates : shares;
        strbuf_addf(&p->text, "<th scope=col data-sort=%s title=\"%s\">%s", c[0], c[2], c[1]);
    }
    page_markup(p, "</thead>\n<tbody>\n");
    put_rows(p, 0, parsed);
    page_markup(p, "</tbody></table>\n");
    if (parsed < p->rows) {
        page_markup(p, "<noscript id=rest><table class=rest><tbody>\n");
        put_rows(p, parsed, p->rows);
        page_markup(p, "</tbody></table></noscript>\n");
    }
}
