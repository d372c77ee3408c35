/* Describes the gate's results in words, and prints its report on a terminal. */
#include "classify/print/gate_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "classify/print/apart_text.h"
#include "classify/print/usage_text.h"

enum { MEMBERS_MAX = 3 }; /* maximum number of a pool's buckets that are named */

const char *const gate_measure_names[GATE_MEASURES] = {"stalls", "time", "users"};

/* Returns the divisor that turns a measure's events into the unit of the report. */
static double unit(const struct gate *g, size_t run, size_t m) {
    const struct tally *all = &g->run[run]->total;
    if (!g->rates) {
        return (double)(m == RATES_COUNT ? all->stalls : all->ms) / 100; /* in percent */
    }
    double exposure = g->exposure[run];
    if (g->sessions) {
        /* makes rates of stalls, and of stalled seconds, in 1,000 sessions */
        return m == RATES_COUNT ? exposure / 1000 : exposure;
    }
    return m == RATES_COUNT
               ? exposure / 3.6e9
               : exposure /
                     3600; /* makes rates of stalls in 1,000 h, and of stalled seconds in 1 h */
}

double gate_rate(const struct gate *g, const struct gate_row *row, size_t run, size_t m) {
    double of = unit(g, run, m);
    if (m == GATE_USERS) {
        /* This number includes users on devices that only one run has. */
        return (double)row->users[run];
    }
    return of > 0 ? row->by[m].events[run] / of : 0;
}

const char *gate_unit_text(const struct gate *g, size_t m) {
    static const char *const texts[][GATE_MEASURES] = {
        {"% of the stalls", "% of the stalled time", " in the run"},
        {" in 1,000 hours", " seconds in an hour", " in the run"},
        {" in 1,000 sessions", " seconds in 1,000 sessions", " in the run"}};
    size_t exposure = g->sessions ? 2 : 1;
    return texts[g->rates ? exposure : 0][m];
}

/* ---- text ---- */

void gate_add_number(struct strbuf *b, double v) {
    if (!isfinite(v)) {
        strbuf_addstr(b, "∞");
    } else if (v >= 100) {
        strbuf_addf(b, "%.0f", v);
    } else {
        strbuf_addf(b, v >= 10 ? "%.1f" : "%.2f", v);
    }
}

bool gate_is_compared(const struct rates_comparison *c) {
    return isfinite(c->error);
}

void gate_add_rate(struct strbuf *b, const struct gate *g, const struct gate_row *row, size_t run,
                   size_t m) {
    if (m == GATE_USERS) {
        strbuf_addf(b, "%s%" PRIu64, row->users[run] > DISTINCT_EXACT_MAX ? "~" : "",
                    row->users[run]);
    } else {
        gate_add_number(b, gate_rate(g, row, run, m));
    }
}

/* Appends the title of a row that stands for several buckets. */
static void add_several(struct strbuf *b, const struct gate_row *row) {
    if (!row->pool) {
        strbuf_addstr(b, "all stalls");
        return;
    }
    const char *none = row->level == 'f' ? "the app's own code" : "no cause";
    text_add_clean(b, row->pool[0] ? row->pool : none);
    strbuf_addf(b, ", %zu buckets together", row->members.len);
}

void gate_add_title(struct strbuf *b, const struct gate_row *row) {
    if (!row->bucket) {
        add_several(b, row);
        return;
    }
    for (size_t i = 0; i < row->bucket->frame_count; i++) {
        strbuf_addstr(b, i ? " \xe2\x86\x90 " : "");
        text_add_frame(b, row->bucket->frames[i]);
    }
}

const char *gate_ratio_unit(const struct gate *g, size_t m) {
    const char *per = g->sessions ? "per session " : "per hour ";
    return m != GATE_USERS ? "" : g->rates ? per : "relative to all ";
}

void gate_add_measure(struct strbuf *b, const struct gate *g, const struct gate_row *row,
                      size_t m) {
    const struct rates_comparison *c = &row->by[m];
    gate_add_rate(b, g, row, RATES_BASE, m);
    strbuf_addstr(b, " \xe2\x86\x92 ");
    gate_add_rate(b, g, row, RATES_NOW, m);
    strbuf_addstr(b, gate_unit_text(g, m));
    if (gate_is_compared(c)) {
        strbuf_addf(b, ", %s\xc3\x97 ", gate_ratio_unit(g, m));
        gate_add_number(b, c->ratio);
        strbuf_addstr(b, " (");
        gate_add_number(b, c->low);
        strbuf_addstr(b, " to ");
        gate_add_number(b, c->high);
        strbuf_addc(b, ')');
    }
}

