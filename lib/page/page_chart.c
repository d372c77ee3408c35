/* Draws small pictures: bars of time, a ranking, a distribution. They use attributes only,
 * as the page's policy forbids style attributes. */
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "classify/text/number_text.h"
#include "page/page_private.h"

enum {
    BARS_HEIGHT = 48,
    BARS_WIDTH = 240,
    RANKED_MOST = 8, /* maximum number of values in a ranking */
    RANKED_ROW = 15,
    RANKED_BASE = 11, /* y of the text's base line in a row, in pixels */
    RANKED_LEFT = 70, /* x where the bars begin, in pixels */
    RANKED_WIDTH = 120,
    COLUMN = 9, /* width of a column of the distribution with its gap, in pixels */
    COLUMNS_MOST = 48
};

static uint64_t most_ms(const struct summary_values *v, size_t from) {
    uint64_t most = 0;
    for (size_t i = from; i < v->count; i++) {
        most = v->values[i].ms > most ? v->values[i].ms : most;
    }
    return most;
}

static uint64_t scale(uint64_t v, uint64_t most, uint64_t to) {
    return most ? (uint64_t)((unsigned __int128)v * to / most) : 0;
}

/* ---- time by version and by day ---- */

/* Returns the stalled time, in ms, of the value of v that has this text; 0: v has no such value, or
 * the value has no time. */
static uint64_t value_ms(const struct summary_values *v, const char *text) {
    for (size_t i = 0; i < v->count; i++) {
        if (strcmp(v->values[i].text, text) == 0) {
            return v->values[i].ms;
        }
    }
    return 0;
}

/* Returns the number of dumps of the value of v that has this text. */
static uint64_t value_dumps(const struct summary_values *v, const char *text) {
    for (size_t i = 0; i < v->count; i++) {
        if (strcmp(v->values[i].text, text) == 0) {
            return v->values[i].dumps;
        }
    }
    return 0;
}

static void put_bar(struct page_writer *p, size_t x, size_t wide, uint64_t high) {
    strbuf_addf(&p->text,
                "<rect x=\"%zu\" y=\"%" PRIu64 "\" width=\"%zu\" height=\"%" PRIu64 "\"><title>", x,
                BARS_HEIGHT - high, wide > 2 ? wide - 1 : wide, high);
}

void page_put_bars(struct page_writer *p, const struct page_bars *bars,
                   const struct summary_values *v) {
    uint64_t most = 0;
    for (size_t i = 0; i < bars->count; i++) {
        uint64_t ms = value_ms(v, bars->places[i]);
        most = ms > most ? ms : most;
    }
    if (bars->count < 2 || most_ms(v, 0) == 0) {
        return;
    }
    size_t wide = BARS_WIDTH / bars->count;
    strbuf_addf(&p->text, "<figure><figcaption>%s", bars->caption);
    if (bars->count < bars->all) {
        strbuf_addf(&p->text, ", the last %zu of %" PRIu64, bars->count, bars->all);
    }
    page_markup(p, bars->note ? bars->note : "");
    strbuf_addf(&p->text,
                "</figcaption><svg class=\"bars\" role=\"img\" viewBox=\"0 0 %zu %d\" "
                "preserveAspectRatio=\"none\" aria-label=\"%s\">",
                wide * bars->count, BARS_HEIGHT, bars->caption);
    for (size_t i = 0; i < bars->count; i++) {
        uint64_t ms = value_ms(v, bars->places[i]);
        if (ms) {
            put_bar(p, i * wide, wide, scale(ms, most, BARS_HEIGHT - 1) + 1);
            page_put(p, bars->places[i]);
            page_markup(p, ": ");
            page_put_ms(p, ms);
            page_markup(p, bars->behind);
            page_markup(p, "</title></rect>");
        }
    }
    page_markup(p, "</svg><div class=\"ends\"><bdi>");
    page_put(p, bars->places[0]);
    page_markup(p, "</bdi><bdi>");
    page_put(p, bars->places[bars->count - 1]);
    page_markup(p, "</bdi></div></figure>\n");
}

/* Appends the days on which there are no dumps, behind the first one with some, as at most a few
 * dates. */
static void add_empty_days(struct strbuf *b, const struct summary_values *v,
                           const char *const *places, size_t count) {
    enum { EMPTY_TOLD = 3 };
    size_t empty = 0;
    bool begun = false;
    for (size_t i = 0; i < count; i++) {
        bool has = value_dumps(v, places[i]) > 0;
        begun = begun || has;
        if (begun && !has) {
            if (empty < EMPTY_TOLD) {
                strbuf_addf(b, "%s%s", empty ? ", " : ", none on ", places[i]);
            }
            empty++;
        }
    }
    if (empty > EMPTY_TOLD) {
        strbuf_addf(b, " and %zu more", empty - EMPTY_TOLD);
    }
}

