/* Appends the parts of a triage as text. */
#include "classify/print/triage_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/search.h"

const char *text_stalled(const struct tally *t, char out[NUMBER_SIZE]) {
    return t->ms ? text_ms(t->ms, out) : text_duration((struct tally_duration){0}, out);
}

const char *text_weight_share(const struct triage *t, const struct tally *tally,
                              char out[NUMBER_SIZE]) {
    return text_share(triage_weight(t, tally), triage_weight(t, &t->total), out);
}

void text_add_counted(struct strbuf *b, uint64_t n, const char *one, const char *many) {
    char number[NUMBER_SIZE];
    strbuf_addf(b, "%s %s", text_grouped(n, number), n == 1 ? one : many);
}

void text_add_length_unknown(struct strbuf *b, uint64_t stalls) {
    char number[NUMBER_SIZE];
    if (stalls) {
        strbuf_addf(b, ", length unknown: %s", text_grouped(stalls, number));
    }
}

/* ---- names ---- */

void text_add_clean(struct strbuf *b, const char *s) {
    text_add_shown(b, s, strlen(s));
}

void text_add_frame(struct strbuf *b, const struct bucket_frame *f) {
    if (!f->function[0] && !f->call) { /* a framework whose called function is unknown */
        text_add_clean(b, f->image_name);
        return;
    }
    if (!f->resolved) {
        text_add_clean(b, f->image_name);
        text_add_clean(b, f->function);
        return;
    }
    text_add_clean(b, f->call ? f->call : f->function);
    if (!f->in_app && strcmp(f->image_name, "?") != 0) {
        strbuf_addstr(b, " (");
        text_add_clean(b, f->image_name);
        strbuf_addc(b, ')');
    }
}

/* Returns the last two parts of a path, which are enough to recognise it. */
static const char *short_path(const char *path) {
    const char *slash = strrchr(path, '/');
    while (slash && slash > path && slash[-1] != '/') {
        slash--;
    }
    return slash && slash > path ? slash : path;
}

void text_add_error(struct strbuf *b, const struct triage *t, const struct bucket *bucket) {
    char number[NUMBER_SIZE];
    uint64_t error = bucket_error_ms(&t->level[0], bucket);
    if (error) {
        strbuf_addf(b, "up to %s more may be in other", text_ms(error, number));
    }
}

bool text_add_place(struct strbuf *b, const struct bucket *bucket) {
    const struct bucket_frame *at = NULL;
    for (size_t i = 0; i < bucket->frame_count; i++) {
        const struct bucket_frame *f = bucket->frames[i];
        if (f->file && (!at || (f->in_app && !at->in_app))) {
            at = f;
        }
    }
    if (at) {
        text_add_clean(b, short_path(at->file));
        strbuf_addf(b, ":%" PRIu32, at->line);
    }
    return at != NULL;
}

const char *text_reason(const struct bucket *bucket) {
    unsigned confidence;
    bool fits = bucket->evidence.cause == tally_cause(bucket->tally, &confidence);
    return fits && bucket->evidence.reason ? bucket->evidence.reason : "";
}

void text_add_why(struct strbuf *b, const struct bucket *bucket) {
    size_t before = b->len;
    text_add_clean(b, text_reason(bucket));
    if (bucket->tally->stalls == 0) {
        strbuf_addf(b, "%sparts of stalls that lost more time elsewhere",
                    b->len > before ? "; " : "");
    } else if (bucket->tally->ms == 0) {
        strbuf_addf(b, "%sno dump says how long it lasted", b->len > before ? "; " : "");
    } else if (tally_length_unknown(bucket->tally)) {
        char number[NUMBER_SIZE];
        strbuf_addf(b, "%slength unknown: %s", b->len > before ? "; " : "",
                    text_grouped(tally_length_unknown(bucket->tally), number));
    }
}

/* ---- many ---- */

void text_add_totals(struct strbuf *b, const struct triage *t) {
    char number[NUMBER_SIZE];
    text_add_counted(b, t->total.stalls, "stall", "stalls");
    strbuf_addstr(b, " in ");
    text_add_counted(b, t->total.dumps, "dump", "dumps");
    strbuf_addf(b, ", %s stalled", text_ms(t->total.ms, number));
    text_add_length_unknown(b, tally_length_unknown(&t->total));
    strbuf_addstr(b, ", ");
    if (t->total_users) {
        bool about = t->total_users > DISTINCT_EXACT_MAX;
        strbuf_addf(b, "%s %s%s, ", text_users(t->total_users, 0, number),
                    t->total_users == 1 ? "user" : "users", about ? " (\xc2\xb1 1.6 %)" : "");
    }
    size_t buckets = t->level[0].buckets.len;
    bool other = t->level[0].fold.folds > 0;
    text_add_counted(b, buckets - other, "bucket", "buckets");
    strbuf_addstr(b, other ? " and other" : "");
}