/* Appends the systems or devices with which the bucket came, with commas between them: "iOS 18". */
static void add_platforms(struct strbuf *b, const struct gate *g, const struct gate_row *row) {
    const struct facet *facet = &row->bucket->tally->facets[row->facet];
    const char *last = NULL;
    size_t last_len = 0;
    for (size_t i = 0; i < facet->values.len; i++) {
        const char *value = map_string(&g->run[RATES_NOW]->strings, facet->values.data[i].text);
        size_t len = gate_platform_len(row->facet, value);
        if (last && len == last_len && memcmp(last, value, len) == 0) {
            continue;
        }
        struct strbuf name = {0};
        strbuf_add(&name, value, len);
        strbuf_addstr(b, last ? ", " : "");
        text_add_clean(b, strbuf_cstr(&name));
        b->failed = b->failed || name.failed;
        strbuf_release(&name);
        last = value;
        last_len = len;
    }
}

/* Appends what the verdict alone does not tell, if there is something. */
static void add_reason(struct strbuf *b, const struct gate *g, const struct gate_row *row) {
    if (row->verdict == GATE_PLATFORM) {
        strbuf_addstr(b, "new with ");
        add_platforms(b, g, row);
        strbuf_addstr(b, ", of which the baseline has no stalls");
    } else if (row->verdict == GATE_IGNORED) {
        strbuf_addstr(b, "new or regressed, but marked as ignored");
    } else if (row->suspect) {
        strbuf_addstr(b, "may have risen by half, but too few stalls tell");
    } else if (row->verdict == GATE_NEW) {
        strbuf_addstr(b, "as often, the baseline would have had ");
        gate_add_number(b, gate_expected_users(row));
        strbuf_addstr(b, " users with it");
    }
}

/* Appends the ids of a pool's buckets, and how many were taken out of it. */
static void add_members(struct strbuf *b, const struct gate_row *row) {
    size_t shown = row->members.len < MEMBERS_MAX ? row->members.len : MEMBERS_MAX;
    for (size_t i = 0; i < shown; i++) {
        strbuf_addf(b, "%s%s", i ? ", " : "of ", row->members.data[i]->id);
    }
    if (row->members.len > shown) {
        strbuf_addf(b, " and %zu more", row->members.len - shown);
    }
    if (row->apart) {
        strbuf_addf(b, "; without %zu bucket%s", row->apart,
                    row->apart == 1 ? " that fails by itself" : "s that fail by themselves");
    }
}

void gate_add_remark(struct strbuf *b, const struct gate *g, const struct gate_row *row) {
    size_t before = b->len;
    add_reason(b, g, row);
    add_members(b, row);
    if (row->was) {
        strbuf_addf(b, "%swas %s in the baseline", b->len > before ? "; " : "", row->was->id);
    }
}

static void gate_text_add_row(struct strbuf *b, const struct gate *g, const struct gate_row *row) {
    strbuf_addf(b, "%-10s  ", gate_verdict_text(row->verdict));
    if (row->bucket) {
        strbuf_addf(b, "%s  ", row->bucket->id);
    }
    gate_add_title(b, row);
    strbuf_addf(b, ", p %.2g\n", row->p);
    for (size_t m = 0; m < GATE_MEASURES; m++) {
        strbuf_addf(b, "            %-7s ", gate_measure_names[m]);
        gate_add_measure(b, g, row, m);
        strbuf_addc(b, '\n');
    }
    if (row->verdict == GATE_NEW || row->verdict == GATE_PLATFORM || row->verdict == GATE_IGNORED ||
        row->suspect || row->was || row->members.len) {
        strbuf_addstr(b, "            ");
        gate_add_remark(b, g, row);
        strbuf_addc(b, '\n');
    }
    if (row->bucket && row->bucket->evidence.id && *row->bucket->evidence.id) {
        strbuf_addstr(b, "            look at ");
        text_add_clean(b, row->bucket->evidence.id);
        strbuf_addc(b, '\n');
    }
}

void gate_add_run(struct strbuf *b, const struct gate *g, size_t run) {
    const struct triage *t = g->run[run];
    char stalls[NUMBER_SIZE], users[NUMBER_SIZE], exposure[NUMBER_SIZE];
    strbuf_addf(b, "%s stall%s", text_grouped(t->total.stalls, stalls),
                t->total.stalls == 1 ? "" : "s");
    text_add_length_unknown(b, tally_length_unknown(&t->total));
    strbuf_addf(b, ", %s user%s", text_users(t->total_users, 0, users),
                t->total_users == 1 ? "" : "s");
    if (g->rates) {
        double amount = g->sessions ? g->exposure[run] : g->exposure[run] / 3.6e6;
        strbuf_addf(b, ", %s %s", text_grouped((uint64_t)amount, exposure),
                    g->sessions ? "sessions" : "hours in the foreground");
    }
}

