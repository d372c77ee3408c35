/* Turns a finished triage into texts and numbers. */
#include "classify/summary/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/search.h"
#include "classify/gate/gone.h"
#include "classify/keys/version.h"
#include "classify/print/apart_text.h"
#include "classify/summary/summary_private.h"
#include "classify/print/triage_text.h"
#include "classify/print/usage_print.h"
#include "classify/print/usage_text.h"

/* ---- texts ---- */

static const char *title_of(struct summary_maker *m, const struct bucket *b) {
    for (size_t i = 0; i < b->frame_count; i++) {
        strbuf_addstr(&m->text, i ? " \xe2\x86\x90 " : "");
        text_add_frame(&m->text, b->frames[i]);
    }
    return summary_keep(m);
}

/* Appends m->text with its title to the head, unless m->text is empty. */
static void keep_told(struct summary_maker *m, const char *title, bool warns) {
    if (m->text.len || m->text.failed) {
        struct summary_sentence s = {title, summary_keep(m), warns};
        m->failed = !VEC_PUSH(&m->s->head, s) || m->failed;
    }
}

static void keep_sentence(struct summary_maker *m, const char *title) {
    keep_told(m, title, false);
}

static void keep_warning(struct summary_maker *m, const char *title) {
    keep_told(m, title, true);
}

/* ---- values ---- */

static struct summary_value *value_room(struct summary_maker *m, size_t count) {
    struct summary_value *values = arena_array(&m->s->arena, count + 1, sizeof *values);
    m->failed = m->failed || !values;
    return values;
}

static struct summary_values values_of_facet(struct summary_maker *m, const struct facet *f) {
    struct summary_value *values = value_room(m, f->values.len);
    for (size_t i = 0; values && i < f->values.len; i++) {
        values[i].text = map_string(&m->t->strings, f->values.data[i].text);
        values[i].dumps = f->values.data[i].dumps;
    }
    return (struct summary_values){values, values ? f->values.len : 0};
}

static int by_value_version(const void *a, const void *b) {
    return version_compare(((const struct summary_value *)a)->text,
                           ((const struct summary_value *)b)->text);
}

static int by_value_time(const void *a, const void *b) {
    const struct summary_value *x = a, *y = b;
    return x->ms != y->ms ? COMPARE(y->ms, x->ms) : strcmp(x->text, y->text);
}

static struct summary_values stored_values_of(struct summary_maker *m,
                                              const struct stored_values *v,
                                              int (*order)(const void *, const void *)) {
    struct summary_value *values = value_room(m, v->values.len);
    for (size_t i = 0; values && i < v->values.len; i++) {
        const struct stored_value *from = &v->values.data[i];
        values[i] =
            (struct summary_value){stored_text(&m->t->stored, from->text), from->dumps, from->ms};
    }
    if (values && v->values.len) {
        qsort(values, v->values.len, sizeof *values, order);
    }
    return (struct summary_values){values, values ? v->values.len : 0};
}

/* Returns the causes with some stalled time, with that time and, as `dumps`, their stalls. */
static struct summary_values causes_of_usage(struct summary_maker *m) {
    const struct usage_values *from = &m->t->usage.by[USAGE_CAUSE];
    struct summary_value *values = value_room(m, from->values.len);
    size_t count = 0;
    for (size_t i = 0; values && i < from->values.len; i++) {
        const char *text = map_string(&m->t->strings, from->values.data[i].text);
        if (from->values.data[i].sums.stalled_ms && *text) {
            values[count++] = (struct summary_value){text, from->values.data[i].sums.stalls,
                                                     from->values.data[i].sums.stalled_ms};
        }
    }
    if (count) {
        qsort(values, count, sizeof *values, by_value_time);
    }
    return (struct summary_values){values, count};
}

/* Returns the title of an action, which many buckets may have. */
static const char *action_title(struct summary_maker *m, uint32_t action) {
    if (!m->actions[action]) {
        m->actions[action] = title_of(m, m->t->actions.buckets.data[action]);
    }
    return m->actions[action];
}

static struct summary_values actions_of(struct summary_maker *m, const struct bucket *b) {
    struct summary_value *values = value_room(m, b->actions.len);
    for (size_t i = 0; values && i < b->actions.len; i++) {
        const struct action_share *a = &b->actions.data[i];
        values[i].text = action_title(m, a->action);
        values[i].ms = a->ms;
    }
    return (struct summary_values){values, values ? b->actions.len : 0};
}

