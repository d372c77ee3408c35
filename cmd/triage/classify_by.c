/* Implements stallclassify --by day, version, os, device, cause and kind. */
#include "triage/classify_by.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "classify/keys/version.h"
#include "classify_output.h"

/* A day or a version of a history. */
struct value_of_history {
    int32_t day;
    const char *version;
};

struct value_list {
    VEC(struct value_of_history) values;
    struct arena texts;
};

static enum st list_value(void *ctx, int32_t day, const char *version, struct err *e) {
    struct value_list *list = ctx;
    const struct value_of_history v = {day, arena_strdup(&list->texts, version, strlen(version))};
    return v.version && VEC_PUSH(&list->values, v) ? ST_OK : err_nomem(e);
}

static int by_release_order(const void *a, const void *b) {
    const struct value_of_history *x = a, *y = b;
    return version_compare(x->version, y->version);
}

/* Adds a row with the counts of one day or version of the history. Damage is printed and counted.
 * ST_NONE: nothing could be read. ST_ERR: out of memory. */
static enum st add_value_row(struct value_table *v, struct classify_history *h,
                             const struct value_of_history *of, bool days, struct keyer *k,
                             const struct triage_options *o, struct cli_failures *failures,
                             struct err *e) {
    struct history_span span = h->span;
    struct triage *t = NULL;
    struct err damage = {0};
    char text[HISTORY_DAY_SIZE];
    span.no_sum = true;
    if (!days) {
        span.version = of->version;
    } else if (of->day == HISTORY_NO_DAY) {
        span.no_day = true;
    } else {
        span.since = span.until = of->day;
    }
    if (history_read(h->h, &span, k, o, &t, &damage) != ST_OK) {
        cli_fail(failures, h->path, &damage);
    }
    enum st st = t ? triage_finish(t, e) : ST_NONE;
    if (st == ST_OK &&
        !value_table_add(v, days ? history_day_text(of->day, text) : of->version, t)) {
        st = err_nomem(e);
    }
    triage_free(t);
    return st;
}

static bool values_of_history(struct value_table *v, unsigned by, struct classify_history *h,
                              struct keyer *k, const struct triage_options *o,
                              struct cli_failures *failures) {
    struct value_list list = {0};
    struct err e = {0};
    bool days = by == BY_DAY;
    v->by = classify_by_words[by];
    v->ascending = true;
    enum st st = days ? history_days(h->h, &h->span, list_value, &list, &e)
                      : history_versions(h->h, &h->span, list_value, &list, &e);
    if (st == ST_OK && !days && list.values.len) {
        qsort(list.values.data, list.values.len, sizeof *list.values.data, by_release_order);
    }
    for (size_t i = 0; st == ST_OK && i < list.values.len; i++) {
        st = add_value_row(v, h, &list.values.data[i], days, k, o, failures, &e);
    }
    VEC_RELEASE(&list.values);
    arena_release(&list.texts);
    return st == ST_OK || (err_is(&e) && cli_fail(failures, h->path, &e));
}

bool classify_make_values(struct value_table *v, unsigned by, struct classify_history *h,
                          const struct triage *t, struct keyer *k, const struct triage_options *o,
                          struct cli_failures *failures) {
    struct err e = {0};
    if (h && (by == BY_DAY || by == BY_FACET + USAGE_VERSION)) {
        return values_of_history(v, by, h, k, o, failures);
    }
    if (!value_table_of_facet(v, t, (enum usage_facet)(by - BY_FACET))) {
        err_nomem(&e);
        return cli_fail(failures, NULL, &e);
    }
    return true;
}