const char *gate_outcome(const struct gate *g) {
    static const char *const outcomes[GATE_VERDICTS] = {
        [GATE_PASS] = "passed",      [GATE_NEW] = "failed",
        [GATE_REGRESSED] = "failed", [GATE_INCONCLUSIVE] = "inconclusive",
        [GATE_PLATFORM] = "passed",  [GATE_IGNORED] = "passed"};
    return outcomes[g->verdict];
}

void gate_add_counts(struct strbuf *b, const struct gate *g) {
    strbuf_addf(b, "%zu regressed, %zu new, %zu of %zu without enough data",
                g->count[GATE_REGRESSED], g->count[GATE_NEW], g->count[GATE_INCONCLUSIVE],
                g->rows.len);
    if (g->count[GATE_PLATFORM]) {
        strbuf_addf(b, ", %zu new with a system or device", g->count[GATE_PLATFORM]);
    }
    if (g->count[GATE_IGNORED]) {
        strbuf_addf(b, ", %zu ignored", g->count[GATE_IGNORED]);
    }
}

static bool names_no_users(const struct triage *t) {
    return t->total.stalls && !t->total_users;
}

static void add_gate_watched(struct strbuf *b, const struct gate *g, size_t run,
                             const char *which) {
    int permille = g->watched_permille[run];
    if (permille >= 0 && permille < USAGE_WATCHED_PERMILLE) {
        strbuf_addf(
            b,
            "Of the %s only %d %% were watched, less than %d %%: what is not in it may have "
            "happened, so this is no pass.\n",
            which, permille / 10, USAGE_WATCHED_PERMILLE / 10);
    }
}

static void add_gate_unexposed(struct strbuf *b, const struct gate *g) {
    char base[NUMBER_SIZE], now[NUMBER_SIZE];
    if (g->unexposed[RATES_BASE] || g->unexposed[RATES_NOW]) {
        strbuf_addf(b,
                    "Devices and systems without exposure have %s stalls of the baseline and %s "
                    "now: %s.\n",
                    text_grouped(g->unexposed[RATES_BASE], base),
                    text_grouped(g->unexposed[RATES_NOW], now),
                    g->together ? "all devices and systems are compared together"
                                : "they are not in the rates");
    }
}

/* Appends `which` and, after a space, what was set apart in a run, without duplicates and dumps
 * left out; "none" if nothing was. */
static void add_apart_of(struct strbuf *b, const struct gate *g, size_t run, const char *which) {
    uint64_t counts[APART_COUNT];
    struct strbuf text = {0};
    memcpy(counts, g->run[run]->apart, sizeof counts);
    counts[APART_DUPLICATE] = counts[APART_LEFT_OUT] = 0;
    apart_text_add(&text, counts);
    strbuf_addf(b, "%s %s", which, text.len ? strbuf_cstr(&text) : "none");
    b->failed = b->failed || text.failed;
    strbuf_release(&text);
}

static void add_gate_apart(struct strbuf *b, const struct gate *g) {
    const uint64_t *base = g->run[RATES_BASE]->apart, *now = g->run[RATES_NOW]->apart;
    if (gate_set_apart(g->run[RATES_BASE]) || gate_set_apart(g->run[RATES_NOW]) ||
        base[APART_CRASH] || now[APART_CRASH]) {
        strbuf_addstr(b, "Set apart and not compared: ");
        add_apart_of(b, g, RATES_BASE, "of the baseline");
        add_apart_of(b, g, RATES_NOW, "; now");
        strbuf_addstr(b, ".\n");
    }
    if (g->apart_hides) {
        strbuf_addstr(b, "With the dumps that were set apart there would be ");
        gate_add_number(b, g->apart_ratio);
        strbuf_addstr(b, " times as many: stalls may be among them, so this is no pass.\n");
    }
}

static void add_outside_of(struct strbuf *b, const struct usage_outside *o, const char *of) {
    if (o->stalls) {
        strbuf_addf(b, "%s ", strcmp(o->first, o->last) ? "Versions" : "Version");
        usage_add_outside_versions(b, o);
        strbuf_addf(b,
                    " of the %s: stalls without time in the foreground, though other versions have "
                    "some, so this is no pass.\n",
                    of);
    }
    if (o->days.stalls || o->days.undated_stalls || o->days.untold_stalls) {
        usage_add_outside_days(b, o);
        strbuf_addf(b, " in the %s, though there is other time, so this is no pass.\n", of);
    }
}

