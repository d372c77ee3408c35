/* Writes numbers by version: a chart, a table, and the trend of each bucket. With the time in the
 * foreground they are rates, because a version that was used longer stalls more often; without it
 * they are shares or sums, and that is said. */
#include <string.h>

#include "classify/print/usage_text.h"
#include "classify/stats/hourly.h"
#include "classify/text/number_text.h"
#include "page/page_private.h"

static const struct summary_value *find_version(const struct summary_values *v,
                                                const char *version) {
    for (size_t i = 0; i < v->count; i++) {
        if (strcmp(v->values[i].text, version) == 0) {
            return &v->values[i];
        }
    }
    return NULL;
}

bool page_knows_ms(const struct summary_values *v) {
    for (size_t i = 0; i < v->count; i++) {
        if (v->values[i].ms) {
            return true;
        }
    }
    return false;
}

/* ---- charts ---- */

/* Draws bars of the stalled time by version; `of` has it for a bucket, NULL: of all stalls. */
static void put_version_bars(struct page_writer *p, const struct summary_values *of) {
    size_t all = p->s->releases.len, from = all > BARS_MOST ? all - BARS_MOST : 0;
    struct summary_value values[BARS_MOST];
    const char *places[BARS_MOST];
    for (size_t i = from; i < all; i++) {
        const struct summary_version *r = &p->s->releases.data[i];
        const struct summary_value *own = of ? find_version(of, r->text) : NULL;
        uint64_t whole = p->s->rated ? r->rated_ms : r->ms;
        uint64_t ms = of ? (own ? own->ms : 0) : whole;
        if (p->s->rated) {
            ms = r->carries ? hourly_ms(ms, r->foreground_ms) : 0;
        }
        places[i - from] = r->text;
        values[i - from] = (struct summary_value){.text = r->text, .ms = ms};
    }
    const struct summary_values rates = {values, all - from};
    const struct page_bars bars = {.caption = p->s->rated
                                                  ? "stalled time in an hour, by version"
                                                  : "stalled time by version, hours unknown",
                                   .behind = p->s->rated ? " in an hour" : "",
                                   .places = places,
                                   .count = all - from,
                                   .all = all};
    page_put_bars(p, &bars, &rates);
}

void page_put_release_chart(struct page_writer *p) {
    put_version_bars(p, NULL);
}

void page_put_versions(struct page_writer *p, const struct summary_values *v) {
    if (page_knows_ms(v)) {
        put_version_bars(p, v);
    }
}

/* ---- table ---- */

/* Writes the cells with rates; with `watched`, also the watched share. */
static void put_release_rates(struct page_writer *p, const struct summary_version *r,
                              bool watched) {
    char number[NUMBER_SIZE];
    page_markup(p, "<td>");
    page_markup(p, r->foreground_ms ? text_hours(r->foreground_ms, number) : "unknown");
    if (watched) {
        bool little = r->watched >= 0 && r->watched < USAGE_WATCHED_PERMILLE;
        page_markup(p, little ? "<td class=warns>" : "<td>");
        if (r->watched >= 0) {
            strbuf_addf(&p->text, "%d%%", r->watched / 10);
        } else {
            page_markup(p, "unknown");
        }
    }
    page_markup(p, r->carries ? "<td>" : "<td colspan=2>");
    if (!r->carries) {
        page_markup(p, r->days_lack_time ? "little time on many days" : "too little to tell");
        return;
    }
    page_markup(p, text_rate(hourly_ppm(r->rated_stalls, r->foreground_ms), number));
    page_markup(p, "<td>");
    page_put_ms(p, hourly_ms(r->rated_ms, r->foreground_ms));
}

void page_put_releases(struct page_writer *p) {
    bool watched = false; /* of some version it is known how much of it was watched */
    if (!p->trend_count) {
        return;
    }
    for (size_t i = 0; i < p->trend_count; i++) {
        watched = watched || p->trend[i].watched >= 0;
    }
    page_markup(p, "<table class=\"plain versions\"><caption>Versions</caption><thead><tr>"
                   "<th scope=col>version<th scope=col>stalls<th scope=col>stalled");
    page_markup(p, p->s->rated ? "<th scope=col>hours watched" : "");
    page_markup(p, p->s->rated && watched ? "<th scope=col>share watched" : "");
    page_markup(p, p->s->rated ? "<th scope=col>stalls in an hour<th scope=col>stalled in an hour"
                               : "");
    page_markup(p, "</thead><tbody>\n");
    for (size_t i = p->trend_count; i-- > 0;) {
        const struct summary_version *r = &p->trend[i];
        page_markup(p, "<tr><th scope=row>");
        page_put(p, r->text);
        page_markup(p, "<td>");
        page_put_number(p, r->stalls);
        page_markup(p, "<td>");
        page_put_lost(p, r->ms);
        if (p->s->rated) {
            put_release_rates(p, r, watched);
        }
        page_markup(p, "\n");
    }
    page_markup(p, "</tbody></table>\n");
    if (p->trend_count < p->s->releases.len) {
        strbuf_addf(&p->text, "<p class=more>%zu earlier versions are not listed",
                    p->s->releases.len - p->trend_count);
    }
}

/* ---- trend ---- */

/* Returns how much of a bucket a version has, in an hour of it or as millionths of the version's:
 * to be compared with that of other versions only. */
static uint64_t trend_amount(const struct page_writer *p, const struct summary_values *v,
                             const struct summary_version *r, bool ms) {
    const struct summary_value *own = find_version(v, r->text);
    uint64_t amount = own ? (ms ? own->ms : own->dumps) : 0, whole = ms ? r->ms : r->dumps;
    if (p->s->rated) {
        return !r->carries ? 0
               : ms        ? hourly_ms(amount, r->foreground_ms)
                           : hourly_ppm(amount, r->foreground_ms);
    }
    return whole ? (uint64_t)((unsigned __int128)amount * 1000000 / whole) : 0;
}

static void put_trend_text(struct page_writer *p, const struct summary_version *r, uint64_t amount,
                           bool ms) {
    char number[NUMBER_SIZE];
    page_put(p, r->text);
    page_markup(p, " ");
    if (!r->carries) {
        page_markup(p, r->days_lack_time ? "little time on many days" : "too little data");
    } else if (!p->s->rated) {
        page_put_share(p, amount, 1000000);
    } else if (ms) {
        page_put_ms(p, amount);
    } else {
        page_markup(p, text_rate(amount, number));
    }
}

void page_put_trend(struct page_writer *p, const struct summary_bucket *b, bool told) {
    static const char *const steps[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
                                        "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
                                        "\xe2\x96\x87", "\xe2\x96\x88"};
    const struct summary_values *v = &b->by[SUMMARY_VERSION];
    uint64_t amounts[PAGE_VERSIONS], most = 0;
    const bool ms = page_knows_ms(v);
    for (size_t i = 0; i < p->trend_count; i++) {
        amounts[i] = trend_amount(p, v, &p->trend[i], ms);
        most = p->trend[i].carries && amounts[i] > most ? amounts[i] : most;
    }
    for (size_t i = 0; p->has_trend && i < p->trend_count; i++) {
        if (told) {
            page_markup(p, i ? ", " : "");
            put_trend_text(p, &p->trend[i], amounts[i], ms);
        } else if (!p->trend[i].carries) {
            page_markup(p, "\xc2\xb7");
        } else if (!amounts[i]) {
            page_markup(p, "_");
        } else {
            page_markup(p,
                        steps[(unsigned)(((unsigned __int128)amounts[i] * 7 + most - 1) / most)]);
        }
    }
}