static struct summary_values level2_of(struct summary_maker *m, const struct bucket *b) {
    struct summary_value *values = value_room(m, b->children.len);
    for (size_t i = 0; values && i < b->children.len; i++) {
        const struct bucket *part = m->t->level[1].buckets.data[b->children.data[i]];
        values[i] = (struct summary_value){title_of(m, part), part->tally->dumps, part->tally->ms};
    }
    return (struct summary_values){values, values ? b->children.len : 0};
}

/* Returns the first library that stands without a function in the bucket's key, with the bucket's
 * time; no value if there is none. */
static struct summary_values framework_of(struct summary_maker *m, const struct bucket *b) {
    struct summary_value *values = value_room(m, 1);
    size_t count = 0;
    for (size_t i = 0; values && i < b->frame_count && !count; i++) {
        if (!b->frames[i]->function[0] && b->frames[i]->image[0]) {
            values[count++] = (struct summary_value){b->frames[i]->image, 0, b->tally->ms};
        }
    }
    return (struct summary_values){values, count};
}

/* ---- buckets ---- */

static void fill_facets(struct summary_maker *m, const struct bucket *b,
                        struct summary_bucket *out) {
    static const enum summary_facet of[FACET_COUNT] = {[FACET_VERSION] = SUMMARY_VERSION,
                                                       [FACET_OS] = SUMMARY_OS,
                                                       [FACET_DEVICE] = SUMMARY_DEVICE};
    for (size_t f = 0; f < FACET_COUNT; f++) {
        out->by[of[f]] = values_of_facet(m, &b->tally->facets[f]);
    }
    out->by[SUMMARY_ACTION] = actions_of(m, b);
    out->by[SUMMARY_FRAMEWORK] = framework_of(m, b);
    if (b->stored) {
        /* A history may show dumps of a bucket and not know its time by version. */
        if (b->stored->by[STORED_VERSION].values.len) {
            out->by[SUMMARY_VERSION] =
                stored_values_of(m, &b->stored->by[STORED_VERSION], by_value_version);
        }
        out->by[SUMMARY_DAY] = stored_values_of(m, &b->stored->by[STORED_DAY], by_value_version);
        out->by[SUMMARY_SCREEN] = stored_values_of(m, &b->stored->by[STORED_SCREEN], by_value_time);
    }
}

/* Appends "lock 80%, disk 20%", the causes' shares of the bucket's time, to m->text; if no time is
 * known, only the causes. */
static void add_cause_shares(struct summary_maker *m, const struct tally *t) {
    for (size_t i = 0; i < t->causes.len; i++) {
        const struct cause_tally *c = &t->causes.data[i];
        strbuf_addf(&m->text, "%s%s", i ? ", " : "", rule_cause_text(c->cause));
        unsigned share = (text_permille(c->ms, t->ms) + 5) / 10;
        if (t->ms) {
            strbuf_addf(&m->text, share || !c->ms ? " %u%%" : " <1%%", share);
        }
    }
}

static void fill_bucket(struct summary_maker *m, const struct bucket *b,
                        struct summary_bucket *out) {
    const struct tally *t = b->tally;
    unsigned confidence;
    *out = (struct summary_bucket){.id = b->id,
                                   .ms = t->ms,
                                   .weight = triage_weight(m->t, t),
                                   .users = b->users,
                                   .stalls = t->stalls,
                                   .dumps = t->dumps,
                                   .fatal = t->fatal,
                                   .p50 = tally_percentile(t, 500),
                                   .p95 = tally_percentile(t, 950),
                                   .p99 = tally_percentile(t, 990),
                                   .max = tally_max(t),
                                   .durations = &t->durations,
                                   .first = t->first_time,
                                   .last = t->last_time,
                                   .evidence = b->evidence.id ? b->evidence.id : "",
                                   .stored = b->stored};
    out->title = title_of(m, b);
    out->cause = rule_cause_text(tally_cause(t, &confidence));
    out->place = out->causes = out->why = "";
    fill_facets(m, b, out);
}

static void fill_detail(struct summary_maker *m, const struct bucket *b,
                        struct summary_bucket *out) {
    text_add_place(&m->text, b);
    out->place = summary_keep(m);
    add_cause_shares(m, b->tally);
    out->causes = summary_keep(m);
    text_add_why(&m->text, b);
    out->why = summary_keep(m);
    out->parts = level2_of(m, b);
}

static void fill_buckets(struct summary_maker *m, size_t detail) {
    const struct bucket_set *set = &m->t->level[0];
    m->actions = calloc(m->t->actions.buckets.len + 1, sizeof *m->actions);
    if (!m->actions || !VEC_RESERVE(&m->s->buckets, set->buckets.len)) {
        m->failed = true;
        return;
    }
    for (size_t i = 0; i < set->buckets.len && !m->failed; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        struct summary_bucket *out = &m->s->buckets.data[i];
        fill_bucket(m, b, out);
        if (i < detail) {
            fill_detail(m, b, out);
        }
        m->s->buckets.len++;
    }
}

