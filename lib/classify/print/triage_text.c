/* The parts of a triage as text. */
#include "classify/print/triage_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/utf8.h"

/* ---- numbers ---- */

const char *text_grouped(uint64_t v, char out[NUMBER_SIZE]) {
    char digits[NUMBER_SIZE];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, v);
    char *to = out;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) {
            *to++ = ',';
        }
        *to++ = digits[i];
    }
    *to = 0;
    return out;
}

const char *text_count(uint64_t v, size_t columns, char out[NUMBER_SIZE]) {
    static const char units[] = "kMGTPE";
    uint64_t unit = 1000;
    size_t i = 0;
    if (strlen(text_grouped(v, out)) <= columns) {
        return out;
    }
    for (; v / unit >= 1000; unit *= 1000) {
        i++;
    }
    uint64_t whole = v / unit, hundredths = v % unit / (unit / 1000) / 10;
    if (whole >= 100) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "%c", whole, units[i]);
    } else if (whole >= 10) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 ".%" PRIu64 "%c", whole, hundredths / 10, units[i]);
    } else {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 ".%02" PRIu64 "%c", whole, hundredths, units[i]);
    }
    return out;
}

const char *text_ms(uint64_t ms, char out[NUMBER_SIZE]) {
    uint64_t s = ms / 1000;
    if (ms < 1000) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "ms", ms);
    } else if (ms < 59950) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 ".%" PRIu64 "s", (ms + 50) / 1000,
                 (ms + 50) / 100 % 10);
    } else if (s < 3600) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    } else if (s < 100 * 3600) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
    } else if (s < UINT64_C(1000) * 86400) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "d%02" PRIu64 "h", s / 86400, s / 3600 % 24);
    } else {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "d", s / 86400);
    }
    return out;
}

const char *text_duration(struct tally_duration d, char out[NUMBER_SIZE]) {
    char ms[NUMBER_SIZE];
    if (d.ms == 0) {
        snprintf(out, NUMBER_SIZE, "\xe2\x80\x93");
        return out;
    }
    snprintf(out, NUMBER_SIZE, "%s%s", d.at_least ? "\xe2\x89\xa5" : "", text_ms(d.ms, ms));
    return out;
}

/* part / whole in permille, rounded; 0 for an empty whole. */
static unsigned permille(uint64_t part, uint64_t whole) {
    return whole ? (unsigned)(((unsigned __int128)part * 1000 + whole / 2) / whole) : 0;
}

const char *text_share(uint64_t part, uint64_t whole, char out[NUMBER_SIZE]) {
    unsigned share = permille(part, whole);
    snprintf(out, NUMBER_SIZE, "%u.%u%%", share / 10, share % 10);
    return out;
}

const char *text_users(uint64_t users, size_t columns, char out[NUMBER_SIZE]) {
    if (!users) {
        snprintf(out, NUMBER_SIZE, "\xe2\x80\x93");
        return out;
    }
    return columns ? text_count(users, columns, out) : text_grouped(users, out);
}

void text_add_counted(struct strbuf *b, uint64_t n, const char *one, const char *many) {
    char number[NUMBER_SIZE];
    strbuf_addf(b, "%s %s", text_grouped(n, number), n == 1 ? one : many);
}

/* ---- names ---- */

void text_add_clean(struct strbuf *b, const char *s) {
    size_t len = strlen(s);
    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = utf8_decode(s + i, len - i, &c);
        if (n == 0 || !utf8_is_printable(c)) {
            strbuf_addc(b, '?');
            i += n ? n : 1;
        } else {
            strbuf_add(b, s + i, n);
            i += n;
        }
    }
}