void text_add_threshold(struct strbuf *b, const struct triage *t) {
    /* Maximum number of named kinds; the recorder has fewer, but a dump may name any kind. */
    enum { KINDS_TOLD = 16 };
    char ms[NUMBER_SIZE];
    size_t told = 0, left = 0;
    bool unsaid = false;
    struct kind_threshold *all = triage_thresholds(t);
    b->failed = b->failed || !all;
    for (size_t i = 0; all && i < t->thresholds.len; i++) {
        const struct kind_threshold *known = &all[i];
        if (known->ms <= 0) {
            continue;
        }
        unsaid = unsaid || known->unsaid;
        if (told == KINDS_TOLD) {
            left++;
            continue;
        }
        strbuf_addf(b, "%s%s", told++ ? ", " : "", text_ms((uint64_t)known->ms, ms));
        if (t->thresholds.len > 1 || strcmp(known->kind, "hang") != 0) {
            strbuf_addstr(b, " for ");
            text_add_clean(b, known->kind);
        }
        strbuf_addstr(b, known->unsaid ? " where it is told" : "");
    }
    free(all);
    if (left) {
        strbuf_addstr(b, " and others for ");
        text_add_counted(b, left, "kind more", "kinds more");
    }
    if (told) {
        strbuf_addf(b, ", shorter stalls were not seen%s", unsaid ? " there" : "");
    }
}

struct cause_share {
    enum rule_cause cause;
    uint64_t weight; /* stalled ms, or number of dumps */
};

static int by_cause_weight(const void *a, const void *b) {
    const struct cause_share *x = a, *y = b;
    return x->weight != y->weight ? COMPARE(y->weight, x->weight) : COMPARE(x->cause, y->cause);
}

void text_add_causes(struct strbuf *b, const struct triage *t) {
    struct cause_share shares[CAUSE_COUNT];
    size_t count = 0;
    bool by_dumps = t->options.weight == WEIGHT_STALLS;
    for (size_t i = 0; i < t->total.causes.len; i++) {
        const struct cause_tally *c = &t->total.causes.data[i];
        uint64_t weight = by_dumps ? c->dumps : c->ms;
        if (weight) {
            shares[count++] = (struct cause_share){c->cause, weight};
        }
    }
    qsort(shares, count, sizeof *shares, by_cause_weight);
    for (size_t i = 0; i < count; i++) {
        uint64_t whole = by_dumps ? t->total.dumps : t->total.ms;
        unsigned share = (text_permille(shares[i].weight, whole) + 5) / 10;
        strbuf_addf(b, share ? "%s%s %u%%" : "%s%s <1%%", i ? ", " : "",
                    rule_cause_text(shares[i].cause), share);
    }
}

void text_add_idle(struct strbuf *b, const struct triage *t) {
    char number[NUMBER_SIZE];
    size_t count = t->idle.buckets.len;
    for (size_t i = 0; i < count && i < IDLE_SHOWN; i++) {
        const struct bucket *bucket = t->idle.buckets.data[t->idle.ranked[i]];
        strbuf_addstr(b, i ? ", " : "");
        text_add_frame(b, bucket->frames[0]);
        strbuf_addf(b, " %s", text_ms(bucket->tally->ms, number));
    }
    if (count > IDLE_SHOWN) {
        strbuf_addf(b, " and %s more", text_grouped(count - IDLE_SHOWN, number));
    }
}

static void add_comma(struct strbuf *b) {
    strbuf_addstr(b, b->len ? ", " : "");
}

/* Appends the first value of a facet. With `range`, the last value follows, else the number of
 * further values. */
static void add_facet(struct strbuf *b, const struct triage *t, const struct facet *facet,
                      bool range) {
    size_t count = facet->values.len;
    char number[NUMBER_SIZE];
    text_add_clean(b, map_string(&t->strings, facet->values.data[0].text));
    if (count > 1 && range) {
        const char *first = map_string(&t->strings, facet->values.data[0].text);
        const char *last = map_string(&t->strings, facet->values.data[count - 1].text);
        size_t word = strcspn(first, "0123456789"); /* length of "iOS ", which is not repeated */
        strbuf_addstr(b, "\xe2\x80\x93");
        text_add_clean(b, last + (strncmp(first, last, word) == 0 ? word : 0));
    } else if (count > 1) {
        strbuf_addf(b, " and %s more", text_grouped(count - 1, number));
    }
}

void text_add_values(struct strbuf *b, const struct triage *t, const struct tally *tally,
                     const struct tally *of) {
    static const char *const words[FACET_COUNT] = {
        [FACET_VERSION] = "in ", [FACET_OS] = "on ", [FACET_DEVICE] = ""};
    for (size_t f = 0; f < FACET_COUNT; f++) {
        if (tally->facets[f].values.len && (!of || of->facets[f].values.len > 1)) {
            add_comma(b);
            strbuf_addstr(b, words[f]);
            add_facet(b, t, &tally->facets[f], f != FACET_DEVICE);
        }
    }
}

void text_add_seen(struct strbuf *b, const struct tally *tally) {
    enum { DAY = 10 }; /* length of a day such as "2026-11-20" */
    char first[DAY + 1] = "", last[DAY + 1] = "";
    memcpy(first, tally->first_time, DAY);
    memcpy(last, tally->last_time, DAY);
    if (first[0]) {
        add_comma(b);
        text_add_clean(b, first);
        if (strcmp(first, last) != 0) {
            strbuf_addstr(b, " to ");
            text_add_clean(b, last);
        }
    }
}