/* ---- head ---- */

enum { IMAGES_SHOWN = 20 };

/* Appends the symbols of the images of the app, a line for each: "6b834217 Shop ok in 12 dumps". */
static void add_symbols(struct summary_maker *m) {
    const struct stored_dumps *stored = &m->t->stored;
    size_t count = stored->images.len, shown = count < IMAGES_SHOWN ? count : IMAGES_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        const struct stored_image *image = &stored->images.data[i];
        const char *id = stored_text(stored, image->id);
        const char *symbols = dump_symbols_text(image->symbols);
        strbuf_addstr(&m->text, i ? "\n" : "");
        /* The id comes first, because after a name that is written from right to left its
         * characters would be displayed out of order. */
        strbuf_addf(&m->text, "%.8s%s", id, *id ? " " : "");
        text_add_clean(&m->text, stored_text(stored, image->name));
        strbuf_addf(&m->text, " %s in ", *symbols ? symbols : "not symbolicated");
        text_add_counted(&m->text, image->dumps, "dump", "dumps");
    }
    if (shown < count) {
        strbuf_addf(&m->text, "\nand %zu more", count - shown);
    }
}

static void fill_usage(struct summary_maker *m) {
    const struct usage_watch *w = &m->t->usage.watch;
    uint64_t foreground_ms = usage_exposure_of(m->t).foreground_ms;
    bool rated = foreground_ms == 0 || foreground_ms >= GONE_RATED_MS;
    int watched = usage_watched_permille(w);
    char number[NUMBER_SIZE];
    if (!rated) {
        strbuf_addf(&m->text, "the app was watched for %s in the foreground, which is too short",
                    text_ms(foreground_ms, number));
        keep_warning(m, "rates");
    }
    for (const struct usage_sentence *u = usage_sentences; u->title && usage_is_known(m->t); u++) {
        bool watch = strcmp(u->title, "watched") == 0;
        if (rated || watch || strcmp(u->title, "launches") == 0) {
            m->failed = !u->add(&m->text, m->t) || m->failed;
            keep_told(m, u->title, watch && watched >= 0 && watched < USAGE_WATCHED_PERMILLE);
        }
    }
}

/* Says of how many dumps no day is known. */
static void fill_undated(struct summary_maker *m) {
    uint64_t dated = 0;
    for (size_t i = 0; i < m->s->days.count; i++) {
        const char *day = m->s->days.values[i].text;
        dated += day_is_told(day, strlen(day)) ? m->s->days.values[i].dumps : 0;
    }
    if (m->s->days.count && dated < m->t->total.dumps) {
        text_add_counted(&m->text, m->t->total.dumps - dated, "dump is", "dumps are");
        strbuf_addstr(&m->text, " in no day: the time is missing, no date, ahead of the clock of "
                                "the machine, or of a clock that nobody had set");
        keep_warning(m, "without a day");
    }
}

/* Says what the numbers are made of, and how sure they are. */
static void fill_limits(struct summary_maker *m) {
    const struct triage *t = m->t;
    char number[NUMBER_SIZE];
    if (t->total.stalls && t->total.stalls < SUMMARY_STALLS_FEW) {
        strbuf_addstr(&m->text, "shares and percentiles of ");
        text_add_counted(&m->text, t->total.stalls, "stall", "stalls");
        strbuf_addstr(&m->text, " may be chance");
        keep_warning(m, "few data");
    }
    text_add_threshold(&m->text, t);
    keep_sentence(m, "threshold");
    if (t->options.cap_ms) {
        strbuf_addf(&m->text, "a stall counts %s of lost time at most (--cap)",
                    text_ms(t->options.cap_ms, number));
        keep_sentence(m, "cap");
    }
    fill_undated(m);
}

static void fill_symbols(struct summary_maker *m) {
    add_symbols(m);
    keep_sentence(m, "symbols of the app");
    if (m->t->unresolved) {
        text_add_counted(&m->text, m->t->unresolved, "dump has", "dumps have");
        strbuf_addstr(&m->text, " frames without names in the key: ids change with the names");
        keep_warning(m, "without names");
    }
}