void text_add_frame(struct strbuf *b, const struct bucket_frame *f) {
    if (!f->function[0] && !f->call) { /* a framework of which no function is known */
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

/* The last two parts of a path, which are enough to recognise it. */
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
    bool fits = bucket->evidence.cause == tally_cause(&bucket->tally, &confidence);
    return fits && bucket->evidence.reason ? bucket->evidence.reason : "";
}

void text_add_why(struct strbuf *b, const struct bucket *bucket) {
    size_t before = b->len;
    text_add_clean(b, text_reason(bucket));
    if (bucket->tally.stalls == 0) {
        strbuf_addf(b, "%sparts of stalls that lost more time elsewhere",
                    b->len > before ? "; " : "");
    } else if (bucket->tally.ms == 0) {
        strbuf_addf(b, "%sno dump says how long it lasted", b->len > before ? "; " : "");
    }
}

/* ---- many ---- */

void text_add_totals(struct strbuf *b, const struct triage *t) {
    char number[NUMBER_SIZE];
    text_add_counted(b, t->total.stalls, "stall", "stalls");
    strbuf_addstr(b, " in ");
    text_add_counted(b, t->total.dumps, "dump", "dumps");
    strbuf_addf(b, ", %s stalled, ", text_ms(t->total.ms, number));
    if (t->total_users) {
        text_add_counted(b, t->total_users, "user", "users");
        strbuf_addstr(b, ", ");
    }
    size_t buckets = t->level[0].buckets.len;
    bool other = t->level[0].fold.folds > 0;
    text_add_counted(b, buckets - other, "bucket", "buckets");
    strbuf_addstr(b, other ? " and other" : "");
}

void text_add_threshold(struct strbuf *b, const struct triage *t) {
    char ms[NUMBER_SIZE];
    size_t told = 0;
    bool unsaid = false;
    for (size_t i = 0; i < t->thresholds.len; i++) {
        const struct threshold *known = &t->thresholds.data[i];
        const char *kind = map_string(&t->strings, known->kind);
        if (known->ms <= 0) {
            continue;
        }
        strbuf_addf(b, "%s%s", told++ ? ", " : "", text_ms((uint64_t)known->ms, ms));
        if (t->thresholds.len > 1 || strcmp(kind, "hang") != 0) {
            strbuf_addstr(b, " for ");
            text_add_clean(b, kind);
        }
        strbuf_addstr(b, known->unsaid ? " where it is told" : "");
        unsaid = unsaid || known->unsaid;
    }
    if (told) {
        strbuf_addf(b, ", shorter stalls were not seen%s", unsaid ? " there" : "");
    }
}

struct cause_share {
    enum rule_cause cause;
    uint64_t ms;
};

static int by_ms(const void *a, const void *b) {
    const struct cause_share *x = a, *y = b;
    return x->ms != y->ms ? COMPARE(y->ms, x->ms) : COMPARE(x->cause, y->cause);
}

void text_add_causes(struct strbuf *b, const struct tally *t) {
    struct cause_share shares[CAUSE_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < t->causes.len; i++) {
        const struct cause_tally *c = &t->causes.data[i];
        if (c->ms) {
            shares[count++] = (struct cause_share){c->cause, c->ms};
        }
    }
    qsort(shares, count, sizeof *shares, by_ms);
    for (size_t i = 0; i < count; i++) {
        unsigned share = (permille(shares[i].ms, t->ms) + 5) / 10;
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
        strbuf_addf(b, " %s", text_ms(bucket->tally.ms, number));
    }
    if (count > IDLE_SHOWN) {
        strbuf_addf(b, " and %s more", text_grouped(count - IDLE_SHOWN, number));
    }
}

static void add_comma(struct strbuf *b) {
    strbuf_addstr(b, b->len ? ", " : "");
}

/* The first value of a facet and the last one, or how many more there are. */
static void add_facet(struct strbuf *b, const struct triage *t, const struct facet *facet,
                      bool range) {
    size_t count = facet->values.len;
    char number[NUMBER_SIZE];
    text_add_clean(b, map_string(&t->strings, facet->values.data[0].text));
    if (count > 1 && range) {
        const char *first = map_string(&t->strings, facet->values.data[0].text);
        const char *last = map_string(&t->strings, facet->values.data[count - 1].text);
        size_t word = strcspn(first, "0123456789"); /* "iOS ", which is not repeated */
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
    enum { DAY = 10 }; /* 2026-11-20 */
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
