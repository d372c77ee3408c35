/* Counts the dumps of a part by system and by device in a table that queries can use, and compares
 * this table with the parts. */
#include "history/history_private.h"

#include <string.h>

#include "classify/print/bucket_list.h"

/* The facets (system, device) and their names in the table. */
static const struct {
    const char *word;
    enum tally_facet facet;
} history_facets[] = {{"os", FACET_OS}, {"device", FACET_DEVICE}};

/* Calls visit for each value of each facet of a part. *facet is set to the facet's name before each
 * call. */
static enum st each_named_value(const struct triage *t, const char **facet, facet_visit visit,
                                void *ctx, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < sizeof history_facets / sizeof *history_facets; i++) {
        *facet = history_facets[i].word;
        st = facet_list_each(t, history_facets[i].facet, visit, ctx, e);
    }
    return st;
}

struct value_writer {
    struct history *h;
    int64_t cell;
    const char *facet;
};

static enum st put_value(void *ctx, const char *text, uint64_t dumps, struct err *e) {
    const struct value_writer *w = ctx;
    struct sql_statement *s = history_statement(w->h, HISTORY_VALUE_PUT, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, w->cell);
    sql_bind_text(s, 2, w->facet);
    sql_bind_text(s, 3, text);
    sql_bind_count(s, 4, dumps);
    return sql_step(s, e);
}

enum st history_put_values(struct history *h, int64_t cell, const struct triage *t, struct err *e) {
    struct value_writer w = {h, cell, NULL};
    return each_named_value(t, &w.facet, put_value, &w, e);
}

/* ---- examination ---- */

void history_value_sums_clear(struct history_value_sums *sums) {
    map_clear(&sums->by_value);
    sums->dumps.len = 0;
}

void history_value_sums_release(struct history_value_sums *sums) {
    map_release(&sums->by_value);
    strbuf_release(&sums->key);
    VEC_RELEASE(&sums->dumps);
}

/* Returns the counter for the dumps of a value; a new counter is 0. NULL: out of memory. */
static uint64_t *dumps_of_value(struct history_value_sums *sums, const char *facet,
                                const char *text) {
    bool added = false;
    strbuf_clear(&sums->key);
    strbuf_addstr(&sums->key, facet);
    strbuf_addc(&sums->key, '\0');
    strbuf_addstr(&sums->key, text);
    const struct map_entry *entry =
        sums->key.failed
            ? NULL
            : map_put(&sums->by_value, sums->key.data, sums->key.len, sums->dumps.len, &added);
    if (!entry || (added && !VEC_PUSH(&sums->dumps, 0))) {
        return NULL;
    }
    return &sums->dumps.data[entry->value];
}

struct value_adder {
    struct history_value_sums *sums;
    const char *facet;
};

static enum st add_part_value(void *ctx, const char *text, uint64_t dumps, struct err *e) {
    const struct value_adder *a = ctx;
    uint64_t *sum = dumps_of_value(a->sums, a->facet, text);
    if (!sum) {
        return err_nomem(e);
    }
    *sum += dumps;
    return ST_OK;
}

enum st history_add_values(struct history_value_sums *sums, const struct triage *t, struct err *e) {
    struct value_adder a = {sums, NULL};
    return each_named_value(t, &a.facet, add_part_value, &a, e);
}

enum st history_values_match(struct history *h, int64_t cell, struct history_value_sums *sums,
                             struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "SELECT facet, value, dumps FROM cell_value WHERE cell = ?1", e) !=
        ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, cell);
    enum st st = ST_OK, more = ST_OK;
    bool same = true;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        uint64_t *sum = dumps_of_value(sums, sql_text(s, 0), sql_text(s, 1));
        if (!sum) {
            st = err_nomem(e);
            continue;
        }
        same = same && *sum == (uint64_t)sql_number(s, 2);
        *sum = 0; /* this value is in the table; 0 marks it as found */
    }
    sql_finish(s);
    for (size_t i = 0; i < sums->dumps.len; i++) {
        same = same && sums->dumps.data[i] == 0;
    }
    if (st != ST_OK || more == ST_ERR) {
        return ST_ERR;
    }
    return same ? ST_OK : ST_NONE;
}