/* Names the versions and days without time in the foreground if they keep rates from being
 * compared. */
static void add_gate_outside(struct strbuf *b, const struct gate *g) {
    for (size_t run = 0; run < RATES_RUNS; run++) {
        const struct usage_outside outside = usage_outside_of(g->run[run]);
        if (outside.many) {
            add_outside_of(b, &outside, run == RATES_BASE ? "baseline" : "run now");
        }
    }
}

void gate_add_notes(struct strbuf *b, const struct gate *g) {
    add_gate_apart(b, g);
    add_gate_watched(b, g, RATES_BASE, "baseline's sessions");
    add_gate_watched(b, g, RATES_NOW, "sessions now");
    add_gate_outside(b, g);
    if (!g->rates) {
        strbuf_addstr(b,
                      "Shares of all stalls are compared, as exposure is not known of both: that "
                      "all got worse alike cannot be seen.\n");
    }
    add_gate_unexposed(b, g);
    if (tally_length_unknown(&g->run[RATES_BASE]->total) ||
        tally_length_unknown(&g->run[RATES_NOW]->total)) {
        strbuf_addf(b,
                    "Stalls of unknown length are compared by their number and users: the time %s "
                    "is not compared.\n",
                    g->rates ? "of buckets that have such stalls" : "of all stalls");
    }
    if (names_no_users(g->run[RATES_BASE]) || names_no_users(g->run[RATES_NOW])) {
        strbuf_addstr(b, "Dumps name no users: stalls of one user count as independent.\n");
    }
    strbuf_addf(
        b,
        "A rise of %u %% is seen or excluded for %u.%u %% of the stalls: in their bucket, or "
        "only in several of a cause or framework together.\n",
        g->options.regressed_percent, (unsigned)(g->decided_permille / 10),
        (unsigned)(g->decided_permille % 10));
    if (g->uncompared_permille) {
        strbuf_addf(b,
                    "%u.%u %% of the stalls are on systems or devices that only one of the runs "
                    "has: they were not compared.\n",
                    (unsigned)(g->uncompared_permille / 10),
                    (unsigned)(g->uncompared_permille % 10));
    }
    if (g->seen_ratio > 0) {
        strbuf_addf(b,
                    "A rise of %.0f %% or more would have been seen in buckets above %u %% of the "
                    "stalls, four times of five.\n",
                    ceil((g->seen_ratio - 1) * 100), g->seen_permille / 10);
    } else if (!g->run[RATES_BASE]->total.stalls) {
        strbuf_addstr(b, "The baseline has no stalls: no bucket is in both runs.\n");
    } else {
        strbuf_addstr(b, "No bucket has enough stalls to see even ten times as many.\n");
    }
    if (g->suspects) {
        strbuf_addf(b,
                    "%zu row%s (large buckets, or all stalls) may have risen by half, so this is "
                    "no pass.\n",
                    g->suspects, g->suspects == 1 ? "" : "s");
    }
}

void gate_add_summary(struct strbuf *b, const struct gate *g) {
    strbuf_addf(b, "gate: %s: ", gate_outcome(g));
    gate_add_counts(b, g);
    strbuf_addstr(b, "\nbaseline    ");
    gate_add_run(b, g, RATES_BASE);
    strbuf_addstr(b, "\nnow         ");
    gate_add_run(b, g, RATES_NOW);
    strbuf_addc(b, '\n');
    gate_add_notes(b, g);
}

size_t gate_failed_rows(const struct gate *g) {
    return g->count[GATE_NEW] + g->count[GATE_REGRESSED];
}

size_t gate_told_rows(const struct gate *g) {
    return gate_failed_rows(g) + g->suspects + g->count[GATE_PLATFORM] + g->count[GATE_IGNORED];
}

void gate_print_text(const struct gate *g, struct sink *out) {
    struct strbuf b = {0};
    size_t shown = 0, told = gate_told_rows(g);
    gate_add_summary(&b, g);
    for (; shown < told && shown < GATE_ROWS_MAX; shown++) {
        strbuf_addc(&b, '\n');
        gate_text_add_row(&b, g, &g->rows.data[shown]);
    }
    if (shown < told) {
        strbuf_addf(&b, "\nand %zu more\n", told - shown);
    }
    if (b.failed) {
        (void)strbuf_check(&b, &out->err);
    } else {
        sink_write(out, strbuf_cstr(&b), b.len);
    }
    strbuf_release(&b);
}