static void fill_texts(struct summary_maker *m) {
    const struct triage *t = m->t;
    text_add_totals(&m->text, t);
    m->s->totals = summary_keep(m);
    strbuf_addf(&m->text, "%s, %012" PRIx64, t->options.rules, t->options.rules_hash >> 16);
    m->s->rules = summary_keep(m);
    strbuf_addstr(&m->text, t->options.where ? t->options.where : "");
    m->s->where = summary_keep(m);
    enum { MINUTE = 16 }; /* length of "2026-11-28T23:11" */
    for (size_t i = 0; i < MINUTE && t->total.last_time[i]; i++) {
        strbuf_addc(&m->text, t->total.last_time[i] == 'T' ? ' ' : t->total.last_time[i]);
    }
    m->s->newest = summary_keep(m);
}

static void fill_head(struct summary_maker *m) {
    const struct triage *t = m->t;
    text_add_values(&m->text, t, &t->total, NULL);
    text_add_seen(&m->text, &t->total);
    keep_sentence(m, "data");
    fill_limits(m);
    fill_usage(m);
    if (!usage_is_known(t)) {
        strbuf_addstr(&m->text, "no session records: how long the app was watched is not known, so "
                                "shares are shown, no rates");
        keep_sentence(m, "exposure");
    }
    fill_symbols(m);
    apart_text_add(&m->text, t->apart);
    keep_sentence(m, "set apart");
    text_add_idle(&m->text, t);
    keep_sentence(m, "idle in");
    if (t->stored.left_out) {
        strbuf_addf(&m->text, "%zu MB for dumps to look at are used up: of ",
                    t->stored.limit >> 20);
        text_add_counted(&m->text, t->stored.left_out, "dump", "dumps");
        strbuf_addstr(&m->text, " no stack is shown; all counts have them");
        keep_sentence(m, "stored dumps");
    }
}

/* ---- the app ---- */

/* Finds the image of the app that most stalled time of the first buckets is in. Later buckets are
 * not asked, because a page that a history keeps lacks their frames. */
static void find_app(struct summary_maker *m) {
    enum { ASKED = 100, APPS = 16 };
    struct {
        const char *name;
        uint64_t weight;
    } apps[APPS];
    const struct bucket_set *set = &m->t->level[0];
    size_t count = 0, best = 0;
    for (size_t i = 0; i < set->buckets.len && i < ASKED; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        size_t f = 0, at = 0;
        while (f < b->frame_count && !b->frames[f]->in_app) {
            f++;
        }
        if (f == b->frame_count) {
            continue;
        }
        while (at < count && strcmp(apps[at].name, b->frames[f]->image_name) != 0) {
            at++;
        }
        if (at == count && count < APPS) {
            apps[count].name = b->frames[f]->image_name;
            apps[count++].weight = 0;
        }
        if (at < count) {
            apps[at].weight += triage_weight(m->t, b->tally);
            best = apps[at].weight > apps[best].weight ? at : best;
        }
    }
    if (count && strcmp(apps[best].name, "?") != 0) {
        text_add_clean(&m->text, apps[best].name);
    }
    m->s->app = summary_keep(m);
}

enum st summary_make(struct summary *s, const struct triage *t, const struct gate *g, size_t detail,
                     struct err *e) {
    struct summary_maker m = {.s = s, .t = t};
    *s = (struct summary){.t = t,
                          .ms = t->total.ms,
                          .weight = triage_weight(t, &t->total),
                          .by_stalls = t->options.weight == WEIGHT_STALLS,
                          .dumps = t->total.dumps,
                          .stalls = t->total.stalls,
                          .users = t->total_users,
                          .stored = &t->stored};
    s->causes = causes_of_usage(&m);
    s->days = stored_values_of(&m, &t->stored.by[STORED_DAY], by_value_version);
    fill_texts(&m);
    find_app(&m);
    fill_head(&m);
    fill_buckets(&m, detail);
    s->oses = values_of_facet(&m, &t->total.facets[FACET_OS]);
    s->devices = values_of_facet(&m, &t->total.facets[FACET_DEVICE]);
    summary_add_versions(&m);
    if (g) {
        summary_add_gate(&m, g);
    }
    strbuf_release(&m.text);
    free(m.actions);
    if (m.failed) {
        summary_release(s);
        return err_nomem(e);
    }
    return ST_OK;
}

void summary_release(struct summary *s) {
    VEC_RELEASE(&s->head);
    VEC_RELEASE(&s->gate);
    VEC_RELEASE(&s->told);
    VEC_RELEASE(&s->releases);
    VEC_RELEASE(&s->buckets);
    VEC_RELEASE(&s->gone);
    summary_explained_release(s);
    arena_release(&s->arena);
    *s = (struct summary){0};
}
