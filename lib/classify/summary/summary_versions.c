/* Lists the versions of the app with what is known of each. */
#include <stdlib.h>
#include <string.h>

#include "classify/gate/gone.h"
#include "classify/keys/version.h"
#include "classify/summary/summary_private.h"

static int by_release_text(const void *a, const void *b) {
    return version_compare(((const struct summary_version *)a)->text,
                           ((const struct summary_version *)b)->text);
}

static uint64_t dumps_of_version(const struct triage *t, uint32_t text) {
    const struct facet *f = &t->total.facets[FACET_VERSION];
    for (size_t i = 0; i < f->values.len; i++) {
        if (f->values.data[i].text == text) {
            return f->values.data[i].dumps;
        }
    }
    return 0;
}

/* Sets `carries` of each version. */
static void judge_versions(struct summary *s) {
    uint64_t most = 0;
    for (size_t i = 0; i < s->releases.len; i++) {
        const struct summary_version *v = &s->releases.data[i];
        uint64_t has = s->rated ? v->foreground_ms : v->dumps;
        most = has > most ? has : most;
    }
    for (size_t i = 0; i < s->releases.len; i++) {
        struct summary_version *v = &s->releases.data[i];
        uint64_t has = s->rated ? v->foreground_ms : v->dumps;
        v->carries = gone_version_carries(has, most, s->rated) && !v->days_lack_time;
    }
}

/* Adds the versions that have dumps and no usage, as in counts of a build that did not count it. */
static void add_unused_versions(struct summary_maker *m) {
    const struct facet *f = &m->t->total.facets[FACET_VERSION];
    const struct usage_values *of = &m->t->usage.by[USAGE_VERSION];
    for (size_t i = 0; i < f->values.len && !m->failed; i++) {
        size_t k = 0;
        while (k < of->values.len && of->values.data[k].text != f->values.data[i].text) {
            k++;
        }
        if (k == of->values.len) {
            struct summary_version v = {.text = map_string(&m->t->strings, f->values.data[i].text),
                                        .watched = -1,
                                        .dumps = f->values.data[i].dumps};
            m->failed = !VEC_PUSH(&m->s->releases, v);
        }
    }
}

void summary_add_versions(struct summary_maker *m) {
    struct summary *s = m->s;
    const struct usage_values *of = &m->t->usage.by[USAGE_VERSION];
    for (size_t i = 0; i < of->values.len && !m->failed; i++) {
        const struct usage_sums *sums = &of->values.data[i].sums;
        struct summary_version v = {.text = map_string(&m->t->strings, of->values.data[i].text),
                                    .foreground_ms = sums->foreground_ms,
                                    .sessions = sums->sessions,
                                    .watched = usage_sums_watched_permille(sums),
                                    .dumps = dumps_of_version(m->t, of->values.data[i].text),
                                    .stalls = sums->stalls,
                                    .ms = sums->stalled_ms,
                                    .rated_stalls = sums->stalls - sums->unrated_stalls,
                                    .rated_ms = sums->stalled_ms - sums->unrated_ms,
                                    .days_lack_time = sums->foreground_ms && !usage_rated_ms(sums)};
        if (*v.text) {
            s->rated = s->rated || v.foreground_ms;
            m->failed = !VEC_PUSH(&s->releases, v);
        }
    }
    add_unused_versions(m);
    if (s->releases.len) {
        qsort(s->releases.data, s->releases.len, sizeof *s->releases.data, by_release_text);
    }
    judge_versions(s);
}