void page_put_days(struct page_writer *p, const struct summary_values *v) {
    const struct summary_values *all = &p->s->days;
    char texts[BARS_MOST][DAY_SIZE];
    const char *places[BARS_MOST];
    struct strbuf note = {0};
    int32_t first = 0, last = -1;
    for (size_t i = 0; i < all->count; i++) { /* a day may be of a clock that nobody had set */
        const char *text = all->values[i].text;
        int32_t day;
        if (day_is_told(text, strlen(text)) && parse_day(text, strlen(text), &day)) {
            first = last < first ? day : first;
            last = day;
        }
    }
    if (last < first) {
        return;
    }
    uint64_t days = (uint64_t)(last - first) + 1;
    size_t count = days < BARS_MOST ? (size_t)days : BARS_MOST;
    for (size_t i = 0; i < count; i++) {
        places[i] = day_text(last - (int32_t)(count - 1 - i), texts[i]);
    }
    if (v == all) {
        strbuf_addstr(&note, p->s->rated ? ", not by the hour" : "");
        add_empty_days(&note, v, places, count);
    }
    const struct page_bars bars = {.caption = "stalled time by day",
                                   .behind = "",
                                   .note = strbuf_cstr(&note),
                                   .places = places,
                                   .count = count,
                                   .all = days};
    page_put_bars(p, &bars, v);
    p->failed = p->failed || note.failed;
    strbuf_release(&note);
}

void page_put_ranking(struct page_writer *p, const char *caption, const struct summary_values *v) {
    size_t count = v->count < RANKED_MOST ? v->count : RANKED_MOST;
    uint64_t most = most_ms(v, 0);
    if (most == 0) {
        return;
    }
    page_markup(p, "<figure><figcaption>");
    page_markup(p, caption);
    strbuf_addf(&p->text,
                "</figcaption><svg class=\"ranking\" role=\"img\" viewBox=\"0 0 %d %zu\" "
                "aria-label=\"",
                BARS_WIDTH, count * RANKED_ROW);
    page_markup(p, caption);
    page_markup(p, "\">");
    for (size_t i = 0; i < count; i++) {
        const struct summary_value *at = &v->values[i];
        page_markup(p, "<g><title>");
        page_put(p, at->text);
        page_markup(p, ": ");
        page_put_ms(p, at->ms);
        strbuf_addf(&p->text, "</title><text x=\"0\" y=\"%zu\">", i * RANKED_ROW + RANKED_BASE);
        page_put(p, at->text);
        strbuf_addf(&p->text,
                    "</text><rect x=\"%d\" y=\"%zu\" width=\"%" PRIu64
                    "\" height=\"%d\"/><text x=\"%d\" y=\"%zu\" text-anchor=\"end\">",
                    RANKED_LEFT, i * RANKED_ROW + 3, scale(at->ms, most, RANKED_WIDTH - 1) + 1,
                    RANKED_ROW - 5, BARS_WIDTH, i * RANKED_ROW + RANKED_BASE);
        page_put_share(p, at->ms, p->s->ms);
        page_markup(p, "</text></g>");
    }
    page_markup(p, "</svg></figure>\n");
}

/* ---- how long stalls last ---- */

/* Returns the lower bound of column i in ms: four columns for each doubling, from 100 ms on. Column
 * 0 also counts the stalls that are shorter than its lower bound. */
static uint64_t column_ms(size_t i) {
    static const uint64_t quarters[] = {1000, 1189, 1414, 1682};
    return (UINT64_C(100) << i / 4) * quarters[i % 4] / 1000;
}

void page_put_distribution(struct page_writer *p, const struct histogram *h) {
    uint64_t counts[COLUMNS_MOST] = {0}, most = 0, below = 0;
    size_t first = COLUMNS_MOST, last = 0;
    for (size_t i = 0; i < COLUMNS_MOST; i++) {
        uint64_t upto =
            i + 1 < COLUMNS_MOST ? histogram_below(h, column_ms(i + 1)) : histogram_total(h);
        counts[i] = upto - below;
        below = upto;
        most = counts[i] > most ? counts[i] : most;
        first = counts[i] && first == COLUMNS_MOST ? i : first;
        last = counts[i] ? i : last;
    }
    if (most == 0) {
        return;
    }
    strbuf_addf(&p->text,
                "<figure><figcaption>how long</figcaption><svg class=\"columns\" role=\"img\" "
                "aria-label=\"distribution of durations\" viewBox=\"0 0 %zu %d\" "
                "preserveAspectRatio=\"none\">",
                (last - first + 1) * COLUMN, BARS_HEIGHT);
    for (size_t i = first; i <= last; i++) {
        uint64_t high = counts[i] ? scale(counts[i], most, BARS_HEIGHT - 1) + 1 : 0;
        strbuf_addf(&p->text,
                    "<rect x=\"%zu\" y=\"%" PRIu64 "\" width=\"%d\" height=\"%" PRIu64 "\"><title>",
                    (i - first) * COLUMN, BARS_HEIGHT - high, COLUMN - 1, high);
        page_put_number(p, counts[i]);
        page_markup(p, counts[i] == 1 ? " stall of " : " stalls of ");
        page_put_ms(p, i ? column_ms(i) : 0);
        page_markup(p, " to ");
        page_put_ms(p, column_ms(i + 1));
        page_markup(p, "</title></rect>");
    }
    page_markup(p, "</svg><div class=\"ends\"><span>");
    page_put_ms(p, first ? column_ms(first) : 0);
    page_markup(p, "</span><span>");
    page_put_ms(p, column_ms(last + 1));
    page_markup(p, "</span></div></figure>\n");
}
